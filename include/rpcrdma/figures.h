/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The state of a connection as named numbers, for display. */
#ifndef RPCRDMA_FIGURES_H
#define RPCRDMA_FIGURES_H

#include "conn.h"
#include "lifecycle.h"
#include "mr_pool.h"
#include "quota.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the order in which they are displayed; scripts rely on it. */
enum rpcrdma_figure {
	RPCRDMA_FIGURE_SEND_INLINE,
	RPCRDMA_FIGURE_RECV_INLINE,
	RPCRDMA_FIGURE_SENT,
	RPCRDMA_FIGURE_LIMIT,
	RPCRDMA_FIGURE_RECEIVED,
	RPCRDMA_FIGURE_ADVERTISED,
	/* By enum rpcrdma_format */
	RPCRDMA_FIGURE_CALLS,
	RPCRDMA_FIGURE_REPLIES = RPCRDMA_FIGURE_CALLS + RPCRDMA_NR_FORMATS,
	RPCRDMA_FIGURE_READ_CHUNKS = RPCRDMA_FIGURE_REPLIES + RPCRDMA_NR_FORMATS,
	RPCRDMA_FIGURE_WRITE_CHUNKS,
	RPCRDMA_FIGURE_REPLY_CHUNKS,
	RPCRDMA_FIGURE_REMOTE_INV,
	RPCRDMA_FIGURE_LOCAL_INV,
	RPCRDMA_FIGURE_ERRORS_SENT,
	RPCRDMA_FIGURE_ERRORS_RECEIVED,
	RPCRDMA_FIGURE_REPLIES_EXPOSED,
	RPCRDMA_FIGURE_REPLIES_TO_PULL,
	RPCRDMA_FIGURE_DONES_SENT,
	RPCRDMA_FIGURE_DONES_RECEIVED,
	RPCRDMA_FIGURE_DONES_OVERDUE,
	RPCRDMA_FIGURE_EXPOSED_OCTETS,
	RPCRDMA_FIGURE_MEMORY_FIXED,
	/* By enum rpcrdma_quota_use */
	RPCRDMA_FIGURE_MEMORY,
	RPCRDMA_FIGURE_REGIONS = RPCRDMA_FIGURE_MEMORY + RPCRDMA_QUOTA_USES,
	RPCRDMA_FIGURE_REGION_SHORTAGES,
	RPCRDMA_NR_FIGURES
};

/**
 * rpcrdma_figure_name() - get the name of a figure
 * @i: enum rpcrdma_figure
 *
 * Return: a static string.
 */
const char *rpcrdma_figure_name(u32 i);

/*
 * Each part of a connection has some of its figures, and a lock of its own. REMOTE_INV
 * and LOCAL_INV are in none of them.
 */

/**
 * rpcrdma_conn_figures() - set the figures that the state of the protocol has
 * @conn: connection
 * @f: RPCRDMA_NR_FIGURES elements
 */
void rpcrdma_conn_figures(const struct rpcrdma_conn *conn, u64 *f);

/**
 * rpcrdma_mr_pool_figures() - set the figures that a pool of MRs has
 * @pool: the connection's
 * @f: RPCRDMA_NR_FIGURES elements
 */
void rpcrdma_mr_pool_figures(const struct rpcrdma_mr_pool *pool, u64 *f);

/**
 * rpcrdma_quota_figures() - set the figures that the account of memory has
 * @account: the connection's
 * @f: RPCRDMA_NR_FIGURES elements
 */
void rpcrdma_quota_figures(const struct rpcrdma_quota_account *account, u64 *f);

/**
 * rpcrdma_stage_name() - get the state of a connection in one word
 * @stage: its life.stage
 *
 * Return: a static string.
 */
const char *rpcrdma_stage_name(u8 stage);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_FIGURES_H */
