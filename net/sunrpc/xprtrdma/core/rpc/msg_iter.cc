// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Iterators over the ranges of a message. At its Requester: the memory that a
 * Call provides in chunks. At its Responder: the sources of a Call with Read
 * chunks, and the destinations of a Reply.
 */
#include "../internal.hh"

namespace rpcrdma
{

namespace
{

/* Values of rpcrdma_pieces.next; zero is the beginning. */
enum class walk : u8 {
	STREAM,
	ITEM,
	ROUNDUP,
	END
};

walk walk_of(const struct rpcrdma_pieces *at)
{
	return static_cast<walk>(at->next);
}

/* The ranges that a Call provides, a bit for each, in wire order */
enum : u32 {
	OFFER_MESSAGE = 1,	/* at Position Zero */
	OFFER_MESSAGE_TAIL = 2, /* the rest of it, after its argument */
	OFFER_ARGUMENT = 4,
	OFFER_RESULT = 8,
	OFFER_REPLY = 16,
	OFFER_REPLY_TAIL = 32, /* the rest of the Reply, after the result */
	OFFER_LAST = 64,
	OFFER_END = 128
};

void go(struct rpcrdma_pieces *at, walk next)
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

u32 octets_of(const struct rpcrdma_buf_layout &room)
{
	return room.head + room.pages + room.tail;
}

/*
 * Return the ranges that a Call provides. A message that ends with its data has
 * no range after it, and an argument is provided with its roundup, which begins
 * the tail (4.3.4.4).
 */
u32 offers_of(const struct rpcrdma_offers *at)
{
	const struct rpcrdma_call_plan *plan = at->plan;
	u32 offers = OFFER_LAST | OFFER_END;

	if (plan->read_item)
		offers |= OFFER_ARGUMENT;
	if (plan->write_chunk)
		offers |= OFFER_RESULT;
	if (plan->format == RPCRDMA_SPECIAL) {
		offers |= OFFER_MESSAGE;
		if (plan->read_item &&
		    at->call.tail > roundup_octets(at->call.pages))
			offers |= OFFER_MESSAGE_TAIL;
	}
	if (plan->reply_chunk) {
		offers |= OFFER_REPLY;
		if (plan->write_chunk && at->reply.tail)
			offers |= OFFER_REPLY_TAIL;
	}
	return offers;
}

/* Return where the bytes of a Reply go that are not in Write chunks. */
enum rpcrdma_origin stream_goes(const struct rpcrdma_reply_plan *plan)
{
	if (plan->reply_length)
		return RPCRDMA_PIECE_CHUNK;
	return plan->format == RPCRDMA_SPECIAL ? RPCRDMA_PIECE_EXPOSED :
						 RPCRDMA_PIECE_INLINE;
}

/* Return the range @step, of a complete message, or of one around its data. */
[[gnu::noinline]] int offer_message(const struct rpcrdma_offers *at, u32 step,
				    struct rpcrdma_lists *lists,
				    struct rpcrdma_offer *offer)
{
	const struct rpcrdma_buf_layout &call = at->call, &reply = at->reply;
	const u32 roundup = roundup_octets(call.pages);

	switch (step) {
	case OFFER_MESSAGE:
		*offer = { false, 0,
			   at->plan->read_item ? call.head : octets_of(call),
			   false };
		return rpcrdma_lists_add_read(lists, 0);
	case OFFER_MESSAGE_TAIL:
		*offer = { false, call.head + call.pages + roundup,
			   call.tail - roundup, false };
		return 0;
	case OFFER_REPLY:
		*offer = { true, 0,
			   at->plan->write_chunk ? reply.head :
						   octets_of(reply),
			   false };
		return rpcrdma_lists_add_reply(lists);
	default:
		*offer = { true, reply.head + reply.pages, reply.tail, false };
		return 0;
	}
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

/*
 * Around data that has a chunk of its own, a message is in two ranges, or one
 * if nothing follows the data. The first range of a chunk begins it.
 */
int rpcrdma_offer_next(struct rpcrdma_offers *at, struct rpcrdma_lists *lists,
		       struct rpcrdma_offer *offer)
{
	const u32 left = at->left ? at->left : offers_of(at);
	const u32 step = left & -left;
	int rc;

	at->left = (left ^ step) | OFFER_END;
	if (step == OFFER_RESULT) {
		*offer = { true, at->reply.head, at->reply.pages, true };
		rc = rpcrdma_lists_add_write(lists);
	} else if (step == OFFER_ARGUMENT) {
		*offer = { false, at->call.head, at->call.pages, true };
		rc = rpcrdma_lists_add_read(lists, at->call.head);
	} else if (step == OFFER_LAST) {
		rpcrdma_lists_set_inv_handle(lists);
		return 0;
	} else if (step == OFFER_END) {
		return 0;
	} else {
		rc = offer_message(at, step, lists, offer);
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
 * The stream up to an item's position, the item, its roundup, which is not in
 * the chunk (4.3.5), and so on to the stream's end. Each position was checked
 * to be within the message before the Call was delivered; without that, the
 * ranges would still have a total length of rpcrdma_call_octets().
 */
bool rpcrdma_call_next(const struct rpcrdma_rx *rx, struct rpcrdma_pieces *at,
		       struct rpcrdma_piece *piece)
{
	for (;;) {
		const struct rpcrdma_chunk *item = item_at(rx, at->item);

		piece->to = at->out;
		piece->from = 0;
		switch (walk_of(at)) {
		case walk::STREAM:
			piece->chunk = position_zero(rx);
			piece->origin = piece->chunk ? RPCRDMA_PIECE_CHUNK :
						       RPCRDMA_PIECE_INLINE;
			piece->from = at->stream;
			piece->length = stream_octets(rx) - at->stream;
			if (item)
				piece->length =
					min_u32(piece->length,
						item->position - at->out);
			at->stream += piece->length;
			go(at, item ? walk::ITEM : walk::END);
			break;
		case walk::ITEM:
			piece->chunk = item;
			piece->origin = RPCRDMA_PIECE_CHUNK;
			piece->length = item->length;
			go(at, walk::ROUNDUP);
			break;
		case walk::ROUNDUP:
			piece->chunk = nullptr;
			piece->origin = RPCRDMA_PIECE_ROUNDUP;
			piece->length = roundup_octets(item->length);
			at->item++;
			go(at, walk::STREAM);
			break;
		case walk::END:
			return false;
		}
		at->out += piece->length;
		if (piece->length)
			return true;
	}
}

enum rpcrdma_refusal rpcrdma_call_refusal(const struct rpcrdma_rx *rx,
					  const void *first)
{
	if (rx->format != RPCRDMA_SPECIAL ||
	    rpcrdma_payload_ok(rx->xid, false, first))
		return RPCRDMA_REFUSE_NOT;
	return RPCRDMA_REFUSE_ANOTHERS;
}

/*
 * An item at the end of a Reply may lack its roundup, which is omitted with the
 * item.
 */
bool rpcrdma_reply_next(const struct rpcrdma_reply *reply,
			const struct rpcrdma_reply_plan *plan,
			struct rpcrdma_pieces *at, struct rpcrdma_piece *piece)
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

			piece->origin = stream_goes(plan);
			piece->chunk = piece->origin == RPCRDMA_PIECE_CHUNK ?
					       &plan->lists.reply :
					       nullptr;
			piece->from = at->stream;
			piece->to = at->out;
			piece->length = end > at->stream ? end - at->stream : 0;
			at->out += piece->length;
			go(at, item ? walk::ITEM : walk::END);
			break;
		}
		case walk::ITEM:
			piece->origin = RPCRDMA_PIECE_CHUNK;
			piece->chunk = &plan->lists.writes[at->item];
			piece->from = item->position;
			piece->to = 0;
			piece->length = item->length;
			at->stream = item->position + item->length +
				     roundup_octets(item->length);
			at->item++;
			go(at, walk::STREAM);
			break;
		default:
			return false;
		}
		if (piece->length)
			return true;
	}
}
