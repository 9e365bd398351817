/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Listening at an address.
 */
#ifndef RPCRDMA_LISTENING_H
#define RPCRDMA_LISTENING_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A listener that is bound to one address. If its device is removed, its ID in the
 * connection manager is lost; if the address is removed, the ID remains. Embed it,
 * zeroed. All calls for one listener are serialised.
 */
struct rpcrdma_listening {
	u8 listening;
	u8 begun;		/* it was listening before */
	u32 failures;		/* attempts since the last loss */
};

enum rpcrdma_listen_event {
	RPCRDMA_LISTEN_MOVED,	/* another device has the address */
	RPCRDMA_LISTEN_REMOVED,	/* the device was removed */
	RPCRDMA_LISTEN_GONE,	/* the address was removed */
	RPCRDMA_LISTEN_BACK,	/* the address was added */
	RPCRDMA_NR_LISTEN_EVENTS,
};

/* The line for the log */
enum rpcrdma_listen_say {
	RPCRDMA_LISTEN_SAY_NOTHING,
	RPCRDMA_LISTEN_SAY_LOST,	/* with the cause */
	RPCRDMA_LISTEN_SAY_FAILS,	/* retries are slower from now on */
	RPCRDMA_LISTEN_SAY_AGAIN,
};

/**
 * struct rpcrdma_listen_step - the next action of a listener
 * @retry: true: listen again in @ms, and report the result
 * @ms: milliseconds
 * @say: the message to log
 * @cause: static string for that message
 */
struct rpcrdma_listen_step {
	bool retry;
	u32 ms;
	enum rpcrdma_listen_say say;
	const char *cause;
};

/**
 * rpcrdma_listen_event_occurred() - report an event
 * @l: listener
 * @event: event
 *
 * Return: the actions.
 */
struct rpcrdma_listen_step
rpcrdma_listen_event_occurred(struct rpcrdma_listening *l,
			      enum rpcrdma_listen_event event);

/**
 * rpcrdma_listen_tried() - report an attempt to listen, including the first one
 * @l: listener
 * @result: 0 or a negative errno
 *
 * Return: the actions.
 */
struct rpcrdma_listen_step rpcrdma_listen_tried(struct rpcrdma_listening *l,
						int result);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_LISTENING_H */
