/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two engines talking to each other over a channel that can corrupt and cut,
 * with everything between engine and wire played by the simplest possible
 * endpoint. After every step it checks what must hold at any time (WP 3).
 */
#ifndef ENGINE_TEST_SIM_HH
#define ENGINE_TEST_SIM_HH

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "support.hh"

namespace engine_test
{

struct sim_options {
	rpcrdma_conn_config cfg[2]; /* client, server */
	/* Receives posted at first, and the message counts to start with */
	u32 posted[2];
	u32 start[2];
};

/* Two ends with windows of that size and the usual properties */
sim_options usual_options(u32 client_window, u32 server_window);

/* What one RPC of the simulation looks like */
struct rpc_shape {
	u32 call_length = 100;
	u32 call_item = 0; /* octets of it that are DDP-eligible */
	u32 reply_length = 100;
	u32 reply_item = 0;
	u32 reply_max = 0; /* 0: reply_length */
};

class sim
{
public:
	enum side {
		CLIENT,
		SERVER
	};

	explicit sim(const sim_options &options);

	/* Exchange properties; true when both ends are open. */
	bool open();

	/* Queue a Call; returns its xid, 0 when it cannot be made at all. */
	u32 call(side from, const rpc_shape &shape);
	/* Hand the next message that is under way to @to. */
	bool deliver(side to);
	/* Finish the Call that @at works on since longest or for @index. */
	bool answer(side at, u32 index = 0);
	/* ... with an ERROR, or not at all */
	bool refuse(side at, u32 index, u32 code);
	bool forget(side at, u32 index);
	/* The callers of all Calls of @from that are under way give up. */
	void abandon(side from);
	/* Change an octet of the message that @to will get next. */
	bool corrupt(side to, u32 offset, uint8_t value);
	/* Replace it altogether; credit fields stay as they are. */
	bool replace(side to, const octets &with);
	/* Replies that wait at @at to be pulled, and their octets */
	u32 exposed(side at) const
	{
		return ends_[at].exposed;
	}
	/* Nobody says DONE: take back what is overdue at @now. */
	u32 take_back(side at, u32 now);
	/* An extra message nobody asked for, with honest credit fields */
	void inject_grant(side from);

	/* Deliver and answer until nothing moves; false: it never ends. */
	bool drain(bool answer_calls = true);

	u32 under_way(side to) const
	{
		return static_cast<u32>(peer(to).wire.size());
	}
	u32 working(side at) const
	{
		return static_cast<u32>(ends_[at].working.size());
	}
	/* Calls not completed yet */
	u32 outstanding(side from) const
	{
		return static_cast<u32>(ends_[from].pending.size());
	}
	u32 completed(side from) const
	{
		return ends_[from].completed;
	}
	u32 failed(side from) const
	{
		return ends_[from].failed;
	}
	bool closed() const
	{
		return closed_;
	}
	const std::string &complaint() const
	{
		return complaint_;
	}
	rpcrdma_conn &conn(side s)
	{
		return ends_[s].conn;
	}

	/* Requesters that say DONE, as they should */
	bool send_done = true;

	/* Called with each Call that arrives: (side, xid) */
	std::function<void(side, u32)> on_call;

private:
	struct outgoing {
		u32 xid;
		rpcrdma_kind kind;
		rpcrdma_format format;
		rpcrdma_lists lists;
		octets payload;
		u32 sent = 0;
		rpcrdma_exposure *exposure = nullptr; /* to be pulled */
	};
	struct pending_call {
		rpc_shape shape;
		rpcrdma_lists lists;
		bool sent = false;
	};
	struct incoming_call {
		u32 xid;
		rpcrdma_lists lists;
	};
	struct end_state {
		rpcrdma_conn conn;
		std::deque<octets> wire; /* sent, not received */
		std::deque<outgoing> calls, replies;
		bool current = false;	   /* a continued message is open ... */
		rpcrdma_kind current_kind; /* ... at the front of its queue */
		std::map<u32, pending_call> pending;
		std::deque<incoming_call> working;
		octets assembly;
		u32 next_xid = 1;
		u32 completed = 0, failed = 0;
		u32 exposed = 0;
		u32 abandoned = 0; /* Replies that nobody waits for */
		u32 last_limit = 0, last_advertised = 0;
	};

	end_state &peer(side s)
	{
		return ends_[1 - s];
	}
	const end_state &peer(side s) const
	{
		return ends_[1 - s];
	}
	void handle(side s, u32 events);
	void pump(side s);
	bool send_one(side s, outgoing &out);
	void put(side s, octets data);
	void repost(side s);
	void got_call(side s, const rpcrdma_rx &rx, const octets &payload);
	void got_reply(side s, const rpcrdma_rx &rx, const octets &payload);
	void got_done(side s, const rpcrdma_rx &rx);
	bool expose(side at, outgoing *out, rpcrdma_reply_plan *plan);
	void complain(const std::string &what);
	void check();

	end_state ends_[2];
	std::deque<rpcrdma_exposure> exposures_; /* of both, ever */
	u32 start_[2];
	bool honest_ = true; /* nothing was corrupted so far */
	bool closed_ = false;
	std::string complaint_;
	rpcrdma_rx rx_;
};

} // namespace engine_test

#endif /* ENGINE_TEST_SIM_HH */
