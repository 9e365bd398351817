/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port of the Responder: functions that the core calls for a Reply, in addition to
 * those in port.h, which defines "no lock held". A Reply belongs to one context until
 * rpcrdma_core_send_reply() returns.
 */
#ifndef RPCRDMA_CORE_PORT_REPLY_H
#define RPCRDMA_CORE_PORT_REPLY_H

#include <rpcrdma/endpoint_reply.h>
#include <rpcrdma/msg_iter.h>
#include <rpcrdma/pull.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Its data ---- */

/**
 * rpcrdma_port_reply_item - return the only DDP-eligible result of a Reply, for the fast
 *	path
 * @out: the Reply
 *
 * The host keeps the memory of the result for rpcrdma_port_item_write().
 * Context: no lock held.
 * Return: the result; NULL if there is none, or there may be several, or it may be at
 *	another position.
 */
const struct rpcrdma_item *
rpcrdma_port_reply_item(const struct rpcrdma_reply_out *out);

/**
 * rpcrdma_port_reply_items - set the DDP-eligible results of a Reply
 * @out: the Reply
 * @reply: its geometry, with its length and without items
 *
 * The host calls rpcrdma_reply_items().
 * Context: no lock held.
 */
void rpcrdma_port_reply_items(const struct rpcrdma_reply_out *out,
			      struct rpcrdma_reply *reply);

/**
 * rpcrdma_port_reply_copy - copy bytes of a Reply
 * @out: the Reply, the memory of which is not yet held by Writes
 * @from: first byte
 * @length: number of bytes
 * @to: space for them
 *
 * Context: no lock held.
 */
void rpcrdma_port_reply_copy(const struct rpcrdma_reply_out *out, u32 from,
			     u32 length, void *to);

/**
 * rpcrdma_port_reply_stream - allocate a continued Reply
 * @out: the Reply
 * @octets: bytes of payload that it has space for
 * @lists: its chunk lists
 *
 * The host calls rpcrdma_core_stream_init().
 * Context: no lock held.
 * Return: the continued message, or NULL if out of memory.
 */
struct rpcrdma_stream *
rpcrdma_port_reply_stream(const struct rpcrdma_reply_out *out, u32 octets,
			  const struct rpcrdma_lists *lists);

/* ---- Writes ---- */

/**
 * rpcrdma_port_item_write - allocate the Write of rpcrdma_port_reply_item(), for the fast
 *	path
 * @core: connection
 * @out: the Reply
 * @segment: the peer's memory for the item, one part of a transfer
 *
 * The host calls rpcrdma_transfer_only().
 * Context: no lock held; may sleep.
 * Return: the Write; NULL if out of memory, if the connection is closing, or if the host
 *	cannot do it in one part.
 */
struct rpcrdma_transfer *
rpcrdma_port_item_write(struct rpcrdma_ep_core *core,
			struct rpcrdma_reply_out *out,
			const struct rpcrdma_segment *segment);

/**
 * rpcrdma_port_reply_writes - allocate the Writes of a Reply
 * @core: connection
 * @out: the Reply
 * @from: first byte of the Reply that may be written
 * @to: end of the bytes that may be written
 *
 * Context: no lock held; may sleep.
 * Return: Writes without parts; NULL if out of memory, or the connection is closing.
 */
struct rpcrdma_transfer *
rpcrdma_port_reply_writes(struct rpcrdma_ep_core *core,
			  struct rpcrdma_reply_out *out, u32 from, u32 to);

/**
 * rpcrdma_port_reply_write - add the Write of a range
 * @out: the Reply
 * @t: its Writes
 * @lists: lists of the Reply
 * @range: bytes of the Reply, and the chunk that they belong to
 *
 * The host calls rpcrdma_core_transfer_add().
 * Context: no lock held; may sleep.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_reply_write(struct rpcrdma_reply_out *out,
			     struct rpcrdma_transfer *t,
			     const struct rpcrdma_lists *lists,
			     const struct rpcrdma_msg_range *range);

/**
 * rpcrdma_port_reply_hold - have the Writes hold the memory that they read
 * @out: the Reply, of which nothing is copied any more
 * @t: its Writes, which are complete
 *
 * A server charges the memory to the peer until @t ends, and then releases it. The memory of
 * a callback's Reply is the callback service's.
 * Context: no lock held.
 */
void rpcrdma_port_reply_hold(struct rpcrdma_reply_out *out,
			     struct rpcrdma_transfer *t);

/* ---- Replies that the peer pulls ---- */

/**
 * rpcrdma_port_reply_expose - prepare to expose the rest of a Reply, and complete its plan
 * @core: connection
 * @out: the Reply
 * @reply: its geometry
 * @plan: its plan, with a read_length; @plan->error is set if the peer must be notified
 * @x: returns the exposure
 *
 * The host calls rpcrdma_core_expose() with the ranges of rpcrdma_reply_exposed_next(), and
 * waits as long as that says. A host that cannot wait here sets @out->kept, and sends the
 * Reply again. Until it is released, the exposure holds the memory, which is charged to
 * the peer.
 * Context: no lock held; may sleep.
 * Return: 0, the teardown is held off; or a negative errno.
 */
int rpcrdma_port_reply_expose(struct rpcrdma_ep_core *core,
			      struct rpcrdma_reply_out *out,
			      const struct rpcrdma_reply *reply,
			      struct rpcrdma_reply_plan *plan,
			      struct rpcrdma_pull_entry **x);

/* ---- Its end ---- */

/**
 * rpcrdma_port_reply_built - release what a Reply that is built does not need
 * @core: connection
 * @out: the Reply
 * @exposed: the Reply is exposed: its memory must not be used for another one
 *
 * Called before the Reply is sent if it is exposed, and if it is a credit
 * (rpcrdma_reply_is_credit()): its Call's Receive is released then.
 * Context: no lock held.
 */
void rpcrdma_port_reply_built(struct rpcrdma_ep_core *core,
			      struct rpcrdma_reply_out *out, bool exposed);

/**
 * rpcrdma_port_reply_refused - log that an ERROR is sent in place of a Reply
 * @core: connection
 * @out: the Reply
 * @code: RDMA2_ERR_*
 *
 * Context: no lock held.
 */
void rpcrdma_port_reply_refused(struct rpcrdma_ep_core *core,
				const struct rpcrdma_reply_out *out, u32 code);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_REPLY_H */
