/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Work Requests and what they work on, as the core knows them. A host embeds these in
 * structures of its own.
 */
#ifndef RPCRDMA_WORK_H
#define RPCRDMA_WORK_H

#include "chunk.h"
#include "conn.h"
#include "mr.h"
#include "mr_pool.h"
#include "read_mr_pool.h"
#include "send_queue.h"

#if defined(__KERNEL__) && !defined(__cplusplus)
#include <linux/llist.h>
#include <linux/types.h>
#else
/* The kernel's list heads; core/list.hh has functions in C++. */
struct list_head {
	struct list_head *next, *prev;
};

struct llist_node {
	struct llist_node *next;
};
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The Work Requests of a chain: the host's, opaque to the core */
struct rpcrdma_chain;
struct rpcrdma_ep_core;

enum rpcrdma_work_kind {
	RPCRDMA_WORK_CALL = RPCRDMA_KIND_CALL,
	RPCRDMA_WORK_REPLY = RPCRDMA_KIND_REPLY,
	RPCRDMA_WORK_CONTROL = RPCRDMA_KIND_CONTROL,
	RPCRDMA_WORK_RDMA,		/* invalidations: no message */
	RPCRDMA_WORK_TRANSFER,		/* Reads or Writes: no message */
	RPCRDMA_WORK_STREAM,		/* a continued message that is queued */
};

/* A chain of Work Requests that is posted with one doorbell */
struct rpcrdma_work {
	struct list_head	list;		/* list of waiting, or of ended, work */
	struct rpcrdma_work	*next;		/* next posted, or next free Send */
	struct rpcrdma_chain	*chain;
	struct rpcrdma_wrs	wrs;		/* number of WRs, for the account */
	u8			kind;		/* enum rpcrdma_work_kind */
	bool post_failed;			/* not posted completely */
	/*
	 * Called once for posted work, when the device no longer uses it. For a Send it
	 * is not called: its context is released instead. @ok is false if the work may
	 * not have been executed.
	 * Context: process context, the lock not held.
	 */
	void			(*done)(struct rpcrdma_work *work, bool ok);
};

/*
 * A part of a transfer: memory of the peer that is contiguous, and this end's. All its
 * Work Requests are posted at once.
 */
struct rpcrdma_transfer_part {
	struct list_head	list;
	u32			wrs;		/* Work Requests; 0: not prepared */
	u32			elements;	/* of local memory, a page each at most */
};

/*
 * RDMA Reads or Writes of one RPC. The Work Requests that are prepared and in no batch
 * yet are @left. Writes that do not fit into one chain with their Reply are posted in
 * batches before it, and the Reply waits for their completion.
 */
struct rpcrdma_transfer {
	struct rpcrdma_work	work;		/* the batch being posted */
	struct rpcrdma_ep_core	*core;
	struct list_head	parts;
	struct list_head	*posted;	/* the last part posted; &parts: none */
	struct list_head	*batch;		/* the last part of the batch */
	u32			left;
	u32			octets;		/* bytes of all parts */
	struct rpcrdma_read_claim claim;	/* to MRs; under the lock */
	struct rpcrdma_mr_limits limits; /* with which the last part was split */
	struct rpcrdma_work	*reply;		/* to be sent after these Writes */
	struct rpcrdma_recv	*call;		/* the Call that these Reads pull */
};

/* The transfers of a connection; see endpoint_transfer.h */
struct rpcrdma_ep_rw {
	u32			read_part, write_part; /* most bytes of a part */
	bool			reads_into_mrs;	/* the device needs MRs for Reads */
	struct rpcrdma_mr_limits limits; /* for parts that are read into MRs */
	struct rpcrdma_read_pool pool;		/* of these MRs */
	struct list_head	waiting;	/* transfers that wait for MRs */
};

/* An MR that a peer is to access */
struct rpcrdma_mr {
	struct list_head	list;		/* a request's; not of free MRs */
	struct rpcrdma_mr	*next;		/* the next free one */
	struct rpcrdma_mr	*all;		/* the next one in mrs->all */
	u32			handle;
	u32			length;		/* bytes */
	u64			offset;
	bool			exposed;	/* posted and not invalidated */
	bool			used;		/* posted since it was taken */
};

/* The MRs of a connection; see endpoint_mrs.h */
struct rpcrdma_mrs {
	struct rpcrdma_mr_pool pool;
	struct rpcrdma_mr_limits limits;	/* the maximum of bytes is not used */
	struct rpcrdma_mr	*free;		/* the last used first */
	struct rpcrdma_mr	*all;
	u32			notify_seq;	/* times that waiters were notified; atomic */
};

/* Invalidation of the MRs of a request; see endpoint_mrs.h */
struct rpcrdma_inv {
	struct rpcrdma_work	work;		/* work.chain is the host's */
	struct rpcrdma_ep_core	*core;
	struct list_head	*mrs;
	/* With @ok no peer can access them any more. Process context. */
	void			(*done)(struct rpcrdma_inv *inv, bool ok);
};

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_WORK_H */
