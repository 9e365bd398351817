// SPDX-License-Identifier: GPL-2.0
/*
 * The Send Queue: what can be posted, what has to wait, and what is posted next
 */
#include <algorithm>
#include <array>
#include <deque>
#include <list>

#include <gtest/gtest.h>

#include "support.hh"

namespace
{

using namespace engine_test;

constexpr u32 DEPTH = 64, SENDS = 32, REVERSE = 4, REPLIES = 12;
constexpr u32 CONTEXTS = SENDS + RPCRDMA_CONTROL_SENDS;

/* A message or transfer that is posted, or waits */
struct chain {
	rpcrdma_wrs wrs;
	bool context; /* has a Send context to release */
};

/* A Send Queue, its device and a connection with an unlimited window */
class queue
{
public:
	explicit queue(u32 depth = DEPTH, u32 sends = SENDS,
		       u32 reverse = REVERSE)
		: end{ open_client() }
	{
		rpcrdma_sq_init(&sq, depth, sends, reverse, REPLIES);
		for (u32 i = 0; i < sends + RPCRDMA_CONTROL_SENDS; i++)
			rpcrdma_sq_give(&sq);
	}

	rpcrdma_conn *conn()
	{
		return &end->conn;
	}

	void post(u32 nr, bool context, bool signaled = false)
	{
		flight.push_back({ { nr, 0, signaled }, context });
		rpcrdma_sq_charge(&sq, &flight.back().wrs);
		EXPECT_LE(sq.posted - sq.retired, sq.depth);
	}

	/*
	 * Send a complete message. The peer counts it at once, and grants
	 * another credit.
	 */
	rpcrdma_sq_answer whole(u32 nr, decltype(rpcrdma_sq_reply) *ask)
	{
		std::array<u8, RPCRDMA_V2_PREFIX> header{};

		flight.push_back({ { nr, 0, false }, true });

		const auto may = ask(conn(), &sq, &flight.back().wrs,
				     header.data(), RPCRDMA_INLINE, nullptr);

		if (may != RPCRDMA_SQ_GO) {
			flight.pop_back();
			return may;
		}
		conn()->limit++;
		conn()->acked = conn()->sent;
		EXPECT_LE(sq.posted - sq.retired, sq.depth);
		return may;
	}

	rpcrdma_sq_answer reply(u32 nr)
	{
		const auto may = whole(nr, rpcrdma_sq_reply);

		if (may == RPCRDMA_SQ_WAIT)
			messages.push_back(nr);
		return may;
	}

	rpcrdma_sq_answer call(u32 nr)
	{
		return whole(nr, rpcrdma_sq_call);
	}

	rpcrdma_sq_answer transfer(u32 nr)
	{
		const auto may = rpcrdma_sq_transfer(&sq, nr);

		if (may == RPCRDMA_SQ_GO)
			post(nr, false, true);
		else if (may == RPCRDMA_SQ_WAIT)
			transfers.push_back(nr);
		return may;
	}

	rpcrdma_sq_action next_action()
	{
		rpcrdma_sq_first first{};

		if (!transfers.empty())
			first.transfer_wrs = transfers.front();
		if (!messages.empty()) {
			first.message_wrs = messages.front();
			first.kind = RPCRDMA_KIND_REPLY;
		}
		return rpcrdma_sq_next(conn(), &sq, &first);
	}

	/* Post the next action. Return true if the action was RETRY. */
	bool pump()
	{
		bool retry = false;

		for (;;) {
			switch (next_action()) {
			case RPCRDMA_SQ_POST_CONTROL:
				EXPECT_GT(end->control().size(), 0u);
				post(1, true);
				break;
			case RPCRDMA_SQ_POST_TRANSFER:
				post(transfers.front(), false, true);
				transfers.pop_front();
				break;
			case RPCRDMA_SQ_POST_MESSAGE:
				post(messages.front(), true);
				messages.pop_front();
				break;
			case RPCRDMA_SQ_NOTIFY:
				retry = true;
				break;
			case RPCRDMA_SQ_IDLE:
				EXPECT_EQ(sq.transfers, transfers.size());
				EXPECT_EQ(sq.messages, messages.size());
				return retry;
			}
		}
	}

	/* Complete @completed, which is signaled. */
	void complete(std::list<chain>::iterator completed)
	{
		const rpcrdma_wrs *wrs = &completed->wrs;

		for (auto i = flight.begin(); i != flight.end();) {
			const auto each = i++;
			const bool last = &each->wrs == wrs;

			if (rpcrdma_sq_completion_covers(wrs, &each->wrs)) {
				if (each->context)
					rpcrdma_sq_give(&sq);
				flight.erase(each);
			}
			if (last)
				break;
		}
		rpcrdma_sq_reaped(&sq, flight.empty() ? nullptr :
							&flight.front().wrs);
	}

	/*
	 * Return the first signaled chain in flight, or end() if there is none.
	 */
	std::list<chain>::iterator reporter(u32 skip = 0)
	{
		return std::find_if(flight.begin(), flight.end(),
				    [&skip](const chain &c) {
					    return c.wrs.signaled && !skip--;
				    });
	}

	std::unique_ptr<engine_test::end> end;
	rpcrdma_sq sq;
	std::list<chain> flight;
	std::deque<u32> transfers, messages;
};

TEST(SendQueue, IsNeverOverrun)
{
	queue q;

	while (q.transfer(5) == RPCRDMA_SQ_GO)
		;
	EXPECT_EQ(q.flight.size(), DEPTH / 5);
	EXPECT_FALSE(rpcrdma_sq_room(&q.sq, 5));
	EXPECT_TRUE(rpcrdma_sq_room(&q.sq, DEPTH % 5));
	/* Slots are released in the order in which they were charged. */
	q.complete(q.reporter());
	EXPECT_TRUE(rpcrdma_sq_room(&q.sq, 5));
	EXPECT_FALSE(rpcrdma_sq_room(&q.sq, 10));
}

/* The accounting works across the wrap of its counters. */
TEST(SendQueue, Wraps)
{
	queue q;

	q.sq.posted = q.sq.retired = q.sq.signaled = ~0u - 20;
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(q.transfer(30), RPCRDMA_SQ_GO);
		ASSERT_EQ(q.transfer(30), RPCRDMA_SQ_GO);
		EXPECT_FALSE(rpcrdma_sq_room(&q.sq, 5));
		q.complete(q.reporter());
		EXPECT_EQ(q.sq.posted - q.sq.retired, 30u);
		q.complete(q.reporter());
		EXPECT_EQ(q.sq.posted, q.sq.retired);
	}
}

/*
 * Refuse a chain that could never be posted after a batch of unsignaled Work
 * Requests.
 */
TEST(SendQueue, RefusesChainsThatNeverFit)
{
	queue q;
	const u32 most = DEPTH - q.sq.batch;

	EXPECT_EQ(q.sq.batch, DEPTH / 6);
	EXPECT_TRUE(rpcrdma_sq_fits(&q.sq, most));
	EXPECT_EQ(q.transfer(most + 1), RPCRDMA_SQ_NEVER);
	EXPECT_EQ(q.reply(most + 1), RPCRDMA_SQ_NEVER);
	EXPECT_EQ(q.call(most + 1), RPCRDMA_SQ_NEVER);
	EXPECT_EQ(rpcrdma_sq_reply_waits(&q.sq, most + 1), RPCRDMA_SQ_NEVER);
	EXPECT_EQ(rpcrdma_sq_continued_call(q.conn(), &q.sq, most + 1, true),
		  RPCRDMA_SQ_NEVER);
	EXPECT_FALSE(rpcrdma_sq_has_waiters(&q.sq));
	EXPECT_EQ(q.reply(most), RPCRDMA_SQ_GO);

	queue large{ 10000 };

	EXPECT_EQ(large.sq.batch, u32{ RPCRDMA_SQ_BATCH });
}

/* A long transfer is posted in batches, and leaves half the queue to others. */
TEST(SendQueue, BatchesOfTransfers)
{
	queue q{ 116, 200 }, shortest{ 2, 200 };
	const u32 turn = rpcrdma_sq_max_batch_wrs(&q.sq);

	EXPECT_EQ(turn, (116u - 16) / 2);
	EXPECT_EQ(q.transfer(turn), RPCRDMA_SQ_GO);
	EXPECT_EQ(q.reply(turn), RPCRDMA_SQ_GO);
	/* A batch has at least one Work Request, even in the shortest queue. */
	EXPECT_EQ(rpcrdma_sq_max_batch_wrs(&shortest.sq), 1u);
	/* A part is never longer than a batch. */
	EXPECT_EQ(rpcrdma_sq_part_pages(&q.sq, 19), 19 * turn);
	EXPECT_EQ(rpcrdma_sq_part_pages(&shortest.sq, 19), 19u);
}

TEST(SendQueue, WritesAreChainedToAShortReply)
{
	queue q{ 116, 200 };
	const u32 turn = rpcrdma_sq_max_batch_wrs(&q.sq);
	const u32 most = 116 - q.sq.batch;

	EXPECT_TRUE(rpcrdma_sq_in_chain(&q.sq, 1, turn));
	EXPECT_FALSE(rpcrdma_sq_in_chain(&q.sq, 1, turn + 1));
	/* With MRs of a pulled Reply */
	EXPECT_TRUE(rpcrdma_sq_in_chain(&q.sq, most - turn, turn));
	EXPECT_FALSE(rpcrdma_sq_in_chain(&q.sq, most - turn + 1, turn));
	/* Without MRs the chain is accepted, even if the Reply itself is too long. */
	EXPECT_TRUE(rpcrdma_sq_in_chain(&q.sq, most + 1, 0));
}

TEST(SendQueue, OneOfABatchIsSignaled)
{
	queue q{ 128, 200 };

	for (u32 i = 1; i <= 64; i++) {
		ASSERT_TRUE(rpcrdma_sq_may_call(q.conn(), &q.sq));
		ASSERT_EQ(q.call(1), RPCRDMA_SQ_GO);
		EXPECT_EQ(q.flight.back().wrs.signaled, i % 16 == 0) << i;
	}
	/*
	 * A chain that requests it is signaled, and the next signaled chain
	 * comes later.
	 */
	q.post(3, true, true);
	EXPECT_TRUE(q.flight.back().wrs.signaled);
	for (u32 i = 1; i < 16; i++) {
		q.post(1, true);
		EXPECT_FALSE(q.flight.back().wrs.signaled);
	}
	q.post(1, true);
	EXPECT_TRUE(q.flight.back().wrs.signaled);
}

/* Every chain is signaled when contexts become few. */
TEST(SendQueue, LastContextsAreSignaled)
{
	queue q{ 1000 };
	u32 n = 0;

	while (rpcrdma_sq_may_call(q.conn(), &q.sq)) {
		ASSERT_EQ(q.call(1), RPCRDMA_SQ_GO);
		if (q.sq.contexts < 2 * RPCRDMA_CONTROL_SENDS) {
			EXPECT_TRUE(q.flight.back().wrs.signaled) << n;
		}
		n++;
	}
	EXPECT_EQ(n, SENDS);
	/* A Call begun meanwhile is refused, too. */
	EXPECT_EQ(q.call(1), RPCRDMA_SQ_WAIT);
}

TEST(SendQueue, ControlMessagesHaveTheLastContexts)
{
	queue q{ 1000 };
	u32 replies = 0, others = 0, control = 0;

	while (rpcrdma_sq_can_reserve_reply(&q.sq)) {
		ASSERT_TRUE(rpcrdma_sq_can_reserve_reply_hint(&q.sq));
		ASSERT_TRUE(rpcrdma_sq_reserve_reply(&q.sq));
		replies++;
	}
	EXPECT_FALSE(rpcrdma_sq_can_reserve_reply_hint(&q.sq));
	EXPECT_EQ(replies, SENDS - REVERSE);
	while (q.call(1) == RPCRDMA_SQ_GO)
		others++;
	EXPECT_EQ(others, REVERSE);
	EXPECT_FALSE(rpcrdma_sq_get_context(&q.sq));
	while (q.sq.contexts) {
		rpcrdma_conn_queue_done(q.conn(), control, 0);
		ASSERT_EQ(q.next_action(), RPCRDMA_SQ_POST_CONTROL);
		ASSERT_GT(q.end->control().size(), 0u);
		control++;
	}
	EXPECT_EQ(control, u32{ RPCRDMA_CONTROL_SENDS });
	/* Without a context, the control message waits. */
	rpcrdma_conn_queue_done(q.conn(), control, 0);
	EXPECT_EQ(q.next_action(), RPCRDMA_SQ_IDLE);
	EXPECT_TRUE(rpcrdma_sq_has_waiters(&q.sq));
	rpcrdma_sq_give(&q.sq);
	EXPECT_EQ(q.next_action(), RPCRDMA_SQ_POST_CONTROL);
}

/* A peer that sends Calls and grants nothing fills buffers with Replies. */
TEST(SendQueue, NoCallIsBegunWhileManyRepliesWait)
{
	queue q{ 1000 };
	u32 taken;

	/* Any number of Replies may be reserved while none has to wait. */
	for (taken = 0; taken < REPLIES + 5; taken++)
		ASSERT_TRUE(rpcrdma_sq_reserve_reply(&q.sq));
	EXPECT_TRUE(rpcrdma_sq_can_reserve_reply(&q.sq));
	q.conn()->limit = q.conn()->sent;
	ASSERT_EQ(q.reply(1), RPCRDMA_SQ_WAIT);
	EXPECT_FALSE(rpcrdma_sq_can_reserve_reply_hint(&q.sq));
	EXPECT_FALSE(rpcrdma_sq_reserve_reply(&q.sq));
	for (; taken >= REPLIES; taken--) {
		EXPECT_FALSE(q.pump()) << taken;
		rpcrdma_sq_give(&q.sq);
	}
	EXPECT_TRUE(q.pump());
	ASSERT_TRUE(rpcrdma_sq_reserve_reply(&q.sq));
	EXPECT_FALSE(rpcrdma_sq_reserve_reply(&q.sq));
	/* The Reply is posted, and none waits any more. */
	q.conn()->limit++;
	EXPECT_TRUE(q.pump());
	EXPECT_TRUE(rpcrdma_sq_reserve_reply(&q.sq));

	/* A continued Reply that waits counts, too. */
	ASSERT_EQ(rpcrdma_sq_reply_waits(&q.sq, 1), RPCRDMA_SQ_WAIT);
	EXPECT_FALSE(rpcrdma_sq_can_reserve_reply(&q.sq));
}

TEST(SendQueue, HasWaiters)
{
	queue transfer, message, call;

	EXPECT_FALSE(rpcrdma_sq_has_waiters_hint(&transfer.sq));
	EXPECT_FALSE(rpcrdma_sq_must_ask(&transfer.sq, true));
	while (transfer.transfer(8) == RPCRDMA_SQ_GO)
		EXPECT_FALSE(rpcrdma_sq_has_waiters_hint(&transfer.sq));
	EXPECT_TRUE(rpcrdma_sq_has_waiters_hint(&transfer.sq));
	/* The Call may be refused, so that the caller asks before it maps memory. */
	EXPECT_TRUE(rpcrdma_sq_must_ask(&transfer.sq, true));
	EXPECT_FALSE(rpcrdma_sq_must_ask(&transfer.sq, false));

	message.conn()->limit = message.conn()->sent;
	ASSERT_EQ(message.reply(1), RPCRDMA_SQ_WAIT);
	EXPECT_TRUE(rpcrdma_sq_has_waiters_hint(&message.sq));

	call.conn()->limit = call.conn()->sent;
	ASSERT_EQ(call.call(1), RPCRDMA_SQ_WAIT);
	EXPECT_TRUE(rpcrdma_sq_has_waiters_hint(&call.sq));
}

/* The contexts reserved for this end's own Calls are reserved in any case. */
TEST(SendQueue, TheReserveIsNeverLess)
{
	rpcrdma_sq sq;

	for (u32 replies : { 0u, 1u, SENDS, CONTEXTS, ~0u }) {
		rpcrdma_sq_init(&sq, DEPTH, SENDS, REVERSE, replies);
		for (u32 i = 0; i < RPCRDMA_CONTROL_SENDS + REVERSE; i++)
			rpcrdma_sq_give(&sq);
		EXPECT_FALSE(rpcrdma_sq_can_reserve_reply(&sq));
		rpcrdma_sq_enqueue_message(&sq);
		EXPECT_FALSE(rpcrdma_sq_can_reserve_reply(&sq)) << replies;
	}
	rpcrdma_sq_give(&sq);
	EXPECT_TRUE(rpcrdma_sq_can_reserve_reply(&sq));
}

/* A transfer that needs many slots at once, among Replies that need few */
TEST(SendQueue, SmallMessagesDoNotStarveTransfers)
{
	queue q;
	u32 n = 0;

	while (q.sq.posted - q.sq.retired < DEPTH)
		q.post(1, false, true);
	ASSERT_EQ(q.transfer(50), RPCRDMA_SQ_WAIT);
	for (int i = 0; i < 20; i++)
		ASSERT_EQ(q.reply(1), RPCRDMA_SQ_WAIT);
	EXPECT_EQ(q.call(1), RPCRDMA_SQ_WAIT);
	while (!q.transfers.empty()) {
		ASSERT_NE(q.reporter(), q.flight.end());
		q.complete(q.reporter());
		q.pump();
		n++;
	}
	EXPECT_EQ(n, 50u);
	/* After it the other messages are posted, Replies first. */
	q.complete(q.reporter());
	EXPECT_FALSE(q.pump());
	EXPECT_EQ(q.messages.size(), 19u);
	for (bool retry = false; !retry;) {
		ASSERT_NE(q.reporter(), q.flight.end());
		q.complete(q.reporter());
		retry = q.pump();
		EXPECT_EQ(retry, q.messages.empty());
	}
	EXPECT_EQ(q.call(1), RPCRDMA_SQ_GO);
}

/* Transfers do not keep Replies waiting forever, because they end. */
TEST(SendQueue, MessagesFollowTransfers)
{
	queue q;

	ASSERT_EQ(q.transfer(54), RPCRDMA_SQ_GO);
	ASSERT_EQ(q.transfer(54), RPCRDMA_SQ_WAIT);
	ASSERT_EQ(q.transfer(54), RPCRDMA_SQ_WAIT);
	ASSERT_EQ(q.reply(11), RPCRDMA_SQ_WAIT);
	q.complete(q.reporter());
	q.pump();
	EXPECT_EQ(q.transfers.size(), 1u);
	EXPECT_EQ(q.messages.size(), 1u);
	q.complete(q.reporter());
	q.pump();
	EXPECT_EQ(q.transfers.size(), 0u);
	EXPECT_EQ(q.messages.size(), 1u);
	q.complete(q.reporter());
	q.pump();
	EXPECT_TRUE(q.messages.empty());
}

/* A Reply with many Writes, among Calls of this end */
TEST(SendQueue, CallsDoNotStarveReplies)
{
	queue q;

	while (q.sq.posted - q.sq.retired < DEPTH)
		q.post(1, false, true);
	ASSERT_EQ(q.reply(40), RPCRDMA_SQ_WAIT);
	for (int i = 0; i < 39; i++) {
		q.complete(q.reporter());
		EXPECT_FALSE(q.pump());
		EXPECT_FALSE(rpcrdma_sq_may_call(q.conn(), &q.sq));
		EXPECT_EQ(q.call(1), RPCRDMA_SQ_WAIT);
	}
	q.complete(q.reporter());
	q.pump();
	EXPECT_TRUE(q.messages.empty());
}

/*
 * A Reply that could be posted does not overtake one that waits for more slots.
 */
TEST(SendQueue, RepliesKeepTheirOrder)
{
	queue q;

	while (q.sq.posted - q.sq.retired < DEPTH)
		q.post(1, false, true);
	ASSERT_EQ(q.reply(2), RPCRDMA_SQ_WAIT);
	q.complete(q.reporter());
	EXPECT_FALSE(q.pump());
	EXPECT_EQ(q.reply(1), RPCRDMA_SQ_WAIT);
	q.complete(q.reporter());
	q.pump();
	EXPECT_EQ(q.messages, std::deque<u32>{ 1 });
}

TEST(SendQueue, ControlMessagesGoFirst)
{
	queue q;

	while (q.sq.posted - q.sq.retired < DEPTH)
		q.post(1, false, true);
	ASSERT_EQ(q.transfer(2), RPCRDMA_SQ_WAIT);
	ASSERT_EQ(q.reply(1), RPCRDMA_SQ_WAIT);
	rpcrdma_conn_queue_done(q.conn(), 1, 0);
	EXPECT_EQ(q.next_action(), RPCRDMA_SQ_IDLE);
	q.complete(q.reporter());
	EXPECT_EQ(q.next_action(), RPCRDMA_SQ_POST_CONTROL);
	/*
	 * A waiting control message is sent before a Reply that lacks nothing
	 * else.
	 */
	queue other;

	rpcrdma_conn_queue_done(other.conn(), 1, 0);
	EXPECT_EQ(other.reply(1), RPCRDMA_SQ_WAIT);
	EXPECT_EQ(other.next_action(), RPCRDMA_SQ_POST_CONTROL);
}

/* The fragments of a continued message are not interleaved with other messages. */
TEST(SendQueue, PartsStayTogether)
{
	queue q;
	rpcrdma_sq_first first{};

	ASSERT_EQ(rpcrdma_sq_continued_call(q.conn(), &q.sq, 3, true),
		  RPCRDMA_SQ_GO);
	EXPECT_EQ(q.sq.contexts, CONTEXTS - 1);
	q.end->send(RPCRDMA_KIND_CALL, 1, RDMA2_F_MORE);
	EXPECT_EQ(q.reply(1), RPCRDMA_SQ_WAIT);
	EXPECT_EQ(q.call(1), RPCRDMA_SQ_WAIT);
	EXPECT_FALSE(rpcrdma_sq_may_call(q.conn(), &q.sq));

	first.message_wrs = 1;
	first.kind = RPCRDMA_KIND_CALL;
	first.parts = 1;
	first.more = 1;
	EXPECT_EQ(rpcrdma_sq_next(q.conn(), &q.sq, &first),
		  RPCRDMA_SQ_POST_MESSAGE);
	q.end->send(RPCRDMA_KIND_CALL, 1, RDMA2_F_MORE);
	EXPECT_EQ(q.sq.messages, 2u);
	first.more = 0;
	EXPECT_EQ(rpcrdma_sq_next(q.conn(), &q.sq, &first),
		  RPCRDMA_SQ_POST_MESSAGE);
	q.end->send(RPCRDMA_KIND_CALL, 1);
	EXPECT_EQ(q.sq.messages, 1u);
	EXPECT_EQ(q.sq.contexts, CONTEXTS - 3);
	/* Now the Reply is posted, and then the Calls. */
	EXPECT_TRUE(q.pump());
	EXPECT_TRUE(q.messages.empty());
	/* A message with a single fragment leaves no state. */
	ASSERT_EQ(rpcrdma_sq_continued_call(q.conn(), &q.sq, 1, false),
		  RPCRDMA_SQ_GO);
	EXPECT_EQ(q.sq.messages, 0u);
	EXPECT_EQ(q.call(1), RPCRDMA_SQ_GO);
}

/* Fragments use contexts, but not the last ones. */
TEST(SendQueue, PartsWaitForContexts)
{
	queue q{ 1000 };
	rpcrdma_sq_first first{};

	while (rpcrdma_sq_get_context(&q.sq))
		;
	EXPECT_EQ(rpcrdma_sq_continued_call(q.conn(), &q.sq, 1, true),
		  RPCRDMA_SQ_WAIT);
	ASSERT_EQ(rpcrdma_sq_reply_waits(&q.sq, 1), RPCRDMA_SQ_WAIT);
	first.message_wrs = 1;
	first.kind = RPCRDMA_KIND_REPLY;
	first.parts = 1;
	EXPECT_EQ(rpcrdma_sq_next(q.conn(), &q.sq, &first), RPCRDMA_SQ_IDLE);
	rpcrdma_sq_give(&q.sq);
	EXPECT_EQ(rpcrdma_sq_next(q.conn(), &q.sq, &first),
		  RPCRDMA_SQ_POST_MESSAGE);
}

/* A refused sender is notified, once, and only when a retry is worthwhile. */
TEST(SendQueue, RefusedSendersAreNotified)
{
	queue q;

	while (q.sq.posted - q.sq.retired < DEPTH)
		q.post(1, false, true);
	EXPECT_EQ(q.call(3), RPCRDMA_SQ_WAIT);
	EXPECT_EQ(q.call(1), RPCRDMA_SQ_WAIT);
	EXPECT_TRUE(rpcrdma_sq_waiting_kinds(&q.sq));
	for (int i = 0; i < 2; i++) {
		q.complete(q.reporter());
		EXPECT_FALSE(q.pump());
	}
	q.complete(q.reporter());
	EXPECT_TRUE(q.pump());
	EXPECT_FALSE(q.pump());
	EXPECT_FALSE(rpcrdma_sq_has_waiters(&q.sq));
	EXPECT_FALSE(rpcrdma_sq_waiting_kinds(&q.sq));

	/* A Reply needs a context, and no credits for Calls. */
	while (rpcrdma_sq_get_context(&q.sq))
		;
	EXPECT_FALSE(rpcrdma_sq_reserve_reply(&q.sq));
	q.conn()->limit = q.conn()->sent;
	EXPECT_FALSE(q.pump());
	rpcrdma_sq_give(&q.sq);
	EXPECT_TRUE(q.pump());
	for (u32 i = 1; i < REVERSE; i++) {
		rpcrdma_sq_give(&q.sq);
		EXPECT_FALSE(q.pump());
	}
	rpcrdma_sq_give(&q.sq);
	EXPECT_TRUE(q.pump());
	EXPECT_FALSE(rpcrdma_sq_has_waiters(&q.sq));
}

/*
 * Refusals are recorded separately: a notification for one does not replace
 * that for another.
 */
TEST(SendQueue, EachRefusalIsRecorded)
{
	for (int sort = 0; sort < 3; sort++) {
		queue q;

		while (q.sq.posted - q.sq.retired < DEPTH)
			q.post(1, false, true);
		EXPECT_FALSE(rpcrdma_sq_has_waiters(&q.sq));
		if (sort == 0) {
			EXPECT_FALSE(rpcrdma_sq_may_call(q.conn(), &q.sq));
		} else if (sort == 1) {
			EXPECT_EQ(rpcrdma_sq_continued_call(q.conn(), &q.sq, 1,
							    true),
				  RPCRDMA_SQ_WAIT);
		} else {
			rpcrdma_conn_queue_done(q.conn(), 1, 0);
			EXPECT_EQ(q.next_action(), RPCRDMA_SQ_IDLE);
		}
		EXPECT_TRUE(rpcrdma_sq_has_waiters(&q.sq)) << sort;
		/* In the case of credits, no control message waits. */
		EXPECT_EQ(rpcrdma_sq_waiting_kinds(&q.sq), sort < 2);
		q.complete(q.reporter());
		EXPECT_EQ(q.next_action(), sort < 2 ? RPCRDMA_SQ_NOTIFY :
						      RPCRDMA_SQ_POST_CONTROL);
		EXPECT_FALSE(rpcrdma_sq_has_waiters(&q.sq));
	}
}

/* siw: Sends complete while earlier Reads are in progress. */
TEST(SendQueue, ReadsAreNotCovered)
{
	queue q{ DEPTH, 200 };

	ASSERT_EQ(q.transfer(10), RPCRDMA_SQ_GO);
	q.post(1, true);
	q.post(1, true, true);
	q.complete(std::prev(q.flight.end()));
	/* The Read is still in flight, and no later work is released. */
	ASSERT_EQ(q.flight.size(), 1u);
	EXPECT_EQ(q.sq.posted - q.sq.retired, 12u);
	q.complete(q.reporter());
	EXPECT_EQ(q.sq.posted, q.sq.retired);
}

/*
 * Invariant for any order of completions: while something waits, a completion
 * is outstanding, or a sender holds a context that it will post or release. In
 * the end nothing waits.
 */
void walk(u64 seed)
{
	generator choose{ seed };
	const u32 depth = 32 + choose.below(100), sends = 1 + choose.below(70);
	queue q{ depth, sends, 1 + choose.below(10) };
	const u32 most = q.sq.depth - q.sq.batch;
	u32 ahead = 0, taken = 0;
	const bool reorders = choose.chance(50);
	/* Most chains that are posted need few slots. */
	const auto some = [&choose, most] {
		return 1 + choose.below(choose.chance(80) ? std::min(most, 4u) :
							    most);
	};

	for (int i = 0; i < 3000; i++) {
		const bool drain = i >= 2500;

		q.conn()->limit = q.conn()->sent + 1000;
		switch (choose.below(drain ? 5 : 9)) {
		case 0:
		case 1: {
			const u32 skip = reorders ? choose.below(3) : 0;
			auto first = q.reporter(skip);

			if (first == q.flight.end())
				first = q.reporter();
			if (first != q.flight.end())
				q.complete(first);
			break;
		}
		case 2:
			if (!drain)
				q.call(some());
			break;
		case 3:
			if (!ahead)
				break;
			ahead--;
			q.reply(some());
			break;
		case 4: /* a held context, with a message to send */
			if (taken) {
				taken--;
				q.reply(1);
			}
			break;
		case 5:
			rpcrdma_sq_may_call(q.conn(), &q.sq);
			break;
		case 6:
			ahead += rpcrdma_sq_reserve_reply(&q.sq);
			break;
		case 7:
			taken += rpcrdma_sq_get_context(&q.sq);
			break;
		case 8:
			if (choose.chance(40))
				q.transfer(some());
			else if (choose.chance(20))
				rpcrdma_conn_queue_done(q.conn(), 1, 0);
			break;
		}
		q.pump();
		if (rpcrdma_sq_has_waiters(&q.sq)) {
			ASSERT_TRUE(ahead || taken ||
				    q.reporter() != q.flight.end())
				<< "seed " << seed << " step " << i;
		}
		ASSERT_LE(q.sq.contexts, sends + RPCRDMA_CONTROL_SENDS);
	}
	ASSERT_EQ(ahead + taken, 0u) << "seed " << seed;
	while (q.reporter() != q.flight.end()) {
		q.complete(q.reporter());
		q.pump();
	}
	EXPECT_FALSE(rpcrdma_sq_has_waiters(&q.sq)) << "seed " << seed;
	EXPECT_EQ(q.sq.contexts + q.flight.size(),
		  sends + RPCRDMA_CONTROL_SENDS);
}

TEST(SendQueue, ACompletionIsAlwaysPending)
{
	for (u64 seed = 1; seed <= 100 && !testing::Test::HasFailure(); seed++)
		walk(seed);
}

} // namespace
