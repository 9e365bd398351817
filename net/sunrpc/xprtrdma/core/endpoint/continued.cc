// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Continued messages (4.4.2): a Call or Reply in several Sends.
 *
 * Operation
 *
 * The payload is in one buffer, the stream. Each message of the sequence is copied
 * from it to the buffer of a Send context, with a separate header; only the last one
 * has the chunk lists. From its first to its last message, a continued message is the
 * first of the queued messages, and no other Call or Reply may be sent (WP 6). A Call
 * posts its first message together with the registration of its MRs, or not at all;
 * the other messages are posted when credits and space permit. A Reply is queued as a
 * whole. Its Writes are chained before its last message, or are posted before it is
 * queued if they do not fit into that chain.
 *
 * Memory
 *
 * The stream of a Call belongs to the caller until it is accepted, then to the Send
 * Queue. That of a Reply is consumed in every case, and charged to the connection
 * until it is freed. A stream is freed when its last message has completed, or by the
 * teardown.
 *
 * Errors
 *
 * A Call that cannot begin is refused with an errno, and the caller keeps the stream.
 * If memory is short, the messages of a stream are shorter. If not even the first one of
 * a Call gets a buffer, the Call is refused. Later messages wait for a buffer (post.cc). If
 * the device refuses one, the connection is closed, because the peer waits for the rest of a
 * message that it has begun to receive. The connection is closed, too, if a Reply needs more
 * Work Requests than the Send Queue has.
 *
 * Locking
 *
 * The lock of the connection is held while messages are built and posted. A stream is
 * freed without it.
 */
#include "posting.hh"

namespace rpcrdma
{

namespace
{

/*
 * Free the stream of @work, and end the Writes that were to precede it. The device
 * does not use it any more, or it will never be posted.
 */
void stream_done(rpcrdma_work *work, bool)
{
	rpcrdma_stream *st = stream_of(work);

	if (st->rw)
		st->rw->work.done(&st->rw->work, false);
	rpcrdma_core_stream_free(st);
}

/*
 * Queue the Reply @st. Return 0 or -ENOTCONN. With RPCRDMA_TODO_WRITES the Writes of @t
 * are to be posted, and @st follows them.
 */
int queue_continued(rpcrdma_ep_core *core, rpcrdma_stream *st,
		    rpcrdma_transfer *t)
{
	if (t && !rpcrdma_sq_in_chain(&core->sq, st->work.wrs.nr, t->left)) {
		t->reply = &st->work;
		core->todo |= RPCRDMA_TODO_WRITES;
		return 0;
	}
	st->rw = t;
	if (!is_open(core)) [[unlikely]]
		return -E_NOTCONN;
	if (queue_reply(core, &st->work, st->work.wrs.nr + (t ? t->left : 0)))
		[[likely]] {
		trace_queued(core, st->xid, &st->work);
		return 0;
	}
	core->todo |= RPCRDMA_TODO_TOO_LONG;
	return -E_NOTCONN;
}

/*
 * Return a context for the next message of @st, which is stored in @part, or null if memory
 * is short.
 */
rpcrdma_send *begin_part(rpcrdma_ep_core *core, const rpcrdma_stream *st,
			 rpcrdma_fragment *part)
{
	rpcrdma_send *s = pop_send_for_part(core);

	if (!s) [[unlikely]]
		return nullptr;
	*part = rpcrdma_next_fragment(&core->conn, &st->lists,
				      st->len - st->sent, s->size);
	if (!part->octets) [[unlikely]] {
		release_send(core, s);
		return nullptr;
	}
	core->buffer_tries = 0;
	/* The account has counted it as the last one, but another one follows. */
	if (part->more && !next_part(core, st).more) [[unlikely]]
		rpcrdma_sq_enqueue_message(&core->sq);
	return s;
}

/*
 * Build the next message @part of @st in @s, and post it; with the first one, the
 * registrations of @mrs. Return false if the device refused it: the connection ends.
 */
bool build_part(rpcrdma_ep_core *core, rpcrdma_stream *st, rpcrdma_send *s,
		const rpcrdma_fragment &part, const list_head *mrs)
{
	s->header_len = rpcrdma_encode_rpc(&core->conn, s->buf, s->size,
					   st->kind, RPCRDMA_CONTINUED, st->xid,
					   part.more,
					   part.more ? nullptr : &st->lists);
	__builtin_memcpy(static_cast<u8 *>(s->buf) + s->header_len,
			 st->data + st->sent, part.octets);
	s->len = s->header_len + part.octets;
	prepare_send(s, static_cast<u8>(st->kind),
		     part.more ? 0 : st->inv_handle);
	if (mrs) {
		s->work.wrs.nr += count_mrs(mrs);
		rpcrdma_port_chain_mrs(s, mrs);
	}
	st->sent += part.octets;
	if (!part.more) {
		attach_writes(s, st->rw);
		chain_writes(s, st->rw);
		st->rw = nullptr;
		/* The stream is freed when the lock is not held. */
		list_remove(&st->work.list);
		s->stream = st;
		/* A Call may be waiting until its bytes are uncharged. */
		if (st->held_for)
			s->work.wrs.signaled = true;
		rpcrdma_conn_count(&core->conn, st->kind, RPCRDMA_CONTINUED,
				   &st->lists);
	} else if (list_is_empty(&st->work.list)) {
		list_push_front(&st->work.list, &core->messages);
	}
	return post_send(core, s);
}

} // namespace

enum post_result post_part(rpcrdma_ep_core *core, rpcrdma_stream *st)
{
	rpcrdma_fragment part;
	rpcrdma_send *s = begin_part(core, st, &part);

	if (!s) [[unlikely]]
		return post_result::NO_BUFFER;
	return build_part(core, st, s, part, nullptr) ? post_result::OK :
							post_result::REFUSED;
}

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_core_stream_init(struct rpcrdma_stream *st, enum rpcrdma_kind kind,
			      u32 xid, u8 *data, u32 len,
			      const struct rpcrdma_lists *lists)
{
	list_init(&st->work.list);
	st->work.next = nullptr;
	st->work.chain = nullptr;
	st->work.wrs = {};
	st->work.wrs.nr = 1;
	st->work.kind = RPCRDMA_WORK_STREAM;
	st->work.post_failed = false;
	st->work.done = stream_done;
	st->kind = kind;
	st->xid = xid;
	st->len = len;
	st->sent = 0;
	st->inv_handle = 0;
	st->rw = nullptr;
	st->held_for = nullptr;
	st->data = data;
	if (lists)
		st->lists = *lists;
	else
		rpcrdma_lists_init(&st->lists);
}

void rpcrdma_core_stream_free(struct rpcrdma_stream *st)
{
	if (st->held_for)
		rpcrdma_port_stream_uncharge(st->held_for, st);
	rpcrdma_port_stream_free(st);
}

int rpcrdma_core_send_continued_call(struct rpcrdma_ep_core *core,
				     struct rpcrdma_stream *st,
				     struct list_head *mrs,
				     struct rpcrdma_xact *x)
{
	const posting under(core);
	rpcrdma_fragment part;
	rpcrdma_send *s;
	bool more;
	int rc;

	if (!is_open(core)) [[unlikely]]
		return -E_NOTCONN;
	more = next_part(core, st).more;
	rc = call_status(core,
			 rpcrdma_sq_continued_call(&core->conn, &core->sq,
						   1 + count_mrs(mrs), more));
	if (rc)
		return rc;
	s = begin_part(core, st, &part);
	if (!s) [[unlikely]] {
		if (more)
			rpcrdma_sq_dequeue_message(&core->sq);
		return -E_NOMEM;
	}
	expose_mrs(mrs);
	if (x)
		rpcrdma_xact_sent(x, &core->conn, true);
	if (build_part(core, st, s, part, mrs))
		rpcrdma_core_pump(core);
	else
		core->todo |= RPCRDMA_TODO_SEND_REFUSED;
	return 0;
}

int rpcrdma_core_send_continued_reply(struct rpcrdma_ep_core *core,
				      struct rpcrdma_stream *st,
				      struct rpcrdma_transfer *t,
				      u32 inv_handle)
{
	u32 todo;
	int rc;

	st->inv_handle = inv_handle;
	st->held_for = core;
	rpcrdma_port_stream_charge(core, st);
	rpcrdma_port_lock(core);
	rc = queue_continued(core, st, t);
	todo = unlock(core);
	if (todo & RPCRDMA_TODO_WRITES)
		rpcrdma_core_transfer_post(t);
	else if (rc)
		st->work.done(&st->work, false);
	if (todo)
		rpcrdma_core_finish(core, todo);
	return rc;
}
