// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Iterators over the ranges of a message. At its Requester: the memory that a
 * Call provides in chunks. At its Responder: the sources of a Call with Read
 * chunks, and the destinations of a Reply.
 *
 * Operation
 *
 * Each call returns the next range of bytes: its place in the message, its length, and
 * where it comes from or goes to. The Requester's iterator also begins the chunk that a
 * range belongs to. The ranges of a message do not overlap.
 *
 * Memory
 *
 * An iterator is memory of its caller. The memory of a message is described by lengths
 * and offsets, and never accessed.
 *
 * Errors
 *
 * The Requester's iterator fails with -EMSGSIZE if the lists cannot have another chunk.
 * The Responder's iterators do not fail: the lists of a Call were checked before it was
 * delivered.
 *
 * Locking
 *
 * None: a message and its plan belong to the caller.
 */
#include "../internal.hh"

namespace rpcrdma
{

namespace
{

/* Values of rpcrdma_msg_iter.next; zero is the beginning. */
enum class walk : u8 {
	STREAM,
	ITEM,
	ROUNDUP,
	END
};

walk walk_of(const struct rpcrdma_msg_iter *at)
{
	return static_cast<walk>(at->next);
}

/* The ranges that a Call provides, a bit for each, in wire order */
enum : u32 {
	RANGE_MESSAGE = 1,	/* at Position Zero */
	RANGE_MESSAGE_TAIL = 2, /* the rest of it, after its argument */
	RANGE_ARGUMENT = 4,
	RANGE_RESULT = 8,
	RANGE_REPLY = 16,
	RANGE_REPLY_TAIL = 32, /* the rest of the Reply, after the result */
	RANGE_LAST = 64,
	RANGE_END = 128
};

void go(struct rpcrdma_msg_iter *at, walk next)
{
	at->next = static_cast<u8>(next);
}

/* Return the Position Zero Read chunk, or null if the stream came inline. */
const struct rpcrdma_chunk *position_zero(const struct rpcrdma_rx *rx)
{
	return rx->format == RPCRDMA_SPECIAL ? &rx->lists.reads[0] : nullptr;
}

/* Return the length of the message that the items were removed from. */
u32 stream_octets(const struct rpcrdma_rx *rx)
{
	const struct rpcrdma_chunk *chunk = position_zero(rx);

	return chunk ? chunk->length : rx->total_length;
}

/* Return the item of that index, or null after the last one. */
const struct rpcrdma_chunk *item_at(const struct rpcrdma_rx *rx, u32 index)
{
	index += position_zero(rx) ? 1 : 0;
	return index < rx->lists.nr_reads ? &rx->lists.reads[index] : nullptr;
}

u32 roundup_octets(u32 octets)
{
	return -octets & 3;
}

u32 octets_of(const struct rpcrdma_buf_layout &layout)
{
	return layout.head + layout.pages + layout.tail;
}

/*
 * Return the ranges that a Call provides. A message that ends with its data has
 * no range after it, and an argument is provided with its roundup, which begins
 * the tail (4.3.4.4).
 */
u32 ranges_of(const struct rpcrdma_chunk_range_iter *at)
{
	const struct rpcrdma_call_plan *plan = at->plan;
	u32 ranges = RANGE_LAST | RANGE_END;

	if (plan->read_item)
		ranges |= RANGE_ARGUMENT;
	if (plan->write_chunk)
		ranges |= RANGE_RESULT;
	if (plan->format == RPCRDMA_SPECIAL) {
		ranges |= RANGE_MESSAGE;
		if (plan->read_item &&
		    at->call.tail > roundup_octets(at->call.pages))
			ranges |= RANGE_MESSAGE_TAIL;
	}
	if (plan->reply_chunk) {
		ranges |= RANGE_REPLY;
		if (plan->write_chunk && at->reply.tail)
			ranges |= RANGE_REPLY_TAIL;
	}
	return ranges;
}

/* Return where the bytes of a Reply go that are not in Write chunks. */
enum rpcrdma_origin stream_goes(const struct rpcrdma_reply_plan *plan)
{
	if (plan->reply_length)
		return RPCRDMA_RANGE_CHUNK;
	return plan->format == RPCRDMA_SPECIAL ? RPCRDMA_RANGE_EXPOSED :
						 RPCRDMA_RANGE_INLINE;
}

/* Return the range @step, of a complete message, or of one around its data. */
[[gnu::noinline]] int
range_of_message(const struct rpcrdma_chunk_range_iter *at, u32 step,
		 struct rpcrdma_lists *lists, struct rpcrdma_chunk_range *range)
{
	const struct rpcrdma_buf_layout &call = at->call, &reply = at->reply;
	const u32 roundup = roundup_octets(call.pages);

	switch (step) {
	case RANGE_MESSAGE:
		*range = { false, 0,
			   at->plan->read_item ? call.head : octets_of(call),
			   false };
		return rpcrdma_lists_add_read(lists, 0);
	case RANGE_MESSAGE_TAIL:
		*range = { false, call.head + call.pages + roundup,
			   call.tail - roundup, false };
		return 0;
	case RANGE_REPLY:
		*range = { true, 0,
			   at->plan->write_chunk ? reply.head :
						   octets_of(reply),
			   false };
		return rpcrdma_lists_add_reply(lists);
	default:
		*range = { true, reply.head + reply.pages, reply.tail, false };
		return 0;
	}
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

/*
 * Around data that has a separate chunk, a message is in two ranges, or one
 * if nothing follows the data. The first range of a chunk begins it.
 */
int rpcrdma_chunk_range_next(struct rpcrdma_chunk_range_iter *at,
			     struct rpcrdma_lists *lists,
			     struct rpcrdma_chunk_range *range)
{
	const u32 left = at->left ? at->left : ranges_of(at);
	const u32 step = left & -left;
	int rc;

	at->left = (left ^ step) | RANGE_END;
	if (step == RANGE_RESULT) {
		*range = { true, at->reply.head, at->reply.pages, true };
		rc = rpcrdma_lists_add_write(lists);
	} else if (step == RANGE_ARGUMENT) {
		*range = { false, at->call.head, at->call.pages, true };
		rc = rpcrdma_lists_add_read(lists, at->call.head);
	} else if (step == RANGE_LAST) {
		rpcrdma_lists_set_inv_handle(lists);
		return 0;
	} else if (step == RANGE_END) {
		return 0;
	} else {
		rc = range_of_message(at, step, lists, range);
	}
	return rc ? -E_MSGSIZE : 1;
}

u64 rpcrdma_call_octets(const struct rpcrdma_rx *rx)
{
	const struct rpcrdma_chunk *item;
	u64 octets = stream_octets(rx);

	for (u32 i = 0; (item = item_at(rx, i)); i++)
		octets += roundup4(item->length);
	return octets;
}

const struct rpcrdma_chunk *rpcrdma_call_only_item(const struct rpcrdma_rx *rx,
						   u32 before)
{
	const struct rpcrdma_chunk *item = item_at(rx, 0);

	if (position_zero(rx) || rx->lists.nr_reads != 1 ||
	    item->position < before || item->position > rx->total_length)
		return nullptr;
	return item;
}

/*
 * The ranges in order: the stream up to an item's position, the item, its roundup,
 * which is not in the chunk (4.3.5), and so on to the stream's end. Each position is
 * within the message, because it was checked before the Call was delivered. In any
 * case the ranges have a total length of rpcrdma_call_octets().
 */
bool rpcrdma_call_iter_next(const struct rpcrdma_rx *rx,
			    struct rpcrdma_msg_iter *at,
			    struct rpcrdma_msg_range *range)
{
	for (;;) {
		const struct rpcrdma_chunk *item = item_at(rx, at->item);

		range->to = at->out;
		range->from = 0;
		switch (walk_of(at)) {
		case walk::STREAM:
			range->chunk = position_zero(rx);
			range->origin = range->chunk ? RPCRDMA_RANGE_CHUNK :
						       RPCRDMA_RANGE_INLINE;
			range->from = at->stream;
			range->length = stream_octets(rx) - at->stream;
			if (item)
				range->length =
					min_u32(range->length,
						item->position - at->out);
			at->stream += range->length;
			go(at, item ? walk::ITEM : walk::END);
			break;
		case walk::ITEM:
			range->chunk = item;
			range->origin = RPCRDMA_RANGE_CHUNK;
			range->length = item->length;
			go(at, walk::ROUNDUP);
			break;
		case walk::ROUNDUP:
			range->chunk = nullptr;
			range->origin = RPCRDMA_RANGE_ROUNDUP;
			range->length = roundup_octets(item->length);
			at->item++;
			go(at, walk::STREAM);
			break;
		case walk::END:
			return false;
		}
		at->out += range->length;
		if (range->length)
			return true;
	}
}

enum rpcrdma_refusal rpcrdma_call_refusal(const struct rpcrdma_rx *rx,
					  const void *first)
{
	if (rx->format != RPCRDMA_SPECIAL ||
	    rpcrdma_payload_ok(rx->xid, false, first))
		return RPCRDMA_REFUSE_NONE;
	return RPCRDMA_REFUSE_MISMATCH;
}

/*
 * The ranges in order: the stream up to the next item that has a Write chunk, that
 * item, and so on to the stream's end. Items without a chunk are part of the stream.
 * The stream omits each item that has a chunk, and its roundup. If the Reply ends with
 * such an item and lacks the roundup, at->stream ends after reply->length.
 */
bool rpcrdma_reply_iter_next(const struct rpcrdma_reply *reply,
			     const struct rpcrdma_reply_plan *plan,
			     struct rpcrdma_msg_iter *at,
			     struct rpcrdma_msg_range *range)
{
	for (;;) {
		const struct rpcrdma_item *item = nullptr;

		while (at->item < plan->nr_items &&
		       !rpcrdma_item_placed(plan, at->item))
			at->item++;
		if (at->item < plan->nr_items)
			item = &reply->items[at->item];

		switch (walk_of(at)) {
		case walk::STREAM: {
			const u32 end = item ? item->position : reply->length;

			range->origin = stream_goes(plan);
			range->chunk = range->origin == RPCRDMA_RANGE_CHUNK ?
					       &plan->lists.reply :
					       nullptr;
			range->from = at->stream;
			range->to = at->out;
			range->length = end > at->stream ? end - at->stream : 0;
			at->out += range->length;
			go(at, item ? walk::ITEM : walk::END);
			break;
		}
		case walk::ITEM:
			range->origin = RPCRDMA_RANGE_CHUNK;
			range->chunk = &plan->lists.writes[at->item];
			range->from = item->position;
			range->to = 0;
			range->length = item->length;
			at->stream = item->position + item->length +
				     roundup_octets(item->length);
			at->item++;
			go(at, walk::STREAM);
			break;
		default:
			return false;
		}
		if (range->length)
			return true;
	}
}
