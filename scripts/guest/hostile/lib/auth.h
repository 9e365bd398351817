/* SPDX-License-Identifier: GPL-2.0 */
/* Host authentication (WP 9), of either role */
#ifndef HOSTILE_AUTH_H
#define HOSTILE_AUTH_H

#include "peer.h"

enum { HELLO = 1, CHALLENGE, PROOF, FAILURE };
enum { DENIED = 1, REQUIRED, NO_ALGORITHM, NOT_VALID, NOT_AVAILABLE };
enum { SHA256 = 1, SHA256_OCTETS = 32, NONCE = 32, IDENTITY = 128 };
enum { CLIENT = 0, SERVER = 1 };

/* The secret that hostile.sh and hostile-server.sh have put into the keyring */
extern const char auth_secret[];

/* The messages that the proofs of a connection cover */
struct transcript {
	uint32_t flags[2], len[2];
	uint8_t body[2][1024];		/* the first messages without their prefixes */
};

/* Record the first message of a role: @len bytes with the prefix. */
void transcript_add(struct transcript *t, int role, const void *msg, uint32_t len);
/* Compute the proof of @role for a connection of @p. */
void prove(const struct peer *p, const struct transcript *t, int role,
	   uint8_t proof[SHA256_OCTETS]);

/*
 * Write the property with an item: HELLO or CHALLENGE with @hash and @group, which are
 * masks for a HELLO, a nonce of bytes @nonce, and @len bytes of @identity.
 */
void auth_start(struct peer *p, uint32_t type, uint32_t hash, uint32_t group,
		uint8_t nonce, const char *identity, uint32_t len);
void auth_proof(struct peer *p, const uint8_t *proof, uint32_t len);
void auth_failure(struct peer *p, uint32_t reason);

/* Write bytes, and up to a multiple of 4. */
void w_octets(struct peer *p, const void *data, uint32_t len);

/* Return the offset of the item of type @type in a CONNPROP, 0: there is none. */
uint32_t find_item(const struct msg *m, uint32_t type);

#endif
