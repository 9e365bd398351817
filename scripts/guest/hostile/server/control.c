// SPDX-License-Identifier: GPL-2.0
/* Control messages and callbacks */
#include "server.h"

SCASE(control, done_for_anything, READ, "read", OK | STAYS)
{
	uint32_t flags;

	for (flags = 0; flags < 8; flags++) {
		begin(p, c->xid + flags, DONE, flags);
		send_out(p);
	}
	send_good(c);
}

SCASE(control, unknown_types, READ, "read", OK | STAYS, .code = INVAL_HTYPE)
{
	static const uint32_t types[] = { 2, 6, 0x7fffffff, 0xffffffff };
	int i;

	for (i = 0; i < 8; i++) {
		begin(p, c->xid, types[i / 2], i % 2 ? RESPONSE : 0);
		no_lists(p);
		send_out(p);
	}
	send_good(c);
}

SCASE(control, storm_of_grants, READ, "read", OK | STAYS)
{
	int i;

	for (i = 0; i < 200; i++) {
		begin(p, 0, NOMSG, i % 8);
		no_lists(p);
		send_out(p);
	}
	send_good(c);
}

SCASE(control, errors_for_nobody, READ, "read", OK | STAYS)
{
	uint32_t code;

	for (code = 0; code < 13; code++) {
		begin(p, c->xid + 3, ERROR, RESPONSE);
		ww(p, 3, code == 12 ? ERR_SYSTEM : code, 0xffffffff, 0);
		send_out(p);
	}
	send_good(c);
}

SCASE(control, counts_never_sent, READ, "read", OK | CLOSES)
{
	make_good(c);
	p->stamp = false;
	put(p->out, 8, 10);
	/* More callbacks than may be outstanding */
	put(p->out, 20, p->received + 1000);
	send_out(p);
}

SCASE(control, no_more_credit, READ, "read", OK)
{
	p->credit = 0;
	send_good(c);
}

void callback_null(struct peer *p, uint32_t xid)
{
	begin(p, xid, MSG, 0);
	no_lists(p);
	ww(p, 10, xid, 0, 2, 0x40000000, 1, 0, 0, 0, 0, 0);
	send_out(p);
}

SCASE(control, callbacks_with_chunks, READ, "read", OK | STAYS)
{
	begin(p, 0x78, MSG, 0);
	w(p, 0);
	read_segment(p, 40, exposed_mr->rkey, 1000, (uintptr_t)exposed);
	ww(p, 3, 0, 0, 0);
	ww(p, 10, 0x78, 0, 2, 0x40000000, 1, 0, 0, 0, 0, 0);
	send_out(p);
	begin(p, 0x79, NOMSG, 0);
	w(p, 0);
	read_segment(p, 0, exposed_mr->rkey, 1000, (uintptr_t)exposed);
	ww(p, 3, 0, 0, 0);
	send_out(p);
	begin(p, 0x7a, MSG, 0);
	ww(p, 4, 0, 0, 1, 1);
	segment(p, exposed_mr->rkey, 1000, (uintptr_t)exposed);
	ww(p, 2, 0, 0);
	ww(p, 10, 0x7a, 0, 2, 0x40000000, 1, 0, 0, 0, 0, 0);
	send_out(p);
	send_good(c);
}

SCASE(control, callback_in_parts, READ, "read", OK | STAYS)
{
	begin(p, 0x7b, MSG, MORE);
	no_lists(p);
	rpc_null(p, 0x7b);
	send_out(p);
	begin(p, 0x7b, MSG, 0);
	no_lists(p);
	rpc_null(p, 0x7b);
	send_out(p);
	send_good(c);
}

SCASE(control, many_callbacks, READ, "read", OK | STAYS)
{
	uint32_t i;

	/* No more than both windows hold: no message is received meanwhile. */
	for (i = 0; i < 30; i++)
		callback_null(p, 0x80 + i);
	send_good(c);
}
