/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Doubly linked intrusive lists with the kernel's layout: C walks the same lists with
 * <linux/list.h>.
 */
#ifndef RPCRDMA_CORE_LIST_HH
#define RPCRDMA_CORE_LIST_HH

#include <rpcrdma/work.h>

namespace rpcrdma
{

/* All functions are inlined: see internal.hh. */
#define RPCRDMA_INLINE_LIST [[gnu::always_inline]] static inline

RPCRDMA_INLINE_LIST void list_init(list_head *list)
{
	list->next = list;
	list->prev = list;
}

RPCRDMA_INLINE_LIST bool list_is_empty(const list_head *list)
{
	return list->next == list;
}

RPCRDMA_INLINE_LIST void list_insert(list_head *entry, list_head *before,
				     list_head *behind)
{
	behind->prev = entry;
	entry->next = behind;
	entry->prev = before;
	before->next = entry;
}

RPCRDMA_INLINE_LIST void list_push_front(list_head *entry, list_head *list)
{
	list_insert(entry, list, list->next);
}

RPCRDMA_INLINE_LIST void list_push_back(list_head *entry, list_head *list)
{
	list_insert(entry, list->prev, list);
}

/* Remove @entry from its list, if it is in one. */
RPCRDMA_INLINE_LIST void list_remove(list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	list_init(entry);
}

/*
 * Return the object of type @T that embeds @entry as its first member, as all objects
 * in lists of the core do.
 */
template <typename T>
RPCRDMA_INLINE_LIST T *list_object(list_head *entry)
{
	static_assert(__builtin_offsetof(T, list) == 0);
	return reinterpret_cast<T *>(entry);
}

/* Return the first object of @list, which is not empty. */
template <typename T>
RPCRDMA_INLINE_LIST T *list_first(const list_head *list)
{
	return list_object<T>(list->next);
}

#undef RPCRDMA_INLINE_LIST

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_LIST_HH */
