/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The receive side of an endpoint: the Receives, from their allocation to their end.
 * endpoint_send.h has struct rpcrdma_ep_core, and defines "host" and "the lock".
 *
 * Lengths and sizes are in bytes.
 */
#ifndef RPCRDMA_ENDPOINT_RECEIVE_H
#define RPCRDMA_ENDPOINT_RECEIVE_H

#include "endpoint_send.h"
#include "call_queue.h"
#include "msg_iter.h"
#include "receive.h"
#include "receive_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A Receive and, once it has completed, the message in it. The endpoint owns it. The
 * transport holds it from the time it gets the message until it releases it.
 */
struct rpcrdma_recv {
	struct list_head	list;		/* for the transport's queues */
	struct rpcrdma_ep_core	*core;
	struct rpcrdma_rx	rx;		/* as the engine decoded it */
	u8			verdict;	/* enum rpcrdma_verdict */
	bool			large;		/* has memory in addition to @buf */
	u32			inv_handle;	/* invalidated by the peer, or 0 */
	/* Inline part of the Payload stream, in bytes, in buf or assembled */
	void			*payload;
	u32			payload_len;
	void			*priv;		/* the transport's; NULL at first */

	/* A Call, see endpoint_call.h */
	struct rpcrdma_send	*send;		/* reserved for its Reply, or NULL */
	struct rpcrdma_queued_call queued;
	struct rpcrdma_call_pull pull;		/* what is pulled of it */
	void			*into;		/* the transport's memory for that */

	/* The fields below are private to the endpoint. */
	struct list_head	all;		/* in core->all_recvs */
	struct llist_node	arrived;	/* after completion, until processed */
	struct rpcrdma_recv	*next;		/* the next one that is not posted */
	u32			size;		/* bytes in buf */
	u32			octets;		/* bytes received */
	void			*buf;
	void			*assembled;	/* a continued message, or NULL */
	u64			counted;	/* bytes to uncharge when it is freed */
};

/* Results of releasing or posting Receives, in addition to the engine's events */
enum {
	/* Receives could not be posted. */
	RPCRDMA_RECV_UNPOSTED	= 1 << 30,
	/* The teardown has ended, and the transport holds no other Receive. */
	RPCRDMA_RECV_LAST	= 1 << 29,
};

/**
 * rpcrdma_buffer_octets() - get the memory that the host allocates for a buffer
 * @page: bytes of a page of the host
 * @octets: bytes of the buffer
 *
 * Return: bytes, a power of two up to a page, and whole pages above.
 */
static inline u32 rpcrdma_buffer_octets(u32 page, u32 octets)
{
	if (octets > page)
		return (u32)rpcrdma_whole_pages(page, octets);
	return octets > 1 ? 1U << (32 - __builtin_clz(octets - 1)) : octets;
}

/**
 * rpcrdma_core_recv_cost() - get the charge for a Receive
 * @own: bytes of the host's structure
 * @octets: bytes that the Receive's buffer occupies
 *
 * One Receive exists for each outstanding Call. Its Reply may need a buffer of the same
 * size, which is charged, too.
 * Return: bytes.
 */
static inline u64 rpcrdma_core_recv_cost(u32 own, u32 octets)
{
	return own + 2 * (u64)octets;
}

/**
 * rpcrdma_core_recvs_due() - allocate and post the Receives that the engine wants
 * @core: connection
 *
 * If memory is short there are fewer Receives, or smaller ones, or the connection is
 * closed.
 * Context: no lock held.
 */
void rpcrdma_core_recvs_due(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_recv_shrink() - free the memory that only large messages need: rv->large
 * @rv: Receive
 *
 * The caller holds @rv.
 * Context: no lock held.
 */
void rpcrdma_core_recv_shrink(struct rpcrdma_recv *rv);

/**
 * rpcrdma_core_recv_released() - handle the events for a Receive, with EV_FREE_RECEIVE
 *	or EV_RECEIVES
 * @core: connection
 * @rv: Receive
 * @todo: the engine's events for @rv
 *
 * Context: lock held.
 * Return: as for rpcrdma_core_recv_put().
 */
u32 rpcrdma_core_recv_released(struct rpcrdma_ep_core *core,
			       struct rpcrdma_recv *rv, u32 todo);

/**
 * rpcrdma_core_recv_released_late() - handle the events for a Receive when the
 *	connection is closing
 * @core: connection
 *
 * Return: as for rpcrdma_core_recv_put().
 */
u32 rpcrdma_core_recv_released_late(const struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_recv_free_up() - add @rv to the Receives that are not posted
 * @core: connection
 * @rv: Receive
 *
 * Context: lock held.
 */
static inline void rpcrdma_core_recv_free_up(struct rpcrdma_ep_core *core,
					     struct rpcrdma_recv *rv)
{
	rv->next = core->free_recvs;
	core->free_recvs = rv;
}

/**
 * rpcrdma_core_recv_put() - release a Receive, which is not large any more
 * @core: connection
 * @rv: Receive
 *
 * Context: lock held.
 * Return: 0, or what to pass to rpcrdma_core_recv_freed(). @rv does not hold the
 *	endpoint any more. With RPCRDMA_RECV_LAST the teardown's reference is dropped, too.
 */
static inline u32 rpcrdma_core_recv_put(struct rpcrdma_ep_core *core,
					struct rpcrdma_recv *rv)
{
	u32 todo;

	core->recvs_held--;
	/* Don't post once the connection is closing: the drain would not flush it. */
	if (__builtin_expect(core->life.stage >= RPCRDMA_STAGE_CLOSING, 0))
		return rpcrdma_core_recv_released_late(core);
	todo = rpcrdma_recvs_released(&core->conn);
	if (__builtin_expect(
		    todo & (RPCRDMA_EV_FREE_RECEIVE | RPCRDMA_EV_RECEIVES), 0))
		return rpcrdma_core_recv_released(core, rv, todo);
	rpcrdma_core_recv_free_up(core, rv);
	return todo;
}

/**
 * rpcrdma_core_recv_freed() - handle the events and results in @todo
 * @core: connection
 * @rv: Receive
 * @todo: result of rpcrdma_core_recv_put()
 *
 * Context: no lock held.
 */
void rpcrdma_core_recv_freed(struct rpcrdma_ep_core *core,
			     struct rpcrdma_recv *rv, u32 todo);

/**
 * rpcrdma_core_recvs_end() - report that the teardown has ended
 * @core: connection
 *
 * Context: no lock held.
 * Return: true if its reference is to be dropped now; the last Receive that the
 *	transport holds drops it otherwise.
 */
bool rpcrdma_core_recvs_end(struct rpcrdma_ep_core *core);

/* ---- Polling, see endpoint_arrivals.h; no lock held ---- */

/**
 * rpcrdma_core_poll_begin() - begin a batch
 * @core: connection
 *
 * Once the connection is closing, the teardown waits for the context that processes
 * messages, and processes the rest itself.
 * Return: true if the Receives that have completed are to be passed to
 *	rpcrdma_core_arrived().
 */
static inline bool rpcrdma_core_poll_begin(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep_arrivals *a = &core->arrivals;

	a->left = RPCRDMA_POLL_BATCH;
	if (__builtin_expect(rpcrdma_lifecycle_drops_calls(&core->life), 0) &&
	    !a->draining) {
		a->left = 0;
		return false;
	}
	return !a->first;
}

/**
 * rpcrdma_core_poll_next() - get the next completed Receive, in order of completion
 * @core: connection
 *
 * The message of the previous one has been processed: its events are handled before.
 * Return: the Receive, or NULL at the end of the batch.
 */
static inline struct rpcrdma_recv *
rpcrdma_core_poll_next(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep_arrivals *a = &core->arrivals;
	struct llist_node *node;

	if (__builtin_expect(!!a->events, 0))
		rpcrdma_core_poll_events(core);
	node = a->first;
	if (!node || !a->left)
		return NULL;
	a->left--;
	__atomic_store_n(&a->first, node->next, __ATOMIC_RELAXED);
	return (struct rpcrdma_recv *)((char *)node -
				       __builtin_offsetof(struct rpcrdma_recv,
							  arrived));
}

/**
 * rpcrdma_core_poll_is_over() - check if the transport has got the last message of the
 *	batch, and no event has to be handled after it
 * @core: connection
 *
 * Return: true if so.
 */
static inline bool rpcrdma_core_poll_is_over(const struct rpcrdma_ep_core *core)
{
	return !core->arrivals.first && !core->arrivals.events;
}

/**
 * rpcrdma_core_receive_prepare() - allocate the memory to decode the message in a Receive
 * @core: connection
 * @rv: Receive
 *
 * Context: no lock held.
 */
static inline void rpcrdma_core_receive_prepare(const struct rpcrdma_ep_core *core,
						struct rpcrdma_recv *rv)
{
	if (__builtin_expect(rpcrdma_wants_extra_segs(&core->conn, rv->buf,
						      rv->octets),
			     0))
		rpcrdma_core_receive_segs(rv);
}

/**
 * rpcrdma_core_arrived() - store the Receives that have completed since the last batch
 * @core: connection
 * @newest: the newest Receive, or NULL; chained by rv->arrived
 *
 * The newest Receive is the first of the chain.
 */
static inline void rpcrdma_core_arrived(struct rpcrdma_ep_core *core,
					struct llist_node *newest)
{
	struct llist_node *first = NULL;

	while (newest) {
		struct llist_node *older = newest->next;

		newest->next = first;
		first = newest;
		newest = older;
	}
	__atomic_store_n(&core->arrivals.first, first, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_RECEIVE_H */
