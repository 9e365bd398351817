/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Calls of a connection that wait for a service thread.
 *
 * A Call waits as it arrived, or, once its Read chunks have been pulled, as a
 * complete one. Chunks may be pulled ahead of the threads, into a limited
 * amount of memory; otherwise a thread that gets the Call pulls them.
 */
#ifndef RPCRDMA_CALL_QUEUE_H
#define RPCRDMA_CALL_QUEUE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest Calls that are pulled ahead of the service threads, at most */
enum {
	RPCRDMA_EARLY_CALLS = 8,
};

/* A Call, embedded in an object of the user */
struct rpcrdma_queued_call {
	struct rpcrdma_queued_call *next;
	u32 order;			/* of arrival */
	u64 pull_octets;		/* memory that it is pulled into, or 0 */
};

/* In order */
struct rpcrdma_call_list {
	struct rpcrdma_queued_call *first, *last;
};

/* All zero at first, protected by a lock of the user */
struct rpcrdma_call_queue {
	struct rpcrdma_call_list waiting;	/* as they arrived */
	struct rpcrdma_call_list pulled;	/* complete */
	u32 arrived;			/* Calls so far */
	u64 early_octets;		/* memory of Calls that are pulled ahead */
	u64 max_octets;			/* memory of the largest Call; 0: unknown */
};

/* Return true if a Call waits. A hint without the lock. */
static inline bool rpcrdma_calls_any(const struct rpcrdma_call_queue *q)
{
	return q->waiting.first || q->pulled.first;
}

/*
 * A Call arrives that no thread continues with at once. @pull_octets: the
 * memory that its Read chunks are pulled into, or 0. Needs no lock if one
 * context at a time receives Calls.
 */
void rpcrdma_calls_arrived(struct rpcrdma_call_queue *q,
			   struct rpcrdma_queued_call *call, u64 pull_octets);

/*
 * Return true if the Call may be pulled ahead: its memory is reserved then,
 * until rpcrdma_calls_early_end().
 */
bool rpcrdma_calls_early(struct rpcrdma_call_queue *q,
			 const struct rpcrdma_queued_call *call);
void rpcrdma_calls_early_end(struct rpcrdma_call_queue *q,
			     const struct rpcrdma_queued_call *call);

/* Queue a Call as it arrived, or a complete one. */
void rpcrdma_calls_wait(struct rpcrdma_call_queue *q,
			struct rpcrdma_queued_call *call);
void rpcrdma_calls_pulled(struct rpcrdma_call_queue *q,
			  struct rpcrdma_queued_call *call);

/*
 * Remove the Call that a thread continues with, and return it, or NULL if none
 * can proceed: the oldest one, but a Call that is still to be pulled only if
 * there is memory for that. Otherwise the thread would wait for other Calls of
 * this peer to release theirs, and a Call that needs none may overtake it. A
 * Call that is larger than the service accepts is returned, to be refused.
 * Neither list may starve the other: apart from the effect on the client,
 * RPCSEC_GSS has a window of sequence numbers, and a Call that is too old for
 * it costs the connection.
 * @room: returns true if @user has memory for so many bytes
 */
struct rpcrdma_queued_call *
rpcrdma_calls_next(struct rpcrdma_call_queue *q,
		   bool (*room)(void *user, u64 octets), void *user);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CALL_QUEUE_H */
