/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Host authentication: the two ends of a connection prove to each other, while it
 * opens, that they know the same secret (5.2.6, WP 9).
 *
 * The core builds and checks all messages, and makes the decisions. Its host looks up
 * secrets and computes HMACs, because both may sleep. RPCRDMA_EV_AUTH reports that a
 * request is pending, rpcrdma_auth_next() returns the request, and
 * rpcrdma_auth_answered() receives the answer. The core holds no secret.
 * The memory of a handshake is the host's, too. A server needs it only when a client
 * begins a handshake, which RPCRDMA_EV_HELLO reports.
 */
#ifndef RPCRDMA_HOSTAUTH_H
#define RPCRDMA_HOSTAUTH_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_conn;
struct rpcrdma_rx;

/* Settings of a role */
enum rpcrdma_auth_mode {
	RPCRDMA_AUTH_NONE,		/* do not take part */
	RPCRDMA_AUTH_OFFER,		/* if both ends have a secret */
	RPCRDMA_AUTH_REQUIRE,		/* no connection without it */
	RPCRDMA_NR_AUTH_MODES,
};

/* Hash functions of the HMAC, as on the wire; a set of them is a mask of 1 << number */
enum rpcrdma_auth_hash {
	RPCRDMA_AUTH_SHA256 = 1,
	RPCRDMA_AUTH_SHA384 = 2,
	RPCRDMA_AUTH_SHA512 = 3,
};
#define RPCRDMA_AUTH_ALL_HASHES						\
	(1 << RPCRDMA_AUTH_SHA256 | 1 << RPCRDMA_AUTH_SHA384 |		\
	 1 << RPCRDMA_AUTH_SHA512)

/* Diffie-Hellman groups of RFC 7919, as on the wire; a set is a mask, too */
enum rpcrdma_auth_group {
	RPCRDMA_AUTH_NO_GROUP = 0,	/* without Diffie-Hellman */
	RPCRDMA_AUTH_FFDHE2048 = 1,
	RPCRDMA_AUTH_FFDHE3072 = 2,
	RPCRDMA_AUTH_FFDHE4096 = 3,
};
#define RPCRDMA_AUTH_ALL_GROUPS						\
	(1 << RPCRDMA_AUTH_FFDHE2048 | 1 << RPCRDMA_AUTH_FFDHE3072 |	\
	 1 << RPCRDMA_AUTH_FFDHE4096)

enum {
	RPCRDMA_AUTH_NONCE = 32,	/* bytes of a nonce */
	RPCRDMA_AUTH_MAX_MAC = 64,	/* bytes of the longest HMAC */
	RPCRDMA_AUTH_MAX_PUBLIC = 512,	/* bytes of the longest public value */
	RPCRDMA_AUTH_MAX_PRIVATE = 48,	/* bytes of the longest private value */
	RPCRDMA_AUTH_MAX_IDENTITY = 128,	/* bytes of an identity */
	RPCRDMA_AUTH_MIN_SECRET = 16,	/* bytes of the shortest secret to use */
	/* bytes of an end's first CONNPROP, after the prefix, at most */
	RPCRDMA_AUTH_BODY = 1000,
	/* bytes of the HMAC's input before the CONNPROPs */
	RPCRDMA_AUTH_CONTEXT = 68,
};

/* Results of the handshake, from RPCRDMA_AUTH_REFUSED on failures */
enum rpcrdma_auth_result {
	RPCRDMA_AUTH_PENDING,		/* not decided, or this end takes no part */
	RPCRDMA_AUTH_UNUSED,		/* offered; the peer takes no part */
	RPCRDMA_AUTH_DONE,		/* both ends are authenticated */
	RPCRDMA_AUTH_REFUSED,		/* the server refuses this client's proof */
	RPCRDMA_AUTH_WRONG_PROOF,	/* the peer's proof is wrong */
	RPCRDMA_AUTH_UNKNOWN,		/* server: no secret for the peer's identity */
	/* the peer claims another identity than expected */
	RPCRDMA_AUTH_WRONG_IDENTITY,
	RPCRDMA_AUTH_NOT_OFFERED,	/* required here, the peer takes no part */
	RPCRDMA_AUTH_PEER_REQUIRES,	/* client: required by the server, not used here */
	RPCRDMA_AUTH_VERSION_1,		/* required here, the peer has version 1 only */
	RPCRDMA_AUTH_NO_SECRET,		/* client: required here, there is no secret */
	RPCRDMA_AUTH_NO_HASH,		/* no algorithm in common */
	RPCRDMA_AUTH_MALFORMED,		/* a message is not valid, or not in order */
	RPCRDMA_AUTH_UNAVAILABLE,	/* no memory or no algorithm: retry later */
	RPCRDMA_NR_AUTH_RESULTS,
};

/*
 * The handshake of one connection. The host allocates it, initialises it with
 * rpcrdma_auth_init(), and frees it after the connection. A client that has a secret sets
 * rpcrdma_conn_config.auth to it; a server passes it to rpcrdma_auth_hello(). All members
 * are private to the core.
 */
struct rpcrdma_hostauth {
	u8 hashes;			/* mask of hashes that this end accepts */
	u8 hash;			/* the hash chosen */
	u8 groups;			/* mask of groups that this end accepts */
	u8 group;			/* the group chosen */
	u8 known;			/* server: there is a secret */
	u8 pending;			/* a request has no answer yet */
	char own[RPCRDMA_AUTH_MAX_IDENTITY + 1];
	char expected[RPCRDMA_AUTH_MAX_IDENTITY + 1];	/* of the peer; "": any */
	char peer[RPCRDMA_AUTH_MAX_IDENTITY + 1];
	u8 nonce[RPCRDMA_AUTH_NONCE];
	/* By role: [0] the client, [1] the server */
	u8 proof[2][RPCRDMA_AUTH_MAX_MAC];
	u8 received[RPCRDMA_AUTH_MAX_MAC];	/* server: the client's proof */
	u8 context[2][RPCRDMA_AUTH_CONTEXT];
	u32 flags[2], octets[2];
	u8 body[2][RPCRDMA_AUTH_BODY];
	u8 public_value[2][RPCRDMA_AUTH_MAX_PUBLIC];	/* in a group */
};

/**
 * rpcrdma_auth_init() - initialise a handshake
 * @auth: handshake
 * @own: identity of this host: 1 to 128 printable ASCII characters without spaces; or ""
 *	if a server has none that is valid, which then takes no part, or refuses all
 *	clients if authentication is required
 * @expected: identity that the peer must have, or "" for any
 * @nonce: bytes from a cryptographic random number generator
 *
 * Return: false if an identity is not valid; @auth cannot be used then.
 */
bool rpcrdma_auth_init(struct rpcrdma_hostauth *auth, const char *own,
		       const char *expected,
		       const u8 nonce[RPCRDMA_AUTH_NONCE]);

/**
 * rpcrdma_auth_set_hashes() - restrict a handshake to the hashes that the host has
 * @auth: initialised handshake, which permits all before
 * @hashes: mask of hashes. If it is 0, the handshake fails when the host is asked for a
 *	proof.
 */
void rpcrdma_auth_set_hashes(struct rpcrdma_hostauth *auth, u32 hashes);

/**
 * rpcrdma_auth_set_groups() - permit Diffie-Hellman in a handshake
 * @auth: initialised handshake, which permits none before
 * @mode: RPCRDMA_AUTH_NONE: without it; RPCRDMA_AUTH_OFFER: if both ends have a group;
 *	RPCRDMA_AUTH_REQUIRE: not without it
 * @groups: mask of the groups in which the host can compute
 */
void rpcrdma_auth_set_groups(struct rpcrdma_hostauth *auth,
			     enum rpcrdma_auth_mode mode, u32 groups);

/**
 * rpcrdma_auth_hello() - begin the handshake that a client has asked for
 * @conn: connection of a server
 * @auth: initialised handshake, which the connection uses from now on; NULL if there is
 *	no memory for it: the client is asked to try again later
 * @msg: message that led to RPCRDMA_EV_HELLO
 * @length: its bytes
 * @rx: its result
 *
 * Call this after RPCRDMA_EV_HELLO, before the next message is received.
 * Context: the caller serialises this with other calls for @conn.
 * Return: events.
 */
u32 rpcrdma_auth_hello(struct rpcrdma_conn *conn, struct rpcrdma_hostauth *auth,
		       const void *msg, u32 length, struct rpcrdma_rx *rx);

/**
 * rpcrdma_auth_identity_ok() - check an identity
 * @identity: string
 *
 * Return: true if it may be used and logged.
 */
bool rpcrdma_auth_identity_ok(const char *identity);

/* A request to the host */
enum rpcrdma_auth_ask {
	RPCRDMA_AUTH_ASK_NOTHING,
	/* server: look up the secret for @identity */
	RPCRDMA_AUTH_ASK_SECRET,
	/* generate a private value in @dh.group, keep it, and compute its public value */
	RPCRDMA_AUTH_ASK_KEYS,
	/*
	 * Compute both HMACs with the secret for @identity. In a group, first compute the
	 * shared secret with the private value, and zero the private value.
	 */
	RPCRDMA_AUTH_ASK_PROOFS,
};

enum {
	RPCRDMA_AUTH_RANGES = 3,
};

/* Bytes of the input of an HMAC */
struct rpcrdma_auth_range {
	const void *data;
	u32 octets;
};

/* A Diffie-Hellman exchange. Its numbers are big-endian, with leading zeros. */
struct rpcrdma_auth_dh {
	enum rpcrdma_auth_group group;
	u32 octets;		/* of the prime, a public value and the shared secret */
	u32 private_octets;	/* of a private value */
	const u8 *prime;	/* the generator is 2 */
	const u8 *peer_public;	/* ASK_PROOFS: 2 to @prime - 2 */
	const u8 *client_public;	/* ASK_PROOFS: input of the HMACs */
};

struct rpcrdma_auth_request {
	enum rpcrdma_auth_ask what;
	/* The client's identity, which names the secret on both ends */
	const char *identity;
	const char *server;		/* the server's identity */
	/* ASK_PROOFS: */
	enum rpcrdma_auth_hash hash;
	u32 mac_octets;			/* length of the HMAC */
	/* In a group, followed by @dh.client_public and the shared secret */
	struct rpcrdma_auth_range input[2][RPCRDMA_AUTH_RANGES];
	struct rpcrdma_auth_dh dh;
};

/* The host's answer; zero it after use */
struct rpcrdma_auth_answer {
	/*
	 * 0; -ENOKEY or another errno if there is no usable secret; -ENOMEM or
	 * -EOPNOTSUPP (no such algorithm) if it is not known whether there is one
	 */
	int status;
	u8 proof[2][RPCRDMA_AUTH_MAX_MAC];	/* of input[0] and input[1] */
	union {
		u8 public_value[RPCRDMA_AUTH_MAX_PUBLIC];	/* for ASK_KEYS */
		/* ASK_PROOFS: memory of the host for the shared secret */
		u8 shared[RPCRDMA_AUTH_MAX_PUBLIC];
	};
};

/**
 * rpcrdma_auth_next() - get the request that is pending
 * @conn: connection
 * @request: is set; what it points to is unchanged until the answer
 *
 * Call this after RPCRDMA_EV_AUTH.
 * Context: the caller serialises this with other calls for @conn.
 */
void rpcrdma_auth_next(const struct rpcrdma_conn *conn,
		       struct rpcrdma_auth_request *request);

/**
 * rpcrdma_auth_answered() - receive the answer to a request
 * @conn: connection
 * @answer: answer; it is ignored if no request is pending
 *
 * Context: the caller serialises this with other calls for @conn.
 * Return: events.
 */
u32 rpcrdma_auth_answered(struct rpcrdma_conn *conn,
			const struct rpcrdma_auth_answer *answer);

/**
 * rpcrdma_conn_auth_result() - get the result of the handshake
 * @conn: connection
 *
 * Return: the result.
 */
enum rpcrdma_auth_result rpcrdma_conn_auth_result(const struct rpcrdma_conn *conn);

/**
 * rpcrdma_auth_failed() - check if the connection fails for lack of authentication
 * @conn: connection
 *
 * Return: true if so.
 */
bool rpcrdma_auth_failed(const struct rpcrdma_conn *conn);

/**
 * rpcrdma_auth_denied() - check if the handshake has failed, and will fail again
 * @conn: connection
 *
 * Return: true for all failures but RPCRDMA_AUTH_UNAVAILABLE.
 */
bool rpcrdma_auth_denied(const struct rpcrdma_conn *conn);

/**
 * rpcrdma_auth_reason() - describe a failure, for the log
 * @result: result of a handshake
 *
 * Return: a static string; NULL if @result is no failure.
 */
const char *rpcrdma_auth_reason(enum rpcrdma_auth_result result);

/**
 * rpcrdma_auth_name() - describe a result in one word, for statistics
 * @result: result of a handshake
 *
 * Return: a static string.
 */
const char *rpcrdma_auth_name(enum rpcrdma_auth_result result);

/**
 * rpcrdma_auth_hash_name() - name the hash function of the proofs, for statistics
 * @conn: connection
 *
 * Return: a static string; "none" if the connection is not authenticated.
 */
const char *rpcrdma_auth_hash_name(const struct rpcrdma_conn *conn);

/**
 * rpcrdma_auth_group_name() - name the group of the Diffie-Hellman exchange, for statistics
 * @conn: connection
 *
 * Return: a static string; "none" without one, or if the connection is not authenticated.
 */
const char *rpcrdma_auth_group_name(const struct rpcrdma_conn *conn);

/**
 * rpcrdma_auth_peer() - get the identity that the peer has claimed
 * @conn: connection
 *
 * It is proven only if the result is RPCRDMA_AUTH_DONE, but safe to log at any time.
 * Return: a string, "" if there is none.
 */
const char *rpcrdma_auth_peer(const struct rpcrdma_conn *conn);

/**
 * rpcrdma_auth_involves() - check if a connection depends on an identity
 * @conn: connection
 * @identity: string
 *
 * Return: true if the peer has proven @identity, or this end as a client has, or the
 * handshake with it is in progress.
 */
bool rpcrdma_auth_involves(const struct rpcrdma_conn *conn, const char *identity);

/**
 * rpcrdma_auth_version_low() - get the lowest version of a connection
 * @mode: enum rpcrdma_auth_mode
 * @low: lowest version that the settings permit
 *
 * Return: @low, or 2 if authentication is required: version 1 has none.
 */
static inline u8 rpcrdma_auth_version_low(u32 mode, u8 low)
{
	return mode == RPCRDMA_AUTH_REQUIRE && low < 2 ? 2 : low;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_HOSTAUTH_H */
