// SPDX-License-Identifier: GPL-2.0
/*
 * What connections may make this end hold, one by one and all together.
 *
 * A promise is counted in full from the day a connection is let in, so that it
 * can be kept whatever the others do. What nobody was promised is shared by a
 * rule that needs no knowledge of who there is: a connection may have as much
 * beyond its promise as it leaves free. One that wants all gets half, two get a
 * third each, and there is always something left for who comes next.
 */
#include "internal.hh"

namespace rpcrdma
{

namespace
{

/* Octets held for one use beyond what was promised for it */
u64 beyond(const struct rpcrdma_memory_account *account,
	   enum rpcrdma_memory_use use)
{
	const u64 held = account->held[use], share = account->share[use];

	return held > share ? held - share : 0;
}

u64 beyond(const struct rpcrdma_memory_account *account)
{
	u64 octets = 0;

	for (u32 i = 0; i < RPCRDMA_MEMORY_USES; i++)
		octets += beyond(account, static_cast<rpcrdma_memory_use>(i));
	return octets;
}

u64 promised(const struct rpcrdma_memory_account *account)
{
	u64 octets = account->fixed;

	for (u32 i = 0; i < RPCRDMA_MEMORY_USES; i++)
		octets += account->share[i];
	return octets;
}

/* For rpcrdma_memory_has_replies(): not every machine reads 64 bits at once. */
void tell_replies(struct rpcrdma_memory_account *account)
{
	__atomic_store_n(&account->replies,
			 account->held[RPCRDMA_MEMORY_REPLIES] ? 1 : 0,
			 __ATOMIC_RELAXED);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

/*
 * A Call that is larger than what is promised for it is refused: what came in parts,
 * and what is then read. So one waits for others of its peer's, never for itself.
 */
void rpcrdma_memory_promise(struct rpcrdma_memory_account *account, u64 fixed,
			    u64 buffers, u64 message, u64 parts, u64 spare)
{
	account->fixed = fixed;
	account->share[RPCRDMA_MEMORY_BUFFERS] = buffers;
	account->share[RPCRDMA_MEMORY_PARTS] = parts;
	account->share[RPCRDMA_MEMORY_CALLS] = message + parts + spare;
	account->share[RPCRDMA_MEMORY_REPLIES] = message + spare;
}

int rpcrdma_memory_join(struct rpcrdma_memory *all,
			struct rpcrdma_memory_account *account)
{
	const u64 octets = promised(account);

	if (all->used > all->limit || octets > all->limit - all->used)
		return -1;
	all->used += octets;
	account->member = 1;
	return 0;
}

void rpcrdma_memory_leave(struct rpcrdma_memory *all,
			  struct rpcrdma_memory_account *account)
{
	if (!account->member)
		return;
	all->used -= promised(account) + beyond(account);
	account->member = 0;
}

bool rpcrdma_memory_room(const struct rpcrdma_memory *all,
			 const struct rpcrdma_memory_account *account,
			 enum rpcrdma_memory_use use, u64 octets)
{
	struct rpcrdma_memory_account then = *account;
	u64 used;

	if (!account->member)
		return true;
	then.held[use] += octets;
	if (then.held[use] <= then.share[use])
		return true;
	used = all->used - beyond(account) + beyond(&then);
	return used <= all->limit && beyond(&then) <= all->limit - used;
}

u32 rpcrdma_memory_fits(const struct rpcrdma_memory *all,
			const struct rpcrdma_memory_account *account,
			enum rpcrdma_memory_use use, u64 octets, u32 count)
{
	while (count && !rpcrdma_memory_room(all, account, use, count * octets))
		count /= 2;
	return count;
}

bool rpcrdma_memory_ask(const struct rpcrdma_memory *all,
			struct rpcrdma_memory_account *account,
			enum rpcrdma_memory_use use, u64 octets)
{
	if (rpcrdma_memory_room(all, account, use, octets))
		return true;
	account->wanted = 1;
	return false;
}

bool rpcrdma_memory_may_begin(const struct rpcrdma_memory *all,
			      struct rpcrdma_memory_account *account,
			      u64 octets)
{
	return !rpcrdma_memory_has_replies(account) ||
	       rpcrdma_memory_ask(all, account, RPCRDMA_MEMORY_REPLIES, octets);
}

u32 rpcrdma_memory_replies(const struct rpcrdma_memory_account *account,
			   u32 octets)
{
	const u64 share = account->share[RPCRDMA_MEMORY_REPLIES];

	if (!share)
		return ~u32{};
	/* A promise has far less than 2^32 octets; there is no division of more. */
	return max_u32(static_cast<u32>(share) / octets, 1);
}

void rpcrdma_memory_hold(struct rpcrdma_memory *all,
			 struct rpcrdma_memory_account *account,
			 enum rpcrdma_memory_use use, u64 octets)
{
	const u64 before = beyond(account, use);

	account->held[use] += octets;
	tell_replies(account);
	if (account->member)
		all->used += beyond(account, use) - before;
}

bool rpcrdma_memory_give(struct rpcrdma_memory *all,
			 struct rpcrdma_memory_account *account,
			 enum rpcrdma_memory_use use, u64 octets)
{
	const u64 before = beyond(account, use);
	const bool tell = account->wanted;

	account->held[use] -= octets;
	tell_replies(account);
	if (account->member)
		all->used -= before - beyond(account, use);
	account->wanted = 0;
	return tell;
}
