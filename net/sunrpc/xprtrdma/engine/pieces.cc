// SPDX-License-Identifier: GPL-2.0
/*
 * The octets of a message, piece by piece, at its Responder: where those of a
 * Call with Read chunks come from, and where those of a Reply go.
 */
#include "internal.h"

namespace rpcrdma
{

namespace
{

/* What comes next, of rpcrdma_pieces.next; zero is the beginning. */
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

void go(struct rpcrdma_pieces *at, walk next)
{
	at->next = static_cast<u8>(next);
}

/* The Position Zero Read chunk, or null: the stream came inline. */
const struct rpcrdma_chunk *position_zero(const struct rpcrdma_rx *rx)
{
	return rx->format == RPCRDMA_SPECIAL ? &rx->lists.reads[0] : nullptr;
}

/* Octets of the message that the items were taken out of */
u32 stream_octets(const struct rpcrdma_rx *rx)
{
	const struct rpcrdma_chunk *chunk = position_zero(rx);

	return chunk ? chunk->length : rx->total_length;
}

/* The item of that index, or null behind the last one */
const struct rpcrdma_chunk *item_at(const struct rpcrdma_rx *rx, u32 index)
{
	index += position_zero(rx) ? 1 : 0;
	return index < rx->lists.nr_reads ? &rx->lists.reads[index] : nullptr;
}

u32 roundup_octets(u32 octets)
{
	return -octets & 3;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

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
 * the chunk (4.3.5), and so on to the stream's end. That each position is within
 * the message has been seen to before the Call was delivered; were it not, the
 * pieces would still be rpcrdma_call_octets() together.
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
 * An item at the end of a Reply may lack its roundup, which is left out with
 * the item.
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

			piece->origin = RPCRDMA_PIECE_INLINE;
			piece->chunk = nullptr;
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
