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

/* Make a change of an account, and do what follows from it. */
static void rpcrdma_memory_change(struct rpcrdma_ep *ep,
				  struct rpcrdma_memory_change *change)
{
	spin_lock(&ep->memory_lock);
	if (!rpcrdma_memory_change_own(&rpcrdma_memory, &ep->memory, change)) {
		spin_lock(&rpcrdma_memory_lock);
		rpcrdma_memory_change_all(&rpcrdma_memory, &ep->memory, change);
		spin_unlock(&rpcrdma_memory_lock);
	}
	spin_unlock(&ep->memory_lock);
	if (unlikely(change->visit == RPCRDMA_MEMORY_VISIT_NOW))
		mod_delayed_work(rpcrdma_wq, &rpcrdma_memory_work, 0);
	else if (unlikely(change->visit == RPCRDMA_MEMORY_VISIT_LATER))
		queue_delayed_work(rpcrdma_wq, &rpcrdma_memory_work,
				   RPCRDMA_MEMORY_TICK);
	if (change->tell)
		rpcrdma_ep_write_space(ep);
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
	static const struct rpcrdma_ep_sizes sizes = {
		.ep	= sizeof(struct rpcrdma_ep),
		.send	= sizeof(struct verbs_send),
		.recv	= sizeof(struct verbs_recv),
		/* With partially filled pages at both ends of a message */
		.stream	= sizeof(struct rpcrdma_stream) + 2 * PAGE_SIZE,
	};
	struct rpcrdma_memory_change change = {
		.what		= RPCRDMA_MEMORY_JOIN,
		.limit		= limit,
		.message	= message,
	};

	/* No other context has this account yet. */
	rpcrdma_core_promise(&rpcrdma_memory, &ep->memory, &ep->params, &sizes,
			     message);
	rpcrdma_memory_change(ep, &change);
	return change.ok ? 0 : -ENOMEM;
}

/**
 * rpcrdma_ep_part - detach a connection from the shared quota
 * @ep: endpoint, attached or not
 *
 * May be called any number of times. The end of the endpoint calls it at the latest.
 */
void rpcrdma_ep_part(struct rpcrdma_ep *ep)
{
	struct rpcrdma_memory_change change = { .what = RPCRDMA_MEMORY_LEAVE };

	rpcrdma_memory_change(ep, &change);
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
	struct rpcrdma_memory_change change = {
		.what	= RPCRDMA_MEMORY_ROOM,
		.use	= use,
		.octets	= octets,
	};

	rpcrdma_memory_change(ep, &change);
	return change.ok;
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
	struct rpcrdma_memory_change change = {
		.what	= RPCRDMA_MEMORY_SOME,
		.use	= use,
		.count	= count,
		.octets	= octets,
	};

	rpcrdma_memory_change(ep, &change);
	return change.count;
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
	struct rpcrdma_memory_change change = {
		.what	= RPCRDMA_MEMORY_HOLD,
		.use	= use,
		.count	= 1,
		.octets	= octets,
	};

	rpcrdma_memory_change(ep, &change);
}

bool rpcrdma_port_assembled(struct rpcrdma_ep_core *core, u64 octets)
{
	struct rpcrdma_memory_change change = {
		.what	= RPCRDMA_MEMORY_ASSEMBLED,
		.octets	= octets,
	};

	rpcrdma_memory_change(rpcrdma_ep_of(core), &change);
	return change.ok;
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
	struct rpcrdma_memory_change change = {
		.what	= RPCRDMA_MEMORY_GIVE,
		.use	= use,
		.octets	= octets,
	};

	if (octets)
		rpcrdma_memory_change(ep, &change);
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
		reads = work->kind == RPCRDMA_WORK_TRANSFER;
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
