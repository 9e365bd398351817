/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The endpoint: one RPC-over-RDMA connection over ib_verbs, the same for
 * client and server, and for both directions of RPC.
 *
 * It owns the queue pair, completion queues, Receives, Send contexts, memory
 * regions and the connection manager id, feeds what arrives to the protocol
 * engine and carries out what the engine decides. The transports above it see
 * whole Calls and Replies.
 *
 * Locking: ep->lock protects the engine's connection state, its account of the
 * Send Queue and the lists of work; it is held across
 * ib_post_send() so that what the engine counts and what the wire carries
 * have the same order. It is never held across an upcall. Everything here
 * runs in process context, but for the completion of a server's Receives and
 * the upcall messages(), which therefore take no lock.
 *
 * Lifetime: rpcrdma_ep_connect() and the incoming() upcall give the transport
 * a reference. rpcrdma_ep_close() starts the teardown, from a workqueue of
 * this module, whoever notices the end first; when nothing of the connection
 * is left on the device, ops->closed() is called, once, and no upcall follows
 * it. The memory goes with the last reference.
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

#include <rpcrdma/engine.h>

struct rpcrdma_ep;
struct rpcrdma_listener;

/* ------------------------------------------------------------------ */
/* Received messages                                                   */

/*
 * A Receive and, once it completed, the message in it. Owned by the endpoint;
 * lent to the transport by an upcall until rpcrdma_recv_put().
 */
struct rpcrdma_recv {
	struct list_head	list;		/* for the transport's queues */
	struct rpcrdma_ep	*ep;
	struct rpcrdma_rx	rx;		/* the engine's reading of it */
	u8			verdict;	/* enum rpcrdma_verdict */
	u32			inv_handle;	/* invalidated by the peer, or 0 */
	/* Inline part of the Payload stream: octets, in buf or assembled */
	void			*payload;
	u32			payload_len;
	void			*priv;		/* the transport's; NULL at first */
	struct rpcrdma_send	*send;		/* the transport's */
	u32			order;		/* the transport's */

	/* private to the endpoint */
	struct list_head	all;
	struct ib_recv_wr	wr;
	struct ib_sge		sge;
	struct ib_cqe		cqe;
	struct llist_node	arrived;
	u32			octets;		/* that came */
	u8			status;		/* enum ib_wc_status of one that failed */
	bool			large;		/* has memory beside @buf */
	void			*buf;
	void			*assembled;	/* kvmalloc: continued message */
	u64			counted;	/* octets of that, or let go with this */
};

/* rpcrdma_ep_take_messages(), when there are some */
struct rpcrdma_recv *rpcrdma_ep_take_some(struct rpcrdma_ep *ep, bool keep);

/*
 * Give a Receive back; it is posted again when the engine wants it, and a grant
 * that is owed is sent. Any number may be held by a responder at work: that is
 * what limits its load (WP 3). One that is lent keeps its endpoint's memory,
 * even past closed(). Process context, no lock held.
 */
void rpcrdma_recv_put(struct rpcrdma_recv *rv);

/* ------------------------------------------------------------------ */
/* Work Requests                                                       */

/* A chain of Work Requests that is posted with one doorbell */
struct rpcrdma_work {
	struct list_head	list;		/* of what waits, or has ended */
	struct rpcrdma_work	*next;		/* of what is posted; of free Sends */
	struct ib_send_wr	*first, *last;	/* last->wr_cqe is cqe */
	struct ib_cqe		cqe;
	struct llist_node	completed;	/* nobody has looked yet */
	struct rpcrdma_wrs	wrs;		/* how many, for the account */
	u8			kind;		/* enum rpcrdma_work_kind */
	bool			refused;	/* the device did not take it all */
	/*
	 * Called once for posted work, when the device is through with it;
	 * process context, ep->lock not held. @ok: false when it may not have
	 * been carried out. Nobody asks a Send: its context is free then.
	 */
	void			(*done)(struct rpcrdma_work *work, bool ok);
};

enum rpcrdma_work_kind {
	RPCRDMA_WORK_CALL = RPCRDMA_KIND_CALL,
	RPCRDMA_WORK_REPLY = RPCRDMA_KIND_REPLY,
	RPCRDMA_WORK_CONTROL = RPCRDMA_KIND_CONTROL,
	RPCRDMA_WORK_RDMA,		/* Reads, invalidations: no message */
	RPCRDMA_WORK_STREAM,		/* a continued message that waits */
};

/*
 * A Send context: a registered buffer for the header and the inline payload,
 * which are copied into it, so that a Send never holds on to an RPC's memory.
 */
struct rpcrdma_send {
	struct rpcrdma_work	work;
	struct rpcrdma_ep	*ep;
	void			*buf;		/* NULL until it is needed */
	u32			size;		/* of that, octets */
	bool			shared;		/* it is of ep->control_bufs */
	u32			report;		/* see below */
	u32			header_len;	/* octets */
	u32			len;		/* octets, header and payload */
	struct rpcrdma_rw	*rw;		/* Writes that go before it */
	struct rpcrdma_stream	*stream;	/* this is its last part */
	struct rpcrdma_exposed	*exposed;	/* memory its header names */

	struct ib_send_wr	wr;
	struct ib_sge		sge;
};

/*
 * s->report: a Send of so many octets reports its end, whatever the Send Queue needs.
 * - Software iWARP sends what does not report its end from the buffer itself, by
 *   reference, if it has a page or more, and says that it is through when TCP has queued
 *   it. What reports its end it copies.
 * - The buffer that a client has in store for want of memory comes back at once.
 */
enum {
	RPCRDMA_REPORT_NONE	= U32_MAX,
	RPCRDMA_REPORT_ALL	= 0,
};

/*
 * A free Send context, or NULL: try again after write_space(). Process
 * context. Give back unused ones with rpcrdma_send_put().
 */
struct rpcrdma_send *rpcrdma_send_get(struct rpcrdma_ep *ep);
void rpcrdma_send_put(struct rpcrdma_send *s);

/*
 * Before a message of up to @octets is written to s->buf: see that it has room.
 * @gfp: a client does not wait for memory that may come only when it has sent what it
 * is about to send. Process context, no lock held. Returns 0, or a negative errno:
 * -EMSGSIZE, more than the peer takes; -ENOTCONN: closing; -ENOMEM.
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
 * One for a Reply, taken before the Call goes to work, so that its Reply never
 * waits for one; or NULL. Some are left for Calls of this end. Can one be had?
 * If not, write_space() will be called, if the connection lasts.
 */
struct rpcrdma_send *rpcrdma_send_reserve(struct rpcrdma_ep *ep);
static inline bool rpcrdma_ep_may_reply(struct rpcrdma_ep *ep);
bool rpcrdma_ep_ask_for_reply(struct rpcrdma_ep *ep);

/*
 * May a Call be sent now? If not, write_space() will be called. Others may be quicker,
 * rpcrdma_send_call() tells. Process context, no lock held.
 */
bool rpcrdma_ep_may_call(struct rpcrdma_ep *ep);

/*
 * Send a Call: s->buf holds header and inline payload, s->len octets.
 * @s: rpcrdma_send_for_call(). @mrs: the regions its header names, registered with the
 * same doorbell. @x: told that it is sent, before a Reply can be there; NULL: nobody.
 * Returns 0: the next Call has another Send context. -EAGAIN: no window or no Send Queue
 * space, write_space() will be called; -EIO: more Work Requests than the Send Queue
 * has, now or later; -ENOTCONN: closing. On error @mrs remain the caller's, unposted.
 */
int rpcrdma_send_call(struct rpcrdma_send *s, struct list_head *mrs,
		      enum rpcrdma_format format,
		      const struct rpcrdma_lists *lists,
		      struct rpcrdma_exchange *x);

/*
 * Send a Reply, waiting in order for window and Send Queue space without
 * blocking the caller. Takes @s and @rw in every case, and @s->exposed, which
 * the caller may have set.
 * @rw: Writes that go before it, or NULL. @inv_handle: handle to invalidate
 * at the peer, 0 for a plain Send.
 * Returns 0 or -ENOTCONN.
 */
int rpcrdma_send_reply(struct rpcrdma_send *s, struct rpcrdma_rw *rw,
		       u32 inv_handle, enum rpcrdma_format format,
		       const struct rpcrdma_lists *lists);

/*
 * A Call or Reply that is sent in parts (4.4.2), cut as the window allows. It
 * has its own copy of the Payload stream, so it does not hold on to an RPC's
 * memory either.
 */
struct rpcrdma_stream {
	struct rpcrdma_work	work;		/* its place in a queue */
	enum rpcrdma_kind	kind;
	u32			xid;
	u32			len, sent;	/* octets of data */
	u32			inv_handle;	/* with the last part */
	struct rpcrdma_rw	*rw;		/* Writes before the last part */
	struct rpcrdma_ep	*held_for;	/* Replies: counts its octets */
	struct rpcrdma_lists	lists;		/* in the last part's header */
	/* Registrations that go before the first part */
	struct ib_send_wr	*reg_first, *reg_last;
	u32			nr_regs;
	u8			data[];
};

/*
 * A stream with room for @len octets of payload, which the caller fills in;
 * NULL without memory. Process context, may sleep. @lists: NULL for none.
 */
struct rpcrdma_stream *rpcrdma_stream_alloc(enum rpcrdma_kind kind, u32 xid,
					    u32 len,
					    const struct rpcrdma_lists *lists,
					    gfp_t gfp);
/* Free one that was not sent. */
void rpcrdma_stream_free(struct rpcrdma_stream *st);

/*
 * Send a continued Call: the first part goes now, the others as the window
 * opens. Results as for rpcrdma_send_call(); on error @st is the caller's.
 */
int rpcrdma_send_continued_call(struct rpcrdma_ep *ep,
				struct rpcrdma_stream *st,
				struct list_head *mrs,
				struct rpcrdma_exchange *x);

/* Send a continued Reply, in order; as rpcrdma_send_reply(). Takes @st, @rw. */
int rpcrdma_send_continued_reply(struct rpcrdma_ep *ep,
				 struct rpcrdma_stream *st,
				 struct rpcrdma_rw *rw, u32 inv_handle);

/*
 * Refuse the Call with @xid (7): queued, sent in order. Process context.
 * send_error() is for what a plan says is wrong.
 */
void rpcrdma_ep_send_error(struct rpcrdma_ep *ep, u32 xid, u32 code, u32 arg0,
			   u32 arg1);
static inline void rpcrdma_ep_refuse(struct rpcrdma_ep *ep, u32 xid,
				     enum rpcrdma_refusal refusal)
{
	rpcrdma_ep_send_error(ep, xid, rpcrdma_refusal_code(refusal), 0, 0);
}

/*
 * Tell the peer that this end is through with the Reply to @xid that was to be
 * pulled (DR 4.1.3): queued, sent in order. Process context.
 * @inv_handle: what the Reply named, or 0.
 */
void rpcrdma_ep_send_done(struct rpcrdma_ep *ep, u32 xid, u32 inv_handle);

/*
 * rpcrdma_call_refused() for a Call of this end. Process context, no lock held.
 */
int rpcrdma_ep_refused(struct rpcrdma_ep *ep, const struct rpcrdma_rx *rx,
		       const struct rpcrdma_call *call,
		       const struct rpcrdma_lists *offered,
		       struct rpcrdma_recovery *recovery);

/* ------------------------------------------------------------------ */
/* Memory that data is moved from and to                                */

/*
 * Octets that lie one behind the other, in whole pages but for the first and the
 * last, or in the linear mapping. A few of these describe whatever an xdr_buf holds.
 */
struct rpcrdma_extent {
	struct page		**pages;	/* NULL: it is linear */
	u8			*linear;	/* where its first page begins */
	u32			offset;		/* octets of the first page before it */
	u32			length;		/* octets, not 0 */
};

/* @length octets from octet @offset of the first of @pages on */
static inline struct rpcrdma_extent
rpcrdma_extent_of_pages(struct page **pages, u32 offset, u32 length)
{
	return (struct rpcrdma_extent){
		.pages	= pages + (offset >> PAGE_SHIFT),
		.offset	= offset_in_page(offset),
		.length	= length,
	};
}

/* @length octets at @p, which is in the linear mapping (kmalloc or a page) */
static inline struct rpcrdma_extent rpcrdma_extent_of(void *p, u32 length)
{
	return (struct rpcrdma_extent){
		.linear	= p - offset_in_page(p),
		.offset	= offset_in_page(p),
		.length	= length,
	};
}

/* ------------------------------------------------------------------ */
/* Memory regions: of a Requester's Calls, of a Responder's Replies     */

/* A memory region (FRWR) of one connection */
struct rpcrdma_mr {
	struct list_head	list;		/* free list, or a request's */
	struct list_head	all;
	struct rpcrdma_ep	*ep;
	u32			handle;
	u32			length;		/* octets */
	u64			offset;
	bool			exposed;	/* posted and not invalidated */
	bool			used;		/* posted since it was mapped */

	/* private to the endpoint */
	struct ib_mr		*ibmr;		/* NULL after the teardown */
	struct scatterlist	*sg;
	int			nents;		/* mapped, 0: none */
	enum dma_data_direction	dir;
	union {
		struct ib_reg_wr	reg_wr;
		struct ib_send_wr	inv_wr;
	};
};

/* How rpcrdma_mrs_map() cuts memory into regions, for those who count them */
struct rpcrdma_cut rpcrdma_mrs_cut(const struct rpcrdma_ep *ep);

/*
 * Prepare regions for the memory in the @nr elements of @ext and append them to
 * @mrs and, as segments, to the chunk begun last in @lists. They are exposed by
 * the Send they are given to. No segment is longer than the peer takes.
 * @remote_write: the peer may write (else read).
 * Returns 0; -EAGAIN: no region free now, write_space() will be called; or
 * another errno, -EFAULT: a page is missing. On error @mrs keeps what was
 * prepared: rpcrdma_mrs_put() it.
 */
int rpcrdma_mrs_map(struct rpcrdma_ep *ep, struct list_head *mrs,
		    const struct rpcrdma_extent *ext, u32 nr,
		    bool remote_write, struct rpcrdma_lists *lists);

/*
 * The peer invalidated @handle. Returns true when one of @mrs had it and was
 * exposed; it no longer is.
 */
bool rpcrdma_mrs_invalidated(struct list_head *mrs, u32 handle);

/* Is any of @mrs still exposed? */
bool rpcrdma_mrs_exposed(const struct list_head *mrs);

/*
 * Invalidate what is still exposed of @mrs, then call @inv->done() in process
 * context, with everything invalid or the connection's teardown under way (in
 * which case @ok is false and the regions die with the connection).
 * @mrs must stay put until then.
 */
struct rpcrdma_inv {
	struct rpcrdma_work	work;
	struct rpcrdma_ep	*ep;
	struct list_head	*mrs;
	void			(*done)(struct rpcrdma_inv *inv, bool ok);
};
void rpcrdma_mrs_invalidate(struct rpcrdma_ep *ep, struct list_head *mrs,
			    struct rpcrdma_inv *inv);

/*
 * As above, and wait: for the invalidation, or for the end of the teardown.
 * Afterwards no peer reaches the memory. Also unmaps and gives the regions
 * back, @mrs is empty then. Process context, sleeps.
 */
void rpcrdma_mrs_release_sync(struct rpcrdma_ep *ep, struct list_head *mrs);

/* Unmap regions none of which is exposed and give them back. */
void rpcrdma_mrs_put(struct rpcrdma_ep *ep, struct list_head *mrs);

/* ------------------------------------------------------------------ */
/* Responder: Replies that the peer pulls                              */

/* Embed it in what holds the memory of the Reply. */
struct rpcrdma_exposed {
	struct rpcrdma_ep	*ep;
	/*
	 * Called once for one that was given to a Send, when no peer reaches
	 * the memory any more, at the latest before closed(): pulled, not
	 * pulled in time, or not even sent. Takes @x. Process context.
	 */
	void			(*release)(struct rpcrdma_exposed *x);

	/* private to the endpoint */
	struct list_head	mrs;
	struct rpcrdma_inv	inv;
	struct rpcrdma_exposure	exposure;	/* the engine's; under ep->lock */
	u32			inv_handle;
	struct rpcrdma_lists	lists;
};

/*
 * Prepare to expose the memory in @ext as the Reply that @plan wants to be
 * pulled (plan->read_length), and complete @plan. It is exposed by the Send
 * that it is given to, as s->exposed, read-only. May sleep, with a bound, while
 * regions are made.
 * Returns 0, and holds off the teardown until the Send or the cancellation; or an
 * errno, with @plan->error set when the peer has to know; -EAGAIN: there were no
 * regions in time.
 */
int rpcrdma_expose(struct rpcrdma_ep *ep, struct rpcrdma_exposed *x, u32 xid,
		   const struct rpcrdma_extent *ext, u32 nr,
		   struct rpcrdma_reply_plan *plan);
/* Give up one that was not sent; release() is not called. */
void rpcrdma_expose_cancel(struct rpcrdma_exposed *x);

/* ------------------------------------------------------------------ */
/* Explicit RDMA: a Responder's, and a Requester's that pulls a Reply   */

/*
 * RDMA Reads or Writes of one RPC, over the kernel's rdma_rw API. Writes that are more
 * than goes in a chain with their Reply go ahead of it, in turns, and it waits until
 * they are done.
 */
struct rpcrdma_rw {
	struct rpcrdma_work	work;		/* what is posted at once */
	struct rpcrdma_ep	*ep;
	enum dma_data_direction	dir;	/* FROM_DEVICE: Read, TO_DEVICE: Write */
	gfp_t			gfp;
	struct rpcrdma_read_claim claim; /* to memory regions; under ep->lock */
	struct list_head	ctxts;
	struct list_head	*posted;	/* the last of them that was, or the head */
	u32			left;		/* Work Requests yet to be posted */
	u32			octets;
	/* Called once; then @rw is freed by the endpoint. Process context. */
	void			(*done)(struct rpcrdma_rw *rw, bool ok);
	void			*priv;	/* the owner's; at first, its memory */
	/* ... and then, if Writes went ahead of it, for their Reply */
	void			(*behind)(struct rpcrdma_rw *rw, bool ok);
	struct rpcrdma_work	*reply;
};

struct rpcrdma_rw *rpcrdma_rw_alloc(struct rpcrdma_ep *ep,
				    enum dma_data_direction dir, size_t priv,
				    gfp_t gfp);
/* Free an @rw that was not posted; done() is not called. */
void rpcrdma_rw_free(struct rpcrdma_rw *rw);

/*
 * Append the transfer of @length octets between @chunk, from @chunk_offset
 * octets on, and the memory in the @nr elements of @ext, from @offset octets
 * on. Returns 0 or a negative errno (-EINVAL: either is shorter; -EFAULT: a page
 * is missing; -E2BIG: the device has too few memory regions for it).
 */
int rpcrdma_rw_add(struct rpcrdma_rw *rw, const struct rpcrdma_lists *lists,
		   const struct rpcrdma_chunk *chunk, u32 chunk_offset,
		   const struct rpcrdma_extent *ext, u32 nr, u32 offset,
		   u32 length);

/*
 * Post Reads; rw->done() tells the end. Waits in order for Send Queue space,
 * and for the memory regions that some devices take for Reads, without
 * blocking the caller. Takes @rw; done(false) when closing.
 */
void rpcrdma_rw_read(struct rpcrdma_rw *rw);

/* ------------------------------------------------------------------ */
/* Memory held for the peer                                            */

/*
 * The transport has a connection join those that share @limit octets, from
 * incoming(); it leaves with its memory, or before, when it is given up.
 * Nothing is refused to one that has not joined.
 */
int rpcrdma_ep_join(struct rpcrdma_ep *ep, u64 limit, u32 message);
void rpcrdma_ep_part(struct rpcrdma_ep *ep);

/* Of all connections; only its flags are read without the lock. */
extern struct rpcrdma_memory rpcrdma_memory;

/*
 * The endpoint counts what it holds itself: messages in parts and Replies that
 * wait as streams. The transport counts its pages. has_room() arranges for
 * write_space() when there is none; hold() always succeeds; give() is for
 * process context without a lock.
 */
bool rpcrdma_ep_has_room(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
			 u64 octets);
void rpcrdma_ep_hold(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
		     u64 octets);
void rpcrdma_ep_give(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
		     u64 octets);
/*
 * Return true if a Call may only be begun when rpcrdma_ep_has_room() says that there is
 * memory for the Replies to all that were, with this one. False in the fast path. Any
 * context.
 */
static inline bool rpcrdma_ep_must_ask(const struct rpcrdma_ep *ep);
void rpcrdma_ep_memory(struct rpcrdma_ep *ep,
		       struct rpcrdma_memory_account *account);

/* ------------------------------------------------------------------ */
/* Connections                                                         */

struct rpcrdma_ep_ops {
	/*
	 * All upcalls but messages(): process context, no lock held, may sleep
	 * briefly; call, reply and error come one at a time, in order of
	 * arrival.
	 *
	 * Each may begin before incoming() or connect() has returned.
	 */

	/*
	 * Messages have come: see that somebody takes them soon, with
	 * rpcrdma_ep_take_messages(). Where it returns false, or nobody comes
	 * in 10 ms, a work item does. NULL: a work item does, at once.
	 * Softirq, may not sleep.
	 */
	bool (*messages)(struct rpcrdma_ep *ep);
	/* A whole Call arrived; take @rv. */
	void (*call)(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv);
	/*
	 * A Reply arrived (rv->verdict RPCRDMA_RX_REPLY or _BAD_REPLY); take
	 * @rv. Close the connection for a bad one whose xid is pending.
	 */
	void (*reply)(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv);
	/* A Call of this end was refused: @rv->rx.error; take @rv. */
	void (*error)(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv);
	/* Calls that got -EAGAIN may be tried again, and Replies be made. */
	void (*write_space)(struct rpcrdma_ep *ep);
	/* RPC traffic may begin. Once. */
	void (*opened)(struct rpcrdma_ep *ep);
	/*
	 * The connection is gone from the device: no memory is exposed, no
	 * work or Receive is left (those lent out are still to be put). Once
	 * and last, from the module's workqueue.
	 */
	void (*closed)(struct rpcrdma_ep *ep);
};

struct rpcrdma_ep_params {
	u32	window;			/* Receives for RPC traffic, at most */
	u32	first_window;		/* ... to begin with; 0: all */
	u32	reverse;		/* of these, for reverse direction */
	u32	sends;			/* Send contexts for RPC traffic */
	u32	connect_ms;		/* client: rpcrdma_life.limit_ms */
	u32	send_size, recv_size;	/* octets, 1024..65536 */
	u32	reassembly;		/* octets taken in parts; 0: none */
	u32	max_mrs;		/* memory regions at most */
	u32	reads;			/* RDMA Reads at a time; 0: nor Writes */
	u32	ord;			/* Reads under way; 0: device's limit */
	u32	brs;			/* RDMA2_RVRSDIR_* to announce */
	/* Replies by Read chunk (WP 8) */
	u32	expose_octets;		/* exposed at a time; 0: none at all */
	u32	done_ms;		/* milliseconds to wait for their DONE */
	u32	stall_ms;		/* ... for window; 0: the default */
	bool	pull;			/* the peer may provide them */
	u8	version_low, version_high;
	bool	guess;			/* version_high: 2 got no answer */
};

struct rpcrdma_ep {
	spinlock_t		lock;
	/* What is held for the peer */
	struct rpcrdma_memory_account memory;
	spinlock_t		memory_lock;
	struct rpcrdma_conn	conn;		/* the engine's; under lock */
	const struct rpcrdma_ep_ops *ops;
	void			*priv;		/* the transport's */
	struct rpcrdma_ep_params params;
	bool			client;
	struct rpcrdma_life	life;		/* the engine's; under lock */
	struct net		*net;
	struct sockaddr_storage	local, remote;

	struct kref		kref;
	struct list_head	node;		/* list of all endpoints */
	struct rdma_cm_id	*id;
	struct ib_device	*device;
	bool			softirq;	/* ... which sends in softirqs */
	int			device_node;	/* its memory's, or NUMA_NO_NODE */
	u32			report;		/* of Send contexts, see there */
	struct ib_pd		*pd;
	u32			lkey;		/* of the PD; outlives it */
	struct ib_qp		*qp;
	/* For transfers that outlive the queue pair, see rpcrdma_rw_late_begin() */
	struct ib_qp		*late_qp;
	struct ib_cq		*send_cq, *recv_cq;
	u8			initiator_depth, responder_resources;
	atomic_t		users;		/* hold off the teardown */
	struct rpcrdma_private	peer_private;

	/* Send side, under lock */
	struct list_head	rw_waiting;	/* waits for memory regions */
	struct rpcrdma_sq	sq;		/* the engine's account */
	struct rpcrdma_work	*inflight;	/* posted, in order */
	struct rpcrdma_work	**inflight_end;	/* where the next one is linked */
	struct list_head	transfers;	/* RDMA that waits, in order */
	struct list_head	messages;	/* Replies, what goes in parts */
	struct rpcrdma_work	*free_sends;	/* those used last are first; then */
	u32			sends_made;	/* ... those of the ring from here on */
	struct rpcrdma_send	*call_send;	/* for the next Call: its sender's */
	const struct ib_send_wr	*refused;	/* the device's; nobody asks */
	struct rpcrdma_send	*send_ring;
	void			*control_bufs;	/* in one piece */
	u64			control_addr;
	u32			nr_sends;
	atomic_t		send_bufs;	/* contexts with a buffer of their own */
	u32			bufs_owed;	/* of these, counted though their Receives are gone */
	bool			stall_watched;	/* stall_timer runs */
	struct llist_head	completed;	/* posted work, the newest first */
	struct work_struct	reap_work;	/* sees to that */
	const char		*failure;	/* of a Work Request */
	enum ib_wc_status	failure_status;
	enum rpcrdma_answer	answer;		/* client: of a failed attempt */
	bool			flushed;	/* a Work Request was */
	struct ib_cqe		reg_cqe;	/* of REG_MRs, never signaled */
	struct ib_cqe		rw_cqe;		/* of transfers' WRs, the same */

	u32			read_part, write_part; /* octets, see rw.c */
	/* Memory regions of the rdma_rw API, where the device takes any */
	struct rpcrdma_cut	read_cut;	/* the engine's; under lock */
	bool			read_regions;	/* it does */
	struct rpcrdma_read_pool read_pool;	/* the engine's; under lock */
	struct work_struct	rw_work;	/* tries again */

	/* Receives */
	struct list_head	all_recvs;
	u32			nr_recvs;
	u32			recvs_out;	/* handled, not given back; lock */
	bool			torn_down;	/* they alone keep it; lock */
	struct ib_recv_wr	*free_recvs;	/* not posted; under lock */
	struct llist_head	arrived;	/* completed, the newest first */
	unsigned long		taking;		/* bit 0: somebody takes them */
	struct llist_node	*behind;	/* older ones; his */
	struct delayed_work	take_work;	/* when nobody else does */
	bool			drained;	/* and the teardown takes the rest */
	/* The sequence being reassembled; who takes messages */
	void			*assembly;
	u32			assembly_len, assembly_size;

	/* Memory regions */
	spinlock_t		mr_lock;
	struct list_head	free_mrs, all_mrs;
	struct mutex		unmap_mutex;	/* their owners and the teardown */
	struct rpcrdma_region_pool regions;	/* the engine's; mr_lock */
	struct rpcrdma_cut	mr_cut;		/* but for its size; mr_lock */
	u32			mr_pages;	/* room of a region */
	u32			max_element;	/* octets, whole pages */
	struct delayed_work	mr_work;	/* makes more */
	atomic_t		mr_told;	/* how often who waits for one was told */
	struct delayed_work	exposed_work;	/* looks for those overdue */

	atomic64_t		remote_inv, local_inv;

	struct delayed_work	open_timer;
	struct delayed_work	stall_timer;
	struct work_struct	opened_work;	/* a client's, of version 1 */
	struct work_struct	broken_work;	/* the device gave it up */
	struct work_struct	accept_work;	/* a server's setup */
	struct work_struct	teardown_work;
	/* What lower files of the endpoint do in higher ones, see internal.h */
	void			(*opened)(struct rpcrdma_ep *ep);
	void			(*receives_due)(struct rpcrdma_ep *ep);
	void			(*release)(struct kref *kref);
	wait_queue_head_t	wait;		/* life->settled; users; mr_told */
	struct completion	made;		/* connect or accept has returned */
	struct completion	gone;		/* nothing left on the device */
	struct completion	closed;		/* and closed() has returned */
};

/*
 * Begin a message that is sent in one: write its header, and see that @octets of
 * payload, 64 KiB at most, have room behind it; s->header_len and s->len say where.
 * @lists: NULL for a message without chunks. Else as rpcrdma_send_room().
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
	u32 header = lists ? rpcrdma_encode_rpc(&s->ep->conn, s->buf, s->size,
						kind, format, xid, false,
						lists) :
			     rpcrdma_plain_header(&s->ep->conn);

	/* How much it takes is only asked when that is not there. */
	if (unlikely(!header || header + octets > s->size))
		return rpcrdma_send_begin_larger(s, kind, format, xid, octets,
						 lists, gfp);
	s->header_len = header;
	s->len = header + octets;
	if (likely(!lists))
		rpcrdma_encode_plain(&s->ep->conn, s->buf, kind, xid);
	return 0;
}

/*
 * The Send context that the next Call is made in; NULL: rpcrdma_ep_may_call() says no.
 * Calls of a connection are made one at a time, and what is not sent leaves the context
 * to the next one. Process context, no lock held.
 */
static inline struct rpcrdma_send *rpcrdma_send_for_call(struct rpcrdma_ep *ep)
{
	return likely(rpcrdma_sq_call_is_likely(&ep->conn)) ||
	       rpcrdma_ep_may_call(ep) ? ep->call_send : NULL;
}

static inline bool rpcrdma_ep_may_reply(struct rpcrdma_ep *ep)
{
	return likely(rpcrdma_sq_spares(&ep->sq)) ||
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
/* Process context: the last one frees memory under a mutex. */
static inline void rpcrdma_ep_put(struct rpcrdma_ep *ep)
{
	kref_put(&ep->kref, ep->release);
}

/*
 * Open a connection and exchange properties. Sleeps, with a bound; killable
 * only by rpcrdma_ep_close(). @src may be NULL.
 * Returns an open endpoint with a reference, or an ERR_PTR, in which case no
 * upcall was made except opened(), and none will be. -EPROTONOSUPPORT: the
 * peer accepted the connection, and did not open it with the version that was
 * tried. @answer, unless NULL, then says what the attempt has shown.
 */
struct rpcrdma_ep *rpcrdma_ep_connect(struct net *net,
				      const struct sockaddr *dst,
				      const struct sockaddr *src,
				      const struct rpcrdma_ep_params *params,
				      const struct rpcrdma_ep_ops *ops,
				      void *priv, enum rpcrdma_answer *answer);

/*
 * Begin to close; returns at once. Any process context, any number of times.
 * @reason: a static string for the log and the trace, or NULL for an ordinary
 * end.
 */
void rpcrdma_ep_close(struct rpcrdma_ep *ep, const char *reason);

/* Wait until the teardown is through and closed() has returned. */
void rpcrdma_ep_wait_closed(struct rpcrdma_ep *ep);

static inline bool rpcrdma_ep_is_open(const struct rpcrdma_ep *ep)
{
	return READ_ONCE(ep->life.stage) == RPCRDMA_STAGE_OPEN;
}

/* Nothing may be posted any more. A hint without ep->lock. */
static inline bool rpcrdma_ep_is_closing(const struct rpcrdma_ep *ep)
{
	return READ_ONCE(ep->life.stage) >= RPCRDMA_STAGE_CLOSING;
}

/* Are there messages, whoever takes them? Any context. */
static inline bool rpcrdma_ep_holds_messages(const struct rpcrdma_ep *ep)
{
	return !llist_empty(&ep->arrived) || READ_ONCE(ep->behind);
}

/*
 * Handle messages that have arrived, some at a time: upcalls come from here. Not while
 * somebody else does. @keep: return the first Call of which there is nothing to be read,
 * lent, instead of telling call() of it. Else returns NULL. Process context, no lock held,
 * sleeps briefly.
 */
static inline struct rpcrdma_recv *
rpcrdma_ep_take_messages(struct rpcrdma_ep *ep, bool keep)
{
	return rpcrdma_ep_holds_messages(ep) ? rpcrdma_ep_take_some(ep, keep) :
					       NULL;
}

/*
 * Are there messages that nobody takes? Any context. A caller of
 * rpcrdma_ep_take_messages() asks afterwards: first he says, with a full barrier, that he
 * is to be told of the next one, and then looks here for those he was not told of.
 */
static inline bool rpcrdma_ep_has_messages(const struct rpcrdma_ep *ep)
{
	return rpcrdma_ep_holds_messages(ep) && !test_bit(0, &ep->taking) &&
	       !rpcrdma_ep_is_closing(ep);
}

/*
 * Listen at @addr. @incoming is called in process context with a new endpoint
 * whose addresses are known: set @ep->ops, @ep->priv and @ep->params and
 * return 0 to go on with the connection, with a reference for the transport;
 * or a negative errno to reject it. The device's objects are made afterwards,
 * in a work item: @incoming should be quick, too. If going on fails, or the peer does not
 * finish opening in time, closed() is called, without opened().
 */
struct rpcrdma_listener *
rpcrdma_listen(struct net *net, const struct sockaddr *addr,
	       int (*incoming)(void *priv, struct rpcrdma_ep *ep), void *priv);
/* Stop listening; no incoming() runs afterwards. Sleeps. */
void rpcrdma_listener_destroy(struct rpcrdma_listener *listener);
/* The address bound, its port filled in. */
const struct sockaddr *rpcrdma_listener_addr(struct rpcrdma_listener *l);

/* Return the endpoint after @ep, NULL for the first, each with a reference. */
struct rpcrdma_ep *rpcrdma_ep_next(struct rpcrdma_ep *ep);

/* Module start and end. rpcrdma_ep_exit() waits until no endpoint is left. */
int rpcrdma_ep_init(void);
void rpcrdma_ep_exit(void);

#endif /* RPCRDMA_ENDPOINT_H */
