// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The MRs that a peer accesses: getting and mapping them, their invalidation, and their
 * return. queue/mr_pool.cc decides which callers wait for MRs, and when more are
 * allocated.
 *
 * Operation
 *
 * A change of the pool returns actions, which run after the lock for MRs was released:
 * start the host's allocator, at once or after a pause, notify the waiters, or log the
 * shortage. RPCs wait for write space, builders of pulled Replies for a change of
 * mrs.notify_seq; a notification serves both. Of an RPC's MRs, those that the peer has
 * not invalidated are invalidated by one chain of Work Requests. If none is left, its
 * owner's callback runs at once.
 *
 * Memory
 *
 * An MR is in mrs.all from its allocation until the last reference to the endpoint is
 * dropped; the teardown destroys the device's part of it before. In addition it is in
 * the list of free ones, or in that of a request, which owns it. An error keeps the MRs
 * in the request's list, and the owner returns them. An MR is returned only when it is
 * not exposed.
 *
 * Errors
 *
 * If the device maps less than the limits permit, the limits are lowered for the whole
 * connection, and the caller plans again. If they cannot be lowered further, the
 * request fails. If an invalidation fails, the connection is closed; the MRs are
 * exposed until the teardown has destroyed them, and so the owner keeps their memory.
 *
 * Locking
 *
 * The lock for MRs protects mrs.free and mrs.pool; the limits are lowered under it and
 * read without it. mr->exposed is set under the lock of the connection, when the MR is
 * posted, and cleared by the owner or by the teardown. Mapping and unmapping are done
 * without a lock, while the teardown is held off. If it can no longer be held off, the
 * host serializes unmapping with it.
 */
#include "../mr_list.h"
#include "endpoint.hh"

namespace rpcrdma
{

namespace
{

u32 mrs_to_allocate(rpcrdma_ep_core *core)
{
	const locked_mrs under(core);

	return rpcrdma_mr_pool_to_allocate(&core->mrs.pool);
}

/*
 * Add @count MRs that were allocated, chained by next from @first to @last. Return
 * RPCRDMA_POOL_*.
 */
u32 add_mrs(rpcrdma_ep_core *core, rpcrdma_mr *first, rpcrdma_mr *last,
	    u32 count)
{
	const locked_mrs under(core);
	rpcrdma_mrs &mrs = core->mrs;
	const u64 shortages = mrs.pool.shortages;

	if (count) {
		last->next = nullptr;
		for (rpcrdma_mr *mr = first; mr; mr = mr->next) {
			mr->all = mrs.all;
			mrs.all = mr;
		}
		last->next = mrs.free;
		mrs.free = first;
	}
	const u32 todo = rpcrdma_mr_pool_allocated(&mrs.pool, count);

	if (mrs.pool.shortages != shortages)
		rpcrdma_port_count(core, RPCRDMA_COUNT_MR_SHORTAGES);
	return todo;
}

/* Lower the limits below @used. Return true if smaller MRs can help. */
bool reduce_limits(rpcrdma_ep_core *core, const rpcrdma_mr_limits *used)
{
	const locked_mrs under(core);

	return rpcrdma_mr_limits_reduce(&core->mrs.limits, used);
}

/* Have the caller, and other waiters, plan again with lower limits. Return the errno. */
int plan_again(rpcrdma_ep_core *core)
{
	rpcrdma_core_mrs_act(core, RPCRDMA_POOL_NOTIFY);
	return -E_AGAIN;
}

/*
 * Handle a device that mapped less into an MR than @limits permit: lower the limits,
 * so that the caller plans and maps again. Return the errno.
 */
int split_finer(rpcrdma_ep_core *core, const rpcrdma_mr_limits *limits)
{
	if (!reduce_limits(core, limits)) {
		rpcrdma_port_count(core, RPCRDMA_COUNT_MAP_FAILURES);
		return -E_IO;
	}
	return plan_again(core);
}

/* Return the errno for the failure @rc to map memory into an MR. */
int not_mapped(rpcrdma_ep_core *core, const rpcrdma_mr_limits *limits, int rc)
{
	if (rc == -E_IO)
		return split_finer(core, limits);
	rpcrdma_port_count(core, RPCRDMA_COUNT_MAP_FAILURES);
	return rc;
}

rpcrdma_inv *inv_of(rpcrdma_work *work)
{
	static_assert(__builtin_offsetof(rpcrdma_inv, work) == 0);
	return reinterpret_cast<rpcrdma_inv *>(work);
}

void not_exposed(list_head *mrs)
{
	for (list_head *at = mrs->next; at != mrs; at = at->next)
		list_object<rpcrdma_mr>(at)->exposed = false;
}

void invalidation_done(rpcrdma_work *work, bool ok)
{
	rpcrdma_inv *inv = inv_of(work);

	if (ok)
		not_exposed(inv->mrs);
	else
		/* The end of the connection ends the exposure. */
		rpcrdma_core_close(inv->core, nullptr);
	inv->done(inv, ok);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_core_mrs_act(struct rpcrdma_ep_core *core, u32 todo)
{
	if (todo & RPCRDMA_POOL_ALLOCATE)
		rpcrdma_port_make_mrs(core, 0);
	if (todo & RPCRDMA_POOL_PAUSE)
		rpcrdma_port_make_mrs(core, RPCRDMA_POOL_PAUSE_MS);
	if (todo & RPCRDMA_POOL_LATER)
		rpcrdma_port_make_mrs(core, RPCRDMA_POOL_LATER_MS);
	if (todo & RPCRDMA_POOL_LOG)
		rpcrdma_port_mrs_short(core);
	if (todo & RPCRDMA_POOL_NOTIFY) {
		__atomic_add_fetch(&core->mrs.notify_seq, 1, __ATOMIC_RELAXED);
		rpcrdma_port_mrs_notified(core);
		rpcrdma_port_write_space(core);
	}
}

void rpcrdma_core_mrs_make(struct rpcrdma_ep_core *core)
{
	const u32 want = mrs_to_allocate(core);
	rpcrdma_mr *first = nullptr, *last = nullptr;
	u32 made = 0;

	for (; made < want; made++) {
		rpcrdma_mr *mr = rpcrdma_port_mr(core);

		if (!mr)
			break;
		mr->next = first;
		first = mr;
		if (!last)
			last = mr;
	}
	rpcrdma_core_mrs_act(core, add_mrs(core, first, last, made));
}

int rpcrdma_core_mrs_map(struct rpcrdma_ep_core *core, struct list_head *mrs,
			 struct rpcrdma_extent_pos *pos, bool remote_write,
			 struct rpcrdma_lists *lists)
{
	const rpcrdma_mr_limits limits = rpcrdma_core_mrs_limits(core);

	do {
		rpcrdma_mr *mr = rpcrdma_core_mr_get(core, mrs);

		if (!mr) [[unlikely]]
			return -E_AGAIN;

		const u32 octets =
			rpcrdma_extent_mr_len(pos, &limits, ~u32{ 0 });
		const int rc = rpcrdma_port_mr_map(core, mr, pos, octets,
						   remote_write);

		if (rc) [[unlikely]]
			return not_mapped(core, &limits, rc);
		if (rpcrdma_lists_add_segment(lists, mr->handle, mr->length,
					      mr->offset))
			return -E_MSGSIZE;
	} while (pos->nr);
	return 0;
}

int rpcrdma_core_item_not_mapped(struct rpcrdma_ep_core *core, u32 offset,
				 u32 octets, int rc)
{
	const rpcrdma_mr_limits limits = rpcrdma_core_mrs_limits(core);

	/* Another context has lowered the limits since the Call was planned. */
	if (rc == -E_IO && !rpcrdma_mr_is_one(&limits, offset, octets))
		return plan_again(core);
	return not_mapped(core, &limits, rc);
}

void rpcrdma_core_mr_invalidated(struct rpcrdma_ep_core *core,
				 struct rpcrdma_mr *mr)
{
	mr->exposed = false;
	rpcrdma_port_invalidated(core, mr->handle);
}

bool rpcrdma_core_mrs_invalidated(struct rpcrdma_ep_core *core,
				  struct list_head *mrs, u32 handle)
{
	for (list_head *at = mrs->next; at != mrs; at = at->next) {
		auto *mr = list_object<rpcrdma_mr>(at);

		if (mr->handle != handle || !mr->exposed)
			continue;
		rpcrdma_core_mr_invalidated(core, mr);
		return true;
	}
	return false;
}

void rpcrdma_core_mrs_invalidate(struct rpcrdma_ep_core *core,
				 struct list_head *mrs, struct rpcrdma_inv *inv)
{
	rpcrdma_work &work = inv->work;
	rpcrdma_chain *chain = work.chain;

	inv->core = core;
	inv->mrs = mrs;
	work = {};
	list_init(&work.list);
	work.chain = chain;
	work.done = invalidation_done;
	work.wrs.signaled = true;
	for (list_head *at = mrs->next; at != mrs; at = at->next) {
		auto *mr = list_object<rpcrdma_mr>(at);

		if (!mr->exposed)
			continue;
		rpcrdma_port_chain_inv(inv, mr);
		work.wrs.nr++;
	}
	if (work.wrs.nr)
		rpcrdma_core_rdma(core, &work);
	else
		inv->done(inv, true);
}

u32 rpcrdma_core_mrs_free(struct rpcrdma_ep_core *core, struct list_head *mrs)
{
	bool used = false;
	u32 count = 0;

	for (list_head *at = mrs->next; at != mrs; at = at->next) {
		rpcrdma_mr *mr = list_object<rpcrdma_mr>(at);

		mr->next = core->mrs.free;
		core->mrs.free = mr;
		used |= mr->used;
		mr->used = false;
		count++;
	}
	return rpcrdma_mr_pool_put(&core->mrs.pool, count, used);
}

void rpcrdma_core_mrs_put(struct rpcrdma_ep_core *core, struct list_head *mrs)
{
	if (list_is_empty(mrs))
		return;

	const bool open = rpcrdma_port_enter(core);

	rpcrdma_core_mrs_return(core, mrs, open);
	if (open) [[likely]]
		rpcrdma_port_leave(core);
}
