// SPDX-License-Identifier: GPL-2.0
/* Checks of the messages that the server should send */
#include <stdarg.h>
#include <stdlib.h>

#include "client.h"

struct msg *answer(struct peer *p, const char *wanted)
{
	struct msg *m = receive_more(p, ANSWER_MS);

	if (!m)
		bad("no %s: %s", wanted, p->closed ? "the connection is closed" : "no answer in time");
	return m;
}

void expect_error(struct peer *p, uint32_t xid, uint32_t code, int count, ...)
{
	struct msg *m = answer(p, "ERROR");
	va_list args;
	int i;

	if (m->len != 28 + 4u * count || get(m->data, 0) != xid || get(m->data, 4) != 2 ||
	    get(m->data, 12) != ERROR || get(m->data, 16) != RESPONSE || get(m->data, 24) != code)
		bad("ERROR %u about %x should come, not %s", code, xid, describe(m));
	va_start(args, count);
	for (i = 0; i < count; i++) {
		uint32_t want = va_arg(args, uint32_t);

		if (get(m->data, 28 + 4 * i) != want)
			bad("ERROR %u should carry %u, not %u", code, want, get(m->data, 28 + 4 * i));
	}
	va_end(args);
	free(m);
}

void expect_err_vers(struct peer *p, uint32_t xid, uint32_t version)
{
	struct msg *m = answer(p, "ERR_VERS");

	if (m->len != 28 || get(m->data, 0) != xid || get(m->data, 4) != version ||
	    !get(m->data, 8) || get(m->data, 12) != ERROR || get(m->data, 16) != ERR_VERS ||
	    get(m->data, 20) != 1 || get(m->data, 24) != 2)
		bad("ERR_VERS about version %u should come, not %s", version, describe(m));
	free(m);
}

void expect_err_chunk(struct peer *p, uint32_t xid)
{
	struct msg *m = answer(p, "ERR_CHUNK");

	if (m->len != 20 || get(m->data, 0) != xid || get(m->data, 4) != 1 ||
	    get(m->data, 12) != ERROR || get(m->data, 16) != 2)
		bad("ERR_CHUNK about %x should come, not %s", xid, describe(m));
	free(m);
}

uint32_t payload(const struct msg *m, uint32_t version)
{
	uint32_t at = version == 2 ? 28 : 16, i;

	if (m->len < at + 12 || get(m->data, at))
		bad("a Reply without Read chunks should come, not %s", describe(m));
	at += 4;
	for (i = 0; i < 2; i++) {
		while (at + 8 <= m->len && get(m->data, at)) {
			at += 8 + 16 * get(m->data, at + 4);
			if (i)
				return at;
		}
		at += 4;
	}
	if (at > m->len)
		bad("the header of a Reply is invalid: %s", describe(m));
	return at;
}

struct msg *expect_reply(struct peer *p, uint32_t xid)
{
	struct msg *m = answer(p, "Reply");
	uint32_t at;

	if (m->len < 36 || get(m->data, 0) != xid || get(m->data, 4) != (uint32_t)p->version ||
	    get(m->data, 12) != MSG || (p->version == 2 && get(m->data, 16) != RESPONSE))
		bad("a Reply to %x should come, not %s", xid, describe(m));
	at = payload(m, p->version);
	if (m->len < at + 8 || get(m->data, at) != xid || get(m->data, at + 4) != 1)
		bad("the answer to %x is no RPC Reply: %s", xid, describe(m));
	return m;
}

void expect_done(struct peer *p, uint32_t xid)
{
	struct msg *m = answer(p, "DONE");

	if (m->len != PREFIX || get(m->data, 0) != xid || get(m->data, 12) != DONE ||
	    get(m->data, 16))
		bad("DONE for %x should come, not %s", xid, describe(m));
	free(m);
}

void expect_closed(struct peer *p)
{
	struct msg *m = receive_more(p, 2 * ANSWER_MS);

	if (m)
		bad("the connection should be closed, but an answer came: %s", describe(m));
	if (!p->closed)
		bad("the connection should be closed, but is open");
}

void expect_connprop(struct peer *p)
{
	struct msg *m = answer(p, "CONNPROP");

	if (m->len < 28 || get(m->data, 0) || get(m->data, 4) != 2 ||
	    get(m->data, 12) != CONNPROP || get(m->data, 16))
		bad("CONNPROP should come, not %s", describe(m));
	free(m);
}
