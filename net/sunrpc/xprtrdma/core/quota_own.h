/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Changes of an account within its quota, which need only the lock of its owner. They are
 * inline, because a message with chunks makes two of them. queue/quota.cc has all others.
 */
#ifndef RPCRDMA_CORE_QUOTA_OWN_H
#define RPCRDMA_CORE_QUOTA_OWN_H

#include <rpcrdma/quota.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The reason why an account is queued */
enum {
	RPCRDMA_QUOTA_FOR_CALL = 1,
	RPCRDMA_QUOTA_FOR_REPLY,
};

/* Return the shared bytes that an account is charged, with @more for @use. */
static inline u64 rpcrdma_quota_charged(const struct rpcrdma_quota_account *account,
					enum rpcrdma_quota_use use, u64 more)
{
	const bool windows = use == RPCRDMA_QUOTA_BUFFERS;
	const u64 buffers =
		account->held[RPCRDMA_QUOTA_BUFFERS] + (windows ? more : 0);
	const u64 share = account->share[RPCRDMA_QUOTA_BUFFERS];

	return (buffers > share ? buffers - share : 0) +
	       account->held[RPCRDMA_QUOTA_PARTS] +
	       account->held[RPCRDMA_QUOTA_CALLS] +
	       account->held[RPCRDMA_QUOTA_REPLIES] + (windows ? 0 : more);
}

static inline void rpcrdma_quota_set(u8 *flag, bool value)
{
	if (*flag != value)
		__atomic_store_n(flag, value, __ATOMIC_RELAXED);
}

/*
 * A flag for rpcrdma_quota_must_ask(), because not every machine reads 64 bits at once.
 */
static inline void
rpcrdma_quota_note_replies(struct rpcrdma_quota_account *account)
{
	rpcrdma_quota_set(&account->replies,
			  account->held[RPCRDMA_QUOTA_REPLIES] != 0);
}

static inline u8 rpcrdma_quota_reason(enum rpcrdma_quota_use use)
{
	return use == RPCRDMA_QUOTA_REPLIES ? RPCRDMA_QUOTA_FOR_REPLY :
					      RPCRDMA_QUOTA_FOR_CALL;
}

/*
 * Add @bytes to what the account holds. An account that was woken has now retried
 * with success, even if it did not have to ask.
 */
static inline void rpcrdma_quota_add(struct rpcrdma_quota_account *account,
				     enum rpcrdma_quota_use use, u64 bytes)
{
	account->held[use] += bytes;
	rpcrdma_quota_note_replies(account);
	if (use >= RPCRDMA_QUOTA_CALLS &&
	    account->retrying == rpcrdma_quota_reason(use))
		__atomic_store_n(&account->retrying, 0, __ATOMIC_RELAXED);
}

/* Returns true if a caller waits. */
static inline bool rpcrdma_quota_release(struct rpcrdma_quota_account *account,
					 enum rpcrdma_quota_use use, u64 bytes)
{
	const bool notify = account->wanted;

	account->held[use] -= bytes;
	account->released++;
	account->wanted = 0;
	rpcrdma_quota_note_replies(account);
	return notify;
}

/**
 * rpcrdma_quota_allows_own() - check if @bytes are within the account's quota, whatever
 *	others use
 * @account: the connection's account
 * @use: use of the memory
 * @bytes: number of bytes
 *
 * Return: true if so.
 */
static inline bool
rpcrdma_quota_allows_own(const struct rpcrdma_quota_account *account,
			 enum rpcrdma_quota_use use, u64 bytes)
{
	return !account->member ||
	       rpcrdma_quota_charged(account, use, bytes) <= account->quota;
}

/**
 * rpcrdma_quota_allows_now() - check if @bytes are permitted, without the lock for all
 *	accounts
 * @all: quota of all connections
 * @account: the connection's account
 * @use: use of the memory
 * @bytes: number of bytes
 *
 * Nothing is charged, so that others may use the memory next, as they may after
 * rpcrdma_quota_allows(). A woken account has to retry with rpcrdma_quota_ask().
 * Return: true if so; false if the accounts together have to be asked.
 */
static inline bool
rpcrdma_quota_allows_now(const struct rpcrdma_quota *all,
			 const struct rpcrdma_quota_account *account,
			 enum rpcrdma_quota_use use, u64 bytes)
{
	if (rpcrdma_quota_allows_own(account, use, bytes))
		return true;
	return rpcrdma_quota_charged(account, use, bytes) >> 10 <
		       __atomic_load_n(&all->plenty, __ATOMIC_RELAXED) &&
	       !rpcrdma_quota_is_tight(all) && use != RPCRDMA_QUOTA_BUFFERS &&
	       !__atomic_load_n(&account->retrying, __ATOMIC_RELAXED);
}

/**
 * rpcrdma_quota_charge_own() - charge @bytes within the account's quota
 * @account: the connection's account
 * @use: use of the memory
 * @bytes: number of bytes
 *
 * Return: false if nothing was changed.
 */
static inline bool rpcrdma_quota_charge_own(struct rpcrdma_quota_account *account,
					    enum rpcrdma_quota_use use, u64 bytes)
{
	if (!rpcrdma_quota_allows_own(account, use, bytes))
		return false;
	rpcrdma_quota_add(account, use, bytes);
	return true;
}

/**
 * rpcrdma_quota_uncharge_own() - uncharge without the lock for all accounts, if the
 *	account may keep its quota
 * @all: quota of all connections
 * @account: the connection's account
 * @use: use of the memory
 * @bytes: number of bytes
 *
 * Return: 0; 1 where rpcrdma_quota_uncharge() returns true; -1 if nothing was changed.
 */
static inline int rpcrdma_quota_uncharge_own(const struct rpcrdma_quota *all,
					     struct rpcrdma_quota_account *account,
					     enum rpcrdma_quota_use use, u64 bytes)
{
	if (account->member && rpcrdma_quota_is_tight(all))
		return -1;
	return rpcrdma_quota_release(account, use, bytes);
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_QUOTA_OWN_H */
