/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the endpoint, and by nobody else.
 */
#ifndef RPCRDMA_ENDPOINT_INTERNAL_H
#define RPCRDMA_ENDPOINT_INTERNAL_H

#include <linux/ktime.h>

#include "endpoint.h"

enum {
	/* 4.096 us * 2^18: about one second to miss an acknowledgement */
	RPCRDMA_ACK_TIMEOUT = 18,
	/* The largest message an RBSIZ or SBSIZ of ours allows */
	RPCRDMA_MAX_MESSAGE = 65536,
	/*
	 * Octets of a small buffer to send from: for control messages, and for
	 * most Calls and Replies without data
	 */
	RPCRDMA_SMALL_SEND = RPCRDMA_V2_FIRST_CONNPROP,
	/*
	 * Pages of one memory region at most: 1 MiB. One more would take a
	 * scatterlist of each region to the next larger slab, and the rdma_rw
	 * API puts no more into one of its own.
	 */
	RPCRDMA_MAX_MR_PAGES = 256,
	/*
	 * Octets of an element of a scatterlist at most. What devices take if they
	 * do not say, and little enough for bounce buffers to be found.
	 */
	RPCRDMA_MAX_ELEMENT = SZ_64K,
	/*
	 * Scatter/gather elements of a Work Request: a server's Writes; a
	 * client's Reads, which are so few that one may take several. Every
	 * slot of a Send Queue has room for them, used or not, in a power of
	 * two: with one more, soft-RoCE would take 512 KiB for a server's end
	 * of a connection instead of 256.
	 */
	RPCRDMA_SERVER_SGES = 19,
	RPCRDMA_CLIENT_SGES = 8,
};

extern struct workqueue_struct *rpcrdma_wq;
/* Teardowns wait for accepting, which therefore must not wait behind them. */
extern struct workqueue_struct *rpcrdma_accept_wq;
extern struct workqueue_struct *rpcrdma_message_wq;

/* The engine's clock of milliseconds */
static inline u32 rpcrdma_now_ms(void)
{
	return (u32)ktime_to_ms(ktime_get());
}

/*
 * The files of the endpoint, lowest first, as in Kbuild. Each calls only those
 * above its own place here; what they have to do in a later one they do by way
 * of a hook: work->done, ep->opened, ep->receives_due, ep->release, work items.
 */

/* ---- life.c ---- */

/*
 * Hold off the teardown while the device's objects are in use without
 * ep->lock. False: the connection is closing; do not touch them.
 */
bool rpcrdma_ep_enter(struct rpcrdma_ep *ep);
void rpcrdma_ep_leave(struct rpcrdma_ep *ep);

void rpcrdma_ep_list(struct rpcrdma_ep *ep);
void rpcrdma_ep_unlist(struct rpcrdma_ep *ep);
/* Do what an event of ep->life asks for. Process context, no lock held. */
void rpcrdma_ep_carry_out(struct rpcrdma_ep *ep,
			  const struct rpcrdma_life_step *step);
/* RPCRDMA_EV_ODD */
void rpcrdma_ep_odd(struct rpcrdma_ep *ep);
/* A Work Request failed; @reason: static, told unless it was only flushed. */
void rpcrdma_ep_failed(struct rpcrdma_ep *ep, enum ib_wc_status status,
		       const char *reason);
/* Waiting Calls may be tried again. No lock held. */
void rpcrdma_ep_write_space(struct rpcrdma_ep *ep);

/* ---- memory.c ---- */

/*
 * A buffer of @size octets for messages, near the device and mapped: *@addr is what that
 * calls it. Any context that @gfp allows. Returns NULL without memory; else the caller
 * unmaps it and gives it to kfree().
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
/* A message of @octets is whole; false: more such Calls wait than may be held. */
bool rpcrdma_ep_assembled(struct rpcrdma_ep *ep, u64 octets);
u32 rpcrdma_ep_hold_some(struct rpcrdma_ep *ep, enum rpcrdma_memory_use use,
			 u64 octets, u32 count);

/*
 * What a Receive of @octets counts for: there is one for each Call under way, whose
 * Reply may take a buffer of the same size.
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
 * Give @s a buffer of @size octets in place of its own. ep->lock held, not
 * closing, or with rpcrdma_ep_enter(). Returns 0 or -ENOMEM.
 */
int rpcrdma_send_buffer(struct rpcrdma_send *s, u32 size, gfp_t gfp);

/*
 * One buffer less, if any is free: that which was used longest ago. ep->lock held. Returns
 * how many there are, but for those of control messages.
 */
u32 rpcrdma_send_let_go(struct rpcrdma_ep *ep);

/*
 * Hand @work, which has its slots, to the device. Always takes it: if the device refuses
 * it, the connection ends and the drain returns it. Others may post until it does: where
 * their completion vouches for this one, its end is told as one that failed. ep->lock
 * held; false: refused, close.
 */
static __always_inline bool rpcrdma_work_hand_over(struct rpcrdma_ep *ep,
						   struct rpcrdma_work *work)
{
	const struct ib_send_wr **refused = &ep->refused;

	lockdep_assert_held(&ep->lock);
	/* Else ib_post_send() has room of its own for that, and checks its stack. */
	if (!refused)
		__builtin_unreachable();
	if (work->wrs.signaled)
		work->last->send_flags |= IB_SEND_SIGNALED;
	work->next = NULL;
	*ep->inflight_end = work;
	ep->inflight_end = &work->next;
	work->refused = ib_post_send(ep->qp, work->first, refused) != 0;
	return !work->refused;
}
/* The first of ep->transfers has its turn; likewise. */
bool rpcrdma_transfer_post(struct rpcrdma_ep *ep);
/* Work of kind RPCRDMA_WORK_RDMA: post it, or have it wait. No lock held. */
void rpcrdma_work_rdma(struct rpcrdma_ep *ep, struct rpcrdma_work *work);
/*
 * @work has completed: what the device is through with is appended to @through.
 * ep->lock held.
 */
void rpcrdma_work_reap(struct rpcrdma_ep *ep, struct rpcrdma_work *work,
		       struct list_head *through);
/* ... and its owners are told. @ok: it was carried out, if the device took it. */
void rpcrdma_work_tell(struct list_head *through, bool ok);
/* A Work Request failed, or was flushed: close. No lock held. */
void rpcrdma_works_check(struct rpcrdma_ep *ep);
/* When no completion comes any more: end everything that was posted. */
void rpcrdma_work_flush(struct rpcrdma_ep *ep);
/* End everything that waits to be posted. */
void rpcrdma_waiting_flush(struct rpcrdma_ep *ep);
/*
 * A Send that is not on the device (any more): its context is free, and what was
 * to go with it is appended to @through. ep->lock held.
 */
void rpcrdma_send_reap(struct rpcrdma_send *s, struct list_head *through);
/* The next one of the ring, for the first time. ep->lock held. */
struct rpcrdma_send *rpcrdma_send_make(struct rpcrdma_ep *ep);
/* A free one, which the account counts as taken. ep->lock held. */
static inline struct rpcrdma_send *rpcrdma_send_pop(struct rpcrdma_ep *ep)
{
	struct rpcrdma_work *work = ep->free_sends;

	lockdep_assert_held(&ep->lock);
	if (unlikely(!work))
		return rpcrdma_send_make(ep);
	ep->free_sends = work->next;
	return container_of(work, struct rpcrdma_send, work);
}
/* ... and back. What it had for its message it has no more. */
static inline void rpcrdma_send_push(struct rpcrdma_ep *ep,
				     struct rpcrdma_send *s)
{
	lockdep_assert_held(&ep->lock);
	s->work.next = ep->free_sends;
	ep->free_sends = &s->work;
}

/* ---- extent.c ---- */

/* Where in some extents the next octet is */
struct rpcrdma_extent_pos {
	const struct rpcrdma_extent *ext;
	u32			nr;		/* of @ext, from this one on */
	u32			done;		/* octets of @ext[0] */
};

u32 rpcrdma_extent_take(struct rpcrdma_extent_pos *pos, u32 octets, u32 most,
			struct scatterlist *sg);
u32 rpcrdma_extent_count(const struct rpcrdma_extent_pos *pos, u32 octets);
u32 rpcrdma_extent_region(const struct rpcrdma_extent_pos *pos,
			  const struct rpcrdma_cut *cut, u32 octets);
void rpcrdma_extent_skip(struct rpcrdma_extent_pos *pos, u32 octets);

/* ---- frwr.c ---- */

/* Pages that a memory region of @dev takes, whether it is this module's or the rdma_rw API's */
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
/* Return how many transfers are posted. ep->lock held. */
u32 rpcrdma_rw_nr_posted(struct rpcrdma_ep *ep);
/*
 * Before the queue pair is destroyed, and when all that was posted has ended: transfers
 * that the device refuses to stop outlive the queue pair. _end() does nothing without
 * _begin().
 */
void rpcrdma_rw_late_begin(struct rpcrdma_ep *ep);
void rpcrdma_rw_late_end(struct rpcrdma_ep *ep);
/* Post Writes that go ahead of their Reply: then @behind is called, once. */
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
 * Do what the engine asked for, RPCRDMA_EV_*; mostly it asks for nothing.
 * Process context, no lock held.
 */
void rpcrdma_ep_do_events(struct rpcrdma_ep *ep, u32 events);
static inline void rpcrdma_ep_events(struct rpcrdma_ep *ep, u32 events)
{
	if (unlikely(events))
		rpcrdma_ep_do_events(ep, events);
}
/* Whose turn is it? Post what may go now. No lock held. */
void rpcrdma_ep_pump(struct rpcrdma_ep *ep);
/* ep->reap_work */
void rpcrdma_works_reap(struct work_struct *item);
/* The window has been closed for too long? */
void rpcrdma_stall_expired(struct work_struct *work);

/* ---- recv.c ---- */

/* Module start and end */
int rpcrdma_recvs_init(void);
void rpcrdma_recvs_exit(void);
/* Make and post what the engine wants. Process context, no lock held. */
void rpcrdma_recvs_due(struct rpcrdma_ep *ep);
void rpcrdma_recvs_take(struct work_struct *work);
void rpcrdma_recvs_drain(struct rpcrdma_ep *ep);
/* The teardown's reference goes, now or with the last Receive that is lent. */
void rpcrdma_recvs_end(struct rpcrdma_ep *ep);
void rpcrdma_recvs_unmap(struct rpcrdma_ep *ep);
void rpcrdma_recvs_free(struct rpcrdma_ep *ep);

/* ---- qp.c ---- */

/* Make the device's objects; the teardown cleans up. Sleeps. */
int rpcrdma_ep_setup(struct rpcrdma_ep *ep);
/* ... and what is said of them in a request or an accept; @buf is in @param. */
void rpcrdma_ep_conn_param(struct rpcrdma_ep *ep,
			   struct rdma_conn_param *param, u8 *buf);

/* ---- ep.c; listen.c is above it ---- */

struct rpcrdma_ep *rpcrdma_ep_alloc(bool client);
int rpcrdma_ep_cm_handler(struct rdma_cm_id *id,
			  struct rdma_cm_event *event);
void rpcrdma_ep_addresses(struct rpcrdma_ep *ep);
int rpcrdma_ep_make(struct rpcrdma_ep *ep, const struct sockaddr *dst,
		    const struct sockaddr *src, int rc);

#endif /* RPCRDMA_ENDPOINT_INTERNAL_H */
