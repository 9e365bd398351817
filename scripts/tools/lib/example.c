// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * librpcrdma2 in 150 lines: a client and a server exchange properties, a NULL Call and a
 * continued Call, and close. The transport is a socketpair, on which a message is a
 * packet. It needs no Receives, so they are only counted as posted. The program is driven
 * by events: poll() waits for messages and for timers.
 */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rpcrdma2/rpcrdma2.h>

enum { MOST = 4096, LONG_CALL = 20000, XID = 100 };

struct end {
	const char *name;
	int client;
	struct rpcrdma2_conn *conn;
	int fd;
	struct rpcrdma2_tx tx;
	uint32_t words[LONG_CALL / 4];	/* the RPC message that is being sent */
	int answers;			/* client: Replies received */
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void fail(const char *who, const char *what)
{
	fprintf(stderr, "%s: %s\n", who, what);
	exit(1);
}

/* An RPC message begins with its xid and its direction. */
static void put(struct end *e, uint32_t xid, enum rpcrdma2_kind kind, uint32_t length)
{
	unsigned char *rpc = memset(e->words, 0, sizeof(e->words));
	int rc;

	rpc[3] = xid;
	rpc[7] = kind;
	e->tx = (struct rpcrdma2_tx){ .xid = xid, .payload = rpc, .length = length };
	rc = kind == RPCRDMA2_CALL ? rpcrdma2_conn_send_call(e->conn, &e->tx) :
				     rpcrdma2_conn_send_reply(e->conn, &e->tx);
	if (rc)
		fail(e->name, rpcrdma2_strerror(rc));
}

static int opened(struct rpcrdma2_conn *conn, void *user)
{
	struct rpcrdma2_conn_info info;
	struct end *e = user;

	rpcrdma2_conn_get_info(conn, &info);
	printf("%s: version %u, sends up to %u bytes, receives up to %u\n", e->name,
	       info.version, info.send_inline, info.recv_inline);
	if (e->client)
		put(e, XID, RPCRDMA2_CALL, 40);
	return 0;
}

static int received(struct rpcrdma2_conn *conn, const struct rpcrdma2_rx *rx, void *user)
{
	struct end *e = user;

	(void)conn;
	if (!rx->last)
		return 0;
	printf("%s: a %s of %u bytes\n", e->name,
	       rx->kind == RPCRDMA2_CALL ? "Call" : "Reply", rx->total);
	if (rx->kind == RPCRDMA2_CALL)
		put(e, rx->xid, RPCRDMA2_REPLY, 24);
	else if (++e->answers == 1)
		put(e, rx->xid + 1, RPCRDMA2_CALL, LONG_CALL);
	return 0;
}

/* Post Receives before sending: the messages convey the credits for them. */
static void flush(struct end *e)
{
	unsigned char pkt[MOST];
	ptrdiff_t length;
	uint32_t count;

	count = rpcrdma2_conn_get_receives(e->conn, now());
	if (count)
		rpcrdma2_conn_posted(e->conn, count, now());
	while ((length = rpcrdma2_conn_write_pkt(e->conn, pkt, sizeof(pkt), NULL,
						 now())) > 0) {
		if (send(e->fd, pkt, length, MSG_NOSIGNAL) != length)
			fail(e->name, "send");
	}
	if (length < 0)
		fail(e->name, rpcrdma2_conn_reason(e->conn));
}

/* Return 0 if the peer has closed the socket. */
static int receive(struct end *e)
{
	unsigned char pkt[MOST];
	ssize_t length = recv(e->fd, pkt, sizeof(pkt), 0);

	if (length > 0 && rpcrdma2_conn_read_pkt(e->conn, pkt, length, 0, now()))
		fail(e->name, rpcrdma2_conn_reason(e->conn));
	return length > 0;
}

static void run(struct end *e)
{
	for (flush(e); e->answers < 2; flush(e)) {
		const uint64_t until = rpcrdma2_conn_get_expiry(e->conn), at = now();
		struct pollfd fd = { .fd = e->fd, .events = POLLIN };
		int ms = until == RPCRDMA2_NEVER ? -1 :
			 until > at ? (int)((until - at) / 1000000 + 1) : 0;

		if (poll(&fd, 1, ms) > 0 && !receive(e))
			break;
		if (rpcrdma2_conn_handle_expiry(e->conn, now()))
			fail(e->name, rpcrdma2_conn_reason(e->conn));
	}
	printf("%s: closed\n", e->name);
}

static void begin(struct end *e, int client, int fd)
{
	struct rpcrdma2_config config;

	*e = (struct end){ client ? "client" : "server", client, .fd = fd };
	rpcrdma2_config_default(&config);
	config.client = client;
	config.callbacks.opened = opened;
	config.callbacks.received = received;
	config.user = e;
	if (rpcrdma2_conn_init(&e->conn, malloc(rpcrdma2_conn_size()),
			       rpcrdma2_conn_size(), &config))
		fail(e->name, "no connection");
	rpcrdma2_conn_posted(e->conn, rpcrdma2_conn_get_receives(e->conn, now()), now());
	rpcrdma2_conn_established(e->conn, now());
}

int main(void)
{
	static struct end e;
	int fds[2], client;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) || (client = fork()) < 0)
		fail("example", "no processes");
	close(fds[!client]);
	begin(&e, !client, fds[!!client]);
	run(&e);
	rpcrdma2_conn_close(e.conn);
	free(e.conn);
	return 0;
}
