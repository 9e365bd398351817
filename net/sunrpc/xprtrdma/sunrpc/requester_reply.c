// SPDX-License-Identifier: GPL-2.0
/*
 * The Requester: processing Replies and ERRORs.
 *
 * Operation
 *
 * The core decides and sequences (core/endpoint/answers.cc): this file has the actions that
 * it requests, on sunrpc's structures. The first one looks up an RPC by xid, for a Reply
 * or an ERROR, and has the core claim it. A Reply to a plain Call, the fast path, is
 * copied and completed in the same critical section.
 *
 * If a Call is refused, and can be sent in another form, its task retries it as after a
 * lost connection. sunrpc encodes the Call once more, with the same xid. With
 * RPCSEC_GSS, a Call that has been executed is therefore accepted as a new one.
 *
 * Memory
 *
 * The rpc_rqst is pinned from the claim until the last action, so that its task cannot
 * release it, even if it is killed. No RPC completes while the peer, or the device, can
 * access its memory.
 *
 * Errors
 *
 * A bad Reply ends its RPC with EIO, after its memory is invalid; the connection
 * remains. An ERROR ends its RPC, or has the Call sent again. A pull that fails closes
 * the connection, and the Call is sent again on the next one. A Reply that no RPC waits
 * for is dropped, with a DONE if it was exposed.
 *
 * Locking
 *
 * queue_lock protects the lookup and the completion, as sunrpc requires. The state of
 * the RPC is changed by the context that has claimed it, without a lock.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/sunrpc/sched.h>

#include <core/answer.h>

#include "../compat.h"
#include "internal.h"
#include "requester.h"

/* The lowest object of this folder with a tracepoint */
#define CREATE_TRACE_POINTS
#include "trace.h"

/*
 * Have sunrpc send a Call again. The task encodes and sends it once more when it finds
 * the status set here: sunrpc must not regard it as sent on the current connection,
 * because some tasks would wait for the Reply forever. sunrpc does not drop that
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
	status = rpcrdma_xact_notified(&req->rpc.x);
	if (likely(!status)) {
		xprt_wait_for_reply_request_def(task);
		return;
	}
	if (status == -EAGAIN)
		rpcrdma_req_resend(req);
	task->tk_status = status;
}

/* ---- The core's actions ---- */

void rpcrdma_port_rpc_again(struct rpcrdma_rpc *rpc)
{
	struct rpcrdma_req *req = rpcrdma_req_of(rpc);
	struct rpc_rqst *rqst = &req->rqst;
	struct rpc_xprt *xprt = rqst->rq_xprt;

	spin_lock(&xprt->queue_lock);
	/*
	 * A task that does not sleep is about to do so, and the sender of its Call may
	 * still have to write to the rpc_rqst.
	 */
	rpcrdma_xact_again(&rpc->x);
	rpcrdma_req_resend(req);
	rpcrdma_wake_with_status(xprt, rqst->rq_task, -EAGAIN);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/* Unpin the RPC; sunrpc sends it again or gives up. */
void rpcrdma_port_rpc_leave(struct rpcrdma_rpc *rpc)
{
	struct rpc_rqst *rqst = &rpcrdma_req_of(rpc)->rqst;
	struct rpc_xprt *xprt = rqst->rq_xprt;

	spin_lock(&xprt->queue_lock);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/*
 * If the result arrived in a Write chunk, rq_rcv_buf is adjusted to its position.
 * rq_rcv_buf and its copy rq_private_buf must remain identical.
 */
void rpcrdma_port_rpc_complete(struct rpcrdma_rpc *rpc, int status)
{
	struct rpcrdma_req *req = rpcrdma_req_of(rpc);
	const struct rpcrdma_placed *placed = &rpc->x.placed;
	struct rpcrdma_requester_stats *stats = req->stats;
	struct rpc_rqst *rqst = &req->rqst;
	struct xdr_buf *buf = &rqst->rq_rcv_buf, *copy = &rqst->rq_private_buf;
	struct rpc_xprt *xprt = rqst->rq_xprt;

	if (status >= 0 && rpc->x.parts.reduced) {
		buf->head[0].iov_len = rpc->x.parts.head;
		buf->page_len = rpc->x.parts.pages;
		copy->head[0].iov_len = buf->head[0].iov_len;
		copy->page_len = buf->page_len;
	}
	spin_lock(&xprt->queue_lock);
	stats->placed_octets += placed->write_octets + placed->reply_octets +
				placed->pull_octets;
	stats->recv_copied += req->copied;
	stats->local_inv += rpc->local_inv;
	stats->bad_replies += rpc->bad_reply;
	req->copied = 0;
	rpc->local_inv = false;
	rpc->bad_reply = false;
	if (status < 0)
		rpcrdma_rqst_fail(rqst, status);
	else
		xprt_complete_rqst(rqst->rq_task, status);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/* Fast path: all of it belongs to the head. */
void rpcrdma_port_rpc_place(struct rpcrdma_rpc *rpc)
{
	const struct rpcrdma_reply_layout *parts = &rpc->x.parts;
	struct rpcrdma_req *req = rpcrdma_req_of(rpc);
	struct xdr_buf *buf = &req->rqst.rq_rcv_buf;
	const struct rpcrdma_recv *rv = rpc->rv;

	req->copied = rv->payload_len;
	if (likely(!parts->rest && parts->first == parts->head)) {
		memcpy(buf->head[0].iov_base, rv->payload, parts->first);
		return;
	}
	rpcrdma_xdr_copy_in(buf, 0, rv->payload, parts->first);
	if (parts->rest)
		rpcrdma_xdr_copy_in(buf, parts->rest_at,
				    rv->payload + parts->first, parts->rest);
}

/*
 * Move the data of a Reply chunk that was provided in addition to a Write chunk. That
 * chunk covers only the memory of head and tail, so data that did not fit the head is at
 * the start of the tail, and belongs to other parts.
 */
void rpcrdma_port_rpc_move(struct rpcrdma_rpc *rpc)
{
	const struct rpcrdma_reply_layout *parts = &rpc->x.parts;
	struct xdr_buf *buf = &rpcrdma_req_of(rpc)->rqst.rq_rcv_buf;
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
	const struct rpcrdma_reply_layout *parts = &req->rpc.x.parts;

	return rpcrdma_req_read(req, rw, lists, 0, 0, parts->first) ?:
	       rpcrdma_req_read(req, rw, lists, parts->first, parts->rest_at,
				parts->rest);
}

const void *rpcrdma_port_rpc_first(const struct rpcrdma_rpc *rpc)
{
	const struct kvec *head = &rpcrdma_req_of(rpc)->rqst.rq_rcv_buf.head[0];

	return head->iov_len < 8 ? NULL : head->iov_base;
}

void rpcrdma_port_rpc_put_mrs(struct rpcrdma_ep_core *core,
			      struct rpcrdma_rpc *rpc)
{
	struct rpcrdma_req *req = rpcrdma_req_of(rpc);
	struct rpcrdma_ep *ep = req->ep;

	if (!ep)
		return;
	req->ep = NULL;
	rpcrdma_mrs_put(ep, &rpc->mrs);
	rpcrdma_ep_put(ep);
}

static void rpcrdma_requester_pulled(struct rpcrdma_rw *rw, bool ok)
{
	struct rpcrdma_ep *ep = rpcrdma_rw_ep(rw);
	struct rpcrdma_req *req = rw->priv;

	trace_rpcrdma_pulled(ep, be32_to_cpu(req->rqst.rq_xid), rw->core.octets,
			     ok ? 0 : -EIO);
	rpcrdma_core_rpc_pulled(&ep->core, &req->rpc, ok);
}

int rpcrdma_port_rpc_reads(struct rpcrdma_ep_core *core,
			   struct rpcrdma_rpc *rpc,
			   const struct rpcrdma_recv *rv,
			   struct rpcrdma_transfer **t)
{
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	struct rpcrdma_req *req = rpcrdma_req_of(rpc);
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct rpcrdma_rw *rw;
	int rc = -ENOMEM;

	rw = rpcrdma_rw_alloc(ep, DMA_FROM_DEVICE, 0, 0, GFP_NOFS);
	if (rw)
		rc = rpcrdma_req_reads(req, rw, lists);
	trace_rpcrdma_pull(ep, rv->rx.xid, lists->reads[0].length, rc);
	if (rc) {
		if (rw)
			rpcrdma_rw_free(rw);
		return rc;
	}
	rw->priv = req;
	rw->done = rpcrdma_requester_pulled;
	*t = &rw->core;
	return 0;
}

void rpcrdma_port_rpc_report(struct rpcrdma_ep_core *core,
			     struct rpcrdma_rpc *rpc,
			     const struct rpcrdma_actions *s)
{
	pr_warn_ratelimited("rpcrdma: Reply with xid 0x%08x from %pISpc discarded: %s; its RPC fails\n",
			    be32_to_cpu(rpcrdma_req_of(rpc)->rqst.rq_xid),
			    &rpcrdma_ep_of(core)->remote, s->reason);
}

void rpcrdma_port_rpc_learn(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_rpc *rpc,
			    const struct rpcrdma_rx *rx,
			    const struct rpcrdma_call *call)
{
	struct rpcrdma_requester *r =
		rpcrdma_xprt_requester(rpcrdma_req_of(rpc)->rqst.rq_xprt);

	spin_lock(&r->learned_lock);
	rpcrdma_peer_limits_learn(&r->learned, ktime_get_seconds(), rx, call,
				  &rpc->x.lists);
	spin_unlock(&r->learned_lock);
}

void rpcrdma_port_rpc_refused(struct rpcrdma_ep_core *core,
			      struct rpcrdma_rpc *rpc,
			      const struct rpcrdma_rx *rx, int status)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	u32 code = rx->error.code;

	if (status)
		pr_warn_ratelimited("rpcrdma: %pISpc refused the Call with xid 0x%08x: %s; its RPC fails with error %d\n",
				    &ep->remote, rx->xid,
				    rpcrdma_error_name(code), status);
	else
		pr_info_ratelimited("rpcrdma: %pISpc refused the Call with xid 0x%08x: %s; sending it in another form\n",
				    &ep->remote, rx->xid,
				    rpcrdma_error_name(code));
	trace_rpcrdma_retry(ep, rx->xid, code, status);
}

/* ---- Claims ---- */

void rpcrdma_port_rpc_layout(const struct rpcrdma_rpc *rpc,
			     struct rpcrdma_buf_layout *layout)
{
	rpcrdma_xdr_layout(&rpcrdma_req_of(rpc)->rqst.rq_rcv_buf, layout);
}

struct rpcrdma_claim rpcrdma_port_rpc_claim(struct rpcrdma_requester *r,
					    const struct rpcrdma_recv *rv)
{
	struct rpcrdma_claim claim = { NULL, RPCRDMA_CLAIMED_NOT };
	struct rpc_xprt *xprt = &r->xprt;
	u32 octets = rv->payload_len;
	struct rpc_rqst *rqst;
	struct rpcrdma_req *req;
	struct kvec *head;

	spin_lock(&xprt->queue_lock);
	rqst = xprt_lookup_rqst(xprt, cpu_to_be32(rv->rx.xid));
	if (likely(rqst)) {
		req = rpcrdma_rqst_req(rqst);
		head = &rqst->rq_rcv_buf.head[0];
		claim.rpc = &req->rpc;
		claim.how = rpcrdma_core_rpc_claim(&req->rpc, rv, head->iov_len);
	}
	if (likely(claim.how != RPCRDMA_CLAIMED_NOT)) {
		xprt_pin_rqst(rqst);
		/* The server is reachable and answers: reconnect without delay. */
		if (xprt->reestablish_timeout)
			xprt->reestablish_timeout = 0;
	}
	/*
	 * Copy the head under the lock: that takes no longer than acquiring it again. Unpin
	 * under the same lock, so that the completed task does not wait for it.
	 */
	if (likely(claim.how == RPCRDMA_CLAIMED_LAST)) {
		req->stats->recv_copied += octets;
		memcpy(head->iov_base, rv->payload, octets);
		xprt_complete_rqst(rqst->rq_task, octets);
		xprt_unpin_rqst(rqst);
	}
	spin_unlock(&xprt->queue_lock);
	return claim;
}

/* Flattened, so that the functions above are inlined */
__flatten bool rpcrdma_port_answer(struct rpcrdma_requester *r,
				   struct rpcrdma_recv *rv)
{
	return rpcrdma_core_answer_rpc(r, rv);
}
