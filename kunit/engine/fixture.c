// SPDX-License-Identifier: GPL-2.0
/* Two ends of a connection, and the messages between them */
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "../module/suites.h"
#include "engine.h"

/* The engine defines these constants itself, because it includes no kernel headers. */
static_assert(EPERM == 1);
static_assert(EIO == 5);
static_assert(EAGAIN == 11);
static_assert(ENOMEM == 12);
static_assert(EACCES == 13);
static_assert(ENODEV == 19);
static_assert(EINVAL == 22);
static_assert(EPIPE == 32);
static_assert(EPROTO == 71);
static_assert(EMSGSIZE == 90);
static_assert(EPROTONOSUPPORT == 93);
static_assert(ENOKEY == 126);
static_assert(EOPNOTSUPP == 95);
static_assert(EAFNOSUPPORT == 97);
static_assert(EADDRINUSE == 98);
static_assert(EADDRNOTAVAIL == 99);
static_assert(ENETDOWN == 100);
static_assert(ENETUNREACH == 101);
static_assert(ECONNABORTED == 103);
static_assert(ECONNRESET == 104);
static_assert(ENOBUFS == 105);
static_assert(ENOTCONN == 107);
static_assert(ETIMEDOUT == 110);
static_assert(ECONNREFUSED == 111);
static_assert(EHOSTUNREACH == 113);
static_assert(EREMOTEIO == 121);
static_assert(IB_CM_REJ_STALE_CONN == 10);

void usual_config(struct rpcrdma_conn_config *cfg, bool client)
{
	*cfg = (struct rpcrdma_conn_config){
		.client = client,
		.version_low = RPCRDMA_VERS_2,
		.version_high = RPCRDMA_VERS_2,
		.inv_ok = 1,
		.window = 32,
		.props = {
			.sbsiz = 4096,
			.rbsiz = 4096,
			.rssiz = 1 << 20,
			.rcsiz = RPCRDMA_MAX_SEGS,
			.brs = RDMA2_RVRSDIR_GENL,
			.reassembly = 262144,
		},
	};
}

enum rpcrdma_verdict feed(struct kunit *test, struct end *e,
			  const struct msg *m, bool hold)
{
	enum rpcrdma_verdict verdict;
	void *copy = kmalloc(m->len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	memcpy(copy, m->data, m->len);
	verdict = rpcrdma_conn_receive(&e->conn, copy, m->len, &e->rx);
	e->events = e->rx.events;
	kfree(copy);
	if (!hold && verdict != RPCRDMA_RX_CLOSE)
		e->events |= rpcrdma_recvs_posted(&e->conn, 1);
	return verdict;
}

u32 control(struct end *e, struct msg *m)
{
	m->len = rpcrdma_conn_next_control(&e->conn, m->data,
					   sizeof(m->data)).octets;
	return m->len;
}

u32 error_code(struct fixture *f, struct end *e)
{
	if (control(e, &f->answer) < ERROR_LEN ||
	    get(&f->answer, 12) != RDMA2_ERROR)
		return 0;
	return get(&f->answer, 24);
}

int fixture_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct rpcrdma_conn_config cfg;

	if (!f)
		return -ENOMEM;
	usual_config(&cfg, true);
	rpcrdma_conn_init(&f->client.conn, &cfg);
	usual_config(&cfg, false);
	rpcrdma_conn_init(&f->server.conn, &cfg);
	rpcrdma_recvs_posted(&f->client.conn, 33);
	rpcrdma_recvs_posted(&f->server.conn, 33);
	test->priv = f;
	return 0;
}

int open_init(struct kunit *test)
{
	struct fixture *f;
	int ret = fixture_init(test);

	if (ret)
		return ret;
	f = test->priv;
	rpcrdma_conn_established(&f->client.conn);
	control(&f->client, &f->m);
	feed(test, &f->server, &f->m, false);
	control(&f->server, &f->m);
	feed(test, &f->client, &f->m, false);
	if (f->client.conn.state != RPCRDMA_CONN_OPEN ||
	    f->server.conn.state != RPCRDMA_CONN_OPEN)
		return -EPROTO;
	return 0;
}

void add_segments(struct rpcrdma_lists *lists, u32 segs, u32 length)
{
	while (segs--)
		rpcrdma_lists_add_segment(lists, 0xa00 + lists->nr_segs,
					  length, 1ULL << 40 | segs);
}

void deliver_control(struct kunit *test, struct fixture *f,
		     struct end *from, struct end *to)
{
	while (control(from, &f->answer))
		KUNIT_ASSERT_EQ(test, feed(test, to, &f->answer, false),
				RPCRDMA_RX_CONSUMED);
}

MODULE_DESCRIPTION("KUnit suites of the RPC-over-RDMA protocol engine");
MODULE_LICENSE("GPL");
