// SPDX-License-Identifier: GPL-2.0
/* Peers that do not grant credits to waiting messages (WP 3) */
#include "credits.hh"

using namespace engine_test;
using namespace engine_test::credits;

namespace
{

/* Return the milliseconds to wait, and *@events. */
u32 stalled(end &e, bool waits, u32 now, u32 *events)
{
	const rpcrdma_stall stall = rpcrdma_conn_stalled(&e.conn, waits, now);

	*events = stall.events;
	return stall.wait;
}

/* Return a server's end with a closed window, at the time 1000. */
std::unique_ptr<end> open_stalled()
{
	auto e = open_server(6);
	u32 events;

	EXPECT_EQ(stalled(*e, true, 0, &events), 0u);
	while (rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL))
		e->send(RPCRDMA_KIND_CALL, 1);
	EXPECT_EQ(stalled(*e, true, 1000, &events), 60000u);
	EXPECT_EQ(events, 0u);
	return e;
}

TEST(Stall, EndsTheConnection)
{
	auto e = open_stalled();
	u32 events;

	EXPECT_EQ(stalled(*e, true, 60999, &events), 1u);
	EXPECT_EQ(events, 0u);
	/* Messages without credits do not help. */
	e->receive(reply(1, 0, 0));
	EXPECT_EQ(stalled(*e, true, 61000, &events), 0u);
	EXPECT_EQ(events, +RPCRDMA_EV_CLOSE);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_CLOSING);
	EXPECT_STREQ(e->conn.reason, "the peer does not grant credits");
	EXPECT_EQ(stalled(*e, true, 61001, &events), 0u);
	EXPECT_EQ(events, 0u);
}

TEST(Stall, OnlyIfAMessageWaits)
{
	auto e = open_stalled();
	u32 events;

	EXPECT_EQ(stalled(*e, false, 50000, &events), 0u);
	EXPECT_EQ(stalled(*e, true, 90000, &events), 60000u);
	/* A waiting control message counts, too. */
	EXPECT_EQ(stalled(*e, false, 100000, &events), 0u);
	rpcrdma_conn_queue_error(&e->conn, 1, RDMA2_ERR_SYSTEM, 0, 0);
	EXPECT_EQ(stalled(*e, false, 100000, &events), 60000u);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

TEST(Stall, RestartsWhenAWaitingMessageIsSent)
{
	auto e = open_stalled();
	u32 events;

	/*
	 * Replies have used the rest, so that the credits do not suffice for a
	 * Call.
	 */
	e->send(RPCRDMA_KIND_REPLY, 1);
	e->send(RPCRDMA_KIND_REPLY, 1);
	e->receive(grant(6, 1));
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	EXPECT_EQ(stalled(*e, true, 60000, &events), 60000u);
	e->receive(grant(10, 1));
	EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	EXPECT_EQ(stalled(*e, true, 130000, &events), 0u);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

/* One Call every 59 seconds is slow, but that is how a peer may limit load. */
TEST(Stall, NotWhileCallsAreSent)
{
	auto e = open_stalled();
	u32 events, now = 1000;

	for (u32 i = 1; i < 10; i++) {
		now += 59000;
		e->receive(grant(6, i));
		ASSERT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
		e->send(RPCRDMA_KIND_CALL, 1);
		EXPECT_EQ(stalled(*e, true, now, &events), 60000u);
	}
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

/* Replies wait for credits, which only the peer can grant. */
TEST(Stall, CreditsNowAndThenAreNotEnough)
{
	auto e = open_stalled();
	u32 events;

	e->send(RPCRDMA_KIND_REPLY, 1);
	e->send(RPCRDMA_KIND_REPLY, 1);
	EXPECT_EQ(stalled(*e, false, 2000, &events), 0u);
	EXPECT_EQ(stalled(*e, true, 2000, &events), 60000u);
	e->receive(grant(6, 1));
	ASSERT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
	e->send(RPCRDMA_KIND_REPLY, 1);
	EXPECT_EQ(stalled(*e, true, 61000, &events), 1000u);
	e->receive(grant(6, 2));
	e->send(RPCRDMA_KIND_REPLY, 1);
	EXPECT_EQ(stalled(*e, true, 62000, &events), 0u);
	EXPECT_EQ(events, +RPCRDMA_EV_CLOSE);
}

/* Credits for one fragment of a long message at a time are not sufficient either. */
TEST(Stall, PartsAreNotEnough)
{
	for (u32 flags : { 0u, u32{ RDMA2_F_MORE } }) {
		auto e = open_stalled();
		u32 events;

		for (u32 i = 0; i < 59; i++) {
			e->receive(grant(6, i));
			while (rpcrdma_conn_may_send(&e->conn,
						     RPCRDMA_KIND_REPLY))
				e->send(RPCRDMA_KIND_REPLY, 1, flags);
			EXPECT_GT(stalled(*e, true, 2000 + 1000 * i, &events),
				  0u);
		}
		stalled(*e, true, 61000, &events);
		EXPECT_EQ(events, flags ? +RPCRDMA_EV_CLOSE : 0u);
	}
}

/* Replies that have credits wait for slots, or for their Writes. */
TEST(Stall, NotOfRepliesWithCredits)
{
	auto e = open_stalled();
	rpcrdma_sq sq = {};
	u32 events;

	rpcrdma_sq_enqueue_message(&sq);
	ASSERT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
	for (u32 now : { 2000u, 70000u }) {
		const rpcrdma_stall stall = rpcrdma_conn_stalled(
			&e->conn, rpcrdma_sq_waiting_kinds(&sq), now);

		EXPECT_EQ(stall.wait, 0u);
		EXPECT_EQ(stall.events, 0u);
	}
	e->send(RPCRDMA_KIND_REPLY, 1);
	e->send(RPCRDMA_KIND_REPLY, 1);
	ASSERT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
	EXPECT_EQ(rpcrdma_conn_stalled(&e->conn, rpcrdma_sq_waiting_kinds(&sq),
				       70000)
			  .wait,
		  60000u);
	/* A message of a continued Call needs the credits of a Call. */
	e->receive(grant(8, 1));
	EXPECT_EQ(stalled(*e, false, 80000, &events), 0u);
	e->send(RPCRDMA_KIND_CALL, 1, RDMA2_F_MORE);
	ASSERT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	EXPECT_EQ(rpcrdma_conn_stalled(&e->conn, rpcrdma_sq_waiting_kinds(&sq),
				       80000)
			  .wait,
		  60000u);
}

} // namespace
