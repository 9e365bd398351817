/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The pool of MRs of devices that can read into MRs only.
 *
 * For such a device, a queue pair has a pool of MRs. A transfer is prepared segment by
 * segment while it is being built. If there are not enough MRs, the transfer releases
 * the MRs it has and is queued; it is prepared later, all at once. No transfer holds
 * MRs while it waits, so that waiting transfers cannot deadlock. New transfers queue
 * after it. Returning MRs to the pool retries the queue in order. A transfer in
 * progress always ends, at the latest with the connection.
 *
 * Use this in the serialisation of the connection's rpcrdma_sq, except for functions
 * marked "any context". The user keeps the queue of waiting transfers.
 */
#ifndef RPCRDMA_READ_MR_POOL_H
#define RPCRDMA_READ_MR_POOL_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/* Work Requests of a Read into one MR: invalidate, register, read */
	RPCRDMA_READ_MR_WRS = 3,
};

struct rpcrdma_read_pool {
	u32 mrs;		/* MRs in the pool */
	u32 pages;		/* pages in an MR, at most; not 0 */
	/* transfers queued, or to be queued once they are built */
	u32 waiting;
};

/* One transfer. Zero it to begin, except for @reads. */
struct rpcrdma_read_claim {
	u32 mrs;		/* MRs that it needs, at most */
	u8 reads;		/* 0 for a Write: it needs no MRs and waits for none */
	u8 waits;
};

/**
 * rpcrdma_read_wanted() - check if a transfer waits
 * @pool: MRs for Reads
 *
 * False in the fast path.
 * Context: any, if used as a hint.
 * Return: true if so.
 */
static inline bool rpcrdma_read_wanted(const struct rpcrdma_read_pool *pool)
{
	return __atomic_load_n(&pool->waiting, __ATOMIC_RELAXED);
}

/**
 * rpcrdma_read_begin() - begin a transfer
 * @pool: MRs for Reads
 * @claim: the transfer's claim to MRs
 */
void rpcrdma_read_begin(struct rpcrdma_read_pool *pool,
			struct rpcrdma_read_claim *claim);

/**
 * rpcrdma_read_add() - add a segment with @pages pages, or memory ranges, to a transfer
 * @pool: MRs for Reads
 * @claim: the transfer's claim to MRs
 * @pages: number of pages
 *
 * Context: any, one at a time for a transfer.
 * Return: true: prepare the segment now; false: later.
 */
static inline bool rpcrdma_read_add(const struct rpcrdma_read_pool *pool,
				    struct rpcrdma_read_claim *claim, u32 pages)
{
	claim->mrs += (pages + pool->pages - 1) / pool->pages;
	return !claim->waits;
}

/**
 * rpcrdma_read_short() - report that a segment could not be prepared
 * @pool: MRs for Reads
 * @claim: the transfer's claim to MRs
 * @status: a negative errno, or 0
 *
 * Return: true: undo the preparation of the transfer and continue to build it; it
 *	waits. False: waiting cannot help.
 */
bool rpcrdma_read_short(struct rpcrdma_read_pool *pool,
			struct rpcrdma_read_claim *claim, int status);

/**
 * rpcrdma_read_fits() - check if the transfer can ever be prepared
 * @pool: MRs for Reads
 * @claim: the transfer's claim to MRs
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool rpcrdma_read_fits(const struct rpcrdma_read_pool *pool,
				     const struct rpcrdma_read_claim *claim)
{
	return !claim->waits || claim->mrs <= pool->mrs;
}

/* The disposition of a transfer */
enum rpcrdma_read_result {
	RPCRDMA_READ_POST,	/* it is prepared */
	/* append it to the queue, and try the queue */
	RPCRDMA_READ_QUEUE_TAIL,
	/*
	 * undo the preparation, put it at the head of the queue and stop
	 * trying: returning MRs retries the queue
	 */
	RPCRDMA_READ_QUEUE_HEAD,
	RPCRDMA_READ_FAIL,	/* it ends with an error */
};

/**
 * rpcrdma_read_whole() - get the disposition of a transfer that is completely built
 * @claim: the transfer's claim to MRs
 * @closing: the connection is closing, so that no context would retry it
 *
 * Return: the disposition.
 */
enum rpcrdma_read_result
rpcrdma_read_whole(const struct rpcrdma_read_claim *claim, bool closing);

/**
 * rpcrdma_read_tried() - get the disposition of a transfer after it was tried again
 * @pool: MRs for Reads
 * @claim: the transfer's claim to MRs
 * @status: result of the preparation, 0 or a negative errno
 * @closing: as for rpcrdma_read_whole()
 *
 * It was removed from the head of the queue before.
 * Return: the disposition.
 */
enum rpcrdma_read_result rpcrdma_read_tried(struct rpcrdma_read_pool *pool,
					    struct rpcrdma_read_claim *claim,
					    int status, bool closing);

/**
 * rpcrdma_read_over() - report that a transfer has ended, or is abandoned, and holds no
 *	MRs
 * @pool: MRs for Reads
 * @claim: the transfer's claim to MRs
 *
 * If others wait, try the queue.
 */
void rpcrdma_read_over(struct rpcrdma_read_pool *pool,
		       struct rpcrdma_read_claim *claim);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_READ_MR_POOL_H */
