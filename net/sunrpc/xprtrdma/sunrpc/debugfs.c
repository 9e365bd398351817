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
	struct rpcrdma_quota_account memory;
	u64 figures[RPCRDMA_NR_FIGURES];
	struct rpcrdma_ep *ep = v;
	const char *why;
	u8 stage, version;
	u32 i;

	spin_lock(&ep->lock);
	rpcrdma_conn_figures(&ep->core.conn, figures);
	figures[RPCRDMA_FIGURE_REMOTE_INV] = ep->core.arrivals.remote_inv;
	stage = ep->core.life.stage;
	version = ep->core.conn.version;
	why = rpcrdma_version_why(&ep->core.conn);
	spin_unlock(&ep->lock);
	figures[RPCRDMA_FIGURE_LOCAL_INV] = atomic64_read(&ep->local_inv);
	spin_lock(&ep->mr_lock);
	rpcrdma_mr_pool_figures(&ep->core.mrs.pool, figures);
	spin_unlock(&ep->mr_lock);
	rpcrdma_ep_memory(ep, &memory);
	rpcrdma_quota_figures(&memory, figures);

	seq_printf(m, "role=%s local=%pISpc remote=%pISpc version=%u why=%s state=%s",
		   ep->client ? "client" : "server", &ep->local, &ep->remote,
		   version, why, rpcrdma_stage_name(stage));
	for (i = 0; i < RPCRDMA_NR_FIGURES; i++)
		seq_printf(m, " %s=%llu", rpcrdma_figure_name(i), figures[i]);
	seq_putc(m, '\n');
	return 0;
}

static const struct seq_operations connections_sops = {
	.start	= connections_start,
	.next	= connections_next,
	.stop	= connections_stop,
	.show	= connections_show,
};

DEFINE_SEQ_ATTRIBUTE(connections);

void rpcrdma_debugfs_init(void)
{
	rpcrdma_debugfs_dir = debugfs_create_dir("rpcrdma", NULL);
	debugfs_create_file("connections", 0444, rpcrdma_debugfs_dir, NULL,
			    &connections_fops);
}

void rpcrdma_debugfs_exit(void)
{
	debugfs_remove_recursive(rpcrdma_debugfs_dir);
	rpcrdma_debugfs_dir = NULL;
}
