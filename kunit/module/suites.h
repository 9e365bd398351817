/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by one file of each test module. In a kernel with KUnit, the module loader finds
 * the suites. In another kernel, with the kunit.ko of scripts/kunit-module.sh, the module
 * runs its suites itself when it is loaded.
 */
#ifndef RPCRDMA_SUITES_H
#define RPCRDMA_SUITES_H

#ifdef RPCRDMA_KUNIT_MODULE

#include <linux/err.h>
#include <linux/module.h>

#include "run.h"

/* suites.lds defines both. */
extern struct kunit_suite *suites_begin[], *suites_end[];

static struct kunit_module *suites;

static int __init suites_init(void)
{
	suites = suites_run(THIS_MODULE->name, suites_begin, suites_end);
	return PTR_ERR_OR_ZERO(suites);
}
module_init(suites_init);

static void __exit suites_exit(void)
{
	suites_free(suites);
}
module_exit(suites_exit);

#endif /* RPCRDMA_KUNIT_MODULE */

#endif /* RPCRDMA_SUITES_H */
