// SPDX-License-Identifier: GPL-2.0
/*
 * The Send Queue: posting for the core, completions, and the memory of Send contexts.
 *
 * Operation
 *
 * The core decides what is posted, and when; a chain of Work Requests is posted with
 * one doorbell. Only the last one of a chain can be signaled, and few are. A
 * completion in a softirq appends its chain to ep->completed, an llist. The first
 * chain in an empty list schedules ep->reap_work. That work item lets the core retire
 * the chains that have completed, and those that they cover, and post work that waited
 * for the slots. Callbacks of retired work run after the lock was released.
 *
 * Memory
 *
 * The ring of Send contexts is allocated with the connection, and freed with the
 * endpoint. A context gets a buffer when a message first needs one. The buffer remains
 * mapped until the teardown, and is reused, the most recently used first. The buffers
 * for control messages share one allocation. core/endpoint/send_buffers.cc decides
 * which context gets a buffer, and which size it has. A message is copied to its
 * buffer, so that no Send refers to the memory of an RPC.
 *
 * Errors
 *
 * A completion handler only records the first failure, and schedules ep->reap_work,
 * which closes the connection and logs the status. The failures that follow are its
 * consequence. Nothing is retired by a failure: the work ends in the teardown, when
 * the device no longer accesses its memory. If the device does not stop, completions
 * are not reaped until the teardown has destroyed the queue pair.
 *
 * Locking
 *
 * ep->lock is held across ib_post_send(), so that the order of the counts is that of
 * the messages. Completion handlers take no lock.
 */

#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

/* ---- Posting ---- */

bool rpcrdma_port_post(struct rpcrdma_ep_core *core, struct rpcrdma_work *work)
{
	return rpcrdma_chain_post(rpcrdma_ep_of(core), work->chain,
				  work->wrs.signaled);
}

static noinline void rpcrdma_trace_posted(struct rpcrdma_ep *ep,
					  struct rpcrdma_send *s)
{
	trace_rpcrdma_send(ep, s);
	trace_rpcrdma_grant_sent(ep, s->buf, s->len);
}

bool rpcrdma_port_post_send(struct rpcrdma_ep_core *core,
			    struct rpcrdma_send *s)
{
	struct verbs_send *vs = container_of(s, struct verbs_send, core);
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct ib_send_wr *wr = &vs->wr;

	if (trace_rpcrdma_send_enabled() || trace_rpcrdma_grant_sent_enabled())
		rpcrdma_trace_posted(ep, s);
	vs->sge.addr = s->addr;
	vs->sge.length = s->len;
	wr->send_flags = s->work.wrs.signaled ? IB_SEND_SIGNALED : 0;
	if (s->inv_handle) {
		wr->opcode = IB_WR_SEND_WITH_INV;
		wr->ex.invalidate_rkey = s->inv_handle;
	} else {
		wr->opcode = IB_WR_SEND;
	}
	ib_dma_sync_single_for_device(ep->device, s->addr, s->len,
				      DMA_TO_DEVICE);
	return rpcrdma_doorbell(ep, s->before ?: wr);
}

void rpcrdma_port_queued(struct rpcrdma_ep_core *core, u32 xid,
			 const struct rpcrdma_work *work)
{
	trace_rpcrdma_sq_full(rpcrdma_ep_of(core), xid, work);
}

/* ---- Completions ---- */

/* Retire completed work, and post work that waited for it. */
void rpcrdma_works_reap(struct work_struct *item)
{
	struct rpcrdma_ep *ep = container_of(item, struct rpcrdma_ep, reap_work);
	struct rpcrdma_chain *chain;
	struct llist_node *node;
	unsigned int flags;
	LIST_HEAD(done_list);
	u32 todo;

	/*
	 * If the device does not stop, the teardown reaps, after it has destroyed the
	 * queue pair.
	 */
	if (unlikely(READ_ONCE(ep->core.life.unstopped)))
		return;
	/* Memory reclaim may wait for a pulled Reply. */
	flags = rpcrdma_ep_memalloc_begin(ep);
	node = llist_reverse_order(llist_del_all(&ep->completed));
	spin_lock(&ep->lock);
	while (node) {
		chain = llist_entry(node, struct rpcrdma_chain, completed);
		node = node->next;
		rpcrdma_core_reap(&ep->core, chain->work, &done_list);
	}
	rpcrdma_core_freed(&ep->core);
	todo = rpcrdma_ep_unlock(ep);
	rpcrdma_core_end(&ep->core, todo, &done_list, true);
	rpcrdma_port_works_check(&ep->core);
	rpcrdma_memalloc_end(flags);
}

/* ---- Completions, in a softirq ---- */

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
	/*
	 * Failures after the first one are its consequence. A reader that finds ep->failure
	 * set also finds a status.
	 */
	if (status == IB_WC_WR_FLUSH_ERR) {
		WRITE_ONCE(ep->flushed, true);
	} else {
		cmpxchg(&ep->failure_status, IB_WC_SUCCESS, status);
		cmpxchg(&ep->failure, NULL, reason);
	}
	if (!rpcrdma_ep_is_closing(ep))
		queue_work(rpcrdma_message_wq, &ep->reap_work);
}

void rpcrdma_port_works_check(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	const char *failure = READ_ONCE(ep->failure);

	if (unlikely(failure))
		rpcrdma_core_failed(core,
				    rpcrdma_wc_failure(READ_ONCE(ep->failure_status)),
				    failure);
	else if (unlikely(READ_ONCE(ep->flushed)))
		rpcrdma_core_failed(core, RPCRDMA_FAILURE_FLUSHED, NULL);
}

/*
 * Handle the completion of a work item. Until it is reaped, no other context touches
 * it: posted work is reaped in order.
 */
void rpcrdma_wc_work(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_chain *chain =
		container_of(wc->wr_cqe, struct rpcrdma_chain, cqe);
	struct rpcrdma_ep *ep = cq->cq_context;

	if (unlikely(wc->status != IB_WC_SUCCESS))
		rpcrdma_wc_failed(ep, wc->status, ib_wc_status_msg(wc->status));
	else if (llist_add(&chain->completed, &ep->completed))
		queue_work(rpcrdma_message_wq, &ep->reap_work);
}

/*
 * Only errors arrive here: of a chain, only the last Work Request is signaled, with the
 * work item's cqe.
 */
static void rpcrdma_wc_chained(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_ep *ep = cq->cq_context;

	if (wc->status != IB_WC_SUCCESS)
		rpcrdma_wc_failed(ep, wc->status, wc->wr_cqe == &ep->reg_cqe ?
				  "a memory registration failed" :
				  ib_wc_status_msg(wc->status));
}

void rpcrdma_port_reap(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	queue_work(rpcrdma_message_wq, &ep->reap_work);
	flush_work(&ep->reap_work);
}

/* ---- Send contexts ---- */

/* Memory reclaim may wait for a client's RPC, see rpcrdma_rw_add(). */
static const gfp_t rpcrdma_buffers_gfp[] = {
	[RPCRDMA_BUFFER_NOW] = GFP_ATOMIC | __GFP_NOWARN,
	[RPCRDMA_BUFFER_WANTED] = RPCRDMA_GFP_CLIENT,
	[RPCRDMA_BUFFER_NEEDED] = GFP_NOFS,
};

void *rpcrdma_port_buffer(struct rpcrdma_ep_core *core, u32 size,
			  enum rpcrdma_buffer_need need, u64 *addr)
{
	return rpcrdma_buffer_create(rpcrdma_ep_of(core), size, DMA_TO_DEVICE,
				     rpcrdma_buffers_gfp[need], addr);
}

void rpcrdma_port_buffer_free(struct rpcrdma_ep_core *core, void *buf, u64 addr,
			      u32 size)
{
	ib_dma_unmap_single(rpcrdma_ep_of(core)->device, addr, size,
			    DMA_TO_DEVICE);
	rpcrdma_buffer_free(buf, size);
}

struct rpcrdma_send *rpcrdma_port_send(struct rpcrdma_ep_core *core, u32 number)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct verbs_send *s = &ep->send_ring[number];

	*s = (struct verbs_send){
		.core.work.chain = &s->chain,
		.chain.work = &s->core.work,
		.chain.last = &s->wr,
		.chain.cqe.done = rpcrdma_wc_work,
		.wr.wr_cqe = &s->chain.cqe,
		.wr.sg_list = &s->sge,
		.wr.num_sge = 1,
		.sge.lkey = ep->lkey,
	};
	return &s->core;
}

void *rpcrdma_kvmalloc(size_t size, gfp_t gfp)
{
	unsigned int nofs = memalloc_nofs_save();
	void *mem = kvmalloc(size, gfp | __GFP_FS);

	memalloc_nofs_restore(nofs);
	return mem;
}

int rpcrdma_port_sends(struct rpcrdma_ep_core *core, u32 nr)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	ep->reg_cqe.done = rpcrdma_wc_chained;
	ep->rw_cqe.done = rpcrdma_wc_chained;
	ep->send_ring = rpcrdma_kvmalloc(array_size(nr, sizeof(*ep->send_ring)),
					 GFP_NOFS);
	if (!ep->send_ring)
		return -ENOMEM;
	core->control_bufs = rpcrdma_buffer_create(ep, RPCRDMA_CONTROL_BUFS,
						   DMA_TO_DEVICE, GFP_NOFS,
						   &core->control_addr);
	return core->control_bufs ? 0 : -ENOMEM;
}

static bool rpcrdma_send_has_own(const struct rpcrdma_send *s)
{
	return s->buf && !s->shared;
}

void rpcrdma_sends_unmap(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s;
	u32 i, made;

	/* A Call may still be started: its context will have no separate buffer. */
	spin_lock(&ep->lock);
	made = ep->core.sends_made;
	spin_unlock(&ep->lock);
	for (i = 0; i < made; i++) {
		s = &ep->send_ring[i].core;
		if (rpcrdma_send_has_own(s))
			ib_dma_unmap_single(ep->device, s->addr, s->size,
					    DMA_TO_DEVICE);
	}
	if (ep->core.control_bufs)
		ib_dma_unmap_single(ep->device, ep->core.control_addr,
				    RPCRDMA_CONTROL_BUFS, DMA_TO_DEVICE);
}

void rpcrdma_sends_free(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s;
	u32 i;

	for (i = 0; i < ep->core.sends_made; i++) {
		s = &ep->send_ring[i].core;
		if (rpcrdma_send_has_own(s))
			rpcrdma_buffer_free(s->buf, s->size);
	}
	rpcrdma_buffer_free(ep->core.control_bufs, RPCRDMA_CONTROL_BUFS);
	kvfree(ep->send_ring);
}
