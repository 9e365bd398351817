/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Host authentication of a connection (version 2): both ends prove, while it opens, that
 * they know the same secret. The library has the handshake; the caller has the secrets,
 * random numbers and HMACs.
 */
#ifndef RPCRDMA2_AUTH_H
#define RPCRDMA2_AUTH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values of struct rpcrdma2_auth_config.mode */
enum {
	RPCRDMA2_AUTH_NONE = 0,		/* take no part */
	RPCRDMA2_AUTH_OFFER = 1,	/* if the peer takes part, too */
	RPCRDMA2_AUTH_REQUIRE = 2,	/* no connection without it */
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
/* Bytes of the longest proof and identity, and of the shortest secret */
#define RPCRDMA2_AUTH_MAX_PROOF 64
#define RPCRDMA2_AUTH_MAX_IDENTITY 128
#define RPCRDMA2_AUTH_MIN_SECRET 16
/* Bytes of the longest public value in a group */
#define RPCRDMA2_AUTH_MAX_PUBLIC 512

/**
 * struct rpcrdma2_auth_config - What host authentication is set up with
 * @mode: RPCRDMA2_AUTH_*
 * @own: identity of this end: 1 to 128 printable ASCII characters without spaces;
 *	copied
 * @peer: the identity that the peer must have, or NULL for any; copied
 * @nonce: bytes from a cryptographic random number generator, new for each
 *	connection
 * @dh: Diffie-Hellman in the handshake: RPCRDMA2_AUTH_NONE, RPCRDMA2_AUTH_OFFER if both
 *	ends have a group in common, RPCRDMA2_AUTH_REQUIRE
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

/* A part of the input of an HMAC */
struct rpcrdma2_auth_piece {
	const void *data;
	uint32_t length;
};

/**
 * struct rpcrdma2_auth_dh - A Diffie-Hellman exchange
 * @group: RPCRDMA2_AUTH_NO_GROUP or RPCRDMA2_AUTH_FFDHE*
 * @length: bytes of each number but the private value: big-endian, with leading zeros
 * @private_length: random bytes of the private value
 * @prime: prime of the group; its generator is 2
 * @peer_public: public value of the peer, from 2 to @prime - 2; NULL: generate a private
 *	value, keep it until the next request of this connection, and answer with its
 *	public value
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
 * struct rpcrdma2_auth_request - What the callback "auth" is asked
 * @identity: the client's identity, which is the name of the secret at both ends
 * @server: the server's identity
 * @hash: 0: is there a secret? Or, with a group, see there. Otherwise compute both proofs
 *	with this hash function, RPCRDMA2_AUTH_SHA*.
 * @proof_length: bytes of a proof
 * @input: of both proofs: their pieces are the HMAC's input, one after the other; in a
 *	group, followed by @dh.client_public and by the shared secret
 * @dh: Diffie-Hellman, which only a configuration with groups needs
 */
struct rpcrdma2_auth_request {
	const char *identity;
	const char *server;
	uint32_t hash;
	uint32_t proof_length;
	struct rpcrdma2_auth_piece input[2][3];
	struct rpcrdma2_auth_dh dh;
};

/**
 * struct rpcrdma2_auth_answer - What the callback "auth" answers
 * @proof: the HMACs of both inputs
 * @public_value: public value in a group
 */
struct rpcrdma2_auth_answer {
	uint8_t proof[2][RPCRDMA2_AUTH_MAX_PROOF];
	uint8_t public_value[RPCRDMA2_AUTH_MAX_PUBLIC];
};

/**
 * enum rpcrdma2_auth_status - What the callback "auth" returns
 * @RPCRDMA2_AUTH_FOUND: there is a secret, and the answer is filled
 * @RPCRDMA2_AUTH_UNKNOWN: there is no secret that may be used
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
