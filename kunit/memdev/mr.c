// SPDX-License-Identifier: GPL-2.0
/*
 * MRs: registration, invalidation, and checked access by key.
 */

#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

/* Return how many of @len bytes at @addr can be copied without crossing a page. */
static u32 memdev_in_page(u64 addr, u32 len)
{
	return min_t(u64, len, PAGE_SIZE - offset_in_page(addr));
}

struct ib_mr *memdev_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max)
{
	struct memdev *md = to_memdev(pd->device);
	struct memdev_mr *r;
	int rc;

	if ((type != IB_MR_TYPE_MEM_REG &&
	     (type != IB_MR_TYPE_SG_GAPS || !md->traits.sg_gaps)) ||
	    md->traits.no_mrs || !max || max > md->traits.mr_depth)
		return ERR_PTR(-EINVAL);
	if (memdev_fault(md) || READ_ONCE(md->traits.mrs_gone) ||
	    (md->traits.max_mrs &&
	     atomic_read(&md->counts.mrs) >= md->traits.max_mrs))
		return ERR_PTR(-ENOMEM);
	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return ERR_PTR(-ENOMEM);
	r->ranges = kvcalloc(max, sizeof(*r->ranges), GFP_KERNEL);
	r->registered = kvcalloc(max, sizeof(*r->registered), GFP_KERNEL);
	if (!r->ranges || !r->registered)
		goto out_free;
	r->max = max;
	r->gaps = type == IB_MR_TYPE_SG_GAPS;
	rc = xa_alloc_irq(&md->mrs, &r->index, r,
			  XA_LIMIT(MEMDEV_FIRST_MR, 0xffffff), GFP_KERNEL);
	if (rc)
		goto out_free;
	r->ib.lkey = r->index << MEMDEV_KEY_SHIFT;
	r->ib.rkey = r->ib.lkey;
	atomic_inc(&md->counts.mrs);
	return &r->ib;

out_free:
	kvfree(r->registered);
	kvfree(r->ranges);
	kfree(r);
	return ERR_PTR(-ENOMEM);
}

int memdev_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	struct memdev *md = to_memdev(mr->device);
	struct memdev_mr *r = to_memdev_mr(mr);

	/* Wait for copies to or from the MR, which hold this lock. */
	spin_lock_irq(&md->mr_lock);
	xa_erase(&md->mrs, r->index);
	spin_unlock_irq(&md->mr_lock);
	atomic_dec(&md->counts.mrs);
	kvfree(r->registered);
	kvfree(r->ranges);
	kfree(r);
	return 0;
}

static int memdev_set_page(struct ib_mr *mr, u64 addr)
{
	struct memdev_mr *r = to_memdev_mr(mr);

	if (r->nr == r->max)
		return -ENOMEM;
	r->ranges[r->nr].addr = addr;
	r->ranges[r->nr++].len = mr->page_size;
	return 0;
}

/*
 * Return how many elements of a list fit into one MR if each element starts at a page
 * boundary. No element can follow one that ends within a page. If the device has separate
 * DMA addresses, the list already has the changed offsets.
 */
static int memdev_without_offsets(const struct memdev *md,
				  struct scatterlist *sgl, int nents)
{
	struct scatterlist *sg;
	int i;

	if (md->maps || !READ_ONCE(md->traits.drop_offsets))
		return nents;
	for_each_sg(sgl, sg, nents, i) {
		if (i && sg_dma_len(sg) < PAGE_SIZE)
			return i;
		if (offset_in_page(sg_dma_len(sg)))
			return i + 1;
	}
	return nents;
}

int memdev_map_mr_sg(struct ib_mr *mr, struct scatterlist *sgl, int nents,
		     unsigned int *offset)
{
	struct memdev_mr *r = to_memdev_mr(mr);
	unsigned int skip = offset ? *offset : 0;
	struct scatterlist *sg;
	int i;

	r->nr = 0;
	if (!r->gaps)
		return ib_sg_to_pages(mr, sgl,
				      memdev_without_offsets(to_memdev(mr->device),
							     sgl, nents),
				      offset, memdev_set_page);

	mr->iova = sg_dma_address(sgl) + skip;
	mr->length = 0;
	for_each_sg(sgl, sg, nents, i) {
		if (r->nr == r->max)
			break;
		r->ranges[r->nr].addr = sg_dma_address(sg) + skip;
		r->ranges[r->nr].len = sg_dma_len(sg) - skip;
		mr->length += r->ranges[r->nr++].len;
		skip = 0;
	}
	if (offset)
		*offset = 0;
	return r->nr;
}

/*
 * Return the valid MR with @key in @qp's protection domain, or NULL.
 * Caller holds mr_lock.
 */
static struct memdev_mr *memdev_mr_of(struct memdev_qp *qp, u32 key)
{
	struct memdev_mr *r;

	r = xa_load(&qp->md->mrs, key >> MEMDEV_KEY_SHIFT);
	if (!r || !r->valid || r->key != key || r->ib.pd != qp->ib.pd)
		return NULL;
	return r;
}

enum ib_wc_status memdev_register(struct memdev_qp *qp,
				  const struct memdev_wqe *wqe)
{
	enum ib_wc_status status = IB_WC_MW_BIND_ERR;
	struct memdev_mr *r = wqe->mr;
	struct memdev *md = qp->md;

	spin_lock_irq(&md->mr_lock);
	if (xa_load(&md->mrs, wqe->key >> MEMDEV_KEY_SHIFT) == r &&
	    !r->valid && r->ib.pd == qp->ib.pd && r->nr) {
		memcpy(r->registered, r->ranges, r->nr * sizeof(*r->ranges));
		r->nr_registered = r->nr;
		r->last = 0;
		r->before_last = 0;
		r->valid = true;
		r->key = wqe->key;
		r->access = wqe->access;
		r->iova = wqe->iova;
		r->length = wqe->reg_length;
		status = IB_WC_SUCCESS;
	}
	spin_unlock_irq(&md->mr_lock);
	atomic_inc(status ? &md->counts.bad_key : &md->counts.registered);
	return status;
}

enum ib_wc_status memdev_invalidate(struct memdev_qp *qp, u32 key)
{
	struct memdev *md = qp->md;
	struct memdev_mr *r;

	spin_lock_irq(&md->mr_lock);
	r = memdev_mr_of(qp, key);
	if (r)
		r->valid = false;
	spin_unlock_irq(&md->mr_lock);
	return r ? IB_WC_SUCCESS : IB_WC_LOC_PROT_ERR;
}

/*
 * Return true if @r permits @access to @len bytes at @addr. Caller holds mr_lock.
 */
static bool memdev_mr_allows(const struct memdev_mr *r, u64 addr,
				 u64 len, int access)
{
	return r && (r->access & access) == access && addr >= r->iova &&
	       len <= r->length && addr - r->iova <= r->length - len;
}

/*
 * Copy @len bytes, at most a page, at @addr. Caller holds mr_lock. A large transfer
 * copies page after page, so the search begins with the range that was copied last.
 */
static bool memdev_mr_copy(struct memdev *md, struct memdev_mr *r,
			       u64 addr, u8 *buf, u32 len, bool write)
{
	u64 at = addr - r->iova, before = 0, dma;
	const struct memdev_range *range;
	u32 i = 0, n;

	/*
	 * In an MR of pages, each starts at a page boundary. Arbitrary ranges start at
	 * their first byte.
	 */
	if (!r->gaps)
		at += r->iova & (r->ib.page_size - 1);
	if (at >= r->before_last) {
		i = r->last;
		before = r->before_last;
		at -= before;
	}
	for (; i < r->nr_registered && len; i++) {
		range = &r->registered[i];
		if (at >= range->len) {
			at -= range->len;
			before += range->len;
			continue;
		}
		r->last = i;
		r->before_last = before;
		while (len && at < range->len) {
			dma = range->addr + at;
			n = memdev_in_page(dma, min_t(u64, len,
						      range->len - at));
			if (!memdev_dma_access(md, dma, buf, n, write))
				return false;
			buf += n;
			len -= n;
			at += n;
		}
		at = 0;
		before += range->len;
	}
	return !len;
}

bool memdev_remote_ok(struct memdev_qp *qp, u32 key, u64 addr, u32 len,
		      int access)
{
	struct memdev *md = qp->md;
	bool ok;

	spin_lock_irq(&md->mr_lock);
	ok = memdev_mr_allows(memdev_mr_of(qp, key), addr, len, access);
	spin_unlock_irq(&md->mr_lock);
	/* A refused access is the peer's fault, and is not counted as misuse. */
	return ok;
}

bool memdev_remote_copy(struct memdev_qp *qp, u32 key, u64 addr, void *buf,
			u32 len, bool write)
{
	struct memdev *md = qp->md;
	struct memdev_mr *r;
	bool ok;

	spin_lock_irq(&md->mr_lock);
	r = memdev_mr_of(qp, key);
	ok = memdev_mr_allows(r, addr, len, write ? IB_ACCESS_REMOTE_WRITE :
				  IB_ACCESS_REMOTE_READ) &&
	     memdev_mr_copy(md, r, addr, buf, len, write);
	spin_unlock_irq(&md->mr_lock);
	return ok;
}

/* Copy @len bytes of one local SGE. */
static bool memdev_sge_copy(struct memdev_qp *qp, u32 key, u64 addr, u8 *buf,
			    u32 len, bool write)
{
	struct memdev *md = qp->md;
	struct memdev_mr *r;
	bool ok = false;
	u32 n;

	if (key == MEMDEV_LOCAL_KEY) {
		for (; len; len -= n, buf += n, addr += n) {
			n = memdev_in_page(addr, len);
			if (!memdev_dma_access(md, addr, buf, n, write))
				return false;
		}
		return true;
	}
	spin_lock_irq(&md->mr_lock);
	r = memdev_mr_of(qp, key);
	if (memdev_mr_allows(r, addr, len,
				 write ? IB_ACCESS_LOCAL_WRITE : 0))
		ok = memdev_mr_copy(md, r, addr, buf, len, write);
	else
		atomic_inc(&md->counts.bad_key);
	spin_unlock_irq(&md->mr_lock);
	return ok;
}

bool memdev_local_copy(struct memdev_qp *qp, const struct ib_sge *sges, u32 nr,
		       u32 offset, void *buf, u32 len, bool write)
{
	u32 i, n;

	for (i = 0; i < nr && len; i++) {
		if (offset >= sges[i].length) {
			offset -= sges[i].length;
			continue;
		}
		n = min(len, sges[i].length - offset);
		if (!memdev_sge_copy(qp, sges[i].lkey, sges[i].addr + offset,
				     buf, n, write))
			return false;
		buf += n;
		len -= n;
		offset = 0;
	}
	return !len;
}
