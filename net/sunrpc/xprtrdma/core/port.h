/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port: what the core calls and its host provides, resolved by the linker. The
 * module's host is verbs/, the simulation's is kunit/simulation/port.cc. Only the core
 * calls these functions.
 *
 * "Lock held": the core was called with the connection's lock held, and so is the
 * function, which must neither sleep nor call the core. "No lock held": process context;
 * the function may take the lock and call the core.
 */
#ifndef RPCRDMA_CORE_PORT_H
#define RPCRDMA_CORE_PORT_H

#include <rpcrdma/endpoint_receive.h>
#include <rpcrdma/quota_change.h>

#include "port_mrs.h"
#include "port_transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Posting ---- */

/**
 * rpcrdma_port_post - post the chain of a work item
 * @core: connection
 * @work: work of kind RPCRDMA_WORK_RDMA, the last in core->inflight
 *
 * Its last Work Request is signaled if work->wrs.signaled is set. Its completion is
 * reported by rpcrdma_core_reap().
 * Context: lock held.
 * Return: false if the device refused the chain or a part of it.
 */
bool rpcrdma_port_post(struct rpcrdma_ep_core *core, struct rpcrdma_work *work);

/**
 * rpcrdma_port_post_send - post a Send, and what is chained before it
 * @core: connection
 * @s: Send context with a stamped message, the last in core->inflight
 *
 * Sends s->len bytes of s->buf, invalidating s->inv_handle unless that is 0; otherwise
 * like rpcrdma_port_post().
 * Context: lock held.
 * Return: false if the device refused the chain or a part of it.
 */
bool rpcrdma_port_post_send(struct rpcrdma_ep_core *core,
			    struct rpcrdma_send *s);

/**
 * rpcrdma_port_chain_mrs - chain the registrations of MRs before a Send
 * @s: Send context; s->before has what is chained already, and is updated
 * @mrs: list of struct rpcrdma_mr
 *
 * The caller counts one Work Request for each MR.
 * Context: lock held.
 */
void rpcrdma_port_chain_mrs(struct rpcrdma_send *s,
			    const struct list_head *mrs);

/**
 * rpcrdma_port_chain_writes - chain the Writes of a transfer before a Send
 * @s: Send context; s->before has what is chained already, and is updated
 * @t: transfer with t->left Writes, none of which is posted
 *
 * The caller counts t->left Work Requests.
 * Context: lock held.
 */
void rpcrdma_port_chain_writes(struct rpcrdma_send *s,
			       struct rpcrdma_transfer *t);

/**
 * rpcrdma_port_post_batch - post a batch of a transfer
 * @core: connection
 * @t: transfer; the batch is its parts after t->posted, up to t->batch, and has
 *	t->work.wrs.nr Work Requests; t->work is the last in core->inflight
 *
 * Like rpcrdma_port_post().
 * Context: lock held.
 * Return: false if the device refused the batch or a part of it.
 */
bool rpcrdma_port_post_batch(struct rpcrdma_ep_core *core,
			     struct rpcrdma_transfer *t);

/**
 * rpcrdma_port_post_recvs - post Receives with one doorbell
 * @core: connection
 * @first: Receives, chained by next
 *
 * Gives their buffers to the device, which may have been read meanwhile.
 * Context: lock held.
 * Return: false if the device refused them or some of them.
 */
bool rpcrdma_port_post_recvs(struct rpcrdma_ep_core *core,
			     struct rpcrdma_recv *first);

/**
 * rpcrdma_port_rdma - take the lock and call rpcrdma_core_rdma()
 * @core: connection
 * @work: work without a message, not posted
 *
 * Calls work->done() with @ok false if the work can never be posted.
 * Context: no lock held.
 */
void rpcrdma_port_rdma(struct rpcrdma_ep_core *core, struct rpcrdma_work *work);

/* ---- Receives ---- */

/**
 * rpcrdma_port_recv - allocate a Receive and map its buffer for the device
 * @core: connection
 * @want: its size in bytes, and how much it is needed
 *
 * Context: no lock held, the teardown is held off; may sleep.
 * Return: the Receive, of which the core's part is zeroed except for buf, or NULL if out
 * of memory.
 */
struct rpcrdma_recv *rpcrdma_port_recv(struct rpcrdma_ep_core *core,
				       const struct rpcrdma_receives *want);

/**
 * rpcrdma_port_recv_unmap - unmap a Receive, which is not posted
 * @rv: Receive
 *
 * Context: lock held.
 */
void rpcrdma_port_recv_unmap(struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_recv_free - free a Receive that is unmapped
 * @rv: Receive, on no list
 *
 * Context: no lock held.
 */
void rpcrdma_port_recv_free(struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_recv_shrink - free rv->assembled and rv->rx.lists.more
 * @rv: Receive; either may be NULL
 *
 * Context: no lock held.
 */
void rpcrdma_port_recv_shrink(struct rpcrdma_recv *rv);

/**
 * rpcrdma_port_recvs_want - take the lock and call rpcrdma_conn_to_make()
 * @core: connection
 *
 * Context: no lock held.
 * Return: the Receives to allocate.
 */
struct rpcrdma_receives rpcrdma_port_recvs_want(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_recvs_made - take the lock and call rpcrdma_core_recvs_made()
 * @core: connection
 * @made: Receives that were allocated
 *
 * Context: no lock held.
 * Return: as rpcrdma_core_recvs_made() does.
 */
u32 rpcrdma_port_recvs_made(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_recvs_made *made);

/**
 * rpcrdma_port_recv_put - take the lock and call rpcrdma_core_recv_put()
 * @rv: Receive
 *
 * Calls rpcrdma_core_recv_shrink() before if @rv is large, and
 * rpcrdma_core_recv_given_back() afterwards.
 * Context: no lock held.
 */
void rpcrdma_port_recv_put(struct rpcrdma_recv *rv);

/* ---- Arrivals ---- */

/**
 * rpcrdma_port_assembly - allocate memory for a continued message
 * @core: connection
 * @size: bytes
 *
 * Context: no lock held, may sleep.
 * Return: the memory, for rv->assembled or rpcrdma_port_assembly_free(), or NULL if out
 * of memory.
 */
void *rpcrdma_port_assembly(struct rpcrdma_ep_core *core, u32 size);

/**
 * rpcrdma_port_assembly_free - free what rpcrdma_port_assembly() has returned
 * @core: connection
 * @assembly: memory, or NULL
 *
 * Context: no lock held.
 */
void rpcrdma_port_assembly_free(struct rpcrdma_ep_core *core, void *assembly);

/**
 * rpcrdma_port_assembled - call rpcrdma_memory_assembled()
 * @core: connection
 * @octets: bytes of memory of a complete message
 *
 * Context: no lock held.
 * Return: false if the Calls that wait exceed the quota.
 */
bool rpcrdma_port_assembled(struct rpcrdma_ep_core *core, u64 octets);

/**
 * rpcrdma_port_more_segs - allocate RPCRDMA_MORE_SEGS segments
 * @core: connection
 *
 * Context: no lock held, may sleep.
 * Return: memory for rv->rx.lists.more, or NULL if out of memory.
 */
struct rpcrdma_segment *rpcrdma_port_more_segs(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_refuse - take the lock and call rpcrdma_conn_refuse(), then close
 * @core: connection
 * @reason: static string
 *
 * Context: no lock held.
 */
void rpcrdma_port_refuse(struct rpcrdma_ep_core *core, const char *reason);

/**
 * rpcrdma_port_has_arrived - check if there are unprocessed messages
 * @core: connection
 *
 * Context: no lock held.
 * Return: true if so.
 */
bool rpcrdma_port_has_arrived(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_poll - let the transport process a batch of messages
 * @core: connection
 *
 * Context: no lock held, may sleep.
 */
void rpcrdma_port_poll(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_polled - wait until no context processes messages
 * @core: connection
 *
 * Has a full barrier: a context that begins later sees what was stored before.
 * Context: no lock held, sleeps.
 */
void rpcrdma_port_polled(struct rpcrdma_ep_core *core);

/* ---- Memory ---- */

/**
 * rpcrdma_port_charge - charge as many objects to the peer as its quota allows
 * @core: connection
 * @use: purpose
 * @octets: bytes per object
 * @count: objects wanted
 *
 * Context: no lock held.
 * Return: the number of objects charged.
 */
u32 rpcrdma_port_charge(struct rpcrdma_ep_core *core,
			enum rpcrdma_memory_use use, u64 octets, u32 count);

/**
 * rpcrdma_port_uncharge - uncharge memory
 * @core: connection
 * @use: purpose
 * @octets: bytes, possibly 0
 *
 * Context: no lock held.
 */
void rpcrdma_port_uncharge(struct rpcrdma_ep_core *core,
			   enum rpcrdma_memory_use use, u64 octets);

/**
 * rpcrdma_port_send - return a Send context that is used for the first time
 * @core: connection
 * @number: 0 to core->nr_sends - 1
 *
 * Initialises the host's part of it; sets work.chain and nothing else in the core's.
 * Context: lock held.
 * Return: the context; cannot fail.
 */
struct rpcrdma_send *rpcrdma_port_send(struct rpcrdma_ep_core *core,
				       u32 number);

/**
 * rpcrdma_port_buffer - allocate a buffer for messages and map it for the device
 * @core: connection
 * @size: bytes
 * @addr: gets the device's address of the buffer
 *
 * Context: lock held.
 * Return: the buffer, or NULL if out of memory.
 */
void *rpcrdma_port_buffer(struct rpcrdma_ep_core *core, u32 size, u64 *addr);

/**
 * rpcrdma_port_buffer_free - unmap and free a buffer
 * @core: connection
 * @buf: buffer that the device does not use
 * @addr: the device's address of it
 * @size: bytes
 *
 * Context: any but interrupts; possibly lock held.
 */
void rpcrdma_port_buffer_free(struct rpcrdma_ep_core *core, void *buf, u64 addr,
			      u32 size);

/**
 * rpcrdma_port_stream_free - free the memory of a continued message
 * @st: continued message
 *
 * Context: no lock held.
 */
void rpcrdma_port_stream_free(struct rpcrdma_stream *st);

/**
 * rpcrdma_port_hold - charge bytes of Replies to the peer
 * @core: connection
 * @st: continued Reply that needs them
 *
 * Context: no lock held.
 */
void rpcrdma_port_hold(struct rpcrdma_ep_core *core,
		       const struct rpcrdma_stream *st);

/**
 * rpcrdma_port_give - uncharge what rpcrdma_port_hold() has charged
 * @core: connection
 * @st: continued Reply
 *
 * Context: no lock held.
 */
void rpcrdma_port_give(struct rpcrdma_ep_core *core,
		       const struct rpcrdma_stream *st);

/* ---- Time ---- */

/**
 * rpcrdma_port_now_ms - return the time
 * @core: connection
 *
 * Context: any.
 * Return: milliseconds of any clock, modulo 2^32.
 */
u32 rpcrdma_port_now_ms(const struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_coarse_ms - return the time, for windows, which adapt over seconds
 * @core: connection
 *
 * Context: any.
 * Return: milliseconds of any clock, modulo 2^32.
 */
u32 rpcrdma_port_coarse_ms(const struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_arm_stall - call rpcrdma_core_stall_expired() after a time
 * @core: connection; the timer is not armed
 * @ms: milliseconds at least
 *
 * Context: lock held.
 */
void rpcrdma_port_arm_stall(struct rpcrdma_ep_core *core, u32 ms);

/**
 * rpcrdma_port_arm_overdue - call rpcrdma_core_exposed_overdue() after a time
 * @core: connection; if the timer is armed, this does nothing
 * @ms: milliseconds at least
 *
 * Context: lock held.
 */
void rpcrdma_port_arm_overdue(struct rpcrdma_ep_core *core, u32 ms);

/* ---- Setup ---- */

/**
 * rpcrdma_port_make_next - take the lock and call rpcrdma_life_make()
 * @core: connection
 * @result: of the last step
 *
 * Context: no lock held.
 * Return: the next step.
 */
struct rpcrdma_make_step rpcrdma_port_make_next(struct rpcrdma_ep_core *core,
						int result);

/**
 * rpcrdma_port_make - take a step to set up a connection
 * @core: connection
 * @m: ADDRESS, ROUTE, CONNECT or ACCEPT, see enum rpcrdma_make
 *
 * Context: no lock held; may sleep.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_make(struct rpcrdma_ep_core *core,
		      const struct rpcrdma_make_step *m);

/**
 * rpcrdma_port_objects - create the device's objects
 * @core: connection
 *
 * Begins with rpcrdma_core_configure() and ends with rpcrdma_core_queue_pair(). If it
 * fails, there is no queue pair.
 * Context: no lock held; may sleep.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_objects(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_sends - allocate the Send contexts
 * @core: connection with its device's objects
 *
 * Takes the lock and calls rpcrdma_core_sends_begin().
 * Context: no lock held; may sleep.
 * Return: 0 or a negative errno.
 */
int rpcrdma_port_sends(struct rpcrdma_ep_core *core);

/* ---- Events in the life of a connection ---- */

/**
 * rpcrdma_port_happened - handle an event
 * @core: connection
 * @event: passed to rpcrdma_core_happened(), with the lock, and the result of that to
 *	rpcrdma_core_carry_out()
 *
 * Context: no lock held.
 */
void rpcrdma_port_happened(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_life_event *event);

/**
 * rpcrdma_port_open_later - call rpcrdma_core_open_later() soon, unless the teardown begins
 * @core: connection
 *
 * Context: lock held.
 */
void rpcrdma_port_open_later(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_opened - notify the transport that RPC traffic may begin
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_opened(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_wake - wake the setup context, and others that check for the stage
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_wake(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_closing - start the teardown of a connection, which is closing
 * @core: connection
 * @reason: to be logged, or NULL
 *
 * Context: no lock held.
 */
void rpcrdma_port_closing(struct rpcrdma_ep_core *core, const char *reason);

/**
 * rpcrdma_port_confirm - report to the connection manager that it is established
 * @core: connection
 *
 * Context: no lock held, the teardown is held off.
 */
void rpcrdma_port_confirm(struct rpcrdma_ep_core *core);

/* ---- Teardown, no lock held; may sleep ---- */

/**
 * rpcrdma_port_release_next - take the lock and call rpcrdma_core_release_next()
 * @core: connection
 * @result: of the last step
 *
 * Return: the next step.
 */
enum rpcrdma_release rpcrdma_port_release_next(struct rpcrdma_ep_core *core,
					       int result);

/**
 * rpcrdma_port_release - do what a step means for the device and for the transport
 * @core: connection
 * @what: step that rpcrdma_core_teardown() does not return, or END
 *
 * Return: of STOP: 0 or a negative errno, of all others 0.
 */
int rpcrdma_port_release(struct rpcrdma_ep_core *core,
			 enum rpcrdma_release what);

/**
 * rpcrdma_port_flush_posted - take the lock and call rpcrdma_core_flush_posted()
 * @core: connection; the device does not use posted work any more
 * @through: list
 *
 * Passes the completions that have arrived to rpcrdma_core_reap() before.
 */
void rpcrdma_port_flush_posted(struct rpcrdma_ep_core *core,
			       struct list_head *through);

/**
 * rpcrdma_port_flush_waiting - take the lock and call rpcrdma_core_flush_waiting()
 * @core: connection
 * @through: list
 */
void rpcrdma_port_flush_waiting(struct rpcrdma_ep_core *core,
				struct list_head *through);

/**
 * rpcrdma_port_leave_quota - detach a connection from the quota, if it is attached
 * @core: connection
 */
void rpcrdma_port_leave_quota(struct rpcrdma_ep_core *core);

/* ---- Actions, no lock held ---- */

/**
 * rpcrdma_port_enter - hold off the teardown
 * @core: connection
 *
 * Context: no lock held.
 * Return: false if the connection is closing: do not call rpcrdma_port_leave().
 */
bool rpcrdma_port_enter(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_leave - end what rpcrdma_port_enter() has begun
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_leave(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_pump - take the lock and call rpcrdma_core_pump()
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_pump(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_close - begin to close the connection
 * @core: connection
 * @reason: static string
 *
 * Context: no lock held.
 */
void rpcrdma_port_close(struct rpcrdma_ep_core *core, const char *reason);

/**
 * rpcrdma_port_write_space - notify refused senders that they may retry
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_write_space(struct rpcrdma_ep_core *core);

#ifdef __cplusplus
}
#endif

#endif /* RPCRDMA_CORE_PORT_H */
