/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receiving continued messages (4.4.2, 6.2.2.2, WP 6): which sequence is
 * open, and which ones are discarded to their end.
 */
#ifndef RPCRDMA_CORE_CONTINUATION_HH
#define RPCRDMA_CORE_CONTINUATION_HH

#include "../internal.hh"

namespace rpcrdma
{

/*
 * The identity of a continued message. The third item of WP 6, the header type,
 * is always RDMA2_MSG.
 */
struct sequence {
	u32 xid;
	u32 response; /* RDMA2_F_RESPONSE or 0 */
};

/* Return true if a continued message is open, and is @seq. */
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
 * Discard the rest of @seq. There is space for the two sequences of one interruption.
 * If there are more, the oldest one is forgotten, and its remaining messages are
 * refused one by one.
 */
void discard_sequence(struct rpcrdma_conn *conn, const sequence &seq);

/* Return true if messages of @seq are being discarded. */
bool discarding(const struct rpcrdma_conn *conn, const sequence &seq);

/* Stop discarding @seq: its next message begins a new one. */
void end_discarding(struct rpcrdma_conn *conn, const sequence &seq);

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_CONTINUATION_HH */
