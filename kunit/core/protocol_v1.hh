// SPDX-License-Identifier: GPL-2.0
/* Helpers of the tests of version 1 */
#ifndef ENGINE_TEST_PROTOCOL_V1_HH
#define ENGINE_TEST_PROTOCOL_V1_HH

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "support.hh"

namespace engine_test::version1
{

enum {
	MSG = 0,
	NOMSG = 1,
	MSGP = 2,
	DONE = 3,
	ERROR = 4
};
enum {
	ERR_VERS = 1,
	ERR_CHUNK = 2
};

constexpr u32 X = 0x11223344;

inline rpcrdma_conn_config config(bool client, u8 low = 1, u8 high = 2)
{
	auto cfg = usual_config(client, 32);

	cfg.version_low = low;
	cfg.version_high = high;
	cfg.reverse = 8;
	return cfg;
}

/* The fixed words of a header */
inline message fixed(u32 xid, u32 proc, u32 credit = 16)
{
	return message().word(xid).word(1).word(credit).word(proc);
}

inline message inline_msg(u32 xid, u32 direction, u32 credit = 16,
			  u32 octets = 64)
{
	return fixed(xid, MSG, credit)
		.word(0)
		.word(0)
		.word(0)
		.rpc(xid, direction, octets);
}

inline message err_vers(u32 vers, u32 low, u32 high)
{
	return message()
		.word(0)
		.word(vers)
		.word(64)
		.word(ERROR)
		.word(ERR_VERS)
		.word(low)
		.word(high);
}

inline rpcrdma_private private_of(u32 send, u32 recv, bool inv = true)
{
	return {
		.valid = 1, .inv_ok = inv, .send_size = send, .recv_size = recv
	};
}

/*
 * Return a client that only has version 1. It is open as soon as it is
 * connected.
 */
inline std::unique_ptr<end> client1(u32 window = 32)
{
	auto cfg = config(true, 1, 1);
	const auto priv = private_of(4096, 4096);

	cfg.window = window;

	auto e = std::make_unique<end>(cfg);

	e->post(rpcrdma_window_receives(window));
	rpcrdma_conn_set_peer_private(&e->conn, &priv);
	e->events = rpcrdma_conn_established(&e->conn);
	return e;
}

/* Return a server with a connection that a Call has opened. */
inline std::unique_ptr<end> server1(bool inv = true, u32 octets = 4096)
{
	auto cfg = config(false);
	const auto priv = private_of(octets, octets, inv);

	cfg.props.sbsiz = cfg.props.rbsiz = octets;

	auto e = std::make_unique<end>(cfg);

	rpcrdma_conn_set_peer_private(&e->conn, &priv);
	e->make();
	EXPECT_EQ(e->receive(inline_msg(1, CALL)), RPCRDMA_RX_CALL);
	e->make();
	return e;
}

inline bool may_call(const end &e)
{
	return rpcrdma_conn_may_send(&e.conn, RPCRDMA_KIND_CALL);
}

/* Send a message and return its header. */
inline message header_of(end &e, rpcrdma_kind kind, u32 xid)
{
	octets buf(1024);

	buf.resize(rpcrdma_encode_header(
		&e.conn, buf.data(), 1024, xid, RDMA2_MSG,
		kind == RPCRDMA_KIND_REPLY ? RDMA2_F_RESPONSE : 0, nullptr));
	rpcrdma_conn_stamp(&e.conn, kind, buf.data());
	return message{ std::move(buf) };
}

} // namespace engine_test::version1

#endif
