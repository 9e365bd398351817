// SPDX-License-Identifier: GPL-2.0
/* Credit windows (WP 3) */
#include "credits.hh"

using namespace engine_test;
using namespace engine_test::credits;

namespace
{

/*
 * More Receives are posted than were advertised, and the peer has used all that
 * were advertised.
 */
TEST(Window, ACallThatLeavesTwoIsAnsweredByAGrant)
{
	auto e = open_server();
	u32 left = 0;

	/* Too few new Receives for a separate credit grant */
	e->send(RPCRDMA_KIND_REPLY, 1);
	e->post(10);
	ASSERT_FALSE(e->events & RPCRDMA_EV_CONTROL);
	for (u32 i = 0; !(e->events & RPCRDMA_EV_CONTROL); i++) {
		left = e->conn.advertised - e->conn.received;
		ASSERT_GT(left, 2u);
		ASSERT_EQ(e->receive(message()
					     .prefix(i, RDMA2_MSG, 0, 100,
						     e->conn.sent)
					     .no_lists()
					     .rpc(i, CALL, 64),
				     true),
			  RPCRDMA_RX_CALL);
	}
	EXPECT_EQ(left, 3u);
}

TEST(Window, OneMessageBeforeTheFirstHeader)
{
	end client{ usual_config(true) };

	client.post(33);
	rpcrdma_conn_established(&client.conn);
	EXPECT_EQ(client.control().size(), 112u);
	EXPECT_EQ(client.control().size(), 0u);
	EXPECT_FALSE(rpcrdma_conn_may_send(&client.conn, RPCRDMA_KIND_CALL));
	EXPECT_FALSE(rpcrdma_conn_may_send(&client.conn, RPCRDMA_KIND_REPLY));
	/* Not even a message that may use the complete window can be sent. */
	rpcrdma_conn_queue_error(&client.conn, 1, RDMA2_ERR_SYSTEM, 0, 0);
	EXPECT_EQ(client.control().size(), 0u);
	client.receive(connprop_of(usual_config(false), 16, 1));
	EXPECT_EQ(client.control().get(12), +RDMA2_ERROR);
}

TEST(Window, CallsLeaveTwoToReplies)
{
	auto e = open_server(6); /* its CONNPROP used one */
	u32 calls = 0, replies = 0;

	while (rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL)) {
		e->send(RPCRDMA_KIND_CALL, 1);
		calls++;
	}
	EXPECT_EQ(calls, 3u);
	while (rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY)) {
		e->send(RPCRDMA_KIND_REPLY, 1);
		replies++;
	}
	EXPECT_EQ(replies, 2u);
}

TEST(Window, PartsOfACallLeaveTwo)
{
	auto e = open_server(5);

	e->send(RPCRDMA_KIND_CALL, 1, RDMA2_F_MORE);
	ASSERT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	e->send(RPCRDMA_KIND_CALL, 1, RDMA2_F_MORE);
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	/* No other message is sent in between. */
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
	e->receive(grant(8, 1));
	EXPECT_TRUE(e->events & RPCRDMA_EV_WINDOW);
	ASSERT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
	e->send(RPCRDMA_KIND_CALL, 1);
	EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
}

/*
 * Receives of credit grants are replaced without notice. A Call may count on
 * them, but only if nothing else is outstanding.
 */
TEST(Window, UncountedGrantsLeaveCreditsForACall)
{
	auto e = open_server(4);

	e->receive(grant(3, 1));
	for (u32 i = 0; i < 16; i++)
		e->receive(reply(i, 3, 1));
	ASSERT_EQ(e->control().size(), 40u);
	ASSERT_EQ(e->conn.limit - e->conn.sent, 2u);
	EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	/* The peer counted the grant before its Receive was replaced. */
	e->receive(reply(1, 2, 2));
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	e->receive(grant(4, 2));
	EXPECT_TRUE(e->events & RPCRDMA_EV_WINDOW);
	EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));

	/* A Reply that the peer has not counted */
	e->send(RPCRDMA_KIND_REPLY, 1);
	for (u32 i = 0; i < 16; i++)
		e->receive(reply(i, 4, 2));
	ASSERT_EQ(e->control().size(), 40u);
	ASSERT_EQ(e->conn.limit - e->conn.sent, 2u);
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	/*
	 * The grant was counted. That is sufficient, although the limit stays
	 * the same.
	 */
	e->receive(grant(3, 3));
	EXPECT_EQ(e->conn.limit - e->conn.sent, 2u);
	EXPECT_TRUE(e->events & RPCRDMA_EV_WINDOW);
	EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
}

TEST(Window, LimitNeverMovesBack)
{
	auto e = open_server(10);

	EXPECT_EQ(e->conn.limit, 10u);
	e->receive(grant(2, 1));
	EXPECT_EQ(e->conn.limit, 10u);
	e->receive(grant(0, 0));
	EXPECT_EQ(e->conn.limit, 10u);
	/* As if 16 messages had been received before the connection began */
	e->receive(grant(0, 0xfffffff0));
	EXPECT_EQ(e->conn.limit, 10u);
	e->receive(grant(10, 1));
	EXPECT_EQ(e->conn.limit, 11u);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

TEST(Window, ClampsLargeCredits)
{
	for (u32 credit : { 65535u, 65536u, 0x7fffffffu, 0x80000000u, ~0u }) {
		auto e = open_server(10);

		e->receive(grant(credit, 1));
		EXPECT_EQ(e->conn.limit, 65536u);
		EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	}
}

TEST(Window, AdvertisesAtMostTheClamp)
{
	auto e = open_server();

	e->post(100000);
	EXPECT_EQ(e->send(RPCRDMA_KIND_REPLY, 1).get(8), 65535u);
	EXPECT_FALSE(rpcrdma_conn_control_due(&e->conn));
}

TEST(Window, ReceivedMoreThanSentCloses)
{
	for (u32 start : { 0u, 5u, 0x7ffffff0u, 0xfffffffeu, 0xffffffffu }) {
		for (u32 more : { 1u, 2u, 1000u, 0x7fffffffu }) {
			auto e = open_server(10);

			e->conn.sent += start;
			e->conn.limit += start;
			ASSERT_EQ(e->receive(grant(10, e->conn.sent)),
				  RPCRDMA_RX_CONSUMED);
			EXPECT_EQ(e->receive(grant(10, e->conn.sent + more)),
				  RPCRDMA_RX_CLOSE);
			EXPECT_TRUE(e->events & RPCRDMA_EV_CLOSE);
			EXPECT_NE(e->conn.reason, nullptr);
		}
	}
}

/* The count is older by the largest distance at which it is not yet newer. */
TEST(Window, AnOldCountChangesNothing)
{
	for (u32 behind : { 0x7ffffff0u, 0x7fffffffu, 0x80000000u }) {
		auto e = open_server(10);

		e->conn.sent += behind;
		e->conn.limit += behind;
		e->conn.acked += behind;
		ASSERT_EQ(e->receive(grant(10, e->conn.sent)),
			  RPCRDMA_RX_CONSUMED);

		const u32 limit = e->conn.limit, counted = e->conn.acked;

		for (u32 credit : { 0u, 1u, 9u, 100u, 65535u }) {
			e->receive(grant(credit, e->conn.sent - behind));
			EXPECT_EQ(e->conn.limit, limit) << behind;
			EXPECT_EQ(e->conn.acked, counted) << behind;
		}
		e->receive(grant(11, e->conn.sent));
		EXPECT_EQ(e->conn.limit, limit + 1);
	}
}

/* Refused messages update the credits, too. */
TEST(Window, EveryWholePrefixCounts)
{
	const message cases[] = {
		message().prefix(7, RDMA2_MSG, 0, 20, 1), /* no lists */
		message().prefix(7, 77, 0, 21, 1),	  /* unknown */
		message().prefix(7, RDMA2_DONE, 0, 22, 1),
		message().prefix(7, RDMA2_ERROR, RDMA2_F_RESPONSE, 23, 1),
		message().prefix(0, RDMA2_CONNPROP, 0, 24, 1),
	};
	auto e = open_server(10);
	u32 limit = 21;

	for (const message &m : cases) {
		e->receive(m);
		EXPECT_EQ(e->conn.limit, limit++);
	}
	/* A message without a complete prefix does not. */
	e->receive(message().prefix(7, RDMA2_MSG, 0, 99, 1).truncate(20));
	EXPECT_EQ(e->conn.limit, 25u);
	EXPECT_EQ(e->conn.received, 7u);
}

TEST(Window, PeerBeyondLimitAndReserveCloses)
{
	auto e = open_server();

	/* Its CONNPROP advertised 32 in all, and one Receive is in reserve. */
	EXPECT_EQ(e->conn.advertised, 33u);
	for (u32 i = e->conn.received; i < 33; i++)
		ASSERT_EQ(e->receive(call(i, 10, 1), true), RPCRDMA_RX_CALL);
	ASSERT_EQ(e->receive(grant(10, 1), true), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->receive(grant(10, 1), true), RPCRDMA_RX_CLOSE);
}

TEST(Window, EventsWhenItOpens)
{
	auto e = open_server(5);

	e->receive(grant(6, 1));
	EXPECT_FALSE(e->events & RPCRDMA_EV_WINDOW)
		<< "was not short of credits";
	while (rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL))
		e->send(RPCRDMA_KIND_CALL, 1);
	e->receive(grant(6, e->conn.sent - 5));
	EXPECT_FALSE(e->events & RPCRDMA_EV_WINDOW) << "nothing changed";
	e->receive(grant(8, e->conn.sent - 4));
	EXPECT_TRUE(e->events & RPCRDMA_EV_WINDOW);
	EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
}

TEST(Reserve, NothingIsSentWhileItIsUsed)
{
	auto cfg = usual_config(false, 4);
	auto e = open_end(cfg, usual_config(true));

	/* All Receives are used, the reserve by a credit grant. */
	for (u32 i = 0; i < 4; i++)
		e->receive(call(i, 100, 1), true);
	e->receive(grant(100, 1), true);
	ASSERT_EQ(e->conn.posted, e->conn.received);
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
	rpcrdma_conn_queue_error(&e->conn, 1, RDMA2_ERR_SYSTEM, 0, 0);
	EXPECT_EQ(e->control().size(), 0u);
	e->post(1);
	EXPECT_TRUE(e->events & RPCRDMA_EV_WINDOW);
	EXPECT_TRUE(e->events & RPCRDMA_EV_CONTROL);
	EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
	EXPECT_EQ(e->control().get(8), 0u) << "no credit can be granted";
}

TEST(Reserve, OnlyAGrantUsesThePeersReserve)
{
	auto cfg = usual_config(false, 4);
	auto e = open_end(cfg, usual_config(true), 3);

	while (rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY))
		e->send(RPCRDMA_KIND_REPLY, 1);
	EXPECT_EQ(e->conn.sent, e->conn.limit);
	rpcrdma_conn_queue_error(&e->conn, 1, RDMA2_ERR_SYSTEM, 0, 0);
	EXPECT_EQ(e->control().size(), 0u);

	/*
	 * The peer uses up its window: a credit grant is owed, and may be sent.
	 */
	for (u32 i = 0; i < 3; i++)
		e->receive(reply(i, 0, 0));

	const message m = e->control();

	ASSERT_EQ(m.size(), 40u);
	EXPECT_EQ(m.get(12), +RDMA2_NOMSG);
	EXPECT_EQ(m.get(0), 0u);
	EXPECT_EQ(e->conn.sent, e->conn.limit + 1);
	EXPECT_EQ(e->control().size(), 0u) << "no second grant";
}

/* The conditions under which a credit grant is owed */
TEST(Grants, ByHalfTheWindow)
{
	for (u32 window : { 4u, 5u, 8u, 9u, 32u, 128u, 1000u }) {
		auto e = open_end(usual_config(false, window),
				  usual_config(true));

		for (u32 i = 1; i < window / 2; i++) {
			e->receive(reply(i, 1000, 1));
			EXPECT_FALSE(rpcrdma_conn_control_due(&e->conn))
				<< window << " " << i;
		}
		e->receive(reply(1, 1000, 1));
		EXPECT_TRUE(e->events & RPCRDMA_EV_CONTROL);

		const message m = e->control();

		EXPECT_EQ(m.size(), 40u) << window;
		EXPECT_EQ(m.get(8), window);
		EXPECT_EQ(m.get(20), 1 + window / 2);
		EXPECT_FALSE(rpcrdma_conn_control_due(&e->conn));
		EXPECT_EQ(e->conn.counters.grants_sent, 1u);
	}
}

TEST(Grants, AnyHeaderConveysThem)
{
	auto e = open_server();

	for (u32 i = 0; i < 15; i++)
		e->receive(reply(i, 1000, 1));
	e->send(RPCRDMA_KIND_REPLY, 1);
	e->receive(reply(1, 1000, 1));
	EXPECT_FALSE(rpcrdma_conn_control_due(&e->conn));
	for (u32 i = 0; i < 15; i++)
		e->receive(reply(i, 1000, 1));
	EXPECT_TRUE(rpcrdma_conn_control_due(&e->conn));
	rpcrdma_conn_queue_error(&e->conn, 1, RDMA2_ERR_SYSTEM, 0, 0);
	EXPECT_EQ(e->control().get(12), +RDMA2_ERROR);
	EXPECT_EQ(e->control().size(), 0u);
}

TEST(Grants, HeldReceivesAreNotGranted)
{
	auto e = open_server();

	for (u32 i = 0; i < 30; i++)
		e->receive(call(i, 1000, 1), true);
	EXPECT_FALSE(rpcrdma_conn_control_due(&e->conn));
	/*
	 * Released Receives are owed as credits once they are half the window,
	 * or at once if only the Replies' share is left.
	 */
	e->post(1);
	EXPECT_TRUE(rpcrdma_conn_control_due(&e->conn));
}

/*
 * With Calls held, less than half the window can be owed while the peer has
 * only the credits that Calls may not use. A Call that the held ones wait for
 * could then never arrive.
 */
TEST(Grants, HeldCallsDoNotBlockOthers)
{
	for (u32 window : { 4u, 6u, 8u, 32u }) {
		for (u32 held = 1; held + 3 <= window; held++) {
			auto e = open_end(usual_config(false, window),
					  usual_config(true));
			u32 used = 0;

			for (; used < held; used++)
				e->receive(call(used, 1000, 1), true);
			for (; used < window - 2; used++) {
				e->receive(reply(used, 1000, 1));
				while (e->control().size())
					used = held;
			}
			/*
			 * However the window was used, the peer's remaining
			 * credits suffice for a Call.
			 */
			EXPECT_GT(static_cast<int>(e->conn.advertised -
						   e->conn.received),
				  2)
				<< window << " " << held;
		}
	}
}

TEST(Grants, AnswerAGrantOnlyIfItUsedTheLastCredit)
{
	auto e = open_end(usual_config(false, 8), usual_config(true));
	u32 answered = 0;

	/*
	 * 8 are advertised. A Call needs 3, so that 5 credit grants may remain
	 * unanswered.
	 */
	for (u32 i = 0; i < 5; i++) {
		e->receive(grant(1000, 1));
		EXPECT_EQ(e->control().size(), 0u) << i;
	}
	e->receive(grant(1000, 1));
	answered += e->control().size() == 40;
	EXPECT_EQ(answered, 1u);
	EXPECT_EQ(e->conn.counters.grants_received, 6u);
}

/*
 * With all Receives for Calls held, the rest is for Replies, and is granted,
 * too.
 */
TEST(Grants, CreditsForRepliesAreGranted)
{
	for (u32 window : { 4u, 8u, 32u }) {
		auto e = open_end(usual_config(false, window),
				  usual_config(true));

		for (u32 i = 0; i < window - 2; i++)
			e->receive(call(i, 1000, 1), true);
		EXPECT_EQ(e->control().size(), 0u) << "nothing to grant";
		for (u32 i = 0; i < 3; i++) {
			e->receive(reply(i, 1000, 1));
			ASSERT_EQ(e->control().size(), 40u);
			EXPECT_EQ(e->conn.advertised - e->conn.received, 2u);
			EXPECT_EQ(e->control().size(), 0u);
		}
	}
}

/* A Call that arrives posts no Receive. It may leave too few credits. */
TEST(Grants, WhenACallLeavesTheLastTwo)
{
	auto e = open_end(usual_config(false, 32), usual_config(true));

	e->receive(reply(1, 1000, 1));
	for (u32 i = 0; i < 28; i++)
		e->receive(call(i, 1000, 1), true);
	EXPECT_EQ(e->control().size(), 0u) << "three are left";
	e->receive(call(28, 1000, 1), true);
	EXPECT_TRUE(e->events & RPCRDMA_EV_CONTROL);
	EXPECT_EQ(e->control().get(8), 3u);
}

/* Return a server that can hold one Call, and may send @own messages. */
std::unique_ptr<end> open_for_one_call(u32 own)
{
	auto e = open_end(usual_config(false, 8), usual_config(true), own + 2);

	for (u32 i = 0; i < 5; i++)
		e->receive(call(i, own, 1), true);
	/*
	 * After this header, the peer knows of every message received so far.
	 */
	e->send(RPCRDMA_KIND_REPLY, 1);
	EXPECT_EQ(e->conn.advertised - e->conn.received, 3u);
	EXPECT_EQ(e->conn.limit - e->conn.sent, own);
	EXPECT_EQ(e->control().size(), 0u);
	return e;
}

/*
 * If grants for one Call were answered, a peer with an equally small window
 * would answer the answer, and so on.
 */
TEST(Grants, ForOneCallAreNotAnswered)
{
	for (u32 own = 2; own < 6; own++) {
		auto e = open_for_one_call(own);

		e->receive(grant(own, 2));
		EXPECT_EQ(e->control().size() == 40, own > 3) << own;
	}

	auto e = open_for_one_call(3);

	/* A grant that used the last of the window is answered. */
	e->receive(grant(3, 2));
	e->receive(grant(3, 2));
	EXPECT_EQ(e->control().size(), 0u);
	e->receive(grant(3, 2));
	EXPECT_EQ(e->control().size(), 40u);
	/* Any other message is answered, too. */
	e->receive(grant(3, 3));
	EXPECT_EQ(e->control().size(), 0u);
	e->receive(reply(1, 3, 3));
	EXPECT_EQ(e->control().size(), 40u);
	e->receive(grant(3, 4));
	e->receive(call(6, 3, 4), true);
	EXPECT_EQ(e->control().size(), 40u);
}

/*
 * A header may count a credit grant before the grant's Receive is replaced.
 * That reduces the credits on which the sender of the grant may rely.
 */
TEST(Grants, ReplacementAfterAHeader)
{
	auto e = open_for_one_call(3);

	e->receive(grant(3, 2), true);
	e->send(RPCRDMA_KIND_REPLY, 1);
	e->post(1);
	EXPECT_EQ(e->control().size(), 40u);
}

/* Two idle ends do not keep each other busy, whatever their windows. */
TEST(Grants, NoStorms)
{
	for (u32 a = 4; a < 12; a++) {
		for (u32 b = 4; b < 12; b++) {
			for (u32 held_a = 0; held_a <= a - 2; held_a++) {
				for (u32 held_b = 0; held_b <= b - 2;
				     held_b++) {
					sim s{ usual_options(a, b) };

					ASSERT_TRUE(s.open());
					for (u32 i = 0; i < held_b; i++)
						s.call(sim::CLIENT, {});
					for (u32 i = 0; i < held_a; i++)
						s.call(sim::SERVER, {});
					ASSERT_TRUE(s.drain(false));
					s.inject_grant(sim::CLIENT);
					s.inject_grant(sim::SERVER);
					s.inject_grant(sim::CLIENT);
					ASSERT_TRUE(s.drain(false));
					ASSERT_EQ(s.complaint(), "")
						<< a << b << held_a << held_b;
				}
			}
		}
	}
}

TEST(Grants, NotBeforeTheAnswerToConnprop)
{
	end client{ usual_config(true) };

	client.post(2);
	rpcrdma_conn_established(&client.conn);
	client.control();
	client.post(100);
	EXPECT_EQ(client.control().size(), 0u);
	client.receive(connprop_of(usual_config(false), 16, 1));
	EXPECT_TRUE(client.events & RPCRDMA_EV_CONTROL);
	EXPECT_EQ(client.control().size(), 40u);
}

TEST(Pending, OrderAndBound)
{
	auto e = open_server(1);

	ASSERT_EQ(e->conn.sent, e->conn.limit);
	for (u32 i = 0; i < 64; i++) {
		EXPECT_EQ(i % 2 ? rpcrdma_conn_queue_done(&e->conn, i, i) :
				  rpcrdma_conn_queue_error(
					  &e->conn, i, RDMA2_ERR_SYSTEM, 0, 0),
			  0u);
	}
	e->receive(grant(100, 1));
	EXPECT_TRUE(e->events & RPCRDMA_EV_CONTROL);
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
	for (u32 i = 0; i < 64; i++) {
		const message m = e->control();

		ASSERT_EQ(m.get(0), i);
		EXPECT_EQ(m.get(12), i % 2 ? +RDMA2_DONE : +RDMA2_ERROR);
		EXPECT_EQ(m.get(16), i % 2 ? 0u : +RDMA2_F_RESPONSE);
		EXPECT_EQ(m.size(), i % 2 ? 24u : 28u);
		EXPECT_EQ(e->inv_handle, i % 2 ? i : 0);
	}
	EXPECT_EQ(e->control().size(), 0u);
	EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	EXPECT_EQ(e->conn.counters.errors_sent, 32u);
}

TEST(Pending, OneTooManyCloses)
{
	auto e = open_server(1);

	for (u32 i = 0; i < 64; i++)
		EXPECT_EQ(rpcrdma_conn_queue_done(&e->conn, i, 0), 0u);
	EXPECT_EQ(rpcrdma_conn_queue_done(&e->conn, 64, 0), +RPCRDMA_EV_CLOSE);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_CLOSING);
	EXPECT_EQ(e->receive(grant(100, 1)), RPCRDMA_RX_CLOSE);
	EXPECT_EQ(e->control().size(), 0u);
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
}

TEST(Pending, DoneWithoutRemoteInvalidation)
{
	auto cfg = usual_config(false);

	cfg.inv_ok = 0;
	auto e = open_end(cfg, usual_config(true));

	rpcrdma_conn_queue_done(&e->conn, 5, 99);
	EXPECT_EQ(e->control().size(), 24u);
	EXPECT_EQ(e->inv_handle, 0u);
}

} // namespace
