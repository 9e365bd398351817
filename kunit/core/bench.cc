// SPDX-License-Identifier: GPL-2.0
/*
 * The engine's cost per message: encoding, decoding, planning, and a complete
 * RPC at both ends
 */
#include <benchmark/benchmark.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr u32 XID = 7;

/* Chunk lists as NFS traffic has them */
enum shape {
	NO_CHUNKS,
	ONE_WRITE, /* READ: a Write chunk of one segment */
	ONE_READ,  /* WRITE: a Read chunk of one segment */
	LARGE,	   /* four segments each, with a Reply chunk */
};

rpcrdma_lists make_lists(int shape, bool reply = false)
{
	rpcrdma_lists lists;

	rpcrdma_lists_init(&lists);
	switch (shape) {
	case ONE_WRITE:
		add_write(&lists, 1, 65536);
		break;
	case ONE_READ:
		if (!reply)
			add_read(&lists, 64, 1, 65536);
		break;
	case LARGE:
		if (!reply)
			add_read(&lists, 64, 4, 262144);
		add_write(&lists, 4, 262144);
		add_reply(&lists, 4, 262144);
		break;
	default:
		break;
	}
	return lists;
}

/*
 * Receiving changes the state of the connection. Reset what would stop the
 * benchmark.
 */
void reset(rpcrdma_conn *conn)
{
	conn->received = conn->posted - 33;
	conn->advertised = conn->received + 32;
	conn->recvs_to_free = conn->grant_recvs_to_free = 0;
}

void encode(benchmark::State &state)
{
	auto e = open_client();
	const rpcrdma_lists lists =
		make_lists(static_cast<int>(state.range(0)));
	alignas(8) u8 buf[4096];

	for (auto _ : state) {
		const u32 n = rpcrdma_encode_header(&e->conn, buf, sizeof(buf),
						    XID, RDMA2_MSG, 0, &lists);

		rpcrdma_conn_stamp(&e->conn, RPCRDMA_KIND_CALL, buf);
		benchmark::DoNotOptimize(n);
		benchmark::ClobberMemory();
	}
}

void stamp(benchmark::State &state)
{
	auto e = open_client();
	alignas(8) u8 buf[64];

	rpcrdma_encode_header(&e->conn, buf, sizeof(buf), XID, RDMA2_MSG, 0,
			      nullptr);
	for (auto _ : state) {
		rpcrdma_conn_stamp(&e->conn, RPCRDMA_KIND_CALL, buf);
		benchmark::ClobberMemory();
	}
}

void decode(benchmark::State &state, bool call)
{
	auto e = call ? open_server() : open_client();
	const rpcrdma_lists lists =
		make_lists(static_cast<int>(state.range(0)), !call);
	octets buf(4096);
	u32 n = rpcrdma_encode_header(&e->conn, buf.data(), 4096, XID,
				      RDMA2_MSG, call ? 0 : RDMA2_F_RESPONSE,
				      &lists);
	message m{ octets(buf.begin(), buf.begin() + n) };

	m.set(8, 32).rpc(XID, call ? CALL : REPLY, 120);
	for (auto _ : state) {
		const rpcrdma_verdict v = rpcrdma_conn_receive(
			&e->conn, m.data().data(), m.size(), &e->rx);

		benchmark::DoNotOptimize(v);
		reset(&e->conn);
	}
	if (e->conn.state != RPCRDMA_CONN_OPEN)
		state.SkipWithError(e->conn.reason);
}

void decode_call(benchmark::State &state)
{
	decode(state, true);
}

void decode_reply(benchmark::State &state)
{
	decode(state, false);
}

void plan_call(benchmark::State &state)
{
	auto e = open_client();
	rpcrdma_call call = {};
	rpcrdma_call_plan plan;

	call.length = 200;
	call.reply_max = 300;
	call.ddp = 1;
	call.call_segs = call.item_segs = 1;
	call.reply_segs = call.result_segs = 1;
	if (state.range(0) == ONE_WRITE || state.range(0) == LARGE) {
		call.result_max = 1048576;
		call.reply_max += call.result_max;
	}
	if (state.range(0) == ONE_READ || state.range(0) == LARGE) {
		call.item_position = 160;
		call.item_length = 1048576;
		call.length += call.item_length;
	}
	for (auto _ : state) {
		benchmark::DoNotOptimize(
			rpcrdma_plan_call(&e->conn, &call, &plan));
		benchmark::ClobberMemory();
	}
}

void plan_reply(benchmark::State &state)
{
	auto e = open_server();
	const rpcrdma_lists lists =
		make_lists(static_cast<int>(state.range(0)));
	auto plan = std::make_unique<rpcrdma_reply_plan>();
	rpcrdma_reply reply = {};

	reply.length = 200;
	if (lists.nr_writes) {
		reply.nr_items = 1;
		reply.items[0] = { 160, 65536 };
		reply.length += 65536;
	}
	for (auto _ : state) {
		rpcrdma_plan_reply(&e->conn, &lists, &reply, plan.get());
		benchmark::ClobberMemory();
	}
}

/* All work of the engine for one small RPC, at both ends */
void whole_rpc(benchmark::State &state)
{
	auto client = open_client(32);
	auto server = open_server(32);
	alignas(8) u8 buf[4096] = {};
	auto plan = std::make_unique<rpcrdma_reply_plan>();
	rpcrdma_reply reply = {};
	rpcrdma_call call = {};
	rpcrdma_call_plan call_plan;
	u32 n;

	/* Make one connection of the two ends, which were opened separately. */
	for (auto *e : { client.get(), server.get() }) {
		e->conn.sent = e->conn.received = 1;
		e->conn.posted = 34;
		e->conn.advertised = e->conn.limit = 33;
		e->conn.recvs_to_free = e->conn.grant_recvs_to_free = 0;
	}
	reply.length = call.length = 120;
	call.reply_max = 300;
	for (auto _ : state) {
		rpcrdma_plan_call(&client->conn, &call, &call_plan);
		if (!rpcrdma_conn_may_send(&client->conn, RPCRDMA_KIND_CALL))
			break;
		n = rpcrdma_encode_header(&client->conn, buf, sizeof(buf), XID,
					  RDMA2_MSG, 0, nullptr);
		rpcrdma_conn_stamp(&client->conn, RPCRDMA_KIND_CALL, buf);
		buf[n + 3] = XID;
		buf[n + 7] = CALL;
		if (rpcrdma_conn_receive(&server->conn, buf, n + 120,
					 &server->rx) != RPCRDMA_RX_CALL)
			break;
		rpcrdma_plan_reply(&server->conn, &server->rx.lists, &reply,
				   plan.get());
		if (!rpcrdma_conn_may_send(&server->conn, RPCRDMA_KIND_REPLY))
			break;
		n = rpcrdma_encode_header(&server->conn, buf, sizeof(buf), XID,
					  RDMA2_MSG, RDMA2_F_RESPONSE,
					  &plan->lists);
		rpcrdma_conn_stamp(&server->conn, RPCRDMA_KIND_REPLY, buf);
		rpcrdma_recvs_posted(&server->conn, 1);
		buf[n + 3] = XID;
		buf[n + 7] = REPLY;
		if (rpcrdma_conn_receive(&client->conn, buf, n + 120,
					 &client->rx) != RPCRDMA_RX_REPLY)
			break;
		rpcrdma_recvs_posted(&client->conn, 1);
	}
	if (client->conn.state != RPCRDMA_CONN_OPEN ||
	    server->conn.state != RPCRDMA_CONN_OPEN)
		state.SkipWithError("an end has closed");
}

BENCHMARK(encode)->DenseRange(NO_CHUNKS, LARGE);
BENCHMARK(stamp);
BENCHMARK(decode_call)->DenseRange(NO_CHUNKS, LARGE);
BENCHMARK(decode_reply)->DenseRange(NO_CHUNKS, LARGE);
BENCHMARK(plan_call)->DenseRange(NO_CHUNKS, LARGE);
BENCHMARK(plan_reply)->DenseRange(NO_CHUNKS, LARGE);
BENCHMARK(whole_rpc);

} // namespace

BENCHMARK_MAIN();
