/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The number of Receives, and when they are posted.
 *
 * A window begins small. It is doubled when the peer uses half of it, up to the
 * configured maximum, and halved when for some time no more than an eighth was
 * used. Credit that was advertised is not withdrawn: Receives in excess of a
 * smaller window are freed one by one, when the peer has used them.
 *
 * Free Receives are withheld until several can be posted with one call; but not
 * if the peer may run short of credit (WP 3). All decisions about a window are
 * made when Receives are posted, and not with each message.
 */
#ifndef RPCRDMA_CORE_RECEIVE_POOL_HH
#define RPCRDMA_CORE_RECEIVE_POOL_HH

#include "credits.hh"

namespace rpcrdma
{

/*
 * Return true if enough Receives are posted, in addition to the reserve, for
 * others to be withheld. With this many, a credit grant that the peer needs is
 * owed in any case (WP 3).
 */
static inline bool enough_posted(const struct rpcrdma_conn *conn)
{
	return available(conn) >= static_cast<s32>(conn->least_posted);
}

/*
 * Handle a received message while few more Receives are posted. Returns events.
 */
u32 few_posted(struct rpcrdma_conn *conn);

/* Handle a message that was received and counted. Returns events. */
static inline u32 watch_receive(struct rpcrdma_conn *conn)
{
	return enough_posted(conn) ? 0 : few_posted(conn);
}

/* Return true if Receives are to be allocated, and none are being allocated. */
bool more_receives_due(const struct rpcrdma_conn *conn);

/* Set the window, and the number of Receives for it. */
void set_window(struct rpcrdma_conn *conn, u32 window);

/* Set the window of a connection that continues with version 1. */
void open_window_v1(struct rpcrdma_conn *conn);

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_RECEIVE_POOL_HH */
