// SPDX-License-Identifier: GPL-2.0
#include "credits.h"

namespace rpcrdma
{

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
