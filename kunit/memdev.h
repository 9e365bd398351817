/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An RDMA device in memory, for tests: reliable connections between queue pairs
 * of this machine, without packets. It shows what a software device such as rxe
 * does not: addresses that have to be mapped when they are used, bounce buffers,
 * exact limits, and completions and failures when a test wants them.
 *
 * It sits on a network device, whose addresses it is reached by, and is found by
 * the connection manager as a RoCE device is.
 */
#ifndef MEMDEV_H
#define MEMDEV_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct memdev;

/* What the device is like. What a connection was made with, it keeps. */
struct memdev_traits {
	/* Maps made from now on are copied to and from a buffer of the device */
	bool	bounce;
	/*
	 * Lists mapped from now on lose the offset within a page of an element that
	 * is less than a page, or does not begin with one, as in bounce buffers.
	 */
	bool	drop_offsets;
	/* Neighbours in a list are one, as with an IOMMU. Needs memdev_merges(). */
	bool	merge;
	bool	sg_gaps;	/* regions of any pieces, not of whole pages */
	bool	no_regions;	/* no MEM_MGT_EXTENSIONS */
	u32	max_sge;	/* of a Work Request, 1 to MEMDEV_MAX_SGE */
	u32	max_sgl_rd;	/* Reads of more pieces want a region; 0: none */
	/* Reads go into regions and nowhere else, as over iWARP */
	bool	reads_into_regions;
	u32	max_qp_wr;
	u32	region_depth;	/* pages or pieces of a region */
	u32	max_regions;	/* regions there may be at a time; 0: any number */
	bool	regions_gone;	/* no more can be allocated */
	/* Octets of a Send Queue at most; what an entry takes, nobody is told */
	u32	sq_octets;
	u32	setup_ms;	/* that the making of a queue pair takes */
	/* A Read's data come after the messages that were posted behind it. */
	bool	late_reads;
	/* The message that confirms a connection to its server gets lost. */
	bool	lose_rtu;
};

enum {
	MEMDEV_MAX_SGE = 32,
	MEMDEV_MAX_DEPTH = 4096,
	/* Octets of a Send Queue's entry: without and for each piece */
	MEMDEV_WQE_OCTETS = 128,
	MEMDEV_SGE_OCTETS = 16,
};

/* What the driver did wrong, and what went on. Reset by the test. */
struct memdev_counts {
	atomic_t	bad_dma;	/* addresses used that are not mapped so */
	atomic_t	bad_unmap;	/* unmapped what was not mapped so */
	atomic_t	bad_key;	/* keys used, invalidated, ... that are not valid */
	atomic_t	bad_post;	/* Work Requests beyond what was asked for */
	atomic_t	bad_cq;		/* completions that found no room */
	atomic_t	untold;		/* failures of Work Requests without wr_cqe */
	atomic_t	atomic_unmaps;	/* lists unmapped where nobody may sleep */
	atomic_t	maps;		/* that there are now */
	atomic_t	regions, qps;	/* the same */
	atomic_t	setups, most_setups;	/* queue pairs being made; at most */
	atomic_t	registered;	/* regions registered so far */
	atomic_t	rnr;		/* messages that found no Receive */
	atomic_t	sends, reads, writes;	/* carried out */
};

/* The device on the network device called @netdev; NULL: there is none. */
struct memdev *memdev_find(const char *netdev);
/* Make the one that is missing there. An ERR_PTR if that cannot be. */
struct memdev *memdev_add(const char *netdev);

struct ib_device *memdev_ib(struct memdev *md);
struct memdev_counts *memdev_counts(struct memdev *md);
/* Does what it is given hold real addresses, that have to be mapped? */
bool memdev_maps(const struct memdev *md);
/* Return true if this kernel lets a driver map several elements of a list as one. */
bool memdev_merges(const struct memdev *md);

/* The traits of a device that does everything well */
void memdev_default_traits(struct memdev_traits *traits);
/* From now on it is like that. Connections keep what they were made with. */
void memdev_set_traits(struct memdev *md, const struct memdev_traits *traits);

/* Back to the default traits; nothing is held or fails, all counts are 0. */
void memdev_reset(struct memdev *md);
/* Breaches of any rule since then */
unsigned int memdev_misuse(struct memdev *md);

/*
 * Completions of Sends, of Receives are held back, or come: all that were held
 * at once.
 */
void memdev_hold(struct memdev *md, bool sends, bool receives);
/* How many are held */
unsigned int memdev_held(struct memdev *md);

/*
 * The @n-th Work Request with @opcode from now on ends with @status, not
 * carried out. 0: none.
 */
void memdev_fail_wr(struct memdev *md, enum ib_wr_opcode opcode, unsigned int n,
		    enum ib_wc_status status);
/*
 * The @n-th thing that can fail from now on fails: what is made, mapped or
 * posted. 0: none. Of what the connection manager does only what it maps counts.
 */
void memdev_fail_at(struct memdev *md, unsigned int n);
/* The same, of what the calling thread does; nobody else's counts. */
void memdev_fail_own(struct memdev *md, unsigned int n);
/* The next @n changes of a queue pair to the error state are refused. */
void memdev_refuse_err(struct memdev *md, unsigned int n);
/* Has it, or the Work Request? */
bool memdev_failed(struct memdev *md);

#endif /* MEMDEV_H */
