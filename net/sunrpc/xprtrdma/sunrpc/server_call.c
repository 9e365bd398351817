// SPDX-License-Identifier: GPL-2.0
/*
 * Server transport: Calls, until a service receives them.
 *
 * Operation
 *
 * xpo_recvfrom() lets the core process messages and choose the Call that the thread
 * receives (core/endpoint/calls.cc). A work item does so while a connection opens, or if
 * all threads are busy; it receives none. The core calls this file to note whether
 * threads are needed (XPT_DATA), and to build rq_arg of a Call that is complete.
 * server_pages.c has the memory that Calls are pulled into, and responder.c the Reads.
 *
 * Memory
 *
 * The Receive of a Call is held until sunrpc releases the Call, so that credits limit the
 * peers of a busy server. Pages of a pulled Call move to rq_pages of the
 * thread that receives it.
 *
 * Errors
 *
 * The core refuses a Call that this file does not accept, or closes its connection.
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

#include <core/call_take.h>

#include "../compat.h"
#include "internal.h"
#include "responder.h"
#include "server_bc.h"
#include "settings.h"
#include "xdrbuf.h"

/* ---- Threads ---- */

struct rpcrdma_recv *rpcrdma_port_message(struct rpcrdma_poll *poll)
{
	return rpcrdma_ep_poll(poll);
}

/* Such a message answers a Call of the reverse direction. */
void rpcrdma_port_response(struct rpcrdma_ep_core *core, struct rpcrdma_recv *rv)
{
	struct svc_xprt *xprt = rpcrdma_svc_conn_get(rpcrdma_svc_conn_of(core));

	if (!xprt) {
		rpcrdma_recv_put(rv);
		return;
	}
	rpcrdma_server_bc_reply(xprt, rv);
	svc_xprt_put(xprt);
}

struct rpcrdma_call_queue *rpcrdma_port_lock_calls(struct rpcrdma_ep_core *core)
	__acquires(&rpcrdma_svc_conn_of(core)->lock)
{
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_conn_of(core);

	spin_lock(&conn->lock);
	return &conn->queue;
}

void rpcrdma_port_unlock_calls(struct rpcrdma_ep_core *core)
	__releases(&rpcrdma_svc_conn_of(core)->lock)
{
	spin_unlock(&rpcrdma_svc_conn_of(core)->lock);
}

void rpcrdma_port_calls_queued(struct rpcrdma_ep_core *core)
	__releases(&rpcrdma_svc_conn_of(core)->lock)
{
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_conn_of(core);
	bool known = rpcrdma_pending_conn_known(&conn->pending);

	/* Pairs with the barrier in rpcrdma_port_calls_idle(). */
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

/* Fast path: the flag is already set. */
void rpcrdma_port_calls_due(struct rpcrdma_ep_core *core)
{
	unsigned long *flags = &rpcrdma_svc_conn_of(core)->xprt.xpt_flags;

	if (!test_bit(XPT_DATA, flags))
		set_bit(XPT_DATA, flags);
}

void rpcrdma_port_calls_starve(struct rpcrdma_ep_core *core)
{
	percpu_counter_inc(&svcrdma_stat_sq_starve);
	rpcrdma_port_calls_due(core);
}

bool rpcrdma_port_has_messages(struct rpcrdma_ep_core *core)
{
	return rpcrdma_ep_has_messages(rpcrdma_ep_of(core));
}

bool rpcrdma_port_must_ask(struct rpcrdma_ep_core *core)
{
	return rpcrdma_quota_must_ask(&rpcrdma_quota,
				      &rpcrdma_ep_of(core)->memory);
}

u64 rpcrdma_port_reserved(struct rpcrdma_ep_core *core)
{
	return atomic_read(&rpcrdma_svc_conn_of(core)->xprt.xpt_reserved);
}

bool rpcrdma_port_calls_idle(struct rpcrdma_ep_core *core)
{
	clear_bit(XPT_DATA, &rpcrdma_svc_conn_of(core)->xprt.xpt_flags);
	smp_mb__after_atomic();
	return rpcrdma_port_has_messages(core);
}

void rpcrdma_svc_poll(struct rpcrdma_ep *ep)
{
	struct rpcrdma_svc_conn *conn = ep->priv;
	struct rpcrdma_poll poll = { .ep = ep };

	rpcrdma_core_calls_poll(&conn->queue, &poll);
}

void rpcrdma_port_call_refused(struct rpcrdma_ep_core *core, u32 xid,
			       enum rpcrdma_refusal refusal)
{
	if (core->life.client)
		return;
	pr_warn_ratelimited("svcrdma: Call with xid 0x%08x from %pISpc refused (%s): %s\n",
			    xid, &rpcrdma_ep_of(core)->remote,
			    rpcrdma_error_name(rpcrdma_refusal_code(refusal)),
			    rpcrdma_refusal_text(refusal));
}

/* ---- rq_arg ---- */

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

bool rpcrdma_port_call_in_place(const struct rpcrdma_recv *rv)
{
	return !is_vmalloc_addr(rv->payload);
}

/*
 * Build rq_arg for a Call that has been received completely. Fast path: it is in the
 * Receive. Return false if it is too large; @rqstp is unchanged then.
 */
static bool rpcrdma_svc_arg_inline(struct svc_rqst *rqstp,
				   struct rpcrdma_recv *rv)
{
	struct xdr_buf *arg = &rqstp->rq_arg;

	if (likely(!rv->assembled || rpcrdma_port_call_in_place(rv))) {
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

/* Build rq_arg for a Call of which one item is in the first pages of @rqstp. */
static void rpcrdma_svc_arg_item(struct svc_rqst *rqstp, struct rpcrdma_recv *rv)
{
	u32 octets = rv->pull.octets, position = rv->pull.item->position;
	struct xdr_buf *arg = &rqstp->rq_arg;

	arg->head[0].iov_base = rv->payload;
	arg->head[0].iov_len = position;
	arg->pages = rqstp->rq_pages;
	arg->page_len = xdr_align_size(octets);
	arg->tail[0].iov_base = rv->payload + position;
	arg->tail[0].iov_len = rv->payload_len - position;
	arg->len = rv->payload_len + arg->page_len;
	rpcrdma_pages_fill(rqstp->rq_pages, octets, NULL, xdr_pad_size(octets));
	rpcrdma_svc_respages(rqstp, DIV_ROUND_UP(octets, PAGE_SIZE));
}

int rpcrdma_port_call_deliver(struct rpcrdma_recv *rv,
			      struct rpcrdma_thread *thread)
{
	struct svc_rqst *rqstp = rpcrdma_thread_rqst(thread);
	struct xdr_buf *arg = &rqstp->rq_arg;

	arg->page_base = 0;
	arg->page_len = 0;
	arg->tail[0].iov_base = NULL;
	arg->tail[0].iov_len = 0;
	if (rv->queued.pull_octets) {
		/* Those that it was pulled into replace pages of the thread. */
		if (!rpcrdma_svc_swap_pages(rv, rqstp))
			return -E2BIG;
		if (likely(rv->pull.item))
			rpcrdma_svc_arg_item(rqstp, rv);
		else
			rpcrdma_svc_arg_in_pages(rqstp, rv->pull.octets);
		return 0;
	}
	if (rv->rx.lists.nr_writes &&
	    !rpcrdma_svc_call_alloc(rv, 0, GFP_KERNEL))
		return -ENOMEM;
	return likely(rpcrdma_svc_arg_inline(rqstp, rv)) ? 0 : -E2BIG;
}

/* ---- Operations ---- */

/* Return true if a service thread is needed. Called for every wakeup. */
int rpcrdma_svc_has_wspace(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_conn *conn = to_svc_conn(xprt);

	/*
	 * Deferred Calls have the resources they need, and others may wait for these. In
	 * softirq context there is a message, and no lock can be taken.
	 */
	return test_bit(XPT_DEFERRED, &xprt->xpt_flags) || !in_task() ||
	       rpcrdma_core_calls_ready(&conn->ep->core, &conn->queue);
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
 * Flattened, so that the functions of the port above are inlined.
 * Context: service thread that holds XPT_BUSY, which is released.
 * Return: the bytes of the Call, or 0 if there is nothing to do (now).
 */
__flatten int rpcrdma_svc_recvfrom(struct svc_rqst *rqstp)
{
	struct svc_xprt *xprt = rqstp->rq_xprt;
	struct rpcrdma_svc_conn *conn = to_svc_conn(xprt);
	struct rpcrdma_poll poll = { .ep = conn->ep };
	struct xdr_buf *arg = &rqstp->rq_arg;
	struct rpcrdma_recv *rv;
	int rc;

	/* If there is no Call, nothing is to be freed. */
	rpcrdma_rqst_set_respages(rqstp, 0);
	rqstp->rq_xprt_ctxt = NULL;

	rv = rpcrdma_core_calls_next(&conn->ep->core, &conn->queue, &poll);
	rpcrdma_svc_received(xprt);
	if (!rv)
		return 0;
	rc = rpcrdma_core_call_take(&conn->ep->core, rv,
				    rpcrdma_rqst_thread(rqstp));
	if (unlikely(rc <= 0)) {
		if (rc)
			svc_xprt_deferred_close(xprt);
		return 0;
	}
	percpu_counter_inc(&svcrdma_stat_recv);
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
		rpcrdma_core_call_release(ctxt);
}
