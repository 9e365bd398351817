// SPDX-License-Identifier: GPL-2.0
/*
 * The client's transport, settings, and what the reverse direction shares with
 * them, but for the Requester, which is in shim_requester_test.c.
 */
#include "../net/sunrpc/xprtrdma/transport/settings.c"
#include "../net/sunrpc/xprtrdma/transport/versions.c"
#include "../net/sunrpc/xprtrdma/transport/responder.c"

#include "shim.h"

/* The handler in which a callback's data are read may be waited for by reclaim. */
#define rpcrdma_call_read(...) \
	(shim_check_nofs(), (rpcrdma_call_read)(__VA_ARGS__))

#include "../net/sunrpc/xprtrdma/transport/client_bc.c"
#include "../net/sunrpc/xprtrdma/transport/client.c"
