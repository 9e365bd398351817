/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Planning how a Call is conveyed, and how its Reply may be.
 */
#ifndef RPCRDMA_PLAN_CALL_H
#define RPCRDMA_PLAN_CALL_H

#include "chunk.h"
#include "conn.h"
#include "peer_limits.h"
#include "limits.h"
#include "mr_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_retry_limits - limits for a Call that follow from the ERRORs about
 *	it (7.3, WP 7)
 * @retried_errors: a bit for each error code because of which the Call was sent again
 * @reply_needed: bytes of Reply chunk needed; 0: not known
 * @max_reads: maximum of Read chunks, with @few_reads
 * @few_reads: 1: @max_reads is a limit
 * @no_writes: 1: no Write chunk may be used
 *
 * All zero for a Call that was not refused, and for one that is planned for another
 * connection. Only rpcrdma_call_refused() modifies it.
 */
struct rpcrdma_retry_limits {
	u32 retried_errors;
	u32 reply_needed;
	u32 max_reads;
	u8 few_reads;
	u8 no_writes;
};

/* Geometry of a Call about to be sent */
struct rpcrdma_call {
	u32 xid;
	u32 length;		/* complete unreduced Call message */
	u32 item_position;	/* position of the DDP-eligible argument */
	u32 item_length;	/* its length without roundup; 0: none */
	u32 reply_max;		/* largest complete Reply message expected */
	u32 result_max;		/* DDP-eligible result in it; 0: none */
	u16 call_segs;		/* segments if registered; 0: cannot be */
	u16 item_segs;
	u16 reply_segs;
	u16 result_segs;
	u8 reverse;		/* sent by the server end */
	u8 ddp;			/* 0: reduction not allowed (GSS i and p) */
	u8 bulk;		/* the Reply is expected to be nearly reply_max */
	/* Set by rpcrdma_call_limit_mrs() */
	u8 few_mrs;		/* max_mrs is a limit */
	u16 max_mrs;		/* for the chunks of the Call */
	/* Set by rpcrdma_peer_limits_recall() */
	u8 no_parts;		/* use Special Format instead of continued messages */
	u8 whole_writes;	/* a Write chunk must include space for roundup */
	u32 reply_chunk_from;	/* Replies from this length need a chunk; 0: not known */
	u32 refused_max;	/* reply_max of the Call it was learned from */
	struct rpcrdma_retry_limits retry_limits;
};

/**
 * struct rpcrdma_call_item - a Call and its DDP-eligible argument or result
 * @memory: memory of the item: the host's, which the plan does not use
 * @length: bytes of the complete unreduced Call message
 * @reply_max: bytes of the largest complete Reply message expected
 * @position: of the argument in the Call. Not used for a result
 * @offset: start of the item's memory, into a page. The memory continues in whole pages
 * @octets: bytes of the item, without roundup. May be 0
 * @result: it is a result, otherwise an argument
 */
struct rpcrdma_call_item {
	void *memory;
	u32 length;
	u32 reply_max;
	u32 position;
	u32 offset;
	u32 octets;
	bool result;
};

/**
 * struct rpcrdma_call_plan - how a Call is conveyed
 * @format: enum rpcrdma_format
 * @read_item: 1: the argument is conveyed in a Read chunk
 * @write_chunk: 1: provide a Write chunk for the result
 * @reply_chunk: 1: provide a Reply chunk
 * @inline_length: payload bytes conveyed in Sends
 */
struct rpcrdma_call_plan {
	u8 format;
	u8 read_item;
	u8 write_chunk;
	u8 reply_chunk;
	u32 inline_length;
};

/**
 * rpcrdma_plan_call() - plan how a Call is conveyed and how its Reply may be
 * @conn: connection
 * @call: Call
 * @plan: plan of the Call
 *
 * 4.4, 6.4, DR 5.3.1.
 * Return: 0; -EMSGSIZE if the peer cannot accept it in any form; -ENOTCONN if the
 *	connection is not open; -EOPNOTSUPP if reverse Calls are not supported; -ENOBUFS if
 *	it needs more MRs than there are: close the connection, another one may get them.
 */
int rpcrdma_plan_call(const struct rpcrdma_conn *conn,
		      const struct rpcrdma_call *call,
		      struct rpcrdma_call_plan *plan);

/**
 * rpcrdma_call_limit_mrs() - limit a Call to the MRs that @pool has, if the pool is starved
 * @call: Call
 * @pool: pool of MRs
 */
static inline void rpcrdma_call_limit_mrs(struct rpcrdma_call *call,
					  const struct rpcrdma_mr_pool *pool)
{
	const u32 made = __atomic_load_n(&pool->made, __ATOMIC_RELAXED);

	call->few_mrs = rpcrdma_mr_pool_is_starved(pool);
	call->max_mrs = (u16)(made < RPCRDMA_MAX_SEGS ? made :
					       (u32)RPCRDMA_MAX_SEGS);
}

/**
 * rpcrdma_plan_plain() - fast path of rpcrdma_plan_call(), without the layout of the
 *	Call's memory
 * @conn: connection
 * @retry_limits: limits learned from refusals of this Call
 * @learned: limits learned from the peer's refusals
 * @length: of the Call
 * @reply_max: length of its largest Reply
 * @plan: plan of the Call
 *
 * Fill @plan if the Call and its Reply are one message each, without chunks. A Call
 * with a largest Reply that fits inline provides no chunks, and a Call that fits is
 * sent inline: all other rules of rpcrdma_plan_call() come after these two.
 * Return: false if rpcrdma_plan_call() is needed.
 */
static inline bool
rpcrdma_plan_plain(const struct rpcrdma_conn *conn,
		   const struct rpcrdma_retry_limits *retry_limits,
		   const struct rpcrdma_peer_limits *learned, u32 length,
		   u32 reply_max, struct rpcrdma_call_plan *plan)
{
	if (conn->state != RPCRDMA_CONN_OPEN ||
	    rpcrdma_peer_limits_any(learned) ||
	    (!conn->cfg.client && conn->peer.brs == RDMA2_RVRSDIR_NONE) ||
	    retry_limits->reply_needed || retry_limits->no_writes ||
	    length > rpcrdma_plain_send_room(conn) ||
	    reply_max > rpcrdma_plain_recv_room(conn))
		return false;
	plan->format = RPCRDMA_INLINE;
	plan->read_item = 0;
	plan->write_chunk = 0;
	plan->reply_chunk = 0;
	plan->inline_length = length;
	return true;
}

/**
 * rpcrdma_plan_has_chunks() - check if the plan needs memory that the peer reads or writes
 * @plan: plan of the Call
 *
 * Return: true if so.
 */
static inline bool
rpcrdma_plan_has_chunks(const struct rpcrdma_call_plan *plan)
{
	return plan->read_item || plan->write_chunk || plan->reply_chunk ||
	       plan->format == RPCRDMA_SPECIAL;
}

/**
 * rpcrdma_plan_before() - get the bytes of a Call that are sent before the argument in
 * its Read chunk
 * @plan: plan of the Call, not in Special Format
 * @length: of the Call
 * @head: bytes before its argument
 *
 * The argument with its roundup, between these bytes and the last ones, is left out
 * (4.3.4.4).
 * Return: bytes of the Payload stream; plan->inline_length if nothing is left out.
 */
static inline u32 rpcrdma_plan_before(const struct rpcrdma_call_plan *plan,
				      u32 length, u32 head)
{
	return plan->inline_length == length || plan->inline_length < head ?
		       plan->inline_length :
		       head;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_PLAN_CALL_H */
