// SPDX-License-Identifier: GPL-2.0
/* Version 1: plans (RFC 8166) */
#include "protocol_v1.hh"

using namespace engine_test;
using namespace engine_test::version1;

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

	/* A short Call, up to the last byte */
	call.length = 4096 - 28;
	call.reply_max = 4096 - 28;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_EQ(p.format, RPCRDMA_INLINE);
	EXPECT_FALSE(p.reply_chunk || p.write_chunk || p.read_item);

	/* A long Call: never continued, and with a Reply chunk */
	call.length++;
	call.reply_max++;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_EQ(p.format, RPCRDMA_SPECIAL);
	EXPECT_TRUE(p.reply_chunk);

	/* A Call with a chunk */
	call.length = 65536 + 200;
	call.item_position = 200;
	call.item_length = 65536;
	call.reply_max = 200;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_EQ(p.format, RPCRDMA_INLINE);
	EXPECT_TRUE(p.read_item);
	EXPECT_EQ(p.inline_length, 200u);

	/* A long Call with an item: all in one chunk */
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
	 * Without memory for the largest Reply no Call is sent, even if the
	 * Reply might fit inline.
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

	/*
	 * A Reply chunk that is too small for the Reply is unused, and returned
	 * with a length of 0.
	 */
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
 * The client sent no private message, so that the size of its Receives is
 * unknown, and its Call has no Reply chunk. The Reply is sent in one message if
 * it fits a Send.
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
			rpcrdma_conn_set_peer_private(&e.conn, &priv);
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

/*
 * Without MRs for the Write chunk of a result that does not fit, the Call waits for them:
 * a Responder of version 1 could not convey the Reply.
 */
TEST(PlansV1, AResultWaitsForMrs)
{
	auto e = client1();
	rpcrdma_call call = {};
	rpcrdma_call_plan p;

	call.length = 100;
	call.ddp = 1;
	call.call_segs = call.item_segs = 1;
	call.reply_segs = call.result_segs = 1;
	call.result_max = 65536;
	call.reply_max = 65536 + 200;
	call.few_mrs = 1;
	EXPECT_EQ(plan(*e, call, p), -105);
	call.max_mrs = 1;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_TRUE(p.write_chunk);

	/* A result that fits needs no MRs. */
	call.max_mrs = 0;
	call.result_max = 1000;
	call.reply_max = 1200;
	ASSERT_EQ(plan(*e, call, p), 0);
	EXPECT_FALSE(p.write_chunk || p.reply_chunk);
}
