// SPDX-License-Identifier: GPL-2.0
/* The client: the reverse direction */
#include <linux/kthread.h>
#include <linux/slab.h>

#include "peer.h"

/* ---- The service's end of the queue of callbacks ---- */

#ifdef HAVE_SVC_CB_LWQ

static void peer_bc_queue_init(struct svc_serv *serv)
{
	lwq_init(&serv->sv_cb_list);
}

static struct rpc_rqst *peer_bc_next(struct svc_serv *serv)
{
	return lwq_dequeue(&serv->sv_cb_list, struct rpc_rqst, rq_bc_list);
}

#else

static void peer_bc_queue_init(struct svc_serv *serv)
{
	spin_lock_init(&serv->sv_cb_lock);
	INIT_LIST_HEAD(&serv->sv_cb_list);
#ifdef HAVE_SVC_CB_LIST
	init_waitqueue_head(&serv->sv_cb_waitq);
#endif
}

static struct rpc_rqst *peer_bc_next(struct svc_serv *serv)
{
	struct rpc_rqst *rqst;

	spin_lock_bh(&serv->sv_cb_lock);
	rqst = list_first_entry_or_null(&serv->sv_cb_list, struct rpc_rqst,
					rq_bc_list);
	if (rqst)
		list_del(&rqst->rq_bc_list);
	spin_unlock_bh(&serv->sv_cb_lock);
	return rqst;
}

#endif

/* Process a Call of the server, as nfs4_callback_svc() does. */
static void peer_callback(struct peer *peer, struct rpc_rqst *rqst)
{
	const struct xdr_buf *arg = &rqst->rq_rcv_buf;
	struct xdr_buf *res = &rqst->rq_snd_buf;
	u32 want = 0, len = arg->len;
	__be32 *p;
	u8 *data;
	int rc;

	/* sunrpc queues a request before Calls only if rq_cong is set. */
	if (len > PEER_MESSAGE || rqst->rq_private_buf.len != len ||
	    !rqst->rq_cong) {
		peer->cb_sound = false;
		len = 0;
	}
	rpcrdma_xdr_copy_out(arg, 0, len, peer->cb_call);
	if (!peer_sound(peer->cb_call, len, &want) || want > PEER_CB_DATA) {
		peer->cb_sound = false;
		want = 0;
	}

	p = res->head[0].iov_base;
	memset(p, 0, PEER_REPLY_HEAD + 4);
	p[0] = rqst->rq_xid;
	p[1] = cpu_to_be32(1);
	p[6] = cpu_to_be32(want);
	/* The data are in pages if the head's page has no space for them. */
	data = want > 3000 ? peer->cb_data : (u8 *)&p[7];
	memset(data, 0, xdr_align_size(want));
	peer_fill(data, want);
	res->head[0].iov_len = PEER_REPLY_HEAD + 4;
	if (want > 3000) {
		res->pages = peer->cb_pages;
		res->page_base = offset_in_page(data);
		res->page_len = xdr_align_size(want);
	} else {
		res->head[0].iov_len += xdr_align_size(want);
	}
	res->len = res->head[0].iov_len + res->page_len;

	while (READ_ONCE(peer->cb_hold))
		schedule_timeout_uninterruptible(1);
	/*
	 * Count before replying: the test may check the count before send_request()
	 * returns.
	 */
	peer->cb_served++;
	atomic_dec(&rqst->rq_xprt->bc_slot_count);
	while ((rc = rqst->rq_xprt->ops->send_request(rqst)) == -EAGAIN ||
	       rc == -ENOBUFS)
		schedule_timeout_uninterruptible(1);
	rqst->rq_xprt->ops->bc_free_rqst(rqst);
}

static int peer_service_fn(void *data)
{
	struct peer *peer = data;
	struct rpc_rqst *rqst;

	while (!kthread_should_stop()) {
		rqst = peer_bc_next(peer->serv);
		if (rqst)
			peer_callback(peer, rqst);
		else
			schedule_timeout_uninterruptible(1);
	}
	return 0;
}

/* The memory is part of struct peer. */
static void peer_sxprt_free(struct svc_xprt *sxprt)
{
}

static const struct svc_xprt_ops peer_sxprt_ops = {
	.xpo_free	= peer_sxprt_free,
};

/* Connect, with a callback service and a client that calls it. */
static struct peer *peer_open_reverse(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct sockaddr *addr = rpcrdma_listener_addr(peer->listener);
	unsigned int i;
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	struct rpc_create_args args = {
		.net		= &init_net,
		.protocol	= XPRT_TRANSPORT_BC_RDMA,
		.address	= (struct sockaddr *)addr,
		.addrsize	= sizeof(struct sockaddr_in),
		.servername	= "client",
		.program	= &peer_program,
		.version	= 1,
		.authflavor	= RPC_AUTH_NULL,
		.flags		= RPC_CLNT_CREATE_NOPING |
				  RPC_CLNT_CREATE_HARDRTRY,
		.bc_xprt	= &peer->sxprt,
		.cred		= current_cred(),
	};

	KUNIT_ASSERT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	peer->serv = kunit_kzalloc(test, sizeof(*peer->serv), GFP_KERNEL);
	peer->cb_call = kunit_kzalloc(test, PEER_MESSAGE, GFP_KERNEL);
	peer->cb_data = kunit_kzalloc(test, PEER_CB_DATA, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, peer->serv);
	KUNIT_ASSERT_NOT_NULL(test, peer->cb_call);
	KUNIT_ASSERT_NOT_NULL(test, peer->cb_data);
	for (i = 0; i < ARRAY_SIZE(peer->cb_pages); i++)
		peer->cb_pages[i] = virt_to_page(peer->cb_data) + i;
	/* Some kernels use this array to find a thread to wake. */
	peer->serv->sv_pools = kunit_kzalloc(test, sizeof(struct svc_pool),
					     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, peer->serv->sv_pools);
	peer_bc_queue_init(peer->serv);
	peer->cb_sound = true;
	peer->service = kthread_run(peer_service_fn, peer, "loop_callback");
	KUNIT_ASSERT_FALSE(test, IS_ERR(peer->service));
	xprt->bc_serv = peer->serv;
	KUNIT_ASSERT_EQ(test, xprt->ops->bc_setup(xprt, 2), 0);
	/* NFS's first Call shows that the service was started. */
	KUNIT_ASSERT_EQ(test, peer_call(test, 0, 0, 0, true), 0);

	peer->sclass.xcl_ident = XPRT_TRANSPORT_RDMA;
	peer->sclass.xcl_ops = &peer_sxprt_ops;
	svc_xprt_init(&init_net, &peer->sclass, &peer->sxprt, peer->serv);
	peer->callback = rpc_create(&args);
	KUNIT_ASSERT_FALSE(test, IS_ERR(peer->callback));
	return peer;
}

/* Shut down the callback's RPC client, and release the svc_xprt. */
static void peer_end_callback(struct peer *peer)
{
	struct rpc_xprt *bc = peer->sxprt.xpt_bc_xprt;

	rpc_shutdown_client(peer->callback);
	kthread_stop(peer->service);
	/* sunrpc calls this when it deletes the svc_xprt. */
	bc->ops->close(bc);
	/* Upcalls may still run. They must not use freed objects. */
	peer->sxprt.xpt_bc_xprt = NULL;
	svc_xprt_put(&peer->sxprt);
	peer->sxprt.xpt_bc_xps = NULL;
	xprt_put(bc);
}

static void peer_close_reverse(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);

	peer_end_callback(peer);
	xprt->ops->bc_destroy(xprt, 2);
	xprt->bc_serv = NULL;
	KUNIT_EXPECT_TRUE(test, peer->cb_sound);
}

/* Run one RPC from the server to the client. Return its status. */
static int peer_call_back(struct kunit *test, u32 plain, u32 bulk, u32 want)
{
	struct peer *peer = test->priv;

	return peer_call_by(test, peer->callback, plain, bulk, want, false);
}

/* Like peer_call_back(), with a DDP-eligible argument and no result */
static int peer_call_back_ddp(struct kunit *test, u32 plain, u32 bulk)
{
	struct peer *peer = test->priv;

	return peer_call_by(test, peer->callback, plain, bulk, 0, true);
}

static void reverse_none(struct kunit *test)
{
	struct peer *peer = test->priv;
	u64 sent;

	rpcrdma_settings.reverse_level = RDMA2_RVRSDIR_NONE;
	peer_open_reverse(test);
	sent = peer->ep->core.conn.sent;
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 0U);
	KUNIT_EXPECT_EQ(test, peer->ep->core.conn.sent, sent);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	peer_close_reverse(test);
}

static void reverse_simple(struct kunit *test)
{
	struct peer *peer = test->priv;
	u64 sent;

	rpcrdma_settings.reverse_level = RDMA2_RVRSDIR_SIMPLE;
	peer_open_reverse(test);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 4000, 0, 2000), 0);
	/* Beyond the client's reverse direction level, nothing is sent. */
	sent = peer->ep->core.conn.sent;
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 4008, 0, 0), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 9000, 0), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, peer->ep->core.conn.sent, sent);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 2U);
	peer_close_reverse(test);
}

/*
 * No credits are left for Calls, so that sunrpc grants the write lock to no Call. A
 * Reply in the reverse direction still gets the lock as soon as it is free, because the
 * server may need that Reply before it can grant credits.
 */
static void reverse_before_calls(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct rpc_rqst *rqst;
	struct rpc_task *task;
	struct peer_task t[8];
	struct rpc_xprt *xprt;
	int i, n;

	peer->params.window = 8;
	peer_open_reverse(test);
	xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	rqst = kunit_kzalloc(test, sizeof(*rqst), GFP_KERNEL);
	task = kunit_kzalloc(test, sizeof(*task), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, rqst && task);
	__set_bit(RPC_BC_PA_IN_USE, &rqst->rq_bc_pa_state);
	task->tk_rqstp = rqst;

	peer->hold = true;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		t[i].rpc = peer_rpc_alloc(0, 100, 10, true);
		KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
		t[i].task = peer_start(peer, t[i].rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
	}
	for (n = 0; n < PEER_WAIT_S * HZ &&
	     !test_bit(XPRT_WRITE_SPACE, &xprt->state); n++)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_TRUE(test, test_bit(XPRT_WRITE_SPACE, &xprt->state));

	for (i = 0, n = 0; !i && n < PEER_WAIT_S * HZ; n++) {
		spin_lock(&xprt->transport_lock);
		if (!test_bit(XPRT_LOCKED, &xprt->state)) {
			i = xprt->ops->reserve_xprt(xprt, task) +
			    xprt->ops->reserve_xprt(xprt, task);
			KUNIT_EXPECT_PTR_EQ(test, xprt->snd_task, task);
			xprt->ops->release_xprt(xprt, task);
			KUNIT_EXPECT_FALSE(test, test_bit(XPRT_LOCKED,
							  &xprt->state));
		}
		spin_unlock(&xprt->transport_lock);
		schedule_timeout_uninterruptible(1);
	}
	KUNIT_EXPECT_EQ(test, i, 2);

	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	peer_release(peer);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		rpc_wait_for_completion_task(t[i].task);
		KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
		rpc_put_task(t[i].task);
		peer_rpc_free(t[i].rpc);
	}
	peer_close_reverse(test);
}

/* Continued Calls and Replies */
static void reverse_continued(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct rpcrdma_conn_counters *c;

	rpcrdma_settings.reverse_level = RDMA2_RVRSDIR_CONT;
	rpcrdma_settings.max_inline_write = 1024;
	peer_open_reverse(test);
	c = &peer->ep->core.conn.counters;
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 4008, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, c->calls[RPCRDMA_CONTINUED], 1ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 3000), 0);
	KUNIT_EXPECT_EQ(test, c->replies[RPCRDMA_CONTINUED], 1ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 8192, 50000, 3000), 0);
	/* A Reply longer than a page */
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 8999), 0);
	KUNIT_EXPECT_EQ(test, c->replies[RPCRDMA_CONTINUED], 3ULL);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 5U);
	/* A Call longer than the service's pages fails, and the next one succeeds. */
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 8192, 60000, 0),
			-EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 8, 30000, 8), 0);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 6U);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	peer_close_reverse(test);
}

/* Calls with chunks, which the client reads and writes */
static void reverse_general(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct rpcrdma_conn_counters *c;

	/* Neither end supports continued messages, so that chunks are used. */
	rpcrdma_settings.max_reassembly = 0;
	rpcrdma_settings.max_inline_write = 1024;
	peer->params.reassembly = 0;
	peer_open_reverse(test);
	c = &peer->ep->core.conn.counters;
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, c->read_chunks, 0ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back_ddp(test, 100, 50001), 0);
	KUNIT_EXPECT_EQ(test, c->read_chunks, 1ULL);
	/* A Position Zero chunk with the item, or without it */
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 8192, 30001, 0), 0);
	KUNIT_EXPECT_EQ(test, c->calls[RPCRDMA_SPECIAL], 1ULL);
	KUNIT_EXPECT_EQ(test, c->read_chunks, 2ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back_ddp(test, 8192, 30001), 0);
	KUNIT_EXPECT_EQ(test, c->calls[RPCRDMA_SPECIAL], 2ULL);
	KUNIT_EXPECT_EQ(test, c->read_chunks, 4ULL);
	/* A Reply in a Reply chunk */
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 3000), 0);
	KUNIT_EXPECT_EQ(test, c->replies[RPCRDMA_SPECIAL], 1ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 8192, 30000, 2999), 0);
	KUNIT_EXPECT_EQ(test, c->replies[RPCRDMA_SPECIAL], 2ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 8999), 0);
	KUNIT_EXPECT_EQ(test, c->replies[RPCRDMA_SPECIAL], 3ULL);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 7U);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	/* A Call longer than the service's pages */
	KUNIT_EXPECT_EQ(test, peer_call_back_ddp(test, 8192, 60000),
			-EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer_call_back_ddp(test, 8, 60000), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	peer_close_reverse(test);
}

/* Both directions at the same time, with few credits */
static void reverse_both(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct peer_task t[8];
	int i, round;

	peer->params.window = 8;
	rpcrdma_settings.slot_table_entries = 4;
	peer_open_reverse(test);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < ARRAY_SIZE(t); i++) {
			t[i].rpc = peer_rpc_alloc(0, 20000, i & 1 ? 2000 :
						  20000, false);
			KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
			t[i].task = peer_start_by(i & 1 ? peer->callback :
						  peer->clnt, t[i].rpc);
			KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
		}
		for (i = 0; i < ARRAY_SIZE(t); i++) {
			rpc_wait_for_completion_task(t[i].task);
			KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
			KUNIT_EXPECT_EQ(test, peer_rpc_result(t[i].rpc), 0);
			rpc_put_task(t[i].task);
			peer_rpc_free(t[i].rpc);
		}
	}
	KUNIT_EXPECT_EQ(test, peer->cb_served, 20U);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	peer_close_reverse(test);
}

/* Calls are refused after the service has ended, and before another is known to run. */
static void reverse_no_service(struct kunit *test)
{
	struct peer *peer = peer_open_reverse(test);
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);

	xprt->ops->bc_destroy(xprt, 2);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 20000, 0), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 0U);
	KUNIT_ASSERT_EQ(test, xprt->ops->bc_setup(xprt, 2), 0);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 20000, 0), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 0U);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 20000, 0), 0);
	peer_close_reverse(test);
}

/*
 * When the service ends, the Calls that it has not started are released. One is being
 * processed, or is about to be.
 */
static void reverse_not_started(struct kunit *test)
{
	struct peer *peer = peer_open_reverse(test);
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	unsigned int refs = kref_read(&xprt->kref), i;
	unsigned long end = jiffies + PEER_WAIT_S * HZ;
	struct peer_task t[2];

	WRITE_ONCE(peer->cb_hold, true);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		t[i].rpc = peer_rpc_alloc(0, 0, 0, false);
		KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
		t[i].task = peer_start_by(peer->callback, t[i].rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
	}
	while (atomic_read(&xprt->bc_slot_count) < (int)ARRAY_SIZE(t) &&
	       time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, atomic_read(&xprt->bc_slot_count), 2);
	xprt->ops->bc_destroy(xprt, 2);
	KUNIT_EXPECT_LE(test, atomic_read(&xprt->bc_slot_count), 1);

	WRITE_ONCE(peer->cb_hold, false);
	while (kref_read(&xprt->kref) != refs && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, kref_read(&xprt->kref), refs);
	KUNIT_EXPECT_LE(test, peer->cb_served, 1U);
	rpc_killall_tasks(peer->callback);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		rpc_wait_for_completion_task(t[i].task);
		rpc_put_task(t[i].task);
		peer_rpc_free(t[i].rpc);
	}
	peer_end_callback(peer);
	xprt->bc_serv = NULL;
	KUNIT_EXPECT_TRUE(test, peer->cb_sound);
}

/*
 * A Call holds the last reference to the client's transport while its chunk is being
 * read, and sunrpc closes the connection.
 */
static void reverse_last_reference(struct kunit *test)
{
	struct peer *peer = test->priv;
	unsigned long end = jiffies + PEER_WAIT_S * HZ;
	struct rpc_xprt *xprt;
	struct rpcrdma_ep *ep;
	struct peer_task t;
	unsigned int refs;

	rpcrdma_settings.max_reassembly = 0;
	peer_open_reverse(test);
	xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);

	refs = kref_read(&xprt->kref);
	loop_mute = LOOP_MUTE_CLIENT;
	t.rpc = peer_rpc_alloc(8, 30000, 0, true);
	KUNIT_ASSERT_NOT_NULL(test, t.rpc);
	t.task = peer_start_by(peer->callback, t.rpc);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t.task));
	/* Wait until the Call holds a reference. */
	while (kref_read(&xprt->kref) == refs && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_ASSERT_EQ(test, kref_read(&xprt->kref), refs + 1);

	xprt->ops->bc_destroy(xprt, 2);
	xprt->bc_serv = NULL;
	rpc_shutdown_client(peer->clnt);
	peer->clnt = NULL;
	while (kref_read(&xprt->kref) > 1 && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, kref_read(&xprt->kref), 1U);
	xprt_force_disconnect(xprt);
	/* The test's exit frees the objects of the lost connection. */
	rpcrdma_ep_wait_closed(ep);
	rpcrdma_ep_put(ep);

	loop_mute = 0;
	rpc_killall_tasks(peer->callback);
	rpc_wait_for_completion_task(t.task);
	rpc_put_task(t.task);
	peer_rpc_free(t.rpc);
	peer_end_callback(peer);
}

/*
 * xprt->bc_serv may point to a service that was freed because it could not be started.
 */
static void reverse_service_freed(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);

	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	KUNIT_ASSERT_EQ(test, xprt->ops->bc_setup(xprt, 1), 0);
	xprt->bc_serv = kunit_kzalloc(test, sizeof(*peer->serv), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, xprt->bc_serv);
	loop_dead_service = xprt->bc_serv;
	xprt->ops->bc_destroy(xprt, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_misuse), 0);
	xprt->bc_serv = NULL;
	loop_dead_service = NULL;
}

/* Set up a second rpc_xprt over the peer's connection. */
static struct rpc_xprt *peer_setup_again(struct peer *peer)
{
	const struct sockaddr *addr = rpcrdma_listener_addr(peer->listener);
	struct xprt_create args = {
		.ident		= XPRT_TRANSPORT_BC_RDMA,
		.net		= &init_net,
		.dstaddr	= (struct sockaddr *)addr,
		.addrlen	= sizeof(struct sockaddr_in),
		.bc_xprt	= &peer->sxprt,
	};

	return loop_bc_setup(&args);
}

/* Two services set up their clients on one connection at the same time. */
static void reverse_one_transport(struct kunit *test)
{
	struct peer *peer = peer_open_reverse(test);
	struct rpc_xprt *first = peer->sxprt.xpt_bc_xprt, *second;

	second = peer_setup_again(peer);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(second), -EAGAIN);
	KUNIT_EXPECT_PTR_EQ(test, peer->sxprt.xpt_bc_xprt, first);
	if (!IS_ERR(second)) {
		peer->sxprt.xpt_bc_xprt = first;
		second->ops->destroy(second);
	}
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	peer_close_reverse(test);
}

/*
 * Set up a second rpc_xprt over @peer's connection. Return it, or an ERR_PTR, and the
 * number of references to the svc_xprt before that in *@refs.
 */
static struct rpc_xprt *reverse_second(struct kunit *test, struct peer *peer,
				       unsigned int *refs)
{
	struct rpc_xprt *second;

	/* The first Call puts the rpc_xprt's reference to the svc_xprt. */
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	*refs = kref_read(&peer->sxprt.xpt_ref);
	KUNIT_EXPECT_EQ(test, *refs, 1U);
	peer->sxprt.xpt_bc_xprt = NULL;
	second = peer_setup_again(peer);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(second), 0);
	return second;
}

/*
 * If the setup of an rpc_xprt fails, sunrpc destroys it while the svc_xprt still points
 * to it.
 */
static void reverse_not_made(struct kunit *test)
{
	struct peer *peer = peer_open_reverse(test);
	struct rpc_xprt *first = peer->sxprt.xpt_bc_xprt, *second;
	unsigned int refs;

	second = reverse_second(test, peer, &refs);
	if (!IS_ERR(second)) {
		KUNIT_EXPECT_PTR_EQ(test, peer->sxprt.xpt_bc_xprt, second);
		loop_bc_put_outside = false;
		second->ops->destroy(second);
		KUNIT_EXPECT_TRUE(test, loop_poll(!READ_ONCE(peer->sxprt.xpt_bc_xprt) &&
						  kref_read(&peer->sxprt.xpt_ref) ==
						  refs));
		KUNIT_EXPECT_FALSE(test, loop_bc_put_outside);
	}
	peer->sxprt.xpt_bc_xprt = first;
	peer_close_reverse(test);
}

/*
 * The connection ends while sunrpc sets an rpc_xprt up over it. sunrpc may still fail and
 * destroy the rpc_xprt, so the svc_xprt must not point to it any more.
 */
static void reverse_ended_in_setup(struct kunit *test)
{
	struct peer *peer = peer_open_reverse(test);
	struct rpc_xprt *first = peer->sxprt.xpt_bc_xprt, *second;
	unsigned int refs;

	second = reverse_second(test, peer, &refs);
	if (!IS_ERR(second)) {
		/* sunrpc calls this when it deletes the svc_xprt. */
		second->ops->close(second);
		KUNIT_EXPECT_PTR_EQ(test, peer->sxprt.xpt_bc_xprt, NULL);
		KUNIT_EXPECT_EQ(test, kref_read(&peer->sxprt.xpt_ref), refs);
		KUNIT_EXPECT_EQ(test, kref_read(&second->kref), 1U);
		loop_bc_put_outside = false;
		second->ops->destroy(second);
		KUNIT_EXPECT_FALSE(test, loop_bc_put_outside);
	}
	peer->sxprt.xpt_bc_xprt = first;
	peer_close_reverse(test);
}

/*
 * The connection closes, and no service thread has deleted the svc_xprt yet. A callback is
 * not sent again and again until then.
 */
static void reverse_closing(struct kunit *test)
{
	struct rpc_message msg = { .rpc_proc = &peer_procs[1] };
	struct peer *peer = peer_open_reverse(test);
	struct rpc_xprt *first;

	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	msg.rpc_argp = peer_rpc_alloc(0, 0, 0, false);
	KUNIT_ASSERT_NOT_NULL(test, msg.rpc_argp);
	msg.rpc_resp = msg.rpc_argp;
	loop_bc_sends = 0;
	loop_bc_closing = true;
	KUNIT_EXPECT_EQ(test, rpc_call_sync(peer->callback, &msg,
					    RPC_TASK_SOFT | RPC_TASK_NOCONNECT),
			-ENOTCONN);
	loop_bc_closing = false;
	KUNIT_EXPECT_GE(test, loop_bc_sends, 1U);
	KUNIT_EXPECT_LE(test, loop_bc_sends, 3U);
	peer_rpc_free(msg.rpc_argp);

	/* No other rpc_xprt is set up over it. */
	first = peer->sxprt.xpt_bc_xprt;
	peer->sxprt.xpt_bc_xprt = NULL;
	set_bit(XPT_DEAD, &peer->sxprt.xpt_flags);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(peer_setup_again(peer)), -ENOTCONN);
	peer->sxprt.xpt_bc_xprt = first;
	peer_close_reverse(test);
}

/*
 * The server may reuse a session slot while the rpc_rqst of that slot's last Call is
 * still in use. The client therefore accepts more Calls than slots.
 */
static void reverse_more_than_slots(struct kunit *test)
{
	struct peer *peer = test->priv;
	unsigned int was = rpcrdma_settings.svc_max_bc_requests;
	struct peer_task t[RPCRDMA_CALLBACK_SLOTS + 4];
	struct rpc_xprt *xprt;
	int i;

	rpcrdma_settings.svc_max_bc_requests = 64;
	peer->cb_hold = true;
	peer_open_reverse(test);
	rpcrdma_settings.svc_max_bc_requests = was;
	xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		t[i].rpc = peer_rpc_alloc(0, 0, 0, false);
		KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
		t[i].task = peer_start_by(peer->callback, t[i].rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
	}
	KUNIT_EXPECT_TRUE(test, loop_poll(atomic_read(&xprt->bc_slot_count) ==
					  ARRAY_SIZE(t)));
	WRITE_ONCE(peer->cb_hold, false);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		rpc_wait_for_completion_task(t[i].task);
		KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
		rpc_put_task(t[i].task);
		peer_rpc_free(t[i].rpc);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	peer_close_reverse(test);
}

/* A Call that fails for a temporary lack of memory is not refused permanently. */
static void reverse_no_memory(struct kunit *test)
{
	struct peer *peer = peer_open_reverse(test);
	struct peer_task t;

	loop_no_transfers = true;
	t.rpc = peer_rpc_alloc(8, 30000, 0, true);
	KUNIT_ASSERT_NOT_NULL(test, t.rpc);
	t.task = peer_start_by(peer->callback, t.rpc);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t.task));
	KUNIT_EXPECT_TRUE(test, loop_poll(!READ_ONCE(peer->ep) ||
					  !RPC_IS_ACTIVATED(t.task)));
	KUNIT_EXPECT_TRUE(test, RPC_IS_ACTIVATED(t.task));
	loop_no_transfers = false;
	rpc_killall_tasks(peer->callback);
	rpc_wait_for_completion_task(t.task);
	KUNIT_EXPECT_NE(test, t.task->tk_status, -EREMOTEIO);
	rpc_put_task(t.task);
	peer_rpc_free(t.rpc);
	peer_close_reverse(test);
}

static struct kunit_case reverse_cases[] = {
	KUNIT_CASE(reverse_none),
	KUNIT_CASE(reverse_simple),
	KUNIT_CASE(reverse_before_calls),
	KUNIT_CASE(reverse_continued),
	KUNIT_CASE(reverse_general),
	KUNIT_CASE(reverse_both),
	KUNIT_CASE(reverse_no_service),
	KUNIT_CASE(reverse_not_started),
	KUNIT_CASE(reverse_last_reference),
	KUNIT_CASE(reverse_service_freed),
	KUNIT_CASE(reverse_one_transport),
	KUNIT_CASE(reverse_not_made),
	KUNIT_CASE(reverse_ended_in_setup),
	KUNIT_CASE(reverse_closing),
	KUNIT_CASE(reverse_more_than_slots),
	KUNIT_CASE(reverse_no_memory),
	{}
};

static struct kunit_suite reverse_suite = {
	.name		= "rpcrdma_client_reverse",
	.suite_init	= peer_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= peer_test_init,
	.exit		= peer_test_exit,
	.test_cases	= reverse_cases,
};

kunit_test_suite(reverse_suite);
