// SPDX-License-Identifier: GPL-2.0
/* Continuation (WP 6) */
#include <stdlib.h>

#include "client.h"

CASE(continuation, controls)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid, i;

	part(p, xid, 0, 20, true);
	part(p, xid, 20, 20, false);
	free(expect_reply(p, xid));
	/* Fragments of the minimum length */
	xid = ++p->xid;
	for (i = 0; i < 40; i += 4)
		part(p, xid, i, 4, i < 36);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(continuation, odd_parts)
{
	struct peer *p = opened();
	uint32_t xid, len;

	for (len = 0; len < 12; len++) {
		if (len == 4 || len == 8)
			continue;
		xid = ++p->xid;
		part(p, xid, 0, len, true);
		expect_error(p, xid, INVAL_CONT, 0);
		/* The server discards the rest of the sequence. */
		part(p, xid, 0, 20, true);
		part(p, xid, 20, 20, false);
		dropped(p);
	}
	/* The last fragment may have any length that completes the Call. */
	for (len = 0; len < 4; len++) {
		xid = ++p->xid;
		part(p, xid, 0, 40, true);
		part(p, xid, 0, len, false);
		expect_error(p, xid, INVAL_CONT, 0);
	}
	alive(p);
}

CASE(continuation, chunks_in_a_part)
{
	struct peer *p = opened();
	uint32_t xid, i;

	for (i = 0; i < 3; i++) {
		xid = ++p->xid;
		begin(p, xid, MSG, MORE);
		w(p, 0);
		if (i == 0)
			read_segment(p, 40, exposed_mr->rkey, 10, at(0));
		w(p, 0);
		if (i == 1)
			ww(p, 2, 1, 0);
		w(p, 0);
		if (i == 2)
			ww(p, 2, 1, 0);
		else
			w(p, 0);
		rpc_null(p, xid);
		send_out(p);
		expect_error(p, xid, INVAL_CONT, 0);
		/* A fragment from the beginning would start a new Call. */
		part(p, xid, 20, 20, false);
		dropped(p);
	}
}

CASE(continuation, another_call)
{
	struct peer *p = opened();
	uint32_t a = ++p->xid, b = ++p->xid;

	part(p, a, 0, 20, true);
	null_call(p, b, 0);
	send_out(p);
	expect_error(p, a, INVAL_CONT, 0);
	expect_error(p, b, INVAL_CONT, 0);
	/*
	 * The server discards the rest of the first sequence. After that, a fragment with
	 * this xid starts a new Call.
	 */
	part(p, a, 20, 20, false);
	dropped(p);
	null_call(p, a, 0);
	send_out(p);
	free(expect_reply(p, a));
}

CASE(continuation, interleaved)
{
	struct peer *p = opened();
	uint32_t a = ++p->xid, b = ++p->xid;

	part(p, a, 0, 20, true);
	part(p, b, 0, 20, true);
	expect_error(p, a, INVAL_CONT, 0);
	expect_error(p, b, INVAL_CONT, 0);
	part(p, a, 20, 8, true);
	part(p, b, 20, 8, true);
	part(p, a, 28, 12, false);
	part(p, b, 28, 12, false);
	dropped(p);
}

CASE(continuation, many_interleaved)
{
	struct peer *p = opened();
	uint32_t first = p->xid + 1, i;

	/* Pairs of fragments, the second of which must not follow the first */
	for (i = 0; i < 20; i++)
		part(p, ++p->xid, 0, 20, true);
	for (i = 0; i < 20; i += 2) {
		expect_error(p, first + i, INVAL_CONT, 0);
		expect_error(p, first + i + 1, INVAL_CONT, 0);
	}
	alive(p);
}

CASE(continuation, nomsg_amid)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	part(p, xid, 0, 20, true);
	begin(p, xid, NOMSG, 0);
	w(p, 0);
	read_segment(p, 0, exposed_mr->rkey, 40, at(0));
	ww(p, 3, 0, 0, 0);
	send_out(p);
	/* Two Calls with the same xid are answered by one ERROR. */
	expect_error(p, xid, INVAL_CONT, 0);
	part(p, xid, 20, 20, false);
	dropped(p);
}

CASE(continuation, reply_amid)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	part(p, xid, 0, 20, true);
	begin(p, xid, MSG, RESPONSE);
	no_lists(p);
	ww(p, 6, xid, 1, 0, 0, 0, 0);
	send_out(p);
	expect_closed(p);
}

CASE(continuation, control_amid)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	part(p, xid, 0, 20, true);
	grant(p, 0);
	begin(p, xid, DONE, 0);
	send_out(p);
	begin(p, xid, ERROR, RESPONSE);
	w(p, BAD_XDR);
	send_out(p);
	part(p, xid, 20, 20, false);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(continuation, direction_in_second_part)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	part(p, xid, 0, 4, true);
	begin(p, xid, MSG, MORE);
	no_lists(p);
	w(p, 1);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	part(p, xid, 8, 32, false);
	dropped(p);
}

CASE(continuation, without_end)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid, octets = 0, i;

	while (octets <= MAX_REASSEMBLY) {
		begin(p, xid, MSG, MORE);
		no_lists(p);
		if (!octets)
			rpc_null(p, xid);
		while (p->len < SERVER_RECV)
			w(p, 0);
		octets += p->len - HEADER;
		send_out(p);
	}
	expect_error(p, xid, INVAL_CONT, 0);
	for (i = 0; i < 100; i++)
		part(p, xid, 0, 40, true);
	part(p, xid, 20, 20, false);
	dropped(p);
}

CASE(continuation, replies_without_end)
{
	struct peer *p = opened();
	uint32_t octets = 0, xid = ++p->xid;

	while (octets <= MAX_REASSEMBLY + 20000) {
		begin(p, xid, MSG, RESPONSE | MORE);
		no_lists(p);
		if (!octets)
			ww(p, 2, xid, 1);
		while (p->len < SERVER_RECV)
			w(p, 0);
		octets += p->len - HEADER;
		send_out(p);
	}
	begin(p, xid, MSG, RESPONSE);
	no_lists(p);
	ww(p, 6, xid, 1, 0, 0, 0, 0);
	send_out(p);
	dropped(p);
}

CASE(continuation, as_long_as_may_be)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid, octets = 0;

	while (octets < MAX_REASSEMBLY) {
		bool more = MAX_REASSEMBLY - octets > SERVER_RECV - HEADER;

		begin(p, xid, MSG, more ? MORE : 0);
		no_lists(p);
		if (!octets)
			rpc_null(p, xid);
		while (p->len < SERVER_RECV && octets + p->len - HEADER < MAX_REASSEMBLY)
			w(p, 0);
		octets += p->len - HEADER;
		send_out(p);
	}
	free(expect_reply(p, xid));
	alive(p);
}

CASE(continuation, chunks_in_the_last_part)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	part(p, xid, 0, 20, true);
	begin(p, xid, MSG, 0);
	w(p, 0);
	read_segment(p, 40, exposed_mr->rkey, 10, at(0));
	ww(p, 3, 0, 0, 0);
	ww(p, 5, 0, 0, 0, 0, 0);
	send_out(p);
	free(expect_reply(p, xid));
	/* The same Call with its chunk at a position past the end */
	xid = ++p->xid;
	part(p, xid, 0, 20, true);
	begin(p, xid, MSG, 0);
	w(p, 0);
	read_segment(p, 44, exposed_mr->rkey, 10, at(0));
	ww(p, 3, 0, 0, 0);
	ww(p, 5, 0, 0, 0, 0, 0);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	alive(p);
}
