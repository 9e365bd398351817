// SPDX-License-Identifier: GPL-2.0
/*
 * Server transport: the end of a connection, and the references to it that other files
 * get.
 *
 * Operation
 *
 * A connection that no service thread has accepted belongs to its listener, and is
 * freed by the last upcall of its endpoint, closed() (server_listen.c). An accepted
 * connection belongs to sunrpc. xpo_detach begins to close its endpoint. xpo_free,
 * after the last reference, queues a work item that waits for the end of the endpoint
 * and frees the connection. Nothing here needs a service thread to make progress,
 * because the work item runs on this module's own workqueue.
 *
 * Memory
 *
 * The svc_xprt is a part of struct rpcrdma_svc_conn, which has a counted reference to
 * the endpoint. A thread that processes a Call, and a deferred Call, have a reference
 * to the svc_xprt. When the last one is gone, Calls are therefore only queued, or still
 * being pulled. The work item releases the queued ones, and the spare pages, after the
 * endpoint has ended its Reads. The endpoint itself remains until its other references
 * are dropped.
 *
 * Errors
 *
 * The end of a connection cannot fail. The wait for the endpoint is bounded by the time
 * that the device needs to flush its queues.
 *
 * Locking
 *
 * An upcall of the endpoint may run before the svc_xprt is initialized, and after its
 * last reference is gone. rpcrdma_svc_conn_get() therefore returns a reference only if
 * sunrpc has the connection, which conn->lock protects, and the count is not zero. The
 * memory remains valid during an upcall, because the last one, closed(), frees it, or a
 * work item that waits for closed().
 */

#include <linux/slab.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "internal.h"
#include "server.h"

struct rpcrdma_ep *rpcrdma_server_ep(struct svc_xprt *xprt)
{
	return to_svc_conn(xprt)->ep;
}

struct svc_xprt *rpcrdma_svc_conn_get(struct rpcrdma_svc_conn *conn)
{
	bool known = rpcrdma_locked(&conn->lock,
				    rpcrdma_pending_conn_known(&conn->pending));

	return known && kref_get_unless_zero(&conn->xprt.xpt_ref) ? &conn->xprt : NULL;
}

void rpcrdma_svc_conn_free(struct rpcrdma_svc_conn *conn)
{
	rpcrdma_core_calls_end(&conn->queue);
	rpcrdma_svc_spare_free(conn);
	cancel_delayed_work_sync(&conn->spare_work);
	rpcrdma_ep_put(conn->ep);
	kfree(conn);
}

/* End the service of a connection. XPT_BUSY stays set for ever. */
void rpcrdma_svc_conn_detach(struct svc_xprt *xprt)
{
	rpcrdma_ep_close(to_svc_conn(xprt)->ep, NULL);
}

static void rpcrdma_svc_conn_free_work(struct work_struct *work)
{
	struct rpcrdma_svc_conn *conn =
		container_of(work, struct rpcrdma_svc_conn, free_work);

	rpcrdma_ep_close(conn->ep, NULL);
	/* After this there is no upcall, and no Read or Write of this module. */
	rpcrdma_ep_wait_closed(conn->ep);
	rpcrdma_svc_conn_free(conn);
}

/*
 * Free a connection without references. sunrpc drops a module reference next; the
 * module's exit waits for the workqueue.
 */
void rpcrdma_svc_conn_last_put(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_conn *conn = to_svc_conn(xprt);

	/*
	 * Not initialized earlier, because without a svc_xprt, closed() frees the
	 * connection.
	 */
	INIT_WORK(&conn->free_work, rpcrdma_svc_conn_free_work);
	queue_work(rpcrdma_svc_wq, &conn->free_work);
}
