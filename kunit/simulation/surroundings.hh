/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The environment of a host: the connections for its Calls, their ends, and
 * the RPCs of the run, which both ends know.
 */
#ifndef SIMULATION_SURROUNDINGS_HH
#define SIMULATION_SURROUNDINGS_HH

#include "host.hh"

namespace simulation
{

class reconnect;

class surroundings
{
public:
	virtual ~surroundings() = default;

	/* The reconnect procedure of a client */
	virtual reconnect &reconnect_of(const host &client) = 0;
	/* Return the delay before a client reconnects. */
	virtual u64 reconnect_delay() = 0;
	virtual void reset_backoff() = 0;
	/*
	 * Attempt to connect, and report the result to the client. If there is
	 * another version, attempt that one instead.
	 */
	virtual void connect(reconnect &l) = 0;
	virtual bool connect_otherwise(reconnect &l) = 0;
	/*
	 * Learn the server's versions from a connection that opened, or that
	 * ended with @end.
	 */
	virtual void learn(const endpoint &ep, enum rpcrdma_end end) = 0;

	/* Events of endpoints */
	virtual void ask(endpoint &client) = 0;
	virtual void opened(endpoint &ep) = 0;
	virtual void connected(endpoint &client) = 0;
	virtual void failed(endpoint &client, int status) = 0;
	virtual void closed(endpoint &ep) = 0;
	virtual void rpc_over(rpc *task) = 0;
	virtual void run_quota(endpoint &ep, enum rpcrdma_quota_visit when) = 0;

	rpc *new_rpc()
	{
		rpcs_.push_back(std::make_unique<rpc>());
		rpcs_.back()->id = static_cast<u32>(rpcs_.size()) - 1;
		executed_.push_back(0);
		sequences_.push_back(~0u);
		return rpcs_.back().get();
	}
	rpc *find(u32 id)
	{
		return id < rpcs_.size() ? rpcs_[id].get() : nullptr;
	}
	u32 rpcs() const
	{
		return static_cast<u32>(rpcs_.size());
	}
	u32 executed(u32 id)
	{
		return executed_[id]++;
	}
	/*
	 * Return true if the sequence number is new. Sequence numbers increase
	 * with each copy, and each is used once.
	 */
	bool new_sequence(u32 id, u32 sequence)
	{
		const u32 last = sequences_[id];

		if (last != ~0u && sequence <= last)
			return false;
		sequences_[id] = sequence;
		return true;
	}

	bool slow = false; /* services are slow */

private:
	std::vector<std::unique_ptr<rpc>> rpcs_;
	std::vector<u32> executed_;
	std::vector<u32> sequences_;
};

} // namespace simulation

#endif /* SIMULATION_SURROUNDINGS_HH */
