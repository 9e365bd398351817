// SPDX-License-Identifier: GPL-2.0
#include "crowd.hh"

#include <cerrno>

namespace simulation
{

constexpr u64 KIB = 1024, MIB = 1024 * KIB, GIB = 1024 * MIB;
/*
 * A server with 4 GiB lets its clients use a quarter of it
 * (sunrpc/server_listen.c).
 */
constexpr u64 MEMORY = GIB;
constexpr u32 CONNECTIONS = 10000;
/*
 * READs and WRITEs have this many bytes of data. nfsd's messages may be a page
 * longer.
 */
constexpr u32 DATA = MIB;
constexpr u32 MESSAGE = DATA + 4 * KIB;
constexpr u32 THREADS = 64;
/* One of this many clients is hostile. */
constexpr u32 HOSTILE = 50;
/* Time in which the RPC of an honest client has to end */
constexpr u64 BOUND = 6 * SECOND;
constexpr u64 LONGEST = 3600 * SECOND;

crowd::crowd(world &w, u32 connections)
	: w_{ w }, count_{ connections }, server_{ w, *this, false }, memory_{
		  server_.memory
	  }
{
	w_.slowness = 4;
	server_.threads = THREADS;
	server_.largest = MESSAGE;
	rpcrdma_quota_set_limit(&memory_, MEMORY / CONNECTIONS * count_,
				MESSAGE);
	rpcs_ = count_ + std::max(600u, count_ / 5);
	/* All hostile clients are of the same kind, or of all kinds. */
	const u32 sort = w_.choose.below(4);

	w_.log("%u clients; 1 in %u is hostile, by %s", count_, HOSTILE,
	       sort == 0 ? "all means" :
	       sort == 1 ? "parts" :
	       sort == 2 ? "Replies" :
			   "Reads");

	for (u32 i = 0; i < count_; i++) {
		const u32 nth = sort ? sort - 1 : i / HOSTILE % 3;
		const kind bad = nth == 0 ? kind::parts :
				 nth == 1 ? kind::replies :
					    kind::reads;

		clients_.push_back(std::make_unique<client>(
			w_, *this, i,
			i % HOSTILE == HOSTILE / 2 ? bad : kind::honest));
	}
}

/* ---- Connections ---- */

/* The parameters that the module has by default */
endpoint_params crowd::params(bool client, u32 number) const
{
	const bool v1 = client && number % 8 == 3;
	endpoint_params p{};

	p.page_shift = page_shifts[client];
	p.cfg.client = client;
	p.cfg.version_low = 1;
	/* Some clients have only version 1. */
	p.cfg.version_high = v1 ? 1 : 2;
	p.cfg.inv_ok = true;
	p.cfg.number = number + 1;
	p.cfg.reverse = client ? 4 : 16;
	p.cfg.window = RPCRDMA_USUAL_WINDOW + p.cfg.reverse;
	p.cfg.first_window = RPCRDMA_FIRST_WINDOW;
	p.cfg.done_ms = 30000;
	p.cfg.props.sbsiz = client ? 1024 : 4096;
	p.cfg.props.rbsiz = client ? 1024 : 20 * KIB;
	p.cfg.props.reassembly = client ? 0 : 256 * KIB;
	p.cfg.props.rcsiz = RPCRDMA_MAX_SEGS;
	p.cfg.props.rssiz = DATA;
	p.cfg.props.brs = RDMA2_RVRSDIR_GENL;
	if (client) {
		p.cfg.props.reply_read = RDMA2_REPLY_READ_PULL;
	} else {
		p.cfg.expose_octets = 4 * MIB;
		p.cfg.props.reply_read = RDMA2_REPLY_READ_PROVIDE;
	}
	p.sends = p.cfg.window;
	p.mr_size = 256 * KIB;
	p.max_mrs = client ? 16 : 24;
	p.sq_depth = 200;
	p.memory = client ? nullptr : &memory_;
	/* A Reply is charged in any case, one for each thread at a time. */
	p.most_memory = memory_.limit + u64{ THREADS } * MESSAGE;
	return p;
}

void crowd::connect(reconnect &l)
{
	const u32 number = static_cast<u32>(connections_.size());

	if (ends_) {
		l.tried(nullptr, -ENOTCONN);
		return;
	}

	client &c = *clients_[l.client().number];
	endpoint_params p = params(true, number);

	connections_.push_back({ &c, nullptr, nullptr });
	connections_.back().at_client =
		std::make_unique<endpoint>(w_, p, c.h, "client");
	connections_.back().at_client->make(0);
}

void crowd::ask(endpoint &client)
{
	w_.after(w_.delay(200), this, REQUEST, client.params.cfg.number - 1);
}

/* Attach the server's end to the quota, as rpcrdma_ep_quota_attach() of the module does. */
bool crowd::join(connection &c, u32 number)
{
	static const rpcrdma_ep_sizes sizes = {
		.ep = 4 * KIB,
		.send = 200,
		.recv = 1680,
		.stream = 12 * KIB,
		.page = 4 * KIB,
	};

	c.at_server = std::make_unique<endpoint>(w_, params(false, number),
						 server_, "server");
	endpoint &server = *c.at_server;

	rpcrdma_core_reserve(&memory_, &server.account, server.control.params,
			     &sizes, MESSAGE);
	/* Failures that a hostile client causes are no error of this end. */
	server.excused = c.of->what != kind::honest;
	if (listener_.admit(server))
		return true;
	c.at_server = nullptr;
	return false;
}

void crowd::request(u32 index)
{
	connection &c = connections_[index];
	endpoint &client = *c.at_client;

	if (client.is_closing())
		return;
	if (!join(c, index)) {
		if (c.of->what == kind::honest)
			w_.complain("a client is refused");
		client.cm_event(RPCRDMA_CM_REJECTED, 28);
		return;
	}
	c.at_server->record_peer({ private_of(&client, client.params.cfg),
				   ENOUGH_READS, ENOUGH_READS });
	c.at_server->make(0);
	client.record_peer(
		{ private_of(c.at_server.get(), c.at_server->params.cfg),
		  ENOUGH_READS, ENOUGH_READS });
	queue_pair::connect(client.qp, c.at_server->qp);
	w_.after(w_.delay(100), this, ACCEPTED, index);
	w_.after(w_.delay(300), this, ESTABLISHED, index);
}

void crowd::opened(endpoint &ep)
{
	if (!ep.life.client && !listener_.opened(ep))
		w_.complain("a connection is not accepted");
}

void crowd::connected(endpoint &ep)
{
	connection &c = connection_of(ep);

	w_.sum.connections++;
	w_.sum.version1 += ep.conn.version == RPCRDMA_VERS_1;
	c.of->l.tried(&ep, 0);
	/* A mount begins with a small RPC. After that, the client is idle. */
	if (!c.of->was_connected)
		begin(*c.of, {});
	c.of->was_connected = true;
	if (c.of->what != kind::honest && begun_ > count_)
		w_.after(w_.delay(SECOND), this, HOARD,
			 ep.params.cfg.number - 1);
}

void crowd::failed(endpoint &ep, int status)
{
	connection &c = connection_of(ep);

	if (c.of->what == kind::honest)
		w_.complain("a client has no connection");
	c.of->l.tried(nullptr, status);
}

void crowd::closed(endpoint &ep)
{
	connection &c = connection_of(ep);

	if (!ends_ && c.of->what == kind::honest)
		w_.complain("a client loses its connection");
	if (ep.life.client)
		c.of->l.closed(ep);
	else
		listener_.closed(ep);
}

/* ---- RPCs ---- */

spec crowd::choose_spec()
{
	const u32 sort = w_.choose.below(9);
	spec s;

	s.ddp = sort & 1;
	s.reply_max = 256;
	if (sort < 4) {
		s.call_length = ITEM_POSITION + DATA + 4 * w_.choose.below(32);
		s.call_item = s.ddp ? DATA : 0;
	} else if (sort < 8) {
		s.reply_length = ITEM_POSITION + DATA + 4 * w_.choose.below(32);
		s.reply_item = s.ddp ? DATA : 0;
		s.reply_max = s.reply_length + 64;
		s.bulk = s.ddp;
	}
	return s;
}

void crowd::begin(client &c, const spec &what)
{
	begun_at_.resize(rpcs() + 1);
	begun_at_.back() = w_.now;
	begun_++;
	c.h.begin(what, nullptr, nullptr);
}

/* Let some idle clients send one RPC or several. */
void crowd::work()
{
	for (u32 n = w_.choose.below(16);
	     n && begun_ < rpcs_ && begun_ - over_ < 2 * THREADS; n--) {
		client &c = *clients_[w_.choose.below(count_)];

		if (c.what != kind::honest)
			continue;
		for (u32 calls = 1 + w_.choose.below(4); calls; calls--)
			begin(c, choose_spec());
	}
	if (begun_ < rpcs_)
		w_.after(w_.delay(150 * MILLISECOND), this, WORK);
}

void crowd::rpc_over(rpc *task)
{
	u64 time;

	/* An RPC that is sent only to hold memory never ends. */
	if (task->unanswered)
		return;
	w_.sum.rpcs++;
	over_++;
	if (task->status)
		w_.complain("an RPC fails");
	time = w_.now - begun_at_[task->id];
	slowest_ = std::max(slowest_, time);
	if (time > BOUND)
		w_.complain("an RPC takes too long");
	if (over_ != count_)
		return;
	/* All clients are connected and idle. */
	w_.after(2 * SECOND, this, WORK);
	for (u32 i = 0; i < connections_.size(); i++) {
		if (connections_[i].of->what != kind::honest)
			w_.after(1 + w_.delay(2 * SECOND), this, HOARD, i);
	}
}

/* A hostile client makes the server hold memory. */
void crowd::hoard(connection &c)
{
	const bool open = c.at_client->is_open() && c.at_server->is_open();
	spec s;

	if (!open || ends_)
		return;
	s.ddp = false;
	s.reply_max = 256;
	switch (c.of->what) {
	case kind::parts:
		s.call_length = 200 * KIB;
		break;
	case kind::replies:
		s.reply_length = ITEM_POSITION + DATA;
		s.reply_max = s.reply_length + 64;
		break;
	default:
		s.call_length = ITEM_POSITION + DATA;
		/* The client's device answers no Read. */
		c.at_server->qp.read_time = 3600 * SECOND;
	}
	/* RPCs of an earlier connection are retransmitted, and count. */
	while (c.of->h.outstanding() < 5)
		c.of->h.begin(s, nullptr, nullptr)->unanswered = true;
	w_.after(c.of->what == kind::parts ? 1 : 200, this, SILENCE,
		 c.at_client->params.cfg.number - 1);
}

/* ---- Memory ---- */

void crowd::run_quota(endpoint &, enum rpcrdma_quota_visit when)
{
	run_after(when == RPCRDMA_QUOTA_VISIT_NOW ?
			  1 :
			  RPCRDMA_QUOTA_TICK_MS * MILLISECOND);
}

/* Run the quota after @time, or when an earlier request is due. */
void crowd::run_after(u64 time)
{
	if (run_at_ && run_at_ <= w_.now + time)
		return;
	run_at_ = w_.now + time;
	w_.after(time, this, TICK);
}

/* The work item of verbs/charge.c */
void crowd::tick()
{
	/* Ignore a request that was replaced by an earlier one. */
	if (w_.now != run_at_)
		return;
	run_at_ = 0;

	rpcrdma_quota_run run = rpcrdma_quota_run_begin(&memory_, w_.now_ms());

	most_ = std::max(most_, u64{ memory_.used });
	for (connection &c : connections_) {
		endpoint *ep = c.at_server.get();

		if (!run.visit || !ep ||
		    !rpcrdma_quota_run_visit(&memory_, &ep->account,
					     rpcrdma_core_transfers(ep)))
			continue;
		if (c.of->what == kind::honest)
			w_.complain("an honest client is closed as a hoarder");
		stuck_++;
		ep->close(nullptr);
	}
	while (auto *next = rpcrdma_quota_run_next(&memory_, &run)) {
		server_.memory_freed(
			*static_cast<owned_account *>(next)->owner);
	}
	if (const u32 ms = rpcrdma_quota_run_end(&memory_, &run); ms)
		run_after(ms * MILLISECOND);
}

/* ---- Running ---- */

void crowd::act(u32 what, u64 arg)
{
	switch (what) {
	case CONNECT:
		clients_[arg]->l.connect();
		break;
	case REQUEST:
		request(static_cast<u32>(arg));
		break;
	case ACCEPTED:
		connections_[arg].at_client->cm_event(RPCRDMA_CM_ESTABLISHED);
		break;
	case ESTABLISHED:
		connections_[arg].at_server->cm_event(RPCRDMA_CM_ESTABLISHED);
		break;
	case WORK:
		work();
		break;
	case HOARD:
		hoard(connections_[arg]);
		break;
	case SILENCE:
		if (connections_[arg].of->what != kind::reads)
			connections_[arg].at_client->params.silent = true;
		break;
	case TICK:
		tick();
		break;
	}
}

/* End all connections. No object may be left. */
void crowd::end()
{
	const u64 until = w_.now + 30 * SECOND;
	bool gone = false;

	ends_ = true;
	for (const auto &c : clients_) {
		if (c->what == kind::honest && c->h.outstanding())
			w_.complain("an RPC is left");
		while (rpc *task = c->h.any_task())
			c->h.kill(task);
	}
	while (!gone && w_.complaint.empty() && w_.now < until) {
		gone = true;
		for (connection &c : connections_) {
			for (endpoint *ep :
			     { c.at_client.get(), c.at_server.get() }) {
				if (!ep)
					continue;
				if (!ep->is_closing())
					ep->close(nullptr);
				gone &= ep->is_gone();
			}
		}
		for (u32 n = 0; !gone && n < count_ && w_.step(); n++)
			;
	}
	/* Let the killed tasks end. */
	for (const u64 later = w_.now + SECOND; w_.now < later && w_.step();)
		;
	for (connection &c : connections_) {
		c.at_client->check_gone();
		if (c.at_server)
			c.at_server->check_gone();
	}
	server_.check_gone();
	listener_.check_gone();
	if (memory_.used || memory_.waiting || memory_.first)
		w_.complain("memory is charged forever");
}

void crowd::run()
{
	for (u32 i = 0; i < count_; i++)
		w_.after(1 + i * 50, this, CONNECT, i);
	while (w_.complaint.empty() && (over_ < begun_ || begun_ < rpcs_)) {
		if (!w_.step())
			w_.complain("no event is left");
		else if (w_.now > LONGEST)
			w_.complain("a run does not end");
	}
	w_.log("%llu connections, at most %llu MiB of %llu; %u RPCs, the slowest took %llu ms; %u hoarders closed; %llu s",
	       w_.sum.connections, most_ / MIB, memory_.limit / MIB, over_,
	       slowest_ / MILLISECOND, stuck_, w_.now / SECOND);
	if (w_.complaint.empty())
		end();
}

} // namespace simulation
