// SPDX-License-Identifier: GPL-2.0
/* RPC messages (WP 6) */
#include <stdlib.h>

#include "client.h"

CASE(messages, payload_lengths)
{
	struct peer *p = opened();
	uint32_t len;

	for (len = 0; len < 8; len++) {
		uint32_t xid = ++p->xid;

		null_call(p, xid, 0);
		p->len = HEADER + len;
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	alive(p);
}

CASE(messages, header_cut)
{
	struct peer *p = opened();
	uint32_t len;

	for (len = PREFIX; len < HEADER; len++) {
		uint32_t xid = ++p->xid;

		null_call(p, xid, 0);
		p->len = len;
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	alive(p);
}

CASE(messages, payload_of_another_call)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	null_call(p, xid, 0);
	put(p->out, HEADER, xid + 1);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	alive(p);
}

CASE(messages, payload_is_a_reply)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	null_call(p, xid, 0);
	put(p->out, HEADER + 4, 1);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	null_call(p, ++xid, 0);
	put(p->out, HEADER + 4, 0xffffffff);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	alive(p);
}

CASE(messages, tpmore)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	null_call(p, xid, TPMORE);
	send_out(p);
	expect_error(p, xid, INVAL_HTYPE, 0);
	alive(p);
}

CASE(messages, replies_nobody_asked_for)
{
	struct peer *p = opened();

	/*
	 * A valid message, an invalid one, one with an unknown chunk, one that is a Call
	 */
	begin(p, ++p->xid, MSG, RESPONSE);
	no_lists(p);
	ww(p, 6, p->xid, 1, 0, 0, 0, 0);
	send_out(p);
	null_call(p, ++p->xid, RESPONSE);
	send_out(p);
	begin(p, ++p->xid, NOMSG, RESPONSE);
	no_lists(p);
	send_out(p);
	begin(p, ++p->xid, NOMSG, RESPONSE);
	ww(p, 4, 0, 0, 0, 1);
	w(p, 1);
	segment(p, 1, 4096, 0);
	send_out(p);
	begin(p, ++p->xid, MSG, RESPONSE);
	p->len = PREFIX;
	send_out(p);
	dropped(p);
	/* A Reply to be pulled that matches no Call is not pulled, but gets its DONE. */
	begin(p, ++p->xid, NOMSG, RESPONSE);
	w(p, 0);
	read_segment(p, 0, exposed_mr->rkey, 4096, (uintptr_t)exposed);
	ww(p, 3, 0, 0, 0);
	send_out(p);
	expect_done(p, p->xid);
	alive(p);
}

CASE(messages, errors_nobody_asked_for)
{
	struct peer *p = opened();
	uint32_t code;

	for (code = 0; code < 13; code++) {
		begin(p, ++p->xid, ERROR, RESPONSE);
		ww(p, 3, code < 12 ? code : ERR_SYSTEM, 0xffffffff, 0xffffffff);
		send_out(p);
	}
	begin(p, 0, ERROR, RESPONSE);
	send_out(p);
	begin(p, 0, ERROR, RESPONSE);
	w(p, WRITE_RESOURCE);
	send_out(p);
	begin(p, 1, ERROR, 0);
	w(p, BAD_XDR);
	send_out(p);
	begin(p, 1, ERROR, RESPONSE | MORE | TPMORE);
	w(p, BAD_XDR);
	send_out(p);
	dropped(p);
}

CASE(messages, done_for_anything)
{
	struct peer *p = opened();
	uint32_t flags, xid = ++p->xid;

	null_call(p, xid, 0);
	send_out(p);
	for (flags = 0; flags < 8; flags++) {
		begin(p, p->xid + flags, DONE, flags);
		send_out(p);
	}
	begin(p, 0, DONE, 0);
	ww(p, 2, 1, 2);
	send_out(p);
	free(expect_reply(p, xid));
	dropped(p);
}

CASE(messages, done_invalidates)
{
	struct peer *p = opened();

	/* The device rejects it: no memory was offered. */
	begin(p, 1, DONE, 0);
	send_inv(p, 0xfffff700);
	expect_closed(p);
}

CASE(messages, call_invalidates)
{
	struct peer *p = opened();

	null_call(p, ++p->xid, 0);
	send_inv(p, 0xfffff700);
	expect_closed(p);
}

CASE(messages, rpc_rubbish)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;
	struct msg *m;

	/* A wrong RPC version; an unknown program, version, procedure */
	static const uint32_t words[][4] = {
		{ 3, 100003, 3, 0 }, { 2, 0x7fffffff, 3, 0 },
		{ 2, 100003, 99, 0 }, { 2, 100003, 3, 0xffffffff },
	};
	uint32_t i, j;

	for (i = 0; i < 4; i++) {
		xid = ++p->xid;
		null_call(p, xid, 0);
		for (j = 0; j < 4; j++)
			put(p->out, HEADER + 8 + 4 * j, words[i][j]);
		send_out(p);
		m = expect_reply(p, xid);
		free(m);
	}
	/* Credentials of an unknown flavour, and longer than the message */
	xid = ++p->xid;
	null_call(p, xid, 0);
	put(p->out, HEADER + 24, 0x99);
	send_out(p);
	free(expect_reply(p, xid));
	xid = ++p->xid;
	null_call(p, xid, 0);
	put(p->out, HEADER + 24, 1);
	put(p->out, HEADER + 28, 0xffffffff);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

/* Expect the end of the connection, or a Reply that denies the Call. */
static void expect_closed_or_denied(struct peer *p, uint32_t xid)
{
	struct msg *m = receive_more(p, 2 * ANSWER_MS);
	uint32_t at = HEADER;

	if (m && (m->len < at + 12 || get(m->data, at) != xid || get(m->data, at + 4) != 1 ||
		  get(m->data, at + 8) != 1))
		bad("the Call should be denied or the connection closed, but this came: %s",
		    describe(m));
	if (!m && !p->closed)
		bad("the connection should be closed, but is open");
	free(m);
}

/*
 * sunrpc closes the connection if the RPC header is truncated. Newer releases deny a Call
 * with a truncated credential.
 */
CASE(messages, rpc_header_cut)
{
	uint32_t len;

	for (len = 8; len < 40; len += 4) {
		struct peer *p = opened();
		uint32_t xid = ++p->xid;

		null_call(p, xid, 0);
		p->len = HEADER + len;
		send_out(p);
		if (len < 24)
			expect_closed(p);
		else if (len < 32)
			expect_closed_or_denied(p, xid);
		else
			free(expect_reply(p, xid));
		peer_free(p);
	}
}

CASE(messages, nomsg_without_chunks)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	begin(p, xid, NOMSG, 0);
	no_lists(p);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	/* Too short for a grant */
	begin(p, 0, NOMSG, 0);
	ww(p, 3, 0, 0, 0);
	send_out(p);
	expect_error(p, 0, BAD_XDR, 0);
	alive(p);
}

CASE(messages, nomsg_more)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	begin(p, xid, NOMSG, MORE);
	no_lists(p);
	send_out(p);
	expect_error(p, xid, INVAL_CONT, 0);
	alive(p);
}

CASE(messages, same_xid_many_times)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid, i;

	for (i = 0; i < 20; i++) {
		null_call(p, xid, 0);
		send_out(p);
	}
	for (i = 0; i < 20; i++)
		free(expect_reply(p, xid));
	alive(p);
}
