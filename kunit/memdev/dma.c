// SPDX-License-Identifier: GPL-2.0
/*
 * DMA addresses of the device. Each mapping uses pages of addresses that were never used
 * before, so that an access to an address that is no longer mapped, or never was, is
 * detected. If a kernel does not let a driver map memory, DMA addresses are kernel pointers
 * (virtual DMA).
 */

#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "compat/config.h"
#include "internal.h"

struct memdev_map {
	u64			addr;
	u64			page;		/* number of the first page */
	u32			nr_pages;
	size_t			size;		/* bytes */
	void			*memory;
	void			*bounce;	/* or NULL */
	enum dma_data_direction	dir;
	bool			cpus;		/* synced for the CPU */
};

static struct memdev *memdev_of(struct device *dev)
{
	return dev_get_drvdata(dev);
}

static bool memdev_reads(enum dma_data_direction dir)
{
	return dir == DMA_TO_DEVICE || dir == DMA_BIDIRECTIONAL;
}

static bool memdev_writes(enum dma_data_direction dir)
{
	return dir == DMA_FROM_DEVICE || dir == DMA_BIDIRECTIONAL;
}

/* Return the map that covers @size bytes at @addr. Caller holds the lock of md->dma. */
static struct memdev_map *memdev_map_at(struct memdev *md, u64 addr,
					size_t size)
{
	struct memdev_map *map = xa_load(&md->dma, addr >> PAGE_SHIFT);

	if (!map || addr < map->addr || addr + size > map->addr + map->size)
		return NULL;
	return map;
}

/* Return how many pages @size bytes cover that start @offset bytes into a page. */
static u32 memdev_pages(u32 offset, size_t size)
{
	return PAGE_ALIGN(offset + size) >> PAGE_SHIFT;
}

/* Reserve @nr_pages pages of addresses never used before. Return the first page. */
static u64 memdev_reserve(struct memdev *md, u32 nr_pages)
{
	unsigned long flags;
	u64 page;

	xa_lock_irqsave(&md->dma, flags);
	page = md->next_page;
	/* Leave one unmapped page between any two reservations. */
	md->next_page += nr_pages + 1;
	xa_unlock_irqrestore(&md->dma, flags);
	return page;
}

/* Map @size bytes at @memory to the addresses that start @offset bytes into @page. */
static dma_addr_t memdev_map_to(struct memdev *md, void *memory, size_t size,
				u64 page, u32 offset,
				enum dma_data_direction dir)
{
	struct memdev_map *map;
	unsigned long flags;
	u32 i;

	if (memdev_fault(md) || READ_ONCE(md->traits.maps_gone))
		return DMA_MAPPING_ERROR;
	map = kzalloc(sizeof(*map), GFP_ATOMIC);
	if (!map)
		return DMA_MAPPING_ERROR;
	if (READ_ONCE(md->traits.bounce)) {
		map->bounce = kmalloc(size, GFP_ATOMIC);
		if (!map->bounce)
			goto out_free;
		/*
		 * Copy all of it, because unmapping also copies back the bytes that the
		 * device did not write.
		 */
		memcpy(map->bounce, memory, size);
	}
	map->memory = memory;
	map->size = size;
	map->dir = dir;
	map->nr_pages = memdev_pages(offset, size);
	map->page = page;
	map->addr = (page << PAGE_SHIFT) + offset;

	xa_lock_irqsave(&md->dma, flags);
	for (i = 0; i < map->nr_pages; i++)
		if (xa_err(__xa_store(&md->dma, page + i, map, GFP_ATOMIC)))
			break;
	if (i < map->nr_pages)
		while (i--)
			__xa_erase(&md->dma, page + i);
	else
		i = 0;
	xa_unlock_irqrestore(&md->dma, flags);
	if (i)
		goto out_free;
	atomic_inc(&md->counts.maps);
	return map->addr;

out_free:
	kfree(map->bounce);
	kfree(map);
	return DMA_MAPPING_ERROR;
}

static dma_addr_t memdev_map(struct memdev *md, void *memory, size_t size,
			     enum dma_data_direction dir)
{
	u32 offset = offset_in_page(memory);
	u64 page = memdev_reserve(md, memdev_pages(offset, size));

	return memdev_map_to(md, memory, size, page, offset, dir);
}

static void memdev_unmap(struct memdev *md, dma_addr_t addr, size_t size,
			 enum dma_data_direction dir, unsigned long attrs)
{
	struct memdev_map *map;
	unsigned long flags;
	u32 i;

	xa_lock_irqsave(&md->dma, flags);
	map = memdev_map_at(md, addr, size);
	if (map && (map->addr != addr || map->size != size || map->dir != dir))
		map = NULL;
	if (map)
		for (i = 0; i < map->nr_pages; i++)
			__xa_erase(&md->dma, map->page + i);
	xa_unlock_irqrestore(&md->dma, flags);
	if (!map) {
		atomic_inc(&md->counts.bad_unmap);
		return;
	}
	if (map->bounce && memdev_writes(dir) &&
	    !(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		memcpy(map->memory, map->bounce, size);
	kfree(map->bounce);
	kfree(map);
	atomic_dec(&md->counts.maps);
}

#ifdef HAVE_DMA_MAP_PHYS
static dma_addr_t memdev_op_map(struct device *dev, phys_addr_t phys,
				size_t size, enum dma_data_direction dir,
				unsigned long attrs)
{
	return memdev_map(memdev_of(dev), phys_to_virt(phys), size, dir);
}
#else
static dma_addr_t memdev_op_map(struct device *dev, struct page *page,
				unsigned long offset, size_t size,
				enum dma_data_direction dir,
				unsigned long attrs)
{
	return memdev_map(memdev_of(dev), page_address(page) + offset, size,
			  dir);
}
#endif

static void memdev_op_unmap(struct device *dev, dma_addr_t addr, size_t size,
			    enum dma_data_direction dir, unsigned long attrs)
{
	memdev_unmap(memdev_of(dev), addr, size, dir, attrs);
}

/*
 * Return the offset of an element's address within a page. A bounce buffer may start
 * in the middle of a page.
 */
static u32 memdev_sg_offset(struct memdev *md, struct scatterlist *sg)
{
	if (!READ_ONCE(md->traits.drop_offsets))
		return offset_in_page(sg->offset);
	return sg->length < PAGE_SIZE && !offset_in_page(sg->offset) ?
	       PAGE_SIZE / 2 : 0;
}

/* Unmap @nents elements, some of which may be merged. */
static void memdev_unmap_list(struct memdev *md, struct scatterlist *sgl,
			      int nents, enum dma_data_direction dir,
			      unsigned long attrs)
{
	struct scatterlist *sg, *dma = sgl;
	dma_addr_t addr = 0;
	u32 left = 0;
	int i;

	for_each_sg(sgl, sg, nents, i) {
		if (!left) {
			addr = sg_dma_address(dma);
			left = sg_dma_len(dma);
			dma = sg_next(dma);
		}
		memdev_unmap(md, addr, sg->length, dir, attrs);
		addr += sg->length;
		left -= sg->length;
	}
}

static int memdev_op_map_sg(struct device *dev, struct scatterlist *sgl,
			    int nents, enum dma_data_direction dir,
			    unsigned long attrs)
{
	struct memdev *md = memdev_of(dev);
	struct scatterlist *sg, *dma = NULL;
	dma_addr_t addr = 0;
	int i, merged = 0;
	u32 pages = 0;
	u64 page;

	for_each_sg(sgl, sg, nents, i)
		pages += memdev_pages(PAGE_SIZE, sg->length);
	page = memdev_reserve(md, pages);
	for_each_sg(sgl, sg, nents, i) {
		u32 offset = memdev_sg_offset(md, sg);
		bool merge = dma && READ_ONCE(md->traits.merge) && !offset &&
			     !offset_in_page(addr);

		/*
		 * Skip a page, because adjacent addresses could be treated as one
		 * range.
		 */
		if (dma && !merge)
			page++;
		addr = memdev_map_to(md, sg_virt(sg), sg->length, page, offset,
				     dir);
		if (addr == DMA_MAPPING_ERROR)
			break;
		if (merge) {
			sg_dma_len(dma) += sg->length;
		} else {
			dma = dma ? sg_next(dma) : sgl;
			sg_dma_address(dma) = addr;
			sg_dma_len(dma) = sg->length;
			merged++;
		}
		page += memdev_pages(offset, sg->length);
		addr += sg->length;
	}
	if (i == nents)
		return merged;
	memdev_unmap_list(md, sgl, i, dir, DMA_ATTR_SKIP_CPU_SYNC);
	/* The error that the kernel's direct mapping returns without bounce buffers */
	return -EIO;
}

static void memdev_op_unmap_sg(struct device *dev, struct scatterlist *sgl,
			       int nents, enum dma_data_direction dir,
			       unsigned long attrs)
{
	struct memdev *md = memdev_of(dev);

	/*
	 * Count calls in atomic context, because with an IOMMU unmapping may take long.
	 * A kernel without a count of spinlocks shows only those in interrupts and
	 * softirqs.
	 */
	if (preempt_count() || irqs_disabled())
		atomic_inc(&md->counts.atomic_unmaps);
	memdev_unmap_list(md, sgl, nents, dir, attrs);
}

static void memdev_sync(struct memdev *md, dma_addr_t addr, size_t size,
			enum dma_data_direction dir, bool cpu)
{
	struct memdev_map *map;
	unsigned long flags;
	size_t at;

	xa_lock_irqsave(&md->dma, flags);
	map = memdev_map_at(md, addr, size);
	if (map && map->dir == dir) {
		at = addr - map->addr;
		if (map->bounce && cpu && memdev_writes(dir))
			memcpy(map->memory + at, map->bounce + at, size);
		if (map->bounce && !cpu && memdev_reads(dir))
			memcpy(map->bounce + at, map->memory + at, size);
		map->cpus = cpu;
	} else {
		atomic_inc(&md->counts.bad_dma);
	}
	xa_unlock_irqrestore(&md->dma, flags);
}

static void memdev_op_sync_for_cpu(struct device *dev, dma_addr_t addr,
				   size_t size, enum dma_data_direction dir)
{
	memdev_sync(memdev_of(dev), addr, size, dir, true);
}

static void memdev_op_sync_for_device(struct device *dev, dma_addr_t addr,
				      size_t size, enum dma_data_direction dir)
{
	memdev_sync(memdev_of(dev), addr, size, dir, false);
}

static const struct dma_map_ops memdev_dma_ops = {
#ifdef HAVE_DMA_MAP_PHYS
	.map_phys		= memdev_op_map,
	.unmap_phys		= memdev_op_unmap,
#else
	.map_page		= memdev_op_map,
	.unmap_page		= memdev_op_unmap,
#endif
	.map_sg			= memdev_op_map_sg,
	.unmap_sg		= memdev_op_unmap_sg,
	.sync_single_for_cpu	= memdev_op_sync_for_cpu,
	.sync_single_for_device	= memdev_op_sync_for_device,
};

bool memdev_dma_access(struct memdev *md, u64 addr, void *buf, u32 len,
		       bool write)
{
	struct memdev_map *map;
	unsigned long flags;
	void *memory;
	bool ok;

	if (!md->maps) {
		memory = (void *)(uintptr_t)addr;
		memcpy(write ? memory : buf, write ? buf : memory, len);
		return true;
	}
	xa_lock_irqsave(&md->dma, flags);
	map = memdev_map_at(md, addr, len);
	/* The device may not write to memory that is synced for the CPU. */
	ok = map && (write ? memdev_writes(map->dir) && !map->cpus :
			     memdev_reads(map->dir));
	if (ok) {
		memory = (map->bounce ?: map->memory) + (addr - map->addr);
		memcpy(write ? memory : buf, write ? buf : memory, len);
	}
	xa_unlock_irqrestore(&md->dma, flags);
	if (!ok)
		atomic_inc(&md->counts.bad_dma);
	return ok;
}

int memdev_dma_init(struct memdev *md)
{
	struct device *dev;

	xa_init_flags(&md->dma, XA_FLAGS_LOCK_IRQ);
	if (memdev_virt_dma)
		return 0;
	md->next_page = 0x1000;
	md->pdev = platform_device_register_simple("memdev", PLATFORM_DEVID_AUTO,
						   NULL, 0);
	if (IS_ERR(md->pdev))
		return PTR_ERR(md->pdev);
	dev = &md->pdev->dev;
	dev_set_drvdata(dev, md);
	set_dma_ops(dev, &memdev_dma_ops);
	md->maps = get_dma_ops(dev) == &memdev_dma_ops;
	dma_set_max_seg_size(dev, UINT_MAX);
	return dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
}

void memdev_dma_exit(struct memdev *md)
{
	if (IS_ERR_OR_NULL(md->pdev))
		return;
	WARN_ON(!xa_empty(&md->dma));
	xa_destroy(&md->dma);
	platform_device_unregister(md->pdev);
	md->pdev = NULL;
}
