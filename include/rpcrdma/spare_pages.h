/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The pages that a connection keeps for its next Calls.
 *
 * Each Call that is pulled needs pages, and the same number of a thread's pages becomes
 * free when the thread receives the Call. The page kept last is used next. Kept pages are
 * charged to the connection like those of a Call, so that a Call is charged only for pages
 * beyond them.
 */
#ifndef RPCRDMA_SPARE_PAGES_H
#define RPCRDMA_SPARE_PAGES_H

#include "call_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zero at first, protected by a lock of the user */
struct rpcrdma_spare_pages {
	void **pages;			/* space for @most, or NULL */
	u32 nr;				/* pages kept */
	u32 least;			/* minimum of @nr since the last trim; at most @nr */
	u32 most;			/* maximum of @nr; 0: no page is kept */
};

/**
 * rpcrdma_spare_init() - permit pages to be kept
 * @spare: pages that are kept
 * @pages: of the largest Call
 *
 * The pages for all Calls pulled ahead are kept as long as Calls need them.
 */
static inline void rpcrdma_spare_init(struct rpcrdma_spare_pages *spare,
				      u32 pages)
{
	spare->most = RPCRDMA_EARLY_CALLS * pages;
}

/**
 * rpcrdma_spare_provide() - provide memory for the list of pages
 * @spare: pages that are kept
 * @pages: space for @spare->most pages, or NULL if there is no memory
 *
 * Return: memory that the caller frees, or NULL: @pages, if there is a list already, or
 *	no page is kept any more.
 */
static inline void **rpcrdma_spare_provide(struct rpcrdma_spare_pages *spare,
					   void **pages)
{
	if (spare->pages || !spare->most)
		return pages;
	spare->pages = pages;
	return NULL;
}

/**
 * rpcrdma_spare_missing() - get the number of pages to allocate and charge for a Call
 * @spare: pages that are kept
 * @want: pages that the Call needs
 *
 * Return: their number; rpcrdma_spare_take() returns the others.
 */
static inline u32 rpcrdma_spare_missing(const struct rpcrdma_spare_pages *spare,
					u32 want)
{
	return want > spare->nr ? want - spare->nr : 0;
}

/**
 * rpcrdma_spare_take() - use kept pages
 * @spare: pages that are kept
 * @to: returns them
 * @want: pages that a Call needs
 *
 * Return: the number of pages used; the caller allocates the others.
 */
static inline u32 rpcrdma_spare_take(struct rpcrdma_spare_pages *spare, void **to,
				     u32 want)
{
	const u32 nr = want - rpcrdma_spare_missing(spare, want);

	spare->nr -= nr;
	if (spare->nr < spare->least)
		spare->least = spare->nr;
	if (nr)
		__builtin_memcpy(to, spare->pages + spare->nr, nr * sizeof(*to));
	return nr;
}

/**
 * rpcrdma_spare_put() - keep pages that became free
 * @spare: pages that are kept
 * @from: the pages
 * @nr: their number
 *
 * Return: the number of pages kept, the first ones; the caller frees and uncharges the
 *	others.
 */
static inline u32 rpcrdma_spare_put(struct rpcrdma_spare_pages *spare,
				    void *const *from, u32 nr)
{
	const u32 space = spare->pages ? spare->most - spare->nr : 0;

	if (nr > space)
		nr = space;
	if (nr)
		__builtin_memcpy(spare->pages + spare->nr, from,
				 nr * sizeof(*from));
	spare->nr += nr;
	return nr;
}

/**
 * rpcrdma_spare_end() - keep no pages any more
 * @spare: pages that are kept
 * @nr: returns the number of pages that the caller frees
 *
 * Return: the list of them, which the caller frees, too; or NULL.
 */
static inline void **rpcrdma_spare_end(struct rpcrdma_spare_pages *spare, u32 *nr)
{
	void **pages = spare->pages;

	*nr = spare->nr;
	spare->pages = NULL;
	spare->nr = spare->least = 0;
	spare->most = 0;
	return pages;
}

/**
 * rpcrdma_spare_any() - check if rpcrdma_spare_trim() must be called after a while
 * @spare: pages that are kept
 *
 * Return: true if so.
 */
static inline bool rpcrdma_spare_any(const struct rpcrdma_spare_pages *spare)
{
	return spare->nr;
}

/**
 * rpcrdma_spare_trim() - stop keeping pages that no Call has needed since the last trim
 * @spare: pages that are kept
 * @to: returns pages that are not kept any more
 * @most: maximum number of pages
 *
 * Return: their number; if it is @most, call this again.
 */
static inline u32 rpcrdma_spare_trim(struct rpcrdma_spare_pages *spare, void **to,
				     u32 most)
{
	u32 nr = spare->least;

	if (nr > most)
		nr = most;
	spare->nr -= nr;
	spare->least = nr == most ? spare->least - most : spare->nr;
	if (nr)
		__builtin_memcpy(to, spare->pages + spare->nr, nr * sizeof(*to));
	return nr;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_SPARE_PAGES_H */
