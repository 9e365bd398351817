// SPDX-License-Identifier: GPL-2.0
/*
 * Two endpoints, from the setup of their connection to its end, and the check that all
 * objects are then freed
 */
#include <rdma/ib_verbs.h>

#include "pair.h"

int loop_mem_maps;

void loop_side_init(struct loop_side *side, u32 xid)
{
	memset(side, 0, sizeof(*side));
	init_waitqueue_head(&side->wait);
	mutex_init(&side->calls_lock);
	spin_lock_init(&side->lock);
	INIT_LIST_HEAD(&side->held);
	INIT_LIST_HEAD(&side->rpcs);
	init_completion(&side->gone);
	INIT_WORK(&side->recv_work, loop_take);
	side->xid = xid;
}

int loop_incoming(void *priv, struct rpcrdma_ep *ep)
{
	struct loop_pair *pair = priv;

	int rc = -ECONNREFUSED;

	mutex_lock(&pair->lock);
	if (!pair->reject && !pair->over && !pair->server.ep) {
		ep->ops = &loop_server_ops;
		ep->priv = &pair->server;
		ep->params = pair->server_params;
		pair->server.ep = ep;
		/* The client has checked the flag already. */
		if (pair->no_frwr)
			ep->id->device->attrs.device_cap_flags &=
				~(u64)IB_DEVICE_MEM_MGT_EXTENSIONS;
		rc = 0;
	}
	mutex_unlock(&pair->lock);
	return rc;
}

int loop_connect(struct loop_pair *pair)
{
	struct rpcrdma_ep *ep;

	ep = rpcrdma_ep_connect(&init_net,
				rpcrdma_listener_addr(pair->listener), NULL,
				&pair->client_params, &loop_client_ops,
				&pair->client, pair->how, NULL);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	pair->client.ep = ep;
	return 0;
}

bool loop_wait_gone(struct loop_side *side)
{
	return wait_for_completion_timeout(&side->gone, LOOP_WAIT_S * HZ);
}

static void loop_end_side(struct kunit *test, struct loop_side *side)
{
	struct rpcrdma_ep *ep = side->ep;

	if (!ep)
		return;
	rpcrdma_ep_close(ep, NULL);
	KUNIT_ASSERT_TRUE_MSG(test, loop_wait_gone(side), "%s: not closed",
			      ep->client ? "client" : "server");
	/* Release the Receives still held after the endpoint is closed. */
	side->ep = NULL;
	rpcrdma_ep_wait_closed(ep);
	rpcrdma_ep_put(ep);
	loop_release(side, UINT_MAX);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->closed), 1);
	KUNIT_EXPECT_LE(test, atomic_read(&side->opened), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->late), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->bad), 0);
}

static void loop_check_memdev(struct kunit *test)
{
	struct memdev_counts *c = memdev_counts(loop_memdev);

	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_dma), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_unmap), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_key), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_post), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_cq), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_free), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->unreported), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->atomic_unmaps), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->rnr), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->mrs), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->qps), 0);
	KUNIT_EXPECT_TRUE(test, loop_poll(atomic_read(&c->maps) <=
					  loop_mem_maps));
}

void loop_check_gone(struct kunit *test)
{
	bool gone = loop_poll(!loop_nr_endpoints());

	KUNIT_EXPECT_TRUE(test, gone);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_balance.pds), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_balance.cqs), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_balance.qps), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_balance.mrs), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_balance.rws), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_balance.maps), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&loop_balance.octets), 0LL);
	KUNIT_EXPECT_EQ(test, atomic64_read(&loop_balance.buffers), 0LL);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_misuse), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_double_inv), 0);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	if (loop_memdev)
		loop_check_memdev(test);
}

void loop_test_begin(void)
{
	atomic_set(&loop_misuse, 0);
	atomic_set(&loop_double_inv, 0);
	if (loop_memdev)
		memdev_reset(loop_memdev);
}

void loop_close(struct kunit *test, struct loop_pair *pair)
{
	mutex_lock(&pair->lock);
	pair->over = true;
	mutex_unlock(&pair->lock);
	if (pair->client.ep)
		rpcrdma_ep_close(pair->client.ep, NULL);
	loop_end_side(test, &pair->server);
	loop_end_side(test, &pair->client);
}

void loop_disconnect(struct kunit *test, struct loop_pair *pair)
{
	loop_close(test, pair);
	loop_mute = 0;
	loop_unpostable = 0;
	loop_reads_at_most = 0;
	loop_largest_order = LOOP_ANY_ORDER;
	atomic_set(&loop_larger_blocks, 0);
	memset(loop_max_send_wr, 0, sizeof(loop_max_send_wr));

	loop_check_gone(test);

	loop_side_init(&pair->client, 0x1000);
	loop_side_init(&pair->server, 0x80001000);
	mutex_lock(&pair->lock);
	pair->over = false;
	mutex_unlock(&pair->lock);
}
