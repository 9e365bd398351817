// SPDX-License-Identifier: GPL-2.0
#include "credits.h"

namespace rpcrdma
{

/*
 * WP 3.3 has two reasons for a grant: the limit has risen by half the window,
 * or the peer has no window left. Two things are added to that here, because
 * a Call may not take the last CALL_RESERVE messages of the window: a peer
 * that wants to make a Call is stuck long before it has no window left.
 *
 * First, the second reason also holds when only that reserve is left to the
 * peer, and granting would let a Call through. Otherwise, with half the
 * Receives held by Calls at work, small change below half the window could be
 * owed forever, and if those Calls wait for another one, forever it is.
 *
 * Second, "a grant is answered by a grant only when it took the last of its
 * sender's window" is read as the last that a Call could have used, provided
 * that the answer leaves room for a grant and a Call (available >= 4). Then
 * each grant costs two of the other direction before it is answered again, so
 * that two idle ends cannot keep each other busy.
 *
 * For the same reason the second one waits until Receives that are replaced at
 * once have been: a grant that gives less than there is to give would need
 * another one soon.
 */
bool grant_owed(const struct rpcrdma_conn *conn)
{
	const s32 could = available(conn) < RPCRDMA_MAX_CREDIT ?
				  available(conn) :
				  RPCRDMA_MAX_CREDIT;
	const s32 left = peer_left(conn);
	const s32 gain = could - left;
	const s32 half = static_cast<s32>(conn->cfg.window / 2);
	/* What is not merely the replacement of Receives used by grants */
	const s32 own = gain - static_cast<s32>(conn->grants_got);

	if (could < 0 || gain <= 0)
		return false;
	if (own >= half)
		return true;
	if (conn->unreplaced || left > CALL_RESERVE)
		return false;
	return left <= 0 || could >= CALL_RESERVE + 2 ||
	       (own > 0 && could > CALL_RESERVE);
}

bool take_credits(struct rpcrdma_conn *conn, const v2::prefix &prefix)
{
	const u32 credit = min_u32(prefix.credit, RPCRDMA_MAX_CREDIT);
	const u32 limit = prefix.received + credit;
	bool was_short;

	if (distance(conn->sent, prefix.received) > 0) {
		close_connection(conn, "peer counts messages never sent");
		return false;
	}

	/* It never moves back, whatever an older header meant. */
	if (distance(conn->limit, limit) <= 0)
		return false;
	was_short = window_left(conn) <= CALL_RESERVE;
	conn->limit = limit;
	return was_short;
}

} // namespace rpcrdma
