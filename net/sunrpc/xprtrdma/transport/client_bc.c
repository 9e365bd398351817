// SPDX-License-Identifier: GPL-2.0
/*
 * The reverse direction at the client: NFSv4.1 callbacks.
 *
 * sunrpc's callback service is there only between bc_setup() and
 * bc_destroy(), and tells nobody when it goes: bc_mutex is held while it is
 * used, and bc_destroy() takes it, too. A Call that finds no service is
 * refused with RDMA2_ERR_SYSTEM (WP 3.5).
 */

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sunrpc/bc_xprt.h>

#include "../compat.h"
#include "client_bc.h"
#include "settings.h"

#if defined(CONFIG_SUNRPC_BACKCHANNEL)

/* A reverse-direction Call and its Reply, a page each */
struct rpcrdma_bc_rqst {
	struct rpc_rqst		rqst;
	struct rpcrdma_ep	*ep;	/* where the Call came from */
	void			*call, *reply;
	struct rpcrdma_reply_plan plan;
};

static const struct rpcrdma_lists rpcrdma_bc_no_lists;

static struct rpcrdma_bc_rqst *rpcrdma_rqst_bc(struct rpc_rqst *rqst)
{
	return container_of(rqst, struct rpcrdma_bc_rqst, rqst);
}

static void rpcrdma_bc_destroy_rqst(struct rpcrdma_bc_rqst *bc)
{
	free_page((unsigned long)bc->call);
	free_page((unsigned long)bc->reply);
	kfree(bc);
}

/* bc_count counts it already. */
static struct rpcrdma_bc_rqst *rpcrdma_bc_create_rqst(void)
{
	gfp_t gfp = GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN;
	struct rpcrdma_bc_rqst *bc;

	bc = kzalloc(sizeof(*bc), gfp);
	if (!bc)
		return NULL;
	bc->call = (void *)__get_free_page(gfp);
	bc->reply = (void *)__get_free_page(gfp);
	if (!bc->call || !bc->reply) {
		rpcrdma_bc_destroy_rqst(bc);
		return NULL;
	}
	return bc;
}

static bool rpcrdma_bc_reserve(struct rpcrdma_client *client)
{
	bool room;

	spin_lock(&client->xprt.bc_pa_lock);
	room = client->bc_count < RPCRDMA_CLIENT_BC_SLOTS;
	client->bc_count += room;
	spin_unlock(&client->xprt.bc_pa_lock);
	return room;
}

static void rpcrdma_bc_unreserve(struct rpcrdma_client *client)
{
	spin_lock(&client->xprt.bc_pa_lock);
	client->bc_count--;
	spin_unlock(&client->xprt.bc_pa_lock);
}

static struct rpcrdma_bc_rqst *rpcrdma_bc_pop(struct rpcrdma_client *client)
{
	struct rpc_xprt *xprt = &client->xprt;
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
	struct rpc_xprt *xprt = &client->xprt;

	spin_lock(&xprt->bc_pa_lock);
	list_add(&bc->rqst.rq_bc_pa_list, &xprt->bc_pa_list);
	spin_unlock(&xprt->bc_pa_lock);
}

/* One for a Call that arrived, or NULL */
static struct rpcrdma_bc_rqst *rpcrdma_bc_get(struct rpcrdma_client *client)
{
	struct rpcrdma_bc_rqst *bc = rpcrdma_bc_pop(client);

	if (!bc && rpcrdma_bc_reserve(client)) {
		bc = rpcrdma_bc_create_rqst();
		if (!bc)
			rpcrdma_bc_unreserve(client);
	}
	return bc;
}

/**
 * rpcrdma_client_bc_setup - callbacks are about to be expected
 * @xprt: transport
 * @min_reqs: Calls that must not be refused for lack of memory
 *
 * For each NFSv4 session. Sleeps. Returns 0 or -ENOMEM.
 */
int rpcrdma_client_bc_setup(struct rpc_xprt *xprt, unsigned int min_reqs)
{
	struct rpcrdma_client *client = rpcrdma_xprt_client(xprt);
	struct rpcrdma_bc_rqst *bc;
	unsigned int i;

	for (i = 0; i < min_reqs && rpcrdma_bc_reserve(client); i++) {
		bc = rpcrdma_bc_create_rqst();
		if (!bc) {
			rpcrdma_bc_unreserve(client);
			return -ENOMEM;
		}
		rpcrdma_bc_push(client, bc);
	}
	mutex_lock(&client->bc_mutex);
	client->bc_sessions++;
	mutex_unlock(&client->bc_mutex);
	return 0;
}

/**
 * rpcrdma_client_bc_destroy - no more callbacks
 * @xprt: transport
 * @max_reqs: UINT_MAX when the transport is destroyed
 *
 * Sleeps. Afterwards the callback service is not touched any more. What it
 * has begun with returns by rpcrdma_client_bc_free_rqst().
 */
void rpcrdma_client_bc_destroy(struct rpc_xprt *xprt, unsigned int max_reqs)
{
	struct rpcrdma_client *client = rpcrdma_xprt_client(xprt);
	struct rpc_rqst *rqst;
	bool last;

	mutex_lock(&client->bc_mutex);
	if (max_reqs == UINT_MAX)
		/* Each Call not finished with would hold a reference. */
		client->bc_sessions = 0;
	else if (client->bc_sessions)
		client->bc_sessions--;
	last = !client->bc_sessions && max_reqs != UINT_MAX && xprt->bc_serv;
	while (last) {
		/* The service stops without a look at what it was given. */
		rqst = rpcrdma_bc_dequeue(xprt->bc_serv, xprt);
		if (!rqst)
			break;
		atomic_dec(&xprt->bc_slot_count);
		rpcrdma_client_bc_free_rqst(rqst);
	}
	mutex_unlock(&client->bc_mutex);
}

/**
 * rpcrdma_client_bc_free - free what is left
 * @client: transport that is destroyed
 */
void rpcrdma_client_bc_free(struct rpcrdma_client *client)
{
	struct rpcrdma_bc_rqst *bc;

	while ((bc = rpcrdma_bc_pop(client)) != NULL) {
		rpcrdma_bc_destroy_rqst(bc);
		rpcrdma_bc_unreserve(client);
	}
	WARN_ON_ONCE(client->bc_count);
}

/**
 * rpcrdma_client_bc_maxpayload - octets of a Call or Reply, header left out
 * @xprt: transport
 *
 * The NFS client tells the server when it creates a session. Does not sleep:
 * sunrpc is in an RCU section.
 */
size_t rpcrdma_client_bc_maxpayload(struct rpc_xprt *xprt)
{
	struct rpcrdma_client *client = rpcrdma_xprt_client(xprt);
	/* What every connection has */
	u32 room = RPCRDMA_MIN_INLINE_OCTETS, header = 64;
	struct rpcrdma_ep *ep;

	spin_lock(&client->ep_lock);
	ep = client->ep;
	if (ep && rpcrdma_ep_is_open(ep)) {
		room = min(ep->limits.send_inline, ep->limits.recv_inline);
		header = rpcrdma_header_octets(&ep->conn, NULL);
	}
	spin_unlock(&client->ep_lock);
	return min_t(u32, room - header, PAGE_SIZE);
}

/**
 * rpcrdma_client_bc_num_slots - Calls under way at most
 * @xprt: transport
 */
unsigned int rpcrdma_client_bc_num_slots(struct rpc_xprt *xprt)
{
	return RPCRDMA_CLIENT_BC_SLOTS;
}

/**
 * rpcrdma_client_bc_free_rqst - a Call is finished with
 * @rqst: its rpc_rqst, which has a reference to the transport
 */
void rpcrdma_client_bc_free_rqst(struct rpc_rqst *rqst)
{
	struct rpcrdma_bc_rqst *bc = rpcrdma_rqst_bc(rqst);
	struct rpc_xprt *xprt = rqst->rq_xprt;
	struct rpcrdma_ep *ep = bc->ep;

	bc->ep = NULL;
	clear_bit(RPC_BC_PA_IN_USE, &rqst->rq_bc_pa_state);
	rpcrdma_bc_push(rpcrdma_xprt_client(xprt), bc);
	if (ep)
		rpcrdma_ep_put(ep);
	xprt_put(xprt);
}

/* bc_mutex held. Returns false when the Call has to be refused. */
static bool rpcrdma_bc_accept(struct rpcrdma_client *client,
			      struct rpcrdma_ep *ep,
			      const struct rpcrdma_recv *rv)
{
	struct rpc_xprt *xprt = &client->xprt;
	struct rpcrdma_bc_rqst *bc;
	struct rpc_rqst *rqst;

	if (!client->bc_sessions || !xprt->bc_serv)
		return false;
	/* Not what RDMA2_RVRSDIR_SIMPLE stands for, nor bc_maxpayload() */
	if (rv->rx.lists.nr_segs || rv->rx.lists.nr_writes ||
	    rv->rx.lists.has_reply || rv->payload_len > PAGE_SIZE)
		return false;
	bc = rpcrdma_bc_get(client);
	if (!bc)
		return false;
	if (!xprt_get(xprt)) {
		/* It is being destroyed. */
		rpcrdma_bc_push(client, bc);
		return false;
	}
	rpcrdma_ep_get(ep);
	bc->ep = ep;

	memcpy(bc->call, rv->payload, rv->payload_len);
	rqst = &bc->rqst;
	memset(rqst, 0, sizeof(*rqst));
	rqst->rq_xprt = xprt;
	rqst->rq_xid = cpu_to_be32(rv->rx.xid);
	rqst->rq_connect_cookie = xprt->connect_cookie;
	INIT_LIST_HEAD(&rqst->rq_xmit);
	INIT_LIST_HEAD(&rqst->rq_xmit2);
	xdr_buf_init(&rqst->rq_rcv_buf, bc->call, PAGE_SIZE);
	rqst->rq_rcv_buf.head[0].iov_len = rv->payload_len;
	rqst->rq_rcv_buf.len = rv->payload_len;
	xdr_buf_init(&rqst->rq_snd_buf, bc->reply, PAGE_SIZE);
	rqst->rq_private_buf.len = rv->payload_len;
	__set_bit(RPC_BC_PA_IN_USE, &rqst->rq_bc_pa_state);

	client->stats.reverse_calls++;
	/* The service takes it off again when it has processed the Call. */
	atomic_inc(&xprt->bc_slot_count);
	rpcrdma_bc_enqueue(xprt->bc_serv, rqst);
	return true;
}

/**
 * rpcrdma_client_bc_call - a Call arrived from the server
 * @client: transport
 * @ep: its connection
 * @rv: the Receive; taken
 *
 * An endpoint's upcall: process context, one at a time.
 */
void rpcrdma_client_bc_call(struct rpcrdma_client *client,
			    struct rpcrdma_ep *ep, struct rpcrdma_recv *rv)
{
	u32 xid = rv->rx.xid;
	bool accepted;

	mutex_lock(&client->bc_mutex);
	accepted = rpcrdma_bc_accept(client, ep, rv);
	mutex_unlock(&client->bc_mutex);
	rpcrdma_recv_put(rv);
	if (!accepted)
		rpcrdma_ep_send_error(ep, xid, RDMA2_ERR_SYSTEM, 0, 0);
}

static int rpcrdma_bc_try_reply(struct rpcrdma_bc_rqst *bc)
{
	const struct xdr_buf *snd = &bc->rqst.rq_snd_buf;
	u32 xid = be32_to_cpu(bc->rqst.rq_xid);
	struct rpcrdma_reply_plan *plan = &bc->plan;
	struct rpcrdma_reply reply = {
		.xid		= xid,
		.length		= snd->len,
		.reverse	= 1,
	};
	struct rpcrdma_ep *ep = bc->ep;
	struct rpcrdma_send *s;
	u32 size;

	rpcrdma_plan_reply(&ep->conn, &rpcrdma_bc_no_lists, &reply, plan);
	if (!plan->error && plan->format != RPCRDMA_INLINE)
		plan->error = RDMA2_ERR_SYSTEM;
	if (plan->error) {
		rpcrdma_ep_send_error(ep, xid, plan->error, plan->arg[0],
				      plan->arg[1]);
		return 0;
	}

	s = rpcrdma_send_get(ep);
	if (!s)
		return -EAGAIN;
	size = ep->params.send_size;
	s->header_len = rpcrdma_encode_header(&ep->conn, s->buf, size, xid,
					      RDMA2_MSG, RDMA2_F_RESPONSE,
					      NULL);
	if (WARN_ON_ONCE(!s->header_len || snd->len > size - s->header_len)) {
		rpcrdma_send_put(s);
		rpcrdma_ep_send_error(ep, xid, RDMA2_ERR_SYSTEM, 0, 0);
		return 0;
	}
	rpcrdma_xdr_copy_out(snd, 0, snd->len, s->buf + s->header_len);
	s->len = s->header_len + snd->len;
	rpcrdma_send_reply(s, NULL, 0, plan->format, NULL);
	return 0;
}

/**
 * rpcrdma_client_bc_reply - send the Reply to a Call of the server
 * @rqst: the Call's rpc_rqst, the Reply in rq_snd_buf
 *
 * The caller has the write lock. It goes where its Call came from, or, when
 * that connection is gone, nowhere: the server sends the Call again.
 * Returns 0 or -EAGAIN.
 */
int rpcrdma_client_bc_reply(struct rpc_rqst *rqst)
{
	struct rpcrdma_bc_rqst *bc = rpcrdma_rqst_bc(rqst);
	struct rpc_xprt *xprt = rqst->rq_xprt;
	int rc;

	if (!rpcrdma_ep_is_open(bc->ep))
		return 0;
	rc = rpcrdma_bc_try_reply(bc);
	if (rc == -EAGAIN) {
		xprt_wait_for_buffer_space(xprt);
		/* As in rpcrdma_requester_send() */
		smp_mb__after_atomic();
		rc = rpcrdma_bc_try_reply(bc);
		if (rc != -EAGAIN)
			xprt_write_space(xprt);
	}
	return rc;
}

#endif /* CONFIG_SUNRPC_BACKCHANNEL */
