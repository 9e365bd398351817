// SPDX-License-Identifier: GPL-2.0
/* The hostile client's connections, until they are open */
#include <stdarg.h>

#include "client.h"

struct peer *connected(void)
{
	struct peer *p = peer_new();

	peer_connect(p, addr, port);
	return p;
}

void good_props(struct peer *p)
{
	w(p, 4);
	prop(p, SBSIZ, 4096);
	prop(p, RBSIZ, 4096);
	prop(p, RSSIZ, MAX_OCTETS);
	prop(p, RCSIZ, 16);
}

void send_props(struct peer *p)
{
	begin(p, 0, CONNPROP, 0);
	good_props(p);
	send_out(p);
}

void open_it(struct peer *p)
{
	send_props(p);
	expect_connprop(p);
}

struct peer *opened(void)
{
	struct peer *p = connected();

	open_it(p);
	return p;
}

struct peer *opened_with(int count, ...)
{
	struct peer *p = connected();
	va_list args;

	begin(p, 0, CONNPROP, 0);
	w(p, count);
	va_start(args, count);
	while (count--) {
		uint32_t id = va_arg(args, uint32_t);

		prop(p, id, va_arg(args, uint32_t));
	}
	va_end(args);
	send_out(p);
	expect_connprop(p);
	return p;
}

struct peer *connected1(void)
{
	struct peer *p = peer_new();

	p->version = 1;
	peer_connect(p, addr, port);
	return p;
}

void set_parameter(const char *name, uint32_t value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/rpcrdma/parameters/%s", name);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%u\n", value) < 0 || fclose(f))
		bad("%s cannot be set to %u", path, value);
}

struct peer *opened_shut(void)
{
	struct peer *p = connected();

	p->credit = 1;
	open_it(p);
	p->credit = 0;
	return p;
}
