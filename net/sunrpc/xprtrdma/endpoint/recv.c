// SPDX-License-Identifier: GPL-2.0
/*
 * Receives: what arrives goes to the engine, and on to the transport.
 */

#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/mm.h>

#include "internal.h"
#include "trace.h"

/* Messages that are taken at a time, while others wait to take theirs */
#define RPCRDMA_TAKE_BATCH	16
/* Jiffies from the first one on until a work item looks whether it was taken */
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

/* A new Receive of @size octets, mapped, or NULL when there is no memory. */
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

/* ep->lock held. */
static void rpcrdma_recv_free_up(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	lockdep_assert_held(&ep->lock);
	rv->wr.next = ep->free_recvs;
	ep->free_recvs = &rv->wr;
}

/*
 * ep->lock held, not closing. Post those that are free, with one call, if it is
 * time. Returns the engine's events, none if none were posted, or a negative
 * errno.
 */
static int rpcrdma_recvs_post(struct rpcrdma_ep *ep)
{
	struct ib_recv_wr *first = ep->free_recvs;
	u32 count;
	int rc;

	lockdep_assert_held(&ep->lock);
	/* Windows adapt in seconds. */
	count = rpcrdma_conn_to_post(&ep->conn,
				     ktime_to_ms(ktime_get_coarse()));
	/* None are left where posting them failed: it will be closed. */
	if (!count || !first)
		return 0;
	ep->free_recvs = NULL;
	rc = ib_post_recv(ep->qp, first, NULL);
	return rc ?: (int)rpcrdma_conn_posted(&ep->conn, count);
}

/* Where there are smaller ones, these may take long to come, if they ever do. */
static const gfp_t rpcrdma_recvs_gfp[] = {
	[RPCRDMA_RECEIVES_WANTED] = GFP_NOWAIT | __GFP_NOWARN,
	[RPCRDMA_RECEIVES_OR_SMALLER] = GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN,
	[RPCRDMA_RECEIVES_NEEDED] = GFP_NOFS,
};

/*
 * Make @count such Receives, or as many as there is memory for: they are appended to @made,
 * and chained from *@wrs on, which is where the next one would be linked in the end.
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

/* The number of Receives has changed. ep->lock held. */
static void rpcrdma_recvs_counted(struct rpcrdma_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (!ep->client)
		rpcrdma_sq_set_replies(&ep->sq, ep->params.sends, ep->nr_recvs);
}

/* One round of that; returns whether there is to be another. */
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
	want = rpcrdma_conn_to_make(&ep->conn);
	spin_unlock(&ep->lock);
	/* The teardown unmaps them. */
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
		events = rpcrdma_conn_made(&ep->conn, nr);
	/* Later than that, nobody would flush them. */
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
 * rpcrdma_recvs_due - make and post the Receives that the engine wants
 * @ep: endpoint
 *
 * The endpoint has its queue pair. Without memory there are fewer, or smaller
 * ones, or the connection is closed. Process context, no lock held.
 */
void rpcrdma_recvs_due(struct rpcrdma_ep *ep)
{
	while (rpcrdma_recvs_round(ep))
		;
}

/*
 * The queue pair is gone. What arrived became the processor's when its Receive
 * completed. A transport that still has a message may have changed it since,
 * as when it is deciphered in place, so nothing may be copied there from a
 * bounce buffer, and no cache line be dropped.
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

/* The last reference is gone: so is every borrower. */
void rpcrdma_recvs_free(struct rpcrdma_ep *ep)
{
	struct rpcrdma_recv *rv, *next;

	list_for_each_entry_safe(rv, next, &ep->all_recvs, all)
		rpcrdma_recv_free(rv);
	INIT_LIST_HEAD(&ep->all_recvs);
}

/*
 * ep->lock held, not closing: the window takes fewer now, and a server sends fewer
 * Replies. A client keeps what it may need when there is no memory. rv->counted is what
 * counts no more: with each Receive a buffer to send from is counted, and goes on being
 * while there are more of those than Receives.
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

/* What giving a Receive back leads to, beside the engine's events */
enum {
	/* A Receive could not be posted. */
	RPCRDMA_RECV_UNPOSTED	= 1 << 30,
	/* The teardown is through, and nothing else is lent. */
	RPCRDMA_RECV_LAST	= 1 << 29,
};

/* @todo: events and the above. A reference to @ep is dropped. */
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

/* Free what a message took that few take. */
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

/**
 * rpcrdma_recv_put - give a Receive back
 * @rv: Receive that an upcall lent
 *
 * @rv may be gone when this returns, with the endpoint. Process context, no ep lock held.
 */
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
	/* Later than that, nobody would flush it. */
	if (likely(!rpcrdma_ep_is_closing(ep))) {
		todo = rpcrdma_conn_given_back(&ep->conn);
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
		/* @rv does not keep the endpoint any more. */
		if (unlikely(todo))
			rpcrdma_ep_get(ep);
	} else if (!ep->recvs_out && ep->torn_down) {
		todo = RPCRDMA_RECV_LAST;
	}
	spin_unlock(&ep->lock);

	if (unlikely(todo))
		rpcrdma_recv_given_back(ep, rv, todo);
}

/* The teardown ends, and with it its reference, unless Receives are lent. */
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
 * Append a part to the sequence being reassembled. The engine bounds the
 * total. Returns false when there is no memory.
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
 * Hand the whole Payload stream of a continued message to @rv. Returns false
 * when there is no memory, or none for this peer: with its earlier messages it
 * holds more than its share of what there is.
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

/* Return true if the Call @rv is left to the caller, see rpcrdma_call_fate(). */
static __always_inline bool rpcrdma_recv_call(struct rpcrdma_ep *ep,
					      struct rpcrdma_recv *rv, bool keep)
{
	switch (rpcrdma_call_fate(&ep->life, &rv->rx, keep)) {
	case RPCRDMA_CALL_KEPT:
		return true;
	case RPCRDMA_CALL_TOLD:
		ep->ops->call(ep, rv);
		break;
	case RPCRDMA_CALL_DROPPED:
		rpcrdma_recv_put(rv);
		break;
	}
	return false;
}

/*
 * Pass @rv to the transport, which owns it until it releases it. Return true if @rv is a
 * Call that is left to the caller.
 */
static __always_inline bool rpcrdma_recv_tell(struct rpcrdma_ep *ep,
					      struct rpcrdma_recv *rv, bool keep)
{
	/* First, as it is what most of those are that are told. */
	if (likely(rv->verdict == RPCRDMA_RX_REPLY)) {
		ep->ops->reply(ep, rv);
		return false;
	}
	switch (rv->verdict) {
	case RPCRDMA_RX_CALL:
		return rpcrdma_recv_call(ep, rv, keep);
	case RPCRDMA_RX_BAD_REPLY:
		ep->ops->reply(ep, rv);
		break;
	case RPCRDMA_RX_ERROR:
		ep->ops->error(ep, rv);
		break;
	case RPCRDMA_RX_PULLED:
		rpcrdma_exposed_pulled(ep, rv);
		fallthrough;
	default:
		rpcrdma_recv_put(rv);
		break;
	}
	return false;
}

/* A part, or the last one of a message. Returns false when there is no memory. */
static bool rpcrdma_recv_continued(struct rpcrdma_ep *ep,
				   struct rpcrdma_recv *rv)
{
	if (rv->verdict == RPCRDMA_RX_PART)
		return rpcrdma_recv_append(ep, rv);
	return (rv->verdict != RPCRDMA_RX_CALL &&
		rv->verdict != RPCRDMA_RX_REPLY) ||
	       rpcrdma_recv_assemble(ep, rv);
}

static void rpcrdma_recv_failed(struct rpcrdma_ep *ep, enum ib_wc_status status)
{
	rpcrdma_ep_failed(ep, status,
			  "a Receive failed: a message longer than announced?");
}

/*
 * Handle the message of a Receive; those of a connection come one at a time.
 * @keep: rather than telling the transport of a Call with nothing to be read, return
 * that it is one.
 */
static __always_inline bool rpcrdma_recv_one(struct rpcrdma_ep *ep,
					     struct rpcrdma_recv *rv, bool keep)
{
	const char *reason;
	u32 events;

	ib_dma_sync_single_for_cpu(ep->device, rv->sge.addr, rv->octets,
				   DMA_FROM_DEVICE);
	/* Without memory the engine refuses it. */
	if (unlikely(rpcrdma_wants_more_segs(&ep->conn, rv->buf, rv->octets))) {
		rv->rx.lists.more =
			kmalloc_array(RPCRDMA_MORE_SEGS,
				      sizeof(*rv->rx.lists.more),
				      GFP_NOFS | __GFP_NOWARN);
		rv->large = true;
	}

	spin_lock(&ep->lock);
	/* It keeps the endpoint, of whose memory it is part. */
	ep->recvs_out++;
	rv->verdict = rpcrdma_conn_receive(&ep->conn, rv->buf, rv->octets,
					   &rv->rx);
	spin_unlock(&ep->lock);
	trace_rpcrdma_receive(ep, rv);
	events = rv->rx.events;
	rv->payload = rv->buf + rv->rx.payload_offset;
	rv->payload_len = rv->rx.payload_length;

	/* Before any traffic: opened() may be what makes room for it. */
	if (unlikely(events & RPCRDMA_EV_OPENED)) {
		rpcrdma_ep_events(ep, events & (RPCRDMA_EV_OPENED |
						RPCRDMA_EV_RECEIVES));
		events &= ~(RPCRDMA_EV_OPENED | RPCRDMA_EV_RECEIVES);
	}

	if (unlikely(rv->verdict == RPCRDMA_RX_CLOSE)) {
		reason = ep->conn.reason;
		goto out_close;
	}
	/* Nothing is lost: the requester sends it again. */
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

	keep = rpcrdma_recv_tell(ep, rv, keep);
	rpcrdma_ep_events(ep, events);
	return keep;

out_close:
	spin_lock(&ep->lock);
	rpcrdma_conn_refuse(&ep->conn, reason);
	spin_unlock(&ep->lock);
	rpcrdma_ep_close(ep, reason);
	rpcrdma_recv_put(rv);
	return false;
}

/* Now */
static void rpcrdma_recvs_hurry(struct rpcrdma_ep *ep)
{
	mod_delayed_work(rpcrdma_message_wq, &ep->take_work, 0);
}

/* What a Receive has completed with, but for a failure */
static void rpcrdma_recv_completed(struct rpcrdma_recv *rv,
				   const struct ib_wc *wc)
{
	rv->octets = wc->byte_len;
	rv->inv_handle = wc->wc_flags & IB_WC_WITH_INVALIDATE ?
			 wc->ex.invalidate_rkey : 0;
}

/*
 * A completed Receive, in a softirq. What has arrived is taken all at once, by who is told
 * of the first.
 */
static void rpcrdma_wc_recv(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_recv *rv =
		container_of(wc->wr_cqe, struct rpcrdma_recv, cqe);
	struct rpcrdma_ep *ep = cq->cq_context;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		/* It is told in its turn, but no thread is waited for. */
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
		/* Else the work item, which alone takes them, looks again. */
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

/**
 * rpcrdma_ep_take_some - handle messages that have arrived
 * @ep: endpoint
 * @keep: do not tell call() of the first Call of which there is nothing to be read
 *
 * Process context, no lock held; sleeps briefly. Only some at a time: whoever has said
 * that he comes looks for more before he leaves. Returns that Call or NULL.
 */
struct rpcrdma_recv *rpcrdma_ep_take_some(struct rpcrdma_ep *ep, bool keep)
{
	struct rpcrdma_recv *rv, *call = NULL;
	struct llist_node *node;
	u32 nr = 0;

	if (test_and_set_bit(0, &ep->taking))
		return NULL;
	/* From here on the teardown waits for who is at it, and then comes itself. */
	if (unlikely(rpcrdma_ep_is_closing(ep)) && !ep->drained)
		goto out;
	node = ep->behind;
	if (likely(!node))
		node = llist_reverse_order(llist_del_all(&ep->arrived));
	while (node && nr++ < RPCRDMA_TAKE_BATCH) {
		rv = llist_entry(node, struct rpcrdma_recv, arrived);
		node = node->next;
		if (unlikely(rv->status != IB_WC_SUCCESS)) {
			rpcrdma_recv_failed(ep, rv->status);
		} else if (rpcrdma_recv_one(ep, rv, keep)) {
			call = rv;
			keep = false;
		}
	}
	WRITE_ONCE(ep->behind, node);
out:
	clear_bit_unlock(0, &ep->taking);
	/* Who looks next sees what came meanwhile. */
	smp_mb__after_atomic();
	if (unlikely(rpcrdma_ep_is_closing(ep)))
		wake_up_all(&ep->wait);
	return call;
}

/*
 * Where nobody else takes them, or in time. While there are any, this is pending or runs:
 * a thread that is at it now may leave some, and be the last to come.
 */
void rpcrdma_recvs_take(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, take_work);
	bool taken;

	do {
		rpcrdma_ep_take_messages(ep, false);
		cond_resched();
	} while (rpcrdma_ep_has_messages(ep));
	if (!ep->ops->messages)
		return;
	taken = test_bit(0, &ep->taking);
	/* What he leaves is seen when he is seen to have ended. */
	smp_rmb();
	if (!rpcrdma_ep_is_closing(ep) &&
	    (taken || rpcrdma_ep_holds_messages(ep)))
		queue_delayed_work(rpcrdma_message_wq, &ep->take_work,
				   RPCRDMA_TAKE_DELAY);
}

/*
 * The queue pair is drained: handle what had arrived and nobody takes any more. An answer
 * among it need not be asked for again.
 */
void rpcrdma_recvs_drain(struct rpcrdma_ep *ep)
{
	wait_event(ep->wait, !test_bit(0, &ep->taking));
	ep->drained = true;
	while (rpcrdma_ep_holds_messages(ep)) {
		rpcrdma_ep_take_messages(ep, false);
		cond_resched();
	}
	/* Nor does anybody from here on, whatever a device may bring yet. */
	smp_store_mb(ep->drained, false);
	wait_event(ep->wait, !test_bit(0, &ep->taking));
}
