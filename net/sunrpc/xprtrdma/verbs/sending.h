/* SPDX-License-Identifier: GPL-2.0 */
/* Sending: Send contexts, Calls, Replies, continued messages and control messages. */
#ifndef RPCRDMA_SENDING_H
#define RPCRDMA_SENDING_H

#include "data.h"

/* A Send context with its Work Request */
struct verbs_send {
	struct rpcrdma_send	core;
	struct rpcrdma_chain	chain;
	struct ib_send_wr	wr;
	struct ib_sge		sge;
};

/* Return the endpoint of a Send context. */
static inline struct rpcrdma_ep *rpcrdma_send_ep(const struct rpcrdma_send *s)
{
	return rpcrdma_ep_of(s->core);
}

/*
 * A client does not wait for memory that may become free only after it has sent the
 * message it is about to send.
 */
#define RPCRDMA_GFP_CLIENT	(GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN)

/*
 * Return a stream with space for @len bytes of payload, which the caller fills in, or
 * NULL if out of memory. @lists: NULL for none. @gfp: without __GFP_FS.
 * Context: process context, may sleep, without starting I/O.
 */
struct rpcrdma_stream *rpcrdma_stream_alloc(enum rpcrdma_kind kind, u32 xid,
					    u32 len,
					    const struct rpcrdma_lists *lists,
					    gfp_t gfp);

#endif /* RPCRDMA_SENDING_H */
