// SPDX-License-Identifier: GPL-2.0
/*
 * Settings of client and server, and the server's counters. The core has the ranges.
 *
 * Names in /proc/sys/sunrpc/ are those of the in-tree module, including a few that never
 * had, or no longer have, an effect. The module parameters set the same variables.
 */

#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/sunrpc/xprtrdma.h>

#include "../compat.h"
#include "settings.h"

struct rpcrdma_settings rpcrdma_settings =
	RPCRDMA_DEFAULT_SETTINGS(PAGE_SIZE);

struct percpu_counter svcrdma_stat_read;
struct percpu_counter svcrdma_stat_recv;
struct percpu_counter svcrdma_stat_sq_starve;
struct percpu_counter svcrdma_stat_write;

/*
 * Serialises all writers of settings, because the range of one setting may be another:
 * without it the lowest and the highest version, written at the same time, could cross.
 */
static DEFINE_MUTEX(rpcrdma_settings_mutex);

struct rpcrdma_settings rpcrdma_settings_read(void)
{
	struct rpcrdma_settings settings;

	mutex_lock(&rpcrdma_settings_mutex);
	settings = rpcrdma_settings;
	mutex_unlock(&rpcrdma_settings_mutex);
	return settings;
}

/* ---- Module parameters ---- */

static int rpcrdma_param_set(const char *val, const struct kernel_param *kp)
{
	unsigned int value, *setting = kp->arg;
	struct rpcrdma_range range;
	int rc = kstrtouint(val, 0, &value);

	if (rc)
		return rc;
	mutex_lock(&rpcrdma_settings_mutex);
	range = rpcrdma_setting_range(&rpcrdma_settings, setting);
	if (value >= range.low && value <= range.high)
		*setting = value;
	else
		rc = -EINVAL;
	mutex_unlock(&rpcrdma_settings_mutex);
	return rc;
}

static const struct kernel_param_ops rpcrdma_param_ops = {
	.set	= rpcrdma_param_set,
	.get	= param_get_uint,
};

/* A parameter has the name of its member of struct rpcrdma_settings. */
#define RPCRDMA_PARAM(name, description)				\
	module_param_cb(name, &rpcrdma_param_ops, &rpcrdma_settings.name, 0644); \
	__MODULE_PARM_TYPE(name, "uint");				\
	MODULE_PARM_DESC(name, description)

RPCRDMA_PARAM(slot_table_entries, "client: RPCs outstanding per connection (4..16384)");
RPCRDMA_PARAM(max_inline_read, "client: bytes of a Receive (1024..65536)");
RPCRDMA_PARAM(max_inline_write, "client: bytes of a Send (1024..65536)");
RPCRDMA_PARAM(reverse_level,
	      "client: reverse-direction Calls accepted: 0 none, 1 inline, 2 continued, 3 with chunks");
RPCRDMA_PARAM(svc_max_requests, "server: Calls outstanding per connection (4..16384)");
RPCRDMA_PARAM(svc_max_bc_requests, "server: callbacks outstanding per connection (1..64)");
RPCRDMA_PARAM(svc_max_req_size, "server: bytes of a Receive and of a Send (4096..65536)");
RPCRDMA_PARAM(svc_ord, "server: RDMA Reads outstanding per connection (1..255)");
RPCRDMA_PARAM(svc_expose,
	      "server: bytes of Replies exposed per connection for the client to pull, 0 for none (0..1073741824)");
RPCRDMA_PARAM(svc_done_timeout,
	      "server: seconds for a client to pull an exposed Reply (1..600)");
RPCRDMA_PARAM(svc_max_memory,
	      "server: MiB charged to all connections together, 0 for a quarter of the memory (0..1048576)");
RPCRDMA_PARAM(pull_replies, "client: pull Replies that the server exposes (0..1)");
RPCRDMA_PARAM(max_reassembly,
	      "bytes of a continued message, 0 for none (0..1048576)");
RPCRDMA_PARAM(min_version, "client: lowest protocol version to use (1..2)");
RPCRDMA_PARAM(max_version, "client: highest protocol version to use (1..2)");
RPCRDMA_PARAM(svc_min_version, "server: lowest protocol version to use (1..2)");
RPCRDMA_PARAM(host_auth,
	      "client: host authentication: 0 none, 1 if both ends have a secret, 2 required");
RPCRDMA_PARAM(svc_host_auth,
	      "server: host authentication: 0 none, 1 if both ends have a secret, 2 required");
RPCRDMA_PARAM(auth_dh,
	      "Diffie-Hellman in host authentication: 0 none, 1 if both ends have a group, 2 required");
RPCRDMA_PARAM(svc_max_version, "server: highest protocol version to use (1..2)");

/* ---- sysctl ---- */

static unsigned int padding_max = PAGE_SIZE;
static unsigned int memreg_min = RPCRDMA_BOUNCEBUFFERS;
static unsigned int memreg_max = RPCRDMA_LAST - 1;
static unsigned int memreg_strategy = RPCRDMA_FRWR;
static unsigned int inline_write_padding;
static int pad_optimize;
static unsigned int unused, zero;

static int rpcrdma_setting_handler(rpcrdma_ctl_table *table, int write,
				   void *buffer, size_t *lenp, loff_t *ppos)
{
	struct ctl_table entry = *table;
	struct rpcrdma_range range;
	int rc;

	mutex_lock(&rpcrdma_settings_mutex);
	range = rpcrdma_setting_range(&rpcrdma_settings, table->data);
	entry.extra1 = &range.low;
	entry.extra2 = &range.high;
	rc = proc_douintvec_minmax(&entry, write, buffer, lenp, ppos);
	mutex_unlock(&rpcrdma_settings_mutex);
	return rc;
}

#define RPCRDMA_ENTRY(name, var, handler, ...) {			\
	.procname	= name,						\
	.data		= &(var),					\
	.maxlen		= sizeof(var),					\
	.mode		= 0644,						\
	.proc_handler	= handler, ##__VA_ARGS__			\
}
#define RPCRDMA_SETTING(name, member)					\
	RPCRDMA_ENTRY(name, rpcrdma_settings.member, rpcrdma_setting_handler)
#define RPCRDMA_UINT(name, var, low, high)				\
	RPCRDMA_ENTRY(name, var, proc_douintvec_minmax,			\
		      .extra1 = &(low), .extra2 = &(high))
#define RPCRDMA_COUNTER(name, var)					\
	RPCRDMA_ENTRY(name, var, rpcrdma_counter_handler)

static struct ctl_table rpcrdma_client_table[] = {
	RPCRDMA_SETTING("rdma_slot_table_entries", slot_table_entries),
	RPCRDMA_SETTING("rdma_max_inline_read", max_inline_read),
	RPCRDMA_SETTING("rdma_max_inline_write", max_inline_write),
	RPCRDMA_SETTING("rdma_pull_replies", pull_replies),
	RPCRDMA_SETTING("rdma_min_version", min_version),
	RPCRDMA_SETTING("rdma_max_version", max_version),
	RPCRDMA_SETTING("rdma_reverse_level", reverse_level),
	RPCRDMA_SETTING("rdma_host_auth", host_auth),
	/* Without effect, kept for scripts that write them: */
	RPCRDMA_UINT("rdma_inline_write_padding", inline_write_padding,
		     zero, padding_max),
	RPCRDMA_UINT("rdma_memreg_strategy", memreg_strategy,
		     memreg_min, memreg_max),
	RPCRDMA_ENTRY("rdma_pad_optimize", pad_optimize, proc_dointvec),
	{ }
};

/* Return the sum on a read; set it to zero on any write. */
static int rpcrdma_counter_handler(rpcrdma_ctl_table *table, int write,
				   void *buffer, size_t *lenp, loff_t *ppos)
{
	struct percpu_counter *counter = table->data;
	char text[24];
	size_t len;

	if (write) {
		percpu_counter_set(counter, 0);
		return 0;
	}
	len = scnprintf(text, sizeof(text), "%lld\n",
			percpu_counter_sum_positive(counter));
	if (*ppos >= len) {
		*lenp = 0;
		return 0;
	}
	len = min_t(size_t, len - *ppos, *lenp);
	memcpy(buffer, text + *ppos, len);
	*lenp = len;
	*ppos += len;
	return 0;
}

static struct ctl_table rpcrdma_server_table[] = {
	RPCRDMA_SETTING("max_requests", svc_max_requests),
	RPCRDMA_SETTING("max_req_size", svc_max_req_size),
	RPCRDMA_SETTING("max_outbound_read_requests", svc_ord),
	RPCRDMA_SETTING("expose", svc_expose),
	RPCRDMA_SETTING("done_timeout", svc_done_timeout),
	RPCRDMA_SETTING("max_memory", svc_max_memory),
	RPCRDMA_SETTING("min_version", svc_min_version),
	RPCRDMA_SETTING("max_version", svc_max_version),
	RPCRDMA_SETTING("host_auth", svc_host_auth),
	RPCRDMA_COUNTER("rdma_stat_read", svcrdma_stat_read),
	RPCRDMA_COUNTER("rdma_stat_recv", svcrdma_stat_recv),
	RPCRDMA_COUNTER("rdma_stat_write", svcrdma_stat_write),
	RPCRDMA_COUNTER("rdma_stat_sq_starve", svcrdma_stat_sq_starve),
	/* Always zero, kept for scripts that read them: */
	RPCRDMA_UINT("rdma_stat_rq_starve", unused, zero, zero),
	RPCRDMA_UINT("rdma_stat_rq_poll", unused, zero, zero),
	RPCRDMA_UINT("rdma_stat_rq_prod", unused, zero, zero),
	RPCRDMA_UINT("rdma_stat_sq_poll", unused, zero, zero),
	RPCRDMA_UINT("rdma_stat_sq_prod", unused, zero, zero),
	{ }
};

static struct ctl_table_header *rpcrdma_client_header;
static struct ctl_table_header *rpcrdma_server_header;

static struct percpu_counter *const rpcrdma_counters[] = {
	&svcrdma_stat_read,
	&svcrdma_stat_recv,
	&svcrdma_stat_sq_starve,
	&svcrdma_stat_write,
};

int rpcrdma_settings_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rpcrdma_counters); i++)
		if (percpu_counter_init(rpcrdma_counters[i], 0, GFP_KERNEL))
			goto out_counters;

	if (!IS_ENABLED(CONFIG_SYSCTL))
		return 0;
	rpcrdma_client_header =
		rpcrdma_register_sysctl("sunrpc", rpcrdma_client_table,
					ARRAY_SIZE(rpcrdma_client_table) - 1);
	if (!rpcrdma_client_header)
		goto out_counters;
	rpcrdma_server_header =
		rpcrdma_register_sysctl("sunrpc/svc_rdma", rpcrdma_server_table,
					ARRAY_SIZE(rpcrdma_server_table) - 1);
	if (!rpcrdma_server_header)
		goto out_client;
	return 0;

out_client:
	unregister_sysctl_table(rpcrdma_client_header);
	rpcrdma_client_header = NULL;
out_counters:
	while (i--)
		percpu_counter_destroy(rpcrdma_counters[i]);
	return -ENOMEM;
}

void rpcrdma_settings_exit(void)
{
	unsigned int i;

	/* unregister_sysctl_table() accepts NULL. */
	unregister_sysctl_table(rpcrdma_server_header);
	unregister_sysctl_table(rpcrdma_client_header);
	for (i = 0; i < ARRAY_SIZE(rpcrdma_counters); i++)
		percpu_counter_destroy(rpcrdma_counters[i]);
}
