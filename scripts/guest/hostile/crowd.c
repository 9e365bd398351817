// SPDX-License-Identifier: GPL-2.0
/*
 * Clients that obey the protocol and connect at the same time. For "make cost", and for
 * tests of many clients.
 *
 *   hostile crowd ADDR PORT VERSION COUNT [stay|wait|refused]
 *
 * Each client requests its connection without waiting for the others, and sends a NULL
 * Call as soon as the protocol permits. Queue pairs and Receives are allocated before.
 * The output is for scripts/cost/report.py: the number of clients, and lines "ALSO
 * connect.COUNT WHAT NUMBER" with the milliseconds until all and until half of them had
 * their Reply, and the KiB of memory that the other end used for each.
 *
 * With "stay" the clients connect in groups, the line "here" is printed, and they stay
 * idle until a line arrives on the standard input. Then each sends another Call. No
 * connection may be closed meanwhile, and all Calls must be answered.
 *
 * With "wait" they connect in groups, too, and wait for their first Reply until a line
 * arrives on the standard input: for a server that is expected not to answer.
 *
 * With "refused" each connection has to be closed by the server.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../mark.h"
#include "lib/peer.h"

enum { MAX_CROWD = 2000, GROUP = 200, LEAVING = 64, PATIENCE_S = 60 };

enum stage { ASKING, OPENING, CALLING, ANSWERED, GONE };

static struct client {
	struct peer *peer;
	enum stage stage;
	double at;		/* answered, in seconds since the start */
} clients[MAX_CROWD];
static uint32_t called, answered, gone;
static bool expects_end;
static double begun;

static void crowd_failed(const char *why)
{
	uint32_t i, asking = 0, opening = 0;

	for (i = 0; i < MAX_CROWD && clients[i].peer; i++) {
		asking += clients[i].stage == ASKING;
		opening += clients[i].stage == OPENING;
	}
	fprintf(stderr, "crowd: %s: %u not connected, %u not open, %u Calls, %u answers, %u gone\n",
		why, asking, opening, called, answered, gone);
	exit(1);
}

static void call(struct client *c)
{
	struct peer *p = c->peer;

	begin(p, ++p->xid, MSG, 0);
	no_lists(p);
	rpc_null(p, p->xid);
	send_out(p);
	c->stage = CALLING;
	called++;
}

static void hello(struct client *c)
{
	struct peer *p = c->peer;

	begin(p, 0, CONNPROP, 0);
	w(p, 2);
	prop(p, SBSIZ, 4096);
	prop(p, RBSIZ, 4096);
	send_out(p);
	c->stage = OPENING;
}

static void heard(struct client *c, const struct msg *m)
{
	struct peer *p = c->peer;

	if (c->stage == OPENING && m->len >= PREFIX && get(m->data, 12) == CONNPROP) {
		call(c);
	} else if (c->stage == CALLING && m->len >= PREFIX && get(m->data, 0) == p->xid &&
		   get(m->data, 12) == MSG) {
		c->stage = ANSWERED;
		c->at = now() - begun;
		answered++;
	} else if (!is_grant(m)) {
		bad("this message is no Reply: %s", describe(m));
	}
}

static void crowd_news(struct peer *p)
{
	struct client *c = p->owner;
	struct msg *m;

	if (p->closed && begun > 0 && expects_end) {
		gone += c->stage != GONE;
		c->stage = GONE;
		return;
	}
	if (p->closed && begun > 0)
		bad("a connection was %s (completion status %d, stage %d)",
		    p->refused ? "refused" : "closed", p->wc_error, c->stage);
	if (c->stage == ASKING && p->connected && begun > 0) {
		if (p->version == 1)
			call(c);
		else
			hello(c);
	}
	while ((m = p->inbox)) {
		p->inbox = m->next;
		if (!m->next)
			p->inbox_end = &p->inbox;
		heard(c, m);
		free(m);
	}
}

/* Allocate @count clients, each ready to connect. */
static void come(uint32_t count, uint32_t version, const char *addr, const char *port)
{
	uint32_t i;

	begun = 0;
	called = 0;
	answered = 0;
	gone = 0;
	memset(clients, 0, sizeof(clients));
	for (i = 0; i < count; i++) {
		struct peer *p = peer_new();

		p->version = version;
		p->nr_recvs = 6;
		p->nr_sends = 4;
		p->credit = 4;
		p->owner = &clients[i];
		clients[i].peer = p;
		peer_prepare(p, addr, port);
	}
}

/* Wait until @counter, called, answered or gone, has reached @count. */
static void hear(const uint32_t *counter, uint32_t count)
{
	while (*counter < count) {
		if (now() - begun > PATIENCE_S * scale)
			bad(counter == &answered ? "some clients got no Reply" :
			    counter == &called ? "some clients are not connected" :
						 "some connections were not closed");
		run_once(1000);
	}
}

/*
 * Connect the clients from @first up to @count, and wait until @counter has reached that.
 */
static void ask(const uint32_t *counter, uint32_t first, uint32_t count)
{
	uint32_t i;

	begun = now();
	for (i = first; i < count; i++)
		peer_request(clients[i].peer);
	hear(counter, count);
}

static uint32_t group_end(uint32_t first, uint32_t count)
{
	return count - first < GROUP ? count : first + GROUP;
}

/* Connect all clients, and let them be until a line arrives. */
static void gather(const uint32_t *counter, uint32_t count)
{
	uint32_t i, end;
	char line[16];

	for (i = 0; i < count; i = end) {
		end = group_end(i, count);
		ask(counter, i, end);
	}
	puts("here");
	fflush(stdout);
	for (wake_fd = STDIN_FILENO; wake_fd >= 0;)
		run_once(1000);
	if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
		bad("standard input has ended");
}

static void stay(uint32_t count)
{
	uint32_t i, end;

	gather(&answered, count);
	answered = 0;
	for (i = 0; i < count;) {
		begun = now();
		for (end = group_end(i, count); i < end; i++)
			call(&clients[i]);
		hear(&answered, end);
	}
	printf("each of %u clients got a second Reply\n", count);
}

/*
 * Disconnect, a few clients at a time. In Linux 7.x, no more than 128 requests of a port's
 * connection manager are outstanding. Others wait, and if 1,024 clients disconnect at once, the
 * destruction of some ids takes minutes.
 */
static void leave(void)
{
	uint32_t i;

	begun = 0;
	for (i = 0; i < MAX_CROWD && clients[i].peer; i++) {
		peer_disconnect(clients[i].peer);
		if (i % LEAVING == LEAVING - 1)
			peers_run(NULL, 200);
	}
	peers_run(NULL, 1000);
	peers_free();
}

/* Return the free memory in KiB. */
static long free_memory(void)
{
	char line[128];
	long kib = 0;
	FILE *f;

	f = fopen("/proc/sys/vm/drop_caches", "w");
	if (!f || fputs("3\n", f) < 0 || fclose(f))
		bad("caches cannot be dropped");
	sleep(1);
	f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %ld", &kib) == 1)
			break;
	if (!f || fclose(f) || !kib)
		bad("/proc/meminfo cannot be read");
	return kib;
}

static int by_time(const void *a, const void *b)
{
	const struct client *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

int crowd_main(int argc, char **argv)
{
	const struct rlimit many = { .rlim_cur = 4096, .rlim_max = 4096 };
	const bool stays = argc == 5 && !strcmp(argv[4], "stay");
	const bool waits = argc == 5 && !strcmp(argv[4], "wait");
	uint32_t version, count;
	long before, after;

	expects_end = argc == 5 && !strcmp(argv[4], "refused");
	if (argc != 4 && !stays && !waits && !expects_end)
		return 2;
	version = atoi(argv[2]);
	count = atoi(argv[3]);
	if (count < 2 || count > MAX_CROWD)
		return 2;
	on_bad = crowd_failed;
	on_news = crowd_news;
	/*
	 * Touch all memory first: page faults would be served by the host, and add to the
	 * time.
	 */
	if (mlockall(MCL_CURRENT | MCL_FUTURE) || setrlimit(RLIMIT_NOFILE, &many)) {
		perror("crowd");
		return 1;
	}
	if (argc == 5) {
		come(count, version, argv[0], argv[1]);
		if (expects_end)
			ask(&gone, 0, count);
		else if (stays)
			stay(count);
		else
			gather(&called, count);
		leave();
		return 0;
	}
	come(3, version, argv[0], argv[1]);
	ask(&answered, 0, 3);
	leave();
	come(count, version, argv[0], argv[1]);
	before = free_memory();
	MARK_BEGIN;
	ask(&answered, 0, count);
	MARK_END;
	after = free_memory();
	qsort(clients, count, sizeof(clients[0]), by_time);
	printf("WORK connect.%u %u\n", count, count);
	printf("ALSO connect.%u ms.all %.3f\n", count, clients[count - 1].at * 1e3);
	printf("ALSO connect.%u ms.half %.3f\n", count, clients[count / 2 - 1].at * 1e3);
	printf("ALSO connect.%u KiB %.1f\n", count, (double)(before - after) / count);
	leave();
	return 0;
}
