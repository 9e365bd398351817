// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that peers make this end hold: counted for each connection, bounded
 * for those that have joined. The rules are the engine's.
 */

#include "internal.h"

/* Taken for what is larger than a Receive or a Send, and briefly. */
static DEFINE_SPINLOCK(rpcrdma_memory_lock);
static struct rpcrdma_memory rpcrdma_memory;

/**
 * rpcrdma_ep_join - count a new connection among those that share a limit
 * @ep: endpoint with its params, before anything of it was made
 * @limit: octets for all of them, from now on
 * @message: octets of the largest Call or Reply there is
 *
 * Any context. Returns 0, or -ENOMEM when the others hold all there is.
 */
int rpcrdma_ep_join(struct rpcrdma_ep *ep, u64 limit, u32 message)
{
	const struct rpcrdma_ep_params *p = &ep->params;
	struct rpcrdma_memory_account *account = &ep->memory;
	u64 recvs = rpcrdma_window_receives(p->first_window ?: p->window);
	u32 octets = max_t(u32, p->recv_size, RPCRDMA_V2_DEFAULT_INLINE);
	u64 sends = p->sends + RPCRDMA_CONTROL_SENDS + 1;
	int rc;

	/* Pages that are not full, at either end of a message */
	rpcrdma_memory_promise(account, sizeof(*ep) +
			       sends * sizeof(struct rpcrdma_send) +
			       RPCRDMA_CONTROL_SENDS * RPCRDMA_SMALL_SEND,
			       recvs * rpcrdma_recv_cost(octets),
			       message, p->reassembly,
			       sizeof(struct rpcrdma_stream) + 2 * PAGE_SIZE);

	spin_lock(&rpcrdma_memory_lock);
	rpcrdma_memory.limit = limit;
	rc = rpcrdma_memory_join(&rpcrdma_memory, account);
	spin_unlock(&rpcrdma_memory_lock);
	return rc ? -ENOMEM : 0;
}

/**
 * rpcrdma_ep_part - a connection that is being closed counts no more
 * @ep: endpoint, joined or not
 *
 * Any number of times. Its end comes by itself here at the latest.
 */
void rpcrdma_ep_part(struct rpcrdma_ep *ep)
{
	spin_lock(&rpcrdma_memory_lock);
	rpcrdma_memory_leave(&rpcrdma_memory, &ep->memory);
	spin_unlock(&rpcrdma_memory_lock);
}

/**
 * rpcrdma_ep_has_room - may more be held for this peer?
 * @ep: endpoint
 * @use: what for
 * @octets: how much
 *
 * Arranges for write_space() when some of that is given back, if not.
 */
bool rpcrdma_ep_has_room(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
			 u64 octets)
{
	bool room;

	spin_lock(&rpcrdma_memory_lock);
	room = rpcrdma_memory_ask(&rpcrdma_memory, &ep->memory, use, octets);
	spin_unlock(&rpcrdma_memory_lock);
	return room;
}

/**
 * rpcrdma_ep_hold_some - hold as much more for this peer as there is room for
 * @ep: endpoint
 * @use: what for
 * @octets: of one piece
 * @count: pieces that are wanted
 *
 * Returns how many are held now.
 */
u32 rpcrdma_ep_hold_some(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
			 u64 octets, u32 count)
{
	u32 nr;

	spin_lock(&rpcrdma_memory_lock);
	nr = rpcrdma_memory_fits(&rpcrdma_memory, &ep->memory, use, octets,
				 count);
	rpcrdma_memory_hold(&rpcrdma_memory, &ep->memory, use, nr * octets);
	spin_unlock(&rpcrdma_memory_lock);
	return nr;
}

/**
 * rpcrdma_ep_may_begin - is there memory for a Call of this peer's to be begun?
 * @ep: endpoint
 * @octets: what the Replies to all that are at work may take, with this one
 *
 * If not, write_space() will be called.
 */
bool rpcrdma_ep_may_begin(struct rpcrdma_ep *ep, u64 octets)
{
	bool may;

	spin_lock(&rpcrdma_memory_lock);
	may = rpcrdma_memory_may_begin(&rpcrdma_memory, &ep->memory, octets);
	spin_unlock(&rpcrdma_memory_lock);
	return may;
}

/**
 * rpcrdma_ep_hold - more is held for this peer
 * @ep: endpoint
 * @use: what for
 * @octets: how much
 */
void rpcrdma_ep_hold(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
		     u64 octets)
{
	spin_lock(&rpcrdma_memory_lock);
	rpcrdma_memory_hold(&rpcrdma_memory, &ep->memory, use, octets);
	spin_unlock(&rpcrdma_memory_lock);
}

/**
 * rpcrdma_ep_give - what was held is free
 * @ep: endpoint
 * @use: what it was held for
 * @octets: how much, as it was said to rpcrdma_ep_hold()
 *
 * Process context, no lock held.
 */
void rpcrdma_ep_give(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
		     u64 octets)
{
	bool tell;

	if (!octets)
		return;
	spin_lock(&rpcrdma_memory_lock);
	tell = rpcrdma_memory_give(&rpcrdma_memory, &ep->memory, use, octets);
	spin_unlock(&rpcrdma_memory_lock);
	if (tell)
		rpcrdma_ep_write_space(ep);
}

/**
 * rpcrdma_ep_memory - the account, for those who show it
 * @ep: endpoint
 * @account: gets a copy
 */
void rpcrdma_ep_memory(struct rpcrdma_ep *ep,
		       struct rpcrdma_memory_account *account)
{
	spin_lock(&rpcrdma_memory_lock);
	*account = ep->memory;
	spin_unlock(&rpcrdma_memory_lock);
}
