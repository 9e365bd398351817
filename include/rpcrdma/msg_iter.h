/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Iterators over the memory of a Call and of a Reply.
 */
#ifndef RPCRDMA_MSG_ITER_H
#define RPCRDMA_MSG_ITER_H

#include "chunk.h"
#include "plan_call.h"
#include "plan_reply.h"
#include "receive.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_buf_layout - layout of a message in memory: three ranges that follow
 *	each other
 * @head: bytes of the first range
 * @pages: bytes of the second range: the argument of a Call, and the result of a
 *	Reply, if it is reduced
 * @tail: bytes of the third range
 */
struct rpcrdma_buf_layout {
	u32 head;
	u32 pages;
	u32 tail;
};

/**
 * struct rpcrdma_chunk_range - memory that a Call provides to the peer in a chunk, or
 *	in a part of one
 * @written: true: memory of the Reply; false: of the Call
 * @from: bytes into that memory
 * @length: bytes, never 0
 * @data: true: the pages, in a separate chunk
 */
struct rpcrdma_chunk_range {
	bool written;
	u32 from;
	u32 length;
	bool data;
};

/* Iterator over the memory that a Call provides. Both messages have a head. */
struct rpcrdma_chunk_range_iter {
	const struct rpcrdma_call_plan *plan;
	struct rpcrdma_buf_layout call;	 /* layout of the Call */
	struct rpcrdma_buf_layout reply; /* layout of the memory for its Reply */
	u32 left;			/* private to the engine; 0 to begin */
};

/**
 * rpcrdma_chunk_range_next() - get the next memory range of a Call's chunks, in wire order
 *	(6.2.3)
 * @at: iterator
 * @lists: initialised
 * @range: returns the range
 *
 * Before the first range of a chunk, the chunk is begun in @lists; the user appends a
 * segment for each MR that the range needs, and calls this function again. At the last
 * range the inv_handle is set, so that the peer may invalidate an MR. No memory is in
 * two chunks that the peer writes to.
 * Return: 1 with @range; 0 at the end; -EMSGSIZE if @lists have no space for the chunk,
 *	which ends the iteration.
 */
int rpcrdma_chunk_range_next(struct rpcrdma_chunk_range_iter *at,
			     struct rpcrdma_lists *lists,
			     struct rpcrdma_chunk_range *range);

/* Where bytes of a Call come from, or where bytes of a Reply go */
enum rpcrdma_origin {
	RPCRDMA_RANGE_INLINE, /* the Payload stream outside of chunks */
	RPCRDMA_RANGE_CHUNK,
	RPCRDMA_RANGE_ROUNDUP, /* zeroes, which are not sent */
	RPCRDMA_RANGE_EXPOSED, /* of a Reply: for the peer to pull */
};

/**
 * struct rpcrdma_msg_range - bytes that are contiguous both in their source and in
 *	their destination
 * @chunk: CHUNK: that chunk; otherwise NULL
 * @origin: the kind of source or destination
 * @from: bytes into the source
 * @to: bytes into the destination
 * @length: bytes, never 0
 */
struct rpcrdma_msg_range {
	const struct rpcrdma_chunk *chunk;
	enum rpcrdma_origin origin;
	u32 from;
	u32 to;
	u32 length;
};

/* The position of an iterator. Zero it to begin. */
struct rpcrdma_msg_iter {
	u8 next;			/* all fields are private to the engine */
	u32 item, stream, out;
};

/**
 * rpcrdma_call_octets() - get the length of a complete Call: inline payload and Read
 *	chunks (4.3.5)
 * @rx: received message, decoded
 *
 * Return: the length.
 */
u64 rpcrdma_call_octets(const struct rpcrdma_rx *rx);

/**
 * rpcrdma_call_read_octets() - get the length of a Call's Read chunks alone, 0 for most
 *	Calls
 * @rx: received message, decoded
 *
 * Return: the length.
 */
static inline u64 rpcrdma_call_read_octets(const struct rpcrdma_rx *rx)
{
	u64 octets = 0;
	u32 i;

	for (i = 0; i < rx->lists.nr_reads; i++)
		octets += rx->lists.reads[i].length;
	return octets;
}

/**
 * rpcrdma_call_only_item() - get the only Read chunk of a Call with its other bytes inline
 * @rx: received message, decoded
 * @before: bytes that must precede the chunk
 *
 * Such a chunk can be read to separate memory.
 * Return: the chunk; NULL if there is another one, or fewer than @before bytes precede
 *	it.
 */
const struct rpcrdma_chunk *rpcrdma_call_only_item(const struct rpcrdma_rx *rx,
						   u32 before);

/**
 * struct rpcrdma_call_pull - the part of a Call to pull
 * @item: the chunk to pull alone; NULL: the complete Call
 * @octets: bytes; 0: nothing is pulled
 */
struct rpcrdma_call_pull {
	const struct rpcrdma_chunk *item;
	u64 octets;
};

/**
 * rpcrdma_call_to_pull() - get the part of a Call that has to be pulled
 * @rx: a Call that was delivered
 * @before: bytes that must precede an item that is pulled alone
 * @in_place: the bytes around the item can be read where they were received
 *
 * Return: the item and its length, or the length of the complete Call; 0 if the Call is
 *	complete as it was received.
 */
static inline struct rpcrdma_call_pull
rpcrdma_call_to_pull(const struct rpcrdma_rx *rx, u32 before, bool in_place)
{
	struct rpcrdma_call_pull pull = { NULL, 0 };

	if (!rx->lists.nr_reads)
		return pull;
	if (in_place)
		pull.item = rpcrdma_call_only_item(rx, before);
	if (pull.item)
		pull.octets = pull.item->length;
	else if (rpcrdma_call_read_octets(rx))
		pull.octets = rpcrdma_call_octets(rx);
	if (!pull.octets)
		pull.item = NULL;
	return pull;
}

/**
 * rpcrdma_call_iter_next() - get the next range of a Call, in the order of its bytes
 * @rx: a Call that was delivered
 * @at: iterator
 * @range: returns the range
 *
 * Source: the inline payload, a Read chunk or roundup; destination: the Call before
 * reduction.
 * Return: false at the end.
 */
bool rpcrdma_call_iter_next(const struct rpcrdma_rx *rx,
			    struct rpcrdma_msg_iter *at,
			    struct rpcrdma_msg_range *range);

/**
 * rpcrdma_reply_iter_next() - get the next range of a Reply, in the order of its bytes
 * @reply: Reply
 * @plan: plan of the Reply
 * @at: iterator
 * @range: returns the range
 *
 * Source: the complete Reply; destination: @range->chunk, a Write chunk or the Reply
 * chunk, or else the payload that is sent or exposed.
 * Return: false at the end.
 */
bool rpcrdma_reply_iter_next(const struct rpcrdma_reply *reply,
			     const struct rpcrdma_reply_plan *plan,
			     struct rpcrdma_msg_iter *at,
			     struct rpcrdma_msg_range *range);

/**
 * rpcrdma_reply_exposed_next() - get the next range of a Reply that the peer pulls
 * @reply: Reply
 * @plan: plan of the Reply
 * @at: iterator
 * @range: returns the range
 *
 * Return: false at the end.
 */
static inline bool
rpcrdma_reply_exposed_next(const struct rpcrdma_reply *reply,
			   const struct rpcrdma_reply_plan *plan,
			   struct rpcrdma_msg_iter *at,
			   struct rpcrdma_msg_range *range)
{
	while (rpcrdma_reply_iter_next(reply, plan, at, range)) {
		if (range->origin == RPCRDMA_RANGE_EXPOSED)
			return true;
	}
	return false;
}

/**
 * rpcrdma_reply_only_item() - fast path of rpcrdma_reply_iter_next(): a Reply with one item
 * @reply: Reply
 * @plan: plan of the Reply
 * @range: returns the item
 * @rest: returns the position of the bytes that are sent after the item
 *
 * The Reply then is the bytes before the item, which are sent, the item in its Write
 * chunk, and the bytes from @rest on, which are sent, too.
 * Return: false if the Reply is another one: use rpcrdma_reply_iter_next().
 */
static inline bool rpcrdma_reply_only_item(const struct rpcrdma_reply *reply,
					   const struct rpcrdma_reply_plan *plan,
					   struct rpcrdma_msg_range *range, u32 *rest)
{
	const struct rpcrdma_item *item = &reply->items[0];
	const u32 length = (item->length + 3) & ~3u;

	if (plan->format != RPCRDMA_INLINE || plan->nr_items != 1 ||
	    !item->length || plan->inline_length + length != reply->length)
		return false;
	range->chunk = &plan->lists.writes[0];
	range->origin = RPCRDMA_RANGE_CHUNK;
	range->from = item->position;
	range->to = 0;
	range->length = item->length;
	*rest = item->position + length;
	return true;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_MSG_ITER_H */
