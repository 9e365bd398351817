// SPDX-License-Identifier: GPL-2.0
/*
 * MRs that the peer accesses, registered by Work Requests (FRWR).
 *
 * Operation
 *
 * A Requester, or a Responder for a Reply to be pulled, maps memory to MRs of its
 * connection: each MR is one segment of a chunk. The registrations are chained before
 * the Send of the message that conveys the handles, with one doorbell. Those of a
 * continued Call are chained before its first message already. Each use of an MR has
 * another handle than the use before. The peer may invalidate one MR with its Send;
 * the others are invalidated by a chain of Work Requests before the RPC completes. The
 * core decides which MR is used, when it is invalidated, and when more are allocated
 * (core/endpoint/mrs.cc, core/queue/mr_pool.cc). This file executes that on the
 * device.
 *
 * Memory
 *
 * MRs and their scatterlists are allocated by a work item, because allocation may
 * sleep and sending must not. The teardown destroys the MRs; their structures are
 * freed with the endpoint, because requests may still have them on their lists. Pages
 * are mapped for DMA when an MR is mapped, and unmapped when it is returned. Unmapping
 * makes the data that the device wrote visible to the CPU. The protection domain
 * belongs to one connection, so that no other peer can use a handle.
 *
 * Errors
 *
 * If the device maps less than requested, the limits are reduced and the memory is
 * mapped again. If the device allocates no more MRs, RPCs wait, or are conveyed in
 * forms that need fewer, and the log says so. If an invalidation fails, the connection
 * is closed, and the MRs are returned after the teardown has destroyed them: the
 * memory of an RPC is not released while a peer may access it.
 *
 * Locking
 *
 * ep->mr_lock protects the list of free MRs, and changes of the limits. Mapping and
 * unmapping are done without a spinlock by the context that owns the MR, while it
 * holds off the teardown. If that is no longer possible, unmap_mutex serializes the
 * owner with the teardown.
 */

#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <core/mr_list.h>

#include "../compat.h"
#include "internal.h"
#include "trace.h"

void rpcrdma_port_lock_mrs(struct rpcrdma_ep_core *core)
	__acquires(&rpcrdma_ep_of(core)->mr_lock)
{
	spin_lock(&rpcrdma_ep_of(core)->mr_lock);
}

void rpcrdma_port_unlock_mrs(struct rpcrdma_ep_core *core)
	__releases(&rpcrdma_ep_of(core)->mr_lock)
{
	spin_unlock(&rpcrdma_ep_of(core)->mr_lock);
}

/* Allocate MRs in a work item, because allocation may sleep and sending must not. */
static void rpcrdma_mrs_work(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, mr_work);
	unsigned int flags = rpcrdma_ep_memalloc_begin(ep);

	if (rpcrdma_ep_enter(ep)) {
		rpcrdma_core_mrs_make(&ep->core);
		rpcrdma_ep_leave(ep);
	}
	rpcrdma_memalloc_end(flags);
}

/* Initialize the MR pool and its limits from the device's attributes. */
void rpcrdma_mrs_init(struct rpcrdma_ep *ep)
{
	const struct ib_device *dev = ep->id->device;
	struct rpcrdma_mrs *mrs = &ep->core.mrs;

	INIT_DELAYED_WORK(&ep->mr_work, rpcrdma_mrs_work);
	mrs->pool.most = ep->params.max_mrs;
	mrs->limits.page_shift = PAGE_SHIFT;
	mrs->limits.pages = rpcrdma_mr_pages(dev);
	mrs->limits.gaps = rpcrdma_device_has_gaps(dev);
	/* Limit of scatterlists, also of those of explicit RDMA */
	ep->max_element = max_t(u32, PAGE_SIZE, PAGE_MASK &
				min_t(u32, ib_dma_max_seg_size(ep->id->device),
				      RPCRDMA_MAX_ELEMENT));
}

/* ---- Allocation ---- */

struct rpcrdma_mr *rpcrdma_port_mr(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	const u32 pages = rpcrdma_mr_pages(ep->device);
	struct verbs_mr *mr;

	mr = kzalloc(sizeof(*mr), GFP_NOFS);
	if (!mr)
		return NULL;
	mr->sg = kmalloc_array(pages, sizeof(*mr->sg), GFP_NOFS);
	if (!mr->sg)
		goto out_free;
	sg_init_table(mr->sg, pages);
	/*
	 * One page more than is used, if the device supports it, because after rxe has
	 * read the last of 256 pages, it accesses the position of the next one.
	 */
	mr->ibmr = ib_alloc_mr(ep->pd, core->mrs.limits.gaps ?
					IB_MR_TYPE_SG_GAPS :
					IB_MR_TYPE_MEM_REG,
			       min(pages + 1,
				   ep->device->attrs.max_fast_reg_page_list_len));
	if (IS_ERR(mr->ibmr))
		goto out_free;
	mr->ep = ep;
	return &mr->core;

out_free:
	kfree(mr->sg);
	kfree(mr);
	return NULL;
}

void rpcrdma_port_make_mrs(struct rpcrdma_ep_core *core, u32 ms)
{
	queue_delayed_work(rpcrdma_wq, &rpcrdma_ep_of(core)->mr_work,
			   msecs_to_jiffies(ms));
}

void rpcrdma_port_mrs_short(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	pr_warn_ratelimited("rpcrdma: device %s allocates no more MRs for the connection to %pISpc, which has %u; RPCs may be delayed, use fewer connections\n",
			    ep->device->name, &ep->remote,
			    READ_ONCE(core->mrs.pool.made));
}

void rpcrdma_port_mrs_notified(struct rpcrdma_ep_core *core)
{
	wake_up_all(&rpcrdma_ep_of(core)->wait);
}

/* ---- Mapping ---- */

/*
 * Map the first @nr elements of @mr's scatterlist, and prepare the registration. Return 0
 * or an errno of rpcrdma_port_mr_map().
 */
static __always_inline int rpcrdma_mr_register(struct rpcrdma_ep *ep,
					       struct verbs_mr *mr, u32 nr,
					       bool remote_write)
{
	struct ib_reg_wr *reg = &mr->reg_wr;
	struct rpcrdma_mr *m = &mr->core;
	struct ib_mr *ibmr = mr->ibmr;
	int dma_nents, n;

	if (unlikely(!nr))
		return -EFAULT;
	mr->dir = remote_write ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	dma_nents = ib_dma_map_sg(ep->device, mr->sg, nr, mr->dir);
	if (!dma_nents)
		return -ENOMEM;
	n = ib_map_mr_sg(ibmr, mr->sg, dma_nents, NULL, PAGE_SIZE);
	if (n != dma_nents) {
		ib_dma_unmap_sg(ep->device, mr->sg, nr, mr->dir);
		return -EIO;
	}
	mr->nents = nr;

	/*
	 * A new key each time, and an offset that reveals nothing about this host's
	 * memory to the peer and is hard to guess (11.1.2).
	 */
	ib_update_fast_reg_key(ibmr, (u8)(ibmr->rkey + 1));
	ibmr->iova = offset_in_page(ibmr->iova) |
		     ((u64)get_random_u32() << PAGE_SHIFT);

	/*
	 * Those that an invalidation, which shares the memory, may have set. The others
	 * are 0 since the MR was allocated, or are set when it is chained.
	 */
	reg->wr.opcode = IB_WR_REG_MR;
	reg->wr.send_flags = 0;
	reg->wr.ex.invalidate_rkey = 0;
	reg->mr = ibmr;
	reg->key = ibmr->rkey;
	reg->access = remote_write ?
		      IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE :
		      IB_ACCESS_REMOTE_READ;
	m->handle = ibmr->rkey;
	m->length = ibmr->length;
	m->offset = ibmr->iova;
	trace_rpcrdma_map(ep, mr);
	return 0;
}

int rpcrdma_port_mr_map(struct rpcrdma_ep_core *core, struct rpcrdma_mr *m,
			struct rpcrdma_extent_pos *pos, u32 octets,
			bool remote_write)
{
	struct verbs_mr *mr = container_of(m, struct verbs_mr, core);
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	u32 nr = rpcrdma_extent_to_sg(pos, octets, ep->max_element, mr->sg);

	return rpcrdma_mr_register(ep, mr, nr, remote_write);
}

int rpcrdma_mrs_map(struct rpcrdma_ep *ep, struct list_head *mrs,
		    const struct rpcrdma_extent *ext, u32 nr,
		    bool remote_write, struct rpcrdma_lists *lists)
{
	struct rpcrdma_extent_pos pos = { .ext = ext, .nr = nr };
	int rc = 0;

	if (!rpcrdma_ep_enter(ep))
		return -ENOTCONN;
	if (likely(nr))
		rc = rpcrdma_core_mrs_map(&ep->core, mrs, &pos, remote_write,
					  lists);
	rpcrdma_ep_leave(ep);
	return rc;
}

/* Flattened, like rpcrdma_mrs_put(), so that the functions of the port are inlined */
__flatten int rpcrdma_mrs_map_item(struct rpcrdma_ep *ep, struct list_head *mrs,
				   const struct rpcrdma_call_item *item)
{
	struct rpcrdma_mr *m;
	struct verbs_mr *mr;
	int rc = -EAGAIN;
	u32 nr;

	if (!rpcrdma_ep_enter(ep))
		return -ENOTCONN;
	m = rpcrdma_core_mr_get(&ep->core, mrs);
	if (likely(m)) {
		mr = container_of(m, struct verbs_mr, core);
		nr = rpcrdma_sg_of_pages(item->memory, item->offset,
					 item->octets, ep->max_element, mr->sg);
		rc = rpcrdma_mr_register(ep, mr, nr, item->result);
		if (unlikely(rc))
			rc = rpcrdma_core_item_not_mapped(&ep->core,
							  item->offset,
							  item->octets, rc);
	}
	rpcrdma_ep_leave(ep);
	return rc;
}

void rpcrdma_port_chain_mrs(struct rpcrdma_send *s,
			    const struct list_head *mrs)
{
	struct verbs_send *vs = container_of(s, struct verbs_send, core);
	struct ib_send_wr *first = s->before ?: &vs->wr;
	struct rpcrdma_ep *ep = rpcrdma_send_ep(s);
	struct verbs_mr *mr;

	list_for_each_entry(mr, mrs, core.list) {
		mr->reg_wr.wr.next = first;
		mr->reg_wr.wr.wr_cqe = &ep->reg_cqe;
		first = &mr->reg_wr.wr;
	}
	s->before = first;
}

/* ---- Invalidation ---- */

void rpcrdma_port_chain_inv(struct rpcrdma_inv *inv, struct rpcrdma_mr *m)
{
	struct verbs_mr *mr = container_of(m, struct verbs_mr, core);
	struct rpcrdma_chain *chain = inv->work.chain;
	struct rpcrdma_ep *ep = mr->ep;
	struct ib_send_wr *wr = &mr->inv_wr;

	if (!inv->work.wrs.nr)
		*chain = (struct rpcrdma_chain){ .work = &inv->work };
	memset(wr, 0, sizeof(*wr));
	wr->opcode = IB_WR_LOCAL_INV;
	wr->wr_cqe = &ep->reg_cqe;
	wr->ex.invalidate_rkey = m->handle;
	wr->next = chain->first;
	chain->first = wr;
	if (!chain->last)
		chain->last = wr;
	atomic64_inc(&ep->local_inv);
	trace_rpcrdma_invalidate(ep, m->handle, false);
}

struct rpcrdma_sync_inv {
	struct rpcrdma_inv	inv;
	struct rpcrdma_chain	chain;
	struct completion	done;
	bool			ok;
};

static void rpcrdma_sync_inv_done(struct rpcrdma_inv *inv, bool ok)
{
	struct rpcrdma_sync_inv *sync =
		container_of(inv, struct rpcrdma_sync_inv, inv);

	sync->ok = ok;
	complete(&sync->done);
}

void rpcrdma_mrs_release_sync(struct rpcrdma_ep *ep, struct list_head *mrs)
{
	struct rpcrdma_sync_inv sync = {
		.inv.done	= rpcrdma_sync_inv_done,
		.inv.work.chain	= &sync.chain,
		.done		= COMPLETION_INITIALIZER_ONSTACK(sync.done),
	};

	if (rpcrdma_core_mrs_exposed(mrs)) {
		rpcrdma_core_mrs_invalidate(&ep->core, mrs, &sync.inv);
		wait_for_completion(&sync.done);
		/* The end of the connection ends the exposure. */
		if (!sync.ok)
			wait_for_completion(&ep->gone);
	}
	rpcrdma_mrs_put(ep, mrs);
}

/* ---- Release ---- */

/*
 * Unmap an MR. Its owner calls this while it holds off the teardown; after that both
 * the owner and the teardown may call it, with unmap_mutex held.
 */
static void rpcrdma_mr_unmap(struct rpcrdma_ep *ep, struct verbs_mr *mr)
{
	if (!mr->nents)
		return;
	ib_dma_unmap_sg(ep->device, mr->sg, mr->nents, mr->dir);
	mr->nents = 0;
}

void rpcrdma_port_mrs_unmap(struct rpcrdma_ep_core *core,
			    struct list_head *mrs, bool open)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	struct verbs_mr *mr;

	if (unlikely(!open))
		mutex_lock(&ep->unmap_mutex);
	list_for_each_entry(mr, mrs, core.list) {
		WARN_ON_ONCE(mr->core.exposed);
		rpcrdma_mr_unmap(ep, mr);
	}
	if (unlikely(!open))
		mutex_unlock(&ep->unmap_mutex);
}

/* rpcrdma_mrs_put() once the teardown has begun */
static noinline void rpcrdma_mrs_put_late(struct rpcrdma_ep *ep,
					  struct list_head *mrs)
{
	rpcrdma_core_mrs_return(&ep->core, mrs, false);
}

__flatten void rpcrdma_mrs_put(struct rpcrdma_ep *ep, struct list_head *mrs)
{
	if (list_empty(mrs))
		return;
	if (likely(rpcrdma_ep_enter(ep))) {
		rpcrdma_core_mrs_return(&ep->core, mrs, true);
		rpcrdma_ep_leave(ep);
	} else {
		rpcrdma_mrs_put_late(ep, mrs);
	}
}

static struct verbs_mr *rpcrdma_verbs_mr(struct rpcrdma_mr *mr)
{
	return container_of(mr, struct verbs_mr, core);
}

/*
 * Teardown: the queue pair is gone, so that no peer can access the MRs. The structures
 * stay, because requests may still have them on their lists.
 */
void rpcrdma_mrs_destroy(struct rpcrdma_ep *ep)
{
	struct rpcrdma_mr *m;
	struct verbs_mr *mr;

	if (ep->mr_work.work.func)
		cancel_delayed_work_sync(&ep->mr_work);
	for (m = ep->core.mrs.all; m; m = m->all) {
		mr = rpcrdma_verbs_mr(m);
		ib_dereg_mr(mr->ibmr);
		mr->ibmr = NULL;
		mutex_lock(&ep->unmap_mutex);
		rpcrdma_mr_unmap(ep, mr);
		mutex_unlock(&ep->unmap_mutex);
	}
}

/* Free the structures. The last reference is gone. */
void rpcrdma_mrs_free(struct rpcrdma_ep *ep)
{
	struct rpcrdma_mr *m, *next;
	struct verbs_mr *mr;

	for (m = ep->core.mrs.all; m; m = next) {
		next = m->all;
		mr = rpcrdma_verbs_mr(m);
		kfree(mr->sg);
		kfree(mr);
	}
}
