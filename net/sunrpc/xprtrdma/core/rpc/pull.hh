/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions for receiving a DONE: Replies that wait to be pulled (WP 8). */
#ifndef RPCRDMA_CORE_PULL_HH
#define RPCRDMA_CORE_PULL_HH

#include "../internal.hh"

namespace rpcrdma
{

/* Return the Reply that a DONE for @xid is about, or NULL (DR 4.1.3). */
struct rpcrdma_pull_entry *find_done(const struct rpcrdma_conn *conn, u32 xid);

/*
 * Process the DONE for @exposure: no other is accepted, and its time limit
 * ends.
 */
void take_done(struct rpcrdma_conn *conn, struct rpcrdma_pull_entry *exposure);

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_PULL_HH */
