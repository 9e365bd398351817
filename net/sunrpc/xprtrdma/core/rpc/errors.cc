// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Errors: their codes (7, 8.4, WP 7), the consequences of an ERROR for the RPC that it
 * refuses, and the remedies for failures at this end.
 *
 * Operation
 *
 * An ERROR does not always end its RPC. Some codes report a limit: the maximum of
 * chunks or segments, or the memory that a chunk needs. If the Call can be planned
 * within that limit, it is sent again in that form, with the same xid. A maximum of
 * segments lowers the RCSIZ of the connection. The other limits hold for this RPC on
 * this connection (struct rpcrdma_retry_limits). The memory that a chunk needs is also
 * remembered for all RPCs to the peer for LEARNED_SECONDS (struct
 * rpcrdma_peer_limits), because a Call that was executed before it was refused is
 * repeated as another RPC (WP 7). The loss of a connection with a continued Call is
 * remembered as long: meanwhile, Calls to the peer use Special Format if possible.
 *
 * A failure at this end is lasting or temporary. A lasting one ends the RPC, at a
 * Responder with an ERROR. After a temporary one, the task that keeps the message
 * retries. If there is no such task, or no connection, the connection is closed, and
 * the Requester sends the Call again on the next one.
 *
 * Why retries end
 *
 * Each code permits one retry of an RPC on a connection, and an ERROR that does not
 * rule out the form of the refused Call permits none. A peer that contradicts itself
 * therefore cannot make this end repeat a Call forever.
 *
 * Memory
 *
 * Nothing is allocated. The limits are embedded in objects of the user.
 *
 * Locking
 *
 * rpcrdma_call_refused() is called with the lock of the connection, because it may
 * lower the peer's RCSIZ. It does that with a single store: plans read RCSIZ without
 * the lock. The limits of a peer are protected by a lock of the user, except that the
 * fast path checks without it if there may be any. All other functions read constants
 * only.
 */
#include "../internal.hh"

namespace rpcrdma
{

namespace
{

/*
 * sunrpc retransmits the Call for neither status: -EIO means that the Call was
 * invalid, -EREMOTEIO that the peer could not execute it.
 */
constexpr error_info ERRORS[] = {
	{ RDMA2_ERR_VERS, 2, -E_IO, "VERS" },
	{ RDMA2_ERR_BAD_XDR, 0, -E_IO, "BAD_XDR" },
	{ RDMA2_ERR_BAD_PROPVAL, 0, -E_IO, "BAD_PROPVAL" },
	{ RDMA2_ERR_INVAL_HTYPE, 0, -E_IO, "INVAL_HTYPE" },
	{ RDMA2_ERR_INVAL_CONT, 0, -E_IO, "INVAL_CONT" },
	{ RDMA2_ERR_READ_CHUNKS, 1, -E_IO, "READ_CHUNKS" },
	{ RDMA2_ERR_WRITE_CHUNKS, 1, -E_IO, "WRITE_CHUNKS" },
	{ RDMA2_ERR_SEGMENTS, 1, -E_IO, "SEGMENTS" },
	{ RDMA2_ERR_WRITE_RESOURCE, 2, -E_REMOTEIO, "WRITE_RESOURCE" },
	{ RDMA2_ERR_REPLY_RESOURCE, 1, -E_REMOTEIO, "REPLY_RESOURCE" },
	{ RDMA2_ERR_SYSTEM, 0, -E_REMOTEIO, "SYSTEM" },
};

} // namespace

const error_info *find_error(u32 code)
{
	for (const error_info &error : ERRORS) {
		if (error.code == code)
			return &error;
	}
	return nullptr;
}

namespace
{

/* Seconds for which a peer's refusal is remembered: as long as its versions */
constexpr u64 LEARNED_SECONDS = 300;
/* Seconds after a loss in which another one has the same cause: reconnects take up to ten */
constexpr u64 LOSSES_APART = 30;

/* rpcrdma_peer_limits_any() reads it without the user's lock. */
void set_any(struct rpcrdma_peer_limits *learned, bool any)
{
	__atomic_store_n(&learned->any, static_cast<u8>(any), __ATOMIC_RELAXED);
}

/* Remember a limit for that time. */
void keep(struct rpcrdma_peer_limits *learned, u64 &until, u64 now)
{
	until = now + LEARNED_SECONDS;
	set_any(learned, true);
}

/*
 * Return true if the length of Reply chunk in the error is new information.
 * Zero: no length would help (7.3.5).
 */
bool reply_chunk_helps(const struct rpcrdma_rx *rx,
		       const struct rpcrdma_lists *call_lists)
{
	const u32 needed = rx->error.arg[0];

	return needed &&
	       !(call_lists->has_reply && call_lists->reply.length >= needed);
}

/*
 * Return true if the result may fit in the rest of the Reply. The Write chunk already had
 * all the memory for it, so that a retry helps only if the peer has counted the roundup,
 * too. Index 0: the peer could not determine a length (7.3.4).
 */
bool roundup_helps(const struct rpcrdma_rx *rx, const struct rpcrdma_call *call,
		   const struct rpcrdma_lists *call_lists)
{
	const u32 index = rx->error.arg[0], needed = rx->error.arg[1];

	return index && index <= call_lists->nr_writes &&
	       needed > call_lists->writes[index - 1].length &&
	       needed <= roundup4(call->result_max);
}

/*
 * Process the content of an ERROR. Return true if it rules out the form in which the
 * Call was sent. If it does not, the peer contradicts itself, and retransmitting the
 * same form would not help.
 */
bool give_in(struct rpcrdma_conn *conn, const struct rpcrdma_rx *rx,
	     const struct rpcrdma_call *call,
	     const struct rpcrdma_lists *call_lists,
	     struct rpcrdma_retry_limits *retry_limits)
{
	const u32 arg = rx->error.arg[0];

	switch (rx->error.code) {
	case RDMA2_ERR_READ_CHUNKS:
		retry_limits->few_reads = 1;
		retry_limits->max_reads = arg;
		return call_lists->nr_reads > arg;
	case RDMA2_ERR_WRITE_CHUNKS:
		retry_limits->no_writes = 1;
		return call_lists->nr_writes > arg;
	case RDMA2_ERR_SEGMENTS:
		/* The peer's RCSIZ under another name (WP 5) */
		if (arg < conn->peer.rcsiz)
			__atomic_store_n(&conn->peer.rcsiz, arg,
					 __ATOMIC_RELAXED);
		return call_lists->nr_segs > arg;
	case RDMA2_ERR_WRITE_RESOURCE:
		retry_limits->no_writes = 1;
		return roundup_helps(rx, call, call_lists);
	case RDMA2_ERR_REPLY_RESOURCE:
		retry_limits->reply_needed = arg;
		return reply_chunk_helps(rx, call_lists);
	default:
		return false;
	}
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

/*
 * READ_CHUNKS: continued, or Special Format if that has fewer of them (7.3.1).
 * WRITE_CHUNKS: a Reply chunk instead (7.3.2). SEGMENTS: chunks within the
 * lower limit (7.3.3). WRITE_RESOURCE and REPLY_RESOURCE: chunks that are large
 * enough, if there is that much memory (7.3.4, 7.3.5). All others are
 * permanent.
 */
int rpcrdma_call_refused(struct rpcrdma_conn *conn, const struct rpcrdma_rx *rx,
			 const struct rpcrdma_call *call,
			 const struct rpcrdma_lists *call_lists,
			 struct rpcrdma_retry_limits *retry_limits)
{
	const u32 code = rx->error.code;
	struct rpcrdma_call again = *call;
	struct rpcrdma_call_plan plan;
	const u32 bit = code < 32 ? 1u << code : 0;
	/* Even if this RPC ends, other RPCs use the limits learned. */
	const bool hope =
		give_in(conn, rx, call, call_lists, &again.retry_limits);

	*retry_limits = call->retry_limits;
	if (!hope || call->retry_limits.retried_errors & bit)
		return rx->error.status;
	again.retry_limits.retried_errors |= bit;
	if (rpcrdma_plan_call(conn, &again, &plan))
		return rx->error.status;
	*retry_limits = again.retry_limits;
	return 0;
}

/*
 * Learn only from errors that refuse a Call after it was executed (7.3.4,
 * 7.3.5): after the others it is retransmitted, and the peer has not executed
 * it yet. The smallest Reply counts: the peer had no other method for it.
 */
void rpcrdma_peer_limits_learn(struct rpcrdma_peer_limits *learned, u64 now,
			       const struct rpcrdma_rx *rx,
			       const struct rpcrdma_call *call,
			       const struct rpcrdma_lists *call_lists)
{
	const u32 octets = rx->error.arg[0];

	if (rx->error.code == RDMA2_ERR_REPLY_RESOURCE &&
	    reply_chunk_helps(rx, call_lists)) {
		const bool first = now >= learned->reply_until;

		if (first || octets < learned->reply_octets)
			learned->reply_octets = octets;
		if (first || call->reply_max < learned->reply_max)
			learned->reply_max = call->reply_max;
		keep(learned, learned->reply_until, now);
	} else if (rx->error.code == RDMA2_ERR_WRITE_RESOURCE &&
		   roundup_helps(rx, call, call_lists)) {
		keep(learned, learned->writes_until, now);
	}
}

/*
 * A server accepts continued Calls only while it has memory for all that it was sent
 * and has not executed yet; without memory, it closes the connection. If the client
 * continued them all on the next connection, the server would close that, too. A Call
 * in Read chunks waits at the server until there is memory to read it.
 *
 * A connection also ends for other reasons, and seldom twice in a short time: a cable
 * was cut, or the server dropped a Call with RPCSEC_GSS. A single loss is therefore no
 * sign of a server without memory. All Calls lost on one connection are one loss.
 */
void rpcrdma_peer_limits_lost(struct rpcrdma_peer_limits *learned, u64 now,
			      u32 number)
{
	if (now < learned->lost_until) {
		if (learned->lost_number == number)
			return;
		keep(learned, learned->parts_until, now);
	}
	learned->lost_until = now + LOSSES_APART;
	learned->lost_number = number;
}

/* If all limits have expired, the next Calls need not check. */
void rpcrdma_peer_limits_recall(struct rpcrdma_peer_limits *learned, u64 now,
				struct rpcrdma_call *call)
{
	if (now >= learned->reply_until && now >= learned->writes_until &&
	    now >= learned->parts_until)
		set_any(learned, false);
	call->reply_chunk_from =
		now < learned->reply_until ? learned->reply_octets : 0;
	call->refused_max = learned->reply_max;
	call->whole_writes = now < learned->writes_until;
	call->no_parts = now < learned->parts_until;
}

const char *rpcrdma_error_name(u32 code)
{
	const error_info *error = find_error(code);

	return error ? error->name : "unknown";
}

namespace
{

struct refusal {
	u32 code;
	const char *text;
};

/* By enum rpcrdma_refusal */
constexpr refusal REFUSALS[] = {
	{ 0, "nothing is wrong" },
	{ RDMA2_ERR_SYSTEM,
	  "it is larger than this service accepts; mount with a smaller wsize" },
	{ RDMA2_ERR_BAD_XDR,
	  "the data of its Read chunks is not a part of it" },
	{ RDMA2_ERR_SYSTEM, "no service accepts it" },
	{ RDMA2_ERR_SYSTEM,
	  "no form of its Reply is possible with its chunks" },
};
static_assert(sizeof(REFUSALS) / sizeof(REFUSALS[0]) ==
	      RPCRDMA_REFUSE_NO_REPLY + 1);

/* Return true if each attempt would fail with @status, a negative errno. */
bool lasting(int status)
{
	switch (-status) {
	case E_AGAIN:
	case E_NOMEM:
	case E_NOBUFS:
	case E_NOTCONN:
		return false;
	default:
		return true;
	}
}

enum rpcrdma_refusal refusal_of(enum rpcrdma_failed failed, int status)
{
	switch (failed) {
	case RPCRDMA_FAILED_CALL:
		return status == -E_OPNOTSUPP ? RPCRDMA_REFUSE_NO_SERVICE :
						RPCRDMA_REFUSE_TOO_LARGE;
	case RPCRDMA_FAILED_REPLY:
	case RPCRDMA_FAILED_KEPT_REPLY:
		return RPCRDMA_REFUSE_NO_REPLY;
	default:
		return RPCRDMA_REFUSE_NONE;
	}
}

/* Return true if a task at this end retries by itself. */
bool has_task(enum rpcrdma_failed failed)
{
	return failed == RPCRDMA_FAILED_KEPT_REPLY ||
	       failed == RPCRDMA_FAILED_SEND;
}

} // namespace

u32 rpcrdma_refusal_code(enum rpcrdma_refusal refusal)
{
	return REFUSALS[refusal].code;
}

const char *rpcrdma_refusal_text(enum rpcrdma_refusal refusal)
{
	return REFUSALS[refusal].text;
}

struct rpcrdma_remedy rpcrdma_remedy_for(enum rpcrdma_failed failed, int status)
{
	if (!status)
		return { RPCRDMA_REMEDY_NONE, RPCRDMA_REFUSE_NONE, 0, 0 };
	if (lasting(status))
		return { RPCRDMA_REMEDY_GIVE_UP, refusal_of(failed, status),
			 status, 0 };
	if (!has_task(failed) || status == -E_NOTCONN)
		return { RPCRDMA_REMEDY_CLOSE, RPCRDMA_REFUSE_NONE, -E_NOTCONN,
			 0 };
	/* No task is notified when memory becomes available. */
	if (status == -E_NOMEM)
		status = -E_NOBUFS;
	return { RPCRDMA_REMEDY_RETRY, RPCRDMA_REFUSE_NONE, status, 0 };
}
