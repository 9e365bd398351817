// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/rpcrdma/connections: one line per connection, fields of
 * the form key=value with one space between them, always the same fields in
 * the same order, for scripts.
 */

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "../verbs/charge.h"
#include "debugfs.h"

static struct dentry *rpcrdma_debugfs_dir;

static const char *rpcrdma_debugfs_state(u8 stage)
{
	if (stage < RPCRDMA_STAGE_OPEN)
		return "opening";
	return stage == RPCRDMA_STAGE_OPEN ? "open" : "closing";
}

/*
 * seq_file begins with a page and enlarges it until the output between two stops fits.
 * Here that is one connection, so that a long list is printed once, and delays no
 * connection.
 */
static void *connections_start(struct seq_file *m, loff_t *pos)
{
	struct rpcrdma_ep *ep = NULL;
	loff_t i;

	for (i = 0; i <= *pos; i++) {
		ep = rpcrdma_ep_next(ep);
		if (!ep)
			break;
	}
	return ep;
}

static void *connections_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return rpcrdma_ep_next(v);
}

static void connections_stop(struct seq_file *m, void *v)
{
	if (v)
		rpcrdma_ep_put(v);
}

static int connections_show(struct seq_file *m, void *v)
{
	struct rpcrdma_conn_counters counters;
	u32 sent, limit, received, advertised, exposed, regions;
	u64 shortages, remote_inv;
	struct rpcrdma_memory_account memory;
	struct rpcrdma_conn_limits limits;
	struct rpcrdma_ep *ep = v;
	const char *why;
	u8 state, version;

	spin_lock(&ep->lock);
	counters = ep->core.conn.counters;
	remote_inv = ep->core.arrivals.remote_inv;
	limits = rpcrdma_conn_limits(&ep->core.conn);
	state = ep->core.life.stage;
	version = ep->core.conn.version;
	why = rpcrdma_version_why(&ep->core.conn);
	sent = ep->core.conn.sent;
	limit = ep->core.conn.limit;
	received = ep->core.conn.received;
	advertised = ep->core.conn.advertised;
	exposed = ep->core.conn.exposed_octets;
	spin_unlock(&ep->lock);
	spin_lock(&ep->mr_lock);
	regions = ep->core.mrs.pool.made;
	shortages = ep->core.mrs.pool.shortages;
	spin_unlock(&ep->mr_lock);
	rpcrdma_ep_memory(ep, &memory);

	seq_printf(m, "role=%s local=%pISpc remote=%pISpc version=%u why=%s state=%s",
		   ep->client ? "client" : "server", &ep->local, &ep->remote,
		   version, why, rpcrdma_debugfs_state(state));
	seq_printf(m, " send_inline=%u recv_inline=%u",
		   limits.send_inline, limits.recv_inline);
	seq_printf(m, " sent=%u limit=%u received=%u advertised=%u",
		   sent, limit, received, advertised);
	seq_printf(m, " calls_inline=%llu calls_continued=%llu calls_special=%llu",
		   counters.calls[RPCRDMA_INLINE],
		   counters.calls[RPCRDMA_CONTINUED],
		   counters.calls[RPCRDMA_SPECIAL]);
	seq_printf(m, " replies_inline=%llu replies_continued=%llu replies_special=%llu",
		   counters.replies[RPCRDMA_INLINE],
		   counters.replies[RPCRDMA_CONTINUED],
		   counters.replies[RPCRDMA_SPECIAL]);
	seq_printf(m, " read_chunks=%llu write_chunks=%llu reply_chunks=%llu",
		   counters.read_chunks, counters.write_chunks,
		   counters.reply_chunks);
	seq_printf(m, " remote_inv=%llu local_inv=%llu",
		   remote_inv,
		   (u64)atomic64_read(&ep->local_inv));
	seq_printf(m, " errors_sent=%llu errors_received=%llu",
		   counters.errors_sent, counters.errors_received);
	seq_printf(m, " replies_exposed=%llu replies_to_pull=%llu",
		   counters.replies_exposed, counters.replies_to_pull);
	seq_printf(m, " dones_sent=%llu dones_received=%llu dones_overdue=%llu exposed_octets=%u",
		   counters.dones_sent, counters.dones_received,
		   counters.dones_overdue, exposed);
	seq_printf(m, " memory_fixed=%llu memory_buffers=%llu memory_parts=%llu memory_calls=%llu memory_replies=%llu",
		   memory.fixed, memory.held[RPCRDMA_MEMORY_BUFFERS],
		   memory.held[RPCRDMA_MEMORY_PARTS],
		   memory.held[RPCRDMA_MEMORY_CALLS],
		   memory.held[RPCRDMA_MEMORY_REPLIES]);
	seq_printf(m, " regions=%u region_shortages=%llu\n", regions, shortages);
	return 0;
}

static const struct seq_operations connections_sops = {
	.start	= connections_start,
	.next	= connections_next,
	.stop	= connections_stop,
	.show	= connections_show,
};

DEFINE_SEQ_ATTRIBUTE(connections);

/**
 * rpcrdma_debugfs_init - module start
 */
void rpcrdma_debugfs_init(void)
{
	rpcrdma_debugfs_dir = debugfs_create_dir("rpcrdma", NULL);
	debugfs_create_file("connections", 0444, rpcrdma_debugfs_dir, NULL,
			    &connections_fops);
}

/**
 * rpcrdma_debugfs_exit - module end
 */
void rpcrdma_debugfs_exit(void)
{
	debugfs_remove_recursive(rpcrdma_debugfs_dir);
	rpcrdma_debugfs_dir = NULL;
}
