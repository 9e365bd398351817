// SPDX-License-Identifier: GPL-2.0
/*
 * The Requester: Replies and ERRORs, and the actions that the core requests for
 * them (core/port_rpc.h)
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

/*
 * Return the layout of a Reply's memory, in which the result has a place of its
 * own. The engine knows one result. Of several results, the host finds the
 * bytes itself.
 */
static rpcrdma_buf_layout layout_of(const spec &what)
{
	if (what.ddp && what.reply_item && what.reply_pieces == 1)
		return { ITEM_POSITION, what.reply_item,
			 what.reply_max - ITEM_POSITION };
	return { what.reply_max, 0, 0 };
}

rpcrdma_buf_layout host::layout(const rpc *task) const
{
	return layout_of(task->what);
}

rpcrdma_claim host::claim(const rpcrdma_recv &rv)
{
	rpc *task = find(rv.rx.xid);
	enum rpcrdma_claimed how = RPCRDMA_CLAIMED_NOT;

	if (task)
		how = rpcrdma_core_rpc_claim(task, &rv,
					     layout_of(task->what).head);
	if (how == RPCRDMA_CLAIMED_NOT)
		return { nullptr, how };
	task->pinned = true;
	if (client_)
		net_.reset_backoff();
	for (u32 i = 0; i < std::size(task->written); i++)
		task->written[i] = i < rv.rx.lists.nr_writes ?
					   rv.rx.lists.writes[i].length :
					   0;
	if (how == RPCRDMA_CLAIMED_LAST) {
		const auto *from = static_cast<const u8 *>(rv.payload);
		const std::vector<u8> whole(from, from + rv.payload_len);

		answered(task, task->what.reply_pieces > 1 ?
				       with_items(task, whole) :
				       whole);
	}
	return { task, how };
}

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

void host::processed(rpc *task, int result)
{
	if (result >= 0) {
		answered(task, assemble(task));
		return;
	}
	w_.sum.failed++;
	fail(task, result);
	task->status = result;
	over(task);
}

int host::reads(rpc *task, endpoint &from, const rpcrdma_recv &rv,
		rpcrdma_transfer **reads)
{
	const u32 octets = task->x.placed.pull_octets;
	transfer *t;
	int rc;

	w_.sum.pulled++;
	task->reply.octets.resize(octets);
	t = from.new_transfer(op::read);
	if (!t)
		return -ENOMEM;
	rc = from.add_transfer(t, rv.rx.lists, rv.rx.lists.reads[0], 0,
			       task->reply, 0, octets);
	if (rc) {
		from.drop_transfer(t);
		return rc;
	}
	t->ended = [xid = task->xid, task, &from](bool ok) {
		rpcrdma_core_rpc_pulled(&from, task, ok);
		/* Some peers send it twice. */
		if (ok && xid % 4 == 0)
			rpcrdma_core_send_done(&from, xid, 0);
	};
	*reads = t;
	return 0;
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

/* Assemble the complete Reply from its parts. */
std::vector<u8> host::assemble(const rpc *task) const
{
	const rpcrdma_reply_layout &parts = task->x.parts;
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
		w_.complain("the parts of a Reply are not all of it");
	return whole;
}

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

void rpcrdma_port_rpc_place(struct rpcrdma_rpc *called)
{
	const auto *rv = static_cast<received *>(called->rv);

	task_of(called)->stream.assign(rv->data(),
				       rv->data() + rv->payload_len);
}

/* assemble() does this. */
void rpcrdma_port_rpc_move(struct rpcrdma_rpc *)
{
}

const void *rpcrdma_port_rpc_first(const struct rpcrdma_rpc *called)
{
	const memory &reply = task_of(called)->reply;

	return reply.octets.size() < 8 ? nullptr : reply.octets.data();
}

void rpcrdma_port_rpc_put_mrs(struct rpcrdma_ep_core *core,
			      struct rpcrdma_rpc *called)
{
	of(core).put_mrs(&called->mrs);
}

int rpcrdma_port_rpc_reads(struct rpcrdma_ep_core *core,
			   struct rpcrdma_rpc *called,
			   const struct rpcrdma_recv *rv,
			   struct rpcrdma_transfer **t)
{
	return task_of(called)->owner->reads(task_of(called), of(core), *rv, t);
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

struct rpcrdma_claim rpcrdma_port_rpc_claim(struct rpcrdma_requester *r,
					    const struct rpcrdma_recv *rv)
{
	return static_cast<host *>(r)->claim(*rv);
}

void rpcrdma_port_rpc_layout(const struct rpcrdma_rpc *called,
			     struct rpcrdma_buf_layout *layout)
{
	const auto *task = static_cast<const rpc *>(called);

	*layout = task->owner->layout(task);
}

bool rpcrdma_port_answer(struct rpcrdma_requester *r, struct rpcrdma_recv *rv)
{
	return rpcrdma_core_answer_rpc(r, rv);
}
