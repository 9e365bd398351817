// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receives are allocated, charged and posted here, and reused or freed after their
 * messages have been processed.
 *
 * Operation
 *
 * conn/receive_pool.cc decides how many Receives a connection has, and when free ones
 * are posted. rpcrdma_core_recvs_due() allocates and posts in rounds, until no more are
 * due. One context allocates at a time; another one that runs meanwhile only posts. A
 * Receive that is released is posted again with a batch of free ones, or freed if the
 * window has shrunk.
 *
 * Memory
 *
 * All Receives are in core->all_recvs. Those that are free are in core->free_recvs,
 * too. Each Receive is charged together with a Send buffer of the same size, which the
 * Reply to its Call may need. A surplus Receive is unmapped under the lock, and
 * uncharged and freed after the lock was released. The others are freed with the
 * endpoint. The host's teardown drops its reference to the endpoint when the transport
 * holds no Receive, or leaves that to the release of the last one.
 *
 * Errors
 *
 * If the first Receives cannot be allocated, the next round allocates smaller ones; if
 * these cannot be allocated, the connection is closed. If the Receives of a larger
 * window cannot be allocated, the window is only as large as they permit; a client of
 * version 1 needs all of them. If the device refuses to post Receives, the connection
 * is closed. None is posted once the connection is closing, because the drain would not
 * flush it.
 *
 * Locking
 *
 * The lists and counts are protected by the lock of the connection, and Receives are
 * posted under it. Receives are charged and allocated without the lock, while the
 * teardown is held off.
 */
#include "sends.hh"

namespace rpcrdma
{

namespace
{

constexpr char NOT_POSTED[] = "a Receive could not be posted";

/*
 * Post the free Receives in one call, if a batch is due. The connection is not closing.
 * Return events, none if no Receive was posted; or RPCRDMA_RECV_UNPOSTED.
 */
u32 post_recvs(rpcrdma_ep_core *core)
{
	rpcrdma_recv *first = core->free_recvs;
	const u32 count = rpcrdma_recvs_to_post(&core->conn,
						rpcrdma_port_coarse_ms(core));

	/*
	 * After a failure to post, none are left on the list: the connection will be
	 * closed.
	 */
	if (!count || !first)
		return 0;
	core->free_recvs = nullptr;
	if (!rpcrdma_port_post_recvs(core, first)) [[unlikely]] {
		rpcrdma_port_count(core, RPCRDMA_COUNT_POSTS_REFUSED);
		return RPCRDMA_RECV_UNPOSTED;
	}
	return rpcrdma_recvs_posted(&core->conn, count);
}

/* Update the account after a change of the number of Receives. */
void count_recvs(rpcrdma_ep_core *core)
{
	if (!core->conn.cfg.client)
		rpcrdma_sq_set_replies(&core->sq, core->nr_sends - MORE_SENDS,
				       core->nr_recvs);
}

/* Receives allocated in one round */
struct recvs_made {
	rpcrdma_receives want;
	u32 nr;
	rpcrdma_recv *first; /* chained by next */
	rpcrdma_recv *last;
};

/*
 * Add the new Receives, and post the free ones if a batch is due. Return events or
 * RPCRDMA_RECV_UNPOSTED.
 */
u32 add_recvs(rpcrdma_ep_core *core, const recvs_made *made)
{
	u32 events = 0;

	if (made->nr) {
		for (rpcrdma_recv *rv = made->first; rv; rv = rv->next)
			list_push_back(&rv->all, &core->all_recvs);
		made->last->next = core->free_recvs;
		core->free_recvs = made->first;
		core->nr_recvs += made->nr;
		count_recvs(core);
	}
	if (made->want.count)
		events = rpcrdma_recvs_allocated(&core->conn, made->nr);
	/* Don't post once the connection is closing: the drain would not flush them. */
	if (!is_closing(core) && !(events & RPCRDMA_EV_CLOSE))
		events |= post_recvs(core);
	return events;
}

/*
 * Allocate @count Receives as made->want describes, fewer if memory is short.
 */
void make_recvs(rpcrdma_ep_core *core, u32 count, recvs_made *made)
{
	for (; made->nr < count; made->nr++) {
		rpcrdma_recv *rv = rpcrdma_port_recv(core, &made->want);

		if (!rv)
			break;
		rv->core = core;
		rv->size = made->want.octets;
		list_init(&rv->list);
		if (made->last)
			made->last->next = rv;
		else
			made->first = rv;
		made->last = rv;
	}
}

/* Return the memory that a buffer of @octets bytes occupies. */
u32 occupied(const rpcrdma_ep_core *core, u32 octets)
{
	return rpcrdma_buffer_octets(core->page_size, octets);
}

/* Allocate what there is memory for, and charge it. The teardown is held off. */
void charge_and_make(rpcrdma_ep_core *core, recvs_made *made)
{
	const u64 cost = rpcrdma_core_recv_cost(
		core->recv_size, occupied(core, made->want.octets));
	const u32 fit = rpcrdma_port_charge(core, RPCRDMA_QUOTA_BUFFERS, cost,
					    made->want.count);

	make_recvs(core, fit, made);
	rpcrdma_port_uncharge(core, RPCRDMA_QUOTA_BUFFERS,
			      (fit - made->nr) * cost);
}

/* Allocate and post Receives once. Return true if there is to be another round. */
bool recvs_round(rpcrdma_ep_core *core)
{
	recvs_made made{};
	bool entered;
	u32 events;

	{
		const locked under(core);

		made.want = rpcrdma_recvs_to_alloc(&core->conn);
	}
	/* Hold off the teardown, which unmaps the Receives. */
	entered = made.want.count && rpcrdma_port_enter(core);
	if (entered)
		charge_and_make(core, &made);
	{
		const locked under(core);

		events = add_recvs(core, &made);
	}
	if (entered)
		rpcrdma_port_leave(core);
	if (events & RPCRDMA_RECV_UNPOSTED) {
		rpcrdma_core_close(core, NOT_POSTED);
		return false;
	}
	rpcrdma_core_events(core, events & ~u32{ RPCRDMA_EV_RECEIVES });
	return events & RPCRDMA_EV_RECEIVES;
}

/*
 * Remove a surplus Receive: the window needs fewer now, and a server sends fewer
 * Replies. A client keeps the Send buffers it may need when memory is short.
 * rv->counted is set to the charge that ends: each Receive is charged together with a
 * Send buffer, and the latter's charge remains while there are more such buffers than
 * Receives. The charges that remain may differ, because the inline threshold may have been
 * reduced: an average ends. The connection is not closing.
 */
void free_surplus(rpcrdma_ep_core *core, rpcrdma_recv *rv)
{
	const u32 octets = occupied(core, rv->size);
	const u32 owed = core->bufs_owed + 1;
	const u32 owed_octets = core->owed_octets + octets;
	u32 bufs = 0;

	list_remove(&rv->all);
	core->nr_recvs--;
	count_recvs(core);
	rpcrdma_port_recv_unmap(rv);
	if (!core->conn.cfg.client)
		bufs = rpcrdma_core_send_free_surplus(core);
	core->bufs_owed = min_u32(owed, bufs - min_u32(bufs, core->nr_recvs));
	core->owed_octets = owed_octets / owed * core->bufs_owed;
	rv->counted = rpcrdma_core_recv_cost(core->recv_size, octets) - octets +
		      (owed_octets - core->owed_octets);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_core_recvs_due(struct rpcrdma_ep_core *core)
{
	while (recvs_round(core))
		;
}

void rpcrdma_core_recv_shrink(struct rpcrdma_recv *rv)
{
	if (rv->assembled)
		rpcrdma_port_uncharge(rv->core, RPCRDMA_QUOTA_CALLS,
				      rv->counted);
	if (rv->rx.lists.extra_segs)
		rpcrdma_port_uncharge(rv->core, RPCRDMA_QUOTA_BUFFERS,
				      EXTRA_SEGS_OCTETS);
	rpcrdma_port_recv_shrink(rv);
	rv->assembled = nullptr;
	rv->rx.lists.extra_segs = nullptr;
	rv->large = false;
}

u32 rpcrdma_core_recv_released(struct rpcrdma_ep_core *core,
			       struct rpcrdma_recv *rv, u32 todo)
{
	if (todo & RPCRDMA_EV_FREE_RECEIVE)
		free_surplus(core, rv);
	else
		rpcrdma_core_recv_free_up(core, rv);
	if (todo & RPCRDMA_EV_RECEIVES) {
		todo &= ~u32{ RPCRDMA_EV_RECEIVES };
		todo |= post_recvs(core);
	}
	return todo;
}

u32 rpcrdma_core_recv_released_late(const struct rpcrdma_ep_core *core)
{
	return !core->recvs_held && core->torn_down ? RPCRDMA_RECV_LAST : 0;
}

void rpcrdma_core_recv_freed(struct rpcrdma_ep_core *core,
			     struct rpcrdma_recv *rv, u32 todo)
{
	if (todo & RPCRDMA_EV_FREE_RECEIVE) {
		rpcrdma_port_uncharge(core, RPCRDMA_QUOTA_BUFFERS, rv->counted);
		rpcrdma_port_recv_free(rv);
	}
	if (todo & RPCRDMA_RECV_UNPOSTED)
		rpcrdma_core_close(core, NOT_POSTED);
	else if (!(todo & RPCRDMA_RECV_LAST))
		rpcrdma_core_events(core, todo);
}

bool rpcrdma_core_recvs_end(struct rpcrdma_ep_core *core)
{
	const locked under(core);

	core->torn_down = true;
	return !core->recvs_held;
}
