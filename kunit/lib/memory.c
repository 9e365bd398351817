// SPDX-License-Identifier: GPL-2.0
/* Memory of RPCs, and its expected contents */
#include <linux/mm.h>
#include <linux/slab.h>

#include "pair.h"

int loop_buf_alloc(struct loop_buf *buf, u32 base, u32 len)
{
	return loop_buf_alloc_chopped(buf, base, len, PAGE_SIZE);
}

int loop_buf_alloc_chopped(struct loop_buf *buf, u32 base, u32 len, u32 chop)
{
	void *p = NULL;
	u32 i;

	memset(buf, 0, sizeof(*buf));
	buf->nr = DIV_ROUND_UP((chop == PAGE_SIZE ? base : 0) + len, chop);
	buf->base = base;
	buf->len = len;
	buf->chop = chop;
	buf->pages = kvcalloc(buf->nr, sizeof(*buf->pages), GFP_KERNEL);
	buf->ext = kvcalloc(buf->nr, sizeof(*buf->ext), GFP_KERNEL);
	if (!buf->pages || !buf->ext)
		goto out_free;
	/* Make some of the pages adjacent in memory. */
	for (i = 0; i < buf->nr; i++, p += PAGE_SIZE) {
		if (i % 3 == 0)
			p = alloc_pages_exact(min(3U, buf->nr - i) * PAGE_SIZE,
					      GFP_KERNEL | __GFP_ZERO);
		if (!p)
			goto out_free;
		buf->pages[i] = virt_to_page(p);
	}
	if (chop == PAGE_SIZE) {
		buf->nr_ext = !!len;
		if (len)
			buf->ext[0] = rpcrdma_extent_of_pages(buf->pages, base,
							      len);
		return 0;
	}
	buf->nr_ext = buf->nr;
	for (i = 0; i < buf->nr; i++)
		buf->ext[i] = rpcrdma_extent_of_pages(&buf->pages[i], base,
						      min(len - i * chop, chop));
	return 0;

out_free:
	loop_buf_free(buf);
	return -ENOMEM;
}

void loop_buf_free(struct loop_buf *buf)
{
	u32 i;

	for (i = 0; buf->pages && i < buf->nr; i++)
		if (buf->pages[i])
			__free_page(buf->pages[i]);
	kvfree(buf->pages);
	kvfree(buf->ext);
	memset(buf, 0, sizeof(*buf));
}

u8 loop_octet(u32 seed, u32 i)
{
	return seed + i * 7 + (i >> 8) * 13;
}

u8 *loop_buf_at(const struct loop_buf *buf, u32 i)
{
	if (buf->chop != PAGE_SIZE)
		return page_address(buf->pages[i / buf->chop]) + buf->base +
		       i % buf->chop;
	return page_address(buf->pages[(buf->base + i) >> PAGE_SHIFT]) +
	       offset_in_page(buf->base + i);
}

void loop_buf_fill(struct loop_buf *buf, u32 seed)
{
	u32 i;

	for (i = 0; i < buf->len; i++)
		*loop_buf_at(buf, i) = loop_octet(seed, i);
}

u32 loop_buf_check(const struct loop_buf *buf, u32 seed)
{
	u32 i;

	for (i = 0; i < buf->len; i++)
		if (*loop_buf_at(buf, i) != loop_octet(seed, i))
			break;
	return i;
}
