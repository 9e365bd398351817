// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "rpcrdma": the connections, listeners and counters of the
 * caller's network namespace, and events. Documentation/netlink/specs/rpcrdma.yaml
 * describes it. No privilege is needed, as for the addresses and counters in
 * mountstats.
 *
 * Operation
 *
 * A dump has one message for each object, in the order of the objects' numbers. Between
 * two parts of a dump only the next number is kept. An event is sent to a multicast
 * group when a connection has opened, and when an open connection begins to close.
 * rpcrdma_ep_view() collects the state of a connection for dumps, events and debugfs,
 * so that all three report the same.
 *
 * Memory
 *
 * A dump holds a reference to one connection at a time, and none between two parts. The
 * reference does not delay the teardown of the connection: only the memory of the
 * endpoint remains. An event is allocated only if a program listens for it.
 *
 * Errors
 *
 * An object that does not fit into a part of a dump is the first one of the next part.
 * An event for which there is no memory is lost: it only reports a change, and a dump
 * has the state.
 *
 * Locking
 *
 * Mutexes protect the lists of connections and listeners, and are held only to find
 * the next object. A dump therefore may sleep. A view takes ep->lock, mr_lock and
 * memory_lock one after the other: each group of numbers is consistent, but the groups
 * may be of different moments. The context that reports a change holds none of these
 * locks, but may hold another spinlock: an event is allocated with GFP_ATOMIC.
 */

#include <linux/module.h>
#include <linux/sunrpc/addr.h>
#include <net/genetlink.h>
#include <net/sock.h>
#include <uapi/linux/rpcrdma_netlink.h>

#include "netlink.h"

static struct genl_family rpcrdma_netlink_family;

void rpcrdma_ep_view(struct rpcrdma_ep *ep, struct rpcrdma_conn_view *view)
{
	struct rpcrdma_quota_account memory;

	spin_lock(&ep->lock);
	rpcrdma_core_view(&ep->core, view);
	spin_unlock(&ep->lock);
	view->numbers[RPCRDMA_FIGURE_LOCAL_INV] = atomic64_read(&ep->local_inv);
	spin_lock(&ep->mr_lock);
	rpcrdma_mr_pool_figures(&ep->core.mrs.pool, view->numbers);
	spin_unlock(&ep->mr_lock);
	memory = rpcrdma_locked(&ep->memory_lock, ep->memory);
	rpcrdma_quota_figures(&memory, view->numbers);
}

/* ---- Messages; each function returns 0, or a negative errno if there is no space ---- */

static int rpcrdma_netlink_put_addr(struct sk_buff *skb, int attr,
				    const struct sockaddr_storage *addr)
{
	return nla_put(skb, attr, addr->ss_family == AF_INET6 ?
		       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in),
		       addr);
}

static int rpcrdma_netlink_put_number(struct sk_buff *skb,
				      const struct rpcrdma_number *number)
{
	return nla_put_string(skb, RPCRDMA_A_NUMBER_NAME, number->name) ?:
	       nla_put_string(skb, RPCRDMA_A_NUMBER_UNIT, number->unit) ?:
	       nla_put_string(skb, RPCRDMA_A_NUMBER_KIND,
			      number->kind == RPCRDMA_GAUGE ? "gauge" : "counter");
}

static int rpcrdma_netlink_put_ep(struct sk_buff *skb, struct rpcrdma_ep *ep)
{
	struct rpcrdma_conn_view view;
	int rc;

	rpcrdma_ep_view(ep, &view);
	rc = nla_put_string(skb, RPCRDMA_A_CONNECTION_ROLE, view.role) ?:
	     rpcrdma_netlink_put_addr(skb, RPCRDMA_A_CONNECTION_LOCAL, &ep->local) ?:
	     rpcrdma_netlink_put_addr(skb, RPCRDMA_A_CONNECTION_REMOTE, &ep->remote) ?:
	     nla_put_u32(skb, RPCRDMA_A_CONNECTION_VERSION, view.version) ?:
	     nla_put_string(skb, RPCRDMA_A_CONNECTION_WHY, view.why) ?:
	     nla_put_string(skb, RPCRDMA_A_CONNECTION_STATE, view.state) ?:
	     nla_put(skb, RPCRDMA_A_CONNECTION_NUMBERS, sizeof(view.numbers),
		     view.numbers) ?:
	     nla_put_u64_64bit(skb, RPCRDMA_A_CONNECTION_ID, ep->number,
			       RPCRDMA_A_CONNECTION_PAD) ?:
	     nla_put_string(skb, RPCRDMA_A_CONNECTION_AUTH, view.auth) ?:
	     nla_put_string(skb, RPCRDMA_A_CONNECTION_AUTH_HASH, view.auth_hash) ?:
	     nla_put_string(skb, RPCRDMA_A_CONNECTION_IDENTITY, view.identity) ?:
	     nla_put_string(skb, RPCRDMA_A_CONNECTION_AUTH_DH, view.auth_dh);
	if (!rc && view.fallback)
		rc = nla_put_flag(skb, RPCRDMA_A_CONNECTION_FALLBACK);
	if (!rc && view.reason)
		rc = nla_put_string(skb, RPCRDMA_A_CONNECTION_REASON, view.reason);
	return rc;
}

/* ---- Dumps ---- */

/* Position of a dump, in cb->ctx: the next object has at least the number @from. */
struct rpcrdma_netlink_cursor {
	u64			from;
};

/*
 * Add the message for the first object with a number of at least *@at. A dump calls this
 * for each message. The number of an object does not change, so that a dump in several
 * parts skips no connection if others end in between. @ep, for connections only: the
 * connection of the previous message, with a reference, or NULL.
 * Return: 1 with *@at set to the number of the object; 0 if there is none; or a negative
 * errno if there is no space.
 */
typedef int (*rpcrdma_netlink_fill)(struct sk_buff *skb, struct net *net, u64 *at,
				    struct rpcrdma_ep **ep);

static int rpcrdma_netlink_number(struct sk_buff *skb, struct net *net, u64 *at,
				  struct rpcrdma_ep **ep)
{
	const struct rpcrdma_number *number = rpcrdma_figure_info(*at);

	return number ? rpcrdma_netlink_put_number(skb, number) ?: 1 : 0;
}

static int rpcrdma_netlink_counter(struct sk_buff *skb, struct net *net, u64 *at,
				   struct rpcrdma_ep **ep)
{
	const struct rpcrdma_number *number = rpcrdma_counter_info(*at);

	if (!number)
		return 0;
	return rpcrdma_netlink_put_number(skb, number) ?:
	       nla_put_u64_64bit(skb, RPCRDMA_A_NUMBER_VALUE,
				 rpcrdma_counted(net, *at), RPCRDMA_A_NUMBER_PAD) ?: 1;
}

static int rpcrdma_netlink_connection(struct sk_buff *skb, struct net *net, u64 *at,
				      struct rpcrdma_ep **ep)
{
	*ep = *ep ? rpcrdma_ep_next(*ep) : rpcrdma_ep_from(*at);
	while (*ep && !net_eq((*ep)->net, net))
		*ep = rpcrdma_ep_next(*ep);
	if (!*ep)
		return 0;
	*at = (*ep)->number;
	return rpcrdma_netlink_put_ep(skb, *ep) ?: 1;
}

static int rpcrdma_netlink_listener(struct sk_buff *skb, struct net *net, u64 *at,
				    struct rpcrdma_ep **ep)
{
	struct sockaddr_storage addr;
	bool listening;
	int rc;

	*at = rpcrdma_listener_from(net, *at, &addr, &listening);
	if (!*at)
		return 0;
	rc = rpcrdma_netlink_put_addr(skb, RPCRDMA_A_LISTENER_LOCAL, &addr);
	if (!rc && listening)
		rc = nla_put_flag(skb, RPCRDMA_A_LISTENER_LISTENING);
	return rc ?: 1;
}

static int rpcrdma_netlink_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const rpcrdma_netlink_fill fill[] = {
		[RPCRDMA_CMD_NUMBER_GET]	= rpcrdma_netlink_number,
		[RPCRDMA_CMD_COUNTER_GET]	= rpcrdma_netlink_counter,
		[RPCRDMA_CMD_CONNECTION_GET]	= rpcrdma_netlink_connection,
		[RPCRDMA_CMD_LISTENER_GET]	= rpcrdma_netlink_listener,
	};
	const struct genlmsghdr *request = nlmsg_data(cb->nlh);
	struct rpcrdma_netlink_cursor *cursor = (void *)cb->ctx;
	struct rpcrdma_ep *ep = NULL;
	u64 at;
	void *hdr;
	int rc;

	BUILD_BUG_ON(sizeof(*cursor) > sizeof(cb->ctx));
	for (;; cursor->from = at + 1) {
		hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				  cb->nlh->nlmsg_seq, &rpcrdma_netlink_family,
				  NLM_F_MULTI, request->cmd);
		if (!hdr)
			break;
		at = cursor->from;
		rc = fill[request->cmd](skb, sock_net(skb->sk), &at, &ep);
		if (rc <= 0) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
	}
	if (ep)
		rpcrdma_ep_put(ep);
	return skb->len;
}

/* ---- The family ---- */

static const struct genl_small_ops rpcrdma_netlink_ops[] = {
	{ .cmd = RPCRDMA_CMD_NUMBER_GET, .dumpit = rpcrdma_netlink_dump },
	{ .cmd = RPCRDMA_CMD_COUNTER_GET, .dumpit = rpcrdma_netlink_dump },
	{ .cmd = RPCRDMA_CMD_CONNECTION_GET, .dumpit = rpcrdma_netlink_dump },
	{ .cmd = RPCRDMA_CMD_LISTENER_GET, .dumpit = rpcrdma_netlink_dump },
};

static const struct genl_multicast_group rpcrdma_netlink_groups[] = {
	{ .name = RPCRDMA_MCGRP_CONNECTIONS },
};

static struct genl_family rpcrdma_netlink_family __ro_after_init = {
	.name		= RPCRDMA_FAMILY_NAME,
	.version	= RPCRDMA_FAMILY_VERSION,
	.netnsok	= true,
	.module		= THIS_MODULE,
	.small_ops	= rpcrdma_netlink_ops,
	.n_small_ops	= ARRAY_SIZE(rpcrdma_netlink_ops),
	.mcgrps		= rpcrdma_netlink_groups,
	.n_mcgrps	= ARRAY_SIZE(rpcrdma_netlink_groups),
};

void rpcrdma_netlink_changed(struct rpcrdma_ep *ep)
{
	struct sk_buff *skb;
	void *hdr;

	if (!genl_has_listeners(&rpcrdma_netlink_family, ep->net, 0))
		return;
	skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_ATOMIC);
	if (!skb)
		return;
	hdr = genlmsg_put(skb, 0, 0, &rpcrdma_netlink_family, 0,
			  RPCRDMA_CMD_CONNECTION_NTF);
	if (!hdr || rpcrdma_netlink_put_ep(skb, ep)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(&rpcrdma_netlink_family, ep->net, skb, 0, 0,
				GFP_ATOMIC);
}

int rpcrdma_netlink_init(void)
{
	return genl_register_family(&rpcrdma_netlink_family);
}

void rpcrdma_netlink_exit(void)
{
	genl_unregister_family(&rpcrdma_netlink_family);
}
