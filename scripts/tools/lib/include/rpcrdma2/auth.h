/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Host authentication of a connection (version 2): while it opens, both ends prove that
 * they know the same secret. The library performs the handshake. The caller provides the
 * secrets, random numbers and HMACs.
 */
#ifndef RPCRDMA2_AUTH_H
#define RPCRDMA2_AUTH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values of struct rpcrdma2_auth_config.mode */
enum {
	RPCRDMA2_AUTH_NONE = 0,		/* not used */
	RPCRDMA2_AUTH_OFFER = 1,	/* used if the peer supports it */
	RPCRDMA2_AUTH_REQUIRE = 2,	/* required of the peer */
};

/* Hash functions of the HMAC */
enum {
	RPCRDMA2_AUTH_SHA256 = 1,
	RPCRDMA2_AUTH_SHA384 = 2,
	RPCRDMA2_AUTH_SHA512 = 3,
};

/* Groups of RFC 7919 for Diffie-Hellman; a set is a mask of 1 << group */
enum {
	RPCRDMA2_AUTH_NO_GROUP = 0,
	RPCRDMA2_AUTH_FFDHE2048 = 1,
	RPCRDMA2_AUTH_FFDHE3072 = 2,
	RPCRDMA2_AUTH_FFDHE4096 = 3,
};

#define RPCRDMA2_AUTH_NONCE_OCTETS 32
/* Maximum bytes of a proof and of an identity, minimum bytes of a secret */
#define RPCRDMA2_AUTH_MAX_PROOF 64
#define RPCRDMA2_AUTH_MAX_IDENTITY 128
#define RPCRDMA2_AUTH_MIN_SECRET 16
/* Maximum bytes of a public value in a group */
#define RPCRDMA2_AUTH_MAX_PUBLIC 512

/**
 * struct rpcrdma2_auth_config - Configuration of host authentication
 * @mode: RPCRDMA2_AUTH_*
 * @own: identity of this end: 1 to 128 printable ASCII characters without spaces;
 *	copied
 * @peer: the identity that the peer must have, or NULL for any; copied
 * @nonce: bytes from a cryptographic random number generator, new for each
 *	connection
 * @dh: Diffie-Hellman in the handshake: RPCRDMA2_AUTH_NONE: not used;
 *	RPCRDMA2_AUTH_OFFER: used if both ends support a common group;
 *	RPCRDMA2_AUTH_REQUIRE: required of the peer
 * @groups: mask of the groups in which the caller can compute
 */
struct rpcrdma2_auth_config {
	uint32_t mode;
	const char *own;
	const char *peer;
	uint8_t nonce[RPCRDMA2_AUTH_NONCE_OCTETS];
	uint32_t dh;
	uint32_t groups;
};

/* A range of the input of an HMAC */
struct rpcrdma2_auth_range {
	const void *data;
	uint32_t length;
};

/**
 * struct rpcrdma2_auth_dh - A Diffie-Hellman exchange
 * @group: RPCRDMA2_AUTH_NO_GROUP or RPCRDMA2_AUTH_FFDHE*
 * @length: bytes of each number except the private value: big-endian, with leading zeros
 * @private_length: random bytes of the private value
 * @prime: prime of the group; its generator is 2
 * @peer_public: public value of the peer, from 2 to @prime - 2. If NULL, generate a
 *	private value, keep it until the next request of this connection, and answer with
 *	its public value.
 * @client_public: public value of the client
 */
struct rpcrdma2_auth_dh {
	uint32_t group;
	uint32_t length;
	uint32_t private_length;
	const uint8_t *prime;
	const uint8_t *peer_public;
	const uint8_t *client_public;
};

/**
 * struct rpcrdma2_auth_request - A request to the callback "auth"
 * @identity: the client's identity, which is the name of the secret at both ends
 * @server: the server's identity
 * @hash: if not 0, compute both proofs with this hash function, RPCRDMA2_AUTH_SHA*. If 0
 *	and @dh.group is 0, only check that a secret exists. If 0 in a group, see
 *	@dh.peer_public.
 * @proof_length: bytes of a proof
 * @input: for each of both proofs, the ranges that are the HMAC's input, in order. In a
 *	group, @dh.client_public and the shared secret follow them.
 * @dh: Diffie-Hellman; used only if the configuration has groups
 */
struct rpcrdma2_auth_request {
	const char *identity;
	const char *server;
	uint32_t hash;
	uint32_t proof_length;
	struct rpcrdma2_auth_range input[2][3];
	struct rpcrdma2_auth_dh dh;
};

/**
 * struct rpcrdma2_auth_answer - The answer of the callback "auth"
 * @proof: the HMACs of both inputs
 * @public_value: public value in a group
 */
struct rpcrdma2_auth_answer {
	uint8_t proof[2][RPCRDMA2_AUTH_MAX_PROOF];
	uint8_t public_value[RPCRDMA2_AUTH_MAX_PUBLIC];
};

/**
 * enum rpcrdma2_auth_status - Return values of the callback "auth"
 * @RPCRDMA2_AUTH_FOUND: the secret exists, and the answer is filled
 * @RPCRDMA2_AUTH_UNKNOWN: no usable secret exists
 * @RPCRDMA2_AUTH_UNAVAILABLE: the HMACs cannot be computed at present
 */
enum rpcrdma2_auth_status {
	RPCRDMA2_AUTH_FOUND = 0,
	RPCRDMA2_AUTH_UNKNOWN = 1,
	RPCRDMA2_AUTH_UNAVAILABLE = 2,
};

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA2_AUTH_H */
