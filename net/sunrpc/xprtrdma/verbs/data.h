/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of RPCs, and the means to transfer it: extents, MRs, pulled Replies,
 * transfers.
 */
#ifndef RPCRDMA_DATA_H
#define RPCRDMA_DATA_H

#include <rpcrdma/extent.h>

#include "endpoint.h"

/* Return the extent of @length bytes that starts at byte @offset of @pages. */
static inline struct rpcrdma_extent
rpcrdma_extent_of_pages(struct page **pages, u32 offset, u32 length)
{
	return (struct rpcrdma_extent){
		.pages	= pages + (offset >> PAGE_SHIFT),
		.offset	= offset_in_page(offset),
		.length	= length,
	};
}

/*
 * Return the extent of @length bytes at @p, which is in the linear mapping (kmalloc or
 * a page).
 */
static inline struct rpcrdma_extent rpcrdma_extent_of(void *p, u32 length)
{
	return (struct rpcrdma_extent){
		.linear	= p - offset_in_page(p),
		.offset	= offset_in_page(p),
		.length	= length,
	};
}

/* ---- MRs of a Requester's Calls and of a Responder's Replies ---- */

/* An MR (FRWR) of one connection */
struct verbs_mr {
	struct rpcrdma_mr	core;
	struct rpcrdma_ep	*ep;
	struct ib_mr		*ibmr;		/* NULL after the teardown */
	struct scatterlist	*sg;
	int			nents;		/* elements mapped, or 0 */
	enum dma_data_direction	dir;
	union {
		struct ib_reg_wr	reg_wr;
		struct ib_send_wr	inv_wr;
	};
};

/* Call rpcrdma_core_mrs_limits(). */
static inline struct rpcrdma_mr_limits
rpcrdma_mrs_limits(const struct rpcrdma_ep *ep);

/*
 * Prepare MRs for the memory in the @nr elements of @ext and append them to @mrs and,
 * as segments, to the last chunk of @lists. The Send that they are passed to exposes
 * them. No segment is longer than the peer accepts.
 * @remote_write: the peer may write (else read).
 * Return: 0; -EAGAIN if no MR is free, write_space() will be called; -EFAULT if a page
 * is missing; or another negative errno. On error @mrs keeps the MRs prepared so far:
 * the caller must rpcrdma_mrs_put() it.
 */
int rpcrdma_mrs_map(struct rpcrdma_ep *ep, struct list_head *mrs,
		    const struct rpcrdma_extent *ext, u32 nr,
		    bool remote_write, struct rpcrdma_lists *lists);

/*
 * rpcrdma_mrs_map() for an item in pages, which is planned to fit into one MR. It adds no
 * segment.
 */
int rpcrdma_mrs_map_item(struct rpcrdma_ep *ep, struct list_head *mrs,
			 const struct rpcrdma_call_item *item);

/*
 * Invalidate the MRs in @mrs and wait for the invalidation or for the end of the
 * teardown. No peer can access the memory afterwards. Also unmaps the MRs and returns
 * them to the pool; @mrs is empty then. Not from an upcall.
 * Context: process context, sleeps.
 */
void rpcrdma_mrs_release_sync(struct rpcrdma_ep *ep, struct list_head *mrs);

/*
 * Unmap MRs, none of which is exposed, and return them to the pool; @mrs is empty then.
 * write_space() may be called for RPCs that wait for MRs.
 * Context: process context; sleeps, briefly, only during the teardown.
 */
void rpcrdma_mrs_put(struct rpcrdma_ep *ep, struct list_head *mrs);

/* ---- Responder: Replies that the peer pulls ---- */

/*
 * A Reply that the peer pulls, with the Work Requests of its invalidation. Embedded in
 * the object that owns the memory of the Reply.
 */
struct verbs_exposure {
	struct rpcrdma_pull_entry core; /* release() is the owner's */
	struct rpcrdma_chain	chain;
};

/*
 * Prepare to expose the memory in @ext as the Reply that @plan wants to be pulled
 * (plan->read_length), and complete @plan. The Send with s->exposed = &x->core exposes
 * the memory read-only. May sleep, with a bound, while MRs are
 * allocated.
 * Return: 0, the teardown is held off until the Send or
 * rpcrdma_core_expose_cancel(); -EAGAIN if no
 * MRs became available in time; or another negative errno. plan->error is set if the
 * peer must be notified.
 */
int rpcrdma_expose(struct rpcrdma_ep *ep, struct verbs_exposure *x, u32 xid,
		   const struct rpcrdma_extent *ext, u32 nr,
		   struct rpcrdma_reply_plan *plan);

/* ---- Explicit RDMA: a Responder's, and a Requester's that pulls a Reply ---- */

/* RDMA Reads or Writes of one RPC, using the rdma_rw API */
struct rpcrdma_rw {
	struct rpcrdma_transfer	core;
	struct rpcrdma_chain	chain;		/* of the batch being posted */
	gfp_t			gfp;		/* for allocating its other parts */
	u32			elements;	/* space of @first; 0: it is in use */
	struct rpcrdma_rw_ctxt	*first;		/* memory of a part */
	/* Called once; the endpoint frees @rw afterwards. Process context. */
	void			(*done)(struct rpcrdma_rw *rw, bool ok);
	void			*priv;	/* the owner's; initially its memory */
};

static inline struct rpcrdma_rw *rpcrdma_rw_of(struct rpcrdma_transfer *t)
{
	return container_of(t, struct rpcrdma_rw, core);
}

/* Return the endpoint of a transfer. */
static inline struct rpcrdma_ep *rpcrdma_rw_ep(const struct rpcrdma_rw *rw)
{
	return rpcrdma_ep_of(rw->core.core);
}

/*
 * Begin a transfer, and hold off the teardown until it has ended or is freed.
 * @dir: DMA_FROM_DEVICE to Read, DMA_TO_DEVICE to Write
 * @elements: scatterlist elements that its first part is expected to need at most. That
 *	part is then allocated with the transfer. 0 if unknown
 * @priv: bytes of memory for its owner, at rw->priv, freed with it
 * @gfp: for all allocations of this transfer
 * Context: process context.
 * Return: the transfer; NULL if out of memory or the connection is closing.
 */
struct rpcrdma_rw *rpcrdma_rw_alloc(struct rpcrdma_ep *ep,
				    enum dma_data_direction dir, u32 elements,
				    size_t priv, gfp_t gfp);
/*
 * Fast path: begin, as with rpcrdma_rw_alloc(), a transfer of one part, between @segment
 * and its length in @pages from byte @at on. The part is not prepared.
 * Return: the transfer; NULL if it needs too many pages, or for any other reason: use
 * rpcrdma_rw_alloc() and rpcrdma_rw_add(), which report it.
 */
struct rpcrdma_rw *rpcrdma_rw_one(struct rpcrdma_ep *ep,
				  enum dma_data_direction dir,
				  const struct rpcrdma_segment *segment,
				  struct page **pages, u32 at, size_t priv,
				  gfp_t gfp);
/* Free an @rw that was not posted; done() is not called. */
void rpcrdma_rw_free(struct rpcrdma_rw *rw);

/*
 * Append the transfer of @length bytes between @chunk, starting at byte @chunk_offset,
 * and the memory in the @nr elements of @ext, starting at byte @offset.
 * Return: 0; -EINVAL if either is shorter; -EFAULT if a page is missing; -E2BIG if the
 * device has too few MRs for it; or another negative errno.
 */
int rpcrdma_rw_add(struct rpcrdma_rw *rw, const struct rpcrdma_lists *lists,
		   const struct rpcrdma_chunk *chunk, u32 chunk_offset,
		   const struct rpcrdma_extent *ext, u32 nr, u32 offset,
		   u32 length);

/*
 * Post Reads. When they have ended, rw->done() is called, with @ok false if the
 * connection is closing; the core continues a Call itself. They wait in order for Send
 * Queue space, and for the MRs that some devices need for Reads, without blocking the
 * caller. Consumes @rw.
 */
static inline void rpcrdma_rw_read(struct rpcrdma_rw *rw)
{
	rpcrdma_core_transfer_post(&rw->core);
}

#endif /* RPCRDMA_DATA_H */
