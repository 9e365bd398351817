// SPDX-License-Identifier: GPL-2.0
/* Upcalls of an endpoint to its side */
#include <linux/slab.h>

#include "pair.h"

static void loop_hold(struct loop_side *side, struct rpcrdma_recv *rv)
{
	spin_lock(&side->lock);
	list_add_tail(&rv->list, &side->held);
	side->nr_held++;
	spin_unlock(&side->lock);
	wake_up_all(&side->wait);
}

void loop_release(struct loop_side *side, unsigned int n)
{
	struct rpcrdma_recv *rv;

	for (; n; n--) {
		spin_lock(&side->lock);
		rv = list_first_entry_or_null(&side->held, struct rpcrdma_recv,
					      list);
		if (rv) {
			list_del_init(&rv->list);
			side->nr_held--;
		}
		spin_unlock(&side->lock);
		if (!rv)
			break;
		if (rv->verdict == RPCRDMA_RX_CALL)
			loop_serve(side, rv);
		else
			rpcrdma_recv_put(rv);
	}
}

static struct loop_side *loop_upcall(struct rpcrdma_ep *ep)
{
	struct loop_side *side = ep->priv;

	might_sleep();
	if (atomic_read(&side->closed))
		atomic_inc(&side->late);
	return side;
}

static void loop_op_call(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct loop_side *side = loop_upcall(ep);

	atomic_inc(&side->calls);
	if (READ_ONCE(side->hold_calls))
		loop_hold(side, rv);
	else
		loop_serve(side, rv);
}

struct loop_rpc *loop_claim(struct loop_side *side, u32 xid)
{
	struct loop_rpc *rpc;

	spin_lock(&side->lock);
	list_for_each_entry(rpc, &side->rpcs, list) {
		if (rpc->xid != xid)
			continue;
		list_del_init(&rpc->list);
		spin_unlock(&side->lock);
		return rpc;
	}
	spin_unlock(&side->lock);
	return NULL;
}

struct loop_reply_pull {
	struct loop_side	*side;
	struct loop_rpc		*rpc;
	struct loop_buf		buf;
};

static void loop_say_done(struct loop_side *side, struct rpcrdma_ep *ep,
			  u32 xid, u32 handle)
{
	if (!READ_ONCE(side->no_done))
		rpcrdma_core_send_done(&ep->core, xid, side->plain_done ? 0 : handle);
}

static void loop_reply_pulled(struct rpcrdma_rw *rw, bool ok)
{
	struct loop_reply_pull *pull = rw->priv;
	u32 xid = pull->rpc->xid, i, word[4] = {};
	struct loop_rpc *rpc = pull->rpc;

	if (ok) {
		for (i = 0; i < LOOP_HEAD; i++)
			word[i / 4] = word[i / 4] << 8 |
				      *loop_buf_at(&pull->buf, i);
		rpc->got = pull->buf.len - LOOP_HEAD;
		rpc->status = -(int)word[2];
		for (i = 0; i < rpc->got; i++)
			if (*loop_buf_at(&pull->buf, LOOP_HEAD + i) !=
			    loop_octet(rpc->seed, i))
				break;
		if (word[0] != xid || word[1] != 1 || i < rpc->got)
			rpc->status = -EIO;
		rpc->pulled = true;
		loop_say_done(pull->side, rpcrdma_rw_ep(rw), xid,
			      rpc->reply_lists.inv_handle);
	} else {
		rpc->status = -ENOTCONN;
	}
	loop_buf_free(&pull->buf);
	complete_all(&rpc->done);
	kfree(pull);
}

/* Pull the Reply to @rpc that @rv announces, and put @rv. */
static void loop_pull_reply(struct loop_side *side, struct rpcrdma_recv *rv,
			    struct loop_rpc *rpc)
{
	const struct rpcrdma_chunk *chunk = &rpc->reply_lists.reads[0];
	struct rpcrdma_ep *ep = rpcrdma_recv_ep(rv);
	struct loop_reply_pull *pull;
	struct rpcrdma_rw *rw = NULL;

	rpcrdma_ep_get(ep);
	rpc->reply_lists = rv->rx.lists;
	rpcrdma_recv_put(rv);
	pull = kzalloc(sizeof(*pull), GFP_KERNEL);
	if (!pull)
		goto out_close;
	pull->side = side;
	pull->rpc = rpc;
	if (loop_buf_alloc(&pull->buf, rpc->xid % PAGE_SIZE, chunk->length))
		goto out_close;
	rw = rpcrdma_rw_alloc(ep, DMA_FROM_DEVICE, 0, 0, GFP_KERNEL);
	if (!rw || rpcrdma_rw_add(rw, &rpc->reply_lists, chunk, 0,
				  pull->buf.ext, pull->buf.nr_ext, 0,
				  chunk->length))
		goto out_close;
	rw->priv = pull;
	rw->done = loop_reply_pulled;
	rpcrdma_rw_read(rw);
	rpcrdma_ep_put(ep);
	return;

out_close:
	if (rw)
		rpcrdma_rw_free(rw);
	if (pull)
		loop_buf_free(&pull->buf);
	kfree(pull);
	rpc->status = -ENOTCONN;
	complete_all(&rpc->done);
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_put(ep);
}

static void loop_op_reply(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct loop_side *side = loop_upcall(ep);
	struct rpcrdma_placed placed = {};
	const u8 *p = rv->payload;
	struct loop_rpc *rpc;

	rpc = loop_claim(side, rv->rx.xid);
	if (!rpc) {
		/* Reply to an abandoned RPC */
		if (rv->verdict == RPCRDMA_RX_REPLY &&
		    rpcrdma_reply_needs_done(&rv->rx))
			loop_say_done(side, ep, rv->rx.xid,
				      rv->rx.lists.inv_handle);
		rpcrdma_recv_put(rv);
		return;
	}
	if (rv->verdict != RPCRDMA_RX_REPLY ||
	    rpcrdma_check_reply(&ep->core.conn, &rpc->lists, &rv->rx, &placed) ||
	    (!placed.pull_octets && rv->payload_len < LOOP_HEAD)) {
		atomic_inc(&side->bad);
		rpc->status = -EIO;
		goto out;
	}
	if (rv->inv_handle &&
	    (!rpcrdma_invalidation_ok(&ep->core.conn, &rpc->lists, rv->inv_handle) ||
	     !rpcrdma_core_mrs_invalidated(&ep->core, &rpc->mrs, rv->inv_handle)))
		atomic_inc(&side->bad);
	rpc->exposed = rpcrdma_core_mrs_exposed(&rpc->mrs);
	if (placed.pull_octets) {
		atomic_inc(&side->replies);
		loop_pull_reply(side, rv, rpc);
		return;
	}
	rpc->placed = placed.write_octets;
	rpc->status = -(int)get_unaligned_be32(p + 8);
	rpc->got = rv->payload_len - LOOP_HEAD;
	if (!loop_payload_ok(p + LOOP_HEAD, rpc->seed, rpc->got))
		rpc->status = -EIO;
out:
	atomic_inc(&side->replies);
	if (READ_ONCE(side->hold_replies))
		loop_hold(side, rv);
	else
		rpcrdma_recv_put(rv);
	complete_all(&rpc->done);
}

static void loop_op_error(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct loop_side *side = loop_upcall(ep);
	struct loop_rpc *rpc = loop_claim(side, rv->rx.xid);

	atomic_inc(&side->errors);
	rpcrdma_recv_put(rv);
	if (rpc) {
		rpc->status = -EREMOTEIO;
		rpc->exposed = rpcrdma_core_mrs_exposed(&rpc->mrs);
		complete_all(&rpc->done);
	}
}

static void loop_op_write_space(struct rpcrdma_ep *ep)
{
	struct loop_side *side = loop_upcall(ep);

	atomic_inc(&side->space);
	wake_up_all(&side->wait);
}

static void loop_op_opened(struct rpcrdma_ep *ep)
{
	struct loop_side *side = loop_upcall(ep);

	atomic_inc(&side->opened);
	wake_up_all(&side->wait);
	if (side->close_on_open)
		rpcrdma_ep_close(ep, NULL);
}

static void loop_op_closed(struct rpcrdma_ep *ep)
{
	struct loop_side *side = loop_upcall(ep);

	cancel_work_sync(&side->recv_work);
	/* By now all resources of the connection must have been released. */
	if (ep->qp || ep->id || ep->core.inflight ||
	    !list_empty(&ep->core.transfers) || !list_empty(&ep->core.messages) ||
	    !list_empty(&ep->core.rw.waiting) || READ_ONCE(ep->core.rw.pool.waiting) ||
	    atomic_read(&ep->users) ||
	    atomic_read(&side->exposed) != atomic_read(&side->released))
		atomic_inc(&side->bad);
	atomic_inc(&side->closed);
	wake_up_all(&side->wait);
	complete_all(&side->gone);
}

static void loop_op_poll(struct rpcrdma_ep *ep)
{
	struct rpcrdma_poll poll = { .ep = ep };
	struct rpcrdma_recv *rv;

	while ((rv = rpcrdma_ep_poll(&poll))) {
		switch (rv->verdict) {
		case RPCRDMA_RX_CALL:
			loop_op_call(ep, rv);
			break;
		case RPCRDMA_RX_ERROR:
			loop_op_error(ep, rv);
			break;
		default:
			loop_op_reply(ep, rv);
			break;
		}
	}
}

void loop_take(struct work_struct *work)
{
	struct loop_side *side = container_of(work, struct loop_side, recv_work);

	while (rpcrdma_ep_has_messages(side->ep))
		loop_op_poll(side->ep);
}

static bool loop_op_messages(struct rpcrdma_ep *ep)
{
	struct loop_side *side = ep->priv;

	atomic_inc(&side->notified);
	if (!READ_ONCE(side->no_service_thread))
		queue_work(rpcrdma_wq, &side->recv_work);
	return true;
}

const struct rpcrdma_ep_ops loop_server_ops = {
	.messages	= loop_op_messages,
	.poll		= loop_op_poll,
	.write_space	= loop_op_write_space,
	.opened		= loop_op_opened,
	.closed		= loop_op_closed,
};

const struct rpcrdma_ep_ops loop_client_ops = {
	.poll		= loop_op_poll,
	.write_space	= loop_op_write_space,
	.opened		= loop_op_opened,
	.closed		= loop_op_closed,
};
