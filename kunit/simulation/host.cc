// SPDX-License-Identifier: GPL-2.0
#include "host.hh"

#include <cerrno>
#include <cstring>

#include "reconnect.hh"

namespace simulation
{

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

void rpc::act(u32 event, u64 arg)
{
	if (event == TIMEOUT) {
		if (arg == timer)
			owner->timed_out(this);
	} else {
		owner->act(event, id);
	}
}

host::host(world &w, surroundings &net, bool client)
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
	/* Bytes that are not placed differ from those expected. */
	task->reply.octets.assign(what.reply_max + what.reply_item, 0xee);
	xmit_.push_back(task);
	/* The task is awake. */
	asleep_ = false;
	w_.log("%s: RPC %u, xid %x, %u (item %u) for %u (item %u) of %u, chain %u",
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

/* Complete the RPC: its Reply has arrived, or never will. */
void host::complete(rpc *task, int status)
{
	/*
	 * A task fails only because its own Call cannot be sent, not because of
	 * another one.
	 */
	if (task->state == rpc::QUEUED && status && status != -ENOTCONN &&
	    status != task->refused)
		w_.complain("an RPC fails with the error of another one");
	tasks_.erase(task->xid);
	task->status = status;
	release(task);
}

void host::release(rpc *task)
{
	if (!rpcrdma_xact_release(&task->x))
		w_.complain(
			"an RPC is released while an action is in progress");
	if (!list_is_empty(&task->mrs))
		task->mrs_of->put_mrs(&task->mrs);
	if (task->what.bad && !task->status)
		w_.complain("a bad Reply is accepted");
	task->call.retire(w_, "a Call");
	task->reply.retire(w_, "a Reply");
	task->state = rpc::OVER;
	w_.log("RPC %u is over: %d", task->id, task->status);
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
	w_.log("RPC %u is killed", task->id);
	w_.sum.killed++;
	if (queued != xmit_.end())
		xmit_.erase(queued);
	tasks_.erase(task->xid);
	task->state = rpc::DYING;
	task->status = -EINTR;
	if (task->mrs_of)
		task->mrs_of->excuse(&task->mrs);
	/* As in sunrpc, wait until no answer to it is being processed. */
	if (!task->pinned)
		take_back(task);
}

/*
 * Invalidate the task's MRs. Its memory may be freed only when the peer cannot
 * access it any more.
 */
void host::take_back(rpc *task)
{
	if (!rpcrdma_core_mrs_exposed(&task->mrs)) {
		release(task);
		return;
	}
	task->mrs_of->invalidate(&task->mrs, [this, task](bool ok) {
		if (ok) {
			release(task);
			return;
		}
		w_.after(MILLISECOND, task, rpc::WAIT_FOR_END);
	});
}

void host::timed_out(rpc *task)
{
	if (task->state != rpc::WAITING || task->pinned)
		return;
	w_.sum.timed_out++;
	w_.log("RPC %u waited too long", task->id);
	if (!task->unanswered)
		w_.complain("an RPC has no Reply for a minute");
	/* A callback of nfsd is a soft task: it ends, and the connection stays. */
	if (client_)
		net_.reconnect_of(*this).drop();
	else
		kill(task);
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
	case rpc::WAIT_FOR_END:
		task = net_.find(static_cast<u32>(arg));
		if (!task->mrs_of->is_gone())
			w_.after(MILLISECOND, task, rpc::WAIT_FOR_END);
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

/* ---- Sending ---- */

/*
 * Send the Calls that can be sent, in order. Callbacks of one connection do not
 * wait for those of another.
 */
void host::transmit()
{
	const endpoint *blocked = nullptr;

	if (client_ && (asleep_ || net_.reconnect_of(*this).is_locked()))
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
		if (rc == -EAGAIN || rc == -ENOBUFS) {
			blocked = on;
			i++;
			/* In sunrpc, the task retries after a delay. */
			if (rc == -ENOBUFS)
				w_.after(250 * MILLISECOND, this,
					 TRANSMIT_AGAIN);
			continue;
		}
		if (rc == -ENOTCONN && !task->bound) {
			reconnect &mine = net_.reconnect_of(*this);

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
			fail(task, rc);
			w_.log("RPC %u cannot be sent: %d", task->id, rc);
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

/* Return the RPC with @xid, or null. */
rpc *host::find(u32 xid) const
{
	const auto found = tasks_.find(xid);

	return found == tasks_.end() ? nullptr : found->second;
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
 * Forget the connection @gone after its work on the device has ended. A callback
 * cannot use any other connection.
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
 * Wake the tasks. As in sunrpc, tasks that wait for Replies sleep on the same
 * queue as those that wait for a connection, and send their Calls again. An
 * errno that sunrpc does not know ends an RPC.
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
		w_.complain("RPCs fail with the error of their connection");
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
	q.data |= rpcrdma_calls_may_retry(&q.calls);
	enqueue(q);
	if (!waiting_.empty())
		poll(1);
}

void host::memory_freed(endpoint &from)
{
	write_space(from);
}

void host::run_quota(endpoint &from, enum rpcrdma_quota_visit when)
{
	net_.run_quota(from, when);
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
