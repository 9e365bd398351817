/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One end of RPC-over-RDMA connections that sends any message, valid or not. The hostile
 * client and the hostile server are built on it. It shares no code with the module, so
 * that a mistake of the module is not repeated here.
 *
 * Sections: "WP" is Documentation/wire-profile.rst.
 */
#ifndef HOSTILE_PEER_H
#define HOSTILE_PEER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <rdma/rdma_cma.h>

enum { MSG = 0, NOMSG = 1, MSGP = 2, DONE = 3, ERROR = 4, CONNPROP = 5 };
enum { RESPONSE = 1, MORE = 2, TPMORE = 4 };
enum {
	ERR_VERS = 1, BAD_XDR, BAD_PROPVAL, INVAL_HTYPE, INVAL_CONT,
	READ_CHUNKS, WRITE_CHUNKS, SEGMENTS, WRITE_RESOURCE, REPLY_RESOURCE,
	ERR_SYSTEM = 100,
};
enum { SBSIZ = 1, RBSIZ, RSSIZ, RCSIZ, BRS, HOSTAUTH };
#define REPLY_READ	0xf0000001u
#define REASSEMBLY	0xf0000002u

enum {
	PREFIX = 24,		/* bytes of a version 2 prefix */
	HEADER = 40,		/* bytes of a version 2 header without chunks */
	HEADER1 = 28,		/* bytes of a version 1 header without chunks */
	SLOT = 16384,		/* bytes of the longest message sent */
	EXPOSED = 1 << 20,	/* bytes of memory that peers may access */
};

/* A message received */
struct msg {
	struct msg *next;
	uint32_t len;
	uint32_t inv;		/* the handle that it invalidated, or 0 */
	uint8_t data[];
};

struct peer {
	struct peer *next;	/* the next one in the list of all peers */
	uint32_t serial;
	struct rdma_cm_id *id;
	bool server;		/* this end accepted the connection */
	int version;		/* version of the headers of begin() */

	/* Set before connecting */
	uint32_t nr_recvs, nr_sends;
	uint32_t recv_size;	/* bytes of a Receive */
	bool no_private;	/* no RFC 8797 message */
	bool inv_ok;		/* announces remote invalidation */
	uint32_t private_words[2];	/* used instead of the valid ones, if not zero */
	/* The first bytes of both ends' private data */
	uint8_t own_private[8], peer_private[8];

	uint8_t *mem;		/* Receives, then Sends */
	struct ibv_mr *mr;
	bool connected, closed, refused;
	int wc_error;		/* status of the first failed completion */
	struct msg *inbox, **inbox_end;

	/* Sends, explicit Reads and Writes: posted, and completed */
	uint32_t posted, completed;

	/* Credits (WP 3): in the headers of all messages except those of raw() */
	uint32_t sent, received, limit;
	uint32_t credit;
	bool no_wait;		/* send beyond the limit */

	uint32_t xid;
	bool stamp;		/* write the credit fields when sent */
	uint32_t len;		/* bytes in out */
	uint8_t out[2 * SLOT];

	void *owner;		/* private to the server or to the crowd */
};

/* Multiplier of all time limits, from TIMEOUT_SCALE in the environment */
extern int scale;
/* The server's address and port, to connect to or to listen at */
extern const char *addr, *port;
extern uint8_t *exposed;
extern struct ibv_mr *exposed_mr;
extern struct ibv_mr *foreign_mr;	/* exposed, in another protection domain */

/* Called by bad() when a case fails; does not return */
extern void (*on_bad)(const char *reason);
void __attribute__((noreturn, format(printf, 1, 2))) bad(const char *fmt, ...);

double now(void);	/* seconds, monotonic */

/* Process events until one has occurred, or for @ms. */
void run_once(int ms);
/* Another file descriptor; when it is ready, run_once() returns, and this is set to -1 */
extern int wake_fd;

/*
 * Run all connections for @ms, or until @p has a message or is closed. With @p this is a limit,
 * which scale multiplies, and without it a pause.
 */
bool peers_run(struct peer *p, int ms);
/* Handles a connection request; set by the server */
extern void (*on_request)(struct rdma_cm_id *id);
/* The first bytes of the last connection request's private data */
extern uint8_t request_private[8];
/*
 * Called when @p has received a message, has connected, or has closed; NULL: not called
 */
extern void (*on_news)(struct peer *p);
/* Call @gone for accepted connections that are closed; it may free them. */
void peers_reap(void (*gone)(struct peer *p));

struct peer *peer_new(void);
void peer_free(struct peer *p);		/* aborts the connection if it is open */
void peers_free(void);
struct rdma_event_channel *peer_channel(void);
void peer_param(struct peer *p, struct rdma_conn_param *param, uint32_t words[2]);
void peer_setup(struct peer *p);	/* allocate the QP, post Receives */
/* Connect in two steps: allocate and resolve everything, then send the request. */
void peer_prepare(struct peer *p, const char *addr, const char *port);
void peer_request(struct peer *p);
void peer_connect_begin(struct peer *p, const char *addr, const char *port);
void peer_connect(struct peer *p, const char *addr, const char *port);
void peer_disconnect(struct peer *p);
/* Stop responding, even at the level of the hardware, as a peer that lost power. */
void peer_die(struct peer *p);

/* ---- Building a message in p->out, and sending it ---- */

uint32_t get(const void *data, uint32_t offset);
uint64_t get64(const void *data, uint32_t offset);
void put(void *data, uint32_t offset, uint32_t word);
void w(struct peer *p, uint32_t word);
void ww(struct peer *p, int count, ...);	/* write @count words */
void wv(struct peer *p, int count, va_list args);
void raw(struct peer *p);			/* begin an empty message */
/* Begin a message with a prefix (version 2) or the fixed words (version 1). */
void begin(struct peer *p, uint32_t xid, uint32_t type, uint32_t flags);
void no_lists(struct peer *p);
void prop(struct peer *p, uint32_t id, uint32_t value);
void segment(struct peer *p, uint32_t handle, uint32_t len, uint64_t offset);
void read_segment(struct peer *p, uint32_t position, uint32_t handle,
		  uint32_t len, uint64_t offset);
/* Write the header of an RPC Call of @proc with AUTH_SYS: 16 words. */
void rpc_call(struct peer *p, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc);
void rpc_null(struct peer *p, uint32_t xid);	/* AUTH_NONE, 40 bytes */

void send_out(struct peer *p);
void send_inv(struct peer *p, uint32_t handle);
/*
 * Post an RDMA Read or Write of @len bytes between exposed + @at and the peer's memory.
 */
void rdma_post(struct peer *p, bool read, uint32_t at, uint32_t len,
	       uint32_t handle, uint64_t offset);
/* Wait until all posted work has completed. Return false if some failed. */
bool sends_done(struct peer *p);

/* Return the next message, or NULL on a timeout or if the connection is closed. */
struct msg *receive(struct peer *p, int ms);
/* Return the next message that is no credit grant. */
struct msg *receive_more(struct peer *p, int ms);
bool is_grant(const struct msg *m);
const char *describe(const struct msg *m);

/* ---- The two roles ---- */

int client_main(int argc, char **argv);
int step_main(int argc, char **argv);	/* a client that is killed at a given step */
int server_main(int argc, char **argv);
int crowd_main(int argc, char **argv);	/* clients that connect at the same time */
int op_main(int argc, char **argv);	/* operations in a mount */
int bystander_main(int argc, char **argv);	/* latency of operations in a mount */

#endif
