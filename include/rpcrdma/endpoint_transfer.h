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

#ifdef __cplusplus
extern "C" {
#endif

/* Local memory of a transfer: the host's, opaque to the core */
struct rpcrdma_local;

/**
 * rpcrdma_core_transfer_done() - handle the completion of a batch: post the next one,
 *	or end the transfer
 * @work: work item
 * @ok: the work was executed, if the device accepted it
 *
 * This is work->done of a transfer.
 * Context: no lock held.
 */
void rpcrdma_core_transfer_done(struct rpcrdma_work *work, bool ok);

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
 * Its host has zeroed it and set work.chain, and holds off the teardown until
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
	t->work.done = rpcrdma_core_transfer_done;
	if (__builtin_expect(rpcrdma_read_wanted(&core->rw.pool), 0))
		rpcrdma_core_transfer_queue_up(t);
}

/**
 * rpcrdma_core_transfer_add() - append memory of this end and of the peer to a transfer
 * @t: transfer
 * @local: memory of this end
 * @lists: holds the segments of @chunk
 * @chunk: chunk
 * @chunk_offset: first byte within @chunk
 * @at: first byte within @local
 * @length: number of bytes
 *
 * Context: no lock held.
 * Return: 0; -EINVAL if either is shorter; -E2BIG if it needs more MRs than exist; or
 *	an errno of rpcrdma_port_part(). After an error it can only be ended.
 */
int rpcrdma_core_transfer_add(struct rpcrdma_transfer *t,
			      struct rpcrdma_local *local,
			      const struct rpcrdma_lists *lists,
			      const struct rpcrdma_chunk *chunk,
			      u32 chunk_offset, u32 at, u32 length);

/**
 * rpcrdma_core_transfer_post() - post the next batch of @t, or queue it: for space in
 *	the Send Queue, or the transfer for MRs
 * @core: connection
 * @t: transfer
 *
 * Context: lock held.
 * Return: 0; 1 if there is nothing to transfer; -ENOTCONN. Unless it is 0, call
 *	rpcrdma_core_transfer_end(), with @ok true for 1, without the lock.
 */
int rpcrdma_core_transfer_post(struct rpcrdma_ep_core *core,
			       struct rpcrdma_transfer *t);

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

/* ---- Called by the port, with the lock ---- */

/* An event of a transfer's claim to MRs */
enum rpcrdma_claim_event {
	RPCRDMA_CLAIM_BEGUN,
	/*
	 * a part could not be prepared, with an errno; QUEUE_TAIL: the transfer waits
	 */
	RPCRDMA_CLAIM_SHORT,
	RPCRDMA_CLAIM_RETURNED,		/* it holds no MRs any more */
	/* an MR holds less than t->limits permits; POST: split it again */
	RPCRDMA_CLAIM_FINER,
	/* all of it was prepared, with 0 or an errno, after it had waited */
	RPCRDMA_CLAIM_TRIED,
	RPCRDMA_CLAIM_OVER,		/* it has ended */
};

/**
 * rpcrdma_core_claim() - report an event of a transfer's claim to MRs
 * @core: connection
 * @t: transfer
 * @event: event
 * @status: 0 or a negative errno
 *
 * Return: how to continue with the transfer.
 */
enum rpcrdma_read_result rpcrdma_core_claim(struct rpcrdma_ep_core *core,
					    struct rpcrdma_transfer *t,
					    enum rpcrdma_claim_event event,
					    int status);

/**
 * rpcrdma_core_next_read() - remove the first transfer from those that wait for MRs
 * @core: connection
 *
 * Return: the transfer, or NULL if none waits.
 */
struct rpcrdma_transfer *rpcrdma_core_next_read(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_written() - report the end of the Writes that were posted before a Reply
 * @core: connection
 * @reply: the Reply
 * @ok: the Writes have completed; otherwise they never will
 * @done_list: list that retired work is appended to
 *
 * Queue @reply if @ok. Otherwise append it, or what is attached to it, to @done_list.
 */
void rpcrdma_core_written(struct rpcrdma_ep_core *core,
			  struct rpcrdma_work *reply, bool ok,
			  struct list_head *done_list);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_TRANSFER_H */
