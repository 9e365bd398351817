// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies and ERRORs at the Requester, from the claim of their RPC to its end.
 *
 * Operation
 *
 * rpc/xact.cc decides which actions follow from a Reply, an ERROR, the end of an
 * invalidation and the end of Reads. run_rpc() executes them in its order: copy, release the
 * Receive, invalidate, pull, complete, send DONE. An action that has to wait for the
 * device ends the run, and its completion continues it. The Reply to a Call with one
 * item takes a fast path (answer.h), if the peer has invalidated its only MR.
 *
 * Memory
 *
 * The claim holds the RPC's memory, even if its task is killed. The Receive is released
 * when its payload has been copied; in the fast paths, when the RPC is complete. MRs are
 * returned before the RPC completes: unmapping them makes the data that the device wrote
 * visible to the processor.
 *
 * Errors
 *
 * A bad Reply ends its RPC after its memory is invalid; the connection remains, unless
 * the peer has invalidated a foreign handle. If an invalidation or a pull fails, the
 * connection is closed, and the RPC is left to the next one.
 *
 * Locking
 *
 * No lock is held. The RPC belongs to one context at a time.
 */
#include "../answer.h"
#include "endpoint.hh"
#include "placing.hh"

namespace rpcrdma
{

namespace
{

rpcrdma_rpc *rpc_of(rpcrdma_inv *inv)
{
	return reinterpret_cast<rpcrdma_rpc *>(
		reinterpret_cast<u8 *>(inv) -
		__builtin_offsetof(rpcrdma_rpc, inv));
}

void run_rpc(rpcrdma_ep_core *core, rpcrdma_rpc *rpc, rpcrdma_actions s);

/*
 * Return the first words of a Reply that is in the memory of @rpc, or null if its head is
 * shorter.
 */
const void *first_words(const rpcrdma_rpc *rpc)
{
	rpcrdma_buf_layout layout;

	rpcrdma_port_rpc_layout(rpc, &layout);
	return layout.head < 8 ? nullptr : rpcrdma_port_rpc_head(rpc);
}

/* Release the Receive of @rpc: it has been read. */
void put_receive(rpcrdma_rpc *rpc)
{
	rpcrdma_recv *rv = rpc->rv;

	rpc->rv = nullptr;
	rpcrdma_port_recv_put(rv);
}

/*
 * Continue with a claimed RPC after the end of its invalidation. If @ok is false,
 * its MRs are destroyed with the connection. The reference taken here is needed
 * because that of the RPC may be the last one.
 */
void mrs_invalidated(rpcrdma_inv *inv, bool ok)
{
	rpcrdma_rpc *rpc = rpc_of(inv);
	rpcrdma_ep_core *core = inv->core;

	rpcrdma_port_get(core);
	if (ok)
		rpcrdma_port_rpc_put_mrs(core, rpc);
	run_rpc(core, rpc,
		rpcrdma_xact_invalidated(&rpc->x, ok, first_words(rpc)));
	rpcrdma_port_put(core);
}

/*
 * Invalidate the exposed MRs. If the peer has invalidated all of them, return them to the
 * pool at once, set *@s to the next actions and return true.
 */
bool invalidate_mrs(rpcrdma_ep_core *core, rpcrdma_rpc *rpc, rpcrdma_actions *s)
{
	if (rpcrdma_core_mrs_exposed(&rpc->mrs)) {
		rpc->local_inv = true;
		rpc->inv.done = mrs_invalidated;
		rpcrdma_core_mrs_invalidate(core, &rpc->mrs, &rpc->inv);
		return false;
	}
	rpcrdma_port_rpc_put_mrs(core, rpc);
	*s = rpcrdma_xact_invalidated(&rpc->x, true, first_words(rpc));
	return true;
}

/*
 * Pull a Reply that the Responder provides (DR 4.1.2). The claim ends after the Reads,
 * with the connection at the latest.
 */
[[gnu::noinline]] void pull_reply(rpcrdma_ep_core *core, rpcrdma_rpc *rpc)
{
	rpcrdma_transfer *t = rpcrdma_port_rpc_reads(core);
	const int rc = t ? add_reply_reads(rpc, t) : -E_NOMEM;

	rpcrdma_port_rpc_reads_built(core, rpc, t, rc);
	put_receive(rpc);
	if (!rc) [[likely]] {
		rpcrdma_core_transfer_post(t);
		return;
	}

	const bool never = rpcrdma_remedy_for(RPCRDMA_FAILED_PULL, rc).kind ==
			   RPCRDMA_REMEDY_GIVE_UP;

	run_rpc(core, rpc,
		rpcrdma_xact_pulled(&rpc->x,
				    never ? RPCRDMA_PULL_NEVER :
					    RPCRDMA_PULL_SHORT,
				    nullptr));
}

/*
 * Run actions, in their order. Once the RPC is complete, left or sent again, it may be
 * another one.
 */
void run_rpc(rpcrdma_ep_core *core, rpcrdma_rpc *rpc, rpcrdma_actions s)
{
	do {
		if (s.todo & RPCRDMA_ACT_REPORT) [[unlikely]] {
			rpc->bad_reply = true;
			rpcrdma_port_rpc_report(core, rpc, &s);
		}
		if (s.todo & RPCRDMA_ACT_PLACE)
			place(rpc);
		if (s.todo & RPCRDMA_ACT_MOVE)
			move(rpc);
		if (s.todo & RPCRDMA_ACT_PUT)
			put_receive(rpc);
		if (s.todo & RPCRDMA_ACT_CLOSE) [[unlikely]]
			rpcrdma_core_close(core, s.reason);

		if (s.todo & RPCRDMA_ACT_COMPLETE)
			rpcrdma_core_rpc_complete(rpc, s.status);
		else if (s.todo & RPCRDMA_ACT_PULL)
			pull_reply(core, rpc);
		else if (s.todo & RPCRDMA_ACT_AGAIN)
			rpcrdma_port_rpc_again(rpc);
		else if (s.todo & RPCRDMA_ACT_LEAVE)
			rpcrdma_port_rpc_leave(rpc);

		if (s.todo & RPCRDMA_ACT_DONE)
			rpcrdma_core_send_done(core, s.xid, s.handle);
	} while (s.todo & RPCRDMA_ACT_INVALIDATE &&
		 invalidate_mrs(core, rpc, &s));
}

/* Process a Reply to a claimed RPC. */
[[gnu::noinline]] void reply(rpcrdma_rpc *rpc, rpcrdma_recv *rv)
{
	const bool bad = rv->verdict == RPCRDMA_RX_BAD_REPLY;
	const u32 handle = rv->inv_handle;
	rpcrdma_ep_core *core = rv->core;
	rpcrdma_buf_layout layout;

	rpcrdma_port_rpc_layout(rpc, &layout);

	const bool exposed =
		handle && rpcrdma_core_mrs_invalidated(core, &rpc->mrs, handle);
	const rpcrdma_arrival a = { .rx = &rv->rx,
				    .bad = bad,
				    .inv_handle = handle,
				    .exposed = exposed,
				    .length = rv->payload_len,
				    .layout = layout };

	rpc->rv = rv;
	run_rpc(core, rpc, rpcrdma_xact_reply(&rpc->x, &core->conn, &a));
}

/* Process an ERROR about a claimed RPC. */
[[gnu::noinline]] void error(rpcrdma_rpc *rpc, rpcrdma_recv *rv)
{
	rpcrdma_ep_core *core = rv->core;
	rpcrdma_call call;

	rpcrdma_port_call_data(core, rpc, &call);
	/*
	 * The limit holds for all following Calls, and for this one if it is sent as
	 * another RPC.
	 */
	rpcrdma_port_rpc_learn(core, rpc, &rv->rx, &call);

	const int status = rpcrdma_core_call_refused(
		core, &rv->rx, &call, &rpc->x.lists, &rpc->x.retry_limits);

	rpcrdma_port_rpc_refused(core, rpc, &rv->rx, status);
	rpcrdma_port_recv_put(rv);
	run_rpc(core, rpc, rpcrdma_xact_error(&rpc->x, status));
}

/* Drop a message that no RPC waits for (any more). */
[[gnu::noinline]] void stray(rpcrdma_recv *rv)
{
	const rpcrdma_actions s =
		rpcrdma_xact_stray(&rv->rx, rv->verdict != RPCRDMA_RX_REPLY);
	rpcrdma_ep_core *core = rv->core;

	rpcrdma_port_recv_put(rv);
	if (s.todo & RPCRDMA_ACT_DONE)
		rpcrdma_core_send_done(core, s.xid, s.handle);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

enum rpcrdma_claimed rpcrdma_core_rpc_claim(struct rpcrdma_rpc *rpc,
					    const struct rpcrdma_recv *rv,
					    u32 head)
{
	return rpcrdma_xact_claim_reply(&rpc->x, &rv->core->conn, &rv->rx,
					rv->verdict != RPCRDMA_RX_REPLY,
					rv->inv_handle, head);
}

void rpcrdma_core_answer_other(struct rpcrdma_claim claim,
			       struct rpcrdma_recv *rv)
{
	if (claim.how == RPCRDMA_CLAIMED_NOT)
		stray(rv);
	else if (rv->verdict == RPCRDMA_RX_ERROR)
		error(claim.rpc, rv);
	else
		reply(claim.rpc, rv);
}

void rpcrdma_core_answer(struct rpcrdma_requester *r, struct rpcrdma_recv *rv)
{
	if (rpcrdma_port_answer(r, rv)) [[likely]]
		rpcrdma_port_recv_put(rv);
}

void rpcrdma_core_rpc_pulled(struct rpcrdma_ep_core *core,
			     struct rpcrdma_rpc *rpc, bool ok)
{
	run_rpc(core, rpc,
		rpcrdma_xact_pulled(&rpc->x,
				    ok ? RPCRDMA_PULL_OK : RPCRDMA_PULL_FAILED,
				    first_words(rpc)));
}
