// SPDX-License-Identifier: GPL-2.0
/* The client: connection attempts and settings */
#include "peer.h"

/* The delay after failed attempts is bounded, so that no lease expires meanwhile. */
static void connect_backoff(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct sockaddr_in no_listener = loop_addr;
	struct rpc_create_args args = {
		.net		= &init_net,
		.protocol	= XPRT_TRANSPORT_RDMA,
		.address	= (struct sockaddr *)&no_listener,
		.addrsize	= sizeof(no_listener),
		.servername	= "loopback",
		.program	= &peer_program,
		.version	= 1,
		.authflavor	= RPC_AUTH_NULL,
		.flags		= RPC_CLNT_CREATE_NOPING |
				  RPC_CLNT_CREATE_HARDRTRY,
		.cred		= current_cred(),
	};
	static const unsigned long seconds[] = { 5, 10, 10 };
	struct rpc_message msg = {
		.rpc_proc	= &peer_procs[1],
	};
	u64 failed = rpcrdma_counted(&init_net, RPCRDMA_COUNT_CONNECTS_FAILED);
	u64 rejects = rpcrdma_counted(&init_net, RPCRDMA_COUNT_REJECTS_NO_LISTENER);
	struct rpc_xprt *xprt;
	int i;

	atomic_set(&loop_changes, 0);
	msg.rpc_argp = peer_rpc_alloc(0, 0, 0, false);
	KUNIT_ASSERT_NOT_NULL(test, msg.rpc_argp);
	msg.rpc_resp = msg.rpc_argp;
	no_listener.sin_port = htons(9);
	peer->clnt = rpc_create(&args);
	KUNIT_ASSERT_FALSE(test, IS_ERR(peer->clnt));
	xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	/*
	 * Each attempt reaches the other end, which rejects it. The third would double
	 * the delay beyond the bound.
	 */
	for (i = 0; i < ARRAY_SIZE(seconds); i++) {
		KUNIT_EXPECT_EQ(test, rpc_call_sync(peer->clnt, &msg,
						    RPC_TASK_SOFTCONN),
				-ECONNREFUSED);
		KUNIT_EXPECT_EQ(test, xprt->reestablish_timeout,
				seconds[i] * HZ);
	}
	/* The failed attempts are counted by cause, and not announced to programs. */
	failed = rpcrdma_counted(&init_net, RPCRDMA_COUNT_CONNECTS_FAILED) - failed;
	rejects = rpcrdma_counted(&init_net, RPCRDMA_COUNT_REJECTS_NO_LISTENER) - rejects;
	KUNIT_EXPECT_EQ(test, failed, (u64)ARRAY_SIZE(seconds));
	KUNIT_EXPECT_EQ(test, rejects, (u64)ARRAY_SIZE(seconds));
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_changes), 0);
	peer_rpc_free(msg.rpc_argp);
}

/* Run a Call with a Read chunk and a Write chunk, in new MRs if there are no others. */
static void connect_swap_call(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 20000, 20000, true), 0);
}

/* A Reply may end the Call before the work item that processed it has ended. */
static void connect_expect_reserves(struct kunit *test, const char *function)
{
	KUNIT_EXPECT_TRUE_MSG(test, loop_poll(loop_used_reserves(function)), "%s",
			      function);
}

/*
 * With swap over the connection, the connect worker and the work items of the connection
 * use the memory reserves, also if swap begins after the connection has opened.
 */
static void connect_swap(struct kunit *test)
{
	u64 opened = rpcrdma_counted(&init_net, RPCRDMA_COUNT_OPENED);
	struct peer *peer = peer_open(test);
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);

	atomic_set(&loop_changes, 0);
	KUNIT_EXPECT_EQ(test, xprt->ops->enable_swap(xprt), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&xprt->swapper), 1);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	KUNIT_EXPECT_TRUE(test, loop_connect_flags & PF_MEMALLOC);
	connect_swap_call(test);
	connect_expect_reserves(test, "rpcrdma_ep_connect");
	connect_expect_reserves(test, "rpcrdma_recvs_process");
	connect_expect_reserves(test, "rpcrdma_mrs_work");
	connect_expect_reserves(test, "ib_alloc_mr");
	/*
	 * The client's connection is announced to programs. Both ends' connections are
	 * counted.
	 */
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_changes), 1);
	KUNIT_EXPECT_EQ(test, rpcrdma_counted(&init_net, RPCRDMA_COUNT_OPENED),
			opened + 2);
	xprt->ops->disable_swap(xprt);
	KUNIT_EXPECT_EQ(test, atomic_read(&xprt->swapper), 0);
	/* A work item that has begun uses the reserves, or does not, until its end. */
	loop_flush_queues();
	loop_forget_reserves();
	connect_swap_call(test);
	loop_flush_queues();
	KUNIT_EXPECT_FALSE(test, loop_used_reserves(NULL));
	KUNIT_EXPECT_EQ(test, xprt->ops->enable_swap(xprt), 0);
	connect_swap_call(test);
	connect_expect_reserves(test, "rpcrdma_recvs_process");
	xprt->ops->disable_swap(xprt);
}

/*
 * The server denies host authentication. This ends the RPCs of a mount, which use the first
 * transport of its RPC client. Another one (nconnect) first connects for an RPC of a file,
 * which waits until the server has a secret again.
 */
static void connect_denied(struct kunit *test)
{
	struct rpc_message msg = { .rpc_proc = &peer_procs[1] };
	u32 was = rpcrdma_settings.host_auth;
	struct peer *peer = test->priv;
	struct rpc_xprt *xprt;
	struct peer_task t;
	u64 failed;

	rpcrdma_settings.host_auth = RPCRDMA_AUTH_NONE;
	peer->params.auth = RPCRDMA_AUTH_REQUIRE;
	peer_open(test);
	xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	t.rpc = peer_rpc_alloc(0, 0, 0, false);
	KUNIT_ASSERT_NOT_NULL(test, t.rpc);
	msg.rpc_argp = t.rpc;
	msg.rpc_resp = t.rpc;
	if (rpcrdma_xprt_is_main(xprt, false))
		KUNIT_EXPECT_EQ(test, rpc_call_sync(peer->clnt, &msg, RPC_TASK_SOFTCONN),
				-EACCES);
#ifdef HAVE_XPRT_CLASS_MEMBER
	xprt->main = false;
#endif
	failed = rpcrdma_counted(&init_net, RPCRDMA_COUNT_CONNECTS_FAILED);
	t.task = peer_start(peer, t.rpc);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t.task));
	KUNIT_EXPECT_TRUE(test, loop_poll(rpcrdma_counted(&init_net,
							  RPCRDMA_COUNT_CONNECTS_FAILED) >
					  failed));
	peer->params.auth = RPCRDMA_AUTH_NONE;
	rpc_wait_for_completion_task(t.task);
	KUNIT_EXPECT_EQ(test, t.task->tk_status, 0);
	rpc_put_task(t.task);
	peer_rpc_free(t.rpc);
	rpcrdma_settings.host_auth = was;
}

/* Concurrent writes never set the lowest version higher than the highest. */
static void connect_versions_do_not_cross(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, loop_cross_versions("2", "1"), -EINVAL);
	KUNIT_EXPECT_LE(test, rpcrdma_settings.min_version, rpcrdma_settings.max_version);
	rpcrdma_settings.min_version = RPCRDMA_VERS_1;
	rpcrdma_settings.max_version = RPCRDMA_VERS_2;
}

static struct kunit_case connect_cases[] = {
	KUNIT_CASE(connect_swap),
	KUNIT_CASE(connect_denied),
	KUNIT_CASE(connect_versions_do_not_cross),
	KUNIT_CASE(connect_backoff),
	{}
};

static struct kunit_suite connect_suite = {
	.name		= "rpcrdma_client_connect",
	.suite_init	= peer_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= peer_test_init,
	.exit		= peer_test_exit,
	.test_cases	= connect_cases,
};

kunit_test_suite(connect_suite);
