/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Send Queue: its slots and its Send contexts.
 *
 * Scheduler and accounting for a connection's Send Queue and Send contexts (the
 * buffers messages are sent from). It decides what may be posted, what must be
 * queued, what is posted next, and which Work Requests are signaled. It is used
 * in the same serialisation as its rpcrdma_conn. The user keeps three lists:
 * posted work, in posting order; queued transfers; and queued messages. A
 * transfer is RDMA work or invalidations without a message. Queued messages are
 * Replies, preceded by the continued message that is being sent.
 *
 * Control messages have the highest priority, then transfers, then messages,
 * then Calls. Calls are not queued here: their sender retries. While a transfer
 * waits until all the slots of its chain are free, no message uses the slots
 * that become free; nor does a Call while a message is queued. No queue can
 * starve: a peer has to wait for Replies before it can request more transfers.
 *
 * Invariant: whenever something is queued, a completion is pending. Unsignaled
 * Work Requests never occupy so many slots that the largest allowed chain could
 * not follow (rpcrdma_sq_fits()), and never hold the last free contexts.
 */
#ifndef RPCRDMA_SEND_QUEUE_H
#define RPCRDMA_SEND_QUEUE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/* Send contexts reserved for control messages */
	RPCRDMA_CONTROL_SENDS = 16,
	/* A chain is signaled if it ends this many Work Requests after a signaled one. */
	RPCRDMA_SQ_BATCH = 16,
};

struct rpcrdma_sq {
	u32 depth;		/* slots */
	u32 batch;		/* as RPCRDMA_SQ_BATCH, for this depth */
	/*
	 * Slots ever used, modulo 2^32: all, those free again, and those up to
	 * the last signaled Work Request
	 */
	rpcrdma_serial posted, retired;
	rpcrdma_serial signaled;
	u32 contexts;		/* free Send contexts */
	/* Adjacent: these two are tested together. */
	u32 transfers;		/* queued transfers */
	/* queued messages, including a continued one that is being sent */
	u32 messages;
	/*
	 * Contexts that Replies may not reserve: the value in use, the value while no
	 * message is queued, and the value while some are
	 */
	u32 reply_reserve;
	u32 reserve, reserve_waits;
	u32 call_wrs;		/* slots of the largest Call refused; 0: none was */
	/* other callers that were refused, private to the engine */
	u8 waiters;
};

/* A chain of Work Requests that is posted at once; embed it in the work. */
struct rpcrdma_wrs {
	u32 nr;			/* Work Requests */
	rpcrdma_serial begin;	/* private to the engine: slots used before this chain */
	u8 signaled;		/* must be signaled, or (once posted) is */
};

/**
 * rpcrdma_sq_init() - initialise @sq
 * @sq: Send Queue
 * @depth: slots of the queue
 * @sends: contexts for RPC traffic; the user adds them one by one with
 *	rpcrdma_sq_give(), and RPCRDMA_CONTROL_SENDS more. The context in which the next Call
 *	is built is not among them
 * @reverse: Calls that the peer accepts at a time in this end's own direction
 * @replies: while messages are queued, for credit or for slots, work on a Call is not
 *	started if Replies, built or yet to be built, hold that many contexts
 */
void rpcrdma_sq_init(struct rpcrdma_sq *sq, u32 depth, u32 sends, u32 reverse,
		     u32 replies);

/**
 * rpcrdma_sq_set_replies() - change the number of contexts that Replies may hold
 * @sq: Send Queue
 * @sends: as for rpcrdma_sq_init()
 * @replies: as for rpcrdma_sq_init()
 *
 * For a server, this is its number of Receives, because each of these is charged
 * together with a Send buffer, and no client has more Calls outstanding.
 */
void rpcrdma_sq_set_replies(struct rpcrdma_sq *sq, u32 sends, u32 replies);

/**
 * rpcrdma_sq_enqueue_message() - count a message as queued
 * @sq: Send Queue
 *
 * Also counts the rest of a continued message whose last message became shorter than
 * planned. Private to the core.
 */
static inline void rpcrdma_sq_enqueue_message(struct rpcrdma_sq *sq)
{
	sq->messages++;
	sq->reply_reserve = sq->reserve_waits;
}

/**
 * rpcrdma_sq_dequeue_message() - take back rpcrdma_sq_enqueue_message()
 * @sq: Send Queue
 *
 * Private to the core.
 */
static inline void rpcrdma_sq_dequeue_message(struct rpcrdma_sq *sq)
{
	if (!--sq->messages)
		sq->reply_reserve = sq->reserve;
}

/**
 * rpcrdma_sq_fits() - check if @nr_wrs Work Requests can ever be posted at once
 * @sq: Send Queue
 * @nr_wrs: number of Work Requests
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool rpcrdma_sq_fits(const struct rpcrdma_sq *sq, u32 nr_wrs)
{
	return nr_wrs + sq->batch <= sq->depth;
}

/**
 * rpcrdma_sq_message_mrs() - get the maximum of MRs that are registered in one chain with
 *	their message, see rpcrdma_sq_fits()
 * @sq: Send Queue
 *
 * Context: any.
 * Return: number of MRs, at least 1.
 */
static inline u32 rpcrdma_sq_message_mrs(const struct rpcrdma_sq *sq)
{
	const u32 others = sq->batch + 1;

	return sq->depth > others ? sq->depth - others : 1;
}

/**
 * rpcrdma_sq_max_batch_wrs() - get the maximum of Work Requests of a transfer that are
 *	posted at once
 * @sq: Send Queue
 *
 * A longer transfer is posted in batches, each when the preceding one has completed.
 * Context: any.
 * Return: number of Work Requests.
 */
static inline u32 rpcrdma_sq_max_batch_wrs(const struct rpcrdma_sq *sq)
{
	const u32 most = (sq->depth - sq->batch) / 2;

	return most ? most : 1;
}

/**
 * rpcrdma_sq_part_pages() - get the maximum size of a part of a transfer that is never
 *	divided between batches
 * @sq: Send Queue
 * @pages: pages that a Work Request moves
 *
 * Context: any.
 * Return: number of pages.
 */
static inline u32 rpcrdma_sq_part_pages(const struct rpcrdma_sq *sq, u32 pages)
{
	return rpcrdma_sq_max_batch_wrs(sq) * pages;
}

/**
 * rpcrdma_sq_in_chain() - check if the Writes of a Reply are posted in one chain with it
 * @sq: Send Queue
 * @message: Work Requests of the Reply itself
 * @writes: Work Requests of its Writes
 *
 * Otherwise they are a transfer, and the Reply is posted when that has completed.
 * Context: any.
 * Return: true if so.
 */
static inline bool rpcrdma_sq_in_chain(const struct rpcrdma_sq *sq, u32 message,
				       u32 writes)
{
	return !writes || (writes <= rpcrdma_sq_max_batch_wrs(sq) &&
			   rpcrdma_sq_fits(sq, message + writes));
}

/**
 * rpcrdma_sq_room() - check if that many slots are free now
 * @sq: Send Queue
 * @nr_wrs: number of Work Requests
 *
 * Return: true if so.
 */
static inline bool rpcrdma_sq_room(const struct rpcrdma_sq *sq, u32 nr_wrs)
{
	return sq->posted - sq->retired + nr_wrs <= sq->depth;
}

/**
 * rpcrdma_sq_charge() - charge the slots of a chain, which must be free
 * @sq: Send Queue
 * @wrs: chain of Work Requests
 *
 * Set wrs->signaled if its last Work Request must be signaled. One completion also
 * covers the Work Requests posted before it, so few are signaled. If few contexts are
 * left, all are, so that no context waits for a completion that will not arrive.
 */
static inline __attribute__((always_inline)) void
rpcrdma_sq_charge(struct rpcrdma_sq *sq, struct rpcrdma_wrs *wrs)
{
	const u32 begin = sq->posted, posted = begin + wrs->nr;

	wrs->begin = begin;
	sq->posted = posted;
	if (wrs->signaled || posted - sq->signaled >= sq->batch ||
	    sq->contexts < 2 * RPCRDMA_CONTROL_SENDS) {
		wrs->signaled = 1;
		sq->signaled = posted;
	}
}

/**
 * rpcrdma_sq_completion_covers() - check if a completion also retires an earlier chain
 * @completed: chain that has completed
 * @wrs: chain posted earlier
 *
 * It does if @wrs is unsignaled. Some devices complete Sends while earlier Reads are in
 * progress, so a signaled chain is retired only by its own completion.
 * Return: true if so.
 */
static inline bool
rpcrdma_sq_completion_covers(const struct rpcrdma_wrs *completed,
			     const struct rpcrdma_wrs *wrs)
{
	return wrs == completed || !wrs->signaled;
}

/**
 * rpcrdma_sq_reaped() - free the slots of retired chains, which the user has removed
 *	from the list of posted work
 * @sq: Send Queue
 * @oldest: now the first in that list, NULL if it is empty
 *
 * Slots become free in order only.
 */
static inline void rpcrdma_sq_reaped(struct rpcrdma_sq *sq,
				     const struct rpcrdma_wrs *oldest)
{
	sq->retired = oldest ? oldest->begin : sq->posted;
}

/**
 * rpcrdma_sq_give() - add a free Send context, or release one
 * @sq: Send Queue
 */
static inline void rpcrdma_sq_give(struct rpcrdma_sq *sq)
{
	sq->contexts++;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_SEND_QUEUE_H */
