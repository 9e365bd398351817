// SPDX-License-Identifier: GPL-2.0
/* The engine inside the kernel: plans of Calls and Replies */
#include "engine.h"

struct call_case {
	const char *name;
	u32 length, item, reply_max, result;
	u32 reassembly;			/* limit of both ends */
	int ret;
	u8 format, read_item, write_chunk, reply_chunk;
};

static const struct call_case call_cases[] = {
	{ "inline", 4056, 0, 4056, 0, 262144, 0, RPCRDMA_INLINE },
	{ "continued", 4057, 0, 4057, 0, 262144, 0, RPCRDMA_CONTINUED },
	{ "special", 4057, 0, 4057, 0, 0, 0, RPCRDMA_SPECIAL, 0, 0, 1 },
	{ "small item", 4056, 2000, 100, 0, 262144, 0, RPCRDMA_INLINE },
	{ "item", 66000, 65536, 100, 0, 262144, 0, RPCRDMA_INLINE, 1 },
	{ "item, continued", 80000, 65536, 100, 0, 262144, 0,
	  RPCRDMA_CONTINUED, 1 },
	{ "item, special", 80000, 65536, 100, 0, 0, 0, RPCRDMA_SPECIAL, 1 },
	{ "small result", 100, 0, 4056, 2000, 262144, 0, RPCRDMA_INLINE },
	{ "result", 100, 0, 66000, 65536, 262144, 0, RPCRDMA_INLINE, 0, 1 },
	{ "result and more", 100, 0, 80000, 65536, 0, 0, RPCRDMA_INLINE, 0,
	  1, 1 },
	{ "reassembly", 262144, 0, 262144, 0, 262144, 0, RPCRDMA_CONTINUED },
	{ "beyond reassembly", 262145, 0, 262145, 0, 262144, 0,
	  RPCRDMA_SPECIAL, 0, 0, 1 },
};

static void call_desc(const struct call_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(call, call_cases, call_desc);

static void planning_calls(struct kunit *test)
{
	const struct call_case *c = test->param_value;
	struct fixture *f = test->priv;
	struct rpcrdma_call call = {
		.xid = XID,
		.length = c->length,
		.item_position = c->item ? 100 : 0,
		.item_length = c->item,
		.reply_max = c->reply_max,
		.result_max = c->result,
		.call_segs = 2,
		.item_segs = 2,
		.reply_segs = 2,
		.result_segs = 2,
		.ddp = 1,
	};
	struct rpcrdma_call_plan plan;

	f->client.conn.cfg.props.reassembly = c->reassembly;
	f->client.conn.peer.reassembly = c->reassembly;
	KUNIT_ASSERT_EQ(test, rpcrdma_plan_call(&f->client.conn, &call, &plan),
			c->ret);
	if (c->ret)
		return;
	KUNIT_EXPECT_EQ(test, plan.format, c->format);
	KUNIT_EXPECT_EQ(test, plan.read_item, c->read_item);
	KUNIT_EXPECT_EQ(test, plan.write_chunk, c->write_chunk);
	KUNIT_EXPECT_EQ(test, plan.reply_chunk, c->reply_chunk);
	KUNIT_EXPECT_EQ(test, plan.inline_length,
			c->format == RPCRDMA_SPECIAL ? 0 :
			c->length - (c->read_item ? c->item : 0));
}

struct reply_case {
	const char *name;
	u32 length, item;
	u32 write, reply;		/* bytes of the chunk provided; 0: no chunk */
	u32 error, arg0;
	u8 format;
	u32 inline_length, reply_length;
};

static const struct reply_case reply_cases[] = {
	{ "inline", 4056, 0, 0, 0, 0, 0, RPCRDMA_INLINE, 4056, 0 },
	{ "continued", 4057, 0, 0, 0, 0, 0, RPCRDMA_CONTINUED, 4057, 0 },
	{ "unused Reply chunk", 100, 0, 0, 8000, 0, 0, RPCRDMA_INLINE, 100 },
	{ "Reply chunk", 8000, 0, 0, 8000, 0, 0, RPCRDMA_SPECIAL, 0, 8000 },
	{ "small Reply chunk", 8001, 0, 0, 8000, 0, 0, RPCRDMA_CONTINUED,
	  8001, 0 },
	{ "Write chunk", 8100, 8000, 8000, 0, 0, 0, RPCRDMA_INLINE, 100, 0 },
	{ "unused Write chunk", 100, 0, 8000, 0, 0, 0, RPCRDMA_INLINE, 100 },
	{ "small Write chunk", 8104, 8004, 8000, 0, 0, 0, RPCRDMA_CONTINUED,
	  8104, 0 },
	{ "no way", 262145, 0, 0, 8000, RDMA2_ERR_REPLY_RESOURCE, 262145 },
};

static void reply_desc(const struct reply_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(reply, reply_cases, reply_desc);

static void planning_replies(struct kunit *test)
{
	const struct reply_case *c = test->param_value;
	struct fixture *f = test->priv;
	struct end *e = &f->server;
	struct rpcrdma_placed placed;

	rpcrdma_lists_init(&e->lists);
	e->lists.inv_handle = 0xa00;
	if (c->write) {
		rpcrdma_lists_add_write(&e->lists);
		add_segments(&e->lists, 2, c->write / 2);
	}
	if (c->reply) {
		rpcrdma_lists_add_reply(&e->lists);
		add_segments(&e->lists, 2, c->reply / 2);
	}
	e->reply.xid = XID;
	e->reply.length = c->length;
	if (c->item) {
		e->reply.nr_items = 1;
		e->reply.items[0].position = 60;
		e->reply.items[0].length = c->item;
	}
	rpcrdma_plan_reply(&e->conn, &e->lists, &e->reply, &e->plan);
	KUNIT_ASSERT_EQ(test, e->plan.error, c->error);
	if (c->error) {
		KUNIT_EXPECT_EQ(test, e->plan.arg[0], c->arg0);
		return;
	}
	KUNIT_EXPECT_EQ(test, e->plan.format, c->format);
	KUNIT_EXPECT_EQ(test, e->plan.inline_length, c->inline_length);
	KUNIT_EXPECT_EQ(test, e->plan.reply_length, c->reply_length);
	KUNIT_EXPECT_EQ(test, e->plan.inv_handle, 0xa00);
	KUNIT_EXPECT_EQ(test, e->plan.lists.has_reply, !!c->reply_length);

	/* The Requester accepts the Reply and computes the same lengths. */
	memset(&f->client.rx, 0, sizeof(f->client.rx));
	f->client.rx.format = e->plan.format;
	f->client.rx.lists = e->plan.lists;
	KUNIT_ASSERT_EQ(test, rpcrdma_check_reply(&f->client.conn, &e->lists,
						  &f->client.rx, &placed), 0);
	KUNIT_EXPECT_EQ(test, placed.write_octets,
			c->item <= c->write ? c->item : 0);
	KUNIT_EXPECT_EQ(test, placed.reply_octets, c->reply_length);
}

/* Continued messages of every length are reassembled completely. */
static void planning_parts(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 length;

	for (length = 4057; length < 12300; length += 81) {
		u32 left = length, header;
		struct rpcrdma_fragment part;

		do {
			part = rpcrdma_next_fragment(&f->client.conn, NULL,
						     left, ~0u);
			KUNIT_ASSERT_LE(test, part.octets, left);
			header = rpcrdma_encode_header(
				&f->client.conn, f->buf, sizeof(f->buf), XID,
				RDMA2_MSG, part.more ? RDMA2_F_MORE : 0, NULL);
			KUNIT_ASSERT_LE(test, header + part.octets, sizeof(f->buf));
			rpcrdma_conn_stamp(&f->client.conn, RPCRDMA_KIND_CALL,
					   f->buf);
			put_unaligned_be32(XID, f->buf + header);
			put_unaligned_be32(RPC_CALL, f->buf + header + 4);
			KUNIT_ASSERT_EQ(
				test,
				rpcrdma_conn_receive(&f->server.conn, f->buf,
						     header + part.octets,
						     &f->server.rx),
				part.more ? RPCRDMA_RX_FRAGMENT :
					    RPCRDMA_RX_CALL);
			rpcrdma_recvs_posted(&f->server.conn, 1);
			deliver_control(test, f, &f->server, &f->client);
			left -= part.octets;
			KUNIT_ASSERT_EQ(test, f->server.rx.total_length,
					length - left);
		} while (part.more);
		KUNIT_ASSERT_EQ(test, left, 0);
		KUNIT_ASSERT_EQ(test, f->server.rx.format, RPCRDMA_CONTINUED);
	}
}

static struct kunit_case planning_tests[] = {
	KUNIT_CASE_PARAM(planning_calls, call_gen_params),
	KUNIT_CASE_PARAM(planning_replies, reply_gen_params),
	KUNIT_CASE(planning_parts),
	{}
};

static struct kunit_suite planning_suite = {
	.name		= "rpcrdma_engine_planning",
	.init		= open_init,
	.test_cases	= planning_tests,
};

kunit_test_suite(planning_suite);
