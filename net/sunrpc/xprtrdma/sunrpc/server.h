/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The "rdma" server transport class.
 */
#ifndef RPCRDMA_SERVER_H
#define RPCRDMA_SERVER_H

#include <linux/sunrpc/svc_xprt.h>

#include "../verbs/charge.h"
#include "../verbs/receiving.h"
#include "../verbs/sending.h"

/*
 * Module start: register the class, and the one for the reverse direction. Return 0 or
 * a negative errno; on error nothing is left registered.
 */
int rpcrdma_server_init(void);

/*
 * Module end: no listener or connection can be created any more. Wait for those that
 * are still being freed. Before rpcrdma_ep_exit(). Sleeps.
 */
void rpcrdma_server_exit(void);

/* Return the endpoint of an accepted connection; it lives as long as @xprt does. */
struct rpcrdma_ep *rpcrdma_server_ep(struct svc_xprt *xprt);

#endif /* RPCRDMA_SERVER_H */
