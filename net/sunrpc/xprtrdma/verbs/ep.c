// SPDX-License-Identifier: GPL-2.0
/* Connections: setup, opening, teardown. */

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>

#include "internal.h"

#include "trace.h"

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
	atomic64_set(&ep->remote_inv, 0);
	atomic64_set(&ep->local_inv, 0);
	INIT_LIST_HEAD(&ep->node);
	rpcrdma_core_init(&ep->core);
	ep->core.recv_size = sizeof(struct verbs_recv);
	INIT_LIST_HEAD(&ep->free_mrs);
	INIT_LIST_HEAD(&ep->all_mrs);
	INIT_DELAYED_WORK(&ep->open_timer, rpcrdma_ep_overdue);
	INIT_DELAYED_WORK(&ep->exposed_work, rpcrdma_exposed_overdue);
	init_llist_head(&ep->arrived);
	INIT_DELAYED_WORK(&ep->take_work, rpcrdma_recvs_take);
	init_llist_head(&ep->completed);
	INIT_WORK(&ep->reap_work, rpcrdma_works_reap);
	INIT_DELAYED_WORK(&ep->stall_timer, rpcrdma_stall_expired);
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
	rpcrdma_ep_part(ep);
	rpcrdma_recvs_free(ep);
	rpcrdma_sends_free(ep);
	rpcrdma_mrs_free(ep);
	kvfree(ep->assembly);
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
 * Move the queue pair to RESET. The drain of rxe does not wait until the device has
 * finished the work that it has completed; a reset does. Devices that do not support
 * this do not need it.
 */
static void rpcrdma_ep_quiet(struct rpcrdma_ep *ep)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	ib_modify_qp(ep->qp, &attr, IB_QP_STATE);
}

static void rpcrdma_ep_free_cqs(struct rpcrdma_ep *ep)
{
	if (ep->send_cq)
		ib_free_cq(ep->send_cq);
	if (ep->recv_cq)
		ib_free_cq(ep->recv_cq);
	cancel_delayed_work_sync(&ep->take_work);
	cancel_work_sync(&ep->reap_work);
}

/* Move the queue pair to the error state. Return 0 or the negative errno of a refusal. */
static int rpcrdma_ep_stop(struct rpcrdma_ep *ep)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return ib_modify_qp(ep->qp, &attr, IB_QP_STATE);
}

/*
 * Wait for the contexts that prepare MRs or transfers, which will be refused. Posted
 * transfers hold users, too. Here they exist only if the device refuses to stop, and
 * none of them ends before the queue pair is destroyed.
 */
static void rpcrdma_ep_wait_users(struct rpcrdma_ep *ep)
{
	u32 posted;

	spin_lock(&ep->lock);
	posted = rpcrdma_rw_nr_posted(ep);
	spin_unlock(&ep->lock);
	atomic_sub(posted, &ep->users);
	wait_event(ep->wait, atomic_read(&ep->users) == 0 &&
			     !test_bit(0, &ep->taking));
	atomic_add(posted, &ep->users);
	cancel_work_sync(&ep->rw_work);
}

static void rpcrdma_ep_destroy_qp(struct rpcrdma_ep *ep)
{
	if (unlikely(ep->core.life.unstopped)) {
		pr_warn_ratelimited("rpcrdma: device %s refuses to stop the connection to %pISpc, destroying its queue pair\n",
				    ep->device->name, &ep->remote);
		rpcrdma_rw_late_begin(ep);
	}
	rdma_destroy_qp(ep->id);
	ep->qp = NULL;
	cancel_work_sync(&ep->broken_work);
}

/* Return the result of STOP, and 0 for any other step. */
static int rpcrdma_ep_release_one(struct rpcrdma_ep *ep,
				  enum rpcrdma_release what)
{
	switch (what) {
	case RPCRDMA_RELEASE_MAKER:
		/* The id and its objects may still be under construction. */
		wait_for_completion(&ep->made);
		break;
	case RPCRDMA_RELEASE_TIMERS:
		cancel_work_sync(&ep->opened_work);
		cancel_delayed_work_sync(&ep->open_timer);
		cancel_delayed_work_sync(&ep->stall_timer);
		break;
	case RPCRDMA_RELEASE_DISCONNECT:
		rdma_disconnect(ep->id);
		break;
	case RPCRDMA_RELEASE_STOP:
		return rpcrdma_ep_stop(ep);
	case RPCRDMA_RELEASE_PAUSE:
		msleep(RPCRDMA_STOP_PAUSE_MS);
		break;
	case RPCRDMA_RELEASE_DRAIN:
		ib_drain_qp(ep->qp);
		break;
	case RPCRDMA_RELEASE_MESSAGES:
		rpcrdma_recvs_drain(ep);
		break;
	case RPCRDMA_RELEASE_RESET:
		rpcrdma_ep_quiet(ep);
		break;
	case RPCRDMA_RELEASE_POSTED:
		rpcrdma_work_flush(ep);
		rpcrdma_rw_late_end(ep);
		break;
	case RPCRDMA_RELEASE_WAITING:
		rpcrdma_waiting_flush(ep);
		break;
	case RPCRDMA_RELEASE_USERS:
		rpcrdma_ep_wait_users(ep);
		break;
	case RPCRDMA_RELEASE_QUEUE_PAIR:
		rpcrdma_ep_destroy_qp(ep);
		break;
	case RPCRDMA_RELEASE_COMPLETIONS:
		rpcrdma_ep_free_cqs(ep);
		break;
	case RPCRDMA_RELEASE_REGIONS:
		rpcrdma_mrs_destroy(ep);
		break;
	case RPCRDMA_RELEASE_EXPOSED:
		rpcrdma_exposed_destroy(ep);
		break;
	case RPCRDMA_RELEASE_BUFFERS:
		rpcrdma_recvs_unmap(ep);
		rpcrdma_sends_unmap(ep);
		break;
	case RPCRDMA_RELEASE_DOMAIN:
		if (ep->pd)
			ib_dealloc_pd(ep->pd);
		ep->pd = NULL;
		break;
	case RPCRDMA_RELEASE_ID:
		/* Waits for a CM handler that is running. */
		if (ep->id)
			rdma_destroy_id(ep->id);
		ep->id = NULL;
		break;
	case RPCRDMA_RELEASE_GONE:
		wake_up_all(&ep->wait);
		complete_all(&ep->gone);
		break;
	case RPCRDMA_RELEASE_TELL:
		ep->ops->closed(ep);
		break;
	case RPCRDMA_RELEASE_END:
		complete_all(&ep->closed);
		break;
	}
	return 0;
}

static void rpcrdma_ep_teardown(struct work_struct *work)
{
	struct rpcrdma_ep *ep =
		container_of(work, struct rpcrdma_ep, teardown_work);
	/* Memory reclaim may wait for an RPC that waits for the teardown. */
	unsigned int nofs = memalloc_nofs_save();
	enum rpcrdma_release what;
	int rc = 0;

	do {
		spin_lock(&ep->lock);
		what = rpcrdma_life_release(&ep->core.life, ep->qp, ep->core.sq.posted,
					    rc);
		spin_unlock(&ep->lock);
		rc = rpcrdma_ep_release_one(ep, what);
	} while (what != RPCRDMA_RELEASE_END);
	rpcrdma_recvs_end(ep);
	memalloc_nofs_restore(nofs);
}

static void rpcrdma_ep_overdue(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, open_timer);
	struct rpcrdma_life_step step;

	spin_lock(&ep->lock);
	step = rpcrdma_life_overdue(&ep->core.life);
	spin_unlock(&ep->lock);
	/* The teardown stops this timer before it destroys the id. */
	if (unlikely(step.todo & RPCRDMA_LIFE_CONFIRM))
		rdma_notify(ep->id, IB_EVENT_COMM_EST);
	rpcrdma_ep_carry_out(ep, &step);
}

/* ---- Connection manager ---- */

/* Log that the connection uses version 1 although the client asked for more. */
static void rpcrdma_ep_opened_v1(struct rpcrdma_ep *ep)
{
	if (ep->client && ep->params.version_high > RPCRDMA_VERS_1)
		pr_info_ratelimited("rpcrdma: %pISpc does not have version 2 (it has %u to %u), using version 1\n",
				    &ep->remote, ep->core.conn.err_vers_low,
				    ep->core.conn.err_vers_high);
}

void rpcrdma_port_opened(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct rpcrdma_life_step step;

	spin_lock(&ep->lock);
	step = rpcrdma_life_opened(&ep->core.life);
	spin_unlock(&ep->lock);
	if (step.todo & RPCRDMA_LIFE_OPENED) {
		trace_rpcrdma_opened(ep);
		if (ep->core.conn.version == RPCRDMA_VERS_1)
			rpcrdma_ep_opened_v1(ep);
		if (ep->ops->opened)
			ep->ops->opened(ep);
	}
	rpcrdma_ep_carry_out(ep, &step);
}

/*
 * Events of a connection that opens with its establishment, see
 * rpcrdma_ep_opened_later()
 */
#define RPCRDMA_LATER	(RPCRDMA_EV_OPENED | RPCRDMA_EV_RECEIVES)

/* Report a CM event to the connection's state machine. */
static void rpcrdma_ep_news(struct rpcrdma_ep *ep, enum rpcrdma_news news,
			    int rejection)
{
	struct rpcrdma_life_step step;
	u32 events = 0;

	spin_lock(&ep->lock);
	step = rpcrdma_life_news(&ep->core.life, news, rejection);
	if (step.todo & RPCRDMA_LIFE_BEGIN) {
		if (ep->client) {
			rpcrdma_conn_private(&ep->core.conn, &ep->peer_private);
			rpcrdma_conn_read_depth(&ep->core.conn, ep->initiator_depth,
						ep->responder_resources);
		}
		events = rpcrdma_conn_established(&ep->core.conn);
	}
	/*
	 * A client of version 1 is open now, and allocates all its Receives. This
	 * handler does not, because the connection manager has one thread for these
	 * events of all devices and protocols. The connection is not closing yet: the
	 * teardown cancels the work item.
	 */
	if (events & RPCRDMA_EV_OPENED) {
		events &= ~RPCRDMA_LATER;
		queue_work(rpcrdma_message_wq, &ep->opened_work);
	}
	spin_unlock(&ep->lock);
	rpcrdma_ep_events(ep, events);
	rpcrdma_ep_carry_out(ep, &step);
}

void rpcrdma_port_odd(struct rpcrdma_ep_core *core)
{
	rpcrdma_ep_odd(rpcrdma_ep_of(core));
}

void rpcrdma_port_close(struct rpcrdma_ep_core *core, const char *reason)
{
	rpcrdma_ep_close(rpcrdma_ep_of(core), reason);
}

void rpcrdma_port_write_space(struct rpcrdma_ep_core *core)
{
	rpcrdma_ep_write_space(rpcrdma_ep_of(core));
}

static void rpcrdma_ep_opened_later(struct work_struct *work)
{
	/* Memory reclaim may wait for an RPC that waits for this. */
	unsigned int nofs = memalloc_nofs_save();

	rpcrdma_ep_events(container_of(work, struct rpcrdma_ep, opened_work),
			  RPCRDMA_LATER);
	memalloc_nofs_restore(nofs);
}

/* Record the server's answer to the connect request. */
static void rpcrdma_ep_accepted(struct rpcrdma_ep *ep,
				const struct rdma_conn_param *param)
{
	rpcrdma_decode_private(param->private_data, param->private_data_len,
			       &ep->peer_private);
	ep->initiator_depth = min(ep->initiator_depth, param->initiator_depth);
	ep->responder_resources = min(ep->responder_resources,
				      param->responder_resources);
}

/*
 * Handle a CM event. Never returns non-zero, because only the teardown destroys the id.
 * Called with the id's handler mutex held; may sleep.
 */
int rpcrdma_ep_cm_handler(struct rdma_cm_id *id,
			  struct rdma_cm_event *event)
{
	static const u8 news[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED]	= RPCRDMA_NEWS_RESOLVED,
		[RDMA_CM_EVENT_ADDR_ERROR]	= RPCRDMA_NEWS_UNRESOLVED,
		[RDMA_CM_EVENT_ROUTE_RESOLVED]	= RPCRDMA_NEWS_RESOLVED,
		[RDMA_CM_EVENT_ROUTE_ERROR]	= RPCRDMA_NEWS_UNRESOLVED,
		[RDMA_CM_EVENT_CONNECT_REQUEST]	= RPCRDMA_NR_NEWS,
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = RPCRDMA_NR_NEWS,
		[RDMA_CM_EVENT_CONNECT_ERROR]	= RPCRDMA_NEWS_FAILED,
		[RDMA_CM_EVENT_UNREACHABLE]	= RPCRDMA_NEWS_UNREACHABLE,
		[RDMA_CM_EVENT_REJECTED]	= RPCRDMA_NEWS_REJECTED,
		[RDMA_CM_EVENT_ESTABLISHED]	= RPCRDMA_NEWS_ESTABLISHED,
		[RDMA_CM_EVENT_DISCONNECTED]	= RPCRDMA_NEWS_DISCONNECTED,
		[RDMA_CM_EVENT_DEVICE_REMOVAL]	= RPCRDMA_NEWS_REMOVED,
		[RDMA_CM_EVENT_MULTICAST_JOIN]	= RPCRDMA_NR_NEWS,
		[RDMA_CM_EVENT_MULTICAST_ERROR]	= RPCRDMA_NR_NEWS,
		[RDMA_CM_EVENT_ADDR_CHANGE]	= RPCRDMA_NEWS_ADDRESS_CHANGED,
		[RDMA_CM_EVENT_TIMEWAIT_EXIT]	= RPCRDMA_NEWS_DISCONNECTED,
	};
	struct rpcrdma_ep *ep = id->context;

	if (event->event >= ARRAY_SIZE(news) ||
	    news[event->event] == RPCRDMA_NR_NEWS)
		return 0;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		pr_info("rpcrdma: device %s is removed, closing the connection to %pISpc\n",
			id->device->name, &ep->remote);
	if (event->event == RDMA_CM_EVENT_ESTABLISHED) {
		trace_rpcrdma_connect(ep);
		if (ep->client)
			rpcrdma_ep_accepted(ep, &event->param.conn);
	}
	rpcrdma_ep_news(ep, news[event->event], event->status);
	return 0;
}

void rpcrdma_ep_addresses(struct rpcrdma_ep *ep)
{
	memcpy(&ep->local, &ep->id->route.addr.src_addr, sizeof(ep->local));
	memcpy(&ep->remote, &ep->id->route.addr.dst_addr, sizeof(ep->remote));
}

/* Send the connect request. */
static int rpcrdma_ep_request(struct rpcrdma_ep *ep)
{
	u8 private[RPCRDMA_PRIVATE_OCTETS];
	struct rdma_conn_param param;

	rpcrdma_ep_addresses(ep);
	rdma_set_ack_timeout(ep->id, RPCRDMA_ACK_TIMEOUT);
	rpcrdma_ep_conn_param(ep, &param, private);
	return rdma_connect(ep->id, &param);
}

/* Accept a connect request; the connection is overdue if it is not open within @ms. */
static int rpcrdma_ep_answer(struct rpcrdma_ep *ep, u32 ms)
{
	u8 private[RPCRDMA_PRIVATE_OCTETS];
	struct rdma_conn_param param;
	int rc = 0;

	queue_delayed_work(rpcrdma_wq, &ep->open_timer, msecs_to_jiffies(ms));
	rdma_set_ack_timeout(ep->id, RPCRDMA_ACK_TIMEOUT);
	rpcrdma_ep_conn_param(ep, &param, private);
	/*
	 * The lock excludes CM events of this id. One may have closed the connection
	 * before.
	 */
	rdma_lock_handler(ep->id);
	if (!rpcrdma_ep_is_closing(ep))
		rc = rdma_accept(ep->id, &param);
	rdma_unlock_handler(ep->id);
	return rc;
}

static int rpcrdma_ep_wait(struct rpcrdma_ep *ep, u32 ms)
{
	return wait_event_timeout(ep->wait, READ_ONCE(ep->core.life.settled),
				  msecs_to_jiffies(ms)) ? 0 : -ETIMEDOUT;
}

static int rpcrdma_ep_make_one(struct rpcrdma_ep *ep,
			       const struct rpcrdma_make_step *m,
			       const struct sockaddr *dst,
			       const struct sockaddr *src)
{
	switch (m->what) {
	case RPCRDMA_MAKE_ADDRESS:
		return rdma_resolve_addr(ep->id, (struct sockaddr *)src,
					 (struct sockaddr *)dst, m->ms);
	case RPCRDMA_MAKE_ROUTE:
		return rdma_resolve_route(ep->id, m->ms);
	case RPCRDMA_MAKE_OBJECTS:
		return rpcrdma_ep_setup(ep);
	case RPCRDMA_MAKE_CONNECT:
		return rpcrdma_ep_request(ep);
	case RPCRDMA_MAKE_ACCEPT:
		return rpcrdma_ep_answer(ep, m->ms);
	case RPCRDMA_MAKE_WAIT:
		return rpcrdma_ep_wait(ep, m->ms);
	case RPCRDMA_MAKE_END:
		break;
	}
	return 0;
}

/**
 * rpcrdma_ep_make - set up a connection, as far as this end can
 * @ep: endpoint, which has an id unless @rc is the reason for having none
 * @dst: a client's server
 * @src: a client's address to bind to, or NULL
 * @rc: 0 or a negative errno
 *
 * Sleeps, with a bound. The teardown does not touch the objects before this has
 * returned.
 * Return: 0; or a negative errno, the connection is closing then.
 */
int rpcrdma_ep_make(struct rpcrdma_ep *ep, const struct sockaddr *dst,
		    const struct sockaddr *src, int rc)
{
	struct rpcrdma_make_step m;

	for (;;) {
		spin_lock(&ep->lock);
		m = rpcrdma_life_make(&ep->core.life, &ep->core.conn, rc);
		spin_unlock(&ep->lock);
		if (m.what == RPCRDMA_MAKE_END)
			break;
		rc = rpcrdma_ep_make_one(ep, &m, dst, src);
	}
	ep->answer = m.answer;
	rpcrdma_ep_carry_out(ep, &m.step);
	/* The teardown of a server's connection may free @ep after this. */
	complete_all(&ep->made);
	return m.status;
}

/**
 * rpcrdma_ep_connect - open a connection
 * @net: network namespace
 * @dst: address of the server
 * @src: address to bind to, or NULL
 * @params: parameters of the transport
 * @ops: upcalls
 * @priv: becomes ep->priv
 * @answer: what a failed attempt has shown of the server's versions; may be NULL
 *
 * Sleeps, with a bound.
 * Return: an open endpoint with a reference; or an ERR_PTR, nothing is left of it then.
 */
struct rpcrdma_ep *rpcrdma_ep_connect(struct net *net,
				      const struct sockaddr *dst,
				      const struct sockaddr *src,
				      const struct rpcrdma_ep_params *params,
				      const struct rpcrdma_ep_ops *ops,
				      void *priv, enum rpcrdma_answer *answer)
{
	/* Memory reclaim may wait for an RPC that waits for a connection. */
	unsigned int nofs = memalloc_nofs_save();
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
	ep->params = *params;
	ep->core.life.limit_ms = params->connect_ms;
	ep->ops = ops;
	ep->priv = priv;
	memcpy(&ep->remote, dst, dst->sa_family == AF_INET6 ?
	       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));

	id = rdma_create_id(net, rpcrdma_ep_cm_handler, ep, RDMA_PS_TCP,
			    IB_QPT_RC);
	rc = PTR_ERR_OR_ZERO(id);
	if (!rc)
		ep->id = id;
	rc = rpcrdma_ep_make(ep, dst, src, rc);
	if (!rc)
		goto out;

	rpcrdma_ep_wait_closed(ep);
	if (answer)
		*answer = ep->answer;
	rpcrdma_ep_put(ep);
	ep = ERR_PTR(rc);
out:
	memalloc_nofs_restore(nofs);
	return ep;
}

static void rpcrdma_ep_destroy(void)
{
	rpcrdma_recvs_exit();
	if (rpcrdma_message_wq)
		destroy_workqueue(rpcrdma_message_wq);
	if (rpcrdma_accept_wq)
		destroy_workqueue(rpcrdma_accept_wq);
	if (rpcrdma_wq)
		destroy_workqueue(rpcrdma_wq);
	rpcrdma_wq = NULL;
}

/**
 * rpcrdma_ep_init - module start
 *
 * Returns 0 or a negative errno.
 */
int rpcrdma_ep_init(void)
{
	/* A client may have to reconnect while memory reclaim writes through it. */
	const unsigned int flags = WQ_UNBOUND | WQ_MEM_RECLAIM;

	rpcrdma_memory_init();
	rpcrdma_wq = alloc_workqueue("rpcrdma", flags, 0);
	rpcrdma_accept_wq = alloc_workqueue("rpcrdma_accept", flags, 0);
	rpcrdma_message_wq = alloc_workqueue("rpcrdma_message", flags, 0);
	if (!rpcrdma_recvs_init() && rpcrdma_wq && rpcrdma_accept_wq &&
	    rpcrdma_message_wq)
		return 0;
	rpcrdma_ep_destroy();
	return -ENOMEM;
}

/**
 * rpcrdma_ep_exit - module end
 *
 * Waits for endpoints whose teardown is in progress.
 */
void rpcrdma_ep_exit(void)
{
	wait_event(rpcrdma_eps_wait, atomic_read(&rpcrdma_nr_eps) == 0);
	rpcrdma_memory_exit();
	rpcrdma_ep_destroy();
}

/* ---- Messages in addition to RPCs, and refused Calls ---- */

/**
 * rpcrdma_ep_send_error - refuse a Call
 * @ep: endpoint
 * @xid: of the Call
 * @code: RDMA2_ERR_*
 * @arg0: first data word of the code, or 0
 * @arg1: second
 */
void rpcrdma_ep_send_error(struct rpcrdma_ep *ep, u32 xid, u32 code, u32 arg0,
			   u32 arg1)
{
	u32 events = 0;

	spin_lock(&ep->lock);
	if (rpcrdma_ep_is_open(ep))
		events = rpcrdma_conn_queue_error(&ep->core.conn, xid, code, arg0,
						  arg1);
	spin_unlock(&ep->lock);
	trace_rpcrdma_refuse(ep, xid, code);
	rpcrdma_ep_events(ep, events);
}

/**
 * rpcrdma_ep_send_done - notify the peer that a pulled Reply is no longer needed
 * @ep: endpoint
 * @xid: of the Reply
 * @inv_handle: handle that it named, or 0
 */
void rpcrdma_ep_send_done(struct rpcrdma_ep *ep, u32 xid, u32 inv_handle)
{
	u32 events = 0;

	spin_lock(&ep->lock);
	if (rpcrdma_ep_is_open(ep))
		events = rpcrdma_conn_queue_done(&ep->core.conn, xid, inv_handle);
	spin_unlock(&ep->lock);
	rpcrdma_ep_events(ep, events);
}

/**
 * rpcrdma_ep_refused - decide how to continue a Call that the peer refused
 * @ep: endpoint
 * @rx: the ERROR
 * @call: the Call's geometry, as for planning it
 * @offered: the lists it was sent with
 * @recovery: retry limits for planning it the next time
 *
 * Return: 0 to send it again; or the errno that ends the RPC.
 */
int rpcrdma_ep_refused(struct rpcrdma_ep *ep, const struct rpcrdma_rx *rx,
		       const struct rpcrdma_call *call,
		       const struct rpcrdma_lists *offered,
		       struct rpcrdma_recovery *recovery)
{
	int rc;

	spin_lock(&ep->lock);
	rc = rpcrdma_call_refused(&ep->core.conn, rx, call, offered, recovery);
	spin_unlock(&ep->lock);
	return rc;
}
