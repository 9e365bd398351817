/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The administrator's settings, as module parameters and in /proc/sys/sunrpc/, and the
 * server's counters there. Values out of range are refused when they are written, so
 * that their users need not check them. Read them with READ_ONCE(), versions with
 * rpcrdma_settings_versions(). They take effect with the next connection.
 */
#ifndef RPCRDMA_SETTINGS_H
#define RPCRDMA_SETTINGS_H

#include <linux/percpu_counter.h>

/* Client: sysctl sunrpc/rdma_*; sizes in bytes */
extern unsigned int rpcrdma_slot_table_entries;	/* outstanding RPCs, 4..16384 */
extern unsigned int rpcrdma_max_inline_read;	/* Receives, 1024..65536 */
extern unsigned int rpcrdma_max_inline_write;	/* Sends, 1024..65536 */
extern unsigned int rpcrdma_pull_replies;	/* enables it, 0..1 */
extern unsigned int rpcrdma_reverse_level;	/* RDMA2_RVRSDIR_*, 0..3 */

/* Server: sysctl sunrpc/svc_rdma/ */
extern unsigned int svcrdma_max_requests;	/* window, 4..16384 */
extern unsigned int svcrdma_max_bc_requests;	/* callbacks, 1..64 */
extern unsigned int svcrdma_max_req_size;	/* bytes, 4096..65536 */
extern unsigned int svcrdma_ord;		/* outstanding Reads, 1..255 */
/* Bytes of Replies exposed for a client to pull, 0 for none; 0..2^30 */
extern unsigned int svcrdma_expose;
extern unsigned int svcrdma_done_timeout;	/* seconds until DONE, 1..600 */
/* MiB held for all connections, 0 for a quarter of the memory; 0..2^20 */
extern unsigned int svcrdma_max_memory;

/* Protocol versions to use, of each role: RPCRDMA_VERS_1..RPCRDMA_VERS_2 */
extern unsigned int rpcrdma_min_version;
extern unsigned int rpcrdma_max_version;
extern unsigned int svcrdma_min_version;
extern unsigned int svcrdma_max_version;

/* Bytes reassembled from a continued message, both roles; 0..1048576 */
extern unsigned int rpcrdma_max_reassembly;

/* Server counters, sunrpc/svc_rdma/rdma_stat_*; percpu_counter_inc() them */
extern struct percpu_counter svcrdma_stat_read;		/* RDMA Reads */
extern struct percpu_counter svcrdma_stat_recv;		/* Calls received */
extern struct percpu_counter svcrdma_stat_sq_starve;	/* waits for Send Queue */
extern struct percpu_counter svcrdma_stat_write;	/* RDMA Writes */

/* Return the lowest and highest version of a role, which do not cross. Sleeps. */
void rpcrdma_settings_versions(const unsigned int *min, const unsigned int *max,
			       u8 *low, u8 *high);

int rpcrdma_settings_init(void);
void rpcrdma_settings_exit(void);

#endif /* RPCRDMA_SETTINGS_H */
