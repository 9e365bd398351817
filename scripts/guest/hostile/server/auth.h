/* SPDX-License-Identifier: GPL-2.0 */
/* Steps of the handshake, for the cases of host authentication: auth.c */
#ifndef HOSTILE_SERVER_AUTH_H
#define HOSTILE_SERVER_AUTH_H

#include "../lib/auth.h"
#include "server.h"

enum { WAIT_MS = 5000 };

/* Begin the server's first message, with its properties, before the item. */
void begin_challenge(struct peer *p, uint32_t flags);
/* Return true if the client has begun with HELLO. */
bool hello_ok(void);
/*
 * Record and send the CHALLENGE in p->out, and get the client's PROOF. Return it, or NULL
 * with @wrong set if it does not come. The caller frees it.
 */
struct msg *challenge_with(struct peer *p, struct transcript *t);
void proof(struct peer *p, const uint8_t *octets, uint32_t len, uint32_t flags);

#endif
