/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An RDMA device in memory, for tests. It provides reliable connections between queue
 * pairs of this machine, without packets. Unlike a software device such as rxe, it
 * checks that addresses are DMA mapped while they are used, can use bounce buffers, and
 * enforces exact limits. On a test's request it completes or fails work.
 *
 * The device is bound to a network device, is reached by that device's addresses, and
 * is found by the connection manager like a RoCE device.
 */
#ifndef MEMDEV_H
#define MEMDEV_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct memdev;

/* Properties of the device. A connection keeps those it was created with. */
struct memdev_traits {
	/* Use bounce buffers for memory mapped from now on */
	bool	bounce;
	/*
	 * Change the offset within the page of scatterlist elements that are mapped
	 * from now on and are shorter than a page or do not begin at a page boundary,
	 * as bounce buffers do.
	 */
	bool	drop_offsets;
	/*
	 * Merge adjacent scatterlist elements, as an IOMMU does.
	 * Requires memdev_merges().
	 */
	bool	merge;
	bool	sg_gaps;	/* MRs of arbitrary ranges, not only of whole pages */
	bool	no_mrs;		/* no MEM_MGT_EXTENSIONS */
	u32	max_sge;	/* per Work Request, 1 to MEMDEV_MAX_SGE */
	u32	max_sgl_rd;	/* Reads with more SGEs need an MR; 0: no limit */
	/* Require an MR as the destination of a Read, as iWARP does */
	bool	reads_into_mrs;
	u32	max_qp_wr;
	u32	mr_depth;	/* maximum pages or ranges of an MR */
	u32	max_mrs;	/* maximum number of MRs at a time; 0: no limit */
	u32	max_qps;	/* maximum number of queue pairs, as max_mrs */
	bool	mrs_gone;	/* MR allocation fails */
	bool	maps_gone;	/* DMA mapping fails */
	/* Maximum bytes of a Send Queue; the size of an entry is not reported */
	u32	sq_octets;
	u32	setup_ms;	/* duration of creating a queue pair */
	/* Duration of arming a CQ if the completion that was polled last is flushed */
	u32	arm_ms;
	/* Deliver Sends before the data of Reads that were posted before them */
	bool	late_reads;
	/* Drop the "ready to use" message that a client's CM sends to the server */
	bool	lose_rtu;
};

enum {
	MEMDEV_MAX_SGE = 32,
	MEMDEV_MAX_DEPTH = 4096,
	/* Bytes of a Send Queue entry: without SGEs, and for each SGE */
	MEMDEV_WQE_OCTETS = 128,
	MEMDEV_SGE_OCTETS = 16,
};

/* Misuse by the driver, and activity. Reset by the test. */
struct memdev_counts {
	atomic_t	bad_dma;	/* accesses not covered by a DMA mapping */
	atomic_t	bad_unmap;	/* unmaps that match no mapping */
	atomic_t	bad_key;	/* uses or invalidations of invalid keys */
	atomic_t	bad_post;	/* Work Requests beyond the requested limits */
	atomic_t	bad_cq;		/* completions lost because the CQ was full */
	atomic_t	bad_free;	/* CQs destroyed while they were armed */
	atomic_t	unreported;	/* failures without a wr_cqe to report them */
	atomic_t	atomic_unmaps;	/* scatterlists unmapped in atomic context */
	atomic_t	maps;		/* current DMA mappings */
	atomic_t	mrs, qps;	/* current MRs and queue pairs */
	atomic_t	setups, most_setups;	/* concurrent QP creations: now, max */
	atomic_t	registered;	/* MR registrations so far */
	atomic_t	rnr;		/* Sends failed for lack of a Receive */
	atomic_t	sends, reads, writes;	/* executed */
};

/* Return the device on the network device called @netdev, or NULL. */
struct memdev *memdev_find(const char *netdev);
/* Create a device on @netdev, which has none. Return it or an ERR_PTR. */
struct memdev *memdev_add(const char *netdev);

struct ib_device *memdev_ib(struct memdev *md);
struct memdev_counts *memdev_counts(struct memdev *md);
/* Return true if the device uses separate DMA addresses, not kernel pointers. */
bool memdev_maps(const struct memdev *md);
/* Return true if this kernel lets a driver merge scatterlist elements. */
bool memdev_merges(const struct memdev *md);

/* Set @traits to those of a device without restrictions. */
void memdev_default_traits(struct memdev_traits *traits);
/* Change the device's traits. Connections keep those they were created with. */
void memdev_set_traits(struct memdev *md, const struct memdev_traits *traits);

/* Restore the default traits, stop withholding and failing, and clear all counts. */
void memdev_reset(struct memdev *md);
/* Return the number of rule violations since memdev_reset(). */
unsigned int memdev_misuse(struct memdev *md);

/*
 * Withhold the completions of Sends, of Receives, or of both. With neither, deliver
 * all withheld completions at once.
 */
void memdev_hold(struct memdev *md, bool sends, bool receives);
/* Return the number of withheld completions. */
unsigned int memdev_held(struct memdev *md);

/*
 * Complete the @n-th Work Request with @opcode from now on with @status instead of
 * executing it. 0: none.
 */
void memdev_fail_wr(struct memdev *md, enum ib_wr_opcode opcode, unsigned int n,
		    enum ib_wc_status status);
/*
 * Fail the @n-th operation from now on that can fail: allocation, mapping or posting.
 * 0: none. Of the connection manager's operations, only mappings count.
 */
void memdev_fail_at(struct memdev *md, unsigned int n);
/* Like memdev_fail_at(), but count only operations of the calling thread. */
void memdev_fail_own(struct memdev *md, unsigned int n);
/* Fail the next @n attempts to move a queue pair to the error state. */
void memdev_refuse_err(struct memdev *md, unsigned int n);
/* Return true if the requested failure has happened. */
bool memdev_failed(struct memdev *md);

#endif /* MEMDEV_H */
