// SPDX-License-Identifier: GPL-2.0
/*
 * The base of all other files of the endpoint: its locks, its users, the start of its
 * teardown, the counters of a network namespace, and the list of all endpoints. The
 * engine makes the decisions, see struct rpcrdma_lifecycle.
 *
 * Operation
 *
 * The first event that ends a connection closes it; later ones have no effect.
 * rpcrdma_port_closing() then notifies the transport if the connection was open, logs
 * the reason, and queues the teardown. A context that uses objects of the device
 * without ep->lock calls rpcrdma_ep_enter(), which holds off the teardown or fails.
 * The barriers in rpcrdma_ep_enter() and rpcrdma_port_closing() ensure that either the
 * teardown sees the user, or the user sees that the connection is closing. Two kinds
 * of contexts do not have to enter: the one that processes messages, because the
 * teardown waits until ep->rx_busy is clear, and work items that the teardown cancels.
 * rpcrdma_ep_write_space() enters for its upcall, which therefore does not run after
 * closed().
 *
 * Memory
 *
 * An endpoint is in the list from its allocation until its last reference is dropped. A
 * walk of the list takes a reference to each endpoint, and holds no lock between two of
 * them. Counters belong to the network namespace of the connection, to which the CM id
 * holds a reference: do not count an event after the id is destroyed.
 *
 * Errors
 *
 * The status of a failed Work Request is classified by its origin: the peer, this end,
 * or a flush. A flush is the consequence of another event, and has no reason for the
 * log. Closes without a reason are not logged.
 *
 * Locking
 *
 * ep->lock and ep->mr_lock are spinlocks for process context; the latter is the inner one.
 * rpcrdma_eps_mutex protects the list. Dropping the last reference takes that
 * mutex, and therefore may sleep.
 */

#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
#include "trace_auth.h"

static DEFINE_MUTEX(rpcrdma_eps_mutex);
static LIST_HEAD(rpcrdma_eps);
static u64 rpcrdma_last_number;

struct workqueue_struct *rpcrdma_wq;
struct workqueue_struct *rpcrdma_message_wq;
struct workqueue_struct *rpcrdma_accept_wq;
struct workqueue_struct *rpcrdma_auth_wq;
struct workqueue_struct *rpcrdma_teardown_wq;

void rpcrdma_port_lock(struct rpcrdma_ep_core *core)
	__acquires(&rpcrdma_ep_of(core)->lock)
{
	spin_lock(&rpcrdma_ep_of(core)->lock);
}

void rpcrdma_port_unlock(struct rpcrdma_ep_core *core)
	__releases(&rpcrdma_ep_of(core)->lock)
{
	spin_unlock(&rpcrdma_ep_of(core)->lock);
}

bool rpcrdma_port_enter(struct rpcrdma_ep_core *core)
{
	return rpcrdma_ep_enter(rpcrdma_ep_of(core));
}

void rpcrdma_port_get(struct rpcrdma_ep_core *core)
{
	rpcrdma_ep_get(rpcrdma_ep_of(core));
}

void rpcrdma_port_put(struct rpcrdma_ep_core *core)
{
	rpcrdma_ep_put(rpcrdma_ep_of(core));
}

void rpcrdma_port_leave(struct rpcrdma_ep_core *core)
{
	rpcrdma_ep_leave(rpcrdma_ep_of(core));
}

void rpcrdma_port_wake(struct rpcrdma_ep_core *core)
{
	wake_up_all(&rpcrdma_ep_of(core)->wait);
}

void rpcrdma_port_closing(struct rpcrdma_ep_core *core, const char *reason)
{
	const char *peer = rpcrdma_auth_peer(&core->conn);
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	/* Pairs with the barrier in rpcrdma_ep_enter(). */
	smp_mb();
	trace_rpcrdma_disconnect(ep, reason);
	if (rpcrdma_auth_failed(&core->conn))
		trace_rpcrdma_auth_result(ep);
	if (core->life.opened && ep->ops->changed)
		ep->ops->changed(ep);
	if (reason)
		pr_warn_ratelimited("rpcrdma: connection to %pISpc closed: %s%s%s\n",
				    &ep->remote, reason,
				    *peer ? "; its identity: " : "", peer);
	queue_work(rpcrdma_teardown_wq, &ep->teardown_work);
}

/*
 * Classify the status of a failed Work Request. One cause of a local length error is a
 * peer that sends more than a Receive holds.
 */
enum rpcrdma_failure rpcrdma_wc_failure(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_WR_FLUSH_ERR:
		return RPCRDMA_FAILURE_FLUSHED;
	case IB_WC_LOC_LEN_ERR:
	case IB_WC_BAD_RESP_ERR:
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_OP_ERR:
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
	case IB_WC_REM_ABORT_ERR:
		return RPCRDMA_FAILURE_PEER;
	default:
		return RPCRDMA_FAILURE_HERE;
	}
}

void rpcrdma_ep_wait_closed(struct rpcrdma_ep *ep)
{
	wait_for_completion(&ep->closed);
}

void rpcrdma_ep_write_space(struct rpcrdma_ep *ep)
{
	if (!ep->ops->write_space || !rpcrdma_ep_enter(ep))
		return;
	trace_rpcrdma_sq_retry(ep);
	ep->ops->write_space(ep);
	rpcrdma_ep_leave(ep);
}

void rpcrdma_port_write_space(struct rpcrdma_ep_core *core)
{
	rpcrdma_ep_write_space(rpcrdma_ep_of(core));
}

/* ---- Counters ---- */

struct rpcrdma_counts {
	atomic64_t		counts[RPCRDMA_NR_COUNTERS];
};

static unsigned int rpcrdma_counts_id;
static struct pernet_operations rpcrdma_counts_ops = {
	.id	= &rpcrdma_counts_id,
	.size	= sizeof(struct rpcrdma_counts),
};

void rpcrdma_ep_count(struct rpcrdma_ep *ep, enum rpcrdma_counter counter)
{
	struct rpcrdma_counts *c = net_generic(ep->net, rpcrdma_counts_id);

	atomic64_inc(&c->counts[counter]);
}

void rpcrdma_port_count(struct rpcrdma_ep_core *core,
			enum rpcrdma_counter counter)
{
	rpcrdma_ep_count(rpcrdma_ep_of(core), counter);
}

u64 rpcrdma_counted(struct net *net, enum rpcrdma_counter counter)
{
	struct rpcrdma_counts *c = net_generic(net, rpcrdma_counts_id);

	return atomic64_read(&c->counts[counter]);
}

int rpcrdma_counts_init(void)
{
	return register_pernet_subsys(&rpcrdma_counts_ops);
}

void rpcrdma_counts_exit(void)
{
	unregister_pernet_subsys(&rpcrdma_counts_ops);
}

/* ---- All endpoints ---- */

/* Add an endpoint to the list that rpcrdma_ep_next() walks. Sleeps. */
void rpcrdma_ep_list(struct rpcrdma_ep *ep)
{
	mutex_lock(&rpcrdma_eps_mutex);
	ep->number = ++rpcrdma_last_number;
	list_add_tail(&ep->node, &rpcrdma_eps);
	mutex_unlock(&rpcrdma_eps_mutex);
}

/* Remove an endpoint, which has no reference any more, from the list. Sleeps. */
void rpcrdma_ep_unlist(struct rpcrdma_ep *ep)
{
	mutex_lock(&rpcrdma_eps_mutex);
	list_del(&ep->node);
	mutex_unlock(&rpcrdma_eps_mutex);
}

/*
 * Return the first endpoint after @node with a number of at least @number, with a
 * reference, or NULL. Sleeps.
 */
static struct rpcrdma_ep *rpcrdma_ep_find(struct list_head *node, u64 number)
{
	struct rpcrdma_ep *ep = NULL;

	mutex_lock(&rpcrdma_eps_mutex);
	while (!ep && (node = node->next) != &rpcrdma_eps) {
		ep = list_entry(node, struct rpcrdma_ep, node);
		/* An endpoint without references is about to leave the list. */
		if (ep->number < number || !kref_get_unless_zero(&ep->kref))
			ep = NULL;
	}
	mutex_unlock(&rpcrdma_eps_mutex);
	return ep;
}

struct rpcrdma_ep *rpcrdma_ep_next(struct rpcrdma_ep *ep)
{
	struct rpcrdma_ep *next;

	next = rpcrdma_ep_find(ep ? &ep->node : &rpcrdma_eps, 0);
	if (ep)
		rpcrdma_ep_put(ep);
	return next;
}

struct rpcrdma_ep *rpcrdma_ep_from(u64 number)
{
	return rpcrdma_ep_find(&rpcrdma_eps, number);
}
