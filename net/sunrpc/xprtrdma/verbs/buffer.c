// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers for messages: of a Receive, of a Send, and of control messages.
 *
 * Operation
 *
 * A buffer is contiguous, near the device, and mapped once. One of up to a page comes from
 * kmalloc(). A larger one has as many whole pages as it needs: kmalloc() would take a power
 * of two, which for a message of 20 KiB is 32 KiB. The pages are allocated as the next power
 * of two, and those in excess are freed at once.
 *
 * Memory
 *
 * rpcrdma_buffer_octets() is what a buffer occupies. The core charges that.
 *
 * Errors
 *
 * The caller gets NULL, and decides what follows. Three contiguous pages or more may not be
 * available for long, so the core asks for large buffers with a @gfp that fails if it can
 * use smaller ones.
 *
 * Locking
 *
 * None. The owner of a buffer frees it, after it was unmapped.
 */

#include <linux/gfp.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

/* Allocate the pages of a buffer. Like kmalloc(), report them to kmemleak. */
static void *rpcrdma_buffer_pages(u32 size, gfp_t gfp, int node)
{
	unsigned int order = get_order(size), used = PAGE_ALIGN(size) >> PAGE_SHIFT;
	struct page *page = alloc_pages_node(node, gfp, order);
	unsigned int i;

	if (!page)
		return NULL;
	split_page(page, order);
	for (i = used; i < 1U << order; i++)
		__free_page(page + i);
	kmemleak_alloc(page_address(page), size, 1, gfp);
	return page_address(page);
}

static void *rpcrdma_buffer_alloc(u32 size, gfp_t gfp, int node)
{
	return size > PAGE_SIZE ? rpcrdma_buffer_pages(size, gfp, node) :
				  kmalloc_node(size, gfp, node);
}

void *rpcrdma_buffer_create(struct rpcrdma_ep *ep, u32 size,
			    enum dma_data_direction dir, gfp_t gfp, u64 *addr)
{
	void *buf = rpcrdma_buffer_alloc(size, gfp, ep->device_node);

	if (!buf)
		return NULL;
	*addr = ib_dma_map_single(ep->device, buf, size, dir);
	if (likely(!ib_dma_mapping_error(ep->device, *addr)))
		return buf;
	rpcrdma_buffer_free(buf, size);
	return NULL;
}

void rpcrdma_buffer_free(void *buf, u32 size)
{
	if (size <= PAGE_SIZE) {
		kfree(buf);
	} else if (buf) {
		kmemleak_free(buf);
		free_pages_exact(buf, size);
	}
}
