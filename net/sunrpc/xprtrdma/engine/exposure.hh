/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replies that wait at the Responder to be pulled (WP 8), as receiving sees
 * them.
 */
#ifndef RPCRDMA_ENGINE_EXPOSURE_HH
#define RPCRDMA_ENGINE_EXPOSURE_HH

#include "internal.hh"

namespace rpcrdma
{

/* What a DONE for @xid is about, or NULL (DR 4.1.3) */
struct rpcrdma_exposure *find_done(const struct rpcrdma_conn *conn, u32 xid);

/* It came: no other one is for @exposure, and no time limit holds. */
void take_done(struct rpcrdma_conn *conn, struct rpcrdma_exposure *exposure);

} // namespace rpcrdma

#endif /* RPCRDMA_ENGINE_EXPOSURE_HH */
