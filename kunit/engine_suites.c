// SPDX-License-Identifier: GPL-2.0
/*
 * The protocol engine inside the kernel. The host tests are more thorough; these
 * suites test that the engine behaves the same when Kbuild has compiled it: codec,
 * credits, opening, errors and plans. Each message is in memory of exactly its size,
 * so that KASAN detects accesses beyond it.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>

#include <rpcrdma/engine.h>

#include "../net/sunrpc/xprtrdma/compat.h"

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

#define XID		0x12345678
#define HEADER		40		/* bytes, without chunks */
#define ERROR_LEN	28		/* bytes, without error data */

/* A message under construction */
struct msg {
	u32	len;
	u8	data[2048];
};

static void word(struct msg *m, u32 value)
{
	put_unaligned_be32(value, m->data + m->len);
	m->len += 4;
}

static u32 get(const struct msg *m, u32 offset)
{
	return get_unaligned_be32(m->data + offset);
}

static void prefix(struct msg *m, u32 xid, u32 htype, u32 flags, u32 credit,
		   u32 received)
{
	m->len = 0;
	word(m, xid);
	word(m, RPCRDMA_VERS_2);
	word(m, credit);
	word(m, htype);
	word(m, flags);
	word(m, received);
}

static void no_lists(struct msg *m)
{
	int i;

	for (i = 0; i < 4; i++)
		word(m, 0);
}

static void segment(struct msg *m, u32 handle, u32 length)
{
	word(m, handle);
	word(m, length);
	word(m, 0x100);
	word(m, 0x200);
}

static void rpc(struct msg *m, u32 xid, u32 direction, u32 octets)
{
	word(m, xid);
	word(m, direction);
	memset(m->data + m->len, 0x5a, octets - 8);
	m->len += octets - 8;
}

/* One end of a connection, with buffers for its messages */
struct end {
	struct rpcrdma_conn		conn;
	struct rpcrdma_rx		rx;
	struct rpcrdma_reply_plan	plan;
	struct rpcrdma_reply		reply;
	struct rpcrdma_lists		lists;
	u32				events;
};

struct fixture {
	struct end	client, server;
	struct msg	m, answer;
	u8		buf[4096];
};

static void usual_config(struct rpcrdma_conn_config *cfg, bool client)
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

/*
 * Receive @m at @e, from memory of exactly the message's size. Repost the Receive
 * unless @hold.
 */
static enum rpcrdma_verdict feed(struct kunit *test, struct end *e,
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
		e->events |= rpcrdma_conn_posted(&e->conn, 1);
	return verdict;
}

/* Build the next control message of @e. Return its length, or 0 if none is due. */
static u32 control(struct end *e, struct msg *m)
{
	m->len = rpcrdma_conn_next_control(&e->conn, m->data,
					   sizeof(m->data)).octets;
	return m->len;
}

/* Return the code of the ERROR that @e sends next, or 0 if it sends none. */
static u32 error_code(struct fixture *f, struct end *e)
{
	if (control(e, &f->answer) < ERROR_LEN ||
	    get(&f->answer, 12) != RDMA2_ERROR)
		return 0;
	return get(&f->answer, 24);
}

static int fixture_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct rpcrdma_conn_config cfg;

	if (!f)
		return -ENOMEM;
	usual_config(&cfg, true);
	rpcrdma_conn_init(&f->client.conn, &cfg);
	usual_config(&cfg, false);
	rpcrdma_conn_init(&f->server.conn, &cfg);
	rpcrdma_conn_posted(&f->client.conn, 33);
	rpcrdma_conn_posted(&f->server.conn, 33);
	test->priv = f;
	return 0;
}

/* Set up the fixture, and exchange the opening messages. */
static int open_init(struct kunit *test)
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

/* ---- Codec ---- */

struct codec_case {
	const char *name;
	u8 special;
	u8 reads, read_segs;
	u8 writes, write_segs;
	u8 reply_segs;
};

static const struct codec_case codec_cases[] = {
	{ "no chunks" },
	{ "Read chunk", .reads = 1, .read_segs = 1 },
	{ "Read chunks", .reads = 3, .read_segs = 4 },
	{ "Write chunk", .writes = 1, .write_segs = 1 },
	{ "empty Write chunks", .writes = 16, .write_segs = 0 },
	{ "Reply chunk", .reply_segs = 2 },
	{ "everything", .reads = 4, .read_segs = 4, .writes = 4,
	  .write_segs = 4, .reply_segs = 32 },
	{ "Position Zero", .special = 1, .reads = 1, .read_segs = 3 },
	{ "Position Zero and items", .special = 1, .reads = 3,
	  .read_segs = 2, .writes = 1, .write_segs = 1, .reply_segs = 1 },
};

static void codec_desc(const struct codec_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(codec, codec_cases, codec_desc);

static void add_segments(struct rpcrdma_lists *lists, u32 segs, u32 length)
{
	while (segs--)
		rpcrdma_lists_add_segment(lists, 0xa00 + lists->nr_segs,
					  length, 1ULL << 40 | segs);
}

static void build_lists(const struct codec_case *c, struct rpcrdma_lists *lists)
{
	u32 i, position = 0;

	rpcrdma_lists_init(lists);
	lists->inv_handle = c->reads ? 0xa00 : 0;
	for (i = 0; i < c->reads; i++) {
		if (!c->special && !i)
			position = 8;
		rpcrdma_lists_add_read(lists, position);
		add_segments(lists, c->read_segs, 100);
		position += position ? c->read_segs * 100 + 4 : 8;
	}
	for (i = 0; i < c->writes; i++) {
		rpcrdma_lists_add_write(lists);
		add_segments(lists, c->write_segs, 1000);
	}
	if (c->reply_segs) {
		rpcrdma_lists_add_reply(lists);
		add_segments(lists, c->reply_segs, 1000);
	}
}

static void encode_case(struct kunit *test, struct fixture *f,
			const struct codec_case *c, u32 payload)
{
	build_lists(c, &f->client.lists);
	f->m.len = rpcrdma_encode_header(&f->client.conn, f->m.data,
					 sizeof(f->m.data), XID,
					 c->special ? RDMA2_NOMSG : RDMA2_MSG,
					 0, &f->client.lists);
	KUNIT_ASSERT_NE(test, f->m.len, 0);
	KUNIT_EXPECT_EQ(test, f->m.len,
			rpcrdma_header_octets(&f->client.conn,
					      &f->client.lists));
	rpcrdma_conn_stamp(&f->client.conn, RPCRDMA_KIND_CALL, f->m.data);
	if (!c->special)
		rpc(&f->m, XID, RPC_CALL, payload);
}

static void codec_round_trip(struct kunit *test)
{
	const struct codec_case *c = test->param_value;
	struct fixture *f = test->priv;
	const struct rpcrdma_lists *sent = &f->client.lists;
	const struct rpcrdma_lists *got = &f->server.rx.lists;
	u32 i;

	encode_case(test, f, c, 100);
	KUNIT_ASSERT_EQ(test, feed(test, &f->server, &f->m, true),
			RPCRDMA_RX_CALL);
	KUNIT_EXPECT_EQ(test, f->server.rx.xid, XID);
	KUNIT_EXPECT_EQ(test, f->server.rx.format,
			c->special ? RPCRDMA_SPECIAL : RPCRDMA_INLINE);
	KUNIT_EXPECT_EQ(test, got->inv_handle, sent->inv_handle);
	KUNIT_ASSERT_EQ(test, got->nr_segs, sent->nr_segs);
	KUNIT_ASSERT_EQ(test, got->nr_reads, sent->nr_reads);
	KUNIT_ASSERT_EQ(test, got->nr_writes, sent->nr_writes);
	KUNIT_EXPECT_EQ(test, got->has_reply, sent->has_reply);
	for (i = 0; i < got->nr_reads; i++) {
		KUNIT_EXPECT_EQ(test, got->reads[i].position,
				sent->reads[i].position);
		KUNIT_EXPECT_EQ(test, got->reads[i].length,
				sent->reads[i].length);
		KUNIT_EXPECT_EQ(test, got->reads[i].count,
				sent->reads[i].count);
	}
	for (i = 0; i < got->nr_writes; i++)
		KUNIT_EXPECT_EQ(test, got->writes[i].count,
				sent->writes[i].count);
	KUNIT_EXPECT_EQ(test, memcmp(got->segs, sent->segs,
				     got->nr_segs * sizeof(got->segs[0])), 0);
}

/* Truncated headers are rejected. KASAN detects any read beyond the end. */
static void codec_truncated(struct kunit *test)
{
	const struct codec_case *c = test->param_value;
	struct fixture *f = test->priv;
	u32 whole, len;

	encode_case(test, f, c, 8);
	whole = f->m.len;
	for (len = 1; len < whole; len++) {
		u32 code;

		f->m.len = len;
		KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
				RPCRDMA_RX_DONE);
		code = error_code(f, &f->server);
		KUNIT_EXPECT_EQ(test, code,
				len < RPCRDMA_V2_PREFIX ? 0 :
							  RDMA2_ERR_BAD_XDR);
		/* The client never receives the ERRORs: renew the server's credits. */
		f->server.conn.limit = f->server.conn.sent + 10;
		f->server.conn.advertised = f->server.conn.posted - 1;
	}
}

static struct kunit_case codec_tests[] = {
	KUNIT_CASE_PARAM(codec_round_trip, codec_gen_params),
	KUNIT_CASE_PARAM(codec_truncated, codec_gen_params),
	{}
};

static struct kunit_suite codec_suite = {
	.name		= "rpcrdma_engine_codec",
	.init		= open_init,
	.test_cases	= codec_tests,
};

/* ---- Credits ---- */

struct credit_case {
	const char *name;
	u32 sent;		/* messages sent before */
	u32 credit, back;	/* the peer's header: credit, received = sent - back */
	s32 window;		/* messages that may be sent then; -1: closed */
};

static const struct credit_case credit_cases[] = {
	{ "all received", 100, 16, 0, 16 },
	{ "some under way", 100, 16, 4, 12 },
	{ "none granted", 100, 0, 0, 4 },
	{ "old news", 100, 2, 50, 4 },
	{ "clamped", 100, ~0u, 0, 65535 },
	{ "count wraps", ~0u, 16, 0, 16 },
	{ "limit wraps", ~0u - 3, 16, 2, 14 },
	{ "sign changes", 0x7fffffff, 16, 1, 15 },
	{ "never sent", 100, 16, -1, -1 },
	{ "never sent, wrapped", ~0u, 16, -1, -1 },
};

static void credit_desc(const struct credit_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(credit, credit_cases, credit_desc);

static void credits_window(struct kunit *test)
{
	const struct credit_case *c = test->param_value;
	struct fixture *f = test->priv;
	struct rpcrdma_conn *conn = &f->client.conn;

	conn->sent = c->sent;
	conn->limit = c->sent + 4;
	prefix(&f->m, 0, RDMA2_NOMSG, 0, c->credit, c->sent - c->back);
	no_lists(&f->m);
	if (c->window < 0) {
		KUNIT_EXPECT_EQ(test, feed(test, &f->client, &f->m, false),
				RPCRDMA_RX_CLOSE);
		KUNIT_EXPECT_NOT_NULL(test, conn->reason);
		return;
	}
	KUNIT_EXPECT_EQ(test, feed(test, &f->client, &f->m, false),
			RPCRDMA_RX_DONE);
	KUNIT_EXPECT_EQ(test, conn->limit - conn->sent, c->window);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_may_send(conn, RPCRDMA_KIND_CALL),
			c->window > 2);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_may_send(conn, RPCRDMA_KIND_REPLY),
			c->window > 0);
}

/* Deliver all control messages that @from may send to @to. */
static void deliver_control(struct kunit *test, struct fixture *f,
			    struct end *from, struct end *to)
{
	while (control(from, &f->answer))
		KUNIT_ASSERT_EQ(test, feed(test, to, &f->answer, false),
				RPCRDMA_RX_DONE);
}

static void check_invariants(struct kunit *test, const struct end *e,
			     const struct end *peer)
{
	/* The peer's limit never includes the last Receive, the reserve. */
	KUNIT_ASSERT_GE(test, (s32)(e->conn.posted - 1 - peer->conn.limit), 0);
	KUNIT_ASSERT_GE(test, (s32)(e->conn.posted - 1 - e->conn.advertised),
			0);
	KUNIT_ASSERT_LE(test, (s32)(peer->conn.sent - peer->conn.limit), 1);
	KUNIT_ASSERT_EQ(test, e->conn.received, peer->conn.sent);
}

/*
 * Send Calls in one direction. The server holds them, then answers any number of
 * them: credits must limit the Calls, and come back as Receives are released.
 */
static void credits_traffic(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct rnd_state rnd;
	u32 held = 0, made = 0, i;

	prandom_seed_state(&rnd, 4711);
	for (i = 0; i < 2000; i++) {
		u32 n = prandom_u32_state(&rnd) % 8;

		while (n-- && rpcrdma_conn_may_send(&f->client.conn,
						    RPCRDMA_KIND_CALL)) {
			f->m.len = rpcrdma_encode_header(
				&f->client.conn, f->m.data, HEADER, made + 1,
				RDMA2_MSG, 0, NULL);
			rpcrdma_conn_stamp(&f->client.conn, RPCRDMA_KIND_CALL,
					   f->m.data);
			rpc(&f->m, ++made, RPC_CALL, 40);
			KUNIT_ASSERT_EQ(test,
					feed(test, &f->server, &f->m, true),
					RPCRDMA_RX_CALL);
			held++;
			check_invariants(test, &f->server, &f->client);
		}
		n = prandom_u32_state(&rnd) % 8;
		while (n-- && held) {
			/* Some Calls are never answered. */
			if (prandom_u32_state(&rnd) % 4) {
				KUNIT_ASSERT_TRUE(test,
					rpcrdma_conn_may_send(&f->server.conn,
							RPCRDMA_KIND_REPLY));
				f->m.len = rpcrdma_encode_header(
					&f->server.conn, f->m.data, HEADER,
					XID, RDMA2_MSG, RDMA2_F_RESPONSE, NULL);
				rpcrdma_conn_stamp(&f->server.conn,
						   RPCRDMA_KIND_REPLY,
						   f->m.data);
				rpc(&f->m, XID, RPC_REPLY, 40);
				KUNIT_ASSERT_EQ(test,
						feed(test, &f->client, &f->m,
						     false),
						RPCRDMA_RX_REPLY);
			}
			held--;
			rpcrdma_conn_posted(&f->server.conn, 1);
			deliver_control(test, f, &f->server, &f->client);
			deliver_control(test, f, &f->client, &f->server);
			check_invariants(test, &f->server, &f->client);
			check_invariants(test, &f->client, &f->server);
		}
		/* If the server holds no Calls, the client can send one. */
		if (!held)
			KUNIT_ASSERT_TRUE(test,
				rpcrdma_conn_may_send(&f->client.conn,
						      RPCRDMA_KIND_CALL));
	}
	KUNIT_EXPECT_GT(test, made, 1000);
}

static void credits_overrun(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 i;

	/* 32 credits advertised after the CONNPROP, and one Receive in reserve */
	for (i = 0; i < 33; i++) {
		prefix(&f->m, i, RDMA2_MSG, 0, 16, 1);
		no_lists(&f->m);
		rpc(&f->m, i, RPC_CALL, 40);
		KUNIT_ASSERT_EQ(test, feed(test, &f->server, &f->m, true),
				RPCRDMA_RX_CALL);
	}
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, true),
			RPCRDMA_RX_CLOSE);
	KUNIT_EXPECT_TRUE(test, f->server.events & RPCRDMA_EV_CLOSE);
}

static struct kunit_case credits_tests[] = {
	KUNIT_CASE_PARAM(credits_window, credit_gen_params),
	KUNIT_CASE(credits_traffic),
	KUNIT_CASE(credits_overrun),
	{}
};

static struct kunit_suite credits_suite = {
	.name		= "rpcrdma_engine_credits",
	.init		= open_init,
	.test_cases	= credits_tests,
};

/* ---- Opening ---- */

static void opening_order(struct kunit *test)
{
	struct fixture *f = test->priv;

	/* The server sends nothing before the client's first message. */
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_established(&f->server.conn), 0);
	KUNIT_EXPECT_EQ(test, control(&f->server, &f->m), 0);

	KUNIT_EXPECT_EQ(test, rpcrdma_conn_established(&f->client.conn),
			RPCRDMA_EV_CONTROL);
	KUNIT_ASSERT_NE(test, control(&f->client, &f->m), 0);
	KUNIT_EXPECT_LE(test, f->m.len, RPCRDMA_V2_FIRST_CONNPROP);
	KUNIT_EXPECT_EQ(test, get(&f->m, 12), RDMA2_CONNPROP);
	KUNIT_EXPECT_EQ(test, control(&f->client, &f->answer), 0);

	feed(test, &f->server, &f->m, false);
	KUNIT_EXPECT_TRUE(test, f->server.events & RPCRDMA_EV_OPENED);
	KUNIT_ASSERT_NE(test, control(&f->server, &f->m), 0);
	KUNIT_EXPECT_EQ(test, get(&f->m, 8), 32);
	feed(test, &f->client, &f->m, false);
	KUNIT_EXPECT_TRUE(test, f->client.events & RPCRDMA_EV_OPENED);
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_may_send(&f->client.conn,
						      RPCRDMA_KIND_CALL));
}

struct prop_case {
	const char *name;
	u32 id, length, value;
	u32 error;
	u32 rbsiz;		/* the resulting RBSIZ */
};

static const struct prop_case prop_cases[] = {
	{ "RBSIZ", 2, 4, 8192, 0, 8192 },
	{ "default", 2, 0, 0, 0, 4096 },
	{ "too small", 2, 4, 1023, RDMA2_ERR_BAD_PROPVAL, 4096 },
	{ "not a uint32", 2, 2, 0x20000000, RDMA2_ERR_BAD_PROPVAL, 4096 },
	{ "beyond the message", 2, 9, 0, RDMA2_ERR_BAD_PROPVAL, 4096 },
	{ "BRS too high", 5, 4, 4, RDMA2_ERR_BAD_PROPVAL, 4096 },
	{ "host authentication", 6, 4, 4, 0, 4096 },
	{ "unknown", 99, 4, 4, 0, 4096 },
};

static void prop_desc(const struct prop_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(prop, prop_cases, prop_desc);

static void opening_props(struct kunit *test)
{
	const struct prop_case *c = test->param_value;
	struct fixture *f = test->priv;

	prefix(&f->m, 0, RDMA2_CONNPROP, 0, 16, 0);
	word(&f->m, 1);
	word(&f->m, c->id);
	word(&f->m, c->length);
	if (c->length)
		word(&f->m, c->value);
	feed(test, &f->server, &f->m, false);
	KUNIT_EXPECT_TRUE(test, f->server.events & RPCRDMA_EV_OPENED);
	KUNIT_EXPECT_EQ(test, f->server.conn.peer.rbsiz, c->rbsiz);
	if (c->error)
		KUNIT_EXPECT_EQ(test, error_code(f, &f->server), c->error);
	KUNIT_EXPECT_NE(test, control(&f->server, &f->answer), 0);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 12), RDMA2_CONNPROP);
}

static void opening_versions(struct kunit *test)
{
	struct fixture *f = test->priv;

	/* The server answers a version 1 client with the versions it supports. */
	prefix(&f->m, XID, 0, 0, 32, 0);
	put_unaligned_be32(RPCRDMA_VERS_1, f->m.data + 4);
	feed(test, &f->server, &f->m, false);
	KUNIT_ASSERT_EQ(test, control(&f->server, &f->answer), ERROR_LEN);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 0), XID);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 4), RPCRDMA_VERS_1);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 12), RDMA2_ERROR);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 16), RDMA2_ERR_VERS);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 20), RPCRDMA_VERS_2);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 24), RPCRDMA_VERS_2);

	/* The client receives a version 1 server's answer. */
	rpcrdma_conn_established(&f->client.conn);
	control(&f->client, &f->m);
	f->m.len = 0;
	word(&f->m, 0);
	word(&f->m, RPCRDMA_VERS_2);
	word(&f->m, 32);
	word(&f->m, RDMA2_ERROR);
	word(&f->m, RDMA2_ERR_VERS);
	word(&f->m, RPCRDMA_VERS_1);
	word(&f->m, RPCRDMA_VERS_1);
	KUNIT_EXPECT_EQ(test, feed(test, &f->client, &f->m, false),
			RPCRDMA_RX_CLOSE);
	KUNIT_EXPECT_EQ(test, f->client.conn.err_vers_high, RPCRDMA_VERS_1);
}

static void opening_rpc_too_early(struct kunit *test)
{
	struct fixture *f = test->priv;

	prefix(&f->m, XID, RDMA2_MSG, 0, 16, 0);
	no_lists(&f->m);
	rpc(&f->m, XID, RPC_CALL, 40);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			RPCRDMA_RX_CLOSE);
}

static void opening_private(struct kunit *test)
{
	static const u8 wire[RPCRDMA_PRIVATE_OCTETS] = {
		0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 15,
	};
	struct rpcrdma_private priv = {
		.inv_ok = 1, .send_size = 4096, .recv_size = 16384,
	};
	u8 buf[RPCRDMA_PRIVATE_OCTETS];

	rpcrdma_encode_private(&priv, buf);
	KUNIT_EXPECT_EQ(test, memcmp(buf, wire, sizeof(buf)), 0);
	memset(&priv, 0xff, sizeof(priv));
	rpcrdma_decode_private(wire, sizeof(wire), &priv);
	KUNIT_EXPECT_EQ(test, priv.valid, 1);
	KUNIT_EXPECT_EQ(test, priv.inv_ok, 1);
	KUNIT_EXPECT_EQ(test, priv.send_size, 4096);
	KUNIT_EXPECT_EQ(test, priv.recv_size, 16384);
	rpcrdma_decode_private(NULL, 0, &priv);
	KUNIT_EXPECT_EQ(test, priv.valid, 0);
	KUNIT_EXPECT_EQ(test, priv.send_size, 1024);
}

static struct kunit_case opening_tests[] = {
	KUNIT_CASE(opening_order),
	KUNIT_CASE_PARAM(opening_props, prop_gen_params),
	KUNIT_CASE(opening_versions),
	KUNIT_CASE(opening_rpc_too_early),
	KUNIT_CASE(opening_private),
	{}
};

static struct kunit_suite opening_suite = {
	.name		= "rpcrdma_engine_opening",
	.init		= fixture_init,
	.test_cases	= opening_tests,
};

/* ---- Errors ---- */

struct refused_case {
	const char *name;
	u32 htype, flags;
	void (*body)(struct msg *m);
	u32 error;
};

static void body_none(struct msg *m)
{
}

static void body_call(struct msg *m)
{
	no_lists(m);
	rpc(m, XID, RPC_CALL, 40);
}

static void body_wrong_xid(struct msg *m)
{
	no_lists(m);
	rpc(m, XID + 1, RPC_CALL, 40);
}

static void body_wrong_direction(struct msg *m)
{
	no_lists(m);
	rpc(m, XID, RPC_REPLY, 40);
}

static void body_reads(struct msg *m, u32 n, u32 position, u32 step)
{
	word(m, 0);
	while (n--) {
		word(m, 1);
		word(m, position);
		segment(m, 1, 4);
		position += step;
	}
	word(m, 0);
	word(m, 0);
	word(m, 0);
	rpc(m, XID, RPC_CALL, 200);
}

static void body_unaligned(struct msg *m)
{
	body_reads(m, 1, 9, 4);
}

static void body_past_end(struct msg *m)
{
	body_reads(m, 1, 204, 4);
}

static void body_position_zero(struct msg *m)
{
	body_reads(m, 1, 0, 4);
}

static void body_many_reads(struct msg *m)
{
	body_reads(m, RPCRDMA_MAX_READ_CHUNKS + 1, 8, 4);
}

static void body_many_segs(struct msg *m)
{
	body_reads(m, RPCRDMA_MAX_SEGS + 1, 8, 0);
}

static void body_many_writes(struct msg *m)
{
	u32 i;

	word(m, 0);
	word(m, 0);
	for (i = 0; i <= RPCRDMA_MAX_WRITE_CHUNKS; i++) {
		word(m, 1);
		word(m, 0);
	}
	word(m, 0);
	word(m, 0);
	rpc(m, XID, RPC_CALL, 40);
}

static void body_lying_count(struct msg *m)
{
	word(m, 0);
	word(m, 0);
	word(m, 1);
	word(m, 0x10000001);
	segment(m, 1, 4);
	rpc(m, XID, RPC_CALL, 40);
}

static void body_lists_only(struct msg *m)
{
	no_lists(m);
}

static void body_short_part(struct msg *m)
{
	no_lists(m);
	m->len += 2;
}

static const struct refused_case refused_cases[] = {
	{ "fine", RDMA2_MSG, 0, body_call, 0 },
	{ "no lists", RDMA2_MSG, 0, body_none, RDMA2_ERR_BAD_XDR },
	{ "no payload", RDMA2_MSG, 0, body_lists_only, RDMA2_ERR_BAD_XDR },
	{ "wrong xid", RDMA2_MSG, 0, body_wrong_xid, RDMA2_ERR_BAD_XDR },
	{ "wrong direction", RDMA2_MSG, 0, body_wrong_direction,
	  RDMA2_ERR_BAD_XDR },
	{ "unaligned position", RDMA2_MSG, 0, body_unaligned,
	  RDMA2_ERR_BAD_XDR },
	{ "position past the end", RDMA2_MSG, 0, body_past_end,
	  RDMA2_ERR_BAD_XDR },
	{ "position zero", RDMA2_MSG, 0, body_position_zero,
	  RDMA2_ERR_BAD_XDR },
	{ "lying count", RDMA2_MSG, 0, body_lying_count, RDMA2_ERR_BAD_XDR },
	{ "Read chunks", RDMA2_MSG, 0, body_many_reads,
	  RDMA2_ERR_READ_CHUNKS },
	{ "Write chunks", RDMA2_MSG, 0, body_many_writes,
	  RDMA2_ERR_WRITE_CHUNKS },
	{ "segments", RDMA2_MSG, 0, body_many_segs, RDMA2_ERR_SEGMENTS },
	{ "chunks in a part", RDMA2_MSG, RDMA2_F_MORE, body_many_writes,
	  RDMA2_ERR_WRITE_CHUNKS },
	{ "empty part", RDMA2_MSG, RDMA2_F_MORE, body_lists_only,
	  RDMA2_ERR_INVAL_CONT },
	{ "short part", RDMA2_MSG, RDMA2_F_MORE, body_short_part,
	  RDMA2_ERR_INVAL_CONT },
	{ "TPMORE", RDMA2_MSG, RDMA2_F_TPMORE, body_call,
	  RDMA2_ERR_INVAL_HTYPE },
	{ "NOMSG without chunks", RDMA2_NOMSG, 0, body_lists_only,
	  RDMA2_ERR_BAD_XDR },
	{ "NOMSG with MORE", RDMA2_NOMSG, RDMA2_F_MORE, body_lists_only,
	  RDMA2_ERR_INVAL_CONT },
	{ "unknown type", 2, 0, body_none, RDMA2_ERR_INVAL_HTYPE },
	{ "late CONNPROP", RDMA2_CONNPROP, 0, body_none,
	  RDMA2_ERR_INVAL_HTYPE },
};

static void refused_desc(const struct refused_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(refused, refused_cases, refused_desc);

static void errors_sent(struct kunit *test)
{
	const struct refused_case *c = test->param_value;
	struct fixture *f = test->priv;

	prefix(&f->m, XID, c->htype, c->flags, 16, 1);
	c->body(&f->m);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			c->error ? RPCRDMA_RX_DONE : RPCRDMA_RX_CALL);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->server), c->error);
	if (c->error)
		KUNIT_EXPECT_EQ(test, get(&f->answer, 0), XID);
}

/* The same faults in a Reply are reported to the transport, not to the peer. */
static void errors_in_replies(struct kunit *test)
{
	const struct refused_case *c = test->param_value;
	struct fixture *f = test->priv;
	enum rpcrdma_verdict verdict;

	prefix(&f->m, XID, c->htype, c->flags | RDMA2_F_RESPONSE, 16, 1);
	c->body(&f->m);
	verdict = feed(test, &f->client, &f->m, false);
	if (c->htype == RDMA2_MSG || c->htype == RDMA2_NOMSG)
		KUNIT_EXPECT_EQ(test, verdict,
				c->body == body_wrong_direction ?
					RPCRDMA_RX_REPLY :
					RPCRDMA_RX_BAD_REPLY);
	else
		KUNIT_EXPECT_EQ(test, verdict, RPCRDMA_RX_DONE);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->client), 0);
}

struct status_case {
	u32 code, arg;
	int status, again;
};

/* The meaning of each ERROR for a Call with a Read chunk and a Write chunk */
static const struct status_case status_cases[] = {
	{ RDMA2_ERR_BAD_XDR, 0, -EIO, -EIO },
	{ RDMA2_ERR_INVAL_HTYPE, 0, -EIO, -EIO },
	{ RDMA2_ERR_INVAL_CONT, 0, -EIO, -EIO },
	{ RDMA2_ERR_READ_CHUNKS, 0, -EIO, 0 },
	{ RDMA2_ERR_READ_CHUNKS, 1, -EIO, -EIO },
	{ RDMA2_ERR_WRITE_CHUNKS, 0, -EIO, 0 },
	{ RDMA2_ERR_WRITE_CHUNKS, 1, -EIO, -EIO },
	{ RDMA2_ERR_SEGMENTS, 1, -EIO, 0 },
	{ RDMA2_ERR_SEGMENTS, 64, -EIO, -EIO },
	{ RDMA2_ERR_WRITE_RESOURCE, 1, -EREMOTEIO, -EREMOTEIO },
	{ RDMA2_ERR_REPLY_RESOURCE, 9000, -EREMOTEIO, 0 },
	{ RDMA2_ERR_REPLY_RESOURCE, 0, -EREMOTEIO, -EREMOTEIO },
	{ RDMA2_ERR_SYSTEM, 0, -EREMOTEIO, -EREMOTEIO },
};

static void status_desc(const struct status_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %u",
		 rpcrdma_error_name(c->code), c->arg);
}
KUNIT_ARRAY_PARAM(status, status_cases, status_desc);

static void errors_received(struct kunit *test)
{
	const struct status_case *c = test->param_value;
	struct fixture *f = test->priv;
	struct rpcrdma_lists *lists;
	struct rpcrdma_call call = {
		.xid		= XID,
		.length		= 10000,
		.item_position	= 100,
		.item_length	= 9000,
		.reply_max	= 20000,
		.result_max	= 8000,
		.call_segs	= 1,
		.item_segs	= 1,
		.reply_segs	= 1,
		.result_segs	= 1,
		.ddp		= 1,
	};

	lists = kunit_kzalloc(test, sizeof(*lists), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists);
	rpcrdma_lists_init(lists);
	rpcrdma_lists_add_read(lists, 100);
	rpcrdma_lists_add_segment(lists, 1, 9000, 0);
	rpcrdma_lists_add_write(lists);
	rpcrdma_lists_add_segment(lists, 2, 8000, 0);

	rpcrdma_conn_queue_error(&f->server.conn, XID, c->code, c->arg, 5);
	KUNIT_ASSERT_NE(test, control(&f->server, &f->m), 0);
	KUNIT_ASSERT_EQ(test, feed(test, &f->client, &f->m, false),
			RPCRDMA_RX_ERROR);
	KUNIT_EXPECT_EQ(test, f->client.rx.xid, XID);
	KUNIT_EXPECT_EQ(test, f->client.rx.error.code, c->code);
	KUNIT_EXPECT_EQ(test, f->client.rx.error.status, c->status);

	KUNIT_EXPECT_EQ(test, rpcrdma_call_refused(&f->client.conn,
						   &f->client.rx, &call, lists,
						   &call.recovery), c->again);
	/* A second ERROR with the same code is final. */
	KUNIT_EXPECT_EQ(test, rpcrdma_call_refused(&f->client.conn,
						   &f->client.rx, &call, lists,
						   &call.recovery), c->status);
}

static void errors_broken_sequence(struct kunit *test)
{
	struct fixture *f = test->priv;

	prefix(&f->m, XID, RDMA2_MSG, RDMA2_F_MORE, 16, 1);
	body_call(&f->m);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			RPCRDMA_RX_PART);
	prefix(&f->m, XID + 1, RDMA2_MSG, 0, 16, 1);
	body_wrong_xid(&f->m);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			RPCRDMA_RX_DONE);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->server),
			RDMA2_ERR_INVAL_CONT);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 0), XID);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->server),
			RDMA2_ERR_INVAL_CONT);
	KUNIT_EXPECT_EQ(test, get(&f->answer, 0), XID + 1);
	/* A further fragment of the broken sequence is discarded. */
	prefix(&f->m, XID, RDMA2_MSG, RDMA2_F_MORE, 16, 1);
	body_call(&f->m);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			RPCRDMA_RX_DONE);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->server), 0);
	/* The RPC header shows that a new Call begins: the last fragment was omitted. */
	prefix(&f->m, XID, RDMA2_MSG, 0, 16, 1);
	body_call(&f->m);
	KUNIT_EXPECT_EQ(test, feed(test, &f->server, &f->m, false),
			RPCRDMA_RX_CALL);
	KUNIT_EXPECT_EQ(test, error_code(f, &f->server), 0);
}

static struct kunit_case errors_tests[] = {
	KUNIT_CASE_PARAM(errors_sent, refused_gen_params),
	KUNIT_CASE_PARAM(errors_in_replies, refused_gen_params),
	KUNIT_CASE_PARAM(errors_received, status_gen_params),
	KUNIT_CASE(errors_broken_sequence),
	{}
};

static struct kunit_suite errors_suite = {
	.name		= "rpcrdma_engine_errors",
	.init		= open_init,
	.test_cases	= errors_tests,
};

/* ---- Planning ---- */

struct call_case {
	const char *name;
	u32 length, item, reply_max, result;
	u32 reassembly;			/* limit of both ends */
	int ret;
	u8 format, read_item, write_chunk, reply_chunk;
};

static const struct call_case call_cases[] = {
	{ "inline", 4056, 0, 4056, 0, 262144, 0, RPCRDMA_INLINE },
	{ "continued", 4057, 0, 4057, 0, 262144, 0, RPCRDMA_CONTINUED },
	{ "special", 4057, 0, 4057, 0, 0, 0, RPCRDMA_SPECIAL, 0, 0, 1 },
	{ "small item", 4056, 2000, 100, 0, 262144, 0, RPCRDMA_INLINE },
	{ "item", 66000, 65536, 100, 0, 262144, 0, RPCRDMA_INLINE, 1 },
	{ "item, continued", 80000, 65536, 100, 0, 262144, 0,
	  RPCRDMA_CONTINUED, 1 },
	{ "item, special", 80000, 65536, 100, 0, 0, 0, RPCRDMA_SPECIAL, 1 },
	{ "small result", 100, 0, 4056, 2000, 262144, 0, RPCRDMA_INLINE },
	{ "result", 100, 0, 66000, 65536, 262144, 0, RPCRDMA_INLINE, 0, 1 },
	{ "result and more", 100, 0, 80000, 65536, 0, 0, RPCRDMA_INLINE, 0,
	  1, 1 },
	{ "reassembly", 262144, 0, 262144, 0, 262144, 0, RPCRDMA_CONTINUED },
	{ "beyond reassembly", 262145, 0, 262145, 0, 262144, 0,
	  RPCRDMA_SPECIAL, 0, 0, 1 },
};

static void call_desc(const struct call_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(call, call_cases, call_desc);

static void planning_calls(struct kunit *test)
{
	const struct call_case *c = test->param_value;
	struct fixture *f = test->priv;
	struct rpcrdma_call call = {
		.xid = XID,
		.length = c->length,
		.item_position = c->item ? 100 : 0,
		.item_length = c->item,
		.reply_max = c->reply_max,
		.result_max = c->result,
		.call_segs = 2,
		.item_segs = 2,
		.reply_segs = 2,
		.result_segs = 2,
		.ddp = 1,
	};
	struct rpcrdma_call_plan plan;

	f->client.conn.cfg.props.reassembly = c->reassembly;
	f->client.conn.peer.reassembly = c->reassembly;
	KUNIT_ASSERT_EQ(test, rpcrdma_plan_call(&f->client.conn, &call, &plan),
			c->ret);
	if (c->ret)
		return;
	KUNIT_EXPECT_EQ(test, plan.format, c->format);
	KUNIT_EXPECT_EQ(test, plan.read_item, c->read_item);
	KUNIT_EXPECT_EQ(test, plan.write_chunk, c->write_chunk);
	KUNIT_EXPECT_EQ(test, plan.reply_chunk, c->reply_chunk);
	KUNIT_EXPECT_EQ(test, plan.inline_length,
			c->format == RPCRDMA_SPECIAL ? 0 :
			c->length - (c->read_item ? c->item : 0));
}

struct reply_case {
	const char *name;
	u32 length, item;
	u32 write, reply;		/* bytes of the chunk provided; 0: no chunk */
	u32 error, arg0;
	u8 format;
	u32 inline_length, reply_length;
};

static const struct reply_case reply_cases[] = {
	{ "inline", 4056, 0, 0, 0, 0, 0, RPCRDMA_INLINE, 4056, 0 },
	{ "continued", 4057, 0, 0, 0, 0, 0, RPCRDMA_CONTINUED, 4057, 0 },
	{ "unused Reply chunk", 100, 0, 0, 8000, 0, 0, RPCRDMA_INLINE, 100 },
	{ "Reply chunk", 8000, 0, 0, 8000, 0, 0, RPCRDMA_SPECIAL, 0, 8000 },
	{ "small Reply chunk", 8001, 0, 0, 8000, 0, 0, RPCRDMA_CONTINUED,
	  8001, 0 },
	{ "Write chunk", 8100, 8000, 8000, 0, 0, 0, RPCRDMA_INLINE, 100, 0 },
	{ "unused Write chunk", 100, 0, 8000, 0, 0, 0, RPCRDMA_INLINE, 100 },
	{ "small Write chunk", 8104, 8004, 8000, 0, 0, 0, RPCRDMA_CONTINUED,
	  8104, 0 },
	{ "no way", 262145, 0, 0, 8000, RDMA2_ERR_REPLY_RESOURCE, 262145 },
};

static void reply_desc(const struct reply_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}
KUNIT_ARRAY_PARAM(reply, reply_cases, reply_desc);

static void planning_replies(struct kunit *test)
{
	const struct reply_case *c = test->param_value;
	struct fixture *f = test->priv;
	struct end *e = &f->server;
	struct rpcrdma_placed placed;

	rpcrdma_lists_init(&e->lists);
	e->lists.inv_handle = 0xa00;
	if (c->write) {
		rpcrdma_lists_add_write(&e->lists);
		add_segments(&e->lists, 2, c->write / 2);
	}
	if (c->reply) {
		rpcrdma_lists_add_reply(&e->lists);
		add_segments(&e->lists, 2, c->reply / 2);
	}
	e->reply.xid = XID;
	e->reply.length = c->length;
	if (c->item) {
		e->reply.nr_items = 1;
		e->reply.items[0].position = 60;
		e->reply.items[0].length = c->item;
	}
	rpcrdma_plan_reply(&e->conn, &e->lists, &e->reply, &e->plan);
	KUNIT_ASSERT_EQ(test, e->plan.error, c->error);
	if (c->error) {
		KUNIT_EXPECT_EQ(test, e->plan.arg[0], c->arg0);
		return;
	}
	KUNIT_EXPECT_EQ(test, e->plan.format, c->format);
	KUNIT_EXPECT_EQ(test, e->plan.inline_length, c->inline_length);
	KUNIT_EXPECT_EQ(test, e->plan.reply_length, c->reply_length);
	KUNIT_EXPECT_EQ(test, e->plan.inv_handle, 0xa00);
	KUNIT_EXPECT_EQ(test, e->plan.lists.has_reply, !!c->reply_length);

	/* The Requester accepts the Reply and computes the same lengths. */
	memset(&f->client.rx, 0, sizeof(f->client.rx));
	f->client.rx.format = e->plan.format;
	f->client.rx.lists = e->plan.lists;
	KUNIT_ASSERT_EQ(test, rpcrdma_check_reply(&f->client.conn, &e->lists,
						  &f->client.rx, &placed), 0);
	KUNIT_EXPECT_EQ(test, placed.write_octets,
			c->item <= c->write ? c->item : 0);
	KUNIT_EXPECT_EQ(test, placed.reply_octets, c->reply_length);
}

/* Continued messages of every length are reassembled completely. */
static void planning_parts(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 length;

	for (length = 4057; length < 12300; length += 81) {
		u32 left = length, header;
		struct rpcrdma_part part;

		do {
			part = rpcrdma_next_part(&f->client.conn, NULL, left);
			KUNIT_ASSERT_LE(test, part.octets, left);
			header = rpcrdma_encode_header(
				&f->client.conn, f->buf, sizeof(f->buf), XID,
				RDMA2_MSG, part.more ? RDMA2_F_MORE : 0, NULL);
			KUNIT_ASSERT_LE(test, header + part.octets, sizeof(f->buf));
			rpcrdma_conn_stamp(&f->client.conn, RPCRDMA_KIND_CALL,
					   f->buf);
			put_unaligned_be32(XID, f->buf + header);
			put_unaligned_be32(RPC_CALL, f->buf + header + 4);
			KUNIT_ASSERT_EQ(test,
				rpcrdma_conn_receive(&f->server.conn, f->buf,
						     header + part.octets,
						     &f->server.rx),
				part.more ? RPCRDMA_RX_PART : RPCRDMA_RX_CALL);
			rpcrdma_conn_posted(&f->server.conn, 1);
			deliver_control(test, f, &f->server, &f->client);
			left -= part.octets;
			KUNIT_ASSERT_EQ(test, f->server.rx.total_length,
					length - left);
		} while (part.more);
		KUNIT_ASSERT_EQ(test, left, 0);
		KUNIT_ASSERT_EQ(test, f->server.rx.format, RPCRDMA_CONTINUED);
	}
}

static struct kunit_case planning_tests[] = {
	KUNIT_CASE_PARAM(planning_calls, call_gen_params),
	KUNIT_CASE_PARAM(planning_replies, reply_gen_params),
	KUNIT_CASE(planning_parts),
	{}
};

static struct kunit_suite planning_suite = {
	.name		= "rpcrdma_engine_planning",
	.init		= open_init,
	.test_cases	= planning_tests,
};

kunit_test_suites(&codec_suite, &credits_suite, &opening_suite, &errors_suite,
		  &planning_suite);

MODULE_DESCRIPTION("KUnit suites of the RPC-over-RDMA protocol engine");
MODULE_LICENSE("GPL");
