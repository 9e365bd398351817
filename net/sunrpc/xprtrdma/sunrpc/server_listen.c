// SPDX-License-Identifier: GPL-2.0
/*
 * Server transport: the class, its listeners, and connections until they are accepted.
 *
 * Operation
 *
 * A listener and a connection are separate objects with different operations. A connect
 * request is admitted or refused by the core (core/conn/admission.cc), which limits the
 * connections that are not accepted yet, and may evict one of them for a new one. The
 * upcall opened() queues a connection for xpo_accept, and its svc_xprt is initialized
 * only when a service thread accepts it. Calls that arrive before are queued.
 *
 * Memory
 *
 * A connection begins as a wrapper around its endpoint. Until it is accepted, it
 * belongs to its listener, and is freed by the endpoint's upcall closed(). From then
 * on it belongs to sunrpc, and ends with the last reference to the svc_xprt
 * (server.c). A listener is freed with sunrpc's last reference, or by the end of the last
 * connection that belongs to it, whichever is later. No step needs a service thread to
 * make progress.
 *
 * Errors
 *
 * A connect request that is refused is rejected. If too many connections are pending,
 * or their reservations leave no memory, the refusal is counted by its cause, and
 * logged with its remedy. If only some devices can be listened on, the listener is not
 * created, and the connections that arrived meanwhile are closed.
 *
 * Locking
 *
 * rpcrdma_svc_accept_lock protects the admission of all listeners, and conn->listener.
 * conn->lock is nested in it, and protects the connection's state, which upcalls change
 * after it was accepted, too. XPT_BUSY of the listener permits one accept at a time.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "internal.h"
#include "netlink.h"
#include "server.h"
#include "server_bc.h"
#include "settings.h"

struct rpcrdma_svc_listener {
	struct svc_xprt		xprt;
	struct rpcrdma_listener	*listener;
	/* Under rpcrdma_svc_accept_lock */
	struct rpcrdma_admission admission;
	bool			put;	/* sunrpc has no reference any more */
};

/*
 * Protects the admission of listeners, which decides about connections. It is taken
 * only a few times for each connection. The state of a connection changes under its
 * own lock, too, which is nested in this one.
 */
static DEFINE_SPINLOCK(rpcrdma_svc_accept_lock);

static const struct svc_xprt_ops rpcrdma_svc_listener_ops;
static const struct svc_xprt_ops rpcrdma_svc_conn_ops;

static struct svc_xprt_class rpcrdma_svc_class = {
	.xcl_name	= "rdma",
	.xcl_owner	= THIS_MODULE,
	.xcl_ops	= &rpcrdma_svc_listener_ops,
	.xcl_max_payload = RPCSVC_MAXPAYLOAD,
	.xcl_ident	= XPRT_TRANSPORT_RDMA,
};

static struct rpcrdma_svc_listener *to_svc_listener(struct svc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_svc_listener, xprt);
}

static struct rpcrdma_svc_conn *
rpcrdma_svc_pending(struct rpcrdma_pending_conn *pending)
{
	return container_of(pending, struct rpcrdma_svc_conn, pending);
}

/* ---- The endpoint's upcalls ---- */

/* Queue the connection for accept, after the exchange of properties. */
static void rpcrdma_svc_opened(struct rpcrdma_ep *ep)
{
	struct rpcrdma_svc_conn *conn = ep->priv;
	struct rpcrdma_svc_listener *l;
	u32 todo;

	spin_lock(&rpcrdma_svc_accept_lock);
	/*
	 * The connection has not been accepted or closed yet, so it still has its
	 * listener.
	 */
	l = conn->listener;
	todo = rpcrdma_locked(&conn->lock,
			      rpcrdma_admission_opened(&l->admission,
						       &conn->pending));
	if (todo & RPCRDMA_PENDING_LISTED) {
		set_bit(XPT_CONN, &l->xprt.xpt_flags);
		svc_xprt_enqueue(&l->xprt);
	}
	spin_unlock(&rpcrdma_svc_accept_lock);
}

static void rpcrdma_svc_closed(struct rpcrdma_ep *ep)
{
	struct rpcrdma_svc_conn *conn = ep->priv;
	struct rpcrdma_svc_listener *l;
	struct svc_xprt *xprt;
	u32 todo;

	spin_lock(&rpcrdma_svc_accept_lock);
	l = conn->listener;
	todo = rpcrdma_locked(&conn->lock,
			      rpcrdma_admission_gone(l ? &l->admission : NULL,
						     &conn->pending));
	conn->listener = NULL;
	if (l && !(l->put && todo & RPCRDMA_PENDING_LAST))
		l = NULL;
	spin_unlock(&rpcrdma_svc_accept_lock);
	kfree(l);
	if (todo & RPCRDMA_PENDING_FREE) {
		rpcrdma_svc_conn_free(conn);
		return;
	}

	rpcrdma_svc_spare_free(conn);
	if (!(todo & RPCRDMA_PENDING_CLOSE))
		return;
	xprt = rpcrdma_svc_conn_get(conn);
	if (xprt) {
		svc_xprt_deferred_close(xprt);
		svc_xprt_put(xprt);
	}
}

/*
 * Wake a service thread. XPT_DATA wakes one even without space for a Reply, because the
 * messages that have arrived may provide it.
 */
static bool rpcrdma_svc_messages(struct rpcrdma_ep *ep)
{
	struct rpcrdma_svc_conn *conn = ep->priv;

	/* Pairs with the release in rpcrdma_svc_publish(). */
	if (!smp_load_acquire(&conn->served))
		return false;
	set_bit(XPT_DATA, &conn->xprt.xpt_flags);
	svc_xprt_enqueue(&conn->xprt);
	return true;
}

static void rpcrdma_svc_write_space(struct rpcrdma_ep *ep)
{
	struct rpcrdma_svc_conn *conn = ep->priv;
	struct svc_xprt *xprt;

	xprt = rpcrdma_svc_conn_get(conn);
	if (xprt) {
		rpcrdma_server_bc_write_space(xprt);
		if (rpcrdma_locked(&conn->lock,
				   rpcrdma_calls_may_retry(&conn->queue)))
			set_bit(XPT_DATA, &xprt->xpt_flags);
		svc_xprt_enqueue(xprt);
		svc_xprt_put(xprt);
	}
}

static const struct rpcrdma_ep_ops rpcrdma_svc_ep_ops = {
	.messages	= rpcrdma_svc_messages,
	.poll		= rpcrdma_svc_poll,
	.write_space	= rpcrdma_svc_write_space,
	.opened		= rpcrdma_svc_opened,
	.closed		= rpcrdma_svc_closed,
	.changed	= rpcrdma_netlink_changed,
};

/* ---- Connections ---- */

static bool rpcrdma_svc_attach(struct rpcrdma_pending_conn *pending)
{
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_pending(pending);

	return !rpcrdma_ep_quota_attach(conn->ep, conn->memory_limit,
					conn->listener->xprt.xpt_server->sv_max_mesg);
}

/*
 * Evict a connection in favour of another one. closed(), which waits for the lock, frees
 * it.
 */
static void rpcrdma_svc_evict(struct rpcrdma_pending_conn *pending)
{
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_pending(pending);

	lockdep_assert_held(&rpcrdma_svc_accept_lock);
	spin_lock(&conn->lock);
	rpcrdma_admission_leave(&conn->listener->admission, pending);
	spin_unlock(&conn->lock);
	rpcrdma_ep_quota_detach(conn->ep);
	rpcrdma_ep_close(conn->ep,
			 "evicted: it did not finish opening, and another connection needs its place");
}

static const struct rpcrdma_admission_user rpcrdma_svc_admission_user = {
	.attach	= rpcrdma_svc_attach,
	.evict	= rpcrdma_svc_evict,
};

/*
 * Handle a connect request. With 0 the endpoint owns the new rpcrdma_svc_conn; its
 * svc_xprt is initialized when the connection is open and accepted. With an errno the
 * request is rejected.
 * Context: the connection manager's thread.
 */
static int rpcrdma_svc_incoming(void *priv, struct rpcrdma_ep *ep)
{
	struct rpcrdma_settings settings = rpcrdma_settings_read();
	struct rpcrdma_svc_listener *l = priv;
	struct rpcrdma_svc_conn *conn;
	enum rpcrdma_admit admit;

	if (ep->remote.ss_family != AF_INET && ep->remote.ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	/* A mount of this host may need the connection manager's thread to reconnect. */
	conn = kzalloc(sizeof(*conn), GFP_NOFS);
	if (!conn)
		return -ENOMEM;
	conn->ep = ep;
	conn->listener = l;
	spin_lock_init(&conn->lock);
	rpcrdma_calls_init(&conn->queue, PAGE_SIZE, RPCRDMA_SVC_MIN_HEAD);
	rpcrdma_svc_spare_init(conn, l->xprt.xpt_server->sv_max_mesg >> PAGE_SHIFT);

	ep->ops = &rpcrdma_svc_ep_ops;
	ep->priv = conn;
	rpcrdma_server_params(&settings, &ep->params);
	conn->memory_limit =
		rpcrdma_server_memory(&settings,
				      (u64)totalram_pages() << PAGE_SHIFT);

	admit = rpcrdma_locked(&rpcrdma_svc_accept_lock,
			       rpcrdma_admission_admit(&l->admission, &conn->pending,
						       &rpcrdma_svc_admission_user,
						       ktime_to_ms(ktime_get_coarse())));
	switch (admit) {
	case RPCRDMA_ADMIT:
		return 0;
	case RPCRDMA_ADMIT_TOO_MANY:
		rpcrdma_ep_count(ep, RPCRDMA_COUNT_REFUSED_TOO_MANY);
		pr_warn_ratelimited("svcrdma: connection from %pISpc rejected: %u others are opening or wait for a service thread; start more nfsd threads\n",
				    &ep->remote, RPCRDMA_MAX_PENDING);
		break;
	case RPCRDMA_ADMIT_NO_MEMORY:
		rpcrdma_ep_count(ep, RPCRDMA_COUNT_REFUSED_NO_MEMORY);
		pr_warn_ratelimited("svcrdma: connection from %pISpc rejected: others have reserved the %llu MiB that svc_max_memory allows; raise it\n",
				    &ep->remote, conn->memory_limit >> 20);
		break;
	default:
		break;
	}
	kfree(conn);
	return -ECONNREFUSED;
}

/* Initialize the svc_xprt of a connection that has left its listener. */
static struct svc_xprt *rpcrdma_svc_publish(struct rpcrdma_svc_conn *conn,
					    struct svc_xprt *listener)
{
	struct svc_xprt *xprt = &conn->xprt;
	struct sockaddr *sa;
	u32 todo;

	/*
	 * Leaves XPT_BUSY set: until sunrpc owns the svc_xprt, flags only accumulate.
	 */
	svc_xprt_init(listener->xpt_net, &rpcrdma_svc_class, xprt,
		      listener->xpt_server);
	xprt->xpt_ops = &rpcrdma_svc_conn_ops;
	/* Credits are sufficient congestion control for NFSv4 (RFC 7530 3.1). */
	set_bit(XPT_CONG_CTRL, &xprt->xpt_flags);

	sa = (struct sockaddr *)&conn->ep->remote;
	svc_xprt_set_remote(xprt, sa, svc_addr_len(sa));
	/*
	 * The client's port differs from connection to connection, but is part of the
	 * key of nfsd's reply cache.
	 */
	rpc_set_port((struct sockaddr *)&xprt->xpt_remote, 0);
	sa = (struct sockaddr *)&conn->ep->local;
	svc_xprt_set_local(xprt, sa, svc_addr_len(sa));

	spin_lock(&conn->lock);
	/* Upcalls may run after the end of the service, so copy the limit. */
	rpcrdma_calls_serve(&conn->queue,
			    listener->xpt_server->sv_max_mesg & PAGE_MASK);
	todo = rpcrdma_pending_conn_served(&conn->pending,
					   rpcrdma_calls_any(&conn->queue));
	if (todo & RPCRDMA_PENDING_DATA)
		set_bit(XPT_DATA, &xprt->xpt_flags);
	if (todo & RPCRDMA_PENDING_CLOSE)
		set_bit(XPT_CLOSE, &xprt->xpt_flags);
	spin_unlock(&conn->lock);
	/* Pairs with the acquire in rpcrdma_svc_messages(). */
	smp_store_release(&conn->served, true);
	return xprt;
}

/*
 * Accept the next open connection.
 * @xprt: listener
 *
 * Context: service thread that holds the listener's XPT_BUSY.
 * Return: a new svc_xprt with XPT_BUSY set, or NULL if there is none.
 */
static struct svc_xprt *rpcrdma_svc_accept(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_listener *l = to_svc_listener(xprt);
	struct rpcrdma_svc_conn *conn = NULL;
	struct rpcrdma_pending_conn *next;

	spin_lock(&rpcrdma_svc_accept_lock);
	next = rpcrdma_admission_next(&l->admission);
	if (next) {
		conn = rpcrdma_svc_pending(next);
		spin_lock(&conn->lock);
		rpcrdma_admission_accept(&l->admission, next);
		spin_unlock(&conn->lock);
		conn->listener = NULL;
	}
	if (!rpcrdma_admission_next(&l->admission))
		clear_bit(XPT_CONN, &xprt->xpt_flags);
	spin_unlock(&rpcrdma_svc_accept_lock);
	return conn ? rpcrdma_svc_publish(conn, xprt) : NULL;
}

/*
 * Do nothing when the local address is removed: xpo_detach, which follows, suffices.
 */
static void rpcrdma_svc_kill_temp_xprt(struct svc_xprt *xprt)
{
}

RPCRDMA_RELEASE_FN(rpcrdma_svc_release_ctxt)

static const struct svc_xprt_ops rpcrdma_svc_conn_ops = {
	.xpo_recvfrom		= rpcrdma_svc_recvfrom,
	.xpo_sendto		= rpcrdma_svc_sendto,
	.xpo_result_payload	= rpcrdma_svc_result_payload,
	RPCRDMA_RELEASE_OP(rpcrdma_svc_release_ctxt)
	.xpo_detach		= rpcrdma_svc_conn_detach,
	.xpo_free		= rpcrdma_svc_conn_last_put,
	.xpo_has_wspace		= rpcrdma_svc_has_wspace,
	RPCRDMA_SECURE_PORT_OP(rpcrdma_svc_secure_port)
	.xpo_kill_temp_xprt	= rpcrdma_svc_kill_temp_xprt,
};

/* ---- Listeners ---- */

/* closed(), which waits for the lock, reports the end. */
static void rpcrdma_svc_pending_close(struct rpcrdma_pending_conn *pending)
{
	rpcrdma_ep_close(rpcrdma_svc_pending(pending)->ep, NULL);
}

/*
 * Admit no more connections, and close those that will not be accepted any more.
 */
static void rpcrdma_svc_listener_stop(struct rpcrdma_svc_listener *l)
{
	spin_lock(&rpcrdma_svc_accept_lock);
	rpcrdma_admission_stop(&l->admission, rpcrdma_svc_pending_close);
	spin_unlock(&rpcrdma_svc_accept_lock);
}

/* Free a stopped listener, now or with its last connection. */
static void rpcrdma_svc_listener_put(struct rpcrdma_svc_listener *l)
{
	bool idle;

	spin_lock(&rpcrdma_svc_accept_lock);
	l->put = true;
	idle = rpcrdma_admission_is_idle(&l->admission);
	spin_unlock(&rpcrdma_svc_accept_lock);
	if (idle)
		kfree(l);
}

/*
 * Begin to listen.
 * @serv: service that the connections are for
 * @net: network namespace
 * @sa: address; port 0 for any
 * @salen: its length in bytes
 * @flags: unused
 *
 * Sleeps.
 * Return: the listener's svc_xprt or an ERR_PTR.
 */
static struct svc_xprt *rpcrdma_svc_create(struct svc_serv *serv,
					   struct net *net, struct sockaddr *sa,
					   int salen, int flags)
{
	struct rpcrdma_svc_listener *l;
	const struct sockaddr *bound;

	if (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return ERR_PTR(-ENOMEM);
	rpcrdma_admission_init(&l->admission);

	rpcrdma_auth_listen(rpcrdma_settings_read().svc_host_auth);
	/* Peers may connect before rpcrdma_listen() returns. */
	svc_xprt_init(net, &rpcrdma_svc_class, &l->xprt, serv);
	set_bit(XPT_LISTENER, &l->xprt.xpt_flags);
	strscpy(l->xprt.xpt_remotebuf, "listener",
		sizeof(l->xprt.xpt_remotebuf));

	l->listener = rpcrdma_listen(net, sa, rpcrdma_svc_incoming, l);
	if (IS_ERR(l->listener)) {
		int rc = PTR_ERR(l->listener);

		/*
		 * Not published, so svc_xprt_put() is not used. A peer may have
		 * connected at one device before another one failed.
		 */
		rpcrdma_svc_put_net(&l->xprt);
		rpcrdma_svc_listener_stop(l);
		rpcrdma_svc_listener_put(l);
		return ERR_PTR(rc);
	}
	bound = rpcrdma_listener_addr(l->listener);
	svc_xprt_set_local(&l->xprt, bound, svc_addr_len(bound));
	return &l->xprt;
}

static int rpcrdma_svc_listener_has_wspace(struct svc_xprt *xprt)
{
	return 1;
}

/* Stop listening immediately, because a new listener may need the port. Sleeps. */
static void rpcrdma_svc_listener_detach(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_listener *l = to_svc_listener(xprt);

	rpcrdma_listener_destroy(l->listener);
	rpcrdma_svc_listener_stop(l);
}

static void rpcrdma_svc_listener_last_put(struct svc_xprt *xprt)
{
	rpcrdma_svc_listener_put(to_svc_listener(xprt));
}

static const struct svc_xprt_ops rpcrdma_svc_listener_ops = {
	.xpo_create		= rpcrdma_svc_create,
	.xpo_accept		= rpcrdma_svc_accept,
	RPCRDMA_RELEASE_OP(rpcrdma_svc_release_ctxt)
	.xpo_detach		= rpcrdma_svc_listener_detach,
	.xpo_free		= rpcrdma_svc_listener_last_put,
	.xpo_has_wspace		= rpcrdma_svc_listener_has_wspace,
	.xpo_kill_temp_xprt	= rpcrdma_svc_kill_temp_xprt,
};

/* ---- Module ---- */

int rpcrdma_server_init(void)
{
	int rc;

	rpcrdma_svc_wq = alloc_workqueue("svcrdma", WQ_UNBOUND, 0);
	if (!rpcrdma_svc_wq)
		return -ENOMEM;
	rc = xprt_register_transport(&rpcrdma_server_bc_class);
	if (rc)
		goto out_wq;
	rc = svc_reg_xprt_class(&rpcrdma_svc_class);
	if (rc)
		goto out_bc;
	return 0;

out_bc:
	xprt_unregister_transport(&rpcrdma_server_bc_class);
out_wq:
	destroy_workqueue(rpcrdma_svc_wq);
	return rc;
}

void rpcrdma_server_exit(void)
{
	svc_unreg_xprt_class(&rpcrdma_svc_class);
	xprt_unregister_transport(&rpcrdma_server_bc_class);
	/* Runs the queued work; no more is queued. */
	destroy_workqueue(rpcrdma_svc_wq);
}
