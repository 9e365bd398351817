/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port's part for the send side: posting, and the memory of Sends. port.h defines
 * "lock held".
 */
#ifndef RPCRDMA_CORE_PORT_SEND_H
#define RPCRDMA_CORE_PORT_SEND_H

#include <rpcrdma/endpoint_send.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Posting ---- */

/**
 * rpcrdma_port_lock_to_send - take the lock of a connection to send one message
 * @core: connection
 * @kind: Call or Reply
 *
 * Like rpcrdma_port_lock(), except that the host may disable bottom halves.
 * Return: what rpcrdma_port_unlock_sent() gets.
 */
bool rpcrdma_port_lock_to_send(struct rpcrdma_ep_core *core,
			       enum rpcrdma_kind kind);

/**
 * rpcrdma_port_unlock_sent - undo rpcrdma_port_lock_to_send()
 * @core: connection
 * @alone: what that returned
 *
 * Context: lock held.
 */
void rpcrdma_port_unlock_sent(struct rpcrdma_ep_core *core, bool alone);

/**
 * rpcrdma_port_post - post the chain of a work item
 * @core: connection
 * @work: work of kind RPCRDMA_WORK_RDMA, the last in core->inflight
 *
 * Its last Work Request is signaled if work->wrs.signaled is set. Its completion is
 * reported by rpcrdma_core_reap().
 * Context: lock held.
 * Return: false if the device refused the chain or a part of it.
 */
bool rpcrdma_port_post(struct rpcrdma_ep_core *core, struct rpcrdma_work *work);

/**
 * rpcrdma_port_post_send - post a Send, and the Work Requests chained before it
 * @core: connection
 * @s: Send context with a stamped message, the last in core->inflight
 *
 * Sends s->len bytes of s->buf, invalidating s->inv_handle unless that is 0; otherwise
 * like rpcrdma_port_post().
 * Context: lock held.
 * Return: false if the device refused the chain or a part of it.
 */
bool rpcrdma_port_post_send(struct rpcrdma_ep_core *core,
			    struct rpcrdma_send *s);

/**
 * rpcrdma_port_chain_mrs - chain the registrations of MRs before a Send
 * @s: Send context; s->before: the Work Requests chained already, updated
 * @mrs: list of struct rpcrdma_mr
 *
 * The caller counts one Work Request for each MR.
 * Context: lock held.
 */
void rpcrdma_port_chain_mrs(struct rpcrdma_send *s,
			    const struct list_head *mrs);

/**
 * rpcrdma_port_chain_writes - chain the Writes of a transfer before a Send
 * @s: Send context; s->before: the Work Requests chained already, updated
 * @t: transfer with t->left Writes, none of which is posted
 *
 * The caller counts t->left Work Requests.
 * Context: lock held.
 */
void rpcrdma_port_chain_writes(struct rpcrdma_send *s,
			       struct rpcrdma_transfer *t);

/**
 * rpcrdma_port_post_batch - post a batch of a transfer
 * @core: connection
 * @t: transfer; the batch is its parts after t->posted, up to t->batch, and has
 *	t->work.wrs.nr Work Requests; t->work is the last in core->inflight
 *
 * Like rpcrdma_port_post().
 * Context: lock held.
 * Return: false if the device refused the batch or a part of it.
 */
bool rpcrdma_port_post_batch(struct rpcrdma_ep_core *core,
			     struct rpcrdma_transfer *t);

/**
 * rpcrdma_port_queued - trace that work waits for credits or for slots
 * @core: connection
 * @xid: of the RPC, 0 for work without a message
 * @work: work, the last in its queue; or NULL: a Call, which its sender keeps
 *
 * Context: lock held, unless @work is NULL.
 */
void rpcrdma_port_queued(struct rpcrdma_ep_core *core, u32 xid,
			 const struct rpcrdma_work *work);

/* ---- Memory ---- */

/**
 * rpcrdma_port_send - return a Send context that is used for the first time
 * @core: connection
 * @number: 0 to core->nr_sends - 1
 *
 * Initialises the host's part of it; sets work.chain and nothing else in the core's.
 * Context: lock held.
 * Return: the context; cannot fail.
 */
struct rpcrdma_send *rpcrdma_port_send(struct rpcrdma_ep_core *core,
				       u32 number);

/* What follows if a buffer cannot be allocated */
enum rpcrdma_buffer_need {
	/* The caller cannot wait. */
	RPCRDMA_BUFFER_NOW,
	/* The caller can use another one, or wait for it elsewhere. */
	RPCRDMA_BUFFER_WANTED,
	/* The connection is closed. */
	RPCRDMA_BUFFER_NEEDED,
};

/**
 * rpcrdma_port_buffer - allocate a buffer for messages and map it for the device
 * @core: connection
 * @size: bytes
 * @need: urgency
 * @addr: gets the device's address of the buffer
 *
 * Context: lock held if @need is RPCRDMA_BUFFER_NOW, otherwise not.
 * Return: the buffer, or NULL if out of memory.
 */
void *rpcrdma_port_buffer(struct rpcrdma_ep_core *core, u32 size,
			  enum rpcrdma_buffer_need need, u64 *addr);

/**
 * rpcrdma_port_buffer_free - unmap and free a buffer
 * @core: connection
 * @buf: buffer that the device does not use
 * @addr: the device's address of it
 * @size: bytes
 *
 * Context: any but interrupts; possibly lock held.
 */
void rpcrdma_port_buffer_free(struct rpcrdma_ep_core *core, void *buf, u64 addr,
			      u32 size);

/**
 * rpcrdma_port_stream_free - free the memory of a continued message
 * @st: continued message
 *
 * Context: no lock held.
 */
void rpcrdma_port_stream_free(struct rpcrdma_stream *st);

/**
 * rpcrdma_port_stream_charge - charge bytes of Replies to the peer
 * @core: connection
 * @st: continued Reply that needs them
 *
 * Context: no lock held.
 */
void rpcrdma_port_stream_charge(struct rpcrdma_ep_core *core,
				const struct rpcrdma_stream *st);

/**
 * rpcrdma_port_stream_uncharge - undo rpcrdma_port_stream_charge()
 * @core: connection
 * @st: continued Reply
 *
 * Context: no lock held.
 */
void rpcrdma_port_stream_uncharge(struct rpcrdma_ep_core *core,
				  const struct rpcrdma_stream *st);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_SEND_H */
