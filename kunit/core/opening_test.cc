// SPDX-License-Identifier: GPL-2.0
/* Opening a connection: versions and order (WP 1, 4) */
#include "opening.hh"

using namespace engine_test;
using namespace engine_test::opening;

namespace
{

std::unique_ptr<end> new_client()
{
	auto e = std::make_unique<end>(usual_config(true));

	e->post(33);
	rpcrdma_conn_established(&e->conn);
	e->control();
	return e;
}

/* ---- Versions ---- */

TEST(Version, OthersGetErrVers)
{
	for (u32 version : { 0u, 1u, 3u, 0x01000000u, ~0u }) {
		auto e = new_server();

		EXPECT_EQ(e->receive(version1_call(version)),
			  RPCRDMA_RX_CONSUMED);
		EXPECT_TRUE(e->events & RPCRDMA_EV_CONTROL);
		EXPECT_EQ(e->control().data(), message()
						       .word(5)
						       .word(version)
						       .word(1)
						       .word(4)
						       .word(1)
						       .word(2)
						       .word(2)
						       .data());
		EXPECT_EQ(e->conn.version, 0);
		EXPECT_EQ(e->conn.sent, 1u);
		EXPECT_EQ(e->conn.counters.errors_sent, 1u);
	}
}

/*
 * A client of version 1 sends its RPCs one after the other, and each Call is refused. A
 * client with a later version may continue with version 2 on the same connection.
 */
TEST(Version, EachMessageGetsErrVers)
{
	auto e = new_server();

	for (u32 i = 1; i < 100; i++) {
		EXPECT_EQ(e->receive(version1_call(1)), RPCRDMA_RX_CONSUMED);
		ASSERT_EQ(e->control().size(), 28u) << i;
		EXPECT_EQ(e->conn.sent, i);
		EXPECT_EQ(e->conn.advertised, i + 1);
	}
	e->receive(connprop({}).set(20, e->conn.sent));
	EXPECT_EQ(e->control().get(12), +RDMA2_CONNPROP);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

/* A peer that sends more messages than ERR_VERS permits is closed. */
TEST(Version, ErrVersPermitsOneMessage)
{
	auto e = new_server();

	e->receive(version1_call(1));
	e->control();
	EXPECT_EQ(e->receive(version1_call(1)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->receive(version1_call(1)), RPCRDMA_RX_CONSUMED)
		<< "the reserve";
	EXPECT_EQ(e->receive(version1_call(1)), RPCRDMA_RX_CLOSE);
}

TEST(Version, ErrVersThenVersion2)
{
	auto e = new_server();

	e->receive(version1_call(1));
	e->control();
	/* The peer has received this end's answer. */
	e->receive(connprop({}).set(20, 1));
	EXPECT_EQ(e->conn.version, 2);
	EXPECT_EQ(e->control().get(12), +RDMA2_CONNPROP);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

TEST(Version, AnErrorIsNeverAnswered)
{
	auto e = new_server();

	EXPECT_EQ(e->receive(version1_call(1, RDMA2_ERROR)),
		  RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->control().size(), 0u);
	EXPECT_EQ(e->conn.counters.dropped, 1u);
}

TEST(Version, ShortMessagesAreDropped)
{
	for (u32 n = 0; n < 16; n++) {
		auto e = new_server();

		EXPECT_EQ(e->receive(version1_call(1).truncate(n)),
			  RPCRDMA_RX_CONSUMED);
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
TEST(Version, ClientDistinguishesOtherErrorsFromErrVers)
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

		EXPECT_EQ(e->receive(c.m), RPCRDMA_RX_CONSUMED) << c.what;
		EXPECT_EQ(e->conn.err_vers_high, 0) << c.what;
		EXPECT_EQ(e->conn.version, 2) << c.what;
	}
	/* After the opening, it is an error like any other. */
	auto e = open_client();

	EXPECT_EQ(e->receive(err_vers(1, 1)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

/*
 * The prefix of the draft has no received word. In its place is the number of
 * properties, which reads as more messages received than were sent.
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

/* A server's first window is at least the minimum of a normal window. */
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
 * With a window of one, the ERROR uses the only credit, and this end's CONNPROP
 * has to wait.
 */
TEST(Order, OpenedOnlyWhenOwnPartsCanBeSent)
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
 * Posting a Receive before this end's CONNPROP is sent raises the event to send
 * it.
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
	/* Later Receives cause no event. */
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

		/* RPC traffic between the parts of the client's CONNPROP */
		server = new_server();
		server->receive(connprop({}, RDMA2_F_TPMORE));
		EXPECT_EQ(server->receive(m), RPCRDMA_RX_CLOSE);

		/* RPC traffic before the server has sent its CONNPROP */
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

		EXPECT_EQ(e->receive(m), RPCRDMA_RX_CONSUMED);
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

TEST(Order, TooManyBytesClose)
{
	auto e = new_server();
	const message part = connprop({ { 77, octets(4000) } }, RDMA2_F_TPMORE);
	u32 total = 0;
	rpcrdma_verdict v;

	do {
		e->control();
		total += part.size();
		v = e->receive(part);
	} while (v == RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(v, RPCRDMA_RX_CLOSE);
	EXPECT_GT(total, 65536u);
	EXPECT_LE(total - part.size(), 65536u);
}

/* Both ends open, with every small number of Receives. */
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

} // namespace
