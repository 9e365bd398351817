// SPDX-License-Identifier: GPL-2.0
/*
 * The server's transport: a svc_xprt is sunrpc's until its last reference is gone,
 * and from then on nobody's, while upcalls of its endpoint may still come.
 */

/* The client's suites have one of their own. */
#define rpcrdma_server_ep	shim_server_ep
#include "../net/sunrpc/xprtrdma/transport/server.c"

#include <kunit/test.h>

#include "shim.h"

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
	.xcl_name	= "shim_server",
	.xcl_ops	= &server_xprt_ops,
};

/* A connection that a service thread has taken */
static struct server_fixture *server_taken(struct kunit *test)
{
	struct server_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	spin_lock_init(&f->conn.lock);
	INIT_LIST_HEAD(&f->conn.node);
	INIT_LIST_HEAD(&f->conn.calls);
	INIT_LIST_HEAD(&f->conn.pulled);
	f->conn.ep = &f->ep;
	f->conn.guest.stage = RPCRDMA_GUEST_TAKEN;
	f->ep.priv = &f->conn;
	svc_xprt_init(&init_net, &server_class, &f->conn.xprt, &f->serv);
	/* As for one that sunrpc is at work on: nothing is enqueued. */
	KUNIT_EXPECT_TRUE(test, test_bit(XPT_BUSY, &f->conn.xprt.xpt_flags));
	return f;
}

static void server_serve(struct server_fixture *f)
{
	spin_lock(&f->conn.lock);
	rpcrdma_guest_served(&f->conn.guest, false);
	spin_unlock(&f->conn.lock);
}

/* The last reference is put, and only then the end is told of. */
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
	KUNIT_EXPECT_EQ(test, (u32)f->conn.guest.stage,
			(u32)RPCRDMA_GUEST_GONE);
}

/* While there is one, it is told, by a reference of its own. */
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

/* A thread has it in hand: what it makes of it will say so. */
static void server_ended_meanwhile(struct kunit *test)
{
	struct server_fixture *f = server_taken(test);
	struct svc_xprt *xprt = &f->conn.xprt;

	rpcrdma_svc_closed(&f->ep);
	KUNIT_EXPECT_FALSE(test, test_bit(XPT_CLOSE, &xprt->xpt_flags));
	KUNIT_EXPECT_EQ(test, rpcrdma_guest_served(&f->conn.guest, false),
			(u32)RPCRDMA_GUEST_CLOSE);
	svc_xprt_put(xprt);
}

/* The thread may have served a TCP mount of its own host before. */
static void server_call_is_not_local(struct kunit *test)
{
	struct svc_rqst *rqstp;

	rqstp = kunit_kzalloc(test, sizeof(*rqstp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rqstp);
	set_bit(RQ_LOCAL, &rqstp->rq_flags);
	shim_svc_set_flags(rqstp);
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
