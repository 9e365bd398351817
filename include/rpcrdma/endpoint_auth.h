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

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_AUTH_H */
