/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port's part for Receives, and for the messages that arrive in them. port.h says what
 * it means for the lock to be held.
 */
#ifndef RPCRDMA_CORE_PORT_RECEIVE_H
#define RPCRDMA_CORE_PORT_RECEIVE_H

#include <rpcrdma/endpoint_receive.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Receives ---- */

/**
 * rpcrdma_port_post_recvs - post Receives with one doorbell
 * @core: connection
 * @first: Receives, chained by next
 *
 * Syncs their buffers for the device, because the CPU may have accessed them.
 * Context: lock held.
 * Return: false if the device refused them or some of them.
 */
bool rpcrdma_port_post_recvs(struct rpcrdma_ep_core *core,
			     struct rpcrdma_recv *first);

/**
 * rpcrdma_port_recv - allocate a Receive and map its buffer for the device
 * @core: connection
 * @want: its size in bytes, and its urgency
 *
 * Context: no lock held, the teardown is held off; may sleep.
 * Return: the Receive, of which the core's part is zeroed except for buf, or NULL if out
 * of memory.
 */
struct rpcrdma_recv *rpcrdma_port_recv(struct rpcrdma_ep_core *core,
				       const struct rpcrdma_receives *want);

/**
 * rpcrdma_port_recv_unmap - unmap a Receive, which is not posted
 * @rv: Receive
 *
 * Context: lock held.
 */
void rpcrdma_port_recv_unmap(struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_recv_free - free a Receive that is unmapped
 * @rv: Receive, on no list
 *
 * Context: no lock held.
 */
void rpcrdma_port_recv_free(struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_recv_shrink - free rv->assembled and rv->rx.lists.extra_segs
 * @rv: Receive; either may be NULL
 *
 * Context: no lock held.
 */
void rpcrdma_port_recv_shrink(struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_recv_put - take the lock and call rpcrdma_core_recv_put()
 * @rv: Receive
 *
 * Calls rpcrdma_core_recv_shrink() before if @rv is large, and
 * rpcrdma_core_recv_freed() afterwards.
 * Context: no lock held.
 */
void rpcrdma_port_recv_put(struct rpcrdma_recv *rv);

/* ---- Arrivals ---- */

/**
 * rpcrdma_port_works_check - call rpcrdma_core_failed() if a Work Request of the Send
 *	Queue has failed
 * @core: connection
 *
 * Context: process context, no lock held.
 */
void rpcrdma_port_works_check(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_assembly - allocate memory for a continued message
 * @core: connection
 * @size: bytes
 *
 * Context: no lock held, may sleep.
 * Return: the memory, for rv->assembled or rpcrdma_port_assembly_free(), or NULL if out
 * of memory.
 */
void *rpcrdma_port_assembly(struct rpcrdma_ep_core *core, u32 size);

/**
 * rpcrdma_port_assembly_free - free what rpcrdma_port_assembly() has returned
 * @core: connection
 * @assembly: memory, or NULL
 *
 * Context: no lock held.
 */
void rpcrdma_port_assembly_free(struct rpcrdma_ep_core *core, void *assembly);

/**
 * rpcrdma_port_assembled - call rpcrdma_quota_assembled()
 * @core: connection
 * @octets: bytes of memory of a complete message
 *
 * Context: no lock held.
 * Return: false if the Calls that wait exceed the quota.
 */
bool rpcrdma_port_assembled(struct rpcrdma_ep_core *core, u64 octets);

/**
 * rpcrdma_port_extra_segs - allocate RPCRDMA_MAX_EXTRA_SEGS segments
 * @core: connection
 *
 * Context: no lock held, may sleep.
 * Return: memory for rv->rx.lists.extra_segs, or NULL if out of memory.
 */
struct rpcrdma_segment *rpcrdma_port_extra_segs(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_has_arrived - check if there are unprocessed messages
 * @core: connection
 *
 * Context: no lock held.
 * Return: true if so.
 */
bool rpcrdma_port_has_arrived(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_poll - let the transport process a batch of messages
 * @core: connection
 *
 * Context: no lock held, may sleep.
 */
void rpcrdma_port_poll(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_polled - wait until no context processes messages
 * @core: connection
 *
 * Has a full barrier: a context that begins later sees what was stored before.
 * Context: no lock held, sleeps.
 */
void rpcrdma_port_polled(struct rpcrdma_ep_core *core);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_RECEIVE_H */
