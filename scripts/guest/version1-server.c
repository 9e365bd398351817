// SPDX-License-Identifier: GPL-2.0
/*
 * A server of version 1 that sends no ERR_VERS for version 2, so that the client has to
 * detect the version itself. It forwards Calls of version 1 to nfsd over TCP, and returns
 * the Replies inline. It returns Write and Reply chunks unused, and does not support Read
 * chunks. Mount with rsize=1024,wsize=1024.
 *
 *   version1-server PORT silent|drop NFSD
 *
 * NFSD is the IPv4 address of the real server.
 *
 * "silent" does not answer a message of version 2, "drop" closes the connection. The
 * program prints "connection N begins with version V" for each connection. SIGUSR1 closes
 * all connections.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

enum {
	RECVS = 40,
	CREDITS = 32,
	SIZE = 4096,		/* bytes of a message */
	HEADER = 28,		/* bytes of a header without chunks */
	NFS_PORT = 2049,
	LAST_FRAGMENT = 1u << 31,
};

struct connection {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	int number, tcp;
	uint32_t buf[RECVS + 1][SIZE / 4];	/* the last one is for Sends */
};

static bool drop;
static struct sockaddr_in nfsd_addr = { .sin_family = AF_INET };
static volatile sig_atomic_t generation;

static void on_usr1(int sig)
{
	(void)sig;
	generation++;
}

static void say(const char *what, int number, unsigned int arg)
{
	printf(what, number, arg);
	printf("\n");
	fflush(stdout);
}

static bool all(int fd, void *buf, size_t len, bool out)
{
	char *p = buf;

	while (len) {
		ssize_t n = out ? write(fd, p, len) : read(fd, p, len);

		if (n <= 0) {
			if (n < 0 && errno == EINTR)
				continue;
			return false;
		}
		p += n;
		len -= n;
	}
	return true;
}

static int nfsd(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&nfsd_addr, sizeof(nfsd_addr))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Send a Call to nfsd. Return the length of the answer in @to, 0 if there is none. */
static uint32_t ask(struct connection *c, uint32_t *call, uint32_t len, uint32_t *to,
		    uint32_t room)
{
	uint32_t mark = htonl(LAST_FRAGMENT | len), got = 0;

	if (!all(c->tcp, &mark, sizeof(mark), true) || !all(c->tcp, call, len, true))
		return 0;
	do {
		if (!all(c->tcp, &mark, sizeof(mark), false))
			return 0;
		mark = ntohl(mark);
		len = mark & ~LAST_FRAGMENT;
		if (len > room - got || !all(c->tcp, (char *)to + got, len, false))
			return 0;
		got += len;
	} while (!(mark & LAST_FRAGMENT));
	return got;
}

/*
 * Copy the chunk lists of a Call of @len words to its Reply, as unused. Return the index
 * of the word after them, 0 if they are truncated.
 */
static uint32_t lists(const uint32_t *in, uint32_t len, uint32_t *out)
{
	uint32_t at = 4, reply = 0, count, i;

	if (len <= HEADER / 4 || in[at])
		return 0;
	out[at++] = 0;
	/* The Write list's chunks, and then the Reply chunk */
	while (reply < 2) {
		if (at >= len)
			return 0;
		out[at] = in[at];
		if (!in[at++]) {
			reply++;
			continue;
		}
		if (at >= len)
			return 0;
		count = ntohl(in[at]);
		if (count > (len - at) / 4)
			return 0;
		out[at] = in[at];
		at++;
		for (i = 0; i < 4 * count; i++)
			out[at + i] = i % 4 == 1 ? 0 : in[at + i];
		at += 4 * count;
		if (reply)
			reply++;
	}
	return at < len ? at : 0;
}

/* Process one message. Return false if the connection is to be closed. */
static bool message(struct connection *c, uint32_t *in, uint32_t len, bool first)
{
	uint32_t *out = c->buf[RECVS], version, octets, at;
	struct ibv_wc wc;

	if (len < 16)
		return false;
	version = ntohl(in[1]);
	if (first)
		say("connection %d begins with version %u", c->number, version);
	if (version != 1)
		return !drop;
	at = in[3] ? 0 : lists(in, len / 4, out);
	if (!at) {
		say("connection %d: procedure %u, or Read chunks", c->number, ntohl(in[3]));
		return false;
	}
	octets = ask(c, in + at, len - 4 * at, out + at, SIZE - 4 * at);
	if (!octets) {
		say("connection %d: no answer to a Call of %u bytes", c->number, len);
		return false;
	}
	out[0] = in[0];
	out[1] = htonl(1);
	out[2] = htonl(CREDITS);
	out[3] = 0;
	return !rdma_post_send(c->id, NULL, out, 4 * at + octets, c->mr, IBV_SEND_SIGNALED) &&
	       rdma_get_send_comp(c->id, &wc) == 1 && wc.status == IBV_WC_SUCCESS;
}

static bool ended(struct connection *c)
{
	struct pollfd fd = { .fd = c->id->channel->fd, .events = POLLIN };

	/* Any error closes the connection. */
	return poll(&fd, 1, 0) > 0;
}

static void *serve(void *arg)
{
	static const uint8_t private[8] = { 0xf6, 0xab, 0x0e, 0x18, 1, 0, SIZE / 1024 - 1,
					    SIZE / 1024 - 1 };
	struct rdma_conn_param param = {
		.private_data = private,
		.private_data_len = sizeof(private),
		.responder_resources = 1,
		.initiator_depth = 1,
		.rnr_retry_count = 7,
	};
	struct connection *c = arg;
	int born = generation;
	bool first = true;
	struct ibv_wc wc;
	uintptr_t i;
	int n;

	c->mr = rdma_reg_msgs(c->id, c->buf, sizeof(c->buf));
	/* If it cannot be reached, the first Call ends the connection. */
	c->tcp = nfsd();
	if (!c->mr)
		exit(1);
	for (i = 0; i < RECVS; i++)
		if (rdma_post_recv(c->id, (void *)i, c->buf[i], SIZE, c->mr))
			exit(1);
	if (rdma_accept(c->id, &param))
		goto out;

	while (born == generation && !ended(c)) {
		n = ibv_poll_cq(c->id->recv_cq, 1, &wc);
		if (!n) {
			usleep(1000);
			continue;
		}
		i = wc.wr_id;
		if (n < 0 || wc.status != IBV_WC_SUCCESS ||
		    !message(c, c->buf[i], wc.byte_len, first) ||
		    rdma_post_recv(c->id, (void *)i, c->buf[i], SIZE, c->mr))
			break;
		first = false;
	}
	rdma_disconnect(c->id);
out:
	/* The process exits soon, which frees the rest. */
	close(c->tcp);
	return NULL;
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = RECVS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 0,
	};
	struct rdma_cm_id *listener;
	struct rdma_addrinfo *info;
	int number = 0;

	if (argc != 4 || (strcmp(argv[2], "silent") && strcmp(argv[2], "drop")) ||
	    !inet_aton(argv[3], &nfsd_addr.sin_addr)) {
		fprintf(stderr, "usage: version1-server PORT silent|drop NFSD\n");
		return 2;
	}
	nfsd_addr.sin_port = htons(NFS_PORT);
	drop = !strcmp(argv[2], "drop");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, on_usr1);
	if (rdma_getaddrinfo(NULL, argv[1], &hints, &info) ||
	    rdma_create_ep(&listener, info, NULL, &attr) || rdma_listen(listener, 8)) {
		perror("version1-server");
		return 1;
	}
	printf("listening\n");
	fflush(stdout);
	for (;;) {
		struct connection *c = calloc(1, sizeof(*c));
		pthread_t thread;

		if (!c)
			return 1;
		while (rdma_get_request(listener, &c->id))
			if (errno != EINTR)
				return 1;
		c->number = ++number;
		if (pthread_create(&thread, NULL, serve, c))
			return 1;
		pthread_detach(thread);
	}
}
