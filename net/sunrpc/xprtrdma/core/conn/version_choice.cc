// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The version that a client begins with, the cache of a server's versions, which
 * outlives connections, and the text for the version of a connection (WP 4)
 *
 * Operation
 *
 * A client begins with the highest version that is allowed, unless the cache says that
 * this would cost a connection or the opening time in vain. rpcrdma_conn_answer()
 * translates the state of a connection, and how it ended, to what the server has shown,
 * and rpcrdma_version_learn() changes the cache accordingly. An entry against version 2
 * expires. One silence is not enough against a version that the server has
 * used, because the server may be restarting.
 *
 * Memory
 *
 * The cache is an array of the user, with a place for each server, identified by network
 * namespace, address and port. A server without a place gets that of the server which
 * was used least recently.
 *
 * Errors
 *
 * A failure of this end alone shows nothing about the server, and changes nothing.
 *
 * Locking
 *
 * The user serialises the functions that access the cache.
 */
#include "../internal.hh"

using namespace rpcrdma;

namespace
{

/*
 * Time for which a server is assumed not to support version 2. Trying a server that
 * answers at once costs a connection. Trying one that gives no answer, or no useful
 * one, costs the opening time, which must not be paid again after each idle period, nor
 * after a night without traffic.
 */
constexpr u64 ONLY_V1_SECONDS = 300;
constexpr u64 ONLY_V1_LONG_SECONDS = 24ULL * 3600;

/*
 * Return the number of attempts without an answer after which the other version is
 * tried. A server that is known to support the version is more likely shutting down or
 * starting.
 */
u32 enough_silence(bool known)
{
	return known ? 2 : 1;
}

void only_v1(struct rpcrdma_version_cache *memory, u64 now, bool lasts)
{
	memory->only_v1_until =
		now + (lasts ? ONLY_V1_LONG_SECONDS : ONLY_V1_SECONDS);
	memory->lasts = lasts;
}

/*
 * Learn from a connection that began with version 1. If version 1 gets no
 * answer either, the version is not the cause.
 */
void learn_from_v1(struct rpcrdma_version_cache *memory, u64 now,
		   enum rpcrdma_answer answer)
{
	if (answer == RPCRDMA_ANSWER_V1) {
		memory->silent = 0;
		memory->has_v1 = 1;
		if (memory->lasts)
			only_v1(memory, now, true);
	} else if (answer == RPCRDMA_ANSWER_AWAY) {
		/* A peer that was shutting down was silent because of that. */
		if (!memory->has_v1)
			*memory = {};
	} else if (++memory->silent >= enough_silence(memory->has_v1)) {
		*memory = {};
	}
}

/* Learn from a connection that began with version 2, but did not use it. */
void learn_from_v2(struct rpcrdma_version_cache *memory, u64 now,
		   enum rpcrdma_answer answer)
{
	switch (answer) {
	case RPCRDMA_ANSWER_V1:
		*memory = {};
		break;
	case RPCRDMA_ANSWER_REFUSED:
		*memory = {};
		only_v1(memory, now, false);
		break;
	case RPCRDMA_ANSWER_ODD:
		*memory = {};
		only_v1(memory, now, true);
		break;
	case RPCRDMA_ANSWER_NONE:
	case RPCRDMA_ANSWER_LOST:
		if (++memory->silent < enough_silence(memory->has_v2))
			break;
		/*
		 * A lost connection costs no time, and looks like a restart. A
		 * server that had version 2 is tried again soon, once.
		 */
		only_v1(memory, now,
			answer == RPCRDMA_ANSWER_NONE && !memory->has_v2);
		memory->silent = 0;
		memory->has_v2 = 0;
		memory->has_v1 = 0;
		break;
	default:
		break;
	}
}

} // namespace

/*
 * Version 2 is omitted only if the attempt would cost a timeout or the
 * connection, and only for some time: servers are upgraded. A refusal on a
 * connection that stays open costs one message, so such a server is tried with
 * version 2 each time.
 */
u8 rpcrdma_version_first(const struct rpcrdma_version_cache *memory, u64 now,
			 u8 low, u8 high)
{
	return now < memory->only_v1_until && low == RPCRDMA_VERS_1 ?
		       u8{ RPCRDMA_VERS_1 } :
		       high;
}

/*
 * A refusal counts against version 2 when it ended the connection, because the
 * next one would end the same way (4.2.3.2). While the connection lasts,
 * version 1 may still answer. A message that is no opening counts if no opening
 * has followed.
 */
enum rpcrdma_answer rpcrdma_conn_answer(const struct rpcrdma_conn *conn,
					enum rpcrdma_end end)
{
	const bool in_vain = end == RPCRDMA_END_PEER ||
			     end == RPCRDMA_END_WAITED;

	if (conn->answered && conn->version) {
		if (conn->version == RPCRDMA_VERS_2)
			return RPCRDMA_ANSWER_V2;
		return conn->version_refused && in_vain ?
			       RPCRDMA_ANSWER_REFUSED :
			       RPCRDMA_ANSWER_V1;
	}
	/*
	 * ERR_VERS to version 1 offers version 2; ERR_VERS to version 2 leaves
	 * none.
	 */
	if (conn->version_refused)
		return conn->version ? RPCRDMA_ANSWER_V2 : RPCRDMA_ANSWER_ODD;
	if (conn->odd && end != RPCRDMA_END_NONE)
		return RPCRDMA_ANSWER_ODD;
	switch (end) {
	case RPCRDMA_END_PEER:
		return RPCRDMA_ANSWER_LOST;
	case RPCRDMA_END_WAITED:
		return RPCRDMA_ANSWER_NONE;
	case RPCRDMA_END_AWAY:
		return RPCRDMA_ANSWER_AWAY;
	default:
		return RPCRDMA_ANSWER_NOT_YET;
	}
}

bool rpcrdma_version_learn(struct rpcrdma_version_cache *memory, u64 now,
			   u8 tried, enum rpcrdma_answer answer)
{
	if (answer == RPCRDMA_ANSWER_NOT_YET)
		return false;
	if (answer == RPCRDMA_ANSWER_V2) {
		*memory = {};
		memory->has_v2 = 1;
	} else if (tried == RPCRDMA_VERS_1) {
		learn_from_v1(memory, now, answer);
	} else {
		learn_from_v2(memory, now, answer);
	}
	return answer == RPCRDMA_ANSWER_REFUSED;
}

namespace
{

bool same(const struct rpcrdma_server_name &a,
	  const struct rpcrdma_server_name &b)
{
	for (u32 i = 0; i < sizeof(a.address); i++) {
		if (a.address[i] != b.address[i])
			return false;
	}
	return a.net == b.net && a.scope == b.scope && a.family == b.family &&
	       a.port == b.port;
}

/* Return the place of a server, or of the one to forget for it. */
u32 place_of(const struct rpcrdma_server_memories *all,
	     const struct rpcrdma_server_name &name)
{
	u32 oldest = 0;

	for (u32 i = 0; i < RPCRDMA_REMEMBERED_SERVERS; i++) {
		if (all->servers[i].used && same(all->servers[i].name, name))
			return i;
		if (all->servers[i].used < all->servers[oldest].used)
			oldest = i;
	}
	return oldest;
}

} // namespace

u8 rpcrdma_server_first(const struct rpcrdma_server_memories *all,
			const struct rpcrdma_server_name *name, u64 now, u8 low,
			u8 high)
{
	const auto &server = all->servers[place_of(all, *name)];

	if (!server.used || !same(server.name, *name))
		return high;
	return rpcrdma_version_first(&server.memory, now, low, high);
}

bool rpcrdma_server_learn(struct rpcrdma_server_memories *all,
			  const struct rpcrdma_server_name *name, u64 now,
			  u8 tried, enum rpcrdma_answer answer)
{
	auto &server = all->servers[place_of(all, *name)];

	if (!server.used || !same(server.name, *name))
		server = { *name, 0, {} };
	/* Not zero, because that is a free place. */
	server.used = now + 1;
	return rpcrdma_version_learn(&server.memory, now, tried, answer);
}

bool rpcrdma_conn_refused(const struct rpcrdma_conn *conn)
{
	return conn->cfg.client && conn->version == RPCRDMA_VERS_1 &&
	       conn->cfg.version_high > RPCRDMA_VERS_1;
}

const char *rpcrdma_version_why(const struct rpcrdma_conn *conn)
{
	if (!conn->version)
		return "undecided";
	if (conn->version == RPCRDMA_VERS_2)
		return "both";
	if (conn->cfg.version_high == RPCRDMA_VERS_1)
		return conn->cfg.fallback_v1 ? "silence" : "setting";
	return rpcrdma_conn_refused(conn) ? "refused" : "peer";
}
