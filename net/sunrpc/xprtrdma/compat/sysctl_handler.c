// SPDX-License-Identifier: GPL-2.0
/*
 * The function that reads and writes a setting
 *
 * Forms: HAVE_CTL_TABLE_CONST_HANDLER HAVE_CTL_TABLE_HANDLER
 */
#include <linux/sysctl.h>

#ifdef HAVE_CTL_TABLE_CONST_HANDLER
#define probed_table const struct ctl_table
#else
#define probed_table struct ctl_table
#endif

static int probe_handler(probed_table *table, int write, void *buffer,
			 size_t *length, loff_t *pos)
{
	return proc_douintvec_minmax(table, write, buffer, length, pos);
}

extern struct ctl_table probed;
struct ctl_table probed = { .proc_handler = probe_handler };
