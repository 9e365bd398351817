/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One end of RPC-over-RDMA connections that says whatever it is told to: what
 * the hostile client and the hostile server are made of. It shares no code
 * with the module, so that a mistake there is not made here again.
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
	PREFIX = 24,		/* octets of a version 2 prefix */
	HEADER = 40,		/* ... of a header without chunks */
	HEADER1 = 28,		/* the same of version 1 */
	SLOT = 16384,		/* octets of the longest message sent */
	EXPOSED = 1 << 20,	/* octets of memory that peers may reach */
};

/* A message received */
struct msg {
	struct msg *next;
	uint32_t len;
	uint32_t inv;		/* the handle it invalidated, or 0 */
	uint8_t data[];
};

struct peer {
	struct peer *next;	/* of all there are */
	uint32_t serial;
	struct rdma_cm_id *id;
	bool server;		/* accepted it */
	int version;		/* what begin() begins with */

	/* Before connecting */
	uint32_t nr_recvs, nr_sends;
	uint32_t recv_size;	/* bytes of a Receive */
	bool no_private;	/* no RFC 8797 message */
	bool inv_ok;		/* says that it takes remote invalidation */
	uint32_t private_words[2];	/* instead of a good one, if not zero */

	uint8_t *mem;		/* Receives, then Sends */
	struct ibv_mr *mr;
	bool connected, closed, refused;
	int wc_error;		/* of the first failed completion */
	struct msg *inbox, **inbox_end;

	/* Sends posted and completed; explicit Reads and Writes too */
	uint32_t posted, completed;

	/* Credits (WP 3): what this end says unless out is sent raw */
	uint32_t sent, received, limit;
	uint32_t credit;
	bool no_wait;		/* send beyond the limit */

	uint32_t xid;
	bool stamp;		/* write the credit fields when sent */
	uint32_t len;		/* octets of out */
	uint8_t out[2 * SLOT];

	void *owner;		/* the server's, or the crowd's */
};

/* All limits of time are multiplied by TIMEOUT_SCALE of the environment. */
extern int scale;
/* Of the server: the client connects to it, and the server listens there. */
extern const char *addr, *port;
extern uint8_t *exposed;
extern struct ibv_mr *exposed_mr;
extern struct ibv_mr *foreign_mr;	/* the same memory, for nobody here */

/* A case that goes wrong ends with this: on_bad(), which does not return. */
extern void (*on_bad)(const char *reason);
void __attribute__((noreturn, format(printf, 1, 2))) bad(const char *fmt, ...);

double now(void);	/* seconds, of some clock */

/* Let things happen, until something did or for @ms. */
void run_once(int ms);
/* What else is something, once; -1: nothing */
extern int wake_fd;

/* Run all connections for @ms, or until @p has a message or is closed. */
bool peers_run(struct peer *p, int ms);
/* A connection request for the listener; set by the server. */
extern void (*on_request)(struct rdma_cm_id *id);
/* The beginning of the private data that the last connection request had */
extern uint8_t request_private[8];
/* @p has a message, is connected, or is closed, if anybody wants to know at once. */
extern void (*on_news)(struct peer *p);
/* Call @gone for accepted connections that are closed; it may free them. */
void peers_reap(void (*gone)(struct peer *p));

struct peer *peer_new(void);
void peer_free(struct peer *p);		/* abruptly, if need be */
void peers_free(void);
struct rdma_event_channel *peer_channel(void);
void peer_param(struct peer *p, struct rdma_conn_param *param, uint32_t words[2]);
void peer_setup(struct peer *p);	/* QP and Receives */
/* Connecting in two steps: all up to the request, and that. */
void peer_prepare(struct peer *p, const char *addr, const char *port);
void peer_request(struct peer *p);
void peer_connect_begin(struct peer *p, const char *addr, const char *port);
void peer_connect(struct peer *p, const char *addr, const char *port);
void peer_disconnect(struct peer *p);
/* Be dead for the other end: answer nothing, not even with hardware. */
void peer_die(struct peer *p);

/* ---- Building a message in p->out, and sending it ---- */

uint32_t get(const void *data, uint32_t offset);
uint64_t get64(const void *data, uint32_t offset);
void put(void *data, uint32_t offset, uint32_t word);
void w(struct peer *p, uint32_t word);
void ww(struct peer *p, int count, ...);	/* that many uint32_t */
void wv(struct peer *p, int count, va_list args);
void raw(struct peer *p);			/* begin with nothing */
/* Begin with a prefix (version 2) or the fixed words (version 1). */
void begin(struct peer *p, uint32_t xid, uint32_t type, uint32_t flags);
void no_lists(struct peer *p);
void prop(struct peer *p, uint32_t id, uint32_t value);
void segment(struct peer *p, uint32_t handle, uint32_t len, uint64_t offset);
void read_segment(struct peer *p, uint32_t position, uint32_t handle,
		  uint32_t len, uint64_t offset);
/* The RPC Call of @proc, AUTH_SYS, ten words and six of credential */
void rpc_call(struct peer *p, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc);
void rpc_null(struct peer *p, uint32_t xid);	/* AUTH_NONE, 40 octets */

void send_out(struct peer *p);
void send_inv(struct peer *p, uint32_t handle);
/* Move @len octets between p's memory at @at of exposed and a peer's. */
void rdma_post(struct peer *p, bool read, uint32_t at, uint32_t len,
	       uint32_t handle, uint64_t offset);
/* Wait until all that was posted is done. False: it failed. */
bool sends_done(struct peer *p);

/* The next message, or NULL: none in time, or the connection is closed. */
struct msg *receive(struct peer *p, int ms);
/* The next one that is no grant */
struct msg *receive_more(struct peer *p, int ms);
bool is_grant(const struct msg *m);
const char *describe(const struct msg *m);

/* ---- The two roles ---- */

int client_main(int argc, char **argv);
int step_main(int argc, char **argv);	/* a client that is killed */
int server_main(int argc, char **argv);
int crowd_main(int argc, char **argv);	/* clients that come at once */
int op_main(int argc, char **argv);	/* something done in a mount */
int beside_main(int argc, char **argv);	/* ... and how long that takes */

#endif
