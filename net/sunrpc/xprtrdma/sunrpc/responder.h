/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls with Read chunks at a Responder, for either direction
 */
#ifndef RPCRDMA_RESPONDER_H
#define RPCRDMA_RESPONDER_H

#include "../verbs/endpoint.h"

/* Copy @len bytes from @from to byte @to of @pages, or clear them (@from NULL). */
void rpcrdma_pages_fill(struct page **pages, u32 to, const void *from,
			u32 len);

/*
 * Assemble an unreduced Call, in two steps: rpcrdma_call_read() prepares the Reads of
 * its chunks into @pages, which have space for all of rpcrdma_call_octets(). When the
 * Reads have ended, rpcrdma_call_fill() adds the rest.
 */
int rpcrdma_call_read(const struct rpcrdma_recv *rv, struct rpcrdma_rw *rw,
		      struct page **pages);
void rpcrdma_call_fill(const struct rpcrdma_recv *rv, struct page **pages);

#endif /* RPCRDMA_RESPONDER_H */
