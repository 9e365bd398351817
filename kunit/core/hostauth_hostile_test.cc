// SPDX-License-Identifier: GPL-2.0
/* Host authentication against a peer, or a network, that violates the rules */
#include <rpcrdma/endpoint_auth.h>

#include "hostauth.hh"

using namespace engine_test;
using namespace engine_test::hostauth;
using engine_test::opening::connprop;
using engine_test::opening::prop;
using engine_test::opening::prop32;

namespace
{

constexpr auto NONE = RPCRDMA_AUTH_NONE;
constexpr auto OFFER = RPCRDMA_AUTH_OFFER;
constexpr auto REQUIRE = RPCRDMA_AUTH_REQUIRE;
constexpr u32 MORE = RDMA2_F_TPMORE;

/* Offset of the first word of an item that is the only property of its message */
constexpr u32 ITEM = 36;

message with_flags(message m, u32 flags)
{
	return m.set(16, flags);
}

/* A message of the handshake with any content */
message item(u32 flags, std::initializer_list<u32> words, u32 received = 1)
{
	message content;

	for (u32 word : words)
		content.word(word);
	return connprop({ { 6, content.data() } }, flags, 0, received);
}

prop proof_prop(u32 octets)
{
	message content;

	content.word(1).word(3).word(octets).fill(octets).word(0);
	return { 6, content.data() };
}

message proof(u32 flags, u32 octets, u32 received = 1)
{
	return connprop({ proof_prop(octets) }, flags, 0, received);
}

/* ---- Changes in transit ---- */

/* Each byte of both ends' first messages is covered, and so is TPMORE. */
TEST(HostAuthHostile, NothingCanBeChanged)
{
	for (u32 which : { 0u, 1u }) {
		for (u32 at = 12;; at++) {
			peer c{ true, REQUIRE }, s{ false, REQUIRE };
			pair p{ c, s };

			p.run(which);

			octets data = p.next(which ? s : c).data();

			if (at >= data.size())
				break;
			/* The credit fields are not covered by the proofs. */
			if (at >= 20 && at < RPCRDMA_V2_PREFIX)
				continue;
			data[at] ^= 1;
			(which ? c : s).receive(message{ data });
			p.run();
			EXPECT_FALSE(c.open() && s.open()) << which << at;
			EXPECT_NE(c.result(), RPCRDMA_AUTH_DONE) << at;
			EXPECT_NE(s.result(), RPCRDMA_AUTH_DONE) << at;
		}
	}
}

TEST(HostAuthHostile, NothingCanBeTruncated)
{
	for (u32 which = 0; which < 4; which++) {
		for (u32 cut = 4;; cut += 4) {
			peer c{ true, REQUIRE }, s{ false, REQUIRE };
			pair p{ c, s };

			p.run(which);

			const bool from_client = which % 2 == 0;
			message m = p.next(from_client ? c : s);

			if (cut + RPCRDMA_V2_PREFIX > m.size())
				break;
			m.truncate(m.size() - cut);
			(from_client ? s : c).receive(m);
			p.run();
			EXPECT_FALSE(c.open() && s.open())
				<< which << " " << cut;
			EXPECT_NE(s.result(), RPCRDMA_AUTH_DONE);
		}
	}
}

/*
 * Removing the property from a first message is no worse than silence if
 * authentication is required.
 */
TEST(HostAuthHostile, NothingCanBeRemoved)
{
	for (u32 which : { 0u, 1u }) {
		for (auto mode : { OFFER, REQUIRE }) {
			peer c{ true, mode }, s{ false, mode };
			pair p{ c, s };

			p.run(which);

			message m = p.next(which ? s : c);

			/*
			 * With another number, the property is unknown and is
			 * skipped.
			 */
			m.set(m.get(24) == 8 ? 28 + 7 * 12 : 28 + 6 * 12, 99);
			(which ? c : s).receive(m);
			p.run();
			EXPECT_NE(c.result(), RPCRDMA_AUTH_DONE);
			EXPECT_NE(s.result(), RPCRDMA_AUTH_DONE);
			if (mode == REQUIRE)
				EXPECT_FALSE(c.open() || s.open());
		}
	}
}

/* The private message is covered, too. */
TEST(HostAuthHostile, PrivateMessage)
{
	for (u32 change = 0; change < 8; change++) {
		peer c{ true }, s{ false };
		pair p{ c, s };
		rpcrdma_private &seen =
			(change & 1 ? c : s).e->conn.peer_private;

		switch (change / 2) {
		case 0:
			seen.valid = 0;
			break;
		case 1:
			seen.inv_ok ^= 1;
			break;
		case 2:
			seen.send_size += 1024;
			break;
		default:
			seen.recv_size += 1024;
		}
		p.run();
		EXPECT_EQ(s.result(), RPCRDMA_AUTH_WRONG_PROOF) << change;
		EXPECT_FALSE(c.open());
	}
}

/* ---- Replay and reflection ---- */

TEST(HostAuthHostile, Replay)
{
	peer c{ true }, s{ false };
	pair p{ c, s };

	p.run();
	ASSERT_TRUE(p.both_done());

	/* The client's messages, to another connection of the server */
	peer again{ false };
	pair q{ c, again };

	again.receive(p.sent[0]);
	q.next(again);
	again.receive(p.sent[2]);
	while (again.answer())
		;
	EXPECT_EQ(again.result(), RPCRDMA_AUTH_WRONG_PROOF);

	/* The server's messages, to another connection of the client */
	peer other{ true };
	pair r{ other, s };

	r.next(other);
	other.receive(p.sent[1]);
	r.next(other);
	other.receive(p.sent[3]);
	EXPECT_EQ(other.result(), RPCRDMA_AUTH_WRONG_PROOF);
	EXPECT_TRUE(other.closing());
}

/* A peer without the secret returns the messages that it receives. */
TEST(HostAuthHostile, Reflection)
{
	peer c{ true }, s{ false };
	pair p{ c, s };

	p.run(2);
	c.receive(with_flags(p.next(c), 0));
	EXPECT_EQ(c.result(), RPCRDMA_AUTH_WRONG_PROOF);

	/* The client's HELLO is returned to it, and is not a CHALLENGE. */
	peer d{ true };
	pair q{ d, s };

	d.receive(q.next(d));
	EXPECT_TRUE(d.closing());
	EXPECT_EQ(d.result(), RPCRDMA_AUTH_MALFORMED);
}

/* The proof for one role is not valid for the other. */
TEST(HostAuthHostile, RolesDiffer)
{
	peer c{ true }, s{ false };
	pair p{ c, s };
	rpcrdma_auth_request ask;

	p.run(2);
	rpcrdma_auth_next(&c.e->conn, &ask);
	u8 a[32], b[32];

	stand_in("x", ask.input[0], 32, a);
	stand_in("x", ask.input[1], 32, b);
	EXPECT_NE(memcmp(a, b, 32), 0);
}

/* A proof that differs in one bit from that of the secret is refused. */
TEST(HostAuthHostile, EachBitOfAProof)
{
	for (u32 which : { 2u, 3u }) {
		for (u32 octet = 0; octet < 64; octet++) {
			peer c{ true }, s{ false };
			pair p{ c, s };

			p.run(which);

			octets data = p.next(which == 2 ? c : s).data();

			data[ITEM + 12 + octet] ^= 0x80;
			(which == 2 ? s : c).receive(message{ data });
			p.run();
			EXPECT_FALSE(c.open() || s.open()) << octet;
			EXPECT_EQ((which == 2 ? s : c).result(),
				  RPCRDMA_AUTH_WRONG_PROOF);
		}
	}
}

/* ---- Order ---- */

/* A server asks its host at most twice, whatever the client sends. */
TEST(HostAuthHostile, LookupsAreBounded)
{
	peer c{ true }, s{ false };
	pair p{ c, s };
	const message hello = p.next(c);

	s.receive(hello);
	p.next(s);
	EXPECT_EQ(s.asked, 1u);
	EXPECT_EQ(s.proofs, 0u);
	for (u32 i = 0; i < 8; i++) {
		s.receive(message{ hello }.set(20, s.e->conn.sent));
		s.receive(proof(MORE, 64, s.e->conn.sent));
		p.next(s);
	}
	EXPECT_EQ(s.asked, 1u);
	EXPECT_EQ(s.proofs, 0u);
	EXPECT_FALSE(s.open());

	/* Repeat these messages after a proof. */
	peer t{ false };
	pair q{ c, t };

	t.receive(hello);
	q.next(t);
	for (u32 i = 0; i < 8; i++) {
		t.receive(proof(MORE, 64, t.e->conn.sent));
		q.next(t);
	}
	EXPECT_EQ(t.asked, 2u);
	EXPECT_EQ(t.proofs, 1u);
	EXPECT_EQ(t.result(), RPCRDMA_AUTH_WRONG_PROOF);
}

/* Messages that arrive too early */
TEST(HostAuthHostile, TooEarly)
{
	/* A proof before the challenge, and while the secret is looked up */
	peer c{ true }, s{ false };
	pair p{ c, s };

	s.receive(proof(MORE, 64, 0));
	EXPECT_EQ(s.result(), RPCRDMA_AUTH_MALFORMED);

	peer d{ true }, t{ false };
	pair q{ d, t };

	t.receive(d.e->control());
	t.receive(proof(MORE, 64, 0));
	EXPECT_EQ(t.result(), RPCRDMA_AUTH_MALFORMED);
	EXPECT_FALSE(t.answer());

	/* After the secret is known, and before the challenge */
	peer f{ true }, u{ false };
	pair r{ f, u };

	u.receive(f.e->control());
	u.answer();
	u.receive(proof(MORE, 64, 0));
	EXPECT_EQ(u.result(), RPCRDMA_AUTH_MALFORMED);

	/* A second challenge, and a proof before this end's */
	for (u32 second : { 0u, 1u }) {
		peer g{ true }, v{ false };
		pair x{ g, v };

		x.run(1);

		message m = x.next(v);

		g.receive(m);
		if (second)
			g.answer();
		g.receive(second ? proof(0, 64) : m);
		EXPECT_TRUE(g.closing());
		EXPECT_EQ(g.result(), RPCRDMA_AUTH_MALFORMED);
	}

	/* The client's last message before the server's proof */
	peer h{ true }, w{ false };
	pair y{ h, w };

	y.run(3);
	w.answer();
	w.receive(connprop({}, 0, 0, 1));
	EXPECT_EQ(w.result(), RPCRDMA_AUTH_MALFORMED);
	EXPECT_FALSE(w.open());

	/* A server that does not wait for the client */
	peer i{ true }, z{ false };
	pair xx{ i, z };

	i.receive(connprop({}, 0, 0, 0));
	EXPECT_TRUE(i.closing());
}

/* Third, fourth and fifth messages with invalid contents */
TEST(HostAuthHostile, OtherMessages)
{
	const struct {
		u32 after;
		message m;
	} cases[] = {
		/* With other properties, twice, without the item, of another length */
		{ 2,
		  connprop({ prop32(1, 4096), proof_prop(64) }, MORE, 0, 1) },
		{ 2, connprop({ prop32(99, 1), proof_prop(64) }, MORE, 0, 1) },
		{ 2, connprop({}, MORE, 0, 1) },
		{ 2, connprop({}, 0, 0, 1) },
		{ 2, proof(MORE, 32) },
		{ 2, proof(0, 64) },
		{ 2, item(MORE, { 1, 4, 1 }) },
		{ 2, item(MORE, { 1, 9, 1 }) },
		{ 2, item(MORE, { 2, 3, 0, 0 }) },
		{ 2, item(MORE, { 1 }) },
		/*
		 * A message that is refused: RESPONSE or MORE set, an invalid
		 * value
		 */
		{ 2, with_flags(proof(MORE, 64), MORE | RDMA2_F_RESPONSE) },
		{ 2, with_flags(proof(MORE, 64), MORE | RDMA2_F_MORE) },
		{ 2, connprop({ prop32(1, 1) }, MORE, 0, 1) },
		{ 3, proof(MORE, 64, 2) },
		{ 3, proof(0, 32, 2) },
		{ 3, connprop({}, 0, 0, 2) },
		{ 3, connprop({ prop32(1, 1) }, 0, 0, 2) },
		{ 4, connprop({ prop32(1, 4096) }, 0, 0, 2) },
		{ 4, connprop({}, MORE, 0, 2) },
		{ 4, proof(0, 64, 2) },
		{ 4, with_flags(connprop({}, 0, 0, 2), RDMA2_F_RESPONSE) },
	};

	for (const auto &t : cases) {
		peer c{ true }, s{ false };
		pair p{ c, s };
		peer &to = t.after % 2 ? c : s;

		p.run(t.after);
		while (to.answer())
			;
		if (t.after == 3)
			s.answer();
		to.receive(t.m);
		EXPECT_EQ(to.result(), RPCRDMA_AUTH_MALFORMED) << &t - cases;
		EXPECT_FALSE(to.open()) << &t - cases;
	}
}

/* If a message has two items, neither is used. */
TEST(HostAuthHostile, TwoItems)
{
	peer c{ true }, s{ false };
	pair p{ c, s };
	const octets hello = p.next(c).data();
	const octets content(hello.begin() + 28 + 7 * 12 + 8, hello.end());

	s.receive(connprop({ { 6, content }, { 6, content } }, MORE));
	EXPECT_EQ(s.result(), RPCRDMA_AUTH_MALFORMED);
	EXPECT_EQ(s.asked, 0u);
}

/* ---- First messages ---- */

struct hello {
	u32 mechanism = 1, type = 1, hashes = 14, groups = 1;
	std::string identity = "client";
	u32 trailing = 0, flags = MORE, more = 0;

	message made() const
	{
		message content;
		std::vector<prop> all;

		content.word(mechanism).word(type).word(hashes).word(groups);
		content.fill(32);
		content.word(static_cast<u32>(identity.size()));
		for (char c : identity)
			content.fill(1, static_cast<uint8_t>(c));
		content.fill((4 - identity.size() % 4) % 4, 0);
		content.fill(trailing);
		all.push_back({ 6, content.data() });
		if (more)
			all.push_back({ 99, octets(more) });
		return connprop(all, flags);
	}
};

TEST(HostAuthHostile, Hellos)
{
	const struct {
		hello h;
		enum rpcrdma_auth_result expected;
	} cases[] = {
		{ {}, RPCRDMA_AUTH_PENDING },
		{ { .hashes = ~0u, .groups = ~0u }, RPCRDMA_AUTH_PENDING },
		/*
		 * The server ignores an unknown mechanism: it offers
		 * authentication, and continues without it.
		 */
		{ { .mechanism = 2 }, RPCRDMA_AUTH_UNUSED },
		{ { .type = 2 }, RPCRDMA_AUTH_MALFORMED },
		{ { .type = 4 }, RPCRDMA_AUTH_MALFORMED },
		{ { .hashes = 0 }, RPCRDMA_AUTH_NO_HASH },
		{ { .hashes = ~14u }, RPCRDMA_AUTH_NO_HASH },
		{ { .groups = 2 }, RPCRDMA_AUTH_NO_HASH },
		{ { .identity = "" }, RPCRDMA_AUTH_MALFORMED },
		{ { .identity = std::string(129, 'x') },
		  RPCRDMA_AUTH_MALFORMED },
		{ { .identity = "a\nb" }, RPCRDMA_AUTH_MALFORMED },
		{ { .identity = "a b" }, RPCRDMA_AUTH_MALFORMED },
		{ { .trailing = 4 }, RPCRDMA_AUTH_MALFORMED },
		{ { .flags = 0 }, RPCRDMA_AUTH_MALFORMED },
		{ { .more = 1000 - 80 }, RPCRDMA_AUTH_PENDING },
		{ { .more = 1000 - 76 }, RPCRDMA_AUTH_MALFORMED },
	};

	for (const auto &t : cases) {
		peer s{ false };

		s.receive(t.h.made());
		EXPECT_EQ(s.result(), t.expected) << &t - cases;
		EXPECT_EQ(!!(s.e->events & RPCRDMA_EV_AUTH),
			  t.expected == RPCRDMA_AUTH_PENDING);
	}
	/*
	 * A server that requires authentication refuses a client with another
	 * mechanism.
	 */
	peer s{ false, REQUIRE };

	s.receive(hello{ .mechanism = 2 }.made());
	EXPECT_EQ(s.result(), RPCRDMA_AUTH_NOT_OFFERED);
}

TEST(HostAuthHostile, Challenges)
{
	const struct {
		u32 type, hash, group;
		std::string identity;
		u32 dh, flags;
		enum rpcrdma_auth_result expected;
	} cases[] = {
		{ 2, 1, 0, "s", 0, MORE, RPCRDMA_AUTH_PENDING },
		{ 1, 1, 0, "s", 0, MORE, RPCRDMA_AUTH_MALFORMED },
		{ 2, 0, 0, "s", 0, MORE, RPCRDMA_AUTH_NO_HASH },
		/* Known, but not offered */
		{ 2, 3, 0, "s", 0, MORE, RPCRDMA_AUTH_NO_HASH },
		{ 2, 4, 0, "s", 0, MORE, RPCRDMA_AUTH_NO_HASH },
		/* 1 << 33 is not 1 << 1. */
		{ 2, 33, 0, "s", 0, MORE, RPCRDMA_AUTH_NO_HASH },
		{ 2, 1, 1, "s", 0, MORE, RPCRDMA_AUTH_NO_HASH },
		{ 2, 1, 0, "", 0, MORE, RPCRDMA_AUTH_MALFORMED },
		{ 2, 1, 0, "s", 4, MORE, RPCRDMA_AUTH_MALFORMED },
		{ 2, 1, 0, "s", 0, 0, RPCRDMA_AUTH_MALFORMED },
	};

	for (const auto &t : cases) {
		peer c{ true, OFFER, nullptr, "", 1u << RPCRDMA_AUTH_SHA256 };
		peer s{ false };
		pair p{ c, s };
		message content;

		c.e->control();
		content.word(1).word(t.type).word(t.hash).word(t.group);
		content.fill(32);
		content.word(static_cast<u32>(t.identity.size()));
		if (!t.identity.empty())
			content.fill(1, 's').fill(3, 0);
		content.word(t.dh).fill(t.dh, 1);
		c.receive(connprop({ { 6, content.data() } }, t.flags, 0, 1));
		EXPECT_EQ(c.result(), t.expected) << &t - cases;
		EXPECT_EQ(c.closing(), t.expected != RPCRDMA_AUTH_PENDING);
	}
}

/* ---- Refusals ---- */

TEST(HostAuthHostile, ReasonsOfAServer)
{
	const enum rpcrdma_auth_result expected[] = {
		RPCRDMA_AUTH_REFUSED,	    RPCRDMA_AUTH_REFUSED,
		RPCRDMA_AUTH_PEER_REQUIRES, RPCRDMA_AUTH_NO_HASH,
		RPCRDMA_AUTH_MALFORMED,	    RPCRDMA_AUTH_UNAVAILABLE,
		RPCRDMA_AUTH_REFUSED,
	};

	for (u32 reason = 0; reason < std::size(expected); reason++) {
		for (auto mode : { NONE, OFFER }) {
			peer c{ true, mode }, s{ false };
			pair p{ c, s };

			c.e->control();
			c.receive(item(0, { 1, 4, reason }));
			EXPECT_EQ(c.result(), expected[reason]) << reason;
			EXPECT_TRUE(c.closing());
			EXPECT_FALSE(c.open());
		}
	}
	/* A server ignores such a reason. */
	peer s{ false, NONE };

	s.receive(item(0, { 1, 4, 1 }, 0));
	s.e->control();
	EXPECT_TRUE(s.open());
}

/* After a refusal, a server sends and asks nothing more. */
TEST(HostAuthHostile, AfterARefusal)
{
	peer c{ true, NONE }, s{ false, REQUIRE };
	pair p{ c, s };

	s.receive(p.next(c));
	EXPECT_GT(p.next(s).size(), 0u);
	for (u32 i = 0; i < 4; i++) {
		s.receive(connprop({}, 0, 0, s.e->conn.sent));
		EXPECT_FALSE(s.open());
	}
	EXPECT_EQ(s.result(), RPCRDMA_AUTH_NOT_OFFERED);
	EXPECT_EQ(s.asked, 0u);
}

/* An ERROR about a CONNPROP must not let an end continue without the proof. */
TEST(HostAuthHostile, Errors)
{
	for (auto mode : { OFFER, REQUIRE }) {
		for (u32 after = 1; after < 5; after++) {
			peer c{ true, mode }, s{ false, mode };
			pair p{ c, s };

			p.run(after);
			for (peer *to : { &c, &s }) {
				const bool early = to == &s ? after < 2 :
							      after < 2;
				const auto before = to->result();
				const bool was_open = to->open();

				to->receive(
					message()
						.prefix(0, RDMA2_ERROR,
							RDMA2_F_RESPONSE)
						.word(RDMA2_ERR_BAD_PROPVAL));
				if (was_open) {
					EXPECT_EQ(to->result(), before);
					continue;
				}
				if (to == &s && early) {
					/* This end has sent nothing yet. */
					EXPECT_EQ(to->result(), before);
					continue;
				}
				if (to == &c && early && mode == OFFER)
					EXPECT_EQ(to->result(),
						  RPCRDMA_AUTH_UNUSED);
				else if (to == &c && early)
					EXPECT_EQ(to->result(),
						  RPCRDMA_AUTH_NOT_OFFERED);
				else
					EXPECT_EQ(to->result(),
						  RPCRDMA_AUTH_MALFORMED)
						<< after;
			}
		}
	}
}

/* A server with another use for the property refuses the client's properties. */
TEST(HostAuthHostile, GoesOnWithoutAfterAnError)
{
	peer c{ true }, s{ false, NONE };
	pair p{ c, s };
	const message first = p.next(c);

	c.receive(message()
			  .prefix(0, RDMA2_ERROR, RDMA2_F_RESPONSE, 16, 1)
			  .word(RDMA2_ERR_BAD_PROPVAL));

	const message last = c.e->control();

	EXPECT_EQ(last.get(12), +RDMA2_CONNPROP);
	EXPECT_EQ(last.get(24), 0u);
	c.receive(connprop({}, 0, 0, 2));
	EXPECT_TRUE(c.open());
	/*
	 * The client is bound by the defaults, because its properties were
	 * refused.
	 */
	EXPECT_EQ(c.e->conn.cfg.props.brs, +RDMA2_RVRSDIR_NONE);
}

/* After the handshake an ERROR with xid 0 cannot change this end's properties. */
TEST(HostAuthHostile, PropertiesStayProven)
{
	peer c{ true }, s{ false };
	pair p{ c, s };

	p.run();
	ASSERT_TRUE(p.both_done());
	const u32 segments = s.e->conn.cfg.props.rcsiz;

	s.receive(message()
			  .prefix(0, RDMA2_ERROR, RDMA2_F_RESPONSE, 16,
				  s.e->conn.sent)
			  .word(RDMA2_ERR_BAD_PROPVAL));
	EXPECT_EQ(s.e->conn.cfg.props.rcsiz, segments);
	EXPECT_TRUE(s.open());
}

/* A peer cannot cause a look-up with each handshake. */
TEST(HostAuth, AbsentAlgorithmsAreSoughtOnceAMinute)
{
	rpcrdma_auth_lookup last{};

	EXPECT_TRUE(rpcrdma_auth_lookup_due(&last, 5));
	last.done = true;
	for (u32 at : { 5u, ~0u - 10 }) {
		last.at_ms = at;
		EXPECT_FALSE(rpcrdma_auth_lookup_due(&last, at + 60000));
		EXPECT_TRUE(rpcrdma_auth_lookup_due(&last, at + 60001));
	}
	last.complete = true;
	EXPECT_FALSE(rpcrdma_auth_lookup_due(&last, last.at_ms + 60001));
}

} // namespace
