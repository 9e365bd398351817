// SPDX-License-Identifier: GPL-2.0
/* Control messages, errors and directions (WP 2, 6, 7) */
#include "messages.hh"

using namespace engine_test;
using namespace engine_test::messages;

namespace
{

/* The direction is invalid, whatever the flags are. */
TEST(Messages, TheDirectionIsNotDerivedFromFlags)
{
	for (u32 flags = 2; flags; flags <<= 1) {
		auto e = open_server();
		const auto verdict =
			e->receive(message()
					   .prefix(X, RDMA2_MSG, flags, 100, 1)
					   .no_lists()
					   .rpc(X, flags, 64));

		EXPECT_NE(verdict, RPCRDMA_RX_CALL) << flags;
		EXPECT_NE(verdict, RPCRDMA_RX_REPLY) << flags;
	}
}

/* ---- The reverse Calls that a client accepts (5.2.5, 4.5.4) ---- */

TEST(Reverse, ByLevel)
{
	for (u32 brs = 0; brs <= 3; brs++) {
		auto cfg = usual_config(true);
		u32 error;

		cfg.props.brs = brs;
		auto e = open_end(cfg, usual_config(false));

		EXPECT_EQ(e->receive(first(X, 0)),
			  brs ? RPCRDMA_RX_CALL : RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(errors(*e),
			  brs ? error_list{} :
				(error_list{ { X, RDMA2_ERR_SYSTEM } }));

		EXPECT_EQ(e->receive(first(Y, MORE)),
			  brs >= 2 ? RPCRDMA_RX_FRAGMENT : RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(e->receive(next(Y, 0)),
			  brs >= 2 ? RPCRDMA_RX_CALL : RPCRDMA_RX_CONSUMED);
		error = brs ? +RDMA2_ERR_INVAL_CONT : +RDMA2_ERR_SYSTEM;
		if (brs < 2)
			EXPECT_EQ(errors(*e).front(),
				  (std::pair<u32, u32>{ Y, error }));

		e->receive(message()
				   .prefix(Z, RDMA2_MSG, 0, 100, 1)
				   .word(0)
				   .read_segment(8, 1, 4)
				   .word(0)
				   .word(0)
				   .word(0)
				   .rpc(Z, CALL, 40));
		error = brs ? +RDMA2_ERR_READ_CHUNKS : +RDMA2_ERR_SYSTEM;
		EXPECT_EQ(errors(*e), brs == 3 ? error_list{} :
						 (error_list{ { Z, error } }));
		e->receive(message()
				   .prefix(Z, RDMA2_MSG, 0, 100, 1)
				   .word(0)
				   .word(0)
				   .word(1)
				   .word(1)
				   .segment(1, 4, 0)
				   .word(0)
				   .word(0)
				   .rpc(Z, CALL, 40));
		/*
		 * At the level SIMPLE, a Reply that would need chunks cannot be
		 * conveyed (7.3.2).
		 */
		error = brs == 2 ? +RDMA2_ERR_WRITE_CHUNKS :
			brs	 ? +RDMA2_ERR_REPLY_RESOURCE :
				   +RDMA2_ERR_SYSTEM;
		EXPECT_EQ(errors(*e), brs == 3 ? error_list{} :
						 (error_list{ { Z, error } }));
	}
}

/* ---- Read chunks on a connection without outbound Reads (WP 4) ---- */

/* A reserved flag makes a message take the general path. */
TEST(Reads, NoneNegotiated)
{
	for (u32 outbound : { 0u, 1u }) {
		for (u32 flags : { 0u, 0x80000000u }) {
			auto e = open_server();
			const auto call = [flags](u32 htype) {
				return message()
					.prefix(X, htype, flags, 100, 1)
					.word(0);
			};
			const error_list refused = {
				{ X, RDMA2_ERR_READ_CHUNKS }
			};
			const error_list reads = outbound ? error_list{} :
							    refused;

			rpcrdma_conn_read_depth(&e->conn, outbound, 1);
			e->receive(call(RDMA2_MSG)
					   .read_segment(8, 1, 4)
					   .word(0)
					   .word(0)
					   .word(0)
					   .rpc(X, CALL, 40));
			EXPECT_EQ(errors(*e), reads);
			e->receive(call(RDMA2_NOMSG)
					   .read_segment(0, 1, 100)
					   .word(0)
					   .word(0)
					   .word(0));
			EXPECT_EQ(errors(*e), reads);
			EXPECT_EQ(e->receive(call(RDMA2_MSG)
						     .word(0)
						     .word(1)
						     .word(1)
						     .segment(1, 4, 0)
						     .word(0)
						     .word(0)
						     .rpc(X, CALL, 40)),
				  RPCRDMA_RX_CALL);
			EXPECT_EQ(e->receive(first(X, flags)), RPCRDMA_RX_CALL);
		}
	}
}

/* ---- Control messages and unknown ones ---- */

TEST(Control, Grants)
{
	struct {
		const char *what;
		message m;
		u64 counted;
		u32 error; /* with its xid */
	} const cases[] = {
		{ "plain", grant(), 1, 0 },
		{ "with an inv_handle",
		  message().prefix(0, RDMA2_NOMSG, 0, 100, 1).no_lists(7), 1,
		  0 },
		{ "RESPONSE",
		  message().prefix(0, RDMA2_NOMSG, RESP, 100, 1).no_lists(), 0,
		  0 },
		{ "MORE",
		  message().prefix(0, RDMA2_NOMSG, MORE, 100, 1).no_lists(), 0,
		  0 },
		{ "TPMORE",
		  message()
			  .prefix(0, RDMA2_NOMSG, RDMA2_F_TPMORE, 100, 1)
			  .no_lists(),
		  0, 0 },
		{ "xid", message().prefix(X, RDMA2_NOMSG, 0, 100, 1).no_lists(),
		  0, RDMA2_ERR_BAD_XDR },
		{ "too short",
		  message()
			  .prefix(0, RDMA2_NOMSG, 0, 100, 1)
			  .no_lists()
			  .truncate(36),
		  0, RDMA2_ERR_BAD_XDR },
	};

	for (const auto &c : cases) {
		auto e = open_server();

		EXPECT_EQ(e->receive(c.m), RPCRDMA_RX_CONSUMED) << c.what;
		EXPECT_EQ(e->conn.counters.grants_received, c.counted)
			<< c.what;
		EXPECT_EQ(errors(*e),
			  c.error ? (error_list{ { c.m.get(0), c.error } }) :
				    error_list{})
			<< c.what;
	}
}

/* Tracepoints report credit grants of version 2, and no other message. */
TEST(Control, GrantsAreRecognised)
{
	auto e = open_server();
	const auto is_grant = [&](const message &m) {
		return rpcrdma_conn_is_grant(&e->conn, m.data().data(),
					     m.size());
	};

	EXPECT_TRUE(is_grant(grant()));
	EXPECT_FALSE(is_grant(
		message().prefix(X, RDMA2_NOMSG, 0, 100, 1).no_lists()));
	EXPECT_FALSE(
		is_grant(message().prefix(0, RDMA2_MSG, 0, 100, 1).no_lists()));
	EXPECT_FALSE(is_grant(message().prefix(X, RDMA2_DONE, 0, 100, 1)));
	EXPECT_FALSE(is_grant(message()
				      .prefix(0, RDMA2_NOMSG, 0, 100, 1)
				      .no_lists()
				      .truncate(36)));
	EXPECT_FALSE(is_grant(grant().truncate(20)));
	e->conn.version = RPCRDMA_VERS_1;
	EXPECT_FALSE(is_grant(grant()));
}

TEST(Control, Done)
{
	auto e = open_server();
	rpcrdma_reply_plan plan = {};

	plan.read_length = 100;
	rpcrdma_pull_entry exposure;

	ASSERT_EQ(rpcrdma_pull_reserve(&e->conn, &exposure, X, &plan), 0);
	rpcrdma_pull_sent(&e->conn, &exposure, 7, 0);
	/* DONE has no flags. */
	for (u32 flag : { RESP, MORE, TPMORE })
		EXPECT_EQ(e->receive(message().prefix(X, RDMA2_DONE, flag, 100,
						      1)),
			  RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->receive(message().prefix(X, RDMA2_DONE, 0, 100, 1)),
		  RPCRDMA_RX_PULL_COMPLETE);
	EXPECT_EQ(e->rx.xid, X);
	EXPECT_EQ(e->rx.exposed, &exposure);
	EXPECT_EQ(errors(*e), error_list{});
}

/* DONE is a known type even if pulled Replies were not negotiated. */
TEST(Control, DoneThatWasNotNegotiated)
{
	auto cfg = usual_config(false);

	cfg.props.reply_read = 0;
	auto e = open_end(cfg, usual_config(true));

	EXPECT_EQ(e->receive(message().prefix(X, RDMA2_DONE, 0, 100, 1)),
		  RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(errors(*e), error_list{});
	EXPECT_EQ(e->conn.counters.dropped, 1u);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

TEST(Control, UnknownTypes)
{
	for (u32 htype : { 2u, 6u, 7u, 255u, 0x80000000u, ~0u }) {
		auto e = open_server();

		EXPECT_EQ(e->receive(message().prefix(X, htype, 0, 100, 1)),
			  RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(errors(*e),
			  (error_list{ { X, RDMA2_ERR_INVAL_HTYPE } }));
		EXPECT_EQ(e->receive(message().prefix(X, htype, RESP, 100, 1)),
			  RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(errors(*e), error_list{});
		EXPECT_EQ(e->conn.counters.dropped, 1u);
	}
}

TEST(Control, TpmoreBelongsToConnprop)
{
	auto e = open_server();

	e->receive(first(X, RDMA2_F_TPMORE));
	EXPECT_EQ(errors(*e), (error_list{ { X, RDMA2_ERR_INVAL_HTYPE } }));

	auto c = open_client();

	EXPECT_EQ(c->receive(first(X, RESP | RDMA2_F_TPMORE)),
		  RPCRDMA_RX_BAD_REPLY);
}

/* ---- Errors received ---- */

struct error_case {
	u32 code;
	std::vector<u32> args;
	rpcrdma_verdict verdict;
	int status;
};

const error_case error_cases[] = {
	{ RDMA2_ERR_VERS, { 1, 2 }, RPCRDMA_RX_CONSUMED, 0 },
	{ RDMA2_ERR_BAD_XDR, {}, RPCRDMA_RX_ERROR, -5 },
	{ RDMA2_ERR_BAD_PROPVAL, {}, RPCRDMA_RX_ERROR, -5 },
	{ RDMA2_ERR_INVAL_HTYPE, {}, RPCRDMA_RX_ERROR, -5 },
	{ RDMA2_ERR_INVAL_CONT, {}, RPCRDMA_RX_ERROR, -5 },
	{ RDMA2_ERR_READ_CHUNKS, { 3 }, RPCRDMA_RX_ERROR, -5 },
	{ RDMA2_ERR_WRITE_CHUNKS, { 3 }, RPCRDMA_RX_ERROR, -5 },
	{ RDMA2_ERR_SEGMENTS, { 3 }, RPCRDMA_RX_ERROR, -5 },
	{ RDMA2_ERR_WRITE_RESOURCE, { 1, 5000 }, RPCRDMA_RX_ERROR, -121 },
	{ RDMA2_ERR_REPLY_RESOURCE, { 5000 }, RPCRDMA_RX_ERROR, -121 },
	{ RDMA2_ERR_REPLY_RESOURCE, { 0 }, RPCRDMA_RX_ERROR, -121 },
	{ RDMA2_ERR_REPLY_RESOURCE, { ~0u }, RPCRDMA_RX_ERROR, -121 },
	{ RDMA2_ERR_SYSTEM, {}, RPCRDMA_RX_ERROR, -121 },
	{ 0, {}, RPCRDMA_RX_CONSUMED, 0 },
	{ 11, { 1, 2 }, RPCRDMA_RX_CONSUMED, 0 },
	{ 99, {}, RPCRDMA_RX_CONSUMED, 0 },
	{ 101, {}, RPCRDMA_RX_CONSUMED, 0 },
	{ ~0u, { 1, 2 }, RPCRDMA_RX_CONSUMED, 0 },
};

class Received : public testing::TestWithParam<error_case>
{
};

TEST_P(Received, Error)
{
	const error_case &c = GetParam();
	auto e = open_client();
	message m = message().prefix(X, RDMA2_ERROR, RESP, 100, 1).word(c.code);

	for (u32 arg : c.args)
		m.word(arg);
	EXPECT_EQ(e->receive(m), c.verdict);
	EXPECT_EQ(e->control().size(), 0u) << "never answered";
	if (c.verdict == RPCRDMA_RX_CONSUMED) {
		EXPECT_EQ(e->conn.counters.dropped, 1u);
		return;
	}
	EXPECT_EQ(e->rx.xid, X);
	EXPECT_EQ(e->rx.error.code, c.code);
	EXPECT_EQ(e->rx.error.status, c.status);
	for (size_t i = 0; i < c.args.size(); i++)
		EXPECT_EQ(e->rx.error.arg[i], c.args[i]);
	EXPECT_EQ(e->conn.counters.errors_received, 1u);

	/* A truncated ERROR is ignored. */
	for (u32 n = 24; n < m.size(); n++) {
		message cut = m;

		EXPECT_EQ(e->receive(cut.truncate(n)), RPCRDMA_RX_CONSUMED)
			<< n;
	}
	/* An ERROR with wrong flags is ignored, too. */
	for (u32 flags : { 0u, RESP | MORE, RESP | RDMA2_F_TPMORE, TPMORE }) {
		message odd = m;

		EXPECT_EQ(e->receive(odd.set(16, flags)), RPCRDMA_RX_CONSUMED);
	}
	EXPECT_EQ(e->conn.counters.errors_received, 1u);
}

INSTANTIATE_TEST_SUITE_P(All, Received, testing::ValuesIn(error_cases));

TEST(Received, ErrorsSentHaveTheirData)
{
	const struct {
		u32 code, words;
	} cases[] = {
		{ RDMA2_ERR_BAD_XDR, 0 },
		{ RDMA2_ERR_BAD_PROPVAL, 0 },
		{ RDMA2_ERR_INVAL_HTYPE, 0 },
		{ RDMA2_ERR_INVAL_CONT, 0 },
		{ RDMA2_ERR_READ_CHUNKS, 1 },
		{ RDMA2_ERR_WRITE_CHUNKS, 1 },
		{ RDMA2_ERR_SEGMENTS, 1 },
		{ RDMA2_ERR_WRITE_RESOURCE, 2 },
		{ RDMA2_ERR_REPLY_RESOURCE, 1 },
		{ RDMA2_ERR_SYSTEM, 0 },
	};
	auto server = open_server();
	auto client = open_client();

	for (const auto &c : cases) {
		rpcrdma_conn_queue_error(&server->conn, X, c.code, 7, 8);

		message m = server->control();

		ASSERT_EQ(m.size(), 28 + 4 * c.words);
		/*
		 * The two ends are not connected to each other. Set a valid
		 * count of received messages.
		 */
		m.set(20, 1);
		EXPECT_EQ(client->receive(m), RPCRDMA_RX_ERROR);
		EXPECT_EQ(client->rx.error.code, c.code);
		EXPECT_EQ(client->rx.error.arg[0], c.words > 0 ? 7u : 0u);
		EXPECT_EQ(client->rx.error.arg[1], c.words > 1 ? 8u : 0u);
	}
}

TEST(Invalidation, OfTheProvidedHandleOnly)
{
	auto e = open_client();
	rpcrdma_lists lists;

	/* The segments have the handles 0x1000 and 0x1001. */
	rpcrdma_lists_init(&lists);
	add_write(&lists, 2, 4096);
	lists.inv_handle = 0x1001;
	EXPECT_TRUE(rpcrdma_invalidation_ok(&e->conn, &lists, 0x1001));
	EXPECT_TRUE(rpcrdma_invalidation_ok(&e->conn, &lists, 0));
	EXPECT_FALSE(rpcrdma_invalidation_ok(&e->conn, &lists, 0x1000));
	EXPECT_FALSE(rpcrdma_invalidation_ok(&e->conn, &lists, 6));
	lists.inv_handle = 0;
	EXPECT_TRUE(rpcrdma_invalidation_ok(&e->conn, &lists, 0));
	EXPECT_FALSE(rpcrdma_invalidation_ok(&e->conn, &lists, 0x1000));
}

/* No message reopens a closed connection. */
TEST(Closing, IsFinal)
{
	auto e = open_server();

	e->receive(first(X, MORE));
	e->receive(first(Y, RESP));
	ASSERT_EQ(e->conn.state, RPCRDMA_CONN_CLOSING);

	const std::string reason = e->conn.reason;

	for (const message &m : { grant(), first(X, 0), next(X, 0) }) {
		EXPECT_EQ(e->receive(m), RPCRDMA_RX_CLOSE);
		EXPECT_EQ(e->events, +RPCRDMA_EV_CLOSE);
	}
	e->post(5);
	EXPECT_EQ(e->events, +RPCRDMA_EV_CLOSE);
	EXPECT_EQ(rpcrdma_conn_queue_error(&e->conn, 1, 2, 0, 0),
		  +RPCRDMA_EV_CLOSE);
	EXPECT_EQ(e->control().size(), 0u);
	EXPECT_EQ(e->conn.reason, reason);
}

} // namespace
