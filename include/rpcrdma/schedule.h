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
	RPCRDMA_SQ_WAIT,	/* no slots or credit, or other work precedes it */
	RPCRDMA_SQ_NEVER,	/* the Send Queue is too short for it */
};

/**
 * rpcrdma_sq_transfer() - request to post a transfer
 * @sq: Send Queue
 * @nr_wrs: number of Work Requests
 *
 * Return: GO; NEVER; or WAIT: it was counted, append it to the queue.
 */
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

/**
 * rpcrdma_sq_reply() - request to post a complete Reply, which has its context
 * @conn: connection
 * @sq: Send Queue
 * @wrs: with nr and signaled set
 * @header: the encoded header
 * @format: format of the message
 * @lists: NULL for none
 *
 * The Reply is counted by its format.
 * Return: GO: its slots are charged (rpcrdma_sq_charge()) and its header is stamped
 *	(rpcrdma_conn_stamp()), post it now; WAIT: append it to the queued messages and call
 *	rpcrdma_sq_next(); NEVER.
 */
enum rpcrdma_sq_answer rpcrdma_sq_reply(struct rpcrdma_conn *conn,
					struct rpcrdma_sq *sq,
					struct rpcrdma_wrs *wrs, void *header,
					enum rpcrdma_format format,
					const struct rpcrdma_lists *lists);

/**
 * rpcrdma_sq_reply_waits() - request to queue a continued Reply, or one after its Writes
 * @sq: Send Queue
 * @nr_wrs: maximum of Work Requests in a chain of it
 *
 * A Reply with Writes was counted before (rpcrdma_conn_count()).
 * Return: NEVER, or WAIT as for rpcrdma_sq_reply().
 */
static inline enum rpcrdma_sq_answer
rpcrdma_sq_reply_waits(struct rpcrdma_sq *sq, u32 nr_wrs)
{
	if (!rpcrdma_sq_fits(sq, nr_wrs))
		return RPCRDMA_SQ_NEVER;
	rpcrdma_sq_enqueue_message(sq);
	return RPCRDMA_SQ_WAIT;
}

/**
 * rpcrdma_sq_call() - request to send a complete Call
 * @conn: connection
 * @sq: Send Queue
 * @wrs: chain of Work Requests
 * @header: the encoded header
 * @format: format of the message
 * @lists: chunk lists of the message
 *
 * The context in which the next Call is built is not part of the account.
 * Return: GO: as for rpcrdma_sq_reply(), and another context has been charged for the
 *	next Call; WAIT: nothing was changed, and rpcrdma_sq_next() returns
 *	RPCRDMA_SQ_NOTIFY when the Call may be tried again; until then call
 *	rpcrdma_conn_stalled(); NEVER.
 */
enum rpcrdma_sq_answer rpcrdma_sq_call(struct rpcrdma_conn *conn,
				       struct rpcrdma_sq *sq,
				       struct rpcrdma_wrs *wrs, void *header,
				       enum rpcrdma_format format,
				       const struct rpcrdma_lists *lists);

/**
 * rpcrdma_sq_continued_call() - request to send a continued Call
 * @conn: connection
 * @sq: Send Queue
 * @nr_wrs: Work Requests of the first message
 * @more: others follow, so that the Call is counted as queued: insert it at the head of
 *	the queued messages
 *
 * Return: GO: send its first message, as for RPCRDMA_SQ_POST_MESSAGE, in a context that
 *	has been charged; WAIT or NEVER.
 */
enum rpcrdma_sq_answer
rpcrdma_sq_continued_call(const struct rpcrdma_conn *conn,
			  struct rpcrdma_sq *sq, u32 nr_wrs, bool more);

/**
 * rpcrdma_sq_may_call() - check if a Call could be sent now
 * @conn: connection
 * @sq: Send Queue
 *
 * If false, RPCRDMA_SQ_NOTIFY follows; until then call rpcrdma_conn_stalled().
 * Return: true if so.
 */
bool rpcrdma_sq_may_call(const struct rpcrdma_conn *conn,
			 struct rpcrdma_sq *sq);

/**
 * rpcrdma_sq_call_is_likely() - check if there is credit for at least one Call
 * @conn: connection
 *
 * A hint that only saves the calls above.
 * Context: any.
 * Return: true if so.
 */
static inline bool rpcrdma_sq_call_is_likely(const struct rpcrdma_conn *conn)
{
	rpcrdma_serial limit, sent;

	__atomic_load(&conn->limit, &limit, __ATOMIC_RELAXED);
	__atomic_load(&conn->sent, &sent, __ATOMIC_RELAXED);
	return (int)(limit - sent) > RPCRDMA_CALL_RESERVE;
}

/**
 * rpcrdma_sq_has_waiters_hint() - check if anything is queued or a Call was refused, so
 *	that another Call may be refused, too
 * @sq: Send Queue
 *
 * A hint, read without the lock.
 * Context: any.
 * Return: true if so.
 */
static inline __attribute__((always_inline)) bool
rpcrdma_sq_has_waiters_hint(const struct rpcrdma_sq *sq)
{
	return __atomic_load_n(&sq->transfers, __ATOMIC_RELAXED) |
	       __atomic_load_n(&sq->messages, __ATOMIC_RELAXED) |
	       __atomic_load_n(&sq->call_wrs, __ATOMIC_RELAXED);
}

/**
 * rpcrdma_sq_must_ask() - check if a Call has to ask whether it can be sent
 *	(rpcrdma_sq_may_call()) before its memory is mapped
 * @sq: Send Queue
 * @chunks: the Call has chunks
 *
 * Mapping and unmapping memory costs more than the question, and a Call that others
 * precede may be refused any number of times.
 * Context: any.
 * Return: true if so.
 */
static inline __attribute__((always_inline)) bool
rpcrdma_sq_must_ask(const struct rpcrdma_sq *sq, bool chunks)
{
	return chunks && __builtin_expect(rpcrdma_sq_has_waiters_hint(sq), 0);
}

/**
 * rpcrdma_sq_get_context() - reserve a Send context for a message that is built next
 * @sq: Send Queue
 *
 * Other answers do not include a context.
 * Return: true if it is charged; if false, RPCRDMA_SQ_NOTIFY follows.
 */
bool rpcrdma_sq_get_context(struct rpcrdma_sq *sq);

/**
 * rpcrdma_sq_reserve_reply() - reserve a Send context for a Reply, before work on its Call
 *	is started
 * @sq: Send Queue
 *
 * Return: true if it is charged; if false, RPCRDMA_SQ_NOTIFY follows.
 */
bool rpcrdma_sq_reserve_reply(struct rpcrdma_sq *sq);

/**
 * rpcrdma_sq_can_reserve_reply() - check if rpcrdma_sq_reserve_reply() would succeed
 * @sq: Send Queue
 *
 * If false, RPCRDMA_SQ_NOTIFY follows.
 * Return: true if so.
 */
bool rpcrdma_sq_can_reserve_reply(struct rpcrdma_sq *sq);

/**
 * rpcrdma_sq_can_reserve_reply_hint() - hint if rpcrdma_sq_reserve_reply() would succeed
 * @sq: Send Queue
 *
 * Context: any, without the lock.
 * Return: true if so.
 */
static inline bool
rpcrdma_sq_can_reserve_reply_hint(const struct rpcrdma_sq *sq)
{
	return __atomic_load_n(&sq->contexts, __ATOMIC_RELAXED) >
	       __atomic_load_n(&sq->reply_reserve, __ATOMIC_RELAXED);
}

/**
 * struct rpcrdma_sq_first - the first of the queued transfers and of the queued
 *	messages, if any
 * @transfer_wrs: Work Requests of the transfer
 * @message_wrs: Work Requests of the message, or of its next fragment
 * @kind: enum rpcrdma_kind of the message
 * @parts: 1: the message is a continued one
 * @more: 1, with @parts: the next fragment is not the last
 */
struct rpcrdma_sq_first {
	u32 transfer_wrs;
	u32 message_wrs;
	u8 kind;
	u8 parts;
	u8 more;
};

/* The next action */
enum rpcrdma_sq_action {
	RPCRDMA_SQ_IDLE, /* nothing can be posted now */
	/* call rpcrdma_conn_next_control(), in a context that is charged */
	RPCRDMA_SQ_POST_CONTROL,
	/* post the first transfer, which is no longer counted as queued */
	RPCRDMA_SQ_POST_TRANSFER,
	/*
	 * post the first message, or the next fragment of a continued one, in a
	 * context that is charged; it is no longer counted as queued, unless
	 * fragments remain
	 */
	RPCRDMA_SQ_POST_MESSAGE,
	/* retry refused Calls, and Replies yet to be built */
	RPCRDMA_SQ_NOTIFY,
};

/**
 * rpcrdma_sq_next() - get the next action
 * @conn: connection
 * @sq: Send Queue
 * @first: the first of the queued transfers and messages
 *
 * Call this after credit has arrived, after a control message has become due, and, if
 * rpcrdma_sq_has_waiters(), after slots or contexts were freed; and again after each action.
 * Only while messages may be sent.
 * Return: the next action.
 */
enum rpcrdma_sq_action rpcrdma_sq_next(const struct rpcrdma_conn *conn,
				       struct rpcrdma_sq *sq,
				       const struct rpcrdma_sq_first *first);

/**
 * rpcrdma_sq_defer() - take back the last action, because no buffer is free
 * @sq: Send Queue
 * @first: as for rpcrdma_sq_next() if it was a queued message; null: a control message
 *
 * The message waits. Its context was released already.
 */
void rpcrdma_sq_defer(struct rpcrdma_sq *sq,
		      const struct rpcrdma_sq_first *first);

/**
 * rpcrdma_sq_has_waiters() - check if anything may be waiting for slots or contexts
 * @sq: Send Queue
 *
 * False in the fast path.
 * Return: true if so.
 */
static inline bool rpcrdma_sq_has_waiters(const struct rpcrdma_sq *sq)
{
	return sq->transfers | sq->messages | sq->call_wrs | sq->waiters;
}

/**
 * rpcrdma_sq_waiting_kinds() - get the kinds of messages that wait, for rpcrdma_conn_stalled()
 * @sq: Send Queue
 *
 * They may wait for credit or for something else.
 * Return: RPCRDMA_WAITS_*.
 */
static inline u32 rpcrdma_sq_waiting_kinds(const struct rpcrdma_sq *sq)
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
