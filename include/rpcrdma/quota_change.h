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

enum rpcrdma_memory_what {
	RPCRDMA_MEMORY_ROOM,	/* as rpcrdma_memory_ask(); sets @ok */
	RPCRDMA_MEMORY_HOLD,	/* charge @count times @octets */
	RPCRDMA_MEMORY_SOME,	/* charge as many as fit; sets @count */
	RPCRDMA_MEMORY_ASSEMBLED, /* as rpcrdma_memory_assembled(); sets @ok */
	RPCRDMA_MEMORY_GIVE,	/* uncharge @octets; sets @tell */
	RPCRDMA_MEMORY_JOIN,	/* set the limit and attach; sets @ok */
	RPCRDMA_MEMORY_LEAVE,	/* detach */
};

/* When the accounts are to be visited: trimmed, and those that wait woken */
enum rpcrdma_memory_visit {
	RPCRDMA_MEMORY_VISIT_NOT,
	RPCRDMA_MEMORY_VISIT_NOW,
	RPCRDMA_MEMORY_VISIT_LATER,	/* in RPCRDMA_MEMORY_TICK_MS */
};

/* A change of an account, and its result */
struct rpcrdma_memory_change {
	enum rpcrdma_memory_what what;
	enum rpcrdma_memory_use use;
	u32 count;
	u64 octets;
	/* of JOIN, see rpcrdma_memory_set_limit(); @limit 0: as it is */
	u64 limit, message;
	bool ok;
	bool tell;		/* the account's callers must try again */
	enum rpcrdma_memory_visit visit;
};

/**
 * rpcrdma_memory_change_own() - make @change under the account's lock alone
 * @all: quota of all connections
 * @account: the connection's account
 * @change: change, and its result
 *
 * Return: false if that is not possible and nothing was changed: call
 *	rpcrdma_memory_change_all(), which needs both locks.
 */
bool rpcrdma_memory_change_own(const struct rpcrdma_memory *all,
			       struct rpcrdma_memory_account *account,
			       struct rpcrdma_memory_change *change);

/**
 * rpcrdma_memory_change_all() - make a change under both locks
 * @all: quota of all connections
 * @account: the connection's account
 * @change: change, and its result
 */
void rpcrdma_memory_change_all(struct rpcrdma_memory *all,
			       struct rpcrdma_memory_account *account,
			       struct rpcrdma_memory_change *change);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_QUOTA_CHANGE_H */
