// SPDX-License-Identifier: GPL-2.0
/* Version 1: messages in both directions (RFC 8166, 8167) */
#include "protocol_v1.hh"

using namespace engine_test;
using namespace engine_test::version1;

/* ---- Reverse direction ---- */

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
	/* No more Calls than the client requested */
	for (u32 i = 0; i < 8; i++)
		header_of(*s, RPCRDMA_KIND_CALL, i);
	EXPECT_FALSE(may_call(*s));
}

/* An XID may be in use */
TEST(ReverseV1, EachDirectionHasXidsOfItsOwn)
{
	for (bool client : { false, true }) {
		auto end = client ? client1() : server1();

		header_of(*end, RPCRDMA_KIND_CALL, X);
		EXPECT_EQ(end->receive(inline_msg(X, CALL)), RPCRDMA_RX_CALL);
		EXPECT_EQ(end->receive(inline_msg(X, REPLY)), RPCRDMA_RX_REPLY);
	}
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

/* A message is refused if its payload disagrees with its header. */
TEST(ReverseV1, PayloadMustAgreeWithTheHeader)
{
	auto s = server1();
	auto c = client1();

	header_of(*s, RPCRDMA_KIND_CALL, X);
	for (const message &m :
	     { inline_msg(X, REPLY).set(28, X + 1), inline_msg(X, 7) }) {
		EXPECT_EQ(s->receive(m), RPCRDMA_RX_CONSUMED);
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

/*
 * The credits of such a message could be those that the peer requests, or those
 * that it grants.
 */
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
		  RPCRDMA_RX_CONSUMED);

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
		  RPCRDMA_RX_CONSUMED);
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

	/*
	 * Two items: the second one comes first, and the first one has two
	 * segments.
	 */
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
		/* A Position that is unaligned, or beyond the end */
		fixed(X, MSG).read_segment(17, 1, 4).word(0).word(0).word(0).rpc(
			X, CALL, 40),
		fixed(X, MSG).read_segment(44, 1, 4).word(0).word(0).word(0).rpc(
			X, CALL, 40),
		/* Another xid, no direction */
		inline_msg(X, CALL).set(28, X + 1),
		inline_msg(X, 2),
		/* Truncated lists, an invalid boolean, an impossible count */
		fixed(X, MSG).word(1).fill(20),
		fixed(X, MSG).word(2).fill(40),
		fixed(X, MSG).word(0).word(1).word(0xffffffff).fill(40),
		/* Procedures that are obsolete or undefined */
		fixed(X, MSGP).fill(40),
		fixed(X, 5).fill(40),
	};

	for (const message &m : bad) {
		EXPECT_EQ(e->receive(m), RPCRDMA_RX_CONSUMED);
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
			  c.ok ? RPCRDMA_RX_CALL : RPCRDMA_RX_CONSUMED)
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
			EXPECT_EQ(e->receive(each), RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(e->conn.counters.dropped, std::size(m));
		EXPECT_EQ(e->control().size(), 0u);
		if (client) {
			EXPECT_EQ(e->receive(fixed(X, MSGP).fill(40)),
				  RPCRDMA_RX_CONSUMED);
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
		 * 20 bytes: no other message shorter than 28 bytes is accepted.
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
	rpcrdma_lists call_lists;
	rpcrdma_placed placed;

	rpcrdma_lists_init(&call_lists);
	add_write(&call_lists, 2, 4096);
	/* Write chunks used in part, and unused in both permitted forms */
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
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &call_lists, &e->rx, &placed),
		  0);
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
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &call_lists, &e->rx, &placed),
		  0);
	EXPECT_EQ(placed.write_octets, 0u);
	EXPECT_EQ(
		e->receive(
			fixed(X, MSG).word(0).word(1).word(0).word(0).word(0).rpc(
				X, REPLY, 40)),
		RPCRDMA_RX_REPLY);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &call_lists, &e->rx, &placed),
		  0);
	EXPECT_EQ(placed.write_octets, 0u);

	rpcrdma_lists_init(&call_lists);
	add_reply(&call_lists, 1, 65536);
	EXPECT_EQ(
		e->receive(
			fixed(X, NOMSG).word(0).word(0).word(1).word(1).segment(
				0x1000, 9000, 0)),
		RPCRDMA_RX_REPLY);
	EXPECT_EQ(e->rx.format, RPCRDMA_SPECIAL);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &call_lists, &e->rx, &placed),
		  0);
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

	/* Any handle of the Call, whichever the sender wanted invalidated */
	rpcrdma_lists_init(&lists);
	add_write(&lists, 2, 4096);
	lists.inv_handle = 0x1001;
	EXPECT_TRUE(rpcrdma_invalidation_ok(&e->conn, &lists, 0x1000));
	EXPECT_TRUE(rpcrdma_invalidation_ok(&e->conn, &lists, 0x1001));
	EXPECT_TRUE(rpcrdma_invalidation_ok(&e->conn, &lists, 0));
	EXPECT_FALSE(rpcrdma_invalidation_ok(&e->conn, &lists, 0x1002));
}

TEST(MessagesV1, HeadersAsBytes)
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
