// SPDX-License-Identifier: GPL-2.0
/* Credit windows under traffic: nothing waits forever (WP 3) */
#include "credits.hh"

using namespace engine_test;
using namespace engine_test::credits;

namespace
{

/* ---- Two engines ---- */

struct traffic {
	u32 client_window, server_window;
	u32 seed;
};

std::string traffic_name(const testing::TestParamInfo<traffic> &info)
{
	return "w" + std::to_string(info.param.client_window) + "_" +
	       std::to_string(info.param.server_window) + "_" +
	       std::to_string(info.param.seed);
}

class Traffic : public testing::TestWithParam<traffic>
{
};

rpc_shape random_shape(generator &random)
{
	rpc_shape shape;

	shape.call_length = 100 + random.below(300);
	shape.reply_length = 100 + random.below(300);
	switch (random.below(6)) {
	case 0: /* continued Call */
		shape.call_length = 4000 + random.below(30000);
		break;
	case 1: /* continued Reply */
		shape.reply_length = 4000 + random.below(30000);
		break;
	case 2: /* Read chunk */
		shape.call_item = 20000 + random.below(100000);
		shape.call_length += shape.call_item + 3;
		break;
	case 3: /* Write chunk */
		shape.reply_item = 20000 + random.below(100000);
		shape.reply_length += shape.reply_item + 3;
		break;
	case 4: /* Position Zero, Reply chunk */
		shape.call_length = 300000 + random.below(100000);
		shape.reply_length = 300000 + random.below(100000);
		break;
	default:
		break;
	}
	shape.call_length &= ~3u;
	shape.reply_length &= ~3u;
	return shape;
}

/*
 * Random traffic in both directions: no message is lost, stuck or beyond a
 * limit.
 */
TEST_P(Traffic, BothWaysAtRandom)
{
	const traffic &t = GetParam();
	sim_options options = usual_options(t.client_window, t.server_window);
	generator random{ t.seed };

	/* Also across the wrap of the counters */
	options.start[0] = t.seed % 3 ? 0u - random.below(300) : 0;
	options.start[1] = t.seed % 2 ? 0u - random.below(300) : 0x7fffff80;

	sim s{ options };
	u32 made[2] = {}, refused[2] = {};

	ASSERT_TRUE(s.open()) << s.complaint();
	for (u32 i = 0; i < 3000 && s.complaint().empty(); i++) {
		const sim::side side = random.chance(50) ? sim::CLIENT :
							   sim::SERVER;

		switch (random.below(9)) {
		case 0:
		case 1:
			if (s.outstanding(side) < 40 &&
			    s.call(side, random_shape(random)))
				made[side]++;
			break;
		case 2:
		case 3:
			s.answer(side, random.below(s.working(side)));
			break;
		case 4:
			if (random.chance(10) &&
			    s.refuse(side, random.below(s.working(side)),
				     RDMA2_ERR_SYSTEM))
				refused[1 - side]++;
			break;
		case 5:
			if (random.chance(10) &&
			    s.forget(side, random.below(s.working(side))))
				made[1 - side]--;
			break;
		default:
			s.deliver(side);
			break;
		}
	}
	ASSERT_TRUE(s.drain());
	ASSERT_EQ(s.complaint(), "");
	for (sim::side side : { sim::CLIENT, sim::SERVER }) {
		EXPECT_EQ(s.outstanding(side), 0u);
		EXPECT_EQ(s.completed(side) + s.failed(side), made[side]);
		EXPECT_EQ(s.failed(side), refused[side]);
		EXPECT_EQ(s.working(side), 0u);
		/* No Receive is held: Calls can be sent again. */
		EXPECT_TRUE(rpcrdma_conn_may_send(&s.conn(side),
						  RPCRDMA_KIND_CALL));
	}
	EXPECT_GT(made[0] + made[1], 100u);
}

std::vector<traffic> all_traffic()
{
	std::vector<traffic> all;
	u32 seed = 1;

	for (u32 a : { 4u, 5u, 6u, 8u, 32u }) {
		for (u32 b : { 4u, 5u, 7u, 16u, 128u }) {
			for (u32 i = 0; i < 4; i++)
				all.push_back({ a, b, seed++ });
		}
	}
	return all;
}

INSTANTIATE_TEST_SUITE_P(All, Traffic, testing::ValuesIn(all_traffic()),
			 traffic_name);

/*
 * A Call that completes only after a reverse Call, which completes only after
 * another Call. The recall of a delegation is such a chain.
 */
TEST(Deadlock, ChainsOfCallsComplete)
{
	for (u32 window : { 4u, 5u, 8u }) {
		for (u32 noise = 0; noise < 12; noise++) {
			sim s{ usual_options(window, window) };

			ASSERT_TRUE(s.open());
			/* Bring the windows into some other state. */
			for (u32 i = 0; i < noise; i++) {
				s.call(i & 1 ? sim::CLIENT : sim::SERVER, {});
				if (noise & 2)
					s.drain();
			}
			ASSERT_TRUE(s.drain());

			/* The Call waits for the answer to the recall. */
			ASSERT_NE(s.call(sim::CLIENT, {}), 0u);
			ASSERT_TRUE(s.drain(false));
			ASSERT_EQ(s.working(sim::SERVER), 1u);
			ASSERT_NE(s.call(sim::SERVER, {}), 0u);
			ASSERT_TRUE(s.drain(false));
			ASSERT_EQ(s.working(sim::CLIENT), 1u) << window;
			/* The recall waits for this Call. */
			ASSERT_NE(s.call(sim::CLIENT, {}), 0u);
			ASSERT_TRUE(s.drain(false));
			ASSERT_EQ(s.working(sim::SERVER), 2u) << window;
			s.answer(sim::SERVER, 1);
			ASSERT_TRUE(s.drain(false));
			s.answer(sim::CLIENT, 0);
			ASSERT_TRUE(s.drain(false));
			s.answer(sim::SERVER, 0);
			ASSERT_TRUE(s.drain(false));
			EXPECT_EQ(s.outstanding(sim::CLIENT), 0u);
			EXPECT_EQ(s.outstanding(sim::SERVER), 0u);
			EXPECT_EQ(s.complaint(), "");
		}
	}
}

/* Many Calls wait for the same number of reverse Calls. */
TEST(Deadlock, AllCallsWaitForReverseCalls)
{
	for (u32 window : { 4u, 6u, 16u }) {
		sim s{ usual_options(window, window) };

		ASSERT_TRUE(s.open());
		for (u32 i = 0; i < 3 * window; i++)
			s.call(sim::CLIENT, {});
		ASSERT_TRUE(s.drain(false));
		EXPECT_EQ(s.working(sim::SERVER), window - 2);
		while (s.working(sim::SERVER)) {
			const u32 before = s.completed(sim::SERVER);

			s.call(sim::SERVER, {});
			ASSERT_TRUE(s.drain(false));
			ASSERT_TRUE(s.answer(sim::CLIENT));
			ASSERT_TRUE(s.drain(false));
			ASSERT_EQ(s.completed(sim::SERVER), before + 1);
			ASSERT_TRUE(s.answer(sim::SERVER));
			ASSERT_TRUE(s.drain(false));
		}
		EXPECT_EQ(s.completed(sim::CLIENT), 3 * window);
		EXPECT_EQ(s.complaint(), "");
	}
}

/*
 * One direction only, with Calls that are never answered: credit grants alone
 * keep it going.
 */
TEST(Deadlock, UnansweredCalls)
{
	for (u32 window : { 4u, 5u, 16u }) {
		sim s{ usual_options(window, window) };

		ASSERT_TRUE(s.open());
		for (u32 i = 0; i < 200; i++) {
			s.call(sim::CLIENT, {});
			ASSERT_TRUE(s.drain(false));
			ASSERT_TRUE(s.forget(sim::SERVER, 0)) << i;
			ASSERT_TRUE(s.drain(false));
		}
		EXPECT_EQ(s.complaint(), "");
	}
}

/* A continued message longer than both windows */
TEST(Deadlock, ContinuedBeyondTheWindow)
{
	for (u32 window : { 4u, 5u, 9u }) {
		sim s{ usual_options(window, window) };
		rpc_shape shape;

		shape.call_length = 200000;
		shape.reply_length = 200000;
		ASSERT_TRUE(s.open());
		for (u32 i = 0; i < 3; i++) {
			s.call(sim::CLIENT, shape);
			s.call(sim::SERVER, shape);
		}
		ASSERT_TRUE(s.drain());
		EXPECT_EQ(s.complaint(), "");
		EXPECT_EQ(s.completed(sim::CLIENT), 3u);
		EXPECT_EQ(s.completed(sim::SERVER), 3u);
		EXPECT_EQ(s.conn(sim::SERVER).counters.calls[RPCRDMA_CONTINUED],
			  6u);
	}
}

/* Idle connections send nothing. */
TEST(Deadlock, NothingIsSentWithoutNeed)
{
	sim s{ usual_options(32, 32) };

	ASSERT_TRUE(s.open());
	for (u32 i = 0; i < 1000; i++) {
		s.call(sim::CLIENT, {});
		ASSERT_TRUE(s.drain());
	}
	EXPECT_EQ(s.conn(sim::CLIENT).counters.grants_sent, 0u);
	EXPECT_EQ(s.conn(sim::SERVER).counters.grants_sent, 0u);
}

void count(end &e, rpcrdma_kind kind)
{
	rpcrdma_conn_count(&e.conn, kind, RPCRDMA_INLINE, nullptr);
}

bool alone(const end &e, rpcrdma_kind kind)
{
	return rpcrdma_conn_is_idle(&e.conn, kind);
}

TEST(Idle, OneCall)
{
	auto e = open_client();

	for (u32 i = 0; i < 3; i++) {
		EXPECT_TRUE(alone(*e, RPCRDMA_KIND_CALL));
		count(*e, RPCRDMA_KIND_CALL);
		EXPECT_FALSE(alone(*e, RPCRDMA_KIND_CALL));
		EXPECT_EQ(e->receive(reply(i, 100, 0)), RPCRDMA_RX_REPLY);
	}
	/* An ERROR completes the Call as well. */
	count(*e, RPCRDMA_KIND_CALL);
	EXPECT_EQ(e->receive(message()
				     .prefix(9, RDMA2_ERROR, RDMA2_F_RESPONSE,
					     100, 0)
				     .word(RDMA2_ERR_SYSTEM)),
		  RPCRDMA_RX_ERROR);
	EXPECT_TRUE(alone(*e, RPCRDMA_KIND_CALL));
	count(*e, RPCRDMA_KIND_CALL);
	/* An RPC message with another xid */
	EXPECT_EQ(e->receive(message()
				     .prefix(10, RDMA2_MSG, RDMA2_F_RESPONSE,
					     100, 0)
				     .no_lists()
				     .rpc(11, REPLY, 40)),
		  RPCRDMA_RX_BAD_REPLY);
	EXPECT_TRUE(alone(*e, RPCRDMA_KIND_CALL));
}

TEST(Idle, TheReplyToTheOnlyCall)
{
	auto e = open_server();

	EXPECT_EQ(e->receive(call(1, 100, 0)), RPCRDMA_RX_CALL);
	EXPECT_TRUE(alone(*e, RPCRDMA_KIND_REPLY));
	EXPECT_FALSE(alone(*e, RPCRDMA_KIND_CALL));
	EXPECT_EQ(e->receive(call(2, 100, 0)), RPCRDMA_RX_CALL);
	EXPECT_FALSE(alone(*e, RPCRDMA_KIND_REPLY));
	rpcrdma_conn_queue_error(&e->conn, 1, RDMA2_ERR_SYSTEM, 0, 0);
	EXPECT_TRUE(alone(*e, RPCRDMA_KIND_REPLY));
	count(*e, RPCRDMA_KIND_REPLY);
	EXPECT_TRUE(alone(*e, RPCRDMA_KIND_CALL));
}

} // namespace
