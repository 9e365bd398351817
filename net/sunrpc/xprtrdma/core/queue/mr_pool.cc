// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The MRs of a connection: which callers wait for them, and when more are allocated.
 *
 * Operation
 *
 * The pool consists of counts and flags; core/endpoint/mrs.cc has the MRs. A function
 * returns the actions that its caller runs. The allocator is called when no free MR is
 * left and the maximum is not reached. It runs once at a time: until it reports with
 * rpcrdma_mr_pool_allocated(), neither a call nor a pause is requested again.
 *
 * Why every wait ends
 *
 * A caller that was refused returns the MRs it got. While other callers have MRs, each
 * of these is returned. A retry is worthwhile once a returned MR was used, or an MR was
 * newly allocated. If all MRs are returned unused, by callers that were refused, the
 * allocator runs after a pause, and notifies the waiters, even if it allocated none. So
 * a retry is always scheduled, and a caller that finds no change retries once in a
 * pause. These retries have an end, too: see RPCRDMA_POOL_FAILURES.
 *
 * Errors
 *
 * Nothing fails here. Attempts that allocate no MR are counted. The first one of a
 * series is logged, and so is the one that starves the pool. Each MR that is allocated
 * ends the series.
 *
 * Locking
 *
 * The caller holds the lock for MRs. The hints rpcrdma_mr_pool_is_starved() and
 * rpcrdma_mr_pool_is_spent() may be read without it.
 */
#include "../internal.hh"

namespace rpcrdma
{

namespace
{

/* Values of pool->allocator: when the allocator runs */
enum : u8 {
	ALLOCATOR_IDLE, /* when it is called */
	ALLOCATOR_CALLED,
	ALLOCATOR_PAUSES,
};

u32 call_allocator(struct rpcrdma_mr_pool *pool)
{
	if (pool->allocator != ALLOCATOR_IDLE || pool->made >= pool->most)
		return 0;
	pool->allocator = ALLOCATOR_CALLED;
	return RPCRDMA_POOL_ALLOCATE;
}

u32 pause(struct rpcrdma_mr_pool *pool)
{
	if (pool->allocator != ALLOCATOR_IDLE)
		return 0;
	pool->allocator = ALLOCATOR_PAUSES;
	return RPCRDMA_POOL_PAUSE;
}

u32 notify(struct rpcrdma_mr_pool *pool)
{
	pool->wanted = 0;
	return RPCRDMA_POOL_NOTIFY;
}

/*
 * The allocator runs periodically. No Call would start it, because Calls are not
 * planned with MRs that a starved pool does not have.
 */
u32 later(struct rpcrdma_mr_pool *pool)
{
	if (!rpcrdma_mr_pool_is_starved(pool))
		return 0;
	pool->allocator = ALLOCATOR_PAUSES;
	return RPCRDMA_POOL_LATER;
}

/*
 * Count the failures after the allocation of @count of the requested MRs. Return LOG if
 * that should be logged: at the first failure, and at the one that starves the pool.
 */
u32 count_failures(struct rpcrdma_mr_pool *pool, u32 count)
{
	const u32 wanted = rpcrdma_mr_pool_to_allocate(pool);

	if (count < wanted)
		pool->shortages++;
	if (count || !wanted) {
		pool->failures = 0;
		return 0;
	}
	if (rpcrdma_mr_pool_is_starved(pool))
		return 0;
	pool->failures++;
	return pool->failures == 1 || rpcrdma_mr_pool_is_starved(pool) ?
		       RPCRDMA_POOL_LOG :
		       0;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

/*
 * Bounce buffers keep no offset within a page, so partial pages are separated first.
 * Smaller MRs are for a device that maps still less, for whatever reason.
 */
bool rpcrdma_mr_limits_reduce(struct rpcrdma_mr_limits *now,
			      const struct rpcrdma_mr_limits *used)
{
	/* Another context has lowered the limits since. */
	if (now->apart != used->apart || now->pages != used->pages)
		return true;
	if (!now->gaps && !now->apart) {
		now->apart = true;
		return true;
	}
	if (now->pages == 1)
		return false;
	now->pages /= 2;
	return true;
}

/* More are allocated before none are left. */
u32 rpcrdma_mr_pool_get_last(struct rpcrdma_mr_pool *pool)
{
	u32 todo = 0;

	if (pool->free) {
		pool->free--;
		todo = RPCRDMA_POOL_TAKEN;
	} else {
		pool->wanted = 1;
	}
	if (!pool->free)
		todo |= call_allocator(pool);
	return todo;
}

u32 rpcrdma_mr_pool_put_slow(struct rpcrdma_mr_pool *pool, bool used)
{
	return used ? notify(pool) : pause(pool);
}

u32 rpcrdma_mr_pool_to_allocate(const struct rpcrdma_mr_pool *pool)
{
	return min_u32(RPCRDMA_POOL_BATCH, pool->most - pool->made);
}

u32 rpcrdma_mr_pool_allocated(struct rpcrdma_mr_pool *pool, u32 count)
{
	const bool paused = pool->allocator == ALLOCATOR_PAUSES;
	const u32 log = count_failures(pool, count);

	pool->allocator = ALLOCATOR_IDLE;
	pool->made += count;
	pool->free += count;
	if (!pool->wanted)
		return log | later(pool);
	if (!count && !paused)
		return log | pause(pool);
	return log | notify(pool) | later(pool);
}
