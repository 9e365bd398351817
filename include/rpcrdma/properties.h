/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Transport properties.
 */
#ifndef RPCRDMA_PROPERTIES_H
#define RPCRDMA_PROPERTIES_H

#include "base.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_props - transport properties of one end (WP 5)
 * @sbsiz: bytes, largest message sent
 * @rbsiz: bytes of its Receives
 * @rssiz: bytes in a segment; 0: no chunks
 * @rcsiz: segments in a message; 0: no chunks
 * @brs: RDMA2_RVRSDIR_*; a client's only
 * @reply_read: RDMA2_REPLY_READ_*
 * @reassembly: bytes reassembled from a continued message
 *
 * A value of 0 never stands for the default here.
 */
struct rpcrdma_props {
	u32 sbsiz;
	u32 rbsiz;
	u32 rssiz;
	u32 rcsiz;
	u32 brs;
	u32 reply_read;
	u32 reassembly;
};

/**
 * rpcrdma_reverse_chunks() - check if reverse Calls and their Replies have chunks at a
 *	level (4.5.4)
 * @brs: level, RDMA2_RVRSDIR_*
 *
 * Return: true if so.
 */
static inline bool rpcrdma_reverse_chunks(u32 brs)
{
	return brs == RDMA2_RVRSDIR_GENL;
}

/**
 * rpcrdma_reply_read() - get the property of an end that pulls or provides Replies
 * @pulls: it pulls Replies
 * @provides: it provides Replies to pull
 *
 * Return: RDMA2_REPLY_READ_* bits.
 */
static inline u32 rpcrdma_reply_read(bool pulls, bool provides)
{
	u32 bits = 0;

	if (pulls)
		bits |= RDMA2_REPLY_READ_PULL;
	if (provides)
		bits |= RDMA2_REPLY_READ_PROVIDE;
	return bits;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_PROPERTIES_H */
