// SPDX-License-Identifier: GPL-2.0
/*
 * The connection of a client's transport: attempts, versions, and the end.
 *
 * Operation
 *
 * A transport has at most one connection. The connect worker creates it and close()
 * ends it, and a new one is only created when nothing is left of the old one. Both
 * call rpcrdma_client_reconnect(), which runs the actions that the core names one
 * after the other (struct rpcrdma_reconnect_walk). When a connection is lost, the
 * endpoint notifies the transport after its teardown. The transport then requests a
 * close from sunrpc, which retransmits the pending RPCs.
 *
 * For some time the core remembers, for all transports, servers on which an attempt
 * with version 2 is lost: they gave no usable answer, or ended the connection after a
 * refusal. An attempt then begins with version 1. A server that refuses version 2 and
 * keeps the connection is tried with version 2 each time. If a server gives no usable
 * answer to the first version, the worker tries the other one at once (WP 4). If the
 * server has to prove an identity, version 1 is not tried.
 *
 * Memory
 *
 * client->ep is one reference to the endpoint. The connect worker installs it, and
 * rpcrdma_client_disconnect() removes it, waits for the end of the teardown, and drops
 * it. The upcalls use the transport, which waits for closed() before it is freed. While
 * a swap file is on the transport, the connect worker may use memory reserves.
 *
 * Errors
 *
 * The errno of a failed attempt, in a form that sunrpc knows, wakes the tasks that
 * wait for a connection. sunrpc decides if they fail or wait for the next attempt, and
 * delays it.
 *
 * Locking
 *
 * The walks run under sunrpc's write lock (XPRT_LOCKED). ep_lock protects client->ep
 * for readers without the write lock. rpcrdma_versions_lock protects what is
 * remembered about servers.
 */

#include <linux/sched/mm.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/clnt.h>

#include "../compat.h"
#include "client.h"
#include "client_bc.h"
#include "netlink.h"
#include "settings.h"
#include "trace.h"

/* ---- The versions of servers ---- */

/* All transports learn from each other's connections. */
static DEFINE_SPINLOCK(rpcrdma_versions_lock);
static struct rpcrdma_server_memories rpcrdma_servers;

static struct rpcrdma_server_name
rpcrdma_versions_name(const struct rpc_xprt *xprt)
{
	const struct sockaddr *addr = (const struct sockaddr *)&xprt->addr;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;
	struct rpcrdma_server_name name = {
		.net	= (uintptr_t)xprt->xprt_net, /* only compared */
		.family	= addr->sa_family,
		.port	= rpc_get_port(addr),
	};

	if (addr->sa_family == AF_INET) {
		memcpy(name.address, &sin->sin_addr, sizeof(sin->sin_addr));
	} else {
		memcpy(name.address, &sin6->sin6_addr, sizeof(sin6->sin6_addr));
		name.scope = rpc_get_scope_id(addr);
	}
	return name;
}

/* Learn from a connection to the server of @xprt, as rpcrdma_server_learn(). */
static bool rpcrdma_versions_learn(const struct rpc_xprt *xprt, u8 tried,
				   enum rpcrdma_answer answer)
{
	struct rpcrdma_server_name name = rpcrdma_versions_name(xprt);

	return rpcrdma_locked(&rpcrdma_versions_lock,
			      rpcrdma_server_learn(&rpcrdma_servers, &name,
						   ktime_get_seconds(), tried,
						   answer));
}

/* ---- The connection ---- */

struct rpcrdma_ep *rpcrdma_client_ep(struct rpcrdma_client *client)
{
	struct rpcrdma_ep *ep;

	spin_lock(&client->ep_lock);
	ep = client->ep;
	if (ep)
		rpcrdma_ep_get(ep);
	spin_unlock(&client->ep_lock);
	return ep;
}

/* Return true if there is a swap file over the transport. */
static bool rpcrdma_client_swaps(const struct rpcrdma_client *client)
{
	return atomic_read(&client->requester.xprt.swapper);
}

/* Let the connection use the memory reserves if it has to. Caller holds ep_lock. */
static void rpcrdma_client_set_reserves(struct rpcrdma_client *client)
{
	if (client->ep)
		rpcrdma_ep_set_reserves(client->ep, rpcrdma_client_swaps(client));
}

/* Return the number of MRs that a connection, or NULL, has allocated. */
static unsigned long rpcrdma_client_pool_made(const struct rpcrdma_ep *ep)
{
	return ep ? READ_ONCE(ep->core.mrs.pool.made) : 0;
}

/* Replace the connection. Return the old one with its reference. */
static struct rpcrdma_ep *rpcrdma_client_swap_ep(struct rpcrdma_client *client,
						 struct rpcrdma_ep *ep)
{
	spin_lock(&client->ep_lock);
	swap(client->ep, ep);
	client->mrs_made += rpcrdma_client_pool_made(ep);
	rpcrdma_client_set_reserves(client);
	spin_unlock(&client->ep_lock);
	return ep;
}

unsigned long rpcrdma_client_mrs_made(struct rpcrdma_client *client)
{
	return rpcrdma_locked(&client->ep_lock,
			      client->mrs_made + rpcrdma_client_pool_made(client->ep));
}

void rpcrdma_client_swapper(struct rpcrdma_client *client, int change)
{
	atomic_add(change, &client->requester.xprt.swapper);
	spin_lock(&client->ep_lock);
	rpcrdma_client_set_reserves(client);
	spin_unlock(&client->ep_lock);
}

/*
 * Learn what a connection that opened, or has ended with @end, has shown of its
 * server's versions. The caller has the write lock.
 */
static void rpcrdma_client_learn(struct rpcrdma_client *client,
				 const struct rpcrdma_ep *ep,
				 enum rpcrdma_end end)
{
	struct rpc_xprt *xprt = &client->requester.xprt;

	/* Delay the next attempt only if this connection was of no use. */
	if (rpcrdma_versions_learn(xprt, ep->params.version_high,
				   rpcrdma_conn_answer(&ep->core.conn, end)))
		xprt->reestablish_timeout = 0;
}

void rpcrdma_client_disconnect(struct rpcrdma_client *client)
{
	struct rpcrdma_ep *ep = rpcrdma_client_swap_ep(client, NULL);

	if (!ep)
		return;
	rpcrdma_ep_close(ep, NULL);
	rpcrdma_ep_wait_closed(ep);
	rpcrdma_client_learn(client, ep, ep->core.life.end);
	rpcrdma_ep_put(ep);
}

/* ---- Upcalls of the endpoint ---- */

static void rpcrdma_client_poll(struct rpcrdma_ep *ep)
{
	struct rpcrdma_client *client = ep->priv;
	struct rpcrdma_poll poll = { .ep = ep };
	struct rpcrdma_recv *rv;

	while ((rv = rpcrdma_ep_poll(&poll)))
		rpcrdma_core_client_dispatch(&client->requester, rv);
}

static void rpcrdma_client_write_space(struct rpcrdma_ep *ep)
{
	struct rpcrdma_client *client = ep->priv;

	xprt_write_space(&client->requester.xprt);
}

/*
 * Handle the end of a connection. If this end closed it, nothing is done: the context
 * that takes the endpoint from the transport waits for this, and does the rest.
 */
static void rpcrdma_client_closed(struct rpcrdma_ep *ep)
{
	struct rpcrdma_client *client = ep->priv;

	if (rpcrdma_locked(&client->ep_lock, client->ep == ep))
		xprt_force_disconnect(&client->requester.xprt);
}

static const struct rpcrdma_ep_ops rpcrdma_client_ep_ops = {
	.poll		= rpcrdma_client_poll,
	.write_space	= rpcrdma_client_write_space,
	.closed		= rpcrdma_client_closed,
	.changed	= rpcrdma_netlink_changed,
};

/* ---- Connecting ---- */

/* The connection being tried, and the highest version that the settings permit */
struct rpcrdma_client_trial {
	struct rpcrdma_ep_params params;
	u8			version_high;
};

/* Set the version with which the next attempt begins. Sleeps. */
static void rpcrdma_client_choose(struct rpcrdma_client *client,
				  struct rpcrdma_client_trial *t)
{
	struct rpcrdma_server_name name =
		rpcrdma_versions_name(&client->requester.xprt);
	bool identified =
		rpcrdma_auth_is_expected(client->requester.xprt.xprt_net,
					 &client->requester.xprt.addr);
	u8 first = rpcrdma_locked(&rpcrdma_versions_lock,
				  rpcrdma_server_first(&rpcrdma_servers, &name,
						       ktime_get_seconds(),
						       t->params.version_low,
						       t->version_high));

	rpcrdma_client_begin_with(&t->params, first, t->version_high,
				  identified);
}

/*
 * Return true if no file depends on the transport yet. Further transports of an RPC client
 * (nconnect) first connect when an RPC of a file is sent over them. If the kernel does not
 * distinguish them, return @unknown for one that was never connected.
 */
static bool rpcrdma_client_is_new(const struct rpc_xprt *xprt, bool unknown)
{
	return !xprt->stat.connect_count && rpcrdma_xprt_is_main(xprt, unknown);
}

static struct rpcrdma_ep *rpcrdma_client_try(struct rpcrdma_client *client,
					     const struct rpcrdma_client_trial *t)
{
	struct rpc_xprt *xprt = &client->requester.xprt;
	const struct sockaddr *src = NULL;
	enum rpcrdma_answer answer;
	struct rpcrdma_ep *ep;
	unsigned int how = 0;

	if (client->srcaddr.ss_family != AF_UNSPEC)
		src = (struct sockaddr *)&client->srcaddr;
	if (rpcrdma_client_swaps(client))
		how |= RPCRDMA_CONNECT_RESERVES;
	/* Without the algorithms the first connection fails. */
	if (rpcrdma_client_is_new(xprt, true))
		how |= RPCRDMA_CONNECT_FIRST;
	ep = rpcrdma_ep_connect(xprt->xprt_net, (struct sockaddr *)&xprt->addr,
				src, &t->params, &rpcrdma_client_ep_ops, client,
				how, &answer);
	/* An open connection may show more until it ends. */
	if (IS_ERR(ep))
		rpcrdma_versions_learn(xprt, t->params.version_high, answer);
	return ep;
}

/*
 * Make the first attempt. A server that supports only version 1 refuses version 2, and
 * the connection continues with version 1. If a server gives any other answer, or none,
 * or ends the connection, a second connection begins with version 1. So do the next
 * ones for some time, as long as the server answers them (WP 4).
 */
static struct rpcrdma_ep *rpcrdma_client_first(struct rpcrdma_client *client,
					       struct rpcrdma_client_trial *t)
{
	const struct rpc_xprt *xprt = &client->requester.xprt;
	struct rpcrdma_settings settings = rpcrdma_settings_read();

	if (!IS_ENABLED(CONFIG_SUNRPC_BACKCHANNEL))
		settings.reverse_level = RDMA2_RVRSDIR_NONE;
	rpcrdma_client_params(&settings, xprt->max_reqs, &t->params);
	t->params.connect_ms = jiffies_to_msecs(READ_ONCE(xprt->connect_timeout));
	t->version_high = t->params.version_high;
	rpcrdma_client_choose(client, t);
	return rpcrdma_client_try(client, t);
}

/* Try another version. Return @ep again if there is none. */
static struct rpcrdma_ep *rpcrdma_client_other(struct rpcrdma_client *client,
					       struct rpcrdma_client_trial *t,
					       struct rpcrdma_ep *ep)
{
	const struct rpc_xprt *xprt = &client->requester.xprt;
	u8 first = t->params.version_high;

	rpcrdma_client_choose(client, t);
	if (t->params.version_high == first)
		return ep;
	pr_info_ratelimited("rpcrdma: %s port %s does not answer version %u, trying version %u\n",
			    xprt->address_strings[RPC_DISPLAY_ADDR],
			    xprt->address_strings[RPC_DISPLAY_PORT],
			    first, t->params.version_high);
	return rpcrdma_client_try(client, t);
}

/* Senders use the new connection already; the changed cookie shows sunrpc that it is new. */
static void rpcrdma_client_up(struct rpc_xprt *xprt)
{
	xprt->connect_cookie++;
	xprt->stat.connect_count++;
	xprt->stat.connect_time += (long)jiffies - xprt->stat.connect_start;
	xprt_set_connected(xprt);
}

void rpcrdma_client_reconnect(struct rpcrdma_client *client, bool close)
{
	struct rpc_xprt *xprt = &client->requester.xprt;
	struct rpcrdma_reconnect_walk walk = {
		.close	= close,
		/* An RPC of a file must not end with EACCES. */
		.first	= rpcrdma_client_is_new(xprt, false),
	};
	struct rpcrdma_reconnect_step step;
	struct rpcrdma_client_trial trial;
	struct rpcrdma_ep *ep = NULL;
	bool open = false;

	for (;;) {
		step = rpcrdma_reconnect_next(&walk, PTR_ERR_OR_ZERO(ep), open);
		trace_rpcrdma_reconnect(xprt, &step);
		switch (step.what) {
		case RPCRDMA_RECONNECT_FORGET:
			rpcrdma_client_disconnect(client);
			break;
		case RPCRDMA_RECONNECT_TRY:
			ep = rpcrdma_client_first(client, &trial);
			break;
		case RPCRDMA_RECONNECT_TRY_OTHER:
			ep = rpcrdma_client_other(client, &trial, ep);
			break;
		case RPCRDMA_RECONNECT_KEEP:
			rpcrdma_client_learn(client, ep, RPCRDMA_END_NONE);
			rpcrdma_client_swap_ep(client, ep);
			break;
		case RPCRDMA_RECONNECT_SETTLED:
			xprt_clear_connecting(xprt);
			break;
		case RPCRDMA_RECONNECT_UP:
			rpcrdma_client_up(xprt);
			open = rpcrdma_ep_is_open(ep);
			break;
		case RPCRDMA_RECONNECT_DROP:
			xprt_force_disconnect(xprt);
			break;
		case RPCRDMA_RECONNECT_WAKE:
			xprt_wake_pending_tasks(xprt, step.status);
			break;
		case RPCRDMA_RECONNECT_UNLOCK:
			xprt_unlock_connect(xprt, client);
			break;
		case RPCRDMA_RECONNECT_DOWN:
			++xprt->connect_cookie;
			xprt_disconnect_done(xprt);
			break;
		case RPCRDMA_RECONNECT_END:
			return;
		}
	}
}

void rpcrdma_client_connect_worker(struct work_struct *work)
{
	struct rpcrdma_client *client =
		container_of(work, struct rpcrdma_client, connect_worker.work);
	unsigned int flags = rpcrdma_memalloc_begin(rpcrdma_client_swaps(client));

	rpcrdma_client_reconnect(client, false);
	rpcrdma_memalloc_end(flags);
}
