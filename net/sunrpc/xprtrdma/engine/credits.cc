// SPDX-License-Identifier: GPL-2.0
#include "credits.h"

namespace rpcrdma
{

/*
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
 * While Receives that are replaced at once have not been, a grant would give
 * less than there is to give, and need another one soon.
 */
bool grant_owed(const struct rpcrdma_conn *conn)
{
	const s32 could = available(conn) < RPCRDMA_MAX_CREDIT ?
				  available(conn) :
				  RPCRDMA_MAX_CREDIT;
	const s32 left = peer_left(conn);
	const s32 gain = could - left;
	const s32 half = static_cast<s32>(conn->cfg.window / 2);

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

bool take_credits(struct rpcrdma_conn *conn, const v2::prefix &prefix)
{
	const u32 credit = min_u32(prefix.credit, RPCRDMA_MAX_CREDIT);
	const u32 limit = prefix.received + credit;
	const bool was_short = window_left(conn) <= CALL_RESERVE;
	const bool had_room = was_short && room_for_call(conn);
	bool risen = false;

	if (distance(conn->sent, prefix.received) > 0) {
		close_connection(conn, "peer counts messages never sent");
		return false;
	}

	/* Neither moves back, whatever an older header meant. */
	if (distance(conn->counted, prefix.received) > 0)
		conn->counted = prefix.received;
	if (distance(conn->limit, limit) > 0) {
		conn->limit = limit;
		risen = true;
	}
	return was_short && (risen || (!had_room && room_for_call(conn)));
}

} // namespace rpcrdma
