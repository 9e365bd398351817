/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The send side of an endpoint: Send contexts, the queues of messages and transfers,
 * posting and retiring Work Requests, continued messages.
 *
 * The core keeps all state of it in struct rpcrdma_ep_core, which its host embeds in the
 * object that it has for a connection. A host is what is around the core: the module's
 * verbs/, or the simulation. It has one lock for each connection. "The lock" below is
 * that lock. core/port.h lists the functions that a host provides.
 *
 * An entry of the host takes the lock, makes one call of a function below, takes
 * core->todo (rpcrdma_core_take_todo()), releases the lock, and does what was left to
 * do (rpcrdma_core_finish()).
 *
 * "WP" and section numbers: see engine.h. Lengths and sizes are in bytes.
 */
#ifndef RPCRDMA_ENDPOINT_SEND_H
#define RPCRDMA_ENDPOINT_SEND_H

#include "conn.h"
#include "encode.h"
#include "endpoint_arrivals.h"
#include "endpoint_control.h"
#include "exchange.h"
#include "lifecycle.h"
#include "schedule.h"
#include "send_queue.h"
#include "work.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rpcrdma_ep_core;
struct rpcrdma_recv;

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
	u32			report;		/* signal threshold, see below */
	bool			shared;		/* buf is part of core->control_bufs */
	u32			header_len;	/* bytes */
	u32			len;		/* bytes, header and payload */
	u32			inv_handle;	/* to invalidate at the peer, or 0 */
	/* Work Requests chained before the Send, for the host; NULL: none */
	void			*before;
	struct rpcrdma_transfer	*rw;		/* Writes posted before it */
	struct rpcrdma_stream	*stream;	/* set if this is its last message */
	struct rpcrdma_pulled	*exposed;	/* memory its header names */
};

/*
 * s->report: a Send of at least this many bytes is signaled, even if the Send Queue does
 * not need its completion.
 * - siw completes a Send as soon as TCP has queued it. It copies a signaled Send, but
 *   transmits an unsignaled Send of a page or more by reference from the buffer.
 * - A client's reserve buffer, for use when memory is short, is signaled so that it is
 *   reusable at once.
 */
#define RPCRDMA_REPORT_NONE	0xffffffffu
#define RPCRDMA_REPORT_ALL	0u

/*
 * Bytes of a small Send buffer: for control messages, and for most Calls and Replies
 * without data; and of core->control_bufs
 */
enum {
	RPCRDMA_SMALL_SEND = RPCRDMA_V2_FIRST_CONNPROP,
};
#define RPCRDMA_CONTROL_BUFS	((u32)RPCRDMA_CONTROL_SENDS * RPCRDMA_SMALL_SEND)

/*
 * A Call or Reply that is sent as a sequence of continued messages (4.4.2), split as
 * the window allows. It has its own copy of the Payload stream, so that it does not
 * hold references to an RPC's memory either.
 */
struct rpcrdma_stream {
	struct rpcrdma_work	work;		/* queue entry */
	enum rpcrdma_kind	kind;
	u32			xid;
	u32			len, sent;	/* bytes of payload */
	u32			inv_handle;	/* with the last message */
	struct rpcrdma_transfer	*rw;		/* Writes before the last message */
	struct rpcrdma_ep_core	*held_for;	/* Replies: charged for its bytes */
	u8			*data;
	struct rpcrdma_lists	lists;		/* in the last message's header */
};

/* Work that a call leaves to its caller, without the lock; core->todo */
enum {
	RPCRDMA_TODO_RETRY = 1,		/* refused senders may retry */
	RPCRDMA_TODO_SEND_REFUSED = 2,	/* by the device: close */
	RPCRDMA_TODO_CALL_REFUSED = 4,
	RPCRDMA_TODO_RDMA_REFUSED = 8,
	RPCRDMA_TODO_TOO_LONG = 16,	/* a Reply can never be posted: close */
	/* post the Writes of the transfer that the call was passed */
	RPCRDMA_TODO_WRITES = 32,
};

/* The core's part of an endpoint; protected by the lock unless noted otherwise */
struct rpcrdma_ep_core {
	struct rpcrdma_conn	conn;
	struct rpcrdma_life	life;
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
	u32			send_bufs;	/* contexts with an own buffer; atomic */
	u32			report;		/* initial value of s->report */
	u8			*control_bufs;	/* one allocation, the host's */
	u64			control_addr;
	u32			todo;		/* RPCRDMA_TODO_* */
	bool			stall_watched;	/* the stall timer is armed */
	/* Receives, see endpoint_receive.h */
	bool			torn_down;	/* only recvs_out keeps it */
	u32			recvs_out;	/* held by the transport */
	struct rpcrdma_recv	*free_recvs;	/* not posted */
	struct list_head	all_recvs;
	u32			nr_recvs;
	u32			recv_size;	/* bytes of the host's structure */
	u32			bufs_owed;	/* charged in excess of nr_recvs */
	struct rpcrdma_ep_arrivals arrivals;
	struct rpcrdma_mrs	mrs;		/* under the lock for MRs */
};

/* Initialise the lists of a core that is zeroed. */
void rpcrdma_core_init(struct rpcrdma_ep_core *core);

/* Return what is left to do. The lock is held, and released next. */
static inline u32 rpcrdma_core_take_todo(struct rpcrdma_ep_core *core)
{
	u32 todo = core->todo;

	if (__builtin_expect(!!todo, 0))
		core->todo = 0;
	return todo;
}

/* Do what is left to do, except WRITES. No lock held. */
void rpcrdma_core_finish(struct rpcrdma_ep_core *core, u32 todo);
/*
 * Call done() of each work item in @through. @ok: it was executed, if the device
 * accepted it. No lock held.
 */
void rpcrdma_core_tell(struct list_head *through, bool ok);
/* Do both after a call that has appended work to @through. No lock held. */
static inline void rpcrdma_core_end(struct rpcrdma_ep_core *core, u32 todo,
				    struct list_head *through, bool ok)
{
	if (__builtin_expect(through->next != through, 0))
		rpcrdma_core_tell(through, ok);
	if (__builtin_expect(!!todo, 0))
		rpcrdma_core_finish(core, todo);
}

/* ---- Posting, in post.cc; the lock is held unless noted otherwise ---- */

/* Post as much as the engine schedules, in its order. */
void rpcrdma_core_pump(struct rpcrdma_ep_core *core);
/*
 * Do what the engine has requested, RPCRDMA_EV_*. No lock held.
 */
void rpcrdma_core_events(struct rpcrdma_ep_core *core, u32 events);
/* The stall timer has expired. Return events. */
u32 rpcrdma_core_stall_expired(struct rpcrdma_ep_core *core);
/*
 * Post @work of kind RPCRDMA_WORK_RDMA, or queue it. Return false if it can never be
 * posted: then call work->done(), with @ok false, without the lock.
 */
bool rpcrdma_core_rdma(struct rpcrdma_ep_core *core, struct rpcrdma_work *work);
/*
 * Retire @work, which has completed, and the work that its completion covers. Work that
 * the device no longer uses is appended to @through.
 */
void rpcrdma_core_reap(struct rpcrdma_ep_core *core, struct rpcrdma_work *work,
		       struct list_head *through);
/* Post what may wait for slots or contexts, after some were freed. */
static inline void rpcrdma_core_freed(struct rpcrdma_ep_core *core)
{
	if (__builtin_expect(rpcrdma_sq_wanted(&core->sq), 0))
		rpcrdma_core_pump(core);
}
/* Append all posted work to @through: no more completions arrive. */
void rpcrdma_core_flush_posted(struct rpcrdma_ep_core *core,
			       struct list_head *through);
/* Append all work that waits to be posted. */
void rpcrdma_core_flush_waiting(struct rpcrdma_ep_core *core,
				struct list_head *through);
/*
 * Post the control message of s->len bytes that is built in @s. Return false if the
 * device refused it.
 */
bool rpcrdma_core_post_control(struct rpcrdma_ep_core *core,
			       struct rpcrdma_send *s, u32 inv_handle);

/* ---- Sending RPCs, in send.cc; the lock is held ---- */

/*
 * Return true if a Call can be sent now. Otherwise the host is asked to notify of
 * write space.
 */
bool rpcrdma_core_may_call(struct rpcrdma_ep_core *core);
/* Return a free Send context, or NULL. */
struct rpcrdma_send *rpcrdma_core_send_get(struct rpcrdma_ep_core *core);
/* The same for a Reply whose Call has yet to be processed. */
struct rpcrdma_send *rpcrdma_core_send_reserve(struct rpcrdma_ep_core *core);
/*
 * Release a context that was not sent. The work attached to it is appended to @through.
 */
void rpcrdma_core_send_put(struct rpcrdma_ep_core *core, struct rpcrdma_send *s,
			   struct list_head *through);

/*
 * Send the Call of s->len bytes in @s, which is core->call_send.
 * @mrs: the MRs its header names, or NULL
 * @x: its exchange, marked as sent before a Reply can arrive, or NULL
 * Return: 0; -EAGAIN, write space will be notified; -EIO if it needs more Work Requests
 * than the Send Queue can ever hold; -ENOTCONN.
 */
int rpcrdma_core_send_call(struct rpcrdma_ep_core *core, struct rpcrdma_send *s,
			   struct list_head *mrs, enum rpcrdma_format format,
			   const struct rpcrdma_lists *lists,
			   struct rpcrdma_exchange *x);
/*
 * Post or queue the Reply in @s, with the memory in s->exposed.
 * @t: Writes posted before it, or NULL
 * Return: 0, @s and @t are consumed; -ENOTCONN: release @s, to which @t is attached,
 * unless RPCRDMA_TODO_WRITES: the Writes of @t are to be posted, and @s follows them.
 */
int rpcrdma_core_send_reply(struct rpcrdma_ep_core *core,
			    struct rpcrdma_send *s, struct rpcrdma_transfer *t,
			    u32 inv_handle, enum rpcrdma_format format,
			    const struct rpcrdma_lists *lists);

/* ---- Continued messages, in continued.cc ---- */

/* Initialise @st, whose @len bytes of data the caller fills in. Any context. */
void rpcrdma_core_stream_init(struct rpcrdma_stream *st, enum rpcrdma_kind kind,
			      u32 xid, u8 *data, u32 len,
			      const struct rpcrdma_lists *lists);
/* Charge a Reply to the peer, before it is sent. No lock held. */
void rpcrdma_core_stream_charge(struct rpcrdma_ep_core *core,
				struct rpcrdma_stream *st);
/* Free a stream that was not sent, and uncharge it. No lock held. */
void rpcrdma_core_stream_free(struct rpcrdma_stream *st);
/*
 * Send the continued Call @st: the first message is posted now, with the registrations
 * of @mrs. Lock held. Return: as for rpcrdma_core_send_call().
 */
int rpcrdma_core_send_continued_call(struct rpcrdma_ep_core *core,
				     struct rpcrdma_stream *st,
				     struct list_head *mrs,
				     struct rpcrdma_exchange *x);
/*
 * Queue the continued Reply @st. Lock held.
 * Return: 0, possibly with RPCRDMA_TODO_WRITES as for a Reply; -ENOTCONN: call
 * st->work.done() without the lock, which ends @t, too.
 */
int rpcrdma_core_send_continued_reply(struct rpcrdma_ep_core *core,
				      struct rpcrdma_stream *st,
				      struct rpcrdma_transfer *t,
				      u32 inv_handle);

/* ---- Memory of Send contexts, in send_buffers.cc ---- */

/*
 * Begin to use core->nr_sends contexts, with core->control_bufs. @all: initialise all
 * of them now. Lock held.
 */
void rpcrdma_core_sends_begin(struct rpcrdma_ep_core *core, bool all);
/*
 * Return the size of the buffer to allocate for a message of @octets bytes. @failed: the
 * size that could not be allocated, 0 at first. 0: there is none, or no other. Any
 * context.
 */
u32 rpcrdma_core_send_size(const struct rpcrdma_ep_core *core, u32 octets,
			   u32 failed);
/*
 * Give @s a buffer of its own, and free the one it had. The caller owns @s; the teardown
 * is held off, or the lock is held.
 */
void rpcrdma_core_send_buffer(struct rpcrdma_send *s, void *buf, u64 addr,
			      u32 size);
/*
 * Exchange buffers with a free context whose own buffer has at least @octets bytes.
 * Return false if there is none. Lock held.
 */
bool rpcrdma_core_send_exchange(struct rpcrdma_send *s, u32 octets);
/*
 * Free the least recently used of the free buffers, if there is one. Return the number
 * of buffers that remain, not counting those of control messages. Lock held.
 */
u32 rpcrdma_core_send_let_go(struct rpcrdma_ep_core *core);

/*
 * Begin a message that is sent as a single one: write its header, if the buffer has
 * space for that and for @octets bytes of payload after it. s->header_len and s->len
 * are set. @lists: NULL for a message without chunks. Return false if a larger buffer is
 * needed. The caller owns @s.
 */
static inline bool rpcrdma_core_send_begin(struct rpcrdma_send *s,
					   enum rpcrdma_kind kind,
					   enum rpcrdma_format format, u32 xid,
					   u32 octets,
					   const struct rpcrdma_lists *lists)
{
	struct rpcrdma_conn *conn = &s->core->conn;
	u32 header = lists ? rpcrdma_encode_rpc(conn, (u8 *)s->buf, s->size,
						kind, format, xid, false,
						lists) :
			     rpcrdma_plain_header(conn);

	if (__builtin_expect(!header || header + octets > s->size, 0))
		return false;
	s->header_len = header;
	s->len = header + octets;
	if (__builtin_expect(!lists, 1))
		rpcrdma_encode_plain(conn, (u8 *)s->buf, kind, xid);
	return true;
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_ENDPOINT_SEND_H */
