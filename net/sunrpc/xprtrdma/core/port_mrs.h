/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port's part for MRs and pulled Replies; see port.h.
 */
#ifndef RPCRDMA_CORE_PORT_MRS_H
#define RPCRDMA_CORE_PORT_MRS_H

#include <rpcrdma/endpoint_mrs.h>

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
 * rpcrdma_port_mr_map - map memory to an MR
 * @core: connection
 * @mr: MR that is not mapped; its handle, length and offset are set
 * @pos: start of the memory; advanced
 * @octets: bytes of the memory, as many as an MR holds within its limits
 * @remote_write: the peer may write to the memory (else read)
 *
 * The handle and the offset differ from those of the previous mapping.
 * Context: no lock held, the teardown is held off.
 * Return: 0; -EIO if the MR holds less than the limits permit; or another negative errno.
 * On error nothing is mapped.
 */
int rpcrdma_port_mr_map(struct rpcrdma_ep_core *core, struct rpcrdma_mr *mr,
			struct rpcrdma_extent_pos *pos, u32 octets,
			bool remote_write);

/**
 * rpcrdma_port_chain_inv - add the invalidation of an MR to a chain
 * @inv: invalidation; inv->work.wrs.nr are chained already
 * @mr: MR that is exposed
 *
 * Context: no lock held.
 */
void rpcrdma_port_chain_inv(struct rpcrdma_inv *inv, struct rpcrdma_mr *mr);

/**
 * rpcrdma_port_mrs_unmap - unmap MRs
 * @core: connection
 * @mrs: list of MRs that are not exposed, not empty
 * @open: the teardown is held off; otherwise it may unmap them, too, and this may sleep
 *
 * Context: no lock held.
 */
void rpcrdma_port_mrs_unmap(struct rpcrdma_ep_core *core,
			    struct list_head *mrs, bool open);

/**
 * rpcrdma_port_invalidated - trace that the peer has invalidated an MR
 * @core: connection
 * @handle: the MR's
 *
 * Context: no lock held.
 */
void rpcrdma_port_invalidated(struct rpcrdma_ep_core *core, u32 handle);

/**
 * rpcrdma_port_overdue - log that a Reply was not pulled in time
 * @x: exposure, which is about to end
 *
 * Context: no lock held, the teardown is held off.
 */
void rpcrdma_port_overdue(const struct rpcrdma_pull_entry *x);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_MRS_H */
