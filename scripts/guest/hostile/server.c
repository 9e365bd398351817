// SPDX-License-Identifier: GPL-2.0
/*
 * The hostile server: a gateway between the kernel's client and nfsd's TCP
 * socket, so that what it is hostile with can be one message of a mount that
 * works. Each case spoils one thing, once or for ever, while a process does
 * something in the mount; it knows how that ends, and that the mount works
 * again afterwards.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

enum {
	MAX_RPC = 256 << 10,
	/* Of exposed: where Calls are read to, and Replies are written from */
	AT_CALL = 0,
	AT_REPLY = EXPOSED / 2,
	NFS3_READ = 6, NFS3_WRITE = 7,
	NFS4_PUTFH = 22, NFS4_READ = 25, NFS4_WRITE = 38, NFS4_EXCHANGE_ID = 42,
	NFS4_SEQUENCE = 53,
	/* A Call leaves the last two of the window. */
	CREDIT = 40,
	/* What the kernel's client says it reassembles, and its Receives */
	CLIENT_REASSEMBLY = 262144,
	CLIENT_RECV = 4096,
	/* The longest Reply that goes in one message */
	INLINE = 3000,
	/*
	 * A soft mount gives an RPC up after 24 s. An operation makes several, one after
	 * the other, although the first has failed: opening a file up to three, if what
	 * the client knew of the folder has grown old.
	 */
	OP_MS = 4 * 25000,
	/* Nothing comes for so long, or it never ends: see settle() */
	QUIET_MS = 300,
	SETTLE_MS = 5000,
	/* Of commands, and of the walk */
	COMMAND_MS = 60000,
	WALK_MS = 100000,
	/* Mounts that begin anew have the ports from here on, this many of each gateway. */
	ANEW_PORTS = 21000,
	ANEW_CASES = 100,
	/* Of the trail of what happened: lines, and octets of each */
	TRAIL = 40,
	TRAIL_LINE = 160,
};

enum { CONNECT = 1, PROPS, CALL, READ, WRITE, MOUNT };	/* when */

struct chunk {
	uint32_t count, octets;
	struct {
		uint32_t handle, len;
		uint64_t offset;
	} seg[16];
};

struct call {
	struct peer *p;
	uint32_t xid, proc, inv;
	int op;			/* READ or WRITE, or CALL for all others */
	uint32_t item;		/* where the data of a READ begins in its Reply */
	bool has_write, has_reply, has_read;
	struct chunk read, write, reply;
	uint8_t *rpc;
	uint32_t len;
	uint8_t *answer;	/* the Reply of nfsd */
	uint32_t answer_len;
};

enum {
	OK = 1,			/* the data is as it must be */
	FAILS = 2,		/* an errno */
	CLOSES = 4,		/* besides: the client lets go of the connection */
	STAYS = 8,		/* besides: it does not */
	NEW = 16,		/* what follows needs another connection */
};

/* How a server returns a chunk that its Reply does not use */
enum form { ABSENT, EMPTY, AS_OFFERED };

/* How a server replies with version 1 */
struct personality {
	/* RFC 8797: the private message is absent, or has this second word. */
	bool no_private;
	uint32_t private_word;
	/* Credits of each grant, less the Calls at work; 0 with @echoes: what is asked for */
	uint32_t credits;
	bool echoes, grants_free;
	/* A Reply longer than this goes to the Reply chunk, if one is offered. */
	uint32_t inline_max;
	/* A Reply in the Reply chunk has the whole data of a READ. */
	bool whole;
	enum form unused_write, unused_reply;
	/* A Reply invalidates the handle of the Write chunk, if the client agrees. */
	bool invalidates;
	/* Calls that the server refuses, or does not survive */
	bool no_nomsg;		/* a Call in a Read chunk */
	bool narrow;		/* chunks with other than READ and WRITE, or of segments */
};

struct scase {
	const char *group, *name;
	int when;
	const char *op;
	unsigned int expect;
	bool forever, version1;
	uint32_t code;		/* an ERROR that the client should send */
	bool answered;		/* it should send a Reply */
	unsigned int times;	/* how often it happens, if that matters */
	const struct personality *as;	/* the server that replies, or NULL: this program */
	void (*run)(struct peer *p, struct call *c);
	struct scase *next;
};

static struct scase *cases, **cases_end = &cases;

#define SCASE(grp, nm, when, op, ...)					\
	static void grp##_##nm(struct peer *p, struct call *c);		\
	static struct scase case_##grp##_##nm = {			\
		#grp, #nm, when, op, __VA_ARGS__, .run = grp##_##nm };	\
	static void __attribute__((constructor)) add_##grp##_##nm(void)	\
	{								\
		*cases_end = &case_##grp##_##nm;			\
		cases_end = &case_##grp##_##nm.next;			\
	}								\
	static void grp##_##nm(struct peer *p __attribute__((unused)),	\
			       struct call *c __attribute__((unused)))

static const char *addr, *port, *dir, *refdir;
static uint16_t nfs_port;
static int nfs = -1;
static struct peer *current;		/* the connection there is */
static struct scase *armed;
static bool want_version1;
static unsigned int hits, closings, requests;
static const char *mount_line, *umount_line;
static bool mounted;
static uint32_t hit_serial;		/* of the connection it happened on */
static uint32_t errors[128];		/* ERRORs received, by code */
static uint32_t replies;		/* ... and Replies */
static const char *wrong;		/* found by a case itself */
static bool works;			/* the mount, when it was last used */
static bool hangs;			/* ... did not even fail */
static char trail[TRAIL][TRAIL_LINE];
static unsigned int trail_len;
static uint64_t walk_state;
static unsigned int walk_left;

static uint32_t asked;			/* credits, by the last message received */

static void walk_reply(struct call *c);

/* ---- What happened ---- */

/* Note what happens: it is shown when a case goes wrong. */
static void __attribute__((format(printf, 1, 2))) tell(const char *fmt, ...)
{
	char *line = trail[trail_len++ % TRAIL];
	struct timespec ts;
	va_list args;
	int n;

	/* The clock of the kernel's log */
	clock_gettime(CLOCK_BOOTTIME, &ts);
	n = snprintf(line, TRAIL_LINE, "%ld.%03ld ", (long)ts.tv_sec, ts.tv_nsec / 1000000);
	va_start(args, fmt);
	vsnprintf(line + n, TRAIL_LINE - n, fmt, args);
	va_end(args);
}

/* What may say why a case went wrong */
static void show_trail(void)
{
	unsigned int i = trail_len < TRAIL ? 0 : trail_len - TRAIL;

	for (; i < trail_len; i++)
		printf("# %s\n", trail[i % TRAIL]);
	fflush(stdout);
	if (system("{ [ ! -e /sys/kernel/debug/sunrpc ] ||"
		   " cat /sys/kernel/debug/sunrpc/rpc_clnt/*/tasks;"
		   " dmesg | tail -n 25; } | sed 's/^/# /'"))
		printf("# the kernel's log cannot be shown\n");
}

/* ---- nfsd ---- */

static void nfs_close(void)
{
	if (nfs >= 0)
		close(nfs);
	nfs = -1;
}

static bool nfs_io(void *data, size_t len, bool out)
{
	while (len) {
		ssize_t n = out ? write(nfs, data, len) : read(nfs, data, len);

		if (n <= 0)
			return false;
		data = (uint8_t *)data + n;
		len -= n;
	}
	return true;
}

/* One RPC message of nfsd. Returns its octets, 0: none. */
static uint32_t nfs_message(uint8_t *message)
{
	uint32_t mark, got = 0;

	do {
		if (!nfs_io(&mark, 4, false))
			return 0;
		mark = ntohl(mark);
		if ((mark & 0x7fffffff) > MAX_RPC - got ||
		    !nfs_io(message + got, mark & 0x7fffffff, false))
			return 0;
		got += mark & 0x7fffffff;
	} while (!(mark & 0x80000000));
	return got;
}

/*
 * To nfsd this program is the client, of whose sessions the connection is the
 * backchannel. Whether the client has a callback service is the one thing that
 * it wants to know; nothing here makes it recall anything.
 */
static bool nfs_callback(const uint8_t *call)
{
	uint32_t reply[7] = { htonl(0x80000000 | 24), 0, htonl(1) };

	tell("callback, procedure %u", get(call, 20));
	memcpy(reply + 1, call, 4);
	/* PROC_UNAVAIL for all but NULL */
	reply[6] = get(call, 20) ? htonl(3) : 0;
	return nfs_io(reply, sizeof(reply), true);
}

static uint32_t nfs_try(void *rpc, uint32_t len, uint8_t *answer)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(nfs_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct timeval tv = { .tv_sec = 8 * scale };
	uint32_t mark = htonl(0x80000000 | len), got;

	if (nfs < 0) {
		nfs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(nfs, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
		if (connect(nfs, (struct sockaddr *)&sin, sizeof(sin)))
			goto fail;
	}
	if (!nfs_io(&mark, 4, true) || !nfs_io(rpc, len, true))
		goto fail;
	while ((got = nfs_message(answer))) {
		if (got < 24 || get(answer, 4))
			return got;
		if (!nfs_callback(answer))
			break;
	}

fail:
	nfs_close();
	return 0;
}

/* Ask nfsd. Returns the Reply's octets, 0: none. */
static uint32_t nfs_ask(void *rpc, uint32_t len, uint8_t *answer)
{
	uint32_t n = nfs_try(rpc, len, answer);

	/* It closes connections that it finds idle. */
	return n ? n : nfs_try(rpc, len, answer);
}

/* ---- Personalities ---- */

/* This program, where no other server is played */
static const struct personality gateway = {
	.inline_max = INLINE, .unused_write = EMPTY, .unused_reply = ABSENT,
};

static const struct personality *personality(void)
{
	return armed && armed->as ? armed->as : &gateway;
}

/* Set what the personality says on a connection that has been requested. */
static void assume_personality(struct peer *p)
{
	const struct personality *as = personality();

	if (as == &gateway)
		return;
	/* A server that echoes grants more than it has Receives for. */
	p->nr_recvs = 256;
	/* As long as the longest Send of the kernel's client */
	p->recv_size = SLOT;
	p->no_private = as->no_private;
	if (!p->no_private) {
		p->private_words[0] = htonl(0xf6ab0e18);
		p->private_words[1] = htonl(as->private_word);
	}
}

/* Set the grant of the Reply to the message that @p has just received. */
static void grant(struct peer *p)
{
	const struct personality *as = personality();
	uint32_t busy = 1;
	struct msg *m;

	if (as == &gateway)
		return;
	p->credit = !as->echoes ? as->credits : asked ? asked : 1;
	if (!as->grants_free)
		return;
	for (m = p->inbox; m; m = m->next)
		busy++;
	p->credit = busy < as->credits ? as->credits - busy : 0;
}

/* Return the handle that the Reply to @c invalidates, 0: none. */
static uint32_t invalidated(const struct call *c)
{
	/* RFC 8797: the flag is in the second byte after the format identifier. */
	return personality()->invalidates && (request_private[5] & 1) && c->has_write &&
	       !c->has_reply ? c->write.seg[0].handle : 0;
}

/* Note a Call that the server played could not execute. */
static void check_call(const struct call *c, uint32_t type)
{
	const struct personality *as = personality();

	if (as->no_nomsg && type == NOMSG)
		wrong = "a Call came in a Read chunk, which this server does not take";
	if (as->narrow && ((c->has_write && c->write.count != 1) ||
			   (c->has_write && c->op != READ) || (c->has_read && c->op != WRITE)))
		wrong = "a Call has chunks that this server does not take";
}

/* ---- Replies as they should be ---- */

static void begin_reply(struct call *c, uint32_t type, uint32_t flags)
{
	begin(c->p, c->xid, type, RESPONSE | flags);
	if (c->p->version == 2)
		w(c->p, 0);
	w(c->p, 0);
}

/* A chunk as it comes back with @octets in it */
static void return_chunk(struct peer *p, const struct chunk *k, uint32_t octets)
{
	uint32_t i, n;

	ww(p, 2, 1, k->count);
	for (i = 0; i < k->count; i++) {
		n = octets < k->seg[i].len ? octets : k->seg[i].len;
		segment(p, k->seg[i].handle, n, k->seg[i].offset);
		octets -= n;
	}
}

/* The Write list of a Reply: the chunk, if there is one, with @octets */
static void return_write(struct call *c, uint32_t octets)
{
	enum form form = octets ? EMPTY : personality()->unused_write;

	if (c->has_write && form != ABSENT)
		return_chunk(c->p, &c->write, form == AS_OFFERED ? c->write.octets : octets);
	w(c->p, 0);
}

/* Put the Reply chunk of a Reply that is in the message. */
static void return_reply(struct call *c)
{
	if (c->has_reply && personality()->unused_reply == EMPTY)
		return_chunk(c->p, &c->reply, 0);
	else
		w(c->p, 0);
}

static void put_answer(struct call *c, uint32_t from, uint32_t len)
{
	struct peer *p = c->p;

	if (p->len + len > sizeof(p->out))
		bad("a Reply of %u octets is too long for this program", len);
	memcpy(p->out + p->len, c->answer + from, len);
	p->len += len;
}

/* Write @len octets of the answer from @from on to @k. */
static void push(struct call *c, const struct chunk *k, uint32_t from, uint32_t len)
{
	uint32_t i, n, at = AT_REPLY + from, done = 0;

	memcpy(exposed + at, c->answer + from, len);
	for (i = 0; i < k->count && done < len; i++) {
		n = len - done < k->seg[i].len ? len - done : k->seg[i].len;
		rdma_post(c->p, false, at + done, n, k->seg[i].handle, k->seg[i].offset);
		done += n;
	}
}

/* Octets of the item in the Reply to a READ, if it is to be reduced */
static uint32_t item_octets(const struct call *c)
{
	uint32_t len;

	if (!c->has_write || !c->item || c->answer_len < c->item)
		return 0;
	len = get(c->answer, c->item - 4);
	return len <= c->answer_len - c->item && len <= c->write.octets ? len : 0;
}

/* Only the message; the item has been pushed already. */
static void make_reduced(struct call *c, uint32_t item)
{
	begin_reply(c, MSG, 0);
	return_write(c, item);
	return_reply(c);
	put_answer(c, 0, c->item);
}

static void make_inline(struct call *c)
{
	begin_reply(c, MSG, 0);
	return_write(c, 0);
	return_reply(c);
	put_answer(c, 0, c->answer_len);
}

/* Make a Reply of @len bytes in the Reply chunk, with @item bytes in the Write chunk. */
static void make_special(struct call *c, uint32_t item, uint32_t len)
{
	begin_reply(c, NOMSG, 0);
	return_write(c, item);
	return_chunk(c->p, &c->reply, len);
}

/* The Reply in p->out, its RDMA done */
static void make_good(struct call *c)
{
	const struct personality *as = personality();
	uint32_t item = c->has_reply && as->whole ? 0 : item_octets(c);
	uint32_t len = item ? c->item : c->answer_len;

	if (item)
		push(c, &c->write, c->item, item);
	if (c->has_reply && len > as->inline_max && len <= c->reply.octets) {
		push(c, &c->reply, 0, len);
		make_special(c, item, len);
	} else if (item) {
		make_reduced(c, item);
	} else {
		make_inline(c);
	}
}

/* Is there no other way for the Reply than in parts? */
static bool needs_parts(const struct call *c)
{
	return c->p->version == 2 && c->answer_len > INLINE && !item_octets(c) &&
	       !(c->has_reply && c->answer_len <= c->reply.octets);
}

/* A Reply in parts, as long as @octets say */
static void send_parts(struct call *c, uint32_t octets)
{
	uint32_t done = 0, room = CLIENT_RECV - HEADER;

	while (done < octets && !c->p->closed) {
		bool more = octets - done > room;

		begin_reply(c, MSG, more ? MORE : 0);
		if (!more) {
			return_write(c, 0);
			w(c->p, 0);
		} else {
			ww(c->p, 2, 0, 0);
		}
		if (done + room <= c->answer_len) {
			put_answer(c, done, more ? room : octets - done);
		} else if (more) {
			while (c->p->len < CLIENT_RECV)
				w(c->p, 0);
		} else {
			put_answer(c, done, octets - done);
		}
		done += more ? room : octets - done;
		send_out(c->p);
		/* Leave room for a last part with a chunk. */
		if (octets - done > room - 300 && octets - done <= room)
			room -= 300;
	}
}

static void send_good(struct call *c)
{
	if (needs_parts(c)) {
		send_parts(c, c->answer_len);
		return;
	}
	make_good(c);
	send_inv(c->p, invalidated(c));
}

/* ---- Calls ---- */

static bool take_chunk(const uint8_t *m, uint32_t len, uint32_t *at, struct chunk *k)
{
	uint32_t i, n;

	if (*at + 4 > len)
		return false;
	n = get(m, *at);
	*at += 4;
	if (n > 16 || *at + 16 * n > len)
		return false;
	k->count = n;
	k->octets = 0;
	for (i = 0; i < n; i++, *at += 16) {
		k->seg[i].handle = get(m, *at);
		k->seg[i].len = get(m, *at + 4);
		k->seg[i].offset = (uint64_t)get(m, *at + 8) << 32 | get(m, *at + 12);
		k->octets += k->seg[i].len;
	}
	return true;
}

/*
 * The lists and the payload of a Call. All the kernel's client does is one
 * Read chunk, one Write chunk and a Reply chunk; other Calls are not for this.
 */
static bool take_call(struct call *c, const struct msg *m)
{
	const uint8_t *d = m->data;
	uint32_t at = c->p->version == 2 ? PREFIX : 16, i, octets = 0, position = 0, n;
	struct chunk *k = &c->read;

	if (c->p->version == 2) {
		c->inv = get(d, at);
		at += 4;
	}
	k->count = 0;
	k->octets = 0;
	while (at + 4 <= m->len && get(d, at)) {
		if (at + 24 > m->len || k->count == 16)
			return false;
		c->has_read = true;
		position = get(d, at + 4);
		i = k->count++;
		k->seg[i].handle = get(d, at + 8);
		k->seg[i].len = get(d, at + 12);
		k->seg[i].offset = (uint64_t)get(d, at + 16) << 32 | get(d, at + 20);
		k->octets += k->seg[i].len;
		at += 24;
	}
	at += 4;
	if (at + 4 > m->len)
		return false;
	if (get(d, at)) {
		at += 4;
		c->has_write = true;
		if (!take_chunk(d, m->len, &at, &c->write) || at + 4 > m->len || get(d, at))
			return false;
	}
	at += 4;
	if (at + 4 > m->len)
		return false;
	if (get(d, at)) {
		at += 4;
		c->has_reply = true;
		if (!take_chunk(d, m->len, &at, &c->reply))
			return false;
	} else {
		at += 4;
	}

	n = m->len - at;
	if (n > MAX_RPC || k->octets > MAX_RPC - n || position > n)
		return false;
	for (i = 0; i < k->count; i++) {
		rdma_post(c->p, true, AT_CALL + octets, k->seg[i].len, k->seg[i].handle,
			  k->seg[i].offset);
		octets += k->seg[i].len;
	}
	if (k->count && !sends_done(c->p))
		return false;
	memcpy(c->rpc, d + at, position);
	memcpy(c->rpc + position, exposed + AT_CALL, octets);
	c->len = position + octets;
	while (k->count && c->len % 4)
		c->rpc[c->len++] = 0;
	memcpy(c->rpc + c->len, d + at + position, n - position);
	c->len += n - position;
	return c->len >= 24;
}

/* The octets of an opaque at @at and of its length, and 0 if it does not end */
static uint32_t opaque(const struct call *c, uint32_t at)
{
	uint32_t len;

	if (at + 4 > c->len)
		return 0;
	len = get(c->rpc, at);
	return len <= c->len - at - 4 ? 4 + ((len + 3) & ~3u) : 0;
}

/*
 * To the client, the mounts must be of different servers, although all of them
 * are of the same nfsd: so each gateway's client has a name of its own there.
 */
static void rename_client(struct call *c, uint32_t at)
{
	uint32_t len;

	if (!opaque(c, at))
		return;
	len = get(c->rpc, at);
	if (len)
		c->rpc[at + 3 + len] = 0x80 | atoi(port);
}

/* The READ or WRITE of a COMPOUND, as the kernel's client makes it */
static void look_at_compound(struct call *c, uint32_t at)
{
	uint32_t op;

	/* The tag, the minor version and the count of operations */
	at += opaque(c, at) + 8;
	if (at + 4 > c->len)
		return;
	op = get(c->rpc, at);
	if (op == NFS4_EXCHANGE_ID)
		rename_client(c, at + 4 + 8);
	if (op != NFS4_SEQUENCE)
		return;
	at += 4 + 32;
	if (at + 4 > c->len || get(c->rpc, at) != NFS4_PUTFH)
		return;
	at += 4;
	at += opaque(c, at);
	op = at + 4 <= c->len ? get(c->rpc, at) : 0;
	c->op = op == NFS4_READ ? READ : op == NFS4_WRITE ? WRITE : CALL;
}

/* What the Call does, before it goes to nfsd */
static void look_at_call(struct call *c)
{
	uint32_t at = 28;

	c->proc = get(c->rpc, 20);
	c->op = CALL;
	if (get(c->rpc, 12) != 100003)
		return;
	if (get(c->rpc, 16) == 3) {
		c->op = c->proc == NFS3_READ ? READ : c->proc == NFS3_WRITE ? WRITE : CALL;
		return;
	}
	/* Credential and verifier */
	at += opaque(c, at) + 4;
	at += opaque(c, at);
	if (get(c->rpc, 16) == 4 && c->proc == 1)
		look_at_compound(c, at);
}

/* Where a READ's data begins: behind the words of its length */
static void look_at_answer(struct call *c)
{
	if (c->op != READ || c->answer_len < 36)
		return;
	if (get(c->rpc, 16) == 3)
		/* RPC 24, status, attributes 4 + 84, count, end, length */
		c->item = 128;
	else
		/* RPC 24, status, tag, count; SEQUENCE 44, PUTFH 8, READ 16 */
		c->item = 24 + 4 + 4 + ((get(c->answer, 28) + 3) & ~3u) + 4 + 44 + 8 + 16;
	if (c->item > c->answer_len)
		c->item = 0;
}

static bool fits(const struct call *c)
{
	if (!armed || (hits && !armed->forever) || !c->proc)
		return false;
	/* A session may find that a Call is not the next one. */
	return armed->when == CALL || (armed->when == c->op && c->answer_len > 28 &&
				       !get(c->answer, 24));
}

/*
 * A Call that was refused as it stood has not been executed, although nfsd knows
 * it already: when it comes again the answer is the one that was kept from it.
 */
static struct {
	uint32_t len, answer_len;
	uint8_t rpc[MAX_RPC + 8], answer[MAX_RPC + 8];
} kept;

static void keep_answer(const struct call *c)
{
	kept.len = c->len;
	kept.answer_len = c->answer_len;
	memcpy(kept.rpc, c->rpc, c->len);
	memcpy(kept.answer, c->answer, c->answer_len);
}

static void execute(struct call *c)
{
	if (kept.len && kept.len == c->len && !memcmp(kept.rpc, c->rpc, c->len)) {
		memcpy(c->answer, kept.answer, kept.answer_len);
		c->answer_len = kept.answer_len;
	} else {
		c->answer_len = nfs_ask(c->rpc, c->len, c->answer);
	}
	kept.len = 0;
}

static void serve_call(struct peer *p, const struct msg *m)
{
	static uint8_t rpc[MAX_RPC + 8], answer[MAX_RPC + 8];
	static struct call c;

	/* If several Calls are pending, the memory may still be in use for the previous one. */
	if (personality() != &gateway)
		sends_done(p);
	memset(&c, 0, sizeof(c));
	c.p = p;
	c.rpc = rpc;
	c.answer = answer;
	c.xid = get(m->data, 0);
	if (!take_call(&c, m)) {
		if (!p->closed)
			wrong = "there was a Call that this program cannot take";
		return;
	}
	look_at_call(&c);
	check_call(&c, get(m->data, 12));
	execute(&c);
	look_at_answer(&c);
	tell("program %u, procedure %u%s: %u octets, answered with %u, status %u",
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
		tell("%s.%s", armed->group, armed->name);
		hits++;
		hit_serial = p->serial;
		armed->run(p, &c);
	} else {
		send_good(&c);
	}
}

/* ---- Opening ---- */

static void send_props(struct peer *p)
{
	begin(p, 0, CONNPROP, 0);
	w(p, 5);
	prop(p, SBSIZ, 4096);
	prop(p, RBSIZ, 4096);
	prop(p, RSSIZ, 1 << 20);
	prop(p, RCSIZ, 16);
	prop(p, REASSEMBLY, 0);
	send_out(p);
}

/* Send what is in out, whatever the client has granted. */
static void send_at_once(struct peer *p)
{
	p->no_wait = true;
	send_out(p);
	p->no_wait = false;
}

static void send_err_vers(struct peer *p, uint32_t low, uint32_t high)
{
	raw(p);
	ww(p, 7, 0, 2, CREDIT, ERROR, ERR_VERS, low, high);
	send_at_once(p);
}

/* Send ERR_VERS with the credits asked for, in a header of @version. */
static void send_only_v1(struct peer *p, uint32_t version)
{
	raw(p);
	ww(p, 7, 0, version, asked, ERROR, ERR_VERS, 1, 1);
	send_at_once(p);
}

static bool opening_armed(int when)
{
	return armed && armed->when == when && (!hits || armed->forever);
}

/* True while a mount meets a server that has no version 2 and says so in its way. */
static bool refusing(void)
{
	return armed && armed->when == MOUNT;
}

static void serve(struct peer *p, struct msg *m)
{
	uint32_t code;

	tell("received on %u: %s", p->serial, describe(m));
	if (m->len < 16)
		return;
	/* A client that believes there is no version 2 here; see below. */
	if (get(m->data, 4) == 1 && p->version == 2) {
		if (!refusing()) {
			peer_disconnect(p);
			return;
		}
		p->version = 1;
	}
	asked = get(m->data, 8);
	grant(p);
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
			armed->run(p, NULL);
		} else {
			send_props(p);
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
	tell("%u is gone", p->serial);
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
	tell("request for %u", p->serial);
	requests++;
	if (opening_armed(CONNECT)) {
		hits++;
		armed->run(p, NULL);
		return;
	}
	assume_personality(p);
	peer_setup(p);
	peer_param(p, &param, words);
	if (rdma_accept(id, &param))
		p->closed = true;
	current = p;
}

/* ---- What is done in the mount ---- */

enum {
	IO_SIZE = 32768,	/* one READ or WRITE */
	SMALL_SIZE = 8192,	/* one in a message, where its limit is not version 1's */
	MANY_SIZE = 8 * IO_SIZE,	/* many of these at once */
	NAMES = 300,		/* of a folder, in Replies as long as a READ's */
};

struct op_result {
	int status;		/* 0, or 1: an errno, 3: not what must be there */
	int error;
	char what[32];
};

static int op_open(struct op_result *r, const char *path, int flags)
{
	int fd = open(path, flags, 0644);

	if (fd < 0)
		*r = (struct op_result){ 1, errno, "open" };
	return fd;
}

/* Return whether the system call named @what moved all of @size bytes. */
static bool op_io(struct op_result *r, ssize_t n, ssize_t size, const char *what)
{
	if (n == size)
		return true;
	r->status = 1;
	r->error = n < 0 ? errno : 0;
	strcpy(r->what, what);
	return false;
}

static void do_io(bool writes, int size, const char *path, const char *refpath,
		  struct op_result *r)
{
	static uint8_t buf[MANY_SIZE] __attribute__((aligned(4096)));
	static uint8_t ref[MANY_SIZE] __attribute__((aligned(4096)));
	static unsigned int salt;
	bool done;
	int fd, i;

	fd = op_open(r, path, O_DIRECT | (writes ? O_WRONLY | O_CREAT : O_RDONLY));
	if (fd < 0)
		return;
	if (writes) {
		for (i = 0, salt++; i < size; i++)
			buf[i] = i * 7 + i / IO_SIZE + salt;
		done = op_io(r, pwrite(fd, buf, size, 0), size, "pwrite");
	} else {
		memset(buf, 0, size);
		done = op_io(r, pread(fd, buf, size, 0), size, "pread");
	}
	close(fd);
	if (!done)
		return;
	fd = op_open(r, refpath, O_RDONLY);
	if (fd < 0)
		return;
	if (op_io(r, pread(fd, ref, size, 0), size, "pread of what is exported") &&
	    memcmp(buf, ref, size))
		r->status = 3;
	close(fd);
}

/* Make the folder that do_list() lists, where it is exported. */
static void make_names(struct op_result *r, const char *refpath)
{
	char name[640];
	int i, fd;

	if (mkdir(refpath, 0755) && errno != EEXIST) {
		*r = (struct op_result){ 1, errno, "mkdir" };
		return;
	}
	for (i = 0; i < NAMES && !r->status; i++) {
		snprintf(name, sizeof(name), "%s/name-%d-of-some-length", refpath, i);
		fd = op_open(r, name, O_WRONLY | O_CREAT);
		if (fd >= 0)
			close(fd);
	}
}

/* Sum up the names in @path, in any order. */
static uint64_t sum_names(struct op_result *r, const char *path)
{
	DIR *folder = opendir(path);
	uint64_t sum = 0, hash;
	struct dirent *entry;
	const char *c;

	errno = 0;
	while (folder && (entry = readdir(folder))) {
		for (hash = 1, c = entry->d_name; *c; c++)
			hash = hash * 31 + (uint8_t)*c;
		sum += hash;
		errno = 0;
	}
	if (errno || !folder)
		*r = (struct op_result){ 1, errno, "readdir" };
	if (folder)
		closedir(folder);
	return sum;
}

static void do_list(const char *path, const char *refpath, struct op_result *r)
{
	make_names(r, refpath);
	if (!r->status && sum_names(r, path) != sum_names(r, refpath) && !r->status)
		r->status = 3;
}

/*
 * op DIR REFDIR: a process of its own, since it may hang. Each octet that it
 * is sent asks for something: 'r' a READ, 'w' a WRITE, 's' a small one of each, 'm'
 * many WRITEs at once, then many READs, 'l' a listing.
 */
int op_main(int argc, char **argv)
{
	struct op_result r;
	char path[512], refpath[512], op;
	const char *name, *tail;
	int size;

	if (argc < 2)
		return 2;
	while (read(0, &op, 1) == 1) {
		/* Several mounts write at the same time. */
		name = op != 'r' ? strrchr(argv[0], '/') + 1 : "hostile";
		tail = op == 'l' ? "-names" : "";
		snprintf(path, sizeof(path), "%s/%s%s", argv[0], name, tail);
		snprintf(refpath, sizeof(refpath), "%s/%s%s", argv[1], name, tail);
		size = op == 'm' ? MANY_SIZE : op == 's' ? SMALL_SIZE : IO_SIZE;
		memset(&r, 0, sizeof(r));
		if (op == 'l')
			do_list(path, refpath, &r);
		else
			do_io(op != 'r', size, path, refpath, &r);
		if (size != IO_SIZE && !r.status)
			do_io(false, size, path, refpath, &r);
		if (write(0, &r, sizeof(r)) != sizeof(r))
			return 2;
	}
	return 0;
}

/* @in becomes its standard input, if not negative. */
static pid_t start(char *const argv[], int in)
{
	const char *path = argv[0][0] == '/' ? argv[0] : "/proc/self/exe";
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int rc;

	posix_spawn_file_actions_init(&actions);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&actions, in, 0);
	rc = posix_spawn(&pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		bad("posix_spawn: %s", strerror(rc));
	return pid;
}

/* Serve until @done, or for @ms. False: it is not done. */
static bool serve_until(bool (*done)(void), int ms)
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

static pid_t command;
static int command_status;

static bool command_done(void)
{
	return waitpid(command, &command_status, WNOHANG) == command;
}

/* Returns the exit status of @line, -1: it took too long. */
static int do_command(const char *line)
{
	char *argv[] = { "/bin/sh", "-c", (char *)line, NULL };

	command = start(argv, -1);
	if (!serve_until(command_done, COMMAND_MS)) {
		kill(command, SIGKILL);
		return -1;
	}
	return WIFEXITED(command_status) ? WEXITSTATUS(command_status) : 2;
}

static pid_t op_pid;
static int op_fd = -1;
static struct op_result op;		/* what came of the last one */

static void op_start(void)
{
	char *argv[] = { "hostile", "op", (char *)dir, (char *)refdir, NULL };
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		bad("socketpair: %s", strerror(errno));
	op_pid = start(argv, fds[1]);
	close(fds[1]);
	op_fd = fds[0];
}

static void op_end(void)
{
	if (op_fd < 0)
		return;
	close(op_fd);
	op_fd = -1;
	if (hangs)
		kill(op_pid, SIGKILL);
	else
		waitpid(op_pid, NULL, 0);
}

static bool op_done(void)
{
	struct pollfd fd = { .fd = op_fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/* Returns the status, -1: it took too long, and is not going to end. */
static int do_op(const char *name)
{
	if (hangs)
		return -1;
	works = false;
	if (op_fd < 0)
		op_start();
	if (write(op_fd, name, 1) != 1)
		bad("nobody is there to %s", name);
	wake_fd = op_fd;
	hangs = !serve_until(op_done, OP_MS);
	wake_fd = -1;
	if (!hangs && read(op_fd, &op, sizeof(op)) != sizeof(op))
		bad("%s did not end well", name);
	if (hangs)
		op = (struct op_result){ .status = -1 };
	tell("%s: %d %s %s", name, op.status, op.what, op.error ? strerror(op.error) : "");
	works = !op.status;
	return op.status;
}

/*
 * ---- Opening: the cases ----
 *
 * After a connection that brought no Reply the client waits before the next
 * one, longer each time. A soft mount outlasts the first such wait, but perhaps
 * not a silent server.
 */

SCASE(opening, control, PROPS, "read", OK)
{
	send_props(p);
}

SCASE(opening, rejected, CONNECT, "read", OK)
{
	rdma_reject(p->id, NULL, 0);
	p->server = false;
}

/*
 * With a mount whose RPCs have 4 s for an attempt: 3 s after the refusal sunrpc
 * wants to connect, which the client does 5 s later. By then the RPC waits for
 * its turn to send, not for the connection. It sends its Call only once.
 */
SCASE(waiting, rejected, CONNECT, "read", OK | STAYS)
{
	rdma_reject(p->id, NULL, 0);
	p->server = false;
}

SCASE(opening, rejected_for_ever, CONNECT, "read", FAILS, true)
{
	rdma_reject(p->id, "no", 2);
	p->server = false;
}

SCASE(opening, let_go_at_once, PROPS, "read", OK | CLOSES)
{
	peer_disconnect(p);
}

SCASE(opening, silence, PROPS, "read", OK | FAILS)
{
}

SCASE(opening, dead, PROPS, "read", OK | FAILS)
{
	peer_die(p);
}

SCASE(opening, short_messages, PROPS, "read", OK | STAYS)
{
	for (p->no_wait = true; p->sent < 2; ) {
		begin(p, 0, CONNPROP, 0);
		p->len = p->sent ? 23 : 3;
		send_out(p);
	}
	p->no_wait = false;
	send_props(p);
}

static void first_answer(struct peer *p, uint32_t version)
{
	begin(p, 0, CONNPROP, 0);
	w(p, 0);
	put(p->out, 4, version);
	send_out(p);
}

SCASE(opening, version_1_first, PROPS, "read", OK | CLOSES) { first_answer(p, 1); }
SCASE(opening, version_3_first, PROPS, "read", OK | CLOSES) { first_answer(p, 3); }
SCASE(opening, version_0_first, PROPS, "read", OK | CLOSES) { first_answer(p, 0); }

SCASE(opening, err_vers_2_to_9, PROPS, "read", OK | CLOSES)
{
	send_err_vers(p, 2, 9);
}

SCASE(opening, err_vers_high, PROPS, "read", OK | CLOSES)
{
	send_err_vers(p, 0xffffffff, 1);
}

SCASE(opening, err_vers_too_long, PROPS, "read", OK | STAYS)
{
	begin(p, 0, ERROR, 0);
	put(p->out, 16, ERR_VERS);
	ww(p, 2, 1, 0);
	send_out(p);
	send_props(p);
}

SCASE(opening, errors_about_connprop, PROPS, "read", OK | STAYS)
{
	uint32_t code;

	for (code = 1; code < 12; code++) {
		begin(p, code == 3 ? 77 : 0, ERROR, RESPONSE);
		ww(p, 3, code, 0, 0);
		send_out(p);
	}
	send_props(p);
}

SCASE(opening, reply_before_the_end, PROPS, "read", OK | CLOSES)
{
	begin(p, 0x4711, MSG, RESPONSE);
	no_lists(p);
	ww(p, 6, 0x4711, 1, 0, 0, 0, 0);
	send_out(p);
}

SCASE(opening, call_amid_properties, PROPS, "read", OK | CLOSES)
{
	begin(p, 0, CONNPROP, TPMORE);
	w(p, 0);
	send_out(p);
	begin(p, 1, MSG, 0);
	no_lists(p);
	rpc_null(p, 1);
	send_out(p);
}

SCASE(opening, properties_without_end, PROPS, "read", OK | CLOSES)
{
	int i;

	for (i = 0; i < 30 && !p->closed; i++) {
		begin(p, 0, CONNPROP, TPMORE);
		ww(p, 3, 1, 0x1234, 4096 - 36);
		while (p->len < 4096)
			w(p, i);
		send_out(p);
	}
}

SCASE(opening, part_and_silence, PROPS, "read", OK | FAILS)
{
	begin(p, 0, CONNPROP, TPMORE);
	w(p, 0);
	send_out(p);
}

static void odd_props(struct peer *p, int words, ...)
{
	va_list args;

	begin(p, 0, CONNPROP, 0);
	va_start(args, words);
	while (words--)
		w(p, va_arg(args, uint32_t));
	va_end(args);
	send_out(p);
}

/*
 * ---- Refusals: the cases ----
 *
 * The answers of version 1 servers to a first message of version 2. Each is met by
 * a mount of its own, which is of version 1 on the second connection at the latest.
 */

#define REFUSAL(name, octets, n, ...)					\
	static void answer_##name(struct peer *p)			\
	{								\
		raw(p);							\
		ww(p, n, __VA_ARGS__);					\
		while (p->len < (octets))				\
			w(p, 0);					\
		p->len = (octets);					\
		send_at_once(p);					\
	}								\
	SCASE(refusals, name, MOUNT, "read", OK) { answer_##name(p); }	\
	SCASE(refusals, name##_and_closes, MOUNT, "read", OK)		\
	{								\
		answer_##name(p);					\
		sends_done(p);						\
		peer_disconnect(p);					\
	}

REFUSAL(err_vers, 28, 7, 0, 2, CREDIT, ERROR, ERR_VERS, 1, 1)
REFUSAL(err_vers_of_fixed_size, 64, 7, 0, 2, CREDIT, ERROR, ERR_VERS, 1, 1)
REFUSAL(err_vers_as_version_1, 28, 7, 0, 1, CREDIT, ERROR, ERR_VERS, 1, 1)
REFUSAL(err_chunk, 20, 5, 0, 2, CREDIT, ERROR, 2)
REFUSAL(err_chunk_of_fixed_size, 28, 5, 0, 2, CREDIT, ERROR, 2)
REFUSAL(err_chunk_as_version_1, 20, 5, 0, 1, CREDIT, ERROR, 2)
REFUSAL(msg_denied, 52, 13, 0, 2, CREDIT, MSG, 0, 0, 0, 0, 1, 1, 0, 2, 2)
REFUSAL(msg_denied_as_version_1, 52, 13, 0, 1, CREDIT, MSG, 0, 0, 0, 0, 1, 1, 0, 2, 2)
REFUSAL(four_octets, 4, 1, 0)
SCASE(refusals, only_closes, MOUNT, "read", OK) { peer_disconnect(p); }
REFUSAL(garbage, 64, 4, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5, 0xa5a5a5a5)

/*
 * ---- Personalities: the cases ----
 *
 * The version 1 of other servers, as far as their public sources show it. Each case
 * has a mount of its own, as the refusals have. Its Replies have every form that the
 * server knows.
 */

/*
 * ntirpc (NFS-Ganesha): a Reply chunk that is offered is used for every Reply. The
 * Write list of such a Reply is absent, and the data of a READ is in the Reply chunk.
 */
#define NTIRPC(nr_credits) {							\
	.no_private = true, .credits = (nr_credits), .inline_max = 0, .whole = true,	\
	.unused_write = ABSENT, .unused_reply = ABSENT,				\
}
static const struct personality ntirpc = NTIRPC(30);
/* With the credits of a small configuration */
static const struct personality ntirpc_small = NTIRPC(3);

SCASE(personalities, ntirpc, MOUNT, "read", OK, .as = &ntirpc) { send_only_v1(p, 2); }

SCASE(personalities, ntirpc_small, MOUNT, "read", OK, .as = &ntirpc_small)
{
	send_only_v1(p, 2);
}

/*
 * libevpl (chimera) of August 2026: grants what is asked for, and returns each chunk
 * that is offered. The segments of an unused one are empty.
 */
static const struct personality libevpl = {
	.no_private = true, .echoes = true, .inline_max = 512,
	.unused_write = EMPTY, .unused_reply = EMPTY, .no_nomsg = true,
};

SCASE(personalities, libevpl, MOUNT, "read", OK, .as = &libevpl) { send_only_v1(p, 1); }

/*
 * libevpl before May 2026 grants no credits. Its process ends at the first message of
 * version 2: here, it is restarted at once.
 */
static const struct personality libevpl_old = {
	.no_private = true, .credits = 0, .inline_max = 512,
	.unused_write = EMPTY, .unused_reply = EMPTY, .no_nomsg = true,
};

SCASE(personalities, libevpl_old, MOUNT, "read", OK, .as = &libevpl_old)
{
	peer_disconnect(p);
}

/*
 * vitastor: a private message with the largest sizes and remote invalidation; grants
 * the credits that are free, down to none. A Reply chunk that is offered is used, an
 * unused Write chunk comes back as it was offered. Version 2 is ignored.
 */
static const struct personality vitastor = {
	.private_word = 0x0101ffff, .credits = 16, .grants_free = true, .inline_max = 0,
	.unused_write = AS_OFFERED, .unused_reply = ABSENT, .invalidates = true,
	.no_nomsg = true, .narrow = true,
};

SCASE(personalities, vitastor, MOUNT, "read", OK, .as = &vitastor)
{
}

/* Refused, and yet the opening goes on (WP 4) */
#define BAD_PROPS(name, error, ...) \
	SCASE(properties, name, PROPS, "read", OK | STAYS, .code = error) \
	{ odd_props(p, __VA_ARGS__); }

BAD_PROPS(no_count, BAD_XDR, 0)
BAD_PROPS(count_lies, BAD_XDR, 4, 2, RBSIZ, 4, 4096)
BAD_PROPS(count_high, BAD_XDR, 4, 0xffffffff, RBSIZ, 4, 4096)
BAD_PROPS(length_lies, BAD_PROPVAL, 4, 1, 0x999, 5, 0)
BAD_PROPS(length_high, BAD_PROPVAL, 4, 1, 0x999, 0xffffffff, 0)
BAD_PROPS(long_value, BAD_PROPVAL, 5, 1, RBSIZ, 8, 1024, 0)
BAD_PROPS(rbsiz_1023, BAD_PROPVAL, 4, 1, RBSIZ, 4, 1023)
BAD_PROPS(sbsiz_0, BAD_PROPVAL, 4, 1, SBSIZ, 4, 0)
BAD_PROPS(brs_high, BAD_PROPVAL, 4, 1, BRS, 4, 0xffffffff)

SCASE(properties, more, PROPS, "read", OK | STAYS, .code = INVAL_CONT)
{
	begin(p, 0, CONNPROP, MORE);
	w(p, 0);
	send_out(p);
}

SCASE(properties, response, PROPS, "read", OK | STAYS)
{
	begin(p, 0, CONNPROP, RESPONSE);
	w(p, 0);
	send_out(p);
}

SCASE(properties, high, PROPS, "write", OK | STAYS)
{
	odd_props(p, 22, 7, SBSIZ, 4, 0xffffffff, RBSIZ, 4, 0xffffffff, RSSIZ, 4, 0xffffffff,
		  RCSIZ, 4, 0xffffffff, BRS, 4, 3, REPLY_READ, 4, 0, REASSEMBLY, 4, 0);
}

/* Without chunks and continuation what is large has no way at all. */
SCASE(properties, low, PROPS, "write", FAILS | STAYS)
{
	odd_props(p, 16, 5, SBSIZ, 4, 1024, RBSIZ, 4, 1024, RSSIZ, 4, 0, RCSIZ, 4, 0,
		  REASSEMBLY, 4, 0);
}

SCASE(properties, one_segment, PROPS, "write", OK | STAYS)
{
	odd_props(p, 13, 4, RBSIZ, 4, 1024, SBSIZ, 4, 1024, RCSIZ, 4, 2, REASSEMBLY, 4, 0);
}

SCASE(properties, again, READ, "read", OK | STAYS, .code = INVAL_HTYPE)
{
	begin(p, 0, CONNPROP, 0);
	w(p, 0);
	send_out(p);
	send_good(c);
}

/* ---- Replies ---- */

SCASE(replies, control, READ, "read", OK | STAYS) { send_good(c); }

SCASE(replies, control_invalidates, READ, "read", OK | STAYS)
{
	make_good(c);
	send_inv(p, c->inv);
}

SCASE(replies, control_continued, READ, "read", OK | STAYS)
{
	send_parts(c, c->answer_len);
}

SCASE(replies, to_nobody, READ, "read", OK | STAYS)
{
	struct call other = *c;

	other.xid += 0x1000;
	other.has_write = false;
	begin_reply(&other, MSG, 0);
	ww(p, 2, 0, 0);
	ww(p, 6, other.xid, 1, 0, 0, 0, 0);
	send_out(p);
	begin_reply(&other, NOMSG, 0);
	ww(p, 2, 0, 0);
	send_out(p);
	begin_reply(&other, MSG, TPMORE);
	send_out(p);
	send_good(c);
}

SCASE(replies, twice, READ, "read", OK | STAYS)
{
	send_good(c);
	send_out(p);
	send_out(p);
}

SCASE(replies, is_a_call, READ, "read", FAILS | STAYS)
{
	put(c->answer, 4, 0);
	send_good(c);
}

SCASE(replies, of_another, READ, "read", FAILS | STAYS)
{
	put(c->answer, 0, c->xid + 1);
	send_good(c);
}

SCASE(replies, short_payload, READ, "read", FAILS | STAYS)
{
	make_good(c);
	p->len -= c->item - 4;
	send_out(p);
}

SCASE(replies, response_clear, READ, "read", OK | STAYS)
{
	make_good(c);
	put(p->out, 16, 0);
	send_out(p);
	put(p->out, 16, RESPONSE);
	send_out(p);
}

SCASE(replies, lists_cut, READ, "read", FAILS | STAYS)
{
	make_good(c);
	p->len = 36;
	send_out(p);
}

SCASE(replies, tpmore, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, 16, RESPONSE | TPMORE);
	send_out(p);
}

SCASE(replies, nomsg_more, READ, "read", FAILS | STAYS)
{
	begin_reply(c, NOMSG, MORE);
	ww(p, 2, 0, 0);
	send_out(p);
}

SCASE(replies, no_write_list, READ, "read", FAILS | STAYS)
{
	begin_reply(c, MSG, 0);
	ww(p, 2, 0, 0);
	put_answer(c, 0, c->item);
	send_out(p);
}

SCASE(replies, write_list_twice, READ, "read", FAILS | STAYS)
{
	begin_reply(c, MSG, 0);
	return_chunk(p, &c->write, 100);
	return_write(c, 100);
	w(p, 0);
	put_answer(c, 0, c->item);
	send_out(p);
}

/* Where the first segment of the Write list is */
enum { AT_SEG = 40 };

SCASE(replies, write_handle, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, AT_SEG, get(p->out, AT_SEG) + 1);
	send_out(p);
}

SCASE(replies, write_length, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, AT_SEG + 4, c->write.seg[0].len + 1);
	send_out(p);
}

SCASE(replies, write_length_high, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, AT_SEG + 4, 0xffffffff);
	send_out(p);
}

SCASE(replies, write_count_lies, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, AT_SEG - 4, 0x10000001);
	send_out(p);
}

SCASE(replies, more_segments, READ, "read", FAILS | STAYS)
{
	struct call other = *c;

	other.write.seg[other.write.count] = other.write.seg[0];
	other.write.count++;
	make_reduced(&other, 100);
	send_out(p);
}

/* As good as unused, which leaves a READ without data: not the transport's affair */
SCASE(replies, fewer_segments, READ, "read", FAILS | STAYS)
{
	struct call other = *c;

	other.write.count = 0;
	make_reduced(&other, 0);
	send_out(p);
}

SCASE(replies, reply_chunk_not_offered, READ, "read", FAILS | STAYS)
{
	begin_reply(c, NOMSG, 0);
	return_write(c, 0);
	return_chunk(p, &c->write, 1000);
	send_out(p);
}

SCASE(replies, nomsg_without_chunks, READ, "read", FAILS | STAYS)
{
	begin_reply(c, NOMSG, 0);
	return_write(c, 0);
	w(p, 0);
	send_out(p);
}

SCASE(replies, read_chunk, READ, "read", FAILS | STAYS)
{
	begin(p, c->xid, MSG, RESPONSE);
	w(p, 0);
	read_segment(p, 8, exposed_mr->rkey, 100, (uintptr_t)exposed);
	w(p, 0);
	return_write(c, 0);
	w(p, 0);
	put_answer(c, 0, c->item);
	send_out(p);
}

SCASE(replies, to_be_pulled_from_nowhere, READ, "read", OK | CLOSES)
{
	begin(p, c->xid, NOMSG, RESPONSE);
	w(p, 0xfffff700);
	read_segment(p, 0, 0xfffff700, 1000, 0);
	w(p, 0);
	return_write(c, 0);
	w(p, 0);
	send_out(p);
}

SCASE(replies, part_and_silence, READ, "read", OK | CLOSES)
{
	begin_reply(c, MSG, MORE);
	ww(p, 2, 0, 0);
	put_answer(c, 0, 1000);
	send_out(p);
}

SCASE(replies, part_and_another, READ, "read", OK | CLOSES)
{
	begin_reply(c, MSG, MORE);
	ww(p, 2, 0, 0);
	put_answer(c, 0, 1000);
	send_out(p);
	begin(p, c->xid + 1, MSG, RESPONSE);
	no_lists(p);
	ww(p, 6, c->xid + 1, 1, 0, 0, 0, 0);
	send_out(p);
}

SCASE(replies, part_and_call, READ, "read", FAILS | STAYS)
{
	begin_reply(c, MSG, MORE);
	ww(p, 2, 0, 0);
	put_answer(c, 0, 1000);
	send_out(p);
	begin(p, 0x99, MSG, 0);
	no_lists(p);
	rpc_null(p, 0x99);
	send_out(p);
}

SCASE(replies, odd_part, READ, "read", FAILS | STAYS)
{
	begin_reply(c, MSG, MORE);
	ww(p, 2, 0, 0);
	put_answer(c, 0, 1001);
	send_out(p);
}

SCASE(replies, without_end, READ, "read", FAILS | STAYS)
{
	uint32_t octets;

	for (octets = 0; octets < CLIENT_REASSEMBLY + 10000 && !p->closed; octets += 4056) {
		begin_reply(c, MSG, MORE);
		ww(p, 2, 0, 0);
		if (!octets)
			ww(p, 2, c->xid, 1);
		while (p->len < CLIENT_RECV)
			w(p, 0);
		send_out(p);
	}
}

SCASE(replies, parts_of_nobodys, READ, "read", OK | STAYS)
{
	int i;

	for (i = 0; i < 80; i++) {
		begin(p, c->xid + 5, MSG, RESPONSE | (i < 79 ? MORE : 0));
		no_lists(p);
		ww(p, 2, c->xid + 5, 1);
		while (p->len < CLIENT_RECV)
			w(p, 0);
		send_out(p);
	}
	send_good(c);
}

SCASE(replies, too_long, READ, "read", OK | CLOSES)
{
	make_good(c);
	while (p->len <= CLIENT_RECV)
		w(p, 0);
	send_out(p);
}

SCASE(replies, version_3, READ, "read", OK | CLOSES)
{
	make_good(c);
	put(p->out, 4, 3);
	send_out(p);
}

SCASE(replies, version_1, READ, "read", OK | CLOSES)
{
	p->version = 1;
	make_good(c);
	send_out(p);
}

SCASE(replies, short_messages, READ, "read", OK | STAYS)
{
	uint32_t len;

	make_good(c);
	for (len = 0; len < PREFIX; len++) {
		uint32_t whole = p->len;

		p->len = len;
		send_out(p);
		p->len = whole;
	}
	send_out(p);
}

SCASE(replies, wrong_invalidation, READ, "read", OK | CLOSES)
{
	make_good(c);
	send_inv(p, 0xfffff700);
}

SCASE(replies, invalidating_grant, READ, "read", OK | CLOSES)
{
	begin(p, 0, NOMSG, 0);
	no_lists(p);
	send_inv(p, c->inv);
}

SCASE(replies, invalidates_twice, READ, "read", OK)
{
	make_good(c);
	send_inv(p, c->inv);
	send_inv(p, c->inv);
}

SCASE(replies, silence, READ, "read", OK | CLOSES) { }
SCASE(replies, disconnect, READ, "read", OK) { peer_disconnect(p); }
SCASE(replies, dead, READ, "read", OK | CLOSES) { peer_die(p); }

SCASE(replies, disconnect_amid, READ, "read", OK)
{
	begin_reply(c, MSG, MORE);
	ww(p, 2, 0, 0);
	put_answer(c, 0, 1000);
	send_out(p);
	sends_done(p);
	peer_disconnect(p);
}

SCASE(replies, disconnect_behind, READ, "read", OK)
{
	send_good(c);
	sends_done(p);
	peer_disconnect(p);
}

/* Of one Call alone the client may do without the result. */
SCASE(replies, to_first_calls, CALL, "read", FAILS | STAYS, true)
{
	begin_reply(c, NOMSG, 0);
	ww(p, 2, 0, 0);
	send_out(p);
}

/* ---- Control messages ---- */

SCASE(control, done_for_anything, READ, "read", OK | STAYS)
{
	uint32_t flags;

	for (flags = 0; flags < 8; flags++) {
		begin(p, c->xid + flags, DONE, flags);
		send_out(p);
	}
	send_good(c);
}

SCASE(control, unknown_types, READ, "read", OK | STAYS, .code = INVAL_HTYPE)
{
	static const uint32_t types[] = { 2, 6, 0x7fffffff, 0xffffffff };
	int i;

	for (i = 0; i < 8; i++) {
		begin(p, c->xid, types[i / 2], i % 2 ? RESPONSE : 0);
		no_lists(p);
		send_out(p);
	}
	send_good(c);
}

SCASE(control, storm_of_grants, READ, "read", OK | STAYS)
{
	int i;

	for (i = 0; i < 200; i++) {
		begin(p, 0, NOMSG, i % 8);
		no_lists(p);
		send_out(p);
	}
	send_good(c);
}

SCASE(control, errors_for_nobody, READ, "read", OK | STAYS)
{
	uint32_t code;

	for (code = 0; code < 13; code++) {
		begin(p, c->xid + 3, ERROR, RESPONSE);
		ww(p, 3, code == 12 ? ERR_SYSTEM : code, 0xffffffff, 0);
		send_out(p);
	}
	send_good(c);
}

SCASE(control, counts_never_sent, READ, "read", OK | CLOSES)
{
	make_good(c);
	p->stamp = false;
	put(p->out, 8, 10);
	/* More than may be under way */
	put(p->out, 20, p->received + 1000);
	send_out(p);
}

SCASE(control, no_more_credit, READ, "read", OK)
{
	p->credit = 0;
	send_good(c);
}

static void callback_null(struct peer *p, uint32_t xid)
{
	begin(p, xid, MSG, 0);
	no_lists(p);
	ww(p, 10, xid, 0, 2, 0x40000000, 1, 0, 0, 0, 0, 0);
	send_out(p);
}

SCASE(control, callbacks_with_chunks, READ, "read", OK | STAYS)
{
	begin(p, 0x78, MSG, 0);
	w(p, 0);
	read_segment(p, 40, exposed_mr->rkey, 1000, (uintptr_t)exposed);
	ww(p, 3, 0, 0, 0);
	ww(p, 10, 0x78, 0, 2, 0x40000000, 1, 0, 0, 0, 0, 0);
	send_out(p);
	begin(p, 0x79, NOMSG, 0);
	w(p, 0);
	read_segment(p, 0, exposed_mr->rkey, 1000, (uintptr_t)exposed);
	ww(p, 3, 0, 0, 0);
	send_out(p);
	begin(p, 0x7a, MSG, 0);
	ww(p, 4, 0, 0, 1, 1);
	segment(p, exposed_mr->rkey, 1000, (uintptr_t)exposed);
	ww(p, 2, 0, 0);
	ww(p, 10, 0x7a, 0, 2, 0x40000000, 1, 0, 0, 0, 0, 0);
	send_out(p);
	send_good(c);
}

SCASE(control, callback_in_parts, READ, "read", OK | STAYS)
{
	begin(p, 0x7b, MSG, MORE);
	no_lists(p);
	rpc_null(p, 0x7b);
	send_out(p);
	begin(p, 0x7b, MSG, 0);
	no_lists(p);
	rpc_null(p, 0x7b);
	send_out(p);
	send_good(c);
}

SCASE(control, many_callbacks, READ, "read", OK | STAYS)
{
	uint32_t i;

	/* No more than both windows hold: nobody looks at what comes meanwhile. */
	for (i = 0; i < 30; i++)
		callback_null(p, 0x80 + i);
	send_good(c);
}

/* ---- What differs between NFSv3 and sessions ---- */

SCASE(stateless, callback_nobody_serves, READ, "read", OK | STAYS, .code = ERR_SYSTEM)
{
	callback_null(p, 0x77);
	send_good(c);
}

SCASE(stateless, callback_of_version_1, READ, "read", OK | STAYS, .version1 = true)
{
	callback_null(p, 0x77);
	send_good(c);
}

/* A soft mount of NFSv4 gives up only when it cannot connect any more. */
SCASE(stateless, silence_for_ever, READ, "read", FAILS, true) { }

SCASE(sessions, callback, READ, "read", OK | STAYS, .answered = true)
{
	callback_null(p, 0x77);
	send_good(c);
}

SCASE(sessions, silence_thrice, READ, "read", OK | CLOSES, true)
{
	if (hits > 3)
		send_good(c);
}

/* ---- ERRORs about a Call that is pending ---- */

static void send_error(struct call *c, uint32_t code, uint32_t arg0, uint32_t arg1, uint32_t len)
{
	if (code == READ_CHUNKS || code == WRITE_CHUNKS || code == SEGMENTS)
		keep_answer(c);
	begin(c->p, c->xid, ERROR, RESPONSE);
	ww(c->p, 3, code, arg0, arg1);
	c->p->len = len;
	send_out(c->p);
}

#define ERRORS(name, op, expect, code, arg0, arg1, len) \
	SCASE(errors, name, op[0] == 'r' ? READ : WRITE, op, expect) \
	{ send_error(c, code, arg0, arg1, len); }

/* Nothing can be done about these, but for the next RPC. */
ERRORS(bad_xdr, "read", FAILS | STAYS, BAD_XDR, 0, 0, 28)
ERRORS(bad_propval, "read", FAILS | STAYS, BAD_PROPVAL, 0, 0, 28)
ERRORS(inval_htype, "read", FAILS | STAYS, INVAL_HTYPE, 0, 0, 28)
ERRORS(inval_cont, "read", FAILS | STAYS, INVAL_CONT, 0, 0, 28)
ERRORS(system, "read", FAILS | STAYS, ERR_SYSTEM, 0, 0, 28)
/* More than there is, or nothing that would be enough */
ERRORS(write_resource, "read", FAILS | STAYS, WRITE_RESOURCE, 1, 0xffffffff, 36)
ERRORS(reply_resource_0, "read", FAILS | STAYS, REPLY_RESOURCE, 0, 0, 32)
ERRORS(reply_resource_more, "read", FAILS | STAYS, REPLY_RESOURCE, 65536, 0, 32)
ERRORS(reply_resource_high, "read", FAILS | STAYS, REPLY_RESOURCE, 0xffffffff, 0, 32)
/* A READ has one Write chunk of one segment, and a WRITE such a Read chunk. */
ERRORS(read_chunks, "read", FAILS | STAYS, READ_CHUNKS, 0, 0, 32)
ERRORS(write_chunks_1, "read", FAILS | STAYS, WRITE_CHUNKS, 1, 0, 32)
ERRORS(segments_1, "read", FAILS | STAYS | NEW, SEGMENTS, 1, 0, 32)
ERRORS(segments_high, "read", FAILS | STAYS, SEGMENTS, 0xffffffff, 0, 32)
/* This server takes no message in parts: without a Read chunk there is no way. */
ERRORS(write_read_chunks, "write", FAILS | STAYS, READ_CHUNKS, 0, 0, 32)
ERRORS(write_segments_0, "write", FAILS | STAYS | NEW, SEGMENTS, 0, 0, 32)
ERRORS(write_segments_1, "write", FAILS | STAYS | NEW, SEGMENTS, 1, 0, 32)
/* There is another way (WP 7): a Reply chunk, or a Reply in parts. */
ERRORS(reply_resource, "read", OK | STAYS, REPLY_RESOURCE, IO_SIZE, 0, 32)
ERRORS(write_chunks_0, "read", OK | STAYS, WRITE_CHUNKS, 0, 0, 32)
ERRORS(segments_0, "read", OK | STAYS | NEW, SEGMENTS, 0, 0, 32)

/* Without meaning, or not whole: dropped, as if nothing had come */
#define DROPPED(name, code, len) \
	SCASE(errors, name, READ, "read", OK | STAYS) \
	{ send_error(c, code, 1, 1, len); send_good(c); }

DROPPED(vers, ERR_VERS, 36)
DROPPED(code_0, 0, 28)
DROPPED(code_11, 11, 28)
DROPPED(code_high, 0xffffffff, 28)
DROPPED(no_code, BAD_XDR, 24)
DROPPED(no_data, WRITE_RESOURCE, 32)

/* Each allows one more attempt: the second ends the RPC. */
#define FOREVER(grp, name, count, code, arg0) \
	SCASE(grp, name, READ, "read", FAILS | STAYS, true, .times = count) \
	{ send_error(c, code, arg0, 0, 32); }

FOREVER(errors, read_chunks_for_ever, 1, READ_CHUNKS, 0)
FOREVER(errors, write_chunks_for_ever, 2, WRITE_CHUNKS, 0)
FOREVER(stateless, reply_resource_for_ever, 2, REPLY_RESOURCE, IO_SIZE)

/*
 * That one was executed: the session says that its Reply is gone, and NFS asks
 * anew, as often as it takes.
 */
SCASE(sessions, reply_resource_often, READ, "read", OK | STAYS, true, .times = 4)
{
	if (hits < 4)
		send_error(c, REPLY_RESOURCE, IO_SIZE, 0, 32);
	else
		send_good(c);
}

/* The @nr-th of several reasons to refuse a Call, as long as one is left */
static void refuse_again(struct call *c, unsigned int nr)
{
	if (nr == 1)
		send_error(c, WRITE_CHUNKS, 0, 0, 32);
	else if (nr == 2)
		send_error(c, SEGMENTS, 0, 0, 32);
	else
		send_error(c, REPLY_RESOURCE, IO_SIZE, 0, 32);
}

/* Neither a Write chunk nor a Reply chunk: in parts */
SCASE(errors, two_in_a_row, READ, "read", OK | STAYS | NEW, true, .times = 3)
{
	if (hits < 3)
		refuse_again(c, hits);
	else
		send_good(c);
}

/* A Reply chunk that there may not be */
SCASE(errors, three_in_a_row, READ, "read", FAILS | STAYS | NEW, true, .times = 3)
{
	refuse_again(c, hits);
}

/* ---- Memory that is not the server's ---- */

/* The client's queue pair must refuse that: an error, here as well. */
static void refused(struct peer *p, const char *what)
{
	if (sends_done(p))
		wrong = what;
}

SCASE(memory, read_of_a_write_chunk, READ, "read", OK)
{
	rdma_post(p, true, AT_CALL, 100, c->write.seg[0].handle, c->write.seg[0].offset);
	refused(p, "a Write chunk can be read");
}

SCASE(memory, beyond_a_write_chunk, READ, "read", OK)
{
	rdma_post(p, false, AT_REPLY, 100, c->write.seg[0].handle,
		  c->write.seg[0].offset + c->write.seg[0].len - 50);
	refused(p, "what lies behind a Write chunk can be written");
}

SCASE(memory, before_a_write_chunk, READ, "read", OK)
{
	rdma_post(p, false, AT_REPLY, 100, c->write.seg[0].handle, c->write.seg[0].offset - 1);
	refused(p, "what lies in front of a Write chunk can be written");
}

SCASE(memory, write_to_a_read_chunk, WRITE, "write", OK)
{
	rdma_post(p, false, AT_REPLY, 100, c->read.seg[0].handle, c->read.seg[0].offset);
	refused(p, "a Read chunk can be written");
}

SCASE(memory, after_the_reply, READ, "read", OK)
{
	make_good(c);
	send_inv(p, c->inv);
	rdma_post(p, false, AT_REPLY, 100, c->write.seg[0].handle, c->write.seg[0].offset);
	refused(p, "a Write chunk can be written after the Reply that invalidated it");
}

SCASE(memory, after_a_plain_reply, READ, "read", OK)
{
	int i;

	send_good(c);
	/* Not until a time: the client needs this processor to invalidate. */
	for (i = 0; i < 20 * scale; i++)
		run_once(20);
	rdma_post(p, false, AT_REPLY, 100, c->write.seg[0].handle, c->write.seg[0].offset);
	refused(p, "a Write chunk can be written long after the Reply");
}

SCASE(memory, next_handle, READ, "read", OK)
{
	rdma_post(p, false, AT_REPLY, 100, c->write.seg[0].handle ^ 1, c->write.seg[0].offset);
	refused(p, "a handle that was not given can be used");
}

/* ---- Version 1 ---- */

#define V1CASE(name, when, op, expect) \
	SCASE(version1, name, when, op, expect, .version1 = true)

V1CASE(control, READ, "read", OK | STAYS) { send_good(c); }
V1CASE(control_write, WRITE, "write", OK | STAYS) { send_good(c); }

static void v1_error(struct call *c, uint32_t code, uint32_t len)
{
	begin(c->p, c->xid, ERROR, 0);
	ww(c->p, 3, code, 1, 1);
	c->p->len = len;
	send_out(c->p);
}

V1CASE(err_chunk, READ, "read", FAILS | STAYS) { v1_error(c, 2, 20); }
V1CASE(err_vers, READ, "read", FAILS | STAYS) { v1_error(c, 1, 28); }
/* Dropped, as if nothing had come */
V1CASE(err_unknown, READ, "read", OK | STAYS) { v1_error(c, 3, 28); send_good(c); }
V1CASE(err_cut, READ, "read", OK | STAYS) { v1_error(c, 1, 24); send_good(c); }

static void v1_other(struct call *c, uint32_t procedure)
{
	make_good(c);
	put(c->p->out, 12, procedure);
	send_out(c->p);
	put(c->p->out, 12, MSG);
	send_out(c->p);
}

V1CASE(msgp, READ, "read", OK | STAYS) { v1_other(c, MSGP); }
V1CASE(unknown_procedure, READ, "read", OK | STAYS) { v1_other(c, 77); }

V1CASE(done, READ, "read", OK | STAYS)
{
	begin(p, c->xid, DONE, 0);
	no_lists(p);
	send_out(p);
	send_good(c);
}

V1CASE(version_2, READ, "read", OK | CLOSES)
{
	p->version = 2;
	make_good(c);
	send_out(p);
}

V1CASE(short_messages, READ, "read", OK | STAYS)
{
	uint32_t len, whole;

	make_good(c);
	for (len = 0, whole = p->len; len < HEADER1; len++) {
		p->len = len;
		send_out(p);
	}
	p->len = whole;
	send_out(p);
}

V1CASE(lists_cut, READ, "read", FAILS | STAYS)
{
	make_good(c);
	p->len = 32;
	send_out(p);
}

V1CASE(write_handle, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, 28, get(p->out, 28) + 1);
	send_out(p);
}

V1CASE(write_length, READ, "read", FAILS | STAYS)
{
	make_good(c);
	put(p->out, 32, 0xffffffff);
	send_out(p);
}

V1CASE(no_write_list, READ, "read", FAILS | STAYS)
{
	begin_reply(c, MSG, 0);
	ww(p, 2, 0, 0);
	put_answer(c, 0, c->item);
	send_out(p);
}

V1CASE(read_chunk, READ, "read", FAILS | STAYS)
{
	begin(p, c->xid, MSG, 0);
	read_segment(p, 8, exposed_mr->rkey, 100, (uintptr_t)exposed);
	w(p, 0);
	return_write(c, 0);
	w(p, 0);
	put_answer(c, 0, c->item);
	send_out(p);
}

V1CASE(of_another, READ, "read", FAILS | STAYS)
{
	put(c->answer, 0, c->xid + 1);
	send_good(c);
}

V1CASE(twice, READ, "read", OK | STAYS)
{
	send_good(c);
	send_out(p);
}

V1CASE(no_credit, READ, "read", OK | STAYS)
{
	p->credit = 0;
	send_good(c);
}

V1CASE(high_credit, READ, "read", OK | STAYS)
{
	p->credit = 0xffffffff;
	send_good(c);
}

V1CASE(too_long, READ, "read", OK | CLOSES)
{
	make_good(c);
	while (p->len <= CLIENT_RECV)
		w(p, 0);
	send_out(p);
}

V1CASE(silence, READ, "read", OK | CLOSES) { }

V1CASE(wrong_invalidation, READ, "read", OK | CLOSES)
{
	make_good(c);
	send_inv(p, 0xfffff700);
}

/* ---- A random walk ---- */

static uint32_t below(uint32_t n)
{
	return rnd(&walk_state) % n;
}

/*
 * Headers are spoilt, not what nfsd says: that would be another test. Much of
 * this is dropped by the client, which waits for the Reply then: so it mostly
 * gets a good one, too.
 */
static void walk_reply(struct call *c)
{
	static const uint32_t extremes[] = {
		0, 1, 2, 3, 4, 5, 100, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff,
	};
	struct peer *p = c->p;
	uint32_t header, n, at, kind = below(12);
	bool behind;

	walk_left--;
	if (kind > 5 && needs_parts(c))
		kind = 4;
	tell("step of kind %u", kind);
	switch (kind) {
	case 0:
		return;
	case 1:
		peer_disconnect(p);
		return;
	case 2:
		begin(p, c->xid, ERROR, RESPONSE);
		ww(p, 3, 1 + below(11), extremes[below(11)], extremes[below(11)]);
		break;
	case 3:
		begin(p, below(2) ? c->xid : 0, below(7), below(8));
		no_lists(p);
		break;
	case 4:
		send_parts(c, c->answer_len);
		return;
	case 5:
		begin_reply(c, MSG, MORE);
		ww(p, 2, 0, 0);
		put_answer(c, 0, 4 * below(c->answer_len < 3000 ? c->answer_len / 4 : 700));
		break;
	default:
		make_good(c);
	}
	header = p->version == 2 ? HEADER : HEADER1;
	if (c->has_write)
		header += 8 + 16 * c->write.count;
	if (header > p->len)
		header = p->len;
	n = below(3) ? 0 : 1 + below(3);
	/* Not the rest of a Reply in parts, and not a second good one */
	behind = (kind < 5 || (kind > 5 && n)) && below(6);
	for (; n; n--) {
		at = 4 * below(header / 4);
		if (at == 4 && below(10))
			continue;
		if (at == 8 || at == 20)
			p->stamp = false;
		switch (below(3)) {
		case 0:
			put(p->out, at, get(p->out, at) ^ 1u << below(32));
			break;
		case 1:
			put(p->out, at, extremes[below(11)]);
			break;
		case 2:
			p->len = below(2) ? at + below(4) : p->len;
			break;
		}
	}
	if (!p->stamp && below(4)) {
		put(p->out, 8, CREDIT);
		put(p->out, 20, p->received);
	}
	send_out(p);
	if (!below(6))
		send_out(p);
	if (behind)
		send_good(c);
}

/* ---- main ---- */

static jmp_buf failed;

static void fresh_connection(void)
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

/*
 * An operation that is done may leave RPCs that nobody waits for, a CLOSE for
 * one: a client whose connection ends before their Replies comes back for them
 * at once. Serve it until it sends nothing more.
 */
static void settle(void)
{
	received_so_far = 0;
	quiet_since = now();
	serve_until(is_quiet, SETTLE_MS);
}

/* Whatever the client still waits for: in the end it works again. */
static bool recovers(void)
{
	int i;

	for (i = 0; i < 8 && !works && !hangs; i++)
		do_op("read");
	return works;
}

static const char *judge(const struct scase *c, int rc)
{
	static char text[128];

	if (wrong)
		return wrong;
	if (rc < 0)
		return "it hangs";
	if (!hits)
		return "it was never tried";
	if (rc == 3)
		return "the data is wrong";
	if (!(c->expect & (rc ? FAILS : OK)))
		return rc ? "it should have worked" : "it should have failed";
	if ((c->expect & CLOSES) && !closings)
		return "the client should have closed the connection";
	if (c->code && !errors[c->code]) {
		snprintf(text, sizeof(text), "the client should have sent ERROR %u", c->code);
		return text;
	}
	if (c->answered && !replies)
		return "the client should have sent a Reply";
	if ((c->expect & STAYS) && closings) {
		snprintf(text, sizeof(text), "the connection should have stayed, and ended %u times", closings);
		return text;
	}
	if (c->times && c->times != hits) {
		snprintf(text, sizeof(text), "it should have happened %u times", c->times);
		return text;
	}
	return NULL;
}

/* What the client should send is here. */
static bool has_come(void)
{
	return (!armed->code || errors[armed->code]) && (!armed->answered || replies);
}

static void listen_at(const char *at)
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

/* Return whether the mount of a case works. A personality has more than one form of Reply. */
static bool mount_works(const struct scase *c)
{
	return !do_op(c->op) && (!c->as || (!do_op("write") && !do_op("small") &&
					    !do_op("many") && !do_op("list")));
}

/*
 * A mount that begins anew, and a READ. The client remembers the version of a server
 * by its address and port, so there is another port each time.
 */
static const char *mount_anew(struct scase *c)
{
	static unsigned int cases_before;
	static char text[128], line[1024], number[16];
	const char *rest = strstr(mount_line, ",port=");

	op_end();
	if (mounted && do_command(umount_line))
		return "the mount before it cannot be unmounted";
	mounted = false;
	snprintf(number, sizeof(number), "%u",
		 ANEW_PORTS + atoi(port) % 100 * ANEW_CASES + cases_before++);
	listen_at(number);
	snprintf(line, sizeof(line), "%.*s,port=%s%s", (int)(rest - mount_line), mount_line,
		 number, strchr(rest + 1, ','));
	wrong = NULL;
	hits = 0;
	requests = 0;
	armed = c;
	if (do_command(line))
		return "the mount failed";
	mounted = true;
	if (!mount_works(c))
		return "the mount does not work";
	if (wrong)
		return wrong;
	if (hits != 1 || requests > 2) {
		snprintf(text, sizeof(text), "version 2 was tried %u times on %u connections",
			 hits, requests);
		return text;
	}
	return NULL;
}

static bool run_mount(struct scase *c)
{
	const char *why;

	trail_len = 0;
	why = mount_anew(c);
	if (!why) {
		printf("ok %s.%s\n", c->group, c->name);
		return true;
	}
	printf("not ok %s.%s - %s\n", c->group, c->name, why);
	show_trail();
	return false;
}

static bool run_case(struct scase *c)
{
	const char *why;
	double end;
	int rc;

	if (c->when == MOUNT)
		return run_mount(c);
	trail_len = 0;
	/* What it is going to be hostile on */
	if (want_version1 != c->version1 || c->when <= PROPS) {
		want_version1 = c->version1;
		fresh_connection();
		/* A client with something left to send is back: it is to come anew. */
		for (end = now() + 30 * scale; current && now() < end;) {
			recovers();
			settle();
			fresh_connection();
		}
	}
	if (c->when > PROPS && !recovers()) {
		printf("not ok %s.%s - the mount did not work before\n", c->group, c->name);
		show_trail();
		return false;
	}
	memset(errors, 0, sizeof(errors));
	replies = 0;
	wrong = NULL;
	hits = 0;
	hit_serial = 0;
	closings = 0;
	armed = c;
	rc = do_op(c->op);
	serve_until(has_come, 1000);
	why = judge(c, rc);
	armed = NULL;
	/*
	 * What it may have left goes with the connection; not another one,
	 * since each that brings no Reply makes the client wait longer.
	 */
	if (current && current->serial == hit_serial &&
	    (c->when == PROPS || (c->expect & NEW) || current->credit != CREDIT))
		fresh_connection();
	/*
	 * It was of use, and the next one is new: enough. Else what it may
	 * have done to the connection shows only when that is used again.
	 */
	if (c->when > PROPS)
		works = false;
	if ((c->when > PROPS || rc) && !recovers() && !why)
		why = "the mount does not work afterwards";
	if (why) {
		printf("not ok %s.%s - %s (status %d, %s%s%s, %u times, %u closed)\n", c->group,
		       c->name, why, rc, op.what, rc > 0 ? ": " : "",
		       rc > 0 ? strerror(op.error) : "", hits, closings);
		show_trail();
		return false;
	}
	printf("ok %s.%s\n", c->group, c->name);
	return true;
}

static const char *walk_steps(void)
{
	unsigned int fails = 0, successes = 0;
	double end = now() + WALK_MS * scale / 1e3;

	while (walk_left) {
		if (do_op(below(4) ? "read" : "write") < 0)
			return "it hangs";
		if (now() > end)
			return "it takes too long";
		works ? successes++ : fails++;
		if (!below(6)) {
			want_version1 = below(3) == 0;
			fresh_connection();
		}
	}
	printf("# %u operations worked, %u did not\n", successes, fails);
	want_version1 = false;
	fresh_connection();
	return recovers() ? NULL : "the mount does not work afterwards";
}

static int walk(const char *seed, const char *steps)
{
	const char *why;

	walk_state = strtoull(seed, NULL, 0);
	walk_left = strtoul(steps, NULL, 0);
	why = walk_steps();
	if (!why) {
		printf("ok walk_%s\n", seed);
		return 0;
	}
	printf("not ok walk_%s - %s (%u of %s steps are left)\n", seed, why, walk_left, steps);
	show_trail();
	return 1;
}

/*
 * The cases of the groups in @argv. A "N/M" before them leaves each M-th, the
 * N-th first, of those up to the next "N/M".
 */
static int run_all(int argc, char **argv)
{
	unsigned int nth = 0, of = 1, index = 0, count = 0, bads = 0;
	struct scase *c;
	int i, end;

	for (i = 0; i < argc; i = end) {
		if (sscanf(argv[i], "%u/%u", &nth, &of) == 2 && of)
			i++;
		for (end = i; end < argc && !strchr(argv[end], '/'); end++)
			;
		if (end == i)
			return 2;
		for (c = cases, index = 0; c && !hangs; c = c->next) {
			int j;

			for (j = i; j < end && !selects(argv[j], c->group, c->name); j++)
				;
			if (j == end || index++ % of != nth % of)
				continue;
			count++;
			bads += !run_case(c);
		}
		if (c) {
			printf("not ok share_%u - the mount hangs, what should follow was left out\n",
			       nth);
			return 1;
		}
	}
	if (!count)
		printf("not ok share_%u - there is no such case\n", nth);
	return count && !bads ? 0 : 1;
}

static void server_failed(const char *reason)
{
	printf("not ok %s.%s - %s\n", armed ? armed->group : "server",
	       armed ? armed->name : "none", reason);
	show_trail();
	longjmp(failed, 1);
}

/*
 * server ADDR PORT NFSPORT DIR REFDIR MOUNT UMOUNT {[N/M] GROUP[.CASE]...}...
 * server ADDR PORT NFSPORT DIR REFDIR MOUNT UMOUNT walk SEED STEPS
 *
 * MOUNT and UMOUNT are the commands that mount DIR from here, and unmount it.
 * REFDIR is what nfsd exports. Of the cases named behind N/M, this runs the
 * N-th of each M.
 */
int server_main(int argc, char **argv)
{
	int status;

	if (argc < 8)
		return 2;
	addr = argv[0];
	port = argv[1];
	nfs_port = atoi(argv[2]);
	dir = argv[3];
	refdir = argv[4];
	mount_line = argv[5];
	umount_line = argv[6];
	on_bad = server_failed;
	signal(SIGPIPE, SIG_IGN);
	listen_at(port);
	if (setjmp(failed))
		return 1;
	mounted = !do_command(mount_line);
	if (!mounted) {
		printf("not ok server.mount - the mount at %s failed\n", dir);
		show_trail();
		return 1;
	}
	if (!strcmp(argv[7], "walk") && argc == 10)
		status = walk(argv[8], argv[9]);
	else
		status = run_all(argc - 7, argv + 7);
	armed = NULL;
	op_end();
	if (mounted && do_command(umount_line)) {
		printf("not ok server.umount - %s cannot be unmounted\n", dir);
		show_trail();
		return 1;
	}
	return status;
}
