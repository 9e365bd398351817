// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of the library: two ends in one program, connected by queues of
 * messages
 */
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "support.hh"

using namespace library_test;

namespace
{

constexpr uint64_t SECOND = 1000000000;

rpcrdma2_config usual(bool client, uint32_t window = 8)
{
	rpcrdma2_config config;

	rpcrdma2_config_default(&config);
	config.client = client;
	config.window = window;
	return config;
}

/* One end, and the record of its callbacks */
class end
{
public:
	explicit end(rpcrdma2_config config)
		: storage_(rpcrdma2_conn_size() / sizeof(max_align_t) + 1)
	{
		config.user = this;
		config.callbacks = { on_opened, on_received, on_failed, on_sent,
				     on_auth };
		EXPECT_EQ(rpcrdma2_conn_init(&conn, storage_.data(),
					     storage_.size() *
						     sizeof(max_align_t),
					     &config),
			  0);
	}

	void begin()
	{
		post();
		EXPECT_EQ(rpcrdma2_conn_established(conn, now), 0);
	}

	void post()
	{
		const uint32_t count = rpcrdma2_conn_get_receives(conn, now);

		posted += count;
		if (count)
			rpcrdma2_conn_posted(conn, count, now);
	}

	/* Return all messages that may be sent now. */
	std::deque<bytes> write()
	{
		std::deque<bytes> all;
		bytes m(rpcrdma2_conn_send_size(conn));
		ptrdiff_t n;

		post();
		while ((n = rpcrdma2_conn_write_pkt(conn, m.data(), m.size(),
						    &out, now)) > 0)
			all.emplace_back(m.begin(), m.begin() + n);
		return all;
	}

	int read(const bytes &m, uint32_t invalidated = 0)
	{
		EXPECT_GT(posted, 0u);
		posted--;
		return rpcrdma2_conn_read_pkt(conn, m.data(), m.size(),
					      invalidated, now);
	}

	/*
	 * Queue a message of @length bytes. It stays queued until it is sent.
	 */
	int send(rpcrdma2_kind kind, uint32_t xid, uint32_t length,
		 std::vector<rpcrdma2_item> items = {})
	{
		auto m = std::make_unique<message>();

		m->items = std::move(items);
		if (length) {
			put(m->payload, xid);
			put(m->payload, kind);
			m->payload.resize(length, 0x5a);
		}
		m->tx = {};
		m->tx.xid = xid;
		m->tx.payload = m->payload.data();
		m->tx.length = length;
		m->tx.items = m->items.data();
		m->tx.nr_items = static_cast<uint32_t>(m->items.size());

		const int rc = kind == RPCRDMA2_CALL ?
				       rpcrdma2_conn_send_call(conn, &m->tx) :
				       rpcrdma2_conn_send_reply(conn, &m->tx);

		if (!rc)
			queued[&m->tx] = std::move(m);
		return rc;
	}

	rpcrdma2_conn_info info() const
	{
		rpcrdma2_conn_info i;

		rpcrdma2_conn_get_info(conn, &i);
		return i;
	}

	rpcrdma2_conn *conn;
	rpcrdma2_out out;
	uint64_t now = 1;
	uint32_t posted = 0;
	bool opened = false, hold = false, answer = true, fail = false;
	uint32_t invalidatable = 0;
	std::vector<uint32_t> calls, replies, failed, codes, lengths;
	uint32_t parts = 0;
	size_t items = 0;
	bytes assembly;
	std::string secret; /* for host authentication; "": none */
	unsigned asked = 0;
	uint32_t private_value = 0;
	bool unavailable = false;

private:
	struct message {
		rpcrdma2_tx tx;
		bytes payload;
		std::vector<rpcrdma2_item> items;
	};

	static end &of(void *user)
	{
		return *static_cast<end *>(user);
	}

	static int on_opened(rpcrdma2_conn *, void *user)
	{
		EXPECT_FALSE(of(user).opened);
		of(user).opened = true;
		return 0;
	}

	static int on_received(rpcrdma2_conn *conn, const rpcrdma2_rx *rx,
			       void *user)
	{
		end &e = of(user);
		const auto *p = static_cast<const uint8_t *>(rx->payload);

		if (e.fail)
			return 1;
		if (rx->first)
			e.assembly.clear();
		e.parts++;
		e.assembly.insert(e.assembly.end(), p, p + rx->length);
		if (!rx->last)
			return 0;
		EXPECT_EQ(e.assembly.size(), rx->total);
		e.lengths.push_back(rx->total);
		e.items = rx->msg->nr_items;
		e.invalidatable = rx->inv_handle;
		(rx->kind == RPCRDMA2_CALL ? e.calls : e.replies)
			.push_back(rx->xid);
		if (rx->kind != RPCRDMA2_CALL)
			return 0;
		if (e.hold)
			EXPECT_EQ(rpcrdma2_conn_hold(conn), 0);
		if (e.answer)
			EXPECT_EQ(e.send(RPCRDMA2_REPLY, rx->xid, 100), 0);
		return 0;
	}

	static int on_failed(rpcrdma2_conn *, uint32_t xid, uint32_t code,
			     const uint32_t *, void *user)
	{
		of(user).failed.push_back(xid);
		of(user).codes.push_back(code);
		return 0;
	}

	static int on_sent(rpcrdma2_conn *, rpcrdma2_tx *tx, void *user)
	{
		EXPECT_EQ(of(user).queued.erase(tx), 1u);
		return 0;
	}

	/* Compute proofs that depend on the secret and on each byte, without cryptography. */
	static int on_auth(rpcrdma2_conn *,
			   const rpcrdma2_auth_request *request,
			   rpcrdma2_auth_answer *answer, void *user)
	{
		end &e = of(user);

		e.asked++;
		if (e.unavailable)
			return RPCRDMA2_AUTH_UNAVAILABLE;
		if (e.secret.empty() ||
		    request->identity != std::string("client.test"))
			return RPCRDMA2_AUTH_UNKNOWN;
		if (request->dh.group && !request->dh.peer_public) {
			EXPECT_EQ(request->dh.length, 256u);
			answer->public_value[255] = power(3, e.private_value);
			return RPCRDMA2_AUTH_FOUND;
		}
		if (!request->hash)
			return RPCRDMA2_AUTH_FOUND;
		EXPECT_EQ(request->hash, +RPCRDMA2_AUTH_SHA512);
		EXPECT_EQ(request->proof_length, 64u);
		for (int i = 0; i < 2; i++) {
			std::string all = e.secret;

			for (const auto &piece : request->input[i])
				all.append(
					static_cast<const char *>(piece.data),
					piece.length);
			all += e.shared(request->dh);
			for (uint32_t k = 0; k < request->proof_length; k++)
				answer->proof[i][k] = static_cast<uint8_t>(
					std::hash<std::string>{}(
						all + std::to_string(k)));
		}
		return RPCRDMA2_AUTH_FOUND;
	}

	/* Compute a power modulo 251, for an exchange with numbers of one byte. */
	static uint8_t power(uint32_t base, uint32_t exponent)
	{
		uint32_t result = 1;

		while (exponent--)
			result = result * base % 251;
		return static_cast<uint8_t>(result);
	}
	std::string shared(const rpcrdma2_auth_dh &dh) const
	{
		if (!dh.group)
			return "";
		return std::to_string(dh.client_public[255]) + "," +
		       std::to_string(
			       power(dh.peer_public[255], private_value));
	}

	std::vector<max_align_t> storage_;

public:
	std::map<rpcrdma2_tx *, std::unique_ptr<message>> queued;
};

/* A client and a server */
class pair_of
{
public:
	explicit pair_of(rpcrdma2_config c = usual(true),
			 rpcrdma2_config s = usual(false))
		: client{ c }, server{ s }
	{
		uint8_t priv[RPCRDMA2_PRIVATE_OCTETS];

		rpcrdma2_conn_announce(client.conn, priv);
		rpcrdma2_conn_peer_private(server.conn, priv, sizeof(priv));
		rpcrdma2_conn_announce(server.conn, priv);
		rpcrdma2_conn_peer_private(client.conn, priv, sizeof(priv));
		server.begin();
		client.begin();
	}

	/* Exchange messages until there are no more. Return their number. */
	unsigned run()
	{
		unsigned count = 0, before;

		do {
			before = count;
			count += move(client, server);
			count += move(server, client);
		} while (count != before && count < 10000);
		return count;
	}

	static unsigned move(end &from, end &to)
	{
		unsigned count = 0;

		for (const bytes &m : from.write()) {
			to.read(m);
			count++;
		}
		return count;
	}

	end client, server;
};

TEST(Conn, OpensAndCalls)
{
	pair_of p;

	p.run();
	EXPECT_TRUE(p.client.opened && p.server.opened);
	EXPECT_EQ(p.client.info().version, 2u);
	EXPECT_STREQ(p.client.info().version_why, "both");
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 5, 40), 0);
	p.run();
	EXPECT_EQ(p.server.calls, std::vector<uint32_t>{ 5 });
	EXPECT_EQ(p.client.replies, std::vector<uint32_t>{ 5 });
	EXPECT_EQ(p.client.lengths, std::vector<uint32_t>{ 100 });
	EXPECT_TRUE(p.client.queued.empty() && p.server.queued.empty());
	EXPECT_EQ(p.client.info().calls[0], 1u);
	EXPECT_EQ(rpcrdma2_conn_get_expiry(p.client.conn), RPCRDMA2_NEVER);
	EXPECT_EQ(rpcrdma2_conn_reason(p.client.conn), nullptr);
}

TEST(Conn, ContinuesLargeMessages)
{
	pair_of p;

	p.run();
	p.server.answer = false;
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 5, 200001), 0);
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 6, 262145),
		  RPCRDMA2_ERR_TOO_LONG);
	p.run();
	EXPECT_EQ(p.server.lengths, std::vector<uint32_t>{ 200001 });
	EXPECT_GT(p.server.parts, 40u);
	EXPECT_EQ(p.server.send(RPCRDMA2_REPLY, 5, 100000), 0);
	p.run();
	EXPECT_EQ(p.client.lengths, std::vector<uint32_t>{ 100000 });
	EXPECT_EQ(p.client.info().calls[1], 1u);
}

TEST(Conn, ManyCallsInASmallWindow)
{
	pair_of p{ usual(true, 4), usual(false, 4) };

	p.run();
	for (uint32_t xid = 1; xid <= 500; xid++)
		EXPECT_EQ(p.client.send(RPCRDMA2_CALL, xid, 40 + xid * 30), 0);
	p.run();
	EXPECT_EQ(p.client.replies.size(), 500u);
}

TEST(Conn, HeldReceivesLimitThePeer)
{
	pair_of p{ usual(true), usual(false, 4) };

	p.run();
	p.server.hold = true;
	for (uint32_t xid = 1; xid <= 20; xid++)
		p.client.send(RPCRDMA2_CALL, xid, 40);
	p.run();
	EXPECT_LT(p.server.calls.size(), 8u);
	EXPECT_NE(rpcrdma2_conn_get_expiry(p.client.conn), RPCRDMA2_NEVER);
	for (int i = 0; i < 100 && p.server.calls.size() < 20; i++) {
		rpcrdma2_conn_release(p.server.conn);
		p.run();
	}
	EXPECT_EQ(p.client.replies.size(), 20u);
	EXPECT_EQ(rpcrdma2_conn_hold(p.server.conn), RPCRDMA2_ERR_INVALID);
}

TEST(Conn, LackOfCreditClosesIt)
{
	pair_of p{ usual(true), usual(false, 4) };

	p.run();
	p.server.hold = true;
	p.server.answer = false;
	for (uint32_t xid = 1; xid <= 20; xid++)
		p.client.send(RPCRDMA2_CALL, xid, 40);
	p.run();

	const uint64_t until = rpcrdma2_conn_get_expiry(p.client.conn);

	EXPECT_EQ(until, p.client.now + 60 * SECOND);
	EXPECT_EQ(rpcrdma2_conn_handle_expiry(p.client.conn, until - SECOND),
		  0);
	EXPECT_EQ(rpcrdma2_conn_handle_expiry(p.client.conn, until),
		  RPCRDMA2_ERR_STALLED);
	EXPECT_STREQ(rpcrdma2_conn_reason(p.client.conn),
		     "the peer does not grant credits");
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 30, 40), RPCRDMA2_ERR_STALLED);
}

TEST(Conn, SilentPeer)
{
	end client{ usual(true) };

	client.begin();
	EXPECT_EQ(client.write().size(), 1u);
	EXPECT_EQ(rpcrdma2_conn_get_expiry(client.conn), 1 + 15 * SECOND);
	EXPECT_EQ(rpcrdma2_conn_handle_expiry(client.conn, 10 * SECOND), 0);
	EXPECT_EQ(rpcrdma2_conn_handle_expiry(client.conn, 16 * SECOND),
		  RPCRDMA2_ERR_OPENING_TIMEOUT);
	EXPECT_EQ(client.info().heard, 0u);
	EXPECT_EQ(client.send(RPCRDMA2_CALL, 1, 40),
		  RPCRDMA2_ERR_OPENING_TIMEOUT);
}

TEST(Conn, FallsBackToVersion1)
{
	rpcrdma2_config old = usual(false, 32);

	old.version_high = 1;

	pair_of p{ usual(true), old };

	p.run();
	EXPECT_TRUE(p.client.opened);
	EXPECT_FALSE(p.server.opened);
	EXPECT_EQ(p.client.info().version, 1u);
	EXPECT_STREQ(p.client.info().version_why, "refused");
	EXPECT_EQ(p.client.info().refused_high, 1u);
	for (uint32_t xid = 1; xid <= 50; xid++)
		EXPECT_EQ(p.client.send(RPCRDMA2_CALL, xid, 40), 0);
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 51, 5000),
		  RPCRDMA2_ERR_TOO_LONG);
	p.run();
	EXPECT_EQ(p.client.replies.size(), 50u);
	EXPECT_TRUE(p.server.opened);
	EXPECT_LE(p.server.posted, rpcrdma2_conn_max_receives(p.server.conn));
}

TEST(Conn, Version2Only)
{
	rpcrdma2_config old = usual(false), own = usual(true);

	old.version_high = 1;
	own.version_low = 2;

	pair_of p{ own, old };

	p.run();
	EXPECT_FALSE(p.client.opened);
	EXPECT_STREQ(
		rpcrdma2_conn_reason(p.client.conn),
		"the peer does not support version 2, which min_version requires");
}

TEST(Conn, Errors)
{
	pair_of p;

	p.run();
	p.server.answer = false;
	p.client.send(RPCRDMA2_CALL, 5, 40);
	p.run();
	EXPECT_EQ(rpcrdma2_conn_send_error(p.server.conn, 5, 50, 0, 0),
		  RPCRDMA2_ERR_INVALID);
	EXPECT_EQ(rpcrdma2_conn_send_error(p.server.conn, 5,
					   RPCRDMA2_CODE_SYSTEM, 0, 0),
		  0);
	p.run();
	EXPECT_EQ(p.client.failed, std::vector<uint32_t>{ 5 });
	EXPECT_EQ(p.client.codes,
		  std::vector<uint32_t>{ RPCRDMA2_CODE_SYSTEM });
}

TEST(Conn, Chunks)
{
	rpcrdma2_config with = usual(false);
	rpcrdma2_item read = {}, reply = {}, segment = {};

	with.props.rssiz = 65536;
	with.props.rcsiz = 4;

	pair_of p{ usual(true), with };

	read.kind = RPCRDMA2_ITEM_READ;
	read.handle = 0x11;
	read.length = 4096;
	reply.kind = RPCRDMA2_ITEM_REPLY;
	reply.count = 1;
	segment.kind = RPCRDMA2_ITEM_SEGMENT;
	segment.handle = 0x22;
	segment.length = 65536;
	p.run();
	/*
	 * A Special Format message has no payload, but a chunk at Position
	 * Zero.
	 */
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 1, 40, { read }),
		  RPCRDMA2_ERR_INVALID);
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 2, 0), RPCRDMA2_ERR_INVALID);
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 3, 40, { reply }),
		  RPCRDMA2_ERR_INVALID);
	segment.length++;
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 4, 40, { reply, segment }),
		  RPCRDMA2_ERR_CHUNKS);
	segment.length--;
	read.position = 40;
	p.server.answer = false;
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 5, 40, { read, reply, segment }),
		  0);
	p.run();
	EXPECT_EQ(p.server.calls, std::vector<uint32_t>{ 5 });
	EXPECT_EQ(p.server.items, 3u);
	/* The Reply is in the Reply chunk. */
	segment.length = 3000;
	EXPECT_EQ(p.server.send(RPCRDMA2_REPLY, 5, 0, { reply, segment }), 0);
	/* In the other direction, no chunks are accepted. */
	p.run();
	EXPECT_EQ(p.client.replies, std::vector<uint32_t>{ 5 });
	EXPECT_EQ(p.client.items, 2u);
}

TEST(Conn, ReverseCalls)
{
	rpcrdma2_config own = usual(true);

	own.props.brs = RPCRDMA2_REVERSE_SIMPLE;

	pair_of p{ own }, none;

	p.run();
	none.run();
	EXPECT_EQ(none.server.send(RPCRDMA2_CALL, 9, 40),
		  RPCRDMA2_ERR_NO_REVERSE);
	EXPECT_EQ(p.server.send(RPCRDMA2_CALL, 9, 5000), RPCRDMA2_ERR_TOO_LONG);
	EXPECT_EQ(p.server.send(RPCRDMA2_CALL, 9, 40), 0);
	p.run();
	EXPECT_EQ(p.server.replies, std::vector<uint32_t>{ 9 });
}

TEST(Conn, Invalidation)
{
	pair_of p;

	p.run();
	/* A credit grant, a Call and a CONNPROP invalidate nothing. */
	p.client.send(RPCRDMA2_CALL, 5, 40);
	for (const bytes &m : p.client.write())
		EXPECT_EQ(p.server.read(m, 77), RPCRDMA2_ERR_INVALIDATED);
	EXPECT_STREQ(rpcrdma2_conn_reason(p.server.conn),
		     rpcrdma2_strerror(RPCRDMA2_ERR_INVALIDATED));
}

TEST(Conn, CallbackFails)
{
	pair_of p;

	p.run();
	p.server.fail = true;
	p.client.send(RPCRDMA2_CALL, 5, 40);
	for (const bytes &m : p.client.write())
		EXPECT_EQ(p.server.read(m), RPCRDMA2_ERR_CALLBACK);
	EXPECT_EQ(p.server.write().size(), 0u);
}

TEST(Conn, Closes)
{
	pair_of p;

	p.run();
	p.client.send(RPCRDMA2_CALL, 5, 40);
	rpcrdma2_conn_close(p.client.conn);
	EXPECT_EQ(p.client.write().size(), 0u);
	EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 6, 40), RPCRDMA2_ERR_CLOSED);
	EXPECT_EQ(rpcrdma2_conn_get_expiry(p.client.conn), RPCRDMA2_NEVER);
	EXPECT_STREQ(rpcrdma2_conn_reason(p.client.conn),
		     "the connection has ended");
}

rpcrdma2_config with_auth(bool client, uint32_t mode)
{
	rpcrdma2_config config = usual(client);

	config.auth.mode = mode;
	config.auth.own = client ? "client.test" : "server.test";
	config.auth.nonce[0] = client;
	return config;
}

TEST(Auth, BothEndsProveTheSecret)
{
	pair_of p{ with_auth(true, RPCRDMA2_AUTH_REQUIRE),
		   with_auth(false, RPCRDMA2_AUTH_REQUIRE) };

	p.client.secret = p.server.secret = "a secret";
	p.run();
	EXPECT_TRUE(p.client.opened && p.server.opened);
	EXPECT_STREQ(p.client.info().auth, "authenticated");
	EXPECT_STREQ(p.server.info().auth, "authenticated");
	EXPECT_STREQ(p.client.info().auth_hash, "sha512");
	EXPECT_STREQ(p.client.info().auth_peer, "server.test");
	EXPECT_STREQ(p.server.info().auth_peer, "client.test");
	EXPECT_EQ(p.client.asked, 1u);
	EXPECT_EQ(p.server.asked, 2u);
	p.client.send(RPCRDMA2_CALL, 5, 40);
	p.run();
	EXPECT_EQ(p.client.replies, std::vector<uint32_t>{ 5 });
}

/* Each failure ends the connection of the client, with the error and a reason. */
TEST(Auth, Fails)
{
	const struct {
		uint32_t client, server;
		const char *secrets[2];
		bool unavailable;
		const char *says;
	} cases[] = {
		{ 2, 2, { "a", "b" }, false, "refuses" },
		{ 2, 2, { "a", "" }, false, "refuses" },
		{ 2, 0, { "a", "a" }, false, "does not take part" },
		{ 0, 2, { "a", "a" }, false, "requires" },
		{ 2, 2, { "a", "a" }, true, "not available" },
	};

	for (const auto &c : cases) {
		pair_of p{ with_auth(true, c.client),
			   with_auth(false, c.server) };

		p.client.secret = c.secrets[0];
		p.server.secret = c.secrets[1];
		p.server.unavailable = c.unavailable;
		p.run();
		EXPECT_FALSE(p.client.opened) << c.says;
		ASSERT_NE(rpcrdma2_conn_reason(p.client.conn), nullptr)
			<< c.says;
		EXPECT_NE(std::string(rpcrdma2_conn_reason(p.client.conn))
				  .find(c.says),
			  std::string::npos)
			<< rpcrdma2_conn_reason(p.client.conn);
		EXPECT_STREQ(p.client.info().auth, "failed");
		EXPECT_EQ(p.client.send(RPCRDMA2_CALL, 5, 40),
			  RPCRDMA2_ERR_AUTH);
	}
}

/* One end offers groups, or both do. */
TEST(Auth, DiffieHellman)
{
	for (uint32_t server : { 0u, 2u }) {
		rpcrdma2_config configs[] = {
			with_auth(true, RPCRDMA2_AUTH_OFFER),
			with_auth(false, RPCRDMA2_AUTH_OFFER),
		};

		configs[0].auth.dh = RPCRDMA2_AUTH_OFFER;
		configs[1].auth.dh = server;
		for (rpcrdma2_config &config : configs)
			config.auth.groups = 1 << RPCRDMA2_AUTH_FFDHE2048;

		pair_of p{ configs[0], configs[1] };

		p.client.secret = p.server.secret = "a secret";
		p.client.private_value = 11;
		p.server.private_value = 17;
		p.run();
		EXPECT_TRUE(p.client.opened && p.server.opened);
		EXPECT_STREQ(p.client.info().auth, "authenticated");
		EXPECT_STREQ(p.client.info().auth_dh,
			     server ? "ffdhe2048" : "none");
		EXPECT_EQ(p.client.asked, server ? 2u : 1u);
		EXPECT_EQ(p.server.asked, server ? 3u : 2u);
	}
}

TEST(Auth, OfferedAndUnused)
{
	pair_of p{ with_auth(true, RPCRDMA2_AUTH_OFFER) };

	p.client.secret = "a";
	p.run();
	EXPECT_TRUE(p.client.opened && p.server.opened);
	EXPECT_STREQ(p.client.info().auth, "unused");
	EXPECT_STREQ(p.client.info().auth_hash, "none");
	EXPECT_STREQ(p.server.info().auth, "none");
	EXPECT_STREQ(p.server.info().auth_peer, "");
}

TEST(Conn, Init)
{
	alignas(16) static unsigned char storage[16384];
	rpcrdma2_config config = usual(true);
	rpcrdma2_conn *conn;

	ASSERT_LE(rpcrdma2_conn_size(), sizeof(storage));
	EXPECT_EQ(rpcrdma2_conn_init(&conn, storage, 100, &config),
		  RPCRDMA2_ERR_BUFFER_SHORT);
	EXPECT_EQ(rpcrdma2_conn_init(&conn, storage + 4, sizeof(storage) - 4,
				     &config),
		  RPCRDMA2_ERR_INVALID);
	config.window = 3;
	EXPECT_EQ(rpcrdma2_conn_init(&conn, storage, sizeof(storage), &config),
		  RPCRDMA2_ERR_INVALID);
	config = usual(true);
	config.props.reply_read = RPCRDMA2_REPLY_READ_PROVIDE;
	EXPECT_EQ(rpcrdma2_conn_init(&conn, storage, sizeof(storage), &config),
		  RPCRDMA2_ERR_INVALID);
	config = usual(true);
	config.version_high = 3;
	EXPECT_EQ(rpcrdma2_conn_init(&conn, storage, sizeof(storage), &config),
		  RPCRDMA2_ERR_INVALID);
	for (const char *own : { "", "two words" }) {
		config = with_auth(true, RPCRDMA2_AUTH_REQUIRE);
		config.auth.own = own;
		/* A client without an identity has no secret. */
		EXPECT_EQ(rpcrdma2_conn_init(&conn, storage, sizeof(storage),
					     &config),
			  *own ? +RPCRDMA2_ERR_INVALID : 0);
	}
	config = with_auth(true, 3);
	EXPECT_EQ(rpcrdma2_conn_init(&conn, storage, sizeof(storage), &config),
		  RPCRDMA2_ERR_INVALID);
	/*
	 * Before the connection is established, there is nothing to send, and
	 * no timer expires.
	 */
	config = usual(true);
	EXPECT_EQ(rpcrdma2_conn_init(&conn, storage, sizeof(storage), &config),
		  0);
	EXPECT_EQ(rpcrdma2_conn_get_expiry(conn), RPCRDMA2_NEVER);
}

} // namespace
