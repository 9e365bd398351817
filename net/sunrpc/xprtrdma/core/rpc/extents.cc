// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Calculations with memory in any number of extents */
#include "../internal.hh"

#include <rpcrdma/extent.h>

using namespace rpcrdma;

u32 rpcrdma_extents_pages(const struct rpcrdma_extent_pos *pos, u32 octets,
			  u32 page_shift)
{
	rpcrdma_extent_pos at = *pos;
	u32 pages = 0;

	while (at.nr && octets) {
		const u32 n = min_u32(octets, rpcrdma_extent_left(&at));

		pages += rpcrdma_extent_pages(&at, n, page_shift);
		octets -= n;
		rpcrdma_extent_skip(&at, n);
	}
	return octets ? 0 : pages;
}

u32 rpcrdma_extents_mr_len(const struct rpcrdma_extent_pos *pos,
			   const struct rpcrdma_mr_limits *limits, u32 octets)
{
	rpcrdma_extent_pos at = *pos;
	rpcrdma_mr_range range{};

	while (at.nr && octets) {
		const u32 n = min_u32(octets, rpcrdma_extent_left(&at));
		const u32 taken = rpcrdma_mr_add(
			limits, &range,
			rpcrdma_extent_in_page(&at, limits->page_shift), n);

		if (taken < n)
			break;
		octets -= n;
		rpcrdma_extent_skip(&at, n);
	}
	return range.octets;
}
