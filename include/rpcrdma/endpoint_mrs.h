/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The MRs of an endpoint: which MR is used for which memory, and its state until it is
 * free again; and the Replies that the peer pulls from them. endpoint_send.h has struct
 * rpcrdma_ep_core, and defines "host".
 *
 * An MR is free, or in the list of a request. It is taken and mapped, exposed when the
 * message that names it is posted, and invalidated by the peer or by this end. Then it
 * is free again. The MRs of a connection are destroyed with it.
 *
 * The host's "lock for MRs" protects core->mrs. It may be taken while the connection's lock
 * is held. The list of a request belongs to the owner of the request, as do the MRs in it.
 *
 * Lengths and sizes are in bytes.
 */
#ifndef RPCRDMA_ENDPOINT_REGIONS_H
#define RPCRDMA_ENDPOINT_REGIONS_H

#include "endpoint_send.h"
#include "extent.h"
#include "pull.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Allocating MRs ---- */

/**
 * rpcrdma_core_mrs_make() - allocate the MRs that the pool wants, as far as the device
 *	has any
 * @core: connection
 *
 * The host calls this when rpcrdma_port_make_mrs() has requested it.
 * Context: no lock held, the teardown is held off; sleeps.
 */
void rpcrdma_core_mrs_make(struct rpcrdma_ep_core *core);

/* ---- Mapping ---- */

/**
 * rpcrdma_core_mrs_limits() - get the limits by which memory is split into MRs
 * @core: connection
 *
 * For callers that count the MRs they need. An outdated copy only costs a mapping that
 * is retried.
 * Context: any.
 * Return: the limits.
 */
static inline struct rpcrdma_mr_limits
rpcrdma_core_mrs_limits(const struct rpcrdma_ep_core *core)
{
	struct rpcrdma_mr_limits limits = core->mrs.limits;

	limits.octets = rpcrdma_conn_limits(&core->conn).max_segment;
	/* None is mapped for a peer that accepts no chunks, and 0 is not a valid limit. */
	if (!limits.octets)
		limits.octets = 0xffffffffu;
	return limits;
}

/**
 * rpcrdma_core_mrs_map() - map memory to MRs
 * @core: connection
 * @mrs: list of struct rpcrdma_mr
 * @pos: the memory, not empty
 * @remote_write: the peer may write to it; otherwise read it
 * @lists: chunk lists
 *
 * Append MRs to @mrs and, as segments, to the last chunk of @lists.
 * Context: no lock held, the teardown is held off.
 * Return: 0; -EAGAIN if no MR is free, or if the memory is to be split finer, write
 *	space will be notified; -EMSGSIZE if @lists is full; -EIO; or an errno of
 *	rpcrdma_port_mr_map(). On error @mrs keeps the MRs taken so far.
 */
int rpcrdma_core_mrs_map(struct rpcrdma_ep_core *core, struct list_head *mrs,
			 struct rpcrdma_extent_pos *pos, bool remote_write,
			 struct rpcrdma_lists *lists);

/**
 * rpcrdma_core_mrs_act() - execute the actions that follow a change of the pool of MRs
 * @core: connection
 * @todo: RPCRDMA_POOL_*
 *
 * Context: no lock held, the teardown is held off.
 */
void rpcrdma_core_mrs_act(struct rpcrdma_ep_core *core, u32 todo);

/**
 * rpcrdma_core_item_not_mapped() - report that memory could not be mapped to an MR
 * @core: connection
 * @offset: start of the memory, into a page
 * @octets: bytes of the memory, which continues in whole pages
 * @rc: errno of rpcrdma_port_mr_map()
 *
 * Context: no lock held, the teardown is held off.
 * Return: the errno that rpcrdma_core_mrs_map() returns.
 */
int rpcrdma_core_item_not_mapped(struct rpcrdma_ep_core *core, u32 offset,
				 u32 octets, int rc);

/* ---- Invalidation ---- */

/**
 * rpcrdma_core_mr_invalidated() - record that the peer has invalidated an exposed MR
 * @core: connection
 * @mr: the MR
 *
 * It is no longer exposed then.
 */
void rpcrdma_core_mr_invalidated(struct rpcrdma_ep_core *core,
				 struct rpcrdma_mr *mr);

/**
 * rpcrdma_core_mrs_invalidated() - record that the peer has invalidated a handle
 * @core: connection
 * @mrs: list of struct rpcrdma_mr
 * @handle: handle of the MR
 *
 * The MR is no longer exposed then.
 * Return: true if @handle belongs to an exposed MR in @mrs.
 */
bool rpcrdma_core_mrs_invalidated(struct rpcrdma_ep_core *core,
				  struct list_head *mrs, u32 handle);

/**
 * rpcrdma_core_mrs_exposed() - check if any MR in a list is exposed
 * @mrs: list of struct rpcrdma_mr
 *
 * Return: true if so.
 */
static inline bool rpcrdma_core_mrs_exposed(const struct list_head *mrs)
{
	const struct list_head *at;

	for (at = mrs->next; at != mrs; at = at->next)
		if (((const struct rpcrdma_mr *)at)->exposed)
			return true;
	return false;
}

/**
 * rpcrdma_core_mrs_invalidate() - invalidate the MRs in a list that are still exposed
 * @core: connection
 * @mrs: list of struct rpcrdma_mr
 * @inv: with work.chain and done() set
 *
 * @inv->done() is then called in process context, possibly before this returns. If its
 * argument is false, the connection is being closed, and the MRs are destroyed with it.
 * @mrs must stay in place until done() is called.
 * Context: no lock held; does not sleep.
 */
void rpcrdma_core_mrs_invalidate(struct rpcrdma_ep_core *core,
				 struct list_head *mrs,
				 struct rpcrdma_inv *inv);

/* ---- The end of a request ---- */

/**
 * rpcrdma_core_mrs_put() - unmap the MRs in a list, return them to the pool, and empty it
 * @core: connection
 * @mrs: list of struct rpcrdma_mr, none of which is exposed
 *
 * Write space may be notified for RPCs that wait for MRs.
 * Context: process context, no lock held; sleeps, briefly, only during the teardown.
 */
void rpcrdma_core_mrs_put(struct rpcrdma_ep_core *core, struct list_head *mrs);

/**
 * rpcrdma_core_mrs_free() - add MRs to those that are free
 * @core: connection
 * @mrs: list of struct rpcrdma_mr, which are unmapped
 *
 * Context: lock of the MRs held.
 * Return: RPCRDMA_POOL_*, for rpcrdma_core_mrs_act().
 */
u32 rpcrdma_core_mrs_free(struct rpcrdma_ep_core *core, struct list_head *mrs);

/* ---- Replies that the peer pulls (WP 8) ---- */

/**
 * struct rpcrdma_mr_wait - the wait of a Reply for MRs
 * @begun: it has been tried before
 * @begun_ms: when it was first tried
 * @seq: notifications before the last attempt
 * @ms: milliseconds to wait before the next attempt, unless
 *	rpcrdma_core_expose_due() returns true before; 0: do not try again
 *
 * Zero it to begin. The host reads @ms only.
 */
struct rpcrdma_mr_wait {
	bool begun;
	u32 begun_ms;
	u32 seq;
	u32 ms;
};

/**
 * rpcrdma_core_expose() - prepare a Reply to be pulled, and complete its plan
 * @core: connection
 * @x: with release(), and inv.work.chain, which the host has set
 * @xid: XID of the RPC
 * @pos: the start of the memory of its Payload stream
 * @plan: plan of the Reply, which has a read_length
 * @wait: returns in @wait->ms how long to wait for MRs that are missing
 *
 * On error the caller keeps @x.
 * Context: no lock held; does not sleep.
 * Return: 0: attach @x to a Send or call rpcrdma_core_expose_cancel(), the teardown is
 *	held off until then; -EAGAIN if MRs are missing; or another negative errno.
 *	plan->error is set if the peer must be notified.
 */
int rpcrdma_core_expose(struct rpcrdma_ep_core *core,
			struct rpcrdma_pull_entry *x, u32 xid,
			struct rpcrdma_extent_pos *pos,
			struct rpcrdma_reply_plan *plan,
			struct rpcrdma_mr_wait *wait);

/**
 * rpcrdma_core_expose_due() - check if a Reply that waits should be tried again at once
 * @core: connection
 * @wait: its wait
 *
 * The value may change when rpcrdma_port_mrs_notified() is called, and when the connection
 * closes.
 * Context: any.
 * Return: true if MRs may be available, or if the connection is closing.
 */
bool rpcrdma_core_expose_due(const struct rpcrdma_ep_core *core,
			     const struct rpcrdma_mr_wait *wait);

/**
 * rpcrdma_core_expose_cancel() - cancel a Reply to be pulled that was not sent
 * @x: the Reply
 *
 * x->release() is not called.
 * Context: no lock held.
 */
void rpcrdma_core_expose_cancel(struct rpcrdma_pull_entry *x);

/**
 * rpcrdma_core_exposed_overdue() - end the exposures that have not been pulled in time
 *	(DR 4.1.3)
 * @core: connection
 *
 * The host calls this when rpcrdma_port_arm_overdue() has requested it.
 * Context: no lock held.
 */
void rpcrdma_core_exposed_overdue(struct rpcrdma_ep_core *core);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_REGIONS_H */
