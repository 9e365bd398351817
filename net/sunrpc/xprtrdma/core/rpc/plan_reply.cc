// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Responder's decisions: how a Reply is conveyed with the chunks of its Call.
 *
 * Operation
 *
 * A Reply that is one message without chunks needs no plan. A Reply with one result
 * that fits into the only chunk of its Call is planned by a fast path. All others are
 * planned by plan_large(), which has the order of the methods and the reasons for it.
 * The results that a service has reported are checked first, because a service may
 * revoke a part of the Reply that it has encoded. In version 1, a Reply chunk that is
 * large enough is used even if the Reply would fit inline, because Requesters have
 * always found it there, and a Write chunk that is too short ends the RPC. The plan of
 * a Reply to be pulled is not complete: the handles are known when the Reply is
 * exposed.
 *
 * Memory
 *
 * The plan is an object of the caller, and usually on the stack. Segments in excess of
 * the fixed array are in memory of the Call, which the plan overwrites. The Call is
 * therefore held until the header of its Reply is built.
 *
 * Errors
 *
 * A plan always results. If no method is possible, it contains the ERROR to be sent:
 * the number of the Write chunk that is too short and the length of its result, or the
 * length of the Reply chunk that is needed. The Requester may retry with more memory.
 *
 * Locking
 *
 * No lock is taken, and several threads may plan for a connection at the same time: all
 * that is read is fixed while the connection is open, or changes in a single store.
 */
#include "../wire/codec.hh"
#include "../wire/one_chunk.hh"
#include "../conn/version1.hh"

namespace rpcrdma
{

namespace
{

/*
 * Copy a chunk of the Call into the Reply's lists. The lengths of its segments
 * show how @octets fill them (4.3.6). Both lists may have the same extra_segs: no
 * segment has a higher index here than in the Call.
 */
void return_chunk(const struct rpcrdma_lists *call_lists,
		  const struct rpcrdma_chunk *from, struct rpcrdma_lists *lists,
		  struct rpcrdma_chunk *to, u32 octets)
{
	*to = {
		.position = 0,
		.length = octets,
		.first = lists->nr_segs,
		.count = from->count,
	};
	for (u32 i = 0; i < from->count; i++) {
		struct rpcrdma_segment seg =
			*rpcrdma_lists_seg(call_lists, from->first + i);

		seg.length = min_u32(seg.length, octets);
		octets -= seg.length;
		segment_at(lists, lists->nr_segs++) = seg;
	}
}

void return_reply_chunk(const struct rpcrdma_lists *call_lists,
			struct rpcrdma_lists *lists, u32 octets)
{
	lists->has_reply = 1;
	return_chunk(call_lists, &call_lists->reply, lists, &lists->reply,
		     octets);
}

/*
 * Plan for @octets of payload in the Reply chunk. Returns false if they do not
 * fit there, or the header that returns it is too large; the plan is unchanged.
 */
bool use_reply_chunk(const struct rpcrdma_conn *conn,
		     const struct rpcrdma_lists *call_lists, u32 octets,
		     u32 room, struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_lists *lists = &plan->lists;

	if (!call_lists->has_reply || octets > call_lists->reply.length ||
	    header_octets(conn, lists) +
			    chunk_octets(0, -1, call_lists->reply.count) >
		    room)
		return false;
	return_reply_chunk(call_lists, lists, octets);
	plan->format = RPCRDMA_SPECIAL;
	plan->reply_length = octets;
	return true;
}

/*
 * Return true if a Reply may be exposed: only to a peer that has announced that
 * it can pull (WP 8, DR 6), and within the level of the reverse direction.
 */
bool may_expose(const struct rpcrdma_conn *conn,
		const struct rpcrdma_reply *reply)
{
	return conn->cfg.props.reply_read & RDMA2_REPLY_READ_PROVIDE &&
	       conn->peer.reply_read & RDMA2_REPLY_READ_PULL &&
	       (!reply->reverse || rpcrdma_reverse_chunks(conn->cfg.props.brs));
}

void give_up(struct rpcrdma_reply_plan *plan, u32 code, u32 arg0, u32 arg1)
{
	plan->error = code;
	plan->arg[0] = arg0;
	plan->arg[1] = arg1;
}

/*
 * DDP-eligible results are reduced first, as far as there are Write chunks that
 * are large enough (4.4.3). The rest is conveyed by the first of these methods
 * that is possible (WP 6; the drafts leave the order open):
 *
 * 1. Inline: one message, and no RDMA. A Reply chunk that was provided stays
 * unused.
 * 2. The Reply chunk, if it is large enough: 4.4.3 says MUST, and its Requester
 * has paid for it already; no round trip is added, and nothing exposed.
 * 3. Continued (6.4 says SHOULD), if the Requester reassembles that many bytes:
 * copies and credits, but no registration and no memory exposed at this end.
 * 4. A Read chunk for the Requester to pull (DR 4.1.1 says MUST): one more
 * round trip, and memory of this end that is exposed until the DONE. It is for
 * Replies of any size that all others are too small for.
 * 5. RDMA2_ERR_WRITE_RESOURCE, if a Write chunk was too short for its result,
 * or RDMA2_ERR_REPLY_RESOURCE: the Requester may retry with more memory.
 *
 * @plan is initialised for an empty Reply. Out of line: most Replies need none
 * of this.
 */
[[gnu::noinline]] void plan_large(const struct rpcrdma_conn *conn,
				  const struct rpcrdma_lists *call_lists,
				  const struct rpcrdma_reply *reply,
				  struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_lists *lists = &plan->lists;
	const struct rpcrdma_conn_limits limits = rpcrdma_conn_limits(conn);
	const bool v1 = conn->version == RPCRDMA_VERS_1;
	u32 payload = reply->length;
	u32 too_short = 0; /* the first such Write chunk, from one */
	u32 header, room;

	/*
	 * Items and Write chunks correspond one by one. An empty chunk requests
	 * its item in the message (RFC 8166, 4.3.2), and an item that does not
	 * fit its chunk is conveyed there, too (6.4); the chunks after it are
	 * for the items after it. Version 1 has no other method for a large
	 * Reply.
	 */
	for (u32 i = 0; i < reply->nr_items && i < call_lists->nr_writes; i++) {
		const u32 octets = reply->items[i].length;

		if (!call_lists->writes[i].count)
			continue;
		if (octets > call_lists->writes[i].length) {
			if (!too_short)
				too_short = i + 1;
			continue;
		}
		payload -= min_u32(payload, reduced_by(reply->length,
						       reply->items[i].position,
						       octets));
		plan->placed = static_cast<u16>(plan->placed | 1u << i);
		plan->nr_items = static_cast<u8>(i + 1);
	}
	if (v1 && too_short) {
		give_up(plan, RDMA2_ERR_WRITE_RESOURCE, too_short,
			reply->items[too_short - 1].length);
		return;
	}
	for (u32 i = 0; i < call_lists->nr_writes; i++) {
		return_chunk(call_lists, &call_lists->writes[i], lists,
			     &lists->writes[lists->nr_writes++],
			     rpcrdma_item_placed(plan, i) ?
				     reply->items[i].length :
				     0);
	}

	/*
	 * A Requester of version 1 gets its Reply chunk back in any case (RFC
	 * 8166, 4.3.3), and always found the Reply in it.
	 */
	if (v1 && use_reply_chunk(conn, call_lists, payload, limits.send_inline,
				  plan))
		return;
	if (v1 && call_lists->has_reply)
		return_reply_chunk(call_lists, lists, 0);

	/*
	 * A Requester without a private message may have larger Receives than the
	 * default. If it provides no Reply chunk, an ERROR is worse for it than a Reply
	 * that may be too long.
	 */
	room = limits.send_inline;
	if (v1::receives_unknown(conn) && !call_lists->has_reply)
		room = rpcrdma_conn_send_octets(conn);

	header = header_octets(conn, lists);
	if (header <= room && payload <= room - header) {
		plan->inline_length = payload;
		return;
	}

	if (!v1 && use_reply_chunk(conn, call_lists, payload,
				   limits.send_inline, plan))
		return;

	if (may_continue_replies(conn, reply->reverse) &&
	    payload <= limits.continued &&
	    header + MIN_LAST_PART <= limits.send_inline) {
		plan->format = RPCRDMA_CONTINUED;
		plan->inline_length = payload;
		return;
	}

	if (may_expose(conn, reply) && limits.max_segs &&
	    payload <= RPCRDMA_MAX_CHUNK_OCTETS) {
		plan->format = RPCRDMA_SPECIAL;
		plan->read_length = payload;
		return;
	}

	if (too_short)
		give_up(plan, RDMA2_ERR_WRITE_RESOURCE, too_short,
			reply->items[too_short - 1].length);
	else
		give_up(plan, RDMA2_ERR_REPLY_RESOURCE, payload, 0);
}

/* rpcrdma_plan_reply_one() */
[[gnu::always_inline]] inline bool
plan_one_item(const struct rpcrdma_conn *conn,
	      const struct rpcrdma_lists *call_lists, u32 length,
	      const struct rpcrdma_item &item, u32 *payload)
{
	constexpr u32 chunk = ONE_CHUNK_OCTETS - EMPTY_CHUNKS_OCTETS;

	if (!has_one_segment(call_lists) || !call_lists->nr_writes ||
	    item.length > call_lists->segs[0].length)
		return false;
	*payload = length - min_u32(length, reduced_by(length, item.position,
						       item.length));
	return *payload <= rpcrdma_plain_send_room(conn) - chunk;
}

/*
 * The same for a plan, the lists of which are empty. If it returns false, they still are.
 */
bool plan_one_chunk(const struct rpcrdma_conn *conn,
		    const struct rpcrdma_lists *call_lists, u32 length,
		    const struct rpcrdma_item &item,
		    struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_lists *const lists = &plan->lists;
	u32 payload;

	if (!plan_one_item(conn, call_lists, length, item, &payload))
		return false;
	plan->inline_length = payload;
	lists->nr_writes = 1;
	lists->nr_segs = 1;
	lists->writes[0] = call_lists->writes[0];
	lists->writes[0].length = item.length;
	lists->segs[0] = call_lists->segs[0];
	lists->segs[0].length = item.length;
	return true;
}

} // namespace

bool may_continue_replies(const struct rpcrdma_conn *conn, bool reverse)
{
	return conn->peer.reassembly &&
	       (!reverse || conn->cfg.props.brs >= RDMA2_RVRSDIR_CONT);
}

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_plan_reply(const struct rpcrdma_conn *conn,
			const struct rpcrdma_lists *call_lists,
			const struct rpcrdma_reply *reply,
			struct rpcrdma_reply_plan *plan)
{
	plan->format = RPCRDMA_INLINE;
	plan->nr_items = 0;
	plan->placed = 0;
	plan->inline_length = 0;
	plan->reply_length = 0;
	plan->read_length = 0;
	give_up(plan, 0, 0, 0);
	plan->inv_handle = rpcrdma_reply_invalidates(conn, call_lists);
	rpcrdma_lists_init(&plan->lists);
	plan->lists.extra_segs = call_lists->extra_segs;

	/* The first of the methods above */
	if (rpcrdma_reply_is_plain(conn, call_lists, reply->length))
		plan->inline_length = reply->length;
	else if (reply->nr_items == 1 &&
		 plan_one_chunk(conn, call_lists, reply->length,
				reply->items[0], plan))
		plan->placed = plan->nr_items = 1;
	else
		plan_large(conn, call_lists, reply, plan);
}

bool rpcrdma_plan_reply_one(const struct rpcrdma_conn *conn,
			    const struct rpcrdma_lists *call_lists, u32 length,
			    const struct rpcrdma_item *item, u32 *payload)
{
	return plan_one_item(conn, call_lists, length, *item, payload);
}

/* Items of a plan ascend, begin at a word, and do not overlap with their roundup. */
void rpcrdma_reply_items(struct rpcrdma_reply *reply,
			 const struct rpcrdma_item *results, u32 nr,
			 void (*read)(const void *user, u32 position,
				      u32 length, void *to),
			 const void *user)
{
	constexpr u32 WORD = 4;
	const u32 end = reply->length;
	u32 next = 0;

	for (u32 i = 0; i < nr; i++) {
		const u32 length = results[i].length;
		u32 position = results[i].position;
		u8 word[WORD] = {};

		if (!rpcrdma_result_in_reply(&results[i], end))
			continue;
		read(user, position - WORD, WORD, word);
		if (load_word(word, 0) != length) {
			if (!length || end - position < WORD)
				continue;
			read(user, position, WORD, word);
			if (load_word(word, 0) != length)
				continue;
			position += WORD;
		}
		if (position < next || position + roundup4(length) > end)
			continue;
		reply->items[reply->nr_items++] = { position, length };
		next = position + static_cast<u32>(roundup4(length));
	}
}
