// SPDX-License-Identifier: GPL-2.0
/*
 * The client's transport class "rdma": its operations, and the lifetime of a transport.
 * client_connect.c has its connection.
 *
 * Operation
 *
 * A transport outlives its connections. sunrpc requests a connection when a task has to
 * send and the transport is not connected; a connect worker then creates it. The
 * operations for slots and buffers are in slot.c, those for Calls and Replies in
 * requester.c and requester_reply.c, those of the reverse direction in client_bc.c.
 *
 * Memory
 *
 * A transport is allocated by setup(), with a reference to the module, and freed by a
 * work item that destroy() queues. That work item first cancels the connect worker,
 * and waits for the end of the connection, so that no upcall finds a transport that is
 * gone. The module's exit waits for the workqueue, and thus for the last instruction
 * of the work item. Memory reclaim may wait for a connection. The workqueue therefore
 * has a rescuer, and the connect worker may use memory reserves while a swap file is
 * on the transport.
 *
 * Errors
 *
 * If setup() fails, its errno is returned to the creator of the transport. If the
 * connection of a Call is not open any more, the transport requests a disconnect.
 * sunrpc calls close() when the write lock is released, and the task waits for the
 * next connection. The timeout of an RPC requests a disconnect, too, because a Call
 * cannot be sent a second time on the same connection. An attempt to connect that
 * fails wakes the waiting tasks with an errno.
 *
 * Locking
 *
 * sunrpc holds the write lock, XPRT_LOCKED, for connect(), close(), send_request() and
 * destroy(); the connect worker inherits and releases it. Only the holder of the write
 * lock replaces client->ep, so that a sender reads the pointer without another lock.
 * All other contexts read it under ep_lock. transport_lock protects the timeouts.
 */

#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>

#include "../compat.h"
#include "client.h"
#include "client_bc.h"
#include "settings.h"
#include "trace.h"

enum {
	RPCRDMA_CLIENT_MAX_PAYLOAD = 1 << 20,
};

/* Traditional values that sunrpc and administrators expect */
#define RPCRDMA_BIND_TIMEOUT	(60UL * HZ)
#define RPCRDMA_IDLE_TIMEOUT	(5UL * 60 * HZ)
#define RPCRDMA_RECONNECT_FIRST	msecs_to_jiffies(RPCRDMA_RECONNECT_FIRST_MS)
#define RPCRDMA_RECONNECT_MAX	msecs_to_jiffies(RPCRDMA_RECONNECT_MAX_MS)

static const struct rpc_xprt_ops rpcrdma_client_ops;
static struct xprt_class rpcrdma_client_class;

/* ---- Connecting and closing ---- */

/*
 * Schedule the connect worker for sunrpc. @task has the write lock, which the worker
 * inherits. The first attempt, and the first after a connection that delivered Replies,
 * begins immediately.
 */
static void rpcrdma_client_connect(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct rpcrdma_client *client = rpcrdma_xprt_client(xprt);
	unsigned long delay;

	WARN_ON_ONCE(!xprt_lock_connect(xprt, task, client));

	delay = xprt_reconnect_delay(xprt);
	xprt_reconnect_backoff(xprt, RPCRDMA_RECONNECT_FIRST);
	trace_rpcrdma_op_connect(xprt, delay);
	queue_delayed_work(rpcrdma_xprt_wq, &client->connect_worker, delay);
}

/* Close the connection, if there is one. The caller has the write lock. */
static void rpcrdma_client_close(struct rpc_xprt *xprt)
{
	rpcrdma_client_reconnect(rpcrdma_xprt_client(xprt), true);
}

static void rpcrdma_client_inject_disconnect(struct rpc_xprt *xprt)
{
	struct rpcrdma_ep *ep = rpcrdma_client_ep(rpcrdma_xprt_client(xprt));

	if (!ep)
		return;
	rpcrdma_ep_close(ep, "fault injection");
	rpcrdma_ep_put(ep);
}

/*
 * Handle the timeout of an RPC. An idle connection does not notice the loss of its
 * peer, and a second Call with the same xid is not possible: reconnect.
 */
static void rpcrdma_client_timer(struct rpc_xprt *xprt, struct rpc_task *task)
{
	xprt_force_disconnect(xprt);
}

static void rpcrdma_client_set_connect_timeout(struct rpc_xprt *xprt,
					       unsigned long connect_timeout,
					       unsigned long reconnect_timeout)
{
	struct rpcrdma_client *client = rpcrdma_xprt_client(xprt);
	unsigned long initval;

	spin_lock(&xprt->transport_lock);
	if (reconnect_timeout < xprt->max_reconnect_timeout)
		xprt->max_reconnect_timeout = reconnect_timeout;
	if (connect_timeout < xprt->connect_timeout) {
		/* Not earlier than the time for two attempts to reconnect */
		initval = max(connect_timeout, 2 * RPCRDMA_RECONNECT_FIRST);
		client->timeout = *xprt->timeout;
		client->timeout.to_initval = initval;
		client->timeout.to_maxval = initval;
		xprt->timeout = &client->timeout;
		xprt->connect_timeout = connect_timeout;
	}
	spin_unlock(&xprt->transport_lock);
}

static void rpcrdma_client_set_port(struct rpc_xprt *xprt, unsigned short port)
{
	rpc_set_port((struct sockaddr *)&xprt->addr, port);
	rpcrdma_xprt_format_port(xprt);
}

/* ---- Sending ---- */

static int rpcrdma_client_send_request(struct rpc_rqst *rqst)
{
	struct rpc_xprt *xprt = rqst->rq_xprt;
	struct rpcrdma_ep *ep;
	int rc;

#if defined(CONFIG_SUNRPC_BACKCHANNEL)
	if (unlikely(bc_prealloc(rqst)))
		return rpcrdma_client_bc_reply(rqst);
#endif
	if (!xprt_connected(xprt))
		return -ENOTCONN;
	/*
	 * The pointer remains valid, because only the holder of the write lock changes
	 * it.
	 */
	ep = READ_ONCE(rpcrdma_xprt_client(xprt)->ep);
	if (!ep)
		return -ENOTCONN;

	rc = rpcrdma_requester_send(xprt, ep, rqst);
	/* The connection is closed when the write lock is released. */
	if (rc == -ENOTCONN)
		xprt_force_disconnect(xprt);
	return rc;
}

/* ---- Other operations ---- */

static void rpcrdma_client_print_stats(struct rpc_xprt *xprt,
				       struct seq_file *seq)
{
	rpcrdma_xprt_print_stats(xprt, seq,
				 rpcrdma_client_mrs_made(rpcrdma_xprt_client(xprt)));
}

/*
 * Count a swap file over this transport. sunrpc's sender, the connect worker and the work
 * items of the connection may then use the memory reserves, because memory reclaim may
 * wait for them.
 */
static int rpcrdma_client_enable_swap(struct rpc_xprt *xprt)
{
	rpcrdma_client_swapper(rpcrdma_xprt_client(xprt), 1);
	return 0;
}

static void rpcrdma_client_disable_swap(struct rpc_xprt *xprt)
{
	rpcrdma_client_swapper(rpcrdma_xprt_client(xprt), -1);
}

static void rpcrdma_client_destroy_worker(struct work_struct *work)
{
	struct rpcrdma_client *client =
		container_of(work, struct rpcrdma_client,
			     requester.destroy_work);

	cancel_delayed_work_sync(&client->connect_worker);
	rpcrdma_client_disconnect(client);
	rpcrdma_client_bc_free(client);
	rpcrdma_requester_free(&client->requester);
}

static struct rpc_xprt *rpcrdma_client_setup(struct xprt_create *args)
{
	struct rpcrdma_client *client;
	struct rpc_xprt *xprt;

	xprt = rpcrdma_requester_create(args, sizeof(*client),
					rpcrdma_settings_read().slot_table_entries,
					&rpcrdma_client_class, &rpcrdma_client_ops,
					rpcrdma_client_destroy_worker);
	if (IS_ERR(xprt))
		return xprt;
	client = rpcrdma_xprt_client(xprt);
	spin_lock_init(&client->ep_lock);
	mutex_init(&client->bc_mutex);
	rpc_init_wait_queue(&client->bc_sending, "rpcrdma_bc_sending");
	INIT_DELAYED_WORK(&client->connect_worker,
			  rpcrdma_client_connect_worker);
	if (args->srcaddr)
		memcpy(&client->srcaddr, args->srcaddr, args->addrlen);

	/* Side protocols that use this field expect TCP. */
	xprt->prot = IPPROTO_TCP;
	xprt->max_payload = RPCRDMA_CLIENT_MAX_PAYLOAD;
	xprt->connect_timeout = xprt->timeout->to_initval;
	xprt->max_reconnect_timeout = RPCRDMA_RECONNECT_MAX;
	xprt->bind_timeout = RPCRDMA_BIND_TIMEOUT;
	xprt->idle_timeout = RPCRDMA_IDLE_TIMEOUT;
	if (rpc_get_port((struct sockaddr *)&xprt->addr))
		xprt_set_bound(xprt);
	return xprt;
}

static const struct rpc_xprt_ops rpcrdma_client_ops = {
#if defined(CONFIG_SUNRPC_BACKCHANNEL)
	.reserve_xprt		= rpcrdma_client_reserve_xprt,
	.release_xprt		= rpcrdma_client_release_xprt,
#else
	.reserve_xprt		= xprt_reserve_xprt,
	.release_xprt		= xprt_release_xprt,
#endif
	.alloc_slot		= rpcrdma_requester_alloc_slot,
	.free_slot		= rpcrdma_requester_free_slot,
	.rpcbind		= rpcb_getport_async,
	.set_port		= rpcrdma_client_set_port,
	.connect		= rpcrdma_client_connect,
	.buf_alloc		= rpcrdma_requester_buf_alloc,
	.buf_free		= rpcrdma_requester_buf_free,
	.send_request		= rpcrdma_client_send_request,
	.wait_for_reply_request	= rpcrdma_requester_wait_for_reply,
	.timer			= rpcrdma_client_timer,
	.close			= rpcrdma_client_close,
	.destroy		= rpcrdma_requester_destroy,
	.set_connect_timeout	= rpcrdma_client_set_connect_timeout,
	.print_stats		= rpcrdma_client_print_stats,
	.enable_swap		= rpcrdma_client_enable_swap,
	.disable_swap		= rpcrdma_client_disable_swap,
	.inject_disconnect	= rpcrdma_client_inject_disconnect,
#if defined(CONFIG_SUNRPC_BACKCHANNEL)
	.bc_setup		= rpcrdma_client_bc_setup,
	.bc_maxpayload		= rpcrdma_client_bc_maxpayload,
	.bc_num_slots		= rpcrdma_client_bc_num_slots,
	.bc_free_rqst		= rpcrdma_client_bc_free_rqst,
	.bc_destroy		= rpcrdma_client_bc_destroy,
#endif
};

static struct xprt_class rpcrdma_client_class = {
	.list	= LIST_HEAD_INIT(rpcrdma_client_class.list),
	.name	= "rdma",
	.owner	= THIS_MODULE,
	.ident	= XPRT_TRANSPORT_RDMA,
	.setup	= rpcrdma_client_setup,
	.netid	= { "rdma", "rdma6", "" },
};

int rpcrdma_client_init(void)
{
	int rc;

	/*
	 * Memory reclaim may wait for writeback that needs a reconnect. A connect worker
	 * waits for a server that does not answer: many of them must not delay others.
	 */
	rpcrdma_xprt_wq = alloc_workqueue("rpcrdma_client",
					  WQ_UNBOUND | WQ_MEM_RECLAIM,
					  WQ_UNBOUND_MAX_ACTIVE);
	if (!rpcrdma_xprt_wq)
		return -ENOMEM;
	rc = xprt_register_transport(&rpcrdma_client_class);
	if (rc)
		destroy_workqueue(rpcrdma_xprt_wq);
	return rc;
}

void rpcrdma_client_exit(void)
{
	xprt_unregister_transport(&rpcrdma_client_class);
	destroy_workqueue(rpcrdma_xprt_wq);
}
