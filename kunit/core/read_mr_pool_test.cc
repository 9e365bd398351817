// SPDX-License-Identifier: GPL-2.0
/* The order in which transfers wait for the MRs that some devices read into */
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr int AGAIN = -11, NO_MEMORY = -12;

rpcrdma_read_claim reader()
{
	rpcrdma_read_claim claim{};

	claim.reads = true;
	return claim;
}

TEST(ReadMrPool, NoTransferWaits)
{
	rpcrdma_read_pool pool{ 4, 2, 0 };
	rpcrdma_read_claim claim = reader();

	rpcrdma_read_begin(&pool, &claim);
	EXPECT_TRUE(rpcrdma_read_add(&pool, &claim, 1));
	EXPECT_TRUE(rpcrdma_read_fits(&pool, &claim));
	EXPECT_EQ(rpcrdma_read_whole(&claim, false), RPCRDMA_READ_POST);
	/* The failure is reported when the transfer is posted. */
	EXPECT_EQ(rpcrdma_read_whole(&claim, true), RPCRDMA_READ_POST);
	rpcrdma_read_over(&pool, &claim);
	EXPECT_FALSE(rpcrdma_read_wanted(&pool));
}

/* MRs of two pages, a separate one for each segment */
TEST(ReadMrPool, MrsAreCounted)
{
	rpcrdma_read_pool pool{ 4, 2, 0 };
	rpcrdma_read_claim claim = reader();
	const u32 pages[] = { 1, 2, 3, 4, 5 }, mrs[] = { 1, 2, 4, 6, 9 };

	for (int i = 0; i < 5; i++) {
		rpcrdma_read_add(&pool, &claim, pages[i]);
		EXPECT_EQ(claim.mrs, mrs[i]);
	}
}

TEST(ReadMrPool, TransfersWaitForMrs)
{
	rpcrdma_read_pool pool{ 4, 1, 0 };
	rpcrdma_read_claim claim = reader();

	EXPECT_TRUE(rpcrdma_read_add(&pool, &claim, 1));
	EXPECT_TRUE(rpcrdma_read_short(&pool, &claim, AGAIN));
	EXPECT_TRUE(rpcrdma_read_wanted(&pool));
	/* No part of the transfer is set up before MRs for all of it are
	 * available. */
	EXPECT_FALSE(rpcrdma_read_add(&pool, &claim, 1));
	EXPECT_EQ(claim.mrs, 2u);
	EXPECT_EQ(rpcrdma_read_whole(&claim, false), RPCRDMA_READ_QUEUE_TAIL);
	EXPECT_EQ(rpcrdma_read_whole(&claim, true), RPCRDMA_READ_FAIL);

	EXPECT_EQ(rpcrdma_read_tried(&pool, &claim, AGAIN, false),
		  RPCRDMA_READ_QUEUE_HEAD);
	EXPECT_TRUE(rpcrdma_read_wanted(&pool));
	EXPECT_EQ(rpcrdma_read_tried(&pool, &claim, 0, false),
		  RPCRDMA_READ_POST);
	EXPECT_FALSE(rpcrdma_read_wanted(&pool));
	EXPECT_FALSE(claim.waits);
	rpcrdma_read_over(&pool, &claim);
	EXPECT_EQ(pool.waiting, 0u);
}

TEST(ReadMrPool, LaterTransfersQueue)
{
	rpcrdma_read_pool pool{ 4, 1, 0 };
	rpcrdma_read_claim first = reader(), second = reader(), write{};

	EXPECT_TRUE(rpcrdma_read_short(&pool, &first, AGAIN));
	rpcrdma_read_begin(&pool, &second);
	EXPECT_FALSE(rpcrdma_read_add(&pool, &second, 1));
	EXPECT_EQ(rpcrdma_read_whole(&second, false), RPCRDMA_READ_QUEUE_TAIL);
	/* A transfer that needs no MR does not wait. */
	rpcrdma_read_begin(&pool, &write);
	EXPECT_TRUE(rpcrdma_read_add(&pool, &write, 1));
	EXPECT_EQ(rpcrdma_read_whole(&write, false), RPCRDMA_READ_POST);
	EXPECT_EQ(pool.waiting, 2u);

	rpcrdma_read_over(&pool, &first);
	EXPECT_TRUE(rpcrdma_read_wanted(&pool));
	rpcrdma_read_over(&pool, &second);
	rpcrdma_read_over(&pool, &write);
	EXPECT_FALSE(rpcrdma_read_wanted(&pool));
}

/* Permanent errors, and errors that a Write cannot wait for */
TEST(ReadMrPool, ErrorsThatNoWaitCures)
{
	rpcrdma_read_pool pool{ 4, 1, 0 };
	rpcrdma_read_claim claim = reader(), write{};

	EXPECT_FALSE(rpcrdma_read_short(&pool, &claim, NO_MEMORY));
	EXPECT_FALSE(rpcrdma_read_short(&pool, &write, AGAIN));
	EXPECT_FALSE(rpcrdma_read_wanted(&pool));

	EXPECT_TRUE(rpcrdma_read_short(&pool, &claim, AGAIN));
	EXPECT_EQ(rpcrdma_read_tried(&pool, &claim, NO_MEMORY, false),
		  RPCRDMA_READ_FAIL);
	EXPECT_EQ(rpcrdma_read_tried(&pool, &claim, AGAIN, true),
		  RPCRDMA_READ_FAIL);
	/* The transfer counts as waiting until it has ended. */
	EXPECT_EQ(pool.waiting, 1u);
	rpcrdma_read_over(&pool, &claim);
	rpcrdma_read_over(&pool, &claim);
	EXPECT_EQ(pool.waiting, 0u);
}

TEST(ReadMrPool, TransfersThatNeverFit)
{
	rpcrdma_read_pool pool{ 4, 1, 0 };
	rpcrdma_read_claim claim = reader();

	/* The parts set up at once need no more MRs. */
	rpcrdma_read_add(&pool, &claim, 5);
	EXPECT_TRUE(rpcrdma_read_fits(&pool, &claim));

	/* A transfer waits only if it needs no more MRs than exist. */
	claim = reader();
	EXPECT_TRUE(rpcrdma_read_short(&pool, &claim, AGAIN));
	rpcrdma_read_add(&pool, &claim, 4);
	EXPECT_TRUE(rpcrdma_read_fits(&pool, &claim));
	rpcrdma_read_add(&pool, &claim, 1);
	EXPECT_FALSE(rpcrdma_read_fits(&pool, &claim));
}

/* ---- All transfers are served, in order, whatever happens ---- */

struct transfer {
	rpcrdma_read_claim claim{};
	std::vector<u32> segments;
	u32 number, holds = 0;
};

class pool_test : public testing::TestWithParam<u32>
{
protected:
	using transfers = std::deque<std::unique_ptr<transfer>>;

	bool take(transfer *t, u32 mrs)
	{
		if (mrs > free_)
			return false;
		free_ -= mrs;
		t->holds += mrs;
		return true;
	}

	void undo(transfer *t)
	{
		free_ += t->holds;
		t->holds = 0;
	}

	u32 below(u32 n)
	{
		return static_cast<u32>(random_() % n);
	}

	std::unique_ptr<transfer> put_together()
	{
		auto t = std::make_unique<transfer>();
		u32 left = 1 + below(pool_.mrs);

		t->number = next_++;
		t->claim.reads = true;
		rpcrdma_read_begin(&pool_, &t->claim);
		while (left) {
			const u32 n = 1 + below(left);

			left -= n;
			t->segments.push_back(n);
			if (rpcrdma_read_add(&pool_, &t->claim, n) &&
			    !take(t.get(), n)) {
				EXPECT_TRUE(rpcrdma_read_short(
					&pool_, &t->claim, AGAIN));
				undo(t.get());
			}
			EXPECT_TRUE(rpcrdma_read_fits(&pool_, &t->claim));
		}
		return t;
	}

	void begin()
	{
		auto t = put_together();

		if (rpcrdma_read_whole(&t->claim, false) ==
		    RPCRDMA_READ_QUEUE_TAIL) {
			EXPECT_EQ(t->holds, 0u);
			waiting_.push_back(std::move(t));
		} else {
			EXPECT_TRUE(waiting_.empty());
			under_way_.push_back(std::move(t));
		}
	}

	int make_ready(transfer *t)
	{
		for (u32 n : t->segments) {
			if (!take(t, n))
				return AGAIN;
		}
		return 0;
	}

	void retry()
	{
		while (!waiting_.empty()) {
			auto t = std::move(waiting_.front());
			const int rc = make_ready(t.get());

			waiting_.pop_front();
			if (rc)
				undo(t.get());
			if (rpcrdma_read_tried(&pool_, &t->claim, rc, false) ==
			    RPCRDMA_READ_QUEUE_HEAD) {
				waiting_.push_front(std::move(t));
				break;
			}
			EXPECT_EQ(rc, 0);
			EXPECT_GE(t->number, last_);
			last_ = t->number;
			under_way_.push_back(std::move(t));
		}
	}

	void end_one()
	{
		const u32 i = below(static_cast<u32>(under_way_.size()));
		auto t = std::move(under_way_[i]);

		under_way_.erase(under_way_.begin() + i);
		undo(t.get());
		rpcrdma_read_over(&pool_, &t->claim);
		if (rpcrdma_read_wanted(&pool_))
			retry();
	}

	rpcrdma_read_pool pool_{ 6, 1, 0 };
	u32 free_ = 6, next_ = 0, last_ = 0;
	transfers waiting_, under_way_;
	std::mt19937 random_{ GetParam() };
};

TEST_P(pool_test, AllAreServedInOrder)
{
	for (int i = 0; i < 2000; i++) {
		if (below(2))
			begin();
		else if (!under_way_.empty())
			end_one();
		ASSERT_EQ(pool_.waiting, waiting_.size());
		/* While a transfer waits, another one is in progress. */
		ASSERT_TRUE(waiting_.empty() || !under_way_.empty());
	}
	while (!under_way_.empty())
		end_one();
	EXPECT_TRUE(waiting_.empty());
	EXPECT_EQ(free_, pool_.mrs);
	EXPECT_EQ(pool_.waiting, 0u);
}

INSTANTIATE_TEST_SUITE_P(ReadMrPool, pool_test, testing::Range(1u, 9u));

} // namespace
