// SPDX-License-Identifier: GPL-2.0
/*
 * Settings of client and server, and the server's counters.
 *
 * Names and ranges in /proc/sys/sunrpc/ are those of the in-tree module, including a
 * few that never had, or no longer have, an effect. The module parameters set the same
 * variables.
 */

#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/sunrpc/xprtrdma.h>

#include <rpcrdma/engine.h>

#include "../compat.h"
#include "settings.h"

enum {
	/*
	 * Bytes of a message in one Send: 8 KiB of data and the rest of their message.
	 * Registering memory for so few bytes costs more than copying them.
	 */
	RPCRDMA_USUAL_INLINE = 16384,
};

unsigned int rpcrdma_slot_table_entries = RPCRDMA_DEF_SLOT_TABLE;
unsigned int rpcrdma_max_inline_read = RPCRDMA_USUAL_INLINE;
unsigned int rpcrdma_max_inline_write = RPCRDMA_USUAL_INLINE;
unsigned int rpcrdma_pull_replies = 1;

unsigned int rpcrdma_reverse_level = RDMA2_RVRSDIR_GENL;

unsigned int svcrdma_max_requests = 64;
unsigned int svcrdma_max_bc_requests = 2;
unsigned int svcrdma_max_req_size = RPCRDMA_USUAL_INLINE;
unsigned int svcrdma_ord = 16;
unsigned int svcrdma_expose = 16 << 20;
unsigned int svcrdma_done_timeout = 30;
unsigned int svcrdma_max_memory;

unsigned int rpcrdma_min_version = RPCRDMA_VERS_1;
unsigned int rpcrdma_max_version = RPCRDMA_VERS_2;
unsigned int svcrdma_min_version = RPCRDMA_VERS_1;
unsigned int svcrdma_max_version = RPCRDMA_VERS_2;

unsigned int rpcrdma_max_reassembly = 262144;

struct percpu_counter svcrdma_stat_read;
struct percpu_counter svcrdma_stat_recv;
struct percpu_counter svcrdma_stat_sq_starve;
struct percpu_counter svcrdma_stat_write;

/*
 * Serialises all writers of settings, because the range of one setting may be another:
 * without it the lowest and the highest version, written at the same time, could cross.
 */
static DEFINE_MUTEX(rpcrdma_settings_mutex);

/**
 * rpcrdma_settings_versions - read the protocol versions of a role
 * @min: its setting for the lowest
 * @max: its setting for the highest
 * @low: gets the lowest version
 * @high: gets the highest version, not below @low
 *
 * Context: process context, may sleep.
 */
void rpcrdma_settings_versions(const unsigned int *min, const unsigned int *max,
			       u8 *low, u8 *high)
{
	mutex_lock(&rpcrdma_settings_mutex);
	*low = *min;
	*high = *max;
	mutex_unlock(&rpcrdma_settings_mutex);
}

/* ---- Ranges ---- */

static unsigned int slots_min = RPCRDMA_MIN_SLOT_TABLE;
static unsigned int slots_max = RPCRDMA_MAX_SLOT_TABLE;
static unsigned int inline_min = RPCRDMA_MIN_INLINE;
static unsigned int inline_max = RPCRDMA_MAX_INLINE;
static unsigned int requests_min = 4;
static unsigned int requests_max = 16384;
static unsigned int bc_requests_min = 1;
static unsigned int bc_requests_max = 64;
static unsigned int req_size_min = 4096;
static unsigned int req_size_max = 65536;
static unsigned int reassembly_max = 1048576;
static unsigned int ord_min = 1;
static unsigned int ord_max = 255;
static unsigned int expose_max = 1 << 30;
static unsigned int done_timeout_min = 1;
static unsigned int done_timeout_max = 600;
static unsigned int memory_max = 1 << 20;
static unsigned int pull_max = 1;
static unsigned int version_min = RPCRDMA_VERS_1;
static unsigned int version_max = RPCRDMA_VERS_2;
static unsigned int level_min = RDMA2_RVRSDIR_NONE;
static unsigned int level_max = RDMA2_RVRSDIR_GENL;

/* ---- Module parameters ---- */

#define RPCRDMA_PARAM(name, var, low, high, description)		\
static int set_##name(const char *val, const struct kernel_param *kp)	\
{									\
	int rc;								\
									\
	mutex_lock(&rpcrdma_settings_mutex);				\
	rc = param_set_uint_minmax(val, kp, low, high);			\
	mutex_unlock(&rpcrdma_settings_mutex);				\
	return rc;							\
}									\
static const struct kernel_param_ops ops_##name = {			\
	.set	= set_##name,						\
	.get	= param_get_uint,					\
};									\
module_param_cb(name, &ops_##name, &(var), 0644);			\
__MODULE_PARM_TYPE(name, "uint");					\
MODULE_PARM_DESC(name, description)

RPCRDMA_PARAM(slot_table_entries, rpcrdma_slot_table_entries, slots_min,
	      slots_max, "client: RPCs under way per connection (4..16384)");
RPCRDMA_PARAM(max_inline_read, rpcrdma_max_inline_read, inline_min, inline_max,
	      "client: octets of a Receive (1024..65536)");
RPCRDMA_PARAM(max_inline_write, rpcrdma_max_inline_write, inline_min,
	      inline_max, "client: octets of a Send (1024..65536)");
RPCRDMA_PARAM(reverse_level, rpcrdma_reverse_level, level_min, level_max,
	      "client: reverse-direction Calls taken: 0 none, 1 inline, 2 in parts, 3 with chunks");
RPCRDMA_PARAM(svc_max_requests, svcrdma_max_requests, requests_min,
	      requests_max, "server: requests under way per connection (4..16384)");
RPCRDMA_PARAM(svc_max_bc_requests, svcrdma_max_bc_requests, bc_requests_min,
	      bc_requests_max, "server: callbacks under way per connection (1..64)");
RPCRDMA_PARAM(svc_max_req_size, svcrdma_max_req_size, req_size_min,
	      req_size_max, "server: octets of a Receive and of a Send (4096..65536)");
RPCRDMA_PARAM(svc_ord, svcrdma_ord, ord_min, ord_max,
	      "server: RDMA Reads under way per connection (1..255)");
RPCRDMA_PARAM(svc_expose, svcrdma_expose, 0, expose_max,
	      "server: octets of Replies exposed per connection for the client to read, 0 for none (0..1073741824)");
RPCRDMA_PARAM(svc_done_timeout, svcrdma_done_timeout, done_timeout_min,
	      done_timeout_max,
	      "server: seconds that a client has to read such a Reply (1..600)");
RPCRDMA_PARAM(svc_max_memory, svcrdma_max_memory, 0, memory_max,
	      "server: MiB that all connections may hold, 0 for a quarter of the memory (0..1048576)");
RPCRDMA_PARAM(pull_replies, rpcrdma_pull_replies, 0, pull_max,
	      "client: read Replies that the server exposes (0..1)");
RPCRDMA_PARAM(max_reassembly, rpcrdma_max_reassembly, 0, reassembly_max,
	      "octets reassembled from a message in parts, 0 for none (0..1048576)");
RPCRDMA_PARAM(min_version, rpcrdma_min_version, RPCRDMA_VERS_1,
	      rpcrdma_max_version,
	      "client: lowest protocol version to use (1..2)");
RPCRDMA_PARAM(max_version, rpcrdma_max_version, rpcrdma_min_version,
	      RPCRDMA_VERS_2,
	      "client: highest protocol version to use (1..2)");
RPCRDMA_PARAM(svc_min_version, svcrdma_min_version, RPCRDMA_VERS_1,
	      svcrdma_max_version,
	      "server: lowest protocol version to use (1..2)");
RPCRDMA_PARAM(svc_max_version, svcrdma_max_version,
	      svcrdma_min_version, RPCRDMA_VERS_2,
	      "server: highest protocol version to use (1..2)");

/* ---- sysctl ---- */

static unsigned int padding_max = PAGE_SIZE;
static unsigned int memreg_min = RPCRDMA_BOUNCEBUFFERS;
static unsigned int memreg_max = RPCRDMA_LAST - 1;
static unsigned int memreg_strategy = RPCRDMA_FRWR;
static unsigned int inline_write_padding;
static int pad_optimize;
static unsigned int unused, zero;

static int rpcrdma_uint_handler(rpcrdma_ctl_table *table, int write,
				void *buffer, size_t *lenp, loff_t *ppos)
{
	int rc;

	mutex_lock(&rpcrdma_settings_mutex);
	rc = proc_douintvec_minmax(table, write, buffer, lenp, ppos);
	mutex_unlock(&rpcrdma_settings_mutex);
	return rc;
}

#define RPCRDMA_UINT(name, var, low, high) {				\
	.procname	= name,						\
	.data		= &(var),					\
	.maxlen		= sizeof(unsigned int),				\
	.mode		= 0644,						\
	.proc_handler	= rpcrdma_uint_handler,				\
	.extra1		= &(low),					\
	.extra2		= &(high),					\
}

#define RPCRDMA_COUNTER(name, var) {					\
	.procname	= name,						\
	.data		= &(var),					\
	.maxlen		= sizeof(u64),					\
	.mode		= 0644,						\
	.proc_handler	= rpcrdma_counter_handler,			\
}

static struct ctl_table rpcrdma_client_table[] = {
	RPCRDMA_UINT("rdma_slot_table_entries", rpcrdma_slot_table_entries,
		     slots_min, slots_max),
	RPCRDMA_UINT("rdma_max_inline_read", rpcrdma_max_inline_read,
		     inline_min, inline_max),
	RPCRDMA_UINT("rdma_max_inline_write", rpcrdma_max_inline_write,
		     inline_min, inline_max),
	RPCRDMA_UINT("rdma_pull_replies", rpcrdma_pull_replies,
		     zero, pull_max),
	RPCRDMA_UINT("rdma_min_version", rpcrdma_min_version,
		     version_min, rpcrdma_max_version),
	RPCRDMA_UINT("rdma_max_version", rpcrdma_max_version,
		     rpcrdma_min_version, version_max),
	RPCRDMA_UINT("rdma_reverse_level", rpcrdma_reverse_level,
		     level_min, level_max),
	/* Without effect, kept for scripts that write them: */
	RPCRDMA_UINT("rdma_inline_write_padding", inline_write_padding,
		     zero, padding_max),
	RPCRDMA_UINT("rdma_memreg_strategy", memreg_strategy,
		     memreg_min, memreg_max),
	{
		.procname	= "rdma_pad_optimize",
		.data		= &pad_optimize,
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
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
	RPCRDMA_UINT("max_requests", svcrdma_max_requests,
		     requests_min, requests_max),
	RPCRDMA_UINT("max_req_size", svcrdma_max_req_size,
		     req_size_min, req_size_max),
	RPCRDMA_UINT("max_outbound_read_requests", svcrdma_ord,
		     ord_min, ord_max),
	RPCRDMA_UINT("expose", svcrdma_expose, zero, expose_max),
	RPCRDMA_UINT("done_timeout", svcrdma_done_timeout,
		     done_timeout_min, done_timeout_max),
	RPCRDMA_UINT("max_memory", svcrdma_max_memory, zero, memory_max),
	RPCRDMA_UINT("min_version", svcrdma_min_version,
		     version_min, svcrdma_max_version),
	RPCRDMA_UINT("max_version", svcrdma_max_version,
		     svcrdma_min_version, version_max),
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

/**
 * rpcrdma_settings_init - register the settings
 *
 * Module start.
 * Return: 0 or -ENOMEM.
 */
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

/**
 * rpcrdma_settings_exit - unregister the settings
 *
 * Module end, when neither client nor server transports are left.
 */
void rpcrdma_settings_exit(void)
{
	unsigned int i;

	/* unregister_sysctl_table() accepts NULL. */
	unregister_sysctl_table(rpcrdma_server_header);
	unregister_sysctl_table(rpcrdma_client_header);
	for (i = 0; i < ARRAY_SIZE(rpcrdma_counters); i++)
		percpu_counter_destroy(rpcrdma_counters[i]);
}
