// SPDX-License-Identifier: GPL-2.0
/*
 * Explicit RDMA: Reads and Writes of memory that the peer has exposed, using the
 * rdma_rw API, which knows each device's requirements.
 */

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/scatterlist.h>
#include <rdma/mr_pool.h>

#include "internal.h"
#include "trace.h"

/* The transfer of a segment, or of a part of one */
struct rpcrdma_rw_ctxt {
	struct list_head	list;
	struct rdma_rw_ctx	rw;
	u32			handle;
	u64			offset;
	u32			wrs;		/* 0: not mapped, @rw not initialized */
	u32			nents;
	struct scatterlist	sg[];
};

static void rpcrdma_rw_work_done(struct rpcrdma_work *work, bool ok);

/* Return the queue pair for the rdma_rw API, see rpcrdma_rw_late_begin(). */
static struct ib_qp *rpcrdma_rw_qp(const struct rpcrdma_ep *ep)
{
	return likely(ep->qp) ? ep->qp : ep->late_qp;
}

/**
 * rpcrdma_rw_alloc - begin a transfer
 * @ep: open endpoint
 * @dir: DMA_FROM_DEVICE to Read, DMA_TO_DEVICE to Write
 * @priv: bytes of memory for its owner, at rw->priv, freed with it
 * @gfp: flags for the allocations of this transfer
 *
 * Holds off the teardown until the transfer has ended or is freed.
 * Context: process context.
 * Return: the transfer; NULL if out of memory or the connection is closing.
 */
struct rpcrdma_rw *rpcrdma_rw_alloc(struct rpcrdma_ep *ep,
				    enum dma_data_direction dir, size_t priv,
				    gfp_t gfp)
{
	struct rpcrdma_rw *rw;

	/* Allocated before the teardown waits for this transfer */
	rw = kzalloc(sizeof(*rw) + priv, gfp);
	if (!rw)
		return NULL;
	if (!rpcrdma_ep_enter(ep)) {
		kfree(rw);
		return NULL;
	}
	rw->priv = rw + 1;
	rw->ep = ep;
	rw->dir = dir;
	rw->gfp = gfp;
	rw->claim.reads = dir == DMA_FROM_DEVICE;
	INIT_LIST_HEAD(&rw->ctxts);
	rw->posted = &rw->ctxts;
	INIT_LIST_HEAD(&rw->core.work.list);
	rw->core.work.kind = RPCRDMA_WORK_RDMA;
	rw->core.work.done = rpcrdma_rw_work_done;
	rw->core.work.chain = &rw->chain;
	rw->chain.work = &rw->core.work;
	if (unlikely(rpcrdma_read_wanted(&ep->read_pool))) {
		spin_lock(&ep->lock);
		rpcrdma_read_begin(&ep->read_pool, &rw->claim);
		spin_unlock(&ep->lock);
	}
	return rw;
}

/*
 * Retry the transfers that wait for MRs. Caller holds ep->lock, so that the teardown,
 * which takes it to end these transfers, cancels the work item afterwards.
 */
static void rpcrdma_rw_wake(struct rpcrdma_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (unlikely(rpcrdma_read_wanted(&ep->read_pool)))
		queue_work(rpcrdma_wq, &ep->rw_work);
}

/*
 * Map the memory for the device, and allocate the MRs that it needs. Return 0 or a
 * negative errno: -ERANGE if the MR could not hold all of it.
 */
static int rpcrdma_rw_prepare(struct rpcrdma_rw *rw,
			      struct rpcrdma_rw_ctxt *ctxt)
{
	struct rpcrdma_ep *ep = rw->ep;
	int rc;

	rc = rdma_rw_ctx_init(&ctxt->rw, ep->qp, ep->id->port_num, ctxt->sg,
			      ctxt->nents, 0, ctxt->offset, ctxt->handle,
			      rw->dir);
	/* A lack of bounce buffers is temporary. */
	if (rc == -EIO)
		return -ENOMEM;
	/* With this errno the API reports that the MR holds only a part of it. */
	if (rc == -EINVAL && ep->read_regions && rw->dir == DMA_FROM_DEVICE)
		return -ERANGE;
	if (rc < 0)
		return rc;
	ctxt->wrs = rc;
	rw->core.left += rc;
	return 0;
}

/* Unmap the memory: it belongs to the owner again. */
static void rpcrdma_rw_ctxt_unprepare(struct rpcrdma_rw *rw,
				      struct rpcrdma_rw_ctxt *ctxt)
{
	struct rpcrdma_ep *ep = rw->ep;

	if (ctxt->wrs)
		rdma_rw_ctx_destroy(&ctxt->rw, rpcrdma_rw_qp(ep),
				    ep->id->port_num, ctxt->sg, ctxt->nents,
				    rw->dir);
	ctxt->wrs = 0;
}

static void rpcrdma_rw_unprepare(struct rpcrdma_rw *rw)
{
	struct rpcrdma_rw_ctxt *ctxt;

	list_for_each_entry(ctxt, &rw->ctxts, list)
		rpcrdma_rw_ctxt_unprepare(rw, ctxt);
	rw->core.left = 0;
}

static void rpcrdma_rw_unmap(struct rpcrdma_rw *rw)
{
	struct rpcrdma_ep *ep = rw->ep;
	struct rpcrdma_rw_ctxt *ctxt, *next;

	list_for_each_entry_safe(ctxt, next, &rw->ctxts, list) {
		rpcrdma_rw_ctxt_unprepare(rw, ctxt);
		list_del(&ctxt->list);
		kfree(ctxt);
	}
	if (unlikely(rw->claim.waits || rpcrdma_read_wanted(&ep->read_pool))) {
		spin_lock(&ep->lock);
		if (rw->claim.waits)
			rpcrdma_read_over(&ep->read_pool, &rw->claim);
		rpcrdma_rw_wake(ep);
		spin_unlock(&ep->lock);
	}
}

static void rpcrdma_rw_destroy(struct rpcrdma_rw *rw)
{
	struct rpcrdma_ep *ep = rw->ep;

	kfree(rw);
	rpcrdma_ep_leave(ep);
}

void rpcrdma_rw_free(struct rpcrdma_rw *rw)
{
	rpcrdma_rw_unmap(rw);
	rpcrdma_rw_destroy(rw);
}

/* End a transfer: the device does not use it any more, or it will never be posted. */
void rpcrdma_rw_end(struct rpcrdma_rw *rw, bool ok)
{
	rpcrdma_rw_unmap(rw);
	if (rw->done)
		rw->done(rw, ok);
	if (unlikely(rw->core.reply))
		rpcrdma_writes_done(rw->ep, rw->core.reply, ok);
	rpcrdma_rw_destroy(rw);
}

/*
 * Handle the failure @rc to prepare a transfer. Return 0 if it waits for MRs, with
 * nothing prepared; otherwise @rc.
 */
static int rpcrdma_rw_short(struct rpcrdma_rw *rw, int rc)
{
	struct rpcrdma_ep *ep = rw->ep;
	bool waits;

	spin_lock(&ep->lock);
	waits = rpcrdma_read_short(&ep->read_pool, &rw->claim, rc);
	spin_unlock(&ep->lock);
	if (!waits)
		return rc;
	rpcrdma_rw_unprepare(rw);
	spin_lock(&ep->lock);
	rpcrdma_rw_wake(ep);
	spin_unlock(&ep->lock);
	return 0;
}

/*
 * Append @part of the peer's memory, not empty. Return 0 or a negative errno: -ERANGE,
 * with nothing appended, if it has to be split further.
 */
static int rpcrdma_rw_add_part(struct rpcrdma_rw *rw,
			       const struct rpcrdma_segment *part,
			       struct rpcrdma_extent_pos *pos)
{
	struct rpcrdma_ep *ep = rw->ep;
	u32 nents, octets = part->length;
	struct rpcrdma_rw_ctxt *ctxt;
	int rc;

	nents = rpcrdma_extent_count(pos, octets);
	if (!nents)
		return -EINVAL;
	ctxt = kzalloc(struct_size(ctxt, sg, nents), rw->gfp);
	if (!ctxt)
		return -ENOMEM;
	nents = rpcrdma_extent_take(pos, octets, ep->max_element, ctxt->sg);
	if (unlikely(!nents)) {
		kfree(ctxt);
		return -EFAULT;
	}
	sg_mark_end(&ctxt->sg[nents - 1]);
	ctxt->handle = part->handle;
	ctxt->offset = part->offset;
	ctxt->nents = nents;
	list_add_tail(&ctxt->list, &rw->ctxts);
	if (likely(rpcrdma_read_add(&ep->read_pool, &rw->claim, nents))) {
		rc = rpcrdma_rw_prepare(rw, ctxt);
		if (unlikely(rc == -ERANGE)) {
			list_del(&ctxt->list);
			kfree(ctxt);
			return rc;
		}
		if (unlikely(rc))
			rc = rpcrdma_rw_short(rw, rc);
		if (unlikely(rc))
			return rc;
	}
	return rpcrdma_read_fits(&ep->read_pool, &rw->claim) ? 0 : -E2BIG;
}

/*
 * Tighten the limits by which Reads are split. Return 0, or -EINVAL if that is not
 * possible.
 */
static int rpcrdma_rw_cut_finer(struct rpcrdma_ep *ep,
				const struct rpcrdma_cut *cut)
{
	bool finer;

	spin_lock(&ep->lock);
	finer = rpcrdma_cut_finer(&ep->read_cut, cut);
	spin_unlock(&ep->lock);
	return finer ? 0 : -EINVAL;
}

/*
 * Return the size of the next part of a transfer, at most @left: no more than is posted
 * at once, because batches end between parts, and than one MR can hold, if MRs are
 * used. The rdma_rw API would split by itself, but it counts elements instead of pages,
 * and does not know about gaps.
 */
static u32 rpcrdma_rw_part(const struct rpcrdma_rw *rw,
			   const struct rpcrdma_extent_pos *pos,
			   const struct rpcrdma_cut *cut, u32 left)
{
	const struct rpcrdma_ep *ep = rw->ep;

	if (rw->dir != DMA_FROM_DEVICE)
		return min(left, ep->write_part);
	if (likely(!ep->read_regions))
		return min(left, ep->read_part);
	return rpcrdma_extent_region(pos, cut, left);
}

/*
 * Append the transfer of a segment in parts: if a device supports few elements in a
 * Work Request, or few pages in an MR, a long segment needs more of them than are
 * posted at once.
 */
static int rpcrdma_rw_add_parts(struct rpcrdma_rw *rw,
				const struct rpcrdma_segment *segment,
				struct rpcrdma_extent_pos *pos)
{
	struct rpcrdma_segment part = *segment;
	struct rpcrdma_extent_pos before;
	u32 left = segment->length;
	struct rpcrdma_cut cut;
	int rc;

	while (left) {
		cut = rw->ep->read_cut;
		before = *pos;
		part.length = rpcrdma_rw_part(rw, pos, &cut, left);
		rc = rpcrdma_rw_add_part(rw, &part, pos);
		if (unlikely(rc == -ERANGE)) {
			rc = rpcrdma_rw_cut_finer(rw->ep, &cut);
			if (rc)
				return rc;
			*pos = before;
			continue;
		}
		if (rc)
			return rc;
		part.offset += part.length;
		left -= part.length;
	}
	return 0;
}

/**
 * rpcrdma_rw_add - append a transfer between a chunk and local memory
 * @rw: transfer
 * @lists: holds @chunk's segments
 * @chunk: the peer's memory
 * @chunk_offset: bytes of @chunk to skip
 * @ext: local memory; no element is empty
 * @nr: elements of @ext
 * @offset: bytes of @ext to skip
 * @length: bytes to transfer
 *
 * Context: process context, may sleep.
 * Return: 0; -EINVAL if either side is shorter; -EFAULT if a page is missing; -E2BIG if
 * it needs more MRs than exist; or another negative errno.
 */
int rpcrdma_rw_add(struct rpcrdma_rw *rw, const struct rpcrdma_lists *lists,
		   const struct rpcrdma_chunk *chunk, u32 chunk_offset,
		   const struct rpcrdma_extent *ext, u32 nr, u32 offset,
		   u32 length)
{
	struct rpcrdma_stretch at = { .offset = chunk_offset, .length = length };
	struct rpcrdma_extent_pos pos = { .ext = ext, .nr = nr };
	/*
	 * The teardown waits for this transfer, and memory reclaim may wait for an RPC
	 * of a client whose reconnect waits for a device's removal.
	 */
	unsigned int nofs = memalloc_nofs_save();
	struct rpcrdma_segment part;
	int rc = 0;

	if (offset)
		rpcrdma_extent_skip(&pos, offset);
	while (!rc && rpcrdma_chunk_next(lists, chunk, &at, &part)) {
		rc = rpcrdma_rw_add_parts(rw, &part, &pos);
		if (!rc)
			rw->octets += part.length;
	}
	memalloc_nofs_restore(nofs);
	return rc ?: at.length ? -EINVAL : 0;
}

/*
 * Chain the part of @rw after rw->posted, up to @last, before @tail. Return the first
 * Work Request, which is @tail if there are none. The rdma_rw API sets the cqe of the
 * last one at most. If another one fails first, its error is only reported if it has a
 * cqe, too.
 */
static struct ib_send_wr *rpcrdma_rw_chain_to(struct rpcrdma_rw *rw,
					      struct list_head *last,
					      struct ib_send_wr *tail)
{
	struct ib_cqe *cqe = tail ? NULL : &rw->chain.cqe;
	struct rpcrdma_ep *ep = rw->ep;
	struct ib_send_wr *first = tail;
	struct rpcrdma_rw_ctxt *ctxt;
	struct ib_send_wr *wr;
	struct list_head *at;

	for (at = last; at != rw->posted; at = at->prev) {
		ctxt = list_entry(at, struct rpcrdma_rw_ctxt, list);
		first = rdma_rw_ctx_wrs(&ctxt->rw, rpcrdma_rw_qp(ep),
					ep->id->port_num, cqe, first);
		cqe = NULL;
		rw->core.left -= ctxt->wrs;
	}
	for (wr = first; wr != tail; wr = wr->next)
		wr->wr_cqe = &ep->rw_cqe;
	rw->posted = last;
	return first;
}

/* Chain all of @rw before @tail. The completion of @tail's work ends it. */
static struct ib_send_wr *rpcrdma_rw_chain(struct rpcrdma_rw *rw,
				    struct ib_send_wr *tail)
{
	return rpcrdma_rw_chain_to(rw, rw->ctxts.prev, tail);
}

/* Post as much of @rw as is posted at once, or queue it for Send Queue space. */
static void rpcrdma_rw_turn(struct rpcrdma_rw *rw)
{
	const u32 most = rpcrdma_sq_turn_wrs(&rw->ep->core.sq);
	struct rpcrdma_work *work = &rw->core.work;
	struct rpcrdma_chain *chain = &rw->chain;
	struct list_head *last = rw->posted;
	struct rpcrdma_rw_ctxt *ctxt;
	struct ib_send_wr *wr;
	u32 nr = 0;

	while (!list_is_last(last, &rw->ctxts)) {
		ctxt = list_entry(last->next, struct rpcrdma_rw_ctxt, list);
		if (nr && nr + ctxt->wrs > most)
			break;
		nr += ctxt->wrs;
		last = &ctxt->list;
	}
	chain->first = rpcrdma_rw_chain_to(rw, last, NULL);
	for (wr = chain->first; wr->next; wr = wr->next)
		;
	chain->last = wr;
	work->wrs.nr = nr;
	work->wrs.signaled = true;
	rpcrdma_work_rdma(rw->ep, work);
}

/* Handle the end of a posted batch, or of the Reply that all Writes were chained to. */
static void rpcrdma_rw_work_done(struct rpcrdma_work *work, bool ok)
{
	struct rpcrdma_rw *rw = container_of(work, struct rpcrdma_rw, core.work);

	if (ok && unlikely(rw->core.left))
		rpcrdma_rw_turn(rw);
	else
		rpcrdma_rw_end(rw, ok);
}

static void rpcrdma_rw_post(struct rpcrdma_rw *rw)
{
	trace_rpcrdma_read(rw->ep, rw->octets, rw->core.left);
	rpcrdma_rw_turn(rw);
}

void rpcrdma_rw_write(struct rpcrdma_rw *rw)
{
	rpcrdma_rw_turn(rw);
}

void rpcrdma_port_chain_writes(struct rpcrdma_send *s,
			       struct rpcrdma_transfer *t)
{
	struct verbs_send *vs = container_of(s, struct verbs_send, core);

	s->before = rpcrdma_rw_chain(container_of(t, struct rpcrdma_rw, core),
				     s->before ?: &vs->wr);
}

u32 rpcrdma_rw_nr_posted(struct rpcrdma_ep *ep)
{
	const struct rpcrdma_work *work;
	u32 nr = 0;

	lockdep_assert_held(&ep->lock);
	for (work = ep->core.inflight; work; work = work->next)
		if (work->kind == RPCRDMA_WORK_RDMA)
			nr += work->done == rpcrdma_rw_work_done;
		else
			nr += !!container_of(work, struct rpcrdma_send,
					     work)->rw;
	return nr;
}

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
	/* The MRs in use no longer belong to this queue pair. */
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

static struct rpcrdma_rw *rpcrdma_rw_dequeue(struct rpcrdma_ep *ep)
{
	struct rpcrdma_rw *rw;

	spin_lock(&ep->lock);
	rw = list_first_entry_or_null(&ep->core.rw_waiting, struct rpcrdma_rw,
				      core.work.list);
	if (rw)
		list_del_init(&rw->core.work.list);
	spin_unlock(&ep->lock);
	return rw;
}

static int rpcrdma_rw_prepare_all(struct rpcrdma_rw *rw)
{
	struct rpcrdma_rw_ctxt *ctxt;
	int rc;

	list_for_each_entry(ctxt, &rw->ctxts, list) {
		rc = rpcrdma_rw_prepare(rw, ctxt);
		if (rc)
			return rc;
	}
	return 0;
}

/*
 * Report the result @rc for the first waiting transfer to the engine. Return what to do
 * with the transfer.
 */
static enum rpcrdma_read_turn rpcrdma_rw_tried(struct rpcrdma_rw *rw, int rc)
{
	struct rpcrdma_ep *ep = rw->ep;
	enum rpcrdma_read_turn turn;

	if (rc)
		rpcrdma_rw_unprepare(rw);
	spin_lock(&ep->lock);
	turn = rpcrdma_read_tried(&ep->read_pool, &rw->claim, rc,
				  rpcrdma_ep_is_closing(ep));
	if (turn == RPCRDMA_READ_FRONT)
		list_add(&rw->core.work.list, &ep->core.rw_waiting);
	spin_unlock(&ep->lock);
	return turn;
}

/* Prepare and post the transfers that wait for MRs, after MRs have been returned. */
void rpcrdma_rw_retry(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep, rw_work);
	/* Memory reclaim may wait for a pulled Reply. */
	unsigned int flags = memalloc_nofs_save();
	enum rpcrdma_read_turn turn = RPCRDMA_READ_POST;
	struct rpcrdma_rw *rw;

	while (turn != RPCRDMA_READ_FRONT && (rw = rpcrdma_rw_dequeue(ep))) {
		turn = rpcrdma_rw_tried(rw, rpcrdma_rw_prepare_all(rw));
		if (turn == RPCRDMA_READ_POST)
			rpcrdma_rw_post(rw);
		else if (turn == RPCRDMA_READ_FAIL)
			rpcrdma_rw_end(rw, false);
	}
	memalloc_nofs_restore(flags);
}

/**
 * rpcrdma_rw_read - post the Reads of a transfer
 * @rw: transfer, consumed
 *
 * rw->done() may run before this returns.
 * Context: process context; does not sleep.
 */
void rpcrdma_rw_read(struct rpcrdma_rw *rw)
{
	struct rpcrdma_ep *ep = rw->ep;
	enum rpcrdma_read_turn turn = RPCRDMA_READ_POST;

	if (list_empty(&rw->ctxts)) {
		rpcrdma_rw_end(rw, true);
		return;
	}
	if (unlikely(rw->claim.waits)) {
		spin_lock(&ep->lock);
		turn = rpcrdma_read_whole(&rw->claim,
					  rpcrdma_ep_is_closing(ep));
		if (turn == RPCRDMA_READ_BEHIND) {
			list_add_tail(&rw->core.work.list, &ep->core.rw_waiting);
			rpcrdma_rw_wake(ep);
		}
		spin_unlock(&ep->lock);
	}
	if (turn == RPCRDMA_READ_POST)
		rpcrdma_rw_post(rw);
	else if (turn != RPCRDMA_READ_BEHIND)
		rpcrdma_rw_end(rw, false);
}
