// SPDX-License-Identifier: GPL-2.0
/* The cache of a server's version */
#include "protocol_v1.hh"

using namespace engine_test;
using namespace engine_test::version1;

TEST(VersionCache, NothingKnownBeginsWithTheHighest)
{
	const rpcrdma_version_cache memory = {};

	EXPECT_EQ(rpcrdma_version_first(&memory, 0, 1, 2), 2);
	EXPECT_EQ(rpcrdma_version_first(&memory, 0, 1, 1), 1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 0, 2, 2), 2);
}

TEST(VersionCache, SilenceMeansVersion1ForAWhile)
{
	rpcrdma_version_cache memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1000, 1, 2), 1);
	/* unless version 1 is not permitted */
	EXPECT_EQ(rpcrdma_version_first(&memory, 1000, 2, 2), 2);
	/*
	 * Version 1 is used for a day, and for another day after the last
	 * answer with version 1.
	 */
	EXPECT_EQ(rpcrdma_version_first(&memory, 87399, 1, 2), 1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 87400, 1, 2), 2);
	rpcrdma_version_learn(&memory, 90000, 1, RPCRDMA_ANSWER_V1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 176399, 1, 2), 1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 176400, 1, 2), 2);
	/* The same happens once more. */
	rpcrdma_version_learn(&memory, 176400, 2, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 176401, 1, 2), 1);
}

/* A lost connection costs no waiting time, so version 2 is tried again soon. */
TEST(VersionCache, ALostConnectionMeansVersion1ForMinutes)
{
	rpcrdma_version_cache memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_LOST);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1299, 1, 2), 1);
	rpcrdma_version_learn(&memory, 1200, 1, RPCRDMA_ANSWER_V1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1300, 1, 2), 2);
}

/*
 * A server that answers with version 1 may restart with version 2 at any time.
 */
TEST(VersionCache, AVersion1ServerGetsAnotherChance)
{
	rpcrdma_version_cache memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NONE);
	for (u64 now = 1000; now < 1100; now += 20) {
		rpcrdma_version_learn(&memory, now, 1, RPCRDMA_ANSWER_V1);
		for (const auto away :
		     { RPCRDMA_ANSWER_AWAY, RPCRDMA_ANSWER_LOST,
		       RPCRDMA_ANSWER_AWAY })
			rpcrdma_version_learn(&memory, now, 1, away);
		EXPECT_EQ(rpcrdma_version_first(&memory, now, 1, 2), 1);
	}
	/* The server may have lost version 1. */
	rpcrdma_version_learn(&memory, 1100, 1, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1100, 1, 2), 2);
}

/*
 * If a peer is unreachable after it was silent, the version was not the reason
 * for its silence.
 */
TEST(VersionCache, SilenceOfAnUnreachablePeerProvesNothing)
{
	rpcrdma_version_cache memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_AWAY);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1000, 1, 2), 2);
	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NONE);
	rpcrdma_version_learn(&memory, 1020, 1, RPCRDMA_ANSWER_AWAY);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1020, 1, 2), 2);
}

TEST(VersionCache, SilenceInBothVersionsProvesNothing)
{
	rpcrdma_version_cache memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NONE);
	rpcrdma_version_learn(&memory, 1060, 1, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1060, 1, 2), 2);
}

/*
 * A server that restarts drops connections without notice, which proves
 * nothing.
 */
TEST(VersionCache, AVersion2ServerGetsAnotherChance)
{
	rpcrdma_version_cache memory = {};

	for (u64 now = 1000; now < 1100; now += 20) {
		rpcrdma_version_learn(&memory, now, 2, RPCRDMA_ANSWER_V2);
		EXPECT_EQ(rpcrdma_version_first(&memory, now, 1, 2), 2);
		rpcrdma_version_learn(&memory, now + 5, 2, RPCRDMA_ANSWER_NONE);
		EXPECT_EQ(rpcrdma_version_first(&memory, now + 5, 1, 2), 2);
	}
	/* The server may have lost version 2. */
	rpcrdma_version_learn(&memory, 1100, 2, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1100, 1, 2), 1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1400, 1, 2), 2);
}

/* A refusal after which version 1 can follow costs only one message. */
TEST(VersionCache, ARefusalIsAnAnswer)
{
	rpcrdma_version_cache memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_V2);
	rpcrdma_version_learn(&memory, 1010, 2, RPCRDMA_ANSWER_NONE);
	rpcrdma_version_learn(&memory, 1020, 2, RPCRDMA_ANSWER_V1);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1020, 1, 2), 2);
	EXPECT_EQ(memory.has_v2, 0);
	EXPECT_EQ(memory.silent, 0);
}

/*
 * A peer that refuses and disconnects is not asked for version 2 again at once
 * (4.2.3.2).
 */
TEST(VersionCache, ARefusalThatEndsTheConnectionIsRemembered)
{
	rpcrdma_version_cache memory = {};

	memory.has_v2 = 1;
	for (u64 now = 1000; now < 5000; now += 400) {
		EXPECT_EQ(rpcrdma_version_first(&memory, now, 1, 2), 2);
		rpcrdma_version_learn(&memory, now, 2, RPCRDMA_ANSWER_REFUSED);
		EXPECT_EQ(rpcrdma_version_first(&memory, now, 1, 2), 1);
		/* Version 1 works on that connection, which ends, too. */
		rpcrdma_version_learn(&memory, now + 200, 1, RPCRDMA_ANSWER_V1);
		EXPECT_EQ(rpcrdma_version_first(&memory, now + 299, 1, 2), 1);
		EXPECT_EQ(memory.has_v2, 0);
	}
	/*
	 * If version 1 gets no answer either, the version was not the reason.
	 */
	rpcrdma_version_learn(&memory, 6000, 2, RPCRDMA_ANSWER_REFUSED);
	rpcrdma_version_learn(&memory, 6001, 1, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 6001, 1, 2), 2);
}

namespace
{

enum rpcrdma_answer answer(const end &e, enum rpcrdma_end ended)
{
	return rpcrdma_conn_answer(&e.conn, ended);
}

} // namespace

TEST(VersionCache, WhatAConnectionProvesAboutItsServer)
{
	end e{ config(true) };

	e.post(33);
	rpcrdma_conn_established(&e.conn);
	e.control();
	EXPECT_EQ(answer(e, RPCRDMA_END_WAITED), RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(answer(e, RPCRDMA_END_PEER), RPCRDMA_ANSWER_LOST);
	EXPECT_EQ(answer(e, RPCRDMA_END_AWAY), RPCRDMA_ANSWER_AWAY);
	EXPECT_EQ(answer(e, RPCRDMA_END_NONE), RPCRDMA_ANSWER_NOT_YET);
	EXPECT_EQ(answer(e, RPCRDMA_END_HERE), RPCRDMA_ANSWER_NOT_YET);
	e.receive(err_vers(2, 1, 1));
	EXPECT_EQ(answer(e, RPCRDMA_END_NONE), RPCRDMA_ANSWER_V1);
	EXPECT_EQ(answer(e, RPCRDMA_END_HERE), RPCRDMA_ANSWER_V1);
	EXPECT_EQ(answer(e, RPCRDMA_END_WAITED), RPCRDMA_ANSWER_REFUSED);
	EXPECT_EQ(answer(e, RPCRDMA_END_PEER), RPCRDMA_ANSWER_REFUSED);
	e.send(RPCRDMA_KIND_CALL, X);
	EXPECT_EQ(e.receive(inline_msg(X, REPLY)), RPCRDMA_RX_REPLY);
	EXPECT_EQ(answer(e, RPCRDMA_END_PEER), RPCRDMA_ANSWER_V1);

	auto v2 = open_client();

	EXPECT_EQ(answer(*v2, RPCRDMA_END_PEER), RPCRDMA_ANSWER_V2);

	/*
	 * The peer announces neither version. An attempt with version 1 shows
	 * whether it has that.
	 */
	end none{ config(true) };

	none.post(33);
	rpcrdma_conn_established(&none.conn);
	none.control();
	none.receive(err_vers(2, 3, 3));
	EXPECT_EQ(answer(none, RPCRDMA_END_NONE), RPCRDMA_ANSWER_NOT_YET);
	EXPECT_EQ(answer(none, RPCRDMA_END_HERE), RPCRDMA_ANSWER_ODD);
}

/* A connection that opened without any message, as those of version 1 do */
TEST(VersionCache, NothingIsLearnedBeforeAnAnswer)
{
	rpcrdma_version_cache memory = {};

	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1001, 1, 2), 1);
	for (const u8 tried : { 1, 2 })
		rpcrdma_version_learn(&memory, 1001, tried,
				      RPCRDMA_ANSWER_NOT_YET);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1002, 1, 2), 1);
	memory = {};
	rpcrdma_version_learn(&memory, 1000, 2, RPCRDMA_ANSWER_NOT_YET);
	EXPECT_EQ(rpcrdma_version_first(&memory, 1001, 1, 2), 2);
}

/* With a peer that never answers, the versions alternate. */
TEST(VersionCache, EndlessSilenceAlternatesVersions)
{
	rpcrdma_version_cache memory = {};
	u32 tried[3] = {};
	u8 last = 1;

	memory.has_v2 = 1;
	for (u64 now = 1000; now < 5000; now += 10) {
		const u8 version = rpcrdma_version_first(&memory, now, 1, 2);

		/* Version 1 is never tried twice in a row. */
		EXPECT_FALSE(version == 1 && last == 1);
		last = version;
		tried[version]++;
		rpcrdma_version_learn(&memory, now, version,
				      RPCRDMA_ANSWER_NONE);
	}
	EXPECT_GT(tried[1], 100u);
	EXPECT_GT(tried[2], 100u);
}

/* ---- Several servers ---- */

static rpcrdma_server_name named(u8 last)
{
	rpcrdma_server_name name{};

	name.net = 7;
	name.family = 2;
	name.port = 20049;
	name.address[15] = last;
	return name;
}

/* Servers are distinguished by all of their name. */
TEST(VersionCache, ServersAreDistinguished)
{
	const rpcrdma_server_name known = named(1);
	rpcrdma_server_memories all = {};
	rpcrdma_server_name other;

	EXPECT_FALSE(rpcrdma_server_learn(&all, &known, 1000, 2,
					  RPCRDMA_ANSWER_NONE));
	EXPECT_EQ(rpcrdma_server_first(&all, &known, 1001, 1, 2), 1);
	EXPECT_EQ(rpcrdma_server_first(&all, &known, 1001, 2, 2), 2);
	other = named(2);
	EXPECT_EQ(rpcrdma_server_first(&all, &other, 1001, 1, 2), 2);
	other = known;
	other.address[0] = 1;
	EXPECT_EQ(rpcrdma_server_first(&all, &other, 1001, 1, 2), 2);
	other = known;
	other.net++;
	EXPECT_EQ(rpcrdma_server_first(&all, &other, 1001, 1, 2), 2);
	other = known;
	other.scope++;
	EXPECT_EQ(rpcrdma_server_first(&all, &other, 1001, 1, 2), 2);
	other = known;
	other.family = 10;
	EXPECT_EQ(rpcrdma_server_first(&all, &other, 1001, 1, 2), 2);
	other = known;
	other.port++;
	EXPECT_EQ(rpcrdma_server_first(&all, &other, 1001, 1, 2), 2);
	/* The cache of one server does not change that of the other. */
	EXPECT_TRUE(rpcrdma_server_learn(&all, &other, 1001, 2,
					 RPCRDMA_ANSWER_REFUSED));
	EXPECT_FALSE(
		rpcrdma_server_learn(&all, &known, 1002, 2, RPCRDMA_ANSWER_V2));
	EXPECT_EQ(rpcrdma_server_first(&all, &other, 1003, 1, 2), 1);
	EXPECT_EQ(rpcrdma_server_first(&all, &known, 1003, 1, 2), 2);
}

/* The server that no connection was made to for longest is forgotten. */
TEST(VersionCache, TheLeastRecentlyUsedIsForgotten)
{
	rpcrdma_server_memories all = {};
	rpcrdma_server_name name;
	u64 now = 0;

	/* The first server is used at time 0. */
	for (u8 i = 0; i < RPCRDMA_REMEMBERED_SERVERS; i++) {
		name = named(i);
		rpcrdma_server_learn(&all, &name, now++, 2,
				     RPCRDMA_ANSWER_NONE);
	}
	for (u8 i = 0; i < RPCRDMA_REMEMBERED_SERVERS; i++) {
		name = named(i);
		EXPECT_EQ(rpcrdma_server_first(&all, &name, now, 1, 2), 1)
			<< +i;
	}
	/*
	 * The first server is used again, so that the second one is the oldest.
	 */
	name = named(0);
	rpcrdma_server_learn(&all, &name, now++, 1, RPCRDMA_ANSWER_V1);
	name = named(100);
	/* Nothing is known about the server that replaces it. */
	rpcrdma_server_learn(&all, &name, now++, 2, RPCRDMA_ANSWER_NOT_YET);
	EXPECT_EQ(rpcrdma_server_first(&all, &name, now, 1, 2), 2);
	rpcrdma_server_learn(&all, &name, now++, 2, RPCRDMA_ANSWER_NONE);
	EXPECT_EQ(rpcrdma_server_first(&all, &name, now, 1, 2), 1);
	for (u8 i = 0; i < RPCRDMA_REMEMBERED_SERVERS; i++) {
		name = named(i);
		EXPECT_EQ(rpcrdma_server_first(&all, &name, now, 1, 2),
			  i == 1 ? 2 : 1)
			<< +i;
	}
}
