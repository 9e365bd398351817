// SPDX-License-Identifier: GPL-2.0
/* Calls received from the client, and nfsd's answers to them */
#include <stdlib.h>
#include <string.h>

#include "server.h"

enum {
	NFS3_READ = 6, NFS3_WRITE = 7,
	NFS4_PUTFH = 22, NFS4_READ = 25, NFS4_WRITE = 38, NFS4_EXCHANGE_ID = 42,
	NFS4_SEQUENCE = 53,
};

static bool take_chunk(const uint8_t *m, uint32_t len, uint32_t *at, struct chunk *k)
{
	uint32_t i, n;

	if (*at + 4 > len)
		return false;
	n = get(m, *at);
	*at += 4;
	if (n > 16 || *at + 16 * n > len)
		return false;
	k->count = n;
	k->octets = 0;
	for (i = 0; i < n; i++, *at += 16) {
		k->seg[i].handle = get(m, *at);
		k->seg[i].len = get(m, *at + 4);
		k->seg[i].offset = get64(m, *at + 8);
		k->octets += k->seg[i].len;
	}
	return true;
}

bool take_call(struct call *c, const struct msg *m)
{
	const uint8_t *d = m->data;
	uint32_t at = c->p->version == 2 ? PREFIX : 16, i, octets = 0, position = 0, n;
	struct chunk *k = &c->read;

	if (c->p->version == 2) {
		c->inv = get(d, at);
		at += 4;
	}
	k->count = 0;
	k->octets = 0;
	while (at + 4 <= m->len && get(d, at)) {
		if (at + 24 > m->len || k->count == 16)
			return false;
		c->has_read = true;
		position = get(d, at + 4);
		i = k->count++;
		k->seg[i].handle = get(d, at + 8);
		k->seg[i].len = get(d, at + 12);
		k->seg[i].offset = get64(d, at + 16);
		k->octets += k->seg[i].len;
		at += 24;
	}
	at += 4;
	if (at + 4 > m->len)
		return false;
	if (get(d, at)) {
		at += 4;
		c->has_write = true;
		if (!take_chunk(d, m->len, &at, &c->write) || at + 4 > m->len || get(d, at))
			return false;
	}
	at += 4;
	if (at + 4 > m->len)
		return false;
	if (get(d, at)) {
		at += 4;
		c->has_reply = true;
		if (!take_chunk(d, m->len, &at, &c->reply))
			return false;
	} else {
		at += 4;
	}

	n = m->len - at;
	if (n > MAX_RPC || k->octets > MAX_RPC - n || position > n)
		return false;
	for (i = 0; i < k->count; i++) {
		rdma_post(c->p, true, AT_CALL + octets, k->seg[i].len, k->seg[i].handle,
			  k->seg[i].offset);
		octets += k->seg[i].len;
	}
	if (k->count && !sends_done(c->p))
		return false;
	memcpy(c->rpc, d + at, position);
	memcpy(c->rpc + position, exposed + AT_CALL, octets);
	c->len = position + octets;
	while (k->count && c->len % 4)
		c->rpc[c->len++] = 0;
	memcpy(c->rpc + c->len, d + at + position, n - position);
	c->len += n - position;
	return c->len >= 24;
}

/*
 * Return the length of an opaque at @at, its length word included, or 0 if it is
 * truncated.
 */
static uint32_t opaque(const struct call *c, uint32_t at)
{
	uint32_t len;

	if (at + 4 > c->len)
		return 0;
	len = get(c->rpc, at);
	return len <= c->len - at - 4 ? 4 + ((len + 3) & ~3u) : 0;
}

/*
 * Change a byte of the client's name. All gateways have the same nfsd, but their clients
 * must take them for different servers.
 */
static void rename_client(struct call *c, uint32_t at)
{
	uint32_t len;

	if (!opaque(c, at))
		return;
	len = get(c->rpc, at);
	if (len)
		c->rpc[at + 3 + len] = 0x80 | atoi(port);
}

/*
 * Find the READ or WRITE of a COMPOUND, in the form in which the kernel's client sends
 * it.
 */
static void look_at_compound(struct call *c, uint32_t at)
{
	uint32_t op;

	/* Skip the tag, the minor version and the number of operations. */
	at += opaque(c, at) + 8;
	if (at + 4 > c->len)
		return;
	op = get(c->rpc, at);
	if (op == NFS4_EXCHANGE_ID)
		rename_client(c, at + 4 + 8);
	if (op != NFS4_SEQUENCE)
		return;
	at += 4 + 32;
	if (at + 4 > c->len || get(c->rpc, at) != NFS4_PUTFH)
		return;
	at += 4;
	at += opaque(c, at);
	op = at + 4 <= c->len ? get(c->rpc, at) : 0;
	c->op = op == NFS4_READ ? READ : op == NFS4_WRITE ? WRITE : CALL;
}

void look_at_call(struct call *c)
{
	uint32_t at = 28;

	c->proc = get(c->rpc, 20);
	c->op = CALL;
	if (get(c->rpc, 12) != 100003)
		return;
	if (get(c->rpc, 16) == 3) {
		c->op = c->proc == NFS3_READ ? READ : c->proc == NFS3_WRITE ? WRITE : CALL;
		return;
	}
	/* credential and verifier */
	at += opaque(c, at) + 4;
	at += opaque(c, at);
	if (get(c->rpc, 16) == 4 && c->proc == 1)
		look_at_compound(c, at);
}

void look_at_answer(struct call *c)
{
	if (c->op != READ || c->answer_len < 36)
		return;
	if (get(c->rpc, 16) == 3)
		/* RPC 24 bytes, status, attributes 4 + 84, count, end, length */
		c->item = 128;
	else
		/* RPC 24 bytes, status, tag, count; SEQUENCE 44, PUTFH 8, READ 16 */
		c->item = 24 + 4 + 4 + ((get(c->answer, 28) + 3) & ~3u) + 4 + 44 + 8 + 16;
	if (c->item > c->answer_len)
		c->item = 0;
}

/* nfsd's answers to Calls that were refused */
static struct {
	uint32_t len, answer_len;
	uint8_t rpc[MAX_RPC + 8], answer[MAX_RPC + 8];
} kept;

void keep_answer(const struct call *c)
{
	kept.len = c->len;
	kept.answer_len = c->answer_len;
	memcpy(kept.rpc, c->rpc, c->len);
	memcpy(kept.answer, c->answer, c->answer_len);
}

void execute(struct call *c)
{
	if (kept.len && kept.len == c->len && !memcmp(kept.rpc, c->rpc, c->len)) {
		memcpy(c->answer, kept.answer, kept.answer_len);
		c->answer_len = kept.answer_len;
	} else {
		c->answer_len = nfs_ask(c->rpc, c->len, c->answer);
	}
	kept.len = 0;
}
