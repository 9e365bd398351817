/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Transfers: RDMA Reads and Writes of memory that the peer has exposed.
 *
 * A transfer is a list of parts. Each is split so that it can be posted at once and, if
 * the device reads into MRs only, so that one MR holds it. Parts are posted in batches. A
 * batch has the parts that the Send Queue has space for at once; the next one follows when
 * it has completed. A transfer that lacks MRs holds none and waits (read_mr_pool.h).
 *
 * "The lock", entries and hosts: see endpoint_send.h. Lengths are in bytes.
 */
#ifndef RPCRDMA_ENDPOINT_TRANSFER_H
#define RPCRDMA_ENDPOINT_TRANSFER_H

#include "endpoint_send.h"
#include "extent.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_core_transfer_queue_up() - queue a transfer that needs MRs after those that
 *	wait for them
 * @t: transfer
 *
 * The slow path of rpcrdma_core_transfer_begin().
 * Context: no lock held.
 */
void rpcrdma_core_transfer_queue_up(struct rpcrdma_transfer *t);

/**
 * rpcrdma_core_transfer_begin() - begin a transfer
 * @core: connection
 * @t: transfer
 * @reads: it reads, else it writes
 *
 * Its host has zeroed it, and set work.chain and work.done, which calls
 * rpcrdma_core_transfer_done(). It holds off the teardown until
 * rpcrdma_port_transfer_free(). No lock held.
 */
static inline void rpcrdma_core_transfer_begin(struct rpcrdma_ep_core *core,
					       struct rpcrdma_transfer *t,
					       bool reads)
{
	t->core = core;
	t->claim.reads = reads;
	t->parts.next = t->parts.prev = &t->parts;
	t->posted = &t->parts;
	t->work.list.next = t->work.list.prev = &t->work.list;
	t->work.kind = RPCRDMA_WORK_TRANSFER;
	if (__builtin_expect(rpcrdma_read_wanted(&core->rw.pool), 0))
		rpcrdma_core_transfer_queue_up(t);
}

/**
 * rpcrdma_core_transfer_add() - append memory of this end and of the peer to a transfer
 * @t: transfer
 * @pos: start of the memory of this end; advanced
 * @lists: holds the segments of @chunk
 * @chunk: chunk
 * @chunk_offset: first byte within @chunk
 * @length: number of bytes
 *
 * Context: no lock held.
 * Return: 0; -EINVAL if either is shorter; -E2BIG if it needs more MRs than exist; or
 *	an errno of rpcrdma_port_part(). After an error it can only be ended.
 */
int rpcrdma_core_transfer_add(struct rpcrdma_transfer *t,
			      struct rpcrdma_extent_pos *pos,
			      const struct rpcrdma_lists *lists,
			      const struct rpcrdma_chunk *chunk,
			      u32 chunk_offset, u32 length);

/**
 * rpcrdma_transfer_one_part() - check if bytes of a chunk are one part of a transfer,
 *	which needs no MR
 * @rw: transfers of the connection
 * @reads: the transfer reads
 * @lists: holds the segments of @chunk
 * @chunk: chunk
 * @offset: first byte within @chunk
 * @length: number of bytes
 * @part: returns the peer's memory
 *
 * Return: true if so; false if it may be several, or if the chunk is shorter.
 */
static inline bool rpcrdma_transfer_one_part(const struct rpcrdma_ep_rw *rw,
					     bool reads,
					     const struct rpcrdma_lists *lists,
					     const struct rpcrdma_chunk *chunk,
					     u32 offset, u32 length,
					     struct rpcrdma_segment *part)
{
	if (chunk->count != 1 || !length || (reads && rw->reads_into_mrs) ||
	    length > (reads ? rw->read_part : rw->write_part))
		return false;
	*part = *rpcrdma_lists_seg(lists, chunk->first);
	if (offset > part->length || length > part->length - offset)
		return false;
	part->length = length;
	part->offset += offset;
	return true;
}

/**
 * rpcrdma_transfer_prepared() - count the Work Requests of a part that is prepared
 * @t: transfer
 * @part: part of @t
 * @wrs: number of Work Requests, as rpcrdma_port_prepare() returns it; not an errno
 */
static inline void rpcrdma_transfer_prepared(struct rpcrdma_transfer *t,
					     struct rpcrdma_transfer_part *part,
					     int wrs)
{
	part->wrs = (u32)wrs;
	t->left += part->wrs;
}

/**
 * rpcrdma_transfer_only() - make a part of rpcrdma_transfer_one_part() the only one
 * @t: transfer without a part
 * @part: part, with its elements, which is not prepared yet
 */
static inline void rpcrdma_transfer_only(struct rpcrdma_transfer *t,
					 struct rpcrdma_transfer_part *part)
{
	part->list.next = part->list.prev = &t->parts;
	t->parts.next = t->parts.prev = &part->list;
}

/**
 * rpcrdma_core_transfer_post() - post the next batch of @t, or queue it: for space in
 *	the Send Queue, or the transfer for MRs
 * @t: transfer, which is ended if there is nothing to transfer, or if it can never be
 *	posted
 *
 * Context: no lock held.
 */
void rpcrdma_core_transfer_post(struct rpcrdma_transfer *t);

/**
 * rpcrdma_core_transfer_end() - end a transfer that the device does not use
 * @t: transfer
 * @ok: the work was executed, if the device accepted it
 *
 * If a Reply waits for it, that is sent, or released if @ok is false.
 * Context: no lock held.
 */
void rpcrdma_core_transfer_end(struct rpcrdma_transfer *t, bool ok);

/**
 * rpcrdma_core_transfer_over() - end a transfer's claim to MRs, and retry the Reads that
 *	wait for MRs
 * @t: transfer without parts
 *
 * rpcrdma_core_transfer_end() calls this and the next one.
 * Context: no lock held.
 */
void rpcrdma_core_transfer_over(struct rpcrdma_transfer *t);

/**
 * rpcrdma_core_transfer_written() - send the Reply that waits for Writes, or release it
 * @core: connection
 * @reply: its work item
 * @ok: they have completed; otherwise they never will
 *
 * Context: no lock held.
 */
void rpcrdma_core_transfer_written(struct rpcrdma_ep_core *core,
				   struct rpcrdma_work *reply, bool ok);

/**
 * rpcrdma_core_reads_retry() - prepare and post the transfers that wait for MRs, in order
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_core_reads_retry(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_transfers() - check if the device has a transfer that is not posted with a
 *	Send
 * @core: connection
 *
 * Context: lock held.
 * Return: true if it has.
 */
bool rpcrdma_core_transfers(const struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_transfers_posted() - get the number of transfers that the device has
 * @core: connection
 *
 * Context: lock held.
 * Return: the number.
 */
u32 rpcrdma_core_transfers_posted(const struct rpcrdma_ep_core *core);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_TRANSFER_H */
