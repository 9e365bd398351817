/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Callbacks at a client: when its callback service may be used, and for how many
 * Calls there is room.
 */
#ifndef RPCRDMA_CALLBACKS_H
#define RPCRDMA_CALLBACKS_H

#include "settings.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/*
	 * Calls that a client can hold. The server may reuse a session slot when it has
	 * the Reply, but the place of the Call is in use until its task is released, and
	 * the Calls of a lost connection may still wait for the service.
	 */
	RPCRDMA_CALLBACK_PLACES = 2 * RPCRDMA_CALLBACK_SLOTS,
	/* Bytes of a Call; no callback of NFS needs more than 4096 */
	RPCRDMA_CALLBACK_OCTETS = 65536,
};

/*
 * The callbacks of one client. Embed it, zeroed. Calls for the places are serialised, and so
 * are the others; both may have the same lock.
 */
struct rpcrdma_callbacks {
	u32 places;	/* places for Calls that exist */
	u32 sessions;	/* Calls are accepted while this is not 0 */
	u64 sent;	/* the client's Calls, when the first session began */
};

/**
 * rpcrdma_callbacks_add_place() - Count a new place for a Call.
 * @cb: callbacks of the client
 *
 * Return: false if there are RPCRDMA_CALLBACK_PLACES.
 */
bool rpcrdma_callbacks_add_place(struct rpcrdma_callbacks *cb);

/**
 * rpcrdma_callbacks_remove_place() - A place was freed, or could not be allocated.
 * @cb: callbacks of the client
 */
void rpcrdma_callbacks_remove_place(struct rpcrdma_callbacks *cb);

/**
 * rpcrdma_callbacks_begin() - Begin a session.
 * @cb: callbacks of the client
 * @sent: number of Calls that the client has sent
 */
void rpcrdma_callbacks_begin(struct rpcrdma_callbacks *cb, u64 sent);

/**
 * rpcrdma_callbacks_end() - End a session.
 * @cb: callbacks of the client
 * @all: the transport ends, with all of its sessions and their Calls
 *
 * Return: true if the service ends: remove the Calls that it has not begun.
 */
bool rpcrdma_callbacks_end(struct rpcrdma_callbacks *cb, bool all);

/**
 * rpcrdma_callbacks_served() - Check whether the callback service may be used.
 * @cb: callbacks of the client
 * @service: the client has one
 * @sent: number of Calls that the client has sent
 *
 * A session's service begins after its transport is prepared, and nothing reports to this
 * end whether it has begun. The session's first Call follows a successful start, so that a
 * service exists if the client has sent a Call since.
 *
 * Return: true if it may be used.
 */
bool rpcrdma_callbacks_served(const struct rpcrdma_callbacks *cb, bool service,
			      u64 sent);

/**
 * rpcrdma_callbacks_admit() - Decide whether a received Call is accepted.
 * @cb: callbacks of the client
 * @service: the client has a callback service
 * @sent: number of Calls that the client has sent
 * @octets: bytes of the Call
 *
 * Return: 0; -EOPNOTSUPP if no service is in use; or -E2BIG.
 */
int rpcrdma_callbacks_admit(const struct rpcrdma_callbacks *cb, bool service,
			    u64 sent, u64 octets);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CALLBACKS_H */
