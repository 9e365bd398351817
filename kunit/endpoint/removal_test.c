// SPDX-License-Identifier: GPL-2.0
/* The endpoint: device removal. This is the last suite, because no device remains. */
#include <linux/kthread.h>
#include <linux/slab.h>

#include "endpoint.h"

/* Remove a device with a connection under load and a listener bound to its address. */
static void removal_under_load(struct kunit *test)
{
	struct loop_pair *pair = loop_open_pull(test);
	struct loop_removal *r;
	struct loop_caller *c;
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
		loop_caller_start(test, &c[i], i & 1 ? &pair->server :
				  &pair->client, UINT_MAX, 50000);
	}
	init_completion(&r->done);
	r->dev = loop_get_device(pair->client.ep->device);
	KUNIT_ASSERT_NOT_NULL(test, r->dev);
	schedule_timeout_uninterruptible(HZ / 2);
	kthread_run(loop_remove_fn, r, "loop_remove");

	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
	for (i = 0; i < 4; i++)
		loop_caller_wait(test, &c[i]);
	/* The endpoint does not delay the removal, even if it is still referenced. */
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&r->done, 60 * HZ));
	kfree(r);
	loop_memdev = NULL;
	loop_disconnect(test, pair);
	KUNIT_EXPECT_TRUE(test, IS_ERR(rpcrdma_ep_connect(&init_net,
			  rpcrdma_listener_addr(pair->listener), NULL,
			  &pair->client_params, &loop_no_ops,
				NULL, 0, NULL)));
}

static struct kunit_case removal_cases[] = {
	KUNIT_CASE(removal_under_load),
	{}
};

static struct kunit_suite removal_suite = {
	.name		= "rpcrdma_ep_removal" LOOP_OVER,
	.suite_init	= LOOP_SUITE_INIT,
	.suite_exit	= loop_suite_exit,
	.init		= loop_test_init,
	.exit		= loop_test_exit,
	.test_cases	= removal_cases,
};

kunit_test_suite(removal_suite);
