// SPDX-License-Identifier: GPL-2.0
/* Pulled Replies at the Responder (WP 8, reliable-reply) */
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "sim.hh"

using namespace engine_test;

namespace
{

constexpr u32 X = 0x11, Y = 0x22;
constexpr u32 PULL = RDMA2_REPLY_READ_PULL;
constexpr u32 PROVIDE = RDMA2_REPLY_READ_PROVIDE;
constexpr int AGAIN = -11, NO_MEMORY = -12, MESSAGE_SIZE = -90;

rpcrdma_conn_config server_config()
{
	auto cfg = usual_config(false);

	cfg.props.reply_read = PROVIDE;
	cfg.expose_octets = 100000;
	cfg.done_ms = 1000;
	return cfg;
}

/* A client that pulls Replies and does not reassemble any */
rpcrdma_conn_config client_config()
{
	auto cfg = usual_config(true);

	cfg.props.reply_read = PULL;
	cfg.props.reassembly = 0;
	return cfg;
}

std::unique_ptr<end> provider(rpcrdma_conn_config peer = client_config())
{
	return open_end(server_config(), peer);
}

rpcrdma_lists empty_lists()
{
	rpcrdma_lists lists;

	rpcrdma_lists_init(&lists);
	return lists;
}

/* Register all memory of the Reply. */
int expose(const rpcrdma_conn *conn, const rpcrdma_lists *chunk,
	   rpcrdma_reply_plan *plan)
{
	const rpcrdma_mr_pool pool{};

	return rpcrdma_plan_expose(conn, &pool, 0, chunk, plan);
}

std::unique_ptr<rpcrdma_reply_plan>
plan_reply(const end &e, u32 length, const rpcrdma_lists &lists = empty_lists(),
	   std::vector<rpcrdma_item> items = {}, bool reverse = false)
{
	auto plan = std::make_unique<rpcrdma_reply_plan>();
	rpcrdma_reply reply = {};

	memset(plan.get(), 0xaa, sizeof(*plan));
	reply.xid = X;
	reply.length = length;
	reply.reverse = reverse;
	for (const rpcrdma_item &item : items)
		reply.items[reply.nr_items++] = item;
	rpcrdma_plan_reply(&e.conn, &lists, &reply, plan.get());
	return plan;
}

/* The result of registering a Reply, and whether the bounds permit it */
struct reply : rpcrdma_pull_entry {
	bool fits(end &e, u32 of_xid, u32 of_octets = 10000)
	{
		rpcrdma_reply_plan plan = {};
		int rc;

		plan.read_length = of_octets;
		rc = rpcrdma_pull_reserve(&e.conn, this, of_xid, &plan);
		if (rc) {
			EXPECT_LT(rc, 0);
			EXPECT_EQ(plan.error, +RDMA2_ERR_REPLY_RESOURCE);
			EXPECT_EQ(plan.arg[0], of_octets);
		} else {
			EXPECT_EQ(plan.error, 0u);
		}
		return !rc;
	}

	/* Mark the Reply as sent. */
	void sent(end &e, u32 of_xid, u32 of_handle = 0, u32 now = 0)
	{
		EXPECT_TRUE(fits(e, of_xid));
		rpcrdma_pull_sent(&e.conn, this, of_handle, now);
	}
};

message done(u32 xid)
{
	return message().prefix(xid, RDMA2_DONE, 0, 1000, 1);
}

rpcrdma_lists chunk_of(std::vector<u32> lengths)
{
	rpcrdma_lists lists = empty_lists();
	u32 handle = 0x1000;

	rpcrdma_lists_add_read(&lists, 0);
	for (u32 length : lengths)
		rpcrdma_lists_add_segment(&lists, handle++, length, 0x100);
	return lists;
}

/* ---- Permission ---- */

TEST(PulledReply, ReadDepthDecidesTheProperty)
{
	for (u32 outbound : { 0u, 1u, 16u }) {
		for (u32 inbound : { 0u, 1u, 16u }) {
			auto cfg = usual_config(true);

			cfg.props.reply_read = PULL | PROVIDE;

			end e{ cfg };

			rpcrdma_conn_read_depth(&e.conn, outbound, inbound);
			EXPECT_EQ(e.conn.cfg.props.reply_read,
				  (outbound ? PULL : 0) |
					  (inbound ? PROVIDE : 0));
			EXPECT_EQ(e.conn.cfg.props.brs,
				  outbound ? +RDMA2_RVRSDIR_GENL :
					     +RDMA2_RVRSDIR_CONT);
		}
	}

	auto cfg = usual_config(true);

	cfg.props.brs = RDMA2_RVRSDIR_SIMPLE;

	end e{ cfg };

	rpcrdma_conn_read_depth(&e.conn, 0, 0);
	EXPECT_EQ(e.conn.cfg.props.brs, +RDMA2_RVRSDIR_SIMPLE);
}

TEST(PulledReply, OnlyIfBothAnnouncedIt)
{
	for (u32 own = 0; own < 4; own++) {
		for (u32 peer = 0; peer < 4; peer++) {
			auto cfg = server_config(), other = client_config();

			cfg.props.reply_read = own;
			other.props.reply_read = peer;

			auto e = open_end(cfg, other);
			const auto plan = plan_reply(*e, 50000);

			if (own & PROVIDE && peer & PULL) {
				EXPECT_EQ(plan->error, 0u);
				EXPECT_EQ(plan->format, RPCRDMA_SPECIAL);
				EXPECT_EQ(plan->read_length, 50000u);
				EXPECT_EQ(plan->inline_length, 0u);
				EXPECT_EQ(plan->reply_length, 0u);
			} else {
				EXPECT_EQ(plan->error,
					  +RDMA2_ERR_REPLY_RESOURCE);
				EXPECT_EQ(plan->arg[0], 50000u);
			}
		}
	}
}

TEST(PulledReply, NotToAPeerWithoutChunks)
{
	auto peer = client_config();

	peer.props.rcsiz = 0;
	auto e = provider(peer);

	EXPECT_EQ(plan_reply(*e, 50000)->error, +RDMA2_ERR_REPLY_RESOURCE);
}

TEST(PulledReply, ReverseDirectionByItsLevel)
{
	for (u32 brs = 0; brs <= RDMA2_RVRSDIR_GENL; brs++) {
		auto own = client_config(), peer = server_config();

		own.props.reply_read = PROVIDE;
		own.props.brs = brs;
		peer.props.reply_read = PULL;
		peer.props.reassembly = 0;

		auto e = open_end(own, peer);
		const auto plan =
			plan_reply(*e, 50000, empty_lists(), {}, true);

		EXPECT_EQ(plan->error, brs == RDMA2_RVRSDIR_GENL ?
					       0 :
					       +RDMA2_ERR_REPLY_RESOURCE);
	}
}

/*
 * The order of the methods: inline, Reply chunk, continued, Read chunk, error
 * (WP 6)
 */
TEST(PulledReply, IsTheLastMethod)
{
	auto peer = client_config();

	peer.props.reassembly = 20000;
	auto e = provider(peer);
	rpcrdma_lists lists = empty_lists();

	add_reply(&lists, 2, 15000);
	struct {
		u32 length;
		bool chunk;
		u8 format;
		u32 reply_length, read_length;
	} const cases[] = {
		{ 4000, true, RPCRDMA_INLINE, 0, 0 },
		{ 5000, true, RPCRDMA_SPECIAL, 5000, 0 },
		{ 30000, true, RPCRDMA_SPECIAL, 30000, 0 },
		{ 30004, true, RPCRDMA_SPECIAL, 0, 30004 },
		{ 4000, false, RPCRDMA_INLINE, 0, 0 },
		{ 20000, false, RPCRDMA_CONTINUED, 0, 0 },
		{ 20004, false, RPCRDMA_SPECIAL, 0, 20004 },
	};

	for (const auto &c : cases) {
		const auto plan = plan_reply(*e, c.length,
					     c.chunk ? lists : empty_lists());

		EXPECT_EQ(plan->error, 0u) << c.length;
		EXPECT_EQ(plan->format, c.format) << c.length;
		EXPECT_EQ(plan->reply_length, c.reply_length) << c.length;
		EXPECT_EQ(plan->read_length, c.read_length) << c.length;
		/* An unused Reply chunk is returned absent. */
		EXPECT_EQ(plan->lists.has_reply, c.reply_length != 0);
	}
	EXPECT_EQ(plan_reply(*e, RPCRDMA_MAX_CHUNK_OCTETS)->error, 0u);
	EXPECT_EQ(plan_reply(*e, RPCRDMA_MAX_CHUNK_OCTETS + 4)->error,
		  +RDMA2_ERR_REPLY_RESOURCE);
}

/* ---- The chunk ---- */

TEST(PulledReply, ChunkPrecedesWriteChunks)
{
	auto server = provider();
	auto client = open_end(client_config(), server_config());
	rpcrdma_lists lists = empty_lists();
	octets buf(4096);

	add_write(&lists, 3, 40000);
	add_write(&lists, 2, 100);

	auto plan = plan_reply(*server, 200000, lists,
			       { { 100, 100000 }, { 100100, 101 } });

	ASSERT_EQ(plan->error, 0u);
	EXPECT_EQ(plan->nr_items, 2);
	EXPECT_EQ(plan->read_length, 200000u - 100000 - 104);

	const u32 rest = plan->read_length;
	const rpcrdma_lists written = plan->lists;
	const auto chunk = chunk_of({ 100, rest - 300, 200 });

	ASSERT_EQ(expose(&server->conn, &chunk, plan.get()), 0);
	EXPECT_EQ(plan->lists.nr_reads, 1);
	EXPECT_EQ(plan->lists.reads[0].length, rest);
	/* The largest segment */
	EXPECT_EQ(plan->lists.inv_handle, 0x1001u);
	EXPECT_EQ(plan->lists.nr_writes, 2);
	EXPECT_EQ(plan->lists.nr_segs, written.nr_segs + 3);
	for (u32 i = 0; i < 2; i++) {
		EXPECT_EQ(plan->lists.writes[i].length,
			  written.writes[i].length);
		EXPECT_EQ(plan->lists.writes[i].first,
			  written.writes[i].first + 3);
	}

	/* The encoded chunk is the planned one. */
	const u32 n = rpcrdma_encode_header(&server->conn, buf.data(), 4096, X,
					    RDMA2_NOMSG, RDMA2_F_RESPONSE,
					    &plan->lists);

	ASSERT_GT(n, 0u);
	buf.resize(n);
	message m{ buf };

	m.set(8, 1000);
	m.set(20, 1);
	ASSERT_EQ(client->receive(m), RPCRDMA_RX_REPLY);
	EXPECT_TRUE(same_lists(client->rx.lists, plan->lists));
	EXPECT_TRUE(rpcrdma_reply_needs_done(&client->rx));
	EXPECT_EQ(client->conn.counters.replies_to_pull, 1u);

	rpcrdma_placed placed;

	EXPECT_EQ(rpcrdma_check_reply(&client->conn, &lists, &client->rx,
				      &placed),
		  0);
	EXPECT_EQ(placed.pull_octets, rest);
	EXPECT_EQ(placed.write_octets, 100101u);
	EXPECT_EQ(placed.reply_octets, 0u);
}

TEST(PulledReply, NoHandleWithoutRemoteInvalidation)
{
	auto cfg = server_config();

	cfg.inv_ok = 0;

	auto e = open_end(cfg, client_config());
	auto plan = plan_reply(*e, 50000);
	const auto chunk = chunk_of({ 50000 });

	ASSERT_EQ(expose(&e->conn, &chunk, plan.get()), 0);
	EXPECT_EQ(plan->lists.inv_handle, 0u);
}

TEST(PulledReply, ChunkWithinThePeersLimits)
{
	for (u32 segs = 1; segs <= RPCRDMA_MAX_SEGS; segs++) {
		auto peer = client_config();

		peer.props.rcsiz = 50;
		peer.props.rbsiz = 1024;
		auto e = provider(peer);
		auto plan = plan_reply(*e, 1000 * segs + 4000);
		std::vector<u32> lengths(segs, 1000);

		lengths[0] += 4000;
		const auto chunk = chunk_of(lengths);
		const bool fits = 40 + 24 * segs <= 1024 && segs <= 50;

		EXPECT_EQ(expose(&e->conn, &chunk, plan.get()),
			  fits ? 0 : MESSAGE_SIZE)
			<< segs;
		EXPECT_EQ(plan->error, fits ? 0 : +RDMA2_ERR_REPLY_RESOURCE);
	}

	auto peer = client_config();

	peer.props.rssiz = 20000;
	auto e = provider(peer);
	auto plan = plan_reply(*e, 40001);
	auto chunk = chunk_of({ 20000, 20001 });

	EXPECT_EQ(expose(&e->conn, &chunk, plan.get()), MESSAGE_SIZE);
	/* The memory differs from the plan. */
	plan = plan_reply(*e, 40001);
	chunk = chunk_of({ 20000, 20000 });
	EXPECT_EQ(expose(&e->conn, &chunk, plan.get()), MESSAGE_SIZE);
	/*
	 * If Write chunks are returned, the segments have to be encoded in
	 * addition.
	 */
	rpcrdma_lists lists = empty_lists();

	add_write(&lists, 40, 1000);
	peer.props.rssiz = 1048576;
	e = provider(peer);
	plan = plan_reply(*e, 60000, lists);
	chunk = chunk_of(std::vector<u32>(30, 2000));
	EXPECT_EQ(expose(&e->conn, &chunk, plan.get()), MESSAGE_SIZE);
}

/* The possible results of registering the memory */
/* A Reply waits only for MRs, and for a limited time. */
TEST(PulledReply, WaitsForMrsForALimitedTime)
{
	constexpr u32 BEGUN = 0xffffff00, LIMIT = RPCRDMA_EXPOSE_WAIT_MS;

	EXPECT_EQ(rpcrdma_expose_wait(0, BEGUN, BEGUN), 0u);
	EXPECT_EQ(rpcrdma_expose_wait(MESSAGE_SIZE, BEGUN, BEGUN), 0u);
	EXPECT_EQ(rpcrdma_expose_wait(AGAIN, BEGUN, BEGUN), LIMIT);
	EXPECT_EQ(rpcrdma_expose_wait(AGAIN, BEGUN, BEGUN + 400), LIMIT - 400);
	EXPECT_EQ(rpcrdma_expose_wait(AGAIN, BEGUN, BEGUN + LIMIT - 1), 1u);
	EXPECT_EQ(rpcrdma_expose_wait(AGAIN, BEGUN, BEGUN + LIMIT), 0u);
	EXPECT_EQ(rpcrdma_expose_wait(AGAIN, BEGUN, BEGUN + 2 * LIMIT), 0u);
}

TEST(PulledReply, TooFewMrs)
{
	auto e = provider();
	rpcrdma_mr_pool pool{};
	rpcrdma_lists part;

	rpcrdma_lists_init(&part);
	rpcrdma_lists_add_read(&part, 0);
	rpcrdma_lists_add_segment(&part, 0x1000, 20000, 0);
	pool.most = 4;
	pool.made = 3;
	for (u32 i = 0; i < 3; i++) {
		/*
		 * The three causes: MRs are being allocated; all are in use;
		 * one was just released.
		 */
		const int results[] = { AGAIN, MESSAGE_SIZE, AGAIN };
		auto plan = plan_reply(*e, 50000);

		pool.made = i ? 4 : 3;
		pool.free = i == 2;
		plan->error = 0;
		EXPECT_EQ(rpcrdma_plan_expose(&e->conn, &pool, AGAIN, &part,
					      plan.get()),
			  results[i])
			<< i;
		EXPECT_EQ(plan->error, i == 1 ? +RDMA2_ERR_REPLY_RESOURCE : 0u);
	}

	auto plan = plan_reply(*e, 50000);

	EXPECT_EQ(rpcrdma_plan_expose(&e->conn, &pool, NO_MEMORY, &part,
				      plan.get()),
		  NO_MEMORY);
	EXPECT_EQ(plan->error, 0u);
	/* More segments than a message may have */
	EXPECT_EQ(rpcrdma_plan_expose(&e->conn, &pool, MESSAGE_SIZE, &part,
				      plan.get()),
		  MESSAGE_SIZE);
	EXPECT_EQ(plan->error, +RDMA2_ERR_REPLY_RESOURCE);
}

/* ---- The table ---- */

bool done_ok(const end &e, u32 handle)
{
	return rpcrdma_may_invalidate(RPCRDMA_RX_PULL_COMPLETE, &e.rx, handle);
}

TEST(PulledReply, DoneReleasesIt)
{
	auto e = provider();
	reply x, y;

	x.sent(*e, X, 7);
	y.sent(*e, Y, 8);
	EXPECT_EQ(e->conn.exposed_octets, 20000u);
	EXPECT_EQ(e->receive(done(Y)), RPCRDMA_RX_PULL_COMPLETE);
	EXPECT_EQ(e->rx.exposed, &y);
	EXPECT_TRUE(done_ok(*e, 0));
	EXPECT_TRUE(done_ok(*e, 8));
	/* The handle of another Reply, or of no Reply */
	EXPECT_FALSE(done_ok(*e, 7));
	EXPECT_FALSE(done_ok(*e, 9));
	/* The bytes are counted until the peer cannot access them any more. */
	EXPECT_EQ(e->conn.exposed_octets, 20000u);
	rpcrdma_pull_cancel(&e->conn, &y);
	EXPECT_EQ(e->conn.exposed_octets, 10000u);

	EXPECT_EQ(e->receive(done(X)), RPCRDMA_RX_PULL_COMPLETE);
	EXPECT_EQ(e->rx.exposed, &x);
	rpcrdma_pull_cancel(&e->conn, &x);
	EXPECT_EQ(e->conn.exposed_octets, 0u);
	EXPECT_EQ(e->conn.counters.replies_exposed, 2u);
	EXPECT_EQ(e->conn.counters.dones_received, 2u);
	EXPECT_EQ(e->conn.counters.dropped, 0u);
}

TEST(PulledReply, WithoutAHandleNoneMayBeInvalidated)
{
	auto e = provider();
	reply x;

	x.sent(*e, X, 0);
	EXPECT_EQ(e->receive(done(X)), RPCRDMA_RX_PULL_COMPLETE);
	EXPECT_TRUE(done_ok(*e, 0));
	EXPECT_FALSE(done_ok(*e, 1));
}

/* A Call, a part, a credit grant or an ERROR may not invalidate. A Reply's
 * invalidation is checked by its RPC. */
TEST(PulledReply, OtherMessagesMayNotInvalidate)
{
	auto e = provider();
	reply x;

	x.sent(*e, X, 7);
	EXPECT_EQ(e->receive(done(X)), RPCRDMA_RX_PULL_COMPLETE);
	for (int i = RPCRDMA_RX_CONSUMED; i <= RPCRDMA_RX_CLOSE; i++) {
		const auto v = static_cast<rpcrdma_verdict>(i);
		const bool reply = v == RPCRDMA_RX_REPLY ||
				   v == RPCRDMA_RX_BAD_REPLY;

		EXPECT_TRUE(rpcrdma_may_invalidate(v, &e->rx, 0));
		EXPECT_EQ(rpcrdma_may_invalidate(v, &e->rx, 9), reply);
		EXPECT_EQ(rpcrdma_may_invalidate(v, &e->rx, 7),
			  reply || v == RPCRDMA_RX_PULL_COMPLETE);
	}
}

/* A DONE that is unknown, too early or repeated is dropped without an answer
 * (DR 4.1.3). */
TEST(PulledReply, InvalidDonesAreDropped)
{
	auto e = provider();
	reply x;

	EXPECT_EQ(e->receive(done(X)), RPCRDMA_RX_CONSUMED);
	ASSERT_TRUE(x.fits(*e, X));
	EXPECT_EQ(e->receive(done(X)), RPCRDMA_RX_CONSUMED);
	rpcrdma_pull_sent(&e->conn, &x, 7, 0);
	EXPECT_EQ(e->receive(done(Y)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->receive(done(X)), RPCRDMA_RX_PULL_COMPLETE);
	EXPECT_EQ(e->receive(done(X)), RPCRDMA_RX_CONSUMED);
	rpcrdma_pull_cancel(&e->conn, &x);
	EXPECT_EQ(e->receive(done(X)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->conn.counters.dropped, 5u);
	EXPECT_EQ(e->conn.counters.dones_received, 1u);
	EXPECT_EQ(e->conn.pend_count, 0);
	EXPECT_NE(e->conn.state, RPCRDMA_CONN_CLOSING);
}

TEST(PulledReply, ExposedMemoryIsBounded)
{
	auto e = provider();
	reply replies[RPCRDMA_MAX_EXPOSED], one;

	/* The bound of bytes: 100,000 */
	for (u32 i = 0; i < 4; i++)
		EXPECT_TRUE(replies[i].fits(*e, i, 25000));
	EXPECT_FALSE(one.fits(*e, 4, 4));
	/* They are released in any order. */
	for (u32 i : { 2, 0, 3, 1 })
		rpcrdma_pull_cancel(&e->conn, &replies[i]);
	EXPECT_FALSE(one.fits(*e, 4, 100001));
	EXPECT_FALSE(one.fits(*e, 4, ~0u));
	EXPECT_TRUE(one.fits(*e, 4, 100000));
	rpcrdma_pull_cancel(&e->conn, &one);
	EXPECT_EQ(e->conn.exposed_octets, 0u);
	EXPECT_EQ(e->conn.exposed, nullptr);

	/* The bound of their number */
	for (u32 i = 0; i < RPCRDMA_MAX_EXPOSED; i++)
		EXPECT_TRUE(replies[i].fits(*e, i, 8));
	EXPECT_FALSE(one.fits(*e, 1000, 8));
	rpcrdma_pull_cancel(&e->conn, &replies[17]);
	EXPECT_TRUE(one.fits(*e, 1000, 8));
	EXPECT_FALSE(replies[17].fits(*e, 17, 8));
}

/* One pulled Reply per XID, because DONE could not distinguish two. */
TEST(PulledReply, OneForEachXid)
{
	auto e = provider();
	reply first, second;

	ASSERT_TRUE(first.fits(*e, X));
	EXPECT_FALSE(second.fits(*e, X));
	rpcrdma_pull_sent(&e->conn, &first, 7, 0);
	EXPECT_FALSE(second.fits(*e, X));
	EXPECT_EQ(e->receive(done(X)), RPCRDMA_RX_PULL_COMPLETE);
	/*
	 * DONE for the first Reply has arrived, although its memory is still
	 * being invalidated.
	 */
	EXPECT_TRUE(second.fits(*e, X));
}

/* Return the overdue Reply, or NULL and *@wait. */
const rpcrdma_pull_entry *overdue(end &e, u32 now, u32 *wait)
{
	const rpcrdma_overdue found = rpcrdma_conn_overdue(&e.conn, now);

	*wait = found.wait;
	return found.exposure;
}

TEST(PulledReply, ReleasedAfterTheTimeLimit)
{
	for (u32 start : { 0u, 1u, 0x7fffffffu, 0xfffffc00u, ~0u }) {
		auto e = provider();
		u32 wait = 99;

		reply x, y, z;

		EXPECT_EQ(overdue(*e, start, &wait), nullptr);
		EXPECT_EQ(wait, 0u);
		x.sent(*e, X, 7, start);
		y.sent(*e, Y, 8, start + 300);
		/* While the Reply is not sent, the time limit does not run. */
		EXPECT_TRUE(z.fits(*e, 3));
		EXPECT_EQ(overdue(*e, start + 300, &wait), nullptr);
		EXPECT_EQ(wait, 700u);
		EXPECT_EQ(overdue(*e, start + 999, &wait), nullptr);
		EXPECT_EQ(wait, 1u);
		EXPECT_EQ(overdue(*e, start + 1000, &wait), &x);
		EXPECT_EQ(overdue(*e, start + 1000, &wait), nullptr);
		EXPECT_EQ(wait, 300u);
		/* The DONE is too late. */
		EXPECT_EQ(e->receive(done(X)), RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(e->receive(done(Y)), RPCRDMA_RX_PULL_COMPLETE);
		EXPECT_EQ(e->rx.exposed, &y);
		EXPECT_EQ(overdue(*e, start + 5000, &wait), nullptr);
		EXPECT_EQ(wait, 0u);
		EXPECT_EQ(e->conn.counters.dones_overdue, 1u);
	}
}

/* ---- Both ends ---- */

sim_options pulling_options(u32 window, u32 reassembly = 0)
{
	sim_options options = usual_options(window, window);

	options.cfg[0].props.reply_read = PULL;
	options.cfg[1].props.reply_read = PROVIDE;
	for (auto &cfg : options.cfg) {
		cfg.props.reassembly = reassembly;
		cfg.expose_octets = 1 << 20;
	}
	return options;
}

TEST(PulledReply, RepliesOfAllSizesArrive)
{
	for (u32 window : { 4u, 8u, 32u }) {
		sim s{ pulling_options(window) };
		u32 large = 0, n = 0;

		ASSERT_TRUE(s.open());
		for (u32 length = 24; length < 600000;
		     length = length * 2 + 4) {
			rpc_shape shape;

			shape.reply_length = length;
			shape.reply_max = 1 << 20;
			ASSERT_NE(s.call(sim::CLIENT, shape), 0u);
			n++;
			large += length > 4096 - 40;
			/* A result that has a Write chunk is not pulled. */
			shape.reply_item = 3000;
			shape.reply_length += 3000;
			ASSERT_NE(s.call(sim::CLIENT, shape), 0u);
			n++;
			large += length > 4096 - 40 - 24;
			ASSERT_TRUE(s.drain());
		}
		EXPECT_EQ(s.complaint(), "");
		EXPECT_EQ(s.completed(sim::CLIENT), n);
		EXPECT_EQ(s.exposed(sim::SERVER), 0u);
		EXPECT_EQ(s.conn(sim::SERVER).exposed_octets, 0u);

		const auto &c = s.conn(sim::CLIENT).counters;
		const auto &p = s.conn(sim::SERVER).counters;

		EXPECT_EQ(p.replies_exposed, large);
		EXPECT_EQ(c.replies_to_pull, large);
		EXPECT_EQ(c.dones_sent, large);
		EXPECT_EQ(p.dones_received, large);
		EXPECT_EQ(p.dones_overdue, 0u);
		/* No Reply chunk was registered for any of them. */
		EXPECT_EQ(c.reply_chunks, 0u);
	}
}

/*
 * The permitted number of Replies is pulled, further ones are errors. Each DONE
 * permits another one.
 */
TEST(PulledReply, ManyAtATime)
{
	sim_options options = pulling_options(100);

	options.cfg[1].expose_octets = 10 * 50000;

	sim s{ options };
	rpc_shape shape;

	shape.reply_length = 50000;
	ASSERT_TRUE(s.open());
	for (u32 i = 0; i < 40; i++)
		ASSERT_NE(s.call(sim::CLIENT, shape), 0u);
	while (s.deliver(sim::SERVER))
		;
	for (u32 i = 0; i < 40; i++)
		ASSERT_TRUE(s.answer(sim::SERVER));
	EXPECT_EQ(s.exposed(sim::SERVER), 10u);
	ASSERT_TRUE(s.drain());
	EXPECT_EQ(s.completed(sim::CLIENT), 10u);
	EXPECT_EQ(s.failed(sim::CLIENT), 30u);
	EXPECT_EQ(s.exposed(sim::SERVER), 0u);
	ASSERT_NE(s.call(sim::CLIENT, shape), 0u);
	ASSERT_TRUE(s.drain());
	EXPECT_EQ(s.completed(sim::CLIENT), 11u);
	EXPECT_EQ(s.complaint(), "");
}

/* A Requester that forgot the RPC still sends DONE. */
TEST(PulledReply, ForgottenRpcsGetADone)
{
	sim s{ pulling_options(16) };
	rpc_shape shape;

	shape.reply_length = 50000;
	ASSERT_TRUE(s.open());
	for (u32 i = 0; i < 5; i++)
		ASSERT_NE(s.call(sim::CLIENT, shape), 0u);
	while (s.deliver(sim::SERVER))
		;
	while (s.answer(sim::SERVER))
		;
	EXPECT_EQ(s.exposed(sim::SERVER), 5u);
	s.abandon(sim::CLIENT);
	ASSERT_TRUE(s.drain());
	EXPECT_EQ(s.completed(sim::CLIENT), 0u);
	EXPECT_EQ(s.exposed(sim::SERVER), 0u);
	EXPECT_EQ(s.conn(sim::SERVER).counters.dones_received, 5u);
	EXPECT_EQ(s.complaint(), "");
}

TEST(PulledReply, ARequesterThatNeverSendsDone)
{
	sim s{ pulling_options(16) };
	rpc_shape shape;

	shape.reply_length = 50000;
	s.send_done = false;
	ASSERT_TRUE(s.open());
	for (u32 i = 0; i < 30; i++)
		ASSERT_NE(s.call(sim::CLIENT, shape), 0u);
	ASSERT_TRUE(s.drain());
	/* 1 MiB in all */
	EXPECT_EQ(s.exposed(sim::SERVER), 20u);
	EXPECT_EQ(s.completed(sim::CLIENT), 20u);
	EXPECT_EQ(s.failed(sim::CLIENT), 10u);
	EXPECT_EQ(s.take_back(sim::SERVER, 999), 0u);
	EXPECT_EQ(s.take_back(sim::SERVER, 1000), 20u);
	EXPECT_EQ(s.conn(sim::SERVER).exposed_octets, 0u);
	ASSERT_NE(s.call(sim::CLIENT, shape), 0u);
	ASSERT_TRUE(s.drain());
	EXPECT_EQ(s.completed(sim::CLIENT), 21u);
	EXPECT_EQ(s.complaint(), "");
}

} // namespace
