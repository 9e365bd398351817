// SPDX-License-Identifier: GPL-2.0
/* Two ends that authenticate each other, and a host that answers with a stand-in HMAC */
#ifndef ENGINE_TEST_HOSTAUTH_HH
#define ENGINE_TEST_HOSTAUTH_HH

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "opening.hh"
#include "stand_in.hh"

namespace engine_test::hostauth
{

constexpr int NO_KEY = -126, REVOKED = -128, NO_MEMORY = -12;
constexpr int NO_ALGORITHM = -95;

using secrets = std::map<std::string, std::string>;

/* One end with its handshake and its host */
struct peer {
	explicit peer(bool client,
		      enum rpcrdma_auth_mode mode = RPCRDMA_AUTH_OFFER,
		      const char *own = nullptr, const char *expected = "",
		      u32 hashes = RPCRDMA_AUTH_ALL_HASHES,
		      enum rpcrdma_auth_mode dh = RPCRDMA_AUTH_NONE,
		      u32 groups = RPCRDMA_AUTH_ALL_GROUPS)
	{
		rpcrdma_conn_config cfg = usual_config(client);
		u8 nonce[RPCRDMA_AUTH_NONCE];

		static u8 count;

		memset(nonce, ++count, sizeof(nonce));
		if (!own)
			own = client ? "client" : "server";
		cfg.auth_mode = static_cast<u8>(mode);
		EXPECT_TRUE(rpcrdma_auth_init(&auth, own, expected, nonce));
		rpcrdma_auth_set_hashes(&auth, hashes);
		rpcrdma_auth_set_groups(&auth, dh, groups);
		exchange.secret = 1000u + count;
		/* A server allocates its handshake only after a client's HELLO. */
		if (client && mode != RPCRDMA_AUTH_NONE && *own)
			cfg.auth = &auth;
		e = std::make_unique<end>(cfg);
		e->post(33);
	}

	/* Receive a message. If @memory, provide the memory of a handshake when it is needed. */
	enum rpcrdma_verdict receive(const message &m)
	{
		const enum rpcrdma_verdict verdict = e->receive(m);

		if (e->rx.events & RPCRDMA_EV_HELLO) {
			hellos++;
			e->events = rpcrdma_auth_hello(&e->conn,
						       memory ? &auth : nullptr,
						       m.data().data(),
						       m.size(), &e->rx);
			e->all_events |= e->events;
		}
		return verdict;
	}

	/*
	 * Answer the host request of this end. Return false if there is none.
	 */
	bool answer(int status = 0)
	{
		rpcrdma_auth_request ask;
		rpcrdma_auth_answer a{};

		rpcrdma_auth_next(&e->conn, &ask);
		if (ask.what == RPCRDMA_AUTH_ASK_NOTHING)
			return false;
		asked++;
		if (!known.count(ask.identity) &&
		    ask.what != RPCRDMA_AUTH_ASK_KEYS)
			a.status = NO_KEY;
		if (status)
			a.status = status;
		/* A host computes the shared secret before it looks up the secret. */
		if (!status && ask.what == RPCRDMA_AUTH_ASK_PROOFS)
			powers += !!ask.dh.group;
		if (!a.status && ask.what == RPCRDMA_AUTH_ASK_PROOFS) {
			for (u32 i = 0; i < 2; i++)
				stand_in(known[ask.identity], ask.input[i],
					 ask.mac_octets, a.proof[i],
					 exchange.shared(ask.dh));
			proofs++;
		}
		if (!a.status && ask.what == RPCRDMA_AUTH_ASK_KEYS) {
			exchange.keys(ask.dh, a);
			powers++;
		}
		e->events = rpcrdma_auth_answered(&e->conn, &a);
		e->all_events |= e->events;
		return true;
	}

	enum rpcrdma_auth_result result() const
	{
		return rpcrdma_conn_auth_result(&e->conn);
	}
	bool open() const
	{
		return e->conn.state == RPCRDMA_CONN_OPEN;
	}
	bool closing() const
	{
		return e->conn.state == RPCRDMA_CONN_CLOSING;
	}

	rpcrdma_hostauth auth{};
	secrets known{ { "client", "a secret of both" } };
	std::unique_ptr<end> e;
	stand_in_dh exchange;
	u32 asked = 0, proofs = 0, hellos = 0;
	u32 powers = 0;	    /* calculations in a group */
	bool memory = true; /* for a server's handshake */
};

/* Both ends after the exchange of private messages, and the messages between them */
struct pair {
	pair(peer &client, peer &server) : c{ client }, s{ server }
	{
		rpcrdma_private priv;

		rpcrdma_conn_build_private(&c.e->conn, &priv);
		rpcrdma_conn_set_peer_private(&s.e->conn, &priv);
		rpcrdma_conn_build_private(&s.e->conn, &priv);
		rpcrdma_conn_set_peer_private(&c.e->conn, &priv);
		c.e->all_events |= rpcrdma_conn_established(&c.e->conn);
		rpcrdma_conn_established(&s.e->conn);
	}

	/*
	 * Answer the host request of an end, if any, and return its next
	 * message.
	 */
	message next(peer &p)
	{
		message m;

		do {
			m = p.e->control();
		} while (!m.size() && p.answer());
		return m;
	}

	/* Deliver up to @count messages, one after the other, the client's first. */
	void run(u32 count = 20)
	{
		for (bool moved = true; moved;) {
			moved = false;
			for (bool client : { true, false }) {
				if (sent.size() == count)
					return;

				message m = next(client ? c : s);

				if (!m.size())
					continue;
				sent.push_back(m);
				(client ? s : c).receive(m);
				moved = true;
			}
		}
		/* Answer requests after which no message follows. */
		while (c.answer() || s.answer())
			;
	}

	bool both_open() const
	{
		return c.open() && s.open();
	}
	bool both_done() const
	{
		return c.result() == RPCRDMA_AUTH_DONE &&
		       s.result() == RPCRDMA_AUTH_DONE;
	}

	peer &c, &s;
	std::vector<message> sent;
};

inline u32 flags_of(const message &m)
{
	return m.get(16);
}

} // namespace engine_test::hostauth

#endif
