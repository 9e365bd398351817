// SPDX-License-Identifier: GPL-2.0
/* How Calls and Replies are conveyed (4.4, 6.4, WP 5, 6) */
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

/* Bytes of headers, counted by hand: prefix, inv_handle, three list ends */
constexpr u32 PLAIN = 24 + 4 + 12;
constexpr u32 READ_SEG = 24;
constexpr u32 WRITE = 8;
constexpr u32 REPLY_CHUNK = 4;
constexpr u32 SEG = 16;

constexpr u32 LOTS = 1048576;

/* Return a Requester whose peer has announced the given properties. */
std::unique_ptr<end> requester(bool client = true,
			       rpcrdma_props peer = usual_props(),
			       rpcrdma_props own = usual_props())
{
	auto cfg = usual_config(client);
	auto other = usual_config(!client);

	cfg.props = own;
	other.props = peer;
	return open_end(cfg, other);
}

rpcrdma_call simple_call(u32 length, u32 reply_max = 200)
{
	rpcrdma_call call = {};

	call.xid = 1;
	call.length = length;
	call.reply_max = reply_max;
	call.call_segs = 1;
	call.reply_segs = 1;
	call.item_segs = 1;
	call.result_segs = 1;
	call.ddp = 1;
	return call;
}

struct planned {
	int ret;
	rpcrdma_call_plan plan;
};

planned plan_call(const end &e, const rpcrdma_call &call)
{
	planned p;

	memset(&p, 0xaa, sizeof(p));
	p.ret = rpcrdma_plan_call(&e.conn, &call, &p.plan);
	return p;
}

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
 * Where the fast path has an answer, it is the slow path's. It covers most
 * Calls.
 */
TEST(PlanCall, PlainCallsArePlannedTheSameWithoutTheirGeometry)
{
	const rpcrdma_lessons none = {};
	rpcrdma_lessons some = {};

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
					call.recovery.reply_needed = 100;

				ASSERT_EQ(rpcrdma_plan_plain(
						  &e->conn, &call.recovery,
						  &none, call.length,
						  call.reply_max, &plan),
					  fits && !(i & 32));
				EXPECT_FALSE(rpcrdma_plan_plain(
					&e->conn, &call.recovery, &some,
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

TEST(PlanCall, PlainCallsNeedAnOpenConnectionAndAPeerThatTakesThem)
{
	const rpcrdma_recovery unrefused = {};
	const rpcrdma_lessons none = {};
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

	rpcrdma_recovery no_writes = {};

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
			/* The rest exceeds what fits inline by this much. */
			const u32 rest = 4096 - PLAIN - READ_SEG * segs +
					 static_cast<u32>(d);
			rpcrdma_call call = simple_call(rest + 65536);

			call.item_position = 100;
			call.item_length = 65533; /* and roundup */
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

/* An item at the end of the message, without its roundup in the message */
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
 * Position Zero: with the item inside, or in a chunk of its own if that is
 * permitted
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

/* The last part must have space for payload in addition to the chunks. */
TEST(PlanCall, NoRoomInTheLastPart)
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

TEST(PlanCall, NoChunksTaken)
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
TEST(PlanCall, ReplyChunkBesideAWriteChunk)
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
		/* GSS requires it unreduced. */
		call.ddp = 0;
		EXPECT_EQ(plan_call(*e, call).plan.reply_chunk, !reassembly);

		/*
		 * The Call was refused with less memory for its Reply: the
		 * retry provides more.
		 */
		call.bulk = 0;
		call.recovery.reply_needed = 90000;
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
		/* Segments that are available are used for the Reply first. */
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
 * This end issues no Reads, so reverse Calls with chunks could not be pulled.
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
			const u32 max = rpcrdma_reverse_payload(&e->conn);

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
 * A device has few MRs left, or none: messages that can be conveyed with fewer
 * are.
 */
TEST(PlanCall, FewRegions)
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
	call.few_regions = 1;
	call.max_regions = 2;
	EXPECT_TRUE(plan_call(*e, call).plan.read_item);
	call.max_regions = 1;
	p = plan_call(*e, call);
	ASSERT_EQ(p.ret, 0);
	EXPECT_EQ(p.plan.format, RPCRDMA_CONTINUED);
	EXPECT_FALSE(p.plan.read_item);

	/* No chunk is provided for a Reply, which may be small after all. */
	call = simple_call(100, LOTS);
	call.result_max = LOTS - 100;
	call.few_regions = 1;
	p = plan_call(*e, call);
	ASSERT_EQ(p.ret, 0);
	EXPECT_FALSE(p.plan.write_chunk);
	EXPECT_FALSE(p.plan.reply_chunk);

	/*
	 * Where only MRs would help, that is reported; where nothing would,
	 * too.
	 */
	call = simple_call(20000);
	call.few_regions = 1;
	EXPECT_EQ(plan_call(*e, call).ret, -105);
	call.max_regions = 1;
	EXPECT_EQ(plan_call(*e, call).ret, 0);
	call.call_segs = 0;
	EXPECT_EQ(plan_call(*e, call).ret, -90);
}

/* A plan respects every limit, for any layout. */
TEST(PlanCall, AlwaysWithinLimits)
{
	generator random{ 7 };

	for (u32 i = 0; i < 20000; i++) {
		auto own = usual_props(), peer = usual_props();

		own.sbsiz = 1024 + random.below(8000);
		own.rbsiz = 1024 + random.below(8000);
		peer.sbsiz = 1024 + random.below(8000);
		peer.rbsiz = 1024 + random.below(8000);
		peer.rcsiz = random.below(70);
		peer.reassembly = random.chance(50) ? 0 : random.below(300000);
		own.reassembly = random.chance(50) ? 0 : random.below(300000);

		auto e = requester(true, peer, own);
		struct rpcrdma_conn_limits limits;
		rpcrdma_call call = simple_call(24 + random.below(400000),
						24 + random.below(400000));

		call.item_position = random.below(call.length);
		call.item_length = random.below(call.length);
		call.result_max = random.below(call.reply_max);
		call.call_segs = static_cast<u16>(random.below(40));
		call.item_segs = static_cast<u16>(random.below(40));
		call.reply_segs = static_cast<u16>(random.below(40));
		call.result_segs = static_cast<u16>(random.below(40));
		call.ddp = random.chance(70);
		call.recovery.few_reads = random.chance(20);
		call.recovery.max_reads = random.below(3);
		call.recovery.no_writes = random.chance(20);
		call.recovery.reply_needed =
			random.chance(80) ? 0 : random.below(400000);
		call.few_regions = random.chance(20);
		call.max_regions = static_cast<u16>(random.below(64));

		const planned p = plan_call(*e, call);

		if (p.ret) {
			if (p.ret == -105)
				ASSERT_TRUE(call.few_regions);
			else
				ASSERT_EQ(p.ret, -90);
			continue;
		}
		limits = rpcrdma_conn_limits(&e->conn);

		rpcrdma_lists lists;
		u32 segs = 0, header;

		rpcrdma_lists_init(&lists);
		if (p.plan.format == RPCRDMA_SPECIAL) {
			segs += call.call_segs;
			add_read(&lists, 0, call.call_segs, 1);
		}
		if (call.recovery.few_reads)
			ASSERT_LE((p.plan.format == RPCRDMA_SPECIAL) +
					  u32{ p.plan.read_item },
				  call.recovery.max_reads);
		if (call.recovery.no_writes)
			ASSERT_FALSE(p.plan.write_chunk);
		if (call.recovery.reply_needed)
			ASSERT_TRUE(p.plan.reply_chunk);
		if (p.plan.read_item) {
			segs += call.item_segs;
			add_read(&lists, call.item_position, call.item_segs, 1);
		}
		if (p.plan.write_chunk) {
			segs += call.result_segs;
			add_write(&lists, call.result_segs, 1);
		}
		if (p.plan.reply_chunk) {
			segs += call.reply_segs;
			add_reply(&lists, call.reply_segs, 1);
		}
		ASSERT_LE(segs, limits.max_segs);
		if (call.few_regions)
			ASSERT_LE(segs, call.max_regions);
		ASSERT_EQ(segs, lists.nr_segs);
		header = rpcrdma_header_octets(&e->conn, &lists);

		u32 left = p.plan.inline_length;
		bool more;

		switch (p.plan.format) {
		case RPCRDMA_INLINE:
			ASSERT_LE(header + left, limits.send_inline);
			break;
		case RPCRDMA_SPECIAL:
			ASSERT_LE(header, limits.send_inline);
			ASSERT_EQ(left, 0u);
			break;
		default:
			ASSERT_LE(left, limits.continued);
			do {
				const auto [part, rest] = rpcrdma_next_part(
					&e->conn, &lists, left);

				more = rest;
				ASSERT_GE(part, 4u);
				ASSERT_LE(part + (more ? PLAIN : header),
					  limits.send_inline);
				if (more) {
					ASSERT_EQ(part % 4, 0u);
					ASSERT_LE(part + 4, left);
				} else {
					ASSERT_EQ(part, left);
				}
				left -= part;
			} while (more);
			ASSERT_EQ(left, 0u);
			break;
		}
	}
}

/* Part lengths around every boundary, with few and with many chunks */
TEST(NextPart, AroundTheBoundaries)
{
	auto e = requester();

	for (u32 segs : { 0u, 1u, 30u, 64u }) {
		rpcrdma_lists lists;
		u32 room;

		rpcrdma_lists_init(&lists);
		if (segs)
			add_write(&lists, segs, 100);
		room = 4096 - rpcrdma_header_octets(&e->conn, &lists);
		for (u32 total = 24; total < 13000; total++) {
			u32 left = total, parts = 0;
			bool more;

			do {
				const auto [part, rest] = rpcrdma_next_part(
					&e->conn, &lists, left);

				more = rest;
				ASSERT_TRUE(part >= 4 && part <= left);
				ASSERT_LE(part, more ? 4096 - PLAIN : room);
				ASSERT_TRUE(!more || part % 4 == 0);
				left -= part;
				parts++;
			} while (more);
			ASSERT_EQ(left, 0u);
			/* No more parts than needed */
			ASSERT_EQ(parts, total <= room ? 1 :
							 1 + (total - room +
							      4055) / 4056)
				<< total;
		}
	}
}

/* ---- Replies ---- */

std::unique_ptr<end> responder(bool client = false,
			       rpcrdma_props peer = usual_props(),
			       rpcrdma_props own = usual_props())
{
	return requester(client, peer, own);
}

std::unique_ptr<rpcrdma_reply_plan>
plan_reply(const end &e, const rpcrdma_lists &lists, u32 length,
	   std::vector<rpcrdma_item> items = {}, bool reverse = false)
{
	auto plan = std::make_unique<rpcrdma_reply_plan>();
	rpcrdma_reply reply = {};

	memset(plan.get(), 0xaa, sizeof(*plan));
	reply.xid = 1;
	reply.length = length;
	reply.reverse = reverse;
	for (const rpcrdma_item &item : items)
		reply.items[reply.nr_items++] = item;
	rpcrdma_plan_reply(&e.conn, &lists, &reply, plan.get());
	return plan;
}

rpcrdma_lists no_lists()
{
	rpcrdma_lists lists;

	rpcrdma_lists_init(&lists);
	return lists;
}

/* Check that rpcrdma_reply_is_plain() agrees with the full plan. */
void expect_plain(const rpcrdma_conn *conn, const rpcrdma_lists &lists,
		  u32 length)
{
	auto plan = std::make_unique<rpcrdma_reply_plan>();
	rpcrdma_reply reply = {};

	reply.length = length;
	rpcrdma_plan_reply(conn, &lists, &reply, plan.get());
	EXPECT_EQ(rpcrdma_reply_is_plain(conn, &lists, length),
		  !plan->error && plan->format == RPCRDMA_INLINE &&
			  plan->inline_length == length &&
			  !plan->lists.nr_writes && !plan->lists.has_reply);
	EXPECT_EQ(rpcrdma_reply_invalidates(conn, &lists), plan->inv_handle);
}

TEST(PlanReply, PlainRepliesNeedNone)
{
	for (u32 version : { RPCRDMA_VERS_1, RPCRDMA_VERS_2 }) {
		for (u32 chunks = 0; chunks < 8; chunks++) {
			for (bool inv_ok : { false, true }) {
				auto e = responder();
				rpcrdma_lists lists = no_lists();
				const u32 room =
					4096 - (version == 1 ? 28 : PLAIN);

				e->conn.version = static_cast<u8>(version);
				e->conn.cfg.inv_ok = inv_ok;
				if (chunks & 1)
					add_read(&lists, 100, 1, 4000);
				if (chunks & 2)
					add_write(&lists, 2, 4000);
				if (chunks & 4)
					add_reply(&lists, 3, 4000);
				lists.inv_handle = 7;
				for (u32 length : { 8u, room, room + 1 })
					expect_plain(&e->conn, lists, length);
				EXPECT_EQ(rpcrdma_reply_is_plain(&e->conn,
								 &lists, room),
					  !(chunks & 2) && !(version == 1 &&
							     chunks & 4));
			}
		}
	}
}

TEST(PlanReply, InlineUpToTheThreshold)
{
	auto e = responder();

	for (int d : { -4, -1, 0, 1, 4 }) {
		const u32 length = 4096 - PLAIN + static_cast<u32>(d);
		const auto plan = plan_reply(*e, no_lists(), length);

		EXPECT_EQ(plan->error, 0u);
		EXPECT_EQ(plan->format,
			  d <= 0 ? RPCRDMA_INLINE : RPCRDMA_CONTINUED);
		EXPECT_EQ(plan->inline_length, length);
		EXPECT_EQ(plan->lists.nr_segs, 0);
	}
	/*
	 * A provided Reply chunk stays unused, with and without Write chunks.
	 */
	for (bool writes : { false, true }) {
		rpcrdma_lists lists = no_lists();

		if (writes)
			add_write(&lists, 1, 4000);
		add_reply(&lists, 3, 4000);

		const auto plan = plan_reply(*e, lists, 1000);

		EXPECT_EQ(plan->error, 0u);
		EXPECT_EQ(plan->format, RPCRDMA_INLINE);
		EXPECT_EQ(plan->inline_length, 1000u);
		EXPECT_FALSE(plan->lists.has_reply);
		EXPECT_EQ(plan->lists.nr_writes, writes ? 1 : 0);
	}
}

TEST(PlanReply, ReplyChunkBeforeContinuation)
{
	auto e = responder();
	rpcrdma_lists lists = no_lists();

	add_reply(&lists, 3, 4000);
	for (u32 length : { 5000u, 11999u, 12000u, 12001u, 20000u }) {
		const auto plan = plan_reply(*e, lists, length);

		EXPECT_EQ(plan->error, 0u);
		if (length > 12000) {
			EXPECT_EQ(plan->format, RPCRDMA_CONTINUED);
			EXPECT_FALSE(plan->lists.has_reply);
			EXPECT_EQ(plan->lists.nr_segs, 0);
			continue;
		}
		EXPECT_EQ(plan->format, RPCRDMA_SPECIAL);
		EXPECT_EQ(plan->reply_length, length);
		EXPECT_EQ(plan->inline_length, 0u);
		EXPECT_TRUE(plan->lists.has_reply);
		EXPECT_EQ(plan->lists.reply.length, length);
		EXPECT_EQ(plan->lists.segs[0].length, 4000u);
		EXPECT_EQ(plan->lists.segs[1].length,
			  std::min(length - 4000, 4000u));
		EXPECT_EQ(plan->lists.segs[2].length,
			  length > 8000 ? length - 8000 : 0);
		EXPECT_EQ(plan->lists.segs[2].handle, lists.segs[2].handle);
		EXPECT_EQ(plan->lists.segs[2].offset, lists.segs[2].offset);
	}
	/* Unused: returned absent */
	const auto plan = plan_reply(*e, lists, 100);

	EXPECT_EQ(plan->format, RPCRDMA_INLINE);
	EXPECT_FALSE(plan->lists.has_reply);
}

TEST(PlanReply, NoWayLeft)
{
	auto peer = usual_props();

	peer.reassembly = 8000;
	auto e = responder(false, peer);
	rpcrdma_lists lists = no_lists();

	add_reply(&lists, 1, 7000);
	for (u32 length : { 8000u, 8001u }) {
		const auto plan = plan_reply(*e, lists, length);

		EXPECT_EQ(plan->error,
			  length > 8000 ? +RDMA2_ERR_REPLY_RESOURCE : 0u);
		EXPECT_EQ(plan->arg[0], length > 8000 ? length : 0);
	}
}

TEST(PlanReply, WriteChunks)
{
	auto e = responder();
	rpcrdma_lists lists = no_lists();

	add_write(&lists, 2, 1000);
	add_write(&lists, 3, 1000);
	add_write(&lists, 1, 1000);

	auto plan =
		plan_reply(*e, lists, 3000, { { 100, 1501 }, { 1700, 17 } });

	EXPECT_EQ(plan->error, 0u);
	EXPECT_EQ(plan->format, RPCRDMA_INLINE);
	EXPECT_EQ(plan->nr_items, 2);
	EXPECT_EQ(plan->inline_length, 3000u - 1504 - 20);
	ASSERT_EQ(plan->lists.nr_writes, 3);
	ASSERT_EQ(plan->lists.nr_segs, 6);

	const u32 lengths[] = { 1000, 501, 17, 0, 0, 0 };

	for (u32 i = 0; i < 6; i++) {
		EXPECT_EQ(plan->lists.segs[i].length, lengths[i]) << i;
		EXPECT_EQ(plan->lists.segs[i].handle, lists.segs[i].handle);
		EXPECT_EQ(plan->lists.segs[i].offset, lists.segs[i].offset);
	}
	EXPECT_EQ(plan->lists.writes[0].length, 1501u);
	EXPECT_EQ(plan->lists.writes[1].length, 17u);
	EXPECT_EQ(plan->lists.writes[2].length, 0u);
	for (u32 i = 0; i < 3; i++)
		EXPECT_EQ(plan->lists.writes[i].count, lists.writes[i].count);

	/* More items than chunks: the others stay in the message. */
	lists = no_lists();
	add_write(&lists, 1, 1000);
	plan = plan_reply(*e, lists, 3000, { { 100, 1000 }, { 1700, 17 } });
	EXPECT_EQ(plan->nr_items, 1);
	EXPECT_EQ(plan->inline_length, 2000u);

	/* An empty result uses a chunk, too, which is returned empty. */
	plan = plan_reply(*e, lists, 3000, { { 100, 0 } });
	EXPECT_EQ(plan->nr_items, 1);
	EXPECT_EQ(plan->inline_length, 3000u);
	EXPECT_EQ(plan->lists.segs[0].length, 0u);
}

TEST(PlanReply, WriteChunkTooShort)
{
	auto e = responder();
	rpcrdma_lists lists = no_lists();

	add_write(&lists, 2, 1000);
	add_write(&lists, 2, 500);
	for (u32 length : { 999u, 1000u, 1001u }) {
		const auto plan = plan_reply(
			*e, lists, 3000, { { 100, 2000 }, { 2200, length } });

		EXPECT_EQ(plan->error, 0u);
		EXPECT_EQ(plan->nr_items, length > 1000 ? 1 : 2);
		EXPECT_EQ(plan->inline_length,
			  length > 1000 ? 1000u : 1000 - ((length + 3) & ~3u));
	}
}

/* A result that is too long for its chunk is conveyed by every other method. */
TEST(PlanReply, WriteChunkTooShortIsNoError)
{
	const struct {
		const char *what;
		u32 result, reassembly, reply_chunk;
		bool pull;
		u32 format, error;
	} cases[] = {
		{ "inline", 3000, 0, 0, false, RPCRDMA_INLINE, 0 },
		{ "inline, however much there is", 3000, 262144, 60000, true,
		  RPCRDMA_INLINE, 0 },
		{ "Reply chunk", 30000, 262144, 60000, true, RPCRDMA_SPECIAL,
		  0 },
		{ "continued", 30000, 262144, 20000, true, RPCRDMA_CONTINUED,
		  0 },
		{ "pulled", 30000, 20000, 20000, true, RPCRDMA_SPECIAL, 0 },
		{ "no way left", 30000, 20000, 20000, false, 0,
		  RDMA2_ERR_WRITE_RESOURCE },
	};

	for (const auto &c : cases) {
		auto own = usual_props(), peer = usual_props();

		own.reply_read = RDMA2_REPLY_READ_PROVIDE;
		peer.reply_read = c.pull ? RDMA2_REPLY_READ_PULL : 0;
		peer.reassembly = c.reassembly;
		auto e = responder(false, peer, own);
		rpcrdma_lists lists = no_lists();

		add_write(&lists, 2, 400);
		add_write(&lists, 1, 400);
		if (c.reply_chunk)
			add_reply(&lists, 2, c.reply_chunk / 2);

		const auto plan = plan_reply(*e, lists, c.result + 600,
					     { { 100, c.result },
					       { c.result + 200, 200 } });

		EXPECT_EQ(plan->error, c.error) << c.what;
		if (c.error) {
			EXPECT_EQ(plan->arg[0], 1u) << "counted from one";
			EXPECT_EQ(plan->arg[1], c.result);
			continue;
		}
		EXPECT_EQ(plan->format, c.format) << c.what;
		EXPECT_EQ(plan->inline_length + plan->reply_length +
				  plan->read_length,
			  c.result + 400)
			<< c.what;
		/*
		 * Its chunk is returned unused; the other chunk has its item.
		 */
		EXPECT_EQ(plan->nr_items, 2);
		EXPECT_FALSE(rpcrdma_item_placed(plan.get(), 0));
		EXPECT_TRUE(rpcrdma_item_placed(plan.get(), 1));
		ASSERT_EQ(plan->lists.nr_writes, 2);
		EXPECT_EQ(plan->lists.writes[0].count, 2);
		EXPECT_EQ(plan->lists.writes[0].length, 0u);
		EXPECT_EQ(plan->lists.writes[1].length, 200u);
	}
}

/* The ERROR names the first Write chunk that is too short, and its result. */
TEST(PlanReply, FirstWriteChunkTooShort)
{
	auto peer = usual_props();

	peer.reassembly = 0;
	auto e = responder(false, peer);
	rpcrdma_lists lists = no_lists();

	add_write(&lists, 1, 40000);
	add_write(&lists, 1, 400);
	add_write(&lists, 1, 400);

	const auto plan = plan_reply(
		*e, lists, 90000,
		{ { 100, 30000 }, { 30200, 20000 }, { 50400, 30000 } });

	EXPECT_EQ(plan->error, +RDMA2_ERR_WRITE_RESOURCE);
	EXPECT_EQ(plan->arg[0], 2u) << "counted from one";
	EXPECT_EQ(plan->arg[1], 20000u);
}

/* An empty Write chunk stands for its item only. It does not end the list. */
TEST(PlanReply, EmptyWriteChunkKeepsItsPlace)
{
	auto e = responder();
	rpcrdma_lists lists = no_lists();

	add_write(&lists, 0, 0);
	add_write(&lists, 1, 1000);
	add_write(&lists, 0, 0);

	const auto plan =
		plan_reply(*e, lists, 3000, { { 100, 900 }, { 1000, 1000 } });

	EXPECT_EQ(plan->error, 0u);
	EXPECT_FALSE(rpcrdma_item_placed(plan.get(), 0));
	EXPECT_TRUE(rpcrdma_item_placed(plan.get(), 1));
	EXPECT_EQ(plan->nr_items, 2);
	EXPECT_EQ(plan->inline_length, 2000u);
	ASSERT_EQ(plan->lists.nr_writes, 3);
	EXPECT_EQ(plan->lists.writes[0].count, 0);
	EXPECT_EQ(plan->lists.writes[1].length, 1000u);
	EXPECT_EQ(plan->lists.writes[2].count, 0);
}

/* An empty Write chunk requests its item inline. */
TEST(PlanReply, EmptyWriteChunk)
{
	auto e = responder();
	rpcrdma_lists lists = no_lists();

	add_write(&lists, 0, 0);

	const auto plan = plan_reply(*e, lists, 3000, { { 100, 2000 } });

	EXPECT_EQ(plan->error, 0u);
	EXPECT_EQ(plan->nr_items, 0);
	EXPECT_EQ(plan->inline_length, 3000u);
	EXPECT_EQ(plan->lists.nr_writes, 1);
	EXPECT_EQ(plan->lists.writes[0].count, 0);
}

/* The returned Write list counts against the threshold. */
TEST(PlanReply, HeaderAtTheThreshold)
{
	auto e = responder();

	for (u32 segs : { 1u, 8u, 32u }) {
		rpcrdma_lists lists = no_lists();

		add_write(&lists, segs, 10000);
		for (int d : { -4, -1, 0, 1, 4 }) {
			const u32 rest = 4096 - PLAIN - WRITE - SEG * segs +
					 static_cast<u32>(d);
			const auto plan = plan_reply(*e, lists, rest + 8000,
						     { { 100, 7998 } });

			EXPECT_EQ(plan->inline_length, rest);
			EXPECT_EQ(plan->format,
				  d <= 0 ? RPCRDMA_INLINE : RPCRDMA_CONTINUED);
			EXPECT_EQ(rpcrdma_header_octets(&e->conn, &plan->lists),
				  PLAIN + WRITE + SEG * segs);
		}
	}
}

/* So many chunks that even their list does not fit */
TEST(PlanReply, HeaderTooLarge)
{
	auto peer = usual_props();

	peer.rbsiz = 1024;
	peer.reassembly = 0;
	auto e = responder(false, peer);
	rpcrdma_lists lists = no_lists();

	add_write(&lists, 57, 1000);
	add_reply(&lists, 1, 65536);
	/* 40 + 8 + 57 * 16 + 4 + 16 <= 1024 */
	EXPECT_EQ(plan_reply(*e, lists, 900)->format, RPCRDMA_SPECIAL);

	lists = no_lists();
	add_write(&lists, 60, 1000);
	add_reply(&lists, 4, 65536);
	EXPECT_EQ(plan_reply(*e, lists, 900)->error, +RDMA2_ERR_REPLY_RESOURCE);
	EXPECT_EQ(plan_reply(*e, lists, 16)->error, 0u);
}

/* The last part returns all chunks, and has space for payload, too. */
TEST(PlanReply, NoRoomInTheLastPart)
{
	for (u32 room = 0; room < 12; room++) {
		auto peer = usual_props();

		peer.rbsiz = PLAIN + WRITE + SEG * 64 + room;
		auto e = responder(false, peer);
		rpcrdma_lists lists = no_lists();

		add_write(&lists, 64, 1000);

		const auto plan = plan_reply(*e, lists, 20000);

		EXPECT_EQ(plan->error,
			  room < 8 ? +RDMA2_ERR_REPLY_RESOURCE : 0u);
		if (!plan->error)
			EXPECT_EQ(plan->format, RPCRDMA_CONTINUED);
	}
}

TEST(PlanReply, RemoteInvalidation)
{
	rpcrdma_lists lists = no_lists();

	lists.inv_handle = 77;
	for (u8 inv_ok : { 0, 1 }) {
		auto cfg = usual_config(false);

		cfg.inv_ok = inv_ok;
		auto e = open_end(cfg, usual_config(true));

		for (u32 length : { 100u, 10000u }) {
			const auto plan = plan_reply(*e, lists, length);

			EXPECT_EQ(plan->inv_handle, inv_ok ? 77u : 0u);
			EXPECT_EQ(plan->lists.inv_handle, 0u);
		}
	}
}

/*
 * A Requester that provides no handle gets a plain Send, whatever its chunks
 * are.
 */
TEST(PlanReply, NoHandleIsInvalidatedUnasked)
{
	auto e = responder();

	for (u32 chunks = 0; chunks < 8; chunks++) {
		rpcrdma_lists lists = no_lists();

		if (chunks & 1)
			add_read(&lists, 100, 1, 4000);
		if (chunks & 2)
			add_write(&lists, 2, 4000);
		if (chunks & 4)
			add_reply(&lists, 3, 4000);
		for (u32 length : { 100u, 10000u })
			EXPECT_EQ(plan_reply(*e, lists, length)->inv_handle,
				  0u);
	}
}

TEST(PlanReply, Reverse)
{
	for (u32 brs = 1; brs < 4; brs++) {
		auto own = usual_props();

		own.brs = brs;
		auto e = responder(true, usual_props(), own);
		const auto plan = plan_reply(*e, no_lists(), 5000, {}, true);

		if (brs >= 2) {
			EXPECT_EQ(plan->error, 0u);
			EXPECT_EQ(plan->format, RPCRDMA_CONTINUED);
		} else {
			EXPECT_EQ(plan->error, +RDMA2_ERR_REPLY_RESOURCE);
		}
	}
}

/* ---- Returned chunks ---- */

struct returned_case {
	const char *name;
	bool special;
	/* The change to the lists of a Reply that used all chunks */
	void (*change)(rpcrdma_lists *);
	int ret;
	u32 write_octets, reply_octets, write_chunks;
};

const returned_case returned_cases[] = {
	{ "all_used", true, [](rpcrdma_lists *) {}, 0, 2500, 3000, 2 },
	{ "inline_reply_absent", false,
	  [](rpcrdma_lists *l) { l->has_reply = 0; }, 0, 2500, 0, 2 },
	{ "inline_reply_zero", false,
	  [](rpcrdma_lists *l) {
		  for (u32 i = 3; i < 5; i++)
			  l->segs[i].length = 0;
	  },
	  0, 2500, 0, 2 },
	{ "inline_reply_no_segments", false,
	  [](rpcrdma_lists *l) { l->reply.count = 0; }, 0, 2500, 0, 2 },
	{ "inline_but_used", false, [](rpcrdma_lists *) {}, -5, 0, 0, 0 },
	{ "special_but_unused", true,
	  [](rpcrdma_lists *l) { l->reply.count = 0; }, -5, 0, 0, 0 },
	{ "special_absent", true, [](rpcrdma_lists *l) { l->has_reply = 0; },
	  -5, 0, 0, 0 },
	{ "write_unused", true,
	  [](rpcrdma_lists *l) { l->segs[0].length = l->segs[1].length = 0; },
	  0, 500, 3000, 1 },
	{ "write_unused_no_segments", true,
	  [](rpcrdma_lists *l) { l->writes[0].count = 0; }, 0, 500, 3000, 1 },
	{ "write_missing", true, [](rpcrdma_lists *l) { l->nr_writes = 1; }, -5,
	  0, 0, 0 },
	{ "write_too_many", true, [](rpcrdma_lists *l) { l->nr_writes = 3; },
	  -5, 0, 0, 0 },
	{ "segment_missing", true,
	  [](rpcrdma_lists *l) { l->writes[0].count = 1; }, -5, 0, 0, 0 },
	{ "segment_too_long", true,
	  [](rpcrdma_lists *l) { l->segs[0].length++; }, -5, 0, 0, 0 },
	{ "segment_short_then_data", true,
	  [](rpcrdma_lists *l) { l->segs[0].length--; }, -5, 0, 0, 0 },
	{ "last_segment_short", true,
	  [](rpcrdma_lists *l) { l->segs[1].length = 7; }, 0, 1507, 3000, 2 },
	{ "wrong_handle", true, [](rpcrdma_lists *l) { l->segs[1].handle++; },
	  -5, 0, 0, 0 },
	{ "wrong_reply_handle", true,
	  [](rpcrdma_lists *l) { l->segs[3].handle++; }, -5, 0, 0, 0 },
	{ "reply_too_long", true, [](rpcrdma_lists *l) { l->segs[3].length++; },
	  -5, 0, 0, 0 },
};

class Returned : public testing::TestWithParam<returned_case>
{
};

TEST_P(Returned, Lists)
{
	const returned_case &c = GetParam();
	auto e = requester();
	rpcrdma_lists offered = no_lists();
	auto rx = std::make_unique<rpcrdma_rx>();
	rpcrdma_placed placed;

	add_write(&offered, 2, 1000);
	add_write(&offered, 1, 500);
	add_reply(&offered, 2, 1500);

	memset(rx.get(), 0, sizeof(*rx));
	rx->format = c.special ? RPCRDMA_SPECIAL : RPCRDMA_INLINE;
	rx->lists = offered;
	c.change(&rx->lists);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &offered, rx.get(), &placed),
		  c.ret);
	if (!c.ret) {
		EXPECT_EQ(placed.write_octets, c.write_octets);
		EXPECT_EQ(placed.reply_octets, c.reply_octets);
		EXPECT_EQ(placed.write_chunks, c.write_chunks);
	}
}

INSTANTIATE_TEST_SUITE_P(All, Returned, testing::ValuesIn(returned_cases),
			 [](const auto &info) {
				 return std::string(info.param.name);
			 });

TEST(ReturnedLists, NothingWasOffered)
{
	auto e = requester();
	const rpcrdma_lists offered = no_lists();
	auto rx = std::make_unique<rpcrdma_rx>();
	rpcrdma_placed placed;

	memset(rx.get(), 0, sizeof(*rx));
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &offered, rx.get(), &placed),
		  0);
	add_reply(&rx->lists, 1, 0);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &offered, rx.get(), &placed),
		  -5);
	rx->lists = no_lists();
	add_write(&rx->lists, 1, 0);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &offered, rx.get(), &placed),
		  -5);
	/* A pulled Reply places no data. */
	rx->lists = no_lists();
	rx->format = RPCRDMA_SPECIAL;
	add_read(&rx->lists, 0, 1, 5000);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &offered, rx.get(), &placed),
		  0);
	EXPECT_EQ(placed.reply_octets, 0u);
}

/* The lists that a plan returns are those the Requester accepts. */
TEST(ReturnedLists, PlansAreAccepted)
{
	generator random{ 11 };
	auto server = responder();
	auto client = requester();

	for (u32 i = 0; i < 5000; i++) {
		rpcrdma_lists lists = no_lists();
		std::vector<rpcrdma_item> items;
		auto rx = std::make_unique<rpcrdma_rx>();
		rpcrdma_placed placed;
		u32 length = 24 + random.below(5000);
		u32 octets = 0;

		for (u32 n = random.below(4); n; n--)
			add_write(&lists, random.below(4), random.below(9000));
		if (random.chance(50))
			add_reply(&lists, 1 + random.below(4),
				  random.below(9000));
		for (u32 n = random.below(4); n; n--) {
			items.push_back({ 24, random.below(9000) });
			length += (items.back().length + 3) & ~3u;
		}

		const auto plan = plan_reply(*server, lists, length, items);

		if (plan->error)
			continue;
		for (u32 n = 0; n < plan->nr_items; n++) {
			if (rpcrdma_item_placed(plan.get(), n))
				octets += items[n].length;
		}
		memset(rx.get(), 0, sizeof(*rx));
		rx->format = plan->format;
		rx->lists = plan->lists;
		ASSERT_EQ(rpcrdma_check_reply(&client->conn, &lists, rx.get(),
					      &placed),
			  0);
		ASSERT_EQ(placed.write_octets, octets);
		ASSERT_EQ(placed.reply_octets, plan->reply_length);
	}
}

} // namespace
