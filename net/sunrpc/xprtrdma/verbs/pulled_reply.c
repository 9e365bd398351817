// SPDX-License-Identifier: GPL-2.0
/*
 * Replies that this end exposes for its peer to pull (WP 8): the wait for MRs, and the
 * work item for Replies that are not pulled in time. The core has the rest
 * (core/endpoint/pulled_reply.cc).
 *
 * Operation
 *
 * rpcrdma_expose() has the core map a Reply to MRs, and sleeps as long as the core says
 * that MRs are missing. The Send that names the MRs exposes the Reply.
 *
 * Memory
 *
 * struct verbs_exposure is embedded in the object that owns the pages of the Reply.
 * Until the Reply is posted, its builder owns the object. From
 * then on release() is called once: after the MRs were invalidated, or by the teardown
 * after they were destroyed.
 *
 * Errors
 *
 * If the peer does not report in time that it has pulled a Reply, the MRs are
 * invalidated, a warning is logged, and the connection remains open. If an invalidation
 * fails, the connection is closed.
 *
 * Locking
 *
 * The core arms the work item under ep->lock. A run holds off the teardown or does
 * nothing. The teardown cancels the work item before it releases the Replies that are
 * left.
 */

#include "internal.h"
#include "trace.h"

void rpcrdma_port_invalidated(struct rpcrdma_ep_core *core, u32 handle)
{
	trace_rpcrdma_invalidate(rpcrdma_ep_of(core), handle, true);
}

/* Sleeps while MRs are allocated, as long as the core permits. */
int rpcrdma_expose(struct rpcrdma_ep *ep, struct verbs_exposure *x, u32 xid,
		   const struct rpcrdma_extent *ext, u32 nr,
		   struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_extent_pos pos;
	struct rpcrdma_mr_wait wait = { };
	int rc;

	x->core.inv.work.chain = &x->chain;
	do {
		pos = (struct rpcrdma_extent_pos){ .ext = ext, .nr = nr };
		rc = rpcrdma_core_expose(&ep->core, &x->core, xid, &pos, plan, &wait);
		if (wait.ms)
			wait_event_idle_timeout(ep->wait,
						rpcrdma_core_expose_due(&ep->core, &wait),
						msecs_to_jiffies(wait.ms) + 1);
	} while (wait.ms);
	return rc;
}

/* ---- Replies that are not pulled in time ---- */

void rpcrdma_port_arm_overdue(struct rpcrdma_ep_core *core, u32 ms)
{
	queue_delayed_work(rpcrdma_wq, &rpcrdma_ep_of(core)->exposed_work,
			   msecs_to_jiffies(ms) + 1);
}

void rpcrdma_port_overdue(const struct rpcrdma_pull_entry *x)
{
	pr_warn_ratelimited("rpcrdma: %pISpc did not report in time that it has pulled a Reply; invalidating the Reply's memory\n",
			    &rpcrdma_ep_of(x->core)->remote);
}

void rpcrdma_exposed_overdue(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, exposed_work);

	rpcrdma_core_exposed_overdue(&ep->core);
}
