// SPDX-License-Identifier: GPL-2.0
/* Counters of events of all connections */
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "lifecycle.hh"
#include "support.hh"

using namespace engine_test;

namespace
{

rpcrdma_counter of_cm(rpcrdma_cm_event cm, int rejection = 0,
		      u8 stage = RPCRDMA_STAGE_CONNECTING)
{
	rpcrdma_lifecycle_event event{};

	event.what = RPCRDMA_HAPPENED_CM_EVENT;
	event.event = cm;
	event.rejection = rejection;
	return rpcrdma_counter_of_end(&event, stage);
}

TEST(Counters, EachHasItsName)
{
	std::set<std::string> names;

	for (u32 i = 0; i < RPCRDMA_NR_COUNTERS; i++) {
		ASSERT_NE(rpcrdma_counter_info(i), nullptr);
		EXPECT_EQ(rpcrdma_counter_info(i)->kind, RPCRDMA_COUNTER);
		names.insert(rpcrdma_counter_info(i)->name);
	}
	EXPECT_EQ(names.size(), size_t{ RPCRDMA_NR_COUNTERS });
	EXPECT_EQ(rpcrdma_counter_info(RPCRDMA_NR_COUNTERS), nullptr);
	for (auto [counter, name] :
	     { std::pair{ RPCRDMA_COUNT_OPENED, "opened" },
	       { RPCRDMA_COUNT_FALLBACKS, "fallbacks" },
	       { RPCRDMA_COUNT_CONNECTS_FAILED, "connects_failed" },
	       { RPCRDMA_COUNT_REJECTS_STALE, "rejects_stale" },
	       { RPCRDMA_COUNT_REFUSED_NO_MEMORY, "refused_no_memory" },
	       { RPCRDMA_COUNT_MR_SHORTAGES, "mr_shortages" },
	       { RPCRDMA_COUNT_MAP_FAILURES, "map_failures" },
	       { RPCRDMA_COUNT_POSTS_REFUSED, "posts_refused" },
	       { RPCRDMA_COUNT_DRAINS_FAILED, "drains_failed" },
	       { RPCRDMA_COUNT_AUTHS_STARTED, "auths_started" },
	       { RPCRDMA_COUNT_AUTHS_DONE, "auths_done" },
	       { RPCRDMA_COUNT_AUTHS_DH, "auths_dh" },
	       { RPCRDMA_COUNT_AUTHS_FAILED, "auths_failed" },
	       { RPCRDMA_COUNT_AUTHS_UNAVAILABLE, "auths_unavailable" },
	       { RPCRDMA_COUNT_PULLS_OVERDUE, "pulls_overdue" } })
		EXPECT_STREQ(rpcrdma_counter_info(counter)->name, name);
}

/* The IBTA's reject reasons, and the errno that iWARP reports instead */
TEST(Counters, Rejections)
{
	EXPECT_EQ(of_cm(RPCRDMA_CM_REJECTED, 8),
		  RPCRDMA_COUNT_REJECTS_NO_LISTENER);
	EXPECT_EQ(of_cm(RPCRDMA_CM_REJECTED, -ECONNREFUSED),
		  RPCRDMA_COUNT_REJECTS_NO_LISTENER);
	EXPECT_EQ(of_cm(RPCRDMA_CM_REJECTED, 28),
		  RPCRDMA_COUNT_REJECTS_BY_PEER);
	EXPECT_EQ(of_cm(RPCRDMA_CM_REJECTED, 10), RPCRDMA_COUNT_REJECTS_STALE);
	EXPECT_EQ(of_cm(RPCRDMA_CM_REJECTED, 3), RPCRDMA_COUNT_REJECTS_OTHER);
	EXPECT_EQ(of_cm(RPCRDMA_CM_UNRESOLVED), RPCRDMA_COUNT_UNRESOLVED);
	EXPECT_EQ(of_cm(RPCRDMA_CM_UNREACHABLE), RPCRDMA_COUNT_UNREACHABLE);
	EXPECT_EQ(of_cm(RPCRDMA_CM_FAILED), RPCRDMA_NR_COUNTERS);
}

/*
 * An open connection cannot be rejected. For it, "unreachable" is an ordinary
 * end.
 */
TEST(Counters, EndsOfOpenConnections)
{
	rpcrdma_lifecycle_event event{};

	EXPECT_EQ(of_cm(RPCRDMA_CM_REJECTED, 28, RPCRDMA_STAGE_OPEN),
		  RPCRDMA_NR_COUNTERS);
	EXPECT_EQ(of_cm(RPCRDMA_CM_DISCONNECTED, 0, RPCRDMA_STAGE_OPEN),
		  RPCRDMA_NR_COUNTERS);
	event.what = RPCRDMA_HAPPENED_FAILED;
	event.failure = RPCRDMA_FAILURE_PEER;
	EXPECT_EQ(rpcrdma_counter_of_end(&event, RPCRDMA_STAGE_OPEN),
		  RPCRDMA_COUNT_WR_FAILURES);
	event.failure = RPCRDMA_FAILURE_HERE;
	EXPECT_EQ(rpcrdma_counter_of_end(&event, RPCRDMA_STAGE_OPEN),
		  RPCRDMA_COUNT_WR_FAILURES);
	/* The peer's disconnect flushes Work Requests. */
	event.failure = RPCRDMA_FAILURE_FLUSHED;
	EXPECT_EQ(rpcrdma_counter_of_end(&event, RPCRDMA_STAGE_OPEN),
		  RPCRDMA_NR_COUNTERS);
}

/*
 * A client waits for a shorter time than the connection manager retransmits, so
 * that usually no event reports a server that does not answer. If one does, it
 * is counted by then.
 */
TEST(Counters, NoAnswer)
{
	for (const bool reported : { false, true }) {
		lifecycle::life e(true);

		e.make();
		e.cm_event(RPCRDMA_CM_RESOLVED);
		e.make();
		e.cm_event(RPCRDMA_CM_RESOLVED);
		e.make();
		e.make();
		ASSERT_EQ(e.stage(), "connecting");
		if (reported)
			e.cm_event(RPCRDMA_CM_UNREACHABLE);

		const rpcrdma_setup_step end =
			e.make(reported ? 0 : lifecycle::LATE);

		ASSERT_EQ(end.what, RPCRDMA_SETUP_END);
		EXPECT_EQ(rpcrdma_counter_of_setup(
				  &e.l, RPCRDMA_STAGE_CONNECTING, &end),
			  reported ? RPCRDMA_NR_COUNTERS :
				     RPCRDMA_COUNT_UNREACHABLE);
	}
}

/*
 * Without a device or a route, the request itself fails, or no event comes in
 * time. Other failures of this end are no matter of the server, nor of the way
 * to it.
 */
TEST(Counters, Unresolved)
{
	struct {
		u32 resolved; /* of address and route */
		int result;
		rpcrdma_counter counter;
	} const cases[] = {
		{ 0, lifecycle::UNREACHABLE, RPCRDMA_COUNT_UNRESOLVED },
		{ 0, lifecycle::NO_DEVICE, RPCRDMA_COUNT_UNRESOLVED },
		{ 0, lifecycle::LATE, RPCRDMA_COUNT_UNRESOLVED },
		{ 0, lifecycle::NO_MEMORY, RPCRDMA_NR_COUNTERS },
		{ 1, lifecycle::UNREACHABLE, RPCRDMA_COUNT_UNRESOLVED },
		{ 1, lifecycle::NO_MEMORY, RPCRDMA_NR_COUNTERS },
		{ 2, lifecycle::NO_DEVICE, RPCRDMA_NR_COUNTERS },
	};

	for (const auto &c : cases) {
		lifecycle::life e(true);

		e.make();
		for (u32 i = 0; i < c.resolved; i++) {
			e.cm_event(RPCRDMA_CM_RESOLVED);
			e.make();
		}

		const u8 stage = e.l.stage;
		const rpcrdma_setup_step end = e.make(c.result);

		ASSERT_EQ(end.what, RPCRDMA_SETUP_END);
		EXPECT_EQ(rpcrdma_counter_of_setup(&e.l, stage, &end), c.counter)
			<< c.resolved << " " << c.result;
	}
	/* An event has reported it, and was counted. */
	lifecycle::life e(true);

	e.make();
	e.cm_event(RPCRDMA_CM_UNRESOLVED);

	const rpcrdma_setup_step end = e.make();

	EXPECT_EQ(rpcrdma_counter_of_setup(&e.l, RPCRDMA_STAGE_RESOLVING, &end),
		  RPCRDMA_NR_COUNTERS);
}

/* Each failure, and no other result, increments a counter. */
TEST(Counters, HostAuthentication)
{
	const std::pair<rpcrdma_auth_result, const char *> causes[] = {
		{ RPCRDMA_AUTH_REFUSED, "auths_refused" },
		{ RPCRDMA_AUTH_WRONG_PROOF, "auths_wrong_proof" },
		{ RPCRDMA_AUTH_UNKNOWN, "auths_unknown" },
		{ RPCRDMA_AUTH_WRONG_IDENTITY, "auths_wrong_identity" },
		{ RPCRDMA_AUTH_NOT_OFFERED, "auths_not_offered" },
		{ RPCRDMA_AUTH_PEER_REQUIRES, "auths_peer_requires" },
		{ RPCRDMA_AUTH_VERSION_1, "auths_version_1" },
		{ RPCRDMA_AUTH_NO_SECRET, "auths_no_secret" },
		{ RPCRDMA_AUTH_NO_HASH, "auths_no_hash" },
		{ RPCRDMA_AUTH_MALFORMED, "auths_malformed" },
		{ RPCRDMA_AUTH_UNAVAILABLE, "auths_unavailable" },
	};

	for (auto [result, name] : causes)
		EXPECT_STREQ(
			rpcrdma_counter_info(rpcrdma_counter_of_auth(result))
				->name,
			name);
	for (auto result : { RPCRDMA_AUTH_PENDING, RPCRDMA_AUTH_UNUSED,
			     RPCRDMA_AUTH_DONE, RPCRDMA_NR_AUTH_RESULTS })
		EXPECT_EQ(rpcrdma_counter_of_auth(result), RPCRDMA_NR_COUNTERS);
}

TEST(Counters, OpeningInTime)
{
	rpcrdma_lifecycle_event event{};

	event.what = RPCRDMA_HAPPENED_OVERDUE;
	EXPECT_EQ(rpcrdma_counter_of_end(&event, RPCRDMA_STAGE_OPENING),
		  RPCRDMA_COUNT_OPENINGS_OVERDUE);
	event.what = RPCRDMA_HAPPENED_CLOSE;
	EXPECT_EQ(rpcrdma_counter_of_end(&event, RPCRDMA_STAGE_OPENING),
		  RPCRDMA_NR_COUNTERS);
}

} // namespace
