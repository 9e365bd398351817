// SPDX-License-Identifier: GPL-2.0
/* What peers can make this end hold. */
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support.hh"

namespace
{

constexpr u64 FIXED = 60, BUFFERS = 40, PARTS = 50, CALLS = 20, REPLIES = 30;
constexpr u64 PROMISE = FIXED + BUFFERS + PARTS + CALLS + REPLIES;

rpcrdma_memory_account account()
{
	rpcrdma_memory_account a = {};

	a.fixed = FIXED;
	a.share[RPCRDMA_MEMORY_BUFFERS] = BUFFERS;
	a.share[RPCRDMA_MEMORY_PARTS] = PARTS;
	a.share[RPCRDMA_MEMORY_CALLS] = CALLS;
	a.share[RPCRDMA_MEMORY_REPLIES] = REPLIES;
	return a;
}

/* Take as much as there is, one by one. */
u64 take_all(rpcrdma_memory &all, rpcrdma_memory_account &a,
	     rpcrdma_memory_use use)
{
	u64 n = 0;

	while (rpcrdma_memory_room(&all, &a, use, 1)) {
		rpcrdma_memory_hold(&all, &a, use, 1);
		n++;
	}
	return n;
}

TEST(Memory, ConnectionsAreBounded)
{
	rpcrdma_memory all = { 3 * PROMISE + PROMISE / 2, 0 };
	std::vector<rpcrdma_memory_account> a(4, account());

	for (u32 i = 0; i < 3; i++)
		EXPECT_EQ(rpcrdma_memory_join(&all, &a[i]), 0);
	EXPECT_EQ(rpcrdma_memory_join(&all, &a[3]), -1);
	EXPECT_EQ(all.used, 3 * PROMISE);
	rpcrdma_memory_leave(&all, &a[1]);
	EXPECT_EQ(rpcrdma_memory_join(&all, &a[3]), 0);
	/* A limit that was lowered lets nobody in. */
	rpcrdma_memory_leave(&all, &a[0]);
	all.limit = PROMISE;
	EXPECT_EQ(rpcrdma_memory_join(&all, &a[0]), -1);
}

/* Whatever others hold, and whatever it holds for another use */
TEST(Memory, PromisesAreKept)
{
	rpcrdma_memory all = { 100 * PROMISE, 0 };
	rpcrdma_memory_account good = account();
	std::vector<rpcrdma_memory_account> greedy(5, account());

	ASSERT_EQ(rpcrdma_memory_join(&all, &good), 0);
	for (auto &g : greedy) {
		ASSERT_EQ(rpcrdma_memory_join(&all, &g), 0);
		take_all(all, g, RPCRDMA_MEMORY_REPLIES);
		take_all(all, g, RPCRDMA_MEMORY_CALLS);
	}
	EXPECT_GE(take_all(all, good, RPCRDMA_MEMORY_REPLIES), REPLIES);
	EXPECT_GE(take_all(all, good, RPCRDMA_MEMORY_CALLS), CALLS);
	EXPECT_GE(take_all(all, good, RPCRDMA_MEMORY_PARTS), PARTS);
	EXPECT_LE(all.used, all.limit);
}

/*
 * A Call that came in parts and has Read chunks holds both at once. Were less
 * promised for it, it would wait for memory that it holds itself.
 */
TEST(Memory, ACallInPartsHasRoomForItsReadChunks)
{
	constexpr u64 MESSAGE = 40, SPARE = 5;
	rpcrdma_memory_account a = {}, other = {};
	rpcrdma_memory all = { 0, 0 };

	rpcrdma_memory_promise(&a, FIXED, BUFFERS, MESSAGE, PARTS, SPARE);
	other = a;
	EXPECT_EQ(a.fixed, FIXED);
	EXPECT_EQ(a.share[RPCRDMA_MEMORY_BUFFERS], BUFFERS);
	EXPECT_EQ(a.share[RPCRDMA_MEMORY_PARTS], PARTS);
	EXPECT_GE(a.share[RPCRDMA_MEMORY_REPLIES], MESSAGE + SPARE);
	all.limit = 2 * a.fixed;
	for (u64 share : a.share)
		all.limit += 2 * share;
	ASSERT_EQ(rpcrdma_memory_join(&all, &a), 0);
	ASSERT_EQ(rpcrdma_memory_join(&all, &other), 0);
	/* There is nothing but what was promised, and others use theirs. */
	EXPECT_EQ(all.used, all.limit);
	take_all(all, other, RPCRDMA_MEMORY_CALLS);

	ASSERT_TRUE(rpcrdma_memory_room(&all, &a, RPCRDMA_MEMORY_PARTS, PARTS));
	rpcrdma_memory_hold(&all, &a, RPCRDMA_MEMORY_PARTS, PARTS);
	/* The last part has come. */
	ASSERT_TRUE(rpcrdma_memory_room(&all, &a, RPCRDMA_MEMORY_CALLS, PARTS));
	rpcrdma_memory_hold(&all, &a, RPCRDMA_MEMORY_CALLS, PARTS);
	rpcrdma_memory_give(&all, &a, RPCRDMA_MEMORY_PARTS, PARTS);
	/* What is to be read makes the largest Call of it, in whole pages. */
	EXPECT_TRUE(rpcrdma_memory_room(&all, &a, RPCRDMA_MEMORY_CALLS,
					MESSAGE + SPARE));
}

/* What threads work on is this end's, what waits for the peer is the peer's. */
TEST(Memory, ACallIsBegunWhileNoReplyWaits)
{
	rpcrdma_memory all = { PROMISE, 0 };
	rpcrdma_memory_account a = account();

	ASSERT_EQ(rpcrdma_memory_join(&all, &a), 0);
	EXPECT_TRUE(rpcrdma_memory_may_begin(&all, &a, 1000 * PROMISE));
	rpcrdma_memory_hold(&all, &a, RPCRDMA_MEMORY_CALLS, 1000 * PROMISE);
	EXPECT_TRUE(rpcrdma_memory_may_begin(&all, &a, 1000 * PROMISE));
	rpcrdma_memory_give(&all, &a, RPCRDMA_MEMORY_CALLS, 1000 * PROMISE);
	rpcrdma_memory_hold(&all, &a, RPCRDMA_MEMORY_REPLIES, 1);
	EXPECT_TRUE(rpcrdma_memory_may_begin(&all, &a, REPLIES - 1));
	EXPECT_FALSE(rpcrdma_memory_may_begin(&all, &a, REPLIES));
}

/* The first window is promised; by how much it grows depends on what is left. */
/* Who asks and is refused is told of the next that comes back, once. */
TEST(Memory, WhoWaitsIsTold)
{
	rpcrdma_memory all = { PROMISE, 0 };
	rpcrdma_memory_account a = account();

	ASSERT_EQ(rpcrdma_memory_join(&all, &a), 0);
	EXPECT_TRUE(rpcrdma_memory_ask(&all, &a, RPCRDMA_MEMORY_CALLS, CALLS));
	rpcrdma_memory_hold(&all, &a, RPCRDMA_MEMORY_CALLS, CALLS);
	/* Nobody waits for what only was looked at. */
	EXPECT_FALSE(rpcrdma_memory_room(&all, &a, RPCRDMA_MEMORY_CALLS, 1));
	EXPECT_FALSE(rpcrdma_memory_give(&all, &a, RPCRDMA_MEMORY_CALLS, 1));
	EXPECT_FALSE(rpcrdma_memory_ask(&all, &a, RPCRDMA_MEMORY_CALLS, 2));
	EXPECT_TRUE(rpcrdma_memory_give(&all, &a, RPCRDMA_MEMORY_CALLS, 2));
	EXPECT_FALSE(rpcrdma_memory_give(&all, &a, RPCRDMA_MEMORY_CALLS, 2));

	EXPECT_FALSE(rpcrdma_memory_has_replies(&a));
	rpcrdma_memory_hold(&all, &a, RPCRDMA_MEMORY_REPLIES, REPLIES);
	EXPECT_TRUE(rpcrdma_memory_has_replies(&a));
	EXPECT_FALSE(rpcrdma_memory_may_begin(&all, &a, 1));
	EXPECT_TRUE(rpcrdma_memory_give(&all, &a, RPCRDMA_MEMORY_REPLIES, 5));
	EXPECT_TRUE(rpcrdma_memory_may_begin(&all, &a, 5));
	EXPECT_FALSE(rpcrdma_memory_give(&all, &a, RPCRDMA_MEMORY_REPLIES, 5));
	EXPECT_TRUE(rpcrdma_memory_has_replies(&a));
	rpcrdma_memory_give(&all, &a, RPCRDMA_MEMORY_REPLIES, REPLIES - 10);
	EXPECT_FALSE(rpcrdma_memory_has_replies(&a));
}

TEST(Memory, RepliesThatArePromisedRoom)
{
	rpcrdma_memory_account a = account(), none{};

	EXPECT_EQ(rpcrdma_memory_replies(&a, REPLIES / 4), 4u);
	EXPECT_EQ(rpcrdma_memory_replies(&a, REPLIES), 1u);
	EXPECT_EQ(rpcrdma_memory_replies(&a, REPLIES + 1), 1u);
	EXPECT_EQ(rpcrdma_memory_replies(&none, 1), ~0u);
}

TEST(Memory, AWindowGrowsIntoWhatIsLeft)
{
	constexpr u64 PIECE = 10;
	rpcrdma_memory all = { 3 * PROMISE + 160, 0 };
	rpcrdma_memory_account a = account(), b = account(), c = account();

	const auto grow = [&](rpcrdma_memory_account &one, u32 want) {
		const u32 fit = rpcrdma_memory_fits(
			&all, &one, RPCRDMA_MEMORY_BUFFERS, PIECE, want);

		rpcrdma_memory_hold(&all, &one, RPCRDMA_MEMORY_BUFFERS,
				    fit * PIECE);
		return fit;
	};

	for (auto *one : { &a, &b, &c })
		ASSERT_EQ(rpcrdma_memory_join(&all, one), 0);
	EXPECT_EQ(grow(a, 4), 4u);
	EXPECT_EQ(all.used, 3 * PROMISE);
	/* 16 are left, of which one may have half, and no more then. */
	EXPECT_EQ(grow(a, 4), 4u);
	EXPECT_EQ(grow(a, 8), 4u);
	EXPECT_EQ(grow(a, 16), 0u);
	/* Nor has it anything else beyond what it was promised. */
	EXPECT_FALSE(
		rpcrdma_memory_room(&all, &a, RPCRDMA_MEMORY_CALLS, CALLS + 1));
	EXPECT_EQ(grow(b, 4), 4u);
	EXPECT_EQ(grow(b, 8), 4u);
	EXPECT_EQ(grow(c, 4), 4u);
	EXPECT_EQ(grow(c, 2), 2u);
	EXPECT_EQ(grow(c, 2), 0u);
	rpcrdma_memory_leave(&all, &a);
	EXPECT_GT(grow(c, 2), 0u);
	EXPECT_LE(all.used, all.limit);
}

/* The only one that wants more has half of what nobody was promised. */
TEST(Memory, WhoWantsAllGetsHalf)
{
	rpcrdma_memory all = { PROMISE + 1000, 0 };
	rpcrdma_memory_account a = account();

	ASSERT_EQ(rpcrdma_memory_join(&all, &a), 0);
	EXPECT_EQ(take_all(all, a, RPCRDMA_MEMORY_REPLIES), REPLIES + 500);
	EXPECT_EQ(take_all(all, a, RPCRDMA_MEMORY_CALLS), CALLS);
	EXPECT_EQ(all.used, PROMISE + 500);
}

TEST(Memory, ThereIsRoomForWhoComesNext)
{
	rpcrdma_memory all = { 100 * PROMISE, 0 };
	rpcrdma_memory_account greedy = account();
	std::vector<rpcrdma_memory_account> others(40, account());

	ASSERT_EQ(rpcrdma_memory_join(&all, &greedy), 0);
	take_all(all, greedy, RPCRDMA_MEMORY_REPLIES);
	for (auto &a : others)
		EXPECT_EQ(rpcrdma_memory_join(&all, &a), 0);
}

/* A connection that was given up may still give back what it held. */
TEST(Memory, LeavingIsOnce)
{
	rpcrdma_memory all = { 10 * PROMISE, 0 };
	rpcrdma_memory_account a = account(), b = account();

	ASSERT_EQ(rpcrdma_memory_join(&all, &a), 0);
	ASSERT_EQ(rpcrdma_memory_join(&all, &b), 0);
	rpcrdma_memory_hold(&all, &a, RPCRDMA_MEMORY_CALLS, 500);
	rpcrdma_memory_leave(&all, &a);
	EXPECT_EQ(all.used, PROMISE);
	rpcrdma_memory_leave(&all, &a);
	rpcrdma_memory_give(&all, &a, RPCRDMA_MEMORY_CALLS, 500);
	EXPECT_EQ(all.used, PROMISE);
	EXPECT_EQ(a.held[RPCRDMA_MEMORY_CALLS], 0U);
}

/* One that never joined, which is a client's, is counted and not bounded. */
TEST(Memory, WhoDidNotJoinIsNotBounded)
{
	rpcrdma_memory all = { 10, 0 };
	rpcrdma_memory_account a = {};

	EXPECT_TRUE(rpcrdma_memory_room(&all, &a, RPCRDMA_MEMORY_CALLS, 1000));
	rpcrdma_memory_hold(&all, &a, RPCRDMA_MEMORY_CALLS, 1000);
	EXPECT_EQ(a.held[RPCRDMA_MEMORY_CALLS], 1000U);
	rpcrdma_memory_give(&all, &a, RPCRDMA_MEMORY_CALLS, 1000);
	EXPECT_EQ(a.held[RPCRDMA_MEMORY_CALLS], 0U);
	EXPECT_EQ(all.used, 0U);
}

/* Whoever takes only what there is room for never takes all beyond the limit */
TEST(Memory, TheSumIsBounded)
{
	std::mt19937 random(7);
	rpcrdma_memory all = { 30 * PROMISE, 0 };
	std::vector<rpcrdma_memory_account> a(20);

	for (u32 step = 0; step < 200000; step++) {
		auto &one = a[random() % a.size()];
		const auto use = static_cast<rpcrdma_memory_use>(
			random() % RPCRDMA_MEMORY_USES);
		const u64 octets = random() % 200;

		if (!one.member) {
			one = account();
			rpcrdma_memory_join(&all, &one);
		} else if (random() % 50 == 0) {
			rpcrdma_memory_leave(&all, &one);
		} else if (random() % 3 == 0) {
			rpcrdma_memory_give(&all, &one, use,
					    one.held[use] < octets ?
						    one.held[use] :
						    octets);
		} else if (rpcrdma_memory_room(&all, &one, use, octets)) {
			rpcrdma_memory_hold(&all, &one, use, octets);
		}
		ASSERT_LE(all.used, all.limit);
	}
	for (auto &one : a)
		rpcrdma_memory_leave(&all, &one);
	EXPECT_EQ(all.used, 0U);
}

} // namespace
