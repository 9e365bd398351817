/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Incoming connections.
 *
 * Tracks a connection (pending) from the connect request until the service has
 * accepted it. Until a service thread accepts it the listener owns it, and it
 * is freed with its endpoint. After that the service owns it and is notified
 * when it closes.
 *
 * A listener limits the number of its connections. If the limit is reached, or
 * there is no memory for another one, the connection that has been opening
 * longest is evicted, if that is long enough: a client opens within moments,
 * and one that sends nothing must not keep others out until its time limit. But
 * hundreds of clients may connect at the same moment, as after a restart of
 * their server, and these must not evict each other.
 */
#ifndef RPCRDMA_ADMISSION_H
#define RPCRDMA_ADMISSION_H

#include "work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of a listener */
enum {
	RPCRDMA_MAX_PENDING = 1024, /* opening, or not accepted yet */
	/* including those that were evicted and still exist */
	RPCRDMA_MAX_PENDING_ALL = 2 * RPCRDMA_MAX_PENDING,
	/* Milliseconds of opening before a connection may be evicted */
	RPCRDMA_PENDING_GRACE_MS = 1000,
};

/*
 * A listener, protected by a lock of the user; rpcrdma_admission_init() initialises it.
 * Its lists have the pending connections, the oldest first.
 */
struct rpcrdma_admission {
	struct list_head opening_list;
	struct list_head opened_list;
	u32 opening;			/* properties are not exchanged yet */
	u32 opened;			/* not accepted yet */
	u32 all;			/* these, and evicted ones that still exist */
	u8 stopped;			/* no connection is admitted any more */
};

/* Users compare these: keep the order. */
enum rpcrdma_pending_stage {
	RPCRDMA_PENDING_REQUESTED,
	RPCRDMA_PENDING_OPENING,
	RPCRDMA_PENDING_OPENED,
	RPCRDMA_PENDING_EVICTED, /* evicted, or refused */
	RPCRDMA_PENDING_ACCEPTED, /* by a thread; not yet in service */
	RPCRDMA_PENDING_CLOSED_EARLY, /* ACCEPTED, but it has ended since */
	RPCRDMA_PENDING_IN_SERVICE,   /* the service has it */
	RPCRDMA_PENDING_GONE,	      /* IN_SERVICE, and it has ended */
};

/*
 * One connection; all zero at first. It may have a separate lock, which nests inside
 * the listener's. Functions with an admission need both, unless noted otherwise.
 */
struct rpcrdma_pending_conn {
	struct list_head list;		/* of its listener, under that one's lock */
	u8 stage;			/* enum rpcrdma_pending_stage */
	u8 evicted_another;		/* another one was evicted for it */
	u32 since_ms;			/* time when it began to open */
};

/* The answer to a connect request */
enum rpcrdma_admit {
	RPCRDMA_ADMIT,			/* admitted, and opening from now on */
	RPCRDMA_ADMIT_STOPPED,		/* refused: the listener has stopped */
	RPCRDMA_ADMIT_NO_MEMORY,	/* refused: there is no memory for it */
	RPCRDMA_ADMIT_TOO_MANY,		/* refused: the backlog is full */
};

/**
 * struct rpcrdma_admission_user - what the user of an admission does for it
 * @attach: attach the account of a connection (rpcrdma_quota_attach()); return true if
 *	there is memory for it
 * @evict: call rpcrdma_admission_leave() with the connection's lock, then release its
 *	quota, and close it
 *
 * Context: the listener's lock is held.
 */
struct rpcrdma_admission_user {
	bool (*attach)(struct rpcrdma_pending_conn *pending);
	void (*evict)(struct rpcrdma_pending_conn *pending);
};

/**
 * rpcrdma_admission_init() - initialise a listener's account
 * @all: the listener's account
 */
void rpcrdma_admission_init(struct rpcrdma_admission *all);

/**
 * rpcrdma_admission_admit() - decide about a connect request
 * @all: the listener's account
 * @pending: pending connection, which no other context knows
 * @user: the user's functions; if there is no memory, attach() is called again after
 *	another connection was evicted
 * @now_ms: milliseconds of any clock, modulo 2^32
 *
 * The account of a connection that is refused is not attached.
 * Context: the listener's lock is held, no connection's.
 * Return: the decision.
 */
enum rpcrdma_admit
rpcrdma_admission_admit(struct rpcrdma_admission *all,
			struct rpcrdma_pending_conn *pending,
			const struct rpcrdma_admission_user *user, u32 now_ms);

/* Actions after an event */
enum {
	RPCRDMA_PENDING_LISTED = 1, /* it can be accepted: notify the service */
	RPCRDMA_PENDING_FREE = 2,   /* free it: there are no references */
	RPCRDMA_PENDING_DATA = 4,   /* notify the service of Calls */
	RPCRDMA_PENDING_CLOSE = 8,  /* have the service close it */
	/* the listener's last connection: free the listener if it has no other user */
	RPCRDMA_PENDING_LAST = 16,
};

/**
 * rpcrdma_admission_leave() - evict the connection in favour of a new one: close it and
 *	release its quota
 * @all: the listener's account
 * @pending: pending connection
 */
void rpcrdma_admission_leave(struct rpcrdma_admission *all,
			     struct rpcrdma_pending_conn *pending);

/**
 * rpcrdma_admission_opened() - report that RPC traffic may begin
 * @all: the listener's account
 * @pending: pending connection
 *
 * Return: LISTED, or 0 if it is too late for that.
 */
u32 rpcrdma_admission_opened(struct rpcrdma_admission *all,
			     struct rpcrdma_pending_conn *pending);

/**
 * rpcrdma_admission_next() - get the connection that is accepted next
 * @all: the listener's account
 *
 * Context: the listener's lock is held.
 * Return: the connection that opened first, or NULL if there is none.
 */
struct rpcrdma_pending_conn *
rpcrdma_admission_next(const struct rpcrdma_admission *all);

/**
 * rpcrdma_admission_accept() - report that a service thread accepts a connection, which
 *	then has no listener
 * @all: the listener's account
 * @pending: pending connection
 *
 * Return: LAST or 0.
 */
u32 rpcrdma_admission_accept(struct rpcrdma_admission *all,
			     struct rpcrdma_pending_conn *pending);

/**
 * rpcrdma_pending_conn_served() - report that the service has the connection
 * @pending: pending connection
 * @calls: Calls have arrived
 *
 * Return: any of DATA and CLOSE.
 */
u32 rpcrdma_pending_conn_served(struct rpcrdma_pending_conn *pending,
				bool calls);

/**
 * rpcrdma_pending_conn_known() - check if the service has the connection, so that it is
 *	notified of Calls at once
 * @pending: pending connection
 *
 * Return: true if so.
 */
static inline bool
rpcrdma_pending_conn_known(const struct rpcrdma_pending_conn *pending)
{
	return pending->stage >= RPCRDMA_PENDING_IN_SERVICE;
}

/**
 * rpcrdma_admission_gone() - report that the connection has ended, and uses nothing on
 *	the device
 * @all: NULL after it was accepted
 * @pending: pending connection
 *
 * Return: FREE, and perhaps LAST; or CLOSE; or 0, if rpcrdma_pending_conn_served() will return
 *	what to do.
 */
u32 rpcrdma_admission_gone(struct rpcrdma_admission *all,
			   struct rpcrdma_pending_conn *pending);

/**
 * rpcrdma_admission_stop() - stop: no connection is admitted or accepted any more
 * @all: the listener's account
 * @close: closes a connection that is left; it must not report the end of one
 *
 * Context: the listener's lock is held, no connection's.
 */
void rpcrdma_admission_stop(struct rpcrdma_admission *all,
			    void (*close)(struct rpcrdma_pending_conn *pending));

/**
 * rpcrdma_admission_is_idle() - check if no connection is left that was not accepted
 * @all: the listener's account
 *
 * After rpcrdma_admission_stop() this remains so.
 * Return: true if so.
 */
static inline bool rpcrdma_admission_is_idle(const struct rpcrdma_admission *all)
{
	return !all->all;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ADMISSION_H */
