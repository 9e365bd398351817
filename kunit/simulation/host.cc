// SPDX-License-Identifier: GPL-2.0
#include "host.hh"

#include <cerrno>
#include <cstring>

#include "network.hh"

namespace simulation
{

enum {
	/* events of an rpc */
	TIMEOUT,
	WAIT_FOR_END,
	/* events of a host */
	TRANSMIT_AGAIN,
	POLL,
};

void fill(std::vector<u8> &m, u32 xid, u32 direction, u32 id, u32 word,
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

/* Return @m without the item that is reduced. */
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
	/* Its task is awake. */
	asleep_ = false;
	w_.tell("%s: RPC %u, xid %x, %u (item %u) for %u (item %u) of %u, chain %u",
		client_ ? "client" : "server", task->id, task->xid,
		what.call_length, what.call_item, what.reply_length,
		what.reply_item, what.reply_max, what.chain);
	transmit();
	return task;
}

/* With GSS, each encoding of a Call differs. */
void host::encode(rpc *task)
{
	task->sequence = next_sequence_++;
	fill(task->call.octets, task->xid, CALL, task->id, task->sequence,
	     task->what.call_length, task->what.call_item);
}

/* Complete the RPC. Its Reply has arrived or never will. */
void host::complete(rpc *task, int status)
{
	/*
	 * A task fails for its own Call that cannot be sent, not for another's.
	 */
	if (task->state == rpc::QUEUED && status && status != -ENOTCONN &&
	    status != task->refused)
		w_.complain("an RPC ends for what another one met");
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
	if (task->what.bad && !task->status)
		w_.complain("a bad Reply is taken");
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
	/* As sunrpc does, wait until its answer is no longer processed. */
	if (!task->pinned)
		take_back(task);
}

/*
 * Invalidate the task's memory, which may only be freed when the peer cannot
 * access it any more.
 */
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
	if (client_)
		net_.client_link().drop();
	else if (task->sent_on)
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
		if (!task->regions_of->is_gone())
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

		/* An earlier poll has replaced this one. */
		if (arg != poll_)
			break;
		poll_at_ = 0;
		again.swap(waiting_);
		for (served *s : again)
			answer(s);
		take();
		break;
	}
	}
}

/* ---- Requester ---- */

/*
 * Send the Calls that can be sent, in order. Callbacks of one connection do not
 * wait for those of another.
 */
void host::transmit()
{
	const endpoint *blocked = nullptr;

	if (client_ && (asleep_ || net_.client_link().is_locked()))
		return;
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
			link &mine = net_.client_link();

			asleep_ = !mine.is_connected();
			if (asleep_)
				mine.connect();
			else
				mine.drop();
			return;
		}
		xmit_.erase(xmit_.begin() + static_cast<long>(i));
		if (!rc)
			continue;
		if (rc != -ENOTCONN) {
			task->refused = rc;
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

/* Process the waiting Replies in @delay, or earlier. */
void host::poll(u64 delay)
{
	if (poll_at_ && poll_at_ <= w_.now + delay)
		return;
	poll_at_ = w_.now + delay;
	w_.after(delay, this, POLL, ++poll_);
}

/* Call @f(index, offset, length) for each item of @length bytes in all. */
template <typename F>
static void each_item(u32 pieces, u32 item, F f)
{
	for (u32 i = 0; i < pieces; i++) {
		const u32 from = spec::piece(item, pieces, i);

		f(i, from, spec::piece(item, pieces, i + 1) - from);
	}
}

/* Call @f for each result, with the length of its Write chunk. */
template <typename F>
static void each_chunk(const rpc *task, F f)
{
	const spec &what = task->what;

	each_item(what.reply_pieces, what.reply_item,
		  [&](u32 i, u32 from, u32 length) {
			  if (what.empty >> i & 1)
				  length = 0;
			  else if (what.too_short >> i & 1)
				  length /= 2;
			  f(i, from, length);
		  });
}

/*
 * Return the bytes of the result that have a Write chunk. The rest of the
 * result is conveyed in the message.
 */
static u32 offered(const rpc *task)
{
	const spec &what = task->what;
	u32 octets = 0;

	each_item(what.reply_pieces, what.reply_item,
		  [&](u32 i, u32, u32 length) {
			  if (!(what.empty >> i & 1))
				  octets += length;
		  });
	return octets;
}

/* Return the layout of a Call message, and of the memory for its Reply. */
static rpcrdma_room call_of(const spec &what)
{
	if (!what.ddp || !what.call_item)
		return { what.call_length, 0, 0 };
	return { ITEM_POSITION, what.call_item,
		 what.call_length - ITEM_POSITION - what.call_item };
}

static rpcrdma_room reply_of(const rpc *task)
{
	const spec &what = task->what;

	if (!what.ddp || !what.reply_item)
		return { what.reply_max, 0, 0 };
	/* A result without a Write chunk is conveyed in the message. */
	return { ITEM_POSITION, what.reply_item,
		 what.reply_max - ITEM_POSITION - offered(task) };
}

void host::geometry(rpc *task, const endpoint *on, rpcrdma_call *call)
{
	const rpcrdma_room reply = reply_of(task);
	const spec &what = task->what;
	u32 read_segs = 0, write_segs = 0;

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
		each_item(what.call_pieces, what.call_item,
			  [&](u32, u32 from, u32 length) {
				  read_segs += on->count_regions(
					  ITEM_POSITION + from, length);
			  });
		call->item_segs = static_cast<u16>(read_segs);
	}
	if (what.ddp && what.reply_item) {
		call->result_max = offered(task);
		each_chunk(task, [&](u32, u32 from, u32 length) {
			write_segs += on->count_regions(from, length);
		});
		call->result_segs = static_cast<u16>(write_segs);
	}
	/* Around an item, the message is in two pieces. */
	call->call_segs =
		static_cast<u16>(on->count_regions(0, what.call_length) + 1);
	call->reply_segs = static_cast<u16>(
		on->count_regions(0, reply.head + reply.pages + reply.tail) +
		1);
	if (rpcrdma_lessons_any(&lessons_))
		rpcrdma_lessons_recall(&lessons_, w_.now / SECOND, call);
}

/* Return true if the header has space for a separate chunk for each piece. */
bool host::pieces_fit(const rpc *task, const endpoint *on,
		      const rpcrdma_call_plan &plan) const
{
	u32 octets = rpcrdma_header_octets(&on->conn, &task->x.lists);
	rpcrdma_lists returned;
	u32 rest, more;

	if (plan.format == RPCRDMA_INLINE)
		octets += plan.inline_length;
	else if (plan.format == RPCRDMA_CONTINUED)
		octets += 8;
	if (octets > rpcrdma_conn_limits(&on->conn).send_inline)
		return false;
	/* One Write chunk may have fewer segments than several chunks. */
	if (!plan.write_chunk)
		return task->what.reply_pieces == 1;
	/* The plan is for one Write chunk, which is returned with the Reply. */
	returned = task->x.lists;
	returned.nr_reads = 0;
	octets = rpcrdma_header_octets(&on->conn, &returned);
	rest = task->what.reply_max - roundup4(offered(task));
	more = 8 * (returned.nr_writes - 1u);
	return octets + rest <= rpcrdma_conn_limits(&on->conn).recv_inline ||
	       octets + rest - more >
		       rpcrdma_conn_limits(&on->conn).recv_inline;
}

/*
 * Register data, which may have several chunks. The engine has begun the first
 * one.
 */
int host::map_data(rpc *task, endpoint *on, bool result)
{
	rpcrdma_lists &lists = task->x.lists;
	const spec &what = task->what;
	int rc = 0;

	if (result)
		each_chunk(task, [&](u32 i, u32 from, u32 length) {
			if (!rc && i && rpcrdma_lists_add_write(&lists))
				rc = -EMSGSIZE;
			if (!rc)
				rc = on->map(task->regions, task->item, from,
					     length, true, lists);
		});
	else
		each_item(what.call_pieces, what.call_item,
			  [&](u32 i, u32 from, u32 length) {
				  const u32 at = ITEM_POSITION + from;

				  if (!rc && i &&
				      rpcrdma_lists_add_read(&lists, at))
					  rc = -EMSGSIZE;
				  if (!rc)
					  rc = on->map(task->regions,
						       task->call, at, length,
						       false, lists);
			  });
	return rc;
}

/*
 * Register the memory of an RPC. The memory of a Reply around its result is
 * contiguous here.
 */
int host::map(rpc *task, endpoint *on, const rpcrdma_call_plan &plan)
{
	rpcrdma_offers at = { &plan, call_of(task->what), reply_of(task), 0 };
	const rpcrdma_room &reply = at.reply;
	rpcrdma_lists &lists = task->x.lists;
	rpcrdma_offer offer;
	int rc;

	task->regions_of = on;
	if (plan.write_chunk)
		task->item.octets.resize(reply.pages);
	if (plan.reply_chunk)
		task->reply.octets.resize(reply.head + reply.pages +
					  reply.tail);
	while ((rc = rpcrdma_offer_next(&at, &lists, &offer)) > 0) {
		if (offer.written && plan.write_chunk &&
		    offer.from > reply.head)
			offer.from -= reply.pages;
		rc = offer.data ?
			     map_data(task, on, offer.written) :
			     on->map(task->regions,
				     offer.written ? task->reply : task->call,
				     offer.from, offer.length, offer.written,
				     lists);
		if (rc)
			break;
	}
	return rc;
}

/*
 * Encode the Call and pass it to the endpoint, which consumes @s if the Call is
 * sent with it.
 */
int host::post(rpc *task, endpoint *on, const rpcrdma_call_plan &plan,
	       rpcrdma_send *s)
{
	const auto format = static_cast<rpcrdma_format>(plan.format);
	const bool chunks = rpcrdma_plan_has_chunks(&plan);
	const rpcrdma_lists *lists = chunks ? &task->x.lists : nullptr;
	std::vector<u8> payload;
	int rc;

	rpcrdma_lists_init(&task->x.lists);
	rc = chunks ? map(task, on, plan) : 0;
	if (!rc &&
	    (task->what.call_pieces > 1 || task->what.reply_pieces > 1) &&
	    !pieces_fit(task, on, plan))
		rc = -E2BIG;
	if (rc)
		return rc;
	if (plan.format != RPCRDMA_SPECIAL)
		payload = plan.read_item ? reduced(task->call.octets,
						   task->what.call_item) :
					   task->call.octets;
	if (payload.size() != plan.inline_length)
		w_.complain("a plan and its Call do not agree");

	if (plan.format == RPCRDMA_CONTINUED) {
		/* Each part has a Send context of its own. */
		stream *st = on->new_stream(RPCRDMA_KIND_CALL, task->xid, lists,
					    std::move(payload));

		rc = on->send_continued_call(st, task->regions, &task->x);
		if (rc)
			rpcrdma_core_stream_free(st);
	} else {
		rc = on->begin(s, RPCRDMA_KIND_CALL, format, task->xid,
			       static_cast<u32>(payload.size()), lists);
		if (rc)
			return rc;
		if (s->len > rpcrdma_conn_limits(&on->conn).send_inline)
			w_.complain("a planned Call does not fit");
		std::copy(payload.begin(), payload.end(),
			  static_cast<u8 *>(s->buf) + s->header_len);
		rc = on->send_call(s, task->regions, format, lists, &task->x);
	}
	return rc;
}

int host::try_send(rpc *task, endpoint *on)
{
	rpcrdma_call call;
	rpcrdma_call_plan plan;
	rpcrdma_send *s;
	int rc;

	if (!on || !on->is_open())
		return -ENOTCONN;
	if (rpcrdma_exchange_lost_in_parts(&task->x, &on->conn))
		rpcrdma_lessons_lost(&lessons_, w_.now / SECOND);
	if (rpcrdma_exchange_begin(&task->x, &on->conn)) {
		w_.complain("a Call is sent twice on one connection");
		return -ENOTCONN;
	}
	if (!task->regions.empty()) {
		if (!task->regions_of->is_gone())
			w_.complain("regions of a connection that is not gone");
		task->regions_of->put_regions(task->regions);
	}
	s = on->for_call();
	if (!s)
		return -EAGAIN;
	geometry(task, on, &call);
	on->limit_regions(&call);
	rc = rpcrdma_plan_call(&on->conn, &call, &plan);
	if (rc == -ENOBUFS) {
		w_.sum.regions_given_up++;
		on->close("the device has too few memory regions for a Call");
		return -ENOTCONN;
	}
	/* The peer may answer before this returns. */
	if (!rc)
		rc = post(task, on, plan, s);
	if (rc && !task->regions.empty())
		on->put_regions(task->regions);
	if (rc == -E2BIG) {
		task->what.call_pieces = 1;
		task->what.reply_pieces = 1;
		task->what.empty = 0;
		task->what.too_short = 0;
		return try_send(task, on);
	}
	if (rc)
		return rc;
	task->sent_on = on;
	task->state = rpc::WAITING;
	w_.after(RPC_TIME, task, TIMEOUT, ++task->timer);
	return 0;
}

/* Return the RPC whose Call had @xid, or null. */
rpc *host::find(u32 xid) const
{
	const auto found = tasks_.find(xid);

	return found == tasks_.end() ? nullptr : found->second;
}

/*
 * The answer is processed. Invalidate a task that was killed meanwhile; from
 * now on the task may be killed.
 */
void host::unpin(rpc *task)
{
	task->pinned = false;
	if (task->state == rpc::DYING)
		take_back(task);
}

/*
 * Return the layout of a Reply's memory, in which the result has a place of its
 * own. The engine knows one result; of several, the host finds each one's
 * bytes.
 */
static rpcrdma_room room_of(const spec &what)
{
	if (what.ddp && what.reply_item && what.reply_pieces == 1)
		return { ITEM_POSITION, what.reply_item,
			 what.reply_max - ITEM_POSITION };
	return { what.reply_max, 0, 0 };
}

void host::reply(endpoint &from, received *rv)
{
	rpcrdma_arrival a{};
	rpcrdma_step s;
	rpcrdma_claimed claimed = RPCRDMA_CLAIMED_NOT;
	rpc *task = find(rv->rx.xid);

	a.rx = &rv->rx;
	a.bad = rv->verdict == RPCRDMA_RX_BAD_REPLY;
	if (task)
		claimed = rpcrdma_exchange_claim_reply(
			&task->x, &from.conn, &rv->rx, a.bad, rv->inv_handle,
			room_of(task->what).head);
	if (claimed == RPCRDMA_CLAIMED_NOT) {
		s = rpcrdma_exchange_stray(a.rx, a.bad);
		from.put(rv);
		if (s.todo & RPCRDMA_STEP_DONE)
			from.send_done(s.xid, s.handle);
		return;
	}
	task->pinned = true;
	if (client_)
		net_.reset_backoff();
	for (u32 i = 0; i < std::size(task->written); i++)
		task->written[i] = i < rv->rx.lists.nr_writes ?
					   rv->rx.lists.writes[i].length :
					   0;
	if (claimed == RPCRDMA_CLAIMED_LAST) {
		const std::vector<u8> whole(rv->data(),
					    rv->data() + rv->payload_len);

		from.put(rv);
		answered(task, task->what.reply_pieces > 1 ?
				       with_items(task, whole) :
				       whole);
		return;
	}
	task->rv = rv;
	a.inv_handle = rv->inv_handle;
	if (a.inv_handle)
		a.exposed = endpoint::invalidated(task->regions, a.inv_handle);
	a.length = rv->payload_len;
	a.room = room_of(task->what);
	carry_out(task, from, rpcrdma_exchange_reply(&task->x, &from.conn, &a));
}

void host::error(endpoint &from, received *rv)
{
	rpc *task = find(rv->rx.xid);
	rpcrdma_call call;
	u32 code = rv->rx.error.code;
	int status;

	if (!task || !rpcrdma_exchange_claim(&task->x, &from.conn)) {
		from.put(rv);
		return;
	}
	task->pinned = true;
	w_.tell("RPC %u is refused: %s, %u", task->id, rpcrdma_error_name(code),
		rv->rx.error.arg[0]);
	w_.sum.refused++;
	geometry(task, &from, &call);
	rpcrdma_lessons_learn(&lessons_, w_.now / SECOND, &rv->rx, &call,
			      &task->x.lists);
	status = rpcrdma_call_refused(&from.conn, &rv->rx, &call,
				      &task->x.lists, &task->x.recovery);
	from.put(rv);
	/* The Call was executed: the service may know another copy of it. */
	if (!status && (code == RDMA2_ERR_REPLY_RESOURCE ||
			code == RDMA2_ERR_WRITE_RESOURCE))
		encode(task);
	/*
	 * A task that has larger chunks does not provide a chunk that is too
	 * short again.
	 */
	if (code == RDMA2_ERR_WRITE_RESOURCE)
		task->what.too_short = 0;
	if (++task->refusals > 16)
		w_.complain("a Call is refused for ever");
	carry_out(task, from, rpcrdma_exchange_error(&task->x, status));
}

/*
 * Return the first bytes of a Reply that is not in a Receive, for the engine.
 */
static const void *first_of(const rpc *task)
{
	return task->reply.octets.size() < 8 ? nullptr :
					       task->reply.octets.data();
}

/*
 * Report a bad Reply. An end that follows the profile sends one only on request
 * of the run.
 */
void host::report(const rpc *task, const rpcrdma_step &s)
{
	w_.tell("RPC %u has a bad Reply: %s", task->id, s.reason);
	if (!task->what.bad || s.todo & RPCRDMA_STEP_CLOSE)
		w_.complain(s.reason);
	w_.sum.bad++;
	/* The RPC ends now, even if more of its Reply is in flight. */
	for (const region *reg : task->regions)
		task->regions_of->qp.excuse(reg);
}

/* The RPC gets no Reply, or its task is gone. */
void host::over(rpc *task)
{
	/* The peer may still have access to its memory. */
	tasks_.erase(task->xid);
	task->state = rpc::DYING;
	unpin(task);
}

/* Process the complete Reply @whole. */
void host::answered(rpc *task, const std::vector<u8> &whole)
{
	if (task->state == rpc::DYING) {
		over(task);
		return;
	}
	task->pinned = false;
	deliver(task, whole);
}

/* Perform the engine's actions, in its order. */
void host::carry_out(rpc *task, endpoint &from, rpcrdma_step s)
{
	do {
		if (s.todo & RPCRDMA_STEP_REPORT)
			report(task, s);
		if (s.todo & RPCRDMA_STEP_PLACE)
			task->stream.assign(task->rv->data(),
					    task->rv->data() +
						    task->rv->payload_len);
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
				over(task);
			} else {
				answered(task, assemble(task));
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

/* Invalidate the task's MRs. Return true if there is another step to run. */
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
	t = from.new_transfer(op::read);
	if (!t) {
		from.put(rv);
		carry_out(task, from,
			  rpcrdma_exchange_pulled(&task->x, RPCRDMA_PULL_SHORT,
						  nullptr));
		return;
	}
	if (!from.add_transfer(t, rv->rx.lists, rv->rx.lists.reads[0], 0,
			       task->reply, 0, octets))
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

/*
 * Return a Reply's Payload stream, with the contents of the Write chunks
 * inserted.
 */
std::vector<u8> host::with_items(const rpc *task,
				 const std::vector<u8> &stream) const
{
	std::vector<u8> whole;
	u32 at = ITEM_POSITION;

	if (!task->x.placed.write_octets)
		return stream;
	if (stream.size() < ITEM_POSITION) {
		w_.complain("a Reply is short");
		return stream;
	}
	whole.assign(stream.begin(), stream.begin() + at);
	each_item(task->what.reply_pieces, task->what.reply_item,
		  [&](u32 i, u32 from, u32 length) {
			  const std::vector<u8> &item = task->item.octets;

			  if (task->written[i] == length) {
				  whole.insert(whole.end(), item.begin() + from,
					       item.begin() + from + length);
				  whole.resize(roundup4(
					  static_cast<u32>(whole.size())));
			  } else if (task->written[i] ||
				     at + roundup4(length) > stream.size()) {
				  w_.complain("a result is cut");
			  } else {
				  whole.insert(whole.end(), stream.begin() + at,
					       stream.begin() + at +
						       roundup4(length));
				  at += roundup4(length);
			  }
		  });
	whole.insert(whole.end(), stream.begin() + at, stream.end());
	return whole;
}

/* Assemble the complete Reply from its parts. */
std::vector<u8> host::assemble(const rpc *task) const
{
	const rpcrdma_parts &parts = task->x.parts;
	const rpcrdma_placed &placed = task->x.placed;
	const u8 *from = placed.pull_octets || placed.reply_octets ?
				 task->reply.octets.data() :
				 task->stream.data();
	std::vector<u8> whole(from, from + parts.head);

	if (task->what.reply_pieces > 1)
		return with_items(task, whole);
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
	/* Notify some tasks before they go to sleep. */
	if (task->id & 1 && !rpcrdma_exchange_resend(&task->x))
		w_.complain("a task waits for a Call that is not sent");
	task->state = rpc::QUEUED;
	xmit_.push_back(task);
	transmit_soon();
}

/* Check that the complete Reply is the expected one. */
void host::deliver(rpc *task, const std::vector<u8> &whole)
{
	spec what = task->what;
	const u32 id = task->id, replays = task->replays;
	std::vector<u8> expected;
	std::function<void()> ended;

	if (whole.size() < MIN_MESSAGE) {
		w_.complain("a Reply is short");
		complete(task, -EIO);
		return;
	}
	if (load(&whole[12]) == STATUS_UNCACHED && what.session) {
		/* The client repeats the request in another RPC. */
		rpc *next;

		fill(expected, task->xid, REPLY, id, STATUS_UNCACHED,
		     MIN_MESSAGE, 0);
		if (whole != expected)
			w_.complain("octets of a Reply are wrong");
		ended = std::move(task->ended);
		task->ended = nullptr;
		w_.tell("RPC %u was executed before: anew", id);
		/*
		 * The chunk's size may be refused several times, but not
		 * because it is too short.
		 */
		what.too_short = 0;
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

void host::use(endpoint *now)
{
	ep = now;
	transmit_soon();
}

/* Return the tasks for which @which holds, in order. */
template <typename F>
std::vector<rpc *> host::tasks_that(F which) const
{
	std::vector<rpc *> found;

	for (auto &each : tasks_) {
		if (which(each.second))
			found.push_back(each.second);
	}
	std::sort(found.begin(), found.end(),
		  [](const rpc *a, const rpc *b) { return a->id < b->id; });
	return found;
}

/*
 * Forget the connection @gone, which is off the device. A callback cannot use
 * any other connection.
 */
void host::disconnected(endpoint *gone)
{
	if (!tasks_that([](const rpc *task) { return task->pinned; }).empty())
		w_.complain("an answer outlives its connection");
	if (!client_ && ep == gone)
		ep = nullptr;
	for (rpc *task :
	     tasks_that([&](const rpc *each) { return each->bound == gone; })) {
		auto queued = std::find(xmit_.begin(), xmit_.end(), task);

		if (queued != xmit_.end())
			xmit_.erase(queued);
		complete(task, -ENOTCONN);
	}
	transmit_soon();
}

/*
 * Wake the tasks. In sunrpc, tasks that wait for Replies sleep on the queue of
 * those that wait for a connection, and send their Calls again. An RPC ends
 * with an errno that sunrpc does not know.
 */
void host::wake(int status)
{
	static constexpr int known[] = {
		EAGAIN,	     ECONNREFUSED, ECONNRESET, ECONNABORTED, ENETDOWN,
		ENETUNREACH, EHOSTUNREACH, EPIPE,      EPROTO,	     EADDRINUSE,
		ENOTCONN,    ENOBUFS,	   ETIMEDOUT,
	};

	if (std::find(std::begin(known), std::end(known), -status) ==
	    std::end(known))
		w_.complain("RPCs end for what their connection met");
	for (rpc *task : tasks_that([](const rpc *each) {
		     return each->state == rpc::WAITING && !each->bound;
	     })) {
		task->sent_on = nullptr;
		task->state = rpc::QUEUED;
		task->timer++;
		encode(task);
		xmit_.push_back(task);
	}
	asleep_ = false;
	transmit_soon();
}

void host::write_space(endpoint &from)
{
	service_queue &q = queue_of(from);

	transmit_soon();
	/* Some of the queued Calls may have waited for memory. */
	q.data |= q.calls.waiting.first != nullptr;
	enqueue(q);
	if (!waiting_.empty())
		poll(1);
}

void host::memory_freed(endpoint &from)
{
	write_space(from);
}

void host::opened(endpoint &from)
{
	net_.opened(from);
}

void host::request(endpoint &from)
{
	net_.ask(from);
}

void host::connected(endpoint &from)
{
	net_.connected(from);
}

void host::failed(endpoint &from, int status)
{
	net_.failed(from, status);
}

void host::closed(endpoint &from)
{
	net_.closed(from);
	disconnected(&from);
	drop_calls(from);
}

} // namespace simulation
