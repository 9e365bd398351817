// SPDX-License-Identifier: GPL-2.0
/* Chunk lists: their bounds, and what a receiver accepts */
#include "codec.hh"

using namespace engine_test;
using namespace engine_test::codec;

namespace
{

TEST(Lists, BoundsOfBuilding)
{
	rpcrdma_lists lists;

	rpcrdma_lists_init(&lists);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 1, 1, 1), -1);

	for (u32 i = 0; i < RPCRDMA_MAX_READ_CHUNKS; i++)
		EXPECT_EQ(rpcrdma_lists_add_read(&lists, i * 4), 0);
	EXPECT_EQ(rpcrdma_lists_add_read(&lists, 4096), -1);
	for (u32 i = 0; i < RPCRDMA_MAX_WRITE_CHUNKS; i++)
		EXPECT_EQ(rpcrdma_lists_add_write(&lists), 0);
	EXPECT_EQ(rpcrdma_lists_add_write(&lists), -1);
	/* Read chunks cannot be added any more. */
	EXPECT_EQ(rpcrdma_lists_add_read(&lists, 8192), -1);
	EXPECT_EQ(rpcrdma_lists_add_reply(&lists), 0);
	EXPECT_EQ(rpcrdma_lists_add_reply(&lists), -1);
	EXPECT_EQ(rpcrdma_lists_add_write(&lists), -1);
	for (u32 i = 0; i < RPCRDMA_MAX_SEGS; i++)
		EXPECT_EQ(rpcrdma_lists_add_segment(&lists, i, 1, 1), 0);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 1, 1, 1), -1);
	EXPECT_EQ(lists.reply.length, +RPCRDMA_MAX_SEGS);
	EXPECT_EQ(lists.reply.first, 0);
	EXPECT_EQ(lists.reply.count, +RPCRDMA_MAX_SEGS);

	rpcrdma_lists_init(&lists);
	EXPECT_EQ(rpcrdma_lists_add_read(&lists, 8), 0);
	EXPECT_EQ(rpcrdma_lists_add_read(&lists, 8), -1);
	EXPECT_EQ(rpcrdma_lists_add_read(&lists, 4), -1);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 1, RPCRDMA_MAX_CHUNK_OCTETS,
					    0),
		  0);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 1, 1, 0), -1);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 1, ~0u, 0), -1);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 1, 0, 0), 0);
}

/*
 * The bytes of all chunks of one kind are bounded together, because no receiver
 * accepts more.
 */
TEST(Lists, BuiltListsAreAccepted)
{
	constexpr u32 half = RPCRDMA_MAX_CHUNK_OCTETS / 2;
	auto cfg = usual_config(false);

	cfg.props.rssiz = half;
	auto server = open_end(cfg, usual_config(true));
	auto client = open_client();
	rpcrdma_lists lists;
	octets buf(4096);

	rpcrdma_lists_init(&lists);
	for (u32 i = 1; i <= 2; i++) {
		EXPECT_EQ(rpcrdma_lists_add_read(&lists, 8 + (i - 1) * half),
			  0);
		EXPECT_EQ(rpcrdma_lists_add_segment(&lists, i, half, 0), 0);
	}
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 3, 1, 0), -1);
	EXPECT_EQ(rpcrdma_lists_add_write(&lists), 0);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 4, half, 0), 0);
	EXPECT_EQ(rpcrdma_lists_add_write(&lists), 0);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 5, half + 1, 0), -1);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 5, half / 2, 0), 0);
	EXPECT_EQ(rpcrdma_lists_add_reply(&lists), 0);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 6, half / 2, 0), 0);
	EXPECT_EQ(rpcrdma_lists_add_segment(&lists, 7, 1, 0), -1);

	const u32 n = rpcrdma_encode_header(&client->conn, buf.data(), 4096,
					    XID, RDMA2_MSG, 0, &lists);

	ASSERT_GT(n, 0u);
	buf.resize(n);
	message m{ buf };

	m.rpc(XID, CALL, 16).set(8, 100).set(20, 1);
	ASSERT_EQ(server->receive(m), RPCRDMA_RX_CALL);
	EXPECT_TRUE(same_lists(server->rx.lists, lists));
}

/*
 * A single chunk of one segment is decoded as it would be next to another
 * chunk. Each word that ends a list is checked.
 */
TEST(Lists, OneChunkAlone)
{
	const auto build = [](bool read, const rpcrdma_segment &seg,
			      bool second) {
		message m = call_prefix().word(0);

		if (read)
			m.read_segment(12, seg.handle, seg.length, seg.offset)
				.word(0)
				.word(0);
		else
			m.word(0)
				.word(1)
				.word(1)
				.segment(seg.handle, seg.length, seg.offset)
				.word(0);
		m.word(second);
		if (second)
			m.word(1).segment(3, 10, 0);
		return m.rpc(XID, CALL, 40);
	};
	const u32 lengths[] = { 0, 1, 4096, 1 << 20, (1 << 20) + 1, ~0u };

	for (const bool read : { false, true }) {
		for (const u32 length : lengths) {
			const rpcrdma_segment seg = { 0xffffffff, length,
						      0x123456789abcdef0 };
			decoded one = decode_call(build(read, seg, false));
			decoded two = decode_call(build(read, seg, true));

			EXPECT_EQ(one.verdict, two.verdict);
			EXPECT_EQ(one.error, two.error);
			EXPECT_EQ(!one.error, length <= 1 << 20);
			if (one.error)
				continue;
			EXPECT_EQ(one.rx.lists.nr_reads, read);
			EXPECT_EQ(one.rx.lists.nr_writes, !read);
			EXPECT_EQ(one.rx.lists.nr_segs, 1);
			EXPECT_FALSE(one.rx.lists.has_reply);
			EXPECT_EQ(one.rx.total_length, 40u);
			two.rx.lists.has_reply = 0;
			two.rx.lists.nr_segs = 1;
			EXPECT_TRUE(same_lists(one.rx.lists, two.rx.lists));
		}

		const message whole = build(read, { 1, 2, 3 }, false);
		const u32 first = whole.size() - 40 - 36;

		for (u32 at = first; at < first + 36; at += 4) {
			const u32 word = (at - first) / 4;
			const bool segment = read ? word >= 2 && word < 6 :
						    word >= 3 && word < 7;
			message bad = whole;

			/*
			 * Make a boolean or a count invalid, or set a Position.
			 */
			if (segment)
				continue;
			EXPECT_EQ(decode_call(bad.set(at, 0x80000001u)).error,
				  +RDMA2_ERR_BAD_XDR)
				<< read << " " << word;
		}
		for (u32 n = first; n < whole.size() - 40; n++) {
			message cut = whole;

			EXPECT_EQ(decode_call(cut.truncate(n)).error,
				  +RDMA2_ERR_BAD_XDR)
				<< n;
		}
	}
}

/*
 * A Call that exceeds a limit: the resulting error, and the number it reports
 */
struct limit_case {
	const char *name;
	u32 reads, segs_per_read, writes, segs_per_write, reply_segs;
	u32 error, arg;
};

const limit_case limit_cases[] = {
	{ "reads_ok", 16, 1, 0, 0, 0, 0, 0 },
	{ "reads", 17, 1, 0, 0, 0, RDMA2_ERR_READ_CHUNKS, 16 },
	{ "writes_ok", 0, 0, 16, 1, 0, 0, 0 },
	{ "writes", 0, 0, 17, 1, 0, RDMA2_ERR_WRITE_CHUNKS, 16 },
	{ "writes_empty", 0, 0, 17, 0, 0, RDMA2_ERR_WRITE_CHUNKS, 16 },
	{ "read_segs_ok", 1, 64, 0, 0, 0, 0, 0 },
	{ "read_segs", 1, 65, 0, 0, 0, RDMA2_ERR_SEGMENTS, 64 },
	{ "write_segs_ok", 0, 0, 1, 64, 0, 0, 0 },
	{ "write_segs", 0, 0, 1, 65, 0, RDMA2_ERR_SEGMENTS, 64 },
	{ "reply_segs_ok", 0, 0, 0, 0, 64, 0, 0 },
	{ "reply_segs", 0, 0, 0, 0, 65, RDMA2_ERR_SEGMENTS, 64 },
	{ "together_ok", 2, 10, 2, 10, 24, 0, 0 },
	{ "together", 2, 10, 2, 10, 25, RDMA2_ERR_SEGMENTS, 64 },
	{ "both", 17, 2, 17, 2, 40, RDMA2_ERR_READ_CHUNKS, 16 },
	{ "many", 3, 50, 5, 40, 70, RDMA2_ERR_SEGMENTS, 64 },
};

class Limits : public testing::TestWithParam<limit_case>
{
};

TEST_P(Limits, OfACall)
{
	const limit_case &c = GetParam();
	message m = call_prefix().word(0);
	u32 position = 8;

	for (u32 i = 0; i < c.reads; i++, position += 4) {
		for (u32 j = 0; j < c.segs_per_read; j++)
			m.read_segment(position, j, 0, j);
	}
	m.word(0);
	for (u32 i = 0; i < c.writes; i++) {
		m.word(1).word(c.segs_per_write);
		for (u32 j = 0; j < c.segs_per_write; j++)
			m.segment(j, 100, j);
	}
	m.word(0);
	if (c.reply_segs) {
		m.word(1).word(c.reply_segs);
		for (u32 j = 0; j < c.reply_segs; j++)
			m.segment(j, 100, j);
	} else {
		m.word(0);
	}

	/* The Call is well-formed: the limit is the reason for the ERROR. */
	message whole = m;
	const decoded d = decode_call(whole.rpc(XID, CALL, 200));

	EXPECT_EQ(d.error, c.error);
	EXPECT_EQ(d.arg, c.arg);
	EXPECT_EQ(d.verdict, c.error ? RPCRDMA_RX_CONSUMED : RPCRDMA_RX_CALL);

	/* If the Call is malformed as well, BAD_XDR takes precedence. */
	if (c.error) {
		message cut = m;

		EXPECT_EQ(decode_call(cut.truncate(m.size() - 4)).error,
			  +RDMA2_ERR_BAD_XDR);
	}
}

INSTANTIATE_TEST_SUITE_P(All, Limits, testing::ValuesIn(limit_cases),
			 [](const auto &info) {
				 return std::string(info.param.name);
			 });

TEST(LimitsOfProps, SegmentsBeyondRssizAndTotals)
{
	struct {
		u32 length, segs, error;
	} const cases[] = {
		{ 1048576, 1, 0 },
		{ 1048577, 1, RDMA2_ERR_BAD_XDR },
		{ ~0u, 1, RDMA2_ERR_BAD_XDR },
		{ 1048576, 16, 0 },
		{ 1048576, 17, RDMA2_ERR_SYSTEM },
	};

	for (const auto &c : cases) {
		message writes =
			call_prefix().word(0).word(0).word(1).word(c.segs);
		message reads = call_prefix(RDMA2_NOMSG).word(0);

		for (u32 i = 0; i < c.segs; i++) {
			writes.segment(i, c.length, 0);
			reads.read_segment(0, i, c.length, 0);
		}
		writes.word(0).word(0).rpc(XID, CALL, 40);
		reads.word(0).word(0).word(0);
		EXPECT_EQ(decode_call(writes).error, c.error);
		EXPECT_EQ(decode_call(reads).error, c.error);
	}
}

TEST(LimitsOfProps, OwnRcsiz)
{
	for (u32 rcsiz : { 0u, 1u, 3u, 63u }) {
		auto cfg = usual_config(false);

		cfg.props.rcsiz = rcsiz;
		for (u32 segs = 0; segs <= rcsiz + 1; segs++) {
			auto e = open_end(cfg, usual_config(true));
			message m = call_prefix().word(0).word(0).word(0);

			m.word(1).word(segs);
			for (u32 i = 0; i < segs; i++)
				m.segment(i, 10, 0);

			const decoded d = decode(*e, m.rpc(XID, CALL, 40));

			EXPECT_EQ(d.error,
				  segs > rcsiz ? +RDMA2_ERR_SEGMENTS : 0u);
			EXPECT_EQ(d.arg, segs > rcsiz ? rcsiz : 0u);
		}
	}
}

/*
 * 7.3.1, 7.3.2: if no chunks are accepted at all, the reported number is zero.
 */
TEST(LimitsOfProps, NoChunksAccepted)
{
	const message read = call_prefix()
				     .word(0)
				     .read_segment(8, 1, 4)
				     .word(0)
				     .word(0)
				     .word(0)
				     .rpc(XID, CALL, 40);
	const message special = call_prefix(RDMA2_NOMSG)
					.word(0)
					.read_segment(0, 1, 100)
					.word(0)
					.word(0)
					.word(0);
	const message write = call_prefix()
				      .word(0)
				      .word(0)
				      .word(1)
				      .word(1)
				      .segment(1, 4, 0)
				      .word(0)
				      .word(0)
				      .rpc(XID, CALL, 40);
	const struct {
		bool client;
		u32 rcsiz, brs, reassembly; /* the peer's, in bytes */
		bool continues;
	} cases[] = {
		{ false, 0, RDMA2_RVRSDIR_GENL, 262144, true },
		{ false, 0, RDMA2_RVRSDIR_GENL, 0, false },
		{ true, 64, RDMA2_RVRSDIR_SIMPLE, 262144, false },
		{ true, 64, RDMA2_RVRSDIR_CONT, 262144, true },
		{ true, 64, RDMA2_RVRSDIR_CONT, 0, false },
		{ true, 0, RDMA2_RVRSDIR_GENL, 0, false },
	};

	for (const auto &c : cases) {
		auto own = usual_config(c.client);
		auto peer = usual_config(!c.client);

		own.props.rcsiz = c.rcsiz;
		own.props.brs = c.brs;
		peer.props.reassembly = c.reassembly;

		auto e = open_end(own, peer);

		for (const message &m : { read, special }) {
			const decoded d = decode(*e, m);

			EXPECT_EQ(d.verdict, RPCRDMA_RX_CONSUMED);
			EXPECT_EQ(d.error, +RDMA2_ERR_READ_CHUNKS);
			EXPECT_EQ(d.arg, 0u);
		}

		/* A large Reply that cannot be continued cannot be conveyed. */
		const decoded d = decode(*e, write);

		EXPECT_EQ(d.verdict, RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(d.error, c.continues ? +RDMA2_ERR_WRITE_CHUNKS :
						 +RDMA2_ERR_REPLY_RESOURCE);
		EXPECT_EQ(d.arg, 0u);
	}
}

/* The permitted places of Read chunks (4.3.5, WP 6) */
struct read_case {
	const char *name;
	bool special;
	u32 stream;
	struct {
		u32 position, length;
	} chunks[3];
	u32 nr_chunks;
	bool ok;
};

const read_case read_cases[] = {
	{ "none", false, 40, {}, 0, true },
	{ "middle", false, 40, { { 20, 100 } }, 1, true },
	{ "at_end", false, 40, { { 40, 100 } }, 1, true },
	{ "past_end", false, 40, { { 44, 100 } }, 1, false },
	{ "far_past_end", false, 40, { { ~3u, 4 } }, 1, false },
	{ "unaligned_1", false, 40, { { 21, 4 } }, 1, false },
	{ "unaligned_2", false, 40, { { 22, 4 } }, 1, false },
	{ "position_zero_in_msg", false, 40, { { 0, 4 } }, 1, false },
	{ "position_over_xid", false, 40, { { 4, 4 } }, 1, false },
	{ "first_possible", false, 40, { { 8, 4 } }, 1, true },
	{ "two", false, 40, { { 8, 4 }, { 16, 4 } }, 2, true },
	{ "adjacent", false, 40, { { 8, 8 }, { 16, 4 } }, 2, true },
	{ "adjacent_roundup", false, 40, { { 8, 5 }, { 16, 4 } }, 2, true },
	{ "overlapping", false, 40, { { 8, 9 }, { 16, 4 } }, 2, false },
	{ "overlapping_all", false, 40, { { 8, 999 }, { 12, 4 } }, 2, false },
	{ "out_of_order", false, 40, { { 16, 4 }, { 8, 4 } }, 2, false },
	{ "odd_stream", false, 41, { { 40, 100 } }, 1, true },
	{ "past_odd_end", false, 41, { { 44, 100 } }, 1, false },
	{ "second_at_end", false, 40, { { 8, 100 }, { 140, 4 } }, 2, true },
	{ "second_past_end", false, 40, { { 8, 100 }, { 144, 4 } }, 2, false },
	{ "second_counts_whole_stream",
	  false,
	  40,
	  { { 8, 100 }, { 120, 4 } },
	  2,
	  true },
	{ "empty_item", false, 40, { { 8, 0 }, { 12, 4 } }, 2, true },
	{ "huge", false, 40, { { 8, 1048576 }, { 1048584, 4 } }, 2, true },

	{ "call", true, 0, { { 0, 100 } }, 1, true },
	{ "call_none", true, 0, {}, 0, false },
	{ "call_no_zero", true, 0, { { 8, 100 } }, 1, false },
	{ "call_item", true, 0, { { 0, 100 }, { 40, 50 } }, 2, true },
	{ "call_item_at_end", true, 0, { { 0, 100 }, { 100, 50 } }, 2, true },
	{ "call_item_past", true, 0, { { 0, 100 }, { 104, 50 } }, 2, false },
	{ "call_item_over_xid", true, 0, { { 0, 100 }, { 4, 50 } }, 2, false },
	{ "call_two_items",
	  true,
	  0,
	  { { 0, 100 }, { 40, 50 }, { 92, 4 } },
	  3,
	  true },
	{ "call_items_overlap",
	  true,
	  0,
	  { { 0, 100 }, { 40, 53 }, { 92, 4 } },
	  3,
	  false },
	{ "call_zero_twice",
	  true,
	  0,
	  { { 0, 50 }, { 8, 1 }, { 0, 50 } },
	  3,
	  false },
};

class Positions : public testing::TestWithParam<read_case>
{
};

TEST_P(Positions, OfReadChunks)
{
	const read_case &c = GetParam();
	message m = call_prefix(c.special ? RDMA2_NOMSG : RDMA2_MSG).word(0);

	for (u32 i = 0; i < c.nr_chunks; i++)
		m.read_segment(c.chunks[i].position, i, c.chunks[i].length);
	m.word(0).word(0).word(0);
	if (!c.special)
		m.rpc(XID, CALL, c.stream);

	const decoded d = decode_call(m);

	EXPECT_EQ(d.verdict, c.ok ? RPCRDMA_RX_CALL : RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(d.error, c.ok ? 0u : +RDMA2_ERR_BAD_XDR);
}

INSTANTIATE_TEST_SUITE_P(All, Positions, testing::ValuesIn(read_cases),
			 [](const auto &info) {
				 return std::string(info.param.name);
			 });

TEST(ReadChunks, SegmentsOfOnePositionAreOneChunk)
{
	const decoded d = decode_call(call_prefix()
					      .word(0)
					      .read_segment(8, 1, 5)
					      .read_segment(8, 2, 6)
					      .read_segment(8, 3, 7)
					      .read_segment(28, 4, 8)
					      .word(0)
					      .word(0)
					      .word(0)
					      .rpc(XID, CALL, 40));

	ASSERT_EQ(d.verdict, RPCRDMA_RX_CALL);
	ASSERT_EQ(d.rx.lists.nr_reads, 2);
	EXPECT_EQ(d.rx.lists.reads[0].length, 18u);
	EXPECT_EQ(d.rx.lists.reads[0].count, 3);
	EXPECT_EQ(d.rx.lists.reads[1].first, 3);
	EXPECT_EQ(d.rx.lists.reads[1].length, 8u);
}

/* A Call with a Position Zero chunk too short to be an RPC message */
TEST(ReadChunks, PositionZeroLength)
{
	for (u32 length : { 0u, 4u, 7u, 8u, 9u }) {
		const decoded d =
			decode_call(call_prefix(RDMA2_NOMSG)
					    .word(0)
					    .read_segment(0, 1, length)
					    .word(0)
					    .word(0)
					    .word(0));

		EXPECT_EQ(d.error, length < 8 ? +RDMA2_ERR_BAD_XDR : 0u)
			<< length;
	}
}

TEST(Replies, ReadListMustBeEmpty)
{
	EXPECT_EQ(decode_reply(reply_prefix()
				       .word(0)
				       .read_segment(8, 1, 8)
				       .word(0)
				       .word(0)
				       .word(0)
				       .rpc(XID, REPLY, 40))
			  .verdict,
		  RPCRDMA_RX_BAD_REPLY);
}

TEST(Replies, SpecialNeedsAPayload)
{
	struct {
		u32 length;
		rpcrdma_verdict verdict;
	} const cases[] = {
		{ 0, RPCRDMA_RX_BAD_REPLY },
		{ 7, RPCRDMA_RX_BAD_REPLY },
		{ 8, RPCRDMA_RX_REPLY },
	};

	for (const auto &c : cases)
		EXPECT_EQ(decode_reply(reply_prefix(RDMA2_NOMSG)
					       .word(0)
					       .word(0)
					       .word(0)
					       .word(1)
					       .word(1)
					       .segment(1, c.length, 0))
				  .verdict,
			  c.verdict);
	EXPECT_EQ(decode_reply(reply_prefix(RDMA2_NOMSG).no_lists()).verdict,
		  RPCRDMA_RX_BAD_REPLY);
}

/*
 * A pulled Reply (WP 8) is accepted only if this end announced that it can
 * pull.
 */
TEST(Replies, ToBePulled)
{
	struct {
		const char *what;
		bool pull;
		message m;
		rpcrdma_verdict verdict;
	} const cases[] = {
		{ "not enabled", false,
		  message().word(9).read_segment(0, 9, 100).word(0).word(0).word(
			  0),
		  RPCRDMA_RX_BAD_REPLY },
		{ "plain", true,
		  message().word(9).read_segment(0, 9, 100).word(0).word(0).word(
			  0),
		  RPCRDMA_RX_REPLY },
		{ "two segments", true,
		  message()
			  .word(9)
			  .read_segment(0, 9, 100)
			  .read_segment(0, 10, 100)
			  .word(0)
			  .word(0)
			  .word(0),
		  RPCRDMA_RX_REPLY },
		{ "another chunk", true,
		  message()
			  .word(9)
			  .read_segment(0, 9, 100)
			  .read_segment(8, 10, 100)
			  .word(0)
			  .word(0)
			  .word(0),
		  RPCRDMA_RX_BAD_REPLY },
		{ "elsewhere", true,
		  message().word(9).read_segment(8, 9, 100).word(0).word(0).word(
			  0),
		  RPCRDMA_RX_BAD_REPLY },
		{ "too short", true,
		  message().word(9).read_segment(0, 9, 7).word(0).word(0).word(
			  0),
		  RPCRDMA_RX_BAD_REPLY },
		{ "segment too long", true,
		  message()
			  .word(9)
			  .read_segment(0, 9, 1048577)
			  .word(0)
			  .word(0)
			  .word(0),
		  RPCRDMA_RX_BAD_REPLY },
		{ "a used Reply chunk, too", true,
		  message()
			  .word(9)
			  .read_segment(0, 9, 100)
			  .word(0)
			  .word(0)
			  .word(1)
			  .word(1)
			  .segment(1, 100, 0),
		  RPCRDMA_RX_BAD_REPLY },
		{ "an unused Reply chunk, too", true,
		  message()
			  .word(9)
			  .read_segment(0, 9, 100)
			  .word(0)
			  .word(0)
			  .word(1)
			  .word(1)
			  .segment(1, 0, 0),
		  RPCRDMA_RX_REPLY },
		{ "a Write chunk, too", true,
		  message()
			  .word(9)
			  .read_segment(0, 9, 100)
			  .word(0)
			  .word(1)
			  .word(1)
			  .segment(1, 100, 0)
			  .word(0)
			  .word(0),
		  RPCRDMA_RX_REPLY },
	};

	for (const auto &c : cases) {
		auto cfg = usual_config(true);

		if (c.pull)
			cfg.props.reply_read = RDMA2_REPLY_READ_PULL;

		auto e = open_end(cfg, usual_config(false));
		octets data = reply_prefix(RDMA2_NOMSG).data();

		data.insert(data.end(), c.m.data().begin(), c.m.data().end());

		const decoded d = decode(*e, message{ data });

		EXPECT_EQ(d.verdict, c.verdict) << c.what;
		/* DR 4.1.2: a Requester that does not pull still sends DONE. */
		EXPECT_EQ(e->conn.counters.dones_sent,
			  d.verdict == RPCRDMA_RX_BAD_REPLY)
			<< c.what;
		EXPECT_EQ(e->inv_handle,
			  d.verdict == RPCRDMA_RX_BAD_REPLY ? 9u : 0u)
			<< c.what;
		if (d.verdict == RPCRDMA_RX_REPLY) {
			EXPECT_TRUE(rpcrdma_reply_needs_done(&d.rx));
			EXPECT_EQ(d.rx.format, RPCRDMA_SPECIAL);
			EXPECT_EQ(d.rx.lists.inv_handle, 9u);
			EXPECT_EQ(d.rx.total_length,
				  d.rx.lists.reads[0].length);
			EXPECT_EQ(e->conn.counters.read_chunks, 1u);
		}
	}
}

/*
 * DONE frees the memory of a pulled Reply. It is sent even if the Reply has
 * other faults.
 */
TEST(Replies, ToBePulledAndBad)
{
	const auto reads = [](u32 htype, u32 flags, u32 count, u32 octets) {
		message m = message().prefix(XID, htype,
					     RDMA2_F_RESPONSE | flags, 100, 1);

		m.word(9);
		for (u32 i = 0; i < count; i++)
			m.read_segment(0, i, octets);
		return m.word(0).word(0).word(0);
	};
	struct {
		const char *what;
		message m;
		u32 dones, handle;
	} const cases[] = {
		{ "too many segments",
		  reads(RDMA2_NOMSG, 0, RPCRDMA_MAX_SEGS + 1, 100), 1, 9 },
		{ "too many bytes",
		  reads(RDMA2_NOMSG, 0, 1, RPCRDMA_MAX_CHUNK_OCTETS + 1), 1,
		  9 },
		{ "too many bytes together", reads(RDMA2_NOMSG, 0, 17, 1048576),
		  1, 9 },
		{ "flags", reads(RDMA2_NOMSG, RDMA2_F_TPMORE, 1, 100), 1, 9 },
		{ "in parts", reads(RDMA2_NOMSG, RDMA2_F_MORE, 1, 100), 1, 9 },
		{ "the list does not end",
		  reads(RDMA2_NOMSG, 0, 1, 100).truncate(24 + 4 + 24), 1, 9 },
		{ "with a payload",
		  reads(RDMA2_MSG, 0, 1, 100).rpc(XID, REPLY, 40), 1, 0 },
		{ "nothing to read", reads(RDMA2_NOMSG, 0, 0, 0), 0, 0 },
		{ "no lists at all",
		  message().prefix(XID, RDMA2_NOMSG, RDMA2_F_RESPONSE, 100, 1),
		  0, 0 },
	};

	for (const auto &c : cases) {
		auto cfg = usual_config(true);

		cfg.props.reply_read = RDMA2_REPLY_READ_PULL;

		auto e = open_end(cfg, usual_config(false));

		EXPECT_EQ(e->receive(c.m), RPCRDMA_RX_BAD_REPLY) << c.what;
		EXPECT_EQ(e->rx.xid, XID) << c.what;
		EXPECT_EQ(e->conn.pend_count, c.dones) << c.what;
		if (!c.dones)
			continue;
		EXPECT_TRUE(e->events & RPCRDMA_EV_CONTROL) << c.what;

		const message done = e->control();

		ASSERT_EQ(done.size(), 24u) << c.what;
		EXPECT_EQ(done.get(0), XID) << c.what;
		EXPECT_EQ(done.get(12), +RDMA2_DONE) << c.what;
		EXPECT_EQ(e->inv_handle, c.handle) << c.what;
		EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN) << c.what;
	}
}

TEST(Replies, ToBePulledWithinOwnRcsiz)
{
	for (u32 segs = 1; segs < 5; segs++) {
		auto cfg = usual_config(true);
		message m = reply_prefix(RDMA2_NOMSG).word(0);

		cfg.props.reply_read = RDMA2_REPLY_READ_PULL;
		cfg.props.rcsiz = 3;

		auto e = open_end(cfg, usual_config(false));

		for (u32 i = 0; i < segs; i++)
			m.read_segment(0, i, 100);
		EXPECT_EQ(decode(*e, m.word(0).word(0).word(0)).verdict,
			  segs <= 3 ? RPCRDMA_RX_REPLY : RPCRDMA_RX_BAD_REPLY);
	}
}

TEST(Lists, InvHandleIsTheLargestSegments)
{
	rpcrdma_lists lists;

	rpcrdma_lists_init(&lists);
	lists.inv_handle = 5;
	rpcrdma_lists_set_inv_handle(&lists);
	EXPECT_EQ(lists.inv_handle, 0u);

	rpcrdma_lists_add_read(&lists, 64);
	rpcrdma_lists_add_segment(&lists, 1, 100, 0);
	rpcrdma_lists_add_segment(&lists, 2, 200, 0);
	rpcrdma_lists_add_write(&lists);
	rpcrdma_lists_add_segment(&lists, 3, 200, 0);
	rpcrdma_lists_set_inv_handle(&lists);
	EXPECT_EQ(lists.inv_handle, 2u);
	rpcrdma_lists_add_segment(&lists, 4, 201, 0);
	rpcrdma_lists_set_inv_handle(&lists);
	EXPECT_EQ(lists.inv_handle, 4u);
}

} // namespace
