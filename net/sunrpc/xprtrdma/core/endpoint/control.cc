// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The configuration and setup of a connection, the actions that follow its events, and
 * control messages that the transport requests. conn/lifecycle.cc has the state
 * machine.
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
 * The parameters are lowered when the connection is attached to the quota, if memory is
 * tight, and to the device's limits in the setup. If memory for the first Receives is
 * short, the inline thresholds are lowered, too. A setup that fails frees nothing: the
 * teardown does.
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

/* The largest message that this end sends or receives */
constexpr u32 MOST_MESSAGE = 65536;

/* A queue pair's attributes have a byte for outstanding Reads. */
constexpr u32 MOST_READS = 255;

/*
 * Events of a connection that opens with its establishment: it allocates all its
 * Receives first.
 */
constexpr u32 LATER = RPCRDMA_EV_OPENED | RPCRDMA_EV_RECEIVES;

/*
 * Return true if the device can be used. A server needs no MRs registered by Work
 * Requests if RDMA Read works without them. It then invalidates nothing, provides no
 * chunks, and its Replies are not pulled.
 */
bool usable(const rpcrdma_ep_core *core, const rpcrdma_device_limits *dev)
{
	return dev->registers || (!core->life.client && !dev->reads_into_mrs);
}

/* Lower the parameters to the device's limits, and return the load that remains. */
rpcrdma_load lower(const rpcrdma_ep_core *core, rpcrdma_ep_params *p,
		   const rpcrdma_device_limits *dev)
{
	if (!dev->registers) {
		p->max_mrs = 0;
		p->expose_octets = 0;
	}

	rpcrdma_load load = { .window = p->window,
			      .sends = p->sends,
			      .mrs = p->max_mrs,
			      .reads = p->reads,
			      .client = core->life.client,
			      .version_low = p->version_low };

	rpcrdma_load_fit(&load, dev->queues.wrs);
	p->window = load.window;
	p->sends = load.sends;
	p->reads = load.reads;
	return load;
}

/* Lower the parameters to the minimum, because memory is tight. */
void be_small(rpcrdma_ep_params *p)
{
	const u32 octets = RPCRDMA_V2_DEFAULT_INLINE;
	const u32 calls = RPCRDMA_USUAL_WINDOW;

	p->recv_size = min_u32(p->recv_size, octets);
	p->send_size = min_u32(p->send_size, octets);
	p->window = min_u32(p->window, calls + p->reverse);
	p->sends = min_u32(p->sends, calls + p->reverse);
	p->reads = min_u32(p->reads, calls);
}

rpcrdma_conn_config config_of(const rpcrdma_ep_core *core,
			      const rpcrdma_device_limits *dev)
{
	const rpcrdma_ep_params *p = core->control.params;
	rpcrdma_conn_config cfg{};

	cfg.number = core->control.number;
	cfg.client = core->life.client;
	cfg.version_low = p->version_low;
	cfg.version_high = p->version_high;
	cfg.inv_ok = dev->invalidates;
	cfg.no_mrs = !dev->registers;
	cfg.fallback_v1 = p->fallback_v1;
	cfg.window = p->window;
	cfg.first_window = p->first_window;
	cfg.reverse = p->reverse;
	cfg.expose_octets = p->expose_octets;
	cfg.done_ms = p->done_ms;
	cfg.stall_ms = p->stall_ms;
	cfg.props.sbsiz = min_u32(p->send_size, MOST_MESSAGE);
	cfg.props.rbsiz = min_u32(p->recv_size, MOST_MESSAGE);
	cfg.props.rssiz = dev->max_segment;
	cfg.props.rcsiz = dev->max_segs;
	cfg.props.brs = p->brs;
	cfg.props.reply_read = rpcrdma_reply_read(p->pull, p->expose_octets);
	cfg.props.reassembly = p->reassembly;
	cfg.auth_mode = p->auth;
	cfg.auth = core->control.auth;
	return cfg;
}

/*
 * Announce no more segments than there are MRs to read them into, if the device can read
 * into MRs only: a Call with more would be refused. Without @reads, this end reads
 * nothing, and the segments are of other chunks.
 */
void announce_reads(rpcrdma_ep_core *core, const rpcrdma_device_limits *dev,
		    u32 reads)
{
	rpcrdma_props *own = &core->conn.cfg.props;

	if (dev->reads_into_mrs && reads)
		own->rcsiz = min_u32(own->rcsiz, reads);
}

/*
 * Return the maximum size of a part of a transfer, the Work Requests of which have @sges
 * elements of a page each. A part is never divided between batches.
 */
u32 part_octets(const rpcrdma_ep_core *core, u32 sges, u32 page_shift)
{
	const u32 pages = rpcrdma_sq_part_pages(&core->sq, max_u32(sges, 1));

	/* A part need not be page-aligned. */
	return clamp_u32(pages - 1, 1,
			 u32{ RPCRDMA_MAX_CHUNK_OCTETS } >> page_shift)
	       << page_shift;
}

/*
 * Set the sizes of the parts of transfers. A device that reads better into MRs, but does
 * not have to, reads a few elements without one.
 */
void set_parts(rpcrdma_ep_core *core, const rpcrdma_device_limits *dev,
	       const rpcrdma_queue_pair *qp)
{
	rpcrdma_ep_rw *rw = &core->rw;

	rw->write_part = part_octets(core, qp->write_sges, dev->page_shift);
	rw->read_part = part_octets(core, qp->read_sges, dev->page_shift);
	rw->limits.page_shift = dev->page_shift;
	rw->limits.pages = dev->read_pages;
	rw->limits.octets = dev->reads_into_mrs ?
				    u32{ RPCRDMA_MAX_CHUNK_OCTETS } :
				    rw->read_part;
}

/*
 * Record the content of the peer's request or answer, and the number of Reads that both
 * ends can have outstanding.
 */
void record_peer(rpcrdma_ep_core *core, const rpcrdma_cm_peer *peer)
{
	rpcrdma_ep_control *c = &core->control;

	rpcrdma_conn_set_peer_private(&core->conn, &peer->priv);
	c->reads_in = min_u32(c->reads_in, peer->reads_in);
	c->reads_out = min_u32(c->reads_out, peer->reads_out);
	rpcrdma_conn_read_depth(&core->conn, c->reads_out, c->reads_in);
}

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

void rpcrdma_core_reserve(const struct rpcrdma_quota *all,
			  struct rpcrdma_quota_account *account,
			  struct rpcrdma_ep_params *p,
			  const struct rpcrdma_ep_sizes *sizes, u32 message)
{
	if (rpcrdma_quota_is_tight(all))
		be_small(p);

	const u64 sends = u64{ p->sends } + RPCRDMA_CONTROL_SENDS + 1;
	const u64 recvs = rpcrdma_window_receives(
		p->first_window ? p->first_window : p->window);
	const u32 octets = rpcrdma_buffer_octets(
		sizes->page, max_u32(p->recv_size, RPCRDMA_V2_DEFAULT_INLINE));
	/* The handshake that a client may begin */
	const u64 auth = p->auth ? sizeof(struct rpcrdma_hostauth) : 0;

	rpcrdma_quota_reserve(account,
			      sizes->ep + auth + sends * sizes->send +
				      static_cast<u64>(RPCRDMA_CONTROL_BUFS),
			      recvs * rpcrdma_core_recv_cost(sizes->recv,
							     octets),
			      message, p->reassembly, sizes->stream);
}

int rpcrdma_core_configure(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_device_limits *dev,
			   struct rpcrdma_queues *queues)
{
	rpcrdma_ep_control *c = &core->control;
	rpcrdma_ep_params *p = c->params;

	if (!usable(core, dev))
		return -E_OPNOTSUPP;

	const rpcrdma_load load = lower(core, p, dev);

	*queues = rpcrdma_queues_for(&load, &dev->queues);
	core->rw.reads_into_mrs = dev->queues.read_mrs;
	core->rw.pool.pages = dev->read_pages;
	core->signal_threshold = dev->refers ? 1u << dev->page_shift :
					       RPCRDMA_SIGNAL_BY_QUEUE;

	const rpcrdma_conn_config cfg = config_of(core, dev);

	rpcrdma_conn_init(&core->conn, &cfg);
	/* WP 4: both ends offer Reads in both directions. */
	c->reads_in = min_u32(dev->reads_in, MOST_READS);
	c->reads_out = min_u32(dev->reads_out, MOST_READS);
	if (p->ord)
		c->reads_out = min_u32(c->reads_out, p->ord);
	if (!core->life.client)
		record_peer(core, &c->peer);
	return 0;
}

int rpcrdma_core_queue_pair(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_device_limits *dev,
			    struct rpcrdma_queues *queues)
{
	const rpcrdma_ep_params *p = core->control.params;
	rpcrdma_queue_pair qp;
	int rc;

	do {
		rc = rpcrdma_port_queue_pair(core, queues, &qp);
	} while (rc == -E_NOMEM && rpcrdma_queues_shorten(queues));
	if (rc)
		return rc;
	rpcrdma_sq_init(&core->sq, rpcrdma_queues_depth(queues, qp.wrs),
			p->sends, p->reverse, ~u32{ 0 });
	core->conn.message_mrs = static_cast<u8>(
		min_u32(rpcrdma_sq_message_mrs(&core->sq), RPCRDMA_MAX_SEGS));
	core->rw.pool.mrs = queues->reads;
	announce_reads(core, dev, queues->reads);
	set_parts(core, dev, &qp);
	core->control.queue_pair = true;
	return 0;
}

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
