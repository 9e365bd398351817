// SPDX-License-Identifier: GPL-2.0
/* Replies at the server */
#include "../../net/sunrpc/xprtrdma/sunrpc/server_reply.c"
