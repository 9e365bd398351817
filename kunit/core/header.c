// SPDX-License-Identifier: GPL-2.0
/*
 * Use engine.h in a C program in user space, without kernel headers. engine.h
 * is the only header included before the code. Two ends exchange a Call and a
 * Reply with the functions of the header, including the inline ones.
 * header_test.cc calls this.
 */
#include <rpcrdma/engine.h>

#include "header.h"

const struct header_sizes header_sizes_in_c = HEADER_SIZES;

enum {
	WINDOW = 8,
	OCTETS = 4096
};

struct station {
	struct rpcrdma_conn conn;
	struct rpcrdma_rx rx;
	struct station *peer;
	u8 replies, opened, closed;
};

static void do_events(struct station *s, u32 events);

/* Deliver a message at once. It is aligned to 4 bytes. */
static void put(struct station *from, const u32 *words, u32 octets)
{
	struct station *s = from->peer;
	enum rpcrdma_verdict verdict =
		rpcrdma_conn_receive(&s->conn, words, octets, &s->rx);
	u32 events = s->rx.events;

	if (verdict == RPCRDMA_RX_REPLY)
		s->replies++;
	if (verdict != RPCRDMA_RX_CALL)
		events |= rpcrdma_recvs_released(&s->conn);
	do_events(s, events);
}

static void receives_due(struct station *s)
{
	struct rpcrdma_receives want = rpcrdma_recvs_to_alloc(&s->conn);
	u32 events = 0, count;

	if (want.count)
		events |= rpcrdma_recvs_allocated(&s->conn, want.count);
	count = rpcrdma_recvs_to_post(&s->conn, 0);
	if (count)
		events |= rpcrdma_recvs_posted(&s->conn, count);
	do_events(s, events);
}

static void do_events(struct station *s, u32 events)
{
	u32 words[OCTETS / sizeof(u32)], octets;

	if (events & RPCRDMA_EV_CLOSE) {
		s->closed = 1;
		return;
	}
	if (events & RPCRDMA_EV_RECEIVES)
		receives_due(s);
	if (events & RPCRDMA_EV_CONTROL) {
		while ((octets = rpcrdma_conn_next_control(&s->conn, words,
							   sizeof(words))
					 .octets))
			put(s, words, octets);
	}
	if (events & RPCRDMA_EV_OPENED)
		s->opened = 1;
}

/* A message without chunks that has only xid and direction */
static void send(struct station *s, enum rpcrdma_kind kind)
{
	const u32 xid = 0x01010101;
	u32 words[64], header;

	header = rpcrdma_encode_header(
		&s->conn, words, sizeof(words), xid, RDMA2_MSG,
		kind == RPCRDMA_KIND_REPLY ? RDMA2_F_RESPONSE : 0, NULL);
	rpcrdma_conn_stamp(&s->conn, kind, words);
	/* XID and direction, in any byte order */
	words[header / sizeof(u32)] = xid;
	words[header / sizeof(u32) + 1] = 0;
	((u8 *)&words[header / sizeof(u32) + 1])[3] = kind ==
						      RPCRDMA_KIND_REPLY;
	put(s, words, header + 2 * sizeof(u32));
}

bool header_exchange_in_c(u32 version)
{
	struct rpcrdma_conn_config cfg = {
		.number = 1,
		.version_low = RPCRDMA_VERS_1,
		.version_high = (u8)version,
		.window = WINDOW,
		.reverse = 1,
		.done_ms = 1000,
		.props = {
			.sbsiz = OCTETS,
			.rbsiz = OCTETS,
			.rssiz = OCTETS,
			.rcsiz = 1,
		},
	};
	struct station client, server;
	struct rpcrdma_private priv;

	client.peer = &server;
	server.peer = &client;
	client.rx.lists.extra_segs = NULL;
	server.rx.lists.extra_segs = NULL;
	client.replies = client.opened = client.closed = 0;
	server.replies = server.opened = server.closed = 0;
	rpcrdma_conn_init(&server.conn, &cfg);
	cfg.client = 1;
	rpcrdma_conn_init(&client.conn, &cfg);
	rpcrdma_conn_build_private(&client.conn, &priv);
	rpcrdma_conn_set_peer_private(&server.conn, &priv);
	rpcrdma_conn_build_private(&server.conn, &priv);
	rpcrdma_conn_set_peer_private(&client.conn, &priv);
	receives_due(&server);
	receives_due(&client);
	do_events(&server, rpcrdma_conn_established(&server.conn));
	do_events(&client, rpcrdma_conn_established(&client.conn));
	if (!client.opened ||
	    !rpcrdma_conn_may_send(&client.conn, RPCRDMA_KIND_CALL))
		return false;
	send(&client, RPCRDMA_KIND_CALL);
	if (!server.opened ||
	    !rpcrdma_conn_may_send(&server.conn, RPCRDMA_KIND_REPLY))
		return false;
	send(&server, RPCRDMA_KIND_REPLY);
	do_events(&server, rpcrdma_recvs_released(&server.conn));
	return client.replies == 1 && !client.closed && !server.closed &&
	       client.conn.version == version &&
	       rpcrdma_conn_limits(&client.conn).send_inline == OCTETS;
}
