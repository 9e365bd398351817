// SPDX-License-Identifier: GPL-2.0
/* Sending: Send contexts, messages, and posting what the engine schedules. */

#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

/* ---- Send contexts ---- */

/*
 * Start the time limit of messages that wait for window, if there are any. Return
 * events, but only when the limit has expired. Caller holds ep->lock.
 */
static u32 rpcrdma_stall_watch(struct rpcrdma_ep *ep)
{
	struct rpcrdma_stall stall;

	lockdep_assert_held(&ep->lock);
	/*
	 * Don't start the timer once the connection is closing: the teardown would not
	 * stop it.
	 */
	if (ep->core.stall_watched || !rpcrdma_ep_is_open(ep))
		return 0;
	stall = rpcrdma_conn_stalled(&ep->core.conn, rpcrdma_sq_waits(&ep->core.sq),
				     rpcrdma_now_ms());
	if (stall.wait) {
		ep->core.stall_watched = true;
		queue_delayed_work(rpcrdma_wq, &ep->stall_timer,
				   msecs_to_jiffies(stall.wait) + 1);
	}
	return stall.events;
}

void rpcrdma_stall_expired(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, stall_timer);
	u32 events;

	spin_lock(&ep->lock);
	ep->core.stall_watched = false;
	events = rpcrdma_stall_watch(ep);
	spin_unlock(&ep->lock);
	rpcrdma_ep_events(ep, events);
}

bool rpcrdma_ep_may_call(struct rpcrdma_ep *ep)
{
	bool may;

	spin_lock(&ep->lock);
	may = rpcrdma_sq_may_call(&ep->core.conn, &ep->core.sq);
	if (!may)
		rpcrdma_stall_watch(ep);
	spin_unlock(&ep->lock);
	return may;
}

struct rpcrdma_send *rpcrdma_send_get(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s = NULL;

	spin_lock(&ep->lock);
	if (rpcrdma_sq_take(&ep->core.sq))
		s = rpcrdma_send_pop(ep);
	spin_unlock(&ep->lock);
	return s;
}

/**
 * rpcrdma_ep_ask_for_reply - return true if a Send context can be reserved for a Reply
 * @ep: endpoint
 *
 * Otherwise arranges for write_space().
 * Context: process context, no ep lock held.
 */
bool rpcrdma_ep_ask_for_reply(struct rpcrdma_ep *ep)
{
	bool may;

	spin_lock(&ep->lock);
	may = rpcrdma_sq_may_take_ahead(&ep->core.sq);
	spin_unlock(&ep->lock);
	return may;
}

struct rpcrdma_send *rpcrdma_send_reserve(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s = NULL;

	spin_lock(&ep->lock);
	if (likely(rpcrdma_sq_take_ahead(&ep->core.sq)))
		s = rpcrdma_send_pop(ep);
	spin_unlock(&ep->lock);
	return s;
}

/* ---- Posting; ep->lock held ---- */

/* Set up the Send Work Request for @s->len bytes. */
static void rpcrdma_send_prepare(struct rpcrdma_send *s, u8 kind,
				 u32 inv_handle)
{
	struct ib_send_wr *wr = &s->wr;

	s->sge.length = s->len;
	wr->send_flags = 0;
	if (inv_handle) {
		wr->opcode = IB_WR_SEND_WITH_INV;
		wr->ex.invalidate_rkey = inv_handle;
	} else {
		wr->opcode = IB_WR_SEND;
	}
	s->work.first = wr;
	s->work.wrs.nr = 1;
	s->work.wrs.signaled = s->len >= s->report;
	s->work.kind = kind;
}

/* Chain the Writes of @rw before @s. */
static void rpcrdma_send_chain_rw(struct rpcrdma_send *s, struct rpcrdma_rw *rw)
{
	if (likely(!rw))
		return;
	s->rw = rw;
	if (!rw->left)
		return;
	s->work.wrs.nr += rw->left;
	s->work.first = rpcrdma_rw_chain(rw, s->work.first);
	/* The completion frees the pages that the Writes read. */
	s->work.wrs.signaled = true;
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

/* Post a stamped message whose slots are reserved. */
static __always_inline bool rpcrdma_send_hand_over(struct rpcrdma_ep *ep,
						   struct rpcrdma_send *s)
{
	struct rpcrdma_exposed *x = s->exposed;

	lockdep_assert_held(&ep->lock);
	if (unlikely(x)) {
		/* From here on DONE, or the time limit, ends the exposure. */
		s->exposed = NULL;
		rpcrdma_mrs_expose(&x->mrs);
		rpcrdma_exposed_post(ep, x);
	}
	trace_rpcrdma_send(ep, s);
	ib_dma_sync_single_for_device(ep->device, s->sge.addr, s->len,
				      DMA_TO_DEVICE);
	return rpcrdma_work_hand_over(ep, &s->work);
}

/* Count, stamp and post a queued message, or a message of a continued sequence. */
static bool rpcrdma_send_post(struct rpcrdma_ep *ep, struct rpcrdma_send *s)
{
	lockdep_assert_held(&ep->lock);
	if (s->work.kind != RPCRDMA_WORK_CONTROL)
		rpcrdma_conn_stamp(&ep->core.conn, s->work.kind, s->buf);
	rpcrdma_sq_post(&ep->core.sq, &s->work.wrs);
	return rpcrdma_send_hand_over(ep, s);
}

/*
 * Return a context with space for @octets bytes for a message that is built under
 * ep->lock. If the allocation fails, return a context that has a buffer of that size
 * from earlier, or from the start (most connections have one). Return NULL if there is
 * none.
 */
static struct rpcrdma_send *rpcrdma_send_pop_room(struct rpcrdma_ep *ep,
						  u32 octets)
{
	struct rpcrdma_send *s = rpcrdma_send_pop(ep);
	struct rpcrdma_work **at;

	if (likely(octets <= s->size) ||
	    !rpcrdma_send_buffer(s, octets, GFP_ATOMIC | __GFP_NOWARN))
		return s;
	rpcrdma_send_push(ep, s);
	for (at = &ep->core.free_sends; *at; at = &(*at)->next) {
		s = container_of(*at, struct rpcrdma_send, work);
		if (octets > s->size)
			continue;
		*at = s->work.next;
		return s;
	}
	while (ep->core.sends_made < ep->core.nr_sends) {
		s = rpcrdma_send_make(ep);
		if (octets <= s->size)
			return s;
		rpcrdma_send_push(ep, s);
	}
	rpcrdma_sq_give(&ep->core.sq);
	return NULL;
}

/*
 * Post a control message. Here and below, false means that the device refused the
 * message or that memory was short.
 */
static bool rpcrdma_control_post(struct rpcrdma_ep *ep)
{
	struct rpcrdma_send *s = rpcrdma_send_pop_room(ep, RPCRDMA_SMALL_SEND);
	struct rpcrdma_control control;

	if (unlikely(!s))
		return false;
	control = rpcrdma_conn_next_control(&ep->core.conn, s->buf, s->size);
	s->len = control.octets;
	rpcrdma_send_prepare(s, RPCRDMA_WORK_CONTROL, control.inv_handle);
	return rpcrdma_send_post(ep, s);
}

/* Return the next message of the continued sequence @st. */
static struct rpcrdma_part rpcrdma_stream_next(struct rpcrdma_ep *ep,
					       const struct rpcrdma_stream *st)
{
	return rpcrdma_next_part(&ep->core.conn, &st->lists, st->len - st->sent);
}

/*
 * Post the next message of @st. Until its last message is posted, @st is the first of
 * the queued messages, and no other Call or Reply may be sent (WP 6).
 */
static bool rpcrdma_part_post(struct rpcrdma_ep *ep, struct rpcrdma_stream *st)
{
	struct rpcrdma_part part;
	struct rpcrdma_send *s;

	s = rpcrdma_send_pop_room(ep, rpcrdma_conn_send_octets(&ep->core.conn));
	if (unlikely(!s)) {
		/* It ends with the other queued messages. */
		list_move(&st->work.list, &ep->core.messages);
		return false;
	}
	part = rpcrdma_stream_next(ep, st);
	s->header_len = rpcrdma_encode_rpc(&ep->core.conn, s->buf, s->size, st->kind,
					   RPCRDMA_CONTINUED, st->xid,
					   part.more,
					   part.more ? NULL : &st->lists);
	memcpy(s->buf + s->header_len, st->data + st->sent, part.octets);
	s->len = s->header_len + part.octets;
	rpcrdma_send_prepare(s, st->kind, part.more ? 0 : st->inv_handle);
	if (st->nr_regs) {
		st->reg_last->next = s->work.first;
		s->work.first = st->reg_first;
		s->work.wrs.nr += st->nr_regs;
		st->nr_regs = 0;
	}
	st->sent += part.octets;
	if (!part.more) {
		rpcrdma_send_chain_rw(s, st->rw);
		st->rw = NULL;
		/* It is freed when the lock is not held. */
		list_del_init(&st->work.list);
		s->stream = st;
		/* A Call may be waiting until its bytes are uncharged. */
		if (st->held_for)
			s->work.wrs.signaled = true;
		rpcrdma_conn_count(&ep->core.conn, st->kind, RPCRDMA_CONTINUED,
				   &st->lists);
	} else if (list_empty(&st->work.list)) {
		list_add(&st->work.list, &ep->core.messages);
	}
	return rpcrdma_send_post(ep, s);
}

/* Post the first queued message, or the next message of its continued sequence. */
static bool rpcrdma_message_post(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work;

	work = list_first_entry(&ep->core.messages, struct rpcrdma_work, list);
	if (work->kind == RPCRDMA_WORK_STREAM)
		return rpcrdma_part_post(ep,
					 container_of(work,
						      struct rpcrdma_stream,
						      work));
	list_del_init(&work->list);
	return rpcrdma_send_post(ep, container_of(work, struct rpcrdma_send,
						  work));
}

/* Describe the first entries of the queues to the engine. */
static void rpcrdma_waits_first(struct rpcrdma_ep *ep,
				struct rpcrdma_sq_first *first)
{
	struct rpcrdma_stream *st;
	struct rpcrdma_work *work;

	if (ep->core.sq.transfers) {
		work = list_first_entry(&ep->core.transfers, struct rpcrdma_work,
					list);
		first->transfer_wrs = work->wrs.nr;
	}
	if (!ep->core.sq.messages)
		return;
	work = list_first_entry(&ep->core.messages, struct rpcrdma_work, list);
	first->message_wrs = work->wrs.nr;
	first->kind = work->kind;
	first->parts = work->kind == RPCRDMA_WORK_STREAM;
	first->more = false;
	if (first->parts) {
		st = container_of(work, struct rpcrdma_stream, work);
		first->kind = st->kind;
		first->more = rpcrdma_stream_next(ep, st).more;
		first->message_wrs = 1 + st->nr_regs;
		if (!first->more && st->rw)
			first->message_wrs += st->rw->left;
	}
}

/* Action that remains after posting, without the lock */
enum rpcrdma_pumped {
	RPCRDMA_PUMPED,
	RPCRDMA_PUMPED_RETRY,		/* write_space() */
	RPCRDMA_PUMPED_REFUSED,		/* by the device: close */
};

/* Post as much as the engine schedules, in its order. */
static enum rpcrdma_pumped rpcrdma_pump_locked(struct rpcrdma_ep *ep)
{
	enum rpcrdma_pumped rc = RPCRDMA_PUMPED;
	struct rpcrdma_sq_first first = {};
	bool ok = ep->core.life.may_send;

	lockdep_assert_held(&ep->lock);
	if (!ok)
		return rc;
	while (ok) {
		rpcrdma_waits_first(ep, &first);
		switch (rpcrdma_sq_next(&ep->core.conn, &ep->core.sq, &first)) {
		case RPCRDMA_TURN_CONTROL:
			ok = rpcrdma_control_post(ep);
			break;
		case RPCRDMA_TURN_TRANSFER:
			ok = rpcrdma_transfer_post(ep);
			break;
		case RPCRDMA_TURN_MESSAGE:
			ok = rpcrdma_message_post(ep);
			break;
		case RPCRDMA_TURN_RETRY:
			rc = RPCRDMA_PUMPED_RETRY;
			break;
		case RPCRDMA_TURN_NONE:
			if (unlikely(ep->core.sq.messages || ep->core.conn.pend_count))
				rpcrdma_stall_watch(ep);
			return rc;
		}
	}
	return RPCRDMA_PUMPED_REFUSED;
}

/* Act on the result of posting. No lock held. */
static void rpcrdma_pumped(struct rpcrdma_ep *ep, enum rpcrdma_pumped rc)
{
	if (unlikely(rc == RPCRDMA_PUMPED_REFUSED))
		rpcrdma_ep_close(ep, "a Send could not be posted");
	else if (unlikely(rc == RPCRDMA_PUMPED_RETRY))
		rpcrdma_ep_write_space(ep);
}

/**
 * rpcrdma_ep_pump - post what can be sent now
 * @ep: endpoint
 *
 * Called after any event that may have opened the window, freed space or made a control
 * message due.
 * Context: process context, no ep lock held.
 */
void rpcrdma_ep_pump(struct rpcrdma_ep *ep)
{
	enum rpcrdma_pumped rc;

	spin_lock(&ep->lock);
	rc = rpcrdma_pump_locked(ep);
	spin_unlock(&ep->lock);
	rpcrdma_pumped(ep, rc);
}

/*
 * Work function of ep->reap_work: retire completed work, and post work that waited for
 * it.
 */
void rpcrdma_works_reap(struct work_struct *item)
{
	struct rpcrdma_ep *ep = container_of(item, struct rpcrdma_ep, reap_work);
	enum rpcrdma_pumped rc = RPCRDMA_PUMPED;
	struct llist_node *node;
	LIST_HEAD(through);

	/*
	 * If the device does not stop, the teardown reaps, after it has destroyed the
	 * queue pair.
	 */
	if (unlikely(READ_ONCE(ep->core.life.unstopped)))
		return;
	node = llist_reverse_order(llist_del_all(&ep->completed));
	spin_lock(&ep->lock);
	while (node) {
		struct rpcrdma_work *work =
			llist_entry(node, struct rpcrdma_work, completed);

		node = node->next;
		rpcrdma_work_reap(ep, work, &through);
	}
	if (unlikely(rpcrdma_sq_wanted(&ep->core.sq)))
		rc = rpcrdma_pump_locked(ep);
	spin_unlock(&ep->lock);
	rpcrdma_work_tell(&through, true);
	rpcrdma_pumped(ep, rc);
	rpcrdma_works_check(ep);
}

/**
 * rpcrdma_send_put - release a Send context that was not sent
 * @s: Send context, with the work attached to it
 */
void rpcrdma_send_put(struct rpcrdma_send *s)
{
	enum rpcrdma_pumped rc = RPCRDMA_PUMPED;
	struct rpcrdma_ep *ep = s->ep;
	LIST_HEAD(through);

	spin_lock(&ep->lock);
	rpcrdma_send_reap(s, &through);
	if (unlikely(rpcrdma_sq_wanted(&ep->core.sq)))
		rc = rpcrdma_pump_locked(ep);
	spin_unlock(&ep->lock);
	rpcrdma_work_tell(&through, false);
	rpcrdma_pumped(ep, rc);
}

/**
 * rpcrdma_ep_do_events - do what the engine has requested
 * @ep: endpoint
 * @events: RPCRDMA_EV_* as an engine call returned them
 */
void rpcrdma_ep_do_events(struct rpcrdma_ep *ep, u32 events)
{
	if (events & RPCRDMA_EV_CLOSE) {
		rpcrdma_ep_close(ep, ep->core.conn.reason);
		return;
	}
	/* Version 1 posts all its Receives before any traffic. */
	if (events & RPCRDMA_EV_RECEIVES)
		ep->receives_due(ep);
	if (events & RPCRDMA_EV_OPENED)
		ep->opened(ep);
	if (events & RPCRDMA_EV_ODD)
		rpcrdma_ep_odd(ep);
	if (events & (RPCRDMA_EV_CONTROL | RPCRDMA_EV_WINDOW))
		rpcrdma_ep_pump(ep);
}

/* ---- Sending RPCs ---- */

/* Slow path of rpcrdma_send_begin(): allocate a larger buffer. */
int rpcrdma_send_begin_larger(struct rpcrdma_send *s, enum rpcrdma_kind kind,
			      enum rpcrdma_format format, u32 xid, u32 octets,
			      const struct rpcrdma_lists *lists, gfp_t gfp)
{
	u32 header = rpcrdma_header_octets(&s->ep->core.conn, lists);
	int rc;

	rc = rpcrdma_send_larger(s, header + octets, gfp);
	if (rc)
		return rc;
	s->header_len = rpcrdma_encode_rpc(&s->ep->core.conn, s->buf, s->size, kind,
					   format, xid, false, lists);
	s->len = s->header_len + octets;
	return 0;
}

/* Chain the registrations of @mrs before *@first. Return their number. */
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

/*
 * Take ep->lock. Return true if bottom halves have been disabled.
 *
 * soft-RoCE, up to Linux 6.4, sends in a softirq. If bottom halves are enabled, it
 * wakes a thread for that. If they are disabled, this thread runs the softirq, in
 * rpcrdma_post_end(). That is done for a message that is posted alone: if there are
 * several, the woken thread sends and completes one after the other.
 */
static __always_inline bool rpcrdma_post_begin(struct rpcrdma_ep *ep,
					       enum rpcrdma_kind kind)
	__acquires(&ep->lock)
{
	bool alone = ep->softirq && rpcrdma_conn_alone(&ep->core.conn, kind);

	if (alone)
		local_bh_disable();
	spin_lock(&ep->lock);
	return alone;
}

static __always_inline void rpcrdma_post_end(struct rpcrdma_ep *ep, bool alone)
	__releases(&ep->lock)
{
	spin_unlock(&ep->lock);
	if (alone)
		local_bh_enable();
}

/* Return the errno for the engine's answer to a Call. Caller holds ep->lock. */
static int rpcrdma_call_rc(struct rpcrdma_ep *ep, enum rpcrdma_sq_answer may)
{
	if (likely(may == RPCRDMA_SQ_GO))
		return 0;
	if (may == RPCRDMA_SQ_NEVER)
		return -EIO;
	rpcrdma_stall_watch(ep);
	return -EAGAIN;
}

int rpcrdma_send_call(struct rpcrdma_send *s, struct list_head *mrs,
		      enum rpcrdma_format format,
		      const struct rpcrdma_lists *lists,
		      struct rpcrdma_exchange *x)
{
	struct rpcrdma_ep *ep = s->ep;
	bool ok, alone;
	int rc;

	rpcrdma_send_prepare(s, RPCRDMA_WORK_CALL, 0);
	/* The registrations precede it, with the same doorbell. */
	s->work.wrs.nr += rpcrdma_mrs_chain(ep, mrs, &s->work.first);

	alone = rpcrdma_post_begin(ep, RPCRDMA_KIND_CALL);
	rc = -ENOTCONN;
	if (likely(rpcrdma_ep_is_open(ep)))
		rc = rpcrdma_call_rc(ep, rpcrdma_sq_call(&ep->core.conn, &ep->core.sq,
							 &s->work.wrs, s->buf,
							 format, lists));
	if (unlikely(rc)) {
		rpcrdma_post_end(ep, alone);
		return rc;
	}
	ep->core.call_send = rpcrdma_send_pop(ep);
	rpcrdma_mrs_expose(mrs);
	if (x)
		rpcrdma_exchange_sent(x, &ep->core.conn, false);
	ok = rpcrdma_send_hand_over(ep, s);
	rpcrdma_post_end(ep, alone);
	if (unlikely(!ok))
		rpcrdma_ep_close(ep, "a Call could not be posted");
	return 0;
}

/*
 * Post or queue a Reply. Return 0, or -EIO if it can never be posted. Caller holds
 * ep->lock.
 */
static int rpcrdma_reply_post(struct rpcrdma_ep *ep, struct rpcrdma_send *s,
			      enum rpcrdma_format format,
			      const struct rpcrdma_lists *lists,
			      enum rpcrdma_pumped *pumped)
{
	enum rpcrdma_sq_answer may;

	lockdep_assert_held(&ep->lock);
	may = rpcrdma_sq_reply(&ep->core.conn, &ep->core.sq, &s->work.wrs, s->buf, format,
			       lists);
	if (unlikely(may == RPCRDMA_SQ_NEVER))
		return -EIO;
	if (unlikely(may == RPCRDMA_SQ_WAIT)) {
		list_add_tail(&s->work.list, &ep->core.messages);
		*pumped = rpcrdma_pump_locked(ep);
	} else if (unlikely(!rpcrdma_send_hand_over(ep, s))) {
		*pumped = RPCRDMA_PUMPED_REFUSED;
	}
	return 0;
}

/*
 * Queue a Reply after those that wait: a continued one, or one whose Writes have
 * completed. Return false if it needs more Work Requests than the Send Queue has.
 * Caller holds ep->lock.
 */
static bool rpcrdma_reply_queue(struct rpcrdma_ep *ep,
				struct rpcrdma_work *reply, u32 nr_wrs,
				enum rpcrdma_pumped *pumped)
{
	lockdep_assert_held(&ep->lock);
	if (unlikely(rpcrdma_sq_reply_waits(&ep->core.sq, nr_wrs) !=
		     RPCRDMA_SQ_WAIT))
		return false;
	list_add_tail(&reply->list, &ep->core.messages);
	*pumped = rpcrdma_pump_locked(ep);
	return true;
}

static const char rpcrdma_reply_too_long[] =
	"a Reply needs more Work Requests than the Send Queue has";

/*
 * rw->behind(): the Writes that were posted before a Reply have completed, or never
 * will. Queue the Reply, or release it.
 */
static void rpcrdma_reply_behind(struct rpcrdma_rw *rw, bool ok)
{
	enum rpcrdma_pumped pumped = RPCRDMA_PUMPED;
	struct rpcrdma_work *reply = rw->reply;
	struct rpcrdma_ep *ep = rw->ep;
	bool open, taken = false;
	LIST_HEAD(through);

	spin_lock(&ep->lock);
	open = rpcrdma_ep_is_open(ep);
	if (likely(ok && open))
		taken = rpcrdma_reply_queue(ep, reply, reply->wrs.nr, &pumped);
	if (unlikely(!taken)) {
		if (reply->kind == RPCRDMA_WORK_STREAM)
			list_add_tail(&reply->list, &through);
		else
			rpcrdma_send_reap(container_of(reply,
						       struct rpcrdma_send,
						       work), &through);
	}
	spin_unlock(&ep->lock);
	rpcrdma_work_tell(&through, false);
	rpcrdma_pumped(ep, pumped);
	if (unlikely(ok && open && !taken))
		rpcrdma_ep_close(ep, rpcrdma_reply_too_long);
}

/*
 * Post the Writes of @rw. Then send @reply, which is complete except for its credits.
 */
static void rpcrdma_reply_after(struct rpcrdma_rw *rw,
				struct rpcrdma_work *reply)
{
	rw->reply = reply;
	rpcrdma_rw_write(rw, rpcrdma_reply_behind);
}

/* Send a single-message Reply that does not fit into one chain with its Writes. */
static noinline_for_stack int
rpcrdma_send_reply_after(struct rpcrdma_rw *rw, struct rpcrdma_send *s,
			 enum rpcrdma_format format,
			 const struct rpcrdma_lists *lists)
{
	struct rpcrdma_ep *ep = s->ep;
	bool open;

	spin_lock(&ep->lock);
	open = rpcrdma_ep_is_open(ep);
	if (open)
		rpcrdma_conn_count(&ep->core.conn, RPCRDMA_KIND_REPLY, format,
				   lists);
	spin_unlock(&ep->lock);
	/* If the connection is not open, this releases the Reply. */
	rpcrdma_reply_after(rw, &s->work);
	return open ? 0 : -ENOTCONN;
}

int rpcrdma_send_reply(struct rpcrdma_send *s, struct rpcrdma_rw *rw,
		       u32 inv_handle, enum rpcrdma_format format,
		       const struct rpcrdma_lists *lists)
{
	enum rpcrdma_pumped pumped = RPCRDMA_PUMPED;
	struct rpcrdma_exposed *x = s->exposed;
	struct rpcrdma_ep *ep = s->ep;
	bool alone;
	int rc = 0;

	rpcrdma_send_prepare(s, RPCRDMA_WORK_REPLY, inv_handle);
	if (unlikely(x))
		s->work.wrs.nr += rpcrdma_mrs_chain(ep, &x->mrs,
						    &s->work.first);
	if (unlikely(rw) &&
	    !rpcrdma_sq_in_chain(&ep->core.sq, s->work.wrs.nr, rw->left)) {
		rc = rpcrdma_send_reply_after(rw, s, format, lists);
		goto out;
	}
	rpcrdma_send_chain_rw(s, rw);

	alone = rpcrdma_post_begin(ep, RPCRDMA_KIND_REPLY);
	if (likely(rpcrdma_ep_is_open(ep)))
		rc = rpcrdma_reply_post(ep, s, format, lists, &pumped);
	else
		rc = -ENOTCONN;
	rpcrdma_post_end(ep, alone);
	rpcrdma_pumped(ep, pumped);
	if (unlikely(rc == -EIO))
		rpcrdma_ep_close(ep, rpcrdma_reply_too_long);
	if (unlikely(rc))
		rpcrdma_send_put(s);
out:
	/*
	 * The teardown, which was held off, releases the exposure if the Reply could
	 * not be sent.
	 */
	if (x)
		rpcrdma_ep_leave(ep);
	return rc ? -ENOTCONN : 0;
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

struct rpcrdma_stream *rpcrdma_stream_alloc(enum rpcrdma_kind kind, u32 xid,
					    u32 len,
					    const struct rpcrdma_lists *lists,
					    gfp_t gfp)
{
	struct rpcrdma_stream *st;

	st = kvmalloc(struct_size(st, data, len), gfp);
	if (!st)
		return NULL;
	memset(st, 0, offsetof(struct rpcrdma_stream, lists));
	INIT_LIST_HEAD(&st->work.list);
	st->work.kind = RPCRDMA_WORK_STREAM;
	st->work.wrs.nr = 1;
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

void rpcrdma_stream_free(struct rpcrdma_stream *st)
{
	if (st && st->held_for)
		rpcrdma_ep_give(st->held_for, RPCRDMA_MEMORY_REPLIES,
				struct_size(st, data, st->len));
	kvfree(st);
}

int rpcrdma_send_continued_call(struct rpcrdma_ep *ep,
				struct rpcrdma_stream *st,
				struct list_head *mrs,
				struct rpcrdma_exchange *x)
{
	enum rpcrdma_pumped pumped = RPCRDMA_PUMPED_REFUSED;
	int rc = -ENOTCONN;
	bool more;

	st->reg_first = NULL;
	st->nr_regs = rpcrdma_mrs_chain(ep, mrs, &st->reg_first);
	if (st->nr_regs)
		st->reg_last = &list_first_entry(mrs, struct rpcrdma_mr,
						 list)->reg_wr.wr;

	spin_lock(&ep->lock);
	if (likely(rpcrdma_ep_is_open(ep))) {
		more = rpcrdma_stream_next(ep, st).more;
		rc = rpcrdma_call_rc(ep, rpcrdma_sq_call_in_parts(&ep->core.conn,
								  &ep->core.sq,
								  1 + st->nr_regs,
								  more));
	}
	if (rc) {
		spin_unlock(&ep->lock);
		return rc;
	}
	rpcrdma_mrs_expose(mrs);
	if (x)
		rpcrdma_exchange_sent(x, &ep->core.conn, true);
	if (rpcrdma_part_post(ep, st))
		pumped = rpcrdma_pump_locked(ep);
	spin_unlock(&ep->lock);
	rpcrdma_pumped(ep, pumped);
	return 0;
}

int rpcrdma_send_continued_reply(struct rpcrdma_ep *ep,
				 struct rpcrdma_stream *st,
				 struct rpcrdma_rw *rw, u32 inv_handle)
{
	enum rpcrdma_pumped pumped = RPCRDMA_PUMPED;
	u32 nr_wrs = st->work.wrs.nr;
	bool taken = false;

	st->inv_handle = inv_handle;
	st->held_for = ep;
	rpcrdma_ep_hold(ep, RPCRDMA_MEMORY_REPLIES,
			struct_size(st, data, st->len));
	if (rw && !rpcrdma_sq_in_chain(&ep->core.sq, nr_wrs, rw->left)) {
		rpcrdma_reply_after(rw, &st->work);
		return 0;
	}
	st->rw = rw;
	if (rw)
		nr_wrs += rw->left;
	spin_lock(&ep->lock);
	if (likely(rpcrdma_ep_is_open(ep)))
		taken = rpcrdma_reply_queue(ep, &st->work, nr_wrs, &pumped);
	spin_unlock(&ep->lock);
	rpcrdma_pumped(ep, pumped);
	if (likely(taken))
		return 0;
	rpcrdma_stream_done(&st->work, false);
	rpcrdma_ep_close(ep, rpcrdma_reply_too_long);
	return -ENOTCONN;
}
