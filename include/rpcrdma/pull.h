/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Replies that the peer pulls: responder-provided Read chunks.
 */
#ifndef RPCRDMA_PULL_H
#define RPCRDMA_PULL_H

#include "conn.h"
#include "mr_pool.h"
#include "plan_reply.h"
#include "work.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A Reply that the peer can pull, or will be able to (WP 8). Embed it in the
 * object that owns the Reply's memory. The first fields are private to the
 * engine, the others to the endpoint (endpoint_mrs.h), except release.
 */
struct rpcrdma_pull_entry {
	struct rpcrdma_pull_entry *next;
	u32 xid, octets;
	u32 handle;		/* that DONE may invalidate, 0: none */
	rpcrdma_serial since;	/* milliseconds, when it was sent */
	u8 state;

	struct rpcrdma_ep_core *core;
	struct list_head mrs;
	struct rpcrdma_inv inv;
	struct rpcrdma_lists lists; /* its chunk, while it is built */
	/*
	 * Called once after the exposure was attached to a Send, when no peer can
	 * access the memory any more, at the latest before closed(). The Reply was
	 * pulled, was not pulled in time, or was never sent. The callee owns @x.
	 * Process context.
	 */
	void (*release)(struct rpcrdma_pull_entry *x);
};

/**
 * rpcrdma_pull_reserve() - reserve the resources of a Reply to be pulled
 * @conn: connection
 * @exposure: pulled Reply
 * @xid: XID of the RPC
 * @plan: plan of the Reply
 *
 * The first of three steps for a plan with a read_length (WP 8, DR 4.1.1). @exposure
 * need not be initialised; it belongs to the connection from then on, until
 * rpcrdma_pull_cancel().
 * Return: 0, or -EMSGSIZE with @plan->error set: the limit of exposed bytes is reached,
 *	or another Reply to that xid is still exposed.
 */
int rpcrdma_pull_reserve(struct rpcrdma_conn *conn,
			 struct rpcrdma_pull_entry *exposure, u32 xid,
			 struct rpcrdma_reply_plan *plan);

/**
 * rpcrdma_plan_expose() - add the chunk of a Reply to be pulled to its plan
 * @conn: connection
 * @pool: pool of MRs
 * @status: 0, or the negative errno with which building the chunk failed; -EAGAIN if
 *	@pool had too few MRs
 * @chunk: lists with only a Read chunk, with the handles of the memory, or of a part of
 *	it
 * @plan: plan of the Reply
 *
 * The second step.
 * Return: 0; -EAGAIN if MRs are being allocated, retry later; another negative errno
 *	otherwise. plan->error is set if the peer can help: it does not accept a message with
 *	so many segments, or all MRs are used by other Replies that it has not read.
 */
int rpcrdma_plan_expose(const struct rpcrdma_conn *conn,
			const struct rpcrdma_mr_pool *pool, int status,
			const struct rpcrdma_lists *chunk,
			struct rpcrdma_reply_plan *plan);

/* Milliseconds for which a Reply waits for MRs to be allocated */
enum {
	RPCRDMA_EXPOSE_WAIT_MS = 1000,
};

/**
 * rpcrdma_expose_wait() - get the time to wait before a Reply is exposed again
 * @status: result of the last attempt
 * @begun_ms: time of the first attempt, in milliseconds of any clock, modulo 2^32
 * @now_ms: the time now
 *
 * A Reply does not wait for MRs that the peer has: rpcrdma_plan_expose() does not return
 * -EAGAIN then.
 * Return: milliseconds, to be cut short when MRs have been allocated; 0: @status is final.
 */
u32 rpcrdma_expose_wait(int status, u32 begun_ms, u32 now_ms);

/**
 * rpcrdma_pull_sent() - report that a Reply to be pulled was sent
 * @conn: connection
 * @exposure: pulled Reply
 * @inv_handle: @plan->lists.inv_handle
 * @now: milliseconds of any clock
 *
 * The third step. From now on the peer may pull it, and its time limit runs.
 */
void rpcrdma_pull_sent(struct rpcrdma_conn *conn,
		       struct rpcrdma_pull_entry *exposure, u32 inv_handle,
		       u32 now);

/**
 * struct rpcrdma_overdue - a Reply with an overdue DONE, if there is one
 * @exposure: the Reply, which a DONE no longer finds; or NULL
 * @wait: if @exposure is NULL: milliseconds until the next call is useful; 0: no
 *	Reply waits
 */
struct rpcrdma_overdue {
	struct rpcrdma_pull_entry *exposure;
	u32	wait;
};

/**
 * rpcrdma_conn_overdue() - get an exposed Reply with an overdue DONE
 * @conn: connection
 * @now: milliseconds of any clock
 *
 * Return: the Reply, or the time until the next call is useful.
 */
struct rpcrdma_overdue rpcrdma_conn_overdue(struct rpcrdma_conn *conn, u32 now);

/**
 * rpcrdma_pull_cancel() - report the end of an exposure
 * @conn: connection
 * @exposure: pulled Reply
 *
 * The memory is inaccessible to the peer, or never was accessible.
 */
void rpcrdma_pull_cancel(struct rpcrdma_conn *conn,
			 struct rpcrdma_pull_entry *exposure);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_PULL_H */
