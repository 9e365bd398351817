// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/rpcrdma/connections: a line for each connection. Each line has the
 * same fields "key=value" in the same order, separated by one space, for scripts.
 */

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "debugfs.h"
#include "netlink.h"

static struct dentry *rpcrdma_debugfs_dir;

/*
 * A position is the number of a connection, so that none is skipped if others end between
 * two reads. seq_file enlarges its buffer until the output between start and stop fits, and
 * repeats that output. Here it is one connection, so that a long list is printed only once,
 * and the reference to a connection is held only while its line is printed.
 */
static void *connections_start(struct seq_file *m, loff_t *pos)
{
	return rpcrdma_ep_from(*pos);
}

static void *connections_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct rpcrdma_ep *ep = v;

	*pos = ep->number + 1;
	return rpcrdma_ep_next(ep);
}

static void connections_stop(struct seq_file *m, void *v)
{
	if (v)
		rpcrdma_ep_put(v);
}

static int connections_show(struct seq_file *m, void *v)
{
	struct rpcrdma_conn_view view;
	struct rpcrdma_ep *ep = v;
	u32 i;

	rpcrdma_ep_view(ep, &view);
	seq_printf(m, "role=%s local=%pISpc remote=%pISpc version=%u why=%s auth=%s auth_hash=%s identity=%s auth_dh=%s state=%s",
		   view.role, &ep->local, &ep->remote, view.version, view.why,
		   view.auth, view.auth_hash, view.identity, view.auth_dh, view.state);
	for (i = 0; i < RPCRDMA_NR_FIGURES; i++)
		seq_printf(m, " %s=%llu", rpcrdma_figure_info(i)->name, view.numbers[i]);
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
