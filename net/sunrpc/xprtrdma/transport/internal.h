/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of one transport, and by nobody else.
 */
#ifndef RPCRDMA_TRANSPORT_INTERNAL_H
#define RPCRDMA_TRANSPORT_INTERNAL_H

#include <linux/sunrpc/svc_xprt.h>

#include "../endpoint/endpoint.h"

/* ---- The Requester: requester.c, requester_reply.c ---- */

struct rpcrdma_req;

/* None of the regions is exposed, or they never were. */
void rpcrdma_req_put_mrs(struct rpcrdma_req *req);
/* The geometry of its Call, as the engine wants it */
void rpcrdma_req_call(const struct rpcrdma_req *req,
		      const struct rpcrdma_ep *ep, struct rpcrdma_call *call);
/* End an RPC with @status, a negative errno. The queue_lock is held. */
void rpcrdma_rqst_fail(struct rpc_rqst *rqst, int status);
/* The regions of an answered RPC became invalid, or die with @inv->ep. */
void rpcrdma_requester_inv_done(struct rpcrdma_inv *inv, bool ok);

/* ---- The server: server.c, server_call.c, server_reply.c ---- */

struct rpcrdma_svc_listener;

struct rpcrdma_svc_conn {
	struct svc_xprt		xprt;		/* valid once the service has it */
	struct rpcrdma_ep	*ep;		/* a counted reference */
	struct work_struct	free_work;
	/* Under rpcrdma_svc_accept_lock; NULL once accepted */
	struct rpcrdma_svc_listener *listener;
	struct list_head	node;		/* empty, too, once it made way */
	u32			nr_calls;	/* of those that lay here */
	bool			served;		/* service threads come for messages */

	spinlock_t		lock;		/* of what follows */
	struct list_head	calls;		/* received, as they came */
	struct list_head	pulled;		/* their Reads are through */
	struct page		**spare;	/* to pull into, or NULL: no room */
	u32			nr_spare;	/* arg_pages at most */
	u32			nr_early;	/* pages of Calls ahead of threads */
	u32			arg_pages;	/* a Call's largest, 0: not known */
	struct rpcrdma_guest	guest;		/* the engine's: whose it is */
};

/*
 * What a Call with chunks needs besides its Receive, whose priv it is. A Call
 * without chunks has none.
 */
struct rpcrdma_svc_call {
	struct rpcrdma_svc_conn	*conn;
	/* Read chunks */
	struct page		**pages;	/* pulled into */
	u32			nr_pages;
	u32			nr_early;	/* of them in conn->nr_early */
	u32			octets;		/* in these pages */
	u32			held;		/* octets of them that count */
	bool			item_only;	/* one item, at its page's start */
	/* Results that may go in Write chunks, as the service named them */
	ktime_t			pass;		/* rq_stime then */
	u32			nr_items;
	struct rpcrdma_item	items[RPCRDMA_MAX_WRITE_CHUNKS];
};

extern struct kmem_cache *rpcrdma_svc_call_cache;

static inline struct rpcrdma_svc_conn *rpcrdma_svc_c(struct svc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_svc_conn, xprt);
}

/*
 * The connection is of no more use (7.4: a Reply that cannot be sent ends it).
 * @reason: static string for the log.
 */
void rpcrdma_svc_fail(struct rpcrdma_svc_conn *conn, const char *reason);

/*
 * Is there memory for what becomes of one more Call? If not, write_space() will be
 * called. Process context. The second is the same; it asks in the slow path only.
 */
bool rpcrdma_svc_ask_for_room(struct rpcrdma_svc_conn *conn);
static inline bool rpcrdma_svc_has_room(struct rpcrdma_svc_conn *conn)
{
	return likely(!rpcrdma_ep_must_ask(conn->ep)) ||
	       rpcrdma_svc_ask_for_room(conn);
}

/* server_call.c */
/* The endpoint's upcall call() */
void rpcrdma_svc_arrived(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv);
/* Give back all that a Call holds. Process context. */
void rpcrdma_svc_call_release(struct rpcrdma_recv *rv);
/* The pages to pull into, when nothing is pulled any more */
void rpcrdma_svc_spare_free(struct rpcrdma_svc_conn *conn);
/* Operations of a connection's svc_xprt */
void rpcrdma_svc_secure_port(struct svc_rqst *rqstp);
int rpcrdma_svc_recvfrom(struct svc_rqst *rqstp);
void rpcrdma_svc_release_ctxt(struct svc_xprt *xprt, void *ctxt);

/* server_reply.c: operations, too */
int rpcrdma_svc_result_payload(struct svc_rqst *rqstp,
			       unsigned int offset, unsigned int length);
int rpcrdma_svc_sendto(struct svc_rqst *rqstp);

#endif /* RPCRDMA_TRANSPORT_INTERNAL_H */
