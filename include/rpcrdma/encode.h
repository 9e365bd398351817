/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Headers of Calls and Replies.
 */
#ifndef RPCRDMA_ENCODE_H
#define RPCRDMA_ENCODE_H

#include "chunk.h"
#include "conn.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Encode a message's header, without the credit fields, which
 * rpcrdma_conn_stamp() writes.
 * @size: bytes at @buf (4-byte aligned)
 * @lists: NULL for none
 * @htype, @flags: RDMA2_MSG or RDMA2_NOMSG, RDMA2_F_RESPONSE,
 *	RDMA2_F_MORE
 * Returns the header's length, 0 if it does not fit.
 */
u32 rpcrdma_encode_header(const struct rpcrdma_conn *conn, void *buf, u32 size,
			  u32 xid, u32 htype, u32 flags,
			  const struct rpcrdma_lists *lists);

/*
 * Fast path: encode the header of a Call or Reply that is one message without
 * chunks. @buf has space for rpcrdma_plain_header() bytes.
 */
void rpcrdma_encode_plain(const struct rpcrdma_conn *conn, void *buf,
			  enum rpcrdma_kind kind, u32 xid);

/*
 * Encode the header of a Call or Reply of that format, with its header type and
 * flags. @more: this is one message of a continued one, and not the last.
 * Returns as rpcrdma_encode_header().
 */
u32 rpcrdma_encode_rpc(const struct rpcrdma_conn *conn, void *buf, u32 size,
		       enum rpcrdma_kind kind, enum rpcrdma_format format,
		       u32 xid, bool more, const struct rpcrdma_lists *lists);

/*
 * Return the length that rpcrdma_encode_header() needs for @lists (NULL: none).
 */
u32 rpcrdma_header_octets(const struct rpcrdma_conn *conn,
			  const struct rpcrdma_lists *lists);

/* One message of a CONTINUED message (4.4.2) */
struct rpcrdma_part {
	u32	octets;		/* of the payload */
	bool	more;		/* others follow: it has RDMA2_F_MORE */
};

/*
 * Return the next message of a CONTINUED one (4.4.2), of the payload of which
 * @left bytes have not been sent yet. @lists go with the last one.
 */
struct rpcrdma_part rpcrdma_next_part(const struct rpcrdma_conn *conn,
				      const struct rpcrdma_lists *lists,
				      u32 left);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENCODE_H */
