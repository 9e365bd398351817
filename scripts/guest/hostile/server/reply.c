// SPDX-License-Identifier: GPL-2.0
/* Correct Replies */
#include <string.h>

#include "server.h"

void begin_reply(struct call *c, uint32_t type, uint32_t flags)
{
	begin(c->p, c->xid, type, RESPONSE | flags);
	if (c->p->version == 2)
		w(c->p, 0);
	w(c->p, 0);
}

void return_chunk(struct peer *p, const struct chunk *k, uint32_t octets)
{
	uint32_t i, n;

	ww(p, 2, 1, k->count);
	for (i = 0; i < k->count; i++) {
		n = octets < k->seg[i].len ? octets : k->seg[i].len;
		segment(p, k->seg[i].handle, n, k->seg[i].offset);
		octets -= n;
	}
}

void return_write(struct call *c, uint32_t octets)
{
	enum form form = octets ? EMPTY : personality()->unused_write;

	if (c->has_write && form != ABSENT)
		return_chunk(c->p, &c->write, form == AS_OFFERED ? c->write.octets : octets);
	w(c->p, 0);
}

/* Write the Reply chunk of a Reply that is in the message. */
static void return_reply(struct call *c)
{
	if (c->has_reply && personality()->unused_reply == EMPTY)
		return_chunk(c->p, &c->reply, 0);
	else
		w(c->p, 0);
}

void put_answer(struct call *c, uint32_t from, uint32_t len)
{
	struct peer *p = c->p;

	if (p->len + len > sizeof(p->out))
		bad("a Reply of %u bytes is too long for this program", len);
	memcpy(p->out + p->len, c->answer + from, len);
	p->len += len;
}

/* Write @len bytes of the answer, from byte @from on, to @k. */
static void push(struct call *c, const struct chunk *k, uint32_t from, uint32_t len)
{
	uint32_t i, n, at = AT_REPLY + from, done = 0;

	memcpy(exposed + at, c->answer + from, len);
	for (i = 0; i < k->count && done < len; i++) {
		n = len - done < k->seg[i].len ? len - done : k->seg[i].len;
		rdma_post(c->p, false, at + done, n, k->seg[i].handle, k->seg[i].offset);
		done += n;
	}
}

/* Return the bytes of the data item in a READ's Reply, if it is to be reduced. */
static uint32_t item_octets(const struct call *c)
{
	uint32_t len;

	if (!c->has_write || !c->item || c->answer_len < c->item)
		return 0;
	len = get(c->answer, c->item - 4);
	return len <= c->answer_len - c->item && len <= c->write.octets ? len : 0;
}

void make_reduced(struct call *c, uint32_t item)
{
	begin_reply(c, MSG, 0);
	return_write(c, item);
	return_reply(c);
	put_answer(c, 0, c->item);
}

static void make_inline(struct call *c)
{
	begin_reply(c, MSG, 0);
	return_write(c, 0);
	return_reply(c);
	put_answer(c, 0, c->answer_len);
}

/* Build a Reply of @len bytes in the Reply chunk, with @item bytes in the Write chunk. */
static void make_special(struct call *c, uint32_t item, uint32_t len)
{
	begin_reply(c, NOMSG, 0);
	return_write(c, item);
	return_chunk(c->p, &c->reply, len);
}

void make_good(struct call *c)
{
	const struct personality *as = personality();
	uint32_t item = c->has_reply && as->whole ? 0 : item_octets(c);
	uint32_t len = item ? c->item : c->answer_len;

	if (item)
		push(c, &c->write, c->item, item);
	if (c->has_reply && len > as->inline_max && len <= c->reply.octets) {
		push(c, &c->reply, 0, len);
		make_special(c, item, len);
	} else if (item) {
		make_reduced(c, item);
	} else {
		make_inline(c);
	}
}

bool needs_parts(const struct call *c)
{
	return c->p->version == 2 && c->answer_len > INLINE && !item_octets(c) &&
	       !(c->has_reply && c->answer_len <= c->reply.octets);
}

void send_parts(struct call *c, uint32_t octets)
{
	uint32_t done = 0, room = CLIENT_RECV - HEADER;

	while (done < octets && !c->p->closed) {
		bool more = octets - done > room;

		begin_reply(c, MSG, more ? MORE : 0);
		if (!more) {
			return_write(c, 0);
			w(c->p, 0);
		} else {
			ww(c->p, 2, 0, 0);
		}
		if (done + room <= c->answer_len) {
			put_answer(c, done, more ? room : octets - done);
		} else if (more) {
			while (c->p->len < CLIENT_RECV)
				w(c->p, 0);
		} else {
			put_answer(c, done, octets - done);
		}
		done += more ? room : octets - done;
		send_out(c->p);
		/* Leave space for a last fragment with a chunk. */
		if (octets - done > room - 300 && octets - done <= room)
			room -= 300;
	}
}

void send_good(struct call *c)
{
	if (needs_parts(c)) {
		send_parts(c, c->answer_len);
		return;
	}
	make_good(c);
	send_inv(c->p, invalidated(c));
}
