// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * librpcrdma2 in 150 lines: a client and a server exchange properties, a NULL Call and a
 * continued Call, and close. The transport is a socketpair, on which a message is a packet.
 * It needs no Receives, so they are only counted as posted. poll() waits for messages and
 * for timers. The exit status is 0 if both ends have succeeded.
 */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rpcrdma2/rpcrdma2.h>

enum { MOST = 4096, LONG_CALL = 20000, XID = 100 };

struct end {
	const char *name;
	struct rpcrdma2_conn *conn;
	int fd, answers;		/* client: Replies received */
	uint32_t words[LONG_CALL / 4];	/* the RPC message that is being sent */
	struct rpcrdma2_tx tx;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The library's errors are negative. */
static void check(const struct end *e, ptrdiff_t rc)
{
	if (rc < 0) {
		fprintf(stderr, "%s: %s\n", e->name, rpcrdma2_strerror((int)rc));
		exit(1);
	}
}

/* An RPC message begins with its xid and its direction. */
static void put(struct end *e, uint32_t xid, enum rpcrdma2_kind kind, uint32_t length)
{
	unsigned char *rpc = memset(e->words, 0, sizeof(e->words));

	rpc[3] = xid;
	rpc[7] = kind;
	e->tx = (struct rpcrdma2_tx){ .xid = xid, .payload = rpc, .length = length };
	check(e, kind == RPCRDMA2_CALL ? rpcrdma2_conn_send_call(e->conn, &e->tx) :
					 rpcrdma2_conn_send_reply(e->conn, &e->tx));
}

static int opened(struct rpcrdma2_conn *conn, void *user)
{
	struct rpcrdma2_conn_info info;
	struct end *e = user;

	rpcrdma2_conn_get_info(conn, &info);
	printf("%s: version %u, up to %u bytes\n", e->name, info.version, info.send_inline);
	if (e->name[0] == 'c')
		put(e, XID, RPCRDMA2_CALL, 40);
	return 0;
}

static int received(struct rpcrdma2_conn *conn, const struct rpcrdma2_rx *rx, void *user)
{
	const int call = rx->kind == RPCRDMA2_CALL;
	struct end *e = user;

	(void)conn;
	if (!rx->last)
		return 0;
	printf("%s: a %s of %u bytes\n", e->name, call ? "Call" : "Reply", rx->total);
	if (call)
		put(e, rx->xid, RPCRDMA2_REPLY, 24);
	else if (++e->answers == 1)
		put(e, rx->xid + 1, RPCRDMA2_CALL, LONG_CALL);
	return 0;
}

/* Post Receives before sending: the messages convey the credits for them. */
static void flush(struct end *e)
{
	const uint32_t count = rpcrdma2_conn_get_receives(e->conn, now());
	unsigned char pkt[MOST];
	ptrdiff_t len;

	if (count)
		check(e, rpcrdma2_conn_posted(e->conn, count, now()));
	while ((len = rpcrdma2_conn_write_pkt(e->conn, pkt, MOST, NULL, now())) > 0)
		if (send(e->fd, pkt, len, MSG_NOSIGNAL) != len)
			check(e, RPCRDMA2_ERR_CLOSED);
	check(e, len);
}

/* Run until both Replies have arrived, or the peer has closed the socket. */
static void run(struct end *e)
{
	unsigned char pkt[MOST];
	ssize_t len;

	for (flush(e); e->answers < 2; flush(e)) {
		const uint64_t until = rpcrdma2_conn_get_expiry(e->conn), at = now();
		struct pollfd fd = { .fd = e->fd, .events = POLLIN };
		int ms = until == RPCRDMA2_NEVER ? -1 :
			 until > at ? (int)((until - at) / 1000000 + 1) : 0;

		if (poll(&fd, 1, ms) > 0) {
			len = recv(e->fd, pkt, sizeof(pkt), 0);
			if (len <= 0)
				break;
			check(e, rpcrdma2_conn_read_pkt(e->conn, pkt, len, 0, now()));
		}
		check(e, rpcrdma2_conn_handle_expiry(e->conn, now()));
	}
	printf("%s: closed\n", e->name);
	rpcrdma2_conn_close(e->conn);
	free(e->conn);
}

int main(void)
{
	const size_t size = rpcrdma2_conn_size();
	struct rpcrdma2_config config;
	static struct end e;
	int fds[2], status = 0;

	rpcrdma2_config_default(&config);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		return 1;
	config.client = !fork();
	config.callbacks.opened = opened;
	config.callbacks.received = received;
	config.user = &e;
	close(fds[!config.client]);
	e.name = config.client ? "client" : "server";
	e.fd = fds[config.client];
	check(&e, rpcrdma2_conn_init(&e.conn, malloc(size), size, &config));
	check(&e, rpcrdma2_conn_posted(e.conn, rpcrdma2_conn_get_receives(e.conn, now()),
				       now()));
	check(&e, rpcrdma2_conn_established(e.conn, now()));
	run(&e);
	return !config.client && (wait(&status) < 0 || status);
}
