// SPDX-License-Identifier: GPL-2.0
/* The peer of a client: the other end of its connections, which follows a script */
#include <linux/slab.h>

#include "peer.h"

/* Replace the function of the server's transport that the reverse direction calls. */
struct rpcrdma_ep *rpcrdma_server_ep(struct svc_xprt *xprt)
{
	return container_of(xprt, struct peer, sxprt)->ep;
}

u8 peer_octet(u32 i)
{
	return 11 + i * 7 + (i >> 8) * 3;
}

static bool peer_octets_ok(const u8 *p, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (p[i] != peer_octet(i))
			return false;
	return true;
}

void peer_fill(u8 *p, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = peer_octet(i);
}

struct peer_rdma {
	struct completion	done;
	bool			ok;
};

static void peer_read_done(struct rpcrdma_rw *rw, bool ok)
{
	struct peer_rdma *r = rw->priv;

	r->ok = ok;
	complete(&r->done);
}

/*
 * Read a complete chunk. May sleep; must not be called in an upcall, because the
 * teardown waits for upcalls.
 */
static bool peer_read(struct rpcrdma_recv *rv,
		      const struct rpcrdma_chunk *chunk, u8 *to)
{
	struct rpcrdma_extent ext = rpcrdma_extent_of(to, chunk->length);
	struct peer_rdma *r;
	struct rpcrdma_rw *rw;
	bool ok = false;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return false;
	init_completion(&r->done);
	rw = rpcrdma_rw_alloc(rpcrdma_recv_ep(rv), DMA_FROM_DEVICE, 0, 0, GFP_KERNEL);
	if (!rw)
		goto out;
	if (rpcrdma_rw_add(rw, &rv->rx.lists, chunk, 0, &ext, 1, 0,
			   chunk->length)) {
		rpcrdma_rw_free(rw);
		goto out;
	}
	rw->priv = r;
	rw->done = peer_read_done;
	rpcrdma_rw_read(rw);
	wait_for_completion(&r->done);
	ok = r->ok;
out:
	kfree(r);
	return ok;
}

/* Collect the complete unreduced Call in peer->call. Return its length, or 0. */
static u32 peer_gather(struct peer *peer, struct rpcrdma_recv *rv)
{
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	bool special = rv->rx.format == RPCRDMA_SPECIAL;
	u32 len, pos, gap;

	if (special) {
		len = lists->reads[0].length;
		if (len > PEER_MESSAGE ||
		    !peer_read(rv, &lists->reads[0], peer->call))
			return 0;
	} else {
		len = rv->payload_len;
		if (len > PEER_MESSAGE)
			return 0;
		memcpy(peer->call, rv->payload, len);
	}
	if (lists->nr_reads > special) {
		pos = lists->reads[special].position;
		gap = xdr_align_size(lists->reads[special].length);
		if (pos > len || gap > PEER_MESSAGE - len)
			return 0;
		memmove(peer->call + pos + gap, peer->call + pos, len - pos);
		memset(peer->call + pos, 0, gap);
		if (!peer_read(rv, &lists->reads[special], peer->call + pos))
			return 0;
		len += gap;
	}
	return len;
}

bool peer_sound(const u8 *call, u32 len, u32 *want)
{
	const u8 *p = call + PEER_CALL_HEAD;
	u32 plain, bulk;

	if (len < PEER_CALL_HEAD + 12)
		return false;
	*want = get_unaligned_be32(p);
	plain = get_unaligned_be32(p + 4);
	bulk = get_unaligned_be32(p + 8);
	return len == PEER_CALL_HEAD + 12 + plain + xdr_align_size(bulk) &&
	       peer_octets_ok(p + 12, plain) &&
	       peer_octets_ok(p + 12 + plain, bulk);
}

struct peer_reply {
	struct verbs_exposure		exposed;
	struct rpcrdma_reply		reply;
	struct rpcrdma_reply_plan	plan;
	u8				*octets;
};

static void peer_reply_free(struct peer_reply *r)
{
	kfree(r->octets);
	kfree(r);
}

static void peer_written(struct rpcrdma_rw *rw, bool ok)
{
	peer_reply_free(rw->priv);
}

static void peer_pulled(struct rpcrdma_pull_entry *x)
{
	peer_reply_free(container_of(x, struct peer_reply, exposed.core));
}

/* Get a Send context. If all are still in use by earlier Replies, wait for one. */
static struct rpcrdma_send *peer_send_get(struct rpcrdma_ep *ep)
{
	unsigned long end = jiffies + PEER_WAIT_S * HZ;
	struct rpcrdma_send *s;

	while (!(s = rpcrdma_core_send_get(&ep->core)) && rpcrdma_ep_is_open(ep) &&
	       time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	return s;
}

/*
 * Send the Reply as planned: the result in a Write chunk if the Call has one, or all of
 * the Reply in a Read chunk to be pulled.
 */
static bool peer_reply(struct rpcrdma_recv *rv, u32 want, u32 bad)
{
	u32 inline_len, xid = rv->rx.xid;
	bool exposed = false;
	struct rpcrdma_ep *ep = rpcrdma_recv_ep(rv);
	struct rpcrdma_stream *st = NULL;
	struct rpcrdma_send *s = NULL;
	struct rpcrdma_rw *rw = NULL;
	struct rpcrdma_extent ext;
	struct peer_reply *r;
	__be32 *p;
	int rc;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return false;
	r->reply.xid = xid;
	r->reply.length = PEER_REPLY_HEAD + 4 + xdr_align_size(want);
	r->reply.reverse = ep->client;
	if (want && !((struct peer *)ep->priv)->whole) {
		r->reply.nr_items = 1;
		r->reply.items[0].position = PEER_REPLY_HEAD + 4;
		r->reply.items[0].length = want;
	}
	rpcrdma_plan_reply(&ep->core.conn, &rv->rx.lists, &r->reply, &r->plan);
	if (r->plan.error) {
		rpcrdma_core_send_error(&ep->core, xid, r->plan.error,
					r->plan.arg[0], r->plan.arg[1]);
		kfree(r);
		return true;
	}
	r->octets = kzalloc(r->reply.length, GFP_KERNEL);
	if (!r->octets)
		goto out_free;
	p = (__be32 *)r->octets;
	p[0] = cpu_to_be32(bad == PEER_BAD_XID ? ~xid : xid);
	p[1] = cpu_to_be32(1);
	if (bad == PEER_GARBAGE_ARGS)
		p[5] = rpc_garbage_args;
	p[6] = cpu_to_be32(want);
	peer_fill(r->octets + PEER_REPLY_HEAD + 4, want);
	ext = rpcrdma_extent_of(r->octets, r->reply.length);

	if (r->plan.nr_items || r->plan.reply_length) {
		rw = rpcrdma_rw_alloc(ep, DMA_TO_DEVICE, 0, 0, GFP_KERNEL);
		if (!rw)
			goto out_free;
		if (r->plan.nr_items &&
		    rpcrdma_rw_add(rw, &r->plan.lists, &r->plan.lists.writes[0],
				   0, &ext, 1, PEER_REPLY_HEAD + 4, want))
			goto out_rw;
		if (rpcrdma_rw_add(rw, &r->plan.lists, &r->plan.lists.reply, 0,
				   &ext, 1, 0, r->plan.reply_length))
			goto out_rw;
		rw->priv = r;
		rw->done = peer_written;
	}
	if (r->plan.read_length) {
		rc = rpcrdma_expose(ep, &r->exposed, xid, &ext, 1, &r->plan);
		if (rc)
			goto out_free;
		r->exposed.core.release = peer_pulled;
		exposed = true;
	}
	if (bad == PEER_BAD_CHUNK)
		r->plan.lists.segs[0].handle++;
	inline_len = r->plan.inline_length;
	if (r->plan.format == RPCRDMA_CONTINUED) {
		st = rpcrdma_stream_alloc(RPCRDMA_KIND_REPLY, xid, inline_len,
					  &r->plan.lists, GFP_NOFS);
		if (!st)
			goto out_rw;
		memcpy(st->data, r->octets, inline_len);
		rpcrdma_core_send_continued_reply(&ep->core, st,
						  rw ? &rw->core : NULL,
						  r->plan.inv_handle);
	} else {
		s = peer_send_get(ep);
		if (!s)
			goto out_rw;
		if (rpcrdma_core_send_room(s, ep->params.send_size)) {
			rpcrdma_core_send_put(s);
			goto out_rw;
		}
		s->header_len = rpcrdma_encode_header(&ep->core.conn, s->buf,
			s->size, xid,
			r->plan.format == RPCRDMA_SPECIAL ? RDMA2_NOMSG :
							    RDMA2_MSG,
			RDMA2_F_RESPONSE, &r->plan.lists);
		memcpy(s->buf + s->header_len, r->octets, inline_len);
		s->len = s->header_len + inline_len;
		if (exposed)
			s->exposed = &r->exposed.core;
		rpcrdma_core_post_reply(&ep->core, s, rw ? &rw->core : NULL,
					r->plan.inv_handle, r->plan.format,
					&r->plan.lists);
	}
	if (!rw && !exposed)
		peer_reply_free(r);
	return true;

out_rw:
	if (exposed)
		rpcrdma_core_expose_cancel(&r->exposed.core);
	if (rw)
		rpcrdma_rw_free(rw);
out_free:
	peer_reply_free(r);
	return false;
}

static void peer_serve(struct peer *peer, struct rpcrdma_recv *rv,
		       struct peer_attempt *attempt, u32 bad)
{
	u32 len, want = 0;

	len = peer_gather(peer, rv);
	attempt->sound = len && peer_sound(peer->call, len, &want);
	if (peer->mute_client)
		loop_mute = LOOP_MUTE_CLIENT;
	/* If this fails, the client retransmits the Call on a new connection. */
	if (!attempt->sound || !peer_reply(rv, want, bad))
		rpcrdma_ep_close(rpcrdma_recv_ep(rv), NULL);
}

/* Return true if a Call with @xid has been seen before. Otherwise, record @xid. */
static bool peer_seen(struct peer *peer, u32 xid)
{
	unsigned int i;

	for (i = 0; i < peer->nr_seen; i++)
		if (peer->seen[i] == xid)
			return true;
	if (peer->nr_seen < ARRAY_SIZE(peer->seen))
		peer->seen[peer->nr_seen++] = xid;
	return false;
}

/* Return true if the Call, which is inline, has 8 bytes of plain argument. */
static bool peer_is_marked(const struct rpcrdma_recv *rv)
{
	return rv->payload_len >= PEER_CALL_HEAD + 8 &&
	       get_unaligned_be32(rv->payload + PEER_CALL_HEAD + 4) == 8;
}

static void peer_take(struct peer *peer, struct rpcrdma_recv *rv)
{
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	struct rpcrdma_ep *ep = rpcrdma_recv_ep(rv);
	struct peer_attempt attempt = {
		.xid		= rv->rx.xid,
		.format		= rv->rx.format,
		.nr_reads	= lists->nr_reads,
		.nr_writes	= lists->nr_writes,
		.has_reply	= lists->has_reply,
		.nr_segs	= lists->nr_segs,
	};
	struct peer_step step = {};
	struct peer_attempt *kept = &attempt;
	unsigned int n;
	u32 i;

	/*
	 * Record the Call before replying, because the test checks the record once it
	 * has the Reply.
	 */
	spin_lock(&peer->lock);
	n = peer->nr_attempts++;
	if (n < PEER_ATTEMPTS) {
		kept = &peer->attempts[n];
		*kept = attempt;
	}
	spin_unlock(&peer->lock);

	if (peer->marked ? peer_is_marked(rv) : peer->every ?
	    !peer_seen(peer, rv->rx.xid) : n < peer->nr_steps)
		step = peer->steps[peer->marked || peer->every ? 0 : n];
	for (i = 0; i < max(step.errors, 1u) && step.code; i++)
		rpcrdma_core_send_error(&ep->core, rv->rx.xid, step.code,
					step.arg0, step.arg1);
	if ((!step.code || step.serve) && !step.silent)
		peer_serve(peer, rv, kept, step.bad);

	spin_lock(&peer->lock);
	if (peer->hold) {
		list_add_tail(&rv->list, &peer->held);
		peer->nr_held++;
		rv = NULL;
	}
	spin_unlock(&peer->lock);
	wake_up_all(&peer->wait);
	if (rv)
		rpcrdma_recv_put(rv);
}

void peer_worker(struct work_struct *work)
{
	struct peer *peer = container_of(work, struct peer, work);
	struct rpcrdma_recv *rv;

	for (;;) {
		spin_lock(&peer->lock);
		rv = list_first_entry_or_null(&peer->queue, struct rpcrdma_recv,
					      list);
		if (rv)
			list_del_init(&rv->list);
		spin_unlock(&peer->lock);
		if (!rv)
			break;
		peer_take(peer, rv);
	}
}

static void peer_queue(struct peer *peer, struct rpcrdma_recv *rv)
{
	spin_lock(&peer->lock);
	list_add_tail(&rv->list, &peer->queue);
	spin_unlock(&peer->lock);
	queue_work(system_long_wq, &peer->work);
}

void peer_release(struct peer *peer)
{
	struct rpcrdma_recv *rv;

	for (;;) {
		spin_lock(&peer->lock);
		peer->hold = false;
		rv = list_first_entry_or_null(&peer->held, struct rpcrdma_recv,
					      list);
		if (rv) {
			list_del_init(&rv->list);
			peer->nr_held--;
		}
		spin_unlock(&peer->lock);
		if (!rv)
			break;
		rpcrdma_recv_put(rv);
	}
}

static void peer_op_poll(struct rpcrdma_ep *ep)
{
	struct rpcrdma_poll poll = { .ep = ep };
	struct peer *peer = ep->priv;
	struct rpcrdma_recv *rv;

	while ((rv = rpcrdma_ep_poll(&poll))) {
		if (rv->verdict == RPCRDMA_RX_CALL)
			peer_queue(peer, rv);
		else
			rpcrdma_server_bc_reply(&peer->sxprt, rv);
	}
}

static void peer_op_write_space(struct rpcrdma_ep *ep)
{
	struct peer *peer = ep->priv;

	rpcrdma_server_bc_write_space(&peer->sxprt);
}

static void peer_op_closed(struct rpcrdma_ep *ep)
{
	struct peer *peer = ep->priv;

	spin_lock(&peer->lock);
	if (peer->ep == ep)
		peer->ep = NULL;
	spin_unlock(&peer->lock);
	atomic_dec(&peer->connections);
	wake_up_all(&peer->wait);
	rpcrdma_ep_put(ep);
}

static const struct rpcrdma_ep_ops peer_ops = {
	.poll		= peer_op_poll,
	.write_space	= peer_op_write_space,
	.closed		= peer_op_closed,
};

int peer_incoming(void *priv, struct rpcrdma_ep *ep)
{
	struct peer *peer = priv;

	ep->ops = &peer_ops;
	ep->priv = peer;
	ep->params = peer->params;
	atomic_inc(&peer->connections);
	atomic_inc(&peer->connected);
	spin_lock(&peer->lock);
	peer->ep = ep;
	spin_unlock(&peer->lock);
	return 0;
}
