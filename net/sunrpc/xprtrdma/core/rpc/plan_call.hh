/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The plan of a Call with one chunk of one segment, as in large READs and WRITEs. The
 * endpoint has it inline. plan_call.cc has all other plans.
 */
#ifndef RPCRDMA_CORE_PLAN_CALL_HH
#define RPCRDMA_CORE_PLAN_CALL_HH

#include <rpcrdma/plan_call.h>

#include "../internal.hh"
#include "../wire/list_codec.hh"

namespace rpcrdma
{

/* Return true if the peer of @conn, which is open, uses chunks. */
static inline bool uses_chunks(const struct rpcrdma_conn *conn)
{
	return conn->peer.rssiz &&
	       __atomic_load_n(&conn->peer.rcsiz, __ATOMIC_RELAXED);
}

/*
 * Plan one message with @item in a chunk of one segment. The item fits into a segment,
 * and the connection uses chunks. Return false if the Call needs no chunk, or another
 * form: rpcrdma_plan_call().
 */
[[gnu::always_inline]] static inline bool
plan_item(const struct rpcrdma_conn *conn, const struct rpcrdma_call_item &item,
	  struct rpcrdma_call_plan *plan)
{
	constexpr u32 chunk = ONE_CHUNK_OCTETS - EMPTY_CHUNKS_OCTETS;
	const u32 send = rpcrdma_plain_send_room(conn);
	const u32 recv = rpcrdma_plain_recv_room(conn);
	u32 sent = item.length;

	if (!item.octets)
		return false;
	if (item.result) {
		const u64 result = roundup4(item.octets);

		if (item.reply_max <= recv)
			return false;
		if (result < item.reply_max &&
		    item.reply_max - result + chunk > recv)
			return false;
	} else {
		const u32 position = item.position;

		if (item.reply_max > recv || sent <= send ||
		    position < RPC_MIN_OCTETS || position % sizeof(u32) ||
		    position >= sent || item.octets > sent - position)
			return false;
		sent -= reduced_by(sent, position, item.octets);
	}
	if (sent + chunk > send)
		return false;
	plan->format = RPCRDMA_INLINE;
	plan->read_item = !item.result;
	plan->write_chunk = item.result;
	plan->reply_chunk = 0;
	plan->inline_length = sent;
	return true;
}

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_PLAN_CALL_HH */
