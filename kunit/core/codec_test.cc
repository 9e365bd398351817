// SPDX-License-Identifier: GPL-2.0
/* Headers as bytes: chunk lists in both directions, and malformed ones */
#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr u32 XID = 0x12345678;

/* Decode @m on an end that has just opened, and return the result. */
struct decoded {
	rpcrdma_verdict verdict;
	rpcrdma_rx rx;
	u32 error; /* code of the ERROR sent in return, 0: none */
	u32 arg;
};

decoded decode(end &e, const message &m)
{
	decoded d = {};
	message answer;

	d.verdict = e.receive(m);
	d.rx = e.rx;
	answer = e.control();
	if (answer.size() >= 28 && answer.get(12) == RDMA2_ERROR) {
		d.error = answer.get(24);
		if (answer.size() > 28)
			d.arg = answer.get(28);
	}
	return d;
}

decoded decode_call(const message &m)
{
	return decode(*open_server(), m);
}

decoded decode_reply(const message &m)
{
	return decode(*open_client(), m);
}

message call_prefix(u32 htype = RDMA2_MSG)
{
	return message().prefix(XID, htype, 0);
}

message reply_prefix(u32 htype = RDMA2_MSG)
{
	return message().prefix(XID, htype, RDMA2_F_RESPONSE);
}

/* Encode lists with the engine. */
message encode(const end &e, u32 htype, u32 flags, const rpcrdma_lists &lists)
{
	octets buf(8192);

	buf.resize(rpcrdma_encode_header(&e.conn, buf.data(), 8192, XID, htype,
					 flags, &lists));
	EXPECT_EQ(rpcrdma_header_octets(&e.conn, &lists), buf.size());
	return message{ std::move(buf) };
}

TEST(Header, EmptyListsAreFourWords)
{
	auto e = open_client();
	octets buf(40);

	EXPECT_EQ(rpcrdma_header_octets(&e->conn, nullptr), 40u);
	ASSERT_EQ(rpcrdma_encode_header(&e->conn, buf.data(), 40, XID,
					RDMA2_MSG, 0, nullptr),
		  40u);
	EXPECT_EQ(buf,
		  message().prefix(XID, RDMA2_MSG, 0, 0, 0).no_lists().data());
	EXPECT_EQ(rpcrdma_encode_header(&e->conn, buf.data(), 39, XID,
					RDMA2_MSG, 0, nullptr),
		  0u);
}

TEST(Header, WordForWord)
{
	auto e = open_client();
	rpcrdma_lists lists;

	rpcrdma_lists_init(&lists);
	lists.inv_handle = 0xa1;
	ASSERT_EQ(rpcrdma_lists_add_read(&lists, 0), 0);
	ASSERT_EQ(rpcrdma_lists_add_segment(&lists, 1, 2, 0x300000004), 0);
	ASSERT_EQ(rpcrdma_lists_add_segment(&lists, 5, 6, 7), 0);
	ASSERT_EQ(rpcrdma_lists_add_read(&lists, 88), 0);
	ASSERT_EQ(rpcrdma_lists_add_segment(&lists, 8, 9, 10), 0);
	ASSERT_EQ(rpcrdma_lists_add_write(&lists), 0);
	ASSERT_EQ(rpcrdma_lists_add_write(&lists), 0);
	ASSERT_EQ(rpcrdma_lists_add_segment(&lists, 11, 12, 13), 0);
	ASSERT_EQ(rpcrdma_lists_add_reply(&lists), 0);
	ASSERT_EQ(rpcrdma_lists_add_segment(&lists, 14, 15, ~0ull), 0);

	const message expected = message()
					 .prefix(XID, RDMA2_NOMSG, 0, 0, 0)
					 .word(0xa1)
					 .read_segment(0, 1, 2, 0x300000004)
					 .read_segment(0, 5, 6, 7)
					 .read_segment(88, 8, 9, 10)
					 .word(0)
					 .word(1)
					 .word(0)
					 .word(1)
					 .word(1)
					 .segment(11, 12, 13)
					 .word(0)
					 .word(1)
					 .word(1)
					 .segment(14, 15, ~0ull);

	EXPECT_EQ(encode(*e, RDMA2_NOMSG, 0, lists).data(), expected.data());
}

TEST(Header, StampWritesCreditsOnly)
{
	auto e = open_client();
	octets buf(40), before;

	rpcrdma_encode_header(&e->conn, buf.data(), 40, XID, RDMA2_MSG, 0,
			      nullptr);
	before = buf;
	rpcrdma_conn_stamp(&e->conn, RPCRDMA_KIND_CALL, buf.data());

	message m{ buf };

	EXPECT_EQ(m.get(8), 32u);
	EXPECT_EQ(m.get(20), 1u);
	EXPECT_EQ(m.set(8, 0).set(20, 0).data(), before);
}

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
 * The bytes of all chunks of a kind are bounded together: no receiver accepts
 * more.
 */
TEST(Lists, WhatIsBuiltIsTaken)
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
 * A single chunk of one segment is decoded as it is next to another chunk, and
 * each word that ends a list is checked.
 */
TEST(Lists, OneChunkAlone)
{
	const auto build = [](bool read, const rpcrdma_segment &seg,
			      bool beside) {
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
		m.word(beside);
		if (beside)
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

			/* An invalid boolean or count; a Position */
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

/* Random lists are decoded as they were encoded, for Calls and for Replies. */
TEST(RoundTrip, Calls)
{
	generator random{ 1 };

	for (u32 round = 0; round < 3000; round++) {
		auto server = open_server();
		auto client = open_client();
		const bool special = random.chance(40);
		const u32 payload = 8 + random.below(2000);
		rpcrdma_lists lists;
		u64 passed = 0, reduced = 0;
		u32 reads = random.below(4);

		rpcrdma_lists_init(&lists);
		if (random.chance(50))
			lists.inv_handle = random.next();
		if (special)
			add_read(&lists, 0, 1 + random.below(3),
				 100 + random.below(60000));

		const u64 stream = special ? lists.reads[0].length : payload;

		passed = 8;
		for (u32 i = 0; i < reads; i++) {
			passed += 4 * random.below(8);
			if (passed > stream)
				break;
			/* At least one word follows another item. */
			if (rpcrdma_lists_add_read(&lists, passed + reduced))
				break;
			lists.nr_reads--;
			add_read(&lists, static_cast<u32>(passed + reduced),
				 1 + random.below(3), 1 + random.below(5000));
			reduced +=
				(lists.reads[lists.nr_reads - 1].length + 3) &
				~3ull;
			passed += 4;
		}
		for (u32 i = random.below(3); i; i--)
			add_write(&lists, random.below(4), random.below(90000));
		if (random.chance(30))
			add_reply(&lists, random.below(5), random.below(90000));

		message m = encode(*client, special ? RDMA2_NOMSG : RDMA2_MSG,
				   0, lists);

		m.set(8, 16);
		const u32 header = m.size();

		if (!special)
			m.rpc(XID, CALL, payload);

		const decoded d = decode(*server, m);

		ASSERT_EQ(d.verdict, RPCRDMA_RX_CALL) << round;
		ASSERT_TRUE(same_lists(d.rx.lists, lists)) << round;
		EXPECT_EQ(d.rx.format,
			  special ? RPCRDMA_SPECIAL : RPCRDMA_INLINE);
		EXPECT_EQ(d.rx.xid, XID);
		EXPECT_EQ(d.rx.total_length, stream);
		if (!special) {
			EXPECT_EQ(d.rx.payload_offset, header);
			EXPECT_EQ(d.rx.payload_length, payload);
		}
	}
}

TEST(RoundTrip, Replies)
{
	generator random{ 2 };

	for (u32 round = 0; round < 1000; round++) {
		auto server = open_server();
		auto client = open_client();
		const bool special = random.chance(50);
		rpcrdma_lists lists;

		rpcrdma_lists_init(&lists);
		for (u32 i = random.below(4); i; i--)
			add_write(&lists, random.below(6), random.below(90000));
		if (special)
			add_reply(&lists, 1 + random.below(5),
				  8 + random.below(90000));

		message m = encode(*server, special ? RDMA2_NOMSG : RDMA2_MSG,
				   RDMA2_F_RESPONSE, lists);

		m.set(8, 16);
		if (!special)
			m.rpc(XID, REPLY, 100);

		const decoded d = decode(*client, m);

		ASSERT_EQ(d.verdict, RPCRDMA_RX_REPLY) << round;
		ASSERT_TRUE(same_lists(d.rx.lists, lists)) << round;
	}
}

TEST(RoundTrip, SegmentExtremes)
{
	auto cfg = usual_config(false);

	cfg.props.rssiz = ~0u;
	for (u64 offset : { 0ull, 1ull, ~0ull, 1ull << 63, 0xffffffffull }) {
		for (u32 handle : { 0u, 1u, ~0u, 1u << 31 }) {
			auto e = open_end(cfg, usual_config(true));
			const decoded d = decode(
				*e, call_prefix()
					    .word(handle)
					    .read_segment(8, handle, 0, offset)
					    .word(0)
					    .word(1)
					    .word(1)
					    .segment(handle,
						     RPCRDMA_MAX_CHUNK_OCTETS,
						     offset)
					    .word(0)
					    .word(0)
					    .rpc(XID, CALL, 8));

			ASSERT_EQ(d.verdict, RPCRDMA_RX_CALL);
			EXPECT_EQ(d.rx.lists.inv_handle, handle);
			EXPECT_EQ(d.rx.lists.segs[0].handle, handle);
			EXPECT_EQ(d.rx.lists.segs[0].offset, offset);
			EXPECT_EQ(d.rx.lists.segs[0].length, 0u);
			EXPECT_EQ(d.rx.lists.segs[1].length,
				  +RPCRDMA_MAX_CHUNK_OCTETS);
		}
	}
}

/*
 * Limits that are exceeded: the error that results, and the number it reports
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

	/* Well-formed: the limit is the reason for the ERROR. */
	message whole = m;
	const decoded d = decode_call(whole.rpc(XID, CALL, 200));

	EXPECT_EQ(d.error, c.error);
	EXPECT_EQ(d.arg, c.arg);
	EXPECT_EQ(d.verdict, c.error ? RPCRDMA_RX_DONE : RPCRDMA_RX_CALL);

	/* Malformed as well: BAD_XDR has precedence. */
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
TEST(LimitsOfProps, NoChunksTaken)
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

			EXPECT_EQ(d.verdict, RPCRDMA_RX_DONE);
			EXPECT_EQ(d.error, +RDMA2_ERR_READ_CHUNKS);
			EXPECT_EQ(d.arg, 0u);
		}

		/* A large Reply that cannot be continued cannot be conveyed. */
		const decoded d = decode(*e, write);

		EXPECT_EQ(d.verdict, RPCRDMA_RX_DONE);
		EXPECT_EQ(d.error, c.continues ? +RDMA2_ERR_WRITE_CHUNKS :
						 +RDMA2_ERR_REPLY_RESOURCE);
		EXPECT_EQ(d.arg, 0u);
	}
}

/* Wrong counts, lists that never end, and invalid booleans */
TEST(Lies, Counts)
{
	for (u32 count : { 2u, 3u, 0x10000000u, 0x10000001u, 0x7fffffffu,
			   0x80000000u, ~0u, ~0u / 16 }) {
		const message write = call_prefix()
					      .word(0)
					      .word(0)
					      .word(1)
					      .word(count)
					      .segment(1, 2, 3);
		const message reply = call_prefix()
					      .word(0)
					      .word(0)
					      .word(0)
					      .word(1)
					      .word(count)
					      .segment(1, 2, 3);

		EXPECT_EQ(decode_call(write).error, +RDMA2_ERR_BAD_XDR);
		EXPECT_EQ(decode_call(reply).error, +RDMA2_ERR_BAD_XDR);
	}
}

TEST(Lies, Booleans)
{
	for (u32 value : { 2u, ~0u, 0x01000000u, 0x80000001u }) {
		for (u32 place : { 28u, 32u, 36u }) {
			message m =
				call_prefix().no_lists().rpc(XID, CALL, 200);

			EXPECT_EQ(decode_call(m.set(place, value)).error,
				  +RDMA2_ERR_BAD_XDR);
		}
	}
}

TEST(Lies, TruncatedAtEveryLength)
{
	const message call = call_prefix()
				     .word(1)
				     .read_segment(8, 1, 5)
				     .read_segment(16, 1, 5)
				     .word(0)
				     .word(1)
				     .word(2)
				     .segment(1, 10, 0)
				     .segment(2, 10, 0)
				     .word(0)
				     .word(1)
				     .word(1)
				     .segment(3, 10, 0)
				     .rpc(XID, CALL, 40);
	const u32 header = call.size() - 40;

	ASSERT_EQ(decode_call(call).verdict, RPCRDMA_RX_CALL);
	for (u32 n = 0; n < call.size(); n++) {
		auto e = open_server();
		message cut = call;
		const rpcrdma_verdict v = e->receive(cut.truncate(n));
		const message answer = e->control();

		if (n < 24) {
			/* There is no peer to answer. */
			EXPECT_EQ(v, RPCRDMA_RX_DONE) << n;
			EXPECT_EQ(answer.size(), 0u) << n;
			EXPECT_EQ(e->conn.counters.dropped, 1u);
		} else if (n < header + 8) {
			EXPECT_EQ(v, RPCRDMA_RX_DONE) << n;
			ASSERT_EQ(answer.size(), 28u) << n;
			EXPECT_EQ(answer.get(24), +RDMA2_ERR_BAD_XDR) << n;
		} else {
			/* The payload may end anywhere. */
			EXPECT_EQ(v, RPCRDMA_RX_CALL) << n;
		}
	}
}

TEST(Lies, TruncatedRepliesAreBadReplies)
{
	const message reply = reply_prefix()
				      .word(0)
				      .word(0)
				      .word(1)
				      .word(2)
				      .segment(1, 10, 0)
				      .segment(2, 10, 0)
				      .word(0)
				      .word(0)
				      .rpc(XID, REPLY, 40);
	const u32 header = reply.size() - 40;

	for (u32 n = 0; n <= reply.size(); n++) {
		auto e = open_client();
		message cut = reply;
		const rpcrdma_verdict v = e->receive(cut.truncate(n));

		EXPECT_EQ(e->control().size(), 0u) << n;
		EXPECT_EQ(v, n < 24	    ? RPCRDMA_RX_DONE :
			     n < header + 8 ? RPCRDMA_RX_BAD_REPLY :
					      RPCRDMA_RX_REPLY)
			<< n;
		EXPECT_EQ(e->rx.xid, n < 24 ? 0 : XID);
	}
}

TEST(Lies, EveryOctetChanged)
{
	const message call = call_prefix()
				     .word(1)
				     .read_segment(8, 1, 5)
				     .word(0)
				     .word(1)
				     .word(1)
				     .segment(1, 10, 0)
				     .word(0)
				     .word(1)
				     .word(1)
				     .segment(3, 10, 0)
				     .rpc(XID, CALL, 40);

	for (u32 i = 0; i < call.size(); i++) {
		for (int bit = 0; bit < 8; bit++) {
			octets data = call.data();

			data[i] ^= static_cast<uint8_t>(1 << bit);

			auto e = open_server();

			/*
			 * Any result but a crash is accepted; ASan and UBSan
			 * watch.
			 */
			e->receive(message{ data });
			e->control();
		}
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

	EXPECT_EQ(d.verdict, c.ok ? RPCRDMA_RX_CALL : RPCRDMA_RX_DONE);
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
 * The DONE frees the memory of a pulled Reply, whatever else is wrong with the
 * Reply.
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
		{ "too many octets",
		  reads(RDMA2_NOMSG, 0, 1, RPCRDMA_MAX_CHUNK_OCTETS + 1), 1,
		  9 },
		{ "too many octets together",
		  reads(RDMA2_NOMSG, 0, 17, 1048576), 1, 9 },
		{ "flags", reads(RDMA2_NOMSG, RDMA2_F_TPMORE, 1, 100), 1, 9 },
		{ "in parts", reads(RDMA2_NOMSG, RDMA2_F_MORE, 1, 100), 1, 9 },
		{ "the list does not end",
		  reads(RDMA2_NOMSG, 0, 1, 100).truncate(24 + 4 + 24), 1, 9 },
		{ "beside a payload",
		  reads(RDMA2_MSG, 0, 1, 100).rpc(XID, REPLY, 40), 1, 0 },
		{ "nothing to be read", reads(RDMA2_NOMSG, 0, 0, 0), 0, 0 },
		{ "not even lists",
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

TEST(Payload, MustAgreeWithTheHeader)
{
	struct {
		u32 xid, direction;
		bool ok;
	} const cases[] = {
		{ XID, CALL, true }, { XID, REPLY, false },
		{ XID, 2, false },   { XID + 1, CALL, false },
		{ 0, CALL, false },
	};

	for (const auto &c : cases) {
		const decoded call = decode_call(
			call_prefix().no_lists().rpc(c.xid, c.direction, 40));
		const decoded reply = decode_reply(
			reply_prefix().no_lists().rpc(c.xid, c.direction ^ 1,
						      40));
		octets first = message().rpc(c.xid, c.direction, 8).data();

		EXPECT_EQ(call.error, c.ok ? 0u : +RDMA2_ERR_BAD_XDR);
		EXPECT_EQ(reply.verdict,
			  c.ok ? RPCRDMA_RX_REPLY : RPCRDMA_RX_BAD_REPLY);
		EXPECT_EQ(rpcrdma_payload_ok(XID, false, first.data()), c.ok);
		first = message().rpc(c.xid, c.direction ^ 1, 8).data();
		EXPECT_EQ(rpcrdma_payload_ok(XID, true, first.data()), c.ok);
	}
}

TEST(Payload, NeedsEightOctets)
{
	for (u32 n = 0; n < 12; n++) {
		const decoded d =
			decode_call(call_prefix().no_lists().rpc(XID, CALL, n));

		EXPECT_EQ(d.error, n < 8 ? +RDMA2_ERR_BAD_XDR : 0u) << n;
	}
}

TEST(Flags, ReservedOnesAreIgnored)
{
	EXPECT_EQ(decode_call(message()
				      .prefix(XID, RDMA2_MSG, 0xfffffff8)
				      .no_lists()
				      .rpc(XID, CALL, 40))
			  .verdict,
		  RPCRDMA_RX_CALL);
	EXPECT_EQ(decode_reply(message()
				       .prefix(XID, RDMA2_MSG, 0xfffffff9)
				       .no_lists()
				       .rpc(XID, REPLY, 40))
			  .verdict,
		  RPCRDMA_RX_REPLY);
}

TEST(Counters, ByFormatAndChunks)
{
	auto e = open_server();

	e->receive(call_prefix().no_lists().rpc(XID, CALL, 40));
	e->receive(call_prefix(RDMA2_NOMSG)
			   .word(0)
			   .read_segment(0, 1, 100)
			   .read_segment(20, 1, 100)
			   .word(0)
			   .word(1)
			   .word(0)
			   .word(0)
			   .word(1)
			   .word(0));
	EXPECT_EQ(e->conn.counters.calls[RPCRDMA_INLINE], 1u);
	EXPECT_EQ(e->conn.counters.calls[RPCRDMA_SPECIAL], 1u);
	EXPECT_EQ(e->conn.counters.read_chunks, 2u);
	EXPECT_EQ(e->conn.counters.write_chunks, 1u);
	EXPECT_EQ(e->conn.counters.reply_chunks, 1u);

	rpcrdma_conn_count(&e->conn, RPCRDMA_KIND_REPLY, RPCRDMA_CONTINUED,
			   nullptr);
	rpcrdma_conn_count(&e->conn, RPCRDMA_KIND_CONTROL, RPCRDMA_CONTINUED,
			   nullptr);
	EXPECT_EQ(e->conn.counters.replies[RPCRDMA_CONTINUED], 1u);
}

/*
 * The format determines the header type, and the message determines the flags.
 */
TEST(Encode, CallsAndRepliesByFormat)
{
	struct {
		rpcrdma_kind kind;
		rpcrdma_format format;
		bool more;
		u32 htype, flags;
	} static constexpr cases[] = {
		{ RPCRDMA_KIND_CALL, RPCRDMA_INLINE, false, RDMA2_MSG, 0 },
		{ RPCRDMA_KIND_CALL, RPCRDMA_SPECIAL, false, RDMA2_NOMSG, 0 },
		{ RPCRDMA_KIND_CALL, RPCRDMA_CONTINUED, true, RDMA2_MSG,
		  RDMA2_F_MORE },
		{ RPCRDMA_KIND_CALL, RPCRDMA_CONTINUED, false, RDMA2_MSG, 0 },
		{ RPCRDMA_KIND_REPLY, RPCRDMA_INLINE, false, RDMA2_MSG,
		  RDMA2_F_RESPONSE },
		{ RPCRDMA_KIND_REPLY, RPCRDMA_SPECIAL, false, RDMA2_NOMSG,
		  RDMA2_F_RESPONSE },
		{ RPCRDMA_KIND_REPLY, RPCRDMA_CONTINUED, true, RDMA2_MSG,
		  RDMA2_F_RESPONSE | RDMA2_F_MORE },
	};
	auto e = open_client();

	for (const auto &c : cases) {
		octets ours(40), theirs(40);

		EXPECT_EQ(rpcrdma_encode_rpc(&e->conn, ours.data(), 40, c.kind,
					     c.format, XID, c.more, nullptr),
			  40u);
		EXPECT_EQ(rpcrdma_encode_header(&e->conn, theirs.data(), 40,
						XID, c.htype, c.flags, nullptr),
			  40u);
		EXPECT_EQ(ours, theirs);
	}
	octets buf(40);

	EXPECT_EQ(rpcrdma_encode_rpc(&e->conn, buf.data(), 39,
				     RPCRDMA_KIND_CALL, RPCRDMA_INLINE, XID,
				     false, nullptr),
		  0u);
}

/* The same bytes as on the slow path, in either version, and no more */
TEST(Encode, PlainHeaders)
{
	for (u32 version : { RPCRDMA_VERS_1, RPCRDMA_VERS_2 }) {
		auto e = open_client();

		e->conn.version = static_cast<u8>(version);
		for (auto kind : { RPCRDMA_KIND_CALL, RPCRDMA_KIND_REPLY }) {
			const u32 size = rpcrdma_plain_header(&e->conn);
			octets ours(64, 0xaa), theirs(64, 0xaa);

			rpcrdma_encode_plain(&e->conn, ours.data(), kind, XID);
			EXPECT_EQ(rpcrdma_encode_rpc(&e->conn, theirs.data(),
						     64, kind, RPCRDMA_INLINE,
						     XID, false, nullptr),
				  size);
			EXPECT_EQ(ours, theirs);
		}
	}
}

TEST(Lists, OfferTheLargestSegmentForInvalidation)
{
	rpcrdma_lists lists;

	rpcrdma_lists_init(&lists);
	lists.inv_handle = 5;
	rpcrdma_lists_offer(&lists);
	EXPECT_EQ(lists.inv_handle, 0u);

	rpcrdma_lists_add_read(&lists, 64);
	rpcrdma_lists_add_segment(&lists, 1, 100, 0);
	rpcrdma_lists_add_segment(&lists, 2, 200, 0);
	rpcrdma_lists_add_write(&lists);
	rpcrdma_lists_add_segment(&lists, 3, 200, 0);
	rpcrdma_lists_offer(&lists);
	EXPECT_EQ(lists.inv_handle, 2u);
	rpcrdma_lists_add_segment(&lists, 4, 201, 0);
	rpcrdma_lists_offer(&lists);
	EXPECT_EQ(lists.inv_handle, 4u);
}

TEST(Names, AreNeverNull)
{
	for (u32 i = 0; i < 200; i++) {
		EXPECT_NE(rpcrdma_error_name(i), nullptr);
	}
	EXPECT_STREQ(rpcrdma_error_name(RDMA2_ERR_SYSTEM), "SYSTEM");
	EXPECT_STREQ(rpcrdma_error_name(11), "unknown");
}

} // namespace
