// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending of a connection of the library: whether a Call or a Reply can be sent, in which
 * format, and the messages that it is sent in.
 */
#include "conn.hh"

using namespace rpcrdma;

namespace
{

/* Build @lists from items. Return 0 or an error. */
int make_lists(struct rpcrdma_lists *lists, const struct rpcrdma2_tx *tx)
{
	u32 left = 0; /* segments of the chunk that was begun */

	rpcrdma_lists_init(lists);
	lists->inv_handle = tx->inv_handle;
	for (u32 i = 0; i < tx->nr_items; i++) {
		const struct rpcrdma2_item &item = tx->items[i];
		const struct rpcrdma_chunk *const last =
			lists->nr_reads ? &lists->reads[lists->nr_reads - 1] :
					  nullptr;
		int rc = 0;

		if ((item.kind == RPCRDMA2_ITEM_SEGMENT) != (left > 0))
			return RPCRDMA2_ERR_INVALID;
		switch (item.kind) {
		case RPCRDMA2_ITEM_READ:
			if (item.position % sizeof(u32))
				return RPCRDMA2_ERR_INVALID;
			if (!last || last->position != item.position)
				rc = rpcrdma_lists_add_read(lists,
							    item.position);
			break;
		case RPCRDMA2_ITEM_WRITE:
			rc = rpcrdma_lists_add_write(lists);
			left = item.count;
			break;
		case RPCRDMA2_ITEM_REPLY:
			rc = rpcrdma_lists_add_reply(lists);
			left = item.count;
			break;
		case RPCRDMA2_ITEM_SEGMENT:
			left--;
			break;
		default:
			return RPCRDMA2_ERR_INVALID;
		}
		if (!rc && (item.kind == RPCRDMA2_ITEM_READ ||
			    item.kind == RPCRDMA2_ITEM_SEGMENT))
			rc = rpcrdma_lists_add_segment(
				lists, item.handle, item.length, item.address);
		if (rc)
			return RPCRDMA2_ERR_CHUNKS;
	}
	return left ? +RPCRDMA2_ERR_INVALID : 0;
}

/*
 * Return true if the peer accepts these lists. A Reply returns the chunks of its
 * Call, whatever their number and size.
 */
bool lists_accepted(const struct rpcrdma_conn *conn, u32 kind,
		    const struct rpcrdma_lists *lists)
{
	const struct rpcrdma_conn_limits limits = rpcrdma_conn_limits(conn);

	if (kind == RPCRDMA_KIND_REPLY)
		return !lists->nr_reads;
	if (lists->nr_segs > limits.max_segs ||
	    (has_chunks(lists) && !conn->cfg.client &&
	     !rpcrdma_reverse_chunks(conn->peer.brs)))
		return false;
	for (u32 i = 0; i < lists->nr_segs; i++) {
		if (rpcrdma_lists_seg(lists, i)->length > limits.max_segment)
			return false;
	}
	return true;
}

/* Return true if this end may send continued messages of that kind. */
bool may_continue(const struct rpcrdma_conn *conn, u32 kind)
{
	if (kind == RPCRDMA_KIND_REPLY)
		return may_continue_replies(conn, conn->cfg.client);
	return conn->peer.reassembly &&
	       (conn->cfg.client || conn->peer.brs >= RDMA2_RVRSDIR_CONT);
}

/* Choose the format of a Call or Reply. Returns 0 or an error. */
int choose_format(const struct rpcrdma_conn *conn, struct rpcrdma2_tx *tx,
		  const struct rpcrdma_lists *lists)
{
	const struct rpcrdma_conn_limits limits = rpcrdma_conn_limits(conn);
	const u32 header = header_octets(conn, lists);
	const bool in_chunk = tx->kind == RPCRDMA_KIND_CALL ?
				      lists->nr_reads &&
					      !lists->reads[0].position :
				      lists->has_reply && lists->reply.length;

	if (header > limits.send_inline)
		return RPCRDMA2_ERR_CHUNKS;
	if (!tx->length || in_chunk) {
		tx->format = RPCRDMA_SPECIAL;
		return tx->length || !in_chunk ? +RPCRDMA2_ERR_INVALID : 0;
	}
	if (tx->length < RPC_MIN_OCTETS)
		return RPCRDMA2_ERR_INVALID;
	if (tx->length <= limits.send_inline - header) {
		tx->format = RPCRDMA_INLINE;
		return 0;
	}
	tx->format = RPCRDMA_CONTINUED;
	return may_continue(conn, tx->kind) && tx->length <= limits.continued &&
			       header + MIN_LAST_PART <= limits.send_inline ?
		       0 :
		       +RPCRDMA2_ERR_TOO_LONG;
}

} // namespace

int rpcrdma2_conn::queue(struct rpcrdma2_tx *tx, enum rpcrdma_kind kind)
{
	struct rpcrdma_lists lists;
	int rc;

	if (error)
		return error;
	if (core.state != RPCRDMA_CONN_OPEN)
		return RPCRDMA2_ERR_NOT_OPEN;
	if (kind == RPCRDMA_KIND_CALL && !core.cfg.client &&
	    core.peer.brs == RDMA2_RVRSDIR_NONE)
		return RPCRDMA2_ERR_NO_REVERSE;
	if ((tx->length && !tx->payload) || (tx->nr_items && !tx->items))
		return RPCRDMA2_ERR_INVALID;
	tx->kind = static_cast<u8>(kind);
	tx->sent = 0;
	rc = make_lists(&lists, tx);
	if (!rc && !lists_accepted(&core, kind, &lists))
		rc = RPCRDMA2_ERR_CHUNKS;
	if (!rc)
		rc = choose_format(&core, tx, &lists);
	if (rc)
		return rc;
	(kind == RPCRDMA_KIND_CALL ? calls : replies).push(tx);
	return 0;
}

/* Return the message that may be sent now, or null. */
struct rpcrdma2_tx *rpcrdma2_conn::next_tx()
{
	struct rpcrdma2_tx *tx = current;

	if (tx)
		return may_send_rpc(&core,
				    static_cast<rpcrdma_kind>(tx->kind)) ?
			       tx :
			       nullptr;
	tx = replies.first;
	if (tx && may_send_rpc(&core, RPCRDMA_KIND_REPLY))
		return tx;
	tx = calls.first;
	return tx && may_send_rpc(&core, RPCRDMA_KIND_CALL) ? tx : nullptr;
}

/* Complete @tx: the caller's buffer has its last message. */
int rpcrdma2_conn::written(struct rpcrdma2_tx *tx)
{
	current = nullptr;
	(tx->kind == RPCRDMA_KIND_CALL ? calls : replies).pop();
	if (callbacks.sent && callbacks.sent(this, tx, user))
		return end(RPCRDMA2_ERR_CALLBACK);
	return error;
}

/* Write one message of @tx. Returns its length or an error. */
ptrdiff_t rpcrdma2_conn::write(struct rpcrdma2_tx *tx, u8 *buf, size_t size,
			       struct rpcrdma2_out *out)
{
	const auto kind = static_cast<rpcrdma_kind>(tx->kind);
	const auto format = static_cast<rpcrdma_format>(tx->format);
	struct rpcrdma_fragment part = { .octets = tx->length, .more = false };
	struct rpcrdma_lists lists;

	make_lists(&lists, tx);
	if (format == RPCRDMA_CONTINUED)
		part = rpcrdma_next_fragment(&core, &lists,
					     tx->length - tx->sent, ~u32{});

	const u32 room =
		static_cast<u32>(size < ~u32{} ? size : size_t{ ~u32{} });
	const u32 header = rpcrdma_encode_rpc(&core, buf, room, kind, format,
					      tx->xid, part.more,
					      part.more ? nullptr : &lists);

	if (!header || room - header < part.octets)
		return RPCRDMA2_ERR_BUFFER_SHORT;
	if (part.octets)
		__builtin_memcpy(buf + header,
				 static_cast<const u8 *>(tx->payload) +
					 tx->sent,
				 part.octets);
	if (!tx->sent)
		rpcrdma_conn_count(&core, kind, format, &lists);
	rpcrdma_conn_stamp(&core, kind, buf);
	tx->sent += part.octets;
	out->tx = tx;
	if (part.more) {
		current = tx;
		return static_cast<ptrdiff_t>(header + part.octets);
	}
	if (kind == RPCRDMA_KIND_REPLY && core.cfg.inv_ok)
		out->inv_handle = tx->invalidate;

	const int rc = written(tx);

	return rc ? rc : static_cast<ptrdiff_t>(header + part.octets);
}
