/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reverse direction at the client: Calls from the server (4.5).
 */
#ifndef RPCRDMA_CLIENT_BC_H
#define RPCRDMA_CLIENT_BC_H

#include "client.h"

#if defined(CONFIG_SUNRPC_BACKCHANNEL)

/* bc_* operations of the rpc_xprt */
int rpcrdma_client_bc_setup(struct rpc_xprt *xprt, unsigned int min_reqs);
size_t rpcrdma_client_bc_maxpayload(struct rpc_xprt *xprt);
unsigned int rpcrdma_client_bc_num_slots(struct rpc_xprt *xprt);
void rpcrdma_client_bc_free_rqst(struct rpc_rqst *rqst);
void rpcrdma_client_bc_destroy(struct rpc_xprt *xprt, unsigned int max_reqs);

/* reserve_xprt() and release_xprt(): Replies to the server's Calls have priority. */
int rpcrdma_client_reserve_xprt(struct rpc_xprt *xprt, struct rpc_task *task);
void rpcrdma_client_release_xprt(struct rpc_xprt *xprt, struct rpc_task *task);

/* Process a Call that @ep has returned. Consumes @rv. */
void rpcrdma_client_bc_call(struct rpcrdma_client *client,
			    struct rpcrdma_ep *ep, struct rpcrdma_recv *rv);
/* send_request() of the Reply to such a Call, with the same return values. */
int rpcrdma_client_bc_reply(struct rpc_rqst *rqst);

/* Free the remaining rpc_rqsts. None is in use, and no upcall follows. */
void rpcrdma_client_bc_free(struct rpcrdma_client *client);

#else

static inline void rpcrdma_client_bc_call(struct rpcrdma_client *client,
					  struct rpcrdma_ep *ep,
					  struct rpcrdma_recv *rv)
{
	u32 xid = rv->rx.xid;

	rpcrdma_recv_put(rv);
	rpcrdma_ep_refuse(ep, xid, RPCRDMA_REFUSE_NO_SERVICE);
}

static inline int rpcrdma_client_bc_reply(struct rpc_rqst *rqst)
{
	return -EIO;
}

static inline void rpcrdma_client_bc_free(struct rpcrdma_client *client)
{
}

#endif /* CONFIG_SUNRPC_BACKCHANNEL */

#endif /* RPCRDMA_CLIENT_BC_H */
