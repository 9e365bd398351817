// SPDX-License-Identifier: GPL-2.0
/*
 * Conversion of memory from extents, as the transports describe it, to scatterlists of
 * pages, as devices need it.
 *
 * Operation
 *
 * An extent is linear memory or an array of pages. Pages that follow each other in memory
 * share an element, up to the maximum that the caller passes. The core decides how many
 * bytes an MR, or a part of a transfer, holds, and these are converted at once
 * (include/rpcrdma/extent.h).
 *
 * Memory
 *
 * Nothing is allocated, and no reference to a page is taken: the owner of the extents
 * keeps their pages until the device has finished. A caller provides an element for
 * each page, which suffices even if none are merged. The last element that is used is
 * marked.
 *
 * Errors
 *
 * A missing page (NULL) is reported as 0 elements.
 *
 * Locking
 *
 * None. An array of extents, and a position in it, have one user at a time.
 */

#include <linux/mm.h>
#include <linux/scatterlist.h>

#include "internal.h"

/*
 * Set an element. It is overwritten completely, because it may have been marked as the
 * last one.
 */
static __always_inline void rpcrdma_sg_set(struct scatterlist *sg,
					   struct page *page, u32 octets,
					   u32 offset)
{
	/* All pages are aligned; without this hint sg_set_page() checks each. */
	if (!IS_ALIGNED((unsigned long)page, sizeof(long)))
		__builtin_unreachable();
	sg->page_link = 0;
	sg_set_page(sg, page, octets, offset);
}

/*
 * Return true if @page is @next, the one that follows the page before it in memory. If
 * all struct pages are in one array, their addresses are sufficient.
 */
static __always_inline bool rpcrdma_page_is_next(const struct page *next,
						 const struct page *page)
{
	return page == next &&
	       (IS_ENABLED(CONFIG_SPARSEMEM_VMEMMAP) ||
		page_to_pfn(page) == page_to_pfn(next - 1) + 1);
}

/*
 * Describe @octets bytes, at least 1, of the data in @pages, starting at byte @at, with
 * elements of at most @most bytes, a multiple of the page size. The last element is
 * marked. Return the number of elements, or 0 if a page is missing.
 */
u32 rpcrdma_sg_of_pages(struct page **pages, u32 at, u32 octets, u32 most,
			struct scatterlist *sg)
{
	u32 offset = offset_in_page(at), end = offset + octets;
	long i = -(long)DIV_ROUND_UP(end, PAGE_SIZE), start, stop;
	struct scatterlist *first = sg;
	struct page *page, *next;

	/*
	 * Describe all pages as if they were whole, then correct the first and the
	 * last element. Fast path: one instruction counts pages up to 0, and a page that
	 * follows the one before it is only compared with it.
	 */
	pages += (at >> PAGE_SHIFT) - i;
	page = pages[i];
	for (;; sg++) {
		if (unlikely(!page))
			return 0;
		rpcrdma_sg_set(sg, page, PAGE_SIZE, 0);
		next = page + 1;
		if (!++i)
			break;
		if (likely(!rpcrdma_page_is_next(next, pages[i]))) {
			page = pages[i];
			continue;
		}
		start = i;
		stop = min(0L, i - 1 + (long)(most >> PAGE_SHIFT));
		while (i != stop && rpcrdma_page_is_next(next, pages[i])) {
			next++;
			i++;
		}
		sg->length = (u32)(i - start + 1) << PAGE_SHIFT;
		if (!i)
			break;
		page = pages[i];
	}
	sg->length -= -end & ~PAGE_MASK;
	first->offset = offset;
	first->length -= offset;
	sg_mark_end(sg);
	return sg + 1 - first;
}

/* rpcrdma_sg_of_pages() for linear memory, of which no page is missing */
static u32 rpcrdma_extent_linear(const struct rpcrdma_extent *ext, u32 most,
				 struct scatterlist *sg)
{
	u8 *p = ext->linear + ext->offset;
	u32 octets = ext->length;
	u32 nr, n;

	for (nr = 0; octets; nr++) {
		n = min_t(u32, octets, most - offset_in_page(p));
		rpcrdma_sg_set(&sg[nr], virt_to_page(p), n, offset_in_page(p));
		p += n;
		octets -= n;
	}
	sg_mark_end(&sg[nr - 1]);
	return nr;
}

/*
 * Describe the next @octets bytes, at least 1, in @sg, and advance @pos past them. @pos
 * has that many bytes, and @sg has rpcrdma_extent_pages() elements; the last one used is
 * marked. Pages that follow each other in memory share an element of up to
 * @most bytes, a multiple of the page size. Return the number of elements, or 0 if a
 * page is missing.
 */
u32 rpcrdma_extent_to_sg(struct rpcrdma_extent_pos *pos, u32 octets, u32 most,
			 struct scatterlist *sg)
{
	struct rpcrdma_extent part;
	u32 n, nents, all = 0;

	while ((n = rpcrdma_extent_next(pos, octets, &part))) {
		if (unlikely(all))
			sg_unmark_end(&sg[all - 1]);
		nents = part.pages ?
			rpcrdma_sg_of_pages(part.pages, part.offset, n, most,
					    &sg[all]) :
			rpcrdma_extent_linear(&part, most, &sg[all]);
		if (unlikely(!nents))
			return 0;
		all += nents;
		octets -= n;
	}
	return all;
}
