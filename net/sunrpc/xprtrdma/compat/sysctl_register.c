// SPDX-License-Identifier: GPL-2.0
/*
 * Registration of a table of settings
 *
 * Forms: HAVE_REGISTER_SYSCTL_SZ HAVE_REGISTER_SYSCTL
 */
#include <linux/sysctl.h>

struct ctl_table_header *probe(struct ctl_table *table);

struct ctl_table_header *probe(struct ctl_table *table)
{
#ifdef HAVE_REGISTER_SYSCTL_SZ
	return register_sysctl_sz("sunrpc", table, (size_t)1);
#else
	return register_sysctl("sunrpc", table);
#endif
}
