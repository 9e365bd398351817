// SPDX-License-Identifier: GPL-2.0
/*
 * Suites of the endpoint: credits and Receives, data, teardown, pulled Replies, device
 * removal.
 */

#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "shim.h"

/* shim_mem_test.c includes this file to run the suites over another device. */
#ifndef SHIM_OVER
#define SHIM_OVER		""
#define SHIM_SUITE_INIT		shim_suite_init
#define SHIM_FIRST_DEVICE
#endif
/*
 * Cases that test only decisions of the engine, about credits and time limits, run over
 * the first device only, because their results do not depend on the device.
 */
#define SHIM_ONCE		__maybe_unused

/* ---- Caller threads ---- */

struct shim_caller {
	struct shim_side	*side;
	struct task_struct	*task;
	struct completion	done;
	unsigned int		count;		/* number of RPCs */
	u32			max_len;	/* maximum bytes in chunks; 0: none */
	u32			max_inline;	/* maximum bytes in messages */
	u32			chop;
	bool			may_fail;	/* the test closes the connection */
	unsigned int		ok, failed;
};

/*
 * Run one RPC, with @arg_len and @res_len bytes in chunks, and @inline_arg and
 * @inline_res bytes inline. Return 0 or a negative errno.
 */
static int shim_an_rpc(struct shim_side *side, u32 arg_len, u32 res_len,
		       u32 base, u32 chop, u32 inline_arg, u32 inline_res)
{
	struct shim_buf arg = {}, res = {};
	struct shim_rpc *rpc;
	int rc = -ENOMEM;

	rpc = kzalloc(sizeof(*rpc), GFP_KERNEL);
	if (!rpc)
		return rc;
	if (arg_len && shim_buf_alloc_chopped(&arg, base, arg_len, chop))
		goto out_free;
	if (res_len && shim_buf_alloc_chopped(&res, base, res_len, chop))
		goto out_free;
	shim_rpc_init(rpc, arg_len ? &arg : NULL, res_len ? &res : NULL);
	rpc->seed = get_random_u32();
	rpc->inline_arg = inline_arg;
	rpc->inline_res = inline_res;
	if (arg_len)
		shim_buf_fill(&arg, rpc->seed);
	rc = shim_rpc_do(side, rpc);
	/* shim_rpc_do() does not end the RPC if it fails, for example without a Reply. */
	if (rc)
		shim_rpc_end(side, rpc);
out_free:
	shim_buf_free(&res);
	shim_buf_free(&arg);
	kfree(rpc);
	return rc;
}

static int shim_one_rpc(struct shim_side *side, u32 arg_len, u32 res_len,
			u32 base, u32 chop)
{
	return shim_an_rpc(side, arg_len, res_len, base, chop, 0, 0);
}

static int shim_caller_fn(void *data)
{
	struct shim_caller *c = data;
	u32 arg, res, base, inline_arg, inline_res;
	unsigned int i;
	int rc;

	for (i = 0; i < c->count; i++) {
		arg = res = base = inline_arg = inline_res = 0;
		if (c->max_len) {
			if (i & 1)
				arg = 1 + get_random_u32() % c->max_len;
			if (i & 2)
				res = 1 + get_random_u32() % c->max_len;
			base = get_random_u32() %
			       (c->chop == PAGE_SIZE ? PAGE_SIZE :
						       PAGE_SIZE - c->chop);
		}
		if (c->max_inline) {
			if (i % 3)
				inline_arg = get_random_u32() % c->max_inline;
			if (i % 3 == 2)
				inline_res = get_random_u32() % c->max_inline;
		}
		rc = shim_an_rpc(c->side, arg, res, base, c->chop, inline_arg,
				 inline_res);
		if (!rc) {
			c->ok++;
			continue;
		}
		c->failed++;
		if (rc == -ENOTCONN)
			break;
	}
	kthread_complete_and_exit(&c->done, 0);
}

static void shim_caller_start(struct kunit *test, struct shim_caller *c,
			      struct shim_side *side, unsigned int count,
			      u32 max_len)
{
	c->side = side;
	c->count = count;
	c->max_len = max_len;
	if (!c->chop)
		c->chop = PAGE_SIZE;
	init_completion(&c->done);
	c->task = kthread_run(shim_caller_fn, c, "shim_caller");
	KUNIT_ASSERT_FALSE(test, IS_ERR(c->task));
}

static void shim_caller_wait(struct kunit *test, struct shim_caller *c)
{
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&c->done,
							    170 * HZ));
	if (c->may_fail)
		return;
	KUNIT_EXPECT_EQ(test, c->failed, 0U);
	KUNIT_EXPECT_EQ(test, c->ok, c->count);
}

#define shim_wait_until(side, cond) \
	wait_event_timeout((side)->wait, cond, 30 * HZ)

static struct shim_pair *shim_open(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	bool opened;

	KUNIT_ASSERT_EQ(test, shim_connect(pair), 0);
	/* With version 1, a server is open only after the first Call. */
	if (pair->client.ep->core.conn.version == RPCRDMA_VERS_1)
		return pair;
	opened = shim_wait_until(&pair->server,
				 atomic_read(&pair->server.opened));
	KUNIT_ASSERT_TRUE(test, opened);
	return pair;
}

/* ---- Credits and Receives ---- */

static void SHIM_ONCE credits_one_at_a_time(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct rpcrdma_ep *c = pair->client.ep, *s = pair->server.ep;
	int i;

	/* 4.2.1: the transport is reliable and in order. */
	KUNIT_EXPECT_EQ(test, c->qp->qp_type, IB_QPT_RC);
	KUNIT_EXPECT_EQ(test, s->qp->qp_type, IB_QPT_RC);
	shim_check_idle(test, &pair->client);
	shim_check_idle(test, &pair->server);
	for (i = 0; i < 200; i++)
		KUNIT_ASSERT_EQ(test, shim_one_rpc(&pair->client, 0, 0, 0,
						   PAGE_SIZE), 0);
	shim_check_idle(test, &pair->client);
	shim_check_idle(test, &pair->server);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair->server.calls), 200);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair->client.replies), 200);
	KUNIT_EXPECT_EQ(test, c->core.conn.sent, s->core.conn.received);
	KUNIT_EXPECT_EQ(test, s->core.conn.sent, c->core.conn.received);
	/* Headers convey the credits, so that few credit grants are needed. */
	KUNIT_EXPECT_LE(test, c->core.conn.counters.grants_sent, 2ULL);
	KUNIT_EXPECT_LE(test, s->core.conn.counters.grants_sent, 2ULL);
}

#define SHIM_MANY 48

static struct shim_rpc *shim_rpcs(struct kunit *test, unsigned int n)
{
	struct shim_rpc *rpcs = kunit_kcalloc(test, n, sizeof(*rpcs),
					      GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rpcs);
	for (i = 0; i < n; i++)
		shim_rpc_init(&rpcs[i], NULL, NULL);
	return rpcs;
}

/* Send up to @n of @rpcs, until one fails or has to wait. Return how many were sent. */
static u32 shim_fill_window(struct shim_side *side, struct shim_rpc *rpcs,
			    u32 n)
{
	u32 sent = 0;

	while (sent < n && !shim_rpc_try(side, &rpcs[sent]))
		sent++;
	return sent;
}

static void SHIM_ONCE credits_held_calls(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct shim_rpc *rpcs = shim_rpcs(test, SHIM_MANY);
	u32 window = pair->server_params.window;
	struct shim_side *c = &pair->client, *s = &pair->server;
	int sent, seen, i;

	s->hold_calls = true;
	sent = shim_fill_window(c, rpcs, SHIM_MANY);
	/* Calls don't use the last two credits. */
	KUNIT_EXPECT_GE(test, sent, (int)window - 3);
	KUNIT_EXPECT_LE(test, sent, (int)window - 2);
	KUNIT_ASSERT_TRUE(test, shim_wait_until(s, READ_ONCE(s->nr_held) ==
						(u32)sent));
	KUNIT_EXPECT_EQ(test, shim_rpc_try(c, &rpcs[sent]), -EAGAIN);
	shim_check_idle(test, s);

	/* Each released Receive permits another Call, by an unsolicited credit grant. */
	for (i = 0; i < 8; i++) {
		seen = atomic_read(&c->space);
		if (shim_rpc_try(c, &rpcs[sent]) == -EAGAIN) {
			shim_release(s, 1);
			KUNIT_ASSERT_TRUE(test, shim_wait_until(c,
					  atomic_read(&c->space) != seen));
			KUNIT_ASSERT_EQ(test, shim_rpc_try(c, &rpcs[sent]), 0);
		}
		sent++;
	}
	s->hold_calls = false;
	for (i = 0; i < sent; i++) {
		shim_release(s, UINT_MAX);
		KUNIT_EXPECT_EQ(test, shim_rpc_wait(c, &rpcs[i]), 0);
		shim_rpc_end(c, &rpcs[i]);
	}
	shim_check_idle(test, c);
	shim_check_idle(test, s);
}

static bool shim_replies_wait(struct rpcrdma_ep *ep)
{
	bool wait;

	spin_lock(&ep->lock);
	wait = !list_empty(&ep->core.messages);
	spin_unlock(&ep->lock);
	return wait;
}

static void SHIM_ONCE credits_held_replies(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct shim_rpc *rpcs = shim_rpcs(test, SHIM_MANY);
	struct shim_side *c = &pair->client, *s = &pair->server;
	int i;

	c->hold_replies = true;
	for (i = 0; i < SHIM_MANY; i++)
		KUNIT_ASSERT_EQ(test, shim_rpc_send(c, &rpcs[i]), 0);
	KUNIT_EXPECT_TRUE(test, shim_poll(shim_replies_wait(s->ep)));
	KUNIT_EXPECT_LE(test, READ_ONCE(c->nr_held),
			pair->client_params.window);
	for (i = 0; i < SHIM_MANY; i++) {
		KUNIT_ASSERT_TRUE(test, shim_wait_until(c,
				  READ_ONCE(c->nr_held)));
		shim_release(c, 1);
	}
	for (i = 0; i < SHIM_MANY; i++) {
		KUNIT_EXPECT_EQ(test, shim_rpc_wait(c, &rpcs[i]), 0);
		shim_rpc_end(c, &rpcs[i]);
	}
	shim_check_idle(test, c);
	shim_check_idle(test, s);
}

static void shim_traffic(struct kunit *test, struct shim_pair *pair,
			 unsigned int callers, unsigned int count, u32 max_len,
			 u32 chop, u32 max_inline, bool reverse)
{
	struct shim_caller *c;
	unsigned int i;

	c = kunit_kcalloc(test, callers, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	for (i = 0; i < callers; i++) {
		c[i].chop = chop;
		c[i].max_inline = max_inline;
		shim_caller_start(test, &c[i], reverse && i & 1 ?
				  &pair->server : &pair->client, count,
				  max_len);
	}
	for (i = 0; i < callers; i++)
		shim_caller_wait(test, &c[i]);
	shim_check_idle(test, &pair->client);
	shim_check_idle(test, &pair->server);
}

static void SHIM_ONCE credits_both_directions(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);

	shim_traffic(test, pair, 6, 60, 5000, PAGE_SIZE, 0, true);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair->client.calls), 180);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair->server.calls), 180);
}

/* The smallest window at both ends */
static void SHIM_ONCE credits_smallest_window(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.window = RPCRDMA_MIN_WINDOW;
	shim_open(test);
	shim_traffic(test, pair, 6, 40, 0, PAGE_SIZE, 0, true);
}

static void SHIM_ONCE credits_lopsided_windows(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.window = 64;
	shim_open(test);
	shim_traffic(test, pair, 8, 40, 0, PAGE_SIZE, 0, true);
}

/* Continued messages in both directions, among others */
static void SHIM_ONCE credits_continued(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct rpcrdma_conn_counters *c = &pair->client.ep->core.conn.counters;

	shim_traffic(test, pair, 6, 40, 5000, PAGE_SIZE, 20000, true);
	KUNIT_EXPECT_GT(test, c->calls[RPCRDMA_CONTINUED], 0ULL);
	KUNIT_EXPECT_GT(test, c->replies[RPCRDMA_CONTINUED], 0ULL);
}

static void SHIM_ONCE credits_continued_smallest_window(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.window = RPCRDMA_MIN_WINDOW;
	shim_open(test);
	shim_traffic(test, pair, 6, 20, 0, PAGE_SIZE, 20000, true);
}

/* The server answers ERR_VERS; the client falls back to version 1. */
static void SHIM_ONCE credits_version_1(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	int i;

	pair->server_params.version_low = RPCRDMA_VERS_1;
	pair->server_params.version_high = RPCRDMA_VERS_1;
	pair->client_params.version_low = RPCRDMA_VERS_1;
	shim_open(test);
	KUNIT_EXPECT_EQ(test, pair->client.ep->core.conn.version, RPCRDMA_VERS_1);
	for (i = 0; i < 50; i++)
		KUNIT_ASSERT_EQ(test, shim_one_rpc(&pair->client, 0, 0, 0,
						   PAGE_SIZE), 0);
	shim_traffic(test, pair, 6, 40, 0, PAGE_SIZE, 0, true);
	shim_traffic(test, pair, 6, 40, 5000, PAGE_SIZE, 0, false);
}

/*
 * A client limited to version 1 is open as soon as it is connected. It must not allocate
 * Receives in the CM handler that reports the connection.
 */
static void SHIM_ONCE credits_version_1_alone(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->server_params.version_low = RPCRDMA_VERS_1;
	pair->client_params.version_low = RPCRDMA_VERS_1;
	pair->client_params.version_high = RPCRDMA_VERS_1;
	/* Further Receives are due when the connection opens. */
	pair->client_params.first_window = RPCRDMA_MIN_WINDOW;
	shim_open(test);
	KUNIT_EXPECT_EQ(test, pair->client.ep->core.conn.version, RPCRDMA_VERS_1);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_misuse), 0);
	shim_traffic(test, pair, 6, 40, 5000, PAGE_SIZE, 0, false);
}

/* Callers wait for MRs: each may need half of all MRs. */
static void credits_few_regions(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->client_params.max_mrs = 8;
	shim_open(test);
	shim_traffic(test, pair, 5, 40, 4000, 1000, 0, false);
	KUNIT_EXPECT_LE(test, pair->client.ep->regions.made, 8U);
}

/* Callers wait for Send Queue slots: a Call may use half of the Send Queue. */
static void credits_short_send_queue(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->client_params.sends = 4;
	pair->client_params.reads = 0;
	shim_open(test);
	kunit_info(test, "Send Queue of %u", pair->client.ep->core.sq.depth);
	shim_traffic(test, pair, 5, 40, 8000, 1000, 0, false);
}

/* The device supports shorter Send Queues than requested, at either end. */
static void credits_shrunk_send_queue(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	int client;

	for (client = 0; client < 2; client++) {
		shim_max_send_wr[client] = 80;
		shim_open(test);
		KUNIT_EXPECT_LT(test, client ? pair->client.ep->read_pool.regions :
				pair->server.ep->read_pool.regions,
				client ? pair->client_params.reads :
				pair->server_params.reads);
		shim_traffic(test, pair, 4, 30, 100000, PAGE_SIZE, 0, true);
		shim_disconnect(test, pair);
		/* Below a minimum, connecting fails. */
		shim_max_send_wr[client] = 8;
		KUNIT_EXPECT_NE(test, shim_connect(pair), 0);
		shim_disconnect(test, pair);
	}
}

static struct kunit_case credits_cases[] = {
	KUNIT_CASE(credits_few_regions),
	KUNIT_CASE(credits_short_send_queue),
	KUNIT_CASE(credits_shrunk_send_queue),
#ifdef SHIM_FIRST_DEVICE
	KUNIT_CASE(credits_one_at_a_time),
	KUNIT_CASE(credits_held_calls),
	KUNIT_CASE(credits_held_replies),
	KUNIT_CASE(credits_both_directions),
	KUNIT_CASE(credits_smallest_window),
	KUNIT_CASE(credits_lopsided_windows),
	KUNIT_CASE(credits_continued),
	KUNIT_CASE(credits_continued_smallest_window),
	KUNIT_CASE(credits_version_1),
	KUNIT_CASE(credits_version_1_alone),
#endif
	{}
};

static struct kunit_suite credits_suite = {
	.name		= "rpcrdma_ep_credits" SHIM_OVER,
	.suite_init	= SHIM_SUITE_INIT,
	.suite_exit	= shim_suite_exit,
	.init		= shim_test_init,
	.exit		= shim_test_exit,
	.test_cases	= credits_cases,
};

/* ---- Data ---- */

static const u32 data_lengths[] = {
	1, 3, 4, 4095, 4096, 4097, 8192, 65537, 262144, 1 << 20,
};
static const u32 data_bases[] = { 0, 1, 2048, 4095 };

static void data_all_lengths(struct kunit *test, bool arg, bool res)
{
	struct shim_pair *pair = shim_open(test);
	int i, j;

	for (i = 0; i < ARRAY_SIZE(data_lengths); i++) {
		for (j = 0; j < ARRAY_SIZE(data_bases); j++) {
			u32 len = data_lengths[i];

			KUNIT_ASSERT_EQ_MSG(test,
				shim_one_rpc(&pair->client, arg ? len : 0,
					     res ? len : 0, data_bases[j],
					     PAGE_SIZE),
				0, "%u octets at %u", len, data_bases[j]);
		}
	}
	shim_check_idle(test, &pair->client);
	shim_check_idle(test, &pair->server);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
}

static void data_read(struct kunit *test)
{
	data_all_lengths(test, true, false);
}

static void data_write(struct kunit *test)
{
	data_all_lengths(test, false, true);
}

/*
 * Calls and Replies inline and continued, up to the peer's reassembly limit, without
 * and with chunks
 */
static void data_continued(struct kunit *test)
{
	static const u32 lengths[] = {
		4000, 4020, 4024, 4028, 4032, 4036, 4040, 4100, 8000, 8064,
		8068, 8072, 8080, 100001, 262144 - 16,
	};
	struct shim_pair *pair = shim_open(test);
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		n = lengths[i];
		KUNIT_EXPECT_EQ_MSG(test, 0, shim_an_rpc(&pair->client, 0, 0,
				    0, PAGE_SIZE, n, 0), "%u octets", n);
		KUNIT_EXPECT_EQ_MSG(test, 0, shim_an_rpc(&pair->client, 0, 0,
				    0, PAGE_SIZE, 0, n), "%u octets", n);
		/* The header of the last fragment has many segments. */
		KUNIT_EXPECT_EQ_MSG(test, 0, shim_an_rpc(&pair->client, 3000,
				    2000, 5, 100, n, 0), "%u octets", n);
		KUNIT_EXPECT_EQ_MSG(test, 0, shim_an_rpc(&pair->server, 5000,
				    5000, 5, PAGE_SIZE, n, 0), "%u octets", n);
	}
	/* A Reply above the client's reassembly limit is refused. */
	KUNIT_EXPECT_EQ(test, -EREMOTEIO, shim_an_rpc(&pair->client, 0, 0, 0,
			PAGE_SIZE, 0, 262144));
	shim_check_idle(test, &pair->client);
	shim_check_idle(test, &pair->server);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
}

static void data_version_1(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->client_params.version_low = RPCRDMA_VERS_1;
	pair->client_params.version_high = RPCRDMA_VERS_1;
	pair->server_params.version_low = RPCRDMA_VERS_1;
	data_all_lengths(test, true, true);
	KUNIT_EXPECT_EQ(test, pair->server.ep->core.conn.version, RPCRDMA_VERS_1);
}

/* Many segments in a chunk, none adjacent to the next */
static void data_segments(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	u32 n;

	for (n = 1; n <= 16; n += 5) {
		KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, n * 100, 0,
						   3, 100), 0);
		KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 0, n * 100,
						   3, 100), 0);
		KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, n * 100,
						   n * 100, 0, 100), 0);
	}
	shim_check_idle(test, &pair->client);
}

/*
 * If the peer accepts only small segments, longer memory is split, into no more
 * segments than rpcrdma_region_count() returned.
 */
static void data_small_segments(struct kunit *test)
{
	static const u32 most[] = { 100, 1000, 4095, 4096, 5000 };
	struct shim_pair *pair = shim_open(test);
	struct rpcrdma_ep *ep = pair->client.ep;
	struct rpcrdma_lists *lists;
	struct rpcrdma_cut cut;
	struct shim_buf buf;
	u32 i, j, octets;
	LIST_HEAD(mrs);
	int rc;

	lists = kunit_kzalloc(test, sizeof(*lists), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists);
	KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 1234, 5800), 0);
	for (i = 0; i < ARRAY_SIZE(most); i++) {
		ep->core.conn.peer.rssiz = most[i];
		cut = rpcrdma_mrs_cut(ep);
		do {
			rpcrdma_mrs_put(ep, &mrs);
			rpcrdma_lists_init(lists);
			rpcrdma_lists_add_write(lists);
			rc = rpcrdma_mrs_map(ep, &mrs, buf.ext, buf.nr_ext, true,
					     lists);
			schedule_timeout_uninterruptible(1);
		} while (rc == -EAGAIN);
		KUNIT_EXPECT_EQ(test, rc, 0);
		KUNIT_EXPECT_LE(test, (u32)lists->nr_segs,
				rpcrdma_region_count(&cut, buf.ext[0].offset,
						     buf.len));
		for (j = 0, octets = 0; j < lists->nr_segs; j++) {
			KUNIT_EXPECT_LE(test, lists->segs[j].length, most[i]);
			octets += lists->segs[j].length;
		}
		KUNIT_EXPECT_EQ(test, octets, buf.len);
		rpcrdma_mrs_put(ep, &mrs);
	}
	shim_buf_free(&buf);
}

static void data_invalidation(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct rpcrdma_ep *ep = pair->client.ep;
	struct shim_rpc *rpc = shim_rpcs(test, 1);
	struct shim_buf buf;
	s64 local, remote;
	int i;

	KUNIT_ASSERT_EQ(test, shim_buf_alloc_chopped(&buf, 0, 300, 100), 0);
	for (i = 0; i < 8; i++) {
		bool no_inv = i & 1;

		/* One MR, or three of which the peer invalidates one */
		buf.nr_ext = i & 2 ? 3 : 1;
		buf.len = buf.nr_ext * 100;
		pair->server.no_inv = no_inv;
		local = atomic64_read(&ep->local_inv);
		remote = atomic64_read(&ep->remote_inv);
		shim_rpc_init(rpc, i & 4 ? &buf : NULL, i & 4 ? NULL : &buf);
		rpc->seed = i;
		shim_buf_fill(&buf, i);
		KUNIT_ASSERT_EQ(test, shim_rpc_do(&pair->client, rpc), 0);
		KUNIT_EXPECT_EQ(test, rpc->exposed, no_inv || buf.nr_ext > 1);
		KUNIT_EXPECT_EQ(test, atomic64_read(&ep->local_inv) - local,
				(s64)buf.nr_ext - !no_inv);
		KUNIT_EXPECT_EQ(test, atomic64_read(&ep->remote_inv) - remote,
				(s64)!no_inv);
		KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	}
	shim_buf_free(&buf);
	shim_check_idle(test, &pair->client);
}

/* A server works with a device that cannot register memory; a client does not. */
static void data_no_registration(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct rpcrdma_ep *c, *s;
	struct ib_device *dev;

	pair->no_frwr = true;
	shim_open(test);
	c = pair->client.ep;
	s = pair->server.ep;
	dev = s->device;
	shim_traffic(test, pair, 4, 30, 50000, PAGE_SIZE, 20000, false);
	KUNIT_EXPECT_EQ(test, atomic64_read(&c->remote_inv), 0LL);
	KUNIT_EXPECT_GT(test, atomic64_read(&c->local_inv), 0LL);
	KUNIT_EXPECT_EQ(test, s->regions.made, 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_limits(&s->core.conn).max_segs, 0U);
	/* A client cannot connect. */
	shim_disconnect(test, pair);
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EOPNOTSUPP);
	dev->attrs.device_cap_flags |= IB_DEVICE_MEM_MGT_EXTENSIONS;
}

struct shim_intrusion {
	struct completion	done;
	bool			ok;
};

static void shim_intruded(struct rpcrdma_rw *rw, bool ok)
{
	struct shim_intrusion *i = rw->priv;

	i->ok = ok;
	complete(&i->done);
}

/* Access @chunk as @side. The access must fail and end the connection. */
static void shim_intrude(struct kunit *test, struct shim_side *side,
			 const struct rpcrdma_lists *lists,
			 const struct rpcrdma_chunk *chunk,
			 enum dma_data_direction dir)
{
	struct shim_intrusion intr = {
		.done = COMPLETION_INITIALIZER_ONSTACK(intr.done),
		.ok = true,
	};
	struct rpcrdma_rw *rw;
	struct shim_buf buf;

	KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 0, chunk->length), 0);
	rw = rpcrdma_rw_alloc(side->ep, dir, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rw);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, chunk, 0, buf.ext,
					     buf.nr_ext, 0, chunk->length), 0);
	rw->priv = &intr;
	rw->done = shim_intruded;
	rpcrdma_rw_read(rw);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&intr.done,
							    60 * HZ));
	KUNIT_EXPECT_FALSE(test, intr.ok);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(side));
	shim_buf_free(&buf);
}

/* The peer cannot access an RPC's memory after the RPC has ended. */
static void data_no_access_afterwards(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct shim_rpc *rpc = shim_rpcs(test, 1);
	struct shim_buf buf;

	KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 0, 5000), 0);
	shim_rpc_init(rpc, &buf, NULL);
	shim_buf_fill(&buf, 0);
	KUNIT_ASSERT_EQ(test, shim_rpc_do(&pair->client, rpc), 0);
	shim_intrude(test, &pair->server, &rpc->lists, &rpc->lists.reads[0],
		     DMA_FROM_DEVICE);
	shim_buf_free(&buf);
}

/* Memory exposed for writing cannot be read. */
static void data_no_read_of_results(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct shim_rpc *rpc = shim_rpcs(test, 1);
	struct shim_buf buf;

	if (shim_iwarp)
		kunit_skip(test, "siw does not look at the access rights");
	pair->server.hold_calls = true;
	KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 0, 5000), 0);
	shim_rpc_init(rpc, NULL, &buf);
	KUNIT_ASSERT_EQ(test, shim_rpc_send(&pair->client, rpc), 0);
	KUNIT_ASSERT_TRUE(test, shim_wait_until(&pair->server,
						READ_ONCE(pair->server.nr_held)));
	shim_intrude(test, &pair->server, &rpc->lists, &rpc->lists.writes[0],
		     DMA_FROM_DEVICE);
	shim_rpc_end(&pair->client, rpc);
	shim_buf_free(&buf);
}

/* rpcrdma_rw_add() refuses ranges beyond the memory or beyond the chunk. */
static void data_bounds(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct rpcrdma_ep *ep = pair->server.ep;
	struct rpcrdma_lists *lists;
	struct rpcrdma_rw *rw;
	struct shim_buf buf;

	lists = kunit_kzalloc(test, sizeof(*lists), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists);
	rpcrdma_lists_init(lists);
	rpcrdma_lists_add_read(lists, SHIM_MANY);
	rpcrdma_lists_add_segment(lists, 1, 1000, 0);
	rpcrdma_lists_add_segment(lists, 2, 0, 0);
	rpcrdma_lists_add_segment(lists, 3, 500, 0);
	KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 4000, 1400), 0);
	rw = rpcrdma_rw_alloc(ep, DMA_FROM_DEVICE, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rw);
	/* Beyond the end of the memory */
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 0,
					     buf.ext, buf.nr_ext, 0, 1401), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 0,
					     buf.ext, buf.nr_ext, 1400, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 0,
					     buf.ext, buf.nr_ext, 5000, 1), -EINVAL);
	/* Beyond the end of the chunk */
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 101,
					     buf.ext, buf.nr_ext, 0, 1400), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 1500,
					     buf.ext, buf.nr_ext, 0, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0],
					     U32_MAX, buf.ext, buf.nr_ext, 0, 1),
			-EINVAL);
	/* Up to the end of both, and an empty range */
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 100,
					     buf.ext, buf.nr_ext, 0, 1400), 0);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 1500,
					     buf.ext, buf.nr_ext, 1400, 0), 0);
	rpcrdma_rw_free(rw);
	shim_buf_free(&buf);
}

/*
 * A transfer that needs more Work Requests than a short Send Queue permits at once is
 * posted in batches, and a Reply waits for its Writes. Test this with many segments, and
 * with long segments of which a Work Request transfers only a page.
 */
static void data_turns(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	u32 turn;

	pair->server_params.sends = 4;
	/* With iWARP, Reads need MRs, one for each segment. */
	pair->server_params.reads = shim_iwarp ? 50 : 4;
	pair->server_params.max_mrs = 0;
	shim_open(test);
	turn = rpcrdma_sq_turn_wrs(&pair->server.ep->core.sq);
	if (!shim_iwarp)
		KUNIT_EXPECT_LT(test, turn, 25U);
	/* Fifty segments to read, fifty to write, and 25 of each */
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 50 * 300, 0, 0, 300), 0);
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 0, 50 * 300, 0, 300), 0);
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 25 * 300, 25 * 300, 0,
					   300), 0);
	/* A continued Reply after Writes */
	KUNIT_EXPECT_EQ(test, shim_an_rpc(&pair->client, 0, 50 * 300, 0, 300, 0,
					  20000), 0);
	pair->server.ep->write_part = PAGE_SIZE;
	if (!shim_iwarp)
		pair->server.ep->read_part = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 200000, 0, 100,
					   PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 0, 200000, 100,
					   PAGE_SIZE), 0);
	shim_traffic(test, pair, 4, 20, 100000, PAGE_SIZE, 20000, false);
	shim_check_idle(test, &pair->server);
}

/*
 * However short the Send Queue, a transfer can have a Write to each of the maximum
 * number of segments of a version 1 Call.
 */
static void data_most_segments(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	u32 n, most = RPCRDMA_MAX_SEGS + RPCRDMA_MORE_SEGS;
	struct rpcrdma_lists *lists;
	struct rpcrdma_rw *rw;
	struct shim_buf buf;

	pair->server_params.version_low = RPCRDMA_VERS_1;
	pair->server_params.sends = 4;
	pair->server_params.reads = 4;
	pair->server_params.max_mrs = 0;
	shim_open(test);
	lists = kunit_kzalloc(test, sizeof(*lists), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists);
	rpcrdma_lists_init(lists);
	lists->more = kunit_kcalloc(test, RPCRDMA_MORE_SEGS,
				    sizeof(*lists->more), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists->more);
	rpcrdma_lists_add_write(lists);
	for (n = 0; n < most; n++)
		rpcrdma_lists_add_segment(lists, 1, 1, 0);
	KUNIT_ASSERT_EQ(test, (u32)lists->writes[0].count, most);

	KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 0, most), 0);
	rw = rpcrdma_rw_alloc(pair->server.ep, DMA_TO_DEVICE, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rw);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->writes[0], 0,
					     buf.ext, buf.nr_ext, 0, most), 0);
	KUNIT_EXPECT_EQ(test, rw->left, most);
	rpcrdma_rw_free(rw);
	shim_buf_free(&buf);
}

/* If no service thread processes messages after a notification, the endpoint does. */
static void data_nobody_takes(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->server.nobody_takes = true;
	shim_open(test);
	shim_traffic(test, pair, 4, 10, 5000, PAGE_SIZE, 20000, true);
	KUNIT_EXPECT_GT(test, atomic_read(&pair->server.told), 0);
	shim_check_idle(test, &pair->client);
	shim_check_idle(test, &pair->server);
}

/* Transfers posted in batches end with the connection, at any of their batches. */
static void data_turns_closed(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_rpc *rpcs = shim_rpcs(test, 4);
	struct shim_buf bufs[4];
	int i, n;

	pair->server_params.sends = 4;
	pair->server_params.reads = 4;
	pair->server_params.max_mrs = 0;
	for (n = 0; n < 12; n++) {
		shim_open(test);
		pair->server.ep->write_part = PAGE_SIZE;
		if (!shim_iwarp)
			pair->server.ep->read_part = PAGE_SIZE;
		for (i = 0; i < 4; i++) {
			KUNIT_ASSERT_EQ(test, shim_buf_alloc(&bufs[i], 0,
							     300000), 0);
			shim_rpc_init(&rpcs[i], i & 1 ? &bufs[i] : NULL,
				      i & 1 ? NULL : &bufs[i]);
			rpcs[i].seed = i;
			shim_buf_fill(&bufs[i], i);
			KUNIT_ASSERT_EQ(test, shim_rpc_send(&pair->client,
							    &rpcs[i]), 0);
		}
		usleep_range(300 * n, 300 * n + 100);
		rpcrdma_ep_close(pair->server.ep, NULL);
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->client));
		for (i = 0; i < 4; i++) {
			shim_rpc_end(&pair->client, &rpcs[i]);
			shim_buf_free(&bufs[i]);
		}
		shim_disconnect(test, pair);
	}
}

#define SHIM_FEW_REGIONS 6

/*
 * Set up a server with a device that reads into MRs, and few of these; eight held Calls
 * with data to read; and a transfer that uses half of the MRs. Return the transfer.
 */
static struct rpcrdma_rw *shim_few_regions(struct kunit *test,
					   struct shim_rpc *rpcs,
					   struct shim_buf *arg,
					   struct shim_buf *own)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	const struct rpcrdma_lists *lists;
	struct rpcrdma_rw *rw;
	int i;

	pair->server_params.reads = SHIM_FEW_REGIONS;
	shim_open(test);
	/* Three segments each, which shim_pull() splits into four */
	KUNIT_ASSERT_EQ(test, shim_buf_alloc_chopped(arg, 100, 300, 100), 0);
	KUNIT_ASSERT_EQ(test, shim_buf_alloc(own, 0, 300), 0);
	shim_buf_fill(arg, 0);
	s->hold_calls = true;
	for (i = 0; i < 8; i++) {
		shim_rpc_init(&rpcs[i], arg, NULL);
		KUNIT_ASSERT_EQ(test, shim_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, shim_wait_until(s, READ_ONCE(s->nr_held) == 8));
	WRITE_ONCE(s->hold_calls, false);

	shim_reads_at_most = SHIM_FEW_REGIONS;
	atomic_set(&shim_reads_refused, 0);
	lists = &list_first_entry(&s->held, struct rpcrdma_recv, list)->rx.lists;
	rw = rpcrdma_rw_alloc(s->ep, DMA_FROM_DEVICE, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rw);
	KUNIT_ASSERT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 0,
					     own->ext, own->nr_ext, 0, 300), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_reads_refused), 0);
	return rw;
}

/* Wait if too few MRs are free now; fail if a transfer needs more than exist. */
static void data_few_read_regions(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs = shim_rpcs(test, 8);
	const struct rpcrdma_lists *lists;
	struct rpcrdma_rw *rw, *large;
	struct shim_buf arg, own;
	int i;

	rw = shim_few_regions(test, rpcs, &arg, &own);
	lists = &list_first_entry(&s->held, struct rpcrdma_recv, list)->rx.lists;
	large = rpcrdma_rw_alloc(s->ep, DMA_FROM_DEVICE, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, large);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(large, lists,
						     &lists->reads[0], 0,
						     own.ext, own.nr_ext, 0, 300),
				i < 2 ? 0 : -E2BIG);
	rpcrdma_rw_free(large);
	KUNIT_EXPECT_EQ(test, READ_ONCE(s->ep->read_pool.waiting), 0U);

	shim_release(s, 8);
	KUNIT_EXPECT_EQ(test, READ_ONCE(s->ep->read_pool.waiting), 8U);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->served), 0);
	KUNIT_EXPECT_GE(test, atomic_read(&shim_reads_refused), 2);
	rpcrdma_rw_free(rw);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, shim_rpc_wait(c, &rpcs[i]), 0);
		shim_rpc_end(c, &rpcs[i]);
	}
	shim_check_idle(test, c);
	shim_check_idle(test, s);
	/* Concurrent traffic */
	shim_traffic(test, pair, 4, 30, 2500, 1000, 0, false);
	shim_buf_free(&own);
	shim_buf_free(&arg);
}

/* Transfers that wait for MRs end with their connection. */
static void data_few_regions_closed(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs = shim_rpcs(test, 8);
	struct shim_buf arg, own;
	struct rpcrdma_rw *rw;
	int i;

	rw = shim_few_regions(test, rpcs, &arg, &own);
	shim_release(s, 8);
	KUNIT_EXPECT_EQ(test, READ_ONCE(s->ep->read_pool.waiting), 8U);
	rpcrdma_ep_close(c->ep, NULL);
	KUNIT_EXPECT_TRUE(test, shim_poll(!READ_ONCE(s->ep->read_pool.waiting)));
	rpcrdma_rw_free(rw);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(s));
	for (i = 0; i < 8; i++)
		shim_rpc_end(c, &rpcs[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->served), 0);
	shim_buf_free(&own);
	shim_buf_free(&arg);
}

static struct kunit_case data_cases[] = {
	KUNIT_CASE(data_read),
	KUNIT_CASE(data_write),
	KUNIT_CASE(data_continued),
	KUNIT_CASE(data_version_1),
	KUNIT_CASE(data_segments),
	KUNIT_CASE(data_small_segments),
	KUNIT_CASE(data_invalidation),
	KUNIT_CASE(data_no_access_afterwards),
	KUNIT_CASE(data_no_read_of_results),
	KUNIT_CASE(data_bounds),
	KUNIT_CASE(data_turns),
	KUNIT_CASE(data_turns_closed),
	KUNIT_CASE(data_nobody_takes),
	KUNIT_CASE(data_most_segments),
	KUNIT_CASE(data_no_registration),
	KUNIT_CASE(data_few_read_regions),
	KUNIT_CASE(data_few_regions_closed),
	{}
};

static struct kunit_suite data_suite = {
	.name		= "rpcrdma_ep_data" SHIM_OVER,
	.suite_init	= SHIM_SUITE_INIT,
	.suite_exit	= shim_suite_exit,
	.init		= shim_test_init,
	.exit		= shim_test_exit,
	.test_cases	= data_cases,
};

/* ---- Teardown ---- */

/* Close all clients' endpoints, concurrently with their setup. */
static void shim_close_clients(void)
{
	struct rpcrdma_ep *ep = NULL;

	while ((ep = rpcrdma_ep_next(ep)) != NULL)
		if (ep->client)
			rpcrdma_ep_close(ep, NULL);
}

static int shim_closer_fn(void *data)
{
	struct shim_caller *c = data;

	schedule_timeout_uninterruptible(c->count);
	shim_close_clients();
	kthread_complete_and_exit(&c->done, 0);
}

static void shim_closer_start(struct kunit *test, struct shim_caller *c,
			      unsigned int delay)
{
	c->count = delay;
	init_completion(&c->done);
	c->task = kthread_run(shim_closer_fn, c, "shim_closer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(c->task));
}

static void close_refused(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->reject = true;
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -ECONNREFUSED);
	KUNIT_EXPECT_PTR_EQ(test, pair->server.ep, NULL);
}

/* Ops of connections without upcalls */
static const struct rpcrdma_ep_ops shim_no_ops;

static void close_nobody_listens(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct sockaddr_in addr = shim_addr;
	struct rpcrdma_ep *ep;

	addr.sin_port = htons(1);
	ep = rpcrdma_ep_connect(&init_net, (struct sockaddr *)&addr, NULL,
				&pair->client_params, &shim_no_ops,
				NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ep), (long)-ECONNREFUSED);
}

/* No host answers: without the close, the connection manager would retry for a minute. */
static void close_connecting(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct sockaddr_in addr = shim_addr;
	unsigned long start = jiffies;
	struct shim_caller closer = {};
	struct rpcrdma_ep *ep;

	if (shim_iwarp)
		kunit_skip(test, "siw waits for TCP's own time limit");
	addr.sin_addr.s_addr ^= htonl(0x55);
	addr.sin_port = htons(20049);
	shim_closer_start(test, &closer, HZ / 2);
	ep = rpcrdma_ep_connect(&init_net, (struct sockaddr *)&addr, NULL,
				&pair->client_params, &shim_no_ops,
				NULL, NULL);
	KUNIT_EXPECT_TRUE(test, IS_ERR(ep));
	KUNIT_EXPECT_LT(test, jiffies - start, 8UL * HZ);
	wait_for_completion(&closer.done);
}

/* Close at various moments of the connection setup. */
static void close_during_connect(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	unsigned int i, opened = 0;

	for (i = 0; i < 24; i++) {
		struct shim_caller closer = {};

		shim_closer_start(test, &closer, i / 2);
		if (!shim_connect(pair))
			opened++;
		wait_for_completion(&closer.done);
		shim_disconnect(test, pair);
	}
	kunit_info(test, "%u of %u were opened first", opened, i);
}

/* Close while the connected peer does not respond. */
static void close_opening(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	unsigned long start = jiffies;
	struct shim_caller closer = {};

	shim_mute = SHIM_MUTE_SERVER;
	/* After connecting, even on a slow machine, and before the opening times out */
	shim_closer_start(test, &closer, 6 * HZ);
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EPROTONOSUPPORT);
	KUNIT_EXPECT_LT(test, jiffies - start, 13UL * HZ);
	wait_for_completion(&closer.done);
}

/* The connected peer does not respond, and the opening times out. */
static void SHIM_ONCE close_opening_timeout(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	unsigned long start = jiffies;

	shim_mute = SHIM_MUTE_CLIENT;
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EPROTONOSUPPORT);
	KUNIT_EXPECT_LT(test, jiffies - start, 40UL * HZ);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
}

static void close_from_opened(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->client.close_on_open = true;
	shim_connect(pair);
	shim_disconnect(test, pair);
	pair->server.close_on_open = true;
	shim_connect(pair);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
}

static void close_no_common_version(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->server_params.version_low = RPCRDMA_VERS_1;
	pair->server_params.version_high = RPCRDMA_VERS_1;
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EPROTONOSUPPORT);
}

static void close_idle_by_client(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);

	rpcrdma_ep_close(pair->client.ep, NULL);
	rpcrdma_ep_close(pair->client.ep, NULL);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->client));
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
	rpcrdma_ep_close(pair->client.ep, NULL);
	rpcrdma_ep_wait_closed(pair->client.ep);
}

static void close_idle_by_server(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);

	rpcrdma_ep_close(pair->server.ep, NULL);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->client));
}

/* A fatal event of the queue pair is the only sign of a failure. */
static void close_device_event(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct ib_qp *qp = pair->server.ep->qp;
	struct ib_event event = { .element.qp = qp };

	event.event = IB_EVENT_COMM_EST;
	qp->event_handler(&event, qp->qp_context);
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 0, 0, 0, PAGE_SIZE),
			0);
	event.event = IB_EVENT_QP_FATAL;
	qp->event_handler(&event, qp->qp_context);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->client));
}

static int shim_close_fn(void *data)
{
	struct shim_caller *c = data;

	rpcrdma_ep_close(c->side->ep, NULL);
	rpcrdma_ep_wait_closed(c->side->ep);
	kthread_complete_and_exit(&c->done, 0);
}

/*
 * A service thread may reserve a Send context after the connection is closed and its
 * protection domain freed. All contexts set up so far are in use by other threads.
 */
static void close_reserved_late(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct rpcrdma_ep *ep = pair->server.ep;
	struct rpcrdma_send *sends[32], *s;
	unsigned int nr = 0;

	while (READ_ONCE(ep->core.free_sends) && nr < ARRAY_SIZE(sends)) {
		s = rpcrdma_send_reserve(ep);
		KUNIT_ASSERT_NOT_NULL(test, s);
		sends[nr++] = s;
	}
	KUNIT_ASSERT_NULL(test, READ_ONCE(ep->core.free_sends));
	KUNIT_ASSERT_LT(test, ep->core.sends_made, ep->core.nr_sends);
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_wait_closed(ep);
	/* The teardown has released the contexts of control messages. */
	while (READ_ONCE(ep->core.free_sends) && nr < ARRAY_SIZE(sends)) {
		s = rpcrdma_send_reserve(ep);
		KUNIT_ASSERT_NOT_NULL(test, s);
		sends[nr++] = s;
	}
	KUNIT_ASSERT_NULL(test, READ_ONCE(ep->core.free_sends));
	KUNIT_ASSERT_LT(test, ep->core.sends_made, ep->core.nr_sends);
	s = rpcrdma_send_reserve(ep);
	KUNIT_EXPECT_NOT_NULL(test, s);
	if (s)
		rpcrdma_send_put(s);
	while (nr)
		rpcrdma_send_put(sends[--nr]);
}

/* Close concurrently in four threads, two for each end. */
static void shim_close_by_many(struct kunit *test, struct shim_pair *pair)
{
	struct shim_caller c[4] = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		c[i].side = i & 1 ? &pair->server : &pair->client;
		init_completion(&c[i].done);
		c[i].task = kthread_run(shim_close_fn, &c[i], "shim_close");
		KUNIT_ASSERT_FALSE(test, IS_ERR(c[i].task));
	}
	for (i = 0; i < ARRAY_SIZE(c); i++)
		KUNIT_ASSERT_TRUE(test,
				  wait_for_completion_timeout(&c[i].done,
							      60 * HZ));
}

static void close_by_many(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	int i;

	for (i = 0; i < 5; i++) {
		shim_open(test);
		shim_close_by_many(test, pair);
		shim_disconnect(test, pair);
	}
}

/* Calls and their Receives are held beyond the end of the connection. */
static void close_calls_held(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct shim_rpc *rpcs = shim_rpcs(test, 8);
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_buf buf;
	int i;

	KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 100, 10000), 0);
	s->hold_calls = true;
	for (i = 0; i < 8; i++) {
		shim_rpc_init(&rpcs[i], i & 1 ? &buf : NULL,
			      i & 1 ? NULL : &buf);
		rpcs[i].seed = i;
		rpcs[i].inline_arg = 100 * i;
		KUNIT_ASSERT_EQ(test, shim_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, shim_wait_until(s, READ_ONCE(s->nr_held) == 8));
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 8U);
	rpcrdma_ep_close(c->ep, NULL);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, shim_rpc_wait(c, &rpcs[i]), -ENOTCONN);
		shim_rpc_end(c, &rpcs[i]);
	}
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(s));
	/*
	 * Serving the Calls now must be harmless, and their contents must be unchanged:
	 * a changed one counts as bad.
	 */
	shim_release(s, 4);
	shim_buf_free(&buf);
}

/* MRs are released, waiting for their invalidation, while the connection ends. */
static void close_invalidating(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_rpc *rpcs = shim_rpcs(test, 8);
	struct shim_buf buf;
	int i, round;

	KUNIT_ASSERT_EQ(test, shim_buf_alloc_chopped(&buf, 0, 500, 100), 0);
	for (round = 0; round < 6; round++) {
		shim_open(test);
		pair->server.hold_calls = true;
		for (i = 0; i < 8; i++) {
			shim_rpc_init(&rpcs[i], NULL, &buf);
			KUNIT_ASSERT_EQ(test, shim_rpc_send(&pair->client,
							    &rpcs[i]), 0);
		}
		if (round & 1)
			shim_mute = SHIM_MUTE_CLIENT;
		for (i = 0; i < 8; i++) {
			/* If the client is muted, only the teardown ends the wait. */
			if (i == (round & 1 ? 0 : round))
				rpcrdma_ep_close(round & 2 ?
						 pair->server.ep :
						 pair->client.ep, NULL);
			shim_rpc_end(&pair->client, &rpcs[i]);
		}
		shim_disconnect(test, pair);
	}
	shim_buf_free(&buf);
}

/* An RPC is abandoned while the server processes its Call. */
static void close_not_cancelled(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct shim_rpc *rpc = shim_rpcs(test, 1);
	struct shim_buf buf;

	KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 0, 5000), 0);
	pair->server.hold_calls = true;
	shim_rpc_init(rpc, &buf, NULL);
	KUNIT_ASSERT_EQ(test, shim_rpc_send(&pair->client, rpc), 0);
	KUNIT_ASSERT_TRUE(test, shim_wait_until(&pair->server,
						READ_ONCE(pair->server.nr_held)));
	shim_rpc_end(&pair->client, rpc);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	/* The connection remains usable. */
	pair->server.hold_calls = false;
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 100, 100, 0,
					   PAGE_SIZE), 0);
	/* Reading that Call's argument is an error now. */
	shim_release(&pair->server, 1);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
	shim_buf_free(&buf);
}

/*
 * 7.4: if an MR cannot be invalidated, the connection is closed. The wait for the
 * invalidation ends only after that.
 */
static void close_no_invalidation(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct shim_rpc *rpc = shim_rpcs(test, 1);
	struct shim_buf buf;

	KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 0, 5000), 0);
	pair->server.no_inv = true;
	shim_rpc_init(rpc, &buf, NULL);
	shim_buf_fill(&buf, 0);
	KUNIT_ASSERT_EQ(test, shim_rpc_send(&pair->client, rpc), 0);
	KUNIT_ASSERT_EQ(test, shim_rpc_wait(&pair->client, rpc), 0);
	KUNIT_ASSERT_TRUE(test, rpc->exposed);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 1U);

	shim_unpostable_opcode = IB_WR_LOCAL_INV;
	shim_unpostable = SHIM_MUTE_CLIENT;
	shim_rpc_end(&pair->client, rpc);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->client));
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
	shim_buf_free(&buf);
}

/* 7.4: a Reply that cannot be sent ends the connection. */
static void close_no_reply(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct shim_rpc *rpc = shim_rpcs(test, 1);

	pair->server.hold_calls = true;
	shim_rpc_init(rpc, NULL, NULL);
	KUNIT_ASSERT_EQ(test, shim_rpc_send(&pair->client, rpc), 0);
	KUNIT_ASSERT_TRUE(test, shim_wait_until(&pair->server,
						READ_ONCE(pair->server.nr_held)));
	shim_unpostable_opcode = IB_WR_SEND;
	shim_unpostable = SHIM_MUTE_SERVER;
	shim_release(&pair->server, 1);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
	KUNIT_EXPECT_EQ(test, shim_rpc_wait(&pair->client, rpc), -ENOTCONN);
	shim_rpc_end(&pair->client, rpc);
}

static void close_replies_queued(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_rpc *rpcs = shim_rpcs(test, SHIM_MANY);
	struct shim_side *c = &pair->client, *s = &pair->server;
	int i, round;

	for (round = 0; round < 2; round++) {
		shim_open(test);
		c->hold_replies = true;
		for (i = 0; i < SHIM_MANY; i++) {
			shim_rpc_init(&rpcs[i], NULL, NULL);
			KUNIT_ASSERT_EQ(test, shim_rpc_send(c, &rpcs[i]), 0);
		}
		KUNIT_EXPECT_TRUE(test,
				  shim_poll(shim_replies_wait(s->ep)));
		rpcrdma_ep_close(round ? c->ep : s->ep, NULL);
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(s));
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(c));
		for (i = 0; i < SHIM_MANY; i++)
			shim_rpc_end(c, &rpcs[i]);
		shim_disconnect(test, pair);
	}
}

/* The peer grants no credits to waiting messages for too long. */
enum {
	STALL_MS = 500,
};

/* Calls wait for credits for too long. */
static void SHIM_ONCE close_no_grants(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs;
	u32 i, sent;

	pair->client_params.stall_ms = STALL_MS;
	shim_open(test);
	rpcs = shim_rpcs(test, SHIM_MANY);
	s->hold_calls = true;
	sent = shim_fill_window(c, rpcs, SHIM_MANY);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(c));
	KUNIT_EXPECT_STREQ(test, c->ep->core.conn.reason,
			   "the peer does not grant credits");
	KUNIT_EXPECT_EQ(test, shim_rpc_try(c, &rpcs[sent]), -ENOTCONN);
	shim_release(s, UINT_MAX);
	for (i = 0; i < sent; i++)
		shim_rpc_end(c, &rpcs[i]);
}

/* Replies wait for credits for too long. */
static void SHIM_ONCE close_no_grants_to_replies(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs;
	u32 i, sent = 0;

	pair->server_params.stall_ms = STALL_MS;
	shim_open(test);
	rpcs = shim_rpcs(test, SHIM_MANY);
	c->hold_replies = true;
	while (sent < SHIM_MANY && !shim_rpc_send(c, &rpcs[sent]))
		sent++;
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(s));
	shim_release(c, UINT_MAX);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(c));
	for (i = 0; i < sent; i++)
		shim_rpc_end(c, &rpcs[i]);
}

/* A connection that is slow, but makes progress, is not closed. */
static void SHIM_ONCE close_not_while_granted(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs;
	u32 i, sent = 0;

	/* Much longer than each wait, for slow machines, but shorter than their sum */
	pair->client_params.stall_ms = 20 * STALL_MS;
	shim_open(test);
	rpcs = shim_rpcs(test, SHIM_MANY);
	s->hold_calls = true;
	for (i = 0; i < 12; i++) {
		sent += shim_fill_window(c, rpcs + sent, SHIM_MANY - sent);
		msleep(2 * STALL_MS);
		shim_release(s, 1);
	}
	KUNIT_EXPECT_TRUE(test, rpcrdma_ep_is_open(c->ep));
	s->hold_calls = false;
	shim_release(s, UINT_MAX);
	for (i = 0; i < sent; i++) {
		KUNIT_EXPECT_EQ(test, shim_rpc_wait(c, &rpcs[i]), 0);
		shim_rpc_end(c, &rpcs[i]);
	}
}

static bool shim_streaming(struct rpcrdma_ep *ep)
{
	return READ_ONCE(ep->core.conn.tx_open);
}

/* Close when some fragments of a Call or of Replies are sent and no credits are left. */
static void close_streams(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_rpc *rpcs = shim_rpcs(test, 4);
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_buf buf;
	int i, round;

	KUNIT_ASSERT_EQ(test, shim_buf_alloc_chopped(&buf, 0, 1000, 100), 0);
	for (round = 0; round < 8; round++) {
		bool calls = round & 1;

		shim_open(test);
		for (i = 0; i < 4; i++) {
			shim_rpc_init(&rpcs[i], calls ? &buf : NULL, NULL);
			rpcs[i].inline_arg = calls ? 250000 : 0;
			rpcs[i].inline_res = calls ? 0 : 250000;
		}
		if (calls) {
			/* The server receives the fragments and grants no credits. */
			shim_mute = SHIM_MUTE_SERVER;
			KUNIT_ASSERT_EQ(test, shim_rpc_send(c, &rpcs[0]), 0);
			KUNIT_EXPECT_TRUE(test,
					  shim_poll(c->ep->core.conn.sent >= 14));
			KUNIT_EXPECT_TRUE(test, shim_streaming(c->ep));
			KUNIT_EXPECT_EQ(test, shim_rpc_try(c, &rpcs[1]),
					-EAGAIN);
		} else {
			/* Otherwise Replies may complete before the client is mute. */
			s->hold_calls = true;
			for (i = 0; i < 4; i++)
				KUNIT_ASSERT_EQ(test, 0,
						shim_rpc_send(c, &rpcs[i]));
			KUNIT_EXPECT_TRUE(test,
					  shim_poll(READ_ONCE(s->nr_held) == 4));
			shim_mute = SHIM_MUTE_CLIENT;
			s->hold_calls = false;
			shim_release(s, 4);
			if (!(round & 4))
				KUNIT_EXPECT_TRUE(test,
						  shim_poll(shim_streaming(s->ep)));
		}
		rpcrdma_ep_close(round & 2 ? c->ep : s->ep, NULL);
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(s));
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(c));
		for (i = 0; i < 4; i++)
			shim_rpc_end(c, &rpcs[i]);
		shim_disconnect(test, pair);
	}
	shim_buf_free(&buf);
}

/*
 * An RPC is abandoned when some fragments of its Call have been sent. The other
 * fragments follow, with handles that are no longer valid.
 */
static void close_half_sent(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_rpc *rpc = shim_rpcs(test, 1);
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_buf buf;
	int chunk;

	for (chunk = 0; chunk < 2; chunk++) {
		KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 0, 5000), 0);
		shim_open(test);
		shim_rpc_init(rpc, chunk ? &buf : NULL, NULL);
		rpc->inline_arg = 250000;
		shim_mute = SHIM_MUTE_SERVER;
		KUNIT_ASSERT_EQ(test, shim_rpc_send(c, rpc), 0);
		KUNIT_EXPECT_TRUE(test,
				  shim_poll(c->ep->core.conn.sent >= 14));
		KUNIT_EXPECT_TRUE(test, shim_streaming(c->ep));
		shim_rpc_end(c, rpc);
		KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
		shim_buf_free(&buf);

		/* Any message conveys credits, with which the rest is sent. */
		shim_mute = 0;
		rpcrdma_ep_send_error(s->ep, 1, RDMA2_ERR_SYSTEM, 0, 0);
		if (chunk) {
			KUNIT_EXPECT_TRUE(test, shim_wait_gone(s));
			KUNIT_EXPECT_TRUE(test, shim_wait_gone(c));
		} else {
			KUNIT_EXPECT_TRUE(test,
					  shim_wait_until(s,
							  atomic_read(&s->served)));
			KUNIT_EXPECT_EQ(test, shim_one_rpc(c, 100, 100, 0,
							   PAGE_SIZE), 0);
		}
		shim_disconnect(test, pair);
	}
}

/* Close with Reads posted and Reads waiting for the Send Queue. */
static void close_reads(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs = shim_rpcs(test, 8);
	struct shim_buf buf;
	int i, round;

	pair->client_params.max_mrs = 256;
	pair->server_params.reads = 4;
	pair->server_params.max_mrs = 0;
	pair->server_params.sends = 8;
	KUNIT_ASSERT_EQ(test, shim_buf_alloc_chopped(&buf, 0, 1200, 100), 0);
	for (round = 0; round < 4; round++) {
		shim_open(test);
		s->hold_calls = true;
		for (i = 0; i < 8; i++) {
			shim_rpc_init(&rpcs[i], &buf, NULL);
			KUNIT_ASSERT_EQ(test, shim_rpc_send(c, &rpcs[i]), 0);
		}
		KUNIT_ASSERT_TRUE(test, shim_wait_until(s,
				  READ_ONCE(s->nr_held) == 8));
		/* In every other round, the device never executes the Reads. */
		if (round & 1)
			shim_mute = SHIM_MUTE_SERVER;
		shim_release(s, 8);
		if (round & 1)
			KUNIT_EXPECT_FALSE(test, list_empty(&s->ep->core.transfers));
		rpcrdma_ep_close(round & 2 ? c->ep : s->ep, NULL);
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(s));
		for (i = 0; i < 8; i++) {
			shim_rpc_wait(c, &rpcs[i]);
			shim_rpc_end(c, &rpcs[i]);
		}
		shim_disconnect(test, pair);
	}
	shim_buf_free(&buf);
}

/* Close with Replies after Writes that the device never executes. */
static void close_writes(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs = shim_rpcs(test, 8);
	struct shim_buf buf;
	int i;

	KUNIT_ASSERT_EQ(test, shim_buf_alloc(&buf, 0, 100000), 0);
	s->hold_calls = true;
	for (i = 0; i < 8; i++) {
		shim_rpc_init(&rpcs[i], NULL, &buf);
		KUNIT_ASSERT_EQ(test, shim_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, shim_wait_until(s, READ_ONCE(s->nr_held) == 8));
	shim_mute = SHIM_MUTE_SERVER;
	shim_release(s, 8);
	shim_close_by_many(test, pair);
	for (i = 0; i < 8; i++)
		shim_rpc_end(c, &rpcs[i]);
	/* Muted Sends count as invalidating, and the client invalidates again. */
	atomic_set(&shim_double_inv, 0);
	shim_buf_free(&buf);
}

/* Close under load, from either end, at any time. */
static void close_under_load(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_caller *c;
	unsigned int i, round, ok = 0;

	c = kunit_kcalloc(test, 6, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	for (round = 0; round < 12; round++) {
		shim_open(test);
		for (i = 0; i < 6; i++) {
			memset(&c[i], 0, sizeof(c[i]));
			c[i].may_fail = true;
			c[i].max_inline = i & 2 ? 30000 : 0;
			shim_caller_start(test, &c[i], i % 3 == 2 ?
					  &pair->server : &pair->client,
					  UINT_MAX, i & 1 ? 100000 : 3000);
		}
		schedule_timeout_uninterruptible(HZ / 10 +
						 get_random_u32() % (HZ / 2));
		switch (round % 3) {
		case 0:
			rpcrdma_ep_close(pair->client.ep, NULL);
			break;
		case 1:
			rpcrdma_ep_close(pair->server.ep, NULL);
			break;
		case 2:
			shim_close_by_many(test, pair);
			break;
		}
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->client));
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
		for (i = 0; i < 6; i++) {
			shim_caller_wait(test, &c[i]);
			ok += c[i].ok;
		}
		shim_disconnect(test, pair);
	}
	kunit_info(test, "%u RPCs were done", ok);
	KUNIT_EXPECT_GT(test, ok, 0U);
}

static void shim_fault_rpcs(struct shim_pair *pair)
{
	if (shim_an_rpc(&pair->client, 5000, 5000, 77, PAGE_SIZE, 9000, 0))
		return;
	/* A pulled Reply */
	if (pair->client_params.pull)
		shim_an_rpc(&pair->client, 0, 0, 0, PAGE_SIZE, 0, 9000);
}

/*
 * Fail each operation that can fail, one per round, until connecting and an RPC with
 * data in both directions succeed without an injected failure.
 */
static void shim_after_any_fault(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	unsigned int n;
	bool failed;

	/* Allocate few resources, so that few operations can fail. */
	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->client_params.sends = 2;
	pair->client_params.max_mrs = 2;
	pair->client_params.reads = pair->client_params.pull ? 8 : 0;
	pair->server_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.sends = 2;
	pair->server_params.reads = 8;
	for (n = 1; n < 1000; n++) {
		shim_fail_at(n);
		if (!shim_connect(pair) &&
		    shim_wait_until(&pair->server,
				    atomic_read(&pair->server.opened) ||
				    atomic_read(&pair->server.closed)))
			shim_fault_rpcs(pair);
		failed = shim_failed();
		shim_fail_at(0);
		shim_disconnect(test, pair);
		if (!failed)
			break;
	}
	kunit_info(test, "%u places", n - 1);
	KUNIT_EXPECT_GT(test, n, 50U);
	KUNIT_EXPECT_LT(test, n, 1000U);
}

static void SHIM_ONCE close_after_any_fault(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->server_params.max_mrs = 0;
	shim_after_any_fault(test);
}

static void close_listener_first(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);

	rpcrdma_listener_destroy(pair->listener);
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 100, 100, 0,
					   PAGE_SIZE), 0);
	shim_disconnect(test, pair);
	pair->listener = rpcrdma_listen(&init_net,
					(struct sockaddr *)&shim_addr, NULL,
					NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pair->listener));
}

#define SHIM_CROWD 24

struct shim_crowd;

struct shim_crowd_client {
	struct shim_crowd	*crowd;
	struct completion	done;
	struct rpcrdma_ep	*ep;
};

/* Many clients of one server, which only connect */
struct shim_crowd {
	struct rpcrdma_ep_params params;
	struct rpcrdma_listener	*listener;
	struct rpcrdma_ep	*servers[SHIM_CROWD];
	atomic_t		nr_servers, opened, closed;
	struct shim_crowd_client clients[SHIM_CROWD];
};

static void shim_crowd_poll(struct rpcrdma_ep *ep)
{
	struct rpcrdma_poll poll = { .ep = ep };
	struct rpcrdma_recv *rv;

	while ((rv = rpcrdma_ep_poll(&poll)))
		rpcrdma_recv_put(rv);
}

static void shim_crowd_opened(struct rpcrdma_ep *ep)
{
	struct shim_crowd *crowd = ep->priv;

	atomic_inc(&crowd->opened);
}

static void shim_crowd_closed(struct rpcrdma_ep *ep)
{
	struct shim_crowd *crowd = ep->priv;

	atomic_inc(&crowd->closed);
}

static const struct rpcrdma_ep_ops shim_crowd_ops = {
	.poll	= shim_crowd_poll,
	.opened	= shim_crowd_opened,
	.closed	= shim_crowd_closed,
};

static int shim_crowd_incoming(void *priv, struct rpcrdma_ep *ep)
{
	struct shim_crowd *crowd = priv;
	int n = atomic_inc_return(&crowd->nr_servers);

	if (n > SHIM_CROWD)
		return -EBUSY;
	ep->ops = &shim_crowd_ops;
	ep->priv = crowd;
	ep->params = crowd->params;
	crowd->servers[n - 1] = ep;
	return 0;
}

static int shim_crowd_fn(void *data)
{
	struct shim_crowd_client *c = data;
	struct shim_crowd *crowd = c->crowd;

	c->ep = rpcrdma_ep_connect(&init_net,
				   rpcrdma_listener_addr(crowd->listener),
				   NULL, &crowd->params, &shim_crowd_ops,
				   crowd, NULL);
	kthread_complete_and_exit(&c->done, 0);
}

static void shim_crowd_end(struct rpcrdma_ep *ep)
{
	if (IS_ERR_OR_NULL(ep))
		return;
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_wait_closed(ep);
	rpcrdma_ep_put(ep);
}

/*
 * Many clients connect at the same time, as after a power failure. Neither a client nor
 * the connection manager waits for the setup of another connection.
 */
static void connect_all_at_once(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_crowd *crowd;
	struct task_struct *task;
	int i;

	crowd = kunit_kzalloc(test, sizeof(*crowd), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, crowd);
	crowd->params = pair->client_params;
	crowd->params.window = RPCRDMA_MIN_WINDOW;
	crowd->params.reverse = 1;
	crowd->params.sends = 2;
	crowd->params.max_mrs = 2;
	crowd->params.reads = 0;
	crowd->listener = rpcrdma_listen(&init_net,
					 (struct sockaddr *)&shim_addr,
					 shim_crowd_incoming, crowd);
	KUNIT_ASSERT_FALSE(test, IS_ERR(crowd->listener));

	shim_expect_crowd(SHIM_CROWD);
	for (i = 0; i < SHIM_CROWD; i++) {
		crowd->clients[i].crowd = crowd;
		init_completion(&crowd->clients[i].done);
		task = kthread_run(shim_crowd_fn, &crowd->clients[i],
				   "shim_crowd");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	}
	for (i = 0; i < SHIM_CROWD; i++) {
		wait_for_completion(&crowd->clients[i].done);
		KUNIT_EXPECT_FALSE(test, IS_ERR(crowd->clients[i].ep));
	}
	KUNIT_EXPECT_TRUE(test, shim_poll(atomic_read(&crowd->opened) ==
						2 * SHIM_CROWD));
	shim_expect_crowd(0);
	for (i = 0; i < SHIM_CROWD; i++)
		shim_crowd_end(crowd->clients[i].ep);
	rpcrdma_listener_destroy(crowd->listener);
	for (i = 0; i < SHIM_CROWD; i++)
		shim_crowd_end(crowd->servers[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->closed), 2 * SHIM_CROWD);
	shim_check_gone(test);
}

/* The device is removed during a connection's setup. */
static void close_removed_in_setup(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	shim_removal_in_setup = true;
	KUNIT_EXPECT_NE(test, shim_connect(pair), 0);
	KUNIT_EXPECT_FALSE(test, shim_removal_in_setup);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
}

/* The device is removed after a listener is bound to its address, before it listens. */
static void listen_device_removed(struct kunit *test)
{
	struct rpcrdma_listener *l;

	shim_removal_at_listen = true;
	l = rpcrdma_listen(&init_net, (struct sockaddr *)&shim_addr, NULL,
			   NULL);
	KUNIT_EXPECT_TRUE(test, IS_ERR(l));
	KUNIT_EXPECT_FALSE(test, shim_removal_at_listen);
}

/* After @event the listener listens once more, at the same port. */
static void shim_listens_again(struct kunit *test,
			       enum rdma_cm_event_type event)
{
	struct shim_pair *pair = test->priv;
	struct sockaddr_in before, after;
	unsigned int listens = shim_listens;

	memcpy(&before, rpcrdma_listener_addr(pair->listener), sizeof(before));
	shim_listener_event(pair->listener, event);
	KUNIT_EXPECT_EQ(test, shim_listens, listens + 1);
	memcpy(&after, rpcrdma_listener_addr(pair->listener), sizeof(after));
	KUNIT_EXPECT_EQ(test, before.sin_port, after.sin_port);
	shim_open(test);
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 100, 100, 0,
					   PAGE_SIZE), 0);
}

/* The device is removed, and the listener listens again once a device is available. */
static void listen_device_replaced(struct kunit *test)
{
	shim_listens_again(test, RDMA_CM_EVENT_DEVICE_REMOVAL);
}

/* The address moves to another device, and the listener listens there. */
static void listen_address_changed(struct kunit *test)
{
	shim_listens_again(test, RDMA_CM_EVENT_ADDR_CHANGE);
}

static struct kunit_case close_cases[] = {
	KUNIT_CASE(close_refused),
	KUNIT_CASE(close_nobody_listens),
	KUNIT_CASE(close_connecting),
	KUNIT_CASE(close_during_connect),
	KUNIT_CASE(close_opening),
	KUNIT_CASE(close_from_opened),
	KUNIT_CASE(close_no_common_version),
	KUNIT_CASE(close_idle_by_client),
	KUNIT_CASE(close_idle_by_server),
	KUNIT_CASE(close_device_event),
	KUNIT_CASE(close_reserved_late),
	KUNIT_CASE(close_by_many),
	KUNIT_CASE(close_calls_held),
	KUNIT_CASE(close_invalidating),
	KUNIT_CASE(close_not_cancelled),
	KUNIT_CASE(close_no_invalidation),
	KUNIT_CASE(close_no_reply),
	KUNIT_CASE(close_replies_queued),
	KUNIT_CASE(close_streams),
	KUNIT_CASE(close_half_sent),
	KUNIT_CASE(close_reads),
	KUNIT_CASE(close_writes),
	KUNIT_CASE(close_under_load),
	KUNIT_CASE(close_listener_first),
	KUNIT_CASE(connect_all_at_once),
	KUNIT_CASE(close_removed_in_setup),
	KUNIT_CASE(listen_device_removed),
	KUNIT_CASE(listen_address_changed),
	KUNIT_CASE(listen_device_replaced),
#ifdef SHIM_FIRST_DEVICE
	KUNIT_CASE(close_opening_timeout),
	KUNIT_CASE(close_no_grants),
	KUNIT_CASE(close_no_grants_to_replies),
	KUNIT_CASE(close_not_while_granted),
	KUNIT_CASE(close_after_any_fault),
#endif
	{}
};

static struct kunit_suite close_suite = {
	.name		= "rpcrdma_ep_close" SHIM_OVER,
	.suite_init	= SHIM_SUITE_INIT,
	.suite_exit	= shim_suite_exit,
	.init		= shim_test_init,
	.exit		= shim_test_exit,
	.test_cases	= close_cases,
};

/* ---- Pulled Replies ---- */

enum {
	/* Long enough for some RPCs and the checks of them, even on a slow machine */
	PULL_DONE_MS = 4000,
	PULL_OCTETS = 3 << 20,	/* maximum bytes exposed at a time */
};

/* Set parameters with which large Replies are pulled: the client reassembles nothing. */
static void shim_pull_params(struct shim_pair *pair)
{
	pair->client_params.pull = true;
	pair->client_params.reassembly = 0;
	pair->server_params.expose_octets = PULL_OCTETS;
	/* Long, except in tests of this time limit */
	pair->server_params.done_ms = 60000;
}

static struct shim_pair *shim_open_pull(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	shim_pull_params(pair);
	return shim_open(test);
}

static int shim_pull_rpc(struct shim_pair *pair, u32 len)
{
	return shim_an_rpc(&pair->client, 0, 0, 0, PAGE_SIZE, 0, len);
}

static bool shim_all_released(struct shim_side *side)
{
	return atomic_read(&side->released) == atomic_read(&side->exposed);
}

static struct rpcrdma_conn_counters *shim_counters(struct shim_side *side)
{
	return &side->ep->core.conn.counters;
}

/* Replies are exposed, read and released by DONE with Remote Invalidation. */
static void pull_all_lengths(struct kunit *test)
{
	static const u32 lengths[] = {
		4076, 4080, 4096, 5000, 8192, 65536, 100004, 262144, 1 << 20,
		(1 << 20) + 4096,
	};
	struct shim_pair *pair = shim_open_pull(test);
	struct shim_side *c = &pair->client, *s = &pair->server;
	u32 i, n = ARRAY_SIZE(lengths);

	/* A Reply that fits inline is not pulled. */
	KUNIT_EXPECT_EQ(test, shim_pull_rpc(pair, 4000), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->exposed), 0);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ_MSG(test, shim_pull_rpc(pair, lengths[i]), 0,
				    "%u octets", lengths[i]);
	KUNIT_EXPECT_TRUE(test, shim_wait_until(s, shim_all_released(s)));
	KUNIT_EXPECT_EQ(test, atomic_read(&s->exposed), (int)n);
	KUNIT_EXPECT_EQ(test, shim_counters(s)->replies_exposed, (u64)n);
	KUNIT_EXPECT_EQ(test, shim_counters(c)->replies_to_pull, (u64)n);
	KUNIT_EXPECT_EQ(test, shim_counters(c)->dones_sent, (u64)n);
	KUNIT_EXPECT_EQ(test, shim_counters(s)->dones_received, (u64)n);
	KUNIT_EXPECT_EQ(test, shim_counters(s)->dones_overdue, 0ULL);
	KUNIT_EXPECT_EQ(test, atomic64_read(&s->ep->remote_inv), (s64)n);
	KUNIT_EXPECT_EQ(test, s->ep->core.conn.exposed_octets, 0U);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	shim_check_idle(test, c);
	shim_check_idle(test, s);
}

/* After DONE without Remote Invalidation, the responder invalidates all MRs itself. */
static void pull_plain_done(struct kunit *test)
{
	struct shim_pair *pair = shim_open_pull(test);
	struct shim_side *s = &pair->server;
	int i;

	pair->client.plain_done = true;
	for (i = 0; i < 10; i++)
		KUNIT_ASSERT_EQ(test, shim_pull_rpc(pair, 20000 * i + 5000), 0);
	KUNIT_EXPECT_TRUE(test, shim_wait_until(s, shim_all_released(s)));
	KUNIT_EXPECT_EQ(test, atomic_read(&s->exposed), 10);
	KUNIT_EXPECT_EQ(test, atomic64_read(&s->ep->remote_inv), 0LL);
	KUNIT_EXPECT_GE(test, atomic64_read(&s->ep->local_inv), 10LL);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	shim_check_idle(test, s);
}

/* Many pulled Replies at the same time, with other traffic */
static void pull_traffic(struct kunit *test)
{
	struct shim_pair *pair = shim_open_pull(test);
	struct shim_side *s = &pair->server;

	shim_traffic(test, pair, 8, 60, 5000, PAGE_SIZE, 30000, false);
	KUNIT_EXPECT_GT(test, atomic_read(&s->exposed), 50);
	KUNIT_EXPECT_TRUE(test, shim_wait_until(s, shim_all_released(s)));
	KUNIT_EXPECT_EQ(test, shim_counters(s)->dones_received,
			(u64)atomic_read(&s->exposed));
	KUNIT_EXPECT_EQ(test, shim_counters(s)->errors_sent, 0ULL);
}

static void SHIM_ONCE pull_smallest_window(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.window = RPCRDMA_MIN_WINDOW;
	pull_traffic(test);
}

/*
 * Without DONE, a Reply is released after the time limit, and not before. A later DONE
 * has no effect.
 */
static void pull_never_done(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	u32 xid = c->xid;
	int i;

	shim_pull_params(pair);
	pair->server_params.done_ms = PULL_DONE_MS;
	shim_open(test);
	c->no_done = true;
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, shim_pull_rpc(pair, 50000), 0);
	KUNIT_EXPECT_GT(test, shim_valid_handles(), 0U);
	KUNIT_EXPECT_TRUE(test, shim_wait_until(s, shim_all_released(s)));
	KUNIT_EXPECT_EQ(test, shim_counters(s)->dones_overdue, 3ULL);
	KUNIT_EXPECT_EQ(test, s->ep->core.conn.exposed_octets, 0U);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	for (i = 0; i < 3; i++)
		rpcrdma_ep_send_done(c->ep, xid + i, 0);
	c->no_done = false;
	KUNIT_EXPECT_EQ(test, shim_pull_rpc(pair, 50000), 0);
	KUNIT_EXPECT_TRUE(test, shim_wait_until(s, shim_all_released(s)));
	KUNIT_EXPECT_EQ(test, shim_counters(s)->dones_received, 1ULL);
	KUNIT_EXPECT_EQ(test, shim_counters(s)->dropped, 3ULL);
	shim_check_idle(test, c);
	shim_check_idle(test, s);
}

/* A second DONE, or a DONE for an unknown Reply, has no effect. */
static void pull_other_dones(struct kunit *test)
{
	struct shim_pair *pair = shim_open_pull(test);
	struct shim_side *c = &pair->client, *s = &pair->server;
	u32 i, xid = c->xid;

	for (i = 0; i < 5; i++) {
		rpcrdma_ep_send_done(c->ep, xid + i, 0);
		KUNIT_ASSERT_EQ(test, shim_pull_rpc(pair, 50000), 0);
		rpcrdma_ep_send_done(c->ep, xid + i, 0);
		rpcrdma_ep_send_done(c->ep, ~xid, 0);
	}
	KUNIT_EXPECT_EQ(test, shim_pull_rpc(pair, 100), 0);
	KUNIT_EXPECT_TRUE(test, shim_wait_until(s, shim_all_released(s)));
	KUNIT_EXPECT_EQ(test, shim_counters(s)->dones_received, 5ULL);
	KUNIT_EXPECT_EQ(test, shim_counters(s)->dropped, 15ULL);
	KUNIT_EXPECT_TRUE(test, rpcrdma_ep_is_open(s->ep));
	shim_check_idle(test, c);
	shim_check_idle(test, s);
}

/* A DONE that invalidates the handle of another Reply ends the connection. */
static void pull_wrong_handle(struct kunit *test)
{
	struct shim_pair *pair = shim_open_pull(test);
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs = shim_rpcs(test, 2);
	int i;

	c->no_done = true;
	for (i = 0; i < 2; i++) {
		rpcs[i].inline_res = 50000;
		KUNIT_ASSERT_EQ(test, shim_rpc_do(c, &rpcs[i]), 0);
	}
	rpcrdma_ep_send_done(c->ep, rpcs[0].xid,
			     rpcs[1].reply_lists.inv_handle);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(s));
	KUNIT_EXPECT_TRUE(test, shim_all_released(s));
}

/* The RPC was abandoned when its Reply arrives. */
static void pull_forgotten(struct kunit *test)
{
	struct shim_pair *pair = shim_open_pull(test);
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs = shim_rpcs(test, 4);
	int i;

	s->hold_calls = true;
	for (i = 0; i < 4; i++) {
		rpcs[i].inline_res = 50000;
		KUNIT_ASSERT_EQ(test, shim_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, shim_wait_until(s, READ_ONCE(s->nr_held) == 4));
	for (i = 0; i < 4; i++)
		shim_rpc_end(c, &rpcs[i]);
	shim_release(s, 4);
	KUNIT_EXPECT_TRUE(test, shim_wait_until(s, shim_all_released(s)));
	KUNIT_EXPECT_EQ(test, atomic_read(&s->exposed), 4);
	KUNIT_EXPECT_EQ(test, shim_counters(s)->dones_received, 4ULL);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	shim_check_idle(test, c);
	shim_check_idle(test, s);
}

/* Above the limit of exposed bytes, a Reply is an ERROR until some are released. */
static void pull_beyond_the_bound(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	int i;

	shim_pull_params(pair);
	pair->server_params.expose_octets = 200000;
	pair->server_params.done_ms = PULL_DONE_MS;
	shim_open(test);
	c->no_done = true;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, shim_pull_rpc(pair, 60000), 0);
	KUNIT_EXPECT_EQ(test, shim_pull_rpc(pair, 60000), -EREMOTEIO);
	KUNIT_EXPECT_TRUE(test, shim_wait_until(s, shim_all_released(s)));
	KUNIT_EXPECT_EQ(test, shim_pull_rpc(pair, 199000), 0);
	KUNIT_EXPECT_EQ(test, shim_pull_rpc(pair, 300000), -EREMOTEIO);
	shim_check_idle(test, c);
	shim_check_idle(test, s);
}

/* Replies are pulled only if both ends support it. */
static void pull_not_negotiated(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	shim_pull_params(pair);
	pair->client_params.pull = false;
	shim_open(test);
	KUNIT_EXPECT_EQ(test, shim_pull_rpc(pair, 60000), -EREMOTEIO);
	shim_disconnect(test, pair);
	pair->client_params.pull = true;
	pair->server_params.expose_octets = 0;
	shim_open(test);
	KUNIT_EXPECT_EQ(test, shim_pull_rpc(pair, 60000), -EREMOTEIO);
}

/* A released Reply cannot be read any more. */
static void pull_no_access_afterwards(struct kunit *test)
{
	struct shim_pair *pair = shim_open_pull(test);
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpc = shim_rpcs(test, 1);

	rpc->inline_res = 50000;
	KUNIT_ASSERT_EQ(test, shim_rpc_do(c, rpc), 0);
	KUNIT_EXPECT_TRUE(test, rpc->pulled);
	KUNIT_EXPECT_TRUE(test, shim_wait_until(s, shim_all_released(s)));
	shim_intrude(test, c, &rpc->reply_lists, &rpc->reply_lists.reads[0],
		     DMA_FROM_DEVICE);
}

/* Memory exposed for reading cannot be written. */
static void pull_read_only(struct kunit *test)
{
	struct shim_pair *pair = shim_open_pull(test);
	struct shim_side *c = &pair->client;
	struct shim_rpc *rpc = shim_rpcs(test, 1);

	if (shim_iwarp)
		kunit_skip(test, "siw does not look at the access rights");
	c->no_done = true;
	rpc->inline_res = 50000;
	KUNIT_ASSERT_EQ(test, shim_rpc_do(c, rpc), 0);
	shim_intrude(test, c, &rpc->reply_lists, &rpc->reply_lists.reads[0],
		     DMA_TO_DEVICE);
}

/* Close either end while Reads are outstanding, or are never executed. */
static void pull_close_reading(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs = shim_rpcs(test, 6);
	int i, round;

	shim_pull_params(pair);
	for (round = 0; round < 8; round++) {
		shim_open(test);
		s->hold_calls = true;
		for (i = 0; i < 6; i++) {
			shim_rpc_init(&rpcs[i], NULL, NULL);
			rpcs[i].inline_res = 400000;
			KUNIT_ASSERT_EQ(test, shim_rpc_send(c, &rpcs[i]), 0);
		}
		KUNIT_ASSERT_TRUE(test, shim_wait_until(s,
				  READ_ONCE(s->nr_held) == 6));
		if (round & 1)
			shim_mute = SHIM_MUTE_CLIENT;
		shim_release(s, 6);
		KUNIT_EXPECT_TRUE(test, shim_poll(
				  atomic_read(&c->replies) > round % 3));
		if (round & 4)
			shim_close_by_many(test, pair);
		else
			rpcrdma_ep_close(round & 2 ? c->ep : s->ep, NULL);
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(s));
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(c));
		KUNIT_EXPECT_TRUE(test, shim_all_released(s));
		for (i = 0; i < 6; i++)
			shim_rpc_end(c, &rpcs[i]);
		shim_disconnect(test, pair);
	}
}

/* Close while Replies wait at the responder for DONE or for credits. */
static void pull_close_exposed(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_side *c = &pair->client, *s = &pair->server;
	struct shim_rpc *rpcs = shim_rpcs(test, 8);
	int i, round;

	shim_pull_params(pair);
	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	for (round = 0; round < 4; round++) {
		shim_open(test);
		c->no_done = true;
		s->hold_calls = true;
		for (i = 0; i < 8; i++) {
			shim_rpc_init(&rpcs[i], NULL, NULL);
			rpcs[i].inline_res = 60000;
			KUNIT_ASSERT_EQ(test, shim_rpc_send(c, &rpcs[i]), 0);
		}
		KUNIT_ASSERT_TRUE(test, shim_wait_until(s,
				  READ_ONCE(s->nr_held) == 8));
		if (round & 1)
			shim_mute = SHIM_MUTE_SERVER;
		shim_release(s, 8);
		rpcrdma_ep_close(round & 2 ? c->ep : s->ep, NULL);
		KUNIT_EXPECT_TRUE(test, shim_wait_gone(s));
		KUNIT_EXPECT_TRUE(test, shim_all_released(s));
		for (i = 0; i < 8; i++) {
			shim_rpc_wait(c, &rpcs[i]);
			shim_rpc_end(c, &rpcs[i]);
		}
		shim_disconnect(test, pair);
	}
}

static void pull_close_under_load(struct kunit *test)
{
	shim_pull_params(test->priv);
	close_under_load(test);
}

static void pull_after_any_fault(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	shim_pull_params(pair);
	pair->server_params.max_mrs = 4;
	shim_after_any_fault(test);
}

static struct kunit_case pull_cases[] = {
	KUNIT_CASE(pull_all_lengths),
	KUNIT_CASE(pull_plain_done),
	KUNIT_CASE(pull_traffic),
	KUNIT_CASE(pull_never_done),
	KUNIT_CASE(pull_other_dones),
	KUNIT_CASE(pull_wrong_handle),
	KUNIT_CASE(pull_forgotten),
	KUNIT_CASE(pull_beyond_the_bound),
	KUNIT_CASE(pull_not_negotiated),
	KUNIT_CASE(pull_no_access_afterwards),
	KUNIT_CASE(pull_read_only),
	KUNIT_CASE(pull_close_reading),
	KUNIT_CASE(pull_close_exposed),
	KUNIT_CASE(pull_close_under_load),
	KUNIT_CASE(pull_after_any_fault),
#ifdef SHIM_FIRST_DEVICE
	KUNIT_CASE(pull_smallest_window),
#endif
	{}
};

static struct kunit_suite pull_suite = {
	.name		= "rpcrdma_ep_pull" SHIM_OVER,
	.suite_init	= SHIM_SUITE_INIT,
	.suite_exit	= shim_suite_exit,
	.init		= shim_test_init,
	.exit		= shim_test_exit,
	.test_cases	= pull_cases,
};

/* ---- Device removal: the last suite, because it leaves no device ---- */

struct shim_removal {
	struct ib_device	*dev;
	struct completion	done;
};

static int shim_remove_fn(void *data)
{
	struct shim_removal *r = data;

	/* "rdma link delete" calls this. */
	ib_unregister_device_and_put(r->dev);
	kthread_complete_and_exit(&r->done, 0);
}

/* Return a reference to @device, which the thread that removes the device consumes. */
static struct ib_device *shim_get_device(const struct ib_device *device)
{
	struct ib_device *dev = NULL;
	struct net_device *ndev;

	rtnl_lock();
	for_each_netdev(&init_net, ndev) {
		dev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
		if (dev == device)
			break;
		if (dev)
			ib_device_put(dev);
		dev = NULL;
	}
	rtnl_unlock();
	return dev;
}

/* Remove a device with a connection under load and a listener bound to its address. */
static void removal_under_load(struct kunit *test)
{
	struct shim_pair *pair = shim_open_pull(test);
	struct shim_removal *r;
	struct shim_caller *c;
	int i;

	c = kunit_kcalloc(test, 4, sizeof(*c), GFP_KERNEL);
	/* Not allocated by KUnit, because the thread may outlive the test. */
	r = kzalloc(sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_NOT_NULL(test, r);
	for (i = 0; i < 4; i++) {
		c[i].may_fail = true;
		/* Large Replies are pulled. */
		c[i].max_inline = i == 2 ? 100000 : 0;
		shim_caller_start(test, &c[i], i & 1 ? &pair->server :
				  &pair->client, UINT_MAX, 50000);
	}
	init_completion(&r->done);
	r->dev = shim_get_device(pair->client.ep->device);
	KUNIT_ASSERT_NOT_NULL(test, r->dev);
	schedule_timeout_uninterruptible(HZ / 2);
	kthread_run(shim_remove_fn, r, "shim_remove");

	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->client));
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
	for (i = 0; i < 4; i++)
		shim_caller_wait(test, &c[i]);
	/* The endpoint does not delay the removal, even if it is still referenced. */
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&r->done, 60 * HZ));
	kfree(r);
	shim_memdev = NULL;
	shim_disconnect(test, pair);
	KUNIT_EXPECT_TRUE(test, IS_ERR(rpcrdma_ep_connect(&init_net,
			  rpcrdma_listener_addr(pair->listener), NULL,
			  &pair->client_params, &shim_no_ops,
				NULL, NULL)));
}

static struct kunit_case removal_cases[] = {
	KUNIT_CASE(removal_under_load),
	{}
};

static struct kunit_suite removal_suite = {
	.name		= "rpcrdma_ep_removal" SHIM_OVER,
	.suite_init	= SHIM_SUITE_INIT,
	.suite_exit	= shim_suite_exit,
	.init		= shim_test_init,
	.exit		= shim_test_exit,
	.test_cases	= removal_cases,
};

kunit_test_suites(&credits_suite, &data_suite, &close_suite, &pull_suite,
		  &removal_suite);

MODULE_DESCRIPTION("KUnit tests of the RPC-over-RDMA endpoint");
MODULE_LICENSE("GPL");
