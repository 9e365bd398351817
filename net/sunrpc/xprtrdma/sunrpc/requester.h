/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Requester: sends the Calls of an rpc_xprt over an endpoint and completes them
 * with the Replies. It is used by the client's transport and, for callbacks, by the
 * server's reverse-direction transport.
 *
 * An rpc_xprt that uses it has xprt_reserve_xprt() and xprt_release_xprt() as
 * operations: the engine counts credits in messages, and a Call that cannot be sent now
 * waits for xprt_write_space().
 */
#ifndef RPCRDMA_REQUESTER_H
#define RPCRDMA_REQUESTER_H

#include <linux/sunrpc/auth.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/xprt.h>

#include <rpcrdma/endpoint_answer.h>

#include "../verbs/data.h"
#include "../verbs/endpoint.h"
#include "../verbs/receiving.h"
#include "../verbs/sending.h"
#include "xdrbuf.h"

struct seq_file;

/*
 * The start of each transport that uses this; xprt_alloc() allocates the whole
 * transport. The rpc_xprt's max_reqs is the maximum number of slots.
 */
struct rpcrdma_requester {
	struct rpc_xprt		xprt;
	struct list_head	reqs;		/* all slots; reserve_lock */
	struct rpcrdma_req	*free;		/* by next_free; reserve_lock */
	/*
	 * Counters of the "xprt: rdma" line of mountstats. Those of Calls are written
	 * under XPRT_LOCKED, buffer_octets under reserve_lock, and those of Replies under
	 * queue_lock.
	 */
	struct rpcrdma_requester_stats stats;
	struct work_struct	destroy_work;
	/* Limits learned from the peer's refusals, on any connection */
	spinlock_t learned_lock;
	struct rpcrdma_peer_limits learned;
};

static inline struct rpcrdma_requester *
rpcrdma_xprt_requester(struct rpc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_requester, xprt);
}

/*
 * For work outside of an upcall, and of code that the module's exit does not wait for:
 * the exit waits for this work. rpcrdma_client_init() creates it.
 */
extern struct workqueue_struct *rpcrdma_xprt_wq;

/*
 * Create an rpc_xprt of @size bytes, which begins with a struct rpcrdma_requester, for the
 * address in @args. It has a reference to the module, and at most @slots slots.
 * @destroy: work function that calls rpcrdma_requester_free()
 *
 * Sleeps.
 * Return: the rpc_xprt or an ERR_PTR.
 */
struct rpc_xprt *rpcrdma_requester_create(const struct xprt_create *args,
					  size_t size, unsigned int slots,
					  struct xprt_class *class,
					  const struct rpc_xprt_ops *ops,
					  work_func_t destroy);
/*
 * Operation of the rpc_xprt: destroy it on the module's own workqueue, so that the module's
 * exit can wait for it. No reference is left, and sunrpc calls nothing after this.
 */
void rpcrdma_requester_destroy(struct rpc_xprt *xprt);
/*
 * Free the rpc_xprt with all slots, which no RPC uses, and put the reference to the module.
 */
void rpcrdma_requester_free(struct rpcrdma_requester *r);

/*
 * A request slot. Slots exist as long as their transport; sunrpc clears the embedded
 * rpc_rqst for each new user.
 */
struct rpcrdma_req {
	struct rpc_rqst		rqst;
	struct list_head	all;		/* list of the transport's slots */
	struct rpcrdma_req	*next_free;
	struct rpcrdma_requester_stats *stats;

	/* RPC buffers, kept and enlarged; sizes in bytes */
	void			*send_buf, *recv_buf;
	size_t			send_size, recv_size;

	/*
	 * The context that claims the Reply owns all members below until the rpc_rqst
	 * is unpinned. Otherwise the sender or releaser owns them.
	 */
	struct rpcrdma_rpc	rpc;
	struct rpcrdma_chain	chain;		/* of rpc.inv */
	struct rpcrdma_ep	*ep;		/* of rpc.mrs, with a reference */
	/* Frees pages that rpc.mrs may expose; valid if it was replaced in @rqst */
	void			(*release_snd_buf)(struct rpc_rqst *rqst);
};

static inline struct rpcrdma_req *rpcrdma_rqst_req(struct rpc_rqst *rqst)
{
	return container_of(rqst, struct rpcrdma_req, rqst);
}

static inline struct rpcrdma_req *rpcrdma_req_of(const struct rpcrdma_rpc *rpc)
{
	return container_of(rpc, struct rpcrdma_req, rpc);
}

/* Return false if integrity or privacy require the complete messages (11.2.2). */
static inline bool rpcrdma_req_may_reduce(const struct rpcrdma_req *req)
{
	return req->rqst.rq_cred &&
	       !test_bit(RPCAUTH_AUTH_DATATOUCH,
			 &req->rqst.rq_cred->cr_auth->au_flags);
}

/* Fill in the geometry of its Call, and what was refused before, for the engine. */
void rpcrdma_req_call_data(const struct rpcrdma_req *req,
			   const struct rpcrdma_ep *ep,
			   struct rpcrdma_call *call);

/* Operations of the rpc_xprt: a slot for a task, and buffers for its RPC */
void rpcrdma_requester_alloc_slot(struct rpc_xprt *xprt, struct rpc_task *task);
void rpcrdma_requester_free_slot(struct rpc_xprt *xprt, struct rpc_rqst *rqst);
int rpcrdma_requester_buf_alloc(struct rpc_task *task);
void rpcrdma_requester_buf_free(struct rpc_task *task);

/*
 * Send the Call in @rqst. The caller has the transport's write lock. An @xprt with a
 * bc_xprt is a server's.
 * @ep: the connection, with a reference.
 * Context: process context.
 * Return: 0 if it is sent, or its RPC has ended; -ENOTCONN if the connection is closing or
 * must be closed, which the caller ensures, and sunrpc sends the Call again after a
 * reconnect; -EAGAIN if @xprt waits for xprt_write_space(), which must be called from
 * ep->ops->write_space(); -ENOBUFS: retry after a delay.
 */
int rpcrdma_requester_send(struct rpc_xprt *xprt, struct rpcrdma_ep *ep,
			   struct rpc_rqst *rqst);

/*
 * Operation wait_for_reply_request() of an rpc_xprt that uses this. Caller holds
 * @xprt->queue_lock.
 */
void rpcrdma_requester_wait_for_reply(struct rpc_task *task);

/*
 * Set the address strings of an rpc_xprt from xprt->addr; servername is not changed.
 * Return: 0, -EAFNOSUPPORT or -ENOMEM (then nothing is left allocated).
 */
int rpcrdma_xprt_format_addresses(struct rpc_xprt *xprt);
/* Set the strings of the port again. Return 0 or -ENOMEM. */
int rpcrdma_xprt_format_port(struct rpc_xprt *xprt);
void rpcrdma_xprt_free_addresses(struct rpc_xprt *xprt);

/* Print the "xprt: rdma" line of mountstats. @mrs_made: MRs allocated by all connections */
void rpcrdma_xprt_print_stats(struct rpc_xprt *xprt, struct seq_file *seq,
			      unsigned long mrs_made);

#endif /* RPCRDMA_REQUESTER_H */
