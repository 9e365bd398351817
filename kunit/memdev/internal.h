/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the files of the device in memory only.
 */
#ifndef MEMDEV_INTERNAL_H
#define MEMDEV_INTERNAL_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "memdev.h"

enum {
	/* lkey of all mapped memory. Keys of MRs have their index in the upper bits. */
	MEMDEV_LOCAL_KEY	= 1,
	MEMDEV_FIRST_MR		= 1,
	MEMDEV_KEY_SHIFT	= 8,
	/* Retry interval and timeout for a peer that does not respond */
	MEMDEV_TRY_MS		= 10,
	MEMDEV_SILENCE_MS	= 1000,
	/* Bytes of the header that precedes a datagram */
	MEMDEV_GRH		= 40,
	/* Retry the Work Request later; not a completion status */
	MEMDEV_AGAIN		= -1,
};

struct memdev {
	struct ib_device	ib;
	struct platform_device	*pdev;
	struct net_device	*ndev;
	struct list_head	list;		/* all devices; memdev_mutex */
	struct memdev_traits	traits;
	struct memdev_counts	counts;

	/* DMA. The xarray's lock also protects the mappings. */
	bool			maps;
	struct xarray		dma;		/* mappings by page of the address */
	u64			next_page;

	/* MRs. The lock is held while an MR is read or written. */
	spinlock_t		mr_lock;
	struct xarray		mrs;		/* by key >> MEMDEV_KEY_SHIFT */

	/* Queues */
	struct memdev_qp	*gsi;
	spinlock_t		cqs_lock;
	struct list_head	cqs;
	bool			hold_sends, hold_recvs;

	/* Failures */
	atomic_t		fail_at;
	const struct task_struct *fail_of;	/* NULL: any thread */
	atomic_t		refuse_err;
	atomic_t		fail_wr;
	enum ib_wr_opcode	fail_opcode;
	enum ib_wc_status	fail_status;
	bool			failed;
};

struct memdev_range {
	u64	addr;
	u32	len;
};

struct memdev_mr {
	struct ib_mr		ib;
	struct memdev_range	*ranges;	/* for the next registration */
	u32			index, max, nr;
	bool			gaps;
	/* The current registration; protected by mr_lock */
	bool			valid;
	struct memdev_range	*registered;
	u32			nr_registered;
	/* The range that was copied last, and the length of all ranges before it */
	u32			last;
	u64			before_last;
	u32			key;
	u64			iova, length;
	int			access;
};

struct memdev_ah {
	struct ib_ah		ib;
	union ib_gid		sgid, dgid;
};

struct memdev_pd {
	struct ib_pd		ib;
};

struct memdev_cqe {
	struct ib_wc		wc;
	struct memdev_qp	*qp;		/* NULL: destroyed or reset */
	u32			slot;		/* tail of the queue once this is polled */
	bool			recv;
};

struct memdev_cq {
	struct ib_cq		ib;
	struct list_head	list;
	spinlock_t		lock;
	struct memdev_cqe	*ring;
	u32			size;
	u32			head, tail;	/* modulo 2^32 */
	u32			shown;		/* entries before this can be polled */
	bool			armed;
	bool			flushed;	/* the status that was polled last */
	atomic_t		arming;		/* contexts that are arming it */
};

struct memdev_wqe {
	u64			wr_id;
	enum ib_wr_opcode	opcode;
	bool			signaled;
	u32			nr_sges;
	struct ib_sge		*sges;
	u32			length;		/* bytes in @sges */
	__be32			imm;
	u32			inv_key;
	u64			remote_addr;
	u32			rkey;
	/* Registrations: values at the time of posting */
	struct memdev_mr		*mr;
	u32			key;
	int			access;
	u64			iova, reg_length;
	/* Datagrams */
	union ib_gid		sgid, dgid;
	/* For a message that has overtaken a Read, and its status */
	bool			fence, carried_out;
	enum ib_wc_status	status;
};

struct memdev_rqe {
	u64			wr_id;
	u32			nr_sges;
	struct ib_sge		*sges;
	u32			length;
};

struct memdev_qp {
	struct ib_qp		ib;
	struct memdev		*md;
	refcount_t		refs;
	struct completion	gone;
	struct ib_qp_init_attr	init;
	struct ib_qp_attr	attr;

	spinlock_t		lock;		/* protects the fields below */
	enum ib_qp_state	state;
	struct memdev_wqe	*sq;
	struct memdev_rqe	*rq;
	struct ib_sge		*sges;		/* of both queues */
	u32			sq_size, sq_head, sq_next, sq_tail;
	u32			rq_size, rq_head, rq_next, rq_tail;
	bool			receiving;	/* the entry at rq_next is being filled */

	/* Used by the work item only */
	struct delayed_work	work;
	u32			tries;		/* of the entry at sq_next */
	unsigned long		since;
	u8			*stage;		/* buffer of a page */
};

static inline struct memdev *to_memdev(struct ib_device *ib)
{
	return container_of(ib, struct memdev, ib);
}

static inline struct memdev_qp *to_memdev_qp(struct ib_qp *ib)
{
	return container_of(ib, struct memdev_qp, ib);
}

static inline struct memdev_cq *to_memdev_cq(struct ib_cq *ib)
{
	return container_of(ib, struct memdev_cq, ib);
}

static inline struct memdev_mr *to_memdev_mr(struct ib_mr *ib)
{
	return container_of(ib, struct memdev_mr, ib);
}

extern struct workqueue_struct *memdev_wq;

/* Return true if the current operation is the one to fail. */
bool memdev_fault(struct memdev *md);

/* dma.c */
extern bool memdev_virt_dma;
int memdev_dma_init(struct memdev *md);
void memdev_dma_exit(struct memdev *md);
/*
 * Access @len bytes at DMA address @addr, within one page, as the device. Return
 * false if they are not mapped for this access. Context: any.
 */
bool memdev_dma_access(struct memdev *md, u64 addr, void *buf, u32 len,
		       bool write);

/* mr.c */
struct ib_mr *memdev_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max);
int memdev_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);
int memdev_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents,
		     unsigned int *offset);
enum ib_wc_status memdev_register(struct memdev_qp *qp,
				  const struct memdev_wqe *wqe);
enum ib_wc_status memdev_invalidate(struct memdev_qp *qp, u32 key);
/*
 * Check or copy @len bytes. memdev_remote_copy() copies between @buf and an MR of the
 * peer, memdev_local_copy() between @buf and @sges from @offset on; both copy at most
 * a page. Return false if the access is not allowed or the memory is not mapped.
 */
bool memdev_remote_ok(struct memdev_qp *qp, u32 key, u64 addr, u32 len,
		      int access);
bool memdev_remote_copy(struct memdev_qp *qp, u32 key, u64 addr, void *buf,
			u32 len, bool write);
bool memdev_local_copy(struct memdev_qp *qp, const struct ib_sge *sges, u32 nr,
		       u32 offset, void *buf, u32 len, bool write);

/* queue.c */
void memdev_qp_work(struct work_struct *work);
int memdev_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr);
int memdev_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int memdev_poll_cq(struct ib_cq *ibcq, int nr, struct ib_wc *wc);
int memdev_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
void memdev_cq_forget(struct ib_cq *ibcq, struct memdev_qp *qp);
int memdev_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad);
int memdev_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad);

/* device.c */
struct memdev_qp *memdev_qp_get(u32 qpn);
void memdev_qp_put(struct memdev_qp *qp);
/* Return a reference to the GSI of the device with address @gid, or NULL. */
struct memdev_qp *memdev_gsi_get(const union ib_gid *gid);

#endif /* MEMDEV_INTERNAL_H */
