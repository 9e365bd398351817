/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port's part for host authentication: identities, secrets and algorithms. port.h
 * defines "no lock held". All functions but rpcrdma_port_auth() may sleep.
 */
#ifndef RPCRDMA_CORE_PORT_AUTH_H
#define RPCRDMA_CORE_PORT_AUTH_H

#include <rpcrdma/endpoint_auth.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_ep_core;

/* ---- Identities ---- */

/**
 * rpcrdma_port_auth_identity - look up an identity
 * @core: connection
 * @source: where it is configured
 * @identity: returns RPCRDMA_AUTH_MAX_IDENTITY + 2 bytes at most, with the terminating
 *	one; the core checks if it is valid
 *
 * Context: no lock held.
 * Return: 0; -ENOKEY if there is none; -ENOMEM; or another negative errno if it cannot be
 * used.
 */
int rpcrdma_port_auth_identity(struct rpcrdma_ep_core *core,
			       enum rpcrdma_auth_source source, char *identity);

/**
 * rpcrdma_port_auth_invalid - log that an identity is needed and is not valid
 * @core: connection
 * @source: where it is configured: EXPECTED, or OF_HOST for this end's
 *
 * Context: no lock held.
 */
void rpcrdma_port_auth_invalid(struct rpcrdma_ep_core *core,
			       enum rpcrdma_auth_source source);

/**
 * rpcrdma_port_auth_keep - keep the identity that the peer must prove
 * @core: connection, for the life of which the copy is kept
 * @identity: identity
 *
 * Context: no lock held.
 * Return: a copy, or NULL if out of memory.
 */
const char *rpcrdma_port_auth_keep(struct rpcrdma_ep_core *core,
				   const char *identity);

/* ---- The handshake ---- */

/**
 * rpcrdma_port_auth_alloc - allocate a handshake, and what the host needs for it
 * @core: connection
 * @dh: Diffie-Hellman is permitted
 * @host: returns what the host provides
 *
 * The memory of a server's handshake is a part of the connection's reservation.
 * Context: no lock held.
 * Return: the handshake; or NULL if out of memory, or if it is not known yet which
 * algorithms the host has.
 */
struct rpcrdma_hostauth *
rpcrdma_port_auth_alloc(struct rpcrdma_ep_core *core, bool dh,
			struct rpcrdma_auth_host *host);

/**
 * rpcrdma_port_auth - call rpcrdma_core_auth_answer() soon, unless the teardown begins
 * @core: connection
 *
 * In process context, while the teardown is held off.
 * Context: no lock held; must not sleep.
 */
void rpcrdma_port_auth(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_auth_secret - look up the secret for @req->identity, and compute both HMACs
 *	with it for RPCRDMA_AUTH_ASK_PROOFS
 * @core: connection
 * @req: request
 * @answer: has the shared secret if @req is in a group; returns the proofs. NULL if none
 *	are requested.
 *
 * Context: no lock held.
 * Return: the status of an answer.
 */
int rpcrdma_port_auth_secret(struct rpcrdma_ep_core *core,
			     const struct rpcrdma_auth_request *req,
			     struct rpcrdma_auth_answer *answer);

/**
 * rpcrdma_port_auth_keys - generate a private value, keep it, and compute its public value
 * @core: connection, whose handshake was allocated with Diffie-Hellman
 * @dh: exchange
 * @public_value: returns the public value
 *
 * Context: no lock held.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_auth_keys(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_auth_dh *dh, u8 *public_value);

/**
 * rpcrdma_port_auth_shared - compute the shared secret with the private value
 * @core: connection
 * @dh: exchange
 * @shared: returns the shared secret
 *
 * Context: no lock held.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_auth_shared(struct rpcrdma_ep_core *core,
			     const struct rpcrdma_auth_dh *dh, u8 *shared);

/**
 * rpcrdma_port_auth_forget - zero the private value, and free what the host has allocated
 *	for Diffie-Hellman, if anything
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_auth_forget(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_auth_answered - trace an answer
 * @core: connection
 * @req: request
 * @status: status of the answer
 *
 * Context: no lock held.
 */
void rpcrdma_port_auth_answered(struct rpcrdma_ep_core *core,
				const struct rpcrdma_auth_request *req,
				int status);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_AUTH_H */
