/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the module shows of itself in debugfs.
 */
#ifndef RPCRDMA_DEBUGFS_H
#define RPCRDMA_DEBUGFS_H

/*
 * Module start: /sys/kernel/debug/rpcrdma. A kernel without debugfs, or a
 * failure there, is no reason not to work: nothing is returned. Sleeps.
 */
void rpcrdma_debugfs_init(void);

/* Module end, before rpcrdma_ep_exit(). Waits for readers. Sleeps. */
void rpcrdma_debugfs_exit(void);

#endif /* RPCRDMA_DEBUGFS_H */
