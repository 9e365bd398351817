/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Declarations shared by the parts of the endpoint. Unless noted, the lock is held. */
#ifndef RPCRDMA_CORE_ENDPOINT_HH
#define RPCRDMA_CORE_ENDPOINT_HH

#include <rpcrdma/endpoint_buffers.h>
#include <rpcrdma/endpoint_call.h>
#include <rpcrdma/endpoint_continued.h>
#include <rpcrdma/endpoint_receive.h>
#include <rpcrdma/endpoint_reply.h>
#include <rpcrdma/endpoint_rpc.h>
#include <rpcrdma/endpoint_transfer.h>

#include "../internal.hh"
#include "../list.hh"
#include "../port.h"

namespace rpcrdma
{

/* Why a connection is closed on which a continued message was dropped */
constexpr char NO_MEMORY[] = "no memory to reassemble a message";

/* The charge for the larger array of segments of a message of version 1 */
constexpr u32 EXTRA_SEGS_OCTETS =
	RPCRDMA_MAX_EXTRA_SEGS * sizeof(rpcrdma_segment);

static inline bool is_open(const rpcrdma_ep_core *core)
{
	return core->life.stage == RPCRDMA_STAGE_OPEN;
}

static inline bool is_closing(const rpcrdma_ep_core *core)
{
	return core->life.stage >= RPCRDMA_STAGE_CLOSING;
}

/* Release the connection's lock. Return the work that the calls under it have left. */
[[gnu::always_inline]] static inline u32 unlock(rpcrdma_ep_core *core)
{
	const u32 todo = rpcrdma_core_take_todo(core);

	rpcrdma_port_unlock(core);
	return todo;
}

/* Release the connection's lock, and do the work that the calls under it have left. */
[[gnu::always_inline]] static inline void
unlock_and_finish(rpcrdma_ep_core *core)
{
	const u32 todo = unlock(core);

	if (todo) [[unlikely]]
		rpcrdma_core_finish(core, todo);
}

/* Holds a lock: @take takes it for the object's lifetime, and @release releases it. */
template <void take(rpcrdma_ep_core *), void release(rpcrdma_ep_core *)>
class scope
{
public:
	[[gnu::always_inline]] explicit scope(rpcrdma_ep_core *core)
		: core_{ core }
	{
		take(core_);
	}
	[[gnu::always_inline]] ~scope()
	{
		release(core_);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

private:
	rpcrdma_ep_core *core_;
};

using locked = scope<rpcrdma_port_lock, rpcrdma_port_unlock>;
using posting = scope<rpcrdma_port_lock, unlock_and_finish>;
using locked_mrs = scope<rpcrdma_port_lock_mrs, rpcrdma_port_unlock_mrs>;

/* Return the context of a message. */
[[gnu::always_inline]] static inline rpcrdma_send *send_of(rpcrdma_work *work)
{
	static_assert(__builtin_offsetof(rpcrdma_send, work) == 0);
	return reinterpret_cast<rpcrdma_send *>(work);
}

[[gnu::always_inline]] static inline rpcrdma_stream *
stream_of(rpcrdma_work *work)
{
	static_assert(__builtin_offsetof(rpcrdma_stream, work) == 0);
	return reinterpret_cast<rpcrdma_stream *>(work);
}

/*
 * Start the time limit of messages that wait for credits, if there are any. If the limit has
 * expired, close the connection with RPCRDMA_TODO_CLOSED.
 */
void watch_stall(rpcrdma_ep_core *core);

/* Return the errno for the engine's answer to a Call. */
int call_status(rpcrdma_ep_core *core, enum rpcrdma_sq_answer may);

/*
 * Queue a Reply after the Replies that wait. It is a continued one, or its Writes have
 * completed. Return false if it needs more Work Requests than the Send Queue has.
 */
bool queue_reply(rpcrdma_ep_core *core, rpcrdma_work *reply, u32 nr_wrs);

/* Return the next message of the continued sequence @st, if it gets a large buffer. */
static inline rpcrdma_fragment next_part(const rpcrdma_ep_core *core,
					 const rpcrdma_stream *st)
{
	return rpcrdma_next_fragment(&core->conn, &st->lists,
				     st->len - st->sent, ~0u);
}

/* What has become of a message that is built under the lock */
enum class post_result : u8 {
	OK,
	REFUSED,   /* by the device: the connection ends */
	NO_BUFFER, /* memory is short: it still waits */
};

/* Post the next message of @st, which is queued. */
enum post_result post_part(rpcrdma_ep_core *core, rpcrdma_stream *st);

/* Trace that @work waits, if it is still the last in its queue. */
static inline void trace_queued(rpcrdma_ep_core *core, u32 xid,
				const rpcrdma_work *work)
{
	if (rpcrdma_core_is_queued(core, work))
		rpcrdma_port_queued(core, xid, work);
}

/*
 * Record the content of the peer's request or answer, and the number of Reads that both
 * ends can have outstanding.
 */
void record_peer(rpcrdma_ep_core *core, const rpcrdma_cm_peer *peer);

/*
 * Look up what a connection needs for host authentication, before its setup. Return 0 or a
 * negative errno. No lock held; may sleep.
 */
int begin_auth(rpcrdma_ep_core *core);

/*
 * Prepare the handshake that a server's client has asked for. Return null if out of memory.
 * No lock held; may sleep.
 */
rpcrdma_hostauth *new_handshake(rpcrdma_ep_core *core);

/* Remove and release @x, which no peer can access any more. No lock held. */
void end_exposed(rpcrdma_pull_entry *x);

/* Handle the peer's DONE in @rv: invalidate the MRs that it did not. No lock held. */
void reply_pulled(const rpcrdma_recv *rv);

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_ENDPOINT_HH */
