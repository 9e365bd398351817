// SPDX-License-Identifier: GPL-2.0
/*
 * The reverse direction at the server: an rpc_xprt over a client's connection.
 *
 * Operation
 *
 * The service creates an RPC client over the connection, and sends callbacks with the
 * Requester that a client has, in the forms that the client's reverse level permits.
 * Their Replies arrive with the client's own messages. Only the client can connect, so
 * that tasks of a connection that has ended fail.
 *
 * Memory
 *
 * The svc_xprt has a reference to the rpc_xprt (xpt_bc_xprt) and drops it
 * when it is freed itself. The rpc_xprt has none to the svc_xprt (bc_xprt): the service
 * that creates an RPC client over it keeps the svc_xprt for as long. The rpc_xprt may
 * outlive both for a short time, and therefore has a module reference of its own.
 *
 * After creating an rpc_xprt, sunrpc continues its setup; if that fails, it destroys
 * the rpc_xprt regardless of its reference count. Until its first RPC, or the end of
 * the connection, the rpc_xprt therefore holds a reference to the svc_xprt, so that its
 * destruction can clear xpt_bc_xprt. If the connection ends before sunrpc has finished the
 * setup, xpt_bc_xprt is cleared then: nothing can be sent over the rpc_xprt, and the
 * service that gets it, if any, has the only reference to it.
 *
 * Errors
 *
 * If a callback cannot be sent on the connection, the connection is closed. If two
 * services create an rpc_xprt over one connection at the same time, one of them gets
 * -EAGAIN, and finds the other one's when it tries again.
 *
 * Locking
 *
 * xpt_bc_xprt is set by cmpxchg(), and read under RCU. sunrpc holds the write lock of the
 * rpc_xprt when a callback is sent.
 */

#include <linux/module.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xprt.h>

#include "../compat.h"
#include "requester.h"
#include "server.h"
#include "server_bc.h"
#include "settings.h"

struct rpcrdma_bc {
	struct rpcrdma_requester requester;	/* first */
	/*
	 * With a reference until sunrpc has finished the rpc_xprt, then NULL; or an
	 * ERR_PTR if the connection has ended before
	 */
	struct svc_xprt		*setup_sxprt;
};

static struct rpcrdma_bc *rpcrdma_xprt_bc(struct rpc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_bc, requester.xprt);
}

/*
 * Return the rpc_xprt over @sxprt, or NULL. Once it has sent a Call it exists as long
 * as @sxprt has references. Before that no message is for it, and it may be freed.
 */
static struct rpc_xprt *rpcrdma_bc_xprt(struct svc_xprt *sxprt)
{
	struct rpc_xprt *xprt;

	rcu_read_lock();
	/* Pairs with the cmpxchg() in rpcrdma_bc_setup(). */
	xprt = smp_load_acquire(&sxprt->xpt_bc_xprt);
	if (xprt && READ_ONCE(rpcrdma_xprt_bc(xprt)->setup_sxprt))
		xprt = NULL;
	rcu_read_unlock();
	return xprt;
}

/*
 * Drop the reference of a new rpc_xprt: sunrpc has finished it, or nothing can be sent
 * over it any more.
 */
static void rpcrdma_bc_setup_done(struct rpc_xprt *xprt)
{
	struct rpcrdma_bc *bc = rpcrdma_xprt_bc(xprt);
	struct svc_xprt *sxprt = READ_ONCE(bc->setup_sxprt);

	/* Not the last reference: the caller of either operation has its own. */
	if (unlikely(!IS_ERR_OR_NULL(sxprt)) &&
	    cmpxchg(&bc->setup_sxprt, sxprt, NULL) == sxprt)
		svc_xprt_put(sxprt);
}

/*
 * Separate an rpc_xprt that sunrpc has not finished from its connection, which has ended:
 * sunrpc may still destroy it, and the svc_xprt would point to freed memory.
 */
static void rpcrdma_bc_unlink(struct rpc_xprt *xprt)
{
	struct rpcrdma_bc *bc = rpcrdma_xprt_bc(xprt);
	struct svc_xprt *sxprt = READ_ONCE(bc->setup_sxprt);

	if (IS_ERR_OR_NULL(sxprt) ||
	    cmpxchg(&bc->setup_sxprt, sxprt, ERR_PTR(-ENOTCONN)) != sxprt)
		return;
	/* Neither reference is the last one, because sunrpc's setup has one of each. */
	if (cmpxchg(&sxprt->xpt_bc_xprt, xprt, NULL) == xprt)
		xprt_put(xprt);
	svc_xprt_put(sxprt);
}

void rpcrdma_server_bc_reply(struct svc_xprt *sxprt, struct rpcrdma_recv *rv)
{
	struct rpc_xprt *xprt = rpcrdma_bc_xprt(sxprt);

	if (xprt)
		rpcrdma_core_answer(rpcrdma_xprt_requester(xprt), rv);
	else
		rpcrdma_recv_put(rv);
}

void rpcrdma_server_bc_write_space(struct svc_xprt *sxprt)
{
	struct rpc_xprt *xprt = rpcrdma_bc_xprt(sxprt);

	if (xprt)
		xprt_write_space(xprt);
}

/*
 * Send a callback, in a form that the client accepts at its reverse level. If there is
 * none, the callback fails. The caller has the rpc_xprt's write lock; may sleep.
 */
static int rpcrdma_bc_send_request(struct rpc_rqst *rqst)
{
	struct rpc_xprt *xprt = rqst->rq_xprt;
	struct svc_xprt *sxprt = xprt->bc_xprt;
	struct rpcrdma_ep *ep = rpcrdma_server_ep(sxprt);
	int rc;

	if (test_bit(XPT_DEAD, &sxprt->xpt_flags)) {
		rc = -ENOTCONN;
	} else {
		rc = rpcrdma_requester_send(xprt, ep, rqst);
		if (rc == -ENOTCONN) {
			rpcrdma_ep_close(ep, "a callback could not be sent");
			svc_xprt_deferred_close(sxprt);
		}
	}
	/* sunrpc would send again, without a pause, until a service thread has closed it. */
	if (rc == -ENOTCONN)
		xprt_force_disconnect(xprt);
	return rc;
}

/* Wake the tasks that wait for the connection, which is gone. Called by sunrpc. */
static void rpcrdma_bc_close(struct rpc_xprt *xprt)
{
	xprt_disconnect_done(xprt);
	/* The name is the last thing that sunrpc's setup adds. */
	if (unlikely(!READ_ONCE(xprt->servername)))
		rpcrdma_bc_unlink(xprt);
	else
		rpcrdma_bc_setup_done(xprt);
}

static void rpcrdma_bc_alloc_slot(struct rpc_xprt *xprt, struct rpc_task *task)
{
	rpcrdma_bc_setup_done(xprt);
	rpcrdma_requester_alloc_slot(xprt, task);
}

/* End an attempt to connect: only the client can. */
static void rpcrdma_bc_connect(struct rpc_xprt *xprt, struct rpc_task *task)
{
	xprt_clear_connecting(xprt);
	xprt_wake_pending_tasks(xprt, -ENOTCONN);
}

static void rpcrdma_bc_destroy_worker(struct work_struct *work)
{
	struct rpcrdma_bc *bc =
		container_of(work, struct rpcrdma_bc, requester.destroy_work);
	struct rpc_xprt *xprt = &bc->requester.xprt;
	struct svc_xprt *sxprt = bc->setup_sxprt;

	/*
	 * sunrpc could not finish the rpc_xprt: otherwise the svc_xprt, which drops the
	 * last reference, would still point to it. @setup_sxprt stays set for
	 * rpcrdma_bc_xprt().
	 */
	if (!IS_ERR_OR_NULL(sxprt)) {
		cmpxchg(&sxprt->xpt_bc_xprt, xprt, NULL);
		svc_xprt_put(sxprt);
	}
	rpcrdma_requester_free(&bc->requester);
}

static void rpcrdma_bc_print_stats(struct rpc_xprt *xprt, struct seq_file *seq)
{
	rpcrdma_xprt_print_stats(xprt, seq, 0);
}

static int rpcrdma_bc_enable_swap(struct rpc_xprt *xprt)
{
	return -EINVAL;
}

static void rpcrdma_bc_disable_swap(struct rpc_xprt *xprt)
{
}

/* For fault injection */
static void rpcrdma_bc_inject_disconnect(struct rpc_xprt *xprt)
{
	rpcrdma_ep_close(rpcrdma_server_ep(xprt->bc_xprt),
			 "a new connection for callbacks was requested");
}

static const struct rpc_xprt_ops rpcrdma_bc_ops = {
	.reserve_xprt		= xprt_reserve_xprt,
	.release_xprt		= xprt_release_xprt,
	.alloc_slot		= rpcrdma_bc_alloc_slot,
	.free_slot		= rpcrdma_requester_free_slot,
	.connect		= rpcrdma_bc_connect,
	.buf_alloc		= rpcrdma_requester_buf_alloc,
	.buf_free		= rpcrdma_requester_buf_free,
	.send_request		= rpcrdma_bc_send_request,
	.wait_for_reply_request	= rpcrdma_requester_wait_for_reply,
	.close			= rpcrdma_bc_close,
	.destroy		= rpcrdma_requester_destroy,
	.print_stats		= rpcrdma_bc_print_stats,
	.enable_swap		= rpcrdma_bc_enable_swap,
	.disable_swap		= rpcrdma_bc_disable_swap,
	.inject_disconnect	= rpcrdma_bc_inject_disconnect,
};

/*
 * Create the rpc_xprt over a client's connection.
 * @args: args->bc_xprt is the connection; the caller holds a reference
 *
 * sunrpc looks for an rpc_xprt over the connection before it calls this, but without a
 * lock: two services may both find none. The second gets -EAGAIN, and finds the first
 * one's when it retries. With two rpc_xprts, Calls of one connection would be built at
 * the same time. Sleeps.
 * Return: the rpc_xprt or an ERR_PTR.
 */
static struct rpc_xprt *rpcrdma_bc_setup(struct xprt_create *args)
{
	struct svc_xprt *sxprt = args->bc_xprt;
	struct rpc_xprt *xprt;
	struct rpcrdma_bc *bc;
	struct rpcrdma_ep *ep;

	if (!sxprt ||
	    sxprt->xpt_class->xcl_ident != XPRT_TRANSPORT_RDMA)
		return ERR_PTR(-EINVAL);
	if (test_bit(XPT_DEAD, &sxprt->xpt_flags))
		return ERR_PTR(-ENOTCONN);

	xprt = rpcrdma_requester_create(args, sizeof(*bc),
					rpcrdma_settings_read().svc_max_bc_requests,
					&rpcrdma_server_bc_class, &rpcrdma_bc_ops,
					rpcrdma_bc_destroy_worker);
	if (IS_ERR(xprt))
		return xprt;
	bc = rpcrdma_xprt_bc(xprt);
	ep = rpcrdma_server_ep(sxprt);
	xprt->prot = XPRT_TRANSPORT_BC_RDMA;
	xprt->max_payload = rpcrdma_conn_limits(&ep->core.conn).send_inline;
	/* The client has bound and connected it, and maintains the connection. */
	xprt_set_bound(xprt);
	xprt_set_connected(xprt);

	/* One reference for the caller, one for the svc_xprt */
	xprt_get(xprt);
	xprt->bc_xprt = sxprt;
	svc_xprt_get(sxprt);
	bc->setup_sxprt = sxprt;
	/* Pairs with the acquire in rpcrdma_bc_xprt(). */
	if (cmpxchg(&sxprt->xpt_bc_xprt, NULL, xprt)) {
		svc_xprt_put(sxprt);
		rpcrdma_requester_free(&bc->requester);
		return ERR_PTR(-EAGAIN);
	}
	/* The end of the connection may have looked for it too early. */
	if (test_bit(XPT_DEAD, &sxprt->xpt_flags))
		rpcrdma_bc_close(xprt);
	return xprt;
}

struct xprt_class rpcrdma_server_bc_class = {
	.list		= LIST_HEAD_INIT(rpcrdma_server_bc_class.list),
	.name		= "rdma backchannel",
	.owner		= THIS_MODULE,
	.ident		= XPRT_TRANSPORT_BC_RDMA,
	.setup		= rpcrdma_bc_setup,
	/* An empty name, at which the lookup by netid stops */
	.netid		= { "" },
};
