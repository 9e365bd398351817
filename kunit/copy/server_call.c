// SPDX-License-Identifier: GPL-2.0
/* Calls at the server */
#include "../../net/sunrpc/xprtrdma/sunrpc/server_call.c"

#include "../lib/loopback.h"

void loop_svc_set_flags(struct svc_rqst *rqstp)
{
	rpcrdma_svc_set_flags(rqstp);
}
