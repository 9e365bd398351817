// SPDX-License-Identifier: GPL-2.0
/* Chunks that the server reads (WP 6) */
#include <stdlib.h>
#include <string.h>

#include "client.h"

enum { AT_LISTS = PREFIX + 4 };

CASE(chunks, read_controls)
{
	struct peer *p = opened();
	uint32_t xid, i;

	xid = begin_read_call(p);
	read_segment(p, 40, exposed_mr->rkey, 5000, at(0));
	end_read_call(p, xid);
	send_out(p);
	free(expect_reply(p, xid));

	/* Segments that overlap, and one segment repeated */
	xid = begin_read_call(p);
	for (i = 0; i < MAX_SEGS; i++)
		read_segment(p, 40, exposed_mr->rkey, 100, at(i % 2 * 50));
	end_read_call(p, xid);
	send_out(p);
	free(expect_reply(p, xid));

	/* Adjacent items of odd lengths */
	xid = begin_read_call(p);
	for (i = 0; i < MAX_CHUNKS; i++)
		read_segment(p, 40 + 8 * i, exposed_mr->rkey, 5, at(i));
	end_read_call(p, xid);
	send_out(p);
	free(expect_reply(p, xid));

	/* Empty segments */
	xid = begin_read_call(p);
	for (i = 8; i <= 40; i += 4)
		read_segment(p, i, 0xffffffff, 0, UINT64_MAX);
	end_read_call(p, xid);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(chunks, lists_cut)
{
	struct peer *p = opened();
	uint32_t len, whole;

	for (len = PREFIX; ; len += 4) {
		uint32_t xid = begin_read_call(p);

		read_segment(p, 40, exposed_mr->rkey, 16, at(0));
		w(p, 0);
		ww(p, 2, 1, 2);
		segment(p, exposed_mr->rkey, 100, at(0));
		segment(p, exposed_mr->rkey, 100, at(0));
		w(p, 0);
		ww(p, 2, 1, 1);
		segment(p, exposed_mr->rkey, 100, at(0));
		whole = p->len;
		if (len == whole)
			break;
		p->len = len;
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	alive(p);
}

CASE(chunks, booleans)
{
	static const uint32_t values[] = { 2, 0x100, 0x80000000, 0xffffffff };
	struct peer *p = opened();
	uint32_t i, j, xid;

	for (i = 0; i < 3; i++) {
		for (j = 0; j < 4; j++) {
			xid = ++p->xid;
			null_call(p, xid, 0);
			put(p->out, AT_LISTS + 4 * i, values[j]);
			send_out(p);
			expect_error(p, xid, BAD_XDR, 0);
		}
	}
	alive(p);
}

CASE(chunks, counts_lie)
{
	static const uint32_t counts[] = { 2, 100, 0x10000000, 0x10000001, 0x7fffffff, 0xffffffff };
	struct peer *p = opened();
	uint32_t i, xid;

	for (i = 0; i < 12; i++) {
		xid = ++p->xid;
		begin(p, xid, MSG, 0);
		ww(p, 2, 0, 0);
		if (i % 2)
			w(p, 0);
		ww(p, 2, 1, counts[i / 2]);
		segment(p, exposed_mr->rkey, 10, at(0));
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	alive(p);
}

CASE(chunks, too_many_reads)
{
	struct peer *p = opened();
	uint32_t xid = begin_read_call(p), i;

	for (i = 0; i <= MAX_CHUNKS; i++)
		read_segment(p, 40 + 4 * i, exposed_mr->rkey, 4, at(0));
	end_read_call(p, xid);
	send_out(p);
	expect_error(p, xid, READ_CHUNKS, 1, MAX_CHUNKS);
	/* The largest number that fits into a message */
	xid = begin_read_call(p);
	for (i = 0; p->len + 24 + 52 <= SERVER_RECV; i++)
		read_segment(p, 40 + 4 * i, exposed_mr->rkey, 4, at(0));
	end_read_call(p, xid);
	send_out(p);
	expect_error(p, xid, READ_CHUNKS, 1, MAX_CHUNKS);
	alive(p);
}

CASE(chunks, too_many_writes)
{
	struct peer *p = opened();
	uint32_t xid, i, n;

	for (n = MAX_CHUNKS; n < 500; n += n == MAX_CHUNKS ? 1 : 460) {
		xid = ++p->xid;
		begin(p, xid, MSG, 0);
		ww(p, 2, 0, 0);
		for (i = 0; i < n; i++)
			ww(p, 2, 1, 0);
		ww(p, 2, 0, 0);
		rpc_null(p, xid);
		send_out(p);
		if (n > MAX_CHUNKS)
			expect_error(p, xid, WRITE_CHUNKS, 1, MAX_CHUNKS);
		else
			free(expect_reply(p, xid));
	}
	alive(p);
}

CASE(chunks, too_many_segments)
{
	struct peer *p = opened();
	uint32_t xid, i, n;

	for (n = MAX_SEGS; n < 240; n += n == MAX_SEGS ? 1 : 174) {
		xid = ++p->xid;
		begin(p, xid, MSG, 0);
		ww(p, 4, 0, 0, 1, n);
		for (i = 0; i < n; i++)
			segment(p, exposed_mr->rkey, 4, at(0));
		ww(p, 2, 0, 0);
		rpc_null(p, xid);
		send_out(p);
		if (n > MAX_SEGS)
			expect_error(p, xid, SEGMENTS, 1, MAX_SEGS);
		else
			free(expect_reply(p, xid));
	}
	xid = begin_read_call(p);
	for (i = 0; i <= MAX_SEGS; i++)
		read_segment(p, 40, exposed_mr->rkey, 4, at(0));
	end_read_call(p, xid);
	send_out(p);
	expect_error(p, xid, SEGMENTS, 1, MAX_SEGS);
	alive(p);
}

CASE(chunks, positions)
{
	static const uint32_t positions[] = {
		0, 1, 4, 7, 39, 41, 42, 44, 48, 0x1000, 0x7ffffffc, 0x80000000,
		0xfffffffc, 0xffffffff,
	};
	struct peer *p = opened();
	uint32_t i;

	for (i = 0; i < sizeof(positions) / sizeof(*positions); i++)
		expect_error(p, read_at(p, positions[i], 16), BAD_XDR, 0);
	free(expect_reply(p, read_at(p, 8, 16)));
	free(expect_reply(p, read_at(p, 40, 16)));
	alive(p);
}

CASE(chunks, order_and_overlap)
{
	static const uint32_t pairs[][4] = {
		/* position, length, position, length */
		{ 40, 8, 36, 8 }, { 40, 8, 44, 8 }, { 36, 8, 40, 4 },
		{ 24, 100, 28, 4 }, { 40, 9, 48, 4 }, { 40, 4, 52, 4 },
		{ 40, 0xfffff0, 44, 4 },
	};
	struct peer *p = opened();
	uint32_t i, xid;

	for (i = 0; i < 7; i++) {
		xid = begin_read_call(p);
		read_segment(p, pairs[i][0], exposed_mr->rkey, pairs[i][1], at(0));
		read_segment(p, pairs[i][2], exposed_mr->rkey, pairs[i][3], at(0));
		end_read_call(p, xid);
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	alive(p);
}

CASE(chunks, lengths)
{
	struct peer *p = opened();
	uint32_t i, xid;

	expect_error(p, read_at(p, 40, 0xffffffff), BAD_XDR, 0);
	expect_error(p, read_at(p, 40, 0x80000000), BAD_XDR, 0);
	expect_error(p, read_at(p, 40, MAX_OCTETS + 1), BAD_XDR, 0);
	/* More bytes than nfsd has pages for */
	expect_error(p, read_at(p, 40, MAX_OCTETS), ERR_SYSTEM, 0);
	expect_error(p, read_at(p, 40, 4 << 20), ERR_SYSTEM, 0);
	/* In each list: permitted segments, the sum of which is too large */
	for (i = 0; i < 3; i++) {
		uint32_t j;

		xid = begin_read_call(p);
		if (i)
			w(p, 0);
		if (i == 2)
			w(p, 0);
		if (i)
			ww(p, 2, 1, 48);
		for (j = 0; j < 48; j++) {
			if (!i)
				ww(p, 2, 1, 40);
			segment(p, exposed_mr->rkey, MAX_OCTETS, at(0));
		}
		if (i < 2)
			w(p, 0);
		if (i == 0)
			w(p, 0);
		if (i < 2)
			w(p, 0);
		rpc_null(p, xid);
		send_out(p);
		expect_error(p, xid, ERR_SYSTEM, 0);
	}
	alive(p);
}

static void bad_memory(uint32_t handle, uint32_t len, uint64_t offset)
{
	struct peer *p = opened();
	uint32_t xid = begin_read_call(p);

	read_segment(p, 40, handle, len, offset);
	end_read_call(p, xid);
	send_out(p);
	expect_closed(p);
}

CASE(chunks, handle_of_nothing) { bad_memory(0xfffff700, 16, at(0)); }
CASE(chunks, handle_zero) { bad_memory(0, 16, at(0)); }
CASE(chunks, handle_of_others) { bad_memory(foreign_mr->rkey, 16, at(0)); }
CASE(chunks, beyond_the_region) { bad_memory(exposed_mr->rkey, 4096, at(EXPOSED - 4095)); }
CASE(chunks, before_the_region) { bad_memory(exposed_mr->rkey, 4096, at(0) - 1); }
CASE(chunks, offset_wraps) { bad_memory(exposed_mr->rkey, 4096, UINT64_MAX - 100); }

/* Send a Call in a Position Zero Read chunk, after @fix has changed its header. */
static uint32_t begin_special(struct peer *p, uint32_t len)
{
	uint32_t xid = ++p->xid;

	expose_null(p, xid);
	begin(p, xid, NOMSG, 0);
	w(p, 0);
	read_segment(p, 0, exposed_mr->rkey, len, at(0));
	return xid;
}

CASE(chunks, special_controls)
{
	struct peer *p = opened();
	uint32_t xid, i;

	xid = begin_special(p, 40);
	ww(p, 3, 0, 0, 0);
	send_out(p);
	free(expect_reply(p, xid));
	/* The message has a payload in addition, which the server ignores. */
	xid = begin_special(p, 40);
	ww(p, 3, 0, 0, 0);
	while (p->len < SERVER_RECV)
		w(p, p->len);
	send_out(p);
	free(expect_reply(p, xid));
	/* One segment per byte */
	xid = begin_special(p, 1);
	for (i = 1; i < 40; i++)
		read_segment(p, 0, exposed_mr->rkey, 1, at(i));
	ww(p, 3, 0, 0, 0);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(chunks, special_lies)
{
	static const uint32_t lengths[] = { 0, 1, 4, 7 };
	struct peer *p = opened();
	uint32_t i, xid;

	for (i = 0; i < 4; i++) {
		xid = begin_special(p, lengths[i]);
		ww(p, 3, 0, 0, 0);
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	/* Another RPC's Call, and a Reply */
	for (i = 0; i < 2; i++) {
		xid = begin_special(p, 40);
		ww(p, 3, 0, 0, 0);
		put(exposed, 4 * i, 0x12345678);
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	/*
	 * Items within the first words and past the end; then one without a Position
	 * Zero chunk
	 */
	for (i = 0; i < 3; i++) {
		static const uint32_t positions[] = { 4, 48, 0x1000 };

		xid = begin_special(p, 40);
		read_segment(p, positions[i], exposed_mr->rkey, 8, at(0));
		ww(p, 3, 0, 0, 0);
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	xid = ++p->xid;
	begin(p, xid, NOMSG, 0);
	w(p, 0);
	read_segment(p, 8, exposed_mr->rkey, 100, at(0));
	ww(p, 3, 0, 0, 0);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	alive(p);
}

/*
 * The Call's memory changes while the server may read it: either content is acceptable.
 */
CASE(chunks, special_changes)
{
	struct peer *p = opened();
	uint32_t i, n = 20;
	struct msg *m;

	for (i = 0; i < n; i++) {
		begin_special(p, 40);
		ww(p, 3, 0, 0, 0);
		send_out(p);
		memset(exposed, i, 40);
	}
	/* Each Call is answered with a Reply or with an ERROR. */
	for (i = 0; i < n; i++) {
		m = answer(p, "Reply or ERROR");
		if (get(m->data, 12) != MSG && get(m->data, 12) != ERROR)
			bad("a Reply or ERROR should come, not %s", describe(m));
		free(m);
	}
	alive(p);
}
