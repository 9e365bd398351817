// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The state of a connection as named numbers */
#include <rpcrdma/figures.h>
#include <rpcrdma/limits.h>

#include "../internal.hh"

namespace rpcrdma
{

namespace
{

/* By enum rpcrdma_figure */
constexpr const char *NAMES[] = {
	"send_inline",	   "recv_inline",	"sent",
	"limit",	   "received",		"advertised",
	"calls_inline",	   "calls_continued",	"calls_special",
	"replies_inline",  "replies_continued", "replies_special",
	"read_chunks",	   "write_chunks",	"reply_chunks",
	"remote_inv",	   "local_inv",		"errors_sent",
	"errors_received", "replies_exposed",	"replies_to_pull",
	"dones_sent",	   "dones_received",	"dones_overdue",
	"exposed_octets",  "memory_fixed",	"memory_buffers",
	"memory_parts",	   "memory_calls",	"memory_replies",
	"regions",	   "region_shortages",
};
static_assert(sizeof(NAMES) / sizeof(NAMES[0]) == RPCRDMA_NR_FIGURES);

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

const char *rpcrdma_figure_name(u32 i)
{
	return NAMES[i];
}

void rpcrdma_conn_figures(const struct rpcrdma_conn *conn, u64 *f)
{
	const struct rpcrdma_conn_counters &c = conn->counters;
	const struct rpcrdma_conn_limits limits = rpcrdma_conn_limits(conn);

	f[RPCRDMA_FIGURE_SEND_INLINE] = limits.send_inline;
	f[RPCRDMA_FIGURE_RECV_INLINE] = limits.recv_inline;
	f[RPCRDMA_FIGURE_SENT] = conn->sent;
	f[RPCRDMA_FIGURE_LIMIT] = conn->limit;
	f[RPCRDMA_FIGURE_RECEIVED] = conn->received;
	f[RPCRDMA_FIGURE_ADVERTISED] = conn->advertised;
	for (u32 i = 0; i < RPCRDMA_NR_FORMATS; i++) {
		f[RPCRDMA_FIGURE_CALLS + i] = c.calls[i];
		f[RPCRDMA_FIGURE_REPLIES + i] = c.replies[i];
	}
	f[RPCRDMA_FIGURE_READ_CHUNKS] = c.read_chunks;
	f[RPCRDMA_FIGURE_WRITE_CHUNKS] = c.write_chunks;
	f[RPCRDMA_FIGURE_REPLY_CHUNKS] = c.reply_chunks;
	f[RPCRDMA_FIGURE_ERRORS_SENT] = c.errors_sent;
	f[RPCRDMA_FIGURE_ERRORS_RECEIVED] = c.errors_received;
	f[RPCRDMA_FIGURE_REPLIES_EXPOSED] = c.replies_exposed;
	f[RPCRDMA_FIGURE_REPLIES_TO_PULL] = c.replies_to_pull;
	f[RPCRDMA_FIGURE_DONES_SENT] = c.dones_sent;
	f[RPCRDMA_FIGURE_DONES_RECEIVED] = c.dones_received;
	f[RPCRDMA_FIGURE_DONES_OVERDUE] = c.dones_overdue;
	f[RPCRDMA_FIGURE_EXPOSED_OCTETS] = conn->exposed_octets;
}

void rpcrdma_mr_pool_figures(const struct rpcrdma_mr_pool *pool, u64 *f)
{
	f[RPCRDMA_FIGURE_REGIONS] = pool->made;
	f[RPCRDMA_FIGURE_REGION_SHORTAGES] = pool->shortages;
}

void rpcrdma_quota_figures(const struct rpcrdma_quota_account *account, u64 *f)
{
	f[RPCRDMA_FIGURE_MEMORY_FIXED] = account->fixed;
	for (u32 use = 0; use < RPCRDMA_QUOTA_USES; use++)
		f[RPCRDMA_FIGURE_MEMORY + use] = account->held[use];
}

const char *rpcrdma_stage_name(u8 stage)
{
	if (stage < RPCRDMA_STAGE_OPEN)
		return "opening";
	return stage == RPCRDMA_STAGE_OPEN ? "open" : "closing";
}
