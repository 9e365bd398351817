// SPDX-License-Identifier: GPL-2.0
/*
 * Host authentication of two ends, with an attacker between them that does not have the
 * secret. The first byte of the input selects the settings of both ends. The rest is a
 * script: it delivers, corrupts, repeats, drops or injects messages.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fuzz/fuzz_targets.hh"
#include "stand_in.hh"
#include "support.hh"

using namespace engine_test;

namespace
{

#define REQUIRE(condition)                                                 \
	do {                                                               \
		if (!(condition)) {                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#condition);                               \
			abort();                                           \
		}                                                          \
	} while (0)

/* Bits of the first byte */
enum {
	CLIENT_REQUIRES = 1,
	SERVER_REQUIRES = 2,
	CLIENT_WITHOUT = 4, /* takes no part */
	SERVER_WITHOUT = 8,
	SECRETS_DIFFER = 16,
	SERVER_UNKNOWN = 32, /* the server has no secret for the client */
	CLIENT_GROUPS = 64,  /* has Diffie-Hellman */
	SERVER_GROUPS = 128,
};

/* Operations: bits 1 to 3; bit 0 selects the sender or the receiver */
enum {
	OP_DELIVER,
	OP_CHANGE,   /* and the offset and the bits */
	OP_TRUNCATE, /* and the number of words */
	OP_TWICE,
	OP_DROP,
	OP_REPLAY, /* any earlier message, and its number */
	OP_ANSWER, /* and whether that fails */
	OP_INJECT, /* a CONNPROP with these flags and this many words */
};

constexpr int STATUS[] = { 0, -126, -128, -12, -95 };

struct script {
	uint8_t next()
	{
		return at < size ? data[at++] : uint8_t{ 0 };
	}
	bool ended() const
	{
		return at >= size;
	}

	const uint8_t *data;
	size_t size, at = 0;
};

struct host {
	host(bool client, uint8_t flags) : is_client{ client }
	{
		const bool without = flags &
				     (client ? CLIENT_WITHOUT : SERVER_WITHOUT);
		auto cfg = usual_config(client, 8);
		u8 nonce[RPCRDMA_AUTH_NONCE];

		memset(nonce, client, sizeof(nonce));
		REQUIRE(rpcrdma_auth_init(&auth, client ? "client" : "server",
					  "", nonce));
		rpcrdma_auth_set_groups(&auth,
					flags & (client ? CLIENT_GROUPS :
							  SERVER_GROUPS) ?
						RPCRDMA_AUTH_OFFER :
						RPCRDMA_AUTH_NONE,
					RPCRDMA_AUTH_ALL_GROUPS);
		exchange.secret = client ? 1001 : 2002;
		requires_it = flags &
			      (client ? CLIENT_REQUIRES : SERVER_REQUIRES);
		cfg.auth_mode = requires_it ? RPCRDMA_AUTH_REQUIRE :
				without	    ? RPCRDMA_AUTH_NONE :
					      RPCRDMA_AUTH_OFFER;
		if (client && !without)
			cfg.auth = &auth;
		takes_part = !without || (requires_it && !client);
		e = std::make_unique<end>(cfg);
		e->post(9);
	}

	void receive(const message &m)
	{
		e->receive(m);
		if (e->rx.events & RPCRDMA_EV_HELLO)
			rpcrdma_auth_hello(&e->conn, &auth, m.data().data(),
					   m.size(), &e->rx);
	}

	bool answer(const std::string &secret, int status)
	{
		rpcrdma_auth_request ask;
		rpcrdma_auth_answer a{};

		rpcrdma_auth_next(&e->conn, &ask);
		if (ask.what == RPCRDMA_AUTH_ASK_NOTHING)
			return false;
		REQUIRE(++asked <=
			(is_client ? 1u : 2u) + (auth.group ? 1 : 0));
		a.status = secret.empty() ? -126 : status;
		if (ask.what == RPCRDMA_AUTH_ASK_KEYS) {
			a.status = status;
			exchange.keys(ask.dh, a);
		}
		for (u32 i = 0;
		     !a.status && i < 2 && ask.what == RPCRDMA_AUTH_ASK_PROOFS;
		     i++)
			stand_in(secret, ask.input[i], ask.mac_octets,
				 a.proof[i], exchange.shared(ask.dh));
		rpcrdma_auth_answered(&e->conn, &a);
		return true;
	}

	bool done() const
	{
		return rpcrdma_conn_auth_result(&e->conn) == RPCRDMA_AUTH_DONE;
	}
	bool open() const
	{
		return e->conn.state == RPCRDMA_CONN_OPEN;
	}

	bool is_client, requires_it, takes_part;
	u32 asked = 0;
	rpcrdma_hostauth auth{};
	stand_in_dh exchange{};
	std::unique_ptr<end> e;
};

/* Both ends know the same first messages. */
bool same_transcript(const rpcrdma_hostauth &a, const rpcrdma_hostauth &b)
{
	for (u32 i = 0; i < 2; i++) {
		if (a.octets[i] != b.octets[i] || a.flags[i] != b.flags[i] ||
		    memcmp(a.body[i], b.body[i], a.octets[i]))
			return false;
	}
	return a.hash == b.hash && a.group == b.group &&
	       !memcmp(a.public_value, b.public_value, sizeof(a.public_value));
}

struct fight {
	explicit fight(uint8_t flags)
		: settings{ flags }, hosts{ { true, flags }, { false, flags } }
	{
		rpcrdma_private priv;

		for (u32 i = 0; i < 2; i++) {
			rpcrdma_conn_build_private(&hosts[i].e->conn, &priv);
			rpcrdma_conn_set_peer_private(&hosts[1 - i].e->conn,
						      &priv);
		}
		for (host &h : hosts)
			rpcrdma_conn_established(&h.e->conn);
	}

	std::string secret_of(const host &h) const
	{
		if (h.is_client)
			return "secret";
		if (settings & SERVER_UNKNOWN)
			return "";
		return settings & SECRETS_DIFFER ? "another" : "secret";
	}

	/* Return the next message of a host, and keep it to be replayed. */
	message next(host &h)
	{
		message m = h.e->control();

		while (!m.size() && h.answer(secret_of(h), 0))
			m = h.e->control();
		if (m.size())
			seen.push_back(m);
		return m;
	}

	void inject(host &to, script &s)
	{
		const uint8_t flags = s.next();
		const u32 words = s.next() % 64;
		message m;

		m.prefix(0, RDMA2_CONNPROP, flags, 16, to.e->conn.sent);
		m.word(1).word(RDMA2_PROPID_HOSTAUTH).word(words * 4);
		for (u32 i = 0; i < words * 4; i++)
			m.fill(1, s.next());
		to.receive(m);
	}

	void step(script &s)
	{
		const uint8_t op = s.next();
		host &from = hosts[op & 1], &to = hosts[1 - (op & 1)];
		const u32 what = op >> 1 & 7;

		if (what == OP_ANSWER) {
			const int status = STATUS[s.next() % 5];

			honest = honest && !status;
			from.answer(secret_of(from), status);
			return;
		}
		if (what == OP_INJECT || what == OP_REPLAY) {
			const u32 which = what == OP_REPLAY ? s.next() : 0;

			honest = false;
			if (what == OP_INJECT)
				inject(to, s);
			else if (!seen.empty())
				to.receive(seen[which % seen.size()]);
			return;
		}

		message m = next(from);

		if (!m.size())
			return;
		honest = honest && what == OP_DELIVER;
		if (what == OP_CHANGE) {
			octets data = m.data();
			const size_t at = s.next() << 8 | s.next();

			data[at % data.size()] ^= s.next();
			m = message{ data };
		} else if (what == OP_TRUNCATE) {
			const u32 cut = s.next() * 4u;

			m.truncate(cut < m.size() ? m.size() - cut : 0);
		}
		if (what != OP_DROP)
			to.receive(m);
		if (what == OP_TWICE)
			to.receive(m);
	}

	void check() const
	{
		const host &c = hosts[0], &s = hosts[1];

		for (const host &h : hosts) {
			REQUIRE(!h.requires_it || !h.open() || h.done());
			REQUIRE(!h.done() || !(settings & (SECRETS_DIFFER |
							   SERVER_UNKNOWN)));
			/* A wrong proof could only pass by chance. */
			REQUIRE(!h.done() || same_transcript(c.auth, s.auth));
			if (h.open())
				for (u8 octet : h.auth.proof[0])
					REQUIRE(!octet);
		}
		/* The client has seen the server's proof before. */
		REQUIRE(!s.done() || c.done() || !honest);
	}

	/* Deliver the rest as it is. */
	void finish()
	{
		for (u32 i = 0; i < 40; i++) {
			const message m = next(hosts[i & 1]);

			if (m.size())
				hosts[1 - (i & 1)].receive(m);
			check();
		}
	}

	uint8_t settings;
	host hosts[2];
	std::vector<message> seen;
	bool honest = true;
};

} // namespace

int fuzz_handshake(const uint8_t *data, size_t size)
{
	script s{ data, size };
	fight f{ s.next() };

	while (!s.ended()) {
		f.step(s);
		f.check();
	}
	f.finish();

	const host &c = f.hosts[0], &server = f.hosts[1];
	const bool both = c.takes_part && server.takes_part &&
			  !(f.settings &
			    (SECRETS_DIFFER | SERVER_UNKNOWN | CLIENT_WITHOUT));

	if (f.honest && both)
		REQUIRE(c.done() && server.done() && c.open() && server.open());
	return 0;
}
