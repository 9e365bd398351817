/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Send contexts, and the messages in them. Unless noted, the lock is held. */
#ifndef RPCRDMA_CORE_SENDS_HH
#define RPCRDMA_CORE_SENDS_HH

#include "../wire/one_chunk.hh"
#include "endpoint.hh"

namespace rpcrdma
{

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

/*
 * Allocate a buffer of up to a page for a free context, if there is one, with retries: a
 * message waits for it. The teardown is held off. No lock held; may sleep.
 */
void add_buffer(rpcrdma_ep_core *core);

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

#endif /* RPCRDMA_CORE_SENDS_HH */
