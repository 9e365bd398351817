// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls of a connection that wait for a service thread: their order, and the memory
 * that they are pulled into.
 *
 * Operation
 *
 * A Call that no thread receives at once is in one of two lists, or is being pulled.
 * The waiting Calls are in the order of arrival, the pulled ones in the order in which
 * their Reads ended. A thread gets the first waiting Call that can proceed, or the
 * first pulled Call if that is older. A Call that waits for memory therefore delays no
 * Call that needs none, and neither list starves the other. A Call that a thread
 * receives at once overtakes only Calls that are being pulled. Each Call holds its
 * Receive, so that a search passes no more Calls than the connection has Receives.
 *
 * Memory
 *
 * Nothing is allocated: a Call is embedded in an object of the user. Calls that are
 * pulled ahead of the threads may use the memory of RPCRDMA_EARLY_CALLS largest Calls.
 * That memory is reserved until a thread has received the Call, or the Call is freed.
 *
 * Errors
 *
 * A Call that is larger than the service accepts is neither pulled ahead nor kept
 * waiting for memory: a thread gets it, and refuses it. When the service has ended, no
 * Call waits for memory any more, so that all can be removed.
 *
 * Locking
 *
 * The user's lock is held, also when @room is called. There are three exceptions:
 * rpcrdma_calls_arrived(), because one context at a time processes messages; some
 * inline checks of the header; and the removal of all Calls, when no other context is
 * left. If @room refuses a Call, the quota notifies its user later, and a thread
 * searches again.
 */
#include "../internal.hh"

namespace rpcrdma
{

namespace
{

void append(struct rpcrdma_call_list *list, struct rpcrdma_queued_call *call)
{
	call->next = nullptr;
	(list->first ? list->last->next : list->first) = call;
	list->last = call;
}

/* Remove the Call after @before, null for the first. */
struct rpcrdma_queued_call *remove(struct rpcrdma_call_list *list,
				   struct rpcrdma_queued_call *before)
{
	struct rpcrdma_queued_call *call = before ? before->next : list->first;

	(before ? before->next : list->first) = call->next;
	if (list->last == call)
		list->last = before;
	return call;
}

/* Order of arrival wraps. */
bool is_older(const struct rpcrdma_queued_call *call,
	      const struct rpcrdma_queued_call *than)
{
	return call->order - than->order > ~0u / 2;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_calls_arrived(struct rpcrdma_call_queue *q,
			   struct rpcrdma_queued_call *call, u64 octets)
{
	call->order = q->arrived++;
	call->pull_octets = rpcrdma_whole_pages(q->page_octets, octets);
	call->pulled = false;
}

void rpcrdma_calls_wait(struct rpcrdma_call_queue *q,
			struct rpcrdma_queued_call *call)
{
	append(&q->waiting, call);
}

void rpcrdma_calls_pulled(struct rpcrdma_call_queue *q,
			  struct rpcrdma_queued_call *call)
{
	call->pulled = true;
	append(&q->pulled, call);
}

struct rpcrdma_queued_call *
rpcrdma_calls_next(struct rpcrdma_call_queue *q,
		   bool (*room)(void *user, u64 octets), void *user)
{
	struct rpcrdma_queued_call *call = q->waiting.first, *before = nullptr;

	while (call && call->pull_octets && rpcrdma_calls_accept(q, call) &&
	       !room(user, call->pull_octets)) {
		before = call;
		call = call->next;
	}
	if (call && (!q->pulled.first || is_older(call, q->pulled.first)))
		return remove(&q->waiting, before);
	return q->pulled.first ? remove(&q->pulled, nullptr) : nullptr;
}
