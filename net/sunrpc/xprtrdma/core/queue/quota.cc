// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Quotas of the memory that connections make this end hold, for each connection and for
 * all together.
 *
 * Operation
 *
 * A reservation is small, because thousands of connections have one and most of these
 * are idle: the connection's own structures, and the buffers of its first window. It
 * is charged in full when the connection is attached, so that it is guaranteed
 * whatever others use. The rest is shared by a rule that needs no knowledge of the
 * other connections: each may use no more than remains free. Windows may grow
 * only while no more than a quarter of the limit is used. The reserve at the end of
 * the limit guarantees progress when the shared rest is too little for a message: a
 * connection may use the reserve for one message of each kind. Accounts that find it
 * exhausted are queued. Those that need memory to send a Reply are first, because
 * sending Replies releases memory.
 *
 * While accounts wait, all accounts are visited at intervals. A visit uncharges quota
 * that is not used, and closes a connection whose peer has accepted nothing for some
 * intervals. When memory becomes tight, the accounts are visited once. While it is
 * tight, each release uncharges quota, too.
 *
 * Memory
 *
 * Nothing is allocated: accounts belong to their owners, and are queued by links of
 * their own. An account leaves the queue before it is freed.
 *
 * Errors
 *
 * Memory that already exists, such as a Reply, is always charged. All other uses are
 * checked first. A Call is not pulled, or not started, until the account is notified that it
 * may ask again. For a continued message and for Receives nothing waits: the core
 * drops the message, or has fewer Receives.
 *
 * Locking
 *
 * An account is changed under the lock of its owner, the sum under one lock of the
 * host, for a few additions. That lock protects the queue, too, and the account's
 * place in it. Two flags and a part of the limit are read without a lock, as hints whether
 * the sum has to be checked.
 */
#include "../internal.hh"
#include "../quota_own.h"

namespace rpcrdma
{

namespace
{

u64 charge(const struct rpcrdma_quota_account *account)
{
	return rpcrdma_quota_charged(account, RPCRDMA_QUOTA_BUFFERS, 0);
}

u64 promised(const struct rpcrdma_quota_account *account)
{
	return account->fixed + account->share[RPCRDMA_QUOTA_BUFFERS];
}

/* Return the memory that is not part of the reserve. */
u64 common(const struct rpcrdma_quota *all)
{
	return all->limit > all->reserve ? all->limit - all->reserve : 0;
}

/*
 * Return the use above which memory is tight. Windows grow no further then,
 * since their memory is released late: the rest is for messages, and for the
 * reservations of future connections.
 */
u64 ample(const struct rpcrdma_quota *all)
{
	return all->limit >> 2;
}

/* Update the flags after a change of the sum or the queue. */
void note(struct rpcrdma_quota *all)
{
	rpcrdma_quota_set(&all->tight, all->used > ample(all) || all->waiting);
	rpcrdma_quota_set(&all->full, all->used > all->limit);
}

void set_quota(struct rpcrdma_quota *all, struct rpcrdma_quota_account *account,
	       u64 quota)
{
	all->used += quota - account->quota;
	account->quota = quota;
	note(all);
}

/*
 * Return true if the reserve may be used: for one message of the account, or
 * its first. A Call that was reassembled and is then read is one message.
 */
bool is_for_one(const struct rpcrdma_quota_account *account,
		enum rpcrdma_quota_use use, u64 bytes)
{
	if (use == RPCRDMA_QUOTA_BUFFERS)
		return false;
	return !account->held[use] ||
	       account->held[use] + bytes <= account->share[use];
}

/*
 * Queue an account that was refused. Accounts that need memory for a Reply precede
 * those that need it for a Call. They only require that no more than the limit is
 * used, and their Replies release the memory that they hold. If they were queued
 * after Calls that wait for this memory, neither would be woken. Accounts with the
 * same need are queued in the order in which they were refused. Accounts that were
 * woken and refused again, because others were faster, precede those that were not
 * woken, in the order of their second refusal.
 */
void enqueue(struct rpcrdma_quota *all, struct rpcrdma_quota_account *account,
	     enum rpcrdma_quota_use use)
{
	const bool replies = use == RPCRDMA_QUOTA_REPLIES;
	const u8 reason = rpcrdma_quota_reason(use);
	struct rpcrdma_quota_account *before = replies ? all->last_reply :
							 all->last;

	account->queued = reason;
	if (account->retrying == reason) {
		before = all->last_retried[reason];
		if (!before && !replies)
			before = all->last_reply;
		all->last_retried[reason] = account;
	}
	account->prev = before;
	account->next = before ? before->next : all->first;
	(account->next ? account->next->prev : all->last) = account;
	(account->prev ? account->prev->next : all->first) = account;
	if (replies && all->last_reply == before)
		all->last_reply = account;
	all->waiting++;
	note(all);
}

void dequeue(struct rpcrdma_quota *all, struct rpcrdma_quota_account *account)
{
	struct rpcrdma_quota_account *const prev = account->prev;
	const u8 reason = account->queued;

	(account->next ? account->next->prev : all->last) = account->prev;
	(account->prev ? account->prev->next : all->first) = account->next;
	if (all->last_reply == account)
		all->last_reply = account->prev;
	/* Only those that retried precede one that retried. */
	if (all->last_retried[reason] == account)
		all->last_retried[reason] =
			prev && prev->queued == reason ? prev : nullptr;
	account->queued = 0;
	all->waiting--;
	note(all);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_quota_set_limit(struct rpcrdma_quota *all, u64 limit, u64 message)
{
	all->limit = limit;
	/* Both a Call and its Reply must fit. */
	all->reserve = min_u64(limit >> 1, max_u64(limit >> 5, 2 * message));
	/*
	 * While memory is not tight, no more than ample() is used. An account may then
	 * have half of the rest, since it may have as much as it leaves free.
	 */
	__atomic_store_n(&all->plenty,
			 static_cast<u32>(min_u64(
				 (common(all) - ample(all)) >> 11, ~0u)),
			 __ATOMIC_RELAXED);
	note(all);
}

void rpcrdma_quota_reserve(struct rpcrdma_quota_account *account, u64 fixed,
			   u64 buffers, u64 message, u64 parts, u64 spare)
{
	account->fixed = fixed;
	account->share[RPCRDMA_QUOTA_BUFFERS] = buffers;
	account->share[RPCRDMA_QUOTA_PARTS] = parts;
	account->share[RPCRDMA_QUOTA_CALLS] = message + parts + spare;
	account->share[RPCRDMA_QUOTA_REPLIES] = message + spare;
}

int rpcrdma_quota_attach(struct rpcrdma_quota *all,
			 struct rpcrdma_quota_account *account)
{
	const u64 bytes = promised(account), most = common(all);

	if (all->used > most || bytes > most - all->used)
		return -1;
	all->used += bytes;
	account->member = 1;
	note(all);
	return 0;
}

void rpcrdma_quota_detach(struct rpcrdma_quota *all,
			  struct rpcrdma_quota_account *account)
{
	if (!account->member)
		return;
	if (account->queued)
		dequeue(all, account);
	set_quota(all, account, 0);
	all->used -= promised(account);
	account->member = 0;
	note(all);
}

bool rpcrdma_quota_allows(const struct rpcrdma_quota *all,
			  const struct rpcrdma_quota_account *account,
			  enum rpcrdma_quota_use use, u64 bytes)
{
	const u64 most = use == RPCRDMA_QUOTA_BUFFERS ? ample(all) :
							common(all);
	const u64 charged = rpcrdma_quota_charged(account, use, bytes);
	u64 used;

	if (rpcrdma_quota_allows_own(account, use, bytes))
		return true;
	used = all->used - account->quota + charged;
	if (used <= most && charged <= most - used)
		return true;
	return is_for_one(account, use, bytes) && used <= all->limit &&
	       /* PARTS cannot wait, and need not. */
	       (!all->waiting || account->retrying ||
		use == RPCRDMA_QUOTA_PARTS);
}

u32 rpcrdma_quota_fits(const struct rpcrdma_quota *all,
		       const struct rpcrdma_quota_account *account,
		       enum rpcrdma_quota_use use, u64 bytes, u32 count)
{
	while (count && !rpcrdma_quota_allows(all, account, use, count * bytes))
		count /= 2;
	return count;
}

bool rpcrdma_quota_ask(struct rpcrdma_quota *all,
		       struct rpcrdma_quota_account *account,
		       enum rpcrdma_quota_use use, u64 bytes)
{
	if (rpcrdma_quota_allows(all, account, use, bytes)) {
		account->retrying = 0;
		return true;
	}
	account->wanted = 1;
	/* Otherwise only its own releases help: the account is not queued. */
	if (!is_for_one(account, use, bytes))
		return false;
	if (account->queued == RPCRDMA_QUOTA_FOR_CALL &&
	    use == RPCRDMA_QUOTA_REPLIES)
		dequeue(all, account);
	if (!account->queued)
		enqueue(all, account, use);
	return false;
}

void rpcrdma_quota_charge(struct rpcrdma_quota *all,
			  struct rpcrdma_quota_account *account,
			  enum rpcrdma_quota_use use, u64 bytes)
{
	u64 charged;

	rpcrdma_quota_add(account, use, bytes);
	charged = charge(account);
	if (account->member && charged > account->quota)
		set_quota(all, account, charged);
}

bool rpcrdma_quota_assembled(const struct rpcrdma_quota *all,
			     struct rpcrdma_quota_account *account, u64 bytes)
{
	const u64 calls = account->held[RPCRDMA_QUOTA_CALLS] + bytes,
		  charged = charge(account), most = common(all);

	if (account->member && calls > account->share[RPCRDMA_QUOTA_CALLS] &&
	    (all->used > most || charged > most - all->used))
		return false;
	account->held[RPCRDMA_QUOTA_PARTS] -= bytes;
	account->held[RPCRDMA_QUOTA_CALLS] += bytes;
	account->released++;
	return true;
}

bool rpcrdma_quota_uncharge(struct rpcrdma_quota *all,
			    struct rpcrdma_quota_account *account,
			    enum rpcrdma_quota_use use, u64 bytes)
{
	const bool notify = rpcrdma_quota_release(account, use, bytes);

	rpcrdma_quota_trim(all, account);
	return notify;
}

void rpcrdma_quota_trim(struct rpcrdma_quota *all,
			struct rpcrdma_quota_account *account)
{
	const u64 charged = charge(account);

	if (account->member && charged < account->quota)
		set_quota(all, account, charged);
}

bool rpcrdma_quota_change_own(const struct rpcrdma_quota *all,
			      struct rpcrdma_quota_account *account,
			      struct rpcrdma_quota_change *change)
{
	int rc;

	switch (change->what) {
	case RPCRDMA_QUOTA_ASK:
		change->ok = rpcrdma_quota_allows_now(all, account, change->use,
						      change->octets);
		return change->ok;
	case RPCRDMA_QUOTA_TAKE:
		change->ok = rpcrdma_quota_charge_own(account, change->use,
						      change->octets);
		return change->ok;
	case RPCRDMA_QUOTA_CHARGE:
	case RPCRDMA_QUOTA_CHARGE_UP_TO:
		return rpcrdma_quota_charge_own(account, change->use,
						change->count * change->octets);
	case RPCRDMA_QUOTA_UNCHARGE:
		rc = rpcrdma_quota_uncharge_own(all, account, change->use,
						change->octets);
		change->notify = rc > 0;
		return rc >= 0;
	default:
		return false;
	}
}

void rpcrdma_quota_change_all(struct rpcrdma_quota *all,
			      struct rpcrdma_quota_account *account,
			      struct rpcrdma_quota_change *change)
{
	const bool tight = rpcrdma_quota_is_tight(all);
	bool released = false;

	switch (change->what) {
	case RPCRDMA_QUOTA_ASK:
	case RPCRDMA_QUOTA_TAKE:
		change->ok = rpcrdma_quota_ask(all, account, change->use,
					       change->octets);
		/*
		 * A woken account that is refused again may be queued after the end of
		 * the last run: another run has to wake it.
		 */
		if (!change->ok && account->queued)
			change->visit = RPCRDMA_QUOTA_VISIT_LATER;
		if (change->ok && change->what == RPCRDMA_QUOTA_TAKE)
			rpcrdma_quota_charge(all, account, change->use,
					     change->octets);
		break;
	case RPCRDMA_QUOTA_CHARGE_UP_TO:
		change->count = rpcrdma_quota_fits(all, account, change->use,
						   change->octets,
						   change->count);
		[[fallthrough]];
	case RPCRDMA_QUOTA_CHARGE:
		rpcrdma_quota_charge(all, account, change->use,
				     change->count * change->octets);
		break;
	case RPCRDMA_QUOTA_ASSEMBLED:
		change->ok =
			rpcrdma_quota_assembled(all, account, change->octets);
		break;
	case RPCRDMA_QUOTA_UNCHARGE:
		change->notify = rpcrdma_quota_uncharge(
			all, account, change->use, change->octets);
		released = true;
		break;
	case RPCRDMA_QUOTA_ATTACH:
		if (change->limit)
			rpcrdma_quota_set_limit(all, change->limit,
						change->message);
		change->ok = !rpcrdma_quota_attach(all, account);
		break;
	case RPCRDMA_QUOTA_DETACH:
		rpcrdma_quota_detach(all, account);
		released = true;
		break;
	}
	/*
	 * Memory was released for the accounts that wait, or has become tight, so that
	 * the unused quota of idle connections is needed.
	 */
	if (released && all->waiting)
		change->visit = RPCRDMA_QUOTA_VISIT_NOW;
	else if (rpcrdma_quota_is_tight(all) && !tight)
		change->visit = all->waiting ? RPCRDMA_QUOTA_VISIT_LATER :
					       RPCRDMA_QUOTA_VISIT_NOW;
}

struct rpcrdma_quota_account *rpcrdma_quota_next(struct rpcrdma_quota *all)
{
	struct rpcrdma_quota_account *account = all->first;

	if (!account || all->used > all->limit)
		return nullptr;
	__atomic_store_n(&account->retrying, account->queued, __ATOMIC_RELAXED);
	dequeue(all, account);
	return account;
}

bool rpcrdma_quota_stuck(struct rpcrdma_quota_account *account, bool reads)
{
	const bool waits = account->held[RPCRDMA_QUOTA_PARTS] ||
			   account->held[RPCRDMA_QUOTA_REPLIES] ||
			   (reads && account->held[RPCRDMA_QUOTA_CALLS]);

	if (!account->member || !waits || account->released != account->seen) {
		account->seen = account->released;
		account->ticks = 0;
		return false;
	}
	if (account->ticks < RPCRDMA_QUOTA_STUCK_TICKS)
		account->ticks++;
	return account->ticks >= RPCRDMA_QUOTA_STUCK_TICKS;
}

struct rpcrdma_quota_run rpcrdma_quota_run_begin(struct rpcrdma_quota *all,
						 u32 now_ms)
{
	const u32 since = now_ms - all->visited_ms;
	const bool due = !all->visited || since >= RPCRDMA_QUOTA_TICK_MS;

	if (due) {
		all->visited = 1;
		all->visited_ms = now_ms;
	}
	return { .visit = due,
		 .wakes = RPCRDMA_QUOTA_WAKES,
		 .next_ms = RPCRDMA_QUOTA_TICK_MS - (due ? 0 : since) };
}

struct rpcrdma_quota_account *
rpcrdma_quota_run_next(struct rpcrdma_quota *all, struct rpcrdma_quota_run *run)
{
	if (!run->wakes)
		return nullptr;
	run->wakes--;
	return rpcrdma_quota_next(all);
}

u32 rpcrdma_quota_run_end(const struct rpcrdma_quota *all,
			  const struct rpcrdma_quota_run *run)
{
	/* Memory is tight, and the accounts were not visited in this run. */
	const bool tight = !run->visit && rpcrdma_quota_is_tight(all);

	return all->waiting || tight ? run->next_ms : 0;
}

bool rpcrdma_quota_run_visit(struct rpcrdma_quota *all,
			     struct rpcrdma_quota_account *account, bool reads)
{
	rpcrdma_quota_trim(all, account);
	return all->waiting && rpcrdma_quota_stuck(account, reads);
}
