// SPDX-License-Identifier: GPL-2.0
/*
 * Memory as it is handed to the endpoint, in extents, and as devices take it, in
 * scatterlists of pages.
 */

#include <linux/mm.h>
#include <linux/scatterlist.h>

#include "internal.h"

/* Whatever the element was before: it may have been the last one. */
static __always_inline void rpcrdma_sg_set(struct scatterlist *sg,
					   struct page *page, u32 octets,
					   u32 offset)
{
	/* All pages are aligned: sg_set_page() would look at each. */
	if (!IS_ALIGNED((unsigned long)page, sizeof(long)))
		__builtin_unreachable();
	sg->page_link = 0;
	sg_set_page(sg, page, octets, offset);
}

/* Where all struct pages are in one array, their places tell. */
static __always_inline bool rpcrdma_page_follows(const struct page *before,
						 const struct page *page)
{
	return page == before + 1 &&
	       (IS_ENABLED(CONFIG_SPARSEMEM_VMEMMAP) ||
		page_to_pfn(page) == page_to_pfn(before) + 1);
}

/* How many of @nr pages, the first one at least, follow each other in memory? */
static __always_inline u32 rpcrdma_pages_in_a_row(struct page **pages, u32 nr)
{
	u32 n = 1;

	while (n < nr && rpcrdma_page_follows(pages[n - 1], pages[n]))
		n++;
	return n;
}

/*
 * @octets of @ext from octet @at on, as elements of @most octets, which are whole
 * pages. Returns the elements, 0: a page is missing.
 */
static u32 rpcrdma_extent_pages(const struct rpcrdma_extent *ext, u32 at,
				u32 octets, u32 most, struct scatterlist *sg)
{
	u32 offset = offset_in_page(at), end = offset + octets;
	u32 n, nr = DIV_ROUND_UP(end, PAGE_SIZE);
	struct page **pages = ext->pages + (at >> PAGE_SHIFT);
	struct scatterlist *first = sg;

	/* As if all were whole; then those at the ends are made what they are. */
	for (; nr; nr -= n, pages += n, sg++) {
		if (unlikely(!*pages))
			return 0;
		n = rpcrdma_pages_in_a_row(pages, min_t(u32, nr,
							most >> PAGE_SHIFT));
		rpcrdma_sg_set(sg, *pages, n << PAGE_SHIFT, 0);
	}
	sg[-1].length -= -end & ~PAGE_MASK;
	first->offset = offset;
	first->length -= offset;
	return sg - first;
}

/* The same of linear memory, which has all its pages */
static u32 rpcrdma_extent_linear(const struct rpcrdma_extent *ext, u32 at,
				 u32 octets, u32 most, struct scatterlist *sg)
{
	u8 *p = ext->linear + at;
	u32 nr, n;

	for (nr = 0; octets; nr++) {
		n = min_t(u32, octets, most - offset_in_page(p));
		rpcrdma_sg_set(&sg[nr], virt_to_page(p), n, offset_in_page(p));
		p += n;
		octets -= n;
	}
	return nr;
}

/*
 * Describe the next @octets, more than none, in @sg, and go on behind them: there
 * are so many, and rpcrdma_extent_count() elements, of which none is marked as the
 * last. Pages that follow each other in memory share one, up to @most octets, which
 * are whole pages. Returns the elements, 0: a page is missing.
 */
u32 rpcrdma_extent_take(struct rpcrdma_extent_pos *pos, u32 octets, u32 most,
			struct scatterlist *sg)
{
	const struct rpcrdma_extent *ext;
	u32 at, n, nents, all = 0;

	do {
		ext = pos->ext;
		at = ext->offset + pos->done;
		n = min(octets, ext->length - pos->done);
		nents = ext->pages ?
			rpcrdma_extent_pages(ext, at, n, most, &sg[all]) :
			rpcrdma_extent_linear(ext, at, n, most, &sg[all]);
		if (unlikely(!nents))
			return 0;
		all += nents;
		octets -= n;
		rpcrdma_extent_skip(pos, n);
	} while (octets);
	return all;
}

/*
 * Elements of a scatterlist for the next @octets, at most: one for each page. 0: there
 * are not so many.
 */
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

/*
 * Return how much of the memory at @pos, at most @octets, one region takes when memory is
 * cut as @cut says; 0 if there is none.
 */
u32 rpcrdma_extent_region(const struct rpcrdma_extent_pos *pos,
			  const struct rpcrdma_cut *cut, u32 octets)
{
	struct rpcrdma_extent_pos at = *pos;
	struct rpcrdma_region region = {};
	u32 n, taken;

	while (at.nr && octets) {
		n = min(octets, at.ext->length - at.done);
		taken = rpcrdma_region_take(cut, &region,
					    offset_in_page(at.ext->offset +
							   at.done), n);
		if (taken < n)
			break;
		octets -= n;
		rpcrdma_extent_skip(&at, n);
	}
	return region.octets;
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
