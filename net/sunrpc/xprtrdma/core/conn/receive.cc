// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving: from the bytes of one message to a verdict about it. All input from a peer
 * is validated here, in receive_rpc.cc, receive_control.cc and version1.cc.
 *
 * Operation
 *
 * rpcrdma_conn_receive() processes every message, in the order of arrival. Fast paths
 * recognize the usual messages by a few words: Calls and Replies without chunks, of
 * either version, and those of version 2, in the forward direction, with one chunk of
 * one segment. If a fast path does not apply, it leaves the connection unchanged, and
 * the general path processes the message. That path counts the message, chooses the
 * version if that is still open, processes the credit fields, and then examines the
 * header type. Every message therefore uses a credit. The verdict determines how the
 * message and its Receive are handled. The events are consequences for the
 * connection, such as credit grants that are due.
 *
 * Memory
 *
 * Nothing is allocated, and no payload is copied: the result refers to it by offset and
 * length. Segments in excess of the fixed array are stored in memory of the caller, and
 * only at a server of version 1.
 *
 * Errors
 *
 * There are four degrees. A message that must not be answered, or that can belong to
 * no RPC, is dropped and counted. A Call or a CONNPROP that cannot be accepted, and a
 * message of unknown type, is answered by an ERROR. A Reply that cannot be used ends
 * its RPC. A violation of the credits, of the version or of the opening closes the
 * connection, and so does a Reply between the messages of another Reply. From then on
 * the verdict for each message is CLOSE.
 *
 * Locking
 *
 * The caller holds the lock of the connection. It is held for the header and for the
 * first words of the payload, not while payload is copied. Functions that read only a
 * message, or only lists, need no lock.
 */
#include "../wire/codec.hh"
#include "../wire/one_chunk.hh"
#include "credits.hh"
#include "hostauth.hh"
#include "other_drafts.hh"
#include "receive.hh"
#include "receive_pool.hh"
#include "version1.hh"

namespace rpcrdma
{

namespace
{

/* Receive a message by its header type. */
verdict receive_type(const v2::message &m)
{
	switch (m.prefix.htype) {
	case RDMA2_NOMSG:
		if (v2::is_grant(m))
			return v2::receive_grant(m);
		[[fallthrough]];
	case RDMA2_MSG:
		return v2::receive_rpc(m);
	default:
		return v2::receive_control(m);
	}
}

verdict receive_v2(struct rpcrdma_conn *conn, const void *msg, u32 length,
		   struct rpcrdma_rx *rx)
{
	if (length < RPCRDMA_V2_PREFIX)
		return drop(conn);

	const v2::message m{ conn, msg, length,
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
	conn->version_refused = 1;
	conn->err_vers_low = static_cast<u8>(min_u32(low, 255));
	conn->err_vers_high = static_cast<u8>(min_u32(high, 255));
	if (auth::is_required(conn))
		auth::fail(conn, RPCRDMA_AUTH_VERSION_1);
	else if (conn->cfg.version_low > RPCRDMA_VERS_1 || low > RPCRDMA_VERS_1)
		close_connection(
			conn,
			"the peer does not support version 2, which min_version requires");
	else
		v1::open(conn);
}

/*
 * Choose the version by the first messages (4.2.3, WP 1). Returns true if @msg
 * is to be processed. Called until the version is chosen.
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
		close_connection(
			conn,
			"the peer answered in a version that was not requested");
		return false;
	}
	if (version >= conn->cfg.version_low &&
	    version <= conn->cfg.version_high) {
		const char *other =
			version == RPCRDMA_VERS_2 ?
				other_draft(conn, msg.octets(), length) :
				nullptr;

		if (other) {
			close_connection(conn, other);
			return false;
		}
		if (version == RPCRDMA_VERS_1)
			v1::open(conn);
		conn->version = static_cast<u8>(version);
		return true;
	}

	if (msg.word<v2::OFF_HTYPE>() == RDMA2_ERROR) {
		drop(conn);
		return false;
	}
	if (version == RPCRDMA_VERS_1)
		auth::version_1(conn);
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
		close_connection(
			conn,
			"the peer sent more messages than it had credits for");
		return false;
	}
	return true;
}

/*
 * Fast-path test: return true if no continued message is in progress and no sender is
 * short of credits, so that of a complete RPC message only the header, its match with
 * the payload, and the credit fields need checking.
 */
[[gnu::always_inline]] inline bool is_usual(const struct rpcrdma_conn *conn)
{
	return is_settled(conn) && !(conn->rx_open || conn->nr_discard) &&
	       !is_short_of_window(conn);
}

/*
 * Fast-path test: return true if the first words of a complete RPC message with @flags
 * match its header of @HEADER bytes. @zero: words that have to be zero, combined.
 */
template <u32 HEADER>
[[gnu::always_inline]] inline bool matches(span<HEADER + RPC_MIN_OCTETS> m,
					   u32 flags, u32 zero)
{
	/* The flag of a Reply equals the direction word of its RPC message. */
	static_assert(+RDMA2_F_RESPONSE == RPC_REPLY && !RPC_CALL);
	static_assert(!RDMA2_MSG);
	return !(m.template word<v2::OFF_HTYPE>() | zero) &&
	       m.template word<v2::OFF_VERS>() == RPCRDMA_VERS_2 &&
	       m.template word<HEADER>() == m.template word<v2::OFF_XID>() &&
	       m.template word<HEADER + RPC_OFF_DIRECTION>() == flags;
}

constexpr u32 PLAIN_OCTETS = v2::PLAIN_HEADER_OCTETS + RPC_MIN_OCTETS;
/* Offset in bytes of the first word of the lists */
constexpr u32 OFF_LISTS = RPCRDMA_V2_PREFIX + sizeof(u32);

/*
 * Return true for a message without chunks on the fast path, for which is_usual() is
 * true.
 */
[[gnu::always_inline]] inline bool is_plain(const struct rpcrdma_conn *conn,
					    span<PLAIN_OCTETS> m)
{
	const u32 flags = m.word<v2::OFF_FLAGS>();

	/* Not every client accepts Calls. */
	if (!flags && conn->cfg.client &&
	    conn->cfg.props.brs == RDMA2_RVRSDIR_NONE)
		return false;
	return flags <= RDMA2_F_RESPONSE &&
	       matches<v2::PLAIN_HEADER_OCTETS>(
		       m, flags,
		       m.word<OFF_LISTS>() | m.word<OFF_LISTS + 4>() |
			       m.word<OFF_LISTS + 8>());
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
 * Note an answer that is no opening of version 2. A client that opens waits for
 * CONNPROP, ERR_VERS, or an ERROR about its own CONNPROP. A peer that sends anything
 * else before these may not support version 2.
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
			return RPCRDMA_RX_CONSUMED;
	}

	if (common.word<v2::OFF_VERS>() != conn->version) {
		close_connection(
			conn,
			"the peer changed the version within the connection");
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
		conn->recvs_freed = 1;
	else
		conn->recvs_to_free++;
}

/* Add the events that may be due. */
[[gnu::noinline]] verdict add_events(struct rpcrdma_conn *conn,
				     struct rpcrdma_rx *rx, verdict verdict)
{
	if (!is_settled(conn) || grant_owed(conn))
		rx->events |= due_events(conn);
	rx->events |= watch_receive(conn);
	if (conn->version == RPCRDMA_VERS_1 && v1::few_left(conn) &&
	    conn->recvs_withheld)
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
	    (conn->recvs_withheld && v1::few_left(conn)))
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
	rx->first_fragment = 0;
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
		conn->calls_outstanding--;
	count_verdict(conn, verdict);
	return add_events(conn, rx, verdict);
}

/* Count a message of the fast path. Usually no event is due. */
[[gnu::always_inline]] inline verdict
counted(struct rpcrdma_conn *conn, struct rpcrdma_rx *rx, verdict verdict)
{
	count_verdict(conn, verdict);
	if (verdict == RPCRDMA_RX_CLOSE || limit_can_rise(conn) ||
	    !enough_posted(conn))
		return add_events(conn, rx, verdict);
	return verdict;
}

/*
 * Decode the lists of a message with a matching header, which have one chunk. Returns
 * false if they have another form, or need other checks; only @rx has been changed then.
 */
template <bool REPLY, bool READ>
[[gnu::always_inline]] inline bool
decode_only_chunk(const struct rpcrdma_conn *conn,
		  span<v2::ONE_CHUNK_HEADER_OCTETS> m, u32 stream,
		  struct rpcrdma_lists *lists)
{
	const struct rpcrdma_props *own = &conn->cfg.props;
	const xdr_reader in{ m.octets(), v2::ONE_CHUNK_HEADER_OCTETS,
			     OFF_LISTS };
	/* A Reply returns this end's own Write chunk: its segment has no limit. */
	const list_limits limits = {
		.reads = REPLY ? 0 : most_reads(conn),
		.writes = 1,
		.segs = REPLY ? 1 : own->rcsiz,
		.segment = REPLY ? ~0u : own->rssiz,
		.any_order = false,
	};

	if constexpr (READ)
		return decode_one_read(in, limits, lists) &&
		       lists->reads[0].position >= RPC_MIN_OCTETS &&
		       lists->reads[0].position <= stream;
	else
		return decode_one_write(in, limits, lists);
}

/*
 * Fast path: receive a Call at a server with one Read chunk or Write chunk of one
 * segment, or a Reply at a client with such a Write chunk. is_usual() is true. Forward
 * direction only, because few clients accept chunks in reverse Calls. Out of line, and
 * each of these messages on its own, so that no registers have to be saved.
 */
template <bool REPLY, bool READ>
[[gnu::noinline]] verdict receive_one_chunk(struct rpcrdma_conn *conn,
					    const void *msg, u32 length,
					    struct rpcrdma_rx *rx)
{
	constexpr u32 payload = v2::ONE_CHUNK_HEADER_OCTETS;
	constexpr u32 flags = REPLY ? +RDMA2_F_RESPONSE : 0;

	if (length < payload + RPC_MIN_OCTETS)
		return receive_other(conn, msg, length, rx);

	const span<payload + RPC_MIN_OCTETS> m{ msg };
	const span<payload> header{ m };

	if (m.template word<v2::OFF_FLAGS>() != flags ||
	    !matches<payload>(m, flags, 0) ||
	    !decode_only_chunk<REPLY, READ>(conn, header, length - payload,
					    &rx->lists))
		return receive_other(conn, msg, length, rx);
	fill_whole(rx, m.template word<v2::OFF_XID>(), payload, length);
	rx->lists.inv_handle = m.template word<RPCRDMA_V2_PREFIX>();
	if (!count_message(conn) ||
	    !take_credits(conn,
			  v2::decode_prefix(span<RPCRDMA_V2_PREFIX>{ header })))
		return counted(conn, rx, RPCRDMA_RX_CLOSE);
	count_one(conn, REPLY, READ, rx->lists.segs[0].length,
		  &conn->counters.bytes_received);
	return counted(conn, rx, REPLY ? RPCRDMA_RX_REPLY : RPCRDMA_RX_CALL);
}

/*
 * Receive a message that is not plain, for which is_usual() is true. @first: the first
 * word of its lists
 */
[[gnu::always_inline]] inline verdict receive_chunks(struct rpcrdma_conn *conn,
						     const void *msg,
						     u32 length, u32 first,
						     struct rpcrdma_rx *rx)
{
	if (conn->cfg.client)
		return receive_one_chunk<true, false>(conn, msg, length, rx);
	return first ? receive_one_chunk<false, true>(conn, msg, length, rx) :
		       receive_one_chunk<false, false>(conn, msg, length, rx);
}

} // namespace

void count_received(struct rpcrdma_conn *conn, enum rpcrdma_kind kind,
		    enum rpcrdma_format format,
		    const struct rpcrdma_lists *lists)
{
	count_complete(conn, kind, format, lists,
		       &conn->counters.bytes_received);
}

} // namespace rpcrdma

using namespace rpcrdma;

/* The version of a connection's first message is in the message. */
bool rpcrdma_has_extra_segs(const void *msg, u32 length)
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
	conn->counters.bytes_received += length;
	if (!is_usual(conn) || length < PLAIN_OCTETS)
		return v1::is_plain(conn, msg, length) ?
			       receive_plain_v1(conn, msg, length, rx) :
			       receive_other(conn, msg, length, rx);

	const span<PLAIN_OCTETS> m{ msg };

	if (!is_plain(conn, m))
		return receive_chunks(conn, msg, length, m.word<OFF_LISTS>(),
				      rx);
	return counted(conn, rx, receive_plain(conn, msg, length, rx));
}

void rpcrdma_conn_close(struct rpcrdma_conn *conn, const char *reason)
{
	close_connection(conn, reason);
}

void rpcrdma_conn_discard(struct rpcrdma_conn *conn)
{
	if (!conn->rx_open)
		return;
	conn->rx_open = 0;
	discard_sequence(conn, { conn->rx_xid, conn->rx_response });
}

/*
 * For Special Format, in which header and payload arrive separately: the same check as
 * receive_msg() makes for the other formats.
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
			     const struct rpcrdma_lists *call_lists,
			     u32 invalidated)
{
	if (!invalidated || invalidated == call_lists->inv_handle)
		return true;
	return conn->version == RPCRDMA_VERS_1 &&
	       v1::handle_was_registered(call_lists, invalidated);
}
