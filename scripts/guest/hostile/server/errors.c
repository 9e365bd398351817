// SPDX-License-Identifier: GPL-2.0
/* ERRORs for a pending Call (WP 7) */
#include "server.h"

void send_error(struct call *c, uint32_t code, uint32_t arg0, uint32_t arg1, uint32_t len)
{
	if (code == READ_CHUNKS || code == WRITE_CHUNKS || code == SEGMENTS)
		keep_answer(c);
	begin(c->p, c->xid, ERROR, RESPONSE);
	ww(c->p, 3, code, arg0, arg1);
	c->p->len = len;
	send_out(c->p);
}

#define ERRORS(name, op, expect, code, arg0, arg1, len) \
	SCASE(errors, name, op[0] == 'r' ? READ : WRITE, op, expect) \
	{ send_error(c, code, arg0, arg1, len); }

/* The client has no other form of the Call: the RPC ends. */
ERRORS(bad_xdr, "read", FAILS | STAYS, BAD_XDR, 0, 0, 28)
ERRORS(bad_propval, "read", FAILS | STAYS, BAD_PROPVAL, 0, 0, 28)
ERRORS(inval_htype, "read", FAILS | STAYS, INVAL_HTYPE, 0, 0, 28)
ERRORS(inval_cont, "read", FAILS | STAYS, INVAL_CONT, 0, 0, 28)
ERRORS(system, "read", FAILS | STAYS, ERR_SYSTEM, 0, 0, 28)
/* Values that exceed the Call's chunks, or that no chunk satisfies */
ERRORS(write_resource, "read", FAILS | STAYS, WRITE_RESOURCE, 1, 0xffffffff, 36)
ERRORS(reply_resource_0, "read", FAILS | STAYS, REPLY_RESOURCE, 0, 0, 32)
ERRORS(reply_resource_more, "read", FAILS | STAYS, REPLY_RESOURCE, 65536, 0, 32)
ERRORS(reply_resource_high, "read", FAILS | STAYS, REPLY_RESOURCE, 0xffffffff, 0, 32)
/* A READ has one Write chunk of one segment, a WRITE a Read chunk of one segment. */
ERRORS(read_chunks, "read", FAILS | STAYS, READ_CHUNKS, 0, 0, 32)
ERRORS(write_chunks_1, "read", FAILS | STAYS, WRITE_CHUNKS, 1, 0, 32)
ERRORS(segments_1, "read", FAILS | STAYS | NEW, SEGMENTS, 1, 0, 32)
ERRORS(segments_high, "read", FAILS | STAYS, SEGMENTS, 0xffffffff, 0, 32)
/*
 * This server accepts no continued messages, so a WRITE cannot be sent without a Read
 * chunk.
 */
ERRORS(write_read_chunks, "write", FAILS | STAYS, READ_CHUNKS, 0, 0, 32)
ERRORS(write_segments_0, "write", FAILS | STAYS | NEW, SEGMENTS, 0, 0, 32)
ERRORS(write_segments_1, "write", FAILS | STAYS | NEW, SEGMENTS, 1, 0, 32)
/* There is another form (WP 7): with a Reply chunk, or with a continued Reply. */
ERRORS(reply_resource, "read", OK | STAYS, REPLY_RESOURCE, IO_SIZE, 0, 32)
ERRORS(write_chunks_0, "read", OK | STAYS, WRITE_CHUNKS, 0, 0, 32)
ERRORS(segments_0, "read", OK | STAYS | NEW, SEGMENTS, 0, 0, 32)

/* Without a meaning, or truncated: the client drops the ERROR. */
#define DROPPED(name, code, len) \
	SCASE(errors, name, READ, "read", OK | STAYS) \
	{ send_error(c, code, 1, 1, len); send_good(c); }

DROPPED(vers, ERR_VERS, 36)
DROPPED(code_0, 0, 28)
DROPPED(code_11, 11, 28)
DROPPED(code_high, 0xffffffff, 28)
DROPPED(no_code, BAD_XDR, 24)
DROPPED(no_data, WRITE_RESOURCE, 32)

/* The client tries once more: the second ERROR ends the RPC. */
#define FOREVER(name, count, code, arg0) \
	SCASE(errors, name, READ, "read", FAILS | STAYS, true, .times = count) \
	{ send_error(c, code, arg0, 0, 32); }

FOREVER(read_chunks_for_ever, 1, READ_CHUNKS, 0)
FOREVER(write_chunks_for_ever, 2, WRITE_CHUNKS, 0)

/* Send the @nr-th of several reasons to refuse a Call, until all are used. */
static void refuse_again(struct call *c, unsigned int nr)
{
	if (nr == 1)
		send_error(c, WRITE_CHUNKS, 0, 0, 32);
	else if (nr == 2)
		send_error(c, SEGMENTS, 0, 0, 32);
	else
		send_error(c, REPLY_RESOURCE, IO_SIZE, 0, 32);
}

/* Neither a Write chunk nor a Reply chunk: a continued Reply */
SCASE(errors, two_in_a_row, READ, "read", OK | STAYS | NEW, true, .times = 3)
{
	if (hits < 3)
		refuse_again(c, hits);
	else
		send_good(c);
}

/* The Call may not have a Reply chunk. */
SCASE(errors, three_in_a_row, READ, "read", FAILS | STAYS | NEW, true, .times = 3)
{
	refuse_again(c, hits);
}
