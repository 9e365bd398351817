/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Constants of the protocol, and bounds of this implementation.
 */
#ifndef RPCRDMA_WIRE_H
#define RPCRDMA_WIRE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	RPCRDMA_VERS_1 = 1,
	RPCRDMA_VERS_2 = 2,
};

/* Header types, 6.1 and DR 4.1.3 */
enum {
	RDMA2_MSG = 0,
	RDMA2_NOMSG = 1,
	RDMA2_DONE = 3,
	RDMA2_ERROR = 4,
	RDMA2_CONNPROP = 5,
};

/* rdma_flags, 6.2.2 */
enum {
	RDMA2_F_RESPONSE = 1,
	RDMA2_F_MORE = 2,
	RDMA2_F_TPMORE = 4,
};

/* Error codes, 8.4 */
enum {
	RDMA2_ERR_VERS = 1,
	RDMA2_ERR_BAD_XDR = 2,
	RDMA2_ERR_BAD_PROPVAL = 3,
	RDMA2_ERR_INVAL_HTYPE = 4,
	RDMA2_ERR_INVAL_CONT = 5,
	RDMA2_ERR_READ_CHUNKS = 6,
	RDMA2_ERR_WRITE_CHUNKS = 7,
	RDMA2_ERR_SEGMENTS = 8,
	RDMA2_ERR_WRITE_RESOURCE = 9,
	RDMA2_ERR_REPLY_RESOURCE = 10,
	RDMA2_ERR_SYSTEM = 100,
};

/* Transport property ids, 5.2 and WP 5 */
enum {
	RDMA2_PROPID_SBSIZ = 1,
	RDMA2_PROPID_RBSIZ = 2,
	RDMA2_PROPID_RSSIZ = 3,
	RDMA2_PROPID_RCSIZ = 4,
	RDMA2_PROPID_BRS = 5,
	RDMA2_PROPID_HOSTAUTH = 6,
};
#define RDMA2_PROPID_REPLY_READ		0xF0000001u
#define RDMA2_PROPID_REASSEMBLY		0xF0000002u

/* Reverse-direction support, 5.2.5 (CONT is 2: the XDR's 1 is an error) */
enum {
	RDMA2_RVRSDIR_NONE = 0,
	RDMA2_RVRSDIR_SIMPLE = 1,
	RDMA2_RVRSDIR_CONT = 2,
	RDMA2_RVRSDIR_GENL = 3,
};

/* Bits of RDMA2_PROPID_REPLY_READ, WP 5 */
enum {
	RDMA2_REPLY_READ_PULL = 1,	/* can pull and complete such a Reply */
	RDMA2_REPLY_READ_PROVIDE = 2,	/* will provide one to a peer that can pull */
};

enum {
	RPCRDMA_V2_PREFIX = 24,		/* six words, WP 1 */
	/* Headers without chunks, 6.3.1 and RFC 8166, 4.2 */
	RPCRDMA_V1_PLAIN_HEADER = 28,
	RPCRDMA_V2_PLAIN_HEADER = 40,
	RPCRDMA_V2_DEFAULT_INLINE = 4096,
	RPCRDMA_V2_FIRST_CONNPROP = 1024,	/* 4.2.3: v1's threshold */
	RPCRDMA_MIN_INLINE_OCTETS = 1024,
	RPCRDMA_MAX_CREDIT = 65535,	/* WP 3 */
	RPCRDMA_MIN_WINDOW = 4,		/* WP 3 */
	/* messages of the window that Calls leave to Replies, WP 3 */
	RPCRDMA_CALL_RESERVE = 2,
	RPCRDMA_FIRST_WINDOW = 4,	/* messages, at the start */
	RPCRDMA_USUAL_WINDOW = 16,	/* messages, once the peer uses the connection */
	RPCRDMA_MAX_PENDING_CONTROL = 64,	/* WP 3 */
	RPCRDMA_PRIVATE_OCTETS = 8,	/* RFC 8797 */
};

/* Bounds of this implementation */
enum {
	RPCRDMA_MAX_SEGS = 64,		/* segments in one message: our RCSIZ */
	/*
	 * Version 1 has no RCSIZ, and its clients may rely on the limits of other
	 * servers. With these segments, there is one for each page that 1 MiB of
	 * payload and the rest of its message touch.
	 */
	RPCRDMA_MAX_EXTRA_SEGS = 200,
	RPCRDMA_MAX_READ_CHUNKS = 16,	/* Read chunks in one Call */
	RPCRDMA_MAX_WRITE_CHUNKS = 16,	/* Write chunks in one message */
	/* Read chunks together, and Write chunks and Reply chunk together */
	RPCRDMA_MAX_CHUNK_OCTETS = 16 << 20,
	/*
	 * Replies exposed at a time for the peer to pull. All their DONEs may
	 * be pending at a peer that has our RPCRDMA_MAX_PENDING_CONTROL, in
	 * addition to ERRORs.
	 */
	RPCRDMA_MAX_EXPOSED = 48,
	/*
	 * Milliseconds for which a peer may grant no credit to queued messages:
	 * as long as an RPC waits for its Reply before it is retransmitted.
	 */
	RPCRDMA_STALL_MS = 60000,
	/*
	 * Receives that a server has in addition to the window of a version 1 peer. An
	 * ERROR may be sent, and followed by the peer's next Call, shortly before the
	 * Receive of the refused Call is free again. In addition, some free Receives
	 * are withheld to be posted in a batch.
	 */
	RPCRDMA_V1_SPARE_RECEIVES = 24,
};

/**
 * rpcrdma_error_name() - get the name of an error code, for logs
 * @code: error code
 *
 * Return: the name as in 8.4, never NULL.
 */
const char *rpcrdma_error_name(u32 code);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_WIRE_H */
