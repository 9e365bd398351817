/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The endpoint: one RPC-over-RDMA connection over ib_verbs, the same for client and
 * server, and for both directions of RPC.
 *
 * It owns the queue pair, the completion queues, the Receives, the Send contexts, the
 * MRs and the connection manager id. It passes received messages to the protocol engine
 * and runs the actions that the engine decides on. The transports above it poll it for
 * complete Calls and Replies.
 *
 * Locking: ep->lock protects the engine's connection state, its account of the Send
 * Queue and the lists of work. It is held across ib_post_send() so that the order in
 * which the engine counts messages is their order on the wire. It is never held across
 * an upcall. The completion handlers and the upcall messages() run in softirq context,
 * and take none of the endpoint's locks. The event handler of the queue pair may run
 * in any context, and takes none either. Everything else runs in process context.
 *
 * Lifetime: rpcrdma_ep_connect() and the incoming() upcall give the transport a
 * reference. The event that ends the connection, for instance rpcrdma_ep_close(),
 * queues the teardown on a workqueue of this module. When nothing of the connection is
 * left on the device, ops->closed() is called, once, and no upcall follows it. If
 * rpcrdma_ep_connect() has failed, closed() is not called. The memory is freed with
 * the last reference.
 */
#ifndef RPCRDMA_ENDPOINT_H
#define RPCRDMA_ENDPOINT_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>

#include <rpcrdma/endpoint_receive.h>
#include <rpcrdma/endpoint_mrs.h>
#include <rpcrdma/engine.h>

#include "context.h"

struct rpcrdma_ep;
struct rpcrdma_rw;
struct rpcrdma_listener;

/* A chain of Work Requests that is posted with one doorbell */
struct rpcrdma_chain {
	struct rpcrdma_work	*work;		/* the work item of this chain */
	struct ib_send_wr	*first, *last;	/* last->wr_cqe is cqe */
	struct ib_cqe		cqe;
	struct llist_node	completed;	/* completed, not reaped yet */
};

struct rpcrdma_ep_ops {
	/*
	 * All upcalls except messages() and changed() run in process context with no
	 * lock held and may sleep briefly. Each may run before incoming() or connect()
	 * has returned.
	 */

	/*
	 * Messages have arrived: arrange that a thread soon calls rpcrdma_ep_poll(). If
	 * this returns false, a work item calls poll() immediately. If it returns true
	 * and no thread polls within 10 ms, a work item does. NULL: a work item calls
	 * poll() immediately.
	 * Context: softirq, must not sleep.
	 */
	bool (*messages)(struct rpcrdma_ep *ep);
	/*
	 * Call rpcrdma_ep_poll() until it returns NULL, and process the messages it
	 * returns. For a work item, and for the teardown.
	 */
	void (*poll)(struct rpcrdma_ep *ep);
	/*
	 * Retry Calls that got -EAGAIN, and produce Replies that waited for resources.
	 */
	void (*write_space)(struct rpcrdma_ep *ep);
	/* RPC traffic may begin. Called once. */
	void (*opened)(struct rpcrdma_ep *ep);
	/*
	 * Nothing of the connection is left on the device: no memory is exposed, and no
	 * work or Receive remains, except Receives that the transport has still to
	 * release. Called once, last, from the module's workqueue.
	 */
	void (*closed)(struct rpcrdma_ep *ep);
	/*
	 * The connection has opened, or begins to close after it was open. NULL: no
	 * call.
	 * Context: a spinlock may be held, must not sleep.
	 */
	void (*changed)(struct rpcrdma_ep *ep);
};

struct rpcrdma_ep {
	/* The first member, so that both have one address */
	struct rpcrdma_ep_core	core;
	spinlock_t		lock;
	/* Memory charged to the peer */
	struct rpcrdma_quota_account memory;
	spinlock_t		memory_lock;
	const struct rpcrdma_ep_ops *ops;
	void			*priv;		/* the transport's */
	struct rpcrdma_ep_params params;
	bool			client;
	/* Work items may use the memory reserves: reclaim may wait for a swap file. */
	bool			reserves;
	bool			first;		/* RPCRDMA_CONNECT_FIRST */
	struct net		*net;
	/* @local: a client's address to bind to, if it has one, before its setup */
	struct sockaddr_storage	local, remote;

	struct kref		kref;
	struct list_head	node;		/* list of all endpoints */
	u64			number;		/* grows along that list, never 0 */
	struct rdma_cm_id	*id;
	struct ib_device	*device;
	bool			softirq;	/* the device sends in softirqs */
	int			device_node;	/* NUMA node or NUMA_NO_NODE */
	struct ib_pd		*pd;
	u32			lkey;		/* of the PD; outlives it */
	struct ib_qp		*qp;
	/* For transfers that outlive the queue pair, see rpcrdma_rw_late_begin() */
	struct ib_qp		*late_qp;
	struct ib_cq		*send_cq, *recv_cq;
	atomic_t		users;		/* hold off the teardown */

	/* Send side, under lock */
	const struct ib_send_wr *bad_wr; /* bad_wr of ib_post_send(), unused */
	struct verbs_send	*send_ring;
	struct llist_head	completed;	/* completed work, the newest first */
	struct work_struct	reap_work;	/* reaps completed work */
	const char		*failure;	/* first failure of a Work Request */
	enum ib_wc_status	failure_status;
	bool			flushed;	/* a Work Request was flushed */
	struct ib_cqe		reg_cqe;	/* of REG_MRs, never signaled */
	struct ib_cqe		rw_cqe;		/* of transfers' WRs, never signaled */

	struct work_struct	rw_work;	/* retries transfers */

	/* Receives */
	struct llist_head rx_new; /* completed, the newest first */
	unsigned long rx_busy;	  /* bit 0: messages in processing */
	struct delayed_work	recv_work;	/* fallback that processes messages */

	/* MRs */
	spinlock_t		mr_lock;	/* protects core.mrs */
	struct mutex		unmap_mutex;	/* held by MR owners and the teardown */
	u32			max_element;	/* bytes, a multiple of the page size */
	struct delayed_work	mr_work;	/* allocates MRs */
	struct delayed_work	exposed_work;	/* finds overdue exposures */

	atomic64_t		local_inv;

	struct delayed_work	open_timer;
	struct delayed_work	stall_timer;
	struct work_struct	auth_work;	/* answers rpcrdma_port_auth() */
	/* For a Diffie-Hellman exchange; used by auth_work only until the teardown */
	struct crypto_kpp	*auth_private;
	struct work_struct	opened_work;	/* see rpcrdma_port_open_later() */
	struct work_struct	broken_work;	/* the device reported a fatal error */
	struct work_struct	accept_work;	/* a server's setup */
	struct work_struct	teardown_work;
	/* Hook by which lower files of the endpoint call a higher one */
	void			(*release)(struct kref *kref);
	wait_queue_head_t wait; /* life->step_done; users; mrs.notify_seq */
	struct completion	made;		/* connect or accept has returned */
	struct completion	gone;		/* nothing left on the device */
	struct completion	closed;		/* closed() has returned */
};

/* Return the endpoint around its core's part. */
static inline struct rpcrdma_ep *rpcrdma_ep_of(const struct rpcrdma_ep_core *core)
{
	return container_of(core, struct rpcrdma_ep, core);
}

static inline struct rpcrdma_mr_limits
rpcrdma_mrs_limits(const struct rpcrdma_ep *ep)
{
	return rpcrdma_core_mrs_limits(&ep->core);
}

static inline void rpcrdma_ep_get(struct rpcrdma_ep *ep)
{
	kref_get(&ep->kref);
}
/*
 * Drop a reference. Process context, because the last one frees memory under a mutex.
 */
static inline void rpcrdma_ep_put(struct rpcrdma_ep *ep)
{
	kref_put(&ep->kref, ep->release);
}

enum {
	/* Use the memory reserves, see rpcrdma_ep_set_reserves(). */
	RPCRDMA_CONNECT_RESERVES	= 1 << 0,
	/* No file depends on the connection: host authentication may load modules. */
	RPCRDMA_CONNECT_FIRST		= 1 << 1,
};

/*
 * Open a connection and exchange properties. Sleeps, with a bound; only
 * rpcrdma_ep_close() interrupts it. @src may be NULL.
 * @how: RPCRDMA_CONNECT_* flags
 * @answer: unless NULL, set to what a failed attempt has shown of the server's
 * versions.
 * Return: an open endpoint with a reference, or an ERR_PTR, in which case no upcall
 * except opened() was called, and none will be. -EPROTONOSUPPORT: the peer accepted the
 * connection, but did not open it with the version that was tried.
 */
struct rpcrdma_ep *rpcrdma_ep_connect(struct net *net,
				      const struct sockaddr *dst,
				      const struct sockaddr *src,
				      const struct rpcrdma_ep_params *params,
				      const struct rpcrdma_ep_ops *ops,
				      void *priv, unsigned int how,
				      enum rpcrdma_answer *answer);

/*
 * Let work items of @ep use the memory reserves from now on, or not. While there is a swap
 * file on a client's connection, memory reclaim waits for RPCs, and these for the
 * allocation of MRs, for received messages and for a reconnect.
 */
static inline void rpcrdma_ep_set_reserves(struct rpcrdma_ep *ep, bool reserves)
{
	WRITE_ONCE(ep->reserves, reserves);
}

/*
 * Begin to close; returns immediately. Nothing is posted from here on. May be called any
 * number of times.
 * @reason: a static string for the log and the trace, or NULL for an ordinary end.
 * Context: process context. The caller holds none of the endpoint's locks, but may hold
 * a spinlock of the transport, see changed().
 */
static inline void rpcrdma_ep_close(struct rpcrdma_ep *ep, const char *reason)
{
	rpcrdma_core_close(&ep->core, reason);
}

/*
 * Wait until the teardown has ended and closed() has returned: for at most the time that
 * the device needs to flush its queues. Sleeps; not from an upcall.
 */
void rpcrdma_ep_wait_closed(struct rpcrdma_ep *ep);

static inline bool rpcrdma_ep_is_open(const struct rpcrdma_ep *ep)
{
	return READ_ONCE(ep->core.life.stage) == RPCRDMA_STAGE_OPEN;
}

/* Return true if nothing may be posted any more. A hint without ep->lock. */
static inline bool rpcrdma_ep_is_closing(const struct rpcrdma_ep *ep)
{
	return READ_ONCE(ep->core.life.stage) >= RPCRDMA_STAGE_CLOSING;
}

/*
 * Listen at @addr. @incoming is called in process context with a new endpoint, which has
 * its addresses. To accept the connection, with a reference for the transport, it sets
 * @ep->ops, @ep->priv and @ep->params and returns 0. To reject the connection it returns
 * a negative errno. @incoming must be quick; a work item creates the device's objects
 * afterwards. If the setup fails, or the peer does not finish opening in time, closed()
 * is called without opened(). Sleeps. Return: a listener or an ERR_PTR.
 */
struct rpcrdma_listener *
rpcrdma_listen(struct net *net, const struct sockaddr *addr,
	       int (*incoming)(void *priv, struct rpcrdma_ep *ep), void *priv);
/* Stop listening; incoming() does not run afterwards. Sleeps. */
void rpcrdma_listener_destroy(struct rpcrdma_listener *listener);
/* Return the bound address, including the port. */
const struct sockaddr *rpcrdma_listener_addr(struct rpcrdma_listener *l);
/*
 * Get the first listener in @net with a number of at least @number: its address, and
 * whether it is listening. Return its number, or 0 if there is none. Sleeps.
 */
u64 rpcrdma_listener_from(struct net *net, u64 number, struct sockaddr_storage *addr,
			  bool *listening);

/*
 * Return the endpoint after @ep, NULL for the first, each with a reference; that of @ep is
 * dropped. An endpoint with a reference stays in the list, so that no lock is held between
 * the calls. Sleeps.
 */
struct rpcrdma_ep *rpcrdma_ep_next(struct rpcrdma_ep *ep);
/*
 * Return the first endpoint with a number of at least @number, with a reference, or NULL.
 * To continue an interrupted walk, pass the last number plus 1: no endpoint is skipped,
 * although others may have left the list meanwhile. Sleeps.
 */
struct rpcrdma_ep *rpcrdma_ep_from(u64 number);

/*
 * Count an event in the connection's network namespace, to which its CM ID holds a
 * reference. Any context.
 */
void rpcrdma_ep_count(struct rpcrdma_ep *ep, enum rpcrdma_counter counter);
/* Return a counter of @net. */
u64 rpcrdma_counted(struct net *net, enum rpcrdma_counter counter);

/*
 * Return true if a peer with the address @remote must prove an identity in @net, so that
 * version 1 is refused, or if that could not be found out. Sleeps.
 */
bool rpcrdma_auth_is_expected(struct net *net,
			      const struct sockaddr_storage *remote);

/*
 * Look up the algorithms of host authentication for a listener with @mode, an enum
 * rpcrdma_auth_mode, unless that is none. May load modules. Sleeps.
 */
void rpcrdma_auth_listen(u32 mode);

/* Module start and end. rpcrdma_ep_exit() waits until no endpoint is left, too. */
int rpcrdma_ep_init(void);
void rpcrdma_ep_wait_all(void);
void rpcrdma_ep_exit(void);

#endif /* RPCRDMA_ENDPOINT_H */
