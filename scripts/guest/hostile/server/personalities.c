// SPDX-License-Identifier: GPL-2.0
/* Replies of other servers in version 1, according to their public sources */
#include "server.h"

const struct personality gateway = {
	.inline_max = INLINE, .unused_write = EMPTY, .unused_reply = ABSENT,
};

const struct personality *personality(void)
{
	return armed && armed->as ? armed->as : &gateway;
}

void assume_personality(struct peer *p)
{
	const struct personality *as = personality();

	if (as == &gateway)
		return;
	/*
	 * A server that echoes the credits requested, and so grants more than it has
	 * Receives for
	 */
	p->nr_recvs = 256;
	/* The longest Send of the kernel's client */
	p->recv_size = SLOT;
	p->no_private = as->no_private;
	if (!p->no_private) {
		p->private_words[0] = htonl(0xf6ab0e18);
		p->private_words[1] = htonl(as->private_word);
	}
}

void grant_credits(struct peer *p)
{
	const struct personality *as = personality();
	uint32_t busy = 1;
	struct msg *m;

	if (as == &gateway)
		return;
	p->credit = !as->echoes ? as->credits : asked ? asked : 1;
	if (!as->grants_free)
		return;
	for (m = p->inbox; m; m = m->next)
		busy++;
	p->credit = busy < as->credits ? as->credits - busy : 0;
}

uint32_t invalidated(const struct call *c)
{
	/* RFC 8797: the flag is in the second byte after the format identifier. */
	return personality()->invalidates && (request_private[5] & 1) && c->has_write &&
	       !c->has_reply ? c->write.seg[0].handle : 0;
}

void check_call(const struct call *c, uint32_t type)
{
	const struct personality *as = personality();

	if (as->no_nomsg && type == NOMSG)
		wrong = "a Call was in a Read chunk, which this server does not accept";
	if (as->narrow && ((c->has_write && c->write.count != 1) ||
			   (c->has_write && c->op != READ) || (c->has_read && c->op != WRITE)))
		wrong = "a Call has chunks that this server does not accept";
}

/*
 * Version 1 of other servers, according to their public sources. Each case has a separate
 * mount, as in refusals.c. The Replies have each form that the server sends.
 */

/*
 * If a Call has a Reply chunk, ntirpc (NFS-Ganesha) sends the Reply in it. Such a Reply has
 * no Write list, and the data of a READ is in the Reply chunk.
 */
#define NTIRPC(nr_credits) {							\
	.no_private = true, .credits = (nr_credits), .inline_max = 0, .whole = true,	\
	.unused_write = ABSENT, .unused_reply = ABSENT,				\
}
static const struct personality ntirpc = NTIRPC(30);
/* With the credits of a small configuration */
static const struct personality ntirpc_small = NTIRPC(3);

SCASE(personalities, ntirpc, MOUNT, "read", OK, .as = &ntirpc) { send_only_v1(p, 2); }

SCASE(personalities, ntirpc_small, MOUNT, "read", OK, .as = &ntirpc_small)
{
	send_only_v1(p, 2);
}

/*
 * libevpl (chimera) returns each chunk of the Call. The segments of an unused chunk are
 * empty.
 */
#define LIBEVPL(echoes_credits) {						\
	.no_private = true, .echoes = (echoes_credits), .inline_max = 512,	\
	.unused_write = EMPTY, .unused_reply = EMPTY, .no_nomsg = true,		\
}
/* Of August 2026: grants the credits that are requested. */
static const struct personality libevpl = LIBEVPL(true);
/*
 * Before May 2026: grants no credits. Its process crashes at the first message of version
 * 2; here it restarts at once.
 */
static const struct personality libevpl_old = LIBEVPL(false);

SCASE(personalities, libevpl, MOUNT, "read", OK, .as = &libevpl) { send_only_v1(p, 1); }

SCASE(personalities, libevpl_old, MOUNT, "read", OK, .as = &libevpl_old)
{
	peer_disconnect(p);
}

/*
 * vitastor sends a private message with the largest sizes and remote invalidation, and
 * grants the credits that are free, possibly none. It uses the Reply chunk of a Call, and
 * returns an unused Write chunk unchanged. It ignores version 2.
 */
static const struct personality vitastor = {
	.private_word = 0x0101ffff, .credits = 16, .grants_free = true, .inline_max = 0,
	.unused_write = AS_OFFERED, .unused_reply = ABSENT, .invalidates = true,
	.no_nomsg = true, .narrow = true,
};

SCASE(personalities, vitastor, MOUNT, "read", OK, .as = &vitastor)
{
}
