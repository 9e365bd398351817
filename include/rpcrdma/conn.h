/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The state of a connection, and the events that concern all of it.
 */
#ifndef RPCRDMA_CONN_H
#define RPCRDMA_CONN_H

#include "base.h"
#include "chunk.h"
#include "hostauth.h"
#include "private_message.h"
#include "properties.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_conn_config {
	u32 number;			/* unique among all connections; not 0 */
	u8 client;			/* 1: this end opens (4.2.3) */
	u8 version_low, version_high;	/* versions allowed to this role */
	u8 inv_ok;			/* the device can invalidate remotely */
	u8 no_mrs;			/* the device cannot register memory */
	u8 fallback_v1; /* version 1 is a fallback, because 2 got no answer */
	u8 auth_mode;			/* enum rpcrdma_auth_mode (WP 9) */
	u32 window;			/* Receives for RPC traffic, at most, >= 4 */
	/* Receives for RPC traffic to begin with, >= 4; 0: all */
	u32 first_window;
	/* Receives of the window for the reverse direction */
	u32 reverse;
	u32 expose_octets;		/* bytes of Replies exposed at a time, at most */
	/* milliseconds to wait for the DONEs of exposed Replies */
	u32 done_ms;
	/* milliseconds without credit; 0: RPCRDMA_STALL_MS */
	u32 stall_ms;
	struct rpcrdma_props props;	/* of this end, as announced */
	/*
	 * The handshake; NULL: a client without a secret, which takes no part, or a
	 * server, which has it from RPCRDMA_EV_HELLO on
	 */
	struct rpcrdma_hostauth *auth;
};

enum rpcrdma_conn_state {
	RPCRDMA_CONN_OPENING,		/* properties not exchanged yet */
	RPCRDMA_CONN_OPEN,		/* RPC traffic may pass */
	RPCRDMA_CONN_CLOSING,		/* the engine asked to close */
};

enum rpcrdma_format {
	RPCRDMA_INLINE,			/* Simple Format, 4.4.1 */
	RPCRDMA_CONTINUED,		/* 4.4.2 */
	RPCRDMA_SPECIAL,		/* 4.4.3 */
	RPCRDMA_NR_FORMATS,
};

/* The kind of a message, for credit accounting and counters */
enum rpcrdma_kind {
	RPCRDMA_KIND_CALL,
	RPCRDMA_KIND_REPLY,
	RPCRDMA_KIND_CONTROL,		/* CONNPROP, ERROR, DONE, grant */
};

struct rpcrdma_conn_counters {
	u64 calls[RPCRDMA_NR_FORMATS];	/* complete Calls sent or received */
	u64 replies[RPCRDMA_NR_FORMATS];
	u64 read_chunks, write_chunks, reply_chunks;	/* in either direction */
	u64 errors_sent, errors_received;
	u64 grants_sent, grants_received;
	u64 dropped;			/* messages dropped without an answer */
	/* Replies by Read chunk (WP 8): exposed here, received to be pulled */
	u64 replies_exposed, replies_to_pull;
	u64 dones_sent, dones_received;	/* received: for a Reply exposed here */
	u64 dones_overdue;		/* Replies withdrawn without a DONE */
	/* messages, and the data in chunks of Calls and Replies */
	u64 bytes_sent, bytes_received;
};

/* A control message that is queued (WP 3) */
struct rpcrdma_pending {
	u32 xid;
	u32 htype;
	u32 code;			/* error code, or handle for DONE */
	u32 arg[2];
};

/*
 * The state of one connection. Embed it and set it up with rpcrdma_conn_init().
 * Users read a field only if no accessor returns it.
 */
struct rpcrdma_conn {
	struct rpcrdma_conn_config cfg;
	struct rpcrdma_conn_counters counters;
	struct rpcrdma_props peer;	/* effective once open */
	struct rpcrdma_props staged;	/* the peer's properties received so far */
	/*
	 * Keep adjacent: is_settled() compares these four as one 32-bit word, and the
	 * fast path compares the next two together.
	 */
	u8 state;			/* enum rpcrdma_conn_state */
	u8 version;			/* 0 until fixed */
	u8 props_sent;			/* all CONNPROPs of this end were sent */
	u8 pend_count;			/* control messages queued, see below */
	u8 rx_open;			/* 1: a continued message is being received */
	u8 nr_discard;			/* sequences to discard, see below */
	u8 props_received;		/* all CONNPROPs of the peer were received */
	u8 props_due;			/* a CONNPROP of this end may be sent */
	u8 props_begun;			/* a CONNPROP of this end was sent */
	u8 auth_result;			/* enum rpcrdma_auth_result */
	u8 err_vers_high, err_vers_low;	/* from an ERR_VERS, 255 at most */
	u8 answered;			/* client: something valid was received */
	u8 version_refused; /* client: it was ERR_VERS, and nothing else */
	/* client: something other than an opening was received */
	u8 odd;
	u8 auth_state;			/* of the handshake of host authentication */
	u8 no_reads;			/* this end can have no Reads outstanding */
	/* MRs that fit into the Send Queue with their message; 0: any number */
	u8 message_mrs;
	/* Credits, WP 3 */
	rpcrdma_serial sent;		/* messages sent by this end */
	/* the peer permits messages up to this value of sent */
	rpcrdma_serial limit;
	/* Calls outstanding in both directions; read unlocked as a hint */
	u32 calls_outstanding;
	rpcrdma_serial received;	/* messages received by this end */
	rpcrdma_serial posted;		/* Receives posted since the start */
	/* the peer's acknowledgement: our messages it has received */
	rpcrdma_serial acked;
	/* value of sent after the last message that was not a credit grant */
	rpcrdma_serial last_nongrant;
	/* received + credit, as in the last header sent */
	rpcrdma_serial advertised;
	u32 recvs_to_free; /* Receives that will soon be free again */
	/* of these, Receives of credit grants since the last header */
	u16 grant_recvs_to_free;
	/* since then: a Call arrived, or another Receive became free or was added */
	u16 recvs_freed;
	/* Receives: posted, free, or with a message */
	u32 window;			/* Receives for RPC traffic, at present */
	/* Receives to have: window, reserve and spare ones */
	u32 recvs_wanted;
	u32 batch;			/* free Receives to post together */
	/* withhold free ones while this many are posted, besides the reserve */
	u32 least_posted;
	u32 receives;			/* Receives allocated */
	u32 recvs_allocating; /* Receives that the caller is allocating */
	u32 recvs_withheld;   /* free Receives that are withheld */
	/* once received has this value, the peer knows the window */
	rpcrdma_serial window_known_at;
	/* minimum of the peer's unused credits in the interval */
	u32 min_unused;
	/* milliseconds: start of the interval for min_unused */
	rpcrdma_serial watched_since;
	/* value of sent after the last complete message that needs credit */
	rpcrdma_serial last_complete;
	u8 stalled;			/* a message waits for credit */
	rpcrdma_serial stalled_since;	/* stalled: since then, in milliseconds */
	rpcrdma_serial stalled_sent;	/* stalled: value of sent then */
	rpcrdma_serial stalled_complete; /* stalled: value of last_complete then */
	u32 prop_octets;		/* bytes of CONNPROP received, bounded */
	/* Version 1: its credits, and the origin of its limits */
	u32 calls_unanswered;		/* Calls sent and not answered */
	u32 call_limit;			/* maximum of calls_unanswered */
	u32 granted;			/* Calls granted to the peer */
	struct rpcrdma_private peer_private;
	/* The open continued messages, one in each direction */
	u32 rx_xid, rx_response, rx_octets;
	u8 tx_open;			/* kind of the message being sent, + 1 */
	/* 7.1.3: sequences the rest of which is to be discarded */
	struct {
		u32 xid, response;
	} discard[2];
	/* WP 8: Replies that the peer can pull, or will be able to */
	u32 nr_exposed, exposed_octets;
	struct rpcrdma_pull_entry *exposed;
	const char *reason;		/* why closing, a static string */
	/*
	 * Queued control messages, a ring; last here, see rpcrdma_conn_init()
	 */
	u8 pend_head;
	struct rpcrdma_pending pend[RPCRDMA_MAX_PENDING_CONTROL];
};

/**
 * rpcrdma_conn_init() - initialise @conn for a new connection
 * @conn: connection
 * @cfg: configuration
 *
 * @cfg is copied; values out of range are clamped in the copy. No Receive has been
 * posted yet.
 */
void rpcrdma_conn_init(struct rpcrdma_conn *conn,
		       const struct rpcrdma_conn_config *cfg);

/*
 * Events: the actions that the caller must run after a call that returned them.
 *
 * Every action comes with an event, except those that the caller
 * initiates: the first Receives, and sending a Call, a Reply or the next
 * message of a continued one. If several events are returned together, first
 * allocate and post Receives, then send control messages, then retry queued
 * messages.
 */
enum {
	RPCRDMA_EV_CONTROL = 1,		/* call rpcrdma_conn_next_control() */
	RPCRDMA_EV_WINDOW = 2,		/* queued messages may be tried again */
	RPCRDMA_EV_OPENED = 4,		/* once: RPC traffic may begin */
	RPCRDMA_EV_CLOSE = 8,		/* close the connection: conn->reason */
	RPCRDMA_EV_RECEIVES = 16,	/* allocate Receives, or post free ones */
	/* free the Receive that was released: it is surplus */
	RPCRDMA_EV_FREE_RECEIVE = 32,
	RPCRDMA_EV_ODD = 64, /* once: rpcrdma_lifecycle_odd() */
	RPCRDMA_EV_AUTH = 128,		/* answer rpcrdma_auth_next() */
	RPCRDMA_EV_HELLO = 256,	/* server: call rpcrdma_auth_hello() at once */
};

/**
 * rpcrdma_conn_set_peer_private() - record the peer's private message, as decoded by
 *	rpcrdma_decode_private()
 * @conn: connection
 * @priv: private message
 *
 * Call this no later than when the connection is established.
 */
void rpcrdma_conn_set_peer_private(struct rpcrdma_conn *conn,
				   const struct rpcrdma_private *priv);

/**
 * rpcrdma_conn_build_private() - build the private message of this end's connect request or
 *	accept
 * @conn: connection
 * @priv: private message
 *
 * For an accept, the peer's must be known before.
 */
void rpcrdma_conn_build_private(const struct rpcrdma_conn *conn,
				struct rpcrdma_private *priv);

/**
 * rpcrdma_conn_read_depth() - record the maximum of outstanding RDMA Reads
 * @conn: connection
 * @outbound: Reads of this end
 * @inbound: Reads of the peer
 *
 * The connection managers have negotiated both. A feature that needs a direction
 * without Reads is not announced (WP 8), and a Call with Read chunks is refused if this
 * end cannot read them. Call this no later than when the connection is established.
 */
void rpcrdma_conn_read_depth(struct rpcrdma_conn *conn, u32 outbound,
			     u32 inbound);

/**
 * rpcrdma_conn_established() - report that the connection is established
 * @conn: connection
 *
 * A client's first control message (CONNPROP) becomes due, or, if only version 1 is
 * allowed, the connection is open.
 * Return: events.
 */
u32 rpcrdma_conn_established(struct rpcrdma_conn *conn);

/**
 * rpcrdma_conn_count() - count a complete Call or Reply by its format
 * @conn: connection
 * @kind: Call, Reply or control message
 * @format: format of the message
 * @lists: chunk lists of the message
 *
 * Call this once for each message that is sent, when only credits and the Send Queue can
 * still delay it, or later. Received messages are counted without this.
 */
void rpcrdma_conn_count(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
			enum rpcrdma_format format,
			const struct rpcrdma_lists *lists);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CONN_H */
