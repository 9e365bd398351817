// SPDX-License-Identifier: GPL-2.0
/*
 * xdr_bufs as plain geometry: vectors of pages, and octets copied out and in.
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

static u32 rpcrdma_xdr_part(u32 *offset, u32 *len, u32 part_len, u32 *part)
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

static int rpcrdma_bvec_add(struct bio_vec *bv, int n, u32 max,
			    struct page *page, u32 offset, u32 len)
{
	struct bio_vec *last = n ? &bv[n - 1] : NULL;

	if (last && last->bv_page == page &&
	    last->bv_offset + last->bv_len == offset) {
		last->bv_len += len;
		return n;
	}
	if ((u32)n == max)
		return -E2BIG;
	bv[n].bv_page = page;
	bv[n].bv_offset = offset;
	bv[n].bv_len = len;
	return n + 1;
}

/* @len octets of @pages, from octet @base of the first one on; n >= 0 */
static int rpcrdma_bvec_pages(struct bio_vec *bv, int n, u32 max,
			      struct page **pages, u32 base, u32 len)
{
	u32 here = min_t(u32, len, PAGE_SIZE - base);

	if (!len)
		return n;
	if (unlikely(!*pages))
		return -EFAULT;
	n = rpcrdma_bvec_add(bv, n, max, *pages, base, here);
	if (n < 0)
		return n;
	len -= here;
	if (unlikely(n + DIV_ROUND_UP(len, PAGE_SIZE) > max))
		return -E2BIG;
	/* None of the others goes on where the one before it ends. */
	for (; len; len -= here) {
		struct page *page = *++pages;

		if (unlikely(!page))
			return -EFAULT;
		here = min_t(u32, len, PAGE_SIZE);
		bv[n].bv_page = page;
		bv[n].bv_offset = 0;
		bv[n].bv_len = here;
		n++;
	}
	return n;
}

static int rpcrdma_bvec_kvec(struct bio_vec *bv, int n, u32 max,
			     const u8 *p, u32 len)
{
	u32 offset, here;

	while (len && n >= 0) {
		if (!virt_addr_valid(p))
			return -EFAULT;
		offset = offset_in_page(p);
		here = min_t(u32, len, PAGE_SIZE - offset);
		n = rpcrdma_bvec_add(bv, n, max, virt_to_page(p), offset, here);
		p += here;
		len -= here;
	}
	return n;
}

/**
 * rpcrdma_xdr_to_bvecs - describe a range of an xdr_buf
 * @buf: xdr_buf
 * @offset: octets of @buf to leave out
 * @len: octets to describe, all within @buf
 * @bv: filled in; no vector crosses a page
 * @max: elements of @bv
 *
 * Any context. Returns the number of vectors, -E2BIG when @max are not enough,
 * -EFAULT for memory that cannot be described so.
 */
int rpcrdma_xdr_to_bvecs(const struct xdr_buf *buf, u32 offset, u32 len,
			 struct bio_vec *bv, u32 max)
{
	struct rpcrdma_xdr_range r;
	u32 base;
	int n;

	rpcrdma_xdr_range(buf, offset, len, &r);
	if (unlikely(r.head_len + r.page_len + r.tail_len != len))
		return -EFAULT;

	n = rpcrdma_bvec_kvec(bv, 0, max, buf->head[0].iov_base + r.head,
			      r.head_len);
	if (n < 0)
		return n;
	base = buf->page_base + r.page;
	n = rpcrdma_bvec_pages(bv, n, max, buf->pages + (base >> PAGE_SHIFT),
			       offset_in_page(base), r.page_len);
	if (n < 0)
		return n;
	return rpcrdma_bvec_kvec(bv, n, max, buf->tail[0].iov_base + r.tail,
				 r.tail_len);
}

/*
 * Copy between @p and page data of @buf, from its octet @offset on. A compiler
 * that sees that at most a page is copied moves it a word at a time: the length
 * is hidden from it, and the kernel's memcpy() has what the processor does best.
 */
static void rpcrdma_xdr_copy_pages(const struct xdr_buf *buf, u32 offset,
				   u32 len, u8 *p, bool in)
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
}

/**
 * rpcrdma_xdr_copy_out - copy a range of an xdr_buf to linear memory
 * @buf: xdr_buf whose pages are all there
 * @offset: octets of @buf to leave out
 * @len: octets, all within @buf
 * @to: @len octets of memory
 *
 * Any context.
 */
void rpcrdma_xdr_copy_out(const struct xdr_buf *buf, u32 offset, u32 len,
			  void *to)
{
	struct rpcrdma_xdr_range r;

	/* As most are */
	if (likely((u64)offset + len <= buf->head[0].iov_len)) {
		memcpy(to, buf->head[0].iov_base + offset, len);
		return;
	}
	rpcrdma_xdr_range(buf, offset, len, &r);
	if (r.head_len)
		memcpy(to, buf->head[0].iov_base + r.head, r.head_len);
	to += r.head_len;
	if (r.page_len)
		rpcrdma_xdr_copy_pages(buf, r.page, r.page_len, to, false);
	to += r.page_len;
	if (r.tail_len)
		memcpy(to, buf->tail[0].iov_base + r.tail, r.tail_len);
}

/**
 * rpcrdma_xdr_copy_in - copy linear memory to a range of an xdr_buf
 * @buf: xdr_buf whose pages are all there
 * @offset: octets of @buf to leave out
 * @from: @len octets of memory
 * @len: octets; what goes beyond @buf is left out
 *
 * Any context. Returns the octets copied.
 */
u32 rpcrdma_xdr_copy_in(const struct xdr_buf *buf, u32 offset,
			const void *from, u32 len)
{
	struct rpcrdma_xdr_range r;

	/* As most are */
	if (likely((u64)offset + len <= buf->head[0].iov_len)) {
		memcpy(buf->head[0].iov_base + offset, from, len);
		return len;
	}
	rpcrdma_xdr_range(buf, offset, len, &r);
	if (r.head_len)
		memcpy(buf->head[0].iov_base + r.head, from, r.head_len);
	from += r.head_len;
	if (r.page_len)
		rpcrdma_xdr_copy_pages(buf, r.page, r.page_len, (u8 *)from,
				       true);
	from += r.page_len;
	if (r.tail_len)
		memcpy(buf->tail[0].iov_base + r.tail, from, r.tail_len);
	return r.head_len + r.page_len + r.tail_len;
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
