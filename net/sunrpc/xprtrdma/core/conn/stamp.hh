/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Counting a message as sent and writing the credit into its header. The endpoint has this
 * inline, because each Call and each Reply needs it.
 */
#ifndef RPCRDMA_CORE_STAMP_HH
#define RPCRDMA_CORE_STAMP_HH

#include "../wire/codec_v2.hh"
#include "credits.hh"
#include "version1.hh"

namespace rpcrdma
{

/* Finish a message's header of version 2 and count it as sent. */
static inline void stamp(struct rpcrdma_conn *conn, void *header)
{
	const u32 credit = advertise(conn);

	v2::store_credits(span<RPCRDMA_V2_PREFIX, u8>{ header }, credit,
			  conn->received);
}

/*
 * Count a complete message, or the last one of a continued message, as sent,
 * and finish its header.
 */
[[gnu::always_inline]] static inline void
stamp_whole(struct rpcrdma_conn *conn, enum rpcrdma_kind kind, void *header)
{
	if (conn->version == RPCRDMA_VERS_1) [[unlikely]] {
		v1::stamp(conn, kind, header);
		return;
	}
	stamp(conn, header);
	conn->last_nongrant = conn->sent;
	conn->last_complete = conn->sent;
	conn->tx_open = 0;
}

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_STAMP_HH */
