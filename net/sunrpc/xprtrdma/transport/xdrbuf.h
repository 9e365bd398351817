/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between xdr_bufs and what the engine and the endpoint work with: plain
 * geometry, octets in a Send buffer, and extents of memory.
 */
#ifndef RPCRDMA_XDRBUF_H
#define RPCRDMA_XDRBUF_H

#include <linux/string.h>
#include <linux/sunrpc/xdr.h>

#include "../endpoint/endpoint.h"

/* Extents that a range of an xdr_buf takes at most: head, page data, tail */
#define RPCRDMA_XDR_EXTENTS	3

/* The parts of @buf, as the engine has those of a message, to @room */
static inline void rpcrdma_xdr_layout(const struct xdr_buf *buf,
				      struct rpcrdma_room *room)
{
	room->head = buf->head[0].iov_len;
	room->pages = buf->page_len;
	room->tail = buf->tail[0].iov_len;
}

/*
 * Describe @len octets of @buf from octet @offset on, as they lie in memory.
 * Octets of head and tail must be in the linear mapping (kmalloc or a page).
 * Each part of @buf is an extent of its own, as who counts regions beforehand takes
 * it to be. The pages are not looked at: one may be missing.
 * Returns the number of extents, -E2BIG when @max are not enough, -EFAULT for
 * memory that cannot be described (beyond the buffer, a vmalloc address).
 */
int rpcrdma_xdr_extents(const struct xdr_buf *buf, u32 offset, u32 len,
			struct rpcrdma_extent *ext, u32 max);

void rpcrdma_xdr_copy_parts_out(const struct xdr_buf *buf, u32 offset, u32 len,
				void *to);
u32 rpcrdma_xdr_copy_parts_in(const struct xdr_buf *buf, u32 offset,
			      const void *from, u32 len);

/*
 * Copy @len octets of @buf from octet @offset on to @to, or there from @from. Its pages
 * are all there; what goes beyond @buf is left out. Most is in the head alone.
 */
static inline void rpcrdma_xdr_copy_out(const struct xdr_buf *buf, u32 offset,
					u32 len, void *to)
{
	if (likely((u64)offset + len <= buf->head[0].iov_len))
		memcpy(to, buf->head[0].iov_base + offset, len);
	else
		rpcrdma_xdr_copy_parts_out(buf, offset, len, to);
}

/* Returns the octets copied. */
static inline u32 rpcrdma_xdr_copy_in(const struct xdr_buf *buf, u32 offset,
				      const void *from, u32 len)
{
	if (likely((u64)offset + len <= buf->head[0].iov_len)) {
		memcpy(buf->head[0].iov_base + offset, from, len);
		return len;
	}
	return rpcrdma_xdr_copy_parts_in(buf, offset, from, len);
}

/*
 * Copy the Payload stream of @buf, @len octets, to @to. What is left out of @buf,
 * if that has more, lies behind its first @skip octets: an item with its roundup.
 */
void rpcrdma_xdr_copy_reduced(const struct xdr_buf *buf, u32 skip, u32 len,
			      void *to);

#endif /* RPCRDMA_XDRBUF_H */
