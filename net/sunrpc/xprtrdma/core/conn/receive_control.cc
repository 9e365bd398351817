// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving messages of version 2 that convey no RPC message: credit grants, DONE, ERROR,
 * CONNPROP, and header types that are unknown.
 *
 * Operation
 *
 * Even a CONNPROP that is refused counts for the opening. An ERROR with xid 0 may be
 * about this end's own CONNPROP. Once the connection is open, every other ERROR goes to
 * the Requester, which knows whether the xid is that of one of its Calls.
 *
 * Memory
 *
 * Nothing is allocated. The properties of the peer are decoded into conn->staged. All of
 * its CONNPROPs together have at most MAX_PROP_OCTETS bytes; a peer that sends more is
 * disconnected.
 *
 * Errors
 *
 * Only a CONNPROP and a message of unknown type are answered by an ERROR, and only
 * without the flag RESPONSE. Any other message here that is not valid is dropped and
 * counted, because two ends that answered such messages could do so forever (WP 7).
 *
 * Locking
 *
 * The caller holds the lock of the connection. rpcrdma_conn_is_grant() reads only the
 * version, and is for reports.
 */
#include "../rpc/pull.hh"
#include "../wire/properties.hh"
#include "hostauth.hh"

namespace rpcrdma::v2
{

namespace
{

/*
 * Receive a DONE. One for which no Reply waits is dropped (DR 4.1.3): a second
 * one, for example.
 */
verdict receive_done(const message &m)
{
	struct rpcrdma_pull_entry *exposure;

	if (m.conn->state != RPCRDMA_CONN_OPEN ||
	    m.prefix.flags & (RDMA2_F_RESPONSE | RDMA2_F_MORE | RDMA2_F_TPMORE))
		return drop(m.conn);
	exposure = find_done(m.conn, m.prefix.xid);
	if (!exposure)
		return drop(m.conn);
	m.rx->exposed = exposure;
	take_done(m.conn, exposure);
	return RPCRDMA_RX_PULL_COMPLETE;
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
 * Return true if an ERROR with xid 0 is about this end's CONNPROP. A client receives it
 * before its opening is complete. A server's opening is complete when it sends its
 * CONNPROP. An ERROR about that arrives before any Call of the client. This end has
 * sent no Call by then, so the ERROR cannot be about one.
 */
bool about_own_props(const struct rpcrdma_conn *conn)
{
	const struct rpcrdma_conn_counters *counters = &conn->counters;

	if (!conn->props_begun)
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

	if (!m.prefix.xid && about_own_props(conn) && auth::own_refused(conn)) {
		conn->answered = 1;
		conn->counters.errors_received++;
		own_props_refused(conn);
		return RPCRDMA_RX_CONSUMED;
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
	struct prop_others others;
	bool refused = true;

	/*
	 * A CONNPROP after the last one. An ERROR refers to messages without RESPONSE
	 * only (WP 7).
	 */
	if (conn->props_received) {
		if (m.response())
			return drop(conn);
		answer(m, { RDMA2_ERR_INVAL_HTYPE });
		return RPCRDMA_RX_CONSUMED;
	}

	conn->prop_octets += m.length;
	if (conn->prop_octets > MAX_PROP_OCTETS) {
		close_connection(
			conn, "the peer's transport properties exceed 64 KiB");
		return RPCRDMA_RX_CLOSE;
	}
	conn->answered = 1;

	/* A refused CONNPROP still counts: the opening continues without it. */
	if (m.response())
		drop(conn);
	else if (m.flag(RDMA2_F_MORE))
		answer(m, { RDMA2_ERR_INVAL_CONT });
	else if (const fault wrong = decode_props(in, &conn->staged, &others))
		answer(m, wrong);
	else
		refused = false;

	/* The server answers the first CONNPROP with its own (WP 4). */
	if (!auth::received(m, refused ? nullptr : &others))
		conn->props_due = 1;
	if (!m.flag(RDMA2_F_TPMORE))
		conn->props_received = 1;
	return RPCRDMA_RX_CONSUMED;
}

verdict receive_unknown(const message &m)
{
	if (m.response())
		return drop(m.conn);
	answer(m, { RDMA2_ERR_INVAL_HTYPE });
	return RPCRDMA_RX_CONSUMED;
}

} // namespace

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
	conn->grant_recvs_to_free++;
	if (m.prefix.flags & (RDMA2_F_RESPONSE | RDMA2_F_MORE | RDMA2_F_TPMORE))
		return drop(conn);
	conn->counters.grants_received++;
	return RPCRDMA_RX_CONSUMED;
}

verdict receive_control(const message &m)
{
	switch (m.prefix.htype) {
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

} // namespace rpcrdma::v2

bool rpcrdma_conn_is_grant(const struct rpcrdma_conn *conn, const void *msg,
			   u32 octets)
{
	using namespace rpcrdma;

	if (conn->version != RPCRDMA_VERS_2 || octets < RPCRDMA_V2_PREFIX)
		return false;

	const v2::message m{ nullptr, msg, octets,
			     v2::decode_prefix(span<RPCRDMA_V2_PREFIX>{ msg }),
			     nullptr };

	return m.prefix.htype == RDMA2_NOMSG && v2::is_grant(m);
}
