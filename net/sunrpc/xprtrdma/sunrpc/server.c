// SPDX-License-Identifier: GPL-2.0
/*
 * Server transport: a connection, as the other files of the server use it, and its end.
 * Nothing here needs a service thread to make progress: this module's own workqueue
 * frees the memory of connections.
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
	bool known;

	spin_lock(&conn->lock);
	known = rpcrdma_pending_conn_known(&conn->pending);
	spin_unlock(&conn->lock);
	if (!known || !kref_get_unless_zero(&conn->xprt.xpt_ref))
		return NULL;
	return &conn->xprt;
}

void rpcrdma_svc_conn_free(struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_queued_call *call;

	rpcrdma_calls_serve(&conn->queue, 0);
	while ((call = rpcrdma_calls_next(&conn->queue, NULL, NULL)))
		rpcrdma_svc_call_release(container_of(call, struct rpcrdma_recv,
						      queued));
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
