// SPDX-License-Identifier: GPL-2.0
/*
 * Receives: their memory, their completions, and the contexts that process messages.
 *
 * Operation
 *
 * A Receive is posted, completes in a softirq, is processed by one context in the
 * order of arrival, and is posted again. The completion handler only records the
 * length and the invalidated handle, and adds the Receive to the list of new arrivals,
 * an llist. The first message in an empty list wakes a context: a service thread by
 * the upcall messages(), or this file's work item. The bit ep->rx_busy admits one
 * context at a time. A context processes a batch of messages, and then checks if
 * others have arrived; what becomes of each message is decided in
 * core/endpoint/arrivals.cc. While messages are unprocessed the work item is pending
 * or running, so that none is stranded when the context that was woken is busy
 * elsewhere.
 *
 * Memory
 *
 * A Receive and its buffer of one inline threshold are allocated and mapped when the
 * connection is set up and when the window grows. They are freed when the window
 * shrinks or with the endpoint; core/endpoint/receives.cc decides when. In between, a
 * Receive is free, or it is owned by the device, by the list of arrivals, or by the
 * transport, which holds it until rpcrdma_recv_put(). Buffers remain mapped: they are
 * synced for the CPU before a message is processed, and for the device when posted
 * again. The teardown unmaps them without a sync, because the transport may have
 * changed a message that it still holds. Memory for reassembly and for many segments
 * is allocated when a message needs it.
 *
 * Errors
 *
 * A failed completion is queued in order, and closes the connection when it is
 * reached: messages that arrived before it are still processed. If a Receive cannot be
 * posted, the connection is closed. The core decides what follows if memory for
 * Receives is short. It passes the urgency of an allocation, which rpcrdma_recvs_gfp[]
 * translates.
 *
 * Locking
 *
 * ep->lock is held to process a header and to post; the payload is processed without
 * it. Completions take no lock. The transport releases Receives from any context that
 * may take ep->lock. The teardown waits until no context processes messages.
 */

#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/mm.h>

#include "internal.h"
#include "trace.h"

static void rpcrdma_wc_recv(struct ib_cq *cq, struct ib_wc *wc);

static struct kmem_cache *rpcrdma_recv_cache;

/* Module start. Returns 0 or a negative errno. */
int rpcrdma_recvs_init(void)
{
	rpcrdma_recv_cache = KMEM_CACHE(verbs_recv, 0);
	return rpcrdma_recv_cache ? 0 : -ENOMEM;
}

/* Module end; no endpoint is left. */
void rpcrdma_recvs_exit(void)
{
	kmem_cache_destroy(rpcrdma_recv_cache);
}

/* Return the Receive of @rv, the core's part of it. */
static inline struct verbs_recv *verbs_recv_of(struct rpcrdma_recv *rv)
{
	return container_of(rv, struct verbs_recv, core);
}

/*
 * If a smaller size is possible, large allocations must not retry for long, or for
 * ever.
 */
static const gfp_t rpcrdma_recvs_gfp[] = {
	[RPCRDMA_RECEIVES_WANTED] = GFP_NOWAIT | __GFP_NOWARN,
	[RPCRDMA_RECEIVES_OR_SMALLER] = GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN,
	[RPCRDMA_RECEIVES_NEEDED] = GFP_NOFS,
};

struct rpcrdma_recv *rpcrdma_port_recv(struct rpcrdma_ep_core *core,
				       const struct rpcrdma_receives *want)
{
	const gfp_t gfp = rpcrdma_recvs_gfp[want->need];
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct verbs_recv *vr;

	vr = kmem_cache_zalloc(rpcrdma_recv_cache, gfp);
	if (!vr)
		return NULL;
	vr->core.buf = rpcrdma_buffer_create(ep, want->octets, DMA_FROM_DEVICE,
					     gfp, &vr->sge.addr);
	if (!vr->core.buf) {
		kmem_cache_free(rpcrdma_recv_cache, vr);
		return NULL;
	}
	vr->sge.length = want->octets;
	vr->sge.lkey = ep->lkey;
	vr->cqe.done = rpcrdma_wc_recv;
	vr->wr.wr_cqe = &vr->cqe;
	vr->wr.sg_list = &vr->sge;
	vr->wr.num_sge = 1;
	return &vr->core;
}

bool rpcrdma_port_post_recvs(struct rpcrdma_ep_core *core,
			     struct rpcrdma_recv *first)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct ib_recv_wr *chain, **next = &chain;
	struct verbs_recv *vr;

	lockdep_assert_held(&ep->lock);
	trace_rpcrdma_post_recvs(ep, first);
	for (; first; first = first->next) {
		vr = verbs_recv_of(first);
		ib_dma_sync_single_for_device(ep->device, vr->sge.addr,
					      vr->sge.length, DMA_FROM_DEVICE);
		*next = &vr->wr;
		next = &vr->wr.next;
	}
	*next = NULL;
	return !ib_post_recv(ep->qp, chain, NULL);
}

u32 rpcrdma_port_coarse_ms(const struct rpcrdma_ep_core *core)
{
	return (u32)ktime_to_ms(ktime_get_coarse());
}

/*
 * Unmap all Receives; the queue pair is gone. Received data was synced for the CPU when
 * its Receive completed. A transport that still holds a message may have changed it
 * since, as when it is decrypted in place, so nothing may be copied there from a bounce
 * buffer, and no cache line be invalidated.
 */
void rpcrdma_recvs_unmap(struct rpcrdma_ep *ep)
{
	struct verbs_recv *vr;

	list_for_each_entry(vr, &ep->core.all_recvs, core.all) {
		if (!vr->sge.length)
			continue;
		if (!ib_uses_virt_dma(ep->device))
			dma_unmap_single_attrs(ep->device->dma_device,
					       vr->sge.addr, vr->sge.length,
					       DMA_FROM_DEVICE,
					       DMA_ATTR_SKIP_CPU_SYNC);
		vr->sge.length = 0;
	}
}

void rpcrdma_port_recv_unmap(struct rpcrdma_recv *rv)
{
	struct verbs_recv *vr = verbs_recv_of(rv);

	ib_dma_unmap_single(rpcrdma_recv_ep(rv)->device, vr->sge.addr,
			    vr->sge.length, DMA_FROM_DEVICE);
}

void rpcrdma_port_recv_shrink(struct rpcrdma_recv *rv)
{
	kvfree(rv->assembled);
	kfree(rv->rx.lists.extra_segs);
}

void rpcrdma_port_recv_free(struct rpcrdma_recv *rv)
{
	rpcrdma_port_recv_shrink(rv);
	rpcrdma_buffer_free(rv->buf, rv->size);
	kmem_cache_free(rpcrdma_recv_cache, verbs_recv_of(rv));
}

/* Handle the events and results in @todo, and drop a reference to @ep. */
static noinline void rpcrdma_recv_freed(struct rpcrdma_ep *ep,
					struct rpcrdma_recv *rv, u32 todo)
{
	rpcrdma_core_recv_freed(&ep->core, rv, todo);
	rpcrdma_ep_put(ep);
}

void rpcrdma_recv_put(struct rpcrdma_recv *rv)
{
	struct rpcrdma_ep *ep = rpcrdma_recv_ep(rv);
	u32 todo;

	if (unlikely(rv->large))
		rpcrdma_core_recv_shrink(rv);
	rv->priv = NULL;

	spin_lock(&ep->lock);
	todo = rpcrdma_core_recv_put(&ep->core, rv);
	/* @rv no longer holds the endpoint. */
	if (unlikely(todo) && !(todo & RPCRDMA_RECV_LAST))
		rpcrdma_ep_get(ep);
	spin_unlock(&ep->lock);

	if (unlikely(todo))
		rpcrdma_recv_freed(ep, rv, todo);
}

void rpcrdma_port_recv_put(struct rpcrdma_recv *rv)
{
	rpcrdma_recv_put(rv);
}

/*
 * End the teardown. Drop its reference, unless the transport still holds Receives: then
 * the last of these drops it.
 */
void rpcrdma_recvs_end(struct rpcrdma_ep *ep)
{
	if (rpcrdma_core_recvs_end(&ep->core))
		rpcrdma_ep_put(ep);
}

void *rpcrdma_port_assembly(struct rpcrdma_ep_core *core, u32 size)
{
	return rpcrdma_kvmalloc(size, GFP_NOFS | __GFP_NOWARN);
}

void rpcrdma_port_assembly_free(struct rpcrdma_ep_core *core, void *assembly)
{
	kvfree(assembly);
}

struct rpcrdma_segment *rpcrdma_port_extra_segs(struct rpcrdma_ep_core *core)
{
	return kmalloc_array(RPCRDMA_MAX_EXTRA_SEGS,
			     sizeof(struct rpcrdma_segment),
			     GFP_NOFS | __GFP_NOWARN);
}

static noinline void rpcrdma_trace_received(struct rpcrdma_ep *ep,
					    struct rpcrdma_recv *rv)
{
	trace_rpcrdma_receive(ep, rv);
	trace_rpcrdma_grant_received(ep, rv->buf, rv->octets);
}

/*
 * Process the message of a Receive. Return true if it is for the transport, which owns
 * the Receive until it releases it.
 */
static __always_inline bool rpcrdma_recv_process(struct rpcrdma_ep *ep,
						 struct rpcrdma_recv *rv)
{
	struct rpcrdma_ep_core *core = &ep->core;
	enum rpcrdma_outcome what;
	u32 todo = 0;

	ib_dma_sync_single_for_cpu(ep->device, verbs_recv_of(rv)->sge.addr,
				   rv->octets, DMA_FROM_DEVICE);
	rpcrdma_core_receive_prepare(core, rv);

	spin_lock(&ep->lock);
	what = rpcrdma_core_receive(core, rv);
	if (trace_rpcrdma_receive_enabled() ||
	    trace_rpcrdma_grant_received_enabled())
		rpcrdma_trace_received(ep, rv);
	if (what == RPCRDMA_OUTCOME_RELEASE)
		todo = rpcrdma_core_recv_put(core, rv);
	spin_unlock(&ep->lock);

	if (likely(what == RPCRDMA_OUTCOME_DELIVER))
		return true;
	if (unlikely(what != RPCRDMA_OUTCOME_RELEASE))
		return rpcrdma_core_receive_finish(core, rv, what);
	/* The teardown waits for this context, so that the endpoint stays. */
	if (unlikely(todo))
		rpcrdma_core_recv_freed(core, rv, todo);
	return false;
}

/* Do what the core has chosen, except to notify the transport. */
static __always_inline void rpcrdma_recv_wakeup(struct rpcrdma_ep *ep,
						enum rpcrdma_wakeup wakeup)
{
	if (wakeup == RPCRDMA_WAKEUP_WORK)
		queue_delayed_work(rpcrdma_message_wq, &ep->recv_work, 0);
	else if (unlikely(wakeup == RPCRDMA_WAKEUP_EXPEDITE))
		mod_delayed_work(rpcrdma_message_wq, &ep->recv_work, 0);
	else if (wakeup == RPCRDMA_WAKEUP_FALLBACK)
		queue_delayed_work(rpcrdma_message_wq, &ep->recv_work,
				   msecs_to_jiffies(RPCRDMA_POLL_FALLBACK_MS) + 1);
}

/*
 * Handle a completed Receive, in softirq context. All messages that have arrived are
 * processed at once, by the context that is notified of the first one.
 */
static void rpcrdma_wc_recv(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_recv *vr =
		container_of(wc->wr_cqe, struct verbs_recv, cqe);
	struct rpcrdma_ep *ep = cq->cq_context;
	enum rpcrdma_wakeup wakeup;
	bool first, notified;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		/*
		 * The failure is reported in order, but without waiting for a thread.
		 */
		vr->status = wc->status;
		llist_add(&vr->core.arrived, &ep->rx_new);
		if (!rpcrdma_ep_is_closing(ep))
			rpcrdma_recv_wakeup(ep, RPCRDMA_WAKEUP_EXPEDITE);
		return;
	}
	vr->core.octets = wc->byte_len;
	vr->core.inv_handle = wc->wc_flags & IB_WC_WITH_INVALIDATE ?
			      wc->ex.invalidate_rkey : 0;
	first = llist_add(&vr->core.arrived, &ep->rx_new);
	wakeup = rpcrdma_arrival_wakeup(first, ep->ops->messages,
					test_bit(0, &ep->rx_busy));
	if (wakeup == RPCRDMA_WAKEUP_THREAD) {
		notified = ep->ops->messages(ep);
		wakeup = rpcrdma_thread_wakeup(notified,
					       delayed_work_pending(&ep->recv_work));
	}
	rpcrdma_recv_wakeup(ep, wakeup);
}

/*
 * Begin to process the messages of a connection. Return false if another context processes
 * them.
 */
static bool rpcrdma_poll_begin(struct rpcrdma_poll *poll)
{
	struct rpcrdma_ep *ep = poll->ep;

	if (test_and_set_bit(0, &ep->rx_busy))
		return false;
	poll->began = true;
	if (likely(rpcrdma_core_poll_begin(&ep->core)))
		rpcrdma_core_arrived(&ep->core, llist_del_all(&ep->rx_new));
	return true;
}

struct rpcrdma_recv *rpcrdma_ep_poll_next(struct rpcrdma_poll *poll)
{
	struct rpcrdma_ep *ep = poll->ep;
	struct rpcrdma_recv *rv;
	u8 status;

	if (!poll->began && !rpcrdma_poll_begin(poll))
		return NULL;
	while ((rv = rpcrdma_core_poll_next(&ep->core))) {
		status = verbs_recv_of(rv)->status;
		if (unlikely(status != IB_WC_SUCCESS)) {
			rpcrdma_core_recv_failed(&ep->core,
						 rpcrdma_wc_failure(status));
		} else if (likely(rpcrdma_recv_process(ep, rv))) {
			poll->over = rpcrdma_core_poll_is_over(&ep->core);
			return rv;
		}
	}
	rpcrdma_ep_poll_end(ep);
	return NULL;
}

/*
 * Process messages if no other context does, or none does in time. While there are
 * messages, this work item is pending or running: a thread that is processing messages
 * now may leave some, and be the last to do so.
 */
void rpcrdma_recvs_process(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, recv_work);
	/* Memory reclaim may wait for a Reply. */
	unsigned int flags = rpcrdma_ep_memalloc_begin(ep);
	bool taken;

	do {
		ep->ops->poll(ep);
		cond_resched();
	} while (rpcrdma_ep_has_messages(ep));
	rpcrdma_memalloc_end(flags);
	if (!ep->ops->messages)
		return;
	taken = test_bit(0, &ep->rx_busy);
	/*
	 * Pairs with clear_bit_unlock(): a reader that sees the bit clear sees the
	 * messages that were left.
	 */
	smp_rmb();
	rpcrdma_recv_wakeup(ep,
			    rpcrdma_polled_wakeup(taken,
						  rpcrdma_ep_holds_messages(ep),
						  rpcrdma_ep_is_closing(ep)));
}

bool rpcrdma_port_has_arrived(struct rpcrdma_ep_core *core)
{
	return rpcrdma_ep_holds_messages(rpcrdma_ep_of(core));
}

void rpcrdma_port_poll(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	ep->ops->poll(ep);
	cond_resched();
}

void rpcrdma_port_polled(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	/* Pairs with test_and_set_bit(). */
	smp_mb();
	wait_event(ep->wait, !test_bit(0, &ep->rx_busy));
}
