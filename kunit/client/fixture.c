// SPDX-License-Identifier: GPL-2.0
/* Fixture: a peer with a listener, and an RPC client */
#include <linux/module.h>
#include <linux/slab.h>

#include "peer.h"

const struct peer_kind peer_kinds[] = {
	{ "v3", 0 },
	/* The flags that fs/nfs/nfs4client.c sets */
	{ "v4", RPC_CLNT_CREATE_DISCRTRY | RPC_CLNT_CREATE_NO_RETRANS_TIMEOUT },
};

static int peer_suite_begin(struct kunit_suite *suite,
			    int (*init)(struct kunit_suite *suite))
{
	int rc = init(suite);

	if (rc)
		return rc;
	rc = rpcrdma_client_init();
	if (rc)
		goto out_shim;
	rc = xprt_register_transport(&rpcrdma_server_bc_class);
	if (rc)
		goto out_client;
	return 0;

out_client:
	rpcrdma_client_exit();
out_shim:
	loop_suite_exit(suite);
	return rc;
}

int peer_suite_init(struct kunit_suite *suite)
{
	return peer_suite_begin(suite, loop_suite_init);
}

int peer_mem_suite_init(struct kunit_suite *suite)
{
	return peer_suite_begin(suite, loop_mem_suite_init);
}

void peer_suite_exit(struct kunit_suite *suite)
{
	xprt_unregister_transport(&rpcrdma_server_bc_class);
	rpcrdma_client_exit();
	loop_suite_exit(suite);
}

int peer_connect(struct peer *peer)
{
	const struct sockaddr *addr = rpcrdma_listener_addr(peer->listener);
	struct rpc_create_args args = {
		.net		= &init_net,
		.protocol	= XPRT_TRANSPORT_RDMA,
		.address	= (struct sockaddr *)addr,
		.addrsize	= sizeof(struct sockaddr_in),
		.servername	= "loopback",
		.program	= &peer_program,
		.version	= 1,
		.authflavor	= RPC_AUTH_NULL,
		.flags		= RPC_CLNT_CREATE_NOPING |
				  RPC_CLNT_CREATE_HARDRTRY | peer->kind->flags,
		.cred		= current_cred(),
	};

	peer->clnt = rpc_create(&args);
	return PTR_ERR_OR_ZERO(peer->clnt);
}

/* Set the module parameters that tests change. */
static void peer_settings(void)
{
	rpcrdma_settings.slot_table_entries = 128;
	rpcrdma_settings.max_inline_write = 4096;
	rpcrdma_settings.max_reassembly = 262144;
	rpcrdma_settings.reverse_level = RDMA2_RVRSDIR_GENL;
}

int peer_test_init(struct kunit *test)
{
	struct peer *peer;

	peer = kunit_kzalloc(test, sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return -ENOMEM;
	peer->call = kunit_kzalloc(test, PEER_MESSAGE, GFP_KERNEL);
	if (!peer->call)
		return -ENOMEM;
	spin_lock_init(&peer->lock);
	init_waitqueue_head(&peer->wait);
	INIT_LIST_HEAD(&peer->held);
	INIT_LIST_HEAD(&peer->queue);
	INIT_WORK(&peer->work, peer_worker);
	peer->kind = test->param_value ?: peer_kinds;
	peer->params = (struct rpcrdma_ep_params){
		.window		= 32,
		.reverse	= 4,
		.sends		= 64,
		.send_size	= 4096,
		.recv_size	= 4096,
		.reassembly	= 262144,
		.max_mrs	= 64,
		.reads		= 64,
		.version_low	= RPCRDMA_VERS_2,
		.version_high	= RPCRDMA_VERS_2,
	};
	peer->module_refs = module_refcount(THIS_MODULE);
	loop_test_begin();
	peer->listener = rpcrdma_listen(&init_net,
					(struct sockaddr *)&loop_addr,
					peer_incoming, peer);
	if (IS_ERR(peer->listener))
		return PTR_ERR(peer->listener);
	peer_settings();
	test->priv = peer;
	return 0;
}

void peer_test_exit(struct kunit *test)
{
	struct peer *peer = test->priv;
	bool idle;

	if (!peer)
		return;
	if (!IS_ERR_OR_NULL(peer->clnt))
		rpc_shutdown_client(peer->clnt);
	peer_release(peer);
	idle = wait_event_timeout(peer->wait, !atomic_read(&peer->connections),
				  60 * HZ);
	KUNIT_EXPECT_TRUE(test, idle);
	rpcrdma_listener_destroy(peer->listener);
	flush_work(&peer->work);
	peer_release(peer);
	loop_check_gone(test);
	/*
	 * sunrpc destroys a transport some time after the RPC client is shut down. Each
	 * transport holds a module reference, which keeps rpcrdma.ko loaded until then.
	 * This module has no such protection, so the fixture waits for the references
	 * to be put.
	 */
	KUNIT_EXPECT_TRUE(test, loop_poll(module_refcount(THIS_MODULE) ==
					  peer->module_refs));
}

struct peer *peer_open(struct kunit *test)
{
	struct peer *peer = test->priv;

	KUNIT_ASSERT_EQ(test, peer_connect(peer), 0);
	return peer;
}

struct rpcrdma_ep *peer_client_ep(struct peer *peer)
{
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);

	return rpcrdma_client_ep(rpcrdma_xprt_client(xprt));
}

struct rpcrdma_ep *peer_server_ep(struct peer *peer)
{
	struct rpcrdma_ep *ep;

	spin_lock(&peer->lock);
	ep = peer->ep;
	rpcrdma_ep_get(ep);
	spin_unlock(&peer->lock);
	return ep;
}

void peer_script(struct peer *peer, const struct peer_step *steps,
		 unsigned int nr)
{
	spin_lock(&peer->lock);
	memset(peer->attempts, 0, sizeof(peer->attempts));
	peer->nr_attempts = 0;
	if (nr)
		memcpy(peer->steps, steps, nr * sizeof(*steps));
	peer->nr_steps = nr;
	spin_unlock(&peer->lock);
}

void peer_refuse(struct peer *peer, u32 code, u32 arg0, u32 arg1)
{
	struct peer_step step = {
		.code = code, .arg0 = arg0, .arg1 = arg1,
	};

	peer_script(peer, &step, 1);
}
