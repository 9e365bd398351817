// SPDX-License-Identifier: GPL-2.0
/*
 * Error codes (7, 8.4, WP 3.7): their data, and what they mean for an RPC.
 */
#include "internal.h"

namespace rpcrdma
{

u32 error_words(u32 code)
{
	switch (code) {
	case RDMA2_ERR_VERS:
	case RDMA2_ERR_WRITE_RESOURCE:
		return 2;
	case RDMA2_ERR_READ_CHUNKS:
	case RDMA2_ERR_WRITE_CHUNKS:
	case RDMA2_ERR_SEGMENTS:
	case RDMA2_ERR_REPLY_RESOURCE:
		return 1;
	default:
		return 0;
	}
}

/*
 * Neither status is one that sunrpc answers by sending the Call again: -EIO
 * says that the Call was wrong, -EREMOTEIO that the peer could not do it.
 */
void classify_error(struct rpcrdma_conn *conn, struct rpcrdma_rx *rx)
{
	rx->error.status = -E_IO;
	rx->error.retry = RPCRDMA_RETRY_NONE;

	switch (rx->error.code) {
	case RDMA2_ERR_READ_CHUNKS:
		rx->error.retry = RPCRDMA_RETRY_NO_READ_CHUNKS;
		break;
	case RDMA2_ERR_WRITE_CHUNKS:
		rx->error.retry = RPCRDMA_RETRY_NO_WRITE_CHUNKS;
		break;
	case RDMA2_ERR_SEGMENTS:
		/*
		 * The peer's RCSIZ by another name (WP 3.5). Once it is known
		 * plans obey it, so there is a retry only if it is news.
		 */
		if (rx->error.arg[0] >= conn->peer.rcsiz)
			break;
		__atomic_store_n(&conn->peer.rcsiz, rx->error.arg[0],
				 __ATOMIC_RELAXED);
		rx->error.retry = RPCRDMA_RETRY_FEWER_SEGS;
		break;
	case RDMA2_ERR_REPLY_RESOURCE:
		rx->error.status = -E_REMOTEIO;
		/* Zero: no size would help (7.3.5). */
		if (rx->error.arg[0] &&
		    rx->error.arg[0] <= RPCRDMA_MAX_CHUNK_OCTETS)
			rx->error.retry = RPCRDMA_RETRY_LARGER_REPLY;
		break;
	case RDMA2_ERR_WRITE_RESOURCE:
		/*
		 * The Write chunk is as large as the ULP can take the result;
		 * a larger one is of no use to it.
		 */
	case RDMA2_ERR_SYSTEM:
		rx->error.status = -E_REMOTEIO;
		break;
	default:
		break;
	}
}

} // namespace rpcrdma

/* The code's name as in 8.4, for logs. */
const char *rpcrdma_error_name(u32 code)
{
	switch (code) {
	case RDMA2_ERR_VERS:
		return "VERS";
	case RDMA2_ERR_BAD_XDR:
		return "BAD_XDR";
	case RDMA2_ERR_BAD_PROPVAL:
		return "BAD_PROPVAL";
	case RDMA2_ERR_INVAL_HTYPE:
		return "INVAL_HTYPE";
	case RDMA2_ERR_INVAL_CONT:
		return "INVAL_CONT";
	case RDMA2_ERR_READ_CHUNKS:
		return "READ_CHUNKS";
	case RDMA2_ERR_WRITE_CHUNKS:
		return "WRITE_CHUNKS";
	case RDMA2_ERR_SEGMENTS:
		return "SEGMENTS";
	case RDMA2_ERR_WRITE_RESOURCE:
		return "WRITE_RESOURCE";
	case RDMA2_ERR_REPLY_RESOURCE:
		return "REPLY_RESOURCE";
	case RDMA2_ERR_SYSTEM:
		return "SYSTEM";
	default:
		return "unknown";
	}
}

/* The header type's name as in 6.1, for logs. */
const char *rpcrdma_htype_name(u32 htype)
{
	switch (htype) {
	case RDMA2_MSG:
		return "MSG";
	case RDMA2_NOMSG:
		return "NOMSG";
	case RDMA2_DONE:
		return "DONE";
	case RDMA2_ERROR:
		return "ERROR";
	case RDMA2_CONNPROP:
		return "CONNPROP";
	default:
		return "unknown";
	}
}
