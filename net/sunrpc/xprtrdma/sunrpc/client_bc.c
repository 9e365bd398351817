// SPDX-License-Identifier: GPL-2.0
/*
 * The reverse direction at the client: NFSv4.1 callbacks.
 *
 * Operation
 *
 * A Call gets an rpc_rqst, with pages if it is long. Its Read chunks are pulled, and it
 * is passed to sunrpc's callback service. The service sends the Reply like a Call, under
 * the write lock. Replies have their own wait queue for that lock, because the usual one
 * may be blocked until the server grants credits, which may happen only after the Reply.
 * A Call that arrives while there is no service is refused with that reason (WP 5).
 *
 * The service exists only between bc_setup() and bc_destroy(), and its end is not
 * reported. If NFS cannot start its threads, for instance because mount was killed, it
 * frees the service, and kernels before 7.x leave xprt->bc_serv until bc_destroy(). The
 * core decides when the service may be used (core/conn/callbacks.cc).
 *
 * Memory
 *
 * bc_setup() allocates rpc_rqsts with one page each for the Call and the Reply; more are
 * allocated when Calls arrive, up to a limit. They are kept until the transport is
 * freed, but the pages of long Calls only while they are in use. An rpc_rqst in use has a
 * reference to the transport and one to the endpoint. Its release may put the last one,
 * and then wait for a close. In upcalls a work item therefore does it.
 *
 * Errors
 *
 * A Call for which there is no memory or no rpc_rqst closes the connection (7.4), and the
 * server sends it again. A Call that is too long is refused. If a Reply lacks memory,
 * sunrpc retries it after a delay. The Reply to a Call of a connection that has ended is
 * dropped.
 *
 * Locking
 *
 * bc_mutex is held while the service is used, and by bc_destroy(). bc_pa_lock protects
 * the list and the count of rpc_rqsts. The Reply is sent under sunrpc's write lock.
 */

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sunrpc/bc_xprt.h>

#include <core/port_call.h>

#include "../compat.h"
#include "client_bc.h"
#include "responder.h"
#include "settings.h"

#if defined(CONFIG_SUNRPC_BACKCHANNEL)

enum {
	/* Pages of a Call */
	RPCRDMA_BC_PAGES = DIV_ROUND_UP(RPCRDMA_CALLBACK_OCTETS, PAGE_SIZE),
};

/* A reverse-direction Call, and a page for the head of its Reply */
struct rpcrdma_bc_rqst {
	struct rpc_rqst		rqst;
	struct rpcrdma_ep	*ep;	/* connection of the Call */
	/* The Call; the first page always exists, the others while in use */
	struct page		*pages[RPCRDMA_BC_PAGES];
	u32			octets;
	struct rpcrdma_lists	lists;	/* chunks for its Reply */
	void			*reply;
	struct work_struct	drop_work;
};

/*
 * If there is no memory for a Call, the connection ends, and the server retransmits it.
 */
#define RPCRDMA_BC_GFP	(GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN)

static struct rpcrdma_bc_rqst *rpcrdma_rqst_bc(struct rpc_rqst *rqst)
{
	return container_of(rqst, struct rpcrdma_bc_rqst, rqst);
}

/* Free the pages starting with number @first. */
static void rpcrdma_bc_free_pages(struct rpcrdma_bc_rqst *bc, u32 first)
{
	u32 i;

	for (i = first; i < RPCRDMA_BC_PAGES && bc->pages[i]; i++) {
		__free_page(bc->pages[i]);
		bc->pages[i] = NULL;
	}
}

static void rpcrdma_bc_destroy_rqst(struct rpcrdma_client *client,
				    struct rpcrdma_bc_rqst *bc)
{
	/*
	 * If the work item calls this, the work item has released @bc, but may not have
	 * returned. Do not wait for it as for pending work: this may run on its own
	 * workqueue, which has no other thread when memory is short.
	 */
	cancel_work_sync(&bc->drop_work);
	rpcrdma_bc_free_pages(bc, 0);
	free_page((unsigned long)bc->reply);
	kfree(bc);
	spin_lock(&client->requester.xprt.bc_pa_lock);
	rpcrdma_callbacks_remove_place(&client->callbacks);
	spin_unlock(&client->requester.xprt.bc_pa_lock);
}

static void rpcrdma_bc_drop_worker(struct work_struct *work);

/*
 * Allocate an rpc_rqst. Return ERR_PTR(-ENOBUFS) if there are as many as permitted, or
 * ERR_PTR(-ENOMEM).
 */
static struct rpcrdma_bc_rqst *rpcrdma_bc_create_rqst(struct rpcrdma_client *client)
{
	struct rpcrdma_bc_rqst *bc;

	bc = kzalloc(sizeof(*bc), RPCRDMA_BC_GFP);
	if (!bc)
		return ERR_PTR(-ENOMEM);
	if (!rpcrdma_locked(&client->requester.xprt.bc_pa_lock,
			    rpcrdma_callbacks_add_place(&client->callbacks))) {
		kfree(bc);
		return ERR_PTR(-ENOBUFS);
	}
	INIT_WORK(&bc->drop_work, rpcrdma_bc_drop_worker);
	bc->pages[0] = alloc_page(RPCRDMA_BC_GFP);
	bc->reply = (void *)__get_free_page(RPCRDMA_BC_GFP);
	if (!bc->pages[0] || !bc->reply) {
		rpcrdma_bc_destroy_rqst(client, bc);
		return ERR_PTR(-ENOMEM);
	}
	return bc;
}

static struct rpcrdma_bc_rqst *rpcrdma_bc_pop(struct rpcrdma_client *client)
{
	struct rpc_xprt *xprt = &client->requester.xprt;
	struct rpc_rqst *rqst;

	spin_lock(&xprt->bc_pa_lock);
	rqst = list_first_entry_or_null(&xprt->bc_pa_list, struct rpc_rqst,
					rq_bc_pa_list);
	if (rqst)
		list_del(&rqst->rq_bc_pa_list);
	spin_unlock(&xprt->bc_pa_lock);
	return rqst ? rpcrdma_rqst_bc(rqst) : NULL;
}

static void rpcrdma_bc_push(struct rpcrdma_client *client,
			    struct rpcrdma_bc_rqst *bc)
{
	struct rpc_xprt *xprt = &client->requester.xprt;

	spin_lock(&xprt->bc_pa_lock);
	list_add(&bc->rqst.rq_bc_pa_list, &xprt->bc_pa_list);
	spin_unlock(&xprt->bc_pa_lock);
}

int rpcrdma_client_bc_setup(struct rpc_xprt *xprt, unsigned int min_reqs)
{
	struct rpcrdma_client *client = rpcrdma_xprt_client(xprt);
	struct rpcrdma_bc_rqst *bc;
	unsigned int i;

	for (i = 0; i < min_reqs; i++) {
		bc = rpcrdma_bc_create_rqst(client);
		if (bc == ERR_PTR(-ENOBUFS))
			break;
		if (IS_ERR(bc))
			return PTR_ERR(bc);
		rpcrdma_bc_push(client, bc);
	}
	mutex_lock(&client->bc_mutex);
	rpcrdma_callbacks_begin(&client->callbacks, READ_ONCE(xprt->stat.sends));
	mutex_unlock(&client->bc_mutex);
	return 0;
}

void rpcrdma_client_bc_destroy(struct rpc_xprt *xprt, unsigned int max_reqs)
{
	struct rpcrdma_client *client = rpcrdma_xprt_client(xprt);
	struct rpc_rqst *rqst;
	struct svc_serv *serv;
	bool last;

	mutex_lock(&client->bc_mutex);
	last = rpcrdma_callbacks_end(&client->callbacks, max_reqs == UINT_MAX);
	/*
	 * The service stops without checking its queue. sunrpc may have kept the pointer
	 * to a service that could not be started and was freed. No Call was delivered to
	 * such a service. A Call is counted from its delivery until the service has
	 * processed it, so the service of a counted Call has not been freed. If sunrpc has
	 * cleared the pointer, it releases the Calls.
	 */
	while (last && atomic_read(&xprt->bc_slot_count)) {
		serv = READ_ONCE(xprt->bc_serv);
		rqst = serv ? rpcrdma_bc_dequeue(serv, xprt) : NULL;
		if (!rqst)
			break;
		atomic_dec(&xprt->bc_slot_count);
		rpcrdma_client_bc_free_rqst(rqst);
	}
	mutex_unlock(&client->bc_mutex);
}

void rpcrdma_client_bc_free(struct rpcrdma_client *client)
{
	struct rpcrdma_bc_rqst *bc;

	while ((bc = rpcrdma_bc_pop(client)) != NULL)
		rpcrdma_bc_destroy_rqst(client, bc);
	WARN_ON_ONCE(client->callbacks.places);
}

size_t rpcrdma_client_bc_maxpayload(struct rpc_xprt *xprt)
{
	struct rpcrdma_client *client = rpcrdma_xprt_client(xprt);
	struct rpcrdma_ep *ep;
	bool open;
	u32 max;

	spin_lock(&client->ep_lock);
	ep = client->ep;
	open = ep && rpcrdma_ep_is_open(ep);
	max = rpcrdma_reverse_payload(open ? &ep->core.conn : NULL, PAGE_SIZE);
	spin_unlock(&client->ep_lock);
	return max;
}

unsigned int rpcrdma_client_bc_num_slots(struct rpc_xprt *xprt)
{
	return RPCRDMA_CALLBACK_SLOTS;
}

/* Release @bc. The transport may be freed after this. */
static void rpcrdma_bc_release(struct rpcrdma_client *client,
			       struct rpcrdma_bc_rqst *bc)
{
	struct rpcrdma_ep *ep = bc->ep;

	bc->ep = NULL;
	rpcrdma_bc_free_pages(bc, 1);
	rpcrdma_bc_push(client, bc);
	rpcrdma_ep_put(ep);
	xprt_put(&client->requester.xprt);
}

static void rpcrdma_bc_drop_worker(struct work_struct *work)
{
	struct rpcrdma_bc_rqst *bc =
		container_of(work, struct rpcrdma_bc_rqst, drop_work);

	rpcrdma_bc_release(bc->ep->priv, bc);
}

/*
 * Release a Call that the service does not receive, by a work item. This is called in
 * an upcall: if the reference to the transport is the last one, putting it waits for an
 * autoclose, which may be waiting for the upcall to return.
 */
void rpcrdma_client_bc_drop(void *call)
{
	struct rpcrdma_bc_rqst *bc = call;

	queue_work(rpcrdma_xprt_wq, &bc->drop_work);
}

void rpcrdma_client_bc_free_rqst(struct rpc_rqst *rqst)
{
	struct rpcrdma_bc_rqst *bc = rpcrdma_rqst_bc(rqst);

	clear_bit(RPC_BC_PA_IN_USE, &rqst->rq_bc_pa_state);
	rpcrdma_bc_release(rpcrdma_xprt_client(rqst->rq_xprt), bc);
}

/*
 * Return the rpc_rqst for the Call in @rv, or an ERR_PTR. Caller holds bc_mutex.
 */
static struct rpcrdma_bc_rqst *rpcrdma_bc_begin(struct rpcrdma_client *client,
						struct rpcrdma_recv *rv)
{
	const struct rpc_xprt *xprt = &client->requester.xprt;
	struct rpcrdma_ep *ep = rpcrdma_recv_ep(rv);
	u64 octets = rv->pull.octets;
	struct rpcrdma_bc_rqst *bc;
	int rc;
	u32 i;

	lockdep_assert_held(&client->bc_mutex);
	rc = rpcrdma_callbacks_admit(&client->callbacks, xprt->bc_serv,
				     READ_ONCE(xprt->stat.sends), octets);
	if (rc)
		return ERR_PTR(rc);
	bc = rpcrdma_bc_pop(client) ?: rpcrdma_bc_create_rqst(client);
	if (IS_ERR(bc))
		return bc;
	rc = -ENOMEM;
	for (i = 1; i < DIV_ROUND_UP(octets, PAGE_SIZE); i++) {
		bc->pages[i] = alloc_page(RPCRDMA_BC_GFP);
		if (!bc->pages[i])
			goto out_push;
	}
	/* The transport may be in destruction. */
	rc = -ENOTCONN;
	if (!xprt_get(&client->requester.xprt))
		goto out_push;
	rpcrdma_ep_get(ep);
	bc->ep = ep;
	bc->octets = octets;
	bc->lists = rv->rx.lists;
	return bc;

out_push:
	rpcrdma_bc_free_pages(bc, 1);
	rpcrdma_bc_push(client, bc);
	return ERR_PTR(rc);
}

int rpcrdma_port_callback_begin(struct rpcrdma_recv *rv)
{
	struct rpcrdma_client *client = rpcrdma_recv_ep(rv)->priv;
	struct rpcrdma_bc_rqst *bc;

	mutex_lock(&client->bc_mutex);
	bc = rpcrdma_bc_begin(client, rv);
	mutex_unlock(&client->bc_mutex);
	if (IS_ERR(bc))
		return PTR_ERR(bc);
	rv->priv = bc;
	rv->into = bc->pages;
	return 0;
}

/* Pass a complete Call to the service. Caller holds bc_mutex. */
static void rpcrdma_bc_deliver(struct rpcrdma_client *client,
			       struct rpcrdma_bc_rqst *bc, u32 xid)
{
	struct rpc_xprt *xprt = &client->requester.xprt;
	struct rpc_rqst *rqst = &bc->rqst;
	u32 head = min_t(u32, bc->octets, PAGE_SIZE);

	lockdep_assert_held(&client->bc_mutex);
	memset(rqst, 0, sizeof(*rqst));
	rqst->rq_xprt = xprt;
	rqst->rq_xid = cpu_to_be32(xid);
	rqst->rq_connect_cookie = xprt->connect_cookie;
	/*
	 * The Reply must precede Calls: sunrpc queues a request with this flag before
	 * the others.
	 */
	rqst->rq_cong = 1;
	INIT_LIST_HEAD(&rqst->rq_xmit);
	INIT_LIST_HEAD(&rqst->rq_xmit2);
	xdr_buf_init(&rqst->rq_rcv_buf, page_address(bc->pages[0]), PAGE_SIZE);
	rqst->rq_rcv_buf.head[0].iov_len = head;
	rqst->rq_rcv_buf.pages = &bc->pages[1];
	rqst->rq_rcv_buf.page_len = bc->octets - head;
	rqst->rq_rcv_buf.len = bc->octets;
	xdr_buf_init(&rqst->rq_snd_buf, bc->reply, PAGE_SIZE);
	rqst->rq_private_buf.len = bc->octets;
	__set_bit(RPC_BC_PA_IN_USE, &rqst->rq_bc_pa_state);

	/* The service decrements the count when it has processed the Call. */
	atomic_inc(&xprt->bc_slot_count);
	rpcrdma_bc_enqueue(xprt->bc_serv, rqst);
}

int rpcrdma_port_callback_deliver(struct rpcrdma_ep_core *core, void *call,
				  u32 xid)
{
	struct rpcrdma_client *client = rpcrdma_ep_of(core)->priv;
	const struct rpc_xprt *xprt = &client->requester.xprt;
	struct rpcrdma_bc_rqst *bc = call;
	bool served;

	mutex_lock(&client->bc_mutex);
	served = rpcrdma_callbacks_served(&client->callbacks, xprt->bc_serv,
					  READ_ONCE(xprt->stat.sends));
	if (served)
		rpcrdma_bc_deliver(client, bc, xid);
	mutex_unlock(&client->bc_mutex);
	if (served)
		return 0;
	rpcrdma_client_bc_drop(bc);
	return -EOPNOTSUPP;
}

/*
 * Calls without window wait for write_space(), and sunrpc lets no task send meanwhile.
 * A Reply is sent nevertheless: part of the window is reserved for Replies (WP 3), and
 * the server may be waiting for the Reply before it grants more. In sunrpc's queue
 * Replies precede Calls, see rpcrdma_bc_deliver(), so the holder of the lock sends them.
 */
int rpcrdma_client_reserve_xprt(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct rpcrdma_client *client = rpcrdma_xprt_client(xprt);

	if (likely(!task->tk_rqstp || !bc_prealloc(task->tk_rqstp)))
		return xprt_reserve_xprt(xprt, task);

	lockdep_assert_held(&xprt->transport_lock);
	if (!test_and_set_bit(XPRT_LOCKED, &xprt->state)) {
		WRITE_ONCE(xprt->snd_task, task);
		return 1;
	}
	if (xprt->snd_task == task)
		return 1;
	task->tk_status = -EAGAIN;
	rpc_sleep_on(&client->bc_sending, task, NULL);
	return 0;
}

/*
 * Wake the Replies that wait for the write lock. Each one checks if it has been sent, and
 * otherwise retries: the next holder of the lock may be the task of a Call, which sends
 * queued Replies first.
 */
void rpcrdma_client_release_xprt(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct rpc_wait_queue *sending = &rpcrdma_xprt_client(xprt)->bc_sending;

	xprt_release_xprt(xprt, task);
	/* Waiters are added under transport_lock, so none can be missed here. */
	if (unlikely(READ_ONCE(sending->qlen)))
		rpc_wake_up(sending);
}

int rpcrdma_client_bc_reply(struct rpc_rqst *rqst)
{
	struct rpcrdma_bc_rqst *bc = rpcrdma_rqst_bc(rqst);
	struct rpcrdma_svc_reply a = {
		.core.call_lists = &bc->lists,
		.core.xid	= be32_to_cpu(rqst->rq_xid),
		.core.length	= rqst->rq_snd_buf.len,
		.core.kept	= true,
		.res		= &rqst->rq_snd_buf,
	};
	int rc;

	if (!rpcrdma_ep_is_open(bc->ep))
		return 0;
	rc = rpcrdma_core_send_reply(&bc->ep->core, &a.core);
	/* After -ENOBUFS sunrpc retries after a delay. */
	return rc && rc != -ENOTCONN ? -ENOBUFS : 0;
}

#else

int rpcrdma_port_callback_begin(struct rpcrdma_recv *rv)
{
	return -EOPNOTSUPP;
}

int rpcrdma_port_callback_deliver(struct rpcrdma_ep_core *core, void *call,
				  u32 xid)
{
	return -EOPNOTSUPP;
}

#endif /* CONFIG_SUNRPC_BACKCHANNEL */
