// SPDX-License-Identifier: GPL-2.0
/*
 * Whether a client's transport names its class, which sysfs shows, and whether the first one
 * of an RPC client is marked
 *
 * Forms: HAVE_XPRT_CLASS_MEMBER HAVE_XPRT_OPS_ALONE
 */
#include <linux/sunrpc/xprt.h>

void probe(struct rpc_xprt *xprt, const struct xprt_class *class,
	   const struct rpc_xprt_ops *ops);

void probe(struct rpc_xprt *xprt, const struct xprt_class *class,
	   const struct rpc_xprt_ops *ops)
{
#ifdef HAVE_XPRT_CLASS_MEMBER
	xprt->xprt_class = xprt->main ? class : NULL;
#endif
	xprt->ops = ops;
}
