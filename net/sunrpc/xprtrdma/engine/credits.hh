/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Credit windows (WP 3): how many messages may be sent, how many the peer
 * is told it may send, and when it has to be told more.
 *
 * All counts wrap at 2^32 and are compared by distance only.
 */
#ifndef RPCRDMA_ENGINE_CREDITS_HH
#define RPCRDMA_ENGINE_CREDITS_HH

#include "codec_v2.hh"

namespace rpcrdma
{

/* Messages this end may still send, grants from the reserve aside */
static inline s32 window_left(const struct rpcrdma_conn *conn)
{
	return distance(conn->sent, conn->limit);
}

/*
 * Does the window leave room for a Call, or a part of one? Not its last
 * CALL_RESERVE messages. Grants that the peer has not counted yet, if nothing
 * else is uncounted, are looked upon as not sent: their Receives are replaced
 * at once, but no grant needs to tell of that.
 */
static inline bool room_for_call(const struct rpcrdma_conn *conn)
{
	const s32 left = window_left(conn);

	if (left > CALL_RESERVE)
		return true;
	return left > 0 && distance(conn->said, conn->counted) >= 0 &&
	       distance(conn->counted, conn->limit) > CALL_RESERVE;
}

/*
 * Messages the peer could be allowed beyond those received: one Receive stays
 * in reserve for its grant. -1: the reserve itself is used up, and no header
 * may be sent because none could keep the invariant.
 */
static inline s32 available(const struct rpcrdma_conn *conn)
{
	return distance(conn->received + 1, conn->posted);
}

/* Messages the peer may still send, as far as this end has told it */
static inline s32 peer_left(const struct rpcrdma_conn *conn)
{
	return distance(conn->received, conn->advertised);
}

/*
 * Count a message as sent and take note of what its header advertises, which
 * is returned. Only if available() >= 0.
 */
static inline u32 advertise(struct rpcrdma_conn *conn)
{
	const u32 credit =
		min_u32(static_cast<u32>(available(conn)), RPCRDMA_MAX_CREDIT);

	conn->sent++;
	conn->advertised = conn->received + credit;
	/*
	 * What only replaces Receives of grants from now on is not news. But
	 * this header has counted those that are still to be replaced.
	 */
	conn->grants_unreplaced = 0;
	conn->moved = 0;
	return credit;
}

/*
 * Is more posted than the peer was told of? As a rule it is not: each header tells of
 * all there is, but for more than can be told.
 */
static inline bool limit_can_rise(const struct rpcrdma_conn *conn)
{
	return distance(conn->advertised + 1, conn->posted) > 0;
}

/*
 * Must the peer be told of a higher limit without delay?
 *
 * The rule for grants of WP 3, which both ends follow. Two things make it what
 * it is.
 *
 * A Call may not take the last CALL_RESERVE messages of the window: a peer that
 * wants to make one is stuck long before it has no window left. So a grant is
 * owed as soon as only these are left and the limit can rise, by however
 * little: the Calls that hold the other Receives may wait for that Call.
 *
 * And a grant takes a Receive as well, whose replacement the peer does not know
 * of. If grants answered each other without restraint, two ends that can take
 * but one Call each would do nothing else. So grants alone are answered only
 * where that leads to no further answer: because the peer had to send two for
 * it, or because this end keeps enough window for a Call of its own. Where a
 * grant stays without an answer, its sender may count on that replacement:
 * room_for_call().
 *
 * While Receives that will be free at once are not, a grant would give less
 * than there is to give, and need another one soon. Those that are kept back
 * make no difference: may_keep().
 */
static inline bool grant_owed(const struct rpcrdma_conn *conn)
{
	const s32 could = available(conn) < RPCRDMA_MAX_CREDIT ?
				  available(conn) :
				  RPCRDMA_MAX_CREDIT;
	const s32 left = peer_left(conn);
	const s32 gain = could - left;
	const s32 half = static_cast<s32>(conn->window / 2);

	if (!limit_can_rise(conn))
		return false;
	if (could < 0 || gain <= 0 || conn->grants_unreplaced)
		return false;
	if (gain >= half && conn->moved)
		return true;
	if (left > CALL_RESERVE || conn->unreplaced)
		return false;
	if (conn->moved || left <= 0 || could > CALL_RESERVE + 1)
		return true;
	return could > CALL_RESERVE && window_left(conn) > CALL_RESERVE + 1;
}

/*
 * What a connection mostly is: open, with version 2, own properties told, and no
 * control message waits. A compiler compares the four at once.
 */
[[gnu::always_inline]] static inline bool
is_settled(const struct rpcrdma_conn *conn)
{
	return conn->state == RPCRDMA_CONN_OPEN &&
	       conn->version == RPCRDMA_VERS_2 && conn->props_sent == 1 &&
	       conn->pend_count == 0;
}

/*
 * May Calls be waiting for window? Then a header that is received may let them be
 * tried again.
 */
static inline bool is_short_of_window(const struct rpcrdma_conn *conn)
{
	return window_left(conn) <= CALL_RESERVE;
}

/* Take the credit fields of a received header. False: a violation; it closes. */
[[gnu::always_inline]] static inline bool
take_credits(struct rpcrdma_conn *conn, const v2::prefix &prefix)
{
	const u32 credit = min_u32(prefix.credit, RPCRDMA_MAX_CREDIT);
	/* From what is counted: a header's own count may be any number behind it. */
	const s32 ahead = distance(conn->counted, prefix.received) +
			  static_cast<s32>(credit);

	if (distance(conn->sent, prefix.received) > 0) {
		close_connection(conn, "peer counts messages never sent");
		return false;
	}

	/* Neither moves back, whatever an older header meant. */
	if (distance(conn->counted, conn->limit) < ahead)
		conn->limit = prefix.received + credit;
	if (distance(conn->counted, prefix.received) > 0)
		conn->counted = prefix.received;
	return true;
}

} // namespace rpcrdma

#endif /* RPCRDMA_ENGINE_CREDITS_HH */
