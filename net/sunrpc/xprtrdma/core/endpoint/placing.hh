/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Placing a Reply in the memory of its RPC. The RPC is claimed; no lock is held. */
#ifndef RPCRDMA_CORE_PLACING_HH
#define RPCRDMA_CORE_PLACING_HH

#include <rpcrdma/endpoint_answer.h>
#include <rpcrdma/work.h>

namespace rpcrdma
{

/* Copy the inline payload of rpc->rv. */
void place(rpcrdma_rpc *rpc);

/*
 * Move the data of a Reply chunk that was provided in addition to a Write chunk. No MR is
 * mapped.
 */
void move(rpcrdma_rpc *rpc);

/* Add the Reads of the Reply that rpc->rv provides. Return 0 or a negative errno. */
int add_reply_reads(rpcrdma_rpc *rpc, rpcrdma_transfer *t);

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_PLACING_HH */
