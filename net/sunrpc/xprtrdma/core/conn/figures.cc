// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The state of a connection as named numbers.
 *
 * FIGURES has name, unit and kind of each number, once for every program that displays
 * it. Names and order are an interface: a new number is added at the end (figures.h). A
 * name does not change, even if the code has another word, such as MR for "region".
 *
 * Each part of a connection sets the figures that it has. The caller holds the lock of
 * that part, or passes a copy. Each group of numbers is therefore consistent, but
 * different groups may be of different moments.
 */
#include <rpcrdma/figures.h>
#include <rpcrdma/limits.h>

#include "../internal.hh"

namespace rpcrdma
{

namespace
{

/* By enum rpcrdma_figure */
constexpr rpcrdma_number FIGURES[] = {
	{ "send_inline", "bytes", RPCRDMA_GAUGE },
	{ "recv_inline", "bytes", RPCRDMA_GAUGE },
	{ "sent", "messages", RPCRDMA_COUNTER },
	{ "limit", "messages", RPCRDMA_COUNTER },
	{ "received", "messages", RPCRDMA_COUNTER },
	{ "advertised", "messages", RPCRDMA_COUNTER },
	{ "calls_inline", "calls", RPCRDMA_COUNTER },
	{ "calls_continued", "calls", RPCRDMA_COUNTER },
	{ "calls_special", "calls", RPCRDMA_COUNTER },
	{ "replies_inline", "replies", RPCRDMA_COUNTER },
	{ "replies_continued", "replies", RPCRDMA_COUNTER },
	{ "replies_special", "replies", RPCRDMA_COUNTER },
	{ "read_chunks", "chunks", RPCRDMA_COUNTER },
	{ "write_chunks", "chunks", RPCRDMA_COUNTER },
	{ "reply_chunks", "chunks", RPCRDMA_COUNTER },
	{ "remote_inv", "handles", RPCRDMA_COUNTER },
	{ "local_inv", "handles", RPCRDMA_COUNTER },
	{ "errors_sent", "messages", RPCRDMA_COUNTER },
	{ "errors_received", "messages", RPCRDMA_COUNTER },
	{ "replies_exposed", "replies", RPCRDMA_COUNTER },
	{ "replies_to_pull", "replies", RPCRDMA_COUNTER },
	{ "dones_sent", "messages", RPCRDMA_COUNTER },
	{ "dones_received", "messages", RPCRDMA_COUNTER },
	{ "dones_overdue", "replies", RPCRDMA_COUNTER },
	{ "exposed_octets", "bytes", RPCRDMA_GAUGE },
	{ "memory_fixed", "bytes", RPCRDMA_GAUGE },
	{ "memory_buffers", "bytes", RPCRDMA_GAUGE },
	{ "memory_parts", "bytes", RPCRDMA_GAUGE },
	{ "memory_calls", "bytes", RPCRDMA_GAUGE },
	{ "memory_replies", "bytes", RPCRDMA_GAUGE },
	{ "regions", "regions", RPCRDMA_GAUGE },
	{ "region_shortages", "shortages", RPCRDMA_COUNTER },
	{ "outstanding", "calls", RPCRDMA_GAUGE },
	{ "bytes_sent", "bytes", RPCRDMA_COUNTER },
	{ "bytes_received", "bytes", RPCRDMA_COUNTER },
};
static_assert(sizeof(FIGURES) / sizeof(FIGURES[0]) == RPCRDMA_NR_FIGURES);

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

const struct rpcrdma_number *rpcrdma_figure_info(u32 i)
{
	return i < RPCRDMA_NR_FIGURES ? &FIGURES[i] : nullptr;
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
	f[RPCRDMA_FIGURE_OUTSTANDING] = conn->calls_outstanding;
	f[RPCRDMA_FIGURE_BYTES_SENT] = c.bytes_sent;
	f[RPCRDMA_FIGURE_BYTES_RECEIVED] = c.bytes_received;
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

bool rpcrdma_conn_fell_back(const struct rpcrdma_conn *conn)
{
	return rpcrdma_conn_refused(conn) ||
	       (conn->cfg.client && conn->version == RPCRDMA_VERS_1 &&
		conn->cfg.fallback_v1);
}

const char *rpcrdma_stage_name(u8 stage)
{
	if (stage < RPCRDMA_STAGE_OPEN)
		return "opening";
	return stage == RPCRDMA_STAGE_OPEN ? "open" : "closing";
}

void rpcrdma_core_view(const struct rpcrdma_ep_core *core,
		       struct rpcrdma_conn_view *view)
{
	const struct rpcrdma_conn *conn = &core->conn;

	view->role = core->life.client ? "client" : "server";
	view->why = rpcrdma_version_why(conn);
	view->state = rpcrdma_stage_name(core->life.stage);
	view->reason = core->life.reason;
	view->auth = rpcrdma_auth_name(rpcrdma_conn_auth_result(conn));
	view->auth_hash = rpcrdma_auth_hash_name(conn);
	view->auth_dh = rpcrdma_auth_group_name(conn);
	view->identity = rpcrdma_auth_peer(conn);
	if (!*view->identity)
		view->identity = "none";
	view->version = conn->version;
	view->fallback = rpcrdma_conn_fell_back(conn);
	rpcrdma_conn_figures(conn, view->numbers);
	view->numbers[RPCRDMA_FIGURE_REMOTE_INV] = core->arrivals.remote_inv;
}
