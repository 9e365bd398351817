// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that peers make this end hold: charged per connection, and limited for the
 * connections that are attached to the quota. The engine has the rules.
 *
 * Each account is protected by its endpoint's memory_lock. The global lock is taken
 * within that, and only if the account's own quota is not sufficient.
 */

#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Accounts that are notified at a time */
#define RPCRDMA_MEMORY_WAKE	32
#define RPCRDMA_MEMORY_TICK	msecs_to_jiffies(RPCRDMA_MEMORY_TICK_MS)

static DEFINE_SPINLOCK(rpcrdma_memory_lock);
struct rpcrdma_memory rpcrdma_memory;

static void rpcrdma_memory_run(struct work_struct *work);
static DECLARE_DELAYED_WORK(rpcrdma_memory_work, rpcrdma_memory_run);
/* The next time at which connections are checked; used by the work item only */
static unsigned long rpcrdma_memory_due;

/*
 * Release both locks after a charge or an uncharge that the account's own quota could
 * not cover.
 * @was_tight: memory was tight before.
 * @released: accounts that wait may retry.
 */
static void rpcrdma_memory_unlock(struct rpcrdma_ep *ep, bool was_tight,
				  bool released)
	__releases(&rpcrdma_memory_lock)
	__releases(&ep->memory_lock)
{
	bool waiting = rpcrdma_memory.waiting;
	bool tight = rpcrdma_memory_is_tight(&rpcrdma_memory);

	spin_unlock(&rpcrdma_memory_lock);
	spin_unlock(&ep->memory_lock);
	/* In the second case the unused quota of idle connections is needed. */
	if (unlikely(waiting && released))
		mod_delayed_work(rpcrdma_wq, &rpcrdma_memory_work, 0);
	else if (unlikely(tight && !was_tight))
		queue_delayed_work(rpcrdma_wq, &rpcrdma_memory_work,
				   waiting ? RPCRDMA_MEMORY_TICK : 0);
}

/* Take the global lock within that of @ep. Return true if memory is tight. */
static bool rpcrdma_memory_lock_all(struct rpcrdma_ep *ep)
	__acquires(&rpcrdma_memory_lock)
{
	lockdep_assert_held(&ep->memory_lock);
	spin_lock(&rpcrdma_memory_lock);
	return rpcrdma_memory_is_tight(&rpcrdma_memory);
}

/* Reduce a connection to the minimum resources, because memory is tight. */
static void rpcrdma_ep_be_small(struct rpcrdma_ep_params *p)
{
	const u32 octets = RPCRDMA_V2_DEFAULT_INLINE;
	const u32 calls = RPCRDMA_USUAL_WINDOW;

	p->recv_size = min(p->recv_size, octets);
	p->send_size = min(p->send_size, octets);
	p->window = min(p->window, calls + p->reverse);
	p->sends = min(p->sends, calls + p->reverse);
	p->reads = min(p->reads, calls);
}

/**
 * rpcrdma_ep_join - attach a new connection to the shared quota
 * @ep: endpoint with its params, before any of its resources is allocated
 * @limit: bytes for all attached connections, from now on
 * @message: bytes of the largest Call or Reply
 *
 * If memory is tight, the connection gets small buffers, and few. Any context.
 * Return: 0, or -ENOMEM if the other connections hold all of the quota.
 */
int rpcrdma_ep_join(struct rpcrdma_ep *ep, u64 limit, u32 message)
{
	struct rpcrdma_ep_params *p = &ep->params;
	u64 recvs, sends;
	u32 octets;
	bool tight;
	int rc;

	spin_lock(&ep->memory_lock);
	tight = rpcrdma_memory_lock_all(ep);
	rpcrdma_memory_set_limit(&rpcrdma_memory, limit, message);
	if (rpcrdma_memory_is_tight(&rpcrdma_memory))
		rpcrdma_ep_be_small(p);
	recvs = rpcrdma_window_receives(p->first_window ?: p->window);
	sends = p->sends + RPCRDMA_CONTROL_SENDS + 1;
	octets = max_t(u32, p->recv_size, RPCRDMA_V2_DEFAULT_INLINE);
	/*
	 * The last argument includes partially filled pages at both ends of a message.
	 */
	rpcrdma_memory_promise(&ep->memory, sizeof(*ep) +
			       sends * sizeof(struct verbs_send) +
			       RPCRDMA_CONTROL_SENDS * RPCRDMA_SMALL_SEND,
			       recvs * rpcrdma_core_recv_cost(sizeof(struct verbs_recv),
							      octets),
			       message, p->reassembly,
			       sizeof(struct rpcrdma_stream) + 2 * PAGE_SIZE);
	rc = rpcrdma_memory_join(&rpcrdma_memory, &ep->memory);
	rpcrdma_memory_unlock(ep, tight, false);
	return rc ? -ENOMEM : 0;
}

/**
 * rpcrdma_ep_part - detach a connection from the shared quota
 * @ep: endpoint, attached or not
 *
 * May be called any number of times. The end of the endpoint calls it at the latest.
 */
void rpcrdma_ep_part(struct rpcrdma_ep *ep)
{
	bool tight;

	spin_lock(&ep->memory_lock);
	tight = rpcrdma_memory_lock_all(ep);
	rpcrdma_memory_leave(&rpcrdma_memory, &ep->memory);
	rpcrdma_memory_unlock(ep, tight, true);
}

/**
 * rpcrdma_ep_has_room - return true if more may be charged to this peer
 * @ep: endpoint
 * @use: purpose
 * @octets: number of bytes
 *
 * Otherwise arranges for write_space().
 */
bool rpcrdma_ep_has_room(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
			 u64 octets)
{
	bool room, tight;

	spin_lock(&ep->memory_lock);
	if (rpcrdma_memory_room_own(&ep->memory, use, octets)) {
		spin_unlock(&ep->memory_lock);
		return true;
	}
	tight = rpcrdma_memory_lock_all(ep);
	room = rpcrdma_memory_ask(&rpcrdma_memory, &ep->memory, use, octets);
	rpcrdma_memory_unlock(ep, tight, false);
	return room;
}

/**
 * rpcrdma_ep_hold_some - charge as many objects to this peer as its quota allows
 * @ep: endpoint
 * @use: purpose
 * @octets: bytes per object
 * @count: objects wanted
 *
 * Return: the number of objects charged.
 */
u32 rpcrdma_ep_hold_some(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
			 u64 octets, u32 count)
{
	bool tight;

	spin_lock(&ep->memory_lock);
	if (rpcrdma_memory_hold_own(&ep->memory, use, count * octets)) {
		spin_unlock(&ep->memory_lock);
		return count;
	}
	tight = rpcrdma_memory_lock_all(ep);
	count = rpcrdma_memory_fits(&rpcrdma_memory, &ep->memory, use, octets,
				    count);
	rpcrdma_memory_hold(&rpcrdma_memory, &ep->memory, use, count * octets);
	rpcrdma_memory_unlock(ep, tight, false);
	return count;
}

/**
 * rpcrdma_ep_hold - charge memory to this peer
 * @ep: endpoint
 * @use: purpose
 * @octets: number of bytes
 */
void rpcrdma_ep_hold(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
		     u64 octets)
{
	bool tight;

	spin_lock(&ep->memory_lock);
	if (likely(rpcrdma_memory_hold_own(&ep->memory, use, octets))) {
		spin_unlock(&ep->memory_lock);
		return;
	}
	tight = rpcrdma_memory_lock_all(ep);
	rpcrdma_memory_hold(&rpcrdma_memory, &ep->memory, use, octets);
	rpcrdma_memory_unlock(ep, tight, false);
}

bool rpcrdma_port_assembled(struct rpcrdma_ep_core *core, u64 octets)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	bool ok, tight;

	spin_lock(&ep->memory_lock);
	tight = rpcrdma_memory_lock_all(ep);
	ok = rpcrdma_memory_assembled(&rpcrdma_memory, &ep->memory, octets);
	rpcrdma_memory_unlock(ep, tight, false);
	return ok;
}

/**
 * rpcrdma_ep_give - uncharge memory
 * @ep: endpoint
 * @use: its purpose
 * @octets: number of bytes, as passed to rpcrdma_ep_hold()
 *
 * Context: process context, no lock held.
 */
void rpcrdma_ep_give(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
		     u64 octets)
{
	bool tell, tight;

	if (!octets)
		return;
	spin_lock(&ep->memory_lock);
	if (likely(rpcrdma_memory_give_own(&rpcrdma_memory, &ep->memory, use,
					   octets, &tell))) {
		spin_unlock(&ep->memory_lock);
	} else {
		tight = rpcrdma_memory_lock_all(ep);
		tell = rpcrdma_memory_give(&rpcrdma_memory, &ep->memory, use,
					   octets);
		rpcrdma_memory_unlock(ep, tight, true);
	}
	if (tell)
		rpcrdma_ep_write_space(ep);
}

void rpcrdma_port_leave_quota(struct rpcrdma_ep_core *core)
{
	rpcrdma_ep_part(rpcrdma_ep_of(core));
}

u32 rpcrdma_port_charge(struct rpcrdma_ep_core *core,
			enum rpcrdma_memory_use use, u64 octets, u32 count)
{
	return rpcrdma_ep_hold_some(rpcrdma_ep_of(core), use, octets, count);
}

void rpcrdma_port_uncharge(struct rpcrdma_ep_core *core,
			   enum rpcrdma_memory_use use, u64 octets)
{
	rpcrdma_ep_give(rpcrdma_ep_of(core), use, octets);
}

/*
 * Return true if Reads of the peer's memory are in progress. A hint, because the first
 * check takes no lock.
 */
static bool rpcrdma_ep_reads(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work;
	bool reads = false;

	if (!READ_ONCE(ep->memory.held[RPCRDMA_MEMORY_CALLS]))
		return false;
	spin_lock(&ep->lock);
	for (work = ep->core.inflight; work && !reads; work = work->next)
		reads = work->kind == RPCRDMA_WORK_RDMA;
	spin_unlock(&ep->lock);
	return reads;
}

/*
 * Reclaim the quota that a connection does not use, and close a connection that is
 * stuck with memory that others need.
 */
static void rpcrdma_memory_visit(struct rpcrdma_ep *ep)
{
	bool reads, stuck;

	if (ep->client)
		return;
	reads = rpcrdma_ep_reads(ep);
	spin_lock(&ep->memory_lock);
	spin_lock(&rpcrdma_memory_lock);
	rpcrdma_memory_trim(&rpcrdma_memory, &ep->memory);
	stuck = rpcrdma_memory.waiting &&
		rpcrdma_memory_stuck(&ep->memory, reads);
	spin_unlock(&rpcrdma_memory_lock);
	spin_unlock(&ep->memory_lock);
	if (unlikely(stuck))
		rpcrdma_ep_close(ep, "it takes nothing that is held for it, and others need the memory");
}

/*
 * Notify the account that has waited longest that it may retry. Return false if none
 * waits.
 */
static bool rpcrdma_memory_wake(void)
{
	struct rpcrdma_memory_account *account;
	struct rpcrdma_ep *ep = NULL;

	spin_lock(&rpcrdma_memory_lock);
	account = rpcrdma_memory_next(&rpcrdma_memory);
	/* An account leaves the queue, under the lock, before it is freed. */
	if (account)
		ep = container_of(account, struct rpcrdma_ep, memory);
	if (ep && !kref_get_unless_zero(&ep->kref))
		ep = NULL;
	spin_unlock(&rpcrdma_memory_lock);
	if (ep) {
		rpcrdma_ep_write_space(ep);
		rpcrdma_ep_put(ep);
	}
	return account;
}

/*
 * Check the connections, and notify waiting accounts. Runs when memory gets tight, when
 * some is released, and while accounts wait.
 */
static void rpcrdma_memory_run(struct work_struct *work)
{
	bool again, due = time_after_eq(jiffies, rpcrdma_memory_due);
	struct rpcrdma_ep *ep = NULL;
	unsigned int woken = 0;

	if (due) {
		rpcrdma_memory_due = jiffies + RPCRDMA_MEMORY_TICK;
		while ((ep = rpcrdma_ep_next(ep)))
			rpcrdma_memory_visit(ep);
	}
	while (woken < RPCRDMA_MEMORY_WAKE && rpcrdma_memory_wake())
		woken++;
	spin_lock(&rpcrdma_memory_lock);
	again = rpcrdma_memory.waiting ||
		(!due && rpcrdma_memory_is_tight(&rpcrdma_memory));
	spin_unlock(&rpcrdma_memory_lock);
	if (again)
		queue_delayed_work(rpcrdma_wq, &rpcrdma_memory_work,
				   RPCRDMA_MEMORY_TICK);
}

/* Module start: no connection has been checked yet. */
void rpcrdma_memory_init(void)
{
	rpcrdma_memory_due = jiffies;
}

/* Module end; no endpoint is left. */
void rpcrdma_memory_exit(void)
{
	cancel_delayed_work_sync(&rpcrdma_memory_work);
}

/**
 * rpcrdma_ep_memory - copy the account, for display
 * @ep: endpoint
 * @account: gets the copy
 */
void rpcrdma_ep_memory(struct rpcrdma_ep *ep,
		       struct rpcrdma_memory_account *account)
{
	spin_lock(&ep->memory_lock);
	*account = ep->memory;
	spin_unlock(&ep->memory_lock);
}
