/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of the transports only. */
#ifndef RPCRDMA_SUNRPC_INTERNAL_H
#define RPCRDMA_SUNRPC_INTERNAL_H

#include <linux/sunrpc/svc_xprt.h>

#include <rpcrdma/endpoint_call.h>

#include "../verbs/charge.h"
#include "../verbs/receiving.h"
#include "../verbs/sending.h"

/* ---- The Requester: slot.c ---- */

struct rpcrdma_req;

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
	struct rpcrdma_spare_pages spare;	/* the engine's: to pull into */
	struct delayed_work	spare_work;
	struct rpcrdma_pending_conn pending;	/* the engine's: its owner */
};

/*
 * Data of a Call with chunks, in addition to its Receive, which refers to it by priv. A
 * Call without chunks has none.
 */
struct rpcrdma_svc_call {
	/* Read chunks */
	u32			nr_pages;	/* in @pages: those of the Call */
	u32			held;		/* bytes charged for them */
	/* Results that may be sent in Write chunks; pass: rq_stime */
	struct rpcrdma_results	results;
	struct page		*pages[];	/* pulled into */
};

static inline struct rpcrdma_svc_conn *to_svc_conn(struct svc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_svc_conn, xprt);
}

static inline struct rpcrdma_svc_conn *
rpcrdma_svc_conn_of(const struct rpcrdma_ep_core *core)
{
	return rpcrdma_ep_of((struct rpcrdma_ep_core *)core)->priv;
}

/* A service thread, for the core */
static inline struct rpcrdma_thread *rpcrdma_rqst_thread(struct svc_rqst *rqstp)
{
	return (struct rpcrdma_thread *)rqstp;
}

static inline struct svc_rqst *rpcrdma_thread_rqst(struct rpcrdma_thread *thread)
{
	return (struct svc_rqst *)thread;
}

enum {
	/*
	 * Bytes that sunrpc reads from rq_arg.head without checking other parts: an RPC
	 * Call up to the length of its credential, and the same of its verifier (RFC
	 * 5531).
	 */
	RPCRDMA_SVC_MIN_HEAD = 40,
};

/* server_pages.c */
extern struct workqueue_struct *rpcrdma_svc_wq;
/*
 * Allocate the state of a Call with chunks, with space for @nr pages to pull into. Return
 * NULL if out of memory.
 */
struct rpcrdma_svc_call *rpcrdma_svc_call_alloc(struct rpcrdma_recv *rv, u32 nr,
						gfp_t gfp);
/*
 * Exchange pulled pages, which leave the Call, for pages of a thread. Return false if it
 * has fewer.
 */
bool rpcrdma_svc_swap_pages(struct rpcrdma_recv *rv, struct svc_rqst *rqstp);
void rpcrdma_svc_spare_init(struct rpcrdma_svc_conn *conn, u32 pages);
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
