// SPDX-License-Identifier: GPL-2.0
/* The memory that peers can make this end hold */
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "../../net/sunrpc/xprtrdma/core/quota_own.h"
#include "support.hh"

using engine_test::may_begin;

namespace
{
constexpr u64 FIXED = 60, BUFFERS = 40, PARTS = 50, CALLS = 20, REPLIES = 30;
/* Memory charged to an idle connection */
constexpr u64 PROMISE = FIXED + BUFFERS;
/* The reserve beyond that, for one message of each kind */
constexpr u64 MESSAGES = PARTS + CALLS + REPLIES;

rpcrdma_quota_account account()
{
	rpcrdma_quota_account a = {};

	a.fixed = FIXED;
	a.share[RPCRDMA_QUOTA_BUFFERS] = BUFFERS;
	a.share[RPCRDMA_QUOTA_PARTS] = PARTS;
	a.share[RPCRDMA_QUOTA_CALLS] = CALLS;
	a.share[RPCRDMA_QUOTA_REPLIES] = REPLIES;
	return a;
}

/*
 * Return a quota of @shared bytes beyond @connections promises, with a @reserve
 * for one connection.
 */
rpcrdma_quota memory(u64 connections, u64 shared = 0, u64 reserve = 0)
{
	rpcrdma_quota all = {};

	all.limit = connections * PROMISE + shared + reserve;
	all.reserve = reserve;
	return all;
}

/* Charge as much as there is, byte by byte. */
u64 take_all(rpcrdma_quota &all, rpcrdma_quota_account &a,
	     rpcrdma_quota_use use)
{
	u64 n = 0;

	while (rpcrdma_quota_allows(&all, &a, use, 1)) {
		rpcrdma_quota_charge(&all, &a, use, 1);
		n++;
	}
	return n;
}

TEST(Quota, ConnectionsAreBounded)
{
	rpcrdma_quota all = memory(3, PROMISE / 2);
	std::vector<rpcrdma_quota_account> a(4, account());

	for (u32 i = 0; i < 3; i++)
		EXPECT_EQ(rpcrdma_quota_attach(&all, &a[i]), 0);
	EXPECT_EQ(rpcrdma_quota_attach(&all, &a[3]), -1);
	EXPECT_EQ(all.used, 3 * PROMISE);
	rpcrdma_quota_detach(&all, &a[1]);
	EXPECT_EQ(rpcrdma_quota_attach(&all, &a[3]), 0);
	/* After the limit was lowered, no connection is admitted. */
	rpcrdma_quota_detach(&all, &a[0]);
	all.limit = PROMISE;
	EXPECT_EQ(rpcrdma_quota_attach(&all, &a[0]), -1);
}

/*
 * The buffers of the first window are available, whatever other connections
 * hold.
 */
TEST(Quota, FirstWindowsAreReserved)
{
	rpcrdma_quota all = memory(6, 20 * MESSAGES);
	rpcrdma_quota_account good = account();
	std::vector<rpcrdma_quota_account> greedy(5, account());

	ASSERT_EQ(rpcrdma_quota_attach(&all, &good), 0);
	for (auto &g : greedy)
		ASSERT_EQ(rpcrdma_quota_attach(&all, &g), 0);
	for (auto &g : greedy) {
		take_all(all, g, RPCRDMA_QUOTA_REPLIES);
		take_all(all, g, RPCRDMA_QUOTA_CALLS);
	}
	EXPECT_GE(take_all(all, good, RPCRDMA_QUOTA_BUFFERS), BUFFERS);
	EXPECT_LE(all.used, all.limit);
}

/*
 * Other connections hold all shared memory, of any kind. One message of each
 * kind is available from the reserve.
 */
TEST(Quota, TheReserveIsForOneMessageOfEachKind)
{
	rpcrdma_quota all = memory(2, 100, MESSAGES);
	rpcrdma_quota_account good = account(), other = account();

	ASSERT_EQ(rpcrdma_quota_attach(&all, &good), 0);
	ASSERT_EQ(rpcrdma_quota_attach(&all, &other), 0);
	/* In any order of charges */
	rpcrdma_quota_charge(&all, &other, RPCRDMA_QUOTA_REPLIES, 100);
	EXPECT_EQ(take_all(all, good, RPCRDMA_QUOTA_PARTS), PARTS);
	EXPECT_EQ(take_all(all, good, RPCRDMA_QUOTA_CALLS), CALLS);
	EXPECT_EQ(take_all(all, good, RPCRDMA_QUOTA_REPLIES), REPLIES);
	EXPECT_EQ(all.used, all.limit);
	/* The reserve is not available for windows, nor for new connections. */
	rpcrdma_quota_detach(&all, &good);
	EXPECT_EQ(all.limit - all.used, MESSAGES + PROMISE);
	EXPECT_EQ(take_all(all, other, RPCRDMA_QUOTA_BUFFERS), BUFFERS);
	ASSERT_EQ(rpcrdma_quota_attach(&all, &good), 0);
	rpcrdma_quota_account third = account();
	EXPECT_EQ(rpcrdma_quota_attach(&all, &third), -1);
}

/*
 * A continued Call with Read chunks holds both at once. With a smaller promise,
 * it would wait for memory that it holds itself.
 */
TEST(Quota, AContinuedCallHasSpaceForItsReadChunks)
{
	constexpr u64 MESSAGE = 40, SPARE = 5;
	rpcrdma_quota_account a = {}, other = {};
	rpcrdma_quota all = {};

	rpcrdma_quota_reserve(&a, FIXED, BUFFERS, MESSAGE, PARTS, SPARE);
	other = a;
	EXPECT_EQ(a.fixed, FIXED);
	EXPECT_EQ(a.share[RPCRDMA_QUOTA_BUFFERS], BUFFERS);
	EXPECT_EQ(a.share[RPCRDMA_QUOTA_PARTS], PARTS);
	EXPECT_GE(a.share[RPCRDMA_QUOTA_REPLIES], MESSAGE + SPARE);
	all.reserve = PARTS + MESSAGE + SPARE;
	all.limit = 2 * PROMISE + all.reserve;
	ASSERT_EQ(rpcrdma_quota_attach(&all, &a), 0);
	ASSERT_EQ(rpcrdma_quota_attach(&all, &other), 0);
	/* Only the reserve is left. */
	EXPECT_EQ(all.used, all.limit - all.reserve);

	ASSERT_TRUE(rpcrdma_quota_allows(&all, &a, RPCRDMA_QUOTA_PARTS, PARTS));
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_PARTS, PARTS);
	/* The Call is complete. */
	ASSERT_TRUE(rpcrdma_quota_assembled(&all, &a, PARTS));
	EXPECT_EQ(a.held[RPCRDMA_QUOTA_PARTS], 0u);
	EXPECT_EQ(a.held[RPCRDMA_QUOTA_CALLS], PARTS);
	/* With the Read chunks it is the largest Call, in whole pages. */
	EXPECT_TRUE(rpcrdma_quota_allows(&all, &a, RPCRDMA_QUOTA_CALLS,
					 MESSAGE + SPARE));
	/* The Call does not wait, and its Reply is charged in any case. */
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_CALLS, MESSAGE + SPARE);
	EXPECT_TRUE(may_begin(&all, &a, MESSAGE));
	EXPECT_EQ(all.used, all.limit);
}

/* Continued Calls that wait for service are bounded, as others are. */
TEST(Quota, ContinuedCallsAreBounded)
{
	rpcrdma_quota all = memory(1, 2 * PARTS, CALLS);
	rpcrdma_quota_account a = account();
	u32 n = 0;

	ASSERT_EQ(rpcrdma_quota_attach(&all, &a), 0);
	for (;; n++) {
		if (!rpcrdma_quota_allows(&all, &a, RPCRDMA_QUOTA_PARTS, 10))
			break;
		rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_PARTS, 10);
		if (!rpcrdma_quota_assembled(&all, &a, 10))
			break;
		ASSERT_LT(n, 100u);
	}
	EXPECT_GE(n, 5u);
	EXPECT_LE(all.used, all.limit);
}

/*
 * Calls in progress are this end's work, and do not stop another one. Replies
 * that wait for the peer do.
 */
TEST(Quota, ACallIsBegunWhileNoReplyWaits)
{
	rpcrdma_quota all = memory(1, 0, MESSAGES);
	rpcrdma_quota_account a = account();

	ASSERT_EQ(rpcrdma_quota_attach(&all, &a), 0);
	EXPECT_TRUE(may_begin(&all, &a, 1000 * PROMISE));
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_CALLS, MESSAGES);
	EXPECT_TRUE(may_begin(&all, &a, 1000 * PROMISE));
	rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_CALLS, MESSAGES);
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_REPLIES, 1);
	EXPECT_TRUE(may_begin(&all, &a, REPLIES - 1));
	EXPECT_FALSE(may_begin(&all, &a, REPLIES));
}

/* Replies held beyond the limit stop further ones from being made. */
TEST(Quota, NoCallIsBegunBeyondTheLimit)
{
	rpcrdma_quota all = memory(2, 0, MESSAGES);
	rpcrdma_quota_account a = account(), b = account();

	ASSERT_EQ(rpcrdma_quota_attach(&all, &a), 0);
	ASSERT_EQ(rpcrdma_quota_attach(&all, &b), 0);
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_REPLIES, MESSAGES);
	EXPECT_TRUE(may_begin(&all, &b, REPLIES));
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_REPLIES, 1);
	EXPECT_FALSE(may_begin(&all, &b, REPLIES));
	/* There is no other memory for the Call either. */
	EXPECT_FALSE(rpcrdma_quota_ask(&all, &b, RPCRDMA_QUOTA_CALLS, 1));
	EXPECT_EQ(rpcrdma_quota_next(&all), nullptr);
	rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_REPLIES, 1);
	EXPECT_EQ(rpcrdma_quota_next(&all), &b);
	EXPECT_TRUE(may_begin(&all, &b, REPLIES));
}

/* A connection that was refused memory is notified once when some is free. */
TEST(Quota, WaitersAreNotified)
{
	rpcrdma_quota all = memory(1, 0, CALLS + REPLIES);
	rpcrdma_quota_account a = account();

	ASSERT_EQ(rpcrdma_quota_attach(&all, &a), 0);
	EXPECT_TRUE(rpcrdma_quota_ask(&all, &a, RPCRDMA_QUOTA_CALLS, CALLS));
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_CALLS, CALLS);
	/* A check does not enqueue a waiter. */
	EXPECT_FALSE(rpcrdma_quota_allows(&all, &a, RPCRDMA_QUOTA_CALLS, 1));
	EXPECT_FALSE(rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_CALLS, 1));
	EXPECT_FALSE(rpcrdma_quota_ask(&all, &a, RPCRDMA_QUOTA_CALLS, 2));
	/* The account holds the memory itself, so that it is not enqueued. */
	EXPECT_EQ(all.waiting, 0u);
	EXPECT_TRUE(rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_CALLS, 2));
	EXPECT_FALSE(rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_CALLS, 2));

	EXPECT_FALSE(rpcrdma_quota_must_ask(&all, &a));
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_REPLIES, REPLIES);
	EXPECT_TRUE(rpcrdma_quota_must_ask(&all, &a));
	EXPECT_FALSE(may_begin(&all, &a, 1));
	EXPECT_TRUE(rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_REPLIES, 5));
	EXPECT_TRUE(may_begin(&all, &a, 5));
	EXPECT_FALSE(
		rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_REPLIES, 5));
	EXPECT_TRUE(rpcrdma_quota_must_ask(&all, &a));
	rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_REPLIES, REPLIES - 10);
	EXPECT_FALSE(rpcrdma_quota_must_ask(&all, &a));
}

/* In order of arrival. A connection that is passed over keeps its place. */
TEST(Quota, WaitersAreServedInOrder)
{
	rpcrdma_quota all = memory(5, 0, CALLS);
	std::vector<rpcrdma_quota_account> a(5, account());

	const auto ask = [&](u32 i) {
		return rpcrdma_quota_ask(&all, &a[i], RPCRDMA_QUOTA_CALLS,
					 CALLS);
	};

	for (auto &one : a)
		ASSERT_EQ(rpcrdma_quota_attach(&all, &one), 0);
	EXPECT_EQ(rpcrdma_quota_next(&all), nullptr);
	ASSERT_TRUE(ask(0));
	rpcrdma_quota_charge(&all, &a[0], RPCRDMA_QUOTA_CALLS, CALLS);
	for (u32 i = 1; i < 4; i++) {
		EXPECT_FALSE(ask(i));
		/* An account is enqueued only once. */
		EXPECT_FALSE(ask(i));
	}
	EXPECT_EQ(all.waiting, 3u);
	EXPECT_TRUE(rpcrdma_quota_is_tight(&all));
	rpcrdma_quota_uncharge(&all, &a[0], RPCRDMA_QUOTA_CALLS, CALLS);
	/* Connections that have not waited cannot take the memory. */
	EXPECT_FALSE(ask(4));
	EXPECT_FALSE(ask(0));
	EXPECT_EQ(rpcrdma_quota_next(&all), &a[1]);
	/* A continued message cannot wait, and may get it. */
	EXPECT_TRUE(rpcrdma_quota_allows(&all, &a[4], RPCRDMA_QUOTA_PARTS, 1));
	rpcrdma_quota_charge(&all, &a[4], RPCRDMA_QUOTA_PARTS, 1);
	EXPECT_FALSE(ask(1));
	rpcrdma_quota_uncharge(&all, &a[4], RPCRDMA_QUOTA_PARTS, 1);
	EXPECT_EQ(rpcrdma_quota_next(&all), &a[1]);
	EXPECT_TRUE(ask(1));
	/* A connection that ends does not wait any more. */
	rpcrdma_quota_detach(&all, &a[3]);
	EXPECT_EQ(rpcrdma_quota_next(&all), &a[2]);
	rpcrdma_quota_detach(&all, &a[0]);
	EXPECT_EQ(rpcrdma_quota_next(&all), &a[4]);
	EXPECT_EQ(rpcrdma_quota_next(&all), nullptr);
	EXPECT_EQ(all.waiting, 0u);
}

/*
 * A connection keeps what it once had, without asking for it, until memory is
 * tight.
 */
TEST(Quota, AUsedQuotaIsKept)
{
	/* Memory is tight above 240 bytes in use. */
	rpcrdma_quota all = memory(0, 960);
	rpcrdma_quota_account a = account(), b = account();
	const auto uncharge_own = [&](rpcrdma_quota_use use, u64 bytes) {
		return rpcrdma_quota_uncharge_own(&all, &a, use, bytes);
	};

	ASSERT_EQ(rpcrdma_quota_attach(&all, &a), 0);
	EXPECT_FALSE(rpcrdma_quota_charge_own(&a, RPCRDMA_QUOTA_CALLS, 100));
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_CALLS, 100);
	EXPECT_EQ(uncharge_own(RPCRDMA_QUOTA_CALLS, 100), 0);
	EXPECT_EQ(all.used, PROMISE + 100);
	EXPECT_TRUE(rpcrdma_quota_charge_own(&a, RPCRDMA_QUOTA_REPLIES, 60));
	EXPECT_TRUE(rpcrdma_quota_must_ask(&all, &a));
	EXPECT_TRUE(rpcrdma_quota_allows_own(&a, RPCRDMA_QUOTA_CALLS, 40));
	EXPECT_FALSE(rpcrdma_quota_allows_own(&a, RPCRDMA_QUOTA_CALLS, 41));
	EXPECT_EQ(all.used, PROMISE + 100);

	ASSERT_EQ(rpcrdma_quota_attach(&all, &b), 0);
	EXPECT_TRUE(rpcrdma_quota_is_tight(&all));
	EXPECT_EQ(uncharge_own(RPCRDMA_QUOTA_REPLIES, 10), -1);
	rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_REPLIES, 10);
	EXPECT_EQ(a.quota, 50u);
	EXPECT_EQ(all.used, 2 * PROMISE + 50);
	rpcrdma_quota_detach(&all, &b);
	EXPECT_FALSE(rpcrdma_quota_is_tight(&all));
	a.wanted = 1;
	EXPECT_EQ(uncharge_own(RPCRDMA_QUOTA_REPLIES, 10), 1);
	EXPECT_EQ(all.used, PROMISE + 50);
	rpcrdma_quota_trim(&all, &a);
	EXPECT_EQ(all.used, PROMISE + 40);
}

/* Runs visit accounts and wake them. */
TEST(Quota, RunsVisitAndWake)
{
	constexpr u32 MANY = RPCRDMA_QUOTA_WAKES + 1;
	rpcrdma_quota all = memory(MANY, 0, MESSAGES);
	std::vector<rpcrdma_quota_account> a(MANY, account());
	u32 now = 0, woken = 0;
	rpcrdma_quota_run run;

	const auto begin = [&](u32 ms) {
		return run = rpcrdma_quota_run_begin(&all, now += ms);
	};

	EXPECT_TRUE(begin(5).visit);
	EXPECT_FALSE(begin(RPCRDMA_QUOTA_TICK_MS - 1).visit);
	EXPECT_EQ(rpcrdma_quota_run_end(&all, &run), 0u);
	for (rpcrdma_quota_account &one : a)
		ASSERT_EQ(rpcrdma_quota_attach(&all, &one), 0);
	/* Memory is tight, and the account was not visited since. */
	EXPECT_EQ(rpcrdma_quota_run_end(&all, &run), 1u);
	EXPECT_TRUE(begin(1).visit);
	EXPECT_EQ(rpcrdma_quota_run_end(&all, &run), 0u);

	/* The quota that an account does not use is released. */
	ASSERT_TRUE(take_all(all, a[0], RPCRDMA_QUOTA_REPLIES));
	const u64 held = a[0].held[RPCRDMA_QUOTA_REPLIES];

	a[0].held[RPCRDMA_QUOTA_REPLIES] = held - 1;
	EXPECT_FALSE(rpcrdma_quota_run_visit(&all, &a[0], false));
	EXPECT_EQ(a[0].quota, held - 1);
	/* The account makes no progress, but no other account waits. */
	for (u32 n = 0; n < 2 * RPCRDMA_QUOTA_STUCK_TICKS; n++)
		EXPECT_FALSE(rpcrdma_quota_run_visit(&all, &a[0], false));

	for (u32 n = 1; n < MANY; n++)
		ASSERT_FALSE(rpcrdma_quota_ask(&all, &a[n], RPCRDMA_QUOTA_CALLS,
					       MESSAGES));
	begin(RPCRDMA_QUOTA_TICK_MS);
	EXPECT_EQ(rpcrdma_quota_run_end(&all, &run),
		  u32{ RPCRDMA_QUOTA_TICK_MS });
	for (u32 n = 1; n < RPCRDMA_QUOTA_STUCK_TICKS; n++)
		EXPECT_FALSE(rpcrdma_quota_run_visit(&all, &a[0], false));
	EXPECT_TRUE(rpcrdma_quota_run_visit(&all, &a[0], false));
	rpcrdma_quota_detach(&all, &a[0]);
	while (rpcrdma_quota_run_next(&all, &run))
		woken++;
	EXPECT_EQ(woken, u32{ RPCRDMA_QUOTA_WAKES });
}

/*
 * A waiting account requests a run. One that waits for a Reply is woken first.
 */
TEST(Quota, RepliesAreWokenBeforeCalls)
{
	rpcrdma_quota all = memory(3, 0, MESSAGES);
	std::vector<rpcrdma_quota_account> a(3, account());
	rpcrdma_quota_change change = {};

	for (rpcrdma_quota_account &each : a)
		ASSERT_EQ(rpcrdma_quota_attach(&all, &each), 0);
	rpcrdma_quota_charge(&all, &a[0], RPCRDMA_QUOTA_REPLIES, MESSAGES + 1);
	change.use = RPCRDMA_QUOTA_CALLS;
	change.octets = 1;
	rpcrdma_quota_change_all(&all, &a[1], &change);
	EXPECT_EQ(change.visit, RPCRDMA_QUOTA_VISIT_LATER);
	EXPECT_FALSE(rpcrdma_quota_ask(&all, &a[2], RPCRDMA_QUOTA_CALLS, 1));
	EXPECT_FALSE(may_begin(&all, &a[2], REPLIES));
	rpcrdma_quota_uncharge(&all, &a[0], RPCRDMA_QUOTA_REPLIES, 1);
	EXPECT_EQ(rpcrdma_quota_next(&all), &a[2]);
	EXPECT_EQ(rpcrdma_quota_next(&all), &a[1]);
}

/* A peer that makes no progress while memory waits for it */
TEST(Quota, HoardersAreStuck)
{
	rpcrdma_quota all = memory(1, 1000);
	rpcrdma_quota_account a = account();

	const auto ticks = [&](bool reads) {
		u32 n = 0;

		while (n < 100 && !rpcrdma_quota_stuck(&a, reads))
			n++;
		return n;
	};

	ASSERT_EQ(rpcrdma_quota_attach(&all, &a), 0);
	EXPECT_EQ(ticks(true), 100u);
	/* Memory that this end uses is not the peer's. */
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_CALLS, 10);
	EXPECT_EQ(ticks(false), 100u);
	EXPECT_EQ(ticks(true), u32{ RPCRDMA_QUOTA_STUCK_TICKS } - 1);
	rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_CALLS, 10);
	for (auto use : { RPCRDMA_QUOTA_PARTS, RPCRDMA_QUOTA_REPLIES }) {
		rpcrdma_quota_charge(&all, &a, use, 10);
		EXPECT_FALSE(rpcrdma_quota_stuck(&a, false));
		EXPECT_EQ(ticks(false), u32{ RPCRDMA_QUOTA_STUCK_TICKS } - 1);
		/* Some of it was released. */
		rpcrdma_quota_uncharge(&all, &a, use, 1);
		EXPECT_FALSE(rpcrdma_quota_stuck(&a, false));
		EXPECT_FALSE(rpcrdma_quota_stuck(&a, false));
		rpcrdma_quota_uncharge(&all, &a, use, 9);
	}
}

/* The promise: a new connection of a server, as the endpoint charges it */
constexpr u64 KIB = 1024, MIB = 1024 * KIB, GIB = 1024 * MIB;
constexpr u64 MESSAGE = MIB + 4 * KIB, SPARE = 12 * KIB;
constexpr u32 RECEIVES = 1 + RPCRDMA_FIRST_WINDOW;

u64 receive(u64 inline_octets)
{
	/* A Receive, its buffer, and a buffer for a Reply */
	return 1680 + 2 * inline_octets;
}

rpcrdma_quota_account server_account(const rpcrdma_quota &all)
{
	rpcrdma_quota_account a = {};
	const bool tight = rpcrdma_quota_is_tight(&all);
	const u64 sends = (tight ? 32 : 80) + 17;

	/*
	 * An endpoint, its Send contexts, and the buffers of control messages
	 */
	rpcrdma_quota_reserve(&a, 4 * KIB + sends * 200 + 16 * KIB,
			      RECEIVES * receive(tight ? 4 * KIB : 16 * KIB),
			      MESSAGE, 256 * KIB, SPARE);
	return a;
}

/* A server with 4 GiB, of which its clients may use a quarter */
rpcrdma_quota server_memory(u64 of = 4 * GIB)
{
	rpcrdma_quota all = {};

	rpcrdma_quota_set_limit(&all, of / 4, MESSAGE);
	return all;
}

/*
 * Each client has the largest Call pulled and processed, and then gets the
 * largest Reply.
 */
void write_and_read(rpcrdma_quota &all, rpcrdma_quota_account &a)
{
	ASSERT_TRUE(rpcrdma_quota_ask(&all, &a, RPCRDMA_QUOTA_CALLS, MESSAGE));
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_CALLS, MESSAGE);
	ASSERT_TRUE(may_begin(&all, &a, MESSAGE));
	rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_CALLS, MESSAGE);
	ASSERT_TRUE(may_begin(&all, &a, MESSAGE));
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_REPLIES, MESSAGE);
	ASSERT_LE(all.used, all.limit);
	rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_REPLIES, MESSAGE);
}

/*
 * 10,000 connections, of which the first ones were used and have wider windows
 */
TEST(Quota, TenThousandIdleConnections)
{
	rpcrdma_quota all = server_memory();
	constexpr u32 MORE = RPCRDMA_USUAL_WINDOW - RPCRDMA_FIRST_WINDOW;
	std::vector<rpcrdma_quota_account> a(10000);
	u32 wide = 0;

	for (auto &one : a) {
		const u64 cost = receive(
			rpcrdma_quota_is_tight(&all) ? 4 * KIB : 16 * KIB);

		one = server_account(all);
		ASSERT_EQ(rpcrdma_quota_attach(&all, &one), 0)
			<< &one - a.data();
		rpcrdma_quota_charge(&all, &one, RPCRDMA_QUOTA_BUFFERS,
				     RECEIVES * cost);
		if (rpcrdma_quota_fits(&all, &one, RPCRDMA_QUOTA_BUFFERS, cost,
				       MORE) != MORE)
			continue;
		rpcrdma_quota_charge(&all, &one, RPCRDMA_QUOTA_BUFFERS,
				     MORE * cost);
		wide++;
	}
	EXPECT_GE(wide, 100u);
	EXPECT_LE(all.used, all.limit - all.reserve);
	for (auto &one : a)
		write_and_read(all, one);
	for (auto &one : a)
		rpcrdma_quota_detach(&all, &one);
	EXPECT_EQ(all.used, 0u);
}

/*
 * When the maximum of connections is admitted, with nfsd's largest payload, the
 * reserve is still available.
 */
TEST(Quota, TheLastConnectionWorks)
{
	for (u64 of : { 256 * MIB, 2 * GIB, 4 * GIB }) {
		rpcrdma_quota all = server_memory(of);
		std::vector<rpcrdma_quota_account> a;

		for (;;) {
			rpcrdma_quota_account one = server_account(all);

			if (rpcrdma_quota_attach(&all, &one))
				break;
			a.push_back(one);
		}
		EXPECT_GE(a.size(), of / (400 * KIB));
		write_and_read(all, a.front());
		write_and_read(all, a.back());
	}
}

/*
 * All connections work at once, in any order, and wait as the quota requires.
 * During the wait of one, each other one is served only a few times.
 */
TEST(Quota, NoneIsStarved)
{
	constexpr u32 COUNT = 3000;
	rpcrdma_quota all = server_memory(3 * GIB / 2);
	std::vector<rpcrdma_quota_account> a(COUNT);
	std::vector<u32> done(COUNT);
	std::vector<u8> waits(COUNT), holds(COUNT);
	std::mt19937 random(3);
	u64 total = 0, most = 0;

	for (auto &one : a) {
		one = server_account(all);
		ASSERT_EQ(rpcrdma_quota_attach(&all, &one), 0);
	}
	for (u32 step = 0; step < 1000000; step++) {
		const u32 i = random() % COUNT;
		auto &one = a[i];

		if (holds[i]) {
			/* Work of other connections takes longer than this. */
			if (random() % 4)
				continue;
			rpcrdma_quota_uncharge(&all, &one, RPCRDMA_QUOTA_CALLS,
					       MESSAGE);
			holds[i] = 0;
			while (auto *next = rpcrdma_quota_next(&all))
				waits[next - a.data()] = 0;
		} else if (!waits[i]) {
			waits[i] = !rpcrdma_quota_ask(
				&all, &one, RPCRDMA_QUOTA_CALLS, MESSAGE);
			if (waits[i])
				continue;
			rpcrdma_quota_charge(&all, &one, RPCRDMA_QUOTA_CALLS,
					     MESSAGE);
			holds[i] = 1;
			done[i]++;
			total++;
		}
		most = std::max(most, u64{ all.waiting });
		ASSERT_LE(all.used, all.limit);
	}
	EXPECT_GE(most, COUNT / 4);
	for (u32 n : done)
		ASSERT_GE(n, total / COUNT / 4);
}

/*
 * Hoarders charge all that they get, keep it, and come back after they are
 * closed. A connection that works among them always makes progress, and the
 * limit is kept.
 */
TEST(Quota, HoardersStarveNoConnection)
{
	constexpr u32 COUNT = 2000, THREADS = 64;
	rpcrdma_quota all = server_memory(GIB);
	std::vector<rpcrdma_quota_account> bad(COUNT);
	rpcrdma_quota_account good = server_account(all);
	bool holds = false, woken = true;
	u32 done = 0, closed = 0, waited = 0, longest = 0;

	ASSERT_EQ(rpcrdma_quota_attach(&all, &good), 0);
	for (u32 tick = 0; tick < 2000; tick++) {
		for (auto &one : bad) {
			if (!one.member) {
				one = server_account(all);
				rpcrdma_quota_attach(&all, &one);
			}
			if (!one.member)
				continue;
			/* Calls with data that the peer withholds, and Replies */
			for (auto use :
			     { RPCRDMA_QUOTA_PARTS, RPCRDMA_QUOTA_CALLS }) {
				if (one.queued ||
				    !rpcrdma_quota_ask(&all, &one, use,
						       200 * KIB))
					continue;
				rpcrdma_quota_charge(&all, &one, use,
						     200 * KIB);
			}
			if (may_begin(&all, &one, MESSAGE))
				rpcrdma_quota_charge(&all, &one,
						     RPCRDMA_QUOTA_REPLIES,
						     MESSAGE);
			ASSERT_LE(all.used, all.limit + THREADS * MESSAGE);
		}
		if (holds)
			rpcrdma_quota_uncharge(&all, &good, RPCRDMA_QUOTA_CALLS,
					       MESSAGE);
		holds = woken &&
			rpcrdma_quota_ask(&all, &good, RPCRDMA_QUOTA_CALLS,
					  MESSAGE);
		woken = holds;
		if (holds) {
			rpcrdma_quota_charge(&all, &good, RPCRDMA_QUOTA_CALLS,
					     MESSAGE);
			done++;
			waited = 0;
		}
		longest = std::max(longest, ++waited);
		/* The endpoint's work item, with all Reads in progress */
		if (all.waiting)
			for (auto &one : bad) {
				if (!rpcrdma_quota_stuck(&one, true))
					continue;
				rpcrdma_quota_detach(&all, &one);
				closed++;
			}
		ASSERT_FALSE(all.waiting && rpcrdma_quota_stuck(&good, true) &&
			     good.held[RPCRDMA_QUOTA_CALLS]);
		for (u32 n = 0; n < 32; n++) {
			auto *next = rpcrdma_quota_next(&all);

			if (!next)
				break;
			woken = woken || next == &good;
		}
	}
	EXPECT_GE(closed, COUNT);
	EXPECT_GE(done, 20u);
	EXPECT_LE(longest, 2000u / 10);
}

TEST(Quota, AWindowGrowsIntoFreeMemory)
{
	constexpr u64 PIECE = 10;
	/* A quarter is for windows. */
	rpcrdma_quota all = memory(0, (3 * PROMISE + 160) * 4);
	rpcrdma_quota_account a = account(), b = account(), c = account();

	const auto grow = [&](rpcrdma_quota_account &one, u32 want) {
		const u32 fit = rpcrdma_quota_fits(
			&all, &one, RPCRDMA_QUOTA_BUFFERS, PIECE, want);

		rpcrdma_quota_charge(&all, &one, RPCRDMA_QUOTA_BUFFERS,
				     fit * PIECE);
		return fit;
	};

	for (auto *one : { &a, &b, &c })
		ASSERT_EQ(rpcrdma_quota_attach(&all, one), 0);
	EXPECT_EQ(grow(a, 4), 4u);
	EXPECT_EQ(all.used, 3 * PROMISE);
	/* 16 are left. One connection may have at most half of them. */
	EXPECT_EQ(grow(a, 4), 4u);
	EXPECT_EQ(grow(a, 8), 4u);
	EXPECT_EQ(grow(a, 16), 0u);
	/* The rest is for messages. */
	EXPECT_TRUE(rpcrdma_quota_allows(&all, &a, RPCRDMA_QUOTA_CALLS, CALLS));
	EXPECT_EQ(grow(b, 4), 4u);
	EXPECT_EQ(grow(b, 8), 4u);
	EXPECT_EQ(grow(c, 4), 4u);
	EXPECT_EQ(grow(c, 2), 2u);
	EXPECT_EQ(grow(c, 2), 0u);
	rpcrdma_quota_detach(&all, &a);
	EXPECT_GT(grow(c, 2), 0u);
	EXPECT_LE(all.used, all.limit);
}

/* The only connection that wants more gets half of the unreserved memory. */
TEST(Quota, OneConnectionGetsAtMostHalf)
{
	rpcrdma_quota all = memory(1, 1000);
	rpcrdma_quota_account a = account();

	ASSERT_EQ(rpcrdma_quota_attach(&all, &a), 0);
	EXPECT_EQ(take_all(all, a, RPCRDMA_QUOTA_REPLIES), 500u);
	/* One message of another kind is available in any case. */
	EXPECT_EQ(take_all(all, a, RPCRDMA_QUOTA_CALLS), CALLS);
	EXPECT_EQ(all.used, PROMISE + 500 + CALLS);
}

TEST(Quota, SpaceIsLeftForNewConnections)
{
	rpcrdma_quota all = memory(100);
	rpcrdma_quota_account greedy = account();
	std::vector<rpcrdma_quota_account> others(40, account());

	ASSERT_EQ(rpcrdma_quota_attach(&all, &greedy), 0);
	take_all(all, greedy, RPCRDMA_QUOTA_REPLIES);
	for (auto &a : others)
		EXPECT_EQ(rpcrdma_quota_attach(&all, &a), 0);
}

/* A detached connection may still release memory it held. */
TEST(Quota, DetachingHappensOnce)
{
	rpcrdma_quota all = memory(10);
	rpcrdma_quota_account a = account(), b = account();

	ASSERT_EQ(rpcrdma_quota_attach(&all, &a), 0);
	ASSERT_EQ(rpcrdma_quota_attach(&all, &b), 0);
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_CALLS, 500);
	rpcrdma_quota_detach(&all, &a);
	EXPECT_EQ(all.used, PROMISE);
	rpcrdma_quota_detach(&all, &a);
	rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_CALLS, 500);
	EXPECT_EQ(all.used, PROMISE);
	EXPECT_EQ(a.held[RPCRDMA_QUOTA_CALLS], 0U);
}

/* An unattached connection, such as a client's, is counted and not bounded. */
TEST(Quota, UnattachedConnectionsAreNotBounded)
{
	rpcrdma_quota all = memory(0, 10);
	rpcrdma_quota_account a = {};

	EXPECT_TRUE(rpcrdma_quota_allows(&all, &a, RPCRDMA_QUOTA_CALLS, 1000));
	rpcrdma_quota_charge(&all, &a, RPCRDMA_QUOTA_CALLS, 1000);
	EXPECT_EQ(a.held[RPCRDMA_QUOTA_CALLS], 1000U);
	rpcrdma_quota_uncharge(&all, &a, RPCRDMA_QUOTA_CALLS, 1000);
	EXPECT_EQ(a.held[RPCRDMA_QUOTA_CALLS], 0U);
	EXPECT_EQ(all.used, 0U);
}

/* A connection that charges only available memory never exceeds the limit. */
TEST(Quota, TheSumIsBounded)
{
	std::mt19937 random(7);
	rpcrdma_quota all = memory(25, 0, 5 * PROMISE);
	std::vector<rpcrdma_quota_account> a(20);

	for (u32 step = 0; step < 200000; step++) {
		auto &one = a[random() % a.size()];
		const auto use = static_cast<rpcrdma_quota_use>(
			random() % RPCRDMA_QUOTA_USES);
		const u64 octets = random() % 200;

		if (!one.member) {
			one = account();
			rpcrdma_quota_attach(&all, &one);
		} else if (random() % 50 == 0) {
			rpcrdma_quota_detach(&all, &one);
		} else if (random() % 3 == 0) {
			rpcrdma_quota_uncharge(&all, &one, use,
					       one.held[use] < octets ?
						       one.held[use] :
						       octets);
		} else if (rpcrdma_quota_allows(&all, &one, use, octets)) {
			rpcrdma_quota_charge(&all, &one, use, octets);
		}
		ASSERT_LE(all.used, all.limit);
	}
	for (auto &one : a)
		rpcrdma_quota_detach(&all, &one);
	EXPECT_EQ(all.used, 0U);
}

} // namespace
