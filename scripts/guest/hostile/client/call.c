// SPDX-License-Identifier: GPL-2.0
/* Calls, and other messages that several groups of cases send */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

void null_call(struct peer *p, uint32_t xid, uint32_t flags)
{
	begin(p, xid, MSG, flags);
	no_lists(p);
	rpc_null(p, xid);
}

void alive(struct peer *p)
{
	uint32_t xid = ++p->xid;

	null_call(p, xid, 0);
	send_out(p);
	free(expect_reply(p, xid));
}

void grant(struct peer *p, uint32_t flags)
{
	begin(p, 0, NOMSG, flags);
	no_lists(p);
	send_out(p);
}

uint32_t begin_read_call(struct peer *p)
{
	uint32_t xid = ++p->xid;

	begin(p, xid, MSG, 0);
	w(p, 0);
	return xid;
}

void end_read_call(struct peer *p, uint32_t xid)
{
	ww(p, 3, 0, 0, 0);
	rpc_null(p, xid);
}

uint32_t read_at(struct peer *p, uint32_t position, uint32_t len)
{
	uint32_t xid = begin_read_call(p);

	read_segment(p, position, exposed_mr->rkey, len, at(0));
	end_read_call(p, xid);
	send_out(p);
	return xid;
}

void expose_null(struct peer *p, uint32_t xid)
{
	/* The RPC message is built in p->out, and copied to the exposed memory. */
	raw(p);
	rpc_null(p, xid);
	memcpy(exposed, p->out, 40);
}

void rpc_reads(struct peer *p, uint32_t xid, int reads, ...)
{
	va_list args;

	rpc_call(p, xid, 100003, 4, 1);
	ww(p, 3, 0, 0, 2 + reads);
	w(p, 24);
	ww(p, 4, 15, 7, 0x686f7374, 0x696c6500);
	va_start(args, reads);
	while (reads--) {
		w(p, 25);
		ww(p, 4, 0, 0, 0, 0);
		ww(p, 3, 0, 0, va_arg(args, uint32_t));
	}
	va_end(args);
}

void rpc_read(struct peer *p, uint32_t xid, uint32_t count)
{
	rpc_reads(p, xid, 1, count);
}

uint32_t begin_read(struct peer *p)
{
	uint32_t xid = ++p->xid;

	begin(p, xid, MSG, 0);
	ww(p, 2, 0, 0);
	return xid;
}

void write_chunk(struct peer *p, uint32_t handle, uint32_t len, uint64_t offset)
{
	ww(p, 2, 1, 1);
	segment(p, handle, len, offset);
}

bool exposed_is(uint32_t from, uint32_t len, uint8_t octet)
{
	while (len--)
		if (exposed[from++] != octet)
			return false;
	return true;
}

void read_inline(struct peer *p, uint32_t xid, uint32_t header, uint32_t count)
{
	struct msg *m;

	rpc_read(p, xid, count);
	send_out(p);
	m = expect_reply(p, xid);
	if (m->len != header + READ_ITEM + count || m->data[header + READ_ITEM] != 'h')
		bad("a Reply to a READ should come, not %s", describe(m));
	free(m);
}

void part(struct peer *p, uint32_t xid, uint32_t from, uint32_t len, bool more)
{
	uint32_t header;

	begin(p, xid, MSG, more ? MORE : 0);
	no_lists(p);
	header = p->len;
	rpc_null(p, xid);
	memmove(p->out + header, p->out + header + from, len);
	p->len = header + len;
	send_out(p);
}
