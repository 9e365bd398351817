// SPDX-License-Identifier: GPL-2.0
/*
 * Server transport: the state of Calls with chunks, and the pages that their arguments
 * are pulled into.
 *
 * Operation
 *
 * A Call with Read or Write chunks has a struct rpcrdma_svc_call in addition to its
 * Receive, in one allocation with the array of its pages. Pages to pull into are first
 * taken from the spare pages of the connection. If there are too few, a pull ahead of the
 * threads allocates the others without waiting, and a pull by a service thread uses pages
 * of that thread, which sunrpc refills. When a thread receives the complete Call, the
 * pulled pages replace pages of that thread, and these become spare. A steady load of
 * Calls therefore needs no new pages.
 *
 * Memory
 *
 * The pages of a Call are charged to the quota of its connection from the start of the
 * pull until the exchange, or until the Call is freed. Spare pages are limited to
 * those of RPCRDMA_EARLY_CALLS largest Calls. While there are more spare pages than
 * one largest Call needs, a work item frees, twice a second, those that no Call has
 * needed in between. The end of the connection frees all of them, and no others are
 * kept afterwards.
 *
 * Errors
 *
 * If a pull ahead of the threads finds too few pages, the Call waits for a service
 * thread. If there is no memory for the array of spare pages, the pages of threads are
 * freed instead of kept. If a thread cannot allocate the state of a Call, it closes the
 * connection (server_call.c).
 *
 * Locking
 *
 * conn->lock protects the spare pages, and the account of pulls ahead of the threads.
 * The pages of a Call belong to the context that handles the Call, and in between to
 * its transfer. The quota is asked, and charged for a pull ahead of the threads, under
 * conn->lock. It is uncharged without that lock, because uncharging may call
 * write_space(), which takes the lock.
 */

#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>

#include "../compat.h"
#include "internal.h"

/* The maximum of spare pages that are freed at a time, and the interval */
enum { RPCRDMA_SVC_TRIM = 64 };
#define RPCRDMA_SVC_TRIM_DELAY	(HZ / 2)

struct workqueue_struct *rpcrdma_svc_wq;

struct rpcrdma_svc_call *
rpcrdma_svc_call_alloc(struct rpcrdma_svc_conn *conn, struct rpcrdma_recv *rv,
		       u32 nr, gfp_t gfp)
{
	struct rpcrdma_svc_call *call;

	call = kmalloc(struct_size(call, pages, nr), gfp);
	rv->priv = call;
	if (unlikely(!call))
		return NULL;
	call->conn = conn;
	call->nr_pages = 0;
	call->held = 0;
	call->early = false;
	call->nr_items = 0;
	call->pass = 0;
	return call;
}

/* Uncharge the pages of @call: they are not held for the peer any more. */
static void rpcrdma_svc_call_give(struct rpcrdma_svc_call *call)
{
	u32 held = call->held;

	call->held = 0;
	rpcrdma_ep_uncharge(call->conn->ep, RPCRDMA_QUOTA_CALLS, held);
}

void rpcrdma_svc_call_free(struct rpcrdma_recv *rv)
{
	struct rpcrdma_svc_call *call = rv->priv;

	rv->priv = NULL;
	if (!call)
		return;
	if (call->early) {
		spin_lock(&call->conn->lock);
		rpcrdma_calls_early_end(&call->conn->queue, &rv->queued);
		spin_unlock(&call->conn->lock);
	}
	if (call->nr_pages)
		release_pages(call->pages, call->nr_pages);
	rpcrdma_svc_call_give(call);
	kfree(call);
}

void rpcrdma_svc_call_release(struct rpcrdma_recv *rv)
{
	rpcrdma_svc_call_free(rv);
	if (rv->send)
		rpcrdma_send_put(rv->send);
	rv->send = NULL;
	rpcrdma_recv_put(rv);
}

/* ---- Spare pages ---- */

/* Allocate the array of spare pages, if possible. Called by a service thread. */
static void rpcrdma_svc_spare_alloc(struct rpcrdma_svc_conn *conn)
{
	struct page **spare;

	if (likely(READ_ONCE(conn->spare)))
		return;
	spare = kvmalloc_array(conn->nr_spare.most, sizeof(*spare), GFP_KERNEL);
	spin_lock(&conn->lock);
	if (!conn->spare && !rpcrdma_pending_conn_gone(&conn->pending))
		swap(conn->spare, spare);
	spin_unlock(&conn->lock);
	kvfree(spare);
}

/* Use up to @want spare pages for @call. Return their number. Caller holds conn->lock. */
static u32 rpcrdma_svc_spare_take(struct rpcrdma_svc_conn *conn,
				  struct rpcrdma_svc_call *call, u32 want)
{
	u32 nr = rpcrdma_spare_take(&conn->nr_spare, want);

	if (nr)
		memcpy(call->pages, conn->spare + conn->nr_spare.nr,
		       nr * sizeof(*call->pages));
	return nr;
}

/* Free the pages that no Call has needed since the last time. */
static void rpcrdma_svc_spare_trim(struct work_struct *work)
{
	struct rpcrdma_svc_conn *conn =
		container_of(to_delayed_work(work), struct rpcrdma_svc_conn,
			     spare_work);
	struct page *pages[RPCRDMA_SVC_TRIM];
	bool more;
	u32 nr;

	do {
		spin_lock(&conn->lock);
		nr = rpcrdma_spare_trim(&conn->nr_spare, ARRAY_SIZE(pages));
		if (nr)
			memcpy(pages, conn->spare + conn->nr_spare.nr,
			       nr * sizeof(*pages));
		more = rpcrdma_spare_is_large(&conn->nr_spare);
		spin_unlock(&conn->lock);
		release_pages(pages, nr);
	} while (nr == ARRAY_SIZE(pages));
	if (more)
		queue_delayed_work(rpcrdma_svc_wq, &conn->spare_work,
				   RPCRDMA_SVC_TRIM_DELAY);
}

void rpcrdma_svc_spare_init(struct rpcrdma_svc_conn *conn)
{
	INIT_DELAYED_WORK(&conn->spare_work, rpcrdma_svc_spare_trim);
}

void rpcrdma_svc_spare_free(struct rpcrdma_svc_conn *conn)
{
	struct page **spare;
	u32 nr;

	spin_lock(&conn->lock);
	spare = conn->spare;
	nr = rpcrdma_spare_end(&conn->nr_spare);
	conn->spare = NULL;
	spin_unlock(&conn->lock);
	if (nr)
		release_pages(spare, nr);
	kvfree(spare);
}

/* ---- Pages of Calls ---- */

bool rpcrdma_svc_call_room(void *user, u64 octets)
{
	struct rpcrdma_svc_conn *conn = user;

	return rpcrdma_ep_quota_available(conn->ep, RPCRDMA_QUOTA_CALLS,
					  octets);
}

/*
 * Exchange pulled pages for pages of the thread. Pulling a Call needs pages. When the
 * Call is passed to a service thread, the same number of that thread's pages is no longer
 * needed. They are kept for the next Calls, so that pages need not be allocated for each
 * Call.
 */
void rpcrdma_svc_swap_pages(struct rpcrdma_recv *rv, struct page **pages)
{
	struct rpcrdma_svc_call *call = rv->priv;
	struct rpcrdma_svc_conn *conn = call->conn;
	u32 nr = call->nr_pages, kept = 0;
	bool large = false;

	rpcrdma_svc_spare_alloc(conn);
	spin_lock(&conn->lock);
	if (call->early)
		rpcrdma_calls_early_end(&conn->queue, &rv->queued);
	call->early = false;
	if (likely(conn->spare)) {
		kept = rpcrdma_spare_put(&conn->nr_spare, nr);
		memcpy(conn->spare + conn->nr_spare.nr - kept, pages,
		       kept * sizeof(*pages));
		large = rpcrdma_spare_is_large(&conn->nr_spare);
	}
	spin_unlock(&conn->lock);
	if (large && !delayed_work_pending(&conn->spare_work))
		queue_delayed_work(rpcrdma_svc_wq, &conn->spare_work,
				   RPCRDMA_SVC_TRIM_DELAY);
	if (kept < nr)
		release_pages(pages + kept, nr - kept);
	memcpy(pages, call->pages, nr * sizeof(*pages));
	call->nr_pages = 0;
	rpcrdma_svc_call_give(call);
}

/* As rpcrdma_svc_call_room(), but charge the memory if the quota has it. */
static bool rpcrdma_svc_early_room(void *user, u64 octets)
{
	struct rpcrdma_svc_conn *conn = user;

	return rpcrdma_ep_quota_take(conn->ep, RPCRDMA_QUOTA_CALLS, octets);
}

bool rpcrdma_svc_early_pages(struct rpcrdma_recv *rv, u32 nr)
{
	struct rpcrdma_svc_call *call = rv->priv;
	struct rpcrdma_svc_conn *conn = call->conn;
	u32 i, spare = 0;
	struct page *page;

	spin_lock(&conn->lock);
	call->early = rpcrdma_calls_early(&conn->queue, &rv->queued,
					  rpcrdma_svc_early_room, conn);
	if (call->early) {
		call->held = nr << PAGE_SHIFT;
		spare = rpcrdma_svc_spare_take(conn, call, nr);
	}
	spin_unlock(&conn->lock);

	for (i = spare; call->early && i < nr; i++) {
		page = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!page)
			break;
		call->pages[i] = page;
	}
	call->nr_pages = i;
	return i == nr;
}

void rpcrdma_svc_take_pages(struct svc_rqst *rqstp,
			    struct rpcrdma_svc_call *call, u32 nr)
{
	struct rpcrdma_svc_conn *conn = call->conn;
	u32 spare;

	spin_lock(&conn->lock);
	spare = rpcrdma_svc_spare_take(conn, call, nr);
	spin_unlock(&conn->lock);
	call->nr_pages = nr;
	nr -= spare;
	memcpy(call->pages + spare, rqstp->rq_pages, nr * sizeof(*call->pages));
	memset(rqstp->rq_pages, 0, nr * sizeof(*call->pages));
	rpcrdma_rqst_pages_taken(rqstp, nr);
	/* The thread has checked the quota before it dequeued the Call. */
	call->held = call->nr_pages << PAGE_SHIFT;
	rpcrdma_ep_charge(conn->ep, RPCRDMA_QUOTA_CALLS, call->held);
}
