/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The MRs of a request: getting one, and returning all. These entries into the core are
 * inline, so that the functions of the port that they call can be, too.
 */
#ifndef RPCRDMA_CORE_MR_LIST_H
#define RPCRDMA_CORE_MR_LIST_H

#include "port.h"
#include "port_mrs.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_core_mr_get() - get a free MR
 * @core: connection
 * @mrs: list of struct rpcrdma_mr, to which it is appended
 *
 * For rpcrdma_port_item_map(), whose memory is planned to fit into one MR. If mapping
 * fails, rpcrdma_core_item_not_mapped() follows.
 * Context: no lock held, the teardown is held off.
 * Return: the MR; NULL if none is free: write space will be notified.
 */
static inline struct rpcrdma_mr *rpcrdma_core_mr_get(struct rpcrdma_ep_core *core,
						     struct list_head *mrs)
{
	struct rpcrdma_mr *mr;
	u32 todo;

	rpcrdma_port_lock_mrs(core);
	mr = core->mrs.free;
	todo = rpcrdma_mr_pool_get(&core->mrs.pool);
	if (__builtin_expect(!(todo & RPCRDMA_POOL_TAKEN), 0))
		mr = NULL;
	else
		core->mrs.free = mr->next;
	rpcrdma_port_unlock_mrs(core);
	if (__builtin_expect(!!(todo & ~(u32)RPCRDMA_POOL_TAKEN), 0))
		rpcrdma_core_mrs_act(core, todo);
	if (__builtin_expect(!mr, 0))
		return NULL;
	mr->list.next = mrs;
	mr->list.prev = mrs->prev;
	mrs->prev->next = &mr->list;
	mrs->prev = &mr->list;
	return mr;
}

/**
 * rpcrdma_core_mrs_return() - rpcrdma_core_mrs_put() of a list that is not empty
 * @core: connection
 * @mrs: list of struct rpcrdma_mr
 * @open: the teardown is held off
 *
 * Context: as for rpcrdma_core_mrs_put().
 */
static inline void rpcrdma_core_mrs_return(struct rpcrdma_ep_core *core,
					   struct list_head *mrs, bool open)
{
	struct rpcrdma_mr *mr = (struct rpcrdma_mr *)mrs->next;
	u32 todo;

	/* Unmapping may take long with an IOMMU: not under a spinlock. */
	rpcrdma_port_mrs_unmap(core, mrs, open);
	rpcrdma_port_lock_mrs(core);
	if (__builtin_expect(mr->list.next == mrs, 1)) {
		const bool used = mr->used;

		mr->used = false;
		mr->next = core->mrs.free;
		core->mrs.free = mr;
		todo = rpcrdma_mr_pool_put(&core->mrs.pool, 1, used);
	} else {
		todo = rpcrdma_core_mrs_free(core, mrs);
	}
	rpcrdma_port_unlock_mrs(core);
	mrs->next = mrs;
	mrs->prev = mrs;
	if (__builtin_expect(todo && open, 0))
		rpcrdma_core_mrs_act(core, todo);
}

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_MR_LIST_H */
