/* SPDX-License-Identifier: GPL-2.0 */
/* Receives, and polling for received messages. */
#ifndef RPCRDMA_RECEIVING_H
#define RPCRDMA_RECEIVING_H

#include "endpoint.h"

/* A Receive with its Work Request */
struct verbs_recv {
	struct rpcrdma_recv	core;
	struct ib_recv_wr	wr;
	struct ib_sge		sge;		/* length 0: unmapped */
	struct ib_cqe		cqe;
	u8			status;		/* enum ib_wc_status if it failed */
};

/*
 * Release a Receive. It is posted again when the engine wants it, and a credit grant
 * that is due is sent. A responder may hold any number of Receives while it processes
 * them: that is what limits its load (WP 3). A Receive that the transport holds keeps
 * the memory of its endpoint, even past closed(). @rv may be freed when this returns,
 * with the endpoint.
 * Context: process context, no lock held.
 */
void rpcrdma_recv_put(struct rpcrdma_recv *rv);

/* Return the endpoint of a Receive. */
static inline struct rpcrdma_ep *rpcrdma_recv_ep(const struct rpcrdma_recv *rv)
{
	return rpcrdma_ep_of(rv->core);
}

/*
 * Return true if there are unprocessed messages, even if a context is processing them.
 * Any context.
 */
static inline bool rpcrdma_ep_holds_messages(const struct rpcrdma_ep *ep)
{
	return !llist_empty(&ep->rx_new) || READ_ONCE(ep->core.arrivals.first);
}

/* Processing of messages by one context, which initializes @ep only */
struct rpcrdma_poll {
	struct rpcrdma_ep	*ep;
	/* private to the endpoint */
	bool			began;
	bool			over;		/* no other message follows */
};

/* End a batch. The endpoint's files and rpcrdma_ep_poll() call this. */
static inline void rpcrdma_ep_poll_end(struct rpcrdma_ep *ep)
{
	clear_bit_unlock(0, &ep->rx_busy);
	/*
	 * The context that checks next sees the messages that have arrived meanwhile.
	 */
	smp_mb__after_atomic();
	if (unlikely(rpcrdma_ep_is_closing(ep)))
		wake_up_all(&ep->wait);
}
struct rpcrdma_recv *rpcrdma_ep_poll_next(struct rpcrdma_poll *poll);

/*
 * Return the next message, in order of arrival: a Call, a Reply, a bad Reply or an
 * ERROR about a Call of this end (rv->verdict). The caller must release it, and has
 * processed or queued it when it asks for the next one. Return NULL at the end of a
 * batch, if there is no message, or if another context processes messages. A context
 * that got a message must call this until it returns NULL: until then no other context
 * processes messages.
 * Context: process context, no lock held, sleeps briefly.
 */
static inline struct rpcrdma_recv *rpcrdma_ep_poll(struct rpcrdma_poll *poll)
{
	if (unlikely(poll->over)) {
		rpcrdma_ep_poll_end(poll->ep);
		return NULL;
	}
	/* Fast path: there is no message. */
	if (!poll->began && !rpcrdma_ep_holds_messages(poll->ep))
		return NULL;
	return rpcrdma_ep_poll_next(poll);
}

/*
 * Return true if there are messages and no context processes them. Any context. A
 * caller of rpcrdma_ep_poll() checks this afterwards: it first requests, with a full
 * barrier, to be notified of the next message, and then checks here for messages that
 * it was not notified of.
 */
static inline bool rpcrdma_ep_has_messages(const struct rpcrdma_ep *ep)
{
	return rpcrdma_ep_holds_messages(ep) && !test_bit(0, &ep->rx_busy) &&
	       !rpcrdma_ep_is_closing(ep);
}

#endif /* RPCRDMA_RECEIVING_H */
