/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test cases by name. Each role has a separate list, and defines the actions of its cases.
 */
#ifndef HOSTILE_CASES_H
#define HOSTILE_CASES_H

#include <stdbool.h>

struct testcase {
	const char *group, *name;
	struct testcase *next;
};

struct testlist {
	struct testcase *first, *last;
};

void testcase_add(struct testlist *list, struct testcase *c);
/* Return true if one of the @count patterns is the case's GROUP or GROUP.NAME. */
bool testcase_selected(const struct testcase *c, int count, char **patterns);

/*
 * Print the result of the test @name: passed if @why is NULL. Return true if it passed.
 */
bool __attribute__((format(printf, 2, 3))) result(const char *why, const char *name, ...);

/*
 * Add @case_var, which begins with a struct testcase, to @list before main() runs. The
 * cases of a source file are in the order of their definition.
 */
#define TESTCASE_ADD(list, case_var)						\
	static void __attribute__((constructor)) add_##case_var(void)		\
	{									\
		testcase_add(list, &(case_var).test);				\
	}

#endif
