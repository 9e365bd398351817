// SPDX-License-Identifier: GPL-2.0
/* Credits (WP 3) */
#include <stdlib.h>

#include "client.h"

CASE(credits, counts_what_was_never_sent)
{
	struct peer *p = opened();

	null_call(p, ++p->xid, 0);
	p->stamp = false;
	put(p->out, 20, p->received + 1);
	send_out(p);
	expect_closed(p);
}

CASE(credits, counts_half_the_circle)
{
	struct peer *p = opened();

	null_call(p, ++p->xid, 0);
	p->stamp = false;
	put(p->out, 20, p->received + 0x7fffffff);
	send_out(p);
	expect_closed(p);
}

CASE(credits, counts_backwards)
{
	struct peer *p = opened();
	uint32_t xid;

	alive(p);
	xid = ++p->xid;
	null_call(p, xid, 0);
	p->stamp = false;
	put(p->out, 8, 1);
	put(p->out, 20, p->received - 0x70000000);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(credits, extremes)
{
	struct peer *p = opened();

	p->credit = 0xffffffff;
	alive(p);
	p->credit = 0x80000000;
	alive(p);
	p->credit = 0;
	alive(p);
	p->credit = 1;
	alive(p);
}

CASE(credits, none_for_a_reply)
{
	struct peer *p = opened_shut();
	uint32_t xid = ++p->xid;
	struct msg *m;

	null_call(p, xid, 0);
	send_out(p);
	m = receive_more(p, 1000);
	if (m)
		bad("the server has no credit, but sent %s", describe(m));
	p->credit = 8;
	grant(p, 0);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(credits, replies_wait)
{
	struct peer *p = opened_shut();
	uint32_t first = p->xid + 1, i, n = 40;
	bool seen[40] = {};
	struct msg *m;

	for (i = 0; i < n; i++) {
		null_call(p, ++p->xid, 0);
		send_out(p);
	}
	p->credit = 64;
	grant(p, 0);
	for (i = 0; i < n; i++) {
		m = answer(p, "Reply that waited");
		if (get(m->data, 0) - first >= n || seen[get(m->data, 0) - first])
			bad("a Reply to one of the Calls should come, not %s", describe(m));
		seen[get(m->data, 0) - first] = true;
		free(m);
	}
	alive(p);
}

/*
 * More Calls than the server has Sends for their Replies. The Calls in excess wait, and
 * occupy no service thread.
 */
CASE(credits, more_calls_than_sends)
{
	uint32_t first, i, n = 0;
	struct peer *p, *q;
	struct msg *m;

	set_parameter("svc_max_requests", 4);
	p = opened_shut();
	set_parameter("svc_max_requests", 64);
	first = p->xid + 1;
	for (;;) {
		if (p->closed)
			bad("the server closed the connection after %u Calls", n);
		if ((int32_t)(p->limit - p->sent) > 0) {
			null_call(p, ++p->xid, 0);
			send_out(p);
			n++;
			continue;
		}
		/* The first grants must arrive, even if late on a slow machine. */
		m = receive(p, n < 8 ? ANSWER_MS : 500);
		if (!m)
			break;
		if (!is_grant(m))
			bad("the server exceeded its limit with %s", describe(m));
		free(m);
	}
	if (n < 8)
		bad("the server granted credits for %u Calls only", n);
	/*
	 * Wait for as long as service threads would have, but not long enough for a
	 * stall.
	 */
	q = opened();
	for (i = 0; i < 6; i++) {
		alive(q);
		if (peers_run(p, 1000 / scale))
			bad("the connection with the Calls is %s",
			    p->closed ? "closed" : "open, although a Call exceeded its limit");
	}
	/* Only the reserve is left, which a grant may use. */
	p->credit = 64;
	p->no_wait = true;
	grant(p, 0);
	p->no_wait = false;
	for (i = 0; i < n; i++) {
		m = answer(p, "Reply that waited");
		if (get(m->data, 0) - first >= n)
			bad("a Reply to one of the Calls should come, not %s", describe(m));
		free(m);
	}
	alive(p);
}

CASE(credits, errors_wait)
{
	struct peer *p = opened_shut();
	uint32_t i, first = p->xid + 1;

	for (i = 0; i < MAX_PENDING; i++) {
		null_call(p, ++p->xid, TPMORE);
		send_out(p);
	}
	p->credit = 80;
	grant(p, 0);
	for (i = 0; i < MAX_PENDING; i++)
		expect_error(p, first + i, INVAL_HTYPE, 0);
	alive(p);
}

CASE(credits, too_many_errors_wait)
{
	struct peer *p = opened_shut();
	uint32_t i;

	for (i = 0; i <= MAX_PENDING; i++) {
		null_call(p, ++p->xid, TPMORE);
		send_out(p);
	}
	expect_closed(p);
}

CASE(credits, beyond_the_window)
{
	struct peer *p = opened_shut();
	uint32_t i, limit = p->limit, taken = p->received;

	/*
	 * The server may send one grant, and no other until it learns that this one was
	 * received, because the advertised limit stays valid. The message beyond the
	 * limit is the reserve.
	 */
	p->no_wait = true;
	for (i = 0; i < 300 && !p->closed; i++) {
		p->received = taken;
		begin(p, 1, DONE, 0);
		send_out(p);
		peers_run(NULL, 0);
	}
	while (receive_more(p, 2 * ANSWER_MS))
		;
	if (!p->closed)
		bad("the connection is open after %u messages with a limit of %u", p->sent, limit);
}

CASE(credits, grants_with_flags)
{
	struct peer *p = opened();
	uint32_t flags;

	for (flags = 0; flags < 8; flags++)
		grant(p, flags);
	dropped(p);
}

CASE(credits, storm_of_grants)
{
	struct peer *p = opened();
	uint32_t i, before;

	for (i = 0; i < 400; i++)
		grant(p, 0);
	alive(p);
	/* No further message may follow. */
	peers_run(NULL, 500);
	while (p->inbox)
		free(receive(p, 0));
	before = p->received;
	peers_run(NULL, 1000);
	if (p->received - before > 2)
		bad("%u grants in a second without traffic", p->received - before);
	alive(p);
}
