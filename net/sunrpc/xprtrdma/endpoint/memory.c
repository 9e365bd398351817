// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that peers make this end hold: counted for each connection, bounded
 * for those that have joined. The rules are the engine's.
 *
 * An account is under its endpoint's memory_lock. The global lock is taken within that,
 * and only if the account's own quota does not do.
 */

#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Accounts that are woken at a time */
#define RPCRDMA_MEMORY_WAKE	32
#define RPCRDMA_MEMORY_TICK	msecs_to_jiffies(RPCRDMA_MEMORY_TICK_MS)

static DEFINE_SPINLOCK(rpcrdma_memory_lock);
struct rpcrdma_memory rpcrdma_memory;

static void rpcrdma_memory_run(struct work_struct *work);
static DECLARE_DELAYED_WORK(rpcrdma_memory_work, rpcrdma_memory_run);
/* The work item's: when connections are looked at again */
static unsigned long rpcrdma_memory_due;

/*
 * Release both locks, after a charge or release that an account's own quota did not do
 * for. @was_tight: memory was tight before. @released: accounts that wait may go on.
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
	/* In the second case the quotas that idle connections have are wanted. */
	if (unlikely(waiting && released))
		mod_delayed_work(rpcrdma_wq, &rpcrdma_memory_work, 0);
	else if (unlikely(tight && !was_tight))
		queue_delayed_work(rpcrdma_wq, &rpcrdma_memory_work,
				   waiting ? RPCRDMA_MEMORY_TICK : 0);
}

/* Take the global lock within that of @ep. Returns true if memory is tight. */
static bool rpcrdma_memory_lock_all(struct rpcrdma_ep *ep)
	__acquires(&rpcrdma_memory_lock)
{
	lockdep_assert_held(&ep->memory_lock);
	spin_lock(&rpcrdma_memory_lock);
	return rpcrdma_memory_is_tight(&rpcrdma_memory);
}

/* Memory is tight: what a connection has at least does for this one. */
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
 * rpcrdma_ep_join - count a new connection among those that share a limit
 * @ep: endpoint with its params, before anything of it was made
 * @limit: bytes for all of them, from now on
 * @message: bytes of the largest Call or Reply there is
 *
 * If memory is tight, the connection gets small buffers, and few. Any context.
 * Return: 0, or -ENOMEM if the others hold all there is.
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
	/* Pages that are not full, at either end of a message */
	rpcrdma_memory_promise(&ep->memory, sizeof(*ep) +
			       sends * sizeof(struct rpcrdma_send) +
			       RPCRDMA_CONTROL_SENDS * RPCRDMA_SMALL_SEND,
			       recvs * rpcrdma_recv_cost(octets), message, p->reassembly,
			       sizeof(struct rpcrdma_stream) + 2 * PAGE_SIZE);
	rc = rpcrdma_memory_join(&rpcrdma_memory, &ep->memory);
	rpcrdma_memory_unlock(ep, tight, false);
	return rc ? -ENOMEM : 0;
}

/**
 * rpcrdma_ep_part - a connection that is being closed counts no more
 * @ep: endpoint, joined or not
 *
 * Any number of times. Its end comes by itself here at the latest.
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
 * rpcrdma_ep_has_room - return true if more may be held for this peer
 * @ep: endpoint
 * @use: what for
 * @octets: how much
 *
 * Arranges for write_space() otherwise.
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
 * rpcrdma_ep_hold_some - hold as much more for this peer as there is room for
 * @ep: endpoint
 * @use: what for
 * @octets: of one piece
 * @count: pieces that are wanted
 *
 * Returns how many are held now.
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
 * rpcrdma_ep_hold - more is held for this peer
 * @ep: endpoint
 * @use: what for
 * @octets: how much
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

/**
 * rpcrdma_ep_assembled - a message in parts is whole
 * @ep: endpoint
 * @octets: bytes that it takes
 *
 * Returns false if more such messages wait to be served than may be held.
 */
bool rpcrdma_ep_assembled(struct rpcrdma_ep *ep, u64 octets)
{
	bool ok, tight;

	spin_lock(&ep->memory_lock);
	tight = rpcrdma_memory_lock_all(ep);
	ok = rpcrdma_memory_assembled(&rpcrdma_memory, &ep->memory, octets);
	rpcrdma_memory_unlock(ep, tight, false);
	return ok;
}

/**
 * rpcrdma_ep_give - what was held is free
 * @ep: endpoint
 * @use: what it was held for
 * @octets: how much, as it was said to rpcrdma_ep_hold()
 *
 * Process context, no lock held.
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

/* Are Reads of the peer's memory under way? A guess. */
static bool rpcrdma_ep_reads(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work;
	bool reads = false;

	if (!READ_ONCE(ep->memory.held[RPCRDMA_MEMORY_CALLS]))
		return false;
	spin_lock(&ep->lock);
	for (work = ep->inflight; work && !reads; work = work->next)
		reads = work->kind == RPCRDMA_WORK_RDMA;
	spin_unlock(&ep->lock);
	return reads;
}

/* Take the quota that a connection does not use, and close one that hoards. */
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

/* Have the connection ask again that has waited for longest. */
static bool rpcrdma_memory_wake(void)
{
	struct rpcrdma_memory_account *account;
	struct rpcrdma_ep *ep = NULL;

	spin_lock(&rpcrdma_memory_lock);
	account = rpcrdma_memory_next(&rpcrdma_memory);
	/* Before its memory is freed it leaves the queue, under the lock. */
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

/* Runs when memory gets tight, when some is released, and as long as accounts wait. */
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

/* Module start: no connection has been looked at. */
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
 * rpcrdma_ep_memory - the account, for those who show it
 * @ep: endpoint
 * @account: gets a copy
 */
void rpcrdma_ep_memory(struct rpcrdma_ep *ep,
		       struct rpcrdma_memory_account *account)
{
	spin_lock(&ep->memory_lock);
	*account = ep->memory;
	spin_unlock(&ep->memory_lock);
}
