// SPDX-License-Identifier: GPL-2.0
/*
 * The Requester: request slots, and sending Calls.
 *
 * Ownership of a slot: sunrpc sends an rpc_rqst only while it holds the transport's
 * write lock and has pinned the rpc_rqst. It encodes or releases it only when it is not
 * pinned, and finds it by its xid until then. The sender therefore owns a slot until
 * the endpoint has accepted the Call. From then on the first Reply or ERROR for it owns
 * it, by pinning the rpc_rqst and claiming its exchange, until it unpins it
 * (requester_reply.c). If none arrives, or the connection is lost meanwhile, sunrpc
 * owns the slot again, and sends the Call once more or releases it.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/auth.h>
#include <linux/sunrpc/sched.h>

#include "internal.h"
#include "requester.h"

enum {
	/* Initial size of an RPC buffer, in bytes */
	RPCRDMA_BUFFER = 2048,
	/* Slots allocated from the start; the others are allocated on demand */
	RPCRDMA_FIRST_SLOTS = 8,
};

/* ---- Request slots ---- */

static void rpcrdma_req_destroy(struct rpcrdma_req *req)
{
	WARN_ON_ONCE(!list_empty(&req->mrs));
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
	INIT_LIST_HEAD(&req->mrs);
	req->send_buf = kmalloc(RPCRDMA_BUFFER, gfp);
	req->recv_buf = kmalloc(RPCRDMA_BUFFER, gfp);
	if (!req->send_buf || !req->recv_buf) {
		rpcrdma_req_destroy(req);
		return NULL;
	}
	req->send_size = RPCRDMA_BUFFER;
	req->recv_size = RPCRDMA_BUFFER;
	req->stats = stats;
	req->inv.done = rpcrdma_requester_inv_done;
	INIT_LIST_HEAD(&req->all);
	return req;
}

void rpcrdma_req_put_mrs(struct rpcrdma_req *req)
{
	struct rpcrdma_ep *ep = req->ep;

	if (!ep)
		return;
	req->ep = NULL;
	rpcrdma_mrs_put(ep, &req->mrs);
	rpcrdma_ep_put(ep);
}

static noinline void rpcrdma_req_take_back(struct rpcrdma_req *req)
{
	struct rpcrdma_ep *ep = req->ep;

	req->ep = NULL;
	rpcrdma_mrs_release_sync(ep, &req->mrs);
	rpcrdma_ep_put(ep);
}

/* Release the MRs, exposed or not. Sleeps until the peer cannot access them. */
static __always_inline void rpcrdma_req_release_mrs(struct rpcrdma_req *req)
{
	if (unlikely(req->ep))
		rpcrdma_req_take_back(req);
}

/*
 * Clean up after an RPC whose rpc_rqst is in no queue and not pinned. No peer can
 * access its memory afterwards. Sleeps, at most until the end of a connection's
 * teardown; not from an endpoint's upcall.
 */
static void rpcrdma_req_reset(struct rpcrdma_req *req)
{
	WARN_ON_ONCE(!rpcrdma_exchange_release(&req->x));
	rpcrdma_req_release_mrs(req);
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

/**
 * rpcrdma_requester_init - initialize an rpc_xprt's request slots
 * @r: allocated by xprt_alloc(), which has set max_reqs
 *
 * Sleeps.
 * Return: 0 or -ENOMEM; call rpcrdma_requester_free() also after an error.
 */
int rpcrdma_requester_init(struct rpcrdma_requester *r)
{
	struct rpc_xprt *xprt = &r->xprt;
	struct rpcrdma_req *req;
	unsigned int i;

	INIT_LIST_HEAD(&r->reqs);
	spin_lock_init(&r->lessons_lock);
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

/**
 * rpcrdma_requester_free - free an rpc_xprt and its request slots
 * @r: no RPC uses it
 */
void rpcrdma_requester_free(struct rpcrdma_requester *r)
{
	struct rpcrdma_req *req, *next;

	list_for_each_entry_safe(req, next, &r->reqs, all)
		rpcrdma_req_destroy(req);
	xprt_free(&r->xprt);
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

/**
 * rpcrdma_requester_alloc_slot - assign a slot to a task, or put it on the backlog
 * @xprt: transport
 * @task: @task->tk_status is set to 0 or -EAGAIN
 */
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

/**
 * rpcrdma_requester_free_slot - release the slot of a task
 * @xprt: transport
 * @rqst: the slot's rpc_rqst
 *
 * An RPC that had buffers, without which nothing is sent, has released them before.
 */
void rpcrdma_requester_free_slot(struct rpc_xprt *xprt, struct rpc_rqst *rqst)
{
	size_t octets = sizeof(*rqst);

	/*
	 * Otherwise a compiler clears it a word at a time: see rpcrdma_xdr_copy_pages()
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

/**
 * rpcrdma_requester_buf_alloc - provide the buffers for an RPC
 * @task: with a slot
 *
 * Return: 0, or -ENOMEM: retry later.
 */
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

/**
 * rpcrdma_requester_buf_free - release the buffers of an RPC that has ended
 * @task: with a slot
 *
 * The RPC may have ended in any way, for example by a signal. Its pages return to their
 * owner after this, so the peer must not access them any more.
 */
void rpcrdma_requester_buf_free(struct rpc_task *task)
{
	rpcrdma_req_reset(rpcrdma_rqst_req(task->tk_rqstp));
}

/* ---- Sending ---- */

/*
 * Allocate missing pages of a Reply: some callers leave this to the transport. The
 * pages must exist before the peer gets their handles.
 */
static int rpcrdma_fill_sparse_pages(struct xdr_buf *buf)
{
	u32 base = offset_in_page(buf->page_base);
	struct page **pages = buf->pages + (buf->page_base >> PAGE_SHIFT);
	u32 i, nr = DIV_ROUND_UP(base + buf->page_len, PAGE_SIZE);

	if (!buf->page_len)
		return 0;
	for (i = 0; i < nr; i++) {
		if (pages[i])
			continue;
		pages[i] = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!pages[i])
			return -ENOBUFS;
	}
	return 0;
}

static u32 rpcrdma_xdr_room(const struct xdr_buf *buf)
{
	return buf->head[0].iov_len + buf->page_len + buf->tail[0].iov_len;
}

/* Count the segments for @len bytes of @buf: for all of them, and for its page data. */
static void rpcrdma_req_count(const struct rpcrdma_cut *cut,
			      const struct xdr_buf *buf, u32 len,
			      u16 *all_segs, u16 *page_segs)
{
	const struct kvec *head = &buf->head[0], *tail = &buf->tail[0];
	u32 head_len = min_t(u32, head->iov_len, len);
	u32 page_len = min_t(u32, buf->page_len, len - head_len);
	u32 segs;

	segs = rpcrdma_region_count(cut, offset_in_page(buf->page_base),
				    page_len);
	*page_segs = segs;
	segs += rpcrdma_region_count(cut, offset_in_page(head->iov_base),
				     head_len);
	segs += rpcrdma_region_count(cut, offset_in_page(tail->iov_base),
				     len - head_len - page_len);
	*all_segs = segs;
}

void rpcrdma_req_call(const struct rpcrdma_req *req,
		      const struct rpcrdma_ep *ep, struct rpcrdma_call *call)
{
	const struct rpc_rqst *rqst = &req->rqst;
	const struct xdr_buf *snd = &rqst->rq_snd_buf;
	const struct xdr_buf *rcv = &rqst->rq_rcv_buf;
	struct rpcrdma_requester *r = rpcrdma_xprt_requester(rqst->rq_xprt);
	struct rpcrdma_cut cut = rpcrdma_mrs_cut(ep);

	memset(call, 0, sizeof(*call));
	call->xid = be32_to_cpu(rqst->rq_xid);
	call->length = snd->len;
	call->reply_max = rpcrdma_xdr_room(rcv);
	call->reverse = rqst->rq_xprt->bc_xprt != NULL;
	call->recovery = req->x.recovery;
	/* Integrity and privacy require the complete messages (11.2.2). */
	call->ddp = rqst->rq_cred &&
		    !test_bit(RPCAUTH_AUTH_DATATOUCH,
			      &rqst->rq_cred->cr_auth->au_flags);
	if (call->ddp && (snd->flags & XDRBUF_WRITE)) {
		call->item_position = snd->head[0].iov_len;
		call->item_length = snd->page_len;
	}
	/*
	 * sunrpc provides an upper bound for the size of a Reply. Only for file data is
	 * the Reply likely to be of that size: lists, ACLs and links seldom are.
	 */
	call->bulk = !!(rcv->flags & XDRBUF_READ);
	if (call->ddp && call->bulk)
		call->result_max = rcv->page_len;
	rpcrdma_req_count(&cut, snd, snd->len, &call->call_segs,
			  &call->item_segs);
	rpcrdma_req_count(&cut, rcv, call->reply_max, &call->reply_segs,
			  &call->result_segs);

	if (likely(!rpcrdma_lessons_any(&r->lessons)))
		return;
	spin_lock(&r->lessons_lock);
	rpcrdma_lessons_recall(&r->lessons, ktime_get_seconds(), call);
	spin_unlock(&r->lessons_lock);
}

/* Map a range of @buf into the last chunk. */
static __always_inline int
rpcrdma_req_map_range(struct rpcrdma_req *req, struct rpcrdma_ep *ep,
		      const struct xdr_buf *buf,
		      const struct rpcrdma_offer *offer)
{
	struct rpcrdma_extent ext[RPCRDMA_XDR_EXTENTS] __uninitialized;
	int n;

	n = rpcrdma_xdr_extents(buf, offer->from, offer->length, ext,
				ARRAY_SIZE(ext));
	if (n < 0)
		return n;
	return rpcrdma_mrs_map(ep, &req->mrs, ext, n, offer->written,
			       &req->x.lists);
}

/* Map the chunks of @plan: the engine decides which memory they consist of. */
static noinline int rpcrdma_req_map(struct rpcrdma_req *req,
				    struct rpcrdma_ep *ep,
				    const struct rpcrdma_call_plan *plan)
{
	const struct xdr_buf *snd = &req->rqst.rq_snd_buf;
	const struct xdr_buf *rcv = &req->rqst.rq_rcv_buf;
	struct rpcrdma_offers at __uninitialized;
	struct rpcrdma_offer offer __uninitialized;
	int rc;

	if (!req->ep) {
		rpcrdma_ep_get(ep);
		req->ep = ep;
	}
	at.plan = plan;
	rpcrdma_xdr_layout(snd, &at.call);
	rpcrdma_xdr_layout(rcv, &at.reply);
	at.left = 0;
	while ((rc = rpcrdma_offer_next(&at, &req->x.lists, &offer)) > 0) {
		rc = rpcrdma_req_map_range(req, ep, offer.written ? rcv : snd,
					   &offer);
		if (rc)
			break;
	}
	return rc;
}

/*
 * Copy the Payload stream that is sent inline to @to, which has space for
 * @plan->inline_length bytes.
 */
static __always_inline void
rpcrdma_requester_copy(const struct rpc_rqst *rqst,
		       const struct rpcrdma_call_plan *plan, void *to)
{
	const struct xdr_buf *snd = &rqst->rq_snd_buf;

	if (likely(plan->inline_length == snd->len))
		rpcrdma_xdr_copy_out(snd, 0, snd->len, to);
	else
		rpcrdma_xdr_copy_reduced(snd, snd->head[0].iov_len,
					 plan->inline_length, to);
}

/* Write header and inline payload to @s. Return 0 or a negative errno. */
static __always_inline int
rpcrdma_requester_fill(struct rpcrdma_send *s, struct rpc_rqst *rqst,
		       const struct rpcrdma_call_plan *plan,
		       const struct rpcrdma_lists *lists)
{
	int rc;

	rc = rpcrdma_send_begin(s, RPCRDMA_KIND_CALL, plan->format,
				be32_to_cpu(rqst->rq_xid), plan->inline_length,
				lists, RPCRDMA_GFP_CLIENT);
	if (likely(!rc && plan->format != RPCRDMA_SPECIAL))
		rpcrdma_requester_copy(rqst, plan, s->buf + s->header_len);
	return rc;
}

/* Update the counters for a Call that has been sent. */
static __always_inline void
rpcrdma_req_account(struct rpcrdma_req *req,
		    const struct rpcrdma_call_plan *plan)
{
	struct rpcrdma_requester_stats *stats = req->stats;
	const struct rpcrdma_lists *lists = &req->x.lists;

	if (plan->format == RPCRDMA_SPECIAL)
		stats->nomsg_calls++;
	else if (!plan->read_item)
		stats->send_copied += req->rqst.rq_snd_buf.page_len;
	if (likely(!rpcrdma_plan_has_chunks(plan)))
		return;
	stats->read_chunks += lists->nr_reads;
	if (lists->nr_writes) {
		stats->write_chunks++;
		stats->offered_octets += lists->writes[0].length;
	}
	if (lists->has_reply) {
		stats->reply_chunks++;
		stats->offered_octets += lists->reply.length;
	}
}

/*
 * Encode the Call: one message, or *@stream for a continued one, each of whose messages
 * gets a Send context of its own when it is sent. @lists: NULL for none.
 * Return: 0 or a negative errno.
 */
static __always_inline int
rpcrdma_requester_build(struct rpcrdma_send *send, struct rpc_rqst *rqst,
			const struct rpcrdma_call_plan *plan,
			const struct rpcrdma_lists *lists,
			struct rpcrdma_stream **stream)
{
	if (likely(plan->format != RPCRDMA_CONTINUED))
		return rpcrdma_requester_fill(send, rqst, plan, lists);
	*stream = rpcrdma_stream_alloc(RPCRDMA_KIND_CALL,
				       be32_to_cpu(rqst->rq_xid),
				       plan->inline_length, lists,
				       RPCRDMA_GFP_CLIENT);
	if (!*stream)
		return -ENOMEM;
	rpcrdma_requester_copy(rqst, plan, (*stream)->data);
	return 0;
}

/*
 * Build and send a Call in @send. If the endpoint accepts it, a Reply may complete the
 * RPC before this returns; the rpc_rqst remains, because it is pinned. Inlined where
 * the plan is known, so that most of the code is eliminated.
 */
static __always_inline int rpcrdma_req_post(struct rpcrdma_ep *ep,
					    struct rpcrdma_req *req,
					    const struct rpcrdma_call_plan *plan,
					    struct rpcrdma_send *send)
{
	bool chunks = rpcrdma_plan_has_chunks(plan);
	const struct rpcrdma_lists *lists = chunks ? &req->x.lists : NULL;
	struct list_head *mrs = chunks ? &req->mrs : NULL;
	struct rpcrdma_stream *stream = NULL;
	int rc = 0;

	rpcrdma_lists_init(&req->x.lists);
	if (chunks)
		rc = rpcrdma_req_map(req, ep, plan);
	if (likely(!rc))
		rc = rpcrdma_requester_build(send, &req->rqst, plan, lists,
					     &stream);
	if (unlikely(rc))
		goto out_discard;

	if (stream)
		rc = rpcrdma_send_continued_call(ep, stream, mrs, &req->x);
	else
		rc = rpcrdma_send_call(send, mrs, plan->format, lists, &req->x);
	if (likely(!rc)) {
		rpcrdma_req_account(req, plan);
		return 0;
	}

out_discard:
	rpcrdma_stream_free(stream);
	if (chunks)
		rpcrdma_req_put_mrs(req);
	return rc;
}

/* Send a Call that may need chunks, or more than one message. */
static noinline int rpcrdma_req_post_planned(struct rpcrdma_ep *ep,
					     struct rpcrdma_req *req,
					     struct rpcrdma_send *send)
{
	struct rpcrdma_call call __uninitialized;
	struct rpcrdma_call_plan plan;
	int rc;

	rpcrdma_req_call(req, ep, &call);
	rpcrdma_call_regions(&call, &ep->regions);
	rc = rpcrdma_plan_call(&ep->core.conn, &call, &plan);
	if (unlikely(rc == -ENOBUFS)) {
		rpcrdma_ep_close(ep, "the device has too few memory regions for a Call");
		return -ENOTCONN;
	}
	if (rc)
		return rc;
	/* Map nothing for a Call that cannot be sent now. */
	if (rpcrdma_plan_has_chunks(&plan) &&
	    unlikely(rpcrdma_sq_somebody_waits(&ep->core.sq)) &&
	    !rpcrdma_ep_may_call(ep))
		return -EAGAIN;
	rc = rpcrdma_req_post(ep, req, &plan, send);
	if (likely(rc != -ENOMEM || plan.format != RPCRDMA_CONTINUED))
		return rc;
	/*
	 * The copy of a continued message may need memory that is only freed after this
	 * Call has been sent. A Read chunk needs none.
	 */
	call.no_parts = true;
	if (rpcrdma_plan_call(&ep->core.conn, &call, &plan))
		return rc;
	return rpcrdma_req_post(ep, req, &plan, send);
}

/* Try to send once. On -EAGAIN write_space() will be called. */
static __always_inline int rpcrdma_requester_try(struct rpcrdma_requester *r,
						 struct rpcrdma_ep *ep,
						 struct rpcrdma_req *req)
{
	struct rpc_rqst *rqst = &req->rqst;
	struct rpcrdma_call_plan plan;
	struct rpcrdma_send *send;

	send = rpcrdma_send_for_call(ep);
	if (unlikely(!send))
		return -EAGAIN;
	rqst->rq_xtime = ktime_get();
	if (likely(rpcrdma_plan_plain(&ep->core.conn, &req->x.recovery, &r->lessons,
				      rqst->rq_snd_buf.len,
				      rpcrdma_xdr_room(&rqst->rq_rcv_buf),
				      &plan)))
		return rpcrdma_req_post(ep, req, &plan, send);
	return rpcrdma_req_post_planned(ep, req, send);
}

/*
 * Retry after sunrpc has registered as a waiter: the missing resource may have become
 * available before that.
 */
static noinline int rpcrdma_requester_try_again(struct rpcrdma_requester *r,
						struct rpcrdma_ep *ep,
						struct rpcrdma_req *req)
{
	int rc;

	xprt_wait_for_buffer_space(&r->xprt);
	/* Order the registration before the retry; write_space() does the reverse. */
	smp_mb__after_atomic();
	rc = rpcrdma_requester_try(r, ep, req);
	/*
	 * A connection that is gone has notified its waiters, possibly before sunrpc
	 * was registered.
	 */
	if (rc == -EAGAIN && !rpcrdma_ep_is_open(ep))
		rc = -ENOTCONN;
	if (rc != -EAGAIN)
		xprt_write_space(&r->xprt);
	else
		req->stats->no_send_space++;
	return rc;
}

/**
 * rpcrdma_requester_send - send a Call
 * @xprt: its transport; the caller has the write lock
 * @ep: the connection, with a reference
 * @rqst: the encoded Call, pinned
 *
 * Context: process context, may sleep.
 * Return: see requester.h.
 */
int rpcrdma_requester_send(struct rpc_xprt *xprt, struct rpcrdma_ep *ep,
			   struct rpc_rqst *rqst)
{
	struct rpcrdma_requester *r = rpcrdma_xprt_requester(xprt);
	struct rpcrdma_req *req = rpcrdma_rqst_req(rqst);
	int rc;

	if (!rpcrdma_ep_is_open(ep))
		return -ENOTCONN;

	if (unlikely(rpcrdma_exchange_lost_in_parts(&req->x, &ep->core.conn))) {
		spin_lock(&r->lessons_lock);
		rpcrdma_lessons_lost(&r->lessons, ktime_get_seconds());
		spin_unlock(&r->lessons_lock);
	}
	rc = rpcrdma_exchange_begin(&req->x, &ep->core.conn);
	if (rc)
		return rc;
	/* Left over from a connection that is gone */
	rpcrdma_req_release_mrs(req);

	if (unlikely(rqst->rq_rcv_buf.flags & XDRBUF_SPARSE_PAGES)) {
		rc = rpcrdma_fill_sparse_pages(&rqst->rq_rcv_buf);
		if (rc)
			return rc;
	}

	rc = rpcrdma_requester_try(r, ep, req);
	if (unlikely(rc == -EAGAIN))
		rc = rpcrdma_requester_try_again(r, ep, req);
	if (likely(!rc)) {
		rqst->rq_xmit_bytes_sent += rqst->rq_snd_buf.len;
	} else if (rpcrdma_remedy_for(RPCRDMA_FAILED_SEND, rc).kind ==
		   RPCRDMA_REMEDY_GIVE_UP) {
		req->stats->failed_sends++;
		pr_warn_ratelimited("rpcrdma: a Call of %u octets to %pISpc cannot be sent (error %d), its RPC fails; a smaller rsize or wsize may help\n",
				    rqst->rq_snd_buf.len, &ep->remote, rc);
		/*
		 * A returned errno would be reported to the task that is sending, which
		 * need not be the task of this RPC.
		 */
		spin_lock(&xprt->queue_lock);
		rpcrdma_rqst_fail(rqst, rc);
		spin_unlock(&xprt->queue_lock);
		return 0;
	}
	return rc == -ENOMEM ? -ENOBUFS : rc;
}
