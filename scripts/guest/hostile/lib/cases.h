/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test cases by their names. What a case does is known to the role that has it:
 * each has a list of its own.
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
/* Return whether one of the @count patterns is the case's GROUP, or its GROUP.NAME. */
bool testcase_selected(const struct testcase *c, int count, char **patterns);

/*
 * Print how the test of this name went: well, if @why is NULL. Return whether it did.
 */
bool __attribute__((format(printf, 2, 3))) result(const char *why, const char *name, ...);

/*
 * Add @case_var, which begins with a struct testcase, to @list before main(). The cases
 * of a source are in the order of their definition.
 */
#define TESTCASE_ADD(list, case_var)						\
	static void __attribute__((constructor)) add_##case_var(void)		\
	{									\
		testcase_add(list, &(case_var).test);				\
	}

#endif
