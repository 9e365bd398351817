// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the properties that other suites rely on: the device in memory executes Work
 * Requests as a device does, and detects misuse. They use two queue pairs, without the
 * connection manager.
 */

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "../module/suites.h"
#include "memdev.h"

enum {
	RAW_OCTETS	= 2 * PAGE_SIZE,
	RAW_DEPTH	= 4,
	RAW_WAIT_S	= 30,
};

/* One end: memory mapped for both directions, and an MR for it */
struct raw_end {
	struct ib_cq	*scq, *rcq;
	struct ib_qp	*qp;
	u8		*buf;
	u64		dma;
	struct ib_mr	*mr;
};

struct raw {
	struct memdev	*md;
	struct ib_device *ib;
	struct ib_pd	*pd;
	struct raw_end	end[2];
};

static struct memdev_counts *raw_counts(struct raw *r)
{
	return memdev_counts(r->md);
}

static void raw_states(struct kunit *test, struct raw *r, int i)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_INIT,
		.port_num	= 1,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE |
				   IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE,
		.path_mtu	= IB_MTU_1024,
		.dest_qp_num	= r->end[!i].qp->qp_num,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic	= 4,
		.rnr_retry	= 0,
	};
	const struct ib_gid_attr *gid = rdma_get_gid_attr(r->ib, 1, 0);
	struct ib_qp *qp = r->end[i].qp;

	KUNIT_ASSERT_FALSE(test, IS_ERR(gid));
	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, (union ib_gid *)&gid->gid, 0, 0, 1, 0);
	rdma_put_gid_attr(gid);

	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE |
			IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS));
	attr.qp_state = IB_QPS_RTR;
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE |
			IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			IB_QP_MIN_RNR_TIMER));
	attr.qp_state = IB_QPS_RTS;
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE |
			IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC));
}

/* Create a queue pair for each end, and connect the two. */
static void raw_connect(struct kunit *test, struct raw *r)
{
	struct ib_qp_init_attr init = {
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.cap = {
			.max_send_wr	= RAW_DEPTH,
			.max_recv_wr	= RAW_DEPTH,
			.max_send_sge	= 2,
			.max_recv_sge	= 1,
		},
	};
	int i;

	for (i = 0; i < 2; i++) {
		init.send_cq = r->end[i].scq;
		init.recv_cq = r->end[i].rcq;
		r->end[i].qp = ib_create_qp(r->pd, &init);
		KUNIT_ASSERT_FALSE(test, IS_ERR(r->end[i].qp));
	}
	raw_states(test, r, 0);
	raw_states(test, r, 1);
}

static int raw_init(struct kunit *test)
{
	struct raw *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct raw_end *e;
	int i;

	if (!r)
		return -ENOMEM;
	test->priv = r;
	r->md = memdev_find("mem0");
	if (!r->md)
		r->md = memdev_add("mem0");
	if (IS_ERR(r->md))
		return PTR_ERR(r->md);
	memdev_reset(r->md);
	r->ib = memdev_ib(r->md);
	r->pd = ib_alloc_pd(r->ib, 0);
	if (IS_ERR(r->pd))
		return PTR_ERR(r->pd);
	for (i = 0; i < 2; i++) {
		e = &r->end[i];
		e->scq = ib_alloc_cq(r->ib, NULL, 16, 0, IB_POLL_DIRECT);
		e->rcq = ib_alloc_cq(r->ib, NULL, 16, 0, IB_POLL_DIRECT);
		e->buf = kzalloc(RAW_OCTETS, GFP_KERNEL);
		e->mr = ib_alloc_mr(r->pd, IB_MR_TYPE_MEM_REG, 4);
		if (IS_ERR(e->scq) || IS_ERR(e->rcq) || !e->buf ||
		    IS_ERR(e->mr))
			return -ENOMEM;
		e->dma = ib_dma_map_single(r->ib, e->buf, RAW_OCTETS,
					   DMA_BIDIRECTIONAL);
		if (ib_dma_mapping_error(r->ib, e->dma))
			return -ENOMEM;
	}
	raw_connect(test, r);
	return 0;
}

static void raw_disconnect(struct raw *r)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (!IS_ERR_OR_NULL(r->end[i].qp))
			ib_destroy_qp(r->end[i].qp);
		r->end[i].qp = NULL;
	}
}

static void raw_exit(struct kunit *test)
{
	struct raw *r = test->priv;
	struct raw_end *e;
	int i;

	if (!r || IS_ERR_OR_NULL(r->pd))
		return;
	memdev_reset(r->md);
	raw_disconnect(r);
	for (i = 0; i < 2; i++) {
		e = &r->end[i];
		if (!IS_ERR_OR_NULL(e->mr))
			ib_dereg_mr(e->mr);
		if (e->dma && !ib_dma_mapping_error(r->ib, e->dma))
			ib_dma_unmap_single(r->ib, e->dma, RAW_OCTETS,
					    DMA_BIDIRECTIONAL);
		kfree(e->buf);
		if (!IS_ERR_OR_NULL(e->scq))
			ib_free_cq(e->scq);
		if (!IS_ERR_OR_NULL(e->rcq))
			ib_free_cq(e->rcq);
	}
	ib_dealloc_pd(r->pd);
	KUNIT_EXPECT_EQ(test, atomic_read(&raw_counts(r)->qps), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&raw_counts(r)->mrs), 0);
}

/* Return the status of the next completion, or -ETIMEDOUT. */
static int raw_wait(struct ib_cq *cq, struct ib_wc *wc)
{
	unsigned long end = jiffies + RAW_WAIT_S * HZ;
	struct ib_wc unused;

	wc = wc ?: &unused;
	while (ib_poll_cq(cq, 1, wc) != 1) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		schedule_timeout_uninterruptible(1);
	}
	return wc->status;
}

static int raw_post_recv(struct raw *r, int i, u64 dma, u32 len)
{
	struct ib_sge sge = {
		.addr = dma, .length = len, .lkey = r->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(r->end[i].qp, &wr, NULL);
}

/* Post a Send of the first @len bytes at @dma. */
static int raw_post_send(struct raw *r, int i, u64 dma, u32 len, u32 inv_key)
{
	struct ib_sge sge = {
		.addr = dma, .length = len, .lkey = r->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_id		= 2,
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= inv_key ? IB_WR_SEND_WITH_INV : IB_WR_SEND,
		.send_flags	= IB_SEND_SIGNALED,
		.ex.invalidate_rkey = inv_key,
	};

	return ib_post_send(r->end[i].qp, &wr, NULL);
}

static int raw_send(struct raw *r, int i, u64 dma, u32 len, u32 inv_key)
{
	return raw_post_send(r, i, dma, len, inv_key) ?:
	       raw_wait(r->end[i].scq, NULL);
}

static int raw_move(struct raw *r, enum ib_wr_opcode opcode, u64 remote,
		    u32 rkey, u32 len)
{
	struct ib_sge sge = {
		.addr = r->end[0].dma, .length = len,
		.lkey = r->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id		= 3,
			.sg_list	= &sge,
			.num_sge	= 1,
			.opcode		= opcode,
			.send_flags	= IB_SEND_SIGNALED,
		},
		.remote_addr	= remote,
		.rkey		= rkey,
	};

	return ib_post_send(r->end[0].qp, &wr.wr, NULL) ?:
	       raw_wait(r->end[0].scq, NULL);
}

/* Register the memory of end 1 from byte @at on. */
static int raw_register(struct kunit *test, struct raw *r, u32 at, u32 len,
			int access)
{
	struct raw_end *e = &r->end[1];
	struct scatterlist sg;
	struct ib_reg_wr wr = {
		.wr = {
			.wr_id		= 4,
			.opcode		= IB_WR_REG_MR,
			.send_flags	= IB_SEND_SIGNALED,
		},
		.mr	= e->mr,
		.access	= access,
	};

	sg_init_one(&sg, e->buf + at, len);
	sg_dma_address(&sg) = e->dma + at;
	sg_dma_len(&sg) = len;
	KUNIT_ASSERT_EQ(test, 1, ib_map_mr_sg(e->mr, &sg, 1, NULL, PAGE_SIZE));
	ib_update_fast_reg_key(e->mr, (u8)(e->mr->rkey + 1));
	wr.key = e->mr->rkey;
	return ib_post_send(e->qp, &wr.wr, NULL) ?: raw_wait(e->scq, NULL);
}

static int raw_invalidate(struct raw *r, u32 key)
{
	struct ib_send_wr wr = {
		.wr_id		= 5,
		.opcode		= IB_WR_LOCAL_INV,
		.send_flags	= IB_SEND_SIGNALED,
		.ex.invalidate_rkey = key,
	};

	return ib_post_send(r->end[1].qp, &wr, NULL) ?:
	       raw_wait(r->end[1].scq, NULL);
}

/* Recreate the queue pairs and the MR after a failure: both ends are in error. */
static void raw_again(struct kunit *test, struct raw *r)
{
	raw_disconnect(r);
	raw_connect(test, r);
	ib_dereg_mr(r->end[1].mr);
	r->end[1].mr = ib_alloc_mr(r->pd, IB_MR_TYPE_MEM_REG, 4);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r->end[1].mr));
}

static void memdev_messages(struct kunit *test)
{
	struct raw *r = test->priv;
	struct ib_wc wc;

	memset(r->end[0].buf, 0x11, RAW_OCTETS);
	/* Cross a page boundary */
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma + 1,
					       RAW_OCTETS - 1));
	KUNIT_EXPECT_EQ(test, 0, raw_send(r, 0, r->end[0].dma, 5000, 0));
	KUNIT_ASSERT_EQ(test, 0, raw_wait(r->end[1].rcq, &wc));
	KUNIT_EXPECT_EQ(test, wc.byte_len, 5000U);
	KUNIT_EXPECT_EQ(test, wc.wc_flags & IB_WC_WITH_INVALIDATE, 0);
	KUNIT_EXPECT_EQ(test, r->end[1].buf[0], 0);
	KUNIT_EXPECT_PTR_EQ(test, NULL,
			    memchr_inv(r->end[1].buf + 1, 0x11, 5000));
	KUNIT_EXPECT_EQ(test, r->end[1].buf[5001], 0);

	KUNIT_ASSERT_EQ(test, 0, raw_register(test, r, 0, 100,
					      IB_ACCESS_REMOTE_READ));
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 100));
	KUNIT_EXPECT_EQ(test, 0, raw_send(r, 0, r->end[0].dma, 100,
					  r->end[1].mr->rkey));
	KUNIT_ASSERT_EQ(test, 0, raw_wait(r->end[1].rcq, &wc));
	KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, r->end[1].mr->rkey);
	/* A second Remote Invalidation of the same key fails. */
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 100));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_REM_ACCESS_ERR,
			raw_send(r, 0, r->end[0].dma, 100,
				 r->end[1].mr->rkey));
	KUNIT_EXPECT_NE(test, 0, raw_wait(r->end[1].rcq, &wc));
}

/*
 * The peer has no Receive, or one that is too short. Later Work Requests are flushed.
 */
static void memdev_refuses_messages(struct kunit *test)
{
	struct raw *r = test->priv;

	KUNIT_EXPECT_EQ(test, (int)IB_WC_RNR_RETRY_EXC_ERR,
			raw_send(r, 0, r->end[0].dma, 100, 0));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&raw_counts(r)->rnr));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_WR_FLUSH_ERR,
			raw_send(r, 0, r->end[0].dma, 100, 0));
	KUNIT_EXPECT_EQ(test, 0, raw_post_recv(r, 0, r->end[0].dma, 100));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_WR_FLUSH_ERR,
			raw_wait(r->end[0].rcq, NULL));
	raw_again(test, r);
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 99));
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 100));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_REM_INV_REQ_ERR,
			raw_send(r, 0, r->end[0].dma, 100, 0));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_LOC_LEN_ERR,
			raw_wait(r->end[1].rcq, NULL));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_WR_FLUSH_ERR,
			raw_wait(r->end[1].rcq, NULL));
}

static void memdev_moves_data(struct kunit *test)
{
	struct raw *r = test->priv;
	struct ib_mr *mr = r->end[1].mr;

	KUNIT_ASSERT_EQ(test, 0, raw_register(test, r, 100, 6000,
			IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
			IB_ACCESS_LOCAL_WRITE));
	memset(r->end[0].buf, 0x22, RAW_OCTETS);
	KUNIT_EXPECT_EQ(test, 0, raw_move(r, IB_WR_RDMA_WRITE, mr->iova + 7,
					  mr->rkey, 5993));
	KUNIT_EXPECT_EQ(test, r->end[1].buf[106], 0);
	KUNIT_EXPECT_PTR_EQ(test, NULL,
			    memchr_inv(r->end[1].buf + 107, 0x22, 5993));
	KUNIT_EXPECT_EQ(test, r->end[1].buf[6100], 0);
	memset(r->end[1].buf, 0x33, RAW_OCTETS);
	KUNIT_EXPECT_EQ(test, 0, raw_move(r, IB_WR_RDMA_READ, mr->iova,
					  mr->rkey, 6000));
	KUNIT_EXPECT_PTR_EQ(test, NULL,
			    memchr_inv(r->end[0].buf, 0x33, 6000));
	KUNIT_EXPECT_EQ(test, r->end[0].buf[6000], 0x22);
	KUNIT_EXPECT_EQ(test, 0U, memdev_misuse(r->md));
}

/*
 * Accesses before or after the MR, with wrong access rights or a wrong key, and to an
 * invalidated MR
 */
static void memdev_protects_data(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode	opcode;
		int			access, before, len, key;
	} cases[] = {
		{ IB_WR_RDMA_READ, IB_ACCESS_REMOTE_READ, 0, 101, 0 },
		{ IB_WR_RDMA_READ, IB_ACCESS_REMOTE_READ, 1, 10, 0 },
		{ IB_WR_RDMA_READ, IB_ACCESS_REMOTE_READ, 0, 10, 1 },
		{ IB_WR_RDMA_READ, IB_ACCESS_REMOTE_WRITE, 0, 10, 0 },
		{ IB_WR_RDMA_WRITE, IB_ACCESS_REMOTE_READ, 0, 10, 0 },
		{ IB_WR_RDMA_WRITE, IB_ACCESS_REMOTE_WRITE, -95, 10, 0 },
	};
	struct raw *r = test->priv;
	struct ib_mr *mr;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test, 0, raw_register(test, r, 100, 100,
				cases[i].access | IB_ACCESS_LOCAL_WRITE));
		mr = r->end[1].mr;
		KUNIT_EXPECT_EQ_MSG(test, (int)IB_WC_REM_ACCESS_ERR,
				    raw_move(r, cases[i].opcode,
					     mr->iova - cases[i].before,
					     mr->rkey + cases[i].key,
					     cases[i].len), "case %d", i);
		raw_again(test, r);
	}
	KUNIT_ASSERT_EQ(test, 0, raw_register(test, r, 100, 100,
					      IB_ACCESS_REMOTE_READ));
	mr = r->end[1].mr;
	KUNIT_EXPECT_EQ(test, 0, raw_invalidate(r, mr->rkey));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_REM_ACCESS_ERR,
			raw_move(r, IB_WR_RDMA_READ, mr->iova, mr->rkey, 10));
	raw_again(test, r);
	/* Invalidating an invalid MR fails, and so does registering a valid one. */
	KUNIT_EXPECT_NE(test, 0, raw_invalidate(r, r->end[1].mr->rkey));
	raw_again(test, r);
	KUNIT_ASSERT_EQ(test, 0, raw_register(test, r, 0, 100,
					      IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_NE(test, 0, raw_register(test, r, 0, 100,
					      IB_ACCESS_REMOTE_READ));
}

/*
 * Uses of addresses that are not mapped, no longer mapped, or mapped for other accesses
 */
static void memdev_notices_addresses(struct kunit *test)
{
	struct raw *r = test->priv;
	u8 *buf;
	u64 dma;

	if (!memdev_maps(r->md))
		kunit_skip(test, "this kernel lets no driver map memory");
	buf = kunit_kzalloc(test, 100, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	dma = ib_dma_map_single(r->ib, buf, 100, DMA_TO_DEVICE);
	KUNIT_ASSERT_EQ(test, 0, ib_dma_mapping_error(r->ib, dma));
	/* One byte too many, a write to a read-only mapping, and an unmapped address */
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 200));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_LOC_PROT_ERR,
			raw_send(r, 0, dma, 101, 0));
	raw_again(test, r);
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, dma, 100));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_REM_OP_ERR,
			raw_send(r, 0, r->end[0].dma, 10, 0));
	raw_again(test, r);
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 200));
	KUNIT_EXPECT_EQ(test, 0, raw_send(r, 0, dma, 100, 0));
	ib_dma_unmap_single(r->ib, dma, 100, DMA_TO_DEVICE);
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 200));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_LOC_PROT_ERR,
			raw_send(r, 0, dma, 100, 0));
	KUNIT_EXPECT_EQ(test, 3, atomic_read(&raw_counts(r)->bad_dma));
}

static void memdev_bounces(struct kunit *test)
{
	struct raw *r = test->priv;
	struct memdev_traits t;
	u8 *buf;
	u64 dma;

	if (!memdev_maps(r->md))
		kunit_skip(test, "this kernel lets no driver map memory");
	memdev_default_traits(&t);
	t.bounce = true;
	memdev_set_traits(r->md, &t);
	buf = kunit_kzalloc(test, 100, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	dma = ib_dma_map_single(r->ib, buf, 100, DMA_FROM_DEVICE);
	KUNIT_ASSERT_EQ(test, 0, ib_dma_mapping_error(r->ib, dma));
	memset(r->end[0].buf, 0x44, 100);
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, dma, 100));
	KUNIT_EXPECT_EQ(test, 0, raw_send(r, 0, r->end[0].dma, 100, 0));
	KUNIT_EXPECT_EQ(test, buf[0], 0);
	ib_dma_sync_single_for_cpu(r->ib, dma, 50, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, buf[49], 0x44);
	KUNIT_EXPECT_EQ(test, buf[50], 0);
	/* No message may be written to memory that is synced for the CPU. */
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, dma, 100));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_REM_OP_ERR,
			raw_send(r, 0, r->end[0].dma, 100, 0));
	ib_dma_unmap_single(r->ib, dma, 100, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, buf[99], 0x44);
}

static void memdev_keeps_limits(struct kunit *test)
{
	struct raw *r = test->priv;
	struct ib_qp_init_attr init = {
		.send_cq = r->end[0].scq,
		.recv_cq = r->end[0].rcq,
		.qp_type = IB_QPT_RC,
		.cap.max_send_wr = 11,
		.cap.max_recv_wr = 1,
		.cap.max_send_sge = 3,
	};
	struct memdev_traits t;
	struct ib_mr *mr;
	struct ib_qp *qp;
	int i;

	memdev_default_traits(&t);
	t.max_sge = 2;
	t.max_qp_wr = 10;
	t.mr_depth = 4;
	t.max_mrs = 3;
	t.max_qps = 2;
	t.sq_octets = 9 * (MEMDEV_WQE_OCTETS + 2 * MEMDEV_SGE_OCTETS);
	memdev_set_traits(r->md, &t);
	KUNIT_EXPECT_PTR_EQ(test, ib_create_qp(r->pd, &init),
			    ERR_PTR(-EINVAL));
	init.cap.max_send_sge = 2;
	KUNIT_EXPECT_PTR_EQ(test, ib_create_qp(r->pd, &init),
			    ERR_PTR(-EINVAL));
	/* The two ends are queue pairs. */
	init.cap.max_send_wr = 9;
	KUNIT_EXPECT_PTR_EQ(test, ib_create_qp(r->pd, &init),
			    ERR_PTR(-ENOMEM));
	t.max_qps = 3;
	memdev_set_traits(r->md, &t);
	qp = ib_create_qp(r->pd, &init);
	KUNIT_ASSERT_FALSE(test, IS_ERR(qp));
	ib_destroy_qp(qp);
	init.cap.max_send_wr = 10;
	KUNIT_EXPECT_PTR_EQ(test, ib_create_qp(r->pd, &init),
			    ERR_PTR(-ENOMEM));
	KUNIT_EXPECT_TRUE(test, IS_ERR(ib_alloc_mr(r->pd, IB_MR_TYPE_MEM_REG,
						   5)));
	KUNIT_EXPECT_TRUE(test, IS_ERR(ib_alloc_mr(r->pd, IB_MR_TYPE_SG_GAPS,
						   4)));
	mr = ib_alloc_mr(r->pd, IB_MR_TYPE_MEM_REG, 4);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_EXPECT_TRUE(test, IS_ERR(ib_alloc_mr(r->pd, IB_MR_TYPE_MEM_REG,
						   1)));
	ib_dereg_mr(mr);

	/* A slot becomes free when its completion is polled, not before. */
	for (i = 0; i < RAW_DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma,
						       10));
		KUNIT_ASSERT_EQ(test, 0, raw_post_send(r, 0, r->end[0].dma, 10,
						       0));
	}
	for (i = 0; i < RAW_DEPTH; i++) {
		KUNIT_EXPECT_EQ(test, -ENOMEM,
				raw_post_send(r, 0, r->end[0].dma, 10, 0));
		KUNIT_EXPECT_EQ(test, 0, raw_wait(r->end[1].rcq, NULL));
	}
	KUNIT_EXPECT_EQ(test, 0, raw_wait(r->end[0].scq, NULL));
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 10));
	KUNIT_EXPECT_EQ(test, 0, raw_post_send(r, 0, r->end[0].dma, 10, 0));
}

static void memdev_holds(struct kunit *test)
{
	struct raw *r = test->priv;
	struct ib_wc wc;

	memdev_hold(r->md, true, false);
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 10));
	KUNIT_ASSERT_EQ(test, 0, raw_post_send(r, 0, r->end[0].dma, 10, 0));
	KUNIT_EXPECT_EQ(test, 0, raw_wait(r->end[1].rcq, NULL));
	KUNIT_EXPECT_EQ(test, 0, ib_poll_cq(r->end[0].scq, 1, &wc));
	memdev_hold(r->md, false, false);
	KUNIT_EXPECT_EQ(test, 0, raw_wait(r->end[0].scq, NULL));
	KUNIT_EXPECT_EQ(test, 0U, memdev_held(r->md));
}

/* Post a Read and a Send after it in one call. */
static void memdev_overtakes(struct kunit *test)
{
	struct raw *r = test->priv;
	struct ib_sge sge = {
		.addr = r->end[0].dma, .length = 100,
		.lkey = r->pd->local_dma_lkey,
	};
	struct ib_send_wr send = {
		.wr_id		= 2,
		.opcode		= IB_WR_SEND,
		.send_flags	= IB_SEND_SIGNALED,
	};
	struct ib_rdma_wr read = {
		.wr = {
			.wr_id		= 1,
			.next		= &send,
			.sg_list	= &sge,
			.num_sge	= 1,
			.opcode		= IB_WR_RDMA_READ,
			.send_flags	= IB_SEND_SIGNALED,
		},
	};
	struct memdev_traits t;
	struct ib_wc wc;

	memdev_default_traits(&t);
	t.late_reads = true;
	memdev_set_traits(r->md, &t);
	KUNIT_ASSERT_EQ(test, 0, raw_register(test, r, 0, 100,
					      IB_ACCESS_REMOTE_READ));
	read.remote_addr = r->end[1].mr->iova;
	read.rkey = r->end[1].mr->rkey;
	/* The Send fails for lack of a Receive before the Read is executed. */
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(r->end[0].qp, &read.wr, NULL));
	KUNIT_EXPECT_EQ(test, 0, raw_wait(r->end[0].scq, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 1ULL);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&raw_counts(r)->rnr));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&raw_counts(r)->reads));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_RNR_RETRY_EXC_ERR,
			raw_wait(r->end[0].scq, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 2ULL);
}

static void memdev_fails(struct kunit *test)
{
	struct raw *r = test->priv;

	memdev_fail_wr(r->md, IB_WR_SEND, 2, IB_WC_RESP_TIMEOUT_ERR);
	KUNIT_ASSERT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 10));
	KUNIT_EXPECT_EQ(test, 0, raw_send(r, 0, r->end[0].dma, 10, 0));
	KUNIT_EXPECT_FALSE(test, memdev_failed(r->md));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_RESP_TIMEOUT_ERR,
			raw_send(r, 0, r->end[0].dma, 10, 0));
	KUNIT_EXPECT_TRUE(test, memdev_failed(r->md));
	raw_again(test, r);
	memdev_fail_at(r->md, 2);
	KUNIT_EXPECT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 10));
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			raw_post_recv(r, 1, r->end[1].dma, 10));
	KUNIT_EXPECT_EQ(test, 0, raw_post_recv(r, 1, r->end[1].dma, 10));
	KUNIT_EXPECT_TRUE(test, memdev_failed(r->md));
	memdev_fail_own(r->md, 1);
	KUNIT_EXPECT_FALSE(test, memdev_failed(r->md));
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			raw_post_recv(r, 1, r->end[1].dma, 10));
	KUNIT_EXPECT_TRUE(test, memdev_failed(r->md));
}

static struct kunit_case memdev_cases[] = {
	KUNIT_CASE(memdev_messages),
	KUNIT_CASE(memdev_refuses_messages),
	KUNIT_CASE(memdev_moves_data),
	KUNIT_CASE(memdev_protects_data),
	KUNIT_CASE(memdev_notices_addresses),
	KUNIT_CASE(memdev_bounces),
	KUNIT_CASE(memdev_keeps_limits),
	KUNIT_CASE(memdev_holds),
	KUNIT_CASE(memdev_overtakes),
	KUNIT_CASE(memdev_fails),
	{}
};

static struct kunit_suite memdev_suite = {
	.name		= "rpcrdma_memdev",
	.init		= raw_init,
	.exit		= raw_exit,
	.test_cases	= memdev_cases,
};

kunit_test_suite(memdev_suite);

MODULE_DESCRIPTION("KUnit tests of the RDMA device in memory");
MODULE_LICENSE("GPL");
