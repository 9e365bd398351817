/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Credits (WP 3): the numbers of messages that this end and its peer may send,
 * and the rule for credit grants.
 *
 * All counts wrap at 2^32 and are compared by distance only. conn->window is a
 * number of Receives; window_left() is the number of messages that this end may
 * send.
 */
#ifndef RPCRDMA_CORE_CREDITS_HH
#define RPCRDMA_CORE_CREDITS_HH

#include "../wire/codec_v2.hh"

namespace rpcrdma
{

/*
 * Return the number of messages that this end may still send, not counting credit grants
 * from the reserve.
 */
static inline s32 window_left(const struct rpcrdma_conn *conn)
{
	return distance(conn->sent, conn->limit);
}

/*
 * Return true if there is credit for a Call, or a message of a continued one.
 * The last CALL_RESERVE messages of the window do not count. Credit grants that
 * the peer has not acknowledged yet, if nothing else is unacknowledged, count
 * as not sent: their Receives are replaced at once, but no credit grant needs
 * to report that.
 */
static inline bool room_for_call(const struct rpcrdma_conn *conn)
{
	const s32 left = window_left(conn);

	if (left > CALL_RESERVE)
		return true;
	return left > 0 && distance(conn->last_nongrant, conn->acked) >= 0 &&
	       distance(conn->acked, conn->limit) > CALL_RESERVE;
}

/*
 * Return the number of messages that the peer could be permitted beyond those received:
 * one Receive stays in reserve for its credit grant. -1: the reserve itself is
 * used up, and no header may be sent because none could keep the invariant.
 */
static inline s32 available(const struct rpcrdma_conn *conn)
{
	return distance(conn->received + 1, conn->posted);
}

/*
 * Return the number of messages that the peer may still send, as last advertised to it.
 */
static inline s32 peer_left(const struct rpcrdma_conn *conn)
{
	return distance(conn->received, conn->advertised);
}

/*
 * Count a message as sent and record the credit that its header advertises,
 * which is returned. Only if available() >= 0.
 */
static inline u32 advertise(struct rpcrdma_conn *conn)
{
	const u32 credit =
		min_u32(static_cast<u32>(available(conn)), RPCRDMA_MAX_CREDIT);

	conn->sent++;
	conn->advertised = conn->received + credit;
	/*
	 * Freeing the Receive of a grant that arrives after this header is no reason for
	 * another grant. For earlier grants it is: the header counts the grants, but not
	 * these Receives.
	 */
	conn->grant_recvs_to_free = 0;
	conn->recvs_freed = 0;
	return credit;
}

/*
 * Return true if more Receives are posted than were advertised. False in the
 * fast path: each header advertises all, up to the maximum credit.
 */
static inline bool limit_can_rise(const struct rpcrdma_conn *conn)
{
	return distance(conn->advertised + 1, conn->posted) > 0;
}

/*
 * Return true if a credit grant must be sent without delay. Both ends follow this rule
 * (WP 3).
 *
 * Why a grant is owed: a peer cannot send a Call if only the last CALL_RESERVE messages
 * of its window are left, and the Calls that hold the other Receives may be waiting
 * for that Call. Therefore a grant is owed when only these messages are left and the
 * limit can rise at all. It is owed earlier if the limit can rise by half a window.
 *
 * Why a grant alone is not always answered: a credit grant uses a Receive, and the peer
 * does not learn of its replacement. If each grant were answered by another one, two
 * ends with Receives for one Call each would exchange nothing else. So a grant alone is
 * answered only if that ends the exchange: because the peer had to send two to get the
 * answer, or because this end keeps enough window for a Call of its own. The sender of
 * a grant that is not answered may rely on the replacement: room_for_call().
 *
 * Otherwise no grant is owed while Receives are about to become free: it would convey
 * less than possible, and need another one soon. Withheld Receives never leave the peer
 * short of credit: may_withhold().
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
	if (could < 0 || gain <= 0 || conn->grant_recvs_to_free)
		return false;
	if (gain >= half && conn->recvs_freed)
		return true;
	if (left > CALL_RESERVE || conn->recvs_to_free)
		return false;
	if (conn->recvs_freed || left <= 0 || could > CALL_RESERVE + 1)
		return true;
	return could > CALL_RESERVE && window_left(conn) > CALL_RESERVE + 1;
}

/*
 * Return true in the usual state of a connection: open, with version 2, this
 * end's properties sent, and no control message queued. The compiler compares
 * the four as one word.
 */
[[gnu::always_inline]] static inline bool
is_settled(const struct rpcrdma_conn *conn)
{
	return conn->state == RPCRDMA_CONN_OPEN &&
	       conn->version == RPCRDMA_VERS_2 && conn->props_sent == 1 &&
	       conn->pend_count == 0;
}

/*
 * Return true if Calls may be waiting for credit. In that case a received
 * header may permit a retry.
 */
static inline bool is_short_of_window(const struct rpcrdma_conn *conn)
{
	return window_left(conn) <= CALL_RESERVE;
}

/*
 * rpcrdma_conn_may_send() of a Call or a Reply, with the fast path inline: the opening is
 * complete, and the window is open. The messages of a continued message need the window,
 * too, but their order is not checked here.
 */
[[gnu::always_inline]] static inline bool
may_send_rpc(const struct rpcrdma_conn *conn, enum rpcrdma_kind kind)
{
	if (is_settled(conn) && !conn->tx_open &&
	    window_left(conn) > CALL_RESERVE && available(conn) >= 0) [[likely]]
		return true;
	return rpcrdma_conn_may_send(conn, kind);
}

/*
 * Process the credit fields of a received header. Returns false after a
 * violation, which closes the connection.
 */
[[gnu::always_inline]] static inline bool
take_credits(struct rpcrdma_conn *conn, const v2::prefix &prefix)
{
	const u32 credit = min_u32(prefix.credit, RPCRDMA_MAX_CREDIT);

	if (distance(conn->sent, prefix.received) > 0) {
		close_connection(
			conn,
			"the peer acknowledged messages that were never sent");
		return false;
	}

	/*
	 * Relative to conn->acked: the header's own count may be older by any number. It
	 * is not far ahead, or the sum could overflow.
	 */
	const s32 ahead = distance(conn->acked, prefix.received) +
			  static_cast<s32>(credit);

	/* Neither moves back, even if an older header arrives later. */
	if (distance(conn->acked, conn->limit) < ahead)
		conn->limit = prefix.received + credit;
	if (distance(conn->acked, prefix.received) > 0)
		conn->acked = prefix.received;
	return true;
}

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_CREDITS_HH */
