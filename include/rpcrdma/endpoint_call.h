/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Calls at the Responder, in calls.cc: from their arrival until a service processes
 * them. "Host": see endpoint_send.h. core/call_take.h has the functions that a thread calls,
 * rpcrdma_core_calls_next() and rpcrdma_core_call_take().
 */
#ifndef RPCRDMA_ENDPOINT_CALL_H
#define RPCRDMA_ENDPOINT_CALL_H

#include "endpoint_answer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A thread of the service, and the processing of a batch of messages: the host's */
struct rpcrdma_thread;
struct rpcrdma_poll;

/**
 * rpcrdma_core_call_dispatch() - process a message that no thread of the service receives
 * @q: Calls of its connection
 * @rv: the message, consumed
 *
 * A Call is pulled ahead of the threads, or queued.
 * Context: process context, no lock held, may sleep.
 */
void rpcrdma_core_call_dispatch(struct rpcrdma_call_queue *q,
				struct rpcrdma_recv *rv);

/**
 * rpcrdma_core_ask_reply_room() - rpcrdma_core_reply_room() while memory is limited
 * @core: connection
 * @q: its Calls
 *
 * Context: as for rpcrdma_core_calls_next().
 * Return: as for rpcrdma_core_reply_room().
 */
bool rpcrdma_core_ask_reply_room(struct rpcrdma_ep_core *core,
				 const struct rpcrdma_call_queue *q);

/**
 * rpcrdma_core_calls_dequeue() - remove the Call from the queue that a thread processes
 *	next
 * @core: connection
 * @q: its Calls
 *
 * If Calls are left that wait for memory, no thread is needed until
 * rpcrdma_port_write_space() is called.
 * Context: as for rpcrdma_core_calls_next().
 * Return: as for rpcrdma_core_calls_next().
 */
struct rpcrdma_recv *rpcrdma_core_calls_dequeue(struct rpcrdma_ep_core *core,
						struct rpcrdma_call_queue *q);

/**
 * rpcrdma_core_call_take_other() - rpcrdma_core_call_take() for a Call that was not pulled
 *	yet, or as a whole
 * @core: connection
 * @rv: the Call
 * @thread: the thread
 *
 * Context: as for rpcrdma_core_call_take().
 * Return: as for rpcrdma_core_call_take().
 */
int rpcrdma_core_call_take_other(struct rpcrdma_ep_core *core,
				 struct rpcrdma_recv *rv,
				 struct rpcrdma_thread *thread);

/**
 * rpcrdma_core_call_failed() - handle that a complete Call cannot be delivered
 * @core: connection
 * @rv: the Call, consumed
 * @status: a negative errno
 *
 * Context: process context, no lock held.
 * Return: as for rpcrdma_core_call_take().
 */
int rpcrdma_core_call_failed(struct rpcrdma_ep_core *core,
			     struct rpcrdma_recv *rv, int status);

/**
 * rpcrdma_core_call_pulled() - report that the Reads of a Call have ended
 * @rv: the Call
 * @ok: they were executed
 *
 * Context: process context, no lock held.
 */
void rpcrdma_core_call_pulled(struct rpcrdma_recv *rv, bool ok);

/**
 * rpcrdma_core_call_release() - release all that a Call holds
 * @rv: the Call
 *
 * The Receive is posted again: that is how a busy server limits what its peers send.
 * Context: process context, no lock held.
 */
void rpcrdma_core_call_release(struct rpcrdma_recv *rv);

/**
 * rpcrdma_core_calls_end() - release the Calls that no thread has received
 * @q: Calls of a connection that is closed
 *
 * Context: process context; no other context uses @q.
 */
void rpcrdma_core_calls_end(struct rpcrdma_call_queue *q);

/**
 * rpcrdma_core_callback() - process a Call of a server to its client
 * @core: connection
 * @rv: the Call, consumed
 *
 * No thread is needed: the Call is pulled as a whole and, once it is complete,
 * delivered, or it is refused with an ERROR, or its connection is closed. Its Receive is
 * released before it is delivered, because the Reply permits the server to send another
 * Call.
 * Context: process context, no lock held, may sleep.
 */
void rpcrdma_core_callback(struct rpcrdma_ep_core *core, struct rpcrdma_recv *rv);

/**
 * rpcrdma_core_client_dispatch() - process a message that a client received
 * @r: RPCs of the client
 * @rv: the message, consumed
 *
 * Context: as for rpcrdma_core_callback().
 */
static inline void rpcrdma_core_client_dispatch(struct rpcrdma_requester *r,
						struct rpcrdma_recv *rv)
{
	if (__builtin_expect(rv->verdict == RPCRDMA_RX_CALL, 0))
		rpcrdma_core_callback(rv->core, rv);
	else
		rpcrdma_core_answer(r, rv);
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_CALL_H */
