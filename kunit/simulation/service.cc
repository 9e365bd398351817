// SPDX-License-Identifier: GPL-2.0
/*
 * The service, above the core's Responder.
 *
 * Threads ask the core for the Call that they process next. The core pulls Calls ahead
 * of the threads, or has a thread do so. A thread may process a Call if the Replies that
 * wait for the peer leave enough memory. No thread waits for a peer. A client has no
 * threads: the core passes callbacks to it.
 */
#include "host.hh"

#include <cerrno>
#include <cstring>

#include <call_take.h>

#include "reconnect.hh"

namespace simulation
{

/* The core passes it back, and does not use it. */
static rpcrdma_thread *as_thread(host *service)
{
	return reinterpret_cast<rpcrdma_thread *>(service);
}

void served::act(u32, u64)
{
	owner->serve(this);
}

/* The state of a Call is not needed any more. */
void host::forget(served *s)
{
	if (s->over)
		return;
	s->over = true;
	s->rv = nullptr;
	give_pages(s);
	s->call.retire(w_, "a Call that is served");
	serving_--;
}

void host::end(served *s)
{
	if (s->send)
		rpcrdma_core_send_put(s->send);
	s->send = nullptr;
	if (s->rv)
		rpcrdma_core_call_release(s->rv);
	forget(s);
	if (s->stays)
		thread_is_free(s);
	s->stays = false;
}

void host::refuse(served *s, u32 code, u32 arg0, u32 arg1)
{
	s->ep->send_error(s->xid, code, arg0, arg1);
	end(s);
}

bool host::serving() const
{
	for (const auto &each : queues_) {
		if (rpcrdma_calls_any(&each.second.calls))
			return true;
	}
	return serving_;
}

/* ---- Threads ---- */

service_queue &host::queue_of(endpoint &from)
{
	service_queue &q = queues_[&from];

	if (!q.ep) {
		q.ep = &from;
		rpcrdma_calls_init(&q.calls, from.params.page_octets(),
				   MIN_MESSAGE);
		rpcrdma_calls_serve(&q.calls, largest);
	}
	return q;
}

/* Mark the connection ready for the threads, as svc_xprt_enqueue() does. */
void host::enqueue(service_queue &q)
{
	if (!q.data || q.taken || q.ready ||
	    !rpcrdma_core_calls_ready(q.ep, &q.calls))
		return;
	q.ready = true;
	ready_.push_back(&q);
	poll(1);
}

bool host::messages(endpoint &from)
{
	service_queue &q = queue_of(from);

	if (client_)
		return false;
	q.data = true;
	enqueue(q);
	return true;
}

void host::poll(endpoint &from)
{
	rpcrdma_poll batch{ &from };

	if (!client_) {
		rpcrdma_core_calls_poll(&queue_of(from).calls, &batch);
		return;
	}
	while (received *rv = from.next_message(&batch))
		rpcrdma_core_client_dispatch(this, rv);
}

/* A Call was queued. */
void host::queued(service_queue &q)
{
	q.data = true;
	enqueue(q);
	take();
}

/* No Send context is free. */
void host::starve(service_queue &q)
{
	w_.sum.waited++;
	q.data = true;
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
	rpcrdma_poll batch{ q.ep };
	rpcrdma_recv *rv;
	bool was_open;
	int rc;

	if (!q.ep->is_open())
		return;
	q.taken = true;
	rv = rpcrdma_core_calls_next(q.ep, &q.calls, &batch);
	q.taken = false;
	enqueue(q);
	if (!rv) {
		w_.sum.waited += rpcrdma_calls_any(&q.calls);
		return;
	}
	if (!rv->send)
		w_.complain("a thread gets a Call without a context");
	was_open = q.ep->is_open();
	failure_ = 0;
	refused_ = false;
	rc = rpcrdma_core_call_take(q.ep, rv, as_thread(this));
	check_failure(*q.ep, was_open, rc);
	if (rc <= 0)
		return;

	auto *s = static_cast<served *>(rv->priv);

	s->send = rv->send;
	rv->send = nullptr;
	q.busy++;
	busy_++;
	execute(s);
}

/* Let the Call fail that a thread has taken. */
int host::call_fails(received *rv, int status)
{
	failure_ = status;
	failed_ = rv;
	return status;
}

/* A Call was refused, or the ERROR is never sent. */
void host::call_refused()
{
	if (failure_ && failed_->held)
		w_.complain("a Call is refused before its Receive is released");
	refused_ = true;
}

/*
 * Check what became of a Call: one that is too large is refused, and one for which there
 * is no memory closes the connection.
 */
void host::check_failure(const endpoint &on, bool was_open, int result)
{
	if (!failure_ || !was_open)
		return;
	if (failed_->held)
		w_.complain(
			"the Receive of a Call that failed is not released");
	if (refused_ != (failure_ == -E2BIG) ||
	    result != (refused_ ? 0 : -ENOTCONN))
		w_.complain("the wrong Calls are refused");
	if (!refused_ && !on.is_closing())
		w_.complain("a Call is lost, and its connection is not closed");
}

/* The connection has ended, and no peer waits for its Calls. */
void host::drop_calls(endpoint &gone)
{
	service_queue &q = queue_of(gone);

	rpcrdma_core_calls_end(&q.calls);
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

/* ---- Calls ---- */

served *host::new_served(received *rv)
{
	served *s;

	all_served_.push_back(std::make_unique<served>());
	s = all_served_.back().get();
	s->owner = this;
	s->ep = static_cast<endpoint *>(rv->core);
	s->rv = rv;
	s->xid = rv->rx.xid;
	/* Nothing is read or filled in yet. */
	s->call.octets.assign(rv->pull.octets, 0xa5);
	rv->priv = s;
	serving_++;
	return s;
}

/* The pages of a Call pass to a thread, or are freed. */
void host::give_pages(served *s)
{
	const u64 held = s->held;

	s->held = 0;
	s->ep->give(RPCRDMA_QUOTA_CALLS, held);
}

int host::call_pages(received *rv, bool early)
{
	service_queue &q = queue_of(*static_cast<endpoint *>(rv->core));
	served *s = new_served(rv);

	/* Sometimes no pages are available. */
	auto room = [](void *user, u64 octets) {
		auto *each = static_cast<served *>(user);
		world &w = each->owner->w_;

		if (each->ep->room(RPCRDMA_QUOTA_CALLS, octets) &&
		    !w.choose.chance(500))
			return true;
		w.sum.waited++;
		return false;
	};

	if (early && !rpcrdma_calls_early(&q.calls, &rv->queued, room, s))
		return -ENOMEM;
	if (q.calls.early_octets > RPCRDMA_EARLY_CALLS * u64{ largest })
		w_.complain("too many Calls are pulled ahead");
	if (rv->queued.pull_octets > q.calls.max_octets)
		w_.complain("a Call is too large for the service");
	s->held = rv->queued.pull_octets;
	s->ep->hold(RPCRDMA_QUOTA_CALLS, s->held);
	/* Threads seldom have to pull a Call. */
	if (!w_.fault(early ? 2 : 100))
		return 0;
	return early ? -ENOMEM : call_fails(rv, -ENOMEM);
}

void host::free_call(received *rv)
{
	auto *s = static_cast<served *>(rv->priv);

	if (!s->rv)
		w_.complain("the state of a Call is freed twice");
	if (!rv->held)
		w_.complain("the Receive of a Call is released too early");
	rpcrdma_calls_early_end(&queue_of(*s->ep).calls, &rv->queued);
	rv->priv = nullptr;
	forget(s);
}

/* Return the Reads of a Call, into its memory. */
transfer *host::new_reads(received *rv)
{
	if (rv->rx.lists.nr_reads >
	    (rv->rx.format == RPCRDMA_SPECIAL ? 2u : 1u))
		w_.sum.in_pieces++;
	return static_cast<endpoint *>(rv->core)->new_transfer(op::read);
}

/* Assemble the message of a Call, and give its pages to the thread. */
int host::deliver_call(received *rv)
{
	auto *s = static_cast<served *>(rv->priv);
	const u8 *payload = rv->data();
	u32 position = rv->payload_len;

	if (!rv->queued.pull_octets) {
		rv->pull = {};
		s = new_served(rv);
	}
	if (rv->pull.item)
		position = rv->pull.item->position;
	if (rv->pull.item || !rv->queued.pull_octets)
		s->whole.assign(payload, payload + position);
	s->whole.insert(s->whole.end(), s->call.octets.begin(),
			s->call.octets.end());
	if (rv->pull.item) {
		s->whole.resize(roundup4(static_cast<u32>(s->whole.size())));
		s->whole.insert(s->whole.end(), payload + position,
				payload + rv->payload_len);
	}
	/* A client of version 1 is sent no ERROR without a cause of its own. */
	if (s->ep->conn.version == RPCRDMA_VERS_2 && w_.fault(1))
		return call_fails(rv, -E2BIG);
	rpcrdma_calls_early_end(&queue_of(*s->ep).calls, &rv->queued);
	give_pages(s);
	return 0;
}

int host::begin_callback(received *rv)
{
	if (w_.fault(2))
		return -ENOBUFS;
	new_served(rv)->lists = rv->rx.lists;
	return 0;
}

/* A callback is complete. Its Receive is released. */
void host::callback(served *s)
{
	if (s->rv->held)
		w_.complain("the Receive of a callback is released too late");
	s->rv = nullptr;
	s->whole = s->call.octets;
	queue_of(*s->ep).busy++;
	busy_++;
	execute(s);
}

/* The Call is complete: execute it. */
void host::execute(served *s)
{
	const std::vector<u8> &call = s->whole;
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
