/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks for the plugin scripts/cost/insns.c, which counts the instructions executed
 * between them. nopl 0x3a5c7d<kind>(%rax) does nothing.
 */
#ifndef GUEST_MARK_H
#define GUEST_MARK_H

#define MARK_BEGIN __asm__ volatile(".byte 0x0f,0x1f,0x80,1,0x7d,0x5c,0x3a" ::: "memory")
#define MARK_END __asm__ volatile(".byte 0x0f,0x1f,0x80,2,0x7d,0x5c,0x3a" ::: "memory")

#endif
