// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies that this end exposes for its peer to pull (WP 8). They are registered
 * read-only by the Send that names them, and invalidated when the peer sends DONE, when
 * it does not send DONE in time, or with the connection.
 *
 * rpc/pull.cc has the list of them. The context that it makes responsible for ending an
 * exposure owns it: the context that processes messages, with DONE, or the host's work
 * item for overdue exposures. The teardown ends the others, when no other context can be
 * active any more.
 *
 * If MRs are missing, the host waits for them and tries again, for at most
 * RPCRDMA_EXPOSE_WAIT_MS in total. It does not wait if no more MRs can be allocated,
 * because the peer may never release those of other Replies. The close of the connection
 * ends the wait, which does not hold off the teardown.
 */
#include "endpoint.hh"

namespace rpcrdma
{

namespace
{

rpcrdma_pull_entry *exposure_of(rpcrdma_inv *inv)
{
	return reinterpret_cast<rpcrdma_pull_entry *>(
		reinterpret_cast<u8 *>(inv) -
		__builtin_offsetof(rpcrdma_pull_entry, inv));
}

/* Remove @x; no peer can access it. */
void remove(rpcrdma_pull_entry *x)
{
	{
		const locked under(x->core);

		rpcrdma_pull_cancel(&x->core->conn, x);
	}
	rpcrdma_core_mrs_put(x->core, &x->mrs);
}

int reserve(rpcrdma_ep_core *core, rpcrdma_pull_entry *x, u32 xid,
	    rpcrdma_reply_plan *plan)
{
	const locked under(core);

	return rpcrdma_pull_reserve(&core->conn, x, xid, plan);
}

/*
 * Return an exposure that has not been pulled in time, or null. If there are others,
 * they are checked when the first of them is due. Until null is returned, the timer
 * counts as armed, so that no Reply that is sent meanwhile arms it for a later time.
 */
rpcrdma_pull_entry *next_overdue(rpcrdma_ep_core *core)
{
	const locked under(core);
	const rpcrdma_overdue overdue =
		rpcrdma_conn_overdue(&core->conn, rpcrdma_port_now_ms(core));

	if (overdue.exposure) {
		rpcrdma_port_count(core, RPCRDMA_COUNT_PULLS_OVERDUE);
		return overdue.exposure;
	}
	core->overdue_watched = overdue.wait;
	if (overdue.wait)
		rpcrdma_port_arm_overdue(core, overdue.wait);
	return nullptr;
}

void invalidated(rpcrdma_inv *inv, bool ok)
{
	/* The MRs are destroyed with the connection; then the Reply is released. */
	if (ok)
		end_exposed(exposure_of(inv));
}

/* End an exposure: the peer must not read it any more. */
void invalidate(rpcrdma_pull_entry *x)
{
	x->inv.done = invalidated;
	rpcrdma_core_mrs_invalidate(x->core, &x->mrs, &x->inv);
}

u32 notifications(const rpcrdma_ep_core *core)
{
	return __atomic_load_n(&core->mrs.notify_seq, __ATOMIC_RELAXED);
}

/* rpcrdma_core_expose(), once */
int try_to_expose(rpcrdma_ep_core *core, rpcrdma_pull_entry *x, u32 xid,
		  rpcrdma_extent_pos *pos, rpcrdma_reply_plan *plan)
{
	int rc;

	if (!rpcrdma_port_enter(core))
		return -E_NOTCONN;
	x->core = core;
	list_init(&x->mrs);
	rc = reserve(core, x, xid, plan);
	if (rc) {
		rpcrdma_port_leave(core);
		return rc;
	}
	rpcrdma_lists_init(&x->lists);
	rpcrdma_lists_add_read(&x->lists, 0);
	rc = rpcrdma_core_mrs_map(core, &x->mrs, pos, false, &x->lists);
	rc = rpcrdma_plan_expose(&core->conn, &core->mrs.pool, rc, &x->lists,
				 plan);
	if (rc)
		rpcrdma_core_expose_cancel(x);
	else
		x->handle = plan->lists.inv_handle;
	return rc;
}

} // namespace

void end_exposed(rpcrdma_pull_entry *x)
{
	remove(x);
	x->release(x);
}

void reply_pulled(const rpcrdma_recv *rv)
{
	rpcrdma_pull_entry *x = rv->rx.exposed;

	if (rv->inv_handle)
		rpcrdma_core_mrs_invalidated(x->core, &x->mrs, rv->inv_handle);
	invalidate(x);
}

} // namespace rpcrdma

using namespace rpcrdma;

int rpcrdma_core_expose(struct rpcrdma_ep_core *core,
			struct rpcrdma_pull_entry *x, u32 xid,
			struct rpcrdma_extent_pos *pos,
			struct rpcrdma_reply_plan *plan,
			struct rpcrdma_mr_wait *wait)
{
	const u32 now = rpcrdma_port_now_ms(core);
	int rc;

	if (!wait->begun)
		wait->begun_ms = now;
	wait->begun = true;
	/* Before the attempt: no notification is lost between it and the wait. */
	wait->seq = notifications(core);
	rc = try_to_expose(core, x, xid, pos, plan);
	wait->ms = rpcrdma_expose_wait(rc, wait->begun_ms, now);
	return rc;
}

bool rpcrdma_core_expose_due(const struct rpcrdma_ep_core *core,
			     const struct rpcrdma_mr_wait *wait)
{
	return notifications(core) != wait->seq || is_closing(core);
}

void rpcrdma_core_expose_cancel(struct rpcrdma_pull_entry *x)
{
	remove(x);
	rpcrdma_port_leave(x->core);
}

void rpcrdma_core_exposed_overdue(struct rpcrdma_ep_core *core)
{
	if (!rpcrdma_port_enter(core))
		return;
	while (rpcrdma_pull_entry *x = next_overdue(core)) {
		rpcrdma_port_overdue(x);
		invalidate(x);
	}
	rpcrdma_port_leave(core);
}
