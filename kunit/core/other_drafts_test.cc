// SPDX-License-Identifier: GPL-2.0
/* Peers of other drafts of version 2 are recognised by their first message. */
#include "opening.hh"

using namespace engine_test;
using namespace engine_test::opening;

namespace
{

constexpr char EARLY[] = "the peer implements draft -01 or -02 of version 2";
constexpr char LATE[] = "the peer implements draft -03 to -07 of version 2";

/*
 * The five words common to all drafts; the last is flags or a number of
 * properties
 */
message prefix(u32 type, u32 last)
{
	return message().word(0).word(2).word(32).word(type).word(last);
}

/* Two properties: a Send size and a Receive size */
message with_properties(message m)
{
	return m.word(1).word(4).word(4096).word(2).word(4).word(4096);
}

/*
 * Drafts -01 and -02: flags, and the number of properties where this profile
 * has the received word
 */
message early()
{
	return with_properties(prefix(RDMA2_CONNPROP, 0).word(2));
}

void expect_refused(end &e, const message &m, const char *why)
{
	EXPECT_EQ(e.receive(m), RPCRDMA_RX_CLOSE);
	EXPECT_STREQ(e.conn.reason, why);
	EXPECT_EQ(e.conn.state, RPCRDMA_CONN_CLOSING);
}

TEST(OtherDrafts, ClientsAreNamed)
{
	expect_refused(*new_server(), early(), EARLY);
	expect_refused(*new_server(), with_properties(prefix(7, 2)), LATE);
	expect_refused(*new_server(), with_properties(prefix(6, 2)), LATE);
	/* No property */
	expect_refused(*new_server(), prefix(7, 0), LATE);
}

TEST(OtherDrafts, ServersAreNamedAndGetVersion1Next)
{
	for (const message &m : { early(), with_properties(prefix(7, 2)) }) {
		end e{ usual_config(true) };

		e.post(33);
		rpcrdma_conn_established(&e.conn);
		e.control();
		expect_refused(e, m, m.get(12) == 7 ? LATE : EARLY);
		EXPECT_TRUE(e.conn.odd) << "the next connection has version 1";
	}
}

TEST(OtherDrafts, NothingElseIsRecognised)
{
	/* A credit grant of draft -02, which is too short for this profile */
	auto e = new_server();

	EXPECT_EQ(e->receive(prefix(6, 0)), RPCRDMA_RX_CONSUMED);
	EXPECT_NE(e->conn.state, RPCRDMA_CONN_CLOSING);

	/* A type of a later version of this profile */
	for (u32 type : { 6u, 7u }) {
		e = new_server();
		EXPECT_EQ(e->receive(prefix(type, 0).word(0).word(0).word(4)),
			  RPCRDMA_RX_CONSUMED);
		EXPECT_NE(e->conn.state, RPCRDMA_CONN_CLOSING);
		EXPECT_EQ(e->control().get(24), +RDMA2_ERR_INVAL_HTYPE);
	}

	/* The same numbers in the places that this profile gives them */
	e = new_server();
	e->receive(connprop({ prop32(1, 4096), prop32(2, 4096) }));
	EXPECT_EQ(e->conn.state, RPCRDMA_CONN_OPEN);

	/* A second message of that type is an unknown one. */
	e->receive(prefix(7, 0).word(0).word(0));
	EXPECT_NE(e->conn.state, RPCRDMA_CONN_CLOSING);
}

} // namespace
