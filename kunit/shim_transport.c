// SPDX-License-Identifier: GPL-2.0
/*
 * The client's transport, settings, and what the reverse direction shares with
 * them, but for the Requester, which is in shim_requester_test.c.
 */
#include "../net/sunrpc/xprtrdma/transport/settings.c"
#include "../net/sunrpc/xprtrdma/transport/versions.c"
#include "../net/sunrpc/xprtrdma/transport/responder.c"
#include "../net/sunrpc/xprtrdma/transport/client_bc.c"
#include "../net/sunrpc/xprtrdma/transport/client.c"
