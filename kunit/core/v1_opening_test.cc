// SPDX-License-Identifier: GPL-2.0
/* Version 1: opening (RFC 8166, 8797) */
#include "protocol_v1.hh"

using namespace engine_test;
using namespace engine_test::version1;

namespace
{

TEST(IdleV1, CountsCallsInProgress)
{
	auto e = client1();

	for (const message &m :
	     { inline_msg(1, REPLY),
	       fixed(2, ERROR).word(ERR_VERS).word(1).word(1) }) {
		rpcrdma_conn_count(&e->conn, RPCRDMA_KIND_CALL, RPCRDMA_INLINE,
				   nullptr);
		EXPECT_FALSE(rpcrdma_conn_is_idle(&e->conn, RPCRDMA_KIND_CALL));
		e->receive(m);
		EXPECT_TRUE(rpcrdma_conn_is_idle(&e->conn, RPCRDMA_KIND_CALL));
	}
	e = server1();
	EXPECT_TRUE(rpcrdma_conn_is_idle(&e->conn, RPCRDMA_KIND_REPLY));
	EXPECT_EQ(e->receive(inline_msg(2, CALL)), RPCRDMA_RX_CALL);
	EXPECT_FALSE(rpcrdma_conn_is_idle(&e->conn, RPCRDMA_KIND_REPLY));
}

} // namespace

TEST(OpeningV1, FirstCallOpensAndIsDelivered)
{
	end e{ config(false) };

	e.post(33);
	EXPECT_EQ(e.receive(inline_msg(X, CALL)), RPCRDMA_RX_CALL);
	EXPECT_TRUE(e.events & RPCRDMA_EV_OPENED);
	EXPECT_EQ(e.conn.version, 1);
	EXPECT_EQ(e.conn.state, RPCRDMA_CONN_OPEN);
	EXPECT_EQ(e.rx.xid, X);
	EXPECT_EQ(e.rx.payload_offset, 28u);
	EXPECT_EQ(e.rx.payload_length, 64u);
	EXPECT_EQ(e.rx.format, RPCRDMA_INLINE);
	/* The Call is delivered only once. */
	EXPECT_EQ(e.receive(inline_msg(2, CALL)), RPCRDMA_RX_CALL);
	EXPECT_FALSE(e.events & RPCRDMA_EV_OPENED);
	EXPECT_EQ(e.control().size(), 0u);
}

TEST(OpeningV1, OnlyVersion2IsRefusedToAVersion1Client)
{
	end e{ config(false, 2, 2) };

	e.post(33);
	EXPECT_EQ(e.receive(inline_msg(X, CALL)), RPCRDMA_RX_CONSUMED);
	EXPECT_TRUE(e.events & RPCRDMA_EV_CONTROL);

	const message m = e.control();

	ASSERT_EQ(m.size(), 28u);
	EXPECT_EQ(m.get(0), X);
	EXPECT_EQ(m.get(4), 1u);
	EXPECT_NE(m.get(8), 0u);
	EXPECT_EQ(m.get(12), +ERROR);
	EXPECT_EQ(m.get(16), +ERR_VERS);
	EXPECT_EQ(m.get(20), 2u);
	EXPECT_EQ(m.get(24), 2u);
}

TEST(OpeningV1, OnlyVersion1RefusesConnpropAndGoesOn)
{
	end e{ config(false, 1, 1) };

	e.post(33);
	EXPECT_EQ(e.receive(connprop_of(usual_config(true))),
		  RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e.control().get(24), 1u);
	EXPECT_EQ(e.receive(inline_msg(X, CALL)), RPCRDMA_RX_CALL);
	EXPECT_EQ(e.conn.version, 1);
	EXPECT_TRUE(e.events & RPCRDMA_EV_OPENED);
}

TEST(OpeningV1, ClientFallsBackOnErrVers)
{
	end e{ config(true) };
	const auto priv = private_of(8192, 2048);
	struct rpcrdma_conn_limits limits;

	e.post(33);
	rpcrdma_conn_set_peer_private(&e.conn, &priv);
	rpcrdma_conn_established(&e.conn);
	EXPECT_EQ(e.control().get(4), 2u);
	EXPECT_EQ(e.receive(err_vers(2, 1, 1)), RPCRDMA_RX_CONSUMED);
	EXPECT_TRUE(e.events & RPCRDMA_EV_OPENED);
	EXPECT_EQ(e.conn.version, 1);
	EXPECT_EQ(e.conn.err_vers_high, 1);

	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.send_inline, 2048u);
	EXPECT_EQ(limits.recv_inline, 4096u);
	EXPECT_EQ(limits.continued, 0u);

	/* Version 1 starts with one credit. */
	ASSERT_TRUE(may_call(e));
	EXPECT_EQ(header_of(e, RPCRDMA_KIND_CALL, X).get(4), 1u);
	EXPECT_FALSE(may_call(e));
	EXPECT_EQ(e.receive(inline_msg(X, REPLY, 5)), RPCRDMA_RX_REPLY);
	EXPECT_TRUE(e.events & RPCRDMA_EV_WINDOW);
}

TEST(OpeningV1, ErrVersClosesWhereVersion1IsNotAllowed)
{
	end e{ config(true, 2, 2) };

	e.post(33);
	rpcrdma_conn_established(&e.conn);
	e.control();
	EXPECT_EQ(e.receive(err_vers(2, 1, 1)), RPCRDMA_RX_CLOSE);
	EXPECT_TRUE(e.conn.answered);
}

/*
 * The private message of one connection's peer does not apply to the next
 * connection.
 */
TEST(OpeningV1, ThePrivateMessageIsOfOneConnection)
{
	end e{ config(true, 1, 1) };
	const auto priv = private_of(8192, 8192);
	struct rpcrdma_conn_limits limits;

	e.post(33);
	rpcrdma_conn_set_peer_private(&e.conn, &priv);
	rpcrdma_conn_established(&e.conn);
	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.recv_inline, 4096u);

	const auto cfg = e.conn.cfg;

	rpcrdma_conn_init(&e.conn, &cfg);
	e.post(33);
	rpcrdma_conn_established(&e.conn);
	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.recv_inline, 1024u);
	EXPECT_FALSE(e.conn.peer_private.inv_ok);
}

TEST(OpeningV1, NoPrivateMessageMeans1024)
{
	end e{ config(true, 1, 1) };
	struct rpcrdma_conn_limits limits;
	rpcrdma_private none;

	rpcrdma_decode_private(nullptr, 0, &none);
	e.post(33);
	rpcrdma_conn_set_peer_private(&e.conn, &none);
	EXPECT_TRUE(rpcrdma_conn_established(&e.conn) & RPCRDMA_EV_OPENED);
	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.send_inline, 1024u);
	EXPECT_EQ(limits.recv_inline, 1024u);
}

/*
 * The smaller one of the sender's Send Size and the receiver's Receive Size
 * (RFC 8797, 4.2)
 */
TEST(OpeningV1, ThresholdsAreTheMinimum)
{
	const struct {
		u32 own_send, own_recv, peer_send, peer_recv, send, recv;
	} cases[] = {
		{ 8192, 2048, 4096, 3072, 3072, 2048 },
		{ 2048, 8192, 4096, 3072, 2048, 4096 },
		{ 4096, 4096, 262144, 262144, 4096, 4096 },
	};

	for (const auto &c : cases) {
		auto cfg = config(true, 1, 1);
		const auto priv = private_of(c.peer_send, c.peer_recv);
		struct rpcrdma_conn_limits limits;

		cfg.props.sbsiz = c.own_send;
		cfg.props.rbsiz = c.own_recv;

		end e{ cfg };

		e.post(33);
		rpcrdma_conn_set_peer_private(&e.conn, &priv);
		rpcrdma_conn_established(&e.conn);
		limits = rpcrdma_conn_limits(&e.conn);
		EXPECT_EQ(limits.send_inline, c.send);
		EXPECT_EQ(limits.recv_inline, c.recv);
		/*
		 * A reverse Call and its Reply are conveyed in one message
		 * each.
		 */
		EXPECT_EQ(rpcrdma_reverse_payload(&e.conn, ~0u),
			  std::min(c.send, c.recv) - 28);
		EXPECT_LE(rpcrdma_reverse_payload(nullptr, ~0u),
			  rpcrdma_reverse_payload(&e.conn, ~0u));
	}
}

TEST(OpeningV1, ClientOfVersion1SendsNoConnprop)
{
	auto e = client1();

	EXPECT_TRUE(e->events & RPCRDMA_EV_OPENED);
	EXPECT_FALSE(e->events & RPCRDMA_EV_CONTROL);
	EXPECT_EQ(e->control().size(), 0u);
	EXPECT_FALSE(e->conn.answered);
}

/* A server without version 1 answers the first Call. */
TEST(OpeningV1, ErrVersEndsTheCall)
{
	auto e = client1();

	header_of(*e, RPCRDMA_KIND_CALL, X);
	EXPECT_EQ(e->receive(err_vers(1, 2, 2).set(0, X)), RPCRDMA_RX_ERROR);
	EXPECT_EQ(e->rx.xid, X);
	EXPECT_EQ(e->rx.error.code, +RDMA2_ERR_VERS);
	EXPECT_LT(e->rx.error.status, 0);

	rpcrdma_lists none;
	rpcrdma_retry_limits retry_limits = {};
	rpcrdma_call call = {};

	call.length = 100;
	call.reply_max = 100;
	rpcrdma_lists_init(&none);
	EXPECT_EQ(rpcrdma_call_refused(&e->conn, &e->rx, &call, &none,
				       &retry_limits),
		  e->rx.error.status);
}

TEST(OpeningV1, AnotherVersionLaterCloses)
{
	auto e = server1();

	EXPECT_EQ(e->receive(inline_msg(X, CALL).set(4, 2)), RPCRDMA_RX_CLOSE);
}

/*
 * If the version was only assumed, its refusal ends the connection, not the
 * Call.
 */
TEST(OpeningV1, ErrVersToAnAssumedVersionCloses)
{
	auto cfg = config(true, 1, 1);

	cfg.fallback_v1 = 1;

	end e{ cfg };

	e.post(33);
	rpcrdma_conn_established(&e.conn);
	EXPECT_STREQ(rpcrdma_version_why(&e.conn), "silence");
	header_of(e, RPCRDMA_KIND_CALL, X);
	EXPECT_EQ(e.receive(err_vers(1, 2, 2).set(0, X)), RPCRDMA_RX_CLOSE);
	EXPECT_FALSE(e.conn.answered);
	EXPECT_EQ(rpcrdma_conn_answer(&e.conn, RPCRDMA_END_HERE),
		  RPCRDMA_ANSWER_V2);

	/*
	 * A refusal of version 1 that proposes version 1 does not lead to
	 * version 2.
	 */
	end odd{ cfg };

	odd.post(33);
	rpcrdma_conn_established(&odd.conn);
	header_of(odd, RPCRDMA_KIND_CALL, X);
	EXPECT_EQ(odd.receive(err_vers(1, 1, 1).set(0, X)), RPCRDMA_RX_CLOSE);
	EXPECT_EQ(rpcrdma_conn_answer(&odd.conn, RPCRDMA_END_HERE),
		  RPCRDMA_ANSWER_ODD);
}

TEST(OpeningV1, ReasonsForTheVersion)
{
	end undecided{ config(false) };

	EXPECT_STREQ(rpcrdma_version_why(&undecided.conn), "undecided");
	EXPECT_STREQ(rpcrdma_version_why(&client1()->conn), "setting");
	EXPECT_STREQ(rpcrdma_version_why(&server1()->conn), "peer");
	EXPECT_STREQ(rpcrdma_version_why(&open_client()->conn), "both");

	end refused{ config(true) };

	refused.post(33);
	rpcrdma_conn_established(&refused.conn);
	refused.control();
	refused.receive(err_vers(2, 1, 1));
	EXPECT_STREQ(rpcrdma_version_why(&refused.conn), "refused");
}
