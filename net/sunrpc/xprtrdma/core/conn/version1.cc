// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Version 1 on a connection (RFC 8166, 8167, 8797): received messages and their
 * verdicts, credits, and ERRORs.
 *
 * Operation
 *
 * There is no opening: a connection is open as soon as it has version 1. The private
 * messages have its thresholds. The limits for which version 2 has properties are fixed.
 * Credits count Calls, not messages: each direction has a limit of unanswered Calls,
 * one until the first answer, and each answer conveys a new limit, which may be lower.
 * The header has no flag for the direction. Only Calls have Read chunks; otherwise the
 * payload decides, or for a message without payload the Reply chunk. A message without
 * chunks takes the fast path (is_plain()). After each message the fields for version
 * 2's windows get equivalent values, which debugfs, traces and the check for stalled
 * messages use.
 *
 * Memory
 *
 * Nothing is allocated. A server accepts more segments than the fixed array holds, in
 * memory of its caller, which wants_more_segs() asks for.
 *
 * Errors
 *
 * A Call that cannot be used is answered by an ERR_CHUNK, and a Reply that cannot be
 * used ends its RPC. A message whose direction is not known counts as a Call at a server
 * and as a Reply at a client. Every received ERROR is permanent. ERR_VERS closes the
 * connection if version 1 was a fallback, because then the peer did not answer in
 * version 1. All other messages that are not valid are dropped and counted.
 *
 * Locking
 *
 * The caller holds the lock of the connection.
 */
#include "receive_pool.hh"
#include "version1.hh"

namespace rpcrdma::v1
{

namespace
{

using verdict = enum rpcrdma_verdict;

constexpr u32 OFF_DIRECTION = 4;
constexpr u32 DIRECTION_CALL = 0;
constexpr u32 DIRECTION_REPLY = 1;

/*
 * Maximum number of segments in one message of this end, which may have a Read chunk and
 * a Reply chunk. The in-tree client has never sent more than half of it in one of these.
 */
constexpr u32 MAX_SEGS = 32;

/* One message that is being checked */
struct message {
	struct rpcrdma_conn *conn;
	const u8 *octets;
	u32 length;
	struct rpcrdma_rx *rx;

	/* These bytes are present, otherwise its version would not be known. */
	span<FIXED_OCTETS> fixed() const
	{
		return span<FIXED_OCTETS>{ octets };
	}
};

/*
 * Set the fields for version 2's windows to equivalent values, for debugfs,
 * traces and rpcrdma_conn_stalled().
 */
void note_window(struct rpcrdma_conn *conn)
{
	const u32 left = conn->calls_unanswered < conn->call_limit ?
				 conn->call_limit - conn->calls_unanswered :
				 0;

	conn->limit = conn->sent + left;
	conn->advertised = conn->received + conn->granted;
}

verdict drop(const message &m)
{
	m.conn->counters.dropped++;
	return RPCRDMA_RX_CONSUMED;
}

/*
 * Handle the answer to a Call of this end, after which @limit may be
 * outstanding. Returns events.
 */
u32 answered(struct rpcrdma_conn *conn, u32 limit)
{
	const bool stuck = !may_call(conn);

	if (conn->calls_unanswered)
		conn->calls_unanswered--;
	conn->call_limit = limit;
	return stuck && may_call(conn) ? RPCRDMA_EV_WINDOW : 0;
}

/*
 * Handle an answer with a grant. The grant is absolute; zero would permit no
 * more Calls and is not meant.
 */
u32 answered(struct rpcrdma_conn *conn, span<FIXED_OCTETS> msg)
{
	return answered(conn,
			clamp_u32(msg.word<OFF_CREDIT>(), 1, wanted(conn)));
}

void answered(const message &m)
{
	m.rx->events |= answered(m.conn, m.fixed());
}

verdict refuse_call(const message &m)
{
	push_pending(m.conn, m.rx->xid, RDMA2_ERROR, RDMA2_ERR_BAD_XDR, 0, 0);
	return RPCRDMA_RX_CONSUMED;
}

/*
 * Handle a bad Reply. RFC 8166 lets a Requester discard it. That would leave
 * its RPC without an end, so it ends with an error (WP 7).
 */
verdict bad_reply(const message &m)
{
	answered(m);
	return RPCRDMA_RX_BAD_REPLY;
}

/*
 * Handle a message that cannot be interpreted, not even its direction. A server
 * treats it as a Call and a client as a Reply, which is the usual case, but
 * ignores its credits, which may have another meaning (RFC 8167, 4.1).
 */
verdict refuse(const message &m)
{
	if (!m.conn->cfg.client)
		return refuse_call(m);
	m.rx->events |= answered(m.conn, m.conn->call_limit);
	return RPCRDMA_RX_BAD_REPLY;
}

/*
 * Return the handle that the Reply may invalidate: one is only named if the
 * Call has no other (RFC 8797), since its sender invalidates the others anyway.
 */
u32 invalidatable(const struct rpcrdma_conn *conn,
		  const struct rpcrdma_lists *lists)
{
	if (!conn->peer_private.inv_ok || !lists->nr_segs)
		return 0;

	const u32 handle = rpcrdma_lists_seg(lists, 0)->handle;

	for (u32 i = 1; i < lists->nr_segs; i++) {
		if (rpcrdma_lists_seg(lists, i)->handle != handle)
			return 0;
	}
	return handle;
}

verdict deliver_call(const message &m, enum rpcrdma_format format, u32 stream)
{
	struct rpcrdma_rx *rx = m.rx;

	/* In the reverse direction there are no chunks (RFC 8167). */
	if (m.conn->cfg.client && has_chunks(&rx->lists))
		return refuse_call(m);
	if (stream < RPC_MIN_OCTETS ||
	    !reads_fit(&rx->lists, stream, format == RPCRDMA_SPECIAL))
		return refuse_call(m);

	rx->format = format;
	rx->total_length = stream;
	rx->lists.inv_handle = invalidatable(m.conn, &rx->lists);
	count_received(m.conn, RPCRDMA_KIND_CALL, format, &rx->lists);
	return RPCRDMA_RX_CALL;
}

verdict deliver_reply(const message &m, enum rpcrdma_format format, u32 stream)
{
	struct rpcrdma_rx *rx = m.rx;

	if (stream < RPC_MIN_OCTETS || rx->lists.nr_reads ||
	    (!m.conn->cfg.client && has_chunks(&rx->lists)))
		return bad_reply(m);

	answered(m);
	rx->format = format;
	rx->total_length = stream;
	count_received(m.conn, RPCRDMA_KIND_REPLY, format, &rx->lists);
	return RPCRDMA_RX_REPLY;
}

/*
 * Return this end's limits for chunk lists. Returned chunks are this end's own.
 */
list_limits limits(const struct rpcrdma_conn *conn,
		   const struct rpcrdma_lists *lists)
{
	const struct rpcrdma_props *own = &conn->cfg.props;
	const u32 more = lists->extra_segs ? u32{ RPCRDMA_MAX_EXTRA_SEGS } : 0;

	return {
		.reads = conn->cfg.client ? u32{ RPCRDMA_MAX_READ_CHUNKS } :
					    most_reads(conn),
		.writes = RPCRDMA_MAX_WRITE_CHUNKS,
		.segs = conn->cfg.client ? u32{ RPCRDMA_MAX_SEGS } :
					   own->rcsiz + more,
		.segment = conn->cfg.client ? ~0u : own->rssiz,
		.any_order = true,
	};
}

/*
 * Receive a Call or a Reply. The header has no flag for the direction: the lists and
 * the payload determine it.
 */
verdict receive_rpc(const message &m, bool nomsg)
{
	struct rpcrdma_rx *rx = m.rx;
	const struct rpcrdma_lists *lists = &rx->lists;
	xdr_reader in{ m.octets, m.length, OFF_LISTS };

	if (decode_chunks(in, limits(m.conn, lists), &rx->lists))
		return refuse(m);

	if (nomsg) {
		/* Only Calls have Read chunks. */
		if (lists->nr_reads)
			return deliver_call(m, RPCRDMA_SPECIAL,
					    lists->reads[0].length);
		if (m.conn->cfg.client && lists->has_reply)
			return deliver_reply(m, RPCRDMA_SPECIAL,
					     lists->reply.length);
		return refuse(m);
	}

	rx->payload_offset = in.offset();
	rx->payload_length = in.left();
	if (rx->payload_length < RPC_MIN_OCTETS)
		return refuse(m);

	const span<RPC_MIN_OCTETS> rpc{ m.octets + rx->payload_offset };

	if (rpc.word<0>() != rx->xid)
		return refuse(m);
	switch (rpc.word<OFF_DIRECTION>()) {
	case DIRECTION_CALL:
		return deliver_call(m, RPCRDMA_INLINE, rx->payload_length);
	case DIRECTION_REPLY:
		return deliver_reply(m, RPCRDMA_INLINE, rx->payload_length);
	default:
		return refuse(m);
	}
}

/*
 * Receive an error. Each one is permanent: retransmitting the Call would not help.
 */
verdict receive_error(const message &m)
{
	struct rpcrdma_rx *rx = m.rx;

	if (m.length < ERR_CHUNK_OCTETS)
		return drop(m);
	switch (span<ERR_CHUNK_OCTETS>{ m.octets }.word<OFF_ERR>()) {
	case ERR_VERS: {
		if (m.length < ERR_VERS_OCTETS)
			return drop(m);

		const span<ERR_VERS_OCTETS> versions{ m.octets };

		if (m.conn->cfg.fallback_v1) {
			/*
			 * The fallback was wrong: the peer has not answered in version
			 * 1.
			 */
			m.conn->answered = 0;
			m.conn->version_refused =
				versions.word<OFF_ERR_HIGH>() >= RPCRDMA_VERS_2;
			m.conn->odd = !m.conn->version_refused;
			close_connection(m.conn,
					 "the peer does not support version 1");
			return RPCRDMA_RX_CLOSE;
		}
		rx->error.code = RDMA2_ERR_VERS;
		rx->error.arg[0] = versions.word<OFF_ERR_LOW>();
		rx->error.arg[1] = versions.word<OFF_ERR_HIGH>();
		break;
	}
	case ERR_CHUNK:
		rx->error.code = RDMA2_ERR_BAD_XDR;
		break;
	default:
		return drop(m);
	}
	answered(m);
	rx->error.status = find_error(rx->error.code)->status;
	m.conn->counters.errors_received++;
	return RPCRDMA_RX_ERROR;
}

verdict receive_any(const message &m)
{
	const u32 proc = m.fixed().word<OFF_PROC>();

	m.rx->xid = m.fixed().word<OFF_XID>();
	if (proc == RDMA_ERROR)
		return receive_error(m);
	if (m.length < PLAIN_HEADER_OCTETS)
		return drop(m);

	switch (proc) {
	case RDMA_MSG:
		return receive_rpc(m, false);
	case RDMA_NOMSG:
		return receive_rpc(m, true);
	case RDMA_DONE:
		return drop(m);
	case RDMA_MSGP:
	default:
		/*
		 * A Requester discards it, a Responder sends an error (RFC
		 * 8166, 4.6).
		 */
		return m.conn->cfg.client ? drop(m) : refuse_call(m);
	}
}

} // namespace

void open(struct rpcrdma_conn *conn)
{
	conn->version = RPCRDMA_VERS_1;
	conn->state = RPCRDMA_CONN_OPEN;
	conn->call_limit = 1;
	conn->calls_unanswered = 0;
	open_window_v1(conn);
	conn->granted = 1;
	set_grant(conn);
	/*
	 * Properties that are not set are not supported. The others have RFC 8166's
	 * values.
	 */
	conn->peer = {
		.sbsiz = conn->peer_private.send_size,
		.rbsiz = conn->peer_private.recv_size,
		.rssiz = RPCRDMA_MAX_CHUNK_OCTETS,
		.rcsiz = MAX_SEGS,
		.brs = RDMA2_RVRSDIR_SIMPLE,
		.reply_read = 0,
		.reassembly = 0,
	};
	note_window(conn);
}

/*
 * The Calls of a server's peer get the Receives that are left after those for
 * its Replies and the spare ones.
 */
void set_grant(struct rpcrdma_conn *conn)
{
	const u32 others = conn->cfg.reverse + RPCRDMA_V1_SPARE_RECEIVES + 1;
	const u32 most =
		conn->window - min_u32(conn->window, conn->cfg.reverse);

	if (conn->cfg.client)
		conn->granted = conn->cfg.reverse;
	else if (conn->receives > others)
		conn->granted = min_u32(conn->receives - others, most);
}

u32 receive_size(const struct rpcrdma_conn *conn)
{
	return min_u32(conn->cfg.props.rbsiz,
		       max_u32(conn->peer_private.send_size,
			       RPCRDMA_V2_DEFAULT_INLINE));
}

void stamp(struct rpcrdma_conn *conn, enum rpcrdma_kind kind, void *header)
{
	const bool call = kind == RPCRDMA_KIND_CALL;

	conn->sent++;
	if (call) {
		conn->calls_unanswered++;
		conn->last_complete = conn->sent;
	}
	span<FIXED_OCTETS, u8>{ header }.word<OFF_CREDIT>(call ? wanted(conn) :
								 conn->granted);
	note_window(conn);
}

u32 send_error(struct rpcrdma_conn *conn, void *buf, u32 xid)
{
	xdr_writer out = encode_fixed(xdr_writer{ buf }, xid, RDMA_ERROR);

	out.word(ERR_CHUNK);
	stamp(conn, RPCRDMA_KIND_CONTROL, buf);
	conn->counters.errors_sent++;
	return out.offset();
}

verdict receive(struct rpcrdma_conn *conn, const void *msg, u32 length,
		struct rpcrdma_rx *rx)
{
	const message m = { conn, static_cast<const u8 *>(msg), length, rx };
	verdict v;

	conn->answered = 1;
	conn->version_refused = 0;
	v = receive_any(m);
	note_window(conn);
	return v;
}

/* The header has no flag for the direction: the payload alone determines it. */
bool is_plain(const struct rpcrdma_conn *conn, const void *msg, u32 length)
{
	constexpr u32 payload = PLAIN_HEADER_OCTETS;
	const span<payload + RPC_MIN_OCTETS> m{ msg };

	static_assert(!RDMA_MSG);
	return conn->state == RPCRDMA_CONN_OPEN &&
	       conn->version == RPCRDMA_VERS_1 && conn->answered == 1 &&
	       conn->version_refused == 0 &&
	       length >= payload + RPC_MIN_OCTETS &&
	       m.word<OFF_VERS>() == RPCRDMA_VERS_1 &&
	       !(m.word<OFF_PROC>() | m.word<OFF_LISTS>() |
		 m.word<OFF_LISTS + 4>() | m.word<OFF_LISTS + 8>()) &&
	       m.word<payload>() == m.word<OFF_XID>() &&
	       m.word<payload + OFF_DIRECTION>() <= DIRECTION_REPLY;
}

enum rpcrdma_verdict receive_plain(struct rpcrdma_conn *conn, const void *msg,
				   u32 length, struct rpcrdma_rx *rx)
{
	const span<PLAIN_HEADER_OCTETS + RPC_MIN_OCTETS> m{ msg };
	const bool reply = m.word<PLAIN_HEADER_OCTETS + OFF_DIRECTION>();

	fill_plain(rx, m.word<OFF_XID>(), PLAIN_HEADER_OCTETS, length, 0);
	if (reply) {
		rx->events = answered(conn, span<FIXED_OCTETS>{ m });
		count_reply(conn, RPCRDMA_INLINE);
	} else {
		count_call(conn, RPCRDMA_INLINE);
	}
	note_window(conn);
	return reply ? RPCRDMA_RX_REPLY : RPCRDMA_RX_CALL;
}

bool wants_more_segs(const void *msg, u32 length)
{
	/* Rare: most messages are too short, or payload. */
	if (length < PLAIN_HEADER_OCTETS +
			     SEGMENT_OCTETS * u32{ RPCRDMA_MAX_SEGS } ||
	    span<FIXED_OCTETS>{ msg }.word<OFF_PROC>() > RDMA_NOMSG)
		return false;
	return count_segments({ msg, length, OFF_LISTS }) > RPCRDMA_MAX_SEGS;
}

bool handle_was_registered(const struct rpcrdma_lists *call_lists, u32 handle)
{
	for (u32 i = 0; i < call_lists->nr_segs; i++) {
		if (rpcrdma_lists_seg(call_lists, i)->handle == handle)
			return true;
	}
	return false;
}

} // namespace rpcrdma::v1
