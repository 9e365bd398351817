// SPDX-License-Identifier: GPL-2.0
/*
 * The connection manager: its events, and its part in the setup of a connection.
 *
 * Operation
 *
 * The handler translates an event of the CM to one of the core, which knows the stage
 * that waits for it (core/conn/lifecycle.cc). The core calls rpcrdma_port_make() in
 * the setup context to begin a step: resolve the address or the route, connect, or
 * accept. The steps of a client end with an event, for which ep.c waits with the time
 * limit of the step. The setup of a server ends when the connection is accepted;
 * open_timer limits the time until it is open. The messages of its client may arrive
 * before the event ESTABLISHED, so that a server's end may open before that event. If
 * it is open when the timer expires, and the event is still missing, the CM is
 * notified that the connection is established.
 *
 * The handler must be quick, because one thread of the CM handles these events of all
 * devices and protocols. It allocates no Receives, and waits for no other context.
 *
 * Memory
 *
 * A client's id is created by rpcrdma_ep_connect(), a server's by the CM for a connect
 * request. Only the teardown destroys the id of an endpoint. It waits for a handler
 * that is running. The handler always returns 0, because otherwise the CM would
 * destroy the id. The removal of a device waits for the teardown.
 *
 * Errors
 *
 * An event that ends the connection closes it in any stage; the core has the errno. If
 * a step cannot begin, the setup fails, and the connection is closed, too.
 *
 * Locking
 *
 * The CM holds the id's handler mutex while the handler runs, and the core takes
 * ep->lock within that mutex. rpcrdma_ep_answer() takes the handler mutex, so that no
 * event closes the connection while it is accepted.
 */

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/sunrpc/addr.h>

#include "internal.h"
#include "trace.h"

/* ---- Events ---- */

/*
 * Set @peer to the content of a connect request, or of the answer to one. The CM has
 * exchanged the two numbers: they are from this end's view.
 */
void rpcrdma_ep_peer(struct rpcrdma_cm_peer *peer,
		     const struct rdma_conn_param *param)
{
	rpcrdma_decode_private(param->private_data, param->private_data_len,
			       &peer->priv);
	peer->reads_in = param->responder_resources;
	peer->reads_out = param->initiator_depth;
}

/*
 * Handle a CM event. Never returns non-zero, because only the teardown destroys the id.
 * Called with the id's handler mutex held; may sleep.
 */
int rpcrdma_ep_cm_handler(struct rdma_cm_id *id,
			  struct rdma_cm_event *event)
{
	static const u8 cm_events[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = RPCRDMA_CM_RESOLVED,
		[RDMA_CM_EVENT_ADDR_ERROR] = RPCRDMA_CM_UNRESOLVED,
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = RPCRDMA_CM_RESOLVED,
		[RDMA_CM_EVENT_ROUTE_ERROR] = RPCRDMA_CM_UNRESOLVED,
		[RDMA_CM_EVENT_CONNECT_REQUEST] = RPCRDMA_NR_CM_EVENTS,
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = RPCRDMA_NR_CM_EVENTS,
		[RDMA_CM_EVENT_CONNECT_ERROR] = RPCRDMA_CM_FAILED,
		[RDMA_CM_EVENT_UNREACHABLE] = RPCRDMA_CM_UNREACHABLE,
		[RDMA_CM_EVENT_REJECTED] = RPCRDMA_CM_REJECTED,
		[RDMA_CM_EVENT_ESTABLISHED] = RPCRDMA_CM_ESTABLISHED,
		[RDMA_CM_EVENT_DISCONNECTED] = RPCRDMA_CM_DISCONNECTED,
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = RPCRDMA_CM_REMOVED,
		[RDMA_CM_EVENT_MULTICAST_JOIN] = RPCRDMA_NR_CM_EVENTS,
		[RDMA_CM_EVENT_MULTICAST_ERROR] = RPCRDMA_NR_CM_EVENTS,
		[RDMA_CM_EVENT_ADDR_CHANGE] = RPCRDMA_CM_ADDRESS_CHANGED,
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = RPCRDMA_CM_DISCONNECTED,
	};
	struct rpcrdma_ep *ep = id->context;
	struct rpcrdma_lifecycle_event happened = {
		.what = RPCRDMA_HAPPENED_CM_EVENT,
		.rejection = event->status,
	};
	struct rpcrdma_cm_peer peer;

	if (event->event >= ARRAY_SIZE(cm_events) ||
	    cm_events[event->event] == RPCRDMA_NR_CM_EVENTS)
		return 0;
	happened.event = cm_events[event->event];
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		pr_info("rpcrdma: device %s is being removed, closing the connection to %pISpc\n",
			id->device->name, &ep->remote);
	if (event->event == RDMA_CM_EVENT_ESTABLISHED) {
		trace_rpcrdma_connect(ep);
		if (ep->client) {
			rpcrdma_ep_peer(&peer, &event->param.conn);
			happened.peer = &peer;
		}
	}
	rpcrdma_core_happened(&ep->core, &happened);
	return 0;
}

void rpcrdma_port_confirm(struct rpcrdma_ep_core *core)
{
	/*
	 * The id exists, because the teardown stops the timer, which leads here, before
	 * it destroys the id.
	 */
	rdma_notify(rpcrdma_ep_of(core)->id, IB_EVENT_COMM_EST);
}

/* ---- Setup ---- */

void rpcrdma_ep_addresses(struct rpcrdma_ep *ep)
{
	memcpy(&ep->local, &ep->id->route.addr.src_addr, sizeof(ep->local));
	memcpy(&ep->remote, &ep->id->route.addr.dst_addr, sizeof(ep->remote));
}

/* Send the connect request. */
static int rpcrdma_ep_request(struct rpcrdma_ep *ep)
{
	u8 private[RPCRDMA_PRIVATE_OCTETS];
	struct rdma_conn_param param;

	rpcrdma_ep_addresses(ep);
	rdma_set_ack_timeout(ep->id, RPCRDMA_ACK_TIMEOUT);
	rpcrdma_ep_conn_param(ep, &param, private);
	return rdma_connect(ep->id, &param);
}

/* Accept a connect request; the connection is overdue if it is not open within @ms. */
static int rpcrdma_ep_answer(struct rpcrdma_ep *ep, u32 ms)
{
	u8 private[RPCRDMA_PRIVATE_OCTETS];
	struct rdma_conn_param param;
	int rc = 0;

	queue_delayed_work(rpcrdma_wq, &ep->open_timer, msecs_to_jiffies(ms));
	rdma_set_ack_timeout(ep->id, RPCRDMA_ACK_TIMEOUT);
	rpcrdma_ep_conn_param(ep, &param, private);
	/*
	 * The lock excludes CM events of this id. One may have closed the connection
	 * before.
	 */
	rdma_lock_handler(ep->id);
	if (!rpcrdma_ep_is_closing(ep))
		rc = rdma_accept(ep->id, &param);
	rdma_unlock_handler(ep->id);
	return rc;
}

bool rpcrdma_port_network_lost(struct rpcrdma_ep_core *core)
{
	struct net *net = rpcrdma_ep_of(core)->id->route.addr.dev_addr.net;
	struct net_device *dev;
	bool lost = true;

	rcu_read_lock();
	for_each_netdev_rcu(net, dev)
		if (dev->type == ARPHRD_ETHER || dev->type == ARPHRD_INFINIBAND)
			lost = false;
	rcu_read_unlock();
	return lost;
}

/* Begin to resolve the server's address. */
static int rpcrdma_ep_resolve(struct rpcrdma_ep *ep, u32 ms)
{
	struct sockaddr *src = ep->local.ss_family ?
			       (struct sockaddr *)&ep->local : NULL;

	return rdma_resolve_addr(ep->id, src, (struct sockaddr *)&ep->remote, ms);
}

int rpcrdma_port_make(struct rpcrdma_ep_core *core,
		      const struct rpcrdma_setup_step *m)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	switch (m->what) {
	case RPCRDMA_SETUP_ADDRESS:
		return rpcrdma_ep_resolve(ep, m->ms);
	case RPCRDMA_SETUP_ROUTE:
		return rdma_resolve_route(ep->id, m->ms);
	case RPCRDMA_SETUP_CONNECT:
		return rpcrdma_ep_request(ep);
	case RPCRDMA_SETUP_ACCEPT:
		return rpcrdma_ep_answer(ep, m->ms);
	default:
		return -EINVAL;
	}
}

/*
 * The removal of the device waits until its last id is destroyed. rdma_destroy_id() wakes
 * it before it releases the id's GID: if the removal overtook it there, the entry would be
 * freed after the device's table of GIDs. A device is not unregistered while it is held.
 */
void rpcrdma_id_destroy(struct rdma_cm_id *id)
{
	struct ib_device *device = id->device;
	bool held = device && ib_device_try_get(device);

	rdma_destroy_id(id);
	if (held)
		ib_device_put(device);
}
