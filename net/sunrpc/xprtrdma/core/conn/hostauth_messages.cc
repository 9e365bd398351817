// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages of host authentication (WP 9): the item of the handshake in CONNPROPs of both
 * ends.
 *
 * Operation
 *
 * The state of the handshake decides what this end's next CONNPROP contains: the
 * transport properties, an item, and whether another CONNPROP follows. The first
 * CONNPROP of each end is recorded as it is on the wire, without its prefix, because the
 * proofs cover both.
 *
 * Memory
 *
 * The records are in struct rpcrdma_hostauth. A first CONNPROP of the peer that is too
 * long for its record is not valid.
 *
 * Errors
 *
 * A CONNPROP with more than one item is not valid. An item of another mechanism counts
 * as none, so that later mechanisms can be added.
 *
 * Locking
 *
 * The caller holds the lock of the connection.
 */
#include "hostauth.hh"

namespace rpcrdma::auth
{

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
	const u32 role = conn->cfg.client ? CLIENT : SERVER;
	/* Each end has it in one message: a server in its CHALLENGE */
	const bool has_public = what.type ==
				(conn->cfg.client ? PROOF : CHALLENGE);

	if (!what.type)
		return out;
	if (what.type == FAILURE) {
		item it = {};

		it.type = FAILURE;
		it.reason = reason_of(rpcrdma_conn_auth_result(conn));
		return encode(out, it);
	}
	return encode(out,
		      {
			      .type = what.type,
			      .hashes = hello ? auth->hashes : auth->hash,
			      .groups = hello ? auth->groups : auth->group,
			      .nonce = auth->nonce,
			      .identity = octets_of(auth->own),
			      .identity_octets = length_of(auth->own),
			      .proof = auth->proof[role],
			      .proof_octets = mac_octets(auth->hash),
			      .public_value = auth->public_value[role],
			      .public_octets =
				      has_public ? public_octets(auth->group) :
						   0,
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
