/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One run: two machines, the connection manager between them, what is asked of
 * them and what goes wrong.
 */
#ifndef SIMULATION_NETWORK_HH
#define SIMULATION_NETWORK_HH

#include "link.hh"
#include "peer1.hh"

namespace simulation
{

/* What kind of run it is; all chosen at its beginning */
struct setup {
	endpoint_params client, server;
	u32 rpcs;    /* to be made */
	u32 at_once; /* outstanding at a time */
	u32 chains;  /* Calls at a time that wait for callbacks */
	u32 large;   /* of 10000 */
	u32 largest; /* octets of an item, at most */
	u32 kills;   /* of 10000 */
	u32 cuts;    /* of 10000, for each RPC begun */
	u32 bad;     /* of 10000 */
	bool sessions, gss, callbacks, slow;
	bool pieces;	   /* items of a message in several chunks */
	bool short_chunks; /* ... of which some are too short */
	/* One end is a peer of version 1, and no engine. */
	bool peer1_client, peer1_server;
};

class network : public actor
{
public:
	explicit network(world &w);

	/* The whole run; what is wrong is in w.complaint. */
	void run();

	/* The client's: how long it waits before it makes another connection */
	u64 reconnect_delay();
	/* An attempt, which its link is told of; with another version, if there is any */
	void connect();
	bool connect_otherwise();
	/* What a connection that opened, or @ended, has shown of the server's versions */
	void learn(const endpoint &ep, enum rpcrdma_end end);
	void learn(u8 tried, enum rpcrdma_answer answer);
	link &client_link()
	{
		return link_;
	}
	/* A peer's of version 1 */
	void want_connection();

	/* The hosts' */
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
	void send_private(const endpoint *from, const rpcrdma_conn_config &cfg,
			  endpoint *to);
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
	bool connecting_ = false; /* a peer of version 1 */
	endpoint *attempt_ = nullptr;
	u8 tried_ = 0;
	u64 backoff_ = 0;
	u32 begun_ = 0, over_ = 0, chains_ = 0, attempts_ = 0;
	bool work_scheduled_ = false;
	u64 away_until_[2] = {}; /* the device of server, client */
	size_t removed_[2] = {}; /* endpoints that have to go with it */
};

} // namespace simulation

#endif /* SIMULATION_NETWORK_HH */
