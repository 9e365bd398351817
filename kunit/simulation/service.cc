// SPDX-License-Identifier: GPL-2.0
/*
 * The Responder: the counterpart of sunrpc/server.c, for the service above it.
 *
 * A Call waits for a thread in the queue of its connection, which is the core's
 * (rpcrdma/call_queue.h). Its chunks are pulled ahead of the threads, or by a
 * thread. A thread may process a Call if a Send context is available for its
 * Reply, and if the Replies that wait for the peer leave enough memory. No
 * thread waits for a peer.
 */
#include "host.hh"

#include <cerrno>
#include <cstring>

#include "reconnect.hh"

namespace simulation
{

void served::act(u32, u64)
{
	owner->serve(this);
}

void host::end(served *s)
{
	received *rv = s->rv;

	give_pages(s);
	s->rv = nullptr;
	s->call.retire(w_, "a Call that is served");
	serving_--;
	if (s->send)
		rpcrdma_core_send_put(s->send);
	s->send = nullptr;
	if (rv)
		s->ep->put(rv);
	if (s->stays)
		thread_is_free(s);
	s->stays = false;
}

void host::refuse(served *s, u32 code, u32 arg0, u32 arg1)
{
	s->ep->send_error(s->rv->rx.xid, code, arg0, arg1);
	end(s);
}

/* ---- Arrival ---- */

service_queue &host::queue_of(endpoint &from)
{
	service_queue &q = queues_[&from];

	if (!q.ep) {
		q.ep = &from;
		rpcrdma_calls_serve(&q.calls, largest);
	}
	return q;
}

/* Mark the connection ready for the threads, as svc_xprt_enqueue() does. */
void host::enqueue(service_queue &q)
{
	if (!q.data || q.ready)
		return;
	q.ready = true;
	ready_.push_back(&q);
	poll(1);
}

/*
 * Return the number of bytes that the Read chunks of a Call are pulled into.
 * Only pages are charged: an item alone, or the complete Call.
 */
static u64 pull_octets(const endpoint &from, const received *rv)
{
	const u64 octets =
		rpcrdma_call_to_pull(&rv->rx, MIN_MESSAGE, true).octets;

	return (octets + from.params.page_octets() - 1) &
	       ~u64{ from.params.page_octets() - 1 };
}

void host::call(endpoint &from, received *rv)
{
	service_queue &q = queue_of(from);
	served *s;

	all_served_.push_back(std::make_unique<served>());
	s = all_served_.back().get();
	s->owner = this;
	s->ep = &from;
	s->rv = rv;
	rv->priv = s;
	serving_++;
	if (!rv->rx.lists.nr_reads)
		s->call.octets.assign(rv->data(), rv->data() + rv->payload_len);
	rpcrdma_calls_arrived(&q.calls, &rv->queued, pull_octets(from, rv));
	if (pull_early(s))
		return;
	rpcrdma_calls_wait(&q.calls, &rv->queued);
	q.data = true;
	enqueue(q);
	take();
}

/* Return true if the quota of a connection has memory for a Call. */
static bool call_room(void *user, u64 octets)
{
	return static_cast<endpoint *>(user)->room(RPCRDMA_QUOTA_CALLS, octets);
}

/*
 * Pull a Call ahead of the threads, if that is possible without waiting. Return
 * false if a thread has to pull it.
 */
bool host::pull_early(served *s)
{
	service_queue &q = queue_of(*s->ep);

	/* Sometimes no pages are available. */
	auto room = [](void *user, u64 octets) {
		auto *each = static_cast<served *>(user);
		world &w = each->owner->w_;

		if (call_room(each->ep, octets) && !w.choose.chance(500))
			return true;
		w.sum.waited++;
		return false;
	};

	if (!rpcrdma_calls_early(&q.calls, &s->rv->queued, room, s))
		return false;
	s->early = true;
	if (q.calls.early_octets > RPCRDMA_EARLY_CALLS * u64{ largest })
		w_.complain("too many Calls are pulled ahead");
	pull(s);
	return true;
}

/* ---- Reading ---- */

/* Charge the pages of a Call, and begin to read into them. */
void host::pull(served *s)
{
	s->held = s->rv->queued.pull_octets;
	s->ep->hold(RPCRDMA_QUOTA_CALLS, s->held);
	begin_reads(s);
}

/* The pages of a Call pass to a thread, or are freed. */
void host::give_pages(served *s)
{
	const u64 held = s->held;

	if (s->early)
		rpcrdma_calls_early_end(&queue_of(*s->ep).calls,
					&s->rv->queued);
	s->early = false;
	s->held = 0;
	s->ep->give(RPCRDMA_QUOTA_CALLS, held);
}

/* Assemble the Call's message from its Payload stream and Read chunks. */
void host::begin_reads(served *s)
{
	const received *rv = s->rv;
	const rpcrdma_lists &lists = rv->rx.lists;
	rpcrdma_msg_iter at{};
	rpcrdma_msg_range range;
	transfer *t;
	int rc = 0;

	s->call.octets.resize(rpcrdma_call_octets(&rv->rx));
	if (lists.nr_reads > (rv->rx.format == RPCRDMA_SPECIAL ? 2u : 1u))
		w_.sum.in_pieces++;
	t = s->ep->new_transfer(op::read);
	if (!t) {
		end(s);
		return;
	}
	while (!rc && rpcrdma_call_iter_next(&rv->rx, &at, &range)) {
		if (range.origin == RPCRDMA_RANGE_INLINE)
			memcpy(&s->call.octets[range.to],
			       rv->data() + range.from, range.length);
		else if (range.origin == RPCRDMA_RANGE_CHUNK)
			rc = s->ep->add_transfer(t, lists, *range.chunk,
						 range.from, s->call, range.to,
						 range.length);
	}
	if (rc) {
		endpoint *on = s->ep;
		const u32 xid = rv->rx.xid;

		on->drop_transfer(t);
		end(s);
		rpcrdma_core_remedy(on, xid, RPCRDMA_FAILED_CALL, rc, nullptr,
				    "no resources to pull a Call's data");
		return;
	}
	t->ended = [this, s](bool ok) {
		pulled(s, ok);
	};
	s->ep->read(t);
}

void host::pulled(served *s, bool ok)
{
	service_queue &q = queue_of(*s->ep);

	if (!ok) {
		s->ep->close("Reads of a Call failed");
		end(s);
		return;
	}
	rpcrdma_calls_pulled(&q.calls, &s->rv->queued);
	q.data = true;
	enqueue(q);
	take();
}

/* ---- Service ---- */

/* Return true if a thread may process a Call of this connection. */
bool host::may_take(const service_queue &q) const
{
	const u64 octets =
		rpcrdma_calls_reply_octets(&q.calls, u64{ largest } * q.busy);
	endpoint &on = *q.ep;

	return !on.params.memory ||
	       !rpcrdma_quota_must_ask(on.params.memory, &on.account) ||
	       on.room(RPCRDMA_QUOTA_REPLIES, octets);
}

static served *served_of(rpcrdma_queued_call *call)
{
	auto *rv = reinterpret_cast<rpcrdma_recv *>(
		reinterpret_cast<char *>(call) -
		offsetof(rpcrdma_recv, queued));

	return static_cast<served *>(rv->priv);
}

/* Let the threads process Calls, one of each connection in turn. */
void host::take()
{
	while (busy_ < threads && !ready_.empty()) {
		service_queue &q = *ready_.front();

		ready_.pop_front();
		q.ready = false;
		take_from(q);
		/* If not, write_space() follows. */
	}
}

/*
 * Let a thread process a Call of the connection, if there are the resources to
 * reply to it. Otherwise write_space() or memory_freed() is called.
 */
void host::take_from(service_queue &q)
{
	rpcrdma_send *send = nullptr;
	rpcrdma_queued_call *call;
	served *s;

	if (!q.ep->is_open())
		return;
	if (may_take(q))
		send = q.ep->take_reply_send();
	if (!send)
		return;
	call = rpcrdma_calls_next(&q.calls, call_room, q.ep);
	q.data = call && rpcrdma_calls_any(&q.calls);
	enqueue(q);
	if (!call) {
		w_.sum.waited += rpcrdma_calls_any(&q.calls);
		rpcrdma_core_send_put(send);
		return;
	}
	s = served_of(call);
	if (rpcrdma_call_must_pull(call)) {
		rpcrdma_core_send_put(send);
		if (call->pull_octets > q.calls.max_octets)
			w_.complain("a Call is too large for the service");
		pull(s);
		return;
	}
	s->send = send;
	give_pages(s);
	q.busy++;
	busy_++;
	execute(s);
}

/* The connection has ended, and no peer waits for its Calls. */
void host::drop_calls(endpoint &gone)
{
	service_queue &q = queue_of(gone);

	rpcrdma_calls_serve(&q.calls, 0);
	while (rpcrdma_queued_call *call =
		       rpcrdma_calls_next(&q.calls, nullptr, nullptr))
		end(served_of(call));
}

/* The run has ended: no Call is left. */
void host::check_gone()
{
	for (const auto &each : queues_) {
		if (rpcrdma_calls_any(&each.second.calls) || each.second.busy)
			w_.complain("a Call is left that no thread processes");
		if (each.second.calls.early_octets)
			w_.complain("pages of Calls are left");
	}
}

/* A thread that processed a Call of this connection is free. */
void host::thread_is_free(served *s)
{
	queue_of(*s->ep).busy--;
	busy_--;
	if (!ready_.empty())
		poll(1);
}

/* The Call is complete: execute it. */
void host::execute(served *s)
{
	const std::vector<u8> &call = s->call.octets;
	std::vector<u8> expected;
	rpc *task = nullptr;
	u32 sequence;

	if (call.size() >= MIN_MESSAGE)
		task = net_.find(load(&call[8]));
	if (!task || task->owner == this) {
		w_.complain("a Call that was never sent");
		thread_is_free(s);
		end(s);
		return;
	}
	sequence = load(&call[12]);
	fill(expected, task->xid, CALL, task->id, sequence,
	     task->what.call_length, task->what.call_item);
	if (call != expected)
		w_.complain("bytes of a Call are wrong");
	s->rpc_id = task->id;
	if (!net_.new_sequence(task->id, sequence) && task->what.sequenced) {
		task->unanswered = true;
		w_.complain("a sequence number is used twice");
		thread_is_free(s);
		end(s);
		return;
	}
	s->uncached = net_.executed(task->id) && task->what.session;
	w_.after(w_.delay(net_.slow ? 2000 : 20), s, 0);
}

/*
 * The service has executed the Call. Its callbacks are waited for without using
 * a thread.
 */
void host::serve(served *s)
{
	rpc *task = net_.find(s->rpc_id);
	spec inner;

	thread_is_free(s);
	s->since = w_.now;
	/*
	 * Version 1 permits one Call until the first Reply. If that first Call
	 * waited for a second one, it would wait forever.
	 */
	if (!task->what.chain || s->uncached || !s->ep->is_open() ||
	    (client_ && s->ep->conn.version == RPCRDMA_VERS_1)) {
		answer(s);
		return;
	}
	inner.chain = static_cast<u8>(task->what.chain - 1);
	inner.call_length = MIN_MESSAGE + 4 * w_.choose.below(64);
	w_.sum.callbacks += !client_;
	begin(inner, client_ ? nullptr : s->ep, [this, s] { answer(s); });
}

} // namespace simulation
