/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KUnit tests of the endpoint, the xdr_buf geometry and the transports. They are one
 * module with its own copy of these and of the engine, because rpcrdma.ko exports
 * nothing.
 *
 * The endpoint is compiled against wrappers of the kernel's RDMA interfaces. The
 * wrappers count allocations and mappings, and check rules that software devices do not
 * check. On request they inject failures or drop Work Requests.
 */
#ifndef RPCRDMA_LOOPBACK_H
#define RPCRDMA_LOOPBACK_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "../../net/sunrpc/xprtrdma/verbs/charge.h"
#include "../../net/sunrpc/xprtrdma/verbs/data.h"
#include "../../net/sunrpc/xprtrdma/verbs/receiving.h"
#include "../../net/sunrpc/xprtrdma/verbs/sending.h"
#include "../memdev/memdev.h"

enum {
	LOOP_WAIT_S = 60,	/* emulated machines are slow */
	LOOP_ANY_ORDER = 32,
};

/* Poll for a condition that no upcall reports. True if the condition is met in time. */
#define loop_poll(cond)							\
({									\
	unsigned long __end = jiffies + LOOP_WAIT_S * HZ;		\
									\
	while (!(cond) && time_before(jiffies, __end))			\
		schedule_timeout_uninterruptible(1);			\
	(cond);								\
})

/* Objects allocated and not yet freed, over all endpoints */
struct loop_balance {
	atomic_t	pds, cqs, qps, mrs;
	atomic_t	rws;		/* rdma_rw contexts */
	atomic_t	maps;		/* DMA mappings, single and scatterlist */
	atomic64_t	octets;		/* bytes mapped by these */
	atomic64_t	buffers;	/* bytes of buffers larger than a page */
};
extern struct loop_balance loop_balance;

/*
 * Number of rule violations. Posting violates a rule if, for example, a Work Request is
 * not charged to the Send Queue, has no wr_cqe (its failure would not be reported) or
 * finds no slot, if an MR is registered twice, or if an iWARP Read needs more than one MR
 * in one rdma_rw context. Memory rules are violated if a connection is set up or torn
 * down in a context in which reclaim may recurse, or if a scatterlist is unmapped with a
 * lock held.
 */
extern atomic_t loop_misuse;
/* Count misuse if the caller's allocations may wait for a file to be written back. */
void loop_check_nofs(void);
/* Number of invalidations of an invalid handle */
extern atomic_t loop_double_inv;
/* Return the number of handles that are registered and not yet invalidated. */
unsigned int loop_valid_handles(void);

/* Fail the @n-th operation from now on that can fail. 0: none. */
void loop_fail_at(unsigned int n);
/* Return true if the requested failure has happened. */
bool loop_failed(void);

/* Accept the Work Requests of these sides, but never execute them. */
enum {
	LOOP_MUTE_CLIENT = 1,
	LOOP_MUTE_SERVER = 2,
};
extern unsigned int loop_mute;

/* On these sides, fail to post Work Requests with this enum ib_wr_opcode. */
extern unsigned int loop_unpostable, loop_unpostable_opcode;

/*
 * Expect @n server endpoints to be set up at the same time: the setup of each waits
 * for the last one, and counts misuse if that does not arrive. 0: no expectation.
 */
void loop_expect_crowd(unsigned int n);
/* Remove the device of the next server endpoint during its setup. */
extern bool loop_removal_in_setup;
/* If not NULL, called before a queue pair is destroyed */
extern void (*loop_before_destroy)(void);
/* Maximum depth of the Send Queue of a server [0] and a client [1]; 0: no limit */
extern unsigned int loop_max_send_wr[2];
/*
 * Order of the largest block that memory is available for, as if it was fragmented; and the
 * number of larger blocks that are available nevertheless
 */
extern unsigned int loop_largest_order;
extern atomic_t loop_larger_blocks;
/*
 * Maximum number of rdma_rw contexts for Reads, 0: no limit; and how often a context
 * was refused because of it
 */
extern int loop_reads_at_most;
extern atomic_t loop_reads_refused;

/* Number of rdma_listen() calls; whether to remove the device during the next one */
extern unsigned int loop_listens;
extern bool loop_removal_at_listen;
/* If not NULL, binding an address fails, and leaves the id with this device. */
extern struct ib_device *loop_stale_device;
/* Number of ids that the endpoint has destroyed, and not the connection manager */
extern atomic_t loop_ids_destroyed;
/* Report the CM event @type to @l, and wait for the work that it schedules. */
void loop_listener_event(struct rpcrdma_listener *l, int type);

/* ---- Host authentication ---- */

#define LOOP_IDENTITY	"loopback.example.test"

enum {
	/* Look-ups of a handshake: client, server, client's proofs, server's proofs */
	LOOP_LOOKUPS = 4,
};
/* The results of these look-ups, NULL for no key, and the number of look-ups made */
extern struct key *loop_secrets[LOOP_LOOKUPS];
extern unsigned int loop_lookups;
/* The key with the identity that the peer's address must prove, or NULL */
extern struct key *loop_peer_key;
/* If not NULL, called during look-up @n */
extern void (*loop_at_lookup)(unsigned int n);
/*
 * Until loop_find_algs(), the kernel has no algorithm with @loop_no_hash in its name, or no
 * Diffie-Hellman.
 */
extern const char *loop_no_hash;
extern bool loop_no_dh;
/* Look up the algorithms, as the first connection of a mount does. */
void loop_find_algs(void);
/* Release the algorithms, as if they had not been looked up. */
void loop_forget_algs(void);
/* Number of allocations of Diffie-Hellman; number of look-ups of an algorithm */
extern atomic_t loop_dh_allocs, loop_alg_lookups;
/* Return a key with @octets bytes of @secret, or an ERR_PTR(). */
struct key *loop_key(const char *secret, size_t octets);
/* Return a key with the identity that a peer must prove. */
struct key *loop_identity_key(const char *identity);
/* Let each look-up from now on find @key, which may be NULL. */
void loop_find(struct key *key);
/* Write to the parameter end_identity. */
int loop_end_identity(const char *identity);
/* Set the identity of this host. */
void loop_set_identity(const char *identity);

/* Let each workqueue run one work item at a time, until the suite ends. */
void loop_limit_queues(void);
/* Wait for the end of the work items of all connections that have begun or are queued. */
void loop_flush_queues(void);
/* Return the number of endpoints that have not been freed. */
unsigned int loop_nr_endpoints(void);

/* ---- Memory reserves ---- */

/*
 * Return true if @function, NULL for any, has run with the memory reserves since
 * loop_forget_reserves(): a function of verbs/, or ib_alloc_mr().
 */
bool loop_used_reserves(const char *function);
void loop_forget_reserves(void);

/* ---- Wrappers for parts of the transports ---- */

struct svc_rqst;
struct svc_serv;
struct xprt_create;

/* A callback service that was freed. Using it is misuse. */
extern const struct svc_serv *loop_dead_service;
/* Fail the allocation of a client's transfers for callbacks. */
extern bool loop_no_transfers;
/* Fail that many allocations of continued Calls. */
extern unsigned int loop_no_streams;
/* Flags of the task that called rpcrdma_ep_connect() last */
extern unsigned int loop_connect_flags;
extern atomic_t loop_changes;
/* Set up the server's reverse direction, as sunrpc does. */
struct rpc_xprt *loop_bc_setup(struct xprt_create *args);
/*
 * True if the reverse direction has put its module reference outside of any work item
 */
extern bool loop_bc_put_outside;
extern bool loop_bc_closing;
extern unsigned int loop_bc_sends;
/* Set the flags of @rqstp as for a received Call. */
void loop_svc_set_flags(struct svc_rqst *rqstp);
/*
 * Write the client's lowest version and, after that value was checked but before it is
 * stored, its highest version. Return 0, or the errno of the first write that failed.
 */
int loop_cross_versions(const char *min, const char *max);

/* ---- The two sides of a connection ---- */

/* One side of a connection, in place of a transport */
struct loop_side {
	struct rpcrdma_ep	*ep;		/* holds a reference, or NULL */
	wait_queue_head_t	wait;
	struct mutex		calls_lock;	/* one Call is sent at a time */
	spinlock_t		lock;
	struct list_head	held;		/* Receives not put yet */
	unsigned int		nr_held;
	struct list_head	rpcs;		/* RPCs without a Reply yet */
	bool			hold_calls, hold_replies;
	struct work_struct	recv_work;	/* a server processes messages */
	bool			no_service_thread;	/* do not queue @recv_work */
	bool			close_on_open;
	bool			no_inv;		/* no Remote Invalidation in Replies */
	bool			no_done;	/* never send DONE */
	bool			plain_done;	/* no Remote Invalidation in DONE */
	u32			xid;
	atomic_t		calls, replies, errors, served;
	atomic_t		exposed, released;	/* pulled Replies */
	atomic_t		notified;	/* upcalls for messages */
	atomic_t		opened, space, closed;
	atomic_t		late;		/* upcalls after closed() */
	atomic_t		bad;		/* other unexpected results */
	struct completion	gone;		/* closed() was called */
};

struct loop_pair {
	struct rpcrdma_listener	*listener;
	struct loop_side	client, server;
	struct rpcrdma_ep_params client_params, server_params;
	unsigned int		how;		/* RPCRDMA_CONNECT_* of the client */
	bool			reject;
	/* Clear the device's MEM_MGT_EXTENSIONS after the client has checked it. */
	bool			no_frwr;
	/*
	 * Protects @server.ep, because a connect request may arrive long after its
	 * connection was closed.
	 */
	struct mutex		lock;
	bool			over;
};

/* Memory of an RPC: @len bytes, starting @base bytes into the first page */
struct loop_buf {
	struct page		**pages;
	struct rpcrdma_extent	*ext;		/* one, or one per page */
	u32			nr, nr_ext, base, len;
	u32			chop;
};

int loop_buf_alloc(struct loop_buf *buf, u32 base, u32 len);
/* Allocate @buf with at most @chop bytes per page, so that pages are not adjacent. */
int loop_buf_alloc_chopped(struct loop_buf *buf, u32 base, u32 len, u32 chop);
void loop_buf_free(struct loop_buf *buf);
void loop_buf_fill(struct loop_buf *buf, u32 seed);
/* Return the index of the first byte that differs from loop_buf_fill()'s, or buf->len. */
u32 loop_buf_check(const struct loop_buf *buf, u32 seed);

/* One RPC of the tests */
struct loop_rpc {
	struct list_head	list;
	u32			xid;
	struct list_head	mrs;
	struct rpcrdma_lists	lists;
	struct completion	done;
	int			status;
	bool			exposed;	/* MRs still exposed at the Reply */
	u32			placed;
	/* Memory to convey in a Read chunk, and in a Write chunk */
	struct loop_buf		*arg, *res;
	/* Bytes in the messages themselves; large ones are continued or pulled */
	u32			inline_arg, inline_res;
	u32			got;		/* bytes received of inline_res */
	bool			pulled;
	struct rpcrdma_lists	reply_lists;	/* lists of a pulled Reply */
	u32			seed;
};

/* Initialise a suite: over any device except the one in memory, or over that one. */
int loop_suite_init(struct kunit_suite *suite);
int loop_mem_suite_init(struct kunit_suite *suite);
void loop_suite_exit(struct kunit_suite *suite);

/* Reset counts before a test; check that all is freed after everything is closed. */
void loop_test_begin(void);
void loop_check_gone(struct kunit *test);

/*
 * Return a pair with a listener and no connection, or an ERR_PTR(). The test frees it, but
 * not its listener.
 */
struct loop_pair *loop_pair_new(struct kunit *test);
/* Set up and tear down a fixture with one such pair. */
int loop_test_init(struct kunit *test);
void loop_test_exit(struct kunit *test);

/* Connect. Return 0 or a negative errno. */
int loop_connect(struct loop_pair *pair);
/* Close, wait for both closed(), and put the references. */
void loop_close(struct kunit *test, struct loop_pair *pair);
/* Close the only connection as loop_close() does, and check that all objects are freed. */
void loop_disconnect(struct kunit *test, struct loop_pair *pair);
/* Return true if closed() of @side is called within LOOP_WAIT_S. */
bool loop_wait_gone(struct loop_side *side);

void loop_rpc_init(struct loop_rpc *rpc, struct loop_buf *arg,
		   struct loop_buf *res);
/* Send the Call, waiting for space. Return 0, or a negative errno if nothing is sent. */
int loop_rpc_send(struct loop_side *side, struct loop_rpc *rpc);
/* Try once to send the Call. Return -EAGAIN if there is no space. */
int loop_rpc_try(struct loop_side *side, struct loop_rpc *rpc);
/* Wait for the Reply. Return 0 or a negative errno. */
int loop_rpc_wait(struct loop_side *side, struct loop_rpc *rpc);
/* Abandon or finish the RPC. Its memory is no longer exposed afterwards. */
void loop_rpc_end(struct loop_side *side, struct loop_rpc *rpc);
/* Send the Call, wait for the Reply, end the RPC, and check the result. */
int loop_rpc_do(struct loop_side *side, struct loop_rpc *rpc);

/* Serve @n held Calls, or put @n held Replies. */
void loop_release(struct loop_side *side, unsigned int n);

/* Wait until @side is idle and all its accounts balance. Fail the test otherwise. */
void loop_check_idle(struct kunit *test, struct loop_side *side);

/* Address of the device under test */
extern struct sockaddr_in loop_addr;
/*
 * The device is siw (iWARP): its connect() cannot be interrupted, and a peer can read
 * memory that is registered for writing only.
 */
extern bool loop_iwarp;
/* The device under test if it is the one in memory, or NULL */
extern struct memdev *loop_memdev;

#endif /* RPCRDMA_LOOPBACK_H */
