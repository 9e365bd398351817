// SPDX-License-Identifier: GPL-2.0
/*
 * Receives: what arrives goes to the engine, and on to the transport.
 */

#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/mm.h>

#include "internal.h"
#include "trace.h"

static void rpcrdma_wc_recv(struct ib_cq *cq, struct ib_wc *wc);

/**
 * rpcrdma_recvs_create - allocate and map Receives
 * @ep: endpoint with its device objects
 * @count: how many
 *
 * Each takes at least the default inline threshold, whatever was announced
 * (WP 3.4). Returns 0 or -ENOMEM; the teardown cleans up.
 */
int rpcrdma_recvs_create(struct rpcrdma_ep *ep, u32 count)
{
	u32 size = max_t(u32, RPCRDMA_V2_DEFAULT_INLINE, ep->params.recv_size);
	struct rpcrdma_recv *rv;

	for (; count; count--) {
		rv = kzalloc(sizeof(*rv), GFP_NOFS);
		if (!rv)
			return -ENOMEM;
		rv->ep = ep;
		INIT_LIST_HEAD(&rv->list);
		list_add_tail(&rv->all, &ep->all_recvs);
		ep->nr_recvs++;
		rv->buf = kmalloc(size, GFP_NOFS);
		if (!rv->buf)
			return -ENOMEM;
		rv->sge.addr = ib_dma_map_single(ep->device, rv->buf, size,
						 DMA_FROM_DEVICE);
		if (ib_dma_mapping_error(ep->device, rv->sge.addr))
			return -ENOMEM;
		rv->sge.length = size;
		rv->sge.lkey = ep->pd->local_dma_lkey;
		rv->cqe.done = rpcrdma_wc_recv;
		rv->wr.wr_cqe = &rv->cqe;
		rv->wr.sg_list = &rv->sge;
		rv->wr.num_sge = 1;
	}
	return 0;
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

/* The last reference is gone: so is every borrower. */
void rpcrdma_recvs_free(struct rpcrdma_ep *ep)
{
	struct rpcrdma_recv *rv, *next;

	list_for_each_entry_safe(rv, next, &ep->all_recvs, all) {
		kvfree(rv->assembled);
		kfree(rv->rx.lists.more);
		kfree(rv->buf);
		kfree(rv);
	}
	INIT_LIST_HEAD(&ep->all_recvs);
}

/**
 * rpcrdma_recvs_post - post all Receives of a new connection
 * @ep: endpoint whose queue pair was just made
 *
 * Returns 0 or a negative errno.
 */
int rpcrdma_recvs_post(struct rpcrdma_ep *ep)
{
	struct ib_recv_wr *first = NULL;
	struct rpcrdma_recv *rv;
	int rc;

	list_for_each_entry(rv, &ep->all_recvs, all) {
		rv->wr.next = first;
		first = &rv->wr;
	}
	rc = ib_post_recv(ep->qp, first, NULL);
	if (rc)
		return rc;
	spin_lock(&ep->lock);
	rpcrdma_conn_posted(&ep->conn, ep->nr_recvs);
	spin_unlock(&ep->lock);
	return 0;
}

/* @rv may be gone when this returns, with the endpoint. */
static void rpcrdma_recv_repost(struct rpcrdma_recv *rv)
{
	struct rpcrdma_ep *ep = rv->ep;
	u32 events = 0;
	int rc = 0;

	if (rv->assembled) {
		kvfree(rv->assembled);
		rv->assembled = NULL;
		rpcrdma_ep_give(ep, RPCRDMA_MEMORY_CALLS, rv->assembled_size);
	}
	kfree(rv->rx.lists.more);
	rv->rx.lists.more = NULL;
	rv->priv = NULL;

	spin_lock(&ep->lock);
	/* Later than that, nobody would flush it. */
	if (!rpcrdma_ep_is_closing(ep)) {
		ib_dma_sync_single_for_device(ep->device, rv->sge.addr,
					      rv->sge.length, DMA_FROM_DEVICE);
		rv->wr.next = NULL;
		rc = ib_post_recv(ep->qp, &rv->wr, NULL);
		if (!rc)
			events = rpcrdma_conn_posted(&ep->conn, 1);
	}
	spin_unlock(&ep->lock);

	if (rc)
		rpcrdma_ep_close(ep, "a Receive could not be posted");
	else
		rpcrdma_ep_events(ep, events);
}

/**
 * rpcrdma_recvs_add - post more Receives
 * @ep: endpoint
 * @count: how many; the Receive Queue was made for them
 *
 * From the receive handler: the teardown waits for it. Without memory there
 * are fewer, which is no reason to give up the connection.
 */
void rpcrdma_recvs_add(struct rpcrdma_ep *ep, u32 count)
{
	struct rpcrdma_recv *rv;

	for (; count; count--) {
		if (rpcrdma_recvs_create(ep, 1))
			return;
		rv = list_last_entry(&ep->all_recvs, struct rpcrdma_recv, all);
		rpcrdma_recv_repost(rv);
	}
}

/**
 * rpcrdma_recv_put - give a Receive back
 * @rv: Receive that an upcall lent
 *
 * Process context, no ep lock held.
 */
void rpcrdma_recv_put(struct rpcrdma_recv *rv)
{
	struct rpcrdma_ep *ep = rv->ep;

	rpcrdma_recv_repost(rv);
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
		grown = kvmalloc(size, GFP_NOFS);
		if (!grown)
			return false;
		if (ep->assembly_len)
			memcpy(grown, ep->assembly, ep->assembly_len);
		kvfree(ep->assembly);
		/* Within what every peer is promised */
		rpcrdma_ep_hold(ep, RPCRDMA_MEMORY_PARTS,
				size - ep->assembly_size);
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
	    !rpcrdma_ep_has_room(ep, RPCRDMA_MEMORY_CALLS, ep->assembly_size))
		return false;
	rpcrdma_ep_hold(ep, RPCRDMA_MEMORY_CALLS, ep->assembly_size);
	rpcrdma_ep_give(ep, RPCRDMA_MEMORY_PARTS, ep->assembly_size);
	rv->assembled_size = ep->assembly_size;
	rv->assembled = ep->assembly;
	rv->payload = rv->assembled;
	rv->payload_len = ep->assembly_len;
	ep->assembly = NULL;
	ep->assembly_len = 0;
	ep->assembly_size = 0;
	return true;
}

/* A completed Receive; completions of a connection come one at a time. */
static void rpcrdma_wc_recv(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_recv *rv =
		container_of(wc->wr_cqe, struct rpcrdma_recv, cqe);
	struct rpcrdma_ep *ep = cq->cq_context;
	bool inv_allowed = false;
	u32 events;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rpcrdma_ep_failed(ep, wc->status,
				  "a Receive failed: a message longer than announced?");
		return;
	}

	ib_dma_sync_single_for_cpu(ep->device, rv->sge.addr, wc->byte_len,
				   DMA_FROM_DEVICE);
	rv->inv_handle = wc->wc_flags & IB_WC_WITH_INVALIDATE ?
			 wc->ex.invalidate_rkey : 0;
	if (rv->inv_handle)
		atomic64_inc(&ep->remote_inv);

	/* Without memory the engine refuses it. */
	if (unlikely(rpcrdma_wants_more_segs(&ep->conn, rv->buf, wc->byte_len)))
		rv->rx.lists.more =
			kmalloc_array(RPCRDMA_MORE_SEGS,
				      sizeof(*rv->rx.lists.more),
				      GFP_NOFS | __GFP_NOWARN);

	spin_lock(&ep->lock);
	rv->verdict = rpcrdma_conn_receive(&ep->conn, rv->buf, wc->byte_len,
					   &rv->rx);
	spin_unlock(&ep->lock);
	trace_rpcrdma_receive(ep, rv, wc->byte_len);
	events = rv->rx.events;
	rv->payload = rv->buf + rv->rx.payload_offset;
	rv->payload_len = rv->rx.payload_length;

	/* Before any traffic: opened() may be what makes room for it. */
	rpcrdma_ep_events(ep, events & RPCRDMA_EV_OPENED);

	switch (rv->verdict) {
	case RPCRDMA_RX_CLOSE:
		rpcrdma_ep_close(ep, ep->conn.reason);
		return;
	case RPCRDMA_RX_PART:
		if (!rpcrdma_recv_append(ep, rv))
			goto out_nomem;
		break;
	case RPCRDMA_RX_CALL:
	case RPCRDMA_RX_REPLY:
		if (rv->rx.format == RPCRDMA_CONTINUED &&
		    !rpcrdma_recv_assemble(ep, rv))
			goto out_nomem;
		fallthrough;
	case RPCRDMA_RX_BAD_REPLY:
		inv_allowed = rv->verdict != RPCRDMA_RX_CALL;
		break;
	case RPCRDMA_RX_PULLED:
		inv_allowed = rpcrdma_done_ok(&ep->conn, &rv->rx,
					      rv->inv_handle);
		break;
	default:
		break;
	}
	if (unlikely(rv->inv_handle && !inv_allowed)) {
		rpcrdma_ep_close(ep, "the peer invalidated a handle it was not offered");
		return;
	}

	/* What is lent keeps the endpoint: @rv is part of its memory. */
	switch (rv->verdict) {
	case RPCRDMA_RX_CALL:
		rpcrdma_ep_get(ep);
		ep->ops->call(ep, rv);
		break;
	case RPCRDMA_RX_REPLY:
	case RPCRDMA_RX_BAD_REPLY:
		rpcrdma_ep_get(ep);
		ep->ops->reply(ep, rv);
		break;
	case RPCRDMA_RX_ERROR:
		rpcrdma_ep_get(ep);
		ep->ops->error(ep, rv);
		break;
	case RPCRDMA_RX_PULLED:
		rpcrdma_exposed_pulled(ep, rv);
		fallthrough;
	default:
		rpcrdma_recv_repost(rv);
		break;
	}
	rpcrdma_ep_events(ep, events & ~RPCRDMA_EV_OPENED);
	return;

out_nomem:
	/* Nothing is lost: the requester sends it again. */
	rpcrdma_ep_close(ep, "no memory to reassemble a message");
}
