// SPDX-License-Identifier: GPL-2.0
/*
 * MRs and pulled Replies: their part of the port, and a model of the device.
 * Allocating MRs takes time, and memory, which may be short for a while. The
 * device may map less to an MR than it reports. An invalidation may fail, as
 * any Work Request may.
 */
#include <cerrno>

#include <mr_list.h>

#include "endpoint.hh"

namespace simulation
{

static device_mr *mr_of(list_head *at)
{
	return static_cast<device_mr *>(rpcrdma::list_object<rpcrdma_mr>(at));
}

/* ---- Entries ---- */

int endpoint::map(list_head *list, memory &mem, u32 at, u32 length,
		  bool writable, rpcrdma_lists &lists)
{
	const rpcrdma_extent ext = extent_of(mem, at, length);
	rpcrdma_extent_pos pos{ &ext, 1, 0 };
	const u32 notified = mrs.notify_seq;
	int rc = 0;

	if (!enter())
		return -ENOTCONN;
	if (length)
		rc = rpcrdma_core_mrs_map(this, list, &pos, writable, &lists);
	/* If the MR is to be split finer, do not wait: waiters are notified. */
	if (rc == -EAGAIN && mrs.notify_seq == notified)
		mr_missing(count(*list));
	leave();
	return rc;
}

int endpoint::map_item(list_head *list, memory &mem, u32 at, u32 length,
		       bool writable)
{
	const rpcrdma_mr_limits limits = rpcrdma_core_mrs_limits(this);
	const rpcrdma_extent ext = extent_of(mem, at, length);
	rpcrdma_extent_pos pos{ &ext, 1, 0 };
	const u32 notified = mrs.notify_seq;
	int rc = -EAGAIN;

	if (!enter())
		return -ENOTCONN;
	if (rpcrdma_mr *mr = rpcrdma_core_mr_get(this, list)) {
		rc = map_mr(static_cast<device_mr *>(mr), pos,
			    rpcrdma_extent_mr_len(&pos, &limits, length),
			    writable);
		if (!rc && pos.nr)
			w_.complain("an item is planned for one MR, but needs "
				    "several");
		if (rc < 0)
			rc = rpcrdma_core_item_not_mapped(this, in_page(at),
							  length, rc);
	}
	if (rc == -EAGAIN && mrs.notify_seq == notified)
		mr_missing(count(*list));
	leave();
	return rc;
}

void endpoint::mr_missing(u32 count)
{
	w_.sum.mrs_waited++;
	mrs_wanted_ = true;
	refused(count);
}

/*
 * A message that holds @count MRs got no more. Complain if it would wait
 * forever.
 */
void endpoint::refused(u32 count)
{
	if (count + mrs.pool.free != mrs.pool.made)
		refused_since_ = 0;
	else if (!refused_since_)
		refused_since_ = w_.now;
	else if (w_.now - refused_since_ > 5 * SECOND)
		w_.complain(
			std::string(name) +
			": a message waits for MRs that never become available");
}

bool endpoint::maps(const list_head *list, const memory &mem, u32 at,
		    u32 length)
{
	for (list_head *l = list->next; l != list; l = l->next) {
		const device_mr *reg = mr_of(l);

		if (reg->mem == &mem && at < reg->at + reg->length &&
		    reg->at < at + length)
			return true;
	}
	return false;
}

void endpoint::put_mrs(list_head *list)
{
	rpcrdma_core_mrs_put(this, list);
}

void endpoint::unmap_mrs(list_head *list, bool open)
{
	bool used = false;

	for (list_head *at = list->next; at != list; at = at->next) {
		device_mr *reg = mr_of(at);

		if (reg->exposed || reg->valid)
			w_.complain("an exposed MR is released");
		reg->taken = false;
		used |= reg->registered;
	}
	more_mrs_ |= used;
	to_notify_ |= open && used && mrs_wanted_;
}

void endpoint::pull_overdue(const rpcrdma_pull_entry *x)
{
	due_[RPCRDMA_COUNT_PULLS_OVERDUE]++;
	excuse(&x->mrs);
}

void endpoint::excuse(const list_head *list)
{
	for (list_head *at = list->next; at != list; at = at->next)
		qp.excuse(mr_of(at));
}

/*
 * Complain if an MR that the peer has invalidated counts as valid: the device
 * may refuse to invalidate it again.
 */
void endpoint::check_invalidated(u32 handle)
{
	for (const device_mr &reg : qp.mrs) {
		if (reg.handle == handle && reg.exposed)
			w_.complain(
				std::string(name) +
				": an invalidated MR still counts as valid");
	}
}

void endpoint::invalidate(list_head *list, std::function<void(bool)> ended)
{
	auto *inv = new invalidation{};

	live_++;
	inv->ep = this;
	inv->work.chain = &inv->requests;
	inv->requests.of = &inv->work;
	inv->done = invalidation::over;
	inv->ended = std::move(ended);
	rpcrdma_core_mrs_invalidate(this, list, inv);
}

void invalidation::over(rpcrdma_inv *i, bool ok)
{
	auto *inv = static_cast<invalidation *>(i);

	inv->ended(ok);
	inv->ep->live_--;
	delete inv;
}

void endpoint::make_mrs()
{
	making_ = false;
	if (!enter())
		return;
	if (w_.fault(100))
		short_until_ = w_.now + w_.choose.below(200) * MILLISECOND;
	/* The device may lack MRs for longer than the waiters wait. */
	if (w_.fault(30))
		none_until_ = w_.now + w_.choose.below(10000) * MILLISECOND;
	mrs_left_ = RPCRDMA_POOL_BATCH;
	if (w_.now < short_until_)
		mrs_left_ /= 4 + w_.choose.below(8);
	if (w_.now < none_until_)
		mrs_left_ = 0;
	rpcrdma_core_mrs_make(this);
	leave();
}

/* ---- Pulled Replies ---- */

int endpoint::expose(exposure *x, u32 xid, rpcrdma_reply_plan *plan,
		     rpcrdma_mr_wait *wait)
{
	const rpcrdma_extent ext = extent_of(x->data, 0, plan->read_length);
	rpcrdma_extent_pos pos{ &ext, 1, 0 };
	int rc;

	x->inv.work.chain = &x->requests;
	x->requests.of = &x->inv.work;
	x->release = exposure::over;
	rc = rpcrdma_core_expose(this, x, xid, &pos, plan, wait);
	if (!rc)
		live_++;
	else if (rc == -EAGAIN && !rpcrdma_core_expose_due(this, wait))
		mr_missing(0);
	return rc;
}

void exposure::over(rpcrdma_pull_entry *x)
{
	auto *own = static_cast<exposure *>(x);
	auto *ep = static_cast<endpoint *>(x->core);

	own->data.retire(ep->w_, "a Reply to be pulled");
	ep->give(RPCRDMA_QUOTA_REPLIES, own->held);
	ep->live_--;
	delete own;
}

/* ---- The device ---- */

device_mr *endpoint::new_mr()
{
	if (!mrs_left_) {
		due_[RPCRDMA_COUNT_MR_SHORTAGES]++;
		return nullptr;
	}
	mrs_left_--;
	more_mrs_ = true;
	if (mrs_made_ == mrs.pool.most || mrs_made_ == qp.mrs.size()) {
		w_.complain("more MRs are allocated than permitted");
		return nullptr;
	}
	return &qp.mrs[mrs_made_++];
}

int endpoint::map_mr(device_mr *reg, rpcrdma_extent_pos &pos, u32 octets,
		     bool writable)
{
	const rpcrdma_mr_limits limits = rpcrdma_core_mrs_limits(this);
	const u32 room = params.mr_room ? params.mr_room : params.mr_size;
	const u32 pages = rpcrdma_extent_pages(&pos, octets, params.page_shift);
	const u32 at = pos.ext->offset + pos.done;

	if (reg->taken)
		w_.complain("an MR is used twice");
	reg->taken = true;
	refused_since_ = 0;
	if (reg->exposed || reg->valid)
		w_.complain("an MR is reused while it is exposed");
	if (!pages)
		w_.complain("an MR is mapped beyond its memory");
	if (pages > limits.pages || octets > limits.octets)
		w_.complain("an MR is mapped beyond its limits");
	if (w_.fault(1)) {
		w_.log("%s: no memory to map an MR", name);
		due_[RPCRDMA_COUNT_MAP_FAILURES]++;
		return -ENOMEM;
	}
	if (pages > room >> params.page_shift ||
	    (params.splits && pages > 1 &&
	     (in_page(at) || in_page(at + octets)))) {
		rpcrdma_mr_limits finer = mrs.limits;

		w_.sum.mrs_short++;
		if (rpcrdma_mr_limits_reduce(&finer, &limits))
			more_mrs_ = true;
		else
			due_[RPCRDMA_COUNT_MAP_FAILURES]++;
		return -EIO;
	}
	reg->take(*static_cast<memory *>(pos.ext->pages), at, octets, writable);
	rpcrdma_extent_skip(&pos, octets);
	return 0;
}

/* ---- The pool ---- */

void endpoint::make_mrs_in(u32 ms)
{
	if (making_)
		w_.complain("two allocations of MRs at a time");
	making_ = true;
	w_.after(ms ? ms * MILLISECOND : w_.delay(10), this, MAKE_REGIONS);
}

void endpoint::mrs_notified()
{
	/* Only time has passed since the MRs were refused. */
	if (!more_mrs_) {
		if (idle_notified_ &&
		    w_.now - idle_notified_ <
			    RPCRDMA_POOL_PAUSE_MS * MILLISECOND)
			w_.complain(std::string(name) +
				    ": waiters for MRs are woken without need");
		idle_notified_ = w_.now;
	}
	more_mrs_ = false;
	mrs_wanted_ = false;
	to_notify_ = false;
}

u32 endpoint::free_mrs() const
{
	u32 n = 0;

	for (const rpcrdma_mr *mr = mrs.free; mr && n <= mrs_made_;
	     mr = mr->next)
		n++;
	return n;
}

void endpoint::check_mrs()
{
	const rpcrdma_mr_pool &pool = mrs.pool;
	const std::string who = std::string(name) + ": ";

	if (mrs_wanted_ && !pool.allocator && pool.free == pool.made &&
	    !is_closing())
		w_.complain(who + "messages wait for MRs that no message has");
	if (pool.allocator && !making_ && !is_closing())
		w_.complain(
			who +
			"messages wait for MRs that are not being allocated");
	if (to_notify_ && !is_closing())
		w_.complain(who + "waiters are not notified of free MRs");
	/* Check only now and then, because there may be many. */
	if (checks_ % 16)
		return;
	if (free_mrs() != pool.free)
		w_.complain(who + "MRs are miscounted");
	for (const rpcrdma_mr *mr = mrs.free; mr; mr = mr->next) {
		const auto *reg = static_cast<const device_mr *>(mr);

		if (reg->exposed || reg->used || reg->valid)
			w_.complain(who + "a free MR is in use");
	}
}

} // namespace simulation

using namespace simulation;

struct rpcrdma_mr *rpcrdma_port_mr(struct rpcrdma_ep_core *core)
{
	return of(core).new_mr();
}

void rpcrdma_port_make_mrs(struct rpcrdma_ep_core *core, u32 ms)
{
	of(core).make_mrs_in(ms);
}

/* There is no kernel log here. */
void rpcrdma_port_mrs_short(struct rpcrdma_ep_core *)
{
}

void rpcrdma_port_mrs_notified(struct rpcrdma_ep_core *core)
{
	of(core).mrs_notified();
}

int rpcrdma_port_mr_map(struct rpcrdma_ep_core *core, struct rpcrdma_mr *mr,
			struct rpcrdma_extent_pos *pos, u32 octets,
			bool remote_write)
{
	return of(core).map_mr(static_cast<device_mr *>(mr), *pos, octets,
			       remote_write);
}

void rpcrdma_port_chain_mrs(struct rpcrdma_send *s, const struct list_head *mrs)
{
	auto &requests = s->work.chain->requests;

	if (!s->before)
		requests.clear();
	s->before = &requests;
	for (list_head *at = mrs->next; at != mrs; at = at->next) {
		auto *reg = static_cast<device_mr *>(
			rpcrdma::list_object<rpcrdma_mr>(at));

		requests.insert(requests.begin(), { op::reg, reg, reg->handle,
						    0, nullptr, 0, 0 });
	}
}

void rpcrdma_port_mrs_unmap(struct rpcrdma_ep_core *core, struct list_head *mrs,
			    bool open)
{
	of(core).unmap_mrs(mrs, open);
}

void rpcrdma_port_invalidated(struct rpcrdma_ep_core *core, u32 handle)
{
	of(core).check_invalidated(handle);
}

/*
 * The peer's access to a Reply that is released after the time limit may fail
 * without being a fault.
 */
void rpcrdma_port_overdue(const struct rpcrdma_pull_entry *x)
{
	of(x->core).pull_overdue(x);
}

void rpcrdma_port_chain_inv(struct rpcrdma_inv *inv, struct rpcrdma_mr *mr)
{
	if (!inv->work.wrs.nr)
		inv->work.chain->requests.clear();
	inv->work.chain->requests.push_back({ op::invalidate,
					      static_cast<device_mr *>(mr),
					      mr->handle, 0, nullptr, 0, 0 });
}
