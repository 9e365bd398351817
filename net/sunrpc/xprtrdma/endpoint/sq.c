// SPDX-License-Identifier: GPL-2.0
/*
 * The Send Queue: posting to it, what waits without a message, completions, and the
 * memory of Send contexts. Who may post, and when, is the engine's to say.
 */

#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

static void rpcrdma_wc_work(struct ib_cq *cq, struct ib_wc *wc);

/* ---- Posting ---- */

/* A transfer has its turn. */
static bool rpcrdma_work_post(struct rpcrdma_ep *ep, struct rpcrdma_work *work)
{
	lockdep_assert_held(&ep->lock);
	rpcrdma_sq_post(&ep->sq, &work->wrs);
	return rpcrdma_work_hand_over(ep, work);
}

bool rpcrdma_transfer_post(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work;

	lockdep_assert_held(&ep->lock);
	work = list_first_entry(&ep->transfers, struct rpcrdma_work, list);
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
		may = rpcrdma_sq_transfer(&ep->sq, work->wrs.nr);
	if (may == RPCRDMA_SQ_GO)
		ok = rpcrdma_work_post(ep, work);
	else if (may == RPCRDMA_SQ_WAIT)
		list_add_tail(&work->list, &ep->transfers);
	else
		ok = closing;
	spin_unlock(&ep->lock);
	if (unlikely(!ok))
		rpcrdma_ep_close(ep, "RDMA Work Requests could not be posted");
	if (unlikely(may == RPCRDMA_SQ_NEVER))
		work->done(work, false);
}

/* ---- Completions ---- */

/* What went with @s, which is free; ep->lock held. */
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
	rpcrdma_sq_give(&ep->sq);
}

void rpcrdma_send_reap(struct rpcrdma_send *s, struct list_head *through)
{
	/* What it was to expose stays the caller's. */
	s->exposed = NULL;
	rpcrdma_send_free_up(s->ep, s, through);
}

/* The same for any work, which is in no list any more; ep->lock held, too */
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
	struct rpcrdma_work **at = &ep->inflight, *w;

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
		ep->inflight_end = at;
	rpcrdma_sq_reaped(&ep->sq, ep->inflight ? &ep->inflight->wrs : NULL);
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

/* The first failure counts. A reader that finds @reason finds a status. */
static void rpcrdma_note_failure(struct rpcrdma_ep *ep,
				 enum ib_wc_status status, const char *reason)
{
	cmpxchg(&ep->failure_status, IB_WC_SUCCESS, status);
	cmpxchg(&ep->failure, NULL, reason);
}

/*
 * A Work Request has failed, @reason says which one. It ends in the teardown, like all
 * that is behind it, when the queue pair is quiet: rxe completes work with an error while
 * it still reads the memory of it.
 */
static noinline void rpcrdma_wc_failed(struct rpcrdma_ep *ep,
				       enum ib_wc_status status,
				       const char *reason)
{
	trace_rpcrdma_wc_error(ep, status);
	/* What comes after the first one is its consequence. */
	if (status == IB_WC_WR_FLUSH_ERR)
		WRITE_ONCE(ep->flushed, true);
	else
		rpcrdma_note_failure(ep, status, reason);
	if (!rpcrdma_ep_is_closing(ep))
		queue_work(rpcrdma_message_wq, &ep->reap_work);
}

/* Has some? Process context, no ep lock held. */
void rpcrdma_works_check(struct rpcrdma_ep *ep)
{
	const char *failure = READ_ONCE(ep->failure);

	if (unlikely(failure))
		rpcrdma_ep_failed(ep, READ_ONCE(ep->failure_status), failure);
	else if (unlikely(READ_ONCE(ep->flushed)))
		rpcrdma_ep_failed(ep, IB_WC_WR_FLUSH_ERR, NULL);
}

/*
 * The device is through with a work item. Until that is reaped nobody else touches it:
 * those that are posted are reaped in order.
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

/* ... and here: a transfer reports itself with its last Work Request. */
static void rpcrdma_wc_rw(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		rpcrdma_wc_failed(cq->cq_context, wc->status,
				  ib_wc_status_msg(wc->status));
}

/* No completion comes any more, and the connection is closing. */
void rpcrdma_work_flush(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work, *next;
	LIST_HEAD(through);

	/* Work that was carried out ends with success. */
	queue_work(rpcrdma_message_wq, &ep->reap_work);
	flush_work(&ep->reap_work);
	spin_lock(&ep->lock);
	work = ep->inflight;
	ep->inflight = NULL;
	ep->inflight_end = &ep->inflight;
	for (; work; work = next) {
		next = work->next;
		rpcrdma_work_through(ep, work, &through);
	}
	spin_unlock(&ep->lock);
	/* Not one of these is known to have been carried out. */
	rpcrdma_work_tell(&through, false);
}

/* The connection is closing. */
void rpcrdma_waiting_flush(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work, *next;
	LIST_HEAD(through);
	LIST_HEAD(all);

	/* If the device does not stop, no completion is processed after this. */
	flush_work(&ep->reap_work);
	spin_lock(&ep->lock);
	list_splice_tail_init(&ep->rw_waiting, &all);
	list_splice_tail_init(&ep->transfers, &all);
	list_splice_tail_init(&ep->messages, &all);
	list_for_each_entry_safe(work, next, &all, list) {
		list_del_init(&work->list);
		rpcrdma_work_through(ep, work, &through);
	}
	spin_unlock(&ep->lock);
	rpcrdma_work_tell(&through, false);
}

/* ---- Send contexts ---- */

/* Octets of ep->control_bufs */
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

/* @s has no buffer of its own (any more): one for control messages, or none */
static void rpcrdma_send_bare(struct rpcrdma_send *s)
{
	u32 number = s - s->ep->send_ring;

	s->report = s->ep->report;
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
	for (work = ep->free_sends; work; work = work->next) {
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
 * Take the buffer of a free context that has one of its own of at least @octets, and leave
 * it that of @s. What control messages need stays with its context.
 */
static bool rpcrdma_send_exchange(struct rpcrdma_send *s, u32 octets)
{
	struct rpcrdma_ep *ep = s->ep;
	struct rpcrdma_work *work;
	struct rpcrdma_send *other;
	bool found = false;

	spin_lock(&ep->lock);
	for (work = ep->free_sends; work && !found; work = work->next) {
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
 * rpcrdma_send_larger - a larger buffer for a Send context
 * @s: Send context of the caller's
 * @octets: more than its buffer has
 * @gfp: how it is allocated
 *
 * See rpcrdma_send_room(). It keeps the buffer, and those used last are the next
 * ones used: few contexts ever have a large one. Without memory it is no larger than it
 * has to be, or that of a free context. Process context, may sleep, without starting
 * I/O. Returns 0, -EMSGSIZE, -ENOTCONN or -ENOMEM.
 */
int rpcrdma_send_larger(struct rpcrdma_send *s, u32 octets, gfp_t gfp)
{
	struct rpcrdma_ep *ep = s->ep;
	u32 size = RPCRDMA_SMALL_SEND;
	unsigned int nofs;
	int rc;

	if (octets > size)
		size = rpcrdma_conn_send_octets(&ep->conn);
	if (octets > size)
		return -EMSGSIZE;
	/* The teardown unmaps it. */
	if (!rpcrdma_ep_enter(ep))
		return -ENOTCONN;
	/* As in rpcrdma_rw_add() */
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

/* One allocation, and one mapping, for the buffers that control messages need */
static int rpcrdma_control_bufs_create(struct rpcrdma_ep *ep)
{
	ep->control_bufs = rpcrdma_buffer_create(ep, RPCRDMA_CONTROL_BUFS,
						 DMA_TO_DEVICE, GFP_NOFS,
						 &ep->control_addr);
	return ep->control_bufs ? 0 : -ENOMEM;
}

struct rpcrdma_send *rpcrdma_send_make(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s = &ep->send_ring[ep->sends_made];

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
	ep->sends_made++;
	return s;
}

/* What a client sends from, when there is no memory either, is there from the start. */
static void rpcrdma_sends_make_all(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s;
	u32 i;

	spin_lock(&ep->lock);
	while (ep->sends_made < ep->nr_sends)
		s = rpcrdma_send_make(ep);
	/* Those with a buffer are the last to be put there, and the first to be used. */
	for (i = ep->nr_sends; --i;)
		rpcrdma_send_push(ep, &ep->send_ring[i]);
	spin_unlock(&ep->lock);
	if (!rpcrdma_send_buffer(s, rpcrdma_conn_send_octets(&ep->conn),
				 RPCRDMA_GFP_CLIENT))
		s->report = RPCRDMA_REPORT_ALL;
}

/**
 * rpcrdma_sends_create - allocate Send contexts
 * @ep: endpoint with its device objects
 *
 * Those that control messages need have a buffer from the start, and the one of a client
 * that is used last has, if it can be had, the largest: with it a client can send what
 * frees memory, when there is none. Those of a server, which may have thousands of
 * connections with nothing to do, are made when they are used first.
 * Returns 0 or -ENOMEM; the teardown cleans up.
 */
int rpcrdma_sends_create(struct rpcrdma_ep *ep)
{
	/* One more is for the Call that is made next. */
	u32 i, count = ep->params.sends + RPCRDMA_CONTROL_SENDS + 1;

	ep->reg_cqe.done = rpcrdma_wc_reg;
	ep->rw_cqe.done = rpcrdma_wc_rw;
	ep->send_ring = kvmalloc_array(count, sizeof(*ep->send_ring), GFP_NOFS);
	if (!ep->send_ring)
		return -ENOMEM;
	ep->nr_sends = count;
	if (rpcrdma_control_bufs_create(ep))
		return -ENOMEM;
	ep->call_send = rpcrdma_send_make(ep);
	for (i = 1; i < count; i++)
		rpcrdma_sq_give(&ep->sq);
	if (ep->client)
		rpcrdma_sends_make_all(ep);
	return 0;
}

void rpcrdma_sends_unmap(struct rpcrdma_ep *ep)
{
	u32 i, made;

	/* Work on a Call may be begun yet: its context will have no buffer of its own. */
	spin_lock(&ep->lock);
	made = ep->sends_made;
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

	for (i = 0; i < ep->sends_made; i++)
		rpcrdma_send_free(&ep->send_ring[i]);
	kfree(ep->control_bufs);
	kvfree(ep->send_ring);
}
