/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The differences of version 1 on a connection (RFC 8166, RFC 8167): its
 * credits, its messages, and that it needs no opening.
 *
 * Credits: each direction of Calls has a limit of outstanding Calls, one until
 * the first Reply was received; every Reply conveys a new limit, and may lower
 * it. Replies and errors need no credit.
 */
#ifndef RPCRDMA_CORE_VERSION1_HH
#define RPCRDMA_CORE_VERSION1_HH

#include "../wire/codec_v1.hh"

namespace rpcrdma::v1
{

/* Return the number of outstanding Calls that this end would use. */
static inline u32 wanted(const struct rpcrdma_conn *conn)
{
	return conn->cfg.client ? conn->cfg.window - conn->cfg.reverse :
				  conn->cfg.reverse;
}

/*
 * Return a client's Receives in addition to those for the Replies that are due
 * and the Calls that it has granted.
 */
static inline s32 receives_left(const struct rpcrdma_conn *conn)
{
	return distance(conn->received + conn->calls_unanswered + conn->granted,
			conn->posted);
}

/* The number of Receives that are posted together */
constexpr s32 FEW_RECEIVES = 8;

/*
 * Return true if a client has so few Receives posted for its next Calls that
 * none may be withheld.
 */
static inline bool few_left(const struct rpcrdma_conn *conn)
{
	return conn->cfg.client && receives_left(conn) <= FEW_RECEIVES;
}

/*
 * Return true if a Call may be sent. Each end also ensures that there is a Receive for
 * every Reply that is due, and for the Calls that it has granted. Some Receives may be
 * held: at a client by Replies, until their RPC's MRs are invalidated; at a server by
 * Calls, which use up the grant as well.
 */
static inline bool may_call(const struct rpcrdma_conn *conn)
{
	if (conn->calls_unanswered >= conn->call_limit)
		return false;
	return conn->cfg.client ?
		       receives_left(conn) > 0 :
		       conn->calls_unanswered + conn->granted < conn->receives;
}

/* Continue with version 1: there is nothing to negotiate. */
void open(struct rpcrdma_conn *conn);

/*
 * Update the grant after Receives were allocated. A grant is absolute, so it
 * never exceeds the number of Receives, and never decreases.
 */
void set_grant(struct rpcrdma_conn *conn);

/*
 * Return the length of the largest message to receive, if it is known: the peer
 * has announced its maximum (RFC 8797).
 */
u32 receive_size(const struct rpcrdma_conn *conn);

/*
 * Return true if a server's peer has not announced the size of its Receives: it
 * sent no private message (RFC 8797).
 */
static inline bool receives_unknown(const struct rpcrdma_conn *conn)
{
	return conn->version == RPCRDMA_VERS_1 && !conn->cfg.client &&
	       !conn->peer_private.valid;
}

/* Count a Call or Reply as sent and write the credit into its header. */
void stamp(struct rpcrdma_conn *conn, enum rpcrdma_kind kind, void *header);

/* Write an ERROR and count it as sent; returns its length. */
u32 send_error(struct rpcrdma_conn *conn, void *buf, u32 xid);

/* Process a message of version 1, as rpcrdma_conn_receive() does. */
enum rpcrdma_verdict receive(struct rpcrdma_conn *conn, const void *msg,
			     u32 length, struct rpcrdma_rx *rx);

/*
 * Fast-path test: return true for a Call or Reply without chunks that begins
 * correctly, and is not the first message on its connection. It needs no other
 * checks.
 */
bool is_plain(const struct rpcrdma_conn *conn, const void *msg, u32 length);
enum rpcrdma_verdict receive_plain(struct rpcrdma_conn *conn, const void *msg,
				   u32 length, struct rpcrdma_rx *rx);

/* rpcrdma_wants_extra_segs() for a message of version 1 to a server */
bool wants_more_segs(const void *msg, u32 length);

/* Return true if a Call provided @handle. */
bool handle_was_registered(const struct rpcrdma_lists *call_lists, u32 handle);

} // namespace rpcrdma::v1

#endif /* RPCRDMA_CORE_VERSION1_HH */
