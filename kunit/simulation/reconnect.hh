/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client's only connection: the model of the part of sunrpc/client.c that
 * reconnects, in the order given by the engine, and of the parts of sunrpc
 * around it. These are a lock, which admits one task that sends or one worker
 * that connects or closes, and the tasks that wait for a connection.
 */
#ifndef SIMULATION_RECONNECT_HH
#define SIMULATION_RECONNECT_HH

#include "surroundings.hh"

namespace simulation
{

class reconnect final : public actor
{
public:
	reconnect(world &w, surroundings &net, host &client)
		: w_{ w }, net_{ net }, client_{ client }
	{
	}

	/*
	 * Return true if a worker connects or closes, so that no task may send.
	 */
	bool is_locked() const
	{
		return locked_;
	}
	const host &client() const
	{
		return client_;
	}
	bool is_connected() const
	{
		return connected_;
	}

	/*
	 * Called by a task that has the lock and no connection. The task sleeps
	 * until there is a connection.
	 */
	void connect();
	/* Close the connection as soon as the lock is free. */
	void drop();

	/*
	 * Called by the network with the result of an attempt, and at the end
	 * of a connection
	 */
	void tried(endpoint *made, int result);
	void closed(endpoint &ep);

	void act(u32 what, u64 arg) override;

private:
	enum {
		STEP,
		CLEAN_UP,
	};
	/*
	 * The connect worker, or the worker that closes. Each sleeps while the
	 * other one runs.
	 */
	struct worker {
		rpcrdma_reconnect_walk walk{};
		endpoint *made = nullptr, *old = nullptr;
		int result = 0;
		bool open = false;
		bool busy = false;
		u64 again =
			0; /* time to run again, if requested while it runs */
	};

	void start(bool close, u64 delay);
	void go_on(bool close);
	bool step(worker &me, const rpcrdma_reconnect_step &s);
	bool forget(worker &me);
	void unlock();

	world &w_;
	surroundings &net_;
	host &client_;
	/* the worker that connects, and the one that closes */
	worker workers_[2];
	bool locked_ = false, connected_ = false, connecting_ = false;
	bool to_be_closed_ = false;
};

} // namespace simulation

#endif /* SIMULATION_RECONNECT_HH */
