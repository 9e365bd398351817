// SPDX-License-Identifier: GPL-2.0
/* Ends of connections: closed by many threads, under load, and after any fault */
#include <linux/kthread.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "endpoint.h"

static int loop_close_fn(void *data)
{
	struct loop_caller *c = data;

	rpcrdma_ep_close(c->side->ep, NULL);
	rpcrdma_ep_wait_closed(c->side->ep);
	kthread_complete_and_exit(&c->done, 0);
}

void loop_close_by_many(struct kunit *test, struct loop_pair *pair)
{
	struct loop_caller c[4] = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		c[i].side = i & 1 ? &pair->server : &pair->client;
		init_completion(&c[i].done);
		c[i].task = kthread_run(loop_close_fn, &c[i], "loop_close");
		KUNIT_ASSERT_FALSE(test, IS_ERR(c[i].task));
	}
	for (i = 0; i < ARRAY_SIZE(c); i++)
		KUNIT_ASSERT_TRUE(test,
				  wait_for_completion_timeout(&c[i].done,
							      60 * HZ));
}

void loop_close_under_load(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_caller *c;
	unsigned int i, round, ok = 0;

	c = kunit_kcalloc(test, 6, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	for (round = 0; round < 12; round++) {
		loop_open(test);
		for (i = 0; i < 6; i++) {
			memset(&c[i], 0, sizeof(c[i]));
			c[i].may_fail = true;
			c[i].max_inline = i & 2 ? 30000 : 0;
			loop_caller_start(test, &c[i], i % 3 == 2 ?
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
			loop_close_by_many(test, pair);
			break;
		}
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
		for (i = 0; i < 6; i++) {
			loop_caller_wait(test, &c[i]);
			ok += c[i].ok;
		}
		loop_disconnect(test, pair);
	}
	kunit_info(test, "%u RPCs were done", ok);
	KUNIT_EXPECT_GT(test, ok, 0U);
}

static void loop_fault_rpcs(struct loop_pair *pair)
{
	if (loop_an_rpc(&pair->client, 5000, 5000, 77, PAGE_SIZE, 9000, 0))
		return;
	/* A pulled Reply */
	if (pair->client_params.pull)
		loop_an_rpc(&pair->client, 0, 0, 0, PAGE_SIZE, 0, 9000);
}

void loop_after_any_fault(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
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
		loop_fail_at(n);
		if (!loop_connect(pair) &&
		    loop_wait_until(&pair->server,
				    atomic_read(&pair->server.opened) ||
				    atomic_read(&pair->server.closed)))
			loop_fault_rpcs(pair);
		failed = loop_failed();
		loop_fail_at(0);
		loop_disconnect(test, pair);
		if (!failed)
			break;
	}
	kunit_info(test, "%u places", n - 1);
	KUNIT_EXPECT_GT(test, n, 50U);
	KUNIT_EXPECT_LT(test, n, 1000U);
}
