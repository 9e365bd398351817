// SPDX-License-Identifier: GPL-2.0
/* How Calls are conveyed (4.4, 6.4, WP 5, 6) */
#include "planning.hh"

using namespace engine_test;
using namespace engine_test::planning;

namespace
{

constexpr u32 LOTS = 1048576;

TEST(PlanCall, InlineUpToTheThreshold)
{
	for (u32 threshold : { 1024u, 4096u, 16384u }) {
		auto own = usual_props(), peer = usual_props();

		own.sbsiz = 16384;
		peer.rbsiz = threshold;

		auto e = requester(true, peer, own);

		for (u32 length = threshold - PLAIN - 4;
		     length <= threshold - PLAIN + 4; length++) {
			const planned p = plan_call(*e, simple_call(length));

			ASSERT_EQ(p.ret, 0);
			EXPECT_EQ(p.plan.format, length + PLAIN <= threshold ?
							 RPCRDMA_INLINE :
							 RPCRDMA_CONTINUED)
				<< length;
			EXPECT_EQ(p.plan.inline_length, length);
			EXPECT_FALSE(p.plan.read_item);
			EXPECT_FALSE(p.plan.write_chunk);
			EXPECT_FALSE(p.plan.reply_chunk);
		}
	}
}

/*
 * If the fast path has a plan, it is the same as the general path's. It covers
 * most Calls.
 */
TEST(PlanCall, TheFastPathAgrees)
{
	const rpcrdma_peer_limits none = {};
	rpcrdma_peer_limits some = {};

	some.any = 1;
	for (bool client : { true, false }) {
		for (u32 threshold : { 1024u, 4096u, 8192u }) {
			auto own = usual_props(), peer = usual_props();

			own.sbsiz = peer.rbsiz = threshold;
			own.rbsiz = 16384;
			peer.sbsiz = 2 * threshold;

			auto e = requester(client, peer, own);

			for (u32 i = 0; i < 64; i++) {
				rpcrdma_call call = simple_call(
					threshold - PLAIN + (i & 3) - 1,
					2 * threshold - PLAIN + (i >> 2 & 3) -
						1);
				const bool fits =
					call.length + PLAIN <= threshold &&
					call.reply_max + PLAIN <=
						std::min(2 * threshold, 16384u);
				rpcrdma_call_plan plan;

				call.reverse = !client;
				call.item_position = 100;
				call.item_length = 500;
				call.result_max = i & 16 ? 600 : 0;
				call.bulk = i & 16 ? 1 : 0;
				if (i & 32)
					call.retry_limits.reply_needed = 100;

				ASSERT_EQ(rpcrdma_plan_plain(
						  &e->conn, &call.retry_limits,
						  &none, call.length,
						  call.reply_max, &plan),
					  fits && !(i & 32));
				EXPECT_FALSE(rpcrdma_plan_plain(
					&e->conn, &call.retry_limits, &some,
					call.length, call.reply_max, &plan));
				if (!fits || i & 32)
					continue;

				const planned p = plan_call(*e, call);

				ASSERT_EQ(p.ret, 0);
				EXPECT_EQ(memcmp(&p.plan, &plan, sizeof(plan)),
					  0);
			}
		}
	}
}

TEST(PlanCall, TheFastPathNeedsAnOpenConnectionAndAWillingPeer)
{
	const rpcrdma_retry_limits unrefused = {};
	const rpcrdma_peer_limits none = {};
	auto peer = usual_props();
	rpcrdma_call_plan plan;

	auto e = requester();

	EXPECT_TRUE(rpcrdma_plan_plain(&e->conn, &unrefused, &none, 100, 100,
				       &plan));
	e->conn.state = RPCRDMA_CONN_CLOSING;
	EXPECT_FALSE(rpcrdma_plan_plain(&e->conn, &unrefused, &none, 100, 100,
					&plan));
	peer.brs = RDMA2_RVRSDIR_NONE;
	e = requester(false, peer);
	EXPECT_FALSE(rpcrdma_plan_plain(&e->conn, &unrefused, &none, 100, 100,
					&plan));

	rpcrdma_retry_limits no_writes = {};

	no_writes.no_writes = 1;
	e = requester();
	EXPECT_FALSE(rpcrdma_plan_plain(&e->conn, &no_writes, &none, 100, 100,
					&plan));
}

TEST(PlanCall, ArgumentIsReducedOnlyAboveTheThreshold)
{
	auto e = requester();

	for (int d : { -8, -4, -1, 0, 1, 4, 8 }) {
		rpcrdma_call call = simple_call(4096 - PLAIN + d);

		call.item_position = 100;
		call.item_length = 2000;

		const planned p = plan_call(*e, call);

		ASSERT_EQ(p.ret, 0);
		EXPECT_EQ(p.plan.format, RPCRDMA_INLINE);
		EXPECT_EQ(p.plan.read_item, d > 0);
		EXPECT_EQ(p.plan.inline_length,
			  call.length - (d > 0 ? 2000 : 0));
	}
}

TEST(PlanCall, ReducedCallAtTheThreshold)
{
	for (u32 segs : { 1u, 5u, 20u }) {
		auto e = requester();

		for (int d : { -4, -1, 0, 1, 4 }) {
			/*
			 * The rest of the Call exceeds the inline threshold by
			 * this much.
			 */
			const u32 rest = 4096 - PLAIN - READ_SEG * segs +
					 static_cast<u32>(d);
			rpcrdma_call call = simple_call(rest + 65536);

			call.item_position = 100;
			call.item_length = 65533; /* and its roundup */
			call.item_segs = static_cast<u16>(segs);

			const planned p = plan_call(*e, call);

			ASSERT_EQ(p.ret, 0);
			EXPECT_EQ(p.plan.format,
				  d <= 0 ? RPCRDMA_INLINE : RPCRDMA_CONTINUED);
			EXPECT_TRUE(p.plan.read_item);
			EXPECT_EQ(p.plan.inline_length, rest);
		}
	}
}

/* The result of a READ that GSS wraps is conveyed unreduced or not at all. */
TEST(PlanCall, ResultsThatMayNotBeReduced)
{
	auto e = requester();
	rpcrdma_call call = simple_call(200, LOTS);

	call.result_max = LOTS - 200;
	EXPECT_TRUE(plan_call(*e, call).plan.write_chunk);
	call.ddp = 0;
	call.bulk = 1;

	const planned p = plan_call(*e, call);

	ASSERT_EQ(p.ret, 0);
	EXPECT_FALSE(p.plan.write_chunk);
	EXPECT_TRUE(p.plan.reply_chunk);
}

/*
 * An item at the end of the message, without its roundup
 */
TEST(PlanCall, ItemWithoutRoundup)
{
	auto e = requester();

	for (u32 pad = 0; pad < 4; pad++) {
		rpcrdma_call call = simple_call(100 + 65533 + pad);

		call.item_position = 100;
		call.item_length = 65533;

		const planned p = plan_call(*e, call);

		ASSERT_EQ(p.ret, 0);
		EXPECT_TRUE(p.plan.read_item);
		EXPECT_EQ(p.plan.inline_length, 100u);
	}

	/*
	 * If data follow the item, its roundup is present and is conveyed, too.
	 */
	for (u32 odd = 0; odd < 4; odd++) {
		rpcrdma_call call = simple_call(100 + 65536 + 8);

		call.item_position = 100;
		call.item_length = 65536 - odd;
		EXPECT_EQ(plan_call(*e, call).plan.inline_length, 108u) << odd;
	}
}

/* Items with an impossible position or length are not reduced. */
TEST(PlanCall, ImpossibleItems)
{
	auto e = requester();
	const struct {
		u32 position, length;
		u16 segs;
		u8 ddp;
	} cases[] = {
		{ 0, 60000, 1, 1 },   { 4, 60000, 1, 1 },
		{ 102, 60000, 1, 1 }, { 100, 70000, 1, 1 },
		{ 70000, 1, 1, 1 },   { 100, ~0u, 1, 1 },
		{ ~3u, ~0u, 1, 1 },   { 100, 60000, 0, 1 },
		{ 100, 60000, 1, 0 }, { 100, 0, 1, 1 },
	};

	for (const auto &c : cases) {
		rpcrdma_call call = simple_call(65536);

		call.item_position = c.position;
		call.item_length = c.length;
		call.item_segs = c.segs;
		call.ddp = c.ddp;

		const planned p = plan_call(*e, call);

		ASSERT_EQ(p.ret, 0);
		EXPECT_FALSE(p.plan.read_item) << c.position << " " << c.length;
		EXPECT_EQ(p.plan.format, RPCRDMA_CONTINUED);
		EXPECT_EQ(p.plan.inline_length, 65536u);
	}
}

TEST(PlanCall, ContinuedWithinReassembly)
{
	for (u32 reassembly : { 0u, 4096u, 8192u, 262144u }) {
		auto peer = usual_props();

		peer.reassembly = reassembly;
		auto e = requester(true, peer);

		for (int d : { -4, -1, 0, 1, 4 }) {
			const u32 length = std::max(reassembly, 8192u) +
					   static_cast<u32>(d);
			const planned p = plan_call(*e, simple_call(length));

			ASSERT_EQ(p.ret, 0);
			if (length <= reassembly) {
				EXPECT_EQ(p.plan.format, RPCRDMA_CONTINUED);
				EXPECT_EQ(p.plan.inline_length, length);
			} else {
				EXPECT_EQ(p.plan.format, RPCRDMA_SPECIAL);
				EXPECT_EQ(p.plan.inline_length, 0u);
			}
		}
	}
}

/*
 * Position Zero chunk: with the item inside, or with a chunk of its own for the
 * item if that is permitted
 */
TEST(PlanCall, Special)
{
	auto peer = usual_props();

	peer.reassembly = 0;
	peer.rcsiz = 8;
	auto e = requester(true, peer);
	const struct {
		u16 call_segs, item_segs;
		u8 ddp;
		int ret;
		u32 read_item;
	} cases[] = {
		{ 1, 1, 0, 0, 0 },   { 1, 1, 1, 0, 1 },	  { 8, 1, 0, 0, 0 },
		{ 7, 1, 1, 0, 1 },   { 8, 1, 1, 0, 0 },	  { 9, 1, 1, -90, 0 },
		{ 9, 1, 0, -90, 0 }, { 0, 1, 1, -90, 0 },
	};

	for (const auto &c : cases) {
		rpcrdma_call call = simple_call(LOTS);

		call.item_position = 200;
		call.item_length = LOTS / 2;
		call.call_segs = c.call_segs;
		call.item_segs = c.item_segs;
		call.ddp = c.ddp;

		const planned p = plan_call(*e, call);

		ASSERT_EQ(p.ret, c.ret);
		if (p.ret)
			continue;
		EXPECT_EQ(p.plan.format, RPCRDMA_SPECIAL);
		EXPECT_EQ(p.plan.read_item, c.read_item);
	}
}

/* The last fragment must have space for payload in addition to the chunks. */
TEST(PlanCall, NoSpaceInTheLastPart)
{
	for (u32 room = 0; room < 12; room++) {
		auto peer = usual_props();

		peer.rbsiz = PLAIN + READ_SEG * 60 + room;
		auto e = requester(true, peer);
		rpcrdma_call call = simple_call(65536);

		call.item_position = 100;
		call.item_length = 50000;
		call.item_segs = 60;

		const planned p = plan_call(*e, call);

		ASSERT_EQ(p.ret, 0);
		EXPECT_EQ(p.plan.format, RPCRDMA_CONTINUED);
		EXPECT_EQ(p.plan.read_item, room >= 8);
	}
}

TEST(PlanCall, NoChunksAccepted)
{
	for (u32 rpcrdma_props::*member :
	     { &rpcrdma_props::rssiz, &rpcrdma_props::rcsiz }) {
		auto peer = usual_props();

		peer.*member = 0;
		auto e = requester(true, peer);
		rpcrdma_call call = simple_call(65536, 65536);

		call.item_position = 100;
		call.item_length = 60000;
		call.result_max = 60000;

		planned p = plan_call(*e, call);

		ASSERT_EQ(p.ret, 0);
		EXPECT_EQ(p.plan.format, RPCRDMA_CONTINUED);
		EXPECT_FALSE(p.plan.read_item);
		EXPECT_FALSE(p.plan.write_chunk);
		EXPECT_FALSE(p.plan.reply_chunk);

		call.length = 262145;
		EXPECT_EQ(plan_call(*e, call).ret, -90);
	}
}

/* ---- Chunks that the Call provides for its Reply ---- */

TEST(PlanCall, ReplyChunkOnlyWithoutContinuation)
{
	for (u32 own_reassembly : { 0u, 262144u }) {
		for (u32 peer_reassembly : { 0u, 262144u }) {
			auto own = usual_props(), peer = usual_props();

			own.reassembly = own_reassembly;
			peer.reassembly = peer_reassembly;

			auto e = requester(true, peer, own);
			const bool continuation = own_reassembly &&
						  peer_reassembly;

			for (int d : { -4, -1, 0, 1, 4 }) {
				const planned p = plan_call(
					*e, simple_call(100, 4096 - PLAIN + d));

				ASSERT_EQ(p.ret, 0);
				EXPECT_EQ(p.plan.reply_chunk,
					  d > 0 && !continuation)
					<< d;
			}
		}
	}
}

TEST(PlanCall, ReplyChunkBeyondOwnReassembly)
{
	auto own = usual_props();

	own.reassembly = 10000;
	auto e = requester(true, usual_props(), own);

	for (int d : { -4, -1, 0, 1, 4 }) {
		const planned p = plan_call(*e, simple_call(100, 10000 + d));

		EXPECT_EQ(p.plan.reply_chunk, d > 0);
	}
}

TEST(PlanCall, WriteChunkOnlyAboveTheThreshold)
{
	auto e = requester();

	for (int d : { -4, -1, 0, 1, 4 }) {
		rpcrdma_call call = simple_call(100, 4096 - PLAIN + d);

		call.result_max = 2000;

		const planned p = plan_call(*e, call);

		EXPECT_EQ(p.plan.write_chunk, d > 0);
		EXPECT_FALSE(p.plan.reply_chunk);
	}
}

/* The returned Write list occupies space in the Reply's header. */
TEST(PlanCall, ReplyChunkWithAWriteChunk)
{
	auto own = usual_props();

	own.reassembly = 0;
	auto e = requester(true, usual_props(), own);

	for (u32 segs : { 1u, 3u, 10u }) {
		for (int d : { -4, -1, 0, 1, 4 }) {
			const u32 rest = 4096 - PLAIN - WRITE - SEG * segs +
					 static_cast<u32>(d);
			rpcrdma_call call = simple_call(100, rest + 65536);

			call.result_max = 65533;
			call.result_segs = static_cast<u16>(segs);

			const planned p = plan_call(*e, call);

			EXPECT_TRUE(p.plan.write_chunk);
			EXPECT_EQ(p.plan.reply_chunk, d > 0)
				<< segs << " " << d;
		}
	}
}

TEST(PlanCall, ReplyToBePulled)
{
	for (u32 own_bits = 0; own_bits < 4; own_bits++) {
		for (u32 peer_bits = 0; peer_bits < 4; peer_bits++) {
			auto own = usual_props(), peer = usual_props();

			own.reassembly = 0;
			own.reply_read = own_bits;
			peer.reply_read = peer_bits;

			auto e = requester(true, peer, own);
			const planned p =
				plan_call(*e, simple_call(100, 100000));

			EXPECT_EQ(p.plan.reply_chunk,
				  !(own_bits & RDMA2_REPLY_READ_PULL &&
				    peer_bits & RDMA2_REPLY_READ_PROVIDE));
		}
	}
}

/*
 * If a large Reply is expected, the round trip of a Read chunk would be paid
 * each time (DR 5.2.2), unless a Write chunk conveys the result.
 */
TEST(PlanCall, BulkReplyIsNotPulled)
{
	for (u32 reassembly : { 0u, 262144u }) {
		auto own = usual_props(), peer = usual_props();

		own.reassembly = reassembly;
		own.reply_read = RDMA2_REPLY_READ_PULL;
		peer.reply_read = RDMA2_REPLY_READ_PROVIDE;

		auto e = requester(true, peer, own);
		rpcrdma_call call = simple_call(100, 100000);

		EXPECT_FALSE(plan_call(*e, call).plan.reply_chunk);
		call.bulk = 1;
		EXPECT_EQ(plan_call(*e, call).plan.reply_chunk, !reassembly);
		call.reply_max = 2000;
		EXPECT_FALSE(plan_call(*e, call).plan.reply_chunk);

		call.reply_max = 100000;
		call.result_max = 90000;
		EXPECT_TRUE(plan_call(*e, call).plan.write_chunk);
		EXPECT_FALSE(plan_call(*e, call).plan.reply_chunk);
		/* GSS requires the result unreduced. */
		call.ddp = 0;
		EXPECT_EQ(plan_call(*e, call).plan.reply_chunk, !reassembly);

		/*
		 * The Call was refused with less memory for its Reply: the
		 * retry provides more.
		 */
		call.bulk = 0;
		call.retry_limits.reply_needed = 90000;
		EXPECT_TRUE(plan_call(*e, call).plan.reply_chunk);
	}
}

TEST(PlanCall, HeadersCountAgainstTheThreshold)
{
	auto own = usual_props();

	own.reassembly = 0;
	auto e = requester(true, usual_props(), own);

	/* A Call with a Write chunk and a Reply chunk in its header */
	for (int d : { -4, -1, 0, 1, 4 }) {
		const u32 header =
			PLAIN + WRITE + 3 * SEG + REPLY_CHUNK + 2 * SEG;
		rpcrdma_call call = simple_call(4096 - header + d, LOTS);

		call.result_max = LOTS / 2;
		call.result_segs = 3;
		call.reply_segs = 2;

		const planned p = plan_call(*e, call);

		EXPECT_TRUE(p.plan.write_chunk);
		EXPECT_TRUE(p.plan.reply_chunk);
		EXPECT_EQ(p.plan.format,
			  d <= 0 ? RPCRDMA_INLINE : RPCRDMA_CONTINUED);
	}
}

TEST(PlanCall, RcsizCountsAllLists)
{
	auto own = usual_props(), peer = usual_props();

	own.reassembly = 0;
	for (u32 rcsiz = 1; rcsiz < 12; rcsiz++) {
		peer.rcsiz = rcsiz;
		auto e = requester(true, peer, own);
		rpcrdma_call call = simple_call(65536, 3 * LOTS);

		call.item_position = 100;
		call.item_length = 65000;
		call.item_segs = 4;
		call.result_max = LOTS;
		call.result_segs = 3;
		call.reply_segs = 3;

		const planned p = plan_call(*e, call);
		u32 segs = 0;

		ASSERT_EQ(p.ret, 0);
		segs += p.plan.read_item ? 4 : 0;
		segs += p.plan.write_chunk ? 3 : 0;
		segs += p.plan.reply_chunk ? 3 : 0;
		EXPECT_LE(segs, rcsiz);
		/* Available segments are used for the Reply first. */
		EXPECT_EQ(p.plan.reply_chunk, rcsiz >= 6);
		EXPECT_EQ(p.plan.write_chunk, rcsiz >= 3);
		EXPECT_EQ(p.plan.read_item, rcsiz >= 10 || rcsiz == 0);
	}
}

TEST(PlanCall, Reverse)
{
	for (u32 brs = 0; brs < 4; brs++) {
		auto peer = usual_props();

		peer.brs = brs;
		auto e = requester(false, peer);
		rpcrdma_call call = simple_call(100);

		call.reverse = 1;
		EXPECT_EQ(plan_call(*e, call).ret, brs ? 0 : -95);
		if (!brs)
			continue;

		call.length = 5000;
		planned p = plan_call(*e, call);
		EXPECT_EQ(p.ret, brs >= 2 ? 0 : -90);
		if (brs >= 2)
			EXPECT_EQ(p.plan.format, RPCRDMA_CONTINUED);

		call.length = LOTS;
		p = plan_call(*e, call);
		EXPECT_EQ(p.ret, brs == 3 ? 0 : -90);

		call.length = 100;
		call.reply_max = LOTS;
		call.result_max = LOTS;
		p = plan_call(*e, call);
		ASSERT_EQ(p.ret, 0);
		EXPECT_EQ(p.plan.write_chunk, brs == 3);

		call.length = 65536;
		call.item_position = 100;
		call.item_length = 65000;
		p = plan_call(*e, call);
		EXPECT_EQ(p.ret, brs >= 2 ? 0 : -90);
		EXPECT_EQ(p.plan.read_item, brs == 3);
	}
}

/*
 * This end issues no Reads, so that it could not pull reverse Calls with
 * chunks.
 */
TEST(PlanCall, ReverseGeneralNeedsReads)
{
	for (u32 outbound : { 0u, 1u }) {
		for (u32 brs = 0; brs < 4; brs++) {
			auto cfg = usual_config(true);

			cfg.props.brs = brs;
			end e{ cfg };

			rpcrdma_conn_read_depth(&e.conn, outbound, 0);
			EXPECT_EQ(e.conn.cfg.props.brs,
				  outbound ? brs : std::min(brs, 2u));
		}
	}
}

/* A server's level for reverse Calls does not apply to a client's Calls. */
TEST(PlanCall, AServersLevelIsIgnored)
{
	for (u32 brs = 0; brs < 4; brs++) {
		auto e = requester();
		rpcrdma_call call = simple_call(5000);

		e->conn.peer.brs = brs;
		EXPECT_EQ(plan_call(*e, call).plan.format, RPCRDMA_CONTINUED);

		call.item_position = 100;
		call.item_length = 4800;
		EXPECT_TRUE(plan_call(*e, call).plan.read_item) << brs;
	}
}

/* A client reports to its Upper Layer the payload its level permits. */
TEST(PlanCall, ReversePayload)
{
	for (u32 brs = 0; brs < 4; brs++) {
		for (u32 own_max : { 0u, 3000u, 20000u }) {
			auto own = usual_props(), peer = usual_props();

			own.brs = brs;
			own.reassembly = own_max;
			own.sbsiz = 1024;
			peer.reassembly = 10000;

			auto e = requester(true, peer, own);
			const u32 max = rpcrdma_reverse_payload(&e->conn, ~0u);

			/*
			 * Without a connection, the payload that any connection
			 * can convey
			 */
			EXPECT_EQ(rpcrdma_reverse_payload(nullptr, ~0u), 960u);
			EXPECT_LE(960u, max);
			for (u32 buffer : { 900u, 960u, 2000u })
				EXPECT_EQ(rpcrdma_reverse_payload(&e->conn,
								  buffer),
					  std::min(max, buffer));
			EXPECT_EQ(rpcrdma_reverse_payload(nullptr, 900), 900u);
			if (brs < RDMA2_RVRSDIR_CONT)
				EXPECT_EQ(max, 1024 - PLAIN);
			else
				EXPECT_EQ(max, std::clamp(own_max, 1024 - PLAIN,
							  10000u));
		}
	}
}

TEST(PlanCall, NotOpen)
{
	end e{ usual_config(true) };

	EXPECT_EQ(plan_call(e, simple_call(100)).ret, -107);
	auto o = requester();
	o->conn.state = RPCRDMA_CONN_CLOSING;
	EXPECT_EQ(plan_call(*o, simple_call(100)).ret, -107);
}

/*
 * With few MRs left, or none, messages that can be conveyed with fewer are
 * planned that way.
 */
TEST(PlanCall, FewMrs)
{
	auto own = usual_props(), peer = usual_props();

	peer.reassembly = 10000;

	auto e = requester(true, peer, own);
	rpcrdma_call call = simple_call(100 + 9000);
	planned p;

	call.item_position = 100;
	call.item_length = 9000;
	call.item_segs = 2;
	EXPECT_TRUE(plan_call(*e, call).plan.read_item);
	call.few_mrs = 1;
	call.max_mrs = 2;
	EXPECT_TRUE(plan_call(*e, call).plan.read_item);
	call.max_mrs = 1;
	p = plan_call(*e, call);
	ASSERT_EQ(p.ret, 0);
	EXPECT_EQ(p.plan.format, RPCRDMA_CONTINUED);
	EXPECT_FALSE(p.plan.read_item);

	/*
	 * No chunk is provided for a Reply, because the Reply may turn out
	 * small.
	 */
	call = simple_call(100, LOTS);
	call.result_max = LOTS - 100;
	call.few_mrs = 1;
	p = plan_call(*e, call);
	ASSERT_EQ(p.ret, 0);
	EXPECT_FALSE(p.plan.write_chunk);
	EXPECT_FALSE(p.plan.reply_chunk);

	/*
	 * -105 (ENOBUFS) if the Call could be planned with more MRs, another
	 * error if it could not.
	 */
	call = simple_call(20000);
	call.few_mrs = 1;
	EXPECT_EQ(plan_call(*e, call).ret, -105);
	call.max_mrs = 1;
	EXPECT_EQ(plan_call(*e, call).ret, 0);
	call.call_segs = 0;
	EXPECT_EQ(plan_call(*e, call).ret, -90);
}

} // namespace
