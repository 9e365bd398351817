// SPDX-License-Identifier: GPL-2.0
/*
 * The order in which requests wait for the MRs of a connection, and when more
 * are allocated
 */
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr u32 TAKEN = RPCRDMA_POOL_TAKEN, ALLOCATE = RPCRDMA_POOL_ALLOCATE,
	      PAUSE = RPCRDMA_POOL_PAUSE, NOTIFY = RPCRDMA_POOL_NOTIFY,
	      LATER = RPCRDMA_POOL_LATER, LOG = RPCRDMA_POOL_LOG;

rpcrdma_mr_pool pool_of(u32 most, u32 made = 0)
{
	rpcrdma_mr_pool pool{};

	pool.most = most;
	pool.made = made;
	pool.free = made;
	return pool;
}

/* Run the allocation of MRs, with memory for at most that many. */
u32 make(rpcrdma_mr_pool *pool, u32 memory = ~0u)
{
	return rpcrdma_mr_pool_allocated(
		pool, std::min(memory, rpcrdma_mr_pool_to_allocate(pool)));
}

TEST(MrPool, AllocatesOnDemand)
{
	rpcrdma_mr_pool pool = pool_of(20);

	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), ALLOCATE);
	/* The allocation is pending. */
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), 0u);
	EXPECT_EQ(rpcrdma_mr_pool_to_allocate(&pool), +RPCRDMA_POOL_BATCH);
	EXPECT_EQ(make(&pool), NOTIFY);
	EXPECT_EQ(pool.free, +RPCRDMA_POOL_BATCH);
	for (u32 i = 1; i < RPCRDMA_POOL_BATCH; i++)
		EXPECT_EQ(rpcrdma_mr_pool_get(&pool), TAKEN);
	/* No MRs exist yet, and no request waits. */
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), TAKEN | ALLOCATE);
	EXPECT_EQ(make(&pool), 0u);
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), TAKEN);
}

TEST(MrPool, AllocatesUpToTheMaximum)
{
	rpcrdma_mr_pool pool = pool_of(RPCRDMA_POOL_BATCH + 2);
	u32 todo;

	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), ALLOCATE);
	EXPECT_EQ(make(&pool), NOTIFY);
	for (u32 i = 0; i < pool.most; i++) {
		todo = rpcrdma_mr_pool_get(&pool);
		EXPECT_EQ(todo & TAKEN, TAKEN) << i;
		EXPECT_FALSE(rpcrdma_mr_pool_is_spent(&pool) &&
			     i < pool.most - 1);
		if (todo & ALLOCATE) {
			EXPECT_EQ(rpcrdma_mr_pool_to_allocate(&pool), 2u);
			EXPECT_EQ(make(&pool), 0u);
		}
	}
	EXPECT_EQ(pool.made, pool.most);
	EXPECT_TRUE(rpcrdma_mr_pool_is_spent(&pool));
	/* No MR is to be allocated. */
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), 0u);
	EXPECT_EQ(rpcrdma_mr_pool_to_allocate(&pool), 0u);
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 1, true), NOTIFY);
	EXPECT_FALSE(rpcrdma_mr_pool_is_spent(&pool));
}

TEST(MrPool, WithoutMrs)
{
	rpcrdma_mr_pool pool = pool_of(0);

	EXPECT_TRUE(rpcrdma_mr_pool_is_spent(&pool));
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), 0u);
	EXPECT_EQ(rpcrdma_mr_pool_to_allocate(&pool), 0u);
}

/*
 * Used MRs are returned when another RPC ends. Without a waiter there is no
 * notification.
 */
TEST(MrPool, NotifiesWhenMrsReturn)
{
	rpcrdma_mr_pool pool = pool_of(2, 2);

	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), TAKEN);
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 1, true), 0u);
	rpcrdma_mr_pool_get(&pool);
	rpcrdma_mr_pool_get(&pool);
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), 0u);
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 0, true), 0u);
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 1, true), NOTIFY);
	/* Only one notification */
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 1, true), 0u);
}

/*
 * A request returns the MRs that it got if they were too few. That does not end
 * the shortage.
 */
TEST(MrPool, RetriesAfterAPause)
{
	rpcrdma_mr_pool pool = pool_of(2, 2);

	rpcrdma_mr_pool_get(&pool);
	rpcrdma_mr_pool_get(&pool);
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), 0u);
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 1, false), PAUSE);
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 1, false), 0u);
	EXPECT_EQ(make(&pool), NOTIFY);
	/* The pauses continue. */
	rpcrdma_mr_pool_get(&pool);
	rpcrdma_mr_pool_get(&pool);
	rpcrdma_mr_pool_get(&pool);
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 2, false), PAUSE);
	/* The return of used MRs ends the wait before the pause is over. */
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 0, true), 0u);
	rpcrdma_mr_pool_get(&pool);
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 1, true), NOTIFY);
	EXPECT_EQ(make(&pool), 0u);
}

/* While an allocation is pending, no pause is needed. */
TEST(MrPool, WaitsForAPendingAllocation)
{
	rpcrdma_mr_pool pool = pool_of(20, 1);

	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), TAKEN | ALLOCATE);
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), 0u);
	EXPECT_EQ(rpcrdma_mr_pool_put(&pool, 1, false), 0u);
	EXPECT_EQ(make(&pool), NOTIFY);
}

/* Without memory, the waiters and the allocation retry after each pause. */
TEST(MrPool, AllocationFails)
{
	rpcrdma_mr_pool pool = pool_of(20);

	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), ALLOCATE);
	for (u32 i = 0; i < 3; i++) {
		EXPECT_EQ(make(&pool, 0), i ? PAUSE : LOG | PAUSE);
		/* Further requests do not start an allocation any sooner. */
		EXPECT_EQ(rpcrdma_mr_pool_get(&pool), 0u);
		EXPECT_EQ(make(&pool, 0), NOTIFY);
		EXPECT_EQ(rpcrdma_mr_pool_get(&pool), ALLOCATE);
	}
	EXPECT_EQ(make(&pool, 1), NOTIFY);
	EXPECT_EQ(pool.made, 1u);
	/*
	 * The allocation fails without a waiter. The next request starts it
	 * again.
	 */
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), TAKEN | ALLOCATE);
	EXPECT_EQ(make(&pool, 0), LOG);
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), ALLOCATE);
	EXPECT_EQ(pool.shortages, 8u);
}

/*
 * Let a request wait, and the allocation fail until the request is starved.
 * Return the actions requested.
 */
u32 starve(rpcrdma_mr_pool *pool)
{
	u32 all = 0, todo = 0;

	for (u32 i = 0; i < RPCRDMA_POOL_FAILURES; i++) {
		EXPECT_FALSE(rpcrdma_mr_pool_is_starved(pool));
		if (!(todo & PAUSE))
			EXPECT_EQ(rpcrdma_mr_pool_get(pool), ALLOCATE) << i;
		todo = make(pool, 0);
		if (i)
			all |= todo;
	}
	EXPECT_TRUE(rpcrdma_mr_pool_is_starved(pool));
	return all;
}

/*
 * The device has no MRs left. That ends the wait for them, and is logged twice.
 */
TEST(MrPool, StarvedAfterAWhile)
{
	rpcrdma_mr_pool pool = pool_of(20);
	rpcrdma_call call{};

	rpcrdma_call_limit_mrs(&call, &pool);
	EXPECT_EQ(call.few_mrs, 0);
	/* The last failure ends the wait, and the allocation is retried. */
	EXPECT_EQ(starve(&pool), PAUSE | NOTIFY | LATER | LOG);
	EXPECT_TRUE(rpcrdma_mr_pool_is_spent(&pool));
	rpcrdma_call_limit_mrs(&call, &pool);
	EXPECT_EQ(call.few_mrs, 1);
	EXPECT_EQ(call.max_mrs, 0);
	/* The retries continue without further log messages. */
	for (u32 i = 0; i < 3; i++)
		EXPECT_EQ(make(&pool, 0), LATER);
	/* A Call that is refused meanwhile is retried then. */
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), 0u);
	EXPECT_EQ(make(&pool, 0), NOTIFY | LATER);
	EXPECT_EQ(pool.failures, +RPCRDMA_POOL_FAILURES);
	EXPECT_EQ(pool.shortages, RPCRDMA_POOL_FAILURES + 4u);

	/* A single MR restarts the count of failures. */
	EXPECT_EQ(make(&pool, 1), 0u);
	EXPECT_FALSE(rpcrdma_mr_pool_is_starved(&pool));
	EXPECT_EQ(pool.shortages, RPCRDMA_POOL_FAILURES + 5u);
	rpcrdma_call_limit_mrs(&call, &pool);
	EXPECT_EQ(call.few_mrs, 0);
	EXPECT_EQ(rpcrdma_mr_pool_get(&pool), TAKEN | ALLOCATE);
	rpcrdma_mr_pool_put(&pool, 1, true);
	EXPECT_EQ(make(&pool, 0), LOG);
}

/*
 * The maximum number of MRs is allocated. Waiting for used ones is no failure.
 */
TEST(MrPool, NotStarvedAtTheMaximum)
{
	rpcrdma_mr_pool pool = pool_of(1, 1);

	rpcrdma_mr_pool_get(&pool);
	for (u32 i = 0; i < 2 * RPCRDMA_POOL_FAILURES; i++) {
		EXPECT_EQ(rpcrdma_mr_pool_get(&pool), 0u);
		rpcrdma_mr_pool_put(&pool, 1, false);
		EXPECT_EQ(make(&pool), NOTIFY);
		rpcrdma_mr_pool_get(&pool);
	}
	EXPECT_FALSE(rpcrdma_mr_pool_is_starved(&pool));
	EXPECT_EQ(pool.shortages, 0u);
}

/*
 * Callers arrive in any order, get the MRs they need or return those they got,
 * use them, and return them. The allocation is slow and sometimes has no
 * memory.
 */
class pool_walk : public testing::TestWithParam<u32>
{
protected:
	void run_actions(u32 todo, bool reason)
	{
		if (todo & (ALLOCATE | PAUSE)) {
			EXPECT_FALSE(allocator_) << "two allocators";
			allocator_ = todo & PAUSE ? 1 + random_.below(4) : 1;
		}
		if (!(todo & NOTIFY))
			return;
		/* Only the end of a pause may wake callers without a reason. */
		if (!reason)
			idle_notifies_++;
		EXPECT_LE(idle_notifies_, pauses_);
		notified_ = true;
	}
	void give(u32 count, bool used)
	{
		const u32 todo = rpcrdma_mr_pool_put(&pool_, count, used);

		pauses_ += !!(todo & PAUSE);
		run_actions(todo, used);
	}
	bool take(u32 count)
	{
		for (u32 i = 0; i < count; i++) {
			const u32 todo = rpcrdma_mr_pool_get(&pool_);

			run_actions(todo, false);
			if (todo & TAKEN)
				continue;
			give(i, false);
			return false;
		}
		busy_.push_back(count);
		return true;
	}
	void allocator_runs(bool memory)
	{
		const u32 want = rpcrdma_mr_pool_to_allocate(&pool_);
		const u32 made = memory ? want : random_.below(want + 1) / 2;
		u32 todo;

		allocator_ = 0;
		todo = rpcrdma_mr_pool_allocated(&pool_, made);
		pauses_ += !!(todo & PAUSE);
		run_actions(todo, made);
		EXPECT_LE(pool_.made, pool_.most);
	}
	/* In order: no request overtakes one that waits. */
	void try_waiting()
	{
		notified_ = false;
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
		} else if (allocator_ && !--allocator_) {
			allocator_runs(memory);
		} else if (notified_) {
			try_waiting();
		}
	}

	rpcrdma_mr_pool pool_ = pool_of(5 + GetParam());
	generator random_{ GetParam() };
	std::deque<u32> waiting_, busy_;
	u32 allocator_ = 0; /* steps until it runs; 0: it is not scheduled */
	u32 pauses_ = 0, idle_notifies_ = 0;
	bool notified_ = false;
};

TEST_P(pool_walk, AllAreServedInOrder)
{
	for (u32 i = 0; i < 5000; i++) {
		step(true, random_.chance(80));
		ASSERT_TRUE(waiting_.empty() || notified_ || allocator_ ||
			    !busy_.empty())
			<< "no caller is left";
	}
	for (u32 i = 0; i < 10000 && !waiting_.empty(); i++)
		step(false, true);
	EXPECT_TRUE(waiting_.empty());
	while (!busy_.empty())
		step(false, true);
	EXPECT_EQ(pool_.free, pool_.made);
}

INSTANTIATE_TEST_SUITE_P(MrPool, pool_walk, testing::Range(1u, 17u));

} // namespace
