// SPDX-License-Identifier: GPL-2.0
/* Host authentication between ends that comply with the rules (WP 9) */
#include "hostauth.hh"

#include "lifecycle.hh"

using namespace engine_test;
using namespace engine_test::hostauth;
using engine_test::opening::connprop;
using engine_test::opening::version1_call;

namespace
{

constexpr auto NONE = RPCRDMA_AUTH_NONE;
constexpr auto OFFER = RPCRDMA_AUTH_OFFER;
constexpr auto REQUIRE = RPCRDMA_AUTH_REQUIRE;

/* ---- The handshake ---- */

TEST(HostAuth, BothEndsProveTheSecret)
{
	for (auto mode : { OFFER, REQUIRE }) {
		peer c{ true, mode }, s{ false, mode };
		pair p{ c, s };

		p.run();
		EXPECT_TRUE(p.both_done());
		EXPECT_TRUE(p.both_open());
		EXPECT_STREQ(rpcrdma_auth_peer(&c.e->conn), "server");
		EXPECT_STREQ(rpcrdma_auth_peer(&s.e->conn), "client");
		EXPECT_STREQ(rpcrdma_auth_hash_name(&s.e->conn), "sha512");
		ASSERT_EQ(p.sent.size(), 5u);
		for (const message &m : p.sent) {
			EXPECT_EQ(m.get(0), 0u);
			EXPECT_EQ(m.get(12), +RDMA2_CONNPROP);
		}
		const u32 more = RDMA2_F_TPMORE;

		EXPECT_EQ(flags_of(p.sent[0]), more);
		EXPECT_EQ(flags_of(p.sent[1]), more);
		EXPECT_EQ(flags_of(p.sent[2]), more);
		EXPECT_EQ(flags_of(p.sent[3]), 0u);
		EXPECT_EQ(flags_of(p.sent[4]), 0u);
		/* The first message has all properties, and the last one has none. */
		EXPECT_EQ(p.sent[0].get(24), 8u);
		EXPECT_LE(p.sent[0].size(), 1024u);
		EXPECT_EQ(p.sent[1].get(24), 7u);
		EXPECT_EQ(p.sent[2].get(24), 1u);
		EXPECT_EQ(p.sent[3].get(24), 1u);
		EXPECT_EQ(p.sent[4].get(24), 0u);
		EXPECT_EQ(c.asked, 1u);
		EXPECT_EQ(s.asked, 2u);
		/* No proof is left that another connection could use. */
		for (const u8 *proof :
		     { c.auth.proof[0], s.auth.proof[0], s.auth.received }) {
			for (u32 i = 0; i < RPCRDMA_AUTH_MAX_MAC; i++)
				EXPECT_EQ(proof[i], 0);
		}
	}
}

/* No RPC passes, and the connection is not reported as open, before the proofs. */
TEST(HostAuth, OpensOnlyAfterTheProofs)
{
	for (u32 count = 0; count < 5; count++) {
		peer c{ true }, s{ false };
		pair p{ c, s };

		p.run(count);
		EXPECT_EQ(c.open(), count >= 4) << count;
		EXPECT_FALSE(s.open()) << count;
		EXPECT_EQ(!!(c.e->all_events & RPCRDMA_EV_OPENED), count >= 4);
		EXPECT_FALSE(s.e->all_events & RPCRDMA_EV_OPENED);
		EXPECT_FALSE(
			rpcrdma_conn_may_send(&s.e->conn, RPCRDMA_KIND_CALL));
		if (count)
			EXPECT_EQ(s.receive(message()
						    .prefix(5, RDMA2_MSG, 0)
						    .no_lists()
						    .rpc(5, CALL, 40)),
				  RPCRDMA_RX_CLOSE);
	}
	/* Neither does a client open the server with an early last message. */
	for (u32 count = 1; count < 4; count++) {
		peer c{ true }, s{ false };
		pair p{ c, s };

		p.run(count);
		s.receive(message().prefix(0, RDMA2_CONNPROP, 0).word(0));
		p.run(20);
		EXPECT_FALSE(s.open()) << count;
		EXPECT_FALSE(s.e->all_events & RPCRDMA_EV_OPENED) << count;
	}
}

TEST(HostAuth, RpcTrafficFollows)
{
	peer c{ true }, s{ false };
	pair p{ c, s };

	p.run();
	ASSERT_TRUE(rpcrdma_conn_may_send(&c.e->conn, RPCRDMA_KIND_CALL));
	EXPECT_EQ(s.receive(c.e->send(RPCRDMA_KIND_CALL, 7)), RPCRDMA_RX_CALL);
	EXPECT_EQ(c.receive(s.e->send(RPCRDMA_KIND_REPLY, 7)),
		  RPCRDMA_RX_REPLY);
}

/* Credit grants may arrive while a proof is computed. */
TEST(HostAuth, GrantsMayComeBetween)
{
	peer c{ true }, s{ false };
	pair p{ c, s };

	p.run(2);
	EXPECT_EQ(
		c.receive(
			message().prefix(0, RDMA2_NOMSG, 0, 40, 1).no_lists()),
		RPCRDMA_RX_CONSUMED);
	ASSERT_TRUE(c.answer());
	EXPECT_EQ(c.e->control().get(24), 1u);
	EXPECT_EQ(c.e->conn.counters.grants_received, 1u);
}

/* ---- Without a secret, or without support for the handshake ---- */

TEST(HostAuth, WithoutASecretNothingChanges)
{
	peer c{ true, NONE }, s{ false, NONE };
	peer offers{ false, OFFER };
	pair p{ c, s }, q{ c, offers };

	const message first = connprop_of(usual_config(true));

	p.run();
	ASSERT_EQ(p.sent.size(), 2u);
	EXPECT_EQ(flags_of(p.sent[0]), 0u);
	EXPECT_EQ(p.sent[0].get(24), 7u);
	EXPECT_EQ(p.sent[1].get(24), 6u);
	EXPECT_TRUE(p.both_open());
	/*
	 * A server that offers authentication answers such a client with the
	 * same bytes.
	 */
	offers.receive(p.sent[0]);
	EXPECT_EQ(offers.e->control().data(), p.sent[1].data());
	EXPECT_TRUE(offers.open());
	EXPECT_EQ(offers.asked, 0u);
	EXPECT_EQ(offers.result(), RPCRDMA_AUTH_UNUSED);
}

TEST(HostAuth, ServerWithoutTheSecret)
{
	for (bool skips : { false, true }) {
		peer c{ true };
		peer s{ false, skips ? NONE : OFFER };
		pair p{ c, s };

		s.known.clear();
		p.run();
		EXPECT_TRUE(p.both_open());
		EXPECT_EQ(c.result(), RPCRDMA_AUTH_UNUSED);
		EXPECT_EQ(s.proofs, 0u);
		ASSERT_EQ(p.sent.size(), 3u);
		EXPECT_EQ(flags_of(p.sent[1]), 0u);
		EXPECT_EQ(p.sent[1].get(24), 6u);
		EXPECT_EQ(p.sent[2].get(24), 0u);
		EXPECT_FALSE(rpcrdma_auth_failed(&c.e->conn));
	}
}

TEST(HostAuth, ClientRequiresIt)
{
	for (auto mode : { NONE, OFFER }) {
		peer c{ true, REQUIRE };
		peer s{ false, mode };
		pair p{ c, s };

		s.known.clear();
		p.run();
		EXPECT_TRUE(c.closing());
		EXPECT_FALSE(c.open());
		EXPECT_EQ(c.result(), RPCRDMA_AUTH_NOT_OFFERED);
		EXPECT_TRUE(rpcrdma_auth_denied(&c.e->conn));
		EXPECT_FALSE(s.open());
	}
}

TEST(HostAuth, ClientRequiresItAndHasNoSecret)
{
	peer c{ true, REQUIRE, "" }, s{ false };
	pair p{ c, s };

	EXPECT_TRUE(c.e->all_events & RPCRDMA_EV_CLOSE);
	EXPECT_EQ(c.e->control().size(), 0u);
	EXPECT_EQ(c.result(), RPCRDMA_AUTH_NO_SECRET);
}

/* A server that requires authentication refuses other clients with a reason. */
TEST(HostAuth, ServerRequiresIt)
{
	peer c{ true, NONE };
	peer s{ false, REQUIRE };
	pair p{ c, s };

	p.run();
	EXPECT_TRUE(c.closing());
	EXPECT_EQ(c.result(), RPCRDMA_AUTH_PEER_REQUIRES);
	EXPECT_TRUE(rpcrdma_auth_denied(&c.e->conn));
	EXPECT_STREQ(c.e->conn.reason,
		     rpcrdma_auth_reason(RPCRDMA_AUTH_PEER_REQUIRES));
	EXPECT_FALSE(s.open());
	EXPECT_EQ(s.result(), RPCRDMA_AUTH_NOT_OFFERED);
	EXPECT_EQ(s.asked, 0u);
	ASSERT_EQ(p.sent.size(), 2u);
	EXPECT_EQ(flags_of(p.sent[1]), 0u);
	/* A client that continues anyway is refused. */
	EXPECT_EQ(s.receive(message()
				    .prefix(5, RDMA2_MSG, 0)
				    .no_lists()
				    .rpc(5, CALL, 40)),
		  RPCRDMA_RX_CLOSE);
}

/* ---- The memory of a handshake, and the identity of a server ---- */

/* A server allocates the memory of a handshake only after a HELLO. */
TEST(HostAuth, MemoryOnlyForAHello)
{
	for (auto mode : { NONE, OFFER, REQUIRE }) {
		for (auto others : { NONE, OFFER }) {
			peer c{ true, others }, s{ false, mode };
			pair p{ c, s };

			p.run();
			EXPECT_EQ(s.hellos, mode && others ? 1u : 0u);
			EXPECT_EQ(!!s.e->conn.cfg.auth, mode && others);
		}
	}
}

TEST(HostAuth, NoMemory)
{
	for (auto mode : { OFFER, REQUIRE }) {
		peer c{ true }, s{ false, mode };
		pair p{ c, s };

		s.memory = false;
		p.run();
		EXPECT_EQ(s.result(), RPCRDMA_AUTH_UNAVAILABLE);
		EXPECT_EQ(c.result(), RPCRDMA_AUTH_UNAVAILABLE);
		EXPECT_FALSE(rpcrdma_auth_denied(&c.e->conn));
		EXPECT_FALSE(c.open() || s.open());
		EXPECT_EQ(s.asked, 0u);
		ASSERT_EQ(p.sent.size(), 2u);
		EXPECT_EQ(flags_of(p.sent[1]), 0u);
	}
}

/* The client cannot continue before the host has provided the memory, or after the end. */
TEST(HostAuth, HelloIsHeld)
{
	for (bool closed : { false, true }) {
		peer c{ true }, s{ false };
		pair p{ c, s };
		const message m = p.next(c);

		s.e->receive(m);
		EXPECT_EQ(s.e->control().size(), 0u);
		EXPECT_FALSE(s.open());
		if (closed)
			rpcrdma_conn_close(&s.e->conn, "closed");
		else
			s.e->receive(connprop({}, 0, 0, 0));
		EXPECT_EQ(s.result(), closed ? RPCRDMA_AUTH_PENDING :
					       RPCRDMA_AUTH_MALFORMED);
		EXPECT_EQ(rpcrdma_auth_hello(&s.e->conn, &s.auth,
					     m.data().data(), m.size(),
					     &s.e->rx),
			  0u);
		EXPECT_EQ(s.e->conn.cfg.auth, nullptr);
	}
}

/* A server without a valid identity, with and without a secret */
TEST(HostAuth, ServerWithoutIdentity)
{
	for (bool knows : { false, true }) {
		for (auto mode : { OFFER, REQUIRE }) {
			peer c{ true }, s{ false, mode, "" };
			pair p{ c, s };

			if (!knows)
				s.known.clear();
			p.run();
			EXPECT_EQ(p.both_open(), mode == OFFER);
			EXPECT_EQ(s.result(), mode == OFFER ?
						      RPCRDMA_AUTH_UNUSED :
						      RPCRDMA_AUTH_UNAVAILABLE);
			EXPECT_EQ(s.proofs, 0u);
		}
	}
}

/* ---- The identities of a connection ---- */

TEST(HostAuth, Involves)
{
	peer c{ true }, s{ false };
	pair p{ c, s };

	EXPECT_FALSE(rpcrdma_auth_involves(&s.e->conn, "client"));
	/* In progress: the secret may have been looked up before it was revoked. */
	p.run(1);
	EXPECT_TRUE(rpcrdma_auth_involves(&c.e->conn, "client"));
	EXPECT_TRUE(rpcrdma_auth_involves(&s.e->conn, "client"));
	p.run();
	EXPECT_TRUE(rpcrdma_auth_involves(&c.e->conn, "client"));
	EXPECT_TRUE(rpcrdma_auth_involves(&c.e->conn, "server"));
	EXPECT_TRUE(rpcrdma_auth_involves(&s.e->conn, "client"));
	for (const char *other : { "server", "clien", "client2", "" })
		EXPECT_FALSE(rpcrdma_auth_involves(&s.e->conn, other));

	/* The identity was claimed, and not proven. */
	peer d{ true }, t{ false };
	pair q{ d, t };

	t.known.clear();
	q.run();
	EXPECT_FALSE(rpcrdma_auth_involves(&t.e->conn, "client"));
	EXPECT_FALSE(rpcrdma_auth_involves(&d.e->conn, "client"));
}

/* ---- Version 1 ---- */

TEST(HostAuth, VersionOneIsRefused)
{
	rpcrdma_conn_config cfg = usual_config(false);

	for (auto mode : { OFFER, REQUIRE }) {
		cfg.version_low = 1;
		cfg.auth_mode = static_cast<u8>(mode);

		end s{ cfg };

		s.post(33);
		s.receive(version1_call(1));
		EXPECT_EQ(s.conn.version, mode == OFFER ? 1 : 0);
		EXPECT_EQ(rpcrdma_conn_auth_result(&s.conn),
			  mode == OFFER ? RPCRDMA_AUTH_PENDING :
					  RPCRDMA_AUTH_VERSION_1);
		if (mode == REQUIRE)
			EXPECT_EQ(s.control().get(20), 2u);
	}
	/* Authentication is required even if a setting permits only version 1. */
	cfg.version_high = 1;
	end s{ cfg };

	EXPECT_EQ(s.conn.cfg.version_high, 2);
}

/* A client that tries version 1 first is authenticated with version 2. */
TEST(HostAuth, VersionTwoAfterVersionOne)
{
	peer c{ true }, s{ false, REQUIRE };
	pair p{ c, s };

	s.receive(version1_call(1));
	EXPECT_TRUE(rpcrdma_auth_failed(&s.e->conn));
	EXPECT_EQ(s.e->control().size(), 28u);
	/* Both ends have counted these two messages. */
	c.e->conn.sent = c.e->conn.received = 1;
	c.e->conn.limit = 2;
	p.run();
	EXPECT_EQ(s.result(), RPCRDMA_AUTH_DONE);
	EXPECT_TRUE(s.open());

	/* If the attempt with version 2 fails, its reason is reported. */
	peer t{ false, REQUIRE };

	t.receive(version1_call(1));
	t.e->control();
	t.receive(connprop({}, 0, 0, 1));
	EXPECT_EQ(t.result(), RPCRDMA_AUTH_NOT_OFFERED);
}

TEST(HostAuth, ServerOfVersionOne)
{
	for (auto mode : { OFFER, REQUIRE }) {
		peer c{ true, mode }, s{ false };
		pair p{ c, s };

		c.e->conn.cfg.version_low = 1;
		c.e->control();
		c.receive(message()
				  .word(0)
				  .word(2)
				  .word(32)
				  .word(4)
				  .word(1)
				  .word(1)
				  .word(1));
		EXPECT_EQ(c.open(), mode == OFFER);
		EXPECT_EQ(c.result(), mode == OFFER ? RPCRDMA_AUTH_PENDING :
						      RPCRDMA_AUTH_VERSION_1);
	}
}

/* ---- Secrets and identities ---- */

TEST(HostAuth, WrongSecret)
{
	for (auto mode : { OFFER, REQUIRE }) {
		peer c{ true, mode }, s{ false, mode };
		pair p{ c, s };

		s.known["client"] = "another one";
		p.run();
		EXPECT_TRUE(c.closing());
		EXPECT_FALSE(s.open());
		EXPECT_EQ(c.result(), RPCRDMA_AUTH_REFUSED);
		EXPECT_EQ(s.result(), RPCRDMA_AUTH_WRONG_PROOF);
		EXPECT_EQ(s.proofs, 1u);
		/* No part of the server's proof was sent. */
		ASSERT_EQ(p.sent.size(), 4u);
		EXPECT_EQ(p.sent[3].get(40), 4u);
	}
}

/*
 * A server that requires authentication does not disclose which identities it
 * knows.
 */
TEST(HostAuth, UnknownIdentity)
{
	peer c{ true, REQUIRE, "stranger" }, s{ false, REQUIRE };
	pair p{ c, s };

	c.known["stranger"] = "a secret";
	p.run();
	EXPECT_EQ(c.result(), RPCRDMA_AUTH_REFUSED);
	EXPECT_EQ(s.result(), RPCRDMA_AUTH_UNKNOWN);
	EXPECT_EQ(s.proofs, 0u);
	/* The server asks for the secret, but not for proofs. */
	EXPECT_EQ(s.asked, 1u);
	EXPECT_EQ(p.sent.size(), 4u);
}

TEST(HostAuth, ExpectedIdentity)
{
	peer c{ true, OFFER, nullptr, "server" };
	peer s{ false, REQUIRE, nullptr, "client" };
	pair p{ c, s };

	p.run();
	EXPECT_TRUE(p.both_done());

	peer c2{ true, OFFER, nullptr, "serve" }, s2{ false };
	pair q{ c2, s2 };

	q.run();
	EXPECT_TRUE(c2.closing());
	EXPECT_EQ(c2.result(), RPCRDMA_AUTH_WRONG_IDENTITY);
	EXPECT_EQ(c2.proofs, 0u);

	peer c3{ true }, s3{ false, REQUIRE, nullptr, "client2" };
	pair r{ c3, s3 };

	r.run();
	EXPECT_EQ(s3.result(), RPCRDMA_AUTH_WRONG_IDENTITY);
	EXPECT_EQ(c3.result(), RPCRDMA_AUTH_REFUSED);
	EXPECT_EQ(s3.asked, 0u);
}

TEST(HostAuth, IdentitiesArePrintable)
{
	const u8 nonce[RPCRDMA_AUTH_NONCE] = {};
	rpcrdma_hostauth auth;
	const std::string longest(RPCRDMA_AUTH_MAX_IDENTITY, 'x');

	EXPECT_TRUE(rpcrdma_auth_identity_ok("a.b-c:~!"));
	EXPECT_TRUE(rpcrdma_auth_identity_ok(longest.c_str()));
	for (const std::string &bad :
	     { longest + "x", std::string(), std::string("a b"),
	       std::string("a\n"), std::string("\x7f"),
	       std::string("\xc3\xa4") })
		EXPECT_FALSE(rpcrdma_auth_identity_ok(bad.c_str())) << bad;
	EXPECT_FALSE(rpcrdma_auth_init(&auth, "a b", "", nonce));
	EXPECT_FALSE(rpcrdma_auth_init(&auth, "a", "b c", nonce));

	/*
	 * The longest identity fits, with all properties, into a message that
	 * version 1 receives.
	 */
	peer c{ true, OFFER, longest.c_str() }, s{ false };
	pair p{ c, s };

	c.known[longest] = s.known[longest] = "secret";
	p.run();
	EXPECT_TRUE(p.both_done());
	EXPECT_LE(p.sent[0].size(), 1024u);
}

/* The secret is revoked or expires after the connection began. */
TEST(HostAuth, RevokedMeanwhile)
{
	for (u32 steps = 0; steps < 3; steps++) {
		peer c{ true, REQUIRE }, s{ false, REQUIRE };
		pair p{ c, s };
		peer &loses = steps == 1 ? c : s;

		p.run(1 + steps);
		ASSERT_TRUE(loses.answer(REVOKED)) << steps;
		p.run();
		EXPECT_FALSE(c.open() || s.open()) << steps;
		EXPECT_TRUE(rpcrdma_auth_denied(&c.e->conn));
	}
}

/* If memory is short, the secret may still be valid, and the client retries. */
TEST(HostAuth, NotAvailable)
{
	for (int status : { NO_MEMORY, NO_ALGORITHM }) {
		for (u32 steps = 0; steps < 3; steps++) {
			peer c{ true }, s{ false };
			pair p{ c, s };
			peer &lacks = steps == 1 ? c : s;

			p.run(1 + steps);
			ASSERT_TRUE(lacks.answer(status)) << steps;
			p.run();
			EXPECT_FALSE(c.open() || s.open()) << steps;
			EXPECT_EQ(c.result(), RPCRDMA_AUTH_UNAVAILABLE);
			EXPECT_TRUE(rpcrdma_auth_failed(&c.e->conn));
			EXPECT_FALSE(rpcrdma_auth_denied(&c.e->conn));
		}
	}
}

TEST(HostAuth, LateAnswersAreIgnored)
{
	peer c{ true }, s{ false };
	pair p{ c, s };
	rpcrdma_auth_answer a{};
	rpcrdma_auth_request ask;

	EXPECT_EQ(rpcrdma_auth_answered(&s.e->conn, &a), 0u);
	p.run(1);
	rpcrdma_conn_close(&s.e->conn, "closed");
	EXPECT_FALSE(s.answer());
	EXPECT_EQ(rpcrdma_auth_answered(&s.e->conn, &a), 0u);
	EXPECT_EQ(s.e->control().size(), 0u);

	peer none{ true, NONE };

	EXPECT_EQ(rpcrdma_auth_answered(&none.e->conn, &a), 0u);
	rpcrdma_auth_next(&none.e->conn, &ask);
	EXPECT_EQ(ask.what, RPCRDMA_AUTH_ASK_NOTHING);
	EXPECT_STREQ(rpcrdma_auth_peer(&none.e->conn), "");
}

/* ---- Algorithms ---- */

TEST(HostAuth, TheStrongestHashOfBoth)
{
	const u32 sha256 = 1 << RPCRDMA_AUTH_SHA256;
	const u32 sha384 = 1 << RPCRDMA_AUTH_SHA384;
	const u32 sha512 = 1 << RPCRDMA_AUTH_SHA512;
	const struct {
		u32 client, server, hash, octets;
	} cases[] = {
		{ sha256, sha256 | sha512, RPCRDMA_AUTH_SHA256, 32 },
		{ sha256 | sha384, sha256 | sha384, RPCRDMA_AUTH_SHA384, 48 },
		{ sha256 | sha512, RPCRDMA_AUTH_ALL_HASHES, RPCRDMA_AUTH_SHA512,
		  64 },
		{ sha256 | sha384, sha512, 0, 0 },
	};

	for (const auto &t : cases) {
		peer c{ true, OFFER, nullptr, "", t.client };
		peer s{ false, OFFER, nullptr, "", t.server };
		pair p{ c, s };

		p.run();
		EXPECT_EQ(p.both_done(), !!t.hash);
		if (t.hash) {
			EXPECT_EQ(s.auth.hash, t.hash);
			EXPECT_EQ(p.sent[2].get(44), t.octets);
		} else {
			EXPECT_EQ(c.result(), RPCRDMA_AUTH_NO_HASH);
			EXPECT_EQ(s.result(), RPCRDMA_AUTH_NO_HASH);
		}
	}
}

/* ---- What follows for the connection ---- */

TEST(HostAuth, AMountFails)
{
	using namespace engine_test::lifecycle;

	peer c{ true, NONE }, s{ false, REQUIRE };
	pair p{ c, s };
	life l{ true };

	p.run();
	l.conn = c.e->conn;
	l.l.stage = RPCRDMA_STAGE_OPENING;
	l.l.established = true;
	rpcrdma_lifecycle_close(&l.l, c.e->conn.reason);
	EXPECT_EQ(l.make().status, -13);
	EXPECT_EQ(l.make().answer, RPCRDMA_ANSWER_V2);
	l.conn.auth_result = RPCRDMA_AUTH_UNAVAILABLE;
	EXPECT_EQ(l.make().status, NO_CONNECTION);
}

TEST(HostAuth, OnlyTheFirstConnectionEndsRpcs)
{
	for (bool first : { false, true }) {
		rpcrdma_reconnect_walk walk = {};
		rpcrdma_reconnect_step s;

		walk.first = first;
		do {
			s = rpcrdma_reconnect_next(&walk, -13, false);
		} while (s.what != RPCRDMA_RECONNECT_WAKE);
		EXPECT_EQ(s.status, first ? -13 : -71);
	}
}

TEST(HostAuth, SettingsExcludeVersionOne)
{
	rpcrdma_settings all = RPCRDMA_DEFAULT_SETTINGS(4096);
	rpcrdma_ep_params p;

	rpcrdma_client_params(&all, 8, &p);
	EXPECT_EQ(p.version_low, 1);
	all.host_auth = all.svc_host_auth = REQUIRE;
	all.max_version = all.svc_max_version = 1;
	rpcrdma_client_params(&all, 8, &p);
	EXPECT_EQ(p.version_low, 2);
	EXPECT_EQ(p.version_high, 2);
	rpcrdma_server_params(&all, &p);
	EXPECT_EQ(p.version_low, 2);
	EXPECT_EQ(p.version_high, 2);
}

TEST(HostAuth, ResultsHaveNames)
{
	for (u32 i = 0; i < RPCRDMA_NR_AUTH_RESULTS; i++) {
		const auto result = static_cast<enum rpcrdma_auth_result>(i);
		const bool failed = i >= RPCRDMA_AUTH_REFUSED;

		EXPECT_EQ(!!rpcrdma_auth_reason(result), failed);
		EXPECT_EQ(rpcrdma_auth_name(result) == std::string("failed"),
			  failed);
	}
	EXPECT_STREQ(rpcrdma_auth_name(RPCRDMA_AUTH_DONE), "authenticated");
	EXPECT_STREQ(rpcrdma_auth_name(RPCRDMA_AUTH_UNUSED), "unused");
	EXPECT_STREQ(rpcrdma_auth_name(RPCRDMA_AUTH_PENDING), "none");
}

/* ---- Test vectors ---- */

struct vector_case {
	u32 hash, group;
	std::map<std::string, std::string> values;
};

const vector_case VECTORS[] = {
#include "hostauth_vectors.inc"
};

octets from_hex(const std::string &digits)
{
	octets data;

	for (size_t i = 0; i < digits.size(); i += 2)
		data.push_back(static_cast<uint8_t>(
			std::stoul(digits.substr(i, 2), nullptr, 16)));
	return data;
}

octets body_of(const message &m)
{
	return { m.data().begin() + RPCRDMA_V2_PREFIX, m.data().end() };
}

/* Compare the prime with the vector's, and answer with its public value. */
void answer_keys(peer &p, const vector_case &v, const std::string &end)
{
	rpcrdma_auth_request ask;
	rpcrdma_auth_answer a{};

	rpcrdma_auth_next(&p.e->conn, &ask);
	ASSERT_EQ(ask.what, RPCRDMA_AUTH_ASK_KEYS);
	ASSERT_EQ(ask.dh.group, v.group);

	const octets own = from_hex(v.values.at(end + "_public"));

	ASSERT_EQ(ask.dh.octets, own.size());
	EXPECT_EQ(octets(ask.dh.prime, ask.dh.prime + ask.dh.octets),
		  from_hex(v.values.at("prime")));
	std::copy(own.begin(), own.end(), a.public_value);
	rpcrdma_auth_answered(&p.e->conn, &a);
}

/* Compare the inputs with the vector's, and answer with its proofs. */
void answer_vector(peer &p, const vector_case &v)
{
	rpcrdma_auth_request ask;
	rpcrdma_auth_answer a{};

	rpcrdma_auth_next(&p.e->conn, &ask);
	ASSERT_EQ(ask.what, RPCRDMA_AUTH_ASK_PROOFS);
	EXPECT_STREQ(ask.identity, "client.example");
	EXPECT_STREQ(ask.server, "server.example");
	EXPECT_EQ(ask.hash, v.hash);
	for (u32 i = 0; i < 2; i++) {
		const std::string end = i ? "server" : "client";
		const octets proof = from_hex(v.values.at(end + "_proof"));
		octets input;

		for (const auto &range : ask.input[i]) {
			const auto *data = static_cast<const u8 *>(range.data);

			input.insert(input.end(), data, data + range.octets);
		}
		if (v.group) {
			const rpcrdma_auth_dh &dh = ask.dh;
			const octets shared = from_hex(v.values.at("shared"));
			const octets of_peer = from_hex(v.values.at(
				p.e->conn.cfg.client ? "server_public" :
						       "client_public"));

			EXPECT_EQ(octets(dh.peer_public,
					 dh.peer_public + dh.octets),
				  of_peer);
			input.insert(input.end(), dh.client_public,
				     dh.client_public + dh.octets);
			input.insert(input.end(), shared.begin(), shared.end());
		}
		EXPECT_EQ(input, from_hex(v.values.at(end + "_input")));
		ASSERT_EQ(ask.mac_octets, proof.size());
		std::copy(proof.begin(), proof.end(), a.proof[i]);
	}
	rpcrdma_auth_answered(&p.e->conn, &a);
}

TEST(HostAuth, Vectors)
{
	for (const vector_case &v : VECTORS) {
		const u32 group = 1u << v.group;
		peer c{ true,  OFFER, "client.example", "", 1u << v.hash,
			OFFER, group };
		peer s{ false,
			OFFER,
			"server.example",
			"",
			RPCRDMA_AUTH_ALL_HASHES,
			OFFER };

		s.known["client.example"] = "";
		for (u32 i = 0; i < RPCRDMA_AUTH_NONCE; i++) {
			c.auth.nonce[i] = static_cast<u8>(i);
			s.auth.nonce[i] = static_cast<u8>(0x80 + i);
		}

		pair p{ c, s };
		message m = c.e->control();

		EXPECT_EQ(body_of(m), from_hex(v.values.at("client_first")));
		s.receive(m);
		s.answer();
		if (v.group)
			answer_keys(s, v, "server");
		m = s.e->control();
		EXPECT_EQ(body_of(m), from_hex(v.values.at("server_first")));
		c.receive(m);
		if (v.group)
			answer_keys(c, v, "client");
		answer_vector(c, v);
		m = c.e->control();
		EXPECT_EQ(body_of(m), from_hex(v.values.at("client_message")));
		s.receive(m);
		answer_vector(s, v);
		m = s.e->control();
		EXPECT_EQ(body_of(m), from_hex(v.values.at("server_message")));
		c.receive(m);
		s.receive(c.e->control());
		EXPECT_TRUE(p.both_done());
	}
}

} // namespace
