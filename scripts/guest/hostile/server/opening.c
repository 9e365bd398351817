// SPDX-License-Identifier: GPL-2.0
/* Opening (WP 4) */
#include "server.h"

void answer_props(struct peer *p)
{
	begin(p, 0, CONNPROP, 0);
	w(p, 5);
	prop(p, SBSIZ, 4096);
	prop(p, RBSIZ, 4096);
	prop(p, RSSIZ, 1 << 20);
	prop(p, RCSIZ, 16);
	prop(p, REASSEMBLY, 0);
	send_out(p);
}

void send_at_once(struct peer *p)
{
	p->no_wait = true;
	send_out(p);
	p->no_wait = false;
}

void send_err_vers(struct peer *p, uint32_t low, uint32_t high)
{
	raw(p);
	ww(p, 7, 0, 2, CREDIT, ERROR, ERR_VERS, low, high);
	send_at_once(p);
}

void send_only_v1(struct peer *p, uint32_t version)
{
	raw(p);
	ww(p, 7, 0, version, asked, ERROR, ERR_VERS, 1, 1);
	send_at_once(p);
}

/*
 * ---- The cases ----
 *
 * After a connection without a Reply the client waits before it connects again, longer each
 * time. An RPC of a soft mount outlasts the first such wait, but may time out at a silent
 * server.
 */

SCASE(opening, control, PROPS, "read", OK)
{
	answer_props(p);
}

SCASE(opening, rejected, CONNECT, "read", OK)
{
	rdma_reject(p->id, NULL, 0);
	p->server = false;
}

/*
 * For a mount with a timeout of 4 s for each attempt of an RPC. 3 s after the refusal,
 * sunrpc calls the client's connect method, and the client connects 5 s later. By then the
 * RPC waits for the transport's write lock, not for the connection. It sends its Call only
 * once.
 */
SCASE(waiting, rejected, CONNECT, "read", OK | STAYS)
{
	rdma_reject(p->id, NULL, 0);
	p->server = false;
}

SCASE(opening, rejected_for_ever, CONNECT, "read", FAILS, true)
{
	rdma_reject(p->id, "no", 2);
	p->server = false;
}

SCASE(opening, let_go_at_once, PROPS, "read", OK | CLOSES)
{
	peer_disconnect(p);
}

SCASE(opening, silence, PROPS, "read", OK | FAILS)
{
}

SCASE(opening, dead, PROPS, "read", OK | FAILS)
{
	peer_die(p);
}

SCASE(opening, short_messages, PROPS, "read", OK | STAYS)
{
	for (p->no_wait = true; p->sent < 2; ) {
		begin(p, 0, CONNPROP, 0);
		p->len = p->sent ? 23 : 3;
		send_out(p);
	}
	p->no_wait = false;
	answer_props(p);
}

static void first_answer(struct peer *p, uint32_t version)
{
	begin(p, 0, CONNPROP, 0);
	w(p, 0);
	put(p->out, 4, version);
	send_out(p);
}

SCASE(opening, version_1_first, PROPS, "read", OK | CLOSES) { first_answer(p, 1); }
SCASE(opening, version_3_first, PROPS, "read", OK | CLOSES) { first_answer(p, 3); }
SCASE(opening, version_0_first, PROPS, "read", OK | CLOSES) { first_answer(p, 0); }

SCASE(opening, err_vers_2_to_9, PROPS, "read", OK | CLOSES)
{
	send_err_vers(p, 2, 9);
}

SCASE(opening, err_vers_high, PROPS, "read", OK | CLOSES)
{
	send_err_vers(p, 0xffffffff, 1);
}

SCASE(opening, err_vers_too_long, PROPS, "read", OK | STAYS)
{
	begin(p, 0, ERROR, 0);
	put(p->out, 16, ERR_VERS);
	ww(p, 2, 1, 0);
	send_out(p);
	answer_props(p);
}

SCASE(opening, errors_about_connprop, PROPS, "read", OK | STAYS)
{
	uint32_t code;

	for (code = 1; code < 12; code++) {
		begin(p, code == 3 ? 77 : 0, ERROR, RESPONSE);
		ww(p, 3, code, 0, 0);
		send_out(p);
	}
	answer_props(p);
}

SCASE(opening, reply_before_the_end, PROPS, "read", OK | CLOSES)
{
	begin(p, 0x4711, MSG, RESPONSE);
	no_lists(p);
	ww(p, 6, 0x4711, 1, 0, 0, 0, 0);
	send_out(p);
}

SCASE(opening, call_amid_properties, PROPS, "read", OK | CLOSES)
{
	begin(p, 0, CONNPROP, TPMORE);
	w(p, 0);
	send_out(p);
	begin(p, 1, MSG, 0);
	no_lists(p);
	rpc_null(p, 1);
	send_out(p);
}

SCASE(opening, properties_without_end, PROPS, "read", OK | CLOSES)
{
	int i;

	for (i = 0; i < 30 && !p->closed; i++) {
		begin(p, 0, CONNPROP, TPMORE);
		ww(p, 3, 1, 0x1234, 4096 - 36);
		while (p->len < 4096)
			w(p, i);
		send_out(p);
	}
}

SCASE(opening, part_and_silence, PROPS, "read", OK | FAILS)
{
	begin(p, 0, CONNPROP, TPMORE);
	w(p, 0);
	send_out(p);
}
