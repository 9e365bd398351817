// SPDX-License-Identifier: GPL-2.0
/*
 * The queue of Calls of the callback service, and how a thread that waits for them is woken.
 * sv_cb_waitq is tried before svc_pool_wake_idle_thread(), because kernels exist that have
 * both, and in those the callback service waits on sv_cb_waitq.
 *
 * Forms: HAVE_SVC_CB_LWQ HAVE_SVC_CB_LIST HAVE_SVC_CB_LIST_OF_POOL
 */
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/xprt.h>

/* Without callbacks no form is used, and the first one is found. */
#ifdef CONFIG_SUNRPC_BACKCHANNEL
void probe(struct svc_serv *serv, struct rpc_rqst *rqst);

void probe(struct svc_serv *serv, struct rpc_rqst *rqst)
{
#ifdef HAVE_SVC_CB_LWQ
	lwq_enqueue(&rqst->rq_bc_list, &serv->sv_cb_list);
	svc_pool_wake_idle_thread(&serv->sv_pools[0]);
#else
	spin_lock_bh(&serv->sv_cb_lock);
	list_add_tail(&rqst->rq_bc_list, &serv->sv_cb_list);
	spin_unlock_bh(&serv->sv_cb_lock);
#ifdef HAVE_SVC_CB_LIST
	wake_up(&serv->sv_cb_waitq);
#else
	svc_pool_wake_idle_thread(&serv->sv_pools[0]);
#endif
#endif
}
#endif
