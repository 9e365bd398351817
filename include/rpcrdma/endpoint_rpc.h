/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Sending Calls, in send.cc, and Send contexts. "The lock": see endpoint_send.h.
 */
#ifndef RPCRDMA_ENDPOINT_RPC_H
#define RPCRDMA_ENDPOINT_RPC_H

#include "endpoint_send.h"
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_rpc;

/**
 * rpcrdma_core_may_call() - check if a Call can be sent now
 * @core: connection
 *
 * If not, the host is asked to notify of write space.
 * Context: no lock held.
 * Return: true if so.
 */
bool rpcrdma_core_may_call(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_send_for_call() - get the context that the next Call is built in
 * @core: connection
 *
 * If the Call cannot be sent now, the host is asked to notify of write space. Calls of a
 * connection are built one at a time, and a Call that is not sent leaves the context to
 * the next one.
 * Context: process context, no lock held.
 * Return: the context, or NULL.
 */
static inline struct rpcrdma_send *
rpcrdma_core_send_for_call(struct rpcrdma_ep_core *core)
{
	if (__builtin_expect(rpcrdma_sq_call_is_likely(&core->conn), 1) ||
	    rpcrdma_core_may_call(core))
		return core->call_send;
	return NULL;
}

/**
 * struct rpcrdma_call_size - what decides if a Call and its Reply are one message each
 * @xid: of the RPC
 * @length: bytes of the complete Call message
 * @pages: bytes of it that are page data
 * @reply_max: bytes of the largest complete Reply message expected
 */
struct rpcrdma_call_size {
	u32 xid;
	u32 length;
	u32 pages;
	u32 reply_max;
};

/**
 * struct rpcrdma_requester_stats - what a Requester has done on all its connections
 * @read_chunks: Read chunks of Calls
 * @write_chunks: Calls with Write chunks
 * @reply_chunks: Calls with a Reply chunk
 * @nomsg_calls: Calls in Special Format
 * @failed_sends: Calls that could not be sent in any form
 * @no_send_space: times a Call had to wait
 * @offered_octets: bytes of chunks for results
 * @send_copied: bytes of page data copied into messages
 * @buffer_octets: bytes of RPC buffers that have grown
 * @placed_octets: bytes of results that came in chunks
 * @recv_copied: bytes of inline Replies
 * @bad_replies: Replies that could not be used
 * @local_inv: Replies whose MRs this end had to invalidate
 *
 * rpcrdma_core_send_rpc() counts the first eight. Those from @placed_octets on are
 * counted where a Reply is completed, and @buffer_octets by the host. Each group has one
 * writer at a time; readers need no lock.
 */
struct rpcrdma_requester_stats {
	unsigned long read_chunks;
	unsigned long write_chunks;
	unsigned long reply_chunks;
	unsigned long nomsg_calls;
	unsigned long failed_sends;
	unsigned long no_send_space;
	u64 offered_octets;
	u64 send_copied;
	unsigned long buffer_octets;
	u64 placed_octets;
	u64 recv_copied;
	unsigned long bad_replies;
	unsigned long local_inv;
};

/**
 * rpcrdma_core_send_rpc() - plan, map, build, send and count a Call
 * @core: connection
 * @rpc: RPC of the Call
 * @learned: learned limits of the peer
 * @size: sizes of the Call and its Reply
 * @stats: counts the Call, or why it was not sent
 *
 * A Reply may complete the RPC before this returns; its memory has to remain. A Call that
 * is not sent has no MRs.
 * Context: process context, no lock held; one Call of the connection at a time.
 * Return: 0; 1 if the Call can never be sent, and rpcrdma_port_rpc_unsent() has ended its
 *	RPC; -EAGAIN if the Call cannot be sent now, and the host, which has called
 *	rpcrdma_port_rpc_wait(), is asked to notify of write space; -ENOBUFS if memory is
 *	short: retry after a delay; -ENOTCONN if the connection is not open, or is closed
 *	because it has too few MRs, or if the Call is outstanding on it, see
 *	rpcrdma_xact_begin_anew().
 */
int rpcrdma_core_send_rpc(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc,
			  const struct rpcrdma_peer_limits *learned,
			  const struct rpcrdma_call_size *size,
			  struct rpcrdma_requester_stats *stats);

/**
 * rpcrdma_core_send_get() - take a free Send context
 * @core: connection
 *
 * Context: no lock held.
 * Return: the context, or NULL.
 */
struct rpcrdma_send *rpcrdma_core_send_get(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_can_reserve_reply() - check if rpcrdma_core_reserve_reply() has a context
 * @core: connection
 *
 * If not, the host is asked to notify of write space.
 * Context: no lock held.
 * Return: true if so.
 */
bool rpcrdma_core_can_reserve_reply(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_reserve_reply() - take a free Send context for a Reply, before its Call
 *	is processed
 * @core: connection
 *
 * Context: no lock held.
 * Return: the context, or NULL.
 */
struct rpcrdma_send *rpcrdma_core_reserve_reply(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_send_put() - release a context that was not sent, and the work attached to it
 * @s: Send context
 *
 * Context: no lock held.
 */
void rpcrdma_core_send_put(struct rpcrdma_send *s);

/**
 * rpcrdma_core_send_call() - send the Call in core->call_send
 * @core: connection
 * @s: core->call_send, with a Call of s->len bytes
 * @mrs: the MRs its header names, or NULL
 * @format: format of the message
 * @lists: chunk lists of the message
 * @x: its transaction, marked as sent before a Reply can arrive, or NULL
 *
 * A Call that is not sent leaves @s to the next Call, and @mrs to the caller.
 * Context: process context, no lock held.
 * Return: 0; -EAGAIN, write space will be notified; -EIO if it needs more Work Requests
 *	than the Send Queue can ever hold; -ENOTCONN.
 */
int rpcrdma_core_send_call(struct rpcrdma_ep_core *core, struct rpcrdma_send *s,
			   struct list_head *mrs, enum rpcrdma_format format,
			   const struct rpcrdma_lists *lists,
			   struct rpcrdma_xact *x);

/**
 * rpcrdma_core_call_refused() - call rpcrdma_call_refused() for a Call of this end
 * @core: connection
 * @rx: the ERROR
 * @call: geometry of the Call
 * @call_lists: its chunk lists
 * @retry_limits: what to regard when it is planned again
 *
 * Context: no lock held.
 * Return: as rpcrdma_call_refused() does.
 */
int rpcrdma_core_call_refused(struct rpcrdma_ep_core *core,
			      const struct rpcrdma_rx *rx,
			      const struct rpcrdma_call *call,
			      const struct rpcrdma_lists *call_lists,
			      struct rpcrdma_retry_limits *retry_limits);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_RPC_H */
