/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Declarations shared by the parts of the endpoint. Unless noted, the lock is held. */
#ifndef RPCRDMA_CORE_ENDPOINT_HH
#define RPCRDMA_CORE_ENDPOINT_HH

#include <rpcrdma/endpoint_buffers.h>
#include <rpcrdma/endpoint_call.h>
#include <rpcrdma/endpoint_continued.h>
#include <rpcrdma/endpoint_receive.h>
#include <rpcrdma/endpoint_reply.h>
#include <rpcrdma/endpoint_rpc.h>
#include <rpcrdma/endpoint_transfer.h>

#include "../internal.hh"
#include "../list.hh"
#include "../port.h"
#include "../wire/one_chunk.hh"

namespace rpcrdma
{

/* Why a connection is closed on which a continued message was dropped */
constexpr char NO_MEMORY[] = "no memory to reassemble a message";

static inline bool is_open(const rpcrdma_ep_core *core)
{
	return core->life.stage == RPCRDMA_STAGE_OPEN;
}

static inline bool is_closing(const rpcrdma_ep_core *core)
{
	return core->life.stage >= RPCRDMA_STAGE_CLOSING;
}

/* Release the connection's lock. Return the work that the calls under it have left. */
[[gnu::always_inline]] static inline u32 unlock(rpcrdma_ep_core *core)
{
	const u32 todo = rpcrdma_core_take_todo(core);

	rpcrdma_port_unlock(core);
	return todo;
}

/* Release the connection's lock, and do the work that the calls under it have left. */
[[gnu::always_inline]] static inline void
unlock_and_finish(rpcrdma_ep_core *core)
{
	const u32 todo = unlock(core);

	if (todo) [[unlikely]]
		rpcrdma_core_finish(core, todo);
}

/* Holds a lock: @take takes it for the object's lifetime, and @release releases it. */
template <void take(rpcrdma_ep_core *), void release(rpcrdma_ep_core *)>
class scope
{
public:
	[[gnu::always_inline]] explicit scope(rpcrdma_ep_core *core)
		: core_{ core }
	{
		take(core_);
	}
	[[gnu::always_inline]] ~scope()
	{
		release(core_);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

private:
	rpcrdma_ep_core *core_;
};

using locked = scope<rpcrdma_port_lock, rpcrdma_port_unlock>;
using posting = scope<rpcrdma_port_lock, unlock_and_finish>;
using locked_mrs = scope<rpcrdma_port_lock_mrs, rpcrdma_port_unlock_mrs>;

/* Return the context of a message. */
[[gnu::always_inline]] static inline rpcrdma_send *send_of(rpcrdma_work *work)
{
	static_assert(__builtin_offsetof(rpcrdma_send, work) == 0);
	return reinterpret_cast<rpcrdma_send *>(work);
}

[[gnu::always_inline]] static inline rpcrdma_stream *
stream_of(rpcrdma_work *work)
{
	static_assert(__builtin_offsetof(rpcrdma_stream, work) == 0);
	return reinterpret_cast<rpcrdma_stream *>(work);
}

/* Send contexts beyond those for RPC traffic: see make_sends() */
constexpr u32 MORE_SENDS = RPCRDMA_CONTROL_SENDS + 1;

/* Allocate the Send contexts of a connection. Returns 0 or a negative errno. */
int make_sends(rpcrdma_ep_core *core);

/* Allocate the reserve buffer of a client, if possible, after its first Receives. */
void make_reserve(rpcrdma_ep_core *core);

/*
 * Initialise the next context for its first use. Not called if all have been used.
 */
rpcrdma_send *make_send(rpcrdma_ep_core *core);

/* Return a free context, which the account already counts as used. */
[[gnu::always_inline]] static inline rpcrdma_send *
pop_send(rpcrdma_ep_core *core)
{
	rpcrdma_work *work = core->free_sends;

	if (!work) [[unlikely]]
		return make_send(core);
	core->free_sends = work->next;
	return send_of(work);
}

/*
 * Add a context to the free list. Nothing of its last message remains attached to it.
 */
[[gnu::always_inline]] static inline void push_send(rpcrdma_ep_core *core,
						    rpcrdma_send *s)
{
	s->work.next = core->free_sends;
	core->free_sends = &s->work;
}

/*
 * Return a context with space for @octets bytes for a message that is built under the
 * lock, or null if memory is short.
 */
rpcrdma_send *pop_send_with_room(rpcrdma_ep_core *core, u32 octets);

/*
 * Return a context for a message of a continued one. If memory is short, its buffer is
 * smaller than usual. Return null if there is none of RPCRDMA_SMALL_SEND bytes.
 */
rpcrdma_send *pop_send_for_part(rpcrdma_ep_core *core);

/* Return the number of MRs in @mrs, which may be null. */
[[gnu::always_inline]] static inline u32 count_mrs(const list_head *mrs)
{
	u32 nr = 0;

	if (!mrs)
		return 0;
	for (const list_head *at = mrs->next; at != mrs; at = at->next)
		nr++;
	return nr;
}

/* From now on the peer can access @mr. */
[[gnu::always_inline]] static inline void expose_mr(rpcrdma_mr *mr)
{
	mr->exposed = true;
	mr->used = true;
}

/* The same for the MRs in @mrs, which may be null */
[[gnu::always_inline]] static inline void expose_mrs(const list_head *mrs)
{
	if (!mrs)
		return;
	for (list_head *at = mrs->next; at != mrs; at = at->next)
		expose_mr(list_object<rpcrdma_mr>(at));
}

/*
 * Begin a message of version 2 with one chunk of one segment, and @octets bytes of payload,
 * at most 64 KiB: the caller writes the header. Return false if its version is another
 * one, or if @s is too small for it.
 */
[[gnu::always_inline]] static inline bool begin_one(rpcrdma_ep_core *core,
						    rpcrdma_send *s, u32 octets)
{
	constexpr u32 header = v2::ONE_CHUNK_HEADER_OCTETS;

	if (core->conn.version != RPCRDMA_VERS_2 || header + octets > s->size)
		[[unlikely]]
		return false;
	s->header_len = header;
	s->len = header + octets;
	return true;
}

/* Describe the Send of s->len bytes; nothing is chained before it. */
[[gnu::always_inline]] static inline void prepare_send(rpcrdma_send *s, u8 kind,
						       u32 inv_handle)
{
	s->inv_handle = inv_handle;
	s->before = nullptr;
	s->work.wrs.nr = 1;
	s->work.wrs.signaled = s->len >= s->signal_threshold;
	s->work.kind = kind;
}

/* Attach the Writes of @t, which may be null. They will be chained before @s. */
[[gnu::always_inline]] static inline void attach_writes(rpcrdma_send *s,
							rpcrdma_transfer *t)
{
	s->rw = t;
	if (!t || !t->left) [[likely]]
		return;
	s->work.wrs.nr += t->left;
	/* The completion frees the pages that the Writes read. */
	s->work.wrs.signaled = true;
}

[[gnu::always_inline]] static inline void chain_writes(rpcrdma_send *s,
						       rpcrdma_transfer *t)
{
	if (!t || !t->left) [[likely]]
		return;
	rpcrdma_port_chain_writes(s, t);
	t->left = 0;
}

/* Append @work to the posted work. */
[[gnu::always_inline]] static inline void append_posted(rpcrdma_ep_core *core,
							rpcrdma_work *work)
{
	work->next = nullptr;
	*core->inflight_end = work;
	core->inflight_end = &work->next;
}

/* Return true if the device took @work, and count it otherwise. */
[[gnu::always_inline]] static inline bool count_post(rpcrdma_ep_core *core,
						     const rpcrdma_work *work)
{
	if (work->post_failed) [[unlikely]]
		rpcrdma_port_count(core, RPCRDMA_COUNT_POSTS_REFUSED);
	return !work->post_failed;
}

/* From now on, a DONE or the time limit ends the exposure of @x. */
void expose_reply(rpcrdma_ep_core *core, rpcrdma_pull_entry *x);

/*
 * Post a stamped message. Its slots are reserved. Return false if the device refused
 * it; the same applies to the functions below. The work item is always consumed: if it
 * is refused, the connection ends, and the drain returns the item. Until then other
 * work may be posted. If the completion of that work covers this item, the item is
 * reported as failed.
 */
[[gnu::always_inline]] static inline bool submit_send(rpcrdma_ep_core *core,
						      rpcrdma_send *s)
{
	if (s->exposed) [[unlikely]] {
		expose_reply(core, s->exposed);
		s->exposed = nullptr;
	}
	append_posted(core, &s->work);
	core->conn.counters.bytes_sent += s->len;
	s->work.post_failed = !rpcrdma_port_post_send(core, s);
	return count_post(core, &s->work);
}

/* Count, stamp and post a queued message, or a message of a continued sequence. */
bool post_send(rpcrdma_ep_core *core, rpcrdma_send *s);

/* Post work for which there are slots, with @post. Return false if the device refused it. */
template <bool post(rpcrdma_ep_core *, rpcrdma_work *)>
[[gnu::always_inline]] static inline bool post_work(rpcrdma_ep_core *core,
						    rpcrdma_work *work)
{
	rpcrdma_sq_charge(&core->sq, &work->wrs);
	append_posted(core, work);
	work->post_failed = !post(core, work);
	return count_post(core, work);
}

/* Queue work without a message for slots. */
void queue_rdma(rpcrdma_ep_core *core, rpcrdma_work *work);

/*
 * Post work without a message, with @post, or queue it. Return false if it can never be
 * posted: it is not consumed then.
 */
template <bool post(rpcrdma_ep_core *, rpcrdma_work *)>
[[gnu::always_inline]] static inline bool post_rdma(rpcrdma_ep_core *core,
						    rpcrdma_work *work)
{
	if (is_closing(core))
		return false;
	switch (rpcrdma_sq_transfer(&core->sq, work->wrs.nr)) {
	case RPCRDMA_SQ_GO:
		if (!post_work<post>(core, work))
			core->todo |= RPCRDMA_TODO_RDMA_REFUSED;
		return true;
	case RPCRDMA_SQ_WAIT:
		queue_rdma(core, work);
		return true;
	case RPCRDMA_SQ_NEVER:
		break;
	}
	core->todo |= RPCRDMA_TODO_RDMA_REFUSED;
	return false;
}

/*
 * Retire all posted work, for which no more completions arrive; and all work that waits.
 * Append it to @done_list.
 */
void flush_posted(rpcrdma_ep_core *core, list_head *done_list);
void flush_waiting(rpcrdma_ep_core *core, list_head *done_list);

/* Post the batch of a transfer. Return false if the device refused it. */
bool post_batch(rpcrdma_ep_core *core, rpcrdma_work *work);

/*
 * Start the time limit of messages that wait for credits, if there are any. Return
 * events, but only if the limit has expired.
 */
u32 watch_stall(rpcrdma_ep_core *core);

/* Return the errno for the engine's answer to a Call. */
int call_status(rpcrdma_ep_core *core, enum rpcrdma_sq_answer may);

/*
 * Queue a Reply after the Replies that wait. It is a continued one, or its Writes have
 * completed. Return false if it needs more Work Requests than the Send Queue has.
 */
bool queue_reply(rpcrdma_ep_core *core, rpcrdma_work *reply, u32 nr_wrs);

/* Return the next message of the continued sequence @st, if it gets a large buffer. */
static inline rpcrdma_fragment next_part(const rpcrdma_ep_core *core,
					 const rpcrdma_stream *st)
{
	return rpcrdma_next_fragment(&core->conn, &st->lists,
				     st->len - st->sent, ~0u);
}

/*
 * Post the next message of @st; with the first one, the registrations of @mrs. Return
 * false if the device refused it, or if memory was short: the connection ends.
 */
bool post_part(rpcrdma_ep_core *core, rpcrdma_stream *st, const list_head *mrs);

/* Trace that @work waits, if it is still the last in its queue. */
static inline void trace_queued(rpcrdma_ep_core *core, u32 xid,
				const rpcrdma_work *work)
{
	if (rpcrdma_core_is_queued(core, work))
		rpcrdma_port_queued(core, xid, work);
}

/*
 * Look up what a connection needs for host authentication, before its setup. Return 0 or a
 * negative errno. No lock held; may sleep.
 */
int begin_auth(rpcrdma_ep_core *core);

/*
 * Prepare the handshake that a server's client has asked for. Return null if out of memory.
 * No lock held; may sleep.
 */
rpcrdma_hostauth *new_handshake(rpcrdma_ep_core *core);

/* Remove and release @x, which no peer can access any more. No lock held. */
void end_exposed(rpcrdma_pull_entry *x);

/* Handle the peer's DONE in @rv: invalidate the MRs that it did not. No lock held. */
void reply_pulled(const rpcrdma_recv *rv);

/* Release the context of @s, to which no work is attached. */
[[gnu::always_inline]] static inline void release_send(rpcrdma_ep_core *core,
						       rpcrdma_send *s)
{
	push_send(core, s);
	rpcrdma_sq_give(&core->sq);
}

/* Release the context of @s and append the work attached to it to @done_list. */
[[gnu::always_inline]] static inline void
free_up_send(rpcrdma_ep_core *core, rpcrdma_send *s, list_head *done_list)
{
	if (s->rw) [[unlikely]] {
		s->rw->work.post_failed = s->work.post_failed;
		list_push_back(&s->rw->work.list, done_list);
		s->rw = nullptr;
	}
	if (s->stream) [[unlikely]] {
		list_push_back(&s->stream->work.list, done_list);
		s->stream = nullptr;
	}
	release_send(core, s);
}

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_ENDPOINT_HH */
