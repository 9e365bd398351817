// SPDX-License-Identifier: GPL-2.0
/*
 * Which version a client begins with, what it remembers of that between
 * connections, and what to say about the version of a connection (WP 4).
 */
#include "internal.hh"

using namespace rpcrdma;

namespace
{

/* How long to believe that to ask a server for version 2 is in vain */
constexpr u64 ONLY_V1_SECONDS = 300;

/*
 * Attempts without an answer before version 1 is tried. One that is known to
 * have version 2 is more likely on its way down, or up again.
 */
u32 enough_silence(const struct rpcrdma_version_memory *memory)
{
	return memory->has_v2 ? 2 : 1;
}

} // namespace

/*
 * A server that answers version 2 in whatever way is asked for it each time:
 * a refusal costs one message. Only where asking means to wait in vain, or the
 * connection, it is left out, and that for some time only: servers learn.
 */
u8 rpcrdma_version_first(const struct rpcrdma_version_memory *memory, u64 now,
			 u8 low, u8 high)
{
	return now < memory->only_v1_until && low == RPCRDMA_VERS_1 ?
		       u8{ RPCRDMA_VERS_1 } :
		       high;
}

/*
 * A refusal counts against version 2 when it was the end of the connection: the
 * next one would end the same way, and so on (4.2.3.2). As long as it lasts,
 * version 1 may still answer.
 */
enum rpcrdma_answer rpcrdma_conn_answer(const struct rpcrdma_conn *conn,
					bool ended)
{
	if (!conn->answered || !conn->version)
		return ended ? RPCRDMA_ANSWER_NONE : RPCRDMA_ANSWER_NOT_YET;
	if (conn->version == RPCRDMA_VERS_2)
		return RPCRDMA_ANSWER_V2;
	return conn->refused && ended ? RPCRDMA_ANSWER_REFUSED :
					RPCRDMA_ANSWER_V1;
}

void rpcrdma_version_learn(struct rpcrdma_version_memory *memory, u64 now,
			   u8 tried, enum rpcrdma_answer answer)
{
	if (answer == RPCRDMA_ANSWER_NOT_YET)
		return;
	if (answer == RPCRDMA_ANSWER_V2) {
		*memory = {};
		memory->has_v2 = 1;
	} else if (answer == RPCRDMA_ANSWER_REFUSED) {
		*memory = {};
		memory->only_v1_until = now + ONLY_V1_SECONDS;
	} else if (tried == RPCRDMA_VERS_1) {
		/* If version 1 got no answer either, it was not the version. */
		if (answer == RPCRDMA_ANSWER_NONE)
			memory->only_v1_until = 0;
	} else if (answer == RPCRDMA_ANSWER_V1) {
		*memory = {};
	} else if (++memory->silent >= enough_silence(memory)) {
		memory->silent = 0;
		memory->only_v1_until = now + ONLY_V1_SECONDS;
	}
}

u8 rpcrdma_version_silent(struct rpcrdma_version_memory *memory, u64 now,
			  u8 tried, u8 low, u8 high)
{
	u8 next;

	rpcrdma_version_learn(memory, now, tried, RPCRDMA_ANSWER_NONE);
	next = rpcrdma_version_first(memory, now, low, high);
	return next == tried ? 0 : next;
}

const char *rpcrdma_version_why(const struct rpcrdma_conn *conn)
{
	if (!conn->version)
		return "undecided";
	if (conn->version == RPCRDMA_VERS_2)
		return "both";
	if (conn->cfg.version_high == RPCRDMA_VERS_1)
		return conn->cfg.guess ? "silence" : "setting";
	return conn->cfg.client ? "refused" : "peer";
}
