/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port of the Requester: functions that the core calls for an RPC, in addition to
 * those in port.h, which defines "no lock held". An RPC's functions are not called
 * concurrently for one RPC.
 */
#ifndef RPCRDMA_CORE_PORT_RPC_H
#define RPCRDMA_CORE_PORT_RPC_H

#include <rpcrdma/endpoint_answer.h>
#include <rpcrdma/endpoint_rpc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Calls ---- */

/**
 * rpcrdma_port_rpc_lost - remember that a continued Call was lost with its connection
 * @core: connection on which the Call is sent again
 * @rpc: RPC of the Call; x.conn is the number of the connection that ended
 *
 * The host calls rpcrdma_peer_limits_lost(), under its lock.
 * Context: no lock held.
 */
void rpcrdma_port_rpc_lost(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_take_back - release the MRs that are left in @rpc->mrs
 * @rpc: RPC, not outstanding: the connection of the MRs has ended
 *
 * Context: process context, no lock held, may sleep until the end of the teardown of that
 *	connection.
 */
void rpcrdma_port_rpc_take_back(struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_wait - register the sender of a Call as a waiter for write space
 * @core: connection
 * @rpc: RPC of the Call
 *
 * From then on rpcrdma_port_write_space() wakes the sender. The registration is ordered
 * before what the caller checks next, with a full barrier.
 * Context: no lock held.
 */
void rpcrdma_port_rpc_wait(struct rpcrdma_ep_core *core,
			   struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_call_item - describe a Call with one DDP-eligible item, for the fast path
 *	of planning
 * @core: connection
 * @rpc: RPC of the Call
 * @item: filled
 *
 * Context: no lock held.
 * Return: false if the Call has no such item, or may have several.
 */
bool rpcrdma_port_call_item(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc,
			    struct rpcrdma_call_item *item);

/**
 * rpcrdma_port_item_map - map the item of a Call to one MR, which is added to @rpc->mrs
 * @core: connection
 * @rpc: RPC of the Call
 * @item: the item, from rpcrdma_port_call_item()
 *
 * The host uses rpcrdma_core_mr_get().
 * Context: no lock held.
 * Return: 0; or an errno of rpcrdma_core_mrs_map(), and @rpc->mrs may have the MR.
 */
int rpcrdma_port_item_map(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc,
			  const struct rpcrdma_call_item *item);

/**
 * rpcrdma_port_call_data - get the complete geometry of a Call, and the learned limits
 * @core: connection
 * @rpc: RPC of the Call
 * @call: filled
 *
 * Context: no lock held.
 */
void rpcrdma_port_call_data(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc,
			    struct rpcrdma_call *call);

/**
 * rpcrdma_port_call_map - map the chunks of a Call to MRs, which are added to @rpc->mrs
 * @core: connection
 * @rpc: RPC of the Call; @rpc->x.lists are empty, and get the chunks
 * @plan: how the Call is conveyed
 *
 * The host maps the ranges of rpcrdma_chunk_range_next() with rpcrdma_core_mrs_map().
 * Context: no lock held.
 * Return: 0; or a negative errno, and @rpc->mrs has the MRs taken so far.
 */
int rpcrdma_port_call_map(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc,
			  const struct rpcrdma_call_plan *plan);

/**
 * rpcrdma_port_call_stream - allocate a continued Call
 * @core: connection
 * @xid: of the RPC
 * @octets: bytes of payload that it has space for
 * @lists: its chunk lists, or NULL
 *
 * The host calls rpcrdma_core_stream_init().
 * Context: no lock held.
 * Return: the continued message, or NULL if out of memory.
 */
struct rpcrdma_stream *rpcrdma_port_call_stream(struct rpcrdma_ep_core *core,
						u32 xid, u32 octets,
						const struct rpcrdma_lists *lists);

/**
 * rpcrdma_port_call_copy - copy what is sent inline of a Call
 * @core: connection
 * @rpc: RPC of the Call
 * @plan: how the Call is conveyed: not in Special Format
 * @to: space for @plan->inline_length bytes
 *
 * Context: no lock held.
 */
void rpcrdma_port_call_copy(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc,
			    const struct rpcrdma_call_plan *plan, void *to);

/* ---- Replies and ERRORs ---- */

/**
 * rpcrdma_port_answer - call rpcrdma_core_answer_rpc() of answer.h
 * @r: RPCs
 * @rv: the message
 *
 * The host inlines its functions there.
 * Context: as for rpcrdma_core_answer_rpc().
 * Return: what that returns.
 */
bool rpcrdma_port_answer(struct rpcrdma_requester *r, struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_rpc_claim - look up the RPC that a Reply or an ERROR is for, and claim it
 * @r: RPCs
 * @rv: the message
 *
 * The host calls rpcrdma_core_rpc_claim() in a section that excludes the end of the RPC's
 * task, and holds the RPC until the claim ends. For RPCRDMA_CLAIMED_LAST, it copies the
 * payload to the head and completes the RPC, which ends the claim.
 * Context: no lock held.
 * Return: the RPC, and what rpcrdma_core_rpc_claim() has returned.
 */
struct rpcrdma_claim rpcrdma_port_rpc_claim(struct rpcrdma_requester *r,
					    const struct rpcrdma_recv *rv);

/* The RPC of the following is claimed. */

/**
 * rpcrdma_port_rpc_layout - describe the memory for the Reply of an RPC
 * @rpc: RPC
 * @layout: filled
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_layout(const struct rpcrdma_rpc *rpc,
			     struct rpcrdma_buf_layout *layout);

/**
 * rpcrdma_port_rpc_report - log a bad Reply
 * @core: connection
 * @rpc: RPC that ends because of it
 * @s: actions, with the reason
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_report(struct rpcrdma_ep_core *core,
			     struct rpcrdma_rpc *rpc,
			     const struct rpcrdma_actions *s);

/**
 * rpcrdma_port_rpc_place - copy the inline payload of @rpc->rv as @rpc->x.parts says
 * @rpc: RPC
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_place(struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_move - move the Reply in the memory of head and tail as @rpc->x.parts
 *	says
 * @rpc: RPC
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_move(struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_first - return the start of a Reply that is not in a Receive
 * @rpc: RPC
 *
 * Context: no lock held.
 * Return: its first 8 bytes, or NULL if its memory is shorter.
 */
const void *rpcrdma_port_rpc_first(const struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_put_mrs - unmap and return the MRs in @rpc->mrs
 * @core: connection
 * @rpc: RPC, no MR of which is exposed
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_put_mrs(struct rpcrdma_ep_core *core,
			      struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_reads - build the Reads of a Reply that is pulled
 * @core: connection
 * @rpc: RPC; @rpc->x.parts says where its Reply belongs
 * @rv: the message with the Read chunk
 * @t: returns the Reads, whose end calls rpcrdma_core_rpc_pulled()
 *
 * Context: no lock held.
 * Return: 0; or a negative errno, without Reads.
 */
int rpcrdma_port_rpc_reads(struct rpcrdma_ep_core *core,
			   struct rpcrdma_rpc *rpc,
			   const struct rpcrdma_recv *rv,
			   struct rpcrdma_transfer **t);

/**
 * rpcrdma_port_rpc_learn - learn the limits that an ERROR shows
 * @core: connection
 * @rpc: RPC of the ERROR
 * @rx: the ERROR
 * @call: geometry of the Call
 *
 * The host calls rpcrdma_peer_limits_learn(), under its lock.
 * Context: no lock held.
 */
void rpcrdma_port_rpc_learn(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_rpc *rpc,
			    const struct rpcrdma_rx *rx,
			    const struct rpcrdma_call *call);

/**
 * rpcrdma_port_rpc_refused - log an ERROR
 * @core: connection
 * @rpc: RPC of the ERROR
 * @rx: the ERROR
 * @status: errno that the RPC ends with; 0: its Call is sent in another form
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_refused(struct rpcrdma_ep_core *core,
			      struct rpcrdma_rpc *rpc,
			      const struct rpcrdma_rx *rx, int status);

/*
 * One of the next three ends the claim. The RPC may then belong to another context, or
 * be another one.
 */

/**
 * rpcrdma_port_rpc_complete - complete an RPC
 * @rpc: RPC; its results are where @rpc->x.parts says
 * @status: bytes of the Reply, or a negative errno
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_complete(struct rpcrdma_rpc *rpc, int status);

/**
 * rpcrdma_port_rpc_again - have the task encode and send its Call again
 * @rpc: RPC; the host calls rpcrdma_xact_again()
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_again(struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_leave - leave the RPC until its Call is sent on another connection
 * @rpc: RPC
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_leave(struct rpcrdma_rpc *rpc);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_RPC_H */
