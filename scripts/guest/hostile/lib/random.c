// SPDX-License-Identifier: GPL-2.0
#include "random.h"

static uint64_t state;

void random_begin(uint64_t seed)
{
	state = seed;
}

uint64_t rnd(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint32_t below(uint32_t n)
{
	return rnd() % n;
}
