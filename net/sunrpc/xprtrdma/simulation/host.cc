// SPDX-License-Identifier: GPL-2.0
#include "host.h"

#include <cerrno>
#include <cstring>

#include "network.h"

namespace simulation
{

constexpr u32 CALL = 0;
constexpr u32 REPLY = 1;
constexpr u32 STATUS_OK = 0;
constexpr u32 STATUS_UNCACHED = 1;

enum {
	/* an rpc's */
	TIMEOUT,
	WAIT_FOR_END,
	/* a served one's */
	SERVED,
	/* a host's */
	TRANSMIT_AGAIN,
	POLL,
};

static void store(u8 *to, u32 value)
{
	to[0] = static_cast<u8>(value >> 24);
	to[1] = static_cast<u8>(value >> 16);
	to[2] = static_cast<u8>(value >> 8);
	to[3] = static_cast<u8>(value);
}

static u32 load(const u8 *from)
{
	return u32{ from[0] } << 24 | u32{ from[1] } << 16 |
	       u32{ from[2] } << 8 | from[3];
}

/*
 * A whole RPC message: xid, direction, which RPC it is, one word more, and
 * octets that no other RPC has there. The roundup of an item is 0.
 */
static void fill(std::vector<u8> &m, u32 xid, u32 direction, u32 id, u32 word,
		 u32 length, u32 item)
{
	u64 x = (u64{ id } << 1 | direction) * 0x9e3779b97f4a7c15ull;

	m.resize(roundup4(length) + 8);
	for (u32 i = 16; i < length; i += 8, x += 0x0101010101010101ull + i)
		memcpy(&m[i], &x, 8);
	m.resize(length);
	store(&m[0], xid);
	store(&m[4], direction);
	store(&m[8], id);
	store(&m[12], word);
	for (u32 i = item; item && i < roundup4(item); i++)
		m[ITEM_POSITION + i] = 0;
}

/* @m without the item that is reduced */
static std::vector<u8> reduced(const std::vector<u8> &m, u32 item)
{
	std::vector<u8> r(m.begin(), m.begin() + ITEM_POSITION);

	r.insert(r.end(), m.begin() + ITEM_POSITION + roundup4(item), m.end());
	return r;
}

void rpc::act(u32 event, u64 arg)
{
	if (event == TIMEOUT) {
		if (arg == timer)
			owner->timed_out(this);
	} else {
		owner->act(event, id);
	}
}

void served::act(u32, u64)
{
	owner->serve(this);
}

host::host(world &w, network &net, bool client)
	: w_{ w }, net_{ net }, client_{ client }, next_xid_{
		  client ? 0x100u : 0x80000100u
	  }
{
}

/* ---- Tasks ---- */

rpc *host::begin(const spec &what, endpoint *bound, std::function<void()> ended)
{
	rpc *task = net_.new_rpc();

	task->owner = this;
	task->xid = next_xid_++;
	task->what = what;
	task->bound = bound;
	task->ended = std::move(ended);
	tasks_[task->xid] = task;
	encode(task);
	xmit_.push_back(task);
	w_.tell("%s: RPC %u, xid %x, %u (item %u) for %u (item %u) of %u, chain %u",
		client_ ? "client" : "server", task->id, task->xid,
		what.call_length, what.call_item, what.reply_length,
		what.reply_item, what.reply_max, what.chain);
	transmit();
	return task;
}

/* GSS makes each copy another one. */
void host::encode(rpc *task)
{
	task->sequence = next_sequence_++;
	fill(task->call.octets, task->xid, CALL, task->id, task->sequence,
	     task->what.call_length, task->what.call_item);
}

/* Its Reply came, or it will never come. */
void host::complete(rpc *task, int status)
{
	tasks_.erase(task->xid);
	task->status = status;
	release(task);
}

void host::release(rpc *task)
{
	if (!rpcrdma_exchange_release(&task->x))
		w_.complain("an RPC is released while a step is under way");
	if (!task->regions.empty())
		task->regions_of->put_regions(task->regions);
	task->call.retire(w_, "a Call");
	task->reply.retire(w_, "a Reply");
	task->item.retire(w_, "a result");
	task->state = rpc::OVER;
	w_.tell("RPC %u is over: %d", task->id, task->status);
	if (task->ended)
		task->ended();
	task->ended = nullptr;
	net_.rpc_over(task);
}

void host::kill(rpc *task)
{
	auto queued = std::find(xmit_.begin(), xmit_.end(), task);

	if (task->state != rpc::QUEUED && task->state != rpc::WAITING)
		return;
	w_.tell("RPC %u is killed", task->id);
	w_.sum.killed++;
	if (queued != xmit_.end())
		xmit_.erase(queued);
	tasks_.erase(task->xid);
	task->state = rpc::DYING;
	task->status = -EINTR;
	for (region *reg : task->regions)
		task->regions_of->qp.excuse(reg);
	/* As sunrpc does, wait until its answer is not worked on any more. */
	if (!task->pinned)
		take_back(task);
}

/* The task's memory may only go when nobody reaches it. */
void host::take_back(rpc *task)
{
	if (!endpoint::any_exposed(task->regions)) {
		release(task);
		return;
	}
	task->regions_of->invalidate(task->regions, [this, task](bool ok) {
		if (ok) {
			release(task);
			return;
		}
		task->regions_of->close(nullptr);
		w_.after(MILLISECOND, task, WAIT_FOR_END);
	});
}

void host::timed_out(rpc *task)
{
	if (task->state != rpc::WAITING || task->pinned)
		return;
	w_.sum.timed_out++;
	w_.tell("RPC %u waited too long", task->id);
	if (!task->unanswered)
		w_.complain("an RPC has no Reply for a minute");
	if (task->sent_on)
		task->sent_on->close("an RPC waited too long");
}

rpc *host::any_task()
{
	u32 n;

	if (tasks_.empty())
		return nullptr;
	n = w_.choose.below(static_cast<u32>(tasks_.size()));
	for (auto &each : tasks_) {
		if (!n--)
			return each.second;
	}
	return nullptr;
}

void host::act(u32 what, u64 arg)
{
	rpc *task;

	switch (what) {
	case WAIT_FOR_END:
		task = net_.find(static_cast<u32>(arg));
		if (task->regions_of->state != endpoint::CLOSED)
			w_.after(MILLISECOND, task, WAIT_FOR_END);
		else
			release(task);
		break;
	case TRANSMIT_AGAIN:
		transmitting_ = false;
		transmit();
		break;
	case POLL: {
		std::vector<served *> again;

		/* An earlier look has made up for this one. */
		if (arg != poll_)
			break;
		poll_at_ = 0;
		again.swap(waiting_);
		for (served *s : again)
			answer(s);
		break;
	}
	}
}

/* ---- Requester ---- */

/*
 * Send what may go, in order; but callbacks of one connection do not wait for
 * those of another.
 */
void host::transmit()
{
	const endpoint *blocked = nullptr;

	for (size_t i = 0; i < xmit_.size();) {
		rpc *task = xmit_[i];
		endpoint *on = connection_of(task);
		int rc;

		if (on && on == blocked) {
			i++;
			continue;
		}
		rc = try_send(task, on);
		if (rc == -EAGAIN) {
			blocked = on;
			i++;
			continue;
		}
		if (rc == -ENOTCONN && !task->bound) {
			net_.want_connection();
			return;
		}
		xmit_.erase(xmit_.begin() + static_cast<long>(i));
		if (!rc)
			continue;
		if (rc != -ENOTCONN) {
			w_.sum.failed++;
			w_.tell("RPC %u cannot be sent: %d", task->id, rc);
		}
		complete(task, rc);
	}
}

void host::transmit_soon()
{
	if (transmitting_)
		return;
	transmitting_ = true;
	w_.after(1, this, TRANSMIT_AGAIN);
}

/* Look at the Replies that wait, in @delay or before. */
void host::poll(u64 delay)
{
	if (poll_at_ && poll_at_ <= w_.now + delay)
		return;
	poll_at_ = w_.now + delay;
	w_.after(delay, this, POLL, ++poll_);
}

void host::geometry(rpc *task, const endpoint *on, rpcrdma_call *call)
{
	const spec &what = task->what;

	memset(call, 0, sizeof(*call));
	call->xid = task->xid;
	call->length = what.call_length;
	call->reply_max = what.reply_max;
	call->reverse = !client_;
	call->recovery = task->x.recovery;
	call->ddp = what.ddp;
	call->bulk = what.bulk;
	if (what.ddp && what.call_item) {
		call->item_position = ITEM_POSITION;
		call->item_length = what.call_item;
		call->item_segs =
			static_cast<u16>(on->count_regions(what.call_item));
	}
	if (what.ddp && what.reply_item) {
		call->result_max = what.reply_item;
		call->result_segs =
			static_cast<u16>(on->count_regions(what.reply_item));
	}
	/* Around an item, it is in two pieces. */
	call->call_segs =
		static_cast<u16>(on->count_regions(what.call_length) + 1);
	call->reply_segs = static_cast<u16>(on->count_regions(what.reply_max));
}

int host::map(rpc *task, endpoint *on, const rpcrdma_call_plan &plan)
{
	rpcrdma_lists &lists = task->x.lists;
	const spec &what = task->what;
	int rc = 0;

	task->regions_of = on;
	if (plan.format == RPCRDMA_SPECIAL) {
		if (rpcrdma_lists_add_read(&lists, 0))
			return -EMSGSIZE;
		if (plan.read_item) {
			const u32 after =
				ITEM_POSITION + roundup4(what.call_item);

			rc = on->map(task->regions, task->call, 0,
				     ITEM_POSITION, false, lists);
			if (!rc)
				rc = on->map(task->regions, task->call, after,
					     what.call_length - after, false,
					     lists);
		} else {
			rc = on->map(task->regions, task->call, 0,
				     what.call_length, false, lists);
		}
	}
	if (!rc && plan.read_item) {
		if (rpcrdma_lists_add_read(&lists, ITEM_POSITION))
			return -EMSGSIZE;
		rc = on->map(task->regions, task->call, ITEM_POSITION,
			     what.call_item, false, lists);
	}
	if (!rc && plan.write_chunk) {
		if (rpcrdma_lists_add_write(&lists))
			return -EMSGSIZE;
		task->item.octets.resize(what.reply_item);
		rc = on->map(task->regions, task->item, 0, what.reply_item,
			     true, lists);
	}
	if (!rc && plan.reply_chunk) {
		if (rpcrdma_lists_add_reply(&lists))
			return -EMSGSIZE;
		task->reply.octets.resize(what.reply_max);
		rc = on->map(task->regions, task->reply, 0, what.reply_max,
			     true, lists);
	}
	if (rc)
		return rc;
	rpcrdma_lists_offer(&lists);
	return 0;
}

/* Encode and hand it to the endpoint. */
int host::post(rpc *task, endpoint *on, const rpcrdma_call_plan &plan)
{
	const bool chunks = plan.read_item || plan.write_chunk ||
			    plan.reply_chunk || plan.format == RPCRDMA_SPECIAL;
	const rpcrdma_lists *lists = chunks ? &task->x.lists : nullptr;
	const u32 htype = plan.format == RPCRDMA_SPECIAL ? RDMA2_NOMSG :
							   RDMA2_MSG;
	std::vector<u8> payload;
	send_context *s;
	int rc;

	rpcrdma_lists_init(&task->x.lists);
	if (chunks) {
		rc = map(task, on, plan);
		if (rc)
			return rc;
	}
	if (plan.format != RPCRDMA_SPECIAL)
		payload = plan.read_item ? reduced(task->call.octets,
						   task->what.call_item) :
					   task->call.octets;
	if (payload.size() != plan.inline_length)
		w_.complain("a plan and its Call do not agree");

	if (plan.format == RPCRDMA_CONTINUED) {
		stream *st =
			on->new_stream(RPCRDMA_KIND_CALL, task->xid, lists);

		st->data = std::move(payload);
		st->regions = task->regions;
		rc = on->send_continued_call(st);
		if (rc)
			st->done(false);
	} else {
		s = on->take_send();
		if (!s)
			return -EAGAIN;
		s->header_length = rpcrdma_encode_header(
			&on->conn, s->buf.octets.data(),
			on->params.cfg.props.sbsiz, task->xid, htype, 0, lists);
		if (!s->header_length ||
		    s->header_length + payload.size() > on->limits.send_inline)
			w_.complain("a planned Call does not fit");
		std::copy(payload.begin(), payload.end(),
			  s->buf.octets.begin() + s->header_length);
		s->length = s->header_length + static_cast<u32>(payload.size());
		rc = on->send_call(s, task->regions,
				   static_cast<rpcrdma_format>(plan.format),
				   lists);
		if (rc)
			on->put_send(s);
	}
	return rc;
}

int host::try_send(rpc *task, endpoint *on)
{
	rpcrdma_call call;
	rpcrdma_call_plan plan;
	int rc;

	if (!on || !on->is_open())
		return -ENOTCONN;
	if (rpcrdma_exchange_begin(&task->x, &on->conn)) {
		w_.complain("a Call is sent twice on one connection");
		return -ENOTCONN;
	}
	if (task->what.reply_max >= learnt_ && !task->x.recovery.given_in)
		task->x.recovery.reply_needed = task->what.reply_max;
	if (!task->regions.empty()) {
		if (task->regions_of->state != endpoint::CLOSED)
			w_.complain("regions of a connection that is not gone");
		task->regions_of->put_regions(task->regions);
	}
	if (!on->may_call())
		return -EAGAIN;
	geometry(task, on, &call);
	rc = rpcrdma_plan_call(&on->conn, &call, &plan);
	if (rc)
		return rc;
	/* What is sent may be answered before this returns. */
	rc = post(task, on, plan);
	if (rc) {
		if (!task->regions.empty())
			on->put_regions(task->regions);
		return rc;
	}
	rpcrdma_exchange_sent(&task->x, &on->conn);
	task->sent_on = on;
	task->state = rpc::WAITING;
	w_.after(RPC_TIME, task, TIMEOUT, ++task->timer);
	return 0;
}

rpc *host::claim(endpoint &from, u32 xid)
{
	auto found = tasks_.find(xid);

	if (found == tasks_.end() ||
	    !rpcrdma_exchange_claim(&found->second->x, &from.conn))
		return nullptr;
	found->second->pinned = true;
	return found->second;
}

/* Nothing is left to be done for the answer: the task may be killed, or is. */
void host::unpin(rpc *task)
{
	task->pinned = false;
	if (task->state == rpc::DYING)
		take_back(task);
}

/* What is known about a Reply's memory: its result has a place of its own. */
static rpcrdma_room room_of(const spec &what)
{
	if (what.ddp && what.reply_item)
		return { ITEM_POSITION, what.reply_item,
			 what.reply_max - ITEM_POSITION };
	return { what.reply_max, 0, 0 };
}

void host::reply(endpoint &from, received *rv)
{
	rpcrdma_arrival a{};
	rpcrdma_step s;
	rpc *task = claim(from, rv->rx.xid);

	a.rx = &rv->rx;
	a.bad = rv->verdict == RPCRDMA_RX_BAD_REPLY;
	if (!task) {
		s = rpcrdma_exchange_stray(a.rx, a.bad);
		from.put(rv);
		if (s.todo & RPCRDMA_STEP_DONE)
			from.send_done(s.xid, s.handle);
		return;
	}
	if (client_)
		net_.reset_backoff();
	task->rv = rv;
	a.inv_handle = rv->inv_handle;
	if (a.inv_handle)
		a.exposed = endpoint::invalidated(task->regions, a.inv_handle);
	a.length = rv->payload_length;
	a.room = room_of(task->what);
	carry_out(task, from, rpcrdma_exchange_reply(&task->x, &from.conn, &a));
}

void host::error(endpoint &from, received *rv)
{
	rpc *task = claim(from, rv->rx.xid);
	rpcrdma_call call;
	u32 code = rv->rx.error.code;
	int status;

	if (!task) {
		from.put(rv);
		return;
	}
	w_.tell("RPC %u is refused: %s", task->id, rpcrdma_error_name(code));
	w_.sum.refused++;
	geometry(task, &from, &call);
	status = rpcrdma_call_refused(&from.conn, &rv->rx, &call,
				      &task->x.lists, &task->x.recovery);
	rpcrdma_conn_limits(&from.conn, &from.limits);
	from.put(rv);
	/* It was executed: the service may know another copy of it. */
	if (!status && (code == RDMA2_ERR_REPLY_RESOURCE ||
			code == RDMA2_ERR_WRITE_RESOURCE)) {
		encode(task);
		/* Nor may the next one of that size be refused. */
		learnt_ = std::min(learnt_, task->what.reply_max);
	}
	if (++task->refusals > 16)
		w_.complain("a Call is refused for ever");
	carry_out(task, from, rpcrdma_exchange_error(&task->x, status));
}

/* What the engine looks at of a Reply that is not in a Receive */
static const void *first_of(const rpc *task)
{
	return task->reply.octets.size() < 8 ? nullptr :
					       task->reply.octets.data();
}

/* Do what the engine says, in its order. */
void host::carry_out(rpc *task, endpoint &from, rpcrdma_step s)
{
	do {
		/* No end that follows the profile sends such a Reply. */
		if (s.todo & RPCRDMA_STEP_REPORT)
			w_.complain(s.reason);
		if (s.todo & RPCRDMA_STEP_PLACE)
			task->stream.assign(task->rv->payload,
					    task->rv->payload +
						    task->rv->payload_length);
		if (s.todo & RPCRDMA_STEP_PUT) {
			received *rv = task->rv;

			task->rv = nullptr;
			from.put(rv);
		}
		if (s.todo & RPCRDMA_STEP_CLOSE)
			from.close(s.reason);

		if (s.todo & RPCRDMA_STEP_COMPLETE) {
			if (s.status < 0) {
				w_.sum.failed++;
				task->status = s.status;
			}
			if (s.status >= 0 && task->state != rpc::DYING) {
				task->pinned = false;
				deliver(task, assemble(task));
			} else {
				/* Its memory may still be in reach. */
				tasks_.erase(task->xid);
				task->state = rpc::DYING;
				unpin(task);
			}
		} else if (s.todo & RPCRDMA_STEP_PULL) {
			pull(task, from);
		} else if (s.todo & RPCRDMA_STEP_AGAIN) {
			requeue(task);
		} else if (s.todo & RPCRDMA_STEP_LEAVE) {
			unpin(task);
		}

		if (s.todo & RPCRDMA_STEP_DONE)
			from.send_done(s.xid, s.handle);
	} while (s.todo & RPCRDMA_STEP_INVALIDATE &&
		 invalidate(task, from, &s));
}

/* Returns whether there is another step to be carried out. */
bool host::invalidate(rpc *task, endpoint &from, rpcrdma_step *s)
{
	if (!endpoint::any_exposed(task->regions)) {
		from.put_regions(task->regions);
		*s = rpcrdma_exchange_invalidated(&task->x, true,
						  first_of(task));
		return true;
	}
	from.invalidate(task->regions, [this, task, &from](bool ok) {
		if (ok)
			from.put_regions(task->regions);
		carry_out(task, from,
			  rpcrdma_exchange_invalidated(&task->x, ok,
						       first_of(task)));
	});
	return false;
}

void host::pull(rpc *task, endpoint &from)
{
	const u32 octets = task->x.placed.pull_octets;
	received *rv = task->rv;
	transfer *t;

	task->rv = nullptr;
	w_.sum.pulled++;
	task->reply.octets.resize(octets);
	t = from.new_transfer();
	if (!t) {
		from.put(rv);
		carry_out(task, from,
			  rpcrdma_exchange_pulled(&task->x, RPCRDMA_PULL_SHORT,
						  nullptr));
		return;
	}
	if (!from.add_transfer(t, op::read, rv->rx.lists, rv->rx.lists.reads[0],
			       0, task->reply, 0, octets))
		w_.complain("a Read chunk is short");
	from.put(rv);
	t->ended = [this, task, &from](bool ok) {
		carry_out(task, from,
			  rpcrdma_exchange_pulled(&task->x,
						  ok ? RPCRDMA_PULL_OK :
						       RPCRDMA_PULL_FAILED,
						  first_of(task)));
	};
	from.read(t);
}

/* The whole Reply from where its parts are */
std::vector<u8> host::assemble(rpc *task) const
{
	const rpcrdma_parts &parts = task->x.parts;
	const rpcrdma_placed &placed = task->x.placed;
	const std::vector<u8> &stream =
		placed.pull_octets || placed.reply_octets ? task->reply.octets :
							    task->stream;
	const u8 *from = stream.data();
	std::vector<u8> whole(from, from + parts.head);

	from += parts.head;
	if (parts.reduced) {
		const u8 *item = task->item.octets.data();

		whole.insert(whole.end(), item, item + parts.pages);
	} else {
		whole.insert(whole.end(), from, from + parts.pages);
		from += parts.pages;
	}
	whole.insert(whole.end(), parts.pad, 0);
	whole.insert(whole.end(), from, from + parts.tail);
	if (whole.size() != parts.octets)
		w_.complain("the parts of a Reply are not the whole of it");
	return whole;
}

void host::requeue(rpc *task)
{
	rpcrdma_exchange_again(&task->x);
	task->pinned = false;
	if (task->state == rpc::DYING) {
		take_back(task);
		return;
	}
	/* Some tasks hear of it before they go to sleep. */
	if (task->id & 1 && !rpcrdma_exchange_resend(&task->x))
		w_.complain("a task waits for a Call that is not sent");
	task->state = rpc::QUEUED;
	xmit_.push_back(task);
	transmit_soon();
}

/* The Reply is whole: is it the right one? */
void host::deliver(rpc *task, const std::vector<u8> &whole)
{
	const spec what = task->what;
	const u32 id = task->id, replays = task->replays;
	std::vector<u8> expected;
	std::function<void()> ended;

	if (whole.size() < MIN_MESSAGE) {
		w_.complain("a Reply is short");
		complete(task, -EIO);
		return;
	}
	if (load(&whole[12]) == STATUS_UNCACHED && what.session) {
		/* The client asks anew, in another RPC. */
		rpc *next;

		fill(expected, task->xid, REPLY, id, STATUS_UNCACHED,
		     MIN_MESSAGE, 0);
		if (whole != expected)
			w_.complain("octets of a Reply are wrong");
		ended = std::move(task->ended);
		task->ended = nullptr;
		w_.tell("RPC %u was executed before: anew", id);
		next = begin(what, nullptr, std::move(ended));
		next->replays = replays + 1;
		if (next->replays > 40)
			w_.complain("an RPC is executed for ever");
		complete(task, 0);
		return;
	}
	fill(expected, task->xid, REPLY, id, STATUS_OK, what.reply_length,
	     what.reply_item);
	if (whole != expected)
		w_.complain("octets of a Reply are wrong");
	complete(task, 0);
}

/* ---- Connections ---- */

void host::connected(endpoint *now)
{
	ep = now;
	transmit_soon();
}

/* @gone is off the device: what waits for Replies from it asks again. */
void host::disconnected(endpoint *gone)
{
	std::vector<rpc *> again;

	for (auto &each : tasks_) {
		rpc *task = each.second;

		if (task->pinned)
			w_.complain("an answer outlives its connection");
		if (task->bound == gone ||
		    (task->state == rpc::WAITING && !task->bound && ep == gone))
			again.push_back(task);
	}
	std::sort(again.begin(), again.end(),
		  [](const rpc *a, const rpc *b) { return a->id < b->id; });
	if (ep == gone)
		ep = nullptr;
	for (rpc *task : again) {
		if (task->bound) {
			auto queued =
				std::find(xmit_.begin(), xmit_.end(), task);

			if (queued != xmit_.end())
				xmit_.erase(queued);
			complete(task, -ENOTCONN);
			continue;
		}
		task->sent_on = nullptr;
		task->state = rpc::QUEUED;
		task->timer++;
		encode(task);
		xmit_.push_back(task);
	}
	transmit_soon();
}

void host::write_space(endpoint &)
{
	transmit_soon();
	if (!waiting_.empty())
		poll(1);
}

void host::opened(endpoint &from)
{
	net_.opened(from);
}

void host::closed(endpoint &from)
{
	net_.closed(from);
	disconnected(&from);
}

/* ---- Responder ---- */

void host::end(served *s)
{
	received *rv = s->rv;

	s->rv = nullptr;
	s->call.retire(w_, "a Call that is served");
	serving_--;
	if (rv)
		s->ep->put(rv);
}

void host::refuse(served *s, u32 code, u32 arg0, u32 arg1)
{
	s->ep->send_error(s->rv->rx.xid, code, arg0, arg1);
	end(s);
}

void host::call(endpoint &from, received *rv)
{
	const rpcrdma_lists &lists = rv->rx.lists;
	const bool special = rv->rx.format == RPCRDMA_SPECIAL;
	u32 base_length, base = 0, out = 0, i = 0, total;
	transfer *t = nullptr;
	served *s;

	all_served_.push_back(std::make_unique<served>());
	s = all_served_.back().get();
	s->owner = this;
	s->ep = &from;
	s->rv = rv;
	serving_++;

	if (special) {
		base_length = lists.reads[0].length;
		i = 1;
	} else {
		base_length = rv->payload_length;
	}
	total = base_length;
	for (u32 n = i; n < lists.nr_reads; n++)
		total += roundup4(lists.reads[n].length);
	s->call.octets.resize(total);
	if (lists.nr_reads) {
		t = from.new_transfer();
		if (!t) {
			end(s);
			return;
		}
	}
	for (;; i++) {
		const rpcrdma_chunk *item =
			i < lists.nr_reads ? &lists.reads[i] : nullptr;
		u32 n = base_length - base;

		if (item) {
			if (item->position < out || item->position - out > n) {
				w_.complain("a Read chunk is nowhere");
				n = 0;
			} else {
				n = item->position - out;
			}
		}
		if (n && special) {
			if (!from.add_transfer(t, op::read, lists,
					       lists.reads[0], base, s->call,
					       out, n))
				w_.complain("a Read chunk is short");
		} else if (n) {
			memcpy(&s->call.octets[out], rv->payload + base, n);
		}
		base += n;
		out += n;
		if (!item)
			break;
		if (!from.add_transfer(t, op::read, lists, *item, 0, s->call,
				       out, item->length))
			w_.complain("a Read chunk is short");
		out += roundup4(item->length);
	}
	if (!t) {
		execute(s);
		return;
	}
	t->ended = [this, s](bool ok) {
		pulled(s, ok);
	};
	from.read(t);
}

void host::pulled(served *s, bool ok)
{
	if (!ok) {
		s->ep->close("Reads of a Call failed");
		end(s);
		return;
	}
	execute(s);
}

/* The Call is whole. */
void host::execute(served *s)
{
	const std::vector<u8> &call = s->call.octets;
	std::vector<u8> expected;
	rpc *task = nullptr;
	u32 sequence;

	if (call.size() >= MIN_MESSAGE)
		task = net_.find(load(&call[8]));
	if (!task || task->owner == this) {
		w_.complain("a Call that nobody made");
		end(s);
		return;
	}
	sequence = load(&call[12]);
	fill(expected, task->xid, CALL, task->id, sequence,
	     task->what.call_length, task->what.call_item);
	if (call != expected)
		w_.complain("octets of a Call are wrong");
	s->rpc_id = task->id;
	if (!net_.new_sequence(task->id, sequence) && task->what.sequenced) {
		task->unanswered = true;
		w_.complain("a sequence number comes a second time");
		end(s);
		return;
	}
	s->uncached = net_.executed(task->id) && task->what.session;
	w_.after(w_.delay(net_.chosen().slow ? 2000 : 20), s, SERVED);
}

/* The service has finished, but for what it waits for. */
void host::serve(served *s)
{
	rpc *task = net_.find(s->rpc_id);
	spec inner;

	s->ready = true;
	s->since = w_.now;
	/*
	 * Version 1 lets one Call go until the first Reply: if that one waited
	 * for a second, it would wait for ever.
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

/* Send the Reply. */
void host::answer(served *s)
{
	endpoint *on = s->ep;
	const spec &what = net_.find(s->rpc_id)->what;
	rpcrdma_reply reply{};
	rpcrdma_reply_plan plan;
	std::vector<u8> whole;
	send_context *send;
	int rc;

	if (!on->is_open()) {
		end(s);
		return;
	}
	/* A plan uses up the Call's lists: first, what it may lack. */
	send = on->take_reply_send();
	if (!send) {
		if (w_.now - s->since > 5 * SECOND)
			w_.complain("a Reply waits too long for a Send");
		waiting_.push_back(s);
		poll(100 * MILLISECOND);
		return;
	}

	reply.xid = s->rv->rx.xid;
	reply.reverse = client_;
	if (s->uncached) {
		fill(whole, reply.xid, REPLY, s->rpc_id, STATUS_UNCACHED,
		     MIN_MESSAGE, 0);
	} else {
		fill(whole, reply.xid, REPLY, s->rpc_id, STATUS_OK,
		     what.reply_length, what.reply_item);
		if (what.reply_item && what.ddp) {
			reply.nr_items = 1;
			reply.items[0] = { ITEM_POSITION, what.reply_item };
		}
	}
	reply.length = static_cast<u32>(whole.size());
	rpcrdma_plan_reply(&on->conn, &s->rv->rx.lists, &reply, &plan);
	if (plan.error) {
		on->put_send(send);
		refuse(s, plan.error, plan.arg[0], plan.arg[1]);
		return;
	}
	rc = answer_one(s, whole, reply, &plan, send);
	if (rc == -EAGAIN) {
		/* Regions are taken; others give theirs back. */
		waiting_.push_back(s);
		poll(20 * MILLISECOND);
		return;
	}
	if (plan.error) {
		refuse(s, plan.error, plan.arg[0], plan.arg[1]);
		return;
	}
	end(s);
}

int host::answer_one(served *s, const std::vector<u8> &whole,
		     const rpcrdma_reply &reply, rpcrdma_reply_plan *plan,
		     send_context *send)
{
	endpoint *on = s->ep;
	const u32 item = plan->nr_items ? reply.items[0].length : 0;
	const u32 htype = plan->format == RPCRDMA_SPECIAL ? RDMA2_NOMSG :
							    RDMA2_MSG;
	std::vector<u8> rest = item ? reduced(whole, item) : whole;
	exposure *x = nullptr;
	transfer *t = nullptr;
	int rc;

	if (plan->inline_length + plan->reply_length + plan->read_length !=
	    rest.size())
		w_.complain("a plan and its Reply do not agree");
	if (plan->read_length) {
		x = new exposure;
		x->data.octets = rest;
		rc = on->expose(x, reply.xid, plan);
		if (rc) {
			delete x;
			on->put_send(send);
			if (rc != -EAGAIN && !plan->error)
				on->close("no resources to send a Reply");
			return rc;
		}
	}
	if (item || plan->reply_length) {
		/* The pages of the Reply, until the device has read them */
		auto pages = std::make_shared<memory>();
		bool ok = true;

		pages->octets = rest;
		pages->octets.insert(pages->octets.end(),
				     whole.begin() + ITEM_POSITION,
				     whole.begin() + ITEM_POSITION + item);
		t = on->new_transfer();
		if (!t) {
			if (x) {
				on->cancel_exposure(x);
				delete x;
			}
			on->put_send(send);
			return -ENOTCONN;
		}
		if (item)
			ok = on->add_transfer(t, op::write, plan->lists,
					      plan->lists.writes[0], 0, *pages,
					      static_cast<u32>(rest.size()),
					      item);
		if (plan->reply_length)
			ok &= on->add_transfer(t, op::write, plan->lists,
					       plan->lists.reply, 0, *pages, 0,
					       plan->reply_length);
		if (!ok)
			w_.complain("a chunk to be written is short");
		t->ended = [this, pages](bool) {
			pages->retire(w_, "a Reply that is written");
		};
	}
	if (plan->format == RPCRDMA_CONTINUED) {
		on->put_send(send);

		stream *st = on->new_stream(RPCRDMA_KIND_REPLY, reply.xid,
					    &plan->lists);

		st->data = std::move(rest);
		st->writes = t;
		st->inv_handle = plan->inv_handle;
		on->send_continued_reply(st);
		return 0;
	}
	send->header_length = rpcrdma_encode_header(
		&on->conn, send->buf.octets.data(), on->limits.send_inline,
		reply.xid, htype, RDMA2_F_RESPONSE, &plan->lists);
	if (!send->header_length ||
	    send->header_length + plan->inline_length > on->limits.send_inline)
		w_.complain("a planned Reply does not fit");
	std::copy_n(rest.begin(), plan->inline_length,
		    send->buf.octets.begin() + send->header_length);
	send->length = send->header_length + plan->inline_length;
	if (rpcrdma_reply_is_credit(&on->conn)) {
		received *rv = s->rv;

		s->rv = nullptr;
		on->put(rv);
	}
	send->exposed = x;
	on->send_reply(send, t, plan->inv_handle,
		       static_cast<rpcrdma_format>(plan->format), &plan->lists);
	return 0;
}

} // namespace simulation
