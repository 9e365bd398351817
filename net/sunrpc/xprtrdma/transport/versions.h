/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What clients remember of the versions that servers have.
 */
#ifndef RPCRDMA_VERSIONS_H
#define RPCRDMA_VERSIONS_H

#include <linux/socket.h>
#include <linux/types.h>

#include <rpcrdma/engine.h>

struct net;

/*
 * The version to begin with at the server @addr (address and port), and what a
 * connection there taught: as rpcrdma_version_first() and _learn().
 */
u8 rpcrdma_versions_first(const struct net *net, const struct sockaddr *addr,
			  u8 low, u8 high);
bool rpcrdma_versions_learn(const struct net *net, const struct sockaddr *addr,
			    u8 tried, enum rpcrdma_answer answer);

#endif /* RPCRDMA_VERSIONS_H */
