/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Receives of a connection: when they are allocated, posted and freed.
 *
 * The engine decides the number of Receives and when they are posted: it
 * grows the window when the peer uses it, shrinks it when the peer does not,
 * and has free Receives posted in batches. The caller executes this, first
 * before the connection is established, and then whenever events contain
 * EV_RECEIVES:
 *
 *   rpcrdma_recvs_to_alloc() -> rpcrdma_recvs_allocated()
 *   rpcrdma_recvs_to_post() -> rpcrdma_recvs_posted()
 *
 * When the message of a Receive has been processed, the caller calls
 * rpcrdma_recvs_released(). If a version 1 client that sends many Calls at
 * once needs withheld Receives, the event comes with the next message.
 */
#ifndef RPCRDMA_RECEIVE_POOL_H
#define RPCRDMA_RECEIVE_POOL_H

#include "conn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The consequence of a lack of memory for Receives */
enum rpcrdma_receives_need {
	/* The connection gets a smaller window, which does no harm. */
	RPCRDMA_RECEIVES_WANTED,
	/* The connection gets smaller Receives. */
	RPCRDMA_RECEIVES_OR_SMALLER,
	/* The connection is closed. */
	RPCRDMA_RECEIVES_NEEDED,
};

/**
 * struct rpcrdma_receives - Receives to allocate
 * @count: number of Receives
 * @octets: size of each: as much as this end announces, or the default threshold
 *	if that is larger (WP 4); with version 1 no more than the peer sends
 * @need: the consequence if there is no memory for them
 */
struct rpcrdma_receives {
	u32 count;
	u32 octets;
	enum rpcrdma_receives_need need;
};

/**
 * rpcrdma_recvs_to_alloc() - get the Receives to allocate now
 * @conn: connection
 *
 * If the count is not zero, the caller must report the outcome with
 * rpcrdma_recvs_allocated(); until it does, other callers get a count of zero.
 * Return: the number and properties of the Receives.
 */
struct rpcrdma_receives rpcrdma_recvs_to_alloc(struct rpcrdma_conn *conn);

/**
 * rpcrdma_conn_send_octets() - get the length of the largest message sent, or the
 *	default threshold if that is larger
 * @conn: connection
 *
 * Once the connection is open, needs no serialisation.
 * Return: the length.
 */
u32 rpcrdma_conn_send_octets(const struct rpcrdma_conn *conn);

/**
 * rpcrdma_conn_send_less() - announce smaller messages, because there is no memory for a
 *	buffer of rpcrdma_conn_send_octets()
 * @conn: connection that has not been requested yet
 *
 * Return: true if that length has decreased.
 */
bool rpcrdma_conn_send_less(struct rpcrdma_conn *conn);

/**
 * rpcrdma_recvs_allocated() - report that @count Receives of rpcrdma_recvs_to_alloc() were
 *	allocated, and are free
 * @conn: connection
 * @count: number
 *
 * If there was no memory for the others, enum rpcrdma_receives_need says what follows.
 * If smaller Receives suffice, this end announces a smaller size, and
 * rpcrdma_conn_send_octets() decreases, too.
 * Return: events.
 */
u32 rpcrdma_recvs_allocated(struct rpcrdma_conn *conn, u32 count);

/**
 * rpcrdma_recvs_to_post() - get how many of the free Receives to post now: all of them,
 *	or none
 * @conn: connection
 * @now: milliseconds of any clock, the same clock each time
 *
 * The first ones are posted when all of them have been allocated.
 * If not zero, rpcrdma_recvs_posted() must follow.
 * Return: number of Receives.
 */
u32 rpcrdma_recvs_to_post(struct rpcrdma_conn *conn, u32 now);

/**
 * rpcrdma_recvs_posted() - report that @count Receives were posted, WP 3: free ones, and
 *	if there are fewer than @count, others that were reposted at once after their message
 *	was processed
 * @conn: connection
 * @count: number
 *
 * Return: events.
 */
u32 rpcrdma_recvs_posted(struct rpcrdma_conn *conn, u32 count);

/**
 * rpcrdma_recvs_released() - report that a message has been processed and its Receive
 *	can be reused
 * @conn: connection
 *
 * Do not call this after EV_CLOSE. EV_FREE_RECEIVE: the window has shrunk and this
 * Receive is surplus; free it instead of keeping it. EV_RECEIVES: the Receives may be
 * posted now, see rpcrdma_recvs_to_post(); this Receive is one of the free ones.
 * Return: events.
 */
u32 rpcrdma_recvs_released(struct rpcrdma_conn *conn);

/**
 * rpcrdma_window_receives() - get the number of Receives to post for a window
 * @window: messages of the window
 *
 * The advertised limit stays one below the number posted, to leave a reserve for a
 * credit grant (WP 3).
 * Return: number of Receives.
 */
static inline u32 rpcrdma_window_receives(u32 window)
{
	return window + 1;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_RECEIVE_POOL_H */
