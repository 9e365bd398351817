// SPDX-License-Identifier: GPL-2.0
/*
 * Cases of the teardown suite: connections that are not open yet, many connections at
 * the same time, and listeners
 */
#include <linux/kthread.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>

#include "endpoint.h"

/* Close all clients' endpoints, concurrently with their setup. */
static void loop_close_clients(void)
{
	struct rpcrdma_ep *ep = NULL;

	while ((ep = rpcrdma_ep_next(ep)) != NULL)
		if (ep->client)
			rpcrdma_ep_close(ep, NULL);
}

static int loop_closer_fn(void *data)
{
	struct loop_caller *c = data;

	schedule_timeout_uninterruptible(c->count);
	loop_close_clients();
	kthread_complete_and_exit(&c->done, 0);
}

static void loop_closer_start(struct kunit *test, struct loop_caller *c,
			      unsigned int delay)
{
	c->count = delay;
	init_completion(&c->done);
	c->task = kthread_run(loop_closer_fn, c, "loop_closer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(c->task));
}

void close_refused(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->reject = true;
	KUNIT_EXPECT_EQ(test, loop_connect(pair), -ECONNREFUSED);
	KUNIT_EXPECT_PTR_EQ(test, pair->server.ep, NULL);
}

/*
 * The connection manager does not destroy the id of a refused request: the removal of the
 * device could free what the id still refers to.
 */
void close_refused_id(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	unsigned int endpoints, i;

	pair->reject = true;
	for (i = 0; i < 3; i++) {
		loop_flush_queues();
		endpoints = loop_nr_endpoints();
		atomic_set(&loop_ids_destroyed, 0);
		KUNIT_EXPECT_EQ(test, loop_connect(pair), -ECONNREFUSED);
		loop_flush_queues();
		/* The client's id and the server's */
		KUNIT_EXPECT_EQ(test, atomic_read(&loop_ids_destroyed), 2);
		KUNIT_EXPECT_EQ(test, loop_nr_endpoints(), endpoints);
	}
}

static void loop_drop_messages(struct rpcrdma_ep *ep)
{
	struct rpcrdma_poll poll = { .ep = ep };
	struct rpcrdma_recv *rv;

	while ((rv = rpcrdma_ep_poll(&poll)))
		rpcrdma_recv_put(rv);
}

/* Ops of connections without upcalls */
const struct rpcrdma_ep_ops loop_no_ops = {
	.poll	= loop_drop_messages,
};

void close_nobody_listens(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct sockaddr_in addr = loop_addr;
	struct rpcrdma_ep *ep;

	addr.sin_port = htons(1);
	ep = rpcrdma_ep_connect(&init_net, (struct sockaddr *)&addr, NULL,
				&pair->client_params, &loop_no_ops,
				NULL, 0, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ep), (long)-ECONNREFUSED);
}

/*
 * Close while connecting to an address where no host answers. Without the close, the
 * connection manager would retry for a minute.
 */
void close_connecting(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct sockaddr_in addr = loop_addr;
	unsigned long start = jiffies;
	struct loop_caller closer = {};
	struct rpcrdma_ep *ep;

	if (loop_iwarp)
		kunit_skip(test, "siw waits for TCP's own time limit");
	addr.sin_addr.s_addr ^= htonl(0x55);
	addr.sin_port = htons(20049);
	loop_closer_start(test, &closer, HZ / 2);
	ep = rpcrdma_ep_connect(&init_net, (struct sockaddr *)&addr, NULL,
				&pair->client_params, &loop_no_ops,
				NULL, 0, NULL);
	KUNIT_EXPECT_TRUE(test, IS_ERR(ep));
	KUNIT_EXPECT_LT(test, jiffies - start, 8UL * HZ);
	wait_for_completion(&closer.done);
}

/* Close at various moments of the connection setup. */
void close_during_connect(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	unsigned int i, opened = 0;

	for (i = 0; i < 24; i++) {
		struct loop_caller closer = {};

		loop_closer_start(test, &closer, i / 2);
		if (!loop_connect(pair))
			opened++;
		wait_for_completion(&closer.done);
		loop_disconnect(test, pair);
	}
	kunit_info(test, "%u of %u were opened first", opened, i);
}

/* Close while the peer is connected and silent. */
void close_opening(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	unsigned long start = jiffies;
	struct loop_caller closer = {};

	loop_mute = LOOP_MUTE_SERVER;
	/*
	 * The close comes after the connection is established, even on a slow machine,
	 * and before the opening times out.
	 */
	loop_closer_start(test, &closer, 6 * HZ);
	KUNIT_EXPECT_EQ(test, loop_connect(pair), -EPROTONOSUPPORT);
	KUNIT_EXPECT_LT(test, jiffies - start, 13UL * HZ);
	wait_for_completion(&closer.done);
}

/* The peer is connected and silent, and the opening times out. */
void close_opening_timeout(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	unsigned long start = jiffies;

	loop_mute = LOOP_MUTE_CLIENT;
	KUNIT_EXPECT_EQ(test, loop_connect(pair), -EPROTONOSUPPORT);
	KUNIT_EXPECT_LT(test, jiffies - start, 40UL * HZ);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
}

void close_from_opened(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->client.close_on_open = true;
	loop_connect(pair);
	loop_disconnect(test, pair);
	pair->server.close_on_open = true;
	loop_connect(pair);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
}

void close_no_common_version(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->server_params.version_low = RPCRDMA_VERS_1;
	pair->server_params.version_high = RPCRDMA_VERS_1;
	KUNIT_EXPECT_EQ(test, loop_connect(pair), -EPROTONOSUPPORT);
}

void close_listener_first(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);

	rpcrdma_listener_destroy(pair->listener);
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 100, 100, 0,
					   PAGE_SIZE), 0);
	loop_disconnect(test, pair);
	pair->listener = rpcrdma_listen(&init_net,
					(struct sockaddr *)&loop_addr, NULL,
					NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pair->listener));
}

#define LOOP_CROWD 24

struct loop_crowd;

struct loop_crowd_client {
	struct loop_crowd	*crowd;
	struct completion	done;
	struct rpcrdma_ep	*ep;
};

/* Many clients of one server that only connect */
struct loop_crowd {
	struct rpcrdma_ep_params params;
	struct rpcrdma_listener	*listener;
	struct rpcrdma_ep	*servers[LOOP_CROWD];
	atomic_t		nr_servers, opened, closed;
	struct loop_crowd_client clients[LOOP_CROWD];
};

static void loop_crowd_opened(struct rpcrdma_ep *ep)
{
	struct loop_crowd *crowd = ep->priv;

	atomic_inc(&crowd->opened);
}

static void loop_crowd_closed(struct rpcrdma_ep *ep)
{
	struct loop_crowd *crowd = ep->priv;

	atomic_inc(&crowd->closed);
}

static const struct rpcrdma_ep_ops loop_crowd_ops = {
	.poll	= loop_drop_messages,
	.opened	= loop_crowd_opened,
	.closed	= loop_crowd_closed,
};

static int loop_crowd_incoming(void *priv, struct rpcrdma_ep *ep)
{
	struct loop_crowd *crowd = priv;
	int n = atomic_inc_return(&crowd->nr_servers);

	if (n > LOOP_CROWD)
		return -EBUSY;
	ep->ops = &loop_crowd_ops;
	ep->priv = crowd;
	ep->params = crowd->params;
	crowd->servers[n - 1] = ep;
	return 0;
}

static void loop_crowd_connect(struct loop_crowd_client *c)
{
	struct loop_crowd *crowd = c->crowd;

	c->ep = rpcrdma_ep_connect(&init_net,
				   rpcrdma_listener_addr(crowd->listener),
				   NULL, &crowd->params, &loop_crowd_ops,
				   crowd, 0, NULL);
}

static int loop_crowd_fn(void *data)
{
	struct loop_crowd_client *c = data;

	loop_crowd_connect(c);
	kthread_complete_and_exit(&c->done, 0);
}

static void loop_crowd_end(struct rpcrdma_ep *ep)
{
	if (IS_ERR_OR_NULL(ep))
		return;
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_wait_closed(ep);
	rpcrdma_ep_put(ep);
}

/* Set up the server, and clients that have not connected yet. */
static struct loop_crowd *loop_crowd_new(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_crowd *crowd;
	int i;

	crowd = kunit_kzalloc(test, sizeof(*crowd), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, crowd);
	crowd->params = pair->client_params;
	crowd->params.window = RPCRDMA_MIN_WINDOW;
	crowd->params.reverse = 1;
	crowd->params.sends = 2;
	crowd->params.max_mrs = 2;
	crowd->params.reads = 0;
	crowd->listener = rpcrdma_listen(&init_net,
					 (struct sockaddr *)&loop_addr,
					 loop_crowd_incoming, crowd);
	KUNIT_ASSERT_FALSE(test, IS_ERR(crowd->listener));
	for (i = 0; i < LOOP_CROWD; i++) {
		crowd->clients[i].crowd = crowd;
		init_completion(&crowd->clients[i].done);
	}
	return crowd;
}

/* End all connections, each of which has opened. */
static void loop_crowd_end_all(struct kunit *test, struct loop_crowd *crowd)
{
	int i;

	for (i = 0; i < LOOP_CROWD; i++)
		loop_crowd_end(crowd->clients[i].ep);
	rpcrdma_listener_destroy(crowd->listener);
	for (i = 0; i < LOOP_CROWD; i++)
		loop_crowd_end(crowd->servers[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->closed),
			atomic_read(&crowd->opened));
	loop_check_gone(test);
}

/*
 * Many clients connect at the same time, as after a power failure. No client waits for
 * the setup of another connection, and neither does the connection manager.
 */
void connect_all_at_once(struct kunit *test)
{
	struct loop_crowd *crowd = loop_crowd_new(test);
	struct task_struct *task;
	int i;

	loop_expect_crowd(LOOP_CROWD);
	for (i = 0; i < LOOP_CROWD; i++) {
		task = kthread_run(loop_crowd_fn, &crowd->clients[i],
				   "loop_crowd");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	}
	for (i = 0; i < LOOP_CROWD; i++) {
		wait_for_completion(&crowd->clients[i].done);
		KUNIT_EXPECT_FALSE(test, IS_ERR(crowd->clients[i].ep));
	}
	KUNIT_EXPECT_TRUE(test, loop_poll(atomic_read(&crowd->opened) ==
						2 * LOOP_CROWD));
	loop_expect_crowd(0);
	loop_crowd_end_all(test, crowd);
}

/* Return how many endpoints are listed from @number on. Their numbers ascend. */
static unsigned int loop_listed(struct kunit *test, u64 number)
{
	struct rpcrdma_ep *ep;
	unsigned int n = 0;

	for (ep = rpcrdma_ep_from(number); ep; ep = rpcrdma_ep_next(ep)) {
		KUNIT_EXPECT_GE(test, ep->number, number);
		number = ep->number + 1;
		n++;
	}
	return n;
}

/*
 * A walk of all connections is interrupted after the first one, and that connection ends.
 * The walk still visits all of the others.
 */
void list_goes_on(struct kunit *test)
{
	struct loop_crowd *crowd = loop_crowd_new(test);
	unsigned int all, rest;
	u64 next;
	int i;

	for (i = 0; i < 3; i++) {
		loop_crowd_connect(&crowd->clients[i]);
		KUNIT_EXPECT_FALSE(test, IS_ERR(crowd->clients[i].ep));
	}
	KUNIT_EXPECT_TRUE(test, loop_poll(atomic_read(&crowd->opened) == 6));
	all = loop_listed(test, 0);
	next = crowd->clients[0].ep->number + 1;
	rest = loop_listed(test, next);
	KUNIT_EXPECT_GE(test, rest, 5U);
	KUNIT_EXPECT_EQ(test, rest, all - 1);

	loop_crowd_end(crowd->clients[0].ep);
	crowd->clients[0].ep = NULL;
	KUNIT_EXPECT_TRUE(test, loop_poll(loop_listed(test, 0) == all - 1));
	KUNIT_EXPECT_EQ(test, loop_listed(test, next), rest);
	KUNIT_EXPECT_EQ(test, loop_listed(test, U64_MAX), 0U);
	loop_crowd_end_all(test, crowd);
}

/* The device is removed during a connection's setup. */
void close_removed_in_setup(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	loop_removal_in_setup = true;
	KUNIT_EXPECT_NE(test, loop_connect(pair), 0);
	KUNIT_EXPECT_FALSE(test, loop_removal_in_setup);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
}

/* The device is removed after a listener is bound to its address, before it listens. */
void listen_device_removed(struct kunit *test)
{
	struct rpcrdma_listener *l;

	loop_removal_at_listen = true;
	l = rpcrdma_listen(&init_net, (struct sockaddr *)&loop_addr, NULL,
			   NULL);
	KUNIT_EXPECT_TRUE(test, IS_ERR(l));
	KUNIT_EXPECT_FALSE(test, loop_removal_at_listen);
}

/* An address cannot be bound, and the id points to a device that may have been freed. */
void listen_not_bound(struct kunit *test)
{
	struct rpcrdma_listener *l;

	loop_stale_device = kunit_kzalloc(test, sizeof(*loop_stale_device),
					  GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, loop_stale_device);
	l = rpcrdma_listen(&init_net, (struct sockaddr *)&loop_addr, NULL,
			   NULL);
	loop_stale_device = NULL;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(l), -EADDRINUSE);
}

/* Report @event, and check that the listener listens again at the same port. */
static void loop_listens_again(struct kunit *test,
			       enum rdma_cm_event_type event)
{
	struct loop_pair *pair = test->priv;
	struct sockaddr_in before, after;
	unsigned int listens = loop_listens;

	memcpy(&before, rpcrdma_listener_addr(pair->listener), sizeof(before));
	loop_listener_event(pair->listener, event);
	KUNIT_EXPECT_EQ(test, loop_listens, listens + 1);
	memcpy(&after, rpcrdma_listener_addr(pair->listener), sizeof(after));
	KUNIT_EXPECT_EQ(test, before.sin_port, after.sin_port);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 100, 100, 0,
					   PAGE_SIZE), 0);
}

/* The device is removed, and the listener listens again once a device is available. */
void listen_device_replaced(struct kunit *test)
{
	loop_listens_again(test, RDMA_CM_EVENT_DEVICE_REMOVAL);
}

/* The address moves to another device, and the listener listens there. */
void listen_address_changed(struct kunit *test)
{
	loop_listens_again(test, RDMA_CM_EVENT_ADDR_CHANGE);
}
