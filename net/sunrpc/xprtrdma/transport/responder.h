/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls with Read chunks at a Responder, for either direction
 */
#ifndef RPCRDMA_RESPONDER_H
#define RPCRDMA_RESPONDER_H

#include "../endpoint/endpoint.h"

/* Octets of the unreduced Call in @rv, roundups included */
u64 rpcrdma_call_octets(const struct rpcrdma_recv *rv);

/*
 * Copy @len octets from @from to octet @to of @pages, or clear them (@from
 * NULL).
 */
void rpcrdma_pages_fill(struct page **pages, u32 to, const void *from,
			u32 len);

/*
 * Put the unreduced Call together, in two steps: with @rw, prepare the Reads
 * of its chunks into @bv, which has room for all of it; when they have ended,
 * without @rw, add the rest to the same memory, @pages.
 * Returns 0, -EINVAL when a position is not in the stream, or another errno of
 * rpcrdma_rw_add().
 */
int rpcrdma_call_walk(const struct rpcrdma_recv *rv, struct rpcrdma_rw *rw,
		      const struct bio_vec *bv, u32 nr_bv, struct page **pages);

#endif /* RPCRDMA_RESPONDER_H */
