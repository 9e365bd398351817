// SPDX-License-Identifier: GPL-2.0
/*
 * A small table, shared by all client transports: a server's mounts and their
 * connections learn from each other. When it is full, the least recently used entry is
 * replaced; at worst that server is probed once more.
 */

#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sunrpc/addr.h>
#include <linux/timekeeping.h>

#include <rpcrdma/engine.h>

#include "versions.h"

enum {
	RPCRDMA_SERVERS = 32,
};

struct rpcrdma_server_versions {
	const struct net	*net;		/* only compared; NULL: free */
	struct sockaddr_storage	addr;
	u64			used;		/* seconds */
	struct rpcrdma_version_memory memory;
};

static DEFINE_SPINLOCK(rpcrdma_versions_lock);
static struct rpcrdma_server_versions rpcrdma_servers[RPCRDMA_SERVERS];

/*
 * Return the entry of a server, or NULL if there is none. Caller holds
 * rpcrdma_versions_lock.
 */
static struct rpcrdma_server_versions *
rpcrdma_versions_find(const struct net *net, const struct sockaddr *addr)
{
	struct rpcrdma_server_versions *s;

	lockdep_assert_held(&rpcrdma_versions_lock);
	for (s = rpcrdma_servers; s < rpcrdma_servers + RPCRDMA_SERVERS; s++)
		if (s->net == net &&
		    rpc_cmp_addr_port((struct sockaddr *)&s->addr, addr))
			return s;
	return NULL;
}

static struct rpcrdma_server_versions *
rpcrdma_versions_replace(const struct net *net, const struct sockaddr *addr)
{
	struct rpcrdma_server_versions *s, *oldest = rpcrdma_servers;

	lockdep_assert_held(&rpcrdma_versions_lock);
	for (s = rpcrdma_servers; s < rpcrdma_servers + RPCRDMA_SERVERS; s++)
		if (s->used < oldest->used)
			oldest = s;
	memset(oldest, 0, sizeof(*oldest));
	oldest->net = net;
	memcpy(&oldest->addr, addr, addr->sa_family == AF_INET6 ?
	       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	return oldest;
}

/**
 * rpcrdma_versions_first - return the version to begin with
 * @net: network namespace
 * @addr: address of the server
 * @low: lowest version allowed
 * @high: highest version allowed
 */
u8 rpcrdma_versions_first(const struct net *net, const struct sockaddr *addr,
			  u8 low, u8 high)
{
	struct rpcrdma_server_versions *s;

	spin_lock(&rpcrdma_versions_lock);
	s = rpcrdma_versions_find(net, addr);
	if (s)
		high = rpcrdma_version_first(&s->memory, ktime_get_seconds(),
					     low, high);
	spin_unlock(&rpcrdma_versions_lock);
	return high;
}

/* Return the entry of a server, which is allocated if necessary, and mark it used. */
static struct rpcrdma_version_memory *
rpcrdma_versions_touch(const struct net *net, const struct sockaddr *addr,
		       u64 now)
{
	struct rpcrdma_server_versions *s;

	s = rpcrdma_versions_find(net, addr);
	if (!s)
		s = rpcrdma_versions_replace(net, addr);
	/* Not zero, because zero sorts the free ones first. */
	s->used = now + 1;
	return &s->memory;
}

/**
 * rpcrdma_versions_learn - learn from a connection, or from a failed attempt
 * @net: network namespace
 * @addr: address of the server
 * @tried: version it began with
 * @answer: the server's answer
 *
 * Return: the result of rpcrdma_version_learn().
 */
bool rpcrdma_versions_learn(const struct net *net, const struct sockaddr *addr,
			    u8 tried, enum rpcrdma_answer answer)
{
	u64 now = ktime_get_seconds();
	bool again;

	spin_lock(&rpcrdma_versions_lock);
	again = rpcrdma_version_learn(rpcrdma_versions_touch(net, addr, now),
				      now, tried, answer);
	spin_unlock(&rpcrdma_versions_lock);
	return again;
}
