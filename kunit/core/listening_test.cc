// SPDX-License-Identifier: GPL-2.0
/* A listener bound to one address: it is lost, retries, and listens again. */
#include <gtest/gtest.h>

#include "support.hh"

namespace
{

constexpr int NO_DEVICE = -19, IN_USE = -98;

rpcrdma_listening listening()
{
	rpcrdma_listening l{};
	const rpcrdma_listen_step step = rpcrdma_listen_tried(&l, 0);

	EXPECT_FALSE(step.retry);
	EXPECT_EQ(step.say, RPCRDMA_LISTEN_SAY_NOTHING);
	EXPECT_TRUE(l.listening);
	return l;
}

/* The caller reports the failure of the first attempt. No retry follows. */
TEST(Listening, AFirstFailureIsReturned)
{
	rpcrdma_listening l{};
	const rpcrdma_listen_step step = rpcrdma_listen_tried(&l, IN_USE);

	EXPECT_FALSE(step.retry);
	EXPECT_EQ(step.say, RPCRDMA_LISTEN_SAY_NOTHING);
	EXPECT_FALSE(l.listening);
}

TEST(Listening, EachLossIsReportedAndRetried)
{
	static constexpr struct {
		enum rpcrdma_listen_event event;
		bool now;
	} losses[] = {
		{ RPCRDMA_LISTEN_MOVED, true },
		{ RPCRDMA_LISTEN_REMOVED, false },
		{ RPCRDMA_LISTEN_GONE, false },
	};

	for (const auto &loss : losses) {
		rpcrdma_listening l = listening();
		rpcrdma_listen_step step =
			rpcrdma_listen_event_occurred(&l, loss.event);

		EXPECT_TRUE(step.retry);
		EXPECT_EQ(step.ms == 0, loss.now);
		EXPECT_LE(step.ms, 1000u);
		EXPECT_EQ(step.say, RPCRDMA_LISTEN_SAY_LOST);
		ASSERT_NE(step.cause, nullptr);
		/* Several events report the same loss. */
		step = rpcrdma_listen_event_occurred(&l,
						     RPCRDMA_LISTEN_REMOVED);
		EXPECT_TRUE(step.retry);
		EXPECT_EQ(step.say, RPCRDMA_LISTEN_SAY_NOTHING);
		step = rpcrdma_listen_tried(&l, 0);
		EXPECT_FALSE(step.retry);
		EXPECT_EQ(step.say, RPCRDMA_LISTEN_SAY_AGAIN);
	}
}

/*
 * An attempt follows each failure, without end, because an address may be
 * absent for days.
 */
TEST(Listening, RetriesAreNotBounded)
{
	rpcrdma_listening l = listening();
	u32 said = 0, waited = 0;

	rpcrdma_listen_event_occurred(&l, RPCRDMA_LISTEN_GONE);
	for (u32 i = 0; i < 100000; i++) {
		const rpcrdma_listen_step step =
			rpcrdma_listen_tried(&l, NO_DEVICE);

		ASSERT_TRUE(step.retry);
		ASSERT_GE(step.ms, 1000u);
		ASSERT_LE(step.ms, 10000u);
		if (i < 29) {
			EXPECT_EQ(step.ms, 1000u);
			waited += step.ms;
		}
		if (step.say != RPCRDMA_LISTEN_SAY_NOTHING) {
			EXPECT_EQ(step.say, RPCRDMA_LISTEN_SAY_FAILS);
			EXPECT_EQ(step.ms, 10000u);
			said++;
		}
	}
	EXPECT_EQ(said, 1u);
	EXPECT_EQ(waited, 29000u);
	EXPECT_EQ(rpcrdma_listen_tried(&l, 0).say, RPCRDMA_LISTEN_SAY_AGAIN);
}

/*
 * The return of the address ends the wait. A later loss begins with the
 * shortest delay again.
 */
TEST(Listening, TheAddressComesBack)
{
	rpcrdma_listening l = listening();
	rpcrdma_listen_step step;

	/* The listener is already listening there. */
	step = rpcrdma_listen_event_occurred(&l, RPCRDMA_LISTEN_BACK);
	EXPECT_FALSE(step.retry);
	EXPECT_TRUE(l.listening);

	rpcrdma_listen_event_occurred(&l, RPCRDMA_LISTEN_GONE);
	for (u32 i = 0; i < 40; i++)
		rpcrdma_listen_tried(&l, NO_DEVICE);
	step = rpcrdma_listen_event_occurred(&l, RPCRDMA_LISTEN_BACK);
	EXPECT_TRUE(step.retry);
	EXPECT_EQ(step.ms, 0u);
	EXPECT_EQ(step.say, RPCRDMA_LISTEN_SAY_NOTHING);
	/* The device may become available a moment after the address. */
	EXPECT_EQ(rpcrdma_listen_tried(&l, NO_DEVICE).ms, 1000u);
}

/*
 * The device can be removed at any moment, also between the success of an
 * attempt and its report.
 */
TEST(Listening, ALossDuringAnAttempt)
{
	rpcrdma_listening l = listening();

	rpcrdma_listen_event_occurred(&l, RPCRDMA_LISTEN_GONE);
	rpcrdma_listen_event_occurred(&l, RPCRDMA_LISTEN_REMOVED);
	EXPECT_FALSE(rpcrdma_listen_tried(&l, 0).retry);
	EXPECT_TRUE(l.listening);
	/* Make the attempt that the event has queued. */
	EXPECT_TRUE(rpcrdma_listen_tried(&l, NO_DEVICE).retry);
	EXPECT_FALSE(l.listening);
}

} // namespace
