// SPDX-License-Identifier: GPL-2.0
/* The trail: events that are shown if a case fails */
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "server.h"

/* Lines, and bytes of each */
enum { TRAIL = 40, TRAIL_LINE = 160 };

static char trail[TRAIL][TRAIL_LINE];
static unsigned int trail_len;

void __attribute__((format(printf, 1, 2))) trail_add(const char *fmt, ...)
{
	char *line = trail[trail_len++ % TRAIL];
	struct timespec ts;
	va_list args;
	int n;

	/* Return the time in the clock of the kernel's log. */
	clock_gettime(CLOCK_BOOTTIME, &ts);
	n = snprintf(line, TRAIL_LINE, "%ld.%03ld ", (long)ts.tv_sec, ts.tv_nsec / 1000000);
	va_start(args, fmt);
	vsnprintf(line + n, TRAIL_LINE - n, fmt, args);
	va_end(args);
}

void trail_begin(void)
{
	trail_len = 0;
}

bool trail_unless(bool well)
{
	unsigned int i = trail_len < TRAIL ? 0 : trail_len - TRAIL;

	if (well)
		return true;
	for (; i < trail_len; i++)
		printf("# %s\n", trail[i % TRAIL]);
	fflush(stdout);
	if (system("{ [ ! -e /sys/kernel/debug/sunrpc ] ||"
		   " cat /sys/kernel/debug/sunrpc/rpc_clnt/*/tasks;"
		   " dmesg | tail -n 25; } | sed 's/^/# /'"))
		printf("# the kernel's log cannot be shown\n");
	return false;
}
