// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The data that the proofs of host authentication cover (WP 9); the host computes them.
 *
 * A proof is an HMAC with the secret as key, of a context and both first CONNPROPs.
 * After a Diffie-Hellman exchange, the host appends the client's public value, which no
 * first CONNPROP has, and the shared secret. The context has everything else that the
 * two ends agreed about: mechanism, role, version, hash, group, and the private
 * messages of both (RFC 8797). If an attacker has changed one of these, to make both
 * ends choose a weaker hash or group for example, the proofs differ. The role keeps the
 * proof of one end from being returned as that of the other.
 *
 * A request refers to all of this in place, and the host reads it without the lock of
 * the connection. Contexts and CONNPROPs are therefore not written until the answer.
 */
#include "hostauth.hh"

namespace rpcrdma::auth
{

namespace
{

constexpr char LABEL[] = "RPCRDMA2HOSTAUTH";
constexpr u32 LABEL_OCTETS = sizeof(LABEL) - 1;

/* Write the eight octets of RFC 8797 of one end, or zeros. */
xdr_writer write_private(xdr_writer out, const struct rpcrdma_private &priv)
{
	u8 octets[RPCRDMA_PRIVATE_OCTETS] = {};

	if (priv.valid)
		rpcrdma_encode_private(&priv, octets);
	out.octets(octets, sizeof(octets));
	return out;
}

void write_context(const struct rpcrdma_conn *conn, u32 role)
{
	struct rpcrdma_hostauth *auth = conn->cfg.auth;
	const bool client = conn->cfg.client;
	struct rpcrdma_private own;
	xdr_writer out{ auth->context[role] };

	static_assert(RPCRDMA_AUTH_CONTEXT ==
		      LABEL_OCTETS + 9 * sizeof(u32) +
			      2ul * RPCRDMA_PRIVATE_OCTETS);
	rpcrdma_conn_build_private(conn, &own);
	out.octets(LABEL, LABEL_OCTETS);
	out.word(MECHANISM);
	out.word(role + 1);
	out.word(RPCRDMA_VERS_2);
	out.word(auth->hash);
	out.word(auth->group);
	out = write_private(out, client ? own : conn->peer_private);
	out = write_private(out, client ? conn->peer_private : own);
	for (u32 i = CLIENT; i <= SERVER; i++) {
		out.word(auth->flags[i]);
		out.word(auth->octets[i]);
	}
}

} // namespace

} // namespace rpcrdma::auth

using namespace rpcrdma;

void rpcrdma_auth_next(const struct rpcrdma_conn *conn,
		       struct rpcrdma_auth_request *request)
{
	struct rpcrdma_hostauth *auth = conn->cfg.auth;

	*request = {};
	if (!auth || !auth->pending || conn->state == RPCRDMA_CONN_CLOSING)
		return;
	request->identity = conn->cfg.client ? auth->own : auth->peer;
	request->server = conn->cfg.client ? auth->peer : auth->own;
	if (conn->auth_state == auth::GREETED) {
		request->what = RPCRDMA_AUTH_ASK_SECRET;
		return;
	}
	request->dh = auth::exchange_of(auth, conn->cfg.client);
	if (conn->auth_state == auth::EXCHANGING) {
		request->what = RPCRDMA_AUTH_ASK_KEYS;
		return;
	}
	request->what = RPCRDMA_AUTH_ASK_PROOFS;
	request->hash = static_cast<enum rpcrdma_auth_hash>(auth->hash);
	request->mac_octets = auth::mac_octets(auth->hash);
	for (u32 role = auth::CLIENT; role <= auth::SERVER; role++) {
		auth::write_context(conn, role);
		request->input[role][0] = { auth->context[role],
					    RPCRDMA_AUTH_CONTEXT };
		request->input[role][1] = { auth->body[auth::CLIENT],
					    auth->octets[auth::CLIENT] };
		request->input[role][2] = { auth->body[auth::SERVER],
					    auth->octets[auth::SERVER] };
	}
}
