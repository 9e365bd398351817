// SPDX-License-Identifier: GPL-2.0
/*
 * A load of the server, in two forms with the same Calls and the same number of clients.
 * The clients that "take" receive their Replies and send further Calls. Those that
 * "hoard" receive nothing, and make the server hold as much memory as it permits.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

enum {
	LOAD_PEERS = 32,
	/* Interval in which a hoarder grants the server a credit and checks its own */
	LOAD_MS = 100,
	/*
	 * No other process runs while this program runs (../main.c), but they should get
	 * half of the time. So it pauses for the duration of a round and for this time.
	 */
	LOAD_PAUSE_MS = 20,
	/* Bytes of a continued Call, and of a fragment of it */
	LOAD_CALL = 100000,
	LOAD_PART = 4096 - HEADER,
};

struct load_peer {
	struct peer *p;
	bool asked, open, dead;
	uint32_t flight;	/* outstanding Calls */
	uint32_t at;		/* bytes of the present Call that were sent */
	double anew;		/* when the server may have closed its Calls */
};

struct load {
	const char *name;
	uint32_t peers, flight;
	uint32_t prop, value;
	bool mute;		/* hoarders grant the server no credits */
	/* Send one message of a Call. */
	void (*call)(struct load_peer *l, bool takes);
};

/* READs with continued or exposed Replies */
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

/* Continued Calls; a hoarder sends all of their messages except the last */
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

/* Calls with Read chunks; a hoarder stops responding before the server reads them */
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
/* Maximum number of Calls per second of all clients together; 0: unlimited */
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

/* Process the messages of a connection that is not open yet. */
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

/* Return true if a Call can be sent: it leaves two messages of the window (WP 3). */
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
			/* A hoarder sends a refused Call again at once. */
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
 * Give the server a chance to grant more. A hoarder with credits for all Replies would
 * send all Calls that it has outstanding once per second.
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
	/*
	 * A client that receives its Replies could send further Calls: count none as
	 * outstanding.
	 */
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

bool load_by_name(const char *name, bool takes, double rate)
{
	uint32_t i;

	load_rate = rate;
	for (i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		if (strcmp(loads[i].name, name))
			continue;
		load_until_the_end(&loads[i], takes);
		return true;
	}
	return false;
}
