// SPDX-License-Identifier: GPL-2.0
/* The Requester: registering the memory of a Call, and sending it */
#include "host.hh"

#include <cerrno>
#include <cstring>

#include "reconnect.hh"

namespace simulation
{

/* Return @m without the item that is reduced. */
static std::vector<u8> reduced(const std::vector<u8> &m, u32 item)
{
	std::vector<u8> r(m.begin(), m.begin() + ITEM_POSITION);

	r.insert(r.end(), m.begin() + ITEM_POSITION + roundup4(item), m.end());
	return r;
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

/* Return the layout of a Call message, and of its Reply. */
static rpcrdma_buf_layout call_of(const spec &what)
{
	if (!what.ddp || !what.call_item)
		return { what.call_length, 0, 0 };
	return { ITEM_POSITION, what.call_item,
		 what.call_length - ITEM_POSITION - what.call_item };
}

static rpcrdma_buf_layout reply_of(const rpc *task)
{
	const spec &what = task->what;

	if (!what.ddp || !what.reply_item)
		return { what.reply_max, 0, 0 };
	/* A result without a Write chunk is conveyed in the message. */
	return { ITEM_POSITION, what.reply_item,
		 what.reply_max - ITEM_POSITION - offered(task) };
}

/*
 * Return the layout of the memory for a Reply. The engine knows one result. Several results
 * are after the message here, and the host finds the bytes itself.
 */
rpcrdma_buf_layout host::layout(const rpc *task) const
{
	const spec &what = task->what;

	if (what.ddp && what.reply_item && what.reply_pieces > 1)
		return { what.reply_max, what.reply_item, 0 };
	return reply_of(task);
}

void host::call_data(rpc *task, const endpoint *on, rpcrdma_call *call)
{
	const rpcrdma_buf_layout reply = reply_of(task);
	const spec &what = task->what;
	u32 read_segs = 0, write_segs = 0;

	memset(call, 0, sizeof(*call));
	call->xid = task->xid;
	call->length = what.call_length;
	call->reply_max = what.reply_max;
	call->reverse = !client_;
	call->retry_limits = task->x.retry_limits;
	call->ddp = what.ddp;
	call->bulk = what.bulk;
	if (what.ddp && what.call_item) {
		call->item_position = ITEM_POSITION;
		call->item_length = what.call_item;
		each_item(what.call_pieces, what.call_item,
			  [&](u32, u32 from, u32 length) {
				  read_segs += on->count_mrs(
					  ITEM_POSITION + from, length);
			  });
		call->item_segs = static_cast<u16>(read_segs);
	}
	if (what.ddp && what.reply_item) {
		call->result_max = offered(task);
		each_chunk(task, [&](u32, u32 from, u32 length) {
			write_segs +=
				on->count_mrs(layout(task).head + from, length);
		});
		call->result_segs = static_cast<u16>(write_segs);
	}
	/* Without its item, the message consists of two ranges. */
	call->call_segs =
		static_cast<u16>(on->count_mrs(0, what.call_length) + 1);
	call->reply_segs = static_cast<u16>(
		on->count_mrs(0, reply.head + reply.pages + reply.tail) + 1);
	on->limit_mrs(call);
	if (rpcrdma_peer_limits_any(&peer_limits_))
		rpcrdma_peer_limits_recall(&peer_limits_, w_.now / SECOND,
					   call);
}

/* Describe a Call with one item in one piece. Return false for any other. */
bool host::call_item(const rpc *task, const endpoint *on,
		     rpcrdma_call_item *item) const
{
	const spec &what = task->what;

	if (!what.ddp || !(what.reply_item || what.call_item) ||
	    what.call_pieces != 1 || what.reply_pieces != 1 || what.empty ||
	    what.too_short)
		return false;
	item->memory = nullptr;
	item->length = what.call_length;
	item->reply_max = what.reply_max;
	item->position = ITEM_POSITION;
	item->result = what.reply_item;
	item->octets = item->result ? what.reply_item : what.call_item;
	item->offset = on->in_page(ITEM_POSITION);
	return true;
}

/*
 * Return true if the header has space for a separate chunk for each part of an
 * item.
 */
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
	/*
	 * One Write chunk may have fewer segments than several chunks together.
	 */
	if (!plan.write_chunk)
		return task->what.reply_pieces == 1;
	/* The plan counts one Write chunk, which is returned with the Reply. */
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
 * Register the data of a Call or result, which may have several chunks. The
 * engine has begun the first one.
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
				rc = on->map(&task->mrs, task->reply,
					     layout(task).head + from, length,
					     true, lists);
		});
	else
		each_item(what.call_pieces, what.call_item,
			  [&](u32 i, u32 from, u32 length) {
				  const u32 at = ITEM_POSITION + from;

				  if (!rc && i &&
				      rpcrdma_lists_add_read(&lists, at))
					  rc = -EMSGSIZE;
				  if (!rc)
					  rc = on->map(&task->mrs, task->call,
						       at, length, false,
						       lists);
			  });
	return rc;
}

/*
 * Register the memory of an RPC. The memory of a Reply around several results
 * is contiguous.
 */
int host::map(rpc *task, endpoint *on, const rpcrdma_call_plan &plan)
{
	rpcrdma_chunk_range_iter at = { &plan, call_of(task->what),
					reply_of(task), 0 };
	rpcrdma_lists &lists = task->x.lists;
	rpcrdma_chunk_range range;
	int rc;

	task->mrs_of = on;
	while ((rc = rpcrdma_chunk_range_next(&at, &lists, &range)) > 0) {
		if (range.written && plan.write_chunk &&
		    task->what.reply_pieces > 1 && range.from > at.reply.head)
			range.from -= at.reply.pages;
		rc = range.data ?
			     map_data(task, on, range.written) :
			     on->map(&task->mrs,
				     range.written ? task->reply : task->call,
				     range.from, range.length, range.written,
				     lists);
		if (rc)
			break;
	}
	if (!rc &&
	    (task->what.call_pieces > 1 || task->what.reply_pieces > 1) &&
	    !pieces_fit(task, on, plan))
		rc = -E2BIG;
	return rc;
}

/* Register the only item of a Call, which is planned to fit into one MR. */
int host::map_item(rpc *task, endpoint *on, bool result)
{
	const spec &what = task->what;

	task->mrs_of = on;
	if (!result)
		return on->map_item(&task->mrs, task->call, ITEM_POSITION,
				    what.call_item, false);
	return on->map_item(&task->mrs, task->reply, ITEM_POSITION,
			    what.reply_item, true);
}

/* Copy the part of a Call that is in messages to @to. */
void host::copy_call(const rpc *task, const endpoint *on,
		     const rpcrdma_call_plan &plan, u8 *to)
{
	const std::vector<u8> payload =
		plan.read_item ?
			reduced(task->call.octets, task->what.call_item) :
			task->call.octets;

	if (payload.size() != plan.inline_length)
		w_.complain("a plan and its Call do not agree");
	if (plan.format == RPCRDMA_INLINE &&
	    on->call_send->len > rpcrdma_conn_limits(&on->conn).send_inline)
		w_.complain("a planned Call does not fit");
	std::copy(payload.begin(), payload.end(), to);
}

/* A continued Call was lost with its connection. */
void host::lost(const rpc *task)
{
	rpcrdma_peer_limits_lost(&peer_limits_, w_.now / SECOND, task->x.conn);
	remembered_ = true;
}

/* Check what was counted for a Call. */
void host::check_counts(const rpc &task, const rpcrdma_requester_stats &before,
			int rc)
{
	const rpcrdma_lists &lists = task.x.lists;

	if (stats_.no_send_space - before.no_send_space != (rc == -EAGAIN) ||
	    stats_.failed_sends - before.failed_sends != (rc > 0))
		w_.complain("a Call that is not sent is counted wrongly");
	if ((rc > 0) != (task.refused != 0))
		w_.complain("an RPC that cannot be sent does not end");
	if (rc < 0 && rc != -EAGAIN && rc != -ENOBUFS && rc != -ENOTCONN)
		w_.complain("an errno ends the RPC of another task");
	if (rc)
		return;
	if (stats_.read_chunks - before.read_chunks != lists.nr_reads ||
	    stats_.write_chunks - before.write_chunks !=
		    (lists.nr_writes != 0) ||
	    stats_.reply_chunks - before.reply_chunks != lists.has_reply)
		w_.complain("the chunks of a Call are counted wrongly");
}

/* Return the MRs of an earlier attempt. */
void host::reclaim_mrs(rpc *task)
{
	if (!task->mrs_of->is_gone())
		w_.complain("MRs of a connection that has not ended");
	task->mrs_of->put_mrs(&task->mrs);
}

int host::try_send(rpc *task, endpoint *on)
{
	const rpcrdma_requester_stats before = stats_;
	int rc;

	if (!on)
		return -ENOTCONN;
	const bool was_open = on->is_open();
	bool lost = false;

	if (was_open && task->x.continued) {
		rpcrdma_xact x = task->x;

		lost = rpcrdma_xact_begin(&x, &on->conn) == RPCRDMA_BEGIN_LOST;
	}
	const rpcrdma_call_size size = { task->xid, task->what.call_length,
					 task->what.call_item,
					 task->what.reply_max };

	/* The peer may answer before this returns. */
	task->waits = false;
	remembered_ = false;
	task->refused = 0;
	rc = rpcrdma_core_send_rpc(on, task, &peer_limits_, &size, &stats_);
	check_counts(*task, before, rc);
	if (remembered_ != lost)
		w_.complain("the loss of a continued Call is not remembered");
	if (rc == -EAGAIN && !task->waits)
		w_.complain("a Call waits for no write space");
	if (rc == -EAGAIN && !was_open)
		w_.complain("a Call waits for a connection that has ended");
	if (rc == -ENOTCONN && was_open && on->is_open())
		w_.complain("a Call is sent twice on one connection");
	if (rc == -ENOTCONN && was_open)
		w_.sum.mrs_given_up++;
	if (rc > 0)
		rc = task->refused;
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
	w_.after(RPC_TIME, task, rpc::TIMEOUT, ++task->timer);
	return 0;
}

} // namespace simulation

using namespace simulation;

void rpcrdma_port_rpc_lost(struct rpcrdma_ep_core *,
			   const struct rpcrdma_rpc *called)
{
	const auto *task = static_cast<const rpc *>(called);

	task->owner->lost(task);
}

void rpcrdma_port_rpc_take_back(struct rpcrdma_rpc *called)
{
	auto *task = static_cast<rpc *>(called);

	task->owner->reclaim_mrs(task);
}

void rpcrdma_port_rpc_wait(struct rpcrdma_ep_core *, struct rpcrdma_rpc *called)
{
	static_cast<rpc *>(called)->waits = true;
}

void rpcrdma_port_rpc_unsent(struct rpcrdma_ep_core *,
			     struct rpcrdma_rpc *called, int status)
{
	static_cast<rpc *>(called)->refused = status;
}

void rpcrdma_port_call_data(struct rpcrdma_ep_core *core,
			    struct rpcrdma_rpc *called,
			    struct rpcrdma_call *call)
{
	auto *task = static_cast<rpc *>(called);

	task->owner->call_data(task, static_cast<endpoint *>(core), call);
}

bool rpcrdma_port_call_item(struct rpcrdma_ep_core *core,
			    struct rpcrdma_rpc *called,
			    struct rpcrdma_call_item *item)
{
	auto *task = static_cast<rpc *>(called);

	return task->owner->call_item(task, static_cast<endpoint *>(core),
				      item);
}

int rpcrdma_port_item_map(struct rpcrdma_ep_core *core,
			  struct rpcrdma_rpc *called,
			  const struct rpcrdma_call_item *item)
{
	auto *task = static_cast<rpc *>(called);

	return task->owner->map_item(task, static_cast<endpoint *>(core),
				     item->result);
}

int rpcrdma_port_call_map(struct rpcrdma_ep_core *core,
			  struct rpcrdma_rpc *called,
			  const struct rpcrdma_call_plan *plan)
{
	auto *task = static_cast<rpc *>(called);

	return task->owner->map(task, static_cast<endpoint *>(core), *plan);
}

struct rpcrdma_stream *
rpcrdma_port_call_stream(struct rpcrdma_ep_core *core, u32 xid, u32 octets,
			 const struct rpcrdma_lists *lists)
{
	return static_cast<endpoint *>(core)->new_stream(
		RPCRDMA_KIND_CALL, xid, lists, std::vector<u8>(octets));
}

void rpcrdma_port_call_copy(struct rpcrdma_ep_core *core,
			    struct rpcrdma_rpc *called,
			    const struct rpcrdma_call_plan *plan, void *to)
{
	auto *task = static_cast<rpc *>(called);

	task->owner->copy_call(task, static_cast<endpoint *>(core), *plan,
			       static_cast<u8 *>(to));
}
