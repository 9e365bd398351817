/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reverse direction at the server: an rpc_xprt through which a service
 * calls its client over the client's connection (NFSv4 callbacks).
 */
#ifndef RPCRDMA_SERVER_BC_H
#define RPCRDMA_SERVER_BC_H

#include <linux/sunrpc/svc_xprt.h>

#include "../verbs/receiving.h"

/* Module start and end: the transport class for XPRT_TRANSPORT_BC_RDMA */
int rpcrdma_server_bc_init(void);
void rpcrdma_server_bc_exit(void);

/*
 * Process a Reply, good or bad, or an ERROR for a Call of the server; consumes @rv.
 * Notify Calls that wait for the connection. The caller has a reference to @sxprt.
 * Process context, no lock held.
 */
void rpcrdma_server_bc_reply(struct svc_xprt *sxprt, struct rpcrdma_recv *rv);
void rpcrdma_server_bc_write_space(struct svc_xprt *sxprt);

#endif /* RPCRDMA_SERVER_BC_H */
