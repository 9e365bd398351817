// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Send Queue: the work that may be posted, and its order, which send_queue.h
 * describes.
 *
 * Operation
 *
 * Only numbers are here: free slots, free Send contexts, and the lengths of the queues,
 * which core/endpoint/post.cc has. A request is answered at once: post it now, append it
 * to its queue, or try it again when notified. Calls and reservations of contexts are
 * not queued. Their refusal is noted, and rpcrdma_sq_next() returns NOTIFY once when one
 * of them can succeed: the callers then compete again.
 *
 * Why every wait ends
 *
 * Work that fits leaves a batch of slots free in addition to its own. If there are not
 * enough slots for it, more than a batch is in use. A part of that was therefore posted
 * signaled, and its completion covers the unsignaled work before it. While fewer than
 * twice RPCRDMA_CONTROL_SENDS contexts are free, every chain is posted signaled. A
 * missing context is therefore either held by a caller that will post or release it, or
 * posted with a completion to come. A wait for credits ends when the peer grants some,
 * or when rpcrdma_conn_stalled() closes the connection. A wait for a buffer ends when a
 * context is released, or with the attempts to allocate one.
 *
 * Errors
 *
 * NEVER is returned for work that does not fit an empty Send Queue
 * (rpcrdma_sq_fits()). It is neither counted nor queued.
 *
 * Locking
 *
 * The caller holds the lock of the connection, except for the hints of the headers.
 */
#include "send_queue.hh"

namespace rpcrdma
{

namespace
{

/* Refused requests, except Calls */
enum : u8 {
	WAITS_CONTROL = 1, /* a slot or a context */
	WAITS_CONTEXT = 2,
	WAITS_RESERVE = 4, /* a context for a Reply yet to be made */
};

/* Return true if the first queued message may be posted. */
bool message_is_next(const struct rpcrdma_conn *conn,
		     const struct rpcrdma_sq *sq,
		     const struct rpcrdma_sq_first *first)
{
	return sq->messages && !sq->transfers &&
	       (!first->parts || context_left(sq)) &&
	       rpcrdma_sq_room(sq, first->message_wrs) &&
	       rpcrdma_conn_may_send(
		       conn, static_cast<enum rpcrdma_kind>(first->kind));
}

/*
 * Return true if any refused request can be tried again. Each refusal is
 * reported once.
 */
bool may_retry(const struct rpcrdma_conn *conn, struct rpcrdma_sq *sq)
{
	bool retry = false;

	if (sq->call_wrs && context_left(sq) &&
	    call_is_next(conn, sq, sq->call_wrs)) {
		sq->call_wrs = 0;
		retry = true;
	}
	if (sq->waiters & WAITS_CONTEXT && context_left(sq)) {
		sq->waiters &= static_cast<u8>(~WAITS_CONTEXT);
		retry = true;
	}
	if (sq->waiters & WAITS_RESERVE && sq->contexts > sq->reply_reserve) {
		sq->waiters &= static_cast<u8>(~WAITS_RESERVE);
		retry = true;
	}
	return retry;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_sq_init(struct rpcrdma_sq *sq, u32 depth, u32 sends, u32 reverse,
		     u32 replies)
{
	*sq = {};
	sq->depth = depth;
	sq->batch = clamp_u32(depth / 6, 1, RPCRDMA_SQ_BATCH);
	/*
	 * A Call of this end finds a context even if all Calls processed here
	 * wait for it.
	 */
	sq->reserve = RPCRDMA_CONTROL_SENDS + min_u32(reverse, sends / 2);
	rpcrdma_sq_set_replies(sq, sends, replies);
}

void rpcrdma_sq_set_replies(struct rpcrdma_sq *sq, u32 sends, u32 replies)
{
	const u32 contexts = sends + RPCRDMA_CONTROL_SENDS;

	sq->reserve_waits =
		max_u32(sq->reserve, contexts - min_u32(contexts, replies));
	sq->reply_reserve = sq->messages ? sq->reserve_waits : sq->reserve;
}

enum rpcrdma_sq_answer rpcrdma_sq_reply(struct rpcrdma_conn *conn,
					struct rpcrdma_sq *sq,
					struct rpcrdma_wrs *wrs, void *header,
					enum rpcrdma_format format,
					const struct rpcrdma_lists *lists)
{
	return sq_reply(conn, sq, wrs, header, format, lists);
}

enum rpcrdma_sq_answer rpcrdma_sq_call(struct rpcrdma_conn *conn,
				       struct rpcrdma_sq *sq,
				       struct rpcrdma_wrs *wrs, void *header,
				       enum rpcrdma_format format,
				       const struct rpcrdma_lists *lists)
{
	return sq_call(conn, sq, wrs, header, format, lists, false);
}

enum rpcrdma_sq_answer
rpcrdma_sq_continued_call(const struct rpcrdma_conn *conn,
			  struct rpcrdma_sq *sq, u32 nr_wrs, bool more)
{
	if (!rpcrdma_sq_fits(sq, nr_wrs))
		return RPCRDMA_SQ_NEVER;
	if (!context_left(sq) || !call_is_next(conn, sq, nr_wrs)) {
		refuse_call(sq, nr_wrs);
		return RPCRDMA_SQ_WAIT;
	}
	sq->contexts--;
	if (more)
		rpcrdma_sq_enqueue_message(sq);
	return RPCRDMA_SQ_GO;
}

bool rpcrdma_sq_may_call(const struct rpcrdma_conn *conn, struct rpcrdma_sq *sq)
{
	if (context_left(sq) && call_is_next(conn, sq, 1))
		return true;
	refuse_call(sq, 1);
	return false;
}

bool rpcrdma_sq_get_context(struct rpcrdma_sq *sq)
{
	if (!context_left(sq)) {
		sq->waiters |= WAITS_CONTEXT;
		return false;
	}
	sq->contexts--;
	return true;
}

bool rpcrdma_sq_can_reserve_reply(struct rpcrdma_sq *sq)
{
	if (sq->contexts > sq->reply_reserve)
		return true;
	sq->waiters |= WAITS_RESERVE;
	return false;
}

bool rpcrdma_sq_reserve_reply(struct rpcrdma_sq *sq)
{
	if (!rpcrdma_sq_can_reserve_reply(sq))
		return false;
	sq->contexts--;
	return true;
}

enum rpcrdma_sq_action rpcrdma_sq_next(const struct rpcrdma_conn *conn,
				       struct rpcrdma_sq *sq,
				       const struct rpcrdma_sq_first *first)
{
	sq->waiters &= static_cast<u8>(~WAITS_CONTROL);
	if (rpcrdma_conn_control_due(conn)) {
		if (sq->contexts && rpcrdma_sq_room(sq, 1)) {
			sq->contexts--;
			return RPCRDMA_SQ_POST_CONTROL;
		}
		sq->waiters |= WAITS_CONTROL;
	}
	if (sq->transfers && rpcrdma_sq_room(sq, first->transfer_wrs)) {
		sq->transfers--;
		return RPCRDMA_SQ_POST_TRANSFER;
	}
	if (message_is_next(conn, sq, first)) {
		if (first->parts)
			sq->contexts--;
		if (!first->more)
			rpcrdma_sq_dequeue_message(sq);
		return RPCRDMA_SQ_POST_MESSAGE;
	}
	return may_retry(conn, sq) ? RPCRDMA_SQ_NOTIFY : RPCRDMA_SQ_IDLE;
}

void rpcrdma_sq_defer(struct rpcrdma_sq *sq,
		      const struct rpcrdma_sq_first *first)
{
	if (!first)
		sq->waiters |= WAITS_CONTROL;
	else if (!first->more)
		rpcrdma_sq_enqueue_message(sq);
}
