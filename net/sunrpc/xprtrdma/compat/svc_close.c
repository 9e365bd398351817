// SPDX-License-Identifier: GPL-2.0
/*
 * How a service's transport is closed from a context that may not sleep
 *
 * Forms: HAVE_SVC_XPRT_DEFERRED_CLOSE HAVE_XPT_CLOSE
 */
#include <linux/sunrpc/svc_xprt.h>

void probe(struct svc_xprt *xprt);

void probe(struct svc_xprt *xprt)
{
#ifdef HAVE_SVC_XPRT_DEFERRED_CLOSE
	svc_xprt_deferred_close(xprt);
#else
	if (!test_and_set_bit(XPT_CLOSE, &xprt->xpt_flags))
		svc_xprt_enqueue(xprt);
#endif
}
