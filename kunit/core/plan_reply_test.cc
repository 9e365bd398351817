// SPDX-License-Identifier: GPL-2.0
/* How Replies are conveyed (4.4, 6.4, WP 5, 6) */
#include "planning.hh"

using namespace engine_test;
using namespace engine_test::planning;

namespace
{

/* ---- Replies ---- */

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

TEST(PlanReply, PlainRepliesNeedNoPlan)
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
	/* A provided Reply chunk is not used, with and without Write chunks. */
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
	/* An unused Reply chunk is returned as absent. */
	const auto plan = plan_reply(*e, lists, 100);

	EXPECT_EQ(plan->format, RPCRDMA_INLINE);
	EXPECT_FALSE(plan->lists.has_reply);
}

TEST(PlanReply, NoMethodLeft)
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

	/*
	 * If there are more items than chunks, the others stay in the message.
	 */
	lists = no_lists();
	add_write(&lists, 1, 1000);
	plan = plan_reply(*e, lists, 3000, { { 100, 1000 }, { 1700, 17 } });
	EXPECT_EQ(plan->nr_items, 1);
	EXPECT_EQ(plan->inline_length, 2000u);

	/*
	 * An empty result uses a chunk, too, which is returned with a length of
	 * 0.
	 */
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
		{ "inline, whatever chunks there are", 3000, 262144, 60000,
		  true, RPCRDMA_INLINE, 0 },
		{ "Reply chunk", 30000, 262144, 60000, true, RPCRDMA_SPECIAL,
		  0 },
		{ "continued", 30000, 262144, 20000, true, RPCRDMA_CONTINUED,
		  0 },
		{ "pulled", 30000, 20000, 20000, true, RPCRDMA_SPECIAL, 0 },
		{ "no method left", 30000, 20000, 20000, false, 0,
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
		 * The chunk of the long result is returned unused; the other
		 * chunk has its item.
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

/* Even the list of so many chunks does not fit. */
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

/* The last fragment returns all chunks, and must have space for payload, too. */
TEST(PlanReply, NoSpaceInTheLastPart)
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
 * A Requester that provides no handle gets a Send without invalidation,
 * whatever its chunks are.
 */
TEST(PlanReply, NoHandleIsInvalidatedUnrequested)
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
	rpcrdma_lists call_lists = no_lists();
	auto rx = std::make_unique<rpcrdma_rx>();
	rpcrdma_placed placed;

	add_write(&call_lists, 2, 1000);
	add_write(&call_lists, 1, 500);
	add_reply(&call_lists, 2, 1500);

	memset(rx.get(), 0, sizeof(*rx));
	rx->format = c.special ? RPCRDMA_SPECIAL : RPCRDMA_INLINE;
	rx->lists = call_lists;
	c.change(&rx->lists);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &call_lists, rx.get(), &placed),
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

TEST(ReturnedLists, NothingWasProvided)
{
	auto e = requester();
	const rpcrdma_lists call_lists = no_lists();
	auto rx = std::make_unique<rpcrdma_rx>();
	rpcrdma_placed placed;

	memset(rx.get(), 0, sizeof(*rx));
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &call_lists, rx.get(), &placed),
		  0);
	add_reply(&rx->lists, 1, 0);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &call_lists, rx.get(), &placed),
		  -5);
	rx->lists = no_lists();
	add_write(&rx->lists, 1, 0);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &call_lists, rx.get(), &placed),
		  -5);
	/* A pulled Reply places no data. */
	rx->lists = no_lists();
	rx->format = RPCRDMA_SPECIAL;
	add_read(&rx->lists, 0, 1, 5000);
	EXPECT_EQ(rpcrdma_check_reply(&e->conn, &call_lists, rx.get(), &placed),
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
