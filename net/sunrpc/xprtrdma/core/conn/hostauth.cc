// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication (WP 9): the state machine of both ends.
 *
 * Operation
 *
 *	client					server
 *	BEGIN	   properties, HELLO	->	BEGIN, HELD
 *	GREETED					GREETED: is there a secret?
 *						EXCHANGING: public value
 *		<- properties, CHALLENGE	CHALLENGED
 *	EXCHANGING: public value
 *	PROVING: both proofs
 *	PROVED	   PROOF		->	PROVING: both proofs
 *		<- PROOF			PROVED
 *	ENDED	   nothing		->	ENDED
 *
 * A peer that does not support host authentication skips the property, and sends none.
 * Each end makes each request to its host at most once in a connection, and a server
 * requests proofs only after it has received the client's, so that the peer cannot make
 * it repeat any work. EXCHANGING is left out without a Diffie-Hellman group.
 *
 * Memory
 *
 * struct rpcrdma_hostauth belongs to the host. A client with a secret has it from the
 * beginning. A server gets it when a client begins a handshake (HELD), so that other
 * clients cost nothing. Proofs are zeroed when the handshake ends; a secret is never
 * here.
 *
 * Errors
 *
 * The first failure is the result of the handshake. A client then closes the
 * connection. A server sends FAILURE as its last CONNPROP, or closes the connection if
 * it has sent its last one. Unless this end requires authentication, it is no failure if
 * the peer takes no part, or if a server has no secret for the client: the connection
 * opens without authentication.
 *
 * Locking
 *
 * The caller holds the lock of the connection, but not while the host answers a
 * request. An answer that is not expected any more has no effect.
 */
#include "hostauth.hh"

namespace rpcrdma::auth
{

namespace
{

void forget_proofs(struct rpcrdma_hostauth *auth)
{
	if (!auth)
		return;
	__builtin_memset(auth->proof, 0, sizeof(auth->proof));
	__builtin_memset(auth->received, 0, sizeof(auth->received));
}

/*
 * Handle the peer's first CONNPROP with an item of @type. Return false after a failure.
 */
bool accept_first(const v2::message &m, const item &it, u32 type)
{
	struct rpcrdma_conn *conn = m.conn;
	struct rpcrdma_hostauth *auth = conn->cfg.auth;
	const u32 role = conn->cfg.client ? SERVER : CLIENT;

	/* More of the handshake follows. */
	if (it.type != type || !m.flag(RDMA2_F_TPMORE) ||
	    !record(auth, role, m.prefix.flags, m.octets, m.length)) {
		fail(conn, RPCRDMA_AUTH_MALFORMED);
		return false;
	}
	__builtin_memcpy(auth->peer, it.identity, it.identity_octets);
	auth->peer[it.identity_octets] = 0;
	if (auth->expected[0] && !same(auth->peer, auth->expected)) {
		fail(conn, RPCRDMA_AUTH_WRONG_IDENTITY);
		return false;
	}
	return true;
}

/* Handle a peer that takes no part. Return true if the handshake has failed. */
bool not_offered(struct rpcrdma_conn *conn)
{
	if (!is_required(conn)) {
		end(conn, RPCRDMA_AUTH_UNUSED);
		return false;
	}
	fail(conn, RPCRDMA_AUTH_NOT_OFFERED);
	return true;
}

/*
 * Get the item of the peer's first CONNPROP. Return false if the handshake ends here.
 * @part is then false if the peer does not take part and need not, and true after a
 * failure.
 */
bool first_item(struct rpcrdma_conn *conn, const struct prop_others *props,
		item &it, bool &part)
{
	part = true;
	switch (find_item(props, it)) {
	case found::ITEM:
		return true;
	case found::NONE:
		part = not_offered(conn);
		return false;
	default:
		fail(conn, RPCRDMA_AUTH_MALFORMED);
		return false;
	}
}

/*
 * Server: handle the client's first CONNPROP. If it has an item, the host first
 * allocates the memory of the handshake.
 */
bool hold_hello(const v2::message &m, const struct prop_others *props)
{
	struct rpcrdma_conn *conn = m.conn;
	item it;

	if (conn->cfg.auth || find_item(props, it) != found::ITEM)
		return receive_hello(m, props);
	conn->auth_state = HELD;
	m.rx->events |= RPCRDMA_EV_HELLO;
	return true;
}

/* Keep the public value of the peer, which has @role. Return false if it is not valid. */
bool keep_public(struct rpcrdma_hostauth *auth, u32 role, const item &it)
{
	if (!public_ok(auth->group, it.public_value, it.public_octets))
		return false;
	__builtin_memcpy(auth->public_value[role], it.public_value,
			 it.public_octets);
	return true;
}

/* Client: handle the server's first CONNPROP. */
bool receive_challenge(const v2::message &m, const struct prop_others *props)
{
	struct rpcrdma_conn *conn = m.conn;
	struct rpcrdma_hostauth *auth = conn->cfg.auth;
	bool part;
	item it;

	if (!first_item(conn, props, it, part))
		return part;
	if (it.type == FAILURE) {
		fail(conn, result_of(it.reason));
		return true;
	}
	if (!accept_first(m, it, CHALLENGE))
		return true;
	if (it.groups > RPCRDMA_AUTH_FFDHE4096 ||
	    !(auth->groups & 1u << it.groups) ||
	    it.hashes > RPCRDMA_AUTH_SHA512 ||
	    !(auth->hashes & 1u << it.hashes)) {
		fail(conn, RPCRDMA_AUTH_NO_HASH);
		return true;
	}
	auth->hash = static_cast<u8>(it.hashes);
	auth->group = static_cast<u8>(it.groups);
	if (!keep_public(auth, SERVER, it))
		fail(conn, RPCRDMA_AUTH_MALFORMED);
	else
		ask(conn, auth->group ? EXCHANGING : PROVING, m.rx->events);
	return true;
}

/*
 * Receive the peer's proof, the only property of its CONNPROP. Return false after a
 * failure.
 */
bool receive_proof(const v2::message &m, const struct prop_others *props,
		   item &it)
{
	struct rpcrdma_conn *conn = m.conn;
	const bool is_item = find_item(props, it) == found::ITEM;

	if (is_item && it.type == FAILURE && conn->cfg.client) {
		fail(conn, result_of(it.reason));
		return false;
	}
	/* The server's proof is in its last CONNPROP. */
	if (!is_item || it.type != PROOF || props->count != 1 ||
	    m.flag(RDMA2_F_TPMORE) == !!conn->cfg.client ||
	    it.proof_octets != mac_octets(conn->cfg.auth->hash)) {
		fail(conn, RPCRDMA_AUTH_MALFORMED);
		return false;
	}
	return true;
}

/* Server */
void receive_client_proof(const v2::message &m, const struct prop_others *props)
{
	struct rpcrdma_conn *conn = m.conn;
	struct rpcrdma_hostauth *auth = conn->cfg.auth;
	item it;

	if (!receive_proof(m, props, it))
		return;
	/* Checked first: the reason must not show whether the identity is known. */
	if (!keep_public(auth, CLIENT, it)) {
		fail(conn, RPCRDMA_AUTH_MALFORMED);
		return;
	}
	if (!auth->known) {
		fail(conn, RPCRDMA_AUTH_UNKNOWN);
		return;
	}
	__builtin_memcpy(auth->received, it.proof, it.proof_octets);
	ask(conn, PROVING, m.rx->events);
}

/* Client */
void receive_server_proof(const v2::message &m, const struct prop_others *props)
{
	struct rpcrdma_conn *conn = m.conn;
	item it;

	if (!receive_proof(m, props, it))
		return;
	/* Its public value is in its CHALLENGE. */
	if (it.public_octets) {
		fail(conn, RPCRDMA_AUTH_MALFORMED);
		return;
	}
	if (!same_proof(it.proof, conn->cfg.auth->proof[SERVER],
			it.proof_octets)) {
		fail(conn, RPCRDMA_AUTH_WRONG_PROOF);
		return;
	}
	end(conn, RPCRDMA_AUTH_DONE);
	conn->props_due = 1;
}

/*
 * Server: handle the client's last CONNPROP, which shows that it has accepted the
 * proof.
 */
void receive_last(const v2::message &m, const struct prop_others *props)
{
	if (!props || props->count || m.flag(RDMA2_F_TPMORE))
		fail(m.conn, RPCRDMA_AUTH_MALFORMED);
	else
		end(m.conn, RPCRDMA_AUTH_DONE);
}

/*
 * Client: fail if the server refuses the connection, even if this end takes no part.
 */
void check_refused(struct rpcrdma_conn *conn, const struct prop_others *props)
{
	item it;

	if (conn->cfg.client && find_item(props, it) == found::ITEM &&
	    it.type == FAILURE)
		fail(conn, result_of(it.reason));
}

} // namespace

/* A client without a secret takes no part, unless it fails because it must have one. */
void init(struct rpcrdma_conn *conn)
{
	const bool part = conn->cfg.client ?
				  conn->cfg.auth || is_required(conn) :
				  conn->cfg.auth_mode != RPCRDMA_AUTH_NONE;

	conn->auth_state = part ? BEGIN : ENDED;
}

void end(struct rpcrdma_conn *conn, enum rpcrdma_auth_result result)
{
	forget_proofs(conn->cfg.auth);
	conn->auth_state = ENDED;
	conn->auth_result = static_cast<u8>(result);
}

void ask(struct rpcrdma_conn *conn, state next, u32 &events)
{
	conn->auth_state = next;
	conn->cfg.auth->pending = true;
	events |= RPCRDMA_EV_AUTH;
}

void fail(struct rpcrdma_conn *conn, enum rpcrdma_auth_result result)
{
	struct rpcrdma_hostauth *auth = conn->cfg.auth;

	/* The first failure is the one that is reported. */
	if (conn->auth_state != FAILED)
		conn->auth_result = static_cast<u8>(result);
	forget_proofs(auth);
	if (conn->cfg.client || conn->props_sent) {
		close_connection(conn, rpcrdma_auth_reason(
					       rpcrdma_conn_auth_result(conn)));
		return;
	}
	if (auth)
		auth->pending = false;
	conn->auth_state = FAILED;
	conn->props_due = 1;
}

void version_1(struct rpcrdma_conn *conn)
{
	if (is_required(conn))
		conn->auth_result = RPCRDMA_AUTH_VERSION_1;
}

void begin(struct rpcrdma_conn *conn)
{
	if (is_required(conn) && !conn->cfg.auth)
		fail(conn, RPCRDMA_AUTH_NO_SECRET);
}

bool receive_hello(const v2::message &m, const struct prop_others *props)
{
	struct rpcrdma_conn *conn = m.conn;
	struct rpcrdma_hostauth *auth = conn->cfg.auth;
	bool part;
	item it;

	if (!first_item(conn, props, it, part))
		return part;
	if (!accept_first(m, it, HELLO))
		return true;
	/* Choose the strongest hash that both ends have. */
	for (u32 hash = RPCRDMA_AUTH_SHA256; hash <= RPCRDMA_AUTH_SHA512;
	     hash++) {
		if (it.hashes & auth->hashes & 1u << hash)
			auth->hash = static_cast<u8>(hash);
	}
	if (!auth->hash || !choose_group(auth, it.groups))
		fail(conn, RPCRDMA_AUTH_NO_HASH);
	else
		ask(conn, GREETED, m.rx->events);
	return true;
}

bool received(const v2::message &m, const struct prop_others *props)
{
	struct rpcrdma_conn *conn = m.conn;
	const bool client = conn->cfg.client;

	if (!holds(conn)) {
		check_refused(conn, props);
		return false;
	}

	const u8 state = conn->auth_state;

	if (state == FAILED)
		return true;
	if (state == BEGIN && !client)
		return hold_hello(m, props);
	if (state == GREETED && client)
		return receive_challenge(m, props);
	/* All other messages answer a message of this end. */
	if (conn->props_due || (state != CHALLENGED && state != PROVED))
		fail(conn, RPCRDMA_AUTH_MALFORMED);
	else if (state == CHALLENGED)
		receive_client_proof(m, props);
	else if (client)
		receive_server_proof(m, props);
	else
		receive_last(m, props);
	return true;
}

bool own_refused(struct rpcrdma_conn *conn)
{
	if (!holds(conn))
		return conn->auth_result != RPCRDMA_AUTH_DONE;
	/* The server gives HOSTAUTH another meaning. */
	if (conn->cfg.client && conn->auth_state == GREETED)
		conn->props_due = !not_offered(conn);
	else
		fail(conn, RPCRDMA_AUTH_MALFORMED);
	return true;
}

} // namespace rpcrdma::auth
