/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A connection: opening, credits, continued messages and errors of version 2,
 * and version 1 with a peer that has no other.
 *
 * The caller owns the transport and the clock. It has one loop:
 *
 * 1. rpcrdma2_conn_get_receives(): post that many Receives, then
 *    rpcrdma2_conn_posted()
 * 2. rpcrdma2_conn_write_pkt(): send what it returns, until it returns 0
 * 3. wait for a message, at most until rpcrdma2_conn_get_expiry()
 * 4. rpcrdma2_conn_read_pkt() for each message, in order;
 *    rpcrdma2_conn_handle_expiry() if that time has come
 *
 * All else is reported by callbacks. They run inside of functions that have an
 * argument now, and may call those that have none. Calls for one connection must be
 * serialised.
 *
 * Times are nanoseconds of one monotonic clock, and never decrease.
 */
#ifndef RPCRDMA2_CONN_H
#define RPCRDMA2_CONN_H

#include "auth.h"
#include "codec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A connection; its storage is the caller's */
struct rpcrdma2_conn;

/* Alignment of that storage */
#define RPCRDMA2_CONN_ALIGN 16

/* No time: nothing expires */
#define RPCRDMA2_NEVER UINT64_MAX

/* Levels of support for Calls of the server (struct rpcrdma2_props) */
enum {
	RPCRDMA2_REVERSE_NONE = 0,
	RPCRDMA2_REVERSE_SIMPLE = 1,	/* one message without chunks */
	RPCRDMA2_REVERSE_CONT = 2,	/* continued messages, too */
	RPCRDMA2_REVERSE_GENL = 3,	/* chunks, too */
};

/* Bits of struct rpcrdma2_props.reply_read */
enum {
	RPCRDMA2_REPLY_READ_PULL = 1,	/* can pull Replies */
	RPCRDMA2_REPLY_READ_PROVIDE = 2, /* provides Replies to be pulled */
};

/**
 * struct rpcrdma2_props - The transport properties of an end
 * @sbsiz: the largest message that it sends
 * @rbsiz: the size of its Receives
 * @rssiz: the largest segment that it accepts; 0: no chunks
 * @rcsiz: the most segments in one message that it accepts; 0: no chunks
 * @brs: RPCRDMA2_REVERSE_*; a client's only
 * @reply_read: RPCRDMA2_REPLY_READ_*
 * @reassembly: the largest continued message that it accepts
 */
struct rpcrdma2_props {
	uint32_t sbsiz;
	uint32_t rbsiz;
	uint32_t rssiz;
	uint32_t rcsiz;
	uint32_t brs;
	uint32_t reply_read;
	uint32_t reassembly;
};

/**
 * enum rpcrdma2_kind - RPC messages
 * @RPCRDMA2_CALL: a Call
 * @RPCRDMA2_REPLY: a Reply
 */
enum rpcrdma2_kind {
	RPCRDMA2_CALL,
	RPCRDMA2_REPLY,
};

/**
 * struct rpcrdma2_tx - A Call or a Reply to be sent
 * @xid: as in the RPC message
 * @payload: the RPC message, without what chunks convey. The caller keeps it
 *	unchanged until the callback "sent".
 * @length: of @payload. 0: the message is in a Position Zero Read chunk, or in
 *	the Reply chunk (NOMSG)
 * @items: chunk lists, as for rpcrdma2_msg_encode(); or NULL. As @payload.
 * @nr_items: number of @items
 * @inv_handle: a Call: the handle that its Reply may invalidate, 0: none
 * @invalidate: a Reply: the handle of the Call to invalidate with it, 0: none
 * @user: the caller's
 *
 * The caller keeps it from rpcrdma2_conn_send_call() or _reply() to the callback
 * "sent", or as long as the connection.
 */
struct rpcrdma2_tx {
	uint32_t xid;
	const void *payload;
	uint32_t length;
	const struct rpcrdma2_item *items;
	uint32_t nr_items;
	uint32_t inv_handle;
	uint32_t invalidate;
	void *user;
	/* private: */
	struct rpcrdma2_tx *next;
	uint32_t sent;
	uint8_t kind;
	uint8_t format;
};

/**
 * struct rpcrdma2_rx - A message that was received, with all or a part of a Call
 * or a Reply
 * @kind: enum rpcrdma2_kind
 * @xid: as in the RPC message
 * @first: not 0 for the first message of a continued one, and for a message that
 *	is complete. A continued message that had no end is discarded.
 * @last: not 0 for the last message of a continued one, and for a message that is
 *	complete
 * @payload: all or a part of the RPC message
 * @length: of @payload
 * @total: of the payload of this and of all earlier messages
 * @inv_handle: of a Call: the handle that its Reply may invalidate, 0: none
 * @needs_done: not 0 for a Reply with Read chunks: rpcrdma2_conn_done() is due when
 *	they are no longer needed
 * @msg: the header
 * @pkt: the message: rpcrdma2_items_begin() with @msg finds its chunks, which are
 *	in the last message only
 * @pkt_length: of @pkt
 */
struct rpcrdma2_rx {
	uint32_t kind;
	uint32_t xid;
	uint32_t first;
	uint32_t last;
	const void *payload;
	uint32_t length;
	uint32_t total;
	uint32_t inv_handle;
	uint32_t needs_done;
	const struct rpcrdma2_msg *msg;
	const void *pkt;
	size_t pkt_length;
};

/**
 * struct rpcrdma2_callbacks - Events of a connection
 * @opened: properties were exchanged: Calls may be sent
 * @received: a message with all or a part of a Call or a Reply has arrived. Its
 *	memory is the caller's again when rpcrdma2_conn_read_pkt() returns. A Reply
 *	has to be ignored if no Call with its xid is outstanding.
 * @failed: the Call @xid of this end has failed: the peer has refused it with
 *	@code and its data @arg, or its Reply was bad, and @code is 0. An xid that
 *	is not outstanding has to be ignored.
 * @sent: the last message of @tx was returned by rpcrdma2_conn_write_pkt(), and
 *	@tx is no longer in use
 * @auth: host authentication asks for a secret. Needed for it only, and returns
 *	enum rpcrdma2_auth_status. The request is valid until it returns.
 *
 * Each may be NULL. The others return 0; another value ends the connection with
 * RPCRDMA2_ERR_CALLBACK.
 */
struct rpcrdma2_callbacks {
	int (*opened)(struct rpcrdma2_conn *conn, void *user);
	int (*received)(struct rpcrdma2_conn *conn, const struct rpcrdma2_rx *rx,
			void *user);
	int (*failed)(struct rpcrdma2_conn *conn, uint32_t xid, uint32_t code,
		      const uint32_t arg[2], void *user);
	int (*sent)(struct rpcrdma2_conn *conn, struct rpcrdma2_tx *tx,
		    void *user);
	int (*auth)(struct rpcrdma2_conn *conn,
		    const struct rpcrdma2_auth_request *request,
		    struct rpcrdma2_auth_answer *answer, void *user);
};

/**
 * struct rpcrdma2_config - What a connection is set up with
 * @client: not 0: this end has requested the connection, and opens it
 * @version_low: the lowest version to use: 1 or 2
 * @version_high: the highest version to use
 * @remote_invalidation: not 0: the device can invalidate remotely
 * @no_chunks: not 0: the device cannot register memory: no chunks are sent
 * @window: Receives for RPC traffic, at most; 4 to 65535
 * @first_window: of them, those to begin with; 0: all
 * @reverse: of them, those for the other direction of Calls
 * @opening_timeout: nanoseconds until the opening has ended
 * @stall_timeout: nanoseconds for which the peer may grant no credit to messages
 *	that wait
 * @props: what this end announces
 * @auth: host authentication; RPCRDMA2_AUTH_REQUIRE excludes version 1
 * @callbacks: events
 * @user: passed to them
 */
struct rpcrdma2_config {
	uint32_t client;
	uint32_t version_low;
	uint32_t version_high;
	uint32_t remote_invalidation;
	uint32_t no_chunks;
	uint32_t window;
	uint32_t first_window;
	uint32_t reverse;
	uint64_t opening_timeout;
	uint64_t stall_timeout;
	struct rpcrdma2_props props;
	struct rpcrdma2_auth_config auth;
	struct rpcrdma2_callbacks callbacks;
	void *user;
};

/**
 * rpcrdma2_config_default() - Set the defaults
 * @config: a client with both versions, Sends and Receives of 4096 bytes, a
 *	window of 32 messages, no chunks, no Calls of the server, no host
 *	authentication, and no callbacks
 */
RPCRDMA2_EXPORT void rpcrdma2_config_default(struct rpcrdma2_config *config);

/**
 * rpcrdma2_conn_size() - Return the size of a connection's storage
 *
 * Return: bytes. It is the same for all connections.
 */
RPCRDMA2_EXPORT size_t rpcrdma2_conn_size(void);

/**
 * rpcrdma2_conn_init() - Set up a connection
 * @conn: filled with the connection, which is in @storage
 * @storage: at least rpcrdma2_conn_size() bytes, aligned to RPCRDMA2_CONN_ALIGN.
 *	No function frees anything: the caller frees it when it likes.
 * @size: of @storage
 * @config: copied
 *
 * Return: 0; RPCRDMA2_ERR_BUFFER_SHORT; RPCRDMA2_ERR_INVALID if @config has a
 * value out of range, or @storage is not aligned.
 */
RPCRDMA2_EXPORT int rpcrdma2_conn_init(struct rpcrdma2_conn **conn,
				       void *storage, size_t size,
				       const struct rpcrdma2_config *config);

/**
 * rpcrdma2_conn_announce() - Build the private message of RFC 8797
 * @conn: the connection; the peer's message is known before, for an accept
 * @buf: RPCRDMA2_PRIVATE_OCTETS bytes, for the connect request or accept
 */
RPCRDMA2_EXPORT void rpcrdma2_conn_announce(const struct rpcrdma2_conn *conn,
					    void *buf);

/**
 * rpcrdma2_conn_peer_private() - Record the private data of the peer
 * @conn: the connection, not established yet
 * @buf: private data, or NULL
 * @length: of the private data
 */
RPCRDMA2_EXPORT void rpcrdma2_conn_peer_private(struct rpcrdma2_conn *conn,
						const void *buf, size_t length);

/**
 * rpcrdma2_conn_read_depth() - Record how many RDMA Reads may be outstanding
 * @conn: the connection, not established yet
 * @outbound: from this end
 * @inbound: from the peer
 */
RPCRDMA2_EXPORT void rpcrdma2_conn_read_depth(struct rpcrdma2_conn *conn,
					      uint32_t outbound,
					      uint32_t inbound);

/**
 * rpcrdma2_conn_established() - Report that the transport is connected
 * @conn: the connection. The first Receives are posted before that.
 * @now: the time
 *
 * Return: 0 or an error, as rpcrdma2_conn_read_pkt().
 */
RPCRDMA2_EXPORT int rpcrdma2_conn_established(struct rpcrdma2_conn *conn,
					      uint64_t now);

/**
 * rpcrdma2_conn_recv_size() - Return the size that Receives must have
 * @conn: the connection
 *
 * Return: bytes
 */
RPCRDMA2_EXPORT uint32_t
rpcrdma2_conn_recv_size(const struct rpcrdma2_conn *conn);

/**
 * rpcrdma2_conn_send_size() - Return the size of the largest message sent
 * @conn: the connection
 *
 * Return: bytes; rpcrdma2_conn_write_pkt() needs that much. It can only decrease.
 */
RPCRDMA2_EXPORT uint32_t
rpcrdma2_conn_send_size(const struct rpcrdma2_conn *conn);

/**
 * rpcrdma2_conn_max_receives() - Return how many Receives are posted at most
 * @conn: the connection
 *
 * Return: number of buffers that the caller needs
 */
RPCRDMA2_EXPORT uint32_t
rpcrdma2_conn_max_receives(const struct rpcrdma2_conn *conn);

/**
 * rpcrdma2_conn_get_receives() - Return how many Receives to post now
 * @conn: the connection
 * @now: the time
 *
 * Call it before rpcrdma2_conn_established(), and before the first
 * rpcrdma2_conn_write_pkt() after a rpcrdma2_conn_read_pkt() or
 * rpcrdma2_conn_release().
 *
 * Return: Receives to post; if not 0, rpcrdma2_conn_posted() must follow.
 */
RPCRDMA2_EXPORT uint32_t rpcrdma2_conn_get_receives(struct rpcrdma2_conn *conn,
						    uint64_t now);

/**
 * rpcrdma2_conn_posted() - Report that Receives are posted
 * @conn: the connection
 * @count: as returned by rpcrdma2_conn_get_receives()
 * @now: the time
 *
 * Return: 0 or an error, as rpcrdma2_conn_read_pkt().
 */
RPCRDMA2_EXPORT int rpcrdma2_conn_posted(struct rpcrdma2_conn *conn,
					 uint32_t count, uint64_t now);

/**
 * rpcrdma2_conn_read_pkt() - Process a message that was received
 * @conn: the connection
 * @pkt: the message
 * @length: of the message
 * @invalidated: the handle that was invalidated by its arrival, 0: none. The
 *	caller compares that of a Reply with @inv_handle of its Call.
 * @now: the time
 *
 * Each message must be passed to it, in the order of arrival. Its Receive is free
 * afterwards, unless rpcrdma2_conn_hold() was called.
 *
 * Return: 0; an error if the connection has ended: the caller closes the
 * transport, and rpcrdma2_conn_reason() has the reason.
 */
RPCRDMA2_EXPORT int rpcrdma2_conn_read_pkt(struct rpcrdma2_conn *conn,
					   const void *pkt, size_t length,
					   uint32_t invalidated, uint64_t now);

/**
 * rpcrdma2_conn_hold() - Keep the Receive of a Call
 * @conn: the connection, in the callback "received" of a Call's last message
 *
 * This is how an end limits its load: a peer that has used its window waits until
 * rpcrdma2_conn_release(). With version 1 that must come before the Reply.
 *
 * Return: 0; RPCRDMA2_ERR_INVALID anywhere else.
 */
RPCRDMA2_EXPORT int rpcrdma2_conn_hold(struct rpcrdma2_conn *conn);

/**
 * rpcrdma2_conn_release() - Release the Receive of a Call that was kept
 * @conn: the connection
 */
RPCRDMA2_EXPORT void rpcrdma2_conn_release(struct rpcrdma2_conn *conn);

/**
 * rpcrdma2_conn_send_call() - Queue a Call
 * @conn: the connection, which is open
 * @tx: the Call
 *
 * It is sent inline if it fits, and continued otherwise. With a Position Zero Read
 * chunk in @tx, @tx->length is 0.
 *
 * Return: 0; RPCRDMA2_ERR_NOT_OPEN; RPCRDMA2_ERR_TOO_LONG if the peer does not
 * accept a message of that length; RPCRDMA2_ERR_CHUNKS if it does not accept these
 * chunks; RPCRDMA2_ERR_NO_REVERSE if it does not accept Calls;
 * RPCRDMA2_ERR_INVALID if there is no such message.
 */
RPCRDMA2_EXPORT int rpcrdma2_conn_send_call(struct rpcrdma2_conn *conn,
					    struct rpcrdma2_tx *tx);

/**
 * rpcrdma2_conn_send_reply() - Queue a Reply
 * @conn: the connection, on which the Call has arrived
 * @tx: the Reply. Its items return the Write chunks and the Reply chunk of the
 *	Call, with the lengths that were written. RDMA Writes are posted before it.
 *
 * Replies are sent in this order, and before Calls.
 *
 * Return: as rpcrdma2_conn_send_call()
 */
RPCRDMA2_EXPORT int rpcrdma2_conn_send_reply(struct rpcrdma2_conn *conn,
					     struct rpcrdma2_tx *tx);

/**
 * rpcrdma2_conn_send_error() - Queue an ERROR that answers a Call
 * @conn: the connection, on which the Call has arrived
 * @xid: of the Call
 * @code: RPCRDMA2_CODE_*, but not RPCRDMA2_CODE_VERS. With version 1 all codes
 *	become ERR_CHUNK.
 * @arg0: the code's data, 0 if it has none
 * @arg1: the code's second word of data
 *
 * Return: 0; RPCRDMA2_ERR_INVALID for a code that does not exist;
 * RPCRDMA2_ERR_CLOSED
 */
RPCRDMA2_EXPORT int rpcrdma2_conn_send_error(struct rpcrdma2_conn *conn,
					     uint32_t xid, uint32_t code,
					     uint32_t arg0, uint32_t arg1);

/**
 * rpcrdma2_conn_done() - Queue the DONE for a Reply with Read chunks
 * @conn: the connection, on which the Reply has arrived
 * @xid: of the Reply
 * @inv_handle: of the Reply, 0: none
 *
 * Return: 0; RPCRDMA2_ERR_CLOSED
 */
RPCRDMA2_EXPORT int rpcrdma2_conn_done(struct rpcrdma2_conn *conn, uint32_t xid,
				       uint32_t inv_handle);

/**
 * struct rpcrdma2_out - How a message is sent
 * @inv_handle: Send With Invalidate this handle, 0: a plain Send
 * @tx: the Call or Reply that it belongs to; NULL for a control message. Must not
 *	be dereferenced if this was the last message: see the callback "sent".
 */
struct rpcrdma2_out {
	uint32_t inv_handle;
	const struct rpcrdma2_tx *tx;
};

/**
 * rpcrdma2_conn_write_pkt() - Return the next message to send
 * @conn: the connection
 * @buf: written
 * @size: of @buf, at least rpcrdma2_conn_send_size()
 * @out: filled, or NULL
 * @now: the time
 *
 * The caller sends the message before any other one, or closes the transport.
 *
 * Return: length of the message; 0 if none may be sent now; an error, as
 * rpcrdma2_conn_read_pkt().
 */
RPCRDMA2_EXPORT ptrdiff_t rpcrdma2_conn_write_pkt(struct rpcrdma2_conn *conn,
						  void *buf, size_t size,
						  struct rpcrdma2_out *out,
						  uint64_t now);

/**
 * rpcrdma2_conn_get_expiry() - Return when to call rpcrdma2_conn_handle_expiry()
 * @conn: the connection
 *
 * Return: a time, or RPCRDMA2_NEVER. It changes with any call.
 */
RPCRDMA2_EXPORT uint64_t
rpcrdma2_conn_get_expiry(const struct rpcrdma2_conn *conn);

/**
 * rpcrdma2_conn_handle_expiry() - Report that time has passed
 * @conn: the connection
 * @now: the time
 *
 * Return: 0; RPCRDMA2_ERR_OPENING_TIMEOUT, RPCRDMA2_ERR_STALLED, or another error,
 * as rpcrdma2_conn_read_pkt().
 */
RPCRDMA2_EXPORT int rpcrdma2_conn_handle_expiry(struct rpcrdma2_conn *conn,
						uint64_t now);

/**
 * rpcrdma2_conn_close() - End the connection
 * @conn: the connection. The protocol has no message for that: the caller closes
 *	the transport. Nothing is returned by rpcrdma2_conn_write_pkt() any more, and
 *	no callback is called: the caller owns each struct rpcrdma2_tx again.
 */
RPCRDMA2_EXPORT void rpcrdma2_conn_close(struct rpcrdma2_conn *conn);

/**
 * rpcrdma2_conn_reason() - Return why the connection has ended
 * @conn: the connection
 *
 * Return: a static string; NULL if it has not ended.
 */
RPCRDMA2_EXPORT const char *
rpcrdma2_conn_reason(const struct rpcrdma2_conn *conn);

/**
 * struct rpcrdma2_conn_info - The state of a connection
 * @version: 1 or 2; 0 as long as it is not chosen
 * @version_why: the reason for it, one word: both, refused, setting, peer
 * @open: not 0: RPC traffic may pass
 * @refused_low: the lowest version of a peer that has refused version 2
 * @refused_high: its highest version; 0: none has refused
 * @heard: not 0: something was received
 * @own: what this end announces
 * @peer: what the peer has announced; version 1: what follows from its private
 *	message
 * @peer_private: the peer's private message
 * @send_inline: the inline threshold of messages sent
 * @recv_inline: the inline threshold of messages received
 * @send_window: messages that may be sent now; version 1: Calls
 * @recv_window: messages that the peer may send now; version 1: Calls
 * @sent: messages sent
 * @received: messages received
 * @calls: Calls sent or received: inline, continued, in chunks
 * @replies: Replies, as @calls
 * @grants_sent: credit grants
 * @grants_received: credit grants
 * @errors_sent: ERRORs
 * @errors_received: ERRORs
 * @dropped: messages that were dropped without an answer
 * @auth: the state of host authentication, one word: none, unused (the peer takes
 *	no part), authenticated, failed
 * @auth_hash: the hash function that was chosen, or "none"
 * @auth_dh: the group of the Diffie-Hellman exchange, or "none"
 * @auth_peer: the identity that the peer claims, "" if there is none. It is proven
 *	only if @auth is "authenticated". Valid as long as the connection.
 */
struct rpcrdma2_conn_info {
	uint32_t version;
	const char *version_why;
	uint32_t open;
	uint32_t refused_low;
	uint32_t refused_high;
	uint32_t heard;
	struct rpcrdma2_props own;
	struct rpcrdma2_props peer;
	struct rpcrdma2_private peer_private;
	uint32_t send_inline;
	uint32_t recv_inline;
	uint32_t send_window;
	uint32_t recv_window;
	uint32_t sent;
	uint32_t received;
	uint64_t calls[3];
	uint64_t replies[3];
	uint64_t grants_sent;
	uint64_t grants_received;
	uint64_t errors_sent;
	uint64_t errors_received;
	uint64_t dropped;
	const char *auth;
	const char *auth_hash;
	const char *auth_dh;
	const char *auth_peer;
};

/**
 * rpcrdma2_conn_get_info() - Return the state of a connection
 * @conn: the connection
 * @info: filled
 */
RPCRDMA2_EXPORT void rpcrdma2_conn_get_info(const struct rpcrdma2_conn *conn,
					    struct rpcrdma2_conn_info *info);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA2_CONN_H */
