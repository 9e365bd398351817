// SPDX-License-Identifier: GPL-2.0
/*
 * The Send Queue: the memory of Send contexts, and completions.
 */

#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

/* ---- Completions ---- */

/*
 * ep->lock held. Take @work, which has completed, out of those in flight, and
 * those before it that will not report themselves. Some devices (siw) complete
 * Sends while Reads before them are still under way: what reports itself is
 * not through before it does.
 */
static void rpcrdma_work_reap(struct rpcrdma_ep *ep, struct rpcrdma_work *work,
			      struct list_head *through)
{
	struct rpcrdma_work *w, *next;

	lockdep_assert_held(&ep->lock);
	list_for_each_entry_safe(w, next, &ep->inflight, list) {
		if (w == work || !w->signaled)
			list_move_tail(&w->list, through);
		if (w == work)
			break;
	}
	w = list_first_entry_or_null(&ep->inflight, struct rpcrdma_work, list);
	ep->sq_tail = w ? w->sq_mark - w->nr_wrs : ep->sq_head;
}

/*
 * A Work Request has failed. It ends in the teardown, like all that is behind
 * it, when the queue pair is quiet: rxe completes work with an error while it
 * still reads the memory of it.
 */
static void rpcrdma_wc_failed(struct rpcrdma_ep *ep, const struct ib_wc *wc)
{
	trace_rpcrdma_wc_error(ep, wc->status);
	rpcrdma_ep_failed(ep, wc->status, ib_wc_status_msg(wc->status));
}

/* The device is through with a work item. */
void rpcrdma_wc_work(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_work *work =
		container_of(wc->wr_cqe, struct rpcrdma_work, cqe);
	struct rpcrdma_ep *ep = cq->cq_context;
	LIST_HEAD(through);

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rpcrdma_wc_failed(ep, wc);
		return;
	}

	spin_lock(&ep->lock);
	/* Not there any more: reaped together with a later one. */
	if (!list_empty(&work->list))
		rpcrdma_work_reap(ep, work, &through);
	spin_unlock(&ep->lock);
	while (!list_empty(&through)) {
		work = list_first_entry(&through, struct rpcrdma_work, list);
		list_del_init(&work->list);
		work->done(work, !work->refused);
	}
	rpcrdma_ep_pump(ep);
}

/* Only errors arrive here: registrations are never signaled. */
static void rpcrdma_wc_reg(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_ep *ep = cq->cq_context;

	if (wc->status != IB_WC_SUCCESS)
		rpcrdma_ep_failed(ep, wc->status, "a memory registration failed");
}

/* ... and here: a transfer reports itself with its last Work Request. */
static void rpcrdma_wc_rw(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		rpcrdma_wc_failed(cq->cq_context, wc);
}

/* The queue pair is drained, the state says closing. */
void rpcrdma_work_flush(struct rpcrdma_ep *ep)
{
	LIST_HEAD(through);

	spin_lock(&ep->lock);
	list_splice_tail_init(&ep->inflight, &through);
	list_splice_tail_init(&ep->rw_waiting, &through);
	list_splice_tail_init(&ep->rdma_queue, &through);
	list_splice_tail_init(&ep->reply_queue, &through);
	if (ep->stream)
		list_add_tail(&ep->stream->work.list, &through);
	ep->stream = NULL;
	spin_unlock(&ep->lock);
	/* Not one of these is known to have been carried out. */
	while (!list_empty(&through)) {
		struct rpcrdma_work *work;

		work = list_first_entry(&through, struct rpcrdma_work, list);
		list_del_init(&work->list);
		work->done(work, false);
	}
}

/* ---- Send contexts ---- */

/**
 * rpcrdma_sends_create - allocate and map Send contexts
 * @ep: endpoint with its device objects
 *
 * Returns 0 or -ENOMEM; the teardown cleans up.
 */
int rpcrdma_sends_create(struct rpcrdma_ep *ep)
{
	u32 count = ep->params.sends + RPCRDMA_CONTROL_SENDS;
	struct rpcrdma_send *s;
	u32 i, size;

	/* CONNPROP may use the default threshold whatever was announced. */
	size = max_t(u32, RPCRDMA_V2_DEFAULT_INLINE, ep->params.send_size);
	ep->reg_cqe.done = rpcrdma_wc_reg;
	ep->rw_cqe.done = rpcrdma_wc_rw;
	ep->send_ring = kvcalloc(count, sizeof(*s), GFP_NOFS);
	if (!ep->send_ring)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		s = &ep->send_ring[i];
		s->ep = ep;
		INIT_LIST_HEAD(&s->work.list);
		s->buf = kmalloc(size, GFP_NOFS);
		ep->nr_sends++;
		if (!s->buf)
			return -ENOMEM;
		s->sge.addr = ib_dma_map_single(ep->device, s->buf, size,
						DMA_TO_DEVICE);
		if (ib_dma_mapping_error(ep->device, s->sge.addr)) {
			kfree(s->buf);
			s->buf = NULL;
			return -ENOMEM;
		}
		s->sge.lkey = ep->pd->local_dma_lkey;
		s->wr.sg_list = &s->sge;
		s->wr.num_sge = 1;
		list_add_tail(&s->work.list, &ep->free_sends);
		ep->nr_free_sends++;
	}
	return 0;
}

void rpcrdma_sends_unmap(struct rpcrdma_ep *ep)
{
	u32 size = max_t(u32, RPCRDMA_V2_DEFAULT_INLINE, ep->params.send_size);
	u32 i;

	for (i = 0; i < ep->nr_sends; i++)
		if (ep->send_ring[i].buf)
			ib_dma_unmap_single(ep->device,
					    ep->send_ring[i].sge.addr, size,
					    DMA_TO_DEVICE);
}

void rpcrdma_sends_free(struct rpcrdma_ep *ep)
{
	u32 i;

	for (i = 0; i < ep->nr_sends; i++)
		kfree(ep->send_ring[i].buf);
	kvfree(ep->send_ring);
}
