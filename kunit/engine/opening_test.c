// SPDX-License-Identifier: GPL-2.0
/* The engine inside the kernel: opening */
#include "engine.h"

static void opening_order(struct kunit *test)
{
	struct fixture *f = test->priv;

	/* The server sends nothing before the client's first message. */
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_established(&f->server.conn), 0);
	KUNIT_EXPECT_EQ(test, control(&f->server, &f->m), 0);

	KUNIT_EXPECT_EQ(test, rpcrdma_conn_established(&f->client.conn),
			RPCRDMA_EV_CONTROL);
	KUNIT_ASSERT_NE(test, control(&f->client, &f->m), 0);
	KUNIT_EXPECT_LE(test, f->m.len, RPCRDMA_V2_FIRST_CONNPROP);
	KUNIT_EXPECT_EQ(test, get(&f->m, 12), RDMA2_CONNPROP);
	KUNIT_EXPECT_EQ(test, control(&f->client, &f->answer), 0);

	feed(test, &f->server, &f->m, false);
	KUNIT_EXPECT_TRUE(test, f->server.events & RPCRDMA_EV_OPENED);
	KUNIT_ASSERT_NE(test, control(&f->server, &f->m), 0);
	KUNIT_EXPECT_EQ(test, get(&f->m, 8), 32);
	feed(test, &f->client, &f->m, false);
	KUNIT_EXPECT_TRUE(test, f->client.events & RPCRDMA_EV_OPENED);
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_may_send(&f->client.conn,
						      RPCRDMA_KIND_CALL));
}

struct prop_case {
	const char *name;
	u32 id, length, value;
	u32 error;
	u32 rbsiz;		/* the resulting RBSIZ */
};

static const struct prop_case prop_cases[] = {
	{ "RBSIZ", 2, 4, 8192, 0, 8192 },
	{ "default", 2, 0, 0, 0, 4096 },
	{ "too small", 2, 4, 1023, RDMA2_ERR_BAD_PROPVAL, 4096 },
	{ "not a uint32", 2, 2, 0x20000000, RDMA2_ERR_BAD_PROPVAL, 4096 },
	{ "beyond the message", 2, 9, 0, RDMA2_ERR_BAD_PROPVAL, 4096 },
	{ "BRS too high", 5, 4, 4, RDMA2_ERR_BAD_PROPVAL, 4096 },
	{ "host authentication", 6, 4, 4, 0, 4096 },
	{ "unknown", 99, 4, 4, 0, 4096 },
};

static void prop_desc(const struct prop_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(prop, prop_cases, prop_desc);

static void opening_props(struct kunit *test)
{
	const struct prop_case *c = test->param_value;
	struct fixture *f = test->priv;

	prefix(&f->m, 0, RDMA2_CONNPROP, 0, 16, 0);
	word(&f->m, 1);
	word(&f->m, c->id);
	word(&f->m, c->length);
	if (c->length)
		word(&f->m, c->value);
	feed(test, &f->server, &f->m, false);
	KUNIT_EXPECT_TRUE(test, f->server.events & RPCRDMA_EV_OPENED);
	KUNIT_EXPECT_EQ(test, f->server.conn.peer.rbsiz, c->rbsiz);
	if (c->error)
		KUNIT_EXPECT_EQ(test, error_code(f, &f->server), c->error);
	KUNIT_EXPECT_NE(test, control(&f->server, &f->answer), 0);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 12), RDMA2_CONNPROP);
}

static void opening_versions(struct kunit *test)
{
	struct fixture *f = test->priv;

	/* The server answers a version 1 client with the versions it supports. */
	prefix(&f->m, XID, 0, 0, 32, 0);
	put_unaligned_be32(RPCRDMA_VERS_1, f->m.data + 4);
	feed(test, &f->server, &f->m, false);
	KUNIT_ASSERT_EQ(test, control(&f->server, &f->answer), ERROR_LEN);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 0), XID);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 4), RPCRDMA_VERS_1);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 12), RDMA2_ERROR);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 16), RDMA2_ERR_VERS);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 20), RPCRDMA_VERS_2);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 24), RPCRDMA_VERS_2);

	/* The client receives the answer of a version 1 server. */
	rpcrdma_conn_established(&f->client.conn);
	control(&f->client, &f->m);
	f->m.len = 0;
	word(&f->m, 0);
	word(&f->m, RPCRDMA_VERS_2);
	word(&f->m, 32);
	word(&f->m, RDMA2_ERROR);
	word(&f->m, RDMA2_ERR_VERS);
	word(&f->m, RPCRDMA_VERS_1);
	word(&f->m, RPCRDMA_VERS_1);
	KUNIT_EXPECT_EQ(test, feed(test, &f->client, &f->m, false),
			RPCRDMA_RX_CLOSE);
	KUNIT_EXPECT_EQ(test, f->client.conn.err_vers_high, RPCRDMA_VERS_1);
}

static void opening_rpc_too_early(struct kunit *test)
{
	struct fixture *f = test->priv;

	prefix(&f->m, XID, RDMA2_MSG, 0, 16, 0);
	no_lists(&f->m);
	rpc(&f->m, XID, RPC_CALL, 40);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			RPCRDMA_RX_CLOSE);
}

static void opening_private(struct kunit *test)
{
	static const u8 wire[RPCRDMA_PRIVATE_OCTETS] = {
		0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 15,
	};
	struct rpcrdma_private priv = {
		.inv_ok = 1, .send_size = 4096, .recv_size = 16384,
	};
	u8 buf[RPCRDMA_PRIVATE_OCTETS];

	rpcrdma_encode_private(&priv, buf);
	KUNIT_EXPECT_EQ(test, memcmp(buf, wire, sizeof(buf)), 0);
	memset(&priv, 0xff, sizeof(priv));
	rpcrdma_decode_private(wire, sizeof(wire), &priv);
	KUNIT_EXPECT_EQ(test, priv.valid, 1);
	KUNIT_EXPECT_EQ(test, priv.inv_ok, 1);
	KUNIT_EXPECT_EQ(test, priv.send_size, 4096);
	KUNIT_EXPECT_EQ(test, priv.recv_size, 16384);
	rpcrdma_decode_private(NULL, 0, &priv);
	KUNIT_EXPECT_EQ(test, priv.valid, 0);
	KUNIT_EXPECT_EQ(test, priv.send_size, 1024);
}

static struct kunit_case opening_tests[] = {
	KUNIT_CASE(opening_order),
	KUNIT_CASE_PARAM(opening_props, prop_gen_params),
	KUNIT_CASE(opening_versions),
	KUNIT_CASE(opening_rpc_too_early),
	KUNIT_CASE(opening_private),
	{}
};

static struct kunit_suite opening_suite = {
	.name		= "rpcrdma_engine_opening",
	.init		= fixture_init,
	.test_cases	= opening_tests,
};

kunit_test_suite(opening_suite);
