// SPDX-License-Identifier: GPL-2.0
/*
 * Listening, and accepting connections.
 *
 * Operation
 *
 * A listener has an id of the CM that listens at its address. Its handler allocates an
 * endpoint for a connect request, and asks the transport to admit it with the upcall
 * incoming(). If that returns 0, a work item creates the objects of the connection and
 * accepts it. A listener survives the loss of its address or its device: a work item
 * destroys the old id and creates a new one until it can listen again. The core decides
 * when (core/conn/listening.cc). The CM reports the removal of a device and an address
 * that has moved to another device. If the listener is bound to an address, notifiers
 * report its arrival and its loss.
 *
 * Memory
 *
 * rpcrdma_listener_destroy() frees the listener, after its notifiers, its id and its
 * work item have ended. One context destroys the id of a listener: the one that
 * removes it with xchg(). In a device removal that is usually the handler, which
 * returns 1 so that the CM destroys the id. An id that is being created is not
 * published yet: the context that creates it checks l->removed after it has published
 * the id. The id of a connect request belongs to the endpoint once incoming() has
 * returned 0. If the request is refused, a work item destroys the id, which rejects the
 * request, and frees the endpoint. The handler returns an errno only if memory is short, or
 * if RPCRDMA_BACKLOG ids wait for the work item: then the CM destroys the id, but does not
 * hold the device (rpcrdma_id_destroy()).
 *
 * Errors
 *
 * If the first attempt to listen fails, rpcrdma_listen() returns its errno. Later
 * attempts are repeated until one succeeds or the listener is destroyed. If a
 * connection cannot be set up, its teardown destroys its id, which rejects it.
 *
 * Locking
 *
 * renew_mutex serializes attempts to listen. No handler takes it, because an attempt
 * waits for the handler of the id that it destroys. l->lock protects the core's state,
 * and a retry is scheduled under it. It disables bottom halves, because the notifier
 * for IPv6 addresses may run in a softirq. rpcrdma_listeners_mutex protects the list of
 * listeners.
 */

#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "internal.h"
#include "trace.h"

enum {
	RPCRDMA_BACKLOG = 64,
};

static DEFINE_MUTEX(rpcrdma_listeners_mutex);
static LIST_HEAD(rpcrdma_listeners);
static u64 rpcrdma_last_listener;

struct rpcrdma_listener {
	struct list_head	node;		/* of rpcrdma_listeners */
	u64			number;		/* grows along that list, never 0 */
	/*
	 * NULL: not listening yet, or the device is gone. The context that takes the id
	 * from here destroys it.
	 */
	struct rdma_cm_id	*id;
	struct sockaddr_storage	addr;
	int			(*incoming)(void *priv, struct rpcrdma_ep *ep);
	void			*priv;
	struct net		*net;
	bool			removed;	/* set while an id is created */
	/* A listener bound to an address follows that address. */
	bool			notified;
	struct notifier_block	inetaddr, inet6addr;
	spinlock_t		lock;		/* taken in any context */
	struct rpcrdma_listening state;		/* the engine's; under lock */
	/* Listens again after the device or the address was lost */
	struct delayed_work	renew_work;
	struct mutex		renew_mutex;	/* excludes the destruction */
	bool			dead;		/* under renew_mutex */
};

/*
 * Create the objects of a new connection, and accept it. The handler of its request
 * does not do so, because the connection manager has one thread for the requests of all
 * devices and protocols, and creating a queue pair takes milliseconds.
 */
static void rpcrdma_ep_accept(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep,
					     accept_work);
	struct sockaddr_storage remote = ep->remote;
	/* Memory reclaim may wait for a mount of a file system of this host. */
	unsigned int nofs = memalloc_nofs_save();
	int rc;

	/*
	 * If the connection cannot be accepted, it is rejected when its id is
	 * destroyed.
	 */
	rc = rpcrdma_ep_setup(ep, 0);
	if (rc)
		pr_warn_ratelimited("rpcrdma: connection from %pISpc cannot be set up: error %d\n",
				    &remote, rc);
	memalloc_nofs_restore(nofs);
}

/* Requests that are being refused by a work item */
static atomic_t rpcrdma_refusals;

/* Until the work item destroys the id, nothing that happens to it matters. */
static int rpcrdma_refused_handler(struct rdma_cm_id *id,
				   struct rdma_cm_event *event)
{
	return 0;
}

static void rpcrdma_ep_refuse(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep,
					     accept_work);
	unsigned int nofs = memalloc_nofs_save();

	rpcrdma_id_destroy(ep->id);
	ep->id = NULL;
	atomic_dec(&rpcrdma_refusals);
	rpcrdma_ep_put(ep);
	rpcrdma_ep_put(ep);
	memalloc_nofs_restore(nofs);
}

/*
 * Refuse a connect request, for which incoming() has returned @rc. Return 0, a work item
 * destroys @id then; or @rc, the CM destroys @id then.
 */
static int rpcrdma_listener_refuse(struct rpcrdma_ep *ep, struct rdma_cm_id *id,
				   int rc)
{
	/* Without memory, the CM of InfiniBand lets the peer repeat the request. */
	if (rc == -ENOMEM ||
	    !atomic_add_unless(&rpcrdma_refusals, 1, RPCRDMA_BACKLOG)) {
		ep->id = NULL;
		rpcrdma_ep_put(ep);
		rpcrdma_ep_put(ep);
		return rc;
	}
	id->context = ep;
	id->event_handler = rpcrdma_refused_handler;
	INIT_WORK(&ep->accept_work, rpcrdma_ep_refuse);
	queue_work(rpcrdma_accept_wq, &ep->accept_work);
	return 0;
}

/*
 * Handle a connect request. Return 0, the teardown destroys @id then, or the work item
 * that refuses it; or a negative errno.
 */
static int rpcrdma_listener_request(struct rpcrdma_listener *l,
				    struct rdma_cm_id *id,
				    const struct rdma_conn_param *req)
{
	struct rpcrdma_ep *ep;
	int rc;

	ep = rpcrdma_ep_alloc(false);
	if (!ep)
		return -ENOMEM;
	ep->net = l->net;
	ep->id = id;
	rpcrdma_ep_addresses(ep);
	rpcrdma_ep_peer(&ep->core.control.peer, req);

	rc = l->incoming(l->priv, ep);
	if (rc)
		return rpcrdma_listener_refuse(ep, id, rc);
	id->context = ep;
	id->event_handler = rpcrdma_ep_cm_handler;
	INIT_WORK(&ep->accept_work, rpcrdma_ep_accept);
	queue_work(rpcrdma_accept_wq, &ep->accept_work);
	return 0;
}

/*
 * Run the action that the engine has returned. @rc: result of the attempt, if there was
 * one. Caller holds l->lock.
 */
static void rpcrdma_listener_step(struct rpcrdma_listener *l,
				  const struct rpcrdma_listen_step *step,
				  int rc)
{
	switch (step->say) {
	case RPCRDMA_LISTEN_SAY_NOTHING:
		break;
	case RPCRDMA_LISTEN_SAY_LOST:
		pr_warn("rpcrdma: not listening at %pISpc any more: %s; trying again\n",
			&l->addr, step->cause);
		break;
	case RPCRDMA_LISTEN_SAY_FAILS:
		pr_warn("rpcrdma: still not listening at %pISpc: error %d; trying again every %u seconds\n",
			&l->addr, rc, step->ms / 1000);
		break;
	case RPCRDMA_LISTEN_SAY_AGAIN:
		pr_info("rpcrdma: listening again at %pISpc\n", &l->addr);
		break;
	}
	if (step->retry)
		mod_delayed_work(rpcrdma_wq, &l->renew_work,
				 msecs_to_jiffies(step->ms));
}

static void rpcrdma_listener_event(struct rpcrdma_listener *l,
				   enum rpcrdma_listen_event event)
{
	struct rpcrdma_listen_step step;

	spin_lock_bh(&l->lock);
	step = rpcrdma_listen_event_occurred(&l->state, event);
	rpcrdma_listener_step(l, &step, 0);
	spin_unlock_bh(&l->lock);
}

static int rpcrdma_listener_handler(struct rdma_cm_id *id,
				    struct rdma_cm_event *event)
{
	/* A new id inherits its listener's context. */
	struct rpcrdma_listener *l = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return rpcrdma_listener_request(l, id, &event->param.conn);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/*
		 * Only a listener bound to an address of the device gets this, and the
		 * removal waits for its id. An id under construction belongs to the
		 * context that creates it.
		 */
		WRITE_ONCE(l->removed, true);
		/*
		 * Report the event first, because @l may be destroyed once it has no
		 * id.
		 */
		rpcrdma_listener_event(l, RPCRDMA_LISTEN_REMOVED);
		return xchg(&l->id, NULL) ? 1 : 0;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		/* For example if a bond switches to another of its interfaces */
		rpcrdma_listener_event(l, RPCRDMA_LISTEN_MOVED);
		return 0;
	default:
		return 0;
	}
}

/* Handle the arrival or loss of @addr on this host. Any context. */
static void rpcrdma_listener_address(struct rpcrdma_listener *l,
				     struct net *net,
				     const struct sockaddr *addr,
				     unsigned long event)
{
	if (!net_eq(net, l->net) ||
	    !rpc_cmp_addr(addr, (struct sockaddr *)&l->addr))
		return;
	if (event == NETDEV_UP)
		rpcrdma_listener_event(l, RPCRDMA_LISTEN_BACK);
	else if (event == NETDEV_DOWN)
		rpcrdma_listener_event(l, RPCRDMA_LISTEN_GONE);
}

static int rpcrdma_listener_inetaddr(struct notifier_block *nb,
				     unsigned long event, void *data)
{
	const struct in_ifaddr *ifa = data;
	const struct sockaddr_in sin = {
		.sin_family		= AF_INET,
		.sin_addr.s_addr	= ifa->ifa_local,
	};

	rpcrdma_listener_address(container_of(nb, struct rpcrdma_listener,
					      inetaddr),
				 dev_net(ifa->ifa_dev->dev),
				 (const struct sockaddr *)&sin, event);
	return NOTIFY_DONE;
}

static int rpcrdma_listener_inet6addr(struct notifier_block *nb,
				      unsigned long event, void *data)
{
	const struct inet6_ifaddr *ifa = data;
	struct net_device *dev = ifa->idev->dev;
	struct sockaddr_in6 sin6 = {
		.sin6_family	= AF_INET6,
		.sin6_addr	= ifa->addr,
	};

	if (ipv6_addr_type(&sin6.sin6_addr) & IPV6_ADDR_LINKLOCAL)
		sin6.sin6_scope_id = dev->ifindex;
	rpcrdma_listener_address(container_of(nb, struct rpcrdma_listener,
					      inet6addr),
				 dev_net(dev), (const struct sockaddr *)&sin6,
				 event);
	return NOTIFY_DONE;
}

/* If a listener is not bound to one address, the CM follows the addresses. */
static void rpcrdma_listener_watch(struct rpcrdma_listener *l)
{
	const struct sockaddr *addr = (const struct sockaddr *)&l->addr;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;

	l->inetaddr.notifier_call = rpcrdma_listener_inetaddr;
	l->inet6addr.notifier_call = rpcrdma_listener_inet6addr;
	if (addr->sa_family == AF_INET6) {
		if (ipv6_addr_any(&sin6->sin6_addr))
			return;
		register_inet6addr_notifier(&l->inet6addr);
	} else {
		if (!((const struct sockaddr_in *)addr)->sin_addr.s_addr)
			return;
		register_inetaddr_notifier(&l->inetaddr);
	}
	l->notified = true;
}

static void rpcrdma_listener_unwatch(struct rpcrdma_listener *l)
{
	if (!l->notified)
		return;
	if (l->addr.ss_family == AF_INET6)
		unregister_inet6addr_notifier(&l->inet6addr);
	else
		unregister_inetaddr_notifier(&l->inetaddr);
}

/* Destroy the id of @l, if it has one. This also ends the id's handler. */
static void rpcrdma_listener_stop(struct rpcrdma_listener *l)
{
	struct rdma_cm_id *id = xchg(&l->id, NULL);

	if (id)
		rpcrdma_id_destroy(id);
}

/*
 * Create and publish the id of @l, which has none. Caller holds renew_mutex.
 * Return: 0 or a negative errno.
 */
static int rpcrdma_listener_start(struct rpcrdma_listener *l)
{
	struct rdma_cm_id *id;
	int rc;

	lockdep_assert_held(&l->renew_mutex);
	WRITE_ONCE(l->removed, false);
	id = rdma_create_id(l->net, rpcrdma_listener_handler, l, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
#if IS_ENABLED(CONFIG_IPV6)
	/* An IPv4 and an IPv6 listener may share a port. */
	rc = rdma_set_afonly(id, 1);
	if (rc)
		goto out_id;
#endif
	rc = rdma_bind_addr(id, (struct sockaddr *)&l->addr);
	if (rc) {
		/*
		 * The id has no device. Before Linux 5.13 it may still point to one
		 * that it has released.
		 */
		rdma_destroy_id(id);
		return rc;
	}
	rc = rdma_listen(id, RPCRDMA_BACKLOG);
	if (rc)
		goto out_id;
	memcpy(&l->addr, &id->route.addr.src_addr, sizeof(l->addr));
	/* The removal of its device either finds the id here, or is noticed here. */
	xchg(&l->id, id);
	if (likely(!READ_ONCE(l->removed)))
		return 0;
	rpcrdma_listener_stop(l);
	return -ENODEV;

out_id:
	rpcrdma_id_destroy(id);
	return rc;
}

/*
 * Try to listen, in place of the current id if there is one. Caller holds renew_mutex.
 */
static int rpcrdma_listener_try(struct rpcrdma_listener *l)
{
	struct rpcrdma_listen_step step;
	int rc;

	/* The old id holds the port. */
	rpcrdma_listener_stop(l);
	rc = rpcrdma_listener_start(l);
	spin_lock_bh(&l->lock);
	step = rpcrdma_listen_tried(&l->state, rc);
	rpcrdma_listener_step(l, &step, rc);
	spin_unlock_bh(&l->lock);
	return rc;
}

static void rpcrdma_listener_renew(struct work_struct *work)
{
	struct rpcrdma_listener *l =
		container_of(to_delayed_work(work), struct rpcrdma_listener,
			     renew_work);
	/* Memory reclaim may wait for a work item that waits for this workqueue. */
	unsigned int nofs = memalloc_nofs_save();

	mutex_lock(&l->renew_mutex);
	if (!l->dead)
		rpcrdma_listener_try(l);
	mutex_unlock(&l->renew_mutex);
	memalloc_nofs_restore(nofs);
}

struct rpcrdma_listener *
rpcrdma_listen(struct net *net, const struct sockaddr *addr,
	       int (*incoming)(void *priv, struct rpcrdma_ep *ep), void *priv)
{
	struct rpcrdma_listener *l;
	int rc;

	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return ERR_PTR(-ENOMEM);
	l->incoming = incoming;
	l->priv = priv;
	l->net = net;
	INIT_LIST_HEAD(&l->node);
	INIT_DELAYED_WORK(&l->renew_work, rpcrdma_listener_renew);
	mutex_init(&l->renew_mutex);
	rpcrdma_ep_address(&l->addr, addr);
	spin_lock_init(&l->lock);
	mutex_lock(&l->renew_mutex);
	rc = rpcrdma_listener_try(l);
	mutex_unlock(&l->renew_mutex);
	if (rc) {
		rpcrdma_listener_destroy(l);
		return ERR_PTR(rc);
	}
	rpcrdma_listener_watch(l);
	mutex_lock(&rpcrdma_listeners_mutex);
	l->number = ++rpcrdma_last_listener;
	list_add_tail(&l->node, &rpcrdma_listeners);
	mutex_unlock(&rpcrdma_listeners_mutex);
	return l;
}

void rpcrdma_listener_destroy(struct rpcrdma_listener *l)
{
	mutex_lock(&rpcrdma_listeners_mutex);
	list_del(&l->node);
	mutex_unlock(&rpcrdma_listeners_mutex);
	rpcrdma_listener_unwatch(l);
	mutex_lock(&l->renew_mutex);
	l->dead = true;
	mutex_unlock(&l->renew_mutex);
	/* No new id is created any more. */
	rpcrdma_listener_stop(l);
	cancel_delayed_work_sync(&l->renew_work);
	kfree(l);
}

const struct sockaddr *rpcrdma_listener_addr(struct rpcrdma_listener *l)
{
	return (struct sockaddr *)&l->addr;
}

u64 rpcrdma_listener_from(struct net *net, u64 number, struct sockaddr_storage *addr,
			  bool *listening)
{
	struct rpcrdma_listener *l;
	u64 found = 0;

	mutex_lock(&rpcrdma_listeners_mutex);
	list_for_each_entry(l, &rpcrdma_listeners, node) {
		if (!net_eq(l->net, net) || l->number < number)
			continue;
		*addr = l->addr;
		*listening = READ_ONCE(l->state.listening);
		found = l->number;
		break;
	}
	mutex_unlock(&rpcrdma_listeners_mutex);
	return found;
}
