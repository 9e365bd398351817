// SPDX-License-Identifier: GPL-2.0
/*
 * Server transport: Calls, from their arrival until a service receives them.
 *
 * Operation
 *
 * Messages are polled in xpo_recvfrom(), by service threads, or by a work item while a
 * connection opens or all threads are busy. A thread receives a Call only with a Send
 * context reserved, so that the Reply never waits for one. A Call that is complete and
 * arrives while no other waits is received by the thread that polled it. Others are queued
 * (call_queue.h). A Call with its argument in Read chunks is pulled first, ahead of
 * the threads if the quota of the connection has pages for that. Otherwise the thread
 * that receives it begins to pull it into the thread's pages, and looks for another
 * Call. The end of the Reads queues the Call as complete.
 *
 * Memory
 *
 * The Receive of a Call is held until the Call has been processed: that is how a busy
 * server limits what its peers send. The pages of a pulled Call belong to the Call, and
 * move to rq_pages of the thread that executes it. They are charged to the quota of the
 * connection; a Call that exceeds it waits.
 *
 * Errors
 *
 * A Call that is too large or malformed is refused with an ERROR. A failure for lack
 * of memory closes the connection, and the client sends the Call again.
 *
 * Locking
 *
 * conn->lock protects the queue and the flags of the svc_xprt that depend on it.
 * XPT_BUSY admits one thread to recvfrom. Barriers pair the queue with XPT_DATA, so
 * that no Call is left without a thread.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>

#include "../compat.h"
#include "internal.h"
#include "responder.h"
#include "server_bc.h"
#include "settings.h"
#include "xdrbuf.h"

enum {
	/*
	 * Bytes that sunrpc reads from rq_arg.head without checking other parts: an RPC
	 * Call up to the length of its credential, and the same of its verifier (RFC
	 * 5531).
	 */
	RPCRDMA_SVC_MIN_HEAD = 40,
};

static void rpcrdma_svc_log_refusal(const struct rpcrdma_svc_conn *conn, u32 xid,
				    enum rpcrdma_refusal refusal)
{
	pr_warn_ratelimited("svcrdma: Call with xid 0x%08x from %pISpc refused (%s): %s\n",
			    xid, &conn->ep->remote,
			    rpcrdma_error_name(rpcrdma_refusal_code(refusal)),
			    rpcrdma_refusal_text(refusal));
}

/*
 * Handle @rc, the failure to pass a Call to the service. The Call is released, and then
 * refused, or its connection is closed with @reason for the log.
 */
static void rpcrdma_svc_call_failed(struct rpcrdma_svc_conn *conn,
				    struct rpcrdma_recv *rv, int rc,
				    const char *reason)
{
	struct rpcrdma_remedy remedy;
	u32 xid = rv->rx.xid;

	rpcrdma_svc_call_release(rv);
	remedy = rpcrdma_core_remedy(&conn->ep->core, xid, RPCRDMA_FAILED_CALL,
				     rc, NULL, reason);
	if (remedy.kind == RPCRDMA_REMEDY_GIVE_UP)
		rpcrdma_svc_log_refusal(conn, xid, remedy.refusal);
	else
		svc_xprt_deferred_close(&conn->xprt);
}

/*
 * Return the part of a Call that is pulled. Usually that is one item of an inline
 * message: the pages receive only the item, and the Receive keeps the rest.
 */
static __always_inline struct rpcrdma_call_pull
rpcrdma_svc_to_pull(const struct rpcrdma_recv *rv)
{
	return rpcrdma_call_to_pull(&rv->rx, RPCRDMA_SVC_MIN_HEAD,
				    !rv->assembled ||
				    !is_vmalloc_addr(rv->payload));
}

/* Queue a Call with @queue, which is called directly, and wake a service thread. */
static __always_inline void
rpcrdma_svc_queue(struct rpcrdma_svc_conn *conn,
		  struct rpcrdma_queued_call *call,
		  void (*queue)(struct rpcrdma_call_queue *q,
				struct rpcrdma_queued_call *call))
{
	bool known;

	spin_lock(&conn->lock);
	queue(&conn->queue, call);
	known = rpcrdma_pending_conn_known(&conn->pending);
	/* Pairs with the barrier in rpcrdma_svc_recheck(). */
	smp_mb__before_atomic();
	if (known)
		set_bit(XPT_DATA, &conn->xprt.xpt_flags);
	spin_unlock(&conn->lock);
	/*
	 * The holder of XPT_BUSY, which usually is the context that processes messages,
	 * checks the flag when it clears XPT_BUSY: both are bits of one word.
	 */
	if (known && !test_bit(XPT_BUSY, &conn->xprt.xpt_flags))
		svc_xprt_enqueue(&conn->xprt);
}

/* Handle the end of a Call's Reads. A service thread calls this if they cannot be posted. */
static void rpcrdma_svc_pulled(struct rpcrdma_rw *rw, bool ok)
{
	struct rpcrdma_recv *rv = rw->priv;
	struct rpcrdma_svc_call *call = rv->priv;
	struct rpcrdma_svc_conn *conn = call->conn;

	if (!ok) {
		/* The queue pair does not survive this; the peer retransmits. */
		rpcrdma_ep_close(conn->ep, "an RDMA Read of a Call's data failed");
		rpcrdma_svc_call_release(rv);
		return;
	}
	rpcrdma_svc_queue(conn, &rv->queued, rpcrdma_calls_pulled);
}

/*
 * Begin to pull @pull of @rv. rpcrdma_svc_pulled() is called at the end. The
 * pages are those of @rqstp, a service thread, or if that is NULL, those that are
 * available without waiting.
 * Return: 0; -E2BIG if the data is larger than @max_pages; or another negative errno.
 * On error the caller keeps @rv.
 */
static __always_inline int
rpcrdma_svc_pull(struct rpcrdma_svc_conn *conn, struct rpcrdma_recv *rv,
		 struct rpcrdma_call_pull pull, struct svc_rqst *rqstp,
		 u32 max_pages)
{
	gfp_t gfp = rqstp ? GFP_KERNEL : GFP_NOWAIT | __GFP_NOWARN;
	struct rpcrdma_svc_call *call;
	u32 nr;
	int rc;

	if (unlikely(pull.octets > (u64)max_pages << PAGE_SHIFT))
		return -E2BIG;
	nr = DIV_ROUND_UP((u32)pull.octets, PAGE_SIZE);
	call = rpcrdma_svc_call_alloc(conn, rv, nr, gfp);
	if (unlikely(!call))
		return -ENOMEM;
	call->item_only = pull.item;
	call->octets = pull.octets;
	if (rqstp)
		rpcrdma_svc_take_pages(rqstp, call, nr);
	else if (unlikely(!rpcrdma_svc_early_pages(rv, nr)))
		return -ENOMEM;

	rc = rpcrdma_call_pull(rv, pull.item, call->pages, call->octets, gfp,
			       rpcrdma_svc_pulled, rv);
	if (likely(!rc))
		percpu_counter_inc(&svcrdma_stat_read);
	return rc;
}

/* The same for a service thread. */
static noinline int rpcrdma_svc_pull_late(struct rpcrdma_svc_conn *conn,
					  struct rpcrdma_recv *rv,
					  struct svc_rqst *rqstp)
{
	return rpcrdma_svc_pull(conn, rv, rpcrdma_svc_to_pull(rv), rqstp,
				rpcrdma_rqst_arg_pages(rqstp));
}

/*
 * Set the start of the Reply's pages, after the @nr pages of @rqstp that hold rq_arg.
 */
static void rpcrdma_svc_respages(struct svc_rqst *rqstp, u32 nr)
{
	rpcrdma_rqst_set_respages(rqstp, nr);
	rqstp->rq_next_page++;
}

/* Build rq_arg from @octets bytes in the first pages of @rqstp. */
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
 * Build rq_arg for a Call that has been received completely. Fast path: it is in the
 * Receive. Return false if it is too large; @rqstp is unchanged then.
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
 * Build rq_arg for a Call with pulled Read chunks: their pages replace pages of this
 * @rqstp. Return false if the Call was refused and released.
 */
static bool rpcrdma_svc_arg_pulled(struct rpcrdma_svc_conn *conn,
				   struct svc_rqst *rqstp,
				   struct rpcrdma_recv *rv)
{
	struct rpcrdma_svc_call *call = rv->priv;
	struct xdr_buf *arg = &rqstp->rq_arg;
	u32 nr = call->nr_pages, position, xid;
	enum rpcrdma_refusal refusal;

	if (nr > rpcrdma_rqst_arg_pages(rqstp)) {
		rpcrdma_svc_call_failed(conn, rv, -E2BIG, NULL);
		return false;
	}
	rpcrdma_svc_swap_pages(rv, rqstp->rq_pages);

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
		rpcrdma_svc_respages(rqstp, nr);
		return true;
	}

	refusal = rpcrdma_call_complete(rv, rqstp->rq_pages);
	if (refusal) {
		xid = rv->rx.xid;
		/* To the peer, an ERROR may mean that a Receive is available again. */
		rpcrdma_svc_call_release(rv);
		rpcrdma_ep_refuse(conn->ep, xid, refusal);
		rpcrdma_svc_log_refusal(conn, xid, refusal);
		return false;
	}
	rpcrdma_svc_arg_in_pages(rqstp, call->octets);
	return true;
}

/*
 * Begin to pull @pull of a Call, so that a service thread is only woken when the Call is
 * complete. This may not wait for memory, because a Call after this one may be what
 * frees it. Return false to leave the Call to a service thread.
 */
static bool rpcrdma_svc_pull_early(struct rpcrdma_svc_conn *conn,
				   struct rpcrdma_recv *rv,
				   struct rpcrdma_call_pull pull)
{
	u32 max_pages = READ_ONCE(conn->arg_pages);

	if (!max_pages || !rv->queued.pull_octets)
		return false;
	if (rpcrdma_svc_pull(conn, rv, pull, NULL, max_pages)) {
		rpcrdma_svc_call_free(rv);
		return false;
	}
	percpu_counter_inc(&svcrdma_stat_recv);
	return true;
}

/* Handle a Call that no thread processes at once: pull it, or queue it. */
static void rpcrdma_svc_arrived(struct rpcrdma_svc_conn *conn,
				struct rpcrdma_recv *rv)
{
	struct rpcrdma_call_pull pull = rpcrdma_svc_to_pull(rv);

	rv->send = NULL;
	rpcrdma_calls_arrived(&conn->queue, &rv->queued, PAGE_ALIGN(pull.octets));
	if (!rpcrdma_svc_pull_early(conn, rv, pull))
		rpcrdma_svc_queue(conn, &rv->queued, rpcrdma_calls_wait);
}

static void rpcrdma_svc_dispatch(struct rpcrdma_svc_conn *conn,
				 struct rpcrdma_recv *rv)
{
	struct svc_xprt *xprt;

	if (rv->verdict == RPCRDMA_RX_CALL) {
		rpcrdma_svc_arrived(conn, rv);
		return;
	}
	/* The other messages answer Calls of the reverse direction. */
	xprt = rpcrdma_svc_conn_get(conn);
	if (!xprt) {
		rpcrdma_recv_put(rv);
		return;
	}
	rpcrdma_server_bc_reply(xprt, rv);
	svc_xprt_put(xprt);
}

void rpcrdma_svc_poll(struct rpcrdma_ep *ep)
{
	struct rpcrdma_poll poll = { .ep = ep };
	struct rpcrdma_recv *rv;

	while ((rv = rpcrdma_ep_poll(&poll)))
		rpcrdma_svc_dispatch(ep->priv, rv);
}

/*
 * Reserve the Send context of the Reply to @rv, which a thread is about to process. Return
 * false if there is none: write_space() will be called.
 */
static __always_inline bool rpcrdma_svc_reserve(struct rpcrdma_svc_conn *conn,
						struct rpcrdma_recv *rv)
{
	rv->send = rpcrdma_ep_reserve_reply(conn->ep);
	return likely(rv->send);
}

/*
 * Process the messages that have arrived. Return a Call to process at once, with a
 * context for its Reply, or NULL.
 */
static struct rpcrdma_recv *rpcrdma_svc_poll_call(struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_poll poll = { .ep = conn->ep };
	struct rpcrdma_recv *rv, *call = NULL;

	while ((rv = rpcrdma_ep_poll(&poll))) {
		if (!call && rv->verdict == RPCRDMA_RX_CALL &&
		    rpcrdma_calls_pass(&conn->queue, &rv->queued,
				       rpcrdma_call_read_octets(&rv->rx)) &&
		    rpcrdma_svc_reserve(conn, rv))
			call = rv;
		else
			rpcrdma_svc_dispatch(conn, rv);
	}
	return call;
}

/*
 * Remove the Call from the queue that a thread processes next. Return it with a context
 * for its Reply, or NULL. Caller holds XPT_BUSY.
 */
static struct rpcrdma_recv *
rpcrdma_svc_dequeue(struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_send *reply = rpcrdma_ep_reserve_reply(conn->ep);
	unsigned long *flags = &conn->xprt.xpt_flags;
	struct rpcrdma_queued_call *call;
	struct rpcrdma_recv *rv = NULL;

	/* XPT_DATA stays set, and write_space() will be called. */
	if (unlikely(!reply)) {
		percpu_counter_inc(&svcrdma_stat_sq_starve);
		set_bit(XPT_DATA, flags);
		return NULL;
	}
	spin_lock(&conn->lock);
	call = rpcrdma_calls_next(&conn->queue, rpcrdma_svc_call_room, conn);
	if (call)
		rv = container_of(call, struct rpcrdma_recv, queued);
	/* write_space() sets the flag again for Calls that wait for memory. */
	if (!rv || !rpcrdma_calls_any(&conn->queue))
		clear_bit(XPT_DATA, flags);
	/* Fast path: the flag is already set. */
	else if (unlikely(!test_bit(XPT_DATA, flags)))
		set_bit(XPT_DATA, flags);
	spin_unlock(&conn->lock);
	if (unlikely(!rv))
		rpcrdma_send_put(reply);
	else
		rv->send = reply;
	return rv;
}

/*
 * After XPT_DATA has been cleared, set it again if messages have arrived, or with @calls,
 * if a Call waits: no thread must wake up in vain, and no message may be left without a
 * wakeup.
 */
static __always_inline void rpcrdma_svc_recheck(struct rpcrdma_svc_conn *conn,
						bool calls)
{
	smp_mb__after_atomic();
	if (rpcrdma_ep_has_messages(conn->ep) ||
	    (calls && rpcrdma_calls_any(&conn->queue)))
		set_bit(XPT_DATA, &conn->xprt.xpt_flags);
}

/*
 * Return the Call that a thread processes next, as rpcrdma_svc_dequeue() does, or NULL.
 * Fast path: the Call has just arrived and is not queued. It may overtake Calls that are
 * being pulled. Caller holds XPT_BUSY.
 */
static struct rpcrdma_recv *rpcrdma_svc_next(struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_recv *rv = rpcrdma_svc_poll_call(conn);

	if (!rv && rpcrdma_calls_any(&conn->queue)) {
		rv = rpcrdma_svc_dequeue(conn);
		/* If none was returned, the Calls in the queue wait for memory. */
		if (!test_bit(XPT_DATA, &conn->xprt.xpt_flags))
			rpcrdma_svc_recheck(conn, rv);
		return rv;
	}
	clear_bit(XPT_DATA, &conn->xprt.xpt_flags);
	rpcrdma_svc_recheck(conn, true);
	return rv;
}

/*
 * Return true if there is memory for processing one more Call. Otherwise write_space()
 * will be called.
 */
static bool rpcrdma_svc_has_room(struct rpcrdma_svc_conn *conn)
{
	u64 octets;

	if (likely(!rpcrdma_ep_must_ask(conn->ep)))
		return true;
	octets = rpcrdma_calls_reply_octets(&conn->queue,
					    atomic_read(&conn->xprt.xpt_reserved));
	return rpcrdma_ep_quota_available(conn->ep, RPCRDMA_QUOTA_REPLIES,
					  octets);
}

/*
 * Return true if a service thread is needed, to receive a Call from this connection or
 * to process other messages. Called for every wakeup.
 */
int rpcrdma_svc_has_wspace(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_conn *conn = to_svc_conn(xprt);
	struct rpcrdma_ep *ep = conn->ep;

	/*
	 * Deferred Calls have the resources they need, and others may wait for these.
	 */
	if (test_bit(XPT_DEFERRED, &xprt->xpt_flags))
		return 1;
	/* In softirq context there is a message, and the locks below cannot be taken. */
	if (!in_task() || unlikely(rpcrdma_ep_has_messages(ep)))
		return 1;
	return likely(rpcrdma_ep_can_reserve_reply(ep)) &&
	       rpcrdma_svc_has_room(conn);
}

/*
 * Mark every Call as from a reserved port: RDMA has none, and every host of the
 * fabric is trusted.
 */
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

/*
 * Receive the next Call of a connection.
 * @rqstp: receives it; rqstp->rq_xprt is the connection
 *
 * A Call with Read chunks usually is received here after they have been pulled. If
 * pulling could not begin without waiting for memory, the Call is received twice: the
 * first time it only takes pages of @rqstp to pull into.
 * Context: service thread that holds XPT_BUSY, which is released.
 * Return: the bytes of the Call, or 0 if there is nothing to do (now).
 */
int rpcrdma_svc_recvfrom(struct svc_rqst *rqstp)
{
	struct svc_xprt *xprt = rqstp->rq_xprt;
	struct rpcrdma_svc_conn *conn = to_svc_conn(xprt);
	struct xdr_buf *arg = &rqstp->rq_arg;
	struct rpcrdma_svc_call *call;
	struct rpcrdma_recv *rv;
	int rc;

	/* If there is no Call, nothing is to be freed. */
	rpcrdma_rqst_set_respages(rqstp, 0);
	rqstp->rq_xprt_ctxt = NULL;

	/*
	 * A Call is only received with a Send context for its Reply. If a peer grants no
	 * window for the Replies that are queued for it, its Calls wait, too, but no
	 * thread waits for it. Its other messages are processed, because one of them
	 * may open the window.
	 */
	if (unlikely(!rpcrdma_svc_has_room(conn))) {
		rpcrdma_svc_poll(conn->ep);
		if (rpcrdma_ep_has_messages(conn->ep))
			set_bit(XPT_DATA, &xprt->xpt_flags);
		rpcrdma_svc_received(xprt);
		return 0;
	}

	rv = rpcrdma_svc_next(conn);
	rpcrdma_svc_received(xprt);
	if (!rv)
		return 0;

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
	if (rpcrdma_call_must_pull(&rv->queued)) {
		rpcrdma_send_put(rv->send);
		rv->send = NULL;
		rc = rpcrdma_svc_pull_late(conn, rv, rqstp);
		if (rc)
			rpcrdma_svc_call_failed(conn, rv, rc,
						"no resources to pull a Call's data");
		return 0;
	}
	if (rv->rx.lists.nr_writes &&
	    !rpcrdma_svc_call_alloc(conn, rv, 0, GFP_KERNEL)) {
		rpcrdma_svc_call_failed(conn, rv, -ENOMEM,
					"no memory for a received Call");
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

/*
 * Release a Call that sunrpc has finished, replied or not.
 * @xprt: its connection
 * @ctxt: rq_xprt_ctxt, or the copy of it in a deferred request; may be NULL
 *
 * The Receive is posted again: this is what bounds the load.
 * Context: process context.
 */
void rpcrdma_svc_release_ctxt(struct svc_xprt *xprt, void *ctxt)
{
	if (ctxt)
		rpcrdma_svc_call_release(ctxt);
}
