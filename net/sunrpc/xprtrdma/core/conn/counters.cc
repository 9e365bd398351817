// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Counts of events of all connections.
 *
 * COUNTERS has name, unit and kind of each number; the host counts. The functions choose
 * the counter for a cause, and return RPCRDMA_NR_COUNTERS for one that is not counted.
 * The cause of a failed attempt to connect is the event that ended it, or, if there was
 * none, the step of the setup.
 *
 * All functions read only their arguments.
 */
#include <rpcrdma/counters.h>

#include "../internal.hh"

namespace rpcrdma
{

namespace
{

/* By enum rpcrdma_counter */
constexpr rpcrdma_number COUNTERS[] = {
	{ "opened", "connections", RPCRDMA_COUNTER },
	{ "closed", "connections", RPCRDMA_COUNTER },
	{ "fallbacks", "connections", RPCRDMA_COUNTER },
	{ "connects_failed", "attempts", RPCRDMA_COUNTER },
	{ "unresolved", "attempts", RPCRDMA_COUNTER },
	{ "unreachable", "attempts", RPCRDMA_COUNTER },
	{ "rejects_no_listener", "attempts", RPCRDMA_COUNTER },
	{ "rejects_by_peer", "attempts", RPCRDMA_COUNTER },
	{ "rejects_stale", "attempts", RPCRDMA_COUNTER },
	{ "rejects_other", "attempts", RPCRDMA_COUNTER },
	{ "openings_overdue", "attempts", RPCRDMA_COUNTER },
	{ "accepts_failed", "requests", RPCRDMA_COUNTER },
	{ "refused_too_many", "requests", RPCRDMA_COUNTER },
	{ "refused_no_memory", "requests", RPCRDMA_COUNTER },
	{ "mr_shortages", "shortages", RPCRDMA_COUNTER },
	{ "map_failures", "failures", RPCRDMA_COUNTER },
	{ "posts_refused", "failures", RPCRDMA_COUNTER },
	{ "wr_failures", "failures", RPCRDMA_COUNTER },
	{ "drains_failed", "failures", RPCRDMA_COUNTER },
	{ "auths_started", "handshakes", RPCRDMA_COUNTER },
	{ "auths_done", "connections", RPCRDMA_COUNTER },
	{ "auths_dh", "calculations", RPCRDMA_COUNTER },
	{ "auths_failed", "connections", RPCRDMA_COUNTER },
	{ "auths_refused", "connections", RPCRDMA_COUNTER },
	{ "auths_wrong_proof", "connections", RPCRDMA_COUNTER },
	{ "auths_unknown", "connections", RPCRDMA_COUNTER },
	{ "auths_wrong_identity", "connections", RPCRDMA_COUNTER },
	{ "auths_not_offered", "connections", RPCRDMA_COUNTER },
	{ "auths_peer_requires", "connections", RPCRDMA_COUNTER },
	{ "auths_version_1", "connections", RPCRDMA_COUNTER },
	{ "auths_no_secret", "connections", RPCRDMA_COUNTER },
	{ "auths_no_hash", "connections", RPCRDMA_COUNTER },
	{ "auths_malformed", "connections", RPCRDMA_COUNTER },
	{ "auths_unavailable", "connections", RPCRDMA_COUNTER },
	{ "pulls_overdue", "replies", RPCRDMA_COUNTER },
};
static_assert(sizeof(COUNTERS) / sizeof(COUNTERS[0]) == RPCRDMA_NR_COUNTERS);
static_assert(RPCRDMA_COUNT_AUTHS_UNAVAILABLE - RPCRDMA_COUNT_AUTHS_REFUSED ==
	      RPCRDMA_NR_AUTH_RESULTS - 1 - RPCRDMA_AUTH_REFUSED);

rpcrdma_counter counter_of_rejection(int reason)
{
	switch (reason) {
	case RPCRDMA_REJECT_NO_SERVICE:
	case -E_CONNREFUSED: /* of iWARP */
		return RPCRDMA_COUNT_REJECTS_NO_LISTENER;
	case RPCRDMA_REJECT_CONSUMER:
		return RPCRDMA_COUNT_REJECTS_BY_PEER;
	case RPCRDMA_REJECT_STALE:
		return RPCRDMA_COUNT_REJECTS_STALE;
	default:
		return RPCRDMA_COUNT_REJECTS_OTHER;
	}
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

const struct rpcrdma_number *rpcrdma_counter_info(u32 i)
{
	return i < RPCRDMA_NR_COUNTERS ? &COUNTERS[i] : nullptr;
}

enum rpcrdma_counter rpcrdma_counter_of_auth(enum rpcrdma_auth_result result)
{
	if (result < RPCRDMA_AUTH_REFUSED || result >= RPCRDMA_NR_AUTH_RESULTS)
		return RPCRDMA_NR_COUNTERS;
	return static_cast<rpcrdma_counter>(+RPCRDMA_COUNT_AUTHS_REFUSED +
					    (result - RPCRDMA_AUTH_REFUSED));
}

enum rpcrdma_counter
rpcrdma_counter_of_end(const struct rpcrdma_lifecycle_event *event, u8 stage)
{
	if (stage == RPCRDMA_STAGE_OPEN)
		return event->what == RPCRDMA_HAPPENED_FAILED &&
				       event->failure !=
					       RPCRDMA_FAILURE_FLUSHED ?
			       RPCRDMA_COUNT_WR_FAILURES :
			       RPCRDMA_NR_COUNTERS;
	if (event->what == RPCRDMA_HAPPENED_OVERDUE)
		return RPCRDMA_COUNT_OPENINGS_OVERDUE;
	if (event->what != RPCRDMA_HAPPENED_CM_EVENT)
		return RPCRDMA_NR_COUNTERS;
	switch (event->event) {
	case RPCRDMA_CM_UNRESOLVED:
		return RPCRDMA_COUNT_UNRESOLVED;
	case RPCRDMA_CM_UNREACHABLE:
		return RPCRDMA_COUNT_UNREACHABLE;
	case RPCRDMA_CM_REJECTED:
		return counter_of_rejection(event->rejection);
	default:
		return RPCRDMA_NR_COUNTERS;
	}
}

enum rpcrdma_counter
rpcrdma_counter_of_setup(const struct rpcrdma_lifecycle *life, u8 stage,
			 const struct rpcrdma_setup_step *end)
{
	/* An event has ended it. */
	if (!end->step.todo)
		return RPCRDMA_NR_COUNTERS;
	/*
	 * Without a device or a route, the request itself often fails, and no event
	 * follows.
	 */
	if (stage == RPCRDMA_STAGE_RESOLVING || stage == RPCRDMA_STAGE_ROUTING)
		return life->status == -E_NOMEM ? RPCRDMA_NR_COUNTERS :
						  RPCRDMA_COUNT_UNRESOLVED;
	/* The connection manager would retransmit for longer than a client waits. */
	return life->end == RPCRDMA_END_AWAY ? RPCRDMA_COUNT_UNREACHABLE :
					       RPCRDMA_NR_COUNTERS;
}
