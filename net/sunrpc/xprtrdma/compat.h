/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernel releases, in one place.
 *
 * Code is written for the newest form and says nothing of releases; what an
 * older or younger kernel has differently is hidden here. Version numbers lie
 * (fixes travel to stable releases, and distributions add their own), so each
 * difference has a HAVE_* macro of its own, which compat.mk defines after a
 * look into the kernel's headers. Without any, this is 6.1.
 */
#ifndef RPCRDMA_COMPAT_H
#define RPCRDMA_COMPAT_H

#include <linux/sunrpc/bc_xprt.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/xprt.h>
#include <linux/sysctl.h>
#ifdef HAVE_LINUX_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* ---- sysctl ---- */

#ifdef HAVE_CTL_TABLE_CONST_HANDLER
#define rpcrdma_ctl_table const struct ctl_table
#else
#define rpcrdma_ctl_table struct ctl_table
#endif

/*
 * Register the @count entries of @table, which has one more, empty element
 * behind them for kernels that look for it.
 */
#ifdef HAVE_REGISTER_SYSCTL_SZ
#define rpcrdma_register_sysctl(path, table, count) \
	register_sysctl_sz(path, table, count)
#else
#define rpcrdma_register_sysctl(path, table, count) \
	((void)(count), register_sysctl(path, table))
#endif

/* ---- A service thread's pages ---- */

#ifdef HAVE_RQ_PAGES_NFREE

/*
 * Call and Reply have an array each, of rq_maxpages. sunrpc fills rq_pages
 * again as far as it is told, and rq_respages up to rq_next_page.
 */

/* Pages of rq_pages that a Call may take */
static inline u32 rpcrdma_rqst_arg_pages(const struct svc_rqst *rqstp)
{
	return rqstp->rq_maxpages;
}

/* The first @nr of rq_pages were taken away, and NULL left. */
static inline void rpcrdma_rqst_pages_taken(struct svc_rqst *rqstp, u32 nr)
{
	rqstp->rq_pages_nfree = nr;
}

/* A Call is in the first @nr of rq_pages: say where its Reply begins. */
static inline void rpcrdma_rqst_set_respages(struct svc_rqst *rqstp, u32 nr)
{
	rqstp->rq_next_page = rqstp->rq_respages;
}

/* All but the first of the Reply's pages are NULL, and that one is unused. */
static inline void rpcrdma_rqst_keep_first(struct svc_rqst *rqstp)
{
}

#else /* one array; what is NULL in it is filled again */

static inline u32 rpcrdma_rqst_arg_pages(const struct svc_rqst *rqstp)
{
	long nr = rqstp->rq_page_end - rqstp->rq_pages;

	/* The Reply needs two. */
	return nr > 2 ? nr - 2 : 0;
}

static inline void rpcrdma_rqst_pages_taken(struct svc_rqst *rqstp, u32 nr)
{
}

static inline void rpcrdma_rqst_set_respages(struct svc_rqst *rqstp, u32 nr)
{
	rqstp->rq_respages = &rqstp->rq_pages[nr];
	rqstp->rq_next_page = rqstp->rq_respages;
}

static inline void rpcrdma_rqst_keep_first(struct svc_rqst *rqstp)
{
	rqstp->rq_next_page = rqstp->rq_respages;
}

#endif

/* ---- Reserved ports ---- */

/*
 * Where sunrpc asks, this is the member of svc_xprt_ops; elsewhere the
 * transport sets RQ_SECURE as it receives a Call.
 */
#ifdef HAVE_XPO_SECURE_PORT
#define RPCRDMA_SECURE_PORT_OP(fn)	.xpo_secure_port = (fn),
#else
#define RPCRDMA_SECURE_PORT_OP(fn)
#endif

/* ---- Calls that arrive in the reverse direction at a client ---- */

#if defined(CONFIG_SUNRPC_BACKCHANNEL)

#if defined(HAVE_XPRT_ENQUEUE_BC_REQUEST)

/*
 * Give a Call to the callback service of @rqst->rq_xprt, in order of arrival.
 * The caller keeps xprt->bc_serv from going away, and has taken the reference
 * to the rpc_xprt that the rpc_rqst holds until bc_free_rqst().
 */
static inline void rpcrdma_bc_enqueue(struct svc_serv *serv,
				      struct rpc_rqst *rqst)
{
	struct rpc_xprt *xprt = rqst->rq_xprt;

	/* Takes a reference of its own; @rqst may be finished with already. */
	xprt_enqueue_bc_request(rqst);
	xprt_put(xprt);
}

/* What the service has not begun with it gives back when it ends. */
static inline struct rpc_rqst *rpcrdma_bc_dequeue(struct svc_serv *serv,
						  struct rpc_xprt *xprt)
{
	return NULL;
}

#elif defined(HAVE_SVC_CB_LWQ)

static inline void rpcrdma_bc_enqueue(struct svc_serv *serv,
				      struct rpc_rqst *rqst)
{
	lwq_enqueue(&rqst->rq_bc_list, &serv->sv_cb_list);
	svc_pool_wake_idle_thread(&serv->sv_pools[0]);
}

/*
 * Such a queue can only be taken as a whole. Calls of other transports go back,
 * in their order, and a thread that found nothing meanwhile is woken.
 */
static inline struct rpc_rqst *rpcrdma_bc_dequeue(struct svc_serv *serv,
						  struct rpc_xprt *xprt)
{
	struct llist_node *node = lwq_dequeue_all(&serv->sv_cb_list), *next;
	struct rpc_rqst *rqst, *found = NULL;

	for (; node; node = next) {
		next = node->next;
		rqst = container_of(node, struct rpc_rqst, rq_bc_list.node);
		if (!found && rqst->rq_xprt == xprt)
			found = rqst;
		else
			rpcrdma_bc_enqueue(serv, rqst);
	}
	return found;
}

#else /* a list under a lock */

static inline void rpcrdma_bc_enqueue(struct svc_serv *serv,
				      struct rpc_rqst *rqst)
{
	spin_lock_bh(&serv->sv_cb_lock);
	list_add_tail(&rqst->rq_bc_list, &serv->sv_cb_list);
	spin_unlock_bh(&serv->sv_cb_lock);
	wake_up(&serv->sv_cb_waitq);
}

/* Take back a Call of @xprt that the service has not begun with, or NULL. */
static inline struct rpc_rqst *rpcrdma_bc_dequeue(struct svc_serv *serv,
						  struct rpc_xprt *xprt)
{
	struct rpc_rqst *rqst, *found = NULL;

	spin_lock_bh(&serv->sv_cb_lock);
	list_for_each_entry(rqst, &serv->sv_cb_list, rq_bc_list) {
		if (rqst->rq_xprt == xprt) {
			list_del(&rqst->rq_bc_list);
			found = rqst;
			break;
		}
	}
	spin_unlock_bh(&serv->sv_cb_lock);
	return found;
}

#endif

/* The service's end of that queue, for tests that are the service */
#ifdef HAVE_SVC_CB_LWQ

static inline void rpcrdma_bc_queue_init(struct svc_serv *serv)
{
	lwq_init(&serv->sv_cb_list);
}

static inline struct rpc_rqst *rpcrdma_bc_next(struct svc_serv *serv)
{
	return lwq_dequeue(&serv->sv_cb_list, struct rpc_rqst, rq_bc_list);
}

#else

static inline void rpcrdma_bc_queue_init(struct svc_serv *serv)
{
	spin_lock_init(&serv->sv_cb_lock);
	INIT_LIST_HEAD(&serv->sv_cb_list);
	init_waitqueue_head(&serv->sv_cb_waitq);
}

static inline struct rpc_rqst *rpcrdma_bc_next(struct svc_serv *serv)
{
	struct rpc_rqst *rqst;

	spin_lock_bh(&serv->sv_cb_lock);
	rqst = list_first_entry_or_null(&serv->sv_cb_list, struct rpc_rqst,
					rq_bc_list);
	if (rqst)
		list_del(&rqst->rq_bc_list);
	spin_unlock_bh(&serv->sv_cb_lock);
	return rqst;
}

#endif
#endif /* CONFIG_SUNRPC_BACKCHANNEL */

#endif /* RPCRDMA_COMPAT_H */
