// SPDX-License-Identifier: GPL-2.0
/* The endpoint over devices with various traits */
#include <linux/kthread.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "endpoint.h"
#include "../../net/sunrpc/xprtrdma/verbs/internal.h"

/* Connect over a device with the traits @t. */
static struct loop_pair *loop_open_over(struct kunit *test, const struct memdev_traits *t)
{
	memdev_set_traits(loop_memdev, t);
	return loop_open(test);
}

/* Connect over a device that needs bounce buffers. Its traits are in @t. */
static struct loop_pair *loop_open_bouncing(struct kunit *test, struct memdev_traits *t)
{
	if (!memdev_maps(loop_memdev))
		kunit_skip(test, "this kernel lets no driver map memory");
	memdev_default_traits(t);
	t->bounce = true;
	return loop_open_over(test, t);
}

/* Run RPCs of every kind, from both ends. */
static void loop_mixed_traffic(struct kunit *test, struct loop_pair *pair)
{
	loop_traffic(test, pair, 4, 24, 60000, PAGE_SIZE, 0, true);
	loop_traffic(test, pair, 4, 24, 4000, 1000, 20000, true);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
}

/* With bounce buffers, data are copied only by mapping, unmapping and syncing. */
static void hardware_bounces(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct memdev_traits t;

	loop_open_bouncing(test, &t);
	loop_mixed_traffic(test, pair);
	t.max_sgl_rd = 1;
	memdev_set_traits(loop_memdev, &t);
	loop_disconnect(test, pair);
	loop_open(test);
	loop_mixed_traffic(test, pair);
}

/*
 * A transport may have changed the content of a Receive that it holds, for example by
 * decrypting it in place. Unmapping at the end of the connection must not overwrite
 * that content.
 */
static void hardware_bounces_held(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_rpc *rpc = loop_rpcs(test, 1);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct rpcrdma_recv *rv;
	struct memdev_traits t;

	loop_open_bouncing(test, &t);
	s->hold_calls = true;
	rpc->inline_arg = 1000;
	KUNIT_ASSERT_EQ(test, loop_rpc_send(c, rpc), 0);
	KUNIT_ASSERT_TRUE(test, loop_wait_until(s, READ_ONCE(s->nr_held)));
	rv = list_first_entry(&s->held, struct rpcrdma_recv, list);
	memset(rv->payload, 0x5a, rv->payload_len);
	rpcrdma_ep_close(c->ep, NULL);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(rv->payload, 0x5a, rv->payload_len),
			    NULL);
	loop_rpc_end(c, rpc);
	spin_lock(&s->lock);
	list_del_init(&rv->list);
	s->nr_held--;
	spin_unlock(&s->lock);
	rpcrdma_recv_put(rv);
}

#define LOOP_MR_PAGES	4
#define LOOP_REGIONS		4

/*
 * Each Read needs several MRs, and few MRs exist. A transfer that gets none waits for
 * another one to complete.
 */
static void hardware_mrs_run_dry(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 8);
	struct memdev_traits t;
	struct loop_buf arg;
	int i;

	memdev_default_traits(&t);
	t.reads_into_mrs = true;
	t.mr_depth = LOOP_MR_PAGES;
	pair->server_params.reads = LOOP_REGIONS;
	loop_open_over(test, &t);
	KUNIT_EXPECT_EQ(test, s->ep->core.rw.pool.mrs, (u32)LOOP_REGIONS);

	/* Each argument is read in two ranges, each into one MR; see loop_pull(). */
	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&arg, 0, 4 * PAGE_SIZE), 0);
	loop_buf_fill(&arg, 0);
	s->hold_calls = true;
	for (i = 0; i < 8; i++) {
		loop_rpc_init(&rpcs[i], &arg, NULL);
		KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, loop_wait_until(s, READ_ONCE(s->nr_held) == 8));
	WRITE_ONCE(s->hold_calls, false);
	/* No Read completes. */
	memdev_hold(loop_memdev, true, false);
	loop_release(s, 8);
	KUNIT_EXPECT_EQ(test, READ_ONCE(s->ep->core.rw.pool.waiting),
			8 - LOOP_REGIONS / 2);
	memdev_hold(loop_memdev, false, false);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, loop_rpc_wait(c, &rpcs[i]), 0);
		loop_rpc_end(c, &rpcs[i]);
	}
	/* A Reply may arrive before its sender has counted it. */
	KUNIT_EXPECT_TRUE(test,
			  loop_wait_until(s, atomic_read(&s->served) == 8));
	loop_check_idle(test, c);
	loop_check_idle(test, s);
	/* Concurrent traffic */
	loop_traffic(test, pair, 4, 30, 16000, PAGE_SIZE, 0, false);
	loop_buf_free(&arg);
}

/* With MRs of arbitrary ranges, many segments become one. */
static void hardware_gaps(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct memdev_traits t;
	int registered;

	memdev_default_traits(&t);
	t.sg_gaps = true;
	loop_open_over(test, &t);
	registered = atomic_read(&memdev_counts(loop_memdev)->registered);
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 1600, 1600, 5, 100),
			0);
	KUNIT_EXPECT_EQ(test, atomic_read(&memdev_counts(loop_memdev)->registered),
			registered + 2);
	loop_mixed_traffic(test, pair);
}

/* The device has the smallest limits that suffice. */
static void hardware_is_small(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.max_sge = 1;
	t.max_qp_wr = 256;
	t.mr_depth = 2;
	t.max_mrs = 24;
	pair->client_params.max_mrs = 16;
	pair->server_params.max_mrs = 8;
	loop_open_over(test, &t);
	loop_traffic(test, pair, 4, 24, 30000, PAGE_SIZE, 0, false);
	loop_traffic(test, pair, 4, 24, 0, PAGE_SIZE, 20000, true);
	KUNIT_EXPECT_LE(test, atomic_read(&memdev_counts(loop_memdev)->mrs),
			24);
}

/*
 * Only the driver knows the size of a Send Queue entry. A queue can be too large even
 * if the settings are within the device's limits.
 */
static void hardware_has_little_room(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.sq_octets = 100 * (MEMDEV_WQE_OCTETS +
			     RPCRDMA_SERVER_SGES * MEMDEV_SGE_OCTETS);
	pair->server_params.sends = 305;
	loop_open_over(test, &t);
	KUNIT_EXPECT_LT(test, pair->server.ep->core.sq.depth, 100U);
	loop_mixed_traffic(test, pair);
	loop_disconnect(test, pair);
	/* Below a minimum, connecting fails. */
	t.sq_octets = 1000;
	memdev_set_traits(loop_memdev, &t);
	KUNIT_EXPECT_NE(test, loop_connect(pair), 0);
}

/* With a device that cannot register memory, a client fails to connect. */
static void hardware_without_mrs(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.no_mrs = true;
	memdev_set_traits(loop_memdev, &t);
	KUNIT_EXPECT_EQ(test, loop_connect(pair), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, atomic_read(&memdev_counts(loop_memdev)->qps), 0);
}

/* A Reply that was received before the connection ended is processed. */
static void hardware_answers_last(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpc = loop_rpcs(test, 1);
	int n;

	for (n = 0; n < 4; n++) {
		loop_open(test);
		WRITE_ONCE(s->hold_calls, true);
		loop_rpc_init(rpc, NULL, NULL);
		KUNIT_ASSERT_EQ(test, loop_rpc_send(c, rpc), 0);
		KUNIT_ASSERT_TRUE(test, loop_wait_until(s,
							READ_ONCE(s->nr_held) == 1));
		WRITE_ONCE(s->hold_calls, false);
		/*
		 * The Reply has arrived in its Receive, and its completion is withheld.
		 */
		memdev_hold(loop_memdev, false, true);
		loop_release(s, 1);
		KUNIT_ASSERT_TRUE(test, loop_poll(memdev_held(loop_memdev)));
		rpcrdma_ep_close(c->ep, NULL);
		memdev_hold(loop_memdev, false, false);
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(c));
		KUNIT_EXPECT_EQ(test, loop_rpc_wait(c, rpc), 0);
		loop_rpc_end(c, rpc);
		loop_disconnect(test, pair);
	}
}

/*
 * A Call that was received before the connection ended is dropped, because its Reply
 * could not be sent.
 */
static void hardware_drops_calls_last(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpc = loop_rpcs(test, 1);

	WRITE_ONCE(s->hold_calls, true);
	loop_rpc_init(rpc, NULL, NULL);
	memdev_hold(loop_memdev, false, true);
	KUNIT_ASSERT_EQ(test, loop_rpc_send(c, rpc), 0);
	KUNIT_ASSERT_TRUE(test, loop_poll(memdev_held(loop_memdev)));
	rpcrdma_ep_close(s->ep, NULL);
	memdev_hold(loop_memdev, false, false);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
	KUNIT_EXPECT_EQ(test, READ_ONCE(s->nr_held), 0U);
	loop_release(s, UINT_MAX);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(c));
	loop_rpc_end(c, rpc);
}

/*
 * A service thread that processes messages during the teardown must not get a Call
 * either, because it would execute that Call.
 */
static void hardware_keeps_no_call_last(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpc = loop_rpcs(test, 1);
	struct rpcrdma_poll poll = { .ep = s->ep };
	struct rpcrdma_recv *rv;

	loop_rpc_init(rpc, NULL, NULL);
	memdev_hold(loop_memdev, false, true);
	KUNIT_ASSERT_EQ(test, loop_rpc_send(c, rpc), 0);
	KUNIT_ASSERT_TRUE(test, loop_poll(memdev_held(loop_memdev)));
	/* Close it, and start the teardown later. */
	spin_lock(&s->ep->lock);
	rpcrdma_lifecycle_close(&s->ep->core.life, NULL);
	spin_unlock(&s->ep->lock);
	memdev_hold(loop_memdev, false, false);
	KUNIT_ASSERT_TRUE(test, loop_poll(rpcrdma_ep_holds_messages(s->ep)));
	flush_delayed_work(&s->ep->recv_work);
	flush_work(&s->recv_work);
	/* Set the flag that the teardown sets. */
	WRITE_ONCE(s->ep->core.arrivals.draining, true);
	rv = rpcrdma_ep_poll(&poll);
	KUNIT_EXPECT_NULL(test, rv);
	if (rv)
		rpcrdma_recv_put(rv);
	WRITE_ONCE(s->ep->core.arrivals.draining, false);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->calls), 0);
	rpcrdma_port_closing(&s->ep->core, NULL);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(c));
	loop_rpc_end(c, rpc);
}

/* If the client's "ready to use" is lost, its messages establish the connection. */
static void hardware_loses_confirmation(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.lose_rtu = true;
	loop_open_over(test, &t);
	KUNIT_EXPECT_FALSE(test,
			   READ_ONCE(pair->server.ep->core.life.established));
	mod_delayed_work(rpcrdma_wq, &pair->server.ep->open_timer, 0);
	KUNIT_EXPECT_TRUE(
		test,
		loop_poll(READ_ONCE(pair->server.ep->core.life.established)));
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 100, 100, 0,
					   PAGE_SIZE), 0);
}

static void loop_release_completions(void)
{
	memdev_hold(loop_memdev, false, false);
	/* Let the softirq poll the completions. */
	schedule_timeout_uninterruptible(2);
}

/*
 * Close the server while it reads. The device refuses @refusals times to move the queue
 * pair to the error state.
 */
static void loop_close_unstopped(struct kunit *test, unsigned int refusals,
				 bool into_mrs)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 4);
	struct rpcrdma_rw *user = NULL;
	struct memdev_traits t;
	struct loop_buf arg;
	int i;

	memdev_default_traits(&t);
	t.reads_into_mrs = into_mrs;
	memdev_set_traits(loop_memdev, &t);
	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&arg, 0, 3 * PAGE_SIZE), 0);
	loop_buf_fill(&arg, 0);
	loop_open(test);
	WRITE_ONCE(s->hold_calls, true);
	for (i = 0; i < 4; i++) {
		loop_rpc_init(&rpcs[i], &arg, NULL);
		KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, loop_wait_until(s, READ_ONCE(s->nr_held) == 4));
	WRITE_ONCE(s->hold_calls, false);
	/* The Reads are executed, and their completions are withheld. */
	memdev_hold(loop_memdev, true, false);
	loop_release(s, 4);
	KUNIT_ASSERT_TRUE(test, loop_poll(memdev_held(loop_memdev)));
	if (refusals == INT_MAX) {
		loop_before_destroy = loop_release_completions;
		user = rpcrdma_rw_alloc(s->ep, DMA_FROM_DEVICE, 0, 0, GFP_KERNEL);
		KUNIT_EXPECT_NOT_NULL(test, user);
	}
	memdev_refuse_err(loop_memdev, refusals);
	rpcrdma_ep_close(s->ep, NULL);
	if (user) {
		/* The teardown waits for this transfer, not for posted ones. */
		KUNIT_EXPECT_TRUE(test, loop_poll(READ_ONCE(s->ep->core.life.unstopped) &&
						  waitqueue_active(&s->ep->wait)));
		rpcrdma_rw_free(user);
	}
	if (refusals != INT_MAX)
		memdev_hold(loop_memdev, false, false);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(c));
	loop_before_destroy = NULL;
	memdev_refuse_err(loop_memdev, 0);
	for (i = 0; i < 4; i++)
		loop_rpc_end(c, &rpcs[i]);
	loop_buf_free(&arg);
	loop_disconnect(test, pair);
}

/*
 * A device may refuse to enter the error state for a while, for example while it resets
 * itself.
 */
static void hardware_stops_late(struct kunit *test)
{
	loop_close_unstopped(test, 3, false);
	loop_close_unstopped(test, 3, true);
}

/*
 * If a device refuses permanently, the memory of posted Work Requests is freed only
 * after the queue pair and the completion queues are destroyed.
 */
static void hardware_never_stops(struct kunit *test)
{
	loop_close_unstopped(test, INT_MAX, false);
	loop_close_unstopped(test, INT_MAX, true);
}

/* After the device is replaced, a listener bound to its address accepts again. */
static void hardware_is_replaced(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_removal *r;
	struct memdev *md;
	int rc = -ENODEV, i;

	/* Not allocated by KUnit, because the thread may outlive the test. */
	r = kzalloc(sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r);
	init_completion(&r->done);
	r->dev = loop_get_device(pair->client.ep->device);
	KUNIT_ASSERT_NOT_NULL(test, r->dev);
	kthread_run(loop_remove_fn, r, "loop_remove");
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&r->done, 60 * HZ));
	kfree(r);
	loop_memdev = NULL;
	loop_disconnect(test, pair);
	md = memdev_add("mem0");
	KUNIT_ASSERT_FALSE(test, IS_ERR(md));
	for (i = 0; i < LOOP_WAIT_S && rc; i++) {
		rc = loop_connect(pair);
		if (rc)
			schedule_timeout_uninterruptible(HZ);
	}
	KUNIT_EXPECT_EQ(test, rc, 0);
	if (!rc)
		KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 100, 100, 0,
						   PAGE_SIZE), 0);
	loop_disconnect(test, pair);
	loop_memdev = md;
}

/*
 * Completions of Sends are withheld, and delivered before or after those of Receives.
 */
static void hardware_completes_late(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_caller *c;
	unsigned long end;
	bool busy = true;
	int i, n;

	c = kunit_kcalloc(test, 4, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	for (i = 0; i < 4; i++) {
		c[i].max_inline = i & 2 ? 20000 : 0;
		loop_caller_start(test, &c[i], i & 1 ? &pair->server :
				  &pair->client, 40, 10000);
	}
	end = jiffies + LOOP_WAIT_S * HZ;
	for (n = 0; busy && time_before(jiffies, end); n++) {
		memdev_hold(loop_memdev, n & 1, n & 2);
		schedule_timeout_uninterruptible(1);
		memdev_hold(loop_memdev, false, false);
		if (n & 4)
			schedule_timeout_uninterruptible(1);
		for (busy = false, i = 0; i < 4; i++)
			busy |= !completion_done(&c[i].done);
	}
	for (i = 0; i < 4; i++)
		loop_caller_wait(test, &c[i]);
	loop_check_idle(test, &pair->client);
	loop_check_idle(test, &pair->server);
}

/*
 * A softirq reports the end of its poll before it arms the CQ. The completion that it polled last
 * may end the drain, so that the CQ is freed meanwhile.
 */
static void hardware_arms_late(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct memdev_traits t;
	unsigned int i;

	memdev_default_traits(&t);
	t.arm_ms = 20;
	memdev_set_traits(loop_memdev, &t);
	for (i = 0; i < 8; i++) {
		loop_open(test);
		/* Checks that the device counted no misuse. */
		loop_disconnect(test, pair);
	}
}

/* A Reply may arrive before the data of a Read that was posted before it. */
static void hardware_overtakes(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.late_reads = true;
	loop_open_over(test, &t);
	loop_mixed_traffic(test, pair);
}

/*
 * The failure of any Work Request, also within a transfer, is reported and ends the
 * connection.
 */
static void hardware_fails_work(struct kunit *test)
{
	static const enum ib_wr_opcode opcodes[] = {
		IB_WR_SEND, IB_WR_SEND_WITH_INV, IB_WR_RDMA_READ,
		IB_WR_RDMA_WRITE, IB_WR_REG_MR, IB_WR_LOCAL_INV,
	};
	struct loop_pair *pair = test->priv;
	struct memdev_counts *counts = memdev_counts(loop_memdev);
	struct memdev_traits t;
	u32 i, n;

	memdev_default_traits(&t);
	t.max_sge = 2;
	memdev_set_traits(loop_memdev, &t);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		for (n = 1; n <= 2; n++) {
			loop_open(test);
			memdev_fail_wr(loop_memdev, opcodes[i], n,
				       IB_WC_LOC_QP_OP_ERR);
			/* Two MRs: the client invalidates the second one. */
			loop_one_rpc(&pair->client, 30000, 0, 1, PAGE_SIZE);
			loop_one_rpc(&pair->client, 0, 30000, 1, PAGE_SIZE);
			loop_one_rpc(&pair->client, 3000, 3000, 1, 1000);
			KUNIT_EXPECT_TRUE_MSG(test, memdev_failed(loop_memdev),
					      "opcode %d", opcodes[i]);
			KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
			KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
			KUNIT_EXPECT_EQ(test, atomic_read(&counts->unreported), 0);
			memdev_fail_wr(loop_memdev, 0, 0, 0);
			loop_disconnect(test, pair);
		}
	}
}

/* Fail each allocation, mapping and posting of the device once. */
static void hardware_fails_anything(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct memdev_traits t;
	unsigned int n;
	bool failed;

	memdev_default_traits(&t);
	t.reads_into_mrs = true;
	memdev_set_traits(loop_memdev, &t);
	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->client_params.sends = 2;
	pair->client_params.max_mrs = 2;
	pair->client_params.reads = 0;
	pair->server_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.sends = 2;
	pair->server_params.reads = 4;
	pair->server_params.max_mrs = 0;
	for (n = 1; n < 1000; n++) {
		memdev_fail_at(loop_memdev, n);
		if (!loop_connect(pair) &&
		    loop_wait_until(&pair->server,
				    atomic_read(&pair->server.opened) ||
				    atomic_read(&pair->server.closed))) {
			loop_one_rpc(&pair->client, 10000, 0, 1, PAGE_SIZE);
			loop_one_rpc(&pair->client, 0, 10000, 1, PAGE_SIZE);
		}
		failed = memdev_failed(loop_memdev);
		memdev_fail_at(loop_memdev, 0);
		loop_disconnect(test, pair);
		if (!failed)
			break;
	}
	kunit_info(test, "%u places", n - 1);
	KUNIT_EXPECT_GT(test, n, 30U);
	KUNIT_EXPECT_LT(test, n, 1000U);
}

/* Count the Send contexts of @ep that have a separate buffer of at least @octets bytes. */
static unsigned int loop_send_buffers(struct rpcrdma_ep *ep, u32 octets)
{
	unsigned int nr = 0, i;

	for (i = 0; i < ep->core.sends_made; i++)
		if (!ep->send_ring[i].core.shared &&
		    ep->send_ring[i].core.size >= octets)
			nr++;
	return nr;
}

/*
 * If no Send buffer can be allocated, one is moved from a free context. Surplus buffers
 * are freed one by one, except those for control messages. Fail only this thread's
 * mappings, because the connection manager may map memory at the same time.
 */
static void hardware_send_buffers(struct kunit *test)
{
	const u32 octets = 4096;
	struct loop_pair *pair = test->priv;
	struct rpcrdma_send *s, *other;
	struct rpcrdma_ep *ep;
	unsigned int nr, i;
	int rc;

	if (!memdev_maps(loop_memdev))
		kunit_skip(test, "this kernel lets no driver map memory");
	loop_open(test);
	/* A server tries again, because otherwise it has to close the connection. */
	s = rpcrdma_core_send_get(&pair->server.ep->core);
	KUNIT_ASSERT_NOT_NULL(test, s);
	memdev_fail_own(loop_memdev, 1);
	rc = rpcrdma_core_send_larger(s, octets);
	KUNIT_EXPECT_TRUE(test, memdev_failed(loop_memdev));
	KUNIT_EXPECT_EQ(test, rc, 0);
	KUNIT_EXPECT_GE(test, s->size, octets);
	rpcrdma_core_send_put(s);

	ep = pair->client.ep;
	nr = loop_send_buffers(ep, octets);
	s = rpcrdma_core_send_get(&ep->core);
	KUNIT_ASSERT_NOT_NULL(test, s);
	rc = rpcrdma_core_send_larger(s, octets);
	KUNIT_ASSERT_EQ(test, rc, 0);
	KUNIT_EXPECT_EQ(test, loop_send_buffers(ep, octets), nr + 1);

	/* @s is in use, so that its buffer is not moved to another context. */
	other = rpcrdma_core_send_get(&ep->core);
	KUNIT_ASSERT_NOT_NULL(test, other);
	if (!nr) {
		memdev_fail_own(loop_memdev, 1);
		rc = rpcrdma_core_send_larger(other, octets);
		KUNIT_EXPECT_TRUE(test, memdev_failed(loop_memdev));
		KUNIT_EXPECT_EQ(test, rc, -ENOMEM);
	}
	rpcrdma_core_send_put(s);
	memdev_fail_own(loop_memdev, 1);
	rc = rpcrdma_core_send_larger(other, octets);
	KUNIT_EXPECT_TRUE(test, memdev_failed(loop_memdev));
	KUNIT_EXPECT_EQ(test, rc, 0);
	KUNIT_EXPECT_GE(test, other->size, octets);
	KUNIT_EXPECT_EQ(test, loop_send_buffers(ep, octets), nr + 1);
	/* The buffer must have the reported size: write all of it. */
	memset(other->buf, 0, other->size);

	/* If the default size cannot be allocated, a buffer of the requested size is. */
	s = rpcrdma_core_send_get(&ep->core);
	KUNIT_ASSERT_NOT_NULL(test, s);
	memdev_fail_own(loop_memdev, 1);
	rc = rpcrdma_core_send_larger(s, octets / 2);
	KUNIT_EXPECT_EQ(test, rc, 0);
	KUNIT_EXPECT_EQ(test, s->size, octets / 2);
	rpcrdma_core_send_put(s);
	rpcrdma_core_send_put(other);

	nr = loop_send_buffers(ep, 1);
	KUNIT_EXPECT_GT(test, nr, 0U);
	spin_lock(&ep->lock);
	while (nr) {
		nr--;
		KUNIT_EXPECT_EQ(test, rpcrdma_core_send_free_surplus(&ep->core),
				nr);
		KUNIT_EXPECT_EQ(test, loop_send_buffers(ep, 1), nr);
	}
	KUNIT_EXPECT_EQ(test, rpcrdma_core_send_free_surplus(&ep->core), 0U);
	spin_unlock(&ep->lock);
	/* The contexts for control messages have their own buffers again. */
	for (i = 1; i <= RPCRDMA_CONTROL_SENDS && i < ep->core.sends_made; i++)
		KUNIT_EXPECT_TRUE(test, ep->send_ring[i].core.shared);
	loop_mixed_traffic(test, pair);
}

/*
 * A Send is signaled if its buffer must not be reused before its own completion: the
 * client's only reserved context, and on siw each Send of a page or more.
 */
static void hardware_sends_report(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct rpcrdma_send *s, *last;
	unsigned int i, all = 0;
	struct loop_rpc *rpc;
	struct rpcrdma_ep *ep;

	loop_open(test);
	ep = pair->client.ep;
	last = &ep->send_ring[ep->core.nr_sends - 1].core;
	KUNIT_EXPECT_EQ(test, last->size, 4096U);
	KUNIT_EXPECT_EQ(test, last->signal_threshold,
			(u32)RPCRDMA_SIGNAL_ALWAYS);
	for (i = 0; i < ep->core.nr_sends - 1; i++) {
		s = &ep->send_ring[i].core;
		KUNIT_EXPECT_EQ(test, s->signal_threshold,
				(u32)RPCRDMA_SIGNAL_BY_QUEUE);
		s->signal_threshold = 3000;
	}
	for (i = 0; i < 8; i++) {
		rpc = loop_rpcs(test, 1);
		rpc->inline_arg = i & 1 ? 1000 : 3500;
		KUNIT_ASSERT_EQ(test, loop_rpc_send(&pair->client, rpc), 0);
		KUNIT_EXPECT_EQ(test, loop_rpc_wait(&pair->client, rpc), 0);
	}
	for (i = 0; i < ep->core.nr_sends - 1; i++) {
		if (ep->send_ring[i].core.len < 3000)
			continue;
		KUNIT_EXPECT_TRUE(test, ep->send_ring[i].wr.send_flags &
				  IB_SEND_SIGNALED);
		all++;
	}
	KUNIT_EXPECT_GT(test, all, 0U);
}

static struct kunit_case hardware_cases[] = {
	KUNIT_CASE(hardware_send_buffers),
	KUNIT_CASE(hardware_sends_report),
	KUNIT_CASE(hardware_bounces),
	KUNIT_CASE(hardware_bounces_held),
	KUNIT_CASE(hardware_mrs_run_dry),
	KUNIT_CASE(hardware_gaps),
	KUNIT_CASE(hardware_is_small),
	KUNIT_CASE(hardware_has_little_room),
	KUNIT_CASE(hardware_without_mrs),
	KUNIT_CASE(hardware_answers_last),
	KUNIT_CASE(hardware_drops_calls_last),
	KUNIT_CASE(hardware_keeps_no_call_last),
	KUNIT_CASE(hardware_loses_confirmation),
	KUNIT_CASE(hardware_stops_late),
	KUNIT_CASE(hardware_never_stops),
	KUNIT_CASE(hardware_completes_late),
	KUNIT_CASE(hardware_arms_late),
	KUNIT_CASE(hardware_overtakes),
	KUNIT_CASE(hardware_fails_work),
	KUNIT_CASE(hardware_fails_anything),
	KUNIT_CASE(hardware_is_replaced),
	{}
};

static struct kunit_suite hardware_suite = {
	.name		= "rpcrdma_ep_hardware",
	.suite_init	= loop_mem_suite_init,
	.suite_exit	= loop_suite_exit,
	.init		= loop_test_init,
	.exit		= loop_test_exit,
	.test_cases	= hardware_cases,
};

kunit_test_suite(hardware_suite);
