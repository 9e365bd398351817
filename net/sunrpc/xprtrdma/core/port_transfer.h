/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port of transfers: functions that core/endpoint/transfer.cc calls in addition to
 * those in port.h, which defines "lock held".
 */
#ifndef RPCRDMA_CORE_PORT_TRANSFER_H
#define RPCRDMA_CORE_PORT_TRANSFER_H

#include <rpcrdma/endpoint_transfer.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_port_part - allocate a part of a transfer
 * @t: transfer
 * @pos: start of the memory of this end, which is long enough
 * @pages: pages of that memory, at most the elements that it needs
 * @segment: memory of the peer; its length is that of the part
 * @prepare: prepare the part, too, as rpcrdma_port_prepare() does
 * @part: returns the part, with the core's fields zeroed except for elements; is not set
 *	if there is none
 *
 * Context: no lock held, the teardown is held off; may sleep.
 * Return: the Work Requests that it needs, 0 if it is not prepared. Or, with a part, an
 * errno of rpcrdma_port_prepare(). Or, without one, -ENOMEM; -EFAULT if memory is missing;
 * -ERANGE if the device's MR cannot hold the part.
 */
int rpcrdma_port_part(struct rpcrdma_transfer *t,
		      const struct rpcrdma_extent_pos *pos, u32 pages,
		      const struct rpcrdma_segment *segment, bool prepare,
		      struct rpcrdma_transfer_part **part);

/**
 * rpcrdma_port_prepare - map a part for the device, and take the MRs that it needs
 * @t: transfer
 * @part: part that is not prepared
 *
 * Context: no lock held, the teardown is held off; may sleep.
 * Return: the Work Requests that it needs, at least 1; -EAGAIN if MRs are missing; or
 * another negative errno.
 */
int rpcrdma_port_prepare(struct rpcrdma_transfer *t,
			 struct rpcrdma_transfer_part *part);

/**
 * rpcrdma_port_unprepare - undo rpcrdma_port_prepare()
 * @t: transfer
 * @part: part that is prepared and not posted
 *
 * Context: no lock held.
 */
void rpcrdma_port_unprepare(struct rpcrdma_transfer *t,
			    struct rpcrdma_transfer_part *part);

/**
 * rpcrdma_port_transfer_ended - free the parts of a transfer, and notify its owner, unless
 *	that is a Call
 * @t: transfer that the device does not use
 * @ok: it was executed
 *
 * Unmaps the parts that are prepared.
 * Context: no lock held.
 */
void rpcrdma_port_transfer_ended(struct rpcrdma_transfer *t, bool ok);

/**
 * rpcrdma_port_transfer_free - free a transfer
 * @t: transfer without parts
 *
 * The teardown is no longer held off for it.
 * Context: no lock held.
 */
void rpcrdma_port_transfer_free(struct rpcrdma_transfer *t);

/**
 * rpcrdma_port_wake_reads - call rpcrdma_core_reads_retry() soon
 * @core: connection; if a call is arranged already, this does nothing
 *
 * Context: lock held, so that the teardown, which takes it to end the transfers that wait,
 * can cancel the call afterwards.
 */
void rpcrdma_port_wake_reads(struct rpcrdma_ep_core *core);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_TRANSFER_H */
