// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that a Call provides (6.2.3), and how Calls are assembled and
 * Replies split (4.3.5, 4.4.3)
 */
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

octets some_octets(u32 count)
{
	octets data(count);

	for (u32 i = 0; i < count; i++)
		data[i] = static_cast<uint8_t>(i * 7 + i / 251 + 1);
	return data;
}

void append(octets &to, const octets &from, u32 begin, u32 count)
{
	to.insert(to.end(), from.begin() + begin, from.begin() + begin + count);
}

/* A reduced Call, with the contents of its chunks */
struct call {
	octets whole, stream;
	std::vector<octets> chunks;
	std::unique_ptr<rpcrdma_rx> rx = std::make_unique<rpcrdma_rx>();

	/*
	 * @items: their positions and lengths in @whole, each followed by its
	 * roundup
	 */
	call(u32 length, const std::vector<rpcrdma_item> &items,
	     rpcrdma_format format)
		: whole{ some_octets(length) }
	{
		rpcrdma_lists &lists = rx->lists;
		u32 at = 0;

		rpcrdma_lists_init(&lists);
		for (const auto &item : items) {
			append(stream, whole, at, item.position - at);
			at = item.position + item.length;
			while (at % 4)
				whole[at++] = 0;
		}
		append(stream, whole, at, length - at);
		rx->format = static_cast<u8>(format);
		rx->total_length = static_cast<u32>(stream.size());
		if (format == RPCRDMA_SPECIAL) {
			add_read(&lists, 0, 1, rx->total_length);
			chunks.push_back(stream);
		}
		for (const auto &item : items) {
			chunks.emplace_back();
			append(chunks.back(), whole, item.position,
			       item.length);
			add_read(&lists, item.position, 1, item.length);
		}
	}

	octets put_together() const
	{
		octets made(rpcrdma_call_octets(rx.get()), 0xee);
		rpcrdma_msg_iter at = {};
		rpcrdma_msg_range range;
		u32 end = 0;

		while (rpcrdma_call_iter_next(rx.get(), &at, &range)) {
			const octets *from = &stream;

			EXPECT_EQ(range.to, end);
			EXPECT_NE(range.length, 0u);
			EXPECT_EQ(range.chunk != nullptr,
				  range.origin == RPCRDMA_RANGE_CHUNK);
			end = range.to + range.length;
			if (end > made.size()) {
				ADD_FAILURE() << "too long: " << end;
				return {};
			}
			if (range.origin == RPCRDMA_RANGE_ROUNDUP) {
				std::fill_n(made.begin() + range.to,
					    range.length, uint8_t{ 0 });
				continue;
			}
			if (range.chunk)
				from = &chunks[static_cast<size_t>(
					range.chunk - rx->lists.reads)];
			std::copy_n(from->begin() + range.from, range.length,
				    made.begin() + range.to);
		}
		EXPECT_EQ(end, made.size());
		EXPECT_FALSE(rpcrdma_call_iter_next(rx.get(), &at, &range));
		return made;
	}
};

TEST(MsgIter, OfACall)
{
	const std::vector<rpcrdma_item> cases[] = {
		{},
		{ { 40, 400 } },
		{ { 40, 401 } },
		/* Up to the end of the message, and one after the other */
		{ { 100, 899 } },
		{ { 40, 3 }, { 44, 1 }, { 48, 400 }, { 900, 0 } },
		{ { 8, 5 }, { 500, 6 }, { 600, 7 }, { 700, 300 } },
	};

	for (const auto &items : cases) {
		for (const auto format :
		     { RPCRDMA_INLINE, RPCRDMA_CONTINUED, RPCRDMA_SPECIAL }) {
			const call c{ 1000, items, format };

			EXPECT_EQ(c.put_together(), c.whole);
		}
	}
}

TEST(MsgIter, OfAnyCall)
{
	generator random{ 5 };

	for (u32 n = 0; n < 2000; n++) {
		std::vector<rpcrdma_item> items;
		u32 at = 8;

		for (u32 i = random.below(6); i; i--) {
			at += 4 * random.below(30);
			items.push_back({ at, random.below(200) });
			at += (items.back().length + 3) & ~3u;
		}
		const call c{ at + 4 * random.below(50), items,
			      random.chance(50) ? RPCRDMA_INLINE :
						  RPCRDMA_SPECIAL };

		ASSERT_EQ(c.put_together(), c.whole);
	}
}

/* The Call was already refused, yet no range is outside its memory. */
TEST(MsgIter, OfACallThatExceedsItsMemory)
{
	generator random{ 6 };

	for (u32 n = 0; n < 2000; n++) {
		call c{ 200, { { 40, 21 }, { 100, 40 } }, RPCRDMA_INLINE };

		for (u32 i = 0; i < 2; i++)
			c.rx->lists.reads[i].position =
				random.chance(50) ? random.below(300) :
						    ~random.below(9);
		c.put_together();
	}
}

TEST(MsgIter, OfAnyReply)
{
	generator random{ 7 };

	for (u32 n = 0; n < 2000; n++) {
		auto plan = std::make_unique<rpcrdma_reply_plan>();
		auto reply = std::make_unique<rpcrdma_reply>();
		octets whole, rest, expected;
		rpcrdma_msg_iter at = {};
		rpcrdma_msg_range range;
		u32 end = 24, written = 0;

		*reply = {};
		*plan = {};
		for (u32 i = random.below(5); i; i--) {
			rpcrdma_item &item = reply->items[reply->nr_items];

			end += 4 * random.below(20);
			item = { end, random.below(100) };
			end += item.length;
			/* The last item may lack its roundup. */
			if (i > 1 || random.chance(50))
				end = (end + 3) & ~3u;
			if (random.chance(60)) {
				plan->placed = static_cast<u16>(
					plan->placed | 1u << reply->nr_items);
				plan->nr_items =
					static_cast<u8>(reply->nr_items + 1);
			}
			reply->nr_items++;
		}
		reply->length = end % 4 ? end : end + 4 * random.below(20);
		whole = some_octets(reply->length);

		end = 0;
		for (u32 i = 0; i < plan->nr_items; i++) {
			const rpcrdma_item &item = reply->items[i];

			if (!rpcrdma_item_placed(plan.get(), i))
				continue;
			append(expected, whole, end, item.position - end);
			end = std::min((item.position + item.length + 3) & ~3u,
				       reply->length);
			written += item.length;
		}
		append(expected, whole, end, reply->length - end);

		while (rpcrdma_reply_iter_next(reply.get(), plan.get(), &at,
					       &range)) {
			ASSERT_NE(range.length, 0u);
			ASSERT_LE(range.from + range.length, whole.size());
			if (!range.chunk) {
				ASSERT_EQ(range.to, rest.size());
				append(rest, whole, range.from, range.length);
				continue;
			}
			const auto i = range.chunk - plan->lists.writes;

			EXPECT_TRUE(rpcrdma_item_placed(plan.get(),
							static_cast<u32>(i)));
			EXPECT_EQ(range.from, reply->items[i].position);
			EXPECT_EQ(range.length, reply->items[i].length);
			EXPECT_EQ(range.to, 0u);
			written -= range.length;
		}
		ASSERT_EQ(rest, expected);
		ASSERT_EQ(written, 0u);
	}
}

/* The ranges cover exactly the inline part of the plan. */
TEST(MsgIter, OfAPlannedReply)
{
	auto e = open_server();

	for (u32 behind = 0; behind < 9; behind++) {
		for (u32 octets = 1; octets < 9; octets++) {
			auto plan = std::make_unique<rpcrdma_reply_plan>();
			rpcrdma_reply reply = {};
			rpcrdma_msg_iter at = {};
			rpcrdma_msg_range range;
			rpcrdma_lists call_lists;
			u32 inlined = 0, placed = 0;

			rpcrdma_lists_init(&call_lists);
			add_write(&call_lists, 1, 100);
			reply.xid = 1;
			reply.length = 100 + octets + behind;
			reply.nr_items = 1;
			reply.items[0] = { 100, octets };
			rpcrdma_plan_reply(&e->conn, &call_lists, &reply,
					   plan.get());
			ASSERT_EQ(plan->format, RPCRDMA_INLINE);
			while (rpcrdma_reply_iter_next(&reply, plan.get(), &at,
						       &range))
				(range.chunk ? placed : inlined) +=
					range.length;
			EXPECT_EQ(placed, octets);
			EXPECT_EQ(inlined, plan->inline_length)
				<< octets << ' ' << behind;
		}
	}
}

TEST(MsgIter, AnOnlyItem)
{
	auto rx = std::make_unique<rpcrdma_rx>();

	rx->format = RPCRDMA_INLINE;
	rx->total_length = 200;
	EXPECT_EQ(rpcrdma_call_read_octets(rx.get()), 0u);
	EXPECT_EQ(rpcrdma_call_only_item(rx.get(), 40), nullptr);
	rx->lists.nr_reads = 1;
	rx->lists.reads[0] = { 40, 5000, 0, 0 };
	EXPECT_EQ(rpcrdma_call_read_octets(rx.get()), 5000u);
	EXPECT_EQ(rpcrdma_call_only_item(rx.get(), 40), &rx->lists.reads[0]);
	EXPECT_EQ(rpcrdma_call_only_item(rx.get(), 44), nullptr);
	rx->lists.reads[0].position = 200;
	EXPECT_EQ(rpcrdma_call_only_item(rx.get(), 40), &rx->lists.reads[0]);
	rx->lists.reads[0].position = 204;
	EXPECT_EQ(rpcrdma_call_only_item(rx.get(), 40), nullptr);

	rx->lists.nr_reads = 2;
	rx->lists.reads[0].position = 40;
	rx->lists.reads[1] = { 48, 7, 0, 0 };
	EXPECT_EQ(rpcrdma_call_read_octets(rx.get()), 5007u);
	EXPECT_EQ(rpcrdma_call_only_item(rx.get(), 40), nullptr);

	rx->format = RPCRDMA_SPECIAL;
	rx->lists.nr_reads = 1;
	rx->lists.reads[0] = { 0, 5000, 0, 0 };
	EXPECT_EQ(rpcrdma_call_only_item(rx.get(), 0), nullptr);
}

TEST(MsgIter, PulledPartsOfACall)
{
	auto rx = std::make_unique<rpcrdma_rx>();
	rpcrdma_call_pull pull;

	rx->format = RPCRDMA_INLINE;
	rx->total_length = 200;
	EXPECT_EQ(rpcrdma_call_to_pull(rx.get(), 40, true).octets, 0u);
	rx->lists.nr_reads = 1;
	rx->lists.reads[0] = { 40, 4999, 0, 0 };
	pull = rpcrdma_call_to_pull(rx.get(), 40, true);
	EXPECT_EQ(pull.item, &rx->lists.reads[0]);
	EXPECT_EQ(pull.octets, 4999u);
	/* Nothing is pulled for an empty chunk. */
	rx->lists.reads[0].length = 0;
	pull = rpcrdma_call_to_pull(rx.get(), 40, true);
	EXPECT_EQ(pull.item, nullptr);
	EXPECT_EQ(pull.octets, 0u);
	rx->lists.reads[0].length = 4999;
	/* The complete Call is pulled. */
	for (const rpcrdma_call_pull &all :
	     { rpcrdma_call_to_pull(rx.get(), 44, true),
	       rpcrdma_call_to_pull(rx.get(), 40, false) }) {
		EXPECT_EQ(all.item, nullptr);
		EXPECT_EQ(all.octets, 5200u);
	}
}

/*
 * The Payload stream of a Reply is sent, written to the Reply chunk, or
 * exposed.
 */
TEST(MsgIter, OfAReplyFollowItsPlan)
{
	auto plan = std::make_unique<rpcrdma_reply_plan>();
	rpcrdma_reply reply = {};

	reply.length = 1000;
	for (const rpcrdma_origin where :
	     { RPCRDMA_RANGE_INLINE, RPCRDMA_RANGE_CHUNK,
	       RPCRDMA_RANGE_EXPOSED }) {
		const bool chunk = where == RPCRDMA_RANGE_CHUNK;
		rpcrdma_msg_iter at = {};
		rpcrdma_msg_range range;

		*plan = {};
		plan->reply_length = chunk ? 1000 : 0;
		plan->format = where == RPCRDMA_RANGE_INLINE ? RPCRDMA_INLINE :
							       RPCRDMA_SPECIAL;
		ASSERT_TRUE(rpcrdma_reply_iter_next(&reply, plan.get(), &at,
						    &range));
		EXPECT_EQ(range.origin, where);
		EXPECT_EQ(range.chunk, chunk ? &plan->lists.reply : nullptr);
		EXPECT_EQ(range.length, 1000u);
	}
}

/*
 * The memory that a Call provides, with a segment for each range. A segment's
 * handle is its number + 1.
 */
struct offers {
	std::unique_ptr<rpcrdma_lists> lists =
		std::make_unique<rpcrdma_lists>();
	std::vector<rpcrdma_chunk_range> ranges;
	int end;

	offers(const rpcrdma_call_plan &plan, const rpcrdma_buf_layout &call,
	       const rpcrdma_buf_layout &reply)
	{
		rpcrdma_chunk_range_iter at = { &plan, call, reply, 0 };
		rpcrdma_chunk_range range;

		rpcrdma_lists_init(lists.get());
		while ((end = rpcrdma_chunk_range_next(&at, lists.get(),
						       &range)) > 0) {
			EXPECT_NE(range.length, 0u);
			ranges.push_back(range);
			EXPECT_EQ(rpcrdma_lists_add_segment(
					  lists.get(),
					  static_cast<u32>(ranges.size()),
					  range.length, 0),
				  0);
		}
		/* At its end, the iterator stays there. */
		EXPECT_EQ(rpcrdma_chunk_range_next(&at, lists.get(), &range),
			  end);
	}

	/*
	 * Return a map of the memory of @chunk, of @length bytes, with a mark
	 * at each byte that belongs to it.
	 */
	std::string map_of(const rpcrdma_chunk &chunk, u32 length,
			   bool written) const
	{
		std::string map(length, '.');

		for (u32 i = chunk.first; i < chunk.first + chunk.count; i++) {
			const rpcrdma_chunk_range &range = ranges.at(i);

			EXPECT_EQ(range.written, written);
			for (u32 n = 0; n < range.length; n++)
				map.at(range.from + n) = '#';
		}
		return map;
	}
};

constexpr rpcrdma_call_plan plan_of(rpcrdma_format format, bool read_item,
				    bool write_chunk, bool reply_chunk)
{
	return { static_cast<u8>(format), read_item, write_chunk, reply_chunk,
		 0 };
}

TEST(ChunkRanges, AnArgument)
{
	const offers o{ plan_of(RPCRDMA_INLINE, true, false, false),
			{ 12, 7, 9 },
			{ 40, 0, 0 } };

	ASSERT_EQ(o.end, 0);
	ASSERT_EQ(o.lists->nr_reads, 1u);
	EXPECT_EQ(o.lists->reads[0].position, 12u);
	EXPECT_EQ(o.map_of(o.lists->reads[0], 28, false),
		  "............#######.........");
	EXPECT_TRUE(o.ranges[0].data);
	EXPECT_EQ(o.lists->nr_writes, 0u);
	EXPECT_FALSE(o.lists->has_reply);
	EXPECT_EQ(o.lists->inv_handle, 1u);
}

/*
 * The argument has a separate chunk. Its roundup is in neither chunk
 * (4.3.4.4).
 */
TEST(ChunkRanges, AMessageAroundItsArgument)
{
	const offers o{ plan_of(RPCRDMA_SPECIAL, true, false, false),
			{ 12, 7, 9 },
			{ 40, 0, 0 } };

	ASSERT_EQ(o.end, 0);
	ASSERT_EQ(o.lists->nr_reads, 2u);
	EXPECT_EQ(o.lists->reads[0].position, 0u);
	EXPECT_EQ(o.map_of(o.lists->reads[0], 28, false),
		  "############........########");
	EXPECT_EQ(o.lists->reads[1].position, 12u);
	EXPECT_EQ(o.map_of(o.lists->reads[1], 28, false),
		  "............#######.........");
	EXPECT_FALSE(o.ranges[0].data);
	EXPECT_FALSE(o.ranges[1].data);
	EXPECT_TRUE(o.ranges[2].data);
	/* The largest segment */
	EXPECT_EQ(o.lists->inv_handle, 1u);
}

/* Some messages end with their argument, with or without its roundup. */
TEST(ChunkRanges, AnArgumentAtTheEnd)
{
	for (u32 tail : { 0u, 1u }) {
		const offers o{ plan_of(RPCRDMA_SPECIAL, true, false, false),
				{ 12, 7, tail },
				{ 40, 0, 0 } };

		ASSERT_EQ(o.end, 0);
		ASSERT_EQ(o.lists->nr_reads, 2u);
		EXPECT_EQ(o.lists->reads[0].length, 12u);
		EXPECT_EQ(o.lists->reads[0].count, 1u);
		EXPECT_EQ(o.lists->reads[1].length, 7u);
	}
}

TEST(ChunkRanges, ACompleteMessage)
{
	const offers o{ plan_of(RPCRDMA_SPECIAL, false, false, false),
			{ 12, 7, 9 },
			{ 40, 0, 0 } };

	ASSERT_EQ(o.end, 0);
	ASSERT_EQ(o.lists->nr_reads, 1u);
	EXPECT_EQ(o.map_of(o.lists->reads[0], 28, false), std::string(28, '#'));
}

TEST(ChunkRanges, AResult)
{
	const offers o{ plan_of(RPCRDMA_INLINE, false, true, false),
			{ 12, 0, 0 },
			{ 8, 10, 6 } };

	ASSERT_EQ(o.end, 0);
	EXPECT_EQ(o.lists->nr_reads, 0u);
	ASSERT_EQ(o.lists->nr_writes, 1u);
	EXPECT_EQ(o.map_of(o.lists->writes[0], 24, true),
		  "........##########......");
	EXPECT_TRUE(o.ranges[0].data);
	EXPECT_FALSE(o.lists->has_reply);
}

TEST(ChunkRanges, AReply)
{
	const offers o{ plan_of(RPCRDMA_INLINE, false, false, true),
			{ 12, 0, 0 },
			{ 8, 10, 6 } };

	ASSERT_EQ(o.end, 0);
	EXPECT_EQ(o.lists->nr_writes, 0u);
	ASSERT_TRUE(o.lists->has_reply);
	EXPECT_EQ(o.map_of(o.lists->reply, 24, true), std::string(24, '#'));
	EXPECT_FALSE(o.ranges[0].data);
}

/* Two writes of the peer to the same memory would leave undefined contents. */
TEST(ChunkRanges, NoMemoryIsWrittenTwice)
{
	const offers o{ plan_of(RPCRDMA_INLINE, false, true, true),
			{ 12, 0, 0 },
			{ 8, 10, 6 } };

	ASSERT_EQ(o.end, 0);
	ASSERT_EQ(o.lists->nr_writes, 1u);
	EXPECT_EQ(o.map_of(o.lists->writes[0], 24, true),
		  "........##########......");
	ASSERT_TRUE(o.lists->has_reply);
	EXPECT_EQ(o.map_of(o.lists->reply, 24, true),
		  "########..........######");
	EXPECT_EQ(o.lists->inv_handle, 1u);
}

/* A Reply that ends with its result has no range after it. */
TEST(ChunkRanges, AResultAtTheEnd)
{
	const offers o{ plan_of(RPCRDMA_INLINE, false, true, true),
			{ 12, 0, 0 },
			{ 8, 10, 0 } };

	ASSERT_EQ(o.end, 0);
	ASSERT_EQ(o.ranges.size(), 2u);
	ASSERT_TRUE(o.lists->has_reply);
	EXPECT_EQ(o.map_of(o.lists->reply, 18, true), "########..........");
}

TEST(ChunkRanges, AllKinds)
{
	const offers o{ plan_of(RPCRDMA_SPECIAL, true, true, true),
			{ 12, 8, 4 },
			{ 8, 100, 6 } };

	ASSERT_EQ(o.end, 0);
	EXPECT_EQ(o.lists->nr_reads, 2u);
	EXPECT_EQ(o.lists->nr_writes, 1u);
	EXPECT_TRUE(o.lists->has_reply);
	EXPECT_EQ(o.ranges.size(), 6u);
	EXPECT_EQ(o.lists->nr_segs, 6u);
	EXPECT_EQ(o.lists->inv_handle, 4u);
}

TEST(ChunkRanges, NothingOfAPlainCall)
{
	const offers o{ plan_of(RPCRDMA_CONTINUED, false, false, false),
			{ 12, 0, 0 },
			{ 8, 0, 0 } };

	EXPECT_EQ(o.end, 0);
	EXPECT_TRUE(o.ranges.empty());
	EXPECT_EQ(o.lists->inv_handle, 0u);
}

/*
 * Lists that already contain chunks are a fault of the caller. No chunk is
 * damaged.
 */
TEST(ChunkRanges, NotToFullLists)
{
	for (const auto &plan :
	     { plan_of(RPCRDMA_SPECIAL, false, false, false),
	       plan_of(RPCRDMA_INLINE, true, false, false),
	       plan_of(RPCRDMA_INLINE, false, true, false),
	       plan_of(RPCRDMA_INLINE, false, false, true) }) {
		auto lists = std::make_unique<rpcrdma_lists>();
		rpcrdma_chunk_range_iter at = {
			&plan, { 12, 8, 4 }, { 8, 100, 6 }, 0
		};
		rpcrdma_chunk_range range;

		rpcrdma_lists_init(lists.get());
		ASSERT_EQ(rpcrdma_lists_add_reply(lists.get()), 0);
		EXPECT_EQ(rpcrdma_chunk_range_next(&at, lists.get(), &range),
			  -90);
	}
}

/*
 * Return @length bytes of a chunk of three segments, from @offset on, as
 * "handle:offset+length".
 */
std::string stretch(u32 offset, u32 length, u32 *left)
{
	auto lists = std::make_unique<rpcrdma_lists>();
	rpcrdma_chunk_cursor at = { offset, 0, length };
	rpcrdma_segment part;
	std::string said;

	rpcrdma_lists_init(lists.get());
	/* The chunk is not the first one of the lists. */
	rpcrdma_lists_add_read(lists.get(), 40);
	rpcrdma_lists_add_segment(lists.get(), 9, 1000, 0);
	rpcrdma_lists_add_read(lists.get(), 80);
	rpcrdma_lists_add_segment(lists.get(), 1, 100, u64{ 1 } << 40);
	rpcrdma_lists_add_segment(lists.get(), 2, 0, 0);
	rpcrdma_lists_add_segment(lists.get(), 3, 50, 5000);
	rpcrdma_lists_add_segment(lists.get(), 4, 70, 7000);
	rpcrdma_lists_add_write(lists.get());
	rpcrdma_lists_add_segment(lists.get(), 9, 1000, 0);
	while (rpcrdma_chunk_next(lists.get(), &lists->reads[1], &at, &part)) {
		EXPECT_NE(part.length, 0u);
		said += std::to_string(part.handle) + ":" +
			std::to_string(part.offset) + "+" +
			std::to_string(part.length) + " ";
	}
	*left = at.length;
	return said;
}

TEST(ChunkCursor, OfAChunk)
{
	u32 left;

	EXPECT_EQ(stretch(0, 100, &left), "1:1099511627776+100 ");
	EXPECT_EQ(left, 0u);
	EXPECT_EQ(stretch(10, 20, &left), "1:1099511627786+20 ");
	EXPECT_EQ(left, 0u);
	EXPECT_EQ(stretch(99, 3, &left), "1:1099511627875+1 3:5000+2 ");
	EXPECT_EQ(left, 0u);
	EXPECT_EQ(stretch(0, 220, &left),
		  "1:1099511627776+100 3:5000+50 4:7000+70 ");
	EXPECT_EQ(left, 0u);
	EXPECT_EQ(stretch(100, 50, &left), "3:5000+50 ");
	EXPECT_EQ(left, 0u);
	EXPECT_EQ(stretch(160, 60, &left), "4:7010+60 ");
	EXPECT_EQ(left, 0u);
	EXPECT_EQ(stretch(30, 0, &left), "");
	EXPECT_EQ(left, 0u);
}

/* A range beyond the chunk is reported. Nothing after the chunk is read. */
TEST(ChunkCursor, BeyondAChunk)
{
	u32 left;

	EXPECT_EQ(stretch(200, 30, &left), "4:7050+20 ");
	EXPECT_EQ(left, 10u);
	EXPECT_EQ(stretch(220, 1, &left), "");
	EXPECT_EQ(left, 1u);
	EXPECT_EQ(stretch(~0u, ~0u, &left), "");
	EXPECT_EQ(left, ~0u);
}

TEST(Refusals, OfACallThatWasRead)
{
	message right, xid, direction;
	auto rx = std::make_unique<rpcrdma_rx>();

	rx->xid = 7;
	rx->format = RPCRDMA_SPECIAL;
	right.rpc(7, CALL, 40);
	xid.rpc(8, CALL, 40);
	direction.rpc(7, REPLY, 40);
	EXPECT_EQ(rpcrdma_call_refusal(rx.get(), right.data().data()),
		  RPCRDMA_REFUSE_NONE);
	EXPECT_EQ(rpcrdma_call_refusal(rx.get(), xid.data().data()),
		  RPCRDMA_REFUSE_MISMATCH);
	EXPECT_EQ(rpcrdma_call_refusal(rx.get(), direction.data().data()),
		  RPCRDMA_REFUSE_MISMATCH);
	/* An inline Call was checked when it arrived. */
	rx->format = RPCRDMA_INLINE;
	EXPECT_EQ(rpcrdma_call_refusal(rx.get(), xid.data().data()),
		  RPCRDMA_REFUSE_NONE);
}

TEST(Refusals, HaveACode)
{
	EXPECT_EQ(rpcrdma_refusal_code(RPCRDMA_REFUSE_TOO_LARGE),
		  u32{ RDMA2_ERR_SYSTEM });
	EXPECT_EQ(rpcrdma_refusal_code(RPCRDMA_REFUSE_MISMATCH),
		  u32{ RDMA2_ERR_BAD_XDR });
	EXPECT_EQ(rpcrdma_refusal_code(RPCRDMA_REFUSE_NO_SERVICE),
		  u32{ RDMA2_ERR_SYSTEM });
	EXPECT_EQ(rpcrdma_refusal_code(RPCRDMA_REFUSE_NO_REPLY),
		  u32{ RDMA2_ERR_SYSTEM });
	for (int i = RPCRDMA_REFUSE_NONE; i <= RPCRDMA_REFUSE_NO_REPLY; i++)
		EXPECT_NE(rpcrdma_refusal_text(static_cast<rpcrdma_refusal>(i)),
			  nullptr);
}

rpcrdma_remedy remedy(rpcrdma_failed failed, int status)
{
	return rpcrdma_remedy_for(failed, status);
}

constexpr rpcrdma_failed PLACES[] = {
	RPCRDMA_FAILED_CALL, RPCRDMA_FAILED_REPLY, RPCRDMA_FAILED_KEPT_REPLY,
	RPCRDMA_FAILED_PULL, RPCRDMA_FAILED_SEND,
};

/* EAGAIN, ENOMEM, ENOBUFS, ENOTCONN */
constexpr int PASSING[] = { -11, -12, -105, -107 };

TEST(Refusals, NotForTemporaryFailures)
{
	for (const rpcrdma_failed failed : PLACES) {
		EXPECT_EQ(remedy(failed, 0).kind, RPCRDMA_REMEDY_NONE);
		EXPECT_EQ(remedy(failed, 0).refusal, RPCRDMA_REFUSE_NONE);
		for (const int status : PASSING) {
			const rpcrdma_remedy r = remedy(failed, status);

			EXPECT_NE(r.kind, RPCRDMA_REMEDY_NONE);
			EXPECT_NE(r.kind, RPCRDMA_REMEDY_GIVE_UP) << status;
			EXPECT_EQ(r.refusal, RPCRDMA_REFUSE_NONE);
			/*
			 * sunrpc retries after these errors, and no RPC ends
			 * with them.
			 */
			if (r.kind == RPCRDMA_REMEDY_CLOSE)
				EXPECT_EQ(r.status, -107);
			else
				EXPECT_EQ(r.status, status == -11 ? -11 : -105);
		}
	}
}

/* Close the connection: the peer retransmits its Call only on another one. */
TEST(Refusals, TheConnectionClosesIfNoTaskRetries)
{
	for (const int status : PASSING) {
		const auto retry = status == -107 ? RPCRDMA_REMEDY_CLOSE :
						    RPCRDMA_REMEDY_RETRY;

		EXPECT_EQ(remedy(RPCRDMA_FAILED_CALL, status).kind,
			  RPCRDMA_REMEDY_CLOSE);
		EXPECT_EQ(remedy(RPCRDMA_FAILED_REPLY, status).kind,
			  RPCRDMA_REMEDY_CLOSE);
		EXPECT_EQ(remedy(RPCRDMA_FAILED_PULL, status).kind,
			  RPCRDMA_REMEDY_CLOSE);
		EXPECT_EQ(remedy(RPCRDMA_FAILED_KEPT_REPLY, status).kind,
			  retry);
		EXPECT_EQ(remedy(RPCRDMA_FAILED_SEND, status).kind, retry);
	}
}

TEST(Refusals, ForPermanentFailures)
{
	/* E2BIG, EFAULT, EINVAL, EMSGSIZE, EIO, and others */
	for (const int status : { -7, -14, -22, -90, -5, -1, -4096 }) {
		for (const rpcrdma_failed failed : PLACES)
			EXPECT_EQ(remedy(failed, status).kind,
				  RPCRDMA_REMEDY_GIVE_UP)
				<< status;
		EXPECT_EQ(remedy(RPCRDMA_FAILED_SEND, status).status, status);
		EXPECT_EQ(remedy(RPCRDMA_FAILED_CALL, status).refusal,
			  RPCRDMA_REFUSE_TOO_LARGE);
		EXPECT_EQ(remedy(RPCRDMA_FAILED_REPLY, status).refusal,
			  RPCRDMA_REFUSE_NO_REPLY);
		EXPECT_EQ(remedy(RPCRDMA_FAILED_KEPT_REPLY, status).refusal,
			  RPCRDMA_REFUSE_NO_REPLY);
		EXPECT_EQ(remedy(RPCRDMA_FAILED_PULL, status).refusal,
			  RPCRDMA_REFUSE_NONE);
		EXPECT_EQ(remedy(RPCRDMA_FAILED_SEND, status).refusal,
			  RPCRDMA_REFUSE_NONE);
	}
	/* EOPNOTSUPP */
	EXPECT_EQ(remedy(RPCRDMA_FAILED_CALL, -95).kind,
		  RPCRDMA_REMEDY_GIVE_UP);
	EXPECT_EQ(remedy(RPCRDMA_FAILED_CALL, -95).refusal,
		  RPCRDMA_REFUSE_NO_SERVICE);
	EXPECT_EQ(remedy(RPCRDMA_FAILED_REPLY, -95).refusal,
		  RPCRDMA_REFUSE_NO_REPLY);
}

} // namespace
