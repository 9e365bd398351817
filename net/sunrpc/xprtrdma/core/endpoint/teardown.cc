// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The teardown of an endpoint. conn/lifecycle.cc has the order of its steps. This file
 * executes each step for the core's own state; the host executes it for the device.
 *
 * Operation
 *
 * The teardown is one context of the host. It calls rpcrdma_core_teardown(), which
 * executes steps until the next one is a wait. The host waits, and calls it again. In a
 * step that ends work, the host's part comes last. In the steps of the queue pair, the
 * MRs and the exposed Replies it comes first: the core's state changes when the objects
 * are destroyed.
 *
 * Each wait has an end. The waits of a setup have time limits. RPCRDMA_STOP_TRIES
 * bounds the attempts to stop a queue pair. The device flushes the queues of a queue
 * pair that it has stopped. Contexts that hold off the teardown are refused by the
 * closing connection, and work that they have queued ends before they are waited for.
 *
 * Memory
 *
 * Callbacks of ended work release its memory. MRs are destroyed before the Replies in
 * them are released, so that no peer can read memory that was freed. The Receives stay
 * until the last reference is dropped, because the transport may still hold some of
 * them: rpcrdma_core_destroy() frees them, and leaves the quota.
 *
 * Errors
 *
 * If the device refuses to stop the queue pair, posted work is not ended until the
 * queue pair and the completion queues are destroyed. Until then completions are not
 * reaped.
 *
 * Locking
 *
 * Work is removed from the lists under the lock of the connection, and its callbacks
 * run without it. MRs and exposed Replies are walked without a lock, because no other
 * context adds or removes any at that time.
 */
#include "posting.hh"

namespace rpcrdma
{

namespace
{

/* Return the Receive with the entry @all of core->all_recvs. */
rpcrdma_recv *recv_of(list_head *all)
{
	return reinterpret_cast<rpcrdma_recv *>(
		reinterpret_cast<u8 *>(all) -
		__builtin_offsetof(rpcrdma_recv, all));
}

/* Return true if the host waits for the end of this step, and so may other events. */
bool waits(enum rpcrdma_teardown what)
{
	return what == RPCRDMA_TEARDOWN_SETUP ||
	       what == RPCRDMA_TEARDOWN_PAUSE ||
	       what == RPCRDMA_TEARDOWN_DRAIN || what == RPCRDMA_TEARDOWN_USERS;
}

/*
 * End the work that @flush returns. Work that was executed ends with success in
 * rpcrdma_port_reap(). None of the rest is known to have been executed.
 */
void end_work(rpcrdma_ep_core *core,
	      void (*flush)(rpcrdma_ep_core *, list_head *))
{
	list_head done_list;

	list_init(&done_list);
	rpcrdma_port_reap(core);
	{
		const locked under(core);

		flush(core, &done_list);
	}
	rpcrdma_core_run_callbacks(&done_list, false);
}

/* Return the next step. @result: of STOP, 0 for any other step */
enum rpcrdma_teardown next_step(rpcrdma_ep_core *core, int result)
{
	const locked under(core);
	const bool was_unstopped = core->life.unstopped;
	const enum rpcrdma_teardown what = rpcrdma_lifecycle_next_teardown(
		&core->life, core->control.queue_pair, core->sq.posted, result);

	if (core->life.unstopped && !was_unstopped) [[unlikely]]
		rpcrdma_port_count(core, RPCRDMA_COUNT_DRAINS_FAILED);
	return what;
}

/* The MRs are destroyed, and no peer can access the memory that they had. */
void end_mrs(rpcrdma_ep_core *core)
{
	for (rpcrdma_mr *mr = core->mrs.all; mr; mr = mr->all)
		mr->exposed = false;
}

/* Release the Replies that were not pulled. No peer can access their memory any more. */
void end_all_exposed(rpcrdma_ep_core *core)
{
	while (core->conn.exposed)
		end_exposed(core->conn.exposed);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

enum rpcrdma_teardown rpcrdma_core_teardown(struct rpcrdma_ep_core *core)
{
	int result = 0;

	for (;;) {
		const enum rpcrdma_teardown what = next_step(core, result);

		if (waits(what))
			return what;
		if (what == RPCRDMA_TEARDOWN_POSTED)
			end_work(core, flush_posted);
		else if (what == RPCRDMA_TEARDOWN_WAITING)
			end_work(core, flush_waiting);
		else if (what == RPCRDMA_TEARDOWN_MESSAGES)
			rpcrdma_core_drain(core);
		result = rpcrdma_port_release(core, what);
		if (what == RPCRDMA_TEARDOWN_QUEUE_PAIR)
			core->control.queue_pair = false;
		else if (what == RPCRDMA_TEARDOWN_MRS)
			end_mrs(core);
		else if (what == RPCRDMA_TEARDOWN_EXPOSED)
			end_all_exposed(core);
		else if (what == RPCRDMA_TEARDOWN_END)
			return what;
	}
}

void rpcrdma_core_destroy(struct rpcrdma_ep_core *core)
{
	rpcrdma_port_leave_quota(core);
	while (!list_is_empty(&core->all_recvs)) {
		list_head *all = core->all_recvs.next;

		list_remove(all);
		rpcrdma_port_recv_free(recv_of(all));
	}
}
