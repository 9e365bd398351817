// SPDX-License-Identifier: GPL-2.0
/*
 * Receives: pass what arrives to the engine, and return complete messages to the
 * context that polls the endpoint.
 */

#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/mm.h>

#include "internal.h"
#include "trace.h"

/* Messages of one poll, while other contexts wait */
#define RPCRDMA_POLL_BATCH	16
/* Jiffies from the first message until a work item checks that it has been processed */
#define RPCRDMA_TAKE_DELAY	(msecs_to_jiffies(10) + 1)

static void rpcrdma_wc_recv(struct ib_cq *cq, struct ib_wc *wc);

static struct kmem_cache *rpcrdma_recv_cache;

/* Module start. Returns 0 or a negative errno. */
int rpcrdma_recvs_init(void)
{
	rpcrdma_recv_cache = KMEM_CACHE(rpcrdma_recv, 0);
	return rpcrdma_recv_cache ? 0 : -ENOMEM;
}

/* Module end; no endpoint is left. */
void rpcrdma_recvs_exit(void)
{
	kmem_cache_destroy(rpcrdma_recv_cache);
}

/* Allocate and map a Receive of @size bytes. Return NULL if out of memory. */
static struct rpcrdma_recv *rpcrdma_recv_create(struct rpcrdma_ep *ep, u32 size,
						gfp_t gfp)
{
	struct rpcrdma_recv *rv;

	rv = kmem_cache_zalloc(rpcrdma_recv_cache, gfp);
	if (!rv)
		return NULL;
	rv->buf = rpcrdma_buffer_create(ep, size, DMA_FROM_DEVICE, gfp,
					&rv->sge.addr);
	if (!rv->buf) {
		kmem_cache_free(rpcrdma_recv_cache, rv);
		return NULL;
	}
	rv->ep = ep;
	INIT_LIST_HEAD(&rv->list);
	rv->sge.length = size;
	rv->sge.lkey = ep->lkey;
	rv->cqe.done = rpcrdma_wc_recv;
	rv->wr.wr_cqe = &rv->cqe;
	rv->wr.sg_list = &rv->sge;
	rv->wr.num_sge = 1;
	return rv;
}

/* Add @rv to the Receives that are not posted. Caller holds ep->lock. */
static void rpcrdma_recv_free_up(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	lockdep_assert_held(&ep->lock);
	rv->wr.next = ep->free_recvs;
	ep->free_recvs = &rv->wr;
}

/*
 * Post the free Receives in one call, if a batch is due. Caller holds ep->lock; the
 * connection is not closing.
 * Return: the engine's events, none if no Receive was posted; or a negative errno.
 */
static int rpcrdma_recvs_post(struct rpcrdma_ep *ep)
{
	struct ib_recv_wr *first = ep->free_recvs;
	u32 count;
	int rc;

	lockdep_assert_held(&ep->lock);
	/* A coarse clock is sufficient: windows adapt over seconds. */
	count = rpcrdma_conn_to_post(&ep->core.conn,
				     ktime_to_ms(ktime_get_coarse()));
	/*
	 * After a failure to post, none are left on the list: the connection will be
	 * closed.
	 */
	if (!count || !first)
		return 0;
	ep->free_recvs = NULL;
	rc = ib_post_recv(ep->qp, first, NULL);
	return rc ?: (int)rpcrdma_conn_posted(&ep->core.conn, count);
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

/*
 * Allocate @count Receives as @want describes, or as many as there is memory for. They
 * are appended to @made, and chained from *@wrs on. *@wrs is set to where the next one
 * is to be linked. Return their number.
 */
static u32 rpcrdma_recvs_make(struct rpcrdma_ep *ep, u32 count,
			      const struct rpcrdma_receives *want,
			      struct list_head *made, struct ib_recv_wr ***wrs)
{
	const gfp_t gfp = rpcrdma_recvs_gfp[want->need];
	struct ib_recv_wr **next = *wrs;
	struct rpcrdma_recv *rv;
	u32 nr;

	for (nr = 0; nr < count; nr++) {
		rv = rpcrdma_recv_create(ep, want->octets, gfp);
		if (!rv)
			break;
		list_add_tail(&rv->all, made);
		*next = &rv->wr;
		next = &rv->wr.next;
	}
	*wrs = next;
	return nr;
}

/*
 * Update the account after a change of the number of Receives. Caller holds ep->lock.
 */
static void rpcrdma_recvs_counted(struct rpcrdma_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (!ep->client)
		rpcrdma_sq_set_replies(&ep->core.sq, ep->params.sends, ep->nr_recvs);
}

/* Allocate and post Receives once. Return true if there is to be another round. */
static bool rpcrdma_recvs_round(struct rpcrdma_ep *ep)
{
	struct ib_recv_wr *first, **wrs = &first;
	struct rpcrdma_receives want;
	u32 fit, nr = 0;
	u64 cost;
	int events = 0, posted = 0;
	bool entered = false;
	LIST_HEAD(made);

	spin_lock(&ep->lock);
	want = rpcrdma_conn_to_make(&ep->core.conn);
	spin_unlock(&ep->lock);
	/* Hold off the teardown, which unmaps them. */
	if (want.count && rpcrdma_ep_enter(ep)) {
		entered = true;
		cost = rpcrdma_recv_cost(want.octets);
		fit = rpcrdma_ep_hold_some(ep, RPCRDMA_MEMORY_BUFFERS, cost,
					   want.count);
		nr = rpcrdma_recvs_make(ep, fit, &want, &made, &wrs);
		rpcrdma_ep_give(ep, RPCRDMA_MEMORY_BUFFERS, (fit - nr) * cost);
	}

	spin_lock(&ep->lock);
	*wrs = ep->free_recvs;
	ep->free_recvs = first;
	list_splice_tail(&made, &ep->all_recvs);
	ep->nr_recvs += nr;
	if (nr)
		rpcrdma_recvs_counted(ep);
	if (want.count)
		events = rpcrdma_conn_made(&ep->core.conn, nr);
	/* Don't post once the connection is closing: the drain would not flush them. */
	if (!rpcrdma_ep_is_closing(ep) && !(events & RPCRDMA_EV_CLOSE))
		posted = rpcrdma_recvs_post(ep);
	spin_unlock(&ep->lock);
	if (entered)
		rpcrdma_ep_leave(ep);

	if (posted < 0) {
		rpcrdma_ep_close(ep, "a Receive could not be posted");
		return false;
	}
	events |= posted;
	rpcrdma_ep_events(ep, events & ~RPCRDMA_EV_RECEIVES);
	return events & RPCRDMA_EV_RECEIVES;
}

/**
 * rpcrdma_recvs_due - allocate and post the Receives that the engine wants
 * @ep: endpoint, which has its queue pair
 *
 * If memory is short there are fewer Receives, or smaller ones, or the connection is
 * closed.
 * Context: process context, no lock held.
 */
void rpcrdma_recvs_due(struct rpcrdma_ep *ep)
{
	while (rpcrdma_recvs_round(ep))
		;
}

/*
 * Unmap all Receives; the queue pair is gone. Received data was synced for the CPU when
 * its Receive completed. A transport that still holds a message may have changed it
 * since, as when it is decrypted in place, so nothing may be copied there from a bounce
 * buffer, and no cache line be invalidated.
 */
void rpcrdma_recvs_unmap(struct rpcrdma_ep *ep)
{
	struct rpcrdma_recv *rv;

	list_for_each_entry(rv, &ep->all_recvs, all) {
		if (!rv->sge.length)
			continue;
		if (!ib_uses_virt_dma(ep->device))
			dma_unmap_single_attrs(ep->device->dma_device,
					       rv->sge.addr, rv->sge.length,
					       DMA_FROM_DEVICE,
					       DMA_ATTR_SKIP_CPU_SYNC);
		rv->sge.length = 0;
	}
}

static void rpcrdma_recv_free(struct rpcrdma_recv *rv)
{
	kvfree(rv->assembled);
	kfree(rv->rx.lists.more);
	kfree(rv->buf);
	kmem_cache_free(rpcrdma_recv_cache, rv);
}

/* Free all Receives. The last reference is gone, so the transport holds none. */
void rpcrdma_recvs_free(struct rpcrdma_ep *ep)
{
	struct rpcrdma_recv *rv, *next;

	list_for_each_entry_safe(rv, next, &ep->all_recvs, all)
		rpcrdma_recv_free(rv);
	INIT_LIST_HEAD(&ep->all_recvs);
}

/*
 * Free a surplus Receive: the window needs fewer now, and a server sends fewer Replies.
 * A client keeps the Send buffers it may need when memory is short. rv->counted is set
 * to the charge that ends: each Receive is charged together with a Send buffer, and the
 * latter's charge remains while there are more such buffers than Receives. Caller holds
 * ep->lock; the connection is not closing.
 */
static void rpcrdma_recv_let_go(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	u32 octets = rv->sge.length, bufs, owed = ep->bufs_owed + 1;

	lockdep_assert_held(&ep->lock);
	list_del(&rv->all);
	ep->nr_recvs--;
	rpcrdma_recvs_counted(ep);
	ib_dma_unmap_single(ep->device, rv->sge.addr, octets, DMA_FROM_DEVICE);
	bufs = ep->client ? 0 : rpcrdma_send_let_go(ep);
	ep->bufs_owed = min(owed, bufs - min(bufs, ep->nr_recvs));
	rv->counted = rpcrdma_recv_cost(octets) - octets +
		      (u64)octets * (owed - ep->bufs_owed);
}

/* Results of releasing a Receive, in addition to the engine's events */
enum {
	/* A Receive could not be posted. */
	RPCRDMA_RECV_UNPOSTED	= 1 << 30,
	/* The teardown has ended, and the transport holds no other Receive. */
	RPCRDMA_RECV_LAST	= 1 << 29,
};

/* Handle the events and results in @todo, and drop a reference to @ep. */
static noinline void rpcrdma_recv_given_back(struct rpcrdma_ep *ep,
					     struct rpcrdma_recv *rv, u32 todo)
{
	if (todo & RPCRDMA_EV_LET_GO) {
		rpcrdma_ep_give(ep, RPCRDMA_MEMORY_BUFFERS, rv->counted);
		rpcrdma_recv_free(rv);
	}
	if (todo & RPCRDMA_RECV_UNPOSTED)
		rpcrdma_ep_close(ep, "a Receive could not be posted");
	else if (!(todo & RPCRDMA_RECV_LAST))
		rpcrdma_ep_events(ep, todo);
	rpcrdma_ep_put(ep);
}

/* Free the memory that only large messages need. */
static noinline void rpcrdma_recv_shrink(struct rpcrdma_ep *ep,
					 struct rpcrdma_recv *rv)
{
	if (rv->assembled)
		rpcrdma_ep_give(ep, RPCRDMA_MEMORY_CALLS, rv->counted);
	kvfree(rv->assembled);
	rv->assembled = NULL;
	kfree(rv->rx.lists.more);
	rv->rx.lists.more = NULL;
	rv->large = false;
}

void rpcrdma_recv_put(struct rpcrdma_recv *rv)
{
	struct rpcrdma_ep *ep = rv->ep;
	u32 todo = 0;
	int posted;

	if (unlikely(rv->large))
		rpcrdma_recv_shrink(ep, rv);
	rv->priv = NULL;

	spin_lock(&ep->lock);
	ep->recvs_out--;
	/* Don't post once the connection is closing: the drain would not flush it. */
	if (likely(!rpcrdma_ep_is_closing(ep))) {
		todo = rpcrdma_conn_given_back(&ep->core.conn);
		if (unlikely(todo & RPCRDMA_EV_LET_GO)) {
			rpcrdma_recv_let_go(ep, rv);
		} else {
			ib_dma_sync_single_for_device(ep->device, rv->sge.addr,
						      rv->sge.length,
						      DMA_FROM_DEVICE);
			rpcrdma_recv_free_up(ep, rv);
		}
		if (unlikely(todo & RPCRDMA_EV_RECEIVES)) {
			posted = rpcrdma_recvs_post(ep);
			todo &= ~RPCRDMA_EV_RECEIVES;
			todo |= posted < 0 ? RPCRDMA_RECV_UNPOSTED : posted;
		}
		/* @rv does not hold the endpoint any more. */
		if (unlikely(todo))
			rpcrdma_ep_get(ep);
	} else if (!ep->recvs_out && ep->torn_down) {
		todo = RPCRDMA_RECV_LAST;
	}
	spin_unlock(&ep->lock);

	if (unlikely(todo))
		rpcrdma_recv_given_back(ep, rv, todo);
}

/*
 * End the teardown. Drop its reference, unless the transport still holds Receives: then
 * the last of these drops it.
 */
void rpcrdma_recvs_end(struct rpcrdma_ep *ep)
{
	bool last;

	spin_lock(&ep->lock);
	ep->torn_down = true;
	last = !ep->recvs_out;
	spin_unlock(&ep->lock);
	if (last)
		rpcrdma_ep_put(ep);
}

/*
 * Append a continued message to the sequence being reassembled. The engine bounds the
 * total. Return false if out of memory.
 */
static bool rpcrdma_recv_append(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	u32 need, size;
	void *grown;

	if (rv->rx.first_part)
		ep->assembly_len = 0;
	need = ep->assembly_len + rv->rx.payload_length;
	if (need > ep->assembly_size) {
		size = clamp_t(u32, 2 * ep->assembly_size, need,
			       max(need, ep->params.reassembly));
		if (!rpcrdma_ep_hold_some(ep, RPCRDMA_MEMORY_PARTS,
					  size - ep->assembly_size, 1))
			return false;
		grown = kvmalloc(size, GFP_NOFS);
		if (!grown) {
			rpcrdma_ep_give(ep, RPCRDMA_MEMORY_PARTS,
					size - ep->assembly_size);
			return false;
		}
		if (ep->assembly_len)
			memcpy(grown, ep->assembly, ep->assembly_len);
		kvfree(ep->assembly);
		ep->assembly = grown;
		ep->assembly_size = size;
	}
	memcpy(ep->assembly + ep->assembly_len,
	       rv->buf + rv->rx.payload_offset, rv->rx.payload_length);
	ep->assembly_len = need;
	return true;
}

/*
 * Attach the complete Payload stream of a continued message to @rv. Return false if out
 * of memory, or if this peer exceeds its share of the memory with its earlier messages.
 */
static bool rpcrdma_recv_assemble(struct rpcrdma_ep *ep,
				  struct rpcrdma_recv *rv)
{
	if (!rpcrdma_recv_append(ep, rv) ||
	    !rpcrdma_ep_assembled(ep, ep->assembly_size))
		return false;
	rv->counted = ep->assembly_size;
	rv->assembled = ep->assembly;
	rv->large = true;
	rv->payload = rv->assembled;
	rv->payload_len = ep->assembly_len;
	ep->assembly = NULL;
	ep->assembly_len = 0;
	ep->assembly_size = 0;
	return true;
}

/*
 * Return true if @rv is a message for the transport, which owns it until it releases
 * it. Process it otherwise, and release it.
 */
static __always_inline bool rpcrdma_recv_is_rpc(struct rpcrdma_ep *ep,
						struct rpcrdma_recv *rv)
{
	switch (rv->verdict) {
	case RPCRDMA_RX_REPLY:
	case RPCRDMA_RX_BAD_REPLY:
	case RPCRDMA_RX_ERROR:
		return true;
	case RPCRDMA_RX_CALL:
		if (likely(!rpcrdma_life_drops_calls(&ep->core.life)))
			return true;
		break;
	case RPCRDMA_RX_PULLED:
		rpcrdma_exposed_pulled(ep, rv);
		break;
	default:
		break;
	}
	rpcrdma_recv_put(rv);
	return false;
}

/* Process a message of a continued sequence. Return false if out of memory. */
static bool rpcrdma_recv_continued(struct rpcrdma_ep *ep,
				   struct rpcrdma_recv *rv)
{
	if (rv->verdict == RPCRDMA_RX_PART)
		return rpcrdma_recv_append(ep, rv);
	return (rv->verdict != RPCRDMA_RX_CALL &&
		rv->verdict != RPCRDMA_RX_REPLY) ||
	       rpcrdma_recv_assemble(ep, rv);
}

/*
 * Process the message of a Receive. Only one context at a time does so for a
 * connection. Return true if it is a message for the transport. *@later is set to the
 * events that follow when the transport has processed it.
 */
static __always_inline bool rpcrdma_recv_one(struct rpcrdma_ep *ep,
					     struct rpcrdma_recv *rv, u32 *later)
{
	const char *reason;
	u32 events;

	ib_dma_sync_single_for_cpu(ep->device, rv->sge.addr, rv->octets,
				   DMA_FROM_DEVICE);
	/* If this allocation fails, the engine refuses the message. */
	if (unlikely(rpcrdma_wants_more_segs(&ep->core.conn, rv->buf, rv->octets))) {
		rv->rx.lists.more =
			kmalloc_array(RPCRDMA_MORE_SEGS,
				      sizeof(*rv->rx.lists.more),
				      GFP_NOFS | __GFP_NOWARN);
		rv->large = true;
	}

	spin_lock(&ep->lock);
	/*
	 * A held Receive keeps the endpoint, because its memory belongs to the
	 * endpoint.
	 */
	ep->recvs_out++;
	rv->verdict = rpcrdma_conn_receive(&ep->core.conn, rv->buf, rv->octets,
					   &rv->rx);
	spin_unlock(&ep->lock);
	trace_rpcrdma_receive(ep, rv);
	events = rv->rx.events;
	rv->payload = rv->buf + rv->rx.payload_offset;
	rv->payload_len = rv->rx.payload_length;

	/*
	 * Before any traffic is processed, because opened() may provide the resources
	 * for it.
	 */
	if (unlikely(events & RPCRDMA_EV_OPENED)) {
		rpcrdma_ep_events(ep, events & (RPCRDMA_EV_OPENED |
						RPCRDMA_EV_RECEIVES));
		events &= ~(RPCRDMA_EV_OPENED | RPCRDMA_EV_RECEIVES);
	}

	if (unlikely(rv->verdict == RPCRDMA_RX_CLOSE)) {
		reason = ep->core.conn.reason;
		goto out_close;
	}
	/* No RPC is lost: the Requester sends it again. */
	reason = "no memory to reassemble a message";
	if (unlikely(rv->rx.format == RPCRDMA_CONTINUED) &&
	    !rpcrdma_recv_continued(ep, rv))
		goto out_close;
	reason = "the peer invalidated a handle it was not offered";
	if (rv->inv_handle) {
		atomic64_inc(&ep->remote_inv);
		if (unlikely(!rpcrdma_may_invalidate(rv->verdict, &rv->rx,
						     rv->inv_handle)))
			goto out_close;
	}

	*later = events;
	return rpcrdma_recv_is_rpc(ep, rv);

out_close:
	spin_lock(&ep->lock);
	rpcrdma_conn_refuse(&ep->core.conn, reason);
	spin_unlock(&ep->lock);
	rpcrdma_ep_close(ep, reason);
	rpcrdma_recv_put(rv);
	return false;
}

/* Schedule the fallback work item immediately. */
static void rpcrdma_recvs_hurry(struct rpcrdma_ep *ep)
{
	mod_delayed_work(rpcrdma_message_wq, &ep->take_work, 0);
}

/* Record the result of a successful completion. */
static void rpcrdma_recv_completed(struct rpcrdma_recv *rv,
				   const struct ib_wc *wc)
{
	rv->octets = wc->byte_len;
	rv->inv_handle = wc->wc_flags & IB_WC_WITH_INVALIDATE ?
			 wc->ex.invalidate_rkey : 0;
}

/*
 * Handle a completed Receive, in softirq context. All messages that have arrived are
 * processed at once, by the context that is notified of the first one.
 */
static void rpcrdma_wc_recv(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_recv *rv =
		container_of(wc->wr_cqe, struct rpcrdma_recv, cqe);
	struct rpcrdma_ep *ep = cq->cq_context;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		/*
		 * The failure is reported in order, but without waiting for a thread.
		 */
		rv->status = wc->status;
		llist_add(&rv->arrived, &ep->arrived);
		if (!rpcrdma_ep_is_closing(ep))
			rpcrdma_recvs_hurry(ep);
		return;
	}
	rpcrdma_recv_completed(rv, wc);
	if (!llist_add(&rv->arrived, &ep->arrived))
		return;
	if (!ep->ops->messages) {
		/*
		 * If the bit is set, the work item, which is the only consumer, checks
		 * again.
		 */
		if (!test_bit(0, &ep->taking))
			queue_delayed_work(rpcrdma_message_wq, &ep->take_work,
					   0);
	} else if (unlikely(!ep->ops->messages(ep))) {
		rpcrdma_recvs_hurry(ep);
	} else if (unlikely(!delayed_work_pending(&ep->take_work))) {
		queue_delayed_work(rpcrdma_message_wq, &ep->take_work,
				   RPCRDMA_TAKE_DELAY);
	}
}

/*
 * Begin to process the messages of a connection. Return false if there are none, or if
 * another context processes them.
 */
static bool rpcrdma_poll_begin(struct rpcrdma_poll *poll)
{
	struct rpcrdma_ep *ep = poll->ep;

	if (!rpcrdma_ep_holds_messages(ep) || test_and_set_bit(0, &ep->taking))
		return false;
	poll->began = true;
	poll->left = RPCRDMA_POLL_BATCH;
	/*
	 * From here on the teardown waits for the context that processes messages, and
	 * processes the rest itself.
	 */
	if (unlikely(rpcrdma_ep_is_closing(ep)) && !ep->drained)
		poll->left = 0;
	else if (likely(!ep->behind))
		WRITE_ONCE(ep->behind,
			   llist_reverse_order(llist_del_all(&ep->arrived)));
	return true;
}

struct rpcrdma_recv *rpcrdma_ep_poll(struct rpcrdma_poll *poll)
{
	struct rpcrdma_ep *ep = poll->ep;
	struct rpcrdma_recv *rv;

	if (!poll->began && !rpcrdma_poll_begin(poll))
		return NULL;
	for (;;) {
		rpcrdma_ep_events(ep, poll->events);
		poll->events = 0;
		if (!ep->behind || !poll->left)
			break;
		poll->left--;
		rv = llist_entry(ep->behind, struct rpcrdma_recv, arrived);
		WRITE_ONCE(ep->behind, ep->behind->next);
		if (unlikely(rv->status != IB_WC_SUCCESS))
			rpcrdma_ep_failed(ep, rv->status,
					  "a Receive failed: a message longer than announced?");
		else if (likely(rpcrdma_recv_one(ep, rv, &poll->events)))
			return rv;
	}
	clear_bit_unlock(0, &ep->taking);
	/*
	 * The context that checks next sees the messages that have arrived meanwhile.
	 */
	smp_mb__after_atomic();
	if (unlikely(rpcrdma_ep_is_closing(ep)))
		wake_up_all(&ep->wait);
	return NULL;
}

/*
 * Process messages if no other context does, or none does in time. While there are
 * messages, this work item is pending or running: a thread that is processing messages
 * now may leave some, and be the last to do so.
 */
void rpcrdma_recvs_take(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, take_work);
	bool taken;

	do {
		ep->ops->poll(ep);
		cond_resched();
	} while (rpcrdma_ep_has_messages(ep));
	if (!ep->ops->messages)
		return;
	taken = test_bit(0, &ep->taking);
	/*
	 * Pairs with clear_bit_unlock(): a reader that sees the bit clear sees the
	 * messages that were left.
	 */
	smp_rmb();
	if (!rpcrdma_ep_is_closing(ep) &&
	    (taken || rpcrdma_ep_holds_messages(ep)))
		queue_delayed_work(rpcrdma_message_wq, &ep->take_work,
				   RPCRDMA_TAKE_DELAY);
}

/*
 * Process the messages that had arrived before the queue pair was drained and that no
 * other context processes any more. An RPC that has its Reply among them need not be
 * retransmitted.
 */
void rpcrdma_recvs_drain(struct rpcrdma_ep *ep)
{
	wait_event(ep->wait, !test_bit(0, &ep->taking));
	ep->drained = true;
	while (rpcrdma_ep_holds_messages(ep)) {
		ep->ops->poll(ep);
		cond_resched();
	}
	/*
	 * From here on no context processes messages, even if a device still delivers
	 * some.
	 */
	smp_store_mb(ep->drained, false);
	wait_event(ep->wait, !test_bit(0, &ep->taking));
}
