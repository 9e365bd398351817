// SPDX-License-Identifier: GPL-2.0
/* Each tracepoint fires in the situation that settings.rst gives for it. */
#include <linux/key.h>
#include <linux/module.h>
#include <linux/tracepoint.h>

#include "peer.h"

enum {
	TRACE_MAX	= 32,	/* tracepoints of the module */
	TRACE_TASKS	= 10,	/* more Calls than a window of 8 permits */
};

struct trace_count {
	const char	*name;
	atomic_t	fired;
};

static struct trace_count trace_counts[TRACE_MAX];
static struct key *trace_key;

/* The event's own arguments follow @data, and are ignored. */
static void trace_fired(void *data)
{
	struct trace_count *count = data;

	atomic_inc(&count->fired);
}

/* Register trace_fired() for all tracepoints of this module, or unregister it. */
static void trace_all(struct kunit *test, bool on)
{
	unsigned int i, n = THIS_MODULE->num_tracepoints;
	struct trace_count *count = trace_counts;
	struct tracepoint *tp;

	if (WARN_ON(n > TRACE_MAX))
		return;
	for (i = 0; i < n; i++, count++) {
		tp = tracepoint_ptr_deref(&THIS_MODULE->tracepoints_ptrs[i]);
		count->name = tp->name;
		if (on)
			KUNIT_EXPECT_EQ(test, 0, tracepoint_probe_register(tp,
					(void *)trace_fired, count));
		else
			tracepoint_probe_unregister(tp, (void *)trace_fired, count);
	}
	tracepoint_synchronize_unregister();
}

/* Return how often the event @name has fired. */
static int trace_count(const char *name)
{
	unsigned int i;

	for (i = 0; i < TRACE_MAX && trace_counts[i].name; i++)
		if (!strcmp(trace_counts[i].name, name))
			return atomic_read(&trace_counts[i].fired);
	return -ENOENT;
}

#define TRACE_EXPECT(test, name, n) \
	KUNIT_EXPECT_EQ_MSG(test, trace_count(name), n, name)

/*
 * The peer holds its Receives until a Call has to wait for credits, and then releases
 * them.
 */
static void trace_full_window(struct kunit *test, struct peer *peer)
{
	int i, full = trace_count("rpcrdma_sq_full");
	struct peer_task t[TRACE_TASKS];

	peer->hold = true;
	for (i = 0; i < TRACE_TASKS; i++) {
		t[i].rpc = peer_rpc_alloc(4, 0, 4, false);
		KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
		t[i].task = peer_start(peer, t[i].rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
	}
	KUNIT_EXPECT_TRUE(test, loop_poll(trace_count("rpcrdma_sq_full") > full));
	peer_release(peer);
	for (i = 0; i < TRACE_TASKS; i++) {
		rpc_wait_for_completion_task(t[i].task);
		KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
		rpc_put_task(t[i].task);
		peer_rpc_free(t[i].rpc);
	}
}

static void trace_scenario(struct kunit *test)
{
	struct peer *peer = test->priv;

	rpcrdma_settings.max_reassembly = 0;
	peer->params.reassembly = 0;
	peer->params.expose_octets = 1 << 20;
	peer->params.done_ms = 60000;
	peer->params.window = 8;
	peer->params.auth = RPCRDMA_AUTH_OFFER;
	peer_open(test);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 0, 4, false), 0);
	TRACE_EXPECT(test, "rpcrdma_op_connect", 1);
	/* The server's connection manager may report the connection after its first Call. */
	KUNIT_EXPECT_TRUE(test, loop_poll(trace_count("rpcrdma_connect") == 2));
	TRACE_EXPECT(test, "rpcrdma_opened", 2);
	/* One answer of the client, two of the server */
	TRACE_EXPECT(test, "rpcrdma_auth_answer", 3);
	TRACE_EXPECT(test, "rpcrdma_auth_result", 2);
	TRACE_EXPECT(test, "rpcrdma_map", 0);

	/* Chunks of both kinds */
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 50003, 60001, true), 0);
	KUNIT_EXPECT_GT(test, trace_count("rpcrdma_map"), 1);
	TRACE_EXPECT(test, "rpcrdma_pull", 0);

	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), 0);
	TRACE_EXPECT(test, "rpcrdma_pull", 1);
	TRACE_EXPECT(test, "rpcrdma_pulled", 1);
	TRACE_EXPECT(test, "rpcrdma_refuse", 0);
	TRACE_EXPECT(test, "rpcrdma_retry", 0);

	peer_refuse(peer, RDMA2_ERR_REPLY_RESOURCE, 60000, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), 0);
	TRACE_EXPECT(test, "rpcrdma_refuse", 1);
	TRACE_EXPECT(test, "rpcrdma_retry", 1);

	trace_full_window(test, peer);
	KUNIT_EXPECT_GT(test, trace_count("rpcrdma_sq_retry"), 0);
	KUNIT_EXPECT_TRUE(test, loop_poll(trace_count("rpcrdma_grant_received") > 0));

	/* A Send fails, and the client replaces the connection. */
	TRACE_EXPECT(test, "rpcrdma_wc_error", 0);
	TRACE_EXPECT(test, "rpcrdma_disconnect", 0);
	memdev_fail_wr(loop_memdev, IB_WR_SEND, 1, IB_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 0, 4, false), 0);
	KUNIT_EXPECT_TRUE(test, loop_poll(trace_count("rpcrdma_connect") == 4));
	KUNIT_EXPECT_GE(test, trace_count("rpcrdma_disconnect"), 1);
}

static void trace_each_event(struct kunit *test)
{
	unsigned int i;

	trace_scenario(test);
	for (i = 0; i < THIS_MODULE->num_tracepoints; i++)
		KUNIT_EXPECT_GT_MSG(test, atomic_read(&trace_counts[i].fired), 0,
				    "%s", trace_counts[i].name);
}

static int trace_test_init(struct kunit *test)
{
	int rc = peer_test_init(test);

	if (rc)
		return rc;
	trace_key = loop_key("a secret of this suite", 22);
	if (!IS_ERR(trace_key))
		loop_find(trace_key);
	loop_set_identity(LOOP_IDENTITY);
	memset(trace_counts, 0, sizeof(trace_counts));
	trace_all(test, true);
	return 0;
}

/*
 * Unregister even if an assertion has failed, because the module may be unloaded next.
 */
static void trace_exit(struct kunit *test)
{
	trace_all(test, false);
	peer_test_exit(test);
	loop_find(NULL);
	loop_set_identity("");
	if (!IS_ERR_OR_NULL(trace_key))
		key_put(trace_key);
	trace_key = NULL;
}

static struct kunit_case trace_cases[] = {
	KUNIT_CASE(trace_each_event),
	{}
};

static struct kunit_suite client_trace_suite = {
	.name		= "rpcrdma_client_trace",
	.suite_init	= peer_mem_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= trace_test_init,
	.exit		= trace_exit,
	.test_cases	= trace_cases,
};

kunit_test_suite(client_trace_suite);
