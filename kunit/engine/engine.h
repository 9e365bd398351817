/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol engine inside the kernel. The host tests are more thorough. These suites
 * show that the engine behaves the same when Kbuild has compiled it: codec, credits,
 * opening, errors and plans. Each message is in memory of exactly its size, so that
 * KASAN detects accesses beyond it.
 */
#ifndef RPCRDMA_KUNIT_ENGINE_H
#define RPCRDMA_KUNIT_ENGINE_H

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/string.h>

#include <rpcrdma/engine.h>

#include "../../net/sunrpc/xprtrdma/compat.h"

#define XID		0x12345678
#define HEADER		40		/* bytes, without chunks */
#define ERROR_LEN	28		/* bytes, without error data */

/* A message under construction */
struct msg {
	u32	len;
	u8	data[2048];
};

static inline void word(struct msg *m, u32 value)
{
	put_unaligned_be32(value, m->data + m->len);
	m->len += 4;
}

static inline u32 get(const struct msg *m, u32 offset)
{
	return get_unaligned_be32(m->data + offset);
}

static inline void prefix(struct msg *m, u32 xid, u32 htype, u32 flags, u32 credit,
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

static inline void no_lists(struct msg *m)
{
	int i;

	for (i = 0; i < 4; i++)
		word(m, 0);
}

static inline void segment(struct msg *m, u32 handle, u32 length)
{
	word(m, handle);
	word(m, length);
	word(m, 0x100);
	word(m, 0x200);
}

static inline void rpc(struct msg *m, u32 xid, u32 direction, u32 octets)
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

/* ---- fixture.c ---- */

void usual_config(struct rpcrdma_conn_config *cfg, bool client);
/*
 * Receive @m at @e, from memory of exactly the message's size. Repost the Receive
 * unless @hold.
 */
enum rpcrdma_verdict feed(struct kunit *test, struct end *e, const struct msg *m,
			  bool hold);
/* Build the next control message of @e. Return its length, or 0 if none is due. */
u32 control(struct end *e, struct msg *m);
/* Return the code of the ERROR that @e sends next, or 0 if it sends none. */
u32 error_code(struct fixture *f, struct end *e);
/* Deliver all control messages that @from may send to @to. */
void deliver_control(struct kunit *test, struct fixture *f, struct end *from,
		     struct end *to);
void add_segments(struct rpcrdma_lists *lists, u32 segs, u32 length);
int fixture_init(struct kunit *test);
/* Set up the fixture, and exchange the opening messages. */
int open_init(struct kunit *test);

#endif /* RPCRDMA_KUNIT_ENGINE_H */
