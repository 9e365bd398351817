// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The state machine of a connection: setup, close and teardown; and a client's
 * reconnects.
 *
 * Operation
 *
 * A CM event is accepted only in the stage that is waiting for it; an event that ends
 * the connection takes effect once, in any stage. The setup context learns of the end
 * when it asks for its next step, so that no other context touches partly built
 * resources. The teardown is a table of steps with conditions: the user of an object
 * is torn down before the object. A client reconnects by another table: nothing is
 * left of the old connection when a new one is made.
 *
 * Errors
 *
 * Each event that ends a connection has an errno for the attempt, and a reason for the
 * log unless it is ordinary. The first event counts. sunrpc's tasks get an errno that
 * sunrpc knows: for any other errno it ends RPCs, even of hard mounts.
 *
 * Memory and locking
 *
 * struct rpcrdma_lifecycle is protected by the lock of the connection. A function
 * returns what its caller does after it has released the lock. A reconnect walk
 * belongs to one context, and needs no lock. Nothing is allocated here.
 */
#include "hostauth.hh"

namespace rpcrdma
{

namespace
{

/*
 * Every setup step has a time limit: the connection manager's own defaults
 * notice a dead peer after up to a minute. Milliseconds.
 */
constexpr u32 RESOLVE_MS = 5000;
constexpr u32 CONNECT_MS = 20000;
constexpr u32 OPEN_MS = 15000;
/*
 * Time limit for an opening that follows another answer (RPCRDMA_EV_ODD): a
 * peer that responds is not slow.
 */
constexpr u32 ODD_MS = 1000;

constexpr const char *OVERDUE = "the peer did not finish opening in time";
constexpr const char *ODD =
	"the peer's first answer is not a version 2 message";

/* The meaning of a CM event that ends a connection, in any stage */
struct meaning {
	enum rpcrdma_end end; /* NONE: it does not end */
	int status;
	const char *reason;
};

constexpr meaning MEANINGS[] = {
	/* RESOLVED */ { RPCRDMA_END_NONE, 0, nullptr },
	/* UNRESOLVED */ { RPCRDMA_END_HERE, -E_HOSTUNREACH, nullptr },
	/* ESTABLISHED */ { RPCRDMA_END_NONE, 0, nullptr },
	/* UNREACHABLE */ { RPCRDMA_END_AWAY, -E_HOSTUNREACH, nullptr },
	/* REJECTED */ { RPCRDMA_END_AWAY, -E_CONNREFUSED, nullptr },
	/* FAILED */ { RPCRDMA_END_HERE, -E_NOTCONN, nullptr },
	/* DISCONNECTED */ { RPCRDMA_END_PEER, -E_NOTCONN, nullptr },
	/* ADDRESS_CHANGED */
	{ RPCRDMA_END_HERE, -E_NODEV, "a local address changed" },
	/* REMOVED */ { RPCRDMA_END_HERE, -E_NODEV, nullptr },
};
static_assert(sizeof(MEANINGS) / sizeof(MEANINGS[0]) == RPCRDMA_NR_CM_EVENTS);

/* Conditions for a teardown step; otherwise it is skipped */
enum class needs : u8 {
	NOTHING,
	QUEUE_PAIR,
	STOPPED,   /* a queue pair that the device has stopped */
	UNSTOPPED, /* a queue pair that the device fails to stop */
	POSTED,	   /* STOPPED, and something was posted */
	HANDED,
};

struct release_step {
	enum rpcrdma_teardown what;
	needs needed;
};

/*
 * The user of an object is torn down before the object. Completions are reaped
 * from the device before any work is ended, and then the queue pair is reset:
 * completions may be present before the device has stopped working on their
 * Work Requests. If the device fails to stop, it may complete posted work, and
 * place data, until the queue pair and completion queues are destroyed: posted
 * work is ended after that. MRs and exposed Replies outlive the queue pair, so
 * that no peer can access freed memory.
 */
constexpr release_step RELEASES[] = {
	{ RPCRDMA_TEARDOWN_SETUP, needs::NOTHING },
	{ RPCRDMA_TEARDOWN_TIMERS, needs::NOTHING },
	{ RPCRDMA_TEARDOWN_DISCONNECT, needs::QUEUE_PAIR },
	{ RPCRDMA_TEARDOWN_STOP, needs::QUEUE_PAIR },
	{ RPCRDMA_TEARDOWN_DRAIN, needs::STOPPED },
	{ RPCRDMA_TEARDOWN_MESSAGES, needs::QUEUE_PAIR },
	/* Earlier, the connection manager may still be using the queue pair. */
	{ RPCRDMA_TEARDOWN_RESET, needs::POSTED },
	{ RPCRDMA_TEARDOWN_POSTED, needs::STOPPED },
	{ RPCRDMA_TEARDOWN_WAITING, needs::QUEUE_PAIR },
	{ RPCRDMA_TEARDOWN_USERS, needs::NOTHING },
	{ RPCRDMA_TEARDOWN_QUEUE_PAIR, needs::QUEUE_PAIR },
	{ RPCRDMA_TEARDOWN_COMPLETIONS, needs::NOTHING },
	{ RPCRDMA_TEARDOWN_POSTED, needs::UNSTOPPED },
	{ RPCRDMA_TEARDOWN_MRS, needs::NOTHING },
	{ RPCRDMA_TEARDOWN_EXPOSED, needs::NOTHING },
	{ RPCRDMA_TEARDOWN_BUFFERS, needs::NOTHING },
	{ RPCRDMA_TEARDOWN_DOMAIN, needs::NOTHING },
	/* The removal of the device waits until the last ID is destroyed. */
	{ RPCRDMA_TEARDOWN_ID, needs::NOTHING },
	{ RPCRDMA_TEARDOWN_GONE, needs::NOTHING },
	{ RPCRDMA_TEARDOWN_NOTIFY, needs::HANDED },
};
constexpr u32 NR_RELEASES = sizeof(RELEASES) / sizeof(RELEASES[0]);

bool release_needed(needs needed, const struct rpcrdma_lifecycle *life, bool qp,
		    bool posted)
{
	switch (needed) {
	case needs::NOTHING:
		return true;
	case needs::QUEUE_PAIR:
		return qp;
	case needs::STOPPED:
		return qp && !life->unstopped;
	case needs::UNSTOPPED:
		/* The queue pair is destroyed by then. */
		return life->unstopped;
	case needs::POSTED:
		return qp && !life->unstopped && posted;
	case needs::HANDED:
		return !life->client || life->owned_by_transport;
	}
	return true;
}

bool closing(const struct rpcrdma_lifecycle *life)
{
	return life->stage >= RPCRDMA_STAGE_CLOSING;
}

struct rpcrdma_lifecycle_actions close(struct rpcrdma_lifecycle *life,
				       enum rpcrdma_end end, int status,
				       const char *reason)
{
	if (closing(life))
		return {};
	life->end = static_cast<u8>(end);
	life->stage = RPCRDMA_STAGE_CLOSING;
	life->may_send = false;
	life->step_done = true;
	life->status = status;
	life->reason = reason;
	return { RPCRDMA_LIFECYCLE_WAKE | RPCRDMA_LIFECYCLE_CLOSE, reason };
}

struct rpcrdma_setup_step make(enum rpcrdma_setup what, u32 ms)
{
	return { .what = what,
		 .ms = ms,
		 .status = 0,
		 .answer = RPCRDMA_ANSWER_NOT_YET,
		 .step = {} };
}

struct rpcrdma_setup_step wait(struct rpcrdma_lifecycle *life, u32 ms)
{
	/* An answer received so far has been processed. */
	life->step_done = false;
	return make(RPCRDMA_SETUP_WAIT, ms);
}

struct rpcrdma_setup_step ask(struct rpcrdma_lifecycle *life,
			      enum rpcrdma_stage stage, enum rpcrdma_setup what,
			      u32 ms)
{
	life->stage = static_cast<u8>(stage);
	life->step_done = false;
	return make(what, ms);
}

/*
 * Return the peer's answer. A peer that was never connected has not answered,
 * unless it did not accept.
 */
enum rpcrdma_answer answer_of(const struct rpcrdma_lifecycle *life,
			      const struct rpcrdma_conn *conn)
{
	const auto end = static_cast<enum rpcrdma_end>(life->end);

	return life->established || end == RPCRDMA_END_AWAY ?
		       rpcrdma_conn_answer(conn, end) :
		       RPCRDMA_ANSWER_NOT_YET;
}

/* Return true if another version may succeed after @answer. */
bool speaks_against_version(enum rpcrdma_answer answer)
{
	return answer == RPCRDMA_ANSWER_NONE || answer == RPCRDMA_ANSWER_LOST ||
	       answer == RPCRDMA_ANSWER_REFUSED || answer == RPCRDMA_ANSWER_ODD;
}

/* End setup without a connection. */
struct rpcrdma_setup_step give_up(const struct rpcrdma_lifecycle *life,
				  const struct rpcrdma_conn *conn)
{
	struct rpcrdma_setup_step m = make(RPCRDMA_SETUP_END, 0);

	m.status = rpcrdma_auth_denied(conn) ? -E_ACCES : life->status;
	m.answer = answer_of(life, conn);
	if (m.status == -E_NOTCONN && speaks_against_version(m.answer))
		m.status = -E_PROTONOSUPPORT;
	return m;
}

/* Handle a setup step that failed, or timed out. */
struct rpcrdma_setup_step fail(struct rpcrdma_lifecycle *life,
			       const struct rpcrdma_conn *conn, int result)
{
	const bool away = life->client && result == -E_TIMEDOUT &&
			  life->stage == RPCRDMA_STAGE_CONNECTING;
	struct rpcrdma_lifecycle_actions step;
	struct rpcrdma_setup_step m;

	if (life->client && life->stage == RPCRDMA_STAGE_OPENING)
		step = close(life, RPCRDMA_END_WAITED, -E_NOTCONN,
			     life->odd ? ODD : OVERDUE);
	else
		step = close(life, away ? RPCRDMA_END_AWAY : RPCRDMA_END_HERE,
			     result, nullptr);
	m = give_up(life, conn);
	m.step = step;
	return m;
}

struct rpcrdma_setup_step make_client(struct rpcrdma_lifecycle *life)
{
	switch (life->stage) {
	case RPCRDMA_STAGE_IDLE:
		return ask(life, RPCRDMA_STAGE_RESOLVING, RPCRDMA_SETUP_ADDRESS,
			   RESOLVE_MS);
	case RPCRDMA_STAGE_RESOLVING:
		if (!life->step_done)
			return wait(life, RESOLVE_MS);
		return ask(life, RPCRDMA_STAGE_ROUTING, RPCRDMA_SETUP_ROUTE,
			   RESOLVE_MS);
	case RPCRDMA_STAGE_ROUTING:
		if (!life->step_done)
			return wait(life, RESOLVE_MS);
		return ask(life, RPCRDMA_STAGE_PREPARING, RPCRDMA_SETUP_OBJECTS,
			   0);
	case RPCRDMA_STAGE_PREPARING:
		return ask(life, RPCRDMA_STAGE_CONNECTING,
			   RPCRDMA_SETUP_CONNECT, CONNECT_MS);
	case RPCRDMA_STAGE_CONNECTING:
		return wait(life, CONNECT_MS);
	case RPCRDMA_STAGE_OPENING:
		return wait(life, life->odd ? ODD_MS : OPEN_MS);
	default:
		/* From now on the transport is notified of the close. */
		life->owned_by_transport = true;
		return make(RPCRDMA_SETUP_END, 0);
	}
}

struct rpcrdma_setup_step make_server(struct rpcrdma_lifecycle *life)
{
	switch (life->stage) {
	case RPCRDMA_STAGE_IDLE:
		return ask(life, RPCRDMA_STAGE_PREPARING, RPCRDMA_SETUP_OBJECTS,
			   0);
	case RPCRDMA_STAGE_PREPARING:
		/*
		 * The client's first message may precede the ESTABLISHED event.
		 */
		life->may_send = true;
		return ask(life, RPCRDMA_STAGE_CONNECTING, RPCRDMA_SETUP_ACCEPT,
			   OPEN_MS);
	default:
		return make(RPCRDMA_SETUP_END, 0);
	}
}

/*
 * Errnos of attempts, and the errnos with which tasks are woken; all others: -ENOTCONN
 */
struct wake_status {
	int status, as;
};

constexpr wake_status WAKE_STATUS[] = {
	{ E_CONNREFUSED, E_CONNREFUSED },
	{ E_CONNRESET, E_CONNRESET },
	{ E_CONNABORTED, E_CONNABORTED },
	{ E_HOSTUNREACH, E_HOSTUNREACH },
	{ E_PIPE, E_PIPE },
	{ E_ADDRINUSE, E_ADDRINUSE },
	{ E_TIMEDOUT, E_TIMEDOUT },
	{ E_NOBUFS, E_NOBUFS },
	{ E_NOMEM, E_NOBUFS },
	/*
	 * After ENETDOWN and ENETUNREACH, sunrpc ends the RPCs of a mount in a
	 * container, even of a hard one. The port reports ENETDOWN when the container's
	 * network is lost. A missing device, address or route has another errno,
	 * because it may return.
	 */
	{ E_NETDOWN, E_NETDOWN },
	{ E_NETUNREACH, E_HOSTUNREACH },
	{ E_NODEV, E_HOSTUNREACH },
	{ E_ADDRNOTAVAIL, E_HOSTUNREACH },
	/* Errors of this end: its addresses, its device, its settings */
	{ E_INVAL, E_PROTO },
	{ E_ACCES, E_PROTO },
	{ E_PERM, E_PROTO },
	{ E_AFNOSUPPORT, E_PROTO },
	{ E_OPNOTSUPP, E_PROTO },
};

/* Conditions for a reconnect step */
enum class when : u8 {
	ALWAYS,
	UNOPENED, /* the peer accepted one, but did not open it */
	MADE,
	ENDED, /* made, and no longer open */
};

struct reconnect_entry {
	enum rpcrdma_reconnect what;
	when needed;
};

/*
 * The old connection is fully torn down before a new one is created. The new
 * endpoint is installed for senders before the xprt is marked connected, and
 * only afterwards is it checked whether the endpoint has already closed: a
 * close before that point found a different endpoint installed and notified
 * nothing. Tasks are woken while senders are still blocked: a task that has
 * sent waits for its Reply on the same queue, and if woken there would send its
 * Call a second time, which ends the connection.
 */
constexpr reconnect_entry CONNECTS[] = {
	{ RPCRDMA_RECONNECT_FORGET, when::ALWAYS },
	{ RPCRDMA_RECONNECT_TRY, when::ALWAYS },
	{ RPCRDMA_RECONNECT_TRY_OTHER, when::UNOPENED },
	{ RPCRDMA_RECONNECT_KEEP, when::MADE },
	{ RPCRDMA_RECONNECT_SETTLED, when::ALWAYS },
	{ RPCRDMA_RECONNECT_UP, when::MADE },
	{ RPCRDMA_RECONNECT_DROP, when::ENDED },
	{ RPCRDMA_RECONNECT_WAKE, when::ALWAYS },
	{ RPCRDMA_RECONNECT_UNLOCK, when::ALWAYS },
};

constexpr reconnect_entry CLOSES[] = {
	{ RPCRDMA_RECONNECT_FORGET, when::ALWAYS },
	{ RPCRDMA_RECONNECT_DOWN, when::ALWAYS },
};

bool happens(when needed, int status, bool open)
{
	switch (needed) {
	case when::ALWAYS:
		return true;
	case when::UNOPENED:
		return status == -E_PROTONOSUPPORT;
	case when::MADE:
		return !status;
	case when::ENDED:
		return !status && !open;
	}
	return false;
}

template <u32 N>
enum rpcrdma_reconnect next_of(const reconnect_entry (&steps)[N],
			       struct rpcrdma_reconnect_walk *walk, bool open)
{
	while (walk->next < N) {
		const reconnect_entry &s = steps[walk->next++];

		if (happens(s.needed, walk->status, open))
			return s.what;
	}
	return RPCRDMA_RECONNECT_END;
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_cm_event(struct rpcrdma_lifecycle *life,
			   enum rpcrdma_cm_event event, int rejection)
{
	/*
	 * A peer may end a connection before its connection manager has received this
	 * end's confirmation. The connection manager then rejects the connection,
	 * although it was established.
	 */
	if (event == RPCRDMA_CM_REJECTED && rejection != RPCRDMA_REJECT_STALE &&
	    (life->stage == RPCRDMA_STAGE_OPENING ||
	     life->stage == RPCRDMA_STAGE_OPEN))
		event = RPCRDMA_CM_DISCONNECTED;

	const meaning &m = MEANINGS[event];

	if (m.end != RPCRDMA_END_NONE) {
		/*
		 * Not a refusal: the peer still holds state for an old
		 * connection with the same numbers, from before this host
		 * restarted (IB CM "stale connection").
		 */
		const bool stale = event == RPCRDMA_CM_REJECTED &&
				   rejection == RPCRDMA_REJECT_STALE;

		return close(life, stale ? RPCRDMA_END_HERE : m.end,
			     stale ? -E_NOTCONN : m.status, m.reason);
	}
	if (event == RPCRDMA_CM_RESOLVED) {
		if (life->stage != RPCRDMA_STAGE_RESOLVING &&
		    life->stage != RPCRDMA_STAGE_ROUTING)
			return {};
		life->step_done = true;
		return { RPCRDMA_LIFECYCLE_WAKE, nullptr };
	}
	/*
	 * A server may be open before the event: its client's message was
	 * faster.
	 */
	if (life->stage == RPCRDMA_STAGE_OPEN)
		life->established = true;
	if (life->stage != RPCRDMA_STAGE_CONNECTING)
		return {};
	life->stage = RPCRDMA_STAGE_OPENING;
	life->may_send = true;
	life->step_done = true;
	life->established = true;
	return { RPCRDMA_LIFECYCLE_BEGIN | RPCRDMA_LIFECYCLE_WAKE, nullptr };
}

struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_opened(struct rpcrdma_lifecycle *life)
{
	if (life->stage != RPCRDMA_STAGE_CONNECTING &&
	    life->stage != RPCRDMA_STAGE_OPENING)
		return {};
	life->stage = RPCRDMA_STAGE_OPEN;
	life->opened = true;
	life->may_send = true;
	life->step_done = true;
	return { RPCRDMA_LIFECYCLE_OPENED | RPCRDMA_LIFECYCLE_WAKE, nullptr };
}

struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_overdue(struct rpcrdma_lifecycle *life)
{
	/*
	 * The client's confirmation was lost, and the connection manager would
	 * finally report the client as unreachable. Do not confirm earlier: a
	 * disconnect soon afterwards would wait until the connection manager
	 * stops retransmitting its reply.
	 */
	if (life->stage == RPCRDMA_STAGE_OPEN && !life->client &&
	    !life->established)
		return { RPCRDMA_LIFECYCLE_CONFIRM, nullptr };
	if (life->stage >= RPCRDMA_STAGE_OPEN)
		return {};
	return close(life, RPCRDMA_END_WAITED, -E_NOTCONN, OVERDUE);
}

/* A message may precede the ESTABLISHED event. */
struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_odd(struct rpcrdma_lifecycle *life)
{
	if (life->stage != RPCRDMA_STAGE_CONNECTING &&
	    life->stage != RPCRDMA_STAGE_OPENING)
		return {};
	life->odd = true;
	if (life->stage == RPCRDMA_STAGE_CONNECTING)
		return {};
	life->step_done = true;
	return { RPCRDMA_LIFECYCLE_WAKE, nullptr };
}

/*
 * When a client is rejected, the connection manager stops the queue pair first,
 * and then reports the reason. If the queue pair stops before this end has
 * closed the connection, the peer has disconnected: a failure would first have
 * completed the Work Request that failed.
 */
struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_failed(struct rpcrdma_lifecycle *life,
			 enum rpcrdma_failure failure, const char *why)
{
	const bool flushed = failure == RPCRDMA_FAILURE_FLUSHED;

	if (flushed && life->client && life->stage < RPCRDMA_STAGE_OPENING)
		return {};
	return close(life,
		     failure == RPCRDMA_FAILURE_HERE ? RPCRDMA_END_HERE :
						       RPCRDMA_END_PEER,
		     -E_NOTCONN, flushed ? nullptr : why);
}

struct rpcrdma_lifecycle_actions
rpcrdma_lifecycle_close(struct rpcrdma_lifecycle *life, const char *reason)
{
	return close(life, reason ? RPCRDMA_END_HERE : RPCRDMA_END_WAITED,
		     -E_NOTCONN, reason);
}

struct rpcrdma_setup_step
rpcrdma_lifecycle_next_setup(struct rpcrdma_lifecycle *life,
			     const struct rpcrdma_conn *conn, int result)
{
	/* The answer may have arrived just after the wait timed out. */
	if (result == -E_TIMEDOUT && life->step_done)
		result = 0;
	if (closing(life)) {
		/*
		 * A server's setup ends; the context that closed it has logged
		 * the cause.
		 */
		return life->client ? give_up(life, conn) :
				      make(RPCRDMA_SETUP_END, 0);
	}
	if (result < 0)
		return fail(life, conn, result);

	struct rpcrdma_setup_step m = life->client ? make_client(life) :
						     make_server(life);

	/* The time for a peer's opening is not configurable by the caller. */
	if (life->limit_ms && life->stage < RPCRDMA_STAGE_OPENING)
		m.ms = min_u32(m.ms, life->limit_ms);
	return m;
}

enum rpcrdma_teardown
rpcrdma_lifecycle_next_teardown(struct rpcrdma_lifecycle *life, bool qp,
				bool posted, int result)
{
	if (result && !life->unstopped) {
		/* A device may fail while it disconnects by itself. */
		if (++life->stops < RPCRDMA_STOP_TRIES) {
			life->released--;
			return RPCRDMA_TEARDOWN_PAUSE;
		}
		life->unstopped = true;
	}
	while (life->released < NR_RELEASES) {
		const release_step &r = RELEASES[life->released++];

		if (!release_needed(r.needed, life, qp, posted))
			continue;
		/* No more completions arrive. */
		if (r.needed == needs::UNSTOPPED)
			life->unstopped = false;
		if (r.what == RPCRDMA_TEARDOWN_GONE)
			life->stage = RPCRDMA_STAGE_GONE;
		return r.what;
	}
	return RPCRDMA_TEARDOWN_END;
}

int rpcrdma_connect_status(int status)
{
	for (const wake_status &t : WAKE_STATUS)
		if (status == -t.status)
			return -t.as;
	return -E_NOTCONN;
}

struct rpcrdma_reconnect_step
rpcrdma_reconnect_next(struct rpcrdma_reconnect_walk *walk, int result,
		       bool open)
{
	const bool begun = walk->next && !walk->close;
	const enum rpcrdma_reconnect last =
		begun ? CONNECTS[walk->next - 1].what :
			RPCRDMA_RECONNECT_FORGET;

	if (last == RPCRDMA_RECONNECT_TRY ||
	    last == RPCRDMA_RECONNECT_TRY_OTHER)
		walk->status = result;
	return {
		.what = walk->close ? next_of(CLOSES, walk, open) :
				      next_of(CONNECTS, walk, open),
		.status = auth::wake_status(walk),
	};
}
