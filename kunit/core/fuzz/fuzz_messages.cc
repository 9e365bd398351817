// SPDX-License-Identifier: GPL-2.0
/*
 * One message at a time. The first byte of the input selects the state of the
 * end that receives the message. The rest is the message, except for the words
 * that determine its kind. These are set here, because few random inputs would
 * have valid ones.
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
	STATE_OPENING = 2,
	STATE_SEQUENCE = 4, /* a continued message is open */
	STATE_SMALL = 8,    /* low limits */
	STATE_PULL = 16,    /* pulls Replies; has one to pull */
	STATE_WINDOW = 32,  /* no credit to answer */
	STATE_RAW = 64,	    /* take version and credits from the input, too */
};

/* The Reply that this end has exposed in some states */
rpcrdma_pull_entry exposure;

std::unique_ptr<end> make_end(uint8_t state)
{
	const bool client = state & STATE_CLIENT;
	auto cfg = usual_config(client, 8);

	if (state & STATE_SMALL) {
		cfg.props.rcsiz = 3;
		cfg.props.rssiz = 5000;
		cfg.props.reassembly = 200;
		cfg.props.brs = RDMA2_RVRSDIR_SIMPLE;
	}
	if (state & STATE_PULL)
		cfg.props.reply_read = RDMA2_REPLY_READ_PULL |
				       RDMA2_REPLY_READ_PROVIDE;

	if (state & STATE_OPENING) {
		auto e = std::make_unique<end>(cfg);

		e->post(9);
		rpcrdma_conn_established(&e->conn);
		e->control();
		return e;
	}

	auto e = open_end(cfg, usual_config(!client, 8),
			  state & STATE_WINDOW ? 1 : 100);

	if (state & STATE_PULL) {
		rpcrdma_reply_plan plan = {};

		plan.read_length = 1000;
		REQUIRE(!rpcrdma_pull_reserve(&e->conn, &exposure, 7, &plan));
		rpcrdma_pull_sent(&e->conn, &exposure, 9, 0);
	}
	if (state & STATE_SEQUENCE)
		e->receive(
			message()
				.prefix(7, RDMA2_MSG,
					RDMA2_F_MORE |
						(client ? RDMA2_F_RESPONSE : 0),
					1, 1)
				.no_lists()
				.rpc(7, client ? REPLY : CALL, 40));
	return e;
}

void check_chunk(const rpcrdma_lists &lists, const rpcrdma_chunk &chunk,
		 u32 &segs)
{
	u64 length = 0;

	REQUIRE(chunk.first == segs);
	segs += chunk.count;
	REQUIRE(segs <= lists.nr_segs);
	for (u32 i = 0; i < chunk.count; i++)
		length += lists.segs[chunk.first + i].length;
	REQUIRE(length == chunk.length);
}

/* Check the properties of all lists that the engine accepts. */
void check_lists(const end &e, const rpcrdma_lists &lists, bool response)
{
	u32 segs = 0;

	REQUIRE(lists.nr_segs <= RPCRDMA_MAX_SEGS);
	REQUIRE(lists.nr_reads <= RPCRDMA_MAX_READ_CHUNKS);
	REQUIRE(lists.nr_writes <= RPCRDMA_MAX_WRITE_CHUNKS);
	for (u32 i = 0; i < lists.nr_reads; i++) {
		REQUIRE(lists.reads[i].position % 4 == 0);
		REQUIRE(!i ||
			lists.reads[i].position > lists.reads[i - 1].position);
		check_chunk(lists, lists.reads[i], segs);
	}
	for (u32 i = 0; i < lists.nr_writes; i++)
		check_chunk(lists, lists.writes[i], segs);
	if (lists.has_reply)
		check_chunk(lists, lists.reply, segs);
	REQUIRE(segs == lists.nr_segs);
	if (response)
		return;
	REQUIRE(segs <= e.conn.cfg.props.rcsiz);
	for (u32 i = 0; i < segs; i++)
		REQUIRE(lists.segs[i].length <= e.conn.cfg.props.rssiz);
}

/* Answer a Call in any form: the plan must be within the peer's limits. */
void check_answer(end &e, u32 length)
{
	auto plan = std::make_unique<rpcrdma_reply_plan>();
	struct rpcrdma_conn_limits limits;
	rpcrdma_reply reply = {};
	u32 header;

	reply.xid = e.rx.xid;
	reply.length = 24 + length;
	reply.nr_items = length % 3;
	reply.items[0] = { 24, length / 3 };
	reply.items[1] = { 24 + length / 2, length / 4 };
	rpcrdma_plan_reply(&e.conn, &e.rx.lists, &reply, plan.get());
	if (plan->error)
		return;
	limits = rpcrdma_conn_limits(&e.conn);
	header = rpcrdma_header_octets(&e.conn, &plan->lists);
	REQUIRE(header <= limits.send_inline);
	REQUIRE(plan->lists.nr_writes == e.rx.lists.nr_writes);
	if (plan->format == RPCRDMA_INLINE)
		REQUIRE(header + plan->inline_length <= limits.send_inline);
	else if (plan->format == RPCRDMA_SPECIAL)
		REQUIRE(plan->reply_length <= e.rx.lists.reply.length);
	else
		REQUIRE(plan->inline_length <= limits.continued);

	/* A Requester must accept the Reply. */
	auto rx = std::make_unique<rpcrdma_rx>();
	rpcrdma_placed placed;

	memset(rx.get(), 0, sizeof(*rx));
	rx->format = plan->format;
	rx->lists = plan->lists;
	REQUIRE(!rpcrdma_check_reply(&e.conn, &e.rx.lists, rx.get(), &placed));
}

/* A decoded message must encode to the same bytes. */
void check_round_trip(const end &e, const message &m)
{
	octets buf(m.size() + 64);
	const u32 n = rpcrdma_encode_header(&e.conn, buf.data(),
					    static_cast<u32>(buf.size()),
					    e.rx.xid, m.get(12), m.get(16),
					    &e.rx.lists);

	REQUIRE(n == rpcrdma_header_octets(&e.conn, &e.rx.lists));
	REQUIRE(n <= m.size());
	memcpy(buf.data() + 8, m.data().data() + 8, 4);
	memcpy(buf.data() + 20, m.data().data() + 20, 4);
	REQUIRE(!memcmp(buf.data(), m.data().data(), n));
	REQUIRE(m.get(12) != RDMA2_MSG || n == e.rx.payload_offset);
}

/*
 * An RPC message takes the general path if it has a reserved flag, which is ignored.
 * Expect the same result there as @e had with @verdict.
 */
void check_general_path(const end &e, message m, uint8_t state,
			rpcrdma_verdict verdict)
{
	constexpr u32 FLAGS = 16, RESERVED = 8;
	auto other = make_end(state);

	if (m.size() < FLAGS + 4 || m.get(4) != RPCRDMA_VERS_2 ||
	    m.get(12) > RDMA2_NOMSG)
		return;
	m.set(FLAGS, m.get(FLAGS) | RESERVED);
	REQUIRE(other->receive(m, true) == verdict);
	REQUIRE(other->events == e.events);
	REQUIRE(other->conn.state == e.conn.state);
	REQUIRE(other->conn.pend_count == e.conn.pend_count);
	REQUIRE(other->conn.limit == e.conn.limit);
	REQUIRE(other->conn.acked == e.conn.acked);
	REQUIRE(other->conn.received == e.conn.received);
	REQUIRE(other->conn.recvs_freed == e.conn.recvs_freed);
	REQUIRE(other->conn.recvs_to_free == e.conn.recvs_to_free);
	REQUIRE(other->conn.calls_outstanding == e.conn.calls_outstanding);
	REQUIRE(!memcmp(&other->conn.counters, &e.conn.counters,
			sizeof(e.conn.counters)));
	if (verdict != RPCRDMA_RX_CALL && verdict != RPCRDMA_RX_REPLY)
		return;
	REQUIRE(other->rx.xid == e.rx.xid);
	REQUIRE(other->rx.format == e.rx.format);
	REQUIRE(other->rx.payload_offset == e.rx.payload_offset);
	REQUIRE(other->rx.payload_length == e.rx.payload_length);
	REQUIRE(other->rx.total_length == e.rx.total_length);
	REQUIRE(same_lists(other->rx.lists, e.rx.lists));
}

int one_message(const uint8_t *data, size_t size, u32 htype)
{
	if (size < 1 || size > 4097)
		return 0;

	const uint8_t state = data[0];
	auto e = make_end(state);
	message m{ octets(data + 1, data + size) };
	const rpcrdma_conn before = e->conn;
	rpcrdma_verdict verdict;

	if (m.size() >= 16)
		m.set(12, htype);
	if (!(state & STATE_RAW)) {
		if (m.size() >= 8)
			m.set(4, 2);
		if (m.size() >= 24)
			m.set(20, 1);
	}

	verdict = e->receive(m, true);
	REQUIRE(e->conn.received == before.received + 1 ||
		before.state == RPCRDMA_CONN_CLOSING);
	REQUIRE(static_cast<int>(e->conn.limit - before.limit) >= 0);
	REQUIRE((verdict == RPCRDMA_RX_CLOSE) ==
		(e->conn.state == RPCRDMA_CONN_CLOSING));
	REQUIRE((verdict == RPCRDMA_RX_CLOSE) ==
		!!(e->rx.events & RPCRDMA_EV_CLOSE));
	REQUIRE((verdict != RPCRDMA_RX_CLOSE) || e->conn.reason);
	REQUIRE(e->conn.pend_count <= 2);
	check_general_path(*e, m, state, verdict);

	switch (verdict) {
	case RPCRDMA_RX_FRAGMENT:
		REQUIRE(!e->rx.lists.nr_segs);
		[[fallthrough]];
	case RPCRDMA_RX_CALL:
	case RPCRDMA_RX_REPLY:
		REQUIRE(before.state == RPCRDMA_CONN_OPEN);
		REQUIRE(htype == RDMA2_MSG || htype == RDMA2_NOMSG);
		if (htype == RDMA2_MSG) {
			REQUIRE(e->rx.payload_offset + e->rx.payload_length ==
				m.size());
			REQUIRE(e->rx.total_length >= e->rx.payload_length);
		}
		REQUIRE(e->rx.total_length >= 4);
		REQUIRE(e->rx.total_length <= e->conn.cfg.props.reassembly ||
			e->rx.format != RPCRDMA_CONTINUED);
		check_lists(*e, e->rx.lists, verdict == RPCRDMA_RX_REPLY);
		check_round_trip(*e, m);
		if (verdict == RPCRDMA_RX_CALL)
			check_answer(*e, m.get(8) % 300000);
		break;
	case RPCRDMA_RX_ERROR:
		REQUIRE(e->rx.error.status < 0);
		REQUIRE(htype == RDMA2_ERROR);
		break;
	case RPCRDMA_RX_PULL_COMPLETE:
		REQUIRE(htype == RDMA2_DONE);
		REQUIRE(state & STATE_PULL && e->rx.xid == 7);
		REQUIRE(e->rx.exposed == &exposure);
		REQUIRE(rpcrdma_may_invalidate(RPCRDMA_RX_PULL_COMPLETE, &e->rx,
					       9));
		REQUIRE(!rpcrdma_may_invalidate(RPCRDMA_RX_PULL_COMPLETE,
						&e->rx, 7));
		rpcrdma_pull_cancel(&e->conn, e->rx.exposed);
		REQUIRE(!e->conn.exposed_octets);
		break;
	case RPCRDMA_RX_BAD_REPLY:
		REQUIRE(htype == RDMA2_MSG || htype == RDMA2_NOMSG);
		REQUIRE(e->rx.error.status < 0);
		break;
	default:
		break;
	}

	/* Answers are well-formed. An ERROR, a DONE or a Reply gets none. */
	for (u32 i = 0; i < 4; i++) {
		const message answer = e->control();

		if (!answer.size())
			break;
		REQUIRE(answer.size() >= 24);
		if (answer.get(12) != RDMA2_ERROR)
			continue;
		/* In another version the type has another meaning. */
		REQUIRE(htype != RDMA2_ERROR);
		if (!e->conn.version)
			continue;
		REQUIRE(htype != RDMA2_DONE);
	}
	return 0;
}

} // namespace

int fuzz_msg(const uint8_t *data, size_t size)
{
	return one_message(data, size, RDMA2_MSG);
}

int fuzz_nomsg(const uint8_t *data, size_t size)
{
	return one_message(data, size, RDMA2_NOMSG);
}

int fuzz_done(const uint8_t *data, size_t size)
{
	return one_message(data, size, RDMA2_DONE);
}

int fuzz_error(const uint8_t *data, size_t size)
{
	return one_message(data, size, RDMA2_ERROR);
}

int fuzz_connprop(const uint8_t *data, size_t size)
{
	return one_message(data, size, RDMA2_CONNPROP);
}

int fuzz_private(const uint8_t *data, size_t size)
{
	rpcrdma_private priv, again;
	u8 buf[RPCRDMA_PRIVATE_OCTETS];

	rpcrdma_decode_private(data, static_cast<u32>(size), &priv);
	REQUIRE(priv.send_size >= 1024 && priv.send_size <= 262144);
	REQUIRE(priv.recv_size >= 1024 && priv.recv_size <= 262144);
	REQUIRE(priv.inv_ok <= 1 && priv.valid <= 1);
	if (!priv.valid)
		return 0;
	rpcrdma_encode_private(&priv, buf);
	rpcrdma_decode_private(buf, sizeof(buf), &again);
	REQUIRE(again.valid && again.inv_ok == priv.inv_ok);
	REQUIRE(again.send_size == priv.send_size);
	REQUIRE(again.recv_size == priv.recv_size);
	return 0;
}
