// SPDX-License-Identifier: GPL-2.0
/*
 * How sunrpc releases what a transport has attached to a Call. With xpo_release_ctxt, a
 * deferred Call keeps it. With xpo_release_rqst, a deferred Call loses it.
 *
 * Forms: HAVE_XPO_RELEASE_CTXT HAVE_XPO_RELEASE_RQST
 */
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>

extern const struct svc_xprt_ops probed;

#ifdef HAVE_XPO_RELEASE_CTXT
static void probe_release(struct svc_xprt *xprt, void *ctxt)
{
}

const struct svc_xprt_ops probed = { .xpo_release_ctxt = probe_release };
#else
static void probe_release(struct svc_rqst *rqstp)
{
	rqstp->rq_xprt_ctxt = NULL;
}

const struct svc_xprt_ops probed = { .xpo_release_rqst = probe_release };
#endif
