/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One run: two machines, the connection manager between them, what is asked of
 * them and what goes wrong.
 */
#ifndef SIMULATION_NETWORK_H
#define SIMULATION_NETWORK_H

#include "host.h"

namespace simulation
{

/* What kind of run it is; all chosen at its beginning */
struct setup {
	endpoint_params client, server;
	u32 rpcs;    /* to be made */
	u32 at_once; /* outstanding at a time */
	u32 chains;  /* Calls at a time that wait for callbacks */
	u32 large;   /* of 10000 */
	u32 kills;   /* of 10000 */
	u32 cuts;    /* of 10000, for each RPC begun */
	bool sessions, gss, callbacks, slow;
};

class network : public actor
{
public:
	explicit network(world &w);

	/* The whole run; what is wrong is in w.complaint. */
	void run();

	/* The hosts' */
	void want_connection();
	void reset_backoff()
	{
		backoff_ = 0;
	}
	void opened(endpoint &ep);
	void closed(endpoint &ep);
	void rpc_over(rpc *task);
	rpc *find(u32 id)
	{
		return id < rpcs_.size() ? rpcs_[id].get() : nullptr;
	}
	rpc *new_rpc();
	const setup &chosen() const
	{
		return setup_;
	}
	host &other(const host &h)
	{
		return &h == &client_ ? server_ : client_;
	}
	/* Is there room for one more Call that waits for another? */
	bool may_chain() const
	{
		return chains_ < setup_.chains;
	}
	u32 executed(u32 id)
	{
		return executed_[id]++;
	}
	bool new_sequence(u32 id, u32 sequence);

	void act(u32 what, u64 arg) override;

private:
	enum {
		WORK,
		CONNECT,
		REQUEST,
		ACCEPTED,
		ESTABLISHED,
		NO_ANSWER,
	};

	void choose_setup();
	spec choose_spec();
	void work();
	void connect();
	void request(u32 index);
	void ended_attempt(int rc);

	world &w_;
	setup setup_;
	host client_, server_;
	std::vector<std::unique_ptr<endpoint>> endpoints_;
	std::vector<std::unique_ptr<rpc>> rpcs_;
	std::vector<u32> executed_;
	std::vector<u32> sequences_;
	rpcrdma_version_memory memory_{};
	bool connecting_ = false;
	endpoint *attempt_ = nullptr;
	u8 tried_ = 0;
	u64 backoff_ = 0;
	u32 begun_ = 0, over_ = 0, chains_ = 0, attempts_ = 0;
	bool work_scheduled_ = false;
};

} // namespace simulation

#endif /* SIMULATION_NETWORK_H */
