// SPDX-License-Identifier: GPL-2.0
/*
 * The Send Queue: its slots, RDMA that waits for them, completions, and the memory
 * of Send contexts.
 */

#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

/* ---- Posting ---- */

/*
 * Post @work, for which there is space. Always takes it: if the device
 * refuses, the connection ends and the drain returns the work. Others may
 * post until it does, and their completion must not vouch for this.
 * Returns false in that case.
 */
bool rpcrdma_work_post(struct rpcrdma_ep *ep, struct rpcrdma_work *work)
{
	u32 unsignaled;

	lockdep_assert_held(&ep->lock);
	ep->sq_head += work->nr_wrs;
	work->sq_mark = ep->sq_head;
	work->cqe.done = ep->completed;
	work->last->wr_cqe = &work->cqe;

	/* One completion reaps what goes before it; see that one comes. */
	unsignaled = ep->sq_head - ep->sq_signaled;
	if (work->signaled || unsignaled >= ep->sq_batch ||
	    ep->nr_free_sends < 2 * RPCRDMA_CONTROL_SENDS) {
		work->signaled = true;
		work->last->send_flags |= IB_SEND_SIGNALED;
		ep->sq_signaled = ep->sq_head;
	}
	list_add_tail(&work->list, &ep->inflight);
	work->refused = ib_post_send(ep->qp, work->first, NULL) != 0;
	return !work->refused;
}

/* Post what waits for space. Returns false when the device refused it. */
bool rpcrdma_pump_rdma(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work;

	lockdep_assert_held(&ep->lock);
	while (!list_empty(&ep->rdma_queue)) {
		work = list_first_entry(&ep->rdma_queue, struct rpcrdma_work,
					list);
		if (!rpcrdma_sq_space(ep, work->nr_wrs))
			break;
		list_del_init(&work->list);
		if (!rpcrdma_work_post(ep, work))
			return false;
	}
	return true;
}

void rpcrdma_work_rdma(struct rpcrdma_ep *ep, struct rpcrdma_work *work)
{
	bool ok = true, closing;

	work->kind = RPCRDMA_WORK_RDMA;
	spin_lock(&ep->lock);
	closing = rpcrdma_ep_is_closing(ep);
	if (!rpcrdma_sq_fits(ep, work->nr_wrs)) {
		ok = false;
		closing = true;
	}
	if (!closing) {
		list_add_tail(&work->list, &ep->rdma_queue);
		ok = rpcrdma_pump_rdma(ep);
	}
	spin_unlock(&ep->lock);
	if (!ok)
		rpcrdma_ep_close(ep, "RDMA Work Requests could not be posted");
	if (closing)
		work->done(work, false);
}

/* ---- Completions ---- */

/*
 * ep->lock held. The device is through with a Send, or will never have it: its
 * context is free, and what went with it is appended to @through.
 */
static void rpcrdma_send_reap(struct rpcrdma_send *s, struct list_head *through)
{
	struct rpcrdma_ep *ep = s->ep;

	lockdep_assert_held(&ep->lock);
	if (s->rw) {
		s->rw->work.refused = s->work.refused;
		list_add_tail(&s->rw->work.list, through);
		s->rw = NULL;
	}
	if (s->stream) {
		list_add_tail(&s->stream->work.list, through);
		s->stream = NULL;
	}
	list_move(&s->work.list, &ep->free_sends);
	ep->nr_free_sends++;
}

/* The same for any work; ep->lock held, too */
static void rpcrdma_work_through(struct rpcrdma_work *work,
				 struct list_head *through)
{
	if (work->kind <= RPCRDMA_WORK_CONTROL)
		rpcrdma_send_reap(container_of(work, struct rpcrdma_send, work),
				  through);
	else
		list_move_tail(&work->list, through);
}

/* Tell the owners. @ok: it was carried out, if the device took it. */
static void rpcrdma_work_tell(struct list_head *through, bool ok)
{
	struct rpcrdma_work *work;

	while (!list_empty(through)) {
		work = list_first_entry(through, struct rpcrdma_work, list);
		list_del_init(&work->list);
		work->done(work, ok && !work->refused);
	}
}

/* Does anything wait that a completion may let go? ep->lock held. */
static bool rpcrdma_ep_waits(const struct rpcrdma_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	return ep->stream || ep->want_space || ep->want_reply ||
	       !list_empty(&ep->rdma_queue) || !list_empty(&ep->reply_queue) ||
	       rpcrdma_conn_control_due(&ep->conn);
}

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
			rpcrdma_work_through(w, through);
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

/**
 * rpcrdma_sq_completed - the device is through with a work item
 * @ep: endpoint
 * @wc: its completion
 *
 * The handler of completions of work. Returns true: there may be space now for
 * what waits.
 */
bool rpcrdma_sq_completed(struct rpcrdma_ep *ep, struct ib_wc *wc)
{
	struct rpcrdma_work *work =
		container_of(wc->wr_cqe, struct rpcrdma_work, cqe);
	LIST_HEAD(through);
	bool waits;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rpcrdma_wc_failed(ep, wc);
		return false;
	}

	spin_lock(&ep->lock);
	/* Not there any more: reaped together with a later one. */
	if (!list_empty(&work->list))
		rpcrdma_work_reap(ep, work, &through);
	waits = rpcrdma_ep_waits(ep);
	spin_unlock(&ep->lock);
	rpcrdma_work_tell(&through, true);
	return waits;
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
	struct rpcrdma_work *work, *next;
	LIST_HEAD(through);
	LIST_HEAD(all);

	spin_lock(&ep->lock);
	list_splice_tail_init(&ep->inflight, &all);
	list_splice_tail_init(&ep->rw_waiting, &all);
	list_splice_tail_init(&ep->rdma_queue, &all);
	list_splice_tail_init(&ep->reply_queue, &all);
	if (ep->stream)
		list_add_tail(&ep->stream->work.list, &all);
	ep->stream = NULL;
	list_for_each_entry_safe(work, next, &all, list)
		rpcrdma_work_through(work, &through);
	spin_unlock(&ep->lock);
	/* Not one of these is known to have been carried out. */
	rpcrdma_work_tell(&through, false);
}

/* A Send that will not be posted: end what was to go with it. No lock held. */
void rpcrdma_send_abort(struct rpcrdma_send *s)
{
	LIST_HEAD(through);

	spin_lock(&s->ep->lock);
	rpcrdma_send_reap(s, &through);
	spin_unlock(&s->ep->lock);
	rpcrdma_work_tell(&through, false);
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
