// SPDX-License-Identifier: GPL-2.0
/* Accounts of a connection, which balance while the connection is idle */
#include "pair.h"

struct loop_accounts {
	u32	inflight_wrs, sends, slots, receives;
	s32	beyond;		/* credits advertised beyond the permitted maximum */
	u32	queued, mrs;
	u64	held;		/* bytes charged to the peer */
};

static void loop_read_accounts(struct loop_side *side,
			       struct loop_accounts *a)
{
	struct rpcrdma_quota_account memory;
	struct rpcrdma_ep *ep = side->ep;
	struct rpcrdma_work *work;
	struct rpcrdma_mr *mr;

	memset(a, 0, sizeof(*a));
	spin_lock(&ep->lock);
	for (work = ep->core.inflight; work; work = work->next) {
		a->inflight_wrs += work->wrs.nr;
		a->sends += work->kind <= RPCRDMA_WORK_CONTROL;
	}
	list_for_each_entry(work, &ep->core.messages, list) {
		a->queued++;
		a->sends += work->kind != RPCRDMA_WORK_STREAM;
	}
	list_for_each_entry(work, &ep->core.transfers, list)
		a->queued++;
	a->queued += READ_ONCE(ep->core.rw.pool.waiting);
	a->sends += ep->core.sq.contexts + (ep->core.call_send ? 1 : 0);
	a->slots = ep->core.sq.posted - ep->core.sq.retired;
	a->receives = ep->core.conn.posted - ep->core.conn.received +
		      ep->core.conn.recvs_withheld;
	if (ep->core.conn.version == RPCRDMA_VERS_2)
		a->beyond = ep->core.conn.advertised - (ep->core.conn.posted - 1);
	spin_unlock(&ep->lock);

	spin_lock(&ep->mr_lock);
	for (mr = ep->core.mrs.free; mr; mr = mr->next)
		a->mrs++;
	spin_unlock(&ep->mr_lock);

	/* A continued Call that is held is charged as long as its Receive is held. */
	memory = rpcrdma_locked(&ep->memory_lock, ep->memory);
	if (!READ_ONCE(side->nr_held))
		a->held = memory.held[RPCRDMA_QUOTA_CALLS];
	a->held += memory.held[RPCRDMA_QUOTA_REPLIES];
}

static bool loop_accounts_ok(struct loop_side *side, struct loop_accounts *a)
{
	struct rpcrdma_ep *ep = side->ep;

	loop_read_accounts(side, a);
	return a->inflight_wrs == a->slots && a->sends == ep->core.nr_sends &&
	       a->receives == ep->core.nr_recvs - READ_ONCE(side->nr_held) &&
	       a->beyond <= 0 && !a->queued && !a->held &&
	       a->mrs == ep->core.mrs.pool.made;
}

void loop_check_idle(struct kunit *test, struct loop_side *side)
{
	struct rpcrdma_ep *ep = side->ep;
	struct loop_accounts a;

	/* The last completions may still be outstanding. */
	if (loop_poll(loop_accounts_ok(side, &a)))
		return;
	kunit_err(test, "%s: slots %u of %u, sends %u of %u, receives %u of %u, %u held, beyond %d, queued %u, octets held %llu, mrs %u of %u",
		  ep->client ? "client" : "server", a.inflight_wrs, a.slots,
		  a.sends, ep->core.nr_sends, a.receives, ep->core.nr_recvs,
		  side->nr_held, a.beyond, a.queued, a.held, a.mrs, ep->core.mrs.pool.made);
	KUNIT_FAIL(test, "the accounts do not balance");
}
