// SPDX-License-Identifier: GPL-2.0
/* Diffie-Hellman in host authentication (WP 9) */
#include "hostauth.hh"

using namespace engine_test;
using namespace engine_test::hostauth;

namespace
{

constexpr auto NONE = RPCRDMA_AUTH_NONE;
constexpr auto OFFER = RPCRDMA_AUTH_OFFER;
constexpr auto REQUIRE = RPCRDMA_AUTH_REQUIRE;

constexpr u32 ALL = RPCRDMA_AUTH_ALL_GROUPS;
constexpr u32 FFDHE2048 = 1 << RPCRDMA_AUTH_FFDHE2048;
constexpr u32 FFDHE3072 = 1 << RPCRDMA_AUTH_FFDHE3072;
constexpr u32 FFDHE4096 = 1 << RPCRDMA_AUTH_FFDHE4096;

/* Return the public value, which is at the end of the message. */
octets public_of(const message &m, u32 length)
{
	return { m.data().end() - length, m.data().end() };
}

/* Return a CHALLENGE or a PROOF with another public value. */
message with_public(const message &m, const octets &value)
{
	octets data = m.data();

	std::copy(value.begin(), value.end(), data.end() - value.size());
	return message{ data };
}

struct dh_peer : peer {
	dh_peer(bool client, enum rpcrdma_auth_mode dh, u32 groups = ALL,
		enum rpcrdma_auth_mode mode = OFFER, const char *own = nullptr)
		: peer{ client, mode,  own, "", RPCRDMA_AUTH_ALL_HASHES,
			dh,	groups }
	{
	}
};

TEST(HostAuthDh, BothEndsCan)
{
	for (auto mode : { OFFER, REQUIRE }) {
		dh_peer c{ true, mode }, s{ false, mode };
		pair p{ c, s };

		p.run();
		EXPECT_TRUE(p.both_done());
		EXPECT_TRUE(p.both_open());
		EXPECT_EQ(p.sent.size(), 5u);
		EXPECT_STREQ(rpcrdma_auth_group_name(&c.e->conn), "ffdhe3072");
		EXPECT_STREQ(rpcrdma_auth_group_name(&s.e->conn), "ffdhe3072");
		/* A public value and a shared secret at each end */
		EXPECT_EQ(c.asked, 2u);
		EXPECT_EQ(s.asked, 3u);
		EXPECT_EQ(c.powers, 2u);
		EXPECT_EQ(s.powers, 2u);
		EXPECT_EQ(public_of(p.sent[1], 384).size(), 384u);
		EXPECT_NE(public_of(p.sent[1], 384), public_of(p.sent[2], 384));
	}
}

/* One end has no groups: it neither offers nor accepts any. */
TEST(HostAuthDh, OneEndCannot)
{
	for (bool client : { false, true }) {
		for (auto mode : { OFFER, REQUIRE }) {
			dh_peer c{ true, client ? mode : NONE };
			dh_peer s{ false, client ? NONE : mode };
			pair p{ c, s };

			p.run();
			EXPECT_EQ(p.both_done(), mode == OFFER);
			EXPECT_EQ(p.both_open(), mode == OFFER);
			EXPECT_EQ(c.powers + s.powers, 0u);
			if (mode == OFFER) {
				EXPECT_STREQ(
					rpcrdma_auth_group_name(&s.e->conn),
					"none");
				continue;
			}
			EXPECT_EQ(c.result(), RPCRDMA_AUTH_NO_HASH);
			EXPECT_EQ(s.result(), RPCRDMA_AUTH_NO_HASH);
			EXPECT_TRUE(rpcrdma_auth_denied(&c.e->conn));
		}
	}
}

TEST(HostAuthDh, TheGroupThatTheServerPrefers)
{
	const struct {
		u32 client, server, octets;
		const char *name;
	} cases[] = {
		{ ALL, ALL, 384, "ffdhe3072" },
		{ ALL, FFDHE2048 | FFDHE4096, 512, "ffdhe4096" },
		{ FFDHE2048, ALL, 256, "ffdhe2048" },
		{ FFDHE4096 | FFDHE2048, FFDHE2048 | FFDHE3072, 256,
		  "ffdhe2048" },
		{ FFDHE2048, FFDHE3072, 0, "none" },
		/* ffdhe6144 and undefined groups are never chosen. */
		{ 1 << 4, ~0u, 0, "none" },
	};

	for (const auto &t : cases) {
		dh_peer c{ true, OFFER, t.client }, s{ false, OFFER, t.server };
		pair p{ c, s };

		p.run();
		EXPECT_TRUE(p.both_done());
		EXPECT_STREQ(rpcrdma_auth_group_name(&c.e->conn), t.name);
		/* The length of the public value */
		EXPECT_EQ(p.sent[2].size(),
			  24 + 4 + 8 + 8 + 4 + 64 + 4 + t.octets);
	}
}

/* The longest messages fit into the Receives of version 1. */
TEST(HostAuthDh, LongestMessages)
{
	const std::string longest(RPCRDMA_AUTH_MAX_IDENTITY, 'x');
	dh_peer c{ true, REQUIRE, FFDHE4096, OFFER, longest.c_str() };
	dh_peer s{ false, REQUIRE, FFDHE4096, OFFER, longest.c_str() };
	pair p{ c, s };

	c.known[longest] = s.known[longest] = "secret";
	p.run();
	EXPECT_TRUE(p.both_done());
	for (const message &m : p.sent)
		EXPECT_LE(m.size(), 1024u);
}

/* ---- Public values ---- */

/* Return the prime of a group, as a server's core passes it to the host. */
octets prime_of(u32 group)
{
	dh_peer c{ true, OFFER, group }, s{ false, OFFER, group };
	pair p{ c, s };
	rpcrdma_auth_request ask;

	s.receive(p.next(c));
	s.answer();
	rpcrdma_auth_next(&s.e->conn, &ask);
	EXPECT_EQ(ask.what, RPCRDMA_AUTH_ASK_KEYS);
	return { ask.dh.prime, ask.dh.prime + ask.dh.octets };
}

TEST(HostAuthDh, PublicValues)
{
	for (u32 group : { FFDHE2048, FFDHE3072, FFDHE4096 }) {
		const octets prime = prime_of(group);
		const octets zero(prime.size());
		const struct {
			octets base;
			int offset;
			bool ok;
		} cases[] = {
			{ zero, 0, false },   { zero, 1, false },
			{ zero, 2, true },    { prime, 0, false },
			{ prime, -1, false }, { prime, -2, true },
		};

		for (bool client : { false, true }) {
			for (const auto &t : cases) {
				dh_peer c{ true, OFFER, group };
				dh_peer s{ false, OFFER, group };
				pair p{ c, s };
				peer &checks = client ? c : s;
				octets value = t.base;

				p.run(client ? 1 : 2);
				value.back() = static_cast<uint8_t>(
					value.back() + t.offset);
				checks.receive(with_public(
					p.next(client ? s : c), value));

				const u32 powers = checks.powers;

				EXPECT_EQ(checks.result(),
					  t.ok ? RPCRDMA_AUTH_PENDING :
						 RPCRDMA_AUTH_MALFORMED)
					<< t.offset;
				/* The end does not compute with an invalid value. */
				EXPECT_EQ(checks.answer(), t.ok);
				EXPECT_EQ(checks.powers, powers + t.ok);
			}
		}
	}
	/* Above the prime, with a smaller last byte */
	octets above = prime_of(FFDHE2048);

	above[200]++;
	above.back() = 2;
	EXPECT_GT(above, prime_of(FFDHE2048));
	for (bool client : { false, true }) {
		dh_peer c{ true, OFFER, FFDHE2048 };
		dh_peer s{ false, OFFER, FFDHE2048 };
		pair p{ c, s };
		peer &checks = client ? c : s;

		p.run(client ? 1 : 2);
		checks.receive(with_public(p.next(client ? s : c), above));
		EXPECT_EQ(checks.result(), RPCRDMA_AUTH_MALFORMED);
	}
}

/* Return a PROOF or CHALLENGE with a public value of another length. */
message item_with(const message &m, u32 start, u32 was, u32 length)
{
	const octets content(m.data().begin() + start,
			     m.data().end() - was - 4);
	message item{ content };

	item.word(length).fill(length, 1);
	return opening::connprop({ { 6, item.data() } }, flags_of(m), 0,
				 start > 36 ? 0 : 1);
}

TEST(HostAuthDh, LengthsOfPublicValues)
{
	/* PROOFs of the client: another length, or none */
	for (u32 length : { 0u, 4u, 252u, 260u, 512u, 516u }) {
		dh_peer c{ true, OFFER, FFDHE2048 };
		dh_peer s{ false, OFFER, FFDHE2048 };
		pair p{ c, s };

		p.run(2);
		s.receive(item_with(p.next(c), 36, 256, length));
		EXPECT_EQ(s.result(), RPCRDMA_AUTH_MALFORMED) << length;
		EXPECT_FALSE(s.answer());
	}
	/* Without a group, a PROOF must have no public value. */
	{
		dh_peer c{ true, NONE }, s{ false, OFFER };
		pair p{ c, s };

		p.run(2);
		s.receive(item_with(p.next(c), 36, 0, 256));
		EXPECT_EQ(s.result(), RPCRDMA_AUTH_MALFORMED);
	}
	/* CHALLENGEs */
	for (u32 length : { 0u, 252u, 260u }) {
		dh_peer c{ true, OFFER, FFDHE2048 };
		dh_peer s{ false, OFFER, FFDHE2048 };
		pair p{ c, s };

		p.run(1);
		c.receive(item_with(p.next(s), 28 + 6 * 12 + 8, 256, length));
		EXPECT_EQ(c.result(), RPCRDMA_AUTH_MALFORMED) << length;
	}
	/* The server's PROOF must have no public value. */
	dh_peer c{ true, OFFER }, s{ false, OFFER };
	pair p{ c, s };

	p.run(3);
	c.receive(item_with(p.next(s), 36, 0, 4));
	EXPECT_EQ(c.result(), RPCRDMA_AUTH_MALFORMED);
}

/*
 * A server that requires authentication answers a PROOF that is not valid in the same
 * way for an identity that it knows and for one that it does not know.
 */
TEST(HostAuthDh, InvalidProofOfAnyIdentity)
{
	for (auto dh : { NONE, OFFER }) {
		octets answers[2];

		for (bool known : { false, true }) {
			dh_peer c{ true, dh, FFDHE2048, OFFER, "someone" };
			dh_peer s{ false, dh, FFDHE2048, REQUIRE };
			pair p{ c, s };

			c.known["someone"] = "a secret";
			if (known)
				s.known["someone"] = "a secret";
			p.run(2);
			s.receive(item_with(p.next(c), 36, dh ? 256 : 0, 4));
			EXPECT_EQ(s.result(), RPCRDMA_AUTH_MALFORMED);
			EXPECT_FALSE(s.answer());
			answers[known] = p.next(s).data();
			EXPECT_GT(answers[known].size(), RPCRDMA_V2_PREFIX);
		}
		EXPECT_EQ(answers[0], answers[1]);
	}
}

/* ---- An attacker between both ends ---- */

/* If a public value was changed, the end that receives it detects this before it opens. */
TEST(HostAuthDh, OtherPublicValues)
{
	octets other(384);

	other[100] = 1;
	for (bool client : { false, true }) {
		dh_peer c{ true, OFFER }, s{ false, OFFER };
		pair p{ c, s };

		p.run(client ? 1 : 2);
		(client ? c : s)
			.receive(with_public(p.next(client ? s : c), other));
		p.run();
		EXPECT_EQ(s.result(), RPCRDMA_AUTH_WRONG_PROOF);
		EXPECT_EQ(c.result(), RPCRDMA_AUTH_REFUSED);
	}
}

/* The words of a HELLO and of a CHALLENGE that name groups: after type and hashes */
constexpr u32 HELLO_GROUPS = 28 + 7 * 12 + 8 + 12;
constexpr u32 CHALLENGE_GROUP = 28 + 6 * 12 + 8 + 12;

message with_word(const message &m, u32 at, u32 was, u32 value)
{
	octets data = m.data();

	EXPECT_EQ(m.get(at), was);
	for (u32 i = 0; i < 4; i++)
		data[at + i] = static_cast<uint8_t>(value >> 8 * (3 - i));
	return message{ data };
}

/* The groups that the client offers are removed: the proofs are wrong. */
TEST(HostAuthDh, NoDowngrade)
{
	for (u32 left : { 1u, 1u | FFDHE2048 }) {
		dh_peer c{ true, OFFER }, s{ false, OFFER };
		pair p{ c, s };

		s.receive(with_word(p.next(c), HELLO_GROUPS, 1 | ALL, left));
		p.run();
		EXPECT_EQ(s.result(), RPCRDMA_AUTH_WRONG_PROOF);
		EXPECT_FALSE(c.open() || s.open());
	}
	/* An end that requires a group does not continue without one, and sends no proof. */
	dh_peer c{ true, REQUIRE }, s{ false, OFFER };
	pair p{ c, s };

	s.receive(with_word(p.next(c), HELLO_GROUPS, ALL, 1 | ALL));
	message m = p.next(s);

	m = with_word(m, CHALLENGE_GROUP, RPCRDMA_AUTH_FFDHE3072, 0);
	c.receive(item_with(m, 28 + 6 * 12 + 8, 384, 0));
	EXPECT_EQ(c.result(), RPCRDMA_AUTH_NO_HASH);
	EXPECT_EQ(c.asked, 0u);

	dh_peer d{ true, OFFER }, t{ false, REQUIRE };
	pair q{ d, t };

	t.receive(with_word(q.next(d), HELLO_GROUPS, 1 | ALL, 1));
	q.run();
	EXPECT_EQ(t.result(), RPCRDMA_AUTH_NO_HASH);
	EXPECT_EQ(t.asked, 0u);
}

/* A client refuses a group that it has not offered, or that does not exist. */
TEST(HostAuthDh, GroupsOfAServer)
{
	for (u32 group : { 0u, 1u, 3u, 4u, 5u, 33u, 0x80000002u }) {
		dh_peer c{ true, REQUIRE, FFDHE3072 }, s{ false, OFFER };
		pair p{ c, s };

		p.run(1);
		c.receive(with_word(p.next(s), CHALLENGE_GROUP, 2, group));
		EXPECT_EQ(c.result(), RPCRDMA_AUTH_NO_HASH) << group;
		EXPECT_EQ(c.asked, 0u);
	}
}

/* ---- The work of a server, and failures ---- */

/* A client without the secret can cause only a bounded number of computations. */
TEST(HostAuthDh, WorkIsBounded)
{
	for (auto mode : { OFFER, REQUIRE }) {
		dh_peer c{ true, OFFER, ALL, OFFER, "stranger" };
		dh_peer s{ false, OFFER, ALL, mode };
		pair p{ c, s };

		c.known["stranger"] = "a secret";
		p.run();
		/* The server does not disclose that the identity is unknown. */
		EXPECT_EQ(s.powers, mode == OFFER ? 0u : 1u);
		EXPECT_EQ(s.proofs, 0u);
		EXPECT_EQ(p.sent.size(), mode == OFFER ? 3u : 4u);
	}
	/* A known identity, followed by other messages */
	dh_peer c{ true, OFFER }, s{ false, OFFER };
	pair p{ c, s };

	c.known["client"] = "another one";
	p.run();
	EXPECT_EQ(s.result(), RPCRDMA_AUTH_WRONG_PROOF);
	EXPECT_EQ(s.powers, 2u);
	for (const message &m : p.sent)
		s.receive(m);
	EXPECT_FALSE(s.answer());
	EXPECT_EQ(s.powers, 2u);
}

/* A message that arrives while an end computes */
TEST(HostAuthDh, TooEarly)
{
	for (bool client : { false, true }) {
		dh_peer c{ true, OFFER }, s{ false, OFFER };
		pair p{ c, s };
		peer &to = client ? c : s;

		p.run(client ? 1 : 0);
		to.receive(p.next(client ? s : c));
		if (!client)
			to.answer();
		/* The end has requested a key pair from its host. */
		to.receive(opening::connprop({}, 0, 0, client));
		EXPECT_EQ(to.result(), RPCRDMA_AUTH_MALFORMED);
		EXPECT_FALSE(to.answer());
	}
}

/* A failure to compute is not reported as a wrong secret. */
TEST(HostAuthDh, NotAvailable)
{
	for (int status : { NO_MEMORY, NO_ALGORITHM, NO_KEY }) {
		for (bool client : { false, true }) {
			dh_peer c{ true, OFFER }, s{ false, OFFER };
			pair p{ c, s };

			p.run(client ? 2 : 1);
			if (!client)
				s.answer();
			ASSERT_TRUE((client ? c : s).answer(status));
			p.run();
			EXPECT_EQ(c.result(), RPCRDMA_AUTH_UNAVAILABLE);
			EXPECT_FALSE(rpcrdma_auth_denied(&c.e->conn));
			EXPECT_FALSE(c.open() || s.open());
		}
	}
}

TEST(HostAuthDh, SettingsOfBothRoles)
{
	rpcrdma_settings all = RPCRDMA_DEFAULT_SETTINGS(4096);
	rpcrdma_ep_params p;

	for (u32 mode : { NONE, OFFER, REQUIRE }) {
		all.auth_dh = mode;
		rpcrdma_client_params(&all, 8, &p);
		EXPECT_EQ(p.auth_dh, mode);
		rpcrdma_server_params(&all, &p);
		EXPECT_EQ(p.auth_dh, mode);
	}
}

} // namespace
