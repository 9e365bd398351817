// SPDX-License-Identifier: GPL-2.0
/* Chunks that the server writes to (WP 6) */
#include <stdlib.h>
#include <string.h>

#include "client.h"

CASE(placing, controls)
{
	struct peer *p = opened();
	struct msg *m;
	uint32_t xid;

	/* Inline */
	xid = begin_read(p);
	ww(p, 2, 0, 0);
	read_inline(p, xid, HEADER, 1000);

	/* A Write chunk of two segments; nothing is written past them */
	memset(exposed, 0, EXPOSED);
	xid = begin_read(p);
	ww(p, 2, 1, 2);
	segment(p, exposed_mr->rkey, 10000, at(100));
	segment(p, exposed_mr->rkey, 30000, at(20000));
	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	m = expect_reply(p, xid);
	if (!exposed_is(0, 100, 0) || !exposed_is(100, 10000, 'h') ||
	    !exposed_is(10100, 9900, 0) || !exposed_is(20000, 10000, 'h') ||
	    !exposed_is(30000, 20000, 0))
		bad("the Write chunk does not hold the data");
	if (get(m->data, 32) != 1 || get(m->data, 36) != 2 ||
	    get(m->data, 44) != 10000 || get(m->data, 60) != 10000)
		bad("the Reply does not return the Write chunk as filled: %s", describe(m));
	free(m);

	/* Reply chunk */
	memset(exposed, 0, EXPOSED);
	xid = begin_read(p);
	w(p, 0);
	write_chunk(p, exposed_mr->rkey, 30000, at(0));
	rpc_read(p, xid, 20000);
	send_out(p);
	m = answer(p, "Reply");
	if (get(m->data, 0) != xid || get(m->data, 12) != NOMSG || get(m->data, 48) != READ_ITEM + 20000)
		bad("a Reply in the Reply chunk should come, not %s", describe(m));
	if (get(exposed, 0) != xid || !exposed_is(READ_ITEM, 20000, 'h') ||
	    !exposed_is(READ_ITEM + 20000, 10000, 0))
		bad("the Reply chunk does not hold the Reply");
	free(m);
	alive(p);
}

/* @reply: a Reply chunk in place of a Write chunk */
static void bad_target(bool reply, uint32_t handle, uint32_t len, uint64_t offset)
{
	struct peer *p = opened();
	uint32_t xid = begin_read(p);

	if (reply)
		w(p, 0);
	write_chunk(p, handle, len, offset);
	if (!reply)
		ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_closed(p);
}

CASE(placing, write_to_nothing) { bad_target(false, 0xfffff700, 30000, at(0)); }
CASE(placing, write_to_others) { bad_target(false, foreign_mr->rkey, 30000, at(0)); }
CASE(placing, write_beyond) { bad_target(false, exposed_mr->rkey, 30000, at(EXPOSED - 19999)); }
CASE(placing, write_wraps) { bad_target(false, exposed_mr->rkey, 30000, UINT64_MAX - 10000); }
CASE(placing, reply_to_nothing) { bad_target(true, 0xfffff700, 30000, at(0)); }
CASE(placing, reply_to_others) { bad_target(true, foreign_mr->rkey, 30000, at(0)); }
CASE(placing, reply_beyond) { bad_target(true, exposed_mr->rkey, 30000, at(EXPOSED - 19999)); }
CASE(placing, reply_wraps) { bad_target(true, exposed_mr->rkey, 30000, UINT64_MAX - 10000); }

CASE(placing, too_small)
{
	struct peer *p = opened_with(1, REASSEMBLY, 0);
	uint32_t xid;

	xid = begin_read(p);
	write_chunk(p, exposed_mr->rkey, 19999, at(0));
	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_error(p, xid, WRITE_RESOURCE, 2, 1, 20000);

	xid = begin_read(p);
	w(p, 0);
	write_chunk(p, exposed_mr->rkey, READ_ITEM + 19999, at(0));
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_error(p, xid, REPLY_RESOURCE, 1, READ_ITEM + 20000);

	xid = begin_read(p);
	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_error(p, xid, REPLY_RESOURCE, 1, READ_ITEM + 20000);

	/* A Reply chunk without segments, and one with empty segments */
	xid = begin_read(p);
	ww(p, 3, 0, 1, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_error(p, xid, REPLY_RESOURCE, 1, READ_ITEM + 20000);
	xid = begin_read(p);
	ww(p, 3, 0, 1, 2);
	segment(p, 1, 0, 0);
	segment(p, 2, 0, UINT64_MAX);
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_error(p, xid, REPLY_RESOURCE, 1, READ_ITEM + 20000);
	alive(p);
}

/*
 * Two READs, the first with a Write chunk of @len bytes or without segments: its result
 * is in the Payload stream, and its chunk is returned unused (WP 6).
 */
static void second_only(struct peer *p, bool empty, uint32_t len)
{
	enum { FIRST = 1000, SECOND = 20000 };
	uint32_t xid = begin_read(p), at_second = empty ? 48 : 64;
	struct msg *m;

	memset(exposed, 0, EXPOSED);
	if (empty)
		ww(p, 2, 1, 0);
	else
		write_chunk(p, exposed_mr->rkey, len, at(0));
	write_chunk(p, exposed_mr->rkey, 30000, at(FILE_OCTETS));
	ww(p, 2, 0, 0);
	rpc_reads(p, xid, 2, FIRST, SECOND);
	send_out(p);
	m = expect_reply(p, xid);
	if (get(m->data, 32) != 1 || get(m->data, 36) != !empty ||
	    (!empty && (get(m->data, 40) != exposed_mr->rkey || get(m->data, 44))))
		bad("the Reply does not return the first Write chunk as unused: %s", describe(m));
	if (get(m->data, at_second - 4) != 1 || get(m->data, at_second) != exposed_mr->rkey ||
	    get(m->data, at_second + 4) != SECOND)
		bad("the Reply does not return the second Write chunk as filled: %s", describe(m));
	if (m->len != payload(m, 2) + READ_ITEM + FIRST + 16 ||
	    m->data[payload(m, 2) + READ_ITEM] != 'h' ||
	    m->data[payload(m, 2) + READ_ITEM + FIRST - 1] != 'h' ||
	    get(m->data, m->len - 4) != SECOND)
		bad("the first result is not in the Payload stream: %s", describe(m));
	if (!exposed_is(0, FILE_OCTETS, 0) || !exposed_is(FILE_OCTETS, SECOND, 'h') ||
	    !exposed_is(FILE_OCTETS + SECOND, 30000, 0))
		bad("the second Write chunk does not hold the data");
	free(m);
}

CASE(placing, second_only)
{
	struct peer *p = opened_with(1, REASSEMBLY, 0);
	uint32_t xid;

	second_only(p, true, 0);
	second_only(p, false, 999);
	second_only(p, false, 0);
	/* Too long for an inline or continued Reply */
	xid = begin_read(p);
	ww(p, 2, 1, 0);
	write_chunk(p, exposed_mr->rkey, 30000, at(0));
	ww(p, 2, 0, 0);
	rpc_reads(p, xid, 2, 20000, 1000);
	send_out(p);
	expect_error(p, xid, REPLY_RESOURCE, 1, READ_ITEM + 20000 + 16);
	xid = begin_read(p);
	write_chunk(p, exposed_mr->rkey, 19999, at(0));
	write_chunk(p, exposed_mr->rkey, 30000, at(FILE_OCTETS));
	ww(p, 2, 0, 0);
	rpc_reads(p, xid, 2, 20000, 1000);
	send_out(p);
	expect_error(p, xid, WRITE_RESOURCE, 2, 1, 20000);
	alive(p);
}

CASE(placing, one_memory_for_all)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;
	struct msg *m;

	/*
	 * The same memory is read from and written to: only the peer's data is affected.
	 */
	begin(p, xid, MSG, 0);
	w(p, exposed_mr->rkey);
	read_segment(p, 124, exposed_mr->rkey, 100, at(0));
	w(p, 0);
	write_chunk(p, exposed_mr->rkey, 30000, at(0));
	w(p, 0);
	write_chunk(p, exposed_mr->rkey, 30000, at(0));
	rpc_read(p, xid, 20000);
	send_out(p);
	m = receive_more(p, ANSWER_MS);
	/* The device refuses to invalidate memory of user space. */
	if (m && get(m->data, 0) != xid)
		bad("a Reply or the connection's end should come, not %s", describe(m));
	if (!m && !p->closed)
		bad("the server neither replied nor closed the connection");
	free(m);
}

CASE(placing, continued_control)
{
	struct peer *p = opened_with(1, REASSEMBLY, 100000);
	uint32_t xid = begin_read(p), octets = 0;
	struct msg *m;
	bool more;

	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	do {
		m = answer(p, "fragment of a Reply");
		more = get(m->data, 16) & MORE;
		if (get(m->data, 0) != xid || get(m->data, 12) != MSG)
			bad("a fragment of a Reply should come, not %s", describe(m));
		octets += m->len - HEADER;
		free(m);
	} while (more);
	if (octets != READ_ITEM + 20000)
		bad("a Reply of %u bytes was continued", octets);
	alive(p);
}

CASE(placing, continued_without_window)
{
	struct peer *p = connected();
	uint32_t xid, i;
	struct msg *m;

	begin(p, 0, CONNPROP, 0);
	w(p, 1);
	prop(p, REASSEMBLY, 100000);
	p->credit = 3;
	send_out(p);
	expect_connprop(p);
	p->credit = 0;
	xid = begin_read(p);
	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	/* Send two fragments without the last one, and close the connection. */
	for (i = 0; i < 2; i++) {
		m = answer(p, "fragment of a Reply");
		if (get(m->data, 0) != xid || get(m->data, 16) != (RESPONSE | MORE))
			bad("a fragment of a Reply should come, not %s", describe(m));
		free(m);
	}
	m = receive_more(p, 1000);
	if (m)
		bad("the server exceeded its limit with %s", describe(m));
}
