// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Results of host authentication (WP 9): the reason sent to the client, and the texts
 * for users.
 *
 * A server's log and counters tell its failures apart. The client receives one of a few
 * reasons: DENIED stands for an unknown identity and for a wrong proof, so that a client
 * cannot find out which identities exist. A client takes a reason that it does not know
 * for a refusal.
 *
 * Every failure but UNAVAILABLE is a denial (rpcrdma_auth_denied()). If the first
 * connection of a client is denied, the tasks of its mount end. Later tasks retry, because
 * the secret may be renewed.
 *
 * All texts but the peer's identity are static.
 */
#include "hostauth.hh"

namespace rpcrdma::auth
{

namespace
{

/* By enum rpcrdma_auth_result */
struct result_info {
	const char *reason; /* null: no failure */
	u32 sent;	    /* the reason that a server sends to the client */
};

constexpr result_info RESULTS[] = {
	/* PENDING */ { nullptr, 0 },
	/* UNUSED */ { nullptr, 0 },
	/* DONE */ { nullptr, 0 },
	/* REFUSED */
	{ "the server refuses this host's identity or secret", DENIED },
	/* WRONG_PROOF */
	{ "the peer does not prove that it knows the secret", DENIED },
	/* UNKNOWN */ { "there is no secret for the peer's identity", DENIED },
	/* WRONG_IDENTITY */
	{ "the peer has another identity than expected", DENIED },
	/* NOT_OFFERED */
	{ "host authentication is required, and the peer does not take part",
	  REQUIRED },
	/* PEER_REQUIRES */
	{ "the server requires host authentication", REQUIRED },
	/* VERSION_1 */
	{ "host authentication is required, and the peer has only version 1",
	  REQUIRED },
	/* NO_SECRET */
	{ "this host has no usable secret for host authentication", DENIED },
	/* NO_HASH */
	{ "both ends have no algorithm for host authentication in common",
	  NO_ALGORITHM },
	/* MALFORMED */
	{ "a message of the host authentication is not valid", NOT_VALID },
	/* UNAVAILABLE */
	{ "host authentication is not available at present", NOT_AVAILABLE },
};
static_assert(sizeof(RESULTS) / sizeof(RESULTS[0]) == RPCRDMA_NR_AUTH_RESULTS);

} // namespace

u32 reason_of(enum rpcrdma_auth_result result)
{
	return RESULTS[result].sent;
}

enum rpcrdma_auth_result result_of(u32 reason)
{
	switch (reason) {
	case REQUIRED:
		return RPCRDMA_AUTH_PEER_REQUIRES;
	case NO_ALGORITHM:
		return RPCRDMA_AUTH_NO_HASH;
	case NOT_VALID:
		return RPCRDMA_AUTH_MALFORMED;
	case NOT_AVAILABLE:
		return RPCRDMA_AUTH_UNAVAILABLE;
	default:
		return RPCRDMA_AUTH_REFUSED;
	}
}

int wake_status(const struct rpcrdma_reconnect_walk *walk)
{
	if (!walk->status)
		return -E_AGAIN;
	return walk->first && walk->status == -E_ACCES ?
		       walk->status :
		       rpcrdma_connect_status(walk->status);
}

} // namespace rpcrdma::auth

using namespace rpcrdma;

enum rpcrdma_auth_result
rpcrdma_conn_auth_result(const struct rpcrdma_conn *conn)
{
	return static_cast<enum rpcrdma_auth_result>(conn->auth_result);
}

bool rpcrdma_auth_failed(const struct rpcrdma_conn *conn)
{
	return rpcrdma_auth_reason(rpcrdma_conn_auth_result(conn));
}

bool rpcrdma_auth_denied(const struct rpcrdma_conn *conn)
{
	return rpcrdma_auth_failed(conn) &&
	       conn->auth_result != RPCRDMA_AUTH_UNAVAILABLE;
}

const char *rpcrdma_auth_reason(enum rpcrdma_auth_result result)
{
	return auth::RESULTS[result].reason;
}

const char *rpcrdma_auth_name(enum rpcrdma_auth_result result)
{
	switch (result) {
	case RPCRDMA_AUTH_PENDING:
		return "none";
	case RPCRDMA_AUTH_UNUSED:
		return "unused";
	case RPCRDMA_AUTH_DONE:
		return "authenticated";
	default:
		return "failed";
	}
}

const char *rpcrdma_auth_hash_name(const struct rpcrdma_conn *conn)
{
	if (conn->auth_result != RPCRDMA_AUTH_DONE)
		return "none";
	switch (conn->cfg.auth->hash) {
	case RPCRDMA_AUTH_SHA256:
		return "sha256";
	case RPCRDMA_AUTH_SHA384:
		return "sha384";
	default:
		return "sha512";
	}
}

const char *rpcrdma_auth_peer(const struct rpcrdma_conn *conn)
{
	return conn->cfg.auth ? conn->cfg.auth->peer : "";
}
