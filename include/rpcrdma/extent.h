/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Extents: local memory, which is split into MRs and parts of transfers.
 *
 * The data of an RPC are in one to a few extents. A position in an array of extents
 * advances as memory is consumed. All functions here calculate with offsets and lengths;
 * the memory itself is the host's. Lengths and offsets are in bytes.
 */
#ifndef RPCRDMA_EXTENT_H
#define RPCRDMA_EXTENT_H

#include "mr.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_extent - a contiguous range of bytes
 * @pages: the host's array of pages, all whole except the first and the last; or null
 * @linear: instead of @pages, the start of a page of linear memory
 * @offset: start of the range, from there on
 * @length: bytes, not 0
 */
struct rpcrdma_extent {
	void	*pages;
	u8	*linear;
	u32	offset;
	u32	length;
};

/**
 * struct rpcrdma_extent_pos - a position in an array of extents
 * @ext: the extent in which it is
 * @nr: extents from @ext on; 0 at the end
 * @done: bytes of @ext that precede it
 */
struct rpcrdma_extent_pos {
	const struct rpcrdma_extent *ext;
	u32	nr;
	u32	done;
};

/**
 * rpcrdma_extents_pages() - the slow path of rpcrdma_extent_pages()
 * @pos: start of the memory
 * @octets: bytes
 * @page_shift: a page has 1 << page_shift bytes
 *
 * Return: as rpcrdma_extent_pages() does.
 */
u32 rpcrdma_extents_pages(const struct rpcrdma_extent_pos *pos, u32 octets,
			  u32 page_shift);

/**
 * rpcrdma_extents_mr_len() - the slow path of rpcrdma_extent_mr_len()
 * @pos: start of the memory
 * @limits: limits of an MR
 * @octets: bytes at most
 *
 * Return: as rpcrdma_extent_mr_len() does.
 */
u32 rpcrdma_extents_mr_len(const struct rpcrdma_extent_pos *pos,
			   const struct rpcrdma_mr_limits *limits, u32 octets);

/**
 * rpcrdma_extent_left() - get the length of the rest of an extent
 * @pos: position, which is not at the end
 *
 * Return: bytes, not 0.
 */
static inline u32 rpcrdma_extent_left(const struct rpcrdma_extent_pos *pos)
{
	return pos->ext->length - pos->done;
}

/**
 * rpcrdma_extent_in_page() - get the offset of a position into its page
 * @pos: position, which is not at the end
 * @page_shift: a page has 1 << page_shift bytes
 *
 * Return: bytes.
 */
static inline u32 rpcrdma_extent_in_page(const struct rpcrdma_extent_pos *pos,
					 u32 page_shift)
{
	return (pos->ext->offset + pos->done) & ((1u << page_shift) - 1);
}

/**
 * rpcrdma_extent_skip() - advance a position
 * @pos: position
 * @octets: bytes; more than there are: to the end
 */
static inline void rpcrdma_extent_skip(struct rpcrdma_extent_pos *pos,
				       u32 octets)
{
	while (pos->nr && octets >= rpcrdma_extent_left(pos)) {
		octets -= rpcrdma_extent_left(pos);
		pos->done = 0;
		pos->ext++;
		pos->nr--;
	}
	pos->done += octets;
}

/**
 * rpcrdma_extent_next() - get the memory at a position that is in one extent
 * @pos: position, which is advanced past this memory
 * @octets: bytes at most
 * @part: returns the memory
 *
 * Return: its length; 0 at the end, or if @octets is 0.
 */
static inline u32 rpcrdma_extent_next(struct rpcrdma_extent_pos *pos,
				      u32 octets, struct rpcrdma_extent *part)
{
	u32 n;

	if (!pos->nr || !octets)
		return 0;
	n = rpcrdma_extent_left(pos);
	if (n > octets)
		n = octets;
	*part = *pos->ext;
	part->offset += pos->done;
	part->length = n;
	rpcrdma_extent_skip(pos, n);
	return n;
}

/**
 * rpcrdma_extent_pages() - count the pages of memory, each extent on its own
 * @pos: start of the memory
 * @octets: bytes
 * @page_shift: a page has 1 << page_shift bytes
 *
 * Fast path: the memory is in a single extent.
 * Return: the number; 0 if there are fewer bytes, or if @octets is 0.
 */
static inline u32 rpcrdma_extent_pages(const struct rpcrdma_extent_pos *pos,
				       u32 octets, u32 page_shift)
{
	u32 in_page;

	if (__builtin_expect(pos->nr && octets &&
			     octets <= rpcrdma_extent_left(pos), 1)) {
		in_page = rpcrdma_extent_in_page(pos, page_shift);
		return (in_page + octets - 1 + (1u << page_shift)) >>
		       page_shift;
	}
	return rpcrdma_extents_pages(pos, octets, page_shift);
}

/**
 * rpcrdma_extent_mr_len() - get how much memory fits into one MR
 * @pos: start of the memory
 * @limits: limits of an MR
 * @octets: bytes at most
 *
 * Fast path: the memory is the rest of the last extent.
 * Return: bytes; 0 if there are none.
 */
static inline u32 rpcrdma_extent_mr_len(const struct rpcrdma_extent_pos *pos,
					const struct rpcrdma_mr_limits *limits,
					u32 octets)
{
	u32 n;

	if (__builtin_expect(pos->nr == 1, 1)) {
		n = rpcrdma_extent_left(pos);
		if (__builtin_expect(n <= octets, 1) &&
		    rpcrdma_mr_is_one(limits,
				      rpcrdma_extent_in_page(pos,
							     limits->page_shift),
				      n))
			return n;
	}
	return rpcrdma_extents_mr_len(pos, limits, octets);
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_EXTENT_H */
