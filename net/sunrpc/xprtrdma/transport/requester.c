// SPDX-License-Identifier: GPL-2.0
/*
 * The Requester: Calls out, Replies in.
 *
 * Who may touch a slot: sunrpc sends an rpc_rqst only while it holds the
 * transport's write lock and has it pinned, encodes or releases it only when
 * it is not pinned, and finds it by its xid until then. So the sender owns a
 * slot until the endpoint has taken the Call; from then on the first Reply or
 * ERROR for it does, by pinning the rpc_rqst and claiming its exchange, until it
 * unpins. When none comes, or the connection is lost meanwhile, the slot is
 * sunrpc's again, which sends the Call once more or releases it.
 *
 * What is to be done with a Reply, and when an RPC may end, the engine says: see
 * struct rpcrdma_step, and rpcrdma_req_carry_out() here.
 *
 * The task of a Call that is refused in a way that leaves another form for it
 * is told to try again, as after a connection that was lost. sunrpc encodes the
 * Call once more, with the same xid: so one that was executed passes for a new
 * one with RPCSEC_GSS, and it waits for window, memory or its end as any does.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/auth.h>
#include <linux/sunrpc/msg_prot.h>
#include <linux/sunrpc/sched.h>

#include "requester.h"

enum {
	/* No header without chunks takes more, nor one with an unused chunk */
	RPCRDMA_HEADER_ROOM = 128,
	/* ... nor one that offers chunks for the Reply */
	RPCRDMA_OFFER_ROOM = RPCRDMA_HEADER_ROOM + 16 * RPCRDMA_MAX_SEGS,
	/* Octets of an RPC buffer to begin with */
	RPCRDMA_BUFFER = 2048,
	/* Slots that are there from the start; the others when needed */
	RPCRDMA_FIRST_SLOTS = 8,
};

/* ---- Request slots ---- */

static void rpcrdma_requester_inv_done(struct rpcrdma_inv *inv, bool ok);

static void rpcrdma_req_destroy(struct rpcrdma_req *req)
{
	WARN_ON_ONCE(!list_empty(&req->mrs));
	kfree(req->send_buf);
	kfree(req->recv_buf);
	kfree(req);
}

/* A new slot, or NULL */
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
	mutex_init(&req->lock);
	INIT_LIST_HEAD(&req->all);
	return req;
}

/* None of the regions is exposed, or they never were. */
static void rpcrdma_req_put_mrs(struct rpcrdma_req *req)
{
	struct rpcrdma_ep *ep = req->ep;

	if (!ep)
		return;
	req->ep = NULL;
	rpcrdma_mrs_put(ep, &req->mrs);
	rpcrdma_ep_put(ep);
}

/* Whether they are or not. Sleeps, until the peer cannot reach them. */
static void rpcrdma_req_release_mrs(struct rpcrdma_req *req)
{
	struct rpcrdma_ep *ep = req->ep;

	if (!ep)
		return;
	req->ep = NULL;
	rpcrdma_mrs_release_sync(ep, &req->mrs);
	rpcrdma_ep_put(ep);
}

/*
 * End what an RPC left behind, whose rpc_rqst is in no queue and not pinned:
 * afterwards no peer reaches its memory. Sleeps, at most until the end of a
 * connection's teardown; not from an endpoint's upcall.
 */
static void rpcrdma_req_reset(struct rpcrdma_req *req)
{
	WARN_ON_ONCE(!rpcrdma_exchange_release(&req->x));
	rpcrdma_req_release_mrs(req);
}

/* Make a slot. xprt->num_reqs counts it already. */
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

/**
 * rpcrdma_requester_init - prepare an rpc_xprt's request slots
 * @r: made by xprt_alloc(), which has set max_reqs
 *
 * Sleeps. Returns 0 or -ENOMEM; then, too, rpcrdma_requester_free() it.
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
		list_add(&req->rqst.rq_list, &xprt->free);
	}
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
	/* They are not sunrpc's to free. */
	INIT_LIST_HEAD(&r->xprt.free);
	xprt_free(&r->xprt);
}

static struct rpc_rqst *rpcrdma_requester_free_rqst(struct rpc_xprt *xprt)
{
	struct rpc_rqst *rqst;

	rqst = list_first_entry_or_null(&xprt->free, struct rpc_rqst, rq_list);
	if (rqst)
		list_del(&rqst->rq_list);
	return rqst;
}

/**
 * rpcrdma_requester_alloc_slot - give a task a slot, or put it on the backlog
 * @xprt: transport
 * @task: @task->tk_status tells
 *
 * The slot used last is the next one used: it is warm, and idle ones stay idle.
 */
void rpcrdma_requester_alloc_slot(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct rpcrdma_requester *r = rpcrdma_xprt_requester(xprt);
	struct rpcrdma_req *req;
	struct rpc_rqst *rqst;

	spin_lock(&xprt->reserve_lock);
	rqst = rpcrdma_requester_free_rqst(xprt);
	if (!rqst && xprt->num_reqs < xprt->max_reqs) {
		xprt->num_reqs++;
		spin_unlock(&xprt->reserve_lock);
		req = rpcrdma_requester_add_slot(r, rpc_task_gfp_mask());
		spin_lock(&xprt->reserve_lock);
		/* Without memory, the slots there are have to do. */
		rqst = req ? &req->rqst : rpcrdma_requester_free_rqst(xprt);
	}
	if (rqst) {
		xprt->stat.max_slots = max_t(unsigned long,
					     xprt->stat.max_slots,
					     xprt->num_reqs);
		task->tk_rqstp = rqst;
		task->tk_status = 0;
	} else {
		xprt_add_backlog(xprt, task);
		task->tk_status = -EAGAIN;
	}
	spin_unlock(&xprt->reserve_lock);
}

/**
 * rpcrdma_requester_free_slot - a task is through with its slot
 * @xprt: transport
 * @rqst: the slot's rpc_rqst
 */
void rpcrdma_requester_free_slot(struct rpc_xprt *xprt, struct rpc_rqst *rqst)
{
	rpcrdma_req_reset(rpcrdma_rqst_req(rqst));

	spin_lock(&xprt->reserve_lock);
	if (!xprt_wake_up_backlog(xprt, rqst)) {
		memset(rqst, 0, sizeof(*rqst));
		list_add(&rqst->rq_list, &xprt->free);
	}
	spin_unlock(&xprt->reserve_lock);
}

static bool rpcrdma_req_grow(struct rpcrdma_req *req, void **buf, size_t *size,
			     size_t want, gfp_t gfp)
{
	void *grown;

	if (likely(want <= *size))
		return true;
	want = roundup_pow_of_two(want);
	grown = kmalloc(want, gfp);
	if (!grown)
		return false;
	kfree(*buf);
	*buf = grown;
	*size = want;
	req->stats->buffer_octets += want;
	return true;
}

/**
 * rpcrdma_requester_buf_alloc - provide the buffers for an RPC
 * @task: with a slot
 *
 * Returns 0 or -ENOMEM: try again later.
 */
int rpcrdma_requester_buf_alloc(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	struct rpcrdma_req *req = rpcrdma_rqst_req(rqst);
	gfp_t gfp = rpc_task_gfp_mask() | __GFP_NOWARN;

	if (!rpcrdma_req_grow(req, &req->send_buf, &req->send_size,
			      rqst->rq_callsize, gfp) ||
	    !rpcrdma_req_grow(req, &req->recv_buf, &req->recv_size,
			      rqst->rq_rcvsize, gfp))
		return -ENOMEM;
	rqst->rq_buffer = req->send_buf;
	rqst->rq_rbuffer = req->recv_buf;
	return 0;
}

/**
 * rpcrdma_requester_buf_free - an RPC is over
 * @task: with a slot
 *
 * By whatever way: a signal, perhaps. Its pages go back to their owner after
 * this, so the peer must not reach them any more.
 */
void rpcrdma_requester_buf_free(struct rpc_task *task)
{
	rpcrdma_req_reset(rpcrdma_rqst_req(task->tk_rqstp));
}

/* ---- Sending ---- */

/*
 * Some callers leave it to the transport to provide the pages of a reply. They
 * must be there before the peer can be told of them.
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

/* Octets of the tail that are the roundup of the page data */
static u32 rpcrdma_xdr_pad(const struct xdr_buf *buf)
{
	return min_t(u32, xdr_pad_size(buf->page_len), buf->tail[0].iov_len);
}

/*
 * Count the segments that @buf would take: all of it, and its page data. The
 * vectors are made again if the plan wants them, which is cheap against
 * registering them.
 */
static int rpcrdma_req_count(struct rpcrdma_req *req, struct rpcrdma_ep *ep,
			     const struct xdr_buf *buf, u32 len,
			     u16 *all_segs, u16 *page_segs)
{
	u32 head = min_t(u32, buf->head[0].iov_len, len);
	u32 pages = min_t(u32, buf->page_len, len - head);
	int n;

	n = rpcrdma_xdr_to_bvecs(buf, 0, len, req->bv, ARRAY_SIZE(req->bv));
	if (n < 0)
		return n;
	*all_segs = rpcrdma_mrs_count(ep, req->bv, n);
	if (!pages)
		return 0;
	n = rpcrdma_xdr_to_bvecs(buf, head, pages, req->bv,
				 ARRAY_SIZE(req->bv));
	if (n < 0)
		return n;
	*page_segs = rpcrdma_mrs_count(ep, req->bv, n);
	return 0;
}

/* Does @plan want memory registered? */
static bool rpcrdma_plan_has_chunks(const struct rpcrdma_call_plan *plan)
{
	return plan->read_item || plan->write_chunk || plan->reply_chunk ||
	       plan->format == RPCRDMA_SPECIAL;
}

/*
 * The geometry of a Call. Most messages are small: only of one that may not
 * be, it matters how many segments its memory would take, but for a Call that
 * was @refused as small as it is. Returns 0 or a negative errno.
 */
static int rpcrdma_req_call(struct rpcrdma_req *req, struct rpcrdma_ep *ep,
			    bool refused, struct rpcrdma_call *call)
{
	const struct rpc_rqst *rqst = &req->rqst;
	const struct xdr_buf *snd = &rqst->rq_snd_buf;
	const struct xdr_buf *rcv = &rqst->rq_rcv_buf;
	struct rpcrdma_requester *r = rpcrdma_xprt_requester(rqst->rq_xprt);
	int rc = 0;

	memset(call, 0, sizeof(*call));
	call->xid = be32_to_cpu(rqst->rq_xid);
	call->length = snd->len;
	call->reply_max = rpcrdma_xdr_room(rcv);
	call->reverse = rqst->rq_xprt->bc_xprt != NULL;
	call->recovery = req->x.recovery;
	refused |= call->recovery.given_in != 0;
	/* Integrity and privacy want the messages whole (11.2.2). */
	call->ddp = rqst->rq_cred &&
		    !test_bit(RPCAUTH_AUTH_DATATOUCH,
			      &rqst->rq_cred->cr_auth->au_flags);
	if (call->ddp && (snd->flags & XDRBUF_WRITE)) {
		call->item_position = snd->head[0].iov_len;
		call->item_length = snd->page_len;
	}
	/*
	 * sunrpc says how large a Reply can be, and only of file data that it
	 * is likely to be so large: lists, ACLs and links seldom are.
	 */
	call->bulk = !!(rcv->flags & XDRBUF_READ);
	if (call->ddp && call->bulk)
		call->result_max = rcv->page_len;

	spin_lock(&r->lessons_lock);
	rpcrdma_lessons_recall(&r->lessons, ktime_get_seconds(), call);
	spin_unlock(&r->lessons_lock);

	if (refused ||
	    call->length + RPCRDMA_OFFER_ROOM > ep->limits.send_inline)
		rc = rpcrdma_req_count(req, ep, snd, snd->len, &call->call_segs,
				       &call->item_segs);
	if (!rc && (refused ||
		    call->reply_max + RPCRDMA_HEADER_ROOM >
		    ep->limits.recv_inline))
		rc = rpcrdma_req_count(req, ep, rcv, call->reply_max,
				       &call->reply_segs, &call->result_segs);
	return rc == -E2BIG ? -EMSGSIZE : rc;
}

static int rpcrdma_req_plan(struct rpcrdma_req *req, struct rpcrdma_ep *ep,
			    struct rpcrdma_call_plan *plan)
{
	struct rpcrdma_call call;
	int rc;

	rc = rpcrdma_req_call(req, ep, false, &call);
	return rc ?: rpcrdma_plan_call(&ep->conn, &call, plan);
}

/* Map one range of @buf into the chunk begun last. */
static int rpcrdma_req_map_range(struct rpcrdma_req *req, struct rpcrdma_ep *ep,
				 const struct xdr_buf *buf, u32 offset, u32 len,
				 bool remote_write)
{
	int n;

	if (!len)
		return 0;
	n = rpcrdma_xdr_to_bvecs(buf, offset, len, req->bv,
				 ARRAY_SIZE(req->bv));
	if (n < 0)
		return n == -E2BIG ? -EMSGSIZE : n;
	return rpcrdma_mrs_map(ep, &req->mrs, req->bv, n, remote_write,
			       &req->x.lists);
}

/*
 * Map what is left of @buf without its page data: @pad octets at the start of
 * the tail go with that.
 */
static int rpcrdma_req_map_reduced(struct rpcrdma_req *req,
				   struct rpcrdma_ep *ep,
				   const struct xdr_buf *buf, u32 pad,
				   bool remote_write)
{
	u32 head = buf->head[0].iov_len;
	int rc;

	rc = rpcrdma_req_map_range(req, ep, buf, 0, head, remote_write);
	if (rc)
		return rc;
	return rpcrdma_req_map_range(req, ep, buf, head + buf->page_len + pad,
				     buf->tail[0].iov_len - pad, remote_write);
}

/* The chunks of @plan, in wire order (6.2.3) */
static int rpcrdma_req_map(struct rpcrdma_req *req, struct rpcrdma_ep *ep,
			   const struct rpcrdma_call_plan *plan)
{
	const struct xdr_buf *snd = &req->rqst.rq_snd_buf;
	const struct xdr_buf *rcv = &req->rqst.rq_rcv_buf;
	struct rpcrdma_lists *lists = &req->x.lists;
	struct rpcrdma_mr *mr;
	u32 largest = 0;
	int rc = 0;

	if (!req->ep) {
		rpcrdma_ep_get(ep);
		req->ep = ep;
	}

	if (plan->format == RPCRDMA_SPECIAL) {
		if (rpcrdma_lists_add_read(lists, 0))
			return -EMSGSIZE;
		if (plan->read_item)
			rc = rpcrdma_req_map_reduced(req, ep, snd,
						     rpcrdma_xdr_pad(snd),
						     false);
		else
			rc = rpcrdma_req_map_range(req, ep, snd, 0, snd->len,
						   false);
		if (rc)
			return rc;
	}
	if (plan->read_item) {
		if (rpcrdma_lists_add_read(lists, snd->head[0].iov_len))
			return -EMSGSIZE;
		rc = rpcrdma_req_map_range(req, ep, snd, snd->head[0].iov_len,
					   snd->page_len, false);
		if (rc)
			return rc;
	}
	if (plan->write_chunk) {
		if (rpcrdma_lists_add_write(lists))
			return -EMSGSIZE;
		rc = rpcrdma_req_map_range(req, ep, rcv, rcv->head[0].iov_len,
					   rcv->page_len, true);
		if (rc)
			return rc;
	}
	if (plan->reply_chunk) {
		if (rpcrdma_lists_add_reply(lists))
			return -EMSGSIZE;
		/* No memory is in two chunks that the peer writes to. */
		if (plan->write_chunk)
			rc = rpcrdma_req_map_reduced(req, ep, rcv, 0, true);
		else
			rc = rpcrdma_req_map_range(req, ep, rcv, 0,
						   rpcrdma_xdr_room(rcv), true);
		if (rc)
			return rc;
	}

	/* Offer the peer to invalidate the largest region (6.2.4). */
	list_for_each_entry(mr, &req->mrs, list) {
		if (mr->length > largest) {
			largest = mr->length;
			lists->inv_handle = mr->handle;
		}
	}
	return 0;
}

/*
 * The Payload stream that goes in Sends, @plan->inline_length octets of room
 * at @to. Returns false when the plan and the Call do not agree.
 */
static bool rpcrdma_requester_copy(const struct rpc_rqst *rqst,
				   const struct rpcrdma_call_plan *plan,
				   void *to)
{
	const struct xdr_buf *snd = &rqst->rq_snd_buf;
	u32 item = 0, payload = snd->len;

	if (plan->read_item) {
		item = snd->page_len;
		payload -= min_t(u32, xdr_align_size(item),
				 snd->len - snd->head[0].iov_len);
	}
	if (unlikely(WARN_ON_ONCE(payload != plan->inline_length)))
		return false;
	rpcrdma_xdr_copy_reduced(snd, snd->head[0].iov_len, item, to);
	return true;
}

/* Header and inline payload into a Send context. Returns it or an ERR_PTR. */
static struct rpcrdma_send *
rpcrdma_requester_fill(struct rpcrdma_ep *ep, struct rpc_rqst *rqst,
		       const struct rpcrdma_call_plan *plan,
		       const struct rpcrdma_lists *lists)
{
	u32 htype = plan->format == RPCRDMA_SPECIAL ? RDMA2_NOMSG : RDMA2_MSG;
	u32 size = ep->params.send_size;
	struct rpcrdma_send *s;

	s = rpcrdma_send_get(ep);
	if (!s)
		return ERR_PTR(-EAGAIN);
	s->header_len = rpcrdma_encode_header(&ep->conn, s->buf, size,
					      be32_to_cpu(rqst->rq_xid), htype,
					      0, lists);
	if (unlikely(!s->header_len ||
		     plan->inline_length > size - s->header_len))
		goto out_put;
	if (htype == RDMA2_MSG &&
	    !rpcrdma_requester_copy(rqst, plan, s->buf + s->header_len))
		goto out_put;
	s->len = s->header_len + plan->inline_length;
	return s;

out_put:
	rpcrdma_send_put(s);
	return ERR_PTR(-EMSGSIZE);
}

/* Count a Call about to be sent. */
static void rpcrdma_req_account(struct rpcrdma_req *req,
				const struct rpcrdma_call_plan *plan)
{
	struct rpcrdma_requester_stats *stats = req->stats;
	const struct rpcrdma_lists *lists = &req->x.lists;

	if (plan->format == RPCRDMA_SPECIAL)
		stats->nomsg_calls++;
	else if (!plan->read_item)
		stats->send_copied += req->rqst.rq_snd_buf.page_len;
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

/* A Call that is encoded: one message, or what is cut into parts */
struct rpcrdma_built {
	struct rpcrdma_send	*send;
	struct rpcrdma_stream	*stream;
};

/* Encode the Call, @lists NULL for none. Returns 0 or a negative errno. */
static int rpcrdma_requester_build(struct rpcrdma_ep *ep,
				   struct rpc_rqst *rqst,
				   const struct rpcrdma_call_plan *plan,
				   const struct rpcrdma_lists *lists,
				   struct rpcrdma_built *built)
{
	memset(built, 0, sizeof(*built));
	if (plan->format != RPCRDMA_CONTINUED) {
		built->send = rpcrdma_requester_fill(ep, rqst, plan, lists);
		return PTR_ERR_OR_ZERO(built->send);
	}
	built->stream = rpcrdma_stream_alloc(RPCRDMA_KIND_CALL,
					     be32_to_cpu(rqst->rq_xid),
					     plan->inline_length, lists);
	if (!built->stream)
		return -ENOMEM;
	if (!rpcrdma_requester_copy(rqst, plan, built->stream->data)) {
		rpcrdma_stream_free(built->stream);
		return -EMSGSIZE;
	}
	return 0;
}

/* Hand it to the endpoint. Nothing is taken when this does not return 0. */
static int rpcrdma_requester_post(struct rpcrdma_ep *ep,
				  const struct rpcrdma_built *built,
				  const struct rpcrdma_call_plan *plan,
				  struct list_head *mrs,
				  const struct rpcrdma_lists *lists)
{
	if (built->stream)
		return rpcrdma_send_continued_call(ep, built->stream, mrs);
	return rpcrdma_send_call(built->send, mrs, plan->format, lists);
}

/* It was not sent. */
static void rpcrdma_requester_discard(const struct rpcrdma_built *built)
{
	if (built->send)
		rpcrdma_send_put(built->send);
	rpcrdma_stream_free(built->stream);
}

/*
 * If the endpoint takes the Call, a Reply may complete the RPC before this
 * returns; the rpc_rqst stays, it is pinned.
 */
static int rpcrdma_req_post(struct rpcrdma_ep *ep, struct rpcrdma_req *req,
			    const struct rpcrdma_call_plan *plan)
{
	bool chunks = rpcrdma_plan_has_chunks(plan);
	const struct rpcrdma_lists *lists = chunks ? &req->x.lists : NULL;
	struct rpcrdma_built built;
	int rc;

	rpcrdma_lists_init(&req->x.lists);
	if (chunks) {
		rc = rpcrdma_req_map(req, ep, plan);
		if (rc)
			return rc;
	}
	rc = rpcrdma_requester_build(ep, &req->rqst, plan, lists, &built);
	if (rc)
		return rc;

	mutex_lock(&req->lock);
	rc = rpcrdma_requester_post(ep, &built, plan,
				    chunks ? &req->mrs : NULL, lists);
	if (!rc) {
		rpcrdma_exchange_sent(&req->x, &ep->conn);
		rpcrdma_req_account(req, plan);
	}
	mutex_unlock(&req->lock);
	if (rc)
		rpcrdma_requester_discard(&built);
	return rc;
}

/* One attempt. -EAGAIN: write_space() is going to be called. */
static int rpcrdma_requester_try(struct rpcrdma_ep *ep,
				 struct rpcrdma_req *req)
{
	struct rpcrdma_call_plan plan;
	int rc;

	if (!rpcrdma_ep_may_call(ep))
		return -EAGAIN;
	rc = rpcrdma_req_plan(req, ep, &plan);
	if (rc)
		return rc;

	req->rqst.rq_xtime = ktime_get();
	rc = rpcrdma_req_post(ep, req, &plan);
	if (rc)
		rpcrdma_req_put_mrs(req);
	return rc;
}

/**
 * rpcrdma_requester_send - send a Call
 * @xprt: its transport; the caller has the write lock
 * @ep: the connection, with a reference
 * @rqst: the encoded Call, pinned
 *
 * Process context, may sleep. For the results see requester.h.
 */
int rpcrdma_requester_send(struct rpc_xprt *xprt, struct rpcrdma_ep *ep,
			   struct rpc_rqst *rqst)
{
	struct rpcrdma_req *req = rpcrdma_rqst_req(rqst);
	int rc;

	if (!rpcrdma_ep_is_open(ep))
		return -ENOTCONN;

	rc = rpcrdma_exchange_begin(&req->x, &ep->conn);
	if (rc)
		return rc;
	/* Left from a connection that is gone */
	rpcrdma_req_release_mrs(req);

	if (unlikely(rqst->rq_rcv_buf.flags & XDRBUF_SPARSE_PAGES)) {
		rc = rpcrdma_fill_sparse_pages(&rqst->rq_rcv_buf);
		if (rc)
			return rc;
	}

	rc = rpcrdma_requester_try(ep, req);
	if (rc == -EAGAIN) {
		/*
		 * What was missing may have come before sunrpc knows that it
		 * is waited for: look again when it does.
		 */
		xprt_wait_for_buffer_space(xprt);
		/* Order that before the look, as write_space() does reversed */
		smp_mb__after_atomic();
		rc = rpcrdma_requester_try(ep, req);
		if (rc != -EAGAIN)
			xprt_write_space(xprt);
		else
			req->stats->no_send_space++;
	}
	switch (rc) {
	case 0:
		rqst->rq_xmit_bytes_sent += rqst->rq_snd_buf.len;
		break;
	case -EAGAIN:
	case -ENOTCONN:
		break;
	case -ENOMEM:
		rc = -ENOBUFS;
		break;
	default:
		req->stats->failed_sends++;
		pr_warn_ratelimited("rpcrdma: a Call of %u octets to %pISpc cannot be sent (error %d), its RPC fails; a smaller rsize or wsize may help\n",
				    rqst->rq_snd_buf.len, &ep->remote, rc);
		break;
	}
	return rc;
}

/* ---- Receiving ---- */

static struct rpc_rqst *rpcrdma_lookup_and_pin(struct rpc_xprt *xprt, u32 xid)
{
	struct rpc_rqst *rqst;

	spin_lock(&xprt->queue_lock);
	rqst = xprt_lookup_rqst(xprt, cpu_to_be32(xid));
	if (rqst)
		xprt_pin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
	return rqst;
}

/*
 * queue_lock held. The task encodes and sends its Call once more when it finds
 * this status: sunrpc must not take it for one that was sent on the connection
 * there is, where some tasks wait for the Reply for ever. It does not drop that
 * connection either, as it would if the task found no status and no Reply.
 */
static void rpcrdma_req_resend(struct rpcrdma_req *req)
{
	struct rpc_rqst *rqst = &req->rqst;

	rqst->rq_connect_cookie = rqst->rq_xprt->connect_cookie - 1;
	rqst->rq_task->tk_status = -EAGAIN;
}

/**
 * rpcrdma_requester_wait_for_reply - put a task to sleep until its Reply comes
 * @task: its Call was sent
 *
 * @task->tk_rqstp->rq_xprt->queue_lock is held. A task whose Call was refused
 * before it could go to sleep, stays awake and sends it again.
 */
void rpcrdma_requester_wait_for_reply(struct rpc_task *task)
{
	struct rpcrdma_req *req = rpcrdma_rqst_req(task->tk_rqstp);

	if (likely(!rpcrdma_exchange_resend(&req->x))) {
		xprt_wait_for_reply_request_def(task);
		return;
	}
	rpcrdma_req_resend(req);
}

/* Have a refused Call sent again, which nothing is left of. */
static void rpcrdma_req_send_again(struct rpc_xprt *xprt,
				   struct rpcrdma_req *req)
{
	struct rpc_rqst *rqst = &req->rqst;

	spin_lock(&xprt->queue_lock);
	/*
	 * A task that does not sleep is on its way to do so, and whoever sent
	 * its Call may have words of it yet to write.
	 */
	rpcrdma_exchange_again(&req->x);
	rpcrdma_req_resend(req);
	rpc_wake_up_queued_task(&xprt->pending, rqst->rq_task);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/* Leave the RPC to sunrpc, which sends it again or gives up. */
static void rpcrdma_unpin(struct rpc_xprt *xprt, struct rpc_rqst *rqst)
{
	spin_lock(&xprt->queue_lock);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/*
 * The end: @status has the octets of the Reply, or a negative errno. Of a Reply
 * whose result came in a Write chunk, rq_rcv_buf now says where it lies.
 * rq_rcv_buf and its copy rq_private_buf must remain the same.
 */
static void rpcrdma_req_complete(struct rpcrdma_req *req, int status)
{
	const struct rpcrdma_placed *placed = &req->x.placed;
	struct rpc_rqst *rqst = &req->rqst;
	struct xdr_buf *buf = &rqst->rq_rcv_buf, *copy = &rqst->rq_private_buf;
	struct rpc_xprt *xprt = rqst->rq_xprt;
	struct rpc_task *task;

	req->stats->placed_octets += placed->write_octets +
				     placed->reply_octets +
				     placed->pull_octets;
	if (status >= 0 && req->x.parts.reduced) {
		buf->head[0].iov_len = req->x.parts.head;
		buf->page_len = req->x.parts.pages;
		copy->head[0].iov_len = buf->head[0].iov_len;
		copy->page_len = buf->page_len;
	}

	spin_lock(&xprt->queue_lock);
	task = rqst->rq_task;
	if (status < 0) {
		/*
		 * sunrpc takes a status only from a task that sleeps. This
		 * one ends a task before the next thing it does, as a signal
		 * would; it is the first that counts.
		 */
		cmpxchg(&task->tk_rpc_status, 0, status);
		task->tk_status = status;
		status = 0;
	}
	xprt_complete_rqst(task, status);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/*
 * Make the answer to @xid on @ep this caller's. Returns the slot, its rpc_rqst
 * pinned, or NULL: nobody waits for it.
 */
static struct rpcrdma_req *rpcrdma_requester_claim(struct rpc_xprt *xprt,
						   struct rpcrdma_ep *ep,
						   u32 xid)
{
	struct rpcrdma_req *req;
	struct rpc_rqst *rqst;
	bool mine;

	rqst = rpcrdma_lookup_and_pin(xprt, xid);
	if (!rqst)
		return NULL;

	req = rpcrdma_rqst_req(rqst);
	mutex_lock(&req->lock);
	mine = rpcrdma_exchange_claim(&req->x, &ep->conn);
	mutex_unlock(&req->lock);
	if (!mine) {
		rpcrdma_unpin(xprt, rqst);
		return NULL;
	}
	return req;
}

/* ---- Carrying out what the engine says ---- */

/* The inline payload goes to its place. */
static void rpcrdma_req_place(struct rpcrdma_req *req)
{
	const struct rpcrdma_parts *parts = &req->x.parts;
	struct xdr_buf *buf = &req->rqst.rq_rcv_buf;
	struct rpcrdma_recv *rv = req->rv;

	req->stats->recv_copied += rv->payload_len;
	if (!parts->reduced) {
		rpcrdma_xdr_copy_in(buf, 0, rv->payload, rv->payload_len);
		return;
	}
	memcpy(buf->head[0].iov_base, rv->payload, parts->head);
	if (parts->tail)
		memcpy(buf->tail[0].iov_base + parts->pad,
		       rv->payload + parts->head, parts->tail);
}

/*
 * A Reply chunk beside a Write chunk is head and tail memory. What belongs to
 * other parts lies at the start of the tail.
 */
static void rpcrdma_req_move(struct rpcrdma_req *req)
{
	const struct rpcrdma_parts *parts = &req->x.parts;
	struct xdr_buf *buf = &req->rqst.rq_rcv_buf;
	void *tail = buf->tail[0].iov_base;

	if (parts->reduced) {
		memmove(tail + parts->pad, tail, parts->tail);
		return;
	}
	rpcrdma_xdr_copy_in(buf, parts->head, tail, parts->pages);
	memmove(tail, tail + parts->pages, parts->tail);
}

/* Add the Read of @len octets from octet @from of the stream on. */
static int rpcrdma_req_read(struct rpcrdma_req *req, struct rpcrdma_rw *rw,
			    const struct rpcrdma_lists *lists, u32 from,
			    u32 offset, u32 len)
{
	int n;

	if (!len)
		return 0;
	n = rpcrdma_xdr_to_bvecs(&req->rqst.rq_rcv_buf, offset, len, req->bv,
				 ARRAY_SIZE(req->bv));
	if (n < 0)
		return n;
	return rpcrdma_rw_add(rw, lists, &lists->reads[0], from, req->bv, n, 0,
			      len);
}

static int rpcrdma_req_reads(struct rpcrdma_req *req, struct rpcrdma_rw *rw,
			     const struct rpcrdma_lists *lists)
{
	const struct xdr_buf *buf = &req->rqst.rq_rcv_buf;
	const struct rpcrdma_parts *parts = &req->x.parts;
	u32 before = parts->head;
	int rc;

	/* Either there is nothing behind the head, or that is full. */
	if (!parts->reduced)
		before += parts->pages;
	rc = rpcrdma_req_read(req, rw, lists, 0, 0, before);
	if (rc)
		return rc;
	return rpcrdma_req_read(req, rw, lists, before,
				buf->head[0].iov_len + buf->page_len +
				parts->pad, parts->tail);
}

static void rpcrdma_req_carry_out(struct rpcrdma_req *req,
				  struct rpcrdma_ep *ep, struct rpcrdma_step s);

/* What the engine looks at of a Reply that is not in a Receive */
static const void *rpcrdma_req_first(const struct rpcrdma_req *req)
{
	const struct kvec *head = &req->rqst.rq_rcv_buf.head[0];

	return head->iov_len < 8 ? NULL : head->iov_base;
}

/* The Reads of a Reply have ended; the rpc_rqst is still pinned. */
static void rpcrdma_requester_pulled(struct rpcrdma_rw *rw, bool ok)
{
	enum rpcrdma_pull how = ok ? RPCRDMA_PULL_OK : RPCRDMA_PULL_FAILED;
	struct rpcrdma_req *req = rw->priv;
	struct rpcrdma_step s;

	s = rpcrdma_exchange_pulled(&req->x, how, rpcrdma_req_first(req));
	rpcrdma_req_carry_out(req, rw->ep, s);
}

/*
 * Pull a Reply that the Responder provides (DR 4.1.2). The memory is the
 * RPC's: it stays pinned until the Reads have ended, with the connection at
 * the latest.
 */
static void rpcrdma_req_pull(struct rpcrdma_req *req, struct rpcrdma_ep *ep)
{
	/* Memory reclaim may wait for this RPC. */
	unsigned int flags = memalloc_nofs_save();
	enum rpcrdma_pull how = RPCRDMA_PULL_SHORT;
	struct rpcrdma_recv *rv = req->rv;
	struct rpcrdma_rw *rw;
	int rc = -ENOMEM;

	req->rv = NULL;
	rw = rpcrdma_rw_alloc(ep, DMA_FROM_DEVICE, 0, GFP_NOFS);
	if (rw)
		rc = rpcrdma_req_reads(req, rw, &rv->rx.lists);
	rpcrdma_recv_put(rv);
	if (likely(!rc)) {
		rw->priv = req;
		rw->done = rpcrdma_requester_pulled;
		rpcrdma_rw_read(rw);
		goto out;
	}
	if (rw)
		rpcrdma_rw_free(rw);
	if (rc == -EFAULT || rc == -E2BIG || rc == -EINVAL)
		how = RPCRDMA_PULL_NEVER;
	rpcrdma_req_carry_out(req, ep,
			      rpcrdma_exchange_pulled(&req->x, how, NULL));
out:
	memalloc_nofs_restore(flags);
}

/* The regions of an answered RPC became invalid, or die with @inv->ep. */
static void rpcrdma_requester_inv_done(struct rpcrdma_inv *inv, bool ok)
{
	struct rpcrdma_req *req = container_of(inv, struct rpcrdma_req, inv);
	struct rpcrdma_ep *ep = inv->ep;
	struct rpcrdma_step s;

	/* The slot's reference may be the last but this. */
	rpcrdma_ep_get(ep);
	/* What the device wrote is the processor's with this. */
	if (ok)
		rpcrdma_req_put_mrs(req);
	s = rpcrdma_exchange_invalidated(&req->x, ok, rpcrdma_req_first(req));
	rpcrdma_req_carry_out(req, ep, s);
	rpcrdma_ep_put(ep);
}

/*
 * Regions of which the peer has invalidated all are given back at once, which
 * leads to another step; returns whether it did.
 */
static bool rpcrdma_req_invalidate(struct rpcrdma_req *req,
				   struct rpcrdma_ep *ep,
				   struct rpcrdma_step *s)
{
	if (rpcrdma_mrs_exposed(&req->mrs)) {
		req->stats->local_inv++;
		rpcrdma_mrs_invalidate(ep, &req->mrs, &req->inv);
		return false;
	}
	rpcrdma_req_put_mrs(req);
	*s = rpcrdma_exchange_invalidated(&req->x, true,
					  rpcrdma_req_first(req));
	return true;
}

/*
 * Do what the engine says, in its order. The rpc_rqst is pinned; once the RPC is
 * complete, left or told to be sent again, the slot may be another one's.
 */
static void rpcrdma_req_carry_out(struct rpcrdma_req *req,
				  struct rpcrdma_ep *ep, struct rpcrdma_step s)
{
	struct rpc_rqst *rqst = &req->rqst;
	struct rpcrdma_recv *rv;

	do {
		if (unlikely(s.todo & RPCRDMA_STEP_REPORT)) {
			req->stats->bad_replies++;
			pr_warn_ratelimited("rpcrdma: the Reply with xid 0x%08x from %pISpc is bad: %s; its RPC fails\n",
					    be32_to_cpu(rqst->rq_xid),
					    &ep->remote, s.reason);
		}
		if (s.todo & RPCRDMA_STEP_PLACE)
			rpcrdma_req_place(req);
		if (s.todo & RPCRDMA_STEP_MOVE)
			rpcrdma_req_move(req);
		if (s.todo & RPCRDMA_STEP_PUT) {
			rv = req->rv;
			req->rv = NULL;
			rpcrdma_recv_put(rv);
		}
		if (unlikely(s.todo & RPCRDMA_STEP_CLOSE))
			rpcrdma_ep_close(ep, s.reason);

		if (s.todo & RPCRDMA_STEP_COMPLETE)
			rpcrdma_req_complete(req, s.status);
		else if (s.todo & RPCRDMA_STEP_PULL)
			rpcrdma_req_pull(req, ep);
		else if (s.todo & RPCRDMA_STEP_AGAIN)
			rpcrdma_req_send_again(rqst->rq_xprt, req);
		else if (s.todo & RPCRDMA_STEP_LEAVE)
			rpcrdma_unpin(rqst->rq_xprt, rqst);

		if (s.todo & RPCRDMA_STEP_DONE)
			rpcrdma_ep_send_done(ep, s.xid, s.handle);
	} while (s.todo & RPCRDMA_STEP_INVALIDATE &&
		 rpcrdma_req_invalidate(req, ep, &s));
}

/**
 * rpcrdma_requester_reply - a Reply arrived
 * @xprt: transport whose Call it should be for
 * @ep: the connection it came on
 * @rv: the Receive; taken
 *
 * An endpoint's upcall: process context, one at a time. A Reply that nobody
 * waits for is dropped, with a DONE if it was to be pulled; a bad one that
 * somebody does ends the RPC.
 */
void rpcrdma_requester_reply(struct rpc_xprt *xprt, struct rpcrdma_ep *ep,
			     struct rpcrdma_recv *rv)
{
	struct rpcrdma_arrival a = {
		.rx		= &rv->rx,
		.bad		= rv->verdict == RPCRDMA_RX_BAD_REPLY,
		.inv_handle	= rv->inv_handle,
		.length		= rv->payload_len,
	};
	const struct xdr_buf *buf;
	struct rpcrdma_req *req;
	struct rpcrdma_step s;

	req = rpcrdma_requester_claim(xprt, ep, rv->rx.xid);
	if (!req) {
		s = rpcrdma_exchange_stray(&rv->rx, a.bad);
		rpcrdma_recv_put(rv);
		if (s.todo & RPCRDMA_STEP_DONE)
			rpcrdma_ep_send_done(ep, s.xid, s.handle);
		return;
	}
	/* The server is there and answers: reconnect without delay. */
	if (xprt->reestablish_timeout)
		xprt->reestablish_timeout = 0;

	req->rv = rv;
	if (a.inv_handle)
		a.exposed = rpcrdma_mrs_invalidated(&req->mrs, a.inv_handle);
	buf = &req->rqst.rq_rcv_buf;
	a.room.head = buf->head[0].iov_len;
	a.room.pages = buf->page_len;
	a.room.tail = buf->tail[0].iov_len;
	s = rpcrdma_exchange_reply(&req->x, &ep->conn, &a);
	rpcrdma_req_carry_out(req, ep, s);
}

/*
 * What becomes of the RPC whose Call was refused? Returns 0: it is sent again;
 * or the errno it ends with.
 */
static int rpcrdma_req_refused(struct rpcrdma_req *req, struct rpcrdma_ep *ep,
			       const struct rpcrdma_rx *rx)
{
	struct rpcrdma_requester *r = rpcrdma_xprt_requester(req->rqst.rq_xprt);
	struct rpcrdma_call call;

	if (rpcrdma_req_call(req, ep, true, &call))
		return rx->error.status;
	/* For all that follow, and this one if it comes as another RPC */
	spin_lock(&r->lessons_lock);
	rpcrdma_lessons_learn(&r->lessons, ktime_get_seconds(), rx, &call,
			      &req->x.lists);
	spin_unlock(&r->lessons_lock);
	return rpcrdma_ep_refused(ep, rx, &call, &req->x.lists,
				  &req->x.recovery);
}

/**
 * rpcrdma_requester_error - a Call was refused
 * @xprt: transport whose Call it should be
 * @ep: the connection the ERROR came on
 * @rv: the Receive; taken
 *
 * An endpoint's upcall. If the engine knows another form for the Call, it is
 * sent again when its memory is out of the peer's reach. Otherwise the RPC
 * ends with the error's errno.
 */
void rpcrdma_requester_error(struct rpc_xprt *xprt, struct rpcrdma_ep *ep,
			     struct rpcrdma_recv *rv)
{
	u32 xid = rv->rx.xid, code = rv->rx.error.code;
	struct rpcrdma_req *req;
	int status = 0;

	req = rpcrdma_requester_claim(xprt, ep, xid);
	if (req)
		status = rpcrdma_req_refused(req, ep, &rv->rx);
	rpcrdma_recv_put(rv);
	if (!req)
		return;
	if (status)
		pr_warn_ratelimited("rpcrdma: %pISpc refused the Call with xid 0x%08x: %s; its RPC fails with error %d\n",
				    &ep->remote, xid, rpcrdma_error_name(code),
				    status);
	else
		pr_info_ratelimited("rpcrdma: %pISpc refused the Call with xid 0x%08x: %s; sending it in another form\n",
				    &ep->remote, xid, rpcrdma_error_name(code));
	rpcrdma_req_carry_out(req, ep,
			      rpcrdma_exchange_error(&req->x, status));
}

/* ---- What both rpc_xprts show ---- */

static __printf(3, 4)
int rpcrdma_xprt_string(struct rpc_xprt *xprt, unsigned int which,
			const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	xprt->address_strings[which] = kvasprintf(GFP_KERNEL, fmt, args);
	va_end(args);
	return xprt->address_strings[which] ? 0 : -ENOMEM;
}

/**
 * rpcrdma_xprt_format_addresses - fill in the address strings
 * @xprt: transport with xprt->addr
 *
 * Sleeps. Returns 0, -EAFNOSUPPORT or -ENOMEM.
 */
int rpcrdma_xprt_format_addresses(struct rpc_xprt *xprt)
{
	struct sockaddr *sap = (struct sockaddr *)&xprt->addr;
	char buf[INET6_ADDRSTRLEN + 16];
	int rc;

	switch (sap->sa_family) {
	case AF_INET:
		rc = rpcrdma_xprt_string(xprt, RPC_DISPLAY_HEX_ADDR, "%08x",
					 ntohl(((struct sockaddr_in *)sap)->sin_addr.s_addr));
		xprt->address_strings[RPC_DISPLAY_NETID] = RPCBIND_NETID_RDMA;
		break;
	case AF_INET6:
		rc = rpcrdma_xprt_string(xprt, RPC_DISPLAY_HEX_ADDR, "%pi6",
					 &((struct sockaddr_in6 *)sap)->sin6_addr);
		xprt->address_strings[RPC_DISPLAY_NETID] = RPCBIND_NETID_RDMA6;
		break;
	default:
		return -EAFNOSUPPORT;
	}
	xprt->address_strings[RPC_DISPLAY_PROTO] = "rdma";

	rpc_ntop(sap, buf, sizeof(buf));
	rc |= rpcrdma_xprt_string(xprt, RPC_DISPLAY_ADDR, "%s", buf);
	rc |= rpcrdma_xprt_string(xprt, RPC_DISPLAY_PORT, "%u",
				  rpc_get_port(sap));
	rc |= rpcrdma_xprt_string(xprt, RPC_DISPLAY_HEX_PORT, "%4hx",
				  rpc_get_port(sap));
	if (rc) {
		rpcrdma_xprt_free_addresses(xprt);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rpcrdma_xprt_free_addresses - free the address strings
 * @xprt: transport
 */
void rpcrdma_xprt_free_addresses(struct rpc_xprt *xprt)
{
	static const u8 allocated[] = {
		RPC_DISPLAY_ADDR, RPC_DISPLAY_PORT, RPC_DISPLAY_HEX_ADDR,
		RPC_DISPLAY_HEX_PORT,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(allocated); i++) {
		kfree(xprt->address_strings[allocated[i]]);
		xprt->address_strings[allocated[i]] = NULL;
	}
}

/**
 * rpcrdma_xprt_print_stats - the "xprt: rdma" line of mountstats
 * @xprt: transport
 * @seq: where to
 * @stats: its counters, or NULL
 * @ep: its connection, or NULL
 *
 * Fields and their order are what tools parse: ten that every transport has,
 * then chunks, octets, copies and trouble, then regions. Some count what this
 * implementation does not have, and remain 0.
 */
void rpcrdma_xprt_print_stats(struct rpc_xprt *xprt, struct seq_file *seq,
			      const struct rpcrdma_requester_stats *stats,
			      const struct rpcrdma_ep *ep)
{
	static const struct rpcrdma_requester_stats none;
	long idle = 0;

	if (!stats)
		stats = &none;
	if (xprt_connected(xprt))
		idle = (long)(jiffies - xprt->last_used) / HZ;

	seq_printf(seq, "\txprt:\trdma %u %lu %lu %lu %ld %lu %lu %lu %llu %llu ",
		   0, xprt->stat.bind_count, xprt->stat.connect_count,
		   xprt->stat.connect_time / HZ, idle, xprt->stat.sends,
		   xprt->stat.recvs, xprt->stat.bad_xids, xprt->stat.req_u,
		   xprt->stat.bklog_u);
	seq_printf(seq, "%lu %lu %lu %llu %llu %llu %llu %lu %lu %lu %lu ",
		   stats->read_chunks, stats->write_chunks,
		   stats->reply_chunks, stats->offered_octets,
		   stats->placed_octets, stats->send_copied,
		   stats->recv_copied, stats->buffer_octets,
		   stats->failed_sends, stats->bad_replies,
		   stats->nomsg_calls);
	/* regions recycled, orphaned, allocated; local_inv; no Send; unused */
	seq_printf(seq, "%lu %lu %lu %lu %lu %lu\n", 0UL, 0UL,
		   ep ? (unsigned long)READ_ONCE(ep->nr_mrs) : 0UL,
		   stats->local_inv, stats->no_send_space, 0UL);
}
