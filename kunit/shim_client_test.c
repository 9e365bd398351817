// SPDX-License-Identifier: GPL-2.0
/*
 * Suites of the client's transport: sunrpc's own RPC client uses it against a peer
 * that follows a script.
 *
 * A Call's arguments are the length of the result, the length of the plain argument
 * and that of the bulk argument, followed by these two. The result is a length,
 * followed by the data.
 */

#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../net/sunrpc/xprtrdma/compat.h"
#include "../net/sunrpc/xprtrdma/verbs/internal.h"
#include "../net/sunrpc/xprtrdma/sunrpc/client.h"
#include "../net/sunrpc/xprtrdma/sunrpc/server.h"
#include "../net/sunrpc/xprtrdma/sunrpc/server_bc.h"
#include "../net/sunrpc/xprtrdma/sunrpc/settings.h"
#include "shim.h"

enum {
	PEER_STEPS	= 8,
	PEER_ATTEMPTS	= 16,
	PEER_PAGES	= 16,		/* pages of bulk data in each direction */
	PEER_PLAIN	= 8192,		/* maximum bytes of plain argument */
	PEER_TAIL	= 16384,	/* space after a result, see ROOM */
	PEER_MESSAGE	= 128 << 10,	/* maximum bytes of any message */
	PEER_CALL_HEAD	= 40,		/* RPC Call with AUTH_NULL */
	PEER_REPLY_HEAD	= 24,
	PEER_WAIT_S	= 40,		/* less than a retransmission timeout */
};

/* ---- The peer ---- */

/* Faults of a Reply */
enum {
	PEER_BAD_CHUNK = 1,	/* it returns a chunk that the Call did not provide */
	PEER_BAD_XID,		/* the message has another XID than its header */
	PEER_GARBAGE_ARGS,	/* accept_stat is GARBAGE_ARGS */
};

/* The peer's reaction to a Call */
struct peer_step {
	u32	code;		/* RDMA2_ERR_*; 0: serve the Call */
	u32	arg0, arg1;
	u32	errors;		/* number of ERRORs to send; 0: one */
	bool	serve;		/* also serve the Call after the ERRORs */
	u32	bad;		/* PEER_BAD_* or PEER_GARBAGE_ARGS; 0: no fault */
};

/* Properties of a received Call */
struct peer_attempt {
	u32	xid;
	u8	format, nr_reads, nr_writes, has_reply;
	u16	nr_segs;
	bool	sound;		/* all bytes correct; set if served */
};

struct peer {
	struct rpcrdma_listener	*listener;
	struct rpcrdma_ep_params params;
	struct rpcrdma_ep	*ep;
	spinlock_t		lock;
	wait_queue_head_t	wait;
	struct peer_step	steps[PEER_STEPS];
	unsigned int		nr_steps;
	bool			every;		/* apply steps[0] to each new XID */
	bool			marked;		/* apply steps[0] to Calls with 8 bytes */
	bool			whole;		/* leave Write chunks unused */
	struct peer_attempt	attempts[PEER_ATTEMPTS];
	unsigned int		nr_attempts;
	bool			hold;		/* keep Receives of Calls */
	bool			mute_client;	/* mute the client before replying */
	struct list_head	held;
	unsigned int		nr_held;
	struct list_head	queue;		/* Calls not processed yet */
	struct work_struct	work;
	atomic_t		connections, connected;	/* now, ever */
	u8			*call;		/* complete Call being processed */
	u32			seen[1024];	/* xids */
	unsigned int		nr_seen;
	const struct peer_kind	*kind;
	struct rpc_clnt		*clnt;
	int			module_refs;	/* before transports were created */
	/* Reverse direction: an RPC client of the peer, a service of the client */
	struct svc_xprt		sxprt;
	struct svc_xprt_class	sclass;
	struct rpc_clnt		*callback;
	struct svc_serv		*serv;
	struct task_struct	*service;
	u8			*cb_call;	/* Call that @service processes */
	unsigned int		cb_served;
	bool			cb_sound;	/* all Calls were correct */
	bool			cb_hold;	/* don't send Replies yet */
};

/* Replaces the server transport's function, which the reverse direction calls. */
struct rpcrdma_ep *rpcrdma_server_ep(struct svc_xprt *xprt)
{
	return container_of(xprt, struct peer, sxprt)->ep;
}

static u8 peer_octet(u32 i)
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

static void peer_fill(u8 *p, u32 len)
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
	rw = rpcrdma_rw_alloc(rv->ep, DMA_FROM_DEVICE, 0, GFP_KERNEL);
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

static bool peer_sound(const u8 *call, u32 len, u32 *want)
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
	struct rpcrdma_exposed		exposed;
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

static void peer_pulled(struct rpcrdma_exposed *x)
{
	peer_reply_free(container_of(x, struct peer_reply, exposed));
}

/* Get a Send context. Those of earlier Replies may still be in use: wait for one. */
static struct rpcrdma_send *peer_send_get(struct rpcrdma_ep *ep)
{
	unsigned long end = jiffies + PEER_WAIT_S * HZ;
	struct rpcrdma_send *s;

	while (!(s = rpcrdma_send_get(ep)) && rpcrdma_ep_is_open(ep) &&
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
	struct rpcrdma_ep *ep = rv->ep;
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
		rpcrdma_ep_send_error(ep, xid, r->plan.error, r->plan.arg[0],
				      r->plan.arg[1]);
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
		rw = rpcrdma_rw_alloc(ep, DMA_TO_DEVICE, 0, GFP_KERNEL);
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
		r->exposed.release = peer_pulled;
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
		rpcrdma_send_continued_reply(ep, st, rw, r->plan.inv_handle);
	} else {
		s = peer_send_get(ep);
		if (!s)
			goto out_rw;
		if (rpcrdma_send_room(s, ep->params.send_size, GFP_KERNEL)) {
			rpcrdma_send_put(s);
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
			s->exposed = &r->exposed;
		rpcrdma_send_reply(s, rw, r->plan.inv_handle, r->plan.format,
				   &r->plan.lists);
	}
	if (!rw && !exposed)
		peer_reply_free(r);
	return true;

out_rw:
	if (exposed)
		rpcrdma_expose_cancel(&r->exposed);
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
		shim_mute = SHIM_MUTE_CLIENT;
	/* On a new connection, the client retransmits the Call. */
	if (!attempt->sound || !peer_reply(rv, want, bad))
		rpcrdma_ep_close(rv->ep, NULL);
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
	struct rpcrdma_ep *ep = rv->ep;
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

	/* Record the Call before it is answered: the test checks it after that. */
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
		rpcrdma_ep_send_error(ep, rv->rx.xid, step.code, step.arg0,
				      step.arg1);
	if (!step.code || step.serve)
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

static void peer_worker(struct work_struct *work)
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

static void peer_release(struct peer *peer)
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

static int peer_incoming(void *priv, struct rpcrdma_ep *ep)
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

/* ---- The RPC program ---- */

struct peer_rpc {
	u32		plain;		/* bytes of plain argument */
	u32		bulk;		/* bytes of argument in pages */
	u32		want;		/* bytes of result in pages */
	bool		ddp;		/* pages are DDP-eligible */
	u32		got;
	struct page	*arg[PEER_PAGES], *res[PEER_PAGES];
};

static void peer_encode(struct rpc_rqst *req, struct xdr_stream *xdr,
			const void *obj)
{
	const struct peer_rpc *rpc = obj;
	__be32 *p;

	p = xdr_reserve_space(xdr, 12 + rpc->plain);
	if (WARN_ON_ONCE(!p))
		return;
	*p++ = cpu_to_be32(rpc->want);
	*p++ = cpu_to_be32(rpc->plain);
	*p++ = cpu_to_be32(rpc->bulk);
	peer_fill((u8 *)p, rpc->plain);
	if (rpc->bulk) {
		xdr_write_pages(xdr, (struct page **)rpc->arg, 0, rpc->bulk);
		if (rpc->ddp)
			req->rq_snd_buf.flags |= XDRBUF_WRITE;
	}
	if (rpc->want) {
		rpc_prepare_reply_pages(req, (struct page **)rpc->res, 0,
					rpc->want, 1);
		if (rpc->ddp)
			req->rq_rcv_buf.flags |= XDRBUF_READ;
	}
}

static int peer_decode(struct rpc_rqst *req, struct xdr_stream *xdr, void *obj)
{
	struct peer_rpc *rpc = obj;
	__be32 *p = xdr_inline_decode(xdr, 4);

	if (!p)
		return -EIO;
	rpc->got = be32_to_cpup(p);
	return xdr_read_pages(xdr, rpc->got) == rpc->got ? 0 : -EIO;
}

static const struct rpc_procinfo peer_procs[] = {
	{ .p_proc = 0 },
	{
		.p_proc		= 1,
		.p_encode	= peer_encode,
		.p_decode	= peer_decode,
		.p_arglen	= 3 + PEER_PLAIN / 4,
		.p_replen	= 1,
		.p_statidx	= 1,
		.p_name		= "ECHO",
	},
	{
		.p_proc		= 1,
		.p_encode	= peer_encode,
		.p_decode	= peer_decode,
		.p_arglen	= 3 + PEER_PLAIN / 4,
		.p_replen	= PEER_TAIL / 4,
		.p_statidx	= 1,
		.p_name		= "ROOM",
	},
};

static unsigned int peer_counts[ARRAY_SIZE(peer_procs)];
static const struct rpc_version peer_version = {
	.number		= 1,
	.nrprocs	= ARRAY_SIZE(peer_procs),
	.procs		= peer_procs,
	.counts		= peer_counts,
};
static const struct rpc_version *peer_versions[] = { NULL, &peer_version };
static const struct rpc_program peer_program;
static struct rpc_stat peer_stat = { .program = &peer_program };
static const struct rpc_program peer_program = {
	.name		= "shim",
	.number		= 0x20000042,
	.nrvers		= ARRAY_SIZE(peer_versions),
	.version	= peer_versions,
	.stats		= &peer_stat,
};

static void peer_rpc_free(struct peer_rpc *rpc)
{
	int i;

	for (i = 0; rpc && i < PEER_PAGES; i++) {
		if (rpc->arg[i])
			put_page(rpc->arg[i]);
		if (rpc->res[i])
			put_page(rpc->res[i]);
	}
	kfree(rpc);
}

static struct peer_rpc *peer_rpc_alloc(u32 plain, u32 bulk, u32 want, bool ddp)
{
	struct peer_rpc *rpc = kzalloc(sizeof(*rpc), GFP_KERNEL);
	u32 i, j;

	if (!rpc)
		return NULL;
	rpc->plain = plain;
	rpc->bulk = bulk;
	rpc->want = want;
	rpc->ddp = ddp;
	for (i = 0; i < PEER_PAGES; i++) {
		rpc->arg[i] = alloc_page(GFP_KERNEL);
		rpc->res[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!rpc->arg[i] || !rpc->res[i]) {
			peer_rpc_free(rpc);
			return NULL;
		}
		for (j = 0; j < PAGE_SIZE; j++)
			((u8 *)page_address(rpc->arg[i]))[j] =
				peer_octet(i * PAGE_SIZE + j);
	}
	return rpc;
}

/* Return 0 if the result is complete and correct. */
static int peer_rpc_result(const struct peer_rpc *rpc)
{
	u32 i;

	if (rpc->got != rpc->want)
		return -EBADMSG;
	for (i = 0; i < rpc->want; i++)
		if (((u8 *)page_address(rpc->res[i >> PAGE_SHIFT]))
		    [offset_in_page(i)] != peer_octet(i))
			return -EILSEQ;
	return 0;
}

/* Run one RPC of procedure @proc. Return its status. */
static int peer_call_proc(struct kunit *test, struct rpc_clnt *clnt,
			  unsigned int proc, u32 plain, u32 bulk, u32 want,
			  bool ddp)
{
	unsigned long start = jiffies;
	struct rpc_message msg = {
		.rpc_proc	= &peer_procs[proc],
	};
	struct peer_rpc *rpc;
	int rc;

	rpc = peer_rpc_alloc(plain, bulk, want, ddp);
	KUNIT_ASSERT_NOT_NULL(test, rpc);
	msg.rpc_argp = rpc;
	msg.rpc_resp = rpc;
	rc = rpc_call_sync(clnt, &msg, 0);
	if (!rc)
		rc = peer_rpc_result(rpc);
	peer_rpc_free(rpc);
	/* The RPC did not wait for a retransmission timeout. */
	KUNIT_EXPECT_LT(test, jiffies - start, (unsigned long)PEER_WAIT_S * HZ);
	return rc;
}

static int peer_call_by(struct kunit *test, struct rpc_clnt *clnt, u32 plain,
			u32 bulk, u32 want, bool ddp)
{
	return peer_call_proc(test, clnt, 1, plain, bulk, want, ddp);
}

static int peer_call(struct kunit *test, u32 plain, u32 bulk, u32 want,
		     bool ddp)
{
	struct peer *peer = test->priv;

	return peer_call_by(test, peer->clnt, plain, bulk, want, ddp);
}

/* ---- Fixture ---- */

/* Kind of RPC client. A test without parameters uses NFSv3's. */
struct peer_kind {
	const char	*name;
	unsigned long	flags;
};

static const struct peer_kind peer_kinds[] = {
	{ "v3", 0 },
	/* The flags that fs/nfs/nfs4client.c sets */
	{ "v4", RPC_CLNT_CREATE_DISCRTRY | RPC_CLNT_CREATE_NO_RETRANS_TIMEOUT },
};

static void peer_kind_name(const struct peer_kind *kind, char *desc)
{
	strscpy(desc, kind->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(peer_kind, peer_kinds, peer_kind_name);

static int peer_suite_begin(struct kunit_suite *suite,
			    int (*init)(struct kunit_suite *suite))
{
	int rc = init(suite);

	if (rc)
		return rc;
	rc = rpcrdma_client_init();
	if (rc)
		goto out_shim;
	rc = rpcrdma_server_bc_init();
	if (rc)
		goto out_client;
	return 0;

out_client:
	rpcrdma_client_exit();
out_shim:
	shim_suite_exit(suite);
	return rc;
}

static int peer_suite_init(struct kunit_suite *suite)
{
	return peer_suite_begin(suite, shim_suite_init);
}

static int peer_mem_suite_init(struct kunit_suite *suite)
{
	return peer_suite_begin(suite, shim_mem_suite_init);
}

static void peer_suite_exit(struct kunit_suite *suite)
{
	rpcrdma_server_bc_exit();
	rpcrdma_client_exit();
	shim_suite_exit(suite);
}

static int peer_connect(struct peer *peer)
{
	const struct sockaddr *addr = rpcrdma_listener_addr(peer->listener);
	struct rpc_create_args args = {
		.net		= &init_net,
		.protocol	= XPRT_TRANSPORT_RDMA,
		.address	= (struct sockaddr *)addr,
		.addrsize	= sizeof(struct sockaddr_in),
		.servername	= "shim",
		.program	= &peer_program,
		.version	= 1,
		.authflavor	= RPC_AUTH_NULL,
		.flags		= RPC_CLNT_CREATE_NOPING |
				  RPC_CLNT_CREATE_HARDRTRY | peer->kind->flags,
		.cred		= current_cred(),
	};

	peer->clnt = rpc_create(&args);
	return PTR_ERR_OR_ZERO(peer->clnt);
}

/* Set the module parameters that tests change. */
static void peer_settings(void)
{
	rpcrdma_slot_table_entries = 128;
	rpcrdma_max_inline_write = 4096;
	rpcrdma_max_reassembly = 262144;
	rpcrdma_reverse_level = RDMA2_RVRSDIR_GENL;
}

static int peer_test_init(struct kunit *test)
{
	struct peer *peer;

	peer = kunit_kzalloc(test, sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return -ENOMEM;
	peer->call = kunit_kzalloc(test, PEER_MESSAGE, GFP_KERNEL);
	if (!peer->call)
		return -ENOMEM;
	spin_lock_init(&peer->lock);
	init_waitqueue_head(&peer->wait);
	INIT_LIST_HEAD(&peer->held);
	INIT_LIST_HEAD(&peer->queue);
	INIT_WORK(&peer->work, peer_worker);
	peer->kind = test->param_value ?: peer_kinds;
	peer->params = (struct rpcrdma_ep_params){
		.window		= 32,
		.reverse	= 4,
		.sends		= 64,
		.send_size	= 4096,
		.recv_size	= 4096,
		.reassembly	= 262144,
		.max_mrs	= 64,
		.reads		= 64,
		.version_low	= RPCRDMA_VERS_2,
		.version_high	= RPCRDMA_VERS_2,
	};
	peer->module_refs = module_refcount(THIS_MODULE);
	shim_test_begin();
	peer->listener = rpcrdma_listen(&init_net,
					(struct sockaddr *)&shim_addr,
					peer_incoming, peer);
	if (IS_ERR(peer->listener))
		return PTR_ERR(peer->listener);
	peer_settings();
	test->priv = peer;
	return 0;
}

static void peer_test_exit(struct kunit *test)
{
	struct peer *peer = test->priv;
	bool idle;

	if (!peer)
		return;
	if (!IS_ERR_OR_NULL(peer->clnt))
		rpc_shutdown_client(peer->clnt);
	peer_release(peer);
	idle = wait_event_timeout(peer->wait, !atomic_read(&peer->connections),
				  60 * HZ);
	KUNIT_EXPECT_TRUE(test, idle);
	rpcrdma_listener_destroy(peer->listener);
	flush_work(&peer->work);
	peer_release(peer);
	shim_check_gone(test);
	/*
	 * sunrpc destroys transports later. Each holds a module reference, which keeps
	 * rpcrdma.ko loaded until then. Here the fixture must wait for it.
	 */
	KUNIT_EXPECT_TRUE(test, shim_poll(module_refcount(THIS_MODULE) ==
					  peer->module_refs));
}

static struct peer *peer_open(struct kunit *test)
{
	struct peer *peer = test->priv;

	KUNIT_ASSERT_EQ(test, peer_connect(peer), 0);
	return peer;
}

/* Return a reference to the client's endpoint, or to the peer's; or NULL. */
static struct rpcrdma_ep *peer_client_ep(struct peer *peer)
{
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);

	return rpcrdma_client_ep(rpcrdma_xprt_client(xprt));
}

static struct rpcrdma_ep *peer_server_ep(struct peer *peer)
{
	struct rpcrdma_ep *ep;

	spin_lock(&peer->lock);
	ep = peer->ep;
	rpcrdma_ep_get(ep);
	spin_unlock(&peer->lock);
	return ep;
}

/* Start a new script. */
static void peer_script(struct peer *peer, const struct peer_step *steps,
			unsigned int nr)
{
	spin_lock(&peer->lock);
	memset(peer->attempts, 0, sizeof(peer->attempts));
	peer->nr_attempts = 0;
	if (nr)
		memcpy(peer->steps, steps, nr * sizeof(*steps));
	peer->nr_steps = nr;
	spin_unlock(&peer->lock);
}

/* Start a script with one step: an ERROR. */
static void peer_refuse(struct peer *peer, u32 code, u32 arg0, u32 arg1)
{
	struct peer_step step = {
		.code = code, .arg0 = arg0, .arg1 = arg1,
	};

	peer_script(peer, &step, 1);
}

/* Check that the RPC has succeeded at the second attempt. Return that attempt. */
static const struct peer_attempt *peer_second(struct kunit *test)
{
	struct peer *peer = test->priv;

	KUNIT_ASSERT_EQ(test, peer->nr_attempts, 2U);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].xid, peer->attempts[1].xid);
	KUNIT_EXPECT_TRUE(test, peer->attempts[1].sound);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	return &peer->attempts[1];
}

/* ---- Recovery ---- */

/* Without errors, the peer serves all kinds of Calls. */
static void recover_nothing(struct kunit *test)
{
	struct peer *peer = peer_open(test);

	peer_script(peer, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 8, 0, 300, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 60000, 0, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 0, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 50003, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, 50003, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, 50003, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 7U);
}

/* A Responder may leave the Write chunk unused, however the Reply is conveyed. */
static void recover_unused_write_chunk(struct kunit *test)
{
	struct peer *peer = test->priv;
	u32 want;

	peer->whole = true;
	peer_open(test);
	peer_script(peer, NULL, 0);
	/* Replies inline and continued */
	for (want = 1001; want < 60000; want *= 3) {
		KUNIT_EXPECT_EQ(test, peer_call_proc(test, peer->clnt, 2, 0, 0,
						     want, true), 0);
	}
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_writes, 1);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].has_reply, 0);
	rpc_shutdown_client(peer->clnt);

	/* Replies inline, and in a Reply chunk of head and tail */
	rpcrdma_max_reassembly = 0;
	KUNIT_ASSERT_EQ(test, peer_connect(peer), 0);
	peer_script(peer, NULL, 0);
	for (want = 1001; want < PEER_TAIL; want += 1001) {
		KUNIT_EXPECT_EQ(test, peer_call_proc(test, peer->clnt, 2, 0, 0,
						     want, true), 0);
	}
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_writes, 1);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].has_reply, 1);
}

static void recover_read_chunks(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct peer_attempt *a;

	peer_refuse(peer, RDMA2_ERR_READ_CHUNKS, 0, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 100, true), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_reads, 1);
	a = peer_second(test);
	KUNIT_EXPECT_EQ(test, a->nr_reads, 0);
	KUNIT_EXPECT_EQ(test, a->format, RPCRDMA_CONTINUED);
}

static void recover_read_chunks_special(struct kunit *test)
{
	struct peer *peer = test->priv;
	const struct peer_attempt *a;

	peer->params.reassembly = 0;
	peer_open(test);
	peer_refuse(peer, RDMA2_ERR_READ_CHUNKS, 1, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, 50001, 100, true), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_reads, 2);
	a = peer_second(test);
	KUNIT_EXPECT_EQ(test, a->nr_reads, 1);
	KUNIT_EXPECT_EQ(test, a->format, RPCRDMA_SPECIAL);
}

static void recover_write_chunks(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct peer_attempt *a;

	peer_refuse(peer, RDMA2_ERR_WRITE_CHUNKS, 0, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_writes, 1);
	a = peer_second(test);
	KUNIT_EXPECT_EQ(test, a->nr_writes, 0);
	KUNIT_EXPECT_EQ(test, a->has_reply, 1);
}

/* After ERR_SEGMENTS, the Call and later Calls use fewer segments. */
static void recover_segments(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct peer_attempt *a;
	struct rpcrdma_ep *ep;

	peer_refuse(peer, RDMA2_ERR_SEGMENTS, 1, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_segs, 2);
	a = peer_second(test);
	KUNIT_EXPECT_LE(test, a->nr_segs, 1);

	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_limits(&ep->core.conn).max_segs, 1U);
	rpcrdma_ep_put(ep);
	peer_script(peer, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
	KUNIT_EXPECT_LE(test, peer->attempts[0].nr_segs, 1);
}

static void recover_reply_resource(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct peer_attempt *a;

	peer_refuse(peer, RDMA2_ERR_REPLY_RESOURCE, 60000, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].has_reply, 0);
	a = peer_second(test);
	KUNIT_EXPECT_EQ(test, a->has_reply, 1);

	/* Later Calls with as large a Reply have a Reply chunk at once. */
	peer_script(peer, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].has_reply, 1);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 50000, false), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[1].has_reply, 0);

	/* The Reply needs more than the buffer has, or an unknown length. */
	peer_refuse(peer, RDMA2_ERR_REPLY_RESOURCE, 70000, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
	peer_refuse(peer, RDMA2_ERR_REPLY_RESOURCE, 0, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
}

/* The peer requires space for the roundup in the Write chunk. */
static void recover_write_resource(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct peer_attempt *a;

	peer_refuse(peer, RDMA2_ERR_WRITE_RESOURCE, 1, 60004);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].nr_writes, 1);
	a = peer_second(test);
	KUNIT_EXPECT_EQ(test, a->nr_writes, 0);

	peer_refuse(peer, RDMA2_ERR_WRITE_RESOURCE, 1, 60005);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, true), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
	peer_refuse(peer, RDMA2_ERR_WRITE_RESOURCE, 0, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, true), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
}

/* Permanent errors end the RPC, but not the connection. */
static void recover_permanent(struct kunit *test)
{
	static const struct {
		u32 code;
		int status;
	} cases[] = {
		{ RDMA2_ERR_BAD_XDR, -EIO },
		{ RDMA2_ERR_BAD_PROPVAL, -EIO },
		{ RDMA2_ERR_INVAL_HTYPE, -EIO },
		{ RDMA2_ERR_INVAL_CONT, -EIO },
		{ RDMA2_ERR_SYSTEM, -EREMOTEIO },
	};
	struct peer *peer = peer_open(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		peer_refuse(peer, cases[i].code, 0, 0);
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true),
				cases[i].status);
		KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
		KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	}
	peer_script(peer, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

/* The peer refuses every attempt: the retries end. */
static void recover_ends(struct kunit *test)
{
	static const struct peer_step steps[] = {
		{ RDMA2_ERR_SEGMENTS, 3 },
		{ RDMA2_ERR_READ_CHUNKS, 0 },
		{ RDMA2_ERR_WRITE_CHUNKS, 0 },
		{ RDMA2_ERR_SEGMENTS, 0 },
		{ RDMA2_ERR_READ_CHUNKS, 0 },
		{ RDMA2_ERR_WRITE_CHUNKS, 0 },
		{ RDMA2_ERR_SEGMENTS, 0 },
		{ RDMA2_ERR_READ_CHUNKS, 0 },
	};
	struct peer *peer = peer_open(test);
	int i;

	peer_script(peer, steps, ARRAY_SIZE(steps));
	KUNIT_EXPECT_LT(test, peer_call(test, 6000, 50001, 60001, true), 0);
	KUNIT_EXPECT_LE(test, peer->nr_attempts, 4U);
	for (i = 1; i < ARRAY_SIZE(steps); i++) {
		struct peer_step same[ARRAY_SIZE(steps)];
		int j;

		for (j = 0; j < ARRAY_SIZE(same); j++)
			same[j] = steps[i];
		peer_script(peer, same, ARRAY_SIZE(same));
		KUNIT_EXPECT_LT(test, peer_call(test, 0, 50001, 60001, true),
				0);
		KUNIT_EXPECT_LE(test, peer->nr_attempts, 2U);
	}
	peer_script(peer, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
}

/* A bad Reply ends the RPC, because a retry would get the same. */
static void recover_bad_reply(struct kunit *test)
{
	static const struct {
		u32 bad, want;
		bool ddp;
	} cases[] = {
		{ PEER_BAD_CHUNK, 60001, true },
		{ PEER_BAD_XID, 100, false },
		{ PEER_BAD_XID, 60001, true },
	};
	struct peer *peer = peer_open(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct peer_step step = { .bad = cases[i].bad };

		peer_script(peer, &step, 1);
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, cases[i].want,
						cases[i].ddp), -EIO);
		KUNIT_EXPECT_EQ(test, peer->nr_attempts, 1U);
		KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	}
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

/* Repeated ERRORs, and Replies to refused Calls */
static void recover_confused_peer(struct kunit *test)
{
	static const struct peer_step confused[] = {
		{ RDMA2_ERR_READ_CHUNKS, 0, 0, 2 },
		{ RDMA2_ERR_WRITE_CHUNKS, 0, 0, 2 },
		{ RDMA2_ERR_BAD_XDR, 0, 0, 3 },
		/* The peer may access memory that is no longer exposed. */
		{ RDMA2_ERR_READ_CHUNKS, 0, 0, 1, true },
		{ RDMA2_ERR_WRITE_CHUNKS, 0, 0, 1, true },
		{ RDMA2_ERR_SYSTEM, 0, 0, 2, true },
	};
	struct peer *peer = peer_open(test);
	int i, rc;

	for (i = 0; i < ARRAY_SIZE(confused); i++) {
		peer_script(peer, &confused[i], 1);
		rc = peer_call(test, 0, 50001, 60001, true);
		kunit_info(test, "step %d: %d, %u attempts", i, rc,
			   peer->nr_attempts);
		KUNIT_EXPECT_LE(test, rc, 0);
		peer_script(peer, NULL, 0);
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50001, 60001, true),
				0);
	}
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	/* The peer's Replies invalidate handles that are already invalid. */
	atomic_set(&shim_double_inv, 0);
}

/* ---- Concurrent RPCs ---- */

struct peer_task {
	struct peer_rpc		*rpc;
	struct rpc_task		*task;
};

static const struct rpc_call_ops peer_call_ops;

static struct rpc_task *peer_start_by(struct rpc_clnt *clnt,
				      struct peer_rpc *rpc)
{
	struct rpc_message msg = {
		.rpc_proc	= &peer_procs[1],
		.rpc_argp	= rpc,
		.rpc_resp	= rpc,
	};
	struct rpc_task_setup setup = {
		.rpc_client	= clnt,
		.rpc_message	= &msg,
		.callback_ops	= &peer_call_ops,
		.flags		= RPC_TASK_ASYNC,
	};

	return rpc_run_task(&setup);
}

static struct rpc_task *peer_start(struct peer *peer, struct peer_rpc *rpc)
{
	return peer_start_by(peer->clnt, rpc);
}

static void peer_done(struct rpc_task *task, void *data)
{
}

static const struct rpc_call_ops peer_call_ops = {
	.rpc_call_done	= peer_done,
};

#define PEER_MANY 50

/*
 * Each Call is refused immediately, in any state of its task. No task may be left
 * waiting.
 */
static void recover_many(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	unsigned long start = jiffies;
	struct peer_task *t;
	int i, round;

	t = kunit_kcalloc(test, PEER_MANY, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	peer_refuse(peer, RDMA2_ERR_READ_CHUNKS, 0, 0);
	peer->every = true;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < PEER_MANY; i++) {
			t[i].rpc = peer_rpc_alloc(0, 5000 + i, 10, true);
			KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
			t[i].task = peer_start(peer, t[i].rpc);
			KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
		}
		for (i = 0; i < PEER_MANY; i++) {
			rpc_wait_for_completion_task(t[i].task);
			KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
			KUNIT_EXPECT_EQ(test, peer_rpc_result(t[i].rpc), 0);
			rpc_put_task(t[i].task);
			peer_rpc_free(t[i].rpc);
		}
	}
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 2U * 3 * PEER_MANY);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	KUNIT_EXPECT_LT(test, jiffies - start, (unsigned long)PEER_WAIT_S * HZ);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
}

/*
 * Every other Call is refused permanently and immediately, while other tasks send.
 * Each RPC gets its own result, never another RPC's.
 */
static void recover_own_result(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	struct peer_task *t;
	int i, round;

	t = kunit_kcalloc(test, PEER_MANY, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	/* Calls with eight plain bytes are refused, those with four are not. */
	peer_refuse(peer, RDMA2_ERR_BAD_XDR, 0, 0);
	peer->marked = true;
	for (round = 0; round < 4; round++) {
		for (i = 0; i < PEER_MANY; i++) {
			t[i].rpc = peer_rpc_alloc(4 + (i & 1) * 4, 0, 10, true);
			KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
			t[i].task = peer_start(peer, t[i].rpc);
			KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
		}
		for (i = 0; i < PEER_MANY; i++) {
			rpc_wait_for_completion_task(t[i].task);
			KUNIT_EXPECT_EQ(test, t[i].task->tk_status,
					i & 1 ? -EIO : 0);
			rpc_put_task(t[i].task);
			peer_rpc_free(t[i].rpc);
		}
	}
	KUNIT_EXPECT_EQ(test, peer->nr_attempts, 4U * PEER_MANY);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

static bool peer_attempted(struct peer *peer, unsigned int n)
{
	return wait_event_timeout(peer->wait,
				  READ_ONCE(peer->nr_attempts) >= n,
				  PEER_WAIT_S * HZ);
}

/* Calls are refused, and no credits are left to retransmit them. */
static void recover_without_window(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct peer_task t[6];
	int i, kill;

	peer->params.window = 8;
	peer_open(test);
	for (kill = 0; kill < 2; kill++) {
		peer_refuse(peer, RDMA2_ERR_READ_CHUNKS, 0, 0);
		peer->every = true;
		peer->hold = true;
		for (i = 0; i < ARRAY_SIZE(t); i++) {
			t[i].rpc = peer_rpc_alloc(0, 20000, 10, true);
			KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
			t[i].task = peer_start(peer, t[i].rpc);
			KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
		}
		/* All credits except the last two and the reserve */
		KUNIT_EXPECT_TRUE(test, peer_attempted(peer, 5));
		schedule_timeout_uninterruptible(HZ / 2);
		KUNIT_EXPECT_LE(test, peer->nr_attempts, 7U);
		if (kill)
			rpc_killall_tasks(peer->clnt);
		else
			peer_release(peer);
		for (i = 0; i < ARRAY_SIZE(t); i++) {
			rpc_wait_for_completion_task(t[i].task);
			/* Some Calls may have got a credit before that. */
			if (kill)
				KUNIT_EXPECT_LE(test, t[i].task->tk_status, 0);
			else
				KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
			rpc_put_task(t[i].task);
			peer_rpc_free(t[i].rpc);
		}
		peer_release(peer);
		peer->every = false;
		peer_script(peer, NULL, 0);
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 5000, 100, true), 0);
	}
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
}

/* The connection is lost while a Call waits for its retransmission. */
static void recover_reconnect(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct peer_task t[6];
	struct rpcrdma_ep *ep;
	int i;

	peer->params.window = 8;
	peer_open(test);
	peer_refuse(peer, RDMA2_ERR_READ_CHUNKS, 0, 0);
	peer->every = true;
	peer->hold = true;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		t[i].rpc = peer_rpc_alloc(0, 20000, 10, true);
		KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
		t[i].task = peer_start(peer, t[i].rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
	}
	KUNIT_EXPECT_TRUE(test, peer_attempted(peer, 5));
	/* On the new connection, each Call is planned without its retry limits. */
	spin_lock(&peer->lock);
	ep = peer->ep;
	rpcrdma_ep_get(ep);
	peer->nr_attempts = 0;
	spin_unlock(&peer->lock);
	peer_release(peer);
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_put(ep);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		rpc_wait_for_completion_task(t[i].task);
		KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
		rpc_put_task(t[i].task);
		peer_rpc_free(t[i].rpc);
	}
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
}

/* An RPC is killed when some fragments of its Call have been sent. */
static void recover_killed_half_sent(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct peer_rpc *rpc;
	struct rpc_task *task;
	struct rpcrdma_ep *ep, *server;
	unsigned long end;
	int chunks;

	peer->params.window = 4;
	peer_open(test);
	for (chunks = 0; chunks < 2; chunks++) {
		peer_script(peer, NULL, 0);
		KUNIT_ASSERT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
		ep = peer_client_ep(peer);
		KUNIT_ASSERT_NOT_NULL(test, ep);
		server = peer_server_ep(peer);

		shim_mute = SHIM_MUTE_SERVER;
		rpc = peer_rpc_alloc(8192, 30000, 20000, chunks);
		KUNIT_ASSERT_NOT_NULL(test, rpc);
		task = peer_start(peer, rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		end = jiffies + PEER_WAIT_S * HZ;
		while (!READ_ONCE(ep->core.conn.tx_open) && time_before(jiffies, end))
			schedule_timeout_uninterruptible(1);
		KUNIT_EXPECT_TRUE(test, READ_ONCE(ep->core.conn.tx_open));
		rpc_killall_tasks(peer->clnt);
		rpc_wait_for_completion_task(task);
		KUNIT_EXPECT_LT(test, task->tk_status, 0);
		rpc_put_task(task);
		KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
		peer_rpc_free(rpc);

		shim_mute = 0;
		rpcrdma_ep_send_error(server, 1, RDMA2_ERR_SYSTEM, 0, 0);
		KUNIT_EXPECT_EQ(test, peer_call(test, 0, 5000, 5000, true), 0);
		rpcrdma_ep_put(server);
		rpcrdma_ep_put(ep);
	}
}

/*
 * If a Reply says GARBAGE_ARGS, sunrpc retransmits the Call with the same XID. The
 * connection, and its other RPCs, must survive that.
 */
static void recover_answered(struct kunit *test)
{
	static const struct peer_step steps[] = { { .bad = PEER_GARBAGE_ARGS } };
	struct peer *peer = peer_open(test);

	peer_script(peer, steps, ARRAY_SIZE(steps));
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	peer_second(test);
}

/* If memory for a continued Call cannot be allocated, use a Read chunk immediately. */
static void recover_no_memory_for_parts(struct kunit *test)
{
	struct peer *peer = peer_open(test);

	/* Make the client allocate MRs, which it does in the background. */
	KUNIT_EXPECT_EQ(test, peer_call(test, 8, 60000, 60000, true), 0);
	peer_script(peer, NULL, 0);
	shim_no_streams = 3;
	KUNIT_EXPECT_EQ(test, peer_call(test, 8192, 0, 0, true), 0);
	shim_no_streams = 0;
	KUNIT_EXPECT_EQ(test, peer_call(test, 8192, 0, 0, true), 0);
	KUNIT_ASSERT_EQ(test, peer->nr_attempts, 2U);
	KUNIT_EXPECT_EQ(test, peer->attempts[0].format, RPCRDMA_SPECIAL);
	KUNIT_EXPECT_EQ(test, peer->attempts[1].format, RPCRDMA_CONTINUED);
}

static struct kunit_case recover_cases[] = {
	KUNIT_CASE_PARAM(recover_nothing, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_unused_write_chunk, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_read_chunks, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_read_chunks_special, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_write_chunks, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_segments, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_reply_resource, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_write_resource, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_permanent, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_ends, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_bad_reply, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_confused_peer, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_many, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_own_result, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_without_window, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_reconnect, peer_kind_gen_params),
	KUNIT_CASE_PARAM(recover_killed_half_sent, peer_kind_gen_params),
	KUNIT_CASE(recover_answered),
	KUNIT_CASE(recover_no_memory_for_parts),
	{}
};

/* ---- Connection attempts ---- */

/* The delay after failed attempts is bounded, so that no lease expires meanwhile. */
static void connect_backoff(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct sockaddr_in nobody = shim_addr;
	struct rpc_create_args args = {
		.net		= &init_net,
		.protocol	= XPRT_TRANSPORT_RDMA,
		.address	= (struct sockaddr *)&nobody,
		.addrsize	= sizeof(nobody),
		.servername	= "shim",
		.program	= &peer_program,
		.version	= 1,
		.authflavor	= RPC_AUTH_NULL,
		.flags		= RPC_CLNT_CREATE_NOPING |
				  RPC_CLNT_CREATE_HARDRTRY,
		.cred		= current_cred(),
	};
	static const unsigned long seconds[] = { 5, 10, 10 };
	struct rpc_message msg = {
		.rpc_proc	= &peer_procs[1],
	};
	struct rpc_xprt *xprt;
	int i;

	msg.rpc_argp = peer_rpc_alloc(0, 0, 0, false);
	KUNIT_ASSERT_NOT_NULL(test, msg.rpc_argp);
	msg.rpc_resp = msg.rpc_argp;
	nobody.sin_port = htons(9);
	peer->clnt = rpc_create(&args);
	KUNIT_ASSERT_FALSE(test, IS_ERR(peer->clnt));
	xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	/*
	 * Each attempt reaches the other end, which rejects it. The third would double
	 * the delay beyond the bound.
	 */
	for (i = 0; i < ARRAY_SIZE(seconds); i++) {
		KUNIT_EXPECT_EQ(test, rpc_call_sync(peer->clnt, &msg,
						    RPC_TASK_SOFTCONN),
				-ECONNREFUSED);
		KUNIT_EXPECT_EQ(test, xprt->reestablish_timeout,
				seconds[i] * HZ);
	}
	peer_rpc_free(msg.rpc_argp);
}

/* With swap over the connection, the connect worker uses the memory reserves. */
static void connect_swap(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);

	KUNIT_EXPECT_EQ(test, xprt->ops->enable_swap(xprt), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&xprt->swapper), 1);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	KUNIT_EXPECT_TRUE(test, shim_connect_flags & PF_MEMALLOC);
	xprt->ops->disable_swap(xprt);
	KUNIT_EXPECT_EQ(test, atomic_read(&xprt->swapper), 0);
}

/* Concurrent writes never set the lowest version higher than the highest. */
static void connect_versions_do_not_cross(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, shim_cross_versions("2", "1"), -EINVAL);
	KUNIT_EXPECT_LE(test, rpcrdma_min_version, rpcrdma_max_version);
	rpcrdma_min_version = RPCRDMA_VERS_1;
	rpcrdma_max_version = RPCRDMA_VERS_2;
}

static struct kunit_case connect_cases[] = {
	KUNIT_CASE(connect_swap),
	KUNIT_CASE(connect_versions_do_not_cross),
	KUNIT_CASE(connect_backoff),
	{}
};

static struct kunit_suite connect_suite = {
	.name		= "rpcrdma_client_connect",
	.suite_init	= peer_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= peer_test_init,
	.exit		= peer_test_exit,
	.test_cases	= connect_cases,
};

/* ---- The reverse direction ---- */

/* Process a Call of the server, as nfs4_callback_svc() does. */
static void peer_callback(struct peer *peer, struct rpc_rqst *rqst)
{
	const struct xdr_buf *arg = &rqst->rq_rcv_buf;
	struct xdr_buf *res = &rqst->rq_snd_buf;
	u32 want = 0, len = arg->len;
	__be32 *p;
	int rc;

	/* sunrpc queues a request before Calls only if rq_cong is set. */
	if (len > PEER_MESSAGE || rqst->rq_private_buf.len != len ||
	    !rqst->rq_cong) {
		peer->cb_sound = false;
		len = 0;
	}
	rpcrdma_xdr_copy_out(arg, 0, len, peer->cb_call);
	if (!peer_sound(peer->cb_call, len, &want) || want > 3000) {
		peer->cb_sound = false;
		want = 0;
	}

	p = res->head[0].iov_base;
	memset(p, 0, PEER_REPLY_HEAD + 4 + xdr_align_size(want));
	p[0] = rqst->rq_xid;
	p[1] = cpu_to_be32(1);
	p[6] = cpu_to_be32(want);
	peer_fill((u8 *)&p[7], want);
	res->head[0].iov_len = PEER_REPLY_HEAD + 4 + xdr_align_size(want);
	res->len = res->head[0].iov_len;

	while (READ_ONCE(peer->cb_hold))
		schedule_timeout_uninterruptible(1);
	/* Count first: the test may check the Reply before send_request() returns. */
	peer->cb_served++;
	atomic_dec(&rqst->rq_xprt->bc_slot_count);
	while ((rc = rqst->rq_xprt->ops->send_request(rqst)) == -EAGAIN ||
	       rc == -ENOBUFS)
		schedule_timeout_uninterruptible(1);
	rqst->rq_xprt->ops->bc_free_rqst(rqst);
}

static int peer_service_fn(void *data)
{
	struct peer *peer = data;
	struct rpc_rqst *rqst;

	while (!kthread_should_stop()) {
		rqst = rpcrdma_bc_next(peer->serv);
		if (rqst)
			peer_callback(peer, rqst);
		else
			schedule_timeout_uninterruptible(1);
	}
	return 0;
}

/* The memory is part of struct peer. */
static void peer_sxprt_free(struct svc_xprt *sxprt)
{
}

static const struct svc_xprt_ops peer_sxprt_ops = {
	.xpo_free	= peer_sxprt_free,
};

/* Connect, with a callback service and a client that calls it. */
static struct peer *peer_open_reverse(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	const struct sockaddr *addr = rpcrdma_listener_addr(peer->listener);
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	struct rpc_create_args args = {
		.net		= &init_net,
		.protocol	= XPRT_TRANSPORT_BC_RDMA,
		.address	= (struct sockaddr *)addr,
		.addrsize	= sizeof(struct sockaddr_in),
		.servername	= "client",
		.program	= &peer_program,
		.version	= 1,
		.authflavor	= RPC_AUTH_NULL,
		.flags		= RPC_CLNT_CREATE_NOPING |
				  RPC_CLNT_CREATE_HARDRTRY,
		.bc_xprt	= &peer->sxprt,
		.cred		= current_cred(),
	};

	KUNIT_ASSERT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	peer->serv = kunit_kzalloc(test, sizeof(*peer->serv), GFP_KERNEL);
	peer->cb_call = kunit_kzalloc(test, PEER_MESSAGE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, peer->serv);
	KUNIT_ASSERT_NOT_NULL(test, peer->cb_call);
	/* Some kernels use this array to find a thread to wake. */
	peer->serv->sv_pools = kunit_kzalloc(test, sizeof(struct svc_pool),
					     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, peer->serv->sv_pools);
	rpcrdma_bc_queue_init(peer->serv);
	peer->cb_sound = true;
	peer->service = kthread_run(peer_service_fn, peer, "shim_callback");
	KUNIT_ASSERT_FALSE(test, IS_ERR(peer->service));
	xprt->bc_serv = peer->serv;
	KUNIT_ASSERT_EQ(test, xprt->ops->bc_setup(xprt, 2), 0);

	peer->sclass.xcl_ident = XPRT_TRANSPORT_RDMA;
	peer->sclass.xcl_ops = &peer_sxprt_ops;
	svc_xprt_init(&init_net, &peer->sclass, &peer->sxprt, peer->serv);
	peer->callback = rpc_create(&args);
	KUNIT_ASSERT_FALSE(test, IS_ERR(peer->callback));
	return peer;
}

/* Shut down the callback's RPC client, and release the svc_xprt. */
static void peer_end_callback(struct peer *peer)
{
	struct rpc_xprt *bc = peer->sxprt.xpt_bc_xprt;

	rpc_shutdown_client(peer->callback);
	kthread_stop(peer->service);
	/* sunrpc calls this when it deletes the svc_xprt. */
	bc->ops->close(bc);
	/* Upcalls may still run, and must not use freed objects. */
	peer->sxprt.xpt_bc_xprt = NULL;
	svc_xprt_put(&peer->sxprt);
	peer->sxprt.xpt_bc_xps = NULL;
	xprt_put(bc);
}

static void peer_close_reverse(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);

	peer_end_callback(peer);
	xprt->ops->bc_destroy(xprt, 2);
	xprt->bc_serv = NULL;
	KUNIT_EXPECT_TRUE(test, peer->cb_sound);
}

/* Run one RPC from the server to the client. Return its status. */
static int peer_call_back(struct kunit *test, u32 plain, u32 bulk, u32 want)
{
	struct peer *peer = test->priv;

	return peer_call_by(test, peer->callback, plain, bulk, want, false);
}

/* Like peer_call_back(), with a DDP-eligible argument and no result */
static int peer_call_back_ddp(struct kunit *test, u32 plain, u32 bulk)
{
	struct peer *peer = test->priv;

	return peer_call_by(test, peer->callback, plain, bulk, 0, true);
}

static void reverse_none(struct kunit *test)
{
	struct peer *peer = test->priv;
	u64 sent;

	rpcrdma_reverse_level = RDMA2_RVRSDIR_NONE;
	peer_open_reverse(test);
	sent = peer->ep->core.conn.sent;
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 0U);
	KUNIT_EXPECT_EQ(test, peer->ep->core.conn.sent, sent);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	peer_close_reverse(test);
}

static void reverse_simple(struct kunit *test)
{
	struct peer *peer = test->priv;
	u64 sent;

	rpcrdma_reverse_level = RDMA2_RVRSDIR_SIMPLE;
	peer_open_reverse(test);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 4000, 0, 2000), 0);
	/* Nothing beyond the client's reverse direction level is sent. */
	sent = peer->ep->core.conn.sent;
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 4008, 0, 0), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 9000, 0), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, peer->ep->core.conn.sent, sent);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 2U);
	peer_close_reverse(test);
}

/*
 * Calls have no credits, so sunrpc grants the write lock to no Call. A Reply in the
 * reverse direction gets the lock nevertheless, as soon as it is free, because the
 * server may need that Reply before it grants credits.
 */
static void reverse_before_calls(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct rpc_rqst *rqst;
	struct rpc_task *task;
	struct peer_task t[8];
	struct rpc_xprt *xprt;
	int i, n;

	peer->params.window = 8;
	peer_open_reverse(test);
	xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	rqst = kunit_kzalloc(test, sizeof(*rqst), GFP_KERNEL);
	task = kunit_kzalloc(test, sizeof(*task), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, rqst && task);
	__set_bit(RPC_BC_PA_IN_USE, &rqst->rq_bc_pa_state);
	task->tk_rqstp = rqst;

	peer->hold = true;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		t[i].rpc = peer_rpc_alloc(0, 100, 10, true);
		KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
		t[i].task = peer_start(peer, t[i].rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
	}
	for (n = 0; n < PEER_WAIT_S * HZ &&
	     !test_bit(XPRT_WRITE_SPACE, &xprt->state); n++)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_TRUE(test, test_bit(XPRT_WRITE_SPACE, &xprt->state));

	for (i = 0, n = 0; !i && n < PEER_WAIT_S * HZ; n++) {
		spin_lock(&xprt->transport_lock);
		if (!test_bit(XPRT_LOCKED, &xprt->state)) {
			i = xprt->ops->reserve_xprt(xprt, task) +
			    xprt->ops->reserve_xprt(xprt, task);
			KUNIT_EXPECT_PTR_EQ(test, xprt->snd_task, task);
			xprt->ops->release_xprt(xprt, task);
			KUNIT_EXPECT_FALSE(test, test_bit(XPRT_LOCKED,
							  &xprt->state));
		}
		spin_unlock(&xprt->transport_lock);
		schedule_timeout_uninterruptible(1);
	}
	KUNIT_EXPECT_EQ(test, i, 2);

	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	peer_release(peer);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		rpc_wait_for_completion_task(t[i].task);
		KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
		rpc_put_task(t[i].task);
		peer_rpc_free(t[i].rpc);
	}
	peer_close_reverse(test);
}

/* Continued Calls and Replies */
static void reverse_continued(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct rpcrdma_conn_counters *c;

	rpcrdma_reverse_level = RDMA2_RVRSDIR_CONT;
	rpcrdma_max_inline_write = 1024;
	peer_open_reverse(test);
	c = &peer->ep->core.conn.counters;
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 4008, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, c->calls[RPCRDMA_CONTINUED], 1ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 3000), 0);
	KUNIT_EXPECT_EQ(test, c->replies[RPCRDMA_CONTINUED], 1ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 8192, 50000, 3000), 0);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 4U);
	/* A Call longer than the service's pages fails, and the next one succeeds. */
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 8192, 60000, 0),
			-EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 8, 30000, 8), 0);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 5U);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	peer_close_reverse(test);
}

/* Calls with chunks, which the client reads and writes */
static void reverse_general(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct rpcrdma_conn_counters *c;

	/* Neither end supports continued messages, so that chunks are used. */
	rpcrdma_max_reassembly = 0;
	rpcrdma_max_inline_write = 1024;
	peer->params.reassembly = 0;
	peer_open_reverse(test);
	c = &peer->ep->core.conn.counters;
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, c->read_chunks, 0ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back_ddp(test, 100, 50001), 0);
	KUNIT_EXPECT_EQ(test, c->read_chunks, 1ULL);
	/* A Position Zero chunk that includes the item, or one without it */
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 8192, 30001, 0), 0);
	KUNIT_EXPECT_EQ(test, c->calls[RPCRDMA_SPECIAL], 1ULL);
	KUNIT_EXPECT_EQ(test, c->read_chunks, 2ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back_ddp(test, 8192, 30001), 0);
	KUNIT_EXPECT_EQ(test, c->calls[RPCRDMA_SPECIAL], 2ULL);
	KUNIT_EXPECT_EQ(test, c->read_chunks, 4ULL);
	/* A Reply in a Reply chunk */
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 3000), 0);
	KUNIT_EXPECT_EQ(test, c->replies[RPCRDMA_SPECIAL], 1ULL);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 8192, 30000, 2999), 0);
	KUNIT_EXPECT_EQ(test, c->replies[RPCRDMA_SPECIAL], 2ULL);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 6U);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	/* A Call longer than the service's pages */
	KUNIT_EXPECT_EQ(test, peer_call_back_ddp(test, 8192, 60000),
			-EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer_call_back_ddp(test, 8, 60000), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	KUNIT_EXPECT_EQ(test, shim_valid_handles(), 0U);
	peer_close_reverse(test);
}

/* Both directions at the same time, with few credits */
static void reverse_both(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct peer_task t[8];
	int i, round;

	peer->params.window = 8;
	rpcrdma_slot_table_entries = 4;
	peer_open_reverse(test);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < ARRAY_SIZE(t); i++) {
			t[i].rpc = peer_rpc_alloc(0, 20000, i & 1 ? 2000 :
						  20000, false);
			KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
			t[i].task = peer_start_by(i & 1 ? peer->callback :
						  peer->clnt, t[i].rpc);
			KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
		}
		for (i = 0; i < ARRAY_SIZE(t); i++) {
			rpc_wait_for_completion_task(t[i].task);
			KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
			KUNIT_EXPECT_EQ(test, peer_rpc_result(t[i].rpc), 0);
			rpc_put_task(t[i].task);
			peer_rpc_free(t[i].rpc);
		}
	}
	KUNIT_EXPECT_EQ(test, peer->cb_served, 20U);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	peer_close_reverse(test);
}

/* After the service has ended, Calls are refused. */
static void reverse_no_service(struct kunit *test)
{
	struct peer *peer = peer_open_reverse(test);
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);

	xprt->ops->bc_destroy(xprt, 2);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 20000, 0), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, peer->cb_served, 0U);
	KUNIT_ASSERT_EQ(test, xprt->ops->bc_setup(xprt, 2), 0);
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 20000, 0), 0);
	peer_close_reverse(test);
}

/*
 * A Call holds the last reference to the client's transport while its chunk is being
 * read, and sunrpc closes the connection.
 */
static void reverse_last_reference(struct kunit *test)
{
	struct peer *peer = test->priv;
	unsigned long end = jiffies + PEER_WAIT_S * HZ;
	struct rpc_xprt *xprt;
	struct rpcrdma_ep *ep;
	struct peer_task t;
	unsigned int refs;

	rpcrdma_max_reassembly = 0;
	peer_open_reverse(test);
	xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);

	refs = kref_read(&xprt->kref);
	shim_mute = SHIM_MUTE_CLIENT;
	t.rpc = peer_rpc_alloc(8, 30000, 0, true);
	KUNIT_ASSERT_NOT_NULL(test, t.rpc);
	t.task = peer_start_by(peer->callback, t.rpc);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t.task));
	/* Wait until the Call holds a reference. */
	while (kref_read(&xprt->kref) == refs && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_ASSERT_EQ(test, kref_read(&xprt->kref), refs + 1);

	xprt->ops->bc_destroy(xprt, 2);
	xprt->bc_serv = NULL;
	rpc_shutdown_client(peer->clnt);
	peer->clnt = NULL;
	while (kref_read(&xprt->kref) > 1 && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, kref_read(&xprt->kref), 1U);
	xprt_force_disconnect(xprt);
	/* The objects of the lost connection are freed with the test's others. */
	rpcrdma_ep_wait_closed(ep);
	rpcrdma_ep_put(ep);

	shim_mute = 0;
	rpc_killall_tasks(peer->callback);
	rpc_wait_for_completion_task(t.task);
	rpc_put_task(t.task);
	peer_rpc_free(t.rpc);
	peer_end_callback(peer);
}

/* xprt->bc_serv may point to a freed service, if that could not be started. */
static void reverse_service_freed(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	struct rpc_xprt *xprt = rcu_access_pointer(peer->clnt->cl_xprt);

	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	KUNIT_ASSERT_EQ(test, xprt->ops->bc_setup(xprt, 1), 0);
	xprt->bc_serv = kunit_kzalloc(test, sizeof(*peer->serv), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, xprt->bc_serv);
	shim_dead_service = xprt->bc_serv;
	xprt->ops->bc_destroy(xprt, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_misuse), 0);
	xprt->bc_serv = NULL;
	shim_dead_service = NULL;
}

/* Set up a second rpc_xprt over the peer's connection. */
static struct rpc_xprt *peer_setup_again(struct peer *peer)
{
	const struct sockaddr *addr = rpcrdma_listener_addr(peer->listener);
	struct xprt_create args = {
		.ident		= XPRT_TRANSPORT_BC_RDMA,
		.net		= &init_net,
		.dstaddr	= (struct sockaddr *)addr,
		.addrlen	= sizeof(struct sockaddr_in),
		.bc_xprt	= &peer->sxprt,
	};

	return shim_bc_setup(&args);
}

/* Two services set up their clients on one connection at the same time. */
static void reverse_one_transport(struct kunit *test)
{
	struct peer *peer = peer_open_reverse(test);
	struct rpc_xprt *first = peer->sxprt.xpt_bc_xprt, *second;

	second = peer_setup_again(peer);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(second), -EAGAIN);
	KUNIT_EXPECT_PTR_EQ(test, peer->sxprt.xpt_bc_xprt, first);
	if (!IS_ERR(second)) {
		peer->sxprt.xpt_bc_xprt = first;
		second->ops->destroy(second);
	}
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	peer_close_reverse(test);
}

/* sunrpc destroys an rpc_xprt after a failed setup, while the svc_xprt points to it. */
static void reverse_not_made(struct kunit *test)
{
	struct peer *peer = peer_open_reverse(test);
	struct rpc_xprt *first = peer->sxprt.xpt_bc_xprt, *second;
	unsigned int refs;

	/* The first Call puts the rpc_xprt's reference to the svc_xprt. */
	KUNIT_EXPECT_EQ(test, peer_call_back(test, 0, 0, 0), 0);
	refs = kref_read(&peer->sxprt.xpt_ref);
	KUNIT_EXPECT_EQ(test, refs, 1U);
	peer->sxprt.xpt_bc_xprt = NULL;
	second = peer_setup_again(peer);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(second), 0);
	if (!IS_ERR(second)) {
		KUNIT_EXPECT_PTR_EQ(test, peer->sxprt.xpt_bc_xprt, second);
		shim_bc_put_outside = false;
		second->ops->destroy(second);
		KUNIT_EXPECT_TRUE(test, shim_poll(!READ_ONCE(peer->sxprt.xpt_bc_xprt) &&
						  kref_read(&peer->sxprt.xpt_ref) ==
						  refs));
		KUNIT_EXPECT_FALSE(test, shim_bc_put_outside);
	}
	peer->sxprt.xpt_bc_xprt = first;
	peer_close_reverse(test);
}

/*
 * The server may reuse a session slot while the rpc_rqst of that slot's last Call is
 * still in use. The client therefore accepts more Calls than slots.
 */
static void reverse_more_than_slots(struct kunit *test)
{
	struct peer *peer = test->priv;
	unsigned int was = svcrdma_max_bc_requests;
	struct peer_task t[RPCRDMA_CLIENT_BC_SLOTS + 4];
	struct rpc_xprt *xprt;
	int i;

	svcrdma_max_bc_requests = 64;
	peer->cb_hold = true;
	peer_open_reverse(test);
	svcrdma_max_bc_requests = was;
	xprt = rcu_access_pointer(peer->clnt->cl_xprt);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		t[i].rpc = peer_rpc_alloc(0, 0, 0, false);
		KUNIT_ASSERT_NOT_NULL(test, t[i].rpc);
		t[i].task = peer_start_by(peer->callback, t[i].rpc);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t[i].task));
	}
	KUNIT_EXPECT_TRUE(test, shim_poll(atomic_read(&xprt->bc_slot_count) ==
					  ARRAY_SIZE(t)));
	WRITE_ONCE(peer->cb_hold, false);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		rpc_wait_for_completion_task(t[i].task);
		KUNIT_EXPECT_EQ(test, t[i].task->tk_status, 0);
		rpc_put_task(t[i].task);
		peer_rpc_free(t[i].rpc);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
	peer_close_reverse(test);
}

/* A Call that fails for a temporary lack of memory is not refused permanently. */
static void reverse_no_memory(struct kunit *test)
{
	struct peer *peer = peer_open_reverse(test);
	struct peer_task t;

	shim_no_transfers = true;
	t.rpc = peer_rpc_alloc(8, 30000, 0, true);
	KUNIT_ASSERT_NOT_NULL(test, t.rpc);
	t.task = peer_start_by(peer->callback, t.rpc);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t.task));
	KUNIT_EXPECT_TRUE(test, shim_poll(!READ_ONCE(peer->ep) ||
					  !RPC_IS_ACTIVATED(t.task)));
	KUNIT_EXPECT_TRUE(test, RPC_IS_ACTIVATED(t.task));
	shim_no_transfers = false;
	rpc_killall_tasks(peer->callback);
	rpc_wait_for_completion_task(t.task);
	KUNIT_EXPECT_NE(test, t.task->tk_status, -EREMOTEIO);
	rpc_put_task(t.task);
	peer_rpc_free(t.rpc);
	peer_close_reverse(test);
}

static struct kunit_case reverse_cases[] = {
	KUNIT_CASE(reverse_none),
	KUNIT_CASE(reverse_simple),
	KUNIT_CASE(reverse_before_calls),
	KUNIT_CASE(reverse_continued),
	KUNIT_CASE(reverse_general),
	KUNIT_CASE(reverse_both),
	KUNIT_CASE(reverse_no_service),
	KUNIT_CASE(reverse_last_reference),
	KUNIT_CASE(reverse_service_freed),
	KUNIT_CASE(reverse_one_transport),
	KUNIT_CASE(reverse_not_made),
	KUNIT_CASE(reverse_more_than_slots),
	KUNIT_CASE(reverse_no_memory),
	{}
};

static struct kunit_suite reverse_suite = {
	.name		= "rpcrdma_client_reverse",
	.suite_init	= peer_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= peer_test_init,
	.exit		= peer_test_exit,
	.test_cases	= reverse_cases,
};

/* ---- Pulled Replies ---- */

/*
 * Connect. Neither end supports continued messages, and Calls have no Reply chunk, so
 * that large Replies are pulled.
 */
static struct peer *peer_open_pull(struct kunit *test)
{
	struct peer *peer = test->priv;

	rpcrdma_max_reassembly = 0;
	peer->params.reassembly = 0;
	peer->params.expose_octets = 1 << 20;
	peer->params.done_ms = 60000;
	return peer_open(test);
}

static void pull_replies(struct kunit *test)
{
	struct peer *peer = peer_open_pull(test);
	struct rpcrdma_ep *ep;

	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 100, false), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 5000, false), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, 20000, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, peer->attempts[2].has_reply, 0);
	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	KUNIT_EXPECT_EQ(test, ep->core.conn.counters.replies_to_pull, 3ULL);
	rpcrdma_ep_put(ep);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

/*
 * A Read of a pulled Reply does not complete until the connection is lost. If @kill,
 * the RPC is killed during the Read.
 */
static void pull_interrupted(struct kunit *test, bool kill)
{
	struct peer *peer = peer_open_pull(test);
	unsigned long end = jiffies + PEER_WAIT_S * HZ;
	struct rpcrdma_ep *ep, *server;
	struct peer_rpc *rpc;
	struct rpc_task *task;

	KUNIT_ASSERT_EQ(test, peer_call(test, 0, 0, 0, false), 0);
	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	server = peer_server_ep(peer);

	peer->mute_client = true;
	rpc = peer_rpc_alloc(0, 0, 60001, false);
	KUNIT_ASSERT_NOT_NULL(test, rpc);
	task = peer_start(peer, rpc);
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (!READ_ONCE(ep->core.conn.counters.replies_to_pull) &&
	       time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, ep->core.conn.counters.replies_to_pull, 1ULL);
	schedule_timeout_uninterruptible(HZ / 10);
	if (kill)
		rpc_killall_tasks(peer->clnt);
	schedule_timeout_uninterruptible(HZ / 2);
	/* The RPC must not end: the device may still write to its memory. */
	KUNIT_EXPECT_TRUE(test, RPC_IS_ACTIVATED(task));

	peer->mute_client = false;
	shim_mute = 0;
	rpcrdma_ep_close(server, NULL);
	rpc_wait_for_completion_task(task);
	if (kill) {
		KUNIT_EXPECT_LT(test, task->tk_status, 0);
	} else {
		KUNIT_EXPECT_EQ(test, task->tk_status, 0);
		KUNIT_EXPECT_EQ(test, peer_rpc_result(rpc), 0);
	}
	rpc_put_task(task);
	peer_rpc_free(rpc);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 60001, false), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 2);
	rpcrdma_ep_put(server);
	rpcrdma_ep_put(ep);
}

static void pull_killed(struct kunit *test)
{
	pull_interrupted(test, true);
}

static void pull_reconnect(struct kunit *test)
{
	pull_interrupted(test, false);
}

static struct kunit_case pull_cases[] = {
	KUNIT_CASE(pull_replies),
	KUNIT_CASE(pull_killed),
	KUNIT_CASE(pull_reconnect),
	{}
};

static struct kunit_suite client_pull_suite = {
	.name		= "rpcrdma_client_pull",
	.suite_init	= peer_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= peer_test_init,
	.exit		= peer_test_exit,
	.test_cases	= pull_cases,
};

/* ---- Devices with various traits, with the memory layout of sunrpc ---- */

/* Pages of each MR that the peer exposes */
#define PEER_REGION_PAGES	4

/*
 * Pull Replies into MRs, with a device of traits @t. Each segment is read into the
 * client's head, pages and tail in one transfer.
 */
static void pull_into(struct kunit *test, struct memdev_traits *t)
{
	t->region_depth = PEER_REGION_PAGES;
	memdev_set_traits(shim_memdev, t);
	pull_replies(test);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 50003, 40000, false), 0);
}

static void regions_pull(struct kunit *test)
{
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.reads_into_regions = true;
	pull_into(test, &t);
}

/* Only Reads with more than one SGE use an MR. */
static void regions_pull_some(struct kunit *test)
{
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.max_sgl_rd = 1;
	pull_into(test, &t);
}

/* An IOMMU merges the elements of a range that was split by pages. */
static void regions_pull_merged(struct kunit *test)
{
	struct memdev_traits t;

	if (!memdev_merges(shim_memdev))
		kunit_skip(test, "this kernel lets no driver merge memory");
	memdev_default_traits(&t);
	t.reads_into_regions = true;
	t.merge = true;
	pull_into(test, &t);
}

/* With bounce buffers, memory that does not start at a page boundary ends its MR. */
static void regions_pull_bounced(struct kunit *test)
{
	struct memdev_traits t;

	memdev_default_traits(&t);
	t.reads_into_regions = true;
	t.drop_offsets = true;
	pull_into(test, &t);
}

/* Bounce buffers for memory that the peer reads and writes, with and without SG gaps */
static void regions_bounced(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct memdev_traits t;
	struct rpcrdma_ep *ep;

	memdev_default_traits(&t);
	t.drop_offsets = true;
	memdev_set_traits(shim_memdev, &t);
	rpcrdma_max_reassembly = 0;
	peer->params.reassembly = 0;
	peer_open(test);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 50003, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, 50003, 60001, true), 0);
	KUNIT_EXPECT_EQ(test, peer_call(test, 6000, 50003, 60001, false), 0);
	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	KUNIT_EXPECT_EQ(test, ep->mr_cut.apart, !ep->mr_cut.gaps);
	KUNIT_EXPECT_EQ(test, ep->mr_cut.pages, ep->mr_pages);
	rpcrdma_ep_put(ep);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

/* If no MRs can be allocated, a Call that does not need any is sent without. */
static void regions_gone(struct kunit *test)
{
	struct peer *peer = peer_open(test);
	struct memdev_traits t;
	struct rpcrdma_ep *ep;

	memdev_default_traits(&t);
	t.regions_gone = true;
	memdev_set_traits(shim_memdev, &t);
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 50003, 0, true), 0);
	ep = peer_client_ep(peer);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	KUNIT_EXPECT_EQ(test, ep->regions.made, 0U);
	KUNIT_EXPECT_GE(test, ep->regions.shortages,
			(u64)RPCRDMA_POOL_FAILURES);
	KUNIT_EXPECT_EQ(test, ep->core.conn.counters.read_chunks, 0ULL);

	/* Once MRs can be allocated again, they are used. */
	t.regions_gone = false;
	memdev_set_traits(shim_memdev, &t);
	KUNIT_EXPECT_TRUE(test, shim_poll(!rpcrdma_pool_is_starved(&ep->regions)));
	KUNIT_EXPECT_EQ(test, peer_call(test, 4, 50003, 0, true), 0);
	KUNIT_EXPECT_EQ(test, ep->core.conn.counters.read_chunks, 1ULL);
	rpcrdma_ep_put(ep);
	KUNIT_EXPECT_EQ(test, atomic_read(&peer->connected), 1);
}

/* A Call that needs MRs ends the connection, because a new one may get some. */
static void regions_gone_for_good(struct kunit *test)
{
	struct peer *peer = test->priv;
	struct memdev_traits t;
	struct peer_rpc *rpc;
	struct rpc_task *task;

	peer->params.reassembly = 0;
	peer_open(test);
	KUNIT_EXPECT_EQ(test, peer_call(test, 0, 0, 0, true), 0);
	memdev_default_traits(&t);
	t.regions_gone = true;
	memdev_set_traits(shim_memdev, &t);
	rpc = peer_rpc_alloc(4, 50003, 0, true);
	KUNIT_ASSERT_NOT_NULL(test, rpc);
	task = peer_start(peer, rpc);
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_TRUE(test, shim_poll(atomic_read(&peer->connected) > 1));
	t.regions_gone = false;
	memdev_set_traits(shim_memdev, &t);
	rpc_wait_for_completion_task(task);
	KUNIT_EXPECT_EQ(test, task->tk_status, 0);
	KUNIT_EXPECT_EQ(test, peer_rpc_result(rpc), 0);
	rpc_put_task(task);
	peer_rpc_free(rpc);
}

static struct kunit_case regions_cases[] = {
	KUNIT_CASE(regions_pull),
	KUNIT_CASE(regions_pull_some),
	KUNIT_CASE(regions_pull_merged),
	KUNIT_CASE(regions_pull_bounced),
	KUNIT_CASE(regions_bounced),
	KUNIT_CASE(regions_gone),
	KUNIT_CASE(regions_gone_for_good),
	{}
};

static struct kunit_suite client_regions_suite = {
	.name		= "rpcrdma_client_regions",
	.suite_init	= peer_mem_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= peer_test_init,
	.exit		= peer_test_exit,
	.test_cases	= regions_cases,
};

static struct kunit_suite recover_suite = {
	.name		= "rpcrdma_client_recovery",
	.suite_init	= peer_suite_init,
	.suite_exit	= peer_suite_exit,
	.init		= peer_test_init,
	.exit		= peer_test_exit,
	.test_cases	= recover_cases,
};

kunit_test_suites(&recover_suite, &connect_suite, &reverse_suite,
		  &client_pull_suite, &client_regions_suite);
