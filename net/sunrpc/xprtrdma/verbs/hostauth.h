/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Host authentication within verbs/: secrets and the handshake (hostauth.c), the
 * algorithms (hostauth_algs.c), and Diffie-Hellman (hostauth_dh.c).
 */
#ifndef RPCRDMA_VERBS_HOSTAUTH_H
#define RPCRDMA_VERBS_HOSTAUTH_H

#include "internal.h"

/* ---- hostauth.c ---- */

/* The type of keys for network namespaces. Return 0 or a negative errno. */
int rpcrdma_auth_init_keys(void);
void rpcrdma_auth_exit_keys(void);
void rpcrdma_auth_answer(struct work_struct *work);
void rpcrdma_auth_free(struct rpcrdma_ep *ep);

/* ---- hostauth_dh.c ---- */

/*
 * Look up the algorithm and hold it until rpcrdma_dh_exit(); @log if it is absent. May load
 * modules. The caller serialises both functions.
 * Return: 0, -ENOENT or -ENOMEM.
 */
int rpcrdma_dh_find(bool log);
void rpcrdma_dh_exit(void);

/*
 * Allocate the algorithm for @ep, if it was found. Process context, may sleep.
 * Return: 1 if it was allocated; 0 if it is not available; or -ENOMEM.
 */
int rpcrdma_dh_prepare(struct rpcrdma_ep *ep);

/* Free the algorithm and its private value, if @ep has them. */
void rpcrdma_dh_free(struct rpcrdma_ep *ep);

/* ---- hostauth_algs.c ---- */

/*
 * Look up the algorithms that are not held yet. May load modules, so that no file may depend
 * on the caller. Sleeps.
 */
void rpcrdma_algs_find(void);
/*
 * Return true if it is known which algorithms this kernel has. Otherwise a work item looks
 * them up. Any process context.
 */
bool rpcrdma_algs_known(void);
/* Return the mask of the hashes of which HMACs were found. Any context. */
u32 rpcrdma_algs_hashes(void);
/* Module end, before the keys' type is unregistered. Sleeps. */
void rpcrdma_algs_exit(void);
/*
 * Compute both HMACs of @req with @secret of @octets bytes, and with the shared secret in
 * @answer if @req is in a group. Sleeps, briefly.
 * Return: 0 or -EOPNOTSUPP. A failure says nothing about the secret.
 */
int rpcrdma_algs_proofs(const struct rpcrdma_auth_request *req,
			const void *secret, unsigned int octets,
			struct rpcrdma_auth_answer *answer);

#endif /* RPCRDMA_VERBS_HOSTAUTH_H */
