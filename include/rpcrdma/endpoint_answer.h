/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Requester: Replies and ERRORs that an RPC waits for, in answers.cc. "Host": see
 * endpoint_send.h.
 */
#ifndef RPCRDMA_ENDPOINT_ANSWER_H
#define RPCRDMA_ENDPOINT_ANSWER_H

#include "endpoint_mrs.h"
#include "endpoint_receive.h"
#include "plan_call.h"
#include "xact.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_rpc - an RPC at its Requester, with the objects that it uses
 * @x: its state
 * @mrs: MRs that its Call exposes
 * @item: the item of its Call, while that is sent
 * @rv: the Receive of its Reply, until it is processed
 * @inv: invalidation of @mrs; work.chain is set by the host
 * @local_inv: the Reply needed an invalidation by this end; reset by the host
 * @bad_reply: the Reply was bad; reset by the host
 * @copied: bytes of an inline Reply, to be counted; reset by the host
 *
 * The context that has claimed the RPC owns all members until the RPC is complete, sent
 * again or left. Otherwise its sender or its releaser owns them.
 */
struct rpcrdma_rpc {
	struct rpcrdma_xact x;
	struct list_head mrs;
	struct rpcrdma_call_item item;
	struct rpcrdma_recv *rv;
	struct rpcrdma_inv inv;
	bool local_inv;
	bool bad_reply;
	u32 copied;
};

/* The RPCs of a transport: the host's */
struct rpcrdma_requester;

/* The claim of an RPC. @rpc: undefined if @how is RPCRDMA_CLAIMED_NOT */
struct rpcrdma_claim {
	struct rpcrdma_rpc *rpc;
	enum rpcrdma_claimed how;
};

/**
 * rpcrdma_core_answer() - process a Reply, good or bad, or an ERROR
 * @r: RPCs, one of which may wait for it
 * @rv: the message, consumed
 *
 * The RPC completes, its Call is sent again, or it is left to the next connection, when
 * the peer cannot access its memory any more: before or after this returns. A message
 * that no RPC waits for is dropped, with a DONE if it is a Reply that is to be pulled.
 * Context: process context, no lock held.
 */
void rpcrdma_core_answer(struct rpcrdma_requester *r, struct rpcrdma_recv *rv);

/**
 * rpcrdma_core_answer_other() - rpcrdma_core_answer() without the fast paths of
 *	core/answer.h
 * @claim: of the RPC; not RPCRDMA_CLAIMED_LAST
 * @rv: the message, consumed
 *
 * Context: as for rpcrdma_core_answer().
 */
void rpcrdma_core_answer_other(struct rpcrdma_claim claim,
			       struct rpcrdma_recv *rv);

/**
 * rpcrdma_core_rpc_claim() - claim an RPC for a Reply or an ERROR
 * @rpc: RPC with the xid of the message
 * @rv: the message
 * @head: bytes of the head iovec
 *
 * Context: lock of the RPCs held.
 * Return: as rpcrdma_xact_claim_reply() does; never CLAIMED_LAST for an ERROR.
 */
enum rpcrdma_claimed rpcrdma_core_rpc_claim(struct rpcrdma_rpc *rpc,
					    const struct rpcrdma_recv *rv,
					    u32 head);

/**
 * rpcrdma_core_rpc_pulled() - report that the Reads of rpcrdma_port_rpc_reads_built() have
 *	ended
 * @core: connection
 * @rpc: as passed to rpcrdma_port_rpc_reads_built()
 * @ok: they were executed
 *
 * Context: process context, no lock held.
 */
void rpcrdma_core_rpc_pulled(struct rpcrdma_ep_core *core,
			     struct rpcrdma_rpc *rpc, bool ok);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_ANSWER_H */
