// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The state machine of an RPC at its Requester.
 *
 * Operation
 *
 * The context that receives a Reply or an ERROR for an RPC that was sent claims the
 * RPC. It owns the RPC until the RPC completes, is retransmitted, or is left for
 * another connection. Meanwhile other messages for the RPC are dropped, and its task
 * cannot release it. Each event returns the actions that follow, which the host runs.
 * If the Call has chunks, the RPC continues after their MRs were invalidated. The action
 * that follows the invalidation is decided before it, and recorded in the state (PLACED
 * to REFUSED), so that an RPC never succeeds while its memory is exposed. If neither the
 * Call nor the Reply has chunks, and the Reply fits the head, the RPC is complete with
 * the claim. rpcrdma_xact_one_chunk() is the fast path for a Call with one chunk of
 * one segment that the peer has invalidated.
 *
 * A Call is not sent again on a connection on which it waits for its Reply, because a
 * second Call with its xid could get the Reply to the first.
 *
 * Memory
 *
 * Nothing is allocated: the user embeds struct rpcrdma_xact in the object that holds
 * the RPC's memory. divide() decides which bytes of a Reply belong to which part of
 * that memory, and cuts off those for which there is none. Inline payload is copied at
 * once only if its place is in no chunk. Otherwise the Receive is kept until the MRs
 * are unmapped.
 *
 * Errors
 *
 * A bad Reply, and a Reply with chunks that differ from those of the Call, end the RPC
 * with EIO after the invalidation. If the peer has invalidated a handle that was not
 * provided, the connection is closed, too. An ERROR ends the RPC, or has its Call sent
 * again. If an invalidation or a pull fails, the connection is closed, and the RPC is
 * left: its task sends the Call again on the next connection. If the RPC was to fail
 * after an invalidation that fails, it completes with its errno, and the host releases
 * its memory after the teardown. A pull that can never succeed ends the RPC.
 *
 * Locking
 *
 * rpcrdma_xact_sent() is called under the lock of the connection, in the critical
 * section that posts the Call, so that no Reply is processed before. A claim needs no
 * atomic operation, because one context at a time processes the messages of a
 * connection, and an RPC is claimed only for the connection on which it was sent. The
 * notifications of a task (_again(), _end(), _notified()) are serialised by a lock of
 * the user.
 */
#include "../wire/one_chunk.hh"

namespace rpcrdma
{

namespace
{

enum class stage : u8 {
	IDLE,	 /* no Call is outstanding */
	SENT,	 /* it waits for its Reply */
	CLAIMED, /* its Reply is being processed */
	/* Once no MR of it is exposed any more: */
	PLACED,	  /* the RPC completes: the Reply is in its place */
	KEPT,	  /* it completes: the Reply is copied from its Receive */
	IN_CHUNK, /* it completes, if the Reply chunk holds a Reply */
	PROVIDED, /* the Reply is pulled */
	FAILED,	  /* it ends with an errno */
	REFUSED,  /* the Call is sent again, in another form */
	PULLING,  /* the Reply is being read */
	AGAIN,	  /* its task was notified to send the Call again */
	LOST,	  /* the connection it was sent on cannot answer it */
	OVER,
	ENDED, /* its task was notified of the errno it ends with */
};

stage stage_of(const struct rpcrdma_xact *x)
{
	return static_cast<stage>(x->state);
}

void go(struct rpcrdma_xact *x, stage next)
{
	x->state = static_cast<u8>(next);
}

struct rpcrdma_actions actions(u32 todo)
{
	return { .todo = todo,
		 .status = 0,
		 .xid = 0,
		 .handle = 0,
		 .reason = nullptr };
}

/* Return how a Reply's Payload stream of @length bytes is divided. */
struct rpcrdma_reply_layout divide(u32 length,
				   const struct rpcrdma_buf_layout &layout,
				   const struct rpcrdma_placed &placed)
{
	struct rpcrdma_reply_layout p = {};
	u32 rest, tail = layout.tail;

	/* Fast path: everything is in the head. */
	if (!placed.write_octets && length <= layout.head) {
		p.head = length;
		p.octets = length;
		p.first = length;
		return p;
	}
	p.reduced = placed.write_octets != 0;
	p.head = min_u32(length, layout.head);
	rest = length - p.head;
	if (p.reduced) {
		p.pages = min_u32(layout.pages, placed.write_octets);
		p.pad = -p.pages & 3;
		p.rest_at = layout.head + layout.pages + p.pad;
		tail -= min_u32(tail, p.pad);
	} else {
		p.pages = min_u32(rest, layout.pages);
		rest -= p.pages;
	}
	p.tail = min_u32(rest, tail);
	p.octets = p.head + p.pages + p.pad + p.tail;
	if (p.tail < rest) {
		/* A truncated Reply must not look like a malformed stream. */
		p.tail -= min_u32(p.tail, p.octets & 3);
		p.octets &= ~u32{ 3 };
	}
	p.first = p.head;
	if (p.reduced)
		p.rest = p.tail;
	else
		p.first += p.pages + p.tail;
	return p;
}

/*
 * Return true if the inline payload is for memory that is in no chunk. The
 * processor must not write to memory that is mapped for the device.
 */
bool may_place(const struct rpcrdma_xact *x, const struct rpcrdma_arrival *a)
{
	const struct rpcrdma_lists &lists = x->lists;

	if (lists.has_reply)
		return false;
	return !lists.nr_writes || x->parts.reduced ||
	       a->length <= a->layout.head;
}

struct rpcrdma_actions end(struct rpcrdma_xact *x, u32 todo, int status)
{
	struct rpcrdma_actions s = actions(todo | RPCRDMA_ACT_COMPLETE);

	go(x, stage::OVER);
	s.status = status;
	return s;
}

/*
 * Return true if a stream, with its first words at @first, begins like an
 * answer to its RPC. No MR is exposed.
 */
bool stream_ok(const struct rpcrdma_xact *x, u32 length, const void *first)
{
	return length >= RPC_MIN_OCTETS && first &&
	       rpcrdma_payload_ok(x->xid, true, first);
}

/* Return the actions once no MR is exposed (any more). */
struct rpcrdma_actions finish(struct rpcrdma_xact *x, const void *first)
{
	const int octets = static_cast<int>(x->parts.octets);

	switch (stage_of(x)) {
	case stage::PLACED:
		return end(x, 0, octets);
	case stage::KEPT:
		return end(x, RPCRDMA_ACT_PLACE | RPCRDMA_ACT_PUT, octets);
	case stage::IN_CHUNK: {
		if (stream_ok(x, x->placed.reply_octets, first)) {
			/*
			 * Its chunk has the complete buffer, or the memory
			 * around a result.
			 */
			const u32 move = x->lists.nr_writes ? RPCRDMA_ACT_MOVE :
							      0;

			return end(x, move, octets);
		}
		struct rpcrdma_actions s =
			end(x, RPCRDMA_ACT_REPORT, BAD_REPLY_STATUS);

		x->placed = {};
		s.reason =
			"the RPC message in the Reply chunk has another XID than its header";
		return s;
	}
	case stage::PROVIDED:
		go(x, stage::PULLING);
		return actions(RPCRDMA_ACT_PULL);
	case stage::FAILED:
		return end(x, 0, x->status);
	case stage::REFUSED:
		return actions(RPCRDMA_ACT_AGAIN);
	default:
		return actions(0);
	}
}

/* Continue with @next, after an invalidation if there are MRs. */
struct rpcrdma_actions proceed(struct rpcrdma_xact *x, stage next)
{
	go(x, next);
	if (x->lists.nr_segs)
		return actions(RPCRDMA_ACT_INVALIDATE);
	return finish(x, nullptr);
}

/*
 * Refuse a Reply that cannot be used. Its RPC ends (DR 4.1.3, VT A.1) once its memory
 * is out of the peer's reach, because another attempt might get such a Reply again.
 */
struct rpcrdma_actions refuse(struct rpcrdma_xact *x, u32 todo, int status,
			      const char *reason)
{
	struct rpcrdma_actions s;

	x->status = status;
	x->placed = {};
	s = proceed(x, stage::FAILED);
	s.todo |= todo | RPCRDMA_ACT_REPORT;
	s.reason = reason;
	return s;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

int rpcrdma_xact_begin_anew(struct rpcrdma_xact *x,
			    const struct rpcrdma_conn *conn)
{
	const bool same = x->conn == conn->cfg.number;
	const bool lost = stage_of(x) == stage::SENT && x->continued;

	switch (stage_of(x)) {
	case stage::IDLE:
	case stage::AGAIN:
	/*
	 * The Reply has arrived, so no other can be mistaken for the next
	 * Call's.
	 */
	case stage::OVER:
	case stage::ENDED:
		break;
	case stage::SENT:
	case stage::LOST:
		if (same)
			return -E_NOTCONN;
		break;
	default:
		return -E_NOTCONN;
	}
	/*
	 * Limits learned from an ERROR hold for the connection it arrived on.
	 */
	if (!same)
		x->retry_limits = {};
	go(x, stage::IDLE);
	return lost ? RPCRDMA_BEGIN_LOST : 0;
}

void rpcrdma_xact_sent(struct rpcrdma_xact *x, const struct rpcrdma_conn *conn,
		       bool continued)
{
	x->conn = conn->cfg.number;
	x->continued = continued;
	/* The context that claims the RPC sees all of these stores. */
	__atomic_store_n(&x->state, static_cast<u8>(stage::SENT),
			 __ATOMIC_RELEASE);
}

bool rpcrdma_xact_claim(struct rpcrdma_xact *x, const struct rpcrdma_conn *conn)
{
	const u8 state = __atomic_load_n(&x->state, __ATOMIC_ACQUIRE);

	if (static_cast<stage>(state) != stage::SENT ||
	    x->conn != conn->cfg.number)
		return false;
	go(x, stage::CLAIMED);
	return true;
}

/* Return true if only the payload of the Reply must be processed. */
static inline bool is_plain(const struct rpcrdma_xact *x,
			    const struct rpcrdma_rx *rx, bool bad,
			    u32 inv_handle)
{
	return !inv_handle && !bad && !has_chunks(&x->lists) &&
	       !has_chunks(&rx->lists) && rx->format != RPCRDMA_SPECIAL;
}

enum rpcrdma_claimed rpcrdma_xact_claim_reply(struct rpcrdma_xact *x,
					      const struct rpcrdma_conn *conn,
					      const struct rpcrdma_rx *rx,
					      bool bad, u32 inv_handle,
					      u32 head)
{
	if (!rpcrdma_xact_claim(x, conn))
		return RPCRDMA_CLAIMED_NOT;
	if (!is_plain(x, rx, bad, inv_handle))
		return RPCRDMA_CLAIMED;
	if (rx->format != RPCRDMA_INLINE || rx->payload_length > head)
		return RPCRDMA_CLAIMED_PLAIN;
	go(x, stage::OVER);
	return RPCRDMA_CLAIMED_LAST;
}

/* The Responder must be notified when this end has finished (DR 4.1.2). */
struct rpcrdma_actions rpcrdma_xact_stray(const struct rpcrdma_rx *rx, bool bad)
{
	struct rpcrdma_actions s = actions(RPCRDMA_ACT_PUT);

	/* For a bad one, the DONE was queued when it arrived. */
	if (!bad && rpcrdma_reply_needs_done(rx))
		s.todo |= RPCRDMA_ACT_DONE;
	s.xid = rx->xid;
	s.handle = rx->lists.inv_handle;
	return s;
}

/* Process a Reply that has chunks or invalidates a handle, or is a bad one. */
[[gnu::noinline]] static struct rpcrdma_actions
reply_by_chunks(struct rpcrdma_xact *x, const struct rpcrdma_conn *conn,
		const struct rpcrdma_arrival *a)
{
	const struct rpcrdma_rx *rx = a->rx;
	struct rpcrdma_actions s;
	u32 length = a->length;
	int status;

	if (a->inv_handle &&
	    (!a->exposed ||
	     !rpcrdma_invalidation_ok(conn, &x->lists, a->inv_handle)))
		return refuse(
			x, RPCRDMA_ACT_PUT | RPCRDMA_ACT_CLOSE,
			BAD_REPLY_STATUS,
			"the peer invalidated a handle that its RPC did not provide");
	if (a->bad)
		return refuse(x, RPCRDMA_ACT_PUT, rx->error.status,
			      "it violates the protocol");
	status = rpcrdma_check_reply(conn, &x->lists, rx, &x->placed);
	if (status) {
		s = refuse(x, rpcrdma_xact_stray(rx, false).todo, status,
			   "its chunks differ from those of the Call");
		s.xid = rx->xid;
		s.handle = rx->lists.inv_handle;
		return s;
	}

	if (x->placed.pull_octets)
		length = x->placed.pull_octets;
	else if (x->placed.reply_octets)
		length = x->placed.reply_octets;
	x->parts = divide(length, a->layout, x->placed);

	if (x->placed.pull_octets) {
		x->pull_handle = rx->lists.inv_handle;
		return proceed(x, stage::PROVIDED);
	}
	if (x->placed.reply_octets) {
		s = proceed(x, stage::IN_CHUNK);
		s.todo |= RPCRDMA_ACT_PUT;
		return s;
	}
	if (x->lists.nr_segs && !may_place(x, a))
		return proceed(x, stage::KEPT);
	s = proceed(x, stage::PLACED);
	s.todo |= RPCRDMA_ACT_PLACE | RPCRDMA_ACT_PUT;
	return s;
}

struct rpcrdma_actions rpcrdma_xact_reply(struct rpcrdma_xact *x,
					  const struct rpcrdma_conn *conn,
					  const struct rpcrdma_arrival *a)
{
	const struct rpcrdma_rx *rx = a->rx;

	if (stage_of(x) != stage::CLAIMED)
		return actions(0);
	x->xid = rx->xid;
	if (!is_plain(x, rx, a->bad, a->inv_handle))
		return reply_by_chunks(x, conn, a);
	x->placed = {};
	x->parts = divide(a->length, a->layout, x->placed);
	return end(x, RPCRDMA_ACT_PLACE | RPCRDMA_ACT_PUT,
		   static_cast<int>(x->parts.octets));
}

/* The conditions of rpcrdma_check_reply() and the results of divide() */
bool rpcrdma_xact_one_chunk(struct rpcrdma_xact *x, const struct rpcrdma_rx *rx,
			    u32 inv_handle, u32 head, u32 pages)
{
	const struct rpcrdma_lists &ours = x->lists, &theirs = rx->lists;
	const struct rpcrdma_segment &a = ours.segs[0], &b = theirs.segs[0];
	const u32 length = rx->payload_length;
	u32 octets = 0, placed = 0, pad = 0;

	if (stage_of(x) != stage::CLAIMED || rx->format != RPCRDMA_INLINE ||
	    length > head || !has_one_segment(&ours) ||
	    inv_handle != ours.inv_handle || inv_handle != a.handle)
		return false;
	if (ours.nr_writes) {
		if (!has_one_segment(&theirs) || !theirs.nr_writes ||
		    b.handle != a.handle || !b.length || b.length > a.length)
			return false;
		octets = b.length;
		placed = min_u32(pages, octets);
		pad = -placed & 3;
	} else if (has_chunks(&theirs)) {
		return false;
	}
	go(x, stage::PLACED);
	x->xid = rx->xid;
	x->placed = { .write_octets = octets,
		      .reply_octets = 0,
		      .pull_octets = 0,
		      .write_chunks = octets != 0 };
	x->parts = { .head = length,
		     .pages = placed,
		     .pad = pad,
		     .tail = 0,
		     .octets = length + placed + pad,
		     .reduced = octets != 0,
		     .first = length,
		     .rest = 0,
		     .rest_at = octets ? head + pages + pad : 0 };
	return true;
}

void rpcrdma_xact_placed(struct rpcrdma_xact *x)
{
	go(x, stage::OVER);
}

struct rpcrdma_actions rpcrdma_xact_error(struct rpcrdma_xact *x, int status)
{
	if (stage_of(x) != stage::CLAIMED)
		return actions(0);
	x->status = status;
	x->placed = {};
	return proceed(x, status ? stage::FAILED : stage::REFUSED);
}

struct rpcrdma_actions rpcrdma_xact_invalidated(struct rpcrdma_xact *x, bool ok,
						const void *first)
{
	const stage was = stage_of(x);
	u32 todo = RPCRDMA_ACT_CLOSE;

	if (was < stage::PLACED || was > stage::REFUSED)
		return actions(0);
	if (ok)
		return finish(x, first);

	/*
	 * The RPC must not succeed while its memory is exposed. It is
	 * retransmitted, or released, after the teardown.
	 */
	if (was == stage::KEPT || was == stage::PROVIDED)
		todo |= RPCRDMA_ACT_PUT;
	if (was == stage::FAILED)
		return end(x, todo, x->status);
	go(x, stage::LOST);
	return actions(todo | RPCRDMA_ACT_LEAVE);
}

struct rpcrdma_actions rpcrdma_xact_pulled(struct rpcrdma_xact *x,
					   enum rpcrdma_pull how,
					   const void *first)
{
	struct rpcrdma_actions s;

	if (stage_of(x) != stage::PULLING)
		return actions(0);

	if (how == RPCRDMA_PULL_FAILED || how == RPCRDMA_PULL_SHORT) {
		/* The end of the connection notifies the Responder, too. */
		go(x, stage::LOST);
		s = actions(RPCRDMA_ACT_CLOSE | RPCRDMA_ACT_LEAVE);
		s.reason = how == RPCRDMA_PULL_FAILED ?
				   "an RDMA Read of a Reply failed" :
				   "no resources to pull a Reply";
		return s;
	}

	if (how == RPCRDMA_PULL_OK && stream_ok(x, x->parts.head, first)) {
		s = end(x, RPCRDMA_ACT_DONE, static_cast<int>(x->parts.octets));
	} else {
		x->placed = {};
		s = end(x, RPCRDMA_ACT_DONE, BAD_REPLY_STATUS);
		if (how == RPCRDMA_PULL_OK) {
			s.todo |= RPCRDMA_ACT_REPORT;
			s.reason =
				"the RPC message that was pulled has another XID than its header";
		}
	}
	s.xid = x->xid;
	s.handle = x->pull_handle;
	return s;
}

void rpcrdma_xact_again(struct rpcrdma_xact *x)
{
	if (stage_of(x) == stage::REFUSED)
		go(x, stage::AGAIN);
}

void rpcrdma_xact_end(struct rpcrdma_xact *x, int status)
{
	x->status = status;
	go(x, stage::ENDED);
}

int rpcrdma_xact_notified(struct rpcrdma_xact *x)
{
	switch (stage_of(x)) {
	case stage::AGAIN:
		go(x, stage::IDLE);
		return -E_AGAIN;
	case stage::ENDED:
		return x->status;
	default:
		return 0;
	}
}

bool rpcrdma_xact_release(struct rpcrdma_xact *x)
{
	if (stage_of(x) >= stage::CLAIMED && stage_of(x) <= stage::PULLING)
		return false;
	go(x, stage::IDLE);
	x->retry_limits = {};
	return true;
}
