/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Processing of received messages: from a completed Receive to a message for the
 * transport. One context at a time does so for a connection. endpoint_receive.h has the
 * inline functions, endpoint_send.h defines "host" and "the lock".
 *
 * To poll a connection, a host calls rpcrdma_core_poll_begin(), and then for each Receive
 * that rpcrdma_core_poll_next() returns:
 *
 * - if the Receive has failed, it calls rpcrdma_core_recv_failed();
 * - otherwise it gives the buffer to the CPU, calls rpcrdma_core_receive_prepare(), takes
 *   the lock, calls rpcrdma_core_receive(), and acts on the result.
 *
 * Lengths and sizes are in bytes.
 */
#ifndef RPCRDMA_ENDPOINT_ARRIVALS_H
#define RPCRDMA_ENDPOINT_ARRIVALS_H

#include "lifecycle.h"
#include "work.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_ep_core;
struct rpcrdma_recv;

/* Messages of one batch, while other contexts wait */
enum {
	RPCRDMA_POLL_BATCH = 16,
};

/*
 * A part of struct rpcrdma_ep_core. The context that processes messages owns it, except
 * remote_inv.
 */
struct rpcrdma_ep_arrivals {
	/* Completed Receives, the oldest first; others may compare it with NULL */
	struct llist_node	*first;
	u32			left;		/* messages of this batch */
	u32			events;		/* to handle before the next message */
	bool			draining;	/* the teardown processes the rest */
	/* a message was dropped: the stall timer closes the connection; under the lock */
	bool			dropped;
	/* The Payload stream of the continued message that is being received */
	u8			*assembly;
	u32			assembly_len, assembly_size;
	/* MRs that the peer invalidated; under the lock */
	u64			remote_inv;
};

/* How a context is made to process the messages that have arrived */
enum rpcrdma_wakeup {
	RPCRDMA_WAKEUP_NONE,
	RPCRDMA_WAKEUP_THREAD,		/* notify the transport, which has threads */
	RPCRDMA_WAKEUP_WORK,		/* run the work item, which is not armed */
	RPCRDMA_WAKEUP_EXPEDITE,	/* run the work item, even if it is armed */
	RPCRDMA_WAKEUP_FALLBACK,	/* run it after RPCRDMA_POLL_FALLBACK_MS */
};

/* Milliseconds until the work item processes messages if no thread has done so */
enum {
	RPCRDMA_POLL_FALLBACK_MS = 10,
};

/**
 * rpcrdma_arrival_wakeup() - choose the context for a message that has arrived
 * @first: no older message waits, the wakeup for which would cover this one, too
 * @threads: the transport has threads that poll
 * @busy: a context is processing messages
 *
 * A work item that is the only context checks again after it has processed messages. A
 * thread does not.
 * Context: any.
 * Return: NONE, THREAD or WORK.
 */
static inline enum rpcrdma_wakeup rpcrdma_arrival_wakeup(bool first, bool threads,
							 bool busy)
{
	if (!first)
		return RPCRDMA_WAKEUP_NONE;
	if (threads)
		return RPCRDMA_WAKEUP_THREAD;
	return busy ? RPCRDMA_WAKEUP_NONE : RPCRDMA_WAKEUP_WORK;
}

/**
 * rpcrdma_thread_wakeup() - choose what follows after the transport was notified
 * @notified: it has threads for this connection
 * @pending: the work item is pending
 *
 * All threads may be busy. The work item that is pending now was armed for an older
 * message, so that it runs no later than necessary.
 * Context: any.
 * Return: NONE, EXPEDITE or FALLBACK.
 */
static inline enum rpcrdma_wakeup rpcrdma_thread_wakeup(bool notified, bool pending)
{
	if (__builtin_expect(!notified, 0))
		return RPCRDMA_WAKEUP_EXPEDITE;
	return pending ? RPCRDMA_WAKEUP_NONE : RPCRDMA_WAKEUP_FALLBACK;
}

/**
 * rpcrdma_polled_wakeup() - choose what follows after the work item of a transport with
 *	threads has processed messages
 * @busy: another context is processing messages, and may leave some
 * @holds: there are messages; read after @busy
 * @closing: the connection is closing: the teardown processes the rest
 *
 * Return: NONE or FALLBACK.
 */
static inline enum rpcrdma_wakeup rpcrdma_polled_wakeup(bool busy, bool holds,
							bool closing)
{
	return (busy || holds) && !closing ? RPCRDMA_WAKEUP_FALLBACK :
					     RPCRDMA_WAKEUP_NONE;
}

/* The next step for a received message */
enum rpcrdma_outcome {
	/* Deliver it to the transport, which holds the Receive until it releases it. */
	RPCRDMA_OUTCOME_DELIVER,
	/*
	 * The message has been processed. Call rpcrdma_core_recv_put(), and release the
	 * lock.
	 */
	RPCRDMA_OUTCOME_RELEASE,
	/* Release the lock, and call rpcrdma_core_receive_finish(). */
	RPCRDMA_OUTCOME_FINISH,
	/* As FINISH, and close the connection for conn->reason. */
	RPCRDMA_OUTCOME_CLOSE,
};

/**
 * rpcrdma_core_recv_failed() - close a connection after a failed Receive
 * @core: connection
 * @failure: kind of failure
 *
 * Does nothing if the connection is closing.
 * Context: process context, no lock held.
 */
void rpcrdma_core_recv_failed(struct rpcrdma_ep_core *core,
			      enum rpcrdma_failure failure);

/**
 * rpcrdma_core_poll_events() - handle core->arrivals.events
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_core_poll_events(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_receive_segs() - allocate the memory to decode the message in @rv
 * @rv: Receive
 *
 * If that fails, the message is refused.
 * Context: no lock held.
 */
void rpcrdma_core_receive_segs(struct rpcrdma_recv *rv);

/**
 * rpcrdma_core_receive() - process the message in @rv
 * @core: connection
 * @rv: Receive
 *
 * Any result other than RELEASE keeps the endpoint until the Receive is released,
 * because the memory of the Receive belongs to the endpoint.
 * Context: lock held.
 * Return: the next step for @rv.
 */
enum rpcrdma_outcome rpcrdma_core_receive(struct rpcrdma_ep_core *core,
					  struct rpcrdma_recv *rv);

/**
 * rpcrdma_core_receive_finish() - process the message in @rv as far as the lock must
 *	not be held
 * @core: connection
 * @rv: Receive
 * @what: FINISH or CLOSE
 *
 * Return: true if it is for the transport; false if @rv was released.
 */
bool rpcrdma_core_receive_finish(struct rpcrdma_ep_core *core,
				 struct rpcrdma_recv *rv,
				 enum rpcrdma_outcome what);

/**
 * rpcrdma_core_drain() - process the messages that had arrived before the queue pair
 *	was drained and that no context processes any more
 * @core: connection
 *
 * From then on none is processed, even if a device still delivers some. The teardown
 * calls this.
 * Context: no lock held, sleeps.
 */
void rpcrdma_core_drain(struct rpcrdma_ep_core *core);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_ARRIVALS_H */
