// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reads that need MRs: which transfers wait for them, and in which order.
 *
 * Operation
 *
 * The pool is a count of waiting transfers; core/endpoint/transfer.cc has their queue. A
 * Read waits from its beginning if others wait, and otherwise from the first segment for
 * which no MR is left. While it is built, it is prepared segment by segment; once it
 * waits, its remaining segments are only counted. When it is complete, it is posted or
 * appended to the queue. A queued transfer is prepared as a whole. If that fails for
 * lack of MRs, it is put at the head again.
 *
 * Why every wait ends
 *
 * A waiting transfer holds no MRs, so that all missing MRs belong to transfers that are
 * posted or being prepared. Each of these ends, and its end retries the queue. The
 * first transfer in the queue is tried with all free MRs, and no other gets one before
 * it: it needs no more MRs than exist (rpcrdma_read_fits()).
 *
 * Errors
 *
 * Only -EAGAIN is a reason to wait. A transfer fails with any other errno, and if it
 * would wait while the connection is closing, because no context would retry it.
 *
 * Locking
 *
 * The caller holds the lock of the connection, except for the functions that
 * read_mr_pool.h marks.
 */
#include "../internal.hh"

namespace rpcrdma
{

namespace
{

void wait(struct rpcrdma_read_pool *pool, struct rpcrdma_read_claim *claim)
{
	if (!claim->waits)
		pool->waiting++;
	claim->waits = 1;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_read_begin(struct rpcrdma_read_pool *pool,
			struct rpcrdma_read_claim *claim)
{
	if (claim->reads && pool->waiting)
		wait(pool, claim);
}

bool rpcrdma_read_short(struct rpcrdma_read_pool *pool,
			struct rpcrdma_read_claim *claim, int status)
{
	if (!claim->reads || status != -E_AGAIN)
		return false;
	wait(pool, claim);
	return true;
}

enum rpcrdma_read_result
rpcrdma_read_whole(const struct rpcrdma_read_claim *claim, bool closing)
{
	if (!claim->waits)
		return RPCRDMA_READ_POST;
	return closing ? RPCRDMA_READ_FAIL : RPCRDMA_READ_QUEUE_TAIL;
}

enum rpcrdma_read_result rpcrdma_read_tried(struct rpcrdma_read_pool *pool,
					    struct rpcrdma_read_claim *claim,
					    int status, bool closing)
{
	if (!status) {
		rpcrdma_read_over(pool, claim);
		return RPCRDMA_READ_POST;
	}
	return status == -E_AGAIN && !closing ? RPCRDMA_READ_QUEUE_HEAD :
						RPCRDMA_READ_FAIL;
}

void rpcrdma_read_over(struct rpcrdma_read_pool *pool,
		       struct rpcrdma_read_claim *claim)
{
	if (claim->waits)
		pool->waiting--;
	claim->waits = 0;
}
