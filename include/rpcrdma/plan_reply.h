/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Planning how a Reply is conveyed.
 */
#ifndef RPCRDMA_PLAN_REPLY_H
#define RPCRDMA_PLAN_REPLY_H

#include "chunk.h"
#include "conn.h"
#include "limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_item - a DDP-eligible result
 * @position: bytes into the unreduced Reply message
 * @length: bytes without roundup
 */
struct rpcrdma_item {
	u32 position;
	u32 length;
};

/**
 * struct rpcrdma_reply - geometry of a Reply about to be sent
 * @xid: xid of the RPC
 * @length: bytes of the complete unreduced Reply message
 * @nr_items: number of DDP-eligible results
 * @items: these results, in ascending order
 * @reverse: 1: sent by the client end
 */
struct rpcrdma_reply {
	u32 xid;
	u32 length;
	u8 nr_items;
	struct rpcrdma_item items[RPCRDMA_MAX_WRITE_CHUNKS];
	u8 reverse;
};

struct rpcrdma_reply_plan {
	u8 format;		/* enum rpcrdma_format */
	u8 nr_items;		/* items after the last one placed are all inline */
	u16 placed;		/* bit i: item i goes to Write chunk i */
	u32 inv_handle;		/* Send With Invalidate this; 0: plain Send */
	u32 inline_length;	/* payload bytes conveyed in Sends */
	u32 reply_length;	/* payload bytes for the Reply chunk */
	u32 read_length;	/* payload bytes to expose for pulling */
	u32 error, arg[2];	/* RDMA2_ERR_* to send instead, 0: none */
	/*
	 * The Reply's lists: their lengths are the bytes to place in each
	 * segment
	 */
	struct rpcrdma_lists lists;
};

/**
 * rpcrdma_item_placed() - check if item @i of the Reply goes to its Write chunk
 * @plan: plan of the Reply
 * @i: index
 *
 * Return: true if so.
 */
static inline bool
rpcrdma_item_placed(const struct rpcrdma_reply_plan *plan, u32 i)
{
	return plan->placed >> i & 1;
}

/**
 * rpcrdma_plan_reply() - plan how a Reply is conveyed, given the lists of its Call
 *	(4.4.3, 6.4, WP 6, DR 5.3.2)
 * @conn: connection
 * @call_lists: lists of the Call
 * @reply: Reply
 * @plan: plan of the Reply
 *
 * Always fills @plan; plan->error is set if the Reply cannot be conveyed. A plan with a
 * read_length is not complete yet, see below. The plan's lists share the extra_segs of
 * @call_lists and overwrite it: a Reply can be planned only once.
 */
void rpcrdma_plan_reply(const struct rpcrdma_conn *conn,
			const struct rpcrdma_lists *call_lists,
			const struct rpcrdma_reply *reply,
			struct rpcrdma_reply_plan *plan);

/**
 * rpcrdma_plan_reply_one() - fast path of rpcrdma_plan_reply(): a Reply with one item that
 *	fits the only chunk of its Call, of one segment, and the rest of which fits into one
 *	message
 * @conn: connection
 * @call_lists: lists of the Call
 * @length: bytes of the Reply
 * @item: the item
 * @payload: returns the bytes that the message has besides its header
 *
 * The Reply's only chunk is that of the Call, with the length of @item.
 * Return: false, with @payload undefined, if the Reply may be another one.
 */
bool rpcrdma_plan_reply_one(const struct rpcrdma_conn *conn,
			    const struct rpcrdma_lists *call_lists, u32 length,
			    const struct rpcrdma_item *item, u32 *payload);

/**
 * struct rpcrdma_results - the results that a service reports while it encodes a Reply
 * @pass: the attempt to process the Call that reported them; 0: none has
 * @nr: number of results
 * @items: results; those for which there cannot be a Write chunk are not recorded
 *
 * A Call that was deferred is processed again from the beginning. Zero @pass and @nr to
 * begin.
 */
struct rpcrdma_results {
	u64 pass;
	u32 nr;
	struct rpcrdma_item items[RPCRDMA_MAX_WRITE_CHUNKS];
};

/**
 * rpcrdma_results_add() - record a result that may be an item of the Reply
 * @results: results of the Call
 * @pass: the attempt to process it, not 0
 * @position: byte offset in the Reply
 * @length: bytes, without roundup
 */
static inline void rpcrdma_results_add(struct rpcrdma_results *results, u64 pass,
				       u32 position, u32 length)
{
	if (results->pass != pass) {
		results->pass = pass;
		results->nr = 0;
	}
	if (results->nr == RPCRDMA_MAX_WRITE_CHUNKS)
		return;
	results->items[results->nr].position = position;
	results->items[results->nr].length = length;
	results->nr++;
}

/**
 * rpcrdma_results_of() - get the number of results of an attempt to process a Call
 * @results: results of the Call
 * @pass: the attempt
 *
 * Return: the number.
 */
static inline u32 rpcrdma_results_of(const struct rpcrdma_results *results,
				     u64 pass)
{
	return results->pass == pass ? results->nr : 0;
}

/**
 * rpcrdma_result_in_reply() - check if a result can be an item of a Reply
 * @result: as its service reported it
 * @length: bytes of the Reply
 *
 * Return: true if it is in the Reply, after a word and at the start of one.
 */
static inline bool rpcrdma_result_in_reply(const struct rpcrdma_item *result,
					   u32 length)
{
	return result->position >= 4 && result->position % 4 == 0 &&
	       result->position <= length &&
	       result->length <= length - result->position;
}

/**
 * rpcrdma_result_is_item() - fast path of rpcrdma_reply_items(): check if a result is an
 *	item of a Reply
 * @result: as its service reported it; not before the word
 * @length: bytes of the Reply
 * @before: the word before it
 *
 * Return: true if so, and it is not empty; false if it may be an item at another position.
 */
static inline bool rpcrdma_result_is_item(const struct rpcrdma_item *result,
					  u32 length, u32 before)
{
	return before && before == result->length &&
	       rpcrdma_result_in_reply(result, length) &&
	       ((u64)before + 3) / 4 * 4 <= length - result->position;
}

/**
 * rpcrdma_reply_items() - set the items of a Reply to the results that it still contains
 * @reply: Reply, with its length and without items
 * @results: as its service reported them while it encoded the Reply
 * @nr: number of results
 * @read: copies @length bytes at @position of the Reply to @to
 * @user: passed to the callback
 *
 * A service may revoke results that it has encoded. An item is recognized by the word
 * before it, which is the length of an item of variable length. (The NFSv4 READLINK of some
 * kernels reports the position of that word instead of the item's.)
 */
void rpcrdma_reply_items(struct rpcrdma_reply *reply,
			 const struct rpcrdma_item *results, u32 nr,
			 void (*read)(const void *user, u32 position,
				      u32 length, void *to),
			 const void *user);

/**
 * rpcrdma_reply_is_plain() - fast path: check if a Reply needs no plan
 * @conn: connection
 * @call_lists: lists of the Call
 * @length: bytes of the Reply
 *
 * It needs none if it is one message without chunks, and nothing is written or exposed
 * for it.
 * Return: true if so.
 */
static inline bool rpcrdma_reply_is_plain(const struct rpcrdma_conn *conn,
					  const struct rpcrdma_lists *call_lists,
					  u32 length)
{
	/* In version 1 a Reply chunk must be returned. */
	return !call_lists->nr_writes &&
	       !(call_lists->has_reply && conn->version == RPCRDMA_VERS_1) &&
	       length <= rpcrdma_plain_send_room(conn);
}

/**
 * rpcrdma_reply_invalidates() - get the handle of the Call that its Reply invalidates
 *	(6.2.4)
 * @conn: connection
 * @call_lists: lists of the Call
 *
 * Return: the handle, 0: none.
 */
static inline u32
rpcrdma_reply_invalidates(const struct rpcrdma_conn *conn,
			  const struct rpcrdma_lists *call_lists)
{
	return conn->cfg.inv_ok ? call_lists->inv_handle : 0;
}

/**
 * rpcrdma_reply_is_credit() - check if the Reply, by being sent, permits the peer to
 *	send another Call
 * @conn: connection
 *
 * In that case the Receive of the Call that it answers must be reposted before the
 * Reply is sent: version 1 has no other flow control.
 * Return: true if so.
 */
static inline bool rpcrdma_reply_is_credit(const struct rpcrdma_conn *conn)
{
	return conn->version == RPCRDMA_VERS_1;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_PLAN_REPLY_H */
