/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One run: two machines, the connection manager between them, their RPCs, and
 * the faults
 */
#ifndef SIMULATION_NETWORK_HH
#define SIMULATION_NETWORK_HH

#include "reconnect.hh"
#include "listener.hh"
#include "v1_peer.hh"

namespace simulation
{

/* The parameters of a run, all chosen at its start */
struct setup {
	endpoint_params client, server;
	u32 rpcs;    /* RPCs in all */
	u32 at_once; /* RPCs outstanding at a time */
	u32 chains;  /* Calls that wait for callbacks at a time */
	u32 large;   /* probability in 10000 */
	u32 largest; /* maximum length of an item in bytes */
	u32 kills;   /* probability in 10000 */
	u32 cuts;    /* probability in 10000, for each RPC begun */
	u32 bad;     /* probability in 10000 */
	bool sessions, gss, callbacks, slow;
	bool heavy;	   /* many items are large */
	bool pieces;	   /* items of a message in several chunks */
	bool short_chunks; /* some of these chunks are too short */
	/* One end is a version 1 peer without the engine. */
	bool v1_peer_client, v1_peer_server;
};

class network : public surroundings, public actor
{
public:
	explicit network(world &w);

	/* Do the whole run. A failure is reported in w.complaint. */
	void run();

	reconnect &reconnect_of(const host &) override
	{
		return reconnect_;
	}
	u64 reconnect_delay() override;
	void reset_backoff() override
	{
		backoff_ = 0;
	}
	void connect(reconnect &l) override;
	bool connect_otherwise(reconnect &l) override;
	void learn(const endpoint &ep, enum rpcrdma_end end) override;
	void learn(u8 tried, enum rpcrdma_answer answer);
	/* Called by a version 1 peer that needs a connection */
	void want_connection();
	void served_version1();
	void rest();

	void ask(endpoint &client) override;
	void opened(endpoint &ep) override;
	void connected(endpoint &client) override;
	void failed(endpoint &client, int status) override;
	void closed(endpoint &ep) override;
	void rpc_over(rpc *task) override;
	/* There are few connections: wake those that wait at once. */
	void run_quota(endpoint &ep, enum rpcrdma_quota_visit) override
	{
		ep.wake_waiting();
	}
	/* Return true if one more Call may wait for a nested one. */
	bool may_chain() const
	{
		return chains_ < setup_.chains;
	}

	void act(u32 what, u64 arg) override;

private:
	enum {
		WORK,
		CONNECT,
		REQUEST,
		ACCEPTED,
		ESTABLISHED,
		NO_ANSWER,
		V1_PEER_UP,
		REMOVE,
		REMOVED,
	};

	void choose_setup();
	spec choose_spec();
	void work();
	bool may_attempt();
	void attempt();
	void request(u32 index);
	void answer(u32 index, enum rpcrdma_cm_event event, int rejection = 0);
	u32 outstanding() const
	{
		return setup_.v1_peer_client ? v1_peer_->outstanding() :
					       client_.outstanding();
	}
	bool serving() const
	{
		return client_.serving() || server_.serving() ||
		       (v1_peer_ && v1_peer_->serving());
	}
	void met_v1_peer(u8 version);
	void choose_personality(v1_peer_params *one);
	void bound_memory();
	void bound_mrs(endpoint_params *p);
	void deceive(endpoint_params *p);
	void choose_secrets();
	void choose_groups();
	void renew_secrets();
	void check_secrets(const endpoint &ep);
	void give_read_mrs(endpoint_params *p);
	void remove(bool client);

	world &w_;
	setup setup_;
	host client_, server_;
	reconnect reconnect_{ w_, *this, client_ };
	std::vector<std::unique_ptr<endpoint>> endpoints_;
	std::unique_ptr<v1_peer> v1_peer_;
	bool private_ = false; /* private messages were exchanged */
	rpcrdma_server_memories versions_{};
	rpcrdma_quota_account promised_{};
	listener listener_{ w_ };
	bool connecting_ = false; /* of a version 1 peer */
	/*
	 * The time since a server without version 2 was asked for it, as long
	 * as it has processed no Call and nothing else has failed
	 */
	struct {
		bool asked = false;
		u64 at = 0;	     /* time */
		u32 connections = 0; /* connections with the server */
		u32 faults_left = 0;
	} fallback_;
	u32 silences_ = 0; /* openings that such a server did not answer */
	endpoint *attempt_ = nullptr;
	u8 tried_ = 0;
	u64 backoff_ = 0;
	u32 begun_ = 0, over_ = 0, chains_ = 0, attempts_ = 0;
	bool work_scheduled_ = false;
	u64 rest_until_ = 0; /* no RPC begins before */
	u32 rests_ = 0;
	/* until then, the device of server, client is removed */
	u64 away_until_[2] = {};
	size_t removed_[2] = {}; /* endpoints to remove together with the
				  * device */
};

} // namespace simulation

#endif /* SIMULATION_NETWORK_HH */
