// SPDX-License-Identifier: GPL-2.0
#include "network.hh"

#include <cerrno>

namespace simulation
{

/* Bounds of the time and the events of a run */
constexpr u64 LONGEST = 4 * 3600 * SECOND;
constexpr u64 MOST_STEPS = 2000000;

enum {
	CUT = 100,
	KILL,
};

/*
 * Maximum time from a client's first connection to a server without version 2
 * until the server processes a Call: if the server refuses version 2 in any
 * form, and if it stays silent for the time limit of an opening
 */
constexpr u64 REFUSAL = 2 * SECOND;
constexpr u64 SILENCE = 15 * SECOND + REFUSAL;
constexpr u64 REST = 600 * SECOND;
constexpr u32 MOST_RESTS = 2;

/* The only server */
constexpr rpcrdma_server_name NAME{};

/* Index that stands for a version 1 peer in place of an endpoint's */
constexpr u32 V1_PEER = ~0u;

network::network(world &w)
	: w_{ w }, client_{ w, *this, true }, server_{ w, *this, false }
{
}

/* ---- RPCs ---- */

void network::work()
{
	choices &c = w_.choose;

	if (w_.now < rest_until_) {
		work_scheduled_ = true;
		w_.after(rest_until_ - w_.now, this, WORK);
		return;
	}
	while (begun_ < setup_.rpcs && outstanding() < setup_.at_once) {
		const spec s = choose_spec();

		std::function<void()> ended;

		begun_++;
		if (s.chain) {
			chains_++;
			ended = [this] {
				chains_--;
			};
		}
		if (setup_.v1_peer_client)
			v1_peer_->begin(s, ended);
		else
			client_.begin(s, nullptr, ended);
		/* Compilers choose the order in which they evaluate arguments. */
		if (w_.fault(setup_.cuts)) {
			const u32 how = c.below(4);

			w_.after(w_.delay(300), this, CUT, how);
		}
		if (w_.fault(setup_.cuts / 10)) {
			const u32 end = c.below(2);

			w_.after(w_.delay(300), this, REMOVE, end);
		}
		if (w_.fault(setup_.kills))
			w_.after(w_.delay(300), this, KILL);
		if (c.below(4) == 3)
			break;
	}
	/* When an RPC ends, another one may begin. */
	if (begun_ < setup_.rpcs && outstanding() < setup_.at_once &&
	    !work_scheduled_) {
		work_scheduled_ = true;
		w_.after(w_.delay(40), this, WORK);
	}
}

void network::rpc_over(rpc *)
{
	over_++;
	w_.sum.rpcs++;
	if (begun_ < setup_.rpcs && !work_scheduled_) {
		work_scheduled_ = true;
		w_.after(1, this, WORK);
	}
}

/* ---- The connection manager ---- */

u64 network::reconnect_delay()
{
	const u64 delay = backoff_;

	backoff_ = backoff_ ? std::min(2 * backoff_,
				       RPCRDMA_RECONNECT_MAX_MS * MILLISECOND) :
			      RPCRDMA_RECONNECT_FIRST_MS * MILLISECOND;
	return delay;
}

void network::want_connection()
{
	if (connecting_)
		return;
	connecting_ = true;
	w_.after(1 + reconnect_delay(), this, CONNECT);
}

/*
 * Some attempts fail for lack of memory. The number of failures is bounded, so
 * that a run ends.
 */
bool network::may_attempt()
{
	if (++attempts_ > 100)
		setup_.rpcs = begun_;
	if (attempts_ > 400)
		w_.complain("the attempts to connect have no end");
	return attempts_ <= 400;
}

void network::connect(reconnect &)
{
	const rpcrdma_conn_config &cfg = setup_.client.cfg;

	tried_ = rpcrdma_server_first(&versions_, &NAME, w_.now / SECOND,
				      cfg.version_low, cfg.version_high);
	attempt();
}

bool network::connect_otherwise(reconnect &)
{
	const rpcrdma_conn_config &cfg = setup_.client.cfg;
	const u8 other = rpcrdma_server_first(&versions_, &NAME,
					      w_.now / SECOND, cfg.version_low,
					      cfg.version_high);

	if (other == tried_)
		return false;
	tried_ = other;
	attempt();
	return true;
}

void network::attempt()
{
	renew_secrets();

	endpoint_params p = setup_.client;
	const u8 high = p.cfg.version_high;

	if (!may_attempt())
		return;
	p.cfg.version_high = tried_;
	p.cfg.fallback_v1 = tried_ < high;
	p.cfg.number = static_cast<u32>(endpoints_.size()) + 1;
	endpoints_.push_back(
		std::make_unique<endpoint>(w_, p, client_, "client"));
	attempt_ = endpoints_.back().get();
	attempt_->excused = setup_.v1_peer_server && tried_ == RPCRDMA_VERS_2 &&
			    v1_peer_->as().is_odd();
	attempt_->make(0);
}

void network::ask(endpoint &client)
{
	w_.after(w_.delay(200), this, REQUEST, client.conn.cfg.number - 1);
}

/*
 * A client that begins with @version has reached a server that has only version
 * 1.
 */
void network::met_v1_peer(u8 version)
{
	const personality &as = v1_peer_->as();

	if (version == RPCRDMA_VERS_2) {
		/* If its RPC was killed, none has to be answered soon. */
		if (!fallback_.asked)
			fallback_ = { client_.outstanding() != 0, w_.now, 0,
				      w_.faults_left };
		silences_ += !as.refusal && !as.hangs_up;
		/* The cached version outlives a run. */
		if (silences_ > 1 && !w_.trouble)
			w_.complain("a client waits for a silent server again");
	}
	fallback_.connections++;
}

void network::served_version1()
{
	const personality &as = v1_peer_->as();
	const u64 bound = !as.refusal && !as.hangs_up ? SILENCE : REFUSAL;

	if (!fallback_.asked)
		return;
	fallback_.asked = false;
	if (fallback_.faults_left != w_.faults_left)
		return;
	w_.sum.fallbacks++;
	if (fallback_.connections > 2)
		w_.complain("version 1 takes more than two connections");
	if (w_.now - fallback_.at > bound)
		w_.complain("version 1 takes too long");
}

/*
 * Begin no RPC for a time that exceeds the idle timers, and most of what a
 * client remembers.
 */
void network::rest()
{
	if (rests_++ < MOST_RESTS)
		rest_until_ = w_.now + REST;
}

/* Report to the client that its attempt has failed. */
void network::answer(u32 index, enum rpcrdma_cm_event event, int rejection)
{
	fallback_.asked = false;
	if (index == V1_PEER)
		w_.after(1, this, NO_ANSWER);
	else
		endpoints_[index]->cm_event(event, rejection);
}

void network::request(u32 index)
{
	endpoint *client = index == V1_PEER ? nullptr : endpoints_[index].get();
	endpoint *server = nullptr;
	endpoint_params p = setup_.server;
	queue_pair *one = nullptr;

	/* The client closed before the request was sent. */
	if (client && client->is_closing())
		return;
	if (w_.now < std::max(away_until_[0], away_until_[1])) {
		answer(index, RPCRDMA_CM_UNREACHABLE);
		return;
	}
	if (w_.fault(1000)) {
		const u32 sort = w_.choose.below(v1_peer_ ? 2 : 3);

		w_.log("connect: fault %u", sort);
		if (sort == 2) {
			p.silent = true;
		} else if (!sort) {
			/*
			 * The request is rejected, or the peer already has such
			 * a connection.
			 */
			answer(index, RPCRDMA_CM_REJECTED,
			       w_.choose.below(2) ? 10 : 8);
			return;
		} else {
			/* The request is never answered. */
			if (!client)
				w_.after(5 * SECOND, this, NO_ANSWER);
			return;
		}
	}
	if (!setup_.v1_peer_server) {
		p.cfg.number = static_cast<u32>(endpoints_.size()) + 1;
		endpoints_.push_back(
			std::make_unique<endpoint>(w_, p, server_, "server"));
		server = endpoints_.back().get();
		static_cast<rpcrdma_quota_account &>(server->account) =
			promised_;
		if (!listener_.admit(*server)) {
			endpoints_.pop_back();
			answer(index, RPCRDMA_CM_REJECTED, 28);
			return;
		}
	}
	w_.sum.models += p.model || setup_.client.model;
	/* Some peers send no private messages. */
	private_ = !w_.choose.chance(500) &&
		   !(setup_.v1_peer_server && v1_peer_->as().no_private);
	/* Ends that authenticate each other send them. */
	private_ |= setup_.client.secret != 0;
	/* Some devices support Reads in one direction only. */
	const u32 back = w_.choose.chance(300) ? 0 : ENOUGH_READS;
	/* One more choice would change all recorded runs. */
	const u32 forth = setup_.rpcs % 32 == 5 && !v1_peer_ ? 0 : ENOUGH_READS;

	if (server) {
		server->record_peer(
			{ private_ ? private_of(client, setup_.client.cfg) :
				     rpcrdma_private{},
			  back, forth });
		server->make(0);
		if (server->is_closing()) {
			answer(index, RPCRDMA_CM_REJECTED, 28);
			return;
		}
	}
	/* With little memory, a server advertises less than its settings. */
	if (client)
		client->record_peer(
			{ private_ ? private_of(server, setup_.server.cfg) :
				     rpcrdma_private{},
			  forth, back });
	if (v1_peer_) {
		const rpcrdma_props &mine = client ? client->conn.cfg.props :
						     setup_.client.cfg.props;
		const rpcrdma_props &theirs = server ? server->conn.cfg.props :
						       setup_.server.cfg.props;
		u32 size = std::min(theirs.sbsiz, mine.rbsiz);

		/* Version 1 has one threshold for both directions. */
		if (!client)
			size = std::min({ size, mine.sbsiz, theirs.rbsiz });
		w_.sum.peers1++;
		if (client)
			met_v1_peer(client->params.cfg.version_high);
		one = &v1_peer_->connect(private_ ? size : 1024,
					 private_ && setup_.client.cfg.inv_ok);
	}
	queue_pair::connect(client ? client->qp : *one,
			    server ? server->qp : *one);
	if (client)
		w_.after(w_.delay(100), this, ACCEPTED, index);
	if (server)
		w_.after(w_.delay(300), this, ESTABLISHED,
			 endpoints_.size() - 1);
	if (v1_peer_)
		w_.after(w_.delay(200), this, V1_PEER_UP);
}

void network::opened(endpoint &ep)
{
	check_secrets(ep);
	/*
	 * A client uses its connection only after the setup context has
	 * returned it.
	 */
	if (ep.life.client)
		return;
	if (listener_.opened(ep))
		server_.use(&ep);
}

void network::connected(endpoint &client)
{
	w_.sum.connections++;
	w_.sum.version1 += client.conn.version == RPCRDMA_VERS_1;
	attempt_ = nullptr;
	reconnect_.tried(&client, 0);
}

void network::learn(u8 tried, enum rpcrdma_answer answer)
{
	if (rpcrdma_server_learn(&versions_, &NAME, w_.now / SECOND, tried,
				 answer))
		backoff_ = 0;
}

void network::learn(const endpoint &ep, enum rpcrdma_end end)
{
	learn(ep.conn.cfg.version_high, rpcrdma_conn_answer(&ep.conn, end));
}

void network::failed(endpoint &ep, int status)
{
	learn(ep.params.cfg.version_high, ep.control.answer);
	attempt_ = nullptr;
	w_.sum.attempts_failed++;
	reconnect_.tried(nullptr, status);
}

void network::closed(endpoint &ep)
{
	if (!ep.life.client) {
		listener_.closed(ep);
		return;
	}
	if (&ep == attempt_)
		w_.complain("the end of a connection that is not in use");
	reconnect_.closed(ep);
	w_.sum.losses += over_ < rpcs();
}

/* ---- Running ---- */

void network::act(u32 what, u64 arg)
{
	switch (what) {
	case WORK:
		work_scheduled_ = false;
		work();
		break;
	case CONNECT:
		if (may_attempt())
			w_.after(w_.delay(200), this, REQUEST, V1_PEER);
		break;
	case REQUEST:
		request(static_cast<u32>(arg));
		break;
	case ACCEPTED:
	case ESTABLISHED:
		endpoints_[arg]->cm_event(RPCRDMA_CM_ESTABLISHED);
		break;
	case NO_ANSWER:
		/* A client of version 1 retries. */
		connecting_ = false;
		want_connection();
		break;
	case V1_PEER_UP:
		if (setup_.v1_peer_client)
			connecting_ = false;
		v1_peer_->established();
		break;
	case REMOVE:
		remove(arg);
		break;
	case REMOVED:
		for (size_t i = 0; i < removed_[arg]; i++) {
			const endpoint &ep = *endpoints_[i];

			if (!ep.life.client == !arg && !ep.is_gone())
				w_.complain("a device cannot be removed");
		}
		break;
	case CUT: {
		endpoint *ep = arg & 1 ? server_.ep : client_.ep;

		fallback_.asked = false;
		if (!ep)
			break;
		if (arg & 2)
			ep->close("without a cause");
		else if (ep->qp.connected())
			ep->qp.cut();
		break;
	}
	case KILL: {
		rpc *task = client_.any_task();

		fallback_.asked = false;
		if (task && !task->what.chain && !task->ended)
			client_.kill(task);
		break;
	}
	}
}

/*
 * Remove a device for two seconds. If the removal is sudden, its connections
 * are lost before the removal is announced.
 */
void network::remove(bool client)
{
	const bool surprise = w_.choose.below(2);

	w_.log("the %s's device is removed", client ? "client" : "server");
	w_.sum.removals++;
	fallback_.asked = false;
	away_until_[client] = w_.now + 2 * SECOND;
	removed_[client] = endpoints_.size();
	for (size_t i = 0; i < removed_[client]; i++) {
		endpoint &ep = *endpoints_[i];

		if (!ep.life.client == client || ep.is_closing())
			continue;
		if (surprise && ep.qp.connected())
			ep.qp.cut();
		ep.cm_event(RPCRDMA_CM_REMOVED);
	}
	w_.after(SECOND, this, REMOVED, client);
}

void network::run()
{
	u64 end;

	choose_setup();
	slow = setup_.slow;
	w_.log("windows %u and %u, messages of %u and %u, %u RPCs, %u at once, %u chains",
	       setup_.client.cfg.window, setup_.server.cfg.window,
	       setup_.client.cfg.props.rbsiz, setup_.server.cfg.props.rbsiz,
	       setup_.rpcs, setup_.at_once, setup_.chains);
	w_.after(1, this, WORK);
	while (w_.complaint.empty() &&
	       (begun_ < setup_.rpcs || over_ < rpcs() || serving())) {
		if (!w_.step()) {
			w_.complain("no event is left");
			break;
		}
		if (w_.now > LONGEST || w_.steps > MOST_STEPS)
			w_.complain("a run does not end");
	}
	if (!w_.complaint.empty()) {
		for (const auto &ep : endpoints_) {
			if (!ep->is_gone())
				ep->describe();
		}
		return;
	}

	/* The run has ended without a complaint. No object may be left. */
	if (v1_peer_)
		v1_peer_->close();
	end = w_.now + 30 * SECOND;
	do {
		bool gone = true;

		/*
		 * A connection may still be opening, for an RPC that was
		 * killed.
		 */
		for (auto &ep : endpoints_) {
			if (!ep->is_closing())
				ep->close(nullptr);
			gone &= ep->is_gone();
		}
		if (gone)
			break;
	} while (w_.complaint.empty() && w_.now < end && w_.step());
	if (!w_.complaint.empty())
		return;
	for (auto &ep : endpoints_)
		ep->check_gone();
	client_.check_gone();
	server_.check_gone();
	listener_.check_gone();
	if (v1_peer_)
		v1_peer_->check_gone();
}

} // namespace simulation
