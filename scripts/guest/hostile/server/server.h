/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hostile server: a gateway between the kernel's client and nfsd's TCP socket, so
 * that it can corrupt one message of a mount that otherwise works. Each case corrupts one
 * message, once or each time, while a process performs an operation in the mount. The
 * case has the expected result of the operation. Afterwards the mount must work again.
 */
#ifndef HOSTILE_SERVER_H
#define HOSTILE_SERVER_H

#include "../lib/cases.h"
#include "../lib/peer.h"

enum {
	MAX_RPC = 256 << 10,
	/* Offsets in exposed: Calls are read to, and Replies are written from here. */
	AT_CALL = 0,
	AT_REPLY = EXPOSED / 2,
	/* A Call does not use the last two messages of the window. */
	CREDIT = 40,
	/* The client's announced reassembly limit and size of a Receive */
	CLIENT_REASSEMBLY = 262144,
	CLIENT_RECV = 4096,
	/* The longest Reply in a single message */
	INLINE = 3000,
	/* Bytes of a READ or WRITE of the operations in the mount */
	IO_SIZE = 32768,
};

/* ---- Calls: call.c ---- */

enum { CONNECT = 1, PROPS, CALL, READ, WRITE, MOUNT };	/* enum when */

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
	uint32_t item;		/* offset of a READ's data in its Reply */
	bool has_write, has_reply, has_read;
	struct chunk read, write, reply;
	uint8_t *rpc;
	uint32_t len;
	uint8_t *answer;	/* nfsd's Reply */
	uint32_t answer_len;
};

/*
 * Decode the lists of a Call, and read its payload. The kernel's client sends at most one
 * Read chunk, one Write chunk and a Reply chunk; other Calls are not supported.
 */
bool take_call(struct call *c, const struct msg *m);
/* Find the operation of the Call, before it is sent to nfsd. */
void look_at_call(struct call *c);
/* Find the offset of a READ's data, after the word with its length. */
void look_at_answer(struct call *c);
/*
 * Keep the answer to a Call that is refused. nfsd has executed the Call, but for the client
 * it was not executed. If the client sends it again, it receives this answer.
 */
void keep_answer(const struct call *c);
void execute(struct call *c);

/* ---- Cases ---- */

enum {
	OK = 1,			/* the data is correct */
	FAILS = 2,		/* an errno */
	CLOSES = 4,		/* in addition, the client closes the connection */
	STAYS = 8,		/* in addition, it does not close it */
	NEW = 16,		/* the next case needs a new connection */
};

struct personality;

struct scase {
	struct testcase test;
	int when;
	const char *op;
	unsigned int expect;
	bool forever, version1;
	uint32_t code;		/* ERROR expected from the client */
	bool answered;		/* a Reply is expected from the client */
	unsigned int times;	/* number of times it happens, if that matters */
	const struct personality *as;	/* the server imitated, or NULL: none */
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

/* ---- Trail of events: trail.c ---- */

/* Add an event to the trail, which is shown if the case fails. */
void __attribute__((format(printf, 1, 2))) trail_add(const char *fmt, ...);
void trail_begin(void);
/* Print the trail and the kernel's log, unless @well. Return @well. */
bool trail_unless(bool well);

/* ---- nfsd: nfsd.c ---- */

extern uint16_t nfs_port;

/* Send a Call to nfsd. Return the Reply's length in bytes, 0: none. */
uint32_t nfs_ask(void *rpc, uint32_t len, uint8_t *answer);

/* ---- Personalities: personalities.c ---- */

/* The form in which a server returns a chunk that its Reply does not use */
enum form { ABSENT, EMPTY, AS_OFFERED };

/* The properties of a server with version 1 */
struct personality {
	/* The private message of RFC 8797: whether it is absent, and its second word */
	bool no_private;
	uint32_t private_word;
	/*
	 * Credits of each grant, less the outstanding Calls; 0 with @echoes: those
	 * requested
	 */
	uint32_t credits;
	bool echoes, grants_free;
	/* A longer Reply is sent in the Reply chunk, if the Call has one. */
	uint32_t inline_max;
	/* A Reply in the Reply chunk includes the data of a READ. */
	bool whole;
	enum form unused_write, unused_reply;
	/* A Reply invalidates the handle of the Write chunk, if the client permits it. */
	bool invalidates;
	/* Calls that the server refuses, or that crash it */
	bool no_nomsg;		/* a Call in a Read chunk */
	bool narrow;		/* in other Calls than READ and WRITE, or segmented */
};

/* The properties of this program, if no other server is imitated */
extern const struct personality gateway;
const struct personality *personality(void);
/* Set the personality's properties on a connection before it is accepted. */
void assume_personality(struct peer *p);
/* Set the credits of the Reply to the message that @p has just received. */
void grant_credits(struct peer *p);
/* Return the handle that the Reply to @c invalidates, 0: none. */
uint32_t invalidated(const struct call *c);
/* Record a Call that the imitated server could not execute. */
void check_call(const struct call *c, uint32_t type);

/* ---- Correct Replies: reply.c ---- */

void begin_reply(struct call *c, uint32_t type, uint32_t flags);
/* Return a chunk with @octets bytes in it, as a Reply returns it. */
void return_chunk(struct peer *p, const struct chunk *k, uint32_t octets);
/* Write the Write list of a Reply: the chunk, if the Call had one, with @octets bytes. */
void return_write(struct call *c, uint32_t octets);
void put_answer(struct call *c, uint32_t from, uint32_t len);
/* Build the message only; the data item has been written already. */
void make_reduced(struct call *c, uint32_t item);
/* Build a Reply in p->out, and perform its RDMA. */
void make_good(struct call *c);
/* Return true if the Reply can only be sent as a continued message. */
bool needs_parts(const struct call *c);
/* Send a continued Reply with fragments of the lengths in @octets. */
void send_parts(struct call *c, uint32_t octets);
void send_good(struct call *c);

/* ---- Other messages ---- */

/* Send the server's opening messages: open.c */
void answer_props(struct peer *p);
/* Send the message in p->out, regardless of the client's credits. */
void send_at_once(struct peer *p);
void send_err_vers(struct peer *p, uint32_t low, uint32_t high);
/* Send ERR_VERS with the credits requested, in a header of @version. */
void send_only_v1(struct peer *p, uint32_t version);

/* Send a callback without arguments: control.c */
void callback_null(struct peer *p, uint32_t xid);
/* Send an ERROR of @len bytes for a Call: errors.c */
void send_error(struct call *c, uint32_t code, uint32_t arg0, uint32_t arg1, uint32_t len);

/* ---- The gateway: gateway.c ---- */

extern struct peer *current;		/* the present connection */
extern struct scase *armed;
extern bool want_version1;
extern uint32_t asked;			/* credits in the last message received */

/* Events since a case was armed */
extern unsigned int hits, closings, requests;
extern uint32_t hit_serial;		/* serial of the case's connection */
extern uint32_t errors[128];		/* ERRORs received, by code */
extern uint32_t replies;		/* Replies received */
extern const char *wrong;		/* set by a case that has found an error itself */
extern const struct msg *opening_msg;	/* the client's first message, for a case */

void listen_at(const char *at);
/* Serve until @done, or for @ms. Return false if it is not done. */
bool serve_until(bool (*done)(void), int ms);
void fresh_connection(void);
/*
 * Serve the client until it sends nothing more. After an operation the client may have
 * RPCs left, such as a CLOSE. If its connection ends before their Replies, it reconnects
 * for them at once.
 */
void settle(void);

/* ---- Operations in the mount: mount.c, and op.c in a separate process ---- */

extern const char *dir, *refdir, *mount_line, *umount_line;
extern bool mounted;
extern bool works;			/* the mount worked when it was last used */
extern bool hangs;			/* the last operation did not end */

struct op_result {
	int status;		/* 0; 1: an errno; 3: wrong data */
	int error;
	char what[32];
};

extern struct op_result last_op;

/* Run a command. Return its exit status, or -1 if it took too long. */
int do_command(const char *line);
/* Perform an operation. Return its status, or -1 if it took too long and will not end. */
int do_op(const char *name);
void op_end(void);
/* Return true if the mount works again, after the client's outstanding RPCs. */
bool recovers(void);
/*
 * Create a new mount and READ from it. The client caches a server's version by address and
 * port, so each mount has another port.
 */
const char *mount_anew(struct scase *c);

/* ---- A random walk: walk.c ---- */

extern unsigned int walk_left;		/* steps */

/* Send a Reply to @c in a random form. */
void walk_reply(struct call *c);
int walk(const char *seed, const char *steps);

#endif
