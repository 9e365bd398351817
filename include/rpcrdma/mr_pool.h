/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The pool of MRs that a connection provides to its peer.
 *
 * Memory that the peer reads and writes is registered in MRs. A connection allocates
 * them on demand, a batch at a time and up to a maximum, and keeps them. Allocation
 * sleeps, so a work item of the user (the allocator) does it. A caller that finds too
 * few MRs does not sleep: it returns the MRs that it got, and retries when notified.
 * The notification is immediate if an RPC that used MRs has ended, or if MRs were
 * allocated. It is delayed if MRs are returned unused, because another refused caller
 * returns those.
 *
 * A device may have no MRs left. After RPCRDMA_POOL_FAILURES consecutive attempts that
 * allocated none, the pool is starved: Calls are planned with the MRs that exist
 * (rpcrdma_call_limit_mrs()), and the allocator retries less often until it succeeds.
 *
 * The user keeps the MRs, and serialises all calls for one pool. Context: any.
 */
#ifndef RPCRDMA_MR_POOL_H
#define RPCRDMA_MR_POOL_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	RPCRDMA_POOL_BATCH = 8,		/* MRs allocated at a time */
	RPCRDMA_POOL_PAUSE_MS = 20,
	RPCRDMA_POOL_LATER_MS = 1000,
	RPCRDMA_POOL_FAILURES = 250,	/* two for each pause: 2.5 seconds */
};

/* Zero it to begin, except for @most. */
struct rpcrdma_mr_pool {
	u32 most;		/* maximum number of MRs */
	u32 made;		/* MRs allocated; it never decreases */
	u32 free;		/* free ones of these */
	u8 wanted;		/* a caller was refused an MR, and not notified since */
	u8 allocator;		/* private to the engine */
	u16 failures;		/* consecutive attempts that allocated none */
	u64 shortages;		/* attempts that allocated fewer than required */
};

/* Actions after an event */
enum {
	RPCRDMA_POOL_TAKEN = 1,		/* the caller got a free one */
	RPCRDMA_POOL_ALLOCATE = 2,	/* run the allocator now */
	RPCRDMA_POOL_PAUSE = 4,		/* run the allocator in RPCRDMA_POOL_PAUSE_MS */
	RPCRDMA_POOL_NOTIFY = 8,		/* notify the callers that were refused */
	RPCRDMA_POOL_LATER = 16,	/* run the allocator in RPCRDMA_POOL_LATER_MS */
	RPCRDMA_POOL_LOG = 32,		/* log that the device has no MRs left */
};

/**
 * rpcrdma_mr_pool_get_last() - slow path of rpcrdma_mr_pool_get(): at most one MR is free
 * @pool: pool of MRs
 *
 * Return: as rpcrdma_mr_pool_get().
 */
u32 rpcrdma_mr_pool_get_last(struct rpcrdma_mr_pool *pool);

/**
 * rpcrdma_mr_pool_get() - get an MR from the pool
 * @pool: pool of MRs
 *
 * Without TAKEN, the caller must return the MRs it has; it is notified (NOTIFY) when it
 * may retry.
 * Return: TAKEN if there is one, and perhaps ALLOCATE.
 */
static inline u32 rpcrdma_mr_pool_get(struct rpcrdma_mr_pool *pool)
{
	if (pool->free <= 1)
		return rpcrdma_mr_pool_get_last(pool);
	pool->free--;
	return RPCRDMA_POOL_TAKEN;
}

/**
 * rpcrdma_mr_pool_put_slow() - slow path of rpcrdma_mr_pool_put(): callers wait for MRs
 * @pool: pool of MRs
 * @used: at least one MR was posted
 *
 * Return: as rpcrdma_mr_pool_put().
 */
u32 rpcrdma_mr_pool_put_slow(struct rpcrdma_mr_pool *pool, bool used);

/**
 * rpcrdma_mr_pool_put() - return MRs to the pool
 * @pool: pool of MRs
 * @count: number
 * @used: at least one was posted
 *
 * Return: NOTIFY, PAUSE or 0.
 */
static inline u32 rpcrdma_mr_pool_put(struct rpcrdma_mr_pool *pool, u32 count,
				      bool used)
{
	pool->free += count;
	return pool->wanted && count ? rpcrdma_mr_pool_put_slow(pool, used) : 0;
}

/**
 * rpcrdma_mr_pool_to_allocate() - get the number of MRs to allocate
 * @pool: pool of MRs
 *
 * One allocator at a time.
 * Return: number of MRs.
 */
u32 rpcrdma_mr_pool_to_allocate(const struct rpcrdma_mr_pool *pool);

/**
 * rpcrdma_mr_pool_allocated() - add @count newly allocated MRs to the pool
 * @pool: pool of MRs
 * @count: number
 *
 * Must be called even if @count is 0. @count is at most the number that
 * rpcrdma_mr_pool_to_allocate() returned.
 * Return: any of NOTIFY, PAUSE, LATER and LOG, or 0.
 */
u32 rpcrdma_mr_pool_allocated(struct rpcrdma_mr_pool *pool, u32 count);

/**
 * rpcrdma_mr_pool_is_starved() - check if no more MRs are expected soon
 * @pool: pool of MRs
 *
 * A hint, if not serialised with the calls above.
 * Return: true if so.
 */
static inline bool
rpcrdma_mr_pool_is_starved(const struct rpcrdma_mr_pool *pool)
{
	return __atomic_load_n(&pool->failures, __ATOMIC_RELAXED) >=
	       RPCRDMA_POOL_FAILURES;
}

/**
 * rpcrdma_mr_pool_is_spent() - check if other callers have all MRs, and no more will be
 * allocated
 * @pool: pool of MRs
 *
 * A caller that cannot wait for these MRs must do without. A hint, if not serialised
 * with the calls above.
 * Return: true if so.
 */
static inline bool rpcrdma_mr_pool_is_spent(const struct rpcrdma_mr_pool *pool)
{
	return (__atomic_load_n(&pool->made, __ATOMIC_RELAXED) >= pool->most ||
		rpcrdma_mr_pool_is_starved(pool)) &&
	       !__atomic_load_n(&pool->free, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_MR_POOL_H */
