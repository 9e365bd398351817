// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving: from the octets of one message to a verdict about it. Everything
 * a peer can say is judged here.
 */
#include "codec.hh"
#include "continuation.hh"
#include "credits.hh"
#include "exposure.hh"
#include "properties.hh"
#include "receives.hh"
#include "version1.hh"

namespace rpcrdma
{

namespace
{

using verdict = enum rpcrdma_verdict;

/* Octets of a direction word's place in an RPC message, and its values */
constexpr u32 RPC_OFF_DIRECTION = 4;
constexpr u32 RPC_CALL = 0;
constexpr u32 RPC_REPLY = 1;

/* One version 2 message on its way through the checks */
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

	/* What follows the prefix */
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

/* Tell the sender of a Call, a CONNPROP or a message of unknown type. */
void answer(const message &m, fault wrong)
{
	push_pending(m.conn, m.prefix.xid, RDMA2_ERROR, wrong.code, wrong.arg,
		     0);
}

/*
 * The Responder keeps the memory of Read chunks until the DONE, so one is due for a
 * Reply that has any, even if this end cannot use it (DR 4.1.2, 4.1.3). The lists may
 * be what is wrong with it: that the first one is not empty is all that is looked at.
 * A handle is only named where the Reply is in the chunk (WP 6).
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
 * A message that should have conveyed an RPC message, or a part of one, cannot
 * be used: refuse a Call, report a Reply (WP 7). What follows of its
 * sequence goes the same way.
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
 * A Call, or a part of one, came between the parts of another message: both
 * are lost (WP 6). Two Calls of one xid are answered by one ERROR.
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

/* What this end takes in a Call's chunk lists (WP 5) */
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

/* Returned Write and Reply chunks are this end's own: nothing is too large. */
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

	/* No chunks to write to, and no other way for a large Reply (7.3.2) */
	if (wrong.code == RDMA2_ERR_WRITE_CHUNKS && !limits.writes &&
	    !may_continue_replies(m.conn, m.conn->cfg.client))
		return { RDMA2_ERR_REPLY_RESOURCE };
	return wrong;
}

/* A Call or Reply is whole: the last of what there is to check */
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

/* Does the direction of an RPC message agree with its header (6.2.2.1)? */
bool direction_ok(const message &m, u32 offset)
{
	return load_word(m.octets, offset) ==
	       (m.response() ? RPC_REPLY : RPC_CALL);
}

/*
 * Compare the start of an RPC message with its header, as far as it is in this
 * payload: the direction may be left for the second part.
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
	u32 before = 0; /* octets of earlier parts */

	if (const fault wrong = decode_lists(m, in))
		return refuse(m, wrong);
	if (m.response() && rx->lists.nr_reads)
		return refuse(m, { RDMA2_ERR_BAD_XDR });
	if (more && has_chunks(&rx->lists))
		return refuse(m, { RDMA2_ERR_INVAL_CONT });

	rx->payload_offset = in.offset();
	rx->payload_length = in.left();

	if (is_part) {
		/* A client says in BRS whether it takes reverse ones. */
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

	/* It cannot wrap: one summand is within this, the other a Receive. */
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
 * Can this end pull the Reply that is in the Read chunk of @m? It said whether
 * it does, and how much.
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

/* A Reply whose Payload stream is in memory (4.4.3, WP 8) */
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
	/* deliver() sees whether it is a Position Zero Read chunk. */
	stream = lists->nr_reads ? lists->reads[0].length : 0;
	if (stream < RPC_MIN_OCTETS)
		return refuse(m, { RDMA2_ERR_BAD_XDR });
	return deliver(m, RPCRDMA_SPECIAL, stream, stream);
}

/*
 * Is a message without RDMA2_F_MORE an RPC message of its own, and not the last
 * part of one? It begins as the first part would.
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
 * Is @m a part of a sequence that was refused (7.1.3)? Its sender may also have
 * left the rest unsent, and begun anew with the same xid: that is not lost.
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

/* RDMA2_MSG, and RDMA2_NOMSG that is not a grant */
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
 * Is a RDMA2_NOMSG a grant (6.3.2, WP 2)? With an xid it is not, and neither
 * is one that ends too early.
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

	/* Whatever is wrong with it, it asks for no answer. */
	conn->grants_unreplaced++;
	if (m.prefix.flags & (RDMA2_F_RESPONSE | RDMA2_F_MORE | RDMA2_F_TPMORE))
		return drop(conn);
	conn->counters.grants_received++;
	return RPCRDMA_RX_DONE;
}

/* One for which no Reply waits is dropped (DR 4.1.3): a second one, say. */
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
 * The peer does not take our properties: it goes on with what holds for an
 * end that has said nothing, and so do we (WP 4).
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
	/* A server's memory is counted by what it announced. */
	if (!conn->cfg.client)
		own->reassembly = reassembly;
}

/*
 * Is an ERROR with xid 0 about own CONNPROP? A client hears of that before its opening
 * is over. A server's is over when it sends its CONNPROP, but what its client says of
 * that comes before any Call of the client's; and without a Call of its own, an ERROR
 * answers nothing else.
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
	 * Codes that nobody defined are dropped (7), and so is ERR_VERS: it
	 * has a form of its own, and its time is over.
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

	/* Not answered with RESPONSE set: only its sender could be meant. */
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

	/* A refused part still counts: the opening goes on without it. */
	if (m.response())
		drop(conn);
	else if (m.flag(RDMA2_F_MORE))
		answer(m, { RDMA2_ERR_INVAL_CONT });
	else if (const fault wrong = decode_props(in, &conn->staged))
		answer(m, wrong);

	/* The server answers the first part with its own (WP 4). */
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

/* By header type */
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

/* Is a client's first answer ERR_VERS? The rule is WP 1's. */
bool is_err_vers(span<v1::ERR_VERS_OCTETS> msg)
{
	return msg.word<v1::OFF_VERS>() == RPCRDMA_VERS_2 &&
	       msg.word<v1::OFF_PROC>() == RDMA2_ERROR &&
	       msg.word<v1::OFF_ERR>() == RDMA2_ERR_VERS &&
	       msg.word<v1::OFF_ERR_HIGH>() == RPCRDMA_VERS_1;
}

/*
 * The peer has no version 2: go on with version 1 if that is allowed here and
 * there (WP 4).
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
 * The first messages decide on the version (4.2.3, WP 1). Returns whether
 * @msg is still to be looked at.
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
 * Count a message. False: the peer may not send it, and the connection closes. One of
 * version 1 that sends too much, the device stops.
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
 * Is it what nearly all messages are: an RPC message as a whole, without chunks,
 * that begins as it must, while nothing else is under way and nobody waits? With such
 * a one nothing can be wrong of what the others are looked at for, but its credits.
 */
[[gnu::always_inline]] inline bool is_plain(const struct rpcrdma_conn *conn,
					    const void *msg, u32 length)
{
	constexpr u32 lists = RPCRDMA_V2_PREFIX + sizeof(u32);
	constexpr u32 payload = v2::PLAIN_HEADER_OCTETS;

	/* The flag of a Reply is the word that its RPC message has for that. */
	static_assert(+RDMA2_F_RESPONSE == RPC_REPLY && !RPC_CALL);
	static_assert(!RDMA2_MSG);
	if (!is_settled(conn) || (conn->rx_open || conn->nr_discard) ||
	    is_short_of_window(conn) || length < payload + RPC_MIN_OCTETS)
		return false;

	const span<payload + RPC_MIN_OCTETS> m{ msg };
	const u32 flags = m.word<v2::OFF_FLAGS>();

	/* Not every client takes Calls. */
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

/* Take one of these. */
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
 * A client that opens waits for CONNPROP, ERR_VERS, or an ERROR about its own
 * CONNPROP. A peer that sends anything else before these may have no version 2.
 */
void note_odd(struct rpcrdma_conn *conn, struct rpcrdma_rx *rx)
{
	if (conn->answered || conn->odd)
		return;
	conn->odd = 1;
	rx->events |= RPCRDMA_EV_ODD;
}

/* Any other message */
verdict receive(struct rpcrdma_conn *conn, const void *msg, u32 length,
		struct rpcrdma_rx *rx)
{
	if (conn->state == RPCRDMA_CONN_CLOSING || !count_message(conn))
		return RPCRDMA_RX_CLOSE;

	/* Too short to tell whose it is (7, WP 1) */
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

/* Something may be due. */
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

/* A plain message of version 1, whose device stops a peer that sends too much */
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

/* Out of the way of the plain ones: what it takes on the stack, too */
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

/* The first message of a connection tells its version. */
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
	/* Mostly neither, and then nothing is due. */
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
 * For Special Format, where header and payload arrive separately: what
 * receive_msg() checks for the others.
 */
bool rpcrdma_payload_ok(u32 xid, bool response, const void *first)
{
	const span<RPC_MIN_OCTETS> rpc{ first };

	return rpc.word<0>() == xid &&
	       rpc.word<RPC_OFF_DIRECTION>() ==
		       (response ? RPC_REPLY : RPC_CALL);
}

/*
 * Remote Invalidation is for the one handle that was offered (6.2.4). Version
 * 1 has no word for an offer: there any handle of the Call is one (RFC 8797).
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
