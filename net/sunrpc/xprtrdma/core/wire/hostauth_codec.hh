/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The content of property HOSTAUTH (5.2.6, WP 9).
 */
#ifndef RPCRDMA_CORE_HOSTAUTH_CODEC_HH
#define RPCRDMA_CORE_HOSTAUTH_CODEC_HH

#include "xdr.hh"

namespace rpcrdma::auth
{

/* The only mechanism that is defined */
constexpr u32 MECHANISM = 1;
enum type : u32 {
	HELLO = 1,
	CHALLENGE = 2,
	PROOF = 3,
	FAILURE = 4,
};

/* Reasons in a FAILURE */
enum : u32 {
	DENIED = 1,
	REQUIRED = 2,
	NO_ALGORITHM = 3,
	NOT_VALID = 4,
	NOT_AVAILABLE = 5,
};

/* One item of the handshake. Bytes are in the message, or in the sender's handshake. */
struct item {
	u32 type;
	u32 hashes;	    /* HELLO: mask; CHALLENGE: the one chosen */
	u32 groups;	    /* the same of Diffie-Hellman groups */
	const u8 *nonce;    /* HELLO, CHALLENGE */
	const u8 *identity; /* HELLO, CHALLENGE */
	u32 identity_octets;
	const u8 *proof; /* PROOF */
	u32 proof_octets;
	const u8 *public_value; /* CHALLENGE, PROOF */
	u32 public_octets;
	u32 reason; /* FAILURE */
};

enum class decoded {
	OK,
	OTHER, /* of another mechanism */
	BAD,
};

/* Decode @length bytes of property HOSTAUTH. */
decoded decode(const void *octets, u32 length, item &result);

/* Write the property: its number, its length, and its content. */
[[nodiscard]] xdr_writer encode(xdr_writer out, const item &it);

/* Return true for the bytes of a valid identity. */
bool identity_ok(const u8 *identity, u32 octets);

/* Return the length of a HMAC, 0 for an unknown hash. */
constexpr u32 mac_octets(u32 hash)
{
	switch (hash) {
	case RPCRDMA_AUTH_SHA256:
		return 32;
	case RPCRDMA_AUTH_SHA384:
		return 48;
	case RPCRDMA_AUTH_SHA512:
		return 64;
	default:
		return 0;
	}
}

} // namespace rpcrdma::auth

#endif /* RPCRDMA_CORE_HOSTAUTH_CODEC_HH */
