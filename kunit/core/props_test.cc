// SPDX-License-Identifier: GPL-2.0
/* Transport properties (WP 5) */
#include "opening.hh"

using namespace engine_test;
using namespace engine_test::opening;

namespace
{

/* ---- Values ---- */

TEST(Props, OwnProperties)
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

	/* Zero in either property means no chunks at all. */
	cfg.props.rssiz = 0;
	rpcrdma_conn_init(&conn, &cfg);
	EXPECT_EQ(conn.cfg.props.rcsiz, 0u);
}

struct value_case {
	const char *name;
	std::vector<prop> props;
	u32 error;
	/* The message with one property, and the outcome */
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
	/* The opening continues, whether the property was refused or not. */
	EXPECT_TRUE(e->all_events & RPCRDMA_EV_OPENED);
	EXPECT_EQ(e->conn.peer.*c.member, c.value);
	if (c.error) {
		const message m = e->control();

		/*
		 * The ERROR is sent before this end's CONNPROP, because the
		 * client must still be opening.
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

TEST(Props, OwnPropertiesRefused)
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
		  RPCRDMA_RX_CONSUMED);
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
	EXPECT_EQ(server.receive(error(0)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(server.conn.cfg.props.rcsiz, 3u);
	EXPECT_EQ(server.conn.counters.dropped, 1u);
	EXPECT_EQ(server.conn.counters.errors_received, 0u);

	/* CONNPROP has no xid. */
	cfg.client = 1;
	end client{ cfg };

	client.post(33);
	rpcrdma_conn_established(&client.conn);
	ASSERT_EQ(client.control().get(12), +RDMA2_CONNPROP);
	EXPECT_EQ(client.receive(error(9)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(client.conn.cfg.props.rcsiz, 3u);
	EXPECT_EQ(client.conn.counters.dropped, 1u);
	EXPECT_EQ(client.conn.counters.errors_received, 0u);
	EXPECT_EQ(client.receive(error(0)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(client.conn.cfg.props.rcsiz, 16u);
}

/* CONNPROP is not a Reply: with RESPONSE set, none of its values applies. */
TEST(Props, ResponseAppliesNothing)
{
	auto e = new_server();

	e->receive(
		connprop({ prop32(RDMA2_PROPID_RCSIZ, 7) }, RDMA2_F_RESPONSE));
	EXPECT_EQ(e->conn.counters.dropped, 1u);
	/* The message is counted, and not answered with an ERROR. */
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
	EXPECT_EQ(e->conn.peer.rcsiz, 16u);
	EXPECT_EQ(e->control().get(12), +RDMA2_CONNPROP);
	EXPECT_EQ(e->control().size(), 0u);
}

/* After the refusal, this end's messages are not larger than it announced. */
TEST(Props, SmallPropertiesRefused)
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
 * A server is already open when it receives the ERROR, but no message has used
 * its properties yet.
 */
TEST(Props, AServersPropertiesRefused)
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
		EXPECT_EQ(e.receive(props_refused(1)), RPCRDMA_RX_CONSUMED);
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

/*
 * Once its properties were used, the ERROR is about a Call of this end, as any
 * other is.
 */
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
	/* A client that is open knows whether its properties were refused. */
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

TEST(Props, NoChunksWithoutMrs)
{
	auto own = usual_config(false);

	own.no_mrs = 1;

	end e{ own };
	struct rpcrdma_conn_limits limits;

	e.post(33);
	e.receive(connprop({ prop32(1, 4096), prop32(2, 4096) }));
	limits = rpcrdma_conn_limits(&e.conn);
	EXPECT_EQ(limits.max_segs, 0u);
	EXPECT_EQ(limits.max_segment, 0u);
	EXPECT_EQ(limits.send_inline, 4096u);
}

} // namespace
