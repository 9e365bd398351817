// SPDX-License-Identifier: GPL-2.0
/* The parameters of a run, all chosen at its start, and those of each RPC */
#include "network.hh"

namespace simulation
{

/*
 * Let the device read only into MRs of a few pages, which may hold less than it
 * reports. It has no more of them than the largest transfer needs, in which
 * each segment may begin and end within a page. Messages are smaller, so that
 * there are few MRs.
 */
void network::give_read_mrs(endpoint_params *p)
{
	constexpr u32 most = MAX_SMALLER + 512;
	const endpoint_params &peer = p->cfg.client ? setup_.server :
						      setup_.client;
	const u32 octets = std::min(peer.mr_size, p->cfg.props.rssiz);
	const u32 number = setup_.rpcs / 6;
	u32 pages;

	setup_.largest = MAX_SMALLER;
	p->read_pages = number % 2 ? 4 : 1;
	p->read_holds = p->read_pages - number / 2 % p->read_pages;
	/* Pages of the MRs after all splitting */
	for (pages = p->read_pages; pages > p->read_holds; pages /= 2)
		;
	p->read_into = most / (pages * p->page_octets()) +
		       (pages > 1 ? 3 : 2) * (most / octets + MAX_READ_CHUNKS);
	p->sq_depth += RPCRDMA_READ_MR_WRS * p->read_into;
}

/*
 * Limit the MRs to one more than the largest message needs. A message that
 * waits for MRs then waits for other messages, but not for Calls that
 * themselves wait for a message queued after it.
 */
void network::bound_mrs(endpoint_params *p)
{
	const u32 number = setup_.rpcs / (p->cfg.client ? 4 : 1);

	if (number % 3 == 2)
		p->max_mrs = (RPCRDMA_MAX_SEGS + 1) * (1 + setup_.chains);
}

/*
 * In some runs, let the device map less to an MR than it reports. A version 1
 * header has no space for the resulting number of segments.
 */
void network::deceive(endpoint_params *p)
{
	const u32 number = setup_.rpcs / (p->cfg.client ? 2 : 6);

	if (setup_.client.cfg.version_high == 1 ||
	    setup_.server.cfg.version_high == 1)
		return;
	p->splits = number % 8 == 3;
	if (number % 8 == 5)
		p->mr_room = std::max(p->mr_size / 8, p->page_octets());
}

/* Let the server be one that has only version 1. */
void network::choose_personality(v1_peer_params *one)
{
	rpcrdma_props &props = setup_.server.cfg.props;

	one->as = simulation::choose_personality(w_.choose);
	if (one->as.fixed && one->as.credits)
		one->credits = one->as.credits;
	if (one->as.largest) {
		props.sbsiz = LARGEST_ANNOUNCED;
		props.rbsiz = LARGEST_ANNOUNCED;
		one->size = setup_.client.cfg.props.sbsiz;
	}
	w_.log("a server of version 1: %s; its answer to version 2: %s%s",
	       one->as.name,
	       one->as.refusal ? one->as.refusal->name : "nothing",
	       one->as.hangs_up ? ", then a disconnect" : "");
}

void network::choose_setup()
{
	static constexpr u32 windows[] = { 32, 4, 5, 6, 7, 8, 12, 16, 64 };
	static constexpr u32 first_windows[] = { 0, 16, 4, 7 };
	static constexpr u32 sizes[] = { 4096, 1024, 2048, 8192 };
	static constexpr u32 reassemblies[] = { 262144, 0, 4096, 16384 };
	static constexpr u32 segment_counts[] = { RPCRDMA_MAX_SEGS, 0, 4, 16 };
	static constexpr u32 segment_sizes[] = { 1048576, 4096, 65536 };
	static constexpr u32 mr_sizes[] = { 65536, 4096, 1024 };
	static constexpr u32 sges[] = { 64, 4, 1 };
	static constexpr u32 asks[] = { ASKS_MORE, 0, 30, ~0u };
	choices &c = w_.choose;
	const u32 versions = c.below(10);

	setup_ = {};
	for (endpoint_params *p : { &setup_.client, &setup_.server }) {
		const bool client = p == &setup_.client;
		rpcrdma_conn_config &cfg = p->cfg;

		p->page_shift = page_shifts[client];
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
		p->mr_size = std::max(mr_sizes[c.below(std::size(mr_sizes))],
				      p->page_octets());
		p->max_mrs = 2 * RPCRDMA_MAX_SEGS +
			     (c.below(2) ? 0 : 2 * cfg.window);
		/*
		 * A Send Queue with space for one message of maximum size, or
		 * for many
		 */
		p->sq_depth = c.below(2) ?
				      RPCRDMA_MAX_SEGS + 1 + RPCRDMA_SQ_BATCH :
				      4 * cfg.window + 400;
		p->reorders = c.below(4) == 3;
	}
	/* Use version 2 most of the time. */
	if (versions == 7)
		setup_.client.cfg.version_high = 1;
	else if (versions == 8)
		setup_.server.cfg.version_high = 1;
	else if (versions == 9)
		setup_.client.cfg.version_low = 2;
	if (setup_.client.cfg.version_high == 1 ||
	    setup_.server.cfg.version_high == 1) {
		/* Convey large data only in chunks, without an RCSIZ. */
		for (endpoint_params *p : { &setup_.client, &setup_.server }) {
			p->cfg.props.rcsiz = RPCRDMA_MAX_SEGS;
			p->cfg.props.rssiz = 1048576;
			p->mr_size = std::max(p->mr_size, 4096u);
		}
		setup_.client.cfg.props.brs = RDMA2_RVRSDIR_SIMPLE;
	}

	for (endpoint_params *p : { &setup_.client, &setup_.server }) {
		if (setup_.client.cfg.version_high == 1 ||
		    setup_.server.cfg.version_high == 1)
			break;
		p->model = c.below(4) == 3;
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

		p->sges = sges[setup_.rpcs / 8 % std::size(sges)];
		if (!p->model)
			p->cfg.first_window =
				first_windows[number % std::size(first_windows)];
		/* A version 1 peer splits its memory as it likes. */
		if (number % 6 == 1 && versions != 7)
			give_read_mrs(p);
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
	for (endpoint_params *p : { &setup_.client, &setup_.server }) {
		/*
		 * The device has memory for half of the Send Queue requested.
		 */
		if (setup_.rpcs % 4 == 1 && !p->read_into)
			p->sq_wanted = 2 * p->sq_depth;
		bound_mrs(p);
		deceive(p);
	}
	setup_.pieces = c.below(3) == 2;
	setup_.short_chunks = setup_.pieces && c.below(2) &&
			      setup_.client.cfg.version_high > 1 &&
			      setup_.server.cfg.version_high > 1;
	setup_.bad = c.below(4) == 3 ? 200 : 0;
	setup_.v1_peer_client = versions == 7 && c.below(3);
	setup_.v1_peer_server = versions == 8 && c.below(3);
	if (setup_.v1_peer_client || setup_.v1_peer_server) {
		const endpoint_params &p =
			setup_.v1_peer_client ? setup_.client : setup_.server;
		const u32 reverse = p.cfg.reverse;
		v1_peer_params one{};

		one.client = setup_.v1_peer_client;
		one.credits = one.client ? reverse : p.cfg.window - reverse;
		one.size = p.cfg.props.rbsiz;
		one.asks = ASKS_MORE;
		if (one.client)
			one.asks = asks[c.below(std::size(asks))];
		else
			choose_personality(&one);
		v1_peer_ = std::make_unique<v1_peer>(
			w_, *this, one.client ? client_ : server_, one);
		setup_.bad = 0;
	}
	choose_secrets();
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
	const u64 buffer = rpcrdma_buffer_octets(
		setup_.server.page_octets(),
		std::max<u32>(RPCRDMA_V2_DEFAULT_INLINE, cfg.props.rbsiz));
	const u64 free = shared[c.below(std::size(shared))];
	/*
	 * The memory suffices only for one thread, and for one Reply that waits
	 * for the peer.
	 */
	const bool tight = free == shared[std::size(shared) - 1];
	/*
	 * Two Calls of each chain at a time, and the Receives by which the
	 * window grows
	 */
	const u32 chained =
		setup_.chains ? 4 * setup_.chains + 4 + cfg.reverse : 0;
	const u32 receives = rpcrdma_window_receives(std::min(
		cfg.window,
		std::max(cfg.first_window ? cfg.first_window : cfg.window,
			 chained)));

	promised_ = {};
	rpcrdma_quota_reserve(&promised_, 0, u64{ receives } * 2 * buffer,
			      MAX_MESSAGE, cfg.props.reassembly, 0);
	/*
	 * Calls keep their Receives while they wait for memory, or for another
	 * Call that waits for a callback. If the window cannot grow for lack of
	 * memory, the Call that a callback waits for may get no credit. No
	 * service of the kernel waits like that.
	 */
	promised_.share[RPCRDMA_QUOTA_CALLS] +=
		u64{ MAX_MESSAGE } * setup_.chains;
	if (tight)
		promised_.share[RPCRDMA_QUOTA_REPLIES] = 0;
	/* Large Calls wait for each other's memory. */
	setup_.heavy = tight && !cfg.props.reassembly;
	if (setup_.heavy)
		setup_.large = 5000;
	server_.threads = tight ? 1 : 1 + c.below(c.below(2) ? 16 : 3);
	/* A new connection must wait until the previous one has ended. */
	server_.memory = {};
	/*
	 * Reserve memory for one message of the largest Call, and for its
	 * Reply.
	 */
	for (u32 use = RPCRDMA_QUOTA_PARTS; use < RPCRDMA_QUOTA_USES; use++)
		server_.memory.reserve += promised_.share[use];
	server_.memory.limit = free + promised_.fixed +
			       promised_.share[RPCRDMA_QUOTA_BUFFERS] +
			       server_.memory.reserve;
	setup_.server.memory = &server_.memory;
	/* Replies may begin while the quota has space for any Reply */
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
					 4 * c.below(32) * (drawn % 7 ? 1 : 40);
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
		s.too_short = static_cast<u8>(c.below(all + 1));
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

} // namespace simulation
