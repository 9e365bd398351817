// SPDX-License-Identifier: GPL-2.0
/*
 * xdr_bufs as plain geometry: extents of memory, and octets copied out and in.
 *
 * A range is always given in octets of the whole buffer: head, page data and
 * tail follow each other without a gap, whatever buf->len says.
 */

#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "xdrbuf.h"

/* Where a range lies in the three parts of an xdr_buf; octets */
struct rpcrdma_xdr_range {
	u32 head, head_len;
	u32 page, page_len;
	u32 tail, tail_len;
};

/* How much of the range lies in the part that is next, and from where on? */
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

/* What lies beyond the buffer is cut off. */
static void rpcrdma_xdr_range(const struct xdr_buf *buf, u32 offset, u32 len,
			      struct rpcrdma_xdr_range *r)
{
	r->head_len = rpcrdma_xdr_part(&offset, &len, buf->head[0].iov_len,
				       &r->head);
	r->page_len = rpcrdma_xdr_part(&offset, &len, buf->page_len, &r->page);
	r->tail_len = rpcrdma_xdr_part(&offset, &len, buf->tail[0].iov_len,
				       &r->tail);
}

/* Append linear memory to the first @n, which is not negative, of @ext. */
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

/* A range that is not page data alone; see rpcrdma_xdr_extents(). */
static noinline int rpcrdma_xdr_parts(const struct xdr_buf *buf, u32 offset,
				      u32 len, struct rpcrdma_extent *ext,
				      u32 max)
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

/**
 * rpcrdma_xdr_extents - describe a range of an xdr_buf
 * @buf: xdr_buf
 * @offset: octets of @buf to leave out
 * @len: octets to describe, all within @buf
 * @ext: filled in
 * @max: elements of @ext
 *
 * Any context. Returns the number of extents, -E2BIG when @max are not enough,
 * RPCRDMA_XDR_EXTENTS always are; -EFAULT for memory that cannot be described so.
 */
int rpcrdma_xdr_extents(const struct xdr_buf *buf, u32 offset, u32 len,
			struct rpcrdma_extent *ext, u32 max)
{
	u32 head = buf->head[0].iov_len;

	/* Page data alone, as most are */
	if (likely(len && max && offset >= head &&
		   (u64)offset - head + len <= buf->page_len)) {
		ext[0] = rpcrdma_extent_of_pages(buf->pages, buf->page_base +
						 offset - head, len);
		return 1;
	}
	return rpcrdma_xdr_parts(buf, offset, len, ext, max);
}

/*
 * Copy between @p and page data of @buf, from its octet @offset on. A compiler
 * that sees that at most a page is copied moves it a word at a time: the length
 * is hidden from it, and the kernel's memcpy() has what the processor does best.
 * Returns what follows the octets at @p.
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
	/* Few have more than that. */
	if (likely(!len))
		return end - p;
	n = rpcrdma_xdr_part(&offset, &len, buf->tail[0].iov_len, &from);
	if (n)
		rpcrdma_xdr_copy_linear(buf->tail[0].iov_base + from, end, n,
					in);
	return end + n - p;
}

/**
 * rpcrdma_xdr_copy_parts_out - copy a range of an xdr_buf to linear memory
 * @buf: xdr_buf whose pages are all there
 * @offset: octets of @buf to leave out
 * @len: octets; what goes beyond @buf is left out
 * @to: @len octets of memory
 *
 * Any context.
 */
void rpcrdma_xdr_copy_parts_out(const struct xdr_buf *buf, u32 offset, u32 len,
				void *to)
{
	rpcrdma_xdr_copy(buf, offset, len, to, false);
}

/**
 * rpcrdma_xdr_copy_parts_in - copy linear memory to a range of an xdr_buf
 * @buf: xdr_buf whose pages are all there
 * @offset: octets of @buf to leave out
 * @from: @len octets of memory
 * @len: octets; what goes beyond @buf is left out
 *
 * Any context. Returns the octets copied.
 */
u32 rpcrdma_xdr_copy_parts_in(const struct xdr_buf *buf, u32 offset,
			      const void *from, u32 len)
{
	return rpcrdma_xdr_copy(buf, offset, len, (u8 *)from, true);
}

/**
 * rpcrdma_xdr_copy_reduced - copy a Payload stream without a reduced item
 * @buf: xdr_buf, of which buf->len octets are the whole message
 * @skip: octets of @buf before the item
 * @len: octets of the Payload stream; all of @buf: nothing is left out
 * @to: @len octets of memory
 *
 * What is left out between the first @skip octets and the last ones is the item
 * with its roundup (4.3.4.4). Any context.
 */
void rpcrdma_xdr_copy_reduced(const struct xdr_buf *buf, u32 skip, u32 len,
			      void *to)
{
	u32 before = len == buf->len ? len : min(skip, len);

	rpcrdma_xdr_copy_out(buf, 0, before, to);
	if (before < len)
		rpcrdma_xdr_copy_out(buf, buf->len - (len - before),
				     len - before, to + before);
}
