/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A Requester's memory of refusals.
 */
#ifndef RPCRDMA_LESSONS_H
#define RPCRDMA_LESSONS_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_call;
struct rpcrdma_lists;
struct rpcrdma_rx;

/*
 * A requester's memory of a peer's refusals, from one RPC to the next, and from
 * one connection to the next (WP 7). With NFS sessions, a Call that was
 * executed before it was refused is repeated as another RPC: its requirements
 * must be known by then. All zero at first, and protected by a lock of the
 * user, except for rpcrdma_lessons_any(). @now: seconds, of a monotonic clock.
 */
struct rpcrdma_lessons {
	u64 reply_until;		/* seconds; after that the limit expires */
	u64 writes_until;
	u64 parts_until;
	u32 reply_octets;		/* the shortest Reply that needed a Reply chunk */
	u32 reply_max;			/* the smallest reply_max of such a Call */
	u8 any;				/* a limit may be valid; private to the engine */
};

/**
 * rpcrdma_lessons_any() - check if there may be anything to recall
 * @lessons: learned limits of the server
 *
 * If all has expired, rpcrdma_lessons_recall() finds that.
 * Context: any, without a lock.
 * Return: true if so.
 */
static inline bool rpcrdma_lessons_any(const struct rpcrdma_lessons *lessons)
{
	return __atomic_load_n(&lessons->any, __ATOMIC_RELAXED);
}

/**
 * rpcrdma_lessons_learn() - learn from an ERROR, before rpcrdma_call_refused() is
 *	called with the same @rx, @call and @call_lists
 * @lessons: learned limits of the server
 * @now: seconds
 * @rx: received message, decoded
 * @call: Call
 * @call_lists: lists that the Call was sent with
 */
void rpcrdma_lessons_learn(struct rpcrdma_lessons *lessons, u64 now,
			   const struct rpcrdma_rx *rx,
			   const struct rpcrdma_call *call,
			   const struct rpcrdma_lists *call_lists);

/**
 * rpcrdma_lessons_recall() - apply the limits learned to a Call that is about to be
 *	planned
 * @lessons: learned limits of the server
 * @now: seconds
 * @call: Call
 */
void rpcrdma_lessons_recall(struct rpcrdma_lessons *lessons, u64 now,
			    struct rpcrdma_call *call);

/**
 * rpcrdma_lessons_lost() - remember, for later Calls, that continued messages were lost
 * @lessons: learned limits of the server
 * @now: seconds
 */
void rpcrdma_lessons_lost(struct rpcrdma_lessons *lessons, u64 now);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_LESSONS_H */
