/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The version that a client begins with, learned from its connections.
 */
#ifndef RPCRDMA_VERSION_CHOICE_H
#define RPCRDMA_VERSION_CHOICE_H

#include "conn.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_conn_refused() - check if the server has refused version 2
 * @conn: an open connection
 *
 * Return: true if a client that may use version 2 uses version 1.
 */
bool rpcrdma_conn_refused(const struct rpcrdma_conn *conn);

/**
 * rpcrdma_version_why() - get the reason for the connection's version, for logs
 * @conn: connection
 *
 * Return: one word, never NULL.
 */
const char *rpcrdma_version_why(const struct rpcrdma_conn *conn);

/*
 * The cache of a server's versions that a client keeps from one connection to the next,
 * WP 4. All zero at first. @now below: seconds, of a monotonic clock.
 */
struct rpcrdma_version_cache {
	u64 only_v1_until;		/* seconds; 0: no */
	u8 silent;			/* consecutive attempts without an answer */
	u8 has_v2;			/* the server has used version 2 */
	u8 has_v1;			/* it has used version 1 since version 2 was tried */
	u8 lasts;			/* a connection with version 1 renews only_v1_until */
};

/**
 * rpcrdma_version_first() - get the version to begin with
 * @memory: cache of the server's version
 * @now: seconds
 * @low: lowest version permitted
 * @high: highest version permitted
 *
 * A connection with a version lower than @high is a fallback
 * (rpcrdma_conn_config.fallback_v1).
 * Return: @high, or 1 if the cache says so and @low permits it.
 */
u8 rpcrdma_version_first(const struct rpcrdma_version_cache *memory, u64 now,
			 u8 low, u8 high);

/* A server's answer on a connection */
enum rpcrdma_answer {
	RPCRDMA_ANSWER_NOT_YET,		/* no conclusive answer yet */
	RPCRDMA_ANSWER_NONE,		/* no answer within the time limit */
	RPCRDMA_ANSWER_LOST,		/* no answer: it closed the connection */
	RPCRDMA_ANSWER_AWAY,		/* it did not accept the connection */
	RPCRDMA_ANSWER_V1,
	RPCRDMA_ANSWER_V2,
	RPCRDMA_ANSWER_REFUSED,		/* ERR_VERS, and nothing after it */
	RPCRDMA_ANSWER_ODD,		/* neither ERR_VERS nor version 2 */
};

/* The cause of the end of a connection, or of the attempt at one */
enum rpcrdma_end {
	RPCRDMA_END_NONE,		/* no cause: it has not ended */
	RPCRDMA_END_HERE,		/* a failure of this end, or of its network */
	RPCRDMA_END_PEER,		/* the peer, or the connection to it */
	RPCRDMA_END_WAITED,		/* this end, after waiting for the peer */
	/* never established: the peer did not accept it */
	RPCRDMA_END_AWAY,
};

/**
 * rpcrdma_conn_answer() - get the server's answer to a client's connection
 * @conn: connection
 * @end: as in rpcrdma_lifecycle.end
 *
 * A failure of this end shows nothing.
 * Return: the server's answer.
 */
enum rpcrdma_answer rpcrdma_conn_answer(const struct rpcrdma_conn *conn,
					enum rpcrdma_end end);

/**
 * rpcrdma_version_learn() - learn from a connection that has opened or ended, or from a
 *	failed attempt
 * @memory: cache of the server's version
 * @now: seconds
 * @tried: the version it began with
 * @answer: the server's answer
 *
 * Return: true if the server has refused that version and closed the connection, so
 *	that the next attempt, which begins with version 1, need not be delayed.
 */
bool rpcrdma_version_learn(struct rpcrdma_version_cache *memory, u64 now,
			   u8 tried, enum rpcrdma_answer answer);

/* ---- Of several servers ---- */

/* The name of a server. Zero what its address does not use. */
struct rpcrdma_server_name {
	u64 net;			/* the network that the address is of */
	u8 address[16];
	u32 scope;
	u16 family, port;
};

enum {
	RPCRDMA_REMEMBERED_SERVERS = 32,
};

/*
 * The caches for the servers used last. If all places are taken, the least recently
 * used server is forgotten: at worst it is probed once more. All zero at first,
 * protected by a lock of the user.
 */
struct rpcrdma_server_memories {
	struct {
		struct rpcrdma_server_name name;
		u64 used;		/* 0: free */
		struct rpcrdma_version_cache memory;
	} servers[RPCRDMA_REMEMBERED_SERVERS];
};

/**
 * rpcrdma_server_first() - get the version to begin with at a server
 * @all: memories of servers
 * @name: the server's
 * @now: seconds
 * @low: lowest version allowed
 * @high: highest version allowed
 *
 * Return: that of rpcrdma_version_first().
 */
u8 rpcrdma_server_first(const struct rpcrdma_server_memories *all,
			const struct rpcrdma_server_name *name, u64 now, u8 low,
			u8 high);

/**
 * rpcrdma_server_learn() - learn from a connection to a server
 * @all: memories of servers
 * @name: the server's
 * @now: seconds
 * @tried: the version it began with
 * @answer: the server's answer
 *
 * Return: that of rpcrdma_version_learn().
 */
bool rpcrdma_server_learn(struct rpcrdma_server_memories *all,
			  const struct rpcrdma_server_name *name, u64 now,
			  u8 tried, enum rpcrdma_answer answer);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_VERSION_CHOICE_H */
