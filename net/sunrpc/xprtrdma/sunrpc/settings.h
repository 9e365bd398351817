/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The administrator's settings, as module parameters and in /proc/sys/sunrpc/, and the
 * server's counters there. Values out of range are refused when they are written. They
 * take effect with the next connection.
 */
#ifndef RPCRDMA_SETTINGS_H
#define RPCRDMA_SETTINGS_H

#include <linux/percpu_counter.h>

#include <rpcrdma/engine.h>

/* Read them with rpcrdma_settings_read(). */
extern struct rpcrdma_settings rpcrdma_settings;

/* Server counters, sunrpc/svc_rdma/rdma_stat_*; percpu_counter_inc() them */
extern struct percpu_counter svcrdma_stat_read;		/* RDMA Reads */
extern struct percpu_counter svcrdma_stat_recv;		/* Calls received */
extern struct percpu_counter svcrdma_stat_sq_starve;	/* waits for Send Queue */
extern struct percpu_counter svcrdma_stat_write;	/* RDMA Writes */

/* Return all settings, consistent with each other. Sleeps. */
struct rpcrdma_settings rpcrdma_settings_read(void);

/* Module start and end: register the settings. Return 0 or -ENOMEM. */
int rpcrdma_settings_init(void);
void rpcrdma_settings_exit(void);

#endif /* RPCRDMA_SETTINGS_H */
