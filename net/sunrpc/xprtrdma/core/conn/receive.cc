// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving: from the bytes of one message to a verdict about it. All input
 * from a peer is validated here.
 */
#include "../wire/codec.hh"
#include "continuation.hh"
#include "credits.hh"
#include "../rpc/pull.hh"
#include "../wire/properties.hh"
#include "receive_pool.hh"
#include "version1.hh"

namespace rpcrdma
{

namespace
{

using verdict = enum rpcrdma_verdict;

/* Offset in bytes of the direction word in an RPC message, and its values */
constexpr u32 RPC_OFF_DIRECTION = 4;
constexpr u32 RPC_CALL = 0;
constexpr u32 RPC_REPLY = 1;

/* One version 2 message that is being checked */
struct message {
	struct rpcrdma_conn *conn;
	const void *octets;
	u32 length;
	v2::prefix prefix;
	struct rpcrdma_rx *rx;

	bool flag(u32 bit) const
	{
		return prefix.flags & bit;
	}

	bool response() const
	{
		return flag(RDMA2_F_RESPONSE);
	}

	sequence identity() const
	{
		return { prefix.xid, prefix.flags & RDMA2_F_RESPONSE };
	}

	/* Return the reader for what follows the prefix. */
	xdr_reader body() const
	{
		return { octets, length, RPCRDMA_V2_PREFIX };
	}
};

verdict drop(struct rpcrdma_conn *conn)
{
	conn->counters.dropped++;
	return RPCRDMA_RX_DONE;
}

/*
 * Send an ERROR to the sender of a Call, a CONNPROP or a message of unknown
 * type.
 */
void answer(const message &m, fault wrong)
{
	push_pending(m.conn, m.prefix.xid, RDMA2_ERROR, wrong.code, wrong.arg,
		     0);
}

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
	return RPCRDMA_RX_DONE;
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
		return RPCRDMA_RX_DONE;
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
		.reads = RPCRDMA_MAX_READ_CHUNKS,
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
		rpcrdma_conn_count(m.conn, RPCRDMA_KIND_REPLY, format,
				   &rx->lists);
		return RPCRDMA_RX_REPLY;
	}
	if (!reads_fit(&rx->lists, stream, format == RPCRDMA_SPECIAL))
		return refuse(m, { RDMA2_ERR_BAD_XDR });
	rpcrdma_conn_count(m.conn, RPCRDMA_KIND_CALL, format, &rx->lists);
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
		 * A client announces in BRS whether it accepts reverse Calls.
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
		if (before == RPC_OFF_DIRECTION &&
		    !direction_ok(m, rx->payload_offset))
			return refuse(m, { RDMA2_ERR_BAD_XDR });
	}

	rx->total_length = before + rx->payload_length;
	if (!is_part)
		return deliver(m, RPCRDMA_INLINE, rx->total_length,
			       rx->total_length);

	/*
	 * It cannot wrap: one summand is within this limit, the other a
	 * Receive.
	 */
	if (rx->total_length > conn->cfg.props.reassembly)
		return refuse(m, { RDMA2_ERR_INVAL_CONT });

	if (more) {
		rx->first_part = !in_sequence;
		open_sequence(conn, seq, rx->total_length);
		rx->format = RPCRDMA_CONTINUED;
		return RPCRDMA_RX_PART;
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
 * Return true if a message without RDMA2_F_MORE is an RPC message of its own,
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
 * Return true if @m belongs to a continued message that was refused (7.1.3).
 * Its sender may also have left the rest unsent, and started again with the
 * same xid: that message is not lost.
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

/* Receive RDMA2_MSG, and RDMA2_NOMSG that is not a credit grant. */
verdict receive_rpc(const message &m)
{
	struct rpcrdma_conn *conn = m.conn;
	const sequence seq = m.identity();
	const bool is_msg = m.prefix.htype == RDMA2_MSG;
	const bool more = m.flag(RDMA2_F_MORE);

	if (conn->state != RPCRDMA_CONN_OPEN || !conn->props_sent) {
		close_connection(conn, "RPC before the opening has finished");
		return RPCRDMA_RX_CLOSE;
	}

	if (is_discarded(m))
		return drop(conn);

	if (conn->rx_open && !(is_msg && sequence_open(conn, seq))) {
		if (!m.response())
			return broken_by_call(m);
		close_connection(conn, "Reply amid another message's parts");
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

/*
 * Return true if a RDMA2_NOMSG is a credit grant (6.3.2, WP 2). With an xid it
 * is not, nor if it is too short.
 */
bool is_grant(const message &m)
{
	xdr_reader in = m.body();

	if (m.prefix.xid || !in.has(v2::EMPTY_LISTS_OCTETS))
		return false;
	in.skip(sizeof(u32)); /* inv_handle */
	return !in.word() && !in.word() && !in.word();
}

verdict receive_grant(const message &m)
{
	struct rpcrdma_conn *conn = m.conn;

	/* Even if it is invalid, it must not be answered. */
	conn->grants_unreplaced++;
	if (m.prefix.flags & (RDMA2_F_RESPONSE | RDMA2_F_MORE | RDMA2_F_TPMORE))
		return drop(conn);
	conn->counters.grants_received++;
	return RPCRDMA_RX_DONE;
}

/*
 * Receive a DONE. One for which no Reply waits is dropped (DR 4.1.3): a second
 * one, for example.
 */
verdict receive_done(const message &m)
{
	struct rpcrdma_exposure *exposure;

	if (m.conn->state != RPCRDMA_CONN_OPEN ||
	    m.prefix.flags & (RDMA2_F_RESPONSE | RDMA2_F_MORE | RDMA2_F_TPMORE))
		return drop(m.conn);
	exposure = find_done(m.conn, m.prefix.xid);
	if (!exposure)
		return drop(m.conn);
	m.rx->exposed = exposure;
	take_done(m.conn, exposure);
	return RPCRDMA_RX_PULLED;
}

/*
 * Handle the refusal of this end's properties: the peer continues with the
 * defaults of an end that announced nothing, and so does this end (WP 4).
 */
void own_props_refused(struct rpcrdma_conn *conn)
{
	struct rpcrdma_props *own = &conn->cfg.props;
	const u32 sbsiz = min_u32(own->sbsiz, DEFAULT_PROPS.sbsiz);

	const u32 reassembly =
		min_u32(own->reassembly, DEFAULT_PROPS.reassembly);

	/* Receives have the default size in any case, Sends may be smaller. */
	*own = DEFAULT_PROPS;
	own->sbsiz = sbsiz;
	/* A server's memory is charged by the length that it announced. */
	if (!conn->cfg.client)
		own->reassembly = reassembly;
}

/*
 * Return true if an ERROR with xid 0 is about this end's CONNPROP. A client
 * receives it before its opening is complete. A server's opening is complete
 * when it sends its CONNPROP, but an ERROR about it arrives before any Call of
 * the client; and without a Call of this end, an ERROR answers nothing else.
 */
bool about_own_props(const struct rpcrdma_conn *conn)
{
	const struct rpcrdma_conn_counters *counters = &conn->counters;

	if (!conn->props_sent)
		return false;
	if (conn->state != RPCRDMA_CONN_OPEN)
		return true;
	for (u64 calls : counters->calls) {
		if (calls)
			return false;
	}
	return !conn->cfg.client;
}

verdict receive_error(const message &m)
{
	struct rpcrdma_conn *conn = m.conn;
	struct rpcrdma_rx *rx = m.rx;
	xdr_reader in = m.body();
	const error_info *error;
	u32 code;

	if (!m.response() || m.flag(RDMA2_F_MORE) || m.flag(RDMA2_F_TPMORE) ||
	    !in.get(code))
		return drop(conn);

	/*
	 * Undefined codes are dropped (7), and so is ERR_VERS: it has a form of
	 * its own, and is valid only in the opening.
	 */
	error = find_error(code);
	if (!error || code == RDMA2_ERR_VERS ||
	    !in.has(error->words * static_cast<u32>(sizeof(u32))))
		return drop(conn);
	rx->error.code = code;
	for (u32 i = 0; i < error->words; i++)
		rx->error.arg[i] = in.word();

	if (!m.prefix.xid && about_own_props(conn)) {
		conn->answered = 1;
		conn->counters.errors_received++;
		own_props_refused(conn);
		return RPCRDMA_RX_DONE;
	}
	/* Nothing else can have been refused yet. */
	if (conn->state != RPCRDMA_CONN_OPEN)
		return drop(conn);

	conn->counters.errors_received++;
	rx->error.status = error->status;
	return RPCRDMA_RX_ERROR;
}

verdict receive_connprop(const message &m)
{
	struct rpcrdma_conn *conn = m.conn;
	xdr_reader in = m.body();

	/* Not answered if RESPONSE is set: only its sender could be meant. */
	if (conn->props_received) {
		if (m.response())
			return drop(conn);
		answer(m, { RDMA2_ERR_INVAL_HTYPE });
		return RPCRDMA_RX_DONE;
	}

	conn->prop_octets += m.length;
	if (conn->prop_octets > MAX_PROP_OCTETS) {
		close_connection(conn, "too many transport properties");
		return RPCRDMA_RX_CLOSE;
	}
	conn->answered = 1;

	/* A refused CONNPROP still counts: the opening continues without it. */
	if (m.response())
		drop(conn);
	else if (m.flag(RDMA2_F_MORE))
		answer(m, { RDMA2_ERR_INVAL_CONT });
	else if (const fault wrong = decode_props(in, &conn->staged))
		answer(m, wrong);

	/* The server answers the first CONNPROP with its own (WP 4). */
	conn->props_due = 1;
	if (!m.flag(RDMA2_F_TPMORE))
		conn->props_received = 1;
	return RPCRDMA_RX_DONE;
}

verdict receive_unknown(const message &m)
{
	if (m.response())
		return drop(m.conn);
	answer(m, { RDMA2_ERR_INVAL_HTYPE });
	return RPCRDMA_RX_DONE;
}

/* Receive a message by its header type. */
verdict receive_type(const message &m)
{
	switch (m.prefix.htype) {
	case RDMA2_NOMSG:
		if (is_grant(m))
			return receive_grant(m);
		[[fallthrough]];
	case RDMA2_MSG:
		return receive_rpc(m);
	case RDMA2_DONE:
		return receive_done(m);
	case RDMA2_ERROR:
		return receive_error(m);
	case RDMA2_CONNPROP:
		return receive_connprop(m);
	default:
		return receive_unknown(m);
	}
}

verdict receive_v2(struct rpcrdma_conn *conn, const void *msg, u32 length,
		   struct rpcrdma_rx *rx)
{
	if (length < RPCRDMA_V2_PREFIX)
		return drop(conn);

	const message m{ conn, msg, length,
			 v2::decode_prefix(span<RPCRDMA_V2_PREFIX>{ msg }),
			 rx };
	const bool was_short = is_short_of_window(conn);
	const bool had_room = was_short && room_for_call(conn);
	const u32 limit = conn->limit;

	if (!take_credits(conn, m.prefix))
		return RPCRDMA_RX_CLOSE;
	if (was_short && conn->state == RPCRDMA_CONN_OPEN &&
	    (conn->limit != limit || (!had_room && room_for_call(conn))))
		rx->events |= RPCRDMA_EV_WINDOW;
	rx->xid = m.prefix.xid;
	return receive_type(m);
}

/* Return true if a client's first answer is ERR_VERS, by the rule of WP 1. */
bool is_err_vers(span<v1::ERR_VERS_OCTETS> msg)
{
	return msg.word<v1::OFF_VERS>() == RPCRDMA_VERS_2 &&
	       msg.word<v1::OFF_PROC>() == RDMA2_ERROR &&
	       msg.word<v1::OFF_ERR>() == RDMA2_ERR_VERS &&
	       msg.word<v1::OFF_ERR_HIGH>() == RPCRDMA_VERS_1;
}

/*
 * Handle a peer without version 2: continue with version 1 if both ends permit
 * that (WP 4).
 */
void refused_version(struct rpcrdma_conn *conn, span<v1::ERR_VERS_OCTETS> msg)
{
	const u32 low = msg.word<v1::OFF_ERR_LOW>();
	const u32 high = msg.word<v1::OFF_ERR_HIGH>();

	conn->answered = 1;
	conn->refused = 1;
	conn->err_vers_low = static_cast<u8>(min_u32(low, 255));
	conn->err_vers_high = static_cast<u8>(min_u32(high, 255));
	if (conn->cfg.version_low > RPCRDMA_VERS_1 || low > RPCRDMA_VERS_1)
		close_connection(conn, "peer does not have version 2");
	else
		v1::open(conn);
}

/*
 * Choose the version by the first messages (4.2.3, WP 1). Returns true if @msg
 * is to be processed.
 */
[[gnu::noinline]] bool choose_version(struct rpcrdma_conn *conn,
				      span<v2::COMMON_OCTETS> msg, u32 length)
{
	const u32 version = msg.word<v2::OFF_VERS>();

	if (conn->cfg.client && length == v1::ERR_VERS_OCTETS) {
		const span<v1::ERR_VERS_OCTETS> error{ msg.octets() };

		if (is_err_vers(error)) {
			refused_version(conn, error);
			return false;
		}
	}

	/* A client has chosen with its first message. */
	if (conn->cfg.client && version != RPCRDMA_VERS_2) {
		close_connection(conn, "peer answers in another version");
		return false;
	}
	if (version >= conn->cfg.version_low &&
	    version <= conn->cfg.version_high) {
		if (version == RPCRDMA_VERS_1)
			v1::open(conn);
		conn->version = static_cast<u8>(version);
		return true;
	}

	if (msg.word<v2::OFF_HTYPE>() == RDMA2_ERROR) {
		drop(conn);
		return false;
	}
	push_pending(conn, msg.word<v2::OFF_XID>(), RDMA2_ERROR, RDMA2_ERR_VERS,
		     version, 0);
	return false;
}

/*
 * Count a message. Returns false if the peer had no credit for it, which closes
 * the connection. A peer of version 1 that sends too much is stopped by the
 * device.
 */
[[gnu::always_inline]] inline bool count_message(struct rpcrdma_conn *conn)
{
	conn->received++;
	if (distance(conn->advertised, conn->received) > 1 &&
	    conn->version != RPCRDMA_VERS_1) {
		close_connection(conn, "peer exceeds its window");
		return false;
	}
	return true;
}

/*
 * Fast-path test: return true for a complete RPC message without chunks whose
 * first words match its header, received while no continued message is in
 * progress and no sender is short of credits. Only the credit fields of such a
 * message still need checking.
 */
[[gnu::always_inline]] inline bool is_plain(const struct rpcrdma_conn *conn,
					    const void *msg, u32 length)
{
	constexpr u32 lists = RPCRDMA_V2_PREFIX + sizeof(u32);
	constexpr u32 payload = v2::PLAIN_HEADER_OCTETS;

	/* The flag of a Reply equals the direction word of its RPC message. */
	static_assert(+RDMA2_F_RESPONSE == RPC_REPLY && !RPC_CALL);
	static_assert(!RDMA2_MSG);
	if (!is_settled(conn) || (conn->rx_open || conn->nr_discard) ||
	    is_short_of_window(conn) || length < payload + RPC_MIN_OCTETS)
		return false;

	const span<payload + RPC_MIN_OCTETS> m{ msg };
	const u32 flags = m.word<v2::OFF_FLAGS>();

	/* Not every client accepts Calls. */
	if (!flags && conn->cfg.client &&
	    conn->cfg.props.brs == RDMA2_RVRSDIR_NONE)
		return false;
	if (flags > RDMA2_F_RESPONSE ||
	    (m.word<v2::OFF_HTYPE>() | m.word<lists>() | m.word<lists + 4>() |
	     m.word<lists + 8>()))
		return false;
	return m.word<v2::OFF_VERS>() == RPCRDMA_VERS_2 &&
	       m.word<payload>() == m.word<v2::OFF_XID>() &&
	       m.word<payload + RPC_OFF_DIRECTION>() == flags;
}

/* Receive a message for which is_plain() returned true. */
[[gnu::always_inline]] inline verdict receive_plain(struct rpcrdma_conn *conn,
						    const void *msg, u32 length,
						    struct rpcrdma_rx *rx)
{
	const span<v2::PLAIN_HEADER_OCTETS> header{ msg };
	const v2::prefix prefix =
		v2::decode_prefix(span<RPCRDMA_V2_PREFIX>{ header });

	fill_plain(rx, prefix.xid, v2::PLAIN_HEADER_OCTETS, length,
		   header.word<RPCRDMA_V2_PREFIX>());
	if (!count_message(conn) || !take_credits(conn, prefix))
		return RPCRDMA_RX_CLOSE;
	if (prefix.flags & RDMA2_F_RESPONSE) {
		count_reply(conn, RPCRDMA_INLINE);
		return RPCRDMA_RX_REPLY;
	}
	count_call(conn, RPCRDMA_INLINE);
	return RPCRDMA_RX_CALL;
}

/*
 * Note an odd answer. A client that opens waits for CONNPROP, ERR_VERS, or an
 * ERROR about its own CONNPROP. A peer that sends anything else before these
 * may not support version 2.
 */
void note_odd(struct rpcrdma_conn *conn, struct rpcrdma_rx *rx)
{
	if (conn->answered || conn->odd)
		return;
	conn->odd = 1;
	rx->events |= RPCRDMA_EV_ODD;
}

/* Receive any other message. */
verdict receive(struct rpcrdma_conn *conn, const void *msg, u32 length,
		struct rpcrdma_rx *rx)
{
	if (conn->state == RPCRDMA_CONN_CLOSING || !count_message(conn))
		return RPCRDMA_RX_CLOSE;

	/* Too short to have a version and a direction (7, WP 1) */
	if (length < v2::COMMON_OCTETS)
		return drop(conn);

	const span<v2::COMMON_OCTETS> common{ msg };

	if (!conn->version) {
		const bool go_on = choose_version(conn, common, length);

		if (conn->version == RPCRDMA_VERS_1)
			rx->events |= RPCRDMA_EV_OPENED;
		if (!go_on)
			return RPCRDMA_RX_DONE;
	}

	if (common.word<v2::OFF_VERS>() != conn->version) {
		close_connection(conn, "peer changes the version");
		return RPCRDMA_RX_CLOSE;
	}

	if (conn->version == RPCRDMA_VERS_1)
		return v1::receive(conn, msg, length, rx);
	return receive_v2(conn, msg, length, rx);
}

/* Only a Call may keep its Receive (WP 3). */
[[gnu::always_inline]] inline void count_verdict(struct rpcrdma_conn *conn,
						 verdict verdict)
{
	if (verdict == RPCRDMA_RX_CALL)
		conn->moved = 1;
	else
		conn->unreplaced++;
}

/* Add the events that may be due. */
[[gnu::noinline]] verdict add_events(struct rpcrdma_conn *conn,
				     struct rpcrdma_rx *rx, verdict verdict)
{
	if (!is_settled(conn) || grant_owed(conn))
		rx->events |= due_events(conn);
	rx->events |= watch_receive(conn);
	if (conn->version == RPCRDMA_VERS_1 && v1::few_left(conn) &&
	    conn->kept_back)
		rx->events |= RPCRDMA_EV_RECEIVES;
	return verdict;
}

/*
 * Receive a plain message of version 1. Its credits are not checked, because
 * the device stops a peer that sends too much.
 */
[[gnu::noinline, gnu::flatten]] verdict
receive_plain_v1(struct rpcrdma_conn *conn, const void *msg, u32 length,
		 struct rpcrdma_rx *rx)
{
	conn->received++;

	const verdict verdict = v1::receive_plain(conn, msg, length, rx);

	count_verdict(conn, verdict);
	if (conn->pend_count || !enough_posted(conn) ||
	    (conn->kept_back && v1::few_left(conn)))
		return add_events(conn, rx, verdict);
	return verdict;
}

/*
 * Receive any other message, out of line, so that the fast path does not use
 * its stack.
 */
[[gnu::noinline]] verdict receive_other(struct rpcrdma_conn *conn,
					const void *msg, u32 length,
					struct rpcrdma_rx *rx)
{
	const bool opening = conn->cfg.client &&
			     conn->state == RPCRDMA_CONN_OPENING;
	verdict verdict;

	rx->xid = 0;
	rx->events = 0;
	rx->format = RPCRDMA_INLINE;
	rx->first_part = 0;
	rx->payload_offset = 0;
	rx->payload_length = 0;
	rx->total_length = 0;
	rx->exposed = nullptr;
	rx->error = {};
	empty_lists(&rx->lists, 0);

	verdict = receive(conn, msg, length, rx);
	if (opening)
		note_odd(conn, rx);
	if (conn->state == RPCRDMA_CONN_CLOSING)
		verdict = RPCRDMA_RX_CLOSE;
	if (verdict == RPCRDMA_RX_BAD_REPLY)
		rx->error.status = BAD_REPLY_STATUS;
	/* No Reply will answer that Call. */
	if (verdict == RPCRDMA_RX_BAD_REPLY || verdict == RPCRDMA_RX_ERROR)
		conn->underway--;
	count_verdict(conn, verdict);
	return add_events(conn, rx, verdict);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

/* The first message of a connection has its version. */
bool rpcrdma_has_more_segs(const void *msg, u32 length)
{
	const span<v2::COMMON_OCTETS> common{ msg };

	return length >= v2::COMMON_OCTETS &&
	       common.word<v2::OFF_VERS>() == RPCRDMA_VERS_1 &&
	       v1::wants_more_segs(msg, length);
}

enum rpcrdma_verdict rpcrdma_conn_receive(struct rpcrdma_conn *conn,
					  const void *msg, u32 length,
					  struct rpcrdma_rx *rx)
{
	if (!is_plain(conn, msg, length))
		return v1::is_plain(conn, msg, length) ?
			       receive_plain_v1(conn, msg, length, rx) :
			       receive_other(conn, msg, length, rx);

	const enum rpcrdma_verdict verdict =
		receive_plain(conn, msg, length, rx);

	count_verdict(conn, verdict);
	/* Fast path: neither is true, and no event is due. */
	if (verdict == RPCRDMA_RX_CLOSE || limit_can_rise(conn) ||
	    !enough_posted(conn))
		return add_events(conn, rx, verdict);
	return verdict;
}

void rpcrdma_conn_refuse(struct rpcrdma_conn *conn, const char *reason)
{
	close_connection(conn, reason);
}

/*
 * For Special Format, where header and payload arrive separately: the check
 * that receive_msg() makes for the other formats.
 */
bool rpcrdma_payload_ok(u32 xid, bool response, const void *first)
{
	const span<RPC_MIN_OCTETS> rpc{ first };

	return rpc.word<0>() == xid &&
	       rpc.word<RPC_OFF_DIRECTION>() ==
		       (response ? RPC_REPLY : RPC_CALL);
}

/*
 * Remote Invalidation is for the one handle that was provided for it (6.2.4).
 * Version 1 cannot name one: there it may be any handle of the Call (RFC 8797).
 */
bool rpcrdma_invalidation_ok(const struct rpcrdma_conn *conn,
			     const struct rpcrdma_lists *offered,
			     u32 invalidated)
{
	if (!invalidated || invalidated == offered->inv_handle)
		return true;
	return conn->version == RPCRDMA_VERS_1 &&
	       v1::handle_offered(offered, invalidated);
}
