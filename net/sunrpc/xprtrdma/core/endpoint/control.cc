// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The setup of a connection, the actions that follow its events, and control messages
 * that the transport requests. conn/lifecycle.cc has the state machine, and device.cc
 * the configuration.
 *
 * Operation
 *
 * All event sources call rpcrdma_core_happened(). It changes the state and the
 * counters under the lock, and runs the resulting actions after it has released the
 * lock. Actions of two events may therefore run at the same time. The setup context
 * calls rpcrdma_core_setup(), which executes steps until one has to be waited for; the
 * host waits. An ERROR or a DONE is queued, and posted when credits and the Send Queue
 * permit.
 *
 * A client that begins with version 1 is open when it is connected. The Receives that
 * it lacks are allocated by a work item of the host, because the event is handled in
 * the connection manager's thread.
 *
 * Memory
 *
 * If memory for the first Receives is short, the inline thresholds are lowered. A setup
 * that fails frees nothing: the teardown does.
 *
 * Errors
 *
 * A step that fails or exceeds its time closes the connection, and a client's setup
 * returns the errno for the transport. The end of a connection is counted once, with
 * its cause if that has a counter. rpcrdma_core_remedy() translates the failure of a
 * Responder into an ERROR, a retry or a close.
 *
 * Locking
 *
 * The lock of the connection protects the state machine. The steps of a setup, and
 * actions, run without it.
 */
#include "sends.hh"

namespace rpcrdma
{

namespace
{

/*
 * Events of a connection that opens with its establishment: it allocates all its
 * Receives first.
 */
constexpr u32 LATER = RPCRDMA_EV_OPENED | RPCRDMA_EV_RECEIVES;

/* Create the device's objects, and post the first Receives. The teardown cleans up. */
int make_objects(rpcrdma_ep_core *core)
{
	rpcrdma_ep_params *p = core->control.params;
	int rc = rpcrdma_port_objects(core);

	if (rc)
		return rc;
	rc = make_sends(core);
	if (rc)
		return rc;
	rpcrdma_core_recvs_due(core);
	if (is_closing(core))
		return -E_NOMEM;
	if (core->life.client)
		make_reserve(core);
	/* With little memory, buffers are smaller than configured. */
	p->send_size = core->conn.cfg.props.sbsiz;
	p->recv_size = core->conn.cfg.props.rbsiz;
	return 0;
}

/*
 * Begin the exchange of properties on an established connection. A client of version
 * 1 is open now. It does not allocate its Receives here, because connection managers
 * have one thread for these events of all devices and protocols. Return events.
 */
u32 begin(rpcrdma_ep_core *core, const rpcrdma_cm_peer *peer)
{
	u32 events;

	if (peer)
		record_peer(core, peer);
	events = rpcrdma_conn_established(&core->conn);
	/* A server may have received a HELLO before this, and has counted it then. */
	if (core->conn.cfg.client && core->control.auth &&
	    core->conn.state == RPCRDMA_CONN_OPENING)
		rpcrdma_port_count(core, RPCRDMA_COUNT_AUTHS_STARTED);
	if (events & RPCRDMA_EV_OPENED) {
		events &= ~LATER;
		/* The connection is not closing: the teardown stops what is started here. */
		rpcrdma_port_open_later(core);
	}
	return events;
}

rpcrdma_lifecycle_actions step_of(rpcrdma_lifecycle *life,
				  const rpcrdma_lifecycle_event *event)
{
	switch (event->what) {
	case RPCRDMA_HAPPENED_CM_EVENT:
		return rpcrdma_lifecycle_cm_event(life, event->event,
						  event->rejection);
	case RPCRDMA_HAPPENED_OPENED:
		return rpcrdma_lifecycle_opened(life);
	case RPCRDMA_HAPPENED_OVERDUE:
		return rpcrdma_lifecycle_overdue(life);
	case RPCRDMA_HAPPENED_ODD:
		return rpcrdma_lifecycle_odd(life);
	case RPCRDMA_HAPPENED_FAILED:
		return rpcrdma_lifecycle_failed(life, event->failure,
						event->reason);
	case RPCRDMA_HAPPENED_CLOSE:
		return rpcrdma_lifecycle_close(life, event->reason);
	}
	return {};
}

void count_auth_failure(rpcrdma_ep_core *core)
{
	const rpcrdma_counter cause =
		rpcrdma_counter_of_auth(rpcrdma_conn_auth_result(&core->conn));

	if (cause == RPCRDMA_NR_COUNTERS)
		return;
	rpcrdma_port_count(core, RPCRDMA_COUNT_AUTHS_FAILED);
	rpcrdma_port_count(core, cause);
}

/* Count the end of a connection that was in @stage when @event occurred. */
void count_end(rpcrdma_ep_core *core, const rpcrdma_lifecycle_event *event,
	       u8 stage)
{
	const rpcrdma_counter cause = rpcrdma_counter_of_end(event, stage);

	if (cause != RPCRDMA_NR_COUNTERS)
		rpcrdma_port_count(core, cause);
	if (core->life.opened)
		rpcrdma_port_count(core, RPCRDMA_COUNT_CLOSED);
	count_auth_failure(core);
}

/* Return the next step of a setup. Set @stage to the stage before it. */
rpcrdma_setup_step next_step_of_setup(rpcrdma_ep_core *core, int result,
				      u8 *stage)
{
	const locked under(core);

	*stage = core->life.stage;
	return rpcrdma_lifecycle_next_setup(&core->life, &core->conn, result);
}

/*
 * Begin to resolve the server's address. Return -ENETDOWN only if the network is lost:
 * after that, sunrpc ends the RPCs of a mount with "fatal_neterrors".
 */
int resolve(rpcrdma_ep_core *core, const rpcrdma_setup_step *m)
{
	const int rc = rpcrdma_port_make(core, m);

	switch (rc) {
	case -E_NETDOWN:
	case -E_NETUNREACH:
	case -E_NODEV:
	case -E_ADDRNOTAVAIL:
		return rpcrdma_port_network_lost(core) ? -E_NETDOWN :
							 -E_NETUNREACH;
	default:
		return rc;
	}
}

/* Count a setup that failed, and its cause if no event has been counted. */
void count_failed_setup(rpcrdma_ep_core *core, u8 stage,
			const rpcrdma_setup_step *end)
{
	const rpcrdma_counter cause =
		rpcrdma_counter_of_setup(&core->life, stage, end);

	rpcrdma_port_count(core, core->life.client ?
					 RPCRDMA_COUNT_CONNECTS_FAILED :
					 RPCRDMA_COUNT_ACCEPTS_FAILED);
	if (cause != RPCRDMA_NR_COUNTERS)
		rpcrdma_port_count(core, cause);
}

/* The actions that follow an event */
struct happened_step {
	rpcrdma_lifecycle_actions life;
	u32 events; /* RPCRDMA_EV_* */
};

/* Handle an event. Return the actions that follow. */
happened_step handle(rpcrdma_ep_core *core,
		     const rpcrdma_lifecycle_event *event)
{
	const locked under(core);
	const u8 stage = core->life.stage;
	happened_step step = { .life = step_of(&core->life, event),
			       .events = 0 };

	if (step.life.todo & RPCRDMA_LIFECYCLE_CLOSE)
		count_end(core, event, stage);
	if (step.life.todo & RPCRDMA_LIFECYCLE_BEGIN)
		step.events = begin(core, event->peer);
	/* If the handshake has failed, log its reason for the close. */
	if (step.life.todo & RPCRDMA_LIFECYCLE_CLOSE &&
	    rpcrdma_auth_failed(&core->conn))
		step.life.reason = rpcrdma_auth_reason(
			rpcrdma_conn_auth_result(&core->conn));
	return step;
}

/* Queue an ERROR or a DONE, if the connection is open. Return events. */
u32 queue_error(rpcrdma_ep_core *core, u32 xid, u32 code, u32 arg0, u32 arg1)
{
	const locked under(core);

	return is_open(core) ? rpcrdma_conn_queue_error(&core->conn, xid, code,
							arg0, arg1) :
			       0;
}

u32 queue_done(rpcrdma_ep_core *core, u32 xid, u32 inv_handle)
{
	const locked under(core);

	return is_open(core) ?
		       rpcrdma_conn_queue_done(&core->conn, xid, inv_handle) :
		       0;
}

/* Report that RPC traffic may begin. */
void opened(rpcrdma_ep_core *core)
{
	rpcrdma_port_count(core, RPCRDMA_COUNT_OPENED);
	if (rpcrdma_conn_fell_back(&core->conn))
		rpcrdma_port_count(core, RPCRDMA_COUNT_FALLBACKS);
	if (rpcrdma_conn_auth_result(&core->conn) == RPCRDMA_AUTH_DONE)
		rpcrdma_port_count(core, RPCRDMA_COUNT_AUTHS_DONE);
	if (rpcrdma_conn_refused(&core->conn))
		rpcrdma_port_version_refused(core);
	rpcrdma_port_opened(core);
}

/* Run the actions that follow an event, in their order. No lock held. */
void run_actions(rpcrdma_ep_core *core, const happened_step *step)
{
	const u32 todo = step->life.todo;

	if (step->events)
		rpcrdma_core_events(core, step->events);
	if (todo & RPCRDMA_LIFECYCLE_OPENED)
		opened(core);
	if (todo & RPCRDMA_LIFECYCLE_WAKE)
		rpcrdma_port_wake(core);
	if (todo & RPCRDMA_LIFECYCLE_CLOSE)
		rpcrdma_port_closing(core, step->life.reason);
	if (todo & RPCRDMA_LIFECYCLE_CONFIRM)
		rpcrdma_port_confirm(core);
}

} // namespace

} // namespace rpcrdma

using namespace rpcrdma;

void rpcrdma_core_happened(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_lifecycle_event *event)
{
	const happened_step step = handle(core, event);

	run_actions(core, &step);
}

void rpcrdma_core_close(struct rpcrdma_ep_core *core, const char *reason)
{
	rpcrdma_lifecycle_event event{};

	event.what = RPCRDMA_HAPPENED_CLOSE;
	event.reason = reason;
	rpcrdma_core_happened(core, &event);
}

void rpcrdma_core_failed(struct rpcrdma_ep_core *core,
			 enum rpcrdma_failure failure, const char *reason)
{
	rpcrdma_lifecycle_event event{};

	event.what = RPCRDMA_HAPPENED_FAILED;
	event.failure = failure;
	event.reason = reason;
	rpcrdma_core_happened(core, &event);
}

void rpcrdma_core_open_later(struct rpcrdma_ep_core *core)
{
	rpcrdma_core_events(core, LATER);
}

struct rpcrdma_setup_step rpcrdma_core_setup(struct rpcrdma_ep_core *core,
					     int result)
{
	if (!result && core->life.stage == RPCRDMA_STAGE_IDLE)
		result = begin_auth(core);
	for (;;) {
		u8 stage;
		const rpcrdma_setup_step m =
			next_step_of_setup(core, result, &stage);

		switch (m.what) {
		case RPCRDMA_SETUP_ADDRESS:
			result = resolve(core, &m);
			break;
		case RPCRDMA_SETUP_OBJECTS:
			result = make_objects(core);
			break;
		case RPCRDMA_SETUP_WAIT:
			return m;
		case RPCRDMA_SETUP_END: {
			const happened_step end = { .life = m.step,
						    .events = 0 };

			core->control.answer = m.answer;
			if (m.status < 0)
				count_failed_setup(core, stage, &m);
			run_actions(core, &end);
			return m;
		}
		default:
			result = rpcrdma_port_make(core, &m);
			break;
		}
	}
}

void rpcrdma_core_send_error(struct rpcrdma_ep_core *core, u32 xid, u32 code,
			     u32 arg0, u32 arg1)
{
	rpcrdma_port_refuses(core, xid, code);
	rpcrdma_core_events(core, queue_error(core, xid, code, arg0, arg1));
}

struct rpcrdma_remedy rpcrdma_core_remedy(struct rpcrdma_ep_core *core, u32 xid,
					  enum rpcrdma_failed failed,
					  int status,
					  const struct rpcrdma_reply_plan *plan,
					  const char *reason)
{
	rpcrdma_remedy remedy = rpcrdma_remedy_for(failed, status);

	if (plan && plan->error) {
		remedy.kind = RPCRDMA_REMEDY_GIVE_UP;
		remedy.code = plan->error;
		rpcrdma_core_send_error(core, xid, remedy.code, plan->arg[0],
					plan->arg[1]);
	} else if (remedy.kind == RPCRDMA_REMEDY_GIVE_UP) {
		remedy.code = rpcrdma_refusal_code(remedy.refusal);
		rpcrdma_core_send_error(core, xid, remedy.code, 0, 0);
	} else if (remedy.kind == RPCRDMA_REMEDY_CLOSE) {
		rpcrdma_core_close(core, reason);
	}
	return remedy;
}

void rpcrdma_core_send_done(struct rpcrdma_ep_core *core, u32 xid,
			    u32 inv_handle)
{
	rpcrdma_core_events(core, queue_done(core, xid, inv_handle));
}
