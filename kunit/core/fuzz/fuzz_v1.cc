// SPDX-License-Identifier: GPL-2.0
/*
 * One message of version 1. The first byte of the input selects the end that receives it.
 * The rest is the message, except its version.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "fuzz/fuzz_targets.hh"
#include "support.hh"

using namespace engine_test;

namespace
{

#define REQUIRE(condition)                                                 \
	do {                                                               \
		if (!(condition)) {                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#condition);                               \
			abort();                                           \
		}                                                          \
	} while (0)

/* Bits of the first byte */
enum {
	STATE_CLIENT = 1,
	STATE_OPENING = 2, /* the first message of the connection */
	STATE_SMALL = 4,   /* low limits, no remote invalidation */
	STATE_BUSY = 8,	   /* has an outstanding Call */
	STATE_POOR = 16,   /* no memory for more segments than usual */
};

message plain(u32 xid, u32 direction)
{
	return message()
		.word(xid)
		.word(1)
		.word(4)
		.word(0)
		.word(0)
		.word(0)
		.word(0)
		.rpc(xid, direction, 40);
}

std::unique_ptr<end> make_end(uint8_t state)
{
	const bool client = state & STATE_CLIENT;
	const bool small = state & STATE_SMALL;
	auto cfg = usual_config(client, 8);
	const rpcrdma_private priv = { .valid = 1,
				       .inv_ok = !small,
				       .send_size = 4096,
				       .recv_size = 4096 };

	cfg.version_low = 1;
	cfg.version_high = 2;
	if (client && !(state & STATE_OPENING))
		cfg.version_high = 1;
	if (small) {
		cfg.props.rcsiz = 3;
		cfg.props.rssiz = 5000;
	}

	auto e = std::make_unique<end>(cfg);

	e->post(9);
	rpcrdma_conn_set_peer_private(&e->conn, &priv);
	rpcrdma_conn_established(&e->conn);
	e->control();
	if (state & STATE_OPENING)
		return e;
	if (!client)
		e->receive(plain(1, CALL));
	if (state & STATE_BUSY) {
		octets header(64);

		rpcrdma_encode_header(&e->conn, header.data(), 64, 7, RDMA2_MSG,
				      0, nullptr);
		rpcrdma_conn_stamp(&e->conn, RPCRDMA_KIND_CALL, header.data());
	}
	return e;
}

void check_lists(const end &e, bool call)
{
	const rpcrdma_lists &lists = e.rx.lists;
	const u32 more = lists.extra_segs ? RPCRDMA_MAX_EXTRA_SEGS : 0;
	u32 segs = 0;
	auto chunk = [&](const rpcrdma_chunk &c) {
		u64 length = 0;

		REQUIRE(c.first == segs);
		segs += c.count;
		REQUIRE(segs <= lists.nr_segs);
		for (u32 i = 0; i < c.count; i++)
			length +=
				rpcrdma_lists_seg(&lists, c.first + i)->length;
		REQUIRE(length == c.length);
	};

	REQUIRE(!lists.extra_segs || (call && !e.conn.cfg.client));
	REQUIRE(lists.nr_segs <= RPCRDMA_MAX_SEGS + more);
	REQUIRE(lists.nr_reads <= RPCRDMA_MAX_READ_CHUNKS);
	REQUIRE(lists.nr_writes <= RPCRDMA_MAX_WRITE_CHUNKS);
	for (u32 i = 0; i < lists.nr_reads; i++) {
		REQUIRE(lists.reads[i].position % 4 == 0);
		REQUIRE(!i ||
			lists.reads[i].position > lists.reads[i - 1].position);
		chunk(lists.reads[i]);
	}
	for (u32 i = 0; i < lists.nr_writes; i++)
		chunk(lists.writes[i]);
	if (lists.has_reply)
		chunk(lists.reply);
	REQUIRE(segs == lists.nr_segs);
	if (!call) {
		REQUIRE(!lists.nr_reads);
		return;
	}
	REQUIRE(segs <= e.conn.cfg.props.rcsiz + more);
	for (u32 i = 0; i < segs; i++)
		REQUIRE(rpcrdma_lists_seg(&lists, i)->length <=
			e.conn.cfg.props.rssiz);
	/* Without an RPC, and with one that the message may answer */
	if (lists.inv_handle) {
		REQUIRE(e.conn.peer_private.inv_ok);
		for (u32 i = 0; i < segs; i++)
			REQUIRE(rpcrdma_lists_seg(&lists, i)->handle ==
				lists.inv_handle);
	}
	REQUIRE(!e.conn.cfg.client || !segs);
}

/* Answer a Call: its Requester must accept the Reply. */
void check_answer(const end &e, u32 length)
{
	auto plan = std::make_unique<rpcrdma_reply_plan>();
	auto rx = std::make_unique<rpcrdma_rx>();
	struct rpcrdma_conn_limits limits;
	rpcrdma_reply reply = {};
	std::unique_ptr<rpcrdma_segment[]> more;
	const rpcrdma_lists call_lists = copy_of(e.rx.lists, more);
	rpcrdma_placed placed;
	u32 header;

	reply.xid = e.rx.xid;
	reply.length = 24 + length;
	reply.nr_items = length % 3;
	reply.items[0] = { 24, length / 3 };
	reply.items[1] = { 24 + length / 2, length / 4 };
	reply.reverse = e.conn.cfg.client;
	rpcrdma_plan_reply(&e.conn, &e.rx.lists, &reply, plan.get());
	if (plan->error)
		return;
	limits = rpcrdma_conn_limits(&e.conn);
	header = rpcrdma_header_octets(&e.conn, &plan->lists);
	REQUIRE(plan->format != RPCRDMA_CONTINUED);
	REQUIRE(header <= limits.send_inline);
	if (plan->format == RPCRDMA_INLINE)
		REQUIRE(header + plan->inline_length <= limits.send_inline);
	else
		REQUIRE(plan->reply_length <= e.rx.lists.reply.length);
	memset(rx.get(), 0, sizeof(*rx));
	rx->format = plan->format;
	rx->lists = plan->lists;
	REQUIRE(!rpcrdma_check_reply(&e.conn, &call_lists, rx.get(), &placed));
}

} // namespace

int fuzz_v1(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 8193)
		return 0;

	const uint8_t state = data[0];
	auto e = make_end(state);
	message m{ octets(data + 1, data + size) };
	rpcrdma_verdict verdict;

	if (m.size() >= 8 && !(state & STATE_OPENING))
		m.set(4, 1);

	e->may_have_more = !(state & STATE_POOR);
	verdict = e->receive(m, true);
	REQUIRE((verdict == RPCRDMA_RX_CLOSE) ==
		(e->conn.state == RPCRDMA_CONN_CLOSING));
	REQUIRE(verdict != RPCRDMA_RX_CLOSE || (state & STATE_OPENING));
	if (e->conn.version != 1)
		return 0;
	REQUIRE(e->conn.call_limit >= 1);

	switch (verdict) {
	case RPCRDMA_RX_CALL:
	case RPCRDMA_RX_REPLY:
		REQUIRE(m.get(12) <= 1);
		if (e->rx.format == RPCRDMA_INLINE)
			REQUIRE(e->rx.payload_offset + e->rx.payload_length ==
				m.size());
		REQUIRE(e->rx.total_length >= 8);
		check_lists(*e, verdict == RPCRDMA_RX_CALL);
		if (verdict == RPCRDMA_RX_CALL)
			check_answer(*e, m.get(8) % 300000);
		break;
	case RPCRDMA_RX_ERROR:
		REQUIRE(e->rx.error.status < 0 && m.get(12) == 4);
		break;
	case RPCRDMA_RX_BAD_REPLY:
		REQUIRE(e->rx.error.status < 0);
		break;
	case RPCRDMA_RX_CONSUMED:
		break;
	default:
		REQUIRE(false);
	}

	/* At most one answer, and none to an error */
	const message answer = e->control();

	if (answer.size()) {
		REQUIRE(verdict == RPCRDMA_RX_CONSUMED);
		REQUIRE(answer.get(0) == m.get(0) && answer.get(12) == 4);
		REQUIRE(m.get(12) != 4);
		REQUIRE(!e->control().size());
	}
	return 0;
}
