// SPDX-License-Identifier: GPL-2.0
/*
 * Server transport: Calls, from their arrival until a service has them.
 *
 * A Call whose argument is in Read chunks is pulled first: ahead of the service
 * threads where the connection may have more pages for that, or else into the
 * pages of the thread that takes it.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>

#include "../compat.h"
#include "internal.h"
#include "responder.h"
#include "settings.h"
#include "xdrbuf.h"

enum {
	/* Largest Calls that a connection pulls ahead of its service threads */
	RPCRDMA_SVC_EARLY = 8,
	/*
	 * Octets that sunrpc reads from rq_arg.head without looking anywhere
	 * else: an RPC Call up to the length of its credential, the same of
	 * its verifier (RFC 5531).
	 */
	RPCRDMA_SVC_MIN_HEAD = 40,
};

/* The pages of @call are none of the peer's any more. */
static void rpcrdma_svc_call_give(struct rpcrdma_svc_call *call)
{
	u32 held = call->held;

	call->held = 0;
	rpcrdma_ep_give(call->conn->ep, RPCRDMA_MEMORY_CALLS, held);
}

/* Forget what was to be pulled for a Call, and its pages. */
static void rpcrdma_svc_call_free(struct rpcrdma_recv *rv)
{
	struct rpcrdma_svc_call *call = rv->priv;

	rv->priv = NULL;
	if (!call)
		return;
	if (call->nr_early) {
		spin_lock(&call->conn->lock);
		call->conn->nr_early -= call->nr_early;
		spin_unlock(&call->conn->lock);
	}
	if (call->pages && call->nr_pages)
		release_pages(call->pages, call->nr_pages);
	kfree(call->pages);
	rpcrdma_svc_call_give(call);
	kmem_cache_free(rpcrdma_svc_call_cache, call);
}

/* Give back all that a Call holds. Process context. */
void rpcrdma_svc_call_release(struct rpcrdma_recv *rv)
{
	rpcrdma_svc_call_free(rv);
	if (rv->send)
		rpcrdma_send_put(rv->send);
	rv->send = NULL;
	rpcrdma_recv_put(rv);
}

/* Refuse a Call that no service has seen, and forget it. */
static void rpcrdma_svc_refuse(struct rpcrdma_svc_conn *conn,
			       struct rpcrdma_recv *rv,
			       enum rpcrdma_refusal refusal)
{
	u32 xid = rv->rx.xid, code = rpcrdma_refusal_code(refusal);

	pr_warn_ratelimited("svcrdma: Call %08x from %pISpc refused (%s): %s\n",
			    xid, &conn->ep->remote,
			    rpcrdma_error_name(code), rpcrdma_refusal_text(refusal));
	/* To the peer an ERROR may mean that there is a Receive again. */
	rpcrdma_svc_call_release(rv);
	rpcrdma_ep_refuse(conn->ep, xid, refusal);
}

/*
 * The service cannot get a Call because of @rc: refuse it or, with @reason for the log,
 * close the connection, as the engine says, and forget the Call.
 */
static void rpcrdma_svc_call_failed(struct rpcrdma_svc_conn *conn,
				    struct rpcrdma_recv *rv, int rc,
				    const char *reason)
{
	struct rpcrdma_remedy remedy =
		rpcrdma_remedy_for(RPCRDMA_FAILED_CALL, rc);

	if (remedy.kind == RPCRDMA_REMEDY_GIVE_UP) {
		rpcrdma_svc_refuse(conn, rv, remedy.refusal);
		return;
	}
	rpcrdma_svc_fail(conn, reason);
	rpcrdma_svc_call_release(rv);
}

/*
 * The common Call with a Read chunk: one item in an inline message. The pages
 * take the item alone and the Receive keeps the rest, if that can be read
 * where it lies.
 */
static const struct rpcrdma_chunk *
rpcrdma_svc_only_item(const struct rpcrdma_recv *rv)
{
	return is_vmalloc_addr(rv->payload) ? NULL :
	       rpcrdma_call_only_item(&rv->rx, RPCRDMA_SVC_MIN_HEAD);
}

/* The Reads of a Call have ended. Process context, not a service thread. */
static void rpcrdma_svc_pulled(struct rpcrdma_rw *rw, bool ok)
{
	struct rpcrdma_recv *rv = rw->priv;
	struct rpcrdma_svc_call *call = rv->priv;
	struct rpcrdma_svc_conn *conn = call->conn;

	if (!ok) {
		/* The queue pair does not survive this; the peer resends. */
		rpcrdma_ep_close(conn->ep, "an RDMA Read of a Call's data failed");
		rpcrdma_svc_call_release(rv);
		return;
	}
	spin_lock(&conn->lock);
	list_add_tail(&rv->list, &conn->pulled);
	/* Pairs with the barrier in rpcrdma_svc_next(). */
	smp_mb__before_atomic();
	set_bit(XPT_DATA, &conn->xprt.xpt_flags);
	spin_unlock(&conn->lock);
	svc_xprt_enqueue(&conn->xprt);
}

/* A service thread: see that there is room for spare pages, if possible. */
static void rpcrdma_svc_spare_alloc(struct rpcrdma_svc_conn *conn)
{
	struct page **spare;

	if (likely(READ_ONCE(conn->spare)))
		return;
	spare = kvmalloc_array(conn->arg_pages, sizeof(*spare), GFP_KERNEL);
	spin_lock(&conn->lock);
	if (!conn->spare && conn->guest.stage != RPCRDMA_GUEST_GONE)
		swap(conn->spare, spare);
	spin_unlock(&conn->lock);
	kvfree(spare);
}

/*
 * Pulling for a Call takes pages, and handing it to a service thread sets as
 * many pages of that thread free. They go round: up to one largest Call's are
 * kept. Calls that are pulled before a thread asks for them have at most
 * RPCRDMA_SVC_EARLY such largest Calls' pages in all, whatever the peer sends.
 */
static void rpcrdma_svc_swap_pages(struct rpcrdma_svc_conn *conn,
				   struct rpcrdma_svc_call *call,
				   struct page **pages)
{
	u32 kept = 0;

	rpcrdma_svc_spare_alloc(conn);
	spin_lock(&conn->lock);
	conn->nr_early -= call->nr_early;
	call->nr_early = 0;
	if (likely(conn->spare)) {
		kept = min(call->nr_pages, conn->arg_pages - conn->nr_spare);
		memcpy(conn->spare + conn->nr_spare, pages,
		       kept * sizeof(*pages));
		conn->nr_spare += kept;
	}
	spin_unlock(&conn->lock);
	if (kept < call->nr_pages)
		release_pages(pages + kept, call->nr_pages - kept);
	memcpy(pages, call->pages, call->nr_pages * sizeof(*pages));
	rpcrdma_svc_call_give(call);
}

/*
 * Pages for @call, which no thread has asked for, without waiting for any.
 * False: there are not enough; @call has those that there were.
 */
static bool rpcrdma_svc_early_pages(struct rpcrdma_svc_conn *conn,
				    struct rpcrdma_svc_call *call)
{
	u32 i, nr = call->nr_pages, spare = 0;
	struct page *page;
	bool ok;

	/* There are always pages to pull: an empty chunk is not pulled. */
	spin_lock(&conn->lock);
	ok = conn->nr_early + nr <= RPCRDMA_SVC_EARLY * conn->arg_pages;
	if (ok) {
		conn->nr_early += nr;
		call->nr_early = nr;
		spare = min(nr, conn->nr_spare);
		conn->nr_spare -= spare;
	}
	if (spare)
		memcpy(call->pages, conn->spare + conn->nr_spare,
		       spare * sizeof(*call->pages));
	spin_unlock(&conn->lock);

	for (i = spare; ok && i < nr; i++) {
		page = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!page)
			break;
		call->pages[i] = page;
	}
	call->nr_pages = i;
	return i == nr;
}

void rpcrdma_svc_spare_free(struct rpcrdma_svc_conn *conn)
{
	struct page **spare;
	u32 nr;

	spin_lock(&conn->lock);
	spare = conn->spare;
	nr = conn->nr_spare;
	conn->spare = NULL;
	conn->nr_spare = 0;
	spin_unlock(&conn->lock);
	if (nr)
		release_pages(spare, nr);
	kvfree(spare);
}

/* Take pages away from @rqstp, which gets new ones. */
static void rpcrdma_svc_take_pages(struct svc_rqst *rqstp,
				   struct rpcrdma_svc_call *call)
{
	size_t octets = call->nr_pages * sizeof(*call->pages);

	memcpy(call->pages, rqstp->rq_pages, octets);
	memset(rqstp->rq_pages, 0, octets);
	rpcrdma_rqst_pages_taken(rqstp, call->nr_pages);
}

/* What a Call with chunks needs; NULL without memory. */
static struct rpcrdma_svc_call *
rpcrdma_svc_call_alloc(struct rpcrdma_svc_conn *conn, struct rpcrdma_recv *rv,
		       gfp_t gfp)
{
	struct rpcrdma_svc_call *call;

	call = kmem_cache_zalloc(rpcrdma_svc_call_cache, gfp);
	if (call)
		call->conn = conn;
	rv->priv = call;
	return call;
}

/* What pages have to take when the Read chunks of @rv are pulled; octets */
static u64 rpcrdma_svc_pull_octets(const struct rpcrdma_recv *rv)
{
	const struct rpcrdma_chunk *item = rpcrdma_svc_only_item(rv);

	return item ? item->length : rpcrdma_call_octets(&rv->rx);
}

/*
 * Begin to pull the Read chunks of @rv; it comes back through
 * rpcrdma_svc_pulled(). The pages are those of @rqstp, a service thread, or
 * with NULL what is there without waiting.
 * Returns 0 or an errno, -E2BIG: larger than @max_pages; then @rv is the
 * caller's.
 */
static int rpcrdma_svc_pull(struct rpcrdma_svc_conn *conn,
			    struct rpcrdma_recv *rv, struct svc_rqst *rqstp,
			    u32 max_pages)
{
	gfp_t gfp = rqstp ? GFP_KERNEL : GFP_NOWAIT | __GFP_NOWARN;
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	struct rpcrdma_svc_call *call;
	struct rpcrdma_extent ext;
	struct rpcrdma_rw *rw;
	u64 octets;
	u32 nr;
	int rc;

	call = rpcrdma_svc_call_alloc(conn, rv, gfp);
	if (!call)
		return -ENOMEM;
	call->item_only = rpcrdma_svc_only_item(rv);
	octets = rpcrdma_svc_pull_octets(rv);
	if (octets > (u64)max_pages << PAGE_SHIFT)
		return -E2BIG;
	call->octets = octets;

	/* For a thread, which has looked before it took the Call, there is. */
	octets = PAGE_ALIGN(octets);
	if (!rqstp && !rpcrdma_ep_has_room(conn->ep, RPCRDMA_MEMORY_CALLS,
					   octets))
		return -ENOMEM;
	rpcrdma_ep_hold(conn->ep, RPCRDMA_MEMORY_CALLS, octets);
	call->held = octets;

	nr = octets >> PAGE_SHIFT;
	call->pages = kmalloc_array(nr, sizeof(*call->pages), gfp);
	if (!call->pages)
		return -ENOMEM;
	call->nr_pages = nr;
	if (rqstp)
		rpcrdma_svc_take_pages(rqstp, call);
	else if (!rpcrdma_svc_early_pages(conn, call))
		return -ENOMEM;

	rw = rpcrdma_rw_alloc(conn->ep, DMA_FROM_DEVICE, 0, gfp);
	if (!rw)
		return -ENOMEM;
	if (call->item_only) {
		ext = rpcrdma_extent_of_pages(call->pages, 0, call->octets);
		rc = rpcrdma_rw_add(rw, lists, &lists->reads[0], 0, &ext, 1, 0,
				    call->octets);
	} else {
		rc = rpcrdma_call_read(rv, rw, call->pages);
	}
	if (rc) {
		rpcrdma_rw_free(rw);
		return rc;
	}
	percpu_counter_inc(&svcrdma_stat_read);
	rw->priv = rv;
	rw->done = rpcrdma_svc_pulled;
	rpcrdma_rw_read(rw);
	return 0;
}

/* As above, by a service thread, which may wait and says what is wrong. */
static void rpcrdma_svc_pull_by(struct rpcrdma_svc_conn *conn,
				struct svc_rqst *rqstp, struct rpcrdma_recv *rv)
{
	int rc = rpcrdma_svc_pull(conn, rv, rqstp,
				  rpcrdma_rqst_arg_pages(rqstp));

	if (rc)
		rpcrdma_svc_call_failed(conn, rv, rc,
					"no resources to pull a Call's data");
}

/* rq_arg is in @nr pages of @rqstp, or in none: the Reply begins behind. */
static void rpcrdma_svc_respages(struct svc_rqst *rqstp, u32 nr)
{
	rpcrdma_rqst_set_respages(rqstp, nr);
	rqstp->rq_next_page++;
}

/* rq_arg: @octets in the first pages of @rqstp */
static void rpcrdma_svc_arg_in_pages(struct svc_rqst *rqstp, u32 octets)
{
	struct xdr_buf *arg = &rqstp->rq_arg;

	arg->head[0].iov_base = page_address(rqstp->rq_pages[0]);
	arg->head[0].iov_len = min_t(u32, octets, PAGE_SIZE);
	arg->pages = &rqstp->rq_pages[1];
	arg->page_len = octets - arg->head[0].iov_len;
	arg->len = octets;
	rpcrdma_svc_respages(rqstp, DIV_ROUND_UP(octets, PAGE_SIZE));
}

/*
 * A Call whose octets are all here, most of them in the Receive. False: too
 * large; nothing of @rqstp was changed.
 */
static bool rpcrdma_svc_arg_inline(struct svc_rqst *rqstp,
				   struct rpcrdma_recv *rv)
{
	struct xdr_buf *arg = &rqstp->rq_arg;

	if (likely(!rv->assembled || !is_vmalloc_addr(rv->payload))) {
		arg->head[0].iov_base = rv->payload;
		arg->head[0].iov_len = rv->payload_len;
		arg->pages = rqstp->rq_pages;
		arg->len = rv->payload_len;
		rpcrdma_svc_respages(rqstp, 0);
		return true;
	}
	/* GSS unwraps in place, by scatterlist: not in vmalloc memory. */
	if (rv->payload_len >
	    (u64)rpcrdma_rqst_arg_pages(rqstp) << PAGE_SHIFT)
		return false;
	rpcrdma_pages_fill(rqstp->rq_pages, 0, rv->payload, rv->payload_len);
	rpcrdma_svc_arg_in_pages(rqstp, rv->payload_len);
	return true;
}

/*
 * A Call whose Read chunks were pulled: the pages take the place of pages of
 * this @rqstp, and rq_arg is built. False: refused and released.
 */
static bool rpcrdma_svc_arg_pulled(struct rpcrdma_svc_conn *conn,
				   struct svc_rqst *rqstp,
				   struct rpcrdma_recv *rv)
{
	struct rpcrdma_svc_call *call = rv->priv;
	struct xdr_buf *arg = &rqstp->rq_arg;
	enum rpcrdma_refusal refusal;
	u32 position;

	if (call->nr_pages > rpcrdma_rqst_arg_pages(rqstp)) {
		rpcrdma_svc_call_failed(conn, rv, -E2BIG, NULL);
		return false;
	}
	rpcrdma_svc_swap_pages(conn, call, rqstp->rq_pages);
	kfree(call->pages);
	call->pages = NULL;

	if (call->item_only) {
		position = rv->rx.lists.reads[0].position;
		arg->head[0].iov_base = rv->payload;
		arg->head[0].iov_len = position;
		arg->pages = rqstp->rq_pages;
		arg->page_len = xdr_align_size(call->octets);
		arg->tail[0].iov_base = rv->payload + position;
		arg->tail[0].iov_len = rv->payload_len - position;
		arg->len = rv->payload_len + arg->page_len;
		rpcrdma_pages_fill(rqstp->rq_pages, call->octets, NULL,
				   xdr_pad_size(call->octets));
		rpcrdma_svc_respages(rqstp, call->nr_pages);
		return true;
	}

	rpcrdma_call_fill(rv, rqstp->rq_pages);
	refusal = rpcrdma_call_refusal(&rv->rx, page_address(rqstp->rq_pages[0]));
	if (refusal) {
		rpcrdma_svc_refuse(conn, rv, refusal);
		return false;
	}
	rpcrdma_svc_arg_in_pages(rqstp, call->octets);
	return true;
}

/*
 * May a Call that was not pulled yet go to a thread? Not when that has to wait
 * until others of this peer's give back the memory that they hold; then one
 * that needs none may go before it. conn->lock held.
 */
static bool rpcrdma_svc_may_begin(struct rpcrdma_svc_conn *conn,
				  const struct rpcrdma_recv *rv)
{
	u64 octets;

	lockdep_assert_held(&conn->lock);
	if (!rpcrdma_call_read_octets(&rv->rx))
		return true;
	octets = PAGE_ALIGN(rpcrdma_svc_pull_octets(rv));
	/* One that is too large is refused by whoever gets it. */
	return octets > (u64)conn->arg_pages << PAGE_SHIFT ||
	       rpcrdma_ep_has_room(conn->ep, RPCRDMA_MEMORY_CALLS, octets);
}

/*
 * The Call that came first of those that can go on; conn->lock held. Neither
 * list may starve the other: besides what a client makes of it, RPCSEC_GSS has
 * a window of sequence numbers, and a Call that falls out of it costs the
 * connection.
 */
static struct rpcrdma_recv *rpcrdma_svc_oldest(struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_recv *call = NULL, *pulled, *rv;

	lockdep_assert_held(&conn->lock);
	list_for_each_entry(rv, &conn->calls, list) {
		if (rpcrdma_svc_may_begin(conn, rv)) {
			call = rv;
			break;
		}
	}
	pulled = list_first_entry_or_null(&conn->pulled, struct rpcrdma_recv,
					  list);
	if (!call || !pulled)
		return call ?: pulled;
	return (s32)(call->order - pulled->order) < 0 ? call : pulled;
}

/* Does a Call lie here? A hint without conn->lock. */
static bool rpcrdma_svc_has_calls(const struct rpcrdma_svc_conn *conn)
{
	return !list_empty(&conn->calls) || !list_empty(&conn->pulled);
}

/*
 * The Call that a thread goes on with, or NULL. Most do not lie here, they have just
 * arrived; one may then go before others that the work item took meanwhile. XPT_BUSY is
 * held.
 */
static struct rpcrdma_recv *rpcrdma_svc_next(struct rpcrdma_svc_conn *conn)
{
	unsigned long *flags = &conn->xprt.xpt_flags;
	struct rpcrdma_recv *rv;
	bool more;

	rv = rpcrdma_ep_take_messages(conn->ep, !rpcrdma_svc_has_calls(conn));
	if (rv) {
		clear_bit(XPT_DATA, flags);
	} else {
		spin_lock(&conn->lock);
		rv = rpcrdma_svc_oldest(conn);
		if (rv)
			list_del_init(&rv->list);
		/* What waits for memory is brought to mind by write_space(). */
		more = rv && rpcrdma_svc_has_calls(conn);
		if (!more)
			clear_bit(XPT_DATA, flags);
		spin_unlock(&conn->lock);
		if (more) {
			/* As it mostly is */
			if (unlikely(!test_bit(XPT_DATA, flags)))
				set_bit(XPT_DATA, flags);
			return rv;
		}
	}
	/* No thread wakes up for nothing, and nothing is without one. */
	smp_mb__after_atomic();
	if (rpcrdma_ep_has_messages(conn->ep) ||
	    (rv && rpcrdma_svc_has_calls(conn)))
		set_bit(XPT_DATA, flags);
	return rv;
}

/* RDMA has no reserved ports: every host of the fabric is trusted. */
void rpcrdma_svc_secure_port(struct svc_rqst *rqstp)
{
	set_bit(RQ_SECURE, &rqstp->rq_flags);
}

/*
 * Set the flags of a Call that other transports set, too: a thread that last served
 * a TCP mount of its own host would write without the usual throttling.
 */
static void rpcrdma_svc_set_flags(struct svc_rqst *rqstp)
{
	rpcrdma_svc_secure_port(rqstp);
	if (unlikely(test_bit(RQ_LOCAL, &rqstp->rq_flags)))
		clear_bit(RQ_LOCAL, &rqstp->rq_flags);
}

/**
 * rpcrdma_svc_recvfrom - take the next Call of a connection
 * @rqstp: gets it; rqstp->rq_xprt is the connection
 *
 * A service thread, holding XPT_BUSY, which is let go of. A Call with Read
 * chunks usually comes here when they are pulled. Where that could not begin
 * without waiting for memory it comes twice: the first time it only takes
 * pages of @rqstp along to be pulled into.
 * Returns the Call's octets, or 0: nothing to do (now).
 */
int rpcrdma_svc_recvfrom(struct svc_rqst *rqstp)
{
	struct svc_xprt *xprt = rqstp->rq_xprt;
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_c(xprt);
	struct xdr_buf *arg = &rqstp->rq_arg;
	struct rpcrdma_svc_call *call;
	struct rpcrdma_send *reply;
	struct rpcrdma_recv *rv;
	bool room;

	/* Nothing is to be freed when there is no Call. */
	rpcrdma_rqst_set_respages(rqstp, 0);
	rqstp->rq_xprt_ctxt = NULL;

	/*
	 * First what its Reply will go with: whoever has Replies lying here
	 * that he gives no window for waits with his Calls, and no thread
	 * waits for him. What else he sends may be that window.
	 */
	room = rpcrdma_svc_has_room(conn);
	reply = room ? rpcrdma_send_reserve(conn->ep) : NULL;
	if (unlikely(!reply)) {
		if (room)
			percpu_counter_inc(&svcrdma_stat_sq_starve);
		rpcrdma_ep_take_messages(conn->ep, false);
		if (rpcrdma_ep_has_messages(conn->ep))
			set_bit(XPT_DATA, &xprt->xpt_flags);
		svc_xprt_received(xprt);
		return 0;
	}

	rv = rpcrdma_svc_next(conn);
	svc_xprt_received(xprt);
	if (!rv) {
		rpcrdma_send_put(reply);
		return 0;
	}
	rv->send = reply;

	arg->page_base = 0;
	arg->page_len = 0;
	arg->tail[0].iov_base = NULL;
	arg->tail[0].iov_len = 0;

	call = rv->priv;
	if (call) {
		if (!rpcrdma_svc_arg_pulled(conn, rqstp, rv))
			return 0;
		goto out;
	}

	percpu_counter_inc(&svcrdma_stat_recv);
	if (rpcrdma_call_read_octets(&rv->rx)) {
		rv->send = NULL;
		rpcrdma_send_put(reply);
		rpcrdma_svc_pull_by(conn, rqstp, rv);
		return 0;
	}
	if (rv->rx.lists.nr_writes &&
	    !rpcrdma_svc_call_alloc(conn, rv, GFP_KERNEL)) {
		rpcrdma_svc_call_failed(conn, rv, -ENOMEM,
					"no memory to take a Call");
		return 0;
	}
	if (!rpcrdma_svc_arg_inline(rqstp, rv)) {
		rpcrdma_svc_call_failed(conn, rv, -E2BIG, NULL);
		return 0;
	}

out:
	arg->buflen = arg->len;
	rqstp->rq_xprt_ctxt = rv;
	/* Part of nfsd's reply cache key: the same on every connection */
	rqstp->rq_prot = IPPROTO_MAX;
	rpcrdma_svc_set_flags(rqstp);
	svc_xprt_copy_addrs(rqstp, xprt);
	return arg->len;
}

/**
 * rpcrdma_svc_release_ctxt - sunrpc is through with a Call, replied or not
 * @xprt: its connection
 * @ctxt: rq_xprt_ctxt, or what a deferred request kept of it; may be NULL
 *
 * The Receive is posted again: this is what bounds the load. Process context.
 */
void rpcrdma_svc_release_ctxt(struct svc_xprt *xprt, void *ctxt)
{
	if (ctxt)
		rpcrdma_svc_call_release(ctxt);
}

/*
 * Begin to pull a Call's Read chunks, so that a service thread is only woken
 * when it is whole. This may not wait for memory: what frees it may be a Call
 * behind this one. False: leave the Call to a service thread, whatever was in
 * the way.
 */
static bool rpcrdma_svc_pull_early(struct rpcrdma_svc_conn *conn,
				   struct rpcrdma_recv *rv)
{
	u32 max_pages = READ_ONCE(conn->arg_pages);
	unsigned int flags;
	int rc;

	if (!max_pages || !rpcrdma_call_read_octets(&rv->rx))
		return false;
	/* The rdma_rw API takes no gfp flags. */
	flags = memalloc_nofs_save();
	rc = rpcrdma_svc_pull(conn, rv, NULL, max_pages);
	memalloc_nofs_restore(flags);
	if (rc) {
		rpcrdma_svc_call_free(rv);
		return false;
	}
	percpu_counter_inc(&svcrdma_stat_recv);
	return true;
}

void rpcrdma_svc_arrived(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct rpcrdma_svc_conn *conn = ep->priv;
	bool known;

	rv->send = NULL;
	rv->order = conn->nr_calls++;
	if (rpcrdma_svc_pull_early(conn, rv))
		return;
	spin_lock(&conn->lock);
	list_add_tail(&rv->list, &conn->calls);
	known = rpcrdma_guest_known(&conn->guest);
	/* Pairs with the barrier in rpcrdma_svc_next(). */
	smp_mb__before_atomic();
	if (known)
		set_bit(XPT_DATA, &conn->xprt.xpt_flags);
	spin_unlock(&conn->lock);
	/*
	 * Who holds XPT_BUSY, as who takes messages mostly does, looks when he lets go of
	 * it: both are bits of one word.
	 */
	if (known && !test_bit(XPT_BUSY, &conn->xprt.xpt_flags))
		svc_xprt_enqueue(&conn->xprt);
}
