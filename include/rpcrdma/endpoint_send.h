/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The send side of an endpoint: Send contexts, the queues of messages and transfers,
 * posting and retiring Work Requests. endpoint_rpc.h has Calls, endpoint_reply.h Replies,
 * endpoint_continued.h continued messages, endpoint_buffers.h the memory of Send contexts.
 *
 * The core keeps all state of it in struct rpcrdma_ep_core, which its host embeds in the
 * object that it has for a connection. A host is the code around the core: the module's
 * verbs/, or the simulation. It has one lock for each connection. "The lock" below is
 * that lock. core/port.h lists the functions that a host provides.
 *
 * Functions with the context "no lock held" take the lock. For the others, the host takes
 * it, makes one call, gets core->todo (rpcrdma_core_take_todo()), releases the lock, and
 * does the deferred work (rpcrdma_core_finish()).
 *
 * "WP" and section numbers: see engine.h. Lengths and sizes are in bytes.
 */
#ifndef RPCRDMA_ENDPOINT_SEND_H
#define RPCRDMA_ENDPOINT_SEND_H

#include "conn.h"
#include "encode.h"
#include "endpoint_arrivals.h"
#include "endpoint_control.h"
#include "xact.h"
#include "lifecycle.h"
#include "schedule.h"
#include "send_queue.h"
#include "work.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_ep_core;
struct rpcrdma_pull_entry;
struct rpcrdma_recv;
struct rpcrdma_stream;

/* ---- Send contexts ---- */

/*
 * A Send context: a registered buffer for the header and the inline payload, which are
 * copied into it, so that a Send never holds references to an RPC's memory.
 */
struct rpcrdma_send {
	struct rpcrdma_work	work;
	struct rpcrdma_ep_core	*core;
	void			*buf;		/* NULL until first use */
	u64			addr;		/* of buf, for the device */
	u32			size;		/* bytes in buf */
	u32			number;		/* index among the contexts */
	u32 signal_threshold; /* signal threshold, see below */
	bool			shared;		/* buf is part of core->control_bufs */
	u32			header_len;	/* bytes */
	u32			len;		/* bytes, header and payload */
	u32			inv_handle;	/* to invalidate at the peer, or 0 */
	/* Work Requests chained before the Send, for the host; NULL: none */
	void			*before;
	struct rpcrdma_transfer	*rw;		/* Writes posted before it */
	struct rpcrdma_stream	*stream;	/* set if this is its last message */
	struct rpcrdma_pull_entry *exposed;	/* memory its header names */
};

/*
 * s->signal_threshold: a Send of at least this many bytes is signaled, even if the Send
 * Queue does not need its completion.
 * - siw completes a Send as soon as TCP has queued it. It copies a signaled Send, but
 *   transmits an unsignaled Send of a page or more by reference from the buffer.
 * - A client's reserve buffer, for use when memory is short, is signaled so that it is
 *   reusable at once.
 */
#define RPCRDMA_SIGNAL_BY_QUEUE 0xffffffffu
#define RPCRDMA_SIGNAL_ALWAYS 0u

/*
 * Bytes of a small Send buffer: for control messages, and for most Calls and Replies
 * without data; and of core->control_bufs
 */
enum {
	RPCRDMA_SMALL_SEND = RPCRDMA_V2_FIRST_CONNPROP,
};
#define RPCRDMA_CONTROL_BUFS	((u32)RPCRDMA_CONTROL_SENDS * RPCRDMA_SMALL_SEND)

/* Work that a call leaves to its caller, without the lock; core->todo */
enum {
	RPCRDMA_TODO_RETRY = 1,		/* refused senders may retry */
	RPCRDMA_TODO_SEND_REFUSED = 2,	/* the device refused a Send: close */
	RPCRDMA_TODO_CALL_REFUSED = 4,
	RPCRDMA_TODO_RDMA_REFUSED = 8,
	RPCRDMA_TODO_TOO_LONG = 16,	/* a Reply can never be posted: close */
	/* post the Writes of the transfer that the call was passed */
	RPCRDMA_TODO_WRITES = 32,
	RPCRDMA_TODO_CLOSED = 64,	/* conn was closed: close, for conn.reason */
};

/* The core's part of an endpoint; protected by the lock unless noted otherwise */
struct rpcrdma_ep_core {
	struct rpcrdma_conn	conn;
	struct rpcrdma_lifecycle life;
	struct rpcrdma_ep_control control;
	struct rpcrdma_sq	sq;		/* account of the Send Queue */
	struct rpcrdma_work	*inflight;	/* posted, in order */
	struct rpcrdma_work	**inflight_end;	/* where the next one is linked */
	struct rpcrdma_ep_rw	rw;
	struct list_head	transfers;	/* queued RDMA, in order */
	struct list_head	messages;	/* queued Replies, continued messages */
	struct rpcrdma_work	*free_sends;	/* the last used first */
	struct rpcrdma_send	*call_send;	/* for the next Call; its sender's */
	u32			nr_sends;	/* Send contexts */
	u32			sends_made;	/* contexts used so far */
	u32			send_bufs;	/* contexts with their own buffer; atomic */
	u32 signal_threshold; /* initial value of s->signal_threshold */
	u8			*control_bufs;	/* one allocation, the host's */
	u64			control_addr;
	u32			todo;		/* RPCRDMA_TODO_* */
	/* attempts to get a buffer for a message that waits for one; 0: none waits */
	u32			buffer_tries;
	bool			stall_watched;	/* the stall timer is armed */
	bool			buffer_watched;	/* it is armed for the next attempt */
	/* the timer for exposed Replies is armed, or its expiry is being handled */
	bool			overdue_watched;
	/* Receives, see endpoint_receive.h */
	/* only the Receives in recvs_held keep the endpoint */
	bool torn_down;
	u32 recvs_held;				/* held by the transport */
	struct rpcrdma_recv	*free_recvs;	/* not posted */
	struct list_head	all_recvs;
	u32			nr_recvs;
	u32			recv_size;	/* bytes of the host's structure */
	u32			page_size;	/* of the host */
	u32			bufs_owed;	/* Send buffers charged in excess of nr_recvs */
	u32			owed_octets;	/* the charge for these */
	struct rpcrdma_ep_arrivals arrivals;
	struct rpcrdma_mrs	mrs;		/* under the lock for MRs */
};

/**
 * rpcrdma_core_init() - initialise the lists of a core that is zeroed
 * @core: connection
 */
void rpcrdma_core_init(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_take_todo() - get the work that a call has left to its caller
 * @core: connection
 *
 * Context: lock held, and released next.
 * Return: RPCRDMA_TODO_*.
 */
static inline u32 rpcrdma_core_take_todo(struct rpcrdma_ep_core *core)
{
	u32 todo = core->todo;

	if (__builtin_expect(!!todo, 0))
		core->todo = 0;
	return todo;
}

/**
 * rpcrdma_core_finish() - do the work that a call has left, except WRITES
 * @core: connection
 * @todo: RPCRDMA_TODO_*, from rpcrdma_core_take_todo()
 *
 * Context: no lock held.
 */
void rpcrdma_core_finish(struct rpcrdma_ep_core *core, u32 todo);

/**
 * rpcrdma_core_run_callbacks() - call done() of each work item in a list
 * @done_list: list of retired work
 * @ok: it was executed, if the device accepted it
 *
 * Context: no lock held.
 */
static inline void rpcrdma_core_run_callbacks(struct list_head *done_list,
					      bool ok)
{
	struct list_head *at;

	while ((at = done_list->next) != done_list) {
		struct rpcrdma_work *work = (struct rpcrdma_work *)at;

		at->next->prev = done_list;
		done_list->next = at->next;
		at->next = at->prev = at;
		work->done(work, ok && !work->post_failed);
	}
}

/**
 * rpcrdma_core_end() - run the callbacks of retired work, and do the work that a call
 * has left
 * @core: connection
 * @todo: RPCRDMA_TODO_*, from rpcrdma_core_take_todo()
 * @done_list: list that the call has appended retired work to
 * @ok: the work was executed, if the device accepted it
 *
 * Context: no lock held.
 */
static inline void rpcrdma_core_end(struct rpcrdma_ep_core *core, u32 todo,
				    struct list_head *done_list, bool ok)
{
	rpcrdma_core_run_callbacks(done_list, ok);
	if (__builtin_expect(!!todo, 0))
		rpcrdma_core_finish(core, todo);
}

/* ---- Posting, in post.cc; the lock is held unless noted otherwise ---- */

/**
 * rpcrdma_core_pump() - post as much as the engine schedules, in its order
 * @core: connection
 *
 * Context: lock held.
 */
void rpcrdma_core_pump(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_events() - run the actions that the engine has requested
 * @core: connection
 * @events: RPCRDMA_EV_*
 *
 * Context: no lock held.
 */
void rpcrdma_core_events(struct rpcrdma_ep_core *core, u32 events);

/**
 * rpcrdma_core_stall_expired() - handle the end of the stall timer
 * @core: connection
 *
 * The connection is closed if the window has been closed for too long. A buffer may be
 * allocated for a message that waits for one.
 * Context: no lock held; may sleep. The teardown waits for it.
 */
void rpcrdma_core_stall_expired(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_core_rdma() - post work without a message, or queue it
 * @core: connection
 * @work: work item
 *
 * If it can never be posted, this calls work->done() with @ok false.
 * Context: no lock held.
 */
void rpcrdma_core_rdma(struct rpcrdma_ep_core *core, struct rpcrdma_work *work);

/**
 * rpcrdma_core_reap() - retire work that has completed, and the work that its
 *	completion covers
 * @core: connection
 * @work: work item
 * @done_list: list that retired work is appended to
 *
 * Work that the device no longer uses is appended to @done_list.
 * Context: lock held.
 */
void rpcrdma_core_reap(struct rpcrdma_ep_core *core, struct rpcrdma_work *work,
		       struct list_head *done_list);

/**
 * rpcrdma_core_freed() - post work that may wait for slots or contexts, after some were
 *	freed
 * @core: connection
 *
 * Context: lock held.
 */
static inline void rpcrdma_core_freed(struct rpcrdma_ep_core *core)
{
	if (__builtin_expect(rpcrdma_sq_has_waiters(&core->sq), 0))
		rpcrdma_core_pump(core);
}

/**
 * rpcrdma_core_is_queued() - check if work is queued, to be posted later
 * @core: connection
 * @work: work of the last call of the core, which may have been posted or refused
 *
 * Context: lock held since that call.
 * Return: true if so.
 */
static inline bool rpcrdma_core_is_queued(const struct rpcrdma_ep_core *core,
					  const struct rpcrdma_work *work)
{
	return core->messages.prev == &work->list ||
	       core->transfers.prev == &work->list;
}

/**
 * rpcrdma_core_post_control() - post a control message
 * @core: connection
 * @s: Send context with the message, of s->len bytes
 * @inv_handle: handle to invalidate at the peer, or 0
 *
 * Context: lock held.
 * Return: false if the device refused it.
 */
bool rpcrdma_core_post_control(struct rpcrdma_ep_core *core,
			       struct rpcrdma_send *s, u32 inv_handle);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_SEND_H */
