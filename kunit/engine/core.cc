// SPDX-License-Identifier: GPL-2.0
/*
 * A second copy of the engine, because rpcrdma.ko exports nothing, and an object file
 * can be part of one module only
 */
#include "../../net/sunrpc/xprtrdma/core/core.cc"
