/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replies that wait at the Responder to be pulled (WP 3.8), as receiving sees
 * them.
 */
#ifndef RPCRDMA_ENGINE_EXPOSURE_H
#define RPCRDMA_ENGINE_EXPOSURE_H

#include "internal.h"

namespace rpcrdma
{

/* The slot that a DONE for @xid is about; negative: none (DR 4.1.3). */
s32 find_done(const struct rpcrdma_conn *conn, u32 xid);

/* It came: no other one is for @slot, and no time limit holds. */
void take_done(struct rpcrdma_conn *conn, u32 slot);

} // namespace rpcrdma

#endif /* RPCRDMA_ENGINE_EXPOSURE_H */
