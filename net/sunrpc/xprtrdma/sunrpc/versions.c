// SPDX-License-Identifier: GPL-2.0
/*
 * The core's memory of servers' versions, shared by all client transports: a server's
 * mounts and their connections learn from each other.
 */

#include <linux/spinlock.h>
#include <linux/sunrpc/addr.h>
#include <linux/timekeeping.h>

#include "versions.h"

static DEFINE_SPINLOCK(rpcrdma_versions_lock);
static struct rpcrdma_server_memories rpcrdma_servers;

static struct rpcrdma_server_name
rpcrdma_versions_name(const struct net *net, const struct sockaddr *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;
	struct rpcrdma_server_name name = {
		.net	= (uintptr_t)net,	/* only compared */
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

u8 rpcrdma_versions_first(const struct net *net, const struct sockaddr *addr,
			  u8 low, u8 high)
{
	struct rpcrdma_server_name name = rpcrdma_versions_name(net, addr);
	u8 first;

	spin_lock(&rpcrdma_versions_lock);
	first = rpcrdma_server_first(&rpcrdma_servers, &name,
				     ktime_get_seconds(), low, high);
	spin_unlock(&rpcrdma_versions_lock);
	return first;
}

bool rpcrdma_versions_learn(const struct net *net, const struct sockaddr *addr,
			    u8 tried, enum rpcrdma_answer answer)
{
	struct rpcrdma_server_name name = rpcrdma_versions_name(net, addr);
	bool again;

	spin_lock(&rpcrdma_versions_lock);
	again = rpcrdma_server_learn(&rpcrdma_servers, &name,
				     ktime_get_seconds(), tried, answer);
	spin_unlock(&rpcrdma_versions_lock);
	return again;
}
