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
	/* Takes a reference of its own */
	xprt_enqueue_bc_request(rqst);
	xprt_put(rqst->rq_xprt);
}

/* What the service has not begun with is taken back by it in its own way. */
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

static inline struct rpc_rqst *rpcrdma_bc_dequeue(struct svc_serv *serv,
						  struct rpc_xprt *xprt)
{
	return NULL;
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
#endif /* CONFIG_SUNRPC_BACKCHANNEL */

#endif /* RPCRDMA_COMPAT_H */
