// SPDX-License-Identifier: GPL-2.0
/* The endpoint: credits and Receives */
#include <rdma/ib_verbs.h>

#include "endpoint.h"

static void LOOP_ONCE credits_one_at_a_time(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct rpcrdma_ep *c = pair->client.ep, *s = pair->server.ep;
	int i;

	/* 4.2.1: the transport delivers reliably and in order. */
	KUNIT_EXPECT_EQ(test, c->qp->qp_type, IB_QPT_RC);
	KUNIT_EXPECT_EQ(test, s->qp->qp_type, IB_QPT_RC);
	loop_check_idle(test, &pair->client);
	loop_check_idle(test, &pair->server);
	for (i = 0; i < 200; i++)
		KUNIT_ASSERT_EQ(test, loop_one_rpc(&pair->client, 0, 0, 0,
						   PAGE_SIZE), 0);
	loop_check_idle(test, &pair->client);
	loop_check_idle(test, &pair->server);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair->server.calls), 200);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair->client.replies), 200);
	KUNIT_EXPECT_EQ(test, c->core.conn.sent, s->core.conn.received);
	KUNIT_EXPECT_EQ(test, s->core.conn.sent, c->core.conn.received);
	/* Other headers convey the credits, so that few credit grants are needed. */
	KUNIT_EXPECT_LE(test, c->core.conn.counters.grants_sent, 2ULL);
	KUNIT_EXPECT_LE(test, s->core.conn.counters.grants_sent, 2ULL);
}

static void LOOP_ONCE credits_held_calls(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_rpc *rpcs = loop_rpcs(test, LOOP_MANY);
	u32 window = pair->server_params.window;
	struct loop_side *c = &pair->client, *s = &pair->server;
	int sent, seen, i;

	s->hold_calls = true;
	sent = loop_fill_window(c, rpcs, LOOP_MANY);
	/* Calls don't use the last two credits. */
	KUNIT_EXPECT_GE(test, sent, (int)window - 3);
	KUNIT_EXPECT_LE(test, sent, (int)window - 2);
	KUNIT_ASSERT_TRUE(test, loop_wait_until(s, READ_ONCE(s->nr_held) ==
						(u32)sent));
	KUNIT_EXPECT_EQ(test, loop_rpc_try(c, &rpcs[sent]), -EAGAIN);
	loop_check_idle(test, s);

	/*
	 * Each released Receive permits another Call, through an unsolicited credit
	 * grant.
	 */
	for (i = 0; i < 8; i++) {
		seen = atomic_read(&c->space);
		if (loop_rpc_try(c, &rpcs[sent]) == -EAGAIN) {
			loop_release(s, 1);
			KUNIT_ASSERT_TRUE(test, loop_wait_until(c,
					  atomic_read(&c->space) != seen));
			KUNIT_ASSERT_EQ(test, loop_rpc_try(c, &rpcs[sent]), 0);
		}
		sent++;
	}
	s->hold_calls = false;
	for (i = 0; i < sent; i++) {
		loop_release(s, UINT_MAX);
		KUNIT_EXPECT_EQ(test, loop_rpc_wait(c, &rpcs[i]), 0);
		loop_rpc_end(c, &rpcs[i]);
	}
	loop_check_idle(test, c);
	loop_check_idle(test, s);
}

static void LOOP_ONCE credits_held_replies(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_rpc *rpcs = loop_rpcs(test, LOOP_MANY);
	struct loop_side *c = &pair->client, *s = &pair->server;
	int i;

	c->hold_replies = true;
	for (i = 0; i < LOOP_MANY; i++)
		KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
	KUNIT_EXPECT_TRUE(test, loop_poll(loop_replies_wait(s->ep)));
	KUNIT_EXPECT_LE(test, READ_ONCE(c->nr_held),
			pair->client_params.window);
	for (i = 0; i < LOOP_MANY; i++) {
		KUNIT_ASSERT_TRUE(test, loop_wait_until(c,
				  READ_ONCE(c->nr_held)));
		loop_release(c, 1);
	}
	for (i = 0; i < LOOP_MANY; i++) {
		KUNIT_EXPECT_EQ(test, loop_rpc_wait(c, &rpcs[i]), 0);
		loop_rpc_end(c, &rpcs[i]);
	}
	loop_check_idle(test, c);
	loop_check_idle(test, s);
}

static void LOOP_ONCE credits_both_directions(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);

	loop_traffic(test, pair, 6, 60, 5000, PAGE_SIZE, 0, true);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair->client.calls), 180);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair->server.calls), 180);
}

/* The smallest window at both ends */
static void LOOP_ONCE credits_smallest_window(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.window = RPCRDMA_MIN_WINDOW;
	loop_open(test);
	loop_traffic(test, pair, 6, 40, 0, PAGE_SIZE, 0, true);
}

static void LOOP_ONCE credits_lopsided_windows(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.window = 64;
	loop_open(test);
	loop_traffic(test, pair, 8, 40, 0, PAGE_SIZE, 0, true);
}

/* Continued messages in both directions, and other messages */
static void LOOP_ONCE credits_continued(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct rpcrdma_conn_counters *c = &pair->client.ep->core.conn.counters;

	loop_traffic(test, pair, 6, 40, 5000, PAGE_SIZE, 20000, true);
	KUNIT_EXPECT_GT(test, c->calls[RPCRDMA_CONTINUED], 0ULL);
	KUNIT_EXPECT_GT(test, c->replies[RPCRDMA_CONTINUED], 0ULL);
}

static void LOOP_ONCE credits_continued_smallest_window(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.window = RPCRDMA_MIN_WINDOW;
	loop_open(test);
	loop_traffic(test, pair, 6, 20, 0, PAGE_SIZE, 20000, true);
}

/* The server answers with ERR_VERS, and the client falls back to version 1. */
static void LOOP_ONCE credits_version_1(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	int i;

	pair->server_params.version_low = RPCRDMA_VERS_1;
	pair->server_params.version_high = RPCRDMA_VERS_1;
	pair->client_params.version_low = RPCRDMA_VERS_1;
	loop_open(test);
	KUNIT_EXPECT_EQ(test, pair->client.ep->core.conn.version, RPCRDMA_VERS_1);
	for (i = 0; i < 50; i++)
		KUNIT_ASSERT_EQ(test, loop_one_rpc(&pair->client, 0, 0, 0,
						   PAGE_SIZE), 0);
	loop_traffic(test, pair, 6, 40, 0, PAGE_SIZE, 0, true);
	loop_traffic(test, pair, 6, 40, 5000, PAGE_SIZE, 0, false);
}

/*
 * A client limited to version 1 is open as soon as it is connected. It must not allocate
 * Receives in the CM handler that reports the connection.
 */
static void LOOP_ONCE credits_version_1_alone(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->server_params.version_low = RPCRDMA_VERS_1;
	pair->client_params.version_low = RPCRDMA_VERS_1;
	pair->client_params.version_high = RPCRDMA_VERS_1;
	/* With this window, further Receives are due when the connection opens. */
	pair->client_params.first_window = RPCRDMA_MIN_WINDOW;
	loop_open(test);
	KUNIT_EXPECT_EQ(test, pair->client.ep->core.conn.version, RPCRDMA_VERS_1);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_misuse), 0);
	loop_traffic(test, pair, 6, 40, 5000, PAGE_SIZE, 0, false);
}

/* Callers have to wait for MRs: each may need half of all MRs. */
static void credits_few_mrs(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->client_params.max_mrs = 8;
	loop_open(test);
	loop_traffic(test, pair, 5, 40, 4000, 1000, 0, false);
	KUNIT_EXPECT_LE(test, pair->client.ep->core.mrs.pool.made, 8U);
}

/* Callers have to wait for Send Queue slots: a Call may use half of the Send Queue. */
static void credits_short_send_queue(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->client_params.sends = 4;
	pair->client_params.reads = 0;
	loop_open(test);
	kunit_info(test, "Send Queue of %u", pair->client.ep->core.sq.depth);
	loop_traffic(test, pair, 5, 40, 8000, 1000, 0, false);
}

/* The device supports shorter Send Queues than requested, at either end. */
static void credits_shrunk_send_queue(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	int client;

	for (client = 0; client < 2; client++) {
		loop_max_send_wr[client] = 80;
		loop_open(test);
		KUNIT_EXPECT_LT(test, client ? pair->client.ep->core.rw.pool.mrs :
				pair->server.ep->core.rw.pool.mrs,
				client ? pair->client_params.reads :
				pair->server_params.reads);
		loop_traffic(test, pair, 4, 30, 100000, PAGE_SIZE, 0, true);
		loop_disconnect(test, pair);
		/* Below a minimum, connecting fails. */
		loop_max_send_wr[client] = 8;
		KUNIT_EXPECT_NE(test, loop_connect(pair), 0);
		loop_disconnect(test, pair);
	}
}

static struct kunit_case credits_cases[] = {
	KUNIT_CASE(credits_few_mrs),
	KUNIT_CASE(credits_short_send_queue),
	KUNIT_CASE(credits_shrunk_send_queue),
#ifdef LOOP_FIRST_DEVICE
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
	.name		= "rpcrdma_ep_credits" LOOP_OVER,
	.suite_init	= LOOP_SUITE_INIT,
	.suite_exit	= loop_suite_exit,
	.init		= loop_test_init,
	.exit		= loop_test_exit,
	.test_cases	= credits_cases,
};

kunit_test_suite(credits_suite);
