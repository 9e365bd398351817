// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Incoming connections, until a service has accepted them: which are admitted, which
 * are evicted, and which context owns a connection when it ends.
 *
 * All connections of a listener count until they have ended, so that evicted
 * connections that are still being torn down are limited, too. A connect request evicts
 * one connection at most: each has the same reservation, so that if one eviction does
 * not suffice, other users hold the memory. A connection that may still be in the
 * middle of its opening is not evicted: if all are, the client has to retry.
 */
#include "../internal.hh"

namespace rpcrdma
{

namespace
{

void go(struct rpcrdma_pending_conn *pending, enum rpcrdma_pending_stage next)
{
	pending->stage = static_cast<u8>(next);
}

/* Remove a connection from its listener. */
u32 forget(struct rpcrdma_admission *all)
{
	all->all--;
	return all->all ? 0 : RPCRDMA_PENDING_LAST;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

enum rpcrdma_admit rpcrdma_admission_ask(
	struct rpcrdma_admission *all, struct rpcrdma_pending_conn *pending,
	const struct rpcrdma_pending_conn *oldest, bool memory, u32 now_ms)
{
	const bool full = all->opening + all->opened >= RPCRDMA_MAX_PENDING;
	const bool late = oldest &&
			  now_ms - oldest->since_ms >= RPCRDMA_PENDING_GRACE_MS;

	if (all->stopped)
		return RPCRDMA_ADMIT_STOPPED;
	if (memory && !full) {
		go(pending, RPCRDMA_PENDING_OPENING);
		pending->since_ms = now_ms;
		all->opening++;
		all->all++;
		return RPCRDMA_ADMIT;
	}
	if (!pending->evicted_another && late &&
	    all->all < RPCRDMA_MAX_PENDING_ALL) {
		pending->evicted_another = 1;
		return RPCRDMA_ADMIT_EVICT;
	}
	return memory ? RPCRDMA_ADMIT_TOO_MANY : RPCRDMA_ADMIT_NO_MEMORY;
}

void rpcrdma_admission_leave(struct rpcrdma_admission *all,
			     struct rpcrdma_pending_conn *pending)
{
	if (pending->stage != RPCRDMA_PENDING_OPENING)
		return;
	go(pending, RPCRDMA_PENDING_EVICTED);
	all->opening--;
}

u32 rpcrdma_admission_opened(struct rpcrdma_admission *all,
			     struct rpcrdma_pending_conn *pending)
{
	if (pending->stage != RPCRDMA_PENDING_OPENING || all->stopped)
		return 0;
	go(pending, RPCRDMA_PENDING_OPENED);
	all->opening--;
	all->opened++;
	return RPCRDMA_PENDING_LISTED;
}

u32 rpcrdma_admission_take(struct rpcrdma_admission *all,
			   struct rpcrdma_pending_conn *pending)
{
	if (pending->stage != RPCRDMA_PENDING_OPENED)
		return 0;
	go(pending, RPCRDMA_PENDING_ACCEPTED);
	all->opened--;
	return forget(all);
}

u32 rpcrdma_pending_conn_served(struct rpcrdma_pending_conn *pending,
				bool calls)
{
	u32 todo = calls ? RPCRDMA_PENDING_DATA : 0;

	if (pending->stage == RPCRDMA_PENDING_CLOSED_EARLY) {
		go(pending, RPCRDMA_PENDING_GONE);
		todo |= RPCRDMA_PENDING_CLOSE;
	} else {
		go(pending, RPCRDMA_PENDING_IN_SERVICE);
	}
	return todo;
}

u32 rpcrdma_admission_gone(struct rpcrdma_admission *all,
			   struct rpcrdma_pending_conn *pending)
{
	switch (pending->stage) {
	case RPCRDMA_PENDING_OPENING:
		all->opening--;
		break;
	case RPCRDMA_PENDING_OPENED:
		all->opened--;
		break;
	case RPCRDMA_PENDING_EVICTED:
		break;
	case RPCRDMA_PENDING_ACCEPTED:
		go(pending, RPCRDMA_PENDING_CLOSED_EARLY);
		return 0;
	case RPCRDMA_PENDING_IN_SERVICE:
		go(pending, RPCRDMA_PENDING_GONE);
		return RPCRDMA_PENDING_CLOSE;
	default:
		return 0;
	}
	go(pending, RPCRDMA_PENDING_GONE);
	return RPCRDMA_PENDING_FREE | forget(all);
}

void rpcrdma_admission_stop(struct rpcrdma_admission *all)
{
	all->stopped = 1;
}
