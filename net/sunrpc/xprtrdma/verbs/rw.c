// SPDX-License-Identifier: GPL-2.0
/*
 * Explicit RDMA: Reads and Writes of memory that the peer has exposed, using the
 * rdma_rw API, which knows each device's requirements.
 *
 * Operation
 *
 * A transfer is a list of parts. The core decides how a chunk is split into parts, and
 * when they are posted (core/endpoint/transfer.cc). For each part this file builds a
 * scatterlist of local memory, and the API maps it and prepares its Work Requests.
 * Reads are posted in batches with one doorbell each. The Writes of a Reply are chained
 * before its Send if they fit into one chain, and are posted in batches before it
 * otherwise. Reads that lack MRs are prepared again by one work item of the connection,
 * in order.
 *
 * Memory
 *
 * The memory of the owner is allocated with the transfer, as is the first part if it is
 * small and its size is known. Other parts are allocated separately. The pages remain
 * the owner's until done() is called, or the core continues the Call of the Reads. The
 * end of a transfer unmaps and frees its parts, does one of these, and then frees the
 * transfer. From its allocation until then a transfer
 * holds off the teardown, which itself ends those that are posted or queued. The API
 * allocates with GFP_KERNEL. It is called under memalloc_nofs_save(), because memory
 * reclaim may wait for a teardown.
 *
 * Errors
 *
 * A lack of free MRs is no error of a Read: the transfer returns its MRs and waits,
 * see core/queue/read_mr_pool.cc. If an MR of the API holds less than the limits
 * permit, the part is split further. After any other error the owner frees the
 * transfer; if it has waited for MRs, the core ends it, and done() gets @ok false. A
 * Work Request that fails closes the connection, and the transfer ends in the
 * teardown. If the device refuses to stop, transfers outlive the queue pair, and
 * return their MRs to a substitute of it.
 *
 * Locking
 *
 * A transfer is built and ended without a lock by the context that owns it. ep->lock
 * is held when parts are chained and posted, and when the retry is scheduled. A
 * transfer that schedules the retry holds off the teardown, which cancels the retry
 * when no transfer is left. done() runs in process context, without ep->lock.
 */

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/scatterlist.h>
#include <rdma/mr_pool.h>

#include <core/transfer_end.h>

#include "../compat.h"
#include "internal.h"
#include "trace.h"

/*
 * Elements of the first part's scatterlist that are allocated with the transfer, at
 * most: 128 KiB in pages. Larger parts are rare enough for a separate allocation.
 */
#define RPCRDMA_RW_ELEMENTS	32

/* A part of a transfer */
struct rpcrdma_rw_ctxt {
	struct rpcrdma_transfer_part core;
	struct rdma_rw_ctx	rw;		/* initialized if core.wrs is not 0 */
	u32			handle;
	u64			offset;
	struct scatterlist	sg[];		/* core.elements */
};

static struct rpcrdma_rw_ctxt *
rpcrdma_rw_ctxt_of(struct rpcrdma_transfer_part *part)
{
	return container_of(part, struct rpcrdma_rw_ctxt, core);
}

static enum dma_data_direction rpcrdma_rw_dir(const struct rpcrdma_transfer *t)
{
	return t->claim.reads ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

/* Return the queue pair for the rdma_rw API, see rpcrdma_rw_late_begin(). */
static struct ib_qp *rpcrdma_rw_qp(const struct rpcrdma_ep *ep)
{
	return likely(ep->qp) ? ep->qp : ep->late_qp;
}

/* ---- Building and ending ---- */

static void rpcrdma_rw_work_done(struct rpcrdma_work *work, bool ok);

/* rpcrdma_rw_alloc(), with memory of @part bytes for a part of @elements */
static __always_inline struct rpcrdma_rw *
rpcrdma_rw_create(struct rpcrdma_ep *ep, enum dma_data_direction dir, size_t part,
		  u32 elements, size_t priv, gfp_t gfp)
{
	struct rpcrdma_rw_ctxt *first;
	struct rpcrdma_rw *rw;

	/* Allocated before the teardown waits for this transfer */
	rw = kzalloc(sizeof(*rw) + part + priv, gfp);
	if (!rw)
		return NULL;
	if (!rpcrdma_ep_enter(ep)) {
		kfree(rw);
		return NULL;
	}
	first = (void *)(rw + 1);
	if (part) {
		rw->first = first;
		rw->elements = elements;
	}
	rw->priv = (void *)first + part;
	rw->gfp = gfp;
	rw->core.work.chain = &rw->chain;
	rw->core.work.done = rpcrdma_rw_work_done;
	rw->chain.work = &rw->core.work;
	rpcrdma_core_transfer_begin(&ep->core, &rw->core,
				    dir == DMA_FROM_DEVICE);
	return rw;
}

struct rpcrdma_rw *rpcrdma_rw_alloc(struct rpcrdma_ep *ep,
				    enum dma_data_direction dir, u32 elements,
				    size_t priv, gfp_t gfp)
{
	struct rpcrdma_rw_ctxt *first;
	size_t part = 0;

	if (elements && elements <= RPCRDMA_RW_ELEMENTS)
		part = struct_size(first, sg, elements);
	return rpcrdma_rw_create(ep, dir, part, elements, priv, gfp);
}

void rpcrdma_rw_free(struct rpcrdma_rw *rw)
{
	rw->done = NULL;
	rpcrdma_core_transfer_end(&rw->core, false);
}

/* rpcrdma_port_prepare(). The caller has called memalloc_nofs_save(). */
static __always_inline int rpcrdma_rw_prepare(struct rpcrdma_transfer *t,
					      struct rpcrdma_transfer_part *part)
{
	struct rpcrdma_rw_ctxt *ctxt = rpcrdma_rw_ctxt_of(part);
	struct rpcrdma_ep *ep = rpcrdma_ep_of(t->core);
	int rc;

	rc = rdma_rw_ctx_init(&ctxt->rw, ep->qp, ep->id->port_num, ctxt->sg,
			      part->elements, 0, ctxt->offset, ctxt->handle,
			      rpcrdma_rw_dir(t));
	/* A lack of bounce buffers is temporary. */
	if (rc == -EIO)
		return -ENOMEM;
	/* With this errno the API reports that the MR holds only a part of it. */
	if (rc == -EINVAL && ep->core.rw.reads_into_mrs && t->claim.reads)
		return -ERANGE;
	return rc;
}

int rpcrdma_port_prepare(struct rpcrdma_transfer *t,
			 struct rpcrdma_transfer_part *part)
{
	/* For the same reason as in rpcrdma_rw_add() */
	unsigned int nofs = memalloc_nofs_save();
	int rc = rpcrdma_rw_prepare(t, part);

	memalloc_nofs_restore(nofs);
	return rc;
}

void rpcrdma_port_unprepare(struct rpcrdma_transfer *t,
			    struct rpcrdma_transfer_part *part)
{
	struct rpcrdma_rw_ctxt *ctxt = rpcrdma_rw_ctxt_of(part);
	struct rpcrdma_ep *ep = rpcrdma_ep_of(t->core);

	rdma_rw_ctx_destroy(&ctxt->rw, rpcrdma_rw_qp(ep), ep->id->port_num,
			    ctxt->sg, part->elements, rpcrdma_rw_dir(t));
}

/* Free the memory of a part, unless it is that of the transfer. */
static void rpcrdma_rw_ctxt_free(struct rpcrdma_rw *rw,
				 struct rpcrdma_rw_ctxt *ctxt)
{
	if (unlikely(ctxt != rw->first))
		kfree(ctxt);
}

int rpcrdma_port_part(struct rpcrdma_transfer *t,
		      const struct rpcrdma_extent_pos *pos, u32 pages,
		      const struct rpcrdma_segment *segment, bool prepare,
		      struct rpcrdma_transfer_part **part)
{
	struct rpcrdma_extent_pos at = *pos;
	struct rpcrdma_rw *rw = rpcrdma_rw_of(t);
	struct rpcrdma_ep *ep = rpcrdma_ep_of(t->core);
	struct rpcrdma_rw_ctxt *ctxt;
	u32 nents;
	int rc;

	if (likely(pages <= rw->elements)) {
		ctxt = rw->first;
		rw->elements = 0;
	} else {
		ctxt = kzalloc(struct_size(ctxt, sg, pages), rw->gfp);
		if (!ctxt)
			return -ENOMEM;
	}
	nents = rpcrdma_extent_to_sg(&at, segment->length, ep->max_element,
				     ctxt->sg);
	if (unlikely(!nents)) {
		rpcrdma_rw_ctxt_free(rw, ctxt);
		return -EFAULT;
	}
	ctxt->handle = segment->handle;
	ctxt->offset = segment->offset;
	ctxt->core.elements = nents;
	rc = prepare ? rpcrdma_rw_prepare(t, &ctxt->core) : 0;
	if (unlikely(rc == -ERANGE)) {
		rpcrdma_rw_ctxt_free(rw, ctxt);
		return rc;
	}
	*part = &ctxt->core;
	return rc;
}

int rpcrdma_rw_add(struct rpcrdma_rw *rw, const struct rpcrdma_lists *lists,
		   const struct rpcrdma_chunk *chunk, u32 chunk_offset,
		   const struct rpcrdma_extent *ext, u32 nr, u32 offset,
		   u32 length)
{
	struct rpcrdma_extent_pos pos = { .ext = ext, .nr = nr };
	/*
	 * The teardown waits for this transfer, and memory reclaim may wait for an RPC
	 * of a client whose reconnect waits for a device's removal.
	 */
	unsigned int nofs = memalloc_nofs_save();
	int rc;

	rpcrdma_extent_skip(&pos, offset);
	rc = rpcrdma_core_transfer_add(&rw->core, &pos, lists, chunk,
				       chunk_offset, length);
	memalloc_nofs_restore(nofs);
	return rc;
}

struct rpcrdma_rw *rpcrdma_rw_one(struct rpcrdma_ep *ep,
				  enum dma_data_direction dir,
				  const struct rpcrdma_segment *segment,
				  struct page **pages, u32 at, size_t priv,
				  gfp_t gfp)
{
	u32 nents = DIV_ROUND_UP(offset_in_page(at) + segment->length, PAGE_SIZE);
	struct rpcrdma_rw_ctxt *part;
	struct rpcrdma_rw *rw;

	if (unlikely(nents > RPCRDMA_RW_ELEMENTS))
		return NULL;
	rw = rpcrdma_rw_create(ep, dir, struct_size(part, sg, nents), 0, priv,
			       gfp);
	if (unlikely(!rw))
		return NULL;
	part = rw->first;
	part->handle = segment->handle;
	part->offset = segment->offset;
	part->core.elements = rpcrdma_sg_of_pages(pages, at, segment->length,
						  ep->max_element, part->sg);
	if (unlikely(!part->core.elements)) {
		rpcrdma_rw_free(rw);
		return NULL;
	}
	rpcrdma_transfer_only(&rw->core, &part->core);
	return rw;
}

void rpcrdma_port_transfer_ended(struct rpcrdma_transfer *t, bool ok)
{
	struct rpcrdma_transfer_part *part, *next;
	struct rpcrdma_rw *rw = rpcrdma_rw_of(t);

	list_for_each_entry_safe(part, next, &t->parts, list) {
		if (part->wrs)
			rpcrdma_port_unprepare(t, part);
		rpcrdma_rw_ctxt_free(rw, rpcrdma_rw_ctxt_of(part));
	}
	INIT_LIST_HEAD(&t->parts);
	if (rw->done)
		rw->done(rw, ok);
}

void rpcrdma_port_transfer_free(struct rpcrdma_transfer *t)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(t->core);

	kfree(rpcrdma_rw_of(t));
	rpcrdma_ep_leave(ep);
}

/* Flattened, so that the two functions above are inlined */
static __flatten void rpcrdma_rw_work_done(struct rpcrdma_work *work, bool ok)
{
	rpcrdma_core_transfer_done(work, ok);
}

/* ---- Posting ---- */

/*
 * Chain the parts of @t after t->posted, up to @last, before @tail. Return the first
 * Work Request, and set *@end to the last one. The rdma_rw API sets the cqe of the last one
 * at most. If another one fails first, its error is only reported if it has a cqe, too.
 */
static __always_inline struct ib_send_wr *
rpcrdma_rw_chain(struct rpcrdma_transfer *t, struct list_head *last,
		 struct ib_send_wr *tail, struct ib_send_wr **end)
{
	struct ib_cqe *cqe = tail ? NULL : &rpcrdma_rw_of(t)->chain.cqe;
	struct rpcrdma_ep *ep = rpcrdma_ep_of(t->core);
	struct rpcrdma_transfer_part *part;
	struct ib_send_wr *first = tail;
	struct ib_send_wr *wr;
	struct list_head *at;

	for (at = last; at != t->posted; at = at->prev) {
		part = list_entry(at, struct rpcrdma_transfer_part, list);
		first = rdma_rw_ctx_wrs(&rpcrdma_rw_ctxt_of(part)->rw,
					rpcrdma_rw_qp(ep), ep->id->port_num,
					cqe, first);
		cqe = NULL;
	}
	for (wr = first; wr != tail; wr = wr->next) {
		wr->wr_cqe = &ep->rw_cqe;
		*end = wr;
	}
	return first;
}

bool rpcrdma_port_post_batch(struct rpcrdma_ep_core *core,
			     struct rpcrdma_transfer *t)
{
	struct rpcrdma_chain *chain = &rpcrdma_rw_of(t)->chain;
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	if (trace_rpcrdma_read_enabled() && t->claim.reads &&
	    t->posted == &t->parts)
		trace_rpcrdma_read(ep, t->octets, t->work.wrs.nr + t->left);
	chain->first = rpcrdma_rw_chain(t, t->batch, NULL, &chain->last);
	return rpcrdma_chain_post(ep, chain, t->work.wrs.signaled);
}

void rpcrdma_port_chain_writes(struct rpcrdma_send *s,
			       struct rpcrdma_transfer *t)
{
	struct verbs_send *vs = container_of(s, struct verbs_send, core);
	struct ib_send_wr *last;

	s->before = rpcrdma_rw_chain(t, t->parts.prev, s->before ?: &vs->wr,
				     &last);
}

/* ---- Transfers that wait for MRs ---- */

void rpcrdma_port_wake_reads(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	lockdep_assert_held(&ep->lock);
	queue_work(rpcrdma_wq, &ep->rw_work);
}

/* Prepare and post the transfers that wait for MRs, after MRs have been returned. */
void rpcrdma_rw_retry(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep, rw_work);
	/* Memory reclaim may wait for a pulled Reply. */
	unsigned int flags = rpcrdma_ep_memalloc_begin(ep);

	rpcrdma_core_reads_retry(&ep->core);
	rpcrdma_memalloc_end(flags);
}

/* ---- Transfers that outlive the queue pair ---- */

/*
 * Create the substitute for a queue pair that is destroyed while transfers are posted.
 * Of the queue pair, rdma_rw_ctx_destroy() uses the PD's device, and the pool to which
 * it returns MRs. No driver gets to see the substitute.
 */
void rpcrdma_rw_late_begin(struct rpcrdma_ep *ep)
{
	struct ib_qp *late = kzalloc(sizeof(*late), GFP_NOFS | __GFP_NOFAIL);
	struct ib_qp *qp = ep->qp;

	late->device = qp->device;
	late->pd = qp->pd;
	spin_lock_init(&late->mr_lock);
	INIT_LIST_HEAD(&late->rdma_mrs);
	/* The MRs in use do not belong to this queue pair any more. */
	spin_lock_irq(&qp->mr_lock);
	late->mrs_used = qp->mrs_used;
	qp->mrs_used = 0;
	spin_unlock_irq(&qp->mr_lock);
	ep->late_qp = late;
}

void rpcrdma_rw_late_end(struct rpcrdma_ep *ep)
{
	if (likely(!ep->late_qp))
		return;
	ib_mr_pool_destroy(ep->late_qp, &ep->late_qp->rdma_mrs);
	kfree(ep->late_qp);
	ep->late_qp = NULL;
}
