// SPDX-License-Identifier: GPL-2.0
/*
 * The algorithms of host authentication, from the crypto API: HMACs here, Diffie-Hellman in
 * hostauth_dh.c.
 *
 * Operation
 *
 * A look-up of an algorithm may load modules, and creates a thread that puts an HMAC
 * together. If a client did that while it reconnects, it could wait for a file, or for
 * memory, that needs the connection. CRYPTO_NOLOAD does not prevent this, because it does
 * not extend to the parts of an HMAC. Therefore rpcrdma_algs_find() looks up the
 * algorithms when no file depends on the connection yet: before the first connection of a
 * client that has a secret, unless they were found before, and when a server begins to
 * listen. They are held from then on, and handshakes look up nothing.
 *
 * If a secret is added later, or a setting changes, a work item looks the algorithms up.
 * The handshake fails meanwhile, as for lack of memory, and the client tries again.
 *
 * Memory
 *
 * There is one transform of each HMAC for all connections. It has the key of one handshake
 * at a time, which is overwritten after use. All are freed when the module ends.
 *
 * Errors
 *
 * An algorithm that this kernel lacks is logged, once, and looked up again at most every
 * minute. Handshakes use another one that both ends have; those that need it fail.
 *
 * Locking
 *
 * rpcrdma_algs_mutex is held during a look-up, which may take long: no handshake waits for
 * it. rpcrdma_hmac_mutex is held while a transform has a key, for microseconds.
 */

#include <crypto/hash.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "hostauth.h"

/* If this is 0, the compiler removes the calls of the crypto API, which cannot be linked. */
#define RPCRDMA_HMACS	IS_REACHABLE(CONFIG_CRYPTO_HASH)

static const struct {
	enum rpcrdma_auth_hash	hash;
	const char		*name;
} rpcrdma_hmac_names[] = {
	{ RPCRDMA_AUTH_SHA256, "hmac(sha256)" },
	{ RPCRDMA_AUTH_SHA384, "hmac(sha384)" },
	{ RPCRDMA_AUTH_SHA512, "hmac(sha512)" },
};

static DEFINE_MUTEX(rpcrdma_algs_mutex);
static DEFINE_MUTEX(rpcrdma_hmac_mutex);
static struct crypto_shash *rpcrdma_hmacs[RPCRDMA_AUTH_SHA512 + 1];
static struct rpcrdma_auth_lookup rpcrdma_algs;

/* Look up an HMAC. Return 0, -ENOENT or -ENOMEM. Caller holds rpcrdma_algs_mutex. */
static int rpcrdma_hmac_find(unsigned int i)
{
	const char *name = rpcrdma_hmac_names[i].name;
	struct crypto_shash **tfm = &rpcrdma_hmacs[rpcrdma_hmac_names[i].hash];
	struct crypto_shash *found;

	if (*tfm)
		return 0;
	found = crypto_alloc_shash(name, 0, 0);
	if (!IS_ERR(found)) {
		/* Pairs with rpcrdma_algs_proofs(). */
		smp_store_release(tfm, found);
		return 0;
	}
	if (PTR_ERR(found) == -ENOMEM)
		return -ENOMEM;
	if (!rpcrdma_algs.done)
		pr_warn("rpcrdma: this kernel has no %s: error %ld; host authentication does not use it\n",
			name, PTR_ERR(found));
	return -ENOENT;
}

void rpcrdma_algs_find(void)
{
	bool complete = true;
	unsigned int i;
	int rc = 0;

	if (!RPCRDMA_HMACS)
		return;
	mutex_lock(&rpcrdma_algs_mutex);
	for (i = 0; i < ARRAY_SIZE(rpcrdma_hmac_names) && rc != -ENOMEM; i++) {
		rc = rpcrdma_hmac_find(i);
		complete &= !rc;
	}
	if (rc != -ENOMEM) {
		rc = rpcrdma_dh_find(!rpcrdma_algs.done);
		complete &= !rc;
	}
	if (rc != -ENOMEM) {
		WRITE_ONCE(rpcrdma_algs.at_ms, rpcrdma_now_ms());
		WRITE_ONCE(rpcrdma_algs.done, true);
	}
	WRITE_ONCE(rpcrdma_algs.complete, complete);
	mutex_unlock(&rpcrdma_algs_mutex);
}

static void rpcrdma_algs_find_work(struct work_struct *work)
{
	rpcrdma_algs_find();
}

static DECLARE_WORK(rpcrdma_algs_work, rpcrdma_algs_find_work);

bool rpcrdma_algs_known(void)
{
	if (!RPCRDMA_HMACS)
		return true;
	/* Not on a workqueue of this module: the work item may wait for any file system. */
	if (rpcrdma_auth_lookup_due(&rpcrdma_algs, rpcrdma_now_ms()))
		queue_work(system_long_wq, &rpcrdma_algs_work);
	return READ_ONCE(rpcrdma_algs.done);
}

u32 rpcrdma_algs_hashes(void)
{
	unsigned int hash;
	u32 hashes = 0;

	for (hash = 0; hash < ARRAY_SIZE(rpcrdma_hmacs); hash++) {
		if (READ_ONCE(rpcrdma_hmacs[hash]))
			hashes |= 1 << hash;
	}
	return hashes;
}

void rpcrdma_algs_exit(void)
{
	unsigned int i;

	if (!RPCRDMA_HMACS)
		return;
	cancel_work_sync(&rpcrdma_algs_work);
	for (i = 0; i < ARRAY_SIZE(rpcrdma_hmacs); i++) {
		if (rpcrdma_hmacs[i])
			crypto_free_shash(rpcrdma_hmacs[i]);
		rpcrdma_hmacs[i] = NULL;
	}
	rpcrdma_dh_exit();
	rpcrdma_algs = (struct rpcrdma_auth_lookup){};
}

/*
 * Compute one proof with the key of @tfm. After a Diffie-Hellman exchange, it also
 * covers the client's public value and the @shared secret.
 */
static int rpcrdma_auth_digest(struct crypto_shash *tfm,
			       const struct rpcrdma_auth_request *req,
			       const struct rpcrdma_auth_range *input,
			       const u8 *shared, u8 *proof)
{
	SHASH_DESC_ON_STACK(desc, tfm);
	unsigned int i;
	int rc;

	desc->tfm = tfm;
	rc = crypto_shash_init(desc);
	for (i = 0; !rc && i < RPCRDMA_AUTH_RANGES; i++)
		rc = crypto_shash_update(desc, input[i].data, input[i].octets);
	if (!rc && req->dh.group)
		rc = crypto_shash_update(desc, req->dh.client_public,
					 req->dh.octets) ?:
		     crypto_shash_update(desc, shared, req->dh.octets);
	if (!rc)
		rc = crypto_shash_final(desc, proof);
	shash_desc_zero(desc);
	return rc;
}

int rpcrdma_algs_proofs(const struct rpcrdma_auth_request *req,
			const void *secret, unsigned int octets,
			struct rpcrdma_auth_answer *answer)
{
	static const u8 no_secret[RPCRDMA_AUTH_MIN_SECRET];
	/* Pairs with rpcrdma_hmac_find(). */
	struct crypto_shash *tfm = smp_load_acquire(&rpcrdma_hmacs[req->hash]);
	unsigned int i;
	int rc;

	if (!RPCRDMA_HMACS || !tfm)
		return -EOPNOTSUPP;
	mutex_lock(&rpcrdma_hmac_mutex);
	rc = crypto_shash_setkey(tfm, secret, octets);
	for (i = 0; !rc && i < ARRAY_SIZE(answer->proof); i++)
		rc = rpcrdma_auth_digest(tfm, req, req->input[i],
					 answer->shared, answer->proof[i]);
	/* The transform keeps nothing of the secret. */
	if (crypto_shash_setkey(tfm, no_secret, sizeof(no_secret)))
		rc = -EOPNOTSUPP;
	mutex_unlock(&rpcrdma_hmac_mutex);
	return rc ? -EOPNOTSUPP : 0;
}
