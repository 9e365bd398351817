// SPDX-License-Identifier: GPL-2.0
/* Server transport: Replies, and the results that are sent in their Call's chunks. */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>

#include "../compat.h"
#include "internal.h"
#include "responder.h"
#include "settings.h"
#include "xdrbuf.h"

/* Pages that Writes read from */
struct rpcrdma_svc_pages {
	u32			nr;
	struct page		*pages[];
};

/* Pages that the peer pulls a Reply from, with references of their own */
struct rpcrdma_svc_exposed {
	struct rpcrdma_exposed	exposed;
	u32			nr;
	struct page		*pages[];
};

/**
 * rpcrdma_svc_result_payload - record a result that may be sent in a Write chunk
 * @rqstp: Call being processed
 * @offset: byte offset in rq_res
 * @length: bytes, without roundup
 *
 * The decision is made when the Reply is complete. A service may still revoke what it
 * has encoded, see rpcrdma_svc_items(). Always returns 0.
 */
int rpcrdma_svc_result_payload(struct svc_rqst *rqstp,
			       unsigned int offset, unsigned int length)
{
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	struct rpcrdma_svc_call *call = rv ? rv->priv : NULL;

	if (!call || !rv->rx.lists.nr_writes)
		return 0;
	/* Data that GSS signs or encrypts as a whole is not reduced. */
	if (rqstp->rq_auth_slack)
		return 0;
	/* A deferred Call is processed again from the beginning. */
	if (call->pass != rqstp->rq_stime) {
		call->pass = rqstp->rq_stime;
		call->nr_items = 0;
	}
	if (call->nr_items < ARRAY_SIZE(call->items)) {
		call->items[call->nr_items].position = offset;
		call->items[call->nr_items].length = length;
		call->nr_items++;
	}
	return 0;
}

/*
 * Add the items that the Reply still contains to @reply. An item that was revoked is
 * recognized by the word before it, which is the length of an item of variable length.
 * (The NFSv4 READLINK of some kernels reports the position of that word instead of the
 * item's.)
 */
static noinline_for_stack void
rpcrdma_svc_items(const struct svc_rqst *rqstp,
		  const struct rpcrdma_svc_call *call,
		  struct rpcrdma_reply *reply)
{
	const struct xdr_buf *res = &rqstp->rq_res;
	u32 i, position, length, end = 0;
	__be32 words[2];

	if (call->pass != rqstp->rq_stime)
		return;
	for (i = 0; i < call->nr_items; i++) {
		position = call->items[i].position;
		length = call->items[i].length;
		if (position < XDR_UNIT || position % XDR_UNIT ||
		    position > res->len || length > res->len - position)
			continue;
		words[1] = 0;
		rpcrdma_xdr_copy_out(res, position - XDR_UNIT,
				     min_t(u32, sizeof(words), res->len -
					   (position - XDR_UNIT)), words);
		if (be32_to_cpu(words[0]) != length) {
			if (!length || be32_to_cpu(words[1]) != length)
				continue;
			position += XDR_UNIT;
		}
		if (position < end ||
		    (u64)position + xdr_align_size(length) > res->len)
			continue;
		reply->items[reply->nr_items].position = position;
		reply->items[reply->nr_items].length = length;
		reply->nr_items++;
		end = position + xdr_align_size(length);
	}
}

/* Write @len bytes of rq_res, starting at @from, to @chunk, starting at @to. */
static int rpcrdma_svc_write(struct svc_rqst *rqstp, struct rpcrdma_rw *rw,
			     const struct rpcrdma_lists *lists,
			     const struct rpcrdma_chunk *chunk, u32 to,
			     u32 from, u32 len)
{
	struct rpcrdma_extent ext[RPCRDMA_XDR_EXTENTS] __uninitialized;
	int nr;

	nr = rpcrdma_xdr_extents(&rqstp->rq_res, from, len, ext,
				 ARRAY_SIZE(ext));
	if (nr < 0)
		return nr;
	percpu_counter_inc(&svcrdma_stat_write);
	return rpcrdma_rw_add(rw, lists, chunk, to, ext, nr, 0, len);
}

/*
 * Copy the data that is sent inline to @to, which has space for it, and add the data
 * for chunks to @rw, which is NULL if there is none. Return 0 or a negative errno.
 */
static int rpcrdma_svc_fill(struct svc_rqst *rqstp, struct rpcrdma_rw *rw,
			    const struct rpcrdma_reply *reply,
			    const struct rpcrdma_reply_plan *plan, void *to)
{
	u32 left = plan->inline_length;
	const struct rpcrdma_lists *lists = &plan->lists;
	const struct rpcrdma_chunk *chunk;
	struct rpcrdma_pieces at = {};
	struct rpcrdma_piece piece;
	int rc;

	while (rpcrdma_reply_next(reply, plan, &at, &piece)) {
		chunk = piece.chunk;
		if (!chunk && plan->reply_length)
			chunk = &lists->reply;
		if (chunk) {
			rc = rpcrdma_svc_write(rqstp, rw, lists, chunk,
					       piece.to, piece.from,
					       piece.length);
			if (rc)
				return rc;
		} else if (plan->format != RPCRDMA_SPECIAL) {
			if (unlikely(piece.length > left))
				return -EINVAL;
			rpcrdma_xdr_copy_out(&rqstp->rq_res, piece.from,
					     piece.length, to);
			to += piece.length;
			left -= piece.length;
		}
	}
	return unlikely(left) ? -EINVAL : 0;
}

/*
 * Move @nr pages of a thread to @to. sunrpc and its services leave no hole in the pages
 * of a Reply.
 */
static void rpcrdma_svc_take(struct page **to, struct page **pages, u32 nr)
{
	memcpy(to, pages, nr * sizeof(*pages));
	memset(pages, 0, nr * sizeof(*pages));
}

/* Release @nr pages of a thread, unless all of them have been moved away. */
static void rpcrdma_svc_put_pages(struct page **pages, u32 nr)
{
	if (!nr || !*pages)
		return;
	release_pages(pages, nr);
	memset(pages, 0, nr * sizeof(*pages));
}

static void rpcrdma_svc_written(struct rpcrdma_rw *rw, bool ok)
{
	struct rpcrdma_svc_pages *p = rw->priv;

	release_pages(p->pages, p->nr);
	rpcrdma_ep_give(rw->ep, RPCRDMA_MEMORY_REPLIES,
			(u64)p->nr << PAGE_SHIFT);
}

/* Return true if @plan writes nothing but page data of @res. */
static bool rpcrdma_svc_writes_pages_only(const struct xdr_buf *res,
					  const struct rpcrdma_reply *reply,
					  const struct rpcrdma_reply_plan *plan)
{
	const struct rpcrdma_item *last;

	if (plan->reply_length)
		return false;
	last = &reply->items[plan->nr_items - 1];
	return reply->items[0].position >= res->head[0].iov_len &&
	       last->position + last->length <=
	       res->head[0].iov_len + res->page_len;
}

/* Prepare a Reply with Writes; see rpcrdma_svc_prepare(). */
static noinline_for_stack struct rpcrdma_rw *
rpcrdma_svc_prepare_rw(struct svc_rqst *rqstp, struct rpcrdma_ep *ep,
		       const struct rpcrdma_reply *reply,
		       const struct rpcrdma_reply_plan *plan, void *to)
{
	struct page **pages = rqstp->rq_respages;
	u32 nr = rqstp->rq_next_page - pages;
	struct rpcrdma_svc_pages *p;
	struct rpcrdma_rw *rw;
	int rc;

	/* The head's page is only needed if a Write reads from it. */
	if (nr && rpcrdma_svc_writes_pages_only(&rqstp->rq_res, reply, plan)) {
		pages++;
		nr--;
	}
	rw = rpcrdma_rw_alloc(ep, DMA_TO_DEVICE, struct_size(p, pages, nr),
			      GFP_KERNEL);
	if (!rw)
		return ERR_PTR(-ENOMEM);
	rc = rpcrdma_svc_fill(rqstp, rw, reply, plan, to);
	if (rc) {
		rpcrdma_rw_free(rw);
		return ERR_PTR(rc);
	}

	p = rw->priv;
	p->nr = nr;
	rpcrdma_svc_take(p->pages, pages, nr);
	rpcrdma_ep_hold(ep, RPCRDMA_MEMORY_REPLIES, (u64)nr << PAGE_SHIFT);
	rw->done = rpcrdma_svc_written;
	return rw;
}

/*
 * Fill the message of a Reply and prepare its Writes, like rpcrdma_svc_fill().
 * Return: the Writes to be posted before the Reply, which hold the pages of rq_res from
 * then on; NULL if there are none; or an ERR_PTR, @rqstp keeps its pages then.
 */
static struct rpcrdma_rw *
rpcrdma_svc_prepare(struct svc_rqst *rqstp, struct rpcrdma_ep *ep,
		    const struct rpcrdma_reply *reply,
		    const struct rpcrdma_reply_plan *plan, void *to)
{
	if (unlikely(plan->nr_items || plan->reply_length))
		return rpcrdma_svc_prepare_rw(rqstp, ep, reply, plan, to);
	/* Fast path: copy it in one piece. A Reply to be pulled stays in place. */
	if (plan->inline_length)
		rpcrdma_xdr_copy_out(&rqstp->rq_res, 0, plan->inline_length,
				     to);
	return NULL;
}

/* Release the pages of a pulled Reply, which no peer can access any more. */
static void rpcrdma_svc_unexposed(struct rpcrdma_exposed *x)
{
	struct rpcrdma_svc_exposed *e =
		container_of(x, struct rpcrdma_svc_exposed, exposed);

	release_pages(e->pages, e->nr);
	rpcrdma_ep_give(x->ep, RPCRDMA_MEMORY_REPLIES,
			(u64)e->nr << PAGE_SHIFT);
	kfree(e);
}

/*
 * Maximum number of extents of the data that @plan does not send in Write chunks: the
 * ranges before, between and after these chunks. One of them may extend over all parts
 * of the xdr_buf; each of the others then is in one part.
 */
#define RPCRDMA_SVC_STREAM	(RPCRDMA_MAX_WRITE_CHUNKS + RPCRDMA_XDR_EXTENTS)

static int rpcrdma_svc_stream(const struct svc_rqst *rqstp,
			      const struct rpcrdma_reply *reply,
			      const struct rpcrdma_reply_plan *plan,
			      struct rpcrdma_extent *ext)
{
	struct rpcrdma_pieces at = {};
	struct rpcrdma_piece piece;
	int n, nr = 0;

	while (rpcrdma_reply_next(reply, plan, &at, &piece)) {
		if (piece.chunk)
			continue;
		n = rpcrdma_xdr_extents(&rqstp->rq_res, piece.from,
					piece.length, ext + nr,
					RPCRDMA_SVC_STREAM - nr);
		if (n < 0)
			return n;
		nr += n;
	}
	return nr;
}

/*
 * Expose the rest of rq_res for the peer to pull, and complete @plan. The pages get
 * another reference, because Writes may take the existing one. May sleep, with a bound,
 * while MRs are allocated; it does not wait for MRs that the peer has.
 * Return: the exposure, or an ERR_PTR. plan->error is set if the peer must be notified.
 */
static noinline_for_stack struct rpcrdma_exposed *
rpcrdma_svc_expose(struct svc_rqst *rqstp, struct rpcrdma_svc_conn *conn,
		   const struct rpcrdma_reply *reply,
		   struct rpcrdma_reply_plan *plan)
{
	u32 i, nr = rqstp->rq_next_page - rqstp->rq_respages;
	struct rpcrdma_extent ext[RPCRDMA_SVC_STREAM];
	struct rpcrdma_svc_exposed *e;
	int nr_ext, rc;

	nr_ext = rpcrdma_svc_stream(rqstp, reply, plan, ext);
	if (nr_ext < 0)
		return ERR_PTR(nr_ext);
	e = kmalloc(struct_size(e, pages, nr), GFP_KERNEL);
	if (!e)
		return ERR_PTR(-ENOMEM);
	e->exposed.release = rpcrdma_svc_unexposed;
	rc = rpcrdma_expose(conn->ep, &e->exposed, reply->xid, ext, nr_ext,
			    plan);
	if (rc) {
		kfree(e);
		return ERR_PTR(rc);
	}
	for (i = 0; i < nr; i++) {
		e->pages[i] = rqstp->rq_respages[i];
		get_page(e->pages[i]);
	}
	e->nr = nr;
	rpcrdma_ep_hold(conn->ep, RPCRDMA_MEMORY_REPLIES,
			(u64)nr << PAGE_SHIFT);
	return &e->exposed;
}

/*
 * Release the thread's references to the pages of @x: the peer pulls from these pages,
 * so this thread must not write its next Reply there. Writes may have taken the
 * references already, all of them or all except that to the head's page.
 */
static void rpcrdma_svc_give_pages(struct svc_rqst *rqstp,
				   struct rpcrdma_exposed *x)
{
	u32 nr = container_of(x, struct rpcrdma_svc_exposed, exposed)->nr;

	if (!nr)
		return;
	rpcrdma_svc_put_pages(rqstp->rq_respages, 1);
	rpcrdma_svc_put_pages(rqstp->rq_respages + 1, nr - 1);
}

/* Notify the peer that this Reply cannot be sent, now or later (7.3). Return 0. */
static int rpcrdma_svc_no_reply(struct rpcrdma_ep *ep, u32 xid, u32 length,
				u32 code, u32 arg0, u32 arg1)
{
	pr_warn_ratelimited("svcrdma: Reply %08x of %u octets to %pISpc cannot be sent (%s): the client has to offer other room for it\n",
			    xid, length, &ep->remote, rpcrdma_error_name(code));
	rpcrdma_ep_send_error(ep, xid, code, arg0, arg1);
	return 0;
}

/*
 * Handle the failure @rc to build a Reply: as the engine decides, reply to its Call
 * with an ERROR or close the connection (7.4). The return values are those of sendto.
 */
static int rpcrdma_svc_cannot(struct rpcrdma_svc_conn *conn, u32 xid,
			      u32 length, int rc)
{
	struct rpcrdma_remedy remedy =
		rpcrdma_remedy_for(RPCRDMA_FAILED_REPLY, rc);

	if (remedy.kind == RPCRDMA_REMEDY_GIVE_UP)
		return rpcrdma_svc_no_reply(conn->ep, xid, length,
					    rpcrdma_refusal_code(remedy.refusal),
					    0, 0);
	rpcrdma_svc_fail(conn, "no resources to send a Reply");
	return -ENOTCONN;
}

/*
 * Release the Call early if a Reply is a credit (version 1): its Receive must be posted
 * before the Reply is sent, and the Call is not needed any more.
 */
static void rpcrdma_svc_grant(struct svc_rqst *rqstp, struct rpcrdma_ep *ep)
{
	if (likely(!rpcrdma_reply_is_credit(&ep->core.conn)))
		return;
	rpcrdma_svc_call_release(rqstp->rq_xprt_ctxt);
	rqstp->rq_xprt_ctxt = NULL;
}

/* Send a Reply in one message. The return values are those of sendto. */
static int rpcrdma_svc_send_one(struct svc_rqst *rqstp,
				struct rpcrdma_svc_conn *conn,
				const struct rpcrdma_reply *reply,
				struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	struct rpcrdma_send *s = rv->send;
	struct rpcrdma_exposed *x = NULL;
	struct rpcrdma_ep *ep = rpcrdma_send_ep(s);
	struct rpcrdma_rw *rw;
	int rc;

	rv->send = NULL;
	if (plan->read_length) {
		/*
		 * The header names the memory, which must therefore be exposed first.
		 */
		x = rpcrdma_svc_expose(rqstp, conn, reply, plan);
		rc = PTR_ERR(x);
		if (IS_ERR(x))
			goto out_put;
	}
	rc = rpcrdma_send_begin(s, RPCRDMA_KIND_REPLY, plan->format,
				reply->xid, plan->inline_length, &plan->lists,
				GFP_NOFS);
	if (unlikely(rc))
		goto out_cancel;
	rw = rpcrdma_svc_prepare(rqstp, ep, reply, plan,
				 s->buf + s->header_len);
	rc = PTR_ERR(rw);
	if (IS_ERR(rw))
		goto out_cancel;
	if (x)
		rpcrdma_svc_give_pages(rqstp, x);
	/*
	 * The segments of @plan, which the Call holds, are not needed any more either.
	 */
	rpcrdma_svc_grant(rqstp, ep);
	if (x)
		s->exposed = &x->core;
	return rpcrdma_send_reply(s, rw, plan->inv_handle, plan->format,
				  &plan->lists);

out_cancel:
	if (x) {
		rpcrdma_expose_cancel(x);
		x->release(x);
	}
out_put:
	rpcrdma_send_put(s);
	if (plan->error)
		return rpcrdma_svc_no_reply(ep, reply->xid, reply->length,
					    plan->error, plan->arg[0],
					    plan->arg[1]);
	return rpcrdma_svc_cannot(conn, reply->xid, reply->length, rc);
}

/* Send a continued Reply (4.4.2). The return values are those of sendto. */
static int rpcrdma_svc_send_parts(struct svc_rqst *rqstp,
				  struct rpcrdma_svc_conn *conn,
				  const struct rpcrdma_reply *reply,
				  const struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_stream *st;
	struct rpcrdma_rw *rw;

	st = rpcrdma_stream_alloc(RPCRDMA_KIND_REPLY, reply->xid,
				  plan->inline_length, &plan->lists, GFP_NOFS);
	if (!st)
		return rpcrdma_svc_cannot(conn, reply->xid, reply->length,
					  -ENOMEM);
	rw = rpcrdma_svc_prepare(rqstp, conn->ep, reply, plan, st->data);
	if (IS_ERR(rw)) {
		rpcrdma_stream_free(st);
		return rpcrdma_svc_cannot(conn, reply->xid, reply->length,
					  PTR_ERR(rw));
	}
	return rpcrdma_send_continued_reply(conn->ep, st, rw,
					    plan->inv_handle);
}

/*
 * Release the pages of a copied Reply, as sunrpc would do next, except for the head's
 * page: it has no other user, so the thread keeps it for its next Reply. The others may
 * be pages of a file.
 */
static void rpcrdma_svc_free_respages(struct svc_rqst *rqstp)
{
	struct page **pages = rqstp->rq_respages + 1;

	if (rqstp->rq_next_page > pages)
		rpcrdma_svc_put_pages(pages, rqstp->rq_next_page - pages);
	rpcrdma_rqst_keep_first(rqstp);
}

/* Send a Reply as the engine plans it. The return values are those of sendto. */
static noinline_for_stack int
rpcrdma_svc_send_planned(struct svc_rqst *rqstp, struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	struct rpcrdma_ep *ep = conn->ep;
	/* More than a KiB, of which a Reply seldom uses more than a few words */
	struct rpcrdma_reply_plan plan __uninitialized;
	struct rpcrdma_reply reply __uninitialized;

	reply.xid = rv->rx.xid;
	reply.length = rqstp->rq_res.len;
	reply.nr_items = 0;
	reply.reverse = 0;
	if (rv->priv)
		rpcrdma_svc_items(rqstp, rv->priv, &reply);
	rpcrdma_plan_reply(&ep->core.conn, &rv->rx.lists, &reply, &plan);
	if (unlikely(plan.error))
		return rpcrdma_svc_no_reply(ep, reply.xid, reply.length,
					    plan.error, plan.arg[0],
					    plan.arg[1]);
	if (plan.format == RPCRDMA_CONTINUED)
		return rpcrdma_svc_send_parts(rqstp, conn, &reply, &plan);
	return rpcrdma_svc_send_one(rqstp, conn, &reply, &plan);
}

/* Send a Reply that needs no plan. The return values are those of sendto. */
static int rpcrdma_svc_send_plain(struct svc_rqst *rqstp,
				  struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	const struct xdr_buf *res = &rqstp->rq_res;
	struct rpcrdma_send *s = rv->send;
	struct rpcrdma_ep *ep = conn->ep;
	u32 inv_handle;
	int rc;

	inv_handle = rpcrdma_reply_invalidates(&ep->core.conn, &rv->rx.lists);
	rv->send = NULL;
	rc = rpcrdma_send_begin(s, RPCRDMA_KIND_REPLY, RPCRDMA_INLINE,
				rv->rx.xid, res->len, NULL, GFP_NOFS);
	if (unlikely(rc)) {
		rpcrdma_send_put(s);
		return rpcrdma_svc_cannot(conn, rv->rx.xid, res->len, rc);
	}
	rpcrdma_xdr_copy_out(res, 0, res->len, s->buf + s->header_len);
	rpcrdma_svc_grant(rqstp, ep);
	return rpcrdma_send_reply(s, NULL, inv_handle, RPCRDMA_INLINE, NULL);
}

/**
 * rpcrdma_svc_sendto - send a Reply
 * @rqstp: Call with its Reply in rq_res
 *
 * The engine decides how the Reply is conveyed (6.4). If there is no method, the peer
 * gets an ERROR. If resources are exhausted, the connection ends (7.4), and the peer
 * retransmits on a new one.
 * Context: service thread; does not wait for the peer, but possibly for memory.
 * Return: 0 or -ENOTCONN.
 */
int rpcrdma_svc_sendto(struct svc_rqst *rqstp)
{
	struct svc_xprt *xprt = rqstp->rq_xprt;
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_c(xprt);
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	struct rpcrdma_ep *ep = conn->ep;
	int rc;

	if (!rv || svc_xprt_is_dead(xprt) || !rpcrdma_ep_is_open(ep))
		return -ENOTCONN;
	if (likely(rpcrdma_reply_is_plain(&ep->core.conn, &rv->rx.lists,
					  rqstp->rq_res.len)))
		rc = rpcrdma_svc_send_plain(rqstp, conn);
	else
		rc = rpcrdma_svc_send_planned(rqstp, conn);
	rpcrdma_svc_free_respages(rqstp);
	return rc;
}
