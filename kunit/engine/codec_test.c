// SPDX-License-Identifier: GPL-2.0
/* The engine inside the kernel: codec */
#include "engine.h"

struct codec_case {
	const char *name;
	u8 special;
	u8 reads, read_segs;
	u8 writes, write_segs;
	u8 reply_segs;
};

static const struct codec_case codec_cases[] = {
	{ "no chunks" },
	{ "Read chunk", .reads = 1, .read_segs = 1 },
	{ "Read chunks", .reads = 3, .read_segs = 4 },
	{ "Write chunk", .writes = 1, .write_segs = 1 },
	{ "empty Write chunks", .writes = 16, .write_segs = 0 },
	{ "Reply chunk", .reply_segs = 2 },
	{ "everything", .reads = 4, .read_segs = 4, .writes = 4,
	  .write_segs = 4, .reply_segs = 32 },
	{ "Position Zero", .special = 1, .reads = 1, .read_segs = 3 },
	{ "Position Zero and items", .special = 1, .reads = 3,
	  .read_segs = 2, .writes = 1, .write_segs = 1, .reply_segs = 1 },
};

static void codec_desc(const struct codec_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(codec, codec_cases, codec_desc);

static void build_lists(const struct codec_case *c, struct rpcrdma_lists *lists)
{
	u32 i, position = 0;

	rpcrdma_lists_init(lists);
	lists->inv_handle = c->reads ? 0xa00 : 0;
	for (i = 0; i < c->reads; i++) {
		if (!c->special && !i)
			position = 8;
		rpcrdma_lists_add_read(lists, position);
		add_segments(lists, c->read_segs, 100);
		position += position ? c->read_segs * 100 + 4 : 8;
	}
	for (i = 0; i < c->writes; i++) {
		rpcrdma_lists_add_write(lists);
		add_segments(lists, c->write_segs, 1000);
	}
	if (c->reply_segs) {
		rpcrdma_lists_add_reply(lists);
		add_segments(lists, c->reply_segs, 1000);
	}
}

static void encode_case(struct kunit *test, struct fixture *f,
			const struct codec_case *c, u32 payload)
{
	build_lists(c, &f->client.lists);
	f->m.len = rpcrdma_encode_header(&f->client.conn, f->m.data,
					 sizeof(f->m.data), XID,
					 c->special ? RDMA2_NOMSG : RDMA2_MSG,
					 0, &f->client.lists);
	KUNIT_ASSERT_NE(test, f->m.len, 0);
	KUNIT_EXPECT_EQ(test, f->m.len,
			rpcrdma_header_octets(&f->client.conn,
					      &f->client.lists));
	rpcrdma_conn_stamp(&f->client.conn, RPCRDMA_KIND_CALL, f->m.data);
	if (!c->special)
		rpc(&f->m, XID, RPC_CALL, payload);
}

static void codec_round_trip(struct kunit *test)
{
	const struct codec_case *c = test->param_value;
	struct fixture *f = test->priv;
	const struct rpcrdma_lists *sent = &f->client.lists;
	const struct rpcrdma_lists *got = &f->server.rx.lists;
	u32 i;

	encode_case(test, f, c, 100);
	KUNIT_ASSERT_EQ(test, feed(test, &f->server, &f->m, true),
			RPCRDMA_RX_CALL);
	KUNIT_EXPECT_EQ(test, f->server.rx.xid, XID);
	KUNIT_EXPECT_EQ(test, f->server.rx.format,
			c->special ? RPCRDMA_SPECIAL : RPCRDMA_INLINE);
	KUNIT_EXPECT_EQ(test, got->inv_handle, sent->inv_handle);
	KUNIT_ASSERT_EQ(test, got->nr_segs, sent->nr_segs);
	KUNIT_ASSERT_EQ(test, got->nr_reads, sent->nr_reads);
	KUNIT_ASSERT_EQ(test, got->nr_writes, sent->nr_writes);
	KUNIT_EXPECT_EQ(test, got->has_reply, sent->has_reply);
	for (i = 0; i < got->nr_reads; i++) {
		KUNIT_EXPECT_EQ(test, got->reads[i].position,
				sent->reads[i].position);
		KUNIT_EXPECT_EQ(test, got->reads[i].length,
				sent->reads[i].length);
		KUNIT_EXPECT_EQ(test, got->reads[i].count,
				sent->reads[i].count);
	}
	for (i = 0; i < got->nr_writes; i++)
		KUNIT_EXPECT_EQ(test, got->writes[i].count,
				sent->writes[i].count);
	KUNIT_EXPECT_EQ(test, memcmp(got->segs, sent->segs,
				     got->nr_segs * sizeof(got->segs[0])), 0);
}

/* Truncated headers are rejected. KASAN detects any read beyond the end. */
static void codec_truncated(struct kunit *test)
{
	const struct codec_case *c = test->param_value;
	struct fixture *f = test->priv;
	u32 whole, len;

	encode_case(test, f, c, 8);
	whole = f->m.len;
	for (len = 1; len < whole; len++) {
		u32 code;

		f->m.len = len;
		KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
				RPCRDMA_RX_CONSUMED);
		code = error_code(f, &f->server);
		KUNIT_EXPECT_EQ(test, code,
				len < RPCRDMA_V2_PREFIX ? 0 :
							  RDMA2_ERR_BAD_XDR);
		/* The client never receives the ERRORs: renew the server's credits. */
		f->server.conn.limit = f->server.conn.sent + 10;
		f->server.conn.advertised = f->server.conn.posted - 1;
	}
}

static struct kunit_case codec_tests[] = {
	KUNIT_CASE_PARAM(codec_round_trip, codec_gen_params),
	KUNIT_CASE_PARAM(codec_truncated, codec_gen_params),
	{}
};

static struct kunit_suite codec_suite = {
	.name		= "rpcrdma_engine_codec",
	.init		= open_init,
	.test_cases	= codec_tests,
};

kunit_test_suite(codec_suite);
