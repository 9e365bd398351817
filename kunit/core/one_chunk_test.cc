// SPDX-License-Identifier: GPL-2.0
/*
 * The fast paths for messages with one chunk of one segment agree with the
 * general path.
 */
#include "xact.hh"
#include "planning.hh"

#include "../../net/sunrpc/xprtrdma/core/rpc/plan_call.hh"

using namespace engine_test;
using namespace engine_test::planning;

namespace
{

constexpr u32 X = 77;
/* A flag that receivers ignore, and that keeps a message off the fast path */
constexpr u32 RESERVED = 8;

bool same_plan(const rpcrdma_call_plan &a, const rpcrdma_call_plan &b)
{
	return a.format == b.format && a.read_item == b.read_item &&
	       a.write_chunk == b.write_chunk &&
	       a.reply_chunk == b.reply_chunk &&
	       a.inline_length == b.inline_length;
}

/* A message with a Read chunk, or a Write chunk, of one segment */
message one_chunk(u32 flags, bool read, u32 position, u32 length, u32 payload,
		  u32 direction, u32 xid = X)
{
	message m;

	m.prefix(X, RDMA2_MSG, flags, 900).word(5);
	if (read)
		m.read_segment(position, 5, length).word(0).word(0).word(0);
	else
		m.word(0).word(1).word(1).segment(5, length, 99).word(0).word(0);
	return m.rpc(xid, direction, payload);
}

/* Expect the same result for @m on the fast path of @fast and the other path of @general. */
void expect_same(std::unique_ptr<end> fast, std::unique_ptr<end> general,
		 const message &m, const std::string &what)
{
	message other = m;

	/* A Reply needs a Call that was sent. */
	fast->send(RPCRDMA_KIND_CALL, X);
	general->send(RPCRDMA_KIND_CALL, X);
	if (other.size() >= 20)
		other.set(16, other.get(16) | RESERVED);

	const rpcrdma_verdict verdict = fast->receive(m);

	ASSERT_EQ(verdict, general->receive(other)) << what;
	EXPECT_EQ(fast->conn.state, general->conn.state) << what;
	EXPECT_EQ(fast->conn.pend_count, general->conn.pend_count) << what;
	EXPECT_EQ(fast->conn.limit, general->conn.limit) << what;
	EXPECT_EQ(fast->conn.acked, general->conn.acked) << what;
	EXPECT_EQ(fast->conn.received, general->conn.received) << what;
	EXPECT_EQ(fast->conn.advertised, general->conn.advertised) << what;
	EXPECT_EQ(fast->conn.recvs_freed, general->conn.recvs_freed) << what;
	EXPECT_EQ(fast->conn.recvs_to_free, general->conn.recvs_to_free)
		<< what;
	EXPECT_EQ(fast->conn.calls_outstanding, general->conn.calls_outstanding)
		<< what;
	EXPECT_EQ(fast->events, general->events) << what;
	EXPECT_EQ(0, memcmp(&fast->conn.counters, &general->conn.counters,
			    sizeof(fast->conn.counters)))
		<< what;
	if (verdict != RPCRDMA_RX_CALL && verdict != RPCRDMA_RX_REPLY)
		return;
	EXPECT_EQ(fast->rx.xid, general->rx.xid) << what;
	EXPECT_EQ(fast->rx.format, general->rx.format) << what;
	EXPECT_EQ(fast->rx.payload_offset, general->rx.payload_offset) << what;
	EXPECT_EQ(fast->rx.payload_length, general->rx.payload_length) << what;
	EXPECT_EQ(fast->rx.total_length, general->rx.total_length) << what;
	EXPECT_TRUE(same_lists(fast->rx.lists, general->rx.lists)) << what;
}

void expect_same(bool client, const message &m, const std::string &what)
{
	expect_same(client ? open_client() : open_server(),
		    client ? open_client() : open_server(), m, what);
}

} // namespace

TEST(OneChunk, CallsArePlannedTheSame)
{
	auto e = requester();
	const u32 send = rpcrdma_plain_send_room(&e->conn);
	const u32 recv = rpcrdma_plain_recv_room(&e->conn);
	u32 usual = 0;

	for (u32 length : { 100u, send - 24, send - 23, send, send + 1,
			    send + 1000, 2 * send })
		for (u32 item :
		     { 0u, 1u, 4u, 1000u, send - 100, send, send + 950 })
			for (u32 position :
			     { 0u, 8u, 10u, 40u, length, length + 4 })
				for (u32 reply : { 100u, recv, recv + 1,
						   recv + 1000, 5 * recv })
					for (u32 result :
					     { 0u, 1u, 24u, 25u, 1000u, 1024u,
					       4 * recv + 24, 5 * recv }) {
						const bool is_result = reply >
								       recv;
						const rpcrdma_call_item one = {
							nullptr,
							length,
							reply,
							position,
							0,
							is_result ? result : item,
							is_result
						};
						rpcrdma_call call = simple_call(
							length, reply);
						rpcrdma_call_plan plan;
						planned p;

						call.item_position = position;
						call.item_length = item;
						call.result_max = result;
						if (!rpcrdma::plan_item(
							    &e->conn, one,
							    &plan))
							continue;
						usual++;
						p = plan_call(*e, call);
						ASSERT_EQ(p.ret, 0);
						ASSERT_TRUE(
							same_plan(p.plan, plan))
							<< length << " " << item
							<< " " << position
							<< " " << reply << " "
							<< result;
					}
	EXPECT_GT(usual, 50u);
}

TEST(OneChunk, TheListsOfACall)
{
	for (const bool read : { false, true }) {
		const rpcrdma_call_plan plan = {
			.format = RPCRDMA_INLINE,
			.read_item = read,
			.write_chunk = !read,
			.reply_chunk = 0,
			.inline_length = 12,
		};
		rpcrdma_chunk_range_iter at = {
			.plan = &plan,
			.call = { 12, 100, 0 },
			.reply = { 8, 200, 4 },
			.left = 0,
		};
		auto a = std::make_unique<rpcrdma_lists>();
		auto b = std::make_unique<rpcrdma_lists>();
		rpcrdma_chunk_range range;

		/* Nothing remains of earlier lists. */
		rpcrdma_lists_init(a.get());
		add_read(a.get(), 4, 2, 50);
		add_write(a.get(), 1, 50);
		rpcrdma_lists_add_reply(a.get());
		rpcrdma_lists_set_only(a.get(), read, 12, 5, 70, 6);
		a->inv_handle = 5;

		rpcrdma_lists_init(b.get());
		ASSERT_EQ(rpcrdma_chunk_range_next(&at, b.get(), &range), 1);
		EXPECT_EQ(range.written, !read);
		EXPECT_TRUE(range.data);
		ASSERT_EQ(rpcrdma_lists_add_segment(b.get(), 5, 70, 6), 0);
		ASSERT_EQ(rpcrdma_chunk_range_next(&at, b.get(), &range), 0);
		EXPECT_TRUE(same_lists(*a, *b));
	}
}

/* rpcrdma_plan_reply_one() has planned as @plan, or not at all. */
static void expect_same_reply(const end &e, const rpcrdma_lists &lists,
			      const rpcrdma_reply &reply,
			      const rpcrdma_reply_plan &plan)
{
	const bool is_one = plan.placed == 1 && plan.format == RPCRDMA_INLINE;
	auto chunk = std::make_unique<rpcrdma_lists>();
	u32 payload;

	ASSERT_EQ(rpcrdma_plan_reply_one(&e.conn, &lists, reply.length,
					 &reply.items[0], &payload),
		  is_one);
	if (!is_one)
		return;
	EXPECT_EQ(payload, plan.inline_length);
	EXPECT_EQ(rpcrdma_reply_invalidates(&e.conn, &lists), plan.inv_handle);
	/* The chunk of the Call, with the length of the item */
	rpcrdma_lists_init(chunk.get());
	rpcrdma_lists_set_only(chunk.get(), false, 0, lists.segs[0].handle,
			       reply.items[0].length, lists.segs[0].offset);
	EXPECT_TRUE(same_lists(*chunk, plan.lists));
}

TEST(OneChunk, RepliesThatNeedOtherRules)
{
	auto e = responder();
	const rpcrdma_item item = { 100, 500 };
	rpcrdma_lists lists;
	u32 payload;

	rpcrdma_lists_init(&lists);
	EXPECT_FALSE(
		rpcrdma_plan_reply_one(&e->conn, &lists, 600, &item, &payload));
	add_write(&lists, 1, 500);
	lists.inv_handle = lists.segs[0].handle;
	ASSERT_TRUE(
		rpcrdma_plan_reply_one(&e->conn, &lists, 600, &item, &payload));
	EXPECT_EQ(payload, 100u);
	/* The rest does not fit into one message. */
	EXPECT_FALSE(rpcrdma_plan_reply_one(
		&e->conn, &lists, 600 + rpcrdma_plain_send_room(&e->conn),
		&item, &payload));
	add_write(&lists, 1, 500);
	EXPECT_FALSE(
		rpcrdma_plan_reply_one(&e->conn, &lists, 600, &item, &payload));
	rpcrdma_lists_init(&lists);
	add_write(&lists, 2, 250);
	EXPECT_FALSE(
		rpcrdma_plan_reply_one(&e->conn, &lists, 600, &item, &payload));
}

TEST(OneChunk, TheItemOfAReply)
{
	auto e = responder();
	rpcrdma_lists lists;

	rpcrdma_lists_init(&lists);
	add_write(&lists, 1, 5000);
	for (u32 position : { 8u, 100u })
		for (u32 length : { 0u, 1u, 2u, 4u, 4999u, 5000u, 5001u })
			for (u32 after : { 0u, 4u, 50u }) {
				const u32 padded = (length + 3) & ~3u;
				const u32 all = position + padded + after;
				rpcrdma_reply reply = {};
				rpcrdma_msg_iter at = {};
				rpcrdma_msg_range item, range;
				u32 rest = 0;

				auto plan =
					plan_reply(*e, lists, all,
						   { { position, length } });

				reply.length = all;
				reply.nr_items = 1;
				reply.items[0] = { position, length };
				EXPECT_EQ(rpcrdma_item_placed(plan.get(), 0),
					  length <= 5000);
				expect_same_reply(*e, lists, reply, *plan);
				if (!rpcrdma_reply_only_item(&reply, plan.get(),
							     &item, &rest)) {
					EXPECT_TRUE(!length || length > 5000);
					continue;
				}
				ASSERT_TRUE(length && length <= 5000);
				ASSERT_TRUE(rpcrdma_reply_iter_next(
					&reply, plan.get(), &at, &range));
				EXPECT_EQ(range.origin, RPCRDMA_RANGE_INLINE);
				EXPECT_EQ(range.length, item.from);
				ASSERT_TRUE(rpcrdma_reply_iter_next(
					&reply, plan.get(), &at, &range));
				EXPECT_EQ(range.chunk, item.chunk);
				EXPECT_EQ(range.from, item.from);
				EXPECT_EQ(range.to, item.to);
				EXPECT_EQ(range.length, item.length);
				EXPECT_EQ(item.chunk->length, length);
				EXPECT_EQ(plan->lists.segs[0].length, length);
				EXPECT_EQ(plan->lists.segs[0].handle,
					  lists.segs[0].handle);
				ASSERT_EQ(rpcrdma_reply_iter_next(&reply,
								  plan.get(),
								  &at, &range),
					  after != 0);
				if (after) {
					EXPECT_EQ(range.from, rest);
				}
				EXPECT_EQ(plan->inline_length,
					  position + after);
			}
}

/* Return a claimed RPC with its Reply; @what selects the chunks of both. */
static std::unique_ptr<xacts::xact> claimed(u32 what, u32 returned, u32 payload,
					    u32 inv_handle)
{
	auto e = std::make_unique<xacts::xact>();

	if (what == 1)
		e->read(1000);
	else if (what)
		e->write(1000).in_write(returned);
	if (what == 3)
		rpcrdma_lists_add_segment(&e->x.lists, xacts::OTHER_HANDLE, 8,
					  0);
	if (what == 4)
		rpcrdma_lists_add_segment(&e->rx->lists, 3, 8, 0);
	if (what == 5)
		e->rx->lists.segs[0].handle++;
	if (what == 6)
		e->reply_chunk(160);
	if (what == 7)
		e->rx->lists = {};
	if (what == 8)
		e->x.lists.inv_handle++;
	if (what == 9)
		e->rx->format = RPCRDMA_CONTINUED;
	if (what == 10)
		e->x.lists.writes[0].count = e->x.lists.nr_segs = 0;
	e->payload(payload).invalidates(inv_handle).send().claim();
	e->rx->payload_length = payload;
	return e;
}

/* Expect that the RPCs @a and @b end in the same way, @b with the action @s. */
static void expect_same_end(const rpcrdma_xact &a, const rpcrdma_xact &b,
			    const rpcrdma_actions &s)
{
	EXPECT_EQ(s.status, static_cast<int>(a.parts.octets));
	EXPECT_EQ(a.state, b.state);
	EXPECT_EQ(a.xid, b.xid);
	EXPECT_EQ(a.placed.write_octets, b.placed.write_octets);
	EXPECT_EQ(a.placed.reply_octets, b.placed.reply_octets);
	EXPECT_EQ(a.placed.pull_octets, b.placed.pull_octets);
	EXPECT_EQ(a.placed.write_chunks, b.placed.write_chunks);
	EXPECT_EQ(a.parts.head, b.parts.head);
	EXPECT_EQ(a.parts.pages, b.parts.pages);
	EXPECT_EQ(a.parts.pad, b.parts.pad);
	EXPECT_EQ(a.parts.tail, b.parts.tail);
	EXPECT_EQ(a.parts.octets, b.parts.octets);
	EXPECT_EQ(a.parts.reduced, b.parts.reduced);
	EXPECT_EQ(a.parts.first, b.parts.first);
	EXPECT_EQ(a.parts.rest, b.parts.rest);
	EXPECT_EQ(a.parts.rest_at, b.parts.rest_at);
}

/*
 * Process a Reply by the fast path and by the general one, and compare them. Count it in
 * @usual if the fast path takes it.
 */
static void process_both(u32 what, u32 returned, u32 payload, u32 inv_handle,
			 u32 pages, u32 *usual)
{
	auto a = claimed(what, returned, payload, inv_handle);
	auto b = claimed(what, returned, payload, inv_handle);
	const u8 state = a->x.state;
	rpcrdma_actions s;

	a->a.layout.pages = pages;
	b->a.layout.pages = pages;
	s = rpcrdma_xact_reply(&b->x, &b->conn, &b->a);
	if (!rpcrdma_xact_one_chunk(&a->x, a->rx.get(), inv_handle,
				    a->a.layout.head, a->a.layout.pages)) {
		ASSERT_EQ(a->x.state, state);
		return;
	}
	++*usual;
	ASSERT_EQ(s.todo, xacts::PLACE | xacts::PUT | xacts::INVALIDATE)
		<< what << " " << returned << " " << payload;
	ASSERT_EQ(a->x.state, b->x.state);
	s = b->invalidated();
	rpcrdma_xact_placed(&a->x);
	ASSERT_EQ(s.todo, xacts::COMPLETE);
	expect_same_end(a->x, b->x, s);
}

TEST(OneChunk, RepliesAreProcessedTheSame)
{
	u32 usual = 0;

	for (u32 what = 0; what <= 10; what++)
		for (u32 returned : { 0u, 1u, 2u, 4u, 999u, 1000u, 1001u })
			for (u32 payload : { 8u, 99u, 100u, 101u })
				for (u32 pages : { 0u, 500u, 1000u }) {
					process_both(what, returned, payload,
						     xacts::HANDLE, pages,
						     &usual);
					process_both(what, returned, payload,
						     xacts::OTHER_HANDLE, pages,
						     &usual);
				}
	/* Payloads that fit into the head: of WRITEs, and of READs with a result */
	EXPECT_EQ(usual, 3u * 3 * (7 + 5));
	/* An RPC that has failed */
	auto e = claimed(2, 8, 80, xacts::HANDLE);

	rpcrdma_xact_error(&e->x, -xacts::EIO_);
	EXPECT_FALSE(rpcrdma_xact_one_chunk(&e->x, e->rx.get(), xacts::HANDLE,
					    e->a.layout.head,
					    e->a.layout.pages));
}

/* Expect the header that the general function writes for @lists. */
static void expect_same_header(const rpcrdma_conn *conn, rpcrdma_kind kind,
			       rpcrdma_format format, bool more,
			       const rpcrdma_lists &lists)
{
	const u32 octets = rpcrdma_header_octets(conn, &lists);
	const u32 flags = (kind == RPCRDMA_KIND_REPLY ? 1 : 0) | (more ? 2 : 0);

	for (u32 size : { octets - 1, octets, octets + 100 }) {
		std::vector<u8> fast(octets + 200, 0xa5), general = fast;
		const u32 length = rpcrdma_encode_rpc(
			conn, fast.data(), size, kind, format, X, more, &lists);

		ASSERT_EQ(length, size < octets ? 0 : octets);
		ASSERT_EQ(length,
			  rpcrdma_encode_header(conn, general.data(), size, X,
						format == RPCRDMA_SPECIAL ?
							RDMA2_NOMSG :
							RDMA2_MSG,
						flags, &lists));
		ASSERT_EQ(fast, general);
	}
}

/* Of version 1, too, and of lists that are not for the fast path */
TEST(OneChunk, HeadersAreEncodedTheSame)
{
	auto e = requester();

	for (u8 version : { RPCRDMA_VERS_2, RPCRDMA_VERS_1 })
		for (u32 chunks = 0; chunks < 16; chunks++) {
			auto lists = std::make_unique<rpcrdma_lists>();

			rpcrdma_lists_init(lists.get());
			lists->inv_handle = 31;
			if (chunks & 1)
				add_read(lists.get(), 20, 1, 100);
			if (chunks & 2)
				add_write(lists.get(), 1, 5000);
			if (chunks & 4)
				add_reply(lists.get(), 1, 300);
			if (chunks & 8 && chunks != 8)
				rpcrdma_lists_add_segment(lists.get(), 9, 8,
							  u64{ 1 } << 40);
			e->conn.version = version;
			for (rpcrdma_kind kind :
			     { RPCRDMA_KIND_CALL, RPCRDMA_KIND_REPLY })
				for (rpcrdma_format format :
				     { RPCRDMA_INLINE, RPCRDMA_SPECIAL })
					for (bool more : { false, true })
						expect_same_header(&e->conn,
								   kind, format,
								   more,
								   *lists);
		}
}

/* The handle of the only segment is chosen as among several. */
TEST(OneChunk, TheHandleToInvalidate)
{
	for (u32 segs = 0; segs <= 2; segs++)
		for (u32 length : { 0u, 1u, 4096u }) {
			auto a = std::make_unique<rpcrdma_lists>();

			rpcrdma_lists_init(a.get());
			rpcrdma_lists_add_write(a.get());
			for (u32 i = 0; i < segs; i++)
				rpcrdma_lists_add_segment(a.get(), 40 + i,
							  length + i, 0);
			auto b = std::make_unique<rpcrdma_lists>(*a);

			rpcrdma_lists_set_inv_handle(a.get());
			rpcrdma_lists_choose_inv_handle(b.get());
			EXPECT_EQ(a->inv_handle, b->inv_handle);
		}
}

/* A reserved flag is ignored, and makes the message take the general path. */
TEST(OneChunk, MessagesAreReceivedTheSame)
{
	const u32 limit = usual_props().rssiz;

	for (bool client : { false, true })
		for (u32 flags : { 0u, 1u, 2u })
			for (u32 direction : { CALL, REPLY })
				for (u32 length :
				     { 0u, 100u, 65536u, limit, ~0u })
					for (u32 payload : { 8u, 12u, 200u }) {
						expect_same(
							client,
							one_chunk(flags, false,
								  0, length,
								  payload,
								  direction),
							"Write chunk");
						for (u32 position :
						     { 0u, 4u, 8u, 12u, 14u,
						       16u, 200u, 204u })
							expect_same(
								client,
								one_chunk(
									flags,
									true,
									position,
									length,
									payload,
									direction),
								"Read chunk at " +
									std::to_string(
										position));
					}
	/*
	 * A Reply to another RPC, and words after the only chunk that are not
	 * zero
	 */
	expect_same(false, one_chunk(0, false, 0, 8, 40, CALL, X + 1), "xid");
	for (u32 at : { 28u, 32u, 36u, 56u, 60u }) {
		for (u32 value : { 0u, 1u, 2u }) {
			expect_same(false,
				    one_chunk(0, false, 0, 8, 40, CALL)
					    .set(at, value),
				    "word " + std::to_string(at));
			expect_same(false,
				    one_chunk(0, true, 8, 8, 40, CALL)
					    .set(at, value),
				    "word " + std::to_string(at));
		}
	}
}

/* The usual messages of READ and WRITE that have a chunk */
static std::vector<message> usual_messages()
{
	return { one_chunk(0, false, 0, 65536, 40, CALL),
		 one_chunk(0, true, 16, 65536, 40, CALL),
		 one_chunk(1, false, 0, 65536, 40, REPLY) };
}

/* Each word of the usual messages is changed, and each length is tried. */
TEST(OneChunk, MalformedMessagesAreReceivedTheSame)
{
	constexpr u32 HEADER = 72;

	for (bool client : { false, true })
		for (const message &m : usual_messages()) {
			for (u32 at = 0; at < HEADER; at += 4)
				for (u32 value :
				     { 0u, 1u, 2u, 3u, 8u, 1u << 24, 1u << 31,
				       m.get(at) + 1, m.get(at) ^ 1, ~0u })
					expect_same(client,
						    message{ m }.set(at, value),
						    "word " +
							    std::to_string(at));
			for (u32 size = 0; size < m.size(); size++)
				expect_same(client, message{ m }.truncate(size),
					    "size " + std::to_string(size));
		}
}

/*
 * Flags keep a message off the fast path: a part of a continued message has no chunks, and
 * the flag for a Reply has to agree with its direction.
 */
TEST(OneChunk, FlagsAreCompared)
{
	for (bool client : { false, true })
		for (const message &m : usual_messages())
			for (u32 flags : { RDMA2_F_RESPONSE, RDMA2_F_MORE,
					   RDMA2_F_TPMORE }) {
				auto e = client ? open_client() : open_server();

				e->send(RPCRDMA_KIND_CALL, X);

				const rpcrdma_verdict verdict = e->receive(
					message{ m }.set(16,
							 m.get(16) ^ flags));

				EXPECT_NE(verdict, RPCRDMA_RX_CALL);
				EXPECT_NE(verdict, RPCRDMA_RX_REPLY);
			}
}

/* Limits that this end has announced, and credits that the peer has used up */
TEST(OneChunk, OtherEndsReceiveTheSame)
{
	const auto changed = [](bool client, u32 what) {
		auto cfg = usual_config(client);

		if (what == 0)
			cfg.props.rcsiz = 0;
		if (what == 1)
			cfg.props.rssiz = 65535;
		if (what == 2)
			cfg.props.rssiz = 65536;
		if (what == 3)
			cfg.props.brs = RDMA2_RVRSDIR_NONE;

		auto e = open_end(cfg, usual_config(!client));

		if (what == 4)
			e->conn.no_reads = 1;
		if (what == 5)
			e->conn.advertised = e->conn.received;
		if (what == 6)
			e->conn.advertised = e->conn.received - 1;
		if (what == 7)
			e->conn.limit = e->conn.sent + 3;
		if (what == 8)
			e->conn.posted = e->conn.received + 2;
		if (what == 9)
			e->conn.rx_open = 1;
		return e;
	};

	for (bool client : { false, true })
		for (u32 what = 0; what < 10; what++)
			for (const message &m : usual_messages()) {
				expect_same(changed(client, what),
					    changed(client, what), m,
					    "end " + std::to_string(what));
				/* More than was sent, and a credit of zero */
				expect_same(changed(client, what),
					    changed(client, what),
					    message{ m }.set(20, 1000),
					    "received");
				expect_same(changed(client, what),
					    changed(client, what),
					    message{ m }.set(8, 0), "credit");
			}
}
