// SPDX-License-Identifier: GPL-2.0
/*
 * MRs exposed to the peer. The Send that names them registers them (FRWR); a
 * Requester's MRs are invalidated before its RPC completes.
 */

#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../compat.h"
#include "internal.h"
#include "trace.h"

static void rpcrdma_mrs_work(struct work_struct *work);

/* Initialize the MR pool and its limits from the device's attributes. */
void rpcrdma_mrs_init(struct rpcrdma_ep *ep)
{
	const struct ib_device *dev = ep->id->device;

	INIT_DELAYED_WORK(&ep->mr_work, rpcrdma_mrs_work);
	ep->regions.most = ep->params.max_mrs;
	ep->mr_pages = rpcrdma_region_pages(dev);
	ep->mr_cut.page_shift = PAGE_SHIFT;
	ep->mr_cut.pages = ep->mr_pages;
	ep->mr_cut.gaps = rpcrdma_device_has_gaps(dev);
	/* Limit of scatterlists, also of those of explicit RDMA */
	ep->max_element = max_t(u32, PAGE_SIZE, PAGE_MASK &
				min_t(u32, ib_dma_max_seg_size(ep->id->device),
				      RPCRDMA_MAX_ELEMENT));
}

static struct verbs_mr *rpcrdma_mr_create(struct rpcrdma_ep *ep)
{
	struct verbs_mr *mr;

	mr = kzalloc(sizeof(*mr), GFP_NOFS);
	if (!mr)
		return NULL;
	mr->sg = kmalloc_array(ep->mr_pages, sizeof(*mr->sg), GFP_NOFS);
	if (!mr->sg)
		goto out_free;
	sg_init_table(mr->sg, ep->mr_pages);
	/*
	 * One page more than is used, if the device supports as many: after rxe has
	 * read the last of 256 pages, it accesses the position of the next one.
	 */
	mr->ibmr = ib_alloc_mr(ep->pd, ep->mr_cut.gaps ? IB_MR_TYPE_SG_GAPS :
			       IB_MR_TYPE_MEM_REG,
			       min(ep->mr_pages + 1,
				   ep->device->attrs.max_fast_reg_page_list_len));
	if (IS_ERR(mr->ibmr))
		goto out_free;
	mr->ep = ep;
	return mr;

out_free:
	kfree(mr->sg);
	kfree(mr);
	return NULL;
}

/* Run the actions that an event of ep->regions has returned. Not after the teardown. */
static void rpcrdma_mrs_carry_out(struct rpcrdma_ep *ep, u32 todo)
{
	if (todo & RPCRDMA_POOL_MAKE)
		queue_delayed_work(rpcrdma_wq, &ep->mr_work, 0);
	if (todo & RPCRDMA_POOL_PAUSE)
		queue_delayed_work(rpcrdma_wq, &ep->mr_work,
				   msecs_to_jiffies(RPCRDMA_POOL_PAUSE_MS));
	if (todo & RPCRDMA_POOL_LATER)
		queue_delayed_work(rpcrdma_wq, &ep->mr_work,
				   msecs_to_jiffies(RPCRDMA_POOL_LATER_MS));
	if (todo & RPCRDMA_POOL_LOG)
		pr_warn_ratelimited("rpcrdma: device %s allocates no more memory regions for %pISpc, which has %u; RPCs wait for them or do without\n",
				    ep->device->name, &ep->remote,
				    READ_ONCE(ep->regions.made));
	if (todo & RPCRDMA_POOL_TELL) {
		atomic_inc(&ep->mr_told);
		wake_up_all(&ep->wait);
		rpcrdma_ep_write_space(ep);
	}
}

/* Allocate MRs: allocation may sleep, sending must not. */
static void rpcrdma_mrs_work(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(to_delayed_work(work),
					     struct rpcrdma_ep, mr_work);
	unsigned int flags = memalloc_nofs_save();
	struct verbs_mr *mr;
	u32 want, made, todo;
	LIST_HEAD(mrs);

	if (!rpcrdma_ep_enter(ep))
		goto out;
	spin_lock(&ep->mr_lock);
	want = rpcrdma_pool_to_make(&ep->regions);
	spin_unlock(&ep->mr_lock);
	for (made = 0; made < want; made++) {
		mr = rpcrdma_mr_create(ep);
		if (!mr)
			break;
		list_add(&mr->core.list, &mrs);
	}
	spin_lock(&ep->mr_lock);
	list_for_each_entry(mr, &mrs, core.list)
		list_add(&mr->all, &ep->all_mrs);
	list_splice(&mrs, &ep->free_mrs);
	todo = rpcrdma_pool_made(&ep->regions, made);
	spin_unlock(&ep->mr_lock);
	rpcrdma_mrs_carry_out(ep, todo);
	rpcrdma_ep_leave(ep);
out:
	memalloc_nofs_restore(flags);
}

static struct verbs_mr *rpcrdma_mr_take(struct rpcrdma_ep *ep)
{
	struct verbs_mr *mr = NULL;
	u32 todo;

	spin_lock(&ep->mr_lock);
	todo = rpcrdma_pool_take(&ep->regions);
	if (likely(todo & RPCRDMA_POOL_TAKEN)) {
		mr = list_first_entry(&ep->free_mrs, struct verbs_mr, core.list);
		list_del_init(&mr->core.list);
	}
	spin_unlock(&ep->mr_lock);
	if (unlikely(todo & ~RPCRDMA_POOL_TAKEN))
		rpcrdma_mrs_carry_out(ep, todo);
	return mr;
}

struct rpcrdma_cut rpcrdma_mrs_cut(const struct rpcrdma_ep *ep)
{
	u32 most = rpcrdma_conn_limits(&ep->core.conn).max_segment;
	/* A stale copy only costs a mapping that has to be retried. */
	struct rpcrdma_cut cut = ep->mr_cut;

	/* No MR is provided to a peer that accepts none. */
	cut.octets = most ?: U32_MAX;
	return cut;
}

/*
 * Fill @mr with as much as one MR can hold, and advance @pos past it. Return the number
 * of scatterlist elements, no more than the engine counts pages, or 0 if a page is
 * missing.
 */
static u32 rpcrdma_mr_fill(struct rpcrdma_ep *ep, struct verbs_mr *mr,
			   const struct rpcrdma_cut *cut,
			   struct rpcrdma_extent_pos *pos)
{
	u32 octets = rpcrdma_extent_region(pos, cut, U32_MAX);
	u32 nents = rpcrdma_extent_take(pos, octets, ep->max_element, mr->sg);

	if (likely(nents))
		sg_mark_end(&mr->sg[nents - 1]);
	return nents;
}

/*
 * Tighten the registration limits, because the device mapped less than one MR with the
 * limits @cut. Return -EAGAIN so that the caller plans and maps again, or -EIO if the
 * limits are at their minimum.
 */
static int rpcrdma_mrs_cut_finer(struct rpcrdma_ep *ep,
				 const struct rpcrdma_cut *cut)
{
	bool finer;

	spin_lock(&ep->mr_lock);
	finer = rpcrdma_cut_finer(&ep->mr_cut, cut);
	spin_unlock(&ep->mr_lock);
	if (!finer)
		return -EIO;
	/* Notify the caller, and other waiters that are to retry as well. */
	rpcrdma_mrs_carry_out(ep, RPCRDMA_POOL_TELL);
	return -EAGAIN;
}

/*
 * Map the @nr elements of the scatterlist of @mr, and prepare the registration. On
 * error nothing is mapped.
 * Return: 0; -ENOMEM; or -EIO if the MR cannot hold all of them.
 */
static int rpcrdma_mr_map(struct rpcrdma_ep *ep, struct verbs_mr *mr,
			  u32 nr, bool remote_write)
{
	struct ib_reg_wr *reg = &mr->reg_wr;
	struct ib_mr *ibmr = mr->ibmr;
	int dma_nents, n;

	mr->core.used = false;
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

	memset(reg, 0, sizeof(*reg));
	reg->wr.opcode = IB_WR_REG_MR;
	reg->mr = ibmr;
	reg->key = ibmr->rkey;
	reg->access = remote_write ?
		      IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE :
		      IB_ACCESS_REMOTE_READ;
	mr->core.handle = ibmr->rkey;
	mr->core.length = ibmr->length;
	mr->core.offset = ibmr->iova;
	return 0;
}

/**
 * rpcrdma_mrs_map - prepare MRs for memory
 * @ep: open endpoint
 * @mrs: prepared MRs are appended here
 * @ext: the memory
 * @nr: elements of @ext
 * @remote_write: the peer writes to it, else it reads
 * @lists: gets a segment for each MR
 *
 * Context: process context.
 * Return: 0, -EAGAIN, -ENOTCONN, -EMSGSIZE, -EIO, -EFAULT or -ENOMEM (it cannot be
 * mapped now); see endpoint.h.
 */
int rpcrdma_mrs_map(struct rpcrdma_ep *ep, struct list_head *mrs,
		    const struct rpcrdma_extent *ext, u32 nr,
		    bool remote_write, struct rpcrdma_lists *lists)
{
	struct rpcrdma_extent_pos pos = { .ext = ext, .nr = nr };
	struct rpcrdma_cut cut = rpcrdma_mrs_cut(ep);
	struct verbs_mr *mr;
	u32 nents;
	int rc = 0;

	if (!rpcrdma_ep_enter(ep))
		return -ENOTCONN;
	while (pos.nr) {
		mr = rpcrdma_mr_take(ep);
		if (!mr) {
			rc = -EAGAIN;
			break;
		}
		list_add_tail(&mr->core.list, mrs);
		nents = rpcrdma_mr_fill(ep, mr, &cut, &pos);
		if (unlikely(!nents)) {
			rc = -EFAULT;
			break;
		}
		rc = rpcrdma_mr_map(ep, mr, nents, remote_write);
		if (unlikely(rc == -EIO))
			rc = rpcrdma_mrs_cut_finer(ep, &cut);
		if (rc)
			break;
		if (rpcrdma_lists_add_segment(lists, mr->core.handle, mr->core.length,
					      mr->core.offset)) {
			rc = -EMSGSIZE;
			break;
		}
		trace_rpcrdma_map(ep, mr);
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

bool rpcrdma_mrs_invalidated(struct list_head *mrs, u32 handle)
{
	struct verbs_mr *mr;

	list_for_each_entry(mr, mrs, core.list) {
		if (mr->core.handle != handle || !mr->core.exposed)
			continue;
		mr->core.exposed = false;
		trace_rpcrdma_invalidate(mr->ep, handle, true);
		return true;
	}
	return false;
}

bool rpcrdma_mrs_exposed(const struct list_head *mrs)
{
	const struct verbs_mr *mr;

	list_for_each_entry(mr, mrs, core.list)
		if (mr->core.exposed)
			return true;
	return false;
}

static void rpcrdma_inv_done(struct rpcrdma_work *work, bool ok)
{
	struct rpcrdma_inv *inv = container_of(work, struct rpcrdma_inv, work);
	struct verbs_mr *mr;

	if (ok)
		list_for_each_entry(mr, inv->mrs, core.list)
			mr->core.exposed = false;
	inv->done(inv, ok);
}

void rpcrdma_mrs_invalidate(struct rpcrdma_ep *ep, struct list_head *mrs,
			    struct rpcrdma_inv *inv)
{
	struct rpcrdma_chain *chain = &inv->chain;
	struct rpcrdma_work *work = &inv->work;
	struct ib_send_wr *wr;
	struct verbs_mr *mr;

	inv->ep = ep;
	inv->mrs = mrs;
	memset(work, 0, sizeof(*work));
	INIT_LIST_HEAD(&work->list);
	work->chain = chain;
	memset(chain, 0, sizeof(*chain));
	chain->work = work;
	work->done = rpcrdma_inv_done;
	work->wrs.signaled = true;

	list_for_each_entry(mr, mrs, core.list) {
		if (!mr->core.exposed)
			continue;
		wr = &mr->inv_wr;
		memset(wr, 0, sizeof(*wr));
		wr->opcode = IB_WR_LOCAL_INV;
		wr->wr_cqe = &ep->reg_cqe;
		wr->ex.invalidate_rkey = mr->core.handle;
		wr->next = chain->first;
		chain->first = wr;
		if (!chain->last)
			chain->last = wr;
		work->wrs.nr++;
		trace_rpcrdma_invalidate(ep, mr->core.handle, false);
	}
	if (!work->wrs.nr) {
		inv->done(inv, true);
		return;
	}
	atomic64_add(work->wrs.nr, &ep->local_inv);
	rpcrdma_work_rdma(ep, work);
}

struct rpcrdma_sync_inv {
	struct rpcrdma_inv	inv;
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
		.done		= COMPLETION_INITIALIZER_ONSTACK(sync.done),
	};
	struct verbs_mr *mr;

	if (rpcrdma_mrs_exposed(mrs)) {
		rpcrdma_mrs_invalidate(ep, mrs, &sync.inv);
		wait_for_completion(&sync.done);
		if (!sync.ok) {
			/*
			 * If this fails for any reason, end the connection, and thereby
			 * the exposure.
			 */
			rpcrdma_ep_close(ep, NULL);
			wait_for_completion(&ep->gone);
			list_for_each_entry(mr, mrs, core.list)
				mr->core.exposed = false;
		}
	}
	rpcrdma_mrs_put(ep, mrs);
}

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

/**
 * rpcrdma_mrs_put - return MRs that are not exposed to the pool
 * @ep: their endpoint
 * @mrs: MRs of a request, empty afterwards
 *
 * write_space() may be called for RPCs that wait for MRs.
 * Context: process context; sleeps, briefly, only during the teardown.
 */
void rpcrdma_mrs_put(struct rpcrdma_ep *ep, struct list_head *mrs)
{
	struct verbs_mr *mr, *next;
	bool used = false, open;
	u32 count = 0, todo;

	if (list_empty(mrs))
		return;
	/* Unmapping may take long with an IOMMU: not under a spinlock. */
	open = rpcrdma_ep_enter(ep);
	if (unlikely(!open))
		mutex_lock(&ep->unmap_mutex);
	list_for_each_entry(mr, mrs, core.list)
		rpcrdma_mr_unmap(ep, mr);
	if (unlikely(!open))
		mutex_unlock(&ep->unmap_mutex);
	spin_lock(&ep->mr_lock);
	list_for_each_entry_safe(mr, next, mrs, core.list) {
		list_del_init(&mr->core.list);
		WARN_ON_ONCE(mr->core.exposed);
		if (!mr->ibmr)
			continue;
		list_add(&mr->core.list, &ep->free_mrs);
		count++;
		used |= mr->core.used;
		mr->core.used = false;
	}
	todo = rpcrdma_pool_give(&ep->regions, count, used);
	spin_unlock(&ep->mr_lock);
	if (unlikely(!open))
		return;
	if (unlikely(todo))
		rpcrdma_mrs_carry_out(ep, todo);
	rpcrdma_ep_leave(ep);
}

/*
 * Teardown: the queue pair is gone, so that no peer can access the MRs. The structures
 * stay, because requests may still have them on their lists.
 */
void rpcrdma_mrs_destroy(struct rpcrdma_ep *ep)
{
	struct verbs_mr *mr;
	struct ib_mr *ibmr;

	if (ep->mr_work.work.func)
		cancel_delayed_work_sync(&ep->mr_work);
	list_for_each_entry(mr, &ep->all_mrs, all) {
		spin_lock(&ep->mr_lock);
		ibmr = mr->ibmr;
		mr->ibmr = NULL;
		spin_unlock(&ep->mr_lock);
		if (ibmr)
			ib_dereg_mr(ibmr);
		mutex_lock(&ep->unmap_mutex);
		rpcrdma_mr_unmap(ep, mr);
		mutex_unlock(&ep->unmap_mutex);
		mr->core.exposed = false;
	}
}

/* Free the structures. The last reference is gone. */
void rpcrdma_mrs_free(struct rpcrdma_ep *ep)
{
	struct verbs_mr *mr, *next;

	list_for_each_entry_safe(mr, next, &ep->all_mrs, all) {
		kfree(mr->sg);
		kfree(mr);
	}
}
