// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication (WP 9), the interface to the host: memory for a handshake, and the
 * answers to requests.
 *
 * Operation
 *
 * The core never waits for the host. RPCRDMA_EV_HELLO asks for memory,
 * rpcrdma_auth_hello() provides it; RPCRDMA_EV_AUTH announces a request,
 * rpcrdma_auth_answered() answers it. What an answer means depends on the state in which
 * the request was made. An answer that is no longer expected has no effect.
 *
 * Memory
 *
 * A handshake is a single struct rpcrdma_hostauth. Its size is limited, because any peer
 * can make a server allocate one before it has proved anything.
 *
 * Errors
 *
 * -ENOMEM and -EOPNOTSUPP say nothing about a secret: the handshake is unavailable, and
 * the client may try again. Any other errno, if a secret or proofs were requested, means
 * that there is no usable secret. If authentication is required, it does not end a
 * server's handshake before the proofs, so that a client cannot find out which identities
 * exist.
 *
 * Locking
 *
 * The caller holds the lock of the connection. The functions that initialise a handshake
 * need no lock, because no connection uses it yet.
 */
#include "hostauth.hh"

namespace rpcrdma::auth
{

/* The memory that a peer can make a server allocate */
static_assert(sizeof(struct rpcrdma_hostauth) <= 4096);

namespace
{

void challenge(struct rpcrdma_conn *conn)
{
	conn->auth_state = CHALLENGED;
	conn->props_due = 1;
}

/*
 * Server: handle the look-up of the client's secret. If authentication is required, a
 * client without a secret is challenged, too: it must not learn which identities exist.
 */
void secret_answered(struct rpcrdma_conn *conn, int status, u32 &events)
{
	struct rpcrdma_hostauth *auth = conn->cfg.auth;

	auth->known = !status;
	if ((status || !auth->own[0]) && !is_required(conn)) {
		end(conn, RPCRDMA_AUTH_UNUSED);
		conn->props_due = 1;
	} else if (!auth->own[0]) {
		fail(conn, RPCRDMA_AUTH_UNAVAILABLE);
	} else if (auth->group) {
		ask(conn, EXCHANGING, events);
	} else {
		challenge(conn);
	}
}

/* Handle the answer with the public value of this end. */
void keys_answered(struct rpcrdma_conn *conn,
		   const struct rpcrdma_auth_answer *answer, u32 &events)
{
	struct rpcrdma_hostauth *auth = conn->cfg.auth;
	const bool client = conn->cfg.client;

	if (answer->status) {
		fail(conn, RPCRDMA_AUTH_UNAVAILABLE);
		return;
	}
	__builtin_memcpy(auth->public_value[client ? CLIENT : SERVER],
			 answer->public_value, public_octets(auth->group));
	if (client)
		ask(conn, PROVING, events);
	else
		challenge(conn);
}

void proofs_answered(struct rpcrdma_conn *conn,
		     const struct rpcrdma_auth_answer *answer)
{
	struct rpcrdma_hostauth *auth = conn->cfg.auth;

	if (answer->status) {
		fail(conn, conn->cfg.client ? RPCRDMA_AUTH_NO_SECRET :
					      RPCRDMA_AUTH_UNKNOWN);
		return;
	}
	if (!conn->cfg.client &&
	    !same_proof(answer->proof[CLIENT], auth->received,
			mac_octets(auth->hash))) {
		fail(conn, RPCRDMA_AUTH_WRONG_PROOF);
		return;
	}
	__builtin_memcpy(auth->proof, answer->proof, sizeof(auth->proof));
	conn->auth_state = PROVED;
	conn->props_due = 1;
}

} // namespace

/* Compare in a time that does not depend on the contents. */
bool same_proof(const u8 *a, const u8 *b, u32 octets)
{
	u32 differ = 0;

	for (u32 i = 0; i < octets; i++) {
		differ |= u32{ a[i] } ^ b[i];
		/* The compiler may not end the loop early. */
		asm volatile("" : "+r"(differ));
	}
	return !differ;
}

bool same(const char *a, const char *b)
{
	const u32 octets = length_of(a);

	return octets == length_of(b) && !__builtin_memcmp(a, b, octets);
}

} // namespace rpcrdma::auth

using namespace rpcrdma;

bool rpcrdma_auth_identity_ok(const char *identity)
{
	return auth::identity_ok(auth::octets_of(identity),
				 auth::length_of(identity));
}

bool rpcrdma_auth_involves(const struct rpcrdma_conn *conn,
			   const char *identity)
{
	const struct rpcrdma_hostauth *auth = conn->cfg.auth;

	if (!auth || (conn->auth_result != RPCRDMA_AUTH_PENDING &&
		      conn->auth_result != RPCRDMA_AUTH_DONE))
		return false;
	return auth::same(auth->peer, identity) ||
	       (conn->cfg.client && auth::same(auth->own, identity));
}

bool rpcrdma_auth_init(struct rpcrdma_hostauth *auth, const char *own,
		       const char *expected, const u8 nonce[RPCRDMA_AUTH_NONCE])
{
	*auth = {};
	if (*own && !rpcrdma_auth_identity_ok(own))
		return false;
	if (*expected && !rpcrdma_auth_identity_ok(expected))
		return false;
	auth->hashes = RPCRDMA_AUTH_ALL_HASHES;
	auth->groups = 1 << RPCRDMA_AUTH_NO_GROUP;
	__builtin_memcpy(auth->own, own, auth::length_of(own));
	__builtin_memcpy(auth->expected, expected, auth::length_of(expected));
	__builtin_memcpy(auth->nonce, nonce, sizeof(auth->nonce));
	return true;
}

void rpcrdma_auth_set_hashes(struct rpcrdma_hostauth *auth, u32 hashes)
{
	if (hashes)
		auth->hashes =
			static_cast<u8>(hashes & RPCRDMA_AUTH_ALL_HASHES);
}

u32 rpcrdma_auth_hello(struct rpcrdma_conn *conn, struct rpcrdma_hostauth *auth,
		       const void *msg, u32 length, struct rpcrdma_rx *rx)
{
	struct prop_others props;

	if (conn->auth_state != auth::HELD ||
	    conn->state == RPCRDMA_CONN_CLOSING)
		return 0;
	conn->cfg.auth = auth;
	rx->events = 0;

	const v2::message m{ conn, msg, length,
			     v2::decode_prefix(span<RPCRDMA_V2_PREFIX>{ msg }),
			     rx };
	xdr_reader in = m.body();

	/* The CONNPROP was decoded before; decoding it again gives the same values. */
	if (!auth || decode_props(in, &conn->staged, &props))
		auth::fail(conn, RPCRDMA_AUTH_UNAVAILABLE);
	else
		auth::receive_hello(m, &props);
	return rx->events | due_events(conn);
}

u32 rpcrdma_auth_answered(struct rpcrdma_conn *conn,
			  const struct rpcrdma_auth_answer *answer)
{
	struct rpcrdma_hostauth *auth = conn->cfg.auth;

	if (!auth || !auth->pending || conn->state == RPCRDMA_CONN_CLOSING)
		return 0;

	u32 events = 0;

	auth->pending = false;
	if (answer->status == -E_NOMEM || answer->status == -E_OPNOTSUPP)
		auth::fail(conn, RPCRDMA_AUTH_UNAVAILABLE);
	else if (conn->auth_state == auth::GREETED)
		auth::secret_answered(conn, answer->status, events);
	else if (conn->auth_state == auth::EXCHANGING)
		auth::keys_answered(conn, answer, events);
	else
		auth::proofs_answered(conn, answer);
	return events | due_events(conn);
}
