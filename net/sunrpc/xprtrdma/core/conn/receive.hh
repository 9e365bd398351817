/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Shared by the parts of receiving: a message of version 2 that is being checked
 */
#ifndef RPCRDMA_CORE_RECEIVE_HH
#define RPCRDMA_CORE_RECEIVE_HH

#include "../wire/codec.hh"
#include "continuation.hh"

namespace rpcrdma
{

using verdict = enum rpcrdma_verdict;

/* Offset in bytes of the direction word in an RPC message, and its values */
constexpr u32 RPC_OFF_DIRECTION = 4;
constexpr u32 RPC_CALL = 0;
constexpr u32 RPC_REPLY = 1;

/* Drop a message. */
static inline verdict drop(struct rpcrdma_conn *conn)
{
	conn->counters.dropped++;
	return RPCRDMA_RX_CONSUMED;
}

namespace v2
{

/* One version 2 message that is being checked */
struct message {
	struct rpcrdma_conn *conn;
	const void *octets;
	u32 length;
	v2::prefix prefix;
	struct rpcrdma_rx *rx;

	bool flag(u32 bit) const
	{
		return prefix.flags & bit;
	}

	bool response() const
	{
		return flag(RDMA2_F_RESPONSE);
	}

	sequence identity() const
	{
		return { prefix.xid, prefix.flags & RDMA2_F_RESPONSE };
	}

	/* Return the reader for what follows the prefix. */
	xdr_reader body() const
	{
		return { octets, length, RPCRDMA_V2_PREFIX };
	}
};

/*
 * Send an ERROR to the sender of a Call, a CONNPROP or a message of unknown
 * type.
 */
static inline void answer(const message &m, fault wrong)
{
	push_pending(m.conn, m.prefix.xid, RDMA2_ERROR, wrong.code, wrong.arg,
		     0);
}

/* Receive RDMA2_MSG, and RDMA2_NOMSG that is not a credit grant. */
verdict receive_rpc(const message &m);

/*
 * Return true if a RDMA2_NOMSG is a credit grant (6.3.2, WP 2). With an xid it
 * is not, nor if it is too short.
 */
bool is_grant(const message &m);
verdict receive_grant(const message &m);

/* Receive a message of any other header type. */
verdict receive_control(const message &m);

} // namespace v2

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_RECEIVE_HH */
