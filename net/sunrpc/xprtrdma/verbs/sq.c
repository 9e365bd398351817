// SPDX-License-Identifier: GPL-2.0
/*
 * The Send Queue: posting, queued RDMA, completions, and the memory of Send contexts.
 * The engine decides what may be posted, and when.
 */

#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

static void rpcrdma_wc_work(struct ib_cq *cq, struct ib_wc *wc);

/* ---- Posting ---- */

/* Post a transfer that the engine has scheduled. */
static bool rpcrdma_work_post(struct rpcrdma_ep *ep, struct rpcrdma_work *work)
{
	lockdep_assert_held(&ep->lock);
	rpcrdma_sq_post(&ep->core.sq, &work->wrs);
	return rpcrdma_work_hand_over(ep, work);
}

bool rpcrdma_transfer_post(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work;

	lockdep_assert_held(&ep->lock);
	work = list_first_entry(&ep->core.transfers, struct rpcrdma_work, list);
	list_del_init(&work->list);
	return rpcrdma_work_post(ep, work);
}

void rpcrdma_work_rdma(struct rpcrdma_ep *ep, struct rpcrdma_work *work)
{
	enum rpcrdma_sq_answer may = RPCRDMA_SQ_NEVER;
	bool ok = true, closing;

	work->kind = RPCRDMA_WORK_RDMA;
	work->cqe.done = rpcrdma_wc_work;
	work->last->wr_cqe = &work->cqe;
	spin_lock(&ep->lock);
	closing = rpcrdma_ep_is_closing(ep);
	if (likely(!closing))
		may = rpcrdma_sq_transfer(&ep->core.sq, work->wrs.nr);
	if (may == RPCRDMA_SQ_GO)
		ok = rpcrdma_work_post(ep, work);
	else if (may == RPCRDMA_SQ_WAIT)
		list_add_tail(&work->list, &ep->core.transfers);
	else
		ok = closing;
	spin_unlock(&ep->lock);
	if (unlikely(!ok))
		rpcrdma_ep_close(ep, "RDMA Work Requests could not be posted");
	if (unlikely(may == RPCRDMA_SQ_NEVER))
		work->done(work, false);
}

/* ---- Completions ---- */

/*
 * Release the context of @s and append the work attached to it to @through. Caller
 * holds ep->lock.
 */
static __always_inline void rpcrdma_send_free_up(struct rpcrdma_ep *ep,
						 struct rpcrdma_send *s,
						 struct list_head *through)
{
	if (unlikely(s->rw)) {
		s->rw->work.refused = s->work.refused;
		list_add_tail(&s->rw->work.list, through);
		s->rw = NULL;
	}
	if (unlikely(s->stream)) {
		list_add_tail(&s->stream->work.list, through);
		s->stream = NULL;
	}
	rpcrdma_send_push(ep, s);
	rpcrdma_sq_give(&ep->core.sq);
}

void rpcrdma_send_reap(struct rpcrdma_send *s, struct list_head *through)
{
	/* The caller keeps the memory that it was to expose. */
	s->exposed = NULL;
	rpcrdma_send_free_up(s->ep, s, through);
}

/* Retire any work, which is on no list any more. Caller holds ep->lock. */
static __always_inline void rpcrdma_work_through(struct rpcrdma_ep *ep,
						 struct rpcrdma_work *work,
						 struct list_head *through)
{
	if (likely(work->kind <= RPCRDMA_WORK_CONTROL))
		rpcrdma_send_free_up(ep,
				     container_of(work, struct rpcrdma_send,
						  work), through);
	else
		list_add_tail(&work->list, through);
}

void rpcrdma_work_reap(struct rpcrdma_ep *ep, struct rpcrdma_work *work,
		       struct list_head *through)
{
	struct rpcrdma_work **at = &ep->core.inflight, *w;

	lockdep_assert_held(&ep->lock);
	while (likely((w = *at))) {
		if (likely(rpcrdma_sq_vouches(&work->wrs, &w->wrs))) {
			*at = w->next;
			rpcrdma_work_through(ep, w, through);
		} else {
			at = &w->next;
		}
		if (w == work)
			break;
	}
	if (!*at)
		ep->core.inflight_end = at;
	rpcrdma_sq_reaped(&ep->core.sq, ep->core.inflight ? &ep->core.inflight->wrs : NULL);
}

void rpcrdma_work_tell(struct list_head *through, bool ok)
{
	struct rpcrdma_work *work;

	while (!list_empty(through)) {
		work = list_first_entry(through, struct rpcrdma_work, list);
		list_del_init(&work->list);
		work->done(work, ok && !work->refused);
	}
}

/* ---- Completions, in a softirq ---- */

/* Record the first failure. A reader that finds ep->failure set also finds a status. */
static void rpcrdma_note_failure(struct rpcrdma_ep *ep,
				 enum ib_wc_status status, const char *reason)
{
	cmpxchg(&ep->failure_status, IB_WC_SUCCESS, status);
	cmpxchg(&ep->failure, NULL, reason);
}

/*
 * Handle a failed Work Request; @reason says which one. The work ends in the teardown,
 * like all work posted after it, when the queue pair is idle: rxe completes work with
 * an error while it still reads the memory of that work.
 */
static noinline void rpcrdma_wc_failed(struct rpcrdma_ep *ep,
				       enum ib_wc_status status,
				       const char *reason)
{
	trace_rpcrdma_wc_error(ep, status);
	/* Failures after the first one are its consequence. */
	if (status == IB_WC_WR_FLUSH_ERR)
		WRITE_ONCE(ep->flushed, true);
	else
		rpcrdma_note_failure(ep, status, reason);
	if (!rpcrdma_ep_is_closing(ep))
		queue_work(rpcrdma_message_wq, &ep->reap_work);
}

/*
 * Close the connection if a Work Request has failed. Process context, no ep lock held.
 */
void rpcrdma_works_check(struct rpcrdma_ep *ep)
{
	const char *failure = READ_ONCE(ep->failure);

	if (unlikely(failure))
		rpcrdma_ep_failed(ep, READ_ONCE(ep->failure_status), failure);
	else if (unlikely(READ_ONCE(ep->flushed)))
		rpcrdma_ep_failed(ep, IB_WC_WR_FLUSH_ERR, NULL);
}

/*
 * Handle the completion of a work item. Until it is reaped, no other context touches
 * it: posted work is reaped in order.
 */
static void rpcrdma_wc_work(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_work *work =
		container_of(wc->wr_cqe, struct rpcrdma_work, cqe);
	struct rpcrdma_ep *ep = cq->cq_context;

	if (unlikely(wc->status != IB_WC_SUCCESS))
		rpcrdma_wc_failed(ep, wc->status, ib_wc_status_msg(wc->status));
	else if (llist_add(&work->completed, &ep->completed))
		queue_work(rpcrdma_message_wq, &ep->reap_work);
}

/* Only errors arrive here: registrations are never signaled. */
static void rpcrdma_wc_reg(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		rpcrdma_wc_failed(cq->cq_context, wc->status,
				  "a memory registration failed");
}

/*
 * Only errors arrive here: of a transfer, only the last Work Request is signaled, with
 * the work item's cqe.
 */
static void rpcrdma_wc_rw(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		rpcrdma_wc_failed(cq->cq_context, wc->status,
				  ib_wc_status_msg(wc->status));
}

/* End all posted work. No more completions arrive, and the connection is closing. */
void rpcrdma_work_flush(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work, *next;
	LIST_HEAD(through);

	/* Work that was executed ends with success. */
	queue_work(rpcrdma_message_wq, &ep->reap_work);
	flush_work(&ep->reap_work);
	spin_lock(&ep->lock);
	work = ep->core.inflight;
	ep->core.inflight = NULL;
	ep->core.inflight_end = &ep->core.inflight;
	for (; work; work = next) {
		next = work->next;
		rpcrdma_work_through(ep, work, &through);
	}
	spin_unlock(&ep->lock);
	/* None of the rest is known to have been executed. */
	rpcrdma_work_tell(&through, false);
}

/* End all work that waits to be posted. The connection is closing. */
void rpcrdma_waiting_flush(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work, *next;
	LIST_HEAD(through);
	LIST_HEAD(all);

	/* If the device does not stop, no completion is processed after this. */
	flush_work(&ep->reap_work);
	spin_lock(&ep->lock);
	list_splice_tail_init(&ep->core.rw_waiting, &all);
	list_splice_tail_init(&ep->core.transfers, &all);
	list_splice_tail_init(&ep->core.messages, &all);
	list_for_each_entry_safe(work, next, &all, list) {
		list_del_init(&work->list);
		rpcrdma_work_through(ep, work, &through);
	}
	spin_unlock(&ep->lock);
	rpcrdma_work_tell(&through, false);
}

/* ---- Send contexts ---- */

/* Bytes of ep->control_bufs */
#define RPCRDMA_CONTROL_BUFS	(RPCRDMA_CONTROL_SENDS * RPCRDMA_SMALL_SEND)

static void rpcrdma_send_unmap(struct rpcrdma_send *s)
{
	if (s->buf && !s->shared)
		ib_dma_unmap_single(s->ep->device, s->sge.addr, s->size,
				    DMA_TO_DEVICE);
}

static void rpcrdma_send_free(struct rpcrdma_send *s)
{
	if (!s->shared)
		kfree(s->buf);
}

int rpcrdma_send_buffer(struct rpcrdma_send *s, u32 size, gfp_t gfp)
{
	struct rpcrdma_ep *ep = s->ep;
	void *buf;
	u64 addr;

	buf = rpcrdma_buffer_create(ep, size, DMA_TO_DEVICE, gfp, &addr);
	if (!buf)
		return -ENOMEM;
	if (!s->buf || s->shared)
		atomic_inc(&ep->send_bufs);
	rpcrdma_send_unmap(s);
	rpcrdma_send_free(s);
	s->shared = false;
	s->buf = buf;
	s->size = size;
	s->sge.addr = addr;
	return 0;
}

static void rpcrdma_send_share(struct rpcrdma_send *s, u32 number)
{
	s->shared = true;
	s->buf = s->ep->control_bufs + number * RPCRDMA_SMALL_SEND;
	s->size = RPCRDMA_SMALL_SEND;
	s->sge.addr = s->ep->control_addr + number * RPCRDMA_SMALL_SEND;
}

/*
 * Initialize @s, which has no buffer of its own (any more): with one for control
 * messages, or none.
 */
static void rpcrdma_send_bare(struct rpcrdma_send *s)
{
	u32 number = s - s->ep->send_ring;

	s->report = s->ep->core.report;
	if (number && number <= RPCRDMA_CONTROL_SENDS) {
		rpcrdma_send_share(s, number - 1);
	} else {
		s->shared = false;
		s->buf = NULL;
		s->size = 0;
	}
}

u32 rpcrdma_send_let_go(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s, *last = NULL;
	struct rpcrdma_work *work;

	lockdep_assert_held(&ep->lock);
	if (!atomic_read(&ep->send_bufs))
		return 0;
	for (work = ep->core.free_sends; work; work = work->next) {
		s = container_of(work, struct rpcrdma_send, work);
		if (s->buf && !s->shared)
			last = s;
	}
	if (last) {
		rpcrdma_send_unmap(last);
		rpcrdma_send_free(last);
		rpcrdma_send_bare(last);
		atomic_dec(&ep->send_bufs);
	}
	return atomic_read(&ep->send_bufs);
}

/*
 * Exchange buffers with a free context whose own buffer has at least @octets bytes.
 * Return false if there is none. Buffers of control messages stay with their contexts.
 */
static bool rpcrdma_send_exchange(struct rpcrdma_send *s, u32 octets)
{
	struct rpcrdma_ep *ep = s->ep;
	struct rpcrdma_work *work;
	struct rpcrdma_send *other;
	bool found = false;

	spin_lock(&ep->lock);
	for (work = ep->core.free_sends; work && !found; work = work->next) {
		other = container_of(work, struct rpcrdma_send, work);
		if (other->size < octets || other->shared)
			continue;
		swap(s->buf, other->buf);
		swap(s->size, other->size);
		swap(s->shared, other->shared);
		swap(s->sge.addr, other->sge.addr);
		swap(s->report, other->report);
		if (other->shared || !other->buf)
			rpcrdma_send_bare(other);
		found = true;
	}
	spin_unlock(&ep->lock);
	return found;
}

/**
 * rpcrdma_send_larger - replace the buffer of a Send context by a larger one
 * @s: Send context owned by the caller
 * @octets: more bytes than its buffer has
 * @gfp: allocation flags
 *
 * See rpcrdma_send_room(). The context keeps the buffer, and the contexts used last are
 * used next, so that few contexts ever have a large one. If memory is short, the buffer
 * is only as large as necessary, or taken from a free context.
 * Context: process context, may sleep, without starting I/O.
 * Return: 0, -EMSGSIZE, -ENOTCONN or -ENOMEM.
 */
int rpcrdma_send_larger(struct rpcrdma_send *s, u32 octets, gfp_t gfp)
{
	struct rpcrdma_ep *ep = s->ep;
	u32 size = RPCRDMA_SMALL_SEND;
	unsigned int nofs;
	int rc;

	if (octets > size)
		size = rpcrdma_conn_send_octets(&ep->core.conn);
	if (octets > size)
		return -EMSGSIZE;
	/* Hold off the teardown, which unmaps the buffer. */
	if (!rpcrdma_ep_enter(ep))
		return -ENOTCONN;
	/* For the same reason as in rpcrdma_rw_add() */
	nofs = memalloc_nofs_save();
	rc = rpcrdma_send_buffer(s, size, gfp);
	if (unlikely(rc) && octets < size)
		rc = rpcrdma_send_buffer(s, octets, gfp);
	if (unlikely(rc) && rpcrdma_send_exchange(s, octets))
		rc = 0;
	memalloc_nofs_restore(nofs);
	rpcrdma_ep_leave(ep);
	return rc;
}

/*
 * Allocate and map the buffers of control messages, in one piece. Return 0 or -ENOMEM.
 */
static int rpcrdma_control_bufs_create(struct rpcrdma_ep *ep)
{
	ep->control_bufs = rpcrdma_buffer_create(ep, RPCRDMA_CONTROL_BUFS,
						 DMA_TO_DEVICE, GFP_NOFS,
						 &ep->control_addr);
	return ep->control_bufs ? 0 : -ENOMEM;
}

struct rpcrdma_send *rpcrdma_send_make(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s = &ep->send_ring[ep->core.sends_made];

	*s = (struct rpcrdma_send){
		.ep = ep,
		.work.list = LIST_HEAD_INIT(s->work.list),
		.work.cqe.done = rpcrdma_wc_work,
		.work.last = &s->wr,
		.wr.wr_cqe = &s->work.cqe,
		.wr.sg_list = &s->sge,
		.wr.num_sge = 1,
		.sge.lkey = ep->lkey,
	};
	rpcrdma_send_bare(s);
	ep->core.sends_made++;
	return s;
}

/*
 * Initialize all Send contexts of a client, and its reserve buffer, for sending when
 * memory is short.
 */
static void rpcrdma_sends_make_all(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s;
	u32 i;

	spin_lock(&ep->lock);
	while (ep->core.sends_made < ep->core.nr_sends)
		s = rpcrdma_send_make(ep);
	/*
	 * Contexts with a buffer are added to the list last, and are therefore used
	 * first.
	 */
	for (i = ep->core.nr_sends; --i;)
		rpcrdma_send_push(ep, &ep->send_ring[i]);
	spin_unlock(&ep->lock);
	if (!rpcrdma_send_buffer(s, rpcrdma_conn_send_octets(&ep->core.conn),
				 RPCRDMA_GFP_CLIENT))
		s->report = RPCRDMA_REPORT_ALL;
}

/**
 * rpcrdma_sends_create - allocate Send contexts
 * @ep: endpoint with its device objects
 *
 * The contexts for control messages have a buffer from the start. The last context of a
 * client has a buffer of the largest size, if it can be allocated: it allows a client
 * to send messages that free memory when memory is short. The contexts of a server,
 * which may have thousands of idle connections, are initialized at their first use.
 * Return: 0 or -ENOMEM; the teardown cleans up.
 */
int rpcrdma_sends_create(struct rpcrdma_ep *ep)
{
	/* One more is for the Call that is built next. */
	u32 i, count = ep->params.sends + RPCRDMA_CONTROL_SENDS + 1;

	ep->reg_cqe.done = rpcrdma_wc_reg;
	ep->rw_cqe.done = rpcrdma_wc_rw;
	ep->send_ring = kvmalloc_array(count, sizeof(*ep->send_ring), GFP_NOFS);
	if (!ep->send_ring)
		return -ENOMEM;
	ep->core.nr_sends = count;
	if (rpcrdma_control_bufs_create(ep))
		return -ENOMEM;
	ep->core.call_send = rpcrdma_send_make(ep);
	for (i = 1; i < count; i++)
		rpcrdma_sq_give(&ep->core.sq);
	if (ep->client)
		rpcrdma_sends_make_all(ep);
	return 0;
}

void rpcrdma_sends_unmap(struct rpcrdma_ep *ep)
{
	u32 i, made;

	/* A Call may still be started: its context will have no buffer of its own. */
	spin_lock(&ep->lock);
	made = ep->core.sends_made;
	spin_unlock(&ep->lock);
	for (i = 0; i < made; i++)
		rpcrdma_send_unmap(&ep->send_ring[i]);
	if (ep->control_bufs)
		ib_dma_unmap_single(ep->device, ep->control_addr,
				    RPCRDMA_CONTROL_BUFS, DMA_TO_DEVICE);
}

void rpcrdma_sends_free(struct rpcrdma_ep *ep)
{
	u32 i;

	for (i = 0; i < ep->core.sends_made; i++)
		rpcrdma_send_free(&ep->send_ring[i]);
	kfree(ep->control_bufs);
	kvfree(ep->send_ring);
}
