// SPDX-License-Identifier: GPL-2.0
/*
 * xdr_bufs as geometry: extents of memory, and copying to and from linear memory.
 *
 * Operation
 *
 * A range is always given in bytes of the entire buffer: head, page data and tail
 * follow each other without a gap, regardless of buf->len. Fast paths for a range in one
 * part are inline in xdrbuf.h.
 *
 * Memory
 *
 * Nothing is allocated. An extent refers to the memory of the buffer, which its owner
 * keeps while the extent is in use.
 *
 * Errors
 *
 * A range that exceeds the buffer, or linear memory that has no struct page, such as
 * vmalloc, cannot be described (-EFAULT). Copying leaves out what exceeds the buffer;
 * copying into it returns the number of bytes that fitted.
 */

#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "xdrbuf.h"

/* The position of a range in the three parts of an xdr_buf, in bytes */
struct rpcrdma_xdr_range {
	u32 head, head_len;
	u32 page, page_len;
	u32 tail, tail_len;
};

/*
 * Return the number of bytes of the range in the next part, and set *@part to their
 * offset in it.
 */
static __always_inline u32 rpcrdma_xdr_part(u32 *offset, u32 *len,
					    u32 part_len, u32 *part)
{
	u32 n = 0;

	if (*offset < part_len) {
		n = min(*len, part_len - *offset);
		*part = *offset;
		*offset = 0;
		*len -= n;
	} else {
		*part = 0;
		*offset -= part_len;
	}
	return n;
}

/* Split a range into parts. Bytes beyond the buffer are left out. */
static void rpcrdma_xdr_range(const struct xdr_buf *buf, u32 offset, u32 len,
			      struct rpcrdma_xdr_range *r)
{
	r->head_len = rpcrdma_xdr_part(&offset, &len, buf->head[0].iov_len,
				       &r->head);
	r->page_len = rpcrdma_xdr_part(&offset, &len, buf->page_len, &r->page);
	r->tail_len = rpcrdma_xdr_part(&offset, &len, buf->tail[0].iov_len,
				       &r->tail);
}

/* Append linear memory to the first @n elements of @ext; @n is not negative. */
static int rpcrdma_extent_add(struct rpcrdma_extent *ext, int n, u32 max,
			      u8 *p, u32 len)
{
	if (!len)
		return n;
	if (!virt_addr_valid(p) || !virt_addr_valid(p + len - 1))
		return -EFAULT;
	if ((u32)n == max)
		return -E2BIG;
	ext[n] = rpcrdma_extent_of(p, len);
	return n + 1;
}

int rpcrdma_xdr_extents_parts(const struct xdr_buf *buf, u32 offset, u32 len,
			      struct rpcrdma_extent *ext, u32 max)
{
	struct rpcrdma_xdr_range r;
	int n;

	rpcrdma_xdr_range(buf, offset, len, &r);
	if (unlikely(r.head_len + r.page_len + r.tail_len != len))
		return -EFAULT;

	n = rpcrdma_extent_add(ext, 0, max, buf->head[0].iov_base + r.head,
			       r.head_len);
	if (n < 0)
		return n;
	if (r.page_len) {
		if ((u32)n == max)
			return -E2BIG;
		ext[n++] = rpcrdma_extent_of_pages(buf->pages,
						   buf->page_base + r.page,
						   r.page_len);
	}
	return rpcrdma_extent_add(ext, n, max, buf->tail[0].iov_base + r.tail,
				  r.tail_len);
}

/*
 * Copy between @p and page data of @buf, starting at byte @offset. If a compiler can
 * see that at most a page is copied, it copies a word at a time. Therefore the length
 * is hidden from it, and the kernel's memcpy() uses the fastest method of the
 * processor. Return the position after the bytes at @p.
 */
static __always_inline u8 *rpcrdma_xdr_copy_pages(const struct xdr_buf *buf,
						  u32 offset, u32 len, u8 *p,
						  const bool in)
{
	u32 base = buf->page_base + offset, here;
	struct page **pages = buf->pages + (base >> PAGE_SHIFT);

	base = offset_in_page(base);
	while (len) {
		here = min_t(u32, len, PAGE_SIZE - base);
		OPTIMIZER_HIDE_VAR(here);
		if (in) {
			memcpy_to_page(*pages, base, p, here);
			flush_dcache_page(*pages);
		} else {
			memcpy_from_page(p, *pages, base, here);
		}
		p += here;
		len -= here;
		base = 0;
		pages++;
	}
	return p;
}

static __always_inline void rpcrdma_xdr_copy_linear(void *memory, u8 *p,
						    u32 len, const bool in)
{
	if (in)
		memcpy(memory, p, len);
	else
		memcpy(p, memory, len);
}

static __always_inline u32 rpcrdma_xdr_copy(const struct xdr_buf *buf,
					    u32 offset, u32 len, u8 *p,
					    const bool in)
{
	u8 *end = p;
	u32 from, n;

	n = rpcrdma_xdr_part(&offset, &len, buf->head[0].iov_len, &from);
	if (n)
		rpcrdma_xdr_copy_linear(buf->head[0].iov_base + from, end, n,
					in);
	end += n;
	n = rpcrdma_xdr_part(&offset, &len, buf->page_len, &from);
	if (n)
		end = rpcrdma_xdr_copy_pages(buf, from, n, end, in);
	/* Fast path: nothing is in the tail. */
	if (likely(!len))
		return end - p;
	n = rpcrdma_xdr_part(&offset, &len, buf->tail[0].iov_len, &from);
	if (n)
		rpcrdma_xdr_copy_linear(buf->tail[0].iov_base + from, end, n,
					in);
	return end + n - p;
}

void rpcrdma_xdr_copy_parts_out(const struct xdr_buf *buf, u32 offset, u32 len,
				void *to)
{
	rpcrdma_xdr_copy(buf, offset, len, to, false);
}

u32 rpcrdma_xdr_copy_parts_in(const struct xdr_buf *buf, u32 offset,
			      const void *from, u32 len)
{
	return rpcrdma_xdr_copy(buf, offset, len, (u8 *)from, true);
}

/* Copy the first @before and the last @after bytes of @buf. */
static noinline void rpcrdma_xdr_copy_ends(const struct xdr_buf *buf, u32 before,
					   u32 after, void *to)
{
	rpcrdma_xdr_copy_out(buf, 0, before, to);
	rpcrdma_xdr_copy_out(buf, buf->len - after, after, to + before);
}

/* Fast path: all of it is in the head. */
void rpcrdma_xdr_copy_reduced(const struct xdr_buf *buf,
			      const struct rpcrdma_call_plan *plan, void *to)
{
	u32 before = rpcrdma_plan_before(plan, buf->len, buf->head[0].iov_len);
	u32 after = plan->inline_length - before;

	if (likely(!after))
		rpcrdma_xdr_copy_out(buf, 0, before, to);
	else
		rpcrdma_xdr_copy_ends(buf, before, after, to);
}
