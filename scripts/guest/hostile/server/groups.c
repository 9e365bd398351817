// SPDX-License-Identifier: GPL-2.0
/*
 * Host authentication in a group of Diffie-Hellman (WP 9). hostauth.sh has put the secret
 * into the keyring: each connection begins with a HELLO that offers all groups. A client that
 * refuses this server tries again, and is answered by a server that takes no part. The client
 * counts each of the values as one that is not valid, and each of the proofs as wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "auth.h"

static const char identity[] = "hostile";
enum { ID_LEN = sizeof(identity) - 1, NONE_AND_ALL = 0xf };

/* Write a CHALLENGE in a group with @octets bytes of @public. */
static void challenge_in(struct peer *p, uint32_t group, const uint8_t *public, uint32_t octets)
{
	begin_challenge(p, TPMORE);
	auth_challenge(p, SHA256, group, p->serial, identity, ID_LEN, public, octets);
}

/* An exchange, and the client's proof and public value */
struct exchange {
	struct transcript t;
	struct dh dh;
	uint8_t theirs[PUBLIC], shared[PUBLIC], proof[SHA256_OCTETS];
};

/* Get the client's proof in a group. Return false if it does not come. */
static bool exchanged(struct peer *p, struct exchange *e, uint32_t group)
{
	const uint8_t *public;
	struct msg *m;

	if (!hello_ok())
		return false;
	if (get(opening_msg->data, find_item(opening_msg, HELLO) + 12) != NONE_AND_ALL) {
		wrong = "the client should have offered all groups";
		return false;
	}
	dh_begin(&e->dh, group);
	challenge_in(p, group, e->dh.public, e->dh.octets);
	m = challenge_with(p, &e->t);
	if (!m)
		return false;
	public = find_public(m, find_item(m, PROOF), e->dh.octets);
	if (public) {
		memcpy(e->proof, m->data + find_item(m, PROOF) + 12, sizeof(e->proof));
		memcpy(e->theirs, public, e->dh.octets);
		dh_shared(&e->dh, public, e->shared);
		transcript_dh(&e->t, &e->dh, public, e->shared);
	} else {
		wrong = "the client should have sent a public value";
	}
	free(m);
	return !wrong;
}

/* The client's proof is verified, and this server's is valid. */
static void proven_in(struct peer *p, uint32_t group)
{
	uint8_t ours[SHA256_OCTETS];
	struct exchange e;

	if (!exchanged(p, &e, group))
		return;
	prove(p, &e.t, CLIENT, ours);
	if (memcmp(ours, e.proof, sizeof(ours)))
		wrong = "the client's proof is wrong";
	prove(p, &e.t, SERVER, ours);
	proof(p, ours, sizeof(ours), 0);
}

SCASE(groups, ffdhe2048, PROPS, "read", OK | STAYS) { proven_in(p, FFDHE2048); }
SCASE(groups, ffdhe3072, PROPS, "read", OK | STAYS) { proven_in(p, FFDHE3072); }
SCASE(groups, ffdhe4096, PROPS, "read", OK | STAYS) { proven_in(p, FFDHE4096); }

/* ---- Public values that are not valid ---- */

#define BAD_VALUE(name, value)						\
	SCASE(values, name, PROPS, "read", OK | CLOSES)			\
	{								\
		uint8_t public[PUBLIC], shared[PUBLIC];			\
		struct dh dh;						\
									\
		dh_begin(&dh, FFDHE3072);				\
		dh_bad(&dh, value, public, shared);			\
		challenge_in(p, FFDHE3072, public, dh.octets);		\
		send_out(p);						\
	}

BAD_VALUE(zero, ZERO)
BAD_VALUE(one, ONE)
BAD_VALUE(below_prime, BELOW_PRIME)
BAD_VALUE(prime, PRIME)
BAD_VALUE(above_prime, ABOVE_PRIME)

/* The value of another group, or a part of a value, or none */
#define BAD_LENGTH(name, group, of, octets)				\
	SCASE(values, name, PROPS, "read", OK | CLOSES)			\
	{								\
		struct dh dh;						\
									\
		dh_begin(&dh, of);					\
		challenge_in(p, group, dh.public, octets);		\
		send_out(p);						\
	}

BAD_LENGTH(empty, FFDHE3072, FFDHE3072, 0)
BAD_LENGTH(short, FFDHE3072, FFDHE3072, 383)
BAD_LENGTH(long, FFDHE3072, FFDHE3072, 385)
BAD_LENGTH(of_ffdhe2048, FFDHE3072, FFDHE2048, 256)
BAD_LENGTH(without_group, NO_DH, FFDHE2048, 256)

/* The server's public value belongs in the CHALLENGE, not in its proof. */
SCASE(values, value_in_proof, PROPS, "read", OK | CLOSES)
{
	uint8_t ours[SHA256_OCTETS];
	struct exchange e;

	if (!exchanged(p, &e, FFDHE2048))
		return;
	prove(p, &e.t, SERVER, ours);
	begin(p, 0, CONNPROP, 0);
	w(p, 1);
	auth_proof_dh(p, ours, sizeof(ours), e.dh.public, e.dh.octets);
	send_out(p);
}

/* ---- Proofs that do not fit ---- */

SCASE(proofs, other_shared_secret, PROPS, "read", OK | CLOSES)
{
	uint8_t ours[SHA256_OCTETS];
	struct exchange e;

	if (!exchanged(p, &e, FFDHE2048))
		return;
	e.t.shared[e.dh.octets - 1] ^= 1;
	prove(p, &e.t, SERVER, ours);
	proof(p, ours, sizeof(ours), 0);
}

/* Downgrade: the groups were removed from the HELLO that the server has received. */
SCASE(proofs, removed, PROPS, "read", OK | CLOSES)
{
	uint8_t theirs[SHA256_OCTETS], ours[SHA256_OCTETS];
	struct transcript t;
	struct msg *m;

	if (!hello_ok())
		return;
	challenge_in(p, NO_DH, NULL, 0);
	m = challenge_with(p, &t);
	if (!m)
		return;
	memcpy(theirs, m->data + find_item(m, PROOF) + 12, sizeof(theirs));
	free(m);
	put(t.body[CLIENT], find_item(opening_msg, HELLO) + 12 - PREFIX, 1 << NO_DH);
	prove(p, &t, CLIENT, ours);
	if (!memcmp(ours, theirs, sizeof(ours)))
		wrong = "the client's proof does not cover its groups";
	prove(p, &t, SERVER, ours);
	proof(p, ours, sizeof(ours), 0);
}
