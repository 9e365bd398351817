/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The reconnect procedure of a client.
 */
#ifndef RPCRDMA_RECONNECT_H
#define RPCRDMA_RECONNECT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The delay between two attempts, in milliseconds. It begins with the first value, and
 * doubles up to the maximum: an NFSv4 client must contact the server once in a lease
 * period, 90 s by default, and renews the lease after two thirds of it. The rest must not
 * be spent waiting after an outage. An attempt costs the server, and the network, next to
 * nothing.
 */
enum {
	RPCRDMA_RECONNECT_FIRST_MS = 5000,
	RPCRDMA_RECONNECT_MAX_MS = 10000,
};

/*
 * The reconnect procedure of a client: the actions for its connection, of which
 * it has one at a time, and their order. Meanwhile sunrpc blocks senders.
 */
enum rpcrdma_reconnect {
	/*
	 * Remove the existing connection, if any, from the senders; close it,
	 * wait for its end, and learn what it shows of the server.
	 */
	RPCRDMA_RECONNECT_FORGET,
	/*
	 * Set up a connection with rpcrdma_version_first(); learn from a failed
	 * attempt.
	 */
	RPCRDMA_RECONNECT_TRY,
	/*
	 * The peer did not open the connection with that version. If
	 * rpcrdma_version_first() now returns another version, try that; otherwise the
	 * attempt has failed.
	 */
	RPCRDMA_RECONNECT_TRY_OTHER,
	RPCRDMA_RECONNECT_KEEP,	   /* install it for senders */
	RPCRDMA_RECONNECT_SETTLED, /* the attempt has ended */
	RPCRDMA_RECONNECT_UP,	/* mark connected, with a new connect cookie */
	RPCRDMA_RECONNECT_DROP, /* close it: it has ended */
	RPCRDMA_RECONNECT_WAKE, /* wake tasks that wait for a connection, with @status */
	RPCRDMA_RECONNECT_UNLOCK, /* permit others to send */
	RPCRDMA_RECONNECT_DOWN, /* mark disconnected, with a new connect cookie */
	RPCRDMA_RECONNECT_END, /* the procedure is complete */
};

/**
 * struct rpcrdma_reconnect_walk - progress of the reconnect procedure
 * @close: 1: close only, do not connect
 * @first: 1: the transport is the first of its RPC client, and has never had a connection
 * @next: private to the engine
 * @status: of the attempt
 *
 * Zero it to begin, except for @close and @first.
 */
struct rpcrdma_reconnect_walk {
	u8 close;
	u8 first;
	u8 next;
	int status;
};

/**
 * struct rpcrdma_reconnect_step - the next action of the reconnect procedure
 * @what: the action
 * @status: WAKE: a negative errno
 */
struct rpcrdma_reconnect_step {
	enum rpcrdma_reconnect what;
	int status;
};

/**
 * rpcrdma_reconnect_next() - get the next action
 * @walk: progress of the procedure
 * @result: of the last attempt, 0 or a negative errno
 * @open: true if the new connection is still open. It must be read after UP
 *
 * Return: the next action.
 */
struct rpcrdma_reconnect_step
rpcrdma_reconnect_next(struct rpcrdma_reconnect_walk *walk, int result,
		       bool open);

/**
 * rpcrdma_connect_status() - get the status with which tasks that wait for a connection
 *	are woken
 * @status: errno with which the attempt ended
 *
 * sunrpc ends an RPC for an errno that it does not know, even on a hard mount. The
 * errnos that it knows are of two kinds. Errnos of the first kind are for failures that
 * will repeat: they end an RPC that tests for a connection, such as a mount's first
 * one, and other RPCs retry. After an errno of the second kind, every RPC retries.
 * Return: a negative errno.
 */
int rpcrdma_connect_status(int status);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_RECONNECT_H */
