// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"

void testcase_add(struct testlist *list, struct testcase *c)
{
	if (list->last)
		list->last->next = c;
	else
		list->first = c;
	list->last = c;
}

/* Return true if @pattern is GROUP or GROUP.NAME. */
static bool selects(const char *pattern, const struct testcase *c)
{
	size_t n = strlen(c->group);

	if (strncmp(pattern, c->group, n))
		return false;
	return !pattern[n] || (pattern[n] == '.' && !strcmp(pattern + n + 1, c->name));
}

bool testcase_selected(const struct testcase *c, int count, char **patterns)
{
	int i;

	for (i = 0; i < count; i++)
		if (selects(patterns[i], c))
			return true;
	return false;
}

bool result(const char *why, const char *name, ...)
{
	va_list args;

	printf(why ? "not ok " : "ok ");
	va_start(args, name);
	vprintf(name, args);
	va_end(args);
	if (why)
		printf(" - %s", why);
	putchar('\n');
	return !why;
}
