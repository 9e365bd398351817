/* SPDX-License-Identifier: GPL-2.0 */
/* Host authentication (WP 9), of either role */
#ifndef HOSTILE_AUTH_H
#define HOSTILE_AUTH_H

#include "dh.h"
#include "peer.h"

enum { HELLO = 1, CHALLENGE, PROOF, FAILURE };
enum { DENIED = 1, REQUIRED, NO_ALGORITHM, NOT_VALID, NOT_AVAILABLE };
enum { SHA256 = 1, SHA256_OCTETS = 32, NONCE = 32, IDENTITY = 128 };
enum { CLIENT = 0, SERVER = 1 };

/* The secret that hostile.sh and hostile-server.sh have put into the keyring */
extern const char auth_secret[];

/* The data that the proofs of a connection cover */
struct transcript {
	uint32_t flags[2], len[2];
	uint8_t body[2][1024];		/* the first messages without their prefixes */
	uint32_t group, octets;		/* of Diffie-Hellman, and of its numbers */
	uint8_t public[PUBLIC], shared[PUBLIC];	/* of the client */
};

/*
 * Record the first message of a role: @len bytes with the prefix. The client's begins a
 * transcript.
 */
void transcript_add(struct transcript *t, int role, const void *msg, uint32_t len);
/* Record the client's public value and the shared secret of the exchange @d. */
void transcript_dh(struct transcript *t, const struct dh *d, const uint8_t *public,
		   const uint8_t *shared);
/* Compute the proof of @role for a connection of @p. */
void prove(const struct peer *p, const struct transcript *t, int role,
	   uint8_t proof[SHA256_OCTETS]);

/*
 * Write the property with an item: HELLO or CHALLENGE with @hash and @group, which are
 * masks for a HELLO, a nonce of bytes @nonce, and @len bytes of @identity.
 */
void auth_start(struct peer *p, uint32_t type, uint32_t hash, uint32_t group,
		uint8_t nonce, const char *identity, uint32_t len);
/* Write a CHALLENGE as auth_start() does, with @octets bytes of @public. */
void auth_challenge(struct peer *p, uint32_t hash, uint32_t group, uint8_t nonce,
		    const char *identity, uint32_t len, const uint8_t *public, uint32_t octets);
void auth_proof(struct peer *p, const uint8_t *proof, uint32_t len);
/* Write a PROOF in the property, with @octets bytes of @public. */
void auth_proof_dh(struct peer *p, const uint8_t *proof, uint32_t len,
		   const uint8_t *public, uint32_t octets);
void auth_failure(struct peer *p, uint32_t reason);

/* Write bytes, padded to a multiple of 4. */
void w_octets(struct peer *p, const void *data, uint32_t len);

/* Return the offset of the item of type @type in a CONNPROP, 0: there is none. */
uint32_t find_item(const struct msg *m, uint32_t type);
/* Return @octets bytes of the public value of the CHALLENGE or PROOF at @at, or NULL. */
const uint8_t *find_public(const struct msg *m, uint32_t at, uint32_t octets);

#endif
