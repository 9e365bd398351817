// SPDX-License-Identifier: GPL-2.0
/*
 * The Requester: processing Replies and ERRORs.
 *
 * Operation
 *
 * The core decides and sequences (core/answer.h, core/endpoint/answers.cc): this file has
 * the operations that it needs on sunrpc's structures. They look up an RPC by xid, copy or
 * pull its Reply, and complete, retransmit or leave the RPC.
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

void rpcrdma_port_rpc_complete(struct rpcrdma_rpc *rpc, int status)
{
	struct rpcrdma_req *req = rpcrdma_req_of(rpc);
	const struct rpcrdma_placed *placed = &rpc->x.placed;
	struct rpcrdma_requester_stats *stats = req->stats;
	struct rpc_rqst *rqst = &req->rqst;
	struct rpc_xprt *xprt = rqst->rq_xprt;

	spin_lock(&xprt->queue_lock);
	stats->placed_octets += placed->write_octets + placed->reply_octets +
				placed->pull_octets;
	stats->recv_copied += rpc->copied;
	stats->local_inv += rpc->local_inv;
	stats->bad_replies += rpc->bad_reply;
	rpc->copied = 0;
	rpc->local_inv = false;
	rpc->bad_reply = false;
	if (status < 0)
		rpcrdma_rqst_fail(rqst, status);
	else
		xprt_complete_rqst(rqst->rq_task, status);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

/* ---- The memory of a Reply ---- */

void rpcrdma_port_rpc_layout(const struct rpcrdma_rpc *rpc,
			     struct rpcrdma_buf_layout *layout)
{
	rpcrdma_xdr_layout(&rpcrdma_req_of(rpc)->rqst.rq_rcv_buf, layout);
}

const void *rpcrdma_port_rpc_head(const struct rpcrdma_rpc *rpc)
{
	return rpcrdma_req_of(rpc)->rqst.rq_rcv_buf.head[0].iov_base;
}

void *rpcrdma_port_rpc_tail(const struct rpcrdma_rpc *rpc)
{
	return rpcrdma_req_of(rpc)->rqst.rq_rcv_buf.tail[0].iov_base;
}

void rpcrdma_port_rpc_copy(struct rpcrdma_rpc *rpc, u32 to, const void *from,
			   u32 length)
{
	rpcrdma_xdr_copy_in(&rpcrdma_req_of(rpc)->rqst.rq_rcv_buf, to, from,
			    length);
}

/* rq_rcv_buf and its copy rq_private_buf must remain identical. */
void rpcrdma_port_rpc_lengths(struct rpcrdma_rpc *rpc, u32 head, u32 pages)
{
	struct rpc_rqst *rqst = &rpcrdma_req_of(rpc)->rqst;

	rqst->rq_rcv_buf.head[0].iov_len = head;
	rqst->rq_rcv_buf.page_len = pages;
	rqst->rq_private_buf.head[0].iov_len = head;
	rqst->rq_private_buf.page_len = pages;
}

/* ---- MRs and Reads ---- */

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

struct rpcrdma_transfer *rpcrdma_port_rpc_reads(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_rw *rw;

	rw = rpcrdma_rw_alloc(rpcrdma_ep_of(core), DMA_FROM_DEVICE, 0, 0,
			      GFP_NOFS);
	return rw ? &rw->core : NULL;
}

int rpcrdma_port_rpc_read(struct rpcrdma_rpc *rpc, struct rpcrdma_transfer *t,
			  const struct rpcrdma_msg_range *range)
{
	struct rpcrdma_extent ext[RPCRDMA_XDR_EXTENTS] __uninitialized;
	int n;

	n = rpcrdma_xdr_extents(&rpcrdma_req_of(rpc)->rqst.rq_rcv_buf, range->to,
				range->length, ext, ARRAY_SIZE(ext));
	if (n < 0)
		return n;
	return rpcrdma_rw_add(rpcrdma_rw_of(t), &rpc->rv->rx.lists, range->chunk,
			      range->from, ext, n, 0, range->length);
}

void rpcrdma_port_rpc_reads_built(struct rpcrdma_ep_core *core,
				  struct rpcrdma_rpc *rpc,
				  struct rpcrdma_transfer *t, int status)
{
	const struct rpcrdma_rx *rx = &rpc->rv->rx;

	trace_rpcrdma_pull(rpcrdma_ep_of(core), rx->xid,
			   rx->lists.reads[0].length, status);
	if (!t)
		return;
	if (status) {
		rpcrdma_rw_free(rpcrdma_rw_of(t));
		return;
	}
	rpcrdma_rw_of(t)->priv = rpcrdma_req_of(rpc);
	rpcrdma_rw_of(t)->done = rpcrdma_requester_pulled;
}

/* ---- Messages for the log, and limits ---- */

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

void rpcrdma_port_rpc_lock(struct rpcrdma_requester *r)
	__acquires(&r->xprt.queue_lock)
{
	spin_lock(&r->xprt.queue_lock);
}

void rpcrdma_port_rpc_unlock(struct rpcrdma_requester *r)
	__releases(&r->xprt.queue_lock)
{
	spin_unlock(&r->xprt.queue_lock);
}

struct rpcrdma_rpc *rpcrdma_port_rpc_find(struct rpcrdma_requester *r, u32 xid)
{
	struct rpc_rqst *rqst = xprt_lookup_rqst(&r->xprt, cpu_to_be32(xid));

	return rqst ? &rpcrdma_rqst_req(rqst)->rpc : NULL;
}

/* The server is reachable and answers: reconnect without delay. */
void rpcrdma_port_rpc_hold(struct rpcrdma_rpc *rpc)
{
	struct rpc_rqst *rqst = &rpcrdma_req_of(rpc)->rqst;

	xprt_pin_rqst(rqst);
	if (rqst->rq_xprt->reestablish_timeout)
		rqst->rq_xprt->reestablish_timeout = 0;
}

void rpcrdma_port_rpc_answered(struct rpcrdma_rpc *rpc, u32 octets)
{
	struct rpcrdma_req *req = rpcrdma_req_of(rpc);

	req->stats->recv_copied += octets;
	xprt_complete_rqst(req->rqst.rq_task, octets);
	xprt_unpin_rqst(&req->rqst);
}

/* Flattened, so that the functions above are inlined */
__flatten bool rpcrdma_port_answer(struct rpcrdma_requester *r,
				   struct rpcrdma_recv *rv)
{
	return rpcrdma_core_answer_rpc(r, rv);
}
