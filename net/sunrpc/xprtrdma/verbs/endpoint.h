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
 * an upcall. Everything here runs in process context, except the completion of a
 * server's Receives and the upcall messages(), which therefore take no lock.
 *
 * Lifetime: rpcrdma_ep_connect() and the incoming() upcall give the transport a
 * reference. rpcrdma_ep_close() schedules the teardown on a workqueue of this module,
 * whichever side ends the connection. When nothing of the connection is left on the
 * device, ops->closed() is called, once, and no upcall follows it. The memory is freed
 * with the last reference.
 */
#ifndef RPCRDMA_ENDPOINT_H
#define RPCRDMA_ENDPOINT_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>

#include <rpcrdma/endpoint_receive.h>
#include <rpcrdma/endpoint_regions.h>
#include <rpcrdma/engine.h>

struct rpcrdma_ep;
struct rpcrdma_rw;
struct rpcrdma_listener;

/* ------------------------------------------------------------------ */
/* Received messages                                                   */

/* A Receive with its Work Request */
struct verbs_recv {
	struct rpcrdma_recv	core;
	struct ib_recv_wr	wr;
	struct ib_sge		sge;		/* length 0: unmapped */
	struct ib_cqe		cqe;
	u8			status;		/* enum ib_wc_status if it failed */
};

/*
 * Release a Receive. It is posted again when the engine wants it, and a credit grant
 * that is due is sent. A responder may hold any number of Receives while it processes
 * them: that is what limits its load (WP 3). A Receive that the transport holds keeps
 * the memory of its endpoint, even past closed(). @rv may be freed when this returns,
 * with the endpoint.
 * Context: process context, no lock held.
 */
void rpcrdma_recv_put(struct rpcrdma_recv *rv);

/* ------------------------------------------------------------------ */
/* Work Requests                                                       */

/* A chain of Work Requests that is posted with one doorbell */
struct rpcrdma_chain {
	struct rpcrdma_work	*work;		/* of which it is the chain */
	struct ib_send_wr	*first, *last;	/* last->wr_cqe is cqe */
	struct ib_cqe		cqe;
	struct llist_node	completed;	/* completed, not reaped yet */
};

/* A Send context with its Work Request */
struct verbs_send {
	struct rpcrdma_send	core;
	struct rpcrdma_chain	chain;
	struct ib_send_wr	wr;
	struct ib_sge		sge;
};

/*
 * Return a free Send context, or NULL if there is none: retry after write_space().
 * Release unused contexts with rpcrdma_send_put().
 * Context: process context.
 */
struct rpcrdma_send *rpcrdma_send_get(struct rpcrdma_ep *ep);
void rpcrdma_send_put(struct rpcrdma_send *s);

/*
 * Ensure that s->buf has space for @octets bytes before a message is written to it.
 * @gfp: a client does not wait for memory that may become free only after it has sent
 * the message it is about to send.
 * Context: process context, no lock held.
 * Return: 0; -EMSGSIZE if the peer accepts no such message; -ENOTCONN if the connection
 * is closing; -ENOMEM.
 */
#define RPCRDMA_GFP_CLIENT	(GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN)
int rpcrdma_send_larger(struct rpcrdma_send *s, u32 octets, gfp_t gfp);
static inline int rpcrdma_send_room(struct rpcrdma_send *s, u32 octets,
				    gfp_t gfp)
{
	return likely(octets <= s->size) ? 0 :
					   rpcrdma_send_larger(s, octets, gfp);
}

/*
 * Reserve a Send context for a Reply before its Call is processed, so that the Reply
 * never waits for one. Return NULL if there is none; some contexts are kept for Calls
 * of this end. rpcrdma_ep_may_reply() returns whether a context can be reserved.
 * Otherwise write_space() will be called, unless the connection is lost.
 */
struct rpcrdma_send *rpcrdma_send_reserve(struct rpcrdma_ep *ep);
static inline bool rpcrdma_ep_may_reply(struct rpcrdma_ep *ep);
bool rpcrdma_ep_ask_for_reply(struct rpcrdma_ep *ep);

/*
 * Return true if a Call can be sent now. Otherwise write_space() will be called.
 * Another sender may be faster: rpcrdma_send_call() then returns an error.
 * Context: process context, no lock held.
 */
bool rpcrdma_ep_may_call(struct rpcrdma_ep *ep);

/*
 * Send a Call: s->buf holds header and inline payload, s->len bytes.
 * @s: from rpcrdma_send_for_call().
 * @mrs: the MRs its header names, or NULL; they are registered with the same doorbell.
 * @format: for the counters.
 * @lists: its chunk lists, or NULL; for the counters.
 * @x: its exchange, marked as sent before a Reply can arrive, or NULL.
 * Context: process context.
 * Return: 0, the next Call uses another Send context; -EAGAIN if the window or the Send
 * Queue is full, write_space() will be called; -EIO if it needs more Work Requests than
 * the Send Queue can ever hold; -ENOTCONN if the connection is closing. On error the
 * caller keeps @mrs, unposted.
 */
int rpcrdma_send_call(struct rpcrdma_send *s, struct list_head *mrs,
		      enum rpcrdma_format format,
		      const struct rpcrdma_lists *lists,
		      struct rpcrdma_exchange *x);

/*
 * Send a Reply. It waits for window and Send Queue space in order, without blocking the
 * caller. Consumes @s and @rw in every case, and @s->exposed, which the caller may have
 * set.
 * @rw: Writes posted before it, or NULL.
 * @inv_handle: handle to invalidate at the peer, 0 for an ordinary Send.
 * @format: for the counters.
 * @lists: its chunk lists, or NULL.
 * Context: process context.
 * Return: 0 or -ENOTCONN.
 */
int rpcrdma_send_reply(struct rpcrdma_send *s, struct rpcrdma_rw *rw,
		       u32 inv_handle, enum rpcrdma_format format,
		       const struct rpcrdma_lists *lists);

/*
 * Return a stream with space for @len bytes of payload, which the caller fills in, or
 * NULL if out of memory. @lists: NULL for none. @gfp: without __GFP_FS.
 * Context: process context, may sleep, without starting I/O.
 */
struct rpcrdma_stream *rpcrdma_stream_alloc(enum rpcrdma_kind kind, u32 xid,
					    u32 len,
					    const struct rpcrdma_lists *lists,
					    gfp_t gfp);
/* Free a stream that was not sent. @st may be NULL. */
void rpcrdma_stream_free(struct rpcrdma_stream *st);

/*
 * Send a continued Call: the first message is posted now, the others as the window
 * opens. The MRs are registered with the first message. After that @st does not refer
 * to them, and the RPC may end at any time. On error the caller keeps @st.
 * @mrs: the MRs that the last message names, or NULL.
 * Context: process context.
 * Return: as for rpcrdma_send_call().
 */
int rpcrdma_send_continued_call(struct rpcrdma_ep *ep,
				struct rpcrdma_stream *st,
				struct list_head *mrs,
				struct rpcrdma_exchange *x);

/*
 * Send a continued Reply, in order, like rpcrdma_send_reply(). Consumes @st and @rw.
 * @rw and @inv_handle belong to the last message.
 */
int rpcrdma_send_continued_reply(struct rpcrdma_ep *ep,
				 struct rpcrdma_stream *st,
				 struct rpcrdma_rw *rw, u32 inv_handle);

/*
 * Refuse the Call with @xid (7): the ERROR is queued and sent in order.
 * rpcrdma_ep_send_error() is for errors that a plan reports.
 * Context: process context.
 */
void rpcrdma_ep_send_error(struct rpcrdma_ep *ep, u32 xid, u32 code, u32 arg0,
			   u32 arg1);
static inline void rpcrdma_ep_refuse(struct rpcrdma_ep *ep, u32 xid,
				     enum rpcrdma_refusal refusal)
{
	rpcrdma_ep_send_error(ep, xid, rpcrdma_refusal_code(refusal), 0, 0);
}

/*
 * Notify the peer that this end needs the pulled Reply to @xid no longer (DR 4.1.3).
 * The message is queued and sent in order.
 * @inv_handle: the handle that the Reply named, or 0.
 * Context: process context.
 */
void rpcrdma_ep_send_done(struct rpcrdma_ep *ep, u32 xid, u32 inv_handle);

/*
 * Call rpcrdma_call_refused() for a Call of this end.
 * Context: process context, no lock held.
 */
int rpcrdma_ep_refused(struct rpcrdma_ep *ep, const struct rpcrdma_rx *rx,
		       const struct rpcrdma_call *call,
		       const struct rpcrdma_lists *offered,
		       struct rpcrdma_recovery *recovery);

/* ------------------------------------------------------------------ */
/* Memory that data is moved from and to                                */

/*
 * A contiguous range of bytes, either in pages, all whole except the first and the
 * last, or in the linear mapping. A few of these describe any content of an xdr_buf.
 */
struct rpcrdma_extent {
	struct page		**pages;	/* NULL: linear */
	u8			*linear;	/* start of its first page */
	u32			offset;		/* offset in the first page */
	u32			length;		/* bytes, not 0 */
};

/* Return the extent of @length bytes that starts at byte @offset of @pages. */
static inline struct rpcrdma_extent
rpcrdma_extent_of_pages(struct page **pages, u32 offset, u32 length)
{
	return (struct rpcrdma_extent){
		.pages	= pages + (offset >> PAGE_SHIFT),
		.offset	= offset_in_page(offset),
		.length	= length,
	};
}

/*
 * Return the extent of @length bytes at @p, which is in the linear mapping (kmalloc or
 * a page).
 */
static inline struct rpcrdma_extent rpcrdma_extent_of(void *p, u32 length)
{
	return (struct rpcrdma_extent){
		.linear	= p - offset_in_page(p),
		.offset	= offset_in_page(p),
		.length	= length,
	};
}

/* ------------------------------------------------------------------ */
/* MRs of a Requester's Calls and of a Responder's Replies              */

/* An MR (FRWR) of one connection */
struct verbs_mr {
	struct rpcrdma_mr	core;
	struct rpcrdma_ep	*ep;
	struct ib_mr		*ibmr;		/* NULL after the teardown */
	struct scatterlist	*sg;
	int			nents;		/* elements mapped, or 0 */
	enum dma_data_direction	dir;
	union {
		struct ib_reg_wr	reg_wr;
		struct ib_send_wr	inv_wr;
	};
};

/* Call rpcrdma_core_mrs_cut(). */
static inline struct rpcrdma_cut rpcrdma_mrs_cut(const struct rpcrdma_ep *ep);

/*
 * Prepare MRs for the memory in the @nr elements of @ext and append them to @mrs and,
 * as segments, to the last chunk of @lists. The Send that they are passed to exposes
 * them. No segment is longer than the peer accepts.
 * @remote_write: the peer may write (else read).
 * Return: 0; -EAGAIN if no MR is free, write_space() will be called; -EFAULT if a page
 * is missing; or another negative errno. On error @mrs keeps the MRs prepared so far:
 * the caller must rpcrdma_mrs_put() it.
 */
int rpcrdma_mrs_map(struct rpcrdma_ep *ep, struct list_head *mrs,
		    const struct rpcrdma_extent *ext, u32 nr,
		    bool remote_write, struct rpcrdma_lists *lists);

/*
 * Record that the peer has invalidated @handle. Return true if @handle belongs to an
 * exposed MR in @mrs; the MR is no longer exposed then.
 */
bool rpcrdma_mrs_invalidated(struct list_head *mrs, u32 handle);

/* Return true if any MR in @mrs is still exposed. */
static inline bool rpcrdma_mrs_exposed(const struct list_head *mrs)
{
	return rpcrdma_core_mrs_exposed(mrs);
}

/* An invalidation with its Work Requests */
struct verbs_inv {
	struct rpcrdma_inv	core;
	struct rpcrdma_chain	chain;
};

/*
 * Call rpcrdma_core_mrs_invalidate(), which calls inv->core.done().
 * Context: process context, does not sleep.
 */
void rpcrdma_mrs_invalidate(struct rpcrdma_ep *ep, struct list_head *mrs,
			    struct verbs_inv *inv);

/*
 * Invalidate the MRs in @mrs and wait for the invalidation or for the end of the
 * teardown. No peer can access the memory afterwards. Also unmaps the MRs and returns
 * them to the pool; @mrs is empty then. Not from an upcall.
 * Context: process context, sleeps.
 */
void rpcrdma_mrs_release_sync(struct rpcrdma_ep *ep, struct list_head *mrs);

/*
 * Unmap MRs, none of which is exposed, and return them to the pool; @mrs is empty then.
 * write_space() may be called for RPCs that wait for MRs.
 * Context: process context; sleeps, briefly, only during the teardown.
 */
void rpcrdma_mrs_put(struct rpcrdma_ep *ep, struct list_head *mrs);

/* ------------------------------------------------------------------ */
/* Responder: Replies that the peer pulls                              */

/* Embedded in the object that owns the memory of the Reply. */
struct rpcrdma_exposed {
	struct rpcrdma_ep	*ep;
	/*
	 * Called once after @x was attached to a Send, when no peer can access the
	 * memory any more, at the latest before closed(). The Reply has been pulled,
	 * has not been pulled in time, or was not even sent. The callee owns @x.
	 * Context: process context.
	 */
	void			(*release)(struct rpcrdma_exposed *x);

	/* private to the endpoint */
	struct rpcrdma_pulled	core;
	struct verbs_inv	inv;
	struct rpcrdma_lists	lists;
};

/*
 * Prepare to expose the memory in @ext as the Reply that @plan wants to be pulled
 * (plan->read_length), and complete @plan. The Send with s->exposed = &x->core exposes
 * the memory read-only. May sleep, with a bound, while MRs are
 * allocated.
 * Return: 0, the teardown is held off until the Send or the cancellation; -EAGAIN if no
 * MRs became available in time; or another negative errno. plan->error is set if the
 * peer must be notified.
 */
int rpcrdma_expose(struct rpcrdma_ep *ep, struct rpcrdma_exposed *x, u32 xid,
		   const struct rpcrdma_extent *ext, u32 nr,
		   struct rpcrdma_reply_plan *plan);
/* Cancel an exposure that was not sent; release() is not called. */
void rpcrdma_expose_cancel(struct rpcrdma_exposed *x);

/* ------------------------------------------------------------------ */
/* Explicit RDMA: a Responder's, and a Requester's that pulls a Reply   */

/* RDMA Reads or Writes of one RPC, using the rdma_rw API */
struct rpcrdma_rw {
	struct rpcrdma_transfer	core;
	struct rpcrdma_chain	chain;		/* of the batch being posted */
	struct rpcrdma_ep	*ep;
	enum dma_data_direction	dir;	/* FROM_DEVICE: Read, TO_DEVICE: Write */
	gfp_t			gfp;
	struct rpcrdma_read_claim claim; /* to MRs; under ep->lock */
	struct list_head	ctxts;
	struct list_head	*posted;	/* the last one posted, or the head */
	u32			octets;
	/* Called once; the endpoint frees @rw afterwards. Process context. */
	void			(*done)(struct rpcrdma_rw *rw, bool ok);
	void			*priv;	/* the owner's; initially its memory */
};

struct rpcrdma_rw *rpcrdma_rw_alloc(struct rpcrdma_ep *ep,
				    enum dma_data_direction dir, size_t priv,
				    gfp_t gfp);
/* Free an @rw that was not posted; done() is not called. */
void rpcrdma_rw_free(struct rpcrdma_rw *rw);

/*
 * Append the transfer of @length bytes between @chunk, starting at byte @chunk_offset,
 * and the memory in the @nr elements of @ext, starting at byte @offset.
 * Return: 0; -EINVAL if either is shorter; -EFAULT if a page is missing; -E2BIG if the
 * device has too few MRs for it; or another negative errno.
 */
int rpcrdma_rw_add(struct rpcrdma_rw *rw, const struct rpcrdma_lists *lists,
		   const struct rpcrdma_chunk *chunk, u32 chunk_offset,
		   const struct rpcrdma_extent *ext, u32 nr, u32 offset,
		   u32 length);

/*
 * Post Reads. rw->done() is called when they have ended, with @ok false if the
 * connection is closing. They wait in order for Send Queue space, and for the MRs that
 * some devices need for Reads, without blocking the caller. Consumes @rw.
 */
void rpcrdma_rw_read(struct rpcrdma_rw *rw);

/* ------------------------------------------------------------------ */
/* Memory charged to the peer's quota                                  */

/*
 * Attach a connection to the quota of @limit bytes that all attached connections share.
 * The transport calls this from incoming(). The connection is detached with the end of
 * its memory, or earlier, when it is evicted. Nothing is refused to a connection that
 * is not attached.
 */
int rpcrdma_ep_join(struct rpcrdma_ep *ep, u64 limit, u32 message);
void rpcrdma_ep_part(struct rpcrdma_ep *ep);

/* The quota shared by all connections. Only its flags are read without the lock. */
extern struct rpcrdma_memory rpcrdma_memory;

/*
 * Memory accounting. The endpoint charges the memory it allocates itself: continued
 * messages and Replies that wait as streams. The transport charges its pages.
 * rpcrdma_ep_has_room() arranges for write_space() if it returns false;
 * rpcrdma_ep_hold() always succeeds; rpcrdma_ep_give() requires process context without
 * a lock.
 */
bool rpcrdma_ep_has_room(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
			 u64 octets);
void rpcrdma_ep_hold(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
		     u64 octets);
void rpcrdma_ep_give(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
		     u64 octets);
/*
 * Return true if a Call may only be started when rpcrdma_ep_has_room() confirms that
 * there is memory for the Replies to all started Calls and this one. False in the fast
 * path. Any context.
 */
static inline bool rpcrdma_ep_must_ask(const struct rpcrdma_ep *ep);
void rpcrdma_ep_memory(struct rpcrdma_ep *ep,
		       struct rpcrdma_memory_account *account);

/* ------------------------------------------------------------------ */
/* Connections                                                         */

struct rpcrdma_ep_ops {
	/*
	 * All upcalls except messages() run in process context with no lock held and
	 * may sleep briefly. Each may run before incoming() or connect() has returned.
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
	 * The connection is gone from the device: no memory is exposed, and no work or
	 * Receive is left, except Receives that the transport has still to release.
	 * Called once, last, from the module's workqueue.
	 */
	void (*closed)(struct rpcrdma_ep *ep);
};

struct rpcrdma_ep {
	spinlock_t		lock;
	struct rpcrdma_ep_core	core;
	/* Memory charged to the peer */
	struct rpcrdma_memory_account memory;
	spinlock_t		memory_lock;
	const struct rpcrdma_ep_ops *ops;
	void			*priv;		/* the transport's */
	struct rpcrdma_ep_params params;
	bool			client;
	struct net		*net;
	/* @local: a client's address to bind to, if it has one, before its setup */
	struct sockaddr_storage	local, remote;

	struct kref		kref;
	struct list_head	node;		/* list of all endpoints */
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
	const struct ib_send_wr	*refused;	/* bad_wr of ib_post_send(), unused */
	struct verbs_send	*send_ring;
	struct llist_head	completed;	/* completed work, the newest first */
	struct work_struct	reap_work;	/* reaps completed work */
	const char		*failure;	/* of a Work Request */
	enum ib_wc_status	failure_status;
	bool			flushed;	/* a Work Request was flushed */
	struct ib_cqe		reg_cqe;	/* of REG_MRs, never signaled */
	struct ib_cqe		rw_cqe;		/* of transfers' WRs, never signaled */

	u32			read_part, write_part; /* bytes, see rw.c */
	/* MRs of the rdma_rw API, if the device needs them */
	struct rpcrdma_cut	read_cut;	/* the engine's; under lock */
	bool			read_regions;	/* the device needs MRs for Reads */
	struct rpcrdma_read_pool read_pool;	/* the engine's; under lock */
	struct work_struct	rw_work;	/* retries transfers */

	/* Receives */
	struct llist_head	arrived;	/* completed, the newest first */
	unsigned long		taking;		/* bit 0: messages in processing */
	struct delayed_work	take_work;	/* fallback that processes messages */

	/* MRs */
	spinlock_t		mr_lock;	/* protects core.mrs */
	struct mutex		unmap_mutex;	/* held by MR owners and the teardown */
	u32			mr_pages;	/* pages per MR */
	u32			max_element;	/* bytes, a multiple of the page size */
	struct delayed_work	mr_work;	/* allocates MRs */
	struct delayed_work	exposed_work;	/* finds overdue exposures */

	atomic64_t		local_inv;

	struct delayed_work	open_timer;
	struct delayed_work	stall_timer;
	struct work_struct	opened_work;	/* see rpcrdma_port_open_later() */
	struct work_struct	broken_work;	/* the device reported a fatal error */
	struct work_struct	accept_work;	/* a server's setup */
	struct work_struct	teardown_work;
	/* Hook by which lower files of the endpoint call a higher one */
	void			(*release)(struct kref *kref);
	wait_queue_head_t	wait;		/* life->settled; users; mrs.told */
	struct completion	made;		/* connect or accept has returned */
	struct completion	gone;		/* nothing left on the device */
	struct completion	closed;		/* closed() has returned */
};

/* Return the endpoint around its core's part. */
static inline struct rpcrdma_ep *rpcrdma_ep_of(const struct rpcrdma_ep_core *core)
{
	return container_of(core, struct rpcrdma_ep, core);
}

static inline struct rpcrdma_cut rpcrdma_mrs_cut(const struct rpcrdma_ep *ep)
{
	return rpcrdma_core_mrs_cut(&ep->core);
}

/* Return the endpoint of a Receive. */
static inline struct rpcrdma_ep *rpcrdma_recv_ep(const struct rpcrdma_recv *rv)
{
	return rpcrdma_ep_of(rv->core);
}

/* Return the endpoint of a Send context. */
static inline struct rpcrdma_ep *rpcrdma_send_ep(const struct rpcrdma_send *s)
{
	return rpcrdma_ep_of(s->core);
}

/*
 * Begin a message that is sent as a single one: write its header and ensure that
 * @octets bytes of payload, at most 64 KiB, have space after it. s->header_len and
 * s->len are set. @lists: NULL for a message without chunks. @gfp and the return values
 * are those of rpcrdma_send_room().
 */
int rpcrdma_send_begin_larger(struct rpcrdma_send *s, enum rpcrdma_kind kind,
			      enum rpcrdma_format format, u32 xid, u32 octets,
			      const struct rpcrdma_lists *lists, gfp_t gfp);
static inline int rpcrdma_send_begin(struct rpcrdma_send *s,
				     enum rpcrdma_kind kind,
				     enum rpcrdma_format format, u32 xid,
				     u32 octets,
				     const struct rpcrdma_lists *lists,
				     gfp_t gfp)
{
	if (likely(rpcrdma_core_send_begin(s, kind, format, xid, octets, lists)))
		return 0;
	return rpcrdma_send_begin_larger(s, kind, format, xid, octets, lists,
					 gfp);
}

/*
 * Return the Send context in which the next Call is built, or NULL if
 * rpcrdma_ep_may_call() returns false. Calls of a connection are built one at a time,
 * and a Call that is not sent leaves the context to the next one.
 * Context: process context, no lock held.
 */
static inline struct rpcrdma_send *rpcrdma_send_for_call(struct rpcrdma_ep *ep)
{
	return likely(rpcrdma_sq_call_is_likely(&ep->core.conn)) ||
	       rpcrdma_ep_may_call(ep) ? ep->core.call_send : NULL;
}

static inline bool rpcrdma_ep_may_reply(struct rpcrdma_ep *ep)
{
	return likely(rpcrdma_sq_spares(&ep->core.sq)) ||
	       rpcrdma_ep_ask_for_reply(ep);
}

static inline bool rpcrdma_ep_must_ask(const struct rpcrdma_ep *ep)
{
	return rpcrdma_memory_must_ask(&rpcrdma_memory, &ep->memory);
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

/*
 * Open a connection and exchange properties. Sleeps, with a bound; only
 * rpcrdma_ep_close() interrupts it. @src may be NULL.
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
				      void *priv, enum rpcrdma_answer *answer);

/*
 * Begin to close; returns immediately. May be called any number of times.
 * @reason: a static string for the log and the trace, or NULL for an ordinary end.
 * Context: any process context.
 */
void rpcrdma_ep_close(struct rpcrdma_ep *ep, const char *reason);

/* Wait until the teardown has ended and closed() has returned. */
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
 * Return true if there are unprocessed messages, even if a context is processing them.
 * Any context.
 */
static inline bool rpcrdma_ep_holds_messages(const struct rpcrdma_ep *ep)
{
	return !llist_empty(&ep->arrived) ||
	       READ_ONCE(ep->core.arrivals.first);
}

/* Processing of messages by one context, which initializes @ep only */
struct rpcrdma_poll {
	struct rpcrdma_ep	*ep;
	/* private to the endpoint */
	bool			began;
	bool			over;		/* no other message follows */
};

/* End a batch. The endpoint's files and rpcrdma_ep_poll() call this. */
static inline void rpcrdma_ep_poll_end(struct rpcrdma_ep *ep)
{
	clear_bit_unlock(0, &ep->taking);
	/*
	 * The context that checks next sees the messages that have arrived meanwhile.
	 */
	smp_mb__after_atomic();
	if (unlikely(rpcrdma_ep_is_closing(ep)))
		wake_up_all(&ep->wait);
}
struct rpcrdma_recv *rpcrdma_ep_poll_next(struct rpcrdma_poll *poll);

/*
 * Return the next message, in order of arrival: a Call, a Reply, a bad Reply or an
 * ERROR about a Call of this end (rv->verdict). The caller must release it, and has
 * processed or queued it when it asks for the next one. Return NULL at the end of a
 * batch, if there is no message, or if another context processes messages. A context
 * that got a message must call this until it returns NULL: until then no other context
 * processes messages.
 * Context: process context, no lock held, sleeps briefly.
 */
static inline struct rpcrdma_recv *rpcrdma_ep_poll(struct rpcrdma_poll *poll)
{
	if (likely(!poll->over))
		return rpcrdma_ep_poll_next(poll);
	rpcrdma_ep_poll_end(poll->ep);
	return NULL;
}

/*
 * Return true if there are messages and no context processes them. Any context. A
 * caller of rpcrdma_ep_poll() checks this afterwards: it first requests, with a full
 * barrier, to be notified of the next message, and then checks here for messages that
 * it was not notified of.
 */
static inline bool rpcrdma_ep_has_messages(const struct rpcrdma_ep *ep)
{
	return rpcrdma_ep_holds_messages(ep) && !test_bit(0, &ep->taking) &&
	       !rpcrdma_ep_is_closing(ep);
}

/*
 * Listen at @addr. @incoming is called in process context with a new endpoint whose
 * addresses are known. To accept the connection, with a reference for the transport, it
 * sets @ep->ops, @ep->priv and @ep->params and returns 0. To reject the connection it
 * returns a negative errno. A work item creates the device's objects afterwards, so
 * that @incoming is quick. If the setup fails, or the peer does not finish opening in
 * time, closed() is called without opened().
 */
struct rpcrdma_listener *
rpcrdma_listen(struct net *net, const struct sockaddr *addr,
	       int (*incoming)(void *priv, struct rpcrdma_ep *ep), void *priv);
/* Stop listening; incoming() does not run afterwards. Sleeps. */
void rpcrdma_listener_destroy(struct rpcrdma_listener *listener);
/* Return the bound address, including the port. */
const struct sockaddr *rpcrdma_listener_addr(struct rpcrdma_listener *l);

/* Return the endpoint after @ep, NULL for the first, each with a reference. */
struct rpcrdma_ep *rpcrdma_ep_next(struct rpcrdma_ep *ep);

/* Module start and end. rpcrdma_ep_exit() waits until no endpoint is left. */
int rpcrdma_ep_init(void);
void rpcrdma_ep_exit(void);

#endif /* RPCRDMA_ENDPOINT_H */
