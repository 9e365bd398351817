// SPDX-License-Identifier: GPL-2.0
/*
 * The side that lets the next thread in while a Call is received: the transport, as
 * soon as it has taken the Call, or sunrpc, when xpo_recvfrom() has returned. Both
 * kinds of kernels have the function, and a second call of it would release another
 * thread's claim. No declaration changed when the call moved into the transports.
 * struct rpc_xprt has named its class since soon after that, and no long-term release
 * is between the two.
 *
 * Forms: HAVE_RECEIVED_BY_TRANSPORT HAVE_RECEIVED_BY_SUNRPC
 */
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xprt.h>

void probe(struct svc_xprt *sxprt, struct rpc_xprt *xprt);

void probe(struct svc_xprt *sxprt, struct rpc_xprt *xprt)
{
#ifdef HAVE_RECEIVED_BY_TRANSPORT
	xprt->xprt_class = NULL;
#endif
	svc_xprt_received(sxprt);
}
