// SPDX-License-Identifier: GPL-2.0
/*
 * Diffie-Hellman in host authentication, by the algorithm "dh" of the crypto API.
 *
 * Operation
 *
 * The core has the primes of its groups and checks the peer's values. Therefore this does
 * not depend on CONFIG_CRYPTO_DH_RFC7919_GROUPS, which many kernels lack. The module that
 * has the algorithm is not a dependency of this one: its functions are looked up when the
 * algorithm is (hostauth_algs.c describes when), and held until the module ends.
 *
 * Memory
 *
 * Each handshake that may use a group has a separate transform, which has the private
 * value from rpcrdma_port_auth_keys() on. It is freed, and the value zeroed, when the core
 * needs it no longer, or with the endpoint. Copies of the
 * value are zeroed at once. Memory reclaim may wait for the connection, so that no
 * allocation of a handshake enters a file system.
 *
 * Errors
 *
 * Without the algorithm, handshakes use no group; that is logged once. The core decides
 * what follows from a failed computation.
 *
 * Locking
 *
 * rpcrdma_algs_mutex serialises the look-ups. A handshake computes in one context at a
 * time, its work item, without ep->lock.
 */

#include <crypto/dh.h>
#include <crypto/kpp.h>
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "hostauth.h"

/* If this is 0, the compiler removes the calls of the crypto API, which cannot be linked. */
#ifndef RPCRDMA_KPP
#define RPCRDMA_KPP	IS_REACHABLE(CONFIG_CRYPTO_KPP2)
#endif

void rpcrdma_dh_free(struct rpcrdma_ep *ep)
{
	/* Zeroes the private value. */
	if (RPCRDMA_KPP && ep->auth_private)
		crypto_free_kpp(ep->auth_private);
	ep->auth_private = NULL;
}

static const u8 rpcrdma_dh_generator = 2;

/*
 * A transform that is not used, but holds the algorithm, and the functions of its module
 * that pack a group and a private value. This module does not depend on that one.
 */
static struct crypto_kpp *rpcrdma_dh_held;
static typeof(&crypto_dh_key_len) rpcrdma_dh_key_len;
static typeof(&crypto_dh_encode_key) rpcrdma_dh_encode;

static void rpcrdma_dh_put_functions(void)
{
	if (rpcrdma_dh_encode)
		symbol_put(crypto_dh_encode_key);
	if (rpcrdma_dh_key_len)
		symbol_put(crypto_dh_key_len);
	rpcrdma_dh_encode = NULL;
	rpcrdma_dh_key_len = NULL;
}

int rpcrdma_dh_find(bool log)
{
	struct crypto_kpp *tfm;

	if (!RPCRDMA_KPP)
		return -ENOENT;
	if (rpcrdma_dh_held)
		return 0;
	/* Synchronous implementations only, so that no completion has to be waited for */
	tfm = crypto_alloc_kpp("dh", 0, CRYPTO_ALG_ASYNC);
	if (PTR_ERR_OR_ZERO(tfm) == -ENOMEM)
		return -ENOMEM;
	if (!IS_ERR(tfm)) {
		rpcrdma_dh_key_len = symbol_request(crypto_dh_key_len);
		rpcrdma_dh_encode = symbol_request(crypto_dh_encode_key);
		if (rpcrdma_dh_key_len && rpcrdma_dh_encode) {
			/* Pairs with rpcrdma_dh_prepare(). */
			smp_store_release(&rpcrdma_dh_held, tfm);
			return 0;
		}
		rpcrdma_dh_put_functions();
		crypto_free_kpp(tfm);
	}
	if (log)
		pr_info("rpcrdma: this kernel has no algorithm \"dh\"; host authentication does not use Diffie-Hellman\n");
	return -ENOENT;
}

void rpcrdma_dh_exit(void)
{
	if (!RPCRDMA_KPP || !rpcrdma_dh_held)
		return;
	rpcrdma_dh_put_functions();
	crypto_free_kpp(rpcrdma_dh_held);
	rpcrdma_dh_held = NULL;
}

int rpcrdma_dh_prepare(struct rpcrdma_ep *ep)
{
	struct crypto_kpp *tfm;
	unsigned int nofs;

	/* Pairs with rpcrdma_dh_find(). */
	if (!RPCRDMA_KPP || !smp_load_acquire(&rpcrdma_dh_held))
		return 0;
	/* Memory reclaim may wait for this connection. */
	nofs = memalloc_nofs_save();
	tfm = crypto_alloc_kpp("dh", 0, CRYPTO_ALG_ASYNC | CRYPTO_NOLOAD);
	memalloc_nofs_restore(nofs);
	if (!IS_ERR(tfm)) {
		ep->auth_private = tfm;
		return 1;
	}
	return PTR_ERR(tfm) == -ENOMEM ? -ENOMEM : 0;
}

/* Set the group and the private value of @tfm. */
static int rpcrdma_dh_set(struct crypto_kpp *tfm, const struct rpcrdma_auth_dh *dh,
			  const u8 *private)
{
	const struct dh params = {
		.key		= (void *)private,
		.key_size	= dh->private_octets,
		.p		= (void *)dh->prime,
		.p_size		= dh->octets,
		.g		= (void *)&rpcrdma_dh_generator,
		.g_size		= sizeof(rpcrdma_dh_generator),
	};
	unsigned int len = rpcrdma_dh_key_len(&params);
	char *packed = kmalloc(len, GFP_NOFS);
	int rc = packed ? rpcrdma_dh_encode(packed, len, &params) : -ENOMEM;

	if (!rc)
		rc = crypto_kpp_set_secret(tfm, packed, len);
	kfree_sensitive(packed);
	return rc;
}

/*
 * Raise the generator, or the peer's public value @base, to the private value of @tfm. Both
 * values have @octets bytes.
 */
static int rpcrdma_dh_power(struct crypto_kpp *tfm, const u8 *base, u8 *power,
			    unsigned int octets)
{
	struct kpp_request *req = kpp_request_alloc(tfm, GFP_NOFS);
	/* Not on the stack: the crypto API uses their pages. */
	u8 *bufs = kzalloc(2 * octets, GFP_NOFS);
	struct scatterlist in, out;
	int rc = -ENOMEM;

	if (req && bufs) {
		sg_init_one(&out, bufs + octets, octets);
		kpp_request_set_callback(req, 0, NULL, NULL);
		kpp_request_set_output(req, &out, octets);
		if (base) {
			memcpy(bufs, base, octets);
			sg_init_one(&in, bufs, octets);
			kpp_request_set_input(req, &in, octets);
			rc = crypto_kpp_compute_shared_secret(req);
		} else {
			kpp_request_set_input(req, NULL, 0);
			rc = crypto_kpp_generate_public_key(req);
		}
		memcpy(power, bufs + octets, octets);
	}
	kfree_sensitive(bufs);
	if (req)
		kpp_request_free(req);
	return rc;
}

int rpcrdma_port_auth_keys(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_auth_dh *dh, u8 *public_value)
{
	struct crypto_kpp *tfm = rpcrdma_ep_of(core)->auth_private;
	u8 private[RPCRDMA_AUTH_MAX_PRIVATE];
	int rc;

	if (!RPCRDMA_KPP)
		return -EOPNOTSUPP;
	get_random_bytes(private, dh->private_octets);
	rc = rpcrdma_dh_set(tfm, dh, private);
	memzero_explicit(private, sizeof(private));
	return rc ?: rpcrdma_dh_power(tfm, NULL, public_value, dh->octets);
}

int rpcrdma_port_auth_shared(struct rpcrdma_ep_core *core,
			     const struct rpcrdma_auth_dh *dh, u8 *shared)
{
	if (!RPCRDMA_KPP)
		return -EOPNOTSUPP;
	return rpcrdma_dh_power(rpcrdma_ep_of(core)->auth_private,
				dh->peer_public, shared, dh->octets);
}

void rpcrdma_port_auth_forget(struct rpcrdma_ep_core *core)
{
	rpcrdma_dh_free(rpcrdma_ep_of(core));
}
