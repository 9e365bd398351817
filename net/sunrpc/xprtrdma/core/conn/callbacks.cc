// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Callbacks at a client: whether a Call is accepted, by the sessions, the state of the
 * callback service, and the size of the Call.
 *
 * NFS prepares the transport, sets its service, and then starts the threads of the service.
 * If that fails, NFS frees the service, and may leave the transport with a pointer to it. No
 * honest server calls back before it has got the first Call of the session.
 */
#include "../internal.hh"

using namespace rpcrdma;

bool rpcrdma_callbacks_add_place(struct rpcrdma_callbacks *cb)
{
	if (cb->places >= RPCRDMA_CALLBACK_PLACES)
		return false;
	cb->places++;
	return true;
}

void rpcrdma_callbacks_remove_place(struct rpcrdma_callbacks *cb)
{
	cb->places--;
}

void rpcrdma_callbacks_begin(struct rpcrdma_callbacks *cb, u64 sent)
{
	if (!cb->sessions++)
		cb->sent = sent;
}

bool rpcrdma_callbacks_end(struct rpcrdma_callbacks *cb, bool all)
{
	if (all)
		cb->sessions = 0;
	else if (cb->sessions)
		cb->sessions--;
	/* There is no Call at the end of the transport: each would hold a reference. */
	return !all && !cb->sessions;
}

bool rpcrdma_callbacks_served(const struct rpcrdma_callbacks *cb, bool service,
			      u64 sent)
{
	return cb->sessions && service && sent != cb->sent;
}

int rpcrdma_callbacks_admit(const struct rpcrdma_callbacks *cb, bool service,
			    u64 sent, u64 octets)
{
	if (!rpcrdma_callbacks_served(cb, service, sent))
		return -E_OPNOTSUPP;
	return octets > RPCRDMA_CALLBACK_OCTETS ? -E_2BIG : 0;
}
