// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending Calls; reply.cc has Replies, and continued.cc the messages of continued ones.
 *
 * Operation
 *
 * A Call is planned, its chunks are mapped, and its message is built in core->call_send.
 * The fast paths are a Call without chunks, and a Call with one item in one chunk. The
 * host maps memory and copies the payload.
 *
 * A Call is sent at once or refused, because its task can retry it. If a resource is
 * missing, the host registers the task as a waiter, and the Call is tried once more:
 * the resource may have become available before that. A Call may have been sent before,
 * on a connection that was lost: the MRs of that attempt are released first.
 *
 * Memory
 *
 * core->call_send is the context in which the next Call is built. A refused Call leaves
 * it there, and its MRs are returned. A Call is recorded as sent, and its MRs as exposed,
 * in the critical section that posts it, and so before its Reply is processed. A context
 * that is released without being sent ends the work that is attached to it.
 *
 * Errors
 *
 * -EAGAIN: the host will be notified of write space. -EIO: the Call can never be sent.
 * If the device refuses a message, the function succeeds, and an action in core->todo
 * closes the connection: the message is in core->inflight and ends in the teardown. If
 * memory for a continued Call is short, the Call is planned again without
 * continuation. If a Call needs more MRs than the device has for this connection, the
 * connection is closed.
 *
 * Locking
 *
 * A Call is planned, mapped and built without the lock of the connection, and posted
 * under it. The actions in core->todo run after it is released.
 */
#include "../queue/send_queue.hh"
#include "../rpc/plan_call.hh"
#include "../wire/xdr.hh"
#include "posting.hh"

namespace rpcrdma
{

int call_status(rpcrdma_ep_core *core, enum rpcrdma_sq_answer may)
{
	if (may == RPCRDMA_SQ_GO) [[likely]]
		return 0;
	if (may == RPCRDMA_SQ_NEVER)
		return -E_IO;
	watch_stall(core);
	return -E_AGAIN;
}

bool queue_reply(rpcrdma_ep_core *core, rpcrdma_work *reply, u32 nr_wrs)
{
	if (rpcrdma_sq_reply_waits(&core->sq, nr_wrs) != RPCRDMA_SQ_WAIT)
		return false;
	list_push_back(&reply->list, &core->messages);
	rpcrdma_core_pump(core);
	return true;
}

namespace
{

constexpr char TOO_FEW_MRS[] =
	"the device has too few memory regions for a Call";

/*
 * Return true if a Call cannot be sent now; write space will be notified. A Call that
 * others precede asks before its memory is mapped, because it may be refused any number
 * of times.
 */
[[gnu::always_inline]] inline bool must_wait(rpcrdma_ep_core *core, bool chunks)
{
	return rpcrdma_sq_must_ask(&core->sq, chunks) &&
	       !rpcrdma_core_may_call(core);
}

/*
 * Return true if the connection is open and has MRs, and neither a Call before this one nor
 * this one was refused for its form. The values are combined: the compiler would keep each
 * of them until a constant of the same value and size is needed.
 */
[[gnu::always_inline]] inline bool
is_usual_call(const rpcrdma_conn *conn, const rpcrdma_peer_limits *learned,
	      const rpcrdma_xact *x)
{
	const u64 other = conn->state ^ +RPCRDMA_CONN_OPEN;

	return !(other | conn->cfg.no_mrs |
		 __atomic_load_n(&learned->any, __ATOMIC_RELAXED) |
		 x->retry_limits.retried_errors);
}

/*
 * Plan a Call without its complete geometry: one item, which fits into one MR, in a
 * chunk. Return false if anything about the Call, its peer or its MRs is unusual.
 */
[[gnu::always_inline]] inline bool
plan_only_item(rpcrdma_ep_core *core, rpcrdma_rpc *rpc,
	       const rpcrdma_peer_limits *learned, rpcrdma_call_item *item,
	       rpcrdma_call_plan *plan)
{
	return core->conn.cfg.client &&
	       is_usual_call(&core->conn, learned, &rpc->x) &&
	       uses_chunks(&core->conn) &&
	       !rpcrdma_mr_pool_is_starved(&core->mrs.pool) &&
	       rpcrdma_port_call_item(core, rpc, item) &&
	       item->octets <= RPCRDMA_MAX_CHUNK_OCTETS &&
	       item->octets <= core->conn.peer.rssiz &&
	       rpcrdma_mr_has_pages(&core->mrs.limits, item->offset,
				    item->octets) &&
	       plan_item(&core->conn, *item, plan);
}

/*
 * rpcrdma_core_send_call() under the lock. @one: there are @x, one MR in @mrs, and @lists
 * with one segment, in a Read chunk or a Write chunk
 */
[[gnu::always_inline]] inline int post_call(rpcrdma_ep_core *core,
					    rpcrdma_send *s, list_head *mrs,
					    enum rpcrdma_format format,
					    const rpcrdma_lists *lists,
					    rpcrdma_xact *x, bool one)
{
	int rc;

	if (!is_open(core)) [[unlikely]]
		return -E_NOTCONN;
	prepare_send(s, RPCRDMA_WORK_CALL, 0);
	s->work.wrs.nr += one ? 1 : count_mrs(mrs);
	rc = call_status(core, sq_call(&core->conn, &core->sq, &s->work.wrs,
				       s->buf, format, lists, one));
	if (rc) [[unlikely]]
		return rc;
	core->call_send = pop_send(core);
	/* The registrations precede the Call, with the same doorbell. */
	if (one || mrs) {
		rpcrdma_port_chain_mrs(s, mrs);
		if (one)
			expose_mr(list_first<rpcrdma_mr>(mrs));
		else
			expose_mrs(mrs);
	}
	if (one || x)
		rpcrdma_xact_sent(x, &core->conn, false);
	if (!submit_send(core, s)) [[unlikely]]
		core->todo |= RPCRDMA_TODO_CALL_REFUSED;
	return 0;
}

[[gnu::always_inline]] inline int send_call(rpcrdma_ep_core *core,
					    rpcrdma_send *s, list_head *mrs,
					    enum rpcrdma_format format,
					    const rpcrdma_lists *lists,
					    rpcrdma_xact *x, bool one)
{
	const bool alone = rpcrdma_port_lock_to_send(core, RPCRDMA_KIND_CALL);
	const int rc = post_call(core, s, mrs, format, lists, x, one);
	const u32 todo = rpcrdma_core_take_todo(core);

	rpcrdma_port_unlock_sent(core, alone);
	if (todo) [[unlikely]]
		rpcrdma_core_finish(core, todo);
	return rc;
}

/* Send a Call without chunks. */
[[gnu::always_inline]] inline int send_plain(rpcrdma_ep_core *core,
					     rpcrdma_rpc *rpc, u32 xid,
					     const rpcrdma_call_plan *plan,
					     rpcrdma_send *s)
{
	int rc;

	rpcrdma_lists_init(&rpc->x.lists);
	rc = rpcrdma_core_send_begin(s, RPCRDMA_KIND_CALL, RPCRDMA_INLINE, xid,
				     plan->inline_length, nullptr);
	if (rc) [[unlikely]]
		return rc;
	rpcrdma_port_call_copy(core, rpc, plan,
			       static_cast<u8 *>(s->buf) + s->header_len);
	return send_call(core, s, nullptr, RPCRDMA_INLINE, nullptr, &rpc->x,
			 false);
}

/* Send a Call, the only chunk of which is @item, after its memory is mapped to one MR. */
[[gnu::always_inline]] inline int
send_mapped_item(rpcrdma_ep_core *core, rpcrdma_rpc *rpc, u32 xid,
		 const rpcrdma_call_item *item, const rpcrdma_call_plan *plan,
		 rpcrdma_send *s)
{
	const auto *mr = list_first<rpcrdma_mr>(&rpc->mrs);
	rpcrdma_lists *lists = &rpc->x.lists;

	rpcrdma_lists_set_only(lists, !item->result, item->position, mr->handle,
			       mr->length, mr->offset);
	lists->inv_handle = mr->handle;
	if (begin_one(core, s, plan->inline_length)) [[likely]] {
		encode_one_call(s->buf, xid, *item,
				{ mr->handle, mr->length, mr->offset });
	} else {
		const int rc = rpcrdma_core_send_begin(s, RPCRDMA_KIND_CALL,
						       RPCRDMA_INLINE, xid,
						       plan->inline_length,
						       lists);

		if (rc)
			return rc;
	}
	rpcrdma_port_call_copy(core, rpc, plan,
			       static_cast<u8 *>(s->buf) + s->header_len);
	return send_call(core, s, &rpc->mrs, RPCRDMA_INLINE, lists, &rpc->x,
			 true);
}

/* Send a Call in several messages, each of which gets a context when it is sent. */
int send_continued(rpcrdma_ep_core *core, rpcrdma_rpc *rpc, u32 xid,
		   const rpcrdma_call_plan *plan, const rpcrdma_lists *lists,
		   list_head *mrs)
{
	rpcrdma_stream *st =
		rpcrdma_port_call_stream(core, xid, plan->inline_length, lists);
	int rc;

	if (!st)
		return -E_NOMEM;
	rpcrdma_port_call_copy(core, rpc, plan, st->data);
	rc = rpcrdma_core_send_continued_call(core, st, mrs, &rpc->x);
	if (rc)
		rpcrdma_core_stream_free(st);
	return rc;
}

/* Send a Call, of any plan, after its chunks are mapped. */
int send_mapped(rpcrdma_ep_core *core, rpcrdma_rpc *rpc, u32 xid,
		const rpcrdma_call_plan *plan, bool chunks, rpcrdma_send *s)
{
	const auto format = static_cast<enum rpcrdma_format>(plan->format);
	const rpcrdma_lists *lists = chunks ? &rpc->x.lists : nullptr;
	list_head *mrs = chunks ? &rpc->mrs : nullptr;
	int rc;

	if (format == RPCRDMA_CONTINUED)
		return send_continued(core, rpc, xid, plan, lists, mrs);
	rc = rpcrdma_core_send_begin(s, RPCRDMA_KIND_CALL, format, xid,
				     plan->inline_length, lists);
	if (rc)
		return rc;
	if (format != RPCRDMA_SPECIAL)
		rpcrdma_port_call_copy(core, rpc, plan,
				       static_cast<u8 *>(s->buf) +
					       s->header_len);
	return send_call(core, s, mrs, format, lists, &rpc->x, false);
}

/* Map the chunks of a Call, and send it. If it is not sent, none of them is mapped. */
int map_and_send(rpcrdma_ep_core *core, rpcrdma_rpc *rpc, u32 xid,
		 const rpcrdma_call_plan *plan, rpcrdma_send *s)
{
	const bool chunks = rpcrdma_plan_has_chunks(plan);
	int rc = 0;

	rpcrdma_lists_init(&rpc->x.lists);
	if (chunks)
		rc = rpcrdma_port_call_map(core, rpc, plan);
	if (!rc)
		rc = send_mapped(core, rpc, xid, plan, chunks, s);
	if (rc && chunks)
		rpcrdma_port_rpc_put_mrs(core, rpc);
	return rc;
}

/* Plan and send a Call that may be any. */
[[gnu::noinline]] int send_any(rpcrdma_ep_core *core, rpcrdma_rpc *rpc, u32 xid,
			       rpcrdma_call_plan *plan, rpcrdma_send *s)
{
	rpcrdma_call call;
	int rc;

	rpcrdma_port_call_data(core, rpc, &call);
	rc = rpcrdma_plan_call(&core->conn, &call, plan);
	if (rc == -E_NOBUFS) {
		rpcrdma_core_close(core, TOO_FEW_MRS);
		return -E_NOTCONN;
	}
	if (rc)
		return rc;
	if (must_wait(core, rpcrdma_plan_has_chunks(plan)))
		return -E_AGAIN;
	rc = map_and_send(core, rpc, xid, plan, s);
	if (rc != -E_NOMEM || plan->format != RPCRDMA_CONTINUED) [[likely]]
		return rc;
	/*
	 * Copying a continued message may need memory that is only freed after this
	 * Call has been sent. A Read chunk needs none.
	 */
	call.no_parts = true;
	if (rpcrdma_plan_call(&core->conn, &call, plan))
		return rc;
	return map_and_send(core, rpc, xid, plan, s);
}

/* Plan and send a Call that is not a plain one. */
[[gnu::always_inline]] inline int
send_planned(rpcrdma_ep_core *core, rpcrdma_rpc *rpc,
	     const rpcrdma_peer_limits *learned, u32 xid,
	     rpcrdma_call_plan *plan, rpcrdma_send *s)
{
	rpcrdma_call_item *item = &rpc->item;
	int rc;

	if (!plan_only_item(core, rpc, learned, item, plan)) [[unlikely]]
		return send_any(core, rpc, xid, plan, s);
	if (must_wait(core, true))
		return -E_AGAIN;
	rc = rpcrdma_port_item_map(core, rpc, item);
	if (!rc) [[likely]]
		rc = send_mapped_item(core, rpc, xid, item, plan, s);
	if (rc) [[unlikely]]
		rpcrdma_port_rpc_put_mrs(core, rpc);
	return rc;
}

/* Prepare for a Call that may have been sent before. */
[[gnu::always_inline]] inline int begin(rpcrdma_ep_core *core, rpcrdma_rpc *rpc)
{
	const int rc = rpcrdma_xact_begin(&rpc->x, &core->conn);

	if (rc < 0) [[unlikely]]
		return rc;
	if (rc == RPCRDMA_BEGIN_LOST) [[unlikely]]
		rpcrdma_port_rpc_lost(core, rpc);
	if (!list_is_empty(&rpc->mrs)) [[unlikely]]
		rpcrdma_port_rpc_take_back(rpc);
	return 0;
}

/* Try once to send a Call. */
[[gnu::always_inline]] inline int
try_to_send(rpcrdma_ep_core *core, rpcrdma_rpc *rpc,
	    const rpcrdma_peer_limits *learned, const rpcrdma_call_size *size,
	    rpcrdma_call_plan *plan)
{
	if (!is_open(core)) [[unlikely]]
		return -E_NOTCONN;

	const int rc = begin(core, rpc);

	if (rc) [[unlikely]]
		return rc;

	rpcrdma_send *s = rpcrdma_core_send_for_call(core);

	if (!s) [[unlikely]]
		return -E_AGAIN;
	if (rpcrdma_plan_plain(&core->conn, &rpc->x.retry_limits, learned,
			       size->length, size->reply_max, plan)) [[likely]]
		return send_plain(core, rpc, size->xid, plan, s);
	return send_planned(core, rpc, learned, size->xid, plan, s);
}

/*
 * Try again once the task is registered as a waiter. A connection that closes after that
 * notifies it, too.
 */
[[gnu::noinline]] int wait_and_send(rpcrdma_ep_core *core, rpcrdma_rpc *rpc,
				    const rpcrdma_peer_limits *learned,
				    const rpcrdma_call_size *size,
				    rpcrdma_call_plan *plan)
{
	rpcrdma_port_rpc_wait(core, rpc);

	const int rc = try_to_send(core, rpc, learned, size, plan);

	if (rc != -E_AGAIN)
		rpcrdma_port_write_space(core);
	return rc;
}

/* Count a Call that has been sent. */
[[gnu::always_inline]] inline void count_call(rpcrdma_requester_stats *stats,
					      const rpcrdma_call_size *size,
					      const rpcrdma_call_plan *plan,
					      const rpcrdma_lists *lists)
{
	if (plan->format == RPCRDMA_SPECIAL)
		stats->nomsg_calls++;
	else if (!plan->read_item)
		stats->send_copied += size->pages;
	if (!rpcrdma_plan_has_chunks(plan)) [[likely]]
		return;
	stats->read_chunks += lists->nr_reads;
	if (lists->nr_writes) {
		stats->write_chunks++;
		stats->offered_octets += lists->writes[0].length;
	}
	if (lists->has_reply) {
		stats->reply_chunks++;
		stats->offered_octets += lists->reply.length;
	}
}

/*
 * Handle the failure @rc to send a Call. If every attempt would fail, end its RPC here:
 * an errno would end that of the task that is sending, which need not be the same.
 * Return what rpcrdma_core_send_rpc() returns.
 */
[[gnu::noinline]] int not_sent(rpcrdma_ep_core *core, rpcrdma_rpc *rpc, u32 xid,
			       rpcrdma_requester_stats *stats, int rc)
{
	const rpcrdma_remedy remedy =
		rpcrdma_remedy_for(RPCRDMA_FAILED_SEND, rc);

	if (rc == -E_AGAIN) {
		stats->no_send_space++;
		rpcrdma_port_queued(core, xid, nullptr);
	}
	if (remedy.kind != RPCRDMA_REMEDY_GIVE_UP)
		return remedy.status;
	stats->failed_sends++;
	rpcrdma_port_rpc_unsent(core, rpc, remedy.status);
	return 1;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

bool rpcrdma_core_may_call(struct rpcrdma_ep_core *core)
{
	const posting under(core);

	if (rpcrdma_sq_may_call(&core->conn, &core->sq))
		return true;
	watch_stall(core);
	return false;
}

struct rpcrdma_send *rpcrdma_core_send_get(struct rpcrdma_ep_core *core)
{
	const locked under(core);

	return rpcrdma_sq_get_context(&core->sq) ? pop_send(core) : nullptr;
}

bool rpcrdma_core_can_reserve_reply(struct rpcrdma_ep_core *core)
{
	const locked under(core);

	return rpcrdma_sq_can_reserve_reply(&core->sq);
}

struct rpcrdma_send *rpcrdma_core_reserve_reply(struct rpcrdma_ep_core *core)
{
	const locked under(core);

	return rpcrdma_sq_reserve_reply(&core->sq) ? pop_send(core) : nullptr;
}

/* rpcrdma_core_send_put() of a context to which work is attached */
[[gnu::noinline]] static void put_with_work(struct rpcrdma_send *s)
{
	rpcrdma_ep_core *core = s->core;
	list_head done_list;

	list_init(&done_list);
	rpcrdma_port_lock(core);
	free_up_send(core, s, &done_list);
	rpcrdma_core_freed(core);
	rpcrdma_core_end(core, unlock(core), &done_list, false);
}

void rpcrdma_core_send_put(struct rpcrdma_send *s)
{
	/* The caller keeps the memory that @s was to expose. */
	s->exposed = nullptr;
	if (s->rw || s->stream) [[unlikely]] {
		put_with_work(s);
		return;
	}

	const posting under(s->core);

	release_send(s->core, s);
	rpcrdma_core_freed(s->core);
}

int rpcrdma_core_call_refused(struct rpcrdma_ep_core *core,
			      const struct rpcrdma_rx *rx,
			      const struct rpcrdma_call *call,
			      const struct rpcrdma_lists *call_lists,
			      struct rpcrdma_retry_limits *retry_limits)
{
	const locked under(core);

	return rpcrdma_call_refused(&core->conn, rx, call, call_lists,
				    retry_limits);
}

int rpcrdma_core_send_rpc(struct rpcrdma_ep_core *core, struct rpcrdma_rpc *rpc,
			  const struct rpcrdma_peer_limits *learned,
			  const struct rpcrdma_call_size *size,
			  struct rpcrdma_requester_stats *stats)
{
	rpcrdma_call_plan plan;
	int rc = try_to_send(core, rpc, learned, size, &plan);

	if (rc == -E_AGAIN) [[unlikely]]
		rc = wait_and_send(core, rpc, learned, size, &plan);
	if (rc) [[unlikely]]
		return not_sent(core, rpc, size->xid, stats, rc);
	count_call(stats, size, &plan, &rpc->x.lists);
	return 0;
}

int rpcrdma_core_send_call(struct rpcrdma_ep_core *core, struct rpcrdma_send *s,
			   struct list_head *mrs, enum rpcrdma_format format,
			   const struct rpcrdma_lists *lists,
			   struct rpcrdma_xact *x)
{
	return send_call(core, s, mrs, format, lists, x, false);
}
