// SPDX-License-Identifier: GPL-2.0
/*
 * The endpoint's suites again, over the device in memory: with addresses that
 * have to be mapped, exact limits, and checks of every key.
 */
#define SHIM_OVER		"_memdev"
#define SHIM_SUITE_INIT		shim_mem_suite_init
#include "shim_ep_test.c"
