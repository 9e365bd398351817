// SPDX-License-Identifier: GPL-2.0
/*
 * The header of unaligned accesses
 *
 * Forms: HAVE_LINUX_UNALIGNED_H HAVE_ASM_UNALIGNED_H
 */
#ifdef HAVE_LINUX_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

u32 probe(const void *p);

u32 probe(const void *p)
{
	return get_unaligned_be32(p);
}
