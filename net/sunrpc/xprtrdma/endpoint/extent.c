// SPDX-License-Identifier: GPL-2.0
/*
 * Memory as it is handed to the endpoint, in extents, and as devices take it, in
 * scatterlists of pages.
 */

#include <linux/mm.h>
#include <linux/scatterlist.h>

#include "internal.h"

/* @octets of @ext from octet @at on, as pages. Returns them, 0: one is missing. */
static u32 rpcrdma_extent_pages(const struct rpcrdma_extent *ext, u32 at,
				u32 octets, struct scatterlist *sg)
{
	struct page **pages = ext->pages + (at >> PAGE_SHIFT), *page = *pages;
	u32 offset = offset_in_page(at);
	u32 n = min_t(u32, octets, PAGE_SIZE - offset);
	struct scatterlist *first = sg;

	if (unlikely(!page))
		return 0;
	sg_set_page(sg, page, n, offset);
	for (octets -= n; octets >= PAGE_SIZE; octets -= PAGE_SIZE) {
		page = *++pages;
		if (unlikely(!page))
			return 0;
		sg_set_page(++sg, page, PAGE_SIZE, 0);
	}
	if (octets) {
		page = *++pages;
		if (unlikely(!page))
			return 0;
		sg_set_page(++sg, page, octets, 0);
	}
	return sg - first + 1;
}

/* The same of linear memory, which has all its pages */
static u32 rpcrdma_extent_linear(const struct rpcrdma_extent *ext, u32 at,
				 u32 octets, struct scatterlist *sg)
{
	u8 *p = ext->linear + at;
	u32 nr, n;

	for (nr = 0; octets; nr++) {
		n = min_t(u32, octets, PAGE_SIZE - offset_in_page(p));
		sg_set_page(&sg[nr], virt_to_page(p), n, offset_in_page(p));
		p += n;
		octets -= n;
	}
	return nr;
}

/*
 * Describe the next @octets, more than none, in @sg, and go on behind them: there
 * are so many, and rpcrdma_extent_count() elements. Returns the elements, 0: a page
 * is missing.
 */
u32 rpcrdma_extent_take(struct rpcrdma_extent_pos *pos, u32 octets,
			struct scatterlist *sg)
{
	const struct rpcrdma_extent *ext;
	u32 at, n, nents, all = 0;

	do {
		ext = pos->ext;
		at = ext->offset + pos->done;
		n = min(octets, ext->length - pos->done);
		nents = ext->pages ?
				rpcrdma_extent_pages(ext, at, n, &sg[all]) :
				rpcrdma_extent_linear(ext, at, n, &sg[all]);
		if (unlikely(!nents))
			return 0;
		all += nents;
		octets -= n;
		rpcrdma_extent_skip(pos, n);
	} while (octets);
	return all;
}

/* Elements of a scatterlist for the next @octets; 0: there are not so many. */
u32 rpcrdma_extent_count(const struct rpcrdma_extent_pos *pos, u32 octets)
{
	struct rpcrdma_extent_pos at = *pos;
	u32 n, nents = 0;

	while (at.nr && octets) {
		n = min(octets, at.ext->length - at.done);
		nents += DIV_ROUND_UP(offset_in_page(at.ext->offset + at.done) +
				      n, PAGE_SIZE);
		octets -= n;
		rpcrdma_extent_skip(&at, n);
	}
	return octets ? 0 : nents;
}

/* Leave out the next @octets, or all that there are. */
void rpcrdma_extent_skip(struct rpcrdma_extent_pos *pos, u32 octets)
{
	while (pos->nr && octets >= pos->ext->length - pos->done) {
		octets -= pos->ext->length - pos->done;
		pos->done = 0;
		pos->ext++;
		pos->nr--;
	}
	pos->done += octets;
}
