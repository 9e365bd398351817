// SPDX-License-Identifier: GPL-2.0
/* The reverse direction at the server */
#include "../net/sunrpc/xprtrdma/transport/server_bc.c"
