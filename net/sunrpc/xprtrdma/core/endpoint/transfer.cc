// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transfers: Reads of Calls and of pulled Replies, and Writes of Replies. This file
 * decides how a chunk is split into parts, which parts are posted at once, and what
 * follows when they have completed.
 *
 * Operation
 *
 * A transfer is built part by part; a part is prepared by the host when it is added.
 * The parts are posted in batches, each one chain of Work Requests with one signaled
 * completion. The next batch is posted, or queued for the Send Queue, when the last
 * one has completed. If the Writes of a Reply do not fit into its chain, they are
 * posted as a transfer, and the Reply is queued after their last batch. A Read that
 * lacks MRs waits: it returns the MRs that it has, and is prepared again as a whole
 * when others have ended (queue/read_mr_pool.cc). Its remaining parts are added before
 * that, without being prepared, so that it needs its source, the received message, no
 * longer.
 *
 * Memory
 *
 * The host allocates and frees transfers and parts. When a transfer ends, the host
 * unmaps its parts and calls the owner back, once, unless it is a Call, which calls.cc
 * continues. Then the Reads that wait for MRs are retried, because there may be enough
 * now.
 *
 * Errors
 *
 * If the device can map less of a part than planned, the limits of this transfer are
 * reduced, and the part is split again. Until it is posted, a transfer that cannot be
 * built belongs to its caller, which frees it with its error; rpcrdma_core_prepare_one()
 * ends one of a single part itself. If a Read that has waited cannot be prepared, it ends,
 * and its callback gets @ok false. An error of the device closes the connection, and the
 * transfer ends in the teardown.
 *
 * Locking
 *
 * A transfer is built and ended without the lock, because it belongs to one context at
 * a time. Its claim to MRs, the queue of waiting Reads, and everything about posting
 * are protected by the lock of the connection.
 */
#include "../one_part.h"
#include "../transfer_end.h"
#include "posting.hh"

namespace rpcrdma
{

namespace
{

[[gnu::always_inline]] inline rpcrdma_transfer *transfer_of(rpcrdma_work *work)
{
	static_assert(__builtin_offsetof(rpcrdma_transfer, work) == 0);
	return reinterpret_cast<rpcrdma_transfer *>(work);
}

/* Return the part with the entry @entry. */
[[gnu::always_inline]] inline rpcrdma_transfer_part *part_of(list_head *entry)
{
	return list_object<rpcrdma_transfer_part>(entry);
}

/* Retry the transfers that wait for MRs, if there are any. The lock is held. */
void wake_reads(rpcrdma_ep_core *core)
{
	if (rpcrdma_read_wanted(&core->rw.pool)) [[unlikely]]
		rpcrdma_port_wake_reads(core);
}

/* An event of a transfer's claim to MRs */
enum claim_event {
	CLAIM_BEGUN,
	/*
	 * a part could not be prepared, with an errno; QUEUE_TAIL: the transfer waits
	 */
	CLAIM_SHORT,
	CLAIM_RETURNED, /* it holds no MRs any more */
	/* an MR holds less than t->limits permits; POST: split it again */
	CLAIM_FINER,
	/* it had waited, and was prepared again: 0 or an errno */
	CLAIM_TRIED,
	CLAIM_OVER, /* it has ended */
};

/*
 * Handle an event of a transfer's claim to MRs. @status: 0 or a negative errno. Return
 * how to continue with the transfer. No lock held.
 */
enum rpcrdma_read_result claim(rpcrdma_transfer *t, claim_event event,
			       int status = 0)
{
	rpcrdma_ep_core *core = t->core;
	const locked under(core);
	rpcrdma_read_pool *pool = &core->rw.pool;
	enum rpcrdma_read_result turn = RPCRDMA_READ_POST;

	switch (event) {
	case CLAIM_BEGUN:
		rpcrdma_read_begin(pool, &t->claim);
		break;
	case CLAIM_SHORT:
		turn = rpcrdma_read_short(pool, &t->claim, status) ?
			       RPCRDMA_READ_QUEUE_TAIL :
			       RPCRDMA_READ_FAIL;
		break;
	case CLAIM_FINER:
		if (!rpcrdma_mr_limits_reduce(&core->rw.limits, &t->limits))
			turn = RPCRDMA_READ_FAIL;
		break;
	case CLAIM_TRIED:
		turn = rpcrdma_read_tried(pool, &t->claim, status,
					  is_closing(core));
		if (turn == RPCRDMA_READ_QUEUE_HEAD)
			list_push_front(&t->work.list, &core->rw.waiting);
		break;
	case CLAIM_OVER:
		rpcrdma_read_over(pool, &t->claim);
		[[fallthrough]];
	case CLAIM_RETURNED:
		wake_reads(core);
		break;
	}
	return turn;
}

/*
 * Remove the first of the transfers that wait for MRs, or return null. No lock held.
 */
rpcrdma_transfer *next_read(rpcrdma_ep_core *core)
{
	const locked under(core);
	rpcrdma_work *work;

	if (list_is_empty(&core->rw.waiting))
		return nullptr;
	work = list_first<rpcrdma_work>(&core->rw.waiting);
	list_remove(&work->list);
	return transfer_of(work);
}

/*
 * Queue the Reply whose Writes have completed. If it cannot be sent, append it, or the
 * work that is attached to it, to @done_list.
 */
void queue_written(rpcrdma_ep_core *core, rpcrdma_work *reply, bool ok,
		   list_head *done_list)
{
	ok = ok && is_open(core);
	if (ok && queue_reply(core, reply, reply->wrs.nr)) [[likely]]
		return;
	if (ok)
		core->todo |= RPCRDMA_TODO_TOO_LONG;
	if (reply->kind == RPCRDMA_WORK_STREAM) {
		list_push_back(&reply->list, done_list);
		return;
	}
	/* The teardown releases the memory that the Reply was to expose. */
	send_of(reply)->exposed = nullptr;
	free_up_send(core, send_of(reply), done_list);
}

/* Unmap all parts: the transfer holds no MRs any more. */
void unprepare(rpcrdma_transfer *t)
{
	for (list_head *at = t->parts.next; at != &t->parts; at = at->next) {
		rpcrdma_transfer_part *part = part_of(at);

		if (part->wrs)
			rpcrdma_port_unprepare(t, part);
		part->wrs = 0;
	}
	t->left = 0;
}

/*
 * Return the status @rc of a part, and count a failure, unless MRs are missing or too
 * small.
 */
int not_prepared(rpcrdma_transfer *t, int rc)
{
	if (rc != -E_AGAIN && rc != -E_RANGE)
		rpcrdma_port_count(t->core, RPCRDMA_COUNT_MAP_FAILURES);
	return rc;
}

/* Prepare all parts of a transfer that has waited. Return 0 or a negative errno. */
int prepare_all(rpcrdma_transfer *t)
{
	for (list_head *at = t->parts.next; at != &t->parts; at = at->next) {
		const int wrs = rpcrdma_port_prepare(t, part_of(at));

		if (wrs < 0)
			return not_prepared(t, wrs);
		rpcrdma_transfer_prepared(t, part_of(at), wrs);
	}
	return 0;
}

/*
 * Handle the failure @rc to prepare a part. Return 0 if the transfer waits for MRs, with
 * nothing prepared; otherwise @rc.
 */
int fall_short(rpcrdma_transfer *t, int rc)
{
	if (claim(t, CLAIM_SHORT, rc) != RPCRDMA_READ_QUEUE_TAIL)
		return rc;
	unprepare(t);
	claim(t, CLAIM_RETURNED);
	return 0;
}

/*
 * Append a part: the peer's memory in @segment, and the memory at @pos, which advances.
 * Return 0 or a negative errno: -E_RANGE, with nothing appended, if it has to be split
 * further.
 */
[[gnu::always_inline]] inline int add_part(rpcrdma_transfer *t,
					   rpcrdma_extent_pos *pos,
					   const rpcrdma_segment *segment)
{
	const rpcrdma_ep_rw *rw = &t->core->rw;
	const rpcrdma_read_pool *pool = &rw->pool;
	rpcrdma_transfer_part *part = nullptr;
	const u32 pages = rpcrdma_extent_pages(pos, segment->length,
					       rw->limits.page_shift);
	int rc;

	if (!pages) [[unlikely]]
		return -E_INVAL;
	rc = rpcrdma_port_part(t, pos, pages, segment, !t->claim.waits, &part);
	if (!part) [[unlikely]]
		return rc;
	rpcrdma_extent_skip(pos, segment->length);
	list_push_back(&part->list, &t->parts);
	rpcrdma_read_add(pool, &t->claim, part->elements);
	if (rc >= 0) [[likely]]
		rpcrdma_transfer_prepared(t, part, rc);
	else
		rc = fall_short(t, not_prepared(t, rc));
	if (rc < 0) [[unlikely]]
		return rc;
	return rpcrdma_read_fits(pool, &t->claim) ? 0 : -E_2BIG;
}

/*
 * Return the length of the next part, at most @left: no more than is posted at once,
 * because batches end between parts, and than one MR can hold, if MRs are used.
 */
u32 part_length(rpcrdma_transfer *t, const rpcrdma_extent_pos *pos, u32 left)
{
	const rpcrdma_ep_rw *rw = &t->core->rw;

	if (!t->claim.reads)
		return min_u32(left, rw->write_part);
	if (!rw->reads_into_mrs) [[likely]]
		return min_u32(left, rw->read_part);
	t->limits = rw->limits;
	return rpcrdma_extent_mr_len(pos, &t->limits, left);
}

/* Append the transfer of a segment, in parts. */
int add_segment(rpcrdma_transfer *t, rpcrdma_extent_pos *pos,
		const rpcrdma_segment *segment)
{
	rpcrdma_segment part = *segment;
	u32 left = segment->length;

	while (left) {
		part.length = part_length(t, pos, left);

		const int rc = add_part(t, pos, &part);

		if (rc == -E_RANGE) [[unlikely]] {
			if (claim(t, CLAIM_FINER) == RPCRDMA_READ_FAIL)
				return -E_INVAL;
			continue;
		}
		if (rc)
			return rc;
		part.offset += part.length;
		left -= part.length;
	}
	return 0;
}

/*
 * Choose the parts of the next batch: as many as are posted at once, at least one. Their
 * Work Requests are counted for the Send Queue.
 */
void choose_batch(const rpcrdma_sq *sq, rpcrdma_transfer *t)
{
	list_head *last = t->posted->next;
	u32 nr = part_of(last)->wrs;

	while (last->next != &t->parts) {
		const u32 wrs = part_of(last->next)->wrs;

		if (nr + wrs > rpcrdma_sq_max_batch_wrs(sq))
			break;
		nr += wrs;
		last = last->next;
	}
	t->batch = last;
	t->left -= nr;
	t->work.wrs.nr = nr;
	t->work.wrs.signaled = true;
}

/* post_batch() */
[[gnu::always_inline]] inline bool post_parts(rpcrdma_ep_core *core,
					      rpcrdma_work *work)
{
	rpcrdma_transfer *t = transfer_of(work);
	const bool ok = rpcrdma_port_post_batch(core, t);

	t->posted = t->batch;
	return ok;
}

/* EMPTY: there is nothing to transfer. NEVER: the connection ends. */
enum posted {
	POSTED,
	EMPTY,
	NEVER
};

/* Post the next batch, or queue it for space in the Send Queue, or @t for MRs. */
[[gnu::always_inline]] inline enum posted post_next(rpcrdma_ep_core *core,
						    rpcrdma_transfer *t)
{
	if (list_is_empty(&t->parts)) [[unlikely]]
		return EMPTY;
	switch (rpcrdma_read_whole(&t->claim, is_closing(core))) {
	case RPCRDMA_READ_POST:
		break;
	case RPCRDMA_READ_QUEUE_TAIL:
		list_push_back(&t->work.list, &core->rw.waiting);
		wake_reads(core);
		return POSTED;
	default:
		return NEVER;
	}
	choose_batch(&core->sq, t);
	return post_rdma<post_parts>(core, &t->work) ? POSTED : NEVER;
}

} // namespace

bool post_batch(rpcrdma_ep_core *core, rpcrdma_work *work)
{
	return post_parts(core, work);
}

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_core_not_one(struct rpcrdma_transfer *t, int status)
{
	not_prepared(t, t->claim.waits ? -E_AGAIN : status);
	rpcrdma_transfer_end(t, false);
}

void rpcrdma_core_transfer_queue_up(struct rpcrdma_transfer *t)
{
	claim(t, CLAIM_BEGUN);
}

int rpcrdma_core_transfer_add(struct rpcrdma_transfer *t,
			      struct rpcrdma_extent_pos *pos,
			      const struct rpcrdma_lists *lists,
			      const struct rpcrdma_chunk *chunk,
			      u32 chunk_offset, u32 length)
{
	rpcrdma_chunk_cursor range = { .offset = chunk_offset,
				       .segment = 0,
				       .length = length };
	rpcrdma_segment segment;

	if (rpcrdma_transfer_one_part(&t->core->rw, t->claim.reads, lists,
				      chunk, chunk_offset, length, &segment))
		[[likely]] {
		t->octets += length;
		return add_part(t, pos, &segment);
	}
	while (rpcrdma_chunk_next(lists, chunk, &range, &segment)) {
		const int rc = add_segment(t, pos, &segment);

		if (rc) [[unlikely]]
			return rc;
		t->octets += segment.length;
	}
	return range.length ? -E_INVAL : 0;
}

void rpcrdma_core_transfer_post(struct rpcrdma_transfer *t)
{
	enum posted what;

	{
		const posting under(t->core);

		what = post_next(t->core, t);
	}
	if (what != POSTED) [[unlikely]]
		rpcrdma_core_transfer_end(t, what == EMPTY);
}

void rpcrdma_core_transfer_end(struct rpcrdma_transfer *t, bool ok)
{
	rpcrdma_transfer_end(t, ok);
}

void rpcrdma_core_transfer_over(struct rpcrdma_transfer *t)
{
	claim(t, CLAIM_OVER);
}

void rpcrdma_core_transfer_written(struct rpcrdma_ep_core *core,
				   struct rpcrdma_work *reply, bool ok)
{
	list_head done_list;

	list_init(&done_list);
	rpcrdma_port_lock(core);
	queue_written(core, reply, ok, &done_list);
	rpcrdma_core_end(core, unlock(core), &done_list, false);
}

void rpcrdma_core_reads_retry(struct rpcrdma_ep_core *core)
{
	while (rpcrdma_transfer *t = next_read(core)) {
		const int rc = prepare_all(t);

		if (rc)
			unprepare(t);
		switch (claim(t, CLAIM_TRIED, rc)) {
		case RPCRDMA_READ_POST:
			rpcrdma_core_transfer_post(t);
			break;
		case RPCRDMA_READ_QUEUE_HEAD:
			return;
		default:
			rpcrdma_core_transfer_end(t, false);
			break;
		}
	}
}

u32 rpcrdma_core_transfers_posted(const struct rpcrdma_ep_core *core)
{
	u32 nr = 0;

	for (rpcrdma_work *work = core->inflight; work; work = work->next) {
		if (work->kind <= RPCRDMA_WORK_CONTROL)
			nr += send_of(work)->rw != nullptr;
		else
			nr += work->kind == RPCRDMA_WORK_TRANSFER;
	}
	return nr;
}

bool rpcrdma_core_transfers(const struct rpcrdma_ep_core *core)
{
	const rpcrdma_work *work = core->inflight;

	while (work && work->kind != RPCRDMA_WORK_TRANSFER)
		work = work->next;
	return work;
}
