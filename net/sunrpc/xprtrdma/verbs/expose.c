// SPDX-License-Identifier: GPL-2.0
/*
 * Replies that this end exposes for its peer to pull (WP 8). They are registered
 * read-only by the Send that names them, and invalidated when the peer sends DONE, when
 * it does not send DONE in time, or with the connection.
 *
 * The engine has a list of them. The context that the engine makes responsible for
 * ending an exposure owns it: the context that processes messages, with DONE, or the
 * work item for overdue exposures. The teardown ends the others, when no other context
 * can be active any more.
 */

#include "internal.h"
#include "trace.h"

/* Maximum time for which a Reply waits for MRs to be allocated */
#define RPCRDMA_EXPOSE_WAIT_MS	1000

static struct rpcrdma_exposed *
rpcrdma_exposed_of(struct rpcrdma_exposure *exposure)
{
	return container_of(exposure, struct rpcrdma_exposed, core.exposure);
}

/* Remove @x; no peer can access it. */
static void rpcrdma_exposed_remove(struct rpcrdma_exposed *x)
{
	struct rpcrdma_ep *ep = x->ep;

	spin_lock(&ep->lock);
	rpcrdma_conn_unexpose(&ep->core.conn, &x->core.exposure);
	spin_unlock(&ep->lock);
	rpcrdma_mrs_put(ep, &x->core.mrs);
}

static void rpcrdma_exposed_inv_done(struct rpcrdma_inv *inv, bool ok)
{
	struct rpcrdma_exposed *x =
		container_of(inv, struct rpcrdma_exposed, inv.core);

	/* The MRs are destroyed with the connection; then the Reply is released. */
	if (!ok)
		return;
	rpcrdma_exposed_remove(x);
	x->release(x);
}

/* End an exposure: the peer must not read it any more. */
static void rpcrdma_exposed_end(struct rpcrdma_exposed *x)
{
	x->inv.core.done = rpcrdma_exposed_inv_done;
	rpcrdma_mrs_invalidate(x->ep, &x->core.mrs, &x->inv);
}

/*
 * Try to expose once. On -EAGAIN, core.mrs.told changes when MRs are available. Does not
 * sleep.
 */
static int rpcrdma_expose_now(struct rpcrdma_ep *ep, struct rpcrdma_exposed *x,
			      u32 xid, const struct rpcrdma_extent *ext, u32 nr,
			      struct rpcrdma_reply_plan *plan)
{
	int rc;

	if (!rpcrdma_ep_enter(ep))
		return -ENOTCONN;
	x->ep = ep;
	INIT_LIST_HEAD(&x->core.mrs);
	spin_lock(&ep->lock);
	rc = rpcrdma_conn_expose(&ep->core.conn, &x->core.exposure, xid, plan);
	spin_unlock(&ep->lock);
	if (rc) {
		rpcrdma_ep_leave(ep);
		return rc;
	}

	rpcrdma_lists_init(&x->lists);
	rpcrdma_lists_add_read(&x->lists, 0);
	rc = rpcrdma_mrs_map(ep, &x->core.mrs, ext, nr, false, &x->lists);
	rc = rpcrdma_plan_expose(&ep->core.conn, &ep->core.mrs.pool, rc, &x->lists, plan);
	if (rc)
		rpcrdma_expose_cancel(x);
	else
		x->core.inv_handle = plan->lists.inv_handle;
	return rc;
}

/**
 * rpcrdma_expose - prepare a Reply to be pulled
 * @ep: open endpoint
 * @x: caller's, with release() set
 * @xid: of the Reply
 * @ext: memory of its Payload stream
 * @nr: elements of @ext
 * @plan: the engine's plan, with a read_length; gets the chunk
 *
 * Sleeps while MRs are allocated, for at most RPCRDMA_EXPOSE_WAIT_MS. It does not wait
 * for MRs that the peer has. On error the caller keeps @x.
 * Context: process context.
 * Return: 0, attach @x to a Send or call rpcrdma_expose_cancel(), the teardown waits
 * for that; -EAGAIN if no MRs became available in time; or another negative errno.
 * plan->error is set if the peer must be notified.
 */
int rpcrdma_expose(struct rpcrdma_ep *ep, struct rpcrdma_exposed *x, u32 xid,
		   const struct rpcrdma_extent *ext, u32 nr,
		   struct rpcrdma_reply_plan *plan)
{
	long left = msecs_to_jiffies(RPCRDMA_EXPOSE_WAIT_MS);
	u32 told;
	int rc;

	for (;;) {
		told = READ_ONCE(ep->core.mrs.told);
		rc = rpcrdma_expose_now(ep, x, xid, ext, nr, plan);
		if (rc != -EAGAIN || !left)
			return rc;
		left = wait_event_idle_timeout(ep->wait,
					       READ_ONCE(ep->core.mrs.told) != told ||
					       rpcrdma_ep_is_closing(ep), left);
	}
}

/**
 * rpcrdma_expose_cancel - cancel a Reply that was not sent
 * @x: the caller's again; release() is not called
 */
void rpcrdma_expose_cancel(struct rpcrdma_exposed *x)
{
	rpcrdma_exposed_remove(x);
	rpcrdma_ep_leave(x->ep);
}

void rpcrdma_port_arm_overdue(struct rpcrdma_ep_core *core, u32 ms)
{
	/* Does nothing if it is queued: later Replies are not due earlier. */
	queue_delayed_work(rpcrdma_wq, &rpcrdma_ep_of(core)->exposed_work,
			   msecs_to_jiffies(ms) + 1);
}

/*
 * Handle DONE for rv->rx.exposed: invalidate the MRs that it did not. Called by the
 * context that processes messages.
 */
void rpcrdma_exposed_pulled(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct rpcrdma_exposed *x = rpcrdma_exposed_of(rv->rx.exposed);

	if (rv->inv_handle)
		rpcrdma_mrs_invalidated(&x->core.mrs, rv->inv_handle);
	rpcrdma_exposed_end(x);
}

/* End exposures that were not pulled in time (DR 4.1.3). */
void rpcrdma_exposed_overdue(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, exposed_work);
	struct rpcrdma_overdue overdue;
	struct rpcrdma_exposed *x;

	if (!rpcrdma_ep_enter(ep))
		return;
	do {
		x = NULL;
		spin_lock(&ep->lock);
		overdue = rpcrdma_conn_overdue(&ep->core.conn, rpcrdma_now_ms());
		if (overdue.exposure)
			x = rpcrdma_exposed_of(overdue.exposure);
		else if (overdue.wait)
			queue_delayed_work(rpcrdma_wq, &ep->exposed_work,
					   msecs_to_jiffies(overdue.wait) + 1);
		spin_unlock(&ep->lock);
		if (x) {
			pr_warn_ratelimited("rpcrdma: %pISpc did not say in time that it has read a Reply: it is taken back\n",
					    &ep->remote);
			rpcrdma_exposed_end(x);
		}
	} while (x);
	rpcrdma_ep_leave(ep);
}

void rpcrdma_port_exposed_gone(struct rpcrdma_ep_core *core,
			       struct rpcrdma_exposure *exposure)
{
	struct rpcrdma_exposed *x = rpcrdma_exposed_of(exposure);

	rpcrdma_exposed_remove(x);
	x->release(x);
}
