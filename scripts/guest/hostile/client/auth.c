// SPDX-License-Identifier: GPL-2.0
/*
 * Host authentication (WP 9). hostile.sh has set svc_host_auth=2, and added the secret for
 * the identity "hostile" to the keyring.
 */
#include <stdlib.h>
#include <string.h>

#include "auth.h"

static const char identity[] = "hostile";
enum { ID_LEN = sizeof(identity) - 1 };

static void begin_hello(struct peer *p)
{
	begin(p, 0, CONNPROP, TPMORE);
	good_props(p);
	put(p->out, PREFIX, 5);
}

void hello_with(struct peer *p, uint32_t hashes, uint32_t groups)
{
	begin_hello(p);
	auth_start(p, HELLO, hashes, groups, 1, identity, ID_LEN);
}

static void hello_as(struct peer *p, const char *name, uint32_t len)
{
	begin_hello(p);
	auth_start(p, HELLO, ONLY_SHA256, NO_GROUP, p->serial, name, len);
}

static void hello(struct peer *p)
{
	hello_as(p, identity, ID_LEN);
}

/*
 * Expect FAILURE. ERRORs about refused properties may precede it. If @challenged, the
 * CHALLENGE that the server sent before it received the last message may precede it, too.
 */
static void expect_failure(struct peer *p, uint32_t reason, bool challenged)
{
	struct msg *m = answer(p, "FAILURE");
	uint32_t at;

	while ((m->len >= 28 && get(m->data, 12) == ERROR) ||
	       (challenged && find_item(m, CHALLENGE))) {
		free(m);
		m = answer(p, "FAILURE");
	}
	at = find_item(m, FAILURE);
	if (!at || get(m->data, 16) || get(m->data, at + 8) != reason)
		bad("FAILURE %u should come, not %s", reason, describe(m));
	free(m);
}

static void refused_later(struct peer *p, uint32_t reason, bool challenged)
{
	expect_failure(p, reason, challenged);
	null_call(p, ++p->xid, 0);
	send_out(p);
	expect_closed(p);
}

void refused(struct peer *p, uint32_t reason)
{
	refused_later(p, reason, false);
}

struct msg *greet_in(struct peer *p, struct transcript *t, uint32_t group)
{
	struct msg *m;
	uint32_t at;

	transcript_add(t, CLIENT, p->out, p->len);
	send_out(p);
	m = answer(p, "CHALLENGE");
	at = find_item(m, CHALLENGE);
	if (!at || get(m->data, 16) != TPMORE || get(m->data, at + 8) != SHA256 ||
	    get(m->data, at + 12) != group)
		bad("CHALLENGE should come, not %s", describe(m));
	transcript_add(t, SERVER, m->data, m->len);
	return m;
}

static void greet_with(struct peer *p, struct transcript *t)
{
	free(greet_in(p, t, NO_DH));
}

static struct peer *greeted(struct transcript *t)
{
	struct peer *p = connected();

	hello(p);
	greet_with(p, t);
	return p;
}

void begin_proof(struct peer *p)
{
	begin(p, 0, CONNPROP, TPMORE);
	w(p, 1);
}

/* Begin the PROOF of @role. */
static void proof_of(struct peer *p, const struct transcript *t, int role)
{
	uint8_t proof[SHA256_OCTETS];

	prove(p, t, role, proof);
	begin_proof(p);
	auth_proof(p, proof, sizeof(proof));
}

void expect_proof(struct peer *p, const struct transcript *t)
{
	struct msg *m = answer(p, "PROOF");
	uint32_t at = find_item(m, PROOF);
	uint8_t proof[SHA256_OCTETS];

	prove(p, t, SERVER, proof);
	if (!at || get(m->data, 16) || get(m->data, at + 8) != sizeof(proof) ||
	    memcmp(m->data + at + 12, proof, sizeof(proof)))
		bad("the server's proof should come, not %s", describe(m));
	free(m);
}

static struct peer *proven(struct transcript *t)
{
	struct peer *p = greeted(t);

	proof_of(p, t, CLIENT);
	send_out(p);
	expect_proof(p, t);
	return p;
}

void last(struct peer *p)
{
	begin(p, 0, CONNPROP, 0);
	w(p, 0);
	send_out(p);
}

CASE(auth, proven)
{
	struct transcript t;
	struct peer *p = proven(&t);

	last(p);
	alive(p);
}

/* ---- Messages of an earlier handshake, or of the server ---- */

CASE(auth, replayed_proof)
{
	struct transcript t;
	struct peer *p = greeted(&t), *q;
	uint8_t proof[SHA256_OCTETS];

	prove(p, &t, CLIENT, proof);
	q = connected();
	/* With the same nonce as well */
	begin_hello(q);
	auth_start(q, HELLO, ONLY_SHA256, NO_GROUP, p->serial, identity, ID_LEN);
	greet_with(q, &t);
	begin_proof(q);
	auth_proof(q, proof, sizeof(proof));
	send_out(q);
	refused(q, DENIED);
}

CASE(auth, proof_of_the_server)
{
	struct transcript t;
	struct peer *p = greeted(&t);

	proof_of(p, &t, SERVER);
	send_out(p);
	refused(p, DENIED);
}

CASE(auth, reflected_challenge)
{
	struct peer *p = connected();

	begin_hello(p);
	auth_start(p, CHALLENGE, SHA256, 0, 1, identity, ID_LEN);
	send_out(p);
	refused(p, NOT_VALID);
}

/* ---- Without the secret ---- */

CASE(auth, not_offered)
{
	struct peer *p = connected();

	send_props(p);
	refused(p, REQUIRED);
}

CASE(auth, wrong_proof)
{
	struct transcript t;
	struct peer *p = greeted(&t);
	const uint8_t zeros[SHA256_OCTETS] = {0};

	begin_proof(p);
	auth_proof(p, zeros, sizeof(zeros));
	send_out(p);
	refused(p, DENIED);
}

/* The server does not reveal that the identity is unknown. */
CASE(auth, unknown_identity)
{
	struct peer *p = connected();
	struct transcript t;

	hello_as(p, "stranger", 8);
	greet_with(p, &t);
	proof_of(p, &t, CLIENT);
	send_out(p);
	refused(p, DENIED);
}

/* ---- Downgrade: proofs that cover a message that the server has not received ---- */

static void changed(struct peer *p, struct transcript *t, const struct transcript *sent)
{
	memcpy(t->body[CLIENT], sent->body[CLIENT], sizeof(t->body[CLIENT]));
	t->len[CLIENT] = sent->len[CLIENT];
	proof_of(p, t, CLIENT);
	send_out(p);
	refused(p, DENIED);
}

CASE(auth, property_removed)
{
	struct peer *p = connected();
	struct transcript t, sent;

	begin_hello(p);
	put(p->out, PREFIX, 6);
	prop(p, REASSEMBLY, 4096);
	auth_start(p, HELLO, ONLY_SHA256, NO_GROUP, 1, identity, ID_LEN);
	transcript_add(&sent, CLIENT, p->out, p->len);
	hello_with(p, ONLY_SHA256, NO_GROUP);
	greet_with(p, &t);
	changed(p, &t, &sent);
}

CASE(auth, hash_lowered)
{
	struct peer *p = connected();
	struct transcript t, sent;

	hello_with(p, ALL_HASHES, NO_GROUP);
	transcript_add(&sent, CLIENT, p->out, p->len);
	hello_with(p, ONLY_SHA256, NO_GROUP);
	greet_with(p, &t);
	changed(p, &t, &sent);
}

CASE(auth, private_message_changed)
{
	struct transcript t;
	struct peer *p = greeted(&t);

	p->own_private[5] ^= 1;
	proof_of(p, &t, CLIENT);
	send_out(p);
	refused(p, DENIED);
}

CASE(auth, version_1)
{
	struct peer *p = connected1();
	struct msg *m;

	null_call(p, 7, 0);
	send_out(p);
	m = answer(p, "ERR_VERS");
	if (m->len != 28 || get(m->data, 12) != ERROR || get(m->data, 16) != ERR_VERS ||
	    get(m->data, 20) != 2 || get(m->data, 24) != 2)
		bad("ERR_VERS with version 2 only should come, not %s", describe(m));
	free(m);
}

CASE(auth, version_1_after_hello)
{
	struct transcript t;
	struct peer *p = greeted(&t);

	p->version = 1;
	null_call(p, 7, 0);
	send_out(p);
	expect_closed(p);
}

/* ---- Algorithms ---- */

static void masks(uint32_t hashes, uint32_t groups)
{
	struct peer *p = connected();

	hello_with(p, hashes, groups);
	send_out(p);
	refused(p, NO_ALGORITHM);
}

CASE(auth, no_hash) { masks(0, NO_GROUP); }
CASE(auth, other_hash) { masks(ELSE | 1, NO_GROUP); }
CASE(auth, no_group) { masks(ONLY_SHA256, 0); }
CASE(auth, other_group) { masks(ONLY_SHA256, ELSE); }

/* ---- Form ---- */

static void bad_hello(const char *name, uint32_t len)
{
	struct peer *p = connected();

	hello_as(p, name, len);
	send_out(p);
	refused(p, NOT_VALID);
}

CASE(auth, identity_empty) { bad_hello("", 0); }
CASE(auth, identity_with_space) { bad_hello("a b", 3); }
CASE(auth, identity_with_newline) { bad_hello("a\nb", 3); }
CASE(auth, identity_oversize)
{
	char name[IDENTITY + 1];

	memset(name, 'x', sizeof(name));
	bad_hello(name, sizeof(name));
}

CASE(auth, identity_length_lies)
{
	static const uint32_t lengths[] = { 0xffffffff, 0xfffffffd, 12, 4 };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct peer *p = connected();

		hello(p);
		put(p->out, p->len - 12, lengths[i]);
		send_out(p);
		refused(p, NOT_VALID);
	}
}

/* Truncate the message after each word, with and without adapting the property's length. */
CASE(auth, hello_truncated)
{
	uint32_t cut, whole;
	struct peer *p;

	for (cut = 4; cut < 20 + NONCE + 8; cut += 4) {
		p = connected();
		hello(p);
		whole = p->len;
		p->len -= cut;
		send_out(p);
		refused(p, REQUIRED);

		p = connected();
		hello(p);
		put(p->out, whole - 20 - NONCE - 12, 20 + NONCE + 8 - cut);
		p->len = whole - cut;
		send_out(p);
		refused(p, NOT_VALID);
	}
}

CASE(auth, proof_truncated)
{
	struct transcript t;
	uint32_t cut;

	for (cut = 4; cut <= 16 + SHA256_OCTETS; cut += 4) {
		struct peer *p = greeted(&t);

		proof_of(p, &t, CLIENT);
		p->len -= cut;
		/* Adapt the property's length every other time. */
		if (cut % 8)
			put(p->out, PREFIX + 8, 16 + SHA256_OCTETS - cut);
		send_out(p);
		refused(p, NOT_VALID);
	}
}

CASE(auth, proof_too_long)
{
	struct transcript t;
	struct peer *p = greeted(&t);
	uint8_t proof[64];

	memset(proof, 1, sizeof(proof));
	begin_proof(p);
	auth_proof(p, proof, sizeof(proof));
	send_out(p);
	refused(p, NOT_VALID);
}

CASE(auth, two_items)
{
	struct peer *p = connected();

	hello(p);
	put(p->out, PREFIX, 6);
	auth_start(p, HELLO, ONLY_SHA256, NO_GROUP, 1, identity, ID_LEN);
	send_out(p);
	refused(p, NOT_VALID);
}

CASE(auth, garbage)
{
	uint32_t type;

	for (type = 0; type < 8; type++) {
		struct peer *p = connected();

		begin_hello(p);
		ww(p, 8, HOSTAUTH, 24, 1, type, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff);
		send_out(p);
		refused(p, NOT_VALID);
	}
}

CASE(auth, other_mechanism)
{
	struct peer *p = connected();

	begin_hello(p);
	ww(p, 4, HOSTAUTH, 8, 2, HELLO);
	send_out(p);
	refused(p, REQUIRED);
}

/* ---- Order ---- */

CASE(auth, proof_first)
{
	struct peer *p = connected();
	const uint8_t zeros[SHA256_OCTETS] = {0};

	begin_proof(p);
	auth_proof(p, zeros, sizeof(zeros));
	send_out(p);
	refused(p, NOT_VALID);
}

CASE(auth, hello_is_the_end)
{
	struct peer *p = connected();

	hello(p);
	put(p->out, 16, 0);
	send_out(p);
	refused(p, NOT_VALID);
}

CASE(auth, hello_twice)
{
	struct transcript t;
	struct peer *p = greeted(&t);

	hello(p);
	send_out(p);
	refused(p, NOT_VALID);
}

/* The second HELLO usually arrives before the server has answered the first one. */
CASE(auth, hello_twice_at_once)
{
	struct peer *p = connected();

	p->no_wait = true;
	hello(p);
	send_out(p);
	hello(p);
	send_out(p);
	refused_later(p, NOT_VALID, true);
}

CASE(auth, last_instead_of_proof)
{
	struct transcript t;
	struct peer *p = greeted(&t);

	last(p);
	refused(p, NOT_VALID);
}

CASE(auth, proof_with_a_property)
{
	struct transcript t;
	struct peer *p = greeted(&t);

	proof_of(p, &t, CLIENT);
	put(p->out, PREFIX, 2);
	prop(p, RBSIZ, 8192);
	send_out(p);
	refused(p, NOT_VALID);
}

CASE(auth, error_amid)
{
	struct transcript t;
	struct peer *p = greeted(&t);

	begin(p, 0, ERROR, RESPONSE);
	w(p, BAD_XDR);
	send_out(p);
	refused(p, NOT_VALID);
}

/* The server has sent its last message of the handshake, and cannot send FAILURE. */
CASE(auth, proof_twice)
{
	struct transcript t;
	struct peer *p = proven(&t);

	proof_of(p, &t, CLIENT);
	send_out(p);
	expect_closed(p);
}

CASE(auth, last_with_a_property)
{
	struct transcript t;
	struct peer *p = proven(&t);

	begin(p, 0, CONNPROP, 0);
	w(p, 1);
	prop(p, RBSIZ, 8192);
	send_out(p);
	expect_closed(p);
}

CASE(auth, last_twice)
{
	struct transcript t;
	struct peer *p = proven(&t);

	last(p);
	last(p);
	expect_error(p, 0, INVAL_HTYPE, 0);
	alive(p);
}

/* An ERROR about properties that were proven does not change them. */
CASE(auth, error_afterwards)
{
	struct transcript t;
	struct peer *p = proven(&t);

	last(p);
	begin(p, 0, ERROR, RESPONSE);
	w(p, BAD_XDR);
	send_out(p);
	alive(p);
}

static struct peer *go_to(int step, struct transcript *t)
{
	struct peer *p;

	if (step >= 3)
		return proven(t);
	if (step >= 1) {
		p = greeted(t);
		if (step == 2) {
			proof_of(p, t, CLIENT);
			send_out(p);
		}
		return p;
	}
	p = connected();
	hello(p);
	send_out(p);
	return p;
}

enum { STEPS = 4 };

/* No RPC is processed before the end of the handshake. */
CASE(auth, call_amid)
{
	struct transcript t;
	int step;

	for (step = 0; step < STEPS; step++) {
		struct peer *p = go_to(step, &t);

		p->no_wait = true;
		null_call(p, ++p->xid, 0);
		send_out(p);
		while (!p->closed)
			if (!peers_run(p, ANSWER_MS))
				bad("a Call in step %d is answered", step);
			else
				free(receive(p, 0));
	}
}

CASE(auth, leaving)
{
	struct transcript t;
	int step;

	for (step = 0; step < STEPS; step++) {
		peer_disconnect(go_to(step, &t));
		peer_free(go_to(step, &t));
	}
	peers_run(NULL, 200);
}

/* The time limit of the opening includes the handshake. */
CASE(auth, silence)
{
	struct peer *p[STEPS];
	struct transcript t;
	int i;

	for (i = 0; i < STEPS; i++)
		p[i] = go_to(i, &t);
	for (i = 0; i < STEPS; i++)
		while (!p[i]->closed)
			if (!peers_run(p[i], 50000))
				bad("silence after step %d is endured", i);
			else
				free(receive(p[i], 0));
}
