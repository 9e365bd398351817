// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving RPC messages of version 2: Calls, Replies, and fragments of them.
 *
 * Operation
 *
 * receive.cc calls receive_rpc() for RDMA2_MSG and RDMA2_NOMSG, except for credit
 * grants, after it has processed the credit fields. The checks are made in this order:
 * the opening is complete; the message is not the rest of a sequence that is being
 * discarded; it does not interrupt the open sequence; its flags and header type agree;
 * this end accepts Calls if it is one; its lists are well-formed, and within the
 * limits that this end has announced; the xid and the direction of the payload are
 * those of the header. A fragment is then counted. The last fragment of a sequence,
 * and any other message, is delivered as a Call or a Reply.
 *
 * A Reply returns this end's own Write and Reply chunks, to which these limits do not
 * apply. rpcrdma_check_reply() compares them with the chunks of the Call. The limits
 * apply to the Read chunk of a Reply to be pulled (pull_ok()).
 *
 * Memory
 *
 * Nothing is allocated. Of the open sequence, the connection has only the identity and
 * the number of bytes, which this file keeps within the announced reassembly limit.
 * core/endpoint/arrivals.cc has the fragments.
 *
 * Errors
 *
 * An RPC message before the end of the opening closes the connection. refuse() is for
 * a message that cannot be used: a Call is answered by an ERROR, and a Reply ends its
 * RPC. If that Reply has a Read chunk, a DONE is queued, because the Responder keeps
 * the memory until then. The fragments that may follow are discarded
 * (continuation.cc). If a Call interrupts the open sequence, both messages are lost.
 * If a Reply does so, the connection is closed.
 *
 * Locking
 *
 * The caller holds the lock of the connection.
 */
#include "receive.hh"

namespace rpcrdma::v2
{

namespace
{

/*
 * Queue the DONE for a Reply that has a Read chunk, even if this end cannot use
 * the Reply: the Responder keeps the memory of Read chunks until the DONE (DR
 * 4.1.2, 4.1.3). The lists may be invalid, so only the presence of the first
 * one is checked. A handle is named only if the Reply is in the chunk (WP 6).
 */
void done_with_reply(const message &m)
{
	xdr_reader in = m.body();

	if (!in.has(2 * sizeof(u32)))
		return;

	const u32 handle = in.word();

	if (in.word())
		push_pending(m.conn, m.prefix.xid, RDMA2_DONE,
			     m.prefix.htype == RDMA2_NOMSG ? handle : 0, 0, 0);
}

/*
 * Handle a message that should have conveyed an RPC message, or a part of one,
 * and cannot be used: refuse a Call, report a Reply (WP 7). The rest of its
 * continued message is discarded, too.
 */
verdict refuse(const message &m, fault wrong)
{
	struct rpcrdma_conn *conn = m.conn;
	const sequence seq = m.identity();

	if (sequence_open(conn, seq))
		conn->rx_open = 0;
	if (m.prefix.htype == RDMA2_MSG && m.flag(RDMA2_F_MORE))
		discard_sequence(conn, seq);

	if (m.response()) {
		done_with_reply(m);
		return RPCRDMA_RX_BAD_REPLY;
	}
	answer(m, wrong);
	return RPCRDMA_RX_CONSUMED;
}

/*
 * Handle a Call, or a message of a continued one, that arrived between the
 * messages of another: both are lost (WP 6). Two Calls of one xid are answered
 * by one ERROR.
 */
verdict broken_by_call(const message &m)
{
	struct rpcrdma_conn *conn = m.conn;
	const sequence open = { conn->rx_xid, conn->rx_response };

	conn->rx_open = 0;
	discard_sequence(conn, open);
	if (!open.response && open.xid != m.prefix.xid)
		push_pending(conn, open.xid, RDMA2_ERROR, RDMA2_ERR_INVAL_CONT,
			     0, 0);
	refuse(m, { RDMA2_ERR_INVAL_CONT });
	if (!open.response)
		return RPCRDMA_RX_CONSUMED;
	m.rx->xid = open.xid;
	return RPCRDMA_RX_BAD_REPLY;
}

/* Return this end's limits for a Call's chunk lists (WP 5). */
list_limits call_limits(const struct rpcrdma_conn *conn)
{
	const struct rpcrdma_props *own = &conn->cfg.props;

	/* Below GENL a reverse Call has no chunks at all (4.5.4). */
	if (!own->rcsiz ||
	    (conn->cfg.client && !rpcrdma_reverse_chunks(own->brs)))
		return {};
	return {
		.reads = most_reads(conn),
		.writes = RPCRDMA_MAX_WRITE_CHUNKS,
		.segs = own->rcsiz,
		.segment = own->rssiz,
		.any_order = false,
	};
}

/*
 * Returned Write and Reply chunks are this end's own: no length is too large.
 */
constexpr list_limits REPLY_LIMITS = {
	.reads = RPCRDMA_MAX_READ_CHUNKS,
	.writes = RPCRDMA_MAX_WRITE_CHUNKS,
	.segs = RPCRDMA_MAX_SEGS,
	.segment = ~0u,
	.any_order = false,
};

fault decode_lists(const message &m, xdr_reader &in)
{
	if (m.response())
		return v2::decode_lists(in, REPLY_LIMITS, &m.rx->lists);

	const list_limits limits = call_limits(m.conn);
	const fault wrong = v2::decode_lists(in, limits, &m.rx->lists);

	/*
	 * No chunks to write to, and no other method for a large Reply (7.3.2)
	 */
	if (wrong.code == RDMA2_ERR_WRITE_CHUNKS && !limits.writes &&
	    !may_continue_replies(m.conn, m.conn->cfg.client))
		return { RDMA2_ERR_REPLY_RESOURCE };
	return wrong;
}

/* Make the last checks of a Call or Reply that is complete. */
verdict deliver(const message &m, enum rpcrdma_format format, u32 stream,
		u32 total)
{
	struct rpcrdma_rx *rx = m.rx;

	rx->format = format;
	rx->total_length = total;
	if (m.response()) {
		count_received(m.conn, RPCRDMA_KIND_REPLY, format, &rx->lists);
		return RPCRDMA_RX_REPLY;
	}
	if (!reads_fit(&rx->lists, stream, format == RPCRDMA_SPECIAL))
		return refuse(m, { RDMA2_ERR_BAD_XDR });
	count_received(m.conn, RPCRDMA_KIND_CALL, format, &rx->lists);
	return RPCRDMA_RX_CALL;
}

/*
 * Return true if the direction of an RPC message agrees with its header
 * (6.2.2.1).
 */
bool direction_ok(const message &m, u32 offset)
{
	return load_word(m.octets, offset) ==
	       (m.response() ? RPC_REPLY : RPC_CALL);
}

/*
 * Compare the start of an RPC message with its header, as far as it is in this
 * payload: the direction may be in the second message of a continued one.
 */
bool payload_start_ok(const message &m, u32 offset, u32 octets)
{
	if (load_word(m.octets, offset) != m.prefix.xid)
		return false;
	return octets < RPC_MIN_OCTETS ||
	       direction_ok(m, offset + RPC_OFF_DIRECTION);
}

verdict receive_msg(const message &m)
{
	struct rpcrdma_conn *conn = m.conn;
	struct rpcrdma_rx *rx = m.rx;
	const sequence seq = m.identity();
	const bool more = m.flag(RDMA2_F_MORE);
	const bool in_sequence = sequence_open(conn, seq);
	const bool is_part = more || in_sequence;
	xdr_reader in = m.body();
	u32 before = 0; /* bytes of earlier messages */

	if (const fault wrong = decode_lists(m, in))
		return refuse(m, wrong);
	if (m.response() && rx->lists.nr_reads)
		return refuse(m, { RDMA2_ERR_BAD_XDR });
	if (more && has_chunks(&rx->lists))
		return refuse(m, { RDMA2_ERR_INVAL_CONT });

	rx->payload_offset = in.offset();
	rx->payload_length = in.left();

	if (is_part) {
		/*
		 * In BRS a client announces whether it accepts continued reverse
		 * Calls.
		 */
		if (!m.response() && conn->cfg.client &&
		    conn->cfg.props.brs < RDMA2_RVRSDIR_CONT)
			return refuse(m, { RDMA2_ERR_INVAL_CONT });
		if (rx->payload_length < sizeof(u32) ||
		    (more && rx->payload_length % sizeof(u32)))
			return refuse(m, { RDMA2_ERR_INVAL_CONT });
	} else if (rx->payload_length < RPC_MIN_OCTETS) {
		return refuse(m, { RDMA2_ERR_BAD_XDR });
	}

	if (!in_sequence) {
		if (!payload_start_ok(m, rx->payload_offset,
				      rx->payload_length))
			return refuse(m, { RDMA2_ERR_BAD_XDR });
	} else {
		before = conn->rx_octets;
		/* The first message had the xid only. */
		if (before == RPC_OFF_DIRECTION &&
		    !direction_ok(m, rx->payload_offset))
			return refuse(m, { RDMA2_ERR_BAD_XDR });
	}

	rx->total_length = before + rx->payload_length;
	if (!is_part)
		return deliver(m, RPCRDMA_INLINE, rx->total_length,
			       rx->total_length);

	/*
	 * The sum cannot wrap: @before was within this limit, and the payload is not
	 * longer than a Receive.
	 */
	if (rx->total_length > conn->cfg.props.reassembly)
		return refuse(m, { RDMA2_ERR_INVAL_CONT });

	if (more) {
		rx->first_fragment = !in_sequence;
		open_sequence(conn, seq, rx->total_length);
		rx->format = RPCRDMA_CONTINUED;
		return RPCRDMA_RX_FRAGMENT;
	}
	conn->rx_open = 0;
	return deliver(m, RPCRDMA_CONTINUED, rx->total_length,
		       rx->total_length);
}

/*
 * Return true if this end can pull the Reply that is in the Read chunk of @m.
 * It has announced whether it can, and its limits.
 */
bool pull_ok(const message &m, u32 pushed)
{
	const struct rpcrdma_props *own = &m.conn->cfg.props;
	const struct rpcrdma_lists *lists = &m.rx->lists;
	const struct rpcrdma_chunk *pull = &lists->reads[0];

	if (!(own->reply_read & RDMA2_REPLY_READ_PULL) || pushed ||
	    lists->nr_reads != 1 || pull->position ||
	    pull->length < RPC_MIN_OCTETS || pull->count > own->rcsiz)
		return false;
	for (u32 i = 0; i < pull->count; i++) {
		if (rpcrdma_lists_seg(lists, pull->first + i)->length >
		    own->rssiz)
			return false;
	}
	return true;
}

/* Receive a Reply the Payload stream of which is in memory (4.4.3, WP 8). */
verdict receive_special_reply(const message &m)
{
	const struct rpcrdma_lists *lists = &m.rx->lists;
	const u32 pushed = lists->has_reply ? lists->reply.length : 0;

	if (!lists->nr_reads) {
		if (pushed < RPC_MIN_OCTETS)
			return refuse(m, { RDMA2_ERR_BAD_XDR });
		return deliver(m, RPCRDMA_SPECIAL, 0, pushed);
	}

	if (!pull_ok(m, pushed))
		return refuse(m, { RDMA2_ERR_BAD_XDR });
	m.conn->counters.replies_to_pull++;
	return deliver(m, RPCRDMA_SPECIAL, 0, lists->reads[0].length);
}

verdict receive_nomsg(const message &m)
{
	const struct rpcrdma_lists *lists = &m.rx->lists;
	xdr_reader in = m.body();
	u32 stream;

	if (const fault wrong = decode_lists(m, in))
		return refuse(m, wrong);
	if (m.response())
		return receive_special_reply(m);
	/* deliver() checks whether it is a Position Zero Read chunk. */
	stream = lists->nr_reads ? lists->reads[0].length : 0;
	if (stream < RPC_MIN_OCTETS)
		return refuse(m, { RDMA2_ERR_BAD_XDR });
	return deliver(m, RPCRDMA_SPECIAL, stream, stream);
}

/*
 * Return true if a message without RDMA2_F_MORE is a separate RPC message,
 * and not the last one of a continued message. In that case it begins like a
 * first one.
 */
bool is_whole_message(const message &m)
{
	xdr_reader in = m.body();

	if (m.prefix.htype == RDMA2_NOMSG)
		return true;
	return !decode_lists(m, in) && in.left() >= RPC_MIN_OCTETS &&
	       payload_start_ok(m, in.offset(), in.left());
}

/*
 * Return true if @m belongs to a continued message that was refused (7.1.3). Its sender
 * may also have omitted the rest, and started again with the same xid. That new message
 * is not discarded.
 */
bool is_discarded(const message &m)
{
	struct rpcrdma_conn *conn = m.conn;
	const sequence seq = m.identity();

	if (!discarding(conn, seq))
		return false;
	if (m.prefix.htype == RDMA2_MSG && m.flag(RDMA2_F_MORE))
		return true;
	end_discarding(conn, seq);
	return !is_whole_message(m);
}

} // namespace

verdict receive_rpc(const message &m)
{
	struct rpcrdma_conn *conn = m.conn;
	const sequence seq = m.identity();
	const bool is_msg = m.prefix.htype == RDMA2_MSG;
	const bool more = m.flag(RDMA2_F_MORE);

	if (conn->state != RPCRDMA_CONN_OPEN || !conn->props_sent) {
		close_connection(
			conn,
			"the peer sent an RPC before the opening was complete");
		return RPCRDMA_RX_CLOSE;
	}

	if (is_discarded(m))
		return drop(conn);

	if (conn->rx_open && !(is_msg && sequence_open(conn, seq))) {
		if (!m.response())
			return broken_by_call(m);
		close_connection(
			conn, "the peer interleaved the parts of two Replies");
		return RPCRDMA_RX_CLOSE;
	}

	if (m.flag(RDMA2_F_TPMORE))
		return refuse(m, { RDMA2_ERR_INVAL_HTYPE });
	if (more && !is_msg)
		return refuse(m, { RDMA2_ERR_INVAL_CONT });
	if (!m.response() && conn->cfg.client &&
	    conn->cfg.props.brs == RDMA2_RVRSDIR_NONE)
		return refuse(m, { RDMA2_ERR_SYSTEM });

	return is_msg ? receive_msg(m) : receive_nomsg(m);
}

} // namespace rpcrdma::v2
