/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The state of a connection as named numbers, for display. */
#ifndef RPCRDMA_FIGURES_H
#define RPCRDMA_FIGURES_H

#include "conn.h"
#include "endpoint_send.h"
#include "lifecycle.h"
#include "mr_pool.h"
#include "quota.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The order is that of their display. The numbers are an interface
 * (Documentation/netlink/specs/rpcrdma.yaml): add new ones at the end.
 */
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
	RPCRDMA_FIGURE_OUTSTANDING,
	RPCRDMA_FIGURE_BYTES_SENT,
	RPCRDMA_FIGURE_BYTES_RECEIVED,
	RPCRDMA_NR_FIGURES
};

enum rpcrdma_number_kind {
	RPCRDMA_COUNTER,		/* never decreases, except that it may wrap */
	RPCRDMA_GAUGE,
};

/* The description of a number, for every program that displays it */
struct rpcrdma_number {
	const char *name;
	const char *unit;
	enum rpcrdma_number_kind kind;
};

/**
 * rpcrdma_figure_info() - get the description of a figure
 * @i: enum rpcrdma_figure
 *
 * Return: static data, or NULL if there is no such figure.
 */
const struct rpcrdma_number *rpcrdma_figure_info(u32 i);

/*
 * Each part of a connection has some of its figures, and a separate lock. No part has
 * LOCAL_INV.
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
void rpcrdma_quota_figures(const struct rpcrdma_quota_account *account,
			    u64 *f);

/* The state of a connection, for every program that displays it */
struct rpcrdma_conn_view {
	/* Each string is static. */
	const char *role, *why, *state;
	const char *reason;		/* of a close that is not ordinary, or NULL */
	const char *auth;		/* rpcrdma_auth_name() */
	const char *auth_hash;		/* rpcrdma_auth_hash_name() */
	const char *auth_dh;		/* rpcrdma_auth_group_name() */
	/* rpcrdma_auth_peer() or "none"; not static, set at most once */
	const char *identity;
	u8 version;			/* 0: not known yet */
	bool fallback;			/* rpcrdma_conn_fell_back() */
	u64 numbers[RPCRDMA_NR_FIGURES];
};

/**
 * rpcrdma_core_view() - get the state of a connection
 * @core: connection
 * @view: set, except the numbers that rpcrdma_mr_pool_figures() and
 *	rpcrdma_quota_figures() set, and LOCAL_INV
 *
 * Context: lock held.
 */
void rpcrdma_core_view(const struct rpcrdma_ep_core *core,
		       struct rpcrdma_conn_view *view);

/**
 * rpcrdma_conn_fell_back() - check if a client uses version 1 although it may use more
 * @conn: an open connection
 *
 * Return: true if so.
 */
bool rpcrdma_conn_fell_back(const struct rpcrdma_conn *conn);

/**
 * rpcrdma_stage_name() - get the name of a connection's state, one word
 * @stage: its life.stage
 *
 * Return: a static string.
 */
const char *rpcrdma_stage_name(u8 stage);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_FIGURES_H */
