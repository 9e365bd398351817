// SPDX-License-Identifier: GPL-2.0
/* Counts of what has happened to all connections */
#include <gtest/gtest.h>

#include <set>
#include <string>

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
	       { RPCRDMA_COUNT_DRAINS_FAILED, "drains_failed" } })
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
