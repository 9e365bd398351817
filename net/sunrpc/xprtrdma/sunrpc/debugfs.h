/* SPDX-License-Identifier: GPL-2.0 */
/* The module's debugfs files. */
#ifndef RPCRDMA_DEBUGFS_H
#define RPCRDMA_DEBUGFS_H

/*
 * Module start: create /sys/kernel/debug/rpcrdma. The module works without debugfs, so
 * a failure is not returned. Sleeps.
 */
void rpcrdma_debugfs_init(void);

/* Module end, before rpcrdma_ep_exit(): remove it. Waits for readers. Sleeps. */
void rpcrdma_debugfs_exit(void);

#endif /* RPCRDMA_DEBUGFS_H */
