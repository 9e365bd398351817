/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Sending Calls and Replies, in send.cc. "The lock": see endpoint_send.h.
 */
#ifndef RPCRDMA_ENDPOINT_RPC_H
#define RPCRDMA_ENDPOINT_RPC_H

#include "endpoint_send.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_core_may_call() - check if a Call can be sent now
 * @core: connection
 *
 * If not, the host is asked to notify of write space.
 * Context: lock held.
 * Return: true if so.
 */
bool rpcrdma_core_may_call(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_send_get() - take a free Send context
 * @core: connection
 *
 * Context: lock held.
 * Return: the context, or NULL.
 */
struct rpcrdma_send *rpcrdma_core_send_get(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_reserve_reply() - take a free Send context for a Reply, before its Call
 *	is processed
 * @core: connection
 *
 * Context: lock held.
 * Return: the context, or NULL.
 */
struct rpcrdma_send *rpcrdma_core_reserve_reply(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_send_put() - release a context that was not sent
 * @core: connection
 * @s: Send context
 * @done_list: list that retired work is appended to
 *
 * The work attached to it is appended to @done_list.
 * Context: lock held.
 */
void rpcrdma_core_send_put(struct rpcrdma_ep_core *core, struct rpcrdma_send *s,
			   struct list_head *done_list);

/**
 * rpcrdma_core_send_call() - send the Call in core->call_send
 * @core: connection
 * @s: core->call_send, with a Call of s->len bytes
 * @mrs: the MRs its header names, or NULL
 * @format: format of the message
 * @lists: chunk lists of the message
 * @x: its exchange, marked as sent before a Reply can arrive, or NULL
 *
 * Context: lock held.
 * Return: 0; -EAGAIN, write space will be notified; -EIO if it needs more Work Requests
 *	than the Send Queue can ever hold; -ENOTCONN.
 */
int rpcrdma_core_send_call(struct rpcrdma_ep_core *core, struct rpcrdma_send *s,
			   struct list_head *mrs, enum rpcrdma_format format,
			   const struct rpcrdma_lists *lists,
			   struct rpcrdma_exchange *x);

/**
 * rpcrdma_core_send_reply() - post or queue a Reply
 * @core: connection
 * @s: Send context with the Reply; s->exposed is its memory
 * @t: Writes posted before it, or NULL
 * @inv_handle: handle to invalidate at the peer, or 0
 * @format: format of the message
 * @lists: chunk lists of the message
 *
 * Context: lock held.
 * Return: 0, @s and @t are consumed; -ENOTCONN: release @s, to which @t is attached,
 *	unless RPCRDMA_TODO_WRITES: the Writes of @t are to be posted, and @s follows them.
 */
int rpcrdma_core_send_reply(struct rpcrdma_ep_core *core,
			    struct rpcrdma_send *s, struct rpcrdma_transfer *t,
			    u32 inv_handle, enum rpcrdma_format format,
			    const struct rpcrdma_lists *lists);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_RPC_H */
