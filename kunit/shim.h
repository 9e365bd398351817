/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KUnit tests of endpoint, xdr_buf geometry and client transport, as one module with its
 * own copy of both and of the engine: rpcrdma.ko exports nothing.
 *
 * The endpoint is compiled against stand-ins for the kernel's RDMA interfaces
 * that count what has to balance, check what software devices do not check,
 * and fail or stay silent on demand.
 */
#ifndef RPCRDMA_SHIM_H
#define RPCRDMA_SHIM_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "../net/sunrpc/xprtrdma/endpoint/endpoint.h"
#include "memdev.h"

enum {
	SHIM_WAIT_S = 60,	/* emulated machines are slow */
};

/* Poll for what no upcall tells of. True when it came true in time */
#define shim_poll(cond)							\
({									\
	unsigned long __end = jiffies + SHIM_WAIT_S * HZ;		\
									\
	while (!(cond) && time_before(jiffies, __end))			\
		schedule_timeout_uninterruptible(1);			\
	(cond);								\
})

/* What is made and not yet destroyed, over all endpoints */
struct shim_balance {
	atomic_t	pds, cqs, qps, mrs;
	atomic_t	rws;		/* rdma_rw contexts */
	atomic_t	maps;		/* DMA mappings: single ones and lists */
	atomic64_t	octets;		/* mapped by these */
};
extern struct shim_balance shim_balance;

/*
 * Breaches of the rules for posting: lock not held, Work Requests not
 * accounted for or whose failure nobody hears of, slots that are not there, a
 * region registered twice, Reads of more than one region in a part. And of those for memory: connections made or ended
 * where reclaim may come back, lists unmapped with a lock held.
 */
extern atomic_t shim_misuse;
/* Misuse, if the caller may wait for a file to be written back */
void shim_check_nofs(void);
/* Invalidations of a handle that was not valid */
extern atomic_t shim_double_inv;
/* Registered and not invalidated handles */
unsigned int shim_valid_handles(void);

/* Fail at the n-th place that can fail from now on; 0: never. */
void shim_fail_at(unsigned int n);
/* Did it? */
bool shim_failed(void);

/* Whose Work Requests are taken and never carried out */
enum {
	SHIM_MUTE_CLIENT = 1,
	SHIM_MUTE_SERVER = 2,
};
extern unsigned int shim_mute;

/* Whose Work Requests cannot be posted, and which: an enum ib_wr_opcode */
extern unsigned int shim_unpostable, shim_unpostable_opcode;

/*
 * So many servers' endpoints are set up at the same time: the first ones wait
 * for the last, and it is misuse when that does not come. 0: as they like.
 */
void shim_expect_crowd(unsigned int n);
/* The next server's device goes while its endpoint is set up. */
extern bool shim_removal_in_setup;
/* Called before a queue pair is destroyed, if it is not NULL */
extern void (*shim_before_destroy)(void);
/* The longest Send Queue of a server [0], a client [1], if not 0 */
extern unsigned int shim_max_send_wr[2];
/*
 * How many rdma_rw contexts for Reads there may be, if not 0; how often there
 * would have been more
 */
extern int shim_reads_at_most;
extern atomic_t shim_reads_refused;

/* How many listeners were made; the device of the next goes just then */
extern unsigned int shim_listens;
extern bool shim_removal_at_listen;
/* Tell @l of an event, a RDMA_CM_EVENT_*, and wait for what that starts. */
void shim_listener_event(struct rpcrdma_listener *l, int type);

/* Endpoints whose memory is still there */
unsigned int shim_nr_endpoints(void);

/* ---- What stands in for parts of the transports ---- */

struct svc_rqst;
struct svc_serv;
struct xprt_create;

/* A callback service that was freed: to look at it is misuse. */
extern const struct svc_serv *shim_dead_service;
/* A client's transfers for callbacks find no memory. */
extern bool shim_no_transfers;
/* So many continued Calls find no memory. */
extern unsigned int shim_no_streams;
/* Flags of the task that connected last */
extern unsigned int shim_connect_flags;
/* Setup of the server's reverse direction, as sunrpc calls it */
struct rpc_xprt *shim_bc_setup(struct xprt_create *args);
/* Its module reference was put outside of the module's work items. */
extern bool shim_bc_put_outside;
/* Set the flags of a service thread that takes a Call */
void shim_svc_set_flags(struct svc_rqst *rqstp);
/*
 * Write the lowest and the highest version of the client, the second while the first
 * has been checked. Returns 0, or the errno of the first that failed.
 */
int shim_cross_versions(const char *min, const char *max);

/* ---- Two ends ---- */

/* What a transport would be */
struct shim_side {
	struct rpcrdma_ep	*ep;		/* with a reference, or NULL */
	wait_queue_head_t	wait;
	struct mutex		calls_lock;	/* one Call is made at a time */
	spinlock_t		lock;
	struct list_head	held;		/* Receives not put yet */
	unsigned int		nr_held;
	struct list_head	rpcs;		/* wait for their Replies */
	bool			hold_calls, hold_replies;
	struct work_struct	take_work;	/* a server takes messages */
	bool			nobody_takes;	/* ... or says so */
	bool			close_on_open;
	bool			no_inv;		/* Replies by plain Sends */
	bool			no_done;	/* never says DONE, */
	bool			plain_done;	/* ... or by plain Sends */
	u32			xid;
	atomic_t		calls, replies, errors, served;
	atomic_t		exposed, released;	/* Replies to be pulled */
	atomic_t		told;		/* of messages */
	atomic_t		opened, space, closed;
	atomic_t		late;		/* upcalls after closed() */
	atomic_t		bad;		/* anything else unexpected */
	struct completion	gone;		/* closed() was called */
};

struct shim_pair {
	struct rpcrdma_listener	*listener;
	struct shim_side	client, server;
	struct rpcrdma_ep_params client_params, server_params;
	bool			reject;
	/* The device cannot register memory; but this is noticed too late. */
	bool			no_frwr;
	/* A request may arrive when its connection was closed long ago. */
	struct mutex		lock;
	bool			over;
};

/* Memory of an RPC: @len octets from @base of the first page on */
struct shim_buf {
	struct page		**pages;
	struct rpcrdma_extent	*ext;		/* one, or one for each page */
	u32			nr, nr_ext, base, len;
	u32			chop;
};

int shim_buf_alloc(struct shim_buf *buf, u32 base, u32 len);
/* ... no more than @chop octets in each page, so that they do not join */
int shim_buf_alloc_chopped(struct shim_buf *buf, u32 base, u32 len, u32 chop);
void shim_buf_free(struct shim_buf *buf);
void shim_buf_fill(struct shim_buf *buf, u32 seed);
/* The first octet that is not as shim_buf_fill() made it, or buf->len */
u32 shim_buf_check(const struct shim_buf *buf, u32 seed);

/* One RPC of the tests */
struct shim_rpc {
	struct list_head	list;
	u32			xid;
	struct list_head	mrs;
	struct rpcrdma_lists	lists;
	struct completion	done;
	int			status;
	bool			exposed;	/* its regions, at the Reply */
	u32			placed;
	/* Memory to send in a Read chunk, to be filled by a Write chunk */
	struct shim_buf		*arg, *res;
	/*
	 * Octets in the messages themselves; large ones go in parts, or are
	 * pulled
	 */
	u32			inline_arg, inline_res;
	u32			got;		/* of the latter */
	bool			pulled;
	struct rpcrdma_lists	reply_lists;	/* of a Reply that was pulled */
	u32			seed;
};

/* Over another device than the one in memory; over that one */
int shim_suite_init(struct kunit_suite *suite);
int shim_mem_suite_init(struct kunit_suite *suite);
void shim_suite_exit(struct kunit_suite *suite);

/* Before a test, and after one when all is closed */
void shim_test_begin(void);
void shim_check_gone(struct kunit *test);

/* A fixture with a listener and no connection */
int shim_test_init(struct kunit *test);
void shim_test_exit(struct kunit *test);

/* Connect; 0 or a negative errno. */
int shim_connect(struct shim_pair *pair);
/* Close, wait for both closed(), drop references; check that all is gone. */
void shim_disconnect(struct kunit *test, struct shim_pair *pair);
/* closed() of @side within bounded time? */
bool shim_wait_gone(struct shim_side *side);

void shim_rpc_init(struct shim_rpc *rpc, struct shim_buf *arg,
		   struct shim_buf *res);
/* Send; waits for space. 0, or a negative errno: nothing was sent. */
int shim_rpc_send(struct shim_side *side, struct shim_rpc *rpc);
/* One attempt: may also be -EAGAIN. */
int shim_rpc_try(struct shim_side *side, struct shim_rpc *rpc);
/* Wait for the Reply. 0 or a negative errno. */
int shim_rpc_wait(struct shim_side *side, struct shim_rpc *rpc);
/* Give up what it holds; its memory is safe afterwards. */
void shim_rpc_end(struct shim_side *side, struct shim_rpc *rpc);
/* All three */
int shim_rpc_do(struct shim_side *side, struct shim_rpc *rpc);

/* Serve held Calls, put held Replies: @n of them. */
void shim_release(struct shim_side *side, unsigned int n);

/* Wait until nothing moves, then check every account of @side. */
void shim_check_idle(struct kunit *test, struct shim_side *side);

/* The device's address */
extern struct sockaddr_in shim_addr;
/*
 * iWARP, which here means siw: its connect() cannot be interrupted, and it lets
 * a peer read what is registered for writing.
 */
extern bool shim_iwarp;
/* The device, if it is the one in memory */
extern struct memdev *shim_memdev;

#endif /* RPCRDMA_SHIM_H */
