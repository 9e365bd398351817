/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A replacement for the crypto algorithm "dh", which a kernel for tests may lack: a group of
 * 31 bits, which provides no protection. Each step can fail.
 */
#ifndef LOOP_KPP_H
#define LOOP_KPP_H

#include <linux/math64.h>

#define LOOP_KPP_PRIME	0x7fffffffU	/* 2^31 - 1 */
#define LOOP_KPP_GENERATOR	7

struct loop_kpp {
	u32 secret;
};

struct loop_kpp_request {
	struct loop_kpp *kpp;
	struct scatterlist *in, *out;
	unsigned int octets;
};

static u32 loop_kpp_power(u32 base, u32 exponent)
{
	u64 result = 1, power = base;
	u32 rest;

	for (; exponent; exponent >>= 1) {
		if (exponent & 1) {
			div_u64_rem(result * power, LOOP_KPP_PRIME, &rest);
			result = rest;
		}
		div_u64_rem(power * power, LOOP_KPP_PRIME, &rest);
		power = rest;
	}
	return result;
}

/* Compute a power. A value is at the end of its buffer, with leading zeros. */
static int loop_kpp_compute(struct loop_kpp_request *req)
{
	__be32 base = cpu_to_be32(LOOP_KPP_GENERATOR), power;
	u8 *out = sg_virt(req->out);
	unsigned int at = req->octets - sizeof(power);

	if (loop_fault())
		return -ENOMEM;
	if (req->in)
		memcpy(&base, sg_virt(req->in) + at, sizeof(base));
	power = cpu_to_be32(loop_kpp_power(be32_to_cpu(base), req->kpp->secret));
	memset(out, 0, at);
	memcpy(out + at, &power, sizeof(power));
	return 0;
}

static struct crypto_kpp *loop_alloc_kpp(const char *name, u32 mask)
{
	struct loop_kpp *kpp;

	if (mask & CRYPTO_NOLOAD) {
		loop_check_nofs();
		atomic_inc(&loop_dh_allocs);
	} else {
		atomic_inc(&loop_alg_lookups);
	}
	if (strcmp(name, "dh"))
		atomic_inc(&loop_misuse);
	if (loop_no_dh)
		return ERR_PTR(-ENOENT);
	if (loop_fault())
		return ERR_PTR(-ENOMEM);
	kpp = kzalloc(sizeof(*kpp), GFP_NOFS);
	return (struct crypto_kpp *)kpp ?: ERR_PTR(-ENOMEM);
}

/* Set the private value: the first one in @packed. */
static int loop_kpp_set_secret(struct crypto_kpp *tfm, const void *packed)
{
	struct loop_kpp *kpp = (struct loop_kpp *)tfm;

	if (loop_fault())
		return -ENOMEM;
	memcpy(&kpp->secret, packed, sizeof(kpp->secret));
	/* Use an exponent from 2 to the prime less 2, so that no power is 1. */
	kpp->secret = kpp->secret % (LOOP_KPP_PRIME - 3) + 2;
	return 0;
}

static unsigned int loop_dh_key_len(const struct dh *params)
{
	return params->key_size + params->p_size + params->g_size;
}

static int loop_dh_encode_key(char *buf, unsigned int len, const struct dh *params)
{
	if (len != loop_dh_key_len(params) || params->g_size != 1)
		atomic_inc(&loop_misuse);
	memcpy(buf, params->key, params->key_size);
	return 0;
}

static struct kpp_request *loop_kpp_request_alloc(struct crypto_kpp *tfm)
{
	struct loop_kpp_request *req;

	req = loop_fault() ? NULL : kzalloc(sizeof(*req), GFP_NOFS);
	if (req)
		req->kpp = (struct loop_kpp *)tfm;
	return (struct kpp_request *)req;
}

#define RPCRDMA_KPP	1

#define crypto_alloc_kpp(name, type, mask)	loop_alloc_kpp(name, mask)
#define crypto_free_kpp(tfm)			kfree_sensitive(tfm)
#define crypto_kpp_set_secret(tfm, packed, len)	loop_kpp_set_secret(tfm, packed)
#undef symbol_request
#undef symbol_put
#define symbol_request(function)		(loop_fault() ? NULL : loop_##function)
#define symbol_put(function)			do { } while (0)
#define loop_crypto_dh_key_len			loop_dh_key_len
#define loop_crypto_dh_encode_key		loop_dh_encode_key
#define kpp_request_alloc(tfm, gfp)		loop_kpp_request_alloc(tfm)
#define kpp_request_free(req)			kfree(req)
#define kpp_request_set_callback(...)		do { } while (0)
#define kpp_request_set_input(req, sg, len)	\
	(((struct loop_kpp_request *)(req))->in = (sg))
#define kpp_request_set_output(req, sg, len)	do {			\
	((struct loop_kpp_request *)(req))->out = (sg);			\
	((struct loop_kpp_request *)(req))->octets = (len);		\
} while (0)
#define crypto_kpp_generate_public_key(req)	\
	loop_kpp_compute((struct loop_kpp_request *)(req))
#define crypto_kpp_compute_shared_secret(req)	\
	loop_kpp_compute((struct loop_kpp_request *)(req))

#endif /* LOOP_KPP_H */
