/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Posting work, and retiring it. The lock is held. */
#ifndef RPCRDMA_CORE_POSTING_HH
#define RPCRDMA_CORE_POSTING_HH

#include "sends.hh"

namespace rpcrdma
{

/* Append @work to the posted work. */
[[gnu::always_inline]] static inline void append_posted(rpcrdma_ep_core *core,
							rpcrdma_work *work)
{
	work->next = nullptr;
	*core->inflight_end = work;
	core->inflight_end = &work->next;
}

/* Return true if the device took @work, and count it otherwise. */
[[gnu::always_inline]] static inline bool count_post(rpcrdma_ep_core *core,
						     const rpcrdma_work *work)
{
	if (work->post_failed) [[unlikely]]
		rpcrdma_port_count(core, RPCRDMA_COUNT_POSTS_REFUSED);
	return !work->post_failed;
}

/* From now on, a DONE or the time limit ends the exposure of @x. */
void expose_reply(rpcrdma_ep_core *core, rpcrdma_pull_entry *x);

/*
 * Post a stamped message. Its slots are reserved. Return false if the device refused
 * it; the same applies to the functions below. The work item is always consumed: if it
 * is refused, the connection ends, and the drain returns the item. Until then other
 * work may be posted. If the completion of that work covers this item, the item is
 * reported as failed.
 */
[[gnu::always_inline]] static inline bool submit_send(rpcrdma_ep_core *core,
						      rpcrdma_send *s)
{
	if (s->exposed) [[unlikely]] {
		expose_reply(core, s->exposed);
		s->exposed = nullptr;
	}
	append_posted(core, &s->work);
	core->conn.counters.bytes_sent += s->len;
	s->work.post_failed = !rpcrdma_port_post_send(core, s);
	return count_post(core, &s->work);
}

/* Count, stamp and post a queued message, or a message of a continued sequence. */
bool post_send(rpcrdma_ep_core *core, rpcrdma_send *s);

/* Post work for which there are slots, with @post. Return false if the device refused it. */
template <bool post(rpcrdma_ep_core *, rpcrdma_work *)>
[[gnu::always_inline]] static inline bool post_work(rpcrdma_ep_core *core,
						    rpcrdma_work *work)
{
	rpcrdma_sq_charge(&core->sq, &work->wrs);
	append_posted(core, work);
	work->post_failed = !post(core, work);
	return count_post(core, work);
}

/* Queue work without a message for slots. */
void queue_rdma(rpcrdma_ep_core *core, rpcrdma_work *work);

/*
 * Post work without a message, with @post, or queue it. Return false if it can never be
 * posted: it is not consumed then.
 */
template <bool post(rpcrdma_ep_core *, rpcrdma_work *)>
[[gnu::always_inline]] static inline bool post_rdma(rpcrdma_ep_core *core,
						    rpcrdma_work *work)
{
	if (is_closing(core))
		return false;
	switch (rpcrdma_sq_transfer(&core->sq, work->wrs.nr)) {
	case RPCRDMA_SQ_GO:
		if (!post_work<post>(core, work))
			core->todo |= RPCRDMA_TODO_RDMA_REFUSED;
		return true;
	case RPCRDMA_SQ_WAIT:
		queue_rdma(core, work);
		return true;
	case RPCRDMA_SQ_NEVER:
		break;
	}
	core->todo |= RPCRDMA_TODO_RDMA_REFUSED;
	return false;
}

/*
 * Retire all posted work, for which no more completions arrive; and all work that waits.
 * Append it to @done_list.
 */
void flush_posted(rpcrdma_ep_core *core, list_head *done_list);
void flush_waiting(rpcrdma_ep_core *core, list_head *done_list);

/* Post the batch of a transfer. Return false if the device refused it. */
bool post_batch(rpcrdma_ep_core *core, rpcrdma_work *work);

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_POSTING_HH */
