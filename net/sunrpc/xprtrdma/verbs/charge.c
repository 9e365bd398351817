// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that peers make this end hold: the accounts of connections, and the quota that
 * a server's connections share.
 *
 * Operation
 *
 * core/queue/quota.cc has the rules. Each connection has an account. That of a
 * server's connection is attached to the quota at its connect request; a client's
 * account has no limit. A change is first tried at the account alone. It changes the
 * sum of all accounts if the account's own quota is not sufficient, if memory is
 * released while it is tight, and if the account is attached or detached. The actions
 * that follow from a change run afterwards: notify this connection's waiters, and
 * schedule a run of the quota. A run is a delayed work item. It visits all accounts,
 * at most once per RPCRDMA_QUOTA_TICK_MS, and closes connections that are stuck. Then
 * it notifies accounts that wait, in the order of their queue.
 *
 * Memory
 *
 * Only numbers change here; the caller allocates and frees the memory that it has
 * charged. An account is part of its endpoint, and leaves the queue before the
 * endpoint is freed. The run gets a reference to the endpoint of a waiting account
 * under the global lock, and notifies the endpoint without the lock.
 *
 * Errors
 *
 * If rpcrdma_port_room() or rpcrdma_ep_quota_take() returns false, the account waits, and
 * write_space() is called when the caller may ask again. No other function waits: if the
 * endpoint's own buffers are refused, the core has fewer Receives, or drops a continued
 * message. If a reservation is refused, the connect request is rejected.
 *
 * Locking
 *
 * ep->memory_lock protects the account. The global lock protects the sum, the queue,
 * and the account's place in the queue. It is taken within memory_lock. Upcalls are
 * called without either lock.
 */

#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "internal.h"

#define RPCRDMA_QUOTA_TICK msecs_to_jiffies(RPCRDMA_QUOTA_TICK_MS)

static DEFINE_SPINLOCK(rpcrdma_quota_lock);
struct rpcrdma_quota rpcrdma_quota;

static void rpcrdma_quota_run(struct work_struct *work);
static DECLARE_DELAYED_WORK(rpcrdma_quota_work, rpcrdma_quota_run);

/* Change an account, and run the resulting actions. */
static void rpcrdma_quota_change(struct rpcrdma_ep *ep,
				 struct rpcrdma_quota_change *change)
{
	spin_lock(&ep->memory_lock);
	if (!rpcrdma_quota_change_own(&rpcrdma_quota, &ep->memory, change)) {
		spin_lock(&rpcrdma_quota_lock);
		rpcrdma_quota_change_all(&rpcrdma_quota, &ep->memory, change);
		spin_unlock(&rpcrdma_quota_lock);
	}
	spin_unlock(&ep->memory_lock);
	if (unlikely(change->visit == RPCRDMA_QUOTA_VISIT_NOW))
		mod_delayed_work(rpcrdma_wq, &rpcrdma_quota_work, 0);
	else if (unlikely(change->visit == RPCRDMA_QUOTA_VISIT_LATER))
		queue_delayed_work(rpcrdma_wq, &rpcrdma_quota_work,
				   RPCRDMA_QUOTA_TICK);
	if (change->notify)
		rpcrdma_ep_write_space(ep);
}

/*
 * Make the change @what of @octets bytes, and return true if it was permitted. Out of line:
 * the fast paths below change the account with its own lock alone, and need no memory on
 * the stack.
 */
static noinline bool rpcrdma_quota_make(struct rpcrdma_ep *ep,
					enum rpcrdma_quota_action what,
					enum rpcrdma_quota_use use, u64 octets)
{
	struct rpcrdma_quota_change change = {
		.what = what,
		.use = use,
		.count = 1,
		.octets = octets,
	};

	rpcrdma_quota_change(ep, &change);
	return change.ok;
}

int rpcrdma_ep_quota_attach(struct rpcrdma_ep *ep, u64 limit, u32 message)
{
	static const struct rpcrdma_ep_sizes sizes = {
		.ep	= sizeof(struct rpcrdma_ep),
		.send	= sizeof(struct verbs_send),
		.recv	= sizeof(struct verbs_recv),
		/* Plus the partially filled pages at both ends of a message */
		.stream	= sizeof(struct rpcrdma_stream) + 2 * PAGE_SIZE,
		.page	= PAGE_SIZE,
	};
	struct rpcrdma_quota_change change = {
		.what = RPCRDMA_QUOTA_ATTACH,
		.limit = limit,
		.message = message,
	};

	/* No other context has this account yet. */
	rpcrdma_core_reserve(&rpcrdma_quota, &ep->memory, &ep->params, &sizes,
			     message);
	rpcrdma_quota_change(ep, &change);
	return change.ok ? 0 : -ENOMEM;
}

void rpcrdma_ep_quota_detach(struct rpcrdma_ep *ep)
{
	struct rpcrdma_quota_change change = { .what = RPCRDMA_QUOTA_DETACH };

	rpcrdma_quota_change(ep, &change);
}

bool rpcrdma_port_room(struct rpcrdma_ep_core *core, enum rpcrdma_quota_use use,
		       u64 octets)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	return likely(rpcrdma_locked(&ep->memory_lock,
				     rpcrdma_quota_allows_now(&rpcrdma_quota,
							      &ep->memory, use,
							      octets))) ||
	       rpcrdma_quota_make(ep, RPCRDMA_QUOTA_ASK, use, octets);
}

bool rpcrdma_ep_take_more(struct rpcrdma_ep *ep, enum rpcrdma_quota_use use,
			  u64 octets)
{
	return rpcrdma_quota_make(ep, RPCRDMA_QUOTA_TAKE, use, octets);
}

u32 rpcrdma_port_charge(struct rpcrdma_ep_core *core,
			enum rpcrdma_quota_use use, u64 octets, u32 count)
{
	struct rpcrdma_quota_change change = {
		.what = RPCRDMA_QUOTA_CHARGE_UP_TO,
		.use = use,
		.count = count,
		.octets = octets,
	};

	rpcrdma_quota_change(rpcrdma_ep_of(core), &change);
	return change.count;
}

void rpcrdma_port_charge_existing(struct rpcrdma_ep_core *core,
				  enum rpcrdma_quota_use use, u64 octets)
{
	rpcrdma_ep_charge(rpcrdma_ep_of(core), use, octets);
}

void rpcrdma_ep_charge_more(struct rpcrdma_ep *ep, enum rpcrdma_quota_use use,
			    u64 octets)
{
	rpcrdma_quota_make(ep, RPCRDMA_QUOTA_CHARGE, use, octets);
}

bool rpcrdma_port_assembled(struct rpcrdma_ep_core *core, u64 octets)
{
	return rpcrdma_quota_make(rpcrdma_ep_of(core), RPCRDMA_QUOTA_ASSEMBLED,
				  RPCRDMA_QUOTA_CALLS, octets);
}

void rpcrdma_ep_uncharged(struct rpcrdma_ep *ep, enum rpcrdma_quota_use use,
			  u64 octets, int rc)
{
	if (rc < 0)
		rpcrdma_quota_make(ep, RPCRDMA_QUOTA_UNCHARGE, use, octets);
	else
		rpcrdma_ep_write_space(ep);
}

void rpcrdma_port_leave_quota(struct rpcrdma_ep_core *core)
{
	rpcrdma_ep_quota_detach(rpcrdma_ep_of(core));
}

void rpcrdma_port_uncharge(struct rpcrdma_ep_core *core,
			   enum rpcrdma_quota_use use, u64 octets)
{
	rpcrdma_ep_uncharge(rpcrdma_ep_of(core), use, octets);
}

/* Visit a connection, and close it if it is stuck with memory that others need. */
static void rpcrdma_quota_visit_ep(struct rpcrdma_ep *ep)
{
	bool reads = rpcrdma_locked(&ep->lock, rpcrdma_core_transfers(&ep->core));
	bool stuck;

	spin_lock(&ep->memory_lock);
	spin_lock(&rpcrdma_quota_lock);
	stuck = rpcrdma_quota_run_visit(&rpcrdma_quota, &ep->memory, reads);
	spin_unlock(&rpcrdma_quota_lock);
	spin_unlock(&ep->memory_lock);
	if (unlikely(stuck))
		rpcrdma_ep_close(ep, "evicted: it accepts no data, and other connections need the memory");
}

/* Notify the next account of @run that it may retry. Return false if there is none. */
static bool rpcrdma_quota_wake(struct rpcrdma_quota_run *run)
{
	struct rpcrdma_quota_account *account;
	struct rpcrdma_ep *ep = NULL;

	spin_lock(&rpcrdma_quota_lock);
	account = rpcrdma_quota_run_next(&rpcrdma_quota, run);
	/* An account leaves the queue, under the lock, before it is freed. */
	if (account)
		ep = container_of(account, struct rpcrdma_ep, memory);
	if (ep && !kref_get_unless_zero(&ep->kref))
		ep = NULL;
	spin_unlock(&rpcrdma_quota_lock);
	if (ep) {
		rpcrdma_ep_write_space(ep);
		rpcrdma_ep_put(ep);
	}
	return account;
}

/*
 * Run the quota: visit the accounts and wake those that wait, see struct
 * rpcrdma_quota_run.
 */
static void rpcrdma_quota_run(struct work_struct *work)
{
	struct rpcrdma_quota_run run = rpcrdma_locked(
		&rpcrdma_quota_lock,
		rpcrdma_quota_run_begin(&rpcrdma_quota, rpcrdma_now_ms()));
	struct rpcrdma_ep *ep = NULL;
	u32 next_ms;

	if (run.visit) {
		while ((ep = rpcrdma_ep_next(ep))) {
			if (!ep->client)
				rpcrdma_quota_visit_ep(ep);
		}
	}
	while (rpcrdma_quota_wake(&run))
		;
	next_ms = rpcrdma_locked(&rpcrdma_quota_lock,
				 rpcrdma_quota_run_end(&rpcrdma_quota, &run));
	if (next_ms)
		queue_delayed_work(rpcrdma_wq, &rpcrdma_quota_work,
				   msecs_to_jiffies(next_ms));
}

/* Module end; no endpoint is left. */
void rpcrdma_quota_exit(void)
{
	cancel_delayed_work_sync(&rpcrdma_quota_work);
}
