// SPDX-License-Identifier: GPL-2.0
/*
 * Sending: the lock under which a message is posted, the starvation timer, and memory of
 * continued messages.
 *
 * Operation
 *
 * The core builds and posts Calls (core/endpoint/send.cc) and Replies
 * (core/endpoint/reply.cc). A message that is posted alone on soft-RoCE is posted with
 * bottom halves disabled, so that this thread runs the softirq that sends it.
 *
 * The starvation timer is armed only when messages wait, or when a continued Call was
 * dropped. In the first case the connection is closed if the peer grants too few
 * credits for too long, or if there is no memory for a buffer for too long; in the second
 * case always.
 *
 * Memory
 *
 * A continued message has one allocation with its payload. The core frees it when its
 * last fragment has completed, or in the teardown. The memory of a continued Reply is
 * charged to the peer.
 *
 * Errors
 *
 * -EAGAIN: write_space() is called later, unless the connection ends. If the device
 * refuses a message that the core has accepted, the sender gets no error: the
 * connection is closed, and the message ends in the teardown.
 *
 * Locking
 *
 * ep->lock. A Reply to be pulled holds off the teardown until the actions have run.
 */

#include <linux/slab.h>

#include "internal.h"
#include "trace.h"

/* ---- The starvation timer ---- */

u32 rpcrdma_port_now_ms(const struct rpcrdma_ep_core *core)
{
	return rpcrdma_now_ms();
}

void rpcrdma_port_arm_stall(struct rpcrdma_ep_core *core, u32 ms)
{
	mod_delayed_work(rpcrdma_wq, &rpcrdma_ep_of(core)->stall_timer,
			 msecs_to_jiffies(ms) + 1);
}

void rpcrdma_stall_expired(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, stall_timer);
	/* Memory reclaim may wait for a message that waits for a buffer. */
	unsigned int flags = rpcrdma_ep_memalloc_begin(ep);

	rpcrdma_core_stall_expired(&ep->core);
	rpcrdma_memalloc_end(flags);
}

/* ---- Posting ---- */

/*
 * Take ep->lock. Return true if bottom halves have been disabled.
 *
 * soft-RoCE, up to Linux 6.4, sends in a softirq. If bottom halves are enabled, it
 * wakes a thread for that. If they are disabled, this thread runs the softirq, in
 * rpcrdma_port_unlock_sent(). That is done for a message that is posted alone: if there
 * are several, the woken thread sends and completes one after the other.
 */
bool rpcrdma_port_lock_to_send(struct rpcrdma_ep_core *core,
			       enum rpcrdma_kind kind)
	__acquires(&rpcrdma_ep_of(core)->lock)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	bool alone = ep->softirq && rpcrdma_conn_is_idle(&core->conn, kind);

	if (alone)
		local_bh_disable();
	spin_lock(&ep->lock);
	return alone;
}

void rpcrdma_port_unlock_sent(struct rpcrdma_ep_core *core, bool alone)
	__releases(&rpcrdma_ep_of(core)->lock)
{
	spin_unlock(&rpcrdma_ep_of(core)->lock);
	if (alone)
		local_bh_enable();
}

/* ---- Continued messages ---- */

/* Return the bytes of memory that a stream uses. */
static size_t rpcrdma_stream_octets(const struct rpcrdma_stream *st)
{
	return sizeof(*st) + st->len;
}

struct rpcrdma_stream *rpcrdma_stream_alloc(enum rpcrdma_kind kind, u32 xid,
					    u32 len,
					    const struct rpcrdma_lists *lists,
					    gfp_t gfp)
{
	struct rpcrdma_stream *st;

	st = rpcrdma_kvmalloc(sizeof(*st) + (size_t)len, gfp);
	if (st)
		rpcrdma_core_stream_init(st, kind, xid, (u8 *)(st + 1), len,
					 lists);
	return st;
}

void rpcrdma_port_stream_free(struct rpcrdma_stream *st)
{
	kvfree(st);
}

void rpcrdma_port_stream_charge(struct rpcrdma_ep_core *core,
				const struct rpcrdma_stream *st)
{
	rpcrdma_ep_charge(rpcrdma_ep_of(core), RPCRDMA_QUOTA_REPLIES,
			  rpcrdma_stream_octets(st));
}

void rpcrdma_port_stream_uncharge(struct rpcrdma_ep_core *core,
				  const struct rpcrdma_stream *st)
{
	rpcrdma_ep_uncharge(rpcrdma_ep_of(core), RPCRDMA_QUOTA_REPLIES,
			    rpcrdma_stream_octets(st));
}

/* ---- Messages in addition to RPCs ---- */

void rpcrdma_port_refuses(struct rpcrdma_ep_core *core, u32 xid, u32 code)
{
	trace_rpcrdma_refuse(rpcrdma_ep_of(core), xid, code);
}
