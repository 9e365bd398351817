/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Changes of a memory account in one call.
 *
 * A host has the locks that quota.h asks for. It describes the change, tries it
 * under the account's lock alone, and takes both locks if that is not enough.
 */
#ifndef RPCRDMA_QUOTA_CHANGE_H
#define RPCRDMA_QUOTA_CHANGE_H

#include "quota.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rpcrdma_quota_action {
	RPCRDMA_QUOTA_ASK,		/* as rpcrdma_quota_ask(); sets @ok */
	RPCRDMA_QUOTA_TAKE,		/* ASK, and charge @octets if @ok */
	RPCRDMA_QUOTA_CHARGE,		/* charge @count times @octets */
	RPCRDMA_QUOTA_CHARGE_UP_TO,	/* up to @count times; sets @count */
	RPCRDMA_QUOTA_ASSEMBLED,	/* as rpcrdma_quota_assembled(); sets @ok */
	RPCRDMA_QUOTA_UNCHARGE,		/* uncharge @octets; sets @notify */
	RPCRDMA_QUOTA_ATTACH,		/* set the limit and attach; sets @ok */
	RPCRDMA_QUOTA_DETACH,		/* detach */
};

/* When the accounts are to be visited: trimmed, and those that wait woken */
enum rpcrdma_quota_visit {
	RPCRDMA_QUOTA_VISIT_NOT,
	RPCRDMA_QUOTA_VISIT_NOW,
	RPCRDMA_QUOTA_VISIT_LATER, /* in RPCRDMA_QUOTA_TICK_MS */
};

/* A change of an account, and its result */
struct rpcrdma_quota_change {
	enum rpcrdma_quota_action what;
	enum rpcrdma_quota_use use;
	u32 count;
	u64 octets;
	/* of ATTACH, see rpcrdma_quota_set_limit(); @limit 0: as it is */
	u64 limit, message;
	bool ok;
	bool notify;		/* the account's callers must try again */
	enum rpcrdma_quota_visit visit;
};

/**
 * rpcrdma_quota_change_own() - make @change under the account's lock alone
 * @all: quota of all connections
 * @account: the connection's account
 * @change: change, and its result
 *
 * Return: false if that is not possible and nothing was changed: call
 *	rpcrdma_quota_change_all(), which needs both locks.
 */
bool rpcrdma_quota_change_own(const struct rpcrdma_quota *all,
			      struct rpcrdma_quota_account *account,
			      struct rpcrdma_quota_change *change);

/**
 * rpcrdma_quota_change_all() - make a change under both locks
 * @all: quota of all connections
 * @account: the connection's account
 * @change: change, and its result
 */
void rpcrdma_quota_change_all(struct rpcrdma_quota *all,
			      struct rpcrdma_quota_account *account,
			      struct rpcrdma_quota_change *change);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_QUOTA_CHANGE_H */
