// SPDX-License-Identifier: GPL-2.0
/* Calls at the server */
#include "../net/sunrpc/xprtrdma/transport/server_call.c"
