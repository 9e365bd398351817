/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Limits that a Requester has learned from refusals */
#ifndef RPCRDMA_PEER_LIMITS_H
#define RPCRDMA_PEER_LIMITS_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_call;
struct rpcrdma_lists;
struct rpcrdma_rx;

/*
 * The limits that a Requester has learned from a peer's refusals, kept from one RPC to
 * the next, and from one connection to the next (WP 7). With NFS sessions, a Call that
 * was executed before it was refused is repeated as another RPC. That RPC is planned
 * with these limits. All zero at first, and protected by a lock of the user, except
 * for rpcrdma_peer_limits_any(). @now: seconds, of a monotonic clock.
 */
struct rpcrdma_peer_limits {
	u64 reply_until; /* seconds; after that the limit expires */
	u64 writes_until;
	u64 parts_until;
	u64 lost_until;	  /* another loss until then limits later Calls */
	u32 reply_octets; /* the shortest Reply that needed a Reply chunk */
	u32 reply_max;	  /* the smallest reply_max of such a Call */
	u32 lost_number;  /* number of the connection of the last loss */
	u8 any;		  /* a limit may be valid; private to the engine */
};

/**
 * rpcrdma_peer_limits_any() - check if there may be anything to recall
 * @learned: learned limits of the server
 *
 * If all limits have expired, rpcrdma_peer_limits_recall() notices that.
 * Context: any, without a lock.
 * Return: true if so.
 */
static inline bool
rpcrdma_peer_limits_any(const struct rpcrdma_peer_limits *learned)
{
	return __atomic_load_n(&learned->any, __ATOMIC_RELAXED);
}

/**
 * rpcrdma_peer_limits_learn() - learn from an ERROR, before rpcrdma_call_refused() is
 *	called with the same @rx, @call and @call_lists
 * @learned: learned limits of the server
 * @now: seconds
 * @rx: received message, decoded
 * @call: Call
 * @call_lists: lists that the Call was sent with
 */
void rpcrdma_peer_limits_learn(struct rpcrdma_peer_limits *learned, u64 now,
			       const struct rpcrdma_rx *rx,
			       const struct rpcrdma_call *call,
			       const struct rpcrdma_lists *call_lists);

/**
 * rpcrdma_peer_limits_recall() - apply the limits learned to a Call that is about to be
 *	planned
 * @learned: learned limits of the server
 * @now: seconds
 * @call: Call
 */
void rpcrdma_peer_limits_recall(struct rpcrdma_peer_limits *learned, u64 now,
				struct rpcrdma_call *call);

/**
 * rpcrdma_peer_limits_lost() - remember that a continued Call was lost with its connection
 * @learned: learned limits of the server
 * @now: seconds
 * @number: number of that connection
 *
 * After losses on two connections within half a minute, later Calls are not continued.
 */
void rpcrdma_peer_limits_lost(struct rpcrdma_peer_limits *learned, u64 now,
			      u32 number);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_PEER_LIMITS_H */
