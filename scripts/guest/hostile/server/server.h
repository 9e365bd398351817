/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hostile server: a gateway between the kernel's client and nfsd's TCP
 * socket, so that what it is hostile with can be one message of a mount that
 * works. Each case spoils one thing, once or for ever, while a process does
 * something in the mount; it knows how that ends, and that the mount works
 * again afterwards.
 */
#ifndef HOSTILE_SERVER_H
#define HOSTILE_SERVER_H

#include "../lib/cases.h"
#include "../lib/peer.h"

enum {
	MAX_RPC = 256 << 10,
	/* Of exposed: where Calls are read to, and Replies are written from */
	AT_CALL = 0,
	AT_REPLY = EXPOSED / 2,
	/* A Call leaves the last two of the window. */
	CREDIT = 40,
	/* What the kernel's client says it reassembles, and its Receives */
	CLIENT_REASSEMBLY = 262144,
	CLIENT_RECV = 4096,
	/* The longest Reply that goes in one message */
	INLINE = 3000,
	/* One READ or WRITE of what is done in the mount */
	IO_SIZE = 32768,
};

/* ---- Calls: call.c ---- */

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

/*
 * The lists and the payload of a Call. All the kernel's client does is one
 * Read chunk, one Write chunk and a Reply chunk; other Calls are not for this.
 */
bool take_call(struct call *c, const struct msg *m);
/* What the Call does, before it goes to nfsd */
void look_at_call(struct call *c);
/* Where a READ's data begins: behind the words of its length */
void look_at_answer(struct call *c);
/*
 * A Call that was refused as it stood has not been executed, although nfsd knows
 * it already: when it comes again the answer is the one that was kept from it.
 */
void keep_answer(const struct call *c);
void execute(struct call *c);

/* ---- Cases ---- */

enum {
	OK = 1,			/* the data is as it must be */
	FAILS = 2,		/* an errno */
	CLOSES = 4,		/* besides: the client lets go of the connection */
	STAYS = 8,		/* besides: it does not */
	NEW = 16,		/* what follows needs another connection */
};

struct personality;

struct scase {
	struct testcase test;
	int when;
	const char *op;
	unsigned int expect;
	bool forever, version1;
	uint32_t code;		/* an ERROR that the client should send */
	bool answered;		/* it should send a Reply */
	unsigned int times;	/* how often it happens, if that matters */
	const struct personality *as;	/* the server that replies, or NULL: this program */
	void (*run)(struct peer *p, struct call *c);
};

extern struct testlist server_cases;

#define SCASE(grp, nm, when, op, ...)					\
	static void grp##_##nm(struct peer *p, struct call *c);		\
	static struct scase case_##grp##_##nm = {			\
		.test = { .group = #grp, .name = #nm },			\
		when, op, __VA_ARGS__, .run = grp##_##nm };		\
	TESTCASE_ADD(&server_cases, case_##grp##_##nm)			\
	static void grp##_##nm(struct peer *p __attribute__((unused)),	\
			       struct call *c __attribute__((unused)))

/* ---- What happened: trail.c ---- */

/* Note what happens: it is shown when a case goes wrong. */
void __attribute__((format(printf, 1, 2))) tell(const char *fmt, ...);
void trail_begin(void);
/* Show what may say why a case went wrong, unless it went well. Returns @well. */
bool trail_unless(bool well);

/* ---- nfsd: nfsd.c ---- */

extern uint16_t nfs_port;

/* Ask nfsd. Returns the Reply's octets, 0: none. */
uint32_t nfs_ask(void *rpc, uint32_t len, uint8_t *answer);

/* ---- Personalities: personalities.c ---- */

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

/* This program, where no other server is played */
extern const struct personality gateway;
const struct personality *personality(void);
/* Set what the personality says on a connection that has been requested. */
void assume_personality(struct peer *p);
/* Set the grant of the Reply to the message that @p has just received. */
void grant_credits(struct peer *p);
/* Return the handle that the Reply to @c invalidates, 0: none. */
uint32_t invalidated(const struct call *c);
/* Note a Call that the server played could not execute. */
void check_call(const struct call *c, uint32_t type);

/* ---- Replies as they should be: reply.c ---- */

void begin_reply(struct call *c, uint32_t type, uint32_t flags);
/* A chunk as it comes back with @octets in it */
void return_chunk(struct peer *p, const struct chunk *k, uint32_t octets);
/* The Write list of a Reply: the chunk, if there is one, with @octets */
void return_write(struct call *c, uint32_t octets);
void put_answer(struct call *c, uint32_t from, uint32_t len);
/* Only the message; the item has been pushed already. */
void make_reduced(struct call *c, uint32_t item);
/* The Reply in p->out, its RDMA done */
void make_good(struct call *c);
/* Is there no other way for the Reply than in parts? */
bool needs_parts(const struct call *c);
/* A Reply in parts, as long as @octets say */
void send_parts(struct call *c, uint32_t octets);
void send_good(struct call *c);

/* ---- Other messages ---- */

/* What the server says first: open.c */
void answer_props(struct peer *p);
/* Send what is in out, whatever the client has granted. */
void send_at_once(struct peer *p);
void send_err_vers(struct peer *p, uint32_t low, uint32_t high);
/* Send ERR_VERS with the credits asked for, in a header of @version. */
void send_only_v1(struct peer *p, uint32_t version);

/* A callback of no arguments: control.c */
void callback_null(struct peer *p, uint32_t xid);
/* An ERROR of @len octets about a Call: errors.c */
void send_error(struct call *c, uint32_t code, uint32_t arg0, uint32_t arg1, uint32_t len);

/* ---- The gateway: gateway.c ---- */

extern struct peer *current;		/* the connection there is */
extern struct scase *armed;
extern bool want_version1;
extern uint32_t asked;			/* credits, by the last message received */

/* What happened since a case was armed */
extern unsigned int hits, closings, requests;
extern uint32_t hit_serial;		/* of the connection it happened on */
extern uint32_t errors[128];		/* ERRORs received, by code */
extern uint32_t replies;		/* ... and Replies */
extern const char *wrong;		/* found by a case itself */

void listen_at(const char *at);
/* Serve until @done, or for @ms. False: it is not done. */
bool serve_until(bool (*done)(void), int ms);
void fresh_connection(void);
/*
 * An operation that is done may leave RPCs that nobody waits for, a CLOSE for
 * one: a client whose connection ends before their Replies comes back for them
 * at once. Serve it until it sends nothing more.
 */
void settle(void);

/* ---- What is done in the mount: mount.c, and op.c in a process of its own ---- */

extern const char *dir, *refdir, *mount_line, *umount_line;
extern bool mounted;
extern bool works;			/* the mount, when it was last used */
extern bool hangs;			/* ... did not even fail */

struct op_result {
	int status;		/* 0, or 1: an errno, 3: not what must be there */
	int error;
	char what[32];
};

extern struct op_result last_op;

/* Returns the exit status of @line, -1: it took too long. */
int do_command(const char *line);
/* Returns the status, -1: it took too long, and is not going to end. */
int do_op(const char *name);
void op_end(void);
/* Whatever the client still waits for: in the end it works again. */
bool recovers(void);
/*
 * A mount that begins anew, and a READ. The client remembers the version of a server
 * by its address and port, so there is another port each time.
 */
const char *mount_anew(struct scase *c);

/* ---- A random walk: walk.c ---- */

extern unsigned int walk_left;		/* steps */

/* Reply to @c in some way. */
void walk_reply(struct call *c);
int walk(const char *seed, const char *steps);

#endif
