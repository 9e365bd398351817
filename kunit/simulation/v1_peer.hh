/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine that has only version 1, as defined by RFC 8166 and RFC 8167: a
 * client with its tasks, or a server with its service. It contains no part of
 * the engine. It uses the protocol as deployed implementations do, and also in
 * ways that the RFCs merely permit: many small segments, several chunks of a
 * kind, unused chunks returned in each permitted form. A server behaves as its
 * personality says.
 */
#ifndef SIMULATION_V1_PEER_HH
#define SIMULATION_V1_PEER_HH

#include <functional>
#include <map>
#include <memory>

#include "host.hh"
#include "personality.hh"

namespace simulation
{

class network;

/* Credits that a client requests in each Call: a few more than it has */
constexpr u32 ASKS_MORE = ~1u;

struct v1_peer_params {
	bool client;
	/* Receives for Calls, which are the credits that it may grant */
	u32 credits;
	u32 size; /* bytes of each Receive and of each Send */
	u32 asks; /* credits requested in each Call, or ASKS_MORE */
	personality as;
};

class v1_peer final : public actor, public queue_owner
{
public:
	v1_peer(world &w, network &net, host &stands_for,
		const v1_peer_params &params);
	~v1_peer() override;

	/*
	 * Set up a new connection, after the previous one is closed. The
	 * arguments are the values that the private messages convey, or would
	 * convey.
	 */
	queue_pair &connect(u32 threshold, bool inv_ok);
	void established();
	/* Begin an RPC. RPCs left by a lost connection are sent again. */
	void begin(const spec &what, std::function<void()> ended);
	void close();

	u32 outstanding() const
	{
		return static_cast<u32>(tasks_.size());
	}
	bool serving() const
	{
		return serving_;
	}
	const personality &as() const
	{
		return params_.as;
	}
	bool connected() const
	{
		return up_;
	}
	void check_gone();

	void completed(work *w) override;
	void arrived(received *rv) override;
	void lost() override;
	void act(u32 what, u64 arg) override;

private:
	enum {
		ANSWER,
		CLOSE,
		LEAVE,
		SEND_AGAIN,
	};
	struct segment {
		u32 position, handle, length;
		u64 offset;
	};
	using chunk = std::vector<segment>;
	struct lists {
		chunk reads;
		std::vector<chunk> writes;
		chunk reply;
		bool has_reply = false;
		u32 end = 0; /* bytes of the header */
	};
	struct job;
	struct task;
	struct call;

	static u32 octets_of(const chunk &c);
	static bool parse(const received *rv, lists *l);

	job *new_job(const std::vector<u8> &message, u32 handle);
	void post(job *j);
	void pump();
	void send(const std::vector<u8> &message, u32 handle = 0);
	void refuse(u32 xid);
	u32 grant(const call *c) const;
	bool is_idle() const
	{
		return !serving_ && queue_.empty() && posted_.empty();
	}
	void version2(received *rv);
	void refused(u32 xid, u32 code);
	void invalidate(const task &t, std::function<void(bool)> ended);

	/* Functions for Calls that it sends */
	void transmit();
	bool send_call(task &t);
	bool map(task &t, job *j, memory &mem, u32 at, u32 length,
		 bool writable, u32 position, chunk *c, bool many = false);
	void reply(received *rv, const lists &l);
	void finish(task &t, const std::vector<u8> &stream,
		    const std::vector<u32> &written);
	void over(u32 xid, int status);

	/* Functions for Calls that it receives */
	void serve(received *rv, const lists &l);
	void execute(const std::shared_ptr<call> &c);
	void answer(const std::shared_ptr<call> &c);

	world &w_;
	network &net_;
	host &host_; /* the host that owns the RPCs */
	v1_peer_params params_;
	std::vector<std::unique_ptr<queue_pair>> qps_;
	queue_pair *qp_ = nullptr;
	bool up_ = false, closing_ = false, refused_ = false;
	u32 generation_ = 0; /* number of the connection */
	u32 threshold_ = 1024;
	bool inv_ok_ = false;
	u32 used_ = 0; /* Send Queue entries in use */
	std::deque<job *> queue_;
	std::vector<job *> posted_;
	std::vector<std::unique_ptr<received>> receives_;
	std::vector<device_mr *> free_mrs_;
	std::map<u32, std::unique_ptr<task>> tasks_; /* by xid */
	std::vector<std::shared_ptr<call>> ready_;
	u32 limit_ = 1; /* Calls that the other end grants */
	u32 out_ = 0;	/* Calls outstanding at the other end */
	u32 serving_ = 0;
	u32 served_ = 0; /* Calls of this connection */
	u32 next_xid_;
};

} // namespace simulation

#endif /* SIMULATION_V1_PEER_HH */
