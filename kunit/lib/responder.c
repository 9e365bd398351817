// SPDX-License-Identifier: GPL-2.0
/* The Responder of either side */
#include <linux/slab.h>

#include "pair.h"

static void loop_written(struct rpcrdma_rw *rw, bool ok)
{
	struct loop_buf *buf = rw->priv;

	loop_buf_free(buf);
	kfree(buf);
}

/* Prepare Writes of @want bytes into the first Write chunk of @lists. */
static struct rpcrdma_rw *loop_writes(struct rpcrdma_ep *ep,
				      const struct rpcrdma_lists *lists,
				      u32 want, u32 seed)
{
	struct rpcrdma_rw *rw = NULL;
	struct loop_buf *buf;

	buf = kzalloc(sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return NULL;
	/* Use another alignment than the Requester. */
	if (loop_buf_alloc(buf, seed % PAGE_SIZE, want))
		goto out_free;
	loop_buf_fill(buf, seed);
	rw = rpcrdma_rw_alloc(ep, DMA_TO_DEVICE, 0, 0, GFP_KERNEL);
	if (!rw)
		goto out_buf;
	if (rpcrdma_rw_add(rw, lists, &lists->writes[0], 0, buf->ext, buf->nr_ext,
			   0, want))
		goto out_rw;
	rw->priv = buf;
	rw->done = loop_written;
	return rw;

out_rw:
	rpcrdma_rw_free(rw);
out_buf:
	loop_buf_free(buf);
out_free:
	kfree(buf);
	return NULL;
}

/* A pulled Reply */
struct loop_exposed {
	struct verbs_exposure	exposed;
	struct loop_side	*side;
	struct loop_buf		buf;
};

static void loop_unexposed(struct rpcrdma_pull_entry *x)
{
	struct loop_exposed *e = container_of(x, struct loop_exposed,
					      exposed.core);
	struct loop_side *side = e->side;

	/* Overwrite the data, so that the test detects a Read after the release. */
	loop_buf_fill(&e->buf, ~0);
	loop_buf_free(&e->buf);
	kfree(e);
	atomic_inc(&side->released);
	wake_up_all(&side->wait);
}

/*
 * Expose a Reply to be pulled. Return it, or an ERR_PTR. If an ERR_PTR is returned and
 * plan->error is not set, the connection has failed or a failure was injected.
 */
static struct verbs_exposure *loop_expose(struct loop_side *side,
					  struct rpcrdma_ep *ep,
					  struct rpcrdma_reply_plan *plan,
					  u32 xid, u32 status, u32 want,
					  u32 seed)
{
	u32 i, len = plan->read_length;
	struct loop_exposed *e;
	int rc = -ENOMEM;
	u8 *octets;

	e = kzalloc(sizeof(*e), GFP_KERNEL);
	octets = kvmalloc(len, GFP_KERNEL);
	if (!e || !octets || loop_buf_alloc(&e->buf, seed % PAGE_SIZE, len))
		goto out_free;
	loop_payload(octets, xid, 1, status, want, seed, len - LOOP_HEAD);
	for (i = 0; i < len; i++)
		*loop_buf_at(&e->buf, i) = octets[i];
	e->side = side;
	e->exposed.core.release = loop_unexposed;
	/*
	 * On a slow machine, the wait for MRs may time out before they are allocated.
	 */
	i = 10;
	do {
		rc = rpcrdma_expose(ep, &e->exposed, xid, e->buf.ext,
				    e->buf.nr_ext, plan);
	} while (rc == -EAGAIN && --i);
	if (rc)
		goto out_free;
	kvfree(octets);
	atomic_inc(&side->exposed);
	return &e->exposed;

out_free:
	kvfree(octets);
	if (e)
		loop_buf_free(&e->buf);
	kfree(e);
	return ERR_PTR(rc);
}

void loop_payload(u8 *to, u32 xid, u32 direction, u32 word, u32 octets,
		  u32 seed, u32 len)
{
	u32 i;

	put_unaligned_be32(xid, to);
	put_unaligned_be32(direction, to + 4);
	put_unaligned_be32(word, to + 8);
	put_unaligned_be32(octets, to + 12);
	for (i = 0; i < len; i++)
		to[LOOP_HEAD + i] = loop_octet(seed, i);
}

bool loop_payload_ok(const u8 *p, u32 seed, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (p[i] != loop_octet(seed, i))
			return false;
	return true;
}

/*
 * Get a Send context with space for the largest message, waiting until a completion
 * releases one. Return NULL if the connection is closing or a failure was injected.
 */
static struct rpcrdma_send *loop_wait_send(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s;

	while (!(s = rpcrdma_core_send_get(&ep->core))) {
		if (rpcrdma_ep_is_closing(ep))
			return NULL;
		schedule_timeout_uninterruptible(1);
	}
	if (!rpcrdma_core_send_room(s, rpcrdma_conn_limits(&ep->core.conn).send_inline))
		return s;
	rpcrdma_core_send_put(s);
	return NULL;
}

/*
 * Reply to the Call in @rvp. Set *@rvp to NULL if the Receive has been put. Consume @s,
 * which may be NULL. Return false if the connection has failed or a failure was injected.
 */
static bool loop_try_reply(struct loop_side *side, struct rpcrdma_recv **rvp,
			   struct rpcrdma_send *s, u32 status,
			   struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_recv *rv = *rvp;
	struct rpcrdma_ep *ep = rpcrdma_recv_ep(rv);
	const __be32 *p = rv->payload;
	u32 seed = be32_to_cpu(p[2]), want = be32_to_cpu(p[3]), inv_handle;
	u32 htype = RDMA2_MSG, xid = rv->rx.xid;
	struct verbs_exposure *x = NULL;
	struct rpcrdma_stream *st = NULL;
	struct rpcrdma_reply *reply;
	struct rpcrdma_rw *rw = NULL;
	u8 *to;

	reply = kzalloc(sizeof(*reply), GFP_KERNEL);
	if (!reply) {
		if (s)
			rpcrdma_core_send_put(s);
		return false;
	}
	reply->xid = rv->rx.xid;
	reply->length = LOOP_HEAD + ALIGN(want, 4);
	reply->reverse = ep->client;
	if (want) {
		reply->nr_items = 1;
		reply->items[0].position = LOOP_HEAD;
		reply->items[0].length = want;
	}
	rpcrdma_plan_reply(&ep->core.conn, &rv->rx.lists, reply, plan);
	kfree(reply);
	inv_handle = side->no_inv ? 0 : plan->inv_handle;
	if (!plan->error && plan->read_length) {
		htype = RDMA2_NOMSG;
		/*
		 * Get the Send context first, because that wait ends when the teardown
		 * begins, whereas an exposed Reply holds the teardown off.
		 */
		if (!s)
			s = loop_wait_send(ep);
		if (!s)
			return false;
		x = loop_expose(side, ep, plan, xid, status, want, seed);
		if (IS_ERR(x)) {
			rpcrdma_core_send_put(s);
			s = NULL;
			if (!plan->error)
				return false;
		}
	}
	if (s && (plan->error || plan->format == RPCRDMA_CONTINUED)) {
		rpcrdma_core_send_put(s);
		s = NULL;
	}
	if (plan->error) {
		rpcrdma_core_send_error(&ep->core, rv->rx.xid, plan->error,
					plan->arg[0], plan->arg[1]);
		return true;
	}

	if (plan->format == RPCRDMA_CONTINUED) {
		st = rpcrdma_stream_alloc(RPCRDMA_KIND_REPLY, rv->rx.xid,
					  plan->inline_length, &plan->lists, GFP_NOFS);
		if (!st)
			return false;
		to = st->data;
	} else {
		if (!s)
			s = loop_wait_send(ep);
		if (!s)
			return false;
		if (x)
			s->exposed = &x->core;
		s->header_len = rpcrdma_encode_header(&ep->core.conn, s->buf,
						      s->size, xid, htype,
						      RDMA2_F_RESPONSE,
						      &plan->lists);
		to = s->buf + s->header_len;
		s->len = s->header_len + plan->inline_length;
	}
	if (plan->nr_items) {
		rw = loop_writes(ep, &plan->lists, want, seed);
		if (!rw) {
			if (x) {
				rpcrdma_core_expose_cancel(&x->core);
				x->core.release(&x->core);
			}
			if (s)
				rpcrdma_core_send_put(s);
			if (st)
				rpcrdma_core_stream_free(st);
			return false;
		}
	}
	if (!x)
		loop_payload(to, xid, 1, status, want, seed,
			     plan->inline_length - LOOP_HEAD);
	if (rpcrdma_reply_is_credit(&ep->core.conn)) {
		*rvp = NULL;
		rpcrdma_recv_put(rv);
	}
	if (st)
		return !rpcrdma_core_send_continued_reply(&ep->core, st,
							  rw ? &rw->core : NULL,
							  inv_handle);
	return !rpcrdma_core_post_reply(&ep->core, s, rw ? &rw->core : NULL,
					inv_handle, plan->format, &plan->lists);
}

/* Reply to the Call in @rv, and close the connection if that fails. @s may be NULL. */
static void loop_reply(struct loop_side *side, struct rpcrdma_recv *rv,
		       struct rpcrdma_send *s, u32 status)
{
	struct rpcrdma_reply_plan *plan = kzalloc(sizeof(*plan), GFP_KERNEL);
	struct rpcrdma_ep *ep = rpcrdma_recv_ep(rv);

	rpcrdma_ep_get(ep);
	if (plan && loop_try_reply(side, &rv, s, status, plan)) {
		atomic_inc(&side->served);
		wake_up_all(&side->wait);
	} else {
		if (!plan && s)
			rpcrdma_core_send_put(s);
		rpcrdma_ep_close(ep, NULL);
	}
	kfree(plan);
	if (rv)
		rpcrdma_recv_put(rv);
	rpcrdma_ep_put(ep);
}

/*
 * State of pulling a Call's Read chunk. The Send context for the Reply is reserved
 * before the Reads are posted: in their completion, a wait for a Send context would
 * block the completions that release one.
 */
struct loop_pull {
	struct loop_side	*side;
	struct rpcrdma_recv	*rv;
	struct rpcrdma_send	*send;
	struct loop_buf		buf;
};

static void loop_pulled(struct rpcrdma_rw *rw, bool ok)
{
	struct loop_pull *pull = rw->priv;
	struct rpcrdma_recv *rv = pull->rv;
	struct loop_side *side = pull->side;
	struct rpcrdma_send *s = pull->send;
	const __be32 *p = rv->payload;
	u32 status;

	status = loop_buf_check(&pull->buf, be32_to_cpu(p[2])) ==
		 pull->buf.len ? 0 : EIO;
	loop_buf_free(&pull->buf);
	kfree(pull);
	if (ok) {
		loop_reply(side, rv, s, status);
		return;
	}
	rpcrdma_core_send_put(s);
	rpcrdma_recv_put(rv);
}

static bool loop_pull(struct loop_side *side, struct rpcrdma_recv *rv)
{
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	const struct rpcrdma_chunk *chunk = &lists->reads[0];
	struct loop_pull *pull;
	struct rpcrdma_rw *rw;

	pull = kzalloc(sizeof(*pull), GFP_KERNEL);
	if (!pull)
		return false;
	pull->side = side;
	pull->rv = rv;
	if (loop_buf_alloc(&pull->buf, rv->rx.xid % PAGE_SIZE, chunk->length))
		goto out_free;
	pull->send = loop_wait_send(rpcrdma_recv_ep(rv));
	if (!pull->send)
		goto out_buf;
	rw = rpcrdma_rw_alloc(rpcrdma_recv_ep(rv), DMA_FROM_DEVICE, 0, 0, GFP_KERNEL);
	if (!rw)
		goto out_send;
	/* Add two ranges, as a server with several data items does. */
	if (rpcrdma_rw_add(rw, lists, chunk, 0, pull->buf.ext, pull->buf.nr_ext, 0,
			   chunk->length / 2) ||
	    rpcrdma_rw_add(rw, lists, chunk, chunk->length / 2, pull->buf.ext,
			   pull->buf.nr_ext, chunk->length / 2,
			   chunk->length - chunk->length / 2)) {
		rpcrdma_rw_free(rw);
		goto out_send;
	}
	rw->priv = pull;
	rw->done = loop_pulled;
	rpcrdma_rw_read(rw);
	return true;

out_send:
	rpcrdma_core_send_put(pull->send);
out_buf:
	loop_buf_free(&pull->buf);
out_free:
	kfree(pull);
	return false;
}

void loop_serve(struct loop_side *side, struct rpcrdma_recv *rv)
{
	struct rpcrdma_ep *ep = rpcrdma_recv_ep(rv);

	const u8 *p = rv->payload;

	if (rv->rx.format == RPCRDMA_SPECIAL || rv->payload_len < LOOP_HEAD ||
	    !loop_payload_ok(p + LOOP_HEAD, get_unaligned_be32(p + 8),
			     rv->payload_len - LOOP_HEAD)) {
		atomic_inc(&side->bad);
		rpcrdma_recv_put(rv);
		return;
	}
	if (!rv->rx.lists.nr_reads) {
		loop_reply(side, rv, NULL, 0);
		return;
	}
	if (loop_pull(side, rv))
		return;
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_recv_put(rv);
}
