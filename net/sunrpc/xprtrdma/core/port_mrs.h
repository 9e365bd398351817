/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port's part for MRs and pulled Replies; see port.h. "The lock" is the one for MRs
 * (endpoint_regions.h).
 */
#ifndef RPCRDMA_CORE_PORT_MRS_H
#define RPCRDMA_CORE_PORT_MRS_H

#include <rpcrdma/endpoint_regions.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_port_mr - allocate an MR
 * @core: connection
 *
 * Context: no lock held, the teardown is held off; may sleep.
 * Return: the MR, of which the core's part is zeroed, or NULL if the device has none.
 */
struct rpcrdma_mr *rpcrdma_port_mr(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_mrs_want - take the lock and call rpcrdma_mr_pool_to_allocate()
 * @core: connection
 *
 * Context: no lock held.
 * Return: the number of MRs to allocate.
 */
u32 rpcrdma_port_mrs_want(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_mrs_made - take the lock and call rpcrdma_core_mrs_made()
 * @core: connection
 * @first: MRs that were allocated, chained by next, or NULL
 * @last: the last one of these
 * @count: their number
 *
 * Context: no lock held.
 * Return: as rpcrdma_core_mrs_made() does.
 */
u32 rpcrdma_port_mrs_made(struct rpcrdma_ep_core *core,
			  struct rpcrdma_mr *first, struct rpcrdma_mr *last,
			  u32 count);

/**
 * rpcrdma_port_make_mrs - call rpcrdma_core_mrs_make() after a time
 * @core: connection, for which no call is arranged
 * @ms: milliseconds at least
 *
 * Context: no lock held, the teardown is held off.
 */
void rpcrdma_port_make_mrs(struct rpcrdma_ep_core *core, u32 ms);

/**
 * rpcrdma_port_mrs_short - log that the device has no MRs left
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_mrs_short(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_mrs_notified - wake the host's contexts that wait for core->mrs.notify_seq
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_mrs_notified(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_mr_take - take the lock and call rpcrdma_core_mr_take()
 * @core: connection
 * @todo: as for rpcrdma_core_mr_take()
 *
 * Context: no lock held, the teardown is held off.
 * Return: an MR, or NULL if none is free.
 */
struct rpcrdma_mr *rpcrdma_port_mr_take(struct rpcrdma_ep_core *core,
					u32 *todo);

/**
 * rpcrdma_port_mr_map - map as much memory to an MR as it holds
 * @core: connection
 * @mr: MR that is not mapped; its handle, length and offset are set
 * @limits: limits for it
 * @pos: position in the memory, which is not at its end; advanced
 * @remote_write: the peer may write to the memory (else read)
 *
 * The handle and the offset differ from those of the previous mapping.
 * Context: no lock held, the teardown is held off.
 * Return: 1 if there is more memory, 0 if there is not; -EIO if the MR holds less than
 * the limits permit; or another negative errno. On error nothing is mapped.
 */
int rpcrdma_port_mr_map(struct rpcrdma_ep_core *core, struct rpcrdma_mr *mr,
			const struct rpcrdma_mr_limits *limits,
			struct rpcrdma_extent_pos *pos, bool remote_write);

/**
 * rpcrdma_port_mrs_finer - take the lock and call rpcrdma_mr_limits_reduce()
 * @core: connection
 * @used: limits with which an MR was mapped
 *
 * Context: no lock held.
 * Return: as rpcrdma_mr_limits_reduce() does for core->mrs.limits.
 */
bool rpcrdma_port_mrs_finer(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_mr_limits *used);

/**
 * rpcrdma_port_chain_inv - add the invalidation of an MR to a chain
 * @inv: invalidation; inv->work.wrs.nr are chained already
 * @mr: MR that is exposed
 *
 * Context: no lock held.
 */
void rpcrdma_port_chain_inv(struct rpcrdma_inv *inv, struct rpcrdma_mr *mr);

/**
 * rpcrdma_port_mrs_put - take the lock and call rpcrdma_core_mrs_put()
 * @core: connection
 * @mrs: list of MRs that are not exposed, or an empty list
 *
 * Unmaps the MRs before, and passes the result to rpcrdma_core_mrs_run_actions().
 * Context: no lock held.
 */
void rpcrdma_port_mrs_put(struct rpcrdma_ep_core *core, struct list_head *mrs);

/**
 * rpcrdma_port_invalidated - trace that the peer has invalidated an MR
 * @core: connection
 * @handle: the MR's
 *
 * Context: no lock held.
 */
void rpcrdma_port_invalidated(struct rpcrdma_ep_core *core, u32 handle);

/* ---- Replies that the peer pulls; "the lock" here is the connection's ---- */

/**
 * rpcrdma_port_expose - take the lock and call rpcrdma_pull_reserve()
 * @core: connection
 * @x: exposure
 * @xid: of the Reply
 * @plan: its plan
 *
 * Context: no lock held, the teardown is held off.
 * Return: as rpcrdma_pull_reserve() does.
 */
int rpcrdma_port_expose(struct rpcrdma_ep_core *core,
			struct rpcrdma_pull_entry *x, u32 xid,
			struct rpcrdma_reply_plan *plan);

/**
 * rpcrdma_port_unexpose - take the lock and call rpcrdma_pull_cancel()
 * @core: connection
 * @x: exposure
 *
 * Context: no lock held.
 */
void rpcrdma_port_unexpose(struct rpcrdma_ep_core *core,
			   struct rpcrdma_pull_entry *x);

/**
 * rpcrdma_port_next_overdue - take the lock and call rpcrdma_core_next_overdue()
 * @core: connection
 *
 * Logs the exposure that is returned.
 * Context: no lock held, the teardown is held off.
 * Return: as rpcrdma_core_next_overdue() does.
 */
struct rpcrdma_pull_entry *
rpcrdma_port_next_overdue(struct rpcrdma_ep_core *core);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_MRS_H */
