/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Suites of the client's transport. sunrpc's own RPC client uses the transport against
 * a peer that follows a script.
 *
 * A Call's arguments are three lengths, those of the result, of the plain argument and
 * of the bulk argument, followed by the two arguments. The result is a length, followed
 * by the data.
 */
#ifndef RPCRDMA_LOOPBACK_PEER_H
#define RPCRDMA_LOOPBACK_PEER_H

#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>

#include "../../net/sunrpc/xprtrdma/compat.h"
#include "../../net/sunrpc/xprtrdma/verbs/internal.h"
#include "../../net/sunrpc/xprtrdma/sunrpc/client.h"
#include "../../net/sunrpc/xprtrdma/sunrpc/server.h"
#include "../../net/sunrpc/xprtrdma/sunrpc/server_bc.h"
#include "../../net/sunrpc/xprtrdma/sunrpc/settings.h"
#include "../lib/loopback.h"

enum {
	PEER_STEPS	= 8,
	PEER_ATTEMPTS	= 16,
	/* Pages of bulk data in each direction: for 60001 bytes, and for a page and more */
	PEER_PAGES	= 60001 / PAGE_SIZE + 2,
	PEER_PLAIN	= 8192,		/* maximum bytes of plain argument */
	PEER_TAIL	= 16384,	/* space after a result; for procedure ROOM */
	PEER_MESSAGE	= 128 << 10,	/* maximum bytes of any message */
	PEER_CALL_HEAD	= 40,		/* RPC Call with AUTH_NULL */
	PEER_REPLY_HEAD	= 24,
	PEER_CB_DATA	= 9000,		/* maximum bytes of a callback's result */
	PEER_WAIT_S	= 40,		/* less than a retransmission timeout */
};

/* ---- The peer: peer.c ---- */

/* Faults of a Reply */
enum {
	PEER_BAD_CHUNK = 1,	/* it returns a chunk that the Call did not provide */
	PEER_BAD_XID,		/* the message has another XID than its header */
	PEER_GARBAGE_ARGS,	/* accept_stat is GARBAGE_ARGS */
};

/* The peer's reaction to a Call */
struct peer_step {
	u32	code;		/* RDMA2_ERR_*; 0: serve the Call */
	u32	arg0, arg1;
	u32	errors;		/* number of ERRORs to send; 0: one */
	bool	serve;		/* also serve the Call after the ERRORs */
	u32	bad;		/* PEER_BAD_* or PEER_GARBAGE_ARGS; 0: no fault */
	bool	silent;		/* no answer at all */
};

/* Properties of a received Call */
struct peer_attempt {
	u32	xid;
	u8	format, nr_reads, nr_writes, has_reply;
	u16	nr_segs;
	bool	sound;		/* all bytes correct; valid if served */
};

struct peer {
	struct rpcrdma_listener	*listener;
	struct rpcrdma_ep_params params;
	struct rpcrdma_ep	*ep;
	spinlock_t		lock;
	wait_queue_head_t	wait;
	struct peer_step	steps[PEER_STEPS];
	unsigned int		nr_steps;
	bool			every;		/* apply steps[0] to each new XID */
	bool			marked;		/* apply steps[0] to Calls with 8 bytes */
	bool			whole;		/* return Write chunks unused */
	struct peer_attempt	attempts[PEER_ATTEMPTS];
	unsigned int		nr_attempts;
	bool			hold;		/* hold the Receives of Calls */
	bool			mute_client;	/* mute the client before replying */
	struct list_head	held;
	unsigned int		nr_held;
	struct list_head	queue;		/* Calls to process */
	struct work_struct	work;
	atomic_t		connections, connected;	/* now; so far */
	u8			*call;		/* complete Call being processed */
	u32			seen[1024];	/* xids */
	unsigned int		nr_seen;
	const struct peer_kind	*kind;
	struct rpc_clnt		*clnt;
	int			module_refs;	/* before any transport existed */
	/* Reverse direction: an RPC client of the peer, a service of the client */
	struct svc_xprt		sxprt;
	struct svc_xprt_class	sclass;
	struct rpc_clnt		*callback;
	struct svc_serv		*serv;
	struct task_struct	*service;
	u8			*cb_call;	/* Call that @service processes */
	u8			*cb_data;	/* of a Reply longer than a page */
	struct page		*cb_pages[PEER_CB_DATA / PAGE_SIZE + 2];
	unsigned int		cb_served;
	bool			cb_sound;	/* all Calls were correct */
	bool			cb_hold;	/* withhold Replies */
};

u8 peer_octet(u32 i);
void peer_fill(u8 *p, u32 len);
/* Return true if the complete @call is correct. Store the length of its result. */
bool peer_sound(const u8 *call, u32 len, u32 *want);
/* Release the held Receives, and stop holding Receives. */
void peer_release(struct peer *peer);
/* Process the Calls in peer->queue. */
void peer_worker(struct work_struct *work);
/* Accept a connection as the peer @priv. */
int peer_incoming(void *priv, struct rpcrdma_ep *ep);

/* ---- The RPC program: program.c ---- */

struct peer_rpc {
	u32		plain;		/* bytes of plain argument */
	u32		bulk;		/* bytes of argument in pages */
	u32		want;		/* bytes of result in pages */
	bool		ddp;		/* pages are DDP-eligible */
	bool		wrap;		/* copy the argument for each encoding */
	unsigned int	unwrapped;	/* copies freed */
	unsigned int	exposed;	/* handles valid when a copy was freed */
	u32		got;
	struct page	*arg[PEER_PAGES], *res[PEER_PAGES];
};

struct peer_task {
	struct peer_rpc		*rpc;
	struct rpc_task		*task;
};

extern const struct rpc_procinfo peer_procs[];
extern const struct rpc_program peer_program;

struct peer_rpc *peer_rpc_alloc(u32 plain, u32 bulk, u32 want, bool ddp);
void peer_rpc_free(struct peer_rpc *rpc);
/* Return 0 if the result is complete and correct. */
int peer_rpc_result(const struct peer_rpc *rpc);
/* Run one RPC of procedure @proc. Return its status. */
int peer_call_proc(struct kunit *test, struct rpc_clnt *clnt, unsigned int proc,
		   u32 plain, u32 bulk, u32 want, bool ddp);
int peer_call_by(struct kunit *test, struct rpc_clnt *clnt, u32 plain, u32 bulk,
		 u32 want, bool ddp);
int peer_call(struct kunit *test, u32 plain, u32 bulk, u32 want, bool ddp);
/* Start a task that runs @rpc. */
struct rpc_task *peer_start_by(struct rpc_clnt *clnt, struct peer_rpc *rpc);
struct rpc_task *peer_start(struct peer *peer, struct peer_rpc *rpc);

/* ---- Fixture: fixture.c ---- */

/* Kind of RPC client. A test without parameters uses NFSv3's. */
struct peer_kind {
	const char	*name;
	unsigned long	flags;
};

extern const struct peer_kind peer_kinds[2];

int peer_suite_init(struct kunit_suite *suite);
int peer_mem_suite_init(struct kunit_suite *suite);
void peer_suite_exit(struct kunit_suite *suite);
int peer_test_init(struct kunit *test);
void peer_test_exit(struct kunit *test);

/* Set up the RPC client. Return 0 or a negative errno. */
int peer_connect(struct peer *peer);
struct peer *peer_open(struct kunit *test);
/* Return a reference to the client's endpoint, or to the peer's; or NULL. */
struct rpcrdma_ep *peer_client_ep(struct peer *peer);
struct rpcrdma_ep *peer_server_ep(struct peer *peer);
/* Start a new script. */
void peer_script(struct peer *peer, const struct peer_step *steps, unsigned int nr);
/* Start a script with one step: an ERROR. */
void peer_refuse(struct peer *peer, u32 code, u32 arg0, u32 arg1);

/* ---- A case of pulled_test.c that mrs_test.c runs, too ---- */

void pull_replies(struct kunit *test);

#endif /* RPCRDMA_LOOPBACK_PEER_H */
