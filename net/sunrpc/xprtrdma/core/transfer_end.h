/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The end of a transfer, or of a batch of it. These entries into the core are inline, so
 * that the functions of the port that they call can be, too.
 */
#ifndef RPCRDMA_CORE_TRANSFER_END_H
#define RPCRDMA_CORE_TRANSFER_END_H

#include <rpcrdma/endpoint_call.h>

#include "port_transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rpcrdma_core_transfer_end() */
static inline void rpcrdma_transfer_end(struct rpcrdma_transfer *t, bool ok)
{
	struct rpcrdma_ep_core *core = t->core;

	rpcrdma_port_transfer_ended(t, ok);
	if (t->call)
		rpcrdma_core_call_pulled(t->call, ok);
	if (__builtin_expect(t->claim.waits ||
				     rpcrdma_read_wanted(&core->rw.pool), 0))
		rpcrdma_core_transfer_over(t);
	if (__builtin_expect(!!t->reply, 0))
		rpcrdma_core_transfer_written(core, t->reply, ok);
	rpcrdma_port_transfer_free(t);
}

/**
 * rpcrdma_core_transfer_done() - handle the completion of a batch: post the next one,
 *	or end the transfer
 * @work: work item
 * @ok: the work was executed, if the device accepted it
 *
 * work->done() of a transfer calls this.
 * Context: no lock held.
 */
static inline void rpcrdma_core_transfer_done(struct rpcrdma_work *work, bool ok)
{
	struct rpcrdma_transfer *t = (struct rpcrdma_transfer *)work;

	if (__builtin_expect(ok && t->left, 0))
		rpcrdma_core_transfer_post(t);
	else
		rpcrdma_transfer_end(t, ok);
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_TRANSFER_END_H */
