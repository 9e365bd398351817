// SPDX-License-Identifier: GPL-2.0
/*
 * How a Call is passed to the callback service: by a function of sunrpc, which takes a
 * reference to the transport, or by adding it to the service's queue
 *
 * Forms: HAVE_XPRT_ENQUEUE_BC_REQUEST HAVE_SV_CB_LIST
 */
#include <linux/sunrpc/bc_xprt.h>
#include <linux/sunrpc/svc.h>

/* Without callbacks no form is used, and the first one is found. */
#ifdef CONFIG_SUNRPC_BACKCHANNEL
void probe(struct svc_serv *serv, struct rpc_rqst *rqst);

void probe(struct svc_serv *serv, struct rpc_rqst *rqst)
{
#ifdef HAVE_XPRT_ENQUEUE_BC_REQUEST
	xprt_enqueue_bc_request(rqst);
#else
	(void)&serv->sv_cb_list;
	(void)&rqst->rq_bc_list;
#endif
}
#endif
