// SPDX-License-Identifier: GPL-2.0
/*
 * How a transport reports that a Call is from a reserved port: by an operation, or by a flag
 * that it sets when it receives the Call
 *
 * Forms: HAVE_XPO_SECURE_PORT HAVE_RQ_SECURE
 */
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>

#ifdef HAVE_XPO_SECURE_PORT
static void probe_secure_port(struct svc_rqst *rqstp)
{
	set_bit(RQ_SECURE, &rqstp->rq_flags);
}

extern const struct svc_xprt_ops probed;
const struct svc_xprt_ops probed = { .xpo_secure_port = probe_secure_port };
#else
void probe(struct svc_rqst *rqstp);

void probe(struct svc_rqst *rqstp)
{
	set_bit(RQ_SECURE, &rqstp->rq_flags);
}
#endif
