// SPDX-License-Identifier: GPL-2.0
/* The order in which connections get memory, and changes of an account */
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/quota_change.h>
#include <rpcrdma/quota_run.h>

#include "../../net/sunrpc/xprtrdma/core/quota_own.h"
#include "support.hh"

using engine_test::may_begin;

namespace
{
constexpr u64 KIB = 1024, MIB = 1024 * KIB;

rpcrdma_quota_account account()
{
	rpcrdma_quota_account a = {};

	rpcrdma_quota_reserve(&a, 64 * KIB, 64 * KIB, MIB, 0, 8 * KIB);
	return a;
}

/* Attach @accounts to a quota with @shared bytes in addition to what they reserve. */
rpcrdma_quota memory(std::vector<rpcrdma_quota_account> &accounts, u64 shared)
{
	rpcrdma_quota all = {};

	rpcrdma_quota_set_limit(&all, shared + accounts.size() * 128 * KIB,
				MIB);
	for (auto &one : accounts)
		EXPECT_EQ(rpcrdma_quota_attach(&all, &one), 0);
	return all;
}

/*
 * In order of arrival. Accounts that were woken and refused keep their places, among
 * themselves, too; those that proceeded are the last.
 */
TEST(Quota, ReplyWaitersAreServedInOrder)
{
	std::vector<rpcrdma_quota_account> a(7, account());
	rpcrdma_quota all = memory(a, 2 * MIB);
	const auto next = [&] {
		const rpcrdma_quota_account *one = rpcrdma_quota_next(&all);

		return one ? one - a.data() : -1;
	};
	const auto hold = [&](u64 bytes) {
		rpcrdma_quota_charge(&all, &a[0], RPCRDMA_QUOTA_REPLIES, bytes);
	};
	const auto release = [&](u64 bytes) {
		rpcrdma_quota_uncharge(&all, &a[0], RPCRDMA_QUOTA_REPLIES,
				       bytes);
	};

	hold(4 * MIB);
	EXPECT_FALSE(rpcrdma_quota_ask(&all, &a[6], RPCRDMA_QUOTA_CALLS, MIB));
	for (u32 i = 1; i < 5; i++)
		EXPECT_FALSE(may_begin(&all, &a[i], MIB));
	release(4 * MIB);
	EXPECT_EQ(next(), 1);
	EXPECT_EQ(next(), 2);
	EXPECT_EQ(next(), 3);
	/* Another one was faster. */
	hold(4 * MIB);
	EXPECT_FALSE(may_begin(&all, &a[5], MIB));
	EXPECT_FALSE(may_begin(&all, &a[1], MIB));
	EXPECT_FALSE(may_begin(&all, &a[2], MIB));
	/* The third proceeds, and comes back. */
	rpcrdma_quota_charge(&all, &a[3], RPCRDMA_QUOTA_REPLIES, 1);
	EXPECT_FALSE(may_begin(&all, &a[3], MIB / 2));
	release(4 * MIB);
	for (int i : { 1, 2, 4, 5, 3, 6, -1 })
		EXPECT_EQ(next(), i);
	EXPECT_EQ(all.waiting, 0u);
	for (auto *end : { all.first, all.last, all.last_reply })
		EXPECT_EQ(end, nullptr);
	for (auto *end : all.last_retried)
		EXPECT_EQ(end, nullptr);
}

/* A Reply of a woken account does not end its retry for a Call. */
TEST(Quota, AReplyDoesNotEndTheRetryOfACall)
{
	std::vector<rpcrdma_quota_account> a(4, account());
	rpcrdma_quota all = memory(a, 2 * MIB);
	const auto ask = [&](u32 i) {
		return rpcrdma_quota_ask(&all, &a[i], RPCRDMA_QUOTA_CALLS, MIB);
	};

	rpcrdma_quota_charge(&all, &a[0], RPCRDMA_QUOTA_REPLIES, 3 * MIB);
	EXPECT_FALSE(ask(1));
	EXPECT_FALSE(ask(2));
	rpcrdma_quota_uncharge(&all, &a[0], RPCRDMA_QUOTA_REPLIES, 3 * MIB);
	EXPECT_EQ(rpcrdma_quota_next(&all), &a[1]);
	rpcrdma_quota_charge(&all, &a[1], RPCRDMA_QUOTA_REPLIES, 1);
	EXPECT_TRUE(ask(1));
}

/* A connection with a Reply at a time, which its peer takes some milliseconds to accept */
struct connection {
	u32 until = 0; /* the Reply is held until then */
	u32 since = 0; /* time of the last Reply */
	bool waits = false;
	u32 done = 0;
};

/*
 * Several times as many connections as a run wakes wait for memory for a Reply, and
 * retry in the order in which they were woken. All are served equally.
 */
TEST(Quota, NoReplyIsStarved)
{
	constexpr u32 COUNT = 150, HELD_MS = 40, DURATION_MS = 30000;
	std::vector<rpcrdma_quota_account> a(COUNT, account());
	rpcrdma_quota all = memory(a, 40 * MIB);
	std::vector<connection> c(COUNT);
	std::vector<u32> turns, woken, done;
	u32 next_run = 0, waiting = 0;

	const auto change = [&](u32 i, rpcrdma_quota_action what) {
		rpcrdma_quota_change change = {};

		change.what = what;
		change.use = RPCRDMA_QUOTA_REPLIES;
		change.count = 1;
		change.octets = MIB;
		if (!rpcrdma_quota_change_own(&all, &a[i], &change))
			rpcrdma_quota_change_all(&all, &a[i], &change);
		return change;
	};

	for (u32 now = 1; now <= DURATION_MS; now++) {
		turns.swap(woken);
		woken.clear();
		for (u32 n = 0; n < COUNT; n++) {
			const u32 i = (n + 7 * now) % COUNT;

			if (c[i].until == now) {
				c[i].until = 0;
				c[i].since = now;
				if (change(i, RPCRDMA_QUOTA_UNCHARGE).visit ==
				    RPCRDMA_QUOTA_VISIT_NOW)
					next_run = now;
			}
			/* The client's next Call */
			if (!c[i].until && !c[i].waits &&
			    now - c[i].since > (i + now) % HELD_MS)
				turns.push_back(i);
		}
		if (next_run && now >= next_run) {
			rpcrdma_quota_run run =
				rpcrdma_quota_run_begin(&all, now);

			while (auto *one = rpcrdma_quota_run_next(&all, &run))
				woken.push_back(
					static_cast<u32>(one - a.data()));
			next_run = rpcrdma_quota_run_end(&all, &run);
			next_run += next_run ? now : 0;
		}
		for (u32 i : turns) {
			if (rpcrdma_quota_must_ask(&all, &a[i])) {
				const auto asked = change(i, RPCRDMA_QUOTA_ASK);

				if (!next_run &&
				    asked.visit == RPCRDMA_QUOTA_VISIT_LATER)
					next_run = now + RPCRDMA_QUOTA_TICK_MS;
				c[i].waits = !asked.ok;
				if (!asked.ok)
					continue;
			}
			c[i].waits = false;
			c[i].done++;
			c[i].until = now + HELD_MS / 2 + (i + now) % HELD_MS;
			change(i, RPCRDMA_QUOTA_CHARGE);
		}
		waiting = std::max(waiting, all.waiting);
	}
	EXPECT_GT(waiting, u32{ RPCRDMA_QUOTA_WAKES });
	for (const connection &one : c)
		done.push_back(one.done);
	std::sort(done.begin(), done.end());
	EXPECT_GE(done.front(), done[COUNT / 2] / 4) << done.back();
}

/* The memory is charged if it is taken, and not if it is refused. */
TEST(Quota, TakingIsAskingAndCharging)
{
	std::vector<rpcrdma_quota_account> first(1, account()), second = first;
	rpcrdma_quota all[2] = { memory(first, MIB), memory(second, MIB) };
	rpcrdma_quota_account *const a[2] = { &first[0], &second[0] };
	u32 taken = 0;

	const auto change = [&](u32 i, rpcrdma_quota_action what) {
		rpcrdma_quota_change change = {};

		change.what = what;
		change.use = RPCRDMA_QUOTA_CALLS;
		change.count = 1;
		change.octets = 4 * KIB;
		if (!rpcrdma_quota_change_own(&all[i], a[i], &change))
			rpcrdma_quota_change_all(&all[i], a[i], &change);
		return change;
	};

	for (;; taken++) {
		const auto take = change(0, RPCRDMA_QUOTA_TAKE);
		const auto ask = change(1, RPCRDMA_QUOTA_ASK);

		EXPECT_EQ(take.ok, ask.ok);
		EXPECT_EQ(take.visit,
			  ask.ok ? change(1, RPCRDMA_QUOTA_CHARGE).visit :
				   ask.visit);
		EXPECT_EQ(a[0]->held[RPCRDMA_QUOTA_CALLS],
			  a[1]->held[RPCRDMA_QUOTA_CALLS]);
		EXPECT_EQ(all[0].used, all[1].used);
		if (!take.ok)
			break;
	}
	EXPECT_GT(taken, 0u);
}

/* While there is plenty of memory, the other accounts need not be asked. */
TEST(Quota, PlentyNeedsNoOtherAccount)
{
	std::vector<rpcrdma_quota_account> a(3, account());
	rpcrdma_quota all = memory(a, 64 * MIB);
	const auto now = [&](rpcrdma_quota_use use, u64 bytes) {
		rpcrdma_quota_change change = {};

		change.what = RPCRDMA_QUOTA_ASK;
		change.use = use;
		change.octets = bytes;
		return rpcrdma_quota_change_own(&all, &a[0], &change) &&
		       change.ok;
	};
	const u64 most = (all.limit - all.reserve - all.limit / 4) / 2;

	EXPECT_TRUE(now(RPCRDMA_QUOTA_CALLS, 16 * MIB));
	EXPECT_TRUE(now(RPCRDMA_QUOTA_REPLIES, most - 2 * KIB));
	EXPECT_FALSE(now(RPCRDMA_QUOTA_REPLIES, most));
	/* Windows may use less. */
	EXPECT_TRUE(now(RPCRDMA_QUOTA_BUFFERS, 64 * KIB));
	EXPECT_FALSE(now(RPCRDMA_QUOTA_BUFFERS, MIB));
	/* Memory that the account holds counts. */
	rpcrdma_quota_charge(&all, &a[0], RPCRDMA_QUOTA_CALLS, 4 * MIB);
	EXPECT_FALSE(now(RPCRDMA_QUOTA_REPLIES, most - 4 * MIB));
	EXPECT_TRUE(now(RPCRDMA_QUOTA_REPLIES, most - 4 * MIB - 2 * KIB));
	rpcrdma_quota_uncharge(&all, &a[0], RPCRDMA_QUOTA_CALLS, 4 * MIB);
	rpcrdma_quota_trim(&all, &a[0]);
	/* A woken account retries by its turn. */
	a[0].retrying = 1;
	EXPECT_FALSE(now(RPCRDMA_QUOTA_REPLIES, MIB));
	a[0].retrying = 0;
	/* Memory is tight. */
	rpcrdma_quota_charge(&all, &a[1], RPCRDMA_QUOTA_REPLIES, 17 * MIB);
	EXPECT_TRUE(rpcrdma_quota_is_tight(&all));
	EXPECT_FALSE(now(RPCRDMA_QUOTA_REPLIES, MIB));
	rpcrdma_quota_uncharge(&all, &a[1], RPCRDMA_QUOTA_REPLIES, 17 * MIB);
	EXPECT_TRUE(now(RPCRDMA_QUOTA_REPLIES, MIB));
	/* An account waits. */
	EXPECT_FALSE(now(RPCRDMA_QUOTA_REPLIES, all.limit));
	a[2].share[RPCRDMA_QUOTA_REPLIES] = all.limit;
	EXPECT_FALSE(rpcrdma_quota_ask(&all, &a[2], RPCRDMA_QUOTA_REPLIES,
				       all.limit));
	EXPECT_EQ(all.waiting, 1u);
	EXPECT_FALSE(now(RPCRDMA_QUOTA_REPLIES, MIB));
	EXPECT_EQ(rpcrdma_quota_next(&all), &a[2]);
	EXPECT_TRUE(now(RPCRDMA_QUOTA_REPLIES, MIB));
	/* The limit is lowered. */
	rpcrdma_quota_set_limit(&all, 4 * MIB, MIB);
	EXPECT_FALSE(now(RPCRDMA_QUOTA_REPLIES, 2 * MIB));
	rpcrdma_quota_set_limit(&all, ~u64{ 0 }, MIB);
	EXPECT_TRUE(now(RPCRDMA_QUOTA_REPLIES, u64{ 1 } << 40));
}

/* The rule permits all memory that is permitted without asking the other accounts. */
TEST(Quota, PlentyIsWithinTheRule)
{
	std::mt19937_64 random(5);
	u32 plenty = 0, asked = 0;

	for (u32 round = 0; round < 200; round++) {
		std::vector<rpcrdma_quota_account> a(1 + random() % 6,
						     account());
		rpcrdma_quota all =
			memory(a, (1 + random() % 64) * MIB + random() % MIB);

		for (u32 step = 0; step < 200; step++) {
			rpcrdma_quota_account &one = a[random() % a.size()];
			const auto use = static_cast<rpcrdma_quota_use>(
				random() % RPCRDMA_QUOTA_USES);
			const u64 bytes = random() % (all.limit / 2);

			if (random() % 2) {
				const u64 held = one.held[use];

				rpcrdma_quota_uncharge(&all, &one, use,
						       held / 2);
				continue;
			}
			asked++;
			if (!rpcrdma_quota_allows_now(&all, &one, use, bytes)) {
				if (random() % 4 == 0)
					rpcrdma_quota_charge(&all, &one, use,
							     bytes / 16);
				continue;
			}
			ASSERT_TRUE(
				rpcrdma_quota_allows(&all, &one, use, bytes));
			plenty += !rpcrdma_quota_allows_own(&one, use, bytes);
			rpcrdma_quota_charge(&all, &one, use, bytes);
		}
	}
	EXPECT_GT(plenty, asked / 100);
}

} // namespace
