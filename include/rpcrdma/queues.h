/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Depths of queues.
 */
#ifndef RPCRDMA_QUEUES_H
#define RPCRDMA_QUEUES_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_load - the maximum load of a connection
 * @window: Receives for RPC traffic
 * @sends: messages of RPC traffic
 * @mrs: MRs that its peer is provided with; 0: none
 * @reads: transfers by RDMA Read; 0: neither RDMA Reads nor RDMA Writes
 * @client: 1: the end of a client
 * @version_low: 1 if the peer may only have version 1
 */
struct rpcrdma_load {
	u32 window;
	u32 sends;
	u32 mrs;
	u32 reads;
	u8 client;
	u8 version_low;
};

/**
 * rpcrdma_load_fit() - scale a load down to a device
 * @load: expected load
 * @max_wrs: maximum of Work Requests of a queue of the device
 */
void rpcrdma_load_fit(struct rpcrdma_load *load, u32 max_wrs);

/**
 * struct rpcrdma_queue_limits - limits of a device
 * @wrs: maximum of Work Requests in a queue
 * @cqes: maximum of completions in a completion queue
 * @read_mrs: 1: RDMA Reads need MRs
 * @sges: maximum of elements of a Work Request
 */
struct rpcrdma_queue_limits {
	u32 wrs;
	u32 cqes;
	u8 read_mrs;
	u32 sges;
};

/*
 * Elements of a Work Request: of a server's Writes; of a client's Reads, which are so few
 * that one may use several Work Requests. Every slot of a Send Queue has space for them,
 * used or not, in a power of two: with one more, soft-RoCE would allocate 512 KiB for a
 * server's end of a connection instead of 256.
 */
enum {
	RPCRDMA_SERVER_SGES = 19,
	RPCRDMA_CLIENT_SGES = 8,
};

/**
 * struct rpcrdma_queues - the resources that a connection needs
 * @receives: Work Requests of the Receive Queue, and their completions
 * @slots: Work Requests of the Send Queue, without those of @reads
 * @reads: transfers into MRs; the creator of the queue adds their Work Requests
 * @send_cqes: completions of the Send Queue
 * @sges: elements of a Work Request of the Send Queue
 */
struct rpcrdma_queues {
	u32 receives;
	u32 slots;
	u32 reads;
	u32 send_cqes;
	u32 sges;
};

/**
 * rpcrdma_queues_for() - get the queues for @load, after rpcrdma_load_fit()
 * @load: expected load
 * @most: limits of the device
 *
 * Return: the queues.
 */
struct rpcrdma_queues rpcrdma_queues_for(const struct rpcrdma_load *load,
					 const struct rpcrdma_queue_limits *most);

/**
 * rpcrdma_queues_send_wrs() - get the Work Requests of the Send Queue, without those of
 *	queues->reads
 * @queues: depths of the queues
 *
 * Return: number of Work Requests.
 */
u32 rpcrdma_queues_send_wrs(const struct rpcrdma_queues *queues);

/**
 * rpcrdma_queues_shorten() - shorten the Send Queue because the device could not create
 *	one that long
 * @queues: depths of the queues
 *
 * Return: false if there is no shorter one.
 */
bool rpcrdma_queues_shorten(struct rpcrdma_queues *queues);

/**
 * rpcrdma_queues_depth() - get the depth of a Send Queue that was created, for
 *	rpcrdma_sq_init()
 * @queues: depths of the queues
 * @send_wrs: Work Requests that it was created with
 *
 * Some devices make it longer than requested.
 * Return: number of slots.
 */
u32 rpcrdma_queues_depth(const struct rpcrdma_queues *queues, u32 send_wrs);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_QUEUES_H */
