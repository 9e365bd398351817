// SPDX-License-Identifier: GPL-2.0
/*
 * The endpoint: workqueues. Here each of them runs one work item at a time. If a work item of
 * one connection waits, it must not delay another connection.
 */
#include <linux/key.h>
#include <linux/kthread.h>

#include "endpoint.h"

static const char queues_secret[] = "a secret of 32 bytes for testing";

static DECLARE_COMPLETION(queues_held);
static DECLARE_COMPLETION(queues_go);
static atomic_t queues_calls;

/* Hold the first work item that calls this until the test has used another connection. */
static void queues_hold(void)
{
	if (atomic_inc_return(&queues_calls) != 1)
		return;
	complete_all(&queues_held);
	if (!wait_for_completion_timeout(&queues_go, 3 * LOOP_WAIT_S * HZ))
		atomic_inc(&loop_misuse);
}

/* Do not hold the first look-up, because the connecting context makes it, not a work item. */
static void queues_hold_lookup(unsigned int n)
{
	if (n)
		queues_hold();
}

static void queues_await_hold(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&queues_held,
							    LOOP_WAIT_S * HZ));
}

/* Connect @pair, and run RPCs that need Replies, and MRs that are not allocated yet. */
static void queues_use(struct kunit *test, struct loop_pair *pair)
{
	unsigned int i;

	if (!pair->client.ep)
		KUNIT_ASSERT_EQ(test, loop_connect(pair), 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 20000, 20000, 0,
						   PAGE_SIZE), 0);
}

static struct loop_pair *queues_other(struct kunit *test)
{
	struct loop_pair *pair = loop_pair_new(test);

	KUNIT_ASSERT_FALSE(test, IS_ERR(pair));
	return pair;
}

static void queues_end(struct kunit *test, struct loop_pair *pair)
{
	rpcrdma_listener_destroy(pair->listener);
	loop_close(test, pair);
}

/* A teardown that waits for a device does not delay another connection. */
static void queues_teardown(struct kunit *test)
{
	struct loop_pair *other = queues_other(test);
	struct loop_pair *pair = loop_open(test);

	loop_before_destroy = queues_hold;
	rpcrdma_ep_close(pair->client.ep, NULL);
	queues_await_hold(test);
	queues_use(test, other);
	complete_all(&queues_go);
	loop_before_destroy = NULL;
	queues_end(test, other);
	loop_disconnect(test, pair);
}

struct queues_connect {
	struct loop_pair	*pair;
	struct completion	done;
};

static int queues_connect_fn(void *data)
{
	struct queues_connect *c = data;

	/* The connection may have been opening for too long. */
	loop_connect(c->pair);
	kthread_complete_and_exit(&c->done, 0);
}

/* A handshake that waits for a key does not delay another connection. */
static void queues_handshake(struct kunit *test)
{
	struct key *key = loop_key(queues_secret, sizeof(queues_secret) - 1);
	struct loop_pair *other = queues_other(test);
	struct loop_pair *pair = test->priv;
	struct queues_connect c = { .pair = pair };
	struct task_struct *task;

	KUNIT_ASSERT_FALSE(test, IS_ERR(key));
	KUNIT_ASSERT_EQ(test, loop_connect(other), 0);
	loop_find_algs();
	loop_find(key);
	loop_set_identity(LOOP_IDENTITY);
	loop_at_lookup = queues_hold_lookup;
	pair->client_params.auth = RPCRDMA_AUTH_REQUIRE;
	pair->server_params.auth = RPCRDMA_AUTH_REQUIRE;
	init_completion(&c.done);
	task = kthread_run(queues_connect_fn, &c, "queues_connect");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	queues_await_hold(test);
	queues_use(test, other);
	complete_all(&queues_go);
	wait_for_completion(&c.done);
	loop_at_lookup = NULL;
	queues_end(test, other);
	loop_disconnect(test, pair);
	loop_find(NULL);
	loop_set_identity("");
	key_put(key);
}

static int queues_test_init(struct kunit *test)
{
	reinit_completion(&queues_held);
	reinit_completion(&queues_go);
	atomic_set(&queues_calls, 0);
	return loop_test_init(test);
}

static int queues_suite_init(struct kunit_suite *suite)
{
	int rc = loop_mem_suite_init(suite);

	if (!rc)
		loop_limit_queues();
	return rc;
}

static struct kunit_case queues_cases[] = {
	KUNIT_CASE(queues_teardown),
	KUNIT_CASE(queues_handshake),
	{}
};

static struct kunit_suite queues_suite = {
	.name		= "rpcrdma_ep_queues",
	.suite_init	= queues_suite_init,
	.suite_exit	= loop_suite_exit,
	.init		= queues_test_init,
	.exit		= loop_test_exit,
	.test_cases	= queues_cases,
};

kunit_test_suite(queues_suite);
