// SPDX-License-Identifier: GPL-2.0
/*
 * Listening, and accepting connections.
 */

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>

#include "internal.h"
#include "trace.h"

enum {
	RPCRDMA_BACKLOG = 64,
	/* After a change of address: an interface may take its time. */
	RPCRDMA_RENEW_MS = 1000,
	RPCRDMA_RENEW_TRIES = 30,
};

struct rpcrdma_listener {
	/*
	 * NULL: not listening yet, or it went with its device. Who takes it
	 * from here, destroys it.
	 */
	struct rdma_cm_id	*id;
	struct sockaddr_storage	addr;
	int			(*incoming)(void *priv, struct rpcrdma_ep *ep);
	void			*priv;
	struct net		*net;
	bool			removed;	/* the device of one being made */
	/* Listens anew, when the device behind the address is another */
	struct delayed_work	renew_work;
	struct mutex		renew_mutex;	/* against the destruction */
	u32			renew_tries;	/* before it gives up */
	bool			dead;		/* under renew_mutex */
};

/*
 * Make what a new connection takes, and accept it. Not in the handler of its
 * request: the connection manager has one thread for the requests of all
 * devices and protocols, and making a queue pair takes milliseconds.
 */
static void rpcrdma_ep_accept(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep,
					     accept_work);
	struct sockaddr_storage remote = ep->remote;
	int rc;

	/* What cannot be accepted is rejected when its id is destroyed. */
	rc = rpcrdma_ep_make(ep, NULL, NULL, 0);
	if (rc)
		pr_warn_ratelimited("rpcrdma: connection from %pISpc cannot be accepted: error %d\n",
				    &remote, rc);
}

/* A new connection; always leaves @id to the teardown, or returns non-zero */
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
	/* Seen from here: the CM has exchanged the two. */
	ep->initiator_depth = req->initiator_depth;
	ep->responder_resources = req->responder_resources;
	rpcrdma_decode_private(req->private_data, req->private_data_len,
			       &ep->peer_private);

	rc = l->incoming(l->priv, ep);
	if (rc) {
		/* The CM destroys the id when this handler returns. */
		ep->id = NULL;
		rpcrdma_ep_put(ep);
		rpcrdma_ep_put(ep);
		return rc;
	}
	id->context = ep;
	id->event_handler = rpcrdma_ep_cm_handler;
	INIT_WORK(&ep->accept_work, rpcrdma_ep_accept);
	queue_work(rpcrdma_accept_wq, &ep->accept_work);
	return 0;
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
		 * Only one bound to an address of the device gets this, and the
		 * removal waits for its id. One that is being made belongs to
		 * who makes it.
		 */
		WRITE_ONCE(l->removed, true);
		return xchg(&l->id, NULL) ? 1 : 0;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		/* As when a bond turns to another of its interfaces */
		l->renew_tries = RPCRDMA_RENEW_TRIES;
		mod_delayed_work(rpcrdma_wq, &l->renew_work, 0);
		return 0;
	default:
		return 0;
	}
}

/*
 * renew_mutex held. Make and publish the id of @l, which has none. Returns 0
 * or a negative errno.
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
	/* An IPv4 and an IPv6 listener share a port. */
	rc = rdma_set_afonly(id, 1);
	if (rc)
		goto out_id;
#endif
	rc = rdma_bind_addr(id, (struct sockaddr *)&l->addr);
	if (rc)
		goto out_id;
	rc = rdma_listen(id, RPCRDMA_BACKLOG);
	if (rc)
		goto out_id;
	memcpy(&l->addr, &id->route.addr.src_addr, sizeof(l->addr));
	/* The removal of its device either finds it here, or is seen here. */
	xchg(&l->id, id);
	if (likely(!READ_ONCE(l->removed)))
		return 0;
	if (xchg(&l->id, NULL))
		rdma_destroy_id(id);
	return -ENODEV;

out_id:
	rdma_destroy_id(id);
	return rc;
}

static void rpcrdma_listener_renew(struct work_struct *work)
{
	struct rpcrdma_listener *l =
		container_of(to_delayed_work(work), struct rpcrdma_listener,
			     renew_work);
	struct rdma_cm_id *id;
	int rc;

	mutex_lock(&l->renew_mutex);
	if (l->dead)
		goto out;
	/* It has the port; and with it goes its handler. */
	id = xchg(&l->id, NULL);
	if (id)
		rdma_destroy_id(id);
	rc = rpcrdma_listener_start(l);
	if (!rc)
		pr_info("rpcrdma: listening anew at %pISpc, whose device changed\n",
			&l->addr);
	else if (--l->renew_tries)
		queue_delayed_work(rpcrdma_wq, &l->renew_work,
				   msecs_to_jiffies(RPCRDMA_RENEW_MS));
	else
		pr_warn("rpcrdma: no longer listening at %pISpc, whose device changed: error %d\n",
			&l->addr, rc);
out:
	mutex_unlock(&l->renew_mutex);
}

/**
 * rpcrdma_listen - accept connections at an address
 * @net: network namespace
 * @addr: address, port 0 for any
 * @incoming: see endpoint.h
 * @priv: for @incoming
 *
 * Returns a listener or an ERR_PTR. Sleeps.
 */
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
	INIT_DELAYED_WORK(&l->renew_work, rpcrdma_listener_renew);
	mutex_init(&l->renew_mutex);
	memcpy(&l->addr, addr, addr->sa_family == AF_INET6 ?
	       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	mutex_lock(&l->renew_mutex);
	rc = rpcrdma_listener_start(l);
	mutex_unlock(&l->renew_mutex);
	if (!rc)
		return l;
	rpcrdma_listener_destroy(l);
	return ERR_PTR(rc);
}

/**
 * rpcrdma_listener_destroy - stop listening
 * @l: listener, freed
 *
 * No incoming() runs after it returned. Sleeps.
 */
void rpcrdma_listener_destroy(struct rpcrdma_listener *l)
{
	struct rdma_cm_id *id;

	mutex_lock(&l->renew_mutex);
	l->dead = true;
	mutex_unlock(&l->renew_mutex);
	/* From here on there will be no other. */
	id = xchg(&l->id, NULL);
	if (id)
		rdma_destroy_id(id);
	cancel_delayed_work_sync(&l->renew_work);
	kfree(l);
}

/**
 * rpcrdma_listener_addr - the address bound
 * @l: listener
 */
const struct sockaddr *rpcrdma_listener_addr(struct rpcrdma_listener *l)
{
	return (struct sockaddr *)&l->addr;
}
