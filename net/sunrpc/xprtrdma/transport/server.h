/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The "rdma" server transport class.
 */
#ifndef RPCRDMA_SERVER_H
#define RPCRDMA_SERVER_H

#include <linux/sunrpc/svc_xprt.h>

#include "../endpoint/endpoint.h"

/*
 * Module start: registers the class, and the one for the reverse direction.
 * Returns 0 or a negative errno, with nothing left behind.
 */
int rpcrdma_server_init(void);

/*
 * Module end: nobody can make a listener or connection any more; waits for
 * those that are still being freed. Before rpcrdma_ep_exit(). Sleeps.
 */
void rpcrdma_server_exit(void);

/* The endpoint of an accepted connection; lives as long as @xprt does. */
struct rpcrdma_ep *rpcrdma_server_ep(struct svc_xprt *xprt);

#endif /* RPCRDMA_SERVER_H */
