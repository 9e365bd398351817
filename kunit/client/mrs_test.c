// SPDX-License-Identifier: GPL-2.0
/* The client over devices with various traits, with sunrpc's memory layout */
#include "peer.h"

/* Pages of each MR that the peer exposes */
#define PEER_MR_PAGES	4

/*
 * Pull Replies into MRs, with a device of traits @t. Each segment is read into the
 * client's head, pages and tail in one transfer.
 */
static void pull_into(struct kunit *test, struct memdev_traits *t)
{
	t->mr_depth = PEER_MR_PAGES;
	memdev_set_traits(loop_memdev, t);
	pull_replies(test);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50003, 40000, false), 0);
}

static void mrs_pull(struct kunit *test)
{
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.reads_into_mrs = true;
	pull_into(test, &t);
}

/* Only Reads with more than one SGE use an MR. */
static void mrs_pull_some(struct kunit *test)
{
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.max_sgl_rd = 1;
	pull_into(test, &t);
}

/* An IOMMU merges the elements of a range that was split by pages. */
static void mrs_pull_merged(struct kunit *test)
{
	struct memdev_traits t;

	if (!memdev_merges(loop_memdev))
		kunit_skip(test, "in this kernel no driver can merge memory");
	memdev_default_traits(&t);
	t.reads_into_mrs = true;
	t.merge = true;
	pull_into(test, &t);
}

/*
 * With bounce buffers, an MR ends before memory that does not start at a page boundary.
 */
static void mrs_pull_bounced(struct kunit *test)
{
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.reads_into_mrs = true;
	t.drop_offsets = true;
	pull_into(test, &t);
}

/* Bounce buffers for memory that the peer reads and writes, with and without SG gaps */
static void mrs_bounced(struct kunit *test)
{
	/* More than a page each */
	const u32 bulk = max_t(u32, 50003, PAGE_SIZE + 3);
	const u32 want = max_t(u32, 60001, PAGE_SIZE + 1);
	struct peer *peer = test->priv;
	struct memdev_traits t;
	struct rpcrdma_ep *ep;

	memdev_default_traits(&t);
	t.drop_offsets = true;
	memdev_set_traits(loop_memdev, &t);
	rpcrdma_settings.max_reassembly = 0;
	peer->params.reassembly = 0;
	peer_open(test);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, bulk, want, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, bulk, want, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, bulk, want, false), 0);
	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	KUNIT_EXPECT_EQ(test, ep->core.mrs.limits.apart,
			!ep->core.mrs.limits.gaps);
	KUNIT_EXPECT_EQ(test, ep->core.mrs.limits.pages,
			rpcrdma_mr_pages(ep->device));
	rpcrdma_ep_put(ep);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

/* If no MRs can be allocated, a Call that does not need MRs is sent without them. */
static void mrs_gone(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	struct rpcrdma_conn_counters *c;
	struct memdev_traits t;
	struct rpcrdma_ep *ep;
	u64 sent;

	memdev_default_traits(&t);
	t.mrs_gone = true;
	memdev_set_traits(loop_memdev, &t);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 50003, 0, true), 0);
	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	KUNIT_EXPECT_EQ(test, ep->core.mrs.pool.made, 0U);
	KUNIT_EXPECT_GE(test, ep->core.mrs.pool.shortages,
			(u64)RPCRDMA_POOL_FAILURES);
	c = &ep->core.conn.counters;
	KUNIT_EXPECT_EQ(test, c->read_chunks, 0ULL);

	/* Once MRs can be allocated again, they are used. */
	t.mrs_gone = false;
	memdev_set_traits(loop_memdev, &t);
	KUNIT_EXPECT_TRUE(test, loop_poll(!rpcrdma_mr_pool_is_starved(
					&ep->core.mrs.pool)));
	sent = c->bytes_sent;
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 50003, 0, true), 0);
	KUNIT_EXPECT_EQ(test, c->read_chunks, 1ULL);
	KUNIT_EXPECT_EQ(test, c->write_chunks, 0ULL);
	/* The bytes in the chunk are counted as sent, those of a result are not. */
	KUNIT_EXPECT_GE(test, c->bytes_sent - sent, 50003ULL);
	sent = c->bytes_sent;
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 0, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, c->read_chunks, 1ULL);
	KUNIT_EXPECT_EQ(test, c->write_chunks, 1ULL);
	KUNIT_EXPECT_LT(test, c->bytes_sent - sent, 50003ULL);
	rpcrdma_ep_put(ep);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

/*
 * If no MRs can be allocated, a Call that needs some closes the connection, because the
 * device may have MRs for a new one.
 */
static void mrs_gone_for_good(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct memdev_traits t;
	struct peer_rpc *rpc;
	struct rpc_task *task;

	peer->params.reassembly = 0;
	peer_open(test);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	memdev_default_traits(&t);
	t.mrs_gone = true;
	memdev_set_traits(loop_memdev, &t);
	rpc = peer_rpc_alloc(4, 50003, 0, true);
	KUNIT_ASSERT_NOT_NULL(test, rpc);
	task = peer_start(peer, rpc);
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_TRUE(test, loop_poll(atomic_read(&peer->connected) > 1));
	t.mrs_gone = false;
	memdev_set_traits(loop_memdev, &t);
	rpc_wait_for_completion_task(task);
	KUNIT_EXPECT_EQ(test, task->tk_status, 0);
	KUNIT_EXPECT_EQ(test, peer_rpc_result(rpc), 0);
	rpc_put_task(task);
	peer_rpc_free(rpc);
}

static struct kunit_case mrs_cases[] = {
	KUNIT_CASE(mrs_pull),
	KUNIT_CASE(mrs_pull_some),
	KUNIT_CASE(mrs_pull_merged),
	KUNIT_CASE(mrs_pull_bounced),
	KUNIT_CASE(mrs_bounced),
	KUNIT_CASE(mrs_gone),
	KUNIT_CASE(mrs_gone_for_good),
	{}
};

static struct kunit_suite client_mrs_suite = {
	.name		= "rpcrdma_client_mrs",
	.suite_init	= peer_mem_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= peer_test_init,
	.exit		= peer_test_exit,
	.test_cases	= mrs_cases,
};

kunit_test_suite(client_mrs_suite);
