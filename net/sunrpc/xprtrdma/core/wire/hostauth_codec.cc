// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The item of host authentication in a CONNPROP (WP 9): encoding and decoding.
 *
 * Everything here is input of a peer that has proved nothing yet. Decoding copies
 * nothing: the item refers to the bytes of the message. Each length is compared with
 * its maximum and with what is left of the item, and the item must end where its last
 * field does. An item of another mechanism is no error (decoded::OTHER). Values whose
 * meaning depends on the handshake, such as the length of a public value, are checked by
 * the caller. No state, no lock.
 */
#include "hostauth_codec.hh"

namespace rpcrdma::auth
{

namespace
{

/* Words of an item before its type's: mechanism and type */
constexpr u32 START_OCTETS = 8;

constexpr u32 word_octets = sizeof(u32);

/* Read a variable-length opaque of at most @most bytes. */
bool get_opaque(xdr_reader &in, u32 most, const u8 *&octets, u32 &length)
{
	if (!in.get(length) || length > most || roundup4(length) > in.left())
		return false;
	octets = in.next();
	in.skip(static_cast<u32>(roundup4(length)));
	return true;
}

/* Read what HELLO and CHALLENGE have in common. */
bool get_start(xdr_reader &in, item &it)
{
	if (!in.has(2 * word_octets + RPCRDMA_AUTH_NONCE))
		return false;
	it.hashes = in.word();
	it.groups = in.word();
	it.nonce = in.next();
	in.skip(RPCRDMA_AUTH_NONCE);
	return get_opaque(in, RPCRDMA_AUTH_MAX_IDENTITY, it.identity,
			  it.identity_octets) &&
	       identity_ok(it.identity, it.identity_octets);
}

/* Read the public value. Its length depends on the group. */
bool get_public(xdr_reader &in, item &it)
{
	return get_opaque(in, RPCRDMA_AUTH_MAX_PUBLIC, it.public_value,
			  it.public_octets);
}

bool get_body(xdr_reader &in, item &it)
{
	switch (it.type) {
	case HELLO:
		return get_start(in, it);
	case CHALLENGE:
		return get_start(in, it) && get_public(in, it);
	case PROOF:
		return get_opaque(in, RPCRDMA_AUTH_MAX_MAC, it.proof,
				  it.proof_octets) &&
		       get_public(in, it);
	case FAILURE:
		return in.get(it.reason);
	default:
		return false;
	}
}

/* Return the length of the content. */
u32 content_octets(const item &it)
{
	const u32 start = START_OCTETS + 3 * word_octets + RPCRDMA_AUTH_NONCE +
			  static_cast<u32>(roundup4(it.identity_octets));

	switch (it.type) {
	case HELLO:
		return start;
	case CHALLENGE:
		return start + word_octets + it.public_octets;
	case PROOF:
		return START_OCTETS + 2 * word_octets + it.proof_octets +
		       it.public_octets;
	default:
		return START_OCTETS + word_octets;
	}
}

} // namespace

bool identity_ok(const u8 *identity, u32 octets)
{
	if (!octets || octets > RPCRDMA_AUTH_MAX_IDENTITY)
		return false;
	for (u32 i = 0; i < octets; i++) {
		if (identity[i] <= ' ' || identity[i] > '~')
			return false;
	}
	return true;
}

decoded decode(const void *octets, u32 length, item &result)
{
	xdr_reader in{ octets, length, 0 };
	u32 mechanism;

	result = {};
	if (!in.get(mechanism))
		return decoded::BAD;
	if (mechanism != MECHANISM)
		return decoded::OTHER;
	return in.get(result.type) && get_body(in, result) && !in.left() ?
		       decoded::OK :
		       decoded::BAD;
}

xdr_writer encode(xdr_writer out, const item &it)
{
	out.word(RDMA2_PROPID_HOSTAUTH);
	out.word(content_octets(it));
	out.word(MECHANISM);
	out.word(it.type);
	switch (it.type) {
	case HELLO:
	case CHALLENGE:
		out.word(it.hashes);
		out.word(it.groups);
		out.octets(it.nonce, RPCRDMA_AUTH_NONCE);
		out.word(it.identity_octets);
		out.octets(it.identity, it.identity_octets);
		break;
	case PROOF:
		out.word(it.proof_octets);
		out.octets(it.proof, it.proof_octets);
		break;
	default:
		out.word(it.reason);
		break;
	}
	if (it.type == CHALLENGE || it.type == PROOF) {
		out.word(it.public_octets);
		out.octets(it.public_value, it.public_octets);
	}
	return out;
}

} // namespace rpcrdma::auth
