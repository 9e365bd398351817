// SPDX-License-Identifier: GPL-2.0
/*
 * Server transport: Replies, and the results that are sent in their Call's chunks.
 *
 * Operation
 *
 * While a service encodes a Reply, it reports by xpo_result_payload() which results may
 * be sent in Write chunks. They are only recorded, because the service may still revoke
 * them. xpo_sendto() passes the complete Reply to the core, which plans, builds and sends
 * it (core/endpoint/reply.cc). The core asks this file for the results, and responder.c for
 * the rest. If the peer has granted no credit, or the Send Queue is full, the core
 * queues the Reply: the thread never waits for the peer.
 *
 * Memory
 *
 * The Send context was reserved before the thread received the Call, so that no thread
 * waits for one here. A continued Reply returns it. Pages that the device reads move from
 * the thread to the transfer, with their references. The Call's Receive is held until
 * sunrpc releases the Call, in version 1 until the Reply is built.
 *
 * Errors
 *
 * A service does not keep its Reply: a Reply that cannot be sent closes the connection, and
 * the client sends the Call again on the next one. So does a Reply to a deferred Call for
 * which sunrpc has not kept the Receive.
 *
 * Locking
 *
 * This file takes no lock. sunrpc calls xpo_sendto() without one, so that several
 * threads may send on a connection at the same time. A Call and its Reply belong to the
 * calling thread.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>

#include <core/port_reply.h>

#include "../compat.h"
#include "internal.h"
#include "responder.h"
#include "settings.h"
#include "xdrbuf.h"

/*
 * Record a result that may be sent in a Write chunk.
 * @rqstp: Call being processed
 * @offset: byte offset in rq_res
 * @length: bytes, without roundup
 *
 * The decision is made when the Reply is complete. A service may still revoke what it
 * has encoded, see rpcrdma_reply_items(). Always returns 0.
 */
int rpcrdma_svc_result_payload(struct svc_rqst *rqstp,
			       unsigned int offset, unsigned int length)
{
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	struct rpcrdma_svc_call *call = rv ? rv->priv : NULL;

	if (!call || !rv->rx.lists.nr_writes)
		return 0;
	/* Data that GSS signs or encrypts as a whole is not reduced. */
	if (rqstp->rq_auth_slack)
		return 0;
	rpcrdma_results_add(&call->results, ktime_to_ns(rqstp->rq_stime),
			    offset, length);
	return 0;
}

static struct rpcrdma_recv *rpcrdma_rqst_recv(const struct svc_rqst *rqstp)
{
	return rqstp->rq_xprt_ctxt;
}

/* Return the number of results in @call that this pass of the service has reported. */
static u32 rpcrdma_svc_results(const struct svc_rqst *rqstp,
			       const struct rpcrdma_svc_call *call)
{
	return call ? rpcrdma_results_of(&call->results,
					 ktime_to_ns(rqstp->rq_stime)) : 0;
}

/* Copy bytes of a Reply, for rpcrdma_reply_items(). */
static void rpcrdma_svc_read_result(const void *res, u32 position, u32 length,
				    void *to)
{
	rpcrdma_xdr_copy_out(res, position, length, to);
}

void rpcrdma_port_reply_items(const struct rpcrdma_reply_out *out,
			      struct rpcrdma_reply *reply)
{
	struct svc_rqst *rqstp = rpcrdma_svc_reply_of(out)->rqstp;
	const struct rpcrdma_svc_call *call;
	u32 nr;

	/* A service for callbacks reports no results. */
	if (!rqstp)
		return;
	call = rpcrdma_rqst_recv(rqstp)->priv;
	nr = rpcrdma_svc_results(rqstp, call);
	if (nr)
		rpcrdma_reply_items(reply, call->results.items, nr,
				    rpcrdma_svc_read_result, &rqstp->rq_res);
}

/* An item of the fast path begins with the page data. */
const struct rpcrdma_item *
rpcrdma_port_reply_item(const struct rpcrdma_reply_out *out)
{
	struct svc_rqst *rqstp = rpcrdma_svc_reply_of(out)->rqstp;
	const struct rpcrdma_svc_call *call;
	const struct rpcrdma_item *item;
	const struct xdr_buf *res;
	u32 head;

	if (!rqstp)
		return NULL;
	call = rpcrdma_rqst_recv(rqstp)->priv;
	if (rpcrdma_svc_results(rqstp, call) != 1)
		return NULL;
	item = &call->results.items[0];
	res = &rqstp->rq_res;
	head = res->head[0].iov_len;
	if (item->position != head || item->length > res->page_len ||
	    rqstp->rq_next_page <= rqstp->rq_respages || head < sizeof(__be32) ||
	    !rpcrdma_result_is_item(item, res->len,
				    be32_to_cpup(res->head[0].iov_base + head -
						 sizeof(__be32))))
		return NULL;
	return item;
}

/*
 * The peer pulls from the head's page, too, so that the thread does not keep it, see
 * rpcrdma_svc_free_respages(). Writes may have taken it already. The Receive of a callback
 * was released when its Call was complete.
 */
void rpcrdma_port_reply_built(struct rpcrdma_ep_core *core,
			      struct rpcrdma_reply_out *out, bool exposed)
{
	struct svc_rqst *rqstp = rpcrdma_svc_reply_of(out)->rqstp;

	if (!rqstp)
		return;
	if (exposed)
		rpcrdma_pages_put(rqstp->rq_respages, 1);
	if (rpcrdma_reply_is_credit(&core->conn)) {
		rpcrdma_core_call_release(rpcrdma_rqst_recv(rqstp));
		rqstp->rq_xprt_ctxt = NULL;
	}
}

/*
 * Count all pages with data of the Reply as pages of the Reply. An NFSv4 READ for which
 * nfsd bypasses the page cache may have data that begin inside a page; nfsd counts the
 * pages as if they began with one. The thread would use the last page for its next
 * Reply while the device reads from it.
 */
static void rpcrdma_svc_count_pages(struct svc_rqst *rqstp)
{
	const struct xdr_buf *res = &rqstp->rq_res;
	struct page **end = res->pages + DIV_ROUND_UP(res->page_base +
						      res->page_len, PAGE_SIZE);

	if (unlikely(res->page_len && end > rqstp->rq_next_page &&
		     res->pages >= rqstp->rq_respages &&
		     end <= rqstp->rq_page_end))
		rqstp->rq_next_page = end;
}

/*
 * Release the pages of a copied Reply, as sunrpc would do next, except for the head's
 * page: it has no other user, so the thread keeps it for its next Reply. The others may
 * be pages of a file.
 */
static void rpcrdma_svc_free_respages(struct svc_rqst *rqstp)
{
	struct page **pages = rqstp->rq_respages + 1;

	if (rqstp->rq_next_page > pages)
		rpcrdma_pages_put(pages, rqstp->rq_next_page - pages);
	rpcrdma_rqst_keep_first(rqstp);
}

/*
 * Send a Reply.
 * @rqstp: Call with its Reply in rq_res
 *
 * The core decides how the Reply is conveyed (6.4). If there is no method, the peer
 * gets an ERROR. If resources are exhausted, the connection ends (7.4), and the peer
 * retransmits on a new one.
 * Context: service thread; does not wait for the peer, but possibly for memory.
 * Return: 0 or -ENOTCONN.
 */
int rpcrdma_svc_sendto(struct svc_rqst *rqstp)
{
	struct svc_xprt *xprt = rqstp->rq_xprt;
	struct rpcrdma_svc_conn *conn = to_svc_conn(xprt);
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	struct rpcrdma_ep *ep = conn->ep;
	struct rpcrdma_svc_reply a __uninitialized;
	int rc;

	if (svc_xprt_is_dead(xprt) || !rpcrdma_ep_is_open(ep))
		return -ENOTCONN;
	/*
	 * A kernel that does not keep the Receive for a deferred Call has released it.
	 * The client would wait forever for this Reply. On a new connection, it sends
	 * the Call again, which is then not deferred.
	 */
	if (unlikely(!rv)) {
		rpcrdma_ep_close(ep, "sunrpc released a deferred Call; the client has to send it again");
		svc_xprt_deferred_close(xprt);
		return -ENOTCONN;
	}
	rpcrdma_svc_count_pages(rqstp);
	a.core.call_lists = &rv->rx.lists;
	a.core.send = rv->send;
	a.core.xid = rv->rx.xid;
	a.core.length = rqstp->rq_res.len;
	a.core.kept = false;
	a.res = &rqstp->rq_res;
	a.rqstp = rqstp;
	rv->send = NULL;
	rc = rpcrdma_core_send_reply(&ep->core, &a.core);
	if (unlikely(rc))
		svc_xprt_deferred_close(xprt);
	rpcrdma_svc_free_respages(rqstp);
	return rc;
}
