// SPDX-License-Identifier: GPL-2.0
/*
 * Host authentication (WP 9). hostile-server.sh has put the secret into the keyring, so
 * that the client offers it: each connection begins with a HELLO. A client that refuses
 * this server tries again, and is answered by a server that takes no part.
 */
#include <stdlib.h>
#include <string.h>

#include "auth.h"

static const char identity[] = "hostile";
enum { ID_LEN = sizeof(identity) - 1, ELSE = 9 };

void begin_challenge(struct peer *p, uint32_t flags)
{
	begin(p, 0, CONNPROP, flags);
	w(p, 5);
	prop(p, SBSIZ, 4096);
	prop(p, RBSIZ, 4096);
	prop(p, RSSIZ, 1 << 20);
	prop(p, RCSIZ, 16);
}

static void challenge(struct peer *p, uint32_t hash, uint32_t group)
{
	begin_challenge(p, TPMORE);
	auth_start(p, CHALLENGE, hash, group, p->serial, identity, ID_LEN);
}

void proof(struct peer *p, const uint8_t *octets, uint32_t len, uint32_t flags)
{
	begin(p, 0, CONNPROP, flags);
	w(p, 1);
	auth_proof(p, octets, len);
	send_out(p);
}

bool hello_ok(void)
{
	const uint32_t at = find_item(opening_msg, HELLO);

	if (!at || get(opening_msg->data, 16) != TPMORE)
		wrong = "the client should have sent HELLO";
	return at;
}

struct msg *challenge_with(struct peer *p, struct transcript *t)
{
	struct msg *m;
	uint32_t at;

	transcript_add(t, CLIENT, opening_msg->data, opening_msg->len);
	transcript_add(t, SERVER, p->out, p->len);
	send_out(p);
	m = receive_more(p, WAIT_MS);
	at = m ? find_item(m, PROOF) : 0;
	if (at && get(m->data, 16) == TPMORE && get(m->data, at + 8) == SHA256_OCTETS &&
	    m->len >= at + 12 + SHA256_OCTETS)
		return m;
	wrong = "the client should have sent PROOF";
	free(m);
	return NULL;
}

/* Send a CHALLENGE, and get the client's PROOF. Return false if it does not come. */
static bool challenged(struct peer *p, struct transcript *t, uint8_t proven[SHA256_OCTETS])
{
	struct msg *m;

	if (!hello_ok())
		return false;
	challenge(p, SHA256, 0);
	m = challenge_with(p, t);
	if (m)
		memcpy(proven, m->data + find_item(m, PROOF) + 12, SHA256_OCTETS);
	free(m);
	return !wrong;
}

/* The client's proof is verified, and this server's is valid. */
SCASE(auth, proven, PROPS, "read", OK | STAYS)
{
	uint8_t theirs[SHA256_OCTETS], ours[SHA256_OCTETS];
	struct transcript t;

	if (!challenged(p, &t, theirs))
		return;
	prove(p, &t, CLIENT, ours);
	if (memcmp(ours, theirs, sizeof(ours)))
		wrong = "the client's proof is wrong";
	prove(p, &t, SERVER, ours);
	proof(p, ours, sizeof(ours), 0);
}

/* The client takes part, and a server that does not is answered by an empty CONNPROP. */
SCASE(auth, not_taking_part, PROPS, "read", OK | STAYS)
{
	hello_ok();
	answer_props(p);
}

SCASE(auth, reflected_proof, PROPS, "read", OK | CLOSES)
{
	uint8_t theirs[SHA256_OCTETS];
	struct transcript t;

	if (challenged(p, &t, theirs))
		proof(p, theirs, sizeof(theirs), 0);
}

SCASE(auth, wrong_proof, PROPS, "read", OK | CLOSES)
{
	uint8_t theirs[SHA256_OCTETS], ours[SHA256_OCTETS];
	struct transcript t;

	if (!challenged(p, &t, theirs))
		return;
	prove(p, &t, SERVER, ours);
	ours[31] ^= 1;
	proof(p, ours, sizeof(ours), 0);
}

/* A valid proof of another connection */
SCASE(auth, replayed_proof, PROPS, "read", OK | CLOSES)
{
	uint8_t theirs[SHA256_OCTETS], ours[SHA256_OCTETS];
	struct transcript t, old;

	if (!challenged(p, &t, theirs))
		return;
	old = t;
	memset(old.body[CLIENT] + old.len[CLIENT] - 44, 0x55, 32);
	prove(p, &old, SERVER, ours);
	proof(p, ours, sizeof(ours), 0);
}

SCASE(auth, proof_too_short, PROPS, "read", OK | CLOSES)
{
	uint8_t theirs[SHA256_OCTETS];
	struct transcript t;

	if (challenged(p, &t, theirs))
		proof(p, theirs, 0, 0);
}

/* No message may contain properties after the server's proof. */
SCASE(auth, more_after_the_proof, PROPS, "read", OK | CLOSES)
{
	uint8_t theirs[SHA256_OCTETS], ours[SHA256_OCTETS];
	struct transcript t;

	if (!challenged(p, &t, theirs))
		return;
	prove(p, &t, SERVER, ours);
	proof(p, ours, sizeof(ours), TPMORE);
}

SCASE(auth, challenge_twice, PROPS, "read", OK | CLOSES)
{
	uint8_t theirs[SHA256_OCTETS];
	struct transcript t;

	if (!challenged(p, &t, theirs))
		return;
	challenge(p, SHA256, 0);
	send_out(p);
}

SCASE(auth, challenge_twice_at_once, PROPS, "read", OK | CLOSES)
{
	challenge(p, SHA256, 0);
	send_out(p);
	challenge(p, SHA256, 0);
	send_at_once(p);
}

SCASE(auth, proof_without_challenge, PROPS, "read", OK | CLOSES)
{
	const uint8_t zeros[SHA256_OCTETS] = {0};

	proof(p, zeros, sizeof(zeros), 0);
}

SCASE(auth, hello_instead, PROPS, "read", OK | CLOSES)
{
	begin_challenge(p, TPMORE);
	auth_start(p, HELLO, 1 << SHA256, 1, 1, identity, ID_LEN);
	send_out(p);
}

SCASE(auth, challenge_is_the_end, PROPS, "read", OK | CLOSES)
{
	challenge(p, SHA256, 0);
	put(p->out, 16, 0);
	send_out(p);
}

#define BAD_CHALLENGE(name, hash, group)				\
	SCASE(auth, name, PROPS, "read", OK | CLOSES)			\
	{								\
		challenge(p, hash, group);				\
		send_out(p);						\
	}

BAD_CHALLENGE(no_hash, 0, 0)
BAD_CHALLENGE(other_hash, ELSE, 0)
BAD_CHALLENGE(hash_high, 0xffffffff, 0)
BAD_CHALLENGE(other_group, SHA256, ELSE)

SCASE(auth, identity_oversize, PROPS, "read", OK | CLOSES)
{
	char name[IDENTITY + 1];

	memset(name, 'x', sizeof(name));
	begin_challenge(p, TPMORE);
	auth_start(p, CHALLENGE, SHA256, 0, 1, name, sizeof(name));
	send_out(p);
}

SCASE(auth, two_items, PROPS, "read", OK | CLOSES)
{
	challenge(p, SHA256, 0);
	put(p->out, PREFIX, 6);
	auth_start(p, CHALLENGE, SHA256, 0, 1, identity, ID_LEN);
	send_out(p);
}

/* The property says how long it is, but the item is not complete. */
#define TRUNCATED(cut)							\
	SCASE(auth, truncated_##cut, PROPS, "read", OK | CLOSES)	\
	{								\
		challenge(p, SHA256, 0);				\
		put(p->out, p->len - 64 - 4, 64 - (cut));		\
		p->len -= (cut);					\
		send_out(p);						\
	}

TRUNCATED(4)
TRUNCATED(12)
TRUNCATED(16)
TRUNCATED(20)
TRUNCATED(52)
TRUNCATED(60)

/* An unknown mechanism counts as none. */
SCASE(auth, other_mechanism, PROPS, "read", OK | STAYS)
{
	begin_challenge(p, 0);
	ww(p, 4, HOSTAUTH, 8, 2, CHALLENGE);
	send_out(p);
}

#define REFUSES(name, flags, reason)					\
	SCASE(auth, name, PROPS, "read", OK | CLOSES)			\
	{								\
		begin_challenge(p, flags);				\
		auth_failure(p, reason);				\
		send_out(p);						\
	}

REFUSES(refuses, 0, DENIED)
REFUSES(refuses_and_goes_on, TPMORE, DENIED)
REFUSES(refuses_for_other_reason, 0, 0xffffffff)

SCASE(auth, refuses_the_proof, PROPS, "read", OK | CLOSES)
{
	uint8_t theirs[SHA256_OCTETS];
	struct transcript t;

	if (!challenged(p, &t, theirs))
		return;
	begin(p, 0, CONNPROP, 0);
	w(p, 1);
	auth_failure(p, DENIED);
	send_out(p);
}

SCASE(auth, error_after_challenge, PROPS, "read", OK | CLOSES)
{
	challenge(p, SHA256, 0);
	send_out(p);
	begin(p, 0, ERROR, RESPONSE);
	w(p, BAD_XDR);
	send_at_once(p);
}

SCASE(auth, call_after_challenge, PROPS, "read", OK | CLOSES)
{
	challenge(p, SHA256, 0);
	send_out(p);
	callback_null(p, 0x90);
}

SCASE(auth, leaves_after_challenge, PROPS, "read", OK | CLOSES)
{
	challenge(p, SHA256, 0);
	send_out(p);
	sends_done(p);
	peer_disconnect(p);
}

/* The client's time limit for the opening applies. */
SCASE(auth, silence_after_challenge, PROPS, "read", OK | FAILS)
{
	challenge(p, SHA256, 0);
	send_out(p);
}
