// SPDX-License-Identifier: GPL-2.0
/* Version 1 */
#include <stdlib.h>
#include <string.h>

#include "client.h"

CASE(version1, controls)
{
	struct peer *p = connected1();
	uint32_t xid;

	alive(p);
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	read_segment(p, 40, exposed_mr->rkey, 50, at(0));
	ww(p, 3, 0, 0, 0);
	rpc_null(p, xid);
	send_out(p);
	free(expect_reply(p, xid));
	xid = ++p->xid;
	expose_null(p, xid);
	begin(p, xid, NOMSG, 0);
	read_segment(p, 0, exposed_mr->rkey, 40, at(0));
	ww(p, 3, 0, 0, 0);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(version1, header_cut)
{
	struct peer *p = connected1();
	uint32_t len;

	alive(p);
	for (len = 0; len < HEADER1; len++) {
		null_call(p, ++p->xid, 0);
		p->len = len;
		send_out(p);
	}
	dropped(p);
}

CASE(version1, payload)
{
	struct peer *p = connected1();
	uint32_t xid, len;

	for (len = 0; len < 8; len++) {
		xid = ++p->xid;
		null_call(p, xid, 0);
		p->len = HEADER1 + len;
		send_out(p);
		expect_err_chunk(p, xid);
	}
	xid = ++p->xid;
	null_call(p, xid, 0);
	put(p->out, HEADER1, xid + 1);
	send_out(p);
	expect_err_chunk(p, xid);
	xid = ++p->xid;
	null_call(p, xid, 0);
	put(p->out, HEADER1 + 4, 2);
	send_out(p);
	expect_err_chunk(p, xid);
	alive(p);
}

CASE(version1, procedures)
{
	static const uint32_t procs[] = { MSGP, 5, 6, 0x7fffffff, 0xffffffff };
	struct peer *p = connected1();
	uint32_t i;

	for (i = 0; i < 5; i++) {
		uint32_t xid = ++p->xid;

		null_call(p, xid, 0);
		put(p->out, 12, procs[i]);
		send_out(p);
		expect_err_chunk(p, xid);
	}
	/* DONE and ERROR get no answer. */
	null_call(p, ++p->xid, 0);
	put(p->out, 12, DONE);
	send_out(p);
	for (i = 0; i < 5; i++) {
		begin(p, ++p->xid, ERROR, 0);
		ww(p, 3, i, 0xffffffff, 0);
		if (i == 4)
			p->len = 16;
		send_out(p);
	}
	dropped(p);
}

CASE(version1, lists)
{
	struct peer *p = connected1();
	uint32_t xid, i, len;

	for (i = 0; i < 3; i++) {
		xid = ++p->xid;
		null_call(p, xid, 0);
		put(p->out, 16 + 4 * i, i ? 2 : 0x80000000);
		send_out(p);
		expect_err_chunk(p, xid);
	}
	/* Truncated at each word. The server drops messages shorter than a header. */
	for (len = HEADER1; len < 16 + 24 + 4 + 24; len += 4) {
		xid = ++p->xid;
		begin(p, xid, MSG, 0);
		read_segment(p, 40, exposed_mr->rkey, 10, at(0));
		w(p, 0);
		ww(p, 2, 1, 1);
		segment(p, exposed_mr->rkey, 10, at(0));
		ww(p, 2, 0, 0);
		p->len = len;
		send_out(p);
		expect_err_chunk(p, xid);
	}
	/* Wrong counts, also with many segments; positions past the end */
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	ww(p, 3, 0, 1, 0xffffffff);
	segment(p, exposed_mr->rkey, 10, at(0));
	send_out(p);
	expect_err_chunk(p, xid);
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	ww(p, 3, 0, 1, 100);
	for (i = 0; i < 100; i++)
		segment(p, exposed_mr->rkey, 10, at(0));
	ww(p, 3, 0, 1, 100);
	for (i = 0; i < 99; i++)
		segment(p, exposed_mr->rkey, 10, at(0));
	send_out(p);
	expect_err_chunk(p, xid);
	for (i = 0; i < 5; i++) {
		static const uint32_t positions[] = { 0, 4, 41, 44, 0xfffffffc };

		xid = ++p->xid;
		begin(p, xid, MSG, 0);
		read_segment(p, positions[i], exposed_mr->rkey, 10, at(0));
		ww(p, 3, 0, 0, 0);
		rpc_null(p, xid);
		send_out(p);
		expect_err_chunk(p, xid);
	}
	/* A Call without a payload */
	xid = ++p->xid;
	begin(p, xid, NOMSG, 0);
	no_lists(p);
	send_out(p);
	expect_err_chunk(p, xid);
	alive(p);
}

enum {
	MANY = 240,	/* segments: not many more fit into a Receive */
	MANY_LEN = 250,	/* bytes of each */
	MANY_GAP = 4096,	/* from one segment to the next */
};

static void many_segments(struct peer *p)
{
	uint32_t i;

	for (i = 0; i < MANY; i++)
		segment(p, exposed_mr->rkey, MANY_LEN, at(i * MANY_GAP));
}

/*
 * Return true if the segments, from byte @from on, hold @len bytes of the file and
 * nothing else. @sizes: lengths of the segments as returned
 */
static void expect_spread(uint32_t from, uint32_t len, const uint8_t *sizes)
{
	uint32_t i, n, skip, end = from + len;

	for (i = 0; i < MANY; i++, from -= skip, end -= n) {
		n = end < MANY_LEN ? end : MANY_LEN;
		skip = from < n ? from : n;
		if (get(sizes, 16 * i) != n)
			bad("the Reply returns segment %u with %u bytes, not %u", i, get(sizes, 16 * i), n);
		if (!exposed_is(i * MANY_GAP + skip, n - skip, 'h') ||
		    !exposed_is(i * MANY_GAP + n, MANY_GAP - n, 0))
			bad("segment %u does not hold the data", i);
	}
}

/* More segments than version 2 permits a client */
CASE(version1, many_segments)
{
	struct peer *p = connected1();
	uint8_t call[1000];
	uint32_t xid, i, len;
	struct msg *m;

	/* A Write chunk that is only partly used */
	memset(exposed, 0, EXPOSED);
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	ww(p, 3, 0, 1, MANY);
	many_segments(p);
	ww(p, 2, 0, 0);
	rpc_read(p, xid, 56000);
	send_out(p);
	m = expect_reply(p, xid);
	if (get(m->data, 20) != 1 || get(m->data, 24) != MANY)
		bad("the Reply does not return the Write chunk as filled: %s", describe(m));
	expect_spread(0, 56000, m->data + 32);
	free(m);

	/* A Reply chunk */
	memset(exposed, 0, EXPOSED);
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	ww(p, 4, 0, 0, 1, MANY);
	many_segments(p);
	rpc_read(p, xid, 50000);
	send_out(p);
	m = answer(p, "Reply");
	if (m->len != 32 + 16 * MANY || get(m->data, 0) != xid || get(m->data, 12) != NOMSG ||
	    get(m->data, 28) != MANY)
		bad("a Reply in the Reply chunk should come, not %s", describe(m));
	expect_spread(READ_ITEM, 50000, m->data + 36);
	if (get(exposed, 0) != xid)
		bad("the Reply chunk does not hold the Reply");
	free(m);

	/* A complete Call in a Read chunk with one segment per byte */
	xid = ++p->xid;
	raw(p);
	rpc_read(p, xid, 1000);
	len = p->len;
	memcpy(call, p->out, len);
	memset(exposed, 0xff, EXPOSED);
	begin(p, xid, NOMSG, 0);
	for (i = 0; i < len; i++) {
		exposed[(len - i) * MANY_GAP] = call[i];
		read_segment(p, 0, exposed_mr->rkey, 1, at((len - i) * MANY_GAP));
	}
	ww(p, 3, 0, 0, 0);
	send_out(p);
	m = expect_reply(p, xid);
	if (m->len != HEADER1 + READ_ITEM + 1000 || m->data[HEADER1 + READ_ITEM] != 'h')
		bad("a Reply to a READ should come, not %s", describe(m));
	free(m);

	/* Two items, the segments of the second one first, and all kinds of chunks */
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	for (i = 0; i < 100; i++)
		read_segment(p, i < 60 ? 80 : 40, exposed_mr->rkey, 1, at(i));
	ww(p, 3, 0, 1, 40);
	for (i = 0; i < 40; i++)
		segment(p, exposed_mr->rkey, 1, at(i));
	ww(p, 2, 0, 0);
	rpc_null(p, xid);
	send_out(p);
	m = expect_reply(p, xid);
	for (i = 0; i < 40; i++)
		if (get(m->data, 28 + 16 * i) != exposed_mr->rkey || get(m->data, 32 + 16 * i))
			bad("the Reply does not return an unused Write chunk as such: %s", describe(m));
	free(m);
	alive(p);
}

CASE(version1, wrong_handle)
{
	struct peer *p = connected1();

	alive(p);
	begin(p, ++p->xid, NOMSG, 0);
	read_segment(p, 0, 0xfffff700, 100, at(0));
	ww(p, 3, 0, 0, 0);
	send_out(p);
	expect_closed(p);
}

CASE(version1, replies_nobody_asked_for)
{
	struct peer *p = connected1();

	alive(p);
	begin(p, ++p->xid, MSG, 0);
	no_lists(p);
	ww(p, 6, p->xid, 1, 0, 0, 0, 0);
	send_out(p);
	dropped(p);
}

CASE(version1, credits)
{
	struct peer *p = connected1();

	p->credit = 0;
	alive(p);
	p->credit = 0xffffffff;
	alive(p);
}

CASE(version1, without_regard_for_grants)
{
	struct peer *p = connected1();
	uint32_t i;

	for (i = 0; i < 1000 && !p->closed; i++) {
		null_call(p, ++p->xid, 0);
		send_out(p);
		if (i % 16 == 0)
			peers_run(NULL, 0);
	}
	/*
	 * The device may fail the Read, or the server may complete it first. Both outcomes are
	 * correct.
	 */
	while (!p->closed && receive_more(p, 1000))
		;
}

CASE(version1, longer_than_a_receive)
{
	struct peer *p = connected1();

	alive(p);
	null_call(p, ++p->xid, 0);
	while (p->len <= SERVER_RECV)
		w(p, 0);
	send_out(p);
	expect_closed(p);
}

/* The Receives of a client without a private message may be larger than the default. */
CASE(version1, no_private_message_nor_reply_chunk)
{
	struct peer *p = peer_new();
	uint32_t xid;

	p->version = 1;
	p->no_private = true;
	peer_connect(p, addr, port);
	alive(p);
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	no_lists(p);
	read_inline(p, xid, HEADER1, 3000);
	alive(p);
}

CASE(version1, odd_private_messages)
{
	static const uint32_t words[][2] = {
		{ 0x180eabf6, 0 }, { 0x180eabf6, 0xffffffff }, { 0x180eabf6, 0x00000001 },
		{ 0xffffffff, 0xffffffff }, { 1, 2 },
	};
	struct peer *p;
	uint32_t i;

	for (i = 0; i < 5; i++) {
		p = peer_new();
		p->version = 1;
		p->private_words[0] = words[i][0];
		p->private_words[1] = words[i][1];
		peer_connect(p, addr, port);
		alive(p);
		peer_free(p);
	}
	p = peer_new();
	p->no_private = true;
	peer_connect(p, addr, port);
	open_it(p);
	alive(p);
}
