/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The account of Receives: how many there are, and which are posted when.
 *
 * A window begins small. It is doubled when the peer uses half of it, up to what
 * the configuration allows, and halved when for some time no more than an eighth
 * was used. What was advertised stays so: Receives beyond a smaller window are
 * let go of one by one, when the peer has used them.
 *
 * Receives that are free again are kept back until there are several to be
 * posted with one call; but not when the peer may get short of them (WP 3). All
 * that is decided about a window is decided when Receives are posted, and not
 * with each message.
 */
#ifndef RPCRDMA_ENGINE_RECEIVES_HH
#define RPCRDMA_ENGINE_RECEIVES_HH

#include "credits.hh"

namespace rpcrdma
{

/*
 * Is as much posted beside the reserve as must be for others to be kept back? With
 * this many, a grant that the peer needs is owed whatever came before (WP 3).
 */
static inline bool enough_posted(const struct rpcrdma_conn *conn)
{
	return available(conn) >= static_cast<s32>(conn->least_posted);
}

/* A message was received, and only a few more Receives are posted. */
u32 few_posted(struct rpcrdma_conn *conn);

/* A message was received and counted. Returns events. */
static inline u32 watch_receive(struct rpcrdma_conn *conn)
{
	return enough_posted(conn) ? 0 : few_posted(conn);
}

/* Are more Receives to be allocated than there are, or are being allocated? */
bool more_receives_due(const struct rpcrdma_conn *conn);

/* The window becomes another one: what is to be there for it */
void set_window(struct rpcrdma_conn *conn, u32 window);

/* A connection goes on with version 1. */
void open_window_v1(struct rpcrdma_conn *conn);

} // namespace rpcrdma

#endif /* RPCRDMA_ENGINE_RECEIVES_HH */
