// SPDX-License-Identifier: GPL-2.0
/*
 * Replies that wait at the Responder to be pulled (WP 3.8): which ones, how
 * many at most, for how long, and what a DONE is for.
 */
#include "exposure.h"

#include "codec.h"

namespace rpcrdma
{

namespace
{

/* What a slot is used for */
enum slot_state : u8 {
	SLOT_FREE,
	SLOT_RESERVED, /* the Reply is not sent yet */
	SLOT_WAITING,  /* for its DONE */
	SLOT_ENDING,   /* its memory is being taken back */
};

s32 find_slot(const struct rpcrdma_conn *conn, u32 xid, slot_state least,
	      slot_state most)
{
	for (u32 i = 0; i < RPCRDMA_MAX_EXPOSED; i++) {
		if (conn->exposed[i].xid == xid &&
		    conn->exposed[i].state >= least &&
		    conn->exposed[i].state <= most)
			return static_cast<s32>(i);
	}
	return -1;
}

s32 free_slot(const struct rpcrdma_conn *conn)
{
	for (u32 i = 0; i < RPCRDMA_MAX_EXPOSED; i++) {
		if (conn->exposed[i].state == SLOT_FREE)
			return static_cast<s32>(i);
	}
	return -1;
}

/* The Requester can still ask again, with a Reply chunk (6.4). */
int no_room(struct rpcrdma_reply_plan *plan)
{
	plan->error = RDMA2_ERR_REPLY_RESOURCE;
	plan->arg[0] = plan->read_length;
	plan->arg[1] = 0;
	return -E_MSGSIZE;
}

} // namespace

s32 find_done(const struct rpcrdma_conn *conn, u32 xid)
{
	return find_slot(conn, xid, SLOT_WAITING, SLOT_WAITING);
}

void take_done(struct rpcrdma_conn *conn, u32 slot)
{
	conn->exposed[slot].state = SLOT_ENDING;
	conn->counters.dones_received++;
}

} // namespace rpcrdma

using namespace rpcrdma;

/*
 * A DONE has nothing but the xid to tell one Reply from another, so that two
 * with the same cannot be told apart. What is being taken back counts as
 * exposed until it is.
 */
int rpcrdma_conn_expose(struct rpcrdma_conn *conn, u32 xid,
			struct rpcrdma_reply_plan *plan)
{
	const u32 octets = plan->read_length;
	const s32 slot = free_slot(conn);

	if (slot < 0 || octets > conn->cfg.expose_octets ||
	    conn->exposed_octets > conn->cfg.expose_octets - octets ||
	    find_slot(conn, xid, SLOT_RESERVED, SLOT_WAITING) >= 0)
		return no_room(plan);

	conn->exposed_octets += octets;
	conn->exposed[slot] = {
		.xid = xid,
		.octets = octets,
		.handle = 0,
		.since = 0,
		.state = SLOT_RESERVED,
	};
	return slot;
}

/*
 * Read chunks come first on the wire, in front of the Write chunks that the
 * plan returns already; these do not count against the peer's RCSIZ (WP 3.5).
 */
int rpcrdma_plan_expose(const struct rpcrdma_conn *conn,
			const struct rpcrdma_region_pool *pool, int status,
			const struct rpcrdma_lists *chunk,
			struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_lists *lists = &plan->lists;
	const u32 added = chunk->nr_segs;
	const struct rpcrdma_conn_limits limits = rpcrdma_conn_limits(conn);

	/* The peer may never read the Replies that it has them with. */
	if (status == -E_AGAIN && rpcrdma_pool_is_spent(pool))
		return no_room(plan);
	/* With too many segments it is not whole. */
	if (status && status != -E_MSGSIZE)
		return status;
	if (chunk->nr_reads != 1 || added > limits.max_segs ||
	    added + lists->nr_segs > RPCRDMA_MAX_SEGS)
		return no_room(plan);

	for (u32 i = lists->nr_segs; i > 0; i--)
		lists->segs[i - 1 + added] = lists->segs[i - 1];
	for (u32 i = 0; i < lists->nr_writes; i++)
		lists->writes[i].first =
			static_cast<u16>(lists->writes[i].first + added);
	for (u32 i = 0; i < added; i++) {
		const struct rpcrdma_segment &seg = chunk->segs[i];

		if (seg.length > limits.max_segment)
			return no_room(plan);
		lists->segs[i] = seg;
	}
	if (conn->cfg.inv_ok)
		lists->inv_handle = largest_segment(chunk);
	lists->reads[0] = chunk->reads[0];
	lists->nr_reads = 1;
	lists->nr_segs = static_cast<u16>(lists->nr_segs + added);

	if (lists->reads[0].length != plan->read_length ||
	    header_octets(conn, lists) > limits.send_inline)
		return no_room(plan);
	return 0;
}

void rpcrdma_conn_exposed(struct rpcrdma_conn *conn, u32 slot, u32 inv_handle,
			  u32 now)
{
	conn->exposed[slot].handle = inv_handle;
	conn->exposed[slot].since = now;
	conn->exposed[slot].state = SLOT_WAITING;
	conn->counters.replies_exposed++;
}

/* DR 4.1.3: the Requester may never send it. */
struct rpcrdma_overdue rpcrdma_conn_overdue(struct rpcrdma_conn *conn, u32 now)
{
	u32 wait = 0;

	for (u32 i = 0; i < RPCRDMA_MAX_EXPOSED; i++) {
		u32 left;

		if (conn->exposed[i].state != SLOT_WAITING)
			continue;
		if (now - conn->exposed[i].since >= conn->cfg.done_ms) {
			conn->exposed[i].state = SLOT_ENDING;
			conn->counters.dones_overdue++;
			return { .any = true, .slot = i, .wait = 0 };
		}
		left = conn->cfg.done_ms - (now - conn->exposed[i].since);
		if (!wait || left < wait)
			wait = left;
	}
	return { .any = false, .slot = 0, .wait = wait };
}

void rpcrdma_conn_unexpose(struct rpcrdma_conn *conn, u32 slot)
{
	conn->exposed_octets -= conn->exposed[slot].octets;
	conn->exposed[slot].state = SLOT_FREE;
}

bool rpcrdma_may_invalidate(const struct rpcrdma_conn *conn,
			    enum rpcrdma_verdict verdict,
			    const struct rpcrdma_rx *rx, u32 handle)
{
	if (!handle)
		return true;
	switch (verdict) {
	case RPCRDMA_RX_REPLY:
	case RPCRDMA_RX_BAD_REPLY:
		return true;
	case RPCRDMA_RX_PULLED:
		/* Only what its Reply named, if anything (WP 3.6) */
		return handle == conn->exposed[rx->exposed].handle;
	default:
		return false;
	}
}
