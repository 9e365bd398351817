// SPDX-License-Identifier: GPL-2.0
/* The engine inside the kernel: credits */
#include <linux/prandom.h>

#include "engine.h"

struct credit_case {
	const char *name;
	u32 sent;		/* messages sent before */
	u32 credit, back;	/* the peer's header: credit, received = sent - back */
	s32 window;		/* messages that may then be sent; -1: closed */
};

static const struct credit_case credit_cases[] = {
	{ "all received", 100, 16, 0, 16 },
	{ "some in flight", 100, 16, 4, 12 },
	{ "none granted", 100, 0, 0, 4 },
	{ "old news", 100, 2, 50, 4 },
	{ "clamped", 100, ~0u, 0, 65535 },
	{ "count wraps", ~0u, 16, 0, 16 },
	{ "limit wraps", ~0u - 3, 16, 2, 14 },
	{ "sign changes", 0x7fffffff, 16, 1, 15 },
	{ "never sent", 100, 16, -1, -1 },
	{ "never sent, wrapped", ~0u, 16, -1, -1 },
};

static void credit_desc(const struct credit_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(credit, credit_cases, credit_desc);

static void credits_window(struct kunit *test)
{
	const struct credit_case *c = test->param_value;
	struct fixture *f = test->priv;
	struct rpcrdma_conn *conn = &f->client.conn;

	conn->sent = c->sent;
	conn->limit = c->sent + 4;
	prefix(&f->m, 0, RDMA2_NOMSG, 0, c->credit, c->sent - c->back);
	no_lists(&f->m);
	if (c->window < 0) {
		KUNIT_EXPECT_EQ(test, feed(test, &f->client, &f->m, false),
				RPCRDMA_RX_CLOSE);
		KUNIT_EXPECT_NOT_NULL(test, conn->reason);
		return;
	}
	KUNIT_EXPECT_EQ(test, feed(test, &f->client, &f->m, false),
			RPCRDMA_RX_CONSUMED);
	KUNIT_EXPECT_EQ(test, conn->limit - conn->sent, c->window);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_may_send(conn, RPCRDMA_KIND_CALL),
			c->window > 2);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_may_send(conn, RPCRDMA_KIND_REPLY),
			c->window > 0);
}

static void check_invariants(struct kunit *test, const struct end *e,
			     const struct end *peer)
{
	/* The peer's limit never includes the last Receive, the reserve. */
	KUNIT_ASSERT_GE(test, (s32)(e->conn.posted - 1 - peer->conn.limit), 0);
	KUNIT_ASSERT_GE(test, (s32)(e->conn.posted - 1 - e->conn.advertised),
			0);
	KUNIT_ASSERT_LE(test, (s32)(peer->conn.sent - peer->conn.limit), 1);
	KUNIT_ASSERT_EQ(test, e->conn.received, peer->conn.sent);
}

/*
 * Send Calls in one direction. The server holds them, then answers any number of them.
 * Credits must limit the Calls, and must be granted again as Receives are released.
 */
static void credits_traffic(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct rnd_state rnd;
	u32 held = 0, made = 0, i;

	prandom_seed_state(&rnd, 4711);
	for (i = 0; i < 2000; i++) {
		u32 n = prandom_u32_state(&rnd) % 8;

		while (n-- && rpcrdma_conn_may_send(&f->client.conn,
						    RPCRDMA_KIND_CALL)) {
			f->m.len = rpcrdma_encode_header(
				&f->client.conn, f->m.data, HEADER, made + 1,
				RDMA2_MSG, 0, NULL);
			rpcrdma_conn_stamp(&f->client.conn, RPCRDMA_KIND_CALL,
					   f->m.data);
			rpc(&f->m, ++made, RPC_CALL, 40);
			KUNIT_ASSERT_EQ(test,
					feed(test, &f->server, &f->m, true),
					RPCRDMA_RX_CALL);
			held++;
			check_invariants(test, &f->server, &f->client);
		}
		n = prandom_u32_state(&rnd) % 8;
		while (n-- && held) {
			/* Some Calls are never answered. */
			if (prandom_u32_state(&rnd) % 4) {
				KUNIT_ASSERT_TRUE(test,
					rpcrdma_conn_may_send(&f->server.conn,
							RPCRDMA_KIND_REPLY));
				f->m.len = rpcrdma_encode_header(
					&f->server.conn, f->m.data, HEADER,
					XID, RDMA2_MSG, RDMA2_F_RESPONSE, NULL);
				rpcrdma_conn_stamp(&f->server.conn,
						   RPCRDMA_KIND_REPLY,
						   f->m.data);
				rpc(&f->m, XID, RPC_REPLY, 40);
				KUNIT_ASSERT_EQ(test,
						feed(test, &f->client, &f->m,
						     false),
						RPCRDMA_RX_REPLY);
			}
			held--;
			rpcrdma_recvs_posted(&f->server.conn, 1);
			deliver_control(test, f, &f->server, &f->client);
			deliver_control(test, f, &f->client, &f->server);
			check_invariants(test, &f->server, &f->client);
			check_invariants(test, &f->client, &f->server);
		}
		/* If the server holds no Calls, the client can send one. */
		if (!held)
			KUNIT_ASSERT_TRUE(test,
				rpcrdma_conn_may_send(&f->client.conn,
						      RPCRDMA_KIND_CALL));
	}
	KUNIT_EXPECT_GT(test, made, 1000);
}

static void credits_overrun(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 i;

	/*
	 * 32 credits were advertised after the CONNPROP, and one Receive is the
	 * reserve.
	 */
	for (i = 0; i < 33; i++) {
		prefix(&f->m, i, RDMA2_MSG, 0, 16, 1);
		no_lists(&f->m);
		rpc(&f->m, i, RPC_CALL, 40);
		KUNIT_ASSERT_EQ(test, feed(test, &f->server, &f->m, true),
				RPCRDMA_RX_CALL);
	}
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, true),
			RPCRDMA_RX_CLOSE);
	KUNIT_EXPECT_TRUE(test, f->server.events & RPCRDMA_EV_CLOSE);
}

static struct kunit_case credits_tests[] = {
	KUNIT_CASE_PARAM(credits_window, credit_gen_params),
	KUNIT_CASE(credits_traffic),
	KUNIT_CASE(credits_overrun),
	{}
};

static struct kunit_suite credits_suite = {
	.name		= "rpcrdma_engine_credits",
	.init		= open_init,
	.test_cases	= credits_tests,
};

kunit_test_suite(credits_suite);
