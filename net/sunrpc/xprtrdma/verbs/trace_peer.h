/* SPDX-License-Identifier: GPL-2.0 */
/* The field "peer" of tracepoints: an address with its port. */
#ifndef RPCRDMA_TRACE_PEER_H
#define RPCRDMA_TRACE_PEER_H

#include <linux/inet.h>

#define RPCRDMA_PEER_LEN	(INET6_ADDRSTRLEN + 10)

#define rpcrdma_trace_peer(entry, addr) \
	snprintf((entry)->peer, sizeof((entry)->peer), "%pISpc", addr)

#endif /* RPCRDMA_TRACE_PEER_H */
