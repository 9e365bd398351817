/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Control messages, and the credits that permit a message.
 */
#ifndef RPCRDMA_CREDIT_H
#define RPCRDMA_CREDIT_H

#include "conn.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_control - a control message to send now
 * @octets: length of the message; 0: none is due
 * @inv_handle: handle to invalidate with the message; 0: plain Send
 */
struct rpcrdma_control {
	u32	octets;
	u32	inv_handle;
};

/**
 * rpcrdma_conn_next_control() - encode the next control message that may be sent now
 * @conn: connection
 * @buf: 4-byte aligned
 * @size: bytes at @buf. If it is less than RPCRDMA_V2_FIRST_CONNPROP, nothing is due
 *
 * The order is that of WP 3 and 4: ERRORs and DONEs, this end's CONNPROPs, then a
 * credit grant that is owed. The message is counted as sent: the caller must post it
 * before any other message, or close the connection.
 * Return: the message; its length is 0 if there is none.
 */
struct rpcrdma_control rpcrdma_conn_next_control(struct rpcrdma_conn *conn,
						 void *buf, u32 size);

/**
 * rpcrdma_conn_is_idle() - check if no other RPC is outstanding in either direction
 * @conn: connection
 * @kind: Call, Reply or control message
 *
 * The RPC being sent or answered does not count. This is a hint, read without the lock:
 * use it only for optimisation.
 * Context: any.
 * Return: true if so.
 */
static inline bool rpcrdma_conn_is_idle(const struct rpcrdma_conn *conn,
					enum rpcrdma_kind kind)
{
	return (int)__atomic_load_n(&conn->calls_outstanding,
				    __ATOMIC_RELAXED) <=
	       (kind == RPCRDMA_KIND_REPLY);
}

/**
 * rpcrdma_conn_control_due() - check if a control message is due and can be sent now
 * @conn: connection
 *
 * Return: true if so.
 */
bool rpcrdma_conn_control_due(const struct rpcrdma_conn *conn);

/**
 * rpcrdma_conn_is_grant() - check if a message is a credit grant
 * @conn: connection
 * @msg: message that was sent or received
 * @octets: its length
 *
 * Use this only for reports: it does not check the flags that the sender of a credit
 * grant must clear.
 * Return: true if so.
 */
bool rpcrdma_conn_is_grant(const struct rpcrdma_conn *conn, const void *msg,
			   u32 octets);

/**
 * rpcrdma_conn_may_send() - check if a message of this kind may be sent now
 * @conn: connection
 * @kind: Call, Reply or control message
 *
 * Queued control messages precede Calls; a Call leaves the last two messages of the
 * window to Replies (WP 3). While a continued message is being sent, only its next
 * message may be sent: no other Call or Reply may come between (4.1).
 * Return: true if so.
 */
bool rpcrdma_conn_may_send(const struct rpcrdma_conn *conn,
			   enum rpcrdma_kind kind);

/**
 * rpcrdma_conn_stamp() - count a Call or Reply, or one message of a continued one, as
 *	sent, and write the credit fields into its encoded header
 * @conn: connection
 * @kind: Call, Reply or control message
 * @header: as written by rpcrdma_encode_header()
 *
 * Call this only after rpcrdma_conn_may_send() returned true, in the same critical
 * section. The caller must then post the message before any other message, or close the
 * connection.
 */
void rpcrdma_conn_stamp(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
			void *header);

/**
 * rpcrdma_conn_queue_error() - queue an ERROR that answers a Call (7)
 * @conn: connection
 * @xid: XID of the RPC
 * @code: not RDMA2_ERR_VERS, which the engine sends by itself
 * @arg0: first data word of the code, 0 if it has none
 * @arg1: second data word of the code, 0 if it has none
 *
 * Under version 1, a code that does not exist there becomes ERR_CHUNK.
 * Return: events; EV_CLOSE if more than 64 are queued.
 */
u32 rpcrdma_conn_queue_error(struct rpcrdma_conn *conn, u32 xid, u32 code,
			     u32 arg0, u32 arg1);

/**
 * rpcrdma_conn_queue_done() - queue a DONE: pull completion of a Reply
 * @conn: connection
 * @xid: XID of the RPC
 * @inv_handle: handle to invalidate at the peer, or 0
 *
 * Return: events; EV_CLOSE if more than 64 are queued.
 */
u32 rpcrdma_conn_queue_done(struct rpcrdma_conn *conn, u32 xid,
			    u32 inv_handle);

/**
 * struct rpcrdma_stall - the state of messages that wait for credits
 * @wait: milliseconds after which to call again; 0: never
 * @events: RPCRDMA_EV_CLOSE if the time is over
 */
struct rpcrdma_stall {
	u32	wait;
	u32	events;
};

/*
 * Kinds of the caller's messages that are queued or were refused:
 * rpcrdma_sq_waiting_kinds()
 */
enum {
	RPCRDMA_WAITS_CALL = 1,		/* a Call of which no part was sent */
	RPCRDMA_WAITS_MESSAGE = 2,	/* a Reply, or the rest of a continued message */
};

/**
 * rpcrdma_conn_stalled() - check for credit starvation
 * @conn: connection
 * @waits: RPCRDMA_WAITS_* for everything that waits, for any reason; control messages
 *	need not be included
 * @now: milliseconds of any clock
 *
 * A peer owes grants (WP 3). If for cfg.stall_ms it has granted nothing, or too little
 * for a Call to be sent, the connection is closed, because a Call that has not been
 * sent has no other timeout. A Reply that has credit, or any Reply in version 1, waits
 * for something else, and has no such limit.
 * Return: when to call this again, and events.
 */
struct rpcrdma_stall rpcrdma_conn_stalled(struct rpcrdma_conn *conn, u32 waits,
					  u32 now);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CREDIT_H */
