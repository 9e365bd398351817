// SPDX-License-Identifier: GPL-2.0
/* Who waits for the memory regions of a connection, and when more are made. */
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr u32 TAKEN = RPCRDMA_POOL_TAKEN, MAKE = RPCRDMA_POOL_MAKE,
	      PAUSE = RPCRDMA_POOL_PAUSE, TELL = RPCRDMA_POOL_TELL,
	      LATER = RPCRDMA_POOL_LATER, LOG = RPCRDMA_POOL_LOG;

rpcrdma_region_pool pool_of(u32 most, u32 made = 0)
{
	rpcrdma_region_pool pool{};

	pool.most = most;
	pool.made = made;
	pool.free = made;
	return pool;
}

/* The maker comes, and has memory for so many. */
u32 make(rpcrdma_region_pool *pool, u32 memory = ~0u)
{
	return rpcrdma_pool_made(pool,
				 std::min(memory, rpcrdma_pool_to_make(pool)));
}

TEST(RegionPool, MadeWhenTheyAreWanted)
{
	rpcrdma_region_pool pool = pool_of(20);

	EXPECT_EQ(rpcrdma_pool_take(&pool), MAKE);
	/* It is on its way. */
	EXPECT_EQ(rpcrdma_pool_take(&pool), 0u);
	EXPECT_EQ(rpcrdma_pool_to_make(&pool), +RPCRDMA_POOL_BATCH);
	EXPECT_EQ(make(&pool), TELL);
	EXPECT_EQ(pool.free, +RPCRDMA_POOL_BATCH);
	for (u32 i = 1; i < RPCRDMA_POOL_BATCH; i++)
		EXPECT_EQ(rpcrdma_pool_take(&pool), TAKEN);
	/* Before there are none, and without anybody who waits */
	EXPECT_EQ(rpcrdma_pool_take(&pool), TAKEN | MAKE);
	EXPECT_EQ(make(&pool), 0u);
	EXPECT_EQ(rpcrdma_pool_take(&pool), TAKEN);
}

TEST(RegionPool, NotMoreThanTheMost)
{
	rpcrdma_region_pool pool = pool_of(RPCRDMA_POOL_BATCH + 2);
	u32 todo;

	EXPECT_EQ(rpcrdma_pool_take(&pool), MAKE);
	EXPECT_EQ(make(&pool), TELL);
	for (u32 i = 0; i < pool.most; i++) {
		todo = rpcrdma_pool_take(&pool);
		EXPECT_EQ(todo & TAKEN, TAKEN) << i;
		EXPECT_FALSE(rpcrdma_pool_is_spent(&pool) && i < pool.most - 1);
		if (todo & MAKE) {
			EXPECT_EQ(rpcrdma_pool_to_make(&pool), 2u);
			EXPECT_EQ(make(&pool), 0u);
		}
	}
	EXPECT_EQ(pool.made, pool.most);
	EXPECT_TRUE(rpcrdma_pool_is_spent(&pool));
	/* There is nothing to be made. */
	EXPECT_EQ(rpcrdma_pool_take(&pool), 0u);
	EXPECT_EQ(rpcrdma_pool_to_make(&pool), 0u);
	EXPECT_EQ(rpcrdma_pool_give(&pool, 1, true), TELL);
	EXPECT_FALSE(rpcrdma_pool_is_spent(&pool));
}

TEST(RegionPool, NoneAtAll)
{
	rpcrdma_region_pool pool = pool_of(0);

	EXPECT_TRUE(rpcrdma_pool_is_spent(&pool));
	EXPECT_EQ(rpcrdma_pool_take(&pool), 0u);
	EXPECT_EQ(rpcrdma_pool_to_make(&pool), 0u);
}

/* Regions that were used: another RPC has ended. Nobody waits: nobody is told. */
TEST(RegionPool, ToldWhenUsedOnesComeBack)
{
	rpcrdma_region_pool pool = pool_of(2, 2);

	EXPECT_EQ(rpcrdma_pool_take(&pool), TAKEN);
	EXPECT_EQ(rpcrdma_pool_give(&pool, 1, true), 0u);
	rpcrdma_pool_take(&pool);
	rpcrdma_pool_take(&pool);
	EXPECT_EQ(rpcrdma_pool_take(&pool), 0u);
	EXPECT_EQ(rpcrdma_pool_give(&pool, 0, true), 0u);
	EXPECT_EQ(rpcrdma_pool_give(&pool, 1, true), TELL);
	/* Once */
	EXPECT_EQ(rpcrdma_pool_give(&pool, 1, true), 0u);
}

/* Who gives back what it took because there was too little has not changed that. */
TEST(RegionPool, TriedAgainAfterAPause)
{
	rpcrdma_region_pool pool = pool_of(2, 2);

	rpcrdma_pool_take(&pool);
	rpcrdma_pool_take(&pool);
	EXPECT_EQ(rpcrdma_pool_take(&pool), 0u);
	EXPECT_EQ(rpcrdma_pool_give(&pool, 1, false), PAUSE);
	EXPECT_EQ(rpcrdma_pool_give(&pool, 1, false), 0u);
	EXPECT_EQ(make(&pool), TELL);
	/* It goes on like that. */
	rpcrdma_pool_take(&pool);
	rpcrdma_pool_take(&pool);
	rpcrdma_pool_take(&pool);
	EXPECT_EQ(rpcrdma_pool_give(&pool, 2, false), PAUSE);
	/* Regions that were used end the waiting before the pause is over. */
	EXPECT_EQ(rpcrdma_pool_give(&pool, 0, true), 0u);
	rpcrdma_pool_take(&pool);
	EXPECT_EQ(rpcrdma_pool_give(&pool, 1, true), TELL);
	EXPECT_EQ(make(&pool), 0u);
}

/* While the maker is on its way, there is no need of a pause. */
TEST(RegionPool, WhatIsMadeIsWaitedFor)
{
	rpcrdma_region_pool pool = pool_of(20, 1);

	EXPECT_EQ(rpcrdma_pool_take(&pool), TAKEN | MAKE);
	EXPECT_EQ(rpcrdma_pool_take(&pool), 0u);
	EXPECT_EQ(rpcrdma_pool_give(&pool, 1, false), 0u);
	EXPECT_EQ(make(&pool), TELL);
}

/* Without memory, those who wait try at the pace of the pauses; so does the maker. */
TEST(RegionPool, TheMakerFails)
{
	rpcrdma_region_pool pool = pool_of(20);

	EXPECT_EQ(rpcrdma_pool_take(&pool), MAKE);
	for (u32 i = 0; i < 3; i++) {
		EXPECT_EQ(make(&pool, 0), i ? PAUSE : LOG | PAUSE);
		/* Others come meanwhile, and do not make it any sooner. */
		EXPECT_EQ(rpcrdma_pool_take(&pool), 0u);
		EXPECT_EQ(make(&pool, 0), TELL);
		EXPECT_EQ(rpcrdma_pool_take(&pool), MAKE);
	}
	EXPECT_EQ(make(&pool, 1), TELL);
	EXPECT_EQ(pool.made, 1u);
	/* Nobody waits, and it fails: the next one calls it. */
	EXPECT_EQ(rpcrdma_pool_take(&pool), TAKEN | MAKE);
	EXPECT_EQ(make(&pool, 0), LOG);
	EXPECT_EQ(rpcrdma_pool_take(&pool), MAKE);
	EXPECT_EQ(pool.shortages, 8u);
}

/* Someone waits, and the maker fails as often as it takes. Returns what it asked for. */
u32 starve(rpcrdma_region_pool *pool)
{
	u32 all = 0, todo = 0;

	for (u32 i = 0; i < RPCRDMA_POOL_FAILURES; i++) {
		EXPECT_FALSE(rpcrdma_pool_is_starved(pool));
		if (!(todo & PAUSE))
			EXPECT_EQ(rpcrdma_pool_take(pool), MAKE) << i;
		todo = make(pool, 0);
		if (i)
			all |= todo;
	}
	EXPECT_TRUE(rpcrdma_pool_is_starved(pool));
	return all;
}

/* The device has none left: that ends the waiting for them, and is logged twice. */
TEST(RegionPool, StarvedAfterAWhile)
{
	rpcrdma_region_pool pool = pool_of(20);
	rpcrdma_call call{};

	rpcrdma_call_regions(&call, &pool);
	EXPECT_EQ(call.few_regions, 0);
	/* The last one ends the waiting, and the maker comes again. */
	EXPECT_EQ(starve(&pool), PAUSE | TELL | LATER | LOG);
	EXPECT_TRUE(rpcrdma_pool_is_spent(&pool));
	rpcrdma_call_regions(&call, &pool);
	EXPECT_EQ(call.few_regions, 1);
	EXPECT_EQ(call.max_regions, 0);
	/* It goes on, without a word. */
	for (u32 i = 0; i < 3; i++)
		EXPECT_EQ(make(&pool, 0), LATER);
	/* A Call that is refused meanwhile tries again then. */
	EXPECT_EQ(rpcrdma_pool_take(&pool), 0u);
	EXPECT_EQ(make(&pool, 0), TELL | LATER);
	EXPECT_EQ(pool.failures, +RPCRDMA_POOL_FAILURES);
	EXPECT_EQ(pool.shortages, RPCRDMA_POOL_FAILURES + 4u);

	/* One is enough to begin anew. */
	EXPECT_EQ(make(&pool, 1), 0u);
	EXPECT_FALSE(rpcrdma_pool_is_starved(&pool));
	EXPECT_EQ(pool.shortages, RPCRDMA_POOL_FAILURES + 5u);
	rpcrdma_call_regions(&call, &pool);
	EXPECT_EQ(call.few_regions, 0);
	EXPECT_EQ(rpcrdma_pool_take(&pool), TAKEN | MAKE);
	rpcrdma_pool_give(&pool, 1, true);
	EXPECT_EQ(make(&pool, 0), LOG);
}

/* All that there may be are made: that more are waited for is no failure. */
TEST(RegionPool, NotStarvedWithAll)
{
	rpcrdma_region_pool pool = pool_of(1, 1);

	rpcrdma_pool_take(&pool);
	for (u32 i = 0; i < 2 * RPCRDMA_POOL_FAILURES; i++) {
		EXPECT_EQ(rpcrdma_pool_take(&pool), 0u);
		rpcrdma_pool_give(&pool, 1, false);
		EXPECT_EQ(make(&pool), TELL);
		rpcrdma_pool_take(&pool);
	}
	EXPECT_FALSE(rpcrdma_pool_is_starved(&pool));
	EXPECT_EQ(pool.shortages, 0u);
}

/*
 * Callers come, take as many as they need or give up what they have, use them, and give
 * them back, in any order; with a maker that is slow and at times has no memory.
 */
class pool_walk : public testing::TestWithParam<u32>
{
protected:
	void carry_out(u32 todo, bool reason)
	{
		if (todo & (MAKE | PAUSE)) {
			EXPECT_FALSE(maker_) << "two makers";
			maker_ = todo & PAUSE ? 1 + random_.below(4) : 1;
		}
		if (!(todo & TELL))
			return;
		/* Without a reason, only at the end of a pause */
		if (!reason)
			idle_tells_++;
		EXPECT_LE(idle_tells_, pauses_);
		told_ = true;
	}
	void give(u32 count, bool used)
	{
		const u32 todo = rpcrdma_pool_give(&pool_, count, used);

		pauses_ += !!(todo & PAUSE);
		carry_out(todo, used);
	}
	bool take(u32 count)
	{
		for (u32 i = 0; i < count; i++) {
			const u32 todo = rpcrdma_pool_take(&pool_);

			carry_out(todo, false);
			if (todo & TAKEN)
				continue;
			give(i, false);
			return false;
		}
		busy_.push_back(count);
		return true;
	}
	void maker_comes(bool memory)
	{
		const u32 want = rpcrdma_pool_to_make(&pool_);
		const u32 made = memory ? want : random_.below(want + 1) / 2;
		u32 todo;

		maker_ = 0;
		todo = rpcrdma_pool_made(&pool_, made);
		pauses_ += !!(todo & PAUSE);
		carry_out(todo, made);
		EXPECT_LE(pool_.made, pool_.most);
	}
	/* In order: nobody passes one that waits. */
	void try_waiting()
	{
		told_ = false;
		while (!waiting_.empty() && take(waiting_.front()))
			waiting_.pop_front();
	}
	void step(bool more, bool memory)
	{
		const u32 sort = random_.below(4);

		if (sort == 0 && more) {
			const u32 count = 1 + random_.below(pool_.most);

			if (!waiting_.empty() || !take(count))
				waiting_.push_back(count);
		} else if (sort == 1 && !busy_.empty()) {
			const u32 count = busy_.front();

			busy_.pop_front();
			give(count, true);
		} else if (maker_ && !--maker_) {
			maker_comes(memory);
		} else if (told_) {
			try_waiting();
		}
	}

	rpcrdma_region_pool pool_ = pool_of(5 + GetParam());
	generator random_{ GetParam() };
	std::deque<u32> waiting_, busy_;
	u32 maker_ = 0; /* steps until it comes; 0: it is not called */
	u32 pauses_ = 0, idle_tells_ = 0;
	bool told_ = false;
};

TEST_P(pool_walk, AllComeToTheirTurn)
{
	for (u32 i = 0; i < 5000; i++) {
		step(true, random_.chance(80));
		ASSERT_TRUE(waiting_.empty() || told_ || maker_ ||
			    !busy_.empty())
			<< "nobody is to come";
	}
	for (u32 i = 0; i < 10000 && !waiting_.empty(); i++)
		step(false, true);
	EXPECT_TRUE(waiting_.empty());
	while (!busy_.empty())
		step(false, true);
	EXPECT_EQ(pool_.free, pool_.made);
}

INSTANTIATE_TEST_SUITE_P(RegionPool, pool_walk, testing::Range(1u, 17u));

} // namespace
