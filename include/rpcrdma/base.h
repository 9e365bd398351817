/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Integers, serial numbers and pages: for the kernel, and for C and C++ in user space.
 */
#ifndef RPCRDMA_BASE_H
#define RPCRDMA_BASE_H

#ifdef __cplusplus
/* No system header: the engine is freestanding. Same layout as in the kernel. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#ifndef NULL
#define NULL nullptr
#endif

#include "serial.hh"
#else
#ifdef __KERNEL__
#include <linux/types.h>
#else
/* No kernel header: these are the names that the kernel uses internally. */
#include <stdbool.h>
#include <stddef.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#endif

typedef u32 rpcrdma_serial;
#endif

/* Return @octets, rounded up to whole pages of @page bytes. */
static inline u64 rpcrdma_whole_pages(u64 page, u64 octets)
{
	return (octets + page - 1) & ~(page - 1);
}

#endif /* RPCRDMA_BASE_H */
