// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Requester's decisions: how a Call is conveyed, which chunks it provides for its
 * Reply, and whether the Reply used them correctly.
 *
 * Operation
 *
 * Each attempt to send a Call makes a new plan, from lengths and numbers of segments
 * only: memory is registered when the plan is known. Fast paths plan Calls without
 * chunks that are one message and have a Reply of one message, and most Calls with one
 * chunk of one segment. For all others the planner lists the chunks that may be
 * provided for the Reply, best first, and tries each of these with the forms of the
 * Call, best first. The first combination that respects all limits is used: the
 * properties of the peer, earlier refusals of this Call, limits learned from refusals
 * of others, and the number of MRs if the pool is starved.
 *
 * Memory
 *
 * Nothing is allocated. The plan is the caller's, and refers to no other memory.
 *
 * Errors
 *
 * If no form is possible, the RPC ends (-EMSGSIZE). If a form would be possible with
 * more MRs, the connection is closed (-ENOBUFS), because another connection may get
 * them. A Reply with chunks that differ from those provided ends its RPC, and not the
 * connection.
 *
 * Locking
 *
 * No lock is taken. A sender plans without the lock of the connection: all that is read
 * is fixed while the connection is open, or changes in a single store. If an ERROR
 * lowers the peer's RCSIZ after another Call was planned, the peer may refuse that
 * Call, too, and it is planned again.
 */
#include "../wire/codec.hh"
#include "plan_call.hh"

namespace rpcrdma
{

namespace
{

/*
 * The chunks that a Call provides for its Reply; negative segments: no such
 * chunk.
 */
struct reply_resources {
	s32 write_segs;
	s32 reply_segs;
};

/* Both chunks, only a Write chunk, only a Reply chunk, neither */
constexpr u32 MAX_RESOURCES = 4;

/* All inputs of the plan for one Call */
class call_planner
{
public:
	call_planner(const struct rpcrdma_conn *conn,
		     const struct rpcrdma_call *call);

	int plan(struct rpcrdma_call_plan *plan) const;

private:
	u32 make_resources(reply_resources (&resources)[MAX_RESOURCES]) const;
	bool try_forms(const reply_resources &o,
		       struct rpcrdma_call_plan *plan) const;
	bool try_continued(const reply_resources &o,
			   struct rpcrdma_call_plan *plan) const;
	bool try_special(const reply_resources &o,
			 struct rpcrdma_call_plan *plan) const;
	bool reads_ok(u32 chunks) const;
	bool reply_chunk_enough(const reply_resources &o) const;
	bool segs_fit(u32 read_segs, const reply_resources &o) const;
	bool reply_fits(u32 octets, const reply_resources &o) const;
	reply_resources complete_reply() const;
	bool whole_ok(const reply_resources &o) const;
	bool was_refused(u32 octets) const;
	bool will_fit(u32 octets, const reply_resources &o) const;

	const struct rpcrdma_conn *conn_;
	const struct rpcrdma_call *call_;
	struct rpcrdma_conn_limits limits_;
	bool chunks_;	    /* the peer accepts chunks with this Call */
	bool may_continue_; /* the peer accepts continued messages */
	bool one_kind_;	    /* avoid different kinds of chunks in one Call */
	bool reducible_;    /* the argument may go in a Read chunk */
	u32 reduced_;	    /* length of the Call without it */
};

call_planner::call_planner(const struct rpcrdma_conn *conn,
			   const struct rpcrdma_call *call)
	: conn_{ conn }, call_{ call }, limits_{ rpcrdma_conn_limits(conn) }
{
	const u32 brs = conn->peer.brs;
	const u32 position = call->item_position;

	/*
	 * Avoid combinations that version 1 permits, but that the in-tree client does
	 * not send: servers may be tested with that client only.
	 */
	one_kind_ = conn->version == RPCRDMA_VERS_1;
	chunks_ = limits_.max_segs &&
		  (!call->reverse || rpcrdma_reverse_chunks(brs));
	may_continue_ = limits_.continued &&
			(!call->reverse || brs >= RDMA2_RVRSDIR_CONT);

	reducible_ = chunks_ && call->ddp && call->item_length &&
		     call->item_segs && position >= RPC_MIN_OCTETS &&
		     position % sizeof(u32) == 0 && position < call->length &&
		     call->item_length <= call->length - position &&
		     reads_ok(1);
	reduced_ = call->length;
	if (reducible_)
		reduced_ -=
			reduced_by(call->length, position, call->item_length);
}

/*
 * Return true if the peer would read that many chunks. It has reported a lower
 * limit otherwise (7.3.1).
 */
bool call_planner::reads_ok(u32 chunks) const
{
	const struct rpcrdma_retry_limits &r = call_->retry_limits;

	return !r.few_reads || chunks <= r.max_reads;
}

/*
 * Return true if the Reply chunk is as large as the peer has required (7.3.5).
 * It has the memory for the Reply less the Write chunk. Without a Write chunk
 * it may have to hold the item, too, but then it has all the memory there is.
 */
bool call_planner::reply_chunk_enough(const reply_resources &o) const
{
	u32 room = call_->reply_max;

	if (o.write_segs >= 0)
		room -= min_u32(room, call_->result_max);
	return call_->retry_limits.reply_needed <= room;
}

/*
 * Return true if the lists stay within the peer's RCSIZ, and there are MRs for
 * them.
 */
bool call_planner::segs_fit(u32 read_segs, const reply_resources &o) const
{
	u32 segs = read_segs;

	if (o.write_segs > 0)
		segs += static_cast<u32>(o.write_segs);
	if (o.reply_segs > 0)
		segs += static_cast<u32>(o.reply_segs);
	return segs <= limits_.max_segs &&
	       (!call_->few_mrs || segs <= call_->max_mrs);
}

/*
 * Return true if a Reply of @octets fits into one Receive, with the chunks that
 * its header must return.
 */
bool call_planner::reply_fits(u32 octets, const reply_resources &o) const
{
	const u32 header = header_octets(conn_, -1, o.write_segs, o.reply_segs);

	return header <= limits_.recv_inline &&
	       octets <= limits_.recv_inline - header;
}

/* Return a Reply chunk, and nothing else. */
reply_resources call_planner::complete_reply() const
{
	return { -1, call_->reply_segs };
}

/*
 * Return true if a Reply chunk alone can replace the chunks of @o. The Write chunk of
 * @o may have too many segments.
 */
bool call_planner::whole_ok(const reply_resources &o) const
{
	return o.write_segs >= 0 && call_->reply_segs &&
	       reply_fits(0, complete_reply()) &&
	       reply_chunk_enough(complete_reply());
}

/*
 * Return true if a Reply that large was refused to a Call without a Reply
 * chunk.
 */
bool call_planner::was_refused(u32 octets) const
{
	return call_->reply_chunk_from && call_->reply_chunk_from <= octets;
}

/*
 * Return true if such a Reply will be in one message. If one that would fit was
 * refused, the peer sends smaller messages than it may.
 */
bool call_planner::will_fit(u32 octets, const reply_resources &o) const
{
	return reply_fits(octets, o) &&
	       !(was_refused(octets) &&
		 reply_fits(call_->refused_max, { -1, -1 }));
}

/*
 * Fill @resources with the chunks that the Call could provide for its Reply, best first
 * (6.4, DR 5.3.1), and return their number.
 *
 * - Nothing, if the largest Reply fits into one message: registering memory costs two
 *   Work Requests, and makes the RPC wait for the invalidation.
 * - A Write chunk for a DDP-eligible result that may not fit: the result is not copied.
 * - Nothing in addition, if the rest can be continued within this end's reassembly
 *   limit: that has a cost only if the Reply is large.
 * - Nothing in addition, if a large Reply is possible but unlikely, and the Responder
 *   has announced that it provides Read chunks: these, too, have a cost only if the
 *   Reply is large, and no length can be too small (DR 5.1).
 * - Only a Reply chunk, if a Reply that large was recently refused to a Call that had
 *   none.
 * - A Reply chunk otherwise. The Responder has no other method for a large Reply; or
 *   the Reply is expected to be large (a READ, if GSS needs the complete result), so that
 *   each Reply would cost the round trip of a Read chunk (DR 5.2.2); or smaller chunks
 *   were refused before.
 */
u32 call_planner::make_resources(
	reply_resources (&resources)[MAX_RESOURCES]) const
{
	const struct rpcrdma_props *own = &conn_->cfg.props;
	/* A refusal requires more than the refused Call had (7.3.2, 7.3.5). */
	const bool larger = call_->retry_limits.reply_needed;
	const bool instead = larger || call_->retry_limits.no_writes;
	const bool pull = own->reply_read & RDMA2_REPLY_READ_PULL &&
			  conn_->peer.reply_read & RDMA2_REPLY_READ_PROVIDE &&
			  chunks_;
	const reply_resources none = { -1, -1 };
	const reply_resources whole = complete_reply();
	/* The result's memory has no space for the roundup. */
	const bool writes_ok =
		!call_->retry_limits.no_writes &&
		!(call_->whole_writes && call_->result_max % sizeof(u32));
	bool bulk = call_->bulk, learnt;
	reply_resources o = none;
	u32 rest = call_->reply_max;
	u32 n = 0;

	if (!instead && will_fit(rest, none)) {
		resources[n++] = none;
		return n;
	}

	/* Direct placement for a result that may not fit inline */
	if (chunks_ && call_->ddp && call_->result_max && call_->result_segs &&
	    writes_ok) {
		o.write_segs = call_->result_segs;
		rest -= static_cast<u32>(roundup4(call_->result_max) < rest ?
						 roundup4(call_->result_max) :
						 rest);
		bulk = false;
	}

	/*
	 * Check for a method for the rest if that is too large for one message.
	 */
	learnt = was_refused(rest);
	if (instead ||
	    !(will_fit(rest, o) ||
	      (!learnt && ((pull && !bulk) ||
			   (may_continue_ && rest <= own->reassembly))))) {
		if (chunks_ && call_->reply_segs) {
			reply_resources with_reply = one_kind_ ? none : o;

			with_reply.reply_segs = call_->reply_segs;
			if (reply_fits(0, with_reply) &&
			    reply_chunk_enough(with_reply))
				resources[n++] = with_reply;
			if ((larger || learnt) && whole_ok(o))
				resources[n++] = whole;
		}
		/*
		 * No alternative without this chunk: the Call is retried for it; or, in
		 * version 1, the Responder has only a permanent error for such a Reply,
		 * if it checks the length at all.
		 */
		if (larger || (one_kind_ && !call_->reverse))
			return n;
	}
	if (o.write_segs >= 0)
		resources[n++] = o;
	/*
	 * If the Write chunk has too many segments for the peer, the result is
	 * part of the Reply that was refused.
	 */
	if (!learnt && was_refused(call_->reply_max) && whole_ok(o))
		resources[n++] = whole;
	/*
	 * A Reply that may be too large rarely is. If it is, the Responder sends an
	 * ERROR, from which a Requester of version 1 learns nothing. In version 1, the
	 * Call therefore has a Write chunk, and waits until there are MRs for it.
	 */
	if (!one_kind_ || call_->reverse)
		resources[n++] = none;
	return n;
}

/* Special Format: the Call in a Position Zero Read chunk (4.4.3) */
bool call_planner::try_special(const reply_resources &o,
			       struct rpcrdma_call_plan *plan) const
{
	u32 segs = call_->call_segs;

	if (!chunks_ || !segs || !reads_ok(1))
		return false;

	/* This is reached only by a Call that is too large without its item. */
	plan->read_item = reducible_ && !one_kind_ && reads_ok(2) &&
			  segs_fit(segs + call_->item_segs, o);
	if (plan->read_item)
		segs += call_->item_segs;
	if (!segs_fit(segs, o) ||
	    header_octets(conn_, static_cast<s32>(segs), o.write_segs,
			  o.reply_segs) > limits_.send_inline)
		return false;
	plan->format = RPCRDMA_SPECIAL;
	plan->inline_length = 0;
	return true;
}

/*
 * Plan a continued message, with the item in a Read chunk if that suffices
 * (4.4.2).
 */
bool call_planner::try_continued(const reply_resources &o,
				 struct rpcrdma_call_plan *plan) const
{
	const u32 room = limits_.send_inline;
	const u32 plain = header_octets(conn_, -1, o.write_segs, o.reply_segs);
	const u32 reading = header_octets(conn_, call_->item_segs, o.write_segs,
					  o.reply_segs);

	if (!may_continue_)
		return false;
	plan->format = RPCRDMA_CONTINUED;
	plan->read_item = reducible_ && segs_fit(call_->item_segs, o) &&
			  reduced_ <= limits_.continued && reading <= room &&
			  room - reading >= MIN_LAST_PART;
	plan->inline_length = plan->read_item ? reduced_ : call_->length;
	return plan->read_item ||
	       (segs_fit(0, o) && call_->length <= limits_.continued &&
		plain <= room && room - plain >= MIN_LAST_PART);
}

/* Try the formats in which a Call with @o can be conveyed, best first (4.4). */
bool call_planner::try_forms(const reply_resources &o,
			     struct rpcrdma_call_plan *plan) const
{
	const u32 room = limits_.send_inline;
	const u32 plain = header_octets(conn_, -1, o.write_segs, o.reply_segs);
	const bool plain_ok = plain <= room && segs_fit(0, o);

	plan->write_chunk = o.write_segs >= 0;
	plan->reply_chunk = o.reply_segs >= 0;

	/* Small arguments are cheaper to copy than to register. */
	plan->format = RPCRDMA_INLINE;
	plan->read_item = 0;
	plan->inline_length = call_->length;
	if (plain_ok && call_->length <= room - plain)
		return true;

	const u32 reading = header_octets(conn_, call_->item_segs, o.write_segs,
					  o.reply_segs);
	const bool reading_ok = reducible_ && reading <= room &&
				segs_fit(call_->item_segs, o);

	if (reading_ok && reduced_ <= room - reading) {
		plan->read_item = 1;
		plan->inline_length = reduced_;
		return true;
	}

	/*
	 * The peer may have closed a connection because of a continued message.
	 */
	if (call_->no_parts)
		return try_special(o, plan) || try_continued(o, plan);
	return try_continued(o, plan) || try_special(o, plan);
}

int call_planner::plan(struct rpcrdma_call_plan *plan) const
{
	reply_resources resources[MAX_RESOURCES];
	const u32 n = make_resources(resources);

	for (u32 i = 0; i < n; i++) {
		if (try_forms(resources[i], plan))
			return 0;
	}
	return -E_MSGSIZE;
}

/*
 * Check a returned chunk against the one that was provided, and count the bytes
 * placed. The data is contiguous only if no segment follows one that was not
 * filled.
 */
bool chunk_ok(const struct rpcrdma_lists *call_lists,
	      const struct rpcrdma_chunk *ours,
	      const struct rpcrdma_lists *returned,
	      const struct rpcrdma_chunk *theirs, u32 &placed)
{
	bool full = true;

	placed = 0;
	/* An unused chunk may be returned without its segments (WP 2). */
	if (!theirs->count)
		return true;
	if (theirs->count != ours->count)
		return false;

	for (u32 i = 0; i < ours->count; i++) {
		const struct rpcrdma_segment *a =
			rpcrdma_lists_seg(call_lists, ours->first + i);
		const struct rpcrdma_segment *b =
			rpcrdma_lists_seg(returned, theirs->first + i);

		if (b->handle != a->handle || b->length > a->length)
			return false;
		if (b->length && !full)
			return false;
		full = b->length == a->length;
		placed += b->length;
	}
	return true;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

/*
 * In the order of preference, for the Call: one message; one message and a Read
 * chunk for its DDP-eligible argument; continued (6.3.2 prefers that to Special
 * Format); Special Format. For the Reply: inline; a Write chunk for a result
 * that may not fit; nothing more if continuation or a Reply that the Responder
 * provides for pulling (WP 8) suffices; otherwise a Reply chunk. The reasons
 * are at the decisions: try_forms(), make_resources().
 */
int rpcrdma_plan_call(const struct rpcrdma_conn *conn,
		      const struct rpcrdma_call *call,
		      struct rpcrdma_call_plan *plan)
{
	*plan = {};
	if (conn->state != RPCRDMA_CONN_OPEN)
		return -E_NOTCONN;
	if (call->reverse && conn->peer.brs == RDMA2_RVRSDIR_NONE)
		return -E_OPNOTSUPP;

	const int rc = call_planner{ conn, call }.plan(plan);

	if (rc != -E_MSGSIZE || !call->few_mrs)
		return rc;

	struct rpcrdma_call with_mrs = *call;

	with_mrs.few_mrs = 0;
	return call_planner{ conn, &with_mrs }.plan(plan) ? rc : -E_NOBUFS;
}

/*
 * The messages of a continued one are as large as they can be, all but the last
 * a multiple of four, and the last one is never empty (WP 6).
 */
struct rpcrdma_fragment rpcrdma_next_fragment(const struct rpcrdma_conn *conn,
					      const struct rpcrdma_lists *lists,
					      u32 left, u32 room)
{
	u32 header, part;

	room = min_u32(room, rpcrdma_conn_limits(conn).send_inline);
	header = header_octets(conn, lists);
	if (header <= room && left <= room - header)
		return { .octets = left, .more = false };

	/*
	 * With many chunks in its header the last message may hold less than
	 * the others, and still needs some payload. Plans ensure that it has
	 * space for MIN_LAST_PART bytes, so that more is left now, unless @room is
	 * less than planned.
	 */
	part = room - header_octets(conn, nullptr);
	part = min_u32(part, left - static_cast<u32>(sizeof(u32))) & ~3u;
	return { .octets = part, .more = true };
}

/* Implements the Requester's side of 4.3.6, 4.4.3 and WP 6. */
int rpcrdma_check_reply(const struct rpcrdma_conn *conn,
			const struct rpcrdma_lists *call_lists,
			const struct rpcrdma_rx *rx,
			struct rpcrdma_placed *placed)
{
	const struct rpcrdma_lists *returned = &rx->lists;

	(void)conn;
	*placed = {};

	if (returned->nr_writes != call_lists->nr_writes)
		return BAD_REPLY_STATUS;
	for (u32 i = 0; i < call_lists->nr_writes; i++) {
		u32 octets;

		if (!chunk_ok(call_lists, &call_lists->writes[i], returned,
			      &returned->writes[i], octets))
			return BAD_REPLY_STATUS;
		placed->write_octets += octets;
		if (octets)
			placed->write_chunks++;
	}

	if (returned->has_reply) {
		if (!call_lists->has_reply ||
		    !chunk_ok(call_lists, &call_lists->reply, returned,
			      &returned->reply, placed->reply_octets))
			return BAD_REPLY_STATUS;
		/* The payload is in one place only. */
		if (placed->reply_octets &&
		    (rx->format != RPCRDMA_SPECIAL || returned->nr_reads))
			return BAD_REPLY_STATUS;
	}
	if (returned->nr_reads)
		placed->pull_octets = returned->reads[0].length;
	else if (rx->format == RPCRDMA_SPECIAL && !placed->reply_octets)
		return BAD_REPLY_STATUS;
	return 0;
}
