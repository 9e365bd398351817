// SPDX-License-Identifier: GPL-2.0
/* The endpoint: pulled Replies */
#include "endpoint.h"

/* Long enough for some RPCs and for checking them, even on a slow machine */
enum { PULL_DONE_MS = 4000 };

static int loop_pull_rpc(struct loop_pair *pair, u32 len)
{
	return loop_an_rpc(&pair->client, 0, 0, 0, PAGE_SIZE, 0, len);
}

static bool loop_all_released(struct loop_side *side)
{
	return atomic_read(&side->released) == atomic_read(&side->exposed);
}

static struct rpcrdma_conn_counters *loop_counters(struct loop_side *side)
{
	return &side->ep->core.conn.counters;
}

/* Each Reply is exposed, read, and released by a DONE with Remote Invalidation. */
static void pull_all_lengths(struct kunit *test)
{
	static const u32 lengths[] = {
		4076, 4080, 4096, 5000, 8192, 65536, 100004, 262144, 1 << 20,
		(1 << 20) + 4096,
	};
	struct loop_pair *pair = loop_open_pull(test);
	struct loop_side *c = &pair->client, *s = &pair->server;
	u32 i, n = ARRAY_SIZE(lengths);

	/* A Reply that fits inline is not pulled. */
	KUNIT_EXPECT_EQ(test, loop_pull_rpc(pair, 4000), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->exposed), 0);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ_MSG(test, loop_pull_rpc(pair, lengths[i]), 0,
				    "%u octets", lengths[i]);
	KUNIT_EXPECT_TRUE(test, loop_wait_until(s, loop_all_released(s)));
	KUNIT_EXPECT_EQ(test, atomic_read(&s->exposed), (int)n);
	KUNIT_EXPECT_EQ(test, loop_counters(s)->replies_exposed, (u64)n);
	KUNIT_EXPECT_EQ(test, loop_counters(c)->replies_to_pull, (u64)n);
	KUNIT_EXPECT_EQ(test, loop_counters(c)->dones_sent, (u64)n);
	KUNIT_EXPECT_EQ(test, loop_counters(s)->dones_received, (u64)n);
	KUNIT_EXPECT_EQ(test, loop_counters(s)->dones_overdue, 0ULL);
	KUNIT_EXPECT_EQ(test, s->ep->core.arrivals.remote_inv, (u64)n);
	KUNIT_EXPECT_EQ(test, s->ep->core.conn.exposed_octets, 0U);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	loop_check_idle(test, c);
	loop_check_idle(test, s);
}

/*
 * After a DONE without Remote Invalidation, the Responder invalidates all MRs itself.
 */
static void pull_plain_done(struct kunit *test)
{
	struct loop_pair *pair = loop_open_pull(test);
	struct loop_side *s = &pair->server;
	int i;

	pair->client.plain_done = true;
	for (i = 0; i < 10; i++)
		KUNIT_ASSERT_EQ(test, loop_pull_rpc(pair, 20000 * i + 5000), 0);
	KUNIT_EXPECT_TRUE(test, loop_wait_until(s, loop_all_released(s)));
	KUNIT_EXPECT_EQ(test, atomic_read(&s->exposed), 10);
	KUNIT_EXPECT_EQ(test, s->ep->core.arrivals.remote_inv, 0ULL);
	KUNIT_EXPECT_GE(test, atomic64_read(&s->ep->local_inv), 10LL);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	loop_check_idle(test, s);
}

/* Many pulled Replies at the same time, with other traffic */
static void pull_traffic(struct kunit *test)
{
	struct loop_pair *pair = loop_open_pull(test);
	struct loop_side *s = &pair->server;

	loop_traffic(test, pair, 8, 60, 5000, PAGE_SIZE, 30000, false);
	KUNIT_EXPECT_GT(test, atomic_read(&s->exposed), 50);
	KUNIT_EXPECT_TRUE(test, loop_wait_until(s, loop_all_released(s)));
	KUNIT_EXPECT_EQ(test, loop_counters(s)->dones_received,
			(u64)atomic_read(&s->exposed));
	KUNIT_EXPECT_EQ(test, loop_counters(s)->errors_sent, 0ULL);
}

static void LOOP_ONCE pull_smallest_window(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.window = RPCRDMA_MIN_WINDOW;
	pull_traffic(test);
}

/*
 * Without a DONE, a Reply is released after the time limit, and not before. A late DONE
 * has no effect.
 */
static void pull_never_done(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	u64 overdue = rpcrdma_counted(&init_net, RPCRDMA_COUNT_PULLS_OVERDUE);
	u32 xid = c->xid;
	int i;

	loop_pull_params(pair);
	pair->server_params.done_ms = PULL_DONE_MS;
	loop_open(test);
	c->no_done = true;
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, loop_pull_rpc(pair, 50000), 0);
	KUNIT_EXPECT_GT(test, loop_valid_handles(), 0U);
	KUNIT_EXPECT_TRUE(test, loop_wait_until(s, loop_all_released(s)));
	KUNIT_EXPECT_EQ(test, loop_counters(s)->dones_overdue, 3ULL);
	KUNIT_EXPECT_EQ(test, rpcrdma_counted(&init_net, RPCRDMA_COUNT_PULLS_OVERDUE),
			overdue + 3);
	KUNIT_EXPECT_EQ(test, s->ep->core.conn.exposed_octets, 0U);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	for (i = 0; i < 3; i++)
		rpcrdma_core_send_done(&c->ep->core, xid + i, 0);
	c->no_done = false;
	KUNIT_EXPECT_EQ(test, loop_pull_rpc(pair, 50000), 0);
	KUNIT_EXPECT_TRUE(test, loop_wait_until(s, loop_all_released(s)));
	KUNIT_EXPECT_EQ(test, loop_counters(s)->dones_received, 1ULL);
	KUNIT_EXPECT_EQ(test, loop_counters(s)->dropped, 3ULL);
	loop_check_idle(test, c);
	loop_check_idle(test, s);
}

/* A second DONE, or a DONE for an unknown Reply, has no effect. */
static void pull_other_dones(struct kunit *test)
{
	struct loop_pair *pair = loop_open_pull(test);
	struct loop_side *c = &pair->client, *s = &pair->server;
	u32 i, xid = c->xid;

	for (i = 0; i < 5; i++) {
		rpcrdma_core_send_done(&c->ep->core, xid + i, 0);
		KUNIT_ASSERT_EQ(test, loop_pull_rpc(pair, 50000), 0);
		rpcrdma_core_send_done(&c->ep->core, xid + i, 0);
		rpcrdma_core_send_done(&c->ep->core, ~xid, 0);
	}
	KUNIT_EXPECT_EQ(test, loop_pull_rpc(pair, 100), 0);
	KUNIT_EXPECT_TRUE(test, loop_wait_until(s, loop_all_released(s)));
	KUNIT_EXPECT_EQ(test, loop_counters(s)->dones_received, 5ULL);
	KUNIT_EXPECT_EQ(test, loop_counters(s)->dropped, 15ULL);
	KUNIT_EXPECT_TRUE(test, rpcrdma_ep_is_open(s->ep));
	loop_check_idle(test, c);
	loop_check_idle(test, s);
}

/* A DONE that invalidates the handle of another Reply ends the connection. */
static void pull_wrong_handle(struct kunit *test)
{
	struct loop_pair *pair = loop_open_pull(test);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 2);
	int i;

	c->no_done = true;
	for (i = 0; i < 2; i++) {
		rpcs[i].inline_res = 50000;
		KUNIT_ASSERT_EQ(test, loop_rpc_do(c, &rpcs[i]), 0);
	}
	rpcrdma_core_send_done(&c->ep->core, rpcs[0].xid,
			     rpcs[1].reply_lists.inv_handle);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
	KUNIT_EXPECT_TRUE(test, loop_all_released(s));
}

/* The RPC is abandoned before its Reply arrives. */
static void pull_forgotten(struct kunit *test)
{
	struct loop_pair *pair = loop_open_pull(test);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 4);
	int i;

	s->hold_calls = true;
	for (i = 0; i < 4; i++) {
		rpcs[i].inline_res = 50000;
		KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, loop_wait_until(s, READ_ONCE(s->nr_held) == 4));
	for (i = 0; i < 4; i++)
		loop_rpc_end(c, &rpcs[i]);
	loop_release(s, 4);
	KUNIT_EXPECT_TRUE(test, loop_wait_until(s, loop_all_released(s)));
	KUNIT_EXPECT_EQ(test, atomic_read(&s->exposed), 4);
	KUNIT_EXPECT_EQ(test, loop_counters(s)->dones_received, 4ULL);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	loop_check_idle(test, c);
	loop_check_idle(test, s);
}

/*
 * Above the limit of exposed bytes, a Reply becomes an ERROR, until others are
 * released.
 */
static void pull_beyond_the_bound(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	int i;

	loop_pull_params(pair);
	pair->server_params.expose_octets = 200000;
	pair->server_params.done_ms = PULL_DONE_MS;
	loop_open(test);
	c->no_done = true;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, loop_pull_rpc(pair, 60000), 0);
	KUNIT_EXPECT_EQ(test, loop_pull_rpc(pair, 60000), -EREMOTEIO);
	KUNIT_EXPECT_TRUE(test, loop_wait_until(s, loop_all_released(s)));
	KUNIT_EXPECT_EQ(test, loop_pull_rpc(pair, 199000), 0);
	KUNIT_EXPECT_EQ(test, loop_pull_rpc(pair, 300000), -EREMOTEIO);
	loop_check_idle(test, c);
	loop_check_idle(test, s);
}

/* Replies are pulled only if both ends support it. */
static void pull_not_negotiated(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	loop_pull_params(pair);
	pair->client_params.pull = false;
	loop_open(test);
	KUNIT_EXPECT_EQ(test, loop_pull_rpc(pair, 60000), -EREMOTEIO);
	loop_disconnect(test, pair);
	pair->client_params.pull = true;
	pair->server_params.expose_octets = 0;
	loop_open(test);
	KUNIT_EXPECT_EQ(test, loop_pull_rpc(pair, 60000), -EREMOTEIO);
}

/* A released Reply cannot be read any more. */
static void pull_no_access_afterwards(struct kunit *test)
{
	struct loop_pair *pair = loop_open_pull(test);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpc = loop_rpcs(test, 1);

	rpc->inline_res = 50000;
	KUNIT_ASSERT_EQ(test, loop_rpc_do(c, rpc), 0);
	KUNIT_EXPECT_TRUE(test, rpc->pulled);
	KUNIT_EXPECT_TRUE(test, loop_wait_until(s, loop_all_released(s)));
	loop_intrude(test, c, &rpc->reply_lists, &rpc->reply_lists.reads[0],
		     DMA_FROM_DEVICE);
}

/* Memory exposed for reading cannot be written. */
static void pull_read_only(struct kunit *test)
{
	struct loop_pair *pair = loop_open_pull(test);
	struct loop_side *c = &pair->client;
	struct loop_rpc *rpc = loop_rpcs(test, 1);

	if (loop_iwarp)
		kunit_skip(test, "siw does not check access rights");
	c->no_done = true;
	rpc->inline_res = 50000;
	KUNIT_ASSERT_EQ(test, loop_rpc_do(c, rpc), 0);
	loop_intrude(test, c, &rpc->reply_lists, &rpc->reply_lists.reads[0],
		     DMA_TO_DEVICE);
}

/*
 * Close either end while Reads are outstanding, or while Reads are posted that are
 * never executed.
 */
static void pull_close_reading(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 6);
	int i, round;

	loop_pull_params(pair);
	for (round = 0; round < 8; round++) {
		loop_open(test);
		s->hold_calls = true;
		for (i = 0; i < 6; i++) {
			loop_rpc_init(&rpcs[i], NULL, NULL);
			rpcs[i].inline_res = 400000;
			KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
		}
		KUNIT_ASSERT_TRUE(test, loop_wait_until(s,
				  READ_ONCE(s->nr_held) == 6));
		if (round & 1)
			loop_mute = LOOP_MUTE_CLIENT;
		loop_release(s, 6);
		KUNIT_EXPECT_TRUE(test, loop_poll(
				  atomic_read(&c->replies) > round % 3));
		if (round & 4)
			loop_close_by_many(test, pair);
		else
			rpcrdma_ep_close(round & 2 ? c->ep : s->ep, NULL);
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(c));
		KUNIT_EXPECT_TRUE(test, loop_all_released(s));
		for (i = 0; i < 6; i++)
			loop_rpc_end(c, &rpcs[i]);
		loop_disconnect(test, pair);
	}
}

/* Close while Replies wait at the Responder for DONE or for credits. */
static void pull_close_exposed(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 8);
	int i, round;

	loop_pull_params(pair);
	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	for (round = 0; round < 4; round++) {
		loop_open(test);
		c->no_done = true;
		s->hold_calls = true;
		for (i = 0; i < 8; i++) {
			loop_rpc_init(&rpcs[i], NULL, NULL);
			rpcs[i].inline_res = 60000;
			KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
		}
		KUNIT_ASSERT_TRUE(test, loop_wait_until(s,
				  READ_ONCE(s->nr_held) == 8));
		if (round & 1)
			loop_mute = LOOP_MUTE_SERVER;
		loop_release(s, 8);
		rpcrdma_ep_close(round & 2 ? c->ep : s->ep, NULL);
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
		KUNIT_EXPECT_TRUE(test, loop_all_released(s));
		for (i = 0; i < 8; i++) {
			loop_rpc_wait(c, &rpcs[i]);
			loop_rpc_end(c, &rpcs[i]);
		}
		loop_disconnect(test, pair);
	}
}

static void pull_close_under_load(struct kunit *test)
{
	loop_pull_params(test->priv);
	loop_close_under_load(test);
}

static void pull_after_any_fault(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	loop_pull_params(pair);
	pair->server_params.max_mrs = 4;
	loop_after_any_fault(test);
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
#ifdef LOOP_FIRST_DEVICE
	KUNIT_CASE(pull_smallest_window),
#endif
	{}
};

static struct kunit_suite pull_suite = {
	.name		= "rpcrdma_ep_pull" LOOP_OVER,
	.suite_init	= LOOP_SUITE_INIT,
	.suite_exit	= loop_suite_exit,
	.init		= loop_test_init,
	.exit		= loop_test_exit,
	.test_cases	= pull_cases,
};

kunit_test_suite(pull_suite);
