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

/*
 * Layout of a message in memory: three ranges that follow each other, in bytes.
 * The pages of a Call are the argument, and those of a Reply are the result, if
 * that is reduced.
 */
struct rpcrdma_room {
	u32 head;
	u32 pages;
	u32 tail;
};

/* Memory that a Call provides to the peer in a chunk, or in a part of one */
struct rpcrdma_offer {
	bool written;			/* of the Reply; else of the Call */
	u32 from;			/* bytes into that memory */
	u32 length;			/* never 0 */
	bool data;			/* the pages, in a chunk of their own */
};

/* Iterator over the memory that a Call provides. Both messages have a head. */
struct rpcrdma_offers {
	const struct rpcrdma_call_plan *plan;
	struct rpcrdma_room call;	/* layout of the Call */
	struct rpcrdma_room reply;	/* layout of the memory for its Reply */
	u32 left;			/* private to the engine; 0 to begin */
};

/**
 * rpcrdma_offer_next() - get the next memory range of a Call's chunks, in wire order
 *	(6.2.3)
 * @at: iterator
 * @lists: initialised
 * @offer: returns the range
 *
 * Before the first range of a chunk, the chunk is begun in @lists; the user appends a
 * segment for each MR that the range needs, and calls this function again. At the last
 * range the inv_handle is set, so that the peer may invalidate an MR. No memory is in
 * two chunks that the peer writes to.
 * Return: 1 with @offer; 0 at the end; -EMSGSIZE if @lists have no space for the chunk,
 *	which ends the iteration.
 */
int rpcrdma_offer_next(struct rpcrdma_offers *at, struct rpcrdma_lists *lists,
		       struct rpcrdma_offer *offer);

/* Where bytes of a message come from */
enum rpcrdma_origin {
	RPCRDMA_PIECE_INLINE,		/* the Payload stream outside of chunks */
	RPCRDMA_PIECE_CHUNK,
	RPCRDMA_PIECE_ROUNDUP,		/* zeroes, which are not sent */
};

/* Bytes that are contiguous both in their source and in their destination */
struct rpcrdma_piece {
	const struct rpcrdma_chunk *chunk;	/* CHUNK: that chunk; else NULL */
	enum rpcrdma_origin origin;
	u32 from;			/* bytes into the source */
	u32 to;				/* bytes into the destination */
	u32 length;			/* never 0 */
};

/* The position of an iterator. Zero it to begin. */
struct rpcrdma_pieces {
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
 * rpcrdma_call_next() - get the next range of a Call, in the order of its bytes
 * @rx: a Call that was delivered
 * @at: iterator
 * @piece: returns the range
 *
 * Source: the inline payload, a Read chunk or roundup; destination: the Call before
 * reduction.
 * Return: false at the end.
 */
bool rpcrdma_call_next(const struct rpcrdma_rx *rx, struct rpcrdma_pieces *at,
		       struct rpcrdma_piece *piece);

/**
 * rpcrdma_reply_next() - get the next range of a Reply, in the order of its bytes
 * @reply: Reply
 * @plan: plan of the Reply
 * @at: iterator
 * @piece: returns the range
 *
 * Source: the complete Reply; destination: its item's Write chunk, or else the payload
 * that is sent, written to the Reply chunk or exposed, as @plan says.
 * Return: false at the end.
 */
bool rpcrdma_reply_next(const struct rpcrdma_reply *reply,
			const struct rpcrdma_reply_plan *plan,
			struct rpcrdma_pieces *at, struct rpcrdma_piece *piece);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_MSG_ITER_H */
