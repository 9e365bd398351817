// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Incoming connections, until a service has them: which are admitted, which are
 * evicted, and which context owns a connection when it ends.
 *
 * All connections of a listener count until they have ended, so that those
 * which were evicted, and are still being torn down, have a limit, too. A
 * connect request evicts one connection at most: each has the same reservation,
 * so that if this is not enough, the memory is held by others. A connection
 * that may still be in the middle of its opening is not evicted: if all are,
 * the client has to retry.
 */
#include "../internal.hh"

namespace rpcrdma
{

namespace
{

void go(struct rpcrdma_guest *guest, enum rpcrdma_guest_stage next)
{
	guest->stage = static_cast<u8>(next);
}

/* Remove a connection from its listener. */
u32 forget(struct rpcrdma_admission *all)
{
	all->all--;
	return all->all ? 0 : RPCRDMA_GUEST_LAST;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

enum rpcrdma_admit rpcrdma_admission_ask(struct rpcrdma_admission *all,
					 struct rpcrdma_guest *guest,
					 const struct rpcrdma_guest *oldest,
					 bool memory, u32 now_ms)
{
	const bool full = all->opening + all->opened >= RPCRDMA_MAX_GUESTS;
	const bool late = oldest &&
			  now_ms - oldest->since_ms >= RPCRDMA_GUEST_GRACE_MS;

	if (all->stopped)
		return RPCRDMA_ADMIT_STOPPED;
	if (memory && !full) {
		go(guest, RPCRDMA_GUEST_OPENING);
		guest->since_ms = now_ms;
		all->opening++;
		all->all++;
		return RPCRDMA_ADMIT;
	}
	if (!guest->displaced && late && all->all < RPCRDMA_MAX_GUESTS_ALL) {
		guest->displaced = 1;
		return RPCRDMA_ADMIT_DISPLACE;
	}
	return memory ? RPCRDMA_ADMIT_TOO_MANY : RPCRDMA_ADMIT_NO_MEMORY;
}

void rpcrdma_admission_leave(struct rpcrdma_admission *all,
			     struct rpcrdma_guest *guest)
{
	if (guest->stage != RPCRDMA_GUEST_OPENING)
		return;
	go(guest, RPCRDMA_GUEST_LEAVING);
	all->opening--;
}

u32 rpcrdma_admission_opened(struct rpcrdma_admission *all,
			     struct rpcrdma_guest *guest)
{
	if (guest->stage != RPCRDMA_GUEST_OPENING || all->stopped)
		return 0;
	go(guest, RPCRDMA_GUEST_OPENED);
	all->opening--;
	all->opened++;
	return RPCRDMA_GUEST_LISTED;
}

u32 rpcrdma_admission_take(struct rpcrdma_admission *all,
			   struct rpcrdma_guest *guest)
{
	if (guest->stage != RPCRDMA_GUEST_OPENED)
		return 0;
	go(guest, RPCRDMA_GUEST_TAKEN);
	all->opened--;
	return forget(all);
}

u32 rpcrdma_guest_served(struct rpcrdma_guest *guest, bool calls)
{
	u32 todo = calls ? RPCRDMA_GUEST_DATA : 0;

	if (guest->stage == RPCRDMA_GUEST_LOST) {
		go(guest, RPCRDMA_GUEST_GONE);
		todo |= RPCRDMA_GUEST_CLOSE;
	} else {
		go(guest, RPCRDMA_GUEST_SERVED);
	}
	return todo;
}

u32 rpcrdma_admission_gone(struct rpcrdma_admission *all,
			   struct rpcrdma_guest *guest)
{
	switch (guest->stage) {
	case RPCRDMA_GUEST_OPENING:
		all->opening--;
		break;
	case RPCRDMA_GUEST_OPENED:
		all->opened--;
		break;
	case RPCRDMA_GUEST_LEAVING:
		break;
	case RPCRDMA_GUEST_TAKEN:
		go(guest, RPCRDMA_GUEST_LOST);
		return 0;
	case RPCRDMA_GUEST_SERVED:
		go(guest, RPCRDMA_GUEST_GONE);
		return RPCRDMA_GUEST_CLOSE;
	default:
		return 0;
	}
	go(guest, RPCRDMA_GUEST_GONE);
	return RPCRDMA_GUEST_FREE | forget(all);
}

void rpcrdma_admission_stop(struct rpcrdma_admission *all)
{
	all->stopped = 1;
}
