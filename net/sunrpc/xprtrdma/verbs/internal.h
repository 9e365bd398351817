/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of the endpoint only. */
#ifndef RPCRDMA_VERBS_INTERNAL_H
#define RPCRDMA_VERBS_INTERNAL_H

#include <linux/ktime.h>

#include <core/port.h>

#include "charge.h"
#include "data.h"
#include "receiving.h"
#include "sending.h"

enum {
	/*
	 * 4.096 us * 2^18: about one second until a missing acknowledgement is noticed
	 */
	RPCRDMA_ACK_TIMEOUT = 18,
	/*
	 * Maximum number of pages of an MR: 1 MiB. With one more, the scatterlist of
	 * each MR would need the next larger slab, and the rdma_rw API puts no more
	 * pages into an MR of its own.
	 */
	RPCRDMA_MAX_MR_PAGES = 256,
	/*
	 * Maximum number of bytes of a scatterlist element: the limit assumed for
	 * devices that report none, and small enough that bounce buffers are available.
	 */
	RPCRDMA_MAX_ELEMENT = SZ_64K,
};

/*
 * kvmalloc() without I/O of file systems. Before Linux 5.17 it uses vmalloc() only with
 * GFP_KERNEL: @gfp is that, and the context forbids such I/O.
 */
void *rpcrdma_kvmalloc(size_t size, gfp_t gfp);

/*
 * The workqueues; Documentation/architecture.rst has a table. Each bounds the number of
 * work items that run at a time. Those that wait, or compute for long, have workqueues of
 * their own, so that many of them do not delay the connections in use.
 */
extern struct workqueue_struct *rpcrdma_wq;	/* MRs, timers, listeners */
extern struct workqueue_struct *rpcrdma_message_wq;
extern struct workqueue_struct *rpcrdma_accept_wq;
extern struct workqueue_struct *rpcrdma_auth_wq;
/* A teardown waits for work items of the three before this one. */
extern struct workqueue_struct *rpcrdma_teardown_wq;

/* Return the engine's time in milliseconds. */
static inline u32 rpcrdma_now_ms(void)
{
	return (u32)ktime_to_ms(ktime_get());
}

/* Begin a work item of @ep, see rpcrdma_memalloc_begin(). */
static inline unsigned int rpcrdma_ep_memalloc_begin(const struct rpcrdma_ep *ep)
{
	return rpcrdma_memalloc_begin(READ_ONCE(ep->reserves));
}

/*
 * The files of the endpoint, lowest first, as in Kbuild. Each calls only the core and
 * files that are listed before it. For an action in a later file it uses a hook:
 * work->done, ep->release, or a work item. The port's functions (port.h), which the core
 * calls, are in the files that they belong to.
 */

/* ---- lifecycle.c ---- */

/* End what rpcrdma_ep_enter() has begun. */
static inline void rpcrdma_ep_leave(struct rpcrdma_ep *ep)
{
	if (atomic_dec_and_test(&ep->users) &&
	    unlikely(rpcrdma_ep_is_closing(ep)))
		wake_up_all(&ep->wait);
}

/*
 * Hold off the teardown while the device's objects are used without ep->lock. Return
 * false if the connection is closing: the caller must not touch them.
 */
static inline bool rpcrdma_ep_enter(struct rpcrdma_ep *ep)
{
	atomic_inc(&ep->users);
	/* Pairs with the barrier in rpcrdma_port_closing(). */
	smp_mb__after_atomic();
	if (likely(!rpcrdma_ep_is_closing(ep)))
		return true;
	rpcrdma_ep_leave(ep);
	return false;
}

/*
 * Module start and end: the counters of all network namespaces. Sleep.
 * rpcrdma_counts_init() returns 0 or a negative errno.
 */
int rpcrdma_counts_init(void);
void rpcrdma_counts_exit(void);
void rpcrdma_ep_list(struct rpcrdma_ep *ep);
void rpcrdma_ep_unlist(struct rpcrdma_ep *ep);
enum rpcrdma_failure rpcrdma_wc_failure(enum ib_wc_status status);
/*
 * Notify the transport that waiting work may be retried, but not after closed(). No lock
 * held.
 */
void rpcrdma_ep_write_space(struct rpcrdma_ep *ep);

/* ---- buffer.c ---- */

/*
 * Allocate a buffer of @size bytes for messages, near the device, and map it; *@addr is
 * its DMA address. The caller unmaps it and frees it with rpcrdma_buffer_free().
 * Context: any context that @gfp allows.
 * Return: the buffer, or NULL if out of memory.
 */
void *rpcrdma_buffer_create(struct rpcrdma_ep *ep, u32 size,
			    enum dma_data_direction dir, gfp_t gfp, u64 *addr);
/* Free a buffer of @size bytes that is not mapped. @buf may be NULL. */
void rpcrdma_buffer_free(void *buf, u32 size);

/* ---- charge.c ---- */

void rpcrdma_quota_exit(void);

/* ---- sq.c ---- */

void rpcrdma_sends_unmap(struct rpcrdma_ep *ep);
void rpcrdma_sends_free(struct rpcrdma_ep *ep);

/*
 * Release ep->lock after a call of the core. Return the actions of that call, for
 * rpcrdma_core_end().
 */
static __always_inline u32 rpcrdma_ep_unlock(struct rpcrdma_ep *ep)
	__releases(&ep->lock)
{
	u32 todo = rpcrdma_core_take_todo(&ep->core);

	spin_unlock(&ep->lock);
	return todo;
}

/* Ring the doorbell. Return false if the device refused the chain or a part of it. */
static __always_inline bool rpcrdma_doorbell(struct rpcrdma_ep *ep,
					     const struct ib_send_wr *first)
{
	const struct ib_send_wr **bad_wr = &ep->bad_wr;

	lockdep_assert_held(&ep->lock);
	/*
	 * Without this hint, ib_post_send() reserves stack space for bad_wr, and with
	 * it a stack check.
	 */
	if (!bad_wr)
		__builtin_unreachable();
	return !ib_post_send(ep->qp, first, bad_wr);
}

/* Completion handler of chains that are posted with rpcrdma_chain_post() */
void rpcrdma_wc_work(struct ib_cq *cq, struct ib_wc *wc);

/*
 * Post a chain, as rpcrdma_port_post() does; the completion of its last Work Request is
 * reported as that of its work item. Caller holds ep->lock.
 */
static __always_inline bool rpcrdma_chain_post(struct rpcrdma_ep *ep,
					       struct rpcrdma_chain *chain,
					       bool signaled)
{
	chain->cqe.done = rpcrdma_wc_work;
	chain->last->wr_cqe = &chain->cqe;
	if (signaled)
		chain->last->send_flags |= IB_SEND_SIGNALED;
	return rpcrdma_doorbell(ep, chain->first);
}

/* Work function of ep->reap_work */
void rpcrdma_works_reap(struct work_struct *item);

/* ---- extent.c ---- */

u32 rpcrdma_extent_to_sg(struct rpcrdma_extent_pos *pos, u32 octets, u32 most,
			 struct scatterlist *sg);
u32 rpcrdma_sg_of_pages(struct page **pages, u32 at, u32 octets, u32 most,
			struct scatterlist *sg);

/* ---- frwr.c ---- */

/*
 * Return the number of pages of an MR of @dev, for this module's MRs and those of the
 * rdma_rw API.
 */
static inline u32 rpcrdma_mr_pages(const struct ib_device *dev)
{
	return clamp_t(u32, dev->attrs.max_fast_reg_page_list_len, 1,
		       RPCRDMA_MAX_MR_PAGES);
}
void rpcrdma_mrs_init(struct rpcrdma_ep *ep);
void rpcrdma_mrs_destroy(struct rpcrdma_ep *ep);
void rpcrdma_mrs_free(struct rpcrdma_ep *ep);

/* ---- rw.c ---- */

void rpcrdma_rw_retry(struct work_struct *work);
/*
 * Called before the queue pair is destroyed, and after all posted work has ended:
 * transfers that the device refuses to stop outlive the queue pair. _end() does nothing
 * without _begin().
 */
void rpcrdma_rw_late_begin(struct rpcrdma_ep *ep);
void rpcrdma_rw_late_end(struct rpcrdma_ep *ep);

/* ---- pulled_reply.c ---- */

void rpcrdma_exposed_overdue(struct work_struct *work);

/* ---- send.c ---- */

/* Close the connection if the window has been closed for too long. */
void rpcrdma_stall_expired(struct work_struct *work);

/* ---- recv.c ---- */

/* Module start and end */
int rpcrdma_recvs_init(void);
void rpcrdma_recvs_exit(void);
void rpcrdma_recvs_process(struct work_struct *work);
/*
 * Drop the teardown's reference, now or when the transport releases the last Receive it
 * holds.
 */
void rpcrdma_recvs_end(struct rpcrdma_ep *ep);
void rpcrdma_recvs_unmap(struct rpcrdma_ep *ep);

/* ---- qp.c ---- */

/* Fill in the parameters of a connect request or an accept. @param refers to @buf. */
void rpcrdma_ep_conn_param(struct rpcrdma_ep *ep,
			   struct rdma_conn_param *param, u8 *buf);

/* ---- cm.c ---- */

int rpcrdma_ep_cm_handler(struct rdma_cm_id *id,
			  struct rdma_cm_event *event);
void rpcrdma_ep_addresses(struct rpcrdma_ep *ep);
void rpcrdma_ep_peer(struct rpcrdma_cm_peer *peer,
		     const struct rdma_conn_param *param);
/* Destroy an id, after its handler. Context: process context; not within the handler. */
void rpcrdma_id_destroy(struct rdma_cm_id *id);

/* ---- ep.c; listen.c comes after it ---- */

struct rpcrdma_ep *rpcrdma_ep_alloc(bool client);
int rpcrdma_ep_setup(struct rpcrdma_ep *ep, int rc);
/* Copy an IPv4 or IPv6 address. */
void rpcrdma_ep_address(struct sockaddr_storage *to, const struct sockaddr *addr);

#endif /* RPCRDMA_VERBS_INTERNAL_H */
