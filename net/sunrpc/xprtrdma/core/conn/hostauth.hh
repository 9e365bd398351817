/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The handshake of host authentication within the opening (WP 9): it decides what this
 * end's CONNPROPs contain, and whether the connection opens.
 */
#ifndef RPCRDMA_CORE_HOSTAUTH_HH
#define RPCRDMA_CORE_HOSTAUTH_HH

#include "../wire/hostauth_codec.hh"
#include "../wire/properties.hh"
#include "receive.hh"

namespace rpcrdma::auth
{

enum state : u8 {
	BEGIN,
	HELD, /* server: the host allocates the handshake */
	GREETED,
	EXCHANGING, /* the host generates a private value */
	CHALLENGED,
	PROVING,
	PROVED,
	ENDED,	/* or this end takes no part */
	FAILED, /* server: it has a FAILURE to send, or has sent it */
};

constexpr u32 CLIENT = 0;
constexpr u32 SERVER = 1;

/* Return true if this end refuses peers that take no part. */
static inline bool is_required(const struct rpcrdma_conn *conn)
{
	return conn->cfg.auth_mode == RPCRDMA_AUTH_REQUIRE;
}

/* Return true while the connection may not open. */
static inline bool holds(const struct rpcrdma_conn *conn)
{
	return conn->auth_state != ENDED;
}

/* Set the first state of a connection with its configuration. */
void init(struct rpcrdma_conn *conn);

/*
 * End the handshake without success. A server sends the reason to its client if it
 * still can. In all other cases the connection closes.
 */
void fail(struct rpcrdma_conn *conn, enum rpcrdma_auth_result result);

/* Note that a server refuses version 1: the client may still begin with version 2. */
void version_1(struct rpcrdma_conn *conn);

/* Begin a client's handshake, before its first message. */
void begin(struct rpcrdma_conn *conn);

/*
 * Handle the CONNPROP in @m. @props: what it contains, or null if it was refused. Return
 * false if the handshake does not decide when this end's next CONNPROP is due.
 */
bool received(const v2::message &m, const struct prop_others *props);

/*
 * Handle an ERROR about a CONNPROP of this end. Return false if the handshake has ended,
 * so that the ERROR is about something else.
 */
bool own_refused(struct rpcrdma_conn *conn);

/* The contents of this end's next CONNPROP */
struct contents {
	bool props; /* struct rpcrdma_props */
	bool more;  /* it is not the last one */
	u32 type;   /* of the item of the handshake; 0: none */
};

contents next_contents(const struct rpcrdma_conn *conn);

/* Write the item of the handshake, if there is one. */
[[nodiscard]] xdr_writer encode_item(const struct rpcrdma_conn *conn,
				     const contents &what, xdr_writer out);

/* Note that a CONNPROP was sent: @octets bytes in @buf. */
void sent(struct rpcrdma_conn *conn, const contents &what, const void *buf,
	  u32 octets);

/* ---- Between the files of the handshake ---- */

static inline u32 length_of(const char *string)
{
	u32 n = 0;

	while (string[n])
		n++;
	return n;
}

static inline const u8 *octets_of(const char *string)
{
	return reinterpret_cast<const u8 *>(string);
}

/* Return true if two strings are equal. */
bool same(const char *a, const char *b);

/* Compare in a time that does not depend on the contents. */
bool same_proof(const u8 *a, const u8 *b, u32 octets);

/* The item of a CONNPROP if it is the only one, or the reason why there is none */
enum class found {
	ITEM,
	NONE, /* or one of another mechanism */
	WRONG,
};

found find_item(const struct prop_others *props, item &it);

/* Record an end's first CONNPROP. Return false if it is too long. */
bool record(struct rpcrdma_hostauth *auth, u32 role, u32 flags, const void *msg,
	    u32 length);

/* Server: handle the client's first CONNPROP. */
bool receive_hello(const v2::message &m, const struct prop_others *props);

/*
 * Send a request to the host, with an event. The meaning of the answer depends on the
 * state.
 */
void ask(struct rpcrdma_conn *conn, state next, u32 &events);

/* End the handshake; the connection goes on. */
void end(struct rpcrdma_conn *conn, enum rpcrdma_auth_result result);

/* ---- Groups ---- */

/* Return the length of a public value, 0 without a group. */
u32 public_octets(u32 group);

/* Check a public value of the peer. Without a group, it is empty. */
bool public_ok(u32 group, const u8 *y, u32 octets);

/* Choose one of the client's @groups. Return false if there is none in common. */
bool choose_group(struct rpcrdma_hostauth *auth, u32 groups);

/* Return what the host needs to compute. */
struct rpcrdma_auth_dh exchange_of(const struct rpcrdma_hostauth *auth,
				   bool client);

/* ---- Results ---- */

/* Return the reason that a server sends for a failure. */
u32 reason_of(enum rpcrdma_auth_result result);

/* Return a client's failure for the reason that a server has sent. */
enum rpcrdma_auth_result result_of(u32 reason);

/*
 * Return the status with which a client's tasks are woken after an attempt. After a
 * successful attempt they retry. Only the tasks of a mount wait for the first
 * connection: if that is refused, they end. Later tasks retry, because secrets may be
 * renewed.
 */
int wake_status(const struct rpcrdma_reconnect_walk *walk);

} // namespace rpcrdma::auth

#endif /* RPCRDMA_CORE_HOSTAUTH_HH */
