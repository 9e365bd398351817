/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Incoming connections.
 *
 * Tracks a connection (guest) from the connect request until the service has
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

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of a listener */
enum {
	RPCRDMA_MAX_GUESTS = 1024,		/* opening, or not accepted yet */
	/* including those that were evicted and still exist */
	RPCRDMA_MAX_GUESTS_ALL = 2 * RPCRDMA_MAX_GUESTS,
	/* Milliseconds of opening before a connection may be evicted */
	RPCRDMA_GUEST_GRACE_MS = 1000,
};

/* A listener; all zero at first, protected by a lock of the user */
struct rpcrdma_admission {
	u32 opening;			/* properties are not exchanged yet */
	u32 opened;			/* not accepted yet */
	u32 all;			/* these, and those that were evicted */
	u8 stopped;			/* no connection is admitted any more */
};

/* Users compare these: keep the order. */
enum rpcrdma_guest_stage {
	RPCRDMA_GUEST_ASKING,
	RPCRDMA_GUEST_OPENING,
	RPCRDMA_GUEST_OPENED,
	RPCRDMA_GUEST_LEAVING,		/* evicted, or refused */
	RPCRDMA_GUEST_TAKEN,		/* by a thread; the service has yet to get it */
	RPCRDMA_GUEST_LOST,		/* TAKEN, but it has ended since */
	RPCRDMA_GUEST_SERVED,		/* the service has it */
	RPCRDMA_GUEST_GONE,		/* SERVED, and it has ended */
};

/*
 * One connection; all zero at first. It may have a lock of its own, which nests
 * inside the listener's where both are needed: in each function with an
 * admission.
 */
struct rpcrdma_guest {
	u8 stage;			/* enum rpcrdma_guest_stage */
	u8 displaced;			/* another one was evicted for it */
	u32 since_ms;			/* time when it began to open */
};

/* The answer to a connect request */
enum rpcrdma_admit {
	RPCRDMA_ADMIT,			/* admitted; it is opening now */
	/*
	 * evict the oldest that is opening: rpcrdma_admission_leave(), then ask
	 * again
	 */
	RPCRDMA_ADMIT_DISPLACE,
	RPCRDMA_ADMIT_STOPPED,		/* refused: the listener has stopped */
	RPCRDMA_ADMIT_NO_MEMORY,	/* refused: there is no memory for it */
	RPCRDMA_ADMIT_TOO_MANY,		/* refused: the backlog is full */
};

/**
 * rpcrdma_admission_ask() - decide about a connect request
 * @all: the listener's account
 * @guest: pending connection
 * @oldest: the connection that has been opening longest, or NULL
 * @memory: its account is attached (rpcrdma_memory_join()); that is tried again after
 *	another connection was evicted
 * @now_ms: milliseconds of any clock, modulo 2^32
 *
 * Return: the decision.
 */
enum rpcrdma_admit rpcrdma_admission_ask(struct rpcrdma_admission *all,
					 struct rpcrdma_guest *guest,
					 const struct rpcrdma_guest *oldest,
					 bool memory, u32 now_ms);

/* Actions after an event */
enum {
	RPCRDMA_GUEST_LISTED = 1,	/* add it to the list of those to accept */
	RPCRDMA_GUEST_FREE = 2,		/* free it: there are no references */
	RPCRDMA_GUEST_DATA = 4,		/* notify the service of Calls */
	RPCRDMA_GUEST_CLOSE = 8,	/* have the service close it */
	RPCRDMA_GUEST_LAST = 16,	/* it was the listener's last: wake the waiter */
};

/**
 * rpcrdma_admission_leave() - evict the connection in favour of a new one: close it and
 *	release its quota
 * @all: the listener's account
 * @guest: pending connection
 */
void rpcrdma_admission_leave(struct rpcrdma_admission *all,
			     struct rpcrdma_guest *guest);

/**
 * rpcrdma_admission_opened() - report that RPC traffic may begin
 * @all: the listener's account
 * @guest: pending connection
 *
 * Return: LISTED, or 0 if it is too late for that.
 */
u32 rpcrdma_admission_opened(struct rpcrdma_admission *all,
			     struct rpcrdma_guest *guest);

/**
 * rpcrdma_admission_take() - report that a service thread accepts a listed connection,
 *	which then has no listener
 * @all: the listener's account
 * @guest: pending connection
 *
 * Return: LAST or 0.
 */
u32 rpcrdma_admission_take(struct rpcrdma_admission *all,
			   struct rpcrdma_guest *guest);

/**
 * rpcrdma_guest_served() - report that the service has the connection
 * @guest: pending connection
 * @calls: Calls have arrived
 *
 * Return: any of DATA and CLOSE.
 */
u32 rpcrdma_guest_served(struct rpcrdma_guest *guest, bool calls);

/**
 * rpcrdma_guest_known() - check if the service has the connection and is notified of
 *	Calls at once
 * @guest: pending connection
 *
 * Return: true if so.
 */
static inline bool rpcrdma_guest_known(const struct rpcrdma_guest *guest)
{
	return guest->stage >= RPCRDMA_GUEST_SERVED;
}

/**
 * rpcrdma_guest_gone() - check if the service has a connection that has ended
 * @guest: pending connection
 *
 * Return: true if so.
 */
static inline bool rpcrdma_guest_gone(const struct rpcrdma_guest *guest)
{
	return guest->stage == RPCRDMA_GUEST_GONE;
}

/**
 * rpcrdma_admission_gone() - report that the connection has ended, and uses nothing on
 *	the device
 * @all: NULL after it was accepted
 * @guest: pending connection
 *
 * Return: FREE, and perhaps LAST; or CLOSE; or 0, if rpcrdma_guest_served() will return
 *	what to do.
 */
u32 rpcrdma_admission_gone(struct rpcrdma_admission *all,
			   struct rpcrdma_guest *guest);

/**
 * rpcrdma_admission_stop() - stop: no connection is admitted or accepted any more
 * @all: the listener's account
 *
 * The user closes those that are left.
 */
void rpcrdma_admission_stop(struct rpcrdma_admission *all);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ADMISSION_H */
