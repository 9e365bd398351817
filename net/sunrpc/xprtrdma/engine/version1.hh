/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What version 1 does differently on a connection (RFC 8166, RFC 8167): its
 * credits, its messages, and that it needs no opening.
 *
 * Credits: each direction of Calls has a limit of Calls that may be without
 * their Reply, one until the first Reply came; every Reply tells it anew, and
 * may lower it. Replies and errors need no credit.
 */
#ifndef RPCRDMA_ENGINE_VERSION1_HH
#define RPCRDMA_ENGINE_VERSION1_HH

#include "codec_v1.hh"

namespace rpcrdma::v1
{

/* Calls that this end would like to have without Reply */
static inline u32 wanted(const struct rpcrdma_conn *conn)
{
	return conn->cfg.client ? conn->cfg.window - conn->cfg.reverse :
				  conn->cfg.reverse;
}

/*
 * A client's Receives beyond those for the Replies that are due and the Calls
 * that it has granted
 */
static inline s32 receives_left(const struct rpcrdma_conn *conn)
{
	return distance(conn->received + conn->calls_out + conn->granted,
			conn->posted);
}

/* As many Receives as are posted together */
constexpr s32 FEW_RECEIVES = 8;

/*
 * Return true if a client has so few Receives posted for its next Calls that none may be
 * kept back.
 */
static inline bool few_left(const struct rpcrdma_conn *conn)
{
	return conn->cfg.client && receives_left(conn) <= FEW_RECEIVES;
}

/*
 * May a Call be sent? Each end also sees to it that there is a Receive for every
 * Reply that is due, and for the Calls that it has granted. At a client some may
 * still be held by Replies that wait for their memory. At a server Calls hold
 * back Receives, but then they use up the grant.
 */
static inline bool may_call(const struct rpcrdma_conn *conn)
{
	if (conn->calls_out >= conn->call_limit)
		return false;
	return conn->cfg.client ?
		       receives_left(conn) > 0 :
		       conn->calls_out + conn->granted < conn->receives;
}

/* Go on with version 1: there is nothing to negotiate. */
void open(struct rpcrdma_conn *conn);

/*
 * There are more Receives. A grant is absolute, so it is never of more than there are,
 * and never of less than before.
 */
void set_grant(struct rpcrdma_conn *conn);

/*
 * Octets that a Receive has to take, as far as those of a peer's messages are known:
 * it has said how much it sends at most (RFC 8797).
 */
u32 receive_size(const struct rpcrdma_conn *conn);

/*
 * Return true if a server's peer has not said how large its Receives are: it sent no
 * private message (RFC 8797).
 */
static inline bool receives_unknown(const struct rpcrdma_conn *conn)
{
	return conn->version == RPCRDMA_VERS_1 && !conn->cfg.client &&
	       !conn->peer_private.valid;
}

/* Count a Call or Reply as sent and write the credit into its header. */
void stamp(struct rpcrdma_conn *conn, enum rpcrdma_kind kind, void *header);

/* Write an ERROR and count it as sent; returns its octets. */
u32 send_error(struct rpcrdma_conn *conn, void *buf, u32 xid);

/* Take a message of version 1, as rpcrdma_conn_receive() does. */
enum rpcrdma_verdict receive(struct rpcrdma_conn *conn, const void *msg,
			     u32 length, struct rpcrdma_rx *rx);

/*
 * Is it what nearly all messages are: a Call or Reply without chunks that begins as it
 * must, not the first one on its connection? Then it can be taken at once, with nothing
 * left to look at.
 */
bool is_plain(const struct rpcrdma_conn *conn, const void *msg, u32 length);
enum rpcrdma_verdict receive_plain(struct rpcrdma_conn *conn, const void *msg,
				   u32 length, struct rpcrdma_rx *rx);

/* rpcrdma_wants_more_segs() for a message of version 1 to a server */
bool wants_more_segs(const void *msg, u32 length);

/* Was @handle among those that a Call offered? */
bool handle_offered(const struct rpcrdma_lists *offered, u32 handle);

} // namespace rpcrdma::v1

#endif /* RPCRDMA_ENGINE_VERSION1_HH */
