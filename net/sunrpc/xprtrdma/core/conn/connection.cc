// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The protocol state of a connection, and everything it sends: which messages may be
 * sent, in which order, and the control messages that the core builds itself.
 *
 * Operation
 *
 * Functions change the state, and return the events that follow; the caller acts on
 * these. A message is counted when it is posted, and not when it is encoded: only then
 * are its credit fields up to date. Queued ERRORs and DONEs are sent first, then
 * CONNPROP, and a credit grant last. In version 2, no Call may be sent while an ERROR
 * or a DONE is queued. A connection is open when three conditions hold: the peer's
 * last CONNPROP was received; the last one of this end was sent, or can be sent after
 * the messages queued before it; and host authentication has ended.
 * queue/send_queue.cc decides which of the messages that may be sent is posted next.
 *
 * Memory
 *
 * Nothing is allocated. An ERROR or a DONE waits as a few words in a ring of
 * RPCRDMA_MAX_PENDING_CONTROL entries; whether CONNPROP or a credit grant is due
 * follows from the state. A control message is encoded into the buffer of a Send
 * context when it may be sent.
 *
 * Errors
 *
 * The first violation of the protocol sets the state to CLOSING, and the reason, which
 * later ones do not change. Nothing may be sent from then on. A connection is also
 * closed if its ring overflows: the peer then causes ERRORs or DONEs and grants no
 * credits for them. If messages wait for credits and the peer grants too few for
 * cfg.stall_ms, the connection is closed, because a Call that was not sent has no other
 * timeout.
 *
 * Locking
 *
 * The caller holds the lock of the connection, except during the setup, and for
 * functions with a const connection that read only what is fixed while it is open.
 */
#include "../wire/codec.hh"
#include "credits.hh"
#include "hostauth.hh"
#include "../wire/properties.hh"
#include "receive_pool.hh"
#include "stamp.hh"
#include "version1.hh"

namespace rpcrdma
{

namespace
{

/* The control messages of WP 2 that can be next */
enum class control {
	none,
	pending, /* a queued ERROR or DONE */
	connprop,
	grant,
};

/*
 * Return true if this end's CONNPROP waits only for the @ahead messages before
 * it. A server's first window must be at least RPCRDMA_MIN_WINDOW.
 */
bool connprop_ready(const struct rpcrdma_conn *conn, s32 ahead)
{
	return conn->props_due && !conn->props_sent &&
	       window_left(conn) > ahead &&
	       (conn->cfg.client ||
		available(conn) >= static_cast<s32>(RPCRDMA_MIN_WINDOW));
}

[[gnu::always_inline]] inline control
next_control(const struct rpcrdma_conn *conn)
{
	const s32 left = window_left(conn);

	if (conn->version == RPCRDMA_VERS_1) {
		/* In version 1, a peer has a Receive for the answer to its Call. */
		return conn->pend_count && conn->state == RPCRDMA_CONN_OPEN ?
			       control::pending :
			       control::none;
	}
	if (conn->state == RPCRDMA_CONN_CLOSING || available(conn) < 0)
		return control::none;
	/*
	 * An ERROR about the peer's CONNPROP must reach it before it has
	 * everything it needs to complete the opening (WP 4, 7). For ERR_VERS the peer has
	 * a Receive.
	 */
	if (conn->pend_count &&
	    (left > 0 || (!conn->version && !conn->cfg.client)))
		return control::pending;
	if (connprop_ready(conn, 0))
		return control::connprop;
	/* A client sends nothing more until it was answered (4.2.3). */
	if (conn->props_begun && (conn->answered || !conn->cfg.client) &&
	    left >= 0 && grant_owed(conn))
		return control::grant;
	return control::none;
}

/*
 * Return the events of the opening. It is complete when all CONNPROPs of the
 * peer were received and nothing delays this end's: they are sent before
 * anything else.
 */
u32 opening_events(struct rpcrdma_conn *conn)
{
	if (!conn->props_received || auth::holds(conn))
		return 0;
	if (!conn->props_sent && !connprop_ready(conn, conn->pend_count))
		return 0;
	conn->peer = conn->staged;
	conn->state = RPCRDMA_CONN_OPEN;
	return RPCRDMA_EV_OPENED;
}

/*
 * Return true if any of @waits, RPCRDMA_WAITS_*, or a control message waits for
 * the peer to grant credits, and not for slots, contexts or Writes. In version
 * 1 only Calls do. A continued message that is being sent is counted as
 * RPCRDMA_WAITS_MESSAGE, and needs as much credit as a Call if it is one.
 */
bool waits_for_window(const struct rpcrdma_conn *conn, u32 waits)
{
	const bool call = waits & RPCRDMA_WAITS_CALL;
	const bool message = waits & RPCRDMA_WAITS_MESSAGE;

	if (conn->version == RPCRDMA_VERS_1)
		return call && !v1::may_call(conn);
	if (call || conn->pend_count ||
	    (message && conn->tx_open == RPCRDMA_KIND_CALL + 1))
		return !room_for_call(conn);
	return message && window_left(conn) <= 0;
}

/* Stamp a control message that is not a credit grant. */
void stamp_control(struct rpcrdma_conn *conn, void *header)
{
	stamp(conn, header);
	conn->last_nongrant = conn->sent;
	conn->last_complete = conn->sent;
}

u32 send_err_vers(struct rpcrdma_conn *conn, void *buf,
		  const struct rpcrdma_pending &pending)
{
	xdr_writer out{ buf };

	/*
	 * The form that every version shares (WP 1). It permits one message, the next
	 * attempt.
	 */
	conn->advertised = conn->received + 1;
	out.word(pending.xid);
	out.word(pending.arg[0]);
	out.word(1);
	out.word(RDMA2_ERROR);
	out.word(RDMA2_ERR_VERS);
	out.word(conn->cfg.version_low);
	out.word(conn->cfg.version_high);
	conn->sent++;
	conn->last_nongrant = conn->sent;
	conn->counters.errors_sent++;
	return out.offset();
}

/* Return a control message of @octets that invalidates nothing. */
rpcrdma_control plain(u32 octets)
{
	return { .octets = octets, .inv_handle = 0 };
}

rpcrdma_control send_pending(struct rpcrdma_conn *conn, void *buf)
{
	const struct rpcrdma_pending pending = conn->pend[conn->pend_head];
	xdr_writer out{ buf };
	u32 inv_handle = 0;

	if (++conn->pend_head == RPCRDMA_MAX_PENDING_CONTROL)
		conn->pend_head = 0;
	conn->pend_count--;

	if (conn->version == RPCRDMA_VERS_1 && pending.code != RDMA2_ERR_VERS)
		return plain(v1::send_error(conn, buf, pending.xid));

	if (pending.htype == RDMA2_DONE) {
		out = v2::encode_prefix(out, pending.xid, RDMA2_DONE, 0);
		if (conn->cfg.inv_ok)
			inv_handle = pending.code;
		conn->counters.dones_sent++;
	} else if (pending.code == RDMA2_ERR_VERS) {
		return plain(send_err_vers(conn, buf, pending));
	} else {
		out = v2::encode_prefix(out, pending.xid, RDMA2_ERROR,
					RDMA2_F_RESPONSE);
		out.word(pending.code);
		const error_info *error = find_error(pending.code);

		for (u32 i = 0; error && i < error->words; i++)
			out.word(pending.arg[i]);
		conn->counters.errors_sent++;
	}
	stamp_control(conn, buf);
	return { .octets = out.offset(), .inv_handle = inv_handle };
}

u32 send_connprop(struct rpcrdma_conn *conn, void *buf)
{
	const auth::contents what = auth::next_contents(conn);
	const u32 items = what.type ? 1 : 0;
	xdr_writer out{ buf };

	/*
	 * All properties of this end fit into one message that even a version 1
	 * server could receive. Only the handshake of host authentication needs
	 * others after it.
	 */
	out = v2::encode_prefix(out, 0, RDMA2_CONNPROP,
				what.more ? RDMA2_F_TPMORE : 0);
	if (what.props)
		encode_props(out, &conn->cfg.props, conn->cfg.client, items);
	else
		out.word(items);
	out = auth::encode_item(conn, what, out);
	stamp_control(conn, buf);
	auth::sent(conn, what, buf, out.offset());
	conn->props_begun = 1;
	conn->props_due = 0;
	conn->props_sent = !what.more;
	return out.offset();
}

u32 send_grant(struct rpcrdma_conn *conn, void *buf)
{
	xdr_writer out{ buf };

	out = v2::encode_prefix(out, 0, RDMA2_NOMSG, 0);
	out = v2::encode_lists(out, nullptr);
	stamp(conn, buf);
	conn->counters.grants_sent++;
	return out.offset();
}

} // namespace

void close_connection(struct rpcrdma_conn *conn, const char *why)
{
	if (conn->state == RPCRDMA_CONN_CLOSING)
		return;
	conn->state = RPCRDMA_CONN_CLOSING;
	conn->reason = why;
}

u32 due_events(struct rpcrdma_conn *conn)
{
	u32 events;

	if (conn->state == RPCRDMA_CONN_CLOSING)
		return RPCRDMA_EV_CLOSE;
	events = conn->state == RPCRDMA_CONN_OPENING ? opening_events(conn) : 0;
	if (next_control(conn) != control::none)
		events |= RPCRDMA_EV_CONTROL;
	if (more_receives_due(conn))
		events |= RPCRDMA_EV_RECEIVES;
	return events;
}

void push_pending(struct rpcrdma_conn *conn, u32 xid, u32 htype, u32 code,
		  u32 arg0, u32 arg1)
{
	u32 tail;

	if (conn->state == RPCRDMA_CONN_CLOSING)
		return;
	if (conn->pend_count == RPCRDMA_MAX_PENDING_CONTROL) {
		close_connection(conn,
				 "too many control messages wait for credits");
		return;
	}
	tail = (conn->pend_head + conn->pend_count) %
	       RPCRDMA_MAX_PENDING_CONTROL;
	conn->pend[tail] = {
		.xid = xid,
		.htype = htype,
		.code = code,
		.arg = { arg0, arg1 },
	};
	conn->pend_count++;
}

} // namespace rpcrdma

using namespace rpcrdma;

/*
 * Start with nothing sent, received or posted, and the limit of 1 that applies
 * to both directions before the first header (WP 3).
 */
void rpcrdma_conn_init(struct rpcrdma_conn *conn,
		       const struct rpcrdma_conn_config *cfg)
{
	/*
	 * Do not clear the ring, which is most of the memory: its entries are written
	 * before they are read.
	 */
	__builtin_memset(conn, 0,
			 __builtin_offsetof(struct rpcrdma_conn, pend));
	conn->cfg = *cfg;
	conn->cfg.client = !!cfg->client;
	conn->cfg.inv_ok = !!cfg->inv_ok;
	conn->cfg.no_mrs = !!cfg->no_mrs;
	conn->cfg.fallback_v1 = !!cfg->fallback_v1;
	auth::init(conn);
	conn->cfg.version_low = static_cast<u8>(
		clamp_u32(auth::is_required(conn) ? u32{ RPCRDMA_VERS_2 } :
						    cfg->version_low,
			  LOWEST_VERSION, HIGHEST_VERSION));
	conn->cfg.version_high = static_cast<u8>(clamp_u32(
		cfg->version_high, conn->cfg.version_low, HIGHEST_VERSION));
	conn->cfg.window =
		clamp_u32(cfg->window, RPCRDMA_MIN_WINDOW, RPCRDMA_MAX_CREDIT);
	conn->cfg.first_window = cfg->first_window ?
					 clamp_u32(cfg->first_window,
						   RPCRDMA_MIN_WINDOW,
						   conn->cfg.window) :
					 conn->cfg.window;
	/* Each direction needs at least one Receive. */
	conn->cfg.reverse = clamp_u32(cfg->reverse, 1, conn->cfg.window - 1);
	/* Half of the range of a clock of 32 bits */
	conn->cfg.done_ms = clamp_u32(cfg->done_ms, 1, ~0u / 2);
	conn->cfg.stall_ms = clamp_u32(cfg->stall_ms ? cfg->stall_ms :
						       u32{ RPCRDMA_STALL_MS },
				       1, ~0u / 2);
	clamp_props(&conn->cfg.props);
	rpcrdma_decode_private(nullptr, 0, &conn->peer_private);

	conn->peer = DEFAULT_PROPS;
	conn->staged = DEFAULT_PROPS;
	conn->state = RPCRDMA_CONN_OPENING;
	conn->limit = 1;
	conn->advertised = 1;
	set_window(conn, conn->cfg.first_window);
}

namespace
{

/* No header without chunks is longer, in either version. */
constexpr u32 MOST_PLAIN_HEADER = 64;

} // namespace

/* The payload of one message, or of a continued one that both ends can reassemble */
u32 rpcrdma_reverse_payload(const struct rpcrdma_conn *conn, u32 buffer)
{
	struct rpcrdma_conn_limits limits;
	const struct rpcrdma_props *own;
	u32 header, inlined, parts;

	if (!conn)
		return min_u32(RPCRDMA_MIN_INLINE_OCTETS - MOST_PLAIN_HEADER,
			       buffer);
	own = &conn->cfg.props;
	limits = rpcrdma_conn_limits(conn);
	header = header_octets(conn, nullptr);
	inlined = min_u32(limits.send_inline, limits.recv_inline);
	inlined -= min_u32(inlined, header);
	if (own->brs < RDMA2_RVRSDIR_CONT)
		return min_u32(inlined, buffer);
	parts = min_u32(own->reassembly, limits.continued);
	return min_u32(max_u32(parts, inlined), buffer);
}

/* Version 1's thresholds are in the private message (RFC 8797). */
void rpcrdma_conn_set_peer_private(struct rpcrdma_conn *conn,
				   const struct rpcrdma_private *priv)
{
	if (priv->valid)
		conn->peer_private = *priv;
}

/*
 * Sizes are in units of 1024 bytes, rounded down, so a peer may send more than
 * it has announced; a server answers with the size that its Receives will have.
 */
void rpcrdma_conn_build_private(const struct rpcrdma_conn *conn,
				struct rpcrdma_private *priv)
{
	*priv = {
		.valid = 1,
		.inv_ok = conn->cfg.inv_ok,
		.send_size = conn->cfg.props.sbsiz,
		.recv_size = conn->cfg.client ? conn->cfg.props.rbsiz :
						v1::receive_size(conn),
	};
}

/*
 * WP 8: without Reads in one direction, features that need them are not
 * announced on this connection. A client Reads the chunks of reverse Calls.
 */
void rpcrdma_conn_read_depth(struct rpcrdma_conn *conn, u32 outbound,
			     u32 inbound)
{
	struct rpcrdma_props *own = &conn->cfg.props;

	conn->no_reads = !outbound;
	if (!outbound) {
		own->reply_read &= ~u32{ RDMA2_REPLY_READ_PULL };
		own->brs = min_u32(own->brs, RDMA2_RVRSDIR_CONT);
	}
	if (!inbound)
		own->reply_read &= ~u32{ RDMA2_REPLY_READ_PROVIDE };
}

/*
 * The client opens: its CONNPROP is the first message (4.2.3, WP 4), if it may
 * use version 2.
 */
u32 rpcrdma_conn_established(struct rpcrdma_conn *conn)
{
	if (!conn->cfg.client)
		return due_events(conn);
	if (conn->cfg.version_high < RPCRDMA_VERS_2) {
		v1::open(conn);
		return RPCRDMA_EV_OPENED | due_events(conn);
	}
	conn->props_due = 1;
	auth::begin(conn);
	return due_events(conn);
}

struct rpcrdma_control rpcrdma_conn_next_control(struct rpcrdma_conn *conn,
						 void *buf, u32 size)
{
	if (size < RPCRDMA_V2_FIRST_CONNPROP)
		return plain(0);
	switch (next_control(conn)) {
	case control::none:
		break;
	case control::pending:
		return send_pending(conn, buf);
	case control::connprop:
		return plain(send_connprop(conn, buf));
	case control::grant:
		return plain(send_grant(conn, buf));
	}
	return plain(0);
}

bool rpcrdma_conn_control_due(const struct rpcrdma_conn *conn)
{
	return next_control(conn) != control::none;
}

bool rpcrdma_conn_may_send(const struct rpcrdma_conn *conn,
			   enum rpcrdma_kind kind)
{
	const s32 left = window_left(conn);

	if (kind == RPCRDMA_KIND_CONTROL)
		return rpcrdma_conn_control_due(conn);
	if (!is_settled(conn)) {
		if (conn->version == RPCRDMA_VERS_1)
			return conn->state == RPCRDMA_CONN_OPEN &&
			       (kind == RPCRDMA_KIND_REPLY ||
				v1::may_call(conn));
		/* Queued control messages precede Calls. */
		if (conn->state != RPCRDMA_CONN_OPEN || !conn->props_sent ||
		    kind == RPCRDMA_KIND_CALL)
			return false;
	}
	if (available(conn) < 0)
		return false;
	if (conn->tx_open && conn->tx_open != kind + 1)
		return false;
	return kind == RPCRDMA_KIND_CALL ? room_for_call(conn) : left > 0;
}

/*
 * The wait restarts if, since it began, a complete message was sent and the limit has
 * risen by more than a Call needs above the messages sent by then. A peer that sends
 * much and grants nothing does not restart it, nor does one that grants a single message
 * now and then. One Call may wait for long while other Calls are sent.
 */
struct rpcrdma_stall rpcrdma_conn_stalled(struct rpcrdma_conn *conn, u32 waits,
					  u32 now)
{
	const s32 needed = conn->version == RPCRDMA_VERS_1 ? 0 : CALL_RESERVE;

	if (conn->state != RPCRDMA_CONN_OPEN ||
	    !waits_for_window(conn, waits)) {
		conn->stalled = 0;
		return { .wait = 0, .events = 0 };
	}
	if (!conn->stalled ||
	    (conn->last_complete != conn->stalled_complete &&
	     distance(conn->stalled_sent, conn->limit) > needed)) {
		conn->stalled = 1;
		conn->stalled_sent = conn->sent;
		conn->stalled_complete = conn->last_complete;
		conn->stalled_since = now;
	}
	if (now - conn->stalled_since < conn->cfg.stall_ms)
		return { .wait = conn->cfg.stall_ms -
				 (now - conn->stalled_since),
			 .events = 0 };
	close_connection(conn, "the peer does not grant credits");
	return { .wait = 0, .events = RPCRDMA_EV_CLOSE };
}

/*
 * The credit fields are up to date: they are written when the message is
 * posted, not when it is encoded (WP 3).
 */
void rpcrdma_conn_stamp(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
			void *header)
{
	if (conn->version == RPCRDMA_VERS_1 ||
	    !(span<RPCRDMA_V2_PREFIX, u8>{ header }.word<v2::OFF_FLAGS>() &
	      RDMA2_F_MORE)) {
		stamp_whole(conn, kind, header);
		return;
	}
	stamp(conn, header);
	conn->last_nongrant = conn->sent;
	conn->tx_open = static_cast<u8>(kind + 1);
}

u32 rpcrdma_conn_queue_error(struct rpcrdma_conn *conn, u32 xid, u32 code,
			     u32 arg0, u32 arg1)
{
	push_pending(conn, xid, RDMA2_ERROR, code, arg0, arg1);
	conn->calls_outstanding--;
	return due_events(conn);
}

u32 rpcrdma_conn_queue_done(struct rpcrdma_conn *conn, u32 xid, u32 inv_handle)
{
	/* Version 1 no longer has such a message (RFC 8166, 4.6.2). */
	if (conn->version != RPCRDMA_VERS_1)
		push_pending(conn, xid, RDMA2_DONE, inv_handle, 0, 0);
	return due_events(conn);
}

/*
 * The external interface; within the engine the format and kind are constants.
 */
void rpcrdma_conn_count(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
			enum rpcrdma_format format,
			const struct rpcrdma_lists *lists)
{
	if (kind != RPCRDMA_KIND_CONTROL && format < RPCRDMA_NR_FORMATS)
		count_complete(conn, kind, format, lists,
			       &conn->counters.bytes_sent);
}
