// SPDX-License-Identifier: GPL-2.0
/* The Calls and Replies of rpcrdma-ping, on a connection of the library */
#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>

#include <gtest/gtest.h>

#include "outstanding.hh"
#include "replies.hh"
#include "support.hh"

using namespace library_test;

namespace
{

constexpr uint32_t CALLS = 20;

/* One end of a connection. A client has Calls as rpcrdma-ping does. */
class end
{
public:
	explicit end(bool client)
		: client_{ client },
		  storage_(rpcrdma2_conn_size() / sizeof(std::max_align_t) + 1)
	{
		rpcrdma2_config config;

		rpcrdma2_config_default(&config);
		config.client = client;
		config.window = 8;
		config.callbacks = { nullptr, on_received, on_failed, on_sent,
				     nullptr };
		config.user = this;
		EXPECT_EQ(rpcrdma2_conn_init(&conn, storage_.data(),
					     storage_.size() *
						     sizeof(std::max_align_t),
					     &config),
			  0);
		post();
		EXPECT_EQ(rpcrdma2_conn_established(conn, 1), 0);
	}

	/* Grant one credit for each time that messages are sent. */
	void slow_down()
	{
		most_receives_ = 1;
	}

	/* Return up to @most messages that may be sent now. */
	std::deque<bytes> write(size_t most = 1000)
	{
		bytes m(rpcrdma2_conn_send_size(conn));
		std::deque<bytes> all;
		rpcrdma2_out out;
		ptrdiff_t n;

		post();
		while (all.size() < most &&
		       (n = rpcrdma2_conn_write_pkt(conn, m.data(), m.size(),
						    &out, 1)) > 0)
			all.emplace_back(m.begin(), m.begin() + n);
		return all;
	}

	void read(const std::deque<bytes> &all)
	{
		for (const bytes &m : all)
			EXPECT_EQ(rpcrdma2_conn_read_pkt(conn, m.data(),
							 m.size(), 0, 1),
				  0);
	}

	void call(uint32_t xid, uint32_t octets)
	{
		EXPECT_EQ(rpcrdma2_conn_send_call(
				  conn, out.add(xid,
						ping::null_call(xid, 100003, 3,
								octets),
						xid)),
			  0);
	}

	rpcrdma2_conn *conn;
	ping::outstanding out;
	ping::replies replies;
	bool answers = false, full = false; /* of a server */
	std::vector<uint32_t> answered, failed;

private:
	bool answer(uint32_t xid)
	{
		rpcrdma2_tx *tx =
			replies.add(xid, words({ xid, 1, 0, 0, 0, 0 }));

		return tx && rpcrdma2_conn_send_reply(conn, tx) == 0;
	}

	void post()
	{
		const uint32_t count = std::min(
			rpcrdma2_conn_get_receives(conn, 1), most_receives_);

		if (count)
			EXPECT_EQ(rpcrdma2_conn_posted(conn, count, 1), 0);
	}

	static int on_received(rpcrdma2_conn *, const rpcrdma2_rx *rx,
			       void *user)
	{
		end &e = *static_cast<end *>(user);

		if (rx->kind == RPCRDMA2_CALL && e.answers)
			e.full |= !e.answer(rx->xid);
		if (rx->kind != RPCRDMA2_REPLY || !e.out.answered(rx->xid))
			return 0;
		EXPECT_TRUE(e.out.end(rx->xid));
		e.answered.push_back(rx->xid);
		return 0;
	}

	static int on_failed(rpcrdma2_conn *, uint32_t xid, uint32_t,
			     const uint32_t *, void *user)
	{
		end &e = *static_cast<end *>(user);

		if (e.out.end(xid))
			e.failed.push_back(xid);
		return 0;
	}

	static int on_sent(rpcrdma2_conn *, rpcrdma2_tx *tx, void *user)
	{
		end &e = *static_cast<end *>(user);

		if (e.client_)
			e.out.sent(tx);
		else if (e.answers)
			e.replies.sent();
		return 0;
	}

	const bool client_;
	uint32_t most_receives_ = UINT32_MAX;
	std::vector<std::max_align_t> storage_;
};

void run(end &a, end &b)
{
	for (int i = 0; i < 20; i++) {
		b.read(a.write());
		a.read(b.write());
	}
}

/* A server answers Calls that it has not received yet: these are sent all the same. */
TEST(Ping, AnsweredBeforeTheyAreSent)
{
	end client{ true }, server{ false };
	std::vector<bytes> payloads(CALLS + 1);
	std::vector<rpcrdma2_tx> replies(CALLS + 1);

	run(client, server);
	for (uint32_t xid = 1; xid <= CALLS; xid++)
		client.call(xid, 40);
	EXPECT_EQ(client.out.count(), CALLS);
	EXPECT_EQ(client.out.oldest(), 1u);

	const std::deque<bytes> first = client.write();

	ASSERT_LT(first.size(), CALLS);
	server.read(first);
	for (uint32_t xid = CALLS; xid; xid--) {
		payloads[xid] = words({ xid, 1, 0, 0, 0, 0 });
		replies[xid] = {};
		replies[xid].xid = xid;
		replies[xid].payload = payloads[xid].data();
		replies[xid].length =
			static_cast<uint32_t>(payloads[xid].size());
		ASSERT_EQ(rpcrdma2_conn_send_reply(server.conn, &replies[xid]),
			  0);
	}
	run(server, client);
	/* The others are sent, and still outstanding: their Replies were ignored. */
	EXPECT_GE(client.answered.size(), first.size());
	EXPECT_EQ(client.out.count(), CALLS - client.answered.size());
	EXPECT_GT(client.out.count(), 0u);
	for (uint32_t xid = 1; xid <= CALLS; xid++)
		EXPECT_EQ(client.out.end(xid),
			  std::count(client.answered.begin(),
				     client.answered.end(), xid) == 0);
	EXPECT_EQ(client.out.count(), 0u);
}

/* A continued Call is refused after its first message: the rest of it is sent. */
TEST(Ping, RefusedBeforeItIsSent)
{
	end client{ true }, server{ false };

	run(client, server);
	client.call(1, 20000);
	client.call(2, 40);
	server.read(client.write(1));
	EXPECT_EQ(rpcrdma2_conn_send_error(server.conn, 1, RPCRDMA2_CODE_SYSTEM,
					   0, 0),
		  0);
	client.read(server.write());
	EXPECT_EQ(client.failed, std::vector<uint32_t>{ 1 });
	EXPECT_EQ(client.out.count(), 1u);
	EXPECT_EQ(client.out.oldest(), 2u);
	EXPECT_FALSE(client.out.end(1));
	run(client, server);
	EXPECT_TRUE(client.out.answered(2));
	EXPECT_FALSE(client.out.answered(1));
	EXPECT_TRUE(client.out.end(2));
}

/* A client sends Calls faster than it grants credits for their Replies. */
TEST(Ping, FewCreditsForReplies)
{
	end client{ true }, server{ false };
	uint32_t xid = 0;

	run(client, server);
	server.answers = true;
	client.slow_down();
	while (!server.full && xid < 8 * ping::replies::MOST) {
		for (int i = 0; i < 8; i++)
			client.call(++xid, 40);
		server.read(client.write());
		client.read(server.write());
	}
	EXPECT_TRUE(server.full);
}

} // namespace
