/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Calls of a connection that wait for a service thread.
 *
 * A Call waits as it arrived or, once its Read chunks have been pulled, as a complete
 * Call. Chunks may be pulled ahead of the threads, into a limited amount of memory.
 * Otherwise the thread that gets the Call pulls them.
 */
#ifndef RPCRDMA_CALL_QUEUE_H
#define RPCRDMA_CALL_QUEUE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for Calls that are pulled ahead of the service threads, in largest Calls */
enum {
	RPCRDMA_EARLY_CALLS = 8,
};

/* A Call, embedded in an object of the user */
struct rpcrdma_queued_call {
	struct rpcrdma_queued_call *next;
	u32 order;			/* of arrival */
	u64 pull_octets;		/* memory that it is pulled into, or 0 */
	bool pulled;			/* it is complete; if pull_octets is not 0 */
	bool early;			/* its memory is part of early_octets */
	bool at_once;			/* a callback, which no thread waits for */
};

/* In order */
struct rpcrdma_call_list {
	struct rpcrdma_queued_call *first, *last;
};

/* Protected by a lock of the user */
struct rpcrdma_call_queue {
	struct rpcrdma_call_list waiting;	/* as they arrived */
	struct rpcrdma_call_list pulled;	/* complete */
	u32 arrived;			/* Calls so far */
	u64 early_octets;		/* memory of Calls that are pulled ahead */
	u64 max_octets;			/* memory of the largest Call; 0: unknown */
	u32 page_octets;		/* memory is allocated in such units */
	u32 min_head;			/* bytes before an item that is pulled alone */
};

/**
 * rpcrdma_calls_init() - initialise a queue whose bytes are zero
 * @q: queue of Calls
 * @page_octets: size of a page
 * @min_head: bytes of a Call that the service reads in one piece; an item that fewer bytes
 *	precede is not pulled alone
 */
static inline void rpcrdma_calls_init(struct rpcrdma_call_queue *q,
				      u32 page_octets, u32 min_head)
{
	q->page_octets = page_octets;
	q->min_head = min_head;
}

/**
 * rpcrdma_calls_any() - check if a Call waits
 * @q: queue of Calls
 *
 * A hint without the lock.
 * Return: true if so.
 */
static inline bool rpcrdma_calls_any(const struct rpcrdma_call_queue *q)
{
	return q->waiting.first || q->pulled.first;
}

/**
 * rpcrdma_calls_serve() - set the size of the largest Call that the service accepts
 * @q: queue of Calls
 * @octets: memory of that Call; 0: the service has ended, and no Call waits for memory
 *	any more
 */
static inline void rpcrdma_calls_serve(struct rpcrdma_call_queue *q, u64 octets)
{
	q->max_octets = octets;
}

/**
 * rpcrdma_calls_may_retry() - check if a Call waits that more memory may help
 * @q: queue of Calls
 *
 * Return: true if so.
 */
static inline bool rpcrdma_calls_may_retry(const struct rpcrdma_call_queue *q)
{
	return q->waiting.first;
}

/**
 * rpcrdma_calls_pass() - check if a thread may process a Call at once when it arrives
 * @q: queue of Calls
 * @call: Call
 * @nr_reads: number of its Read chunks
 *
 * Fast path, without the lock. Such a Call need not be queued. It overtakes no older Call
 * except those that are being pulled. If no Send context is free for its Reply, the caller
 * reports it with rpcrdma_calls_arrived() all the same.
 * Return: true if so.
 */
static inline bool rpcrdma_calls_pass(const struct rpcrdma_call_queue *q,
				      struct rpcrdma_queued_call *call,
				      u32 nr_reads)
{
	if (nr_reads || rpcrdma_calls_any(q))
		return false;
	call->pull_octets = 0;
	return true;
}

/**
 * rpcrdma_calls_reply_octets() - get the memory that the Replies of a connection may
 *	need if one more Call is processed
 * @q: queue of Calls
 * @reserved: the largest Replies to the Calls that are being processed, together
 *
 * A service thread processes a Call only if the quota has space for that: otherwise a
 * peer that accepts no Replies could make this end hold any number of them.
 * Return: bytes.
 */
static inline u64 rpcrdma_calls_reply_octets(const struct rpcrdma_call_queue *q,
					     u64 reserved)
{
	return q->max_octets + reserved;
}

/**
 * rpcrdma_call_must_pull() - check if a thread has to pull a Call
 * @call: Call that passed, or that rpcrdma_calls_next() returned
 *
 * Return: true if the thread begins to pull the Call, which is then reported by
 *	rpcrdma_calls_pulled(); false if the Call is complete, and the thread
 *	processes it.
 */
static inline bool rpcrdma_call_must_pull(const struct rpcrdma_queued_call *call)
{
	return call->pull_octets && !call->pulled;
}

/**
 * rpcrdma_calls_arrived() - report a Call that arrives, and that no thread processes at
 *	once
 * @q: queue of Calls
 * @call: Call
 * @octets: bytes to be pulled, or 0. They are pulled into whole pages.
 *
 * Needs no lock if one context at a time receives Calls.
 */
void rpcrdma_calls_arrived(struct rpcrdma_call_queue *q,
			   struct rpcrdma_queued_call *call, u64 octets);

/**
 * rpcrdma_calls_accept() - check if the service accepts a Call of that size
 * @q: queue of Calls
 * @call: Call
 *
 * Return: true if so. Otherwise it is not pulled, and a thread refuses it.
 */
static inline bool rpcrdma_calls_accept(const struct rpcrdma_call_queue *q,
					const struct rpcrdma_queued_call *call)
{
	return call->pull_octets <= q->max_octets;
}

/**
 * rpcrdma_calls_early() - check if the Call may be pulled ahead of the threads
 * @q: queue of Calls
 * @call: Call
 * @room: returns true if @user has memory for so many bytes, which it may charge then. It is
 *	the last condition: if it returns true, so does this function.
 * @user: passed to the callback
 *
 * If so, its memory is reserved until rpcrdma_calls_early_end().
 * Return: true if so.
 */
static inline bool rpcrdma_calls_early(struct rpcrdma_call_queue *q,
				       struct rpcrdma_queued_call *call,
				       bool (*room)(void *user, u64 octets),
				       void *user)
{
	const u64 octets = call->pull_octets;

	if (!octets || !rpcrdma_calls_accept(q, call) ||
	    q->early_octets + octets > RPCRDMA_EARLY_CALLS * q->max_octets ||
	    !room(user, octets))
		return false;
	q->early_octets += octets;
	call->early = true;
	return true;
}

/**
 * rpcrdma_calls_early_end() - release the memory reserved by rpcrdma_calls_early(), if
 *	there is any
 * @q: queue of Calls
 * @call: Call
 */
static inline void rpcrdma_calls_early_end(struct rpcrdma_call_queue *q,
					   struct rpcrdma_queued_call *call)
{
	if (!call->early)
		return;
	call->early = false;
	q->early_octets -= call->pull_octets;
}

/**
 * rpcrdma_calls_wait() - queue a Call as it arrived, or a complete one
 * @q: queue of Calls
 * @call: Call
 */
void rpcrdma_calls_wait(struct rpcrdma_call_queue *q,
			struct rpcrdma_queued_call *call);

/**
 * rpcrdma_calls_pulled() - report that a Call's data has been pulled: it is complete
 * @q: queue of Calls
 * @call: Call
 */
void rpcrdma_calls_pulled(struct rpcrdma_call_queue *q,
			  struct rpcrdma_queued_call *call);

/**
 * rpcrdma_calls_next() - remove the Call that a thread processes next
 * @q: queue of Calls
 * @room: returns true if @user has memory for so many bytes
 * @user: passed to the callbacks
 *
 * Without that memory, the thread would wait for other Calls of this peer to release
 * theirs. A Call that needs none may overtake such a Call. A Call that is larger than
 * the service accepts is returned, to be refused. Neither list may starve the other:
 * RPCSEC_GSS has a window of sequence numbers, and a Call that is too old for it costs
 * the connection.
 * Return: the oldest Call, but one that is still to be pulled only if there is memory
 *	for that; NULL if no Call can proceed.
 */
struct rpcrdma_queued_call *
rpcrdma_calls_next(struct rpcrdma_call_queue *q,
		   bool (*room)(void *user, u64 octets), void *user);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CALL_QUEUE_H */
