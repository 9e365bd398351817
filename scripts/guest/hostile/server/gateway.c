// SPDX-License-Identifier: GPL-2.0
/* The gateway: connections, and the messages received on them */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

enum {
	/* No message for that long, or until that time: see settle() */
	QUIET_MS = 300,
	SETTLE_MS = 5000,
};

struct peer *current;
struct scase *armed;
bool want_version1;
uint32_t asked;
unsigned int hits, closings, requests;
uint32_t hit_serial;
uint32_t errors[128];
uint32_t replies;
const char *wrong;
const struct msg *opening_msg;

static bool fits(const struct call *c)
{
	if (!armed || (hits && !armed->forever) || !c->proc)
		return false;
	/* A session may answer that a Call is not the next one. */
	return armed->when == CALL || (armed->when == c->op && c->answer_len > 28 &&
				       !get(c->answer, 24));
}

static void serve_call(struct peer *p, const struct msg *m)
{
	static uint8_t rpc[MAX_RPC + 8], answer[MAX_RPC + 8];
	static struct call c;

	/*
	 * With several pending Calls, the memory may still be in use for the previous
	 * Reply.
	 */
	if (personality() != &gateway)
		sends_done(p);
	memset(&c, 0, sizeof(c));
	c.p = p;
	c.rpc = rpc;
	c.answer = answer;
	c.xid = get(m->data, 0);
	if (!take_call(&c, m)) {
		if (!p->closed)
			wrong = "this program cannot decode the Call";
		return;
	}
	look_at_call(&c);
	check_call(&c, get(m->data, 12));
	execute(&c);
	look_at_answer(&c);
	trail_add("program %u, procedure %u%s: %u bytes, answered with %u, status %u",
		  get(c.rpc, 12), c.proc, c.op == READ ? ", READ" : c.op == WRITE ? ", WRITE" : "",
		  c.len, c.answer_len, c.answer_len < 28 ? 0 : get(c.answer, 24));
	if (!c.answer_len) {
		wrong = "nfsd did not answer";
		return;
	}
	if (walk_left) {
		walk_reply(&c);
		return;
	}
	if (fits(&c)) {
		trail_add("%s.%s", armed->test.group, armed->test.name);
		hits++;
		hit_serial = p->serial;
		armed->run(p, &c);
	} else {
		send_good(&c);
	}
}

static bool opening_armed(int when)
{
	return armed && armed->when == when && (!hits || armed->forever);
}

/* Return true while a mount meets a server that has no version 2 and refuses it. */
static bool refusing(void)
{
	return armed && armed->when == MOUNT;
}

static void serve(struct peer *p, struct msg *m)
{
	uint32_t code;

	trail_add("received on %u: %s", p->serial, describe(m));
	if (m->len < 16)
		return;
	/* The client uses version 1: it remembers a refusal. See below. */
	if (get(m->data, 4) == 1 && p->version == 2) {
		if (!refusing()) {
			peer_disconnect(p);
			return;
		}
		p->version = 1;
	}
	asked = get(m->data, 8);
	grant_credits(p);
	switch (get(m->data, 12)) {
	case CONNPROP:
		if (want_version1) {
			send_err_vers(p, 1, 1);
			p->version = 1;
		} else if (refusing()) {
			hits++;
			armed->run(p, NULL);
			p->version = 1;
		} else if (opening_armed(PROPS)) {
			hits++;
			hit_serial = p->serial;
			opening_msg = m;
			armed->run(p, NULL);
		} else if (get(m->data, 16) & TPMORE || get(m->data, PREFIX)) {
			answer_props(p);
		}
		break;
	case NOMSG:
		if (p->version == 2 && is_grant(m))
			break;
		/* fall through */
	case MSG:
		if (p->version == 1 || !(get(m->data, 16) & RESPONSE))
			serve_call(p, m);
		else
			replies++;
		break;
	case ERROR:
		code = p->version == 2 && m->len >= 28 ? get(m->data, 24) :
		       p->version == 1 && m->len >= 20 ? get(m->data, 16) : 0;
		errors[code < 128 ? code : 0]++;
		break;
	}
}

static void gone(struct peer *p)
{
	trail_add("connection %u is gone", p->serial);
	closings++;
	if (current == p)
		current = NULL;
	peer_free(p);
}

static void request(struct rdma_cm_id *id)
{
	struct rdma_conn_param param;
	uint32_t words[2];
	struct peer *p = peer_new();

	p->id = id;
	p->server = true;
	p->credit = CREDIT;
	id->context = p;
	trail_add("request for %u", p->serial);
	requests++;
	if (opening_armed(CONNECT)) {
		hits++;
		armed->run(p, NULL);
		return;
	}
	assume_personality(p);
	peer_setup(p);
	peer_param(p, &param, words);
	memcpy(p->peer_private, request_private, sizeof(p->peer_private));
	if (rdma_accept(id, &param))
		p->closed = true;
	current = p;
}

bool serve_until(bool (*done)(void), int ms)
{
	double end = now() + ms * scale / 1e3;
	struct msg *m;

	while (!done()) {
		if (now() >= end)
			return false;
		run_once(current && current->inbox ? 0 : 100);
		while (current && current->inbox) {
			m = receive(current, 0);
			serve(current, m);
			free(m);
		}
		peers_reap(gone);
	}
	return true;
}

void fresh_connection(void)
{
	if (!current)
		return;
	peer_disconnect(current);
	peers_run(NULL, 50);
	peers_reap(gone);
	works = false;
}

static uint32_t received_so_far;
static double quiet_since;

static bool is_quiet(void)
{
	if (current && current->received != received_so_far) {
		received_so_far = current->received;
		quiet_since = now();
	}
	return !current || now() - quiet_since > QUIET_MS * scale / 1e3;
}

void settle(void)
{
	received_so_far = 0;
	quiet_since = now();
	serve_until(is_quiet, SETTLE_MS);
}

void listen_at(const char *at)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE };
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(addr, at, &hints, &res) ||
	    rdma_create_id(peer_channel(), &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, res->ai_src_addr) || rdma_listen(id, 16)) {
		fprintf(stderr, "hostile: cannot listen at %s port %s: %s\n", addr, at,
			strerror(errno));
		exit(2);
	}
	rdma_freeaddrinfo(res);
	on_request = request;
}
