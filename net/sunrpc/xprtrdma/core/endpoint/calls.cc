// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls at the Responder, from their arrival until a service processes them.
 *
 * Operation
 *
 * The service's threads process messages, or a work item of the host does. A Call that is
 * complete and arrives while no other waits is processed by the thread that received
 * it. Others are queued (conn/call_queue.cc). A Call with its argument in Read chunks is
 * pulled first, ahead of the threads if the quota has memory for that. Otherwise the
 * thread that gets it begins to pull it, and looks for another Call. The end of the Reads
 * queues the Call as complete. A thread gets a Call only with a Send context reserved, so
 * that the Reply never waits for one.
 *
 * Usually one item of an inline message is pulled: its memory receives only the item, and
 * the Receive keeps the rest. Otherwise the memory receives the complete Call.
 *
 * A client has no threads for callbacks: rpcrdma_core_callback() pulls a Call as a
 * whole, and its completion delivers it.
 *
 * Memory
 *
 * The Receive of a Call is held until the Call has been processed, and that of a callback
 * until the Call is complete. The host allocates and charges what a Call is pulled into.
 * One function releases all that a Call holds, its Receive last.
 *
 * Errors
 *
 * A Call that is too large or malformed is refused with an ERROR, a failure for lack of
 * memory closes the connection (7.4). The Call is released before: to the peer, an ERROR
 * may mean that a Receive is available again. A Call that cannot be pulled ahead of the
 * threads waits for one.
 *
 * Locking
 *
 * The queue has a lock of the host. A thread that notes that no other one is needed looks
 * for Calls and messages afterwards, so that none is left without a thread.
 */
#include "../call_take.h"
#include "../one_part.h"
#include "endpoint.hh"

namespace rpcrdma
{

namespace
{

constexpr char READ_FAILED[] = "an RDMA Read of a Call's data failed";
constexpr char NOT_PULLED[] = "no resources to pull a Call's data";
constexpr char NOT_DELIVERED[] = "no memory for a received Call";
constexpr char NO_CALLBACK[] = "no resources for a received callback";

/* ---- The end ---- */

[[gnu::always_inline]] inline void release(rpcrdma_recv *rv)
{
	if (rv->priv) [[unlikely]]
		rpcrdma_port_call_free(rv);
	if (rv->send) [[unlikely]]
		rpcrdma_core_send_put(rv->send);
	rv->send = nullptr;
	rpcrdma_port_recv_put(rv);
}

/*
 * Remedy the failure @status of a Call that is released. Return 0 if it was refused, or
 * -E_NOTCONN.
 */
int remedy(rpcrdma_ep_core *core, u32 xid, int status, const char *reason)
{
	const rpcrdma_remedy done = rpcrdma_core_remedy(
		core, xid, RPCRDMA_FAILED_CALL, status, nullptr, reason);

	if (done.kind != RPCRDMA_REMEDY_GIVE_UP)
		return -E_NOTCONN;
	rpcrdma_port_call_refused(core, xid, done.refusal);
	return 0;
}

/* Release a Call that cannot be passed to the service, and remedy its failure. */
[[gnu::noinline]] int fail(rpcrdma_ep_core *core, rpcrdma_recv *rv, int status,
			   const char *reason)
{
	const u32 xid = rv->rx.xid;

	release(rv);
	return remedy(core, xid, status, reason);
}

/* Release a malformed Call, and refuse it. Return 0. */
[[gnu::noinline]] int refuse(rpcrdma_ep_core *core, rpcrdma_recv *rv,
			     enum rpcrdma_refusal refusal)
{
	const u32 xid = rv->rx.xid;

	release(rv);
	rpcrdma_core_send_error(core, xid, rpcrdma_refusal_code(refusal), 0, 0);
	rpcrdma_port_call_refused(core, xid, refusal);
	return 0;
}

/* ---- Reads ---- */

/* Add the Reads of rv->pull to @t. Return 0 or a negative errno. */
int add_reads(rpcrdma_recv *rv, rpcrdma_transfer *t)
{
	rpcrdma_msg_iter at = {};
	rpcrdma_msg_range range = {};

	if (rv->pull.item) {
		range.chunk = rv->pull.item;
		range.length = static_cast<u32>(rv->pull.octets);
		return rpcrdma_port_call_read(rv, t, &range);
	}
	while (rpcrdma_call_iter_next(&rv->rx, &at, &range)) {
		if (range.origin != RPCRDMA_RANGE_CHUNK)
			continue;

		const int rc = rpcrdma_port_call_read(rv, t, &range);

		if (rc)
			return rc;
	}
	return 0;
}

/* Post the Reads of @rv, which are complete. */
[[gnu::always_inline]] inline int post_reads(rpcrdma_recv *rv,
					     rpcrdma_transfer *t)
{
	t->call = rv;
	rpcrdma_core_transfer_post(t);
	return 0;
}

/* Begin Reads that may have several parts. Return 0 or a negative errno. */
[[gnu::noinline]] int read_any(rpcrdma_recv *rv)
{
	rpcrdma_transfer *t = rpcrdma_port_call_reads(rv);

	if (!t)
		return -E_NOMEM;

	const int rc = add_reads(rv, t);

	if (rc) {
		rpcrdma_core_transfer_end(t, false);
		return rc;
	}
	return post_reads(rv, t);
}

/*
 * Build the Read of @item, if it is one part. Return null if not, or for any other
 * reason.
 */
[[gnu::always_inline]] inline rpcrdma_transfer *
read_one(rpcrdma_recv *rv, const rpcrdma_chunk *item)
{
	const u32 octets = item->length;
	rpcrdma_transfer *t = nullptr;
	rpcrdma_segment segment;

	if (rpcrdma_transfer_one_part(&rv->core->rw, true, &rv->rx.lists, item,
				      0, octets, &segment)) [[likely]]
		t = rpcrdma_port_call_read_one(rv, &segment);
	return t && rpcrdma_core_prepare_one(t, octets) ? t : nullptr;
}

/* Begin to read rv->pull. Return 0 or a negative errno: the caller keeps @rv. */
[[gnu::always_inline]] inline int read(rpcrdma_recv *rv)
{
	const rpcrdma_chunk *item = rv->pull.item;
	rpcrdma_transfer *t = item ? read_one(rv, item) : nullptr;

	return t ? post_reads(rv, t) : read_any(rv);
}

/* Begin to pull a Call. @thread: null ahead of the threads. Return as read() does. */
[[gnu::always_inline]] inline int pull(rpcrdma_recv *rv, rpcrdma_thread *thread)
{
	const int rc = rpcrdma_port_call_pages(rv, thread);

	return rc ? rc : read(rv);
}

/*
 * Complete a Call that was pulled as a whole. Return the reason why it is refused, or
 * RPCRDMA_REFUSE_NONE.
 */
enum rpcrdma_refusal complete(rpcrdma_recv *rv)
{
	const auto *payload = static_cast<const u8 *>(rv->payload);
	rpcrdma_msg_iter at = {};
	rpcrdma_msg_range range;

	while (rpcrdma_call_iter_next(&rv->rx, &at, &range)) {
		if (range.origin == RPCRDMA_RANGE_INLINE)
			rpcrdma_port_call_fill(rv, range.to,
					       payload + range.from,
					       range.length);
		else if (range.origin == RPCRDMA_RANGE_ROUNDUP)
			rpcrdma_port_call_fill(rv, range.to, nullptr,
					       range.length);
	}
	return rpcrdma_call_refusal(&rv->rx, rpcrdma_port_call_start(rv));
}

/* ---- Arrival ---- */

/* Queue a Call with @how, and wake a thread. */
[[gnu::always_inline]] inline void queue(rpcrdma_recv *rv,
					 void (*how)(rpcrdma_call_queue *q,
						     rpcrdma_queued_call *call))
{
	how(rpcrdma_port_lock_calls(rv->core), &rv->queued);
	rpcrdma_port_calls_queued(rv->core);
}

/* Process a Call that no thread processes at once: pull it, or queue it. */
[[gnu::always_inline]] inline void arrived(rpcrdma_call_queue *q,
					   rpcrdma_recv *rv)
{
	rv->send = nullptr;
	rv->pull = rpcrdma_call_to_pull(&rv->rx, q->min_head,
					!rv->assembled ||
						rpcrdma_port_call_in_place(rv));
	rpcrdma_calls_arrived(q, &rv->queued, rv->pull.octets);
	if (rv->queued.pull_octets && rpcrdma_calls_accept(q, &rv->queued)) {
		if (!pull(rv, nullptr)) [[likely]]
			return;
		if (rv->priv)
			rpcrdma_port_call_free(rv);
	}
	queue(rv, rpcrdma_calls_wait);
}

/* ---- Threads ---- */

rpcrdma_recv *recv_of(rpcrdma_queued_call *call)
{
	return reinterpret_cast<rpcrdma_recv *>(
		reinterpret_cast<u8 *>(call) -
		__builtin_offsetof(rpcrdma_recv, queued));
}

bool call_room(void *core, u64 octets)
{
	return rpcrdma_port_room(static_cast<rpcrdma_ep_core *>(core),
				 RPCRDMA_QUOTA_CALLS, octets);
}

/* For a service that has ended. It pulls no Call, so that no Call asks for memory. */
bool no_room(void *, u64)
{
	return false;
}

/* Return true if the service accepts Calls as large as @call. */
bool is_accepted(rpcrdma_ep_core *core, const rpcrdma_queued_call *call)
{
	const bool accepted =
		rpcrdma_calls_accept(rpcrdma_port_lock_calls(core), call);

	rpcrdma_port_unlock_calls(core);
	return accepted;
}

/*
 * Begin to pull a Call into memory of a thread. It needs no context before its end. For one
 * that is too large, the quota was not asked (call_queue.cc).
 */
[[gnu::noinline]] int pull_late(rpcrdma_ep_core *core, rpcrdma_recv *rv,
				rpcrdma_thread *thread)
{
	rpcrdma_core_send_put(rv->send);
	rv->send = nullptr;

	const int rc = is_accepted(core, &rv->queued) ? pull(rv, thread) :
							-E_2BIG;

	return rc ? fail(core, rv, rc, NOT_PULLED) : 0;
}

/* ---- Callbacks ---- */

/* Pass a complete callback to the client's service. */
void deliver_callback(rpcrdma_ep_core *core, rpcrdma_recv *rv)
{
	const enum rpcrdma_refusal refusal = complete(rv);
	const u32 xid = rv->rx.xid;
	void *call = rv->priv;

	if (refusal) {
		refuse(core, rv, refusal);
		return;
	}
	rv->priv = nullptr;
	release(rv);

	const int rc = rpcrdma_port_callback_deliver(core, call, xid);

	if (rc)
		remedy(core, xid, rc, NO_CALLBACK);
}

/* Handle the end of the Reads of a callback, or of Reads that have failed. */
[[gnu::noinline]] void pulled_other(rpcrdma_recv *rv, bool ok)
{
	if (ok) {
		deliver_callback(rv->core, rv);
		return;
	}
	/* The queue pair does not survive this; the peer sends the Call again. */
	rpcrdma_core_close(rv->core, READ_FAILED);
	release(rv);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_core_call_dispatch(struct rpcrdma_call_queue *q,
				struct rpcrdma_recv *rv)
{
	if (rv->verdict == RPCRDMA_RX_CALL)
		arrived(q, rv);
	else
		rpcrdma_port_response(rv->core, rv);
}

bool rpcrdma_core_ask_reply_room(struct rpcrdma_ep_core *core,
				 const struct rpcrdma_call_queue *q)
{
	const u64 octets =
		rpcrdma_calls_reply_octets(q, rpcrdma_port_reserved(core));

	return rpcrdma_port_room(core, RPCRDMA_QUOTA_REPLIES, octets);
}

struct rpcrdma_recv *rpcrdma_core_calls_dequeue(struct rpcrdma_ep_core *core,
						struct rpcrdma_call_queue *q)
{
	rpcrdma_send *reply = rpcrdma_core_reserve_reply(core);

	if (!reply) [[unlikely]] {
		rpcrdma_port_calls_starve(core);
		return nullptr;
	}
	rpcrdma_port_lock_calls(core);

	rpcrdma_queued_call *call = rpcrdma_calls_next(q, call_room, core);

	if ((call && rpcrdma_calls_any(q)) || rpcrdma_port_calls_idle(core))
		rpcrdma_port_calls_due(core);
	rpcrdma_port_unlock_calls(core);
	if (!call) {
		rpcrdma_core_send_put(reply);
		return nullptr;
	}

	rpcrdma_recv *rv = recv_of(call);

	rv->send = reply;
	return rv;
}

int rpcrdma_core_call_take_other(struct rpcrdma_ep_core *core,
				 struct rpcrdma_recv *rv,
				 struct rpcrdma_thread *thread)
{
	if (!rv->queued.pulled)
		return pull_late(core, rv, thread);

	const enum rpcrdma_refusal refusal = complete(rv);

	if (refusal)
		return refuse(core, rv, refusal);
	return rpcrdma_core_call_deliver(core, rv, thread);
}

int rpcrdma_core_call_failed(struct rpcrdma_ep_core *core,
			     struct rpcrdma_recv *rv, int status)
{
	return fail(core, rv, status, NOT_DELIVERED);
}

void rpcrdma_core_call_pulled(struct rpcrdma_recv *rv, bool ok)
{
	if (ok && !rv->queued.at_once) [[likely]]
		queue(rv, rpcrdma_calls_pulled);
	else
		pulled_other(rv, ok);
}

void rpcrdma_core_call_release(struct rpcrdma_recv *rv)
{
	release(rv);
}

void rpcrdma_core_calls_end(struct rpcrdma_call_queue *q)
{
	rpcrdma_calls_serve(q, 0);
	while (rpcrdma_queued_call *call =
		       rpcrdma_calls_next(q, no_room, nullptr))
		release(recv_of(call));
}

void rpcrdma_core_callback(struct rpcrdma_ep_core *core,
			   struct rpcrdma_recv *rv)
{
	rv->queued.at_once = true;
	rv->pull = { nullptr, rpcrdma_call_octets(&rv->rx) };

	int rc = rpcrdma_port_callback_begin(rv);

	if (!rc && !rv->rx.lists.nr_reads) {
		deliver_callback(core, rv);
		return;
	}
	if (!rc)
		rc = read(rv);
	if (rc)
		fail(core, rv, rc, NO_CALLBACK);
}
