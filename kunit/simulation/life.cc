// SPDX-License-Identifier: GPL-2.0
/*
 * The lifecycle of an endpoint: setup, events and teardown, which the core
 * decides. The port's functions for them are here, too.
 */
#include <cerrno>

#include "endpoint.hh"

namespace simulation
{

/* Return the parameters of the core for @p. */
rpcrdma_ep_params endpoint::settings_of(const endpoint_params &p)
{
	rpcrdma_ep_params s{};

	s.window = p.cfg.window;
	s.first_window = p.cfg.first_window;
	s.reverse = p.cfg.reverse;
	s.sends = p.sends;
	s.send_size = p.cfg.props.sbsiz;
	s.recv_size = p.cfg.props.rbsiz;
	s.reassembly = p.cfg.props.reassembly;
	s.max_mrs = p.max_mrs;
	s.reads = p.sends;
	s.brs = p.cfg.props.brs;
	s.expose_octets = p.cfg.expose_octets;
	s.done_ms = p.cfg.done_ms;
	s.stall_ms = p.cfg.stall_ms;
	s.pull = p.cfg.props.reply_read & RDMA2_REPLY_READ_PULL;
	s.version_low = p.cfg.version_low;
	s.version_high = p.cfg.version_high;
	s.fallback_v1 = p.cfg.fallback_v1;
	/* An identity that the peer must prove also requires authentication. */
	s.auth = p.auth ? RPCRDMA_AUTH_OFFER : RPCRDMA_AUTH_NONE;
	s.auth_dh = static_cast<u8>(p.dh);
	return s;
}

/* Run the setup context until it has to wait. */
void endpoint::make(int result)
{
	const rpcrdma_setup_step m = rpcrdma_core_setup(this, result);

	if (m.what == RPCRDMA_SETUP_WAIT) {
		sleeps_ = true;
		woken_ = false;
		w_.after(m.ms * MILLISECOND, this, MAKE_LATE, ++slept_);
		return;
	}
	made_ = true;
	status_ = m.status;
	if (status_ < 0)
		due_[life.client ? RPCRDMA_COUNT_CONNECTS_FAILED :
				   RPCRDMA_COUNT_ACCEPTS_FAILED]++;
	if (life.client && !m.status)
		ops_.connected(*this);
	if (releasing_ == RPCRDMA_TEARDOWN_SETUP)
		w_.after(1, this, RELEASE);
}

void endpoint::happened(enum rpcrdma_happened what)
{
	rpcrdma_lifecycle_event event{};

	event.what = what;
	rpcrdma_core_happened(this, &event);
}

void endpoint::cm_event(rpcrdma_cm_event what, int rejection)
{
	rpcrdma_lifecycle_event event{};

	event.what = RPCRDMA_HAPPENED_CM_EVENT;
	event.event = what;
	event.rejection = rejection;
	if (life.client && what == RPCRDMA_CM_ESTABLISHED)
		event.peer = &answer_;
	rpcrdma_core_happened(this, &event);
}

void endpoint::record_peer(const rpcrdma_cm_peer &peer)
{
	(life.client ? answer_ : control.peer) = peer;
}

void endpoint::close(const char *reason)
{
	rpcrdma_core_close(this, reason);
}

/* Return true if the teardown need not wait for @what any more. */
bool endpoint::is_over(enum rpcrdma_teardown what) const
{
	switch (what) {
	case RPCRDMA_TEARDOWN_SETUP:
		return made_;
	case RPCRDMA_TEARDOWN_USERS:
		/*
		 * Contexts that prepare transfers are not waited for: their
		 * transfers will be refused.
		 */
		return users_ == rpcrdma_core_transfers_posted(this);
	default:
		return true;
	}
}

/* While a teardown step sleeps, other events happen. */
void endpoint::release()
{
	if (releasing_ == RPCRDMA_TEARDOWN_DRAIN)
		drain_device();
	while (is_over(releasing_)) {
		releasing_ = rpcrdma_core_teardown(this);
		if (releasing_ == RPCRDMA_TEARDOWN_END) {
			drop(rpcrdma_core_recvs_end(this));
			if (life.client && !life.owned_by_transport)
				ops_.failed(*this, status_);
			return;
		}
		if (releasing_ == RPCRDMA_TEARDOWN_DRAIN) {
			if (unstopped_)
				w_.complain(
					std::string(name) +
					": a device that has not stopped is drained");
			qp.cut();
		}
		if (releasing_ == RPCRDMA_TEARDOWN_DRAIN ||
		    releasing_ == RPCRDMA_TEARDOWN_PAUSE) {
			w_.after(w_.delay(100), this, RELEASE);
			return;
		}
	}
	/* The setup context continues by itself. */
	if (releasing_ != RPCRDMA_TEARDOWN_SETUP)
		w_.after(1000, this, RELEASE);
}

/*
 * Drop the teardown's reference if @now is set. The transport has already
 * dropped its reference: it does not use the connection after closed().
 */
void endpoint::drop(bool now)
{
	if (!now)
		return;
	dropped_++;
	check_charges();
	give(RPCRDMA_QUOTA_BUFFERS, account.held[RPCRDMA_QUOTA_BUFFERS]);
	rpcrdma_core_destroy(this);
}

/* ---- Setup ---- */

int endpoint::take(const rpcrdma_setup_step &m)
{
	switch (m.what) {
	case RPCRDMA_SETUP_ADDRESS:
	case RPCRDMA_SETUP_ROUTE:
		w_.after(w_.delay(30), this, ANSWER);
		break;
	case RPCRDMA_SETUP_CONNECT:
		ops_.request(*this);
		break;
	case RPCRDMA_SETUP_ACCEPT:
		w_.after(m.ms * MILLISECOND, this, OPEN_OVERDUE);
		break;
	default:
		w_.complain("an unknown step of the setup");
		break;
	}
	return 0;
}

int endpoint::create()
{
	const rpcrdma_device_limits dev = {
		.queues = { .wrs = 16384,
			    .cqes = 65536,
			    .read_mrs = params.read_into != 0,
			    .sges = params.sges },
		.reads_in = ENOUGH_READS,
		.reads_out = ENOUGH_READS,
		.max_segs = params.cfg.props.rcsiz,
		.max_segment = params.cfg.props.rssiz,
		.page_shift = params.page_shift,
		.read_pages = params.read_pages,
		.registers = registers(),
		.invalidates = params.cfg.inv_ok != 0,
		.reads_into_mrs = params.read_into != 0,
		.refers = false,
	};
	rpcrdma_queues queues;
	const int rc = rpcrdma_core_configure(this, &dev, &queues);

	if (rc)
		return rc;
	mrs.pool.most = settings_.max_mrs;
	last_limit_ = conn.limit;
	last_advertised_ = conn.advertised;
	if (w_.fault(20))
		return -ENOMEM;
	queues.slots = params.sq_wanted ? params.sq_wanted : params.sq_depth;
	queues.reads = params.read_into;
	queues.send_cqes = 2 * queues.slots;
	return rpcrdma_core_queue_pair(this, &dev, &queues) ? -ENOMEM : 0;
}

/* ---- The lifecycle of a connection ---- */

void endpoint::open_later()
{
	w_.after(w_.delay(20), this, OPEN_LATER);
}

void endpoint::version_refused()
{
	version_refused_ = true;
}

void endpoint::opened()
{
	const bool refused = life.client && conn.version == RPCRDMA_VERS_1 &&
			     params.cfg.version_high == RPCRDMA_VERS_2;

	if (refused != version_refused_)
		w_.complain("the refusal of version 2 is not logged");
	opened_reported_ = true;
	due_[RPCRDMA_COUNT_OPENED]++;
	due_[RPCRDMA_COUNT_CLOSED]++;
	if (refused || (life.client && conn.version == RPCRDMA_VERS_1 &&
			params.cfg.fallback_v1))
		due_[RPCRDMA_COUNT_FALLBACKS]++;
	if (rpcrdma_conn_auth_result(&conn) == RPCRDMA_AUTH_DONE) {
		due_[RPCRDMA_COUNT_AUTHS_DONE]++;
		w_.sum.authenticated++;
	}
	w_.log("%s: open, version %u", name, conn.version);
	ops_.opened(*this);
}

void endpoint::wake()
{
	if (!sleeps_)
		return;
	woken_ = true;
	w_.after(w_.delay(20), this, MAKE, slept_);
}

void endpoint::closing(const char *reason)
{
	w_.log("%s: closes: %s", name, reason ? reason : "-");
	if (reason && !w_.trouble && !params.silent && !excused &&
	    !(params.secrets_differ && rpcrdma_auth_failed(&conn)))
		w_.complain(std::string(name) +
			    ": closes without a cause: " + reason);
	if (rpcrdma_auth_failed(&conn)) {
		due_[RPCRDMA_COUNT_AUTHS_FAILED]++;
		due_[rpcrdma_counter_of_auth(rpcrdma_conn_auth_result(&conn))]++;
	}
	w_.after(w_.delay(50), this, RELEASE);
}

int endpoint::release_one(rpcrdma_teardown what)
{
	if (!made_)
		w_.complain(std::string(name) +
			    ": is torn down during its setup");
	switch (what) {
	case RPCRDMA_TEARDOWN_TIMERS:
		stopped_ = true;
		break;
	case RPCRDMA_TEARDOWN_STOP:
		if (!life.stops && w_.fault(500)) {
			/* Sometimes the device stops after a few attempts. */
			refusals_ = w_.choose.below(2 * RPCRDMA_STOP_TRIES);
			w_.log("%s: the device does not stop", name);
		}
		unstopped_ = refusals_;
		if (!refusals_)
			break;
		refusals_--;
		return -EIO;
	case RPCRDMA_TEARDOWN_MESSAGES:
		check_drained();
		break;
	case RPCRDMA_TEARDOWN_RESET:
		qp.quiet();
		break;
	case RPCRDMA_TEARDOWN_QUEUE_PAIR:
		if (users_ != rpcrdma_core_transfers_posted(this))
			w_.complain(std::string(name) +
				    ": does not wait for its users");
		if (life.unstopped) {
			due_[RPCRDMA_COUNT_DRAINS_FAILED]++;
			w_.sum.unstopped++;
			qp.cut();
			qp.quiet();
		}
		break;
	case RPCRDMA_TEARDOWN_MRS:
		if (nr_sends && !qp.dead())
			w_.complain(std::string(name) +
				    ": memory is freed that a peer can access");
		break;
	case RPCRDMA_TEARDOWN_GONE:
		w_.log("%s: closed", name);
		check_counts();
		break;
	case RPCRDMA_TEARDOWN_NOTIFY:
		if (!is_gone())
			w_.complain(std::string(name) +
				    ": is reported closed too early");
		ops_.closed(*this);
		break;
	default:
		break;
	}
	return 0;
}

void endpoint::count(enum rpcrdma_counter counter)
{
	counts_[counter]++;
}

/* The host tests check the causes of failed attempts. */
void endpoint::check_counts()
{
	/* A client may end between that and the message. */
	if (life.client)
		due_[RPCRDMA_COUNT_AUTHS_STARTED] =
			control.auth && counts_[RPCRDMA_COUNT_AUTHS_STARTED] ?
				1 :
				control.auth && conn.props_begun;
	for (u32 i = 0; i < RPCRDMA_NR_COUNTERS; i++) {
		if (i >= RPCRDMA_COUNT_UNRESOLVED &&
		    i <= RPCRDMA_COUNT_OPENINGS_OVERDUE)
			continue;
		if (i != RPCRDMA_COUNT_WR_FAILURES && counts_[i] != due_[i])
			w_.complain(std::string(name) + ": " +
				    rpcrdma_counter_info(i)->name + " is " +
				    std::to_string(counts_[i]) + ", not " +
				    std::to_string(due_[i]));
	}
}

void endpoint::reap()
{
	if (life.unstopped)
		return;
	for (work *w : late_)
		completed(w);
	late_.clear();
	flushed_ = true;
}

} // namespace simulation

using namespace simulation;

int rpcrdma_port_make(struct rpcrdma_ep_core *core,
		      const struct rpcrdma_setup_step *m)
{
	return of(core).take(*m);
}

bool rpcrdma_port_network_lost(struct rpcrdma_ep_core *)
{
	return false;
}

int rpcrdma_port_objects(struct rpcrdma_ep_core *core)
{
	return of(core).create();
}

/* A device that has less than it reported refuses the queue pair. */
int rpcrdma_port_queue_pair(struct rpcrdma_ep_core *core,
			    const struct rpcrdma_queues *queues,
			    struct rpcrdma_queue_pair *qp)
{
	const u32 sges = of(core).params.sges;

	if (queues->slots > of(core).params.sq_depth)
		return -ENOMEM;
	*qp = { rpcrdma_queues_send_wrs(queues), sges, sges };
	return 0;
}

int rpcrdma_port_sends(struct rpcrdma_ep_core *core, u32 nr)
{
	return of(core).make_sends(nr);
}

void rpcrdma_port_open_later(struct rpcrdma_ep_core *core)
{
	of(core).open_later();
}

void rpcrdma_port_version_refused(struct rpcrdma_ep_core *core)
{
	of(core).version_refused();
}

void rpcrdma_port_opened(struct rpcrdma_ep_core *core)
{
	of(core).opened();
}

void rpcrdma_port_count(struct rpcrdma_ep_core *core,
			enum rpcrdma_counter counter)
{
	of(core).count(counter);
}

void rpcrdma_port_wake(struct rpcrdma_ep_core *core)
{
	of(core).wake();
}

void rpcrdma_port_closing(struct rpcrdma_ep_core *core, const char *reason)
{
	of(core).closing(reason);
}

/* The loss of a client's confirmation is not modelled. */
void rpcrdma_port_confirm(struct rpcrdma_ep_core *)
{
}

int rpcrdma_port_release(struct rpcrdma_ep_core *core,
			 enum rpcrdma_teardown what)
{
	return of(core).release_one(what);
}

void rpcrdma_port_reap(struct rpcrdma_ep_core *core)
{
	of(core).reap();
}

void rpcrdma_port_leave_quota(struct rpcrdma_ep_core *core)
{
	of(core).leave_quota();
}
