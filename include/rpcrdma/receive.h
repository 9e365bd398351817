/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Received messages.
 */
#ifndef RPCRDMA_RECEIVE_H
#define RPCRDMA_RECEIVE_H

#include "chunk.h"
#include "conn.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rpcrdma_verdict {
	RPCRDMA_RX_CONSUMED, /* nothing to deliver: repost the Receive */
	RPCRDMA_RX_FRAGMENT, /* append the payload to the open continued message */
	RPCRDMA_RX_CALL,	/* a Call is complete with this message */
	RPCRDMA_RX_REPLY,	/* a Reply is complete with this message */
	RPCRDMA_RX_BAD_REPLY,	/* xid pending: end its RPC; otherwise drop it */
	RPCRDMA_RX_ERROR,	/* a Call of this end was refused: see error */
	RPCRDMA_RX_PULL_COMPLETE, /* DONE: rx.exposed is no longer in use */
	RPCRDMA_RX_CLOSE,	/* close the connection: conn->reason */
};

struct rpcrdma_rx {
	u32 xid;
	u32 events;		/* RPCRDMA_EV_* */
	u8 format;		/* enum rpcrdma_format of the complete message */
	u8 first_fragment;	/* FRAGMENT: begins a new continued message */
	u32 payload_offset;	/* bytes into this message */
	u32 payload_length;	/* bytes in this message */
	u32 total_length;	/* bytes of the Payload stream in all messages */
	struct rpcrdma_pull_entry *exposed; /* PULL_COMPLETE: that Reply */
	/*
	 * ERROR: rpcrdma_call_refused() returns what happens to the RPC.
	 * BAD_REPLY: the RPC ends with @status; code and arg are 0.
	 */
	struct {
		u32 code;	/* RDMA2_ERR_* */
		u32 arg[2];
		int status;	/* negative errno for sunrpc, if the RPC ends */
	} error;
	struct rpcrdma_lists lists;
};

/**
 * rpcrdma_has_extra_segs() - check if a message that was just received has more
 *	segments than lists hold without extra_segs, and is permitted to
 * @msg: the message, 4-byte aligned
 * @length: bytes
 *
 * In that case rpcrdma_conn_receive() needs @rx->lists.extra_segs; without it the
 * message is refused as one with too many segments. Only version 1 clients may send
 * that many, because RFC 8166 limits no list. Version 2 has RCSIZ, and a client knows
 * the segments that it has provided.
 * Return: true if so.
 */
bool rpcrdma_has_extra_segs(const void *msg, u32 length);

/**
 * rpcrdma_wants_extra_segs() - check if the message to be processed next may have more
 *	segments than lists hold without extra_segs
 * @conn: connection
 * @msg: the message, 4-byte aligned
 * @length: bytes
 *
 * Return: true if so.
 */
static inline bool rpcrdma_wants_extra_segs(const struct rpcrdma_conn *conn,
					    const void *msg, u32 length)
{
	return !conn->cfg.client && conn->version != RPCRDMA_VERS_2 &&
	       rpcrdma_has_extra_segs(msg, length);
}

/**
 * rpcrdma_conn_receive() - process one received message
 * @conn: connection
 * @msg: the message, 4-byte aligned
 * @length: bytes at @msg
 * @rx: filled as far as the verdict needs; rx->events always. On entry only its
 *	lists.extra_segs is used: as for rpcrdma_has_extra_segs(), or NULL
 *
 * Every successful Receive completion must be passed to this function, in order.
 *
 * - FRAGMENT, CALL and REPLY of format CONTINUED: append the payload to the open
 *   continued message (@rx->first_fragment: begin one); CALL and REPLY complete it.
 * - BAD_REPLY: if the RPC @rx->xid waits for its Reply, it ends with @rx->error.status
 *   once its memory is out of the peer's reach; otherwise nothing needs to be done. The
 *   connection stays open (WP 7), and a DONE that the Reply needs is already queued.
 *   The verdict may be about the open continued message, which is then discarded, and
 *   not about @msg.
 * Return: the verdict.
 */
enum rpcrdma_verdict rpcrdma_conn_receive(struct rpcrdma_conn *conn,
					  const void *msg, u32 length,
					  struct rpcrdma_rx *rx);

/**
 * rpcrdma_conn_close() - close the connection because the caller cannot keep the last
 *	message, or must not trust it: from now on the verdict for each message is CLOSE
 * @conn: connection
 * @reason: static, in plain words; it becomes conn->reason, unless there is one already
 *
 * Otherwise, after a lost message of a continued sequence, the next one would complete
 * the sequence with a hole.
 */
void rpcrdma_conn_close(struct rpcrdma_conn *conn, const char *reason);

/**
 * rpcrdma_conn_discard() - drop the continued message that is being received, because the
 *	caller cannot keep it: the messages that it still consists of are discarded
 * @conn: connection
 *
 * Its sender is not notified, so the connection has to be closed later. If the message is
 * complete, this does nothing.
 */
void rpcrdma_conn_discard(struct rpcrdma_conn *conn);

/**
 * rpcrdma_payload_ok() - check the first two words of a Special Format message's
 *	Payload stream
 * @xid: XID of the header
 * @response: the header is that of a Reply
 * @first: the stream's first 8 bytes
 *
 * They must agree with the header (6.2.2.1, 7.2). If not: BAD_XDR for a Call, a bad
 * Reply for a Reply.
 * Return: true if they agree.
 */
bool rpcrdma_payload_ok(u32 xid, bool response, const void *first);

/**
 * rpcrdma_invalidation_ok() - check the handle that the peer's Send invalidated (WP 6)
 * @conn: connection
 * @call_lists: the Call's lists
 * @invalidated: the handle
 *
 * It must be one that the peer was provided with for this RPC. If not, close the
 * connection.
 * Return: true if it is.
 */
bool rpcrdma_invalidation_ok(const struct rpcrdma_conn *conn,
			     const struct rpcrdma_lists *call_lists,
			     u32 invalidated);

/**
 * rpcrdma_may_invalidate() - check if a message of that verdict may have invalidated a
 *	handle
 * @verdict: verdict of the message
 * @rx: received message, decoded
 * @handle: the handle, 0: none
 *
 * A Reply may; its RPC checks the handle. A DONE may invalidate the handle that its
 * Reply named. If false, close the connection.
 * Return: true if so.
 */
bool rpcrdma_may_invalidate(enum rpcrdma_verdict verdict,
			    const struct rpcrdma_rx *rx, u32 handle);

/**
 * rpcrdma_reply_needs_done() - check if a Reply must be pulled (DR 4.1.2)
 * @rx: received message, decoded
 *
 * In that case a DONE is due when the pull has ended, with or without success, and at
 * once if no RPC waits for the Reply any more, or if rpcrdma_check_reply() finds that
 * it is a bad one: pass its xid and inv_handle to rpcrdma_conn_queue_done().
 * Return: true if so.
 */
static inline bool rpcrdma_reply_needs_done(const struct rpcrdma_rx *rx)
{
	return rx->lists.nr_reads;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_RECEIVE_H */
