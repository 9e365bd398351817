/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A transfer of one part, the fast path of Reads and Writes. This entry into the core is
 * inline, because each such RPC needs it.
 */
#ifndef RPCRDMA_CORE_ONE_PART_H
#define RPCRDMA_CORE_ONE_PART_H

#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_core_not_one() - end a transfer, the only part of which could not be prepared
 * @t: transfer
 * @status: a negative errno; ignored if @t waits for MRs
 *
 * Context: no lock held.
 */
void rpcrdma_core_not_one(struct rpcrdma_transfer *t, int status);

/**
 * rpcrdma_core_prepare_one() - prepare the only part of a transfer
 * @t: transfer, after rpcrdma_transfer_only()
 * @octets: bytes of the part
 *
 * If others wait for MRs, it waits, too. Nothing may be prepared then: the queue prepares
 * the whole transfer, and those before this one need the MRs.
 * Context: no lock held; may sleep.
 * Return: false if that is not possible now. @t has ended, and its owner builds another
 *	one part by part, which waits, or reports the error.
 */
static inline bool rpcrdma_core_prepare_one(struct rpcrdma_transfer *t,
					    u32 octets)
{
	struct rpcrdma_transfer_part *part =
		(struct rpcrdma_transfer_part *)t->parts.next;
	int rc = t->claim.waits ? -1 : rpcrdma_port_prepare(t, part);

	if (__builtin_expect(rc < 0, 0)) {
		rpcrdma_core_not_one(t, rc);
		return false;
	}
	rpcrdma_transfer_prepared(t, part, rc);
	t->octets = octets;
	return true;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_ONE_PART_H */
