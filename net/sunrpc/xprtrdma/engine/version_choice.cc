// SPDX-License-Identifier: GPL-2.0
/*
 * Which version a client begins with, what it remembers of that between
 * connections, and what to say about the version of a connection (WP 4).
 */
#include "internal.h"

using namespace rpcrdma;

namespace
{

/* How long to believe that a server does not even refuse version 2 */
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

void rpcrdma_version_learn(struct rpcrdma_version_memory *memory, u64 now,
			   u8 tried, u8 answered)
{
	if (answered == RPCRDMA_VERS_2) {
		*memory = {};
		memory->has_v2 = 1;
	} else if (tried == RPCRDMA_VERS_1) {
		/* If version 1 got no answer either, it was not the version. */
		if (!answered)
			memory->only_v1_until = 0;
	} else if (answered) {
		*memory = {};
	} else if (++memory->silent >= enough_silence(memory)) {
		memory->silent = 0;
		memory->only_v1_until = now + ONLY_V1_SECONDS;
	}
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
