// SPDX-License-Identifier: GPL-2.0
/*
 * The Requester: sending Calls, of a client and in the reverse direction.
 *
 * Operation
 *
 * sunrpc calls with the write lock of the transport held, so that one Call is built at
 * a time. The core plans how it is conveyed: in one message, continued, with chunks, and
 * sends it or refuses it, in one call (core/endpoint/send.cc). It calls this file to map
 * the chunks, and to copy what is sent inline to a Send context, or to a continued
 * message.
 *
 * Memory
 *
 * The request slot (slot.c) belongs to the sender until the Call is posted; from then
 * on, to the context that claims its Reply. The MRs of a Call are in the slot. The core
 * returns those of a Call that was not posted; those of a posted one are returned when
 * they are invalid.
 *
 * Most pages of a Call belong to the RPC's caller until the RPC ends. With GSS privacy
 * they are auth_gss's, which frees them when the Call is encoded again, for example
 * after a timeout. sunrpc has taken the RPC out of its queues by then, but the
 * connection may still exist, and the peer may still read. A wrapper here therefore takes
 * the MRs back before it calls the function that frees the pages.
 *
 * Errors
 *
 * -EAGAIN: credits, Send Queue slots, contexts or MRs are missing. sunrpc is registered
 * as a waiter, and write_space() wakes the task later. -ENOBUFS:
 * memory is short, and sunrpc retries after a delay. -ENOTCONN: the task waits for the
 * next connection. A Call that can never be sent ends its RPC; the errno is set in the
 * RPC's task, because the task that is sending need not be the RPC's.
 *
 * Locking
 *
 * sunrpc holds the write lock. The message is posted under ep->lock. learned_lock
 * protects the limits learned from refusals; the fast path does not take it.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/sunrpc/sched.h>

#include <core/port_rpc.h>

#include "../compat.h"
#include "internal.h"
#include "requester.h"

/*
 * Allocate missing pages of a Reply: some callers leave this to the transport. The
 * pages must exist before the peer gets their handles.
 */
static int rpcrdma_fill_sparse_pages(struct xdr_buf *buf)
{
	u32 base = offset_in_page(buf->page_base);
	struct page **pages = buf->pages + (buf->page_base >> PAGE_SHIFT);
	u32 i, nr = DIV_ROUND_UP(base + buf->page_len, PAGE_SIZE);

	if (!buf->page_len)
		return 0;
	for (i = 0; i < nr; i++) {
		if (pages[i])
			continue;
		pages[i] = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!pages[i])
			return -ENOBUFS;
	}
	return 0;
}

/*
 * Free the pages of a Call that is encoded again, once the peer cannot read them. sunrpc
 * calls this also when it releases the rpc_rqst, after buf_free(). Sleeps.
 */
static void rpcrdma_req_release_snd_buf(struct rpc_rqst *rqst)
{
	struct rpcrdma_req *req = rpcrdma_rqst_req(rqst);

	if (req->ep)
		rpcrdma_req_take_back(req);
	req->release_snd_buf(rqst);
}

/*
 * Interpose rpcrdma_req_release_snd_buf(). The rpc_rqst is pinned, so that its task
 * does not use the pointer meanwhile. A new encoding has a new pointer.
 */
static noinline void rpcrdma_req_keep_pages(struct rpcrdma_req *req)
{
	struct rpc_rqst *rqst = &req->rqst;

	if (rqst->rq_release_snd_buf == rpcrdma_req_release_snd_buf)
		return;
	req->release_snd_buf = rqst->rq_release_snd_buf;
	rqst->rq_release_snd_buf = rpcrdma_req_release_snd_buf;
}

/* Prepare to map memory of the Call into MRs of @ep. */
static __always_inline void rpcrdma_req_bind(struct rpcrdma_req *req,
					     struct rpcrdma_ep *ep)
{
	rpcrdma_ep_get(ep);
	req->ep = ep;
	if (unlikely(req->rqst.rq_release_snd_buf))
		rpcrdma_req_keep_pages(req);
}

/* Map a range of @buf into the last chunk. */
static __always_inline int
rpcrdma_req_map_range(struct rpcrdma_req *req, struct rpcrdma_ep *ep,
		      const struct xdr_buf *buf,
		      const struct rpcrdma_chunk_range *offer)
{
	struct rpcrdma_extent ext[RPCRDMA_XDR_EXTENTS] __uninitialized;
	int n;

	n = rpcrdma_xdr_extents(buf, offer->from, offer->length, ext,
				ARRAY_SIZE(ext));
	if (n < 0)
		return n;
	return rpcrdma_mrs_map(ep, &req->rpc.mrs, ext, n, offer->written,
			       &req->rpc.x.lists);
}

int rpcrdma_port_call_map(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc,
			  const struct rpcrdma_call_plan *plan)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct rpcrdma_req *req = rpcrdma_req_of(rpc);
	const struct xdr_buf *snd = &req->rqst.rq_snd_buf;
	const struct xdr_buf *rcv = &req->rqst.rq_rcv_buf;
	struct rpcrdma_chunk_range_iter at __uninitialized;
	struct rpcrdma_chunk_range range __uninitialized;
	int rc;

	rpcrdma_req_bind(req, ep);
	at.plan = plan;
	rpcrdma_xdr_layout(snd, &at.call);
	rpcrdma_xdr_layout(rcv, &at.reply);
	at.left = 0;
	while ((rc = rpcrdma_chunk_range_next(&at, &rpc->x.lists, &range)) > 0) {
		rc = rpcrdma_req_map_range(req, ep, range.written ? rcv : snd,
					   &range);
		if (rc)
			break;
	}
	return rc;
}

int rpcrdma_port_item_map(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc,
			  const struct rpcrdma_call_item *item)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	rpcrdma_req_bind(rpcrdma_req_of(rpc), ep);
	return rpcrdma_mrs_map_item(ep, &rpc->mrs, item);
}

bool rpcrdma_port_call_item(struct rpcrdma_ep_core *core,
			    struct rpcrdma_rpc *rpc,
			    struct rpcrdma_call_item *item)
{
	const struct rpcrdma_req *req = rpcrdma_req_of(rpc);
	const struct xdr_buf *snd = &req->rqst.rq_snd_buf;
	const struct xdr_buf *rcv = &req->rqst.rq_rcv_buf;
	const struct xdr_buf *buf = snd;

	item->result = rcv->flags & XDRBUF_READ;
	if (item->result)
		buf = rcv;
	else if (!(snd->flags & XDRBUF_WRITE))
		return false;
	item->length = snd->len;
	item->reply_max = rpcrdma_xdr_room(rcv);
	item->position = buf->head[0].iov_len;
	item->memory = buf->pages + (buf->page_base >> PAGE_SHIFT);
	item->offset = offset_in_page(buf->page_base);
	item->octets = buf->page_len;
	return rpcrdma_req_may_reduce(req);
}

void rpcrdma_port_call_data(struct rpcrdma_ep_core *core,
			    struct rpcrdma_rpc *rpc, struct rpcrdma_call *call)
{
	rpcrdma_req_call_data(rpcrdma_req_of(rpc), rpcrdma_ep_of(core), call);
}

struct rpcrdma_stream *rpcrdma_port_call_stream(struct rpcrdma_ep_core *core,
						u32 xid, u32 octets,
						const struct rpcrdma_lists *lists)
{
	return rpcrdma_stream_alloc(RPCRDMA_KIND_CALL, xid, octets, lists,
				    RPCRDMA_GFP_CLIENT);
}

void rpcrdma_port_call_copy(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc,
			    const struct rpcrdma_call_plan *plan, void *to)
{
	rpcrdma_xdr_copy_call(&rpcrdma_req_of(rpc)->rqst.rq_snd_buf, plan, to);
}

void rpcrdma_port_rpc_lost(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_rpc *rpc)
{
	struct rpcrdma_requester *r =
		rpcrdma_xprt_requester(rpcrdma_req_of(rpc)->rqst.rq_xprt);

	spin_lock(&r->learned_lock);
	rpcrdma_peer_limits_lost(&r->learned, ktime_get_seconds(), rpc->x.conn);
	spin_unlock(&r->learned_lock);
}

void rpcrdma_port_rpc_take_back(struct rpcrdma_rpc *rpc)
{
	rpcrdma_req_take_back(rpcrdma_req_of(rpc));
}

void rpcrdma_port_rpc_wait(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc)
{
	xprt_wait_for_buffer_space(rpcrdma_req_of(rpc)->rqst.rq_xprt);
	/* write_space() does the reverse. */
	smp_mb__after_atomic();
}

void rpcrdma_port_rpc_unsent(struct rpcrdma_ep_core *core,
			     struct rpcrdma_rpc *rpc, int status)
{
	struct rpc_rqst *rqst = &rpcrdma_req_of(rpc)->rqst;
	struct rpc_xprt *xprt = rqst->rq_xprt;

	pr_warn_ratelimited("rpcrdma: Call of %u bytes to %pISpc cannot be sent (error %d), its RPC fails; mount with a smaller rsize or wsize\n",
			    rqst->rq_snd_buf.len, &rpcrdma_ep_of(core)->remote,
			    status);
	spin_lock(&xprt->queue_lock);
	rpcrdma_rqst_fail(rqst, status);
	spin_unlock(&xprt->queue_lock);
}

int rpcrdma_requester_send(struct rpc_xprt *xprt, struct rpcrdma_ep *ep,
			   struct rpc_rqst *rqst)
{
	struct rpcrdma_requester *r = rpcrdma_xprt_requester(xprt);
	struct rpcrdma_req *req = rpcrdma_rqst_req(rqst);
	const struct rpcrdma_call_size size = {
		.xid		= be32_to_cpu(rqst->rq_xid),
		.length		= rqst->rq_snd_buf.len,
		.pages		= rqst->rq_snd_buf.page_len,
		.reply_max	= rpcrdma_xdr_room(&rqst->rq_rcv_buf),
	};
	int rc;

	if (unlikely(rqst->rq_rcv_buf.flags & XDRBUF_SPARSE_PAGES)) {
		rc = rpcrdma_fill_sparse_pages(&rqst->rq_rcv_buf);
		if (rc)
			return rc;
	}
	rqst->rq_xtime = ktime_get();
	rc = rpcrdma_core_send_rpc(&ep->core, &req->rpc, &r->learned, &size,
				   req->stats);
	/* 1: the RPC has ended. */
	if (unlikely(rc))
		return min(rc, 0);
	rqst->rq_xmit_bytes_sent += rqst->rq_snd_buf.len;
	return 0;
}
