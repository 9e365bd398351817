// SPDX-License-Identifier: GPL-2.0
/*
 * The core's host on the model of a device: the port (core/port.h), and the
 * entries that call the core. The entries do what those of verbs/ do under
 * their lock.
 */
#include <cerrno>
#include <cstring>

#include "endpoint.hh"

namespace simulation
{

/* ---- The locks ---- */

/*
 * There is one context, so that a lock that is taken twice is a deadlock of the module.
 */
void endpoint::lock()
{
	if (locked_ || mrs_locked_)
		w_.complain(std::string(name) + ": takes its lock twice");
	locked_ = true;
}

/* Other contexts can act now. */
void endpoint::unlock()
{
	needs_lock();
	locked_ = false;
	if (closes_) {
		closes_ = false;
		close(nullptr);
	}
	post_model_grants();
}

/* Fail the run if the lock is not held. */
void endpoint::needs_lock()
{
	if (!locked_)
		w_.complain(std::string(name) + ": does not hold its lock");
}

void endpoint::lock_mrs()
{
	if (mrs_locked_)
		w_.complain(std::string(name) +
			    ": takes the lock for MRs twice");
	mrs_locked_ = true;
}

void endpoint::unlock_mrs()
{
	mrs_locked_ = false;
}

/* ---- Entries ---- */

u32 endpoint::count(const list_head &list)
{
	u32 n = 0;

	for (const list_head *at = list.next; at != &list; at = at->next)
		n++;
	return n;
}

/*
 * A server's Replies leave some Send contexts to other senders: to a Call, or
 * to continued messages.
 */
void endpoint::send_error(u32 xid, u32 code, u32 arg0, u32 arg1)
{
	const bool was_open = is_open();
	const u32 waiting = conn.pend_count;
	const rpcrdma_serial sent = conn.sent;

	rpcrdma_core_send_error(this, xid, code, arg0, arg1);
	if (!was_open && (conn.pend_count != waiting || conn.sent != sent))
		w_.complain(std::string(name) +
			    ": an ERROR is queued that is never sent");
}

stream *endpoint::new_stream(enum rpcrdma_kind kind, u32 xid,
			     const rpcrdma_lists *lists, std::vector<u8> octets)
{
	auto *st = new stream{};

	live_++;
	st->ep = this;
	st->octets = std::move(octets);
	rpcrdma_core_stream_init(st, kind, xid, st->octets.data(),
				 static_cast<u32>(st->octets.size()), lists);
	return st;
}

void endpoint::completed(work *w)
{
	list_head done;
	u32 todo;

	if (flushed_)
		return;
	/* The queue pair must be destroyed first. */
	if (life.unstopped) {
		late_.push_back(w);
		return;
	}
	list_init(&done);
	lock();
	rpcrdma_core_reap(this, static_cast<rpcrdma_chain *>(w)->of, &done);
	rpcrdma_core_freed(this);
	todo = rpcrdma_core_take_todo(this);
	unlock();
	rpcrdma_core_end(this, todo, &done, true);
	check();
}

/* ---- Posting ---- */

/* A connection may close while transfers wait. */
void endpoint::wait_in_queue()
{
	needs_lock();
	closes_ |= is_open() && w_.fault(2000);
}

void endpoint::queued(const rpcrdma_work *w)
{
	if (w->kind == RPCRDMA_WORK_TRANSFER)
		wait_in_queue();
}

/*
 * Complain if @chain needs a feature that the device or the peer's device
 * lacks.
 */
void endpoint::check_device(const rpcrdma_chain &chain)
{
	const rpcrdma_cm_peer &peer = life.client ? answer_ : control.peer;

	for (const request &r : chain.requests) {
		if (r.what == op::read && !peer.reads_out)
			w_.complain(
				std::string(name) +
				": posts Reads although none are supported");
		if (r.what == op::reg && !registers())
			w_.complain(std::string(name) +
				    ": registers on a device that cannot");
	}
}

bool endpoint::submit(rpcrdma_chain *chain, const rpcrdma_work &w)
{
	needs_lock();
	if (chain->pending)
		w_.complain(std::string(name) +
			    ": posts work that is already posted");
	if (chain->requests.size() != w.wrs.nr)
		w_.complain(std::string(name) +
			    ": a chain differs from what was charged");
	check_device(*chain);
	chain->wrs.signaled = w.wrs.signaled;
	/* Work that the device rejects is returned by the teardown. */
	if (w_.fault(1)) {
		w_.log("%s: the device refuses work", name);
		due_[RPCRDMA_COUNT_POSTS_REFUSED]++;
		return false;
	}
	return qp.post(chain);
}

bool endpoint::post(rpcrdma_work *w)
{
	return submit(w->chain, *w);
}

bool endpoint::post_send(rpcrdma_send *s)
{
	rpcrdma_chain *chain = s->work.chain;
	auto *header = static_cast<u8 *>(s->buf);
	auto *own = reinterpret_cast<memory *>(s->addr);
	const u32 at = s->shared ? static_cast<u32>(s->addr - control_addr) : 0;

	if (s->len > s->size)
		w_.complain(std::string(name) +
			    ": a message beyond its buffer");
	if (s->work.kind != RPCRDMA_WORK_CONTROL &&
	    s->len > rpcrdma_conn_limits(&conn).send_inline)
		w_.complain(std::string(name) +
			    ": a message is above the inline threshold");
	if (s->work.kind != RPCRDMA_WORK_CONTROL &&
	    conn.version == RPCRDMA_VERS_2 && load(header + 12) == RDMA2_MSG &&
	    load(header + 16) & RDMA2_F_MORE &&
	    (s->len == s->header_len || (s->len - s->header_len) % 4))
		w_.complain("a message is split wrongly");
	model_stamp(header);
	if (!s->before)
		chain->requests.clear();
	chain->requests.push_back({ op::send, nullptr, s->inv_handle, 0,
				    s->shared ? &control_ : own, at, s->len });
	return submit(chain, s->work);
}

/* ---- Memory of Send contexts ---- */

int endpoint::make_sends(u32 nr)
{
	if (w_.fault(20))
		return -ENOMEM;
	sends_ = std::vector<send_context>(nr);
	control_.octets.resize(RPCRDMA_CONTROL_BUFS);
	control_bufs = control_.octets.data();
	control_addr = reinterpret_cast<u64>(&control_);
	return 0;
}

void endpoint::free_sends_of()
{
	for (send_context &s : sends_) {
		if (s.buf && !s.shared)
			delete reinterpret_cast<memory *>(s.addr);
	}
}

rpcrdma_send *endpoint::first_use(u32 number)
{
	send_context &s = sends_[number];

	needs_lock();
	s.work.chain = &s.chain;
	s.chain.of = &s.work;
	return &s;
}

void *endpoint::new_buffer(u32 size, u64 *addr)
{
	memory *m;

	/* If an allocation fails, the next ones fail, too. */
	if (w_.fault(10)) {
		w_.log("%s: no memory for Send buffers", name);
		buffers_short_ = 1 + w_.choose.below(4);
	}
	if (buffers_short_) {
		buffers_short_--;
		return nullptr;
	}
	m = new memory;
	m->octets.resize(size);
	buffers_++;
	*addr = reinterpret_cast<u64>(m);
	return m->octets.data();
}

void endpoint::free_buffer(u64 addr)
{
	auto *m = reinterpret_cast<memory *>(addr);

	m->retire(w_, "a Send buffer");
	buffers_--;
	delete m;
}

u32 endpoint::own_buffers() const
{
	u32 n = 0;

	for (const send_context &s : sends_)
		n += s.buf && !s.shared;
	return n;
}

/* Check the free Send contexts only now and then, because there are many. */
void endpoint::check_sends()
{
	u32 free = nr_sends - sends_made;

	if (++checks_ % 16)
		return;
	for (const rpcrdma_work *w = free_sends; w && free <= nr_sends;
	     w = w->next) {
		const auto *s = reinterpret_cast<const rpcrdma_send *>(w);

		if (w->chain->pending && !life.unstopped)
			w_.complain("a Send is released while it is posted");
		if (s->rw || s->stream)
			w_.complain("work is attached to a free Send");
		free++;
	}
	if (sq.contexts != free)
		w_.complain(std::string(name) + ": Sends are miscounted");
}

/* ---- Receives ---- */

received *endpoint::new_receive(const rpcrdma_receives &want)
{
	/*
	 * Do not let allocations of Receives fail without which the connection
	 * would end.
	 */
	return want.need != RPCRDMA_RECEIVES_NEEDED && w_.fault(5) ?
		       nullptr :
		       new_received(want.octets);
}

bool endpoint::post_receives(received *first)
{
	u32 nr = 0;

	needs_lock();
	for (rpcrdma_recv *rv = first; rv && nr <= conn.recvs_withheld;
	     rv = rv->next)
		nr++;
	if (nr != conn.recvs_withheld) {
		w_.complain(std::string(name) +
			    ": the free Receives are miscounted");
		return false;
	}
	if (is_open() && w_.fault(1)) {
		w_.log("%s: the device refuses Receives", name);
		receives_refused_ = true;
		due_[RPCRDMA_COUNT_POSTS_REFUSED]++;
		return false;
	}
	for (rpcrdma_recv *rv = first; rv; rv = rv->next)
		qp.post_receive(static_cast<received *>(rv));
	w_.sum.receive_posts++;
	return true;
}

void endpoint::free_receive(received *rv)
{
	shrink(rv);
	rv->assembled = nullptr;
	rv->rx.lists.extra_segs = nullptr;
	rv->space = {};
	w_.sum.receives_freed++;
}

/* ---- Timers ---- */

void endpoint::arm_stall(u32 ms)
{
	needs_lock();
	stall_armed_ = true;
	w_.after((ms + 1) * MILLISECOND, this, STALL, ++stall_timer_);
}

void endpoint::arm_overdue(u32 ms)
{
	needs_lock();
	if (overdue_watched_)
		w_.complain("the timer for exposed Replies is armed twice");
	overdue_watched_ = true;
	w_.after((ms + 1) * MILLISECOND, this, OVERDUE);
}

void endpoint::free_stream(stream *st)
{
	live_--;
	delete st;
}

} // namespace simulation

using namespace simulation;

void rpcrdma_port_lock(struct rpcrdma_ep_core *core)
{
	of(core).lock();
}

void rpcrdma_port_unlock(struct rpcrdma_ep_core *core)
{
	of(core).unlock();
}

bool rpcrdma_port_lock_to_send(struct rpcrdma_ep_core *core, enum rpcrdma_kind)
{
	of(core).lock();
	return false;
}

void rpcrdma_port_unlock_sent(struct rpcrdma_ep_core *core, bool)
{
	of(core).unlock();
}

void rpcrdma_port_lock_mrs(struct rpcrdma_ep_core *core)
{
	of(core).lock_mrs();
}

void rpcrdma_port_unlock_mrs(struct rpcrdma_ep_core *core)
{
	of(core).unlock_mrs();
}

void rpcrdma_port_queued(struct rpcrdma_ep_core *core, u32,
			 const struct rpcrdma_work *work)
{
	/* A Call that waits, which its sender keeps, is traced only. */
	if (work)
		of(core).queued(work);
}

void rpcrdma_port_refuses(struct rpcrdma_ep_core *, u32, u32)
{
}

bool rpcrdma_port_post(struct rpcrdma_ep_core *core, struct rpcrdma_work *work)
{
	return of(core).post(work);
}

bool rpcrdma_port_post_send(struct rpcrdma_ep_core *core,
			    struct rpcrdma_send *s)
{
	return of(core).post_send(s);
}

void rpcrdma_port_chain_writes(struct rpcrdma_send *s,
			       struct rpcrdma_transfer *t)
{
	auto &requests = s->work.chain->requests;
	auto *own = static_cast<transfer *>(t);
	std::vector<request> writes;

	if (!s->before)
		requests.clear();
	s->before = &requests;
	own->ep->chain(own, t->posted, t->parts.prev, &writes);
	requests.insert(requests.begin(), writes.begin(), writes.end());
}

struct rpcrdma_send *rpcrdma_port_send(struct rpcrdma_ep_core *core, u32 number)
{
	return of(core).first_use(number);
}

void *rpcrdma_port_buffer(struct rpcrdma_ep_core *core, u32 size,
			  enum rpcrdma_buffer_need, u64 *addr)
{
	return of(core).new_buffer(size, addr);
}

void rpcrdma_port_buffer_free(struct rpcrdma_ep_core *core, void *, u64 addr,
			      u32)
{
	of(core).free_buffer(addr);
}

void rpcrdma_port_stream_free(struct rpcrdma_stream *st)
{
	auto *own = static_cast<stream *>(st);

	own->ep->free_stream(own);
}

void rpcrdma_port_stream_charge(struct rpcrdma_ep_core *core,
				const struct rpcrdma_stream *st)
{
	of(core).hold(RPCRDMA_QUOTA_REPLIES, st->len);
}

void rpcrdma_port_stream_uncharge(struct rpcrdma_ep_core *core,
				  const struct rpcrdma_stream *st)
{
	of(core).give(RPCRDMA_QUOTA_REPLIES, st->len);
}

/* On this device, no Work Request fails without a disconnect. */
void rpcrdma_port_works_check(struct rpcrdma_ep_core *)
{
}

u32 rpcrdma_port_now_ms(const struct rpcrdma_ep_core *core)
{
	return static_cast<const endpoint *>(core)->now_ms();
}

void rpcrdma_port_arm_stall(struct rpcrdma_ep_core *core, u32 ms)
{
	of(core).arm_stall(ms);
}

void rpcrdma_port_arm_overdue(struct rpcrdma_ep_core *core, u32 ms)
{
	of(core).arm_overdue(ms);
}

void rpcrdma_port_write_space(struct rpcrdma_ep_core *core)
{
	of(core).do_write_space();
}

bool rpcrdma_port_post_recvs(struct rpcrdma_ep_core *core,
			     struct rpcrdma_recv *first)
{
	return of(core).post_receives(static_cast<received *>(first));
}

struct rpcrdma_recv *rpcrdma_port_recv(struct rpcrdma_ep_core *core,
				       const struct rpcrdma_receives *want)
{
	return of(core).new_receive(*want);
}

void rpcrdma_port_recv_unmap(struct rpcrdma_recv *)
{
}

void rpcrdma_port_recv_free(struct rpcrdma_recv *rv)
{
	of(rv->core).free_receive(static_cast<received *>(rv));
}

u32 rpcrdma_port_charge(struct rpcrdma_ep_core *core,
			enum rpcrdma_quota_use use, u64 octets, u32 count)
{
	return of(core).hold_some(use, octets, count);
}

void rpcrdma_port_charge_existing(struct rpcrdma_ep_core *core,
				  enum rpcrdma_quota_use use, u64 octets)
{
	of(core).hold(use, octets);
}

void rpcrdma_port_uncharge(struct rpcrdma_ep_core *core,
			   enum rpcrdma_quota_use use, u64 octets)
{
	of(core).give(use, octets);
}

u32 rpcrdma_port_coarse_ms(const struct rpcrdma_ep_core *core)
{
	return static_cast<const endpoint *>(core)->coarse_ms();
}

/* An endpoint exists until the end of a run. */
void rpcrdma_port_get(struct rpcrdma_ep_core *)
{
}

void rpcrdma_port_put(struct rpcrdma_ep_core *)
{
}

bool rpcrdma_port_enter(struct rpcrdma_ep_core *core)
{
	return of(core).enter();
}

void rpcrdma_port_leave(struct rpcrdma_ep_core *core)
{
	of(core).leave();
}
