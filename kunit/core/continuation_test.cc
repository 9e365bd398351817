// SPDX-License-Identifier: GPL-2.0
/* Continuation (WP 6) */
#include "messages.hh"

using namespace engine_test;
using namespace engine_test::messages;

namespace
{

TEST(Continuation, ThreeParts)
{
	for (u32 resp : { 0u, RESP }) {
		auto e = resp ? open_client() : open_server();

		EXPECT_EQ(e->receive(first(X, resp | MORE, 100)),
			  RPCRDMA_RX_FRAGMENT);
		EXPECT_EQ(e->rx.first_fragment, 1);
		EXPECT_EQ(e->rx.xid, X);
		EXPECT_EQ(e->rx.payload_offset, 40u);
		EXPECT_EQ(e->rx.payload_length, 100u);
		EXPECT_EQ(e->rx.total_length, 100u);
		EXPECT_EQ(e->receive(next(X, resp | MORE, 4)),
			  RPCRDMA_RX_FRAGMENT);
		EXPECT_EQ(e->rx.first_fragment, 0);
		EXPECT_EQ(e->rx.total_length, 104u);
		EXPECT_EQ(e->receive(next(X, resp, 7)),
			  resp ? RPCRDMA_RX_REPLY : RPCRDMA_RX_CALL);
		EXPECT_EQ(e->rx.first_fragment, 0);
		EXPECT_EQ(e->rx.total_length, 111u);
		EXPECT_EQ(e->rx.payload_length, 7u);
		EXPECT_EQ(e->rx.format, RPCRDMA_CONTINUED);
		EXPECT_EQ(errors(*e), error_list{});
		/* The same XID again begins a new message. */
		EXPECT_EQ(e->receive(first(X, resp)),
			  resp ? RPCRDMA_RX_REPLY : RPCRDMA_RX_CALL);
		EXPECT_EQ(e->rx.format, RPCRDMA_INLINE);
	}
}

TEST(Continuation, ControlBetweenParts)
{
	auto e = open_server();

	e->receive(first(X, MORE));
	EXPECT_EQ(e->receive(grant()), RPCRDMA_RX_CONSUMED);
	/* DONE for a Reply that this end never sent */
	EXPECT_EQ(e->receive(message().prefix(Y, RDMA2_DONE, 0, 100, 1)),
		  RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->receive(message()
				     .prefix(Y, RDMA2_ERROR, RESP, 100, 1)
				     .word(RDMA2_ERR_SYSTEM)),
		  RPCRDMA_RX_ERROR);
	EXPECT_EQ(e->receive(message().prefix(Y, 99, RESP, 100, 1)),
		  RPCRDMA_RX_CONSUMED);
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
		  RPCRDMA_RX_CONSUMED);
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
		EXPECT_EQ(e->receive(first(X, MORE)), RPCRDMA_RX_FRAGMENT);
	EXPECT_EQ(e->receive(c.m), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(errors(*e), (error_list{ { X, c.error } }));
	EXPECT_EQ(e->conn.rx_open, 0);

	/* Later fragments, up to the end of the sequence, are not answered. */
	if (c.m.get(16) & MORE && c.m.get(12) == RDMA2_MSG) {
		EXPECT_EQ(e->receive(next(X, MORE)), RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(e->receive(grant()), RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(errors(*e), error_list{});
	}
	/* After that, the XID can be reused. */
	EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
	EXPECT_EQ(e->receive(first(Y, MORE)), RPCRDMA_RX_FRAGMENT);
}

TEST_P(Violations, OfAReply)
{
	const violation &c = GetParam();
	auto e = open_client();
	message m = c.m;

	/* This rule applies to Calls only. */
	if (std::string(c.name) == "wrong_direction_inside")
		return;
	m.set(16, m.get(16) | RESP);
	if (c.in_sequence)
		EXPECT_EQ(e->receive(first(X, RESP | MORE)),
			  RPCRDMA_RX_FRAGMENT);
	else if (m.get(12) == RDMA2_MSG && m.size() >= 48 &&
		 m.get(m.size() - 36) == CALL)
		m.set(m.size() - 36, REPLY);
	EXPECT_EQ(e->receive(m), RPCRDMA_RX_BAD_REPLY);
	EXPECT_EQ(e->rx.xid, X);
	EXPECT_EQ(e->rx.error.status, -5) << "it ends the RPC";
	EXPECT_EQ(errors(*e), error_list{}) << "no ERROR about a Reply";
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

		EXPECT_EQ(e->receive(first(X, MORE, 4)), RPCRDMA_RX_FRAGMENT);
		EXPECT_EQ(e->receive(message()
					     .prefix(X, RDMA2_MSG, 0, 100, 1)
					     .no_lists()
					     .word(direction)
					     .fill(40)),
			  direction == CALL ? RPCRDMA_RX_CALL :
					      RPCRDMA_RX_CONSUMED);
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
		EXPECT_EQ(e->receive(c.m), RPCRDMA_RX_CONSUMED) << c.what;
		EXPECT_EQ(errors(*e),
			  (error_list{ { X, RDMA2_ERR_INVAL_CONT },
				       { Y, RDMA2_ERR_INVAL_CONT } }))
			<< c.what;
		/* Later fragments of either Call, mixed */
		EXPECT_EQ(e->receive(next(X, MORE)), RPCRDMA_RX_CONSUMED);
		if (c.goes_on)
			EXPECT_EQ(e->receive(next(Y, MORE)),
				  RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_CONSUMED);
		if (c.goes_on)
			EXPECT_EQ(e->receive(next(Y, 0)), RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(errors(*e), error_list{});
		EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
		EXPECT_EQ(e->receive(first(Y, 0)), RPCRDMA_RX_CALL);
	}
}

/*
 * If a Call interrupts an earlier one with the same xid, one ERROR is
 * sufficient.
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
		  RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(errors(*e), (error_list{ { X, RDMA2_ERR_INVAL_CONT } }));
	EXPECT_EQ(e->receive(next(X, MORE)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(errors(*e), error_list{});
	EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
}

/*
 * The sender takes INVAL_CONT as the end of the Call, and reuses the XID
 * without sending the remaining parts.
 */
TEST(Broken, TheXidIsReused)
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
		/* No state is left that could affect the next message. */
		EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(errors(*e), (error_list{ { X, RDMA2_ERR_BAD_XDR } }));
		EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
	}
	/*
	 * A Call between the fragments of another message interrupts that
	 * message.
	 */
	auto e = open_server();

	e->receive(first(X, MORE));
	e->receive(first(Y, 0));
	e->receive(first(Z, MORE));
	errors(*e);
	EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(errors(*e), (error_list{ { Z, RDMA2_ERR_INVAL_CONT },
					   { X, RDMA2_ERR_INVAL_CONT } }));
}

TEST(Broken, Repeatedly)
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
	/*
	 * Fragments of Z and 0x44 are discarded. The two older XIDs were
	 * forgotten.
	 */
	EXPECT_EQ(e->receive(next(Z, 0)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->receive(next(0x44, 0)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(errors(*e), error_list{});
	EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_CONSUMED);
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
	/* The same XID in the other direction is another message. */
	auto e = open_client();

	e->receive(first(X, MORE));
	EXPECT_EQ(e->receive(next(X, RESP)), RPCRDMA_RX_CLOSE);
}

/*
 * The receiver had no memory for one part. The following parts make no message
 * without it.
 */
TEST(Broken, ByAReceiverWithoutMemory)
{
	for (u32 resp : { 0u, RESP }) {
		auto e = resp ? open_client() : open_server();

		EXPECT_EQ(e->receive(first(X, resp | MORE)),
			  RPCRDMA_RX_FRAGMENT);
		rpcrdma_conn_close(&e->conn, "no memory");
		EXPECT_STREQ(e->conn.reason, "no memory");
		EXPECT_EQ(e->receive(next(X, resp), true), RPCRDMA_RX_CLOSE);
		EXPECT_EQ(e->receive(first(Y, resp), true), RPCRDMA_RX_CLOSE);
		rpcrdma_conn_close(&e->conn, "another reason");
		EXPECT_STREQ(e->conn.reason, "no memory");
	}
}

/*
 * The receiver drops the message, and goes on with others until it closes the connection.
 */
TEST(Broken, DroppedForWantOfMemory)
{
	for (u32 resp : { 0u, RESP }) {
		const auto whole = resp ? RPCRDMA_RX_REPLY : RPCRDMA_RX_CALL;
		auto e = resp ? open_client() : open_server();

		e->receive(first(X, resp | MORE));
		rpcrdma_conn_discard(&e->conn);
		EXPECT_EQ(e->receive(next(X, resp | MORE)),
			  RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(e->receive(next(X, resp)), RPCRDMA_RX_CONSUMED);
		EXPECT_EQ(errors(*e), error_list{});
		EXPECT_EQ(e->receive(first(Y, resp)), whole);
		EXPECT_EQ(e->receive(first(X, resp | MORE)),
			  RPCRDMA_RX_FRAGMENT);
		EXPECT_EQ(e->receive(next(X, resp)), whole);
		/* Nothing is left of a complete message. */
		rpcrdma_conn_discard(&e->conn);
		EXPECT_EQ(e->receive(first(X, resp | MORE)),
			  RPCRDMA_RX_FRAGMENT);
		EXPECT_EQ(e->receive(next(X, resp)), whole);
	}
}

TEST(Broken, ReplySequenceByACall)
{
	auto e = open_client();

	e->receive(first(X, RESP | MORE));
	EXPECT_EQ(e->receive(first(Y, 0)), RPCRDMA_RX_BAD_REPLY);
	EXPECT_EQ(e->rx.xid, X);
	EXPECT_EQ(errors(*e), (error_list{ { Y, RDMA2_ERR_INVAL_CONT } }));
	/* Even if the XID was not pending, the rest is dropped. */
	EXPECT_EQ(e->receive(next(X, RESP)), RPCRDMA_RX_CONSUMED);
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
				  RPCRDMA_RX_FRAGMENT);

			const rpcrdma_verdict v = e->receive(
				next(X, resp, static_cast<u32>(400 + over)));

			if (over <= 0) {
				EXPECT_EQ(v, resp ? RPCRDMA_RX_REPLY :
						    RPCRDMA_RX_CALL);
			} else {
				EXPECT_EQ(v, resp ? RPCRDMA_RX_BAD_REPLY :
						    RPCRDMA_RX_CONSUMED);
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
		EXPECT_EQ(e->receive(next(X, MORE, 600)), RPCRDMA_RX_CONSUMED);
		grants += e->events & RPCRDMA_EV_CONTROL ? 1 : 0;
		EXPECT_EQ(errors(*e),
			  i ? error_list{} :
			      (error_list{ { X, RDMA2_ERR_INVAL_CONT } }));
	}
	EXPECT_GT(grants, 30u);
	EXPECT_EQ(e->receive(next(X, 0, 600)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(e->receive(first(X, 0)), RPCRDMA_RX_CALL);
}

TEST(Reassembly, NotSupported)
{
	auto cfg = usual_config(false);

	cfg.props.reassembly = 0;

	auto e = open_end(cfg, usual_config(true));

	EXPECT_EQ(e->receive(first(X, MORE)), RPCRDMA_RX_CONSUMED);
	EXPECT_EQ(errors(*e), (error_list{ { X, RDMA2_ERR_INVAL_CONT } }));
	EXPECT_EQ(e->receive(next(X, 0)), RPCRDMA_RX_CONSUMED);
	/* A Simple Format message needs no such memory. */
	EXPECT_EQ(e->receive(first(X, 0, 3000)), RPCRDMA_RX_CALL);
}

} // namespace
