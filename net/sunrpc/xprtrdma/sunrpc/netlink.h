/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family "rpcrdma", and functions that debugfs uses, too. */
#ifndef RPCRDMA_NETLINK_H
#define RPCRDMA_NETLINK_H

#include "../verbs/endpoint.h"

/*
 * Get the state of a connection.
 * Context: process context, none of the connection's locks held.
 */
void rpcrdma_ep_view(struct rpcrdma_ep *ep, struct rpcrdma_conn_view *view);

/*
 * The upcall changed() of both transports: notify listening programs of a connection that
 * has opened, or is closing.
 * Context: process context, none of the connection's locks held. Does not sleep.
 */
void rpcrdma_netlink_changed(struct rpcrdma_ep *ep);

/*
 * Module start and end, after rpcrdma_ep_init() and before rpcrdma_ep_exit(), when no
 * connection is left. Sleep. rpcrdma_netlink_init() returns 0 or a negative errno.
 */
int rpcrdma_netlink_init(void);
void rpcrdma_netlink_exit(void);

#endif /* RPCRDMA_NETLINK_H */
