// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies that wait at the Responder to be pulled (WP 8): their number and time
 * limits, and the meaning of a DONE.
 *
 * Operation
 *
 * An entry is reserved before the memory of its Reply is registered, and counts against
 * the limits from then on. It waits for its DONE when the Reply was sent. A DONE, or the
 * time limit, makes one context responsible for the invalidation; from then on no DONE
 * can find the entry. It counts until it is cancelled, when no peer can access the
 * memory any more. core/endpoint/pulled_reply.cc registers and invalidates the memory.
 *
 * Memory
 *
 * Nothing is allocated: the entries are a list, and each is embedded in the object that
 * owns the memory of its Reply.
 *
 * Errors
 *
 * A Reply beyond the limits, one that does not fit the peer's limits for segments, and a
 * second one with the same xid, get REPLY_RESOURCE with their length: the Requester can
 * send the Call again with a Reply chunk. A DONE for an xid that has no Reply waiting is
 * dropped by the caller.
 *
 * Locking
 *
 * The caller holds the lock of the connection, except for functions that read only a
 * message, or what is fixed while the connection is open: rpcrdma_plan_expose(),
 * rpcrdma_expose_wait() and rpcrdma_may_invalidate().
 */
#include "pull.hh"

#include "../wire/codec.hh"

namespace rpcrdma
{

namespace
{

/* exposure->state */
enum exposure_state : u8 {
	RESERVED, /* the Reply has not been sent yet */
	WAITING,  /* waiting for its DONE */
	ENDING,	  /* its memory is being invalidated */
};

struct rpcrdma_pull_entry *find(const struct rpcrdma_conn *conn, u32 xid,
				exposure_state least)
{
	struct rpcrdma_pull_entry *x;

	for (x = conn->exposed; x; x = x->next) {
		if (x->xid == xid && x->state >= least && x->state != ENDING)
			break;
	}
	return x;
}

/*
 * Set the error after which the Requester can retry with a Reply chunk (6.4), and
 * return the errno.
 */
int no_room(struct rpcrdma_reply_plan *plan)
{
	plan->error = RDMA2_ERR_REPLY_RESOURCE;
	plan->arg[0] = plan->read_length;
	plan->arg[1] = 0;
	return -E_MSGSIZE;
}

} // namespace

struct rpcrdma_pull_entry *find_done(const struct rpcrdma_conn *conn, u32 xid)
{
	return find(conn, xid, WAITING);
}

void take_done(struct rpcrdma_conn *conn, struct rpcrdma_pull_entry *exposure)
{
	exposure->state = ENDING;
	conn->counters.dones_received++;
}

} // namespace rpcrdma

using namespace rpcrdma;

/*
 * A DONE identifies its Reply only by the xid, so that two with the same cannot
 * be distinguished. A Reply the memory of which is being invalidated counts as
 * exposed until that is complete.
 */
int rpcrdma_pull_reserve(struct rpcrdma_conn *conn,
			 struct rpcrdma_pull_entry *exposure, u32 xid,
			 struct rpcrdma_reply_plan *plan)
{
	const u32 octets = plan->read_length;

	if (conn->nr_exposed == RPCRDMA_MAX_EXPOSED ||
	    octets > conn->cfg.expose_octets ||
	    conn->exposed_octets > conn->cfg.expose_octets - octets ||
	    find(conn, xid, RESERVED))
		return no_room(plan);

	exposure->next = conn->exposed;
	exposure->xid = xid;
	exposure->octets = octets;
	exposure->handle = 0;
	exposure->since = 0;
	exposure->state = RESERVED;
	conn->exposed = exposure;
	conn->nr_exposed++;
	conn->exposed_octets += octets;
	return 0;
}

/*
 * The Read chunk is inserted before the Write chunks that the plan returns, because
 * Read chunks come first on the wire. Returned Write chunks do not count against the
 * peer's RCSIZ (WP 5).
 */
int rpcrdma_plan_expose(const struct rpcrdma_conn *conn,
			const struct rpcrdma_mr_pool *pool, int status,
			const struct rpcrdma_lists *chunk,
			struct rpcrdma_reply_plan *plan)
{
	struct rpcrdma_lists *lists = &plan->lists;
	const u32 added = chunk->nr_segs;
	const struct rpcrdma_conn_limits limits = rpcrdma_conn_limits(conn);

	/*
	 * All MRs are used by Replies that the peer may never read: do not wait for
	 * them.
	 */
	if (status == -E_AGAIN && rpcrdma_mr_pool_is_spent(pool))
		return no_room(plan);
	/* With too many segments the chunk is not complete. */
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

void rpcrdma_pull_sent(struct rpcrdma_conn *conn,
		       struct rpcrdma_pull_entry *exposure, u32 inv_handle,
		       u32 now)
{
	exposure->handle = inv_handle;
	exposure->since = now;
	exposure->state = WAITING;
	conn->counters.replies_exposed++;
}

/* DR 4.1.3: the Requester may never send the DONE. */
struct rpcrdma_overdue rpcrdma_conn_overdue(struct rpcrdma_conn *conn, u32 now)
{
	u32 wait = 0;

	for (struct rpcrdma_pull_entry *x = conn->exposed; x; x = x->next) {
		u32 left;

		if (x->state != WAITING)
			continue;
		if (now - x->since >= conn->cfg.done_ms) {
			x->state = ENDING;
			conn->counters.dones_overdue++;
			return { .exposure = x, .wait = 0 };
		}
		left = conn->cfg.done_ms - (now - x->since);
		if (!wait || left < wait)
			wait = left;
	}
	return { .exposure = nullptr, .wait = wait };
}

u32 rpcrdma_expose_wait(int status, u32 begun_ms, u32 now_ms)
{
	const u32 waited = now_ms - begun_ms;

	return status == -E_AGAIN && waited < RPCRDMA_EXPOSE_WAIT_MS ?
		       RPCRDMA_EXPOSE_WAIT_MS - waited :
		       0;
}

void rpcrdma_pull_cancel(struct rpcrdma_conn *conn,
			 struct rpcrdma_pull_entry *exposure)
{
	struct rpcrdma_pull_entry **at = &conn->exposed;

	while (*at != exposure)
		at = &(*at)->next;
	*at = exposure->next;
	conn->nr_exposed--;
	conn->exposed_octets -= exposure->octets;
}

bool rpcrdma_may_invalidate(enum rpcrdma_verdict verdict,
			    const struct rpcrdma_rx *rx, u32 handle)
{
	if (!handle)
		return true;
	switch (verdict) {
	case RPCRDMA_RX_REPLY:
	case RPCRDMA_RX_BAD_REPLY:
		return true;
	case RPCRDMA_RX_PULL_COMPLETE:
		/* Only the handle that its Reply named, if any (WP 6) */
		return handle == rx->exposed->handle;
	default:
		return false;
	}
}
