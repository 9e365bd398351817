// SPDX-License-Identifier: GPL-2.0
/* Tests of the translation of xdr_bufs to extents, segments and header bytes */

#include <linux/highmem.h>
#include <linux/sunrpc/xdr.h>
#include <linux/vmalloc.h>

#include "../lib/loopback.h"
#include "../../net/sunrpc/xprtrdma/verbs/internal.h"
#include "../../net/sunrpc/xprtrdma/sunrpc/xdrbuf.h"

enum {
	XDR_PAGES = 5,
	XDR_ROOM = 2 * PAGE_SIZE,	/* bytes of the head and of the tail */
	XDR_FLAT = XDR_PAGES * PAGE_SIZE + 2 * XDR_ROOM,
	XDR_LARGE = 12,		/* geometry in which all sections have a page or more */
};

struct xdr_fixture {
	u8		*head, *tail;	/* two pages each */
	struct page	*pages[XDR_PAGES];
	u8		*flat;		/* contents of the xdr_buf */
	u8		*out;
	struct rpcrdma_extent ext[RPCRDMA_XDR_EXTENTS];
	struct scatterlist sg[XDR_PAGES + 8];
	struct xdr_buf	buf;
};

struct xdr_geometry {
	u32	head_off, head, base, page, tail_off, tail;
};

/* Empty sections, odd lengths, sections that cross pages, all page alignments */
static const struct xdr_geometry geometries[] = {
	{ 0, 0, 0, 0, 0, 0 },
	{ 0, 40, 0, 0, 0, 0 },
	{ 0, 0, 0, 0, 0, 40 },
	{ 16, 132, 0, 0, 64, 4 },
	{ 0, 100, 0, PAGE_SIZE, 0, 0 },
	{ 0, 100, 0, 1, 0, 3 },
	{ 8, 100, 1, PAGE_SIZE - 1, 0, 0 },
	{ 8, 100, 1, PAGE_SIZE, 1, 2 },
	{ 3, 101, PAGE_SIZE - 1, 2, 5, 7 },
	{ 0, 0, PAGE_SIZE - 1, 1, 0, 0 },
	{ 0, 0, PAGE_SIZE - 1, PAGE_SIZE + 2, 0, 0 },
	{ PAGE_SIZE - 96, 200, PAGE_SIZE / 2, PAGE_SIZE / 2, PAGE_SIZE - 6, 12 },
	[XDR_LARGE] = { PAGE_SIZE - 96, PAGE_SIZE + 96, PAGE_SIZE / 2,
			2 * PAGE_SIZE + 1809, 1, PAGE_SIZE },
	{ 0, 2 * PAGE_SIZE, 0, 5 * PAGE_SIZE, 0, 2 * PAGE_SIZE },
	/* page_base of a page or more */
	{ 96, 128, PAGE_SIZE, PAGE_SIZE, 0, 0 },
	{ 96, 128, 2 * PAGE_SIZE + 1, 2 * PAGE_SIZE - 1, 4, 1 },
};

static int xdr_init(struct kunit *test)
{
	struct xdr_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	void *p;
	int i;

	if (!f)
		return -ENOMEM;
	test->priv = f;
	f->head = (u8 *)__get_free_pages(GFP_KERNEL, 1);
	f->tail = (u8 *)__get_free_pages(GFP_KERNEL, 1);
	f->flat = kunit_kmalloc(test, XDR_FLAT, GFP_KERNEL);
	f->out = kunit_kmalloc(test, XDR_FLAT + 8, GFP_KERNEL);
	if (!f->head || !f->tail || !f->flat || !f->out)
		return -ENOMEM;
	/* Some pages are adjacent, and two are in reverse order. */
	p = alloc_pages_exact(XDR_PAGES * PAGE_SIZE, GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	for (i = 0; i < XDR_PAGES; i++)
		f->pages[i] = virt_to_page(p + i * PAGE_SIZE);
	swap(f->pages[0], f->pages[1]);
	return 0;
}

static void xdr_exit(struct kunit *test)
{
	struct xdr_fixture *f = test->priv;
	int i;

	if (!f)
		return;
	free_pages((unsigned long)f->head, 1);
	free_pages((unsigned long)f->tail, 1);
	for (i = 0; i < XDR_PAGES; i++)
		if (f->pages[i])
			__free_page(f->pages[i]);
}

/* Fill the xdr_buf as @g says, with differing adjacent bytes. Return its length. */
static u32 xdr_set(struct xdr_fixture *f, const struct xdr_geometry *g)
{
	struct xdr_buf *buf = &f->buf;
	u32 i, n = 0, at;

	memset(buf, 0, sizeof(*buf));
	buf->head[0].iov_base = f->head + g->head_off;
	buf->head[0].iov_len = g->head;
	buf->tail[0].iov_base = g->tail ? f->tail + g->tail_off : NULL;
	buf->tail[0].iov_len = g->tail;
	buf->pages = f->pages;
	buf->page_base = g->base;
	buf->page_len = g->page;
	buf->len = g->head + g->page + g->tail;
	buf->buflen = buf->len;

	for (i = 0; i < g->head; i++)
		f->head[g->head_off + i] = f->flat[n++] = 1 + i * 3;
	for (i = 0; i < g->page; i++) {
		at = g->base + i;
		f->flat[n] = 100 + i * 5 + (i >> 8);
		((u8 *)page_address(f->pages[at >> PAGE_SHIFT]))
			[offset_in_page(at)] = f->flat[n++];
	}
	for (i = 0; i < g->tail; i++)
		f->tail[g->tail_off + i] = f->flat[n++] = 200 + i * 7;
	return n;
}

/*
 * Check that the extents cover @len bytes from byte @offset on. Consume the first
 * @first bytes, then the rest, as elements of at most @most bytes.
 */
static void xdr_check_extents(struct kunit *test, struct xdr_fixture *f,
			      int nr, u32 offset, u32 len, u32 first,
			      u32 most)
{
	struct rpcrdma_extent_pos pos = { .ext = f->ext, .nr = nr };
	u32 i, n, more, taken, nents = 0, done = 0;

	for (i = 0; i < (u32)nr; i++) {
		KUNIT_EXPECT_GT(test, f->ext[i].length, 0U);
		KUNIT_EXPECT_LT(test, f->ext[i].offset, (u32)PAGE_SIZE);
	}
	KUNIT_EXPECT_EQ(test, 0U, rpcrdma_extent_pages(&pos, len + 1, PAGE_SHIFT));
	sg_init_table(f->sg, ARRAY_SIZE(f->sg));
	for (i = 0; i < 2; i++) {
		n = i ? len - first : first;
		if (!n)
			continue;
		more = rpcrdma_extent_pages(&pos, n, PAGE_SHIFT);
		KUNIT_ASSERT_LE(test, nents + more, (u32)ARRAY_SIZE(f->sg));
		taken = rpcrdma_extent_to_sg(&pos, n, most, f->sg + nents);
		KUNIT_ASSERT_GT(test, taken, 0U);
		/* With elements of a page, the count is exact. */
		if (most == PAGE_SIZE)
			KUNIT_EXPECT_EQ(test, taken, more);
		else
			KUNIT_EXPECT_LE(test, taken, more);
		/* Only the last element of each is marked. */
		for (more = 0; more < taken; more++)
			KUNIT_EXPECT_EQ(test, !!sg_is_last(&f->sg[nents + more]),
					more + 1 == taken);
		nents += taken;
	}
	KUNIT_EXPECT_EQ(test, pos.nr, 0U);
	for (i = 0; i < nents; done += f->sg[i++].length) {
		KUNIT_EXPECT_GT(test, f->sg[i].length, 0U);
		KUNIT_ASSERT_LE(test, f->sg[i].offset + f->sg[i].length,
				most);
		KUNIT_EXPECT_LT(test, f->sg[i].offset, (u32)PAGE_SIZE);
		KUNIT_ASSERT_LE(test, done + f->sg[i].length, len);
		KUNIT_EXPECT_EQ(test, 0,
				memcmp(sg_virt(&f->sg[i]), f->flat + offset +
				       done, f->sg[i].length));
	}
	KUNIT_EXPECT_EQ(test, done, len);
}

/*
 * Return the @i-th test offset. These are at, before and after each section boundary.
 */
static u32 xdr_border(const struct xdr_geometry *g, u32 i)
{
	u32 total = g->head + g->page + g->tail;
	const u32 at[] = {
		0, 1, 4, g->head - 1, g->head, g->head + 1, g->head + 4,
		g->head + g->page / 2, g->head + g->page - 1,
		g->head + g->page, g->head + g->page + 1, total - 1, total,
	};

	return i < ARRAY_SIZE(at) ? min(at[i], total) : U32_MAX;
}

static void xdr_extents(struct kunit *test)
{
	struct xdr_fixture *f = test->priv;
	u32 g, i, j, from, to;
	int nr;

	for (g = 0; g < ARRAY_SIZE(geometries); g++) {
		xdr_set(f, &geometries[g]);
		for (i = 0; (from = xdr_border(&geometries[g], i)) != U32_MAX;
		     i++) {
			for (j = 0; (to = xdr_border(&geometries[g], j)) !=
				    U32_MAX; j++) {
				if (to < from)
					continue;
				nr = rpcrdma_xdr_extents(&f->buf, from,
							 to - from, f->ext,
							 ARRAY_SIZE(f->ext));
				KUNIT_ASSERT_GE_MSG(test, nr, 0,
						    "geometry %u, %u to %u",
						    g, from, to);
				xdr_check_extents(test, f, nr, from, to - from,
						  (to - from) / 3, PAGE_SIZE);
				xdr_check_extents(test, f, nr, from, to - from,
						  (to - from) / 3, SZ_64K);
				xdr_check_extents(test, f, nr, from, to - from,
						  0, 2 * PAGE_SIZE);
				if (!nr)
					continue;
				/*
				 * Use arrays with space for all extents, and for one
				 * fewer.
				 */
				KUNIT_EXPECT_EQ(test, nr,
					rpcrdma_xdr_extents(&f->buf, from,
							    to - from, f->ext,
							    nr));
				KUNIT_EXPECT_EQ(test, -E2BIG,
					rpcrdma_xdr_extents(&f->buf, from,
							    to - from, f->ext,
							    nr - 1));
			}
		}
	}
}

static void xdr_extents_refused(struct kunit *test)
{
	struct xdr_fixture *f = test->priv;
	const struct xdr_geometry *g = &geometries[XDR_LARGE];
	struct rpcrdma_extent_pos pos = { .ext = f->ext };
	struct page *page;
	void *p;
	u32 n;

	n = xdr_set(f, g);
	KUNIT_EXPECT_EQ(test, -EFAULT,
			rpcrdma_xdr_extents(&f->buf, 0, n + 1, f->ext, 3));
	KUNIT_EXPECT_EQ(test, -EFAULT,
			rpcrdma_xdr_extents(&f->buf, n, 1, f->ext, 3));
	KUNIT_EXPECT_EQ(test, -EFAULT,
			rpcrdma_xdr_extents(&f->buf, U32_MAX, 2, f->ext, 3));

	/* A missing page is detected when it is used. */
	pos.nr = rpcrdma_xdr_extents(&f->buf, 0, n, f->ext, 3);
	page = f->pages[1];
	f->pages[1] = NULL;
	sg_init_table(f->sg, ARRAY_SIZE(f->sg));
	KUNIT_EXPECT_GT(test, rpcrdma_extent_to_sg(&pos, g->head + PAGE_SIZE - g->base,
						   SZ_64K, f->sg), 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_extent_to_sg(&pos, 1, SZ_64K, f->sg), 0U);
	pos.ext = f->ext;
	pos.nr = 3;
	pos.done = 0;
	KUNIT_EXPECT_EQ(test, rpcrdma_extent_to_sg(&pos, n, SZ_64K, f->sg), 0U);
	f->pages[1] = page;

	p = vmalloc(100);
	KUNIT_ASSERT_NOT_NULL(test, p);
	f->buf.head[0].iov_base = p;
	f->buf.head[0].iov_len = 100;
	KUNIT_EXPECT_EQ(test, -EFAULT,
			rpcrdma_xdr_extents(&f->buf, 0, 100, f->ext, 3));
	vfree(p);
}

static void xdr_copying(struct kunit *test)
{
	struct xdr_fixture *f = test->priv;
	u32 g, i, j, n, from, to;

	for (g = 0; g < ARRAY_SIZE(geometries); g++) {
		n = xdr_set(f, &geometries[g]);
		for (i = 0; (from = xdr_border(&geometries[g], i)) != U32_MAX;
		     i++) {
			for (j = 0; (to = xdr_border(&geometries[g], j)) !=
				    U32_MAX; j++) {
				if (to < from)
					continue;
				memset(f->out, 0xee, to - from + 1);
				rpcrdma_xdr_copy_out(&f->buf, from, to - from,
						     f->out);
				KUNIT_EXPECT_EQ(test, 0,
						memcmp(f->out, f->flat + from,
						       to - from));
				KUNIT_EXPECT_EQ(test, f->out[to - from], 0xee);

				/* Copy in again, over the old contents. */
				memset(f->out, 0x55, to - from);
				KUNIT_EXPECT_EQ(test, to - from,
					rpcrdma_xdr_copy_in(&f->buf, from,
							    f->out, to - from));
				memset(f->flat + from, 0x55, to - from);
				rpcrdma_xdr_copy_out(&f->buf, 0, n, f->out);
				KUNIT_EXPECT_EQ(test, 0,
						memcmp(f->out, f->flat, n));
				xdr_set(f, &geometries[g]);
			}
		}
		/* Bytes beyond the buffer are not copied. */
		if (n)
			KUNIT_EXPECT_EQ(test, 1U,
					rpcrdma_xdr_copy_in(&f->buf, n - 1,
							    f->out, 100));
	}
}

static void xdr_reduced(struct kunit *test)
{
	struct xdr_fixture *f = test->priv;
	const struct xdr_geometry *g;
	struct rpcrdma_call_plan plan = { };
	u32 i, n, skip_len, after, expected;

	for (i = 0; i < ARRAY_SIZE(geometries); i++) {
		g = &geometries[i];
		n = xdr_set(f, g);
		/* Omit nothing first, then the page data with its roundup. */
		plan.inline_length = n;
		rpcrdma_xdr_copy_call(&f->buf, &plan, f->out);
		KUNIT_EXPECT_EQ(test, 0, memcmp(f->out, f->flat, n));

		skip_len = g->page;
		if (!skip_len)
			continue;
		after = min(g->head + ALIGN(skip_len, 4), n);
		expected = g->head + n - after;
		memset(f->out, 0xee, expected + 1);
		plan.inline_length = expected;
		rpcrdma_xdr_copy_call(&f->buf, &plan, f->out);
		KUNIT_EXPECT_EQ(test, 0, memcmp(f->out, f->flat, g->head));
		KUNIT_EXPECT_EQ(test, 0, memcmp(f->out + g->head,
						f->flat + after, n - after));
		KUNIT_EXPECT_EQ(test, f->out[expected], 0xee);
	}
}

/* ---- Header bytes ---- */

struct xdr_words {
	const __be32	*p;
	u32		nr, at;
};

#define XDR_WORD(test, w, value)					\
do {									\
	KUNIT_ASSERT_LT(test, (w)->at, (w)->nr);			\
	KUNIT_EXPECT_EQ_MSG(test, be32_to_cpu((w)->p[(w)->at]),		\
			    (u32)(value), "word %u", (w)->at);		\
	(w)->at++;							\
} while (0)

static void xdr_expect_segment(struct kunit *test, struct xdr_words *w,
			       const struct rpcrdma_segment *seg)
{
	XDR_WORD(test, w, seg->handle);
	XDR_WORD(test, w, seg->length);
	XDR_WORD(test, w, upper_32_bits(seg->offset));
	XDR_WORD(test, w, lower_32_bits(seg->offset));
}

/* Add a segment for each page of a range of the buffer. */
static void xdr_add_segments(struct kunit *test, struct rpcrdma_lists *lists,
			     u32 offset, u32 len)
{
	struct xdr_fixture *f = test->priv;
	u32 i, at, n, done;
	int nr;

	nr = rpcrdma_xdr_extents(&f->buf, offset, len, f->ext,
				 ARRAY_SIZE(f->ext));
	KUNIT_ASSERT_GE(test, nr, 0);
	for (i = 0; i < (u32)nr; i++) {
		for (done = 0; done < f->ext[i].length; done += n) {
			at = offset_in_page(f->ext[i].offset + done);
			n = min_t(u32, f->ext[i].length - done, PAGE_SIZE - at);
			KUNIT_ASSERT_EQ(test, 0,
				rpcrdma_lists_add_segment(lists,
							  0xabc00000 + lists->nr_segs,
							  n, 0x123456789ULL *
							     (lists->nr_segs + 1)));
		}
	}
}

/*
 * Check every header word (6.2) of a Call with a Position Zero chunk for head and tail,
 * a Read chunk for the page data, a Write chunk and a Reply chunk.
 */
static void xdr_header_words(struct kunit *test)
{
	struct xdr_fixture *f = test->priv;
	const struct xdr_geometry *g = &geometries[XDR_LARGE];
	struct rpcrdma_conn_config cfg = {
		.client		= 1,
		.version_low	= RPCRDMA_VERS_2,
		.version_high	= RPCRDMA_VERS_2,
		.window		= 8,
		.props		= { .sbsiz = 4096, .rbsiz = 4096,
				    .rssiz = 1 << 20, .rcsiz = 64 },
	};
	struct rpcrdma_lists *lists;
	struct rpcrdma_conn *conn;
	struct xdr_words w;
	u32 i, j, len;

	lists = kunit_kzalloc(test, sizeof(*lists), GFP_KERNEL);
	conn = kunit_kzalloc(test, sizeof(*conn), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	rpcrdma_conn_init(conn, &cfg);

	xdr_set(f, g);
	rpcrdma_lists_init(lists);
	rpcrdma_lists_add_read(lists, 0);
	xdr_add_segments(test, lists, 0, g->head);
	xdr_add_segments(test, lists, g->head + g->page + 3, g->tail - 3);
	rpcrdma_lists_add_read(lists, g->head);
	xdr_add_segments(test, lists, g->head, g->page);
	rpcrdma_lists_add_write(lists);
	xdr_add_segments(test, lists, g->head, 5000);
	rpcrdma_lists_add_reply(lists);
	xdr_add_segments(test, lists, 0, 300);
	lists->inv_handle = 0xabc00001;

	KUNIT_EXPECT_EQ(test, lists->reads[0].length, g->head + g->tail - 3);
	KUNIT_EXPECT_EQ(test, lists->reads[1].length, g->page);
	KUNIT_EXPECT_EQ(test, lists->reads[1].position, g->head);
	KUNIT_EXPECT_EQ(test, lists->writes[0].length, 5000U);
	KUNIT_EXPECT_EQ(test, lists->reply.length, 300U);

	len = rpcrdma_header_octets(conn, lists);
	KUNIT_EXPECT_EQ(test, 0U, rpcrdma_encode_header(conn, f->out, len - 1,
							0x11223344, RDMA2_NOMSG,
							0, lists));
	memset(f->out, 0xee, len + 4);
	KUNIT_ASSERT_EQ(test, len,
			rpcrdma_encode_header(conn, f->out, len, 0x11223344,
					      RDMA2_NOMSG, 0, lists));
	KUNIT_EXPECT_EQ(test, f->out[len], 0xee);

	w = (struct xdr_words){ .p = (__be32 *)f->out, .nr = len / 4 };
	XDR_WORD(test, &w, 0x11223344);
	XDR_WORD(test, &w, 2);
	/* Skip the credit, which is set when the Call is posted. */
	w.at++;
	XDR_WORD(test, &w, RDMA2_NOMSG);
	XDR_WORD(test, &w, 0);
	/* Skip the count of received messages, set when the Call is posted. */
	w.at++;
	XDR_WORD(test, &w, 0xabc00001);
	for (i = 0; i < 2; i++) {
		for (j = 0; j < lists->reads[i].count; j++) {
			XDR_WORD(test, &w, 1);
			XDR_WORD(test, &w, lists->reads[i].position);
			xdr_expect_segment(test, &w,
				&lists->segs[lists->reads[i].first + j]);
		}
	}
	XDR_WORD(test, &w, 0);
	XDR_WORD(test, &w, 1);
	XDR_WORD(test, &w, lists->writes[0].count);
	for (j = 0; j < lists->writes[0].count; j++)
		xdr_expect_segment(test, &w,
				   &lists->segs[lists->writes[0].first + j]);
	XDR_WORD(test, &w, 0);
	XDR_WORD(test, &w, 1);
	XDR_WORD(test, &w, lists->reply.count);
	for (j = 0; j < lists->reply.count; j++)
		xdr_expect_segment(test, &w,
				   &lists->segs[lists->reply.first + j]);
	KUNIT_EXPECT_EQ(test, w.at, w.nr);
}

static struct kunit_case xdr_cases[] = {
	KUNIT_CASE(xdr_extents),
	KUNIT_CASE(xdr_extents_refused),
	KUNIT_CASE(xdr_copying),
	KUNIT_CASE(xdr_reduced),
	KUNIT_CASE(xdr_header_words),
	{}
};

static struct kunit_suite xdr_suite = {
	.name		= "rpcrdma_xdrbuf",
	.init		= xdr_init,
	.exit		= xdr_exit,
	.test_cases	= xdr_cases,
};

kunit_test_suite(xdr_suite);
