// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication (WP 9): the state machine of both ends.
 *
 *	client					server
 *	BEGIN	   properties, HELLO	->	BEGIN, HELD
 *	GREETED					GREETED: is there a secret?
 *		<- properties, CHALLENGE	CHALLENGED
 *	PROVING: both proofs
 *	PROVED	   PROOF		->	PROVING: both proofs
 *		<- PROOF			PROVED
 *	ENDED	   nothing		->	ENDED
 *
 * A peer that does not support host authentication skips the property, and sends none.
 * Each end makes at most two requests to its host in a connection, and a server
 * requests proofs only after it has received the client's, so that the peer cannot make
 * it repeat any work.
 */
#include "hostauth.hh"

#include "../wire/hostauth_codec.hh"

namespace rpcrdma::auth
{

namespace
{

u32 length_of(const char *string)
{
	u32 n = 0;

	while (string[n])
		n++;
	return n;
}

const u8 *octets_of(const char *string)
{
	return reinterpret_cast<const u8 *>(string);
}

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

void forget_proofs(struct rpcrdma_hostauth *auth)
{
	if (!auth)
		return;
	__builtin_memset(auth->proof, 0, sizeof(auth->proof));
	__builtin_memset(auth->received, 0, sizeof(auth->received));
}

void end(struct rpcrdma_conn *conn, enum rpcrdma_auth_result result)
{
	forget_proofs(conn->cfg.auth);
	conn->auth_state = ENDED;
	conn->auth_result = static_cast<u8>(result);
}

/* Send a request to the host. The meaning of the answer depends on the state. */
void ask(struct rpcrdma_conn *conn, state next, struct rpcrdma_rx *rx)
{
	conn->auth_state = next;
	conn->cfg.auth->pending = true;
	rx->events |= RPCRDMA_EV_AUTH;
}

/* The item of a CONNPROP if it is the only one, or the reason why there is none */
enum class found {
	ITEM,
	NONE, /* or one of another mechanism */
	WRONG,
};

found find_item(const struct prop_others *props, item &it)
{
	if (!props || !props->nr_auth)
		return found::NONE;
	if (props->nr_auth > 1)
		return found::WRONG;
	switch (decode(props->auth, props->auth_octets, it)) {
	case decoded::OK:
		return found::ITEM;
	case decoded::OTHER:
		return found::NONE;
	default:
		return found::WRONG;
	}
}

/* Record an end's first CONNPROP. Return false if it is too long. */
bool record(struct rpcrdma_hostauth *auth, u32 role, u32 flags, const void *msg,
	    u32 length)
{
	const u32 octets = length - RPCRDMA_V2_PREFIX;

	if (octets > sizeof(auth->body[role]))
		return false;
	auth->flags[role] = flags;
	auth->octets[role] = octets;
	__builtin_memcpy(auth->body[role],
			 static_cast<const u8 *>(msg) + RPCRDMA_V2_PREFIX,
			 octets);
	return true;
}

/*
 * Handle the peer's first CONNPROP with an item of @type. Return false after a failure.
 */
bool meet(const v2::message &m, const item &it, u32 type)
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

/* The peer takes no part. */
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

/* Server: the client's first CONNPROP */
bool receive_hello(const v2::message &m, const struct prop_others *props)
{
	struct rpcrdma_conn *conn = m.conn;
	struct rpcrdma_hostauth *auth = conn->cfg.auth;
	bool part;
	item it;

	if (!first_item(conn, props, it, part))
		return part;
	if (!meet(m, it, HELLO))
		return true;
	/* Choose the strongest hash that both ends have. */
	for (u32 hash = RPCRDMA_AUTH_SHA256; hash <= RPCRDMA_AUTH_SHA512;
	     hash++) {
		if (it.hashes & auth->hashes & 1u << hash)
			auth->hash = static_cast<u8>(hash);
	}
	if (!auth->hash || !(it.groups & 1u << NO_GROUP))
		fail(conn, RPCRDMA_AUTH_NO_HASH);
	else
		ask(conn, GREETED, m.rx);
	return true;
}

/*
 * Server: as above, but if the message has an item, the host allocates the memory of the
 * handshake before.
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

/* Client: the server's first CONNPROP */
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
	if (!meet(m, it, CHALLENGE))
		return true;
	if (it.groups != NO_GROUP || it.hashes > RPCRDMA_AUTH_SHA512 ||
	    !(auth->hashes & 1u << it.hashes)) {
		fail(conn, RPCRDMA_AUTH_NO_HASH);
		return true;
	}
	auth->hash = static_cast<u8>(it.hashes);
	ask(conn, PROVING, m.rx);
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
	if (!auth->known) {
		fail(conn, RPCRDMA_AUTH_UNKNOWN);
		return;
	}
	__builtin_memcpy(auth->received, it.proof, it.proof_octets);
	ask(conn, PROVING, m.rx);
}

/* Client */
void receive_server_proof(const v2::message &m, const struct prop_others *props)
{
	struct rpcrdma_conn *conn = m.conn;
	item it;

	if (!receive_proof(m, props, it))
		return;
	if (!same_proof(it.proof, conn->cfg.auth->proof[SERVER],
			it.proof_octets)) {
		fail(conn, RPCRDMA_AUTH_WRONG_PROOF);
		return;
	}
	end(conn, RPCRDMA_AUTH_DONE);
	conn->props_due = 1;
}

/* Server: the client has accepted the server's proof. */
void receive_last(const v2::message &m, const struct prop_others *props)
{
	if (!props || props->count || m.flag(RDMA2_F_TPMORE))
		fail(m.conn, RPCRDMA_AUTH_MALFORMED);
	else
		end(m.conn, RPCRDMA_AUTH_DONE);
}

/* A client understands that it is refused, even if it takes no part. */
void check_refused(struct rpcrdma_conn *conn, const struct prop_others *props)
{
	item it;

	if (conn->cfg.client && find_item(props, it) == found::ITEM &&
	    it.type == FAILURE)
		fail(conn, result_of(it.reason));
}

/* Server: there is a secret for the client's identity, or not. */
void secret_answered(struct rpcrdma_conn *conn, int status)
{
	struct rpcrdma_hostauth *auth = conn->cfg.auth;

	auth->known = !status;
	conn->props_due = 1;
	if ((status || !auth->own[0]) && !is_required(conn))
		end(conn, RPCRDMA_AUTH_UNUSED);
	else if (!auth->own[0])
		fail(conn, RPCRDMA_AUTH_UNAVAILABLE);
	else
		conn->auth_state = CHALLENGED;
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

/* A client without a secret takes no part, unless it fails because it must have one. */
void init(struct rpcrdma_conn *conn)
{
	const bool part = conn->cfg.client ?
				  conn->cfg.auth || is_required(conn) :
				  conn->cfg.auth_mode != RPCRDMA_AUTH_NONE;

	conn->auth_state = part ? BEGIN : ENDED;
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
	/* The server knows another content of the property. */
	if (conn->cfg.client && conn->auth_state == GREETED)
		conn->props_due = !not_offered(conn);
	else
		fail(conn, RPCRDMA_AUTH_MALFORMED);
	return true;
}

contents next_contents(const struct rpcrdma_conn *conn)
{
	const bool client = conn->cfg.client;
	const bool first = !conn->props_begun;

	switch (conn->auth_state) {
	case BEGIN:
		return { first, true, HELLO };
	case CHALLENGED:
		return { first, true, CHALLENGE };
	case PROVED:
		return { false, client, PROOF };
	case FAILED:
		return { first, false, FAILURE };
	default:
		return { first, false, 0 };
	}
}

xdr_writer encode_item(const struct rpcrdma_conn *conn, const contents &what,
		       xdr_writer out)
{
	const struct rpcrdma_hostauth *auth = conn->cfg.auth;
	const bool hello = what.type == HELLO;

	if (!what.type)
		return out;
	if (what.type == FAILURE) {
		item it = {};

		it.type = FAILURE;
		it.reason = reason_of(rpcrdma_conn_auth_result(conn));
		return encode(out, it);
	}
	return encode(
		out,
		{
			.type = what.type,
			.hashes = hello ? auth->hashes : auth->hash,
			.groups = hello ? 1u << NO_GROUP : NO_GROUP,
			.nonce = auth->nonce,
			.identity = octets_of(auth->own),
			.identity_octets = length_of(auth->own),
			.proof =
				auth->proof[conn->cfg.client ? CLIENT : SERVER],
			.proof_octets = mac_octets(auth->hash),
			.reason = 0,
		});
}

void sent(struct rpcrdma_conn *conn, const contents &what, const void *buf,
	  u32 octets)
{
	struct rpcrdma_hostauth *auth = conn->cfg.auth;

	if (!what.props || !auth)
		return;
	record(auth, conn->cfg.client ? CLIENT : SERVER,
	       what.more ? RDMA2_F_TPMORE : 0, buf, octets);
	if (what.type == HELLO)
		conn->auth_state = GREETED;
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
	__builtin_memcpy(auth->own, own, auth::length_of(own));
	__builtin_memcpy(auth->expected, expected, auth::length_of(expected));
	__builtin_memcpy(auth->nonce, nonce, sizeof(auth->nonce));
	return true;
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

	/* It was valid before: its values do not change. */
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
	auth->pending = false;
	if (answer->status == -E_NOMEM || answer->status == -E_OPNOTSUPP)
		auth::fail(conn, RPCRDMA_AUTH_UNAVAILABLE);
	else if (conn->auth_state == auth::GREETED)
		auth::secret_answered(conn, answer->status);
	else
		auth::proofs_answered(conn, answer);
	return due_events(conn);
}
