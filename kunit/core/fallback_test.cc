// SPDX-License-Identifier: GPL-2.0
/*
 * The version of the next connection, by a server's answer (WP 4): each form of
 * an answer, with and without a disconnect, in each order in which the
 * connection's state machine and its setup work item can see these events
 */
#include <gtest/gtest.h>

#include "support.hh"

using namespace engine_test;

namespace
{

constexpr int LATE = -110, NO_CONNECTION = -107, UNOPENED = -93;

/* A client's connections to one server, each with its lifecycle */
class attempts
{
public:
	/*
	 * Begin a connection with the version from the cache, and send its
	 * CONNPROP if it has one.
	 */
	void begin()
	{
		rpcrdma_conn_config cfg = usual_config(true);

		nr++;
		cfg.version_low = RPCRDMA_VERS_1;
		cfg.version_high = tried = first();
		cfg.fallback_v1 = tried < RPCRDMA_VERS_2;
		e = std::make_unique<end>(cfg);
		life = {};
		life.client = true;
		make();
		make();
		cm_event(RPCRDMA_CM_RESOLVED);
		make();
		make();
		cm_event(RPCRDMA_CM_RESOLVED);
		make();
		make();
		make();
		e->post(33);
		cm_event(RPCRDMA_CM_ESTABLISHED);
		e->control();
	}

	u8 first() const
	{
		return rpcrdma_version_first(&memory, now, RPCRDMA_VERS_1,
					     RPCRDMA_VERS_2);
	}

	rpcrdma_setup_step make(int result = 0)
	{
		return rpcrdma_lifecycle_next_setup(&life, &e->conn, result);
	}

	void cm_event(rpcrdma_cm_event what)
	{
		const rpcrdma_lifecycle_actions s =
			rpcrdma_lifecycle_cm_event(&life, what, 0);

		if (s.todo & RPCRDMA_LIFECYCLE_BEGIN)
			events(rpcrdma_conn_established(&e->conn));
	}

	void receive(const message &m)
	{
		if (e->receive(m) == RPCRDMA_RX_CLOSE)
			rpcrdma_lifecycle_close(&life, e->conn.reason);
		else
			events(e->events);
	}

	void events(u32 ev)
	{
		if (ev & RPCRDMA_EV_OPENED)
			rpcrdma_lifecycle_opened(&life);
		if (ev & RPCRDMA_EV_ODD)
			rpcrdma_lifecycle_odd(&life);
	}

	/*
	 * Run the setup work item to its end, with each wait as long as
	 * permitted. Return its status.
	 */
	int finish()
	{
		rpcrdma_setup_step m = make();

		while (m.what == RPCRDMA_SETUP_WAIT) {
			waited += m.ms;
			m = make(LATE);
		}
		EXPECT_EQ(m.what, RPCRDMA_SETUP_END);
		if (m.status)
			learn(m.answer);
		else
			learn(rpcrdma_conn_answer(&e->conn, RPCRDMA_END_NONE));
		return m.status;
	}

	/* Tear down a connection, which may have ended already. */
	void forget()
	{
		rpcrdma_lifecycle_close(&life, nullptr);
		learn(rpcrdma_conn_answer(&e->conn, ended()));
	}

	rpcrdma_end ended() const
	{
		return static_cast<rpcrdma_end>(life.end);
	}

	void learn(rpcrdma_answer answer)
	{
		at_once = rpcrdma_version_learn(&memory, now, tried, answer);
	}

	rpcrdma_version_cache memory{};
	rpcrdma_lifecycle life{};
	std::unique_ptr<end> e;
	u64 now = 1000;	      /* seconds */
	u32 nr = 0;	      /* connections */
	u32 waited = 0;	      /* milliseconds in all */
	u8 tried = 0;	      /* version of the last one */
	bool at_once = false; /* connect next without a delay */
};

struct form {
	const char *what;
	message m;
};

message err_vers(u32 version = 2)
{
	return message()
		.word(0)
		.word(version)
		.word(16)
		.word(4)
		.word(1)
		.word(1)
		.word(1);
}

/*
 * Return the answers to CONNPROP that servers without version 2 may send,
 * except a valid ERR_VERS.
 */
std::vector<form> odd_forms()
{
	message fixed = err_vers();
	message denied;

	denied.word(0).word(2).word(16).word(0).word(0).word(0).word(0);
	denied.word(0).word(1).word(1).word(0).word(2).word(2);
	return {
		{ "ERR_VERS from a buffer of fixed size", fixed.fill(36, 0) },
		{ "ERR_VERS in the number of version 1", err_vers(1) },
		{ "ERR_VERS with other versions",
		  err_vers().set(20, 3).set(24, 4) },
		{ "ERR_VERS without version 1", err_vers().set(20, 2) },
		{ "ERR_CHUNK in 28 octets",
		  message().word(0).word(2).word(16).word(4).word(2).word(0).word(
			  0) },
		{ "ERR_CHUNK in 20 octets",
		  message().word(0).word(2).word(16).word(4).word(2) },
		{ "ERR_CHUNK in the number of version 1",
		  message().word(0).word(1).word(16).word(4).word(2) },
		{ "MSG_DENIED", denied },
		{ "MSG_DENIED in the number of version 1",
		  message(denied).set(4, 1) },
		{ "a grant",
		  message().prefix(0, RDMA2_NOMSG, 0, 16, 1).no_lists() },
		{ "DONE", message().prefix(9, RDMA2_DONE, 0, 16, 1) },
		{ "an unknown type", message().prefix(0, 77, 0, 16, 1) },
		{ "too much received",
		  message().prefix(0, 5, 0, 16, 9).word(0) },
		{ "nothing", message() },
		{ "12 octets", message().word(0).word(2).word(16) },
		{ "23 octets",
		  message().prefix(0, RDMA2_CONNPROP, 0).truncate(23) },
		{ "garbage", message().fill(64, 0xa5) },
	};
}

/* The time at which the peer disconnects */
enum class disconnect {
	BEFORE, /* the client never sees the answer */
	AFTER,	/* before the work item continues */
	NEVER,
};

/*
 * Version 1 follows, at once and with little delay. It works on the second
 * connection, and is remembered.
 */
TEST(Fallback, AnyAnswer)
{
	for (const form &f : odd_forms()) {
		for (disconnect d : { disconnect::BEFORE, disconnect::AFTER,
				      disconnect::NEVER }) {
			attempts a;

			SCOPED_TRACE(std::string(f.what) + ", disconnect " +
				     std::to_string(static_cast<int>(d)));
			a.begin();
			if (d != disconnect::BEFORE)
				a.receive(f.m);
			if (d != disconnect::NEVER)
				a.cm_event(RPCRDMA_CM_DISCONNECTED);
			EXPECT_EQ(a.finish(), UNOPENED);
			EXPECT_LE(a.waited, 1000u);
			a.begin();
			EXPECT_EQ(a.tried, 1);
			EXPECT_EQ(a.finish(), 0);
			EXPECT_EQ(a.nr, 2u);
			EXPECT_EQ(a.first(), 1);
			/* For hours, if the server has answered */
			a.now += 6 * 3600;
			EXPECT_EQ(a.first(), d == disconnect::BEFORE ? 2 : 1);
		}
	}
}

/*
 * A second message that does not open the connection does not prolong the wait.
 */
TEST(Fallback, FurtherAnswersDoNotProlongTheWait)
{
	for (const form &f : odd_forms()) {
		attempts a;

		SCOPED_TRACE(f.what);
		a.begin();
		a.receive(f.m);
		if (a.life.stage == RPCRDMA_STAGE_CLOSING)
			continue;
		EXPECT_EQ(a.make().ms, 1000u);
		a.e->conn.received = 0;
		EXPECT_NE(a.e->receive(f.m), RPCRDMA_RX_CLOSE);
		EXPECT_FALSE(a.e->events & RPCRDMA_EV_ODD);
		EXPECT_EQ(a.make(LATE).status, UNOPENED);
	}
}

/* An answer arrives before the event that the connection is established. */
TEST(Fallback, AnAnswerBeforeTheConnectionIsEstablished)
{
	attempts a;

	a.begin();
	a.life.stage = RPCRDMA_STAGE_CONNECTING;
	rpcrdma_lifecycle_odd(&a.life);
	EXPECT_EQ(a.make().ms, 20000u);
	a.cm_event(RPCRDMA_CM_ESTABLISHED);
	EXPECT_EQ(a.make().ms, 1000u);
}

/* If version 2 follows, it is accepted as version 2. */
TEST(Fallback, AnOpeningThatFollows)
{
	for (const form &f : odd_forms()) {
		attempts a;

		SCOPED_TRACE(f.what);
		a.begin();
		a.receive(f.m);
		if (a.life.stage == RPCRDMA_STAGE_CLOSING)
			continue;
		a.receive(connprop_of(usual_config(false), 32, 1));
		EXPECT_EQ(a.finish(), 0);
		EXPECT_EQ(a.waited, 0u);
		EXPECT_EQ(a.first(), 2);
		EXPECT_EQ(a.memory.has_v2, 1);
	}
}

/*
 * An ERROR about this end's CONNPROP shows version 2, and the peer gets its
 * full time.
 */
TEST(Fallback, AnErrorAboutThePropertiesIsVersion2)
{
	attempts a;

	a.begin();
	a.receive(message()
			  .prefix(0, RDMA2_ERROR, RDMA2_F_RESPONSE, 16, 1)
			  .word(RDMA2_ERR_BAD_PROPVAL));
	EXPECT_EQ(a.make().ms, 15000u);
	a.cm_event(RPCRDMA_CM_DISCONNECTED);
	EXPECT_EQ(a.finish(), NO_CONNECTION);
	EXPECT_EQ(a.first(), 2);
}

/* ERR_VERS opens the connection with version 1, unless the peer disconnects. */
TEST(Fallback, ARefusal)
{
	attempts a;

	a.begin();
	a.receive(err_vers());
	EXPECT_EQ(a.finish(), 0);
	EXPECT_EQ(a.e->conn.version, 1);
	EXPECT_EQ(a.first(), 2);
	/* The transport owns the connection, and is notified of its end. */
	a.cm_event(RPCRDMA_CM_DISCONNECTED);
	a.forget();
	EXPECT_TRUE(a.at_once);
	EXPECT_EQ(a.first(), 1);
}

TEST(Fallback, ARefusalAndADisconnectAtOnce)
{
	attempts a;

	a.begin();
	a.receive(err_vers());
	EXPECT_EQ(a.life.stage, RPCRDMA_STAGE_OPEN);
	a.cm_event(RPCRDMA_CM_DISCONNECTED);
	EXPECT_EQ(a.finish(), UNOPENED);
	a.begin();
	EXPECT_EQ(a.tried, 1);
	EXPECT_EQ(a.waited, 0u);
}

/*
 * A server refuses version 2, and then does not answer version 1 on that
 * connection either.
 */
TEST(Fallback, ARefusalAndSilence)
{
	attempts a;

	a.begin();
	a.receive(err_vers());
	EXPECT_EQ(a.finish(), 0);
	a.forget();
	EXPECT_EQ(a.first(), 1);
}

/* A failure of this end proves nothing about the server. */
TEST(Fallback, AFailureOfThisEnd)
{
	for (bool answered : { false, true }) {
		attempts a;

		a.begin();
		if (answered)
			a.receive(err_vers());
		rpcrdma_lifecycle_close(&a.life, "a Send could not be posted");
		EXPECT_EQ(a.finish(), NO_CONNECTION);
		EXPECT_EQ(a.first(), 2);

		a.begin();
		rpcrdma_lifecycle_failed(&a.life, RPCRDMA_FAILURE_HERE,
					 "broken");
		EXPECT_EQ(a.finish(), NO_CONNECTION);
		EXPECT_EQ(a.first(), 2);
	}
	for (rpcrdma_cm_event what :
	     { RPCRDMA_CM_ADDRESS_CHANGED, RPCRDMA_CM_REMOVED,
	       RPCRDMA_CM_FAILED }) {
		attempts a;

		a.begin();
		a.cm_event(what);
		a.finish();
		EXPECT_EQ(a.first(), 2);
	}
	/* These failures are caused by the peer. */
	for (rpcrdma_failure failure :
	     { RPCRDMA_FAILURE_FLUSHED, RPCRDMA_FAILURE_PEER }) {
		attempts a;

		a.begin();
		rpcrdma_lifecycle_failed(&a.life, failure, "broken");
		EXPECT_EQ(a.finish(), UNOPENED);
		EXPECT_EQ(a.first(), 1);
	}
}

/*
 * Version 1 was assumed. A failure of this end does not refute the assumption
 * either.
 */
TEST(Fallback, AFailureOfThisEndWithVersion1)
{
	attempts a;

	a.begin();
	EXPECT_EQ(a.finish(), UNOPENED);
	EXPECT_EQ(a.waited, 15000u);
	a.begin();
	EXPECT_EQ(a.finish(), 0);
	rpcrdma_lifecycle_close(&a.life, "a Call could not be posted");
	a.forget();
	EXPECT_EQ(a.first(), 1);
	a.begin();
	EXPECT_EQ(a.finish(), 0);
	a.forget();
	EXPECT_EQ(a.first(), 2);
}

message reply1(u32 xid)
{
	return message()
		.word(xid)
		.word(1)
		.word(9)
		.word(0)
		.word(0)
		.word(0)
		.word(0)
		.rpc(xid, REPLY, 40);
}

/* The wait for a server that ignores version 2 occurs once. */
TEST(Fallback, SilenceIsWaitedForOnce)
{
	attempts a;

	a.begin();
	EXPECT_EQ(a.finish(), UNOPENED);
	for (u32 i = 0; i < 100; i++) {
		a.begin();
		ASSERT_EQ(a.tried, 1);
		EXPECT_EQ(a.finish(), 0);
		a.e->send(RPCRDMA_KIND_CALL, 5);
		a.receive(reply1(5));
		/*
		 * The connection is idle, or used for longer than a cache entry
		 * lives.
		 */
		a.now += i % 10 ? 301 : 48 * 3600;
		a.forget();
	}
	EXPECT_EQ(a.waited, 15000u);
	EXPECT_EQ(a.nr, 101u);
}

/* Version 1 is used until the server shows that it has version 2. */
TEST(Fallback, UntilVersion2Answers)
{
	attempts a;

	a.begin();
	a.finish();
	a.begin();
	EXPECT_EQ(a.finish(), 0);
	a.e->send(RPCRDMA_KIND_CALL, 5);
	a.receive(err_vers(1).set(0, 5).set(20, 2).set(24, 2));
	EXPECT_EQ(a.life.stage, RPCRDMA_STAGE_CLOSING);
	a.forget();
	EXPECT_EQ(a.first(), 2);
	a.begin();
	a.receive(connprop_of(usual_config(false), 32, 1));
	EXPECT_EQ(a.finish(), 0);
	a.forget();
	EXPECT_EQ(a.memory.has_v2, 1);
	EXPECT_EQ(a.memory.only_v1_until, 0u);
}

} // namespace
