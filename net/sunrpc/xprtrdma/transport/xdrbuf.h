/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between xdr_bufs and what the engine and the endpoint work with: plain
 * geometry, octets in a Send buffer, and vectors of pages.
 */
#ifndef RPCRDMA_XDRBUF_H
#define RPCRDMA_XDRBUF_H

#include <linux/bvec.h>
#include <linux/sunrpc/xdr.h>

/* Vectors a range of any xdr_buf here may take: 1 MiB of pages, head, tail */
#define RPCRDMA_MAX_BVECS	(256 + 8)

/*
 * Describe @len octets of @buf from octet @offset on, as they lie in memory.
 * Octets of head and tail must be in the linear mapping (kmalloc or a page).
 * Physically contiguous neighbours may share a vector as far as a page goes.
 * Returns the number of vectors, -E2BIG when @max are not enough, -EFAULT for
 * memory that cannot be described (a page that is missing, a vmalloc address).
 */
int rpcrdma_xdr_to_bvecs(const struct xdr_buf *buf, u32 offset, u32 len,
			 struct bio_vec *bv, u32 max);

/* Copy @len octets of @buf from octet @offset on to @to. */
void rpcrdma_xdr_copy_out(const struct xdr_buf *buf, u32 offset, u32 len,
			  void *to);

/*
 * Copy @len octets from @from to @buf from octet @offset on; what goes beyond
 * @buf is left out. Returns the octets copied.
 */
u32 rpcrdma_xdr_copy_in(const struct xdr_buf *buf, u32 offset,
			const void *from, u32 len);

/*
 * Copy the Payload stream of @buf, @len octets, to @to. What is left out of @buf,
 * if that has more, lies behind its first @skip octets: an item with its roundup.
 */
void rpcrdma_xdr_copy_reduced(const struct xdr_buf *buf, u32 skip, u32 len,
			      void *to);

#endif /* RPCRDMA_XDRBUF_H */
