/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * An RPC at its Requester.
 *
 * struct rpcrdma_xact is the state of an RPC at its Requester, from its first Call
 * to its end. Zero it, and embed it in the object that holds the RPC's memory. The
 * functions below report events, one at a time for each RPC, and return the actions to
 * run.
 *
 * The context that sends or releases the Call owns the RPC until the Call is sent. After
 * that, a context owns it if its rpcrdma_xact_claim() succeeds, until an action
 * completes, retransmits or leaves the RPC. These contexts may run concurrently:
 * rpcrdma_xact_sent() has to be called in the critical section that posts the Call,
 * which excludes the processing of messages, so that no Reply is processed before.
 */
#ifndef RPCRDMA_XACT_H
#define RPCRDMA_XACT_H

#include "chunk.h"
#include "conn.h"
#include "msg_iter.h"
#include "plan_call.h"
#include "receive.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_placed - lengths that a Reply reports for the chunks of its Call
 * @write_octets: bytes in all Write chunks
 * @reply_octets: bytes in the Reply chunk; 0: unused
 * @pull_octets: bytes to be pulled from the Responder (WP 8)
 * @write_chunks: number of Write chunks that are neither empty nor unused
 */
struct rpcrdma_placed {
	u32 write_octets;
	u32 reply_octets;
	u32 pull_octets;
	u8 write_chunks;
};

/**
 * rpcrdma_check_reply() - check a Reply's returned lists against the Call's
 * @conn: connection
 * @call_lists: lists that the Call was sent with
 * @rx: received message, decoded
 * @placed: returns the lengths that the Reply reports
 *
 * 4.3.6: same count and handles, no segment longer; an unused chunk in either form (WP 2).
 * Return: 0; or, for a bad Reply, the negative errno with which its RPC ends, as with
 *	verdict BAD_REPLY.
 */
int rpcrdma_check_reply(const struct rpcrdma_conn *conn,
			const struct rpcrdma_lists *call_lists,
			const struct rpcrdma_rx *rx,
			struct rpcrdma_placed *placed);

/* How a Payload stream is divided over a Reply's memory, in this order */
struct rpcrdma_reply_layout {
	u32 head;
	u32 pages;			/* reduced: not from the stream */
	u32 pad;			/* reduced: their roundup, not sent */
	u32 tail;			/* after @pad */
	u32 octets;			/* of the complete Reply, as far as it fits */
	u8 reduced;			/* a Write chunk has the page data */
	/*
	 * The same layout as ranges of the stream: the first @first bytes belong to the
	 * start of the Reply's memory; the next @rest bytes, which follow a reduced
	 * result, belong to byte @rest_at of that memory.
	 */
	u32 first, rest, rest_at;
};

struct rpcrdma_xact {
	u8 state;			/* private to the engine */
	u8 continued;			/* the Call is a continued message */
	int status;			/* errno that the RPC ends with */
	/* number of the connection the Call was sent on */
	u32 conn;
	u32 xid, pull_handle;		/* of the Reply */
	struct rpcrdma_retry_limits retry_limits; /* on that connection */
	struct rpcrdma_placed placed;
	struct rpcrdma_reply_layout parts;
	/* chunks provided by the Call; its sender sets them */
	struct rpcrdma_lists lists;
};

/* Actions, in this order */
enum {
	RPCRDMA_ACT_REPORT = 1,		/* report a bad Reply: @reason */
	RPCRDMA_ACT_PLACE = 2,		/* copy the inline payload to @parts */
	/* move the bytes in head and tail memory to @parts */
	RPCRDMA_ACT_MOVE = 4,
	RPCRDMA_ACT_PUT = 8,		/* release the Receive: it has been read */
	RPCRDMA_ACT_CLOSE = 16,		/* close the connection: @reason, or NULL */
	/*
	 * At most one of the next five is set. INVALIDATE: make the RPC's MRs
	 * inaccessible to the peer, return them, then call
	 * rpcrdma_xact_invalidated().
	 */
	RPCRDMA_ACT_INVALIDATE = 32,
	/* read the Reply to @parts, then call rpcrdma_xact_pulled() */
	RPCRDMA_ACT_PULL = 64,
	/* complete the RPC with @status: length of the Reply, or an errno */
	RPCRDMA_ACT_COMPLETE = 128,
	/* encode and send the Call again: rpcrdma_xact_again() */
	RPCRDMA_ACT_AGAIN = 256,
	/* leave the RPC until it is sent on another connection or released */
	RPCRDMA_ACT_LEAVE = 512,
	RPCRDMA_ACT_DONE = 1024,	/* rpcrdma_conn_queue_done() */
};

struct rpcrdma_actions {
	u32 todo;			/* RPCRDMA_ACT_* */
	int status;
	u32 xid, handle;		/* of the DONE */
	const char *reason;		/* a static string */
};

enum {
	/* The Call may be sent, see rpcrdma_xact_begin_anew(). */
	RPCRDMA_BEGIN_LOST = 1,
};

/**
 * rpcrdma_xact_begin_anew() - prepare to send a Call: slow path of
 *	rpcrdma_xact_begin()
 * @x: RPC
 * @conn: connection
 *
 * An RPC that was answered may be sent on the same connection again, because sunrpc
 * repeats a Call, with the same xid, if its Reply reports an RPC error.
 * Return: 0: MRs left from an earlier attempt must be released first. -ENOTCONN: the
 *	Call was sent on this connection before, and no Reply has arrived. A second
 *	Call with that xid (WP 7) would get a second Reply, or the Reply to the
 *	first. RPCRDMA_BEGIN_LOST: as 0, and the Call was sent before as a continued
 *	message, on a connection that may have ended because the peer had no memory
 *	for it: rpcrdma_peer_limits_lost() remembers that.
 */
int rpcrdma_xact_begin_anew(struct rpcrdma_xact *x,
				const struct rpcrdma_conn *conn);

/**
 * rpcrdma_xact_begin() - prepare to send a Call on a connection
 * @x: RPC
 * @conn: connection
 *
 * Return: as rpcrdma_xact_begin_anew().
 */
static inline int rpcrdma_xact_begin(struct rpcrdma_xact *x,
					 const struct rpcrdma_conn *conn)
{
	/*
	 * Fast path: the Call is not outstanding, and was last sent on this
	 * connection.
	 */
	if (!x->state && x->conn == conn->cfg.number)
		return 0;
	return rpcrdma_xact_begin_anew(x, conn);
}

/**
 * rpcrdma_xact_sent() - report that the Call is posted next, with x->lists
 * @x: RPC
 * @conn: connection
 * @continued: as a continued message
 *
 * The lists must be initialised even if they are empty, and must not change.
 */
void rpcrdma_xact_sent(struct rpcrdma_xact *x,
			   const struct rpcrdma_conn *conn, bool continued);

/**
 * rpcrdma_xact_claim() - claim the RPC for a Reply or an ERROR
 * @x: RPC
 * @conn: connection
 *
 * Return: true if it waits for that; the caller then owns it, and must call
 *	rpcrdma_xact_reply() or rpcrdma_xact_error().
 */
bool rpcrdma_xact_claim(struct rpcrdma_xact *x,
			    const struct rpcrdma_conn *conn);

enum rpcrdma_claimed {
	RPCRDMA_CLAIMED_NOT,		/* no RPC waits for it (any more) */
	RPCRDMA_CLAIMED,		/* call rpcrdma_xact_reply() */
	RPCRDMA_CLAIMED_PLAIN,		/* the same, or see below */
	RPCRDMA_CLAIMED_LAST,		/* complete the RPC now, see below */
};

/**
 * rpcrdma_xact_claim_reply() - claim the RPC for a Reply
 * @x: RPC
 * @conn: connection
 * @rx: received message, decoded
 * @bad: as in struct rpcrdma_arrival
 * @inv_handle: as in struct rpcrdma_arrival
 * @head: bytes of the head iovec
 *
 * Fast path: RPCRDMA_CLAIMED_LAST if neither the Call nor the Reply has chunks and the
 * Reply fits in the head iovec. The caller then copies the inline payload to the head,
 * releases the Receive and completes the RPC with that length. RPCRDMA_CLAIMED_PLAIN if
 * it is longer: the caller may do the same with head, pages and tail if they have space for
 * it, and calls rpcrdma_xact_placed() before.
 * Return: whether the caller owns the RPC, and how to continue.
 */
enum rpcrdma_claimed
rpcrdma_xact_claim_reply(struct rpcrdma_xact *x,
			     const struct rpcrdma_conn *conn,
			     const struct rpcrdma_rx *rx, bool bad,
			     u32 inv_handle, u32 head);

/* A claimed Reply, and properties of it and its RPC */
struct rpcrdma_arrival {
	const struct rpcrdma_rx *rx;
	bool bad;			/* verdict BAD_REPLY */
	u32 inv_handle;			/* invalidated by the peer, 0: none */
	bool exposed;			/* inv_handle was one of the RPC's MRs */
	u32 length;			/* of the inline payload */
	struct rpcrdma_buf_layout layout;
};

/**
 * rpcrdma_xact_reply() - process a claimed Reply
 * @x: RPC
 * @conn: connection
 * @a: the Reply
 *
 * The Receive is kept until the actions contain PUT. With PULL, PUT may be run before
 * the Reads.
 * Return: the actions to run.
 */
struct rpcrdma_actions rpcrdma_xact_reply(struct rpcrdma_xact *x,
					      const struct rpcrdma_conn *conn,
					      const struct rpcrdma_arrival *a);

/**
 * rpcrdma_xact_one_chunk() - fast path of rpcrdma_xact_reply(): nothing is left
 *	to invalidate
 * @x: RPC
 * @rx: received message, decoded; not a bad one
 * @inv_handle: handle of an exposed MR of the RPC, which the peer has invalidated
 * @head: bytes of the head of the Reply's memory, see struct rpcrdma_buf_layout
 * @pages: bytes of its pages
 *
 * Process a Reply if its Call has one chunk of one segment, and its inline payload fits
 * in the head iovec. The caller then returns the MR, calls rpcrdma_xact_placed(), copies
 * the payload, completes the RPC with x->parts.octets, and releases the Receive.
 * Return: true if the Reply was processed; false if nothing was changed.
 */
bool rpcrdma_xact_one_chunk(struct rpcrdma_xact *x, const struct rpcrdma_rx *rx,
			    u32 inv_handle, u32 head, u32 pages);

/**
 * rpcrdma_xact_placed() - report that no MR is left, and that the RPC completes
 * @x: RPC of rpcrdma_xact_one_chunk(), or a plain one
 */
void rpcrdma_xact_placed(struct rpcrdma_xact *x);

/**
 * rpcrdma_xact_stray() - process a Reply for which no RPC waits (any more)
 * @rx: received message, decoded
 * @bad: verdict BAD_REPLY
 *
 * Return: the actions to run.
 */
struct rpcrdma_actions rpcrdma_xact_stray(const struct rpcrdma_rx *rx,
					      bool bad);

/**
 * rpcrdma_xact_error() - process a claimed ERROR
 * @x: RPC
 * @status: returned by rpcrdma_call_refused() for it
 *
 * Return: the actions to run.
 */
struct rpcrdma_actions rpcrdma_xact_error(struct rpcrdma_xact *x,
					      int status);

/**
 * rpcrdma_xact_invalidated() - report that the MRs are not exposed any more
 * @x: RPC
 * @ok: they were invalidated and unmapped; otherwise the connection is closing, and
 *	they are inaccessible once it has ended
 * @first: the first 8 bytes of the Reply's memory, NULL if that is shorter
 *
 * Return: the actions to run.
 */
struct rpcrdma_actions rpcrdma_xact_invalidated(struct rpcrdma_xact *x,
						    bool ok, const void *first);

enum rpcrdma_pull {
	RPCRDMA_PULL_OK,
	/* the connection cannot post the Reads, or they failed */
	RPCRDMA_PULL_FAILED,
	RPCRDMA_PULL_SHORT,		/* no resources for it now */
	RPCRDMA_PULL_NEVER,		/* another attempt would fail, too */
};

/**
 * rpcrdma_xact_pulled() - report that the Reads have ended, or cannot be posted
 * @x: RPC
 * @how: result of the Reads
 * @first: as for rpcrdma_xact_invalidated()
 *
 * Return: the actions to run.
 */
struct rpcrdma_actions rpcrdma_xact_pulled(struct rpcrdma_xact *x,
					       enum rpcrdma_pull how,
					       const void *first);

/**
 * rpcrdma_xact_again() - report that the RPC's task is notified now, for AGAIN
 * @x: RPC
 */
void rpcrdma_xact_again(struct rpcrdma_xact *x);

/**
 * rpcrdma_xact_end() - report that the RPC's task is notified now that the RPC fails
 * @x: RPC, which has completed or was not sent; serialised as rpcrdma_xact_again()
 * @status: negative errno that the RPC ends with
 */
void rpcrdma_xact_end(struct rpcrdma_xact *x, int status);

/**
 * rpcrdma_xact_notified() - check if a task that is about to wait for the Reply was
 *	notified before
 * @x: RPC; serialised as rpcrdma_xact_again()
 *
 * Return: 0: it waits. -EAGAIN, once for each notification: it sends the Call again.
 *	Another negative errno: the RPC ends with it.
 */
int rpcrdma_xact_notified(struct rpcrdma_xact *x);

/**
 * rpcrdma_xact_release() - report that the RPC's task has ended
 * @x: RPC
 *
 * The RPC has completed or was killed, and is not claimed any more. Its MRs have to be
 * released. May be called any number of times.
 * Return: false while actions are in progress, which must finish first.
 */
bool rpcrdma_xact_release(struct rpcrdma_xact *x);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_XACT_H */
