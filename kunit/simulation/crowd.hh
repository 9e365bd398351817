/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One server with very many clients, most of them idle, and the memory that
 * they share. Some clients are hostile: each holds as much memory as it can,
 * and releases none.
 */
#ifndef SIMULATION_CROWD_HH
#define SIMULATION_CROWD_HH

#include "reconnect.hh"
#include "listener.hh"

namespace simulation
{

class crowd final : public surroundings, public actor
{
public:
	/*
	 * @connections: number of clients; the server's memory is in proportion
	 *      to it
	 */
	crowd(world &w, u32 connections);

	/* Do the whole run. A failure is reported in w.complaint. */
	void run();

	reconnect &reconnect_of(const host &client) override
	{
		return clients_[client.number]->l;
	}
	u64 reconnect_delay() override
	{
		return SECOND;
	}
	void reset_backoff() override
	{
	}
	void connect(reconnect &l) override;
	bool connect_otherwise(reconnect &) override
	{
		return false;
	}
	void learn(const endpoint &, enum rpcrdma_end) override
	{
	}
	void ask(endpoint &client) override;
	void opened(endpoint &ep) override;
	void connected(endpoint &client) override;
	void failed(endpoint &client, int status) override;
	void closed(endpoint &ep) override;
	void rpc_over(rpc *task) override;
	void run_quota(endpoint &ep, enum rpcrdma_quota_visit when) override;

	void act(u32 what, u64 arg) override;

private:
	enum {
		CONNECT,
		REQUEST,
		ACCEPTED,
		ESTABLISHED,
		WORK,
		HOARD,
		SILENCE,
		TICK,
	};
	enum class kind : u8 {
		honest,
		parts,	 /* begins continued Calls without finishing them */
		replies, /* does not pull Replies, and receives no message */
		reads,	 /* Reads of its memory never complete */
	};
	struct client {
		client(world &w, crowd &all, u32 number, kind what)
			: h{ w, all, true }, l{ w, all, h }, what{ what }
		{
			h.number = number;
		}

		host h;
		reconnect l;
		kind what;
		bool was_connected = false;
	};
	struct connection {
		client *of;
		std::unique_ptr<endpoint> at_client, at_server;
	};

	connection &connection_of(const endpoint &ep)
	{
		return connections_[ep.params.cfg.number - 1];
	}
	endpoint_params params(bool client, u32 number) const;
	void request(u32 index);
	bool join(connection &c, u32 number);
	void begin(client &c, const spec &what);
	void work();
	spec choose_spec();
	void hoard(connection &c);
	void run_after(u64 time);
	void tick();
	void end();

	world &w_;
	u32 count_;
	host server_;
	rpcrdma_quota &memory_;
	listener listener_{ w_ };
	std::vector<std::unique_ptr<client>> clients_;
	std::deque<connection> connections_;
	std::vector<u64> begun_at_; /* of the RPCs, by id */
	u32 rpcs_;		    /* total, of honest clients */
	u32 begun_ = 0, over_ = 0, stuck_ = 0;
	u64 slowest_ = 0, most_ = 0;
	u64 run_at_ = 0; /* time of the next run of the quota; 0: none */
	bool ends_ = false;
};

} // namespace simulation

#endif /* SIMULATION_CROWD_HH */
