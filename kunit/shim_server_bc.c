// SPDX-License-Identifier: GPL-2.0
/* The reverse direction at the server */
#include <linux/module.h>
#include <linux/workqueue.h>

#include "shim.h"

bool shim_bc_put_outside;

/* A work item of the module's own workqueue has returned when the module ends. */
static void shim_module_put(struct module *module)
{
	shim_bc_put_outside = !current_work();
	module_put(module);
}

#define module_put(module)	shim_module_put(module)

#include "../net/sunrpc/xprtrdma/transport/server_bc.c"

struct rpc_xprt *shim_bc_setup(struct xprt_create *args)
{
	return rpcrdma_bc_setup(args);
}
