// SPDX-License-Identifier: GPL-2.0
/*
 * The Responder, for either direction.
 *
 * Operation
 *
 * A Call with Read chunks is pulled into pages, and completed from its inline part. A
 * Reply is conveyed as the core has planned it: in a message or several, in the chunks
 * of its Call, or exposed for the peer to pull. The Writes and the Send that follows
 * them are posted in one chain if that fits the Send Queue.
 *
 * Memory
 *
 * The pages of a server's Reply that the device reads are kept until its Writes, or
 * the pull, have ended: references move from the thread to the transfer, or an exposed
 * Reply gets its own, so that the thread can continue with other pages. They are
 * charged to the peer's quota. The Reply to a callback, which is in no such pages, is
 * copied to the memory of its Writes. The inline part is copied to the Send context. A
 * server has reserved that before the Call was executed; a client gets it here, or
 * retries.
 *
 * Errors
 *
 * A failure is remedied by rpcrdma_core_remedy(): the Reply is retried, an ERROR is
 * sent in its place, or the connection is closed, after which the peer sends the Call
 * again. A Call that is malformed is refused before it is executed.
 *
 * Locking
 *
 * This file has no lock. The structures belong to the calling thread until the Reply is
 * posted, and to the completion afterwards.
 */

#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/sunrpc/xdr.h>

#include "../compat.h"
#include "responder.h"
#include "settings.h"
#include "xdrbuf.h"

/* ---- Calls ---- */

void rpcrdma_pages_fill(struct page **pages, u32 to, const void *from,
			u32 len)
{
	u32 n;

	for (; len; len -= n, to += n) {
		void *p = page_address(pages[to >> PAGE_SHIFT]) +
			  offset_in_page(to);

		n = min_t(u32, len, PAGE_SIZE - offset_in_page(to));
		/* For the same reason as in rpcrdma_xdr_copy_pages() */
		OPTIMIZER_HIDE_VAR(n);
		if (from) {
			memcpy(p, from, n);
			from += n;
		} else {
			memset(p, 0, n);
		}
	}
}

/*
 * Prepare the Reads of a Call, of @item or all its chunks, to @ext. Return the transfer
 * or an ERR_PTR.
 */
static noinline_for_stack struct rpcrdma_rw *
rpcrdma_call_reads(struct rpcrdma_recv *rv, const struct rpcrdma_chunk *item,
		   const struct rpcrdma_extent *ext, gfp_t gfp)
{
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	struct rpcrdma_msg_iter at = {};
	struct rpcrdma_msg_range range;
	struct rpcrdma_rw *rw;
	int rc = 0;

	rw = rpcrdma_rw_alloc(rpcrdma_recv_ep(rv), DMA_FROM_DEVICE, 0, 0, gfp);
	if (!rw)
		return ERR_PTR(-ENOMEM);
	if (item)
		rc = rpcrdma_rw_add(rw, lists, item, 0, ext, 1, 0, ext->length);
	while (!item && !rc && rpcrdma_call_iter_next(&rv->rx, &at, &range))
		if (range.origin == RPCRDMA_RANGE_CHUNK)
			rc = rpcrdma_rw_add(rw, lists, range.chunk, range.from,
					    ext, 1, range.to, range.length);
	if (!rc)
		return rw;
	rpcrdma_rw_free(rw);
	return ERR_PTR(rc);
}

int rpcrdma_call_pull_any(struct rpcrdma_recv *rv,
			  const struct rpcrdma_chunk *item,
			  struct page **pages, u32 octets, gfp_t gfp,
			  void (*done)(struct rpcrdma_rw *rw, bool ok),
			  void *priv)
{
	struct rpcrdma_extent ext = rpcrdma_extent_of_pages(pages, 0, octets);
	struct rpcrdma_rw *rw;

	rw = rpcrdma_call_reads(rv, item, &ext, gfp);
	if (IS_ERR(rw))
		return PTR_ERR(rw);
	rw->priv = priv;
	rw->done = done;
	rpcrdma_rw_read(rw);
	return 0;
}

enum rpcrdma_refusal rpcrdma_call_complete(const struct rpcrdma_recv *rv,
					   struct page **pages)
{
	struct rpcrdma_msg_iter at = {};
	struct rpcrdma_msg_range range;

	while (rpcrdma_call_iter_next(&rv->rx, &at, &range)) {
		if (range.origin != RPCRDMA_RANGE_CHUNK)
			rpcrdma_pages_fill(
				pages, range.to,
				range.origin == RPCRDMA_RANGE_INLINE ?
					rv->payload + range.from :
					NULL,
				range.length);
	}
	return rpcrdma_call_refusal(&rv->rx, page_address(pages[0]));
}

/* ---- Replies ---- */

/* Pages from which a Reply is written or pulled, and the charge for them */
struct rpcrdma_reply_pages {
	u32			nr;
	struct page		*pages[];
};

/* A Reply that the peer pulls, from pages with references of their own */
struct rpcrdma_reply_exposed {
	struct verbs_exposure	exposed;
	struct rpcrdma_reply_pages held;	/* last */
};

/*
 * Maximum number of extents of the data that a plan does not send in Write chunks: the
 * ranges before, between and after these chunks. One of them may extend over all parts
 * of the xdr_buf; each of the others then is in one part.
 */
#define RPCRDMA_REPLY_EXTENTS	(RPCRDMA_MAX_WRITE_CHUNKS + RPCRDMA_XDR_EXTENTS)

static void rpcrdma_pages_hold(struct rpcrdma_ep *ep,
			       struct rpcrdma_reply_pages *held,
			       struct page **pages, u32 nr)
{
	held->nr = nr;
	memcpy(held->pages, pages, nr * sizeof(*pages));
	rpcrdma_ep_charge(ep, RPCRDMA_QUOTA_REPLIES, (u64)nr << PAGE_SHIFT);
}

static void rpcrdma_pages_release(struct rpcrdma_ep *ep,
				  struct rpcrdma_reply_pages *held)
{
	release_pages(held->pages, held->nr);
	rpcrdma_ep_uncharge(ep, RPCRDMA_QUOTA_REPLIES,
			    (u64)held->nr << PAGE_SHIFT);
}

void rpcrdma_pages_put(struct page **pages, u32 nr)
{
	if (!nr || !*pages)
		return;
	release_pages(pages, nr);
	memset(pages, 0, nr * sizeof(*pages));
}

static void rpcrdma_reply_written(struct rpcrdma_rw *rw, bool ok)
{
	rpcrdma_pages_release(rpcrdma_rw_ep(rw), rw->priv);
}

/* Release a pulled Reply, which no peer can access any more. */
static void rpcrdma_reply_unexposed(struct rpcrdma_pull_entry *x)
{
	struct rpcrdma_reply_exposed *e =
		container_of(x, struct rpcrdma_reply_exposed, exposed.core);

	rpcrdma_pages_release(rpcrdma_ep_of(x->core), &e->held);
	kfree(e);
}

/* Write @range of the Reply to its chunk. */
static int rpcrdma_reply_write(struct rpcrdma_reply_out *a,
			       const struct rpcrdma_msg_range *range)
{
	struct rpcrdma_extent ext[RPCRDMA_XDR_EXTENTS] __uninitialized;
	int nr = 1;

	if (a->pages) {
		nr = rpcrdma_xdr_extents(a->res, range->from, range->length,
					 ext, ARRAY_SIZE(ext));
		if (nr < 0)
			return nr;
		percpu_counter_inc(&svcrdma_stat_write);
	} else {
		ext[0] = rpcrdma_extent_of(a->rw->priv + range->from,
					   range->length);
	}
	return rpcrdma_rw_add(a->rw, &a->plan->lists, range->chunk, range->to,
			      ext, nr, 0, range->length);
}

/* Copy the inline part to @to, which has space for it, and write the rest. */
static int rpcrdma_reply_place(struct rpcrdma_reply_out *a, void *to)
{
	const struct rpcrdma_reply_plan *plan = a->plan;
	u32 left = plan->inline_length;
	struct rpcrdma_msg_iter at = {};
	struct rpcrdma_msg_range range;
	u32 rest;
	int rc;

	if (likely(rpcrdma_reply_only_item(a->reply, plan, &range, &rest))) {
		rpcrdma_xdr_copy_out(a->res, 0, range.from, to);
		if (left > range.from)
			rpcrdma_xdr_copy_out(a->res, rest, left - range.from,
					     to + range.from);
		return rpcrdma_reply_write(a, &range);
	}
	while (rpcrdma_reply_iter_next(a->reply, plan, &at, &range)) {
		if (range.chunk) {
			rc = rpcrdma_reply_write(a, &range);
			if (rc)
				return rc;
		} else if (range.origin == RPCRDMA_RANGE_INLINE) {
			if (unlikely(range.length > left))
				return -EINVAL;
			rpcrdma_xdr_copy_out(a->res, range.from, range.length,
					     to);
			to += range.length;
			left -= range.length;
		}
	}
	return unlikely(left) ? -EINVAL : 0;
}

/* Return true if the Reply's Writes are only from page data. */
static bool rpcrdma_reply_writes_pages_only(const struct rpcrdma_reply_out *a)
{
	const struct rpcrdma_reply_plan *plan = a->plan;
	const struct rpcrdma_item *items = a->reply->items, *last;
	const struct xdr_buf *res = a->res;

	if (plan->reply_length)
		return false;
	last = &items[plan->nr_items - 1];
	return items[0].position >= res->head[0].iov_len &&
	       last->position + last->length <=
	       res->head[0].iov_len + res->page_len;
}

/*
 * Have the Writes in @rw, which has memory for that, keep @nr pages at @pages, in which
 * there is no hole.
 */
static __always_inline void rpcrdma_rw_keep_pages(struct rpcrdma_ep *ep,
						  struct rpcrdma_rw *rw,
						  struct page **pages, u32 nr)
{
	rpcrdma_pages_hold(ep, rw->priv, pages, nr);
	memset(pages, 0, nr * sizeof(*pages));
	rw->done = rpcrdma_reply_written;
}

struct rpcrdma_rw *rpcrdma_reply_write_one(struct rpcrdma_ep *ep,
					   const struct rpcrdma_lists *lists,
					   const struct xdr_buf *res,
					   u32 length, struct page **pages,
					   u32 nr)
{
	struct rpcrdma_reply_pages *held;
	struct rpcrdma_rw *rw;

	rw = rpcrdma_rw_write_one(ep, lists, res->pages, res->page_base, length,
				  struct_size(held, pages, nr));
	if (unlikely(!rw))
		return NULL;
	percpu_counter_inc(&svcrdma_stat_write);
	rpcrdma_rw_keep_pages(ep, rw, pages, nr);
	return rw;
}

/*
 * Like rpcrdma_reply_fill(), for a Reply with Writes. On success they have the pages or
 * the copy.
 */
static noinline_for_stack int rpcrdma_reply_fill_rw(struct rpcrdma_reply_out *a,
						    void *to)
{
	struct rpcrdma_reply_pages *held;
	struct page **pages = a->pages;
	u32 nr = a->nr_pages;
	int rc;

	/* The head's page is only needed if a Write reads from it. */
	if (nr && rpcrdma_reply_writes_pages_only(a)) {
		pages++;
		nr--;
	}
	a->rw = rpcrdma_rw_alloc(a->ep, DMA_TO_DEVICE, nr,
				 pages ? struct_size(held, pages, nr) :
					 a->res->len, a->gfp);
	if (!a->rw)
		return -ENOMEM;
	if (!pages)
		rpcrdma_xdr_copy_out(a->res, 0, a->res->len, a->rw->priv);
	rc = rpcrdma_reply_place(a, to);
	if (rc) {
		rpcrdma_rw_free(a->rw);
		return rc;
	}
	if (pages)
		rpcrdma_rw_keep_pages(a->ep, a->rw, pages, nr);
	return 0;
}

/* Copy the inline part to @to, and prepare the Writes, a->rw, if there are any. */
static int rpcrdma_reply_fill(struct rpcrdma_reply_out *a, void *to)
{
	a->rw = NULL;
	if (unlikely(a->plan->nr_items || a->plan->reply_length))
		return rpcrdma_reply_fill_rw(a, to);
	/* Fast path: copy all of it at once. A Reply to be pulled stays in place. */
	if (a->plan->inline_length)
		rpcrdma_xdr_copy_out(a->res, 0, a->plan->inline_length, to);
	return 0;
}

/*
 * Describe the part that is not sent in Write chunks. Return the number of extents, or
 * an errno.
 */
static int rpcrdma_reply_extents(const struct rpcrdma_reply_out *a,
				 struct rpcrdma_extent *ext)
{
	struct rpcrdma_msg_iter at = {};
	struct rpcrdma_msg_range range;
	int n, nr = 0;

	while (rpcrdma_reply_iter_next(a->reply, a->plan, &at, &range)) {
		if (range.origin != RPCRDMA_RANGE_EXPOSED)
			continue;
		n = rpcrdma_xdr_extents(a->res, range.from, range.length,
					ext + nr, RPCRDMA_REPLY_EXTENTS - nr);
		if (n < 0)
			return n;
		nr += n;
	}
	return nr;
}

/*
 * Expose the rest of a->res for the peer to pull, and complete the plan. The pages get
 * another reference, because Writes may take the existing one. May sleep, with a bound,
 * while MRs are allocated; it does not wait for MRs that the peer has.
 * Return: the exposure, or an ERR_PTR. plan->error is set if the peer must be notified.
 */
static noinline_for_stack struct verbs_exposure *
rpcrdma_reply_expose(struct rpcrdma_reply_out *a)
{
	struct rpcrdma_extent ext[RPCRDMA_REPLY_EXTENTS];
	u32 i, nr = a->nr_pages;
	struct rpcrdma_reply_exposed *e;
	int nr_ext, rc;

	nr_ext = rpcrdma_reply_extents(a, ext);
	if (nr_ext < 0)
		return ERR_PTR(nr_ext);
	e = kmalloc(struct_size(e, held.pages, nr), a->gfp);
	if (!e)
		return ERR_PTR(-ENOMEM);
	e->exposed.core.release = rpcrdma_reply_unexposed;
	rc = rpcrdma_expose(a->ep, &e->exposed, a->reply->xid, ext, nr_ext,
			    a->plan);
	if (rc) {
		kfree(e);
		return ERR_PTR(rc);
	}
	for (i = 0; i < nr; i++)
		get_page(a->pages[i]);
	rpcrdma_pages_hold(a->ep, &e->held, a->pages, nr);
	return &e->exposed;
}

/*
 * Release the user's references to the pages of an exposed Reply: the peer pulls from
 * these pages, so the next Reply must not be written there. Writes may have taken the
 * references already, all of them or all except that to the head's page.
 */
static void rpcrdma_reply_give_pages(struct rpcrdma_reply_out *a)
{
	if (!a->nr_pages)
		return;
	rpcrdma_pages_put(a->pages, 1);
	rpcrdma_pages_put(a->pages + 1, a->nr_pages - 1);
}

/* Build a continued Reply (4.4.2). */
static int rpcrdma_reply_build_stream(struct rpcrdma_reply_out *a)
{
	int rc;

	a->stream = rpcrdma_stream_alloc(RPCRDMA_KIND_REPLY, a->reply->xid,
					 a->plan->inline_length,
					 &a->plan->lists, a->gfp);
	if (!a->stream)
		return -ENOMEM;
	rc = rpcrdma_reply_fill(a, a->stream->data);
	if (rc)
		rpcrdma_stream_free(a->stream);
	return rc;
}

int rpcrdma_reply_build(struct rpcrdma_reply_out *a)
{
	struct rpcrdma_reply_plan *plan = a->plan;
	struct verbs_exposure *x = NULL;
	struct rpcrdma_send *s;
	int rc;

	a->stream = NULL;
	if (unlikely(plan->error))
		return -EMSGSIZE;
	if (plan->format == RPCRDMA_CONTINUED)
		return rpcrdma_reply_build_stream(a);

	s = a->send ?: rpcrdma_send_get(a->ep);
	if (!s)
		return -ENOMEM;
	if (plan->read_length) {
		/*
		 * The header names the memory, which must therefore be exposed first.
		 */
		x = rpcrdma_reply_expose(a);
		rc = PTR_ERR(x);
		if (IS_ERR(x))
			goto out_put;
	}
	rc = rpcrdma_core_send_begin(s, RPCRDMA_KIND_REPLY, plan->format,
				     a->reply->xid, plan->inline_length,
				     &plan->lists);
	if (likely(!rc))
		rc = rpcrdma_reply_fill(a, s->buf + s->header_len);
	if (unlikely(rc))
		goto out_cancel;
	if (x) {
		rpcrdma_reply_give_pages(a);
		s->exposed = &x->core;
	}
	a->send = s;
	return 0;

out_cancel:
	if (x) {
		rpcrdma_expose_cancel(x);
		x->core.release(&x->core);
	}
out_put:
	if (!a->send)
		rpcrdma_send_put(s);
	return rc;
}

int rpcrdma_reply_send(struct rpcrdma_reply_out *a)
{
	struct rpcrdma_reply_plan *plan = a->plan;

	if (a->stream)
		return rpcrdma_send_continued_reply(a->ep, a->stream, a->rw,
						    plan->inv_handle);
	return rpcrdma_send_reply(a->send, a->rw, plan->inv_handle,
				  plan->format, &plan->lists);
}

bool rpcrdma_reply_give_up(struct rpcrdma_ep *ep, u32 xid, u32 length,
			   const struct rpcrdma_reply_plan *plan,
			   enum rpcrdma_failed failed, int rc)
{
	struct rpcrdma_remedy remedy =
		rpcrdma_core_remedy(&ep->core, xid, failed, rc, plan,
				    "no resources to send a Reply");

	if (remedy.kind != RPCRDMA_REMEDY_GIVE_UP)
		return false;
	pr_warn_ratelimited("rpcrdma: Reply of %u bytes with xid 0x%08x to %pISpc cannot be sent (%s); the peer has to provide larger chunks\n",
			    length, xid, &ep->remote,
			    rpcrdma_error_name(remedy.code));
	return true;
}
