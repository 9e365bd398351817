/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Receives of a connection: when they are allocated, posted and freed.
 *
 * The engine decides how many Receives there are and when they are posted: it
 * grows the window when the peer uses it, shrinks it when the peer does not,
 * and has free Receives posted in batches. The caller carries that out, first
 * before the connection is established, and then whenever events contain
 * EV_RECEIVES:
 *
 *   rpcrdma_conn_to_make() -> rpcrdma_conn_made()
 *   rpcrdma_conn_to_post() -> rpcrdma_conn_posted()
 *
 * It also reports each Receive whose message has been processed:
 * rpcrdma_conn_given_back(). If a version 1 client that sends many Calls at
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
	/* It gets a smaller window, which does no harm. */
	RPCRDMA_RECEIVES_WANTED,
	/* It allocates smaller Receives. */
	RPCRDMA_RECEIVES_OR_SMALLER,
	/* It is closed. */
	RPCRDMA_RECEIVES_NEEDED,
};

/*
 * Receives to allocate
 * @octets: size of each: as much as this end announces, or the default
 *	threshold if that is larger (WP 4); with version 1 no more than the
 *	peer sends
 * @need: the consequence if there is no memory for them
 */
struct rpcrdma_receives {
	u32 count;
	u32 octets;
	enum rpcrdma_receives_need need;
};

/*
 * Return the Receives to allocate now. If the count is not zero, the caller
 * must report the outcome with rpcrdma_conn_made(); until it does, other
 * callers get a count of zero.
 */
struct rpcrdma_receives rpcrdma_conn_to_make(struct rpcrdma_conn *conn);

/*
 * Return the length of the largest message sent, or the default threshold if
 * that is larger. Once the connection is open, needs no serialisation.
 */
u32 rpcrdma_conn_send_octets(const struct rpcrdma_conn *conn);

/*
 * Report that @count Receives of rpcrdma_conn_to_make() were allocated, and are
 * free. If there was no memory for the others, enum rpcrdma_receives_need says
 * what follows. If smaller ones will do, this end announces less, and
 * rpcrdma_conn_send_octets() decreases, too. Returns events.
 */
u32 rpcrdma_conn_made(struct rpcrdma_conn *conn, u32 count);

/*
 * Return how many of the free Receives to post now: all of them, or none. If
 * not zero, rpcrdma_conn_posted() must follow.
 * @now: milliseconds of any clock, the same clock each time.
 */
u32 rpcrdma_conn_to_post(struct rpcrdma_conn *conn, u32 now);

/*
 * Report that @count Receives were posted, WP 3: free ones, and if there are
 * fewer than @count, others that were reposted at once after their message was
 * processed. Returns events.
 */
u32 rpcrdma_conn_posted(struct rpcrdma_conn *conn, u32 count);

/*
 * Report that a message has been processed and its Receive can be reused. Do
 * not call this after EV_CLOSE.
 * Returns events. EV_LET_GO: the window has shrunk and this Receive is surplus;
 * free it instead of keeping it. EV_RECEIVES: the Receives may be posted now,
 * see rpcrdma_conn_to_post(); it is one of the free ones.
 */
u32 rpcrdma_conn_given_back(struct rpcrdma_conn *conn);

/*
 * Return the Receives to post for a window of @window messages. The advertised
 * limit stays one below the number posted, to leave a reserve for a credit
 * grant (WP 3).
 */
static inline u32 rpcrdma_window_receives(u32 window)
{
	return window + 1;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_RECEIVE_POOL_H */
