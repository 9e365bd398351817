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

#define RPCRDMA_MEMORY_TICK	msecs_to_jiffies(RPCRDMA_MEMORY_TICK_MS)

static DEFINE_SPINLOCK(rpcrdma_memory_lock);
struct rpcrdma_memory rpcrdma_memory;

static void rpcrdma_memory_run(struct work_struct *work);
static DECLARE_DELAYED_WORK(rpcrdma_memory_work, rpcrdma_memory_run);

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

void rpcrdma_ep_part(struct rpcrdma_ep *ep)
{
	struct rpcrdma_memory_change change = { .what = RPCRDMA_MEMORY_LEAVE };

	rpcrdma_memory_change(ep, &change);
}

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

/* Visit a connection, and close it if it is stuck with memory that others need. */
static void rpcrdma_memory_visit_ep(struct rpcrdma_ep *ep)
{
	bool reads = rpcrdma_locked(&ep->lock, rpcrdma_core_transfers(&ep->core));
	bool stuck;

	spin_lock(&ep->memory_lock);
	spin_lock(&rpcrdma_memory_lock);
	stuck = rpcrdma_memory_run_visit(&rpcrdma_memory, &ep->memory, reads);
	spin_unlock(&rpcrdma_memory_lock);
	spin_unlock(&ep->memory_lock);
	if (unlikely(stuck))
		rpcrdma_ep_close(ep, "it takes nothing that is held for it, and others need the memory");
}

/* Notify the next account of @run that it may retry. Return false if there is none. */
static bool rpcrdma_memory_wake(struct rpcrdma_memory_run *run)
{
	struct rpcrdma_memory_account *account;
	struct rpcrdma_ep *ep = NULL;

	spin_lock(&rpcrdma_memory_lock);
	account = rpcrdma_memory_run_next(&rpcrdma_memory, run);
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

/* A run of the quota, see struct rpcrdma_memory_run */
static void rpcrdma_memory_run(struct work_struct *work)
{
	struct rpcrdma_memory_run run =
		rpcrdma_locked(&rpcrdma_memory_lock,
			       rpcrdma_memory_run_begin(&rpcrdma_memory,
							rpcrdma_now_ms()));
	struct rpcrdma_ep *ep = NULL;
	u32 next_ms;

	if (run.visit) {
		while ((ep = rpcrdma_ep_next(ep))) {
			if (!ep->client)
				rpcrdma_memory_visit_ep(ep);
		}
	}
	while (rpcrdma_memory_wake(&run))
		;
	next_ms = rpcrdma_locked(&rpcrdma_memory_lock,
				 rpcrdma_memory_run_end(&rpcrdma_memory, &run));
	if (next_ms)
		queue_delayed_work(rpcrdma_wq, &rpcrdma_memory_work,
				   msecs_to_jiffies(next_ms));
}

/* Module end; no endpoint is left. */
void rpcrdma_memory_exit(void)
{
	cancel_delayed_work_sync(&rpcrdma_memory_work);
}

void rpcrdma_ep_memory(struct rpcrdma_ep *ep,
		       struct rpcrdma_memory_account *account)
{
	spin_lock(&ep->memory_lock);
	*account = ep->memory;
	spin_unlock(&ep->memory_lock);
}
