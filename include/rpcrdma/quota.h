/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory held for peers.
 *
 * Quotas of a server's memory. A connection has reserved the memory that it needs while
 * it is idle: its own structures, and the buffers of its first window. All other memory
 * is charged when it is used, and shared by all connections:
 *
 * - A connection may have as much memory beyond its reservation as it leaves free. A
 *   single greedy connection gets half; two get a third each.
 * - The last part of the limit is a reserve, which is not available for reservations
 *   and windows. A connection may use it for one message of a kind of which it holds
 *   none. Connections that find the reserve used up wait in a queue.
 * - While a connection waits, connections that hold messages for a peer that makes no
 *   progress are closed, see rpcrdma_quota_stuck().
 *
 * A Reply to a Call in progress is always charged and never refused, so that the limit
 * may be exceeded by one Reply for each service thread. While it is exceeded, no Call
 * is started.
 *
 * A connection keeps the quota that it once had, unless memory is tight. A charge
 * within the quota affects that connection alone.
 *
 * Functions with an @all and an account need a lock for all accounts and, within it or
 * around it, the lock of the account. Functions with only an account need its lock.
 */
#ifndef RPCRDMA_QUOTA_H
#define RPCRDMA_QUOTA_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rpcrdma_quota_use {
	RPCRDMA_QUOTA_BUFFERS, /* Receives, and the buffers to send Replies from */
	RPCRDMA_QUOTA_PARTS,   /* a continued message being reassembled */
	RPCRDMA_QUOTA_CALLS,   /* messages received, until they are processed */
	RPCRDMA_QUOTA_REPLIES, /* Replies, until the peer has received them */
	RPCRDMA_QUOTA_USES,
};

enum {
	/*
	 * Milliseconds between calls of rpcrdma_quota_stuck() for an account
	 */
	RPCRDMA_QUOTA_TICK_MS = 250,
	/* Ticks without progress after which a connection is closed */
	RPCRDMA_QUOTA_STUCK_TICKS = 8,
	/* Accounts that a run wakes at most */
	RPCRDMA_QUOTA_WAKES = 32,
	/* Values of rpcrdma_quota_account.queued */
	RPCRDMA_QUOTA_QUEUED = 3,
};

struct rpcrdma_quota_account;

/* All connections; bytes. All zero at first. */
struct rpcrdma_quota {
	u64 limit;
	u64 reserve;		/* the last part of the limit */
	/* Read without a lock; they change rarely. */
	/* over a quarter of the limit is used, or an account waits */
	u8 tight;
	u8 full;		/* more than the limit is used */
	/* KiB: the rule permits less than that to any account while not tight */
	u32 plenty;
	/* Padding: frequently modified fields are in a separate cache line. */
	u8 apart[40];
	u64 used;		/* reservations and quotas */
	u32 waiting;		/* accounts in the queue */
	u32 visited_ms;		/* time of the last visit of the accounts */
	u8 visited;		/* visited_ms is valid */
	struct rpcrdma_quota_account *first, *last;
	/*
	 * the last account that waits to send a Reply; those after it wait for a Call
	 */
	struct rpcrdma_quota_account *last_reply;
	/*
	 * By account->queued: the last account that was woken and refused again; only
	 * such accounts with the same reason precede it
	 */
	struct rpcrdma_quota_account *last_retried[RPCRDMA_QUOTA_QUEUED];
};

/* One connection; bytes. All zero, except the reservation, at first. */
struct rpcrdma_quota_account {
	u64 fixed;		/* held for the connection's lifetime */
	/*
	 * BUFFERS: reserved. Other uses: the maximum of one message, for which
	 * the reserve may be used.
	 */
	u64 share[RPCRDMA_QUOTA_USES];
	u64 held[RPCRDMA_QUOTA_USES];
	u64 quota;		/* of the shared memory */
	u32 released;		/* number of releases, modulo 2^32 */
	u32 seen; /* value of released at the last rpcrdma_quota_stuck() */
	u8 ticks;		/* since then */
	u8 member;		/* it is one of the connections that share a limit */
	u8 wanted;		/* it was refused memory, and not woken since */
	u8 replies;		/* Replies are held */
	/* Protected by the lock for all accounts, except that a charge clears retrying */
	/* reason why it waits for memory that others release; 0: does not wait */
	u8 queued;
	/* value of queued when it was removed from the queue to retry, until it proceeds */
	u8 retrying;
	struct rpcrdma_quota_account *next, *prev;
};

/**
 * rpcrdma_quota_set_limit() - set the limit
 * @all: quota of all connections
 * @limit: bytes, of which the reserve is a part
 * @message: bytes of the largest message
 */
void rpcrdma_quota_set_limit(struct rpcrdma_quota *all, u64 limit, u64 message);

/**
 * rpcrdma_quota_is_tight() - check if new connections should have few and small
 *	buffers, so that very many connections can have their reservation
 * @all: quota of all connections
 *
 * Return: true if so.
 */
static inline bool rpcrdma_quota_is_tight(const struct rpcrdma_quota *all)
{
	return __atomic_load_n(&all->tight, __ATOMIC_RELAXED);
}

/**
 * rpcrdma_quota_reserve() - set the reservation of a connection, and the maximum of a
 *	message
 * @account: the connection's account
 * @fixed: bytes that it needs in any case
 * @buffers: bytes of buffers that it has before its window grows
 * @message: bytes of the largest Call or Reply, as its memory is allocated
 * @parts: bytes reassembled from continued messages, in addition
 * @spare: more that one message may need
 */
void rpcrdma_quota_reserve(struct rpcrdma_quota_account *account, u64 fixed,
			   u64 buffers, u64 message, u64 parts, u64 spare);

/**
 * rpcrdma_quota_attach() - attach a connection
 * @all: quota of all connections
 * @account: the connection's account
 *
 * Return: 0, or -1 if there is no memory for its reservation.
 */
int rpcrdma_quota_attach(struct rpcrdma_quota *all,
			 struct rpcrdma_quota_account *account);

/**
 * rpcrdma_quota_detach() - detach a connection, even if it still holds memory for a moment
 * @all: quota of all connections
 * @account: the connection's account
 *
 * May be called any number of times, attached or not.
 */
void rpcrdma_quota_detach(struct rpcrdma_quota *all,
			  struct rpcrdma_quota_account *account);

/**
 * rpcrdma_quota_allows() - check if @bytes more may be charged to the account
 * @all: quota of all connections
 * @account: the connection's account
 * @use: use of the memory
 * @bytes: number of bytes
 *
 * If it is not attached, everything is counted and nothing is limited.
 * Return: true if so.
 */
bool rpcrdma_quota_allows(const struct rpcrdma_quota *all,
			  const struct rpcrdma_quota_account *account,
			  enum rpcrdma_quota_use use, u64 bytes);

/**
 * rpcrdma_quota_fits() - get the number of buffers that may be charged
 * @all: quota of all connections
 * @account: the connection's account
 * @use: use of the memory
 * @bytes: bytes of a buffer
 * @count: number of buffers
 *
 * Return: @count, or half of it, a quarter and so on.
 */
u32 rpcrdma_quota_fits(const struct rpcrdma_quota *all,
		       const struct rpcrdma_quota_account *account,
		       enum rpcrdma_quota_use use, u64 bytes, u32 count);

/**
 * rpcrdma_quota_ask() - check if more may be charged to the account, and wait otherwise
 * @all: quota of all connections
 * @account: the connection's account
 * @use: use of the memory
 * @bytes: number of bytes
 *
 * As rpcrdma_quota_allows(), for a caller that waits if the result is false: until
 * rpcrdma_quota_uncharge() returns true for its account, or rpcrdma_quota_next() returns
 * it.
 * Return: true if so.
 */
bool rpcrdma_quota_ask(struct rpcrdma_quota *all,
		       struct rpcrdma_quota_account *account,
		       enum rpcrdma_quota_use use, u64 bytes);

/**
 * rpcrdma_quota_must_ask() - check if a Call may be started only after
 *	rpcrdma_quota_ask() for the Replies to all Calls in progress, including this one
 * @all: quota of all connections
 * @account: the connection's account
 *
 * False, as in the fast path, while no Reply is waiting for the peer and no more than the
 * limit is used, because Calls in progress then depend on this end alone.
 * Context: any, if used as a hint.
 * Return: true if so.
 */
static inline bool
rpcrdma_quota_must_ask(const struct rpcrdma_quota *all,
		       const struct rpcrdma_quota_account *account)
{
	return __atomic_load_n(&account->replies, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&all->full, __ATOMIC_RELAXED);
}

/**
 * rpcrdma_quota_charge() - charge @bytes, even if they exceed a limit
 * @all: quota of all connections
 * @account: the connection's account
 * @use: use of the memory
 * @bytes: number of bytes
 */
void rpcrdma_quota_charge(struct rpcrdma_quota *all,
			  struct rpcrdma_quota_account *account,
			  enum rpcrdma_quota_use use, u64 bytes);

/**
 * rpcrdma_quota_assembled() - charge a reassembled message of @bytes to CALLS instead
 *	of PARTS
 * @all: quota of all connections
 * @account: the connection's account
 * @bytes: number of bytes
 *
 * Return: false if that is not possible because of the other Calls that are held.
 */
bool rpcrdma_quota_assembled(const struct rpcrdma_quota *all,
			     struct rpcrdma_quota_account *account, u64 bytes);

/**
 * rpcrdma_quota_uncharge() - uncharge @bytes
 * @all: quota of all connections
 * @account: the connection's account
 * @use: use of the memory
 * @bytes: number of bytes
 *
 * Return: true if a caller of rpcrdma_quota_ask() waits and must try again.
 */
bool rpcrdma_quota_uncharge(struct rpcrdma_quota *all,
			    struct rpcrdma_quota_account *account,
			    enum rpcrdma_quota_use use, u64 bytes);

/**
 * rpcrdma_quota_trim() - release the unused part of the account's quota
 * @all: quota of all connections
 * @account: the connection's account
 */
void rpcrdma_quota_trim(struct rpcrdma_quota *all,
			struct rpcrdma_quota_account *account);

/**
 * rpcrdma_quota_next() - remove the account that has waited longest from the queue, so
 *	that it retries
 * @all: quota of all connections
 *
 * Needs only the lock for all accounts.
 * Return: the account; NULL if there is none, or no memory is free.
 */
struct rpcrdma_quota_account *rpcrdma_quota_next(struct rpcrdma_quota *all);

/**
 * rpcrdma_quota_stuck() - check for a lack of progress; called once in a tick while
 *	accounts wait
 * @account: the connection's account
 * @reads: also count Calls that are being read
 *
 * The connection holds parts of a message, Replies, or with @reads Calls that are being
 * read, and has released nothing for RPCRDMA_QUOTA_STUCK_TICKS.
 * Return: true if the connection is to be closed.
 */
bool rpcrdma_quota_stuck(struct rpcrdma_quota_account *account, bool reads);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_QUOTA_H */
