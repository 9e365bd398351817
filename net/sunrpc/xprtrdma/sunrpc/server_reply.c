// SPDX-License-Identifier: GPL-2.0
/*
 * Server transport: Replies, and the results that are sent in their Call's chunks.
 *
 * Operation
 *
 * While a service encodes a Reply, it reports by xpo_result_payload() which results may
 * be sent in Write chunks. They are only recorded, because the service may still revoke
 * them. xpo_sendto() has three ways for the complete Reply. A Reply that is one message
 * without chunks is copied to its Send context. A Reply with one result, in the only
 * chunk of its Call, is written from its pages, and the rest is copied, as for a large
 * READ. For every other Reply the core plans the method, and responder.c builds what is
 * sent. If the peer has granted no credit, or the Send Queue is full, the endpoint
 * queues the Reply: the thread never waits for the peer.
 *
 * Memory
 *
 * The Send context was reserved before the thread received the Call, so that no thread
 * waits for one here. Pages that the device reads move from the thread to the transfer,
 * with their references. A plan may refer to segments in the memory of the Call's
 * Receive, which is held until sunrpc releases the Call. In version 1 the Receive is
 * released as soon as the Reply is built: the Reply permits the peer to send another
 * Call, for which a Receive must be posted.
 *
 * Errors
 *
 * If no method is possible, or if every attempt would fail, an ERROR is sent in place
 * of the Reply. A temporary failure closes the connection, because a service does not
 * keep its Reply: the client sends the Call again on its next connection. So does a
 * Reply to a deferred Call for which sunrpc has not kept the Receive. If the fast path
 * for one chunk has no memory for its Write, the Reply is planned.
 *
 * Locking
 *
 * This file takes no lock. sunrpc calls xpo_sendto() without one, so that several
 * threads may send on a connection at the same time. A Call and its Reply belong to the
 * calling thread. Plans read only state that is fixed while the connection is open, or
 * that changes in a single store. Messages are posted or queued under ep->lock.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>

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
	/* A deferred Call is processed again from the beginning. */
	if (call->pass != rqstp->rq_stime) {
		call->pass = rqstp->rq_stime;
		call->nr_items = 0;
	}
	if (call->nr_items < ARRAY_SIZE(call->items)) {
		call->items[call->nr_items].position = offset;
		call->items[call->nr_items].length = length;
		call->nr_items++;
	}
	return 0;
}

/* Return true if the results in @call are those of this pass of the service. */
static bool rpcrdma_svc_has_results(const struct svc_rqst *rqstp,
				    const struct rpcrdma_svc_call *call)
{
	return call && call->pass == rqstp->rq_stime;
}

/* Copy bytes of a Reply, for rpcrdma_reply_items(). */
static void rpcrdma_svc_read_result(const void *res, u32 position, u32 length,
				    void *to)
{
	rpcrdma_xdr_copy_out(res, position, length, to);
}

/*
 * Handle @rc, the failure to build a Reply. As the engine decides, answer the Call with
 * an ERROR or close the connection (7.4). @plan: NULL if there is none. The return
 * values are those of sendto.
 */
static noinline int
rpcrdma_svc_not_sent(struct rpcrdma_svc_conn *conn, u32 xid, u32 length,
		     const struct rpcrdma_reply_plan *plan, int rc)
{
	if (rpcrdma_reply_give_up(conn->ep, xid, length, plan,
				  RPCRDMA_FAILED_REPLY, rc))
		return 0;
	svc_xprt_deferred_close(&conn->xprt);
	return -ENOTCONN;
}

/*
 * Release the Call early if its Reply is a credit (version 1): its Receive must be
 * posted before the Reply is sent. The Call is not needed any more.
 */
static void rpcrdma_svc_release_call_v1(struct svc_rqst *rqstp,
					struct rpcrdma_ep *ep)
{
	if (likely(!rpcrdma_reply_is_credit(&ep->core.conn)))
		return;
	rpcrdma_svc_call_release(rqstp->rq_xprt_ctxt);
	rqstp->rq_xprt_ctxt = NULL;
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

/* Send a Reply as the engine plans it. The return values are those of sendto. */
static noinline_for_stack int
rpcrdma_svc_send_planned(struct svc_rqst *rqstp, struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	const struct rpcrdma_svc_call *call = rv->priv;
	struct rpcrdma_ep *ep = conn->ep;
	/* More than a KiB, of which a Reply seldom uses more than a few words */
	struct rpcrdma_reply_plan plan __uninitialized;
	struct rpcrdma_reply reply __uninitialized;
	struct rpcrdma_reply_out a = {
		.ep		= ep,
		.res		= &rqstp->rq_res,
		.reply		= &reply,
		.plan		= &plan,
		.gfp		= GFP_NOFS,
		.pages		= rqstp->rq_respages,
		.nr_pages	= rqstp->rq_next_page - rqstp->rq_respages,
		.send		= rv->send,
	};
	int rc;

	reply.xid = rv->rx.xid;
	reply.length = rqstp->rq_res.len;
	reply.nr_items = 0;
	reply.reverse = 0;
	if (rpcrdma_svc_has_results(rqstp, call))
		rpcrdma_reply_items(&reply, call->items, call->nr_items,
				    rpcrdma_svc_read_result, &rqstp->rq_res);
	rpcrdma_plan_reply(&ep->core.conn, &rv->rx.lists, &reply, &plan);
	rc = rpcrdma_reply_build(&a);
	if (unlikely(rc))
		return rpcrdma_svc_not_sent(conn, reply.xid, reply.length,
					    &plan, rc);
	if (!a.stream)
		rv->send = NULL;
	/*
	 * The Reply is built, so the Call is not needed any more, nor are the segments of
	 * @plan, which are in the Call's memory.
	 */
	rpcrdma_svc_release_call_v1(rqstp, ep);
	return rpcrdma_reply_send(&a);
}

/*
 * Fast path: send a Reply with one item, all of its page data, in the only chunk of its
 * Call. Return 1, with nothing done, if it is another one; otherwise the return values
 * are those of sendto.
 */
static noinline_for_stack int
rpcrdma_svc_send_one_chunk(struct svc_rqst *rqstp, struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	const struct rpcrdma_svc_call *call = rv->priv;
	const struct xdr_buf *res = &rqstp->rq_res;
	const struct rpcrdma_item *item;
	struct rpcrdma_reply_plan plan __uninitialized;
	struct rpcrdma_ep *ep = conn->ep;
	struct rpcrdma_send *s = rv->send;
	struct page **pages = rqstp->rq_respages + 1;
	u32 head = res->head[0].iov_len;
	struct rpcrdma_rw *rw;
	u32 rest;
	u8 *to;

	if (!rpcrdma_svc_has_results(rqstp, call) || call->nr_items != 1 || !s)
		return 1;
	item = &call->items[0];
	if (item->position != head || item->length > res->page_len ||
	    rqstp->rq_next_page < pages || head < sizeof(__be32) ||
	    !rpcrdma_result_is_item(item, res->len,
				    be32_to_cpup(res->head[0].iov_base + head -
						 sizeof(__be32))) ||
	    !rpcrdma_plan_reply_one(&ep->core.conn, &rv->rx.lists, res->len,
				    item, &plan) ||
	    rpcrdma_core_send_begin_one(s, RPCRDMA_KIND_REPLY, rv->rx.xid,
					plan.inline_length, &plan.lists))
		return 1;
	/* The head's page is not written from. */
	rw = rpcrdma_reply_write_one(ep, &plan.lists, res, item->length, pages,
				     rqstp->rq_next_page - pages);
	if (unlikely(!rw))
		return 1;
	to = s->buf + s->header_len;
	memcpy(to, res->head[0].iov_base, head);
	rest = plan.inline_length - head;
	if (rest)
		rpcrdma_xdr_copy_out(res, res->len - rest, rest, to + head);
	rv->send = NULL;
	rpcrdma_svc_release_call_v1(rqstp, ep);
	return rpcrdma_send_reply(s, rw, plan.inv_handle, RPCRDMA_INLINE,
				  &plan.lists);
}

/* Send a Reply that needs no plan. The return values are those of sendto. */
static int rpcrdma_svc_send_plain(struct svc_rqst *rqstp,
				  struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	const struct xdr_buf *res = &rqstp->rq_res;
	struct rpcrdma_send *s = rv->send;
	struct rpcrdma_ep *ep = conn->ep;
	u32 inv_handle;
	int rc;

	inv_handle = rpcrdma_reply_invalidates(&ep->core.conn, &rv->rx.lists);
	rv->send = NULL;
	rc = rpcrdma_core_send_begin(s, RPCRDMA_KIND_REPLY, RPCRDMA_INLINE,
				     rv->rx.xid, res->len, NULL);
	if (unlikely(rc)) {
		rpcrdma_send_put(s);
		return rpcrdma_svc_not_sent(conn, rv->rx.xid, res->len, NULL,
					    rc);
	}
	rpcrdma_xdr_copy_out(res, 0, res->len, s->buf + s->header_len);
	rpcrdma_svc_release_call_v1(rqstp, ep);
	return rpcrdma_send_reply(s, NULL, inv_handle, RPCRDMA_INLINE, NULL);
}

/*
 * Send a Reply.
 * @rqstp: Call with its Reply in rq_res
 *
 * The engine decides how the Reply is conveyed (6.4). If there is no method, the peer
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
	if (likely(rpcrdma_reply_is_plain(&ep->core.conn, &rv->rx.lists,
					  rqstp->rq_res.len)))
		rc = rpcrdma_svc_send_plain(rqstp, conn);
	else
		rc = rpcrdma_svc_send_one_chunk(rqstp, conn);
	if (unlikely(rc > 0))
		rc = rpcrdma_svc_send_planned(rqstp, conn);
	rpcrdma_svc_free_respages(rqstp);
	return rc;
}
