// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Incoming connections, until a service has accepted them: which are admitted, which
 * are evicted, and which context owns a connection when it ends.
 *
 * Operation
 *
 * All connections of a listener count until they have ended, so that evicted
 * connections that are still being torn down are limited, too. A connect request evicts
 * one connection at most: each has the same reservation, so that if one eviction does
 * not suffice, other users hold the memory. A connection that may still be in the
 * middle of its opening is not evicted: if all are, the client has to retry. Functions
 * return what their caller does: free a connection, close it, notify the service.
 *
 * Memory
 *
 * Nothing is allocated: the lists link objects that the user embeds in its own. The
 * memory of a connection is reserved last, so that a connection that is refused reserves
 * nothing.
 *
 * Errors
 *
 * A request is refused if the listener has stopped, if the limit is reached, or if no
 * memory is left, and no connection can be evicted. An end that comes while a service
 * thread is accepting the connection is recorded, and that thread closes it.
 *
 * Locking
 *
 * The user's lock protects a listener. A connection may have a separate lock, which
 * nests inside and protects its stage.
 */
#include "../internal.hh"
#include "../list.hh"

namespace rpcrdma
{

namespace
{

void go(struct rpcrdma_pending_conn *pending, enum rpcrdma_pending_stage next)
{
	pending->stage = static_cast<u8>(next);
}

/* Remove a connection from its listener. */
u32 forget(struct rpcrdma_admission *all, struct rpcrdma_pending_conn *pending)
{
	list_remove(&pending->list);
	all->all--;
	return all->all ? 0 : RPCRDMA_PENDING_LAST;
}

/* Return the first connection of @list, or NULL. */
struct rpcrdma_pending_conn *first_of(const struct list_head *list)
{
	return list_is_empty(list) ? nullptr :
				     list_first<rpcrdma_pending_conn>(list);
}

/*
 * Return true if @oldest, the connection that has been opening longest, is evicted for
 * @pending.
 */
bool may_evict(const struct rpcrdma_admission *all,
	       const struct rpcrdma_pending_conn *pending,
	       const struct rpcrdma_pending_conn *oldest, u32 now_ms)
{
	return oldest && !pending->evicted_another &&
	       now_ms - oldest->since_ms >= RPCRDMA_PENDING_GRACE_MS &&
	       all->all < RPCRDMA_MAX_PENDING_ALL;
}

void close_all(const struct list_head *list,
	       void (*close)(struct rpcrdma_pending_conn *pending))
{
	for (struct list_head *at = list->next; at != list; at = at->next)
		close(list_object<rpcrdma_pending_conn>(at));
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_admission_init(struct rpcrdma_admission *all)
{
	*all = {};
	list_init(&all->opening_list);
	list_init(&all->opened_list);
}

enum rpcrdma_admit
rpcrdma_admission_admit(struct rpcrdma_admission *all,
			struct rpcrdma_pending_conn *pending,
			const struct rpcrdma_admission_user *user, u32 now_ms)
{
	bool full;

	list_init(&pending->list);
	for (;;) {
		struct rpcrdma_pending_conn *oldest =
			first_of(&all->opening_list);

		if (all->stopped)
			return RPCRDMA_ADMIT_STOPPED;
		/* Attached last, so that a refused connection reserves nothing. */
		full = all->opening + all->opened >= RPCRDMA_MAX_PENDING;
		if (!full && user->attach(pending))
			break;
		if (!may_evict(all, pending, oldest, now_ms))
			return full ? RPCRDMA_ADMIT_TOO_MANY :
				      RPCRDMA_ADMIT_NO_MEMORY;
		pending->evicted_another = 1;
		user->evict(oldest);
	}
	go(pending, RPCRDMA_PENDING_OPENING);
	pending->since_ms = now_ms;
	list_push_back(&pending->list, &all->opening_list);
	all->opening++;
	all->all++;
	return RPCRDMA_ADMIT;
}

void rpcrdma_admission_leave(struct rpcrdma_admission *all,
			     struct rpcrdma_pending_conn *pending)
{
	if (pending->stage != RPCRDMA_PENDING_OPENING)
		return;
	go(pending, RPCRDMA_PENDING_EVICTED);
	list_remove(&pending->list);
	all->opening--;
}

u32 rpcrdma_admission_opened(struct rpcrdma_admission *all,
			     struct rpcrdma_pending_conn *pending)
{
	if (pending->stage != RPCRDMA_PENDING_OPENING || all->stopped)
		return 0;
	go(pending, RPCRDMA_PENDING_OPENED);
	list_remove(&pending->list);
	list_push_back(&pending->list, &all->opened_list);
	all->opening--;
	all->opened++;
	return RPCRDMA_PENDING_LISTED;
}

struct rpcrdma_pending_conn *
rpcrdma_admission_next(const struct rpcrdma_admission *all)
{
	return first_of(&all->opened_list);
}

u32 rpcrdma_admission_accept(struct rpcrdma_admission *all,
			     struct rpcrdma_pending_conn *pending)
{
	if (pending->stage != RPCRDMA_PENDING_OPENED)
		return 0;
	go(pending, RPCRDMA_PENDING_ACCEPTED);
	all->opened--;
	return forget(all, pending);
}

u32 rpcrdma_pending_conn_served(struct rpcrdma_pending_conn *pending,
				bool calls)
{
	u32 todo = calls ? RPCRDMA_PENDING_DATA : 0;

	if (pending->stage == RPCRDMA_PENDING_CLOSED_EARLY) {
		go(pending, RPCRDMA_PENDING_GONE);
		todo |= RPCRDMA_PENDING_CLOSE;
	} else {
		go(pending, RPCRDMA_PENDING_IN_SERVICE);
	}
	return todo;
}

u32 rpcrdma_admission_gone(struct rpcrdma_admission *all,
			   struct rpcrdma_pending_conn *pending)
{
	switch (pending->stage) {
	case RPCRDMA_PENDING_OPENING:
		all->opening--;
		break;
	case RPCRDMA_PENDING_OPENED:
		all->opened--;
		break;
	case RPCRDMA_PENDING_EVICTED:
		break;
	case RPCRDMA_PENDING_ACCEPTED:
		go(pending, RPCRDMA_PENDING_CLOSED_EARLY);
		return 0;
	case RPCRDMA_PENDING_IN_SERVICE:
		go(pending, RPCRDMA_PENDING_GONE);
		return RPCRDMA_PENDING_CLOSE;
	default:
		return 0;
	}
	go(pending, RPCRDMA_PENDING_GONE);
	return RPCRDMA_PENDING_FREE | forget(all, pending);
}

void rpcrdma_admission_stop(struct rpcrdma_admission *all,
			    void (*close)(struct rpcrdma_pending_conn *pending))
{
	all->stopped = 1;
	close_all(&all->opening_list, close);
	close_all(&all->opened_list, close);
}
