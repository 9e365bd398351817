/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reverse direction at the client: Calls from the server (4.5).
 */
#ifndef RPCRDMA_CLIENT_BC_H
#define RPCRDMA_CLIENT_BC_H

#include "client.h"

#if defined(CONFIG_SUNRPC_BACKCHANNEL)

/* ---- bc_* operations of the rpc_xprt ---- */

/*
 * Prepare for the callbacks of an NFSv4 session, @min_reqs of which are not refused for
 * lack of memory. Sleeps. Return 0 or -ENOMEM.
 */
int rpcrdma_client_bc_setup(struct rpc_xprt *xprt, unsigned int min_reqs);
/*
 * Return the maximum size of a Call or Reply without its header, in bytes. The NFS client
 * sends this to the server when it creates a session, in an RCU section.
 */
size_t rpcrdma_client_bc_maxpayload(struct rpc_xprt *xprt);
/* Return the maximum number of outstanding Calls. */
unsigned int rpcrdma_client_bc_num_slots(struct rpc_xprt *xprt);
/* Release a Call. Its rpc_rqst has a reference to the transport. */
void rpcrdma_client_bc_free_rqst(struct rpc_rqst *rqst);
/*
 * Stop delivering callbacks. @max_reqs: UINT_MAX when the transport is destroyed. Sleeps.
 * Afterwards the callback service is not used any more; the Calls that it is processing
 * are released by rpcrdma_client_bc_free_rqst().
 */
void rpcrdma_client_bc_destroy(struct rpc_xprt *xprt, unsigned int max_reqs);

/*
 * reserve_xprt() and release_xprt(): get and release the write lock for a task. Replies
 * to the server's Calls have priority. Caller holds transport_lock.
 */
int rpcrdma_client_reserve_xprt(struct rpc_xprt *xprt, struct rpc_task *task);
void rpcrdma_client_release_xprt(struct rpc_xprt *xprt, struct rpc_task *task);

/* Release rv->priv of a Call that the service does not receive. */
void rpcrdma_client_bc_drop(void *call);
/*
 * Send the Reply in rq_snd_buf of a Call's rpc_rqst, on the connection of the Call. If
 * the connection has ended, drop the Reply: the server sends the Call again. The caller
 * has the write lock. Return 0 or -ENOBUFS.
 */
int rpcrdma_client_bc_reply(struct rpc_rqst *rqst);

/* Free the remaining rpc_rqsts. None is in use, and no upcall follows. */
void rpcrdma_client_bc_free(struct rpcrdma_client *client);

#else

static inline void rpcrdma_client_bc_drop(void *call)
{
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
