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

#include <core/port_call.h>

#include "../compat.h"
#include "client_bc.h"
#include "internal.h"
#include "settings.h"

/* The maximum of spare pages that are freed at a time, and the interval */
enum { RPCRDMA_SVC_TRIM = 64 };
#define RPCRDMA_SVC_TRIM_DELAY	(HZ / 2)

struct workqueue_struct *rpcrdma_svc_wq;

/* rpcrdma_svc_call_alloc() */
static __always_inline struct rpcrdma_svc_call *
rpcrdma_svc_call_create(struct rpcrdma_recv *rv, u32 nr, gfp_t gfp)
{
	struct rpcrdma_svc_call *call;

	call = kmalloc(struct_size(call, pages, nr), gfp);
	rv->priv = call;
	if (unlikely(!call))
		return NULL;
	rv->into = call->pages;
	call->nr_pages = 0;
	call->held = 0;
	call->results.nr = 0;
	call->results.pass = 0;
	return call;
}

struct rpcrdma_svc_call *rpcrdma_svc_call_alloc(struct rpcrdma_recv *rv, u32 nr,
						gfp_t gfp)
{
	return rpcrdma_svc_call_create(rv, nr, gfp);
}

/* Uncharge the pages of @call: they are not held for the peer any more. */
static __always_inline void rpcrdma_svc_call_give(struct rpcrdma_ep *ep,
						  struct rpcrdma_svc_call *call)
{
	u32 held = call->held;

	call->held = 0;
	if (held)
		rpcrdma_ep_uncharge(ep, RPCRDMA_QUOTA_CALLS, held);
}

/* rpcrdma_port_call_free() of a callback, or of a Call that has pages or a charge */
static noinline void rpcrdma_svc_call_drop(struct rpcrdma_recv *rv,
					   struct rpcrdma_svc_call *call)
{
	struct rpcrdma_svc_conn *conn;

	if (rv->queued.at_once) {
		rpcrdma_client_bc_drop(call);
		return;
	}
	if (rv->queued.early) {
		conn = rpcrdma_svc_conn_of(rv->core);
		spin_lock(&conn->lock);
		rpcrdma_calls_early_end(&conn->queue, &rv->queued);
		spin_unlock(&conn->lock);
	}
	if (call->nr_pages)
		release_pages(call->pages, call->nr_pages);
	rpcrdma_svc_call_give(rpcrdma_recv_ep(rv), call);
	kfree(call);
}

/* Fast path: a thread has taken the pages, or there were none. */
void rpcrdma_port_call_free(struct rpcrdma_recv *rv)
{
	struct rpcrdma_svc_call *call = rv->priv;

	rv->priv = NULL;
	/* A callback has an object of another type. */
	if (unlikely(rv->queued.at_once || rv->queued.early || call->nr_pages ||
		     call->held))
		rpcrdma_svc_call_drop(rv, call);
	else
		kfree(call);
}

/* ---- Spare pages ---- */

/* Allocate the array of spare pages, if possible. Called by a service thread. */
static void rpcrdma_svc_spare_alloc(struct rpcrdma_svc_conn *conn)
{
	void **spare;

	if (likely(READ_ONCE(conn->spare.pages)))
		return;
	spare = kvmalloc_array(READ_ONCE(conn->spare.most), sizeof(*spare),
			       GFP_KERNEL);
	spare = rpcrdma_locked(&conn->lock,
			       rpcrdma_spare_provide(&conn->spare, spare));
	kvfree(spare);
}

/* Free and uncharge pages that are not kept any more. */
static void rpcrdma_svc_spare_release(struct rpcrdma_svc_conn *conn,
				      struct page **pages, u32 nr)
{
	if (!nr)
		return;
	release_pages(pages, nr);
	rpcrdma_ep_uncharge(conn->ep, RPCRDMA_QUOTA_CALLS, (u64)nr << PAGE_SHIFT);
}

/*
 * Free the pages that no Call has needed since the last time. Not on rpcrdma_svc_wq:
 * its destruction drains it while connections end. A timer that expires then would leave
 * the work item pending but not queued, and cancel_delayed_work_sync() would not return.
 */
static void rpcrdma_svc_spare_trim(struct work_struct *work)
{
	struct rpcrdma_svc_conn *conn =
		container_of(to_delayed_work(work), struct rpcrdma_svc_conn,
			     spare_work);
	void *pages[RPCRDMA_SVC_TRIM];
	bool more;
	u32 nr;

	do {
		spin_lock(&conn->lock);
		nr = rpcrdma_spare_trim(&conn->spare, pages, ARRAY_SIZE(pages));
		more = rpcrdma_spare_any(&conn->spare);
		spin_unlock(&conn->lock);
		rpcrdma_svc_spare_release(conn, (struct page **)pages, nr);
	} while (nr == ARRAY_SIZE(pages));
	if (more)
		queue_delayed_work(system_long_wq, &conn->spare_work,
				   RPCRDMA_SVC_TRIM_DELAY);
}

void rpcrdma_svc_spare_init(struct rpcrdma_svc_conn *conn, u32 pages)
{
	rpcrdma_spare_init(&conn->spare, pages);
	INIT_DELAYED_WORK(&conn->spare_work, rpcrdma_svc_spare_trim);
}

void rpcrdma_svc_spare_free(struct rpcrdma_svc_conn *conn)
{
	void **spare;
	u32 nr;

	spare = rpcrdma_locked(&conn->lock,
			       rpcrdma_spare_end(&conn->spare, &nr));
	rpcrdma_svc_spare_release(conn, (struct page **)spare, nr);
	kvfree(spare);
}

/* ---- Pages of Calls ---- */

/*
 * Exchange pulled pages for pages of the thread. Pulling a Call needs pages. When the
 * Call is passed to a service thread, the same number of that thread's pages is no longer
 * needed. They are kept for the next Calls, with their charge, so that pages need not be
 * allocated for each Call. If memory is tight, none is kept.
 */
bool rpcrdma_svc_swap_pages(struct rpcrdma_recv *rv, struct svc_rqst *rqstp)
{
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_conn_of(rv->core);
	struct rpcrdma_svc_call *call = rv->priv;
	struct page **pages = rqstp->rq_pages;
	u32 nr = call->nr_pages, kept = 0;

	if (unlikely(nr > rpcrdma_rqst_arg_pages(rqstp)))
		return false;
	rpcrdma_svc_spare_alloc(conn);
	spin_lock(&conn->lock);
	rpcrdma_calls_early_end(&conn->queue, &rv->queued);
	if (likely(!rpcrdma_quota_is_tight(&rpcrdma_quota)))
		kept = rpcrdma_spare_put(&conn->spare, (void **)pages, nr);
	spin_unlock(&conn->lock);
	if (kept && !delayed_work_pending(&conn->spare_work))
		queue_delayed_work(system_long_wq, &conn->spare_work,
				   RPCRDMA_SVC_TRIM_DELAY);
	if (kept < nr)
		release_pages(pages + kept, nr - kept);
	memcpy(pages, call->pages, nr * sizeof(*pages));
	call->nr_pages = 0;
	call->held -= kept << PAGE_SHIFT;
	rpcrdma_svc_call_give(conn->ep, call);
	return true;
}

/*
 * As rpcrdma_port_room(), but charge the memory beyond spare pages if the quota has it.
 * Caller holds conn->lock.
 */
static bool rpcrdma_svc_early_room(void *user, u64 octets)
{
	struct rpcrdma_svc_conn *conn = user;
	u64 nr = rpcrdma_spare_missing(&conn->spare, octets >> PAGE_SHIFT);

	return likely(!nr) || rpcrdma_ep_quota_take(conn->ep, RPCRDMA_QUOTA_CALLS,
						    nr << PAGE_SHIFT);
}

/* Without waiting. The Call gets the pages that are available. */
static int rpcrdma_svc_early_pages(struct rpcrdma_svc_conn *conn,
				   struct rpcrdma_recv *rv, u32 nr)
{
	struct rpcrdma_svc_call *call;
	u32 i, spare = 0;
	struct page *page;
	bool early;

	call = rpcrdma_svc_call_create(rv, nr, GFP_NOWAIT | __GFP_NOWARN);
	if (unlikely(!call))
		return -ENOMEM;
	spin_lock(&conn->lock);
	early = rpcrdma_calls_early(&conn->queue, &rv->queued,
				    rpcrdma_svc_early_room, conn);
	if (early) {
		call->held = nr << PAGE_SHIFT;
		spare = rpcrdma_spare_take(&conn->spare, (void **)call->pages, nr);
	}
	spin_unlock(&conn->lock);

	for (i = spare; early && i < nr; i++) {
		page = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!page)
			break;
		call->pages[i] = page;
	}
	call->nr_pages = i;
	return likely(i == nr) ? 0 : -ENOMEM;
}

/* Spare pages, and if there are too few, pages of @rqstp, which sunrpc refills */
static int rpcrdma_svc_take_pages(struct rpcrdma_svc_conn *conn,
				  struct rpcrdma_recv *rv,
				  struct svc_rqst *rqstp, u32 nr)
{
	struct rpcrdma_svc_call *call;
	u32 spare;

	if (nr > rpcrdma_rqst_arg_pages(rqstp))
		return -E2BIG;
	call = rpcrdma_svc_call_alloc(rv, nr, GFP_KERNEL);
	if (!call)
		return -ENOMEM;
	spare = rpcrdma_locked(&conn->lock,
			       rpcrdma_spare_take(&conn->spare,
						  (void **)call->pages, nr));
	call->nr_pages = nr;
	nr -= spare;
	memcpy(call->pages + spare, rqstp->rq_pages, nr * sizeof(*call->pages));
	memset(rqstp->rq_pages, 0, nr * sizeof(*call->pages));
	rpcrdma_rqst_pages_taken(rqstp, nr);
	/* The thread has checked the quota before it dequeued the Call. */
	call->held = call->nr_pages << PAGE_SHIFT;
	if (nr)
		rpcrdma_ep_charge(conn->ep, RPCRDMA_QUOTA_CALLS,
				  (u64)nr << PAGE_SHIFT);
	return 0;
}

int rpcrdma_port_call_pages(struct rpcrdma_recv *rv, struct rpcrdma_thread *thread)
{
	struct rpcrdma_svc_conn *conn = rpcrdma_svc_conn_of(rv->core);
	u64 nr = rv->queued.pull_octets >> PAGE_SHIFT;
	int rc;

	if (unlikely(nr != (u32)nr))
		return -E2BIG;
	rc = likely(!thread) ? rpcrdma_svc_early_pages(conn, rv, nr) :
			       rpcrdma_svc_take_pages(conn, rv,
						      rpcrdma_thread_rqst(thread),
						      nr);
	if (likely(!rc))
		percpu_counter_inc(&svcrdma_stat_read);
	return rc;
}
