// SPDX-License-Identifier: GPL-2.0
/*
 * The server's transport. sunrpc owns a svc_xprt until the last reference to it is put.
 * After that, no upcall of the endpoint may use the svc_xprt, although upcalls may
 * still occur.
 */

/* The client's suites define a function of the same name. */
#define rpcrdma_server_ep	loop_server_ep
#include "../../net/sunrpc/xprtrdma/sunrpc/server_pages.c"
#include "../../net/sunrpc/xprtrdma/sunrpc/server.c"
#include "../../net/sunrpc/xprtrdma/sunrpc/server_listen.c"

#include <kunit/test.h>

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

kunit_test_suites(&server_suite);
