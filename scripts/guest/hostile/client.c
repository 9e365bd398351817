// SPDX-License-Identifier: GPL-2.0
/*
 * The hostile client: cases against the kernel's server, each of which knows
 * the answer it should get, and a random walk, which only wants one in the end.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"

enum {
	/* What the module takes (include/rpcrdma/engine.h) */
	MAX_CHUNKS = 16,
	MAX_SEGS = 64,
	MAX_OCTETS = 16 << 20,
	MAX_PENDING = 64,
	MAX_REASSEMBLY = 262144,
	/* The server's Receives, by default (settings.rst) */
	SERVER_RECV = 4096,
	/* What the file "hostile" in the export has */
	FILE_OCTETS = 65536,
	/* Where the item of a READ begins in its Reply */
	READ_ITEM = 68,
	ANSWER_MS = 10000,
};

static const char *addr, *port;
static jmp_buf failed;
static char reason[512];

static void client_failed(const char *why)
{
	snprintf(reason, sizeof(reason), "%s", why);
	longjmp(failed, 1);
}

/* ---- What should come back ---- */

static struct msg *answer(struct peer *p, const char *wanted)
{
	struct msg *m = receive_more(p, ANSWER_MS);

	if (!m)
		bad("no %s: %s", wanted, p->closed ? "the connection is closed" : "no answer in time");
	return m;
}

/* ERROR @code about @xid, with @count words of data */
static void expect_error(struct peer *p, uint32_t xid, uint32_t code, int count, ...)
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

static void expect_err_vers(struct peer *p, uint32_t xid, uint32_t version)
{
	struct msg *m = answer(p, "ERR_VERS");

	if (m->len != 28 || get(m->data, 0) != xid || get(m->data, 4) != version ||
	    !get(m->data, 8) || get(m->data, 12) != ERROR || get(m->data, 16) != ERR_VERS ||
	    get(m->data, 20) != 1 || get(m->data, 24) != 2)
		bad("ERR_VERS about version %u should come, not %s", version, describe(m));
	free(m);
}

/* Version 1: ERR_CHUNK */
static void expect_err_chunk(struct peer *p, uint32_t xid)
{
	struct msg *m = answer(p, "ERR_CHUNK");

	if (m->len != 20 || get(m->data, 0) != xid || get(m->data, 4) != 1 ||
	    get(m->data, 12) != ERROR || get(m->data, 16) != 2)
		bad("ERR_CHUNK about %x should come, not %s", xid, describe(m));
	free(m);
}

/* Octets of a Reply's header, that is: where its payload is */
static uint32_t payload(const struct msg *m, uint32_t version)
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
		bad("the header of a Reply is broken: %s", describe(m));
	return at;
}

/* A Reply to @xid, one inline message. Freed by the caller. */
static struct msg *expect_reply(struct peer *p, uint32_t xid)
{
	struct msg *m = answer(p, "Reply");
	uint32_t at;

	if (m->len < 36 || get(m->data, 0) != xid || get(m->data, 4) != (uint32_t)p->version ||
	    get(m->data, 12) != MSG || (p->version == 2 && get(m->data, 16) != RESPONSE))
		bad("a Reply to %x should come, not %s", xid, describe(m));
	at = payload(m, p->version);
	if (m->len < at + 8 || get(m->data, at) != xid || get(m->data, at + 4) != 1)
		bad("the Reply to %x is none: %s", xid, describe(m));
	return m;
}

static void expect_done(struct peer *p, uint32_t xid)
{
	struct msg *m = answer(p, "DONE");

	if (m->len != PREFIX || get(m->data, 0) != xid || get(m->data, 12) != DONE ||
	    get(m->data, 16))
		bad("DONE for %x should come, not %s", xid, describe(m));
	free(m);
}

static void expect_closed(struct peer *p)
{
	struct msg *m = receive_more(p, 2 * ANSWER_MS);

	if (m)
		bad("the connection should be closed, and an answer came: %s", describe(m));
	if (!p->closed)
		bad("the connection should be closed, and is not");
}

static void null_call(struct peer *p, uint32_t xid, uint32_t flags)
{
	begin(p, xid, MSG, flags);
	no_lists(p);
	rpc_null(p, xid);
}

/*
 * The connection is open, and what went before has got no answer: the next
 * one is about this.
 */
static void alive(struct peer *p)
{
	uint32_t xid = ++p->xid;

	null_call(p, xid, 0);
	send_out(p);
	free(expect_reply(p, xid));
}

#define dropped alive

/* ---- Opening ---- */

static struct peer *connected(void)
{
	struct peer *p = peer_new();

	peer_connect(p, addr, port);
	return p;
}

static void good_props(struct peer *p)
{
	w(p, 4);
	prop(p, SBSIZ, 4096);
	prop(p, RBSIZ, 4096);
	prop(p, RSSIZ, MAX_OCTETS);
	prop(p, RCSIZ, 16);
}

static void expect_connprop(struct peer *p)
{
	struct msg *m = answer(p, "CONNPROP");

	if (m->len < 28 || get(m->data, 0) || get(m->data, 4) != 2 ||
	    get(m->data, 12) != CONNPROP || get(m->data, 16))
		bad("CONNPROP should come, not %s", describe(m));
	free(m);
}

static void send_props(struct peer *p)
{
	begin(p, 0, CONNPROP, 0);
	good_props(p);
	send_out(p);
}

static void open_it(struct peer *p)
{
	send_props(p);
	expect_connprop(p);
}

static struct peer *opened(void)
{
	struct peer *p = connected();

	open_it(p);
	return p;
}

/* ... with these properties, id and value each */
static struct peer *opened_with(int count, ...)
{
	struct peer *p = connected();
	va_list args;

	begin(p, 0, CONNPROP, 0);
	w(p, count);
	va_start(args, count);
	while (count--) {
		uint32_t id = va_arg(args, uint32_t);

		prop(p, id, va_arg(args, uint32_t));
	}
	va_end(args);
	send_out(p);
	expect_connprop(p);
	return p;
}

static struct peer *connected1(void)
{
	struct peer *p = peer_new();

	p->version = 1;
	peer_connect(p, addr, port);
	return p;
}

/* What connections from now on get */
static void set_parameter(const char *name, uint32_t value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/rpcrdma/parameters/%s", name);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%u\n", value) < 0 || fclose(f))
		bad("%s cannot be set to %u", path, value);
}

/* ---- The list of cases, in the order of their definition ---- */

struct testcase {
	const char *group, *name;
	void (*run)(void);
	struct testcase *next;
};

static struct testcase *cases, **cases_end = &cases;

#define CASE(grp, nm)							\
	static void grp##_##nm(void);					\
	static struct testcase case_##grp##_##nm = { #grp, #nm, grp##_##nm, NULL }; \
	static void __attribute__((constructor)) add_##grp##_##nm(void)	\
	{								\
		*cases_end = &case_##grp##_##nm;			\
		cases_end = &case_##grp##_##nm.next;			\
	}								\
	static void grp##_##nm(void)

/* ---- Versions and the prefix (WP 1) ---- */

CASE(prefix, controls)
{
	struct peer *p = opened();

	/* What every case relies on */
	alive(p);
	alive(p);
}

static void short_first(uint32_t len)
{
	struct peer *p = connected();

	begin(p, 0, CONNPROP, 0);
	p->len = len;
	p->no_wait = true;
	send_out(p);
	/* It has used the one message there was, so this is the reserve. */
	open_it(p);
	alive(p);
}

CASE(prefix, empty_first) { short_first(0); }
CASE(prefix, one_octet_first) { short_first(1); }
CASE(prefix, fifteen_octets_first) { short_first(15); }
CASE(prefix, twenty_three_octets_first) { short_first(23); }

CASE(prefix, short_ones)
{
	struct peer *p = opened();
	uint32_t len;

	for (len = 0; len < PREFIX; len++) {
		null_call(p, ++p->xid, 0);
		p->len = len;
		send_out(p);
	}
	dropped(p);
}

static void other_version(uint32_t version)
{
	struct peer *p = connected();
	uint32_t xid = ++p->xid;

	p->no_wait = true;
	null_call(p, xid, 0);
	put(p->out, 4, version);
	send_out(p);
	expect_err_vers(p, xid, version);
	/* It may try another one. */
	open_it(p);
	alive(p);
}

CASE(prefix, version_0) { other_version(0); }
CASE(prefix, version_3) { other_version(3); }
CASE(prefix, version_high) { other_version(0xffffffff); }

CASE(prefix, version_3_error)
{
	struct peer *p = connected();

	p->no_wait = true;
	begin(p, 1, ERROR, RESPONSE);
	w(p, BAD_XDR);
	put(p->out, 4, 3);
	send_out(p);
	open_it(p);
	alive(p);
}

CASE(prefix, version_2_to_1)
{
	struct peer *p = opened();

	p->version = 1;
	null_call(p, ++p->xid, 0);
	send_out(p);
	expect_closed(p);
}

CASE(prefix, version_2_to_3)
{
	struct peer *p = opened();

	null_call(p, ++p->xid, 0);
	put(p->out, 4, 3);
	send_out(p);
	expect_closed(p);
}

CASE(prefix, version_1_to_2)
{
	struct peer *p = connected1();

	alive(p);
	p->version = 2;
	p->no_wait = true;
	send_props(p);
	expect_closed(p);
}

CASE(prefix, reserved_flags)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	null_call(p, xid, 0xfffffff8);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(prefix, unknown_types)
{
	static const uint32_t types[] = { 2, 6, 7, 0x7fffffff, 0x80000000, 0xffffffff };
	struct peer *p = opened();
	uint32_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		uint32_t xid = ++p->xid;

		null_call(p, xid, 0);
		put(p->out, 12, types[i]);
		send_out(p);
		expect_error(p, xid, INVAL_HTYPE, 0);
		null_call(p, ++p->xid, RESPONSE);
		put(p->out, 12, types[i]);
		send_out(p);
		dropped(p);
	}
}

CASE(prefix, as_long_as_a_receive)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	null_call(p, xid, 0);
	while (p->len < SERVER_RECV)
		w(p, p->len);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(prefix, longer_than_a_receive)
{
	struct peer *p = opened();

	null_call(p, ++p->xid, 0);
	while (p->len < SERVER_RECV)
		w(p, p->len);
	p->len++;
	send_out(p);
	expect_closed(p);
}

CASE(prefix, much_longer_than_a_receive)
{
	struct peer *p = connected();

	send_props(p);
	null_call(p, ++p->xid, 0);
	while (p->len < SLOT)
		w(p, p->len);
	p->no_wait = true;
	send_out(p);
	while (!p->closed)
		if (!peers_run(p, ANSWER_MS))
			bad("the connection should be closed, and is not");
		else
			free(receive(p, 0));
}

/* ---- Opening and properties (WP 4, 5) ---- */

static void rpc_first(uint32_t type)
{
	struct peer *p = connected();

	null_call(p, ++p->xid, 0);
	put(p->out, 12, type);
	send_out(p);
	expect_closed(p);
}

CASE(opening, call_first) { rpc_first(MSG); }
CASE(opening, nomsg_first) { rpc_first(NOMSG); }

static void control_first(uint32_t type, uint32_t code)
{
	struct peer *p = connected();

	p->no_wait = true;
	begin(p, type == NOMSG ? 0 : 77, type, type == ERROR ? RESPONSE : 0);
	if (type == ERROR)
		w(p, code);
	if (type == NOMSG)
		no_lists(p);
	send_out(p);
	open_it(p);
	alive(p);
}

CASE(opening, grant_first) { control_first(NOMSG, 0); }
CASE(opening, done_first) { control_first(DONE, 0); }
CASE(opening, error_first) { control_first(ERROR, BAD_XDR); }

CASE(opening, unknown_type_first)
{
	struct peer *p = connected();

	p->no_wait = true;
	begin(p, 5, 9, 0);
	send_out(p);
	expect_error(p, 5, INVAL_HTYPE, 0);
	open_it(p);
	alive(p);
}

CASE(opening, beyond_the_first_message)
{
	struct peer *p = connected();
	int i;

	/* One was allowed, one is the reserve, one is too many. */
	p->no_wait = true;
	for (i = 0; i < 3; i++) {
		begin(p, 0, DONE, 0);
		send_out(p);
	}
	expect_closed(p);
}

CASE(opening, call_amid_properties)
{
	struct peer *p = connected();

	begin(p, 0, CONNPROP, TPMORE);
	good_props(p);
	send_out(p);
	expect_connprop(p);
	null_call(p, ++p->xid, 0);
	send_out(p);
	expect_closed(p);
}

CASE(opening, properties_in_parts)
{
	struct peer *p = connected();
	int i;

	for (i = 0; i < 10; i++) {
		begin(p, 0, CONNPROP, i < 9 ? TPMORE : 0);
		if (i % 2)
			w(p, 0);
		else
			good_props(p);
		send_out(p);
		if (!i)
			expect_connprop(p);
	}
	alive(p);
}

CASE(opening, properties_without_end)
{
	struct peer *p = connected();
	int i;

	for (i = 0; i < 100 && !p->closed; i++) {
		begin(p, 0, CONNPROP, TPMORE);
		w(p, 1);
		ww(p, 2, 0x1234, 1000 - 36);
		while (p->len < 1000)
			w(p, i);
		send_out(p);
		if (!i)
			expect_connprop(p);
	}
	if (i < 60)
		bad("closed after %d parts of 1000 octets already", i);
	expect_closed(p);
}

CASE(opening, properties_again)
{
	struct peer *p = opened();

	send_props(p);
	expect_error(p, 0, INVAL_HTYPE, 0);
	begin(p, 9, CONNPROP, TPMORE | MORE);
	good_props(p);
	send_out(p);
	expect_error(p, 9, INVAL_HTYPE, 0);
	begin(p, 0, CONNPROP, RESPONSE);
	send_out(p);
	dropped(p);
}

/* A CONNPROP that is refused, and yet the opening goes on (WP 4). */
static void refused_props(struct peer *p, uint32_t code)
{
	uint32_t xid = get(p->out, 0);

	send_out(p);
	expect_error(p, xid, code, 0);
	expect_connprop(p);
	alive(p);
}

static void bad_props(uint32_t code, int words, ...)
{
	struct peer *p = connected();
	va_list args;

	begin(p, 0, CONNPROP, 0);
	va_start(args, words);
	while (words--)
		w(p, va_arg(args, uint32_t));
	va_end(args);
	refused_props(p, code);
}

CASE(properties, no_count) { bad_props(BAD_XDR, 0); }
CASE(properties, count_lies) { bad_props(BAD_XDR, 4, 2, RBSIZ, 4, 4096); }
CASE(properties, count_high) { bad_props(BAD_XDR, 4, 0xffffffff, RBSIZ, 4, 4096); }
CASE(properties, no_length) { bad_props(BAD_XDR, 2, 1, RBSIZ); }
CASE(properties, no_data) { bad_props(BAD_PROPVAL, 3, 1, RBSIZ, 4); }
CASE(properties, length_lies) { bad_props(BAD_PROPVAL, 4, 1, 0x999, 5, 0); }
CASE(properties, length_high) { bad_props(BAD_PROPVAL, 4, 1, 0x999, 0xffffffff, 0); }
CASE(properties, length_wraps) { bad_props(BAD_PROPVAL, 4, 1, 0x999, 0xfffffffd, 0); }
CASE(properties, short_value) { bad_props(BAD_PROPVAL, 4, 1, RBSIZ, 3, 0x00100000); }
CASE(properties, long_value) { bad_props(BAD_PROPVAL, 5, 1, SBSIZ, 8, 4096, 0); }
CASE(properties, sbsiz_0) { bad_props(BAD_PROPVAL, 4, 1, SBSIZ, 4, 0); }
CASE(properties, sbsiz_1023) { bad_props(BAD_PROPVAL, 4, 1, SBSIZ, 4, 1023); }
CASE(properties, rbsiz_0) { bad_props(BAD_PROPVAL, 4, 1, RBSIZ, 4, 0); }
CASE(properties, rbsiz_1023) { bad_props(BAD_PROPVAL, 4, 1, RBSIZ, 4, 1023); }
CASE(properties, brs_4) { bad_props(BAD_PROPVAL, 4, 1, BRS, 4, 4); }
CASE(properties, brs_high) { bad_props(BAD_PROPVAL, 4, 1, BRS, 4, 0xffffffff); }

CASE(properties, more)
{
	struct peer *p = connected();

	begin(p, 0, CONNPROP, MORE);
	good_props(p);
	refused_props(p, INVAL_CONT);
}

CASE(properties, xid)
{
	struct peer *p = connected();

	begin(p, 0xabcdef, CONNPROP, 0);
	w(p, 7);
	refused_props(p, BAD_XDR);
}

CASE(properties, response)
{
	struct peer *p = connected();

	begin(p, 0, CONNPROP, RESPONSE);
	good_props(p);
	send_out(p);
	expect_connprop(p);
	alive(p);
}

CASE(properties, none)
{
	opened_with(0);
}

CASE(properties, extremes)
{
	struct peer *p;

	alive(opened_with(8, SBSIZ, 0xffffffff, RBSIZ, 0xffffffff, RSSIZ, 0xffffffff,
			  RCSIZ, 0xffffffff, BRS, 3, REPLY_READ, 0xffffffff,
			  REASSEMBLY, 0xffffffff, 0xffffffff, 0xffffffff));
	alive(opened_with(7, SBSIZ, 1024, RBSIZ, 1024, RSSIZ, 0, RCSIZ, 0, BRS, 0,
			  REPLY_READ, 0, REASSEMBLY, 0));

	/* All defaults; odd ones to be skipped; rubbish behind the last */
	p = connected();
	begin(p, 0, CONNPROP, 0);
	w(p, 9);
	ww(p, 14, SBSIZ, 0, RBSIZ, 0, RSSIZ, 0, RCSIZ, 0, BRS, 0, REPLY_READ, 0, REASSEMBLY, 0);
	ww(p, 4, HOSTAUTH, 5, 0x41414141, 0x41000000);
	ww(p, 2, 0, 0);
	ww(p, 3, 0xdeadbeef, 0xffffffff, 0);
	send_out(p);
	expect_connprop(p);
	alive(p);
}

CASE(properties, as_long_as_a_receive)
{
	struct peer *p = connected();

	begin(p, 0, CONNPROP, 0);
	w(p, (SERVER_RECV - PREFIX - 4) / 12);
	while (p->len + 12 <= SERVER_RECV)
		prop(p, RBSIZ, 4096 + p->len);
	send_out(p);
	expect_connprop(p);
	alive(p);
}

/* ---- RPC messages (WP 6) ---- */

CASE(messages, payload_lengths)
{
	struct peer *p = opened();
	uint32_t len;

	for (len = 0; len < 8; len++) {
		uint32_t xid = ++p->xid;

		null_call(p, xid, 0);
		p->len = HEADER + len;
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	alive(p);
}

CASE(messages, header_cut)
{
	struct peer *p = opened();
	uint32_t len;

	for (len = PREFIX; len < HEADER; len++) {
		uint32_t xid = ++p->xid;

		null_call(p, xid, 0);
		p->len = len;
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	alive(p);
}

CASE(messages, payload_of_another_call)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	null_call(p, xid, 0);
	put(p->out, HEADER, xid + 1);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	alive(p);
}

CASE(messages, payload_is_a_reply)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	null_call(p, xid, 0);
	put(p->out, HEADER + 4, 1);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	null_call(p, ++xid, 0);
	put(p->out, HEADER + 4, 0xffffffff);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	alive(p);
}

CASE(messages, tpmore)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	null_call(p, xid, TPMORE);
	send_out(p);
	expect_error(p, xid, INVAL_HTYPE, 0);
	alive(p);
}

CASE(messages, replies_nobody_asked_for)
{
	struct peer *p = opened();

	/* A good one, a bad one, one of no known chunk, one that is a Call */
	begin(p, ++p->xid, MSG, RESPONSE);
	no_lists(p);
	ww(p, 6, p->xid, 1, 0, 0, 0, 0);
	send_out(p);
	null_call(p, ++p->xid, RESPONSE);
	send_out(p);
	begin(p, ++p->xid, NOMSG, RESPONSE);
	no_lists(p);
	send_out(p);
	begin(p, ++p->xid, NOMSG, RESPONSE);
	ww(p, 4, 0, 0, 0, 1);
	w(p, 1);
	segment(p, 1, 4096, 0);
	send_out(p);
	begin(p, ++p->xid, MSG, RESPONSE);
	p->len = PREFIX;
	send_out(p);
	dropped(p);
	/* One that is to be pulled and is not gets its DONE all the same. */
	begin(p, ++p->xid, NOMSG, RESPONSE);
	w(p, 0);
	read_segment(p, 0, exposed_mr->rkey, 4096, (uintptr_t)exposed);
	ww(p, 3, 0, 0, 0);
	send_out(p);
	expect_done(p, p->xid);
	alive(p);
}

CASE(messages, errors_nobody_asked_for)
{
	struct peer *p = opened();
	uint32_t code;

	for (code = 0; code < 13; code++) {
		begin(p, ++p->xid, ERROR, RESPONSE);
		ww(p, 3, code < 12 ? code : ERR_SYSTEM, 0xffffffff, 0xffffffff);
		send_out(p);
	}
	begin(p, 0, ERROR, RESPONSE);
	send_out(p);
	begin(p, 0, ERROR, RESPONSE);
	w(p, WRITE_RESOURCE);
	send_out(p);
	begin(p, 1, ERROR, 0);
	w(p, BAD_XDR);
	send_out(p);
	begin(p, 1, ERROR, RESPONSE | MORE | TPMORE);
	w(p, BAD_XDR);
	send_out(p);
	dropped(p);
}

CASE(messages, done_for_anything)
{
	struct peer *p = opened();
	uint32_t flags, xid = ++p->xid;

	null_call(p, xid, 0);
	send_out(p);
	for (flags = 0; flags < 8; flags++) {
		begin(p, p->xid + flags, DONE, flags);
		send_out(p);
	}
	begin(p, 0, DONE, 0);
	ww(p, 2, 1, 2);
	send_out(p);
	free(expect_reply(p, xid));
	dropped(p);
}

CASE(messages, done_invalidates)
{
	struct peer *p = opened();

	/* The device stops that: nothing was offered. */
	begin(p, 1, DONE, 0);
	send_inv(p, 0xfffff700);
	expect_closed(p);
}

CASE(messages, call_invalidates)
{
	struct peer *p = opened();

	null_call(p, ++p->xid, 0);
	send_inv(p, 0xfffff700);
	expect_closed(p);
}

CASE(messages, rpc_rubbish)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;
	struct msg *m;

	/* RPC of a wrong version, of an unknown program, version, procedure */
	static const uint32_t words[][4] = {
		{ 3, 100003, 3, 0 }, { 2, 0x7fffffff, 3, 0 },
		{ 2, 100003, 99, 0 }, { 2, 100003, 3, 0xffffffff },
	};
	uint32_t i, j;

	for (i = 0; i < 4; i++) {
		xid = ++p->xid;
		null_call(p, xid, 0);
		for (j = 0; j < 4; j++)
			put(p->out, HEADER + 8 + 4 * j, words[i][j]);
		send_out(p);
		m = expect_reply(p, xid);
		free(m);
	}
	/* Credentials of unknown flavour, and longer than the message */
	xid = ++p->xid;
	null_call(p, xid, 0);
	put(p->out, HEADER + 24, 0x99);
	send_out(p);
	free(expect_reply(p, xid));
	xid = ++p->xid;
	null_call(p, xid, 0);
	put(p->out, HEADER + 24, 1);
	put(p->out, HEADER + 28, 0xffffffff);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

/* sunrpc ends the connection of who sends no whole RPC header. */
CASE(messages, rpc_header_cut)
{
	uint32_t len;

	for (len = 8; len < 40; len += 4) {
		struct peer *p = opened();
		uint32_t xid = ++p->xid;

		null_call(p, xid, 0);
		p->len = HEADER + len;
		send_out(p);
		if (len < 32)
			expect_closed(p);
		else
			free(expect_reply(p, xid));
		peer_free(p);
	}
}

CASE(messages, nomsg_without_chunks)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	begin(p, xid, NOMSG, 0);
	no_lists(p);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	/* Too short for a grant */
	begin(p, 0, NOMSG, 0);
	ww(p, 3, 0, 0, 0);
	send_out(p);
	expect_error(p, 0, BAD_XDR, 0);
	alive(p);
}

CASE(messages, nomsg_more)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	begin(p, xid, NOMSG, MORE);
	no_lists(p);
	send_out(p);
	expect_error(p, xid, INVAL_CONT, 0);
	alive(p);
}

CASE(messages, same_xid_many_times)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid, i;

	for (i = 0; i < 20; i++) {
		null_call(p, xid, 0);
		send_out(p);
	}
	for (i = 0; i < 20; i++)
		free(expect_reply(p, xid));
	alive(p);
}

/* ---- Credits (WP 3) ---- */

static void grant(struct peer *p, uint32_t flags)
{
	begin(p, 0, NOMSG, flags);
	no_lists(p);
	send_out(p);
}

CASE(credits, counts_what_was_never_sent)
{
	struct peer *p = opened();

	null_call(p, ++p->xid, 0);
	p->stamp = false;
	put(p->out, 20, p->received + 1);
	send_out(p);
	expect_closed(p);
}

CASE(credits, counts_half_the_circle)
{
	struct peer *p = opened();

	null_call(p, ++p->xid, 0);
	p->stamp = false;
	put(p->out, 20, p->received + 0x7fffffff);
	send_out(p);
	expect_closed(p);
}

CASE(credits, counts_backwards)
{
	struct peer *p = opened();
	uint32_t xid;

	alive(p);
	xid = ++p->xid;
	null_call(p, xid, 0);
	p->stamp = false;
	put(p->out, 8, 1);
	put(p->out, 20, p->received - 0x70000000);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(credits, extremes)
{
	struct peer *p = opened();

	p->credit = 0xffffffff;
	alive(p);
	p->credit = 0x80000000;
	alive(p);
	p->credit = 0;
	alive(p);
	p->credit = 1;
	alive(p);
}

/* Leave the server no message to send but the grant of the reserve. */
static struct peer *opened_shut(void)
{
	struct peer *p = connected();

	p->credit = 1;
	open_it(p);
	p->credit = 0;
	return p;
}

CASE(credits, none_for_a_reply)
{
	struct peer *p = opened_shut();
	uint32_t xid = ++p->xid;
	struct msg *m;

	null_call(p, xid, 0);
	send_out(p);
	m = receive_more(p, 1000);
	if (m)
		bad("nothing may be sent, and yet came %s", describe(m));
	p->credit = 8;
	grant(p, 0);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(credits, replies_wait)
{
	struct peer *p = opened_shut();
	uint32_t first = p->xid + 1, i, n = 40;
	bool seen[40] = {};
	struct msg *m;

	for (i = 0; i < n; i++) {
		null_call(p, ++p->xid, 0);
		send_out(p);
	}
	p->credit = 64;
	grant(p, 0);
	for (i = 0; i < n; i++) {
		m = answer(p, "Reply that waited");
		if (get(m->data, 0) - first >= n || seen[get(m->data, 0) - first])
			bad("a Reply to one of the Calls should come, not %s", describe(m));
		seen[get(m->data, 0) - first] = true;
		free(m);
	}
	alive(p);
}

/*
 * More Calls than the server has Sends for their Replies: the others wait,
 * and cost nobody a service thread.
 */
CASE(credits, more_calls_than_sends)
{
	uint32_t first, i, n = 0;
	struct peer *p, *q;
	struct msg *m;

	set_parameter("svc_max_requests", 4);
	p = opened_shut();
	set_parameter("svc_max_requests", 64);
	first = p->xid + 1;
	for (;;) {
		if (p->closed)
			bad("the connection is closed after %u Calls", n);
		if ((int32_t)(p->limit - p->sent) > 0) {
			null_call(p, ++p->xid, 0);
			send_out(p);
			n++;
			continue;
		}
		/* The first grants are sure to come, on a slow machine late. */
		m = receive(p, n < 8 ? ANSWER_MS : 500);
		if (!m)
			break;
		if (!is_grant(m))
			bad("beyond the window came %s", describe(m));
		free(m);
	}
	if (n < 8)
		bad("the server took %u Calls only", n);
	/* As long as threads would have waited; no more, as it is a stall. */
	q = opened();
	for (i = 0; i < 6; i++) {
		alive(q);
		if (peers_run(p, 1000 / scale))
			bad("the connection with the Calls is %s", p->closed ? "closed" : "open beyond its window");
	}
	/* What is left is the reserve, for this. */
	p->credit = 64;
	p->no_wait = true;
	grant(p, 0);
	p->no_wait = false;
	for (i = 0; i < n; i++) {
		m = answer(p, "Reply that waited");
		if (get(m->data, 0) - first >= n)
			bad("a Reply to one of the Calls should come, not %s", describe(m));
		free(m);
	}
	alive(p);
}

CASE(credits, errors_wait)
{
	struct peer *p = opened_shut();
	uint32_t i, first = p->xid + 1;

	for (i = 0; i < MAX_PENDING; i++) {
		null_call(p, ++p->xid, TPMORE);
		send_out(p);
	}
	p->credit = 80;
	grant(p, 0);
	for (i = 0; i < MAX_PENDING; i++)
		expect_error(p, first + i, INVAL_HTYPE, 0);
	alive(p);
}

CASE(credits, too_many_errors_wait)
{
	struct peer *p = opened_shut();
	uint32_t i;

	for (i = 0; i <= MAX_PENDING; i++) {
		null_call(p, ++p->xid, TPMORE);
		send_out(p);
	}
	expect_closed(p);
}

CASE(credits, beyond_the_window)
{
	struct peer *p = opened_shut();
	uint32_t i, limit = p->limit, taken = p->received;

	/*
	 * The server may send one grant, and then nothing, as long as it does
	 * not hear that this was taken: what was advertised stays. One more
	 * than the limit is the reserve.
	 */
	p->no_wait = true;
	for (i = 0; i < 300 && !p->closed; i++) {
		p->received = taken;
		begin(p, 1, DONE, 0);
		send_out(p);
		peers_run(NULL, 0);
	}
	while (receive_more(p, 2 * ANSWER_MS))
		;
	if (!p->closed)
		bad("sent %u with a window of %u, and the connection is open", p->sent, limit);
}

CASE(credits, grants_with_flags)
{
	struct peer *p = opened();
	uint32_t flags;

	for (flags = 0; flags < 8; flags++)
		grant(p, flags);
	dropped(p);
}

CASE(credits, storm_of_grants)
{
	struct peer *p = opened();
	uint32_t i, before;

	for (i = 0; i < 400; i++)
		grant(p, 0);
	alive(p);
	/* And quiet after it */
	peers_run(NULL, 500);
	while (p->inbox)
		free(receive(p, 0));
	before = p->received;
	peers_run(NULL, 1000);
	if (p->received - before > 2)
		bad("%u grants in a second without traffic", p->received - before);
	alive(p);
}

/* ---- Chunks (WP 6) ---- */

enum { AT_LISTS = PREFIX + 4 };

/* An inline NULL Call whose arguments' end is in Read chunks: so far the list */
static uint32_t begin_read_call(struct peer *p)
{
	uint32_t xid = ++p->xid;

	begin(p, xid, MSG, 0);
	w(p, 0);
	return xid;
}

static void end_read_call(struct peer *p, uint32_t xid)
{
	ww(p, 3, 0, 0, 0);
	rpc_null(p, xid);
}

static uint64_t at(uint32_t offset)
{
	return (uintptr_t)exposed + offset;
}

CASE(chunks, read_controls)
{
	struct peer *p = opened();
	uint32_t xid, i;

	xid = begin_read_call(p);
	read_segment(p, 40, exposed_mr->rkey, 5000, at(0));
	end_read_call(p, xid);
	send_out(p);
	free(expect_reply(p, xid));

	/* Segments that overlap, and the same one again and again */
	xid = begin_read_call(p);
	for (i = 0; i < MAX_SEGS; i++)
		read_segment(p, 40, exposed_mr->rkey, 100, at(i % 2 * 50));
	end_read_call(p, xid);
	send_out(p);
	free(expect_reply(p, xid));

	/* Items side by side, each of an odd length */
	xid = begin_read_call(p);
	for (i = 0; i < MAX_CHUNKS; i++)
		read_segment(p, 40 + 8 * i, exposed_mr->rkey, 5, at(i));
	end_read_call(p, xid);
	send_out(p);
	free(expect_reply(p, xid));

	/* Nothing in them */
	xid = begin_read_call(p);
	for (i = 8; i <= 40; i += 4)
		read_segment(p, i, 0xffffffff, 0, UINT64_MAX);
	end_read_call(p, xid);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(chunks, lists_cut)
{
	struct peer *p = opened();
	uint32_t len, whole;

	for (len = PREFIX; ; len += 4) {
		uint32_t xid = begin_read_call(p);

		read_segment(p, 40, exposed_mr->rkey, 16, at(0));
		w(p, 0);
		ww(p, 2, 1, 2);
		segment(p, exposed_mr->rkey, 100, at(0));
		segment(p, exposed_mr->rkey, 100, at(0));
		w(p, 0);
		ww(p, 2, 1, 1);
		segment(p, exposed_mr->rkey, 100, at(0));
		whole = p->len;
		if (len == whole)
			break;
		p->len = len;
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	alive(p);
}

CASE(chunks, booleans)
{
	static const uint32_t values[] = { 2, 0x100, 0x80000000, 0xffffffff };
	struct peer *p = opened();
	uint32_t i, j, xid;

	for (i = 0; i < 3; i++) {
		for (j = 0; j < 4; j++) {
			xid = ++p->xid;
			null_call(p, xid, 0);
			put(p->out, AT_LISTS + 4 * i, values[j]);
			send_out(p);
			expect_error(p, xid, BAD_XDR, 0);
		}
	}
	alive(p);
}

CASE(chunks, counts_lie)
{
	static const uint32_t counts[] = { 2, 100, 0x10000000, 0x10000001, 0x7fffffff, 0xffffffff };
	struct peer *p = opened();
	uint32_t i, xid;

	for (i = 0; i < 12; i++) {
		xid = ++p->xid;
		begin(p, xid, MSG, 0);
		ww(p, 2, 0, 0);
		if (i % 2)
			w(p, 0);
		ww(p, 2, 1, counts[i / 2]);
		segment(p, exposed_mr->rkey, 10, at(0));
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	alive(p);
}

CASE(chunks, too_many_reads)
{
	struct peer *p = opened();
	uint32_t xid = begin_read_call(p), i;

	for (i = 0; i <= MAX_CHUNKS; i++)
		read_segment(p, 40 + 4 * i, exposed_mr->rkey, 4, at(0));
	end_read_call(p, xid);
	send_out(p);
	expect_error(p, xid, READ_CHUNKS, 1, MAX_CHUNKS);
	/* As many as fit */
	xid = begin_read_call(p);
	for (i = 0; p->len + 24 + 52 <= SERVER_RECV; i++)
		read_segment(p, 40 + 4 * i, exposed_mr->rkey, 4, at(0));
	end_read_call(p, xid);
	send_out(p);
	expect_error(p, xid, READ_CHUNKS, 1, MAX_CHUNKS);
	alive(p);
}

CASE(chunks, too_many_writes)
{
	struct peer *p = opened();
	uint32_t xid, i, n;

	for (n = MAX_CHUNKS; n < 500; n += n == MAX_CHUNKS ? 1 : 460) {
		xid = ++p->xid;
		begin(p, xid, MSG, 0);
		ww(p, 2, 0, 0);
		for (i = 0; i < n; i++)
			ww(p, 2, 1, 0);
		ww(p, 2, 0, 0);
		rpc_null(p, xid);
		send_out(p);
		if (n > MAX_CHUNKS)
			expect_error(p, xid, WRITE_CHUNKS, 1, MAX_CHUNKS);
		else
			free(expect_reply(p, xid));
	}
	alive(p);
}

CASE(chunks, too_many_segments)
{
	struct peer *p = opened();
	uint32_t xid, i, n;

	for (n = MAX_SEGS; n < 240; n += n == MAX_SEGS ? 1 : 174) {
		xid = ++p->xid;
		begin(p, xid, MSG, 0);
		ww(p, 4, 0, 0, 1, n);
		for (i = 0; i < n; i++)
			segment(p, exposed_mr->rkey, 4, at(0));
		ww(p, 2, 0, 0);
		rpc_null(p, xid);
		send_out(p);
		if (n > MAX_SEGS)
			expect_error(p, xid, SEGMENTS, 1, MAX_SEGS);
		else
			free(expect_reply(p, xid));
	}
	xid = begin_read_call(p);
	for (i = 0; i <= MAX_SEGS; i++)
		read_segment(p, 40, exposed_mr->rkey, 4, at(0));
	end_read_call(p, xid);
	send_out(p);
	expect_error(p, xid, SEGMENTS, 1, MAX_SEGS);
	alive(p);
}

/* One Read chunk of @len octets at @position */
static uint32_t read_at(struct peer *p, uint32_t position, uint32_t len)
{
	uint32_t xid = begin_read_call(p);

	read_segment(p, position, exposed_mr->rkey, len, at(0));
	end_read_call(p, xid);
	send_out(p);
	return xid;
}

CASE(chunks, positions)
{
	static const uint32_t positions[] = {
		0, 1, 4, 7, 39, 41, 42, 44, 48, 0x1000, 0x7ffffffc, 0x80000000,
		0xfffffffc, 0xffffffff,
	};
	struct peer *p = opened();
	uint32_t i;

	for (i = 0; i < sizeof(positions) / sizeof(*positions); i++)
		expect_error(p, read_at(p, positions[i], 16), BAD_XDR, 0);
	free(expect_reply(p, read_at(p, 8, 16)));
	free(expect_reply(p, read_at(p, 40, 16)));
	alive(p);
}

CASE(chunks, order_and_overlap)
{
	static const uint32_t pairs[][4] = {
		/* position, length, position, length */
		{ 40, 8, 36, 8 }, { 40, 8, 44, 8 }, { 36, 8, 40, 4 },
		{ 24, 100, 28, 4 }, { 40, 9, 48, 4 }, { 40, 4, 52, 4 },
		{ 40, 0xfffff0, 44, 4 },
	};
	struct peer *p = opened();
	uint32_t i, xid;

	for (i = 0; i < 7; i++) {
		xid = begin_read_call(p);
		read_segment(p, pairs[i][0], exposed_mr->rkey, pairs[i][1], at(0));
		read_segment(p, pairs[i][2], exposed_mr->rkey, pairs[i][3], at(0));
		end_read_call(p, xid);
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	alive(p);
}

CASE(chunks, lengths)
{
	struct peer *p = opened();
	uint32_t i, xid;

	expect_error(p, read_at(p, 40, 0xffffffff), BAD_XDR, 0);
	expect_error(p, read_at(p, 40, 0x80000000), BAD_XDR, 0);
	expect_error(p, read_at(p, 40, MAX_OCTETS + 1), BAD_XDR, 0);
	/* More than nfsd has pages for */
	expect_error(p, read_at(p, 40, MAX_OCTETS), ERR_SYSTEM, 0);
	expect_error(p, read_at(p, 40, 4 << 20), ERR_SYSTEM, 0);
	/* Each segment may be, and their sum is too much, in each of the lists */
	for (i = 0; i < 3; i++) {
		uint32_t j;

		xid = begin_read_call(p);
		if (i)
			w(p, 0);
		if (i == 2)
			w(p, 0);
		if (i)
			ww(p, 2, 1, 48);
		for (j = 0; j < 48; j++) {
			if (!i)
				ww(p, 2, 1, 40);
			segment(p, exposed_mr->rkey, MAX_OCTETS, at(0));
		}
		if (i < 2)
			w(p, 0);
		if (i == 0)
			w(p, 0);
		if (i < 2)
			w(p, 0);
		rpc_null(p, xid);
		send_out(p);
		expect_error(p, xid, ERR_SYSTEM, 0);
	}
	alive(p);
}

static void bad_memory(uint32_t handle, uint32_t len, uint64_t offset)
{
	struct peer *p = opened();
	uint32_t xid = begin_read_call(p);

	read_segment(p, 40, handle, len, offset);
	end_read_call(p, xid);
	send_out(p);
	expect_closed(p);
}

CASE(chunks, handle_of_nothing) { bad_memory(0xfffff700, 16, at(0)); }
CASE(chunks, handle_zero) { bad_memory(0, 16, at(0)); }
CASE(chunks, handle_of_others) { bad_memory(foreign_mr->rkey, 16, at(0)); }
CASE(chunks, beyond_the_region) { bad_memory(exposed_mr->rkey, 4096, at(EXPOSED - 4095)); }
CASE(chunks, before_the_region) { bad_memory(exposed_mr->rkey, 4096, at(0) - 1); }
CASE(chunks, offset_wraps) { bad_memory(exposed_mr->rkey, 4096, UINT64_MAX - 100); }

/* A Call in a Position Zero Read chunk; @fix may spoil it. */
static uint32_t begin_special(struct peer *p, uint32_t len)
{
	uint32_t xid = ++p->xid;

	/* The RPC message goes through p->out, once. */
	raw(p);
	rpc_null(p, xid);
	memcpy(exposed, p->out, 40);
	begin(p, xid, NOMSG, 0);
	w(p, 0);
	read_segment(p, 0, exposed_mr->rkey, len, at(0));
	return xid;
}

CASE(chunks, special_controls)
{
	struct peer *p = opened();
	uint32_t xid, i;

	xid = begin_special(p, 40);
	ww(p, 3, 0, 0, 0);
	send_out(p);
	free(expect_reply(p, xid));
	/* The rest of the message has no meaning here. */
	xid = begin_special(p, 40);
	ww(p, 3, 0, 0, 0);
	while (p->len < SERVER_RECV)
		w(p, p->len);
	send_out(p);
	free(expect_reply(p, xid));
	/* One octet after the other */
	xid = begin_special(p, 1);
	for (i = 1; i < 40; i++)
		read_segment(p, 0, exposed_mr->rkey, 1, at(i));
	ww(p, 3, 0, 0, 0);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(chunks, special_lies)
{
	static const uint32_t lengths[] = { 0, 1, 4, 7 };
	struct peer *p = opened();
	uint32_t i, xid;

	for (i = 0; i < 4; i++) {
		xid = begin_special(p, lengths[i]);
		ww(p, 3, 0, 0, 0);
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	/* Another Call's, and a Reply */
	for (i = 0; i < 2; i++) {
		xid = begin_special(p, 40);
		ww(p, 3, 0, 0, 0);
		put(exposed, 4 * i, 0x12345678);
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	/* An item amid the first words, past the end, without a first chunk */
	for (i = 0; i < 3; i++) {
		static const uint32_t positions[] = { 4, 48, 0x1000 };

		xid = begin_special(p, 40);
		read_segment(p, positions[i], exposed_mr->rkey, 8, at(0));
		ww(p, 3, 0, 0, 0);
		send_out(p);
		expect_error(p, xid, BAD_XDR, 0);
	}
	xid = ++p->xid;
	begin(p, xid, NOMSG, 0);
	w(p, 0);
	read_segment(p, 8, exposed_mr->rkey, 100, at(0));
	ww(p, 3, 0, 0, 0);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	alive(p);
}

/* What a peer sees of the memory it reads is what is there at that time. */
CASE(chunks, special_changes)
{
	struct peer *p = opened();
	uint32_t i, n = 20;
	struct msg *m;

	for (i = 0; i < n; i++) {
		begin_special(p, 40);
		ww(p, 3, 0, 0, 0);
		send_out(p);
		memset(exposed, i, 40);
	}
	/* Each is answered with a Reply or refused. */
	for (i = 0; i < n; i++) {
		m = answer(p, "Reply or ERROR");
		if (get(m->data, 12) != MSG && get(m->data, 12) != ERROR)
			bad("a Reply or ERROR should come, not %s", describe(m));
		free(m);
	}
	alive(p);
}

/* ---- Chunks that the server writes to ---- */

/* NFS 4.0: PUTROOTFH, LOOKUP "hostile", READ of each of @reads counts of octets */
static void rpc_reads(struct peer *p, uint32_t xid, int reads, ...)
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

static void rpc_read(struct peer *p, uint32_t xid, uint32_t count)
{
	rpc_reads(p, xid, 1, count);
}

/* The prefix of a READ; the Write list and Reply chunk are to follow. */
static uint32_t begin_read(struct peer *p)
{
	uint32_t xid = ++p->xid;

	begin(p, xid, MSG, 0);
	ww(p, 2, 0, 0);
	return xid;
}

static void write_chunk(struct peer *p, uint32_t handle, uint32_t len, uint64_t offset)
{
	ww(p, 2, 1, 1);
	segment(p, handle, len, offset);
}

/* The file is of octets 'h'. */
static bool exposed_is(uint32_t from, uint32_t len, uint8_t octet)
{
	while (len--)
		if (exposed[from++] != octet)
			return false;
	return true;
}

/* Send the READ of @count octets that was begun: its Reply is one message, without chunks. */
static void read_inline(struct peer *p, uint32_t xid, uint32_t header, uint32_t count)
{
	struct msg *m;

	rpc_read(p, xid, count);
	send_out(p);
	m = expect_reply(p, xid);
	if (m->len != header + READ_ITEM + count || m->data[header + READ_ITEM] != 'h')
		bad("a READ gets %s", describe(m));
	free(m);
}

CASE(placing, controls)
{
	struct peer *p = opened();
	struct msg *m;
	uint32_t xid;

	/* Inline */
	xid = begin_read(p);
	ww(p, 2, 0, 0);
	read_inline(p, xid, HEADER, 1000);

	/* Write chunk of two segments, and nothing beyond them */
	memset(exposed, 0, EXPOSED);
	xid = begin_read(p);
	ww(p, 2, 1, 2);
	segment(p, exposed_mr->rkey, 10000, at(100));
	segment(p, exposed_mr->rkey, 30000, at(20000));
	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	m = expect_reply(p, xid);
	if (!exposed_is(0, 100, 0) || !exposed_is(100, 10000, 'h') ||
	    !exposed_is(10100, 9900, 0) || !exposed_is(20000, 10000, 'h') ||
	    !exposed_is(30000, 20000, 0))
		bad("the octets are not where the Write chunk has them");
	if (get(m->data, 32) != 1 || get(m->data, 36) != 2 ||
	    get(m->data, 44) != 10000 || get(m->data, 60) != 10000)
		bad("the Write chunk comes back otherwise than filled: %s", describe(m));
	free(m);

	/* Reply chunk */
	memset(exposed, 0, EXPOSED);
	xid = begin_read(p);
	w(p, 0);
	write_chunk(p, exposed_mr->rkey, 30000, at(0));
	rpc_read(p, xid, 20000);
	send_out(p);
	m = answer(p, "Reply");
	if (get(m->data, 0) != xid || get(m->data, 12) != NOMSG || get(m->data, 48) != READ_ITEM + 20000)
		bad("a Reply in the Reply chunk should come, not %s", describe(m));
	if (get(exposed, 0) != xid || !exposed_is(READ_ITEM, 20000, 'h') ||
	    !exposed_is(READ_ITEM + 20000, 10000, 0))
		bad("the Reply chunk does not hold the Reply");
	free(m);
	alive(p);
}

/* @reply: a Reply chunk in place of a Write chunk */
static void bad_target(bool reply, uint32_t handle, uint32_t len, uint64_t offset)
{
	struct peer *p = opened();
	uint32_t xid = begin_read(p);

	if (reply)
		w(p, 0);
	write_chunk(p, handle, len, offset);
	if (!reply)
		ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_closed(p);
}

CASE(placing, write_to_nothing) { bad_target(false, 0xfffff700, 30000, at(0)); }
CASE(placing, write_to_others) { bad_target(false, foreign_mr->rkey, 30000, at(0)); }
CASE(placing, write_beyond) { bad_target(false, exposed_mr->rkey, 30000, at(EXPOSED - 19999)); }
CASE(placing, write_wraps) { bad_target(false, exposed_mr->rkey, 30000, UINT64_MAX - 10000); }
CASE(placing, reply_to_nothing) { bad_target(true, 0xfffff700, 30000, at(0)); }
CASE(placing, reply_to_others) { bad_target(true, foreign_mr->rkey, 30000, at(0)); }
CASE(placing, reply_beyond) { bad_target(true, exposed_mr->rkey, 30000, at(EXPOSED - 19999)); }
CASE(placing, reply_wraps) { bad_target(true, exposed_mr->rkey, 30000, UINT64_MAX - 10000); }

CASE(placing, too_small)
{
	struct peer *p = opened_with(1, REASSEMBLY, 0);
	uint32_t xid;

	xid = begin_read(p);
	write_chunk(p, exposed_mr->rkey, 19999, at(0));
	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_error(p, xid, WRITE_RESOURCE, 2, 1, 20000);

	xid = begin_read(p);
	w(p, 0);
	write_chunk(p, exposed_mr->rkey, READ_ITEM + 19999, at(0));
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_error(p, xid, REPLY_RESOURCE, 1, READ_ITEM + 20000);

	xid = begin_read(p);
	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_error(p, xid, REPLY_RESOURCE, 1, READ_ITEM + 20000);

	/* A Reply chunk without segments, and with empty ones */
	xid = begin_read(p);
	ww(p, 3, 0, 1, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_error(p, xid, REPLY_RESOURCE, 1, READ_ITEM + 20000);
	xid = begin_read(p);
	ww(p, 3, 0, 1, 2);
	segment(p, 1, 0, 0);
	segment(p, 2, 0, UINT64_MAX);
	rpc_read(p, xid, 20000);
	send_out(p);
	expect_error(p, xid, REPLY_RESOURCE, 1, READ_ITEM + 20000);
	alive(p);
}

/*
 * Two READs, the first with a Write chunk of @len octets, or of no segments: its
 * result goes in the Payload stream, and its chunk comes back unused (WP 6).
 */
static void second_only(struct peer *p, bool empty, uint32_t len)
{
	enum { FIRST = 1000, SECOND = 20000 };
	uint32_t xid = begin_read(p), at_second = empty ? 48 : 64;
	struct msg *m;

	memset(exposed, 0, EXPOSED);
	if (empty)
		ww(p, 2, 1, 0);
	else
		write_chunk(p, exposed_mr->rkey, len, at(0));
	write_chunk(p, exposed_mr->rkey, 30000, at(FILE_OCTETS));
	ww(p, 2, 0, 0);
	rpc_reads(p, xid, 2, FIRST, SECOND);
	send_out(p);
	m = expect_reply(p, xid);
	if (get(m->data, 32) != 1 || get(m->data, 36) != !empty ||
	    (!empty && (get(m->data, 40) != exposed_mr->rkey || get(m->data, 44))))
		bad("the first Write chunk does not come back unused: %s", describe(m));
	if (get(m->data, at_second - 4) != 1 || get(m->data, at_second) != exposed_mr->rkey ||
	    get(m->data, at_second + 4) != SECOND)
		bad("the second Write chunk comes back otherwise than filled: %s", describe(m));
	if (m->len != payload(m, 2) + READ_ITEM + FIRST + 16 ||
	    m->data[payload(m, 2) + READ_ITEM] != 'h' ||
	    m->data[payload(m, 2) + READ_ITEM + FIRST - 1] != 'h' ||
	    get(m->data, m->len - 4) != SECOND)
		bad("the first result is not in the Payload stream: %s", describe(m));
	if (!exposed_is(0, FILE_OCTETS, 0) || !exposed_is(FILE_OCTETS, SECOND, 'h') ||
	    !exposed_is(FILE_OCTETS + SECOND, 30000, 0))
		bad("the octets are not where the second Write chunk has them");
	free(m);
}

CASE(placing, second_only)
{
	struct peer *p = opened_with(1, REASSEMBLY, 0);
	uint32_t xid;

	second_only(p, true, 0);
	second_only(p, false, 999);
	second_only(p, false, 0);
	/* Too long to go any other way */
	xid = begin_read(p);
	ww(p, 2, 1, 0);
	write_chunk(p, exposed_mr->rkey, 30000, at(0));
	ww(p, 2, 0, 0);
	rpc_reads(p, xid, 2, 20000, 1000);
	send_out(p);
	expect_error(p, xid, REPLY_RESOURCE, 1, READ_ITEM + 20000 + 16);
	xid = begin_read(p);
	write_chunk(p, exposed_mr->rkey, 19999, at(0));
	write_chunk(p, exposed_mr->rkey, 30000, at(FILE_OCTETS));
	ww(p, 2, 0, 0);
	rpc_reads(p, xid, 2, 20000, 1000);
	send_out(p);
	expect_error(p, xid, WRITE_RESOURCE, 2, 1, 20000);
	alive(p);
}

CASE(placing, one_memory_for_all)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;
	struct msg *m;

	/* Read from, written to and replied into: the peer's own affair */
	begin(p, xid, MSG, 0);
	w(p, exposed_mr->rkey);
	read_segment(p, 124, exposed_mr->rkey, 100, at(0));
	w(p, 0);
	write_chunk(p, exposed_mr->rkey, 30000, at(0));
	w(p, 0);
	write_chunk(p, exposed_mr->rkey, 30000, at(0));
	rpc_read(p, xid, 20000);
	send_out(p);
	m = receive_more(p, ANSWER_MS);
	/* Invalidating user memory is refused by the device. */
	if (m && get(m->data, 0) != xid)
		bad("a Reply or the connection's end should come, not %s", describe(m));
	if (!m && !p->closed)
		bad("neither a Reply nor the connection's end comes");
	free(m);
}

CASE(placing, continued_control)
{
	struct peer *p = opened_with(1, REASSEMBLY, 100000);
	uint32_t xid = begin_read(p), octets = 0;
	struct msg *m;
	bool more;

	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	do {
		m = answer(p, "part of a Reply");
		more = get(m->data, 16) & MORE;
		if (get(m->data, 0) != xid || get(m->data, 12) != MSG)
			bad("a part of a Reply should come, not %s", describe(m));
		octets += m->len - HEADER;
		free(m);
	} while (more);
	if (octets != READ_ITEM + 20000)
		bad("a Reply of %u octets came in parts", octets);
	alive(p);
}

CASE(placing, continued_without_window)
{
	struct peer *p = connected();
	uint32_t xid, i;
	struct msg *m;

	begin(p, 0, CONNPROP, 0);
	w(p, 1);
	prop(p, REASSEMBLY, 100000);
	p->credit = 3;
	send_out(p);
	expect_connprop(p);
	p->credit = 0;
	xid = begin_read(p);
	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	/* Two parts, and there it stops; then go without a word. */
	for (i = 0; i < 2; i++) {
		m = answer(p, "part of a Reply");
		if (get(m->data, 0) != xid || get(m->data, 16) != (RESPONSE | MORE))
			bad("a part of a Reply should come, not %s", describe(m));
		free(m);
	}
	m = receive_more(p, 1000);
	if (m)
		bad("beyond the window came %s", describe(m));
}

/* ---- Memory of the server's (WP 8) ---- */

/* A Reply of @octets that @p has to read, and where it is */
struct exposure {
	uint32_t xid, count, handle[16], len[16];
	uint64_t offset[16];
};

static void take_exposure(struct exposure *e, const struct msg *m)
{
	uint32_t at = 28;

	memset(e, 0, sizeof(*e));
	e->xid = get(m->data, 0);
	if (m->len < HEADER || get(m->data, 12) != NOMSG || get(m->data, 16) != RESPONSE)
		bad("a Reply to be read should come, not %s", describe(m));
	for (; at + 28 <= m->len && get(m->data, at) && e->count < 16; at += 24, e->count++) {
		e->handle[e->count] = get(m->data, at + 8);
		e->len[e->count] = get(m->data, at + 12);
		e->offset[e->count] = (uint64_t)get(m->data, at + 16) << 32 |
				      get(m->data, at + 20);
	}
	if (!e->count)
		bad("a Reply to be read should come, not %s", describe(m));
}

static void pull(struct peer *p, const struct exposure *e, uint32_t to)
{
	uint32_t i;

	for (i = 0; i < e->count; i++, to += e->len[i - 1])
		rdma_post(p, true, to, e->len[i], e->handle[i], e->offset[i]);
}

static void done(struct peer *p, uint32_t xid)
{
	begin(p, xid, DONE, 0);
	send_out(p);
}

static struct exposure exposed_to(struct peer *p)
{
	uint32_t xid = begin_read(p);
	struct exposure e;
	struct msg *m;

	ww(p, 2, 0, 0);
	rpc_read(p, xid, 20000);
	send_out(p);
	m = answer(p, "Reply to be read");
	take_exposure(&e, m);
	free(m);
	if (e.xid != xid)
		bad("the Reply to %x should come, not that to %x", xid, e.xid);
	return e;
}

CASE(pulling, controls)
{
	struct peer *p = opened_with(2, REPLY_READ, 1, REASSEMBLY, 0);
	struct exposure e = exposed_to(p);

	memset(exposed, 0, EXPOSED);
	pull(p, &e, 0);
	if (!sends_done(p))
		bad("an exposed Reply cannot be read");
	if (get(exposed, 0) != e.xid || !exposed_is(READ_ITEM, 20000, 'h') ||
	    !exposed_is(READ_ITEM + 20000, 1000, 0))
		bad("what is exposed is not the Reply");
	done(p, e.xid);
	alive(p);
	/* That was all: it is invalid now. */
	pull(p, &e, 0);
	if (sends_done(p))
		bad("an exposed Reply can be read after DONE");
}

CASE(pulling, of_another_connection)
{
	struct peer *p = opened_with(2, REPLY_READ, 1, REASSEMBLY, 0), *q = opened();
	struct exposure e = exposed_to(p);

	pull(q, &e, 0);
	if (sends_done(q))
		bad("what is exposed to one connection can be read on another one");
	alive(p);
	pull(p, &e, 0);
	if (!sends_done(p))
		bad("an exposed Reply cannot be read");
	done(p, e.xid);
	alive(p);
}

CASE(pulling, only_reads)
{
	struct peer *p = opened_with(2, REPLY_READ, 1, REASSEMBLY, 0);
	struct exposure e = exposed_to(p);

	rdma_post(p, false, 0, 100, e.handle[0], e.offset[0]);
	if (sends_done(p))
		bad("an exposed Reply can be written to");
}

/* ---- Continuation (WP 6) ---- */

/* A part of a Call: @len octets of a NULL Call from @from on */
static void part(struct peer *p, uint32_t xid, uint32_t from, uint32_t len, bool more)
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

CASE(continuation, controls)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid, i;

	part(p, xid, 0, 20, true);
	part(p, xid, 20, 20, false);
	free(expect_reply(p, xid));
	/* The smallest parts there are */
	xid = ++p->xid;
	for (i = 0; i < 40; i += 4)
		part(p, xid, i, 4, i < 36);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(continuation, odd_parts)
{
	struct peer *p = opened();
	uint32_t xid, len;

	for (len = 0; len < 12; len++) {
		if (len == 4 || len == 8)
			continue;
		xid = ++p->xid;
		part(p, xid, 0, len, true);
		expect_error(p, xid, INVAL_CONT, 0);
		/* Whatever else there is of it is discarded. */
		part(p, xid, 0, 20, true);
		part(p, xid, 20, 20, false);
		dropped(p);
	}
	/* The last part may be of any length but too short. */
	for (len = 0; len < 4; len++) {
		xid = ++p->xid;
		part(p, xid, 0, 40, true);
		part(p, xid, 0, len, false);
		expect_error(p, xid, INVAL_CONT, 0);
	}
	alive(p);
}

CASE(continuation, chunks_in_a_part)
{
	struct peer *p = opened();
	uint32_t xid, i;

	for (i = 0; i < 3; i++) {
		xid = ++p->xid;
		begin(p, xid, MSG, MORE);
		w(p, 0);
		if (i == 0)
			read_segment(p, 40, exposed_mr->rkey, 10, at(0));
		w(p, 0);
		if (i == 1)
			ww(p, 2, 1, 0);
		w(p, 0);
		if (i == 2)
			ww(p, 2, 1, 0);
		else
			w(p, 0);
		rpc_null(p, xid);
		send_out(p);
		expect_error(p, xid, INVAL_CONT, 0);
		/* Not from its start: that would be another Call. */
		part(p, xid, 20, 20, false);
		dropped(p);
	}
}

CASE(continuation, another_call)
{
	struct peer *p = opened();
	uint32_t a = ++p->xid, b = ++p->xid;

	part(p, a, 0, 20, true);
	null_call(p, b, 0);
	send_out(p);
	expect_error(p, a, INVAL_CONT, 0);
	expect_error(p, b, INVAL_CONT, 0);
	/* The rest of the first is discarded, and then it is another Call. */
	part(p, a, 20, 20, false);
	dropped(p);
	null_call(p, a, 0);
	send_out(p);
	free(expect_reply(p, a));
}

CASE(continuation, interleaved)
{
	struct peer *p = opened();
	uint32_t a = ++p->xid, b = ++p->xid;

	part(p, a, 0, 20, true);
	part(p, b, 0, 20, true);
	expect_error(p, a, INVAL_CONT, 0);
	expect_error(p, b, INVAL_CONT, 0);
	part(p, a, 20, 8, true);
	part(p, b, 20, 8, true);
	part(p, a, 28, 12, false);
	part(p, b, 28, 12, false);
	dropped(p);
}

CASE(continuation, many_interleaved)
{
	struct peer *p = opened();
	uint32_t first = p->xid + 1, i;

	/* Pairs of parts, each of which breaks the one before */
	for (i = 0; i < 20; i++)
		part(p, ++p->xid, 0, 20, true);
	for (i = 0; i < 20; i += 2) {
		expect_error(p, first + i, INVAL_CONT, 0);
		expect_error(p, first + i + 1, INVAL_CONT, 0);
	}
	alive(p);
}

CASE(continuation, nomsg_amid)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	part(p, xid, 0, 20, true);
	begin(p, xid, NOMSG, 0);
	w(p, 0);
	read_segment(p, 0, exposed_mr->rkey, 40, at(0));
	ww(p, 3, 0, 0, 0);
	send_out(p);
	/* Two Calls of one xid are answered by one ERROR. */
	expect_error(p, xid, INVAL_CONT, 0);
	part(p, xid, 20, 20, false);
	dropped(p);
}

CASE(continuation, reply_amid)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	part(p, xid, 0, 20, true);
	begin(p, xid, MSG, RESPONSE);
	no_lists(p);
	ww(p, 6, xid, 1, 0, 0, 0, 0);
	send_out(p);
	expect_closed(p);
}

CASE(continuation, control_amid)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	part(p, xid, 0, 20, true);
	grant(p, 0);
	begin(p, xid, DONE, 0);
	send_out(p);
	begin(p, xid, ERROR, RESPONSE);
	w(p, BAD_XDR);
	send_out(p);
	part(p, xid, 20, 20, false);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(continuation, direction_in_second_part)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	part(p, xid, 0, 4, true);
	begin(p, xid, MSG, MORE);
	no_lists(p);
	w(p, 1);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	part(p, xid, 8, 32, false);
	dropped(p);
}

CASE(continuation, without_end)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid, octets = 0, i;

	while (octets <= MAX_REASSEMBLY) {
		begin(p, xid, MSG, MORE);
		no_lists(p);
		if (!octets)
			rpc_null(p, xid);
		while (p->len < SERVER_RECV)
			w(p, 0);
		octets += p->len - HEADER;
		send_out(p);
	}
	expect_error(p, xid, INVAL_CONT, 0);
	for (i = 0; i < 100; i++)
		part(p, xid, 0, 40, true);
	part(p, xid, 20, 20, false);
	dropped(p);
}

CASE(continuation, replies_without_end)
{
	struct peer *p = opened();
	uint32_t octets = 0, xid = ++p->xid;

	while (octets <= MAX_REASSEMBLY + 20000) {
		begin(p, xid, MSG, RESPONSE | MORE);
		no_lists(p);
		if (!octets)
			ww(p, 2, xid, 1);
		while (p->len < SERVER_RECV)
			w(p, 0);
		octets += p->len - HEADER;
		send_out(p);
	}
	begin(p, xid, MSG, RESPONSE);
	no_lists(p);
	ww(p, 6, xid, 1, 0, 0, 0, 0);
	send_out(p);
	dropped(p);
}

CASE(continuation, as_long_as_may_be)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid, octets = 0;

	while (octets < MAX_REASSEMBLY) {
		bool more = MAX_REASSEMBLY - octets > SERVER_RECV - HEADER;

		begin(p, xid, MSG, more ? MORE : 0);
		no_lists(p);
		if (!octets)
			rpc_null(p, xid);
		while (p->len < SERVER_RECV && octets + p->len - HEADER < MAX_REASSEMBLY)
			w(p, 0);
		octets += p->len - HEADER;
		send_out(p);
	}
	free(expect_reply(p, xid));
	alive(p);
}

CASE(continuation, chunks_in_the_last_part)
{
	struct peer *p = opened();
	uint32_t xid = ++p->xid;

	part(p, xid, 0, 20, true);
	begin(p, xid, MSG, 0);
	w(p, 0);
	read_segment(p, 40, exposed_mr->rkey, 10, at(0));
	ww(p, 3, 0, 0, 0);
	ww(p, 5, 0, 0, 0, 0, 0);
	send_out(p);
	free(expect_reply(p, xid));
	/* The same at a position past the end */
	xid = ++p->xid;
	part(p, xid, 0, 20, true);
	begin(p, xid, MSG, 0);
	w(p, 0);
	read_segment(p, 44, exposed_mr->rkey, 10, at(0));
	ww(p, 3, 0, 0, 0);
	ww(p, 5, 0, 0, 0, 0, 0);
	send_out(p);
	expect_error(p, xid, BAD_XDR, 0);
	alive(p);
}

/* ---- Version 1 ---- */

CASE(version1, controls)
{
	struct peer *p = connected1();
	uint32_t xid;

	alive(p);
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	read_segment(p, 40, exposed_mr->rkey, 50, at(0));
	ww(p, 3, 0, 0, 0);
	rpc_null(p, xid);
	send_out(p);
	free(expect_reply(p, xid));
	xid = ++p->xid;
	raw(p);
	rpc_null(p, xid);
	memcpy(exposed, p->out, 40);
	begin(p, xid, NOMSG, 0);
	read_segment(p, 0, exposed_mr->rkey, 40, at(0));
	ww(p, 3, 0, 0, 0);
	send_out(p);
	free(expect_reply(p, xid));
	alive(p);
}

CASE(version1, header_cut)
{
	struct peer *p = connected1();
	uint32_t len;

	alive(p);
	for (len = 0; len < HEADER1; len++) {
		null_call(p, ++p->xid, 0);
		p->len = len;
		send_out(p);
	}
	dropped(p);
}

CASE(version1, payload)
{
	struct peer *p = connected1();
	uint32_t xid, len;

	for (len = 0; len < 8; len++) {
		xid = ++p->xid;
		null_call(p, xid, 0);
		p->len = HEADER1 + len;
		send_out(p);
		expect_err_chunk(p, xid);
	}
	xid = ++p->xid;
	null_call(p, xid, 0);
	put(p->out, HEADER1, xid + 1);
	send_out(p);
	expect_err_chunk(p, xid);
	xid = ++p->xid;
	null_call(p, xid, 0);
	put(p->out, HEADER1 + 4, 2);
	send_out(p);
	expect_err_chunk(p, xid);
	alive(p);
}

CASE(version1, procedures)
{
	static const uint32_t procs[] = { MSGP, 5, 6, 0x7fffffff, 0xffffffff };
	struct peer *p = connected1();
	uint32_t i;

	for (i = 0; i < 5; i++) {
		uint32_t xid = ++p->xid;

		null_call(p, xid, 0);
		put(p->out, 12, procs[i]);
		send_out(p);
		expect_err_chunk(p, xid);
	}
	/* DONE and ERROR get no answer. */
	null_call(p, ++p->xid, 0);
	put(p->out, 12, DONE);
	send_out(p);
	for (i = 0; i < 5; i++) {
		begin(p, ++p->xid, ERROR, 0);
		ww(p, 3, i, 0xffffffff, 0);
		if (i == 4)
			p->len = 16;
		send_out(p);
	}
	dropped(p);
}

CASE(version1, lists)
{
	struct peer *p = connected1();
	uint32_t xid, i, len;

	for (i = 0; i < 3; i++) {
		xid = ++p->xid;
		null_call(p, xid, 0);
		put(p->out, 16 + 4 * i, i ? 2 : 0x80000000);
		send_out(p);
		expect_err_chunk(p, xid);
	}
	/* Cut at each word: what is shorter than a header is dropped. */
	for (len = HEADER1; len < 16 + 24 + 4 + 24; len += 4) {
		xid = ++p->xid;
		begin(p, xid, MSG, 0);
		read_segment(p, 40, exposed_mr->rkey, 10, at(0));
		w(p, 0);
		ww(p, 2, 1, 1);
		segment(p, exposed_mr->rkey, 10, at(0));
		ww(p, 2, 0, 0);
		p->len = len;
		send_out(p);
		expect_err_chunk(p, xid);
	}
	/* A count that lies, with many segments, too; positions that are nowhere */
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	ww(p, 3, 0, 1, 0xffffffff);
	segment(p, exposed_mr->rkey, 10, at(0));
	send_out(p);
	expect_err_chunk(p, xid);
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	ww(p, 3, 0, 1, 100);
	for (i = 0; i < 100; i++)
		segment(p, exposed_mr->rkey, 10, at(0));
	ww(p, 3, 0, 1, 100);
	for (i = 0; i < 99; i++)
		segment(p, exposed_mr->rkey, 10, at(0));
	send_out(p);
	expect_err_chunk(p, xid);
	for (i = 0; i < 5; i++) {
		static const uint32_t positions[] = { 0, 4, 41, 44, 0xfffffffc };

		xid = ++p->xid;
		begin(p, xid, MSG, 0);
		read_segment(p, positions[i], exposed_mr->rkey, 10, at(0));
		ww(p, 3, 0, 0, 0);
		rpc_null(p, xid);
		send_out(p);
		expect_err_chunk(p, xid);
	}
	/* A Call of nothing */
	xid = ++p->xid;
	begin(p, xid, NOMSG, 0);
	no_lists(p);
	send_out(p);
	expect_err_chunk(p, xid);
	alive(p);
}

enum {
	MANY = 240,	/* segments: few more would fit into a Receive */
	MANY_LEN = 250,	/* octets of each */
	MANY_GAP = 4096,	/* ... from one to the next */
};

static void many_segments(struct peer *p)
{
	uint32_t i;

	for (i = 0; i < MANY; i++)
		segment(p, exposed_mr->rkey, MANY_LEN, at(i * MANY_GAP));
}

/*
 * Do the segments, from their octet @from on, hold @len octets of the file and
 * nothing else? @sizes: of the segments as they were returned
 */
static void expect_spread(uint32_t from, uint32_t len, const uint8_t *sizes)
{
	uint32_t i, n, skip, end = from + len;

	for (i = 0; i < MANY; i++, from -= skip, end -= n) {
		n = end < MANY_LEN ? end : MANY_LEN;
		skip = from < n ? from : n;
		if (get(sizes, 16 * i) != n)
			bad("segment %u comes back with %u octets, not %u", i, get(sizes, 16 * i), n);
		if (!exposed_is(i * MANY_GAP + skip, n - skip, 'h') ||
		    !exposed_is(i * MANY_GAP + n, MANY_GAP - n, 0))
			bad("segment %u holds something else", i);
	}
}

/* More than version 2 would let a client use */
CASE(version1, many_segments)
{
	struct peer *p = connected1();
	uint8_t call[1000];
	uint32_t xid, i, len;
	struct msg *m;

	/* A Write chunk, not all of it used */
	memset(exposed, 0, EXPOSED);
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	ww(p, 3, 0, 1, MANY);
	many_segments(p);
	ww(p, 2, 0, 0);
	rpc_read(p, xid, 56000);
	send_out(p);
	m = expect_reply(p, xid);
	if (get(m->data, 20) != 1 || get(m->data, 24) != MANY)
		bad("the Write chunk comes back otherwise: %s", describe(m));
	expect_spread(0, 56000, m->data + 32);
	free(m);

	/* A Reply chunk */
	memset(exposed, 0, EXPOSED);
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	ww(p, 4, 0, 0, 1, MANY);
	many_segments(p);
	rpc_read(p, xid, 50000);
	send_out(p);
	m = answer(p, "Reply");
	if (m->len != 32 + 16 * MANY || get(m->data, 0) != xid || get(m->data, 12) != NOMSG ||
	    get(m->data, 28) != MANY)
		bad("a Reply in the Reply chunk should come, not %s", describe(m));
	expect_spread(READ_ITEM, 50000, m->data + 36);
	if (get(exposed, 0) != xid)
		bad("the Reply chunk does not hold the Reply");
	free(m);

	/* A whole Call in a Read chunk, each octet on its own */
	xid = ++p->xid;
	raw(p);
	rpc_read(p, xid, 1000);
	len = p->len;
	memcpy(call, p->out, len);
	memset(exposed, 0xff, EXPOSED);
	begin(p, xid, NOMSG, 0);
	for (i = 0; i < len; i++) {
		exposed[(len - i) * MANY_GAP] = call[i];
		read_segment(p, 0, exposed_mr->rkey, 1, at((len - i) * MANY_GAP));
	}
	ww(p, 3, 0, 0, 0);
	send_out(p);
	m = expect_reply(p, xid);
	if (m->len != HEADER1 + READ_ITEM + 1000 || m->data[HEADER1 + READ_ITEM] != 'h')
		bad("a READ gets %s", describe(m));
	free(m);

	/* Two items, the second one's segments first, and all kinds of chunks */
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	for (i = 0; i < 100; i++)
		read_segment(p, i < 60 ? 80 : 40, exposed_mr->rkey, 1, at(i));
	ww(p, 3, 0, 1, 40);
	for (i = 0; i < 40; i++)
		segment(p, exposed_mr->rkey, 1, at(i));
	ww(p, 2, 0, 0);
	rpc_null(p, xid);
	send_out(p);
	m = expect_reply(p, xid);
	for (i = 0; i < 40; i++)
		if (get(m->data, 28 + 16 * i) != exposed_mr->rkey || get(m->data, 32 + 16 * i))
			bad("an unused Write chunk comes back otherwise: %s", describe(m));
	free(m);
	alive(p);
}

CASE(version1, wrong_handle)
{
	struct peer *p = connected1();

	alive(p);
	begin(p, ++p->xid, NOMSG, 0);
	read_segment(p, 0, 0xfffff700, 100, at(0));
	ww(p, 3, 0, 0, 0);
	send_out(p);
	expect_closed(p);
}

CASE(version1, replies_nobody_asked_for)
{
	struct peer *p = connected1();

	alive(p);
	begin(p, ++p->xid, MSG, 0);
	no_lists(p);
	ww(p, 6, p->xid, 1, 0, 0, 0, 0);
	send_out(p);
	dropped(p);
}

CASE(version1, credits)
{
	struct peer *p = connected1();

	p->credit = 0;
	alive(p);
	p->credit = 0xffffffff;
	alive(p);
}

CASE(version1, without_regard_for_grants)
{
	struct peer *p = connected1();
	uint32_t i;

	for (i = 0; i < 1000 && !p->closed; i++) {
		null_call(p, ++p->xid, 0);
		send_out(p);
		if (i % 16 == 0)
			peers_run(NULL, 0);
	}
	/* The device stops it, or the server is quick enough: either will do. */
	while (!p->closed && receive_more(p, 1000))
		;
}

CASE(version1, longer_than_a_receive)
{
	struct peer *p = connected1();

	alive(p);
	null_call(p, ++p->xid, 0);
	while (p->len <= SERVER_RECV)
		w(p, 0);
	send_out(p);
	expect_closed(p);
}

/* Such a client's Receives may be larger than the default, and it has no other way. */
CASE(version1, no_private_message_nor_reply_chunk)
{
	struct peer *p = peer_new();
	uint32_t xid;

	p->version = 1;
	p->no_private = true;
	peer_connect(p, addr, port);
	alive(p);
	xid = ++p->xid;
	begin(p, xid, MSG, 0);
	no_lists(p);
	read_inline(p, xid, HEADER1, 3000);
	alive(p);
}

CASE(version1, odd_private_messages)
{
	static const uint32_t words[][2] = {
		{ 0x180eabf6, 0 }, { 0x180eabf6, 0xffffffff }, { 0x180eabf6, 0x00000001 },
		{ 0xffffffff, 0xffffffff }, { 1, 2 },
	};
	struct peer *p;
	uint32_t i;

	for (i = 0; i < 5; i++) {
		p = peer_new();
		p->version = 1;
		p->private_words[0] = words[i][0];
		p->private_words[1] = words[i][1];
		peer_connect(p, addr, port);
		alive(p);
		peer_free(p);
	}
	p = peer_new();
	p->no_private = true;
	peer_connect(p, addr, port);
	open_it(p);
	alive(p);
}

/* ---- Leaving, at each step and in each way ---- */

enum { STEPS = 10 };

/* Go as far as @step. */
static struct peer *go(int step)
{
	struct peer *p;
	uint32_t xid;

	if (step == 0) {
		p = peer_new();
		peer_connect_begin(p, addr, port);
		return p;
	}
	p = connected();
	if (step == 1)
		return p;
	begin(p, 0, CONNPROP, step == 2 ? TPMORE : 0);
	good_props(p);
	send_out(p);
	if (step <= 3)
		return p;
	expect_connprop(p);
	xid = ++p->xid;
	switch (step) {
	case 5:
		null_call(p, xid, 0);
		send_out(p);
		break;
	case 6:
		part(p, xid, 0, 20, true);
		break;
	case 7:
		read_at(p, 40, 900000);
		break;
	case 8:
		xid = begin_read(p);
		write_chunk(p, exposed_mr->rkey, FILE_OCTETS, at(0));
		ww(p, 2, 0, 0);
		rpc_read(p, xid, FILE_OCTETS);
		send_out(p);
		break;
	case 9:
		/* Everything at once */
		for (xid = 0; xid < 16; xid++) {
			null_call(p, ++p->xid, xid % 3 ? 0 : TPMORE);
			send_out(p);
			read_at(p, 40, 50000);
		}
		break;
	}
	return p;
}

CASE(leaving, disconnect)
{
	int step;

	for (step = 0; step < STEPS; step++)
		peer_disconnect(go(step));
	peers_run(NULL, 200);
}

CASE(leaving, destroy)
{
	int step;

	for (step = 0; step < STEPS; step++)
		peer_free(go(step));
}

CASE(leaving, killed)
{
	int step, status;
	pid_t pid;

	for (step = 0; step < STEPS; step++) {
		char number[2] = { '0' + step, 0 };
		char *argv[] = { "hostile", "step", (char *)addr, (char *)port, number, NULL };

		if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ))
			bad("posix_spawn: %s", strerror(errno));
		waitpid(pid, &status, 0);
		if (!WIFSIGNALED(status))
			bad("step %d did not come to its end", step);
	}
}

/* The hardware falls silent: whoever is owed an answer has to notice. */
CASE(leaving, dead)
{
	struct peer *owed[3];
	int i;

	for (i = 0; i < 3; i++) {
		owed[i] = go(7 + i);
		peer_die(owed[i]);
	}
	for (i = 0; i < 3; i++) {
		while (!owed[i]->closed)
			if (!peers_run(owed[i], 30000))
				bad("the server waits without end for one who is dead (step %d)", 7 + i);
			else
				free(receive(owed[i], 0));
	}
}

/* Silence: opening has an end. All at the same time, as each takes long. */
CASE(leaving, silent_opening)
{
	struct peer *p[5];
	int i;

	for (i = 0; i < 5; i++) {
		p[i] = connected();
		p[i]->no_wait = true;
		switch (i) {
		case 1:
			begin(p[i], 0, CONNPROP, 0);
			p[i]->len = 20;
			send_out(p[i]);
			break;
		case 2:
			begin(p[i], 0, CONNPROP, TPMORE);
			good_props(p[i]);
			send_out(p[i]);
			break;
		case 3:
			null_call(p[i], 1, 0);
			put(p[i]->out, 4, 7);
			send_out(p[i]);
			break;
		case 4:
			grant(p[i], 0);
			break;
		}
	}
	for (i = 0; i < 5; i++) {
		do
			free(receive(p[i], 25000));
		while (p[i]->inbox);
		while (!p[i]->closed)
			if (!peers_run(p[i], 25000))
				bad("silence of kind %d is endured", i);
			else
				free(receive(p[i], 0));
	}
}

/*
 * More silent ones than the server lets open at a time: those that came first
 * are given up, and nobody is kept out.
 */
CASE(leaving, silent_crowd)
{
	enum { CROWD = 136 };		/* less than a listener lets open at a time */
	struct peer *p[CROWD];
	int i;

	/* On a slow machine it may be that the time of the first is over. */
	for (i = 0; i < CROWD && (!i || !p[0]->closed); i++) {
		p[i] = peer_new();
		p[i]->nr_recvs = 2;
		peer_connect(p[i], addr, port);
	}
	alive(opened());
	if (!p[0]->closed && !peers_run(p[0], ANSWER_MS))
		bad("the oldest of %u silent ones is still there", CROWD);
}

/* An opened connection may be idle, whatever was the last it said. */
CASE(leaving, silent_later)
{
	struct peer *p[4];
	int i;

	p[0] = opened();
	p[1] = opened();
	part(p[1], ++p[1]->xid, 0, 20, true);
	p[2] = opened_shut();
	null_call(p[2], ++p[2]->xid, 0);
	send_out(p[2]);
	p[3] = connected1();
	alive(p[3]);
	peers_run(NULL, 3000);
	for (i = 0; i < 4; i++)
		if (p[i]->closed)
			bad("connection %d is closed after a few idle seconds", i);
	part(p[1], p[1]->xid, 20, 20, false);
	free(expect_reply(p[1], p[1]->xid));
}

CASE(leaving, many_at_once)
{
	struct peer *p[24];
	int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 24; i++) {
			p[i] = peer_new();
			p[i]->nr_recvs = 4;
			p[i]->credit = 2;
			peer_connect(p[i], addr, port);
			if (i % 3)
				send_props(p[i]);
		}
		for (i = 0; i < 24; i++)
			if (i % 2)
				peer_disconnect(p[i]);
		for (i = 0; i < 24; i++)
			peer_free(p[i]);
	}
}

/* ---- What a connection can make the server hold ---- */

/* The largest @field of the server's connections */
static unsigned long long largest(const char *field)
{
	unsigned long long value, most = 0;
	char line[4096], *at;
	FILE *f;

	f = fopen("/sys/kernel/debug/rpcrdma/connections", "r");
	if (!f)
		bad("there is no list of connections");
	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, field);
		if (!at || sscanf(at + strlen(field), "=%llu", &value) != 1)
			bad("a connection has no %s", field);
		if (!strncmp(line, "role=server", 11) && value > most)
			most = value;
	}
	fclose(f);
	return most;
}

/* What the server says that it holds for all connections together */
static unsigned long long memory_held(void)
{
	static const char *const fields[] = {
		"memory_fixed", "memory_buffers", "memory_parts", "memory_calls",
		"memory_replies",
	};
	unsigned long long value, sum = 0;
	char line[4096], *at;
	uint32_t i;
	FILE *f;

	f = fopen("/sys/kernel/debug/rpcrdma/connections", "r");
	if (!f)
		bad("there is no list of connections");
	while (fgets(line, sizeof(line), f))
		for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			at = strstr(line, fields[i]);
			if (!at || sscanf(at + strlen(fields[i]), "=%llu", &value) != 1)
				bad("a connection has no %s", fields[i]);
			if (!strncmp(line, "role=server", 11))
				sum += value;
		}
	fclose(f);
	return sum;
}

/*
 * Replies in parts, of which it takes one part when that lets it make more
 * Calls: the limit moves, but what lies here for it has a bound.
 */
CASE(pressure, replies_hoarded)
{
	enum { LIMIT_MIB = 16, CALLS = 400 };
	struct peer *p, *q;
	uint32_t n = 0;

	set_parameter("svc_max_memory", LIMIT_MIB);
	p = connected();
	q = opened();
	set_parameter("svc_max_memory", 0);
	begin(p, 0, CONNPROP, 0);
	w(p, 1);
	prop(p, REASSEMBLY, 1 << 20);
	p->credit = 1;
	send_out(p);
	expect_connprop(p);
	p->credit = 0;
	while (n < CALLS && !p->closed) {
		if ((int32_t)(p->limit - p->sent) <= 0) {
			struct msg *m;

			/* One more message: a grant, or the next part of the first Reply */
			p->credit = 1;
			p->no_wait = true;
			grant(p, 0);
			p->no_wait = false;
			p->credit = 0;
			/* Not longer: who does not open its window is closed after a minute. */
			while ((int32_t)(p->limit - p->sent) <= 0 &&
			       (m = receive(p, 5000 / scale)))
				free(m);
			if ((int32_t)(p->limit - p->sent) <= 0)
				break;
		}
		begin_read(p);
		ww(p, 2, 0, 0);
		rpc_read(p, p->xid, FILE_OCTETS);
		send_out(p);
		n++;
	}
	if (p->closed)
		bad("the connection is closed after %u Calls", n);
	printf("# %u Calls taken, %llu octets of Replies held\n", n, largest("memory_replies"));
	if (n == CALLS)
		bad("the server took %u Calls, and none of their Replies was taken", n);
	if (largest("memory_replies") < FILE_OCTETS || largest("memory_replies") > LIMIT_MIB << 20)
		bad("the server holds %llu octets of Replies", largest("memory_replies"));
	/* Nobody else notices. */
	alive(q);
	alive(q);
}

/*
 * ---- A load that is taken, or hoarded ----
 *
 * The same Calls by the same number of clients twice: of those who take what
 * they asked for and then ask for more, and of those who leave all of it with
 * the server and make it hold as much as it will.
 */
enum {
	LOAD_PEERS = 32,
	/* How often a hoarder has a credit for the server, and looks anew */
	LOAD_MS = 100,
	/*
	 * Nobody else runs while this program does (main.c), and others are to
	 * have half of the time: it pauses for as long as a round took, and this.
	 */
	LOAD_PAUSE_MS = 20,
	/* Octets of a continued Call, and of a part of it */
	LOAD_CALL = 100000,
	LOAD_PART = 4096 - HEADER,
};

struct load_peer {
	struct peer *p;
	bool asked, open, dead;
	uint32_t flight;	/* Calls under way */
	uint32_t at;		/* octets of this one that were sent */
	double anew;		/* when its Calls may have been given up */
};

struct load {
	const char *name;
	uint32_t peers, flight;
	uint32_t prop, value;
	bool mute;		/* hoarders let the server say nothing */
	/* One more message of a Call */
	void (*call)(struct load_peer *l, bool takes);
};

/* READs of which the Replies come in parts, or are to be read */
static void load_read(struct load_peer *l, bool takes __attribute__((unused)))
{
	uint32_t xid = begin_read(l->p);

	ww(l->p, 2, 0, 0);
	rpc_read(l->p, xid, FILE_OCTETS);
	send_out(l->p);
	l->flight++;
}

static void load_null(struct load_peer *l, bool takes __attribute__((unused)))
{
	null_call(l->p, ++l->p->xid, 0);
	send_out(l->p);
	l->flight++;
}

/* Calls in parts, of which a hoarder sends all but the last */
static void load_part(struct load_peer *l, bool takes)
{
	struct peer *p = l->p;
	uint32_t end;
	bool more;

	if (!l->at)
		p->xid++;
	more = l->at + LOAD_PART < LOAD_CALL;
	if (!more && !takes) {
		l->flight++;
		l->at = 0;
		return;
	}
	begin(p, p->xid, MSG, more ? MORE : 0);
	no_lists(p);
	end = p->len + LOAD_PART;
	if (!l->at)
		rpc_null(p, p->xid);
	memset(p->out + p->len, 0, end - p->len);
	p->len = end;
	send_out(p);
	l->at = more ? l->at + LOAD_PART : 0;
	if (!more)
		l->flight++;
}

/* Calls with much to be read, from one who is dead when the server does */
static void load_chunk(struct load_peer *l, bool takes)
{
	read_at(l->p, 40, LOAD_CALL);
	if (++l->flight == 8 && !takes) {
		sends_done(l->p);
		peer_die(l->p);
		l->dead = true;
	}
}

static uint32_t load_replies, load_errors, load_calls;
/* Calls in a second that all of them together make at most; 0: no bound */
static double load_rate, load_begun;

static bool load_may_call(void)
{
	return load_rate == 0 || load_calls < load_rate * (now() - load_begun);
}

static const struct load loads[] = {
	{ "replies", 4, 8, REASSEMBLY, 1 << 20, true, load_read },
	{ "exposed", 4, 48, REPLY_READ, 1, false, load_read },
	{ "parts", 16, 1, REASSEMBLY, 0, true, load_part },
	{ "chunks", 4, 8, REASSEMBLY, 0, true, load_chunk },
	{ "windows", LOAD_PEERS, 4, REASSEMBLY, 0, true, load_null },
};

static void load_open(struct load_peer *l)
{
	if (l->p)
		peer_free(l->p);
	memset(l, 0, sizeof(*l));
	l->p = peer_new();
	peer_connect_begin(l->p, addr, port);
}

/* What the server says while it is still new */
static void load_opening(const struct load *load, struct load_peer *l, bool takes)
{
	struct peer *p = l->p;
	struct msg *m;

	if (!l->asked && p->connected) {
		begin(p, 0, CONNPROP, 0);
		w(p, load->prop == REASSEMBLY ? 1 : 2);
		prop(p, load->prop, load->value);
		if (load->prop != REASSEMBLY)
			prop(p, REASSEMBLY, 0);
		if (!takes && load->mute)
			p->credit = 1;
		send_out(p);
		if (!takes && load->mute)
			p->credit = 0;
		l->asked = true;
	}
	if (p->inbox) {
		m = receive(p, 0);
		l->open = get(m->data, 12) == CONNPROP;
		free(m);
	}
}

static void load_take(const struct load *load, struct load_peer *l, const struct msg *m)
{
	struct exposure e;

	if (is_grant(m) || !l->flight)
		return;
	if (load->prop == REPLY_READ && get(m->data, 12) != ERROR) {
		take_exposure(&e, m);
		while (l->p->posted - l->p->completed > 16 && !l->p->closed)
			run_once(10);
		pull(l->p, &e, 0);
		done(l->p, e.xid);
	}
	if (!(get(m->data, 16) & MORE))
		l->flight--;
}

/* Room for more of a Call: it leaves two messages to others (WP 3). */
static bool has_window(const struct peer *p)
{
	return (int32_t)(p->limit - p->sent) > 2;
}

static void load_step(const struct load *load, struct load_peer *l, bool takes)
{
	struct msg *m;

	if (l->dead)
		return;
	if (!l->open) {
		load_opening(load, l, takes);
		return;
	}
	while (l->p->inbox) {
		m = receive(l->p, 0);
		if (get(m->data, 12) == ERROR) {
			load_errors++;
			/* What was refused is asked for again at once. */
			if (!takes && l->flight)
				l->flight--;
		} else if (!is_grant(m) && !(get(m->data, 16) & MORE))
			load_replies++;
		if (takes)
			load_take(load, l, m);
		free(m);
	}
	while (l->flight < load->flight && has_window(l->p) && !l->p->closed && !l->dead &&
	       (l->at || load_may_call())) {
		uint32_t flight = l->flight;

		load->call(l, takes);
		load_calls += l->flight - flight;
	}
}

/*
 * Now and then a hoarder lets the server say that it may ask for more; one that
 * hears all asks for as much as all it holds once more in a second.
 */
static void load_tempt(const struct load *load, struct load_peer *l)
{
	if (!l->open || l->dead || l->p->closed)
		return;
	if (!load->mute) {
		if (l->anew < now()) {
			l->flight = 0;
			l->anew = now() + 1;
		}
		return;
	}
	if ((int32_t)(l->p->limit - l->p->sent) >= 0) {
		l->p->credit = 1;
		l->p->no_wait = true;
		grant(l->p, 0);
		l->p->no_wait = false;
		l->p->credit = 0;
	}
	/* Whatever number of Calls a good one would have under way */
	if (load->flight > 1)
		l->flight = 0;
}

static volatile sig_atomic_t load_ends;

static void load_end(int sig __attribute__((unused)))
{
	load_ends = 1;
}

static void load_until_the_end(const struct load *load, bool takes)
{
	struct load_peer peers[LOAD_PEERS] = { { NULL } };
	unsigned long long held = 0;
	uint32_t i, opened = 0;
	double look = 0;

	signal(SIGTERM, load_end);
	load_begun = now();
	while (!load_ends) {
		double begun = now();
		bool again = begun >= look;

		for (i = 0; i < load->peers; i++) {
			if (again && (!peers[i].p || peers[i].p->closed)) {
				load_open(&peers[i]);
				opened++;
			}
			if (peers[i].p && !peers[i].p->closed)
				load_step(load, &peers[i], takes);
			if (again && !takes && peers[i].p && !peers[i].p->closed)
				load_tempt(load, &peers[i]);
		}
		if (again) {
			unsigned long long sum = memory_held();

			held = sum > held ? sum : held;
			look = now() + LOAD_MS / 1e3;
		}
		run_once(0);
		usleep((now() - begun) * 1e6 + LOAD_PAUSE_MS * 1e3);
	}
	printf("held %llu connections %u Replies %u ERRORs %u Calls %u rate %.0f\n", held, opened,
	       load_replies, load_errors, load_calls, load_calls / (now() - load_begun));
}

static int run_load(const char *name, bool takes, const char *rate)
{
	uint32_t i;

	load_rate = rate ? atof(rate) : 0;

	if (setjmp(failed)) {
		printf("%s\n", reason);
		return 1;
	}
	for (i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		if (strcmp(loads[i].name, name))
			continue;
		load_until_the_end(&loads[i], takes);
		return 0;
	}
	printf("there is no load %s\n", name);
	return 1;
}

/* ---- A random walk ---- */

static uint64_t state;

static uint32_t below(uint32_t n)
{
	return rnd(&state) % n;
}

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
 * Handles that the server may be told of. rxe does not keep connections apart
 * when a Send invalidates, so a walk must not guess what others have.
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
	segment(p, any_handle(), len, below(16) ? at(below(EXPOSED / 2)) : rnd(&state));
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

/* A message that is good, or could be */
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
		w(p, rnd(&state));
}

/* Spoil a word, a bit, the length: most messages a little, some a lot. */
static void mutate(struct peer *p)
{
	uint32_t i, at, n = below(3) ? below(2) : below(6);
	uint32_t inv = p->version == 2 && p->len >= 28 ? get(p->out, 24) : 0;

	for (i = 0; i < n && p->len >= 4; i++) {
		at = 4 * below(p->len / 4);
		/* The version: seldom, since that ends the connection. */
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

static uint32_t walk_from(uint64_t seed, uint32_t steps)
{
	uint32_t done = 0, conns = 0;

	state = seed;
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
			/* No window: that is an answer, too. */
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

/* ---- main ---- */

static bool run_case(const struct testcase *c)
{
	if (setjmp(failed)) {
		printf("not ok %s.%s - %s\n", c->group, c->name, reason);
		return false;
	}
	c->run();
	printf("ok %s.%s\n", c->group, c->name);
	return true;
}

static int run_walk(const char *seed, const char *steps)
{
	printf("seed %s, %s steps\n", seed, steps);
	if (setjmp(failed)) {
		printf("the walk ended: %s\n", reason);
		return 1;
	}
	printf("%u connections\n", walk_from(strtoull(seed, NULL, 0), strtoul(steps, NULL, 0)));
	return 0;
}

/*
 * client ADDR PORT walk SEED STEPS	a random walk
 * client ADDR PORT load NAME takes|hoards	until a SIGTERM
 * client ADDR PORT GROUP[.CASE]...	cases; one line each says how it went
 */
int client_main(int argc, char **argv)
{
	int i, count = 0, bads = 0;
	struct testcase *c;

	if (argc < 3)
		return 2;
	addr = argv[0];
	port = argv[1];
	on_bad = client_failed;
	if (!strcmp(argv[2], "walk") && argc == 5)
		return run_walk(argv[3], argv[4]);
	if (!strcmp(argv[2], "load") && argc >= 5)
		return run_load(argv[3], !strcmp(argv[4], "takes"),
				argc > 5 ? argv[5] : NULL);
	for (c = cases; c; c = c->next) {
		for (i = 2; i < argc && !selects(argv[i], c->group, c->name); i++)
			;
		if (i == argc)
			continue;
		count++;
		bads += !run_case(c);
		peers_free();
	}
	if (!count)
		printf("no such case\n");
	return count && !bads ? 0 : 1;
}

/* step ADDR PORT N: go as far as that, and be killed. */
int step_main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	addr = argv[0];
	port = argv[1];
	on_bad = client_failed;
	if (!setjmp(failed)) {
		go(atoi(argv[2]));
		kill(getpid(), SIGKILL);
	}
	return 1;
}
