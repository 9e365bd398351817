/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port of the Requester for Calls: functions that the core calls for an RPC, in
 * addition to those in port.h, which defines "no lock held". Those for Replies are in
 * port_answer.h. An RPC's functions are not called concurrently for one RPC.
 */
#ifndef RPCRDMA_CORE_PORT_RPC_H
#define RPCRDMA_CORE_PORT_RPC_H

#include <rpcrdma/endpoint_answer.h>
#include <rpcrdma/endpoint_rpc.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 * rpcrdma_port_rpc_unsent - end an RPC whose Call can never be sent, and log it
 * @core: connection
 * @rpc: RPC of the Call
 * @status: negative errno that it ends with
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_unsent(struct rpcrdma_ep_core *core,
			     struct rpcrdma_rpc *rpc, int status);

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

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_RPC_H */
