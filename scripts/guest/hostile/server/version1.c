// SPDX-License-Identifier: GPL-2.0
/* Version 1 */
#include "server.h"

#define V1CASE(name, when, op, expect) \
	SCASE(version1, name, when, op, expect, .version1 = true)

V1CASE(control, READ, "read", OK | STAYS) { send_good(c); }
V1CASE(control_write, WRITE, "write", OK | STAYS) { send_good(c); }

static void v1_error(struct call *c, uint32_t code, uint32_t len)
{
	begin(c->p, c->xid, ERROR, 0);
	ww(c->p, 3, code, 1, 1);
	c->p->len = len;
	send_out(c->p);
}

V1CASE(err_chunk, READ, "read", FAILS | STAYS) { v1_error(c, 2, 20); }
V1CASE(err_vers, READ, "read", FAILS | STAYS) { v1_error(c, 1, 28); }
/* The client drops it. */
V1CASE(err_unknown, READ, "read", OK | STAYS) { v1_error(c, 3, 28); send_good(c); }
V1CASE(err_cut, READ, "read", OK | STAYS) { v1_error(c, 1, 24); send_good(c); }

static void v1_other(struct call *c, uint32_t procedure)
{
	make_good(c);
	put(c->p->out, 12, procedure);
	send_out(c->p);
	put(c->p->out, 12, MSG);
	send_out(c->p);
}

V1CASE(msgp, READ, "read", OK | STAYS) { v1_other(c, MSGP); }
V1CASE(unknown_procedure, READ, "read", OK | STAYS) { v1_other(c, 77); }

V1CASE(done, READ, "read", OK | STAYS)
{
	begin(p, c->xid, DONE, 0);
	no_lists(p);
	send_out(p);
	send_good(c);
}

V1CASE(version_2, READ, "read", OK | CLOSES)
{
	p->version = 2;
	make_good(c);
	send_out(p);
}

V1CASE(short_messages, READ, "read", OK | STAYS)
{
	uint32_t len, whole;

	make_good(c);
	for (len = 0, whole = p->len; len < HEADER1; len++) {
		p->len = len;
		send_out(p);
	}
	p->len = whole;
	send_out(p);
}

V1CASE(lists_cut, READ, "read", FAILS | STAYS)
{
	make_good(c);
	p->len = 32;
	send_out(p);
}

V1CASE(write_handle, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, 28, get(p->out, 28) + 1);
	send_out(p);
}

V1CASE(write_length, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, 32, 0xffffffff);
	send_out(p);
}

V1CASE(no_write_list, READ, "read", FAILS | STAYS)
{
	begin_reply(c, MSG, 0);
	ww(p, 2, 0, 0);
	put_answer(c, 0, c->item);
	send_out(p);
}

V1CASE(read_chunk, READ, "read", FAILS | STAYS)
{
	begin(p, c->xid, MSG, 0);
	read_segment(p, 8, exposed_mr->rkey, 100, (uintptr_t)exposed);
	w(p, 0);
	return_write(c, 0);
	w(p, 0);
	put_answer(c, 0, c->item);
	send_out(p);
}

V1CASE(of_another, READ, "read", FAILS | STAYS)
{
	put(c->answer, 0, c->xid + 1);
	send_good(c);
}

V1CASE(twice, READ, "read", OK | STAYS)
{
	send_good(c);
	send_out(p);
}

V1CASE(no_credit, READ, "read", OK | STAYS)
{
	p->credit = 0;
	send_good(c);
}

V1CASE(high_credit, READ, "read", OK | STAYS)
{
	p->credit = 0xffffffff;
	send_good(c);
}

V1CASE(too_long, READ, "read", OK | CLOSES)
{
	make_good(c);
	while (p->len <= CLIENT_RECV)
		w(p, 0);
	send_out(p);
}

V1CASE(silence, READ, "read", OK | CLOSES) { }

V1CASE(wrong_invalidation, READ, "read", OK | CLOSES)
{
	make_good(c);
	send_inv(p, 0xfffff700);
}
