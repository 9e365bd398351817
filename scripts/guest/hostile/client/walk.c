// SPDX-License-Identifier: GPL-2.0
/* A random walk */
#include <stdlib.h>

#include "../lib/random.h"
#include "client.h"

static uint32_t extreme(void)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 4, 5, 8, 16, 17, 40, 64, 65, 1023, 1024, 4096, 65535, 65536,
		262144, 262145, 16 << 20, (16 << 20) + 1, 0x7fffffff, 0x80000000,
		0xfffffffc, 0xffffffff,
	};

	return values[below(sizeof(values) / sizeof(*values))];
}

/*
 * Handles that may be named in messages. rxe does not check which connection a handle to
 * invalidate belongs to, so a walk must not use handles of other clients.
 */
static uint32_t any_handle(void)
{
	switch (below(8)) {
	case 0:
		return 0;
	case 1:
		return 0xfffff700;
	case 2:
		return foreign_mr->rkey;
	default:
		return exposed_mr->rkey;
	}
}

static void any_segment(struct peer *p, bool read)
{
	uint32_t len = below(4) ? below(3000) : below(8) ? 0 : extreme();

	if (read)
		ww(p, 2, 1, below(6) ? 40 + 4 * below(3) : extreme());
	segment(p, any_handle(), len, below(16) ? at(below(EXPOSED / 2)) : rnd());
}

static void any_lists(struct peer *p)
{
	uint32_t i, n;

	if (p->version == 2)
		w(p, below(4) ? 0 : 0xfffff700);
	for (n = below(3) ? 0 : below(5); n; n--)
		any_segment(p, true);
	w(p, 0);
	for (n = below(3) ? 0 : below(3); n; n--) {
		i = below(4);
		ww(p, 2, 1, i);
		while (i--)
			any_segment(p, false);
	}
	w(p, 0);
	n = below(4) ? 0 : 1;
	w(p, n);
	if (n) {
		i = below(4);
		w(p, i);
		while (i--)
			any_segment(p, false);
	}
}

/* Build a message that is valid, or nearly so. */
static void any_message(struct peer *p)
{
	uint32_t xid = below(4) ? ++p->xid : p->xid, i;

	switch (below(16)) {
	case 0:
		begin(p, 0, CONNPROP, below(4) ? 0 : TPMORE);
		good_props(p);
		break;
	case 1:
		begin(p, 0, NOMSG, 0);
		no_lists(p);
		break;
	case 2:
		begin(p, xid, DONE, 0);
		break;
	case 3:
		begin(p, xid, ERROR, RESPONSE);
		ww(p, 3, 1 + below(11), extreme(), extreme());
		break;
	case 4:
	case 5:
		begin(p, xid, NOMSG, below(4) ? 0 : RESPONSE);
		any_lists(p);
		break;
	case 6:
	case 7:
	case 8:
		begin(p, xid, MSG, MORE);
		no_lists(p);
		rpc_null(p, xid);
		break;
	case 9:
		begin(p, xid, MSG, RESPONSE);
		any_lists(p);
		ww(p, 6, xid, 1, 0, 0, 0, 0);
		break;
	case 10:
	case 11:
		begin(p, xid, MSG, 0);
		any_lists(p);
		rpc_read(p, xid, below(30000));
		break;
	default:
		begin(p, xid, MSG, 0);
		if (below(2))
			no_lists(p);
		else
			any_lists(p);
		rpc_null(p, xid);
	}
	for (i = below(8) ? 0 : below(300); i; i--)
		w(p, rnd());
}

/* Corrupt words, bits or the length. Most messages get few changes, some get many. */
static void mutate(struct peer *p)
{
	uint32_t i, at, n = below(3) ? below(2) : below(6);
	uint32_t inv = p->version == 2 && p->len >= 28 ? get(p->out, 24) : 0;

	for (i = 0; i < n && p->len >= 4; i++) {
		at = 4 * below(p->len / 4);
		/* Seldom change the version, because that ends the connection. */
		if (at == 4 && below(20))
			continue;
		switch (below(5)) {
		case 0:
			put(p->out, at, get(p->out, at) ^ 1u << below(32));
			break;
		case 1:
			put(p->out, at, extreme());
			break;
		case 2:
			put(p->out, at, get(p->out, at) + below(9) - 4);
			break;
		case 3:
			p->len = below(2) ? at : at + below(4);
			break;
		case 4:
			w(p, extreme());
			break;
		}
	}
	/* See any_handle(). */
	if (p->version == 2 && p->len >= 28)
		put(p->out, 24, inv == 0xfffff700 ? inv : 0);
	if (p->len > SERVER_RECV && below(10))
		p->len = SERVER_RECV;
}

uint32_t walk_from(uint64_t seed, uint32_t steps)
{
	uint32_t done = 0, conns = 0;

	random_begin(seed);
	while (done < steps) {
		struct peer *p = peer_new();
		uint32_t n = 1 + below(60);

		conns++;
		p->version = below(5) ? 2 : 1;
		p->credit = below(4) ? 64 : below(3);
		p->no_wait = !below(10);
		p->no_private = !below(4);
		peer_connect(p, addr, port);
		if (p->version == 2 && below(10)) {
			send_props(p);
			free(receive(p, ANSWER_MS));
		}
		while (n-- && done < steps && !p->closed) {
			any_message(p);
			if (p->version == 2 && below(20) == 0) {
				p->stamp = false;
				put(p->out, 8, extreme());
				put(p->out, 20, p->received + (below(2) ? extreme() : below(3) - 1));
			}
			mutate(p);
			/* It is also acceptable that the server grants no further credit. */
			if (!p->no_wait && p->version == 2 && (int32_t)(p->limit - p->sent) <= 0 &&
			    !peers_run(p, 100))
				break;
			if (!p->no_wait && p->version == 2 && (int32_t)(p->limit - p->sent) <= 0) {
				free(receive(p, 0));
				continue;
			}
			send_out(p);
			done++;
			if (!below(4))
				free(receive(p, 10));
			while (p->inbox)
				free(receive(p, 0));
		}
		switch (below(3)) {
		case 0:
			peer_disconnect(p);
			break;
		case 1:
			peers_run(p, 50);
			break;
		}
		peer_free(p);
	}
	return conns;
}
