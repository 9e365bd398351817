/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A thread of the service takes a Call: the entries into the core for that. They are
 * inline, so that the functions of the port that they call can be, too.
 */
#ifndef RPCRDMA_CORE_CALL_TAKE_H
#define RPCRDMA_CORE_CALL_TAKE_H

#include "port_call.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_core_calls_poll() - process messages that no thread of the service receives
 * @q: Calls of a connection
 * @poll: the batch
 *
 * Context: process context, no lock held, may sleep.
 */
static inline void rpcrdma_core_calls_poll(struct rpcrdma_call_queue *q,
					   struct rpcrdma_poll *poll)
{
	struct rpcrdma_recv *rv;

	while ((rv = rpcrdma_port_message(poll)))
		rpcrdma_core_call_dispatch(q, rv);
}

/**
 * rpcrdma_core_reply_room() - check if there is memory for the Reply to one more Call
 * @core: connection
 * @q: its Calls
 *
 * Context: as for rpcrdma_core_calls_next().
 * Return: true if so; otherwise write space will be notified.
 */
static inline bool rpcrdma_core_reply_room(struct rpcrdma_ep_core *core,
					   const struct rpcrdma_call_queue *q)
{
	if (__builtin_expect(!rpcrdma_port_must_ask(core), 1))
		return true;
	return rpcrdma_core_ask_reply_room(core, q);
}

/**
 * rpcrdma_core_calls_ready() - check if a thread is needed that processes messages, or
 *	can process a Call
 * @core: connection
 * @q: its Calls
 *
 * The thread then calls rpcrdma_core_calls_next(). Messages are processed without a Send
 * context, too. The conditions are checked in the order of their cost.
 * Context: process context, no lock held.
 * Return: true if so; otherwise a message or write space will be notified.
 */
static inline bool rpcrdma_core_calls_ready(struct rpcrdma_ep_core *core,
					    const struct rpcrdma_call_queue *q)
{
	if (__builtin_expect(rpcrdma_port_has_messages(core), 0))
		return true;
	return (__builtin_expect(rpcrdma_sq_can_reserve_reply_hint(&core->sq),
				 1) ||
		rpcrdma_core_can_reserve_reply(core)) &&
	       rpcrdma_core_reply_room(core, q);
}

/**
 * rpcrdma_core_call_passes() - check if a thread processes a Call at once, and reserve the
 *	Send context of its Reply
 * @core: connection
 * @q: its Calls
 * @rv: the Call, which has just arrived
 *
 * Context: as for rpcrdma_core_calls_next().
 * Return: true if so.
 */
static inline bool rpcrdma_core_call_passes(struct rpcrdma_ep_core *core,
					    struct rpcrdma_call_queue *q,
					    struct rpcrdma_recv *rv)
{
	if (!rpcrdma_calls_pass(q, &rv->queued, rv->rx.lists.nr_reads))
		return false;
	rv->send = rpcrdma_core_reserve_reply(core);
	return rv->send;
}

/**
 * rpcrdma_core_calls_next() - process messages, and get the Call that a thread processes
 *	next
 * @core: connection
 * @q: its Calls
 * @poll: the batch of messages
 *
 * Fast path: a Call that has just arrived is not queued. It may overtake Calls that are
 * being pulled. If a peer grants no window for the Replies that are queued for it, its
 * Calls wait, but no thread does. Its other messages are processed, because one of them
 * may open the window.
 * Context: the host lets one thread at a time call this for a connection; no lock held.
 * Return: a Call for rpcrdma_core_call_take(), with the Send context of its Reply, or
 *	NULL.
 */
static inline struct rpcrdma_recv *
rpcrdma_core_calls_next(struct rpcrdma_ep_core *core,
			struct rpcrdma_call_queue *q, struct rpcrdma_poll *poll)
{
	struct rpcrdma_recv *rv, *taken = NULL;

	if (__builtin_expect(!rpcrdma_core_reply_room(core, q), 0)) {
		rpcrdma_core_calls_poll(q, poll);
		rpcrdma_port_calls_due(core);
		return NULL;
	}
	while ((rv = rpcrdma_port_message(poll))) {
		if (!taken && rv->verdict == RPCRDMA_RX_CALL &&
		    rpcrdma_core_call_passes(core, q, rv))
			taken = rv;
		else
			rpcrdma_core_call_dispatch(q, rv);
	}
	if (!taken && rpcrdma_calls_any(q))
		return rpcrdma_core_calls_dequeue(core, q);
	if (rpcrdma_port_calls_idle(core) || rpcrdma_calls_any(q))
		rpcrdma_port_calls_due(core);
	return taken;
}

/**
 * rpcrdma_core_call_deliver() - rpcrdma_core_call_take() for a complete Call
 * @core: connection
 * @rv: the Call
 * @thread: the thread
 *
 * Context: as for rpcrdma_core_call_take().
 * Return: as for rpcrdma_core_call_take().
 */
static inline int rpcrdma_core_call_deliver(struct rpcrdma_ep_core *core,
					    struct rpcrdma_recv *rv,
					    struct rpcrdma_thread *thread)
{
	const int rc = rpcrdma_port_call_deliver(rv, thread);

	return __builtin_expect(!rc, 1) ?
		       1 :
		       rpcrdma_core_call_failed(core, rv, rc);
}

/**
 * rpcrdma_core_call_take() - let a thread process a Call, or begin to pull it
 * @core: connection
 * @rv: the Call, from rpcrdma_core_calls_next()
 * @thread: the thread
 *
 * A Call that cannot be processed is released, and refused with an ERROR, or its
 * connection is closed.
 * Context: process context, no lock held, may sleep.
 * Return: 1 if the thread processes the Call, and then releases it; 0 if it has nothing
 *	to process; -ENOTCONN if in addition the connection is closed.
 */
static inline int rpcrdma_core_call_take(struct rpcrdma_ep_core *core,
					 struct rpcrdma_recv *rv,
					 struct rpcrdma_thread *thread)
{
	if (rv->queued.pull_octets && (!rv->queued.pulled || !rv->pull.item))
		return rpcrdma_core_call_take_other(core, rv, thread);
	return rpcrdma_core_call_deliver(core, rv, thread);
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_CALL_TAKE_H */
