// SPDX-License-Identifier: GPL-2.0
/*
 * Connections: allocation, setup, opening, teardown.
 *
 * Operation
 *
 * Three kinds of contexts change an endpoint. The setup context, the client's connect
 * worker or the server's accept work item, executes the steps that the core returns
 * and sleeps in between. Event sources (the connection manager, completions, timers,
 * the transport) report events, each with one call. The teardown, a work item, is
 * started by the event that closes the connection. It waits for the setup context, and
 * destroys the objects in the order of the table in core/conn/lifecycle.cc. This file
 * executes the steps; it decides nothing.
 *
 * Memory
 *
 * An endpoint has two references: the transport's, and one that the teardown drops. If
 * the transport still holds Receives at the end of the teardown, the release of the
 * last one drops the latter. Further references belong to request slots with MRs,
 * callbacks, the work item of host authentication, and walks of the list. Objects of
 * the device are destroyed by the teardown, the endpoint itself with its last
 * reference. rpcrdma_ep_enter() holds off the teardown for a context that prepares
 * MRs, transfers or buffers. Setup and teardown are a part of memory reclaim: their
 * allocations are NOFS, and the teardown waits for nothing that sunrpc or a file
 * system does.
 *
 * Errors
 *
 * A step that fails or exceeds its time closes the connection, with the errno that the
 * transport gets. A device that refuses to stop its queue pair is given 5 seconds;
 * posted work then ends after the queue pair is destroyed.
 *
 * Locking
 *
 * The stage and all counts are the core's, under ep->lock; actions follow after its
 * release. Upcalls run without it. Work items that may wait, or compute for long, are not
 * on the workqueues of work that connections in use depend on, see rpcrdma_queues[].
 */

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>

#include "hostauth.h"
#include "internal.h"
#include "trace.h"
#include "trace_auth.h"

static atomic_t rpcrdma_nr_eps;
static DECLARE_WAIT_QUEUE_HEAD(rpcrdma_eps_wait);

static void rpcrdma_ep_teardown(struct work_struct *work);
static void rpcrdma_ep_overdue(struct work_struct *work);
static void rpcrdma_ep_broken(struct work_struct *work);
static void rpcrdma_ep_opened_later(struct work_struct *work);
static void rpcrdma_ep_release(struct kref *kref);

struct rpcrdma_ep *rpcrdma_ep_alloc(bool client)
{
	struct rpcrdma_ep *ep;

	/* Part of the memory reclaim path: must not start I/O. */
	ep = kzalloc(sizeof(*ep), GFP_NOFS);
	if (!ep)
		return NULL;
	ep->client = client;
	ep->core.life.client = client;
	ep->release = rpcrdma_ep_release;
	spin_lock_init(&ep->lock);
	spin_lock_init(&ep->memory_lock);
	spin_lock_init(&ep->mr_lock);
	mutex_init(&ep->unmap_mutex);
	/* One reference for the transport, one that the teardown drops. */
	kref_init(&ep->kref);
	kref_get(&ep->kref);
	atomic_set(&ep->users, 0);
	atomic64_set(&ep->local_inv, 0);
	INIT_LIST_HEAD(&ep->node);
	rpcrdma_core_init(&ep->core);
	ep->core.control.params = &ep->params;
	ep->core.recv_size = sizeof(struct verbs_recv);
	ep->core.page_size = PAGE_SIZE;
	INIT_DELAYED_WORK(&ep->open_timer, rpcrdma_ep_overdue);
	INIT_DELAYED_WORK(&ep->exposed_work, rpcrdma_exposed_overdue);
	init_llist_head(&ep->rx_new);
	INIT_DELAYED_WORK(&ep->recv_work, rpcrdma_recvs_process);
	init_llist_head(&ep->completed);
	INIT_WORK(&ep->reap_work, rpcrdma_works_reap);
	INIT_DELAYED_WORK(&ep->stall_timer, rpcrdma_stall_expired);
	INIT_WORK(&ep->auth_work, rpcrdma_auth_answer);
	INIT_WORK(&ep->opened_work, rpcrdma_ep_opened_later);
	INIT_WORK(&ep->broken_work, rpcrdma_ep_broken);
	INIT_WORK(&ep->rw_work, rpcrdma_rw_retry);
	INIT_WORK(&ep->teardown_work, rpcrdma_ep_teardown);
	init_waitqueue_head(&ep->wait);
	init_completion(&ep->made);
	init_completion(&ep->gone);
	init_completion(&ep->closed);

	atomic_inc(&rpcrdma_nr_eps);
	rpcrdma_ep_list(ep);
	return ep;
}

static void rpcrdma_ep_release(struct kref *kref)
{
	struct rpcrdma_ep *ep = container_of(kref, struct rpcrdma_ep, kref);

	rpcrdma_ep_unlist(ep);
	rpcrdma_core_destroy(&ep->core);
	rpcrdma_sends_free(ep);
	rpcrdma_mrs_free(ep);
	rpcrdma_auth_free(ep);
	kfree(ep);
	if (atomic_dec_and_test(&rpcrdma_nr_eps))
		wake_up_all(&rpcrdma_eps_wait);
}

/* ---- Closing ---- */

static void rpcrdma_ep_broken(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep,
					     broken_work);

	rpcrdma_ep_close(ep, "the device reported an error of the queue pair");
}

/*
 * Free the CQs, to which no queue pair reports any more. ib_free_cq() waits until the softirq that
 * polls a CQ has reported the end of its poll, but not until it has armed the CQ after that.
 * Therefore wait for running softirqs, while no other poll can begin.
 */
static void rpcrdma_ep_free_cqs(struct rpcrdma_ep *ep)
{
	struct ib_cq *cqs[] = { ep->send_cq, ep->recv_cq };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cqs); i++)
		if (cqs[i])
			irq_poll_disable(&cqs[i]->iop);
	if (ep->send_cq)
		synchronize_rcu();
	for (i = 0; i < ARRAY_SIZE(cqs); i++) {
		if (!cqs[i])
			continue;
		irq_poll_enable(&cqs[i]->iop);
		ib_free_cq(cqs[i]);
	}
	cancel_delayed_work_sync(&ep->recv_work);
	cancel_work_sync(&ep->reap_work);
}

/* Change the state of the queue pair. Return 0 or the negative errno of a refusal. */
static int rpcrdma_ep_modify_qp(struct rpcrdma_ep *ep, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return ib_modify_qp(ep->qp, &attr, IB_QP_STATE);
}

/*
 * Wait for the contexts that prepare MRs or transfers, which will be refused. Posted
 * transfers hold users, too. Here they exist only if the device refuses to stop, and
 * none of them ends before the queue pair is destroyed.
 */
static void rpcrdma_ep_wait_users(struct rpcrdma_ep *ep)
{
	u32 posted = rpcrdma_locked(&ep->lock,
				    rpcrdma_core_transfers_posted(&ep->core));

	atomic_sub(posted, &ep->users);
	wait_event(ep->wait,
		   atomic_read(&ep->users) == 0 && !test_bit(0, &ep->rx_busy));
	atomic_add(posted, &ep->users);
	cancel_work_sync(&ep->rw_work);
}

static void rpcrdma_ep_destroy_qp(struct rpcrdma_ep *ep)
{
	if (unlikely(ep->core.life.unstopped)) {
		pr_warn_ratelimited("rpcrdma: device %s cannot stop the queue pair of the connection to %pISpc, destroying it\n",
				    ep->device->name, &ep->remote);
		rpcrdma_rw_late_begin(ep);
	}
	rdma_destroy_qp(ep->id);
	ep->qp = NULL;
	cancel_work_sync(&ep->broken_work);
}

int rpcrdma_port_release(struct rpcrdma_ep_core *core,
			 enum rpcrdma_teardown what)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	switch (what) {
	case RPCRDMA_TEARDOWN_TIMERS:
		cancel_work_sync(&ep->opened_work);
		cancel_delayed_work_sync(&ep->open_timer);
		cancel_delayed_work_sync(&ep->stall_timer);
		break;
	case RPCRDMA_TEARDOWN_DISCONNECT:
		rdma_disconnect(ep->id);
		break;
	case RPCRDMA_TEARDOWN_STOP:
		return rpcrdma_ep_modify_qp(ep, IB_QPS_ERR);
	case RPCRDMA_TEARDOWN_RESET:
		/*
		 * The drain of rxe does not wait until the device has finished the work that
		 * it has completed; a reset does. Devices that do not support this do not
		 * need it.
		 */
		rpcrdma_ep_modify_qp(ep, IB_QPS_RESET);
		break;
	case RPCRDMA_TEARDOWN_POSTED:
		rpcrdma_rw_late_end(ep);
		break;
	case RPCRDMA_TEARDOWN_QUEUE_PAIR:
		rpcrdma_ep_destroy_qp(ep);
		break;
	case RPCRDMA_TEARDOWN_COMPLETIONS:
		rpcrdma_ep_free_cqs(ep);
		break;
	case RPCRDMA_TEARDOWN_MRS:
		rpcrdma_mrs_destroy(ep);
		break;
	case RPCRDMA_TEARDOWN_EXPOSED:
		cancel_delayed_work_sync(&ep->exposed_work);
		break;
	case RPCRDMA_TEARDOWN_BUFFERS:
		rpcrdma_recvs_unmap(ep);
		rpcrdma_sends_unmap(ep);
		break;
	case RPCRDMA_TEARDOWN_DOMAIN:
		if (ep->pd)
			ib_dealloc_pd(ep->pd);
		ep->pd = NULL;
		break;
	case RPCRDMA_TEARDOWN_ID:
		/* Waits for a CM handler that is running. */
		if (ep->id)
			rpcrdma_id_destroy(ep->id);
		ep->id = NULL;
		break;
	case RPCRDMA_TEARDOWN_GONE:
		wake_up_all(&ep->wait);
		complete_all(&ep->gone);
		break;
	case RPCRDMA_TEARDOWN_NOTIFY:
		ep->ops->closed(ep);
		break;
	case RPCRDMA_TEARDOWN_END:
		complete_all(&ep->closed);
		break;
	default:
		break;
	}
	return 0;
}

/* Wait for the end of a step of the teardown. */
static void rpcrdma_ep_wait_step(struct rpcrdma_ep *ep,
				 enum rpcrdma_teardown what)
{
	switch (what) {
	case RPCRDMA_TEARDOWN_SETUP:
		/* The id and its objects may still be under construction. */
		wait_for_completion(&ep->made);
		break;
	case RPCRDMA_TEARDOWN_PAUSE:
		msleep(RPCRDMA_STOP_PAUSE_MS);
		break;
	case RPCRDMA_TEARDOWN_DRAIN:
		ib_drain_qp(ep->qp);
		break;
	case RPCRDMA_TEARDOWN_USERS:
		rpcrdma_ep_wait_users(ep);
		break;
	default:
		break;
	}
}

static void rpcrdma_ep_teardown(struct work_struct *work)
{
	struct rpcrdma_ep *ep =
		container_of(work, struct rpcrdma_ep, teardown_work);
	/* Memory reclaim may wait for an RPC that waits for the teardown. */
	unsigned int flags = rpcrdma_ep_memalloc_begin(ep);
	enum rpcrdma_teardown what;

	while ((what = rpcrdma_core_teardown(&ep->core)) !=
	       RPCRDMA_TEARDOWN_END)
		rpcrdma_ep_wait_step(ep, what);
	rpcrdma_recvs_end(ep);
	rpcrdma_memalloc_end(flags);
}

static void rpcrdma_ep_overdue(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, open_timer);
	const struct rpcrdma_lifecycle_event event = {
		.what = RPCRDMA_HAPPENED_OVERDUE,
	};

	rpcrdma_core_happened(&ep->core, &event);
}

/* ---- Opening ---- */

void rpcrdma_port_version_refused(struct rpcrdma_ep_core *core)
{
	pr_info_ratelimited("rpcrdma: %pISpc does not support version 2 (it supports %u to %u), using version 1\n",
			    &rpcrdma_ep_of(core)->remote,
			    core->conn.err_vers_low, core->conn.err_vers_high);
}

void rpcrdma_port_opened(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	trace_rpcrdma_opened(ep);
	trace_rpcrdma_auth_result(ep);
	if (ep->ops->changed)
		ep->ops->changed(ep);
	if (ep->ops->opened)
		ep->ops->opened(ep);
}

void rpcrdma_port_open_later(struct rpcrdma_ep_core *core)
{
	/* The teardown cancels it. */
	queue_work(rpcrdma_message_wq, &rpcrdma_ep_of(core)->opened_work);
}

static void rpcrdma_ep_opened_later(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep,
					     opened_work);
	/* Memory reclaim may wait for an RPC that waits for the connection to open. */
	unsigned int flags = rpcrdma_ep_memalloc_begin(ep);

	rpcrdma_core_open_later(&ep->core);
	rpcrdma_memalloc_end(flags);
}

/* ---- Setup ---- */

static int rpcrdma_ep_wait(struct rpcrdma_ep *ep, u32 ms)
{
	return wait_event_timeout(ep->wait, READ_ONCE(ep->core.life.step_done),
				  msecs_to_jiffies(ms)) ?
		       0 :
		       -ETIMEDOUT;
}

/*
 * Set up a connection, as far as this end can.
 * @ep: endpoint, which has an id unless @rc is the reason for having none
 * @rc: 0 or a negative errno
 *
 * Sleeps, with a bound. The teardown does not touch the objects before this has
 * returned.
 * Return: 0; or a negative errno, the connection is closing then.
 */
int rpcrdma_ep_setup(struct rpcrdma_ep *ep, int rc)
{
	struct rpcrdma_setup_step m;

	while ((m = rpcrdma_core_setup(&ep->core, rc)).what != RPCRDMA_SETUP_END)
		rc = rpcrdma_ep_wait(ep, m.ms);
	/* The teardown of a server's connection may free @ep after this. */
	complete_all(&ep->made);
	return m.status;
}

void rpcrdma_ep_address(struct sockaddr_storage *to, const struct sockaddr *addr)
{
	memcpy(to, addr, addr->sa_family == AF_INET6 ?
	       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
}

struct rpcrdma_ep *rpcrdma_ep_connect(struct net *net,
				      const struct sockaddr *dst,
				      const struct sockaddr *src,
				      const struct rpcrdma_ep_params *params,
				      const struct rpcrdma_ep_ops *ops,
				      void *priv, unsigned int how,
				      enum rpcrdma_answer *answer)
{
	const bool reserves = how & RPCRDMA_CONNECT_RESERVES;
	/* Memory reclaim may wait for an RPC that waits for a connection. */
	unsigned int flags = rpcrdma_memalloc_begin(reserves);
	struct rpcrdma_ep *ep;
	struct rdma_cm_id *id;
	int rc;

	if (answer)
		*answer = RPCRDMA_ANSWER_NOT_YET;
	ep = rpcrdma_ep_alloc(true);
	if (!ep) {
		ep = ERR_PTR(-ENOMEM);
		goto out;
	}
	ep->net = net;
	ep->reserves = reserves;
	ep->first = how & RPCRDMA_CONNECT_FIRST;
	ep->params = *params;
	ep->core.life.limit_ms = params->connect_ms;
	ep->ops = ops;
	ep->priv = priv;
	rpcrdma_ep_address(&ep->remote, dst);
	if (src)
		rpcrdma_ep_address(&ep->local, src);

	id = rdma_create_id(net, rpcrdma_ep_cm_handler, ep, RDMA_PS_TCP,
			    IB_QPT_RC);
	rc = PTR_ERR_OR_ZERO(id);
	if (!rc)
		ep->id = id;
	rc = rpcrdma_ep_setup(ep, rc);
	if (!rc)
		goto out;

	rpcrdma_ep_wait_closed(ep);
	if (answer)
		*answer = ep->core.control.answer;
	rpcrdma_ep_put(ep);
	ep = ERR_PTR(rc);
out:
	rpcrdma_memalloc_end(flags);
	return ep;
}

/* The number of work items of a workqueue that may run at a time */
enum rpcrdma_queue_kind {
	RPCRDMA_QUEUE_BRIEF,		/* the default, because they are brief */
	RPCRDMA_QUEUE_WAITS,		/* the maximum, because they may wait for seconds */
	RPCRDMA_QUEUE_COMPUTES,		/* the number of CPUs */
};

static const struct {
	struct workqueue_struct	**wq;
	const char		*name;
	enum rpcrdma_queue_kind	kind;
} rpcrdma_queues[] = {
	{ &rpcrdma_message_wq, "rpcrdma_message", RPCRDMA_QUEUE_BRIEF },
	{ &rpcrdma_accept_wq, "rpcrdma_accept", RPCRDMA_QUEUE_BRIEF },
	{ &rpcrdma_auth_wq, "rpcrdma_auth", RPCRDMA_QUEUE_COMPUTES },
	{ &rpcrdma_teardown_wq, "rpcrdma_teardown", RPCRDMA_QUEUE_WAITS },
	{ &rpcrdma_wq, "rpcrdma", RPCRDMA_QUEUE_BRIEF },
};

static int rpcrdma_queue_active(enum rpcrdma_queue_kind kind)
{
	switch (kind) {
	case RPCRDMA_QUEUE_WAITS:
		return WQ_UNBOUND_MAX_ACTIVE;
	case RPCRDMA_QUEUE_COMPUTES:
		/* At least two, because one may wait for the semaphore of a key. */
		return max(2U, num_possible_cpus());
	default:
		return 0;
	}
}

static void rpcrdma_ep_destroy(void)
{
	unsigned int i;

	rpcrdma_recvs_exit();
	rpcrdma_counts_exit();
	rpcrdma_algs_exit();
	rpcrdma_auth_exit_keys();
	for (i = 0; i < ARRAY_SIZE(rpcrdma_queues); i++) {
		if (*rpcrdma_queues[i].wq)
			destroy_workqueue(*rpcrdma_queues[i].wq);
		*rpcrdma_queues[i].wq = NULL;
	}
}

/* Allocate the workqueues. Return 0 or -ENOMEM; rpcrdma_ep_destroy() frees them. */
static int rpcrdma_ep_queues(void)
{
	/* A client may have to reconnect while memory reclaim writes through it. */
	const unsigned int flags = WQ_UNBOUND | WQ_MEM_RECLAIM;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rpcrdma_queues); i++) {
		*rpcrdma_queues[i].wq =
			alloc_workqueue("%s", flags,
					rpcrdma_queue_active(rpcrdma_queues[i].kind),
					rpcrdma_queues[i].name);
		if (!*rpcrdma_queues[i].wq)
			return -ENOMEM;
	}
	return 0;
}

int rpcrdma_ep_init(void)
{
	int rc = rpcrdma_auth_init_keys();

	if (rc)
		return rc;
	if (rpcrdma_counts_init()) {
		rpcrdma_auth_exit_keys();
		return -ENOMEM;
	}
	if (!rpcrdma_recvs_init() && !rpcrdma_ep_queues())
		return 0;
	rpcrdma_ep_destroy();
	return -ENOMEM;
}

void rpcrdma_ep_wait_all(void)
{
	wait_event(rpcrdma_eps_wait, atomic_read(&rpcrdma_nr_eps) == 0);
}

void rpcrdma_ep_exit(void)
{
	rpcrdma_ep_wait_all();
	rpcrdma_quota_exit();
	rpcrdma_ep_destroy();
}
