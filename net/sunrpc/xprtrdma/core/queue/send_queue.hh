/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The decisions of the Send Queue that every Call and every Reply need. The endpoint
 * has them inline, because calling each would cost more than the decision.
 */
#ifndef RPCRDMA_CORE_SEND_QUEUE_HH
#define RPCRDMA_CORE_SEND_QUEUE_HH

#include "../conn/credits.hh"
#include "../conn/stamp.hh"
#include "../wire/list_codec.hh"
#include "../wire/one_chunk.hh"

namespace rpcrdma
{

/* Return true if a context is free for other messages than control messages. */
static inline bool context_left(const struct rpcrdma_sq *sq)
{
	return sq->contexts > RPCRDMA_CONTROL_SENDS;
}

/*
 * Return true if a Call may be posted next, if there is a context. It follows
 * everything that is queued, including a continued message that is being sent.
 */
[[gnu::always_inline]] static inline bool
call_is_next(const struct rpcrdma_conn *conn, const struct rpcrdma_sq *sq,
	     u32 nr_wrs)
{
	return !sq->transfers && !sq->messages && rpcrdma_sq_room(sq, nr_wrs) &&
	       may_send_rpc(conn, RPCRDMA_KIND_CALL);
}

static inline void refuse_call(struct rpcrdma_sq *sq, u32 nr_wrs)
{
	if (sq->call_wrs < nr_wrs)
		sq->call_wrs = nr_wrs;
}

/*
 * A due control message that only conveys credits need not precede the Reply, because
 * the Reply conveys them, too. A control message that is queued for credit has waited
 * longer than the Reply, and precedes it.
 */
[[gnu::always_inline]] static inline enum rpcrdma_sq_answer
sq_reply(struct rpcrdma_conn *conn, struct rpcrdma_sq *sq,
	 struct rpcrdma_wrs *wrs, void *header, enum rpcrdma_format format,
	 const struct rpcrdma_lists *lists)
{
	if (!rpcrdma_sq_fits(sq, wrs->nr))
		return RPCRDMA_SQ_NEVER;
	count_complete(conn, RPCRDMA_KIND_REPLY, format, lists,
		       &conn->counters.bytes_sent);
	if (!sq->transfers && !sq->messages && !conn->pend_count &&
	    rpcrdma_sq_room(sq, wrs->nr) &&
	    may_send_rpc(conn, RPCRDMA_KIND_REPLY)) {
		stamp_whole(conn, RPCRDMA_KIND_REPLY, header);
		rpcrdma_sq_charge(sq, wrs);
		return RPCRDMA_SQ_GO;
	}
	rpcrdma_sq_enqueue_message(sq);
	return RPCRDMA_SQ_WAIT;
}

/* rpcrdma_sq_call(); @one: has_one_segment() is known to be true of @lists */
[[gnu::always_inline]] static inline enum rpcrdma_sq_answer
sq_call(struct rpcrdma_conn *conn, struct rpcrdma_sq *sq,
	struct rpcrdma_wrs *wrs, void *header, enum rpcrdma_format format,
	const struct rpcrdma_lists *lists, bool one)
{
	if (!rpcrdma_sq_fits(sq, wrs->nr))
		return RPCRDMA_SQ_NEVER;
	if (!context_left(sq) || !call_is_next(conn, sq, wrs->nr)) {
		refuse_call(sq, wrs->nr);
		return RPCRDMA_SQ_WAIT;
	}
	sq->contexts--;
	stamp_whole(conn, RPCRDMA_KIND_CALL, header);
	rpcrdma_sq_charge(sq, wrs);
	if (one)
		count_one(conn, false, lists->nr_reads, lists->segs[0].length,
			  &conn->counters.bytes_sent);
	else
		count_complete(conn, RPCRDMA_KIND_CALL, format, lists,
			       &conn->counters.bytes_sent);
	return RPCRDMA_SQ_GO;
}

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_SEND_QUEUE_HH */
