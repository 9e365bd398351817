/* SPDX-License-Identifier: GPL-2.0 */
/* Memory charged to the peer's quota. */
#ifndef RPCRDMA_CHARGE_H
#define RPCRDMA_CHARGE_H

#include <core/quota_own.h>

#include "endpoint.h"

/*
 * Attach a connection to the quota of @limit bytes that all attached connections share.
 * The transport calls this from incoming(), after it has set ep->params. If memory is
 * tight, the connection gets few and small buffers. A connection that is not attached
 * is never refused memory. @message: bytes of the largest Call or Reply
 *
 * Return: 0, or -ENOMEM if the other connections hold all of the quota.
 *
 * The connection is detached when its memory is freed, or earlier, when it is evicted.
 * rpcrdma_ep_quota_detach() may be called any number of times.
 */
int rpcrdma_ep_quota_attach(struct rpcrdma_ep *ep, u64 limit, u32 message);
void rpcrdma_ep_quota_detach(struct rpcrdma_ep *ep);

/* The quota shared by all connections. Only its flags are read without the lock. */
extern struct rpcrdma_quota rpcrdma_quota;

/*
 * Memory accounting. The endpoint charges the memory it allocates itself: continued
 * messages and Replies that wait as streams. The transport charges its pages.
 * rpcrdma_ep_quota_take() arranges for write_space() if it returns false, and charges the
 * memory otherwise; rpcrdma_ep_charge() always succeeds; rpcrdma_ep_uncharge() requires
 * process context without a lock.
 */

/* Slow paths of the functions below, which change the sum of all connections, too */
bool rpcrdma_ep_take_more(struct rpcrdma_ep *ep, enum rpcrdma_quota_use use,
			  u64 octets);
void rpcrdma_ep_charge_more(struct rpcrdma_ep *ep, enum rpcrdma_quota_use use,
			    u64 octets);
/* @rc: what rpcrdma_quota_uncharge_own() has returned, not 0 */
void rpcrdma_ep_uncharged(struct rpcrdma_ep *ep, enum rpcrdma_quota_use use,
			  u64 octets, int rc);

static inline bool rpcrdma_ep_quota_take(struct rpcrdma_ep *ep,
					 enum rpcrdma_quota_use use, u64 octets)
{
	return likely(rpcrdma_locked(&ep->memory_lock,
				     rpcrdma_quota_charge_own(&ep->memory, use,
							      octets))) ||
	       rpcrdma_ep_take_more(ep, use, octets);
}

static inline void rpcrdma_ep_charge(struct rpcrdma_ep *ep,
				     enum rpcrdma_quota_use use, u64 octets)
{
	if (unlikely(!rpcrdma_locked(&ep->memory_lock,
				     rpcrdma_quota_charge_own(&ep->memory, use,
							      octets))))
		rpcrdma_ep_charge_more(ep, use, octets);
}

static inline void rpcrdma_ep_uncharge(struct rpcrdma_ep *ep,
				       enum rpcrdma_quota_use use, u64 octets)
{
	int rc;

	if (!octets)
		return;
	rc = rpcrdma_locked(&ep->memory_lock,
			    rpcrdma_quota_uncharge_own(&rpcrdma_quota,
						       &ep->memory, use,
						       octets));
	if (unlikely(rc))
		rpcrdma_ep_uncharged(ep, use, octets, rc);
}

#endif /* RPCRDMA_CHARGE_H */
