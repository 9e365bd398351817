// SPDX-License-Identifier: GPL-2.0
/* Version 1: more segments than RCSIZ, which only version 2 has */
#include "protocol_v1.hh"

using namespace engine_test;
using namespace engine_test::version1;

namespace
{

/* The maximum number of segments in a Call */
constexpr int MOST = RPCRDMA_MAX_SEGS + RPCRDMA_MAX_EXTRA_SEGS;
/* The maximum number of pages of 1 MiB and the data around it */
constexpr int PAGES = 259;

/*
 * Return a Call with these numbers of segments in its chunks; -1: no such
 * chunk.
 */
message offering(int reads, int write, int reply, u32 length)
{
	message m = fixed(X, MSG);
	u32 handle = 0;
	const auto array = [&](int count) {
		if (count < 0)
			return;
		m.word(1).word(count);
		for (; count; count--, handle++)
			m.segment(handle, length, u64{ handle } << 12);
	};

	for (; reads > 0; reads--, handle++)
		m.read_segment(40, handle, length, u64{ handle } << 12);
	m.word(0);
	array(write);
	m.word(0);
	array(reply);
	if (reply < 0)
		m.word(0);
	return m.rpc(X, CALL, 40);
}

void expect_segments(const rpcrdma_lists &lists, u32 count, u32 length)
{
	ASSERT_EQ(lists.nr_segs, count);
	for (u32 i = 0; i < count; i++) {
		const rpcrdma_segment *seg = rpcrdma_lists_seg(&lists, i);

		ASSERT_EQ(seg->handle, i);
		ASSERT_EQ(seg->length, length) << i;
		ASSERT_EQ(seg->offset, u64{ i } << 12);
	}
}

void expect_err_chunk(end &e, const message &m)
{
	EXPECT_EQ(e.receive(m), RPCRDMA_RX_CONSUMED);

	const message answer = e.control();

	ASSERT_EQ(answer.size(), 20u);
	EXPECT_EQ(answer.get(0), X);
	EXPECT_EQ(answer.get(16), +ERR_CHUNK);
}

/*
 * Check a Reply with @placed bytes against the received Call, as its Requester
 * does.
 */
int check_reply(const end &e, const rpcrdma_lists &call_lists,
		const rpcrdma_reply_plan &p, rpcrdma_placed *placed)
{
	auto rx = std::make_unique<rpcrdma_rx>();

	rx->format = p.format;
	rx->lists = p.lists;
	return rpcrdma_check_reply(&e.conn, &call_lists, rx.get(), placed);
}

/* Expect that the lengths of @chunk's segments add up to @octets, in pages. */
void expect_filled(const rpcrdma_lists &lists, const rpcrdma_chunk &chunk,
		   u32 count, u32 first_handle, u32 octets)
{
	ASSERT_EQ(chunk.count, count);
	EXPECT_EQ(chunk.length, octets);
	for (u32 i = 0; i < count; i++) {
		const rpcrdma_segment *seg =
			rpcrdma_lists_seg(&lists, chunk.first + i);

		ASSERT_EQ(seg->handle, first_handle + i);
		ASSERT_EQ(seg->length, std::min(octets, 4096u)) << i;
		octets -= seg->length;
	}
}

} // namespace

TEST(SegmentsV1, OneForEachPageOfAResult)
{
	auto e = server1(true, 16384);
	rpcrdma_reply reply = {};
	rpcrdma_placed placed;
	rpcrdma_reply_plan p;
	std::unique_ptr<rpcrdma_segment[]> more;
	octets buf(8192);

	ASSERT_EQ(e->receive(offering(0, PAGES, -1, 4096)), RPCRDMA_RX_CALL);
	expect_segments(e->rx.lists, PAGES, 4096);
	EXPECT_EQ(e->rx.lists.writes[0].count, PAGES);
	EXPECT_EQ(e->rx.lists.writes[0].length, PAGES * 4096u);

	const rpcrdma_lists call_lists = copy_of(e->rx.lists, more);

	reply.xid = X;
	reply.length = 120 + 1000000;
	reply.nr_items = 1;
	reply.items[0] = { 100, 1000000 };
	rpcrdma_plan_reply(&e->conn, &e->rx.lists, &reply, &p);
	ASSERT_EQ(p.error, 0u);
	EXPECT_EQ(p.format, RPCRDMA_INLINE);
	EXPECT_EQ(p.inline_length, 120u);
	expect_filled(p.lists, p.lists.writes[0], PAGES, 0, 1000000);
	ASSERT_EQ(check_reply(*e, call_lists, p, &placed), 0);
	EXPECT_EQ(placed.write_octets, 1000000u);

	/* The message as the Requester receives it */
	buf.resize(rpcrdma_encode_header(&e->conn, buf.data(), 8192, X,
					 RDMA2_MSG, RDMA2_F_RESPONSE,
					 &p.lists));
	ASSERT_EQ(buf.size(), 28u + 8 + 16 * PAGES);

	const message m{ std::move(buf) };

	EXPECT_EQ(m.get(24), u32{ PAGES });
	EXPECT_EQ(m.get(28 + 16 * 243), 243u);
	EXPECT_EQ(m.get(32 + 16 * 243), 4096u);
	EXPECT_EQ(m.get(32 + 16 * 244), 1000000u % 4096);
	EXPECT_EQ(m.get(28 + 16 * (PAGES - 1)), PAGES - 1u);
	EXPECT_EQ(m.get(32 + 16 * (PAGES - 1)), 0u);
	EXPECT_EQ(m.get(40 + 16 * (PAGES - 1)), (PAGES - 1u) << 12);
}

TEST(SegmentsV1, OneForEachPageOfAReply)
{
	auto e = server1(true, 16384);
	rpcrdma_reply reply = {};
	rpcrdma_placed placed;
	rpcrdma_reply_plan p;
	std::unique_ptr<rpcrdma_segment[]> more;

	ASSERT_EQ(e->receive(offering(0, -1, PAGES, 4096)), RPCRDMA_RX_CALL);
	expect_segments(e->rx.lists, PAGES, 4096);

	const rpcrdma_lists call_lists = copy_of(e->rx.lists, more);

	reply.xid = X;
	reply.length = PAGES * 4096 - 100;
	rpcrdma_plan_reply(&e->conn, &e->rx.lists, &reply, &p);
	ASSERT_EQ(p.error, 0u);
	EXPECT_EQ(p.format, RPCRDMA_SPECIAL);
	EXPECT_EQ(p.reply_length, reply.length);
	expect_filled(p.lists, p.lists.reply, PAGES, 0, reply.length);
	ASSERT_EQ(check_reply(*e, call_lists, p, &placed), 0);
	EXPECT_EQ(placed.reply_octets, reply.length);
}

/*
 * The Reply's segments are stored where the Call's were, and never after them.
 */
TEST(SegmentsV1, AllKindsOfChunks)
{
	const int counts[][3] = { { 70, 150, 40 },  { 1, 100, 100 },
				  { 100, 30, 100 }, { 10, 54, 200 },
				  { 200, 1, 1 },    { 64, 100, 100 } };

	for (const auto &c : counts) {
		auto e = server1(true, 16384);
		rpcrdma_reply reply = {};
		rpcrdma_placed placed;
		rpcrdma_reply_plan p;
		std::unique_ptr<rpcrdma_segment[]> more;
		const u32 item = c[1] * 4096 - 1000;

		ASSERT_EQ(e->receive(offering(c[0], c[1], c[2], 4096)),
			  RPCRDMA_RX_CALL);
		expect_segments(e->rx.lists, c[0] + c[1] + c[2], 4096);

		const rpcrdma_lists call_lists = copy_of(e->rx.lists, more);

		reply.xid = X;
		reply.length = 300 + item;
		reply.nr_items = 1;
		reply.items[0] = { 100, item };
		rpcrdma_plan_reply(&e->conn, &e->rx.lists, &reply, &p);
		ASSERT_EQ(p.error, 0u);
		EXPECT_EQ(p.format, RPCRDMA_SPECIAL);
		EXPECT_EQ(p.lists.nr_segs, c[1] + c[2]);
		expect_filled(p.lists, p.lists.writes[0], c[1], c[0], item);
		expect_filled(p.lists, p.lists.reply, c[2], c[0] + c[1], 300);
		ASSERT_EQ(check_reply(*e, call_lists, p, &placed), 0);
		EXPECT_EQ(placed.write_octets, item);
		EXPECT_EQ(placed.reply_octets, 300u);
	}
}

TEST(SegmentsV1, ReadsInReverseOrder)
{
	constexpr u32 CHUNKS = 10, COUNT = 25;
	auto e = server1();
	message m = fixed(X, MSG);

	for (u32 k = CHUNKS; k-- > 0;) {
		for (u32 i = 0; i < COUNT; i++) {
			const u32 handle = k * COUNT + i;

			m.read_segment(16 + 4 * COUNT * k, handle, 4,
				       u64{ handle } << 12);
		}
	}
	m.word(0).word(0).word(0).rpc(X, CALL, 40);
	ASSERT_EQ(e->receive(m), RPCRDMA_RX_CALL);
	expect_segments(e->rx.lists, CHUNKS * COUNT, 4);
	ASSERT_EQ(e->rx.lists.nr_reads, CHUNKS);
	for (u32 k = 0; k < CHUNKS; k++) {
		EXPECT_EQ(e->rx.lists.reads[k].position, 16 + 4 * COUNT * k);
		EXPECT_EQ(e->rx.lists.reads[k].first, COUNT * k);
		EXPECT_EQ(e->rx.lists.reads[k].count, COUNT);
		EXPECT_EQ(e->rx.lists.reads[k].length, 4 * COUNT);
	}
}

/* The maximum number of Positions, and more than that, in the worst order */
TEST(SegmentsV1, ManyPositions)
{
	for (int chunks :
	     { +RPCRDMA_MAX_READ_CHUNKS, RPCRDMA_MAX_READ_CHUNKS + 1, MOST }) {
		const int count = MOST / chunks;
		auto e = server1();
		message m = fixed(X, MSG);

		for (int i = 0; i < count * chunks; i++) {
			const int k = chunks - 1 - i % chunks;

			m.read_segment(
				16 + 4 * count * k, count * k + i / chunks, 4,
				static_cast<u64>(count * k + i / chunks) << 12);
		}
		m.word(0).word(0).word(0).rpc(X, CALL, 40);
		if (chunks > RPCRDMA_MAX_READ_CHUNKS) {
			EXPECT_EQ(e->receive(m), RPCRDMA_RX_CONSUMED) << chunks;
			continue;
		}
		ASSERT_EQ(e->receive(m), RPCRDMA_RX_CALL);
		expect_segments(e->rx.lists, count * chunks, 4);
		EXPECT_EQ(e->rx.lists.nr_reads, chunks);
	}
}

/* More bytes than a Responder pulls, in segments of permitted length */
TEST(SegmentsV1, ReadChunksOfTooManyBytes)
{
	constexpr u32 SEGS = RPCRDMA_MAX_CHUNK_OCTETS / 1048576;

	for (u32 more : { 0u, 4u }) {
		auto e = server1();
		message m = fixed(X, MSG);

		for (u32 i = 0; i < SEGS; i++)
			m.read_segment(16, i, 1048576, u64{ i } << 20);
		if (more)
			m.read_segment(16, SEGS, more, u64{ SEGS } << 20);
		m.word(0).word(0).word(0).rpc(X, CALL, 40);
		EXPECT_EQ(e->receive(m),
			  more ? RPCRDMA_RX_CONSUMED : RPCRDMA_RX_CALL);
		if (more)
			EXPECT_EQ(e->control().get(16), +ERR_CHUNK);
	}
}

/* A list in ascending order is accepted completely, or refused. */
TEST(SegmentsV1, OnePositionTooMany)
{
	for (u32 over : { 0u, 1u }) {
		const u32 chunks = RPCRDMA_MAX_READ_CHUNKS + over;
		auto e = server1();
		message m = fixed(X, MSG);

		for (u32 i = 0; i < chunks; i++)
			m.read_segment(16 + 4 * i, i, 4, u64{ i } << 12);
		m.word(0).word(0).word(0).rpc(X, CALL, 400);
		if (!over) {
			ASSERT_EQ(e->receive(m), RPCRDMA_RX_CALL);
			EXPECT_EQ(e->rx.lists.nr_reads, chunks);
			continue;
		}
		EXPECT_EQ(e->receive(m), RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(e->control().get(16), +ERR_CHUNK);
	}
}

/* Without outbound Reads a server refuses Read chunks. */
TEST(SegmentsV1, NoReadsNegotiated)
{
	for (u32 outbound : { 0u, 1u }) {
		const rpcrdma_verdict expected = outbound ? RPCRDMA_RX_CALL :
							    RPCRDMA_RX_CONSUMED;
		const message calls[] = {
			fixed(X, MSG)
				.read_segment(16, 1, 4)
				.word(0)
				.word(0)
				.word(0)
				.rpc(X, CALL, 40),
			fixed(X, NOMSG)
				.read_segment(0, 1, 100)
				.word(0)
				.word(0)
				.word(0),
		};

		for (const message &call : calls) {
			auto e = server1();

			rpcrdma_conn_read_depth(&e->conn, outbound, 1);
			EXPECT_EQ(e->receive(call), expected);
			if (!outbound)
				EXPECT_EQ(e->control().get(16), +ERR_CHUNK);
			EXPECT_EQ(e->receive(inline_msg(X, CALL)),
				  RPCRDMA_RX_CALL);
		}
	}
}

/*
 * A peer chooses the order of the segments, but not the cost of decoding them.
 * While the lists are decoded, no other message of the connection is processed.
 * The worst order once took many times as long.
 */
TEST(SegmentsV1, ReverseOrderCostsNoMore)
{
	constexpr int CHUNKS = 8, COUNT = MOST / CHUNKS;
	u64 least[2] = { ~u64{ 0 }, ~u64{ 0 } };
	auto e = server1();
	message lists[2];

	for (bool reverse : { false, true }) {
		message &m = lists[reverse] = fixed(X, MSG);

		for (int i = 0; i < MOST; i++) {
			const int k = i / COUNT;

			m.read_segment(
				16 + 4 * COUNT * (reverse ? CHUNKS - 1 - k : k),
				i, 4);
		}
		m.word(0).word(0).word(0).rpc(X, CALL, 40);
	}
	/* Limit the free space in the lists. */
	ASSERT_EQ(e->receive(lists[0]), RPCRDMA_RX_CALL);
	for (u32 i = 0; i < 1000; i++) {
		const message &m = lists[i & 1];
		const auto begin = std::chrono::steady_clock::now();
		const rpcrdma_verdict v = rpcrdma_conn_receive(
			&e->conn, m.data().data(), m.size(), &e->rx);
		const auto taken = std::chrono::steady_clock::now() - begin;

		e->post(1);
		ASSERT_EQ(v, RPCRDMA_RX_CALL);
		least[i & 1] =
			std::min(least[i & 1], static_cast<u64>(taken.count()));
	}
	EXPECT_LT(least[1], 4 * least[0]);
}

TEST(SegmentsV1, TheMaximumAndOneMore)
{
	const int most[][3] = { { MOST, -1, -1 },
				{ 0, MOST, -1 },
				{ 0, -1, MOST },
				{ 50, 100, MOST - 150 } };

	for (const auto &c : most) {
		for (int i = 0; i < 3; i++) {
			auto e = server1();
			int more[3] = { c[0], c[1], c[2] };

			EXPECT_EQ(e->receive(offering(c[0], c[1], c[2], 4)),
				  RPCRDMA_RX_CALL);
			expect_segments(e->rx.lists, MOST, 4);
			/* An empty chunk also needs space for one segment. */
			if (more[i] < 0)
				more[i] = 0;
			more[i]++;
			expect_err_chunk(*e, offering(more[0], more[1], more[2],
						      4));
			more[i] += 1000;
			expect_err_chunk(*e, offering(more[0], more[1], more[2],
						      4));
		}
	}
}

TEST(SegmentsV1, WithoutMemoryForMore)
{
	constexpr int FEW = RPCRDMA_MAX_SEGS;
	const int few[][3] = { { FEW, -1, -1 },
			       { 0, FEW, -1 },
			       { 0, -1, FEW },
			       { 20, 20, FEW - 40 } };

	for (const auto &c : few) {
		auto e = server1();

		e->may_have_more = false;
		EXPECT_EQ(e->receive(offering(c[0], c[1], c[2], 4)),
			  RPCRDMA_RX_CALL);
		expect_segments(e->rx.lists, FEW, 4);
		expect_err_chunk(*e, offering(c[0] + 1, c[1], c[2], 4));
		expect_err_chunk(*e, offering(c[0] + 100, c[1], c[2], 4));
	}
}

TEST(SegmentsV1, TheFirstMessage)
{
	end e{ config(false) };
	end only2{ config(false, 2, 2) };

	e.post(33);
	EXPECT_EQ(e.receive(offering(0, PAGES, -1, 4096)), RPCRDMA_RX_CALL);
	EXPECT_TRUE(e.events & RPCRDMA_EV_OPENED);
	expect_segments(e.rx.lists, PAGES, 4096);
	only2.post(33);
	EXPECT_EQ(only2.receive(offering(0, PAGES, -1, 4096)),
		  RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(only2.control().get(16), +ERR_VERS);
}

TEST(SegmentsV1, MemoryOnlyWhereItHelps)
{
	const auto wants = [](const end &e, const message &m) {
		return rpcrdma_wants_extra_segs(&e.conn, m.data().data(),
						m.size());
	};
	const message many = offering(0, 65, -1, 4);
	auto server = server1();
	auto v2 = open_server();

	EXPECT_TRUE(wants(*server, many));
	EXPECT_TRUE(wants(*server, offering(65, -1, -1, 4)));
	EXPECT_TRUE(wants(*server, offering(22, 22, 21, 4)));
	EXPECT_TRUE(wants(*server, message(many).set(12, NOMSG)));
	/* Not for lists that exceed the space for more segments */
	EXPECT_FALSE(wants(*server, offering(0, 64, -1, 4)));
	EXPECT_FALSE(wants(*server, inline_msg(X, CALL, 16, 4000)));
	/* Not for a message that is no RPC message */
	EXPECT_FALSE(wants(*server, message(many).set(12, MSGP)));
	EXPECT_FALSE(wants(*server, message(many).set(12, ERROR)));
	/* Not for a malformed message, which is refused anyway */
	EXPECT_FALSE(wants(*server, message(many).set(24, 2000)));
	for (u32 len = 0; len < 36 + 65 * 16; len++)
		ASSERT_FALSE(wants(*server, message(many).truncate(len)));
	EXPECT_FALSE(wants(
		*server,
		message(offering(100, -1, -1, 4)).truncate(16 + 80 * 24 + 8)));
	/* Not at a client */
	EXPECT_FALSE(wants(*client1(), many));
	EXPECT_FALSE(wants(*v2, many));
	EXPECT_FALSE(wants(*v2, message(many).set(4, 2)));
	EXPECT_FALSE(wants(*server, message(many).set(4, 2)));
}

/* A client never provides so many segments. */
TEST(SegmentsV1, ClientsAcceptNoMore)
{
	auto e = client1();

	EXPECT_EQ(e->receive(offering(0, 65, -1, 4)
				     .set(36 + 65 * 16 + 8 + 4, REPLY)),
		  RPCRDMA_RX_BAD_REPLY);
	EXPECT_EQ(e->rx.lists.extra_segs, nullptr);
}

TEST(SegmentsV1, HeaderTooLargeForTheReply)
{
	auto e = server1();
	rpcrdma_reply reply = {};
	rpcrdma_reply_plan p;

	/* One segment more than fits, then the maximum that fits */
	for (int count : { 154, 153 }) {
		const bool fits = 28 + 8 + 4 + 16 * (100 + count) <= 4096;

		ASSERT_EQ(e->receive(offering(0, 100, count, 4096)),
			  RPCRDMA_RX_CALL);
		reply.xid = X;
		reply.length = 200;
		reply.nr_items = 1;
		reply.items[0] = { 100, 40 };
		rpcrdma_plan_reply(&e->conn, &e->rx.lists, &reply, &p);
		EXPECT_EQ(p.error, fits ? 0u : +RDMA2_ERR_REPLY_RESOURCE);
		EXPECT_EQ(p.reply_length, fits ? 160u : 0u);
		EXPECT_EQ(p.lists.nr_segs, 100 + count);
		expect_filled(p.lists, p.lists.writes[0], 100, 0, 40);
		expect_filled(p.lists, p.lists.reply, count, 100,
			      fits ? 160 : 0);
	}
}
