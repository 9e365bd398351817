/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conversion between xdr_bufs and the representations of the engine and the endpoint:
 * geometry, bytes in a Send buffer, and extents of memory.
 */
#ifndef RPCRDMA_XDRBUF_H
#define RPCRDMA_XDRBUF_H

#include <linux/string.h>
#include <linux/sunrpc/xdr.h>

#include "../verbs/data.h"

/* Maximum number of extents of a range of an xdr_buf: head, page data, tail */
#define RPCRDMA_XDR_EXTENTS	3

/* Return the number of bytes that @buf has space for. */
static inline u32 rpcrdma_xdr_room(const struct xdr_buf *buf)
{
	return buf->head[0].iov_len + buf->page_len + buf->tail[0].iov_len;
}

/* Set @layout to the lengths of the parts of @buf, for the engine. */
static inline void rpcrdma_xdr_layout(const struct xdr_buf *buf,
				      struct rpcrdma_buf_layout *layout)
{
	layout->head = buf->head[0].iov_len;
	layout->pages = buf->page_len;
	layout->tail = buf->tail[0].iov_len;
}

/* rpcrdma_xdr_extents() of a range that is not page data only */
int rpcrdma_xdr_extents_parts(const struct xdr_buf *buf, u32 offset, u32 len,
			      struct rpcrdma_extent *ext, u32 max);

/*
 * Describe the memory of @len bytes of @buf, starting at byte @offset. Head and tail
 * must be in the linear mapping (kmalloc or a page). Each part of @buf is an extent of
 * its own, because callers that count MRs beforehand rely on that. The pages are not
 * checked: one may be missing.
 * Return: the number of extents; -E2BIG if more than @max are needed; -EFAULT for
 * memory that cannot be described (beyond the buffer, a vmalloc address).
 */
static inline int rpcrdma_xdr_extents(const struct xdr_buf *buf, u32 offset,
				      u32 len, struct rpcrdma_extent *ext,
				      u32 max)
{
	u32 head = buf->head[0].iov_len;

	/* Fast path: page data only */
	if (likely(len && max && offset >= head &&
		   (u64)offset - head + len <= buf->page_len)) {
		ext[0] = rpcrdma_extent_of_pages(buf->pages, buf->page_base +
						 offset - head, len);
		return 1;
	}
	return rpcrdma_xdr_extents_parts(buf, offset, len, ext, max);
}

void rpcrdma_xdr_copy_parts_out(const struct xdr_buf *buf, u32 offset, u32 len,
				void *to);
u32 rpcrdma_xdr_copy_parts_in(const struct xdr_buf *buf, u32 offset,
			      const void *from, u32 len);

/*
 * Copy @len bytes of @buf, starting at byte @offset, to @to, or in the other direction
 * from @from. No page is missing; bytes beyond @buf are left out. Fast path: the range
 * is in the head.
 */
static inline void rpcrdma_xdr_copy_out(const struct xdr_buf *buf, u32 offset,
					u32 len, void *to)
{
	if (likely((u64)offset + len <= buf->head[0].iov_len))
		memcpy(to, buf->head[0].iov_base + offset, len);
	else
		rpcrdma_xdr_copy_parts_out(buf, offset, len, to);
}

/* Return the number of bytes copied. */
static inline u32 rpcrdma_xdr_copy_in(const struct xdr_buf *buf, u32 offset,
				      const void *from, u32 len)
{
	if (likely((u64)offset + len <= buf->head[0].iov_len)) {
		memcpy(buf->head[0].iov_base + offset, from, len);
		return len;
	}
	return rpcrdma_xdr_copy_parts_in(buf, offset, from, len);
}

/* rpcrdma_xdr_copy_call() of a Call of which an item is left out */
void rpcrdma_xdr_copy_reduced(const struct xdr_buf *buf,
			      const struct rpcrdma_call_plan *plan, void *to);

/*
 * Copy what is sent inline of the Call in @buf to @to, which has space for
 * @plan->inline_length bytes.
 */
static inline void rpcrdma_xdr_copy_call(const struct xdr_buf *buf,
					 const struct rpcrdma_call_plan *plan,
					 void *to)
{
	if (likely(plan->inline_length == buf->len))
		rpcrdma_xdr_copy_out(buf, 0, buf->len, to);
	else
		rpcrdma_xdr_copy_reduced(buf, plan, to);
}

#endif /* RPCRDMA_XDRBUF_H */
