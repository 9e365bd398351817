// SPDX-License-Identifier: GPL-2.0
#include <openssl/hmac.h>
#include <string.h>

#include "auth.h"

const char auth_secret[] = "the secret of a hostile peer, 32";

enum { PRIVATE = 8, MECHANISM = 1 };

void transcript_add(struct transcript *t, int role, const void *msg, uint32_t len)
{
	if (len < PREFIX || len - PREFIX > sizeof(t->body[role]))
		bad("a first message of %u bytes cannot be proven", len);
	if (role == CLIENT)
		memset(t, 0, sizeof(*t));
	t->flags[role] = get(msg, 16);
	t->len[role] = len - PREFIX;
	memcpy(t->body[role], (const uint8_t *)msg + PREFIX, len - PREFIX);
}

void transcript_dh(struct transcript *t, const struct dh *d, const uint8_t *public,
		   const uint8_t *shared)
{
	t->group = d->group;
	t->octets = d->octets;
	memcpy(t->public, public, d->octets);
	memcpy(t->shared, shared, d->octets);
}

void prove(const struct peer *p, const struct transcript *t, int role,
	   uint8_t proof[SHA256_OCTETS])
{
	static const char label[] = "RPCRDMA2HOSTAUTH";
	uint8_t input[4096];
	uint32_t at = sizeof(label) - 1, i;
	const uint32_t words[] = { MECHANISM, role + 1, 2, SHA256, t->group };

	memcpy(input, label, at);
	for (i = 0; i < 5; i++, at += 4)
		put(input, at, words[i]);
	/* The client's private message first */
	memcpy(input + at, p->server ? p->peer_private : p->own_private, PRIVATE);
	at += PRIVATE;
	memcpy(input + at, p->server ? p->own_private : p->peer_private, PRIVATE);
	at += PRIVATE;
	for (i = 0; i < 2; i++, at += 8) {
		put(input, at, t->flags[i]);
		put(input, at + 4, t->len[i]);
	}
	for (i = 0; i < 2; i++) {
		memcpy(input + at, t->body[i], t->len[i]);
		at += t->len[i];
	}
	memcpy(input + at, t->public, t->octets);
	at += t->octets;
	memcpy(input + at, t->shared, t->octets);
	at += t->octets;
	if (!HMAC(EVP_sha256(), auth_secret, strlen(auth_secret), input, at, proof, NULL))
		bad("libcrypto has no HMAC of SHA-256");
}

void w_octets(struct peer *p, const void *data, uint32_t len)
{
	uint8_t word[4];
	uint32_t i;

	for (i = 0; i < len; i += 4) {
		memset(word, 0, sizeof(word));
		memcpy(word, (const uint8_t *)data + i, len - i < 4 ? len - i : 4);
		w(p, get(word, 0));
	}
}

/* Write an opaque with its length. */
static void w_opaque(struct peer *p, const void *data, uint32_t len)
{
	w(p, len);
	w_octets(p, data, len);
}

/* Write the property with the start of an item, to which the caller adds @more bytes. */
static void start(struct peer *p, uint32_t type, uint32_t hash, uint32_t group,
		  uint8_t nonce, const char *identity, uint32_t len, uint32_t more)
{
	uint8_t octets[NONCE];

	memset(octets, nonce, sizeof(octets));
	ww(p, 2, HOSTAUTH, 20 + NONCE + (len + 3) / 4 * 4 + more);
	ww(p, 4, MECHANISM, type, hash, group);
	w_octets(p, octets, sizeof(octets));
	w_opaque(p, identity, len);
}

void auth_start(struct peer *p, uint32_t type, uint32_t hash, uint32_t group,
		uint8_t nonce, const char *identity, uint32_t len)
{
	if (type == CHALLENGE)
		auth_challenge(p, hash, group, nonce, identity, len, NULL, 0);
	else
		start(p, type, hash, group, nonce, identity, len, 0);
}

void auth_challenge(struct peer *p, uint32_t hash, uint32_t group, uint8_t nonce,
		    const char *identity, uint32_t len, const uint8_t *public, uint32_t octets)
{
	start(p, CHALLENGE, hash, group, nonce, identity, len, 4 + (octets + 3) / 4 * 4);
	w_opaque(p, public, octets);
}

void auth_proof(struct peer *p, const uint8_t *proof, uint32_t len)
{
	auth_proof_dh(p, proof, len, NULL, 0);
}

void auth_proof_dh(struct peer *p, const uint8_t *proof, uint32_t len,
		   const uint8_t *public, uint32_t octets)
{
	ww(p, 4, HOSTAUTH, 16 + len + (octets + 3) / 4 * 4, MECHANISM, PROOF);
	w_opaque(p, proof, len);
	w_opaque(p, public, octets);
}

void auth_failure(struct peer *p, uint32_t reason)
{
	ww(p, 5, HOSTAUTH, 12, MECHANISM, FAILURE, reason);
}

uint32_t find_item(const struct msg *m, uint32_t type)
{
	uint32_t at = PREFIX + 4, count, len;

	if (m->len < at || get(m->data, 4) != 2 || get(m->data, 12) != CONNPROP)
		return 0;
	for (count = get(m->data, PREFIX); count && at + 8 <= m->len; count--) {
		len = get(m->data, at + 4);
		if (len > m->len - at - 8)
			return 0;
		if (get(m->data, at) == HOSTAUTH && len >= 8 && get(m->data, at + 8) == MECHANISM &&
		    get(m->data, at + 12) == type)
			return at + 8;
		at += 8 + (len + 3) / 4 * 4;
	}
	return 0;
}

const uint8_t *find_public(const struct msg *m, uint32_t at, uint32_t octets)
{
	const uint32_t fixed = get(m->data, at + 4) == CHALLENGE ? 16 + NONCE : 8;
	uint32_t length = at + fixed;

	/* The public value follows the identity or the proof. */
	if (length + 4 > m->len || get(m->data, length) > IDENTITY)
		return NULL;
	length += 4 + (get(m->data, length) + 3) / 4 * 4;
	if (length + 4 + octets > m->len || get(m->data, length) != octets)
		return NULL;
	return m->data + length + 4;
}
