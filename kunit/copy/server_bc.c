// SPDX-License-Identifier: GPL-2.0
/* The reverse direction at the server */
#include <linux/module.h>

#include "../../net/sunrpc/xprtrdma/sunrpc/requester.h"
#include "../lib/loopback.h"

bool loop_bc_closing;
unsigned int loop_bc_sends;

/* Count the attempts to send a callback, and fail them if the test wants that. */
static int loop_requester_send(struct rpc_xprt *xprt, struct rpcrdma_ep *ep,
			       struct rpc_rqst *rqst)
{
	loop_bc_sends++;
	return loop_bc_closing ? -ENOTCONN : rpcrdma_requester_send(xprt, ep, rqst);
}

#define rpcrdma_requester_send(xprt, ep, rqst)	loop_requester_send(xprt, ep, rqst)

#include "../../net/sunrpc/xprtrdma/sunrpc/server_bc.c"

struct rpc_xprt *loop_bc_setup(struct xprt_create *args)
{
	return rpcrdma_bc_setup(args);
}
