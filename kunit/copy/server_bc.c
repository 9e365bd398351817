// SPDX-License-Identifier: GPL-2.0
/* The reverse direction at the server */
#include <linux/module.h>
#include <linux/workqueue.h>

#include "../lib/loopback.h"

bool loop_bc_put_outside;

/*
 * Record whether the module reference is put outside of any work item. A work item of
 * the module's own workqueue has returned before the module is unloaded; other contexts
 * may still execute code of the module.
 */
static void loop_module_put(struct module *module)
{
	loop_bc_put_outside = !current_work();
	module_put(module);
}

#define module_put(module)	loop_module_put(module)

#include "../../net/sunrpc/xprtrdma/sunrpc/server_bc.c"

struct rpc_xprt *loop_bc_setup(struct xprt_create *args)
{
	return rpcrdma_bc_setup(args);
}
