// SPDX-License-Identifier: GPL-2.0
/*
 * A load that is taken, or hoarded: the same Calls by the same number of clients
 * twice, of those who take what they asked for and then ask for more, and of those
 * who leave all of it with the server and make it hold as much as it will.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

enum {
	LOAD_PEERS = 32,
	/* How often a hoarder has a credit for the server, and looks anew */
	LOAD_MS = 100,
	/*
	 * Nobody else runs while this program does (../main.c), and others are to
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
