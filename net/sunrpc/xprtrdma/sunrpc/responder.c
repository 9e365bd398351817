// SPDX-License-Identifier: GPL-2.0
/*
 * The Responder, for either direction.
 *
 * Operation
 *
 * The core selects the parts of a Call to pull, and completes it (core/endpoint/calls.cc);
 * this file prepares the Reads into pages, and copies. A Reply is planned, built and sent
 * by one call of the core (core/endpoint/reply.cc). The core calls this file to copy what
 * is sent inline, to prepare Writes, and to expose what the peer pulls. server_reply.c has
 * the results of a server's Reply.
 *
 * Memory
 *
 * The pages of a server's Reply that the device reads are kept until its Writes, or
 * the pull, have ended: references move from the thread to the transfer, or an exposed
 * Reply gets its own, so that the thread can continue with other pages. They are
 * charged to the peer's quota. The Reply to a callback, which is in no such pages, is
 * copied to the memory of its Writes.
 *
 * Errors
 *
 * A function that fails undoes its own work; the core undoes that of the functions called
 * before.
 *
 * Locking
 *
 * This file has no lock. The structures belong to the calling thread until the Reply is
 * posted, and to the completion afterwards.
 */

#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/xdr.h>

#include <core/port_call.h>
#include <core/port_reply.h>

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

/* A Call that is pulled ahead of the threads may not wait for memory: see calls.cc. */
static gfp_t rpcrdma_call_gfp(const struct rpcrdma_recv *rv)
{
	if (likely(rv->queued.early))
		return GFP_NOWAIT | __GFP_NOWARN;
	return unlikely(rv->queued.at_once) ? RPCRDMA_GFP_CLIENT : GFP_KERNEL;
}

struct rpcrdma_transfer *
rpcrdma_port_call_read_one(struct rpcrdma_recv *rv,
			   const struct rpcrdma_segment *segment)
{
	struct rpcrdma_rw *rw;

	rw = rpcrdma_rw_one(rpcrdma_recv_ep(rv), DMA_FROM_DEVICE, segment,
			    rv->into, 0, 0, rpcrdma_call_gfp(rv));
	return likely(rw) ? &rw->core : NULL;
}

struct rpcrdma_transfer *rpcrdma_port_call_reads(struct rpcrdma_recv *rv)
{
	struct rpcrdma_rw *rw;

	rw = rpcrdma_rw_alloc(rpcrdma_recv_ep(rv), DMA_FROM_DEVICE, 0, 0,
			      rpcrdma_call_gfp(rv));
	return rw ? &rw->core : NULL;
}

int rpcrdma_port_call_read(struct rpcrdma_recv *rv, struct rpcrdma_transfer *t,
			   const struct rpcrdma_msg_range *range)
{
	struct rpcrdma_extent ext =
		rpcrdma_extent_of_pages(rv->into, 0, rv->pull.octets);

	return rpcrdma_rw_add(rpcrdma_rw_of(t), &rv->rx.lists, range->chunk,
			      range->from, &ext, 1, range->to, range->length);
}

void rpcrdma_port_call_fill(struct rpcrdma_recv *rv, u32 to, const void *from,
			    u32 length)
{
	rpcrdma_pages_fill(rv->into, to, from, length);
}

const void *rpcrdma_port_call_start(const struct rpcrdma_recv *rv)
{
	struct page **pages = rv->into;

	return page_address(pages[0]);
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

/* A client does not wait for memory that sending a Reply may free. */
static gfp_t rpcrdma_reply_gfp(const struct rpcrdma_svc_reply *a)
{
	return a->rqstp ? GFP_NOFS : RPCRDMA_GFP_CLIENT;
}

/* Return the pages of a server's Reply, in order, and set *@nr to their number. */
static __always_inline struct page **
rpcrdma_reply_pages(const struct rpcrdma_svc_reply *a, u32 *nr)
{
	struct svc_rqst *rqstp = a->rqstp;

	*nr = rqstp->rq_next_page - rqstp->rq_respages;
	return rqstp->rq_respages;
}

static __always_inline void rpcrdma_pages_hold(struct rpcrdma_ep *ep,
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

void rpcrdma_port_reply_copy(const struct rpcrdma_reply_out *out, u32 from,
			     u32 length, void *to)
{
	rpcrdma_xdr_copy_out(rpcrdma_svc_reply_of(out)->res, from, length, to);
}

struct rpcrdma_stream *
rpcrdma_port_reply_stream(const struct rpcrdma_reply_out *out, u32 octets,
			  const struct rpcrdma_lists *lists)
{
	return rpcrdma_stream_alloc(RPCRDMA_KIND_REPLY, out->xid, octets, lists,
				    rpcrdma_reply_gfp(rpcrdma_svc_reply_of(out)));
}

/* ---- Writes ---- */

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

/* The item is the first page data, so the head's page is not written from. */
struct rpcrdma_transfer *
rpcrdma_port_item_write(struct rpcrdma_ep_core *core,
			struct rpcrdma_reply_out *out,
			const struct rpcrdma_segment *segment)
{
	struct rpcrdma_svc_reply *a = rpcrdma_svc_reply_of(out);
	const struct xdr_buf *res = a->res;
	struct rpcrdma_reply_pages *held;
	struct rpcrdma_rw *rw;

	a->pages = rpcrdma_reply_pages(a, &a->nr_pages) + 1;
	a->nr_pages--;
	rw = rpcrdma_rw_one(rpcrdma_ep_of(core), DMA_TO_DEVICE, segment,
			    res->pages, res->page_base,
			    struct_size(held, pages, a->nr_pages), GFP_NOFS);
	if (unlikely(!rw))
		return NULL;
	a->nr_writes = 1;
	return &rw->core;
}

struct rpcrdma_transfer *
rpcrdma_port_reply_writes(struct rpcrdma_ep_core *core,
			  struct rpcrdma_reply_out *out, u32 from, u32 to)
{
	struct rpcrdma_svc_reply *a = rpcrdma_svc_reply_of(out);
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	const struct xdr_buf *res = a->res;
	u32 head = res->head[0].iov_len;
	struct rpcrdma_reply_pages *held;
	struct rpcrdma_rw *rw;

	a->nr_writes = 0;
	if (!a->rqstp) {
		rw = rpcrdma_rw_alloc(ep, DMA_TO_DEVICE, 0, res->len,
				      rpcrdma_reply_gfp(a));
		if (!rw)
			return NULL;
		rpcrdma_xdr_copy_out(res, 0, res->len, rw->priv);
		return &rw->core;
	}
	a->pages = rpcrdma_reply_pages(a, &a->nr_pages);
	/* The head's page is only needed if a Write reads from it. */
	if (a->nr_pages && from >= head && to <= head + res->page_len) {
		a->pages++;
		a->nr_pages--;
	}
	rw = rpcrdma_rw_alloc(ep, DMA_TO_DEVICE, a->nr_pages,
			      struct_size(held, pages, a->nr_pages),
			      rpcrdma_reply_gfp(a));
	return rw ? &rw->core : NULL;
}

int rpcrdma_port_reply_write(struct rpcrdma_reply_out *out,
			     struct rpcrdma_transfer *t,
			     const struct rpcrdma_lists *lists,
			     const struct rpcrdma_msg_range *range)
{
	struct rpcrdma_extent ext[RPCRDMA_XDR_EXTENTS] __uninitialized;
	struct rpcrdma_svc_reply *a = rpcrdma_svc_reply_of(out);
	struct rpcrdma_rw *rw = rpcrdma_rw_of(t);
	int nr = 1;

	if (a->rqstp) {
		nr = rpcrdma_xdr_extents(a->res, range->from, range->length,
					 ext, ARRAY_SIZE(ext));
		if (nr < 0)
			return nr;
		a->nr_writes++;
	} else {
		ext[0] = rpcrdma_extent_of(rw->priv + range->from,
					   range->length);
	}
	return rpcrdma_rw_add(rw, lists, range->chunk, range->to, ext, nr, 0,
			      range->length);
}

/*
 * All Writes of the Reply are prepared. They are counted here, because those that could
 * not be prepared are built again. The Writes of a Reply to a callback are from a copy
 * of it.
 */
void rpcrdma_port_reply_hold(struct rpcrdma_reply_out *out,
			     struct rpcrdma_transfer *t)
{
	struct rpcrdma_svc_reply *a = rpcrdma_svc_reply_of(out);
	struct rpcrdma_rw *rw = rpcrdma_rw_of(t);

	if (!a->rqstp)
		return;
	percpu_counter_add(&svcrdma_stat_write, a->nr_writes);
	rpcrdma_rw_keep_pages(rpcrdma_rw_ep(rw), rw, a->pages, a->nr_pages);
}

/* ---- Replies that the peer pulls ---- */

/* Describe the part that the peer pulls. Return the number of extents, or an errno. */
static int rpcrdma_reply_extents(const struct xdr_buf *res,
				 const struct rpcrdma_reply *reply,
				 const struct rpcrdma_reply_plan *plan,
				 struct rpcrdma_extent *ext)
{
	struct rpcrdma_msg_iter at = {};
	struct rpcrdma_msg_range range;
	int n, nr = 0;

	while (rpcrdma_reply_exposed_next(reply, plan, &at, &range)) {
		n = rpcrdma_xdr_extents(res, range.from, range.length,
					ext + nr, RPCRDMA_REPLY_EXTENTS - nr);
		if (n < 0)
			return n;
		nr += n;
	}
	return nr;
}

/*
 * A server's Reply, because a client exposes none (core/conn/settings.cc). The pages get
 * another reference, because Writes may take the existing one. May sleep, with a bound,
 * while MRs are allocated; it does not wait for MRs that the peer has.
 */
int rpcrdma_port_reply_expose(struct rpcrdma_ep_core *core,
			      struct rpcrdma_reply_out *out,
			      const struct rpcrdma_reply *reply,
			      struct rpcrdma_reply_plan *plan,
			      struct rpcrdma_pull_entry **x)
{
	struct rpcrdma_svc_reply *a = rpcrdma_svc_reply_of(out);
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct rpcrdma_extent ext[RPCRDMA_REPLY_EXTENTS];
	struct rpcrdma_reply_exposed *e;
	struct page **pages;
	int nr_ext, rc;
	u32 i, nr;

	nr_ext = rpcrdma_reply_extents(a->res, reply, plan, ext);
	if (nr_ext < 0)
		return nr_ext;
	pages = rpcrdma_reply_pages(a, &nr);
	e = kmalloc(struct_size(e, held.pages, nr), GFP_NOFS);
	if (!e)
		return -ENOMEM;
	e->exposed.core.release = rpcrdma_reply_unexposed;
	rc = rpcrdma_expose(ep, &e->exposed, out->xid, ext, nr_ext, plan);
	if (rc) {
		kfree(e);
		return rc;
	}
	for (i = 0; i < nr; i++)
		get_page(pages[i]);
	rpcrdma_pages_hold(ep, &e->held, pages, nr);
	*x = &e->exposed.core;
	return 0;
}

void rpcrdma_port_reply_refused(struct rpcrdma_ep_core *core,
				const struct rpcrdma_reply_out *out, u32 code)
{
	pr_warn_ratelimited("rpcrdma: Reply of %u bytes with xid 0x%08x to %pISpc cannot be sent (%s); the peer has to provide larger chunks\n",
			    out->length, out->xid, &rpcrdma_ep_of(core)->remote,
			    rpcrdma_error_name(code));
}
