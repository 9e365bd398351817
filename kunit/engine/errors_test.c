// SPDX-License-Identifier: GPL-2.0
/* The engine inside the kernel: errors sent and received */
#include <linux/slab.h>

#include "engine.h"

struct refused_case {
	const char *name;
	u32 htype, flags;
	void (*body)(struct msg *m);
	u32 error;
};

static void body_none(struct msg *m)
{
}

static void body_call(struct msg *m)
{
	no_lists(m);
	rpc(m, XID, RPC_CALL, 40);
}

static void body_wrong_xid(struct msg *m)
{
	no_lists(m);
	rpc(m, XID + 1, RPC_CALL, 40);
}

static void body_wrong_direction(struct msg *m)
{
	no_lists(m);
	rpc(m, XID, RPC_REPLY, 40);
}

static void body_reads(struct msg *m, u32 n, u32 position, u32 step)
{
	word(m, 0);
	while (n--) {
		word(m, 1);
		word(m, position);
		segment(m, 1, 4);
		position += step;
	}
	word(m, 0);
	word(m, 0);
	word(m, 0);
	rpc(m, XID, RPC_CALL, 200);
}

static void body_unaligned(struct msg *m)
{
	body_reads(m, 1, 9, 4);
}

static void body_past_end(struct msg *m)
{
	body_reads(m, 1, 204, 4);
}

static void body_position_zero(struct msg *m)
{
	body_reads(m, 1, 0, 4);
}

static void body_many_reads(struct msg *m)
{
	body_reads(m, RPCRDMA_MAX_READ_CHUNKS + 1, 8, 4);
}

static void body_many_segs(struct msg *m)
{
	body_reads(m, RPCRDMA_MAX_SEGS + 1, 8, 0);
}

static void body_many_writes(struct msg *m)
{
	u32 i;

	word(m, 0);
	word(m, 0);
	for (i = 0; i <= RPCRDMA_MAX_WRITE_CHUNKS; i++) {
		word(m, 1);
		word(m, 0);
	}
	word(m, 0);
	word(m, 0);
	rpc(m, XID, RPC_CALL, 40);
}

static void body_lying_count(struct msg *m)
{
	word(m, 0);
	word(m, 0);
	word(m, 1);
	word(m, 0x10000001);
	segment(m, 1, 4);
	rpc(m, XID, RPC_CALL, 40);
}

static void body_lists_only(struct msg *m)
{
	no_lists(m);
}

static void body_short_part(struct msg *m)
{
	no_lists(m);
	m->len += 2;
}

static const struct refused_case refused_cases[] = {
	{ "fine", RDMA2_MSG, 0, body_call, 0 },
	{ "no lists", RDMA2_MSG, 0, body_none, RDMA2_ERR_BAD_XDR },
	{ "no payload", RDMA2_MSG, 0, body_lists_only, RDMA2_ERR_BAD_XDR },
	{ "wrong xid", RDMA2_MSG, 0, body_wrong_xid, RDMA2_ERR_BAD_XDR },
	{ "wrong direction", RDMA2_MSG, 0, body_wrong_direction,
	  RDMA2_ERR_BAD_XDR },
	{ "unaligned position", RDMA2_MSG, 0, body_unaligned,
	  RDMA2_ERR_BAD_XDR },
	{ "position past the end", RDMA2_MSG, 0, body_past_end,
	  RDMA2_ERR_BAD_XDR },
	{ "position zero", RDMA2_MSG, 0, body_position_zero,
	  RDMA2_ERR_BAD_XDR },
	{ "lying count", RDMA2_MSG, 0, body_lying_count, RDMA2_ERR_BAD_XDR },
	{ "Read chunks", RDMA2_MSG, 0, body_many_reads,
	  RDMA2_ERR_READ_CHUNKS },
	{ "Write chunks", RDMA2_MSG, 0, body_many_writes,
	  RDMA2_ERR_WRITE_CHUNKS },
	{ "segments", RDMA2_MSG, 0, body_many_segs, RDMA2_ERR_SEGMENTS },
	{ "chunks in a part", RDMA2_MSG, RDMA2_F_MORE, body_many_writes,
	  RDMA2_ERR_WRITE_CHUNKS },
	{ "empty part", RDMA2_MSG, RDMA2_F_MORE, body_lists_only,
	  RDMA2_ERR_INVAL_CONT },
	{ "short part", RDMA2_MSG, RDMA2_F_MORE, body_short_part,
	  RDMA2_ERR_INVAL_CONT },
	{ "TPMORE", RDMA2_MSG, RDMA2_F_TPMORE, body_call,
	  RDMA2_ERR_INVAL_HTYPE },
	{ "NOMSG without chunks", RDMA2_NOMSG, 0, body_lists_only,
	  RDMA2_ERR_BAD_XDR },
	{ "NOMSG with MORE", RDMA2_NOMSG, RDMA2_F_MORE, body_lists_only,
	  RDMA2_ERR_INVAL_CONT },
	{ "unknown type", 2, 0, body_none, RDMA2_ERR_INVAL_HTYPE },
	{ "late CONNPROP", RDMA2_CONNPROP, 0, body_none,
	  RDMA2_ERR_INVAL_HTYPE },
};

static void refused_desc(const struct refused_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(refused, refused_cases, refused_desc);

static void errors_sent(struct kunit *test)
{
	const struct refused_case *c = test->param_value;
	struct fixture *f = test->priv;

	prefix(&f->m, XID, c->htype, c->flags, 16, 1);
	c->body(&f->m);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			c->error ? RPCRDMA_RX_CONSUMED : RPCRDMA_RX_CALL);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->server), c->error);
	if (c->error)
		KUNIT_EXPECT_EQ(test, get(&f->answer, 0), XID);
}

/* The same faults in a Reply are reported to the transport, and not to the peer. */
static void errors_in_replies(struct kunit *test)
{
	const struct refused_case *c = test->param_value;
	struct fixture *f = test->priv;
	enum rpcrdma_verdict verdict;

	prefix(&f->m, XID, c->htype, c->flags | RDMA2_F_RESPONSE, 16, 1);
	c->body(&f->m);
	verdict = feed(test, &f->client, &f->m, false);
	if (c->htype == RDMA2_MSG || c->htype == RDMA2_NOMSG)
		KUNIT_EXPECT_EQ(test, verdict,
				c->body == body_wrong_direction ?
					RPCRDMA_RX_REPLY :
					RPCRDMA_RX_BAD_REPLY);
	else
		KUNIT_EXPECT_EQ(test, verdict, RPCRDMA_RX_CONSUMED);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->client), 0);
}

struct status_case {
	u32 code, arg;
	int status, again;
};

/* The meaning of each ERROR for a Call with a Read chunk and a Write chunk */
static const struct status_case status_cases[] = {
	{ RDMA2_ERR_BAD_XDR, 0, -EIO, -EIO },
	{ RDMA2_ERR_INVAL_HTYPE, 0, -EIO, -EIO },
	{ RDMA2_ERR_INVAL_CONT, 0, -EIO, -EIO },
	{ RDMA2_ERR_READ_CHUNKS, 0, -EIO, 0 },
	{ RDMA2_ERR_READ_CHUNKS, 1, -EIO, -EIO },
	{ RDMA2_ERR_WRITE_CHUNKS, 0, -EIO, 0 },
	{ RDMA2_ERR_WRITE_CHUNKS, 1, -EIO, -EIO },
	{ RDMA2_ERR_SEGMENTS, 1, -EIO, 0 },
	{ RDMA2_ERR_SEGMENTS, 64, -EIO, -EIO },
	{ RDMA2_ERR_WRITE_RESOURCE, 1, -EREMOTEIO, -EREMOTEIO },
	{ RDMA2_ERR_REPLY_RESOURCE, 9000, -EREMOTEIO, 0 },
	{ RDMA2_ERR_REPLY_RESOURCE, 0, -EREMOTEIO, -EREMOTEIO },
	{ RDMA2_ERR_SYSTEM, 0, -EREMOTEIO, -EREMOTEIO },
};

static void status_desc(const struct status_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %u",
		 rpcrdma_error_name(c->code), c->arg);
}
KUNIT_ARRAY_PARAM(status, status_cases, status_desc);

static void errors_received(struct kunit *test)
{
	const struct status_case *c = test->param_value;
	struct fixture *f = test->priv;
	struct rpcrdma_lists *lists;
	struct rpcrdma_call call = {
		.xid		= XID,
		.length		= 10000,
		.item_position	= 100,
		.item_length	= 9000,
		.reply_max	= 20000,
		.result_max	= 8000,
		.call_segs	= 1,
		.item_segs	= 1,
		.reply_segs	= 1,
		.result_segs	= 1,
		.ddp		= 1,
	};

	lists = kunit_kzalloc(test, sizeof(*lists), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists);
	rpcrdma_lists_init(lists);
	rpcrdma_lists_add_read(lists, 100);
	rpcrdma_lists_add_segment(lists, 1, 9000, 0);
	rpcrdma_lists_add_write(lists);
	rpcrdma_lists_add_segment(lists, 2, 8000, 0);

	rpcrdma_conn_queue_error(&f->server.conn, XID, c->code, c->arg, 5);
	KUNIT_ASSERT_NE(test, control(&f->server, &f->m), 0);
	KUNIT_ASSERT_EQ(test, feed(test, &f->client, &f->m, false),
			RPCRDMA_RX_ERROR);
	KUNIT_EXPECT_EQ(test, f->client.rx.xid, XID);
	KUNIT_EXPECT_EQ(test, f->client.rx.error.code, c->code);
	KUNIT_EXPECT_EQ(test, f->client.rx.error.status, c->status);

	KUNIT_EXPECT_EQ(test,
			rpcrdma_call_refused(&f->client.conn, &f->client.rx,
					     &call, lists, &call.retry_limits),
			c->again);
	/* A second ERROR with the same code is final. */
	KUNIT_EXPECT_EQ(test,
			rpcrdma_call_refused(&f->client.conn, &f->client.rx,
					     &call, lists, &call.retry_limits),
			c->status);
}

static void errors_broken_sequence(struct kunit *test)
{
	struct fixture *f = test->priv;

	prefix(&f->m, XID, RDMA2_MSG, RDMA2_F_MORE, 16, 1);
	body_call(&f->m);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			RPCRDMA_RX_FRAGMENT);
	prefix(&f->m, XID + 1, RDMA2_MSG, 0, 16, 1);
	body_wrong_xid(&f->m);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			RPCRDMA_RX_CONSUMED);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->server),
			RDMA2_ERR_INVAL_CONT);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 0), XID);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->server),
			RDMA2_ERR_INVAL_CONT);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 0), XID + 1);
	/* A further fragment of the broken sequence is discarded. */
	prefix(&f->m, XID, RDMA2_MSG, RDMA2_F_MORE, 16, 1);
	body_call(&f->m);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			RPCRDMA_RX_CONSUMED);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->server), 0);
	/*
	 * The RPC header shows that a new Call begins, so the last fragment was
	 * omitted.
	 */
	prefix(&f->m, XID, RDMA2_MSG, 0, 16, 1);
	body_call(&f->m);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			RPCRDMA_RX_CALL);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->server), 0);
}

static struct kunit_case errors_tests[] = {
	KUNIT_CASE_PARAM(errors_sent, refused_gen_params),
	KUNIT_CASE_PARAM(errors_in_replies, refused_gen_params),
	KUNIT_CASE_PARAM(errors_received, status_gen_params),
	KUNIT_CASE(errors_broken_sequence),
	{}
};

static struct kunit_suite errors_suite = {
	.name		= "rpcrdma_engine_errors",
	.init		= open_init,
	.test_cases	= errors_tests,
};

kunit_test_suite(errors_suite);
