// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Post the work that the core schedules, and retire completed work.
 *
 * Operation
 *
 * Each chain of Work Requests is described by a work item: a Send with what precedes
 * it, an invalidation, or a batch of a transfer. It is posted at once if the Send
 * Queue (queue/send_queue.cc) permits. Otherwise it is queued in core->transfers or
 * core->messages, except for a Call, which is refused. rpcrdma_core_pump() posts the
 * next work until nothing more can be posted. Posted work is in core->inflight, in the
 * order of posting, until a completion covers it. Few Work Requests are signaled, so
 * that a completion usually retires several chains. A context or a slot that becomes
 * free is offered to the work that waits for it, in the same critical section.
 *
 * Memory
 *
 * A Send context returns to the free ones when its Send is retired. Work without a
 * message is appended to a list, and its callback runs after the lock was released.
 *
 * Errors
 *
 * A chain that the device refuses stays in core->inflight and is marked: the
 * connection is closed, and the work ends in the teardown like all other. If no buffer
 * can be allocated under the lock for a control message or for the next message of a
 * continued one, and no free context has one, the message waits: the contexts that have
 * one may be those of Replies that follow it. It is tried again when a context is released,
 * and every BUFFER_MS, after an allocation that may sleep. If messages wait and the peer
 * grants too few credits for cfg.stall_ms, a minute unless it is set, a timer closes the
 * connection; so does a wait for a buffer. The timer runs only then, and for a moment after
 * a continued Call was dropped (arrivals.cc).
 *
 * Locking
 *
 * The functions that post and retire work are called with the lock of the connection,
 * except for rpcrdma_core_rdma(). Callbacks, rpcrdma_core_finish() and
 * rpcrdma_core_events() run without it.
 */
#include "posting.hh"

namespace rpcrdma
{

namespace
{

constexpr char REFUSED_SEND[] = "a Send could not be posted";
constexpr char REFUSED_CALL[] = "a Call could not be posted";
constexpr char REFUSED_RDMA[] = "RDMA Work Requests could not be posted";
constexpr char NO_BUFFER[] = "no memory for a message to send";
constexpr char TOO_LONG[] =
	"a Reply needs more Work Requests than the Send Queue has";

/* Milliseconds until another attempt to allocate a buffer for a message that waits */
constexpr u32 BUFFER_MS = 100;

bool post_any(rpcrdma_ep_core *core, rpcrdma_work *work)
{
	return work->kind == RPCRDMA_WORK_TRANSFER ?
		       post_batch(core, work) :
		       rpcrdma_port_post(core, work);
}

/* Post the first of the queued transfers. */
bool post_transfer(rpcrdma_ep_core *core)
{
	auto *work = list_first<rpcrdma_work>(&core->transfers);

	list_remove(&work->list);
	return post_work<post_any>(core, work);
}

/* Post a control message. */
enum post_result post_control(rpcrdma_ep_core *core)
{
	rpcrdma_send *s = pop_send_with_room(core, RPCRDMA_SMALL_SEND);

	if (!s) [[unlikely]]
		return post_result::NO_BUFFER;
	core->buffer_tries = 0;

	const rpcrdma_control control =
		rpcrdma_conn_next_control(&core->conn, s->buf, s->size);

	s->len = control.octets;
	return rpcrdma_core_post_control(core, s, control.inv_handle) ?
		       post_result::OK :
		       post_result::REFUSED;
}

/* Post the first queued message, or the next message of its continued sequence. */
enum post_result post_message(rpcrdma_ep_core *core)
{
	auto *work = list_first<rpcrdma_work>(&core->messages);

	if (work->kind == RPCRDMA_WORK_STREAM)
		return post_part(core, stream_of(work));
	list_remove(&work->list);
	return post_send(core, send_of(work)) ? post_result::OK :
						post_result::REFUSED;
}

/* Arm the timer for the next attempt to allocate a buffer. */
void arm_for_buffer(rpcrdma_ep_core *core)
{
	core->buffer_tries++;
	core->buffer_watched = core->stall_watched = true;
	rpcrdma_port_arm_stall(core, BUFFER_MS);
}

/*
 * There is no buffer for a message, which waits. If a continued Call was dropped, the
 * connection is closed soon.
 */
[[gnu::noinline]] void wait_for_buffer(rpcrdma_ep_core *core)
{
	if (!is_open(core))
		core->todo |= RPCRDMA_TODO_SEND_REFUSED;
	else if (core->buffer_watched)
		/* Another message got a buffer since the timer was armed. */
		core->buffer_tries = max_u32(core->buffer_tries, 1);
	else if (!core->arrivals.dropped)
		arm_for_buffer(core);
}

/* Describe the first entries of the queues to the engine. */
void describe_first(rpcrdma_ep_core *core, rpcrdma_sq_first *first)
{
	rpcrdma_work *work;

	if (core->sq.transfers)
		first->transfer_wrs =
			list_first<rpcrdma_work>(&core->transfers)->wrs.nr;
	if (!core->sq.messages)
		return;
	work = list_first<rpcrdma_work>(&core->messages);
	first->message_wrs = work->wrs.nr;
	first->kind = work->kind;
	first->parts = work->kind == RPCRDMA_WORK_STREAM;
	first->more = false;
	if (first->parts) {
		const rpcrdma_stream *st = stream_of(work);

		first->kind = static_cast<u8>(st->kind);
		first->more = next_part(core, st).more;
		first->message_wrs = 1;
		if (!first->more && st->rw)
			first->message_wrs += st->rw->left;
	}
}

/* Retire any work, which is on no list any more. */
[[gnu::always_inline]] inline void
retire(rpcrdma_ep_core *core, rpcrdma_work *work, list_head *done_list)
{
	if (work->kind <= RPCRDMA_WORK_CONTROL) [[likely]]
		free_up_send(core, send_of(work), done_list);
	else
		list_push_back(&work->list, done_list);
}

/* Report an event to the host. */
void happened(rpcrdma_ep_core *core, enum rpcrdma_happened what)
{
	rpcrdma_lifecycle_event event{};

	event.what = what;
	rpcrdma_core_happened(core, &event);
}

/* Retire all work in @list. */
void retire_all(rpcrdma_ep_core *core, list_head *list, list_head *done_list)
{
	while (!list_is_empty(list)) {
		auto *work = list_first<rpcrdma_work>(list);

		list_remove(&work->list);
		retire(core, work, done_list);
	}
}

} // namespace

void expose_reply(rpcrdma_ep_core *core, rpcrdma_pull_entry *x)
{
	expose_mrs(&x->mrs);
	rpcrdma_pull_sent(&core->conn, x, x->handle, rpcrdma_port_now_ms(core));
	/* If the timer is armed, this Reply is not the first that is due. */
	if (core->overdue_watched)
		return;
	core->overdue_watched = true;
	rpcrdma_port_arm_overdue(core, core->conn.cfg.done_ms);
}

void queue_rdma(rpcrdma_ep_core *core, rpcrdma_work *work)
{
	list_push_back(&work->list, &core->transfers);
	trace_queued(core, 0, work);
}

bool post_send(rpcrdma_ep_core *core, rpcrdma_send *s)
{
	rpcrdma_conn_stamp(&core->conn,
			   static_cast<enum rpcrdma_kind>(s->work.kind),
			   s->buf);
	rpcrdma_sq_charge(&core->sq, &s->work.wrs);
	return submit_send(core, s);
}

void flush_posted(rpcrdma_ep_core *core, list_head *done_list)
{
	rpcrdma_work *work = core->inflight;

	core->inflight = nullptr;
	core->inflight_end = &core->inflight;
	while (work) {
		rpcrdma_work *next = work->next;

		retire(core, work, done_list);
		work = next;
	}
}

void flush_waiting(rpcrdma_ep_core *core, list_head *done_list)
{
	retire_all(core, &core->rw.waiting, done_list);
	retire_all(core, &core->transfers, done_list);
	retire_all(core, &core->messages, done_list);
}

void watch_stall(rpcrdma_ep_core *core)
{
	/*
	 * Don't start the timer once the connection is closing: the teardown would not
	 * stop it.
	 */
	if (core->stall_watched || !is_open(core))
		return;

	const rpcrdma_stall stall = rpcrdma_conn_stalled(
		&core->conn, rpcrdma_sq_waiting_kinds(&core->sq),
		rpcrdma_port_now_ms(core));

	if (stall.wait) {
		core->stall_watched = true;
		rpcrdma_port_arm_stall(core, stall.wait);
	}
	if (stall.events & RPCRDMA_EV_CLOSE)
		core->todo |= RPCRDMA_TODO_CLOSED;
}

/* Close the connection for lack of memory. */
static void close_for_memory(rpcrdma_ep_core *core, const char *reason)
{
	rpcrdma_conn_close(&core->conn, reason);
	core->todo |= RPCRDMA_TODO_CLOSED;
}

/*
 * When the stall timer has ended, close the connection if it has dropped a message, or
 * check the window again. Return true if a message waits for a buffer.
 */
static bool stall_over(rpcrdma_ep_core *core)
{
	const posting under(core);

	core->stall_watched = false;
	core->buffer_watched = false;
	if (core->arrivals.dropped && is_open(core))
		close_for_memory(core, NO_MEMORY);
	else if (core->buffer_tries)
		return true;
	else
		watch_stall(core);
	return false;
}

/* Post the message that waits for a buffer, if there is one now, or wait again. */
static void try_buffer(rpcrdma_ep_core *core)
{
	const posting under(core);

	if (!is_open(core))
		return;
	/* If the message gets no buffer, the timer is armed again. */
	rpcrdma_core_pump(core);
	if (core->buffer_tries > core->conn.cfg.stall_ms / BUFFER_MS)
		close_for_memory(core, NO_BUFFER);
	else
		watch_stall(core);
}

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_core_init(struct rpcrdma_ep_core *core)
{
	core->inflight_end = &core->inflight;
	list_init(&core->rw.waiting);
	list_init(&core->transfers);
	list_init(&core->messages);
	list_init(&core->all_recvs);
}

bool rpcrdma_core_post_control(struct rpcrdma_ep_core *core,
			       struct rpcrdma_send *s, u32 inv_handle)
{
	prepare_send(s, RPCRDMA_WORK_CONTROL, inv_handle);
	rpcrdma_sq_charge(&core->sq, &s->work.wrs);
	return submit_send(core, s);
}

void rpcrdma_core_pump(struct rpcrdma_ep_core *core)
{
	enum post_result result = post_result::OK;
	rpcrdma_sq_first first{};

	if (!core->life.may_send)
		return;
	while (result == post_result::OK) {
		describe_first(core, &first);
		switch (rpcrdma_sq_next(&core->conn, &core->sq, &first)) {
		case RPCRDMA_SQ_POST_CONTROL:
			result = post_control(core);
			if (result == post_result::NO_BUFFER) [[unlikely]]
				rpcrdma_sq_defer(&core->sq, nullptr);
			break;
		case RPCRDMA_SQ_POST_TRANSFER:
			if (!post_transfer(core))
				result = post_result::REFUSED;
			break;
		case RPCRDMA_SQ_POST_MESSAGE:
			result = post_message(core);
			if (result == post_result::NO_BUFFER) [[unlikely]]
				rpcrdma_sq_defer(&core->sq, &first);
			break;
		case RPCRDMA_SQ_NOTIFY:
			core->todo |= RPCRDMA_TODO_RETRY;
			break;
		case RPCRDMA_SQ_IDLE:
			/* Calls, too, even if they were refused for another reason. */
			if (rpcrdma_sq_waiting_kinds(&core->sq) ||
			    core->conn.pend_count)
				watch_stall(core);
			return;
		}
	}
	if (result == post_result::NO_BUFFER)
		wait_for_buffer(core);
	else
		core->todo |= RPCRDMA_TODO_SEND_REFUSED;
}

void rpcrdma_core_finish(struct rpcrdma_ep_core *core, u32 todo)
{
	const char *reason = nullptr;

	if (todo & RPCRDMA_TODO_SEND_REFUSED)
		reason = REFUSED_SEND;
	else if (todo & RPCRDMA_TODO_CALL_REFUSED)
		reason = REFUSED_CALL;
	else if (todo & RPCRDMA_TODO_RDMA_REFUSED)
		reason = REFUSED_RDMA;
	else if (todo & RPCRDMA_TODO_TOO_LONG)
		reason = TOO_LONG;
	else if (todo & RPCRDMA_TODO_CLOSED)
		reason = core->conn.reason;
	if (reason)
		rpcrdma_core_close(core, reason);
	else if (todo & RPCRDMA_TODO_RETRY)
		rpcrdma_port_write_space(core);
}

void rpcrdma_core_events(struct rpcrdma_ep_core *core, u32 events)
{
	if (events & RPCRDMA_EV_CLOSE) {
		rpcrdma_core_close(core, core->conn.reason);
		return;
	}
	/* Version 1 posts all its Receives before any traffic. */
	if (events & RPCRDMA_EV_RECEIVES)
		rpcrdma_core_recvs_due(core);
	if (events & RPCRDMA_EV_OPENED)
		happened(core, RPCRDMA_HAPPENED_OPENED);
	if (events & RPCRDMA_EV_ODD)
		happened(core, RPCRDMA_HAPPENED_ODD);
	if (events & RPCRDMA_EV_AUTH)
		rpcrdma_port_auth(core);
	if (events & (RPCRDMA_EV_CONTROL | RPCRDMA_EV_WINDOW)) {
		const posting under(core);

		rpcrdma_core_pump(core);
	}
}

void rpcrdma_core_stall_expired(struct rpcrdma_ep_core *core)
{
	if (stall_over(core)) {
		add_buffer(core);
		try_buffer(core);
	}
}

void rpcrdma_core_rdma(struct rpcrdma_ep_core *core, struct rpcrdma_work *work)
{
	bool taken;

	work->kind = RPCRDMA_WORK_RDMA;
	{
		const posting under(core);

		taken = post_rdma<rpcrdma_port_post>(core, work);
	}
	if (!taken) [[unlikely]]
		work->done(work, false);
}

void rpcrdma_core_reap(struct rpcrdma_ep_core *core, struct rpcrdma_work *work,
		       struct list_head *done_list)
{
	rpcrdma_work **at = &core->inflight;

	while (rpcrdma_work *w = *at) {
		if (rpcrdma_sq_completion_covers(&work->wrs, &w->wrs))
			[[likely]] {
			*at = w->next;
			retire(core, w, done_list);
		} else {
			at = &w->next;
		}
		if (w == work)
			break;
	}
	if (!*at)
		core->inflight_end = at;
	rpcrdma_sq_reaped(&core->sq,
			  core->inflight ? &core->inflight->wrs : nullptr);
}
