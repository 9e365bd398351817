// SPDX-License-Identifier: GPL-2.0
/*
 * The endpoint's suites over the device in memory, which checks DMA addresses, limits
 * and keys
 */
#define LOOP_OVER		"_memdev"
#define LOOP_SUITE_INIT		loop_mem_suite_init

#include "credits_test.c"
#include "data_test.c"
#include "close_test.c"
#include "pulled_test.c"
#include "removal_test.c"
