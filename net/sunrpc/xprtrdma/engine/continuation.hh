/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receiving continued messages (4.4.2, 6.2.2.2, WP 6): which sequence is
 * open, and which ones are discarded to their end.
 */
#ifndef RPCRDMA_ENGINE_CONTINUATION_HH
#define RPCRDMA_ENGINE_CONTINUATION_HH

#include "internal.hh"

namespace rpcrdma
{

/*
 * What tells one RPC message's parts from another's. The third item of WP 6,
 * the header type, is always RDMA2_MSG.
 */
struct sequence {
	u32 xid;
	u32 response; /* RDMA2_F_RESPONSE or 0 */
};

/* Is a sequence open, and is it @seq? */
static inline bool sequence_open(const struct rpcrdma_conn *conn,
				 const sequence &seq)
{
	return conn->rx_open && conn->rx_xid == seq.xid &&
	       conn->rx_response == seq.response;
}

static inline void open_sequence(struct rpcrdma_conn *conn, const sequence &seq,
				 u32 octets)
{
	conn->rx_open = 1;
	conn->rx_xid = seq.xid;
	conn->rx_response = seq.response;
	conn->rx_octets = octets;
}

/*
 * Discard what is still to come of @seq. There is room for the two sequences
 * of one break; of more the oldest is forgotten, and its parts will be refused
 * one by one.
 */
void discard_sequence(struct rpcrdma_conn *conn, const sequence &seq);

/* Are parts of @seq discarded? */
bool discarding(const struct rpcrdma_conn *conn, const sequence &seq);

/* The next message of this identity is a new one, if any is to be discarded. */
void end_discarding(struct rpcrdma_conn *conn, const sequence &seq);

} // namespace rpcrdma

#endif /* RPCRDMA_ENGINE_CONTINUATION_HH */
