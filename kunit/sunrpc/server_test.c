// SPDX-License-Identifier: GPL-2.0
/*
 * The server's transport. sunrpc owns a svc_xprt until the last reference to it is put.
 * After that, no upcall of the endpoint may use the svc_xprt, although upcalls may
 * still occur. A thread receives a Call only with a Send context for its Reply.
 */

/* The client's suites define a function of the same name. */
#define rpcrdma_server_ep	loop_server_ep
#include "../../net/sunrpc/xprtrdma/sunrpc/server_pages.c"
#include "../../net/sunrpc/xprtrdma/sunrpc/server.c"
#include "../../net/sunrpc/xprtrdma/sunrpc/server_listen.c"

#include <kunit/test.h>
#include <linux/percpu_counter.h>

#include "../../net/sunrpc/xprtrdma/sunrpc/settings.h"
#include "../../net/sunrpc/xprtrdma/verbs/internal.h"
#include "../lib/loopback.h"

struct server_fixture {
	struct svc_serv		serv;
	struct rpcrdma_ep	ep;
	struct rpcrdma_svc_conn	conn;
};

static void server_xprt_free(struct svc_xprt *xprt)
{
}

static const struct svc_xprt_ops server_xprt_ops = {
	.xpo_free	= server_xprt_free,
};

static struct svc_xprt_class server_class = {
	.xcl_name	= "loop_server",
	.xcl_ops	= &server_xprt_ops,
};

/* Return a connection that a service thread has accepted. */
static struct server_fixture *server_taken(struct kunit *test)
{
	struct server_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	spin_lock_init(&f->conn.lock);
	f->conn.ep = &f->ep;
	f->conn.pending.stage = RPCRDMA_PENDING_ACCEPTED;
	f->ep.priv = &f->conn;
	svc_xprt_init(&init_net, &server_class, &f->conn.xprt, &f->serv);
	/*
	 * A new transport is marked busy, as if sunrpc were processing it, so that it
	 * is not enqueued.
	 */
	KUNIT_EXPECT_TRUE(test, test_bit(XPT_BUSY, &f->conn.xprt.xpt_flags));
	return f;
}

static void server_serve(struct server_fixture *f)
{
	spin_lock(&f->conn.lock);
	rpcrdma_pending_conn_served(&f->conn.pending, false);
	spin_unlock(&f->conn.lock);
}

/* The endpoint reports the end of the connection after the last reference is put. */
static void server_ended_after_last_put(struct kunit *test)
{
	struct server_fixture *f = server_taken(test);
	struct svc_xprt *xprt = &f->conn.xprt;
	unsigned long flags;

	server_serve(f);
	svc_xprt_put(xprt);
	KUNIT_ASSERT_EQ(test, kref_read(&xprt->xpt_ref), 0U);
	flags = xprt->xpt_flags;
	rpcrdma_svc_write_space(&f->ep);
	KUNIT_EXPECT_EQ(test, xprt->xpt_flags, flags);
	rpcrdma_svc_closed(&f->ep);
	KUNIT_EXPECT_EQ(test, xprt->xpt_flags, flags);
	KUNIT_EXPECT_EQ(test, kref_read(&xprt->xpt_ref), 0U);
	KUNIT_EXPECT_EQ(test, (u32)f->conn.pending.stage,
			(u32)RPCRDMA_PENDING_GONE);
}

/*
 * Before the last put, the end of the connection closes the svc_xprt, and holds a
 * reference meanwhile.
 */
static void server_ended_before(struct kunit *test)
{
	struct server_fixture *f = server_taken(test);
	struct svc_xprt *xprt = &f->conn.xprt;

	server_serve(f);
	rpcrdma_svc_closed(&f->ep);
	KUNIT_EXPECT_TRUE(test, test_bit(XPT_CLOSE, &xprt->xpt_flags));
	KUNIT_EXPECT_EQ(test, kref_read(&xprt->xpt_ref), 1U);
	svc_xprt_put(xprt);
}

/*
 * If a connection ends while a thread is accepting it, the result of the accept reports
 * the end to the thread.
 */
static void server_ended_meanwhile(struct kunit *test)
{
	struct server_fixture *f = server_taken(test);
	struct svc_xprt *xprt = &f->conn.xprt;

	rpcrdma_svc_closed(&f->ep);
	KUNIT_EXPECT_FALSE(test, test_bit(XPT_CLOSE, &xprt->xpt_flags));
	KUNIT_EXPECT_EQ(test,
			rpcrdma_pending_conn_served(&f->conn.pending, false),
			(u32)RPCRDMA_PENDING_CLOSE);
	svc_xprt_put(xprt);
}

/*
 * A Call is not marked local, even if the thread has served a TCP mount of its own host
 * before, which sets RQ_LOCAL.
 */
static void server_call_is_not_local(struct kunit *test)
{
	struct svc_rqst *rqstp;

	rqstp = kunit_kzalloc(test, sizeof(*rqstp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rqstp);
	set_bit(RQ_LOCAL, &rqstp->rq_flags);
	loop_svc_set_flags(rqstp);
	KUNIT_EXPECT_FALSE(test, test_bit(RQ_LOCAL, &rqstp->rq_flags));
	KUNIT_EXPECT_TRUE(test, test_bit(RQ_SECURE, &rqstp->rq_flags));
}

/* ---- A connection with a client, whose Calls the test receives ---- */

enum {
	SERVER_PAGES	= 16,		/* of the largest Call */
	SERVER_SENDS	= 128,		/* more than the Send contexts of a connection */
};

struct server_live {
	struct rpcrdma_svc_conn	conn;	/* first, because it is freed */
	struct svc_serv		serv;
	struct loop_pair	*pair;
	struct completion	opened, closed;
	struct svc_rqst		*rqstp;
	int			received;	/* length of the last Call, or 0 */
	struct page		*pages[SERVER_PAGES];
	struct rpcrdma_send	*held[SERVER_SENDS];
	unsigned int		nr_held;
	atomic_t		woken;	/* times that a thread would have been woken */
};

static struct server_live *to_live(const struct rpcrdma_svc_conn *conn)
{
	return container_of(conn, struct server_live, conn);
}

/*
 * sunrpc calls this when it would wake a thread that the transport permits. Note that,
 * but wake none.
 */
static int server_live_has_wspace(struct svc_xprt *xprt)
{
	if (rpcrdma_svc_has_wspace(xprt))
		atomic_inc(&to_live(to_svc_conn(xprt))->woken);
	return 0;
}

static const struct svc_xprt_ops server_live_xprt_ops = {
	.xpo_has_wspace	= server_live_has_wspace,
	.xpo_free	= server_xprt_free,
};

static struct svc_xprt_class server_live_class = {
	.xcl_name	= "loop_server_live",
	.xcl_ops	= &server_live_xprt_ops,
};

static void server_live_opened(struct rpcrdma_ep *ep)
{
	complete_all(&to_live(ep->priv)->opened);
}

static void server_live_closed(struct rpcrdma_ep *ep)
{
	complete_all(&to_live(ep->priv)->closed);
}

static const struct rpcrdma_ep_ops server_live_ops = {
	.messages	= rpcrdma_svc_messages,
	.poll		= rpcrdma_svc_poll,
	.write_space	= rpcrdma_svc_write_space,
	.opened		= server_live_opened,
	.closed		= server_live_closed,
};

static int server_live_incoming(void *priv, struct rpcrdma_ep *ep)
{
	struct server_live *live = priv;

	if (live->conn.ep)
		return -ECONNREFUSED;
	ep->ops = &server_live_ops;
	ep->priv = &live->conn;
	ep->params = live->pair->server_params;
	live->conn.ep = ep;
	return 0;
}

/* Return a service thread with pages for the largest Call. */
static struct svc_rqst *server_thread(struct kunit *test, struct server_live *live)
{
	struct svc_rqst *rqstp = kunit_kzalloc(test, sizeof(*rqstp), GFP_KERNEL);
	void *pages = &rqstp->rq_pages;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rqstp);
	/* In some kernels this member is the array. */
	if (sizeof(rqstp->rq_pages) == sizeof(void *))
		*(struct page ***)pages = live->pages;
	for (i = 0; i < SERVER_PAGES; i++) {
		rqstp->rq_pages[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, rqstp->rq_pages[i]);
	}
	rqstp->rq_page_end = rqstp->rq_pages + SERVER_PAGES;
#ifdef HAVE_RQ_PAGES_NFREE
	rqstp->rq_maxpages = SERVER_PAGES;
#endif
	rqstp->rq_xprt = &live->conn.xprt;
	return rqstp;
}

static struct server_live *server_live_open(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct rpcrdma_svc_conn *conn;
	struct server_live *live;

	live = kzalloc(sizeof(*live), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, live);
	live->pair = pair;
	init_completion(&live->opened);
	init_completion(&live->closed);
	live->rqstp = server_thread(test, live);
	conn = &live->conn;
	spin_lock_init(&conn->lock);
	rpcrdma_calls_init(&conn->queue, PAGE_SIZE, RPCRDMA_SVC_MIN_HEAD);
	rpcrdma_svc_spare_init(conn, SERVER_PAGES);
	rpcrdma_calls_serve(&conn->queue, SERVER_PAGES * PAGE_SIZE);
	svc_xprt_init(&init_net, &server_live_class, &conn->xprt, &live->serv);
	conn->pending.stage = RPCRDMA_PENDING_ACCEPTED;
	rpcrdma_pending_conn_served(&conn->pending, false);
	conn->served = true;
	clear_bit(XPT_BUSY, &conn->xprt.xpt_flags);

	rpcrdma_listener_destroy(pair->listener);
	pair->listener = rpcrdma_listen(&init_net,
					(struct sockaddr *)&loop_addr,
					server_live_incoming, live);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pair->listener));
	KUNIT_ASSERT_EQ(test, loop_connect(pair), 0);
	KUNIT_ASSERT_TRUE(test,
			  wait_for_completion_timeout(&live->opened,
						      LOOP_WAIT_S * HZ));
	KUNIT_ASSERT_TRUE(test, loop_poll(rpcrdma_ep_is_open(pair->client.ep)));
	return live;
}

/* End the connection, and free it as its last user does. */
static void server_live_close(struct kunit *test, struct server_live *live)
{
	struct svc_rqst *rqstp = live->rqstp;
	unsigned int i;

	for (i = 0; i < SERVER_PAGES; i++)
		if (rqstp->rq_pages[i])
			put_page(rqstp->rq_pages[i]);
	rpcrdma_ep_close(live->conn.ep, NULL);
	KUNIT_EXPECT_TRUE(test,
			  wait_for_completion_timeout(&live->closed,
						      LOOP_WAIT_S * HZ));
	rpcrdma_ep_wait_closed(live->conn.ep);
	set_bit(XPT_BUSY, &live->conn.xprt.xpt_flags);
	svc_xprt_put(&live->conn.xprt);
	rpcrdma_svc_conn_free(&live->conn);
}

/* Reserve all Send contexts that Replies may have. */
static void server_hold_sends(struct kunit *test, struct server_live *live)
{
	struct rpcrdma_send *s;

	while ((s = rpcrdma_core_reserve_reply(&live->conn.ep->core))) {
		KUNIT_ASSERT_LT(test, live->nr_held, (unsigned int)SERVER_SENDS);
		live->held[live->nr_held++] = s;
	}
}

/*
 * Receive a Call, as a thread does that has been woken, and note its length. Return false
 * if there is none.
 */
static bool server_receive(struct server_live *live)
{
	struct svc_xprt *xprt = &live->conn.xprt;

	set_bit(XPT_BUSY, &xprt->xpt_flags);
	live->received = rpcrdma_svc_recvfrom(live->rqstp);
	/* Some kernels do this after xpo_recvfrom(). */
	if (test_and_clear_bit(XPT_BUSY, &xprt->xpt_flags))
		svc_xprt_enqueue(xprt);
	return live->received;
}

/* End the RPC of the Call that was received. */
static void server_release(struct server_live *live, struct loop_rpc *rpc)
{
	rpcrdma_svc_release_ctxt(&live->conn.xprt, live->rqstp->rq_xprt_ctxt);
	loop_rpc_end(&live->pair->client, rpc);
}

/*
 * Send a Call, with @arg in a Read chunk and @res in a Write chunk unless these are NULL,
 * and try to receive it until that succeeds or a Call waits.
 */
static void server_call(struct kunit *test, struct server_live *live,
			struct loop_rpc *rpc, struct loop_buf *arg,
			struct loop_buf *res)
{
	unsigned long end = jiffies + LOOP_WAIT_S * HZ;

	atomic_set(&live->woken, 0);
	loop_rpc_init(rpc, arg, res);
	KUNIT_ASSERT_EQ(test, loop_rpc_send(&live->pair->client, rpc), 0);
	KUNIT_EXPECT_TRUE(test, loop_poll(atomic_read(&live->woken)));
	while (!server_receive(live) && !rpcrdma_calls_any(&live->conn.queue) &&
	       time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
}

/*
 * If a Call arrives while all Send contexts are in use, no thread receives it, and no
 * thread is woken until a context is released. Then one is woken, and receives it. With
 * @arg, the Call has a Read chunk, and has been pulled meanwhile.
 */
static void server_waits_for_send(struct kunit *test, struct loop_buf *arg)
{
	struct server_live *live = server_live_open(test);
	struct rpcrdma_svc_conn *conn = &live->conn;
	struct svc_xprt *xprt = &conn->xprt;
	struct loop_rpc *rpc;
	unsigned int held;
	s64 starved;
	int tries;

	rpc = kunit_kzalloc(test, sizeof(*rpc), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rpc);
	/* Meanwhile a message of the opening may complete, and release its context. */
	for (tries = 0; tries < 8; tries++) {
		server_hold_sends(test, live);
		starved = percpu_counter_sum(&svcrdma_stat_sq_starve);
		server_call(test, live, rpc, arg, NULL);
		if (!live->received)
			break;
		server_release(live, rpc);
	}
	KUNIT_EXPECT_FALSE(test, server_receive(live));
	KUNIT_EXPECT_TRUE(test, rpcrdma_calls_any(&conn->queue));
	KUNIT_EXPECT_EQ(test, !!conn->queue.pulled.first, !!arg);
	KUNIT_EXPECT_GT(test, percpu_counter_sum(&svcrdma_stat_sq_starve),
			starved);
	/* No thread is woken in vain. */
	atomic_set(&live->woken, 0);
	svc_xprt_enqueue(xprt);
	KUNIT_EXPECT_EQ(test, atomic_read(&live->woken), 0);

	held = live->nr_held;
	rpcrdma_core_send_put(live->held[--live->nr_held]);
	KUNIT_EXPECT_TRUE(test, loop_poll(atomic_read(&live->woken)));
	KUNIT_EXPECT_TRUE(test, server_receive(live));
	if (live->received) {
		struct rpcrdma_recv *rv = live->rqstp->rq_xprt_ctxt;

		KUNIT_EXPECT_NOT_NULL(test, rv->send);
		server_release(live, rpc);
	}
	KUNIT_EXPECT_FALSE(test, rpcrdma_calls_any(&conn->queue));
	KUNIT_EXPECT_FALSE(test, server_receive(live));
	KUNIT_EXPECT_FALSE(test, test_bit(XPT_DATA, &xprt->xpt_flags));
	/* Of its memory, only the spare pages are still charged. */
	KUNIT_EXPECT_EQ(test, !!conn->spare.nr, !!arg);
	KUNIT_EXPECT_EQ(test, conn->ep->memory.held[RPCRDMA_QUOTA_CALLS],
			(u64)conn->spare.nr << PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, conn->queue.early_octets, 0ULL);

	/* The Call has released its context, and no other one was kept. */
	server_hold_sends(test, live);
	KUNIT_EXPECT_EQ(test, live->nr_held, held);
	while (live->nr_held)
		rpcrdma_core_send_put(live->held[--live->nr_held]);
	server_live_close(test, live);
}

static void server_call_waits_for_send(struct kunit *test)
{
	server_waits_for_send(test, NULL);
}

static void server_pulled_call_waits_for_send(struct kunit *test)
{
	struct loop_buf arg = {};

	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&arg, 0, 3 * PAGE_SIZE), 0);
	server_waits_for_send(test, &arg);
	loop_buf_free(&arg);
}

enum {
	SERVER_HEAD	= 16,		/* bytes of a Reply before its data */
};

/*
 * Encode the Reply to @rpc as nfsd does that bypasses the page cache: @data begin inside
 * the first of @pages after the head's page, and the page that they end in is not counted.
 */
static void server_encode(struct svc_rqst *rqstp, const struct loop_rpc *rpc,
			  const struct loop_buf *data, struct page **pages)
{
	struct xdr_buf *res = &rqstp->rq_res;
	__be32 *p = page_address(pages[0]);
	u32 i;

	p[0] = cpu_to_be32(rpc->xid);
	p[1] = cpu_to_be32(1);
	p[2] = 0;
	p[3] = cpu_to_be32(data->len);
	for (i = 0; i < data->nr; i++) {
		get_page(data->pages[i]);
		pages[1 + i] = data->pages[i];
	}
	rqstp->rq_respages = pages;
	rqstp->rq_next_page = pages + data->nr;
	rqstp->rq_page_end = pages + 1 + data->nr;
	rqstp->rq_stime = ktime_get();
	res->head[0].iov_base = p;
	res->head[0].iov_len = SERVER_HEAD;
	res->pages = pages + 1;
	res->page_base = data->base;
	res->page_len = data->len;
	res->len = SERVER_HEAD + data->len;
}

/*
 * If data begin inside a page, the page that they end in is kept for the device, too:
 * the thread gets another one for its next Reply.
 */
static void server_keeps_last_page(struct kunit *test)
{
	struct server_live *live = server_live_open(test);
	struct svc_rqst *rqstp = live->rqstp;
	struct loop_buf data = {}, result = {};
	struct page *pages[3] = {};
	struct loop_rpc *rpc;
	unsigned int i;

	rpc = kunit_kzalloc(test, sizeof(*rpc), GFP_KERNEL);
	pages[0] = alloc_page(GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, rpc && pages[0]);
	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&data, 1, PAGE_SIZE), 0);
	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&result, 0, PAGE_SIZE), 0);
	loop_buf_fill(&data, 0);
	server_call(test, live, rpc, NULL, &result);
	KUNIT_ASSERT_TRUE(test, live->received);

	server_encode(rqstp, rpc, &data, pages);
	rpcrdma_svc_result_payload(rqstp, SERVER_HEAD, data.len);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_sendto(rqstp), 0);
	KUNIT_EXPECT_NULL(test, pages[1]);
	KUNIT_EXPECT_NULL(test, pages[2]);
#ifdef HAVE_RQ_PAGES_NFREE
	/* sunrpc replaces the pages up to here. */
	KUNIT_EXPECT_PTR_EQ(test, rqstp->rq_next_page, pages + 3);
#endif
	KUNIT_EXPECT_EQ(test, loop_rpc_wait(&live->pair->client, rpc), 0);
	KUNIT_EXPECT_EQ(test, rpc->placed, result.len);
	KUNIT_EXPECT_EQ(test, loop_buf_check(&result, 0), result.len);

	server_release(live, rpc);
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		if (pages[i])
			put_page(pages[i]);
	server_live_close(test, live);
	loop_buf_free(&result);
	loop_buf_free(&data);
}

static int server_live_suite_init(struct kunit_suite *suite)
{
	int rc = loop_mem_suite_init(suite);

	if (rc)
		return rc;
	rpcrdma_svc_wq = rpcrdma_wq;
	if (percpu_counter_init(&svcrdma_stat_recv, 0, GFP_KERNEL) ||
	    percpu_counter_init(&svcrdma_stat_read, 0, GFP_KERNEL) ||
	    percpu_counter_init(&svcrdma_stat_sq_starve, 0, GFP_KERNEL) ||
	    percpu_counter_init(&svcrdma_stat_write, 0, GFP_KERNEL))
		rc = -ENOMEM;
	return rc;
}

static void server_live_suite_exit(struct kunit_suite *suite)
{
	percpu_counter_destroy(&svcrdma_stat_write);
	percpu_counter_destroy(&svcrdma_stat_sq_starve);
	percpu_counter_destroy(&svcrdma_stat_read);
	percpu_counter_destroy(&svcrdma_stat_recv);
	rpcrdma_svc_wq = NULL;
	loop_suite_exit(suite);
}

static struct kunit_case server_cases[] = {
	KUNIT_CASE(server_ended_after_last_put),
	KUNIT_CASE(server_ended_before),
	KUNIT_CASE(server_ended_meanwhile),
	KUNIT_CASE(server_call_is_not_local),
	{}
};

static struct kunit_suite server_suite = {
	.name		= "rpcrdma_server",
	.test_cases	= server_cases,
};

static struct kunit_case server_live_cases[] = {
	KUNIT_CASE(server_call_waits_for_send),
	KUNIT_CASE(server_pulled_call_waits_for_send),
	KUNIT_CASE(server_keeps_last_page),
	{}
};

static struct kunit_suite server_live_suite = {
	.name		= "rpcrdma_server_live",
	.suite_init	= server_live_suite_init,
	.suite_exit	= server_live_suite_exit,
	.init		= loop_test_init,
	.exit		= loop_test_exit,
	.test_cases	= server_live_cases,
};

kunit_test_suites(&server_suite, &server_live_suite);
