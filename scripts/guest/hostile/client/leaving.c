// SPDX-License-Identifier: GPL-2.0
/* Connections that end at each step, by each method */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "client.h"

enum { STEPS = 10 };

struct peer *go(int step)
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
		/* All kinds of messages outstanding at once */
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
			bad("step %d was not reached", step);
	}
}

/* Send Calls that the server has to answer, and stop responding. */
static struct peer *go_and_die(int step)
{
	struct peer *p = go(step);

	peer_die(p);
	return p;
}

/*
 * Wait until the server has noticed that the peer does not respond. Return false if its
 * answers had arrived before: the server has nothing to send, and cannot notice.
 */
static bool death_noticed(struct peer *p, int step)
{
	bool answered = false;
	struct msg *m;

	while (!p->closed) {
		/* The client can receive few more messages. */
		if (!peers_run(p, answered ? 8000 : 30000)) {
			if (!answered)
				bad("the server keeps the connection of a dead client (step %d)",
				    step);
			return false;
		}
		m = receive(p, 0);
		if (m && m->len >= PREFIX && get(m->data, 12) == MSG &&
		    get(m->data, 16) == RESPONSE)
			answered = true;
		free(m);
	}
	return true;
}

/*
 * The client's hardware stops responding. The end that has to send an answer must notice.
 */
CASE(leaving, dead)
{
	struct peer *owed[3];
	int i, tries;

	for (i = 0; i < 3; i++)
		owed[i] = go_and_die(7 + i);
	for (i = 0; i < 3; i++) {
		for (tries = 0; !death_noticed(owed[i], 7 + i); tries++) {
			if (tries == 4)
				bad("the server answered each time before the client died (step %d)", 7 + i);
			peer_free(owed[i]);
			owed[i] = go_and_die(7 + i);
		}
	}
}

/* Opening has a time limit. All silent clients connect at the same time, to save time. */
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
				bad("the server keeps a client that stopped opening (kind %d)", i);
			else
				free(receive(p[i], 0));
	}
}

/*
 * More silent clients than may be opening at a time: the server closes those that
 * connected first, and accepts new ones.
 */
CASE(leaving, silent_crowd)
{
	enum { CROWD = 136 };		/* fewer than may be opening */
	struct peer *p[CROWD];
	int i;

	/* On a slow machine, the first ones may have exceeded their time already. */
	for (i = 0; i < CROWD && (!i || !p[0]->closed); i++) {
		p[i] = peer_new();
		p[i]->nr_recvs = 2;
		peer_connect(p[i], addr, port);
	}
	alive(opened());
	if (!p[0]->closed && !peers_run(p[0], ANSWER_MS))
		bad("the oldest of %u silent clients is still connected", CROWD);
}

/* An opened connection may be idle, whatever its last message was. */
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
			bad("the server closed idle connection %d after a few seconds", i);
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
