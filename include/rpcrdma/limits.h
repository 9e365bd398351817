/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Limits for messages to the peer of a connection.
 */
#ifndef RPCRDMA_LIMITS_H
#define RPCRDMA_LIMITS_H

#include "conn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits for messages to the peer of an open connection, WP 5 */
struct rpcrdma_conn_limits {
	u32 send_inline;		/* bytes, inline threshold outbound */
	u32 recv_inline;		/* bytes, inline threshold inbound */
	u32 max_segment;		/* bytes per segment; 0: no chunks */
	u32 max_segs;			/* segments in a message; 0: no chunks */
	u32 continued;			/* bytes the peer reassembles; 0: none */
};

/**
 * rpcrdma_conn_limits() - get the limits of a connection that is open
 * @conn: connection
 *
 * Return: the limits.
 */
static inline struct rpcrdma_conn_limits
rpcrdma_conn_limits(const struct rpcrdma_conn *conn)
{
	const struct rpcrdma_props *own = &conn->cfg.props;
	const struct rpcrdma_props *peer = &conn->peer;
	/* A SEGMENTS error lowers it concurrently. */
	const u32 rcsiz = __atomic_load_n(&peer->rcsiz, __ATOMIC_RELAXED);
	/* The peer may accept chunks that this end has no MRs for. */
	const bool chunks = peer->rssiz && rcsiz && !conn->cfg.no_mrs;
	struct rpcrdma_conn_limits limits;

	limits.send_inline =
		own->sbsiz < peer->rbsiz ? own->sbsiz : peer->rbsiz;
	limits.recv_inline =
		peer->sbsiz < own->rbsiz ? peer->sbsiz : own->rbsiz;
	limits.max_segment = chunks ? peer->rssiz : 0;
	limits.max_segs = chunks ? rcsiz : 0;
	if (limits.max_segs > RPCRDMA_MAX_SEGS)
		limits.max_segs = RPCRDMA_MAX_SEGS;
	/* Each segment is an MR, registered by the same chain of Work Requests. */
	if (conn->message_mrs && limits.max_segs > conn->message_mrs)
		limits.max_segs = conn->message_mrs;
	limits.continued = peer->reassembly;
	return limits;
}

/**
 * rpcrdma_plain_header() - get the length of a header without chunks
 * @conn: connection
 *
 * Return: the length.
 */
static inline u32 rpcrdma_plain_header(const struct rpcrdma_conn *conn)
{
	return conn->version == RPCRDMA_VERS_1 ? RPCRDMA_V1_PLAIN_HEADER :
						 RPCRDMA_V2_PLAIN_HEADER;
}

/**
 * rpcrdma_plain_send_room() - get the bytes that fit inline after a header without
 *	chunks in a Send
 * @conn: connection
 *
 * Return: bytes of payload.
 */
static inline u32 rpcrdma_plain_send_room(const struct rpcrdma_conn *conn)
{
	const u32 own = conn->cfg.props.sbsiz, peer = conn->peer.rbsiz;

	/* No threshold is shorter than a header. */
	return (own < peer ? own : peer) - rpcrdma_plain_header(conn);
}

/**
 * rpcrdma_plain_recv_room() - get the bytes that fit inline after a header without
 *	chunks in a Receive
 * @conn: connection
 *
 * Return: bytes of payload.
 */
static inline u32 rpcrdma_plain_recv_room(const struct rpcrdma_conn *conn)
{
	const u32 own = conn->cfg.props.rbsiz, peer = conn->peer.sbsiz;

	return (own < peer ? own : peer) - rpcrdma_plain_header(conn);
}

/**
 * rpcrdma_reverse_payload() - get the length of the largest RPC message of the reverse
 *	direction
 * @conn: an open connection; NULL if there is none
 * @buffer: bytes that the host has for a Call, and for a Reply
 *
 * Of a Call or a Reply that can be conveyed without chunks, at the level that this
 * client announced (5.2.5), and fits @buffer.
 * Return: bytes; without a connection, what any of them, of either version, can convey.
 */
u32 rpcrdma_reverse_payload(const struct rpcrdma_conn *conn, u32 buffer);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_LIMITS_H */
