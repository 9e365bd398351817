// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "continuation.hh"

namespace rpcrdma
{

static void forget(struct rpcrdma_conn *conn, u32 index)
{
	conn->nr_discard--;
	for (u32 i = index; i < conn->nr_discard; i++)
		conn->discard[i] = conn->discard[i + 1];
}

static s32 find_discarded(const struct rpcrdma_conn *conn, const sequence &seq)
{
	for (u32 i = 0; i < conn->nr_discard; i++) {
		if (conn->discard[i].xid == seq.xid &&
		    conn->discard[i].response == seq.response)
			return static_cast<s32>(i);
	}
	return -1;
}

void discard_sequence(struct rpcrdma_conn *conn, const sequence &seq)
{
	constexpr u32 room = sizeof(conn->discard) / sizeof(conn->discard[0]);

	if (find_discarded(conn, seq) >= 0)
		return;
	if (conn->nr_discard == room)
		forget(conn, 0);
	conn->discard[conn->nr_discard].xid = seq.xid;
	conn->discard[conn->nr_discard].response = seq.response;
	conn->nr_discard++;
}

bool discarding(const struct rpcrdma_conn *conn, const sequence &seq)
{
	return find_discarded(conn, seq) >= 0;
}

void end_discarding(struct rpcrdma_conn *conn, const sequence &seq)
{
	const s32 index = find_discarded(conn, seq);

	if (index >= 0)
		forget(conn, static_cast<u32>(index));
}

} // namespace rpcrdma
