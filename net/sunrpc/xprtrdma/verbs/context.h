/* SPDX-License-Identifier: GPL-2.0 */
/* What a context does around calls of the core: locks, and flags for allocations. */
#ifndef RPCRDMA_CONTEXT_H
#define RPCRDMA_CONTEXT_H

#include <linux/sched.h>
#include <linux/spinlock.h>

/* Make @call, of the core, with @lock held, and return its result. */
#define rpcrdma_locked(lock, call) ({				\
	spinlock_t *__lock = (lock);				\
	typeof(call) __result;					\
								\
	spin_lock(__lock);					\
	__result = (call);					\
	spin_unlock(__lock);					\
	__result;						\
})

/*
 * Begin a part of a work item, or of an operation, for which memory reclaim may wait. Its
 * allocations do not start I/O of file systems, and may use the memory reserves if
 * @reserves. Return the argument for rpcrdma_memalloc_end().
 */
static inline unsigned int rpcrdma_memalloc_begin(bool reserves)
{
	unsigned int flags = current->flags;

	current->flags |= PF_MEMALLOC_NOFS;
	if (unlikely(reserves))
		current->flags |= PF_MEMALLOC;
	return flags;
}

static inline void rpcrdma_memalloc_end(unsigned int flags)
{
	current_restore_flags(flags, PF_MEMALLOC_NOFS | PF_MEMALLOC);
}

#endif /* RPCRDMA_CONTEXT_H */
