/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port of the Requester for Replies and ERRORs: functions that the core calls for an
 * RPC, in addition to those in port.h, which defines "no lock held". An RPC's functions
 * are not called concurrently for one RPC.
 *
 * The memory of a Reply is a head, pages and a tail. Bytes of it are counted over all
 * three, without a gap.
 */
#ifndef RPCRDMA_CORE_PORT_ANSWER_H
#define RPCRDMA_CORE_PORT_ANSWER_H

#include <rpcrdma/endpoint_answer.h>
#include <rpcrdma/msg_iter.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_port_answer - call rpcrdma_core_answer_rpc() of answer.h
 * @r: RPCs
 * @rv: the message
 *
 * The host inlines its functions there.
 * Context: as for rpcrdma_core_answer_rpc().
 * Return: what that returns.
 */
bool rpcrdma_port_answer(struct rpcrdma_requester *r, struct rpcrdma_recv *rv);

/* ---- Claims ---- */

/**
 * rpcrdma_port_rpc_lock - take the lock of the RPCs
 * @r: RPCs
 *
 * The lock excludes the end of a task whose RPC waits for its Reply.
 * Context: no lock held.
 */
void rpcrdma_port_rpc_lock(struct rpcrdma_requester *r);

/**
 * rpcrdma_port_rpc_unlock - release that lock
 * @r: RPCs
 */
void rpcrdma_port_rpc_unlock(struct rpcrdma_requester *r);

/**
 * rpcrdma_port_rpc_find - look up the RPC that a message is for
 * @r: RPCs
 * @xid: of the message
 *
 * Context: lock of the RPCs held.
 * Return: the RPC, or NULL.
 */
struct rpcrdma_rpc *rpcrdma_port_rpc_find(struct rpcrdma_requester *r, u32 xid);

/**
 * rpcrdma_port_rpc_hold - hold an RPC, and its memory, until its claim ends
 * @rpc: RPC, which has just been claimed
 *
 * The peer is reachable, so that a reconnect need not be delayed.
 * Context: lock of the RPCs held.
 */
void rpcrdma_port_rpc_hold(struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_answered - complete an RPC without chunks, for the fast paths
 * @rpc: RPC that is held; this ends the claim
 * @octets: bytes of the Reply, which is in the memory of the RPC
 *
 * Context: lock of the RPCs held.
 */
void rpcrdma_port_rpc_answered(struct rpcrdma_rpc *rpc, u32 octets);

/* The RPC of the following is claimed. */

/* ---- The memory of its Reply ---- */

/**
 * rpcrdma_port_rpc_layout - describe the memory for the Reply of an RPC
 * @rpc: RPC
 * @layout: filled
 *
 * Context: no lock held, or that of the RPCs.
 */
void rpcrdma_port_rpc_layout(const struct rpcrdma_rpc *rpc,
			     struct rpcrdma_buf_layout *layout);

/**
 * rpcrdma_port_rpc_head - return the head of that memory
 * @rpc: RPC
 *
 * Context: no lock held.
 * Return: its first byte.
 */
const void *rpcrdma_port_rpc_head(const struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_tail - return the tail of that memory
 * @rpc: RPC, no MR of which is mapped
 *
 * Context: no lock held.
 * Return: its first byte.
 */
void *rpcrdma_port_rpc_tail(const struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_copy - copy bytes of a Reply to that memory
 * @rpc: RPC
 * @to: first byte in that memory, which has space for all of them
 * @from: the bytes
 * @length: number of bytes
 *
 * Context: no lock held, or that of the RPCs.
 */
void rpcrdma_port_rpc_copy(struct rpcrdma_rpc *rpc, u32 to, const void *from,
			   u32 length);

/**
 * rpcrdma_port_rpc_lengths - set how much of head and pages belongs to a Reply
 * @rpc: RPC, which completes next
 * @head: bytes of the head
 * @pages: bytes of the pages
 *
 * Otherwise each part begins where the one before it ends.
 * Context: no lock held.
 */
void rpcrdma_port_rpc_lengths(struct rpcrdma_rpc *rpc, u32 head, u32 pages);

/* ---- MRs and Reads ---- */

/**
 * rpcrdma_port_rpc_put_mrs - unmap and return the MRs in @rpc->mrs
 * @core: connection
 * @rpc: RPC, no MR of which is exposed
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_put_mrs(struct rpcrdma_ep_core *core,
			      struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_reads - allocate the Reads of a Reply that is pulled
 * @core: connection
 *
 * Context: no lock held.
 * Return: Reads without parts; NULL if out of memory, or the connection is closing.
 */
struct rpcrdma_transfer *rpcrdma_port_rpc_reads(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_rpc_read - add the Read of a range
 * @rpc: RPC; @rpc->rv is the message with the Read chunk
 * @t: its Reads
 * @range: bytes of a chunk, and of the memory of the Reply
 *
 * The host calls rpcrdma_core_transfer_add().
 * Context: no lock held.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_rpc_read(struct rpcrdma_rpc *rpc, struct rpcrdma_transfer *t,
			  const struct rpcrdma_msg_range *range);

/**
 * rpcrdma_port_rpc_reads_built - log that the Reads of a Reply are complete, or have failed
 * @core: connection
 * @rpc: RPC
 * @t: its Reads, whose end will call rpcrdma_core_rpc_pulled(); NULL if there are none
 * @status: 0; or a negative errno, and the host frees @t
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_reads_built(struct rpcrdma_ep_core *core,
				  struct rpcrdma_rpc *rpc,
				  struct rpcrdma_transfer *t, int status);

/* ---- Messages for the log, and limits ---- */

/**
 * rpcrdma_port_rpc_report - log a bad Reply
 * @core: connection
 * @rpc: RPC that ends because of it
 * @s: actions, with the reason
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_report(struct rpcrdma_ep_core *core,
			     struct rpcrdma_rpc *rpc,
			     const struct rpcrdma_actions *s);

/**
 * rpcrdma_port_rpc_learn - learn the limits that an ERROR shows
 * @core: connection
 * @rpc: RPC of the ERROR
 * @rx: the ERROR
 * @call: geometry of the Call
 *
 * The host calls rpcrdma_peer_limits_learn(), under its lock.
 * Context: no lock held.
 */
void rpcrdma_port_rpc_learn(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_rpc *rpc,
			    const struct rpcrdma_rx *rx,
			    const struct rpcrdma_call *call);

/**
 * rpcrdma_port_rpc_refused - log an ERROR
 * @core: connection
 * @rpc: RPC of the ERROR
 * @rx: the ERROR
 * @status: errno that the RPC ends with; 0: its Call is sent in another form
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_refused(struct rpcrdma_ep_core *core,
			      struct rpcrdma_rpc *rpc,
			      const struct rpcrdma_rx *rx, int status);

/* ---- The end of a claim ---- */

/*
 * One of the next three ends the claim. The RPC may then belong to another context, or
 * be another one.
 */

/**
 * rpcrdma_port_rpc_complete - complete an RPC
 * @rpc: RPC; its memory has the Reply, see rpcrdma_port_rpc_lengths()
 * @status: bytes of the Reply, or a negative errno
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_complete(struct rpcrdma_rpc *rpc, int status);

/**
 * rpcrdma_port_rpc_again - have the task encode and send its Call again
 * @rpc: RPC; the host calls rpcrdma_xact_again()
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_again(struct rpcrdma_rpc *rpc);

/**
 * rpcrdma_port_rpc_leave - leave the RPC until its Call is sent on another connection
 * @rpc: RPC
 *
 * Context: no lock held.
 */
void rpcrdma_port_rpc_leave(struct rpcrdma_rpc *rpc);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_ANSWER_H */
