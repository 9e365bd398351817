// SPDX-License-Identifier: GPL-2.0
#include "../../net/sunrpc/xprtrdma/core/endpoint.cc"
