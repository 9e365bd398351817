// SPDX-License-Identifier: GPL-2.0
#include "network.h"

#include <cerrno>

namespace simulation
{

/* No run may take longer than that. */
constexpr u64 LONGEST = 4 * 3600 * SECOND;
constexpr u64 MOST_STEPS = 2000000;

enum {
	CUT = 100,
	KILL,
	FIRST_CHOICE = 0,
};

network::network(world &w)
	: w_{ w }, client_{ w, *this, true }, server_{ w, *this, false }
{
}

/* ---- What kind of run it is ---- */

void network::choose_setup()
{
	static constexpr u32 windows[] = { 32, 4, 5, 6, 7, 8, 12, 16, 64 };
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
		/* Room for the largest of all, or for many */
		p->sq_depth = c.below(2) ? 2 * RPCRDMA_MAX_SEGS +
						   RPCRDMA_MORE_SEGS + 40 :
					   4 * cfg.window + 400;
		p->reorders = c.below(4) == 3;
	}
	/* Mostly version 2 */
	if (versions == 7)
		setup_.client.cfg.version_high = 1;
	else if (versions == 8)
		setup_.server.cfg.version_high = 1;
	else if (versions == 9)
		setup_.client.cfg.version_low = 2;
	if (setup_.client.cfg.version_high == 1 ||
	    setup_.server.cfg.version_high == 1) {
		/* Nothing but chunks for what is large, and no RCSIZ */
		for (endpoint_params *p : { &setup_.client, &setup_.server }) {
			p->cfg.props.rcsiz = RPCRDMA_MAX_SEGS;
			p->cfg.props.rssiz = 1048576;
			p->region_size = std::max(p->region_size, 4096u);
		}
		setup_.client.cfg.props.brs = RDMA2_RVRSDIR_SIMPLE;
	}

	setup_.rpcs = 1 + c.below(c.chance(1000) ? 1500 : 400);
	setup_.at_once = 1 + c.below(c.below(2) ? 100 : 8);
	setup_.large = c.below(4) * 1000;
	setup_.sessions = c.below(2);
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
	w_.slowness = c.below(4) == 3 ? 1 + c.below(50) : c.below(2) * 4;
	if (c.below(2)) {
		w_.faults_left = 1 + c.below(12);
		setup_.kills = c.below(3) * 100;
		setup_.cuts = c.below(3) * 100;
	}
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
		const u32 size = 1 + c.below(c.below(8) == 7 ? 60000 : 9000);

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
	s.reply_max = s.reply_length + (c.below(4) ? 0 : 4 * c.below(2000));
	if (chains_ < setup_.chains && c.below(4) == 0) {
		s.chain = static_cast<u8>(2 - c.below(2));
		s.session = false;
	}
	return s;
}

/* ---- What is asked for ---- */

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
	/* They rise from copy to copy, and each comes once. */
	const u32 last = sequences_[id];

	if (last != ~0u && sequence <= last)
		return false;
	sequences_[id] = sequence;
	return true;
}

void network::work()
{
	choices &c = w_.choose;

	while (begun_ < setup_.rpcs && client_.outstanding() < setup_.at_once) {
		const spec s = choose_spec();

		begun_++;
		if (s.chain) {
			chains_++;
			client_.begin(s, nullptr, [this] { chains_--; });
		} else {
			client_.begin(s, nullptr, nullptr);
		}
		if (w_.fault(setup_.cuts))
			w_.after(w_.delay(300), this, CUT, c.below(4));
		if (w_.fault(setup_.kills))
			w_.after(w_.delay(300), this, KILL);
		if (c.below(4) == 3)
			break;
	}
	/* One that is over makes room for another. */
	if (begun_ < setup_.rpcs && client_.outstanding() < setup_.at_once &&
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

void network::want_connection()
{
	if (connecting_)
		return;
	connecting_ = true;
	if (client_.ep)
		client_.ep->close(nullptr);
	w_.after(1 + backoff_, this, CONNECT);
	backoff_ = backoff_ ? std::min(2 * backoff_, 60 * SECOND) : 3 * SECOND;
}

/* One attempt; another may follow at once, with another version. */
void network::connect()
{
	endpoint_params p = setup_.client;
	const u8 high = p.cfg.version_high;

	if (++attempts_ > 200) {
		w_.complain("connections are made for ever");
		return;
	}
	tried_ = rpcrdma_version_first(&memory_, w_.now / SECOND,
				       p.cfg.version_low, high);
	p.cfg.version_high = tried_;
	p.cfg.guess = tried_ < high;
	p.cfg.number = static_cast<u32>(endpoints_.size()) + 1;
	endpoints_.push_back(
		std::make_unique<endpoint>(w_, p, client_, "client"));
	attempt_ = endpoints_.back().get();
	w_.after(w_.delay(200), this, REQUEST, endpoints_.size() - 1);
}

void network::request(u32 index)
{
	endpoint *client = endpoints_[index].get();
	endpoint_params p = setup_.server;
	rpcrdma_private priv{};
	endpoint *server;
	u8 octets[RPCRDMA_PRIVATE_OCTETS];

	if (w_.fault(1000)) {
		const u32 sort = w_.choose.below(3);

		w_.tell("connect: trouble %u", sort);
		if (sort == 2) {
			p.silent = true;
		} else {
			/* Refused, or never answered */
			w_.after(sort ? 5 * SECOND : 1, this, NO_ANSWER, index);
			return;
		}
	}
	p.cfg.number = static_cast<u32>(endpoints_.size()) + 1;
	endpoints_.push_back(
		std::make_unique<endpoint>(w_, p, server_, "server"));
	server = endpoints_.back().get();

	/* Private messages both ways; some peers have none. */
	if (!w_.choose.chance(500)) {
		const rpcrdma_conn_config &mine = setup_.client.cfg;

		priv = { 1, mine.inv_ok, mine.props.sbsiz, mine.props.rbsiz };
		rpcrdma_encode_private(&priv, octets);
		rpcrdma_decode_private(octets, sizeof(octets), &priv);
		rpcrdma_conn_private(&server->conn, &priv);
		priv = { 1, p.cfg.inv_ok, p.cfg.props.sbsiz,
			 p.cfg.props.rbsiz };
		rpcrdma_encode_private(&priv, octets);
		rpcrdma_decode_private(octets, sizeof(octets), &priv);
		rpcrdma_conn_private(&client->conn, &priv);
	}
	if (w_.choose.chance(300)) {
		/* A device without Reads one way */
		rpcrdma_conn_read_depth(&server->conn, 16, 0);
		rpcrdma_conn_read_depth(&client->conn, 0, 16);
	}
	queue_pair::connect(client->qp, server->qp);
	w_.after(w_.delay(100), this, ACCEPTED, index);
	w_.after(w_.delay(300), this, ESTABLISHED, endpoints_.size() - 1);
}

void network::opened(endpoint &ep)
{
	host &h = ep.conn.cfg.client ? client_ : server_;

	w_.sum.connections += ep.conn.cfg.client;
	w_.sum.version1 += ep.conn.cfg.client &&
			   ep.conn.version == RPCRDMA_VERS_1;
	if (ep.conn.cfg.client) {
		connecting_ = false;
		attempt_ = nullptr;
		rpcrdma_version_learn(&memory_, w_.now / SECOND, tried_,
				      rpcrdma_conn_answer(&ep.conn, false));
	}
	h.connected(&ep);
}

void network::closed(endpoint &ep)
{
	if (&ep == attempt_) {
		/* It never opened. Connected, but not a word? */
		const bool silent = !ep.conn.answered && ep.qp.connected();
		const u8 high = setup_.client.cfg.version_high;

		attempt_ = nullptr;
		if (silent) {
			rpcrdma_version_learn(&memory_, w_.now / SECOND, tried_,
					      RPCRDMA_ANSWER_NONE);
			if (rpcrdma_version_first(&memory_, w_.now / SECOND,
						  setup_.client.cfg.version_low,
						  high) != tried_) {
				connect();
				return;
			}
		}
		connecting_ = false;
	} else if (ep.conn.cfg.client) {
		rpcrdma_version_learn(&memory_, w_.now / SECOND,
				      ep.conn.cfg.version_high,
				      rpcrdma_conn_answer(&ep.conn, true));
		w_.sum.losses += over_ < rpcs_.size();
	}
}

/* ---- The run ---- */

void network::act(u32 what, u64 arg)
{
	switch (what) {
	case WORK:
		work_scheduled_ = false;
		work();
		break;
	case CONNECT:
		/* The one before has to be gone. */
		if (client_.ep)
			w_.after(MILLISECOND, this, CONNECT);
		else if (connecting_ && !attempt_)
			connect();
		break;
	case REQUEST:
		request(static_cast<u32>(arg));
		break;
	case ACCEPTED:
	case ESTABLISHED:
		endpoints_[arg]->established();
		break;
	case NO_ANSWER:
		endpoints_[arg]->close(nullptr);
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
	       (begun_ < setup_.rpcs || over_ < rpcs_.size() ||
		client_.serving() || server_.serving())) {
		if (!w_.step()) {
			w_.complain("nothing happens any more");
			break;
		}
		if (w_.now > LONGEST || w_.steps > MOST_STEPS)
			w_.complain("a run has no end");
	}
	if (!w_.complaint.empty()) {
		for (const auto &ep : endpoints_) {
			if (ep->state != endpoint::CLOSED)
				ep->describe();
		}
		return;
	}

	/* All is well, and over: nothing may be left. */
	for (auto &ep : endpoints_)
		ep->close(nullptr);
	end = w_.now + 30 * SECOND;
	while (w_.complaint.empty() && w_.now < end && w_.step()) {
		bool gone = true;

		for (auto &ep : endpoints_)
			gone &= ep->state == endpoint::CLOSED;
		if (gone)
			break;
	}
	if (!w_.complaint.empty())
		return;
	for (auto &ep : endpoints_)
		ep->check_gone();
}

} // namespace simulation
