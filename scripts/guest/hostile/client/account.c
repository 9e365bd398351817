// SPDX-License-Identifier: GPL-2.0
/* The memory that the server reports for its connections */
#include <string.h>

#include "client.h"

/* The sum over all connections, and the maximum of one connection */
struct held {
	unsigned long long sum, most;
};

static unsigned long long value_of(const char *line, const char *field)
{
	const char *at = strstr(line, field);
	unsigned long long value;

	if (!at || sscanf(at + strlen(field), "=%llu", &value) != 1)
		bad("a connection has no %s", field);
	return value;
}

/* Add up @count fields of each connection's line. */
static struct held held_by(const char *const *fields, uint32_t count)
{
	struct held held = { 0, 0 };
	unsigned long long value;
	char line[4096];
	uint32_t i;
	FILE *f;

	f = fopen("/sys/kernel/debug/rpcrdma/connections", "r");
	if (!f)
		bad("debugfs has no list of connections");
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "role=server", 11))
			continue;
		for (i = 0, value = 0; i < count; i++)
			value += value_of(line, fields[i]);
		held.sum += value;
		if (value > held.most)
			held.most = value;
	}
	fclose(f);
	return held;
}

unsigned long long largest(const char *field)
{
	return held_by(&field, 1).most;
}

unsigned long long memory_held(void)
{
	static const char *const fields[] = {
		"memory_fixed", "memory_buffers", "memory_parts", "memory_calls",
		"memory_replies",
	};

	return held_by(fields, sizeof(fields) / sizeof(fields[0])).sum;
}
