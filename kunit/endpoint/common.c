// SPDX-License-Identifier: GPL-2.0
/* Helpers of the endpoint's suites: callers, and the operations they run */
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "endpoint.h"

/* Maximum bytes exposed at a time */
enum { PULL_OCTETS = 3 << 20 };

int loop_an_rpc(struct loop_side *side, u32 arg_len, u32 res_len,
		u32 base, u32 chop, u32 inline_arg, u32 inline_res)
{
	struct loop_buf arg = {}, res = {};
	struct loop_rpc *rpc;
	int rc = -ENOMEM;

	rpc = kzalloc(sizeof(*rpc), GFP_KERNEL);
	if (!rpc)
		return rc;
	if (arg_len && loop_buf_alloc_chopped(&arg, base, arg_len, chop))
		goto out_free;
	if (res_len && loop_buf_alloc_chopped(&res, base, res_len, chop))
		goto out_free;
	loop_rpc_init(rpc, arg_len ? &arg : NULL, res_len ? &res : NULL);
	rpc->seed = get_random_u32();
	rpc->inline_arg = inline_arg;
	rpc->inline_res = inline_res;
	if (arg_len)
		loop_buf_fill(&arg, rpc->seed);
	rc = loop_rpc_do(side, rpc);
	/* loop_rpc_do() does not end the RPC if it fails, for example without a Reply. */
	if (rc)
		loop_rpc_end(side, rpc);
out_free:
	loop_buf_free(&res);
	loop_buf_free(&arg);
	kfree(rpc);
	return rc;
}

int loop_one_rpc(struct loop_side *side, u32 arg_len, u32 res_len,
		 u32 base, u32 chop)
{
	return loop_an_rpc(side, arg_len, res_len, base, chop, 0, 0);
}

static int loop_caller_fn(void *data)
{
	struct loop_caller *c = data;
	u32 arg, res, base, inline_arg, inline_res;
	unsigned int i;
	int rc;

	for (i = 0; i < c->count; i++) {
		arg = res = base = inline_arg = inline_res = 0;
		if (c->max_len) {
			if (i & 1)
				arg = 1 + get_random_u32() % c->max_len;
			if (i & 2)
				res = 1 + get_random_u32() % c->max_len;
			base = get_random_u32() %
			       (c->chop == PAGE_SIZE ? PAGE_SIZE :
						       PAGE_SIZE - c->chop);
		}
		if (c->max_inline) {
			if (i % 3)
				inline_arg = get_random_u32() % c->max_inline;
			if (i % 3 == 2)
				inline_res = get_random_u32() % c->max_inline;
		}
		rc = loop_an_rpc(c->side, arg, res, base, c->chop, inline_arg,
				 inline_res);
		if (!rc) {
			c->ok++;
			continue;
		}
		c->failed++;
		if (rc == -ENOTCONN)
			break;
	}
	kthread_complete_and_exit(&c->done, 0);
}

void loop_caller_start(struct kunit *test, struct loop_caller *c,
		       struct loop_side *side, unsigned int count,
		       u32 max_len)
{
	c->side = side;
	c->count = count;
	c->max_len = max_len;
	if (!c->chop)
		c->chop = PAGE_SIZE;
	init_completion(&c->done);
	c->task = kthread_run(loop_caller_fn, c, "loop_caller");
	KUNIT_ASSERT_FALSE(test, IS_ERR(c->task));
}

void loop_caller_wait(struct kunit *test, struct loop_caller *c)
{
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&c->done,
							    170 * HZ));
	if (c->may_fail)
		return;
	KUNIT_EXPECT_EQ(test, c->failed, 0U);
	KUNIT_EXPECT_EQ(test, c->ok, c->count);
}

struct loop_pair *loop_open(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	bool opened;

	KUNIT_ASSERT_EQ(test, loop_connect(pair), 0);
	/* With version 1, a server opens with the first Call. */
	if (pair->client.ep->core.conn.version == RPCRDMA_VERS_1)
		return pair;
	opened = loop_wait_until(&pair->server,
				 atomic_read(&pair->server.opened));
	KUNIT_ASSERT_TRUE(test, opened);
	return pair;
}

struct loop_rpc *loop_rpcs(struct kunit *test, unsigned int n)
{
	struct loop_rpc *rpcs = kunit_kcalloc(test, n, sizeof(*rpcs),
					      GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rpcs);
	for (i = 0; i < n; i++)
		loop_rpc_init(&rpcs[i], NULL, NULL);
	return rpcs;
}

u32 loop_fill_window(struct loop_side *side, struct loop_rpc *rpcs,
		     u32 n)
{
	u32 sent = 0;

	while (sent < n && !loop_rpc_try(side, &rpcs[sent]))
		sent++;
	return sent;
}

bool loop_replies_wait(struct rpcrdma_ep *ep)
{
	bool wait;

	spin_lock(&ep->lock);
	wait = !list_empty(&ep->core.messages);
	spin_unlock(&ep->lock);
	return wait;
}

void loop_traffic(struct kunit *test, struct loop_pair *pair,
		  unsigned int callers, unsigned int count, u32 max_len,
		  u32 chop, u32 max_inline, bool reverse)
{
	struct loop_caller *c;
	unsigned int i;

	c = kunit_kcalloc(test, callers, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	for (i = 0; i < callers; i++) {
		c[i].chop = chop;
		c[i].max_inline = max_inline;
		loop_caller_start(test, &c[i], reverse && i & 1 ?
				  &pair->server : &pair->client, count,
				  max_len);
	}
	for (i = 0; i < callers; i++)
		loop_caller_wait(test, &c[i]);
	loop_check_idle(test, &pair->client);
	loop_check_idle(test, &pair->server);
}

struct loop_intrusion {
	struct completion	done;
	bool			ok;
};

static void loop_intruded(struct rpcrdma_rw *rw, bool ok)
{
	struct loop_intrusion *i = rw->priv;

	i->ok = ok;
	complete(&i->done);
}

void loop_intrude(struct kunit *test, struct loop_side *side,
		  const struct rpcrdma_lists *lists,
		  const struct rpcrdma_chunk *chunk,
		  enum dma_data_direction dir)
{
	struct loop_intrusion intr = {
		.done = COMPLETION_INITIALIZER_ONSTACK(intr.done),
		.ok = true,
	};
	struct rpcrdma_rw *rw;
	struct loop_buf buf;

	KUNIT_ASSERT_EQ(test, loop_buf_alloc(&buf, 0, chunk->length), 0);
	rw = rpcrdma_rw_alloc(side->ep, dir, 4, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rw);
	KUNIT_EXPECT_EQ(test, rpcrdma_rw_add(rw, lists, chunk, 0, buf.ext,
					     buf.nr_ext, 0, chunk->length), 0);
	rw->priv = &intr;
	rw->done = loop_intruded;
	rpcrdma_rw_read(rw);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&intr.done,
							    60 * HZ));
	KUNIT_EXPECT_FALSE(test, intr.ok);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(side));
	loop_buf_free(&buf);
}

void loop_pull_params(struct loop_pair *pair)
{
	pair->client_params.pull = true;
	pair->client_params.reassembly = 0;
	pair->server_params.expose_octets = PULL_OCTETS;
	/* Long enough not to expire, except in tests of this time limit */
	pair->server_params.done_ms = 60000;
}

struct loop_pair *loop_open_pull(struct kunit *test)
{
	struct loop_pair *pair = test->priv;

	loop_pull_params(pair);
	return loop_open(test);
}

int loop_remove_fn(void *data)
{
	struct loop_removal *r = data;

	/* "rdma link delete" calls this. */
	ib_unregister_device_and_put(r->dev);
	kthread_complete_and_exit(&r->done, 0);
}

struct ib_device *loop_get_device(const struct ib_device *device)
{
	struct ib_device *dev = NULL;
	struct net_device *ndev;

	rtnl_lock();
	for_each_netdev(&init_net, ndev) {
		dev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
		if (dev == device)
			break;
		if (dev)
			ib_device_put(dev);
		dev = NULL;
	}
	rtnl_unlock();
	return dev;
}
