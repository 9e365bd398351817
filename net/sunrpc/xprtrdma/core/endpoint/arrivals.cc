// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Arrivals: the order in which received messages are processed, what becomes of each of
 * them, and the reassembly of continued messages.
 *
 * Operation
 *
 * The host adds completed Receives to a list, newest first. A batch is reversed once
 * and processed in order, a bounded number at a time, so that a busy connection does
 * not keep its context forever. The header of each message is processed under the
 * lock. Then the message is delivered to the transport, or its Receive is released, or
 * it is finished without the lock (a fragment is appended, a DONE releases its Reply),
 * or it closes the connection. Events of a message are handled before the next
 * message, those of the opening before the message itself is delivered. The teardown
 * drains: it processes all messages that have arrived, but drops Calls.
 *
 * Memory
 *
 * A continued message is assembled in one buffer, which is doubled as required up to
 * the announced Reassembly. Its growth is charged to the peer's quota before it is
 * allocated. A complete message takes the buffer with it. At a server, a message of
 * version 1 with many segments gets a larger array of segments. It is charged like the
 * Receive with which it is freed, after its allocation: a peer has no more of them than
 * Receives, and a Call that cannot be decoded would be refused.
 *
 * Errors
 *
 * A continued Call for which there is no memory is dropped, and the connection is
 * closed a little later: the peer sends it again on the next one, in another form.
 * Meanwhile the peer gets the Replies to its other Calls. A peer that has no other
 * form would send all of them again otherwise, and lose each connection before the
 * first Reply. A continued Reply for which there is no memory closes the connection at
 * once. So does a handle that was invalidated without permission, or a violation of
 * the credits.
 *
 * Locking
 *
 * One context at a time processes the messages of a connection. The lock of the
 * connection is held for the header, and not for copying payload or for allocations.
 */
#include "endpoint.hh"

namespace rpcrdma
{

namespace
{

/*
 * Milliseconds for Replies to the Calls that were received, until a connection that has
 * dropped a message is closed
 */
constexpr u32 DROPPED_MS = 1000;
constexpr char RECEIVE_FAILED[] =
	"a Receive failed; its message may be longer than this end announced";
constexpr char NOT_OFFERED[] =
	"the peer invalidated a handle that its RPC did not provide";

/* Events that are handled before the message with which they come */
constexpr u32 BEFORE = RPCRDMA_EV_OPENED | RPCRDMA_EV_RECEIVES;

/* Free the memory of a continued message that is not complete, and uncharge it. */
void free_assembly(rpcrdma_ep_core *core)
{
	rpcrdma_ep_arrivals *a = &core->arrivals;

	rpcrdma_port_uncharge(core, RPCRDMA_QUOTA_PARTS, a->assembly_size);
	rpcrdma_port_assembly_free(core, a->assembly);
	a->assembly = nullptr;
	a->assembly_len = 0;
	a->assembly_size = 0;
}

/*
 * Enlarge the buffer to @need bytes, or to twice its size if the message may become that
 * large. The engine bounds @need. Return false if out of memory.
 */
bool grow(rpcrdma_ep_core *core, u32 need)
{
	rpcrdma_ep_arrivals *a = &core->arrivals;
	const u32 most = max_u32(need, core->conn.cfg.props.reassembly);
	const u32 size = clamp_u32(2 * a->assembly_size, need, most);
	u8 *grown;

	if (!rpcrdma_port_charge(core, RPCRDMA_QUOTA_PARTS,
				 size - a->assembly_size, 1))
		return false;
	grown = static_cast<u8 *>(rpcrdma_port_assembly(core, size));
	if (!grown) {
		rpcrdma_port_uncharge(core, RPCRDMA_QUOTA_PARTS,
				      size - a->assembly_size);
		return false;
	}
	if (a->assembly) {
		__builtin_memcpy(grown, a->assembly, a->assembly_len);
		rpcrdma_port_assembly_free(core, a->assembly);
	}
	a->assembly = grown;
	a->assembly_size = size;
	return true;
}

/*
 * Append the message in @rv to the continued message. Return false if out of memory.
 */
bool append(rpcrdma_ep_core *core, const rpcrdma_recv *rv)
{
	rpcrdma_ep_arrivals *a = &core->arrivals;
	u32 need;

	/* Fragments of a sequence that was refused may still be in the buffer. */
	if (rv->rx.first_fragment)
		a->assembly_len = 0;
	need = a->assembly_len + rv->rx.payload_length;
	if (need > a->assembly_size && !grow(core, need))
		return false;
	__builtin_memcpy(a->assembly + a->assembly_len, rv->payload,
			 rv->rx.payload_length);
	a->assembly_len = need;
	return true;
}

/*
 * Attach the complete Payload stream of a continued message to @rv. Return false if out
 * of memory, or if this peer exceeds its share of the memory with its earlier messages.
 */
bool assemble(rpcrdma_ep_core *core, rpcrdma_recv *rv)
{
	rpcrdma_ep_arrivals *a = &core->arrivals;

	if (!append(core, rv) ||
	    !rpcrdma_port_assembled(core, a->assembly_size))
		return false;
	rv->counted = a->assembly_size;
	rv->assembled = a->assembly;
	rv->large = true;
	rv->payload = rv->assembled;
	rv->payload_len = a->assembly_len;
	a->assembly = nullptr;
	a->assembly_len = 0;
	a->assembly_size = 0;
	return true;
}

/* Close the connection for a message that cannot be processed. */
void refuse(rpcrdma_ep_core *core, const char *reason)
{
	{
		const locked under(core);

		rpcrdma_conn_close(&core->conn, reason);
	}
	rpcrdma_core_close(core, reason);
}

/*
 * Drop a continued message for which there is no memory. After a Call, close the connection
 * in DROPPED_MS: the Requester sends the Call again only after the end of the connection.
 * After a Reply, which may have invalidated an MR, close it at once.
 */
void drop_continued(rpcrdma_ep_core *core)
{
	free_assembly(core);
	if (core->conn.rx_response) {
		core->arrivals.events = 0;
		refuse(core, NO_MEMORY);
		return;
	}

	const locked under(core);

	rpcrdma_conn_discard(&core->conn);
	if (core->arrivals.dropped || !is_open(core))
		return;
	core->arrivals.dropped = true;
	core->stall_watched = true;
	rpcrdma_port_arm_stall(core, DROPPED_MS);
}

/* Begin the handshake that the client's message in @rv asks for. Return events. */
u32 hello(rpcrdma_ep_core *core, rpcrdma_recv *rv)
{
	rpcrdma_port_count(core, RPCRDMA_COUNT_AUTHS_STARTED);

	rpcrdma_hostauth *auth = new_handshake(core);
	const locked under(core);

	return rpcrdma_auth_hello(&core->conn, auth, rv->buf, rv->octets,
				  &rv->rx);
}

/* Process a message of a continued one. Return false if out of memory. */
bool continued(rpcrdma_ep_core *core, rpcrdma_recv *rv)
{
	switch (rv->verdict) {
	case RPCRDMA_RX_FRAGMENT:
		return append(core, rv);
	case RPCRDMA_RX_CALL:
	case RPCRDMA_RX_REPLY:
		return assemble(core, rv);
	default:
		return true;
	}
}

/* Return true if a message with that verdict is for the transport. */
bool is_for_transport(const rpcrdma_ep_core *core, unsigned int verdict)
{
	switch (verdict) {
	case RPCRDMA_RX_REPLY:
	case RPCRDMA_RX_BAD_REPLY:
	case RPCRDMA_RX_ERROR:
		return true;
	case RPCRDMA_RX_CALL:
		return !rpcrdma_lifecycle_drops_calls(&core->life);
	default:
		return false;
	}
}

/* Count the MR that the peer has invalidated. Return false if that was not permitted. */
bool invalidation_ok(rpcrdma_ep_core *core, const rpcrdma_recv *rv)
{
	core->arrivals.remote_inv++;
	return rpcrdma_may_invalidate(
		static_cast<enum rpcrdma_verdict>(rv->verdict), &rv->rx,
		rv->inv_handle);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_core_recv_failed(struct rpcrdma_ep_core *core,
			      enum rpcrdma_failure failure)
{
	/* The first failure closes the connection, and the other Receives are flushed. */
	if (is_closing(core)) [[likely]]
		return;
	/* A failed Work Request may be why the Receive was flushed. */
	if (failure == RPCRDMA_FAILURE_FLUSHED)
		rpcrdma_port_works_check(core);
	rpcrdma_core_failed(core, failure, RECEIVE_FAILED);
}

void rpcrdma_core_poll_events(struct rpcrdma_ep_core *core)
{
	const u32 events = core->arrivals.events;

	core->arrivals.events = 0;
	rpcrdma_core_events(core, events);
}

void rpcrdma_core_receive_segs(struct rpcrdma_recv *rv)
{
	rv->rx.lists.extra_segs = rpcrdma_port_extra_segs(rv->core);
	if (!rv->rx.lists.extra_segs)
		return;
	rpcrdma_port_charge_existing(rv->core, RPCRDMA_QUOTA_BUFFERS,
				     EXTRA_SEGS_OCTETS);
	rv->large = true;
}

/* Flattened, so that the engine's part of the fast path is inlined */
[[gnu::flatten]] enum rpcrdma_outcome
rpcrdma_core_receive(struct rpcrdma_ep_core *core, struct rpcrdma_recv *rv)
{
	const enum rpcrdma_verdict verdict =
		rpcrdma_conn_receive(&core->conn, rv->buf, rv->octets, &rv->rx);

	const u32 events = rv->rx.events;

	core->recvs_held++;
	core->arrivals.events = events;
	rv->verdict = verdict;
	rv->payload = static_cast<u8 *>(rv->buf) + rv->rx.payload_offset;
	rv->payload_len = rv->rx.payload_length;
	if (rv->inv_handle && !invalidation_ok(core, rv)) [[unlikely]] {
		rpcrdma_conn_close(&core->conn, NOT_OFFERED);
		return RPCRDMA_OUTCOME_CLOSE;
	}
	if ((events & (RPCRDMA_EV_OPENED | RPCRDMA_EV_HELLO)) ||
	    rv->rx.format == RPCRDMA_CONTINUED) [[unlikely]]
		return verdict == RPCRDMA_RX_CLOSE ? RPCRDMA_OUTCOME_CLOSE :
						     RPCRDMA_OUTCOME_FINISH;
	if (is_for_transport(core, verdict)) [[likely]]
		return RPCRDMA_OUTCOME_DELIVER;
	if (verdict == RPCRDMA_RX_CLOSE)
		return RPCRDMA_OUTCOME_CLOSE;
	return verdict == RPCRDMA_RX_PULL_COMPLETE || rv->large ?
		       RPCRDMA_OUTCOME_FINISH :
		       RPCRDMA_OUTCOME_RELEASE;
}

bool rpcrdma_core_receive_finish(struct rpcrdma_ep_core *core,
				 struct rpcrdma_recv *rv,
				 enum rpcrdma_outcome what)
{
	rpcrdma_ep_arrivals *a = &core->arrivals;

	/*
	 * Before any traffic is processed, because opened() may provide the resources
	 * for it.
	 */
	if (a->events & RPCRDMA_EV_OPENED) {
		const u32 before = a->events & BEFORE;

		a->events &= ~BEFORE;
		rpcrdma_core_events(core, before);
	}
	if (a->events & RPCRDMA_EV_HELLO) {
		a->events &= ~RPCRDMA_EV_HELLO;
		rpcrdma_core_events(core, hello(core, rv));
	}
	if (what == RPCRDMA_OUTCOME_CLOSE) {
		a->events = 0;
		rpcrdma_core_close(core, core->conn.reason);
	} else if (rv->rx.format == RPCRDMA_CONTINUED && !continued(core, rv)) {
		drop_continued(core);
	} else if (is_for_transport(core, rv->verdict)) {
		return true;
	} else if (rv->verdict == RPCRDMA_RX_PULL_COMPLETE) {
		reply_pulled(rv);
	}
	rpcrdma_port_recv_put(rv);
	return false;
}

void rpcrdma_core_drain(struct rpcrdma_ep_core *core)
{
	rpcrdma_port_polled(core);
	core->arrivals.draining = true;
	while (rpcrdma_port_has_arrived(core))
		rpcrdma_port_poll(core);
	/*
	 * A context that begins to process messages later sees this flag, or is waited
	 * for.
	 */
	core->arrivals.draining = false;
	rpcrdma_port_polled(core);
	free_assembly(core);
}
