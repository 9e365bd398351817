// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening at one address: events that end it, the time of the next attempt, and the log
 * lines.
 *
 * The caller reports events and the result of each attempt to listen, and gets the next
 * step: when to try again, and what to log. If the first attempt fails, there is no retry,
 * because nfsd reports that failure. Later attempts continue without limit: every second
 * for half a minute, then every ten seconds. The loss, the 30th failure and the return are
 * logged once each.
 *
 * The listener's owner serialises the calls.
 */
#include "../internal.hh"

namespace rpcrdma
{

namespace
{

/* Attempts are frequent at first, because most devices and addresses return in seconds. */
constexpr u32 FIRST_TRIES = 30;
constexpr u32 FIRST_PAUSE_MS = 1000;
constexpr u32 PAUSE_MS = 10000;

constexpr const char *CAUSES[] = {
	/* MOVED */ "another device has the address",
	/* REMOVED */ "the device was removed",
	/* GONE */ "the address was removed",
	/* BACK */ nullptr,
};
static_assert(sizeof(CAUSES) / sizeof(CAUSES[0]) == RPCRDMA_NR_LISTEN_EVENTS);

u32 pause_ms(const struct rpcrdma_listening *l)
{
	return l->failures < FIRST_TRIES ? FIRST_PAUSE_MS : PAUSE_MS;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

struct rpcrdma_listen_step
rpcrdma_listen_event_occurred(struct rpcrdma_listening *l,
			      enum rpcrdma_listen_event event)
{
	struct rpcrdma_listen_step step = {
		.retry = true,
		.ms = FIRST_PAUSE_MS,
		.say = RPCRDMA_LISTEN_SAY_NOTHING,
		.cause = nullptr,
	};

	switch (event) {
	case RPCRDMA_LISTEN_BACK:
		if (l->listening)
			return {};
		[[fallthrough]];
	case RPCRDMA_LISTEN_MOVED:
		step.ms = 0;
		break;
	default:
		break;
	}
	/* The slower pace lasts until the next event. */
	l->failures = 0;
	if (l->listening) {
		l->listening = false;
		step.say = RPCRDMA_LISTEN_SAY_LOST;
		step.cause = CAUSES[event];
	}
	return step;
}

struct rpcrdma_listen_step rpcrdma_listen_tried(struct rpcrdma_listening *l,
						int result)
{
	struct rpcrdma_listen_step step = {
		.retry = true,
		.ms = 0,
		.say = RPCRDMA_LISTEN_SAY_NOTHING,
		.cause = nullptr,
	};

	if (!result) {
		const bool again = l->begun;

		*l = { .listening = true, .begun = true, .failures = 0 };
		step.retry = false;
		if (again)
			step.say = RPCRDMA_LISTEN_SAY_AGAIN;
		return step;
	}
	/* The caller of the first attempt reports its failure. */
	if (!l->begun)
		return {};
	l->listening = false;
	l->failures++;
	step.ms = pause_ms(l);
	if (l->failures == FIRST_TRIES)
		step.say = RPCRDMA_LISTEN_SAY_FAILS;
	return step;
}
