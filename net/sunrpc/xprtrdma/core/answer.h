/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A Reply or an ERROR: the entry into the core for that. It is inline, so that the functions
 * of the port that it calls can be, too.
 */
#ifndef RPCRDMA_CORE_ANSWER_H
#define RPCRDMA_CORE_ANSWER_H

#include "port_answer.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_core_claim() - look up and claim the RPC that a Reply or an ERROR is for
 * @r: RPCs
 * @rv: the message
 *
 * Fast path: the Reply to a plain Call is copied to the head, and the RPC completes, in the
 * same section: that takes no longer than acquiring the lock again. The RPC is held while
 * it completes. The hold ends in that section, so that the completed task does not wait.
 * Context: process context, no lock held.
 * Return: the RPC, and whether it is claimed, or complete.
 */
static inline struct rpcrdma_claim
rpcrdma_core_claim(struct rpcrdma_requester *r, const struct rpcrdma_recv *rv)
{
	struct rpcrdma_claim claim = { NULL, RPCRDMA_CLAIMED_NOT };
	const u32 octets = rv->payload_len;
	struct rpcrdma_buf_layout layout;

	rpcrdma_port_rpc_lock(r);
	claim.rpc = rpcrdma_port_rpc_find(r, rv->rx.xid);
	if (__builtin_expect(!!claim.rpc, 1)) {
		rpcrdma_port_rpc_layout(claim.rpc, &layout);
		claim.how = rpcrdma_core_rpc_claim(claim.rpc, rv, layout.head);
	}
	if (__builtin_expect(claim.how != RPCRDMA_CLAIMED_NOT, 1))
		rpcrdma_port_rpc_hold(claim.rpc);
	if (__builtin_expect(claim.how == RPCRDMA_CLAIMED_LAST, 1)) {
		rpcrdma_port_rpc_copy(claim.rpc, 0, rv->payload, octets);
		rpcrdma_port_rpc_answered(claim.rpc, octets);
	}
	rpcrdma_port_rpc_unlock(r);
	return claim;
}

/**
 * rpcrdma_core_rpc_complete() - complete an RPC
 * @rpc: claimed RPC, with its Reply in its memory
 * @status: bytes of the Reply, or a negative errno
 *
 * If the result arrived in a Write chunk, the lengths of the parts are adjusted to its
 * position. This ends the claim.
 * Context: process context, no lock held.
 */
static inline void rpcrdma_core_rpc_complete(struct rpcrdma_rpc *rpc, int status)
{
	const struct rpcrdma_reply_layout *parts = &rpc->x.parts;

	if (status >= 0 && parts->reduced)
		rpcrdma_port_rpc_lengths(rpc, parts->head, parts->pages);
	rpcrdma_port_rpc_complete(rpc, status);
}

/*
 * Fast path: complete an RPC that has no chunks, and a Reply longer than the head, such as
 * data. The Reply is copied without the lock, which other RPCs need. Return false, with
 * nothing changed, if the memory of the RPC is too small.
 */
static inline bool rpcrdma_core_answer_data(struct rpcrdma_requester *r,
					    struct rpcrdma_rpc *rpc,
					    const struct rpcrdma_recv *rv)
{
	const u32 octets = rv->payload_len;
	struct rpcrdma_buf_layout layout;

	rpcrdma_port_rpc_layout(rpc, &layout);
	if (octets > layout.head + layout.pages + layout.tail)
		return false;
	rpcrdma_xact_placed(&rpc->x);
	rpcrdma_port_rpc_copy(rpc, 0, rv->payload, octets);
	rpcrdma_port_rpc_lock(r);
	rpcrdma_port_rpc_answered(rpc, octets);
	rpcrdma_port_rpc_unlock(r);
	return true;
}

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
	rpc->copied = rv->payload_len;
	rpcrdma_port_rpc_copy(rpc, 0, rv->payload, rpc->x.parts.first);
	rpcrdma_core_rpc_complete(rpc, (int)rpc->x.parts.octets);
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
	const struct rpcrdma_claim claim = rpcrdma_core_claim(r, rv);

	if (__builtin_expect(claim.how == RPCRDMA_CLAIMED_LAST, 1))
		return true;
	if (claim.how == RPCRDMA_CLAIMED_PLAIN &&
	    rpcrdma_core_answer_data(r, claim.rpc, rv))
		return true;
	if (claim.how == RPCRDMA_CLAIMED &&
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
