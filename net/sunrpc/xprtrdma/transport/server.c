// SPDX-License-Identifier: GPL-2.0
/*
 * Server transport: svc_xprts over endpoints.
 *
 * A listener and a connection are different things with different operations.
 * A connection begins as a plain wrapper around its endpoint; its svc_xprt
 * comes to life only when a service thread accepts it. Until then it belongs
 * to its listener and ends with its endpoint; from then on it is sunrpc's, and
 * ends with the last reference to the svc_xprt.
 *
 * Nothing here needs a service thread to make progress: the memory of
 * listeners and connections is given back by this module's own workqueue.
 */

#include <linux/module.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>
#include <linux/sunrpc/xprt.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "responder.h"
#include "server.h"
#include "server_bc.h"
#include "settings.h"
#include "xdrbuf.h"

enum {
	/* Connections of one listener that are opening or not yet accepted */
	RPCRDMA_SVC_BACKLOG = 128,
	/* ... with those that were given up and are being torn down */
	RPCRDMA_SVC_BACKLOG_ALL = 2 * RPCRDMA_SVC_BACKLOG,
	/* Largest Calls that a connection pulls ahead of its service threads */
	RPCRDMA_SVC_EARLY = 8,
	/*
	 * How long a Reply may wait for memory regions to be made, and in what
	 * steps
	 */
	RPCRDMA_SVC_MR_WAIT_MS = 1000,
	RPCRDMA_SVC_MR_POLL_MS = 20,
	/* Regions that a Reply seldom exceeds: head, page data, tail */
	RPCRDMA_SVC_REPLY_MRS = 3,
	/*
	 * Octets that sunrpc reads from rq_arg.head without looking anywhere
	 * else: an RPC Call up to the length of its credential, the same of
	 * its verifier (RFC 5531).
	 */
	RPCRDMA_SVC_MIN_HEAD = 40,
	/* What svc_recv() and svc_process() take without any check */
	RPCRDMA_SVC_MIN_CALL = 8,
	/* Octets that peers may always hold, if there is no setting */
	RPCRDMA_SVC_MIN_MEMORY = 64 << 20,
};

struct rpcrdma_svc_listener {
	struct svc_xprt		xprt;
	struct rpcrdma_listener	*listener;
	wait_queue_head_t	wait;
	struct work_struct	free_work;
	/* Under rpcrdma_svc_accept_lock */
	struct list_head	opening;	/* properties not exchanged */
	struct list_head	opened;		/* wait to be accepted */
	unsigned int		nr_listed;	/* in both lists */
	unsigned int		nr_conns;	/* these, and those given up */
	bool			dead;
};

struct rpcrdma_svc_conn {
	struct svc_xprt		xprt;		/* valid once published */
	struct rpcrdma_ep	*ep;		/* a counted reference */
	struct work_struct	free_work;
	/* Under rpcrdma_svc_accept_lock; NULL once accepted */
	struct rpcrdma_svc_listener *listener;
	struct list_head	node;		/* empty, too, once given up */
	u32			nr_calls;	/* the receive handler's: so far */

	spinlock_t		lock;		/* of what follows */
	struct list_head	calls;		/* received, as they came */
	struct list_head	pulled;		/* their Reads are through */
	struct list_head	spare;		/* pages to pull into */
	u32			nr_spare;
	u32			nr_early;	/* pages of Calls ahead of threads */
	u32			arg_pages;	/* a Call's largest, 0: not known */
	bool			published;	/* xprt is sunrpc's */
	bool			gone;		/* closed() was called */
};

/*
 * What a Call with chunks needs besides its Receive, whose priv it is. A Call
 * without chunks has none.
 */
struct rpcrdma_svc_call {
	struct rpcrdma_svc_conn	*conn;
	/* Read chunks */
	struct bio_vec		*bv;		/* whole pages, pulled into */
	u32			nr_pages;
	u32			nr_early;	/* of them in conn->nr_early */
	u32			octets;		/* in these pages */
	u32			held;		/* octets of them that count */
	bool			item_only;	/* one item, at its page's start */
	/* Results that may go in Write chunks, as the service named them */
	ktime_t			pass;		/* rq_stime then */
	u32			nr_items;
	struct rpcrdma_item	items[RPCRDMA_MAX_WRITE_CHUNKS];
};

/* Pages that Writes take their octets from */
struct rpcrdma_svc_pages {
	u32			nr;
	struct page		*pages[];
};

/* Pages that the peer pulls a Reply from, with references of their own */
struct rpcrdma_svc_exposed {
	struct rpcrdma_exposed	exposed;
	u32			nr;
	struct page		*pages[];
};

/* Listeners' lists; taken once or twice in a connection's life */
static DEFINE_SPINLOCK(rpcrdma_svc_accept_lock);
static struct workqueue_struct *rpcrdma_svc_wq;
static struct kmem_cache *rpcrdma_svc_call_cache;

static const struct svc_xprt_ops rpcrdma_svc_listener_ops;
static const struct svc_xprt_ops rpcrdma_svc_conn_ops;

static struct svc_xprt_class rpcrdma_svc_class = {
	.xcl_name	= "rdma",
	.xcl_owner	= THIS_MODULE,
	.xcl_ops	= &rpcrdma_svc_listener_ops,
	.xcl_max_payload = RPCSVC_MAXPAYLOAD,
	.xcl_ident	= XPRT_TRANSPORT_RDMA,
};

/* What a connection gets, from the administrator's settings as they are now */
static void rpcrdma_svc_params(struct rpcrdma_ep_params *params)
{
	u32 calls = READ_ONCE(svcrdma_max_requests);
	u32 reverse = READ_ONCE(svcrdma_max_bc_requests);

	memset(params, 0, sizeof(*params));
	/* Calls one way, Replies the other */
	params->window = calls + reverse;
	params->reverse = reverse;
	params->sends = calls + reverse;
	params->send_size = READ_ONCE(svcrdma_max_req_size);
	params->recv_size = params->send_size;
	/* A Call: an argument, a result, the rest of the Reply */
	params->rw_ctxts = 3 * calls;
	params->rw_writes = 2 * calls;
	/* A callback: an argument or its stream, a result, the Reply */
	params->max_mrs = max_t(u32, RPCRDMA_MAX_SEGS, 4 * reverse);
	params->ord = READ_ONCE(svcrdma_ord);
	params->reassembly = READ_ONCE(rpcrdma_max_reassembly);
	params->brs = RDMA2_RVRSDIR_NONE;
	params->expose_octets = READ_ONCE(svcrdma_expose);
	params->done_ms = READ_ONCE(svcrdma_done_timeout) * MSEC_PER_SEC;
	if (params->expose_octets)
		params->max_mrs += RPCRDMA_SVC_REPLY_MRS * RPCRDMA_MAX_EXPOSED;
	params->version_low = READ_ONCE(svcrdma_min_version);
	params->version_high = READ_ONCE(svcrdma_max_version);
}

/* Octets that all connections together may hold; by default a quarter */
static u64 rpcrdma_svc_memory_limit(void)
{
	u64 mib = READ_ONCE(svcrdma_max_memory);

	if (mib)
		return mib << 20;
	return max_t(u64, RPCRDMA_SVC_MIN_MEMORY,
		     ((u64)totalram_pages() << PAGE_SHIFT) / 4);
}

static struct rpcrdma_svc_listener *rpcrdma_svc_l(struct svc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_svc_listener, xprt);
}

static struct rpcrdma_svc_conn *rpcrdma_svc_c(struct svc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_svc_conn, xprt);
}

/**
 * rpcrdma_server_ep - the endpoint under a connection
 * @xprt: an accepted connection of the "rdma" class
 *
 * No reference is taken: it lives as long as @xprt does. Any context.
 */
struct rpcrdma_ep *rpcrdma_server_ep(struct svc_xprt *xprt)
{
	return rpcrdma_svc_c(xprt)->ep;
}

/*
 * The connection is of no more use (7.4: a Reply that cannot be sent ends it).
 * @reason: static string for the log.
 */
static void rpcrdma_svc_fail(struct rpcrdma_svc_conn *conn, const char *reason)
{
	rpcrdma_ep_close(conn->ep, reason);
	svc_xprt_deferred_close(&conn->xprt);
}

/* ---- Calls ---- */

/* The pages of @call are none of the peer's any more. */
static void rpcrdma_svc_call_give(struct rpcrdma_svc_call *call)
{
	u32 held = call->held;

	call->held = 0;
	rpcrdma_ep_give(call->conn->ep, RPCRDMA_MEMORY_CALLS, held);
}

/* Forget what was to be pulled for a Call, and its pages. */
static void rpcrdma_svc_call_free(struct rpcrdma_recv *rv)
{
	struct rpcrdma_svc_call *call = rv->priv;
	u32 i;

	rv->priv = NULL;
	if (!call)
		return;
	if (call->nr_early) {
		spin_lock(&call->conn->lock);
		call->conn->nr_early -= call->nr_early;
		spin_unlock(&call->conn->lock);
	}
	if (call->bv)
		for (i = 0; i < call->nr_pages; i++)
			put_page(call->bv[i].bv_page);
	kfree(call->bv);
	rpcrdma_svc_call_give(call);
	kmem_cache_free(rpcrdma_svc_call_cache, call);
}

/* Give back all that a Call holds. Process context. */
static void rpcrdma_svc_call_release(struct rpcrdma_recv *rv)
{
	rpcrdma_svc_call_free(rv);
	if (rv->send)
		rpcrdma_send_put(rv->send);
	rv->send = NULL;
	rpcrdma_recv_put(rv);
}

/* Refuse a Call that no service has seen, and forget it. */
static void rpcrdma_svc_refuse(struct rpcrdma_svc_conn *conn,
			       struct rpcrdma_recv *rv, u32 code,
			       const char *what)
{
	u32 xid = rv->rx.xid;

	pr_warn_ratelimited("svcrdma: Call %08x from %pISpc refused (%s): %s\n",
			    xid, &conn->ep->remote,
			    rpcrdma_error_name(code), what);
	/* To the peer an ERROR may mean that there is a Receive again. */
	rpcrdma_svc_call_release(rv);
	rpcrdma_ep_send_error(conn->ep, xid, code, 0, 0);
}

/* The octets that are to be pulled for a Call */
static u64 rpcrdma_svc_read_octets(const struct rpcrdma_recv *rv)
{
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	u64 octets = 0;
	u32 i;

	for (i = 0; i < lists->nr_reads; i++)
		octets += lists->reads[i].length;
	return octets;
}

/*
 * The common Call with a Read chunk: one item in an inline message. The pages
 * take the item alone and the Receive keeps the rest, if that can be read
 * where it lies.
 */
static bool rpcrdma_svc_item_only(const struct rpcrdma_recv *rv)
{
	const struct rpcrdma_lists *lists = &rv->rx.lists;

	return rv->rx.format != RPCRDMA_SPECIAL && lists->nr_reads == 1 &&
	       lists->reads[0].position >= RPCRDMA_SVC_MIN_HEAD &&
	       lists->reads[0].position <= rv->payload_len &&
	       !is_vmalloc_addr(rv->payload);
}

/* The Reads of a Call have ended. Process context, not a service thread. */
static void rpcrdma_svc_pulled(struct rpcrdma_rw *rw, bool ok)
{
	struct rpcrdma_recv *rv = rw->priv;
	struct rpcrdma_svc_call *call = rv->priv;
	struct rpcrdma_svc_conn *conn = call->conn;

	if (!ok) {
		/* The queue pair does not survive this; the peer resends. */
		rpcrdma_ep_close(conn->ep, "an RDMA Read of a Call's data failed");
		rpcrdma_svc_call_release(rv);
		return;
	}
	spin_lock(&conn->lock);
	list_add_tail(&rv->list, &conn->pulled);
	set_bit(XPT_DATA, &conn->xprt.xpt_flags);
	spin_unlock(&conn->lock);
	svc_xprt_enqueue(&conn->xprt);
}

/*
 * Pulling for a Call takes pages, and handing it to a service thread sets as
 * many pages of that thread free. They go round: up to one largest Call's are
 * kept. Calls that are pulled before a thread asks for them have at most
 * RPCRDMA_SVC_EARLY such largest Calls' pages in all, whatever the peer sends.
 */
static void rpcrdma_svc_swap_pages(struct rpcrdma_svc_conn *conn,
				   struct rpcrdma_svc_call *call,
				   struct page **pages)
{
	u32 i, kept = 0;

	spin_lock(&conn->lock);
	conn->nr_early -= call->nr_early;
	call->nr_early = 0;
	if (!conn->gone && conn->nr_spare < conn->arg_pages)
		kept = min(call->nr_pages, conn->arg_pages - conn->nr_spare);
	for (i = 0; i < kept; i++)
		list_add(&pages[i]->lru, &conn->spare);
	conn->nr_spare += kept;
	spin_unlock(&conn->lock);
	for (; i < call->nr_pages; i++)
		put_page(pages[i]);
	for (i = 0; i < call->nr_pages; i++)
		pages[i] = call->bv[i].bv_page;
	rpcrdma_svc_call_give(call);
}

/*
 * Pages for @call, which no thread has asked for, without waiting for any.
 * False: there are not enough; @call has those that there were.
 */
static bool rpcrdma_svc_early_pages(struct rpcrdma_svc_conn *conn,
				    struct rpcrdma_svc_call *call)
{
	u32 i, nr = call->nr_pages, spare = 0;
	struct page *page;
	bool ok;

	/* There are always pages to pull: an empty chunk is not pulled. */
	spin_lock(&conn->lock);
	ok = conn->nr_early + nr <= RPCRDMA_SVC_EARLY * conn->arg_pages;
	if (ok) {
		conn->nr_early += nr;
		call->nr_early = nr;
		spare = min(nr, conn->nr_spare);
		conn->nr_spare -= spare;
	}
	for (i = 0; i < spare; i++) {
		page = list_first_entry(&conn->spare, struct page, lru);
		list_del(&page->lru);
		call->bv[i].bv_page = page;
	}
	spin_unlock(&conn->lock);

	for (; ok && i < nr; i++) {
		page = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!page)
			break;
		call->bv[i].bv_page = page;
	}
	call->nr_pages = i;
	return i == nr;
}

static void rpcrdma_svc_spare_free(struct rpcrdma_svc_conn *conn)
{
	struct page *page, *next;
	LIST_HEAD(spare);

	spin_lock(&conn->lock);
	list_splice_init(&conn->spare, &spare);
	conn->nr_spare = 0;
	spin_unlock(&conn->lock);
	list_for_each_entry_safe(page, next, &spare, lru) {
		list_del(&page->lru);
		put_page(page);
	}
}

/* Take pages away from @rqstp, which gets new ones. */
static void rpcrdma_svc_take_pages(struct svc_rqst *rqstp,
				   struct rpcrdma_svc_call *call)
{
	u32 i;

	for (i = 0; i < call->nr_pages; i++) {
		call->bv[i].bv_page = rqstp->rq_pages[i];
		rqstp->rq_pages[i] = NULL;
	}
	rpcrdma_rqst_pages_taken(rqstp, call->nr_pages);
}

/* What a Call with chunks needs; NULL without memory. */
static struct rpcrdma_svc_call *
rpcrdma_svc_call_alloc(struct rpcrdma_svc_conn *conn, struct rpcrdma_recv *rv,
		       gfp_t gfp)
{
	struct rpcrdma_svc_call *call;

	call = kmem_cache_zalloc(rpcrdma_svc_call_cache, gfp);
	if (call)
		call->conn = conn;
	rv->priv = call;
	return call;
}

/* What pages have to take when the Read chunks of @rv are pulled; octets */
static u64 rpcrdma_svc_pull_octets(const struct rpcrdma_recv *rv)
{
	return rpcrdma_svc_item_only(rv) ? rv->rx.lists.reads[0].length :
					   rpcrdma_call_octets(rv);
}

/*
 * Begin to pull the Read chunks of @rv; it comes back through
 * rpcrdma_svc_pulled(). The pages are those of @rqstp, a service thread, or
 * with NULL what is there without waiting.
 * Returns 0, -E2BIG: larger than @max_pages, -EINVAL: a chunk is not within
 * the message, or another errno: no resources. On error @rv is the caller's.
 */
static int rpcrdma_svc_pull(struct rpcrdma_svc_conn *conn,
			    struct rpcrdma_recv *rv, struct svc_rqst *rqstp,
			    u32 max_pages)
{
	gfp_t gfp = rqstp ? GFP_KERNEL : GFP_NOWAIT | __GFP_NOWARN;
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	struct rpcrdma_svc_call *call;
	struct rpcrdma_rw *rw;
	u64 octets;
	u32 i;
	int rc;

	call = rpcrdma_svc_call_alloc(conn, rv, gfp);
	if (!call)
		return -ENOMEM;
	call->item_only = rpcrdma_svc_item_only(rv);
	octets = rpcrdma_svc_pull_octets(rv);
	if (octets > (u64)max_pages << PAGE_SHIFT)
		return -E2BIG;
	call->octets = octets;

	/* For a thread, which has looked before it took the Call, there is. */
	octets = PAGE_ALIGN(octets);
	if (!rqstp && !rpcrdma_ep_has_room(conn->ep, RPCRDMA_MEMORY_CALLS,
					   octets))
		return -ENOMEM;
	rpcrdma_ep_hold(conn->ep, RPCRDMA_MEMORY_CALLS, octets);
	call->held = octets;

	i = DIV_ROUND_UP(call->octets, PAGE_SIZE);
	call->bv = kmalloc_array(i, sizeof(*call->bv), gfp);
	if (!call->bv)
		return -ENOMEM;
	call->nr_pages = i;
	if (rqstp)
		rpcrdma_svc_take_pages(rqstp, call);
	else if (!rpcrdma_svc_early_pages(conn, call))
		return -ENOMEM;
	for (i = 0; i < call->nr_pages; i++) {
		call->bv[i].bv_len = PAGE_SIZE;
		call->bv[i].bv_offset = 0;
	}

	rw = rpcrdma_rw_alloc(conn->ep, DMA_FROM_DEVICE, 0, gfp);
	if (!rw)
		return -ENOMEM;
	if (call->item_only)
		rc = rpcrdma_rw_add(rw, lists, &lists->reads[0], 0, call->bv,
				    call->nr_pages, 0, call->octets);
	else
		rc = rpcrdma_call_walk(rv, rw, call->bv, call->nr_pages, NULL);
	if (rc) {
		rpcrdma_rw_free(rw);
		return rc;
	}
	percpu_counter_inc(&svcrdma_stat_read);
	rw->priv = rv;
	rw->done = rpcrdma_svc_pulled;
	rpcrdma_rw_read(rw);
	return 0;
}

/* As above, by a service thread, which may wait and says what is wrong. */
static void rpcrdma_svc_pull_by(struct rpcrdma_svc_conn *conn,
				struct svc_rqst *rqstp, struct rpcrdma_recv *rv)
{
	switch (rpcrdma_svc_pull(conn, rv, rqstp,
				 rpcrdma_rqst_arg_pages(rqstp))) {
	case 0:
		return;
	case -E2BIG:
		rpcrdma_svc_refuse(conn, rv, RDMA2_ERR_SYSTEM,
				   "larger than this service takes; mount with a smaller wsize");
		return;
	case -EINVAL:
		rpcrdma_svc_refuse(conn, rv, RDMA2_ERR_BAD_XDR,
				   "a Read chunk is not within the message");
		return;
	default:
		/* Not an error for the peer: it sends the Call again. */
		rpcrdma_svc_fail(conn, "no resources to pull a Call's data");
		rpcrdma_svc_call_release(rv);
	}
}

/* rq_arg is in @nr pages of @rqstp, or in none: the Reply begins behind. */
static void rpcrdma_svc_respages(struct svc_rqst *rqstp, u32 nr)
{
	rpcrdma_rqst_set_respages(rqstp, nr);
	rqstp->rq_next_page++;
}

/* rq_arg: @octets in the first pages of @rqstp */
static void rpcrdma_svc_arg_in_pages(struct svc_rqst *rqstp, u32 octets)
{
	struct xdr_buf *arg = &rqstp->rq_arg;

	arg->head[0].iov_base = page_address(rqstp->rq_pages[0]);
	arg->head[0].iov_len = min_t(u32, octets, PAGE_SIZE);
	arg->pages = &rqstp->rq_pages[1];
	arg->page_len = octets - arg->head[0].iov_len;
	arg->len = octets;
	rpcrdma_svc_respages(rqstp, DIV_ROUND_UP(octets, PAGE_SIZE));
}

/*
 * A Call whose octets are all here, most of them in the Receive. False: too
 * large; nothing of @rqstp was changed.
 */
static bool rpcrdma_svc_arg_inline(struct svc_rqst *rqstp,
				   struct rpcrdma_recv *rv)
{
	struct xdr_buf *arg = &rqstp->rq_arg;

	if (!is_vmalloc_addr(rv->payload)) {
		arg->head[0].iov_base = rv->payload;
		arg->head[0].iov_len = rv->payload_len;
		arg->pages = rqstp->rq_pages;
		arg->len = rv->payload_len;
		rpcrdma_svc_respages(rqstp, 0);
		return true;
	}
	/* GSS unwraps in place, by scatterlist: not in vmalloc memory. */
	if (rv->payload_len >
	    (u64)rpcrdma_rqst_arg_pages(rqstp) << PAGE_SHIFT)
		return false;
	rpcrdma_pages_fill(rqstp->rq_pages, 0, rv->payload, rv->payload_len);
	rpcrdma_svc_arg_in_pages(rqstp, rv->payload_len);
	return true;
}

/*
 * A Call whose Read chunks were pulled: the pages take the place of pages of
 * this @rqstp, and rq_arg is built. False: refused and released.
 */
static bool rpcrdma_svc_arg_pulled(struct rpcrdma_svc_conn *conn,
				   struct svc_rqst *rqstp,
				   struct rpcrdma_recv *rv)
{
	struct rpcrdma_svc_call *call = rv->priv;
	struct xdr_buf *arg = &rqstp->rq_arg;
	u32 position;

	if (call->nr_pages > rpcrdma_rqst_arg_pages(rqstp)) {
		rpcrdma_svc_refuse(conn, rv, RDMA2_ERR_SYSTEM,
				   "larger than this service takes; mount with a smaller wsize");
		return false;
	}
	rpcrdma_svc_swap_pages(conn, call, rqstp->rq_pages);
	kfree(call->bv);
	call->bv = NULL;

	if (call->item_only) {
		position = rv->rx.lists.reads[0].position;
		arg->head[0].iov_base = rv->payload;
		arg->head[0].iov_len = position;
		arg->pages = rqstp->rq_pages;
		arg->page_len = xdr_align_size(call->octets);
		arg->tail[0].iov_base = rv->payload + position;
		arg->tail[0].iov_len = rv->payload_len - position;
		arg->len = rv->payload_len + arg->page_len;
		rpcrdma_pages_fill(rqstp->rq_pages, call->octets, NULL,
				   xdr_pad_size(call->octets));
		rpcrdma_svc_respages(rqstp, call->nr_pages);
		return true;
	}

	if (call->octets < RPCRDMA_SVC_MIN_CALL ||
	    rpcrdma_call_walk(rv, NULL, NULL, 0, rqstp->rq_pages) ||
	    !rpcrdma_payload_ok(rv->rx.xid, false,
				page_address(rqstp->rq_pages[0]))) {
		rpcrdma_svc_refuse(conn, rv, RDMA2_ERR_BAD_XDR,
				   "what its Read chunks hold does not belong to it");
		return false;
	}
	rpcrdma_svc_arg_in_pages(rqstp, call->octets);
	return true;
}

/*
 * May a Call that was not pulled yet go to a thread? Not when that has to wait
 * until others of this peer's give back the memory that they hold; then one
 * that needs none may go before it. conn->lock held.
 */
static bool rpcrdma_svc_may_begin(struct rpcrdma_svc_conn *conn,
				  const struct rpcrdma_recv *rv)
{
	u64 octets;

	if (!rpcrdma_svc_read_octets(rv))
		return true;
	octets = PAGE_ALIGN(rpcrdma_svc_pull_octets(rv));
	/* One that is too large is refused by whoever gets it. */
	return octets > (u64)conn->arg_pages << PAGE_SHIFT ||
	       rpcrdma_ep_has_room(conn->ep, RPCRDMA_MEMORY_CALLS, octets);
}

/*
 * The Call that came first of those that can go on; conn->lock held. Neither
 * list may starve the other: besides what a client makes of it, RPCSEC_GSS has
 * a window of sequence numbers, and a Call that falls out of it costs the
 * connection.
 */
static struct rpcrdma_recv *rpcrdma_svc_oldest(struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_recv *call = NULL, *pulled, *rv;

	list_for_each_entry(rv, &conn->calls, list) {
		if (rpcrdma_svc_may_begin(conn, rv)) {
			call = rv;
			break;
		}
	}
	pulled = list_first_entry_or_null(&conn->pulled, struct rpcrdma_recv,
					  list);
	if (!call || !pulled)
		return call ?: pulled;
	return (s32)(call->order - pulled->order) < 0 ? call : pulled;
}

/* RDMA has no reserved ports: whoever may use the fabric is trusted. */
static void rpcrdma_svc_secure_port(struct svc_rqst *rqstp)
{
	set_bit(RQ_SECURE, &rqstp->rq_flags);
}

/**
 * rpcrdma_svc_recvfrom - take the next Call of a connection
 * @rqstp: gets it; rqstp->rq_xprt is the connection
 *
 * A service thread, holding XPT_BUSY, which is let go of. A Call with Read
 * chunks usually comes here when they are pulled. Where that could not begin
 * without waiting for memory it comes twice: the first time it only takes
 * pages of @rqstp along to be pulled into.
 * Returns the Call's octets, or 0: nothing to do (now).
 */
static int rpcrdma_svc_recvfrom(struct svc_rqst *rqstp)
{
	struct svc_xprt *xprt = rqstp->rq_xprt;
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_c(xprt);
	struct xdr_buf *arg = &rqstp->rq_arg;
	struct rpcrdma_svc_call *call;
	struct rpcrdma_send *reply;
	struct rpcrdma_recv *rv;

	/* Nothing is to be freed when there is no Call. */
	rpcrdma_rqst_set_respages(rqstp, 0);
	rqstp->rq_xprt_ctxt = NULL;

	/*
	 * First what its Reply will go with: whoever has Replies lying here
	 * that he gives no window for waits with his Calls, and no thread
	 * waits for him.
	 */
	reply = rpcrdma_send_reserve(conn->ep);
	if (!reply) {
		percpu_counter_inc(&svcrdma_stat_sq_starve);
		svc_xprt_received(xprt);
		return 0;
	}

	spin_lock(&conn->lock);
	rv = rpcrdma_svc_oldest(conn);
	if (rv)
		list_del_init(&rv->list);
	/*
	 * Now and not next time: no thread wakes up for nothing. What waits
	 * for memory is brought to mind by write_space().
	 */
	if (!rv || (list_empty(&conn->pulled) && list_empty(&conn->calls)))
		clear_bit(XPT_DATA, &xprt->xpt_flags);
	spin_unlock(&conn->lock);
	svc_xprt_received(xprt);
	if (!rv) {
		rpcrdma_send_put(reply);
		return 0;
	}
	rv->send = reply;

	arg->page_base = 0;
	arg->page_len = 0;
	arg->tail[0].iov_base = NULL;
	arg->tail[0].iov_len = 0;

	call = rv->priv;
	if (call) {
		if (!rpcrdma_svc_arg_pulled(conn, rqstp, rv))
			return 0;
		goto out;
	}

	percpu_counter_inc(&svcrdma_stat_recv);
	if (rpcrdma_svc_read_octets(rv)) {
		rv->send = NULL;
		rpcrdma_send_put(reply);
		rpcrdma_svc_pull_by(conn, rqstp, rv);
		return 0;
	}
	if (rv->rx.lists.nr_writes &&
	    !rpcrdma_svc_call_alloc(conn, rv, GFP_KERNEL)) {
		rpcrdma_svc_fail(conn, "no memory to take a Call");
		rpcrdma_svc_call_release(rv);
		return 0;
	}
	if (rv->rx.format == RPCRDMA_SPECIAL ||
	    rv->payload_len < RPCRDMA_SVC_MIN_CALL) {
		rpcrdma_svc_refuse(conn, rv, RDMA2_ERR_BAD_XDR,
				   "too short for an RPC Call");
		return 0;
	}
	if (!rpcrdma_svc_arg_inline(rqstp, rv)) {
		rpcrdma_svc_refuse(conn, rv, RDMA2_ERR_SYSTEM,
				   "larger than this service takes");
		return 0;
	}

out:
	arg->buflen = arg->len;
	rqstp->rq_xprt_ctxt = rv;
	/* Part of nfsd's reply cache key: the same on every connection */
	rqstp->rq_prot = IPPROTO_MAX;
	rpcrdma_svc_secure_port(rqstp);
	svc_xprt_copy_addrs(rqstp, xprt);
	return arg->len;
}

/**
 * rpcrdma_svc_release_ctxt - sunrpc is through with a Call, replied or not
 * @xprt: its connection
 * @ctxt: rq_xprt_ctxt, or what a deferred request kept of it; may be NULL
 *
 * The Receive is posted again: this is what bounds the load. Process context.
 */
static void rpcrdma_svc_release_ctxt(struct svc_xprt *xprt, void *ctxt)
{
	if (ctxt)
		rpcrdma_svc_call_release(ctxt);
}

/* ---- Replies ---- */

/**
 * rpcrdma_svc_result_payload - note a result that may go in a Write chunk
 * @rqstp: Call being processed
 * @offset: octets into rq_res
 * @length: octets, without roundup
 *
 * Whether it does is decided when the Reply is whole. A service may yet take
 * back what it encoded, see rpcrdma_svc_items(). Always returns 0.
 */
static int rpcrdma_svc_result_payload(struct svc_rqst *rqstp,
				      unsigned int offset, unsigned int length)
{
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	struct rpcrdma_svc_call *call = rv ? rv->priv : NULL;

	if (!call || !rv->rx.lists.nr_writes)
		return 0;
	/* What GSS signs or seals as a whole is not reduced. */
	if (rqstp->rq_auth_slack)
		return 0;
	/* A deferred Call is processed from the beginning. */
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

/*
 * The items of the Reply as it is. Those that are not there any more are left
 * out: the word before an item of variable length is its length. (The NFSv4
 * READLINK of some kernels names that word's place in place of the item's.)
 */
static noinline_for_stack void
rpcrdma_svc_items(const struct svc_rqst *rqstp,
		  const struct rpcrdma_svc_call *call,
		  struct rpcrdma_reply *reply)
{
	const struct xdr_buf *res = &rqstp->rq_res;
	u32 i, position, length, end = 0;
	__be32 words[2];

	if (!call || call->pass != rqstp->rq_stime)
		return;
	for (i = 0; i < call->nr_items; i++) {
		position = call->items[i].position;
		length = call->items[i].length;
		if (position < XDR_UNIT || position % XDR_UNIT ||
		    position > res->len || length > res->len - position)
			continue;
		words[1] = 0;
		rpcrdma_xdr_copy_out(res, position - XDR_UNIT,
				     min_t(u32, sizeof(words), res->len -
					   (position - XDR_UNIT)), words);
		if (be32_to_cpu(words[0]) != length) {
			if (!length || be32_to_cpu(words[1]) != length)
				continue;
			position += XDR_UNIT;
		}
		if (position < end ||
		    (u64)position + xdr_align_size(length) > res->len)
			continue;
		reply->items[reply->nr_items].position = position;
		reply->items[reply->nr_items].length = length;
		reply->nr_items++;
		end = position + xdr_align_size(length);
	}
}

/* Write @len octets of rq_res from @from on to @chunk, from @to on. */
static int rpcrdma_svc_write(struct svc_rqst *rqstp, struct rpcrdma_rw *rw,
			     const struct rpcrdma_lists *lists,
			     const struct rpcrdma_chunk *chunk, u32 to,
			     u32 from, u32 len)
{
	int nr;

	if (!len)
		return 0;
	nr = rpcrdma_xdr_to_bvecs(&rqstp->rq_res, from, len, rqstp->rq_bvec,
				  rpcrdma_rqst_max_bvecs(rqstp));
	if (nr < 0)
		return nr;
	percpu_counter_inc(&svcrdma_stat_write);
	return rpcrdma_rw_add(rw, lists, chunk, to, rqstp->rq_bvec, nr, 0, len);
}

/* All Writes that @plan asks for */
static int rpcrdma_svc_writes(struct svc_rqst *rqstp, struct rpcrdma_rw *rw,
			      const struct rpcrdma_reply *reply,
			      const struct rpcrdma_reply_plan *plan)
{
	const struct rpcrdma_lists *lists = &plan->lists;
	u32 i, end, pos = 0, placed = 0;
	int rc;

	for (i = 0; i <= plan->nr_items; i++) {
		if (i < plan->nr_items && !rpcrdma_item_placed(plan, i))
			continue;
		end = i < plan->nr_items ? reply->items[i].position :
					   reply->length;
		/* Items at the end of a Reply may lack their roundup. */
		if (plan->reply_length && end > pos) {
			rc = rpcrdma_svc_write(rqstp, rw, lists, &lists->reply,
					       placed, pos, end - pos);
			if (rc)
				return rc;
			placed += end - pos;
		}
		if (i == plan->nr_items)
			break;
		rc = rpcrdma_svc_write(rqstp, rw, lists, &lists->writes[i], 0,
				       reply->items[i].position,
				       reply->items[i].length);
		if (rc)
			return rc;
		pos = reply->items[i].position +
		      xdr_align_size(reply->items[i].length);
	}
	return 0;
}

/* Copy what @plan leaves inline to @to; returns its octets. */
static u32 rpcrdma_svc_copy_inline(const struct xdr_buf *res,
				   const struct rpcrdma_reply *reply,
				   const struct rpcrdma_reply_plan *plan,
				   void *to, u32 room)
{
	u32 i, end, pos = 0, len = 0;

	for (i = 0; i <= plan->nr_items; i++) {
		if (i < plan->nr_items && !rpcrdma_item_placed(plan, i))
			continue;
		end = i < plan->nr_items ? reply->items[i].position :
					   reply->length;
		if (end > pos) {
			if (end - pos > room - len)
				return U32_MAX;
			rpcrdma_xdr_copy_out(res, pos, end - pos, to + len);
			len += end - pos;
		}
		if (i < plan->nr_items)
			pos = reply->items[i].position +
			      xdr_align_size(reply->items[i].length);
	}
	return len;
}

static void rpcrdma_svc_put_pages(struct page **pages, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (pages[i])
			put_page(pages[i]);
}

static void rpcrdma_svc_written(struct rpcrdma_rw *rw, bool ok)
{
	struct rpcrdma_svc_pages *p = rw->priv;

	rpcrdma_svc_put_pages(p->pages, p->nr);
	rpcrdma_ep_give(rw->ep, RPCRDMA_MEMORY_REPLIES,
			(u64)p->nr << PAGE_SHIFT);
}

/* Does @plan write nothing but page data of @res? */
static bool rpcrdma_svc_writes_pages_only(const struct xdr_buf *res,
					  const struct rpcrdma_reply *reply,
					  const struct rpcrdma_reply_plan *plan)
{
	const struct rpcrdma_item *last;

	if (plan->reply_length)
		return false;
	last = &reply->items[plan->nr_items - 1];
	return reply->items[0].position >= res->head[0].iov_len &&
	       last->position + last->length <=
	       res->head[0].iov_len + res->page_len;
}

/*
 * The Writes of a Reply, holding the pages of rq_res from then on. Returns an
 * ERR_PTR when that fails; @rqstp has its pages still.
 */
static noinline_for_stack struct rpcrdma_rw *
rpcrdma_svc_prepare_writes(struct svc_rqst *rqstp, struct rpcrdma_ep *ep,
			   const struct rpcrdma_reply *reply,
			   const struct rpcrdma_reply_plan *plan)
{
	struct page **pages = rqstp->rq_respages;
	u32 i, nr = rqstp->rq_next_page - pages;
	struct rpcrdma_svc_pages *p;
	struct rpcrdma_rw *rw;
	int rc;

	/* The head's page only if they take something from it */
	if (nr && rpcrdma_svc_writes_pages_only(&rqstp->rq_res, reply, plan)) {
		pages++;
		nr--;
	}
	rw = rpcrdma_rw_alloc(ep, DMA_TO_DEVICE, struct_size(p, pages, nr),
			      GFP_KERNEL);
	if (!rw)
		return ERR_PTR(-ENOMEM);
	rc = rpcrdma_svc_writes(rqstp, rw, reply, plan);
	if (rc) {
		rpcrdma_rw_free(rw);
		return ERR_PTR(rc);
	}

	p = rw->priv;
	for (i = 0; i < nr; i++) {
		p->pages[i] = pages[i];
		pages[i] = NULL;
	}
	p->nr = nr;
	rpcrdma_ep_hold(ep, RPCRDMA_MEMORY_REPLIES, (u64)nr << PAGE_SHIFT);
	rw->done = rpcrdma_svc_written;
	return rw;
}

/* No peer reaches the pages of a Reply that was to be pulled any more. */
static void rpcrdma_svc_unexposed(struct rpcrdma_exposed *x)
{
	struct rpcrdma_svc_exposed *e =
		container_of(x, struct rpcrdma_svc_exposed, exposed);

	rpcrdma_svc_put_pages(e->pages, e->nr);
	rpcrdma_ep_give(x->ep, RPCRDMA_MEMORY_REPLIES,
			(u64)e->nr << PAGE_SHIFT);
	kfree(e);
}

/* Vectors of what @plan does not put in Write chunks, in rq_bvec */
static int rpcrdma_svc_stream(struct svc_rqst *rqstp,
			      const struct rpcrdma_reply *reply,
			      const struct rpcrdma_reply_plan *plan)
{
	u32 i, end, pos = 0;
	int n, nr = 0;

	for (i = 0; i <= plan->nr_items; i++) {
		if (i < plan->nr_items && !rpcrdma_item_placed(plan, i))
			continue;
		end = i < plan->nr_items ? reply->items[i].position :
					   reply->length;
		if (end > pos) {
			n = rpcrdma_xdr_to_bvecs(&rqstp->rq_res, pos,
						 end - pos,
						 rqstp->rq_bvec + nr,
						 rpcrdma_rqst_max_bvecs(rqstp) -
						 nr);
			if (n < 0)
				return n;
			nr += n;
		}
		if (i < plan->nr_items)
			pos = reply->items[i].position +
			      xdr_align_size(reply->items[i].length);
	}
	return nr;
}

/*
 * Expose what is left of rq_res for the peer to pull, and complete @plan. The
 * pages get another reference: Writes may take theirs. May sleep, with a
 * bound, while memory regions are made; for those that the peer has it does
 * not wait. Returns an ERR_PTR when that fails;
 * then @plan->error may say what to tell the peer.
 */
static noinline_for_stack struct rpcrdma_exposed *
rpcrdma_svc_expose(struct svc_rqst *rqstp, struct rpcrdma_svc_conn *conn,
		   const struct rpcrdma_reply *reply,
		   struct rpcrdma_reply_plan *plan)
{
	u32 i, nr = rqstp->rq_next_page - rqstp->rq_respages;
	struct rpcrdma_svc_exposed *e;
	unsigned long end, step = 1;
	int nr_bv, rc;

	nr_bv = rpcrdma_svc_stream(rqstp, reply, plan);
	if (nr_bv < 0)
		return ERR_PTR(nr_bv);
	e = kmalloc(struct_size(e, pages, nr), GFP_KERNEL);
	if (!e)
		return ERR_PTR(-ENOMEM);
	e->exposed.release = rpcrdma_svc_unexposed;
	end = jiffies + msecs_to_jiffies(RPCRDMA_SVC_MR_WAIT_MS);
	for (;;) {
		rc = rpcrdma_expose(conn->ep, &e->exposed, reply->xid,
				    rqstp->rq_bvec, nr_bv, plan);
		if (rc != -EAGAIN || time_after(jiffies, end))
			break;
		/* They are being made. */
		schedule_timeout_idle(step);
		step = msecs_to_jiffies(RPCRDMA_SVC_MR_POLL_MS);
	}
	if (rc) {
		kfree(e);
		return ERR_PTR(rc);
	}
	for (i = 0; i < nr; i++) {
		e->pages[i] = rqstp->rq_respages[i];
		if (e->pages[i])
			get_page(e->pages[i]);
	}
	e->nr = nr;
	rpcrdma_ep_hold(conn->ep, RPCRDMA_MEMORY_REPLIES,
			(u64)nr << PAGE_SHIFT);
	return &e->exposed;
}

/*
 * The peer pulls from the pages of @x: this thread must not write its next
 * Reply there. Writes may have taken most of them already.
 */
static void rpcrdma_svc_give_pages(struct svc_rqst *rqstp,
				   struct rpcrdma_exposed *x)
{
	u32 i, nr = container_of(x, struct rpcrdma_svc_exposed, exposed)->nr;

	rpcrdma_svc_put_pages(rqstp->rq_respages, nr);
	for (i = 0; i < nr; i++)
		rqstp->rq_respages[i] = NULL;
}

/*
 * Encode the header and copy the inline payload, all in this one message.
 * False: they do not fit, here or at the peer.
 */
static bool rpcrdma_svc_fill_send(struct rpcrdma_send *s,
				  const struct xdr_buf *res,
				  const struct rpcrdma_reply *reply,
				  const struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_ep *ep = s->ep;
	u32 room = min(ep->params.send_size, ep->limits.send_inline);
	u32 len = 0;
	bool special = plan->format == RPCRDMA_SPECIAL;

	s->header_len = rpcrdma_encode_header(&ep->conn, s->buf, room,
					      reply->xid,
					      special ? RDMA2_NOMSG : RDMA2_MSG,
					      RDMA2_F_RESPONSE, &plan->lists);
	if (!s->header_len)
		return false;
	if (!special)
		len = rpcrdma_svc_copy_inline(res, reply, plan,
					      s->buf + s->header_len,
					      room - s->header_len);
	s->len = s->header_len + len;
	return len != U32_MAX;
}

/* No way to send this Reply, now or later: tell the peer (7.3). */
static int rpcrdma_svc_no_reply(struct rpcrdma_ep *ep,
				const struct rpcrdma_reply *reply, u32 code,
				u32 arg0, u32 arg1)
{
	pr_warn_ratelimited("svcrdma: Reply %08x of %u octets to %pISpc cannot be sent (%s): the client has to offer other room for it\n",
			    reply->xid, reply->length, &ep->remote,
			    rpcrdma_error_name(code));
	rpcrdma_ep_send_error(ep, reply->xid, code, arg0, arg1);
	return 0;
}

/* Why a Reply could not be made: lasting, or for want of resources (7.4) */
static int rpcrdma_svc_cannot(struct rpcrdma_svc_conn *conn,
			      const struct rpcrdma_reply *reply, int rc)
{
	switch (rc) {
	case -EFAULT:
	case -E2BIG:
	case -EINVAL:
		/* Trying again would not help. */
		return rpcrdma_svc_no_reply(conn->ep, reply, RDMA2_ERR_SYSTEM,
					    0, 0);
	}
	rpcrdma_svc_fail(conn, "no resources to send a Reply");
	return -ENOTCONN;
}

/* Send a Reply in one message. Returns as sendto does. */
static int rpcrdma_svc_send_one(struct svc_rqst *rqstp,
				struct rpcrdma_svc_conn *conn,
				const struct rpcrdma_reply *reply,
				struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_exposed *x = NULL;
	struct rpcrdma_rw *rw = NULL;
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	struct rpcrdma_send *s = rv->send;
	int rc;

	rv->send = NULL;
	if (plan->read_length) {
		/* The header names the memory. */
		x = rpcrdma_svc_expose(rqstp, conn, reply, plan);
		rc = PTR_ERR(x);
		if (IS_ERR(x))
			goto out_put;
	}
	rc = -EINVAL;
	if (unlikely(!rpcrdma_svc_fill_send(s, &rqstp->rq_res, reply, plan)))
		goto out_cancel;
	/* This takes the pages away: the inline payload is copied first. */
	if (plan->nr_items || plan->reply_length) {
		rw = rpcrdma_svc_prepare_writes(rqstp, conn->ep, reply, plan);
		rc = PTR_ERR(rw);
		if (IS_ERR(rw))
			goto out_cancel;
	}
	if (x)
		rpcrdma_svc_give_pages(rqstp, x);
	/* Nobody looks at the Call any more, or at the segments of @plan. */
	if (rpcrdma_reply_is_credit(&conn->ep->conn)) {
		rqstp->rq_xprt_ctxt = NULL;
		rpcrdma_svc_call_release(rv);
	}
	s->exposed = x;
	return rpcrdma_send_reply(s, rw, plan->inv_handle, plan->format,
				  &plan->lists);

out_cancel:
	if (x) {
		rpcrdma_expose_cancel(x);
		x->release(x);
	}
out_put:
	rpcrdma_send_put(s);
	if (plan->error)
		return rpcrdma_svc_no_reply(conn->ep, reply, plan->error,
					    plan->arg[0], plan->arg[1]);
	return rpcrdma_svc_cannot(conn, reply, rc);
}

/* Send a Reply in parts (4.4.2). Returns as sendto does. */
static int rpcrdma_svc_send_parts(struct svc_rqst *rqstp,
				  struct rpcrdma_svc_conn *conn,
				  const struct rpcrdma_reply *reply,
				  const struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_rw *rw = NULL;
	struct rpcrdma_stream *st;

	st = rpcrdma_stream_alloc(RPCRDMA_KIND_REPLY, reply->xid,
				  plan->inline_length, &plan->lists);
	if (!st)
		return rpcrdma_svc_cannot(conn, reply, -ENOMEM);
	if (unlikely(rpcrdma_svc_copy_inline(&rqstp->rq_res, reply, plan,
					     st->data, st->len) != st->len)) {
		rpcrdma_stream_free(st);
		return rpcrdma_svc_cannot(conn, reply, -EINVAL);
	}
	if (plan->nr_items) {
		rw = rpcrdma_svc_prepare_writes(rqstp, conn->ep, reply, plan);
		if (IS_ERR(rw)) {
			rpcrdma_stream_free(st);
			return rpcrdma_svc_cannot(conn, reply, PTR_ERR(rw));
		}
	}
	return rpcrdma_send_continued_reply(conn->ep, st, rw,
					    plan->inv_handle);
}

/*
 * Release the pages of a Reply that were copied from, as sunrpc would do next,
 * but for the head's: nobody else has that one, so the thread keeps it for its
 * next Reply. The others may be some file's pages.
 */
static void rpcrdma_svc_free_respages(struct svc_rqst *rqstp)
{
	struct page **page;

	for (page = rqstp->rq_respages + 1; page < rqstp->rq_next_page; page++) {
		if (*page)
			put_page(*page);
		*page = NULL;
	}
	rpcrdma_rqst_keep_first(rqstp);
}

/**
 * rpcrdma_svc_sendto - send a Reply
 * @rqstp: Call with its Reply in rq_res
 *
 * The way it travels is the engine's decision (6.4). Where there is none, the
 * peer gets an ERROR; where resources are lacking to carry it out, the
 * connection ends (7.4) and the peer asks again, on a new one. A service
 * thread; waits for no peer, but maybe for memory.
 * Returns 0 or -ENOTCONN.
 */
static int rpcrdma_svc_sendto(struct svc_rqst *rqstp)
{
	struct svc_xprt *xprt = rqstp->rq_xprt;
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_c(xprt);
	struct rpcrdma_recv *rv = rqstp->rq_xprt_ctxt;
	struct rpcrdma_ep *ep = conn->ep;
	struct rpcrdma_reply_plan plan;
	struct rpcrdma_reply reply;
	int rc;

	if (!rv || svc_xprt_is_dead(xprt) || !rpcrdma_ep_is_open(ep))
		return -ENOTCONN;

	reply.xid = rv->rx.xid;
	reply.length = rqstp->rq_res.len;
	reply.nr_items = 0;
	reply.reverse = 0;
	rpcrdma_svc_items(rqstp, rv->priv, &reply);
	rpcrdma_plan_reply(&ep->conn, &rv->rx.lists, &reply, &plan);
	if (unlikely(plan.error))
		return rpcrdma_svc_no_reply(ep, &reply, plan.error,
					    plan.arg[0], plan.arg[1]);
	if (plan.format == RPCRDMA_CONTINUED)
		rc = rpcrdma_svc_send_parts(rqstp, conn, &reply, &plan);
	else
		rc = rpcrdma_svc_send_one(rqstp, conn, &reply, &plan);
	rpcrdma_svc_free_respages(rqstp);
	return rc;
}

/* ---- The endpoint's upcalls ---- */

/*
 * Begin to pull a Call's Read chunks, so that a service thread is only woken
 * when it is whole. This may not wait for memory: what frees it may be a Call
 * behind this one. False: leave the Call to a service thread, whatever was in
 * the way.
 */
static bool rpcrdma_svc_pull_early(struct rpcrdma_svc_conn *conn,
				   struct rpcrdma_recv *rv)
{
	u32 max_pages = READ_ONCE(conn->arg_pages);
	unsigned int flags;
	int rc;

	if (!max_pages || !rpcrdma_svc_read_octets(rv))
		return false;
	/* The rdma_rw API takes no gfp flags. */
	flags = memalloc_nofs_save();
	rc = rpcrdma_svc_pull(conn, rv, NULL, max_pages);
	memalloc_nofs_restore(flags);
	if (rc) {
		rpcrdma_svc_call_free(rv);
		return false;
	}
	percpu_counter_inc(&svcrdma_stat_recv);
	return true;
}

static void rpcrdma_svc_call(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct rpcrdma_svc_conn *conn = ep->priv;
	bool published;

	rv->priv = NULL;
	rv->send = NULL;
	rv->order = conn->nr_calls++;
	if (rpcrdma_svc_pull_early(conn, rv))
		return;
	spin_lock(&conn->lock);
	list_add_tail(&rv->list, &conn->calls);
	published = conn->published;
	if (published)
		set_bit(XPT_DATA, &conn->xprt.xpt_flags);
	spin_unlock(&conn->lock);
	if (published)
		svc_xprt_enqueue(&conn->xprt);
}

/*
 * The svc_xprt with a reference, or NULL: not accepted yet, or its last
 * reference is gone.
 */
static struct svc_xprt *rpcrdma_svc_conn_get(struct rpcrdma_svc_conn *conn)
{
	bool published;

	spin_lock(&conn->lock);
	published = conn->published;
	spin_unlock(&conn->lock);
	if (!published || !kref_get_unless_zero(&conn->xprt.xpt_ref))
		return NULL;
	return &conn->xprt;
}

/* A Reply to, or a refusal of, a Call of the reverse direction */
static void rpcrdma_svc_reply(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct svc_xprt *xprt = rpcrdma_svc_conn_get(ep->priv);

	if (!xprt) {
		rpcrdma_recv_put(rv);
		return;
	}
	rpcrdma_server_bc_reply(xprt, rv);
	svc_xprt_put(xprt);
}

static void rpcrdma_svc_error(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	struct svc_xprt *xprt = rpcrdma_svc_conn_get(ep->priv);

	if (!xprt) {
		rpcrdma_recv_put(rv);
		return;
	}
	rpcrdma_server_bc_error(xprt, rv);
	svc_xprt_put(xprt);
}

static void rpcrdma_svc_write_space(struct rpcrdma_ep *ep)
{
	struct rpcrdma_svc_conn *conn = ep->priv;
	struct svc_xprt *xprt;

	xprt = rpcrdma_svc_conn_get(conn);
	if (xprt) {
		rpcrdma_server_bc_write_space(xprt);
		/* Some of these may have waited for memory. */
		spin_lock(&conn->lock);
		if (!list_empty(&conn->calls))
			set_bit(XPT_DATA, &xprt->xpt_flags);
		spin_unlock(&conn->lock);
		svc_xprt_enqueue(xprt);
		svc_xprt_put(xprt);
	}
}

/* Properties are exchanged: there is something to accept. */
static void rpcrdma_svc_opened(struct rpcrdma_ep *ep)
{
	struct rpcrdma_svc_conn *conn = ep->priv;
	struct rpcrdma_svc_listener *l;

	/* The listener stays while a connection is in its lists. */
	spin_lock(&rpcrdma_svc_accept_lock);
	l = conn->listener;
	if (l && !l->dead && !list_empty(&conn->node)) {
		list_move_tail(&conn->node, &l->opened);
		set_bit(XPT_CONN, &l->xprt.xpt_flags);
		svc_xprt_enqueue(&l->xprt);
	}
	spin_unlock(&rpcrdma_svc_accept_lock);
}

/* Free a connection that is closed and that nobody knows. */
static void rpcrdma_svc_conn_free(struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_recv *rv, *next;

	list_splice_tail_init(&conn->calls, &conn->pulled);
	list_for_each_entry_safe(rv, next, &conn->pulled, list) {
		list_del_init(&rv->list);
		rpcrdma_svc_call_release(rv);
	}
	rpcrdma_svc_spare_free(conn);
	rpcrdma_ep_put(conn->ep);
	kfree(conn);
}

/* Take a connection out of its listener's lists; accept lock held. */
static void rpcrdma_svc_unlist(struct rpcrdma_svc_conn *conn)
{
	if (list_empty(&conn->node))
		return;
	list_del_init(&conn->node);
	conn->listener->nr_listed--;
}

/* ... for good: its listener is no more concern of it. */
static void rpcrdma_svc_leave_listener(struct rpcrdma_svc_conn *conn)
{
	struct rpcrdma_svc_listener *l = conn->listener;

	rpcrdma_svc_unlist(conn);
	conn->listener = NULL;
	/* Under the lock, as the listener may be freed right after it. */
	if (!--l->nr_conns)
		wake_up_all(&l->wait);
}

static void rpcrdma_svc_closed(struct rpcrdma_ep *ep)
{
	struct rpcrdma_svc_conn *conn = ep->priv;
	bool unknown, published;

	spin_lock(&rpcrdma_svc_accept_lock);
	unknown = conn->listener;
	if (unknown)
		rpcrdma_svc_leave_listener(conn);
	spin_unlock(&rpcrdma_svc_accept_lock);
	if (unknown) {
		rpcrdma_svc_conn_free(conn);
		return;
	}

	/* Accepted. If not published yet, that will see it. */
	spin_lock(&conn->lock);
	conn->gone = true;
	published = conn->published;
	spin_unlock(&conn->lock);
	rpcrdma_svc_spare_free(conn);
	if (published)
		svc_xprt_deferred_close(&conn->xprt);
}

static const struct rpcrdma_ep_ops rpcrdma_svc_ep_ops = {
	.call		= rpcrdma_svc_call,
	.reply		= rpcrdma_svc_reply,
	.error		= rpcrdma_svc_error,
	.write_space	= rpcrdma_svc_write_space,
	.opened		= rpcrdma_svc_opened,
	.closed		= rpcrdma_svc_closed,
};

/* ---- Connections ---- */

/*
 * Make room for another connection, accept lock held: the one that has been
 * opening for longest is given up. A client takes moments to open; who says
 * nothing must not keep the others out until his time is over. Its memory,
 * which goes with the teardown, is promised to the new one.
 * False: none is opening, or more are being torn down than that goes with.
 */
static bool rpcrdma_svc_give_up_oldest(struct rpcrdma_svc_listener *l)
{
	struct rpcrdma_svc_conn *conn;

	conn = list_first_entry_or_null(&l->opening, struct rpcrdma_svc_conn,
					node);
	if (!conn || l->nr_conns >= RPCRDMA_SVC_BACKLOG_ALL)
		return false;
	/* It is freed in closed(), which waits for the lock. */
	rpcrdma_svc_unlist(conn);
	rpcrdma_ep_part(conn->ep);
	rpcrdma_ep_close(conn->ep,
			 "it did not finish opening, and others want to open");
	return true;
}

/*
 * A peer connects. Called by the connection manager's thread; the svc_xprt is
 * made when the connection is open and accepted.
 */
static int rpcrdma_svc_incoming(void *priv, struct rpcrdma_ep *ep)
{
	struct rpcrdma_svc_listener *l = priv;
	struct rpcrdma_svc_conn *conn;
	u32 message;
	u64 limit;
	int rc = 0;

	if (ep->remote.ss_family != AF_INET && ep->remote.ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (!conn)
		return -ENOMEM;
	conn->ep = ep;
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->node);
	INIT_LIST_HEAD(&conn->calls);
	INIT_LIST_HEAD(&conn->pulled);
	INIT_LIST_HEAD(&conn->spare);

	ep->ops = &rpcrdma_svc_ep_ops;
	ep->priv = conn;
	rpcrdma_svc_params(&ep->params);
	limit = rpcrdma_svc_memory_limit();
	message = l->xprt.xpt_server->sv_max_mesg;

	spin_lock(&rpcrdma_svc_accept_lock);
	if (l->dead) {
		rc = -ECONNREFUSED;
	} else if (rpcrdma_ep_join(ep, limit, message) &&
		   (!rpcrdma_svc_give_up_oldest(l) ||
		    rpcrdma_ep_join(ep, limit, message))) {
		rc = -ENOMEM;
	} else if (l->nr_listed >= RPCRDMA_SVC_BACKLOG &&
		   !rpcrdma_svc_give_up_oldest(l)) {
		rc = -EBUSY;
	} else {
		conn->listener = l;
		list_add_tail(&conn->node, &l->opening);
		l->nr_listed++;
		l->nr_conns++;
	}
	spin_unlock(&rpcrdma_svc_accept_lock);
	if (rc == -EBUSY)
		pr_warn_ratelimited("svcrdma: connection from %pISpc rejected: %u others are opening or wait for a service thread; more nfsd threads may help\n",
				    &ep->remote, RPCRDMA_SVC_BACKLOG);
	if (rc == -ENOMEM)
		pr_warn_ratelimited("svcrdma: connection from %pISpc rejected: the others may hold all of the %llu MiB that svc_max_memory allows\n",
				    &ep->remote, limit >> 20);
	if (rc)
		kfree(conn);
	return rc;
}

/* Make the svc_xprt of a connection that was taken from its listener. */
static struct svc_xprt *rpcrdma_svc_publish(struct rpcrdma_svc_conn *conn,
					    struct svc_xprt *listener)
{
	struct svc_xprt *xprt = &conn->xprt;
	struct sockaddr *sa;

	/* Leaves XPT_BUSY set: until sunrpc has it, flags only add up. */
	svc_xprt_init(listener->xpt_net, &rpcrdma_svc_class, xprt,
		      listener->xpt_server);
	xprt->xpt_ops = &rpcrdma_svc_conn_ops;
	/* Credits are congestion control enough for NFSv4 (RFC 7530 3.1). */
	set_bit(XPT_CONG_CTRL, &xprt->xpt_flags);

	sa = (struct sockaddr *)&conn->ep->remote;
	svc_xprt_set_remote(xprt, sa, svc_addr_len(sa));
	/*
	 * The client's port differs from connection to connection, but is in
	 * the key of nfsd's reply cache.
	 */
	rpc_set_port((struct sockaddr *)&xprt->xpt_remote, 0);
	sa = (struct sockaddr *)&conn->ep->local;
	svc_xprt_set_local(xprt, sa, svc_addr_len(sa));

	spin_lock(&conn->lock);
	/* Upcalls may come when the service is no more: note it here. */
	WRITE_ONCE(conn->arg_pages,
		   listener->xpt_server->sv_max_mesg >> PAGE_SHIFT);
	conn->published = true;
	if (!list_empty(&conn->calls))
		set_bit(XPT_DATA, &xprt->xpt_flags);
	if (conn->gone)
		set_bit(XPT_CLOSE, &xprt->xpt_flags);
	spin_unlock(&conn->lock);
	return xprt;
}

/**
 * rpcrdma_svc_accept - take the next open connection
 * @xprt: listener
 *
 * A service thread, holding the listener's XPT_BUSY. Returns a new svc_xprt
 * with XPT_BUSY set, or NULL when there is none.
 */
static struct svc_xprt *rpcrdma_svc_accept(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_listener *l = rpcrdma_svc_l(xprt);
	struct rpcrdma_svc_conn *conn;

	spin_lock(&rpcrdma_svc_accept_lock);
	conn = list_first_entry_or_null(&l->opened, struct rpcrdma_svc_conn,
					node);
	if (conn)
		rpcrdma_svc_leave_listener(conn);
	if (list_empty(&l->opened))
		clear_bit(XPT_CONN, &xprt->xpt_flags);
	spin_unlock(&rpcrdma_svc_accept_lock);
	return conn ? rpcrdma_svc_publish(conn, xprt) : NULL;
}

/* May a Call be taken from this connection? Called for every wake-up. */
static int rpcrdma_svc_has_wspace(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_c(xprt);
	struct rpcrdma_ep *ep = conn->ep;
	u64 octets;

	/* Deferred ones have what they need, and others may wait for it. */
	if (test_bit(XPT_DEFERRED, &xprt->xpt_flags))
		return 1;
	if (!rpcrdma_ep_may_reply(ep))
		return 0;
	/* No Reply waits: what threads work on is theirs, not the peer's. */
	if (!rpcrdma_ep_holds(ep, RPCRDMA_MEMORY_REPLIES))
		return 1;
	/* What the Calls at work may yet become, and this one */
	octets = ((u64)READ_ONCE(conn->arg_pages) << PAGE_SHIFT) +
		 atomic_read(&xprt->xpt_reserved);
	return rpcrdma_ep_has_room(ep, RPCRDMA_MEMORY_REPLIES, octets);
}

/* The local address goes away: xpo_detach, which follows, is quick enough. */
static void rpcrdma_svc_kill_temp_xprt(struct svc_xprt *xprt)
{
}

/* No more service for a connection. XPT_BUSY is held for good. */
static void rpcrdma_svc_conn_detach(struct svc_xprt *xprt)
{
	rpcrdma_ep_close(rpcrdma_svc_c(xprt)->ep, NULL);
}

static void rpcrdma_svc_conn_free_work(struct work_struct *work)
{
	struct rpcrdma_svc_conn *conn =
		container_of(work, struct rpcrdma_svc_conn, free_work);

	rpcrdma_ep_close(conn->ep, NULL);
	/* No upcall after that, and no Read or Write of ours. */
	rpcrdma_ep_wait_closed(conn->ep);
	rpcrdma_svc_conn_free(conn);
}

/*
 * The last reference is gone. sunrpc drops a module reference next; the
 * workqueue is waited for when the module goes.
 */
static void rpcrdma_svc_conn_last_put(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_c(xprt);

	/* Not before: without a svc_xprt, closed() frees it. */
	INIT_WORK(&conn->free_work, rpcrdma_svc_conn_free_work);
	queue_work(rpcrdma_svc_wq, &conn->free_work);
}

static const struct svc_xprt_ops rpcrdma_svc_conn_ops = {
	.xpo_recvfrom		= rpcrdma_svc_recvfrom,
	.xpo_sendto		= rpcrdma_svc_sendto,
	.xpo_result_payload	= rpcrdma_svc_result_payload,
	.xpo_release_ctxt	= rpcrdma_svc_release_ctxt,
	.xpo_detach		= rpcrdma_svc_conn_detach,
	.xpo_free		= rpcrdma_svc_conn_last_put,
	.xpo_has_wspace		= rpcrdma_svc_has_wspace,
	RPCRDMA_SECURE_PORT_OP(rpcrdma_svc_secure_port)
	.xpo_kill_temp_xprt	= rpcrdma_svc_kill_temp_xprt,
};

/* ---- Listeners ---- */

/*
 * Let nobody in any more, and show those out whom nobody will accept. They
 * leave the lists in closed(), which waits for the lock.
 */
static void rpcrdma_svc_listener_stop(struct rpcrdma_svc_listener *l)
{
	struct rpcrdma_svc_conn *conn;

	spin_lock(&rpcrdma_svc_accept_lock);
	l->dead = true;
	list_for_each_entry(conn, &l->opening, node)
		rpcrdma_ep_close(conn->ep, NULL);
	list_for_each_entry(conn, &l->opened, node)
		rpcrdma_ep_close(conn->ep, NULL);
	spin_unlock(&rpcrdma_svc_accept_lock);
}

static bool rpcrdma_svc_listener_idle(struct rpcrdma_svc_listener *l)
{
	bool idle;

	spin_lock(&rpcrdma_svc_accept_lock);
	idle = !l->nr_conns;
	spin_unlock(&rpcrdma_svc_accept_lock);
	return idle;
}

static void rpcrdma_svc_listener_free_work(struct work_struct *work)
{
	struct rpcrdma_svc_listener *l =
		container_of(work, struct rpcrdma_svc_listener, free_work);

	wait_event(l->wait, rpcrdma_svc_listener_idle(l));
	kfree(l);
}

/**
 * rpcrdma_svc_create - begin to listen
 * @serv: service that the connections are for
 * @net: network namespace
 * @sa: address; port 0 for any
 * @salen: its octets
 * @flags: none matter here
 *
 * Returns the listener's svc_xprt or an ERR_PTR. Sleeps.
 */
static struct svc_xprt *rpcrdma_svc_create(struct svc_serv *serv,
					   struct net *net, struct sockaddr *sa,
					   int salen, int flags)
{
	struct rpcrdma_svc_listener *l;
	const struct sockaddr *bound;

	if (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return ERR_PTR(-ENOMEM);
	init_waitqueue_head(&l->wait);
	INIT_WORK(&l->free_work, rpcrdma_svc_listener_free_work);
	INIT_LIST_HEAD(&l->opening);
	INIT_LIST_HEAD(&l->opened);

	/* Peers may connect before rpcrdma_listen() returns. */
	svc_xprt_init(net, &rpcrdma_svc_class, &l->xprt, serv);
	set_bit(XPT_LISTENER, &l->xprt.xpt_flags);
	strscpy(l->xprt.xpt_remotebuf, "listener",
		sizeof(l->xprt.xpt_remotebuf));

	l->listener = rpcrdma_listen(net, sa, rpcrdma_svc_incoming, l);
	if (IS_ERR(l->listener)) {
		int rc = PTR_ERR(l->listener);

		/*
		 * Not published, so no svc_xprt_put(). A peer may have come
		 * in at one device before another one failed.
		 */
		put_net_track(l->xprt.xpt_net, &l->xprt.ns_tracker);
		rpcrdma_svc_listener_stop(l);
		queue_work(rpcrdma_svc_wq, &l->free_work);
		return ERR_PTR(rc);
	}
	bound = rpcrdma_listener_addr(l->listener);
	svc_xprt_set_local(&l->xprt, bound, svc_addr_len(bound));
	return &l->xprt;
}

static int rpcrdma_svc_listener_has_wspace(struct svc_xprt *xprt)
{
	return 1;
}

/* Stop listening, at once: a new listener may want the port. Sleeps. */
static void rpcrdma_svc_listener_detach(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_listener *l = rpcrdma_svc_l(xprt);

	rpcrdma_listener_destroy(l->listener);
	rpcrdma_svc_listener_stop(l);
}

static void rpcrdma_svc_listener_last_put(struct svc_xprt *xprt)
{
	queue_work(rpcrdma_svc_wq, &rpcrdma_svc_l(xprt)->free_work);
}

static const struct svc_xprt_ops rpcrdma_svc_listener_ops = {
	.xpo_create		= rpcrdma_svc_create,
	.xpo_accept		= rpcrdma_svc_accept,
	.xpo_release_ctxt	= rpcrdma_svc_release_ctxt,
	.xpo_detach		= rpcrdma_svc_listener_detach,
	.xpo_free		= rpcrdma_svc_listener_last_put,
	.xpo_has_wspace		= rpcrdma_svc_listener_has_wspace,
	.xpo_kill_temp_xprt	= rpcrdma_svc_kill_temp_xprt,
};

/* ---- Module ---- */

/**
 * rpcrdma_server_init - module start
 *
 * After rpcrdma_ep_init() and the settings. Returns 0 or a negative errno.
 */
int rpcrdma_server_init(void)
{
	int rc = -ENOMEM;

	rpcrdma_svc_call_cache = KMEM_CACHE(rpcrdma_svc_call, 0);
	if (!rpcrdma_svc_call_cache)
		return rc;
	rpcrdma_svc_wq = alloc_workqueue("svcrdma", WQ_UNBOUND, 0);
	if (!rpcrdma_svc_wq)
		goto out_cache;
	rc = rpcrdma_server_bc_init();
	if (rc)
		goto out_wq;
	rc = svc_reg_xprt_class(&rpcrdma_svc_class);
	if (rc)
		goto out_bc;
	return 0;

out_bc:
	rpcrdma_server_bc_exit();
out_wq:
	destroy_workqueue(rpcrdma_svc_wq);
out_cache:
	kmem_cache_destroy(rpcrdma_svc_call_cache);
	return rc;
}

/**
 * rpcrdma_server_exit - module end
 *
 * Before rpcrdma_ep_exit(). Waits until what is being freed is free. Sleeps.
 */
void rpcrdma_server_exit(void)
{
	svc_unreg_xprt_class(&rpcrdma_svc_class);
	rpcrdma_server_bc_exit();
	/* Runs what is queued; nothing is queued any more. */
	destroy_workqueue(rpcrdma_svc_wq);
	kmem_cache_destroy(rpcrdma_svc_call_cache);
}
