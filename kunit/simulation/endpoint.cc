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
 * Send contexts and Receives are large, so later connections reuse them. They
 * are not reused in builds with a sanitizer, which detects use after free.
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

static stock<send_context> spare_sends;
static stock<received> spare_receives;

endpoint::endpoint(world &w, const endpoint_params &p, upcalls &ops,
		   const char *name)
	: params{ p }, qp{ w, *this, p.sq_depth + 1, p.max_regions },
	  name{ name }, w_{ w }, ops_{ ops }
{
	rpcrdma_conn_init(&conn, &params.cfg);

	const u32 size = rpcrdma_conn_send_octets(&conn);

	life.client = params.cfg.client;
	qp.reorders = params.reorders;
	rpcrdma_sq_init(&sq_, params.sq_depth, params.sends, params.cfg.reverse,
			params.replies);
	region_size_ = params.region_size;
	read_pool_ = { params.read_into, 1, 0 };
	free_read_regions_ = params.read_into;
	/* A long Read time lets other transfers start meanwhile. */
	if (params.read_into)
		qp.read_time = 4000;
	/* One more is for the next Call. */
	for (u32 i = 0; i < params.sends + RPCRDMA_CONTROL_SENDS + 1; i++) {
		auto s = spare_sends.take();

		s->ep = this;
		/* A run that failed may have left the context in any state. */
		s->buf = {};
		s->buf.octets.resize(size);
		s->inflight = false;
		if (i) {
			free_sends_.push_back(s.get());
			rpcrdma_sq_give(&sq_);
		} else {
			call_send_ = s.get();
		}
		sends_.push_back(std::move(s));
	}
	if (params.letter) {
		letter_ = std::make_unique<engine_test::letter_credits>(
			params.cfg.window);
		letter_->resize(params.cfg.window);
	}
	pool_.most = params.max_regions;
	last_limit_ = conn.limit;
	last_advertised_ = conn.advertised;
	receives_due();
	as_letter_says();
}

endpoint::~endpoint()
{
	for (auto &s : sends_)
		spare_sends.keep(std::move(s));
	for (auto &rv : receives_)
		spare_receives.keep(std::move(rv));
}

/* Count the bytes as the module does: a Reply may need as much as its Call. */
static u64 receive_cost(u64 octets)
{
	return 2 * octets;
}

received *endpoint::new_received(u32 octets)
{
	auto rv = spare_receives.take();

	rv->ep = this;
	rv->buf.resize(octets);
	rv->lent = false;
	rv->spare = false;
	rv->held = 0;
	receives_.push_back(std::move(rv));
	return receives_.back().get();
}

/* ---- Opening and closing ---- */

/*
 * Run one setup step. Return false if it has not completed, or if there is no
 * next one.
 */
bool endpoint::make_one(const rpcrdma_make_step &m, int *result)
{
	*result = 0;
	switch (m.what) {
	case RPCRDMA_MAKE_ADDRESS:
	case RPCRDMA_MAKE_ROUTE:
		w_.after(w_.delay(30), this, ANSWER);
		return true;
	case RPCRDMA_MAKE_OBJECTS:
		if (w_.fault(20))
			*result = -ENOMEM;
		else
			objects_ = true;
		return true;
	case RPCRDMA_MAKE_CONNECT:
		ops_.request(*this);
		return true;
	case RPCRDMA_MAKE_ACCEPT:
		w_.after(m.ms * MILLISECOND, this, OPEN_OVERDUE);
		return true;
	case RPCRDMA_MAKE_WAIT:
		sleeps_ = true;
		w_.after(m.ms * MILLISECOND, this, MAKE_LATE, ++slept_);
		return false;
	case RPCRDMA_MAKE_END:
		break;
	}
	made_ = true;
	status_ = m.status;
	answer = m.answer;
	carry_out(m.step);
	if (conn.cfg.client && !m.status)
		ops_.connected(*this);
	if (releasing_ == RPCRDMA_RELEASE_MAKER)
		w_.after(1, this, RELEASE);
	return false;
}

/* Run the setup context until it has to wait. */
void endpoint::make(int result)
{
	while (make_one(rpcrdma_life_make(&life, &conn, result), &result))
		;
}

void endpoint::news(rpcrdma_news what, int rejection)
{
	const rpcrdma_life_step step =
		rpcrdma_life_news(&life, what, rejection);

	if (step.todo & RPCRDMA_LIFE_BEGIN)
		events(rpcrdma_conn_established(&conn));
	carry_out(step);
}

void endpoint::carry_out(const rpcrdma_life_step &step)
{
	if (step.todo & RPCRDMA_LIFE_OPENED)
		opened();
	if (step.todo & RPCRDMA_LIFE_WAKE && sleeps_)
		w_.after(w_.delay(20), this, MAKE, slept_);
	if (!(step.todo & RPCRDMA_LIFE_CLOSE))
		return;
	w_.tell("%s: closes: %s", name, step.reason ? step.reason : "-");
	if (step.reason && !w_.trouble && !params.silent)
		w_.complain(std::string(name) +
			    ": closes without need: " + step.reason);
	w_.after(w_.delay(50), this, RELEASE);
}

void endpoint::opened()
{
	w_.tell("%s: open, version %u", name, conn.version);
	ops_.opened(*this);
}

void endpoint::close(const char *reason)
{
	carry_out(rpcrdma_life_close(&life, reason));
}

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

/* Return the number of transfers that the device has. */
u32 endpoint::posted_transfers() const
{
	u32 nr = 0;

	for (const work *w : inflight_) {
		const auto *s = dynamic_cast<const send_context *>(w);

		if (dynamic_cast<const transfer *>(w) || (s && s->writes))
			nr++;
	}
	return nr;
}

/*
 * Run one teardown step. Return false if it has not completed; RELEASE then
 * comes again.
 */
bool endpoint::release_one(rpcrdma_release what)
{
	switch (what) {
	case RPCRDMA_RELEASE_MAKER:
		return made_;
	case RPCRDMA_RELEASE_DRAIN:
		if (!made_)
			w_.complain(std::string(name) +
				    ": is taken down while it is made");
		qp.cut();
		break;
	case RPCRDMA_RELEASE_STOP:
		if (!life.stops && w_.fault(50)) {
			/* Sometimes the device stops after a few attempts. */
			refusals_ = w_.choose.below(2 * RPCRDMA_STOP_TRIES);
			w_.tell("%s: the device does not stop", name);
		}
		stop_ = refusals_ ? -EIO : 0;
		if (refusals_)
			refusals_--;
		break;
	case RPCRDMA_RELEASE_MESSAGES:
		drain();
		break;
	case RPCRDMA_RELEASE_RESET:
		qp.quiet();
		break;
	case RPCRDMA_RELEASE_POSTED:
		flush_posted();
		break;
	case RPCRDMA_RELEASE_WAITING:
		flush_waiting();
		break;
	case RPCRDMA_RELEASE_USERS:
		/* Contexts that prepare transfers, which will be refused */
		return users_ == posted_transfers();
	case RPCRDMA_RELEASE_QUEUE_PAIR:
		if (life.unstopped) {
			w_.sum.unstopped++;
			qp.cut();
			qp.quiet();
		}
		break;
	case RPCRDMA_RELEASE_REGIONS:
		if (objects_ && !qp.dead())
			w_.complain(std::string(name) +
				    ": memory is released that a peer reaches");
		for (region &reg : qp.regions)
			reg.exposed = false;
		break;
	case RPCRDMA_RELEASE_EXPOSED:
		while (conn.exposed) {
			exposure *x = exposure_of(conn.exposed);

			unexpose(x);
			release(x);
		}
		break;
	case RPCRDMA_RELEASE_BUFFERS:
		give(RPCRDMA_MEMORY_PARTS, assembly_.size());
		assembly_.clear();
		give(RPCRDMA_MEMORY_BUFFERS,
		     account.held[RPCRDMA_MEMORY_BUFFERS]);
		break;
	case RPCRDMA_RELEASE_GONE:
		if (params.memory) {
			rpcrdma_memory_leave(params.memory, &account);
			wake_waiting();
		}
		w_.tell("%s: closed", name);
		break;
	case RPCRDMA_RELEASE_TELL:
		ops_.closed(*this);
		break;
	case RPCRDMA_RELEASE_END:
		if (conn.cfg.client && !life.handed)
			ops_.failed(*this, status_);
		break;
	default:
		break;
	}
	return true;
}

/* Teardown steps that sleep let other events happen meanwhile. */
void endpoint::release()
{
	if (releasing_ == RPCRDMA_RELEASE_END)
		releasing_ =
			rpcrdma_life_release(&life, objects_, sq_.posted, 0);
	while (release_one(releasing_)) {
		if (releasing_ == RPCRDMA_RELEASE_END)
			return;
		const bool sleeps = releasing_ == RPCRDMA_RELEASE_DRAIN ||
				    releasing_ == RPCRDMA_RELEASE_PAUSE;

		releasing_ = rpcrdma_life_release(&life, objects_, sq_.posted,
						  stop_);
		stop_ = 0;
		if (sleeps) {
			w_.after(w_.delay(100), this, RELEASE);
			return;
		}
	}
	/* The setup context comes back by itself. */
	if (releasing_ != RPCRDMA_RELEASE_MAKER)
		w_.after(1000, this, RELEASE);
}

void endpoint::act(u32 what, u64 arg)
{
	u32 ev = 0;

	switch (what) {
	case NOTICE:
		news(RPCRDMA_NEWS_DISCONNECTED);
		break;
	case ANSWER:
		news(w_.fault(20) ? RPCRDMA_NEWS_UNRESOLVED :
				    RPCRDMA_NEWS_RESOLVED);
		break;
	case MAKE:
	case MAKE_LATE:
		/* A context woken twice runs once. */
		if (!sleeps_ || arg != slept_)
			break;
		sleeps_ = false;
		make(what == MAKE_LATE && !life.settled ? -ETIMEDOUT : 0);
		break;
	case RELEASE:
		release();
		break;
	case STALL:
		stall_watched_ = false;
		ev = stall_watch();
		if ((ev & RPCRDMA_EV_CLOSE) && !excuse_stall)
			w_.complain(std::string(name) + ": " + conn.reason);
		events(ev);
		break;
	case OVERDUE: {
		rpcrdma_overdue overdue;

		overdue_watched_ = false;
		if (!enter())
			break;
		while ((overdue = rpcrdma_conn_overdue(&conn, w_.now_ms()))
			       .exposure) {
			exposure *x = exposure_of(overdue.exposure);

			for (region *reg : x->regions)
				qp.excuse(reg);
			end_exposure(x);
		}
		if (overdue.wait) {
			overdue_watched_ = true;
			w_.after((overdue.wait + 1) * MILLISECOND, this,
				 OVERDUE);
		}
		leave();
		break;
	}
	case MAKE_REGIONS:
		make_regions();
		break;
	case REGIONS_MADE:
		regions_made(static_cast<u32>(arg));
		break;
	case READS:
		reads_tried_ = false;
		retry_reads();
		break;
	case OPEN_OVERDUE:
		carry_out(rpcrdma_life_overdue(&life));
		break;
	}
	check();
}

/* Run the actions that the engine asked for. */
void endpoint::events(u32 ev)
{
	if (ev & RPCRDMA_EV_CLOSE) {
		close(conn.reason);
		return;
	}
	if (ev & RPCRDMA_EV_ODD)
		carry_out(rpcrdma_life_odd(&life));
	if (ev & RPCRDMA_EV_RECEIVES)
		receives_due();
	if (ev & RPCRDMA_EV_OPENED)
		carry_out(rpcrdma_life_opened(&life));
	if (ev & (RPCRDMA_EV_CONTROL | RPCRDMA_EV_WINDOW))
		pump();
}

/* ---- Send contexts ---- */

/* Remove a free Send context that the account already counts as reserved. */
send_context *endpoint::pop()
{
	send_context *s;

	if (free_sends_.empty()) {
		w_.complain(std::string(name) + ": there is no Send context");
		return nullptr;
	}
	s = free_sends_.back();
	free_sends_.pop_back();
	s->header_length = 0;
	s->length = 0;
	s->writes = nullptr;
	s->last_of = nullptr;
	s->exposed = nullptr;
	return s;
}

send_context *endpoint::take_send()
{
	return rpcrdma_sq_take(&sq_) ? pop() : nullptr;
}

/*
 * A server's Replies leave some Send contexts to other senders: to a Call, or
 * to continued messages.
 */
send_context *endpoint::take_reply_send()
{
	if (conn.cfg.client)
		return take_send();
	return rpcrdma_sq_take_ahead(&sq_) ? pop() : nullptr;
}

send_context *endpoint::call_send()
{
	const bool may = rpcrdma_sq_may_call(&conn, &sq_);

	if (!may)
		stall_watch();
	return may ? call_send_ : nullptr;
}

/* Slots or contexts became free: post if any work waits for them. */
void endpoint::wanted()
{
	if (rpcrdma_sq_wanted(&sq_) || is_letter())
		pump();
}

void endpoint::put_send(send_context *s)
{
	free_sends_.push_back(s);
	rpcrdma_sq_give(&sq_);
	wanted();
}

void send_context::done(bool ok)
{
	transfer *t = writes;
	stream *st = last_of;

	if (buf.posted)
		ep->w_.complain("a Send is given back while the device has it");
	writes = nullptr;
	last_of = nullptr;
	ep->free_sends_.push_back(this);
	rpcrdma_sq_give(&ep->sq_);
	if (t)
		t->done(ok);
	if (st) {
		ep->give(RPCRDMA_MEMORY_REPLIES, st->held);
		ep->live_--;
		delete st;
	}
}

void stream::done(bool)
{
	if (writes)
		writes->done(false);
	ep->give(RPCRDMA_MEMORY_REPLIES, held);
	ep->live_--;
	delete this;
}

void transfer::done(bool ok)
{
	if (ok && !left.empty()) {
		ep->turn_of(this);
		return;
	}
	ep->unmake(this);
	rpcrdma_read_over(&ep->read_pool_, &claim);
	ep->wake_reads();
	if (ended)
		ended(ok);
	if (reply)
		ep->written(reply, ok);
	ep->free_transfer(this);
}

void invalidation::done(bool ok)
{
	endpoint *on = ep;

	ended(ok);
	on->live_--;
	delete this;
}

/* ---- Posting ---- */

bool endpoint::post(work *w)
{
	w->wrs.nr = static_cast<u32>(w->requests.size());
	rpcrdma_sq_post(&sq_, &w->wrs);
	return hand_over(w);
}

/* Submit a chain with reserved slots to the device. */
bool endpoint::hand_over(work *w)
{
	w->inflight = true;
	inflight_.push_back(w);
	/* Work that the device rejects comes back with the teardown. */
	if (w_.fault(1)) {
		w_.tell("%s: the device refuses work", name);
		w->refused = true;
		return false;
	}
	w->refused = !qp.post(w);
	return !w->refused;
}

void endpoint::prepare(send_context *s, u8 kind, u32 inv_handle)
{
	s->requests.clear();
	s->requests.push_back(
		{ op::send, nullptr, inv_handle, 0, &s->buf, 0, s->length });
	s->kind = kind;
	s->wrs.signaled = false;
}

void endpoint::chain_writes(send_context *s, transfer *writes)
{
	s->writes = writes;
	if (!writes || writes->left.empty())
		return;
	s->requests.insert(s->requests.begin(), writes->left.begin(),
			   writes->left.end());
	writes->left.clear();
	s->wrs.signaled = true;
}

bool endpoint::in_chain(u32 message, const transfer *writes) const
{
	return !writes ||
	       rpcrdma_sq_in_chain(&sq_, message,
				   static_cast<u32>(writes->left.size()));
}

/* Return as much of the transfer as can be posted at once. */
void endpoint::turn_of(transfer *t)
{
	const auto end = t->left.begin() +
			 static_cast<long>(std::min<size_t>(
				 t->left.size(), rpcrdma_sq_turn_wrs(&sq_)));

	t->requests.assign(t->left.begin(), end);
	t->left.erase(t->left.begin(), end);
	if (!t->left.empty())
		w_.sum.turns++;
	t->wrs.signaled = true;
	work_rdma(t);
}

void endpoint::chain_registrations(work *w,
				   const std::vector<region *> &regions)
{
	for (region *reg : regions)
		w->requests.insert(w->requests.begin(),
				   { op::reg, reg, reg->handle, 0, nullptr, 0,
				     0 });
}

void endpoint::expose_regions(const std::vector<region *> &regions)
{
	for (region *reg : regions) {
		reg->exposed = true;
		reg->used = true;
	}
}

/*
 * From here on, the memory of a pulled Reply belongs to the peer until DONE or
 * the time limit.
 */
void endpoint::expose(send_context *s)
{
	exposure *x = s->exposed;

	if (!x)
		return;
	s->exposed = nullptr;
	expose_regions(x->regions);
	rpcrdma_conn_exposed(&conn, &x->engine, x->inv_handle, w_.now_ms());
	if (!overdue_watched_) {
		overdue_watched_ = true;
		w_.after((conn.cfg.done_ms + 1) * MILLISECOND, this, OVERDUE);
	}
}

bool endpoint::post_send(send_context *s)
{
	expose(s);
	if (s->kind != WORK_CONTROL) {
		rpcrdma_conn_stamp(&conn,
				   static_cast<enum rpcrdma_kind>(s->kind),
				   s->buf.octets.data());
		letter_stamp(s->buf.octets.data(), false);
	}
	return post(s);
}

bool endpoint::post_control()
{
	send_context *s = pop();
	const rpcrdma_control control = rpcrdma_conn_next_control(
		&conn, s->buf.octets.data(), RPCRDMA_V2_DEFAULT_INLINE);

	s->length = control.octets;
	if (!s->length)
		w_.complain(std::string(name) +
			    ": a control message is due that is none");
	letter_stamp(s->buf.octets.data(), false);
	prepare(s, WORK_CONTROL, control.inv_handle);
	return post_send(s);
}

bool endpoint::post_transfer()
{
	work *w = transfers_.front();

	transfers_.pop_front();
	return post(w);
}

/* Return the number of bytes of the next part of a message. */
u32 endpoint::next_part(const stream *st, u32 &wrs, bool &more) const
{
	const u32 left = static_cast<u32>(st->data.size()) - st->sent;
	const auto [octets, rest] = rpcrdma_next_part(&conn, &st->lists, left);

	more = rest;
	if (octets > left || (more && (octets == left || octets % 4)))
		w_.complain("a message is cut wrongly");
	wrs = 1 + static_cast<u32>(st->regions.size());
	if (!more && st->writes)
		wrs += static_cast<u32>(st->writes->left.size());
	return octets;
}

/*
 * Post a part. The message stays the first waiting one until its last part is
 * posted.
 */
bool endpoint::post_part(stream *st)
{
	const bool waits = !messages_.empty() && messages_.front() == st;
	send_context *s = pop();
	u32 octets, wrs;
	bool more;

	octets = next_part(st, wrs, more);
	s->header_length = rpcrdma_encode_rpc(&conn, s->buf.octets.data(),
					      params.cfg.props.sbsiz, st->rpc,
					      RPCRDMA_CONTINUED, st->xid, more,
					      more ? nullptr : &st->lists);
	if (!s->header_length ||
	    s->header_length + octets > rpcrdma_conn_limits(&conn).send_inline)
		w_.complain("a part does not fit");
	memcpy(&s->buf.octets[s->header_length], &st->data[st->sent], octets);
	s->length = s->header_length + octets;
	prepare(s, static_cast<u8>(st->rpc), more ? 0 : st->inv_handle);
	chain_registrations(s, st->regions);
	st->regions.clear();
	st->sent += octets;
	if (!more) {
		chain_writes(s, st->writes);
		st->writes = nullptr;
		s->last_of = st;
		/* A Call may wait until these bytes are uncharged. */
		if (st->held)
			s->wrs.signaled = true;
		if (waits)
			messages_.pop_front();
		rpcrdma_conn_count(&conn, st->rpc, RPCRDMA_CONTINUED,
				   &st->lists);
	} else if (!waits) {
		messages_.push_front(st);
	}
	return post_send(s);
}

bool endpoint::post_message()
{
	work *w = messages_.front();

	if (w->kind == WORK_STREAM)
		return post_part(static_cast<stream *>(w));
	messages_.pop_front();
	return post_send(static_cast<send_context *>(w));
}

rpcrdma_sq_first endpoint::first() const
{
	rpcrdma_sq_first f{};

	if (!transfers_.empty())
		f.transfer_wrs =
			static_cast<u32>(transfers_.front()->requests.size());
	if (messages_.empty())
		return f;
	if (messages_.front()->kind == WORK_STREAM) {
		const auto *st = static_cast<const stream *>(messages_.front());
		bool more;

		next_part(st, f.message_wrs, more);
		f.kind = static_cast<u8>(st->rpc);
		f.parts = 1;
		f.more = more;
	} else {
		f.message_wrs =
			static_cast<u32>(messages_.front()->requests.size());
		f.kind = RPCRDMA_KIND_REPLY;
	}
	return f;
}

/*
 * Post the next action. Return false if the device rejected it. Clear @more if
 * there is no next action.
 */
bool endpoint::turn(bool &retry, bool &more)
{
	const rpcrdma_sq_first f = first();

	switch (rpcrdma_sq_next(&conn, &sq_, &f)) {
	case RPCRDMA_TURN_CONTROL:
		return post_control();
	case RPCRDMA_TURN_TRANSFER:
		return post_transfer();
	case RPCRDMA_TURN_MESSAGE:
		return post_message();
	case RPCRDMA_TURN_RETRY:
		retry = true;
		return true;
	case RPCRDMA_TURN_NONE:
		break;
	}
	more = false;
	return true;
}

/* Post everything that can be posted now. */
void endpoint::pump()
{
	bool retry = false, more = true, ok = true;

	if (!life.may_send)
		return;
	post_letter_grants();
	while (ok && more)
		ok = turn(retry, more);
	if (sq_.transfers != transfers_.size() ||
	    sq_.messages != messages_.size())
		w_.complain(std::string(name) + ": who waits is miscounted");
	if (!ok) {
		close("a Send could not be posted");
		return;
	}
	if (!messages_.empty() || conn.pend_count)
		stall_watch();
	if (retry)
		do_write_space();
}

void endpoint::do_write_space()
{
	if (!enter())
		return;
	ops_.write_space(*this);
	leave();
}

u32 endpoint::stall_watch()
{
	if (stall_watched_ || !is_open())
		return 0;

	const rpcrdma_stall stall = rpcrdma_conn_stalled(
		&conn, rpcrdma_sq_waits(&sq_), w_.now_ms());

	if (stall.wait) {
		stall_watched_ = true;
		w_.after((stall.wait + 1) * MILLISECOND, this, STALL);
	}
	return stall.events;
}

void endpoint::work_rdma(work *w)
{
	const u32 wrs = static_cast<u32>(w->requests.size());

	w->kind = WORK_RDMA;
	if (is_closing()) {
		w->done(false);
		return;
	}
	switch (rpcrdma_sq_transfer(&sq_, wrs)) {
	case RPCRDMA_SQ_GO:
		if (!post(w))
			close("RDMA Work Requests could not be posted");
		break;
	case RPCRDMA_SQ_WAIT:
		transfers_.push_back(w);
		break;
	case RPCRDMA_SQ_NEVER:
		w_.complain("RDMA that never fits the Send Queue");
		close("RDMA Work Requests could not be posted");
		w->done(false);
		break;
	}
}

/* ---- Calls and Replies ---- */

int endpoint::call_rc(rpcrdma_sq_answer may)
{
	if (may == RPCRDMA_SQ_GO)
		return 0;
	if (may == RPCRDMA_SQ_NEVER)
		return -EIO;
	stall_watch();
	return -EAGAIN;
}

int endpoint::send_call(send_context *s, const std::vector<region *> &regions,
			enum rpcrdma_format format, const rpcrdma_lists *lists)
{
	int rc;

	prepare(s, WORK_CALL, 0);
	chain_registrations(s, regions);
	if (!is_open())
		return -ENOTCONN;
	s->wrs.nr = static_cast<u32>(s->requests.size());
	rc = call_rc(rpcrdma_sq_call(&conn, &sq_, &s->wrs, s->buf.octets.data(),
				     format, lists));
	if (rc)
		return rc;
	if (s->length > rpcrdma_conn_limits(&conn).send_inline)
		w_.complain("a Call is above the inline threshold");
	call_send_ = pop();
	expose_regions(regions);
	letter_stamp(s->buf.octets.data(), false);
	if (!hand_over(s))
		close("a Call could not be posted");
	return 0;
}

stream *endpoint::new_stream(enum rpcrdma_kind kind, u32 xid,
			     const rpcrdma_lists *lists)
{
	auto *st = new stream;

	live_++;
	st->ep = this;
	st->kind = WORK_STREAM;
	st->rpc = kind;
	st->xid = xid;
	st->sent = 0;
	st->held = 0;
	st->inv_handle = 0;
	st->writes = nullptr;
	if (lists)
		st->lists = *lists;
	else
		rpcrdma_lists_init(&st->lists);
	return st;
}

int endpoint::send_continued_call(stream *st)
{
	bool more;
	u32 wrs;
	int rc;

	if (!is_open())
		return -ENOTCONN;
	next_part(st, wrs, more);
	rc = call_rc(rpcrdma_sq_call_in_parts(&conn, &sq_, wrs, more));
	if (rc)
		return rc;
	expose_regions(st->regions);
	if (post_part(st))
		pump();
	else
		close("a part of a Call could not be posted");
	return 0;
}

void endpoint::send_reply(send_context *s, transfer *writes, u32 inv_handle,
			  enum rpcrdma_format format,
			  const rpcrdma_lists *lists)
{
	exposure *x = s->exposed;
	rpcrdma_sq_answer may = RPCRDMA_SQ_NEVER;

	prepare(s, WORK_REPLY, inv_handle);
	if (x)
		chain_registrations(s, x->regions);
	if (!in_chain(static_cast<u32>(s->requests.size()), writes)) {
		if (is_open())
			rpcrdma_conn_count(&conn, RPCRDMA_KIND_REPLY, format,
					   lists);
		w_.sum.behind++;
		writes->reply = s;
		turn_of(writes);
		if (x)
			leave();
		return;
	}
	chain_writes(s, writes);
	if (is_open()) {
		s->wrs.nr = static_cast<u32>(s->requests.size());
		may = rpcrdma_sq_reply(&conn, &sq_, &s->wrs,
				       s->buf.octets.data(), format, lists);
		if (may == RPCRDMA_SQ_NEVER)
			w_.complain("a Reply never fits the Send Queue");
	}
	if (may == RPCRDMA_SQ_NEVER) {
		s->exposed = nullptr;
		s->done(false);
	} else {
		if (s->length > rpcrdma_conn_limits(&conn).send_inline)
			w_.complain("a Reply is above the inline threshold");
		if (may == RPCRDMA_SQ_WAIT) {
			messages_.push_back(s);
			pump();
		} else {
			expose(s);
			letter_stamp(s->buf.octets.data(), false);
			if (!hand_over(s))
				close("a Reply could not be posted");
		}
	}
	if (x)
		leave();
}

void endpoint::written(work *reply, bool ok)
{
	const bool parts = reply->kind == WORK_STREAM;
	const u32 wrs = parts ? 1 : static_cast<u32>(reply->requests.size());

	if (!ok || !is_open() ||
	    rpcrdma_sq_reply_waits(&sq_, wrs) == RPCRDMA_SQ_NEVER) {
		if (ok && is_open())
			w_.complain("a Reply never fits the Send Queue");
		reply->done(false);
		return;
	}
	messages_.push_back(reply);
	pump();
}

void endpoint::send_continued_reply(stream *st)
{
	const u32 writes =
		st->writes ? static_cast<u32>(st->writes->left.size()) : 0;

	if (!in_chain(1, st->writes)) {
		transfer *t = st->writes;

		w_.sum.behind++;
		st->writes = nullptr;
		t->reply = st;
		turn_of(t);
		return;
	}
	if (!is_open() ||
	    rpcrdma_sq_reply_waits(&sq_, 1 + writes) == RPCRDMA_SQ_NEVER) {
		if (is_open())
			w_.complain("a Reply never fits the Send Queue");
		st->done(false);
		return;
	}
	messages_.push_back(st);
	pump();
}

void endpoint::send_error(u32 xid, u32 code, u32 arg0, u32 arg1)
{
	if (is_open())
		events(rpcrdma_conn_queue_error(&conn, xid, code, arg0, arg1));
}

void endpoint::send_done(u32 xid, u32 inv_handle)
{
	if (is_open())
		events(rpcrdma_conn_queue_done(&conn, xid, inv_handle));
}

/* ---- Completions ---- */

void endpoint::completed(work *w)
{
	std::vector<work *> through;
	size_t kept = 0, i;

	if (!w->inflight)
		return;
	/* The queue pair must end first. */
	if (life.unstopped) {
		late_.push_back(w);
		return;
	}
	for (i = 0; i < inflight_.size(); i++) {
		work *other = inflight_[i];

		if (rpcrdma_sq_vouches(&w->wrs, &other->wrs))
			through.push_back(other);
		else
			inflight_[kept++] = other;
		if (other == w)
			break;
	}
	inflight_.erase(inflight_.begin() + static_cast<long>(kept),
			inflight_.begin() + static_cast<long>(i + 1));
	rpcrdma_sq_reaped(&sq_,
			  inflight_.empty() ? nullptr : &inflight_[0]->wrs);
	for (work *each : through) {
		each->inflight = false;
		each->done(!each->refused);
	}
	wanted();
	check();
}

void endpoint::end(std::vector<work *> &through)
{
	for (work *w : through) {
		w->inflight = false;
		w->done(false);
	}
}

void endpoint::flush_posted()
{
	std::vector<work *> through;

	for (work *w : late_)
		completed(w);
	late_.clear();
	through.swap(inflight_);
	end(through);
}

void endpoint::flush_waiting()
{
	std::vector<work *> through;

	through.insert(through.end(), reads_waiting_.begin(),
		       reads_waiting_.end());
	reads_waiting_.clear();
	through.insert(through.end(), transfers_.begin(), transfers_.end());
	through.insert(through.end(), messages_.begin(), messages_.end());
	transfers_.clear();
	messages_.clear();
	end(through);
}

/* ---- Receiving ---- */

/* Post @count free Receives. */
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

/* Post the free Receives if a batch is due. Return events. */
u32 endpoint::post_due()
{
	/*
	 * Runs are short: with microseconds passed for milliseconds, windows
	 * shrink a thousand times as soon.
	 */
	const u32 count = rpcrdma_conn_to_post(&conn, static_cast<u32>(w_.now));

	/*
	 * The reference credit model decides what is posted. Nothing else posts
	 * the Receives that it withholds.
	 */
	if (!count || is_letter())
		return 0;
	post_free(count);
	w_.sum.receive_posts++;
	return rpcrdma_conn_posted(&conn, count);
}

/* Allocate and post Receives once. Return true if another round is needed. */
bool endpoint::receives_round()
{
	const rpcrdma_receives want = rpcrdma_conn_to_make(&conn);
	const bool needed = want.need == RPCRDMA_RECEIVES_NEEDED;
	const u64 cost = receive_cost(want.octets);
	u32 made = 0, ev = 0, fit = want.count;

	if (params.memory && want.count) {
		fit = rpcrdma_memory_fits(params.memory, &account,
					  RPCRDMA_MEMORY_BUFFERS, cost,
					  want.count);
		if (fit < want.count)
			w_.sum.windows_bounded++;
	}
	/* Receives that are needed are allocated without faults. */
	for (; made < fit && (needed || !w_.fault(5)); made++)
		free_receives_.push_back(new_received(want.octets));
	hold(RPCRDMA_MEMORY_BUFFERS, made * cost);
	if (want.count)
		ev = rpcrdma_conn_made(&conn, made);
	if (is_letter()) {
		/* Post the first Receives all at once. */
		if (made) {
			post_free(made);
			ev = rpcrdma_conn_posted(&conn, made);
		}
		return ev & RPCRDMA_EV_RECEIVES;
	}
	if (!is_closing()) {
		const u32 posted = post_due();

		ev = posted ? posted : ev;
	}
	events(ev & ~u32{ RPCRDMA_EV_RECEIVES });
	return ev & RPCRDMA_EV_RECEIVES;
}

/* Allocate and post the Receives that the engine wants. */
void endpoint::receives_due()
{
	while (receives_round())
		;
}

void endpoint::give_back(received *rv)
{
	u32 ev;

	rv->assembled.clear();
	give(RPCRDMA_MEMORY_CALLS, rv->held);
	rv->held = 0;
	if (rv->spare) {
		rv->spare = false;
		spares_.push_back(rv);
		return;
	}
	if (is_closing())
		return;
	if (is_letter()) {
		/* For the engine's account, no Receive is withheld. */
		free_receives_.push_back(rv);
		post_free(letter_->give_back());
		ev = rpcrdma_conn_posted(&conn, 1);
		as_letter_says();
		events(ev | RPCRDMA_EV_CONTROL);
		return;
	}
	w_.sum.receives_given_back++;
	ev = rpcrdma_conn_given_back(&conn);
	if (ev & RPCRDMA_EV_LET_GO) {
		give(RPCRDMA_MEMORY_BUFFERS, receive_cost(rv->buf.size()));
		rv->buf = {};
		w_.sum.receives_let_go++;
	} else {
		free_receives_.push_back(rv);
	}

	events(ev & RPCRDMA_EV_RECEIVES ? post_due() : ev);
}

void endpoint::lend(received *rv)
{
	received *spare;

	rv->lent = true;
	lent++;
	/*
	 * With the credit model, only Calls hold their Receive. Any other
	 * message has a spare posted in place of its Receive.
	 */
	if (!is_letter() || rv->verdict == RPCRDMA_RX_CALL)
		return;
	if (spares_.empty())
		spares_.push_back(new_received(rv->buf.size()));
	spare = spares_.back();
	spares_.pop_back();
	give_back(spare);
	rv->spare = true;
}

void endpoint::put(received *rv)
{
	if (!rv->lent)
		w_.complain("a Receive is put twice");
	rv->lent = false;
	lent--;
	give_back(rv);
	check();
}

bool endpoint::append(received *rv)
{
	const u8 *from = rv->buf.data() + rv->rx.payload_offset;

	if (rv->rx.first_part) {
		give(RPCRDMA_MEMORY_PARTS, assembly_.size());
		assembly_.clear();
	}
	if (assembly_.size() + rv->rx.payload_length >
	    conn.cfg.props.reassembly)
		w_.complain("more is reassembled than was announced");
	/* Without memory the connection ends, whatever messages follow. */
	if (w_.fault(20))
		return false;
	if (params.memory &&
	    !rpcrdma_memory_fits(params.memory, &account, RPCRDMA_MEMORY_PARTS,
				 rv->rx.payload_length, 1)) {
		w_.trouble = true;
		w_.sum.no_room++;
		return false;
	}
	assembly_.insert(assembly_.end(), from, from + rv->rx.payload_length);
	hold(RPCRDMA_MEMORY_PARTS, rv->rx.payload_length);
	return true;
}

/*
 * The last part has arrived. A complete message is charged as one of the Calls.
 */
bool endpoint::assemble(received *rv)
{
	const u64 octets = assembly_.size() + rv->rx.payload_length;

	if (!append(rv))
		return false;
	/*
	 * With the earlier messages of this connection, the message exceeds its
	 * share.
	 */
	if (params.memory &&
	    !rpcrdma_memory_assembled(params.memory, &account, octets)) {
		w_.trouble = true;
		w_.sum.no_room++;
		return false;
	}
	rv->held = octets;
	rv->assembled.swap(assembly_);
	assembly_.clear();
	rv->payload = rv->assembled.data();
	rv->payload_length = static_cast<u32>(octets);
	if (rv->payload_length != rv->rx.total_length)
		w_.complain("parts of a message are missing");
	return true;
}

/*
 * A message that arrives before the connection's end, and is not processed
 * then, is processed by the drain.
 */
void endpoint::arrived(received *rv)
{
	if (params.silent)
		return;
	if (is_closing())
		behind_.push_back(rv);
	else
		receive(rv);
}

void endpoint::refuse(const char *reason)
{
	refused_ = true;
	rpcrdma_conn_refuse(&conn, reason);
	close(reason);
}

void endpoint::drain()
{
	received *rv;

	for (received *left : behind_)
		receive(left);
	behind_.clear();
	while ((rv = qp.next_arrival()))
		if (!params.silent)
			receive(rv);
}

void endpoint::receive(received *rv)
{
	u32 ev;

	if (params.refuses_props)
		spoil_props(rv);
	rv->rx.lists.more = nullptr;
	if (rpcrdma_wants_more_segs(&conn, rv->buf.data(), rv->length))
		rv->rx.lists.more = rv->more;
	rv->verdict = rpcrdma_conn_receive(&conn, rv->buf.data(), rv->length,
					   &rv->rx);
	ev = rv->rx.events;
	rv->payload = rv->buf.data() + rv->rx.payload_offset;
	rv->payload_length = rv->rx.payload_length;
	if (rv->rx.payload_offset + rv->rx.payload_length > rv->length)
		w_.complain("a payload beyond its message");
	if (is_letter()) {
		letter_received(rv);
		ev |= RPCRDMA_EV_CONTROL | RPCRDMA_EV_WINDOW;
	}
	if (ev & RPCRDMA_EV_OPENED) {
		events(ev & (RPCRDMA_EV_OPENED | RPCRDMA_EV_RECEIVES));
		ev &= ~(RPCRDMA_EV_OPENED | RPCRDMA_EV_RECEIVES);
	}

	switch (rv->verdict) {
	case RPCRDMA_RX_CLOSE:
		if (!conn.reason)
			w_.complain("the engine closes without a reason");
		close(conn.reason);
		return;
	case RPCRDMA_RX_PART:
		if (!append(rv)) {
			refuse("no memory to reassemble a message");
			return;
		}
		break;
	case RPCRDMA_RX_CALL:
	case RPCRDMA_RX_REPLY:
		if (rv->rx.format == RPCRDMA_CONTINUED && !assemble(rv)) {
			refuse("no memory to reassemble a message");
			return;
		}
		break;
	default:
		break;
	}
	if (!rpcrdma_may_invalidate(rv->verdict, &rv->rx, rv->inv_handle)) {
		if (qp.is_excused(rv->inv_handle))
			w_.trouble = true;
		else
			w_.complain(
				"a handle is invalidated that was not offered");
		refuse("the peer invalidated a handle it was not offered");
		return;
	}

	switch (rv->verdict) {
	case RPCRDMA_RX_CALL:
		if (rpcrdma_life_drops_calls(&life)) {
			give_back(rv);
			break;
		}
		lend(rv);
		ops_.call(*this, rv);
		break;
	case RPCRDMA_RX_REPLY:
	case RPCRDMA_RX_BAD_REPLY:
		lend(rv);
		ops_.reply(*this, rv);
		break;
	case RPCRDMA_RX_ERROR:
		lend(rv);
		ops_.error(*this, rv);
		break;
	case RPCRDMA_RX_PULLED: {
		exposure *x = exposure_of(rv->rx.exposed);

		if (rv->inv_handle)
			invalidated(x->regions, rv->inv_handle);
		end_exposure(x);
		give_back(rv);
		break;
	}
	default:
		give_back(rv);
		break;
	}
	events(ev);
	check();
}

/*
 * Set a property to an invalid value, so that the peer's properties are
 * refused.
 */
void endpoint::spoil_props(received *rv)
{
	constexpr u32 FIRST_VALUE = RPCRDMA_V2_PREFIX + 12;

	if (rv->length >= FIRST_VALUE + 4 &&
	    load(&rv->buf[4]) == RPCRDMA_VERS_2 &&
	    load(&rv->buf[12]) == RDMA2_CONNPROP)
		store(&rv->buf[FIRST_VALUE], 1);
}

/* ---- Shared memory ---- */

void endpoint::hold(rpcrdma_memory_use use, u64 octets)
{
	if (!params.memory)
		return;
	if (!rpcrdma_memory_hold_own(&account, use, octets))
		rpcrdma_memory_hold(params.memory, &account, use, octets);
	if (params.memory->used > params.most_memory)
		w_.complain(std::string(name) +
			    ": more memory is held than may be");
}

void endpoint::give(rpcrdma_memory_use use, u64 octets)
{
	bool tell;

	if (!params.memory || !octets)
		return;
	if (!rpcrdma_memory_give_own(params.memory, &account, use, octets,
				     &tell))
		tell = rpcrdma_memory_give(params.memory, &account, use,
					   octets);
	if (tell && is_open())
		ops_.memory_freed(*this);
	wake_waiting();
}

/* Another connection may wait for the memory that this one has released. */
void endpoint::wake_waiting()
{
	rpcrdma_memory_account *next;

	/* A connection that is refused again goes back to the list. */
	for (u32 n = params.memory->waiting; n; n--) {
		next = rpcrdma_memory_next(params.memory);
		if (!next)
			return;
		ops_.memory_freed(*this);
	}
}

/* ---- The reference credit model ---- */

/*
 * Overwrite the engine's credit account with the reference model's. An end with
 * this model uses the engine for everything but credits, and sends no credit
 * grants of the engine's.
 */
void endpoint::as_letter_says()
{
	if (!is_letter())
		return;
	conn.limit = conn.sent;
	if (letter_->may_call())
		conn.limit += 1000;
	else if (letter_->may_send())
		conn.limit++;
	/* No message is regarded as unsent. */
	conn.said = conn.counted + 1;
	conn.advertised = conn.received + 1000;
	conn.grants_unreplaced = 1;
}

void endpoint::post_letter_grants()
{
	while (is_letter() && conn.state != RPCRDMA_CONN_CLOSING &&
	       conn.props_sent && conn.answered && letter_->grant_due() &&
	       rpcrdma_sq_room(&sq_, 1) && rpcrdma_sq_take(&sq_)) {
		send_context *s = pop();

		s->length = rpcrdma_encode_header(&conn, s->buf.octets.data(),
						  RPCRDMA_V2_DEFAULT_INLINE, 0,
						  RDMA2_NOMSG, 0, nullptr);
		conn.sent++;
		letter_stamp(s->buf.octets.data(), true);
		prepare(s, WORK_CONTROL, 0);
		if (!post_send(s)) {
			close("a Send could not be posted");
			return;
		}
	}
}

void endpoint::letter_stamp(u8 *header, bool grant)
{
	if (!is_letter())
		return;

	const auto fields = letter_->send(grant);

	store(header + 8, fields.credit);
	store(header + 20, fields.received);
	as_letter_says();
}

void endpoint::letter_received(const received *rv)
{
	const u8 *m = rv->buf.data();

	post_free(letter_->receive({ load(m + 8), load(m + 20) },
				   load(m + 12) == RDMA2_NOMSG && !load(m),
				   rv->verdict == RPCRDMA_RX_CALL));
	as_letter_says();
}

/* ---- MRs ---- */

int endpoint::map(std::vector<region *> &regions, memory &mem, u32 at,
		  u32 length, bool writable, rpcrdma_lists &lists)
{
	const rpcrdma_cut cut = how_cut();

	while (length) {
		rpcrdma_region filled{};
		const u32 n = rpcrdma_region_take(
			&cut, &filled, at & (PAGE_OCTETS - 1), length);
		const u32 todo = rpcrdma_pool_take(&pool_);
		region *reg;

		carry_out_pool(todo);
		if (!(todo & RPCRDMA_POOL_TAKEN)) {
			w_.sum.regions_waited++;
			regions_wanted_ = true;
			refused(regions.size());
			return -EAGAIN;
		}
		refused_since_ = 0;
		if (free_regions_.empty()) {
			w_.complain("a region is taken that there is not");
			return -EIO;
		}
		reg = free_regions_.back();
		free_regions_.pop_back();
		reg->take(mem, at, n, writable);
		regions.push_back(reg);
		if (rpcrdma_lists_add_segment(&lists, reg->handle, n,
					      reg->offset))
			return -EMSGSIZE;
		at += n;
		length -= n;
	}
	return 0;
}

/* A message that holds @count MRs got no more. Complain if it waits forever. */
void endpoint::refused(size_t count)
{
	if (count + pool_.free != pool_.made)
		refused_since_ = 0;
	else if (!refused_since_)
		refused_since_ = w_.now;
	else if (w_.now - refused_since_ > 5 * SECOND)
		w_.complain(std::string(name) +
			    ": a message waits for regions that never come");
}

void endpoint::put_regions(std::vector<region *> &regions)
{
	const u32 count = static_cast<u32>(regions.size());
	bool used = false;
	u32 todo;

	for (region *reg : regions) {
		if (reg->exposed || reg->valid)
			w_.complain("a region is given back that is exposed");
		used |= reg->used;
		free_regions_.push_back(reg);
	}
	regions.clear();
	more_regions_ |= used;
	todo = rpcrdma_pool_give(&pool_, count, used);
	if (used && regions_wanted_ && !(todo & RPCRDMA_POOL_TELL))
		w_.complain(std::string(name) +
			    ": who waits for regions is not told of some");
	carry_out_pool(todo);
}

void endpoint::carry_out_pool(u32 todo)
{
	if (todo & RPCRDMA_POOL_MAKE)
		w_.after(w_.delay(10), this, MAKE_REGIONS);
	if (todo & RPCRDMA_POOL_PAUSE)
		w_.after(RPCRDMA_POOL_PAUSE_MS * MILLISECOND, this,
			 MAKE_REGIONS);
	if (todo & RPCRDMA_POOL_LATER)
		w_.after(RPCRDMA_POOL_LATER_MS * MILLISECOND, this,
			 MAKE_REGIONS);
	if (!(todo & RPCRDMA_POOL_TELL))
		return;
	/* Nothing has changed since the MRs were refused, except the time. */
	if (!more_regions_) {
		if (idly_told_ &&
		    w_.now - idly_told_ < RPCRDMA_POOL_PAUSE_MS * MILLISECOND)
			w_.complain(std::string(name) +
				    ": who waits for regions spins");
		idly_told_ = w_.now;
	}
	more_regions_ = false;
	regions_wanted_ = false;
	do_write_space();
}

/* Allocating MRs takes time, and memory, which may be short for a while. */
void endpoint::make_regions()
{
	u32 count = rpcrdma_pool_to_make(&pool_);

	if (is_closing())
		return;
	if (w_.fault(100))
		short_until_ = w_.now + w_.choose.below(200) * MILLISECOND;
	/* The device may be out of MRs for longer than the waiters wait. */
	if (w_.fault(30))
		none_until_ = w_.now + w_.choose.below(10000) * MILLISECOND;
	if (w_.now < short_until_)
		count /= 4 + w_.choose.below(8);
	if (w_.now < none_until_)
		count = 0;
	w_.after(w_.delay(40), this, REGIONS_MADE, count);
}

void endpoint::regions_made(u32 count)
{
	for (u32 i = 0; i < count; i++) {
		if (pool_.made + i >= qp.regions.size()) {
			w_.complain("more regions are made than there may be");
			return;
		}
		free_regions_.push_back(&qp.regions[pool_.made + i]);
	}
	more_regions_ |= count;
	carry_out_pool(rpcrdma_pool_made(&pool_, count));
}

bool endpoint::any_exposed(const std::vector<region *> &regions)
{
	for (const region *reg : regions) {
		if (reg->exposed)
			return true;
	}
	return false;
}

bool endpoint::invalidated(std::vector<region *> &regions, u32 handle)
{
	for (region *reg : regions) {
		if (reg->handle == handle && reg->exposed) {
			reg->exposed = false;
			return true;
		}
	}
	return false;
}

void endpoint::invalidate(const std::vector<region *> &regions,
			  std::function<void(bool)> ended)
{
	auto *inv = new invalidation;

	live_++;
	inv->ep = this;
	inv->wrs.signaled = true;
	for (region *reg : regions) {
		if (reg->exposed)
			inv->requests.push_back({ op::invalidate, reg,
						  reg->handle, 0, nullptr, 0,
						  0 });
	}
	/* With @ok the peer cannot access the MRs any more. */
	inv->ended = [regions, ended](bool ok) {
		if (ok) {
			for (region *reg : regions)
				reg->exposed = false;
		}
		ended(ok);
	};
	if (inv->requests.empty()) {
		inv->done(true);
		return;
	}
	work_rdma(inv);
}

/* ---- RDMA ---- */

/* Some devices read only into MRs, of which there are few. */
int endpoint::make_ready(transfer *t)
{
	if (!t->claim.reads || !params.read_into)
		return 0;
	if (!free_read_regions_)
		return -EAGAIN;
	free_read_regions_--;
	t->holds++;
	return 0;
}

int endpoint::make_all_ready(transfer *t)
{
	for (u32 i = 0; i < t->parts; i++) {
		const int rc = make_ready(t);

		if (rc)
			return rc;
	}
	return w_.fault(1) ? -ENOMEM : 0;
}

void endpoint::unmake(transfer *t)
{
	free_read_regions_ += t->holds;
	t->holds = 0;
}

void endpoint::wake_reads()
{
	if (!rpcrdma_read_wanted(&read_pool_) || reads_tried_)
		return;
	reads_tried_ = true;
	w_.after(w_.delay(5), this, READS);
}

void endpoint::post_reads(transfer *t)
{
	if (params.read_into && t->holds != t->claim.regions)
		w_.complain("Reads are posted without their regions");
	turn_of(t);
}

/* Retry the waiting Reads, in order. */
void endpoint::retry_reads()
{
	while (!reads_waiting_.empty()) {
		transfer *t = reads_waiting_.front();
		const int rc = make_all_ready(t);

		reads_waiting_.pop_front();
		if (rc)
			unmake(t);
		switch (rpcrdma_read_tried(&read_pool_, &t->claim, rc,
					   is_closing())) {
		case RPCRDMA_READ_POST:
			post_reads(t);
			break;
		case RPCRDMA_READ_FRONT:
			reads_waiting_.push_front(t);
			return;
		default:
			t->done(false);
			break;
		}
	}
}

transfer *endpoint::new_transfer(op what)
{
	transfer *t;

	if (!enter())
		return nullptr;
	t = new transfer;
	live_++;
	t->ep = this;
	t->claim.reads = what == op::read;
	rpcrdma_read_begin(&read_pool_, &t->claim);
	return t;
}

void endpoint::free_transfer(transfer *t)
{
	live_--;
	delete t;
	leave();
}

bool endpoint::add_transfer(transfer *t, const rpcrdma_lists &lists,
			    const rpcrdma_chunk &chunk, u32 chunk_offset,
			    memory &mem, u32 at, u32 length)
{
	rpcrdma_stretch left = { chunk_offset, 0, length };
	rpcrdma_segment segment;

	while (rpcrdma_chunk_next(&lists, &chunk, &left, &segment)) {
		u64 offset = segment.offset;

		for (u32 n, rest = segment.length; rest; rest -= n) {
			n = next_part_of(t, at, rest);
			t->left.push_back(
				{ t->claim.reads ? op::read : op::write,
				  nullptr, segment.handle, offset, &mem, at,
				  n });
			add_part(t);
			offset += n;
			at += n;
		}
	}
	return !left.length;
}

/* Return the length of the next part of a transfer, at most one MR's. */
u32 endpoint::next_part_of(const transfer *t, u32 at, u32 rest) const
{
	const rpcrdma_cut cut = { PAGE_SHIFT, read_pool_.pages, ~0u, false,
				  false };
	rpcrdma_region region{};

	if (!t->claim.reads || !params.read_into)
		return rest;
	return rpcrdma_region_take(&cut, &region, at % PAGE_OCTETS, rest);
}

void endpoint::add_part(transfer *t)
{
	t->parts++;
	if (rpcrdma_read_add(&read_pool_, &t->claim, 1)) {
		const int rc = make_ready(t);

		if (rc && !rpcrdma_read_short(&read_pool_, &t->claim, rc))
			w_.complain("a transfer cannot be made ready");
		if (rc) {
			unmake(t);
			wake_reads();
		}
	}
	if (!rpcrdma_read_fits(&read_pool_, &t->claim))
		w_.complain("a transfer that can never be posted");
}

void endpoint::read(transfer *t)
{
	if (t->left.empty()) {
		t->done(true);
		return;
	}
	switch (rpcrdma_read_whole(&t->claim, is_closing())) {
	case RPCRDMA_READ_POST:
		post_reads(t);
		break;
	case RPCRDMA_READ_BEHIND:
		w_.sum.reads_waited++;
		t->kind = WORK_RDMA;
		reads_waiting_.push_back(t);
		wake_reads();
		break;
	default:
		t->done(false);
		break;
	}
}

/* ---- Pulled Replies ---- */

exposure *endpoint::exposure_of(rpcrdma_exposure *x)
{
	return reinterpret_cast<exposure *>(reinterpret_cast<u8 *>(x) -
					    offsetof(exposure, engine));
}

void endpoint::unexpose(exposure *x)
{
	rpcrdma_conn_unexpose(&conn, &x->engine);
	put_regions(x->regions);
}

void endpoint::release(exposure *x)
{
	x->data.retire(w_, "a Reply to be pulled");
	give(RPCRDMA_MEMORY_REPLIES, x->held);
	live_--;
	delete x;
}

int endpoint::expose(exposure *x, u32 xid, rpcrdma_reply_plan *plan)
{
	int rc;

	if (!enter())
		return -ENOTCONN;
	x->ep = this;
	rc = rpcrdma_conn_expose(&conn, &x->engine, xid, plan);
	if (rc) {
		leave();
		return rc;
	}
	live_++;
	rpcrdma_lists_init(&x->lists);
	rpcrdma_lists_add_read(&x->lists, 0);
	rc = map(x->regions, x->data, 0, plan->read_length, false, x->lists);
	rc = rpcrdma_plan_expose(&conn, &pool_, rc, &x->lists, plan);
	if (rc)
		cancel_exposure(x);
	else
		x->inv_handle = plan->lists.inv_handle;
	return rc;
}

void endpoint::cancel_exposure(exposure *x)
{
	unexpose(x);
	live_--;
	leave();
}

void endpoint::end_exposure(exposure *x)
{
	invalidate(x->regions, [this, x](bool ok) {
		if (!ok) {
			close(nullptr);
			return;
		}
		unexpose(x);
		release(x);
	});
}

/* ---- Invariants ---- */

void endpoint::describe() const
{
	w_.tell("%s: stage %u, version %u; sent %u of %u, received %u, posted %u, advertised %u; %zu Sends free, %u of %u slots used; waiting: %zu messages, %zu transfers, %u control%s%s; %u Receives lent",
		name, life.stage, conn.version, u32{ conn.sent },
		u32{ conn.limit }, u32{ conn.received }, u32{ conn.posted },
		u32{ conn.advertised }, free_sends_.size(),
		sq_.posted - sq_.through, sq_.depth, messages_.size(),
		transfers_.size(), conn.pend_count,
		conn.tx_open ? ", one in parts" : "",
		sq_.call_wrs ? ", Calls" : "", lent);
}

void endpoint::check()
{
	const std::string who = std::string(name) + ": ";

	if (sq_.posted - sq_.through > sq_.depth)
		w_.complain(who + "the Send Queue runs over");
	if (sq_.contexts != free_sends_.size())
		w_.complain(who + "Sends are miscounted");
	if (pool_.free != free_regions_.size())
		w_.complain(who + "regions are miscounted");
	if (regions_wanted_ && !pool_.maker && pool_.free == pool_.made)
		w_.complain(who + "nobody has the regions that are waited for");
	if (conn.version == RPCRDMA_VERS_1 || params.silent || is_letter())
		return;
	if (distance(conn.advertised, conn.posted - 1) < 0)
		w_.complain(who + "advertises its reserve");
	if (distance(last_advertised_, conn.advertised) < 0)
		w_.complain(who + "takes back what it advertised");
	if (distance(last_limit_, conn.limit) < 0)
		w_.complain(who + "its limit moved back");
	if (distance(conn.limit, conn.sent) > 1)
		w_.complain(who + "sends beyond limit and reserve");
	if (conn.pend_count > RPCRDMA_MAX_PENDING_CONTROL)
		w_.complain(who + "too many control messages wait");
	last_advertised_ = conn.advertised;
	last_limit_ = conn.limit;
	/*
	 * Between ends that keep the rules, no connection closes with a reason.
	 */
	if (conn.state == RPCRDMA_CONN_CLOSING && conn.reason &&
	    !excuse_stall && !refused_)
		w_.complain(who + conn.reason);
}

void endpoint::check_gone()
{
	const std::string who = std::string(name) + ": ";

	if (!is_gone()) {
		w_.complain(who + "is never closed");
		return;
	}
	if (lent)
		w_.complain(who + "Receives are lent for ever");
	if (live_)
		w_.complain(who + "work is not freed");
	if (free_sends_.size() + 1 != sends_.size())
		w_.complain(who + "Sends are not given back");
	if (free_regions_.size() != pool_.made)
		w_.complain(who + "regions are not given back");
	if (free_read_regions_ != params.read_into || read_pool_.waiting)
		w_.complain(who + "regions for Reads are not given back");
	for (const region &reg : qp.regions) {
		if (reg.valid)
			w_.complain(who + "a region is valid for ever");
	}
	if (conn.exposed_octets)
		w_.complain(who + "exposed octets are miscounted");
	for (u64 octets : account.held) {
		if (octets)
			w_.complain(who + "memory is held for ever");
	}
}

} // namespace simulation
