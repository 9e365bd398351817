// SPDX-License-Identifier: GPL-2.0
/* Version 1 (RFC 8166, 8167, 8797): opening, messages, credits and plans */
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "support.hh"

using namespace engine_test;

namespace
{

enum {
	MSG = 0,
	NOMSG = 1,
	MSGP = 2,
	DONE = 3,
	ERROR = 4
};
enum {
	ERR_VERS = 1,
	ERR_CHUNK = 2
};

constexpr u32 X = 0x11223344;

rpcrdma_conn_config config(bool client, u8 low = 1, u8 high = 2)
{
	auto cfg = usual_config(client, 32);

	cfg.version_low = low;
	cfg.version_high = high;
	cfg.reverse = 8;
	return cfg;
}

/* The fixed words of a header */
message fixed(u32 xid, u32 proc, u32 credit = 16)
{
	return message().word(xid).word(1).word(credit).word(proc);
}

message inline_msg(u32 xid, u32 direction, u32 credit = 16, u32 octets = 64)
{
	return fixed(xid, MSG, credit)
		.word(0)
		.word(0)
		.word(0)
		.rpc(xid, direction, octets);
}

message err_vers(u32 vers, u32 low, u32 high)
{
	return message()
		.word(0)
		.word(vers)
		.word(64)
		.word(ERROR)
		.word(ERR_VERS)
		.word(low)
		.word(high);
}

rpcrdma_private private_of(u32 send, u32 recv, bool inv = true)
{
	return {
		.valid = 1, .inv_ok = inv, .send_size = send, .recv_size = recv
	};
}

/*
 * Return a client that only has version 1. It is open as soon as it is
 * connected.
 */
std::unique_ptr<end> client1(u32 window = 32)
{
	auto cfg = config(true, 1, 1);
	const auto priv = private_of(4096, 4096);

	cfg.window = window;

	auto e = std::make_unique<end>(cfg);

	e->post(rpcrdma_window_receives(window));
	rpcrdma_conn_private(&e->conn, &priv);
	e->events = rpcrdma_conn_established(&e->conn);
	return e;
}

/* Return a server with a connection that a Call has opened. */
std::unique_ptr<end> server1(bool inv = true, u32 octets = 4096)
{
	auto cfg = config(false);
	const auto priv = private_of(octets, octets, inv);

	cfg.props.sbsiz = cfg.props.rbsiz = octets;

	auto e = std::make_unique<end>(cfg);

	rpcrdma_conn_private(&e->conn, &priv);
	e->make();
	EXPECT_EQ(e->receive(inline_msg(1, CALL)), RPCRDMA_RX_CALL);
	e->make();
	return e;
}

TEST(AloneV1, WhatIsAnswered)
{
	auto e = client1();

	for (const message &m :
	     { inline_msg(1, REPLY),
	       fixed(2, ERROR).word(ERR_VERS).word(1).word(1) }) {
		rpcrdma_conn_count(&e->conn, RPCRDMA_KIND_CALL, RPCRDMA_INLINE,
				   nullptr);
		EXPECT_FALSE(rpcrdma_conn_alone(&e->conn, RPCRDMA_KIND_CALL));
		e->receive(m);
		EXPECT_TRUE(rpcrdma_conn_alone(&e->conn, RPCRDMA_KIND_CALL));
	}
	e = server1();
	EXPECT_TRUE(rpcrdma_conn_alone(&e->conn, RPCRDMA_KIND_REPLY));
	EXPECT_EQ(e->receive(inline_msg(2, CALL)), RPCRDMA_RX_CALL);
	EXPECT_FALSE(rpcrdma_conn_alone(&e->conn, RPCRDMA_KIND_REPLY));
}

bool may_call(const end &e)
{
	return rpcrdma_conn_may_send(&e.conn, RPCRDMA_KIND_CALL);
}

/* Send a message and return its header. */
message header_of(end &e, rpcrdma_kind kind, u32 xid)
{
	octets buf(1024);

	buf.resize(rpcrdma_encode_header(
		&e.conn, buf.data(), 1024, xid, RDMA2_MSG,
		kind == RPCRDMA_KIND_REPLY ? RDMA2_F_RESPONSE : 0, nullptr));
	rpcrdma_conn_stamp(&e.conn, kind, buf.data());
	return message{ std::move(buf) };
}

} // namespace

/* ---- Opening ---- */

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
	/* Delivered once */
	EXPECT_EQ(e.receive(inline_msg(2, CALL)), RPCRDMA_RX_CALL);
	EXPECT_FALSE(e.events & RPCRDMA_EV_OPENED);
	EXPECT_EQ(e.control().size(), 0u);
}

TEST(OpeningV1, OnlyVersion2IsRefusedToAVersion1Client)
{
	end e{ config(false, 2, 2) };

	e.post(33);
	EXPECT_EQ(e.receive(inline_msg(X, CALL)), RPCRDMA_RX_DONE);
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
	EXPECT_EQ(e.receive(connprop_of(usual_config(true))), RPCRDMA_RX_DONE);
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
	rpcrdma_conn_private(&e.conn, &priv);
	rpcrdma_conn_established(&e.conn);
	EXPECT_EQ(e.control().get(4), 2u);
	EXPECT_EQ(e.receive(err_vers(2, 1, 1)), RPCRDMA_RX_DONE);
	EXPECT_TRUE(e.events & RPCRDMA_EV_OPENED);
	EXPECT_EQ(e.conn.version, 1);
	EXPECT_EQ(e.conn.err_vers_high, 1);

	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.send_inline, 2048u);
	EXPECT_EQ(limits.recv_inline, 4096u);
	EXPECT_EQ(limits.continued, 0u);

	/* Starting from one credit */
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
	rpcrdma_conn_private(&e.conn, &priv);
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
	rpcrdma_conn_private(&e.conn, &none);
	EXPECT_TRUE(rpcrdma_conn_established(&e.conn) & RPCRDMA_EV_OPENED);
	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.send_inline, 1024u);
	EXPECT_EQ(limits.recv_inline, 1024u);
}

/* The sender's Send Size or the receiver's Receive Size (RFC 8797, 4.2) */
TEST(OpeningV1, ThresholdsAreTheSmallerOnes)
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
		rpcrdma_conn_private(&e.conn, &priv);
		rpcrdma_conn_established(&e.conn);
		limits = rpcrdma_conn_limits(&e.conn);
		EXPECT_EQ(limits.send_inline, c.send);
		EXPECT_EQ(limits.recv_inline, c.recv);
		/*
		 * A reverse Call and its Reply are conveyed in one message
		 * each.
		 */
		EXPECT_EQ(rpcrdma_reverse_payload(&e.conn),
			  std::min(c.send, c.recv) - 28);
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

/* The answer to a first Call, by a server that does not have version 1 */
TEST(OpeningV1, ErrVersEndsTheCall)
{
	auto e = client1();

	header_of(*e, RPCRDMA_KIND_CALL, X);
	EXPECT_EQ(e->receive(err_vers(1, 2, 2).set(0, X)), RPCRDMA_RX_ERROR);
	EXPECT_EQ(e->rx.xid, X);
	EXPECT_EQ(e->rx.error.code, +RDMA2_ERR_VERS);
	EXPECT_LT(e->rx.error.status, 0);

	rpcrdma_lists none;
	rpcrdma_recovery recovery = {};
	rpcrdma_call call = {};

	call.length = 100;
	call.reply_max = 100;
	rpcrdma_lists_init(&none);
	EXPECT_EQ(rpcrdma_call_refused(&e->conn, &e->rx, &call, &none,
				       &recovery),
		  e->rx.error.status);
}

TEST(OpeningV1, AnotherVersionLaterCloses)
{
	auto e = server1();

	EXPECT_EQ(e->receive(inline_msg(X, CALL).set(4, 2)), RPCRDMA_RX_CLOSE);
}

/*
 * A version that was only assumed: its refusal ends the connection, not the
 * Call.
 */
TEST(OpeningV1, ErrVersToAGuessCloses)
{
	auto cfg = config(true, 1, 1);

	cfg.guess = 1;

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

TEST(OpeningV1, WhyItIsThatVersion)
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

/* ---- The version cache ---- */

TEST(VersionMemory, NothingKnownBeginsWithTheHighest)
{
	const rpcrdma_version_memory memory = {};

	EXPECT_EQ(rpcrdma_version_first(&memory, 0, 1, 2), 2);
	EXPECT_EQ(rpcrdma_version_first(&memory, 0, 1, 1), 1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 0, 2, 2), 2);
}

TEST(VersionMemory, SilenceMeansVersion1ForAWhile)
{
	rpcrdma_version_memory memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1000, 1, 2), 1);
	/* Except if version 1 is not permitted */
	EXPECT_EQ(rpcrdma_version_first(&memory, 1000, 2, 2), 2);
	/*
	 * For a day, and for another one after the last answer with version 1
	 */
	EXPECT_EQ(rpcrdma_version_first(&memory, 87399, 1, 2), 1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 87400, 1, 2), 2);
	rpcrdma_version_learn(&memory, 90000, 1, RPCRDMA_ANSWER_V1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 176399, 1, 2), 1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 176400, 1, 2), 2);
	/* The same once more */
	rpcrdma_version_learn(&memory, 176400, 2, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 176401, 1, 2), 1);
}

/* A lost connection costs no time: version 2 is tried again soon. */
TEST(VersionMemory, ALostConnectionMeansVersion1ForMinutes)
{
	rpcrdma_version_memory memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_LOST);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1299, 1, 2), 1);
	rpcrdma_version_learn(&memory, 1200, 1, RPCRDMA_ANSWER_V1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1300, 1, 2), 2);
}

/* A server that answers with version 1 restarts from time to time. */
TEST(VersionMemory, OneThatHasVersion1GetsAnotherChance)
{
	rpcrdma_version_memory memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NONE);
	for (u64 now = 1000; now < 1100; now += 20) {
		rpcrdma_version_learn(&memory, now, 1, RPCRDMA_ANSWER_V1);
		for (const auto away :
		     { RPCRDMA_ANSWER_AWAY, RPCRDMA_ANSWER_LOST,
		       RPCRDMA_ANSWER_AWAY })
			rpcrdma_version_learn(&memory, now, 1, away);
		EXPECT_EQ(rpcrdma_version_first(&memory, now, 1, 2), 1);
	}
	/* The server may have lost version 1. */
	rpcrdma_version_learn(&memory, 1100, 1, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1100, 1, 2), 2);
}

/*
 * If a peer is unreachable after it was silent, the version was not the reason
 * for its silence.
 */
TEST(VersionMemory, SilenceOfAPeerThatIsAwayWasNotTheVersion)
{
	rpcrdma_version_memory memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_AWAY);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1000, 1, 2), 2);
	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NONE);
	rpcrdma_version_learn(&memory, 1020, 1, RPCRDMA_ANSWER_AWAY);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1020, 1, 2), 2);
}

TEST(VersionMemory, SilenceInVersion1TooWasNotTheVersion)
{
	rpcrdma_version_memory memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NONE);
	rpcrdma_version_learn(&memory, 1060, 1, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1060, 1, 2), 2);
}

/* A server that restarts drops connections without notice. */
TEST(VersionMemory, OneThatHasVersion2GetsAnotherChance)
{
	rpcrdma_version_memory memory = {};

	for (u64 now = 1000; now < 1100; now += 20) {
		rpcrdma_version_learn(&memory, now, 2, RPCRDMA_ANSWER_V2);
		EXPECT_EQ(rpcrdma_version_first(&memory, now, 1, 2), 2);
		rpcrdma_version_learn(&memory, now + 5, 2, RPCRDMA_ANSWER_NONE);
		EXPECT_EQ(rpcrdma_version_first(&memory, now + 5, 1, 2), 2);
	}
	/* The server may have lost version 2. */
	rpcrdma_version_learn(&memory, 1100, 2, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1100, 1, 2), 1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1400, 1, 2), 2);
}

/* A refusal after which version 1 can follow costs no more than a message. */
TEST(VersionMemory, ARefusalIsAnAnswer)
{
	rpcrdma_version_memory memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_V2);
	rpcrdma_version_learn(&memory, 1010, 2, RPCRDMA_ANSWER_NONE);
	rpcrdma_version_learn(&memory, 1020, 2, RPCRDMA_ANSWER_V1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1020, 1, 2), 2);
	EXPECT_EQ(memory.has_v2, 0);
	EXPECT_EQ(memory.silent, 0);
}

/*
 * A peer that refuses and disconnects is not asked for version 2 again at once
 * (4.2.3.2).
 */
TEST(VersionMemory, ARefusalThatEndsTheConnectionIsRemembered)
{
	rpcrdma_version_memory memory = {};

	memory.has_v2 = 1;
	for (u64 now = 1000; now < 5000; now += 400) {
		EXPECT_EQ(rpcrdma_version_first(&memory, now, 1, 2), 2);
		rpcrdma_version_learn(&memory, now, 2, RPCRDMA_ANSWER_REFUSED);
		EXPECT_EQ(rpcrdma_version_first(&memory, now, 1, 2), 1);
		/* Version 1 works, and that connection ends, too. */
		rpcrdma_version_learn(&memory, now + 200, 1, RPCRDMA_ANSWER_V1);
		EXPECT_EQ(rpcrdma_version_first(&memory, now + 299, 1, 2), 1);
		EXPECT_EQ(memory.has_v2, 0);
	}
	/*
	 * If version 1 gets no answer either, the version was not the reason.
	 */
	rpcrdma_version_learn(&memory, 6000, 2, RPCRDMA_ANSWER_REFUSED);
	rpcrdma_version_learn(&memory, 6001, 1, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 6001, 1, 2), 2);
}

enum rpcrdma_answer answer(const end &e, enum rpcrdma_end ended)
{
	return rpcrdma_conn_answer(&e.conn, ended);
}

TEST(VersionMemory, WhatAConnectionSaysOfItsServer)
{
	end e{ config(true) };

	e.post(33);
	rpcrdma_conn_established(&e.conn);
	e.control();
	EXPECT_EQ(answer(e, RPCRDMA_END_WAITED), RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(answer(e, RPCRDMA_END_PEER), RPCRDMA_ANSWER_LOST);
	EXPECT_EQ(answer(e, RPCRDMA_END_AWAY), RPCRDMA_ANSWER_AWAY);
	EXPECT_EQ(answer(e, RPCRDMA_END_NONE), RPCRDMA_ANSWER_NOT_YET);
	EXPECT_EQ(answer(e, RPCRDMA_END_HERE), RPCRDMA_ANSWER_NOT_YET);
	e.receive(err_vers(2, 1, 1));
	EXPECT_EQ(answer(e, RPCRDMA_END_NONE), RPCRDMA_ANSWER_V1);
	EXPECT_EQ(answer(e, RPCRDMA_END_HERE), RPCRDMA_ANSWER_V1);
	EXPECT_EQ(answer(e, RPCRDMA_END_WAITED), RPCRDMA_ANSWER_REFUSED);
	EXPECT_EQ(answer(e, RPCRDMA_END_PEER), RPCRDMA_ANSWER_REFUSED);
	e.send(RPCRDMA_KIND_CALL, X);
	EXPECT_EQ(e.receive(inline_msg(X, REPLY)), RPCRDMA_RX_REPLY);
	EXPECT_EQ(answer(e, RPCRDMA_END_PEER), RPCRDMA_ANSWER_V1);

	auto v2 = open_client();

	EXPECT_EQ(answer(*v2, RPCRDMA_END_PEER), RPCRDMA_ANSWER_V2);

	/*
	 * The peer says it has neither version. Version 1 shows whether it has
	 * that one.
	 */
	end none{ config(true) };

	none.post(33);
	rpcrdma_conn_established(&none.conn);
	none.control();
	none.receive(err_vers(2, 3, 3));
	EXPECT_EQ(answer(none, RPCRDMA_END_NONE), RPCRDMA_ANSWER_NOT_YET);
	EXPECT_EQ(answer(none, RPCRDMA_END_HERE), RPCRDMA_ANSWER_ODD);
}

/* A connection that opened without a message, as those of version 1 do */
TEST(VersionMemory, NothingIsLearntOfWhatMayComeYet)
{
	rpcrdma_version_memory memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1001, 1, 2), 1);
	for (const u8 tried : { 1, 2 })
		rpcrdma_version_learn(&memory, 1001, tried,
				      RPCRDMA_ANSWER_NOT_YET);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1002, 1, 2), 1);
	memory = {};
	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NOT_YET);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1001, 1, 2), 2);
}

/* With a peer that never answers, the versions alternate. */
TEST(VersionMemory, SilenceForEverTriesBothInTurn)
{
	rpcrdma_version_memory memory = {};
	u32 tried[3] = {};
	u8 last = 1;

	memory.has_v2 = 1;
	for (u64 now = 1000; now < 5000; now += 10) {
		const u8 version = rpcrdma_version_first(&memory, now, 1, 2);

		/* Never version 1 twice in a row */
		EXPECT_FALSE(version == 1 && last == 1);
		last = version;
		tried[version]++;
		rpcrdma_version_learn(&memory, now, version,
				      RPCRDMA_ANSWER_NONE);
	}
	EXPECT_GT(tried[1], 100u);
	EXPECT_GT(tried[2], 100u);
}

/* ---- Credits ---- */

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
		/* For readers of the window */
		EXPECT_EQ(e->conn.limit - e->conn.sent, 7u);
		EXPECT_EQ(e->conn.advertised - e->conn.received,
			  e->conn.cfg.reverse);
	}
}

/*
 * Receives are withheld only while there are enough for the expected Replies.
 */
TEST(CreditsV1, KeptBackReceivesArePostedWhenFewAreLeft)
{
	auto e = client1();
	u32 n = 0;

	for (u32 i = 0; i < 3; i++) {
		ASSERT_EQ(e->receive(inline_msg(X, REPLY, 7), true),
			  RPCRDMA_RX_REPLY);
		ASSERT_EQ(rpcrdma_conn_given_back(&e->conn), 0u);
	}
	while (!(e->events & RPCRDMA_EV_RECEIVES)) {
		ASSERT_LT(n++, 30u);
		ASSERT_EQ(e->receive(inline_msg(X, REPLY, 7), true),
			  RPCRDMA_RX_REPLY);
	}
	EXPECT_EQ(rpcrdma_conn_to_post(&e->conn, 0), 3u);
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

	/* Three are left, and two are permitted. */
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
	/* This Reply is still held, which leaves 16 Receives. */
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

TEST(CreditsV1, WhatHeadersSay)
{
	auto c = client1();
	auto s = server1();

	/* 32 Receives, 8 of them for the reverse direction */
	EXPECT_EQ(header_of(*c, RPCRDMA_KIND_CALL, X).get(8), 24u);
	EXPECT_EQ(header_of(*c, RPCRDMA_KIND_REPLY, X).get(8), 8u);
	EXPECT_EQ(header_of(*s, RPCRDMA_KIND_REPLY, X).get(8), 24u);
	EXPECT_EQ(header_of(*s, RPCRDMA_KIND_CALL, X).get(8), 8u);
	/* The version of the first message is used (4.2.3.3). */
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
	 * Allocate the Receives that are wanted, or as many as there is memory
	 * for.
	 */
	void make(u32 memory = ~0u)
	{
		const rpcrdma_receives want = rpcrdma_conn_to_make(&e->conn);

		if (want.count) {
			asked++;
			need = want.need;
			events = rpcrdma_conn_made(
				&e->conn, std::min(want.count, memory));
		}
		post();
	}

	void post()
	{
		const u32 count = rpcrdma_conn_to_post(&e->conn, 0);

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

		rpcrdma_conn_given_back(&e->conn);
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
TEST(CreditsV1, NothingIsGrantedThatIsNotThere)
{
	server_window s;

	s.call();
	EXPECT_TRUE(s.e->events & RPCRDMA_EV_RECEIVES);
	EXPECT_EQ(s.reply(), 1u);
	s.make();
	EXPECT_EQ(s.need, RPCRDMA_RECEIVES_WANTED);
	s.call();
	EXPECT_EQ(s.reply(), +RPCRDMA_USUAL_WINDOW);
	EXPECT_EQ(s.on_device() + s.e->conn.kept_back,
		  RPCRDMA_USUAL_WINDOW + s.REVERSE + 1 +
			  RPCRDMA_V1_SPARE_RECEIVES);
}

/* If windows do not adapt, the full window is granted. */
TEST(CreditsV1, AllIsGrantedWhereAllIsThere)
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
				const u32 told = s.reply();

				s.make();
				EXPECT_GE(told, grant);
				grant = told;
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
TEST(CreditsV1, AServerDoesWithFewerReceives)
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
	EXPECT_EQ(s.on_device() + s.e->conn.kept_back, 4u + 1 + 3);
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
		/* The client accepts many. */
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
TEST(CreditsV1, NeverGrantsNothing)
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

/* Only a Call needs a credit. */
TEST(CreditsV1, RepliesGoAtOnce)
{
	auto e = server1();

	for (u32 i = 0; i < 100; i++) {
		ASSERT_TRUE(
			rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
		header_of(*e, RPCRDMA_KIND_REPLY, i);
		ASSERT_EQ(e->receive(inline_msg(i + 1, CALL)), RPCRDMA_RX_CALL);
	}
}

/* ---- Reverse direction ---- */

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

	rpcrdma_sq_wait(&sq);
	header_of(*e, RPCRDMA_KIND_CALL, 100);
	ASSERT_FALSE(may_call(*e));
	for (u32 now = 1000; now < 200000; now += 60000) {
		stall = rpcrdma_conn_stalled(&e->conn, rpcrdma_sq_waits(&sq),
					     now);
		EXPECT_EQ(stall.wait, 0u);
		EXPECT_EQ(stall.events, 0u);
		for (u32 i = 0; i < 100; i++) {
			e->receive(inline_msg(X + i, CALL));
			header_of(*e, RPCRDMA_KIND_REPLY, X + i);
		}
	}
	ASSERT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);

	/* A Call that waits for the answer does count. */
	EXPECT_FALSE(rpcrdma_sq_may_call(&e->conn, &sq));
	stall = rpcrdma_conn_stalled(&e->conn, rpcrdma_sq_waits(&sq), 200000);
	EXPECT_EQ(stall.wait, 60000u);
	stall = rpcrdma_conn_stalled(&e->conn, rpcrdma_sq_waits(&sq), 260000);
	EXPECT_EQ(stall.events, +RPCRDMA_EV_CLOSE);
}

TEST(ReverseV1, CallAndReply)
{
	auto s = server1();
	auto c = client1();

	ASSERT_TRUE(may_call(*s));
	header_of(*s, RPCRDMA_KIND_CALL, X);
	EXPECT_FALSE(may_call(*s));
	EXPECT_EQ(c->receive(inline_msg(X, CALL)), RPCRDMA_RX_CALL);
	/* The same xid in both directions */
	header_of(*c, RPCRDMA_KIND_CALL, X);
	EXPECT_EQ(c->receive(inline_msg(X, REPLY)), RPCRDMA_RX_REPLY);
	EXPECT_EQ(s->receive(inline_msg(X, REPLY, 16)), RPCRDMA_RX_REPLY);
	EXPECT_TRUE(s->events & RPCRDMA_EV_WINDOW);
	/* Not more than was requested */
	for (u32 i = 0; i < 8; i++)
		header_of(*s, RPCRDMA_KIND_CALL, i);
	EXPECT_FALSE(may_call(*s));
}

/* A message in either direction has the xid of its RPC (RFC 8167, 5). */
TEST(ReverseV1, HeadersHaveTheirXid)
{
	auto s = server1();
	auto c = client1();
	const message call = header_of(*s, RPCRDMA_KIND_CALL, X);
	const message reply = header_of(*c, RPCRDMA_KIND_REPLY, X);

	for (const message &m : { call, reply }) {
		EXPECT_EQ(m.get(0), X);
		EXPECT_EQ(m.get(4), 1u);
		EXPECT_EQ(m.get(12), 0u);
	}
}

/* A message whose payload disagrees with its header is refused. */
TEST(ReverseV1, PayloadMustAgreeWithTheHeader)
{
	auto s = server1();
	auto c = client1();

	header_of(*s, RPCRDMA_KIND_CALL, X);
	for (const message &m :
	     { inline_msg(X, REPLY).set(28, X + 1), inline_msg(X, 7) }) {
		EXPECT_EQ(s->receive(m), RPCRDMA_RX_DONE);
		EXPECT_EQ(s->control().get(16), +ERR_CHUNK);
	}
	EXPECT_FALSE(may_call(*s));
	EXPECT_EQ(s->receive(inline_msg(X, REPLY)), RPCRDMA_RX_REPLY);
	EXPECT_TRUE(may_call(*s));

	EXPECT_NE(c->receive(inline_msg(X, CALL).set(28, X + 1)),
		  RPCRDMA_RX_CALL);
	EXPECT_NE(c->receive(inline_msg(X, 7)), RPCRDMA_RX_CALL);
	EXPECT_EQ(c->control().size(), 0u);
	EXPECT_EQ(c->receive(inline_msg(X, CALL)), RPCRDMA_RX_CALL);
}

/* The credits could be those the peer requests, or those it grants. */
TEST(ReverseV1, CreditsOfNoDirectionAreIgnored)
{
	auto e = client1();

	header_of(*e, RPCRDMA_KIND_CALL, 1);
	e->receive(inline_msg(1, REPLY, 3));
	ASSERT_EQ(e->conn.call_limit, 3u);
	EXPECT_EQ(e->receive(inline_msg(2, 7, 20)), RPCRDMA_RX_BAD_REPLY);
	EXPECT_EQ(e->conn.call_limit, 3u);
	EXPECT_EQ(e->receive(fixed(2, MSG, 20).word(7).fill(40)),
		  RPCRDMA_RX_BAD_REPLY);
	EXPECT_EQ(e->conn.call_limit, 3u);
	/* A Call conveys the credits its sender requests. */
	EXPECT_EQ(e->receive(inline_msg(2, CALL, 20)), RPCRDMA_RX_CALL);
	EXPECT_EQ(e->conn.call_limit, 3u);
}

TEST(ReverseV1, ChunksAreRefused)
{
	auto c = client1();

	EXPECT_EQ(c->receive(fixed(X, MSG)
				     .read_segment(16, 1, 4)
				     .word(0)
				     .word(0)
				     .word(0)
				     .rpc(X, CALL, 40)),
		  RPCRDMA_RX_DONE);

	const message m = c->control();

	ASSERT_EQ(m.size(), 20u);
	EXPECT_EQ(m.get(0), X);
	EXPECT_EQ(m.get(4), 1u);
	EXPECT_EQ(m.get(12), +ERROR);
	EXPECT_EQ(m.get(16), +ERR_CHUNK);
	EXPECT_EQ(c->receive(fixed(X, NOMSG)
				     .read_segment(0, 1, 400)
				     .word(0)
				     .word(0)
				     .word(0)),
		  RPCRDMA_RX_DONE);
	EXPECT_EQ(c->control().get(16), +ERR_CHUNK);
}

/* A reverse Call provides no chunk, so its Reply can return none. */
TEST(ReverseV1, RepliesWithChunksAreBad)
{
	const message replies[] = {
		fixed(X, MSG)
			.word(0)
			.word(1)
			.word(1)
			.segment(77, 10, 0)
			.word(0)
			.word(0)
			.rpc(X, REPLY, 40),
		fixed(X, MSG)
			.word(0)
			.word(0)
			.word(1)
			.word(1)
			.segment(77, 10, 0)
			.rpc(X, REPLY, 40),
	};

	for (const message &m : replies) {
		auto s = server1();

		header_of(*s, RPCRDMA_KIND_CALL, X);
		EXPECT_EQ(s->receive(m), RPCRDMA_RX_BAD_REPLY);
		EXPECT_EQ(s->rx.xid, X);
		EXPECT_EQ(s->rx.error.status, -5);
		EXPECT_TRUE(may_call(*s)) << "it counts as an answer";
	}
}

/* ---- Messages ---- */

TEST(MessagesV1, ReadListInAnyOrder)
{
	auto e = server1();

	/* Two items, the second one first, and the first one in two pieces */
	EXPECT_EQ(e->receive(fixed(X, NOMSG)
				     .read_segment(120, 5, 40)
				     .read_segment(100, 6, 8)
				     .read_segment(0, 7, 100)
				     .read_segment(100, 8, 10)
				     .read_segment(0, 9, 60)
				     .word(0)
				     .word(0)
				     .word(0)),
		  RPCRDMA_RX_CALL);

	const rpcrdma_lists &l = e->rx.lists;

	EXPECT_EQ(e->rx.format, RPCRDMA_SPECIAL);
	EXPECT_EQ(e->rx.total_length, 160u);
	ASSERT_EQ(l.nr_reads, 3);
	ASSERT_EQ(l.nr_segs, 5);
	const u32 handles[] = { 7, 9, 6, 8, 5 };
	for (u32 i = 0; i < 5; i++)
		EXPECT_EQ(l.segs[i].handle, handles[i]);
	EXPECT_EQ(l.reads[0].position, 0u);
	EXPECT_EQ(l.reads[0].length, 160u);
	EXPECT_EQ(l.reads[0].count, 2);
	EXPECT_EQ(l.reads[1].position, 100u);
	EXPECT_EQ(l.reads[1].length, 18u);
	EXPECT_EQ(l.reads[1].first, 2);
	EXPECT_EQ(l.reads[2].position, 120u);
	EXPECT_EQ(l.reads[2].first, 4);
	EXPECT_EQ(l.inv_handle, 0u);
}

TEST(MessagesV1, OneHandleMayBeInvalidated)
{
	for (bool inv : { true, false }) {
		auto e = server1(inv);

		EXPECT_EQ(e->receive(fixed(X, MSG)
					     .word(0)
					     .word(1)
					     .word(2)
					     .segment(77, 10, 0)
					     .segment(77, 10, 10)
					     .word(0)
					     .word(1)
					     .word(1)
					     .segment(77, 10, 20)
					     .rpc(X, CALL, 40)),
			  RPCRDMA_RX_CALL);
		EXPECT_EQ(e->rx.lists.inv_handle, inv ? 77u : 0u);
		EXPECT_EQ(e->receive(fixed(X, MSG)
					     .word(0)
					     .word(1)
					     .word(1)
					     .segment(77, 10, 0)
					     .word(0)
					     .word(1)
					     .word(1)
					     .segment(78, 10, 20)
					     .rpc(X, CALL, 40)),
			  RPCRDMA_RX_CALL);
		EXPECT_EQ(e->rx.lists.inv_handle, 0u);
	}
}

TEST(MessagesV1, BadCallsGetErrChunk)
{
	auto e = server1();
	const message bad[] = {
		/* Position Zero with an inline payload */
		fixed(X, MSG).read_segment(0, 1, 40).word(0).word(0).word(0).rpc(
			X, CALL, 40),
		/* No payload anywhere */
		fixed(X, NOMSG).word(0).word(0).word(0),
		fixed(X, NOMSG).word(0).word(0).word(1).word(1).segment(1, 99,
									0),
		/* Unaligned, beyond the end */
		fixed(X, MSG).read_segment(17, 1, 4).word(0).word(0).word(0).rpc(
			X, CALL, 40),
		fixed(X, MSG).read_segment(44, 1, 4).word(0).word(0).word(0).rpc(
			X, CALL, 40),
		/* Another xid, no direction */
		inline_msg(X, CALL).set(28, X + 1),
		inline_msg(X, 2),
		/* Cut off, not a boolean, a count from nowhere */
		fixed(X, MSG).word(1).fill(20),
		fixed(X, MSG).word(2).fill(40),
		fixed(X, MSG).word(0).word(1).word(0xffffffff).fill(40),
		/* Procedures that are obsolete or undefined */
		fixed(X, MSGP).fill(40),
		fixed(X, 5).fill(40),
	};

	for (const message &m : bad) {
		EXPECT_EQ(e->receive(m), RPCRDMA_RX_DONE);
		const message answer = e->control();
		ASSERT_EQ(answer.size(), 20u) << &m - bad;
		EXPECT_EQ(answer.get(0), X);
		EXPECT_EQ(answer.get(16), +ERR_CHUNK);
		EXPECT_EQ(e->control().size(), 0u);
	}
	EXPECT_EQ(e->conn.counters.errors_sent, std::size(bad));
}

/* Positions include the bytes in Read chunks (RFC 8166, 3.4.5). */
TEST(MessagesV1, PositionsCountTheUnreducedStream)
{
	/*
	 * 40 bytes inline. 100 bytes were removed after the first 16 of them.
	 */
	const struct {
		u32 second;
		bool ok;
	} cases[] = {
		{ 112, false }, { 116, true },	{ 128, true },
		{ 140, true },	{ 144, false },
	};

	for (const auto &c : cases) {
		auto e = server1();

		EXPECT_EQ(e->receive(fixed(X, MSG)
					     .read_segment(16, 1, 100)
					     .read_segment(c.second, 2, 8)
					     .word(0)
					     .word(0)
					     .word(0)
					     .rpc(X, CALL, 40)),
			  c.ok ? RPCRDMA_RX_CALL : RPCRDMA_RX_DONE)
			<< c.second;
		EXPECT_EQ(e->control().size(), c.ok ? 0u : 20u) << c.second;
	}
}

TEST(MessagesV1, Dropped)
{
	const message m[] = {
		fixed(X, DONE).fill(12),
		fixed(X, MSG).word(0).word(0), /* less than 28 bytes */
		fixed(X, ERROR),
		fixed(X, ERROR).word(9).fill(8),
		fixed(X, ERROR).word(ERR_VERS),
	};

	for (bool client : { false, true }) {
		auto e = client ? client1() : server1();

		for (const message &each : m)
			EXPECT_EQ(e->receive(each), RPCRDMA_RX_DONE);
		EXPECT_EQ(e->conn.counters.dropped, std::size(m));
		EXPECT_EQ(e->control().size(), 0u);
		if (client) {
			EXPECT_EQ(e->receive(fixed(X, MSGP).fill(40)),
				  RPCRDMA_RX_DONE);
			EXPECT_EQ(e->control().size(), 0u);
		}
	}
}

/* An ERROR is accepted as the answer to a Call, and never answered itself. */
TEST(MessagesV1, ErrorsAnswerCallsOnly)
{
	for (bool client : { false, true }) {
		auto e = client ? client1() : server1();

		/*
		 * 20 bytes: the only messages shorter than 28 bytes that are
		 * accepted
		 */
		const message m = fixed(X, ERROR).word(ERR_CHUNK);

		ASSERT_EQ(m.size(), 20u);
		EXPECT_EQ(e->receive(m), RPCRDMA_RX_ERROR);
		EXPECT_EQ(e->rx.xid, X);
		EXPECT_LT(e->rx.error.status, 0);
		EXPECT_EQ(e->control().size(), 0u);
		/* A Reply is never answered either, however bad it is. */
		e->receive(inline_msg(X, REPLY).set(28, X + 1));
		if (client)
			EXPECT_EQ(e->control().size(), 0u);
	}
}

TEST(MessagesV1, NoDone)
{
	auto e = client1();

	EXPECT_EQ(rpcrdma_conn_queue_done(&e->conn, X, 77), 0u);
	EXPECT_EQ(e->control().size(), 0u);
}

TEST(MessagesV1, Replies)
{
	auto e = client1();
	rpcrdma_lists offered;
	rpcrdma_placed placed;

	rpcrdma_lists_init(&offered);
	add_write(&offered, 2, 4096);
	/* Used in part, then unused in both forms */
	EXPECT_EQ(e->receive(fixed(X, MSG)
				     .word(0)
				     .word(1)
				     .word(2)
				     .segment(0x1000, 4096, 0)
				     .segment(0x1001, 10, 0)
				     .word(0)
				     .word(0)
				     .rpc(X, REPLY, 40)),
		  RPCRDMA_RX_REPLY);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &offered, &e->rx, &placed), 0);
	EXPECT_EQ(placed.write_octets, 4106u);
	EXPECT_EQ(e->receive(fixed(X, MSG)
				     .word(0)
				     .word(1)
				     .word(2)
				     .segment(0x1000, 0, 0)
				     .segment(0x1001, 0, 0)
				     .word(0)
				     .word(0)
				     .rpc(X, REPLY, 40)),
		  RPCRDMA_RX_REPLY);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &offered, &e->rx, &placed), 0);
	EXPECT_EQ(placed.write_octets, 0u);
	EXPECT_EQ(
		e->receive(
			fixed(X, MSG).word(0).word(1).word(0).word(0).word(0).rpc(
				X, REPLY, 40)),
		RPCRDMA_RX_REPLY);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &offered, &e->rx, &placed), 0);
	EXPECT_EQ(placed.write_octets, 0u);

	rpcrdma_lists_init(&offered);
	add_reply(&offered, 1, 65536);
	EXPECT_EQ(
		e->receive(
			fixed(X, NOMSG).word(0).word(0).word(1).word(1).segment(
				0x1000, 9000, 0)),
		RPCRDMA_RX_REPLY);
	EXPECT_EQ(e->rx.format, RPCRDMA_SPECIAL);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &offered, &e->rx, &placed), 0);
	EXPECT_EQ(placed.reply_octets, 9000u);
}

TEST(MessagesV1, BadReplies)
{
	auto e = client1();
	const message bad[] = {
		fixed(X, NOMSG).word(0).word(0).word(0),
		fixed(X, NOMSG).word(0).word(0).word(1).word(1).segment(1, 7,
									0),
		inline_msg(X, REPLY).set(28, X + 1),
		inline_msg(X, 3),
		fixed(X, MSG).read_segment(16, 1, 4).word(0).word(0).word(0).rpc(
			X, REPLY, 40),
		fixed(X, MSG).word(7).fill(40),
	};

	for (const message &m : bad) {
		EXPECT_EQ(e->receive(m), RPCRDMA_RX_BAD_REPLY) << &m - bad;
		EXPECT_EQ(e->rx.xid, X);
		EXPECT_EQ(e->rx.error.status, -5);
		EXPECT_EQ(e->control().size(), 0u);
	}
}

TEST(MessagesV1, Invalidation)
{
	auto e = client1();
	rpcrdma_lists lists;

	/* Any handle of the Call, whichever was meant to be invalidated */
	rpcrdma_lists_init(&lists);
	add_write(&lists, 2, 4096);
	lists.inv_handle = 0x1001;
	EXPECT_TRUE(rpcrdma_invalidation_ok(&e->conn, &lists, 0x1000));
	EXPECT_TRUE(rpcrdma_invalidation_ok(&e->conn, &lists, 0x1001));
	EXPECT_TRUE(rpcrdma_invalidation_ok(&e->conn, &lists, 0));
	EXPECT_FALSE(rpcrdma_invalidation_ok(&e->conn, &lists, 0x1002));
}

TEST(MessagesV1, HeadersAsOctets)
{
	auto e = client1();
	rpcrdma_lists lists;
	octets buf(512);

	rpcrdma_lists_init(&lists);
	rpcrdma_lists_add_read(&lists, 0);
	rpcrdma_lists_add_segment(&lists, 1, 100, 1ull << 40);
	rpcrdma_lists_add_reply(&lists);
	rpcrdma_lists_add_segment(&lists, 2, 200, 7);
	lists.inv_handle = 2;
	buf.resize(rpcrdma_encode_header(&e->conn, buf.data(), 512, X,
					 RDMA2_NOMSG, 0, &lists));
	rpcrdma_conn_stamp(&e->conn, RPCRDMA_KIND_CALL, buf.data());
	EXPECT_EQ(buf.size(), rpcrdma_header_octets(&e->conn, &lists));
	EXPECT_EQ(buf, fixed(X, NOMSG, 24)
			       .read_segment(0, 1, 100, 1ull << 40)
			       .word(0)
			       .word(0)
			       .word(1)
			       .word(1)
			       .segment(2, 200, 7)
			       .data());
	EXPECT_EQ(rpcrdma_header_octets(&e->conn, nullptr), 28u);
}

/* ---- Plans ---- */

namespace
{

int plan(const end &e, rpcrdma_call &call, rpcrdma_call_plan &plan)
{
	call.xid = X;
	return rpcrdma_plan_call(&e.conn, &call, &plan);
}

} // namespace

TEST(PlansV1, Calls)
{
	auto e = client1();
	rpcrdma_call call = {};
	rpcrdma_call_plan p;

	call.ddp = 1;
	call.call_segs = call.item_segs = 1;
	call.reply_segs = call.result_segs = 1;

	/* Short, up to the last byte */
	call.length = 4096 - 28;
	call.reply_max = 4096 - 28;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_EQ(p.format, RPCRDMA_INLINE);
	EXPECT_FALSE(p.reply_chunk || p.write_chunk || p.read_item);

	/* Long, never continued, and with a Reply chunk */
	call.length++;
	call.reply_max++;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_EQ(p.format, RPCRDMA_SPECIAL);
	EXPECT_TRUE(p.reply_chunk);

	/* Chunked */
	call.length = 65536 + 200;
	call.item_position = 200;
	call.item_length = 65536;
	call.reply_max = 200;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_EQ(p.format, RPCRDMA_INLINE);
	EXPECT_TRUE(p.read_item);
	EXPECT_EQ(p.inline_length, 200u);

	/* Long with an item: in one chunk */
	call.item_position = 8000;
	call.length = 8000 + 65536;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_EQ(p.format, RPCRDMA_SPECIAL);
	EXPECT_FALSE(p.read_item);

	/* A result uses a Write chunk, */
	call = {};
	call.ddp = 1;
	call.length = 200;
	call.reply_segs = call.result_segs = 1;
	call.reply_max = 65536 + 200;
	call.result_max = 65536;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_TRUE(p.write_chunk);
	EXPECT_FALSE(p.reply_chunk);

	/* unless the rest may be too large, too. */
	call.reply_max = 65536 + 5000;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_FALSE(p.write_chunk);
	EXPECT_TRUE(p.reply_chunk);

	/*
	 * No memory for the Reply: no Call is sent in the hope that the Reply
	 * will fit.
	 */
	call.reply_segs = 33;
	EXPECT_LT(plan(*e, call, p), 0);
}

TEST(PlansV1, TheReplyChunkIsAlwaysReturned)
{
	auto e = server1();
	rpcrdma_lists lists;
	rpcrdma_reply reply = {};
	rpcrdma_reply_plan p;

	rpcrdma_lists_init(&lists);
	add_reply(&lists, 1, 65536);
	reply.xid = X;
	reply.length = 200;
	rpcrdma_plan_reply(&e->conn, &lists, &reply, &p);
	EXPECT_EQ(p.format, RPCRDMA_SPECIAL);
	EXPECT_EQ(p.reply_length, 200u);
	EXPECT_EQ(p.lists.reply.length, 200u);
	EXPECT_EQ(p.lists.segs[0].length, 200u);
	EXPECT_EQ(p.lists.segs[0].handle, lists.segs[0].handle);

	reply.length = 4096 - 27;
	rpcrdma_plan_reply(&e->conn, &lists, &reply, &p);
	EXPECT_EQ(p.format, RPCRDMA_SPECIAL);
	EXPECT_EQ(p.reply_length, reply.length);

	/* Too small for the Reply: unused, and returned with a length of 0 */
	rpcrdma_lists_init(&lists);
	add_reply(&lists, 2, 50);
	reply.length = 200;
	rpcrdma_plan_reply(&e->conn, &lists, &reply, &p);
	EXPECT_EQ(p.format, RPCRDMA_INLINE);
	EXPECT_EQ(p.inline_length, 200u);
	ASSERT_TRUE(p.lists.has_reply);
	EXPECT_EQ(p.lists.reply.length, 0u);
	EXPECT_EQ(p.lists.reply.count, 2);
	EXPECT_EQ(p.lists.segs[1].length, 0u);

	reply.length = 65537;
	rpcrdma_plan_reply(&e->conn, &lists, &reply, &p);
	EXPECT_NE(p.error, 0u);
	EXPECT_TRUE(rpcrdma_conn_queue_error(&e->conn, X, p.error, p.arg[0],
					     p.arg[1]) &
		    RPCRDMA_EV_CONTROL);
	EXPECT_EQ(e->control().get(16), +ERR_CHUNK);
}

/*
 * The size of the client's Receives is unknown, and a Reply cannot be conveyed
 * otherwise: it is sent in one message if it fits a Send.
 */
TEST(PlansV1, WithoutPrivateMessageAndReplyChunk)
{
	const struct {
		bool priv, chunk;
		u32 length;
		bool good;
	} cases[] = {
		{ false, false, 1024 - 28, true },
		{ false, false, 1064, true },
		{ false, false, 8192 - 28, true },
		{ false, false, 8192 - 27, false },
		/* The client's Receives, or its chunk, are too small. */
		{ true, false, 1024 - 28, true },
		{ true, false, 1024 - 27, false },
		{ false, true, 1064, false },
	};

	for (const auto &c : cases) {
		auto cfg = config(false);
		const auto priv = private_of(1024, 1024);
		rpcrdma_lists lists;
		rpcrdma_reply reply = {};
		rpcrdma_reply_plan p;

		cfg.props.sbsiz = 8192;

		end e{ cfg };

		if (c.priv)
			rpcrdma_conn_private(&e.conn, &priv);
		e.make();
		ASSERT_EQ(e.receive(inline_msg(1, CALL)), RPCRDMA_RX_CALL);
		EXPECT_EQ(rpcrdma_conn_limits(&e.conn).send_inline, 1024u);
		EXPECT_EQ(rpcrdma_conn_send_octets(&e.conn),
			  c.priv ? 4096u : 8192u);

		rpcrdma_lists_init(&lists);
		if (c.chunk)
			add_reply(&lists, 1, 1000);
		reply.xid = X;
		reply.length = c.length;
		rpcrdma_plan_reply(&e.conn, &lists, &reply, &p);
		EXPECT_EQ(p.error, c.good ? 0u : +RDMA2_ERR_REPLY_RESOURCE);
		EXPECT_EQ(p.inline_length, c.good ? c.length : 0u);
	}
}

TEST(PlansV1, EmptyWriteChunk)
{
	auto e = server1();
	rpcrdma_lists lists;
	rpcrdma_reply reply = {};
	rpcrdma_reply_plan p;

	rpcrdma_lists_init(&lists);
	rpcrdma_lists_add_write(&lists);
	reply.xid = X;
	reply.length = 1200;
	reply.nr_items = 1;
	reply.items[0] = { 100, 1000 };
	rpcrdma_plan_reply(&e->conn, &lists, &reply, &p);
	EXPECT_EQ(p.format, RPCRDMA_INLINE);
	EXPECT_EQ(p.inline_length, 1200u);
	EXPECT_EQ(p.nr_items, 0);
	ASSERT_EQ(p.lists.nr_writes, 1);
	EXPECT_EQ(p.lists.writes[0].count, 0);
}

/* An empty Write chunk stands for its item only (RFC 8166, 4.3.2). */
TEST(PlansV1, EmptyWriteChunkFirst)
{
	auto e = server1();
	rpcrdma_lists lists;
	rpcrdma_reply reply = {};
	rpcrdma_reply_plan p;

	rpcrdma_lists_init(&lists);
	rpcrdma_lists_add_write(&lists);
	add_write(&lists, 2, 4096);
	reply.xid = X;
	reply.length = 200 + 100 + 6000;
	reply.nr_items = 2;
	reply.items[0] = { 100, 100 };
	reply.items[1] = { 250, 6000 };
	rpcrdma_plan_reply(&e->conn, &lists, &reply, &p);
	EXPECT_EQ(p.error, 0u);
	EXPECT_EQ(p.format, RPCRDMA_INLINE);
	EXPECT_EQ(p.inline_length, 300u);
	EXPECT_FALSE(rpcrdma_item_placed(&p, 0));
	EXPECT_TRUE(rpcrdma_item_placed(&p, 1));
	ASSERT_EQ(p.lists.nr_writes, 2);
	EXPECT_EQ(p.lists.writes[0].count, 0);
	EXPECT_EQ(p.lists.writes[1].length, 6000u);
}

TEST(PlansV1, SeveralWriteChunks)
{
	auto e = server1();
	rpcrdma_lists lists;
	rpcrdma_reply reply = {};
	rpcrdma_reply_plan p;

	rpcrdma_lists_init(&lists);
	add_write(&lists, 1, 4096);
	add_write(&lists, 2, 4096);
	add_write(&lists, 1, 4096);
	reply.xid = X;
	reply.length = 200 + 1004 + 6000;
	reply.nr_items = 2;
	reply.items[0] = { 100, 1001 };
	reply.items[1] = { 1150, 5999 };
	rpcrdma_plan_reply(&e->conn, &lists, &reply, &p);
	EXPECT_EQ(p.error, 0u);
	EXPECT_EQ(p.format, RPCRDMA_INLINE);
	EXPECT_EQ(p.inline_length, 200u);
	ASSERT_EQ(p.lists.nr_writes, 3);
	EXPECT_EQ(p.lists.nr_reads, 0);
	ASSERT_EQ(p.lists.nr_segs, 4);
	for (u32 i = 0; i < 4; i++)
		EXPECT_EQ(p.lists.segs[i].handle, lists.segs[i].handle);
	EXPECT_EQ(p.lists.writes[0].length, 1001u);
	EXPECT_EQ(p.lists.writes[1].length, 5999u);
	EXPECT_EQ(p.lists.writes[2].length, 0u);
	EXPECT_EQ(p.lists.writes[2].count, 1);
}

/* ---- More segments than RCSIZ, which only version 2 has ---- */

namespace
{

/* The maximum of a Call */
constexpr int MOST = RPCRDMA_MAX_SEGS + RPCRDMA_MORE_SEGS;
/* The maximum of pages in 1 MiB and the data around it */
constexpr int PAGES = 259;

/*
 * Return a Call with these numbers of segments in its chunks; -1: no such
 * chunk.
 */
message offering(int reads, int write, int reply, u32 length)
{
	message m = fixed(X, MSG);
	u32 handle = 0;
	const auto array = [&](int count) {
		if (count < 0)
			return;
		m.word(1).word(count);
		for (; count; count--, handle++)
			m.segment(handle, length, u64{ handle } << 12);
	};

	for (; reads > 0; reads--, handle++)
		m.read_segment(40, handle, length, u64{ handle } << 12);
	m.word(0);
	array(write);
	m.word(0);
	array(reply);
	if (reply < 0)
		m.word(0);
	return m.rpc(X, CALL, 40);
}

void expect_segments(const rpcrdma_lists &lists, u32 count, u32 length)
{
	ASSERT_EQ(lists.nr_segs, count);
	for (u32 i = 0; i < count; i++) {
		const rpcrdma_segment *seg = rpcrdma_lists_seg(&lists, i);

		ASSERT_EQ(seg->handle, i);
		ASSERT_EQ(seg->length, length) << i;
		ASSERT_EQ(seg->offset, u64{ i } << 12);
	}
}

void expect_err_chunk(end &e, const message &m)
{
	EXPECT_EQ(e.receive(m), RPCRDMA_RX_DONE);

	const message answer = e.control();

	ASSERT_EQ(answer.size(), 20u);
	EXPECT_EQ(answer.get(0), X);
	EXPECT_EQ(answer.get(16), +ERR_CHUNK);
}

/*
 * Check a Reply with @placed bytes against the received Call, as its Requester
 * does.
 */
int check_reply(const end &e, const rpcrdma_lists &offered,
		const rpcrdma_reply_plan &p, rpcrdma_placed *placed)
{
	auto rx = std::make_unique<rpcrdma_rx>();

	rx->format = p.format;
	rx->lists = p.lists;
	return rpcrdma_check_reply(&e.conn, &offered, rx.get(), placed);
}

/* Expect that the lengths of @chunk's segments add up to @octets, in pages. */
void expect_filled(const rpcrdma_lists &lists, const rpcrdma_chunk &chunk,
		   u32 count, u32 first_handle, u32 octets)
{
	ASSERT_EQ(chunk.count, count);
	EXPECT_EQ(chunk.length, octets);
	for (u32 i = 0; i < count; i++) {
		const rpcrdma_segment *seg =
			rpcrdma_lists_seg(&lists, chunk.first + i);

		ASSERT_EQ(seg->handle, first_handle + i);
		ASSERT_EQ(seg->length, std::min(octets, 4096u)) << i;
		octets -= seg->length;
	}
}

} // namespace

TEST(SegmentsV1, OneForEachPageOfAResult)
{
	auto e = server1(true, 16384);
	rpcrdma_reply reply = {};
	rpcrdma_placed placed;
	rpcrdma_reply_plan p;
	std::unique_ptr<rpcrdma_segment[]> more;
	octets buf(8192);

	ASSERT_EQ(e->receive(offering(0, PAGES, -1, 4096)), RPCRDMA_RX_CALL);
	expect_segments(e->rx.lists, PAGES, 4096);
	EXPECT_EQ(e->rx.lists.writes[0].count, PAGES);
	EXPECT_EQ(e->rx.lists.writes[0].length, PAGES * 4096u);

	const rpcrdma_lists offered = copy_of(e->rx.lists, more);

	reply.xid = X;
	reply.length = 120 + 1000000;
	reply.nr_items = 1;
	reply.items[0] = { 100, 1000000 };
	rpcrdma_plan_reply(&e->conn, &e->rx.lists, &reply, &p);
	ASSERT_EQ(p.error, 0u);
	EXPECT_EQ(p.format, RPCRDMA_INLINE);
	EXPECT_EQ(p.inline_length, 120u);
	expect_filled(p.lists, p.lists.writes[0], PAGES, 0, 1000000);
	ASSERT_EQ(check_reply(*e, offered, p, &placed), 0);
	EXPECT_EQ(placed.write_octets, 1000000u);

	/* The message as its Requester gets it */
	buf.resize(rpcrdma_encode_header(&e->conn, buf.data(), 8192, X,
					 RDMA2_MSG, RDMA2_F_RESPONSE,
					 &p.lists));
	ASSERT_EQ(buf.size(), 28u + 8 + 16 * PAGES);

	const message m{ std::move(buf) };

	EXPECT_EQ(m.get(24), u32{ PAGES });
	EXPECT_EQ(m.get(28 + 16 * 243), 243u);
	EXPECT_EQ(m.get(32 + 16 * 243), 4096u);
	EXPECT_EQ(m.get(32 + 16 * 244), 1000000u % 4096);
	EXPECT_EQ(m.get(28 + 16 * (PAGES - 1)), PAGES - 1u);
	EXPECT_EQ(m.get(32 + 16 * (PAGES - 1)), 0u);
	EXPECT_EQ(m.get(40 + 16 * (PAGES - 1)), (PAGES - 1u) << 12);
}

TEST(SegmentsV1, OneForEachPageOfAReply)
{
	auto e = server1(true, 16384);
	rpcrdma_reply reply = {};
	rpcrdma_placed placed;
	rpcrdma_reply_plan p;
	std::unique_ptr<rpcrdma_segment[]> more;

	ASSERT_EQ(e->receive(offering(0, -1, PAGES, 4096)), RPCRDMA_RX_CALL);
	expect_segments(e->rx.lists, PAGES, 4096);

	const rpcrdma_lists offered = copy_of(e->rx.lists, more);

	reply.xid = X;
	reply.length = PAGES * 4096 - 100;
	rpcrdma_plan_reply(&e->conn, &e->rx.lists, &reply, &p);
	ASSERT_EQ(p.error, 0u);
	EXPECT_EQ(p.format, RPCRDMA_SPECIAL);
	EXPECT_EQ(p.reply_length, reply.length);
	expect_filled(p.lists, p.lists.reply, PAGES, 0, reply.length);
	ASSERT_EQ(check_reply(*e, offered, p, &placed), 0);
	EXPECT_EQ(placed.reply_octets, reply.length);
}

/*
 * The Reply's segments are stored where the Call's were, and never after them.
 */
TEST(SegmentsV1, AllKindsOfChunks)
{
	const int counts[][3] = { { 70, 150, 40 },  { 1, 100, 100 },
				  { 100, 30, 100 }, { 10, 54, 200 },
				  { 200, 1, 1 },    { 64, 100, 100 } };

	for (const auto &c : counts) {
		auto e = server1(true, 16384);
		rpcrdma_reply reply = {};
		rpcrdma_placed placed;
		rpcrdma_reply_plan p;
		std::unique_ptr<rpcrdma_segment[]> more;
		const u32 item = c[1] * 4096 - 1000;

		ASSERT_EQ(e->receive(offering(c[0], c[1], c[2], 4096)),
			  RPCRDMA_RX_CALL);
		expect_segments(e->rx.lists, c[0] + c[1] + c[2], 4096);

		const rpcrdma_lists offered = copy_of(e->rx.lists, more);

		reply.xid = X;
		reply.length = 300 + item;
		reply.nr_items = 1;
		reply.items[0] = { 100, item };
		rpcrdma_plan_reply(&e->conn, &e->rx.lists, &reply, &p);
		ASSERT_EQ(p.error, 0u);
		EXPECT_EQ(p.format, RPCRDMA_SPECIAL);
		EXPECT_EQ(p.lists.nr_segs, c[1] + c[2]);
		expect_filled(p.lists, p.lists.writes[0], c[1], c[0], item);
		expect_filled(p.lists, p.lists.reply, c[2], c[0] + c[1], 300);
		ASSERT_EQ(check_reply(*e, offered, p, &placed), 0);
		EXPECT_EQ(placed.write_octets, item);
		EXPECT_EQ(placed.reply_octets, 300u);
	}
}

TEST(SegmentsV1, ReadsInReverseOrder)
{
	constexpr u32 CHUNKS = 10, COUNT = 25;
	auto e = server1();
	message m = fixed(X, MSG);

	for (u32 k = CHUNKS; k-- > 0;) {
		for (u32 i = 0; i < COUNT; i++) {
			const u32 handle = k * COUNT + i;

			m.read_segment(16 + 4 * COUNT * k, handle, 4,
				       u64{ handle } << 12);
		}
	}
	m.word(0).word(0).word(0).rpc(X, CALL, 40);
	ASSERT_EQ(e->receive(m), RPCRDMA_RX_CALL);
	expect_segments(e->rx.lists, CHUNKS * COUNT, 4);
	ASSERT_EQ(e->rx.lists.nr_reads, CHUNKS);
	for (u32 k = 0; k < CHUNKS; k++) {
		EXPECT_EQ(e->rx.lists.reads[k].position, 16 + 4 * COUNT * k);
		EXPECT_EQ(e->rx.lists.reads[k].first, COUNT * k);
		EXPECT_EQ(e->rx.lists.reads[k].count, COUNT);
		EXPECT_EQ(e->rx.lists.reads[k].length, 4 * COUNT);
	}
}

/* As many Positions as there may be chunks, and more, in the worst order */
TEST(SegmentsV1, ManyPositions)
{
	for (int chunks :
	     { +RPCRDMA_MAX_READ_CHUNKS, RPCRDMA_MAX_READ_CHUNKS + 1, MOST }) {
		const int count = MOST / chunks;
		auto e = server1();
		message m = fixed(X, MSG);

		for (int i = 0; i < count * chunks; i++) {
			const int k = chunks - 1 - i % chunks;

			m.read_segment(
				16 + 4 * count * k, count * k + i / chunks, 4,
				static_cast<u64>(count * k + i / chunks) << 12);
		}
		m.word(0).word(0).word(0).rpc(X, CALL, 40);
		if (chunks > RPCRDMA_MAX_READ_CHUNKS) {
			EXPECT_EQ(e->receive(m), RPCRDMA_RX_DONE) << chunks;
			continue;
		}
		ASSERT_EQ(e->receive(m), RPCRDMA_RX_CALL);
		expect_segments(e->rx.lists, count * chunks, 4);
		EXPECT_EQ(e->rx.lists.nr_reads, chunks);
	}
}

/* More bytes than a Responder pulls, in segments that are not too long */
TEST(SegmentsV1, ReadChunksOfTooManyOctets)
{
	constexpr u32 SEGS = RPCRDMA_MAX_CHUNK_OCTETS / 1048576;

	for (u32 more : { 0u, 4u }) {
		auto e = server1();
		message m = fixed(X, MSG);

		for (u32 i = 0; i < SEGS; i++)
			m.read_segment(16, i, 1048576, u64{ i } << 20);
		if (more)
			m.read_segment(16, SEGS, more, u64{ SEGS } << 20);
		m.word(0).word(0).word(0).rpc(X, CALL, 40);
		EXPECT_EQ(e->receive(m),
			  more ? RPCRDMA_RX_DONE : RPCRDMA_RX_CALL);
		if (more)
			EXPECT_EQ(e->control().get(16), +ERR_CHUNK);
	}
}

/* A list in ascending order is complete or refused. */
TEST(SegmentsV1, OnePositionTooMany)
{
	for (u32 over : { 0u, 1u }) {
		const u32 chunks = RPCRDMA_MAX_READ_CHUNKS + over;
		auto e = server1();
		message m = fixed(X, MSG);

		for (u32 i = 0; i < chunks; i++)
			m.read_segment(16 + 4 * i, i, 4, u64{ i } << 12);
		m.word(0).word(0).word(0).rpc(X, CALL, 400);
		if (!over) {
			ASSERT_EQ(e->receive(m), RPCRDMA_RX_CALL);
			EXPECT_EQ(e->rx.lists.nr_reads, chunks);
			continue;
		}
		EXPECT_EQ(e->receive(m), RPCRDMA_RX_DONE);
		EXPECT_EQ(e->control().get(16), +ERR_CHUNK);
	}
}

/*
 * A peer chooses the order, but not the cost of decoding. No other message of
 * the connection is processed while the lists are decoded. The worst order once
 * took many times as long.
 */
TEST(SegmentsV1, ReverseOrderCostsNoMore)
{
	constexpr int CHUNKS = 8, COUNT = MOST / CHUNKS;
	u64 least[2] = { ~u64{ 0 }, ~u64{ 0 } };
	auto e = server1();
	message lists[2];

	for (bool reverse : { false, true }) {
		message &m = lists[reverse] = fixed(X, MSG);

		for (int i = 0; i < MOST; i++) {
			const int k = i / COUNT;

			m.read_segment(
				16 + 4 * COUNT * (reverse ? CHUNKS - 1 - k : k),
				i, 4);
		}
		m.word(0).word(0).word(0).rpc(X, CALL, 40);
	}
	/* Limit the free space in its lists */
	ASSERT_EQ(e->receive(lists[0]), RPCRDMA_RX_CALL);
	for (u32 i = 0; i < 1000; i++) {
		const message &m = lists[i & 1];
		const auto begin = std::chrono::steady_clock::now();
		const rpcrdma_verdict v = rpcrdma_conn_receive(
			&e->conn, m.data().data(), m.size(), &e->rx);
		const auto taken = std::chrono::steady_clock::now() - begin;

		e->post(1);
		ASSERT_EQ(v, RPCRDMA_RX_CALL);
		least[i & 1] =
			std::min(least[i & 1], static_cast<u64>(taken.count()));
	}
	EXPECT_LT(least[1], 4 * least[0]);
}

TEST(SegmentsV1, AsManyAsMayBeAndOneMore)
{
	const int most[][3] = { { MOST, -1, -1 },
				{ 0, MOST, -1 },
				{ 0, -1, MOST },
				{ 50, 100, MOST - 150 } };

	for (const auto &c : most) {
		for (int i = 0; i < 3; i++) {
			auto e = server1();
			int more[3] = { c[0], c[1], c[2] };

			EXPECT_EQ(e->receive(offering(c[0], c[1], c[2], 4)),
				  RPCRDMA_RX_CALL);
			expect_segments(e->rx.lists, MOST, 4);
			/* An empty chunk also needs space for one segment. */
			if (more[i] < 0)
				more[i] = 0;
			more[i]++;
			expect_err_chunk(*e, offering(more[0], more[1], more[2],
						      4));
			more[i] += 1000;
			expect_err_chunk(*e, offering(more[0], more[1], more[2],
						      4));
		}
	}
}

TEST(SegmentsV1, WithoutMemoryForMore)
{
	constexpr int FEW = RPCRDMA_MAX_SEGS;
	const int few[][3] = { { FEW, -1, -1 },
			       { 0, FEW, -1 },
			       { 0, -1, FEW },
			       { 20, 20, FEW - 40 } };

	for (const auto &c : few) {
		auto e = server1();

		e->may_have_more = false;
		EXPECT_EQ(e->receive(offering(c[0], c[1], c[2], 4)),
			  RPCRDMA_RX_CALL);
		expect_segments(e->rx.lists, FEW, 4);
		expect_err_chunk(*e, offering(c[0] + 1, c[1], c[2], 4));
		expect_err_chunk(*e, offering(c[0] + 100, c[1], c[2], 4));
	}
}

TEST(SegmentsV1, TheFirstMessage)
{
	end e{ config(false) };
	end only2{ config(false, 2, 2) };

	e.post(33);
	EXPECT_EQ(e.receive(offering(0, PAGES, -1, 4096)), RPCRDMA_RX_CALL);
	EXPECT_TRUE(e.events & RPCRDMA_EV_OPENED);
	expect_segments(e.rx.lists, PAGES, 4096);
	only2.post(33);
	EXPECT_EQ(only2.receive(offering(0, PAGES, -1, 4096)), RPCRDMA_RX_DONE);
	EXPECT_EQ(only2.control().get(16), +ERR_VERS);
}

TEST(SegmentsV1, MemoryOnlyWhereItCounts)
{
	const auto wants = [](const end &e, const message &m) {
		return rpcrdma_wants_more_segs(&e.conn, m.data().data(),
					       m.size());
	};
	const message many = offering(0, 65, -1, 4);
	auto server = server1();
	auto v2 = open_server();

	EXPECT_TRUE(wants(*server, many));
	EXPECT_TRUE(wants(*server, offering(65, -1, -1, 4)));
	EXPECT_TRUE(wants(*server, offering(22, 22, 21, 4)));
	EXPECT_TRUE(wants(*server, message(many).set(12, NOMSG)));
	/* No more than there is space for */
	EXPECT_FALSE(wants(*server, offering(0, 64, -1, 4)));
	EXPECT_FALSE(wants(*server, inline_msg(X, CALL, 16, 4000)));
	/* Not an RPC message */
	EXPECT_FALSE(wants(*server, message(many).set(12, MSGP)));
	EXPECT_FALSE(wants(*server, message(many).set(12, ERROR)));
	/* Malformed: refused whatever space there is */
	EXPECT_FALSE(wants(*server, message(many).set(24, 2000)));
	for (u32 len = 0; len < 36 + 65 * 16; len++)
		ASSERT_FALSE(wants(*server, message(many).truncate(len)));
	EXPECT_FALSE(wants(
		*server,
		message(offering(100, -1, -1, 4)).truncate(16 + 80 * 24 + 8)));
	/* Not at this end */
	EXPECT_FALSE(wants(*client1(), many));
	EXPECT_FALSE(wants(*v2, many));
	EXPECT_FALSE(wants(*v2, message(many).set(4, 2)));
	EXPECT_FALSE(wants(*server, message(many).set(4, 2)));
}

/* A client has not provided so many segments. */
TEST(SegmentsV1, ClientsTakeNoMore)
{
	auto e = client1();

	EXPECT_EQ(e->receive(offering(0, 65, -1, 4)
				     .set(36 + 65 * 16 + 8 + 4, REPLY)),
		  RPCRDMA_RX_BAD_REPLY);
	EXPECT_EQ(e->rx.lists.more, nullptr);
}

TEST(SegmentsV1, HeaderTooLargeForTheReply)
{
	auto e = server1();
	rpcrdma_reply reply = {};
	rpcrdma_reply_plan p;

	/* One segment more than fits, and the maximum that fits */
	for (int count : { 154, 153 }) {
		const bool fits = 28 + 8 + 4 + 16 * (100 + count) <= 4096;

		ASSERT_EQ(e->receive(offering(0, 100, count, 4096)),
			  RPCRDMA_RX_CALL);
		reply.xid = X;
		reply.length = 200;
		reply.nr_items = 1;
		reply.items[0] = { 100, 40 };
		rpcrdma_plan_reply(&e->conn, &e->rx.lists, &reply, &p);
		EXPECT_EQ(p.error, fits ? 0u : +RDMA2_ERR_REPLY_RESOURCE);
		EXPECT_EQ(p.reply_length, fits ? 160u : 0u);
		EXPECT_EQ(p.lists.nr_segs, 100 + count);
		expect_filled(p.lists, p.lists.writes[0], 100, 0, 40);
		expect_filled(p.lists, p.lists.reply, count, 100,
			      fits ? 160 : 0);
	}
}
