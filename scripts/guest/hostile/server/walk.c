// SPDX-License-Identifier: GPL-2.0
/* A random walk */
#include <stdlib.h>

#include "../lib/random.h"
#include "server.h"

enum { WALK_MS = 100000 };

unsigned int walk_left;

/*
 * Corrupt the headers, but not nfsd's results. The client drops many of these messages, and
 * then waits for the Reply. So most of them are followed by a correct Reply.
 */
void walk_reply(struct call *c)
{
	static const uint32_t extremes[] = {
		0, 1, 2, 3, 4, 5, 100, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff,
	};
	struct peer *p = c->p;
	uint32_t header, n, at, kind = below(12);
	bool behind;

	walk_left--;
	if (kind > 5 && needs_parts(c))
		kind = 4;
	trail_add("step of kind %u", kind);
	switch (kind) {
	case 0:
		return;
	case 1:
		peer_disconnect(p);
		return;
	case 2:
		begin(p, c->xid, ERROR, RESPONSE);
		ww(p, 3, 1 + below(11), extremes[below(11)], extremes[below(11)]);
		break;
	case 3:
		begin(p, below(2) ? c->xid : 0, below(7), below(8));
		no_lists(p);
		break;
	case 4:
		send_parts(c, c->answer_len);
		return;
	case 5:
		begin_reply(c, MSG, MORE);
		ww(p, 2, 0, 0);
		put_answer(c, 0, 4 * below(c->answer_len < 3000 ? c->answer_len / 4 : 700));
		break;
	default:
		make_good(c);
	}
	header = p->version == 2 ? HEADER : HEADER1;
	if (c->has_write)
		header += 8 + 16 * c->write.count;
	if (header > p->len)
		header = p->len;
	n = below(3) ? 0 : 1 + below(3);
	/* Send neither the rest of a continued Reply nor a second correct Reply. */
	behind = (kind < 5 || (kind > 5 && n)) && below(6);
	for (; n; n--) {
		at = 4 * below(header / 4);
		if (at == 4 && below(10))
			continue;
		if (at == 8 || at == 20)
			p->stamp = false;
		switch (below(3)) {
		case 0:
			put(p->out, at, get(p->out, at) ^ 1u << below(32));
			break;
		case 1:
			put(p->out, at, extremes[below(11)]);
			break;
		case 2:
			p->len = below(2) ? at + below(4) : p->len;
			break;
		}
	}
	if (!p->stamp && below(4)) {
		put(p->out, 8, CREDIT);
		put(p->out, 20, p->received);
	}
	send_out(p);
	if (!below(6))
		send_out(p);
	if (behind)
		send_good(c);
}

static const char *walk_steps(void)
{
	unsigned int fails = 0, successes = 0;
	double end = now() + WALK_MS * scale / 1e3;

	while (walk_left) {
		if (do_op(below(4) ? "read" : "write") < 0)
			return "it hangs";
		if (now() > end)
			return "an operation did not end in time";
		works ? successes++ : fails++;
		if (!below(6)) {
			want_version1 = below(3) == 0;
			fresh_connection();
		}
	}
	printf("# %u operations succeeded, %u failed\n", successes, fails);
	want_version1 = false;
	fresh_connection();
	return recovers() ? NULL : "the mount does not work after the walk";
}

int walk(const char *seed, const char *steps)
{
	const char *why;
	char text[256];

	random_begin(strtoull(seed, NULL, 0));
	walk_left = strtoul(steps, NULL, 0);
	why = walk_steps();
	if (why)
		snprintf(text, sizeof(text), "%s (%u of %s steps are left)", why, walk_left, steps);
	return !trail_unless(result(why ? text : NULL, "walk_%s", seed));
}
