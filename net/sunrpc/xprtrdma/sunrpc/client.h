/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client's transport: an rpc_xprt over one connection at a time.
 */
#ifndef RPCRDMA_CLIENT_H
#define RPCRDMA_CLIENT_H

#include <linux/mutex.h>
#include <linux/sunrpc/xprt.h>
#include <linux/workqueue.h>

#include "requester.h"

struct rpcrdma_client {
	struct rpcrdma_requester requester;	/* first */
	struct sockaddr_storage	srcaddr;	/* AF_UNSPEC: any */
	struct rpc_timeout	timeout;

	spinlock_t		ep_lock;	/* protects the pointer @ep, and mrs_made */
	struct rpcrdma_ep	*ep;		/* with a reference, or NULL */
	unsigned long		mrs_made;	/* MRs allocated by earlier connections */
	struct delayed_work	connect_worker;

	/* Reverse direction, client_bc.c */
	struct mutex		bc_mutex;	/* held while bc_serv is used */
	struct rpc_wait_queue	bc_sending;	/* Replies waiting for the write lock */
	struct rpcrdma_callbacks callbacks;	/* bc_mutex; its places: bc_pa_lock */
};

static inline struct rpcrdma_client *rpcrdma_xprt_client(struct rpc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_client, requester.xprt);
}

/* ---- client_connect.c ---- */

/* Return the connection, with a reference for the caller, or NULL. Any context. */
struct rpcrdma_ep *rpcrdma_client_ep(struct rpcrdma_client *client);
/*
 * Reconnect or, with @close, disconnect, in the order given by the engine. The caller
 * has the write lock, which is released after a reconnect. Sleeps.
 */
void rpcrdma_client_reconnect(struct rpcrdma_client *client, bool close);
/* End the connection, if any, and wait until it is gone. Sleeps. */
void rpcrdma_client_disconnect(struct rpcrdma_client *client);
/* Return the number of MRs that all connections have allocated. Any context. */
unsigned long rpcrdma_client_mrs_made(struct rpcrdma_client *client);
/* Add @change to the number of swap files over the transport. */
void rpcrdma_client_swapper(struct rpcrdma_client *client, int change);
/* Work function of client->connect_worker */
void rpcrdma_client_connect_worker(struct work_struct *work);

/* ---- client.c ---- */

/* Register the transport class. Return 0 or a negative errno. */
int rpcrdma_client_init(void);
/* Unregister it, and wait for transports that are being destroyed. */
void rpcrdma_client_exit(void);

#endif /* RPCRDMA_CLIENT_H */
