// SPDX-License-Identifier: GPL-2.0
/*
 * Host authentication in a group of Diffie-Hellman (WP 9). hostauth.sh has set svc_host_auth=2
 * and auth_dh=1, and added the secret for the identity "hostile" to the keyring. It expects that
 * the server counts each case of "values" as malformed, and each case of "proofs" as a wrong
 * proof.
 */
#include <stdlib.h>
#include <string.h>

#include "auth.h"

enum { ALL_GROUPS = 1 << FFDHE2048 | 1 << FFDHE3072 | 1 << FFDHE4096 };

/* A connection that has received the server's CHALLENGE, and the data for a proof */
struct exchange {
	struct peer *p;
	struct transcript t;
	struct dh dh;
	uint8_t theirs[PUBLIC], shared[PUBLIC];
};

/* Offer a mask of groups, and expect a CHALLENGE in @group. */
static void begin_in(struct exchange *e, uint32_t offered, uint32_t group)
{
	const uint8_t *public;
	struct msg *m;

	e->p = connected();
	hello_with(e->p, ONLY_SHA256, offered);
	m = greet_in(e->p, &e->t, group);
	dh_begin(&e->dh, group);
	public = find_public(m, find_item(m, CHALLENGE), e->dh.octets);
	if (!public)
		bad("the CHALLENGE has no public value of %u bytes", e->dh.octets);
	memcpy(e->theirs, public, e->dh.octets);
	free(m);
	dh_shared(&e->dh, e->theirs, e->shared);
}

/* Send the proof with @octets bytes of @public. */
static void send_proof(struct exchange *e, const uint8_t *public, uint32_t octets)
{
	uint8_t proof[SHA256_OCTETS];

	prove(e->p, &e->t, CLIENT, proof);
	begin_proof(e->p);
	auth_proof_dh(e->p, proof, sizeof(proof), public, octets);
	send_out(e->p);
}

/* Offer groups, and open a connection in @group. */
static void proven_in(uint32_t offered, uint32_t group)
{
	struct exchange e;

	begin_in(&e, offered, group);
	transcript_dh(&e.t, &e.dh, e.dh.public, e.shared);
	send_proof(&e, e.dh.public, e.dh.octets);
	expect_proof(e.p, &e.t);
	last(e.p);
	alive(e.p);
}

CASE(groups, ffdhe2048) { proven_in(1 << FFDHE2048, FFDHE2048); }
CASE(groups, ffdhe3072) { proven_in(1 << FFDHE3072, FFDHE3072); }
CASE(groups, ffdhe4096) { proven_in(1 << FFDHE4096, FFDHE4096); }

/* The server chooses "none" only if no other group is offered. */
CASE(groups, none_is_the_last)
{
	proven_in(NO_GROUP | 1 << FFDHE4096 | ELSE, FFDHE4096);
	proven_in(NO_GROUP | 1 << FFDHE2048, FFDHE2048);
}

/* Each group has another prime. */
CASE(groups, all) { proven_in(NO_GROUP | ALL_GROUPS, FFDHE3072); }

/* ---- Invalid public values, with the proof that matches them ---- */

static void bad_value(enum dh_value value)
{
	uint8_t public[PUBLIC], shared[PUBLIC];
	struct exchange e;

	begin_in(&e, 1 << FFDHE3072, FFDHE3072);
	dh_bad(&e.dh, value, public, shared);
	transcript_dh(&e.t, &e.dh, public, shared);
	send_proof(&e, public, e.dh.octets);
	refused(e.p, NOT_VALID);
}

CASE(values, zero) { bad_value(ZERO); }
CASE(values, one) { bad_value(ONE); }
CASE(values, below_prime) { bad_value(BELOW_PRIME); }
CASE(values, prime) { bad_value(PRIME); }
CASE(values, above_prime) { bad_value(ABOVE_PRIME); }

/* The valid value with another length: its first bytes, or zeros after it */
static void bad_length(uint32_t octets)
{
	struct exchange e;

	begin_in(&e, 1 << FFDHE3072, FFDHE3072);
	transcript_dh(&e.t, &e.dh, e.dh.public, e.shared);
	send_proof(&e, e.dh.public, octets);
	refused(e.p, NOT_VALID);
}

CASE(values, empty) { bad_length(0); }
CASE(values, short) { bad_length(380); }
CASE(values, a_byte_short) { bad_length(383); }
CASE(values, a_byte_long) { bad_length(385); }
CASE(values, long) { bad_length(512); }

/* A value of another group */
CASE(values, of_ffdhe2048)
{
	struct exchange e;
	struct dh other;

	begin_in(&e, 1 << FFDHE3072, FFDHE3072);
	dh_begin(&other, FFDHE2048);
	transcript_dh(&e.t, &e.dh, other.public, e.shared);
	send_proof(&e, other.public, other.octets);
	refused(e.p, NOT_VALID);
}

/* A value without a group */
CASE(values, without_group)
{
	struct exchange e;

	e.p = connected();
	hello_with(e.p, ONLY_SHA256, NO_GROUP);
	free(greet_in(e.p, &e.t, NO_DH));
	dh_begin(&e.dh, FFDHE2048);
	send_proof(&e, e.dh.public, e.dh.octets);
	refused(e.p, NOT_VALID);
}

/* ---- Wrong proofs ---- */

static void denied(struct exchange *e, const uint8_t *public)
{
	send_proof(e, public, e->dh.octets);
	refused(e->p, DENIED);
}

CASE(proofs, proof_without_shared_secret)
{
	struct exchange e;

	begin_in(&e, 1 << FFDHE3072, FFDHE3072);
	e.t.group = FFDHE3072;
	denied(&e, e.dh.public);
}

CASE(proofs, other_shared_secret)
{
	struct exchange e;

	begin_in(&e, 1 << FFDHE3072, FFDHE3072);
	e.shared[e.dh.octets - 1] ^= 1;
	transcript_dh(&e.t, &e.dh, e.dh.public, e.shared);
	denied(&e, e.dh.public);
}

/* The value in the message differs from the value in the proof. */
CASE(proofs, value_changed)
{
	struct exchange e;

	begin_in(&e, 1 << FFDHE3072, FFDHE3072);
	transcript_dh(&e.t, &e.dh, e.dh.public, e.shared);
	e.dh.public[e.dh.octets - 1] ^= 1;
	denied(&e, e.dh.public);
}

/* The server's own value */
CASE(proofs, value_reflected)
{
	struct exchange e;

	begin_in(&e, 1 << FFDHE3072, FFDHE3072);
	transcript_dh(&e.t, &e.dh, e.theirs, e.shared);
	denied(&e, e.theirs);
}

CASE(proofs, proof_of_other_group)
{
	struct exchange e;

	begin_in(&e, 1 << FFDHE3072, FFDHE3072);
	transcript_dh(&e.t, &e.dh, e.dh.public, e.shared);
	e.t.group = FFDHE2048;
	denied(&e, e.dh.public);
}

/* ---- Downgrade: the mask that the server receives differs from the client's ---- */

/* Let the proof cover a HELLO with the mask @sent. The server has received another one. */
static void mask_was(struct exchange *e, uint32_t sent)
{
	struct transcript t;

	hello_with(e->p, ONLY_SHA256, sent);
	transcript_add(&t, CLIENT, e->p->out, e->p->len);
	memcpy(e->t.body[CLIENT], t.body[CLIENT], sizeof(t.body[CLIENT]));
}

CASE(proofs, removed)
{
	struct exchange e;

	e.p = connected();
	hello_with(e.p, ONLY_SHA256, NO_GROUP);
	free(greet_in(e.p, &e.t, NO_DH));
	mask_was(&e, NO_GROUP | ALL_GROUPS);
	send_proof(&e, NULL, 0);
	refused(e.p, DENIED);
}

CASE(proofs, weakened)
{
	struct exchange e;

	begin_in(&e, 1 << FFDHE2048, FFDHE2048);
	transcript_dh(&e.t, &e.dh, e.dh.public, e.shared);
	mask_was(&e, ALL_GROUPS);
	denied(&e, e.dh.public);
}

/* ---- Settings of the server ---- */

/* Connect to a server with this auth_dh, and restore the setting for later connections. */
static struct peer *connected_to(int auth_dh)
{
	struct peer *p;

	set_parameter("auth_dh", auth_dh);
	p = connected();
	set_parameter("auth_dh", 1);
	return p;
}

/* Without a group, at a server that requires one */
CASE(groups, required)
{
	struct peer *p;

	p = connected_to(2);
	hello_with(p, ONLY_SHA256, NO_GROUP);
	send_out(p);
	refused(p, NO_ALGORITHM);
	proven_in(1 << FFDHE3072, FFDHE3072);
}

/* A server without groups */
CASE(groups, forbidden)
{
	struct transcript t;
	struct peer *p;

	p = connected_to(0);
	hello_with(p, ONLY_SHA256, ALL_GROUPS);
	send_out(p);
	refused(p, NO_ALGORITHM);

	p = connected_to(0);
	hello_with(p, ONLY_SHA256, NO_GROUP | ALL_GROUPS);
	free(greet_in(p, &t, NO_DH));
}

/* The client leaves after the server has computed a public value. */
CASE(groups, leaving)
{
	struct exchange e;
	int i;

	for (i = 0; i < 3; i++) {
		begin_in(&e, 1 << FFDHE4096, FFDHE4096);
		peer_disconnect(e.p);
	}
}
