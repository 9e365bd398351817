// SPDX-License-Identifier: GPL-2.0
/* Versions and the prefix (WP 1) */
#include <stdlib.h>

#include "client.h"

CASE(prefix, controls)
{
	struct peer *p = opened();

	/* The checks that every case uses, with valid messages */
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
	/* The only message of the limit has been used, so this one uses the reserve. */
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
	/* The client may continue with another version. */
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
			bad("the connection should be closed, but is open");
		else
			free(receive(p, 0));
}
