/* SPDX-License-Identifier: GPL-2.0 */
/* The clients' cache of the versions that servers support. */
#ifndef RPCRDMA_VERSIONS_H
#define RPCRDMA_VERSIONS_H

#include <linux/socket.h>
#include <linux/types.h>

#include <rpcrdma/engine.h>

struct net;

/*
 * Return the version to begin with at the server @addr (address and port), and learn
 * from a connection there, like rpcrdma_server_first() and _learn().
 */
u8 rpcrdma_versions_first(const struct net *net, const struct sockaddr *addr,
			  u8 low, u8 high);
bool rpcrdma_versions_learn(const struct net *net, const struct sockaddr *addr,
			    u8 tried, enum rpcrdma_answer answer);

#endif /* RPCRDMA_VERSIONS_H */
