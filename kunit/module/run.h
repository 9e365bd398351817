/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of kunit.ko that replace the module loader's search for suites */
#ifndef RPCRDMA_RUN_H
#define RPCRDMA_RUN_H

struct kunit_module;
struct kunit_suite;

/**
 * suites_run() - Run those suites of a module that the parameter "suites" of kunit.ko names
 * @name: name of the module
 * @from: the first suite
 * @to: end of the suites
 *
 * Context: process context, may sleep.
 * Return: the suites that have run, to be passed to suites_free(), or an ERR_PTR.
 */
struct kunit_module *suites_run(const char *name, struct kunit_suite **from,
				struct kunit_suite **to);

/**
 * suites_free() - Free what suites_run() returned
 * @mod: the suites
 */
void suites_free(struct kunit_module *mod);

#endif /* RPCRDMA_RUN_H */
