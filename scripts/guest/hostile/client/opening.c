// SPDX-License-Identifier: GPL-2.0
/* Opening (WP 4) */
#include "client.h"

static void rpc_first(uint32_t type)
{
	struct peer *p = connected();

	null_call(p, ++p->xid, 0);
	put(p->out, 12, type);
	send_out(p);
	expect_closed(p);
}

CASE(opening, call_first) { rpc_first(MSG); }
CASE(opening, nomsg_first) { rpc_first(NOMSG); }

static void control_first(uint32_t type, uint32_t code)
{
	struct peer *p = connected();

	p->no_wait = true;
	begin(p, type == NOMSG ? 0 : 77, type, type == ERROR ? RESPONSE : 0);
	if (type == ERROR)
		w(p, code);
	if (type == NOMSG)
		no_lists(p);
	send_out(p);
	open_it(p);
	alive(p);
}

CASE(opening, grant_first) { control_first(NOMSG, 0); }
CASE(opening, done_first) { control_first(DONE, 0); }
CASE(opening, error_first) { control_first(ERROR, BAD_XDR); }

CASE(opening, unknown_type_first)
{
	struct peer *p = connected();

	p->no_wait = true;
	begin(p, 5, 9, 0);
	send_out(p);
	expect_error(p, 5, INVAL_HTYPE, 0);
	open_it(p);
	alive(p);
}

CASE(opening, beyond_the_first_message)
{
	struct peer *p = connected();
	int i;

	/*
	 * The first message is within the limit, the second uses the reserve, the third
	 * exceeds both.
	 */
	p->no_wait = true;
	for (i = 0; i < 3; i++) {
		begin(p, 0, DONE, 0);
		send_out(p);
	}
	expect_closed(p);
}

CASE(opening, call_amid_properties)
{
	struct peer *p = connected();

	begin(p, 0, CONNPROP, TPMORE);
	good_props(p);
	send_out(p);
	expect_connprop(p);
	null_call(p, ++p->xid, 0);
	send_out(p);
	expect_closed(p);
}

CASE(opening, properties_in_parts)
{
	struct peer *p = connected();
	int i;

	for (i = 0; i < 10; i++) {
		begin(p, 0, CONNPROP, i < 9 ? TPMORE : 0);
		if (i % 2)
			w(p, 0);
		else
			good_props(p);
		send_out(p);
		if (!i)
			expect_connprop(p);
	}
	alive(p);
}

CASE(opening, properties_without_end)
{
	struct peer *p = connected();
	int i;

	for (i = 0; i < 100 && !p->closed; i++) {
		begin(p, 0, CONNPROP, TPMORE);
		w(p, 1);
		ww(p, 2, 0x1234, 1000 - 36);
		while (p->len < 1000)
			w(p, i);
		send_out(p);
		if (!i)
			expect_connprop(p);
	}
	if (i < 60)
		bad("the connection was closed after %d fragments of 1000 bytes", i);
	expect_closed(p);
}

CASE(opening, properties_again)
{
	struct peer *p = opened();

	send_props(p);
	expect_error(p, 0, INVAL_HTYPE, 0);
	begin(p, 9, CONNPROP, TPMORE | MORE);
	good_props(p);
	send_out(p);
	expect_error(p, 9, INVAL_HTYPE, 0);
	begin(p, 0, CONNPROP, RESPONSE);
	send_out(p);
	dropped(p);
}
