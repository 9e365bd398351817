/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hostile client: cases against the kernel's server, each with the expected answer,
 * and a random walk, after which the server must still answer.
 */
#ifndef HOSTILE_CLIENT_H
#define HOSTILE_CLIENT_H

#include "../lib/cases.h"
#include "../lib/peer.h"

enum {
	/* The module's limits (include/rpcrdma/) */
	MAX_CHUNKS = 16,
	MAX_SEGS = 64,
	MAX_OCTETS = 16 << 20,
	MAX_PENDING = 64,
	MAX_REASSEMBLY = 262144,
	/* The server's Receives, as aftermath.sh sets them */
	SERVER_RECV = 4096,
	/* Size of the file "hostile" in the export */
	FILE_OCTETS = 65536,
	/* Offset of the data item in a READ's Reply */
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

/* ---- Expected answers: expect.c ---- */

/*
 * Return the next message except credit grants. @wanted names it in the error. The caller
 * frees it.
 */
struct msg *answer(struct peer *p, const char *wanted);
/* Expect ERROR @code for @xid, with @count words of data. */
void expect_error(struct peer *p, uint32_t xid, uint32_t code, int count, ...);
void expect_err_vers(struct peer *p, uint32_t xid, uint32_t version);
/* Expect ERR_CHUNK of version 1. */
void expect_err_chunk(struct peer *p, uint32_t xid);
/* Return the length of a Reply's header: the offset of its payload. */
uint32_t payload(const struct msg *m, uint32_t version);
/* Return the Reply to @xid, a single inline message. The caller frees it. */
struct msg *expect_reply(struct peer *p, uint32_t xid);
void expect_done(struct peer *p, uint32_t xid);
void expect_connprop(struct peer *p);
void expect_closed(struct peer *p);

/* ---- Connections: open.c ---- */

struct peer *connected(void);
struct peer *connected1(void);		/* for version 1 */
struct peer *opened(void);
/* Return a connection opened with @count properties, an id and a value each. */
struct peer *opened_with(int count, ...);
/*
 * Return a connection on which the server may send a grant from the reserve, and nothing
 * else.
 */
struct peer *opened_shut(void);
void good_props(struct peer *p);
void send_props(struct peer *p);
void open_it(struct peer *p);
/* Set a module parameter, which applies to later connections. */
void set_parameter(const char *name, uint32_t value);

/* ---- Messages: call.c ---- */

static inline uint64_t at(uint32_t offset)
{
	return (uintptr_t)exposed + offset;
}

void null_call(struct peer *p, uint32_t xid, uint32_t flags);
/*
 * Expect that the connection is open, and that the preceding message got no answer: the
 * next answer is that of a NULL Call.
 */
void alive(struct peer *p);
#define dropped alive
void grant(struct peer *p, uint32_t flags);
/* Send @len bytes of a NULL Call, from offset @from, as a message of a sequence. */
void part(struct peer *p, uint32_t xid, uint32_t from, uint32_t len, bool more);

/*
 * Begin an inline NULL Call with its last arguments in Read chunks: header and Read list.
 */
uint32_t begin_read_call(struct peer *p);
void end_read_call(struct peer *p, uint32_t xid);
/* Send a NULL Call with one Read chunk of @len bytes at @position. Return its xid. */
uint32_t read_at(struct peer *p, uint32_t position, uint32_t len);
/* Write a NULL Call to the exposed memory. */
void expose_null(struct peer *p, uint32_t xid);

/*
 * Write a Call of NFS 4.0: PUTROOTFH, LOOKUP "hostile", and READs with the @reads counts.
 */
void rpc_reads(struct peer *p, uint32_t xid, int reads, ...);
void rpc_read(struct peer *p, uint32_t xid, uint32_t count);
/* Begin a READ with the prefix. The caller adds the Write list and the Reply chunk. */
uint32_t begin_read(struct peer *p);
void write_chunk(struct peer *p, uint32_t handle, uint32_t len, uint64_t offset);
/* Return true if the memory has the content of the file: bytes 'h'. */
bool exposed_is(uint32_t from, uint32_t len, uint8_t octet);
/* Send the READ of @count bytes that was begun, and expect a Reply without chunks. */
void read_inline(struct peer *p, uint32_t xid, uint32_t header, uint32_t count);

/* ---- Replies that the client pulls: pulling.c ---- */

/* A Reply that @p has to pull, and the segments of its Read chunk */
struct exposure {
	uint32_t xid, count, handle[16], len[16];
	uint64_t offset[16];
};

void take_exposure(struct exposure *e, const struct msg *m);
void pull(struct peer *p, const struct exposure *e, uint32_t to);
void done(struct peer *p, uint32_t xid);

/* ---- Memory charged by the server: account.c ---- */

/* Return the maximum of @field over the server's connections. */
unsigned long long largest(const char *field);
/* Return the memory that the server has charged to all connections. */
unsigned long long memory_held(void);

/* ---- Other uses than cases ---- */

/* Bring a connection to the given step: leaving.c */
struct peer *go(int step);
/*
 * Load the server until SIGTERM: load.c. Return false if there is no load of that name.
 */
bool load_by_name(const char *name, bool takes, double rate);
/* Perform a random walk: walk.c. Return the number of its connections. */
uint32_t walk_from(uint64_t seed, uint32_t steps);

#endif
