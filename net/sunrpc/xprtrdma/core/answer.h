/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A Reply or an ERROR: the entry into the core for that. It is inline, so that the functions
 * of the port that it calls can be, too.
 */
#ifndef RPCRDMA_CORE_ANSWER_H
#define RPCRDMA_CORE_ANSWER_H

#include "port_rpc.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fast path: complete an RPC whose Call has one item, in one MR, if the peer has
 * invalidated it, and the inline payload belongs to the head. Return false, with nothing
 * changed, if the Reply is any other.
 */
static inline bool rpcrdma_core_answer_item(struct rpcrdma_rpc *rpc,
					    struct rpcrdma_recv *rv)
{
	struct rpcrdma_mr *mr = (struct rpcrdma_mr *)rpc->mrs.next;
	const u32 handle = rv->inv_handle;
	struct rpcrdma_buf_layout layout;

	if (&mr->list == &rpc->mrs || mr->handle != handle || !mr->exposed)
		return false;
	rpcrdma_port_rpc_layout(rpc, &layout);
	if (!rpcrdma_xact_one_chunk(&rpc->x, &rv->rx, handle, layout.head,
				    layout.pages))
		return false;
	rpcrdma_core_mr_invalidated(rv->core, mr);
	rpcrdma_port_rpc_put_mrs(rv->core, rpc);
	rpcrdma_xact_placed(&rpc->x);
	rpc->rv = rv;
	rpcrdma_port_rpc_place(rpc);
	rpc->rv = NULL;
	rpcrdma_port_rpc_complete(rpc, (int)rpc->x.parts.octets);
	return true;
}

/**
 * rpcrdma_core_answer_rpc() - rpcrdma_core_answer() for rpcrdma_port_answer()
 * @r: RPCs, one of which may wait for it
 * @rv: the message
 *
 * Context: process context, no lock held.
 * Return: true if an RPC is complete, and the caller releases @rv; false if @rv is
 *	consumed.
 */
static inline bool rpcrdma_core_answer_rpc(struct rpcrdma_requester *r,
					   struct rpcrdma_recv *rv)
{
	const struct rpcrdma_claim claim = rpcrdma_port_rpc_claim(r, rv);

	if (__builtin_expect(claim.how == RPCRDMA_CLAIMED_LAST, 1))
		return true;
	if (claim.how != RPCRDMA_CLAIMED_NOT &&
	    rv->verdict == RPCRDMA_RX_REPLY && rv->inv_handle &&
	    rpcrdma_core_answer_item(claim.rpc, rv))
		return true;
	rpcrdma_core_answer_other(claim, rv);
	return false;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_ANSWER_H */
