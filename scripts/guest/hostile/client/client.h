/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hostile client: cases against the kernel's server, each of which knows
 * the answer it should get, and a random walk, which only wants one in the end.
 */
#ifndef HOSTILE_CLIENT_H
#define HOSTILE_CLIENT_H

#include "../lib/cases.h"
#include "../lib/peer.h"

enum {
	/* What the module takes (include/rpcrdma/) */
	MAX_CHUNKS = 16,
	MAX_SEGS = 64,
	MAX_OCTETS = 16 << 20,
	MAX_PENDING = 64,
	MAX_REASSEMBLY = 262144,
	/* The server's Receives, as aftermath.sh sets them */
	SERVER_RECV = 4096,
	/* What the file "hostile" in the export has */
	FILE_OCTETS = 65536,
	/* Where the item of a READ begins in its Reply */
	READ_ITEM = 68,
	ANSWER_MS = 10000,
};

/* ---- Cases ---- */

struct client_case {
	struct testcase test;
	void (*run)(void);
};

extern struct testlist client_cases;

#define CASE(grp, nm)							\
	static void grp##_##nm(void);					\
	static struct client_case case_##grp##_##nm = {			\
		.test = { .group = #grp, .name = #nm }, .run = grp##_##nm }; \
	TESTCASE_ADD(&client_cases, case_##grp##_##nm)			\
	static void grp##_##nm(void)

/* ---- What should come back: expect.c ---- */

/* The next message but grants; @wanted names it. Freed by the caller. */
struct msg *answer(struct peer *p, const char *wanted);
/* ERROR @code about @xid, with @count words of data */
void expect_error(struct peer *p, uint32_t xid, uint32_t code, int count, ...);
void expect_err_vers(struct peer *p, uint32_t xid, uint32_t version);
/* Version 1: ERR_CHUNK */
void expect_err_chunk(struct peer *p, uint32_t xid);
/* Octets of a Reply's header, that is: where its payload is */
uint32_t payload(const struct msg *m, uint32_t version);
/* A Reply to @xid, one inline message. Freed by the caller. */
struct msg *expect_reply(struct peer *p, uint32_t xid);
void expect_done(struct peer *p, uint32_t xid);
void expect_connprop(struct peer *p);
void expect_closed(struct peer *p);

/* ---- Connections: open.c ---- */

struct peer *connected(void);
struct peer *connected1(void);		/* for version 1 */
struct peer *opened(void);
/* A connection opened with @count properties, an id and a value each */
struct peer *opened_with(int count, ...);
/* Leave the server no message to send but the grant of the reserve. */
struct peer *opened_shut(void);
void good_props(struct peer *p);
void send_props(struct peer *p);
void open_it(struct peer *p);
/* What connections from now on get */
void set_parameter(const char *name, uint32_t value);

/* ---- Messages: call.c ---- */

static inline uint64_t at(uint32_t offset)
{
	return (uintptr_t)exposed + offset;
}

void null_call(struct peer *p, uint32_t xid, uint32_t flags);
/*
 * The connection is open, and what went before has got no answer: the next
 * one is about this.
 */
void alive(struct peer *p);
#define dropped alive
void grant(struct peer *p, uint32_t flags);
/* A part of a Call: @len octets of a NULL Call from @from on */
void part(struct peer *p, uint32_t xid, uint32_t from, uint32_t len, bool more);

/* An inline NULL Call whose arguments' end is in Read chunks: so far the list */
uint32_t begin_read_call(struct peer *p);
void end_read_call(struct peer *p, uint32_t xid);
/* One Read chunk of @len octets at @position */
uint32_t read_at(struct peer *p, uint32_t position, uint32_t len);
/* Put a NULL Call into the exposed memory. */
void expose_null(struct peer *p, uint32_t xid);

/* NFS 4.0: PUTROOTFH, LOOKUP "hostile", READ of each of @reads counts of octets */
void rpc_reads(struct peer *p, uint32_t xid, int reads, ...);
void rpc_read(struct peer *p, uint32_t xid, uint32_t count);
/* The prefix of a READ; the Write list and Reply chunk are to follow. */
uint32_t begin_read(struct peer *p);
void write_chunk(struct peer *p, uint32_t handle, uint32_t len, uint64_t offset);
/* The file is of octets 'h'. */
bool exposed_is(uint32_t from, uint32_t len, uint8_t octet);
/* Send the READ of @count octets that was begun: its Reply is one message, without chunks. */
void read_inline(struct peer *p, uint32_t xid, uint32_t header, uint32_t count);

/* ---- Replies that the client pulls: pulling.c ---- */

/* A Reply of @octets that @p has to read, and where it is */
struct exposure {
	uint32_t xid, count, handle[16], len[16];
	uint64_t offset[16];
};

void take_exposure(struct exposure *e, const struct msg *m);
void pull(struct peer *p, const struct exposure *e, uint32_t to);
void done(struct peer *p, uint32_t xid);

/* ---- What the server holds: account.c ---- */

/* The largest @field of the server's connections */
unsigned long long largest(const char *field);
/* What the server says that it holds for all connections together */
unsigned long long memory_held(void);

/* ---- Besides the cases ---- */

/* Go as far as @step in the life of a connection: leaving.c */
struct peer *go(int step);
/* Load the server until SIGTERM: load.c. False: there is no load of that name. */
bool load_by_name(const char *name, bool takes, double rate);
/* Return how many connections there were: walk.c */
uint32_t walk_from(uint64_t seed, uint32_t steps);

#endif
