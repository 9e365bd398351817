// SPDX-License-Identifier: GPL-2.0
/*
 * Connections: making, opening, tearing down.
 */

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <rdma/ib_cm.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

enum {
	/*
	 * Every step of getting a connection has an end: the CM's own
	 * defaults notice a dead peer after up to a minute.
	 */
	RPCRDMA_RESOLVE_MS = 5000,
	RPCRDMA_CONNECT_MS = 20000,
};

struct workqueue_struct *rpcrdma_wq;
/* Teardowns wait for these, which therefore must not wait behind them. */
struct workqueue_struct *rpcrdma_accept_wq;

static DEFINE_MUTEX(rpcrdma_eps_mutex);
static LIST_HEAD(rpcrdma_eps);
static atomic_t rpcrdma_nr_eps;
static DECLARE_WAIT_QUEUE_HEAD(rpcrdma_eps_wait);

static void rpcrdma_ep_teardown(struct work_struct *work);
static void rpcrdma_ep_open_expired(struct work_struct *work);
static void rpcrdma_ep_broken(struct work_struct *work);

struct rpcrdma_ep *rpcrdma_ep_alloc(bool client)
{
	struct rpcrdma_ep *ep;

	/* On the way of memory reclaim: may not start I/O. */
	ep = kzalloc(sizeof(*ep), GFP_NOFS);
	if (!ep)
		return NULL;
	ep->client = client;
	spin_lock_init(&ep->lock);
	spin_lock_init(&ep->mr_lock);
	/* One for the transport, one that the teardown drops. */
	kref_init(&ep->kref);
	kref_get(&ep->kref);
	atomic_set(&ep->users, 0);
	atomic64_set(&ep->remote_inv, 0);
	atomic64_set(&ep->local_inv, 0);
	INIT_LIST_HEAD(&ep->node);
	INIT_LIST_HEAD(&ep->rw_waiting);
	INIT_LIST_HEAD(&ep->rdma_queue);
	INIT_LIST_HEAD(&ep->reply_queue);
	INIT_LIST_HEAD(&ep->inflight);
	INIT_LIST_HEAD(&ep->free_sends);
	INIT_LIST_HEAD(&ep->all_recvs);
	INIT_LIST_HEAD(&ep->free_mrs);
	INIT_LIST_HEAD(&ep->all_mrs);
	INIT_DELAYED_WORK(&ep->open_timer, rpcrdma_ep_open_expired);
	INIT_DELAYED_WORK(&ep->exposed_work, rpcrdma_exposed_overdue);
	INIT_DELAYED_WORK(&ep->stall_timer, rpcrdma_stall_expired);
	INIT_WORK(&ep->broken_work, rpcrdma_ep_broken);
	INIT_WORK(&ep->rw_work, rpcrdma_rw_retry);
	INIT_WORK(&ep->accept_work, rpcrdma_ep_accept);
	INIT_WORK(&ep->teardown_work, rpcrdma_ep_teardown);
	init_waitqueue_head(&ep->wait);
	init_completion(&ep->made);
	init_completion(&ep->gone);
	init_completion(&ep->closed);

	atomic_inc(&rpcrdma_nr_eps);
	mutex_lock(&rpcrdma_eps_mutex);
	list_add_tail(&ep->node, &rpcrdma_eps);
	mutex_unlock(&rpcrdma_eps_mutex);
	return ep;
}

static void rpcrdma_ep_release(struct kref *kref)
{
	struct rpcrdma_ep *ep = container_of(kref, struct rpcrdma_ep, kref);

	mutex_lock(&rpcrdma_eps_mutex);
	list_del(&ep->node);
	mutex_unlock(&rpcrdma_eps_mutex);

	rpcrdma_ep_part(ep);
	rpcrdma_recvs_free(ep);
	rpcrdma_sends_free(ep);
	rpcrdma_mrs_free(ep);
	kvfree(ep->assembly);
	kfree(ep);
	if (atomic_dec_and_test(&rpcrdma_nr_eps))
		wake_up_all(&rpcrdma_eps_wait);
}

/**
 * rpcrdma_ep_put - give up a reference
 * @ep: endpoint
 *
 * Process context: the last one frees memory under a mutex.
 */
void rpcrdma_ep_put(struct rpcrdma_ep *ep)
{
	kref_put(&ep->kref, rpcrdma_ep_release);
}

bool rpcrdma_ep_enter(struct rpcrdma_ep *ep)
{
	atomic_inc(&ep->users);
	/* Pairs with the barrier in rpcrdma_ep_close(). */
	smp_mb__after_atomic();
	if (READ_ONCE(ep->state) < RPCRDMA_EP_CLOSING)
		return true;
	rpcrdma_ep_leave(ep);
	return false;
}

void rpcrdma_ep_leave(struct rpcrdma_ep *ep)
{
	if (atomic_dec_and_test(&ep->users) &&
	    READ_ONCE(ep->state) >= RPCRDMA_EP_CLOSING)
		wake_up_all(&ep->wait);
}

/* ---- Closing ---- */

/**
 * rpcrdma_ep_close - begin to close a connection
 * @ep: endpoint
 * @reason: static string for log and trace, NULL for an ordinary end
 *
 * Nothing is posted from here on. Process context, no ep lock held; does not
 * sleep. Idempotent.
 */
void rpcrdma_ep_close(struct rpcrdma_ep *ep, const char *reason)
{
	bool first;

	spin_lock(&ep->lock);
	first = ep->state < RPCRDMA_EP_CLOSING;
	if (first)
		WRITE_ONCE(ep->state, RPCRDMA_EP_CLOSING);
	spin_unlock(&ep->lock);
	if (!first)
		return;
	/* Pairs with the barrier in rpcrdma_ep_enter(). */
	smp_mb();

	trace_rpcrdma_disconnect(ep, reason);
	if (reason)
		pr_warn_ratelimited("rpcrdma: connection to %pISpc closed: %s\n",
				    &ep->remote, reason);
	wake_up_all(&ep->wait);
	queue_work(rpcrdma_wq, &ep->teardown_work);
}

static void rpcrdma_ep_broken(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep,
					     broken_work);

	rpcrdma_ep_close(ep, "the device reported an error of the queue pair");
}

/*
 * Completions may be there before the device has stopped working on what they
 * are for: the drain of rxe does not wait for that, a reset does. Devices that
 * cannot do this need not.
 */
static void rpcrdma_ep_quiet(struct rpcrdma_ep *ep)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	/* Before anything was posted, the CM may yet be at work on it. */
	if (ep->sq_head)
		ib_modify_qp(ep->qp, &attr, IB_QP_STATE);
}

static void rpcrdma_ep_teardown(struct work_struct *work)
{
	struct rpcrdma_ep *ep =
		container_of(work, struct rpcrdma_ep, teardown_work);
	/* Memory reclaim may wait for an RPC, and that for this. */
	unsigned int nofs = memalloc_nofs_save();

	/* The id and what hangs on it may still be in the making. */
	wait_for_completion(&ep->made);
	cancel_delayed_work_sync(&ep->open_timer);
	cancel_delayed_work_sync(&ep->stall_timer);

	if (ep->qp) {
		rdma_disconnect(ep->id);
		/* Nothing is posted any more: state is CLOSING. */
		ib_drain_qp(ep->qp);
		rpcrdma_ep_quiet(ep);
		rpcrdma_work_flush(ep);
	}
	/* Some may be preparing regions or transfers that will be refused. */
	wait_event(ep->wait, atomic_read(&ep->users) == 0);
	cancel_work_sync(&ep->rw_work);

	if (ep->qp)
		rdma_destroy_qp(ep->id);
	ep->qp = NULL;
	cancel_work_sync(&ep->broken_work);
	rpcrdma_mrs_destroy(ep);
	rpcrdma_exposed_destroy(ep);
	if (ep->send_cq)
		ib_free_cq(ep->send_cq);
	if (ep->recv_cq)
		ib_free_cq(ep->recv_cq);
	rpcrdma_recvs_unmap(ep);
	rpcrdma_sends_unmap(ep);
	if (ep->pd)
		ib_dealloc_pd(ep->pd);
	/*
	 * Waits for a CM handler that is running; and lets a device go whose
	 * removal waits for its last id.
	 */
	if (ep->id)
		rdma_destroy_id(ep->id);
	ep->id = NULL;

	spin_lock(&ep->lock);
	WRITE_ONCE(ep->state, RPCRDMA_EP_CLOSED);
	spin_unlock(&ep->lock);
	wake_up_all(&ep->wait);
	complete_all(&ep->gone);

	if (ep->handed)
		ep->ops->closed(ep);
	complete_all(&ep->closed);
	rpcrdma_ep_put(ep);
	memalloc_nofs_restore(nofs);
}

/**
 * rpcrdma_ep_wait_closed - wait for the end of a teardown
 * @ep: endpoint, rpcrdma_ep_close() called by anyone
 *
 * Sleeps; not from an upcall. Bounded by the device's flushing its queues.
 */
void rpcrdma_ep_wait_closed(struct rpcrdma_ep *ep)
{
	wait_for_completion(&ep->closed);
}

static void rpcrdma_ep_open_expired(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, open_timer);

	if (READ_ONCE(ep->state) < RPCRDMA_EP_OPEN)
		rpcrdma_ep_close(ep, "the peer did not finish opening in time");
}

/* ---- Connection manager ---- */

static void rpcrdma_ep_cm_result(struct rpcrdma_ep *ep, int status)
{
	WRITE_ONCE(ep->cm_status, status);
	wake_up_all(&ep->wait);
}

/* The connection is of version 1. Say so where more was asked for. */
static void rpcrdma_ep_opened_v1(struct rpcrdma_ep *ep)
{
	if (!ep->client)
		rpcrdma_recvs_add(ep, RPCRDMA_V1_SPARE_RECVS);
	else if (ep->params.version_high > RPCRDMA_VERS_1)
		pr_info_ratelimited("rpcrdma: %pISpc does not have version 2 (it has %u to %u), using version 1\n",
				    &ep->remote, ep->conn.err_vers_low,
				    ep->conn.err_vers_high);
}

static void rpcrdma_ep_opened(struct rpcrdma_ep *ep)
{
	bool opened = false;

	spin_lock(&ep->lock);
	if (ep->state < RPCRDMA_EP_OPEN) {
		rpcrdma_conn_limits(&ep->conn, &ep->limits);
		WRITE_ONCE(ep->state, RPCRDMA_EP_OPEN);
		opened = true;
	}
	spin_unlock(&ep->lock);
	if (!opened)
		return;
	cancel_delayed_work(&ep->open_timer);
	trace_rpcrdma_opened(ep);
	if (ep->conn.version == RPCRDMA_VERS_1)
		rpcrdma_ep_opened_v1(ep);
	if (ep->ops->opened)
		ep->ops->opened(ep);
	wake_up_all(&ep->wait);
}

/**
 * rpcrdma_ep_events - do what the engine asked for
 * @ep: endpoint
 * @events: RPCRDMA_EV_* as an engine call returned them
 */
void rpcrdma_ep_events(struct rpcrdma_ep *ep, u32 events)
{
	if (events & RPCRDMA_EV_CLOSE) {
		rpcrdma_ep_close(ep, ep->conn.reason);
		return;
	}
	if (events & RPCRDMA_EV_OPENED)
		rpcrdma_ep_opened(ep);
	if (events & (RPCRDMA_EV_CONTROL | RPCRDMA_EV_WINDOW))
		rpcrdma_ep_pump(ep);
}

static void rpcrdma_ep_established(struct rpcrdma_ep *ep)
{
	u32 events = 0;

	spin_lock(&ep->lock);
	if (ep->state == RPCRDMA_EP_NEW) {
		WRITE_ONCE(ep->state, RPCRDMA_EP_CONNECTED);
		if (ep->client) {
			rpcrdma_conn_private(&ep->conn, &ep->peer_private);
			rpcrdma_conn_read_depth(&ep->conn, ep->initiator_depth,
						ep->responder_resources);
		}
		events = rpcrdma_conn_established(&ep->conn);
	}
	spin_unlock(&ep->lock);
	trace_rpcrdma_connect(ep);
	rpcrdma_ep_events(ep, events);
}

/* What the server's answer to the connect request says */
static void rpcrdma_ep_accepted(struct rpcrdma_ep *ep,
				const struct rdma_conn_param *param)
{
	rpcrdma_decode_private(param->private_data, param->private_data_len,
			       &ep->peer_private);
	ep->initiator_depth = min(ep->initiator_depth, param->initiator_depth);
	ep->responder_resources = min(ep->responder_resources,
				      param->responder_resources);
}

/**
 * rpcrdma_cm_errno - why a connection was not made
 * @event: what the CM says of it
 */
int rpcrdma_cm_errno(const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return -ENETUNREACH;
	case RDMA_CM_EVENT_REJECTED:
		/*
		 * Nobody refused: the peer has yet to forget a connection that
		 * had the same numbers, before this end was started anew.
		 */
		if (event->status == IB_CM_REJ_STALE_CONN)
			return -ENOTCONN;
		return -ECONNREFUSED;
	default:
		return -ENOTCONN;
	}
}

/*
 * Called with the id's handler mutex held; may sleep. Never returns non-zero:
 * only the teardown destroys the id.
 */
int rpcrdma_ep_cm_handler(struct rdma_cm_id *id,
			  struct rdma_cm_event *event)
{
	struct rpcrdma_ep *ep = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rpcrdma_ep_cm_result(ep, 1);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (ep->client)
			rpcrdma_ep_accepted(ep, &event->param.conn);
		rpcrdma_ep_established(ep);
		rpcrdma_ep_cm_result(ep, 1);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		rpcrdma_ep_cm_result(ep, rpcrdma_cm_errno(event));
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_REJECTED:
		rpcrdma_ep_cm_result(ep, rpcrdma_cm_errno(event));
		rpcrdma_ep_close(ep, NULL);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		rpcrdma_ep_close(ep, NULL);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rpcrdma_ep_cm_result(ep, -ENODEV);
		rpcrdma_ep_close(ep, "a local address changed");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		pr_info("rpcrdma: device %s is removed, closing the connection to %pISpc\n",
			id->device->name, &ep->remote);
		rpcrdma_ep_cm_result(ep, -ENODEV);
		rpcrdma_ep_close(ep, NULL);
		break;
	default:
		break;
	}
	return 0;
}

void rpcrdma_ep_addresses(struct rpcrdma_ep *ep)
{
	memcpy(&ep->local, &ep->id->route.addr.src_addr, sizeof(ep->local));
	memcpy(&ep->remote, &ep->id->route.addr.dst_addr, sizeof(ep->remote));
}

/* Wait for the CM to answer the request just made. */
static int rpcrdma_ep_cm_wait(struct rpcrdma_ep *ep, unsigned int ms)
{
	int rc;

	rc = wait_event_timeout(ep->wait, READ_ONCE(ep->cm_status) ||
				READ_ONCE(ep->state) >= RPCRDMA_EP_CLOSING,
				msecs_to_jiffies(ms));
	if (!rc)
		return -ETIMEDOUT;
	rc = READ_ONCE(ep->cm_status);
	if (rc < 0)
		return rc;
	return rc ? 0 : -ENOTCONN;
}

static int rpcrdma_ep_do_connect(struct rpcrdma_ep *ep,
				 const struct sockaddr *dst,
				 const struct sockaddr *src)
{
	u8 private[RPCRDMA_PRIVATE_OCTETS];
	struct rdma_conn_param param;
	struct rdma_cm_id *id;
	int rc;

	id = rdma_create_id(ep->net, rpcrdma_ep_cm_handler, ep, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ep->id = id;

	rc = rdma_resolve_addr(id, (struct sockaddr *)src,
			       (struct sockaddr *)dst, RPCRDMA_RESOLVE_MS);
	if (!rc)
		rc = rpcrdma_ep_cm_wait(ep, RPCRDMA_RESOLVE_MS);
	if (rc)
		return rc;

	WRITE_ONCE(ep->cm_status, 0);
	rc = rdma_resolve_route(id, RPCRDMA_RESOLVE_MS);
	if (!rc)
		rc = rpcrdma_ep_cm_wait(ep, RPCRDMA_RESOLVE_MS);
	if (rc)
		return rc;

	rpcrdma_ep_addresses(ep);
	rc = rpcrdma_ep_setup(ep);
	if (rc)
		return rc;

	WRITE_ONCE(ep->cm_status, 0);
	rdma_set_ack_timeout(id, RPCRDMA_ACK_TIMEOUT);
	rpcrdma_ep_conn_param(ep, &param, private);
	rc = rdma_connect(id, &param);
	if (!rc)
		rc = rpcrdma_ep_cm_wait(ep, RPCRDMA_CONNECT_MS);
	if (rc)
		return rc;

	queue_delayed_work(rpcrdma_wq, &ep->open_timer,
			   msecs_to_jiffies(RPCRDMA_OPEN_MS));
	wait_event_timeout(ep->wait, READ_ONCE(ep->state) >= RPCRDMA_EP_OPEN,
			   msecs_to_jiffies(2 * RPCRDMA_OPEN_MS));

	/* From here on the end of the connection is told to the transport. */
	rc = -ENOTCONN;
	spin_lock(&ep->lock);
	if (ep->state == RPCRDMA_EP_OPEN) {
		ep->handed = true;
		rc = 0;
	} else if (!ep->conn.answered) {
		/* Connected, but not a word: perhaps it is the version. */
		rc = -EPROTONOSUPPORT;
	}
	spin_unlock(&ep->lock);
	return rc;
}

/**
 * rpcrdma_ep_connect - open a connection
 * @net: network namespace
 * @dst: address of the server
 * @src: address to bind to, or NULL
 * @params: what the transport wants
 * @ops: upcalls
 * @priv: becomes ep->priv
 *
 * Sleeps, with a bound. Returns an open endpoint with a reference, or an
 * ERR_PTR: nothing is left of it then.
 */
struct rpcrdma_ep *rpcrdma_ep_connect(struct net *net,
				      const struct sockaddr *dst,
				      const struct sockaddr *src,
				      const struct rpcrdma_ep_params *params,
				      const struct rpcrdma_ep_ops *ops,
				      void *priv)
{
	/* Memory reclaim may wait for an RPC, and that for a connection. */
	unsigned int nofs = memalloc_nofs_save();
	struct rpcrdma_ep *ep;
	int rc;

	ep = rpcrdma_ep_alloc(true);
	if (!ep) {
		ep = ERR_PTR(-ENOMEM);
		goto out;
	}
	ep->net = net;
	ep->params = *params;
	ep->ops = ops;
	ep->priv = priv;
	memcpy(&ep->remote, dst, dst->sa_family == AF_INET6 ?
	       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));

	rc = rpcrdma_ep_do_connect(ep, dst, src);
	complete_all(&ep->made);
	if (!rc)
		goto out;

	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_wait_closed(ep);
	rpcrdma_ep_put(ep);
	ep = ERR_PTR(rc);
out:
	memalloc_nofs_restore(nofs);
	return ep;
}

/* ---- All of them ---- */

/**
 * rpcrdma_ep_for_each - visit all endpoints
 * @fn: called with a mutex held; may sleep
 * @arg: for @fn
 */
void rpcrdma_ep_for_each(void (*fn)(struct rpcrdma_ep *ep, void *arg),
			 void *arg)
{
	struct rpcrdma_ep *ep;

	mutex_lock(&rpcrdma_eps_mutex);
	list_for_each_entry(ep, &rpcrdma_eps, node)
		fn(ep, arg);
	mutex_unlock(&rpcrdma_eps_mutex);
}

/**
 * rpcrdma_ep_init - module start
 *
 * Returns 0 or a negative errno.
 */
int rpcrdma_ep_init(void)
{
	/* A client reconnects while memory is being reclaimed through it. */
	rpcrdma_wq = alloc_workqueue("rpcrdma", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	rpcrdma_accept_wq = alloc_workqueue("rpcrdma_accept",
					    WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (rpcrdma_wq && rpcrdma_accept_wq)
		return 0;
	if (rpcrdma_wq)
		destroy_workqueue(rpcrdma_wq);
	if (rpcrdma_accept_wq)
		destroy_workqueue(rpcrdma_accept_wq);
	rpcrdma_wq = NULL;
	return -ENOMEM;
}

/**
 * rpcrdma_ep_exit - module end
 *
 * Waits for endpoints whose teardown is still under way.
 */
void rpcrdma_ep_exit(void)
{
	wait_event(rpcrdma_eps_wait, atomic_read(&rpcrdma_nr_eps) == 0);
	destroy_workqueue(rpcrdma_accept_wq);
	destroy_workqueue(rpcrdma_wq);
}
