// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving continued messages: the sequences that are discarded.
 *
 * Operation
 *
 * One sequence at most is open. If one of its messages is refused, if another message
 * interrupts it, or if there is no memory for it, its remaining messages may already be
 * on their way. They are discarded. Otherwise the next one would be taken for the first
 * message of another RPC, and cause one more ERROR. A sequence is identified by its xid
 * and its direction. Discarding it ends with its last message, or with a complete
 * message of the same identity, which is not discarded (receive_rpc.cc).
 *
 * Memory
 *
 * The entries are a part of the connection. The fragments themselves are assembled in
 * core/endpoint/arrivals.cc; here only their length is known.
 *
 * Errors
 *
 * No function fails. If a sender omits the rest of a sequence, the entry remains until
 * the same identity is used again, or later entries replace it. While there is an
 * entry, no message takes a fast path (receive.cc).
 *
 * Locking
 *
 * The caller holds the lock of the connection.
 */
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
