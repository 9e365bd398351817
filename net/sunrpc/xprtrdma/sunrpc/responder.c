// SPDX-License-Identifier: GPL-2.0
/*
 * The Responder's side of Calls with Read chunks, for either direction: builds the
 * unreduced message from the inline and the pulled data.
 */

#include <linux/mm.h>
#include <linux/sunrpc/xdr.h>

#include "responder.h"

/**
 * rpcrdma_pages_fill - copy bytes to pages, or clear them
 * @pages: in the linear mapping
 * @to: byte offset in the pages
 * @from: source, NULL for zeroes
 * @len: number of bytes
 */
void rpcrdma_pages_fill(struct page **pages, u32 to, const void *from,
			u32 len)
{
	u32 n;

	for (; len; len -= n, to += n) {
		void *p = page_address(pages[to >> PAGE_SHIFT]) +
			  offset_in_page(to);

		n = min_t(u32, len, PAGE_SIZE - offset_in_page(to));
		/* For the same reason as in rpcrdma_xdr_copy_pages() */
		OPTIMIZER_HIDE_VAR(n);
		if (from) {
			memcpy(p, from, n);
			from += n;
		} else {
			memset(p, 0, n);
		}
	}
}

/**
 * rpcrdma_call_read - prepare the Reads of a Call's chunks
 * @rv: Call
 * @rw: the Reads are added to this
 * @pages: memory for the complete Call
 *
 * Return: 0 or an errno of rpcrdma_rw_add().
 */
int rpcrdma_call_read(const struct rpcrdma_recv *rv, struct rpcrdma_rw *rw,
		      struct page **pages)
{
	struct rpcrdma_extent ext = rpcrdma_extent_of_pages(pages, 0,
							    rpcrdma_call_octets(&rv->rx));
	struct rpcrdma_pieces at = {};
	struct rpcrdma_piece piece;
	int rc;

	while (rpcrdma_call_next(&rv->rx, &at, &piece)) {
		if (piece.origin != RPCRDMA_PIECE_CHUNK)
			continue;
		rc = rpcrdma_rw_add(rw, &rv->rx.lists, piece.chunk, piece.from,
				    &ext, 1, piece.to, piece.length);
		if (rc)
			return rc;
	}
	return 0;
}

/**
 * rpcrdma_call_fill - add the data that was not read to a Call
 * @rv: Call; its Reads have ended
 * @pages: memory that was read into, in the linear mapping
 */
void rpcrdma_call_fill(const struct rpcrdma_recv *rv, struct page **pages)
{
	struct rpcrdma_pieces at = {};
	struct rpcrdma_piece piece;

	while (rpcrdma_call_next(&rv->rx, &at, &piece)) {
		if (piece.origin != RPCRDMA_PIECE_CHUNK)
			rpcrdma_pages_fill(pages, piece.to,
					   piece.origin == RPCRDMA_PIECE_INLINE ?
					   rv->payload + piece.from : NULL,
					   piece.length);
	}
}
