// SPDX-License-Identifier: GPL-2.0
/* Retries of a Call that an ERROR has refused (7.3, WP 5, 7) */
#include <cstring>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr u32 X = 0x12345678;

/*
 * A Requester: it plans a Call, its peer refuses the Call, and it plans the Call
 * again within the remaining limits
 */
class requester
{
public:
	explicit requester(const rpcrdma_props &own = usual_props(),
			   const rpcrdma_props &peer = usual_props())
	{
		auto cfg = usual_config(true), other = usual_config(false);

		cfg.props = own;
		other.props = peer;
		e = open_end(cfg, other);
		call.xid = X;
		call.length = 65536;
		call.item_position = 100;
		call.item_length = 65000;
		call.reply_max = 65536;
		call.result_max = 65000;
		call.call_segs = 2;
		call.item_segs = 2;
		call.reply_segs = 2;
		call.result_segs = 2;
		call.ddp = 1;
	}

	/* Plan the Call. @lists has its chunk lists. */
	int send()
	{
		const int rc = rpcrdma_plan_call(&e->conn, &call, &plan);

		rpcrdma_lists_init(&lists);
		if (rc)
			return rc;
		if (plan.format == RPCRDMA_SPECIAL)
			add_read(&lists, 0, call.call_segs,
				 call.length / call.call_segs);
		if (plan.read_item)
			add_read(&lists, call.item_position, call.item_segs,
				 call.item_length / call.item_segs);
		if (plan.write_chunk)
			add_write(&lists, call.result_segs,
				  call.result_max / call.result_segs);
		if (plan.reply_chunk)
			add_reply(&lists, call.reply_segs,
				  (call.reply_max -
				   (plan.write_chunk ? call.result_max : 0)) /
					  call.reply_segs);
		return 0;
	}

	/* Process an ERROR about the Call. Return 0 if it can be sent again. */
	int refuse(u32 code, std::vector<u32> args = {})
	{
		message m = message()
				    .prefix(X, RDMA2_ERROR, RDMA2_F_RESPONSE,
					    100, 1)
				    .word(code);

		for (u32 arg : args)
			m.word(arg);
		EXPECT_EQ(e->receive(m), RPCRDMA_RX_ERROR);
		rpcrdma_peer_limits_learn(&learned, now, &e->rx, &call, &lists);
		return rpcrdma_call_refused(&e->conn, &e->rx, &call, &lists,
					    &call.retry_limits);
	}

	/*
	 * Send the Call as planned, and end its connection without an answer. The
	 * next one has another number.
	 */
	void lose()
	{
		rpcrdma_xact x = {};
		rpcrdma_conn next = e->conn;

		next.cfg.number++;
		ASSERT_EQ(send(), 0);
		ASSERT_EQ(rpcrdma_xact_begin(&x, &e->conn), 0);
		rpcrdma_xact_sent(&x, &e->conn,
				  plan.format == RPCRDMA_CONTINUED);
		/* On the same connection, the Call may still be answered. */
		EXPECT_LT(rpcrdma_xact_begin(&x, &e->conn), 0);
		EXPECT_EQ(learned.parts_until, 0u);
		if (rpcrdma_xact_begin(&x, &next) == RPCRDMA_BEGIN_LOST)
			rpcrdma_peer_limits_lost(&learned, now, x.conn);
		e->conn.cfg.number = next.cfg.number;
	}

	/*
	 * Begin another RPC, later, with the same Call. Only the learned peer
	 * limits remain.
	 */
	void next_rpc(u64 seconds)
	{
		now += seconds;
		call.retry_limits = {};
		/*
		 * The same check as that of a user before it acquires its lock
		 */
		if (rpcrdma_peer_limits_any(&learned))
			rpcrdma_peer_limits_recall(&learned, now, &call);
	}

	u32 max_segs() const
	{
		return rpcrdma_conn_limits(&e->conn).max_segs;
	}

	std::unique_ptr<end> e;
	rpcrdma_call call = {};
	rpcrdma_call_plan plan = {};
	rpcrdma_lists lists = {};
	rpcrdma_peer_limits learned = {};
	u64 now = 1000;
};

rpcrdma_props props(u32 reassembly)
{
	auto p = usual_props();

	p.reassembly = reassembly;
	return p;
}

TEST(Recovery, ReadChunksContinued)
{
	requester r;

	ASSERT_EQ(r.send(), 0);
	ASSERT_TRUE(r.plan.read_item);
	ASSERT_EQ(r.refuse(RDMA2_ERR_READ_CHUNKS, { 0 }), 0);
	ASSERT_EQ(r.send(), 0);
	EXPECT_FALSE(r.plan.read_item);
	EXPECT_EQ(r.plan.format, RPCRDMA_CONTINUED);
	EXPECT_EQ(r.plan.inline_length, 65536u);
	EXPECT_TRUE(r.plan.write_chunk) << "no error ruled that out";
}

/*
 * Without continuation: one Read chunk for the complete Call, if the Call needs
 * one
 */
TEST(Recovery, ReadChunksSpecial)
{
	for (u32 max : { 0u, 1u, 2u, 100u }) {
		requester r{ usual_props(), props(0) };

		r.call.length = 100000;
		r.call.item_position = 20000;
		ASSERT_EQ(r.send(), 0);
		ASSERT_EQ(r.lists.nr_reads, 2);
		ASSERT_EQ(r.refuse(RDMA2_ERR_READ_CHUNKS, { max }),
			  max == 1 ? 0 : -5);
		if (max != 1)
			continue;
		ASSERT_EQ(r.send(), 0);
		EXPECT_EQ(r.plan.format, RPCRDMA_SPECIAL);
		EXPECT_FALSE(r.plan.read_item);
		EXPECT_EQ(r.refuse(RDMA2_ERR_READ_CHUNKS, { 0 }), -5);
	}
}

TEST(Recovery, WriteChunksReplyChunk)
{
	for (u32 reassembly : { 0u, 262144u }) {
		requester r{ props(reassembly), usual_props() };

		ASSERT_EQ(r.send(), 0);
		ASSERT_TRUE(r.plan.write_chunk);
		ASSERT_FALSE(r.plan.reply_chunk);
		ASSERT_EQ(r.refuse(RDMA2_ERR_WRITE_CHUNKS, { 0 }), 0);
		ASSERT_EQ(r.send(), 0);
		EXPECT_FALSE(r.plan.write_chunk);
		EXPECT_TRUE(r.plan.reply_chunk);
		EXPECT_TRUE(r.plan.read_item) << "no error ruled that out";
	}
}

/* No Reply chunk is possible, but continuation is. */
TEST(Recovery, WriteChunksContinued)
{
	requester r;

	r.call.reply_segs = 0;
	ASSERT_EQ(r.send(), 0);
	ASSERT_TRUE(r.plan.write_chunk);
	ASSERT_EQ(r.refuse(RDMA2_ERR_WRITE_CHUNKS, { 0 }), 0);
	ASSERT_EQ(r.send(), 0);
	EXPECT_FALSE(r.plan.write_chunk);
	EXPECT_FALSE(r.plan.reply_chunk);
}

TEST(Recovery, SegmentsWithinTheNewLimit)
{
	for (u32 max = 0; max < 6; max++) {
		requester r;

		ASSERT_EQ(r.send(), 0);
		ASSERT_EQ(r.lists.nr_segs, 4);
		EXPECT_EQ(r.refuse(RDMA2_ERR_SEGMENTS, { max }),
			  max < 4 ? 0 : -5);
		EXPECT_EQ(r.max_segs(), max);
		ASSERT_EQ(r.send(), 0);
		EXPECT_LE(r.lists.nr_segs, max);
	}
}

/* Several Calls are outstanding when the limit becomes known. */
TEST(Recovery, SegmentsIsLearnedOnceAndRetriesEachCall)
{
	requester r;

	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.refuse(RDMA2_ERR_SEGMENTS, { 3 }), 0);
	r.call.retry_limits = {}; /* another Call, sent before */
	EXPECT_EQ(r.refuse(RDMA2_ERR_SEGMENTS, { 3 }), 0);
	/* The limit is not raised again. */
	r.call.retry_limits = {};
	r.refuse(RDMA2_ERR_SEGMENTS, { 60 });
	EXPECT_EQ(r.max_segs(), 3u);
}

/* A peer that refuses the same Call twice for the same reason ends the RPC. */
TEST(Recovery, EachErrorAllowsOneResend)
{
	requester r;

	ASSERT_EQ(r.send(), 0);
	ASSERT_EQ(r.refuse(RDMA2_ERR_SEGMENTS, { 3 }), 0);
	ASSERT_EQ(r.send(), 0);
	ASSERT_GT(r.lists.nr_segs, 1) << "a lower limit is possible";
	EXPECT_EQ(r.refuse(RDMA2_ERR_SEGMENTS, { 1 }), -5);
	EXPECT_EQ(r.max_segs(), 1u) << "other Calls keep to it";

	/* Another error permits one more retry. */
	requester q;

	ASSERT_EQ(q.send(), 0);
	ASSERT_EQ(q.refuse(RDMA2_ERR_SEGMENTS, { 3 }), 0);
	ASSERT_EQ(q.send(), 0);
	ASSERT_TRUE(q.lists.nr_reads || q.lists.nr_writes);
	if (q.lists.nr_reads)
		EXPECT_EQ(q.refuse(RDMA2_ERR_READ_CHUNKS, { 0 }), 0);
	else
		EXPECT_EQ(q.refuse(RDMA2_ERR_WRITE_CHUNKS, { 0 }), 0);
}

/*
 * The largest result, and a peer that accepts fewer segments than the result
 * has
 */
TEST(Recovery, SegmentsWithNoMethodLeft)
{
	requester r{ props(0), props(0) };

	r.call.call_segs = r.call.item_segs = 20;
	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.refuse(RDMA2_ERR_SEGMENTS, { 19 }), -5);
	EXPECT_EQ(r.max_segs(), 19u) << "the next Call uses the limit";
	EXPECT_EQ(r.send(), -90);
}

TEST(Recovery, ReplyResource)
{
	for (u32 needed : { 0u, 1u, 5000u, 65536u, 65537u, ~0u }) {
		requester r;

		r.call.result_max = 0;
		ASSERT_EQ(r.send(), 0);
		ASSERT_FALSE(r.plan.reply_chunk);
		ASSERT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { needed }),
			  needed && needed <= 65536 ? 0 : -121)
			<< needed;
		if (!needed || needed > 65536)
			continue;
		ASSERT_EQ(r.send(), 0);
		EXPECT_TRUE(r.plan.reply_chunk);
	}
}

/*
 * A Reply chunk in addition to a Write chunk has the rest of the message;
 * without a Write chunk it has the complete message.
 */
TEST(Recovery, ReplyResourceWithAWriteChunk)
{
	for (u32 needed : { 536u, 537u, 65536u, 65537u }) {
		requester r;

		ASSERT_EQ(r.send(), 0);
		ASSERT_TRUE(r.plan.write_chunk);
		ASSERT_FALSE(r.plan.reply_chunk);
		ASSERT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { needed }),
			  needed <= 65536 ? 0 : -121);
		if (needed > 65536)
			continue;
		ASSERT_EQ(r.send(), 0);
		EXPECT_EQ(r.plan.write_chunk, needed <= 536);
		EXPECT_TRUE(r.plan.reply_chunk);
	}
}

TEST(Recovery, ReplyResourceThatWasProvided)
{
	requester r{ props(0), usual_props() };

	r.call.result_max = 0;
	ASSERT_EQ(r.send(), 0);
	ASSERT_TRUE(r.plan.reply_chunk);
	EXPECT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { 65536 }), -121);
	EXPECT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { 65537 }), -121);
}

/* A retry helps only if the required length includes the roundup. */
TEST(Recovery, WriteResource)
{
	const struct {
		u32 index, needed;
		int ret;
	} cases[] = {
		{ 0, 0, -121 },	      { 0, 65002, -121 }, { 1, 0, -121 },
		{ 1, 64000, -121 },   { 1, 65001, 0 },	  { 1, 65004, 0 },
		{ 1, 65005, -121 },   { 1, ~0u, -121 },	  { 2, 65001, -121 },
		{ ~0u, 65001, -121 },
	};

	for (const auto &c : cases) {
		requester r;

		r.call.result_max = 65001;
		ASSERT_EQ(r.send(), 0);
		ASSERT_EQ(r.lists.writes[0].length, 65000u);
		EXPECT_EQ(r.refuse(RDMA2_ERR_WRITE_RESOURCE,
				   { c.index, c.needed }),
			  c.ret)
			<< c.index << " " << c.needed;
		if (c.ret)
			continue;
		ASSERT_EQ(r.send(), 0);
		EXPECT_FALSE(r.plan.write_chunk);
		EXPECT_TRUE(r.plan.reply_chunk);
	}
}

/*
 * A server without memory for all the continued Calls it receives closes the
 * connection. Calls that it pulls itself are pulled when it has memory.
 */
TEST(PeerLimits, LostContinuedCalls)
{
	requester r;

	r.call.item_length = 0;
	r.lose();
	r.next_rpc(29);
	r.lose();
	ASSERT_EQ(r.plan.format, RPCRDMA_CONTINUED);
	r.next_rpc(1);
	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.plan.format, RPCRDMA_SPECIAL);
	r.next_rpc(298);
	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.plan.format, RPCRDMA_SPECIAL);
	/* Small Calls are not affected, */
	r.call.length = 200;
	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.plan.format, RPCRDMA_INLINE);
	/* and after five minutes, no Call is. */
	r.call.length = 65536;
	r.next_rpc(1);
	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.plan.format, RPCRDMA_CONTINUED);
}

/* A connection that ends once, with any number of Calls, shows nothing. */
TEST(PeerLimits, ContinuedCallsLostOnce)
{
	requester r;

	r.call.item_length = 0;
	r.lose();
	rpcrdma_peer_limits_lost(&r.learned, r.now, r.e->conn.cfg.number - 1);
	r.next_rpc(1);
	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.plan.format, RPCRDMA_CONTINUED);
	/* The next loss is not soon enough, but the one after that is. */
	r.next_rpc(29);
	r.lose();
	r.next_rpc(1);
	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.plan.format, RPCRDMA_CONTINUED);
	r.lose();
	r.next_rpc(1);
	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.plan.format, RPCRDMA_SPECIAL);
}

TEST(PeerLimits, CallsThatMustBeContinued)
{
	requester r;

	r.call.item_length = 0;
	r.lose();
	r.lose();
	r.call.call_segs = 0;
	r.next_rpc(1);
	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.plan.format, RPCRDMA_CONTINUED);
}

/*
 * Once all learned limits have expired, Calls are planned as if there had never
 * been any.
 */
TEST(PeerLimits, Expire)
{
	for (u32 code :
	     { +RDMA2_ERR_REPLY_RESOURCE, +RDMA2_ERR_WRITE_RESOURCE, 0 }) {
		requester r;
		rpcrdma_call_plan plan;

		if (code == RDMA2_ERR_REPLY_RESOURCE)
			r.call.result_max = 0;
		else
			r.call.result_max = 64997;
		if (!code)
			r.call.item_length = 0;
		if (code) {
			ASSERT_EQ(r.send(), 0);
			r.refuse(code, code == RDMA2_ERR_REPLY_RESOURCE ?
					       std::vector<u32>{ 6000 } :
					       std::vector<u32>{ 1, 65000 });
		} else {
			r.lose();
			r.lose();
		}
		ASSERT_TRUE(rpcrdma_peer_limits_any(&r.learned)) << code;
		r.next_rpc(299);
		EXPECT_TRUE(rpcrdma_peer_limits_any(&r.learned)) << code;
		EXPECT_FALSE(rpcrdma_plan_plain(&r.e->conn,
						&r.call.retry_limits,
						&r.learned, 100, 100, &plan));
		r.next_rpc(1);
		EXPECT_FALSE(rpcrdma_peer_limits_any(&r.learned)) << code;
		EXPECT_TRUE(rpcrdma_plan_plain(&r.e->conn, &r.call.retry_limits,
					       &r.learned, 100, 100, &plan));
	}
}

/*
 * The loss of a Call that was not continued says nothing about memory for
 * continued Calls.
 */
TEST(PeerLimits, OtherLostCalls)
{
	requester r;

	r.lose();
	r.lose();
	ASSERT_NE(r.plan.format, RPCRDMA_CONTINUED);
	EXPECT_EQ(r.learned.parts_until, 0u);
}

/* A Call that was executed is repeated as another RPC, followed by others. */
TEST(PeerLimits, ReplyChunk)
{
	requester r;

	r.call.result_max = 0;
	r.next_rpc(0);
	ASSERT_EQ(r.send(), 0);
	ASSERT_FALSE(r.plan.reply_chunk);
	ASSERT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { 6000 }), 0);
	for (u32 seconds : { 0u, 1u, 298u }) {
		r.next_rpc(seconds);
		ASSERT_EQ(r.send(), 0);
		EXPECT_TRUE(r.plan.reply_chunk);
	}
	/* A smaller Reply may not need the chunk. */
	r.call.reply_max = 5999;
	ASSERT_EQ(r.send(), 0);
	EXPECT_FALSE(r.plan.reply_chunk);
	/*
	 * A Reply that fits inline needs no chunk, however small the chunk was.
	 */
	ASSERT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { 1 }), 0);
	r.next_rpc(0);
	ASSERT_EQ(r.send(), 0);
	EXPECT_TRUE(r.plan.reply_chunk);
	r.call.reply_max = 100;
	ASSERT_EQ(r.send(), 0);
	EXPECT_FALSE(r.plan.reply_chunk);
	/* The limit expires, because servers change. */
	r.call.reply_max = 65536;
	r.next_rpc(300);
	ASSERT_EQ(r.send(), 0);
	EXPECT_FALSE(r.plan.reply_chunk);
	ASSERT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { 50000 }), 0);
	r.call.reply_max = 40000;
	r.next_rpc(0);
	ASSERT_EQ(r.send(), 0);
	EXPECT_FALSE(r.plan.reply_chunk) << "older limits have expired";
}

/* In addition to a Write chunk, only the rest of the Reply counts. */
TEST(PeerLimits, ReplyChunkWithAWriteChunk)
{
	requester r;

	ASSERT_EQ(r.send(), 0);
	ASSERT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { 6000 }), 0);
	r.next_rpc(0);
	ASSERT_EQ(r.send(), 0);
	EXPECT_TRUE(r.plan.write_chunk);
	EXPECT_FALSE(r.plan.reply_chunk);
	r.call.reply_max = r.call.result_max + 6000;
	ASSERT_EQ(r.send(), 0);
	EXPECT_TRUE(r.plan.write_chunk);
	EXPECT_TRUE(r.plan.reply_chunk);
}

/*
 * If a Write chunk and a Reply chunk exceed the peer's limits together, the
 * Reply chunk has the complete Reply.
 */
TEST(PeerLimits, ReplyChunkInsteadOfAWriteChunk)
{
	requester r;

	r.call.result_segs = 40;
	r.call.reply_segs = 40;
	r.call.reply_max = r.call.result_max + 6000;
	ASSERT_EQ(r.send(), 0);
	ASSERT_TRUE(r.plan.write_chunk);
	ASSERT_FALSE(r.plan.reply_chunk);
	ASSERT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { 6000 }), 0);
	r.next_rpc(0);
	ASSERT_EQ(r.send(), 0);
	EXPECT_FALSE(r.plan.write_chunk);
	EXPECT_TRUE(r.plan.reply_chunk);
}

/*
 * If the peer does not accept the Write chunk, the refused Reply chunk includes
 * the result. The small rest next to a Write chunk does not count.
 */
TEST(PeerLimits, ReplyChunkIfTheWriteChunkIsRefused)
{
	requester r;

	r.call.result_segs = 65;
	r.call.reply_segs = 5;
	ASSERT_EQ(r.send(), 0);
	ASSERT_FALSE(r.plan.write_chunk);
	ASSERT_FALSE(r.plan.reply_chunk);
	ASSERT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { r.call.reply_max }), 0);
	for (u32 seconds : { 0u, 1u }) {
		r.next_rpc(seconds);
		ASSERT_EQ(r.send(), 0);
		EXPECT_FALSE(r.plan.write_chunk);
		EXPECT_TRUE(r.plan.reply_chunk);
	}
}

/*
 * A peer may send smaller messages than it announced, and refuse a Reply that
 * would fit.
 */
TEST(PeerLimits, AReplyThatWouldFit)
{
	requester r;

	r.call.result_max = 0;
	r.call.reply_max = 3000;
	ASSERT_EQ(r.send(), 0);
	ASSERT_FALSE(r.plan.reply_chunk);
	ASSERT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { 2900 }), 0);
	r.next_rpc(0);
	ASSERT_EQ(r.send(), 0);
	EXPECT_TRUE(r.plan.reply_chunk);
	r.call.reply_max = 2899;
	ASSERT_EQ(r.send(), 0);
	EXPECT_FALSE(r.plan.reply_chunk);
	/* The result then uses its Write chunk, and the rest fits. */
	r.call.reply_max = 3000;
	r.call.result_max = 2500;
	r.call.result_segs = 1;
	ASSERT_EQ(r.send(), 0);
	EXPECT_TRUE(r.plan.write_chunk);
	EXPECT_FALSE(r.plan.reply_chunk);
}

/*
 * If there is no space for a chunk, the Call is planned as if nothing had been
 * learned.
 */
TEST(PeerLimits, AreIgnoredWithoutSpace)
{
	requester r;

	r.call.result_max = 0;
	ASSERT_EQ(r.send(), 0);
	ASSERT_EQ(r.refuse(RDMA2_ERR_REPLY_RESOURCE, { 6000 }), 0);
	r.next_rpc(0);
	r.call.reply_segs = 0;
	ASSERT_EQ(r.send(), 0);
	EXPECT_FALSE(r.plan.reply_chunk);
}

TEST(PeerLimits, WriteChunkWithoutRoundup)
{
	requester r;

	r.call.result_max = 65001;
	ASSERT_EQ(r.send(), 0);
	ASSERT_TRUE(r.plan.write_chunk);
	ASSERT_EQ(r.refuse(RDMA2_ERR_WRITE_RESOURCE, { 1, 65004 }), 0);
	r.next_rpc(299);
	ASSERT_EQ(r.send(), 0);
	EXPECT_FALSE(r.plan.write_chunk);
	/* A result without roundup is not affected. */
	r.call.result_max = 65000;
	ASSERT_EQ(r.send(), 0);
	EXPECT_TRUE(r.plan.write_chunk);
	r.call.result_max = 65001;
	r.next_rpc(1);
	ASSERT_EQ(r.send(), 0);
	EXPECT_TRUE(r.plan.write_chunk);
}

/*
 * Nothing is learned from contradictory ERRORs, nor from those about Calls not
 * executed yet.
 */
TEST(PeerLimits, NothingIsLearned)
{
	const struct {
		u32 code;
		std::vector<u32> args;
	} cases[] = {
		{ RDMA2_ERR_REPLY_RESOURCE, { 0 } },
		{ RDMA2_ERR_WRITE_RESOURCE, { 0, 0 } },
		{ RDMA2_ERR_WRITE_RESOURCE, { 1, 64000 } },
		{ RDMA2_ERR_WRITE_RESOURCE, { 1, 65005 } },
		{ RDMA2_ERR_WRITE_RESOURCE, { 2, 65004 } },
		{ RDMA2_ERR_WRITE_CHUNKS, { 0 } },
		{ RDMA2_ERR_READ_CHUNKS, { 0 } },
		{ RDMA2_ERR_SYSTEM, {} },
	};

	for (const auto &c : cases) {
		requester r;

		r.call.result_max = 65001;
		ASSERT_EQ(r.send(), 0);
		r.refuse(c.code, c.args);
		r.next_rpc(0);
		EXPECT_EQ(r.call.reply_chunk_from, 0u);
		EXPECT_EQ(r.call.whole_writes, 0);
	}

	requester r{ props(0), usual_props() };

	r.call.result_max = 0;
	ASSERT_EQ(r.send(), 0);
	ASSERT_TRUE(r.plan.reply_chunk);
	r.refuse(RDMA2_ERR_REPLY_RESOURCE, { 60000 });
	r.next_rpc(0);
	EXPECT_EQ(r.call.reply_chunk_from, 0u) << "the Call had one";
}

TEST(Recovery, Permanent)
{
	const struct {
		u32 code;
		int status;
	} cases[] = {
		{ RDMA2_ERR_BAD_XDR, -5 },     { RDMA2_ERR_BAD_PROPVAL, -5 },
		{ RDMA2_ERR_INVAL_HTYPE, -5 }, { RDMA2_ERR_INVAL_CONT, -5 },
		{ RDMA2_ERR_SYSTEM, -121 },
	};

	for (const auto &c : cases) {
		requester r;

		ASSERT_EQ(r.send(), 0);
		EXPECT_EQ(r.refuse(c.code), c.status);
	}
}

/* An ERROR about a chunk that the Call did not have is permanent, too. */
TEST(Recovery, Contradictions)
{
	requester r;

	r.call.length = 100;
	r.call.item_length = 0;
	r.call.reply_max = 100;
	r.call.result_max = 0;
	ASSERT_EQ(r.send(), 0);
	EXPECT_EQ(r.refuse(RDMA2_ERR_READ_CHUNKS, { 0 }), -5);
	EXPECT_EQ(r.refuse(RDMA2_ERR_WRITE_CHUNKS, { 0 }), -5);
	EXPECT_EQ(r.refuse(RDMA2_ERR_SEGMENTS, { 0 }), -5);
	EXPECT_EQ(r.refuse(RDMA2_ERR_WRITE_RESOURCE, { 1, 1 }), -121);

	requester q;

	ASSERT_EQ(q.send(), 0);
	EXPECT_EQ(q.refuse(RDMA2_ERR_READ_CHUNKS, { 1 }), -5);
	EXPECT_EQ(q.refuse(RDMA2_ERR_WRITE_CHUNKS, { 1 }), -5);
}

/* The RPC ends after a bounded number of retries, whatever the peer answers. */
TEST(Recovery, Ends)
{
	generator random{ 42 };
	const u32 codes[] = { RDMA2_ERR_READ_CHUNKS, RDMA2_ERR_WRITE_CHUNKS,
			      RDMA2_ERR_SEGMENTS, RDMA2_ERR_WRITE_RESOURCE,
			      RDMA2_ERR_REPLY_RESOURCE };

	for (u32 i = 0; i < 3000; i++) {
		requester r{ props(random.chance(50) ? 0 : 262144),
			     props(random.chance(50) ? 0 : 262144) };
		u32 attempts = 0;

		r.call.length = 200 + random.below(100000);
		r.call.item_length = random.below(r.call.length);
		r.call.reply_max = 200 + random.below(100000);
		r.call.result_max = random.below(r.call.reply_max);
		r.call.call_segs = static_cast<u16>(random.below(12));
		r.call.item_segs = static_cast<u16>(1 + random.below(12));
		r.call.reply_segs = static_cast<u16>(random.below(12));
		r.call.result_segs = static_cast<u16>(1 + random.below(12));
		if (!r.call.call_segs)
			r.call.call_segs = 1;
		if (!r.call.reply_segs)
			r.call.reply_segs = 1;
		if (r.send())
			continue;
		for (;;) {
			const u32 code = codes[random.below(5)];
			const rpcrdma_lists before = r.lists;
			const rpcrdma_call_plan plan = r.plan;
			const u32 max = random.chance(70) ? random.below(4) :
							    random.below(70000);

			ASSERT_LE(++attempts, 6u);
			if (r.refuse(code, { max, random.below(70000) }))
				break;
			ASSERT_EQ(r.send(), 0) << "a plan must exist";
			/* The new plan differs from the refused one. */
			EXPECT_FALSE(r.plan.format == plan.format &&
				     same_lists(before, r.lists));
		}
	}
}

} // namespace
