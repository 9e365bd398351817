// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending Replies, in either direction.
 *
 * Operation
 *
 * A Reply is conveyed as rpc/plan_reply.cc plans it: in a message or several, in the
 * chunks of its Call, or exposed for the peer to pull. The fast paths are a Reply that
 * is one message without chunks, and a Reply with one item in the only chunk of its
 * Call. The host copies the payload, and prepares Writes and the memory to be pulled.
 *
 * A Reply is posted, or queued in order in core->messages, because its sender does not
 * wait. A server reserves the Send context of a Reply before it executes the Call, so
 * that the Reply waits only for credits and for slots of the Send Queue. A continued
 * Reply returns this context and waits for one for each message. A client gets it here.
 * The Writes of a Reply are chained before its Send if the chain fits the Send
 * Queue. Otherwise they are posted first, and transfer.cc queues the Reply when they
 * have completed.
 *
 * Memory
 *
 * The inline part is copied before the Writes hold the memory of the Reply, because the
 * host may take it from the sender then. Exposed memory is held before that. If the
 * Reply cannot be built, its Writes, exposure, stream and Send context are released, and
 * their charges end. From the post on, the endpoint owns them. A plan may refer to
 * segments in the memory of the Call's Receive, which is held until the header is built.
 * In version 1 it is released then: the Reply permits the peer to send another Call, for
 * which a Receive must be posted.
 *
 * Errors
 *
 * A Reply that cannot be built is remedied by rpcrdma_core_remedy(): an ERROR is sent in
 * its place, its sender retries, or the connection is closed. If the fast path for one
 * item cannot prepare its Write, the Reply is planned. If the device refuses a Reply,
 * the function succeeds, and an action in core->todo closes the connection.
 *
 * Locking
 *
 * A Reply is planned and built without the lock of the connection, and posted under it.
 * The actions in core->todo run after it is released. A Reply to be pulled holds off the
 * teardown from its exposure until these have run.
 */
#include "../one_part.h"
#include "../queue/send_queue.hh"
#include "posting.hh"

namespace rpcrdma
{

namespace
{

/* ---- Posting ---- */

/* Send the Reply in @s after the Writes of @t, which do not fit into its chain. */
int post_reply_after(rpcrdma_ep_core *core, rpcrdma_send *s,
		     rpcrdma_transfer *t, enum rpcrdma_format format,
		     const rpcrdma_lists *lists, u32 written)
{
	t->reply = &s->work;
	/* If the connection is not open, the transfer's end releases the Reply. */
	core->todo |= RPCRDMA_TODO_WRITES;
	if (!is_open(core))
		return -E_NOTCONN;
	rpcrdma_conn_count(&core->conn, RPCRDMA_KIND_REPLY, format, lists);
	core->conn.counters.bytes_sent += written;
	return 0;
}

/* post_reply() under the lock */
[[gnu::always_inline]] inline int
post_reply_locked(rpcrdma_ep_core *core, rpcrdma_send *s, rpcrdma_transfer *t,
		  u32 inv_handle, enum rpcrdma_format format,
		  const rpcrdma_lists *lists, rpcrdma_pull_entry *exposed,
		  u32 written)
{
	const list_head *mrs = exposed ? &exposed->mrs : nullptr;
	enum rpcrdma_sq_answer may;

	prepare_send(s, RPCRDMA_WORK_REPLY, inv_handle);
	s->work.wrs.nr += count_mrs(mrs);
	if (t && !rpcrdma_sq_in_chain(&core->sq, s->work.wrs.nr, t->left))
		[[unlikely]] {
		if (mrs)
			rpcrdma_port_chain_mrs(s, mrs);
		return post_reply_after(core, s, t, format, lists, written);
	}
	attach_writes(s, t);
	if (!is_open(core)) [[unlikely]]
		return -E_NOTCONN;
	may = sq_reply(&core->conn, &core->sq, &s->work.wrs, s->buf, format,
		       lists);
	if (may == RPCRDMA_SQ_NEVER) [[unlikely]] {
		core->todo |= RPCRDMA_TODO_TOO_LONG;
		return -E_NOTCONN;
	}
	core->conn.counters.bytes_sent += written;
	if (mrs) [[unlikely]]
		rpcrdma_port_chain_mrs(s, mrs);
	chain_writes(s, t);
	if (may == RPCRDMA_SQ_WAIT) [[unlikely]] {
		list_push_back(&s->work.list, &core->messages);
		rpcrdma_core_pump(core);
		trace_queued(core, load_word(s->buf, 0), &s->work);
	} else if (!submit_send(core, s)) [[unlikely]] {
		core->todo |= RPCRDMA_TODO_SEND_REFUSED;
	}
	return 0;
}

/* Do what post_reply_locked() has left. @exposes: the Reply is to be pulled */
[[gnu::noinline]] void finish_reply(rpcrdma_send *s, rpcrdma_transfer *t,
				    int rc, u32 todo, bool exposes)
{
	rpcrdma_ep_core *core = s->core;

	if (todo)
		rpcrdma_core_finish(core, todo);
	if (todo & RPCRDMA_TODO_WRITES)
		rpcrdma_core_transfer_post(t);
	else if (rc)
		rpcrdma_core_send_put(s);
	/*
	 * The teardown, which was held off, releases the exposure if the Reply could
	 * not be sent.
	 */
	if (exposes)
		rpcrdma_port_leave(core);
}

/*
 * rpcrdma_core_post_reply(). @exposed: s->exposed. @written: bytes of Write chunks that are
 * not in @lists
 */
[[gnu::always_inline]] inline int
post_reply(rpcrdma_ep_core *core, rpcrdma_send *s, rpcrdma_transfer *t,
	   u32 inv_handle, enum rpcrdma_format format,
	   const rpcrdma_lists *lists, rpcrdma_pull_entry *exposed, u32 written)
{
	const bool exposes = exposed;
	const bool alone = rpcrdma_port_lock_to_send(core, RPCRDMA_KIND_REPLY);
	const int rc = post_reply_locked(core, s, t, inv_handle, format, lists,
					 exposed, written);
	const u32 todo = rpcrdma_core_take_todo(core);

	rpcrdma_port_unlock_sent(core, alone);
	if (rc || todo || exposes) [[unlikely]]
		finish_reply(s, t, rc, todo, exposes);
	return rc;
}

/* ---- Building ---- */

/* A Reply that is built: one message, or a continued one, and its Writes or null */
struct built_reply {
	rpcrdma_send *s;
	rpcrdma_stream *st;
	rpcrdma_transfer *t;
};

/*
 * Copy the inline part to @to, which has space for it, and add Writes of the rest to @t.
 * Return 0 or a negative errno.
 */
int place_reply(rpcrdma_reply_out *out, const rpcrdma_reply *reply,
		const rpcrdma_reply_plan *plan, rpcrdma_transfer *t, u8 *to)
{
	u32 left = plan->inline_length;
	rpcrdma_msg_iter at = {};
	rpcrdma_msg_range range;
	u32 rest;

	if (rpcrdma_reply_only_item(reply, plan, &range, &rest)) [[likely]] {
		rpcrdma_port_reply_copy(out, 0, range.from, to);
		if (left > range.from)
			rpcrdma_port_reply_copy(out, rest, left - range.from,
						to + range.from);
		return rpcrdma_port_reply_write(out, t, &plan->lists, &range);
	}
	while (rpcrdma_reply_iter_next(reply, plan, &at, &range)) {
		if (range.chunk) {
			const int rc = rpcrdma_port_reply_write(
				out, t, &plan->lists, &range);

			if (rc)
				return rc;
		} else if (range.origin == RPCRDMA_RANGE_INLINE) {
			if (range.length > left) [[unlikely]]
				return -E_INVAL;
			rpcrdma_port_reply_copy(out, range.from, range.length,
						to);
			to += range.length;
			left -= range.length;
		}
	}
	return left ? -E_INVAL : 0;
}

/* Allocate the Writes of a Reply that has some. */
rpcrdma_transfer *new_writes(rpcrdma_ep_core *core, rpcrdma_reply_out *out,
			     const rpcrdma_reply *reply,
			     const rpcrdma_reply_plan *plan)
{
	const rpcrdma_item *items = reply->items;

	if (plan->reply_length)
		return rpcrdma_port_reply_writes(core, out, 0, out->length);

	const rpcrdma_item *last = &items[plan->nr_items - 1];

	return rpcrdma_port_reply_writes(core, out, items[0].position,
					 last->position + last->length);
}

/*
 * Copy the inline part of a Reply to @to, and prepare its Writes, *@t, if there are any.
 * Return 0 or a negative errno, without Writes.
 */
int fill_reply(rpcrdma_ep_core *core, rpcrdma_reply_out *out,
	       const rpcrdma_reply *reply, const rpcrdma_reply_plan *plan,
	       u8 *to, rpcrdma_transfer **t)
{
	int rc;

	*t = nullptr;
	if (!plan->nr_items && !plan->reply_length) {
		/* The bytes to be pulled stay in place. */
		if (plan->inline_length)
			rpcrdma_port_reply_copy(out, 0, plan->inline_length,
						to);
		return 0;
	}
	*t = new_writes(core, out, reply, plan);
	if (!*t)
		return -E_NOMEM;
	rc = place_reply(out, reply, plan, *t, to);
	if (rc) {
		rpcrdma_core_transfer_end(*t, false);
		return rc;
	}
	rpcrdma_port_reply_hold(out, *t);
	return 0;
}

/* Release what the Reply does not need any more, now that it is built. */
[[gnu::always_inline]] inline void
reply_is_built(rpcrdma_ep_core *core, rpcrdma_reply_out *out, bool exposed)
{
	if (exposed || rpcrdma_reply_is_credit(&core->conn)) [[unlikely]]
		rpcrdma_port_reply_built(core, out, exposed);
}

/*
 * Return true if another continued Reply may be queued. Those of callbacks hold no Send
 * context and are not charged: without a limit, a server that grants few credits would
 * make its client hold any number.
 */
bool may_queue_stream(const rpcrdma_ep_core *core)
{
	return !core->life.client ||
	       __atomic_load_n(&core->sq.messages, __ATOMIC_RELAXED) <
		       RPCRDMA_CALLBACK_SLOTS;
}

/*
 * Build a continued Reply (4.4.2). Return 0 or a negative errno, with nothing built; the
 * same applies to the next two functions.
 */
int build_continued(rpcrdma_ep_core *core, rpcrdma_reply_out *out,
		    const rpcrdma_reply *reply, const rpcrdma_reply_plan *plan,
		    built_reply *b)
{
	int rc;

	if (!may_queue_stream(core)) [[unlikely]]
		return -E_NOMEM;
	b->st = rpcrdma_port_reply_stream(out, plan->inline_length,
					  &plan->lists);
	if (!b->st)
		return -E_NOMEM;
	rc = fill_reply(core, out, reply, plan, b->st->data, &b->t);
	if (rc) {
		rpcrdma_core_stream_free(b->st);
		return rc;
	}
	reply_is_built(core, out, false);
	/* Each of its messages gets a context when it is sent. */
	if (out->send)
		rpcrdma_core_send_put(out->send);
	return 0;
}

/* Build a Reply in b->s, and expose what is to be pulled. */
int build_in(rpcrdma_ep_core *core, rpcrdma_reply_out *out,
	     const rpcrdma_reply *reply, rpcrdma_reply_plan *plan,
	     built_reply *b)
{
	const auto format = static_cast<enum rpcrdma_format>(plan->format);
	rpcrdma_pull_entry *x = nullptr;
	rpcrdma_send *s = b->s;
	int rc;

	/* The header names the memory, which must therefore be exposed first. */
	if (plan->read_length) {
		rc = rpcrdma_port_reply_expose(core, out, reply, plan, &x);
		if (rc)
			return rc;
	}
	rc = rpcrdma_core_send_begin(s, RPCRDMA_KIND_REPLY, format, out->xid,
				     plan->inline_length, &plan->lists);
	if (!rc) [[likely]]
		rc = fill_reply(core, out, reply, plan,
				static_cast<u8 *>(s->buf) + s->header_len,
				&b->t);
	if (!rc) [[likely]] {
		s->exposed = x;
		reply_is_built(core, out, x);
		return 0;
	}
	if (x) {
		rpcrdma_core_expose_cancel(x);
		x->release(x);
	}
	return rc;
}

/* Return the context of a Reply, or null if none is free. */
[[gnu::always_inline]] inline rpcrdma_send *send_for(rpcrdma_ep_core *core,
						     rpcrdma_reply_out *out)
{
	return out->send ? out->send : rpcrdma_core_send_get(core);
}

/* Build a Reply that is one message. */
int build_whole(rpcrdma_ep_core *core, rpcrdma_reply_out *out,
		const rpcrdma_reply *reply, rpcrdma_reply_plan *plan,
		built_reply *b)
{
	int rc;

	b->st = nullptr;
	b->s = send_for(core, out);
	if (!b->s)
		return -E_NOMEM;
	rc = build_in(core, out, reply, plan, b);
	if (rc && b->s != out->send)
		rpcrdma_core_send_put(b->s);
	return rc;
}

/* Handle @status, the failure to build a Reply. @plan: null if there is none. */
[[gnu::noinline]] int not_built(rpcrdma_ep_core *core, rpcrdma_reply_out *out,
				const rpcrdma_reply_plan *plan, int status)
{
	const rpcrdma_remedy remedy = rpcrdma_core_remedy(
		core, out->xid,
		out->kept ? RPCRDMA_FAILED_KEPT_REPLY : RPCRDMA_FAILED_REPLY,
		status, plan, "no resources to send a Reply");

	if (remedy.kind == RPCRDMA_REMEDY_RETRY)
		return remedy.status;
	if (out->send)
		rpcrdma_core_send_put(out->send);
	out->send = nullptr;
	if (remedy.kind != RPCRDMA_REMEDY_GIVE_UP)
		return -E_NOTCONN;
	rpcrdma_port_reply_refused(core, out, remedy.code);
	return 0;
}

/* Send a Reply that may be any. */
[[gnu::noinline]] int send_any(rpcrdma_ep_core *core, rpcrdma_reply_out *out)
{
	/* More than a KiB, of which a Reply seldom uses more than a few words */
	rpcrdma_reply_plan plan RPCRDMA_UNINITIALIZED;
	rpcrdma_reply reply RPCRDMA_UNINITIALIZED;
	built_reply b;
	int rc;

	reply.xid = out->xid;
	reply.length = out->length;
	reply.nr_items = 0;
	reply.reverse = core->life.client;
	rpcrdma_port_reply_items(out, &reply);
	rpcrdma_plan_reply(&core->conn, out->call_lists, &reply, &plan);
	if (plan.error)
		rc = -E_MSGSIZE;
	else if (plan.format == RPCRDMA_CONTINUED)
		rc = build_continued(core, out, &reply, &plan, &b);
	else
		rc = build_whole(core, out, &reply, &plan, &b);
	if (rc)
		return not_built(core, out, &plan, rc);
	out->send = nullptr;
	if (b.st)
		return rpcrdma_core_send_continued_reply(core, b.st, b.t,
							 plan.inv_handle);
	return rpcrdma_core_post_reply(
		core, b.s, b.t, plan.inv_handle,
		static_cast<enum rpcrdma_format>(plan.format), &plan.lists);
}

/*
 * begin_one() of a Reply for which it returns false. @call_lists: the only chunk of the
 * Call, of which @octets bytes are written. Return 0 or a negative errno.
 */
[[gnu::noinline]] int begin_any(rpcrdma_send *s, u32 xid, u32 payload,
				const rpcrdma_lists *call_lists, u32 octets)
{
	rpcrdma_lists lists RPCRDMA_UNINITIALIZED;
	const rpcrdma_segment &seg = call_lists->segs[0];

	rpcrdma_lists_init(&lists);
	rpcrdma_lists_set_only(&lists, false, 0, seg.handle, octets,
			       seg.offset);
	return rpcrdma_core_send_begin(s, RPCRDMA_KIND_REPLY, RPCRDMA_INLINE,
				       xid, payload, &lists);
}

/*
 * Send a Reply with one item in the only chunk of its Call. Return 1, with nothing done,
 * if it is another one.
 */
[[gnu::noinline]] int send_only_item(rpcrdma_ep_core *core,
				     rpcrdma_reply_out *out)
{
	const rpcrdma_item *item = rpcrdma_port_reply_item(out);
	const rpcrdma_lists *call_lists = out->call_lists;
	rpcrdma_send *s = out->send;
	rpcrdma_segment segment;
	rpcrdma_transfer *t;
	u32 payload;
	u8 *to;

	if (!item || !s ||
	    !rpcrdma_plan_reply_one(&core->conn, call_lists, out->length, item,
				    &payload) ||
	    !rpcrdma_transfer_one_part(&core->rw, false, call_lists,
				       &call_lists->writes[0], 0, item->length,
				       &segment))
		return 1;

	const u32 before = item->position, octets = item->length;
	const u32 rest = payload - before;

	if (begin_one(core, s, payload)) [[likely]]
		encode_written_header(s->buf, out->xid,
				      { .handle = call_lists->segs[0].handle,
					.length = octets,
					.offset = call_lists->segs[0].offset });
	else if (begin_any(s, out->xid, payload, call_lists, octets))
		return 1;
	to = static_cast<u8 *>(s->buf) + s->header_len;
	rpcrdma_port_reply_copy(out, 0, before, to);
	if (rest)
		rpcrdma_port_reply_copy(out, out->length - rest, rest,
					to + before);
	t = rpcrdma_port_item_write(core, out, &segment);
	if (!t || !rpcrdma_core_prepare_one(t, octets)) [[unlikely]]
		return 1;
	rpcrdma_port_reply_hold(out, t);

	const u32 inv_handle =
		rpcrdma_reply_invalidates(&core->conn, call_lists);

	out->send = nullptr;
	reply_is_built(core, out, false);
	return post_reply(core, s, t, inv_handle, RPCRDMA_INLINE, nullptr,
			  nullptr, octets);
}

/* Send a Reply that is one message without chunks. */
[[gnu::always_inline]] inline int send_plain(rpcrdma_ep_core *core,
					     rpcrdma_reply_out *out)
{
	const u32 inv_handle =
		rpcrdma_reply_invalidates(&core->conn, out->call_lists);
	rpcrdma_send *s = send_for(core, out);
	int rc;

	if (!s) [[unlikely]]
		return not_built(core, out, nullptr, -E_NOMEM);
	rc = rpcrdma_core_send_begin(s, RPCRDMA_KIND_REPLY, RPCRDMA_INLINE,
				     out->xid, out->length, nullptr);
	if (rc) [[unlikely]] {
		if (s != out->send)
			rpcrdma_core_send_put(s);
		return not_built(core, out, nullptr, rc);
	}
	rpcrdma_port_reply_copy(out, 0, out->length,
				static_cast<u8 *>(s->buf) + s->header_len);
	out->send = nullptr;
	reply_is_built(core, out, false);
	return post_reply(core, s, nullptr, inv_handle, RPCRDMA_INLINE, nullptr,
			  nullptr, 0);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

int rpcrdma_core_post_reply(struct rpcrdma_ep_core *core,
			    struct rpcrdma_send *s, struct rpcrdma_transfer *t,
			    u32 inv_handle, enum rpcrdma_format format,
			    const struct rpcrdma_lists *lists)
{
	return post_reply(core, s, t, inv_handle, format, lists, s->exposed, 0);
}

int rpcrdma_core_send_reply(struct rpcrdma_ep_core *core,
			    struct rpcrdma_reply_out *out)
{
	int rc;

	if (rpcrdma_reply_is_plain(&core->conn, out->call_lists, out->length))
		[[likely]]
		return send_plain(core, out);
	rc = send_only_item(core, out);
	return rc > 0 ? send_any(core, out) : rc;
}
