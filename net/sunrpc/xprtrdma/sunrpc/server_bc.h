/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reverse direction at the server: an rpc_xprt through which a service
 * calls its client over the client's connection (NFSv4 callbacks).
 */
#ifndef RPCRDMA_SERVER_BC_H
#define RPCRDMA_SERVER_BC_H

#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xprt.h>

#include "../verbs/receiving.h"

/* The transport class for XPRT_TRANSPORT_BC_RDMA */
extern struct xprt_class rpcrdma_server_bc_class;

/*
 * Process a Reply, good or bad, or an ERROR for a Call of the server; consumes @rv.
 * Notify Calls that wait for the connection. The caller has a reference to @sxprt.
 * Process context, no lock held.
 */
void rpcrdma_server_bc_reply(struct svc_xprt *sxprt, struct rpcrdma_recv *rv);
void rpcrdma_server_bc_write_space(struct svc_xprt *sxprt);

#endif /* RPCRDMA_SERVER_BC_H */
