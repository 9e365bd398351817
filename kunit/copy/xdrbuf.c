// SPDX-License-Identifier: GPL-2.0
#include "../../net/sunrpc/xprtrdma/sunrpc/xdrbuf.c"
