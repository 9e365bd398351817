/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Host authentication of an endpoint: which identity each end has to have, which secret
 * is looked up, and when a handshake is prepared. hostauth.h has the handshake.
 */
#ifndef RPCRDMA_ENDPOINT_AUTH_H
#define RPCRDMA_ENDPOINT_AUTH_H

#include "hostauth.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_ep_core;

/* Where an administrator has configured an identity */
enum rpcrdma_auth_source {
	RPCRDMA_AUTH_EXPECTED,		/* the one that the peer's address must prove */
	/* This end's: */
	RPCRDMA_AUTH_TO_PEER,		/* towards the peer's address */
	RPCRDMA_AUTH_OF_NET,		/* in a network namespace but the initial one */
	RPCRDMA_AUTH_OF_HOST,		/* of the host; there always is one */
};

/* The host's part of a handshake */
struct rpcrdma_auth_host {
	u8	nonce[RPCRDMA_AUTH_NONCE];	/* cryptographic random numbers */
	u32	hashes;			/* mask of hashes that it can compute */
	u32	groups;			/* mask of groups in which it can compute */
};

/**
 * rpcrdma_core_auth_answer() - answer the request that the handshake has made
 * @core: connection
 *
 * rpcrdma_port_auth() schedules this.
 * Context: no lock held, the teardown is held off; may sleep.
 */
void rpcrdma_core_auth_answer(struct rpcrdma_ep_core *core);

/* Milliseconds between look-ups of absent algorithms, so that peers cannot cause one each */
enum {
	RPCRDMA_AUTH_LOOKUP_MS = 60 * 1000,
};

/* The host's look-ups of its algorithms, which may take long. All zero at first */
struct rpcrdma_auth_lookup {
	u32 at_ms;		/* time of the last one */
	bool done;		/* there was one that did not lack memory */
	bool complete;		/* it has found all algorithms */
};

/**
 * rpcrdma_auth_lookup_due() - check if the algorithms are to be looked up
 * @last: last look-up
 * @now_ms: time
 *
 * Context: any; another one may change @last.
 * Return: true if so, for a handshake that begins now.
 */
static inline bool rpcrdma_auth_lookup_due(const struct rpcrdma_auth_lookup *last,
					   u32 now_ms)
{
	const u32 at_ms = __atomic_load_n(&last->at_ms, __ATOMIC_RELAXED);

	if (__atomic_load_n(&last->complete, __ATOMIC_RELAXED))
		return false;
	return !__atomic_load_n(&last->done, __ATOMIC_RELAXED) ||
	       now_ms - at_ms > RPCRDMA_AUTH_LOOKUP_MS;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_AUTH_H */
