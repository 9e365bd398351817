/* SPDX-License-Identifier: GPL-2.0 */
/* The random numbers of a walk, which depend on the seed only */
#ifndef HOSTILE_RANDOM_H
#define HOSTILE_RANDOM_H

#include <stdint.h>

void random_begin(uint64_t seed);
uint64_t rnd(void);
/* Return a number from 0 to @n - 1. */
uint32_t below(uint32_t n);

#endif
