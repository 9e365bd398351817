// SPDX-License-Identifier: GPL-2.0
/* Replies (WP 6) */
#include "server.h"

SCASE(replies, control, READ, "read", OK | STAYS) { send_good(c); }

SCASE(replies, control_invalidates, READ, "read", OK | STAYS)
{
	make_good(c);
	send_inv(p, c->inv);
}

SCASE(replies, control_continued, READ, "read", OK | STAYS)
{
	send_parts(c, c->answer_len);
}

SCASE(replies, to_nobody, READ, "read", OK | STAYS)
{
	struct call other = *c;

	other.xid += 0x1000;
	other.has_write = false;
	begin_reply(&other, MSG, 0);
	ww(p, 2, 0, 0);
	ww(p, 6, other.xid, 1, 0, 0, 0, 0);
	send_out(p);
	begin_reply(&other, NOMSG, 0);
	ww(p, 2, 0, 0);
	send_out(p);
	begin_reply(&other, MSG, TPMORE);
	send_out(p);
	send_good(c);
}

SCASE(replies, twice, READ, "read", OK | STAYS)
{
	send_good(c);
	send_out(p);
	send_out(p);
}

SCASE(replies, is_a_call, READ, "read", FAILS | STAYS)
{
	put(c->answer, 4, 0);
	send_good(c);
}

SCASE(replies, of_another, READ, "read", FAILS | STAYS)
{
	put(c->answer, 0, c->xid + 1);
	send_good(c);
}

SCASE(replies, short_payload, READ, "read", FAILS | STAYS)
{
	make_good(c);
	p->len -= c->item - 4;
	send_out(p);
}

SCASE(replies, response_clear, READ, "read", OK | STAYS)
{
	make_good(c);
	put(p->out, 16, 0);
	send_out(p);
	put(p->out, 16, RESPONSE);
	send_out(p);
}

SCASE(replies, lists_cut, READ, "read", FAILS | STAYS)
{
	make_good(c);
	p->len = 36;
	send_out(p);
}

SCASE(replies, tpmore, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, 16, RESPONSE | TPMORE);
	send_out(p);
}

SCASE(replies, nomsg_more, READ, "read", FAILS | STAYS)
{
	begin_reply(c, NOMSG, MORE);
	ww(p, 2, 0, 0);
	send_out(p);
}

SCASE(replies, no_write_list, READ, "read", FAILS | STAYS)
{
	begin_reply(c, MSG, 0);
	ww(p, 2, 0, 0);
	put_answer(c, 0, c->item);
	send_out(p);
}

SCASE(replies, write_list_twice, READ, "read", FAILS | STAYS)
{
	begin_reply(c, MSG, 0);
	return_chunk(p, &c->write, 100);
	return_write(c, 100);
	w(p, 0);
	put_answer(c, 0, c->item);
	send_out(p);
}

/* Offset of the first segment of the Write list */
enum { AT_SEG = 40 };

SCASE(replies, write_handle, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, AT_SEG, get(p->out, AT_SEG) + 1);
	send_out(p);
}

SCASE(replies, write_length, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, AT_SEG + 4, c->write.seg[0].len + 1);
	send_out(p);
}

SCASE(replies, write_length_high, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, AT_SEG + 4, 0xffffffff);
	send_out(p);
}

SCASE(replies, write_count_lies, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, AT_SEG - 4, 0x10000001);
	send_out(p);
}

SCASE(replies, more_segments, READ, "read", FAILS | STAYS)
{
	struct call other = *c;

	other.write.seg[other.write.count] = other.write.seg[0];
	other.write.count++;
	make_reduced(&other, 100);
	send_out(p);
}

/* The chunk is returned as unused: a READ without data, which the transport does not check */
SCASE(replies, fewer_segments, READ, "read", FAILS | STAYS)
{
	struct call other = *c;

	other.write.count = 0;
	make_reduced(&other, 0);
	send_out(p);
}

SCASE(replies, reply_chunk_not_offered, READ, "read", FAILS | STAYS)
{
	begin_reply(c, NOMSG, 0);
	return_write(c, 0);
	return_chunk(p, &c->write, 1000);
	send_out(p);
}

SCASE(replies, nomsg_without_chunks, READ, "read", FAILS | STAYS)
{
	begin_reply(c, NOMSG, 0);
	return_write(c, 0);
	w(p, 0);
	send_out(p);
}

SCASE(replies, read_chunk, READ, "read", FAILS | STAYS)
{
	begin(p, c->xid, MSG, RESPONSE);
	w(p, 0);
	read_segment(p, 8, exposed_mr->rkey, 100, (uintptr_t)exposed);
	w(p, 0);
	return_write(c, 0);
	w(p, 0);
	put_answer(c, 0, c->item);
	send_out(p);
}

SCASE(replies, to_be_pulled_from_nowhere, READ, "read", OK | CLOSES)
{
	begin(p, c->xid, NOMSG, RESPONSE);
	w(p, 0xfffff700);
	read_segment(p, 0, 0xfffff700, 1000, 0);
	w(p, 0);
	return_write(c, 0);
	w(p, 0);
	send_out(p);
}

SCASE(replies, part_and_silence, READ, "read", OK | CLOSES)
{
	begin_reply(c, MSG, MORE);
	ww(p, 2, 0, 0);
	put_answer(c, 0, 1000);
	send_out(p);
}

SCASE(replies, part_and_another, READ, "read", OK | CLOSES)
{
	begin_reply(c, MSG, MORE);
	ww(p, 2, 0, 0);
	put_answer(c, 0, 1000);
	send_out(p);
	begin(p, c->xid + 1, MSG, RESPONSE);
	no_lists(p);
	ww(p, 6, c->xid + 1, 1, 0, 0, 0, 0);
	send_out(p);
}

SCASE(replies, part_and_call, READ, "read", FAILS | STAYS)
{
	begin_reply(c, MSG, MORE);
	ww(p, 2, 0, 0);
	put_answer(c, 0, 1000);
	send_out(p);
	begin(p, 0x99, MSG, 0);
	no_lists(p);
	rpc_null(p, 0x99);
	send_out(p);
}

SCASE(replies, odd_part, READ, "read", FAILS | STAYS)
{
	begin_reply(c, MSG, MORE);
	ww(p, 2, 0, 0);
	put_answer(c, 0, 1001);
	send_out(p);
}

SCASE(replies, without_end, READ, "read", FAILS | STAYS)
{
	uint32_t octets;

	for (octets = 0; octets < CLIENT_REASSEMBLY + 10000 && !p->closed; octets += 4056) {
		begin_reply(c, MSG, MORE);
		ww(p, 2, 0, 0);
		if (!octets)
			ww(p, 2, c->xid, 1);
		while (p->len < CLIENT_RECV)
			w(p, 0);
		send_out(p);
	}
}

SCASE(replies, parts_of_nobodys, READ, "read", OK | STAYS)
{
	int i;

	for (i = 0; i < 80; i++) {
		begin(p, c->xid + 5, MSG, RESPONSE | (i < 79 ? MORE : 0));
		no_lists(p);
		ww(p, 2, c->xid + 5, 1);
		while (p->len < CLIENT_RECV)
			w(p, 0);
		send_out(p);
	}
	send_good(c);
}

SCASE(replies, too_long, READ, "read", OK | CLOSES)
{
	make_good(c);
	while (p->len <= CLIENT_RECV)
		w(p, 0);
	send_out(p);
}

SCASE(replies, version_3, READ, "read", OK | CLOSES)
{
	make_good(c);
	put(p->out, 4, 3);
	send_out(p);
}

SCASE(replies, version_1, READ, "read", OK | CLOSES)
{
	p->version = 1;
	make_good(c);
	send_out(p);
}

SCASE(replies, short_messages, READ, "read", OK | STAYS)
{
	uint32_t len;

	make_good(c);
	for (len = 0; len < PREFIX; len++) {
		uint32_t whole = p->len;

		p->len = len;
		send_out(p);
		p->len = whole;
	}
	send_out(p);
}

SCASE(replies, wrong_invalidation, READ, "read", OK | CLOSES)
{
	make_good(c);
	send_inv(p, 0xfffff700);
}

SCASE(replies, invalidating_grant, READ, "read", OK | CLOSES)
{
	begin(p, 0, NOMSG, 0);
	no_lists(p);
	send_inv(p, c->inv);
}

SCASE(replies, invalidates_twice, READ, "read", OK)
{
	make_good(c);
	send_inv(p, c->inv);
	send_inv(p, c->inv);
}

SCASE(replies, silence, READ, "read", OK | CLOSES) { }
SCASE(replies, disconnect, READ, "read", OK) { peer_disconnect(p); }
SCASE(replies, dead, READ, "read", OK | CLOSES) { peer_die(p); }

SCASE(replies, disconnect_amid, READ, "read", OK)
{
	begin_reply(c, MSG, MORE);
	ww(p, 2, 0, 0);
	put_answer(c, 0, 1000);
	send_out(p);
	sends_done(p);
	peer_disconnect(p);
}

SCASE(replies, disconnect_behind, READ, "read", OK)
{
	send_good(c);
	sends_done(p);
	peer_disconnect(p);
}

/* The client may end the RPC without a result, but no other RPC. */
SCASE(replies, to_first_calls, CALL, "read", FAILS | STAYS, true)
{
	begin_reply(c, NOMSG, 0);
	ww(p, 2, 0, 0);
	send_out(p);
}
