// SPDX-License-Identifier: GPL-2.0
/*
 * The reference of a service's transport to its network namespace
 *
 * Forms: HAVE_XPT_NS_TRACKER HAVE_XPT_NET
 */
#include <linux/sunrpc/svc_xprt.h>
#include <net/net_namespace.h>

void probe(struct svc_xprt *xprt);

void probe(struct svc_xprt *xprt)
{
#ifdef HAVE_XPT_NS_TRACKER
	put_net_track(xprt->xpt_net, &xprt->ns_tracker);
#else
	put_net(xprt->xpt_net);
#endif
}
