/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernel releases, in one place.
 *
 * The code is written for the newest form of each interface, and does not mention
 * releases. This header hides the differences of other kernels. Version numbers are
 * unreliable, because fixes are backported to stable releases, and distributions add
 * their own. Therefore each interface that differs has a macro for each of its known
 * forms, and the build defines the macro of the form that compiles (compat.mk).
 * Documentation/kernels.rst has a table of the forms and their releases.
 */
#ifndef RPCRDMA_COMPAT_H
#define RPCRDMA_COMPAT_H

#include "compat/config.h"

#include <linux/sched.h>
#include <linux/sunrpc/bc_xprt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xprt.h>
#include <linux/sysctl.h>
#include <rdma/ib_verbs.h>
#ifdef HAVE_LINUX_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* A function into which the functions that it calls are inlined. 5.10 has no name for it. */
#ifndef __flatten
#define __flatten __attribute__((__flatten__))
#endif

/* A variable that CONFIG_INIT_STACK_ALL_* does not initialize. Kernels have it since 6.9. */
#ifndef __uninitialized
#if __has_attribute(__uninitialized__)
#define __uninitialized __attribute__((__uninitialized__))
#else
#define __uninitialized
#endif
#endif

/* ---- sysctl ---- */

#ifdef HAVE_CTL_TABLE_CONST_HANDLER
#define rpcrdma_ctl_table const struct ctl_table
#else
#define rpcrdma_ctl_table struct ctl_table
#endif

/*
 * Register the @count entries of @table. It has one more, empty element after them, for
 * kernels that need it.
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
 * Call and Reply have an array each, of rq_maxpages. sunrpc refills rq_pages up to
 * rq_pages_nfree, and rq_respages up to rq_next_page.
 */

/* Return the number of rq_pages that a Call may use. */
static inline u32 rpcrdma_rqst_arg_pages(const struct svc_rqst *rqstp)
{
	return rqstp->rq_maxpages;
}

/* Record that the first @nr of rq_pages have been taken and are NULL. */
static inline void rpcrdma_rqst_pages_taken(struct svc_rqst *rqstp, u32 nr)
{
	rqstp->rq_pages_nfree = nr;
}

/* Set the start of the Reply of a Call that is in the first @nr of rq_pages. */
static inline void rpcrdma_rqst_set_respages(struct svc_rqst *rqstp, u32 nr)
{
	rqstp->rq_next_page = rqstp->rq_respages;
}

/*
 * Keep the first page of the Reply, which is unused, for the next Reply. All its other
 * pages are NULL.
 */
static inline void rpcrdma_rqst_keep_first(struct svc_rqst *rqstp)
{
}

#else /* one array; NULL entries are refilled */

static inline u32 rpcrdma_rqst_arg_pages(const struct svc_rqst *rqstp)
{
	long nr = rqstp->rq_page_end - rqstp->rq_pages;

	/* The Reply needs two pages. */
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
 * The member of svc_xprt_ops, for kernels that have it. With other kernels the
 * transport sets RQ_SECURE when it receives a Call.
 */
#ifdef HAVE_XPO_SECURE_PORT
#define RPCRDMA_SECURE_PORT_OP(fn)	.xpo_secure_port = (fn),
#else
#define RPCRDMA_SECURE_PORT_OP(fn)
#endif

/* ---- Transports of a service ---- */

/*
 * The member of svc_xprt_ops by which sunrpc releases what the transport has attached
 * to a Call, named @fn. If the kernel has no xpo_release_ctxt, a deferred Call loses
 * the attachment, and its Reply cannot be sent.
 */
#ifdef HAVE_XPO_RELEASE_CTXT
#define RPCRDMA_RELEASE_FN(fn)
#define RPCRDMA_RELEASE_OP(fn)		.xpo_release_ctxt = (fn),
#else
#define RPCRDMA_RELEASE_FN(fn)						\
static void fn##_rqst(struct svc_rqst *rqstp)				\
{									\
	fn(rqstp->rq_xprt, rqstp->rq_xprt_ctxt);			\
	rqstp->rq_xprt_ctxt = NULL;					\
}
#define RPCRDMA_RELEASE_OP(fn)		.xpo_release_rqst = fn##_rqst,
#endif

#ifndef HAVE_SVC_XPRT_DEFERRED_CLOSE
static inline void svc_xprt_deferred_close(struct svc_xprt *xprt)
{
	if (!test_and_set_bit(XPT_CLOSE, &xprt->xpt_flags))
		svc_xprt_enqueue(xprt);
}
#endif

/* Let the next thread in, unless sunrpc does so when xpo_recvfrom() returns. */
static inline void rpcrdma_svc_received(struct svc_xprt *xprt)
{
#ifdef HAVE_RECEIVED_BY_TRANSPORT
	svc_xprt_received(xprt);
#endif
}

/* Put the reference to the network namespace that svc_xprt_init() took. */
static inline void rpcrdma_svc_put_net(struct svc_xprt *xprt)
{
#ifdef HAVE_XPT_NS_TRACKER
	put_net_track(xprt->xpt_net, &xprt->ns_tracker);
#else
	put_net(xprt->xpt_net);
#endif
}

/* ---- Transports of a client ---- */

static inline void rpcrdma_xprt_set_class(struct rpc_xprt *xprt,
					  const struct xprt_class *class)
{
#ifdef HAVE_XPRT_CLASS_MEMBER
	xprt->xprt_class = class;
#endif
}

/*
 * Return true if @xprt is the first transport of its RPC client, which connects before the
 * client is used. On kernels that do not mark it, return @unknown.
 */
static inline bool rpcrdma_xprt_is_main(const struct rpc_xprt *xprt, bool unknown)
{
#ifdef HAVE_XPRT_CLASS_MEMBER
	return xprt->main;
#else
	return unknown;
#endif
}

/* Memory reclaim may wait for the RPC that the caller works for. */
#ifndef HAVE_RPC_TASK_GFP_MASK
static inline gfp_t rpc_task_gfp_mask(void)
{
	return current->flags & PF_WQ_WORKER ?
	       GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN : GFP_NOFS;
}
#endif

/* ---- Devices ---- */

/* Return true if one MR of the device can hold memory with gaps. */
static inline bool rpcrdma_device_has_gaps(const struct ib_device *device)
{
#ifdef HAVE_IBK_SG_GAPS_REG
	return device->attrs.kernel_cap_flags & IBK_SG_GAPS_REG;
#else
	return device->attrs.device_cap_flags & IB_DEVICE_SG_GAPS_REG;
#endif
}

/* ---- Calls that arrive in the reverse direction at a client ---- */

#if defined(CONFIG_SUNRPC_BACKCHANNEL)

#if defined(HAVE_XPRT_ENQUEUE_BC_REQUEST)

/*
 * Pass a Call to the callback service of @rqst->rq_xprt, in order of arrival. The
 * caller prevents the end of xprt->bc_serv, and has taken the reference to the rpc_xprt
 * that the rpc_rqst holds until bc_free_rqst().
 */
static inline void rpcrdma_bc_enqueue(struct svc_serv *serv,
				      struct rpc_rqst *rqst)
{
	struct rpc_xprt *xprt = rqst->rq_xprt;

	/* sunrpc takes a separate reference. @rqst may have been released already. */
	xprt_enqueue_bc_request(rqst);
	xprt_put(xprt);
}

#elif defined(HAVE_SVC_CB_LWQ)

static inline void rpcrdma_bc_enqueue(struct svc_serv *serv,
				      struct rpc_rqst *rqst)
{
	lwq_enqueue(&rqst->rq_bc_list, &serv->sv_cb_list);
	svc_pool_wake_idle_thread(&serv->sv_pools[0]);
}

#else /* a list under a lock */

static inline void rpcrdma_bc_enqueue(struct svc_serv *serv,
				      struct rpc_rqst *rqst)
{
	spin_lock_bh(&serv->sv_cb_lock);
	list_add_tail(&rqst->rq_bc_list, &serv->sv_cb_list);
	spin_unlock_bh(&serv->sv_cb_lock);
#ifdef HAVE_SVC_CB_LIST_OF_POOL
	svc_pool_wake_idle_thread(&serv->sv_pools[0]);
#else
	wake_up(&serv->sv_cb_waitq);
#endif
}

#endif

/*
 * Dequeue a Call of @xprt that the service has not started, or return NULL. Not all kernels
 * with xprt_enqueue_bc_request() release such Calls when the service ends.
 */
#if defined(HAVE_SVC_CB_LWQ)

/*
 * Such a queue can only be dequeued as a whole. Calls of other transports are queued
 * again, in their order, and a thread that found the queue empty meanwhile is woken.
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
			lwq_enqueue(&rqst->rq_bc_list, &serv->sv_cb_list);
	}
	svc_pool_wake_idle_thread(&serv->sv_pools[0]);
	return found;
}

#else

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
