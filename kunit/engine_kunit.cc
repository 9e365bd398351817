// SPDX-License-Identifier: GPL-2.0
/*
 * The engine once more: rpcrdma.ko exports nothing, and an object belongs to
 * one module only.
 */
#include "../net/sunrpc/xprtrdma/engine/engine.cc"
