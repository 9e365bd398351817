// SPDX-License-Identifier: GPL-2.0
/* Plans, and fragments of messages, respect all limits (WP 5, 6). */
#include "planning.hh"

using namespace engine_test;
using namespace engine_test::planning;

namespace
{

/*
 * If the Send Queue is short, a Call is planned in a form that fits, and a Reply is
 * exposed only if its MRs fit.
 */
TEST(PlanCall, WithinAShortSendQueue)
{
	rpcrdma_sq sq;

	rpcrdma_sq_init(&sq, 32, 32, 2, ~0u);

	const u32 most = rpcrdma_sq_message_mrs(&sq);

	EXPECT_TRUE(rpcrdma_sq_fits(&sq, 1 + most));
	EXPECT_FALSE(rpcrdma_sq_fits(&sq, 2 + most));
	for (u32 segs : { most, most + 1 }) {
		auto e = requester();
		rpcrdma_call call = simple_call(100000);

		e->conn.message_mrs = static_cast<u8>(most);
		call.item_position = 100;
		call.item_length = 99000;
		call.item_segs = call.call_segs = static_cast<u16>(segs);

		const planned p = plan_call(*e, call);

		ASSERT_EQ(p.ret, 0);
		EXPECT_EQ(p.plan.read_item, segs == most);
		EXPECT_EQ(p.plan.format,
			  segs == most ? RPCRDMA_INLINE : RPCRDMA_CONTINUED);

		rpcrdma_lists chunk;
		rpcrdma_mr_pool pool = {};
		rpcrdma_reply_plan plan = {};

		rpcrdma_lists_init(&chunk);
		add_read(&chunk, 0, segs, 4096);
		rpcrdma_lists_init(&plan.lists);
		plan.read_length = segs * 4096;
		EXPECT_EQ(!rpcrdma_plan_expose(&e->conn, &pool, 0, &chunk,
					       &plan),
			  segs == most);
	}
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
		call.retry_limits.few_reads = random.chance(20);
		call.retry_limits.max_reads = random.below(3);
		call.retry_limits.no_writes = random.chance(20);
		call.retry_limits.reply_needed =
			random.chance(80) ? 0 : random.below(400000);
		call.few_mrs = random.chance(20);
		call.max_mrs = static_cast<u16>(random.below(64));

		const planned p = plan_call(*e, call);

		if (p.ret) {
			if (p.ret == -105)
				ASSERT_TRUE(call.few_mrs);
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
		if (call.retry_limits.few_reads)
			ASSERT_LE((p.plan.format == RPCRDMA_SPECIAL) +
					  u32{ p.plan.read_item },
				  call.retry_limits.max_reads);
		if (call.retry_limits.no_writes)
			ASSERT_FALSE(p.plan.write_chunk);
		if (call.retry_limits.reply_needed)
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
		if (call.few_mrs)
			ASSERT_LE(segs, call.max_mrs);
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
				const auto [part, rest] = rpcrdma_next_fragment(
					&e->conn, &lists, left, ~0u);

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

/* Lengths of fragments around every boundary, with few and with many chunks */
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
				const auto [part, rest] = rpcrdma_next_fragment(
					&e->conn, &lists, left, ~0u);

				more = rest;
				ASSERT_TRUE(part >= 4 && part <= left);
				ASSERT_LE(part, more ? 4096 - PLAIN : room);
				ASSERT_TRUE(!more || part % 4 == 0);
				left -= part;
				parts++;
			} while (more);
			ASSERT_EQ(left, 0u);
			/* No more fragments than needed */
			ASSERT_EQ(parts, total <= room ? 1 :
							 1 + (total - room +
							      4055) / 4056)
				<< total;
		}
	}
}

} // namespace
