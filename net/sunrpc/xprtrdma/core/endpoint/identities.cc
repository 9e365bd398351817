// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication of an endpoint: the identities of both ends, and the answers to the
 * requests of the handshake. conn/hostauth.cc has the handshake.
 *
 * Operation
 *
 * The setup of a connection looks up the identity that the peer's address must prove: if
 * there is one, authentication is required. Unless authentication is off, a client also
 * looks up its own identity and its secret, and prepares a handshake if it has both. A
 * server prepares the handshake when a client asks for it. Then the handshake makes one
 * request at a time.
 *
 * The first source that has an identity of this end is used. If that identity is not valid,
 * later sources are ignored, because a wrong identity is worse than none.
 *
 * Memory
 *
 * The host allocates the handshake, and keeps the identity that the peer must prove, as
 * long as the endpoint. An answer is zeroed after use.
 *
 * Errors
 *
 * Without an identity or a secret, a client does not take part; if it must, the handshake
 * fails with a reason. -ENOMEM fails the setup, so that a lack of memory does not disable
 * authentication. If the identity required of the peer is not valid, no connection with its
 * address is set up.
 *
 * Locking
 *
 * The lock of the connection protects the handshake. Everything is looked up and computed
 * without it.
 */
#include "endpoint.hh"

namespace rpcrdma
{

namespace
{

/* With the terminating byte, and one more, for identities that are too long */
constexpr u32 MOST_IDENTITY = RPCRDMA_AUTH_MAX_IDENTITY + 2;

/* The sources of this end's identity, in their order */
constexpr enum rpcrdma_auth_source OWN[] = {
	RPCRDMA_AUTH_TO_PEER,
	RPCRDMA_AUTH_OF_NET,
	RPCRDMA_AUTH_OF_HOST,
};

/* A server has one identity for all its clients. */
bool applies(const rpcrdma_ep_core *core, enum rpcrdma_auth_source source)
{
	return source != RPCRDMA_AUTH_TO_PEER || core->life.client;
}

/*
 * Look up this end's identity: "" if the source that counts has no valid one. Return 0 or
 * -E_NOMEM.
 */
int look_up_own(rpcrdma_ep_core *core, char (&own)[MOST_IDENTITY])
{
	int rc = -E_NOKEY;

	for (const enum rpcrdma_auth_source source : OWN) {
		if (rc == -E_NOKEY && applies(core, source))
			rc = rpcrdma_port_auth_identity(core, source, own);
	}
	if (rc == -E_NOMEM)
		return rc;
	if (rc || !rpcrdma_auth_identity_ok(own))
		own[0] = '\0';
	return 0;
}

/*
 * Require authentication of a peer whose address must prove an identity. Return 0 or a
 * negative errno.
 */
int expect(rpcrdma_ep_core *core)
{
	char identity[MOST_IDENTITY];
	const int rc = rpcrdma_port_auth_identity(core, RPCRDMA_AUTH_EXPECTED,
						  identity);

	if (rc == -E_NOKEY)
		return 0;
	if (rc == -E_NOMEM)
		return rc;
	if (rc || !rpcrdma_auth_identity_ok(identity)) {
		rpcrdma_port_auth_invalid(core, RPCRDMA_AUTH_EXPECTED);
		return -E_ACCES;
	}
	core->control.params->auth = RPCRDMA_AUTH_REQUIRE;
	core->control.expected = rpcrdma_port_auth_keep(core, identity);
	return core->control.expected ? 0 : -E_NOMEM;
}

/* Prepare the handshake of an end with the identity @own. */
bool prepare(rpcrdma_ep_core *core, const char *own)
{
	const char *expected = core->control.expected;
	const auto dh = static_cast<enum rpcrdma_auth_mode>(
		core->control.params->auth_dh);
	rpcrdma_auth_host host{};
	rpcrdma_hostauth *auth =
		rpcrdma_port_auth_alloc(core, dh != RPCRDMA_AUTH_NONE, &host);

	core->control.auth = auth;
	if (!auth ||
	    !rpcrdma_auth_init(auth, own, expected ? expected : "", host.nonce))
		return false;
	rpcrdma_auth_set_hashes(auth, host.hashes);
	rpcrdma_auth_set_groups(auth, dh, host.groups);
	return true;
}

/* Return the status of a computation in a group, which says nothing about the secret. */
int computed(int rc)
{
	return !rc || rc == -E_NOMEM ? rc : -E_OPNOTSUPP;
}

/*
 * Compute both HMACs, in a group after the shared secret. The private value is not needed
 * after that, nor if the ends have no group in common. Return the status of the answer.
 */
int prove(rpcrdma_ep_core *core, const rpcrdma_auth_request *req,
	  rpcrdma_auth_answer *answer)
{
	int rc = 0;

	if (req->dh.group)
		rc = computed(rpcrdma_port_auth_shared(core, &req->dh,
						       answer->shared));
	rpcrdma_port_auth_forget(core);
	return rc ? rc : rpcrdma_port_auth_secret(core, req, answer);
}

/* Return the status of the answer to @req. */
int compute(rpcrdma_ep_core *core, const rpcrdma_auth_request *req,
	    rpcrdma_auth_answer *answer)
{
	if (req->dh.group)
		rpcrdma_port_count(core, RPCRDMA_COUNT_AUTHS_DH);
	switch (req->what) {
	case RPCRDMA_AUTH_ASK_SECRET:
		return rpcrdma_port_auth_secret(core, req, answer);
	case RPCRDMA_AUTH_ASK_KEYS:
		return computed(rpcrdma_port_auth_keys(core, &req->dh,
						       answer->public_value));
	default:
		return prove(core, req, answer);
	}
}

rpcrdma_auth_request next_request(rpcrdma_ep_core *core)
{
	const locked under(core);
	rpcrdma_auth_request req;

	rpcrdma_auth_next(&core->conn, &req);
	return req;
}

u32 answered(rpcrdma_ep_core *core, const rpcrdma_auth_answer *answer)
{
	const locked under(core);

	return rpcrdma_auth_answered(&core->conn, answer);
}

/* Zero an answer, which is not used any more. */
void forget(rpcrdma_auth_answer *answer)
{
	*answer = {};
	/* The compiler may not omit it. */
	asm volatile("" : : "r"(answer) : "memory");
}

} // namespace

int begin_auth(rpcrdma_ep_core *core)
{
	char own[MOST_IDENTITY];
	rpcrdma_auth_request req{};
	int rc = expect(core);
	const u8 mode = core->control.params->auth;

	if (rc || !core->life.client || mode == RPCRDMA_AUTH_NONE)
		return rc;
	rc = look_up_own(core, own);
	if (rc)
		return rc;
	if (!own[0]) {
		if (mode == RPCRDMA_AUTH_REQUIRE)
			rpcrdma_port_auth_invalid(core, RPCRDMA_AUTH_OF_HOST);
		return 0;
	}
	req.what = RPCRDMA_AUTH_ASK_SECRET;
	req.identity = own;
	rc = rpcrdma_port_auth_secret(core, &req, nullptr);
	if (rc)
		return rc == -E_NOMEM ? rc : 0;
	return prepare(core, own) ? 0 : -E_NOMEM;
}

rpcrdma_hostauth *new_handshake(rpcrdma_ep_core *core)
{
	char own[MOST_IDENTITY];

	return !look_up_own(core, own) && prepare(core, own) ?
		       core->control.auth :
		       nullptr;
}

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_core_auth_answer(struct rpcrdma_ep_core *core)
{
	const rpcrdma_auth_request req = next_request(core);
	rpcrdma_auth_answer answer{};
	u32 events;

	if (req.what == RPCRDMA_AUTH_ASK_NOTHING)
		return;
	answer.status = compute(core, &req, &answer);
	/* Without a secret, or the need for one, the identity is not used. */
	if (!req.server[0] && (!answer.status || core->control.params->auth ==
							 RPCRDMA_AUTH_REQUIRE))
		rpcrdma_port_auth_invalid(core, RPCRDMA_AUTH_OF_HOST);
	rpcrdma_port_auth_answered(core, &req, answer.status);
	events = answered(core, &answer);
	forget(&answer);
	rpcrdma_core_events(core, events);
}
