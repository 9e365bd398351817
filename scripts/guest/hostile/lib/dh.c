// SPDX-License-Identifier: GPL-2.0
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

#include "dh.h"
#include "peer.h"

static const char *const names[] = { NULL, "ffdhe2048", "ffdhe3072", "ffdhe4096" };

/* Return the prime that libcrypto has for the group of that name. */
static BIGNUM *prime_of(const char *name)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)name, 0),
		OSSL_PARAM_construct_end(),
	};
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "DH", NULL);
	EVP_PKEY *key = NULL;
	BIGNUM *prime = NULL;

	if (!ctx || EVP_PKEY_paramgen_init(ctx) <= 0 ||
	    EVP_PKEY_CTX_set_params(ctx, params) <= 0 ||
	    EVP_PKEY_paramgen(ctx, &key) <= 0 ||
	    !EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_FFC_P, &prime))
		bad("libcrypto has no group %s", name);
	EVP_PKEY_free(key);
	EVP_PKEY_CTX_free(ctx);
	return prime;
}

/* Raise @base to the private value. */
static void power(const struct dh *d, const BIGNUM *base, uint8_t *result)
{
	BIGNUM *prime = BN_bin2bn(d->prime, d->octets, NULL);
	BIGNUM *exponent = BN_bin2bn(d->exponent, EXPONENT, NULL);
	BIGNUM *value = BN_new();
	BN_CTX *ctx = BN_CTX_new();

	if (!BN_mod_exp(value, base, exponent, prime, ctx) ||
	    BN_bn2binpad(value, result, d->octets) < 0)
		bad("libcrypto cannot compute in %s", names[d->group]);
	BN_CTX_free(ctx);
	BN_free(value);
	BN_free(exponent);
	BN_free(prime);
}

void dh_begin(struct dh *d, uint32_t group)
{
	BIGNUM *prime = prime_of(names[group]), *generator = BN_new();
	BIGNUM *exponent = BN_new();

	memset(d, 0, sizeof(*d));
	d->group = group;
	d->octets = BN_num_bytes(prime);
	BN_bn2binpad(prime, d->prime, d->octets);
	if (!BN_rand(exponent, 8 * EXPONENT, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) ||
	    BN_bn2binpad(exponent, d->exponent, EXPONENT) < 0 || !BN_set_word(generator, 2))
		bad("libcrypto has no random numbers");
	power(d, generator, d->public);
	BN_free(exponent);
	BN_free(generator);
	BN_free(prime);
}

void dh_shared(const struct dh *d, const uint8_t *public, uint8_t shared[PUBLIC])
{
	BIGNUM *base = BN_bin2bn(public, d->octets, NULL);

	power(d, base, shared);
	BN_free(base);
}

void dh_bad(const struct dh *d, enum dh_value value, uint8_t public[PUBLIC],
	    uint8_t shared[PUBLIC])
{
	const uint32_t last = d->octets - 1;
	uint32_t i = last;

	memset(public, 0, PUBLIC);
	memset(shared, 0, PUBLIC);
	if (value >= BELOW_PRIME)
		memcpy(public, d->prime, d->octets);
	switch (value) {
	case ABOVE_PRIME:
		while (!++public[i])
			i--;
		shared[last] = 1;
		break;
	case BELOW_PRIME:
		public[last]--;
		/* Assume 1: with an odd private value it is the prime less one. */
		shared[last] = 1;
		break;
	case ONE:
		public[last] = 1;
		shared[last] = 1;
		break;
	default:
		break;
	}
}
