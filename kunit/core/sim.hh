/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two engines connected by a channel that can corrupt messages and be cut. The
 * endpoint between engine and wire is as simple as possible. The simulation
 * checks its invariants after every step (WP 3).
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
	/* Receives posted at first, and initial values of the message counts */
	u32 posted[2];
	u32 start[2];
};

/* Return options for two ends with these windows and the usual properties. */
sim_options usual_options(u32 client_window, u32 server_window);

/* Sizes of one RPC of the simulation */
struct rpc_shape {
	u32 call_length = 100;
	u32 call_item = 0; /* bytes of it that are DDP-eligible */
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

	/* Exchange properties. Return true when both ends are open. */
	bool open();

	/*
	 * Queue a Call. Return its xid, or 0 if it cannot be conveyed at all.
	 */
	u32 call(side from, const rpc_shape &shape);
	/* Deliver the next message in flight to @to. */
	bool deliver(side to);
	/*
	 * Send the Reply to the Call at @index of those that @at processes,
	 * oldest first.
	 */
	bool answer(side at, u32 index = 0);
	/* Answer that Call with an ERROR, or never answer it. */
	bool refuse(side at, u32 index, u32 code);
	bool forget(side at, u32 index);
	/* All outstanding Calls of @from are abandoned by their callers. */
	void abandon(side from);
	/* Change a byte of the next message for @to. */
	bool corrupt(side to, u32 offset, uint8_t value);
	/* Replace the next message for @to, except its credit fields. */
	bool replace(side to, const octets &with);
	/* Return the Replies of @at that wait to be pulled. */
	u32 exposed(side at) const
	{
		return ends_[at].exposed;
	}
	/* The peer sends no DONE: invalidate the Replies overdue at @now. */
	u32 take_back(side at, u32 now);
	/* Send an unsolicited message with correct credit fields. */
	void inject_grant(side from);

	/*
	 * Deliver and answer until no message is left. Return false if that
	 * never ends.
	 */
	bool drain(bool answer_calls = true);

	u32 under_way(side to) const
	{
		return static_cast<u32>(peer(to).wire.size());
	}
	u32 working(side at) const
	{
		return static_cast<u32>(ends_[at].working.size());
	}
	/* Return the number of Calls not completed yet. */
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

	/* Requesters send DONE, as required. */
	bool send_done = true;

	/* Called for each Call that arrives: (side, xid) */
	std::function<void(side, u32)> on_call;

private:
	struct outgoing {
		u32 xid;
		rpcrdma_kind kind;
		rpcrdma_format format;
		rpcrdma_lists lists;
		octets payload;
		u32 sent = 0;
		rpcrdma_pull_entry *exposure = nullptr; /* Reply to be pulled */
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
		std::deque<octets> wire; /* sent and not received yet */
		std::deque<outgoing> calls, replies;
		bool current = false;	   /* a continued message is open at */
		rpcrdma_kind current_kind; /* the front of the queue of this
					    * kind */
		std::map<u32, pending_call> pending;
		std::deque<incoming_call> working;
		octets assembly;
		u32 next_xid = 1;
		u32 completed = 0, failed = 0;
		u32 exposed = 0;
		u32 abandoned = 0; /* Replies without a waiting caller */
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
	std::deque<rpcrdma_pull_entry> exposures_; /* of both ends, never
						  * removed */
	u32 start_[2];
	bool honest_ = true; /* no message was corrupted so far */
	bool closed_ = false;
	std::string complaint_;
	rpcrdma_rx rx_;
};

} // namespace engine_test

#endif /* ENGINE_TEST_SIM_HH */
