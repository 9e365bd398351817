/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port's part for the setup of a connection, the events in its life, and its teardown.
 * port.h defines "lock held".
 */
#ifndef RPCRDMA_CORE_PORT_CONTROL_H
#define RPCRDMA_CORE_PORT_CONTROL_H

#include <rpcrdma/endpoint_control.h>
#include <rpcrdma/endpoint_send.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Setup ---- */

/**
 * rpcrdma_port_make - take a step to set up a connection
 * @core: connection
 * @m: ADDRESS, ROUTE, CONNECT or ACCEPT, see enum rpcrdma_setup
 *
 * Context: no lock held; may sleep.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_make(struct rpcrdma_ep_core *core,
		      const struct rpcrdma_setup_step *m);

/**
 * rpcrdma_port_network_lost - check if the network namespace has lost its network
 * @core: client's connection, the address of which could not be resolved
 *
 * Context: no lock held.
 * Return: true if neither Ethernet nor IPoIB is left, only loopback and tunnels, as in the
 * namespace of a container that has ended.
 */
bool rpcrdma_port_network_lost(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_objects - create the device's objects
 * @core: connection
 *
 * Begins with rpcrdma_core_configure() and calls rpcrdma_core_queue_pair(). If it
 * fails, there is no queue pair.
 * Context: no lock held; may sleep.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_objects(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_queue_pair - create the queue pair
 * @core: connection with the other objects of its device
 * @queues: the lengths of its queues
 * @qp: returns what was created
 *
 * Context: no lock held; may sleep.
 * Return: 0; -ENOMEM if the device may have memory for a shorter one; or another
 * negative errno.
 */
int rpcrdma_port_queue_pair(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_queues *queues,
			    struct rpcrdma_queue_pair *qp);

/**
 * rpcrdma_port_sends - allocate the Send contexts, and the buffers for control messages
 * @core: connection with its device's objects
 * @nr: number of contexts
 *
 * Sets core->control_bufs and core->control_addr.
 * Context: no lock held; may sleep.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_sends(struct rpcrdma_ep_core *core, u32 nr);

/* ---- Events of a connection ---- */

/**
 * rpcrdma_port_open_later - call rpcrdma_core_open_later() soon, unless the teardown begins
 * @core: connection
 *
 * Context: lock held.
 */
void rpcrdma_port_open_later(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_version_refused - log that the server has refused version 2
 * @core: client's connection, which opens with version 1
 *
 * Context: no lock held.
 */
void rpcrdma_port_version_refused(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_opened - notify the transport that RPC traffic may begin
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_opened(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_wake - wake the setup context, and others that check for the stage
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_wake(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_closing - start the teardown of a connection, which is closing
 * @core: connection
 * @reason: to be logged, or NULL
 *
 * Context: no lock held.
 */
void rpcrdma_port_closing(struct rpcrdma_ep_core *core, const char *reason);

/**
 * rpcrdma_port_confirm - report the established connection to the connection manager
 * @core: connection
 *
 * Context: no lock held, the teardown is held off.
 */
void rpcrdma_port_confirm(struct rpcrdma_ep_core *core);

/* ---- Teardown, no lock held; may sleep ---- */

/**
 * rpcrdma_port_release - run a step of the teardown for the device or the transport
 * @core: connection
 * @what: step that rpcrdma_core_teardown() does not return, or END
 *
 * Return: of STOP: 0 or a negative errno, of all others 0.
 */
int rpcrdma_port_release(struct rpcrdma_ep_core *core,
			 enum rpcrdma_teardown what);

/**
 * rpcrdma_port_reap - process the completions that have arrived, and wait for a context
 *	that does
 * @core: connection; the device uses no posted work any more, or
 *	core->life.unstopped is set
 *
 * While core->life.unstopped is set, no completion is processed.
 */
void rpcrdma_port_reap(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_leave_quota - detach a connection from the quota, if it is attached
 * @core: connection
 */
void rpcrdma_port_leave_quota(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_refuses - trace that an ERROR about a Call is queued
 * @core: connection
 * @xid: of the RPC
 * @code: RDMA2_ERR_*
 *
 * Context: no lock held.
 */
void rpcrdma_port_refuses(struct rpcrdma_ep_core *core, u32 xid, u32 code);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_CONTROL_H */
