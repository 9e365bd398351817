// SPDX-License-Identifier: GPL-2.0
/* Which context processes the messages that have arrived */
#include <gtest/gtest.h>

#include <rpcrdma/endpoint_arrivals.h>

namespace
{

/* The first new message wakes one context, unless the only one will check again. */
TEST(Arrivals, TheFirstMessageWakesAContext)
{
	for (const bool busy : { false, true }) {
		EXPECT_EQ(rpcrdma_arrival_wakeup(true, true, busy),
			  RPCRDMA_WAKEUP_THREAD);
		EXPECT_EQ(rpcrdma_arrival_wakeup(false, true, busy),
			  RPCRDMA_WAKEUP_NONE);
		EXPECT_EQ(rpcrdma_arrival_wakeup(false, false, busy),
			  RPCRDMA_WAKEUP_NONE);
	}
	EXPECT_EQ(rpcrdma_arrival_wakeup(true, false, false),
		  RPCRDMA_WAKEUP_WORK);
	EXPECT_EQ(rpcrdma_arrival_wakeup(true, false, true),
		  RPCRDMA_WAKEUP_NONE);
}

/* If all threads are busy, the work item processes the message a little later. */
TEST(Arrivals, AWorkItemFollowsAThread)
{
	for (const bool pending : { false, true })
		EXPECT_EQ(rpcrdma_thread_wakeup(false, pending),
			  RPCRDMA_WAKEUP_EXPEDITE);
	EXPECT_EQ(rpcrdma_thread_wakeup(true, false), RPCRDMA_WAKEUP_FALLBACK);
	/* Further messages do not postpone the work item. */
	EXPECT_EQ(rpcrdma_thread_wakeup(true, true), RPCRDMA_WAKEUP_NONE);
}

/* Messages that another context may leave are not stranded. */
TEST(Arrivals, NoMessageIsStranded)
{
	EXPECT_EQ(rpcrdma_polled_wakeup(false, false, false),
		  RPCRDMA_WAKEUP_NONE);
	EXPECT_EQ(rpcrdma_polled_wakeup(true, false, false),
		  RPCRDMA_WAKEUP_FALLBACK);
	EXPECT_EQ(rpcrdma_polled_wakeup(false, true, false),
		  RPCRDMA_WAKEUP_FALLBACK);
	/* The teardown processes the rest, and cancels the work item. */
	EXPECT_EQ(rpcrdma_polled_wakeup(true, true, true), RPCRDMA_WAKEUP_NONE);
}

} // namespace
