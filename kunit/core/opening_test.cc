// SPDX-License-Identifier: GPL-2.0
/* Opening a connection: versions, properties and order (WP 1, 4, 5) */
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "sim.hh"
#include "support.hh"

using namespace engine_test;

namespace
{

/* One property as bytes */
struct prop {
	u32 id;
	octets data;
};

prop prop32(u32 id, u32 value)
{
	return { id, message().word(value).data() };
}

message connprop(const std::vector<prop> &props, u32 flags = 0, u32 xid = 0,
		 u32 received = 0)
{
	message m;

	m.prefix(xid, RDMA2_CONNPROP, flags, 32, received);
	m.word(static_cast<u32>(props.size()));
	for (const prop &p : props) {
		m.word(p.id).word(static_cast<u32>(p.data.size()));
		for (uint8_t octet : p.data)
			m.fill(1, octet);
		m.fill((4 - p.data.size() % 4) % 4, 0);
	}
	return m;
}

std::unique_ptr<end> new_server(u32 window = 32)
{
	auto e = std::make_unique<end>(usual_config(false, window));

	e->post(rpcrdma_window_receives(window));
	return e;
}

std::unique_ptr<end> new_client()
{
	auto e = std::make_unique<end>(usual_config(true));

	e->post(33);
	rpcrdma_conn_established(&e->conn);
	e->control();
	return e;
}

/* ---- Versions ---- */

message version1_call(u32 version, u32 htype = 0, u32 xid = 5)
{
	return message()
		.word(xid)
		.word(version)
		.word(32)
		.word(htype)
		.word(0)
		.word(0)
		.word(0)
		.rpc(xid, CALL, 40);
}

TEST(Version, OthersGetErrVers)
{
	for (u32 version : { 0u, 1u, 3u, 0x01000000u, ~0u }) {
		auto e = new_server();

		EXPECT_EQ(e->receive(version1_call(version)), RPCRDMA_RX_DONE);
		EXPECT_TRUE(e->events & RPCRDMA_EV_CONTROL);
		EXPECT_EQ(e->control().data(), message()
						       .word(5)
						       .word(version)
						       .word(32)
						       .word(4)
						       .word(1)
						       .word(2)
						       .word(2)
						       .data());
		EXPECT_EQ(e->conn.version, 0);
		EXPECT_EQ(e->conn.sent, 1u);
		EXPECT_EQ(e->conn.counters.errors_sent, 1u);
		/* The window before the first header is one message. */
		e->receive(version1_call(version));
		EXPECT_EQ(e->control().size(), 0u);
	}
}

/* A version 1 peer regards a grant of zero as the end of all Calls. */
TEST(Version, ErrVersGrantsOneAtLeast)
{
	end e{ usual_config(false) };

	e.post(2);
	EXPECT_EQ(e.receive(version1_call(1), true), RPCRDMA_RX_DONE);
	ASSERT_EQ(e.conn.posted - e.conn.received, 1u) << "the reserve";

	const message m = e.control();

	ASSERT_EQ(m.size(), 28u);
	EXPECT_EQ(m.get(8), 1u);
}

TEST(Version, ErrVersThenVersion2)
{
	auto e = new_server();

	e->receive(version1_call(1));
	e->control();
	/* The peer has received our answer. */
	e->receive(connprop({}).set(20, 1));
	EXPECT_EQ(e->conn.version, 2);
	EXPECT_EQ(e->control().get(12), +RDMA2_CONNPROP);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

TEST(Version, AnErrorIsNeverAnswered)
{
	auto e = new_server();

	EXPECT_EQ(e->receive(version1_call(1, RDMA2_ERROR)), RPCRDMA_RX_DONE);
	EXPECT_EQ(e->control().size(), 0u);
	EXPECT_EQ(e->conn.counters.dropped, 1u);
}

TEST(Version, ShortMessagesAreDropped)
{
	for (u32 n = 0; n < 16; n++) {
		auto e = new_server();

		EXPECT_EQ(e->receive(version1_call(1).truncate(n)),
			  RPCRDMA_RX_DONE);
		EXPECT_EQ(e->control().size(), 0u) << n;
		EXPECT_EQ(e->conn.version, 0);
		EXPECT_EQ(e->conn.received, 1u);
	}
	/* The version can be determined from 16 bytes on. */
	for (u32 n = 16; n < 24; n++) {
		auto e = new_server();

		e->receive(version1_call(1).truncate(n));
		EXPECT_EQ(e->control().size(), 28u) << n;

		auto f = new_server();

		f->receive(connprop({}).truncate(n));
		EXPECT_EQ(f->control().size(), 0u) << n;
		EXPECT_EQ(f->conn.version, 2) << n;
		EXPECT_EQ(f->conn.limit, 1u);
	}
}

TEST(Version, AnotherOneLaterCloses)
{
	for (bool client : { false, true }) {
		auto e = client ? open_client() : open_server();

		EXPECT_EQ(e->receive(version1_call(1)), RPCRDMA_RX_CLOSE);
		EXPECT_TRUE(e->events & RPCRDMA_EV_CLOSE);
		EXPECT_EQ(e->control().size(), 0u);
	}
}

message err_vers(u32 low, u32 high)
{
	return message().word(0).word(2).word(16).word(4).word(1).word(low).word(
		high);
}

TEST(Version, ClientSeesErrVers)
{
	auto e = new_client();

	EXPECT_EQ(e->receive(err_vers(1, 1)), RPCRDMA_RX_CLOSE);
	EXPECT_EQ(e->conn.err_vers_low, 1);
	EXPECT_EQ(e->conn.err_vers_high, 1);
	EXPECT_EQ(e->conn.answered, 1);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_CLOSING);
	EXPECT_NE(e->conn.reason, nullptr);
}

/* 28 bytes alone are not ERR_VERS. */
TEST(Version, ClientTellsOtherErrorsFromErrVers)
{
	struct {
		const char *what;
		message m;
	} const cases[] = {
		{ "BAD_PROPVAL", message()
					 .prefix(0, RDMA2_ERROR, 1, 16, 1)
					 .word(RDMA2_ERR_BAD_PROPVAL) },
		{ "longer", err_vers(1, 1).word(0) },
		{ "RESPONSE clear",
		  message().prefix(0, RDMA2_ERROR, 0, 16, 1).word(1) },
		{ "another type",
		  message().prefix(0, RDMA2_CONNPROP, 1, 16, 1).word(1) },
	};

	for (const auto &c : cases) {
		auto e = new_client();

		EXPECT_EQ(e->receive(c.m), RPCRDMA_RX_DONE) << c.what;
		EXPECT_EQ(e->conn.err_vers_high, 0) << c.what;
		EXPECT_EQ(e->conn.version, 2) << c.what;
	}
	/* Later it would be an error like any other. */
	auto e = open_client();

	EXPECT_EQ(e->receive(err_vers(1, 1)), RPCRDMA_RX_DONE);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

/*
 * The draft's own prefix has no received word. In its place is the number of
 * properties, according to which more messages were received than were sent.
 */
TEST(Version, ThePrefixOfTheDraftCloses)
{
	for (u32 props : { 1u, 2u, 6u }) {
		auto e = new_server();
		message m;

		m.word(0).word(2).word(0x00200020).word(RDMA2_CONNPROP).word(0);
		m.word(props);
		for (u32 id = 1; id <= props; id++)
			m.word(id).word(4).word(4096);
		EXPECT_EQ(e->receive(m), RPCRDMA_RX_CLOSE) << props;
		EXPECT_EQ(e->control().size(), 0u) << props;
	}
}

TEST(Version, ClientAnsweredInAnotherCloses)
{
	auto e = new_client();

	EXPECT_EQ(e->receive(version1_call(1)), RPCRDMA_RX_CLOSE);
	EXPECT_EQ(e->control().size(), 0u);
	EXPECT_EQ(e->conn.answered, 0);
}

/* ---- Order ---- */

TEST(Order, ClientFirst)
{
	auto server = new_server();

	EXPECT_EQ(server->all_events, 0u);
	EXPECT_EQ(rpcrdma_conn_established(&server->conn), 0u);
	EXPECT_EQ(server->control().size(), 0u);

	end client{ usual_config(true) };

	client.post(33);
	EXPECT_EQ(client.control().size(), 0u);
	EXPECT_EQ(rpcrdma_conn_established(&client.conn), +RPCRDMA_EV_CONTROL);

	const message first = client.control();

	EXPECT_LE(first.size(), +RPCRDMA_V2_FIRST_CONNPROP);
	EXPECT_EQ(first.get(0), 0u);
	EXPECT_EQ(first.get(16), 0u);
	EXPECT_EQ(client.all_events & RPCRDMA_EV_OPENED, 0u);

	server->receive(first);
	EXPECT_TRUE(server->all_events & RPCRDMA_EV_OPENED);
	EXPECT_TRUE(server->all_events & RPCRDMA_EV_CONTROL);
	/* Its own properties are sent before any RPC. */
	EXPECT_FALSE(rpcrdma_conn_may_send(&server->conn, RPCRDMA_KIND_REPLY));
	client.receive(server->control());
	EXPECT_TRUE(client.all_events & RPCRDMA_EV_OPENED);
	EXPECT_TRUE(rpcrdma_conn_may_send(&server->conn, RPCRDMA_KIND_REPLY));
	EXPECT_TRUE(rpcrdma_conn_may_send(&client.conn, RPCRDMA_KIND_CALL));
	EXPECT_EQ(client.conn.answered, 1);
	EXPECT_EQ(server->control().size(), 0u);
	EXPECT_EQ(client.control().size(), 0u);
}

TEST(Order, OpenedComesOnce)
{
	auto e = new_server();
	u32 times = 0;

	e->receive(connprop({}));
	times += !!(e->events & RPCRDMA_EV_OPENED);
	e->control();
	for (u32 i = 0; i < 5; i++) {
		e->post(1);
		times += !!(e->events & RPCRDMA_EV_OPENED);
		e->receive(
			message().prefix(0, RDMA2_NOMSG, 0, 32, 1).no_lists());
		times += !!(e->events & RPCRDMA_EV_OPENED);
	}
	EXPECT_EQ(times, 1u);
}

/* A server's first window is a normal one. */
TEST(Order, ServerWaitsForAWindow)
{
	end e{ usual_config(false, 4) };

	e.post(2);
	e.receive(connprop({}), true);
	EXPECT_EQ(e.control().size(), 0u);
	EXPECT_EQ(e.all_events, 0u);
	e.post(3);
	EXPECT_EQ(e.events, 0u);
	e.post(1);
	EXPECT_EQ(e.events, RPCRDMA_EV_CONTROL | RPCRDMA_EV_OPENED);
	EXPECT_EQ(e.control().get(8), 4u);
}

/*
 * With a window of one, the ERROR uses it, and the CONNPROP of this end has to
 * wait.
 */
TEST(Order, OpenedOnlyWhenOwnPartsCanGo)
{
	auto e = new_server();

	e->receive(connprop({ prop32(1, 1) }).set(8, 1));
	EXPECT_EQ(e->all_events, +RPCRDMA_EV_CONTROL);
	EXPECT_EQ(e->control().get(12), +RDMA2_ERROR);
	EXPECT_EQ(e->control().size(), 0u);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPENING);
	e->receive(message().prefix(0, RDMA2_NOMSG, 0, 1, 1).no_lists());
	EXPECT_TRUE(e->events & RPCRDMA_EV_OPENED);
	EXPECT_EQ(e->control().get(12), +RDMA2_CONNPROP);
}

/*
 * Posting a Receive before the CONNPROP of this end is sent requests another
 * attempt.
 */
TEST(Order, ReceivesBeforeOwnConnpropOpenTheWindow)
{
	auto e = new_server();

	e->receive(connprop({}), true);
	ASSERT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	EXPECT_FALSE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_REPLY));
	e->post(1);
	EXPECT_EQ(e->events, RPCRDMA_EV_CONTROL | RPCRDMA_EV_WINDOW);
	ASSERT_EQ(e->control().get(12), +RDMA2_CONNPROP);
	EXPECT_TRUE(rpcrdma_conn_may_send(&e->conn, RPCRDMA_KIND_CALL));
	/* Later ones cause no event. */
	e->post(1);
	EXPECT_FALSE(e->events & RPCRDMA_EV_WINDOW);
}

TEST(Order, RpcBeforeTheEndOfOpeningCloses)
{
	const message cases[] = {
		message()
			.prefix(1, RDMA2_MSG, 0, 9, 0)
			.no_lists()
			.rpc(1, CALL, 40),
		message()
			.prefix(1, RDMA2_MSG, 1, 9, 0)
			.no_lists()
			.rpc(1, REPLY, 40),
		message()
			.prefix(1, RDMA2_NOMSG, 0, 9, 0)
			.word(0)
			.read_segment(0, 1, 100)
			.word(0)
			.word(0)
			.word(0),
		message().prefix(1, RDMA2_NOMSG, 0, 9, 0).no_lists(),
		message().prefix(0, RDMA2_NOMSG, 0, 9, 0),
	};

	for (const message &m : cases) {
		auto server = new_server();

		EXPECT_EQ(server->receive(m), RPCRDMA_RX_CLOSE);

		/* Between the parts of the client's CONNPROP */
		server = new_server();
		server->receive(connprop({}, RDMA2_F_TPMORE));
		EXPECT_EQ(server->receive(m), RPCRDMA_RX_CLOSE);

		/* Before the server has sent its own CONNPROP */
		server = new_server();
		server->receive(connprop({}));
		EXPECT_EQ(server->receive(m), RPCRDMA_RX_CLOSE);

		auto client = new_client();

		EXPECT_EQ(client->receive(m), RPCRDMA_RX_CLOSE);
	}
}

TEST(Order, ControlBeforeConnpropIsHarmless)
{
	const message cases[] = {
		message().prefix(0, RDMA2_NOMSG, 0, 9, 0).no_lists(),
		message().prefix(9, RDMA2_DONE, 0, 9, 0),
		message()
			.prefix(0, RDMA2_ERROR, RDMA2_F_RESPONSE, 9, 0)
			.word(RDMA2_ERR_BAD_XDR),
	};

	for (const message &m : cases) {
		auto e = new_server();

		EXPECT_EQ(e->receive(m), RPCRDMA_RX_DONE);
		EXPECT_EQ(e->conn.limit, 9u);
		EXPECT_EQ(e->control().size(), 0u);
		e->receive(connprop({}));
		EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
	}
}

TEST(Order, PartsOfTheClient)
{
	auto e = new_server();

	e->receive(
		connprop({ prop32(RDMA2_PROPID_RBSIZ, 8192) }, RDMA2_F_TPMORE));
	EXPECT_EQ(e->all_events & RPCRDMA_EV_OPENED, 0u);
	/* The first part is answered with the server's own CONNPROP. */
	EXPECT_EQ(e->control().get(12), +RDMA2_CONNPROP);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPENING);
	e->receive(connprop({ prop32(RDMA2_PROPID_RCSIZ, 3) }, RDMA2_F_TPMORE,
			    0, 1));
	e->receive(connprop({ prop32(RDMA2_PROPID_RBSIZ, 2048) }, 0, 0, 1));
	EXPECT_TRUE(e->all_events & RPCRDMA_EV_OPENED);
	EXPECT_EQ(e->conn.peer.rbsiz, 2048u);
	EXPECT_EQ(e->conn.peer.rcsiz, 3u);
	EXPECT_EQ(e->conn.peer.sbsiz, 4096u);

	/* No further CONNPROP is accepted (6.2.2.3). */
	e->receive(connprop({ prop32(RDMA2_PROPID_RCSIZ, 9) }, 0, 0, 1));
	EXPECT_EQ(e->conn.peer.rcsiz, 3u);
	EXPECT_EQ(e->control().get(24), +RDMA2_ERR_INVAL_HTYPE);
	e->receive(connprop({}, RDMA2_F_RESPONSE, 0, 1));
	EXPECT_EQ(e->control().size(), 0u);
}

TEST(Order, TooManyOctetsClose)
{
	auto e = new_server();
	const message part = connprop({ { 77, octets(4000) } }, RDMA2_F_TPMORE);
	u32 total = 0;
	rpcrdma_verdict v;

	do {
		e->control();
		total += part.size();
		v = e->receive(part);
	} while (v == RPCRDMA_RX_DONE);
	EXPECT_EQ(v, RPCRDMA_RX_CLOSE);
	EXPECT_GT(total, 65536u);
	EXPECT_LE(total - part.size(), 65536u);
}

/* ---- Values ---- */

TEST(Props, OwnOnes)
{
	auto cfg = usual_config(true);

	cfg.props = { 5000, 6000, 7000, 8, 2, 3, 9000 };

	end e{ cfg };

	e.post(33);
	rpcrdma_conn_established(&e.conn);
	EXPECT_EQ(e.control().data(),
		  connprop({ prop32(1, 5000), prop32(2, 6000), prop32(3, 7000),
			     prop32(4, 8), prop32(5, 2), prop32(0xF0000001, 3),
			     prop32(0xF0000002, 9000) })
			  .data());

	/* A server's BRS would be ignored. */
	cfg.client = 0;

	end s{ cfg };

	s.post(33);
	s.receive(connprop({}));
	EXPECT_EQ(s.control().data(),
		  connprop({ prop32(1, 5000), prop32(2, 6000), prop32(3, 7000),
			     prop32(4, 8), prop32(0xF0000001, 3),
			     prop32(0xF0000002, 9000) },
			   0, 0, 1)
			  .data());
}

/* A peer that announces nothing has the defaults (4.2.2, table 1 in 5.2). */
TEST(Props, Defaults)
{
	auto cfg = usual_config(false);
	struct rpcrdma_conn_limits limits;

	cfg.props.sbsiz = 16384;
	cfg.props.rbsiz = 16384;

	end e{ cfg };

	e.post(33);
	e.receive(connprop({}));
	ASSERT_EQ(e.conn.state, RPCRDMA_CONN_OPEN);
	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.send_inline, 4096u);
	EXPECT_EQ(limits.recv_inline, 4096u);
	EXPECT_EQ(limits.max_segment, 1048576u);
	EXPECT_EQ(limits.max_segs, 16u);
	EXPECT_EQ(limits.continued, 262144u);
	EXPECT_EQ(e.conn.peer.brs, +RDMA2_RVRSDIR_NONE);
	EXPECT_EQ(e.conn.peer.reply_read, 0u);
}

TEST(Props, ConfigIsClamped)
{
	rpcrdma_conn_config cfg = {};
	rpcrdma_conn conn;

	rpcrdma_conn_init(&conn, &cfg);
	EXPECT_EQ(conn.cfg.version_low, 1);
	EXPECT_EQ(conn.cfg.version_high, 1);
	EXPECT_EQ(conn.cfg.window, +RPCRDMA_MIN_WINDOW);
	EXPECT_EQ(conn.cfg.reverse, 1u);
	EXPECT_EQ(conn.cfg.props.sbsiz, 1024u);
	EXPECT_EQ(conn.cfg.props.rbsiz, 1024u);

	cfg.version_low = 1;
	cfg.version_high = 9;
	cfg.window = ~0u;
	cfg.props = { ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u };
	rpcrdma_conn_init(&conn, &cfg);
	EXPECT_EQ(conn.cfg.version_low, 1);
	EXPECT_EQ(conn.cfg.version_high, 2);
	EXPECT_EQ(conn.cfg.window, +RPCRDMA_MAX_CREDIT);
	EXPECT_EQ(conn.cfg.props.sbsiz, 262144u);
	EXPECT_EQ(conn.cfg.props.rcsiz, +RPCRDMA_MAX_SEGS);
	EXPECT_EQ(conn.cfg.props.brs, +RDMA2_RVRSDIR_GENL);
	EXPECT_EQ(conn.cfg.props.reply_read, 3u);
	EXPECT_EQ(conn.cfg.props.reassembly, +RPCRDMA_MAX_CHUNK_OCTETS);

	/* A zero in one property means no chunks at all. */
	cfg.props.rssiz = 0;
	rpcrdma_conn_init(&conn, &cfg);
	EXPECT_EQ(conn.cfg.props.rcsiz, 0u);
}

struct value_case {
	const char *name;
	std::vector<prop> props;
	u32 error;
	/* The outcome for one property */
	u32 rpcrdma_props::*member;
	u32 value;
};

const value_case value_cases[] = {
	{ "none", {}, 0, &rpcrdma_props::rssiz, 1048576 },
	{ "sbsiz_lowest", { prop32(1, 1024) }, 0, &rpcrdma_props::sbsiz, 1024 },
	{ "sbsiz_low",
	  { prop32(1, 1023) },
	  RDMA2_ERR_BAD_PROPVAL,
	  &rpcrdma_props::sbsiz,
	  4096 },
	{ "sbsiz_zero",
	  { prop32(1, 0) },
	  RDMA2_ERR_BAD_PROPVAL,
	  &rpcrdma_props::sbsiz,
	  4096 },
	{ "sbsiz_highest", { prop32(1, ~0u) }, 0, &rpcrdma_props::sbsiz, ~0u },
	{ "rbsiz_lowest", { prop32(2, 1024) }, 0, &rpcrdma_props::rbsiz, 1024 },
	{ "rbsiz_low",
	  { prop32(2, 1023) },
	  RDMA2_ERR_BAD_PROPVAL,
	  &rpcrdma_props::rbsiz,
	  4096 },
	{ "rssiz_zero", { prop32(3, 0) }, 0, &rpcrdma_props::rssiz, 0 },
	{ "rssiz_highest", { prop32(3, ~0u) }, 0, &rpcrdma_props::rssiz, ~0u },
	{ "rcsiz_zero", { prop32(4, 0) }, 0, &rpcrdma_props::rcsiz, 0 },
	{ "rcsiz_highest", { prop32(4, ~0u) }, 0, &rpcrdma_props::rcsiz, ~0u },
	{ "brs_highest", { prop32(5, 3) }, 0, &rpcrdma_props::brs, 3 },
	{ "brs_high",
	  { prop32(5, 4) },
	  RDMA2_ERR_BAD_PROPVAL,
	  &rpcrdma_props::brs,
	  0 },
	{ "hostauth",
	  { { 6, octets(77) }, prop32(4, 5) },
	  0,
	  &rpcrdma_props::rcsiz,
	  5 },
	{ "hostauth_empty",
	  { { 6, {} }, prop32(4, 5) },
	  0,
	  &rpcrdma_props::rcsiz,
	  5 },
	{ "reply_read",
	  { prop32(0xF0000001, 3) },
	  0,
	  &rpcrdma_props::reply_read,
	  3 },
	{ "reassembly_zero",
	  { prop32(0xF0000002, 0) },
	  0,
	  &rpcrdma_props::reassembly,
	  0 },
	{ "default",
	  { prop32(2, 9000), { 2, {} } },
	  0,
	  &rpcrdma_props::rbsiz,
	  4096 },
	{ "repeated",
	  { prop32(2, 9000), prop32(2, 1111), prop32(2, 2222) },
	  0,
	  &rpcrdma_props::rbsiz,
	  2222 },
	{ "repeated_first_bad",
	  { prop32(2, 1), prop32(2, 2222) },
	  RDMA2_ERR_BAD_PROPVAL,
	  &rpcrdma_props::rbsiz,
	  4096 },
	{ "unknown",
	  { prop32(0, 1), { 7, octets(5) }, prop32(~0u, 1), prop32(2, 2222) },
	  0,
	  &rpcrdma_props::rbsiz,
	  2222 },
	{ "one_octet",
	  { { 4, octets{ 5 } } },
	  RDMA2_ERR_BAD_PROPVAL,
	  &rpcrdma_props::rcsiz,
	  16 },
	{ "three_octets",
	  { { 4, octets{ 0, 0, 5 } } },
	  RDMA2_ERR_BAD_PROPVAL,
	  &rpcrdma_props::rcsiz,
	  16 },
	{ "eight_octets",
	  { { 4, octets{ 0, 0, 0, 5, 0, 0, 0, 5 } } },
	  RDMA2_ERR_BAD_PROPVAL,
	  &rpcrdma_props::rcsiz,
	  16 },
	{ "none_applies",
	  { prop32(4, 5), prop32(1, 0) },
	  RDMA2_ERR_BAD_PROPVAL,
	  &rpcrdma_props::rcsiz,
	  16 },
};

class Values : public testing::TestWithParam<value_case>
{
};

TEST_P(Values, OfProperties)
{
	const value_case &c = GetParam();
	auto e = new_server();

	e->receive(connprop(c.props));
	/* Whether refused or not, the opening continues. */
	EXPECT_TRUE(e->all_events & RPCRDMA_EV_OPENED);
	EXPECT_EQ(e->conn.peer.*c.member, c.value);
	if (c.error) {
		const message m = e->control();

		/*
		 * Sent before the CONNPROP of this end: the client must still
		 * be opening.
		 */
		ASSERT_EQ(m.size(), 28u);
		EXPECT_EQ(m.get(0), 0u);
		EXPECT_EQ(m.get(12), +RDMA2_ERROR);
		EXPECT_EQ(m.get(16), +RDMA2_F_RESPONSE);
		EXPECT_EQ(m.get(24), c.error);
	}
	EXPECT_EQ(e->control().get(12), +RDMA2_CONNPROP);
	EXPECT_EQ(e->control().size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Values, testing::ValuesIn(value_cases),
			 [](const auto &info) {
				 return std::string(info.param.name);
			 });

TEST(Props, Malformed)
{
	const message whole =
		connprop({ prop32(4, 5), { 77, octets(6) }, prop32(2, 2222) });

	for (u32 n = 24; n < whole.size(); n++) {
		auto e = new_server();
		message m = whole;

		e->receive(m.truncate(n));
		EXPECT_EQ(e->conn.peer.rcsiz, 16u) << n;

		const message answer = e->control();

		ASSERT_EQ(answer.get(12), +RDMA2_ERROR) << n;
		EXPECT_TRUE(answer.get(24) == RDMA2_ERR_BAD_XDR ||
			    answer.get(24) == RDMA2_ERR_BAD_PROPVAL);
		EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
	}
	/* Wrong counts and lengths */
	for (u32 lie : { 4u, 0x7fffffffu, 0x80000000u, ~0u }) {
		auto e = new_server();
		message m = whole;

		e->receive(m.set(24, lie));
		EXPECT_EQ(e->control().get(24), +RDMA2_ERR_BAD_XDR);
	}
	for (u32 lie : { 100u, 0x7fffffffu, 0xfffffff0u, 0xfffffffdu, ~0u }) {
		auto e = new_server();
		message m = whole;

		e->receive(m.set(44, lie));
		EXPECT_EQ(e->control().get(24), +RDMA2_ERR_BAD_PROPVAL) << lie;
	}
}

TEST(Props, RefusedPartStillCounts)
{
	auto e = new_server();

	e->receive(connprop({ prop32(1, 1) }, RDMA2_F_TPMORE));
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPENING);
	e->receive(connprop({ prop32(4, 7) }, RDMA2_F_MORE));
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
	EXPECT_EQ(e->conn.peer.rcsiz, 16u);
	EXPECT_EQ(e->control().get(24), +RDMA2_ERR_BAD_PROPVAL);
	EXPECT_EQ(e->control().get(24), +RDMA2_ERR_INVAL_CONT);
	EXPECT_EQ(e->control().get(12), +RDMA2_CONNPROP);
}

TEST(Props, OwnOnesRefused)
{
	auto cfg = usual_config(true);

	cfg.props.sbsiz = 16384;
	cfg.props.rbsiz = 16384;
	cfg.props.rssiz = 4096;
	cfg.props.rcsiz = 3;
	cfg.props.brs = RDMA2_RVRSDIR_GENL;
	cfg.props.reply_read = RDMA2_REPLY_READ_PULL;
	cfg.props.reassembly = 77;

	end e{ cfg };

	e.post(33);
	rpcrdma_conn_established(&e.conn);
	e.control();
	EXPECT_EQ(e.receive(message()
				    .prefix(0, RDMA2_ERROR, 1, 16, 1)
				    .word(RDMA2_ERR_BAD_PROPVAL)),
		  RPCRDMA_RX_DONE);
	EXPECT_EQ(e.conn.counters.errors_received, 1u);
	e.receive(connprop({ prop32(1, 16384), prop32(2, 16384) }, 0, 0, 1));
	ASSERT_EQ(e.conn.state, RPCRDMA_CONN_OPEN);

	struct rpcrdma_conn_limits limits;

	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.send_inline, 4096u);
	EXPECT_EQ(limits.recv_inline, 4096u);
	EXPECT_EQ(e.conn.cfg.props.brs, +RDMA2_RVRSDIR_NONE);
	EXPECT_EQ(e.conn.cfg.props.rssiz, 1048576u);
	EXPECT_EQ(e.conn.cfg.props.rcsiz, 16u);
	EXPECT_EQ(e.conn.cfg.props.reply_read, 0u);
	EXPECT_EQ(e.conn.cfg.props.reassembly, 262144u);
}

/* An ERROR about another message does not reset the properties of this end. */
TEST(Props, OtherErrorsRefuseNone)
{
	const auto error = [](u32 xid) {
		return message()
			.prefix(xid, RDMA2_ERROR, RDMA2_F_RESPONSE, 16, 0)
			.word(RDMA2_ERR_BAD_PROPVAL);
	};
	auto cfg = usual_config(false);

	cfg.props.rcsiz = 3;

	/* This end has sent no CONNPROP. */
	end server{ cfg };

	server.post(33);
	EXPECT_EQ(server.receive(error(0)), RPCRDMA_RX_DONE);
	EXPECT_EQ(server.conn.cfg.props.rcsiz, 3u);
	EXPECT_EQ(server.conn.counters.dropped, 1u);
	EXPECT_EQ(server.conn.counters.errors_received, 0u);

	/* CONNPROP has no xid. */
	cfg.client = 1;
	end client{ cfg };

	client.post(33);
	rpcrdma_conn_established(&client.conn);
	ASSERT_EQ(client.control().get(12), +RDMA2_CONNPROP);
	EXPECT_EQ(client.receive(error(9)), RPCRDMA_RX_DONE);
	EXPECT_EQ(client.conn.cfg.props.rcsiz, 3u);
	EXPECT_EQ(client.conn.counters.dropped, 1u);
	EXPECT_EQ(client.conn.counters.errors_received, 0u);
	EXPECT_EQ(client.receive(error(0)), RPCRDMA_RX_DONE);
	EXPECT_EQ(client.conn.cfg.props.rcsiz, 16u);
}

/* CONNPROP is not a Reply: with RESPONSE set, none of its values applies. */
TEST(Props, ResponseAppliesNothing)
{
	auto e = new_server();

	e->receive(
		connprop({ prop32(RDMA2_PROPID_RCSIZ, 7) }, RDMA2_F_RESPONSE));
	EXPECT_EQ(e->conn.counters.dropped, 1u);
	/* It is counted, and not answered with an ERROR. */
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
	EXPECT_EQ(e->conn.peer.rcsiz, 16u);
	EXPECT_EQ(e->control().get(12), +RDMA2_CONNPROP);
	EXPECT_EQ(e->control().size(), 0u);
}

/* Its messages are not larger than it announced. */
TEST(Props, OwnOnesRefusedButSmall)
{
	auto cfg = usual_config(true);

	cfg.props.sbsiz = 1024;
	cfg.props.rbsiz = 1024;

	end e{ cfg };
	struct rpcrdma_conn_limits limits;

	e.post(33);
	rpcrdma_conn_established(&e.conn);
	e.control();
	e.receive(message()
			  .prefix(0, RDMA2_ERROR, 1, 16, 1)
			  .word(RDMA2_ERR_BAD_XDR));
	e.receive(connprop({}, 0, 0, 1));
	ASSERT_EQ(e.conn.state, RPCRDMA_CONN_OPEN);
	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.send_inline, 1024u);
	EXPECT_EQ(limits.recv_inline, 4096u);
}

message props_refused(u32 received)
{
	return message()
		.prefix(0, RDMA2_ERROR, RDMA2_F_RESPONSE, 16, received)
		.word(RDMA2_ERR_BAD_PROPVAL);
}

/*
 * A server is already open when it receives the ERROR, but nothing has used its
 * properties.
 */
TEST(Props, AServersOwnOnesRefused)
{
	auto cfg = usual_config(false);

	cfg.props.sbsiz = 16384;
	cfg.props.rbsiz = 16384;
	cfg.props.rssiz = 4096;
	cfg.props.rcsiz = 3;
	cfg.props.reply_read = RDMA2_REPLY_READ_PROVIDE;
	cfg.props.reassembly = 300000;

	for (u32 own : { 300000u, 77u }) {
		cfg.props.reassembly = own;

		end e{ cfg };

		e.post(33);
		e.receive(connprop({ prop32(1, 16384), prop32(2, 16384) }));
		ASSERT_EQ(e.control().get(12), +RDMA2_CONNPROP);
		ASSERT_EQ(e.conn.state, RPCRDMA_CONN_OPEN);
		EXPECT_EQ(rpcrdma_conn_limits(&e.conn).send_inline, 16384u);
		EXPECT_EQ(e.receive(props_refused(1)), RPCRDMA_RX_DONE);
		EXPECT_EQ(e.conn.counters.errors_received, 1u);
		EXPECT_EQ(e.conn.counters.dropped, 0u);

		const struct rpcrdma_conn_limits limits =
			rpcrdma_conn_limits(&e.conn);

		EXPECT_EQ(limits.send_inline, 4096u);
		EXPECT_EQ(limits.recv_inline, 4096u);
		EXPECT_EQ(e.conn.cfg.props.rssiz, 1048576u);
		EXPECT_EQ(e.conn.cfg.props.rcsiz, 16u);
		EXPECT_EQ(e.conn.cfg.props.reply_read, 0u);
		/* Memory is charged for the announced size, or less. */
		EXPECT_EQ(e.conn.cfg.props.reassembly, std::min(own, 262144u));
		EXPECT_EQ(e.conn.state, RPCRDMA_CONN_OPEN);
	}
}

/* Then the ERROR is about a Call of this end, as any other is. */
TEST(Props, AnErrorLaterIsAboutACall)
{
	for (u32 n = 0; n < 3; n++) {
		auto e = open_server();
		const u32 rcsiz = e->conn.cfg.props.rcsiz;

		switch (n) {
		case 0:
			e->send(RPCRDMA_KIND_CALL, 0);
			rpcrdma_conn_count(&e->conn, RPCRDMA_KIND_CALL,
					   RPCRDMA_INLINE, nullptr);
			break;
		case 1:
			e->receive(message()
					   .prefix(5, RDMA2_MSG, 0, 16, 1)
					   .no_lists()
					   .rpc(5, CALL, 40));
			break;
		default:
			EXPECT_EQ(e->receive(props_refused(1).set(0, 7)),
				  RPCRDMA_RX_ERROR);
			EXPECT_EQ(e->conn.cfg.props.rcsiz, rcsiz);
			continue;
		}
		EXPECT_EQ(e->receive(props_refused(1)), RPCRDMA_RX_ERROR);
		EXPECT_EQ(e->rx.xid, 0u);
		EXPECT_EQ(e->conn.cfg.props.rcsiz, rcsiz);
	}
	/* A client has opened, and knows the refused properties. */
	auto e = open_client();

	EXPECT_EQ(e->receive(props_refused(1)), RPCRDMA_RX_ERROR);
}

TEST(Props, LimitsOfBothEnds)
{
	struct {
		u32 own_s, own_r, peer_s, peer_r, send, recv;
	} const cases[] = {
		{ 4096, 4096, 4096, 4096, 4096, 4096 },
		{ 4096, 8192, 16384, 1024, 1024, 8192 },
		{ 16384, 4096, 4096, 16384, 16384, 4096 },
		{ 1024, 1024, ~0u, ~0u, 1024, 1024 },
	};

	for (const auto &c : cases) {
		auto own = usual_config(false);

		own.props.sbsiz = c.own_s;
		own.props.rbsiz = c.own_r;

		end e{ own };
		struct rpcrdma_conn_limits limits;

		e.post(33);
		e.receive(connprop({ prop32(1, c.peer_s), prop32(2, c.peer_r),
				     prop32(0xF0000002, 77) }));
		limits = rpcrdma_conn_limits(&e.conn);
		EXPECT_EQ(limits.send_inline, c.send);
		EXPECT_EQ(limits.recv_inline, c.recv);
		EXPECT_EQ(limits.continued, 77u);
		EXPECT_EQ(limits.max_segs, 16u);
		EXPECT_EQ(limits.max_segment, 1048576u);
	}
	for (u32 id : { 3u, 4u }) {
		auto e = new_server();
		struct rpcrdma_conn_limits limits;

		e->receive(connprop({ prop32(id, 0) }));
		limits = rpcrdma_conn_limits(&e->conn);
		EXPECT_EQ(limits.max_segs, 0u);
		EXPECT_EQ(limits.max_segment, 0u);
	}
}

TEST(Props, NoChunksWithoutRegions)
{
	auto own = usual_config(false);

	own.no_regions = 1;

	end e{ own };
	struct rpcrdma_conn_limits limits;

	e.post(33);
	e.receive(connprop({ prop32(1, 4096), prop32(2, 4096) }));
	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.max_segs, 0u);
	EXPECT_EQ(limits.max_segment, 0u);
	EXPECT_EQ(limits.send_inline, 4096u);
}

/* Both ends, with every small number of Receives */
TEST(Opening, OfTwoEngines)
{
	for (u32 client = 2; client < 8; client++) {
		for (u32 server = 5; server < 9; server++) {
			sim_options o = usual_options(4, 4);

			o.posted[0] = client;
			o.posted[1] = server;

			sim s{ o };

			EXPECT_TRUE(s.open()) << client << " " << server << " "
					      << s.complaint();
			EXPECT_EQ(s.complaint(), "");
		}
	}
}

/* ---- RFC 8797 ---- */

/* Only the lowest bit of the flags byte has a meaning (RFC 8797, 4). */
TEST(Private, ReservedFlagsAreIgnored)
{
	const rpcrdma_private out = {
		.valid = 1, .inv_ok = 0, .send_size = 4096, .recv_size = 8192
	};
	u8 buf[8];

	rpcrdma_encode_private(&out, buf);
	for (u32 flags = 0; flags < 256; flags++) {
		rpcrdma_private in;

		buf[5] = static_cast<u8>(flags);
		rpcrdma_decode_private(buf, 8, &in);
		EXPECT_EQ(in.valid, 1);
		EXPECT_EQ(in.inv_ok, flags & 1) << flags;
		EXPECT_EQ(in.send_size, 4096u);
		EXPECT_EQ(in.recv_size, 8192u);
	}
}

TEST(Private, RoundTrip)
{
	for (u32 size = 0; size < 300000; size += 511) {
		for (u8 inv : { 0, 1 }) {
			const rpcrdma_private out = { .valid = 1,
						      .inv_ok = inv,
						      .send_size = size,
						      .recv_size =
							      size + 1024 };
			rpcrdma_private in;
			u8 buf[8];

			rpcrdma_encode_private(&out, buf);
			rpcrdma_decode_private(buf, 8, &in);
			EXPECT_EQ(in.valid, 1);
			EXPECT_EQ(in.inv_ok, inv);
			EXPECT_EQ(in.send_size,
				  std::clamp(size, 1024u, 262144u) / 1024 *
					  1024);
			EXPECT_EQ(in.recv_size,
				  std::clamp(size + 1024, 1024u, 262144u) /
					  1024 * 1024);
		}
	}
}

TEST(Private, OctetForOctet)
{
	const rpcrdma_private priv = { 1, 1, 4096, 262144 };
	u8 buf[8];
	const u8 expected[8] = { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 255 };

	rpcrdma_encode_private(&priv, buf);
	EXPECT_EQ(memcmp(buf, expected, 8), 0);
}

TEST(Private, NotOurs)
{
	u8 good[56] = { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 255 };
	rpcrdma_private priv;

	rpcrdma_decode_private(good, 56, &priv);
	EXPECT_EQ(priv.valid, 1);
	for (u32 length = 0; length < 8; length++) {
		auto copy = std::make_unique<u8[]>(length);

		memcpy(copy.get(), good, length);
		rpcrdma_decode_private(copy.get(), length, &priv);
		EXPECT_EQ(priv.valid, 0);
		EXPECT_EQ(priv.send_size, 1024u);
	}
	rpcrdma_decode_private(nullptr, 0, &priv);
	EXPECT_EQ(priv.valid, 0);
	EXPECT_EQ(priv.inv_ok, 0);
	for (u32 i = 0; i < 5; i++) {
		u8 bad[8];

		memcpy(bad, good, 8);
		bad[i] ^= 4;
		rpcrdma_decode_private(bad, 8, &priv);
		EXPECT_EQ(priv.valid, 0);
	}
	/* Other flags are ignored. */
	good[5] = 0xfe;
	rpcrdma_decode_private(good, 8, &priv);
	EXPECT_EQ(priv.valid, 1);
	EXPECT_EQ(priv.inv_ok, 0);
}

} // namespace
