/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of the endpoint only. */
#ifndef RPCRDMA_VERBS_INTERNAL_H
#define RPCRDMA_VERBS_INTERNAL_H

#include <linux/ktime.h>

#include "endpoint.h"

enum {
	/*
	 * 4.096 us * 2^18: about one second until a missing acknowledgement is noticed
	 */
	RPCRDMA_ACK_TIMEOUT = 18,
	/* The largest message that this end's RBSIZ or SBSIZ allows */
	RPCRDMA_MAX_MESSAGE = 65536,
	/*
	 * Bytes of a small Send buffer: for control messages, and for most Calls and
	 * Replies without data
	 */
	RPCRDMA_SMALL_SEND = RPCRDMA_V2_FIRST_CONNPROP,
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
	/*
	 * Scatter/gather elements of a Work Request: of a server's Writes; of a
	 * client's Reads, which are so few that one may use several Work Requests.
	 * Every slot of a Send Queue has space for them, used or not, in a power of
	 * two: with one more, soft-RoCE would allocate 512 KiB for a server's end of a
	 * connection instead of 256.
	 */
	RPCRDMA_SERVER_SGES = 19,
	RPCRDMA_CLIENT_SGES = 8,
};

extern struct workqueue_struct *rpcrdma_wq;
/*
 * Teardowns wait for accept work items, which must therefore not be queued after
 * teardowns.
 */
extern struct workqueue_struct *rpcrdma_accept_wq;
extern struct workqueue_struct *rpcrdma_message_wq;

/* Return the engine's time in milliseconds. */
static inline u32 rpcrdma_now_ms(void)
{
	return (u32)ktime_to_ms(ktime_get());
}

/*
 * The files of the endpoint, lowest first, as in Kbuild. Each calls only files that are
 * listed before it. For an action in a later file it uses a hook: work->done,
 * ep->opened, ep->receives_due, ep->release, or a work item.
 */

/* ---- life.c ---- */

/*
 * Hold off the teardown while the device's objects are used without ep->lock. Return
 * false if the connection is closing: the caller must not touch them.
 */
bool rpcrdma_ep_enter(struct rpcrdma_ep *ep);
void rpcrdma_ep_leave(struct rpcrdma_ep *ep);

void rpcrdma_ep_list(struct rpcrdma_ep *ep);
void rpcrdma_ep_unlist(struct rpcrdma_ep *ep);
/*
 * Run the actions that an event of ep->core.life has returned. Process context, no lock
 * held.
 */
void rpcrdma_ep_carry_out(struct rpcrdma_ep *ep,
			  const struct rpcrdma_life_step *step);
/* Handle RPCRDMA_EV_ODD. */
void rpcrdma_ep_odd(struct rpcrdma_ep *ep);
/*
 * Close the connection after a failed Work Request. @reason: a static string, reported
 * unless the Work Request was only flushed.
 */
void rpcrdma_ep_failed(struct rpcrdma_ep *ep, enum ib_wc_status status,
		       const char *reason);
/* Notify the transport that waiting Calls may be retried. No lock held. */
void rpcrdma_ep_write_space(struct rpcrdma_ep *ep);

/* ---- memory.c ---- */

/*
 * Allocate a buffer of @size bytes for messages, near the device, and map it; *@addr is
 * its DMA address. The caller unmaps it and frees it with kfree().
 * Context: any context that @gfp allows.
 * Return: the buffer, or NULL if out of memory.
 */
static inline void *rpcrdma_buffer_create(struct rpcrdma_ep *ep, u32 size,
					  enum dma_data_direction dir,
					  gfp_t gfp, u64 *addr)
{
	void *buf = kmalloc_node(size, gfp, ep->device_node);

	if (!buf)
		return NULL;
	*addr = ib_dma_map_single(ep->device, buf, size, dir);
	if (likely(!ib_dma_mapping_error(ep->device, *addr)))
		return buf;
	kfree(buf);
	return NULL;
}

void rpcrdma_memory_init(void);
void rpcrdma_memory_exit(void);
/*
 * Account for a complete message of @octets bytes. Return false if the Calls that wait
 * exceed the quota.
 */
bool rpcrdma_ep_assembled(struct rpcrdma_ep *ep, u64 octets);
u32 rpcrdma_ep_hold_some(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
			 u64 octets, u32 count);

/*
 * Return the charge for a Receive of @octets bytes. One Receive exists for each
 * outstanding Call, whose Reply may need a buffer of the same size.
 */
static inline u64 rpcrdma_recv_cost(u32 octets)
{
	return sizeof(struct rpcrdma_recv) + 2 * (u64)octets;
}

/* ---- sq.c ---- */

int rpcrdma_sends_create(struct rpcrdma_ep *ep);
void rpcrdma_sends_unmap(struct rpcrdma_ep *ep);
void rpcrdma_sends_free(struct rpcrdma_ep *ep);
/*
 * Replace the buffer of @s by one of @size bytes. Caller holds ep->lock and the
 * connection is not closing, or the caller has entered with rpcrdma_ep_enter().
 * Return: 0 or -ENOMEM.
 */
int rpcrdma_send_buffer(struct rpcrdma_send *s, u32 size, gfp_t gfp);

/*
 * Free the least recently used of the free buffers, if there is one. Return the number
 * of buffers that remain, not counting those of control messages. Caller holds
 * ep->lock.
 */
u32 rpcrdma_send_let_go(struct rpcrdma_ep *ep);

/*
 * Post @work, whose slots have been reserved. The work item is always consumed: if the
 * device refuses it, the connection ends and the drain returns it. Other contexts may
 * post until then. If their completion covers this work item, it is reported as failed.
 * Return false if the device refused it: the caller must close. Caller holds ep->lock.
 */
static __always_inline bool rpcrdma_work_hand_over(struct rpcrdma_ep *ep,
						   struct rpcrdma_work *work)
{
	const struct ib_send_wr **refused = &ep->refused;

	lockdep_assert_held(&ep->lock);
	/*
	 * Without this hint, ib_post_send() reserves stack space for bad_wr, and with
	 * it a stack check.
	 */
	if (!refused)
		__builtin_unreachable();
	if (work->wrs.signaled)
		work->last->send_flags |= IB_SEND_SIGNALED;
	work->next = NULL;
	*ep->core.inflight_end = work;
	ep->core.inflight_end = &work->next;
	work->refused = ib_post_send(ep->qp, work->first, refused) != 0;
	return !work->refused;
}
/*
 * Post the first of ep->core.transfers, which the engine has scheduled. Return false if the
 * device refused it. Caller holds ep->lock.
 */
bool rpcrdma_transfer_post(struct rpcrdma_ep *ep);
/* Post work of kind RPCRDMA_WORK_RDMA, or queue it. No lock held. */
void rpcrdma_work_rdma(struct rpcrdma_ep *ep, struct rpcrdma_work *work);
/*
 * Retire @work, which has completed, and the work that its completion covers. Work that
 * the device no longer uses is appended to @through. Caller holds ep->lock.
 */
void rpcrdma_work_reap(struct rpcrdma_ep *ep, struct rpcrdma_work *work,
		       struct list_head *through);
/*
 * Call done() of each work item in @through. @ok: it was executed, if the device
 * accepted it.
 */
void rpcrdma_work_tell(struct list_head *through, bool ok);
/* Close the connection if a Work Request failed or was flushed. No lock held. */
void rpcrdma_works_check(struct rpcrdma_ep *ep);
/* End all posted work. No more completions are processed. */
void rpcrdma_work_flush(struct rpcrdma_ep *ep);
/* End all work that waits to be posted. */
void rpcrdma_waiting_flush(struct rpcrdma_ep *ep);
/*
 * Release the context of a Send that the device does not use (any more). The work
 * attached to it is appended to @through. Caller holds ep->lock.
 */
void rpcrdma_send_reap(struct rpcrdma_send *s, struct list_head *through);
/* Initialize the next context of the ring for its first use. Caller holds ep->lock. */
struct rpcrdma_send *rpcrdma_send_make(struct rpcrdma_ep *ep);
/*
 * Return a free context, which the account already counts as used. Caller holds
 * ep->lock.
 */
static inline struct rpcrdma_send *rpcrdma_send_pop(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work = ep->core.free_sends;

	lockdep_assert_held(&ep->lock);
	if (unlikely(!work))
		return rpcrdma_send_make(ep);
	ep->core.free_sends = work->next;
	return container_of(work, struct rpcrdma_send, work);
}
/*
 * Add a context to the free list. Nothing of its last message remains attached to it.
 * Caller holds ep->lock.
 */
static inline void rpcrdma_send_push(struct rpcrdma_ep *ep,
				     struct rpcrdma_send *s)
{
	lockdep_assert_held(&ep->lock);
	s->work.next = ep->core.free_sends;
	ep->core.free_sends = &s->work;
}

/* ---- extent.c ---- */

/* A position in an array of extents */
struct rpcrdma_extent_pos {
	const struct rpcrdma_extent *ext;
	u32			nr;		/* elements of @ext, from ext[0] on */
	u32			done;		/* bytes of ext[0] already consumed */
};

u32 rpcrdma_extent_take(struct rpcrdma_extent_pos *pos, u32 octets, u32 most,
			struct scatterlist *sg);
u32 rpcrdma_extent_count(const struct rpcrdma_extent_pos *pos, u32 octets);
u32 rpcrdma_extent_region(const struct rpcrdma_extent_pos *pos,
			  const struct rpcrdma_cut *cut, u32 octets);
void rpcrdma_extent_skip(struct rpcrdma_extent_pos *pos, u32 octets);

/* ---- frwr.c ---- */

/*
 * Return the number of pages of an MR of @dev, for this module's MRs and those of the
 * rdma_rw API.
 */
static inline u32 rpcrdma_region_pages(const struct ib_device *dev)
{
	return clamp_t(u32, dev->attrs.max_fast_reg_page_list_len, 1,
		       RPCRDMA_MAX_MR_PAGES);
}
void rpcrdma_mrs_init(struct rpcrdma_ep *ep);
void rpcrdma_mrs_destroy(struct rpcrdma_ep *ep);
void rpcrdma_mrs_free(struct rpcrdma_ep *ep);

/* ---- rw.c ---- */

void rpcrdma_rw_end(struct rpcrdma_rw *rw, bool ok);
void rpcrdma_rw_retry(struct work_struct *work);
/* Return the number of transfers that are posted. Caller holds ep->lock. */
u32 rpcrdma_rw_nr_posted(struct rpcrdma_ep *ep);
/*
 * Called before the queue pair is destroyed, and after all posted work has ended:
 * transfers that the device refuses to stop outlive the queue pair. _end() does nothing
 * without _begin().
 */
void rpcrdma_rw_late_begin(struct rpcrdma_ep *ep);
void rpcrdma_rw_late_end(struct rpcrdma_ep *ep);
/*
 * Post Writes that precede their Reply. @behind is called once, when they have ended.
 */
void rpcrdma_rw_write(struct rpcrdma_rw *rw,
		      void (*behind)(struct rpcrdma_rw *rw, bool ok));
struct ib_send_wr *rpcrdma_rw_chain(struct rpcrdma_rw *rw,
				    struct ib_send_wr *tail);

/* ---- expose.c ---- */

void rpcrdma_exposed_post(struct rpcrdma_ep *ep, struct rpcrdma_exposed *x);
void rpcrdma_exposed_pulled(struct rpcrdma_ep *ep, struct rpcrdma_recv *rv);
void rpcrdma_exposed_overdue(struct work_struct *work);
void rpcrdma_exposed_destroy(struct rpcrdma_ep *ep);

/* ---- send.c ---- */

/*
 * Do what the engine has requested, RPCRDMA_EV_*. Fast path: it requests nothing.
 * Context: process context, no lock held.
 */
void rpcrdma_ep_do_events(struct rpcrdma_ep *ep, u32 events);
static inline void rpcrdma_ep_events(struct rpcrdma_ep *ep, u32 events)
{
	if (unlikely(events))
		rpcrdma_ep_do_events(ep, events);
}
/* Post what the engine schedules next. No lock held. */
void rpcrdma_ep_pump(struct rpcrdma_ep *ep);
/* Work function of ep->reap_work */
void rpcrdma_works_reap(struct work_struct *item);
/* Close the connection if the window has been closed for too long. */
void rpcrdma_stall_expired(struct work_struct *work);

/* ---- recv.c ---- */

/* Module start and end */
int rpcrdma_recvs_init(void);
void rpcrdma_recvs_exit(void);
/*
 * Allocate and post the Receives that the engine wants. Process context, no lock held.
 */
void rpcrdma_recvs_due(struct rpcrdma_ep *ep);
void rpcrdma_recvs_take(struct work_struct *work);
void rpcrdma_recvs_drain(struct rpcrdma_ep *ep);
/*
 * Drop the teardown's reference, now or when the transport releases the last Receive it
 * holds.
 */
void rpcrdma_recvs_end(struct rpcrdma_ep *ep);
void rpcrdma_recvs_unmap(struct rpcrdma_ep *ep);
void rpcrdma_recvs_free(struct rpcrdma_ep *ep);

/* ---- qp.c ---- */

/* Create the device's objects. The teardown cleans up. Sleeps. */
int rpcrdma_ep_setup(struct rpcrdma_ep *ep);
/* Fill in the parameters of a connect request or an accept. @param refers to @buf. */
void rpcrdma_ep_conn_param(struct rpcrdma_ep *ep,
			   struct rdma_conn_param *param, u8 *buf);

/* ---- ep.c; listen.c comes after it ---- */

struct rpcrdma_ep *rpcrdma_ep_alloc(bool client);
int rpcrdma_ep_cm_handler(struct rdma_cm_id *id,
			  struct rdma_cm_event *event);
void rpcrdma_ep_addresses(struct rpcrdma_ep *ep);
int rpcrdma_ep_make(struct rpcrdma_ep *ep, const struct sockaddr *dst,
		    const struct sockaddr *src, int rc);

#endif /* RPCRDMA_VERBS_INTERNAL_H */
