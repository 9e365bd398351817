/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Splitting memory into MRs, each of which is a segment of a chunk.
 */
#ifndef RPCRDMA_MR_H
#define RPCRDMA_MR_H

#include "base.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_mr_limits - limits by which memory is split into MRs
 * @page_shift: a page has 1 << page_shift bytes
 * @pages: maximum of pages in an MR; not 0
 * @octets: maximum of bytes in an MR; not 0
 * @gaps: true if an MR may have gaps between its pages
 * @apart: true if the device may use another offset for a part of a page, for
 *	instance in a bounce buffer: without @gaps, such a part needs a separate MR
 *
 * Each MR is a segment of a chunk. Both the registration and the functions that
 * count segments in advance use these limits.
 */
struct rpcrdma_mr_limits {
	u32 page_shift;
	u32 pages;
	u32 octets;
	bool gaps;
	bool apart;
};

/* An MR that is being filled. All zero at first. */
struct rpcrdma_mr_range {
	u32 pages;
	u32 octets;
	u32 begin;		/* bytes of its first page that precede it */
	u32 end;		/* bytes used of its last page; 0: all */
};

/**
 * rpcrdma_mr_gap() - check if a gap prevents memory from following the memory of an MR
 * @limits: limits of an MR
 * @r: MR, which is not empty
 * @offset: of the memory, into a page
 * @length: bytes of the memory
 *
 * Return: true if so.
 */
static inline bool rpcrdma_mr_gap(const struct rpcrdma_mr_limits *limits,
				  const struct rpcrdma_mr_range *r,
				  u32 offset, u32 length)
{
	if (limits->gaps)
		return false;
	if (offset || r->end)
		return true;
	return limits->apart && (r->begin || length >> limits->page_shift == 0);
}

/**
 * rpcrdma_mr_add() - add as much of a memory range to an MR as fits
 * @limits: limits of an MR
 * @r: MR
 * @offset: start of the range, into a page
 * @length: bytes of the range, which continues in whole pages
 *
 * A page is never split between MRs unless it is larger than an MR. An empty MR always
 * accepts some bytes.
 * Return: the number of bytes added; 0 means that a new MR is needed.
 */
static inline u32 rpcrdma_mr_add(const struct rpcrdma_mr_limits *limits,
				 struct rpcrdma_mr_range *r, u32 offset,
				 u32 length)
{
	const u32 in_page = (1u << limits->page_shift) - 1;
	u32 n = length, room, beyond;

	if (r->octets && rpcrdma_mr_gap(limits, r, offset, length))
		return 0;
	if (r->pages == limits->pages)
		return 0;
	if (limits->apart && !limits->gaps) {
		if (offset)
			room = in_page + 1 - offset;
		else
			room = n > in_page ? n & ~in_page : n;
		if (n > room)
			n = room;
	}
	room = ((limits->pages - r->pages) << limits->page_shift) - offset;
	if (n > room)
		n = room;
	room = limits->octets - r->octets;
	if (n > room)
		n = room;
	if (n < length) {
		beyond = (offset + n) & in_page;
		if (beyond < n)
			n -= beyond;
		else if (r->octets)
			return 0;
	}
	if (!r->octets)
		r->begin = offset;
	r->pages += (offset + n + in_page) >> limits->page_shift;
	r->octets += n;
	r->end = (offset + n) & in_page;
	return n;
}

/**
 * rpcrdma_mr_has_pages() - rpcrdma_mr_is_one() without the maximum of bytes
 * @limits: limits of an MR; the maximum of bytes is not used
 * @offset: start of the memory, into a page
 * @length: bytes of the memory, which continues in whole pages
 *
 * Return: true if an MR has enough pages; false if it may have not, or if the memory is
 * empty.
 */
static inline bool rpcrdma_mr_has_pages(const struct rpcrdma_mr_limits *limits,
					u32 offset, u32 length)
{
	return length && !limits->apart &&
	       (u64)offset + length <= (u64)limits->pages << limits->page_shift;
}

/**
 * rpcrdma_mr_is_one() - fast path: check if memory is in one MR, without counting
 * @limits: limits of an MR
 * @offset: start of the memory, into a page
 * @length: bytes of the memory, which continues in whole pages
 *
 * Return: true if it is; false if it may need more, or is empty.
 */
static inline bool rpcrdma_mr_is_one(const struct rpcrdma_mr_limits *limits,
				     u32 offset, u32 length)
{
	return length <= limits->octets &&
	       rpcrdma_mr_has_pages(limits, offset, length);
}

/**
 * rpcrdma_mr_count() - get the number of MRs needed to register memory
 * @limits: limits of an MR
 * @offset: start of the memory, into a page
 * @length: bytes of the memory
 *
 * If the memory is registered together with adjacent memory, it adds at most this many.
 * Counting stops once the result exceeds RPCRDMA_MAX_SEGS.
 * Return: the number.
 */
static inline u32 rpcrdma_mr_count(const struct rpcrdma_mr_limits *limits,
				   u32 offset, u32 length)
{
	const u32 in_page = (1u << limits->page_shift) - 1;
	u32 count = 0, n;

	if (rpcrdma_mr_is_one(limits, offset, length))
		return 1;
	while (length && count <= RPCRDMA_MAX_SEGS) {
		struct rpcrdma_mr_range r = { 0, 0, 0, 0 };

		n = rpcrdma_mr_add(limits, &r, offset, length);
		offset = (offset + n) & in_page;
		length -= n;
		count++;
	}
	return count;
}

/**
 * rpcrdma_mr_limits_reduce() - lower the limits of MRs because a device mapped less into one
 * @now: limits to be lowered
 * @used: limits that the device did not reach
 *
 * If another context has lowered the limits since @used was copied, this changes
 * nothing.
 * Return: true if the caller must plan its message again, false if lower limits cannot
 *	help.
 */
bool rpcrdma_mr_limits_reduce(struct rpcrdma_mr_limits *now,
			      const struct rpcrdma_mr_limits *used);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_MR_H */
