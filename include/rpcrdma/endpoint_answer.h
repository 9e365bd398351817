/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Requester: Replies and ERRORs that an RPC waits for, in answers.cc. "Host": see
 * endpoint_send.h. The host finds the RPC and claims it; what follows is here.
 */
#ifndef RPCRDMA_ENDPOINT_ANSWER_H
#define RPCRDMA_ENDPOINT_ANSWER_H

#include "endpoint_mrs.h"
#include "endpoint_receive.h"
#include "xact.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_rpc - an RPC at its Requester, with the objects that it uses
 * @x: its state
 * @mrs: MRs that its Call exposes
 * @rv: the Receive of its Reply, until it is processed
 * @inv: invalidation of @mrs; work.chain is set by the host
 * @local_inv: the Reply needed an invalidation by this end; reset by the host
 * @bad_reply: the Reply was bad; reset by the host
 *
 * The context that has claimed the RPC owns all members until the RPC is complete, sent
 * again or left. Otherwise its sender or its releaser owns them.
 */
struct rpcrdma_rpc {
	struct rpcrdma_xact x;
	struct list_head mrs;
	struct rpcrdma_recv *rv;
	struct rpcrdma_inv inv;
	bool local_inv;
	bool bad_reply;
};

/**
 * rpcrdma_core_rpc_reply() - process a Reply whose RPC is claimed
 * @core: connection that the Reply has arrived on
 * @rpc: for which rpcrdma_xact_claim_reply() returned CLAIMED
 * @rv: the Reply, consumed
 * @bad: verdict BAD_REPLY
 * @layout: memory of the Reply
 *
 * The RPC completes, its Call is sent again, or it is left to the next connection, when
 * the peer cannot access its memory any more: before or after this returns.
 * Context: process context, no lock held.
 */
void rpcrdma_core_rpc_reply(struct rpcrdma_ep_core *core,
			    struct rpcrdma_rpc *rpc, struct rpcrdma_recv *rv,
			    bool bad, const struct rpcrdma_buf_layout *layout);

/**
 * rpcrdma_core_rpc_error() - process an ERROR whose RPC is claimed
 * @core: connection that the ERROR has arrived on
 * @rpc: claimed by rpcrdma_xact_claim()
 * @rv: the ERROR, consumed
 *
 * If there is another form for the Call, it is sent again; otherwise the RPC ends.
 * Context: process context, no lock held.
 */
void rpcrdma_core_rpc_error(struct rpcrdma_ep_core *core,
			    struct rpcrdma_rpc *rpc, struct rpcrdma_recv *rv);

/**
 * rpcrdma_core_rpc_stray() - drop a Reply for which no RPC waits (any more)
 * @core: connection
 * @rv: the Reply, consumed
 * @bad: verdict BAD_REPLY
 *
 * Context: process context, no lock held.
 */
void rpcrdma_core_rpc_stray(struct rpcrdma_ep_core *core,
			    struct rpcrdma_recv *rv, bool bad);

/**
 * rpcrdma_core_rpc_pulled() - report that the Reads of rpcrdma_port_rpc_reads() have
 *	ended
 * @core: connection
 * @rpc: as passed to rpcrdma_port_rpc_reads()
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
