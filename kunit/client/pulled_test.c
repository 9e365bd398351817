// SPDX-License-Identifier: GPL-2.0
/* The client: pulled Replies */
#include "peer.h"

/*
 * Connect. Neither end supports continued messages, and Calls have no Reply chunk, so
 * that large Replies are pulled.
 */
static struct peer *peer_open_pull(struct kunit *test)
{
	struct peer *peer = test->priv;

	rpcrdma_settings.max_reassembly = 0;
	peer->params.reassembly = 0;
	peer->params.expose_octets = 1 << 20;
	peer->params.done_ms = 60000;
	return peer_open(test);
}

void pull_replies(struct kunit *test)
{
	struct peer *peer = peer_open_pull(test);
	struct rpcrdma_ep *ep;

	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 100, false), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 5000, false), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, 20000, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[2].has_reply, 0);
	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	KUNIT_EXPECT_EQ(test, ep->core.conn.counters.replies_to_pull, 3ULL);
	rpcrdma_ep_put(ep);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

/*
 * The Read of a pulled Reply completes only when the connection is lost. If @kill is
 * set, the RPC is killed during the Read.
 */
static void pull_interrupted(struct kunit *test, bool kill)
{
	struct peer *peer = peer_open_pull(test);
	unsigned long end = jiffies + PEER_WAIT_S * HZ;
	struct rpcrdma_ep *ep, *server;
	struct peer_rpc *rpc;
	struct rpc_task *task;

	KUNIT_ASSERT_EQ(test, peer_call(test, 0, 0, 0, false), 0);
	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	server = peer_server_ep(peer);

	peer->mute_client = true;
	rpc = peer_rpc_alloc(0, 0, 60001, false);
	KUNIT_ASSERT_NOT_NULL(test, rpc);
	task = peer_start(peer, rpc);
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (!READ_ONCE(ep->core.conn.counters.replies_to_pull) &&
	       time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, ep->core.conn.counters.replies_to_pull, 1ULL);
	schedule_timeout_uninterruptible(HZ / 10);
	if (kill)
		rpc_killall_tasks(peer->clnt);
	schedule_timeout_uninterruptible(HZ / 2);
	/* The RPC must not end: the device may still write to its memory. */
	KUNIT_EXPECT_TRUE(test, RPC_IS_ACTIVATED(task));

	peer->mute_client = false;
	loop_mute = 0;
	rpcrdma_ep_close(server, NULL);
	rpc_wait_for_completion_task(task);
	if (kill) {
		KUNIT_EXPECT_LT(test, task->tk_status, 0);
	} else {
		KUNIT_EXPECT_EQ(test, task->tk_status, 0);
		KUNIT_EXPECT_EQ(test, peer_rpc_result(rpc), 0);
	}
	rpc_put_task(task);
	peer_rpc_free(rpc);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 2);
	rpcrdma_ep_put(server);
	rpcrdma_ep_put(ep);
}

static void pull_killed(struct kunit *test)
{
	pull_interrupted(test, true);
}

static void pull_reconnect(struct kunit *test)
{
	pull_interrupted(test, false);
}

static struct kunit_case pull_cases[] = {
	KUNIT_CASE(pull_replies),
	KUNIT_CASE(pull_killed),
	KUNIT_CASE(pull_reconnect),
	{}
};

static struct kunit_suite client_pull_suite = {
	.name		= "rpcrdma_client_pull",
	.suite_init	= peer_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= peer_test_init,
	.exit		= peer_test_exit,
	.test_cases	= pull_cases,
};

kunit_test_suite(client_pull_suite);
