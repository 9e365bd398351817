/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * librpcrdma2: RPC-over-RDMA versions 1 and 2 for user space. This header
 * includes the others.
 *
 * The library does no I/O, allocates nothing and has no global state. It needs
 * no header of the kernel. Documentation/library.rst has a tutorial.
 */
#ifndef RPCRDMA2_H
#define RPCRDMA2_H

#include "version.h"
#include "error.h"
#include "codec.h"
#include "auth.h"
#include "conn.h"

#endif /* RPCRDMA2_H */
