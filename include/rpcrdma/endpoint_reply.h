/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Sending Replies at the Responder, in reply.cc. "The lock": see endpoint_send.h.
 */
#ifndef RPCRDMA_ENDPOINT_REPLY_H
#define RPCRDMA_ENDPOINT_REPLY_H

#include "endpoint_send.h"
#include "plan_reply.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_reply_out - a Reply to be sent, embedded in an object of the host
 * @call_lists: chunk lists of its Call; the plan overwrites their extra_segs
 * @send: Send context that is reserved for it, or NULL
 * @xid: of the RPC
 * @length: bytes of the complete Reply message
 * @kept: the host keeps the Reply, and sends it again if it is not sent now
 */
struct rpcrdma_reply_out {
	const struct rpcrdma_lists *call_lists;
	struct rpcrdma_send *send;
	u32 xid;
	u32 length;
	bool kept;
};

/**
 * rpcrdma_core_send_reply() - plan, place, expose, build and send a Reply
 * @core: connection
 * @out: the Reply
 *
 * If it can never be sent, an ERROR is sent in its place. If it cannot be sent now, and
 * the host does not keep it, the connection is closed: the Requester sends the Call
 * again. @out->send is consumed, except when the host is to send the Reply again.
 * Context: process context, no lock held; possibly other Replies at the same time.
 * Return: 0 if it is sent or queued, or an ERROR is; -ENOTCONN if neither is, and the
 *	connection is not open, or is closed; if @out->kept, -EAGAIN or -ENOBUFS: the host
 *	sends it again, after MRs have become available or after a delay.
 */
int rpcrdma_core_send_reply(struct rpcrdma_ep_core *core,
			    struct rpcrdma_reply_out *out);

/**
 * rpcrdma_core_post_reply() - post or queue a Reply that is built
 * @core: connection
 * @s: Send context with the Reply; s->exposed is its memory; consumed
 * @t: Writes posted before it, or NULL; consumed
 * @inv_handle: handle to invalidate at the peer, or 0
 * @format: format of the message
 * @lists: chunk lists of the message, or NULL
 *
 * It waits for the window and for the Send Queue in order, without blocking the caller.
 * Context: process context, no lock held.
 * Return: 0 or -ENOTCONN.
 */
int rpcrdma_core_post_reply(struct rpcrdma_ep_core *core,
			    struct rpcrdma_send *s, struct rpcrdma_transfer *t,
			    u32 inv_handle, enum rpcrdma_format format,
			    const struct rpcrdma_lists *lists);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_REPLY_H */
