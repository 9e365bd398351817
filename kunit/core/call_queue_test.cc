// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that wait for a service thread: their order, and which are pulled ahead
 * of the threads
 */
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr u64 PAGE = 4096, LARGEST = 16 * PAGE;

struct queue {
	rpcrdma_call_queue q{};
	std::deque<rpcrdma_queued_call> calls;
	u64 memory = ~0ull;
	u32 asked = 0;

	explicit queue(u32 arrived = 0)
	{
		rpcrdma_calls_init(&q, 1, 0);
		rpcrdma_calls_serve(&q, LARGEST);
		q.arrived = arrived;
	}
	rpcrdma_queued_call *arrive(u64 octets = 0)
	{
		rpcrdma_queued_call *call = &calls.emplace_back();

		rpcrdma_calls_arrived(&q, call, octets);
		return call;
	}
	rpcrdma_queued_call *wait(u64 octets = 0)
	{
		rpcrdma_queued_call *call = arrive(octets);

		rpcrdma_calls_wait(&q, call);
		return call;
	}
	static bool room(void *user, u64 octets)
	{
		auto *me = static_cast<queue *>(user);

		me->asked++;
		return octets <= me->memory;
	}
	bool early(rpcrdma_queued_call *call)
	{
		return rpcrdma_calls_early(&q, call, room, this);
	}
	rpcrdma_queued_call *next()
	{
		return rpcrdma_calls_next(&q, room, this);
	}
	void expect(const std::vector<rpcrdma_queued_call *> &order)
	{
		for (rpcrdma_queued_call *call : order)
			EXPECT_EQ(next(), call);
		EXPECT_EQ(next(), nullptr);
	}
};

/* First serial numbers, some of which soon wrap */
constexpr u32 STARTS[] = { 0, 0x7fffffff, 0xffffffff };

} // namespace

TEST(CallQueue, CallsAreServedInOrderOfArrival)
{
	for (u32 start : STARTS) {
		queue e(start);
		rpcrdma_queued_call *a = e.wait(), *b = e.wait(PAGE);
		rpcrdma_queued_call *c = e.wait();

		EXPECT_TRUE(rpcrdma_calls_any(&e.q));
		e.expect({ a, b, c });
		EXPECT_FALSE(rpcrdma_calls_any(&e.q));
		/* The queue is used again after it was empty. */
		b = e.wait();
		c = e.wait();
		e.expect({ b, c });
	}
}

/* No Call overtakes an older one, complete or not. */
TEST(CallQueue, PulledCallsKeepTheirPlace)
{
	for (u32 start : STARTS) {
		queue e(start);
		rpcrdma_queued_call *a = e.arrive(PAGE), *b = e.wait();
		rpcrdma_queued_call *c = e.arrive(PAGE), *d = e.wait();

		rpcrdma_calls_pulled(&e.q, a);
		rpcrdma_calls_pulled(&e.q, c);
		EXPECT_TRUE(rpcrdma_calls_any(&e.q));
		e.expect({ a, b, c, d });
		EXPECT_EQ(e.asked, 0u);
	}
}

/* Reads may end in any order. */
TEST(CallQueue, PulledCallsAreServedAsTheirReadsEnd)
{
	queue e;
	rpcrdma_queued_call *a = e.arrive(PAGE), *b = e.arrive(PAGE);
	rpcrdma_queued_call *c = e.wait();

	rpcrdma_calls_pulled(&e.q, b);
	rpcrdma_calls_pulled(&e.q, a);
	e.expect({ b, a, c });
}

TEST(CallQueue, ACallWithoutMemoryIsOvertaken)
{
	queue e;
	rpcrdma_queued_call *a = e.wait(2 * PAGE), *b = e.wait(PAGE);
	rpcrdma_queued_call *c = e.wait(2 * PAGE), *d = e.wait();
	rpcrdma_queued_call *f = e.arrive(4 * PAGE);

	rpcrdma_calls_pulled(&e.q, f);
	e.memory = PAGE;
	e.expect({ b, d, f });
	EXPECT_TRUE(rpcrdma_calls_any(&e.q));
	EXPECT_TRUE(rpcrdma_calls_may_retry(&e.q));
	/* The Call keeps its place before Calls that come later. */
	f = e.wait(PAGE);
	e.memory = 2 * PAGE;
	e.expect({ a, c, f });
	EXPECT_FALSE(rpcrdma_calls_may_retry(&e.q));
}

/* The last Call is removed, and others are queued after it. */
TEST(CallQueue, CallsAreQueuedAfterThoseWithoutMemory)
{
	queue e;
	rpcrdma_queued_call *a = e.wait(PAGE), *b = e.wait();

	e.memory = 0;
	e.expect({ b });
	b = e.wait();
	e.expect({ b });
	e.memory = PAGE;
	e.expect({ a });
}

/*
 * A Call that is too large needs no memory, because a thread only refuses it.
 */
TEST(CallQueue, ACallThatIsTooLargeDoesNotWait)
{
	queue e;
	rpcrdma_queued_call *a = e.wait(LARGEST), *b = e.wait(LARGEST + 1);

	e.memory = 0;
	EXPECT_FALSE(e.early(b));
	e.expect({ b });
	e.memory = LARGEST;
	e.expect({ a });
}

TEST(CallQueue, MemoryForCallsThatArePulledAheadIsBounded)
{
	queue e;
	std::vector<rpcrdma_queued_call *> early;

	for (u32 i = 0; i < RPCRDMA_EARLY_CALLS - 1; i++) {
		early.push_back(e.arrive(LARGEST));
		EXPECT_TRUE(e.early(early.back()));
	}
	early.push_back(e.arrive(LARGEST - PAGE));
	EXPECT_TRUE(e.early(early.back()));
	EXPECT_FALSE(e.early(e.arrive(2 * PAGE)));
	early.push_back(e.arrive(PAGE));
	EXPECT_TRUE(e.early(early.back()));
	EXPECT_FALSE(e.early(e.arrive(1)));
	for (rpcrdma_queued_call *call : early)
		rpcrdma_calls_early_end(&e.q, call);
	EXPECT_EQ(e.q.early_octets, 0u);
	EXPECT_TRUE(e.early(e.arrive(LARGEST)));
}

TEST(CallQueue, NothingIsPulledAheadWithoutNeedOrService)
{
	queue e;

	EXPECT_FALSE(e.early(e.arrive()));
	rpcrdma_calls_serve(&e.q, 0);
	EXPECT_FALSE(e.early(e.arrive(PAGE)));
	EXPECT_EQ(e.q.early_octets, 0u);
}

/* The quota is asked last, because each refusal causes a wake-up later. */
TEST(CallQueue, NothingIsPulledAheadWithoutMemory)
{
	queue e;

	e.memory = PAGE - 1;
	EXPECT_FALSE(e.early(e.arrive(PAGE)));
	EXPECT_EQ(e.asked, 1u);
	EXPECT_EQ(e.q.early_octets, 0u);
	EXPECT_FALSE(e.early(e.arrive(LARGEST + 1)));
	EXPECT_FALSE(e.early(e.arrive()));
	EXPECT_EQ(e.asked, 1u);
	e.memory = PAGE;
	EXPECT_TRUE(e.early(e.arrive(PAGE)));
	EXPECT_EQ(e.q.early_octets, PAGE);
}

/* A thread that has just taken messages need not queue the first Call. */
TEST(CallQueue, ACallWithoutReadsPassesAnEmptyQueue)
{
	queue e;
	rpcrdma_queued_call *a = e.arrive(PAGE), fresh;

	fresh.pull_octets = PAGE;
	/* A thread does not wait for a Call that is pulled ahead of it. */
	EXPECT_TRUE(e.early(a));
	EXPECT_FALSE(rpcrdma_calls_pass(&e.q, &fresh, 1));
	EXPECT_TRUE(rpcrdma_calls_pass(&e.q, &fresh, 0));
	EXPECT_FALSE(rpcrdma_call_must_pull(&fresh));
	/* Neither a complete Call nor another one is overtaken. */
	rpcrdma_calls_pulled(&e.q, a);
	EXPECT_FALSE(rpcrdma_calls_pass(&e.q, &fresh, 0));
	e.expect({ a });
	EXPECT_TRUE(rpcrdma_calls_pass(&e.q, &fresh, 0));
	a = e.wait();
	EXPECT_FALSE(rpcrdma_calls_pass(&e.q, &fresh, 0));
	e.expect({ a });
}

/* A Call is pulled once. */
TEST(CallQueue, ACallIsPulledBeforeItIsProcessed)
{
	queue e;
	rpcrdma_queued_call *a = e.wait(PAGE), *b = e.wait();

	EXPECT_EQ(e.next(), a);
	EXPECT_TRUE(rpcrdma_call_must_pull(a));
	EXPECT_EQ(e.next(), b);
	EXPECT_FALSE(rpcrdma_call_must_pull(b));
	rpcrdma_calls_pulled(&e.q, a);
	EXPECT_EQ(e.next(), a);
	EXPECT_FALSE(rpcrdma_call_must_pull(a));
	/* The object is used for another Call. */
	rpcrdma_calls_arrived(&e.q, a, PAGE);
	EXPECT_TRUE(rpcrdma_call_must_pull(a));
}

/* Spare pages of a connection whose largest Call has ten */
struct spares {
	static constexpr u32 MOST = 10 * RPCRDMA_EARLY_CALLS;

	/* Put the pages @first, @first + 1 and so on. */
	u32 put(u32 first, u32 nr)
	{
		std::vector<void *> from(nr);

		for (u32 i = 0; i < nr; i++)
			from[i] = &memory[first + i];
		return rpcrdma_spare_put(&spare, from.data(), nr);
	}
	u32 take(u32 want)
	{
		got.assign(want, nullptr);
		return rpcrdma_spare_take(&spare, got.data(), want);
	}
	u32 trim(u32 most)
	{
		got.assign(most, nullptr);
		return rpcrdma_spare_trim(&spare, got.data(), most);
	}
	/* The number of the page that was taken or trimmed as number @i */
	long page(u32 i) const
	{
		return static_cast<char *>(got[i]) - memory;
	}
	void open()
	{
		rpcrdma_spare_init(&spare, 10);
		EXPECT_EQ(rpcrdma_spare_provide(&spare, list), nullptr);
	}

	rpcrdma_spare_pages spare{};
	char memory[1000];
	void *list[MOST], *other[MOST];
	std::vector<void *> got;
};

/*
 * Many outstanding WRITEs need the pages of several Calls. No page is freed
 * between two of them.
 */
TEST(CallQueue, PagesAreKeptForTheNextCalls)
{
	spares s;

	/* A connection without a service keeps none. */
	EXPECT_EQ(rpcrdma_spare_provide(&s.spare, s.list), s.list);
	EXPECT_EQ(s.put(0, 1), 0u);
	EXPECT_EQ(s.take(1), 0u);
	/* Nor does one without memory for the list. */
	rpcrdma_spare_init(&s.spare, 10);
	EXPECT_EQ(rpcrdma_spare_provide(&s.spare, nullptr), nullptr);
	EXPECT_EQ(s.put(0, 1), 0u);

	s.open();
	/* Two threads have allocated a list. */
	EXPECT_EQ(rpcrdma_spare_provide(&s.spare, s.other), s.other);
	EXPECT_FALSE(rpcrdma_spare_any(&s.spare));
	EXPECT_EQ(s.put(100, 10), 10u);
	EXPECT_TRUE(rpcrdma_spare_any(&s.spare));
	EXPECT_EQ(rpcrdma_spare_missing(&s.spare, 10), 0u);
	EXPECT_EQ(rpcrdma_spare_missing(&s.spare, 12), 2u);
	EXPECT_EQ(s.put(200, 10 * RPCRDMA_EARLY_CALLS),
		  10u * (RPCRDMA_EARLY_CALLS - 1));
	EXPECT_EQ(s.put(0, 1), 0u);
	EXPECT_EQ(s.take(3), 3u);
	EXPECT_EQ(s.page(0), 267);
	EXPECT_EQ(s.page(2), 269);
	EXPECT_EQ(s.take(1000), 10u * RPCRDMA_EARLY_CALLS - 3);
	EXPECT_EQ(s.page(0), 100);
	EXPECT_EQ(s.page(9), 109);
	EXPECT_EQ(s.page(10), 200);
	EXPECT_EQ(s.page(76), 266);
	EXPECT_EQ(s.spare.nr, 0u);
}

/* Pages that Calls still need are not trimmed; the others are, after a while. */
TEST(CallQueue, UnusedPagesAreTrimmed)
{
	spares s;
	u32 nr;

	s.open();
	EXPECT_EQ(s.put(0, 50), 50u);
	/* The pages have just been put. */
	EXPECT_EQ(s.trim(100), 0u);
	/* All but 30 were used meanwhile. */
	EXPECT_EQ(s.take(20), 20u);
	EXPECT_EQ(s.put(30, 20), 20u);
	EXPECT_EQ(s.trim(16), 16u);
	EXPECT_EQ(s.page(0), 34);
	EXPECT_EQ(s.page(15), 49);
	EXPECT_EQ(s.trim(16), 14u);
	EXPECT_EQ(s.page(0), 20);
	EXPECT_EQ(s.page(13), 33);
	EXPECT_EQ(s.spare.nr, 20u);
	/* None was used. */
	EXPECT_EQ(s.trim(100), 20u);
	EXPECT_FALSE(rpcrdma_spare_any(&s.spare));
	EXPECT_EQ(s.put(0, 10), 10u);
	EXPECT_EQ(rpcrdma_spare_end(&s.spare, &nr), s.list);
	EXPECT_EQ(nr, 10u);
	EXPECT_EQ(s.list[9], &s.memory[9]);
	EXPECT_EQ(rpcrdma_spare_end(&s.spare, &nr), nullptr);
	EXPECT_EQ(nr, 0u);
	/* Threads may still receive Calls of a connection that has ended. */
	EXPECT_EQ(rpcrdma_spare_provide(&s.spare, s.other), s.other);
	EXPECT_EQ(s.put(0, 10), 0u);
}

/* The second of two calls frees no pages that Calls have used. */
TEST(CallQueue, AFullTrimIsFollowedByAnEmptyOne)
{
	spares s;

	s.open();
	EXPECT_EQ(s.put(0, 50), 50u);
	EXPECT_EQ(s.trim(100), 0u);
	EXPECT_EQ(s.take(34), 34u);
	EXPECT_EQ(s.put(16, 34), 34u);
	EXPECT_EQ(s.trim(16), 16u);
	EXPECT_EQ(s.trim(16), 0u);
	EXPECT_EQ(s.spare.nr, 34u);
}

/* A trim may follow the end of the connection. */
TEST(CallQueue, ATrimAfterTheEndFindsNoPages)
{
	spares s;
	u32 nr;

	s.open();
	EXPECT_EQ(s.put(0, 10), 10u);
	EXPECT_EQ(s.trim(100), 0u);
	EXPECT_EQ(rpcrdma_spare_end(&s.spare, &nr), s.list);
	EXPECT_EQ(nr, 10u);
	EXPECT_EQ(s.trim(100), 0u);
	EXPECT_EQ(s.spare.nr, 0u);
}

/* The Replies in progress count, and that to the Call which would be next. */
TEST(CallQueue, RepliesInProgressLimitNewCalls)
{
	queue q;

	EXPECT_EQ(rpcrdma_calls_reply_octets(&q.q, 0), LARGEST);
	EXPECT_EQ(rpcrdma_calls_reply_octets(&q.q, 3 * LARGEST), 4 * LARGEST);
}
