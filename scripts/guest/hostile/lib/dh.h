/* SPDX-License-Identifier: GPL-2.0 */
/* Diffie-Hellman in host authentication (WP 9), of either role, by libcrypto */
#ifndef HOSTILE_DH_H
#define HOSTILE_DH_H

#include <stdint.h>

enum { NO_DH, FFDHE2048, FFDHE3072, FFDHE4096 };	/* groups */
enum { PUBLIC = 512, EXPONENT = 48 };			/* bytes at most */

/* One end of an exchange. Numbers are big-endian and of the prime's length. */
struct dh {
	uint32_t group, octets;
	uint8_t prime[PUBLIC], exponent[EXPONENT], public[PUBLIC];
};

/* Begin an exchange in @group with a random private value. */
void dh_begin(struct dh *d, uint32_t group);
/* Compute the shared secret with @public of the peer. */
void dh_shared(const struct dh *d, const uint8_t *public, uint8_t shared[PUBLIC]);

/*
 * Values that an end must refuse. Each leads to a known shared secret, except BELOW_PRIME: with
 * that, the secret is 1 or the prime less one.
 */
enum dh_value { ZERO, ONE, BELOW_PRIME, PRIME, ABOVE_PRIME, DH_VALUES };

/* Set @public to such a value, and @shared to the resulting secret. */
void dh_bad(const struct dh *d, enum dh_value value, uint8_t public[PUBLIC],
	    uint8_t shared[PUBLIC]);

#endif
