/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Send Queue: requests to post something, and the next action.
 * send_queue.h describes the order.
 */
#ifndef RPCRDMA_SCHEDULE_H
#define RPCRDMA_SCHEDULE_H

#include "chunk.h"
#include "conn.h"
#include "credit.h"
#include "send_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Answers to a request to post something */
enum rpcrdma_sq_answer {
	RPCRDMA_SQ_GO,		/* post it now */
	RPCRDMA_SQ_WAIT,	/* no slots or credit, or others are first */
	RPCRDMA_SQ_NEVER,	/* the Send Queue is too short for it */
};

/* Request to post a transfer. WAIT: it was counted; append it to the queue. */
static inline enum rpcrdma_sq_answer
rpcrdma_sq_transfer(struct rpcrdma_sq *sq, u32 nr_wrs)
{
	if (!rpcrdma_sq_fits(sq, nr_wrs))
		return RPCRDMA_SQ_NEVER;
	if (!sq->transfers && rpcrdma_sq_room(sq, nr_wrs))
		return RPCRDMA_SQ_GO;
	sq->transfers++;
	return RPCRDMA_SQ_WAIT;
}

/*
 * Request to post a complete Reply, which has its context. GO: its slots are
 * charged (rpcrdma_sq_post()) and its header is stamped (rpcrdma_conn_stamp()):
 * post it now. WAIT: append it to the queued messages and call
 * rpcrdma_sq_next(). In both cases it is counted by its format.
 * @wrs: with nr and signaled set
 * @header: the encoded header
 * @lists: NULL for none
 */
enum rpcrdma_sq_answer rpcrdma_sq_reply(struct rpcrdma_conn *conn,
					struct rpcrdma_sq *sq,
					struct rpcrdma_wrs *wrs, void *header,
					enum rpcrdma_format format,
					const struct rpcrdma_lists *lists);

/*
 * Request to queue a continued Reply, or one whose Writes were posted first and
 * which was counted then (rpcrdma_conn_count()). No chain of it has more than
 * @nr_wrs Work Requests. Returns NEVER, or WAIT as above.
 */
static inline enum rpcrdma_sq_answer
rpcrdma_sq_reply_waits(struct rpcrdma_sq *sq, u32 nr_wrs)
{
	if (!rpcrdma_sq_fits(sq, nr_wrs))
		return RPCRDMA_SQ_NEVER;
	rpcrdma_sq_wait(sq);
	return RPCRDMA_SQ_WAIT;
}

/*
 * Request to send a complete Call. The context in which the next Call is built
 * is not part of the account. GO: as above, and another context has been
 * charged for the next Call. WAIT: nothing was changed; rpcrdma_sq_next()
 * returns RPCRDMA_TURN_RETRY when the Call may be tried again. Until then call
 * rpcrdma_conn_stalled().
 */
enum rpcrdma_sq_answer rpcrdma_sq_call(struct rpcrdma_conn *conn,
				       struct rpcrdma_sq *sq,
				       struct rpcrdma_wrs *wrs, void *header,
				       enum rpcrdma_format format,
				       const struct rpcrdma_lists *lists);

/*
 * Request to send a continued Call, the first message of which needs @nr_wrs
 * Work Requests. GO: send that message, as for RPCRDMA_TURN_MESSAGE, in a
 * context that has been charged. @more: others follow, so that the Call is
 * counted as queued: insert it at the head of the queued messages.
 */
enum rpcrdma_sq_answer
rpcrdma_sq_call_in_parts(const struct rpcrdma_conn *conn, struct rpcrdma_sq *sq,
			 u32 nr_wrs, bool more);

/*
 * Return true if a Call could be sent now. If false, RPCRDMA_TURN_RETRY
 * follows; until then call rpcrdma_conn_stalled().
 */
bool rpcrdma_sq_may_call(const struct rpcrdma_conn *conn,
			 struct rpcrdma_sq *sq);

/*
 * Return true if there is credit for at least one Call. A hint that only saves
 * the calls above. Any context.
 */
static inline bool rpcrdma_sq_call_is_likely(const struct rpcrdma_conn *conn)
{
	rpcrdma_serial limit, sent;

	__atomic_load(&conn->limit, &limit, __ATOMIC_RELAXED);
	__atomic_load(&conn->sent, &sent, __ATOMIC_RELAXED);
	return (int)(limit - sent) > RPCRDMA_CALL_RESERVE;
}

/*
 * Return true if anything is queued or a Call was refused, so that another Call
 * may be refused, too. A hint, read without the lock. Any context.
 */
static inline bool rpcrdma_sq_somebody_waits(const struct rpcrdma_sq *sq)
{
	return __atomic_load_n(&sq->transfers, __ATOMIC_RELAXED) |
	       __atomic_load_n(&sq->messages, __ATOMIC_RELAXED) |
	       __atomic_load_n(&sq->call_wrs, __ATOMIC_RELAXED);
}

/*
 * Reserve a Send context, where no other answer includes one. If true, it is
 * charged; if false, RPCRDMA_TURN_RETRY follows.
 * - rpcrdma_sq_take(): for a message that is built next, whatever else it may
 *   have to wait for
 * - rpcrdma_sq_take_ahead(): for a Reply yet to be built, before work on its
 *   Call is started
 */
bool rpcrdma_sq_take(struct rpcrdma_sq *sq);
bool rpcrdma_sq_take_ahead(struct rpcrdma_sq *sq);

/*
 * Return true if rpcrdma_sq_take_ahead() would succeed. If false,
 * RPCRDMA_TURN_RETRY follows.
 */
bool rpcrdma_sq_may_take_ahead(struct rpcrdma_sq *sq);

/* The same as a hint, read without the lock. Any context. */
static inline bool rpcrdma_sq_spares(const struct rpcrdma_sq *sq)
{
	return __atomic_load_n(&sq->contexts, __ATOMIC_RELAXED) >
	       __atomic_load_n(&sq->reply_reserve, __ATOMIC_RELAXED);
}

/* The first of the queued transfers and of the queued messages, if any */
struct rpcrdma_sq_first {
	u32 transfer_wrs;	/* Work Requests of the transfer */
	/* Work Requests of the message, or of its next fragment */
	u32 message_wrs;
	u8 kind;		/* enum rpcrdma_kind of the message */
	u8 parts;		/* the message is a continued one */
	u8 more;		/* parts: the next fragment is not the last */
};

/* The next action */
enum rpcrdma_sq_turn {
	RPCRDMA_TURN_NONE,	/* nothing can be posted now */
	/* call rpcrdma_conn_next_control(), in a context that is charged */
	RPCRDMA_TURN_CONTROL,
	/* post the first transfer, which is no longer counted as queued */
	RPCRDMA_TURN_TRANSFER,
	/*
	 * post the first message, or the next fragment of a continued one, in a
	 * context that is charged; it is no longer counted as queued, unless
	 * fragments remain
	 */
	RPCRDMA_TURN_MESSAGE,
	/* retry refused Calls, and Replies yet to be built */
	RPCRDMA_TURN_RETRY,
};

/*
 * Return the next action. Call this after credit has arrived, after a control
 * message has become due, and, if rpcrdma_sq_wanted(), after slots or contexts
 * were freed; and again after each action. Only while messages may be sent.
 */
enum rpcrdma_sq_turn rpcrdma_sq_next(const struct rpcrdma_conn *conn,
				     struct rpcrdma_sq *sq,
				     const struct rpcrdma_sq_first *first);

/*
 * Return true if anything may be waiting for slots or contexts. False in the
 * fast path.
 */
static inline bool rpcrdma_sq_wanted(const struct rpcrdma_sq *sq)
{
	return sq->transfers | sq->messages | sq->call_wrs | sq->refused;
}

/*
 * Return what waits, perhaps for credit, as RPCRDMA_WAITS_*, for
 * rpcrdma_conn_stalled().
 */
static inline u32 rpcrdma_sq_waits(const struct rpcrdma_sq *sq)
{
	u32 waits = 0;

	if (sq->call_wrs)
		waits |= RPCRDMA_WAITS_CALL;
	if (sq->messages)
		waits |= RPCRDMA_WAITS_MESSAGE;
	return waits;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_SCHEDULE_H */
