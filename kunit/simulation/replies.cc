// SPDX-License-Identifier: GPL-2.0
/*
 * The Requester: Replies and ERRORs, and the actions that the core requests for
 * them (core/port_answer.h)
 */
#include "host.hh"

#include <cerrno>
#include <cstring>

#include <answer.h>

#include "reconnect.hh"

namespace simulation
{

/*
 * The answer is processed. From now on the task may be killed; if it was killed
 * meanwhile, invalidate its memory.
 */
void host::unpin(rpc *task)
{
	task->pinned = false;
	if (task->state == rpc::DYING)
		take_back(task);
}

/* ---- Claims ---- */

bool host::answer(rpcrdma_recv *rv)
{
	answering_ = rv;
	const bool over = rpcrdma_core_answer_rpc(this, rv);

	if (locked_)
		w_.complain("the RPCs remain locked");
	return over;
}

void host::lock()
{
	if (locked_)
		w_.complain("the RPCs are locked twice");
	locked_ = true;
}

void host::unlock()
{
	locked_ = false;
}

rpc *host::answer_for(u32 xid)
{
	if (!locked_)
		w_.complain("an RPC is looked up without the lock");
	return find(xid);
}

void host::hold(rpc *task)
{
	const rpcrdma_lists &lists = answering_->rx.lists;

	if (!locked_)
		w_.complain("an RPC is claimed without the lock");
	task->pinned = true;
	if (client_)
		net_.reset_backoff();
	for (u32 i = 0; i < std::size(task->written); i++)
		task->written[i] =
			i < lists.nr_writes ? lists.writes[i].length : 0;
}

/* Process a complete Reply of @octets bytes. */
void host::answered(rpc *task, u32 octets)
{
	if (!task->pinned)
		w_.complain("an RPC completes that is not held");
	if (task->state == rpc::DYING) {
		over(task);
		return;
	}
	task->pinned = false;
	deliver(task, assemble(task, octets));
}

/* ---- Messages for the log, and limits ---- */

void host::learn(const rpc *task, const rpcrdma_rx &rx,
		 const rpcrdma_call &call)
{
	rpcrdma_peer_limits_learn(&peer_limits_, w_.now / SECOND, &rx, &call,
				  &task->x.lists);
}

void host::refused(rpc *task, const rpcrdma_rx &rx, int status)
{
	const u32 code = rx.error.code;

	w_.log("RPC %u is refused: %s, %u", task->id, rpcrdma_error_name(code),
	       rx.error.arg[0]);
	w_.sum.refused++;
	/*
	 * The Call was executed, so that the service may recognise another copy
	 * of it.
	 */
	if (!status && (code == RDMA2_ERR_REPLY_RESOURCE ||
			code == RDMA2_ERR_WRITE_RESOURCE))
		encode(task);
	/*
	 * The task has learned the required length: it does not provide a chunk
	 * that is too short again.
	 */
	if (code == RDMA2_ERR_WRITE_RESOURCE)
		task->what.too_short = 0;
	if (++task->refusals > 16)
		w_.complain("the refusals of a Call have no end");
}

/*
 * Report a bad Reply. An end that follows the profile sends one only if the run
 * requests it.
 */
void host::report(rpc *task, const rpcrdma_actions &s)
{
	w_.log("RPC %u has a bad Reply: %s", task->id, s.reason);
	if (!task->what.bad || s.todo & RPCRDMA_ACT_CLOSE)
		w_.complain(s.reason);
	w_.sum.bad++;
	/* The RPC ends now, even if parts of its Reply are still in flight. */
	if (task->mrs_of)
		task->mrs_of->excuse(&task->mrs);
}

/* Notify the task that its RPC fails, before it sleeps. */
void host::fail(rpc *task, int status)
{
	rpcrdma_xact_end(&task->x, status);
	if (rpcrdma_xact_notified(&task->x) != status)
		w_.complain("a task waits for an RPC that has failed");
}

/* The RPC will get no Reply, or its task has ended. */
void host::over(rpc *task)
{
	/* The peer may still be able to access the RPC's memory. */
	tasks_.erase(task->xid);
	task->state = rpc::DYING;
	unpin(task);
}

void host::processed(rpc *task, int result)
{
	if (result >= 0) {
		answered(task, static_cast<u32>(result));
		return;
	}
	w_.sum.failed++;
	fail(task, result);
	task->status = result;
	over(task);
}

/* ---- The memory of a Reply ---- */

/* The processor writes to @length bytes of that memory from byte @to on. */
void host::place(rpc *task, u32 to, u32 length)
{
	const rpcrdma_buf_layout at = layout(task);

	if (u64{ to } + length > u64{ at.head } + at.pages + at.tail)
		w_.complain("a Reply exceeds its memory");
	if (task->mrs_of &&
	    task->mrs_of->maps(&task->mrs, task->reply, to, length))
		w_.complain("a Reply is copied to memory of the device");
}

void host::copy_in(rpc *task, u32 to, const void *from, u32 length)
{
	place(task, to, length);
	if (length)
		memmove(&task->reply.octets[to], from, length);
}

void *host::tail(rpc *task)
{
	const rpcrdma_buf_layout at = layout(task);

	place(task, at.head + at.pages, at.tail);
	return task->reply.octets.data() + at.head + at.pages;
}

int host::add_read(rpc *task, transfer *t, const rpcrdma_msg_range &range)
{
	return t->ep->add_transfer(t, task->rv->rx.lists, *range.chunk,
				   range.from, task->reply, range.to,
				   range.length);
}

void host::built(rpc *task, endpoint &from, transfer *t, int status)
{
	w_.sum.pulled++;
	if (!t)
		return;
	if (status) {
		from.drop_transfer(t);
		return;
	}
	t->ended = [xid = task->xid, task, &from](bool ok) {
		rpcrdma_core_rpc_pulled(&from, task, ok);
		/* Some peers send it twice. */
		if (ok && xid % 4 == 0)
			rpcrdma_core_send_done(&from, xid, 0);
	};
}

/*
 * Return a Reply's Payload stream, with the contents of the Write chunks
 * inserted.
 */
std::vector<u8> host::with_items(const rpc *task,
				 const std::vector<u8> &stream) const
{
	const u8 *items = task->reply.octets.data() + layout(task).head;
	std::vector<u8> whole;
	u32 at = ITEM_POSITION;

	if (stream.size() < ITEM_POSITION) {
		w_.complain("a Reply is short");
		return stream;
	}
	whole.assign(stream.begin(), stream.begin() + at);
	each_item(task->what.reply_pieces, task->what.reply_item,
		  [&](u32 i, u32 from, u32 length) {
			  if (task->written[i] == length) {
				  whole.insert(whole.end(), items + from,
					       items + from + length);
				  whole.resize(roundup4(
					  static_cast<u32>(whole.size())));
			  } else if (task->written[i] ||
				     at + roundup4(length) > stream.size()) {
				  w_.complain("a result is truncated");
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

/*
 * Return the Reply of @octets bytes as sunrpc reads it: of each part as much as
 * belongs to the Reply, without the roundup of the pages.
 */
std::vector<u8> host::assemble(const rpc *task, u32 octets) const
{
	const rpcrdma_buf_layout at = layout(task);
	const u8 *from = task->reply.octets.data();
	const u32 head = std::min({ at.head, task->head, octets });
	const u32 pages = std::min({ at.pages, task->pages, octets - head });
	const bool reduced = task->pages != ~0u;
	const u32 pad = reduced ? -pages & 3 : 0;
	std::vector<u8> whole(from, from + head);

	if (task->what.reply_pieces > 1)
		return reduced ? with_items(task, whole) : whole;
	from += at.head;
	whole.insert(whole.end(), from, from + pages);
	from += at.pages + pad;
	whole.insert(whole.end(), pad, 0);
	if (octets < whole.size() || octets - head - pages > at.tail) {
		w_.complain("the parts of a Reply are not all of it");
		return whole;
	}
	whole.insert(whole.end(), from, from + octets - whole.size());
	return whole;
}

/* ---- The end ---- */

void host::requeue(rpc *task)
{
	rpcrdma_xact_again(&task->x);
	task->pinned = false;
	if (task->state == rpc::DYING) {
		take_back(task);
		return;
	}
	/* Notify some tasks before they sleep. */
	if (task->id & 1 && rpcrdma_xact_notified(&task->x) != -EAGAIN)
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
		/* The client repeats the request as another RPC. */
		rpc *next;

		fill(expected, task->xid, REPLY, id, STATUS_UNCACHED,
		     MIN_MESSAGE, 0);
		if (whole != expected)
			w_.complain("octets of a Reply are wrong");
		ended = std::move(task->ended);
		task->ended = nullptr;
		w_.log("RPC %u was executed before: anew", id);
		/*
		 * A chunk may be refused several times for its size, but not
		 * because it is too short.
		 */
		what.too_short = 0;
		next = begin(what, nullptr, std::move(ended));
		next->replays = replays + 1;
		if (next->replays > 40)
			w_.complain("the executions of an RPC have no end");
		complete(task, 0);
		return;
	}
	fill(expected, task->xid, REPLY, id, STATUS_OK, what.reply_length,
	     what.reply_item);
	if (whole != expected)
		w_.complain("octets of a Reply are wrong");
	complete(task, 0);
}

} // namespace simulation

using namespace simulation;

static rpc *task_of(rpcrdma_rpc *called)
{
	return static_cast<rpc *>(called);
}

static const rpc *task_of(const rpcrdma_rpc *called)
{
	return static_cast<const rpc *>(called);
}

void rpcrdma_port_rpc_report(struct rpcrdma_ep_core *,
			     struct rpcrdma_rpc *called,
			     const struct rpcrdma_actions *s)
{
	task_of(called)->owner->report(task_of(called), *s);
}

const void *rpcrdma_port_rpc_head(const struct rpcrdma_rpc *called)
{
	return task_of(called)->reply.octets.data();
}

void *rpcrdma_port_rpc_tail(const struct rpcrdma_rpc *called)
{
	rpc *task = task_of(const_cast<rpcrdma_rpc *>(called));

	return task->owner->tail(task);
}

void rpcrdma_port_rpc_copy(struct rpcrdma_rpc *called, u32 to, const void *from,
			   u32 length)
{
	task_of(called)->owner->copy_in(task_of(called), to, from, length);
}

void rpcrdma_port_rpc_lengths(struct rpcrdma_rpc *called, u32 head, u32 pages)
{
	task_of(called)->head = head;
	task_of(called)->pages = pages;
}

void rpcrdma_port_rpc_put_mrs(struct rpcrdma_ep_core *core,
			      struct rpcrdma_rpc *called)
{
	of(core).put_mrs(&called->mrs);
}

struct rpcrdma_transfer *rpcrdma_port_rpc_reads(struct rpcrdma_ep_core *core)
{
	return of(core).new_transfer(op::read);
}

int rpcrdma_port_rpc_read(struct rpcrdma_rpc *called,
			  struct rpcrdma_transfer *t,
			  const struct rpcrdma_msg_range *range)
{
	return task_of(called)->owner->add_read(
		task_of(called), static_cast<transfer *>(t), *range);
}

void rpcrdma_port_rpc_reads_built(struct rpcrdma_ep_core *core,
				  struct rpcrdma_rpc *called,
				  struct rpcrdma_transfer *t, int status)
{
	task_of(called)->owner->built(task_of(called), of(core),
				      static_cast<transfer *>(t), status);
}

void rpcrdma_port_rpc_learn(struct rpcrdma_ep_core *,
			    const struct rpcrdma_rpc *called,
			    const struct rpcrdma_rx *rx,
			    const struct rpcrdma_call *call)
{
	task_of(called)->owner->learn(task_of(called), *rx, *call);
}

void rpcrdma_port_rpc_refused(struct rpcrdma_ep_core *,
			      struct rpcrdma_rpc *called,
			      const struct rpcrdma_rx *rx, int status)
{
	task_of(called)->owner->refused(task_of(called), *rx, status);
}

void rpcrdma_port_rpc_complete(struct rpcrdma_rpc *called, int status)
{
	task_of(called)->owner->processed(task_of(called), status);
}

void rpcrdma_port_rpc_again(struct rpcrdma_rpc *called)
{
	task_of(called)->owner->requeue(task_of(called));
}

void rpcrdma_port_rpc_leave(struct rpcrdma_rpc *called)
{
	task_of(called)->owner->unpin(task_of(called));
}

void rpcrdma_port_rpc_lock(struct rpcrdma_requester *r)
{
	static_cast<host *>(r)->lock();
}

void rpcrdma_port_rpc_unlock(struct rpcrdma_requester *r)
{
	static_cast<host *>(r)->unlock();
}

struct rpcrdma_rpc *rpcrdma_port_rpc_find(struct rpcrdma_requester *r, u32 xid)
{
	return static_cast<host *>(r)->answer_for(xid);
}

void rpcrdma_port_rpc_hold(struct rpcrdma_rpc *called)
{
	task_of(called)->owner->hold(task_of(called));
}

void rpcrdma_port_rpc_answered(struct rpcrdma_rpc *called, u32 octets)
{
	task_of(called)->owner->answered(task_of(called), octets);
}

void rpcrdma_port_rpc_layout(const struct rpcrdma_rpc *called,
			     struct rpcrdma_buf_layout *layout)
{
	const auto *task = static_cast<const rpc *>(called);

	*layout = task->owner->layout(task);
}

bool rpcrdma_port_answer(struct rpcrdma_requester *r, struct rpcrdma_recv *rv)
{
	return static_cast<host *>(r)->answer(rv);
}
