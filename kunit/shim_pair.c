// SPDX-License-Identifier: GPL-2.0
/*
 * Two endpoints over the RDMA device under test, and RPCs between them. A Call
 * consists of XID, direction, seed and result length; a Reply of XID, direction,
 * status and result length. Data generated from the seed follow inline, or are
 * conveyed by a Read chunk at the end of the Call and a Write chunk for the result.
 */

#include <linux/inetdevice.h>
#include <linux/mm.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "shim.h"
#include "../net/sunrpc/xprtrdma/verbs/internal.h"

enum {
	SHIM_HEAD = 16,		/* bytes of a Call or Reply without data */
};

struct sockaddr_in shim_addr;
bool shim_iwarp;
struct memdev *shim_memdev;
/* Number of mappings the connection manager holds permanently */
static int shim_mem_maps;

static void shim_take(struct work_struct *work);

static void shim_side_init(struct shim_side *side, u32 xid)
{
	memset(side, 0, sizeof(*side));
	init_waitqueue_head(&side->wait);
	mutex_init(&side->calls_lock);
	spin_lock_init(&side->lock);
	INIT_LIST_HEAD(&side->held);
	INIT_LIST_HEAD(&side->rpcs);
	init_completion(&side->gone);
	INIT_WORK(&side->take_work, shim_take);
	side->xid = xid;
}

/* ---- Memory ---- */

int shim_buf_alloc(struct shim_buf *buf, u32 base, u32 len)
{
	return shim_buf_alloc_chopped(buf, base, len, PAGE_SIZE);
}

int shim_buf_alloc_chopped(struct shim_buf *buf, u32 base, u32 len, u32 chop)
{
	void *p = NULL;
	u32 i;

	memset(buf, 0, sizeof(*buf));
	buf->nr = DIV_ROUND_UP((chop == PAGE_SIZE ? base : 0) + len, chop);
	buf->base = base;
	buf->len = len;
	buf->chop = chop;
	buf->pages = kvcalloc(buf->nr, sizeof(*buf->pages), GFP_KERNEL);
	buf->ext = kvcalloc(buf->nr, sizeof(*buf->ext), GFP_KERNEL);
	if (!buf->pages || !buf->ext)
		goto out_free;
	/* Make some of the pages adjacent in memory. */
	for (i = 0; i < buf->nr; i++, p += PAGE_SIZE) {
		if (i % 3 == 0)
			p = alloc_pages_exact(min(3U, buf->nr - i) * PAGE_SIZE,
					      GFP_KERNEL | __GFP_ZERO);
		if (!p)
			goto out_free;
		buf->pages[i] = virt_to_page(p);
	}
	if (chop == PAGE_SIZE) {
		buf->nr_ext = !!len;
		if (len)
			buf->ext[0] = rpcrdma_extent_of_pages(buf->pages, base,
							      len);
		return 0;
	}
	buf->nr_ext = buf->nr;
	for (i = 0; i < buf->nr; i++)
		buf->ext[i] = rpcrdma_extent_of_pages(&buf->pages[i], base,
						      min(len - i * chop, chop));
	return 0;

out_free:
	shim_buf_free(buf);
	return -ENOMEM;
}

void shim_buf_free(struct shim_buf *buf)
{
	u32 i;

	for (i = 0; buf->pages && i < buf->nr; i++)
		if (buf->pages[i])
			__free_page(buf->pages[i]);
	kvfree(buf->pages);
	kvfree(buf->ext);
	memset(buf, 0, sizeof(*buf));
}

static u8 shim_octet(u32 seed, u32 i)
{
	return seed + i * 7 + (i >> 8) * 13;
}

static u8 *shim_buf_at(const struct shim_buf *buf, u32 i)
{
	if (buf->chop != PAGE_SIZE)
		return page_address(buf->pages[i / buf->chop]) + buf->base +
		       i % buf->chop;
	return page_address(buf->pages[(buf->base + i) >> PAGE_SHIFT]) +
	       offset_in_page(buf->base + i);
}

void shim_buf_fill(struct shim_buf *buf, u32 seed)
{
	u32 i;

	for (i = 0; i < buf->len; i++)
		*shim_buf_at(buf, i) = shim_octet(seed, i);
}

u32 shim_buf_check(const struct shim_buf *buf, u32 seed)
{
	u32 i;

	for (i = 0; i < buf->len; i++)
		if (*shim_buf_at(buf, i) != shim_octet(seed, i))
			break;
	return i;
}

/* ---- The Responder ---- */

static void shim_written(struct rpcrdma_rw *rw, bool ok)
{
	struct shim_buf *buf = rw->priv;

	shim_buf_free(buf);
	kfree(buf);
}

/* Prepare Writes of @want bytes into the first Write chunk of @lists. */
static struct rpcrdma_rw *shim_writes(struct rpcrdma_ep *ep,
				      const struct rpcrdma_lists *lists,
				      u32 want, u32 seed)
{
	struct rpcrdma_rw *rw = NULL;
	struct shim_buf *buf;

	buf = kzalloc(sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return NULL;
	/* Use an alignment that differs from the Requester's. */
	if (shim_buf_alloc(buf, seed % PAGE_SIZE, want))
		goto out_free;
	shim_buf_fill(buf, seed);
	rw = rpcrdma_rw_alloc(ep, DMA_TO_DEVICE, 0, GFP_KERNEL);
	if (!rw)
		goto out_buf;
	if (rpcrdma_rw_add(rw, lists, &lists->writes[0], 0, buf->ext, buf->nr_ext,
			   0, want))
		goto out_rw;
	rw->priv = buf;
	rw->done = shim_written;
	return rw;

out_rw:
	rpcrdma_rw_free(rw);
out_buf:
	shim_buf_free(buf);
out_free:
	kfree(buf);
	return NULL;
}

static void shim_payload(u8 *to, u32 xid, u32 direction, u32 word, u32 octets,
			 u32 seed, u32 len);

/* A pulled Reply */
struct shim_exposed {
	struct rpcrdma_exposed	exposed;
	struct shim_side	*side;
	struct shim_buf		buf;
};

static void shim_unexposed(struct rpcrdma_exposed *x)
{
	struct shim_exposed *e = container_of(x, struct shim_exposed, exposed);
	struct shim_side *side = e->side;

	/* Overwrite the data, so that a Read after the release is detected. */
	shim_buf_fill(&e->buf, ~0);
	shim_buf_free(&e->buf);
	kfree(e);
	atomic_inc(&side->released);
	wake_up_all(&side->wait);
}

/*
 * Expose a Reply to be pulled. Return it or an ERR_PTR. If plan->error is not set in
 * the second case, the connection has failed or a failure was injected.
 */
static struct rpcrdma_exposed *shim_expose(struct shim_side *side,
					   struct rpcrdma_ep *ep,
					   struct rpcrdma_reply_plan *plan,
					   u32 xid, u32 status, u32 want,
					   u32 seed)
{
	u32 i, len = plan->read_length;
	struct shim_exposed *e;
	int rc = -ENOMEM;
	u8 *octets;

	e = kzalloc(sizeof(*e), GFP_KERNEL);
	octets = kvmalloc(len, GFP_KERNEL);
	if (!e || !octets || shim_buf_alloc(&e->buf, seed % PAGE_SIZE, len))
		goto out_free;
	shim_payload(octets, xid, 1, status, want, seed, len - SHIM_HEAD);
	for (i = 0; i < len; i++)
		*shim_buf_at(&e->buf, i) = octets[i];
	e->side = side;
	e->exposed.release = shim_unexposed;
	/* On a slow machine its wait for MRs may time out before they are allocated. */
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
		shim_buf_free(&e->buf);
	kfree(e);
	return ERR_PTR(rc);
}

/* Build an RPC message: the four words and @len bytes. */
static void shim_payload(u8 *to, u32 xid, u32 direction, u32 word, u32 octets,
			 u32 seed, u32 len)
{
	u32 i;

	put_unaligned_be32(xid, to);
	put_unaligned_be32(direction, to + 4);
	put_unaligned_be32(word, to + 8);
	put_unaligned_be32(octets, to + 12);
	for (i = 0; i < len; i++)
		to[SHIM_HEAD + i] = shim_octet(seed, i);
}

static bool shim_payload_ok(const u8 *p, u32 seed, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (p[i] != shim_octet(seed, i))
			return false;
	return true;
}

/*
 * Get a Send context with space for the largest message, waiting until a completion
 * releases one. Return NULL if the connection is closing or a failure was injected.
 */
static struct rpcrdma_send *shim_wait_send(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s;

	while (!(s = rpcrdma_send_get(ep))) {
		if (rpcrdma_ep_is_closing(ep))
			return NULL;
		schedule_timeout_uninterruptible(1);
	}
	if (!rpcrdma_send_room(s, rpcrdma_conn_limits(&ep->core.conn).send_inline,
			       GFP_KERNEL))
		return s;
	rpcrdma_send_put(s);
	return NULL;
}

/*
 * Reply to the Call in @rvp. Set *@rvp to NULL if the Receive has been put. Consume @s,
 * which may be NULL. Return false if the connection has failed or a failure was injected.
 */
static bool shim_try_reply(struct shim_side *side, struct rpcrdma_recv **rvp,
			   struct rpcrdma_send *s, u32 status,
			   struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_recv *rv = *rvp;
	struct rpcrdma_ep *ep = rv->ep;
	const __be32 *p = rv->payload;
	u32 seed = be32_to_cpu(p[2]), want = be32_to_cpu(p[3]), inv_handle;
	u32 htype = RDMA2_MSG, xid = rv->rx.xid;
	struct rpcrdma_exposed *x = NULL;
	struct rpcrdma_stream *st = NULL;
	struct rpcrdma_reply *reply;
	struct rpcrdma_rw *rw = NULL;
	u8 *to;

	reply = kzalloc(sizeof(*reply), GFP_KERNEL);
	if (!reply) {
		if (s)
			rpcrdma_send_put(s);
		return false;
	}
	reply->xid = rv->rx.xid;
	reply->length = SHIM_HEAD + ALIGN(want, 4);
	reply->reverse = ep->client;
	if (want) {
		reply->nr_items = 1;
		reply->items[0].position = SHIM_HEAD;
		reply->items[0].length = want;
	}
	rpcrdma_plan_reply(&ep->core.conn, &rv->rx.lists, reply, plan);
	kfree(reply);
	inv_handle = side->no_inv ? 0 : plan->inv_handle;
	if (!plan->error && plan->read_length) {
		htype = RDMA2_NOMSG;
		/*
		 * Get the Send context first: the wait ends when the teardown begins, and
		 * an exposed Reply holds the teardown off.
		 */
		if (!s)
			s = shim_wait_send(ep);
		if (!s)
			return false;
		x = shim_expose(side, ep, plan, xid, status, want, seed);
		if (IS_ERR(x)) {
			rpcrdma_send_put(s);
			s = NULL;
			if (!plan->error)
				return false;
		}
	}
	if (s && (plan->error || plan->format == RPCRDMA_CONTINUED)) {
		rpcrdma_send_put(s);
		s = NULL;
	}
	if (plan->error) {
		rpcrdma_ep_send_error(ep, rv->rx.xid, plan->error,
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
			s = shim_wait_send(ep);
		if (!s)
			return false;
		s->exposed = x;
		s->header_len = rpcrdma_encode_header(&ep->core.conn, s->buf,
						      s->size, xid, htype,
						      RDMA2_F_RESPONSE,
						      &plan->lists);
		to = s->buf + s->header_len;
		s->len = s->header_len + plan->inline_length;
	}
	if (plan->nr_items) {
		rw = shim_writes(ep, &plan->lists, want, seed);
		if (!rw) {
			if (x) {
				rpcrdma_expose_cancel(x);
				x->release(x);
			}
			if (s)
				rpcrdma_send_put(s);
			rpcrdma_stream_free(st);
			return false;
		}
	}
	if (!x)
		shim_payload(to, xid, 1, status, want, seed,
			     plan->inline_length - SHIM_HEAD);
	if (rpcrdma_reply_is_credit(&ep->core.conn)) {
		*rvp = NULL;
		rpcrdma_recv_put(rv);
	}
	if (st)
		return !rpcrdma_send_continued_reply(ep, st, rw, inv_handle);
	return !rpcrdma_send_reply(s, rw, inv_handle, plan->format,
				   &plan->lists);
}

/* Reply to the Call in @rv, and close the connection if that fails. @s may be NULL. */
static void shim_reply(struct shim_side *side, struct rpcrdma_recv *rv,
		       struct rpcrdma_send *s, u32 status)
{
	struct rpcrdma_reply_plan *plan = kzalloc(sizeof(*plan), GFP_KERNEL);
	struct rpcrdma_ep *ep = rv->ep;

	rpcrdma_ep_get(ep);
	if (plan && shim_try_reply(side, &rv, s, status, plan)) {
		atomic_inc(&side->served);
		wake_up_all(&side->wait);
	} else {
		if (!plan && s)
			rpcrdma_send_put(s);
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
struct shim_pull {
	struct shim_side	*side;
	struct rpcrdma_recv	*rv;
	struct rpcrdma_send	*send;
	struct shim_buf		buf;
};

static void shim_pulled(struct rpcrdma_rw *rw, bool ok)
{
	struct shim_pull *pull = rw->priv;
	struct rpcrdma_recv *rv = pull->rv;
	struct shim_side *side = pull->side;
	struct rpcrdma_send *s = pull->send;
	const __be32 *p = rv->payload;
	u32 status;

	status = shim_buf_check(&pull->buf, be32_to_cpu(p[2])) ==
		 pull->buf.len ? 0 : EIO;
	shim_buf_free(&pull->buf);
	kfree(pull);
	if (ok) {
		shim_reply(side, rv, s, status);
		return;
	}
	rpcrdma_send_put(s);
	rpcrdma_recv_put(rv);
}

static bool shim_pull(struct shim_side *side, struct rpcrdma_recv *rv)
{
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	const struct rpcrdma_chunk *chunk = &lists->reads[0];
	struct shim_pull *pull;
	struct rpcrdma_rw *rw;

	pull = kzalloc(sizeof(*pull), GFP_KERNEL);
	if (!pull)
		return false;
	pull->side = side;
	pull->rv = rv;
	if (shim_buf_alloc(&pull->buf, rv->rx.xid % PAGE_SIZE, chunk->length))
		goto out_free;
	pull->send = shim_wait_send(rv->ep);
	if (!pull->send)
		goto out_buf;
	rw = rpcrdma_rw_alloc(rv->ep, DMA_FROM_DEVICE, 0, GFP_KERNEL);
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
	rw->done = shim_pulled;
	rpcrdma_rw_read(rw);
	return true;

out_send:
	rpcrdma_send_put(pull->send);
out_buf:
	shim_buf_free(&pull->buf);
out_free:
	kfree(pull);
	return false;
}

/* Serve a Call. Its Receive is released after the Reply was sent. */
static void shim_serve(struct shim_side *side, struct rpcrdma_recv *rv)
{
	struct rpcrdma_ep *ep = rv->ep;

	const u8 *p = rv->payload;

	if (rv->rx.format == RPCRDMA_SPECIAL || rv->payload_len < SHIM_HEAD ||
	    !shim_payload_ok(p + SHIM_HEAD, get_unaligned_be32(p + 8),
			     rv->payload_len - SHIM_HEAD)) {
		atomic_inc(&side->bad);
		rpcrdma_recv_put(rv);
		return;
	}
	if (!rv->rx.lists.nr_reads) {
		shim_reply(side, rv, NULL, 0);
		return;
	}
	if (shim_pull(side, rv))
		return;
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_recv_put(rv);
}

/* ---- Upcalls ---- */

static void shim_hold(struct shim_side *side, struct rpcrdma_recv *rv)
{
	spin_lock(&side->lock);
	list_add_tail(&rv->list, &side->held);
	side->nr_held++;
	spin_unlock(&side->lock);
	wake_up_all(&side->wait);
}

void shim_release(struct shim_side *side, unsigned int n)
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
			shim_serve(side, rv);
		else
			rpcrdma_recv_put(rv);
	}
}

static struct shim_side *shim_upcall(struct rpcrdma_ep *ep)
{
	struct shim_side *side = ep->priv;

	might_sleep();
	if (atomic_read(&side->closed))
		atomic_inc(&side->late);
	return side;
}

static void shim_op_call(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct shim_side *side = shim_upcall(ep);

	atomic_inc(&side->calls);
	if (READ_ONCE(side->hold_calls))
		shim_hold(side, rv);
	else
		shim_serve(side, rv);
}

static struct shim_rpc *shim_claim(struct shim_side *side, u32 xid)
{
	struct shim_rpc *rpc;

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

struct shim_reply_pull {
	struct shim_side	*side;
	struct shim_rpc		*rpc;
	struct shim_buf		buf;
};

static void shim_say_done(struct shim_side *side, struct rpcrdma_ep *ep,
			  u32 xid, u32 handle)
{
	if (!READ_ONCE(side->no_done))
		rpcrdma_ep_send_done(ep, xid, side->plain_done ? 0 : handle);
}

static void shim_reply_pulled(struct rpcrdma_rw *rw, bool ok)
{
	struct shim_reply_pull *pull = rw->priv;
	u32 xid = pull->rpc->xid, i, word[4] = {};
	struct shim_rpc *rpc = pull->rpc;

	if (ok) {
		for (i = 0; i < SHIM_HEAD; i++)
			word[i / 4] = word[i / 4] << 8 |
				      *shim_buf_at(&pull->buf, i);
		rpc->got = pull->buf.len - SHIM_HEAD;
		rpc->status = -(int)word[2];
		for (i = 0; i < rpc->got; i++)
			if (*shim_buf_at(&pull->buf, SHIM_HEAD + i) !=
			    shim_octet(rpc->seed, i))
				break;
		if (word[0] != xid || word[1] != 1 || i < rpc->got)
			rpc->status = -EIO;
		rpc->pulled = true;
		shim_say_done(pull->side, rw->ep, xid,
			      rpc->reply_lists.inv_handle);
	} else {
		rpc->status = -ENOTCONN;
	}
	shim_buf_free(&pull->buf);
	complete_all(&rpc->done);
	kfree(pull);
}

/* Pull the Reply to @rpc that @rv announces. Puts @rv. */
static void shim_pull_reply(struct shim_side *side, struct rpcrdma_recv *rv,
			    struct shim_rpc *rpc)
{
	const struct rpcrdma_chunk *chunk = &rpc->reply_lists.reads[0];
	struct rpcrdma_ep *ep = rv->ep;
	struct shim_reply_pull *pull;
	struct rpcrdma_rw *rw = NULL;

	rpcrdma_ep_get(ep);
	rpc->reply_lists = rv->rx.lists;
	rpcrdma_recv_put(rv);
	pull = kzalloc(sizeof(*pull), GFP_KERNEL);
	if (!pull)
		goto out_close;
	pull->side = side;
	pull->rpc = rpc;
	if (shim_buf_alloc(&pull->buf, rpc->xid % PAGE_SIZE, chunk->length))
		goto out_close;
	rw = rpcrdma_rw_alloc(ep, DMA_FROM_DEVICE, 0, GFP_KERNEL);
	if (!rw || rpcrdma_rw_add(rw, &rpc->reply_lists, chunk, 0,
				  pull->buf.ext, pull->buf.nr_ext, 0,
				  chunk->length))
		goto out_close;
	rw->priv = pull;
	rw->done = shim_reply_pulled;
	rpcrdma_rw_read(rw);
	rpcrdma_ep_put(ep);
	return;

out_close:
	if (rw)
		rpcrdma_rw_free(rw);
	if (pull)
		shim_buf_free(&pull->buf);
	kfree(pull);
	rpc->status = -ENOTCONN;
	complete_all(&rpc->done);
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_put(ep);
}

static void shim_op_reply(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct shim_side *side = shim_upcall(ep);
	struct rpcrdma_placed placed = {};
	const u8 *p = rv->payload;
	struct shim_rpc *rpc;

	rpc = shim_claim(side, rv->rx.xid);
	if (!rpc) {
		/* Reply to an abandoned RPC */
		if (rv->verdict == RPCRDMA_RX_REPLY &&
		    rpcrdma_reply_needs_done(&rv->rx))
			shim_say_done(side, ep, rv->rx.xid,
				      rv->rx.lists.inv_handle);
		rpcrdma_recv_put(rv);
		return;
	}
	if (rv->verdict != RPCRDMA_RX_REPLY ||
	    rpcrdma_check_reply(&ep->core.conn, &rpc->lists, &rv->rx, &placed) ||
	    (!placed.pull_octets && rv->payload_len < SHIM_HEAD)) {
		atomic_inc(&side->bad);
		rpc->status = -EIO;
		goto out;
	}
	if (rv->inv_handle &&
	    (!rpcrdma_invalidation_ok(&ep->core.conn, &rpc->lists, rv->inv_handle) ||
	     !rpcrdma_mrs_invalidated(&rpc->mrs, rv->inv_handle)))
		atomic_inc(&side->bad);
	rpc->exposed = rpcrdma_mrs_exposed(&rpc->mrs);
	if (placed.pull_octets) {
		atomic_inc(&side->replies);
		shim_pull_reply(side, rv, rpc);
		return;
	}
	rpc->placed = placed.write_octets;
	rpc->status = -(int)get_unaligned_be32(p + 8);
	rpc->got = rv->payload_len - SHIM_HEAD;
	if (!shim_payload_ok(p + SHIM_HEAD, rpc->seed, rpc->got))
		rpc->status = -EIO;
out:
	atomic_inc(&side->replies);
	if (READ_ONCE(side->hold_replies))
		shim_hold(side, rv);
	else
		rpcrdma_recv_put(rv);
	complete_all(&rpc->done);
}

static void shim_op_error(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct shim_side *side = shim_upcall(ep);
	struct shim_rpc *rpc = shim_claim(side, rv->rx.xid);

	atomic_inc(&side->errors);
	rpcrdma_recv_put(rv);
	if (rpc) {
		rpc->status = -EREMOTEIO;
		rpc->exposed = rpcrdma_mrs_exposed(&rpc->mrs);
		complete_all(&rpc->done);
	}
}

static void shim_op_write_space(struct rpcrdma_ep *ep)
{
	struct shim_side *side = shim_upcall(ep);

	atomic_inc(&side->space);
	wake_up_all(&side->wait);
}

static void shim_op_opened(struct rpcrdma_ep *ep)
{
	struct shim_side *side = shim_upcall(ep);

	atomic_inc(&side->opened);
	wake_up_all(&side->wait);
	if (side->close_on_open)
		rpcrdma_ep_close(ep, NULL);
}

static void shim_op_closed(struct rpcrdma_ep *ep)
{
	struct shim_side *side = shim_upcall(ep);

	cancel_work_sync(&side->take_work);
	/* By now all resources of the connection must have been released. */
	if (ep->qp || ep->id || ep->core.inflight ||
	    !list_empty(&ep->core.transfers) || !list_empty(&ep->core.messages) ||
	    !list_empty(&ep->core.rw_waiting) || READ_ONCE(ep->read_pool.waiting) ||
	    atomic_read(&ep->users) ||
	    atomic_read(&side->exposed) != atomic_read(&side->released))
		atomic_inc(&side->bad);
	atomic_inc(&side->closed);
	wake_up_all(&side->wait);
	complete_all(&side->gone);
}

static void shim_op_poll(struct rpcrdma_ep *ep)
{
	struct rpcrdma_poll poll = { .ep = ep };
	struct rpcrdma_recv *rv;

	while ((rv = rpcrdma_ep_poll(&poll))) {
		switch (rv->verdict) {
		case RPCRDMA_RX_CALL:
			shim_op_call(ep, rv);
			break;
		case RPCRDMA_RX_ERROR:
			shim_op_error(ep, rv);
			break;
		default:
			shim_op_reply(ep, rv);
			break;
		}
	}
}

/* Process received messages, as a service thread does. */
static void shim_take(struct work_struct *work)
{
	struct shim_side *side = container_of(work, struct shim_side, take_work);

	while (rpcrdma_ep_has_messages(side->ep))
		shim_op_poll(side->ep);
}

static bool shim_op_messages(struct rpcrdma_ep *ep)
{
	struct shim_side *side = ep->priv;

	atomic_inc(&side->told);
	if (!READ_ONCE(side->nobody_takes))
		queue_work(rpcrdma_wq, &side->take_work);
	return true;
}

static const struct rpcrdma_ep_ops shim_server_ops = {
	.messages	= shim_op_messages,
	.poll		= shim_op_poll,
	.write_space	= shim_op_write_space,
	.opened		= shim_op_opened,
	.closed		= shim_op_closed,
};

static const struct rpcrdma_ep_ops shim_client_ops = {
	.poll		= shim_op_poll,
	.write_space	= shim_op_write_space,
	.opened		= shim_op_opened,
	.closed		= shim_op_closed,
};

/* ---- Connections ---- */

static int shim_incoming(void *priv, struct rpcrdma_ep *ep)
{
	struct shim_pair *pair = priv;

	int rc = -ECONNREFUSED;

	mutex_lock(&pair->lock);
	if (!pair->reject && !pair->over && !pair->server.ep) {
		ep->ops = &shim_server_ops;
		ep->priv = &pair->server;
		ep->params = pair->server_params;
		pair->server.ep = ep;
		/* The client has already checked the flag. */
		if (pair->no_frwr)
			ep->id->device->attrs.device_cap_flags &=
				~(u64)IB_DEVICE_MEM_MGT_EXTENSIONS;
		rc = 0;
	}
	mutex_unlock(&pair->lock);
	return rc;
}

int shim_connect(struct shim_pair *pair)
{
	struct rpcrdma_ep *ep;

	ep = rpcrdma_ep_connect(&init_net,
				rpcrdma_listener_addr(pair->listener), NULL,
				&pair->client_params, &shim_client_ops,
				&pair->client, NULL);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	pair->client.ep = ep;
	return 0;
}

bool shim_wait_gone(struct shim_side *side)
{
	return wait_for_completion_timeout(&side->gone, SHIM_WAIT_S * HZ);
}

static void shim_end_side(struct kunit *test, struct shim_side *side)
{
	struct rpcrdma_ep *ep = side->ep;

	if (!ep)
		return;
	rpcrdma_ep_close(ep, NULL);
	KUNIT_ASSERT_TRUE_MSG(test, shim_wait_gone(side), "%s: not closed",
			      ep->client ? "client" : "server");
	/* Release the Receives still held after the endpoint is closed. */
	side->ep = NULL;
	rpcrdma_ep_wait_closed(ep);
	rpcrdma_ep_put(ep);
	shim_release(side, UINT_MAX);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->closed), 1);
	KUNIT_EXPECT_LE(test, atomic_read(&side->opened), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->late), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->bad), 0);
}

static void shim_check_memdev(struct kunit *test)
{
	struct memdev_counts *c = memdev_counts(shim_memdev);

	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_dma), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_unmap), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_key), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_post), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->bad_cq), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->untold), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->atomic_unmaps), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->rnr), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->regions), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->qps), 0);
	KUNIT_EXPECT_TRUE(test, shim_poll(atomic_read(&c->maps) <=
					  shim_mem_maps));
}

/* Check that all objects are freed, after the last endpoint is. */
void shim_check_gone(struct kunit *test)
{
	bool gone = shim_poll(!shim_nr_endpoints());

	KUNIT_EXPECT_TRUE(test, gone);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_balance.pds), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_balance.cqs), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_balance.qps), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_balance.mrs), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_balance.rws), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_balance.maps), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&shim_balance.octets), 0LL);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_misuse), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_double_inv), 0);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	if (shim_memdev)
		shim_check_memdev(test);
}

void shim_test_begin(void)
{
	atomic_set(&shim_misuse, 0);
	atomic_set(&shim_double_inv, 0);
	if (shim_memdev)
		memdev_reset(shim_memdev);
}

void shim_disconnect(struct kunit *test, struct shim_pair *pair)
{
	mutex_lock(&pair->lock);
	pair->over = true;
	mutex_unlock(&pair->lock);
	if (pair->client.ep)
		rpcrdma_ep_close(pair->client.ep, NULL);
	shim_end_side(test, &pair->server);
	shim_end_side(test, &pair->client);
	shim_mute = 0;
	shim_unpostable = 0;
	shim_reads_at_most = 0;
	memset(shim_max_send_wr, 0, sizeof(shim_max_send_wr));

	shim_check_gone(test);

	shim_side_init(&pair->client, 0x1000);
	shim_side_init(&pair->server, 0x80001000);
	mutex_lock(&pair->lock);
	pair->over = false;
	mutex_unlock(&pair->lock);
}

/* ---- The Requester ---- */

void shim_rpc_init(struct shim_rpc *rpc, struct shim_buf *arg,
		   struct shim_buf *res)
{
	memset(rpc, 0, sizeof(*rpc));
	INIT_LIST_HEAD(&rpc->list);
	INIT_LIST_HEAD(&rpc->mrs);
	init_completion(&rpc->done);
	rpc->arg = arg;
	rpc->res = res;
}

static int shim_rpc_map(struct rpcrdma_ep *ep, struct shim_rpc *rpc)
{
	int rc = 0;

	rpcrdma_lists_init(&rpc->lists);
	if (rpc->arg) {
		rpcrdma_lists_add_read(&rpc->lists,
				       SHIM_HEAD + ALIGN(rpc->inline_arg, 4));
		rc = rpcrdma_mrs_map(ep, &rpc->mrs, rpc->arg->ext, rpc->arg->nr_ext,
				     false, &rpc->lists);
	}
	if (!rc && rpc->res) {
		rpcrdma_lists_add_write(&rpc->lists);
		rc = rpcrdma_mrs_map(ep, &rpc->mrs, rpc->res->ext, rpc->res->nr_ext,
				     true, &rpc->lists);
	}
	if (!rc && rpc->lists.nr_segs)
		rpc->lists.inv_handle = rpc->lists.segs[0].handle;
	return rc;
}

static int shim_rpc_try_locked(struct shim_side *side, struct shim_rpc *rpc)
{
	u32 len = SHIM_HEAD + ALIGN(rpc->inline_arg, 4);
	u32 want = rpc->res ? rpc->res->len : rpc->inline_res;
	struct rpcrdma_ep *ep = side->ep;
	u32 room = rpcrdma_conn_limits(&ep->core.conn).send_inline;
	struct rpcrdma_stream *st = NULL;
	struct rpcrdma_send *s;
	int rc;

	if (!rpcrdma_ep_is_open(ep))
		return -ENOTCONN;
	s = rpcrdma_send_for_call(ep);
	if (!s)
		return -EAGAIN;
	rc = rpcrdma_send_room(s, room, GFP_KERNEL);
	if (!rc)
		rc = shim_rpc_map(ep, rpc);
	if (rc)
		goto out_put;
	if (rpcrdma_header_octets(&ep->core.conn, &rpc->lists) + len > room) {
		st = rpcrdma_stream_alloc(RPCRDMA_KIND_CALL, 0, len,
					  &rpc->lists, GFP_NOFS);
		if (!st) {
			rc = -ENOMEM;
			goto out_put;
		}
	}

	spin_lock(&side->lock);
	rpc->xid = side->xid++;
	list_add_tail(&rpc->list, &side->rpcs);
	spin_unlock(&side->lock);
	if (st) {
		st->xid = rpc->xid;
		shim_payload(st->data, rpc->xid, 0, rpc->seed, want, rpc->seed,
			     len - SHIM_HEAD);
		rc = rpcrdma_send_continued_call(ep, st, &rpc->mrs, NULL);
	} else {
		s->header_len = rpcrdma_encode_header(&ep->core.conn, s->buf,
						      s->size, rpc->xid,
						      RDMA2_MSG, 0,
						      &rpc->lists);
		s->len = s->header_len + len;
		shim_payload(s->buf + s->header_len, rpc->xid, 0, rpc->seed,
			     want, rpc->seed, len - SHIM_HEAD);
		rc = rpcrdma_send_call(s, &rpc->mrs, RPCRDMA_INLINE,
				       &rpc->lists, NULL);
	}
	if (!rc)
		return 0;

	spin_lock(&side->lock);
	list_del_init(&rpc->list);
	rpc->xid = 0;
	spin_unlock(&side->lock);
out_put:
	rpcrdma_stream_free(st);
	rpcrdma_mrs_put(ep, &rpc->mrs);
	return rc;
}

int shim_rpc_try(struct shim_side *side, struct shim_rpc *rpc)
{
	int rc;

	mutex_lock(&side->calls_lock);
	rc = shim_rpc_try_locked(side, rpc);
	mutex_unlock(&side->calls_lock);
	return rc;
}

int shim_rpc_send(struct shim_side *side, struct shim_rpc *rpc)
{
	int rc, seen;

	for (;;) {
		seen = atomic_read(&side->space);
		rc = shim_rpc_try(side, rpc);
		if (rc != -EAGAIN)
			return rc;
		/* write_space() must be called unless the connection ends. */
		if (!wait_event_timeout(side->wait,
					atomic_read(&side->space) != seen ||
					atomic_read(&side->closed),
					SHIM_WAIT_S * HZ)) {
			atomic_inc(&side->bad);
			return -ETIMEDOUT;
		}
		if (atomic_read(&side->closed))
			return -ENOTCONN;
	}
}

int shim_rpc_wait(struct shim_side *side, struct shim_rpc *rpc)
{
	unsigned long end = jiffies + SHIM_WAIT_S * HZ;

	while (!wait_for_completion_timeout(&rpc->done, HZ / 20)) {
		if (atomic_read(&side->closed) && !completion_done(&rpc->done))
			return -ENOTCONN;
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
	}
	return rpc->status;
}

void shim_rpc_end(struct shim_side *side, struct shim_rpc *rpc)
{
	/* If a Reply has claimed the RPC, wait until it completes it. */
	if (rpc->xid && shim_claim(side, rpc->xid) != rpc)
		shim_rpc_wait(side, rpc);
	rpcrdma_mrs_release_sync(side->ep, &rpc->mrs);
}

int shim_rpc_do(struct shim_side *side, struct shim_rpc *rpc)
{
	int rc;

	rc = shim_rpc_send(side, rpc);
	if (rc)
		return rc;
	rc = shim_rpc_wait(side, rpc);
	shim_rpc_end(side, rpc);
	if (!rc && rpc->res &&
	    (rpc->placed != rpc->res->len ||
	     shim_buf_check(rpc->res, rpc->seed) != rpc->res->len))
		rc = -EIO;
	if (!rc && !rpc->res && rpc->got != ALIGN(rpc->inline_res, 4))
		rc = -EIO;
	return rc;
}

/* ---- Accounts ---- */

struct shim_accounts {
	u32	inflight_wrs, sends, slots, receives;
	s32	beyond;		/* advertised minus the allowed maximum */
	u32	queued, mrs;
	u64	held;		/* bytes charged to the peer */
};

static void shim_read_accounts(struct shim_side *side,
			       struct shim_accounts *a)
{
	struct rpcrdma_memory_account memory;
	struct rpcrdma_ep *ep = side->ep;
	struct rpcrdma_work *work;
	struct rpcrdma_mr *mr;

	memset(a, 0, sizeof(*a));
	spin_lock(&ep->lock);
	for (work = ep->core.inflight; work; work = work->next) {
		a->inflight_wrs += work->wrs.nr;
		a->sends += work->kind != RPCRDMA_WORK_RDMA;
	}
	list_for_each_entry(work, &ep->core.messages, list) {
		a->queued++;
		a->sends += work->kind != RPCRDMA_WORK_STREAM;
	}
	list_for_each_entry(work, &ep->core.transfers, list)
		a->queued++;
	a->queued += READ_ONCE(ep->read_pool.waiting);
	a->sends += ep->core.sq.contexts + (ep->core.call_send ? 1 : 0);
	a->slots = ep->core.sq.posted - ep->core.sq.through;
	a->receives = ep->core.conn.posted - ep->core.conn.received +
		      ep->core.conn.kept_back;
	if (ep->core.conn.version == RPCRDMA_VERS_2)
		a->beyond = ep->core.conn.advertised - (ep->core.conn.posted - 1);
	spin_unlock(&ep->lock);

	spin_lock(&ep->mr_lock);
	list_for_each_entry(mr, &ep->free_mrs, list)
		a->mrs++;
	spin_unlock(&ep->mr_lock);

	/* A held Call that was continued is charged as long as its Receive is held. */
	rpcrdma_ep_memory(ep, &memory);
	if (!READ_ONCE(side->nr_held))
		a->held = memory.held[RPCRDMA_MEMORY_CALLS];
	a->held += memory.held[RPCRDMA_MEMORY_REPLIES];
}

static bool shim_accounts_ok(struct shim_side *side, struct shim_accounts *a)
{
	struct rpcrdma_ep *ep = side->ep;

	shim_read_accounts(side, a);
	return a->inflight_wrs == a->slots && a->sends == ep->core.nr_sends &&
	       a->receives == ep->nr_recvs - READ_ONCE(side->nr_held) &&
	       a->beyond <= 0 && !a->queued && !a->held &&
	       a->mrs == ep->regions.made;
}

void shim_check_idle(struct kunit *test, struct shim_side *side)
{
	struct rpcrdma_ep *ep = side->ep;
	struct shim_accounts a;

	/* The last completions may still be outstanding. */
	if (shim_poll(shim_accounts_ok(side, &a)))
		return;
	kunit_err(test, "%s: slots %u of %u, sends %u of %u, receives %u of %u, %u held, beyond %d, queued %u, octets held %llu, mrs %u of %u",
		  ep->client ? "client" : "server", a.inflight_wrs, a.slots,
		  a.sends, ep->core.nr_sends, a.receives, ep->nr_recvs,
		  side->nr_held, a.beyond, a.queued, a.held, a.mrs, ep->regions.made);
	KUNIT_FAIL(test, "the accounts do not balance");
}

/* ---- Suites and fixtures ---- */

/* Find the address of a network device with an RDMA device of the wanted kind. */
static bool shim_find_address(void)
{
	const struct in_ifaddr *ifa;
	struct net_device *ndev;
	struct ib_device *dev;
	struct in_device *in;

	shim_addr.sin_family = 0;
	rtnl_lock();
	for_each_netdev(&init_net, ndev) {
		dev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
		if (!dev)
			continue;
		ib_device_put(dev);
		if (shim_memdev ? dev != memdev_ib(shim_memdev) :
				  !!memdev_find(ndev->name))
			continue;
		shim_iwarp = rdma_protocol_iwarp(dev, 1);
		in = __in_dev_get_rtnl(ndev);
		ifa = in ? rtnl_dereference(in->ifa_list) : NULL;
		if (!ifa)
			continue;
		shim_addr.sin_family = AF_INET;
		shim_addr.sin_addr.s_addr = ifa->ifa_local;
		break;
	}
	rtnl_unlock();
	return shim_addr.sin_family == AF_INET;
}

int shim_mem_suite_init(struct kunit_suite *suite)
{
	struct memdev *md = memdev_find("mem0");
	int rc;

	/* Recreate the device if a suite has removed it. */
	if (!md)
		md = memdev_add("mem0");
	if (IS_ERR(md)) {
		pr_err("rpcrdma_shim_test: the device in memory needs a network device mem0 with an IPv4 address\n");
		return PTR_ERR(md);
	}
	shim_memdev = md;
	shim_mem_maps = atomic_read(&memdev_counts(md)->maps);
	rc = shim_suite_init(suite);
	if (rc)
		shim_memdev = NULL;
	return rc;
}

int shim_suite_init(struct kunit_suite *suite)
{
	/* Without a device, fail: a pass without any test would be misleading. */
	if (!shim_find_address()) {
		pr_err("rpcrdma_shim_test: no RDMA device with an IPv4 address: make one first, such as rxe on a dummy netdev\n");
		return -ENODEV;
	}
	return rpcrdma_ep_init();
}

void shim_suite_exit(struct kunit_suite *suite)
{
	if (rpcrdma_wq)
		rpcrdma_ep_exit();
	rpcrdma_wq = NULL;
	shim_memdev = NULL;
}

int shim_test_init(struct kunit *test)
{
	struct shim_pair *pair;

	pair = kunit_kzalloc(test, sizeof(*pair), GFP_KERNEL);
	if (!pair)
		return -ENOMEM;
	pair->client_params = (struct rpcrdma_ep_params){
		.window		= 16,
		.reverse	= 4,
		.sends		= 16,
		.send_size	= 4096,
		.recv_size	= 4096,
		.reassembly	= 262144,
		.max_mrs	= 64,
		.reads		= 48,
		.brs		= RDMA2_RVRSDIR_GENL,
		.version_low	= RPCRDMA_VERS_2,
		.version_high	= RPCRDMA_VERS_2,
	};
	pair->server_params = pair->client_params;
	pair->server_params.sends = 64;
	pair->server_params.reads = 64;
	mutex_init(&pair->lock);
	shim_side_init(&pair->client, 0x1000);
	shim_side_init(&pair->server, 0x80001000);
	shim_test_begin();

	pair->listener = rpcrdma_listen(&init_net,
					(struct sockaddr *)&shim_addr,
					shim_incoming, pair);
	if (IS_ERR(pair->listener))
		return PTR_ERR(pair->listener);
	test->priv = pair;
	return 0;
}

void shim_test_exit(struct kunit *test)
{
	struct shim_pair *pair = test->priv;

	if (!pair)
		return;
	shim_fail_at(0);
	rpcrdma_listener_destroy(pair->listener);
	shim_disconnect(test, pair);
}
