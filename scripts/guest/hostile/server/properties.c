// SPDX-License-Identifier: GPL-2.0
/* Properties (WP 5) */
#include <stdarg.h>

#include "server.h"

static void odd_props(struct peer *p, int words, ...)
{
	va_list args;

	begin(p, 0, CONNPROP, 0);
	va_start(args, words);
	wv(p, words, args);
	va_end(args);
	send_out(p);
}

/* A CONNPROP is refused, but the opening continues (WP 4). */
#define BAD_PROPS(name, error, ...) \
	SCASE(properties, name, PROPS, "read", OK | STAYS, .code = error) \
	{ odd_props(p, __VA_ARGS__); }

BAD_PROPS(no_count, BAD_XDR, 0)
BAD_PROPS(count_lies, BAD_XDR, 4, 2, RBSIZ, 4, 4096)
BAD_PROPS(count_high, BAD_XDR, 4, 0xffffffff, RBSIZ, 4, 4096)
BAD_PROPS(length_lies, BAD_PROPVAL, 4, 1, 0x999, 5, 0)
BAD_PROPS(length_high, BAD_PROPVAL, 4, 1, 0x999, 0xffffffff, 0)
BAD_PROPS(long_value, BAD_PROPVAL, 5, 1, RBSIZ, 8, 1024, 0)
BAD_PROPS(rbsiz_1023, BAD_PROPVAL, 4, 1, RBSIZ, 4, 1023)
BAD_PROPS(sbsiz_0, BAD_PROPVAL, 4, 1, SBSIZ, 4, 0)
BAD_PROPS(brs_high, BAD_PROPVAL, 4, 1, BRS, 4, 0xffffffff)

SCASE(properties, more, PROPS, "read", OK | STAYS, .code = INVAL_CONT)
{
	begin(p, 0, CONNPROP, MORE);
	w(p, 0);
	send_out(p);
}

SCASE(properties, response, PROPS, "read", OK | STAYS)
{
	begin(p, 0, CONNPROP, RESPONSE);
	w(p, 0);
	send_out(p);
}

SCASE(properties, high, PROPS, "write", OK | STAYS)
{
	odd_props(p, 22, 7, SBSIZ, 4, 0xffffffff, RBSIZ, 4, 0xffffffff, RSSIZ, 4, 0xffffffff,
		  RCSIZ, 4, 0xffffffff, BRS, 4, 3, REPLY_READ, 4, 0, REASSEMBLY, 4, 0);
}

/* Without chunks and continued messages, large messages cannot be conveyed. */
SCASE(properties, low, PROPS, "write", FAILS | STAYS)
{
	odd_props(p, 16, 5, SBSIZ, 4, 1024, RBSIZ, 4, 1024, RSSIZ, 4, 0, RCSIZ, 4, 0,
		  REASSEMBLY, 4, 0);
}

SCASE(properties, one_segment, PROPS, "write", OK | STAYS)
{
	odd_props(p, 13, 4, RBSIZ, 4, 1024, SBSIZ, 4, 1024, RCSIZ, 4, 2, REASSEMBLY, 4, 0);
}

SCASE(properties, again, READ, "read", OK | STAYS, .code = INVAL_HTYPE)
{
	begin(p, 0, CONNPROP, 0);
	w(p, 0);
	send_out(p);
	send_good(c);
}
