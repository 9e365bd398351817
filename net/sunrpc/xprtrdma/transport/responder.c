// SPDX-License-Identifier: GPL-2.0
/*
 * The Responder's side of Calls with Read chunks, for either direction: from
 * what is inline and what is to be pulled to the unreduced message.
 */

#include <linux/mm.h>
#include <linux/sunrpc/xdr.h>

#include "responder.h"

/*
 * Where the stream that the items are taken out of comes from: a Position Zero
 * Read chunk (then reads[0]), or the inline payload. Returns its octets;
 * @first is the first item's index in reads[].
 */
static u32 rpcrdma_call_base(const struct rpcrdma_recv *rv, u32 *first)
{
	if (rv->rx.format == RPCRDMA_SPECIAL) {
		*first = 1;
		return rv->rx.lists.nr_reads ? rv->rx.lists.reads[0].length : 0;
	}
	*first = 0;
	return rv->payload_len;
}

/**
 * rpcrdma_call_octets - the length of an unreduced Call
 * @rv: Call
 */
u64 rpcrdma_call_octets(const struct rpcrdma_recv *rv)
{
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	u64 octets;
	u32 i;

	octets = rpcrdma_call_base(rv, &i);
	for (; i < lists->nr_reads; i++)
		octets += xdr_align_size(lists->reads[i].length);
	return octets;
}

/**
 * rpcrdma_pages_fill - copy octets to pages, or clear them
 * @pages: in the linear mapping
 * @to: octets into them
 * @from: what to copy, NULL for zeroes
 * @len: octets
 */
void rpcrdma_pages_fill(struct page **pages, u32 to, const void *from,
			u32 len)
{
	u32 n;

	for (; len; len -= n, to += n) {
		void *p = page_address(pages[to >> PAGE_SHIFT]) +
			  offset_in_page(to);

		n = min_t(u32, len, PAGE_SIZE - offset_in_page(to));
		if (from) {
			memcpy(p, from, n);
			from += n;
		} else {
			memset(p, 0, n);
		}
	}
}

/**
 * rpcrdma_call_walk - go through an unreduced Call once, from octet 0
 * @rv: Call
 * @rw: prepare Reads here into @bv; or NULL
 * @bv: memory for the whole Call, with @rw
 * @nr_bv: number of vectors
 * @pages: without @rw, the same memory, which holds what was read: gets what
 * comes from elsewhere
 *
 * The base stream, each item where its position says, its roundup (4.3.5).
 * Returns 0, -EINVAL when a position is not in the stream, or another errno of
 * rpcrdma_rw_add().
 */
int rpcrdma_call_walk(const struct rpcrdma_recv *rv, struct rpcrdma_rw *rw,
		      const struct bio_vec *bv, u32 nr_bv, struct page **pages)
{
	const struct rpcrdma_lists *lists = &rv->rx.lists;
	bool special = rv->rx.format == RPCRDMA_SPECIAL;
	u32 i, n, pad, base_len, base = 0, out = 0;
	const struct rpcrdma_chunk *item;
	int rc;

	base_len = rpcrdma_call_base(rv, &i);
	for (;; i++) {
		item = i < lists->nr_reads ? &lists->reads[i] : NULL;
		n = base_len - base;
		if (item) {
			if (item->position < out || item->position - out > n)
				return -EINVAL;
			n = item->position - out;
		}
		if (n && special && rw) {
			rc = rpcrdma_rw_add(rw, lists, &lists->reads[0], base,
					    bv, nr_bv, out, n);
			if (rc)
				return rc;
		} else if (n && !special && !rw) {
			rpcrdma_pages_fill(pages, out, rv->payload + base, n);
		}
		base += n;
		out += n;
		if (!item)
			return 0;

		if (item->length && rw) {
			rc = rpcrdma_rw_add(rw, lists, item, 0, bv, nr_bv, out,
					    item->length);
			if (rc)
				return rc;
		}
		out += item->length;
		pad = xdr_pad_size(item->length);
		if (!rw)
			rpcrdma_pages_fill(pages, out, NULL, pad);
		out += pad;
	}
}
