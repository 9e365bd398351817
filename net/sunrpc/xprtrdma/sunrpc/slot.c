// SPDX-License-Identifier: GPL-2.0
/*
 * The Requester's request slots, and what sending and receiving have in common.
 *
 * Operation
 *
 * A slot is an rpc_rqst with its buffers, its RPC transaction, and the MRs of its Call.
 * The transport allocates a few slots at setup, and more when tasks need them, up to
 * max_reqs. If there is none, the task waits in the backlog. The slot used last is used
 * next, because it is warm in the cache.
 *
 * Memory
 *
 * sunrpc sends an rpc_rqst only while it holds the transport's write lock and has
 * pinned the rpc_rqst. Before sunrpc encodes or releases an rpc_rqst, it removes it
 * from the queue in which the xid is looked up, and waits until the rpc_rqst is not
 * pinned. The sender therefore owns a slot until the endpoint has accepted the Call.
 * Then the context that receives the first Reply or ERROR for the Call owns the slot:
 * it pins the rpc_rqst, claims the transaction, and unpins the rpc_rqst at the end
 * (requester_reply.c). If no answer arrives, or the connection is lost meanwhile,
 * sunrpc owns the slot again, and sends the Call once more or releases it.
 *
 * Buffers grow to the largest RPC of their slot and are kept. MRs belong to the
 * connection in req->ep. Those of an RPC without a Reply are taken back by buf_free(),
 * before sunrpc frees the pages that they expose, or by the sender, before it sends the
 * Call again. Slots are freed with the transport.
 *
 * Errors
 *
 * If memory for a slot is short, the task waits for an existing one. If memory for a
 * buffer is short, sunrpc retries after a delay. An RPC that has to fail is ended by
 * rpcrdma_rqst_fail(), in the form that each release of sunrpc obeys.
 *
 * Locking
 *
 * reserve_lock protects the lists and counts of slots. queue_lock protects the status of
 * an RPC, as sunrpc requires. The MRs and the transaction belong to the slot's owner.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/auth.h>
#include <linux/sunrpc/sched.h>

#include "../compat.h"
#include "internal.h"
#include "requester.h"

enum {
	/* Initial size of an RPC buffer, in bytes */
	RPCRDMA_BUFFER = 2048,
	/* Slots allocated from the start; the others are allocated on demand */
	RPCRDMA_FIRST_SLOTS = 8,
};

struct workqueue_struct *rpcrdma_xprt_wq;

/* Time until an RPC without Reply is sent again */
static const struct rpc_timeout rpcrdma_xprt_timeout = {
	.to_initval	= 60 * HZ,
	.to_maxval	= 60 * HZ,
};

static void rpcrdma_req_destroy(struct rpcrdma_req *req)
{
	WARN_ON_ONCE(!list_empty(&req->rpc.mrs));
	kfree(req->send_buf);
	kfree(req->recv_buf);
	kfree(req);
}

/* Allocate a slot. Return NULL if out of memory. */
static struct rpcrdma_req *
rpcrdma_req_create(struct rpcrdma_requester_stats *stats, gfp_t gfp)
{
	struct rpcrdma_req *req;

	req = kzalloc(sizeof(*req), gfp);
	if (!req)
		return NULL;
	INIT_LIST_HEAD(&req->rpc.mrs);
	req->rpc.inv.work.chain = &req->chain;
	req->send_buf = kmalloc(RPCRDMA_BUFFER, gfp);
	req->recv_buf = kmalloc(RPCRDMA_BUFFER, gfp);
	if (!req->send_buf || !req->recv_buf) {
		rpcrdma_req_destroy(req);
		return NULL;
	}
	req->send_size = RPCRDMA_BUFFER;
	req->recv_size = RPCRDMA_BUFFER;
	req->stats = stats;
	INIT_LIST_HEAD(&req->all);
	return req;
}

noinline void rpcrdma_req_take_back(struct rpcrdma_req *req)
{
	struct rpcrdma_ep *ep = req->ep;

	req->ep = NULL;
	rpcrdma_mrs_release_sync(ep, &req->rpc.mrs);
	rpcrdma_ep_put(ep);
}

/* Allocate a slot, which xprt->num_reqs already counts. */
static struct rpcrdma_req *
rpcrdma_requester_add_slot(struct rpcrdma_requester *r, gfp_t gfp)
{
	struct rpc_xprt *xprt = &r->xprt;
	struct rpcrdma_req *req;

	req = rpcrdma_req_create(&r->stats, gfp);
	spin_lock(&xprt->reserve_lock);
	if (req)
		list_add(&req->all, &r->reqs);
	else
		xprt->num_reqs--;
	spin_unlock(&xprt->reserve_lock);
	return req;
}

/*
 * Add a slot to the free list. The slot used last is used next, because it is warm in
 * the cache, and idle slots stay idle. Caller holds reserve_lock, or has exclusive
 * access.
 */
static void rpcrdma_requester_put_slot(struct rpcrdma_requester *r,
				       struct rpcrdma_req *req)
{
	req->next_free = r->free;
	r->free = req;
}

/* Return a free slot, or NULL if there is none. Caller holds reserve_lock. */
static struct rpcrdma_req *
rpcrdma_requester_take_slot(struct rpcrdma_requester *r)
{
	struct rpcrdma_req *req = r->free;

	if (likely(req))
		r->free = req->next_free;
	return req;
}

static int rpcrdma_requester_init(struct rpcrdma_requester *r)
{
	struct rpc_xprt *xprt = &r->xprt;
	struct rpcrdma_req *req;
	unsigned int i;

	INIT_LIST_HEAD(&r->reqs);
	spin_lock_init(&r->learned_lock);
	xprt->min_reqs = min_t(unsigned int, xprt->max_reqs,
			       RPCRDMA_FIRST_SLOTS);
	for (i = 0; i < xprt->min_reqs; i++) {
		xprt->num_reqs++;
		req = rpcrdma_requester_add_slot(r, GFP_KERNEL);
		if (!req)
			return -ENOMEM;
		rpcrdma_requester_put_slot(r, req);
	}
	xprt->stat.max_slots = xprt->num_reqs;
	return 0;
}

void rpcrdma_requester_free(struct rpcrdma_requester *r)
{
	struct rpcrdma_req *req, *next;

	list_for_each_entry_safe(req, next, &r->reqs, all)
		rpcrdma_req_destroy(req);
	rpcrdma_xprt_free_addresses(&r->xprt);
	xprt_free(&r->xprt);
	module_put(THIS_MODULE);
}

struct rpc_xprt *rpcrdma_requester_create(const struct xprt_create *args,
					  size_t size, unsigned int slots,
					  struct xprt_class *class,
					  const struct rpc_xprt_ops *ops,
					  work_func_t destroy)
{
	struct rpcrdma_requester *r;
	struct rpc_xprt *xprt;
	int rc;

	if (args->addrlen > sizeof(xprt->addr))
		return ERR_PTR(-EBADF);
	if (!try_module_get(THIS_MODULE))
		return ERR_PTR(-EIO);
	xprt = xprt_alloc(args->net, size, 0, slots);
	if (!xprt) {
		module_put(THIS_MODULE);
		return ERR_PTR(-ENOMEM);
	}
	xprt->ops = ops;
	rpcrdma_xprt_set_class(xprt, class);
	xprt->timeout = &rpcrdma_xprt_timeout;
	xprt->addrlen = args->addrlen;
	memcpy(&xprt->addr, args->dstaddr, args->addrlen);
	r = rpcrdma_xprt_requester(xprt);
	INIT_WORK(&r->destroy_work, destroy);
	rc = rpcrdma_requester_init(r);
	if (!rc)
		rc = rpcrdma_xprt_format_addresses(xprt);
	if (!rc)
		return xprt;
	rpcrdma_requester_free(r);
	return ERR_PTR(rc);
}

void rpcrdma_requester_destroy(struct rpc_xprt *xprt)
{
	queue_work(rpcrdma_xprt_wq, &rpcrdma_xprt_requester(xprt)->destroy_work);
}

/* Allocate another slot. Called with reserve_lock held; releases and retakes it. */
static noinline struct rpcrdma_req *
rpcrdma_requester_more_slots(struct rpcrdma_requester *r)
{
	struct rpc_xprt *xprt = &r->xprt;
	struct rpcrdma_req *req;

	xprt->num_reqs++;
	spin_unlock(&xprt->reserve_lock);
	req = rpcrdma_requester_add_slot(r, rpc_task_gfp_mask());
	spin_lock(&xprt->reserve_lock);
	/* If memory is short, use an existing slot. */
	if (!req)
		return rpcrdma_requester_take_slot(r);
	xprt->stat.max_slots = max_t(unsigned long, xprt->stat.max_slots,
				     xprt->num_reqs);
	return req;
}

void rpcrdma_requester_alloc_slot(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct rpcrdma_requester *r = rpcrdma_xprt_requester(xprt);
	struct rpcrdma_req *req;

	spin_lock(&xprt->reserve_lock);
	req = rpcrdma_requester_take_slot(r);
	if (unlikely(!req && xprt->num_reqs < xprt->max_reqs))
		req = rpcrdma_requester_more_slots(r);
	if (likely(req)) {
		task->tk_rqstp = &req->rqst;
		task->tk_status = 0;
	} else {
		xprt_add_backlog(xprt, task);
		task->tk_status = -EAGAIN;
	}
	spin_unlock(&xprt->reserve_lock);
}

/* An RPC that was sent had buffers, and has released them before. */
void rpcrdma_requester_free_slot(struct rpc_xprt *xprt, struct rpc_rqst *rqst)
{
	size_t octets = sizeof(*rqst);

	/*
	 * Hide the size, otherwise a compiler clears the slot a word at a time: see
	 * rpcrdma_xdr_copy_pages().
	 */
	OPTIMIZER_HIDE_VAR(octets);
	WARN_ON_ONCE(rpcrdma_rqst_req(rqst)->ep);
	memset(rqst, 0, octets);

	spin_lock(&xprt->reserve_lock);
	/*
	 * If the bit is clear there is no waiter: see xprt_add_backlog(), and
	 * reserve_lock.
	 */
	if (likely(!test_bit(XPRT_CONGESTED, &xprt->state)) ||
	    !xprt_wake_up_backlog(xprt, rqst))
		rpcrdma_requester_put_slot(rpcrdma_xprt_requester(xprt),
					   rpcrdma_rqst_req(rqst));
	spin_unlock(&xprt->reserve_lock);
}

static bool rpcrdma_req_grow(struct rpcrdma_req *req, void **buf, size_t *size,
			     size_t want, gfp_t gfp)
{
	struct rpc_xprt *xprt = req->rqst.rq_xprt;
	void *grown;

	if (want <= *size)
		return true;
	want = roundup_pow_of_two(want);
	grown = kmalloc(want, gfp);
	if (!grown)
		return false;
	kfree(*buf);
	*buf = grown;
	*size = want;
	spin_lock(&xprt->reserve_lock);
	req->stats->buffer_octets += want;
	spin_unlock(&xprt->reserve_lock);
	return true;
}

/* Return 0, or -ENOMEM: retry later. */
int rpcrdma_requester_buf_alloc(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	struct rpcrdma_req *req = rpcrdma_rqst_req(rqst);
	gfp_t gfp;

	if (unlikely(rqst->rq_callsize > req->send_size ||
		     rqst->rq_rcvsize > req->recv_size)) {
		gfp = rpc_task_gfp_mask() | __GFP_NOWARN;
		if (!rpcrdma_req_grow(req, &req->send_buf, &req->send_size,
				      rqst->rq_callsize, gfp) ||
		    !rpcrdma_req_grow(req, &req->recv_buf, &req->recv_size,
				      rqst->rq_rcvsize, gfp))
			return -ENOMEM;
	}
	rqst->rq_buffer = req->send_buf;
	rqst->rq_rbuffer = req->recv_buf;
	return 0;
}

/*
 * The RPC may have ended in any way, for example by a signal. Its rpc_rqst is in no queue
 * and not pinned. Its pages return to their owner after this, so the peer must not access
 * them any more. Sleeps, at most until the end of a connection's teardown.
 */
void rpcrdma_requester_buf_free(struct rpc_task *task)
{
	struct rpcrdma_req *req = rpcrdma_rqst_req(task->tk_rqstp);

	WARN_ON_ONCE(!rpcrdma_xact_release(&req->rpc.x));
	if (unlikely(req->ep))
		rpcrdma_req_take_back(req);
}

/* ---- The RPC of a slot ---- */

/* Count the segments for the page data of @buf. */
static u32 rpcrdma_req_count_pages(const struct rpcrdma_mr_limits *limits,
				   const struct xdr_buf *buf)
{
	return rpcrdma_mr_count(limits, offset_in_page(buf->page_base),
				buf->page_len);
}

/* Count the segments for @len bytes of @buf, of which @pages are for all page data. */
static u32 rpcrdma_req_count(const struct rpcrdma_mr_limits *limits,
			     const struct xdr_buf *buf, u32 len, u32 pages)
{
	const struct kvec *head = &buf->head[0], *tail = &buf->tail[0];
	u32 head_len = min_t(u32, head->iov_len, len);
	u32 page_len = min_t(u32, buf->page_len, len - head_len);

	return pages +
	       rpcrdma_mr_count(limits, offset_in_page(head->iov_base),
				head_len) +
	       rpcrdma_mr_count(limits, offset_in_page(tail->iov_base),
				len - head_len - page_len);
}

void rpcrdma_req_call_data(const struct rpcrdma_req *req,
			   const struct rpcrdma_ep *ep,
			   struct rpcrdma_call *call)
{
	const struct rpc_rqst *rqst = &req->rqst;
	const struct xdr_buf *snd = &rqst->rq_snd_buf;
	const struct xdr_buf *rcv = &rqst->rq_rcv_buf;
	struct rpcrdma_requester *r = rpcrdma_xprt_requester(rqst->rq_xprt);
	struct rpcrdma_mr_limits limits = rpcrdma_mrs_limits(ep);
	bool ddp = rpcrdma_req_may_reduce(req);
	bool item = ddp && (snd->flags & XDRBUF_WRITE);
	/*
	 * sunrpc provides an upper bound for the size of a Reply. Only for file data is
	 * the Reply likely to be of that size: lists, ACLs and links seldom are.
	 */
	bool bulk = rcv->flags & XDRBUF_READ;

	*call = (struct rpcrdma_call){
		.xid		= be32_to_cpu(rqst->rq_xid),
		.length		= snd->len,
		.item_position	= item ? snd->head[0].iov_len : 0,
		.item_length	= item ? snd->page_len : 0,
		.reply_max	= rpcrdma_xdr_room(rcv),
		.result_max	= ddp && bulk ? rcv->page_len : 0,
		.item_segs	= rpcrdma_req_count_pages(&limits, snd),
		.result_segs	= rpcrdma_req_count_pages(&limits, rcv),
		.reverse	= rqst->rq_xprt->bc_xprt != NULL,
		.ddp		= ddp,
		.bulk		= bulk,
		.retry_limits	= req->rpc.x.retry_limits,
	};
	call->call_segs = rpcrdma_req_count(&limits, snd, call->length,
					    call->item_segs);
	call->reply_segs = rpcrdma_req_count(&limits, rcv, call->reply_max,
					     call->result_segs);
	rpcrdma_call_limit_mrs(call, &ep->core.mrs.pool);

	if (likely(!rpcrdma_peer_limits_any(&r->learned)))
		return;
	spin_lock(&r->learned_lock);
	rpcrdma_peer_limits_recall(&r->learned, ktime_get_seconds(), call);
	spin_unlock(&r->learned_lock);
}

/*
 * Wake a task that sleeps in xprt->pending, with a status, like the function of sunrpc
 * that is not exported by all kernels. The status of a task that does not sleep must
 * not be changed: the task may be exiting, and report that status. Caller holds
 * queue_lock.
 */
void rpcrdma_wake_with_status(struct rpc_xprt *xprt, struct rpc_task *task,
			      int status)
{
	struct rpc_wait_queue *queue = &xprt->pending;

	lockdep_assert_held(&xprt->queue_lock);
	spin_lock(&queue->lock);
	if (RPC_IS_QUEUED(task) && task->tk_waitqueue == queue)
		task->tk_status = status;
	spin_unlock(&queue->lock);
	rpc_wake_up_queued_task(queue, task);
}

/*
 * End an RPC that has no Reply. sunrpc ends a task with a tk_rpc_status before its next
 * action, as after a signal; only the first status counts. Older releases, such as 5.10,
 * do not look at it: there the status is the one that the task is woken with, or finds
 * before it sleeps. The RPC is still in the queue for Replies, like one that is sent
 * again. sunrpc removes it with the task's slot.
 */
void rpcrdma_rqst_fail(struct rpc_rqst *rqst, int status)
{
	struct rpc_task *task = rqst->rq_task;

	lockdep_assert_held(&rqst->rq_xprt->queue_lock);
	cmpxchg(&task->tk_rpc_status, 0, status);
	rpcrdma_xact_end(&rpcrdma_rqst_req(rqst)->rpc.x, status);
	rpcrdma_wake_with_status(rqst->rq_xprt, task, status);
}
