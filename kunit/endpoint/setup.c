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
static void shim_close_clients(void)
{
	struct rpcrdma_ep *ep = NULL;

	while ((ep = rpcrdma_ep_next(ep)) != NULL)
		if (ep->client)
			rpcrdma_ep_close(ep, NULL);
}

static int shim_closer_fn(void *data)
{
	struct shim_caller *c = data;

	schedule_timeout_uninterruptible(c->count);
	shim_close_clients();
	kthread_complete_and_exit(&c->done, 0);
}

static void shim_closer_start(struct kunit *test, struct shim_caller *c,
			      unsigned int delay)
{
	c->count = delay;
	init_completion(&c->done);
	c->task = kthread_run(shim_closer_fn, c, "shim_closer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(c->task));
}

void close_refused(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->reject = true;
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -ECONNREFUSED);
	KUNIT_EXPECT_PTR_EQ(test, pair->server.ep, NULL);
}

static void shim_drop_messages(struct rpcrdma_ep *ep)
{
	struct rpcrdma_poll poll = { .ep = ep };
	struct rpcrdma_recv *rv;

	while ((rv = rpcrdma_ep_poll(&poll)))
		rpcrdma_recv_put(rv);
}

/* Ops of connections without upcalls */
const struct rpcrdma_ep_ops shim_no_ops = {
	.poll	= shim_drop_messages,
};

void close_nobody_listens(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct sockaddr_in addr = shim_addr;
	struct rpcrdma_ep *ep;

	addr.sin_port = htons(1);
	ep = rpcrdma_ep_connect(&init_net, (struct sockaddr *)&addr, NULL,
				&pair->client_params, &shim_no_ops,
				NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ep), (long)-ECONNREFUSED);
}

/*
 * No host answers at the address. Without the close, the connection manager would retry
 * for a minute.
 */
void close_connecting(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct sockaddr_in addr = shim_addr;
	unsigned long start = jiffies;
	struct shim_caller closer = {};
	struct rpcrdma_ep *ep;

	if (shim_iwarp)
		kunit_skip(test, "siw waits for TCP's own time limit");
	addr.sin_addr.s_addr ^= htonl(0x55);
	addr.sin_port = htons(20049);
	shim_closer_start(test, &closer, HZ / 2);
	ep = rpcrdma_ep_connect(&init_net, (struct sockaddr *)&addr, NULL,
				&pair->client_params, &shim_no_ops,
				NULL, NULL);
	KUNIT_EXPECT_TRUE(test, IS_ERR(ep));
	KUNIT_EXPECT_LT(test, jiffies - start, 8UL * HZ);
	wait_for_completion(&closer.done);
}

/* Close at various moments of the connection setup. */
void close_during_connect(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	unsigned int i, opened = 0;

	for (i = 0; i < 24; i++) {
		struct shim_caller closer = {};

		shim_closer_start(test, &closer, i / 2);
		if (!shim_connect(pair))
			opened++;
		wait_for_completion(&closer.done);
		shim_disconnect(test, pair);
	}
	kunit_info(test, "%u of %u were opened first", opened, i);
}

/* Close while the peer is connected and silent. */
void close_opening(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	unsigned long start = jiffies;
	struct shim_caller closer = {};

	shim_mute = SHIM_MUTE_SERVER;
	/*
	 * The close comes after the connection is established, even on a slow machine,
	 * and before the opening times out.
	 */
	shim_closer_start(test, &closer, 6 * HZ);
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EPROTONOSUPPORT);
	KUNIT_EXPECT_LT(test, jiffies - start, 13UL * HZ);
	wait_for_completion(&closer.done);
}

/* The peer is connected and silent, and the opening times out. */
void close_opening_timeout(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	unsigned long start = jiffies;

	shim_mute = SHIM_MUTE_CLIENT;
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EPROTONOSUPPORT);
	KUNIT_EXPECT_LT(test, jiffies - start, 40UL * HZ);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
}

void close_from_opened(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->client.close_on_open = true;
	shim_connect(pair);
	shim_disconnect(test, pair);
	pair->server.close_on_open = true;
	shim_connect(pair);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
}

void close_no_common_version(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	pair->server_params.version_low = RPCRDMA_VERS_1;
	pair->server_params.version_high = RPCRDMA_VERS_1;
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EPROTONOSUPPORT);
}

void close_listener_first(struct kunit *test)
{
	struct shim_pair *pair = shim_open(test);

	rpcrdma_listener_destroy(pair->listener);
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 100, 100, 0,
					   PAGE_SIZE), 0);
	shim_disconnect(test, pair);
	pair->listener = rpcrdma_listen(&init_net,
					(struct sockaddr *)&shim_addr, NULL,
					NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pair->listener));
}

#define SHIM_CROWD 24

struct shim_crowd;

struct shim_crowd_client {
	struct shim_crowd	*crowd;
	struct completion	done;
	struct rpcrdma_ep	*ep;
};

/* Many clients of one server that only connect */
struct shim_crowd {
	struct rpcrdma_ep_params params;
	struct rpcrdma_listener	*listener;
	struct rpcrdma_ep	*servers[SHIM_CROWD];
	atomic_t		nr_servers, opened, closed;
	struct shim_crowd_client clients[SHIM_CROWD];
};

static void shim_crowd_opened(struct rpcrdma_ep *ep)
{
	struct shim_crowd *crowd = ep->priv;

	atomic_inc(&crowd->opened);
}

static void shim_crowd_closed(struct rpcrdma_ep *ep)
{
	struct shim_crowd *crowd = ep->priv;

	atomic_inc(&crowd->closed);
}

static const struct rpcrdma_ep_ops shim_crowd_ops = {
	.poll	= shim_drop_messages,
	.opened	= shim_crowd_opened,
	.closed	= shim_crowd_closed,
};

static int shim_crowd_incoming(void *priv, struct rpcrdma_ep *ep)
{
	struct shim_crowd *crowd = priv;
	int n = atomic_inc_return(&crowd->nr_servers);

	if (n > SHIM_CROWD)
		return -EBUSY;
	ep->ops = &shim_crowd_ops;
	ep->priv = crowd;
	ep->params = crowd->params;
	crowd->servers[n - 1] = ep;
	return 0;
}

static void shim_crowd_connect(struct shim_crowd_client *c)
{
	struct shim_crowd *crowd = c->crowd;

	c->ep = rpcrdma_ep_connect(&init_net,
				   rpcrdma_listener_addr(crowd->listener),
				   NULL, &crowd->params, &shim_crowd_ops,
				   crowd, NULL);
}

static int shim_crowd_fn(void *data)
{
	struct shim_crowd_client *c = data;

	shim_crowd_connect(c);
	kthread_complete_and_exit(&c->done, 0);
}

static void shim_crowd_end(struct rpcrdma_ep *ep)
{
	if (IS_ERR_OR_NULL(ep))
		return;
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_wait_closed(ep);
	rpcrdma_ep_put(ep);
}

/* Set up the server, and clients that have not connected yet. */
static struct shim_crowd *shim_crowd_new(struct kunit *test)
{
	struct shim_pair *pair = test->priv;
	struct shim_crowd *crowd;
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
					 (struct sockaddr *)&shim_addr,
					 shim_crowd_incoming, crowd);
	KUNIT_ASSERT_FALSE(test, IS_ERR(crowd->listener));
	for (i = 0; i < SHIM_CROWD; i++) {
		crowd->clients[i].crowd = crowd;
		init_completion(&crowd->clients[i].done);
	}
	return crowd;
}

/* End all connections, each of which has opened. */
static void shim_crowd_end_all(struct kunit *test, struct shim_crowd *crowd)
{
	int i;

	for (i = 0; i < SHIM_CROWD; i++)
		shim_crowd_end(crowd->clients[i].ep);
	rpcrdma_listener_destroy(crowd->listener);
	for (i = 0; i < SHIM_CROWD; i++)
		shim_crowd_end(crowd->servers[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->closed),
			atomic_read(&crowd->opened));
	shim_check_gone(test);
}

/*
 * Many clients connect at the same time, as after a power failure. No client waits for
 * the setup of another connection, and neither does the connection manager.
 */
void connect_all_at_once(struct kunit *test)
{
	struct shim_crowd *crowd = shim_crowd_new(test);
	struct task_struct *task;
	int i;

	shim_expect_crowd(SHIM_CROWD);
	for (i = 0; i < SHIM_CROWD; i++) {
		task = kthread_run(shim_crowd_fn, &crowd->clients[i],
				   "shim_crowd");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	}
	for (i = 0; i < SHIM_CROWD; i++) {
		wait_for_completion(&crowd->clients[i].done);
		KUNIT_EXPECT_FALSE(test, IS_ERR(crowd->clients[i].ep));
	}
	KUNIT_EXPECT_TRUE(test, shim_poll(atomic_read(&crowd->opened) ==
						2 * SHIM_CROWD));
	shim_expect_crowd(0);
	shim_crowd_end_all(test, crowd);
}

/* Return how many endpoints are listed from @number on. Their numbers ascend. */
static unsigned int shim_listed(struct kunit *test, u64 number)
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
 * A walk of all connections is interrupted after the first one, which ends then: the walk
 * skips none of the others.
 */
void list_goes_on(struct kunit *test)
{
	struct shim_crowd *crowd = shim_crowd_new(test);
	unsigned int all, rest;
	u64 next;
	int i;

	for (i = 0; i < 3; i++) {
		shim_crowd_connect(&crowd->clients[i]);
		KUNIT_EXPECT_FALSE(test, IS_ERR(crowd->clients[i].ep));
	}
	KUNIT_EXPECT_TRUE(test, shim_poll(atomic_read(&crowd->opened) == 6));
	all = shim_listed(test, 0);
	next = crowd->clients[0].ep->number + 1;
	rest = shim_listed(test, next);
	KUNIT_EXPECT_GE(test, rest, 5U);
	KUNIT_EXPECT_EQ(test, rest, all - 1);

	shim_crowd_end(crowd->clients[0].ep);
	crowd->clients[0].ep = NULL;
	KUNIT_EXPECT_TRUE(test, shim_poll(shim_listed(test, 0) == all - 1));
	KUNIT_EXPECT_EQ(test, shim_listed(test, next), rest);
	KUNIT_EXPECT_EQ(test, shim_listed(test, U64_MAX), 0U);
	shim_crowd_end_all(test, crowd);
}

/* The device is removed during a connection's setup. */
void close_removed_in_setup(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	shim_removal_in_setup = true;
	KUNIT_EXPECT_NE(test, shim_connect(pair), 0);
	KUNIT_EXPECT_FALSE(test, shim_removal_in_setup);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
}

/* The device is removed after a listener is bound to its address, before it listens. */
void listen_device_removed(struct kunit *test)
{
	struct rpcrdma_listener *l;

	shim_removal_at_listen = true;
	l = rpcrdma_listen(&init_net, (struct sockaddr *)&shim_addr, NULL,
			   NULL);
	KUNIT_EXPECT_TRUE(test, IS_ERR(l));
	KUNIT_EXPECT_FALSE(test, shim_removal_at_listen);
}

/* After @event the listener listens once more, at the same port. */
static void shim_listens_again(struct kunit *test,
			       enum rdma_cm_event_type event)
{
	struct shim_pair *pair = test->priv;
	struct sockaddr_in before, after;
	unsigned int listens = shim_listens;

	memcpy(&before, rpcrdma_listener_addr(pair->listener), sizeof(before));
	shim_listener_event(pair->listener, event);
	KUNIT_EXPECT_EQ(test, shim_listens, listens + 1);
	memcpy(&after, rpcrdma_listener_addr(pair->listener), sizeof(after));
	KUNIT_EXPECT_EQ(test, before.sin_port, after.sin_port);
	shim_open(test);
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 100, 100, 0,
					   PAGE_SIZE), 0);
}

/* The device is removed, and the listener listens again once a device is available. */
void listen_device_replaced(struct kunit *test)
{
	shim_listens_again(test, RDMA_CM_EVENT_DEVICE_REMOVAL);
}

/* The address moves to another device, and the listener listens there. */
void listen_address_changed(struct kunit *test)
{
	shim_listens_again(test, RDMA_CM_EVENT_ADDR_CHANGE);
}
