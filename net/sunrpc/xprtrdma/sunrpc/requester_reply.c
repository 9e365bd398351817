// SPDX-License-Identifier: GPL-2.0
/*
 * The Requester: processing Replies and ERRORs.
 *
 * Operation
 *
 * A received Reply is looked up by xid, and claimed: the core decides what to do with
 * it, and when its RPC may end (struct rpcrdma_actions, include/rpcrdma/xact.h). A
 * Reply to a plain Call, the fast path, is copied and completed at once. A second fast
 * path is for a Call with one chunk of one segment that the peer has invalidated.
 * Otherwise the actions are run in order: copy, invalidate, pull, complete, send DONE. An
 * action that has to wait for the device ends the run, and its completion continues it.
 *
 * If a Call is refused, and can be sent in another form, its task retries it as after a
 * lost connection. sunrpc encodes the Call once more, with the same xid. With
 * RPCSEC_GSS, a Call that has been executed is therefore accepted as a new one.
 *
 * Memory
 *
 * The rpc_rqst is pinned from the claim until the last action, so that its task cannot
 * release it, even if it is killed. The Receive is released as soon as its payload has
 * been copied. No RPC succeeds while the peer, or the device, can access its memory. If
 * the invalidation for an RPC that fails does not succeed, buf_free() waits for the end
 * of the connection before the memory is released.
 *
 * Errors
 *
 * A bad Reply ends its RPC with EIO, after its memory is invalid; the connection
 * remains. An ERROR ends its RPC, or has the Call sent again. If a pull or an
 * invalidation fails, the connection is closed, and the Call is sent again on the next
 * one. If a pull can never succeed, the RPC ends. A Reply that no RPC waits for is
 * dropped, with a DONE if it was exposed.
 *
 * Locking
 *
 * queue_lock protects the lookup and the completion, as sunrpc requires. The state of
 * the RPC is changed by the context that has claimed it, without a lock.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/sunrpc/sched.h>

#include "internal.h"
#include "requester.h"

/* The lowest object of this folder with a tracepoint */
#define CREATE_TRACE_POINTS
#include "trace.h"

/*
 * Have sunrpc send a Call again. The task encodes and sends it once more when it finds
 * the status set here: sunrpc must not regard it as sent on the current connection,
 * because some tasks would wait for the Reply for ever. sunrpc does not drop that
 * connection either, as it would if the task found no status and no Reply. Caller holds
 * queue_lock.
 */
static void rpcrdma_req_resend(struct rpcrdma_req *req)
{
	struct rpc_rqst *rqst = &req->rqst;

	lockdep_assert_held(&rqst->rq_xprt->queue_lock);
	rqst->rq_connect_cookie = rqst->rq_xprt->connect_cookie - 1;
}

/*
 * A task whose Call was refused before it could go to sleep stays awake. It sends the
 * Call again, or its RPC ends.
 */
void rpcrdma_requester_wait_for_reply(struct rpc_task *task)
{
	struct rpcrdma_req *req = rpcrdma_rqst_req(task->tk_rqstp);
	int status;

	lockdep_assert_held(&task->tk_rqstp->rq_xprt->queue_lock);
	status = rpcrdma_xact_notified(&req->x);
	if (likely(!status)) {
		xprt_wait_for_reply_request_def(task);
		return;
	}
	if (status == -EAGAIN)
		rpcrdma_req_resend(req);
	task->tk_status = status;
}

/* Have a refused Call sent again, of which no MR or Receive is left. */
static void rpcrdma_req_send_again(struct rpc_xprt *xprt,
				   struct rpcrdma_req *req)
{
	struct rpc_rqst *rqst = &req->rqst;

	spin_lock(&xprt->queue_lock);
	/*
	 * A task that does not sleep is about to do so, and the sender of its Call may
	 * still have to write to the rpc_rqst.
	 */
	rpcrdma_xact_again(&req->x);
	rpcrdma_req_resend(req);
	rpcrdma_wake_with_status(xprt, rqst->rq_task, -EAGAIN);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/* Unpin the RPC; sunrpc sends it again or gives up. */
static void rpcrdma_unpin(struct rpc_xprt *xprt, struct rpc_rqst *rqst)
{
	spin_lock(&xprt->queue_lock);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/*
 * Complete the RPC: @status is the number of bytes of the Reply, or a negative errno.
 * If the result arrived in a Write chunk, rq_rcv_buf is adjusted to its position.
 * rq_rcv_buf and its copy rq_private_buf must remain identical.
 */
static void rpcrdma_req_complete(struct rpcrdma_req *req, int status)
{
	const struct rpcrdma_placed *placed = &req->x.placed;
	struct rpcrdma_requester_stats *stats = req->stats;
	struct rpc_rqst *rqst = &req->rqst;
	struct xdr_buf *buf = &rqst->rq_rcv_buf, *copy = &rqst->rq_private_buf;
	struct rpc_xprt *xprt = rqst->rq_xprt;

	if (status >= 0 && req->x.parts.reduced) {
		buf->head[0].iov_len = req->x.parts.head;
		buf->page_len = req->x.parts.pages;
		copy->head[0].iov_len = buf->head[0].iov_len;
		copy->page_len = buf->page_len;
	}
	spin_lock(&xprt->queue_lock);
	stats->placed_octets += placed->write_octets + placed->reply_octets +
				placed->pull_octets;
	stats->recv_copied += req->copied;
	stats->local_inv += req->local_inv;
	stats->bad_replies += req->bad_reply;
	req->copied = 0;
	req->local_inv = 0;
	req->bad_reply = 0;
	if (status < 0)
		rpcrdma_rqst_fail(rqst, status);
	else
		xprt_complete_rqst(rqst->rq_task, status);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/* ---- Running the engine's actions ---- */

/* Copy the inline payload to its place. */
static void rpcrdma_req_place(struct rpcrdma_req *req)
{
	const struct rpcrdma_reply_layout *parts = &req->x.parts;
	struct xdr_buf *buf = &req->rqst.rq_rcv_buf;
	struct rpcrdma_recv *rv = req->rv;

	req->copied = rv->payload_len;
	rpcrdma_xdr_copy_in(buf, 0, rv->payload, parts->first);
	if (unlikely(parts->rest))
		rpcrdma_xdr_copy_in(buf, parts->rest_at,
				    rv->payload + parts->first, parts->rest);
}

/*
 * Move the data of a Reply chunk that was provided in addition to a Write chunk. That
 * chunk covers only the memory of head and tail, so data that did not fit the head is at
 * the start of the tail, and belongs to other parts.
 */
static noinline void rpcrdma_req_move(struct rpcrdma_req *req)
{
	const struct rpcrdma_reply_layout *parts = &req->x.parts;
	struct xdr_buf *buf = &req->rqst.rq_rcv_buf;
	void *tail = buf->tail[0].iov_base;

	if (parts->reduced) {
		memmove(tail + parts->pad, tail, parts->tail);
		return;
	}
	rpcrdma_xdr_copy_in(buf, parts->head, tail, parts->pages);
	memmove(tail, tail + parts->pages, parts->tail);
}

/* Add the Read of @len bytes, from byte @from of the stream to byte @to of the Reply. */
static int rpcrdma_req_read(struct rpcrdma_req *req, struct rpcrdma_rw *rw,
			    const struct rpcrdma_lists *lists, u32 from, u32 to,
			    u32 len)
{
	struct rpcrdma_extent ext[RPCRDMA_XDR_EXTENTS] __uninitialized;
	int n;

	if (!len)
		return 0;
	n = rpcrdma_xdr_extents(&req->rqst.rq_rcv_buf, to, len, ext,
				ARRAY_SIZE(ext));
	if (n < 0)
		return n;
	return rpcrdma_rw_add(rw, lists, &lists->reads[0], from, ext, n, 0,
			      len);
}

/* Add the Reads of a Reply that is pulled. */
static int rpcrdma_req_reads(struct rpcrdma_req *req, struct rpcrdma_rw *rw,
			     const struct rpcrdma_lists *lists)
{
	const struct rpcrdma_reply_layout *parts = &req->x.parts;

	return rpcrdma_req_read(req, rw, lists, 0, 0, parts->first) ?:
	       rpcrdma_req_read(req, rw, lists, parts->first, parts->rest_at,
				parts->rest);
}

static void rpcrdma_req_run_actions(struct rpcrdma_req *req,
				    struct rpcrdma_ep *ep,
				    struct rpcrdma_actions s);

/* Return the start of a Reply that is not in a Receive, for the engine to check. */
static const void *rpcrdma_req_first(const struct rpcrdma_req *req)
{
	const struct kvec *head = &req->rqst.rq_rcv_buf.head[0];

	return head->iov_len < 8 ? NULL : head->iov_base;
}

/* Handle the end of a Reply's Reads; the rpc_rqst is still pinned. */
static void rpcrdma_requester_pulled(struct rpcrdma_rw *rw, bool ok)
{
	enum rpcrdma_pull how = ok ? RPCRDMA_PULL_OK : RPCRDMA_PULL_FAILED;
	struct rpcrdma_req *req = rw->priv;
	struct rpcrdma_actions s;

	trace_rpcrdma_pulled(rpcrdma_rw_ep(rw), be32_to_cpu(req->rqst.rq_xid),
			     rw->core.octets, ok ? 0 : -EIO);
	s = rpcrdma_xact_pulled(&req->x, how, rpcrdma_req_first(req));
	rpcrdma_req_run_actions(req, rpcrdma_rw_ep(rw), s);
}

/*
 * Pull a Reply that the Responder provides (DR 4.1.2). The memory belongs to the RPC,
 * which stays pinned until the Reads have ended, with the connection at the latest.
 */
static noinline void rpcrdma_req_pull(struct rpcrdma_req *req,
				      struct rpcrdma_ep *ep)
{
	enum rpcrdma_pull how = RPCRDMA_PULL_SHORT;
	struct rpcrdma_recv *rv = req->rv;
	struct rpcrdma_rw *rw;
	int rc = -ENOMEM;

	req->rv = NULL;
	rw = rpcrdma_rw_alloc(ep, DMA_FROM_DEVICE, 0, 0, GFP_NOFS);
	if (rw)
		rc = rpcrdma_req_reads(req, rw, &rv->rx.lists);
	trace_rpcrdma_pull(ep, rv->rx.xid, rv->rx.lists.reads[0].length, rc);
	rpcrdma_recv_put(rv);
	if (likely(!rc)) {
		rw->priv = req;
		rw->done = rpcrdma_requester_pulled;
		rpcrdma_rw_read(rw);
		return;
	}
	if (rw)
		rpcrdma_rw_free(rw);
	if (rpcrdma_remedy_for(RPCRDMA_FAILED_PULL, rc).kind ==
	    RPCRDMA_REMEDY_GIVE_UP)
		how = RPCRDMA_PULL_NEVER;
	rpcrdma_req_run_actions(req, ep,
				rpcrdma_xact_pulled(&req->x, how, NULL));
}

/*
 * Handle the end of an invalidation: the MRs of a replied RPC are invalid, or are
 * destroyed with @inv->ep.
 */
static void rpcrdma_requester_inv_done(struct rpcrdma_inv *inv, bool ok)
{
	struct rpcrdma_req *req = container_of(inv, struct rpcrdma_req, inv.core);
	struct rpcrdma_ep *ep = rpcrdma_ep_of(inv->core);
	struct rpcrdma_actions s;

	/* The slot's reference may be the last one except this. */
	rpcrdma_ep_get(ep);
	/* Unmapping makes the data that the device wrote visible to the CPU. */
	if (ok)
		rpcrdma_req_put_mrs(req);
	s = rpcrdma_xact_invalidated(&req->x, ok, rpcrdma_req_first(req));
	rpcrdma_req_run_actions(req, ep, s);
	rpcrdma_ep_put(ep);
}

/*
 * Invalidate the exposed MRs. If the peer has invalidated all of them, return them to
 * the pool immediately, set *@s to the next actions and return true.
 */
static bool rpcrdma_req_invalidate(struct rpcrdma_req *req,
				   struct rpcrdma_ep *ep,
				   struct rpcrdma_actions *s)
{
	if (rpcrdma_mrs_exposed(&req->mrs)) {
		req->local_inv++;
		req->inv.core.done = rpcrdma_requester_inv_done;
		rpcrdma_mrs_invalidate(ep, &req->mrs, &req->inv);
		return false;
	}
	rpcrdma_req_put_mrs(req);
	*s = rpcrdma_xact_invalidated(&req->x, true,
				      rpcrdma_req_first(req));
	return true;
}

/*
 * Run the actions of the engine, in its order. The rpc_rqst is pinned. Once the RPC is
 * complete, unpinned or scheduled for another transmission, the slot may belong to
 * another RPC.
 */
static void rpcrdma_req_run_actions(struct rpcrdma_req *req,
				    struct rpcrdma_ep *ep,
				    struct rpcrdma_actions s)
{
	struct rpc_rqst *rqst = &req->rqst;
	struct rpcrdma_recv *rv;

	do {
		if (unlikely(s.todo & RPCRDMA_ACT_REPORT)) {
			req->bad_reply = 1;
			pr_warn_ratelimited("rpcrdma: Reply with xid 0x%08x from %pISpc discarded: %s; its RPC fails\n",
					    be32_to_cpu(rqst->rq_xid),
					    &ep->remote, s.reason);
		}
		if (s.todo & RPCRDMA_ACT_PLACE)
			rpcrdma_req_place(req);
		if (s.todo & RPCRDMA_ACT_MOVE)
			rpcrdma_req_move(req);
		if (s.todo & RPCRDMA_ACT_PUT) {
			rv = req->rv;
			req->rv = NULL;
			rpcrdma_recv_put(rv);
		}
		if (unlikely(s.todo & RPCRDMA_ACT_CLOSE))
			rpcrdma_ep_close(ep, s.reason);

		if (s.todo & RPCRDMA_ACT_COMPLETE)
			rpcrdma_req_complete(req, s.status);
		else if (s.todo & RPCRDMA_ACT_PULL)
			rpcrdma_req_pull(req, ep);
		else if (s.todo & RPCRDMA_ACT_AGAIN)
			rpcrdma_req_send_again(rqst->rq_xprt, req);
		else if (s.todo & RPCRDMA_ACT_LEAVE)
			rpcrdma_unpin(rqst->rq_xprt, rqst);

		if (s.todo & RPCRDMA_ACT_DONE)
			rpcrdma_ep_send_done(ep, s.xid, s.handle);
	} while (s.todo & RPCRDMA_ACT_INVALIDATE &&
		 rpcrdma_req_invalidate(req, ep, &s));
}

/*
 * Complete an RPC after rpcrdma_core_item_answered(): its only MR is returned, and the
 * inline payload belongs to the head. Consumes @rv.
 */
static __always_inline void rpcrdma_req_placed(struct rpcrdma_req *req,
					       struct rpcrdma_ep *ep,
					       struct rpcrdma_recv *rv)
{
	req->copied = rv->payload_len;
	memcpy(req->rqst.rq_rcv_buf.head[0].iov_base, rv->payload,
	       rv->payload_len);
	rpcrdma_recv_put(rv);
	req->ep = NULL;
	rpcrdma_ep_put(ep);
	rpcrdma_req_complete(req, req->x.parts.octets);
}

/* Process a Reply after which the RPC is not complete yet. Consumes @rv. */
static noinline void rpcrdma_req_answered(struct rpcrdma_req *req,
					  struct rpcrdma_ep *ep,
					  struct rpcrdma_recv *rv, bool bad)
{
	struct rpcrdma_arrival a __uninitialized;

	a.inv_handle = rv->inv_handle;
	rpcrdma_xdr_layout(&req->rqst.rq_rcv_buf, &a.layout);
	if (likely(a.inv_handle && !bad &&
		   rpcrdma_core_item_answered(&ep->core, &req->mrs, &req->x,
					      &rv->rx, a.inv_handle,
					      &a.layout))) {
		rpcrdma_req_placed(req, ep, rv);
		return;
	}
	a.rx = &rv->rx;
	a.bad = bad;
	a.exposed = a.inv_handle &&
		    rpcrdma_mrs_invalidated(&req->mrs, a.inv_handle);
	a.length = rv->payload_len;
	req->rv = rv;
	rpcrdma_req_run_actions(
		req, ep, rpcrdma_xact_reply(&req->x, &ep->core.conn, &a));
}

/* Drop a Reply for which no RPC waits (any more). Consumes @rv. */
static noinline void rpcrdma_requester_stray(struct rpcrdma_ep *ep,
					     struct rpcrdma_recv *rv, bool bad)
{
	struct rpcrdma_actions s = rpcrdma_xact_stray(&rv->rx, bad);

	rpcrdma_recv_put(rv);
	if (s.todo & RPCRDMA_ACT_DONE)
		rpcrdma_ep_send_done(ep, s.xid, s.handle);
}

/*
 * Decide how to continue the RPC of a refused Call.
 * Return: 0, the Call is sent again; or the errno that ends the RPC.
 */
static int rpcrdma_req_refused(struct rpcrdma_req *req, struct rpcrdma_ep *ep,
			       const struct rpcrdma_rx *rx)
{
	struct rpcrdma_requester *r = rpcrdma_xprt_requester(req->rqst.rq_xprt);
	struct rpcrdma_call call;

	rpcrdma_req_call_data(req, ep, &call);
	/*
	 * Learn the limit for all following Calls, and for this one if it is sent as
	 * another RPC.
	 */
	spin_lock(&r->learned_lock);
	rpcrdma_peer_limits_learn(&r->learned, ktime_get_seconds(), rx, &call,
				  &req->x.lists);
	spin_unlock(&r->learned_lock);
	return rpcrdma_core_call_refused(&ep->core, rx, &call, &req->x.lists,
					 &req->x.retry_limits);
}

/*
 * Process a refused Call. If the engine knows another form for it, it is sent again when
 * the peer cannot access its memory any more. Otherwise the RPC ends with the error's
 * errno. Consumes @rv.
 */
static noinline void rpcrdma_requester_error(struct rpc_xprt *xprt,
					     struct rpcrdma_ep *ep,
					     struct rpcrdma_recv *rv)
{
	u32 xid = rv->rx.xid, code = rv->rx.error.code;
	struct rpcrdma_req *req = NULL;
	struct rpc_rqst *rqst;
	int status = 0;

	spin_lock(&xprt->queue_lock);
	rqst = xprt_lookup_rqst(xprt, cpu_to_be32(xid));
	if (rqst && rpcrdma_xact_claim(&rpcrdma_rqst_req(rqst)->x,
				       &ep->core.conn)) {
		req = rpcrdma_rqst_req(rqst);
		xprt_pin_rqst(rqst);
	}
	spin_unlock(&xprt->queue_lock);
	if (req)
		status = rpcrdma_req_refused(req, ep, &rv->rx);
	rpcrdma_recv_put(rv);
	if (!req)
		return;
	if (status)
		pr_warn_ratelimited("rpcrdma: %pISpc refused the Call with xid 0x%08x: %s; its RPC fails with error %d\n",
				    &ep->remote, xid, rpcrdma_error_name(code),
				    status);
	else
		pr_info_ratelimited("rpcrdma: %pISpc refused the Call with xid 0x%08x: %s; sending it in another form\n",
				    &ep->remote, xid, rpcrdma_error_name(code));
	trace_rpcrdma_retry(ep, xid, code, status);
	rpcrdma_req_run_actions(req, ep,
				rpcrdma_xact_error(&req->x, status));
}

void rpcrdma_requester_reply(struct rpc_xprt *xprt, struct rpcrdma_ep *ep,
			     struct rpcrdma_recv *rv)
{
	enum rpcrdma_claimed claimed = RPCRDMA_CLAIMED_NOT;
	u32 octets = rv->payload_len;
	struct rpc_rqst *rqst;
	struct rpcrdma_req *req;
	struct kvec *head;
	bool bad;

	if (unlikely(rv->verdict == RPCRDMA_RX_ERROR)) {
		rpcrdma_requester_error(xprt, ep, rv);
		return;
	}
	bad = rv->verdict == RPCRDMA_RX_BAD_REPLY;
	spin_lock(&xprt->queue_lock);
	rqst = xprt_lookup_rqst(xprt, cpu_to_be32(rv->rx.xid));
	if (likely(rqst)) {
		req = rpcrdma_rqst_req(rqst);
		head = &rqst->rq_rcv_buf.head[0];
		claimed = rpcrdma_xact_claim_reply(&req->x, &ep->core.conn,
						   &rv->rx, bad,
						   rv->inv_handle,
						   head->iov_len);
	}
	if (likely(claimed != RPCRDMA_CLAIMED_NOT))
		xprt_pin_rqst(rqst);
	/*
	 * Copy the head under the lock: that takes no longer than acquiring it again. Unpin
	 * under the same lock, so that the completed task does not wait for it.
	 */
	if (likely(claimed == RPCRDMA_CLAIMED_LAST)) {
		req->stats->recv_copied += octets;
		memcpy(head->iov_base, rv->payload, octets);
		xprt_complete_rqst(rqst->rq_task, octets);
		xprt_unpin_rqst(rqst);
	}
	spin_unlock(&xprt->queue_lock);

	if (unlikely(claimed == RPCRDMA_CLAIMED_NOT)) {
		rpcrdma_requester_stray(ep, rv, bad);
		return;
	}
	/* The server is reachable and replies: reconnect without delay. */
	if (xprt->reestablish_timeout)
		xprt->reestablish_timeout = 0;
	if (claimed == RPCRDMA_CLAIMED_LAST)
		rpcrdma_recv_put(rv);
	else
		rpcrdma_req_answered(req, ep, rv, bad);
}
