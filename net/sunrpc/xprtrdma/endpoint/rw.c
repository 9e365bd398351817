// SPDX-License-Identifier: GPL-2.0
/*
 * Explicit RDMA: Reads and Writes of memory the peer exposed, over the
 * kernel's rdma_rw API, which knows what each device needs for them.
 */

#include <linux/slab.h>
#include <linux/scatterlist.h>

#include "internal.h"
#include "trace.h"

/* One segment's worth of transfer */
struct rpcrdma_rw_ctxt {
	struct list_head	list;
	struct rdma_rw_ctx	rw;
	u32			nents;
	struct scatterlist	sg[];
};

/**
 * rpcrdma_rw_alloc - begin a transfer
 * @ep: open endpoint
 * @dir: DMA_FROM_DEVICE to Read, DMA_TO_DEVICE to Write
 * @priv: octets of memory for its owner, at rw->priv, freed with it
 * @gfp: how to allocate what this transfer takes
 *
 * Holds off the teardown until it has ended or is freed. Process context.
 * Returns NULL without memory or when the connection is closing.
 */
struct rpcrdma_rw *rpcrdma_rw_alloc(struct rpcrdma_ep *ep,
				    enum dma_data_direction dir, size_t priv,
				    gfp_t gfp)
{
	struct rpcrdma_rw *rw;

	if (!rpcrdma_ep_enter(ep))
		return NULL;
	rw = kzalloc(sizeof(*rw) + priv, gfp);
	if (!rw) {
		rpcrdma_ep_leave(ep);
		return NULL;
	}
	rw->priv = rw + 1;
	rw->ep = ep;
	rw->dir = dir;
	rw->gfp = gfp;
	INIT_LIST_HEAD(&rw->ctxts);
	INIT_LIST_HEAD(&rw->work.list);
	return rw;
}

/* Release the device's side of it: the memory is the owner's again. */
static void rpcrdma_rw_unmap(struct rpcrdma_rw *rw)
{
	struct rpcrdma_ep *ep = rw->ep;
	struct rpcrdma_rw_ctxt *ctxt, *next;

	list_for_each_entry_safe(ctxt, next, &rw->ctxts, list) {
		rdma_rw_ctx_destroy(&ctxt->rw, ep->qp, ep->id->port_num,
				    ctxt->sg, ctxt->nents, rw->dir);
		list_del(&ctxt->list);
		kfree(ctxt);
	}
}

/**
 * rpcrdma_rw_free - give up a transfer that was not posted
 * @rw: transfer
 */
void rpcrdma_rw_free(struct rpcrdma_rw *rw)
{
	struct rpcrdma_ep *ep = rw->ep;

	rpcrdma_rw_unmap(rw);
	kfree(rw);
	rpcrdma_ep_leave(ep);
}

/* The device is through with it, or it will never be posted. */
void rpcrdma_rw_end(struct rpcrdma_rw *rw, bool ok)
{
	rpcrdma_rw_unmap(rw);
	if (rw->done)
		rw->done(rw, ok);
	rpcrdma_rw_free(rw);
}

/* Where in a run of vectors the next octet is */
struct rpcrdma_bv_pos {
	const struct bio_vec	*bv;
	u32			nr;
	u32			skip;		/* octets of bv[0] used */
};

static void rpcrdma_bv_skip(struct rpcrdma_bv_pos *pos, u32 octets)
{
	while (pos->nr && octets >= pos->bv->bv_len - pos->skip) {
		octets -= pos->bv->bv_len - pos->skip;
		pos->skip = 0;
		pos->bv++;
		pos->nr--;
	}
	pos->skip += octets;
}

/* Vectors that hold the next @octets; 0 when there are not so many. */
static u32 rpcrdma_bv_count(const struct rpcrdma_bv_pos *pos, u32 octets)
{
	u32 i, have = 0;

	for (i = 0; i < pos->nr; i++) {
		have += pos->bv[i].bv_len - (i ? 0 : pos->skip);
		if (have >= octets)
			return i + 1;
	}
	return 0;
}

/* @octets > 0, all within one segment */
static int rpcrdma_rw_add_segment(struct rpcrdma_rw *rw, u32 handle,
				  u64 offset, struct rpcrdma_bv_pos *pos,
				  u32 octets)
{
	struct rpcrdma_ep *ep = rw->ep;
	struct rpcrdma_rw_ctxt *ctxt;
	u32 i, n, nents;
	int rc;

	nents = rpcrdma_bv_count(pos, octets);
	if (!nents)
		return -EINVAL;
	ctxt = kmalloc(struct_size(ctxt, sg, nents), rw->gfp);
	if (!ctxt)
		return -ENOMEM;
	ctxt->nents = nents;
	sg_init_table(ctxt->sg, nents);
	for (i = 0; i < nents; i++) {
		n = min_t(u32, octets, pos->bv->bv_len - pos->skip);
		sg_set_page(&ctxt->sg[i], pos->bv->bv_page, n,
			    pos->bv->bv_offset + pos->skip);
		octets -= n;
		rpcrdma_bv_skip(pos, n);
	}
	rc = rdma_rw_ctx_init(&ctxt->rw, ep->qp, ep->id->port_num, ctxt->sg,
			      nents, 0, offset, handle, rw->dir);
	if (rc < 0) {
		kfree(ctxt);
		return rc;
	}
	rw->work.nr_wrs += rc;
	list_add_tail(&ctxt->list, &rw->ctxts);
	/* All are posted at once, and maybe a Send behind them. */
	return rpcrdma_sq_fits(ep, rw->work.nr_wrs + 1) ? 0 : -E2BIG;
}

/**
 * rpcrdma_rw_add - append a transfer between a chunk and local memory
 * @rw: transfer
 * @lists: holds @chunk's segments
 * @chunk: the peer's memory
 * @chunk_offset: octets into it
 * @bv: local memory
 * @nr_bv: number of vectors
 * @bv_offset: octets into it
 * @length: octets to move
 *
 * Process context, may sleep. Returns 0 or a negative errno: -EINVAL when
 * either side is shorter, -E2BIG when it takes more Work Requests than the
 * Send Queue has.
 */
int rpcrdma_rw_add(struct rpcrdma_rw *rw, const struct rpcrdma_lists *lists,
		   const struct rpcrdma_chunk *chunk, u32 chunk_offset,
		   const struct bio_vec *bv, u32 nr_bv, u32 bv_offset,
		   u32 length)
{
	struct rpcrdma_bv_pos pos = { .bv = bv, .nr = nr_bv };
	const struct rpcrdma_segment *seg;
	u32 i, n;
	int rc;

	rpcrdma_bv_skip(&pos, bv_offset);
	for (i = 0; i < chunk->count && length; i++) {
		seg = rpcrdma_lists_seg(lists, chunk->first + i);
		if (chunk_offset >= seg->length) {
			chunk_offset -= seg->length;
			continue;
		}
		n = min(length, seg->length - chunk_offset);
		rc = rpcrdma_rw_add_segment(rw, seg->handle,
					    seg->offset + chunk_offset, &pos,
					    n);
		if (rc)
			return rc;
		chunk_offset = 0;
		length -= n;
		rw->octets += n;
	}
	return length ? -EINVAL : 0;
}

/*
 * Chain all Work Requests of @rw, in front of @tail. Returns the first one,
 * @tail when there are none.
 */
struct ib_send_wr *rpcrdma_rw_chain(struct rpcrdma_rw *rw,
				    struct ib_send_wr *tail)
{
	struct rpcrdma_ep *ep = rw->ep;
	struct ib_send_wr *first = tail;
	struct ib_cqe *cqe = tail ? NULL : &rw->work.cqe;
	struct rpcrdma_rw_ctxt *ctxt;

	list_for_each_entry_reverse(ctxt, &rw->ctxts, list) {
		first = rdma_rw_ctx_wrs(&ctxt->rw, ep->qp, ep->id->port_num,
					cqe, first);
		cqe = NULL;
	}
	return first;
}

static void rpcrdma_read_done(struct rpcrdma_work *work, bool ok)
{
	rpcrdma_rw_end(container_of(work, struct rpcrdma_rw, work), ok);
}

/**
 * rpcrdma_rw_read - post the Reads of a transfer
 * @rw: transfer, taken
 *
 * Process context; does not sleep. rw->done() may run before this returns.
 */
void rpcrdma_rw_read(struct rpcrdma_rw *rw)
{
	struct rpcrdma_work *work = &rw->work;
	struct ib_send_wr *wr;

	work->done = rpcrdma_read_done;
	work->signaled = true;
	if (list_empty(&rw->ctxts)) {
		rpcrdma_rw_end(rw, true);
		return;
	}
	work->first = rpcrdma_rw_chain(rw, NULL);
	for (wr = work->first; wr->next; wr = wr->next)
		;
	work->last = wr;
	trace_rpcrdma_read(rw->ep, rw->octets, work->nr_wrs);
	rpcrdma_work_rdma(rw->ep, work);
}
