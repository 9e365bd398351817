/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port: the functions that the core calls and its host provides, resolved by the
 * linker. The module's host is verbs/, the simulation's is kunit/simulation/port.cc.
 * Only the core calls these functions.
 *
 * "Lock held": the connection's lock is held. The function must neither sleep nor call
 * the core. "No lock held": process context; the function may take the lock and call the
 * core.
 */
#ifndef RPCRDMA_CORE_PORT_H
#define RPCRDMA_CORE_PORT_H

#include <rpcrdma/counters.h>
#include <rpcrdma/quota_change.h>
#include <rpcrdma/quota_run.h>

#include "port_answer.h"
#include "port_auth.h"
#include "port_call.h"
#include "port_control.h"
#include "port_mrs.h"
#include "port_receive.h"
#include "port_reply.h"
#include "port_rpc.h"
#include "port_send.h"
#include "port_transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The locks ---- */

/**
 * rpcrdma_port_lock - take the lock of a connection
 * @core: connection
 *
 * A spinlock that is taken in process context only: completion handlers do not take it.
 * Bottom halves and interrupts stay as they are.
 * Context: process context, none of the two locks is held.
 */
void rpcrdma_port_lock(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_unlock - release what rpcrdma_port_lock() has taken
 * @core: connection
 *
 * Context: lock held.
 */
void rpcrdma_port_unlock(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_lock_mrs - take the lock for MRs, which protects core->mrs
 * @core: connection
 *
 * A spinlock of the same kind. It may be taken while the connection's lock is held, and
 * not the other way round.
 * Context: process context, this lock is not held.
 */
void rpcrdma_port_lock_mrs(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_unlock_mrs - release what rpcrdma_port_lock_mrs() has taken
 * @core: connection
 *
 * Context: the lock for MRs is held.
 */
void rpcrdma_port_unlock_mrs(struct rpcrdma_ep_core *core);

/* ---- The quota ---- */

/**
 * rpcrdma_port_charge - charge up to @count objects, within the peer's quota
 * @core: connection
 * @use: purpose
 * @octets: bytes per object
 * @count: objects wanted
 *
 * Context: no lock held.
 * Return: the number of objects charged.
 */
u32 rpcrdma_port_charge(struct rpcrdma_ep_core *core,
			enum rpcrdma_quota_use use, u64 octets, u32 count);

/**
 * rpcrdma_port_charge_existing - charge memory that exists already, which always succeeds
 * @core: connection
 * @use: purpose
 * @octets: bytes
 *
 * Context: no lock held.
 */
void rpcrdma_port_charge_existing(struct rpcrdma_ep_core *core,
				  enum rpcrdma_quota_use use, u64 octets);

/**
 * rpcrdma_port_room - check if the quota has memory, without charging it
 * @core: connection
 * @use: what it is for
 * @octets: bytes
 *
 * Context: lock of the connection not held.
 * Return: true if so; otherwise rpcrdma_port_write_space() will be called.
 */
bool rpcrdma_port_room(struct rpcrdma_ep_core *core, enum rpcrdma_quota_use use,
		       u64 octets);

/**
 * rpcrdma_port_uncharge - uncharge memory
 * @core: connection
 * @use: purpose
 * @octets: bytes, possibly 0
 *
 * Context: no lock held.
 */
void rpcrdma_port_uncharge(struct rpcrdma_ep_core *core,
			   enum rpcrdma_quota_use use, u64 octets);

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
 * @core: connection; if the timer is armed, this replaces its time
 * @ms: milliseconds at least
 *
 * Context: lock held.
 */
void rpcrdma_port_arm_stall(struct rpcrdma_ep_core *core, u32 ms);

/**
 * rpcrdma_port_arm_overdue - call rpcrdma_core_exposed_overdue() after a time
 * @core: connection; the timer is not armed
 * @ms: milliseconds at least
 *
 * Context: lock held.
 */
void rpcrdma_port_arm_overdue(struct rpcrdma_ep_core *core, u32 ms);

/**
 * rpcrdma_port_count - count an event
 * @core: connection
 * @counter: counter of the connection's network namespace
 *
 * Context: any; the connection manager's ID is not destroyed yet.
 */
void rpcrdma_port_count(struct rpcrdma_ep_core *core,
			enum rpcrdma_counter counter);

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
 * rpcrdma_port_get - get a reference to the memory of a connection
 * @core: connection
 *
 * Context: any; the caller has a reference, or MRs of it that are in use.
 */
void rpcrdma_port_get(struct rpcrdma_ep_core *core);

/**
 * rpcrdma_port_put - put a reference to the memory of a connection
 * @core: connection
 *
 * Context: no lock held.
 */
void rpcrdma_port_put(struct rpcrdma_ep_core *core);

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
