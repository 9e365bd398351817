/* SPDX-License-Identifier: GPL-2.0 */
/* Steps of the handshake, for the cases of host authentication: auth.c */
#ifndef HOSTILE_CLIENT_AUTH_H
#define HOSTILE_CLIENT_AUTH_H

#include "../lib/auth.h"
#include "client.h"

/* Masks of a HELLO, and a number of another group and hash */
enum { ONLY_SHA256 = 1 << SHA256, ALL_HASHES = 0xe, NO_GROUP = 1, ELSE = 1 << 9 };

/* Write a HELLO that offers these masks. */
void hello_with(struct peer *p, uint32_t hashes, uint32_t groups);
/*
 * Record and send the HELLO in p->out, and return the CHALLENGE of SHA-256 and @group. The
 * caller frees it.
 */
struct msg *greet_in(struct peer *p, struct transcript *t, uint32_t group);
void begin_proof(struct peer *p);
/* Expect the server's proof, and verify it. */
void expect_proof(struct peer *p, const struct transcript *t);
/* Send the message that ends the handshake. */
void last(struct peer *p);
/* Expect FAILURE, and that no Call is processed after it. */
void refused(struct peer *p, uint32_t reason);

#endif
