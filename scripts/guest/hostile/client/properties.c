// SPDX-License-Identifier: GPL-2.0
/* Properties (WP 5) */
#include <stdarg.h>

#include "client.h"

/* A CONNPROP is refused, but the opening continues (WP 4). */
static void refused_props(struct peer *p, uint32_t code)
{
	uint32_t xid = get(p->out, 0);

	send_out(p);
	expect_error(p, xid, code, 0);
	expect_connprop(p);
	alive(p);
}

static void bad_props(uint32_t code, int words, ...)
{
	struct peer *p = connected();
	va_list args;

	begin(p, 0, CONNPROP, 0);
	va_start(args, words);
	wv(p, words, args);
	va_end(args);
	refused_props(p, code);
}

CASE(properties, no_count) { bad_props(BAD_XDR, 0); }
CASE(properties, count_lies) { bad_props(BAD_XDR, 4, 2, RBSIZ, 4, 4096); }
CASE(properties, count_high) { bad_props(BAD_XDR, 4, 0xffffffff, RBSIZ, 4, 4096); }
CASE(properties, no_length) { bad_props(BAD_XDR, 2, 1, RBSIZ); }
CASE(properties, no_data) { bad_props(BAD_PROPVAL, 3, 1, RBSIZ, 4); }
CASE(properties, length_lies) { bad_props(BAD_PROPVAL, 4, 1, 0x999, 5, 0); }
CASE(properties, length_high) { bad_props(BAD_PROPVAL, 4, 1, 0x999, 0xffffffff, 0); }
CASE(properties, length_wraps) { bad_props(BAD_PROPVAL, 4, 1, 0x999, 0xfffffffd, 0); }
CASE(properties, short_value) { bad_props(BAD_PROPVAL, 4, 1, RBSIZ, 3, 0x00100000); }
CASE(properties, long_value) { bad_props(BAD_PROPVAL, 5, 1, SBSIZ, 8, 4096, 0); }
CASE(properties, sbsiz_0) { bad_props(BAD_PROPVAL, 4, 1, SBSIZ, 4, 0); }
CASE(properties, sbsiz_1023) { bad_props(BAD_PROPVAL, 4, 1, SBSIZ, 4, 1023); }
CASE(properties, rbsiz_0) { bad_props(BAD_PROPVAL, 4, 1, RBSIZ, 4, 0); }
CASE(properties, rbsiz_1023) { bad_props(BAD_PROPVAL, 4, 1, RBSIZ, 4, 1023); }
CASE(properties, brs_4) { bad_props(BAD_PROPVAL, 4, 1, BRS, 4, 4); }
CASE(properties, brs_high) { bad_props(BAD_PROPVAL, 4, 1, BRS, 4, 0xffffffff); }

CASE(properties, more)
{
	struct peer *p = connected();

	begin(p, 0, CONNPROP, MORE);
	good_props(p);
	refused_props(p, INVAL_CONT);
}

CASE(properties, xid)
{
	struct peer *p = connected();

	begin(p, 0xabcdef, CONNPROP, 0);
	w(p, 7);
	refused_props(p, BAD_XDR);
}

CASE(properties, response)
{
	struct peer *p = connected();

	begin(p, 0, CONNPROP, RESPONSE);
	good_props(p);
	send_out(p);
	expect_connprop(p);
	alive(p);
}

CASE(properties, none)
{
	opened_with(0);
}

CASE(properties, extremes)
{
	struct peer *p;

	alive(opened_with(8, SBSIZ, 0xffffffff, RBSIZ, 0xffffffff, RSSIZ, 0xffffffff,
			  RCSIZ, 0xffffffff, BRS, 3, REPLY_READ, 0xffffffff,
			  REASSEMBLY, 0xffffffff, 0xffffffff, 0xffffffff));
	alive(opened_with(7, SBSIZ, 1024, RBSIZ, 1024, RSSIZ, 0, RCSIZ, 0, BRS, 0,
			  REPLY_READ, 0, REASSEMBLY, 0));

	/*
	 * All properties with default values; unknown ones, to be skipped; garbage after
	 * the last one
	 */
	p = connected();
	begin(p, 0, CONNPROP, 0);
	w(p, 9);
	ww(p, 14, SBSIZ, 0, RBSIZ, 0, RSSIZ, 0, RCSIZ, 0, BRS, 0, REPLY_READ, 0, REASSEMBLY, 0);
	ww(p, 4, HOSTAUTH, 5, 0x41414141, 0x41000000);
	ww(p, 2, 0, 0);
	ww(p, 3, 0xdeadbeef, 0xffffffff, 0);
	send_out(p);
	expect_connprop(p);
	alive(p);
}

CASE(properties, as_long_as_a_receive)
{
	struct peer *p = connected();

	begin(p, 0, CONNPROP, 0);
	w(p, (SERVER_RECV - PREFIX - 4) / 12);
	while (p->len + 12 <= SERVER_RECV)
		prop(p, RBSIZ, 4096 + p->len);
	send_out(p);
	expect_connprop(p);
	alive(p);
}
