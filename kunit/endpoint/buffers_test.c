// SPDX-License-Identifier: GPL-2.0
/*
 * The endpoint: memory of buffers that are larger than a page. It is no more than what is
 * charged, and if it is fragmented, buffers are smaller.
 */
#include "endpoint.h"

enum { BUFFERS_MAX = 65536 };	/* bytes of the largest message */

/* Return the bytes of memory of a buffer for @size bytes, or 0 if kmalloc() has it. */
static u64 buffers_octets(u32 size)
{
	return size > PAGE_SIZE ? PAGE_ALIGN(size) : 0;
}

/* Check the charge for the buffers of an end, and return the memory of all that it has. */
static u64 buffers_check(struct kunit *test, struct loop_side *side, u32 size)
{
	struct rpcrdma_quota_account memory;
	struct rpcrdma_ep *ep = side->ep;
	u64 charge = sizeof(struct verbs_recv) +
		     2 * (buffers_octets(size) ?: roundup_pow_of_two(size));

	memory = rpcrdma_locked(&ep->memory_lock, ep->memory);
	KUNIT_EXPECT_EQ(test, memory.held[RPCRDMA_QUOTA_BUFFERS],
			ep->core.nr_recvs * charge);
	KUNIT_EXPECT_LE(test, ep->core.send_bufs, ep->core.nr_recvs);
	return (ep->core.nr_recvs + ep->core.send_bufs) * buffers_octets(size) +
	       buffers_octets(RPCRDMA_CONTROL_BUFS);
}

/* Return the size of the buffer that a client keeps for when memory is short, or 0. */
static u32 buffers_reserve(struct rpcrdma_ep *ep)
{
	u32 i, size = 0;

	for (i = 0; i < ep->core.sends_made; i++) {
		if (ep->send_ring[i].core.signal_threshold == RPCRDMA_SIGNAL_ALWAYS)
			size = ep->send_ring[i].core.size;
	}
	return size;
}

static void buffers_size(struct loop_pair *pair, u32 size)
{
	pair->client_params.send_size = size;
	pair->client_params.recv_size = size;
	pair->server_params.send_size = size;
	pair->server_params.recv_size = size;
}

/* Send @len bytes inline in both directions. */
static void buffers_use(struct kunit *test, struct loop_pair *pair, u32 len)
{
	KUNIT_EXPECT_EQ(test, loop_an_rpc(&pair->client, 0, 0, 0, PAGE_SIZE, len, len),
			0);
	loop_check_idle(test, &pair->client);
	loop_check_idle(test, &pair->server);
}

/* Buffers of all sizes are charged as much memory as they occupy. */
static void buffers_exact(struct kunit *test)
{
	const u32 sizes[] = { 20480, 3 * PAGE_SIZE, 2 * PAGE_SIZE + 1024, BUFFERS_MAX };
	struct loop_pair *pair = test->priv;
	unsigned int i;
	u64 octets;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (sizes[i] <= PAGE_SIZE || sizes[i] > BUFFERS_MAX)
			continue;
		buffers_size(pair, sizes[i]);
		loop_open(test);
		buffers_use(test, pair, sizes[i] - 1024);
		octets = buffers_check(test, &pair->client, sizes[i]);
		octets += buffers_check(test, &pair->server, sizes[i]);
		KUNIT_EXPECT_EQ(test, atomic64_read(&loop_balance.buffers), octets);
		loop_disconnect(test, pair);
	}
}

/*
 * Without larger blocks of memory than of @order, a connection has buffers of no more than
 * such a block.
 */
static void buffers_fragmented_at(struct kunit *test, unsigned int order)
{
	u32 octets = min_t(u32, 20480, PAGE_SIZE << order);
	struct loop_pair *pair = test->priv;
	struct rpcrdma_props *props;
	u64 all;

	buffers_size(pair, 20480);
	loop_largest_order = order;
	loop_open(test);
	props = &pair->client.ep->core.conn.cfg.props;
	KUNIT_EXPECT_EQ(test, props->sbsiz, octets);
	KUNIT_EXPECT_EQ(test, props->rbsiz, octets);
	KUNIT_EXPECT_EQ(test, buffers_reserve(pair->client.ep), octets);
	buffers_use(test, pair, 3000);
	buffers_use(test, pair, 19000);
	all = buffers_check(test, &pair->client, octets);
	all += buffers_check(test, &pair->server, octets);
	KUNIT_EXPECT_EQ(test, atomic64_read(&loop_balance.buffers), all);
	loop_disconnect(test, pair);
}

static void buffers_fragmented(struct kunit *test)
{
	buffers_fragmented_at(test, get_order(16384));
	buffers_fragmented_at(test, 0);
}

/*
 * With only @blocks larger blocks, a client announces Receives of @recv bytes and Sends of
 * @send bytes. No end waits for another block.
 */
static void buffers_few_at(struct kunit *test, int blocks, u32 send, u32 recv)
{
	struct loop_pair *pair = test->priv;
	struct rpcrdma_props *props;

	buffers_size(pair, 5 * PAGE_SIZE);
	loop_largest_order = 0;
	atomic_set(&loop_larger_blocks, blocks);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_larger_blocks), 0);
	props = &pair->client.ep->core.conn.cfg.props;
	KUNIT_EXPECT_EQ(test, props->sbsiz, send);
	KUNIT_EXPECT_EQ(test, props->rbsiz, recv);
	KUNIT_EXPECT_EQ(test, buffers_reserve(pair->client.ep), send);
	props = &pair->server.ep->core.conn.cfg.props;
	KUNIT_EXPECT_EQ(test, props->rbsiz, 4096U);
	buffers_use(test, pair, 3000);
	loop_disconnect(test, pair);
}

/* Some of the first buffers are large, but there are too few blocks for all. */
static void buffers_few(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	u32 receives;

	if (PAGE_SIZE > 4096) {
		kunit_skip(test, "a page holds a message");
		return;
	}
	buffers_size(pair, 5 * PAGE_SIZE);
	loop_open(test);
	receives = pair->client.ep->core.nr_recvs;
	KUNIT_EXPECT_EQ(test, buffers_reserve(pair->client.ep), 5 * PAGE_SIZE);
	loop_disconnect(test, pair);

	buffers_few_at(test, receives, 4096, 5 * PAGE_SIZE);
	buffers_few_at(test, receives - 1, 4096, 4096);
	buffers_few_at(test, 1, 4096, 4096);
}

/*
 * If memory is fragmented later, a Reply gets a buffer of its own size. One of more than a
 * page waits for that.
 */
static void buffers_fragmented_later(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct rpcrdma_send *s;
	u64 before;

	if (4 * PAGE_SIZE > BUFFERS_MAX)
		kunit_skip(test, "with these pages no buffer is larger than a page");
	buffers_size(pair, 4 * PAGE_SIZE);
	loop_open(test);
	before = atomic64_read(&loop_balance.buffers);
	loop_largest_order = 0;
	s = rpcrdma_core_send_get(&pair->server.ep->core);
	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_EXPECT_EQ(test, rpcrdma_core_send_room(s, 3000), 0);
	KUNIT_EXPECT_EQ(test, s->size, 3000U);
	KUNIT_EXPECT_EQ(test, atomic64_read(&loop_balance.buffers), before);
	KUNIT_EXPECT_EQ(test, rpcrdma_core_send_room(s, 2 * PAGE_SIZE + 100), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&loop_balance.buffers),
			before + 3 * PAGE_SIZE);
	rpcrdma_core_send_put(s);
	loop_check_idle(test, &pair->server);
}

static struct kunit_case buffers_cases[] = {
	KUNIT_CASE(buffers_exact),
	KUNIT_CASE(buffers_fragmented),
	KUNIT_CASE(buffers_few),
	KUNIT_CASE(buffers_fragmented_later),
	{}
};

static struct kunit_suite buffers_suite = {
	.name		= "rpcrdma_ep_buffers",
	.suite_init	= loop_mem_suite_init,
	.suite_exit	= loop_suite_exit,
	.init		= loop_test_init,
	.exit		= loop_test_exit,
	.test_cases	= buffers_cases,
};

kunit_test_suite(buffers_suite);
