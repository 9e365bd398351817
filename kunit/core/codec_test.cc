// SPDX-License-Identifier: GPL-2.0
/* Headers as bytes, in both directions */
#include "codec.hh"

using namespace engine_test;
using namespace engine_test::codec;

namespace
{

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

/* Random lists are decoded to what was encoded, for Calls and for Replies. */
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
			/*
			 * If an item follows, at least one word is between the
			 * two.
			 */
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

TEST(Payload, NeedsEightBytes)
{
	for (u32 n = 0; n < 12; n++) {
		const decoded d =
			decode_call(call_prefix().no_lists().rpc(XID, CALL, n));

		EXPECT_EQ(d.error, n < 8 ? +RDMA2_ERR_BAD_XDR : 0u) << n;
	}
}

TEST(Flags, ReservedBitsAreIgnored)
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
 * Data in chunks counts in the direction in which it moves: Read chunks with their
 * message, Write chunks and Reply chunks with the Reply.
 */
TEST(Counters, Bytes)
{
	auto e = open_server();
	const rpcrdma_conn_counters &c = e->conn.counters;
	const message plain = call_prefix().no_lists().rpc(XID, CALL, 40);
	const message chunks = call_prefix(RDMA2_NOMSG)
				       .word(0)
				       .read_segment(0, 1, 100)
				       .read_segment(20, 1, 1000)
				       .word(0)
				       .word(1)
				       .word(0)
				       .word(0)
				       .word(1)
				       .word(0);
	rpcrdma_lists lists{};

	u64 before = c.bytes_received;
	e->receive(plain);
	EXPECT_EQ(c.bytes_received - before, plain.data().size());
	before = c.bytes_received;
	e->receive(chunks);
	EXPECT_EQ(c.bytes_received - before, chunks.data().size() + 1100);

	lists.nr_reads = 1;
	lists.nr_writes = 2;
	lists.has_reply = 1;
	lists.reads[0].length = 1;
	lists.writes[0].length = 20;
	lists.writes[1].length = 300;
	lists.reply.length = 4000;
	before = c.bytes_sent;
	rpcrdma_conn_count(&e->conn, RPCRDMA_KIND_CALL, RPCRDMA_INLINE, &lists);
	EXPECT_EQ(c.bytes_sent - before, 1u);
	before = c.bytes_sent;
	rpcrdma_conn_count(&e->conn, RPCRDMA_KIND_REPLY, RPCRDMA_INLINE,
			   &lists);
	EXPECT_EQ(c.bytes_sent - before, 4321u);
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

/*
 * The fast path encodes the same bytes as the slow path, in either version, and
 * no more.
 */
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

TEST(Names, AreNeverNull)
{
	for (u32 i = 0; i < 200; i++) {
		EXPECT_NE(rpcrdma_error_name(i), nullptr);
	}
	EXPECT_STREQ(rpcrdma_error_name(RDMA2_ERR_SYSTEM), "SYSTEM");
	EXPECT_STREQ(rpcrdma_error_name(11), "unknown");
}

} // namespace
