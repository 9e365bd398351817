/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client's one connection: what transport/client.c does with it, in the engine's
 * order, and what sunrpc has around that: a lock, which lets one task send, or one
 * worker connect or close; and tasks that wait for a connection.
 */
#ifndef SIMULATION_LINK_HH
#define SIMULATION_LINK_HH

#include "host.hh"

namespace simulation
{

class link final : public actor
{
public:
	link(world &w, network &net, host &client)
		: w_{ w }, net_{ net }, client_{ client }
	{
	}

	/* Does somebody connect or close, so that nobody may send? */
	bool is_locked() const
	{
		return locked_;
	}
	bool is_connected() const
	{
		return connected_;
	}

	/* A task has the lock and no connection. It sleeps until one is there. */
	void connect();
	/* Have it closed, as soon as nobody has the lock. */
	void drop();

	/* The network's: what an attempt ended with, and the end of a connection */
	void tried(endpoint *made, int result);
	void closed(endpoint &ep);

	void act(u32 what, u64 arg) override;

private:
	enum {
		STEP,
		CLEAN_UP,
	};
	/* The connect worker, or who closes. Each sleeps while others are at work. */
	struct worker {
		rpcrdma_link_walk walk{};
		endpoint *made = nullptr, *old = nullptr;
		int result = 0;
		bool open = false;
		bool busy = false;
		u64 again =
			0; /* when it is to begin anew, once it is through */
	};

	void start(bool close, u64 delay);
	void go_on(bool close);
	bool step(worker &me, const rpcrdma_link_step &s);
	bool forget(worker &me);
	void unlock();

	world &w_;
	network &net_;
	host &client_;
	worker workers_[2]; /* who connects, who closes */
	bool locked_ = false, connected_ = false, connecting_ = false;
	bool to_be_closed_ = false;
};

} // namespace simulation

#endif /* SIMULATION_LINK_HH */
