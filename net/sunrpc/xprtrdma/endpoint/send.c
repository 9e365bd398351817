// SPDX-License-Identifier: GPL-2.0
/*
 * Sending: Send contexts, accounting, and what waits for its turn.
 */

#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

/* ---- Send contexts ---- */

/* ep->lock held. @reserve: how many to leave for others. */
static struct rpcrdma_send *rpcrdma_send_take(struct rpcrdma_ep *ep,
					      u32 reserve)
{
	struct rpcrdma_send *s;

	lockdep_assert_held(&ep->lock);
	if (ep->nr_free_sends <= reserve)
		return NULL;
	s = list_first_entry(&ep->free_sends, struct rpcrdma_send, work.list);
	list_del_init(&s->work.list);
	ep->nr_free_sends--;
	s->rw = NULL;
	s->stream = NULL;
	s->exposed = NULL;
	s->header_len = 0;
	s->len = 0;
	return s;
}

/*
 * ep->lock held. What waits for window, if anything does, has a time limit.
 * Returns events, but only when that is over.
 */
static u32 rpcrdma_stall_watch(struct rpcrdma_ep *ep)
{
	bool waits = ep->want_space || ep->stream ||
		     !list_empty(&ep->reply_queue);
	u32 wait, events;

	lockdep_assert_held(&ep->lock);
	/* Later than that, the teardown would not stop the timer. */
	if (ep->stall_watched || !rpcrdma_ep_is_open(ep))
		return 0;
	wait = rpcrdma_conn_stalled(&ep->conn, waits, rpcrdma_now_ms(),
				    &events);
	if (wait) {
		ep->stall_watched = true;
		queue_delayed_work(rpcrdma_wq, &ep->stall_timer,
				   msecs_to_jiffies(wait) + 1);
	}
	return events;
}

void rpcrdma_stall_expired(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, stall_timer);
	u32 events;

	spin_lock(&ep->lock);
	ep->stall_watched = false;
	events = rpcrdma_stall_watch(ep);
	spin_unlock(&ep->lock);
	rpcrdma_ep_events(ep, events);
}

/* ep->lock held. A Call that takes @nr_wrs slots has to wait. */
static void rpcrdma_want_space(struct rpcrdma_ep *ep, u32 nr_wrs)
{
	lockdep_assert_held(&ep->lock);
	ep->want_space = true;
	ep->want_wrs = max(ep->want_wrs, nr_wrs);
	rpcrdma_stall_watch(ep);
}

/**
 * rpcrdma_send_get - a free Send context
 * @ep: endpoint
 *
 * Returns NULL when there is none: write_space() will be called, if the
 * connection lasts.
 */
struct rpcrdma_send *rpcrdma_send_get(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s;

	spin_lock(&ep->lock);
	s = rpcrdma_send_take(ep, RPCRDMA_CONTROL_SENDS);
	if (!s)
		rpcrdma_want_space(ep, 1);
	spin_unlock(&ep->lock);
	return s;
}

/*
 * Send contexts that Replies leave to others, so that a Call of this end finds
 * one when all are waiting for it.
 */
static u32 rpcrdma_reply_reserve(const struct rpcrdma_ep *ep)
{
	return RPCRDMA_CONTROL_SENDS +
	       min(ep->params.reverse, ep->params.sends / 2);
}

/**
 * rpcrdma_ep_may_reply - is there a Send context for another Reply?
 * @ep: endpoint
 *
 * Arranges for write_space() when not. Process context, no ep lock held.
 */
bool rpcrdma_ep_may_reply(struct rpcrdma_ep *ep)
{
	bool may;

	if (likely(READ_ONCE(ep->nr_free_sends) > rpcrdma_reply_reserve(ep)))
		return true;
	spin_lock(&ep->lock);
	may = ep->nr_free_sends > rpcrdma_reply_reserve(ep);
	if (!may)
		ep->want_reply = true;
	spin_unlock(&ep->lock);
	return may;
}

/**
 * rpcrdma_send_reserve - a free Send context for a Reply yet to be made
 * @ep: endpoint
 *
 * Returns NULL when there is none; see rpcrdma_ep_may_reply().
 */
struct rpcrdma_send *rpcrdma_send_reserve(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s;

	spin_lock(&ep->lock);
	s = rpcrdma_send_take(ep, rpcrdma_reply_reserve(ep));
	spin_unlock(&ep->lock);
	return s;
}

/**
 * rpcrdma_send_put - give back a Send context that was not sent
 * @s: Send context
 */
void rpcrdma_send_put(struct rpcrdma_send *s)
{
	struct rpcrdma_ep *ep = s->ep;

	rpcrdma_send_abort(s);
	if (READ_ONCE(ep->want_space) || READ_ONCE(ep->want_reply))
		rpcrdma_ep_pump(ep);
}

/* ---- Posting; ep->lock held ---- */

/*
 * Has the Send Queue room for a message? What goes by RDMA waits for as many slots
 * as it needs at once, which messages must not take one by one as they come free.
 */
static bool rpcrdma_message_space(const struct rpcrdma_ep *ep, u32 nr_wrs)
{
	return list_empty(&ep->rdma_queue) && rpcrdma_sq_space(ep, nr_wrs);
}

/* Set up the Send WR itself for @s->len octets. */
static void rpcrdma_send_prepare(struct rpcrdma_send *s, u8 kind,
				 u32 inv_handle)
{
	struct ib_send_wr *wr = &s->wr;

	s->sge.length = s->len;
	wr->next = NULL;
	wr->send_flags = 0;
	if (inv_handle) {
		wr->opcode = IB_WR_SEND_WITH_INV;
		wr->ex.invalidate_rkey = inv_handle;
	} else {
		wr->opcode = IB_WR_SEND;
	}
	s->work.first = wr;
	s->work.last = wr;
	s->work.nr_wrs = 1;
	s->work.kind = kind;
	s->work.signaled = false;
}

/* Put @rw's Writes in front of @s, in one chain. */
static void rpcrdma_send_chain_rw(struct rpcrdma_send *s, struct rpcrdma_rw *rw)
{
	s->rw = rw;
	if (!rw || !rw->work.nr_wrs)
		return;
	s->work.first = rpcrdma_rw_chain(rw, &s->wr);
	s->work.nr_wrs += rw->work.nr_wrs;
	/* The pages written from are freed by the completion. */
	s->work.signaled = true;
}

static void rpcrdma_mrs_expose(struct list_head *mrs)
{
	struct rpcrdma_mr *mr;

	if (!mrs)
		return;
	list_for_each_entry(mr, mrs, list) {
		mr->exposed = true;
		mr->used = true;
	}
}

/* Post a message: count it, stamp it, put it on the wire. */
static bool rpcrdma_send_post(struct rpcrdma_ep *ep, struct rpcrdma_send *s)
{
	struct rpcrdma_exposed *x = s->exposed;

	lockdep_assert_held(&ep->lock);
	if (x) {
		/* From here on it is the peer's, or the time limit's. */
		s->exposed = NULL;
		rpcrdma_mrs_expose(&x->mrs);
		rpcrdma_exposed_post(ep, x);
	}
	if (s->work.kind != RPCRDMA_WORK_CONTROL)
		rpcrdma_conn_stamp(&ep->conn, s->work.kind, s->buf);
	trace_rpcrdma_send(ep, s);
	ib_dma_sync_single_for_device(ep->device, s->sge.addr, s->len,
				      DMA_TO_DEVICE);
	return rpcrdma_work_post(ep, &s->work);
}

/* Returns false when the device refused something. */
static bool rpcrdma_pump_control(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s;
	u32 inv_handle;

	lockdep_assert_held(&ep->lock);
	while (rpcrdma_conn_control_due(&ep->conn)) {
		if (!rpcrdma_sq_space(ep, 1))
			break;
		s = rpcrdma_send_take(ep, 0);
		if (!s)
			break;
		s->len = rpcrdma_conn_next_control(&ep->conn, s->buf,
						   RPCRDMA_V2_DEFAULT_INLINE,
						   &inv_handle);
		if (!s->len) {
			list_add(&s->work.list, &ep->free_sends);
			ep->nr_free_sends++;
			break;
		}
		rpcrdma_send_prepare(s, RPCRDMA_WORK_CONTROL, inv_handle);
		if (!rpcrdma_send_post(ep, s))
			return false;
	}
	return true;
}

/*
 * Post parts of the stream that is under way, as long as there is window and
 * space. Until its last part is posted no other Call or Reply may go.
 */
static bool rpcrdma_pump_stream(struct rpcrdma_ep *ep)
{
	struct rpcrdma_stream *st;
	struct rpcrdma_send *s;
	u32 octets, wrs;
	bool more;

	lockdep_assert_held(&ep->lock);
	while ((st = ep->stream)) {
		octets = rpcrdma_next_part(&ep->conn, &st->lists,
					   st->len - st->sent, &more);
		wrs = 1 + st->nr_regs;
		if (!more && st->rw)
			wrs += st->rw->work.nr_wrs;
		if (!rpcrdma_conn_may_send(&ep->conn, st->kind) ||
		    !rpcrdma_message_space(ep, wrs))
			break;
		s = rpcrdma_send_take(ep, RPCRDMA_CONTROL_SENDS);
		if (!s)
			break;

		s->header_len = rpcrdma_encode_rpc(&ep->conn, s->buf,
						   ep->params.send_size,
						   st->kind, RPCRDMA_CONTINUED,
						   st->xid, more,
						   more ? NULL : &st->lists);
		memcpy(s->buf + s->header_len, st->data + st->sent, octets);
		s->len = s->header_len + octets;
		rpcrdma_send_prepare(s, st->kind, more ? 0 : st->inv_handle);
		if (st->nr_regs) {
			st->reg_last->next = s->work.first;
			s->work.first = st->reg_first;
			s->work.nr_wrs += st->nr_regs;
			st->nr_regs = 0;
		}
		st->sent += octets;
		if (!more) {
			rpcrdma_send_chain_rw(s, st->rw);
			st->rw = NULL;
			/* Freed when the lock is not held. */
			s->stream = st;
			/* A Call may wait until its octets count no more. */
			if (st->held_for)
				s->work.signaled = true;
			ep->stream = NULL;
			rpcrdma_conn_count(&ep->conn, st->kind,
					   RPCRDMA_CONTINUED, &st->lists);
		}
		if (!rpcrdma_send_post(ep, s))
			return false;
	}
	return true;
}

static bool rpcrdma_pump_replies(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work;

	lockdep_assert_held(&ep->lock);
	while (!list_empty(&ep->reply_queue)) {
		work = list_first_entry(&ep->reply_queue, struct rpcrdma_work,
					list);
		if (work->kind == RPCRDMA_WORK_STREAM) {
			if (!ep->stream) {
				list_del_init(&work->list);
				ep->stream = container_of(work,
							  struct rpcrdma_stream,
							  work);
			}
			if (!rpcrdma_pump_stream(ep))
				return false;
			if (ep->stream)
				break;
			continue;
		}
		if (!rpcrdma_conn_may_send(&ep->conn, RPCRDMA_KIND_REPLY) ||
		    !rpcrdma_message_space(ep, work->nr_wrs))
			break;
		list_del_init(&work->list);
		if (!rpcrdma_send_post(ep, container_of(work,
							struct rpcrdma_send,
							work)))
			return false;
	}
	return true;
}

/* Returns false: close. */
static bool rpcrdma_pump_locked(struct rpcrdma_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (!rpcrdma_pump_control(ep) ||
	    (!list_empty(&ep->rdma_queue) && !rpcrdma_pump_rdma(ep)) ||
	    (unlikely(ep->stream) && !rpcrdma_pump_stream(ep)))
		return false;
	/* One message's parts must not be amid another's (WP 3.6). */
	if (!ep->stream && !rpcrdma_pump_replies(ep))
		return false;
	if (unlikely(ep->stream || !list_empty(&ep->reply_queue) ||
		     ep->conn.pend_count))
		rpcrdma_stall_watch(ep);
	return true;
}

static bool rpcrdma_call_space(const struct rpcrdma_ep *ep, u32 nr_wrs)
{
	lockdep_assert_held(&ep->lock);
	return !ep->stream &&
	       rpcrdma_conn_may_send(&ep->conn, RPCRDMA_KIND_CALL) &&
	       ep->nr_free_sends > RPCRDMA_CONTROL_SENDS &&
	       rpcrdma_message_space(ep, nr_wrs);
}

/**
 * rpcrdma_ep_pump - post what may go now
 * @ep: endpoint
 *
 * After anything that may have opened the window, freed space or made a
 * control message due. Process context, no ep lock held.
 */
void rpcrdma_ep_pump(struct rpcrdma_ep *ep)
{
	bool space = false, ok = true;

	spin_lock(&ep->lock);
	if (ep->life.may_send) {
		ok = rpcrdma_pump_locked(ep);
		if (ok && ep->want_space &&
		    rpcrdma_call_space(ep, ep->want_wrs)) {
			ep->want_space = false;
			ep->want_wrs = 0;
			space = true;
		}
		if (ok && ep->want_reply &&
		    ep->nr_free_sends > rpcrdma_reply_reserve(ep)) {
			ep->want_reply = false;
			space = true;
		}
	}
	spin_unlock(&ep->lock);

	if (!ok)
		rpcrdma_ep_close(ep, "a Send could not be posted");
	else if (space)
		rpcrdma_ep_write_space(ep);
}

/* The device is through with a work item: what waits for space may go. */
void rpcrdma_wc_work(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_ep *ep = cq->cq_context;

	if (unlikely(rpcrdma_sq_completed(ep, wc)))
		rpcrdma_ep_pump(ep);
}

/**
 * rpcrdma_ep_do_events - do what the engine asked for
 * @ep: endpoint
 * @events: RPCRDMA_EV_* as an engine call returned them
 */
void rpcrdma_ep_do_events(struct rpcrdma_ep *ep, u32 events)
{
	if (events & RPCRDMA_EV_CLOSE) {
		rpcrdma_ep_close(ep, ep->conn.reason);
		return;
	}
	if (events & RPCRDMA_EV_OPENED)
		ep->opened(ep);
	if (events & (RPCRDMA_EV_CONTROL | RPCRDMA_EV_WINDOW))
		rpcrdma_ep_pump(ep);
}

/* ---- Sending RPCs ---- */

/**
 * rpcrdma_send_get_call - a Send context for a Call that may be sent now
 * @ep: endpoint
 *
 * Returns NULL when none may, or there is no context: write_space() will be
 * called, if the connection lasts.
 */
struct rpcrdma_send *rpcrdma_send_get_call(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s = NULL;

	spin_lock(&ep->lock);
	if (likely(rpcrdma_call_space(ep, 1)))
		s = rpcrdma_send_take(ep, RPCRDMA_CONTROL_SENDS);
	else
		rpcrdma_want_space(ep, 1);
	spin_unlock(&ep->lock);
	return s;
}

/* Put the registrations of @mrs in front of *@first; returns their number. */
static u32 rpcrdma_mrs_chain(struct rpcrdma_ep *ep, struct list_head *mrs,
			     struct ib_send_wr **first)
{
	struct rpcrdma_mr *mr;
	u32 nr = 0;

	if (!mrs)
		return 0;
	list_for_each_entry(mr, mrs, list) {
		mr->reg_wr.wr.next = *first;
		mr->reg_wr.wr.wr_cqe = &ep->reg_cqe;
		*first = &mr->reg_wr.wr;
		nr++;
	}
	return nr;
}

/* ep->lock held: may a Call of @nr_wrs Work Requests be posted? */
static int rpcrdma_call_check(struct rpcrdma_ep *ep, u32 nr_wrs)
{
	lockdep_assert_held(&ep->lock);
	if (unlikely(!rpcrdma_ep_is_open(ep)))
		return -ENOTCONN;
	if (unlikely(!rpcrdma_sq_fits(ep, nr_wrs)))
		return -EIO;
	if (unlikely(ep->stream ||
		     !rpcrdma_conn_may_send(&ep->conn, RPCRDMA_KIND_CALL) ||
		     !rpcrdma_message_space(ep, nr_wrs))) {
		rpcrdma_want_space(ep, nr_wrs);
		return -EAGAIN;
	}
	return 0;
}

/**
 * rpcrdma_send_call - send a Call
 * @s: Send context with header and inline payload, @s->len octets
 * @mrs: regions its header names, or NULL
 * @format: for the counters
 * @lists: its chunk lists, or NULL
 *
 * Process context. Returns 0, -EAGAIN, -EIO or -ENOTCONN, see endpoint.h.
 */
int rpcrdma_send_call(struct rpcrdma_send *s, struct list_head *mrs,
		      enum rpcrdma_format format,
		      const struct rpcrdma_lists *lists)
{
	struct rpcrdma_ep *ep = s->ep;
	bool ok;
	int rc;

	rpcrdma_send_prepare(s, RPCRDMA_WORK_CALL, 0);
	/* The registrations go first, with the same doorbell. */
	s->work.nr_wrs += rpcrdma_mrs_chain(ep, mrs, &s->work.first);

	spin_lock(&ep->lock);
	rc = rpcrdma_call_check(ep, s->work.nr_wrs);
	if (unlikely(rc)) {
		spin_unlock(&ep->lock);
		return rc;
	}
	rpcrdma_mrs_expose(mrs);
	ok = rpcrdma_send_post(ep, s);
	rpcrdma_conn_count(&ep->conn, RPCRDMA_KIND_CALL, format, lists);
	spin_unlock(&ep->lock);
	if (unlikely(!ok))
		rpcrdma_ep_close(ep, "a Call could not be posted");
	return 0;
}

/* A Reply was queued, and what may go was posted. */
static void rpcrdma_reply_pumped(struct rpcrdma_ep *ep, bool ok)
{
	if (unlikely(!ok))
		rpcrdma_ep_close(ep, "a Reply could not be posted");
	else if (unlikely(READ_ONCE(ep->want_space)))
		/* It may have been the end of a stream that held up a Call. */
		rpcrdma_ep_pump(ep);
}

/**
 * rpcrdma_send_reply - send a Reply, in order
 * @s: Send context with header and inline payload, @s->len octets; taken, with
 *     @s->exposed
 * @rw: Writes to go first, or NULL; taken
 * @inv_handle: to Send With Invalidate, or 0
 * @format: for the counters
 * @lists: its chunk lists, or NULL
 *
 * Process context. Returns 0 or -ENOTCONN.
 */
int rpcrdma_send_reply(struct rpcrdma_send *s, struct rpcrdma_rw *rw,
		       u32 inv_handle, enum rpcrdma_format format,
		       const struct rpcrdma_lists *lists)
{
	struct rpcrdma_exposed *x = s->exposed;
	struct rpcrdma_ep *ep = s->ep;
	bool ok;

	rpcrdma_send_prepare(s, RPCRDMA_WORK_REPLY, inv_handle);
	rpcrdma_send_chain_rw(s, rw);
	if (x)
		s->work.nr_wrs += rpcrdma_mrs_chain(ep, &x->mrs,
						    &s->work.first);

	spin_lock(&ep->lock);
	if (unlikely(!rpcrdma_ep_is_open(ep))) {
		spin_unlock(&ep->lock);
		goto out_free;
	}
	if (unlikely(!rpcrdma_sq_fits(ep, s->work.nr_wrs))) {
		spin_unlock(&ep->lock);
		rpcrdma_ep_close(ep, "a Reply needs more Work Requests than the Send Queue has");
		goto out_free;
	}
	rpcrdma_conn_count(&ep->conn, RPCRDMA_KIND_REPLY, format, lists);
	list_add_tail(&s->work.list, &ep->reply_queue);
	ok = rpcrdma_pump_locked(ep);
	spin_unlock(&ep->lock);
	rpcrdma_reply_pumped(ep, ok);
	if (x)
		rpcrdma_ep_leave(ep);
	return 0;

out_free:
	rpcrdma_send_abort(s);
	/* The teardown, which was held off, releases it. */
	if (x)
		rpcrdma_ep_leave(ep);
	return -ENOTCONN;
}

/* ---- Continued messages ---- */

static void rpcrdma_stream_done(struct rpcrdma_work *work, bool ok)
{
	struct rpcrdma_stream *st = container_of(work, struct rpcrdma_stream,
						 work);

	if (st->rw)
		rpcrdma_rw_end(st->rw, false);
	rpcrdma_stream_free(st);
}

/**
 * rpcrdma_stream_alloc - prepare a message that is sent in parts
 * @kind: RPCRDMA_KIND_CALL or RPCRDMA_KIND_REPLY
 * @xid: of the RPC
 * @len: octets of Payload stream; the caller fills them in
 * @lists: its chunk lists, or NULL
 *
 * Process context; may sleep, without starting I/O. Returns NULL when there is
 * no memory.
 */
struct rpcrdma_stream *rpcrdma_stream_alloc(enum rpcrdma_kind kind, u32 xid,
					    u32 len,
					    const struct rpcrdma_lists *lists)
{
	struct rpcrdma_stream *st;

	st = kvmalloc(struct_size(st, data, len), GFP_NOFS);
	if (!st)
		return NULL;
	memset(st, 0, offsetof(struct rpcrdma_stream, lists));
	INIT_LIST_HEAD(&st->work.list);
	st->work.kind = RPCRDMA_WORK_STREAM;
	st->work.done = rpcrdma_stream_done;
	st->kind = kind;
	st->xid = xid;
	st->len = len;
	if (lists)
		st->lists = *lists;
	else
		rpcrdma_lists_init(&st->lists);
	st->nr_regs = 0;
	return st;
}

/**
 * rpcrdma_stream_free - give up a message that was not sent
 * @st: stream, or NULL
 */
void rpcrdma_stream_free(struct rpcrdma_stream *st)
{
	if (st && st->held_for)
		rpcrdma_ep_give(st->held_for, RPCRDMA_MEMORY_REPLIES,
				struct_size(st, data, st->len));
	kvfree(st);
}

/**
 * rpcrdma_send_continued_call - send a Call in parts
 * @ep: endpoint
 * @st: the Call; taken when this returns 0
 * @mrs: regions its last part names, or NULL
 *
 * The regions are registered with the first part, which is posted at once:
 * from then on @st knows nothing of them, and the RPC may end at any time.
 * Process context. Returns 0, -EAGAIN, -ENOTCONN or -EIO.
 */
int rpcrdma_send_continued_call(struct rpcrdma_ep *ep,
				struct rpcrdma_stream *st,
				struct list_head *mrs)
{
	bool ok;
	int rc;

	st->reg_first = NULL;
	st->nr_regs = rpcrdma_mrs_chain(ep, mrs, &st->reg_first);
	if (st->nr_regs)
		st->reg_last = &list_first_entry(mrs, struct rpcrdma_mr,
						 list)->reg_wr.wr;

	spin_lock(&ep->lock);
	rc = rpcrdma_call_check(ep, 1 + st->nr_regs);
	if (!rc && ep->nr_free_sends <= RPCRDMA_CONTROL_SENDS) {
		rpcrdma_want_space(ep, 1 + st->nr_regs);
		rc = -EAGAIN;
	}
	if (rc) {
		spin_unlock(&ep->lock);
		return rc;
	}
	rpcrdma_mrs_expose(mrs);
	ep->stream = st;
	ok = rpcrdma_pump_stream(ep);
	spin_unlock(&ep->lock);
	if (unlikely(!ok))
		rpcrdma_ep_close(ep, "a part of a Call could not be posted");
	return 0;
}

/**
 * rpcrdma_send_continued_reply - send a Reply in parts
 * @ep: endpoint
 * @st: the Reply; taken
 * @rw: Writes to go before its last part, or NULL; taken
 * @inv_handle: to invalidate with its last part, or 0
 *
 * Process context. Returns 0 or -ENOTCONN.
 */
int rpcrdma_send_continued_reply(struct rpcrdma_ep *ep,
				 struct rpcrdma_stream *st,
				 struct rpcrdma_rw *rw, u32 inv_handle)
{
	bool ok;

	st->rw = rw;
	st->inv_handle = inv_handle;
	st->held_for = ep;
	rpcrdma_ep_hold(ep, RPCRDMA_MEMORY_REPLIES,
			struct_size(st, data, st->len));
	spin_lock(&ep->lock);
	if (unlikely(!rpcrdma_ep_is_open(ep) ||
		     !rpcrdma_sq_fits(ep, 1 + (rw ? rw->work.nr_wrs : 0)))) {
		spin_unlock(&ep->lock);
		rpcrdma_stream_done(&st->work, false);
		rpcrdma_ep_close(ep, "a Reply needs more Work Requests than the Send Queue has");
		return -ENOTCONN;
	}
	list_add_tail(&st->work.list, &ep->reply_queue);
	ok = rpcrdma_pump_locked(ep);
	spin_unlock(&ep->lock);
	rpcrdma_reply_pumped(ep, ok);
	return 0;
}

/**
 * rpcrdma_ep_send_error - refuse a Call
 * @ep: endpoint
 * @xid: of the Call
 * @code: RDMA2_ERR_*
 * @arg0: first data word of the code, or 0
 * @arg1: second
 */
void rpcrdma_ep_send_error(struct rpcrdma_ep *ep, u32 xid, u32 code, u32 arg0,
			   u32 arg1)
{
	u32 events = 0;

	spin_lock(&ep->lock);
	if (rpcrdma_ep_is_open(ep))
		events = rpcrdma_conn_queue_error(&ep->conn, xid, code, arg0,
						  arg1);
	spin_unlock(&ep->lock);
	trace_rpcrdma_refuse(ep, xid, code);
	rpcrdma_ep_events(ep, events);
}

/**
 * rpcrdma_ep_send_done - a Reply that was to be pulled is of no more use
 * @ep: endpoint
 * @xid: of the Reply
 * @inv_handle: handle that it named, or 0
 */
void rpcrdma_ep_send_done(struct rpcrdma_ep *ep, u32 xid, u32 inv_handle)
{
	u32 events = 0;

	spin_lock(&ep->lock);
	if (rpcrdma_ep_is_open(ep))
		events = rpcrdma_conn_queue_done(&ep->conn, xid, inv_handle);
	spin_unlock(&ep->lock);
	rpcrdma_ep_events(ep, events);
}

/**
 * rpcrdma_ep_refused - what becomes of a Call that the peer refused
 * @ep: endpoint
 * @rx: the ERROR
 * @call: the Call's geometry, as for planning it
 * @offered: the lists it was sent with
 * @recovery: what to plan it with the next time
 *
 * Returns 0: send it again; or the errno that ends the RPC.
 */
int rpcrdma_ep_refused(struct rpcrdma_ep *ep, const struct rpcrdma_rx *rx,
		       const struct rpcrdma_call *call,
		       const struct rpcrdma_lists *offered,
		       struct rpcrdma_recovery *recovery)
{
	struct rpcrdma_conn_limits limits;
	int rc;

	spin_lock(&ep->lock);
	rc = rpcrdma_call_refused(&ep->conn, rx, call, offered, recovery);
	rpcrdma_conn_limits(&ep->conn, &limits);
	WRITE_ONCE(ep->limits.max_segs, limits.max_segs);
	spin_unlock(&ep->lock);
	return rc;
}
