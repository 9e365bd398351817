// SPDX-License-Identifier: GPL-2.0
/* Version 1: credits (RFC 8166) */
#include "protocol_v1.hh"

using namespace engine_test;
using namespace engine_test::version1;

/* The fast path leaves the same state as the slow path. */
TEST(CreditsV1, APlainReply)
{
	auto e = client1();

	header_of(*e, RPCRDMA_KIND_CALL, X);
	EXPECT_EQ(rpcrdma_conn_answer(&e->conn, RPCRDMA_END_NONE),
		  RPCRDMA_ANSWER_NOT_YET);
	for (u32 i = 0; i < 3; i++) {
		EXPECT_EQ(e->receive(inline_msg(X, REPLY, 7)),
			  RPCRDMA_RX_REPLY);
		EXPECT_EQ(rpcrdma_conn_answer(&e->conn, RPCRDMA_END_NONE),
			  RPCRDMA_ANSWER_V1);
		/* The window as debugfs shows it */
		EXPECT_EQ(e->conn.limit - e->conn.sent, 7u);
		EXPECT_EQ(e->conn.advertised - e->conn.received,
			  e->conn.cfg.reverse);
	}
}

/*
 * Receives are withheld only while there are enough for the expected Replies.
 */
TEST(CreditsV1, WithheldReceivesArePostedWhenFewAreLeft)
{
	auto e = client1();
	u32 n = 0;

	for (u32 i = 0; i < 3; i++) {
		ASSERT_EQ(e->receive(inline_msg(X, REPLY, 7), true),
			  RPCRDMA_RX_REPLY);
		ASSERT_EQ(rpcrdma_recvs_released(&e->conn), 0u);
	}
	while (!(e->events & RPCRDMA_EV_RECEIVES)) {
		ASSERT_LT(n++, 30u);
		ASSERT_EQ(e->receive(inline_msg(X, REPLY, 7), true),
			  RPCRDMA_RX_REPLY);
	}
	EXPECT_EQ(rpcrdma_recvs_to_post(&e->conn, 0), 3u);
}

TEST(CreditsV1, GrantIsAbsoluteAndMayShrink)
{
	auto e = client1();
	u32 xid = 1, answered = 1;

	header_of(*e, RPCRDMA_KIND_CALL, xid++);
	e->receive(inline_msg(answered++, REPLY, 4));
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(may_call(*e)) << i;
		header_of(*e, RPCRDMA_KIND_CALL, xid++);
	}
	EXPECT_FALSE(may_call(*e));

	/* Three Calls are outstanding, and two are permitted. */
	e->receive(inline_msg(answered++, REPLY, 2));
	EXPECT_FALSE(e->events & RPCRDMA_EV_WINDOW);
	EXPECT_FALSE(may_call(*e));
	e->receive(inline_msg(answered++, REPLY, 2));
	EXPECT_FALSE(may_call(*e));
	e->receive(inline_msg(answered++, REPLY, 2));
	EXPECT_TRUE(e->events & RPCRDMA_EV_WINDOW);
	EXPECT_TRUE(may_call(*e));

	/* A grant of zero would stop all Calls. */
	e->receive(inline_msg(answered++, REPLY, 0));
	EXPECT_TRUE(may_call(*e));
	header_of(*e, RPCRDMA_KIND_CALL, xid++);
	EXPECT_FALSE(may_call(*e));
	/* An ERROR is an answer, too. */
	e->receive(fixed(answered++, ERROR, 1).word(ERR_CHUNK));
	EXPECT_TRUE(may_call(*e));
}

TEST(CreditsV1, NotMoreThanThereAreReceives)
{
	auto e = client1(16); /* of which 8 are for reverse Calls */

	header_of(*e, RPCRDMA_KIND_CALL, 1);
	/* The Receive of this Reply is still held, which leaves 16 Receives. */
	e->receive(inline_msg(1, REPLY, 1000), true);
	for (u32 i = 0; i < 8; i++) {
		ASSERT_TRUE(may_call(*e)) << i;
		header_of(*e, RPCRDMA_KIND_CALL, 2 + i);
	}
	EXPECT_FALSE(may_call(*e));
	/* Seven more Calls are outstanding, and one Receive is missing. */
	e->receive(inline_msg(2, REPLY, 1000), true);
	EXPECT_FALSE(may_call(*e));
	e->post(1);
	EXPECT_TRUE(e->events & RPCRDMA_EV_WINDOW);
	EXPECT_TRUE(may_call(*e));
}

TEST(CreditsV1, HeaderCredits)
{
	auto c = client1();
	auto s = server1();

	/* 32 Receives, 8 of them for the reverse direction */
	EXPECT_EQ(header_of(*c, RPCRDMA_KIND_CALL, X).get(8), 24u);
	EXPECT_EQ(header_of(*c, RPCRDMA_KIND_REPLY, X).get(8), 8u);
	EXPECT_EQ(header_of(*s, RPCRDMA_KIND_REPLY, X).get(8), 24u);
	EXPECT_EQ(header_of(*s, RPCRDMA_KIND_CALL, X).get(8), 8u);
	/* The credits of the version of the first message apply (4.2.3.3). */
	for (end *e : { c.get(), s.get() }) {
		EXPECT_EQ(header_of(*e, RPCRDMA_KIND_CALL, X).get(4), 1u);
		EXPECT_EQ(header_of(*e, RPCRDMA_KIND_REPLY, X).get(4), 1u);
	}
}

/*
 * ---- A server's grants, which are absolute and backed by existing Receives
 * ----
 */

class server_window
{
public:
	static constexpr u32 MOST = 64, REVERSE = 4;

	explicit server_window(u32 first = 4)
	{
		auto cfg = config(false);

		cfg.window = MOST;
		cfg.first_window = first;
		cfg.reverse = REVERSE;
		e = std::make_unique<end>(cfg);
		make();
	}

	/*
	 * Allocate the Receives that are wanted, as far as there is memory for
	 * them.
	 */
	void make(u32 memory = ~0u)
	{
		const rpcrdma_receives want = rpcrdma_recvs_to_alloc(&e->conn);

		if (want.count) {
			asked++;
			need = want.need;
			events = rpcrdma_recvs_allocated(
				&e->conn, std::min(want.count, memory));
		}
		post();
	}

	void post()
	{
		const u32 count = rpcrdma_recvs_to_post(&e->conn, 0);

		if (count)
			e->post(count);
	}

	u32 on_device() const
	{
		return e->conn.posted - e->conn.received;
	}

	/* Receive a Call, which keeps its Receive. */
	void call()
	{
		ASSERT_GT(on_device(), 0u);
		ASSERT_EQ(e->receive(inline_msg(++xid, CALL), true),
			  RPCRDMA_RX_CALL);
	}

	/* Send its Reply. Return the credits that it grants. */
	u32 reply()
	{
		const u32 grant = header_of(*e, RPCRDMA_KIND_REPLY, xid).get(8);

		rpcrdma_recvs_released(&e->conn);
		post();
		return grant;
	}

	std::unique_ptr<end> e;
	u32 xid = 0, asked = 0, events = 0;
	rpcrdma_receives_need need = RPCRDMA_RECEIVES_NEEDED;
};

/*
 * The first Call may be answered before the Receives for others are allocated.
 */
TEST(CreditsV1, GrantsAreBackedByReceives)
{
	server_window s;

	s.call();
	EXPECT_TRUE(s.e->events & RPCRDMA_EV_RECEIVES);
	EXPECT_EQ(s.reply(), 1u);
	s.make();
	EXPECT_EQ(s.need, RPCRDMA_RECEIVES_WANTED);
	s.call();
	EXPECT_EQ(s.reply(), +RPCRDMA_USUAL_WINDOW);
	EXPECT_EQ(s.on_device() + s.e->conn.recvs_withheld,
		  RPCRDMA_USUAL_WINDOW + s.REVERSE + 1 +
			  RPCRDMA_V1_SPARE_RECEIVES);
}

/* If windows do not adapt, the full window is granted. */
TEST(CreditsV1, TheFullWindowIsGranted)
{
	server_window s{ server_window::MOST };

	s.call();
	s.make();
	EXPECT_EQ(s.reply(), s.MOST - s.REVERSE);
}

/* While a client uses few of its credits, there is no reason to grant more. */
TEST(CreditsV1, AGrantThatIsHardlyUsedDoesNotGrow)
{
	server_window s;
	u32 grant = 0;

	for (u32 i = 0; i < 30; i++) {
		s.call();
		s.make();
		grant = s.reply();
	}
	EXPECT_EQ(grant, +RPCRDMA_USUAL_WINDOW);
	EXPECT_EQ(s.asked, 2u);
}

/*
 * A connection in use gets the full window, however few Calls are in progress
 * at a time.
 */
TEST(CreditsV1, AGrantThatIsUsedGrowsToTheLast)
{
	for (u32 at_once : { 1u, 3u, 16u }) {
		server_window s;
		u32 grant = 1, calls = 0;

		while (grant < s.MOST - s.REVERSE) {
			const u32 n = std::min(grant, at_once);

			ASSERT_LT(calls, 200u);
			for (u32 i = 0; i < n; i++)
				s.call();
			calls += n;
			s.make();
			for (u32 i = 0; i < n; i++) {
				const u32 granted = s.reply();

				s.make();
				EXPECT_GE(granted, grant);
				grant = granted;
			}
		}
		EXPECT_EQ(grant, s.MOST - s.REVERSE);
		EXPECT_GT(calls, 100u);
		EXPECT_EQ(s.asked, 4u);
		EXPECT_EQ(s.e->conn.receives,
			  rpcrdma_window_receives(s.MOST) +
				  RPCRDMA_V1_SPARE_RECEIVES);
	}
}

/*
 * Without memory the grant does not grow, and memory is not requested with each
 * Call.
 */
TEST(CreditsV1, AServerWithoutMemoryGrantsLess)
{
	server_window s;

	s.call();
	s.make(3);
	EXPECT_EQ(s.e->conn.state, RPCRDMA_CONN_OPEN);
	EXPECT_EQ(s.reply(), 1u);
	for (u32 i = 0; i < 100; i++) {
		s.call();
		s.make(0);
		EXPECT_EQ(s.reply(), 1u);
	}
	EXPECT_EQ(s.e->conn.state, RPCRDMA_CONN_OPEN);
	EXPECT_LT(s.asked, 30u);
	EXPECT_EQ(s.on_device() + s.e->conn.recvs_withheld, 4u + 1 + 3);
	/* Once memory is available again, the grant grows. */
	for (u32 i = 0; i < 10; i++) {
		s.call();
		s.make();
		s.reply();
	}
	EXPECT_GT(s.reply(), 1u);
}

/* The Reply to a callback needs a Receive, too. */
TEST(CreditsV1, ReverseCallsWaitForReceives)
{
	server_window s;
	u32 out = 0;

	s.call();
	for (; may_call(*s.e); out++) {
		ASSERT_LT(out, 10u);
		header_of(*s.e, RPCRDMA_KIND_CALL, 100 + out);
		/* The client permits many reverse Calls. */
		s.e->conn.call_limit = 10;
	}
	EXPECT_LT(out, s.on_device() + 1);
	s.make();
	EXPECT_TRUE(s.events & RPCRDMA_EV_WINDOW);
	EXPECT_TRUE(may_call(*s.e));
}

/*
 * A client always uses its full grant, with Replies in any order and at any
 * time, and Receives allocated at any time, or not. Each of its messages finds
 * a Receive.
 */
TEST(CreditsV1, EachCallFindsAReceive)
{
	for (u32 seed = 1; seed <= 200; seed++) {
		std::minstd_rand random{ seed };
		const auto below = [&](u32 n) {
			return static_cast<u32>(random() % n);
		};
		server_window s{ below(2) ? 4u : 16u };
		u32 granted = 1, held = 0, under_way = 0;

		for (u32 i = 0; i < 2000; i++) {
			if (under_way < granted && below(3)) {
				under_way++;
				ASSERT_NO_FATAL_FAILURE(s.call());
				held++;
			} else if (held && below(2)) {
				granted = s.reply();
				held--;
				under_way--;
			} else if (!below(4)) {
				s.make(below(2) ? ~0u : below(8));
			}
		}
		ASSERT_EQ(s.e->conn.state, RPCRDMA_CONN_OPEN);
	}
}

/* A grant of zero would stop all Calls. */
TEST(CreditsV1, NeverGrantsZero)
{
	for (u32 window : { 0u, 1u, 4u }) {
		for (u32 reverse : { 0u, 1u, 4u, 100u }) {
			for (bool client : { true, false }) {
				auto cfg = config(client, 1, 1);

				cfg.window = window;
				cfg.reverse = reverse;

				end e{ cfg };

				e.post(10);
				if (client)
					rpcrdma_conn_established(&e.conn);
				e.receive(inline_msg(X, CALL));
				EXPECT_GT(header_of(e, RPCRDMA_KIND_REPLY, X)
						  .get(8),
					  0u);
				EXPECT_GT(header_of(e, RPCRDMA_KIND_CALL, X)
						  .get(8),
					  0u);
			}
		}
	}
}

/* Only Calls need credits. */
TEST(CreditsV1, RepliesNeedNoCredit)
{
	auto e = server1();

	for (u32 i = 0; i < 100; i++) {
		ASSERT_TRUE(
			rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
		header_of(*e, RPCRDMA_KIND_REPLY, i);
		ASSERT_EQ(e->receive(inline_msg(i + 1, CALL)), RPCRDMA_RX_CALL);
	}
}

/*
 * Replies do not wait for a window. If a Reply waits for slots each time the
 * stall is checked, and a reverse Call has no answer, the peer owes nothing for
 * that.
 */
TEST(StallV1, OnlyOfCalls)
{
	auto e = server1();
	rpcrdma_sq sq = {};
	rpcrdma_stall stall;

	rpcrdma_sq_enqueue_message(&sq);
	header_of(*e, RPCRDMA_KIND_CALL, 100);
	ASSERT_FALSE(may_call(*e));
	for (u32 now = 1000; now < 200000; now += 60000) {
		stall = rpcrdma_conn_stalled(
			&e->conn, rpcrdma_sq_waiting_kinds(&sq), now);
		EXPECT_EQ(stall.wait, 0u);
		EXPECT_EQ(stall.events, 0u);
		for (u32 i = 0; i < 100; i++) {
			e->receive(inline_msg(X + i, CALL));
			header_of(*e, RPCRDMA_KIND_REPLY, X + i);
		}
	}
	ASSERT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);

	/* A Call that waits for an answer does count. */
	EXPECT_FALSE(rpcrdma_sq_may_call(&e->conn, &sq));
	stall = rpcrdma_conn_stalled(&e->conn, rpcrdma_sq_waiting_kinds(&sq),
				     200000);
	EXPECT_EQ(stall.wait, 60000u);
	stall = rpcrdma_conn_stalled(&e->conn, rpcrdma_sq_waiting_kinds(&sq),
				     260000);
	EXPECT_EQ(stall.events, +RPCRDMA_EV_CLOSE);
}
