// SPDX-License-Identifier: GPL-2.0
#include "network.hh"

#include <cerrno>

namespace simulation
{

/* Bounds of a run's time and events */
constexpr u64 LONGEST = 4 * 3600 * SECOND;
constexpr u64 MOST_STEPS = 2000000;

enum {
	CUT = 100,
	KILL,
};

/* Index of a version 1 peer, in place of an endpoint's */
constexpr u32 PEER1 = ~0u;

network::network(world &w)
	: w_{ w }, client_{ w, *this, true }, server_{ w, *this, false }
{
}

/* ---- Parameters of the run ---- */

/*
 * Make the device read into MRs of one page. It has no more of them than the
 * largest transfer needs, in which each segment may begin and end within a
 * page. Messages are smaller, so that there are few MRs.
 */
void network::give_read_regions(endpoint_params *p)
{
	constexpr u32 most = MAX_SMALLER + 512;
	const endpoint_params &peer = p->cfg.client ? setup_.server :
						      setup_.client;
	const u32 octets = std::min(peer.region_size, p->cfg.props.rssiz);

	setup_.largest = MAX_SMALLER;
	p->read_into =
		most / PAGE_OCTETS + 2 * (most / octets + MAX_READ_CHUNKS);
	p->sq_depth += RPCRDMA_READ_REGION_WRS * p->read_into;
}

/*
 * Bound the MRs to one more than the largest message needs. A message that
 * waits for MRs then waits for other messages, but not for Calls that
 * themselves wait for one that is queued after it.
 */
void network::bound_regions(endpoint_params *p)
{
	const u32 number = setup_.rpcs / (p->cfg.client ? 4 : 1);

	if (number % 3 == 2)
		p->max_regions = (RPCRDMA_MAX_SEGS + 1) * (1 + setup_.chains);
}

void network::choose_setup()
{
	static constexpr u32 windows[] = { 32, 4, 5, 6, 7, 8, 12, 16, 64 };
	static constexpr u32 first_windows[] = { 0, 16, 4, 7 };
	static constexpr u32 reply_counts[] = { ~0u, 1, 4 };
	static constexpr u32 sizes[] = { 4096, 1024, 2048, 8192 };
	static constexpr u32 reassemblies[] = { 262144, 0, 4096, 16384 };
	static constexpr u32 segment_counts[] = { RPCRDMA_MAX_SEGS, 0, 4, 16 };
	static constexpr u32 segment_sizes[] = { 1048576, 4096, 65536 };
	static constexpr u32 region_sizes[] = { 65536, 4096, 1024 };
	choices &c = w_.choose;
	const u32 versions = c.below(10);

	setup_ = {};
	for (endpoint_params *p : { &setup_.client, &setup_.server }) {
		const bool client = p == &setup_.client;
		rpcrdma_conn_config &cfg = p->cfg;

		cfg.client = client;
		cfg.version_low = 1;
		cfg.version_high = 2;
		cfg.inv_ok = !c.chance(1000);
		cfg.window = windows[c.below(std::size(windows))];
		cfg.reverse = 1 + c.below(cfg.window / 4);
		if (!client)
			cfg.expose_octets = c.below(2) ? 1048576 : 0;
		cfg.done_ms = 1000;
		cfg.props.sbsiz = sizes[c.below(std::size(sizes))];
		cfg.props.rbsiz = c.chance(8000) ?
					  cfg.props.sbsiz :
					  sizes[c.below(std::size(sizes))];
		cfg.props.reassembly =
			reassemblies[c.below(std::size(reassemblies))];
		cfg.props.rcsiz = c.chance(2000) ?
					  segment_counts[c.below(
						  std::size(segment_counts))] :
					  u32{ RPCRDMA_MAX_SEGS };
		cfg.props.rssiz =
			segment_sizes[c.below(std::size(segment_sizes))];
		if (client) {
			cfg.props.brs = RDMA2_RVRSDIR_GENL - c.below(4);
			if (c.below(2))
				cfg.props.reply_read |= RDMA2_REPLY_READ_PULL;
		} else if (cfg.expose_octets) {
			cfg.props.reply_read |= RDMA2_REPLY_READ_PROVIDE;
		}
		p->sends = cfg.window;
		p->region_size = region_sizes[c.below(std::size(region_sizes))];
		p->max_regions = 2 * RPCRDMA_MAX_SEGS +
				 (c.below(2) ? 0 : 2 * cfg.window);
		/* Space for one message of maximum size, or for many */
		p->sq_depth = c.below(2) ?
				      RPCRDMA_MAX_SEGS + 1 + RPCRDMA_SQ_BATCH :
				      4 * cfg.window + 400;
		p->reorders = c.below(4) == 3;
	}
	/* Version 2 most of the time */
	if (versions == 7)
		setup_.client.cfg.version_high = 1;
	else if (versions == 8)
		setup_.server.cfg.version_high = 1;
	else if (versions == 9)
		setup_.client.cfg.version_low = 2;
	if (setup_.client.cfg.version_high == 1 ||
	    setup_.server.cfg.version_high == 1) {
		/* Large data only in chunks, and no RCSIZ */
		for (endpoint_params *p : { &setup_.client, &setup_.server }) {
			p->cfg.props.rcsiz = RPCRDMA_MAX_SEGS;
			p->cfg.props.rssiz = 1048576;
			p->region_size = std::max(p->region_size, 4096u);
		}
		setup_.client.cfg.props.brs = RDMA2_RVRSDIR_SIMPLE;
	}

	for (endpoint_params *p : { &setup_.client, &setup_.server }) {
		if (setup_.client.cfg.version_high == 1 ||
		    setup_.server.cfg.version_high == 1)
			break;
		p->letter = c.below(4) == 3;
		p->refuses_props = c.chance(200);
	}
	setup_.rpcs = 1 + c.below(c.chance(1000) ? 1500 : 400);
	setup_.at_once = 1 + c.below(c.below(2) ? 100 : 8);
	setup_.large = c.below(4) * 1000;
	setup_.largest = MAX_MESSAGE;
	setup_.sessions = c.below(2);
	/*
	 * Derive these from numbers already chosen: one more choice would
	 * change all recorded runs.
	 */
	for (endpoint_params *p : { &setup_.client, &setup_.server }) {
		const u32 number = setup_.rpcs / (p->cfg.client ? 4 : 1);

		p->replies =
			reply_counts[setup_.rpcs % std::size(reply_counts)];
		if (!p->letter)
			p->cfg.first_window =
				first_windows[number % std::size(first_windows)];
		/* A version 1 peer splits its memory as it likes. */
		if (number % 6 == 1 && versions != 7)
			give_read_regions(p);
	}
	setup_.gss = c.below(4) == 3;
	setup_.slow = c.below(4) == 3;
	setup_.callbacks = c.below(2) &&
			   setup_.client.cfg.props.brs != RDMA2_RVRSDIR_NONE;
	if (setup_.callbacks) {
		const rpcrdma_conn_config &mine = setup_.client.cfg;
		const rpcrdma_conn_config &theirs = setup_.server.cfg;
		const u32 calls = std::min(theirs.window - 2,
					   theirs.window - theirs.reverse);
		const u32 back = std::min(mine.window - 2, mine.reverse);

		setup_.chains = std::min({ (calls - 1) / 2, back });
		setup_.chains = std::max(setup_.chains, 1u);
		setup_.chains = 1 + c.below(setup_.chains);
	}
	for (endpoint_params *p : { &setup_.client, &setup_.server })
		bound_regions(p);
	setup_.pieces = c.below(3) == 2;
	setup_.short_chunks = setup_.pieces && c.below(2) &&
			      setup_.client.cfg.version_high > 1 &&
			      setup_.server.cfg.version_high > 1;
	setup_.bad = c.below(4) == 3 ? 200 : 0;
	setup_.peer1_client = versions == 7 && c.below(3);
	setup_.peer1_server = versions == 8 && c.below(3);
	if (setup_.peer1_client || setup_.peer1_server) {
		const endpoint_params &p = setup_.peer1_client ? setup_.client :
								 setup_.server;
		const u32 reverse = p.cfg.reverse;

		peer1_ = std::make_unique<peer1>(
			w_, *this, setup_.peer1_client ? client_ : server_,
			peer1_params{ setup_.peer1_client,
				      setup_.peer1_client ?
					      reverse :
					      p.cfg.window - reverse,
				      p.cfg.props.rbsiz, c.below(3) == 2,
				      c.below(2) != 0 });
		setup_.bad = 0;
	}
	bound_memory();
	w_.slowness = c.below(4) == 3 ? 1 + c.below(50) : c.below(2) * 4;
	if (c.below(2)) {
		w_.faults_left = 1 + c.below(12);
		setup_.kills = c.below(3) * 100;
		setup_.cuts = c.below(3) * 100;
	}
}

/* Bound the memory that the server holds for all its peers, and its threads. */
void network::bound_memory()
{
	static constexpr u64 shared[] = { 64 << 20, 256 << 10, 64 << 10,
					  16 << 10 };
	choices &c = w_.choose;
	const rpcrdma_conn_config &cfg = setup_.server.cfg;
	const u64 buffer =
		std::max<u32>(RPCRDMA_V2_DEFAULT_INLINE, cfg.props.rbsiz);
	const u64 free = shared[c.below(std::size(shared))];
	/*
	 * The memory suffices for one thread and one Reply that waits for the
	 * peer.
	 */
	const bool tight = free == shared[std::size(shared) - 1];
	/*
	 * Two Calls at a time of each chain, and the Receives with which the
	 * window grows
	 */
	const u32 chained =
		setup_.chains ? 4 * setup_.chains + 4 + cfg.reverse : 0;
	const u32 receives = rpcrdma_window_receives(std::min(
		cfg.window,
		std::max(cfg.first_window ? cfg.first_window : cfg.window,
			 chained)));

	promised_ = {};
	rpcrdma_memory_promise(&promised_, 0, u64{ receives } * 2 * buffer,
			       MAX_MESSAGE, cfg.props.reassembly, 0);
	/*
	 * Calls that wait for memory, or for another Call that waits for a
	 * callback, keep their Receives. If the window cannot grow for want of
	 * memory, the Call that a callback waits for may have no credit. No
	 * service of the kernel waits like that.
	 */
	promised_.share[RPCRDMA_MEMORY_CALLS] +=
		u64{ MAX_MESSAGE } * setup_.chains;
	if (tight)
		promised_.share[RPCRDMA_MEMORY_REPLIES] = 0;
	/* Large Calls wait for each other's memory. */
	setup_.heavy = tight && !cfg.props.reassembly;
	if (setup_.heavy)
		setup_.large = 5000;
	server_.threads = tight ? 1 : 1 + c.below(c.below(2) ? 16 : 3);
	/* A new connection has to wait for the end of the previous one. */
	server_.memory = {};
	/*
	 * Reserve one message of the largest Call, and what is held for its
	 * Reply.
	 */
	for (u32 use = RPCRDMA_MEMORY_PARTS; use < RPCRDMA_MEMORY_USES; use++)
		server_.memory.reserve += promised_.share[use];
	server_.memory.limit = free + promised_.fixed +
			       promised_.share[RPCRDMA_MEMORY_BUFFERS] +
			       server_.memory.reserve;
	setup_.server.memory = &server_.memory;
	/* Replies begun while the quota had space for any Reply */
	setup_.server.most_memory =
		server_.memory.limit +
		u64{ MAX_MESSAGE } * (server_.threads + setup_.chains);
}

spec network::choose_spec()
{
	choices &c = w_.choose;
	spec s;

	s.call_length = MIN_MESSAGE + 4 * c.below(64);
	s.reply_length = MIN_MESSAGE + 4 * c.below(64);
	s.sequenced = setup_.gss;
	s.ddp = !setup_.gss || c.below(2);
	s.session = setup_.sessions && c.below(2);
	if (c.chance(setup_.large)) {
		const u32 sort = c.below(8);
		const u32 drawn =
			1 + c.below(c.below(setup_.heavy ? 2 : 8) ==
						    (setup_.heavy ? 1 : 7) ?
					    60000 :
					    9000);
		const u32 size = std::min(drawn, setup_.largest);

		if (sort < 3) {
			s.call_item = size;
			s.call_length = ITEM_POSITION + roundup4(size) +
					4 * c.below(32);
		} else if (sort < 6) {
			s.reply_item = size;
			s.reply_length = ITEM_POSITION + roundup4(size) +
					 4 * c.below(32);
			s.bulk = true;
		} else if (sort < 7) {
			s.call_length += roundup4(size);
		} else {
			s.reply_length += roundup4(size);
		}
	}
	if (setup_.pieces && s.call_item >= 64)
		s.call_pieces = static_cast<u8>(1 + c.below(4));
	if (setup_.pieces && s.reply_item >= 64)
		s.reply_pieces = static_cast<u8>(1 + c.below(4));
	if (setup_.short_chunks) {
		const u32 all = (1u << s.reply_pieces) - 1;

		s.empty = static_cast<u8>(c.below(all));
		s.too_short = static_cast<u8>(c.below(all));
	}
	s.bad = c.chance(setup_.bad);
	s.reply_max = s.reply_length + (c.below(4) ? 0 : 4 * c.below(2000));
	if (chains_ < setup_.chains && c.below(4) == 0) {
		s.chain = static_cast<u8>(2 - c.below(2));
		s.session = false;
		s.bad = false;
	}
	return s;
}

/* ---- RPCs ---- */

rpc *network::new_rpc()
{
	rpcs_.push_back(std::make_unique<rpc>());
	executed_.push_back(0);
	sequences_.push_back(~0u);
	rpcs_.back()->id = static_cast<u32>(rpcs_.size()) - 1;
	return rpcs_.back().get();
}

bool network::new_sequence(u32 id, u32 sequence)
{
	/* Sequence numbers increase with each copy, and each is used once. */
	const u32 last = sequences_[id];

	if (last != ~0u && sequence <= last)
		return false;
	sequences_[id] = sequence;
	return true;
}

void network::work()
{
	choices &c = w_.choose;

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
		if (setup_.peer1_client)
			peer1_->begin(s, ended);
		else
			client_.begin(s, nullptr, ended);
		if (w_.fault(setup_.cuts))
			w_.after(w_.delay(300), this, CUT, c.below(4));
		if (w_.fault(setup_.cuts / 10))
			w_.after(w_.delay(300), this, REMOVE, c.below(2));
		if (w_.fault(setup_.kills))
			w_.after(w_.delay(300), this, KILL);
		if (c.below(4) == 3)
			break;
	}
	/* An RPC that ends lets another one begin. */
	if (begun_ < setup_.rpcs && outstanding() < setup_.at_once &&
	    !work_scheduled_) {
		work_scheduled_ = true;
		w_.after(w_.delay(40), this, WORK);
	}
}

void network::rpc_over(rpc *)
{
	over_++;
	w_.sum.exchanges++;
	if (begun_ < setup_.rpcs && !work_scheduled_) {
		work_scheduled_ = true;
		w_.after(1, this, WORK);
	}
}

/* ---- The connection manager ---- */

u64 network::reconnect_delay()
{
	const u64 delay = backoff_;

	backoff_ = backoff_ ? std::min(2 * backoff_, 60 * SECOND) : 3 * SECOND;
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
 * Some attempts fail for want of memory. The number of failures is bounded, so
 * that a run ends.
 */
bool network::may_attempt()
{
	if (++attempts_ > 100)
		setup_.rpcs = begun_;
	if (attempts_ > 400)
		w_.complain("connections are made for ever");
	return attempts_ <= 400;
}

void network::connect()
{
	const rpcrdma_conn_config &cfg = setup_.client.cfg;

	tried_ = rpcrdma_version_first(&memory_, w_.now / SECOND,
				       cfg.version_low, cfg.version_high);
	attempt();
}

bool network::connect_otherwise()
{
	const rpcrdma_conn_config &cfg = setup_.client.cfg;
	const u8 other = rpcrdma_version_first(
		&memory_, w_.now / SECOND, cfg.version_low, cfg.version_high);

	if (other == tried_)
		return false;
	tried_ = other;
	attempt();
	return true;
}

void network::attempt()
{
	endpoint_params p = setup_.client;
	const u8 high = p.cfg.version_high;

	if (!may_attempt())
		return;
	p.cfg.version_high = tried_;
	p.cfg.guess = tried_ < high;
	p.cfg.number = static_cast<u32>(endpoints_.size()) + 1;
	endpoints_.push_back(
		std::make_unique<endpoint>(w_, p, client_, "client"));
	attempt_ = endpoints_.back().get();
	attempt_->make(0);
}

void network::ask(endpoint &client)
{
	w_.after(w_.delay(200), this, REQUEST, client.conn.cfg.number - 1);
}

/* Report to the client that its attempt has failed. */
void network::answer(u32 index, enum rpcrdma_news news, int rejection)
{
	if (index == PEER1)
		w_.after(1, this, NO_ANSWER);
	else
		endpoints_[index]->news(news, rejection);
}

/*
 * Deliver the private message of @from, set up as @cfg, at @to. NULL: a model
 * of a peer
 */
void network::send_private(const endpoint *from, const rpcrdma_conn_config &cfg,
			   endpoint *to)
{
	rpcrdma_private priv = { 1, cfg.inv_ok, cfg.props.sbsiz,
				 cfg.props.rbsiz };
	u8 octets[RPCRDMA_PRIVATE_OCTETS];

	if (!private_)
		return;
	if (from)
		rpcrdma_conn_announce(&from->conn, &priv);
	rpcrdma_encode_private(&priv, octets);
	rpcrdma_decode_private(octets, sizeof(octets), &priv);
	if (to)
		rpcrdma_conn_private(&to->conn, &priv);
}

/*
 * Admit the connection or not. The connection that has been opening longest may
 * be evicted.
 */
bool network::admit(endpoint *server)
{
	enum rpcrdma_admit answer;
	bool memory = false;

	for (;;) {
		endpoint *oldest = nullptr;

		for (auto &ep : endpoints_)
			if (!oldest && ep->guest.stage == RPCRDMA_GUEST_OPENING)
				oldest = ep.get();
		memory = memory || !rpcrdma_memory_join(server->params.memory,
							&server->account);
		answer = rpcrdma_admission_ask(
			&admission_, &server->guest,
			oldest ? &oldest->guest : nullptr, memory, w_.now_ms());
		if (answer != RPCRDMA_ADMIT_DISPLACE)
			return answer == RPCRDMA_ADMIT;
		w_.tell("%s: makes way", oldest->name);
		rpcrdma_admission_leave(&admission_, &oldest->guest);
		rpcrdma_memory_leave(oldest->params.memory, &oldest->account);
		oldest->close(nullptr);
	}
}

void network::request(u32 index)
{
	endpoint *client = index == PEER1 ? nullptr : endpoints_[index].get();
	endpoint *server = nullptr;
	endpoint_params p = setup_.server;
	queue_pair *one = nullptr;

	/* The request was not sent. */
	if (client && client->is_closing())
		return;
	if (w_.now < std::max(away_until_[0], away_until_[1])) {
		answer(index, RPCRDMA_NEWS_UNREACHABLE);
		return;
	}
	if (w_.fault(1000)) {
		const u32 sort = w_.choose.below(peer1_ ? 2 : 3);

		w_.tell("connect: trouble %u", sort);
		if (sort == 2) {
			p.silent = true;
		} else if (!sort) {
			/*
			 * Rejected, or the peer already has a connection like
			 * it
			 */
			answer(index, RPCRDMA_NEWS_REJECTED,
			       w_.choose.below(2) ? 10 : 8);
			return;
		} else {
			/* The request is never answered. */
			if (!client)
				w_.after(5 * SECOND, this, NO_ANSWER);
			return;
		}
	}
	if (!setup_.peer1_server) {
		p.cfg.number = static_cast<u32>(endpoints_.size()) + 1;
		endpoints_.push_back(
			std::make_unique<endpoint>(w_, p, server_, "server"));
		server = endpoints_.back().get();
		/* The first Receives are charged already. */
		const u64 first = server->account.held[RPCRDMA_MEMORY_BUFFERS];

		static_cast<rpcrdma_memory_account &>(server->account) =
			promised_;
		server->account.held[RPCRDMA_MEMORY_BUFFERS] = first;
		if (!admit(server)) {
			endpoints_.pop_back();
			answer(index, RPCRDMA_NEWS_REJECTED, 28);
			return;
		}
	}
	w_.sum.letters += p.letter || setup_.client.letter;
	/* Some peers send no private messages. */
	private_ = !w_.choose.chance(500);
	send_private(client, setup_.client.cfg, server);
	if (w_.choose.chance(300)) {
		/* A device that supports Reads in one direction only */
		if (server)
			rpcrdma_conn_read_depth(&server->conn, 16, 0);
		if (client)
			rpcrdma_conn_read_depth(&client->conn, 0, 16);
	}
	if (server) {
		server->make(0);
		if (server->is_closing()) {
			answer(index, RPCRDMA_NEWS_REJECTED, 28);
			return;
		}
	}
	/*
	 * With little memory a server advertises less than it was set up for.
	 */
	send_private(server, setup_.server.cfg, client);
	if (peer1_) {
		const rpcrdma_props &mine = client ? client->conn.cfg.props :
						     setup_.client.cfg.props;
		const rpcrdma_props &theirs = server ? server->conn.cfg.props :
						       setup_.server.cfg.props;
		u32 size = std::min(theirs.sbsiz, mine.rbsiz);

		/* Version 1 has one threshold for both directions. */
		if (!client)
			size = std::min({ size, mine.sbsiz, theirs.rbsiz });
		w_.sum.peers1++;
		one = &peer1_->connect(private_ ? size : 1024,
				       private_ && setup_.client.cfg.inv_ok);
	}
	queue_pair::connect(client ? client->qp : *one,
			    server ? server->qp : *one);
	if (client)
		w_.after(w_.delay(100), this, ACCEPTED, index);
	if (server)
		w_.after(w_.delay(300), this, ESTABLISHED,
			 endpoints_.size() - 1);
	if (peer1_)
		w_.after(w_.delay(200), this, PEER1_UP);
}

void network::opened(endpoint &ep)
{
	/*
	 * A client's connection is used once the context that requested it
	 * knows of it.
	 */
	if (ep.conn.cfg.client)
		return;
	if (!rpcrdma_admission_opened(&admission_, &ep.guest))
		return;
	rpcrdma_admission_take(&admission_, &ep.guest);
	rpcrdma_guest_served(&ep.guest, false);
	server_.use(&ep);
}

void network::connected(endpoint &client)
{
	w_.sum.connections++;
	w_.sum.version1 += client.conn.version == RPCRDMA_VERS_1;
	attempt_ = nullptr;
	link_.tried(&client, 0);
}

void network::learn(u8 tried, enum rpcrdma_answer answer)
{
	if (rpcrdma_version_learn(&memory_, w_.now / SECOND, tried, answer))
		backoff_ = 0;
}

void network::learn(const endpoint &ep, enum rpcrdma_end end)
{
	learn(ep.conn.cfg.version_high, rpcrdma_conn_answer(&ep.conn, end));
}

void network::failed(endpoint &ep, int status)
{
	learn(ep.conn.cfg.version_high, ep.answer);
	attempt_ = nullptr;
	w_.sum.attempts_failed++;
	link_.tried(nullptr, status);
}

void network::closed(endpoint &ep)
{
	if (!ep.conn.cfg.client) {
		const bool known = rpcrdma_guest_known(&ep.guest);
		const u32 todo = rpcrdma_admission_gone(
			known ? nullptr : &admission_, &ep.guest);

		if (!(todo &
		      (known ? RPCRDMA_GUEST_CLOSE : RPCRDMA_GUEST_FREE)))
			w_.complain("nobody is told of a connection's end");
		return;
	}
	if (&ep == attempt_)
		w_.complain("the end of a connection that nobody has");
	link_.closed(ep);
	w_.sum.losses += over_ < rpcs_.size();
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
			w_.after(w_.delay(200), this, REQUEST, PEER1);
		break;
	case REQUEST:
		request(static_cast<u32>(arg));
		break;
	case ACCEPTED:
	case ESTABLISHED:
		endpoints_[arg]->news(RPCRDMA_NEWS_ESTABLISHED);
		break;
	case NO_ANSWER:
		/* A client of version 1 retries. */
		connecting_ = false;
		want_connection();
		break;
	case PEER1_UP:
		if (setup_.peer1_client)
			connecting_ = false;
		peer1_->established();
		break;
	case REMOVE:
		remove(arg);
		break;
	case REMOVED:
		for (size_t i = 0; i < removed_[arg]; i++) {
			const endpoint &ep = *endpoints_[i];

			if (!ep.conn.cfg.client == !arg && !ep.is_gone())
				w_.complain("a device cannot be removed");
		}
		break;
	case CUT: {
		endpoint *ep = arg & 1 ? server_.ep : client_.ep;

		if (!ep)
			break;
		if (arg & 2)
			ep->close("for no reason");
		else if (ep->qp.connected())
			ep->qp.cut();
		break;
	}
	case KILL: {
		rpc *task = client_.any_task();

		if (task && !task->what.chain && !task->ended)
			client_.kill(task);
		break;
	}
	}
}

/*
 * Remove a device for two seconds. By surprise, its connections are lost before
 * its removal is announced.
 */
void network::remove(bool client)
{
	const bool surprise = w_.choose.below(2);

	w_.tell("the %s's device is removed", client ? "client" : "server");
	w_.sum.removals++;
	away_until_[client] = w_.now + 2 * SECOND;
	removed_[client] = endpoints_.size();
	for (size_t i = 0; i < removed_[client]; i++) {
		endpoint &ep = *endpoints_[i];

		if (!ep.conn.cfg.client == client || ep.is_closing())
			continue;
		if (surprise && ep.qp.connected())
			ep.qp.cut();
		ep.news(RPCRDMA_NEWS_REMOVED);
	}
	w_.after(SECOND, this, REMOVED, client);
}

void network::run()
{
	u64 end;

	choose_setup();
	w_.tell("windows %u and %u, messages of %u and %u, %u RPCs, %u at once, %u chains",
		setup_.client.cfg.window, setup_.server.cfg.window,
		setup_.client.cfg.props.rbsiz, setup_.server.cfg.props.rbsiz,
		setup_.rpcs, setup_.at_once, setup_.chains);
	w_.after(1, this, WORK);
	while (w_.complaint.empty() &&
	       (begun_ < setup_.rpcs || over_ < rpcs_.size() || serving())) {
		if (!w_.step()) {
			w_.complain("nothing happens any more");
			break;
		}
		if (w_.now > LONGEST || w_.steps > MOST_STEPS)
			w_.complain("a run has no end");
	}
	if (!w_.complaint.empty()) {
		for (const auto &ep : endpoints_) {
			if (!ep->is_gone())
				ep->describe();
		}
		return;
	}

	/* The run has ended without a complaint: nothing may be left. */
	if (peer1_)
		peer1_->close();
	end = w_.now + 30 * SECOND;
	do {
		bool gone = true;

		/*
		 * A connection may still be opened here, for an RPC that was
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
	if (admission_.all)
		w_.complain("a listener waits for a connection that is gone");
	if (admission_.opening || admission_.opened)
		w_.complain("a listener counts a connection that is gone");
	if (peer1_)
		peer1_->check_gone();
}

} // namespace simulation
