/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The pool of MRs of devices that can read into MRs only.
 *
 * Some devices can read into MRs only, of which a queue pair has a pool. A
 * transfer is prepared segment by segment while it is being built. If there are
 * not enough MRs, the transfer releases those it has and is queued; it is
 * prepared later, all at once. No transfer holds MRs while it waits, so waiting
 * transfers cannot deadlock. New transfers queue after it. Returning MRs to the
 * pool retries the queue in order. A transfer in progress always ends, if only
 * with the connection.
 *
 * Used in the serialisation of the connection's rpcrdma_sq, except for
 * functions marked "any context". The user keeps the queue of waiting
 * transfers.
 */
#ifndef RPCRDMA_READ_MR_POOL_H
#define RPCRDMA_READ_MR_POOL_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/* Work Requests of a Read into one MR: invalidate, register, read */
	RPCRDMA_READ_REGION_WRS = 3,
};

struct rpcrdma_read_pool {
	u32 regions;		/* MRs in the pool */
	u32 pages;		/* pages in an MR, at most; not 0 */
	u32 waiting;		/* transfers queued, or to be queued when complete */
};

/* One transfer. Zero it to begin, but for @reads. */
struct rpcrdma_read_claim {
	u32 regions;		/* MRs that it needs, at most */
	u8 reads;		/* 0 for a Write: it needs no MRs and waits for none */
	u8 waits;
};

/*
 * Return true if a transfer waits. False in the fast path. Any context, if used
 * as a hint.
 */
static inline bool rpcrdma_read_wanted(const struct rpcrdma_read_pool *pool)
{
	return __atomic_load_n(&pool->waiting, __ATOMIC_RELAXED);
}

/* Begin a transfer. */
void rpcrdma_read_begin(struct rpcrdma_read_pool *pool,
			struct rpcrdma_read_claim *claim);

/*
 * Add a segment with @pages pages, or memory ranges, to a transfer. Returns
 * true: prepare it now; false: later. Any context, one at a time for a
 * transfer.
 */
static inline bool rpcrdma_read_add(const struct rpcrdma_read_pool *pool,
				    struct rpcrdma_read_claim *claim, u32 pages)
{
	claim->regions += (pages + pool->pages - 1) / pool->pages;
	return !claim->waits;
}

/*
 * Report that a segment could not be prepared now, because of @status, a
 * negative errno. Returns true: undo the preparation of the transfer and
 * continue to build it; it waits. False: waiting cannot help.
 */
bool rpcrdma_read_short(struct rpcrdma_read_pool *pool,
			struct rpcrdma_read_claim *claim, int status);

/* Return true if the transfer can ever be prepared. Any context. */
static inline bool rpcrdma_read_fits(const struct rpcrdma_read_pool *pool,
				     const struct rpcrdma_read_claim *claim)
{
	return !claim->waits || claim->regions <= pool->regions;
}

/* The disposition of a transfer */
enum rpcrdma_read_turn {
	RPCRDMA_READ_POST,	/* it is prepared */
	/* append it to the queue, and try the queue */
	RPCRDMA_READ_BEHIND,
	/*
	 * undo the preparation, put it at the head of the queue and stop
	 * trying: returning MRs retries the queue
	 */
	RPCRDMA_READ_FRONT,
	RPCRDMA_READ_FAIL,	/* it ends with an error */
};

/*
 * Return the disposition of a transfer that is completely built. @closing: the
 * connection is closing, so that no context would retry it.
 */
enum rpcrdma_read_turn rpcrdma_read_whole(const struct rpcrdma_read_claim *claim,
					  bool closing);

/*
 * Return the disposition of a transfer that was removed from the head of the
 * queue and prepared completely, with @status: 0 or a negative errno.
 */
enum rpcrdma_read_turn rpcrdma_read_tried(struct rpcrdma_read_pool *pool,
					  struct rpcrdma_read_claim *claim,
					  int status, bool closing);

/*
 * Report that a transfer has ended, or is abandoned, and holds no MRs. If
 * others wait, try the queue.
 */
void rpcrdma_read_over(struct rpcrdma_read_pool *pool,
		       struct rpcrdma_read_claim *claim);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_READ_MR_POOL_H */
