// SPDX-License-Identifier: GPL-2.0
/*
 * RPC-over-RDMA, versions 1 and 2: start and end of the module.
 *
 * The parts are started in the order in which they use each other, and ended in the
 * reverse order. The transport classes are last at the start and first at the end: once
 * they are unregistered, no connection begins, and the module waits for those that
 * remain. If a part fails to start, the parts before it are ended, and the module is not
 * loaded. The aliases are those of the in-tree module, which this one replaces.
 *
 * Copyright (C) 2026 The rpcrdma-v2 authors
 */

#include <linux/init.h>
#include <linux/module.h>

#include "../verbs/endpoint.h"
#include "client.h"
#include "debugfs.h"
#include "netlink.h"
#include "server.h"
#include "settings.h"

MODULE_AUTHOR("The rpcrdma-v2 authors");
MODULE_DESCRIPTION("RPC-over-RDMA transports for SunRPC, versions 1 and 2");
MODULE_LICENSE("GPL");
/* DKMS mistakes a module without a version for the in-tree one. */
MODULE_VERSION(RPCRDMA_VERSION);
MODULE_ALIAS("svcrdma");
MODULE_ALIAS("xprtrdma");
MODULE_ALIAS("rpcrdma6");

/*
 * The transport classes, which create connections, are registered last and unregistered
 * first: after that no new connection can begin, and rpcrdma_ep_wait_all() waits for
 * the others. The server's reverse-direction transports end on the client's workqueue.
 */
static int __init rpcrdma_init(void)
{
	int rc;

	rc = rpcrdma_settings_init();
	if (rc)
		return rc;
	rc = rpcrdma_ep_init();
	if (rc)
		goto out_settings;
	rc = rpcrdma_netlink_init();
	if (rc)
		goto out_ep;
	rpcrdma_debugfs_init();
	rc = rpcrdma_client_init();
	if (rc)
		goto out_netlink;
	rc = rpcrdma_server_init();
	if (rc)
		goto out_client;
	pr_info("rpcrdma: version " RPCRDMA_VERSION " of rpcrdma-v2\n");
	return 0;

out_client:
	rpcrdma_client_exit();
out_netlink:
	rpcrdma_debugfs_exit();
	rpcrdma_ep_wait_all();
	rpcrdma_netlink_exit();
out_ep:
	rpcrdma_ep_exit();
out_settings:
	rpcrdma_settings_exit();
	return rc;
}

static void __exit rpcrdma_exit(void)
{
	rpcrdma_server_exit();
	rpcrdma_client_exit();
	rpcrdma_debugfs_exit();
	rpcrdma_ep_wait_all();
	rpcrdma_netlink_exit();
	rpcrdma_ep_exit();
	rpcrdma_settings_exit();
}

module_init(rpcrdma_init);
module_exit(rpcrdma_exit);
