// SPDX-License-Identifier: GPL-2.0
/* Accesses to memory that the server may not use (WP 8) */
#include "server.h"

/*
 * The client's queue pair must reject the access, which is an error at this end as well.
 */
static void refused(struct peer *p, const char *what)
{
	if (sends_done(p))
		wrong = what;
}

SCASE(memory, read_of_a_write_chunk, READ, "read", OK)
{
	rdma_post(p, true, AT_CALL, 100, c->write.seg[0].handle, c->write.seg[0].offset);
	refused(p, "a Write chunk can be read");
}

SCASE(memory, beyond_a_write_chunk, READ, "read", OK)
{
	rdma_post(p, false, AT_REPLY, 100, c->write.seg[0].handle,
		  c->write.seg[0].offset + c->write.seg[0].len - 50);
	refused(p, "memory after a Write chunk can be written");
}

SCASE(memory, before_a_write_chunk, READ, "read", OK)
{
	rdma_post(p, false, AT_REPLY, 100, c->write.seg[0].handle, c->write.seg[0].offset - 1);
	refused(p, "memory before a Write chunk can be written");
}

SCASE(memory, write_to_a_read_chunk, WRITE, "write", OK)
{
	rdma_post(p, false, AT_REPLY, 100, c->read.seg[0].handle, c->read.seg[0].offset);
	refused(p, "a Read chunk can be written");
}

SCASE(memory, after_the_reply, READ, "read", OK)
{
	make_good(c);
	send_inv(p, c->inv);
	rdma_post(p, false, AT_REPLY, 100, c->write.seg[0].handle, c->write.seg[0].offset);
	refused(p, "a Write chunk can be written after the Reply that invalidated it");
}

SCASE(memory, after_a_plain_reply, READ, "read", OK)
{
	int i;

	send_good(c);
	/* No fixed time: the client needs this processor to invalidate. */
	for (i = 0; i < 20 * scale; i++)
		run_once(20);
	rdma_post(p, false, AT_REPLY, 100, c->write.seg[0].handle, c->write.seg[0].offset);
	refused(p, "a Write chunk can be written long after the Reply");
}

SCASE(memory, next_handle, READ, "read", OK)
{
	rdma_post(p, false, AT_REPLY, 100, c->write.seg[0].handle ^ 1, c->write.seg[0].offset);
	refused(p, "a handle that was not announced can be used");
}
