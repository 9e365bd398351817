// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send contexts and their buffers.
 *
 * Operation
 *
 * A context has a number, a chain of Work Requests, and a buffer or none. The contexts
 * with the numbers 1 to RPCRDMA_CONTROL_SENDS share one allocation of small buffers,
 * which suffice for control messages. The others get a buffer when they need it, as
 * does one of these for a larger message, and keep it. The contexts used last are used
 * next, so that few of them ever have a large buffer. A server's contexts are
 * initialised at their first use, because most of its connections may be idle.
 *
 * Memory
 *
 * A client allocates one buffer of the largest size with the connection: with it a client
 * can send the messages that free memory when memory is short. If there is no memory for
 * that size, the client announces that it sends smaller messages. The size is final only
 * when the first Receives have been allocated, so that the buffer follows them. Its
 * context is the last of the free ones at first, and each Send from this reserve
 * buffer is signaled, so that the buffer is soon free again. When a server frees a
 * surplus Receive, it frees a Send buffer, too, because the window permits fewer
 * Replies. The host frees the other buffers with the endpoint.
 *
 * Errors
 *
 * If no buffer can be allocated without long retries, a context that its user owns gets
 * the buffer of a free context, and for a message that is built under the lock another
 * context is used. A server that has none allocates a buffer of the message's size,
 * however long that takes. A message of a continued one becomes shorter instead, as short
 * as a page or a control message. If no free buffer is large enough, the message is not
 * sent: the caller of a Call retries it later, and other messages wait (post.cc).
 *
 * Locking
 *
 * The list of free contexts is protected by the lock of the connection. A context that
 * is not in it belongs to its user, which may enlarge its buffer without the lock, while
 * the teardown is held off.
 */
#include "../wire/one_chunk.hh"
#include "sends.hh"

namespace rpcrdma
{

namespace
{

/* Return true if @s has a buffer that is not part of the control buffers. */
bool has_own(const rpcrdma_send *s)
{
	return s->buf && !s->shared;
}

u32 count_own(rpcrdma_ep_core *core, u32 more)
{
	return __atomic_add_fetch(&core->send_bufs, more, __ATOMIC_RELAXED);
}

/*
 * Initialise @s, which has no separate buffer, or no longer has one. It gets one of
 * the control buffers, or none.
 */
void make_bare(rpcrdma_send *s)
{
	const rpcrdma_ep_core *core = s->core;
	const u32 number = s->number;

	s->signal_threshold = core->signal_threshold;
	s->shared = number && number <= RPCRDMA_CONTROL_SENDS;
	if (s->shared) {
		const u32 at = (number - 1) * RPCRDMA_SMALL_SEND;

		s->buf = core->control_bufs + at;
		s->addr = core->control_addr + at;
		s->size = RPCRDMA_SMALL_SEND;
	} else {
		s->buf = nullptr;
		s->addr = 0;
		s->size = 0;
	}
}

/* Replace the buffer of @s by @buf, and free the previous one. */
void set_buffer(rpcrdma_send *s, void *buf, u64 addr, u32 size)
{
	if (has_own(s))
		rpcrdma_port_buffer_free(s->core, s->buf, s->addr, s->size);
	else
		count_own(s->core, 1);
	s->shared = false;
	s->buf = buf;
	s->addr = addr;
	s->size = size;
}

/*
 * Begin to use the @nr contexts. Those of a server, which may have thousands of idle
 * connections, are initialised at their first use.
 */
void begin_sends(rpcrdma_ep_core *core, u32 nr)
{
	core->nr_sends = nr;
	core->call_send = make_send(core);
	for (u32 i = 1; i < core->nr_sends; i++)
		rpcrdma_sq_give(&core->sq);
	if (!core->life.client)
		return;

	/*
	 * The contexts with control buffers have the lowest numbers. They are the first
	 * ones in the list, and are used first.
	 */
	rpcrdma_work **end = &core->free_sends;

	while (core->sends_made < core->nr_sends) {
		rpcrdma_send *s = make_send(core);

		*end = &s->work;
		end = &s->work.next;
	}
	*end = nullptr;
}

/* Announce smaller messages. Return false if they are as small as they can be. */
bool send_less(rpcrdma_ep_core *core)
{
	const locked under(core);

	return rpcrdma_conn_send_less(&core->conn);
}

template <typename T>
[[gnu::always_inline]] inline void exchange(T *a, T *b)
{
	const T was = *a;

	*a = *b;
	*b = was;
}

/* Return the usual size of a buffer for @octets bytes; if that is less, there is none. */
u32 buffer_size(const rpcrdma_ep_core *core, u32 octets)
{
	return octets <= RPCRDMA_SMALL_SEND ?
		       u32{ RPCRDMA_SMALL_SEND } :
		       rpcrdma_conn_send_octets(&core->conn);
}

/* Allocate a buffer for @s. Return false if out of memory. No lock held. */
bool new_buffer(rpcrdma_send *s, u32 size, rpcrdma_buffer_need need)
{
	u64 addr;
	void *buf = rpcrdma_port_buffer(s->core, size, need, &addr);

	if (buf)
		set_buffer(s, buf, addr, size);
	return buf;
}

/*
 * Exchange the buffer of @s for one of @octets bytes at least that a free context has.
 * Buffers of control messages stay with their contexts. Return false if there is none.
 * No lock held.
 */
bool exchange_buffers(rpcrdma_send *s, u32 octets)
{
	const locked under(s->core);

	for (rpcrdma_work *w = s->core->free_sends; w; w = w->next) {
		rpcrdma_send *other = send_of(w);

		if (other->size < octets || other->shared)
			continue;
		exchange(&s->buf, &other->buf);
		exchange(&s->addr, &other->addr);
		exchange(&s->size, &other->size);
		exchange(&s->shared, &other->shared);
		exchange(&s->signal_threshold, &other->signal_threshold);
		if (!has_own(other))
			make_bare(other);
		return true;
	}
	return false;
}

/*
 * Get a buffer of @size bytes for @s, or of @octets bytes at least. More than a page of
 * contiguous memory may not be available. A client's message can be sent later, but the
 * connection is closed if a server cannot send a Reply. Return false if there is no memory.
 */
bool find_buffer(rpcrdma_send *s, u32 size, u32 octets)
{
	return new_buffer(s, size, RPCRDMA_BUFFER_WANTED) ||
	       (octets < size &&
		new_buffer(s, octets, RPCRDMA_BUFFER_WANTED)) ||
	       exchange_buffers(s, octets) ||
	       (!s->core->life.client &&
		new_buffer(s, octets, RPCRDMA_BUFFER_NEEDED));
}

/*
 * Return a context with space for @octets bytes, which the account already counts as used,
 * or null. If the allocation fails, use a context that already has a buffer of that size.
 * On most connections there is one.
 */
rpcrdma_send *find_room(rpcrdma_ep_core *core, u32 octets)
{
	rpcrdma_send *s = pop_send(core);
	void *buf;
	u64 addr;

	if (octets <= s->size) [[likely]]
		return s;
	buf = rpcrdma_port_buffer(core, octets, RPCRDMA_BUFFER_NOW, &addr);
	if (buf) {
		set_buffer(s, buf, addr, octets);
		return s;
	}
	push_send(core, s);
	for (rpcrdma_work **at = &core->free_sends; *at; at = &(*at)->next) {
		s = send_of(*at);
		if (octets > s->size)
			continue;
		*at = s->work.next;
		return s;
	}
	while (core->sends_made < core->nr_sends) {
		s = make_send(core);
		if (octets <= s->size)
			return s;
		push_send(core, s);
	}
	return nullptr;
}

} // namespace

rpcrdma_send *make_send(rpcrdma_ep_core *core)
{
	const u32 number = core->sends_made++;
	rpcrdma_send *s = rpcrdma_port_send(core, number);
	rpcrdma_chain *chain = s->work.chain;

	*s = {};
	list_init(&s->work.list);
	s->work.chain = chain;
	s->core = core;
	s->number = number;
	make_bare(s);
	return s;
}

rpcrdma_send *pop_send_with_room(rpcrdma_ep_core *core, u32 octets)
{
	rpcrdma_send *s = find_room(core, octets);

	if (!s) [[unlikely]]
		rpcrdma_sq_give(&core->sq);
	return s;
}

/* Contiguous pages may not be available for long, and the rest of a message cannot wait. */
rpcrdma_send *pop_send_for_part(rpcrdma_ep_core *core)
{
	const u32 octets = rpcrdma_conn_send_octets(&core->conn);
	rpcrdma_send *s = find_room(core, octets);

	if (!s) [[unlikely]]
		s = find_room(core, min_u32(octets, core->page_size));
	return s ? s : pop_send_with_room(core, RPCRDMA_SMALL_SEND);
}

void add_buffer(rpcrdma_ep_core *core)
{
	const u32 size =
		min_u32(rpcrdma_conn_send_octets(&core->conn), core->page_size);
	rpcrdma_send *s;

	{
		const locked under(core);

		if (!core->sq.contexts)
			return;
		core->sq.contexts--;
		s = pop_send(core);
	}
	if (s->size < size)
		find_buffer(s, size, RPCRDMA_SMALL_SEND);

	const locked under(core);

	release_send(core, s);
}

/*
 * One context more than those for RPC traffic and control messages is for the Call that
 * is built next.
 */
int make_sends(rpcrdma_ep_core *core)
{
	const u32 nr = core->control.params->sends + MORE_SENDS;
	const int rc = rpcrdma_port_sends(core, nr);

	if (rc)
		return rc;

	const locked under(core);

	begin_sends(core, nr);
	return 0;
}

/*
 * A client uses the context with the reserve buffer last, and signals each Send from it:
 * when memory is short, the buffer must soon be free again.
 */
void make_reserve(rpcrdma_ep_core *core)
{
	rpcrdma_send *last = send_of(core->free_sends);
	u32 size;
	u64 addr;
	void *buf;

	do {
		size = rpcrdma_conn_send_octets(&core->conn);
		buf = rpcrdma_port_buffer(core, size, RPCRDMA_BUFFER_WANTED,
					  &addr);
	} while (!buf && send_less(core));
	if (!buf)
		return;
	while (last->work.next)
		last = send_of(last->work.next);
	set_buffer(last, buf, addr, size);
	last->signal_threshold = RPCRDMA_SIGNAL_ALWAYS;
}

} // namespace rpcrdma

using namespace rpcrdma;

int rpcrdma_core_send_larger(struct rpcrdma_send *s, u32 octets)
{
	rpcrdma_ep_core *core = s->core;
	const u32 size = buffer_size(core, octets);
	bool ok;

	if (octets > size)
		return -E_MSGSIZE;
	/* Hold off the teardown, which unmaps the buffer. */
	if (!rpcrdma_port_enter(core))
		return -E_NOTCONN;
	ok = find_buffer(s, size, octets);
	rpcrdma_port_leave(core);
	return ok ? 0 : -E_NOMEM;
}

int rpcrdma_core_send_begin_larger(struct rpcrdma_send *s,
				   enum rpcrdma_kind kind,
				   enum rpcrdma_format format, u32 xid,
				   u32 octets,
				   const struct rpcrdma_lists *lists)
{
	const u32 header = rpcrdma_header_octets(&s->core->conn, lists);
	const int rc = rpcrdma_core_send_larger(s, header + octets);

	if (rc)
		return rc;
	return rpcrdma_core_send_fits(s, kind, format, xid, octets, lists) ?
		       0 :
		       -E_MSGSIZE;
}

u32 rpcrdma_core_send_free_surplus(struct rpcrdma_ep_core *core)
{
	rpcrdma_send *last = nullptr;

	if (!count_own(core, 0))
		return 0;
	for (rpcrdma_work *w = core->free_sends; w; w = w->next) {
		if (has_own(send_of(w)))
			last = send_of(w);
	}
	if (!last)
		return count_own(core, 0);
	rpcrdma_port_buffer_free(core, last->buf, last->addr, last->size);
	make_bare(last);
	return count_own(core, -1u);
}
