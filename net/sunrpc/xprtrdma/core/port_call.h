/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port of the Responder for Calls: functions that core/endpoint/calls.cc calls in
 * addition to those in port.h, which defines "no lock held". A Call belongs to one context
 * at a time.
 */
#ifndef RPCRDMA_CORE_PORT_CALL_H
#define RPCRDMA_CORE_PORT_CALL_H

#include <rpcrdma/endpoint_call.h>
#include <rpcrdma/endpoint_rpc.h>
#include <rpcrdma/errors.h>
#include <rpcrdma/msg_iter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The service ---- */

/**
 * rpcrdma_port_message - get the next message, in the order of arrival
 * @poll: the batch
 *
 * Context: no lock held, may sleep.
 * Return: a Call, a Reply or an ERROR; NULL at the end of the batch, or if another context
 * processes messages.
 */
struct rpcrdma_recv *rpcrdma_port_message(struct rpcrdma_poll *poll);

/**
 * rpcrdma_port_response - process a Reply or an ERROR about a Call of this end
 * @core: connection
 * @rv: the message, consumed
 *
 * Context: no lock held.
 */
void rpcrdma_port_response(struct rpcrdma_ep_core *core, struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_lock_calls - take the lock of the queue of Calls
 * @core: connection
 *
 * Return: the queue.
 */
struct rpcrdma_call_queue *rpcrdma_port_lock_calls(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_unlock_calls - release that lock
 * @core: connection
 */
void rpcrdma_port_unlock_calls(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_calls_queued - wake a thread for a Call that was queued
 * @core: connection
 *
 * Implies rpcrdma_port_calls_due().
 * Context: releases the lock of the queue.
 */
void rpcrdma_port_calls_queued(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_calls_due - note that a thread is needed again
 * @core: connection
 *
 * When the thread that processes messages is done, another one is woken.
 */
void rpcrdma_port_calls_due(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_calls_starve - the same, but when there are Send contexts for Replies again
 * @core: connection
 *
 * rpcrdma_port_write_space() will be called.
 */
void rpcrdma_port_calls_starve(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_calls_idle - note that no thread is needed until a Call is queued or
 *	messages arrive
 * @core: connection
 *
 * Has a full barrier after the note: a context that queues a Call or receives a message
 * later finds the note, or the caller finds the Call or the message.
 * Return: true if messages have arrived, and no other context processes them.
 */
bool rpcrdma_port_calls_idle(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_has_messages - check for messages that no other context processes
 * @core: connection
 *
 * Context: any.
 * Return: true if there are some.
 */
bool rpcrdma_port_has_messages(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_must_ask - check if the memory for Replies is limited now
 * @core: connection
 *
 * The host calls rpcrdma_quota_must_ask().
 * Context: any.
 * Return: false if rpcrdma_port_room() need not be asked for Replies.
 */
bool rpcrdma_port_must_ask(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_reserved - get the bytes that the Replies to the Calls in progress may need
 * @core: connection
 *
 * Context: any.
 * Return: bytes, at most that many.
 */
u64 rpcrdma_port_reserved(struct rpcrdma_ep_core *core);

/* ---- A Call ---- */

/**
 * rpcrdma_port_call_in_place - check if a reassembled message may be passed to the service
 *	where it is
 * @rv: message with rv->assembled
 *
 * Return: true if so.
 */
bool rpcrdma_port_call_in_place(const struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_call_pages - allocate the memory that a Call is pulled into, and charge it
 * @rv: the Call, with rv->pull
 * @thread: thread that waits for memory, and whose memory may be taken; NULL: the Call is
 *	pulled ahead of the threads, if rpcrdma_calls_early() permits that
 *
 * Sets rv->priv, even if it fails.
 * Context: no lock held; sleeps only with a thread.
 * Return: 0; -E2BIG if the service does not accept so much; or another negative errno.
 */
int rpcrdma_port_call_pages(struct rpcrdma_recv *rv, struct rpcrdma_thread *thread);

/**
 * rpcrdma_port_call_read_one - allocate the Read of one item, for the fast path
 * @rv: the Call; its memory receives the item
 * @segment: the peer's memory, one part of a transfer
 *
 * The host calls rpcrdma_transfer_only().
 * Context: no lock held; may sleep.
 * Return: the Read; NULL if out of memory, if the connection is closing, or if the host
 * cannot do it in one part.
 */
struct rpcrdma_transfer *
rpcrdma_port_call_read_one(struct rpcrdma_recv *rv,
			   const struct rpcrdma_segment *segment);

/**
 * rpcrdma_port_call_reads - allocate the Reads of a Call
 * @rv: the Call
 *
 * Context: no lock held; may sleep.
 * Return: Reads without parts; NULL if out of memory, or the connection is closing.
 */
struct rpcrdma_transfer *rpcrdma_port_call_reads(struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_call_read - add the Read of a range
 * @rv: the Call
 * @t: its Reads
 * @range: bytes of a chunk, and of the memory of the Call
 *
 * The host calls rpcrdma_core_transfer_add().
 * Context: no lock held; may sleep.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_call_read(struct rpcrdma_recv *rv, struct rpcrdma_transfer *t,
			   const struct rpcrdma_msg_range *range);

/**
 * rpcrdma_port_call_fill - fill in bytes of a Call that are not pulled
 * @rv: the Call
 * @to: first byte in its memory
 * @from: the bytes, or NULL for zeroes
 * @length: number of bytes
 *
 * Context: no lock held.
 */
void rpcrdma_port_call_fill(struct rpcrdma_recv *rv, u32 to, const void *from,
			    u32 length);

/**
 * rpcrdma_port_call_start - return the first bytes of the memory of a Call
 * @rv: the Call
 *
 * Return: the bytes, at least those that rpcrdma_call_refusal() checks.
 */
const void *rpcrdma_port_call_start(const struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_call_deliver - pass a complete Call to a thread
 * @rv: the Call; if it was pulled (rv->queued.pull_octets), rv->pull is in its memory
 * @thread: the thread
 *
 * Pulled memory moves to the thread, and is not charged any more.
 * Context: no lock held; may sleep.
 * Return: 0; -E2BIG if the thread does not accept so much; or -ENOMEM.
 */
int rpcrdma_port_call_deliver(struct rpcrdma_recv *rv,
			      struct rpcrdma_thread *thread);

/**
 * rpcrdma_port_call_free - free the host's state of a Call, and its memory
 * @rv: the Call; rv->priv is set, and NULL afterwards
 *
 * Calls rpcrdma_calls_early_end() with the lock of the queue. Memory is not charged any
 * more.
 * Context: no lock held.
 */
void rpcrdma_port_call_free(struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_call_refused - log that a Call was refused
 * @core: connection
 * @xid: of the RPC
 * @refusal: the reason
 *
 * Context: no lock held.
 */
void rpcrdma_port_call_refused(struct rpcrdma_ep_core *core, u32 xid,
			       enum rpcrdma_refusal refusal);

/* ---- Callbacks ---- */

/**
 * rpcrdma_port_callback_begin - allocate the state of a Call to a client, and memory for
 *	rv->pull
 * @rv: the Call
 *
 * Sets rv->priv, unless it fails.
 * Context: no lock held; does not wait for memory.
 * Return: 0; -EOPNOTSUPP if there is no service; -E2BIG if the service does not accept so
 * much; or another negative errno.
 */
int rpcrdma_port_callback_begin(struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_callback_deliver - pass a complete Call to the client's service
 * @core: connection
 * @call: rv->priv of the Call, whose Receive is released; consumed
 * @xid: of the RPC
 *
 * Context: no lock held.
 * Return: 0, or -EOPNOTSUPP if there is no service any more.
 */
int rpcrdma_port_callback_deliver(struct rpcrdma_ep_core *core, void *call,
				  u32 xid);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_CALL_H */
