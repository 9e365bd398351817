// SPDX-License-Identifier: GPL-2.0
/* The endpoint: data */
#include <linux/percpu_counter.h>
#include <linux/slab.h>
#include <linux/sunrpc/svc.h>
#include <rdma/ib_verbs.h>

#include "../../net/sunrpc/xprtrdma/core/one_part.h"
#include "../../net/sunrpc/xprtrdma/sunrpc/internal.h"
#include "../../net/sunrpc/xprtrdma/sunrpc/responder.h"
#include "../../net/sunrpc/xprtrdma/sunrpc/settings.h"
#include "../lib/pair.h"
#include "endpoint.h"

static const u32 data_lengths[] = {
	1, 3, 4, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 2 * PAGE_SIZE, 65537, 262144,
	1 << 20,
};
static const u32 data_bases[] = { 0, 1, PAGE_SIZE / 2, PAGE_SIZE - 1 };

static void data_all_lengths(struct kunit *test, bool arg, bool res)
{
	struct loop_pair *pair = loop_open(test);
	int i, j;

	for (i = 0; i < ARRAY_SIZE(data_lengths); i++) {
		for (j = 0; j < ARRAY_SIZE(data_bases); j++) {
			u32 len = data_lengths[i];

			KUNIT_ASSERT_EQ_MSG(test,
				loop_one_rpc(&pair->client, arg ? len : 0,
					     res ? len : 0, data_bases[j],
					     PAGE_SIZE),
				0, "%u octets at %u", len, data_bases[j]);
		}
	}
	loop_check_idle(test, &pair->client);
	loop_check_idle(test, &pair->server);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
}

static void data_read(struct kunit *test)
{
	data_all_lengths(test, true, false);
}

static void data_write(struct kunit *test)
{
	data_all_lengths(test, false, true);
}

/*
 * Calls and Replies inline and continued, up to the peer's reassembly limit, without
 * and with chunks
 */
static void data_continued(struct kunit *test)
{
	static const u32 lengths[] = {
		4000, 4020, 4024, 4028, 4032, 4036, 4040, 4100, 8000, 8064,
		8068, 8072, 8080, 100001, 262144 - 16,
	};
	struct loop_pair *pair = loop_open(test);
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		n = lengths[i];
		KUNIT_EXPECT_EQ_MSG(test, 0, loop_an_rpc(&pair->client, 0, 0,
				    0, PAGE_SIZE, n, 0), "%u octets", n);
		KUNIT_EXPECT_EQ_MSG(test, 0, loop_an_rpc(&pair->client, 0, 0,
				    0, PAGE_SIZE, 0, n), "%u octets", n);
		/* The header of the last fragment has many segments. */
		KUNIT_EXPECT_EQ_MSG(test, 0, loop_an_rpc(&pair->client, 3000,
				    2000, 5, 100, n, 0), "%u octets", n);
		KUNIT_EXPECT_EQ_MSG(test, 0, loop_an_rpc(&pair->server, 5000,
				    5000, 5, PAGE_SIZE, n, 0), "%u octets", n);
	}
	/* A Reply above the client's reassembly limit is refused. */
	KUNIT_EXPECT_EQ(test, -EREMOTEIO, loop_an_rpc(&pair->client, 0, 0, 0,
			PAGE_SIZE, 0, 262144));
	loop_check_idle(test, &pair->client);
	loop_check_idle(test, &pair->server);
	KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
}

static void data_version_1(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->client_params.version_low = RPCRDMA_VERS_1;
	pair->client_params.version_high = RPCRDMA_VERS_1;
	pair->server_params.version_low = RPCRDMA_VERS_1;
	data_all_lengths(test, true, true);
	KUNIT_EXPECT_EQ(test, pair->server.ep->core.conn.version, RPCRDMA_VERS_1);
}

/* Many segments in a chunk, none adjacent to the next */
static void data_segments(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	u32 n;

	for (n = 1; n <= 16; n += 5) {
		KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, n * 100, 0,
						   3, 100), 0);
		KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 0, n * 100,
						   3, 100), 0);
		KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, n * 100,
						   n * 100, 0, 100), 0);
	}
	loop_check_idle(test, &pair->client);
}

/*
 * If the peer accepts only small segments, longer memory is split, into no more
 * segments than rpcrdma_mr_count() returned.
 */
static void data_small_segments(struct kunit *test)
{
	static const u32 most[] = {
		PAGE_SIZE / 40, PAGE_SIZE / 4, PAGE_SIZE - 1, PAGE_SIZE,
		PAGE_SIZE + PAGE_SIZE / 4,
	};
	struct loop_pair *pair = loop_open(test);
	struct rpcrdma_ep *ep = pair->client.ep;
	struct rpcrdma_lists *lists;
	struct rpcrdma_mr_limits limits;
	struct loop_buf buf;
	u32 i, j, octets;
	LIST_HEAD(mrs);
	int rc;

	lists = kunit_kzalloc(test, sizeof(*lists), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists);
	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, PAGE_SIZE / 3,
					     PAGE_SIZE + PAGE_SIZE / 3), 0);
	for (i = 0; i < ARRAY_SIZE(most); i++) {
		ep->core.conn.peer.rssiz = most[i];
		limits = rpcrdma_mrs_limits(ep);
		do {
			rpcrdma_mrs_put(ep, &mrs);
			rpcrdma_lists_init(lists);
			rpcrdma_lists_add_write(lists);
			rc = rpcrdma_mrs_map(ep, &mrs, buf.ext, buf.nr_ext, true,
					     lists);
			schedule_timeout_uninterruptible(1);
		} while (rc == -EAGAIN);
		KUNIT_EXPECT_EQ(test, rc, 0);
		KUNIT_EXPECT_LE(test, (u32)lists->nr_segs,
				rpcrdma_mr_count(&limits, buf.ext[0].offset,
						 buf.len));
		for (j = 0, octets = 0; j < lists->nr_segs; j++) {
			KUNIT_EXPECT_LE(test, lists->segs[j].length, most[i]);
			octets += lists->segs[j].length;
		}
		KUNIT_EXPECT_EQ(test, octets, buf.len);
		rpcrdma_mrs_put(ep, &mrs);
	}
	loop_buf_free(&buf);
}

static void data_invalidation(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct rpcrdma_ep *ep = pair->client.ep;
	struct loop_rpc *rpc = loop_rpcs(test, 1);
	struct loop_buf buf;
	s64 local, remote;
	int i;

	KUNIT_ASSERT_EQ(test, loop_buf_alloc_chopped(&buf, 0, 300, 100), 0);
	for (i = 0; i < 8; i++) {
		bool no_inv = i & 1;

		/* One MR, or three of which the peer invalidates one */
		buf.nr_ext = i & 2 ? 3 : 1;
		buf.len = buf.nr_ext * 100;
		pair->server.no_inv = no_inv;
		local = atomic64_read(&ep->local_inv);
		remote = (s64)ep->core.arrivals.remote_inv;
		loop_rpc_init(rpc, i & 4 ? &buf : NULL, i & 4 ? NULL : &buf);
		rpc->seed = i;
		loop_buf_fill(&buf, i);
		KUNIT_ASSERT_EQ(test, loop_rpc_do(&pair->client, rpc), 0);
		KUNIT_EXPECT_EQ(test, rpc->exposed, no_inv || buf.nr_ext > 1);
		KUNIT_EXPECT_EQ(test, atomic64_read(&ep->local_inv) - local,
				(s64)buf.nr_ext - !no_inv);
		KUNIT_EXPECT_EQ(test,
				(s64)ep->core.arrivals.remote_inv - remote,
				(s64)!no_inv);
		KUNIT_EXPECT_EQ(test, loop_valid_handles(), 0U);
	}
	loop_buf_free(&buf);
	loop_check_idle(test, &pair->client);
}

/* With a device that cannot register memory, a server works, and a client does not. */
static void data_no_registration(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct rpcrdma_ep *c, *s;
	struct ib_device *dev;

	pair->no_frwr = true;
	loop_open(test);
	c = pair->client.ep;
	s = pair->server.ep;
	dev = s->device;
	loop_traffic(test, pair, 4, 30, 50000, PAGE_SIZE, 20000, false);
	KUNIT_EXPECT_EQ(test, c->core.arrivals.remote_inv, 0ULL);
	KUNIT_EXPECT_GT(test, atomic64_read(&c->local_inv), 0LL);
	KUNIT_EXPECT_EQ(test, s->core.mrs.pool.made, 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_limits(&s->core.conn).max_segs, 0U);
	/* A client cannot connect. */
	loop_disconnect(test, pair);
	KUNIT_EXPECT_EQ(test, loop_connect(pair), -EOPNOTSUPP);
	dev->attrs.device_cap_flags |= IB_DEVICE_MEM_MGT_EXTENSIONS;
}

/* The peer cannot access an RPC's memory after the RPC has ended. */
static void data_no_access_afterwards(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_rpc *rpc = loop_rpcs(test, 1);
	struct loop_buf buf;

	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 0, 5000), 0);
	loop_rpc_init(rpc, &buf, NULL);
	loop_buf_fill(&buf, 0);
	KUNIT_ASSERT_EQ(test, loop_rpc_do(&pair->client, rpc), 0);
	loop_intrude(test, &pair->server, &rpc->lists, &rpc->lists.reads[0],
		     DMA_FROM_DEVICE);
	loop_buf_free(&buf);
}

/* Memory exposed for writing cannot be read. */
static void data_no_read_of_results(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_rpc *rpc = loop_rpcs(test, 1);
	struct loop_buf buf;

	if (loop_iwarp)
		kunit_skip(test, "siw does not check access rights");
	pair->server.hold_calls = true;
	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 0, 5000), 0);
	loop_rpc_init(rpc, NULL, &buf);
	KUNIT_ASSERT_EQ(test, loop_rpc_send(&pair->client, rpc), 0);
	KUNIT_ASSERT_TRUE(test, loop_wait_until(&pair->server,
						READ_ONCE(pair->server.nr_held)));
	loop_intrude(test, &pair->server, &rpc->lists, &rpc->lists.writes[0],
		     DMA_FROM_DEVICE);
	loop_rpc_end(&pair->client, rpc);
	loop_buf_free(&buf);
}

/* rpcrdma_rw_add() refuses ranges beyond the memory or beyond the chunk. */
static void data_bounds(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct rpcrdma_ep *ep = pair->server.ep;
	struct rpcrdma_lists *lists;
	struct rpcrdma_rw *rw;
	struct loop_buf buf;

	lists = kunit_kzalloc(test, sizeof(*lists), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists);
	rpcrdma_lists_init(lists);
	rpcrdma_lists_add_read(lists, LOOP_MANY);
	rpcrdma_lists_add_segment(lists, 1, 1000, 0);
	rpcrdma_lists_add_segment(lists, 2, 0, 0);
	rpcrdma_lists_add_segment(lists, 3, 500, 0);
	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 4000, 1400), 0);
	rw = rpcrdma_rw_alloc(ep, DMA_FROM_DEVICE, 0, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rw);
	/* Beyond the end of the memory */
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 0,
					     buf.ext, buf.nr_ext, 0, 1401), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 0,
					     buf.ext, buf.nr_ext, 1400, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 0,
					     buf.ext, buf.nr_ext, 5000, 1), -EINVAL);
	/* Beyond the end of the chunk */
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 101,
					     buf.ext, buf.nr_ext, 0, 1400), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 1500,
					     buf.ext, buf.nr_ext, 0, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0],
					     U32_MAX, buf.ext, buf.nr_ext, 0, 1),
			-EINVAL);
	/* Up to the end of the memory and of the chunk, and an empty range */
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 100,
					     buf.ext, buf.nr_ext, 0, 1400), 0);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 1500,
					     buf.ext, buf.nr_ext, 1400, 0), 0);
	rpcrdma_rw_free(rw);
	loop_buf_free(&buf);
}

/*
 * A transfer that needs more Work Requests than a short Send Queue permits at once is
 * posted in batches, and a Reply waits for its Writes. Test this with many segments,
 * and with long segments of which each Work Request transfers only a page.
 */
static void data_batches(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	u32 turn;

	pair->server_params.sends = 4;
	/* With iWARP, Reads need MRs, one for each segment. */
	pair->server_params.reads = loop_iwarp ? 50 : 4;
	pair->server_params.max_mrs = 0;
	loop_open(test);
	turn = rpcrdma_sq_max_batch_wrs(&pair->server.ep->core.sq);
	if (!loop_iwarp)
		KUNIT_EXPECT_LT(test, turn, 25U);
	/* Read fifty segments, write fifty, and then 25 of each. */
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 50 * 300, 0, 0, 300), 0);
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 0, 50 * 300, 0, 300), 0);
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 25 * 300, 25 * 300, 0,
					   300), 0);
	/* A continued Reply after Writes */
	KUNIT_EXPECT_EQ(test, loop_an_rpc(&pair->client, 0, 50 * 300, 0, 300, 0,
					  20000), 0);
	pair->server.ep->core.rw.write_part = PAGE_SIZE;
	if (!loop_iwarp)
		pair->server.ep->core.rw.read_part = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 49 * PAGE_SIZE, 0, 100,
					   PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 0, 49 * PAGE_SIZE, 100,
					   PAGE_SIZE), 0);
	loop_traffic(test, pair, 4, 20, 100000, PAGE_SIZE, 20000, false);
	loop_check_idle(test, &pair->server);
}

/*
 * However short the Send Queue is, a transfer can write to the maximum number of
 * segments of a version 1 Call.
 */
static void data_most_segments(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	u32 n, most = RPCRDMA_MAX_SEGS + RPCRDMA_MAX_EXTRA_SEGS;
	struct rpcrdma_lists *lists;
	struct rpcrdma_rw *rw;
	struct loop_buf buf;

	pair->server_params.version_low = RPCRDMA_VERS_1;
	pair->server_params.sends = 4;
	pair->server_params.reads = 4;
	pair->server_params.max_mrs = 0;
	loop_open(test);
	lists = kunit_kzalloc(test, sizeof(*lists), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists);
	rpcrdma_lists_init(lists);
	lists->extra_segs = kunit_kcalloc(test, RPCRDMA_MAX_EXTRA_SEGS,
					  sizeof(*lists->extra_segs),
					  GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists->extra_segs);
	rpcrdma_lists_add_write(lists);
	for (n = 0; n < most; n++)
		rpcrdma_lists_add_segment(lists, 1, 1, 0);
	KUNIT_ASSERT_EQ(test, (u32)lists->writes[0].count, most);

	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 0, most), 0);
	rw = rpcrdma_rw_alloc(pair->server.ep, DMA_TO_DEVICE, 0, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rw);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->writes[0], 0,
					     buf.ext, buf.nr_ext, 0, most), 0);
	KUNIT_EXPECT_EQ(test, rw->core.left, most);
	rpcrdma_rw_free(rw);
	loop_buf_free(&buf);
}

/*
 * If no service thread processes messages after a notification, the endpoint's work
 * item does.
 */
static void data_no_service_thread(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	pair->server.no_service_thread = true;
	loop_open(test);
	loop_traffic(test, pair, 4, 10, 5000, PAGE_SIZE, 20000, true);
	KUNIT_EXPECT_GT(test, atomic_read(&pair->server.notified), 0);
	loop_check_idle(test, &pair->client);
	loop_check_idle(test, &pair->server);
}

/* Transfers posted in batches end with the connection, at any of their batches. */
static void data_batches_closed(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_rpc *rpcs = loop_rpcs(test, 4);
	struct loop_buf bufs[4];
	int i, n;

	pair->server_params.sends = 4;
	pair->server_params.reads = 4;
	pair->server_params.max_mrs = 0;
	for (n = 0; n < 12; n++) {
		loop_open(test);
		pair->server.ep->core.rw.write_part = PAGE_SIZE;
		if (!loop_iwarp)
			pair->server.ep->core.rw.read_part = PAGE_SIZE;
		for (i = 0; i < 4; i++) {
			KUNIT_ASSERT_EQ(test, loop_buf_alloc(&bufs[i], 0,
							     300000), 0);
			loop_rpc_init(&rpcs[i], i & 1 ? &bufs[i] : NULL,
				      i & 1 ? NULL : &bufs[i]);
			rpcs[i].seed = i;
			loop_buf_fill(&bufs[i], i);
			KUNIT_ASSERT_EQ(test, loop_rpc_send(&pair->client,
							    &rpcs[i]), 0);
		}
		usleep_range(300 * n, 300 * n + 100);
		rpcrdma_ep_close(pair->server.ep, NULL);
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
		KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
		for (i = 0; i < 4; i++) {
			loop_rpc_end(&pair->client, &rpcs[i]);
			loop_buf_free(&bufs[i]);
		}
		loop_disconnect(test, pair);
	}
}

#define LOOP_FEW_REGIONS 6

/*
 * Set up a server with a device that reads only into MRs and has few of them. Start
 * eight Calls with data to read, and hold them. Return a transfer that uses half of the
 * MRs.
 */
static struct rpcrdma_rw *loop_few_mrs(struct kunit *test,
				       struct loop_rpc *rpcs,
				       struct loop_buf *arg,
				       struct loop_buf *own)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	const struct rpcrdma_lists *lists;
	struct rpcrdma_rw *rw;
	int i;

	pair->server_params.reads = LOOP_FEW_REGIONS;
	loop_open(test);
	/* Three segments each, which loop_pull() splits into four */
	KUNIT_ASSERT_EQ(test, loop_buf_alloc_chopped(arg, 100, 300, 100), 0);
	KUNIT_ASSERT_EQ(test, loop_buf_alloc(own, 0, 300), 0);
	loop_buf_fill(arg, 0);
	s->hold_calls = true;
	for (i = 0; i < 8; i++) {
		loop_rpc_init(&rpcs[i], arg, NULL);
		KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, loop_wait_until(s, READ_ONCE(s->nr_held) == 8));
	WRITE_ONCE(s->hold_calls, false);

	loop_reads_at_most = LOOP_FEW_REGIONS;
	atomic_set(&loop_reads_refused, 0);
	lists = &list_first_entry(&s->held, struct rpcrdma_recv, list)->rx.lists;
	rw = rpcrdma_rw_alloc(s->ep, DMA_FROM_DEVICE, 0, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rw);
	KUNIT_ASSERT_EQ(test, rpcrdma_rw_add(rw, lists, &lists->reads[0], 0,
					     own->ext, own->nr_ext, 0, 300), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_reads_refused), 0);
	return rw;
}

/*
 * A transfer waits if too few MRs are free now, and fails if it needs more than exist.
 */
static void data_few_read_mrs(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 8);
	const struct rpcrdma_lists *lists;
	struct rpcrdma_rw *rw, *large;
	struct loop_buf arg, own;
	int i;

	rw = loop_few_mrs(test, rpcs, &arg, &own);
	lists = &list_first_entry(&s->held, struct rpcrdma_recv, list)->rx.lists;
	large = rpcrdma_rw_alloc(s->ep, DMA_FROM_DEVICE, 0, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, large);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(large, lists,
						     &lists->reads[0], 0,
						     own.ext, own.nr_ext, 0, 300),
				i < 2 ? 0 : -E2BIG);
	rpcrdma_rw_free(large);
	KUNIT_EXPECT_EQ(test, READ_ONCE(s->ep->core.rw.pool.waiting), 0U);

	loop_release(s, 8);
	KUNIT_EXPECT_EQ(test, READ_ONCE(s->ep->core.rw.pool.waiting), 8U);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->served), 0);
	KUNIT_EXPECT_GE(test, atomic_read(&loop_reads_refused), 2);
	rpcrdma_rw_free(rw);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, loop_rpc_wait(c, &rpcs[i]), 0);
		loop_rpc_end(c, &rpcs[i]);
	}
	loop_check_idle(test, c);
	loop_check_idle(test, s);
	/* Concurrent traffic */
	loop_traffic(test, pair, 4, 30, 2500, 1000, 0, false);
	loop_buf_free(&own);
	loop_buf_free(&arg);
}

/* Transfers that wait for MRs end with their connection. */
static void data_few_mrs_closed(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 8);
	struct loop_buf arg, own;
	struct rpcrdma_rw *rw;
	int i;

	rw = loop_few_mrs(test, rpcs, &arg, &own);
	loop_release(s, 8);
	KUNIT_EXPECT_EQ(test, READ_ONCE(s->ep->core.rw.pool.waiting), 8U);
	rpcrdma_ep_close(c->ep, NULL);
	KUNIT_EXPECT_TRUE(test, loop_poll(!READ_ONCE(s->ep->core.rw.pool.waiting)));
	rpcrdma_rw_free(rw);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(s));
	for (i = 0; i < 8; i++)
		loop_rpc_end(c, &rpcs[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->served), 0);
	loop_buf_free(&own);
	loop_buf_free(&arg);
}

/*
 * While a transfer waits for MRs, the fast path for Reads takes none: it would keep the
 * MR that the first transfer in the queue needs.
 */
static void data_read_waits_its_turn(struct kunit *test)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_side *c = &pair->client, *s = &pair->server;
	struct loop_rpc *rpcs = loop_rpcs(test, 2);
	struct loop_buf arg, own;
	struct rpcrdma_recv *rv;
	struct rpcrdma_rw *rw, *one;
	int i;

	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&arg, 0, 300), 0);
	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&own, 0, 300), 0);
	loop_buf_fill(&arg, 0);
	s->hold_calls = true;
	for (i = 0; i < 2; i++) {
		loop_rpc_init(&rpcs[i], &arg, NULL);
		KUNIT_ASSERT_EQ(test, loop_rpc_send(c, &rpcs[i]), 0);
	}
	KUNIT_ASSERT_TRUE(test, loop_wait_until(s, READ_ONCE(s->nr_held) == 2));
	WRITE_ONCE(s->hold_calls, false);

	loop_reads_at_most = 1;
	rv = list_first_entry(&s->held, struct rpcrdma_recv, list);
	rw = rpcrdma_rw_alloc(s->ep, DMA_FROM_DEVICE, 0, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rw);
	KUNIT_ASSERT_EQ(test, rpcrdma_rw_add(rw, &rv->rx.lists,
					     &rv->rx.lists.reads[0], 0, own.ext,
					     own.nr_ext, 0, 300), 0);
	loop_release(s, 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(s->ep->core.rw.pool.waiting), 1U);

	/* Another MR becomes free, and the queue has not been retried yet. */
	loop_reads_at_most = 2;
	rv = list_first_entry(&s->held, struct rpcrdma_recv, list);
	one = rpcrdma_rw_one(s->ep, DMA_FROM_DEVICE, &rv->rx.lists.segs[0],
			     own.pages, 0, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, one);
	KUNIT_EXPECT_FALSE(test, rpcrdma_core_prepare_one(&one->core, 300));
	loop_release(s, 1);
	rpcrdma_rw_free(rw);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, loop_rpc_wait(c, &rpcs[i]), 0);
		loop_rpc_end(c, &rpcs[i]);
	}
	loop_check_idle(test, c);
	loop_check_idle(test, s);
	loop_buf_free(&own);
	loop_buf_free(&arg);
}

enum {
	DATA_ITEM = PAGE_SIZE + 904,
	DATA_REST = 100,	/* bytes after the item */
	DATA_PAGES = 1 + 2,	/* of the head; of the other two */
};

/*
 * Encode a Reply as a service does: the item, and what follows it, in the pages after the
 * head's.
 */
static struct svc_rqst *data_encode(struct kunit *test, struct rpcrdma_recv *rv,
				    u32 seed)
{
	u32 i, roundup = xdr_align_size(DATA_ITEM);
	struct rpcrdma_svc_call *call;
	struct svc_rqst *rqstp;
	struct page **pages;
	struct xdr_buf *res;
	__be32 *head;

	call = kunit_kzalloc(test, sizeof(*call), GFP_KERNEL);
	rqstp = kunit_kzalloc(test, sizeof(*rqstp), GFP_KERNEL);
	pages = kunit_kcalloc(test, DATA_PAGES, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, call && rqstp && pages);
	for (i = 0; i < DATA_PAGES; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		KUNIT_ASSERT_NOT_NULL(test, pages[i]);
	}
	call->results.nr = 1;
	call->results.items[0].position = LOOP_HEAD;
	call->results.items[0].length = DATA_ITEM;
	rv->priv = call;
	rqstp->rq_xprt_ctxt = rv;
	rqstp->rq_respages = pages;
	rqstp->rq_next_page = pages + DATA_PAGES;

	head = page_address(pages[0]);
	head[0] = cpu_to_be32(rv->rx.xid);
	head[1] = cpu_to_be32(1);
	head[3] = cpu_to_be32(DATA_ITEM);
	res = &rqstp->rq_res;
	res->head[0].iov_base = head;
	res->head[0].iov_len = LOOP_HEAD;
	res->pages = pages + 1;
	res->page_len = roundup + DATA_REST;
	res->len = LOOP_HEAD + res->page_len;
	for (i = 0; i < DATA_ITEM; i++)
		((u8 *)page_address(pages[1 + i / PAGE_SIZE]))[i % PAGE_SIZE] =
			loop_octet(seed, i);
	for (i = roundup; i < res->page_len; i++)
		((u8 *)page_address(pages[1 + i / PAGE_SIZE]))[i % PAGE_SIZE] =
			loop_octet(seed, i - roundup);
	return rqstp;
}

/* @fail_at: the operation of the device that fails while the Reply is sent, or 0 */
static void data_send_encoded(struct kunit *test, unsigned int fail_at)
{
	struct loop_pair *pair = loop_open(test);
	struct loop_rpc *rpc = loop_rpcs(test, 1);
	struct rpcrdma_svc_reply a = {};
	struct svc_rqst *rqstp;
	struct rpcrdma_recv *rv;
	struct loop_buf buf;

	/* The module's start, which does this otherwise, is no part of the tests. */
	KUNIT_ASSERT_EQ(test, percpu_counter_init(&svcrdma_stat_write, 0,
						  GFP_KERNEL), 0);
	pair->server.hold_calls = true;
	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 0, DATA_ITEM), 0);
	loop_rpc_init(rpc, NULL, &buf);
	KUNIT_ASSERT_EQ(test, loop_rpc_send(&pair->client, rpc), 0);
	KUNIT_ASSERT_TRUE(test, loop_wait_until(&pair->server,
						READ_ONCE(pair->server.nr_held)));
	rv = list_first_entry(&pair->server.held, struct rpcrdma_recv, list);
	list_del_init(&rv->list);
	pair->server.nr_held = 0;

	rqstp = data_encode(test, rv, rpc->seed);
	a.core.call_lists = &rv->rx.lists;
	a.core.send = rpcrdma_core_reserve_reply(&pair->server.ep->core);
	a.core.xid = rv->rx.xid;
	a.core.length = rqstp->rq_res.len;
	a.res = &rqstp->rq_res;
	a.rqstp = rqstp;
	loop_fail_at(fail_at);
	KUNIT_EXPECT_EQ(test, rpcrdma_core_send_reply(&pair->server.ep->core,
						      &a.core), 0);
	KUNIT_EXPECT_EQ(test, loop_failed(), !!fail_at);
	loop_fail_at(0);
	KUNIT_EXPECT_EQ(test, percpu_counter_sum(&svcrdma_stat_write), 1LL);
	percpu_counter_destroy(&svcrdma_stat_write);
	KUNIT_EXPECT_NULL(test, a.core.send);
	KUNIT_EXPECT_NULL(test, rqstp->rq_respages[1]);
	KUNIT_EXPECT_NULL(test, rqstp->rq_respages[2]);

	KUNIT_EXPECT_EQ(test, loop_rpc_wait(&pair->client, rpc), 0);
	KUNIT_EXPECT_EQ(test, rpc->got, (u32)DATA_REST);
	KUNIT_EXPECT_EQ(test, rpc->placed, (u32)DATA_ITEM);
	loop_rpc_end(&pair->client, rpc);
	KUNIT_EXPECT_EQ(test, loop_buf_check(&buf, rpc->seed), buf.len);
	__free_page(rqstp->rq_respages[0]);
	rv->priv = NULL;
	rpcrdma_recv_put(rv);
	loop_check_idle(test, &pair->server);
	loop_buf_free(&buf);
}

/*
 * A service may encode further results in the pages after the item that is written, as
 * NFSv4 does for an operation after READ. They are sent, too, although the Write has the
 * pages then.
 */
static void data_rest_in_pages(struct kunit *test)
{
	data_send_encoded(test, 0);
}

/*
 * If the Write of the fast path cannot be prepared, the Reply is planned. It is counted
 * as one Write nevertheless.
 */
static void data_write_prepared_again(struct kunit *test)
{
	data_send_encoded(test, 2);
}

static struct kunit_case data_cases[] = {
	KUNIT_CASE(data_read),
	KUNIT_CASE(data_write),
	KUNIT_CASE(data_continued),
	KUNIT_CASE(data_version_1),
	KUNIT_CASE(data_segments),
	KUNIT_CASE(data_small_segments),
	KUNIT_CASE(data_invalidation),
	KUNIT_CASE(data_rest_in_pages),
	KUNIT_CASE(data_write_prepared_again),
	KUNIT_CASE(data_no_access_afterwards),
	KUNIT_CASE(data_no_read_of_results),
	KUNIT_CASE(data_bounds),
	KUNIT_CASE(data_batches),
	KUNIT_CASE(data_batches_closed),
	KUNIT_CASE(data_no_service_thread),
	KUNIT_CASE(data_most_segments),
	KUNIT_CASE(data_no_registration),
	KUNIT_CASE(data_few_read_mrs),
	KUNIT_CASE(data_few_mrs_closed),
	KUNIT_CASE(data_read_waits_its_turn),
	{}
};

static struct kunit_suite data_suite = {
	.name		= "rpcrdma_ep_data" LOOP_OVER,
	.suite_init	= LOOP_SUITE_INIT,
	.suite_exit	= loop_suite_exit,
	.init		= loop_test_init,
	.exit		= loop_test_exit,
	.test_cases	= data_cases,
};

kunit_test_suite(data_suite);
