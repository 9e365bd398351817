// SPDX-License-Identifier: GPL-2.0
#include "endpoint.hh"

#include <cerrno>
#include <cstring>

namespace simulation
{

static s32 distance(u32 from, u32 to)
{
	return static_cast<s32>(to - from);
}

/*
 * Receives are large, so that later connections reuse them. Builds with a
 * sanitizer do not reuse them, to detect use after free.
 */
template <typename T>
class stock
{
public:
	std::unique_ptr<T> take()
	{
		if (kept_.empty())
			return std::make_unique<T>();

		std::unique_ptr<T> t = std::move(kept_.back());

		kept_.pop_back();
		return t;
	}
	void keep(std::unique_ptr<T> t)
	{
#ifdef __SANITIZE_ADDRESS__
		t.reset();
#else
		kept_.push_back(std::move(t));
#endif
	}

private:
	std::vector<std::unique_ptr<T>> kept_;
};

static stock<received> spare_receives;

endpoint::endpoint(world &w, const endpoint_params &p, upcalls &ops,
		   const char *name)
	: rpcrdma_ep_core{}, params{ p }, qp{ w, *this, p.sq_depth + 1,
					      p.max_mrs },
	  name{ name }, w_{ w }, ops_{ ops }
{
	rpcrdma_core_init(this);
	page_size = params.page_octets();
	life.client = params.cfg.client;
	settings_ = settings_of(params);
	control.params = &settings_;
	control.number = params.cfg.number;
	control.peer = { {}, ENOUGH_READS, ENOUGH_READS };
	answer_ = control.peer;
	qp.reorders = params.reorders;
	mrs.limits = { .page_shift = params.page_shift,
		       .pages = params.mr_size >> params.page_shift,
		       .octets = 0,
		       .gaps = false,
		       .apart = false };
	free_read_mrs_ = params.read_into;
	/* Let Reads take long, so that other transfers start meanwhile. */
	if (params.read_into)
		qp.read_time = 4000;
	if (params.model) {
		model_ = std::make_unique<engine_test::credit_model>(
			params.cfg.window);
		model_->resize(params.cfg.window);
	}
}

endpoint::~endpoint()
{
	free_sends_of();
	for (auto &rv : receives_)
		spare_receives.keep(std::move(rv));
}

received *endpoint::new_received(u32 octets)
{
	auto rv = spare_receives.take();

	static_cast<rpcrdma_recv &>(*rv) = {};
	rv->ep = this;
	rv->space.resize(octets);
	rv->buf = rv->space.data();
	/* The core sets these fields, except in a spare Receive. */
	rv->core = this;
	rv->size = octets;
	rv->held = false;
	rv->spare = false;
	rv->failed = false;
	receives_.push_back(std::move(rv));
	return receives_.back().get();
}

/* ---- Events ---- */

void endpoint::lost()
{
	if (noticed_)
		return;
	noticed_ = true;
	w_.after(w_.delay(2000), this, NOTICE);
}

bool endpoint::enter()
{
	if (is_closing())
		return false;
	users_++;
	return true;
}

void endpoint::leave()
{
	users_--;
}

void endpoint::act(u32 what, u64 arg)
{
	bool was_open;

	switch (what) {
	case NOTICE:
		cm_event(RPCRDMA_CM_DISCONNECTED);
		break;
	case ANSWER:
		cm_event(w_.fault(20) ? RPCRDMA_CM_UNRESOLVED :
					RPCRDMA_CM_RESOLVED);
		break;
	case MAKE:
	case MAKE_LATE:
		/* A context that is woken twice runs once. */
		if (!sleeps_ || arg != slept_)
			break;
		sleeps_ = false;
		if (what == MAKE_LATE && life.step_done && !woken_)
			w_.complain(std::string(name) +
				    ": its setup is not woken");
		make(what == MAKE_LATE && !life.step_done ? -ETIMEDOUT : 0);
		break;
	case RELEASE:
		release();
		break;
	case STALL:
		/* Its time was replaced. */
		if (arg != stall_timer_)
			break;
		stall_armed_ = false;
		was_open = is_open();
		rpcrdma_core_stall_expired(this);
		if (was_open && is_closing() && !excused && !arrivals.dropped)
			w_.complain(std::string(name) + ": " + conn.reason);
		break;
	case OVERDUE:
		overdue_watched_ = false;
		rpcrdma_core_exposed_overdue(this);
		break;
	case MAKE_REGIONS:
		w_.after(w_.delay(40), this, REGIONS_MADE);
		break;
	case REGIONS_MADE:
		make_mrs();
		break;
	case READS:
		reads_tried_ = false;
		rpcrdma_core_reads_retry(this);
		break;
	case POLL:
		polls_ = false;
		poll();
		break;
	case OPEN_OVERDUE:
		if (!stopped_)
			happened(RPCRDMA_HAPPENED_OVERDUE);
		break;
	case OPEN_LATER:
		if (!stopped_)
			rpcrdma_core_open_later(this);
		break;
	case AUTH:
		if (!is_closing())
			rpcrdma_core_auth_answer(this);
		break;
	}
	check();
}

void endpoint::do_write_space()
{
	if (!enter())
		return;
	ops_.write_space(*this);
	leave();
}

/* ---- Receives ---- */

/* Post @count of the Receives that the reference credit model withheld. */
void endpoint::post_free(u32 count)
{
	if (count > free_receives_.size()) {
		w_.complain("more Receives are to be posted than are free");
		return;
	}
	for (; count; count--) {
		qp.post_receive(free_receives_.back());
		free_receives_.pop_back();
	}
}

/*
 * The reference credit model decides which Receives are posted. In the engine's
 * account, no Receive is withheld.
 */
void endpoint::model_release(received *rv)
{
	u32 ev;

	if (is_closing())
		return;
	free_receives_.push_back(rv);
	post_free(model_->release_receive());
	ev = rpcrdma_recvs_posted(&conn, 1);
	as_model_says();
	rpcrdma_core_events(this, ev | RPCRDMA_EV_CONTROL);
}

/* Release a Receive: rpcrdma_recv_put() of the module. */
void endpoint::release_receive(received *rv)
{
	u32 todo;

	if (rv->large)
		rpcrdma_core_recv_shrink(rv);
	if (!is_closing() && (rv->spare || is_model())) {
		recvs_held--;
		if (!rv->spare) {
			model_release(rv);
			return;
		}
		rv->spare = false;
		spares_.push_back(rv);
		return;
	}
	w_.sum.receives_given_back += !is_closing();
	lock();
	todo = rpcrdma_core_recv_put(this, rv);
	unlock();
	if (todo)
		rpcrdma_core_recv_freed(this, rv, todo);
	drop(todo == RPCRDMA_RECV_LAST);
}

void endpoint::lend(received *rv)
{
	received *spare;

	rv->held = true;
	/*
	 * With the credit model, only Calls hold their Receive. For any other
	 * message, a spare is posted in place of its Receive.
	 */
	if (!is_model() || rv->verdict == RPCRDMA_RX_CALL)
		return;
	if (spares_.empty())
		spares_.push_back(new_received(rv->size));
	spare = spares_.back();
	spares_.pop_back();
	model_release(spare);
	rv->spare = true;
}

void endpoint::put(received *rv)
{
	if (!rv->held)
		w_.complain("a Receive is put twice");
	rv->held = false;
	release_receive(rv);
	check();
}

/* ---- Shared memory ---- */

/* Change the account, and run the resulting actions. */
void endpoint::change(rpcrdma_quota_change *c)
{
	if (!rpcrdma_quota_change_own(params.memory, &account, c))
		rpcrdma_quota_change_all(params.memory, &account, c);
	if (params.memory->used > params.most_memory)
		w_.complain(std::string(name) +
			    ": more memory is held than permitted");
	if (c->notify && is_open())
		ops_.memory_freed(*this);
	if (c->visit != RPCRDMA_QUOTA_VISIT_NOT)
		ops_.run_quota(*this, c->visit);
}

rpcrdma_quota_change endpoint::change(rpcrdma_quota_action what,
				      rpcrdma_quota_use use, u64 octets,
				      u32 count)
{
	rpcrdma_quota_change c{};

	c.what = what;
	c.use = use;
	c.octets = octets;
	c.count = count;
	/* Without a limit, no charge is refused. */
	c.ok = true;
	if (params.memory)
		change(&c);
	return c;
}

bool endpoint::room(rpcrdma_quota_use use, u64 octets)
{
	return change(RPCRDMA_QUOTA_ASK, use, octets, 1).ok;
}

void endpoint::hold(rpcrdma_quota_use use, u64 octets)
{
	change(RPCRDMA_QUOTA_CHARGE, use, octets, 1);
}

u32 endpoint::hold_some(rpcrdma_quota_use use, u64 octets, u32 count)
{
	/* Other connections may just have charged the memory for a message. */
	const bool none = params.memory && use == RPCRDMA_QUOTA_PARTS &&
			  w_.fault(60);
	const u32 fit =
		none ? 0 :
		       change(RPCRDMA_QUOTA_CHARGE_UP_TO, use, octets, count)
				.count;

	if (use == RPCRDMA_QUOTA_BUFFERS) {
		w_.sum.windows_bounded += fit < count;
	} else if (fit < count) {
		w_.trouble = true;
		refused_ = true;
		w_.sum.no_room++;
	}
	return fit;
}

void endpoint::give(rpcrdma_quota_use use, u64 octets)
{
	if (octets)
		change(RPCRDMA_QUOTA_UNCHARGE, use, octets, 1);
}

bool endpoint::join()
{
	return change(RPCRDMA_QUOTA_ATTACH, RPCRDMA_QUOTA_BUFFERS, 0, 0).ok;
}

void endpoint::leave_quota()
{
	change(RPCRDMA_QUOTA_DETACH, RPCRDMA_QUOTA_BUFFERS, 0, 0);
}

/* Another connection may wait for the memory that this one has released. */
void endpoint::wake_waiting()
{
	rpcrdma_quota_account *next;

	/* A connection that is refused again returns to the list. */
	for (u32 n = params.memory->waiting; n; n--) {
		next = rpcrdma_quota_next(params.memory);
		if (!next)
			return;
		ops_.memory_freed(*static_cast<owned_account *>(next)->owner);
	}
}

/* ---- The reference credit model ---- */

/*
 * Overwrite the engine's credit account with the reference model's. An end with
 * this model uses the engine for everything but credits, and sends none of the
 * engine's credit grants.
 */
void endpoint::as_model_says()
{
	if (!is_model())
		return;
	conn.limit = conn.sent;
	if (model_->may_call())
		conn.limit += 1000;
	else if (model_->may_send())
		conn.limit++;
	/* No message is regarded as unsent. */
	conn.last_nongrant = conn.acked + 1;
	conn.advertised = conn.received + 1000;
	conn.grant_recvs_to_free = 1;
}

void endpoint::post_model_grants()
{
	bool ok;

	if (granting_)
		return;
	granting_ = true;
	while (is_model() && life.may_send &&
	       conn.state != RPCRDMA_CONN_CLOSING && conn.props_sent &&
	       conn.answered && model_->grant_due() &&
	       rpcrdma_sq_room(&sq, 1)) {
		rpcrdma_send *s = rpcrdma_core_send_get(this);

		if (!s)
			break;
		if (rpcrdma_core_send_room(s, RPCRDMA_SMALL_SEND)) {
			rpcrdma_core_send_put(s);
			break;
		}
		s->len = rpcrdma_encode_header(&conn, s->buf, s->size, 0,
					       RDMA2_NOMSG, 0, nullptr);
		lock();
		conn.sent++;
		ok = rpcrdma_core_post_control(this, s, 0);
		unlock();
		if (!ok) {
			close("a Send could not be posted");
			break;
		}
	}
	granting_ = false;
}

void endpoint::model_stamp(u8 *header)
{
	if (!is_model())
		return;

	/* All credit grants are this model's. */
	const bool grant = load(header + 12) == RDMA2_NOMSG && !load(header);

	const auto fields = model_->send(grant);

	store(header + 8, fields.credit);
	store(header + 20, fields.received);
	as_model_says();
}

void endpoint::model_received(const received *rv)
{
	const u8 *m = rv->space.data();

	post_free(model_->receive({ load(m + 8), load(m + 20) },
				  load(m + 12) == RDMA2_NOMSG && !load(m),
				  rv->verdict == RPCRDMA_RX_CALL));
	as_model_says();
}

/* ---- Invariants ---- */

void endpoint::describe() const
{
	w_.log("%s: stage %u, version %u; sent %u of %u, received %u, posted %u, advertised %u; %u Sends free, %u of %u slots used; waiting: %u messages, %u transfers, %u control%s%s; %u Receives held",
	       name, life.stage, conn.version, u32{ conn.sent },
	       u32{ conn.limit }, u32{ conn.received }, u32{ conn.posted },
	       u32{ conn.advertised }, sq.contexts, sq.posted - sq.retired,
	       sq.depth, count(messages), count(transfers), conn.pend_count,
	       conn.tx_open ? ", one continued" : "",
	       sq.call_wrs ? ", Calls" : "", recvs_held);
}

void endpoint::check()
{
	const std::string who = std::string(name) + ": ";

	/* The endpoint has not been configured yet, or could not be. */
	if (!nr_sends) {
		if (life.stage > RPCRDMA_STAGE_PREPARING && !is_closing())
			w_.complain(who + "is set up without Sends");
		return;
	}
	if (sq.posted - sq.retired > sq.depth)
		w_.complain(who + "the Send Queue overflows");
	check_sends();
	/* A part that got no memory waits for the teardown. */
	if (!is_closing() && (sq.transfers != count(transfers) ||
			      sq.messages != count(messages)))
		w_.complain(who + "waiting work is miscounted");
	if (stall_watched && !stall_armed_)
		w_.complain(who + "no stall timer runs while messages wait");
	if (nr_recvs != conn.receives ||
	    (!dropped_ && nr_recvs != count(all_recvs)))
		w_.complain(who + "Receives are miscounted");
	if (receives_refused_ && !is_closing())
		w_.complain(who + "stays open although it lacks Receives");
	check_mrs();
	if (conn.version == RPCRDMA_VERS_1 || params.silent || is_model())
		return;
	if (distance(conn.advertised, conn.posted - 1) < 0)
		w_.complain(who + "advertises its reserve");
	if (distance(last_advertised_, conn.advertised) < 0)
		w_.complain(who + "reduces the limit it advertised");
	if (distance(last_limit_, conn.limit) < 0)
		w_.complain(who + "its limit moved back");
	if (distance(conn.limit, conn.sent) > 1)
		w_.complain(who + "sends beyond limit and reserve");
	if (conn.pend_count > RPCRDMA_MAX_PENDING_CONTROL)
		w_.complain(who + "too many control messages wait");
	last_advertised_ = conn.advertised;
	last_limit_ = conn.limit;
	/*
	 * Between ends that follow the protocol, no connection closes with a
	 * reason.
	 */
	if (conn.state == RPCRDMA_CONN_CLOSING && conn.reason && !excused &&
	    !refused_ && !rpcrdma_auth_failed(&conn))
		w_.complain(who + conn.reason);
}

/*
 * Each Receive is charged twice, the second time for a Send buffer. The second
 * charge may remain after the Receive is freed.
 */
void endpoint::check_charges()
{
	u64 octets = owed_octets;

	for (list_head *at = all_recvs.next; at != &all_recvs; at = at->next) {
		const auto *rv = reinterpret_cast<const rpcrdma_recv *>(
			reinterpret_cast<const u8 *>(at) -
			offsetof(rpcrdma_recv, all));

		octets += 2 * u64{ rpcrdma_buffer_octets(page_size, rv->size) };
	}
	if (params.memory && account.held[RPCRDMA_QUOTA_BUFFERS] != octets)
		w_.complain(std::string(name) +
			    ": Receives are charged wrongly");
}

void endpoint::check_gone()
{
	const std::string who = std::string(name) + ": ";

	if (!is_gone()) {
		w_.complain(who + "is never closed");
		return;
	}
	if (recvs_held)
		w_.complain(who + "Receives are held forever");
	if (dropped_ != 1)
		w_.complain(
			who +
			"the teardown's reference is not dropped exactly once");
	if (live_)
		w_.complain(who + "work is not freed");
	if (live_arrays_)
		w_.complain(who + "memory of messages is not freed");
	if (buffers_ != send_bufs || buffers_ != own_buffers())
		w_.complain(who + "Send buffers are miscounted");
	if (sq.contexts + !!nr_sends != nr_sends)
		w_.complain(who + "Sends are not released");
	if (account.member)
		w_.complain(who + "its account is not detached from the quota");
	if (!list_is_empty(&all_recvs))
		w_.complain(who + "Receives are left in the list");
	for (const auto &rv : receives_) {
		if (!model_ && !rv->space.empty())
			w_.complain(who + "a Receive is not freed");
	}
	if (free_mrs() != mrs.pool.made || mrs_made_ != mrs.pool.made)
		w_.complain(who + "MRs are not released");
	if (free_read_mrs_ != params.read_into || rw.pool.waiting)
		w_.complain(who + "MRs for Reads are not released");
	for (const device_mr &reg : qp.mrs) {
		if (reg.valid)
			w_.complain(who + "an MR stays valid");
	}
	if (conn.exposed_octets)
		w_.complain(who + "exposed bytes are miscounted");
	for (u64 octets : account.held) {
		if (octets)
			w_.complain(who + "memory is held forever");
	}
}

} // namespace simulation
