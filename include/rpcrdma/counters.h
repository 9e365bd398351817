/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Counts of events of all connections of a host. */
#ifndef RPCRDMA_COUNTERS_H
#define RPCRDMA_COUNTERS_H

#include "endpoint_control.h"
#include "figures.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rpcrdma_counter {
	RPCRDMA_COUNT_OPENED,
	RPCRDMA_COUNT_CLOSED,		/* after they were open */
	RPCRDMA_COUNT_FALLBACKS,	/* rpcrdma_conn_fell_back() */
	/* Attempts of a client, and causes for their failure */
	RPCRDMA_COUNT_CONNECTS_FAILED,
	RPCRDMA_COUNT_UNRESOLVED,	/* no address, or no route */
	RPCRDMA_COUNT_UNREACHABLE,
	RPCRDMA_COUNT_REJECTS_NO_LISTENER,
	RPCRDMA_COUNT_REJECTS_BY_PEER,
	RPCRDMA_COUNT_REJECTS_STALE,
	RPCRDMA_COUNT_REJECTS_OTHER,
	RPCRDMA_COUNT_OPENINGS_OVERDUE,	/* of a server's connections */
	/* Connect requests that a server rejected, and causes */
	RPCRDMA_COUNT_ACCEPTS_FAILED,	/* no objects of the device */
	RPCRDMA_COUNT_REFUSED_TOO_MANY,
	RPCRDMA_COUNT_REFUSED_NO_MEMORY,
	/* Trouble with the device */
	RPCRDMA_COUNT_MR_SHORTAGES,
	RPCRDMA_COUNT_MAP_FAILURES,
	RPCRDMA_COUNT_POSTS_REFUSED,
	RPCRDMA_COUNT_WR_FAILURES,	/* the first one of a connection */
	RPCRDMA_COUNT_DRAINS_FAILED,	/* the queue pair could not be stopped */
	/* Host authentication: HELLOs, and results of connections */
	RPCRDMA_COUNT_AUTHS_STARTED,	/* sent by a client, received by a server */
	RPCRDMA_COUNT_AUTHS_DONE,
	RPCRDMA_COUNT_AUTHS_DH,		/* calculations, at most two in a handshake */
	RPCRDMA_COUNT_AUTHS_FAILED,	/* the sum of the causes that follow */
	/* These are in the order of enum rpcrdma_auth_result, see there. */
	RPCRDMA_COUNT_AUTHS_REFUSED,
	RPCRDMA_COUNT_AUTHS_WRONG_PROOF,
	RPCRDMA_COUNT_AUTHS_UNKNOWN,
	RPCRDMA_COUNT_AUTHS_WRONG_IDENTITY,
	RPCRDMA_COUNT_AUTHS_NOT_OFFERED,
	RPCRDMA_COUNT_AUTHS_PEER_REQUIRES,
	RPCRDMA_COUNT_AUTHS_VERSION_1,
	RPCRDMA_COUNT_AUTHS_NO_SECRET,
	RPCRDMA_COUNT_AUTHS_NO_HASH,
	RPCRDMA_COUNT_AUTHS_MALFORMED,
	RPCRDMA_COUNT_AUTHS_UNAVAILABLE,
	RPCRDMA_COUNT_PULLS_OVERDUE,	/* Replies withdrawn without a DONE */
	RPCRDMA_NR_COUNTERS
};

/**
 * rpcrdma_counter_info() - get the description of a counter
 * @i: enum rpcrdma_counter
 *
 * Return: static data, or NULL if there is no such counter.
 */
const struct rpcrdma_number *rpcrdma_counter_info(u32 i);

/**
 * rpcrdma_counter_of_auth() - get the counter for a failure of host authentication
 * @result: result of a handshake
 *
 * Return: the counter of the cause, or RPCRDMA_NR_COUNTERS if @result is no failure.
 */
enum rpcrdma_counter rpcrdma_counter_of_auth(enum rpcrdma_auth_result result);

/**
 * rpcrdma_counter_of_end() - get the counter for the event that ended a connection
 * @event: event
 * @stage: of the connection before the event
 *
 * Return: the counter, or RPCRDMA_NR_COUNTERS if none counts that.
 */
enum rpcrdma_counter
rpcrdma_counter_of_end(const struct rpcrdma_lifecycle_event *event, u8 stage);

/**
 * rpcrdma_counter_of_setup() - get the counter for the step or time limit that ended a setup
 * @life: the connection's lifecycle
 * @stage: of the connection before @end
 * @end: the step END of its setup
 *
 * Return: the counter, or RPCRDMA_NR_COUNTERS if none counts that, or if an event ended the
 * setup: rpcrdma_counter_of_end() has the counter for it.
 */
enum rpcrdma_counter
rpcrdma_counter_of_setup(const struct rpcrdma_lifecycle *life, u8 stage,
			 const struct rpcrdma_setup_step *end);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_COUNTERS_H */
