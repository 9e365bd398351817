/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of the transports only. */
#ifndef RPCRDMA_SUNRPC_INTERNAL_H
#define RPCRDMA_SUNRPC_INTERNAL_H

#include <linux/sunrpc/svc_xprt.h>

#include "../verbs/charge.h"
#include "../verbs/receiving.h"
#include "../verbs/sending.h"

/* ---- The Requester: slot.c ---- */

struct rpcrdma_req;

/* Return the MRs to the pool; none of them is exposed (any more). */
void rpcrdma_req_put_mrs(struct rpcrdma_req *req);
/*
 * Release the MRs of req->ep, exposed or not. Sleeps until the peer cannot access them.
 */
void rpcrdma_req_take_back(struct rpcrdma_req *req);
/* Wake a task if it sleeps in xprt->pending. Caller holds queue_lock. */
void rpcrdma_wake_with_status(struct rpc_xprt *xprt, struct rpc_task *task,
			      int status);
/* End an RPC with @status, a negative errno. Caller holds queue_lock. */
void rpcrdma_rqst_fail(struct rpc_rqst *rqst, int status);

/* ---- The server, its lowest file first, as in Kbuild ---- */

struct rpcrdma_svc_listener;

struct rpcrdma_svc_conn {
	struct svc_xprt		xprt;		/* valid once nfsd has it */
	struct rpcrdma_ep	*ep;		/* a counted reference */
	struct work_struct	free_work;
	/* Under rpcrdma_svc_accept_lock; NULL once accepted */
	struct rpcrdma_svc_listener *listener;
	u64			memory_limit;	/* svc_max_memory when it connected */
	bool			served;		/* nfsd threads poll messages */

	spinlock_t		lock;		/* protects the following */
	struct rpcrdma_call_queue queue;	/* the engine's */
	struct page		**spare;	/* pages to pull into, or NULL */
	struct rpcrdma_spare_pages nr_spare;	/* the engine's */
	struct delayed_work	spare_work;
	u32			arg_pages;	/* maximum for a Call, 0: unknown */
	struct rpcrdma_pending_conn pending;	/* the engine's: its owner */
};

/*
 * Data of a Call with chunks, in addition to its Receive, which refers to it by priv. A
 * Call without chunks has none.
 */
struct rpcrdma_svc_call {
	struct rpcrdma_svc_conn	*conn;
	/* Read chunks */
	u32			nr_pages;	/* in @pages: those of the Call */
	u32			octets;		/* bytes in these pages */
	u32			held;		/* bytes charged for them */
	bool			early;		/* charged to conn->queue.early_octets */
	bool			item_only;	/* one item, page-aligned */
	/* Results that may be sent in Write chunks, as the service reported them */
	u32			nr_items;
	ktime_t			pass;		/* rq_stime at that time */
	struct rpcrdma_item	items[RPCRDMA_MAX_WRITE_CHUNKS];
	struct page		*pages[];	/* pulled into */
};

static inline struct rpcrdma_svc_conn *to_svc_conn(struct svc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_svc_conn, xprt);
}

/* server_pages.c */
extern struct workqueue_struct *rpcrdma_svc_wq;
/*
 * Allocate the state of a Call with chunks, with space for @nr pages to pull into. Return
 * NULL if out of memory.
 */
struct rpcrdma_svc_call *
rpcrdma_svc_call_alloc(struct rpcrdma_svc_conn *conn, struct rpcrdma_recv *rv,
		       u32 nr, gfp_t gfp);
/* Free the state of the Call in @rv, if there is one, and its pages. */
void rpcrdma_svc_call_free(struct rpcrdma_recv *rv);
/* Release everything that a Call holds. Process context. */
void rpcrdma_svc_call_release(struct rpcrdma_recv *rv);
/* Return true if the quota of @user, a connection, has @octets for a Call. */
bool rpcrdma_svc_call_room(void *user, u64 octets);
/* Exchange pulled pages, which leave the Call, for the same number of @pages of a thread. */
void rpcrdma_svc_swap_pages(struct rpcrdma_recv *rv, struct page **pages);
/*
 * Allocate @nr pages for a Call, which no thread has received yet, without waiting, and
 * charge them. Return false if the engine decides that it waits for a thread, or if there are not
 * enough; the Call then has the pages that were available.
 */
bool rpcrdma_svc_early_pages(struct rpcrdma_recv *rv, u32 nr);
/*
 * Use @nr spare pages for a Call, and if there are too few, pages of @rqstp, which sunrpc
 * refills. Charge them.
 */
void rpcrdma_svc_take_pages(struct svc_rqst *rqstp,
			    struct rpcrdma_svc_call *call, u32 nr);
void rpcrdma_svc_spare_init(struct rpcrdma_svc_conn *conn);
/* Free the spare pages, after the last Call has been pulled. */
void rpcrdma_svc_spare_free(struct rpcrdma_svc_conn *conn);

/* server.c */
/*
 * Return the svc_xprt with a reference; or NULL if it has not been accepted yet, or its
 * last reference is gone.
 */
struct svc_xprt *rpcrdma_svc_conn_get(struct rpcrdma_svc_conn *conn);
/* Free a connection that is closed and that sunrpc does not know. */
void rpcrdma_svc_conn_free(struct rpcrdma_svc_conn *conn);
/* Operations of a connection's svc_xprt */
void rpcrdma_svc_conn_detach(struct svc_xprt *xprt);
void rpcrdma_svc_conn_last_put(struct svc_xprt *xprt);

/* server_call.c: an upcall of the endpoint, and further operations */
void rpcrdma_svc_poll(struct rpcrdma_ep *ep);
int rpcrdma_svc_has_wspace(struct svc_xprt *xprt);
void rpcrdma_svc_secure_port(struct svc_rqst *rqstp);
int rpcrdma_svc_recvfrom(struct svc_rqst *rqstp);
void rpcrdma_svc_release_ctxt(struct svc_xprt *xprt, void *ctxt);

/* server_reply.c: further operations */
int rpcrdma_svc_result_payload(struct svc_rqst *rqstp,
			       unsigned int offset, unsigned int length);
int rpcrdma_svc_sendto(struct svc_rqst *rqstp);

#endif /* RPCRDMA_SUNRPC_INTERNAL_H */
