/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls with Read chunks at a Responder, for either direction
 */
#ifndef RPCRDMA_RESPONDER_H
#define RPCRDMA_RESPONDER_H

#include "../endpoint/endpoint.h"

/*
 * Copy @len octets from @from to octet @to of @pages, or clear them (@from
 * NULL).
 */
void rpcrdma_pages_fill(struct page **pages, u32 to, const void *from,
			u32 len);

/*
 * Put an unreduced Call together, in two steps: prepare the Reads of its chunks
 * into @pages, which have room for all of rpcrdma_call_octets(); when they have
 * ended, add the rest.
 */
int rpcrdma_call_read(const struct rpcrdma_recv *rv, struct rpcrdma_rw *rw,
		      struct page **pages);
void rpcrdma_call_fill(const struct rpcrdma_recv *rv, struct page **pages);

#endif /* RPCRDMA_RESPONDER_H */
