/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One run: two machines, the connection manager between them, their RPCs and
 * the faults.
 */
#ifndef SIMULATION_NETWORK_HH
#define SIMULATION_NETWORK_HH

#include "link.hh"
#include "peer1.hh"

namespace simulation
{

/* The parameters of a run, all chosen at its start */
struct setup {
	endpoint_params client, server;
	u32 rpcs;    /* RPCs in all */
	u32 at_once; /* RPCs outstanding at a time */
	u32 chains;  /* Calls at a time that wait for callbacks */
	u32 large;   /* probability in 10000 */
	u32 largest; /* maximum length of an item in bytes */
	u32 kills;   /* probability in 10000 */
	u32 cuts;    /* probability in 10000, for each RPC begun */
	u32 bad;     /* probability in 10000 */
	bool sessions, gss, callbacks, slow;
	bool heavy;	   /* many items are large */
	bool pieces;	   /* items of a message in several chunks */
	bool short_chunks; /* some of several chunks are too short */
	/* One end is a version 1 peer without the engine. */
	bool peer1_client, peer1_server;
};

class network : public actor
{
public:
	explicit network(world &w);

	/* Do the whole run. A failure is reported in w.complaint. */
	void run();

	/* Return the delay before the client reconnects. */
	u64 reconnect_delay();
	/*
	 * Attempt to connect and report the result to the client's link; or
	 * attempt it with another version, if there is one.
	 */
	void connect();
	bool connect_otherwise();
	/*
	 * Learn the server's versions from a connection that opened, or that
	 * ended with @ended.
	 */
	void learn(const endpoint &ep, enum rpcrdma_end end);
	void learn(u8 tried, enum rpcrdma_answer answer);
	link &client_link()
	{
		return link_;
	}
	/* For a version 1 peer */
	void want_connection();

	/* For the hosts */
	void reset_backoff()
	{
		backoff_ = 0;
	}
	void ask(endpoint &client);
	void opened(endpoint &ep);
	void connected(endpoint &client);
	void failed(endpoint &client, int status);
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
	/* Return true if one more Call may wait for a nested one. */
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
		PEER1_UP,
		REMOVE,
		REMOVED,
	};

	void choose_setup();
	spec choose_spec();
	void work();
	bool may_attempt();
	void attempt();
	void request(u32 index);
	void answer(u32 index, enum rpcrdma_news news, int rejection = 0);
	rpcrdma_private private_of(const endpoint *from,
				   const rpcrdma_conn_config &cfg) const;
	u32 outstanding() const
	{
		return setup_.peer1_client ? peer1_->outstanding() :
					     client_.outstanding();
	}
	bool serving() const
	{
		return client_.serving() || server_.serving() ||
		       (peer1_ && peer1_->serving());
	}
	void bound_memory();
	void bound_regions(endpoint_params *p);
	void deceive(endpoint_params *p);
	void give_read_regions(endpoint_params *p);
	bool admit(endpoint *server);
	void remove(bool client);

	world &w_;
	setup setup_;
	host client_, server_;
	link link_{ w_, *this, client_ };
	std::vector<std::unique_ptr<endpoint>> endpoints_;
	std::unique_ptr<peer1> peer1_;
	bool private_ = false; /* private messages were exchanged */
	std::vector<std::unique_ptr<rpc>> rpcs_;
	std::vector<u32> executed_;
	std::vector<u32> sequences_;
	rpcrdma_version_memory memory_{};
	rpcrdma_memory_account promised_{};
	rpcrdma_admission admission_{};
	bool connecting_ = false; /* of a version 1 peer */
	endpoint *attempt_ = nullptr;
	u8 tried_ = 0;
	u64 backoff_ = 0;
	u32 begun_ = 0, over_ = 0, chains_ = 0, attempts_ = 0;
	bool work_scheduled_ = false;
	u64 away_until_[2] = {}; /* until then the device of server, client is
				  * gone */
	size_t removed_[2] = {}; /* endpoints to remove together with the
				  * device */
};

} // namespace simulation

#endif /* SIMULATION_NETWORK_HH */
