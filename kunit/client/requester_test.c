// SPDX-License-Identifier: GPL-2.0
/* Tests of the Requester: the chunks of a Call, and the memory they describe */

#include <linux/module.h>
#include <linux/workqueue.h>
#include <linux/sunrpc/xprt.h>

#include "../lib/loopback.h"

/*
 * Count misuse if an RPC is completed without being pinned. Without the pin, its task
 * can continue without the queue lock, and release the rpc_rqst.
 */
static void loop_complete_rqst(struct rpc_task *task, int octets)
{
	lockdep_assert_held(&task->tk_rqstp->rq_xprt->queue_lock);
	if (!atomic_read(&task->tk_rqstp->rq_pin))
		atomic_inc(&loop_misuse);
	xprt_complete_rqst(task, octets);
}

unsigned int loop_no_streams;

#define rpcrdma_stream_alloc(...)					\
	(loop_no_streams ? (loop_no_streams--, NULL) :			\
	 (rpcrdma_stream_alloc)(__VA_ARGS__))

#define xprt_complete_rqst(task, octets)	loop_complete_rqst(task, octets)

bool loop_bc_put_outside;

/*
 * Record whether the module reference is put outside of any work item. A work item of
 * the module's own workqueue has returned before the module is unloaded; other contexts
 * may still execute code of the module.
 */
static void loop_module_put(struct module *module)
{
	loop_bc_put_outside = !current_work();
	module_put(module);
}

#define module_put(module)	loop_module_put(module)

#include "../../net/sunrpc/xprtrdma/sunrpc/requester_show.c"
#include "../../net/sunrpc/xprtrdma/sunrpc/slot.c"
#include "../../net/sunrpc/xprtrdma/sunrpc/requester.c"
#include "../../net/sunrpc/xprtrdma/sunrpc/requester_reply.c"

enum {
	REQ_PAGES = 4,
	REQ_BASE = 100,		/* offset of the page data in its first page */
	REQ_HEAD = 128,
	REQ_TAIL = 40,		/* bytes of the tail, without the argument's roundup */
	REQ_LIMIT = 4096,	/* the pair's inline thresholds */
};

struct req_fixture {
	struct loop_pair		*pair;
	struct rpcrdma_ep		*ep;
	struct rpcrdma_requester	requester;
	struct rpcrdma_requester_stats	stats;
	struct rpcrdma_req		*req;
	struct rpc_auth			auth;
	struct rpc_cred			cred;
	struct page			*pages[REQ_PAGES];
	u8				tail[64];
	struct rpcrdma_call_plan	plan;
};

/*
 * Set up @buf with @len bytes of page data, and a tail that begins with @pad bytes of
 * roundup.
 */
static void req_buf(struct req_fixture *f, struct xdr_buf *buf, void *head,
		    u32 len, u32 pad)
{
	memset(buf, 0, sizeof(*buf));
	buf->head[0].iov_base = head;
	buf->head[0].iov_len = REQ_HEAD;
	buf->pages = f->pages;
	buf->page_base = REQ_BASE;
	buf->page_len = len;
	buf->tail[0].iov_base = f->tail + 4 - pad;
	buf->tail[0].iov_len = pad + REQ_TAIL;
	buf->len = REQ_HEAD + len + pad + REQ_TAIL;
	buf->buflen = buf->len;
}

/* Let the engine plan the RPC's Call. Return 0 or a negative errno. */
static int req_plan(struct req_fixture *f)
{
	struct rpcrdma_call call;

	rpcrdma_req_call_data(f->req, f->ep, &call);
	return rpcrdma_plan_call(&f->ep->core.conn, &call, &f->plan);
}

static struct req_fixture *req_open(struct kunit *test)
{
	struct loop_pair *pair = test->priv;
	struct req_fixture *f;
	int i;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->pair = pair;
	KUNIT_ASSERT_EQ(test, loop_connect(pair), 0);
	f->ep = pair->client.ep;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_limits(&f->ep->core.conn).send_inline,
			(u32)REQ_LIMIT);
	f->req = rpcrdma_req_create(&f->stats, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->req);
	spin_lock_init(&f->requester.learned_lock);
	f->req->rqst.rq_xprt = &f->requester.xprt;
	for (i = 0; i < REQ_PAGES; i++) {
		f->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		KUNIT_ASSERT_NOT_NULL(test, f->pages[i]);
	}
	f->cred.cr_auth = &f->auth;
	f->req->rqst.rq_cred = &f->cred;
	return f;
}

static void req_close(struct req_fixture *f)
{
	int i;

	rpcrdma_port_rpc_put_mrs(&f->ep->core, &f->req->rpc);
	rpcrdma_req_destroy(f->req);
	for (i = 0; i < REQ_PAGES; i++)
		__free_page(f->pages[i]);
}

/* Set up both buffers of an RPC. Its argument and result have @len bytes each. */
static void req_set(struct req_fixture *f, u32 len)
{
	struct rpc_rqst *rqst = &f->req->rqst;

	req_buf(f, &rqst->rq_snd_buf, f->req->send_buf, len,
		xdr_pad_size(len));
	/* Provide space for a result's roundup in the tail, too. */
	req_buf(f, &rqst->rq_rcv_buf, f->req->recv_buf, len, 0);
	rqst->rq_rcv_buf.len = 0;
}

static int req_map(struct kunit *test, struct req_fixture *f)
{
	unsigned long end = jiffies + 60 * HZ;
	int rc;

	/* MRs are added to the pool in the background. */
	for (;;) {
		rpcrdma_port_rpc_put_mrs(&f->ep->core, &f->req->rpc);
		rpcrdma_lists_init(&f->req->rpc.x.lists);
		rc = rpcrdma_port_call_map(&f->ep->core, &f->req->rpc,
					   &f->plan);
		if (rc != -EAGAIN || time_after(jiffies, end))
			break;
		schedule_timeout_uninterruptible(1);
	}
	KUNIT_ASSERT_EQ(test, rc, 0);
	return rc;
}

/* Lengths with all remainders modulo four */
static const u32 req_lengths[] = { 8000, 8001, 8002, 8003, 1, 12345 };

/* 4.3.5: the chunk has the position and length of the argument, without its roundup. */
static void requester_read_chunk(struct kunit *test)
{
	struct req_fixture *f = req_open(test);
	const struct rpcrdma_lists *lists = &f->req->rpc.x.lists;
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(req_lengths); i++) {
		len = req_lengths[i];
		req_set(f, len);
		f->plan = (struct rpcrdma_call_plan){
			.format = RPCRDMA_INLINE, .read_item = 1,
		};
		req_map(test, f);
		KUNIT_EXPECT_EQ(test, lists->nr_reads, 1);
		KUNIT_EXPECT_EQ(test, lists->reads[0].position, (u32)REQ_HEAD);
		KUNIT_EXPECT_EQ(test, lists->reads[0].length, len);
		KUNIT_EXPECT_EQ(test, lists->nr_writes, 0);
		KUNIT_EXPECT_EQ(test, lists->has_reply, 0);
	}
	req_close(f);
}

/* 4.4.3: the Payload stream is in a Position Zero chunk, reduced or not. */
static void requester_special(struct kunit *test)
{
	struct req_fixture *f = req_open(test);
	const struct rpcrdma_lists *lists = &f->req->rpc.x.lists;
	u32 i, j, len;

	for (i = 0; i < ARRAY_SIZE(req_lengths); i++) {
		len = req_lengths[i];
		req_set(f, len);
		f->plan = (struct rpcrdma_call_plan){
			.format = RPCRDMA_SPECIAL,
		};
		req_map(test, f);
		KUNIT_ASSERT_EQ(test, lists->nr_reads, 1);
		KUNIT_EXPECT_EQ(test, lists->reads[0].position, 0U);
		/* The chunk includes all roundup. */
		KUNIT_EXPECT_EQ(test, lists->reads[0].length,
				REQ_HEAD + ALIGN(len, 4) + REQ_TAIL);

		f->plan.read_item = 1;
		req_map(test, f);
		KUNIT_ASSERT_EQ(test, lists->nr_reads, 2);
		KUNIT_EXPECT_EQ(test, lists->reads[0].position, 0U);
		KUNIT_EXPECT_EQ(test, lists->reads[0].length,
				(u32)REQ_HEAD + REQ_TAIL);
		KUNIT_EXPECT_EQ(test, lists->reads[1].position, (u32)REQ_HEAD);
		KUNIT_EXPECT_EQ(test, lists->reads[1].length, len);
		/* One of the handles is provided for Remote Invalidation (6.2.4). */
		for (j = 0; j < lists->nr_segs; j++)
			if (lists->segs[j].handle == lists->inv_handle)
				break;
		KUNIT_EXPECT_LT(test, j, (u32)lists->nr_segs);
	}
	req_close(f);
}

/* 4.3.6: the chunk has the maximum length of the result, without roundup. */
static void requester_write_chunk(struct kunit *test)
{
	struct req_fixture *f = req_open(test);
	const struct rpcrdma_lists *lists = &f->req->rpc.x.lists;
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(req_lengths); i++) {
		len = req_lengths[i];
		req_set(f, len);
		f->plan = (struct rpcrdma_call_plan){
			.format = RPCRDMA_INLINE, .write_chunk = 1,
		};
		req_map(test, f);
		KUNIT_ASSERT_EQ(test, lists->nr_writes, 1);
		KUNIT_EXPECT_EQ(test, lists->writes[0].length, len);
		KUNIT_EXPECT_EQ(test, lists->nr_reads, 0);
		KUNIT_EXPECT_EQ(test, lists->has_reply, 0);

		/* The Reply chunk has the rest of the memory, or all of it. */
		f->plan.reply_chunk = 1;
		req_map(test, f);
		KUNIT_ASSERT_EQ(test, lists->nr_writes, 1);
		KUNIT_EXPECT_EQ(test, lists->writes[0].length, len);
		KUNIT_EXPECT_EQ(test, lists->reply.length,
				(u32)REQ_HEAD + REQ_TAIL);
		f->plan.write_chunk = 0;
		req_map(test, f);
		KUNIT_EXPECT_EQ(test, lists->nr_writes, 0);
		KUNIT_EXPECT_EQ(test, lists->reply.length,
				REQ_HEAD + len + REQ_TAIL);
	}
	req_close(f);
}

/*
 * 4.3.2, 11.2.2: only data items that the upper layer has marked are reduced, and none
 * with GSS integrity or privacy.
 */
static void requester_reduces(struct kunit *test)
{
	struct req_fixture *f = req_open(test);
	struct rpc_rqst *rqst = &f->req->rqst;
	u32 marks;

	for (marks = 0; marks < 8; marks++) {
		bool arg = marks & 1, res = marks & 2, touch = marks & 4;

		req_set(f, 9000);
		rqst->rq_snd_buf.flags = arg ? XDRBUF_WRITE : 0;
		rqst->rq_rcv_buf.flags = res ? XDRBUF_READ : 0;
		f->auth.au_flags = touch ? BIT(RPCAUTH_AUTH_DATATOUCH) : 0;
		KUNIT_ASSERT_EQ(test, 0, req_plan(f));
		KUNIT_EXPECT_EQ(test, !!f->plan.read_item, arg && !touch);
		KUNIT_EXPECT_EQ(test, !!f->plan.write_chunk, res && !touch);
		/* An RPC without credentials is never reduced. */
		rqst->rq_cred = NULL;
		KUNIT_ASSERT_EQ(test, 0, req_plan(f));
		KUNIT_EXPECT_FALSE(test, f->plan.read_item);
		KUNIT_EXPECT_FALSE(test, f->plan.write_chunk);
		rqst->rq_cred = &f->cred;
	}
	req_close(f);
}

/* 4.3.4: the message contains exactly the bytes that are not in the chunk. */
static void requester_payload(struct kunit *test)
{
	struct req_fixture *f = req_open(test);
	struct xdr_buf *snd = &f->req->rqst.rq_snd_buf;
	u8 *out = kunit_kzalloc(test, REQ_LIMIT, GFP_KERNEL);
	u32 i, j, len;

	KUNIT_ASSERT_NOT_NULL(test, out);
	for (i = 0; i < ARRAY_SIZE(req_lengths); i++) {
		len = req_lengths[i];
		req_set(f, len);
		snd->flags = XDRBUF_WRITE;
		for (j = 0; j < REQ_HEAD; j++)
			((u8 *)snd->head[0].iov_base)[j] = 1 + j % 100;
		memset(f->tail, 0, 4);
		memset(f->tail + 4, 0xaa, REQ_TAIL);
		KUNIT_ASSERT_EQ(test, 0, req_plan(f));
		KUNIT_EXPECT_EQ(test, !!f->plan.read_item, len > REQ_LIMIT);
		if (!f->plan.read_item)
			continue;
		KUNIT_ASSERT_EQ(test, f->plan.inline_length,
				(u32)REQ_HEAD + REQ_TAIL);
		rpcrdma_xdr_copy_call(&f->req->rqst.rq_snd_buf, &f->plan, out);
		KUNIT_EXPECT_EQ(test, 0, memcmp(out, snd->head[0].iov_base,
						REQ_HEAD));
		KUNIT_EXPECT_EQ(test, 0, memcmp(out + REQ_HEAD, f->tail + 4,
						REQ_TAIL));
	}
	req_close(f);
}

/* Set up a task for the RPC of @f, and a wait queue, which the caller destroys. */
static struct rpc_task *req_task(struct kunit *test, struct req_fixture *f)
{
	struct rpc_xprt *xprt = &f->requester.xprt;
	struct rpc_task *task;

	task = kunit_kzalloc(test, sizeof(*task), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, task);
	spin_lock_init(&xprt->queue_lock);
	rpc_init_wait_queue(&xprt->pending, "loop_pending");
	task->tk_rqstp = &f->req->rqst;
	f->req->rqst.rq_task = task;
	return task;
}

/*
 * A Call that can never be sent completes its own RPC with an error. The return value
 * of rpcrdma_requester_send() does not do that, because it goes to the sending task,
 * and this may be the task of another RPC.
 */
static void requester_never(struct kunit *test)
{
	struct req_fixture *f = req_open(test);
	struct rpc_xprt *xprt = &f->requester.xprt;
	struct rpc_rqst *rqst = &f->req->rqst;
	struct rpcrdma_props *peer = &f->ep->core.conn.peer;
	struct rpc_task *task = req_task(test, f);

	req_set(f, 12345);
	/* The peer supports neither chunks nor continued messages. */
	peer->rcsiz = 0;
	peer->reassembly = 0;
	/* Pin the RPC, as xprt_transmit() does. */
	xprt_pin_rqst(rqst);
	KUNIT_EXPECT_EQ(test, rpcrdma_requester_send(xprt, f->ep, rqst), 0);
	xprt_unpin_rqst(rqst);
	KUNIT_EXPECT_EQ(test, task->tk_rpc_status, -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, f->stats.failed_sends, 1UL);
	/* The task is about to wait for the Reply. */
	spin_lock(&xprt->queue_lock);
	rpcrdma_requester_wait_for_reply(task);
	spin_unlock(&xprt->queue_lock);
	KUNIT_EXPECT_FALSE(test, RPC_IS_QUEUED(task));
	KUNIT_EXPECT_EQ(test, task->tk_status, -EMSGSIZE);
	KUNIT_EXPECT_TRUE(test, rpcrdma_ep_is_open(f->ep));
	rpc_destroy_wait_queue(&xprt->pending);
	req_close(f);
}

/* The caller of a task that exits meanwhile gets the status of that task. */
static void requester_exiting(struct kunit *test)
{
	struct req_fixture *f = req_open(test);
	struct rpc_xprt *xprt = &f->requester.xprt;
	struct rpc_rqst *rqst = &f->req->rqst;
	struct rpc_task *task = req_task(test, f);

	task->tk_rpc_status = -EIO;
	task->tk_status = -EIO;

	xprt_pin_rqst(rqst);
	rpcrdma_port_rpc_again(&f->req->rpc);
	KUNIT_EXPECT_EQ(test, task->tk_status, -EIO);
	xprt_pin_rqst(rqst);
	spin_lock(&xprt->queue_lock);
	rpcrdma_rqst_fail(rqst, -EREMOTEIO);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
	KUNIT_EXPECT_EQ(test, task->tk_status, -EIO);
	KUNIT_EXPECT_EQ(test, task->tk_rpc_status, -EIO);
	rpc_destroy_wait_queue(&xprt->pending);
	req_close(f);
}

/*
 * A task that sleeps is woken with the errno of its RPC, because some kernels do not read
 * tk_rpc_status.
 */
static void requester_asleep(struct kunit *test)
{
	struct req_fixture *f = req_open(test);
	struct rpc_xprt *xprt = &f->requester.xprt;
	struct rpc_rqst *rqst = &f->req->rqst;
	struct rpc_task *task = req_task(test, f);

	set_bit(RPC_TASK_ACTIVE, &task->tk_runstate);
	rpc_sleep_on(&xprt->pending, task, NULL);
	KUNIT_ASSERT_TRUE(test, RPC_IS_QUEUED(task));
	xprt_pin_rqst(rqst);
	spin_lock(&xprt->queue_lock);
	rpcrdma_rqst_fail(rqst, -EREMOTEIO);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
	KUNIT_EXPECT_FALSE(test, RPC_IS_QUEUED(task));
	KUNIT_EXPECT_EQ(test, task->tk_status, -EREMOTEIO);
	rpc_destroy_wait_queue(&xprt->pending);
	req_close(f);
}

static struct kunit_case requester_cases[] = {
	KUNIT_CASE(requester_read_chunk),
	KUNIT_CASE(requester_special),
	KUNIT_CASE(requester_write_chunk),
	KUNIT_CASE(requester_reduces),
	KUNIT_CASE(requester_payload),
	KUNIT_CASE(requester_never),
	KUNIT_CASE(requester_exiting),
	KUNIT_CASE(requester_asleep),
	{}
};

static struct kunit_suite requester_suite = {
	.name		= "rpcrdma_requester",
	.suite_init	= loop_suite_init,
	.suite_exit	= loop_suite_exit,
	.init		= loop_test_init,
	.exit		= loop_test_exit,
	.test_cases	= requester_cases,
};

kunit_test_suite(requester_suite);
