/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before each file of lib/kunit. The kernel's structures keep their layout without
 * CONFIG_KUNIT, because the headers that define them are read first. KUnit's own headers and
 * files are then compiled as those of a module.
 *
 * scripts/kunit-module.sh replaces two names in copies of these files: current->kunit_test by
 * kunit_current_test, and struct module by struct kunit_module.
 */
#ifndef RPCRDMA_KUNIT_H
#define RPCRDMA_KUNIT_H

#include <linux/module.h>
#include <linux/sched.h>

#define CONFIG_KUNIT_MODULE			1
#define CONFIG_KUNIT_DEFAULT_ENABLED		1
#define CONFIG_KUNIT_AUTORUN_ENABLED		1
#define CONFIG_KUNIT_DEFAULT_FILTER_GLOB	""
#define CONFIG_KUNIT_DEFAULT_FILTER		""
#define CONFIG_KUNIT_DEFAULT_FILTER_ACTION	""
#define CONFIG_KUNIT_DEFAULT_TIMEOUT		300

struct kunit;
struct kunit_suite;

/*
 * The running test, in place of a member of struct task_struct. One is enough: suites run one
 * after the other, and no code of the kernel asks for it.
 */
extern struct kunit *kunit_current_test;

/* The members of struct module that KUnit uses */
struct kunit_module {
	struct kunit_suite	**kunit_suites, **kunit_init_suites;
	int			num_kunit_suites, num_kunit_init_suites;
};

/* The loader reports no suites. run.c calls the notifier instead. */
int suites_notifier(struct notifier_block *nb);
#define register_module_notifier(nb)	suites_notifier(nb)
#define unregister_module_notifier(nb)	suites_notifier(NULL)

/* A copy, which prevents that the kernel's is included later */
#include "include/kunit/test-bug.h"

#endif /* RPCRDMA_KUNIT_H */
