// SPDX-License-Identifier: GPL-2.0
/* Continuation, control messages and errors (WP 2, 6, 7). */
#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr u32 X = 0x11, Y = 0x22, Z = 0x33;
constexpr u32 MORE = RDMA2_F_MORE;
constexpr u32 RESP = RDMA2_F_RESPONSE;
constexpr u32 TPMORE = RDMA2_F_TPMORE;

/*
 * Return a part of an RPC message. The first one begins with xid and direction.
 */
message first(u32 xid, u32 flags, u32 payload = 40)
{
	return message()
		.prefix(xid, RDMA2_MSG, flags, 100, 1)
		.no_lists()
		.rpc(xid, flags & RESP ? REPLY : CALL, payload);
}

message next(u32 xid, u32 flags, u32 payload = 40)
{
	return message()
		.prefix(xid, RDMA2_MSG, flags, 100, 1)
		.no_lists()
		.fill(payload);
}

message grant()
{
	return message().prefix(0, RDMA2_NOMSG, 0, 100, 1).no_lists();
}

/* Return every ERROR that waits, as (xid, code). */
std::vector<std::pair<u32, u32>> errors(end &e)
{
	std::vector<std::pair<u32, u32>> all;

	for (;;) {
		const message m = e.control();

		if (!m.size())
			return all;
		if (m.get(12) == RDMA2_ERROR) {
			EXPECT_EQ(m.get(4), 2u);
			EXPECT_EQ(m.get(16), RESP);
			all.emplace_back(m.get(0), m.get(24));
		}
	}
}

using error_list = std::vector<std::pair<u32, u32>>;

/* An invalid direction, whatever the flags are */
TEST(Messages, NoDirectionIsMadeOfFlags)
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

TEST(Continuation, ThreeParts)
{
	for (u32 resp : { 0u, RESP }) {
		auto e = resp ? open_client() : open_server();

		EXPECT_EQ(e->receive(first(X, resp | MORE, 100)),
			  RPCRDMA_RX_PART);
		EXPECT_EQ(e->rx.first_part, 1);
		EXPECT_EQ(e->rx.xid, X);
		EXPECT_EQ(e->rx.payload_offset, 40u);
		EXPECT_EQ(e->rx.payload_length, 100u);
		EXPECT_EQ(e->rx.total_length, 100u);
		EXPECT_EQ(e->receive(next(X, resp | MORE, 4)), RPCRDMA_RX_PART);
		EXPECT_EQ(e->rx.first_part, 0);
		EXPECT_EQ(e->rx.total_length, 104u);
		EXPECT_EQ(e->receive(next(X, resp, 7)),
			  resp ? RPCRDMA_RX_REPLY : RPCRDMA_RX_CALL);
		EXPECT_EQ(e->rx.first_part, 0);
		EXPECT_EQ(e->rx.total_length, 111u);
		EXPECT_EQ(e->rx.payload_length, 7u);
		EXPECT_EQ(e->rx.format, RPCRDMA_CONTINUED);
		EXPECT_EQ(errors(*e), error_list{});
		/* The same xid again is a new message. */
		EXPECT_EQ(e->receive(first(X, resp)),
			  resp ? RPCRDMA_RX_REPLY : RPCRDMA_RX_CALL);
		EXPECT_EQ(e->rx.format, RPCRDMA_INLINE);
	}
}

TEST(Continuation, ControlBetweenParts)
{
	auto e = open_server();

	e->receive(first(X, MORE));
	EXPECT_EQ(e->receive(grant()), RPCRDMA_RX_DONE);
	/* DONE for a Reply that this end never sent */
	EXPECT_EQ(e->receive(message().prefix(Y, RDMA2_DONE, 0, 100, 1)),
		  RPCRDMA_RX_DONE);
	EXPECT_EQ(e->receive(message()
				     .prefix(Y, RDMA2_ERROR, RESP, 100, 1)
				     .word(RDMA2_ERR_SYSTEM)),
		  RPCRDMA_RX_ERROR);
	EXPECT_EQ(e->receive(message().prefix(Y, 99, RESP, 100, 1)),
		  RPCRDMA_RX_DONE);
	EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_CALL);
	EXPECT_EQ(e->rx.total_length, 80u);
	EXPECT_EQ(errors(*e), error_list{});
}

TEST(Continuation, ChunksInTheLastPart)
{
	auto e = open_server();

	e->receive(first(X, MORE, 100));
	/* A Position counts from the start of the complete message. */
	EXPECT_EQ(e->receive(message()
				     .prefix(X, RDMA2_MSG, 0, 100, 1)
				     .word(5)
				     .read_segment(104, 5, 50)
				     .word(0)
				     .word(0)
				     .word(0)
				     .fill(8)),
		  RPCRDMA_RX_CALL);
	EXPECT_EQ(e->rx.lists.nr_reads, 1);
	EXPECT_EQ(e->rx.lists.inv_handle, 5u);

	e->receive(first(X, MORE, 100));
	EXPECT_EQ(e->receive(message()
				     .prefix(X, RDMA2_MSG, 0, 100, 1)
				     .word(5)
				     .read_segment(112, 5, 50)
				     .word(0)
				     .word(0)
				     .word(0)
				     .fill(8)),
		  RPCRDMA_RX_DONE);
	EXPECT_EQ(errors(*e), (error_list{ { X, RDMA2_ERR_BAD_XDR } }));
}

struct violation {
	const char *name;
	message m; /* follows first(X, MORE) if in_sequence */
	bool in_sequence;
	u32 error;
};

const violation violations[] = {
	{ "chunks_in_first",
	  message()
		  .prefix(X, RDMA2_MSG, MORE, 100, 1)
		  .word(0)
		  .read_segment(20, 1, 4)
		  .word(0)
		  .word(0)
		  .word(0)
		  .rpc(X, CALL, 40),
	  false, RDMA2_ERR_INVAL_CONT },
	{ "write_chunk_in_first",
	  message()
		  .prefix(X, RDMA2_MSG, MORE, 100, 1)
		  .word(0)
		  .word(0)
		  .word(1)
		  .word(0)
		  .word(0)
		  .word(0)
		  .rpc(X, CALL, 40),
	  false, RDMA2_ERR_INVAL_CONT },
	{ "reply_chunk_in_next",
	  message()
		  .prefix(X, RDMA2_MSG, MORE, 100, 1)
		  .word(0)
		  .word(0)
		  .word(0)
		  .word(1)
		  .word(0)
		  .fill(40),
	  true, RDMA2_ERR_INVAL_CONT },
	{ "no_payload_first", first(X, MORE, 0), false, RDMA2_ERR_INVAL_CONT },
	{ "no_payload_next", next(X, MORE, 0), true, RDMA2_ERR_INVAL_CONT },
	{ "no_payload_last", next(X, 0, 0), true, RDMA2_ERR_INVAL_CONT },
	{ "three_octets_last", next(X, 0, 3), true, RDMA2_ERR_INVAL_CONT },
	{ "unaligned_first", first(X, MORE, 41), false, RDMA2_ERR_INVAL_CONT },
	{ "unaligned_next", next(X, MORE, 42), true, RDMA2_ERR_INVAL_CONT },
	{ "wrong_xid_inside",
	  message()
		  .prefix(X, RDMA2_MSG, MORE, 100, 1)
		  .no_lists()
		  .rpc(Y, CALL, 40),
	  false, RDMA2_ERR_BAD_XDR },
	{ "wrong_direction_inside",
	  message()
		  .prefix(X, RDMA2_MSG, MORE, 100, 1)
		  .no_lists()
		  .rpc(X, REPLY, 40),
	  false, RDMA2_ERR_BAD_XDR },
	{ "no_lists_next", message().prefix(X, RDMA2_MSG, MORE, 100, 1), true,
	  RDMA2_ERR_BAD_XDR },
	{ "tpmore", next(X, MORE | RDMA2_F_TPMORE), true,
	  RDMA2_ERR_INVAL_HTYPE },
	{ "nomsg",
	  message()
		  .prefix(X, RDMA2_NOMSG, MORE, 100, 1)
		  .word(0)
		  .read_segment(0, 1, 100)
		  .word(0)
		  .word(0)
		  .word(0),
	  false, RDMA2_ERR_INVAL_CONT },
};

class Violations : public testing::TestWithParam<violation>
{
};

TEST_P(Violations, OfACall)
{
	const violation &c = GetParam();
	auto e = open_server();

	if (c.in_sequence)
		EXPECT_EQ(e->receive(first(X, MORE)), RPCRDMA_RX_PART);
	EXPECT_EQ(e->receive(c.m), RPCRDMA_RX_DONE);
	EXPECT_EQ(errors(*e), (error_list{ { X, c.error } }));
	EXPECT_EQ(e->conn.rx_open, 0);

	/* Later parts are not answered, up to the end of the sequence. */
	if (c.m.get(16) & MORE && c.m.get(12) == RDMA2_MSG) {
		EXPECT_EQ(e->receive(next(X, MORE)), RPCRDMA_RX_DONE);
		EXPECT_EQ(e->receive(grant()), RPCRDMA_RX_DONE);
		EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_DONE);
		EXPECT_EQ(errors(*e), error_list{});
	}
	/* Then the xid may be used again. */
	EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
	EXPECT_EQ(e->receive(first(Y, MORE)), RPCRDMA_RX_PART);
}

TEST_P(Violations, OfAReply)
{
	const violation &c = GetParam();
	auto e = open_client();
	message m = c.m;

	/* A rule for Calls only */
	if (std::string(c.name) == "wrong_direction_inside")
		return;
	m.set(16, m.get(16) | RESP);
	if (c.in_sequence)
		EXPECT_EQ(e->receive(first(X, RESP | MORE)), RPCRDMA_RX_PART);
	else if (m.get(12) == RDMA2_MSG && m.size() >= 48 &&
		 m.get(m.size() - 36) == CALL)
		m.set(m.size() - 36, REPLY);
	EXPECT_EQ(e->receive(m), RPCRDMA_RX_BAD_REPLY);
	EXPECT_EQ(e->rx.xid, X);
	EXPECT_EQ(e->rx.error.status, -5) << "the RPC ends with it";
	EXPECT_EQ(errors(*e), error_list{}) << "never about a Reply";
	EXPECT_EQ(e->conn.rx_open, 0);
	/* The other RPCs of the connection are not affected. */
	EXPECT_EQ(e->receive(first(Y, RESP)), RPCRDMA_RX_REPLY);
	EXPECT_EQ(e->rx.error.status, 0);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

INSTANTIATE_TEST_SUITE_P(All, Violations, testing::ValuesIn(violations),
			 [](const auto &info) {
				 return std::string(info.param.name);
			 });

TEST(Continuation, DirectionInTheSecondPart)
{
	for (u32 direction : { CALL, REPLY, 2u }) {
		auto e = open_server();

		EXPECT_EQ(e->receive(first(X, MORE, 4)), RPCRDMA_RX_PART);
		EXPECT_EQ(e->receive(message()
					     .prefix(X, RDMA2_MSG, 0, 100, 1)
					     .no_lists()
					     .word(direction)
					     .fill(40)),
			  direction == CALL ? RPCRDMA_RX_CALL :
					      RPCRDMA_RX_DONE);
		EXPECT_EQ(errors(*e),
			  direction == CALL ?
				  error_list{} :
				  (error_list{ { X, RDMA2_ERR_BAD_XDR } }));
	}
}

TEST(Broken, ByACall)
{
	const struct {
		const char *what;
		message m;
		bool goes_on;
	} cases[] = {
		{ "whole", first(Y, 0), false },
		{ "part", first(Y, MORE), true },
		{ "malformed", message().prefix(Y, RDMA2_MSG, 0, 100, 1),
		  false },
		{ "special",
		  message()
			  .prefix(Y, RDMA2_NOMSG, 0, 100, 1)
			  .word(0)
			  .read_segment(0, 1, 100)
			  .word(0)
			  .word(0)
			  .word(0),
		  false },
	};

	for (const auto &c : cases) {
		auto e = open_server();

		e->receive(first(X, MORE));
		EXPECT_EQ(e->receive(c.m), RPCRDMA_RX_DONE) << c.what;
		EXPECT_EQ(errors(*e),
			  (error_list{ { X, RDMA2_ERR_INVAL_CONT },
				       { Y, RDMA2_ERR_INVAL_CONT } }))
			<< c.what;
		/* Later parts of either, mixed */
		EXPECT_EQ(e->receive(next(X, MORE)), RPCRDMA_RX_DONE);
		if (c.goes_on)
			EXPECT_EQ(e->receive(next(Y, MORE)), RPCRDMA_RX_DONE);
		EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_DONE);
		if (c.goes_on)
			EXPECT_EQ(e->receive(next(Y, 0)), RPCRDMA_RX_DONE);
		EXPECT_EQ(errors(*e), error_list{});
		EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
		EXPECT_EQ(e->receive(first(Y, 0)), RPCRDMA_RX_CALL);
	}
}

/*
 * One ERROR is sufficient for a Call that interrupts an earlier one with the
 * same xid.
 */
TEST(Broken, ByACallOfTheSameXid)
{
	auto e = open_server();

	e->receive(first(X, MORE));
	EXPECT_EQ(e->receive(message()
				     .prefix(X, RDMA2_NOMSG, 0, 100, 1)
				     .word(0)
				     .read_segment(0, 1, 100)
				     .word(0)
				     .word(0)
				     .word(0)),
		  RPCRDMA_RX_DONE);
	EXPECT_EQ(errors(*e), (error_list{ { X, RDMA2_ERR_INVAL_CONT } }));
	EXPECT_EQ(e->receive(next(X, MORE)), RPCRDMA_RX_DONE);
	EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_DONE);
	EXPECT_EQ(errors(*e), error_list{});
	EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
}

/*
 * The sender regards INVAL_CONT as the end of the Call, and reuses the xid
 * without having sent the remaining parts.
 */
TEST(Broken, TheXidIsUsedAgain)
{
	const message again[] = {
		first(X, 0),
		message()
			.prefix(X, RDMA2_NOMSG, 0, 100, 1)
			.word(0)
			.read_segment(0, 1, 100)
			.word(0)
			.word(0)
			.word(0),
	};

	for (const message &m : again) {
		auto e = open_server();

		e->receive(first(X, MORE));
		e->receive(first(Y, 0));
		EXPECT_EQ(errors(*e),
			  (error_list{ { X, RDMA2_ERR_INVAL_CONT },
				       { Y, RDMA2_ERR_INVAL_CONT } }));
		EXPECT_EQ(e->receive(m), RPCRDMA_RX_CALL);
		/* No state is left that the next message could meet. */
		EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_DONE);
		EXPECT_EQ(errors(*e), (error_list{ { X, RDMA2_ERR_BAD_XDR } }));
		EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
	}
	/*
	 * Between the parts of another message it is an interruption like any
	 * other.
	 */
	auto e = open_server();

	e->receive(first(X, MORE));
	e->receive(first(Y, 0));
	e->receive(first(Z, MORE));
	errors(*e);
	EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_DONE);
	EXPECT_EQ(errors(*e), (error_list{ { Z, RDMA2_ERR_INVAL_CONT },
					   { X, RDMA2_ERR_INVAL_CONT } }));
}

TEST(Broken, AgainAndAgain)
{
	auto e = open_server();

	e->receive(first(X, MORE));
	e->receive(first(Y, MORE));
	e->receive(first(Z, MORE));
	EXPECT_EQ(e->conn.rx_open, 1) << "a new sequence";
	e->receive(first(0x44, MORE));
	EXPECT_EQ(errors(*e), (error_list{ { X, RDMA2_ERR_INVAL_CONT },
					   { Y, RDMA2_ERR_INVAL_CONT },
					   { Z, RDMA2_ERR_INVAL_CONT },
					   { 0x44, RDMA2_ERR_INVAL_CONT } }));
	/* Z and 0x44 are discarded; the older two were forgotten. */
	EXPECT_EQ(e->receive(next(Z, 0)), RPCRDMA_RX_DONE);
	EXPECT_EQ(e->receive(next(0x44, 0)), RPCRDMA_RX_DONE);
	EXPECT_EQ(errors(*e), error_list{});
	EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_DONE);
	EXPECT_EQ(errors(*e), (error_list{ { X, RDMA2_ERR_BAD_XDR } }));
}

TEST(Broken, ByAReplyCloses)
{
	for (u32 open : { 0u, RESP }) {
		auto e = open_client();

		e->receive(first(X, open | MORE));
		EXPECT_EQ(e->receive(first(Y, RESP)), RPCRDMA_RX_CLOSE);
		EXPECT_TRUE(e->events & RPCRDMA_EV_CLOSE);
	}
	/* Same xid, other direction: another message */
	auto e = open_client();

	e->receive(first(X, MORE));
	EXPECT_EQ(e->receive(next(X, RESP)), RPCRDMA_RX_CLOSE);
}

/*
 * The caller had no memory for a part: the following parts make no message
 * without it.
 */
TEST(Broken, ByACallerWithoutMemory)
{
	for (u32 resp : { 0u, RESP }) {
		auto e = resp ? open_client() : open_server();

		EXPECT_EQ(e->receive(first(X, resp | MORE)), RPCRDMA_RX_PART);
		rpcrdma_conn_refuse(&e->conn, "no memory");
		EXPECT_STREQ(e->conn.reason, "no memory");
		EXPECT_EQ(e->receive(next(X, resp), true), RPCRDMA_RX_CLOSE);
		EXPECT_EQ(e->receive(first(Y, resp), true), RPCRDMA_RX_CLOSE);
		rpcrdma_conn_refuse(&e->conn, "another reason");
		EXPECT_STREQ(e->conn.reason, "no memory");
	}
}

TEST(Broken, ReplySequenceByACall)
{
	auto e = open_client();

	e->receive(first(X, RESP | MORE));
	EXPECT_EQ(e->receive(first(Y, 0)), RPCRDMA_RX_BAD_REPLY);
	EXPECT_EQ(e->rx.xid, X);
	EXPECT_EQ(errors(*e), (error_list{ { Y, RDMA2_ERR_INVAL_CONT } }));
	/* If the xid was not pending, the rest is still dropped. */
	EXPECT_EQ(e->receive(next(X, RESP)), RPCRDMA_RX_DONE);
	EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
}

TEST(Reassembly, Bound)
{
	for (u32 resp : { 0u, RESP }) {
		for (int over : { -4, 0, 1, 4 }) {
			auto cfg = usual_config(resp != 0);

			cfg.props.reassembly = 1000;

			auto e = open_end(cfg, usual_config(resp == 0));

			ASSERT_EQ(e->receive(first(X, resp | MORE, 600)),
				  RPCRDMA_RX_PART);

			const rpcrdma_verdict v = e->receive(
				next(X, resp, static_cast<u32>(400 + over)));

			if (over <= 0) {
				EXPECT_EQ(v, resp ? RPCRDMA_RX_REPLY :
						    RPCRDMA_RX_CALL);
			} else {
				EXPECT_EQ(v, resp ? RPCRDMA_RX_BAD_REPLY :
						    RPCRDMA_RX_DONE);
				EXPECT_EQ(
					errors(*e),
					resp ? error_list{} :
					       (error_list{
						       { X,
							 RDMA2_ERR_INVAL_CONT } }));
			}
		}
	}
}

TEST(Reassembly, DiscardsToTheEndWhileGranting)
{
	auto cfg = usual_config(false, 4);

	cfg.props.reassembly = 1000;

	auto e = open_end(cfg, usual_config(true));
	u32 grants = 0;

	e->receive(first(X, MORE, 600));
	for (u32 i = 0; i < 100; i++) {
		EXPECT_EQ(e->receive(next(X, MORE, 600)), RPCRDMA_RX_DONE);
		grants += e->events & RPCRDMA_EV_CONTROL ? 1 : 0;
		EXPECT_EQ(errors(*e),
			  i ? error_list{} :
			      (error_list{ { X, RDMA2_ERR_INVAL_CONT } }));
	}
	EXPECT_GT(grants, 30u);
	EXPECT_EQ(e->receive(next(X, 0, 600)), RPCRDMA_RX_DONE);
	EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
}

TEST(Reassembly, NoneAtAll)
{
	auto cfg = usual_config(false);

	cfg.props.reassembly = 0;

	auto e = open_end(cfg, usual_config(true));

	EXPECT_EQ(e->receive(first(X, MORE)), RPCRDMA_RX_DONE);
	EXPECT_EQ(errors(*e), (error_list{ { X, RDMA2_ERR_INVAL_CONT } }));
	EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_DONE);
	/* A Simple Format message needs no such memory. */
	EXPECT_EQ(e->receive(first(X, 0, 3000)), RPCRDMA_RX_CALL);
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
			  brs ? RPCRDMA_RX_CALL : RPCRDMA_RX_DONE);
		EXPECT_EQ(errors(*e),
			  brs ? error_list{} :
				(error_list{ { X, RDMA2_ERR_SYSTEM } }));

		EXPECT_EQ(e->receive(first(Y, MORE)),
			  brs >= 2 ? RPCRDMA_RX_PART : RPCRDMA_RX_DONE);
		EXPECT_EQ(e->receive(next(Y, 0)),
			  brs >= 2 ? RPCRDMA_RX_CALL : RPCRDMA_RX_DONE);
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

		EXPECT_EQ(e->receive(c.m), RPCRDMA_RX_DONE) << c.what;
		EXPECT_EQ(e->conn.counters.grants_received, c.counted)
			<< c.what;
		EXPECT_EQ(errors(*e),
			  c.error ? (error_list{ { c.m.get(0), c.error } }) :
				    error_list{})
			<< c.what;
	}
}

TEST(Control, Done)
{
	auto e = open_server();
	rpcrdma_reply_plan plan = {};

	plan.read_length = 100;
	rpcrdma_exposure exposure;

	ASSERT_EQ(rpcrdma_conn_expose(&e->conn, &exposure, X, &plan), 0);
	rpcrdma_conn_exposed(&e->conn, &exposure, 7, 0);
	/* It has no flags. */
	for (u32 flag : { RESP, MORE, TPMORE })
		EXPECT_EQ(e->receive(message().prefix(X, RDMA2_DONE, flag, 100,
						      1)),
			  RPCRDMA_RX_DONE);
	EXPECT_EQ(e->receive(message().prefix(X, RDMA2_DONE, 0, 100, 1)),
		  RPCRDMA_RX_PULLED);
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
		  RPCRDMA_RX_DONE);
	EXPECT_EQ(errors(*e), error_list{});
	EXPECT_EQ(e->conn.counters.dropped, 1u);
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);
}

TEST(Control, UnknownTypes)
{
	for (u32 htype : { 2u, 6u, 7u, 255u, 0x80000000u, ~0u }) {
		auto e = open_server();

		EXPECT_EQ(e->receive(message().prefix(X, htype, 0, 100, 1)),
			  RPCRDMA_RX_DONE);
		EXPECT_EQ(errors(*e),
			  (error_list{ { X, RDMA2_ERR_INVAL_HTYPE } }));
		EXPECT_EQ(e->receive(message().prefix(X, htype, RESP, 100, 1)),
			  RPCRDMA_RX_DONE);
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
	{ RDMA2_ERR_VERS, { 1, 2 }, RPCRDMA_RX_DONE, 0 },
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
	{ 0, {}, RPCRDMA_RX_DONE, 0 },
	{ 11, { 1, 2 }, RPCRDMA_RX_DONE, 0 },
	{ 99, {}, RPCRDMA_RX_DONE, 0 },
	{ 101, {}, RPCRDMA_RX_DONE, 0 },
	{ ~0u, { 1, 2 }, RPCRDMA_RX_DONE, 0 },
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
	if (c.verdict == RPCRDMA_RX_DONE) {
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

		EXPECT_EQ(e->receive(cut.truncate(n)), RPCRDMA_RX_DONE) << n;
	}
	/* An ERROR with wrong flags is ignored, too. */
	for (u32 flags : { 0u, RESP | MORE, RESP | RDMA2_F_TPMORE, TPMORE }) {
		message odd = m;

		EXPECT_EQ(e->receive(odd.set(16, flags)), RPCRDMA_RX_DONE);
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
		/* The two ends here are not connected to each other. */
		m.set(20, 1);
		EXPECT_EQ(client->receive(m), RPCRDMA_RX_ERROR);
		EXPECT_EQ(client->rx.error.code, c.code);
		EXPECT_EQ(client->rx.error.arg[0], c.words > 0 ? 7u : 0u);
		EXPECT_EQ(client->rx.error.arg[1], c.words > 1 ? 8u : 0u);
	}
}

TEST(Invalidation, OfTheOfferedHandleOnly)
{
	auto e = open_client();
	rpcrdma_lists lists;

	/* Segments are handles 0x1000 and 0x1001. */
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
