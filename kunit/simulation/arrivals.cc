// SPDX-License-Identifier: GPL-2.0
/*
 * Received messages, from the device's completions to the upcalls. The core
 * decides how a message is processed, and calls the port's functions in this
 * file.
 */
#include "endpoint.hh"

namespace simulation
{

bool endpoint::holds_messages() const
{
	return newest_ || arrivals.first;
}

/*
 * Queue a completed Receive, and let a context poll at once, or a thread of the service,
 * or a context later, so that several messages can arrive before it polls.
 */
void endpoint::arrived(received *rv)
{
	u64 how = 0;

	if (params.silent)
		return;
	queue_arrival(rv);
	if (w_.slowness)
		how = w_.choose.below(4);
	if (how == 3 || (how == 2 && ops_.messages(*this)))
		poll_later();
	else
		poll();
}

void endpoint::queue_arrival(received *rv)
{
	rv->turn = ++last_arrival_;
	rv->arrived.next = newest_;
	newest_ = &rv->arrived;
}

void endpoint::poll_later()
{
	if (polls_)
		return;
	polls_ = true;
	w_.after(w_.delay(20), this, POLL);
}

void endpoint::poll()
{
	if (holds_messages() && !polling_)
		ops_.poll(*this);
}

/* The module's rpcrdma_ep_poll() */
received *endpoint::next_message(rpcrdma_poll *poll)
{
	rpcrdma_recv *rv;

	if (poll->began) {
		check();
	} else {
		if (!holds_messages() || polling_)
			return nullptr;
		polling_ = true;
		poll->began = true;
		poll->late = is_closing() && !in_drain_;
		if (rpcrdma_core_poll_begin(this)) {
			rpcrdma_core_arrived(this, newest_);
			newest_ = nullptr;
		}
	}
	while ((rv = rpcrdma_core_poll_next(this))) {
		auto *own = static_cast<received *>(rv);

		if (poll->late || drained_)
			w_.complain(
				std::string(name) +
				": a message is processed during the teardown's drain");
		poll->nr++;
		if (receive(own)) {
			deliver(own);
			return own;
		}
	}
	polling_ = false;
	w_.sum.batched += poll->nr > 1 ? poll->nr - 1 : 0;
	if (poll->nr > RPCRDMA_POLL_BATCH)
		w_.complain(std::string(name) + ": a batch does not end");
	if (holds_messages() && !is_closing())
		poll_later();
	return nullptr;
}

/* Process the message in @rv. Return true if it is for the transport. */
bool endpoint::receive(received *rv)
{
	enum rpcrdma_outcome what;
	bool ours, late;

	if (rv->turn != ++last_received_)
		w_.complain(std::string(name) +
			    ": messages are processed out of order");
	if (rv->failed) {
		/* The queue pair has stopped. */
		rpcrdma_core_recv_failed(this, RPCRDMA_FAILURE_FLUSHED);
		return false;
	}
	if (params.refuses_props)
		spoil_props(rv);
	rpcrdma_core_receive_prepare(this, rv);
	lock();
	what = rpcrdma_core_receive(this, rv);
	if (rv->rx.payload_offset + rv->rx.payload_length > rv->octets)
		w_.complain("a payload exceeds its message");
	if (what == RPCRDMA_OUTCOME_CLOSE && !conn.reason)
		w_.complain("the engine closes without a reason");
	check_invalidation(rv, what);
	if (is_model()) {
		model_received(rv);
		arrivals.events |= RPCRDMA_EV_CONTROL | RPCRDMA_EV_WINDOW;
	}
	/* The connection may close as soon as the lock is released. */
	late = is_closing();
	unlock();
	if (what == RPCRDMA_OUTCOME_RELEASE) {
		if (rv->large)
			w_.complain("a posted Receive holds other memory");
		release_receive(rv);
		return false;
	}
	ours = what != RPCRDMA_OUTCOME_DELIVER &&
	       !rpcrdma_core_receive_finish(this, rv, what);
	if (what != RPCRDMA_OUTCOME_DELIVER)
		late = is_closing();
	if (!ours && late && rv->verdict == RPCRDMA_RX_CALL)
		w_.complain(std::string(name) +
			    ": a Call arrives whose Reply cannot be sent");
	if (what == RPCRDMA_OUTCOME_CLOSE && !is_closing())
		w_.complain(std::string(name) +
			    ": continues after a protocol violation");
	if (ours)
		check();
	return !ours;
}

/*
 * Check that a message that has invalidated a handle is processed only if WP 6
 * permits the invalidation. This repeats rpcrdma_may_invalidate() of the core.
 */
void endpoint::check_invalidation(const received *rv, enum rpcrdma_outcome what)
{
	const bool is_reply = rv->verdict == RPCRDMA_RX_REPLY ||
			      rv->verdict == RPCRDMA_RX_BAD_REPLY;
	const bool is_done = rv->verdict == RPCRDMA_RX_PULL_COMPLETE &&
			     rv->rx.exposed->handle == rv->inv_handle;

	invalidations_ += rv->inv_handle != 0;
	if (arrivals.remote_inv != invalidations_)
		w_.complain(std::string(name) +
			    ": remote invalidations are miscounted");
	if (!rv->inv_handle || is_reply || is_done)
		return;
	if (qp.is_excused(rv->inv_handle))
		w_.trouble = true;
	else if (rv->verdict != RPCRDMA_RX_CLOSE)
		w_.complain("a handle is invalidated that was not provided");
	refused_ = true;
	if (what != RPCRDMA_OUTCOME_CLOSE)
		w_.complain(
			"a message is used that invalidated a handle without permission");
}

/* A message is passed to the transport. */
void endpoint::deliver(received *rv)
{
	if (rv->assembled && rv->payload_len != rv->rx.total_length)
		w_.complain("parts of a message are missing");
	if (!opened_reported_ && !is_closing())
		w_.complain(std::string(name) +
			    ": traffic begins before the connection is open");
	lend(rv);
}

/*
 * Set a property to an invalid value, so that the peer's properties are
 * refused.
 */
void endpoint::spoil_props(received *rv)
{
	constexpr u32 FIRST_VALUE = RPCRDMA_V2_PREFIX + 12;

	if (rv->octets >= FIRST_VALUE + 4 &&
	    load(&rv->space[4]) == RPCRDMA_VERS_2 &&
	    load(&rv->space[12]) == RDMA2_CONNPROP)
		store(&rv->space[FIRST_VALUE], 1);
}

/* ---- Memory ---- */

void *endpoint::new_assembly(u32 size)
{
	if (size > std::max(arrivals.assembly_size, conn.cfg.props.reassembly))
		w_.complain("more is reassembled than was announced");
	/* Without memory, the connection closes, whatever messages follow. */
	if (w_.fault(60)) {
		w_.log("%s: no memory for a continued message", name);
		refused_ = true;
		return nullptr;
	}
	live_arrays_++;
	return new u8[size];
}

void endpoint::free_assembly(void *assembly)
{
	live_arrays_ -= assembly != nullptr;
	delete[] static_cast<u8 *>(assembly);
}

bool endpoint::assembled(u64 octets)
{
	/*
	 * Together with earlier messages of this connection, the message may
	 * exceed its share.
	 */
	if (change(RPCRDMA_QUOTA_ASSEMBLED, RPCRDMA_QUOTA_CALLS, octets, 1).ok)
		return true;
	w_.trouble = true;
	refused_ = true;
	w_.sum.no_room++;
	return false;
}

rpcrdma_segment *endpoint::more_segs()
{
	w_.sum.more_segs++;
	if (w_.fault(3000)) {
		w_.log("%s: no memory for segments", name);
		w_.segs_missing++;
		return nullptr;
	}
	live_arrays_++;
	return new rpcrdma_segment[RPCRDMA_MAX_EXTRA_SEGS];
}

void endpoint::shrink(received *rv)
{
	free_assembly(rv->assembled);
	live_arrays_ -= rv->rx.lists.extra_segs != nullptr;
	delete[] rv->rx.lists.extra_segs;
}

/* ---- The teardown ---- */

/* The device has been drained: it has reported all its completions. */
void endpoint::drain_device()
{
	while (received *rv = qp.next_arrival()) {
		if (!params.silent)
			queue_arrival(rv);
	}
}

void endpoint::drain_poll()
{
	in_drain_ = true;
	poll();
	in_drain_ = false;
}

/* The teardown has processed the messages. A context that polls later processes none. */
void endpoint::check_drained()
{
	drained_ = true;
	if (rpcrdma_core_poll_begin(this) || arrivals.left)
		w_.complain(std::string(name) +
			    ": messages are processed after the drain");
	if (holds_messages())
		w_.complain(std::string(name) +
			    ": messages that have arrived are lost");
	if (arrivals.assembly)
		w_.complain(std::string(name) +
			    ": a continued message is never freed");
}

} // namespace simulation

using namespace simulation;

void *rpcrdma_port_assembly(struct rpcrdma_ep_core *core, u32 size)
{
	return of(core).new_assembly(size);
}

void rpcrdma_port_assembly_free(struct rpcrdma_ep_core *core, void *assembly)
{
	of(core).free_assembly(assembly);
}

bool rpcrdma_port_assembled(struct rpcrdma_ep_core *core, u64 octets)
{
	return of(core).assembled(octets);
}

struct rpcrdma_segment *rpcrdma_port_extra_segs(struct rpcrdma_ep_core *core)
{
	return of(core).more_segs();
}

void rpcrdma_port_recv_shrink(struct rpcrdma_recv *rv)
{
	of(rv->core).shrink(static_cast<received *>(rv));
}

void rpcrdma_port_recv_put(struct rpcrdma_recv *rv)
{
	auto *own = static_cast<received *>(rv);

	/* Those of messages for the core are not held. */
	if (own->held)
		of(rv->core).put(own);
	else
		of(rv->core).release_receive(own);
}

bool rpcrdma_port_has_arrived(struct rpcrdma_ep_core *core)
{
	return of(core).holds_messages();
}

void rpcrdma_port_poll(struct rpcrdma_ep_core *core)
{
	of(core).drain_poll();
}

/* Contexts do not sleep while they poll. */
void rpcrdma_port_polled(struct rpcrdma_ep_core *)
{
}
