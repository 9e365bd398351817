/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Runs of the quota: the accounts are visited, at most once in a tick, and those that have
 * waited longest are woken. The host starts a run when a change requests it
 * (quota_change.h), and another one after a tick if the end of a run requests it.
 * quota.h describes the locks.
 */
#ifndef RPCRDMA_QUOTA_RUN_H
#define RPCRDMA_QUOTA_RUN_H

#include "quota.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_quota_run {
	bool visit;	/* visit each account */
	u32 wakes;	/* accounts that may still be woken */
	u32 next_ms;	/* time until the next visit */
};

/**
 * rpcrdma_quota_run_begin() - begin a run
 * @all: quota of all connections
 * @now_ms: milliseconds of any clock, modulo 2^32
 *
 * Needs only the lock for all accounts.
 * Return: the run.
 */
struct rpcrdma_quota_run rpcrdma_quota_run_begin(struct rpcrdma_quota *all,
						 u32 now_ms);

/**
 * rpcrdma_quota_run_visit() - visit an account
 * @all: quota of all connections
 * @account: the connection's account
 * @reads: see rpcrdma_quota_stuck()
 *
 * Releases the unused part of its quota.
 * Return: true if the connection is to be closed, because it is stuck with memory that
 *	others wait for.
 */
bool rpcrdma_quota_run_visit(struct rpcrdma_quota *all,
			     struct rpcrdma_quota_account *account, bool reads);

/**
 * rpcrdma_quota_run_next() - call rpcrdma_quota_next() for the next account to wake
 * @all: quota of all connections
 * @run: begun
 *
 * Needs only the lock for all accounts.
 * Return: the account; NULL if this run wakes no other.
 */
struct rpcrdma_quota_account *
rpcrdma_quota_run_next(struct rpcrdma_quota *all,
		       struct rpcrdma_quota_run *run);

/**
 * rpcrdma_quota_run_end() - end a run
 * @all: quota of all connections
 * @run: begun
 *
 * Needs only the lock for all accounts.
 * Return: milliseconds after which another run is needed; 0 if none is.
 */
u32 rpcrdma_quota_run_end(const struct rpcrdma_quota *all,
			  const struct rpcrdma_quota_run *run);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_QUOTA_RUN_H */
