/* SPDX-License-Identifier: GPL-2.0 */
/* Memory charged to the peer's quota. */
#ifndef RPCRDMA_CHARGE_H
#define RPCRDMA_CHARGE_H

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
 * rpcrdma_ep_quota_available() arranges for write_space() if it returns false;
 * rpcrdma_ep_quota_take() does the same, and charges the memory if it returns true;
 * rpcrdma_ep_charge() always succeeds; rpcrdma_ep_uncharge() requires process context without
 * a lock.
 */
bool rpcrdma_ep_quota_available(struct rpcrdma_ep *ep,
				enum rpcrdma_quota_use use, u64 octets);
bool rpcrdma_ep_quota_take(struct rpcrdma_ep *ep, enum rpcrdma_quota_use use,
			   u64 octets);
void rpcrdma_ep_charge(struct rpcrdma_ep *ep, enum rpcrdma_quota_use use,
		       u64 octets);
void rpcrdma_ep_uncharge(struct rpcrdma_ep *ep, enum rpcrdma_quota_use use,
			 u64 octets);
/*
 * Return true if a Call may only be started when rpcrdma_ep_quota_available() confirms
 * that there is memory for the Replies to all started Calls and this one. False in the
 * fast path. Any context.
 */
static inline bool rpcrdma_ep_must_ask(const struct rpcrdma_ep *ep)
{
	return rpcrdma_quota_must_ask(&rpcrdma_quota, &ep->memory);
}

#endif /* RPCRDMA_CHARGE_H */
